/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions with a maximum after them in programs of the native backend, forward and back,
 * against sums in double; and which items become them. The planner is a small one of this file's
 * own, which runs what it is told at once.
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tfr_test.h"

enum { X, W, BIAS, Y, CODES, G, DX, DW, VALUES, BLOCKS = 64 };

/* ---- what program_kit.c and program_read.c do otherwise ---- */

static void *blocks[BLOCKS];
static int n_blocks, n_runs;
static native_run runs[8];
static char *scratch;
static char *base[1];

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
    n_runs = 0;
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
    runs[n_runs] = (native_run){.run = run, .params = params, .n = n, .cost = cost};
    return &runs[n_runs++];
}

void native_need_scratch(native_planner *p, uint64_t bytes)
{
    (void)p;
    scratch = take(bytes);
    memset(scratch, 0x7f, bytes); /* what others left there */
}

native_ref native_derived(native_planner *p, uint64_t bytes)
{
    const native_ref ref = {take(bytes), 0, 0};
    (void)p;
    return ref;
}

void native_derive(native_planner *p, int of,
                   void (*run)(const void *, const native_bases *, int64_t, int64_t),
                   const void *params, int64_t n, double cost)
{
    (void)of;
    native_add_run(p, run, params, n, cost);
}

/* Two shards, of which the other holds ones. */
static int64_t sums_step;
native_ref native_sums(native_planner *p, uint64_t bytes)
{
    const native_ref ref = native_derived(p, 2 * bytes);
    sums_step = (int64_t)bytes;
    for (uint64_t i = 0; i < bytes / sizeof(float); i++)
        ((float *)(uintptr_t)ref.known)[bytes / sizeof(float) + i] = 1.0f;
    return ref;
}

int native_shards(const native_planner *p)
{
    (void)p;
    return 2;
}

native_run *native_finish(native_planner *p,
                          void (*run)(const void *, const native_bases *, int64_t, int64_t),
                          const void *params, int64_t n, double cost)
{
    return native_add_run(p, run, params, n, cost);
}

int native_new_value(native_ir *ir, const native_value *like)
{
    REQUIRE(ir->n_values < ir->room_values);
    ir->values[ir->n_values] = *like;
    return ir->n_values++;
}

void native_count_readers(native_ir *ir)
{
    (void)ir;
}

/* ---- layers ---- */

typedef struct layer {
    int64_t samples, ins, outs, height, width, kernel[2], stride[2], pad[2], end[2], pool[2];
    bool bias, relu;
} layer;

static const layer layers[] = {
    {3, 32, 64, 13, 13, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {2, 2}, true, true},
    {2, 17, 20, 9, 12, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {2, 2}, true, true},
    {2, 20, 33, 14, 13, {5, 5}, {1, 1}, {2, 2}, {2, 2}, {3, 3}, true, false},
    {1, 8, 5, 11, 16, {2, 3}, {2, 1}, {1, 0}, {0, 2}, {2, 4}, false, true},
    {2, 5, 1, 9, 9, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {4, 4}, false, false},
    {1, 5, 18, 30, 30, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {8, 8}, true, true},
};
/* few channels, whose source is plain and padded already */
static const layer first_layers[] = {
    {3, 1, 32, 28, 28, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {2, 2}, true, true},
    {2, 3, 20, 17, 15, {5, 5}, {1, 1}, {0, 0}, {0, 0}, {3, 3}, true, true},
    {2, 4, 7, 16, 19, {3, 3}, {2, 2}, {0, 0}, {0, 0}, {2, 2}, false, true},
    {1, 1, 40, 8, 8, {2, 2}, {1, 1}, {0, 0}, {0, 0}, {3, 3}, true, false},
};
#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))

typedef struct problem {
    const layer *l;
    const native_isa *isa;
    bool plain;
    tfr_plugin_device device;
    native_ir ir;
    native_value values[VALUES];
    native_ref refs[VALUES];
    native_planner planner;
    native_item item;
    int64_t full[2], out[2];
    float *memory[VALUES];
} problem;

static uint32_t seed = 1;

static float next_value(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(int32_t)seed / 2147483648.0f;
}

