/* SPDX-License-Identifier: Apache-2.0 */
/* peer.c: what all peers share: finding their libraries, skipping them, the error of a product. */
#include "peer.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PIECE 1024 /* elements that are compared at once */

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

typedef struct difference {
    double most, largest; /* between two values; of theirs, the finite ones */
} difference;

static bool is_floating(tfr_dtype dtype)
{
    return dtype == TFR_DTYPE_F32 || dtype == TFR_DTYPE_F16 || dtype == TFR_DTYPE_BF16 ||
           dtype == TFR_DTYPE_F64;
}

/* Of n elements. A NaN differs from all but NaN, and stays in most once it is there. */
static tfr_status compare(tfr_dtype dtype, const char *ours, const char *theirs, int64_t n,
                          difference *d, tfr_err *err)
{
    const int64_t size = tfr_dtype_bits(dtype) / 8;
    double a[PIECE], b[PIECE];
    for (int64_t at = 0; at < n; at += PIECE) {
        const int64_t some = n - at < PIECE ? n - at : PIECE;
        tfr_status status = tfr_dtype_convert(TFR_DTYPE_F64, a, dtype, ours + at * size, some, err);
        if (!status)
            status = tfr_dtype_convert(TFR_DTYPE_F64, b, dtype, theirs + at * size, some, err);
        if (status)
            return status;
        for (int64_t k = 0; k < some; k++) {
            const double gap = a[k] == b[k] || (isnan(a[k]) && isnan(b[k])) ? 0 : fabs(a[k] - b[k]);
            d->most = gap <= d->most ? d->most : gap;
            if (isfinite(b[k]))
                d->largest = fmax(d->largest, fabs(b[k]));
        }
    }
    return TFR_OK;
}

bool bench_peer_agrees(bench_contest *contest, const char *peer, tfr_tensor *const *ours,
                       uint32_t n, const void *const *theirs)
{
    /* A rounding that falls the other way is a step, and many steps of later layers. */
    const double bound = contest->quantized ? 0.25 : 0.01;
    difference d = {0, 0};
    tfr_err err = TFR_ERR_INIT;
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < n; i++)
        if (theirs[i] && is_floating(tfr_tensor_dtype(ours[i])))
            status = compare(tfr_tensor_dtype(ours[i]), tfr_tensor_data(ours[i]), theirs[i],
                             tfr_tensor_elements(ours[i]), &d, &err);
    contest->list[contest->n - 1].error = d.most;
    if (!status && d.most <= bound * d.largest + 1e-6)
        return true;
    if (status)
        bench_peer_skip(contest, peer, "its outputs are not compared: %s", err.text);
    else
        bench_peer_skip(contest, peer,
                        "its outputs differ from tfrun's by %.3g, and the largest value is %.3g",
                        d.most, d.largest);
    bench_contest_remove(contest, contest->n - 1);
    return false;
}
