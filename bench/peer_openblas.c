/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_openblas.c: OpenBLAS, sgemm. On processors of AMD with AVX-512 it would choose AVX2 kernels
 * by itself and be half as fast, so it is told to take those of SkylakeX.
 */
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_has.h"
#include "peer.h"

#define PEER "openblas"

enum { CBLAS_ROW_MAJOR = 101, CBLAS_NO_TRANS = 111 };

typedef struct blas_peer {
    void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                  const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
    const bench_product *product;
    float *c;
} blas_peer;

static void choose_core(void)
{
#if defined(__x86_64__)
    unsigned most, b, c, d;
    if (__get_cpuid(0, &most, &b, &c, &d) && b == signature_AMD_ebx && CPU_HAS(AVX512F, "avx512f"))
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
#endif
}

static tfr_status openblas_run(void *user, tfr_err *err)
{
    blas_peer *p = user;
    int m = (int)p->product->m, n = (int)p->product->n, k = (int)p->product->k;
    (void)err;
    p->sgemm(CBLAS_ROW_MAJOR, CBLAS_NO_TRANS, CBLAS_NO_TRANS, m, n, k, 1, p->product->a, k,
             p->product->b, n, 0, p->c, n);
    return TFR_OK;
}

static void openblas_destroy(void *user)
{
    blas_peer *p = user;
    free(p->c);
    free(p);
}

void bench_add_openblas(bench_contest *contest, const bench_product *product)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", NULL};
    void *library, *sgemm, *symbol;
    void (*set_threads)(int n) = NULL;
    char *(*core)(void) = NULL;
    bench_contender *c;
    blas_peer *p;
    if (!bench_wants(contest->options, PEER))
        return;
    choose_core();
    if (!(library = bench_peer_open(contest, PEER, names)))
        return;
    sgemm = dlsym(library, "cblas_sgemm");
    symbol = dlsym(library, "openblas_set_num_threads");
    memcpy(&set_threads, &symbol, sizeof symbol);
    symbol = dlsym(library, "openblas_get_corename");
    memcpy(&core, &symbol, sizeof symbol);
    if (!sgemm || !set_threads) {
        bench_peer_skip(contest, PEER, "the library has no %s",
                        sgemm ? "openblas_set_num_threads" : "cblas_sgemm");
        return;
    }
    if (!(p = calloc(1, sizeof *p)))
        return;
    memcpy(&p->sgemm, &sgemm, sizeof sgemm);
    p->product = product;
    p->c = malloc((size_t)(product->m * product->n) * sizeof *p->c);
    if (!p->c || !(c = bench_contest_add(contest, PEER))) {
        openblas_destroy(p);
        return;
    }
    set_threads((int)contest->options->n_threads);
    openblas_run(p, NULL);
    snprintf(c->note, sizeof c->note, "%s kernels, %u threads", core ? core() : "unknown",
             contest->options->n_threads);
    c->run = openblas_run;
    c->destroy = openblas_destroy;
    c->user = p;
    c->error = bench_product_error(product, p->c);
}
