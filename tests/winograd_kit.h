/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd_kit.h: 3 x 3 layers that Winograd's convolution of compiled programs computes, against
 * the sum over the window in double, on every instruction set that this processor has. The planner
 * is a small one of this file's own, so it is included once per test program.
 */
#ifndef TFR_TESTS_WINOGRAD_KIT_H
#define TFR_TESTS_WINOGRAD_KIT_H

#include "program.h"

#include <math.h>
#include <stdlib.h>

#include "tfr_test.h"

enum { X, W, BIAS, RESIDUAL, Y, CODES, DERIVED, VALUES = 12, BLOCKS = 64 };

/* ---- what program_plan.c does otherwise ---- */

static void *blocks[BLOCKS];
static int n_blocks;
static native_run the_run;
static uint64_t scratch_bytes;

static inline void *take(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    REQUIRE(p && n_blocks < BLOCKS);
    memset(p, 0, bytes);
    return blocks[n_blocks++] = p;
}

static inline void free_all(void)
{
    while (n_blocks > 0)
        free(blocks[--n_blocks]);
}

void *native_keep(native_planner *p, size_t bytes)
{
    (void)p;
    return take(bytes);
}

int64_t native_first_dim(const native_planner *p, const native_value *v)
{
    (void)p;
    return v->dims[0];
}

int64_t native_count(const native_planner *p, const native_value *v)
{
    (void)p;
    return v->dims[0] * v->dims[1] * v->dims[2] * v->dims[3];
}

static native_run derivations[VALUES];
static void *derived[VALUES];
static int n_derived, n_derivations;

/* Memory that begins with what others left there. */
native_ref native_derived(native_planner *p, uint64_t bytes)
{
    (void)p;
    REQUIRE(DERIVED + n_derived < VALUES);
    derived[n_derived] = take(bytes);
    memset(derived[n_derived], 0xff, bytes);
    return (native_ref){NULL, 0, DERIVED + n_derived++};
}

void native_derive(native_planner *p, int of,
                   void (*run)(const void *, const native_bases *, int64_t, int64_t),
                   const void *params, int64_t n, double cost)
{
    (void)p, (void)of;
    REQUIRE(n_derivations < VALUES);
    derivations[n_derivations++] = (native_run){.run = run, .params = params, .n = n, .cost = cost};
}

native_ref native_ref_of(const native_planner *p, int value)
{
    const native_ref none = {0};
    return value < 0 ? none : p->refs[value];
}

native_run *native_add_run(native_planner *p,
                           void (*run)(const void *, const native_bases *, int64_t, int64_t),
                           const void *params, int64_t n, double cost)
{
    (void)p;
    the_run = (native_run){.run = run, .params = params, .n = n, .cost = cost};
    return &the_run;
}

int native_parts(const native_planner *p, int64_t pixels)
{
    (void)p;
    return pixels > 8 ? 2 : 1;
}

void native_need_scratch(native_planner *p, uint64_t bytes)
{
    (void)p;
    scratch_bytes = bytes;
}

const float *native_pack(native_planner *p, const native_constant_key *key, uint64_t bytes,
                         void (*fill)(float *to, const void *user), const void *user)
{
    float *to = take(bytes);
    (void)p, (void)key;
    fill(to, user);
    return to;
}

static inline void in_one_part(tfr_range_fn fn, void *user, int64_t n, int64_t grain)
{
    (void)grain;
    fn(user, 0, n);
}

static const tfr_host host = {.size = sizeof host, .parallel_for = in_one_part};

/* ---- layers ---- */

/*
 * Weights known when planned, made by a step before, as the gradient of the input has them, and
 * both the first and the last.
 */
typedef enum weights_way { KNOWN, COMPUTED, TURNED, FROZEN, WAYS } weights_way;

typedef struct layer {
    int64_t samples, ins, outs, height, width, rows, columns, top, left;
    bool bias, residual, pooled;
    native_act act;
    weights_way way;
    bool codes;
} layer;

static inline bool is_turned(const layer *l)
{
    return l->way == TURNED || l->way == FROZEN;
}

typedef struct problem {
    const layer *l;
    const native_isa *isa;
    tfr_plugin_device device;
    native_ir ir;
    native_value values[VALUES];
    native_ref refs[VALUES];
    native_planner planner;
    native_item item;
    float *plain[VALUES];  /* of the model's layout, y is what is wanted */
    float *memory[VALUES]; /* as programs have it */
    double *sums, size;    /* what each output is, and the largest of their sums without signs */
    int64_t count[VALUES];
} problem;

static uint32_t seed;

