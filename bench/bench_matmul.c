/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_matmul.c: products of square matrices of float32, tfrun against everybody. The plain loops
 * of the naive backend, and a GPU if there is one, stand beside it, for the comparison that
 * tutorials show.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

#include "chain.h"
#include "contest.h"
#include "peer.h"
#include "product.h"

#define N_SAMPLES      256
#define NAIVE_MOST     512 /* larger ones are extrapolated: 4096 would take minutes */
#define NAIVE_MOST_OPS (2.0 * NAIVE_MOST * NAIVE_MOST * NAIVE_MOST)

static const int64_t default_sizes[] = {500, 512, 1000, 1024, 2048};

/* ---- the data -------------------------------------------------------------------------------- */

typedef struct data {
    bench_product product;
    float *a, *b;
    double samples[N_SAMPLES];
    int64_t places[N_SAMPLES];
} data;

static tfr_status data_init(data *d, int64_t n, const bench_options *options, tfr_err *err)
{
    size_t bytes = (size_t)n * (size_t)n * sizeof *d->a;
    /* As tensors are aligned; others get the same memory. */
    if (posix_memalign((void **)&d->a, 64, bytes) || posix_memalign((void **)&d->b, 64, bytes))
        return tfr_fail(err, TFR_ENOMEM, "no memory for matrices of %zu bytes", bytes);
    bench_fill_random(d->a, n * n, options->seed * 2 + 1);
    bench_fill_random(d->b, n * n, options->seed * 2 + 2);
    for (int s = 0; s < N_SAMPLES; s++) {
        /* Spread over the matrix, edges of tiles included. */
        int64_t place = (int64_t)((double)s / (N_SAMPLES - 1) * (double)(n * n - 1));
        double sum = 0;
        for (int64_t k = 0; k < n; k++)
            sum += (double)d->a[place / n * n + k] * (double)d->b[k * n + place % n];
        d->places[s] = place;
        d->samples[s] = sum;
    }
    d->product =
        (bench_product){n, n, n, d->a, d->b, d->samples, d->places, N_SAMPLES, options->constant};
    return TFR_OK;
}

/* ---- ours ------------------------------------------------------------------------------------ */

static tfr_status run_ours(void *user, tfr_err *err)
{
    bench_ours *o = user;
    return tfr_binding_run(o->binding, err);
}

/* Adds tfrun on a device, in a math mode or NULL, as a contender. */
static tfr_status add_ours(bench_contest *contest, bench_ours *o, const data *d, const char *device,
                           const char *math_mode, const char *who, tfr_err *err)
{
    bench_contender *c;
    tfr_status status =
        bench_ours_init(o, contest->options->runtime, device, math_mode, &d->product, err);
    if (!status)
        status = tfr_binding_run(o->binding, err);
    if (status)
        return status;
    if (!(c = bench_contest_add(contest, who)))
        return tfr_fail(err, TFR_ELIMIT, "more than %d contenders", BENCH_MAX_CONTENDERS);
    bench_ours_note(o, c->note, sizeof c->note);
    c->run = run_ours;
    c->user = o;
    c->elsewhere = !bench_on_host(contest->options->runtime, device);
    c->error = bench_product_error(&d->product, tfr_tensor_data(o->c));
    return TFR_OK;
}

static tfr_status run_chain(void *user, tfr_err *err)
{
    bench_chain *chain = user;
    return tfr_binding_run(chain->binding, err);
}

/* On a device elsewhere: products whose matrices are there already. */
static tfr_status add_chain(bench_contest *contest, bench_chain *chain, int64_t n, tfr_err *err)
{
    const bench_options *options = contest->options;
    char who[48], mode[32];
    bench_contender *c;
    tfr_status status;
    if (bench_on_host(options->runtime, options->device))
        return TFR_OK;
    status = bench_chain_init(chain, options->runtime, options->device, options->math_mode, n, err);
    if (status)
        return status;
    snprintf(who, sizeof who, "%s there", bench_ours_name(options->math_mode, mode, sizeof mode));
    if (!(c = bench_contest_add(contest, who)))
        return tfr_fail(err, TFR_ELIMIT, "more than %d contenders", BENCH_MAX_CONTENDERS);
    snprintf(c->note, sizeof c->note, "%u behind each other, of matrices that lie there",
             chain->n_products);
    c->run = run_chain;
    c->user = chain;
    c->n_inner = chain->n_products;
    c->elsewhere = true;
    return TFR_OK;
}

/* The plain loops, which are too slow for turns: one run, or what that of a small size tells. */
static void add_naive(bench_report *report, bench_row *row, const bench_options *options,
                      const data *d)
{
    static double rate; /* of the last one that was run */
    bench_ours o = {0};
    tfr_err err = TFR_ERR_INIT;
    double flops = 2.0 * (double)d->product.m * (double)d->product.n * (double)d->product.k;
    double seconds = NAN, error = NAN;
    bool run = flops <= NAIVE_MOST_OPS;
    bench_side *side;
    if (!bench_wants(options, "naive"))
        return;
    if (run) {
        tfr_status status =
            bench_ours_init(&o, options->runtime, "naive:0", NULL, &d->product, &err);
        double began = bench_now();
        if (!status)
            status = tfr_binding_run(o.binding, &err);
        seconds = bench_now() - began;
        if (!status)
            error = bench_product_error(&d->product, tfr_tensor_data(o.c));
        bench_ours_finish(&o);
        if (status) {
            bench_add_skip(report, row, "naive", err.text);
            return;
        }
        rate = flops / seconds;
    }
    if (!(rate > 0) || !(side = bench_add_side(report, row)))
        return;
    seconds = run ? seconds : flops / rate;
    snprintf(side->who, sizeof side->who, "plain loops");
    snprintf(side->note, sizeof side->note, "naive backend, %s",
             run ? "one run" : "extrapolated from a smaller size");
    side->n = run;
    side->seconds = (bench_spread){seconds, seconds, seconds, seconds, seconds};
    side->rate = flops / seconds;
    side->error = error;
    if (row->sides[0].seconds.median > 0)
        side->ratio.least = side->ratio.p10 = side->ratio.median = side->ratio.p90 =
            side->ratio.most = seconds / row->sides[0].seconds.median;
}

