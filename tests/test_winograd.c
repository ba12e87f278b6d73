/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Winograd's convolution of compiled programs against the sum over the window in double, on every
 * instruction set that this processor has. The planner is a small one of this file's own.
 */
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

static void *take(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    REQUIRE(p && n_blocks < BLOCKS);
    memset(p, 0, bytes);
    return blocks[n_blocks++] = p;
}

static void free_all(void)
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

static void in_one_part(tfr_range_fn fn, void *user, int64_t n, int64_t grain)
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

static bool is_turned(const layer *l)
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

static float next(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / (float)(1u << 23) - 1;
}

static void set_value(problem *p, int i, int64_t n, int64_t c, int64_t h, int64_t w, bool blocked)
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
static int64_t place_of(const problem *p, int i, int64_t k)
{
    const int64_t *d = p->values[i].dims, lanes = p->isa->lanes, area = d[2] * d[3];
    int64_t n = k / (d[1] * area), c = k / area % d[1], at = k % area;
    return ((n * ((d[1] + lanes - 1) / lanes) + c / lanes) * area + at) * lanes + c % lanes;
}

static void to_blocked(problem *p, int i)
{
    for (int64_t k = 0; k < p->count[i]; k++)
        p->memory[i][place_of(p, i, k)] = p->plain[i][k];
}

static double output_at(const problem *p, int64_t n, int64_t o, int64_t y, int64_t x, double *size)
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

static double activated(const native_act *act, double x)
{
    if (act->kind == NATIVE_ACT_CLIP)
        return x < act->a ? act->a : x > act->b ? act->b : x;
    return act->kind == NATIVE_ACT_LEAKY && x < 0 ? act->a * x : x;
}

static void reference(problem *p)
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

static void begin_problem(problem *p, const layer *l, const native_isa *isa, int threads)
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

static void plan_2(native_planner *p, const native_item *item)
{
    native_plan_winograd(p, item, NATIVE_WINOGRAD_2);
}

static void plan_4(native_planner *p, const native_item *item)
{
    native_plan_winograd(p, item, NATIVE_WINOGRAD_4);
}

static void plan_3(native_planner *p, const native_item *item)
{
    native_plan_winograd(p, item, NATIVE_WINOGRAD_3);
}

static void plan_3_back(native_planner *p, const native_item *item)
{
    native_plan_winograd(p, item, NATIVE_WINOGRAD_3_BACK);
}

/* Of any layer; plan_3_back is for layers of one tile alone. */
static void (*const plans[])(native_planner *, const native_item *) = {plan_2, plan_4, plan_3};
enum { N_PLANS = sizeof plans / sizeof plans[0] };

/* A tile has whole windows of 2 x 2. */
static bool makes(void (*plan)(native_planner *, const native_item *), const layer *l)
{
    return !l->pooled || plan != plan_3;
}

/* Parts in any order, with scratch that holds what others left there. */
static void run(problem *p, void (*plan)(native_planner *, const native_item *), int64_t parts)
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
static void check(const problem *p, double tolerance)
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

/* What a code names is the maximum: NaN where there is one, and what its output has otherwise. */
static void check_codes(const problem *p, double tolerance)
{
    const layer *l = p->l;
    const int64_t width = l->columns / 2, area = l->rows / 2 * width;

    for (int64_t k = 0; k < p->count[CODES]; k++) {
        const uint8_t *codes = (const uint8_t *)p->memory[CODES];
        const int code = codes[place_of(p, CODES, k)];
        double size, most = -INFINITY, named = NAN;
        REQUIRE(code < 4);
        for (int i = 0; i < 4; i++) {
            double sum = output_at(p, k / area / l->outs, k / area % l->outs,
                                   k % area / width * 2 + i / 2, k % width * 2 + i % 2, &size);
            most = sum > most || isnan(sum) ? sum : most;
            named = i == code ? sum : named;
        }
        if (isnan(most) ? !isnan(named) : !(most == named || most - named <= tolerance * p->size)) {
            CHECK_NEAR(most, named, tolerance * p->size);
            return;
        }
    }
    CHECK(true);
}

