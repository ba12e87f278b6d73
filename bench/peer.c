/* SPDX-License-Identifier: Apache-2.0 */
/* peer.c: what all peers share: finding their libraries, skipping them, the error of a product. */
#include "peer.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void bench_peer_skip(bench_contest *contest, const char *peer, const char *format, ...)
{
    char why[sizeof((bench_skip *)0)->why];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    bench_add_skip(contest->report, contest->row, peer, why);
}

const char *bench_peer_file(const bench_options *options, const char *peer)
{
    size_t n = strlen(peer);
    for (uint32_t i = 0; i < options->n_libraries; i++)
        if (strncmp(options->libraries[i], peer, n) == 0 && options->libraries[i][n] == '=')
            return options->libraries[i] + n + 1;
    return NULL;
}

void *bench_peer_open(bench_contest *contest, const char *peer, const char *const *names)
{
    const char *given = bench_peer_file(contest->options, peer);
    void *library = NULL;
    char why[300] = "";
    if (given) {
        if (!(library = dlopen(given, RTLD_NOW | RTLD_LOCAL)))
            bench_peer_skip(contest, peer, "%s", dlerror());
        return library;
    }
    for (; !library && *names; names++) {
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (!library && !*why)
            snprintf(why, sizeof why, "%s", dlerror());
    }
    if (!library)
        bench_peer_skip(contest, peer, "%s; --library %s=FILE says where it is", why, peer);
    return library;
}

double bench_product_error(const bench_product *product, const float *c)
{
    double error = 0;
    for (uint32_t i = 0; i < product->n_samples; i++) {
        double d = fabs((double)c[product->places[i]] - product->samples[i]);
        /* A NaN must not look like no error. */
        if (!(d <= error))
            error = d;
    }
    return error;
}

bool bench_peer_agrees(bench_contest *contest, const char *peer, tfr_tensor *const *ours,
                       uint32_t n, const void *const *theirs)
{
    /* A rounding that falls the other way is a step, and many steps of later layers. */
    const double bound = contest->quantized ? 0.25 : 0.01;
    double most = 0, largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        const float *a = tfr_tensor_data(ours[i]), *b = theirs[i];
        const int64_t count =
            tfr_tensor_dtype(ours[i]) == TFR_DTYPE_F32 ? tfr_tensor_elements(ours[i]) : 0;
        for (int64_t k = 0; k < count; k++) {
            double d = fabs((double)a[k] - (double)b[k]);
            if (isnan(a[k]) && isnan(b[k]))
                continue;
            most = d <= most ? most : d;
            largest = fmax(largest, fabs((double)b[k]));
        }
    }
    contest->list[contest->n - 1].error = most;
    if (most <= bound * largest + 1e-6)
        return true;
    bench_peer_skip(contest, peer,
                    "its outputs differ from tfrun's by %.3g, and the largest value is %.3g", most,
                    largest);
    bench_contest_remove(contest, contest->n - 1);
    return false;
}
