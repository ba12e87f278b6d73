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