static const native_isa *isa_at(int i)
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

/* ---- the claims ---- */

static const native_act relu = {.kind = NATIVE_ACT_CLIP, .b = INFINITY},
                        leaky = {.kind = NATIVE_ACT_LEAKY, .a = 0.25f};

static void check_plan(const layer *l, void (*plan)(native_planner *, const native_item *))
{
    EACH_ISA(isa)
    {
        problem p;
        seed = 1;
        begin_problem(&p, l, isa, 2);
        run(&p, plan, 1);
        reference(&p);
        check(&p, 1e-6);
        if (l->codes)
            check_codes(&p, 1e-6);
        free_all();
    }
}

static void check_way(const layer *l)
{
    EACH_FORM(plan)
    {
        if (makes(plan, l))
            check_plan(l, plan);
    }
}

static void check_layer(const layer *l)
{
    layer one = *l;
    for (one.way = KNOWN; one.way < WAYS; one.way++)
        check_way(&one);
}

TEST(odd_sizes_and_paddings_give_the_sum_over_the_window)
{
    static const layer layers[] = {
        {1, 16, 16, 4, 4, 4, 4, 1, 1, false, false, false, {0}, KNOWN, false},
        {1, 16, 16, 6, 6, 4, 4, 0, 0, true, false, false, {0}, KNOWN, false},
        {2, 32, 48, 7, 9, 7, 9, 1, 1, true, false, false, {0}, KNOWN, false},
        {1, 17, 33, 13, 5, 13, 5, 1, 1, true, false, false, {0}, KNOWN, false},
        {1, 40, 21, 11, 10, 12, 9, 2, 0, true, false, false, {0}, KNOWN, false},
        {1, 16, 80, 5, 1, 7, 3, 2, 2, true, false, false, {0}, KNOWN, false},
        {3, 24, 16, 10, 12, 8, 10, 0, 0, false, false, false, {0}, KNOWN, false},
    };
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        check_layer(&layers[i]);
}

TEST(a_gradient_of_one_tile_is_the_transposed_form)
{
    static const layer layers[] = {
        {5, 32, 48, 3, 3, 5, 5, 2, 2, false, false, false, {0}, TURNED, false},
        {1, 17, 33, 2, 3, 4, 5, 2, 2, true, false, false, {0}, TURNED, false},
        {2, 16, 80, 1, 1, 3, 3, 2, 2, false, false, false, {0}, TURNED, false},
    };
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        layer frozen = layers[i];
        frozen.way = FROZEN;
        check_plan(&layers[i], plan_3_back);
        check_plan(&frozen, plan_3_back);
    }
}

TEST(residuals_and_activations_are_fused)
{
    layer l = {2, 32, 48, 9, 7, 9, 7, 1, 1, true, true, false, {0}, KNOWN, false};
    check_layer(&l);
    l.act = relu;
    check_layer(&l);
    l.act = leaky;
    check_layer(&l);
    l.residual = false;
    check_layer(&l);
}

TEST(pooled_windows_give_their_maximum)
{
    layer l = {2, 32, 24, 10, 14, 10, 14, 1, 1, true, false, true, {0}, KNOWN, false};
    check_layer(&l);
    l.rows = 6;
    l.act = relu;
    check_layer(&l);
}

TEST(codes_name_the_maximum_of_their_window)
{
    layer l = {2, 32, 24, 10, 14, 10, 14, 1, 1, true, false, true, {0}, COMPUTED, true};
    check_way(&l);
    l.rows = 6;
    l.act = relu;
    check_way(&l);
    l.way = KNOWN;
    l.bias = false;
    check_way(&l);
}