static const native_isa *isa_at(int i)
{
    static const char *const allowed[] = {"", "avx2 fma",
                                          "avx2 fma avx512f avx512bw avx512vl avx512dq"};
    const native_isa *isa = native_choose_isa(allowed[i]);
    return i > 0 && isa == native_choose_isa(allowed[i - 1]) ? NULL : isa;
}

#define EACH_ISA(isa)                                                                              \
    for (int n_isa = 0; n_isa < 3; n_isa++)                                                        \
        for (const native_isa *isa = isa_at(n_isa); isa; isa = NULL)

static void set_value(problem *p, int i, int64_t n, int64_t c, int64_t h, int64_t w, bool blocked)
{
    const int64_t lanes = p->isa->lanes, all = blocked ? (c + lanes - 1) / lanes * lanes : c;
    const size_t count = (size_t)(n * all * h * w);
    p->values[i] = (native_value){.rank = 4, .dims = {n, c, h, w}, .blocked = blocked};
    p->memory[i] = take(count * sizeof(float));
    for (size_t k = 0; i != CODES && k < count; k++)
        p->memory[i][k] = next_value();
    p->refs[i].known = (const char *)p->memory[i];
}

static void begin_problem(problem *p, const layer *l, const native_isa *isa, bool plain)
{
    memset(p, 0, sizeof *p);
    p->l = l;
    p->isa = isa;
    p->plain = plain;
    for (int i = 0; i < 2; i++) {
        const int64_t size = (i ? l->width : l->height) + l->pad[i] + l->end[i];
        p->full[i] = (size - l->kernel[i]) / l->stride[i] + 1;
        p->out[i] = p->full[i] / l->pool[i];
    }
    set_value(p, X, l->samples, l->ins, l->height, l->width, !plain);
    set_value(p, DX, l->samples, l->ins, l->height, l->width, !plain);
    set_value(p, W, l->outs, l->ins, l->kernel[0], l->kernel[1], false);
    set_value(p, DW, l->outs, l->ins, l->kernel[0], l->kernel[1], false);
    set_value(p, BIAS, 1, l->outs, 1, 1, false);
    set_value(p, Y, l->samples, l->outs, p->out[0], p->out[1], true);
    set_value(p, CODES, l->samples, l->outs, p->out[0], p->out[1], true);
    set_value(p, G, l->samples, l->outs, p->out[0], p->out[1], true);
    p->ir.device = &p->device;
    p->ir.values = p->values;
    p->planner.ir = &p->ir;
    p->planner.isa = isa;
    p->planner.refs = p->refs;
    p->item = (native_item){.residual = -1,
                            .codes = CODES,
                            .kernel = {l->kernel[0], l->kernel[1]},
                            .stride = {l->stride[0], l->stride[1]},
                            .dilation = {1, 1},
                            .pad = {l->pad[0], l->pad[1]},
                            .pool = {l->pool[0], l->pool[1]},
                            .full = {p->full[0], p->full[1]},
                            .plain_source = plain};
    if (l->relu)
        p->item.act = (native_act){.kind = NATIVE_ACT_CLIP, .b = INFINITY};
}

static void run(problem *p, void (*plan)(native_planner *, const native_item *), int a, int b,
                int c, int output)
{
    const native_item item = p->item;
    n_runs = 0;
    p->item.inputs[0] = a;
    p->item.inputs[1] = b;
    p->item.inputs[2] = c;
    p->item.n_inputs = 3;
    p->item.output = output;
    p->planner.item = &p->item;
    plan(&p->planner, &p->item);
    for (int i = 0; i < n_runs; i++) {
        const native_bases bases = {.base = base, .scratch = scratch, .sums_step = sums_step};
        for (int64_t k = 0; k < runs[i].n; k++) {
            const int64_t end = runs[i].alone ? runs[i].n : k + 1;
            runs[i].run(runs[i].params, &bases, k, end);
            k = end - 1;
        }
    }
    p->item = item;
}

static int64_t place(const problem *p, int i, int64_t n, int64_t c, int64_t y, int64_t x)
{
    const int64_t *d = p->values[i].dims, l = p->isa->lanes;
    if (!p->values[i].blocked)
        return ((n * d[1] + c) * d[2] + y) * d[3] + x;
    return (((n * ((d[1] + l - 1) / l) + c / l) * d[2] + y) * d[3] + x) * l + c % l;
}