static inline float next(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / (float)(1u << 23) - 1;
}

static inline void set_value(problem *p, int i, int64_t n, int64_t c, int64_t h, int64_t w,
                             bool blocked)
{
    native_value *v = &p->values[i];
    const int64_t lanes = p->isa->lanes;
    int64_t padded = blocked ? (c + lanes - 1) / lanes * lanes : c, k;

    v->rank = 4;
    v->dims[0] = n;
    v->dims[1] = c;
    v->dims[2] = h;
    v->dims[3] = w;
    v->blocked = blocked;
    p->count[i] = n * c * h * w;
    p->plain[i] = take((size_t)p->count[i] * sizeof(float));
    for (k = 0; k < p->count[i]; k++)
        p->plain[i][k] = next();
    p->memory[i] = blocked ? take((size_t)(n * padded * h * w) * sizeof(float)) : p->plain[i];
    p->refs[i].base = i;
    if (!blocked)
        v->known = p->plain[i];
}

/* Where number k of a plain value lies in the blocked one. */
static inline int64_t place_of(const problem *p, int i, int64_t k)
{
    const int64_t *d = p->values[i].dims, lanes = p->isa->lanes, area = d[2] * d[3];
    int64_t n = k / (d[1] * area), c = k / area % d[1], at = k % area;
    return ((n * ((d[1] + lanes - 1) / lanes) + c / lanes) * area + at) * lanes + c % lanes;
}

static inline void to_blocked(problem *p, int i)
{
    for (int64_t k = 0; k < p->count[i]; k++)
        p->memory[i][place_of(p, i, k)] = p->plain[i][k];
}

static inline double output_at(const problem *p, int64_t n, int64_t o, int64_t y, int64_t x,
                               double *size)
{
    const layer *l = p->l;
    double sum = l->bias ? p->plain[BIAS][o] : 0.0;

    *size = fabs(sum);
    for (int64_t c = 0; c < l->ins; c++) {
        for (int64_t t = 0; t < 9; t++) {
            int64_t i = y + t / 3 - l->top, j = x + t % 3 - l->left;
            double term;
            if (i < 0 || j < 0 || i >= l->height || j >= l->width)
                continue;
            term = (double)p->plain[X][((n * l->ins + c) * l->height + i) * l->width + j] *
                   (double)p->plain[W][is_turned(l) ? (c * l->outs + o) * 9 + 8 - t
                                                    : (o * l->ins + c) * 9 + t];
            sum += term;
            *size += fabs(term);
        }
    }
    return sum;
}

static inline double activated(const native_act *act, double x)
{
    if (act->kind == NATIVE_ACT_CLIP)
        return x < act->a ? act->a : x > act->b ? act->b : x;
    return act->kind == NATIVE_ACT_LEAKY && x < 0 ? act->a * x : x;
}

static inline void reference(problem *p)
{
    const layer *l = p->l;
    const int part = l->pooled ? 2 : 1;
    int64_t width = l->columns / part, area = l->rows / part * width;

    p->sums = take((size_t)p->count[Y] * sizeof *p->sums);
    for (int64_t k = 0; k < p->count[Y]; k++) {
        double most = 0.0;
        for (int i = 0; i < part * part; i++) {
            double one, sum = output_at(p, k / area / l->outs, k / area % l->outs,
                                        k % area / width * part + i / part,
                                        k % width * part + i % part, &one);
            most = i == 0 || sum > most || isnan(sum) ? sum : most;
            p->size = one > p->size && isfinite(one) ? one : p->size;
        }
        if (l->residual)
            most += p->plain[RESIDUAL][k];
        p->sums[k] = activated(&l->act, most);
    }
}