TEST(neither_cuts_nor_bands_change_a_bit)
{
    const layer l = {3, 32, 80, 30, 29, 30, 29, 1, 1, true, true, false, relu, KNOWN, false};
    EACH_FORM(plan) EACH_ISA(isa)
    {
        problem p, q;
        seed = 1;
        begin_problem(&p, &l, isa, 1);
        seed = 1;
        begin_problem(&q, &l, isa, 1);
        run(&p, plan, 1);
        for (int64_t parts = 2; parts < 12; parts += 3) {
            q.device.threads = (int)parts;
            run(&q, plan, parts);
            for (int64_t k = 0; k < p.count[Y]; k++) {
                int64_t at = place_of(&p, Y, k);
                if (memcmp(&p.memory[Y][at], &q.memory[Y][at], sizeof(float)) != 0) {
                    CHECK_NEAR(p.memory[Y][at], q.memory[Y][at], 0.0);
                    break;
                }
            }
        }
        free_all();
    }
}

TEST(a_residual_may_be_where_the_result_goes)
{
    const layer l = {1, 32, 32, 9, 9, 9, 9, 1, 1, true, true, false, relu, KNOWN, false};
    EACH_FORM(plan) EACH_ISA(isa)
    {
        problem p;
        seed = 1;
        begin_problem(&p, &l, isa, 1);
        p.plain[X][7] = INFINITY;
        p.memory[Y] = p.memory[RESIDUAL];
        run(&p, plan, 3);
        reference(&p);
        check(&p, 1e-6);
        free_all();
    }
}

TEST(nan_and_infinity_reach_their_windows_only)
{
    static const layer layers[] = {
        {2, 17, 33, 11, 9, 11, 9, 1, 1, true, true, false, {0}, KNOWN, false},
        {1, 16, 40, 12, 9, 10, 8, 0, 1, true, false, true, {0}, KNOWN, false},
        {1,
         16,
         40,
         12,
         9,
         12,
         9,
         1,
         1,
         true,
         true,
         false,
         {.kind = NATIVE_ACT_LEAKY, .a = 0.25f},
         KNOWN,
         false},
        {1, 16, 40, 12, 9, 10, 8, 0, 1, true, false, true, {0}, COMPUTED, true},
        {2, 17, 33, 11, 9, 11, 9, 1, 1, true, true, false, {0}, TURNED, false},
    };
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        EACH_FORM(plan) EACH_ISA(isa)
        {
            problem p;
            if (!makes(plan, &layers[i]))
                continue;
            seed = 1;
            begin_problem(&p, &layers[i], isa, 2);
            p.plain[X][0] = INFINITY;
            p.plain[X][57] = -INFINITY;
            p.plain[X][p.count[X] - 3] = NAN;
            p.plain[X][p.count[X] / 2] = 3e38f; /* finite, but not its transform */
            run(&p, plan, 2);
            reference(&p);
            check(&p, 1e-6);
            if (layers[i].codes)
                check_codes(&p, 1e-6);
            free_all();
        }
    }
}

TEST(nan_and_infinity_of_a_gradient_of_one_tile_reach_their_windows_only)
{
    const layer l = {7, 17, 33, 3, 3, 5, 5, 2, 2, false, false, false, {0}, TURNED, false};
    EACH_ISA(isa)
    {
        problem p;
        seed = 1;
        begin_problem(&p, &l, isa, 2);
        p.plain[X][0] = INFINITY;
        p.plain[X][p.count[X] - 3] = NAN;
        p.plain[X][p.count[X] / 2] = 3e38f;
        run(&p, plan_3_back, 2);
        reference(&p);
        check(&p, 1e-6);
        free_all();
    }
}

static double error_of(const problem *p)
{
    double sum = 0.0;
    for (int64_t k = 0; k < p->count[Y]; k++) {
        double e = p->memory[Y][place_of(p, Y, k)] - p->sums[k];
        sum += e * e;
    }
    return sqrt(sum / (double)p->count[Y]);
}