/* Where the tap of an output lies in the source; false = outside. */
static bool tap_at(const problem *p, int64_t y, int64_t x, int64_t i, int64_t j, int64_t *row,
                   int64_t *column)
{
    *row = y * p->l->stride[0] + i - p->l->pad[0];
    *column = x * p->l->stride[1] + j - p->l->pad[1];
    return *row >= 0 && *column >= 0 && *row < p->l->height && *column < p->l->width;
}

static double output_at(const problem *p, int64_t n, int64_t o, int64_t y, int64_t x)
{
    double sum = p->l->bias ? (double)p->memory[BIAS][o] : 0;
    for (int64_t c = 0; c < p->l->ins; c++)
        for (int64_t i = 0; i < p->l->kernel[0]; i++)
            for (int64_t j = 0; j < p->l->kernel[1]; j++) {
                int64_t row, column;
                if (tap_at(p, y, x, i, j, &row, &column))
                    sum += (double)p->memory[X][place(p, X, n, c, row, column)] *
                           (double)p->memory[W][place(p, W, o, c, i, j)];
            }
    return sum;
}

/* The code of a maximum; CODES is bytes. */
static int64_t code_at(const problem *p, int64_t n, int64_t o, int64_t y, int64_t x)
{
    return ((const uint8_t *)p->memory[CODES])[place(p, CODES, n, o, y, x)];
}

#define EACH_MAXIMUM(p)                                                                            \
    for (int64_t n = 0; n < (p)->l->samples; n++)                                                  \
        for (int64_t o = 0; o < (p)->l->outs; o++)                                                 \
            for (int64_t y = 0; y < (p)->out[0]; y++)                                              \
                for (int64_t x = 0; x < (p)->out[1]; x++)

static void check_forward(const problem *p)
{
    const int64_t *pool = p->l->pool;
    int64_t wrong = 0;
    EACH_MAXIMUM(p)
    {
        const int64_t code = code_at(p, n, o, y, x);
        double best = -INFINITY, chosen;
        for (int64_t a = 0; a < pool[0] * pool[1]; a++)
            best = fmax(best,
                        output_at(p, n, o, y * pool[0] + a / pool[1], x * pool[1] + a % pool[1]));
        chosen = output_at(p, n, o, y * pool[0] + code / pool[1], x * pool[1] + code % pool[1]);
        wrong += code >= pool[0] * pool[1] || !(chosen >= best - 1e-4);
        best = p->l->relu ? fmax(best, 0) : best;
        wrong += !(fabs(best - (double)p->memory[Y][place(p, Y, n, o, y, x)]) <= 1e-4);
    }
    CHECK_INT(0, wrong);
}

/* Adds the gradients of all maxima to dx, plain, and dw. */
static void add_gradients(const problem *p, double *dx, double *dw)
{
    const layer *l = p->l;
    EACH_MAXIMUM(p)
    {
        const double g = (double)p->memory[G][place(p, G, n, o, y, x)];
        const int64_t code = code_at(p, n, o, y, x);
        const int64_t cy = y * l->pool[0] + code / l->pool[1];
        const int64_t cx = x * l->pool[1] + code % l->pool[1];
        for (int64_t c = 0; c < l->ins; c++)
            for (int64_t i = 0; i < l->kernel[0]; i++)
                for (int64_t j = 0; j < l->kernel[1]; j++) {
                    int64_t row, column;
                    if (!tap_at(p, cy, cx, i, j, &row, &column))
                        continue;
                    dx[((n * l->ins + c) * l->height + row) * l->width + column] +=
                        g * (double)p->memory[W][place(p, W, o, c, i, j)];
                    dw[place(p, DW, o, c, i, j)] +=
                        g * (double)p->memory[X][place(p, X, n, c, row, column)];
                }
    }
}