static tfr_status add_gpus(bench_contest *contest, bench_ours *gpus, uint32_t capacity, uint32_t *n,
                           const data *d, tfr_err *err)
{
    tfr_device_desc device = {.size = sizeof device};
    for (uint32_t i = 0; !tfr_runtime_device(contest->options->runtime, i, &device, NULL); i++) {
        if (strcmp(device.type, "GPU") != 0 || *n == capacity)
            continue;
        if (add_ours(contest, &gpus[(*n)++], d, device.name, NULL, device.name, err))
            bench_add_skip(contest->report, contest->row, device.name, err->text);
    }
    return TFR_OK;
}

/* What the mode itself may add: errors of n products, which have either sign. */
static double mode_error(const char *mode, int64_t n)
{
    const double one = !mode                        ? 0
                       : strcmp(mode, "f32x3") == 0 ? 3 * 0x1p-16
                       : strcmp(mode, "tf32") == 0  ? 0x1p-10
                       : strcmp(mode, "bf16") == 0  ? 0x1p-7
                                                    : 0;
    return one * 4 * sqrt((double)n);
}

/* A wrong product is not timed: ours ends the benchmark, a peer's is a skip. */
static tfr_status check(bench_contest *contest, int64_t n, tfr_err *err)
{
    /* Each of n products and sums of values up to 1 may be wrong by half an ulp of the sum, which
     * stays far below sqrt(n) * 4. */
    const double exact = 1.2e-7 * sqrt((double)n) * 4 * sqrt((double)n);
    for (uint32_t i = 0; i < contest->n;) {
        bench_contender *c = &contest->list[i];
        double most = i == 0 ? exact + mode_error(contest->options->math_mode, n) : exact;
        if (isnan(c->error) || c->error <= most) {
            i++;
            continue;
        }
        if (c->ours)
            return tfr_fail(err, TFR_EPLUGIN, "tfrun's product is wrong by %.3g, %.3g is right",
                            c->error, most);
        bench_peer_skip(contest, c->who, "its product is wrong by %.3g, %.3g is right", c->error,
                        most);
        bench_contest_remove(contest, i);
    }
    return TFR_OK;
}

static tfr_status measure(const bench_options *options, int64_t n, bench_report *report,
                          tfr_err *err)
{
    bench_contest contest = {.options = options, .report = report};
    bench_ours ours = {0}, strict = {0}, gpus[4] = {{0}};
    bench_chain chain = {0};
    uint32_t n_gpus = 0;
    char who[48];
    data d = {.a = NULL};
    tfr_status status = data_init(&d, n, options, err);
    contest.row = bench_add_row(report, n, "%lld x %lld%s", (long long)n, (long long)n,
                                options->constant ? " times a constant" : "");
    if (!status)
        status = add_ours(&contest, &ours, &d, options->device, options->math_mode,
                          bench_ours_name(options->math_mode, who, sizeof who), err);
    if (!status)
        status = add_chain(&contest, &chain, n, err);
    if (!status && options->math_mode)
        status = add_ours(&contest, &strict, &d, options->device, NULL, "tfrun strict", err);
    if (!status) {
        contest.list[0].ours = true;
        status = add_gpus(&contest, gpus, 4, &n_gpus, &d, err);
    }
    if (!status) {
        bench_begin_peer("onednn");
        bench_add_onednn(&contest, &d.product);
        bench_begin_peer("openblas");
        bench_add_openblas(&contest, &d.product);
        bench_begin_peer("onnxruntime");
        bench_add_ort_product(&contest, &d.product);
        bench_begin_peer("numpy");
        bench_add_python(&contest, &d.product);
        bench_end_peer();
        for (uint32_t i = 0; i < contest.n; i++)
            contest.list[i].flops = 2.0 * (double)n * (double)n * (double)n;
        bench_add_fma_roof(&contest);
        status = check(&contest, n, err);
    }
    if (!status)
        status = bench_contest_run(&contest, err);
    if (!status)
        add_naive(report, contest.row, options, &d);
    bench_contest_finish(&contest);
    bench_ours_finish(&ours);
    bench_ours_finish(&strict);
    bench_chain_finish(&chain);
    for (uint32_t i = 0; i < n_gpus; i++)
        bench_ours_finish(&gpus[i]);
    free(d.a);
    free(d.b);
    return status;
}

tfr_status bench_matmul(const bench_options *options, bench_report *report, tfr_err *err)
{
    const int64_t *sizes = options->n_sizes ? options->sizes : default_sizes;
    uint32_t n = options->n_sizes ? options->n_sizes : sizeof default_sizes / sizeof *sizes;
    tfr_status status = TFR_OK;
    report->error_is = "largest error against float64 of 256 elements; factors from [-1,1)";
    bench_measure_roofs(report);
    for (uint32_t i = 0; !status && i < n; i++)
        status = measure(options, sizes[i], report, err);
    return status;
}