TEST(errors_are_below_four_times_those_of_the_plain_sum)
{
    static const int64_t channels[] = {16, 64, 256};
    for (int i = 0; i < 3; i++) {
        const layer l = {1, channels[i], 32,    16,    16,  16,    16,   1,
                         1, false,       false, false, {0}, KNOWN, false};
        EACH_FORM(plan) EACH_ISA(isa)
        {
            problem p;
            double direct, winograd;
            seed = 1;
            begin_problem(&p, &l, isa, 1);
            reference(&p);
            run(&p, native_plan_conv, 1);
            direct = error_of(&p);
            run(&p, plan, 1);
            winograd = error_of(&p);
            CHECK(winograd < 4.0 * direct);
            free_all();
        }
    }
}

/* All pixels are 0 but a few, and of the outputs those that read one of them. */
static void check_zeros(const layer *l, const native_isa *isa,
                        void (*plan)(native_planner *, const native_item *))
{
    problem p;
    int64_t n = 0;

    seed = 1;
    begin_problem(&p, l, isa, 2);
    memset(p.plain[X], 0, (size_t)p.count[X] * sizeof(float));
    p.plain[X][3 * l->width + 4] = 0.37f;
    p.plain[X][p.count[X] - 5 * l->width - 4] = -0.71f;
    memset(p.plain[BIAS], 0, (size_t)p.count[BIAS] * sizeof(float));
    run(&p, plan, 2);
    reference(&p);
    check(&p, 1e-6);
    for (int64_t k = 0; k < p.count[Y]; k++) {
        const int64_t at = place_of(&p, Y, k);
        if (p.sums[k] != 0.0)
            continue;
        n++;
        CHECK(p.memory[Y][at] == 0.0f);
    }
    CHECK(n > 0);
    free_all();
}

/* The gradient behind a ReLU goes by the sign of a sum, which is that of a rounding error there. */
TEST(sums_of_blank_pixels_are_exactly_0_before_an_activation_of_a_step)
{
    layer l = {2, 32, 40, 10, 14, 10, 14, 1, 1, true, false, false, relu, COMPUTED, false};
    EACH_FORM(plan) EACH_ISA(isa)
    {
        l.bias = true;
        check_zeros(&l, isa, plan);
        l.bias = false;
        check_zeros(&l, isa, plan);
    }
}

/* Of equal maxima the first has the code, so that of four blank windows the code is 0. */
TEST(gradients_of_one_tile_have_errors_below_four_times_those_of_the_plain_sum)
{
    const layer l = {64, 64, 64, 3, 3, 5, 5, 2, 2, false, false, false, {0}, TURNED, false};
    EACH_ISA(isa)
    {
        problem p;
        double direct;
        seed = 1;
        begin_problem(&p, &l, isa, 1);
        reference(&p);
        run(&p, native_plan_conv, 1);
        direct = error_of(&p);
        run(&p, plan_3_back, 1);
        CHECK(error_of(&p) < 4.0 * direct);
        free_all();
    }
}

TEST(blank_windows_have_the_code_of_the_first_in_a_step)
{
    const layer l = {1, 32, 24, 10, 14, 10, 14, 1, 1, true, false, true, {0}, COMPUTED, true};
    EACH_FORM(plan) EACH_ISA(isa)
    {
        problem p;
        int64_t wrong = 0, n = 0;

        if (!makes(plan, &l))
            continue;
        seed = 1;
        begin_problem(&p, &l, isa, 1);
        memset(p.plain[X], 0, (size_t)p.count[X] * sizeof(float));
        memset(p.plain[BIAS], 0, (size_t)p.count[BIAS] * sizeof(float));
        for (int64_t c = 0; c < l.ins; c++)
            p.plain[X][c * l.height * l.width + 4 * l.width + 5] = next();
        run(&p, plan, 1);
        for (int64_t k = 0; k < p.count[CODES]; k++) {
            const int64_t y = k / 7 % 5 * 2, x = k % 7 * 2; /* pixel 4, 5 is read by 3-5, 4-6 */
            if (y <= 5 && y + 1 >= 3 && x <= 6 && x + 1 >= 4)
                continue;
            n++;
            wrong += ((const uint8_t *)p.memory[CODES])[place_of(&p, CODES, k)] != 0;
        }
        CHECK(n > 0);
        CHECK_INT(0, wrong);
        free_all();
    }
}

