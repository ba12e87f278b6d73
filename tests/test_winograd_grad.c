/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of a convolution's weights by Winograd's algorithm against the sum over all outputs
 * in double, on every instruction set that this processor has. The planner is a small one of this
 * file's own, with two shards of samples.
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>

#include "tfr_test.h"

enum { Y, X, W, SUMS, VALUES, SHARDS = 2, RUNS = 2 };

/* ---- what the planner of programs does otherwise ---- */

static native_run runs[RUNS];
static uint64_t scratch_bytes, sums_bytes;
static void *kept;
static int64_t unit;

static void *take(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    REQUIRE(p != NULL);
    memset(p, 0, bytes);
    return p;
}

void *native_keep(native_planner *p, size_t bytes)
{
    (void)p;
    return kept = take(bytes);
}

int64_t native_first_dim(const native_planner *p, const native_value *v)
{
    (void)p, (void)v;
    return unit;
}

native_ref native_ref_of(const native_planner *p, int value)
{
    (void)p;
    return (native_ref){NULL, 0, value};
}

int native_shards(const native_planner *p)
{
    (void)p;
    return SHARDS;
}

native_ref native_sums(native_planner *p, uint64_t bytes)
{
    sums_bytes = bytes;
    return native_ref_of(p, SUMS);
}

void native_need_scratch(native_planner *p, uint64_t bytes)
{
    (void)p;
    scratch_bytes = bytes;
}

static native_run *add(int i, void (*run)(const void *, const native_bases *, int64_t, int64_t),
                       const void *params, int64_t n, double cost)
{
    runs[i] = (native_run){.run = run, .params = params, .n = n, .cost = cost};
    return &runs[i];
}

native_run *native_add_run(native_planner *p,
                           void (*run)(const void *, const native_bases *, int64_t, int64_t),
                           const void *params, int64_t n, double cost)
{
    (void)p;
    return add(0, run, params, n, cost);
}

native_run *native_finish(native_planner *p,
                          void (*run)(const void *, const native_bases *, int64_t, int64_t),
                          const void *params, int64_t n, double cost)
{
    (void)p;
    return add(1, run, params, n, cost);
}

/* ---- problems ---- */

typedef struct shape {
    int64_t samples, ins, outs, height, width, pad; /* samples: of each shard */
} shape;

static const shape shapes[] = {
    {2, 16, 16, 8, 8, 1},   {4, 20, 33, 14, 14, 1}, {2, 64, 16, 16, 8, 1},
    {2, 17, 70, 11, 13, 1}, {2, 32, 32, 12, 9, 0},
};

static uint32_t seed = 1;

static float next(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(int32_t)seed / 2147483648.0f;
}

typedef struct problem {
    shape s;
    const native_isa *isa;
    native_value values[W + 1];
    float *data[VALUES]; /* blocked; W plain */
    int64_t samples;     /* of all shards */
} problem;

static int64_t blocks_of(const problem *p, int64_t n)
{
    return (n + p->isa->lanes - 1) / p->isa->lanes;
}

static float *at(const problem *p, int value, int64_t n, int64_t c, int64_t y, int64_t x)
{
    const native_value *v = &p->values[value];
    const int64_t lanes = p->isa->lanes, block = n * blocks_of(p, v->dims[1]) + c / lanes;
    return p->data[value] + ((block * v->dims[2] + y) * v->dims[3] + x) * lanes + c % lanes;
}

static void set_value(problem *p, int i, int64_t c, int64_t h, int64_t w)
{
    native_value *v = &p->values[i];
    const int64_t n = p->samples;
    *v = (native_value){.rank = 4, .dims = {n, c, h, w}, .blocked = true, .batched = true};
    p->data[i] = take((size_t)(n * blocks_of(p, c) * p->isa->lanes * h * w) * sizeof(float));
    for (int64_t s = 0; s < n; s++)
        for (int64_t k = 0; k < c; k++)
            for (int64_t y = 0; y < h; y++)
                for (int64_t x = 0; x < w; x++)
                    *at(p, i, s, k, y, x) = next();
}

static void begin_problem(problem *p, const shape *s, const native_isa *isa)
{
    *p = (problem){.s = *s, .isa = isa, .samples = SHARDS * s->samples};
    set_value(p, X, s->ins, s->height, s->width);
    set_value(p, Y, s->outs, s->height + 2 * s->pad - 2, s->width + 2 * s->pad - 2);
    p->values[W] = (native_value){.rank = 4, .dims = {s->outs, s->ins, 3, 3}};
    p->data[W] = take((size_t)(s->outs * s->ins * 9) * sizeof(float));
}

static void end_problem(problem *p)
{
    for (int i = 0; i < VALUES; i++)
        free(p->data[i]);
}