static void check_gradients(problem *p)
{
    const layer *l = p->l;
    const int64_t pixels = l->height * l->width, n_dx = l->samples * l->ins * pixels;
    const int64_t n_dw = l->outs * l->ins * l->kernel[0] * l->kernel[1];
    double *dx = take((size_t)n_dx * sizeof *dx), *dw = take((size_t)n_dw * sizeof *dw);
    int64_t wrong = 0, i;
    for (i = 0; i < l->samples * l->outs * p->out[0] * p->out[1]; i += 3)
        p->memory[G][i] = 0.0f;
    add_gradients(p, dx, dw);
    run(p, native_plan_sparse_grad_filter, G, X, -1, DW);
    for (i = 0; i < n_dw; i++) /* with the other shard's */
        wrong += !(fabs(dw[i] + 1 - (double)p->memory[DW][i]) <= 1e-4);
    CHECK_INT(0, wrong);
    if (p->plain)
        return;
    run(p, native_plan_sparse_grad_input, G, W, -1, DX);
    for (i = 0; i < n_dx; i++)
        wrong += !(fabs(dx[i] -
                        (double)p->memory[DX][place(p, DX, i / pixels / l->ins, i / pixels % l->ins,
                                                    i % pixels / l->width, i % l->width)]) <= 1e-4);
    CHECK_INT(0, wrong);
}

static void check_layer(const layer *l, const native_isa *isa, bool plain)
{
    problem p;
    begin_problem(&p, l, isa, plain);
    p.item.kind = NATIVE_ITEM_CONV;
    run(&p, native_plan_pooled_conv, X, W, l->bias ? BIAS : -1, Y);
    check_forward(&p);
    check_gradients(&p);
    free_all();
}

TEST(layers_are_the_sums_both_ways)
{
    EACH_ISA(isa) for (int i = 0; i < COUNT(layers); i++) check_layer(&layers[i], isa, false);
}

TEST(layers_of_few_channels_are_the_sums_both_ways)
{
    EACH_ISA(isa)
    for (int i = 0; i < COUNT(first_layers); i++)
        check_layer(&first_layers[i], isa, true);
}

/* ---- which items ---- */

enum { V_X, V_W, V_CONV, V_POOL, V_DY, V_G, V_DW, V_DX, V_DB, V_N = 16 };
enum { I_CONV, I_POOL, I_GRAD, I_FILTER, I_INPUT, I_SUM, I_N };

typedef struct small {
    native_ir ir;
    native_value values[V_N];
    native_item items[I_N];
} small;

static void set_dims(small *s, int v, int64_t c, int64_t h, int64_t w)
{
    s->values[v] = (native_value){.rank = 4, .dims = {8, c, h, w}, .arg = -1, .root = v};
}

/* Conv 3 x 3 with ReLU, MaxPool 2 x 2, and their gradients. */
static void begin_small(small *s)
{
    static const native_item conv = {.n_inputs = 2,
                                     .residual = -1,
                                     .codes = -1,
                                     .kernel = {3, 3},
                                     .stride = {1, 1},
                                     .dilation = {1, 1}};
    native_item pool = conv;
    memset(s, 0, sizeof *s);
    set_dims(s, V_X, 32, 13, 13);
    set_dims(s, V_W, 32, 3, 3);
    set_dims(s, V_CONV, 64, 11, 11);
    set_dims(s, V_POOL, 64, 5, 5);
    set_dims(s, V_DY, 64, 5, 5);
    set_dims(s, V_G, 64, 11, 11);
    for (int i = 0; i < 2; i++)
        pool.kernel[i] = pool.stride[i] = 2;
    s->ir = (native_ir){.values = s->values,
                        .n_values = V_DB + 1,
                        .room_values = V_N,
                        .items = s->items,
                        .n_items = I_N};
    for (int i = 0; i < I_N; i++)
        s->items[i] = i == I_POOL || i == I_GRAD ? pool : conv;
    s->items[I_CONV].act = (native_act){.kind = NATIVE_ACT_CLIP, .b = INFINITY};
    s->items[I_GRAD].masked = true;
    s->items[I_SUM].axes = 13;
    s->items[I_POOL].n_inputs = s->items[I_SUM].n_inputs = 1;
#define SET(i, k, a, b, o)                                                                         \
    s->items[i].kind = k, s->items[i].inputs[0] = a, s->items[i].inputs[1] = b,                    \
    s->items[i].output = o
    SET(I_CONV, NATIVE_ITEM_CONV, V_X, V_W, V_CONV);
    SET(I_POOL, NATIVE_ITEM_POOL, V_CONV, -1, V_POOL);
    SET(I_GRAD, NATIVE_ITEM_POOL_GRAD, V_DY, V_CONV, V_G);
    SET(I_FILTER, NATIVE_ITEM_CONV_GRAD_FILTER, V_G, V_X, V_DW);
    SET(I_INPUT, NATIVE_ITEM_CONV_GRAD_INPUT, V_G, V_W, V_DX);
    SET(I_SUM, NATIVE_ITEM_SUM, V_G, -1, V_DB);
}