TEST(small_outputs_have_tiles_of_3_x_3)
{
    layer l = {1, 64, 64, 5, 5, 3, 3, 0, 0, true, false, false, relu, COMPUTED, false};
    EACH_ISA(isa)
    {
        problem p;
        begin_problem(&p, &l, isa, 1);
        CHECK_INT(NATIVE_WINOGRAD_3, native_winograd_form(&p.planner, &p.item));
        p.item.codes = CODES;
        CHECK(native_winograd_form(&p.planner, &p.item) != NATIVE_WINOGRAD_3);
        free_all();
    }
}

TEST(gradients_of_small_outputs_are_the_transposed_form)
{
    const layer l = {1, 64, 64, 3, 3, 5, 5, 2, 2, false, false, false, {0}, TURNED, false};
    EACH_ISA(isa)
    {
        problem p;
        begin_problem(&p, &l, isa, 1);
        CHECK_INT(NATIVE_WINOGRAD_3_BACK, native_winograd_form(&p.planner, &p.item));
        p.item.pad[0] = 1; /* not all that the gradient reaches are outputs */
        CHECK(native_winograd_form(&p.planner, &p.item) != NATIVE_WINOGRAD_3_BACK);
        p.item.pad[0] = 0;
        p.values[X].dims[2] = 4;
        p.values[Y].dims[2] = 6;
        CHECK(native_winograd_form(&p.planner, &p.item) != NATIVE_WINOGRAD_3_BACK);
        free_all();
    }
}

TEST(only_windows_of_3_x_3_and_stride_1_are_taken)
{
    const layer l = {1, 64, 64, 28, 28, 28, 28, 1, 1, false, false, false, {0}, KNOWN, false};
    EACH_FORM(plan) EACH_ISA(isa)
    {
        problem p;
        begin_problem(&p, &l, isa, 1);
        CHECK_INT(1, native_winograd_form(&p.planner, &p.item));
        p.item.stride[0] = 2;
        CHECK_INT(-1, native_winograd_form(&p.planner, &p.item));
        p.item.stride[0] = 1;
        p.item.dilation[1] = 2;
        CHECK_INT(-1, native_winograd_form(&p.planner, &p.item));
        p.item.dilation[1] = 1;
        p.item.kernel[1] = 1;
        CHECK_INT(-1, native_winograd_form(&p.planner, &p.item));
        p.item.kernel[1] = 3;
        p.values[Y].dims[2] = p.values[Y].dims[3] = 14; /* weights from far away decide */
        CHECK_INT(0, native_winograd_form(&p.planner, &p.item));
        p.values[Y].dims[2] = 1; /* three of four rows of a tile for nothing */
        CHECK_INT(-1, native_winograd_form(&p.planner, &p.item));
        free_all();
    }
}

static const test_case cases[] = {
    CASE(odd_sizes_and_paddings_give_the_sum_over_the_window),
    CASE(a_gradient_of_one_tile_is_the_transposed_form),
    CASE(residuals_and_activations_are_fused),
    CASE(pooled_windows_give_their_maximum),
    CASE(codes_name_the_maximum_of_their_window),
    CASE(neither_cuts_nor_bands_change_a_bit),
    CASE(a_residual_may_be_where_the_result_goes),
    CASE(nan_and_infinity_reach_their_windows_only),
    CASE(nan_and_infinity_of_a_gradient_of_one_tile_reach_their_windows_only),
    CASE(errors_are_below_four_times_those_of_the_plain_sum),
    CASE(gradients_of_one_tile_have_errors_below_four_times_those_of_the_plain_sum),
    CASE(sums_of_blank_pixels_are_exactly_0_before_an_activation_of_a_step),
    CASE(blank_windows_have_the_code_of_the_first_in_a_step),
    CASE(small_outputs_have_tiles_of_3_x_3),
    CASE(gradients_of_small_outputs_are_the_transposed_form),
    CASE(only_windows_of_3_x_3_and_stride_1_are_taken),
};
TEST_MAIN(cases)