static inline void begin_problem(problem *p, const layer *l, const native_isa *isa, int threads)
{
    const int part = l->pooled ? 2 : 1;

    memset(p, 0, sizeof *p);
    p->l = l;
    p->isa = isa;
    set_value(p, X, l->samples, l->ins, l->height, l->width, true);
    set_value(p, W, l->outs, l->ins, 3, 3, false);
    set_value(p, BIAS, 1, l->outs, 1, 1, false);
    set_value(p, RESIDUAL, l->samples, l->outs, l->rows / part, l->columns / part, true);
    set_value(p, Y, l->samples, l->outs, l->rows / part, l->columns / part, true);
    set_value(p, CODES, l->samples, l->outs, l->rows / part, l->columns / part, true);
    if (l->way == COMPUTED || l->way == TURNED)
        p->values[W].known = p->values[BIAS].known = NULL;
    p->device.threads = threads;
    p->device.winograd = true;
    p->device.host = &host;
    p->ir.device = &p->device;
    p->ir.values = p->values;
    p->ir.n_values = VALUES;
    p->planner.ir = &p->ir;
    p->planner.isa = isa;
    p->planner.refs = p->refs;
    p->item = (native_item){
        .kind = is_turned(l) ? NATIVE_ITEM_CONV_GRAD_INPUT : NATIVE_ITEM_CONV,
        .n_inputs = 3,
        .inputs = {X, W, l->bias ? BIAS : -1},
        .output = Y,
        .residual = l->residual ? RESIDUAL : -1,
        .act = l->act,
        .kernel = {3, 3},
        .stride = {1, 1},
        .dilation = {1, 1},
        .pad = {is_turned(l) ? 2 - l->top : l->top, is_turned(l) ? 2 - l->left : l->left},
        .pooled = l->pooled && !l->codes,
        .codes = l->codes ? CODES : -1,
        .pool = {2, 2}};
}

static inline void plan_2(native_planner *p, const native_item *item)
{
    native_plan_winograd(p, item, NATIVE_WINOGRAD_2);
}

static inline void plan_4(native_planner *p, const native_item *item)
{
    native_plan_winograd(p, item, NATIVE_WINOGRAD_4);
}

static inline void plan_3(native_planner *p, const native_item *item)
{
    native_plan_winograd(p, item, NATIVE_WINOGRAD_3);
}

static inline void plan_3_back(native_planner *p, const native_item *item)
{
    native_plan_winograd(p, item, NATIVE_WINOGRAD_3_BACK);
}

/* Of any layer; plan_3_back is for layers of one tile alone. */
static void (*const plans[])(native_planner *, const native_item *) = {plan_2, plan_4, plan_3};
enum { N_PLANS = sizeof plans / sizeof plans[0] };

/* A tile has whole windows of 2 x 2. */
static inline bool makes(void (*plan)(native_planner *, const native_item *), const layer *l)
{
    return !l->pooled || plan != plan_3;
}

/* Parts in any order, with scratch that holds what others left there. */
static inline void run(problem *p, void (*plan)(native_planner *, const native_item *),
                       int64_t parts)
{
    char *base[VALUES];
    native_bases bases = {base, NULL, NULL, 0, NULL, 0};

    to_blocked(p, X);
    to_blocked(p, RESIDUAL);
    scratch_bytes = 0;
    n_derived = n_derivations = 0;
    plan(&p->planner, &p->item);
    for (int i = 0; i < VALUES; i++)
        base[i] = i < DERIVED ? (char *)p->memory[i] : derived[i - DERIVED];
    for (int i = 0; i < n_derivations; i++)
        derivations[i].run(derivations[i].params, &bases, 0, derivations[i].n);
    bases.scratch = take(scratch_bytes);
    memset(bases.scratch, 0xff, scratch_bytes);
    parts = parts < the_run.n ? parts : the_run.n;
    for (int64_t i = parts; i-- > 0;)
        the_run.run(the_run.params, &bases, i * the_run.n / parts, (i + 1) * the_run.n / parts);
}

/* The transforms mix pixels of a tile, so errors go with its largest sums. */
static inline void check(const problem *p, double tolerance)
{
    for (int64_t k = 0; k < p->count[Y]; k++) {
        double got = p->memory[Y][place_of(p, Y, k)], want = p->sums[k];
        bool same = isnan(want)   ? isnan(got)
                    : isinf(want) ? want == got
                                  : fabs(got - want) <= tolerance * p->size;
        if (!same) {
            CHECK_NEAR(want, got, tolerance * p->size);
            return;
        }
    }
    CHECK(true);
}

static inline const native_isa *isa_at(int i)
{
    static const char *const allowed[] = {"avx2 fma avx512f avx512bw avx512vl avx512dq", "avx2 fma",
                                          ""};
    return native_choose_isa(allowed[i]);
}

#define EACH_FORM(plan)                                                                            \
    for (int n_form = 0; n_form < N_PLANS; n_form++)                                               \
        for (void (*plan)(native_planner *, const native_item *) = plans[n_form]; plan; plan = NULL)

#define EACH_ISA(isa)                                                                              \
    for (int n_isa = 0; n_isa < 3; n_isa++)                                                        \
        for (const native_isa *isa = isa_at(n_isa); isa; isa = NULL)

static const native_act relu = {.kind = NATIVE_ACT_CLIP, .b = INFINITY},
                        leaky = {.kind = NATIVE_ACT_LEAKY, .a = 0.25f};

#endif