/* With so many samples in a unit. False: the gradient is not computed so. */
static bool run(problem *p, int64_t of_unit)
{
    native_ir ir = {.values = p->values, .samples = p->samples};
    native_planner planner = {.ir = &ir, .isa = p->isa};
    const native_item item = {.kind = NATIVE_ITEM_CONV_GRAD_FILTER,
                              .inputs = {Y, X},
                              .n_inputs = 2,
                              .output = W,
                              .codes = -1,
                              .residual = -1,
                              .kernel = {3, 3},
                              .stride = {1, 1},
                              .dilation = {1, 1},
                              .pad = {p->s.pad, p->s.pad},
                              .by_samples = true,
                              .reduces = true};
    char *sums, *scratch;
    planner.item = &item;
    unit = of_unit;
    if (!native_is_winograd_grad(&planner, &item))
        return false;
    native_plan_winograd_grad(&planner, &item);
    sums = take(SHARDS * sums_bytes);
    scratch = take(scratch_bytes);
    for (int64_t s = 0; s < p->samples; s += unit) {
        char *base[VALUES] = {(char *)at(p, Y, s, 0, 0, 0), (char *)at(p, X, s, 0, 0, 0), NULL,
                              sums + (uint64_t)(s / p->s.samples) * sums_bytes};
        const native_bases bases = {.base = base, .scratch = scratch};
        runs[0].run(runs[0].params, &bases, 0, runs[0].n);
    }
    for (int64_t i = 0; i < runs[1].n; i++) {
        char *base[VALUES] = {NULL, NULL, (char *)p->data[W], sums};
        const native_bases bases = {.base = base, .sums_step = (int64_t)sums_bytes};
        runs[1].run(runs[1].params, &bases, i, i + 1);
    }
    free(sums);
    free(scratch);
    free(kept);
    return true;
}

static double sum_of(const problem *p, int64_t out, int64_t in, int64_t tap, double *size)
{
    const native_value *y = &p->values[Y];
    double sum = *size = 0;
    for (int64_t n = 0; n < p->samples; n++)
        for (int64_t i = 0; i < y->dims[2]; i++)
            for (int64_t j = 0; j < y->dims[3]; j++) {
                const int64_t row = i + tap / 3 - p->s.pad, column = j + tap % 3 - p->s.pad;
                double term;
                if (row < 0 || column < 0 || row >= p->s.height || column >= p->s.width)
                    continue;
                term = (double)*at(p, Y, n, out, i, j) * (double)*at(p, X, n, in, row, column);
                sum += term;
                *size += fabs(term);
            }
    return sum;
}

static void check(const problem *p)
{
    for (int64_t o = 0; o < p->s.outs; o++)
        for (int64_t in = 0; in < p->s.ins; in++)
            for (int64_t tap = 0; tap < 9; tap++) {
                double size, expected = sum_of(p, o, in, tap, &size);
                const double got = (double)p->data[W][(o * p->s.ins + in) * 9 + tap];
                if (isfinite(expected))
                    CHECK(fabs(got - expected) <= 2e-6 * size);
                else
                    CHECK(isnan(expected) ? isnan(got) : got == expected);
            }
}

static const native_isa *isa_at(int i)
{
    static const char *const allowed[] = {"", "avx2 fma",
                                          "avx2 fma avx512f avx512bw avx512vl avx512dq"};
    const native_isa *isa = native_choose_isa(allowed[i]);
    return i > 0 && isa == native_choose_isa(allowed[i - 1]) ? NULL : isa;
}

#define EACH_PROBLEM(p)                                                                            \
    for (int n_isa = 0; n_isa < 3; n_isa++)                                                        \
        for (size_t n_shape = 0; isa_at(n_isa) && n_shape < sizeof shapes / sizeof *shapes;        \
             n_shape++)                                                                            \
            for (bool once = (begin_problem(p, &shapes[n_shape], isa_at(n_isa)), true); once;      \
                 once = (end_problem(p), false))

TEST(gradients_are_the_sum_over_all_outputs)
{
    problem p;
    EACH_PROBLEM(&p)
    {
        CHECK(run(&p, p.s.samples));
        check(&p);
    }
}

TEST(units_change_no_bit)
{
    problem p;
    EACH_PROBLEM(&p)
    {
        const size_t bytes = (size_t)(p.s.outs * p.s.ins * 9) * sizeof(float);
        float *first = take(bytes);
        CHECK(run(&p, p.s.samples));
        memcpy(first, p.data[W], bytes);
        CHECK(run(&p, 1));
        CHECK(memcmp(first, p.data[W], bytes) == 0);
        free(first);
    }
}

TEST(nan_and_infinity_reach_their_weights_only)
{
    problem p;
    EACH_PROBLEM(&p)
    {
        *at(&p, X, 1, 3, 0, 0) = INFINITY;
        *at(&p, Y, 1, 5, 2, 3) = NAN;
        CHECK(run(&p, 1));
        check(&p);
    }
}

static const test_case cases[] = {
    CASE(gradients_are_the_sum_over_all_outputs),
    CASE(units_change_no_bit),
    CASE(nan_and_infinity_reach_their_weights_only),
};
TEST_MAIN_OF_ONE_THREAD(cases)