TEST(gradients_read_the_maxima_and_their_codes)
{
    small s;
    int g, codes;
    begin_small(&s);
    native_fuse_pooled(&s.ir);
    codes = s.items[I_CONV].codes;
    g = s.items[I_GRAD].output;
    CHECK(codes >= 0 && s.values[codes].dtype == TFR_DTYPE_U8);
    CHECK_INT(5, s.values[g].dims[3]);
    CHECK_INT(V_POOL, s.items[I_CONV].output);
    CHECK_INT(NATIVE_ITEM_NONE, s.items[I_POOL].kind);
    CHECK(s.items[I_GRAD].kind == NATIVE_ITEM_BINARY && s.items[I_GRAD].binary == NATIVE_MASK);
    CHECK(s.items[I_GRAD].inputs[0] == V_POOL && s.items[I_GRAD].inputs[1] == V_DY);
    for (int i = I_FILTER; i <= I_SUM; i++)
        CHECK_INT(g, s.items[i].inputs[0]);
    CHECK_INT(codes, s.items[I_FILTER].codes);
    CHECK_INT(codes, s.items[I_INPUT].codes);
    CHECK_INT(11, s.items[I_INPUT].full[0]);
    CHECK_INT(-1, s.items[I_SUM].codes);
}

TEST(without_relu_the_gradient_of_the_maxima_is_read_itself)
{
    small s;
    begin_small(&s);
    s.items[I_CONV].act.kind = NATIVE_ACT_NONE;
    s.items[I_GRAD].masked = false;
    native_fuse_pooled(&s.ir);
    CHECK_INT(NATIVE_ITEM_NONE, s.items[I_GRAD].kind);
    CHECK_INT(V_DY, s.items[I_FILTER].inputs[0]);
}

static void check_dense(small *s)
{
    native_fuse_pooled(&s->ir);
    CHECK_INT(-1, s->items[I_CONV].codes);
    CHECK_INT(NATIVE_ITEM_POOL_GRAD, s->items[I_GRAD].kind);
    CHECK_INT(V_G, s->items[I_FILTER].inputs[0]);
    begin_small(s);
}

TEST(what_codes_cannot_tell_stays_dense)
{
    small s;
    begin_small(&s);
    s.items[I_POOL].stride[0] = s.items[I_GRAD].stride[0] = 1; /* windows overlap */
    check_dense(&s);
    s.items[I_POOL].pad[1] = s.items[I_GRAD].pad[1] = 1;
    check_dense(&s);
    s.values[V_POOL].dims[2] = 6; /* a window that ends outside */
    check_dense(&s);
    s.items[I_CONV].act.b = 6.0f;
    check_dense(&s);
    s.items[I_GRAD].masked = false;
    check_dense(&s);
    s.items[I_CONV].dilation[0] = 2;
    check_dense(&s);
    s.values[V_CONV].output = true;
    check_dense(&s);
    s.values[V_G].output = true;
    check_dense(&s);
    s.items[I_SUM].axes = 1; /* wants the places */
    check_dense(&s);
    s.items[I_SUM].inputs[0] = V_CONV; /* the outputs themselves are read */
    check_dense(&s);
    s.values[V_X].dims[1] = 4096; /* weights that are far */
    check_dense(&s);
}

static const test_case cases[] = {
    CASE(layers_are_the_sums_both_ways),
    CASE(layers_of_few_channels_are_the_sums_both_ways),
    CASE(gradients_read_the_maxima_and_their_codes),
    CASE(without_relu_the_gradient_of_the_maxima_is_read_itself),
    CASE(what_codes_cannot_tell_stays_dense),
};
TEST_MAIN_OF_ONE_THREAD(cases)
