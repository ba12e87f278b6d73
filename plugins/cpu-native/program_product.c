/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_product.c: large products in programs, by gemm.h. The small ones are in program_conv.c
 * (a constant right side) and program_rows.c (two computed sides), which read operands where they
 * lie; blocks for the caches pay once the right side no longer fits the first ones.
 */
#include "program.h"

#include <string.h>

enum {
    FEW_ROWS = 32,              /* of the left side: no use of a packed panel of the right one */
    SMALL_COMPUTED = 128 * 1024 /* bytes of a computed right side */
};

typedef struct big_product {
    native_gemm gemm;
    native_ref left, right, residual, to;
    const void *packed;      /* NULL = right */
    const void *packed_left; /* NULL = left */
    const float *bias, *addend;
    bool has_residual;
    const struct big_product *next; /* with a packed right side; NULL = none */
} big_product;

/* The weights of the next product are fetched while this one computes, those of the same share. */
static void set_ahead(const big_product *b, native_gemm_args *args, int64_t begin)
{
    if (b->next)
        args->ahead = native_gemm_first_b(&b->next->gemm, b->next->packed,
                                          begin * b->next->gemm.n_tiles / b->gemm.n_tiles,
                                          &args->ahead_bytes);
}

static void run_big_product(const void *params, const native_bases *bases, int64_t begin,
                            int64_t end)
{
    const native_round *r = params;
    const big_product *b = r->product;
    native_gemm_args args = {.a = native_at(bases, &b->left),
                             .c = native_at(bases, &b->to),
                             .column_bias = b->bias,
                             .addend = b->addend,
                             .shared_a = b->packed_left  ? (void *)(uintptr_t)b->packed_left
                                         : r->rounds > 0 ? bases->shared
                                                         : NULL,
                             .round = r->number};

    args.b = b->packed ? b->packed : native_at(bases, &b->right);
    if (b->has_residual)
        args.residual = native_at(bases, &b->residual);
    if (r->number + 1 >= r->rounds)
        set_ahead(b, &args, begin);
    native_gemm_run(&b->gemm, &args, bases->scratch, begin, end);
}

/* Numbers count panels of rows. */
static void run_pack(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const native_round *r = params;
    const big_product *b = r->product;
    const native_gemm_args args = {
        .a = native_at(bases, &b->left), .shared_a = bases->shared, .round = r->number};

    native_gemm_pack_a(&b->gemm, &args, begin, end);
}

void native_add_rounds(native_planner *p, const native_gemm *g, const void *product,
                       void (*pack)(const void *, const native_bases *, int64_t, int64_t),
                       void (*run)(const void *, const native_bases *, int64_t, int64_t),
                       double flops)
{
    const int64_t rounds = native_gemm_rounds(g);
    const double steps = rounds > 0 ? (double)rounds : 1.0;
    int64_t i;

    native_need_scratch(p, g->scratch_bytes);
    native_need_shared(p, native_gemm_shared_bytes(g));
    for (i = 0; i < rounds || i == 0; i++) {
        native_round *r = native_keep(p, sizeof *r);
        if (!r)
            return;
        *r = (native_round){product, i, rounds};
        if (rounds > 0 && !g->fills_a)
            native_add_run(p, pack, r, g->row_panels, (double)(g->shape.m * g->shape.k) / steps);
        native_add_run(p, run, r, g->n_tiles, flops / 100.0 / steps)->flops = flops / steps;
    }
}

/* ---- activations that gemm.h does not have ---- */

typedef struct after {
    const native_isa *isa;
    native_ref to;
    int64_t row, n;
    native_act act;
} after;

/* Numbers count rows. */
static void run_after(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const after *r = params;
    float *to = native_at(bases, &r->to) + begin * r->row;

    r->isa->act(&r->act, to, to, (end - begin) * r->row);
}

void native_plan_after(native_planner *p, const native_item *item, int64_t row)
{
    const int64_t n = native_count(p, &p->ir->values[item->output]);
    after *r = native_keep(p, sizeof *r);

    if (!r)
        return;
    r->isa = p->isa;
    r->to = native_ref_of(p, item->output);
    r->row = row;
    r->act = item->act;
    native_add_run(p, run_after, r, n / row, (double)n * 0.2);
}

/* ---- the item ---- */

bool native_read_epilogue(const native_item *item, native_epilogue *e)
{
    memset(e, 0, sizeof *e);
    e->alpha = item->kind == NATIVE_ITEM_PRODUCT ? item->alpha : 1.0f;
    switch (item->act.kind) {
    case NATIVE_ACT_NONE:
        break;
    case NATIVE_ACT_CLIP:
        e->activation = NATIVE_GEMM_CLIP;
        e->low = item->act.a;
        e->high = item->act.b;
        break;
    case NATIVE_ACT_SIGMOID:
        e->activation = NATIVE_GEMM_SIGMOID;
        break;
    case NATIVE_ACT_TANH:
        e->activation = NATIVE_GEMM_TANH;
        break;
    case NATIVE_ACT_GELU:
        e->activation = NATIVE_GEMM_GELU_ERF;
        break;
    case NATIVE_ACT_GELU_TANH:
        e->activation = NATIVE_GEMM_GELU_TANH;
        break;
    case NATIVE_ACT_SWISH:
        if (item->act.a != 1.0f)
            return false;
        e->activation = NATIVE_GEMM_SILU;
        break;
    default:
        return false;
    }
    return true;
}

/* Its m is for so many samples, its math mode for all. */
static native_gemm_shape shape_of(const native_planner *p, const native_item *item, int64_t samples)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const int last = NATIVE_GEMM_BATCH_RANK - 1;
    const int64_t all = native_elements(y);
    native_gemm_shape s;

    memset(&s, 0, sizeof s);
    s.k = s.lda = x->dims[x->rank - 1];
    s.n = s.ldc = y->dims[y->rank - 1];
    s.b_packed = item->kind == NATIVE_ITEM_PRODUCT;
    s.trans_b = s.b_packed && item->transposed;
    s.ldb = s.trans_b ? s.k : s.n;
    s.math_mode = item->call->math_mode;
    s.m = s.b_packed ? all / s.n : y->dims[y->rank - 2];
    if (native_gemm_no_mode(&p->ir->device->gemm, &s))
        s.math_mode = TFR_MATH_STRICT;
    if (s.b_packed) {
        s.m = y->batched ? s.m / p->ir->samples * samples : s.m;
        return s;
    }
    if (y->rank > 2 && p->ir->values[item->inputs[1]].rank == 2) { /* more rows of one product */
        s.m = all / s.n;
        return s;
    }
    if (y->rank == 2)
        s.m = native_first_dim(p, y);
    s.batch[last] =
        (y->batched && y->rank > 2 ? all / p->ir->samples * samples : all) / (s.m * s.n);
    s.batch_a[last] = s.m * s.k;
    s.batch_b[last] = s.k * s.n;
    s.batch_c[last] = s.m * s.n;
    return s;
}

/*
 * A constant right side that the second cache keeps beside everything else is read again and again
 * from there: blocks, and panels of the left side, would cost more than they bring. A computed one
 * is not packed before, and small products share out whole matrices only.
 */
static bool stays_near(const native_planner *p, const native_gemm_shape *s)
{
    const int64_t room = s->b_packed ? p->ir->device->gemm.l2_bytes / 2 : SMALL_COMPUTED;

    return s->k * s->n * (int64_t)sizeof(float) <= room;
}

/* The shape for all samples: what is decided by it does not depend on how they are shared out. */
bool native_is_big_product(const native_planner *p, const native_item *item)
{
    const native_gemm_shape s = shape_of(p, item, p->ir->samples);
    native_epilogue e;

    native_read_epilogue(item, &e);
    return item->strided < 0 && (e.alpha == 1.0f || item->residual < 0) &&
           (s.math_mode != TFR_MATH_STRICT || (s.m > FEW_ROWS && !stays_near(p, &s)));
}

/* ---- the right side ---- */

static void fill_packed(float *to, const float *from, const void *user)
{
    native_gemm_pack(user, from, to);
}

static void pack_right_side(native_planner *p, big_product *b, int value)
{
    const native_gemm_shape *s = &b->gemm.shape;
    const native_constant_key key = {
        {p->ir->values[value].known},
        {6, s->n, s->k, s->trans_b, s->math_mode, b->gemm.k_block, b->gemm.n_panels}};

    b->packed = native_pack_later(p, &key, b->gemm.packed_bytes, fill_packed, &b->gemm,
                                  sizeof b->gemm, value);
}

/* ---- a known left side ---- */

static void fill_packed_left(float *to, const float *from, const void *user)
{
    const native_gemm *g = user;
    const native_gemm_args args = {.a = from, .shared_a = to};

    native_gemm_pack_a(g, &args, 0, g->row_panels);
}

static bool can_pack_left(const native_planner *p, const big_product *b, int value)
{
    return p->ir->values[value].known && b->gemm.n_batch == 1 && !b->gemm.raw_b &&
           b->gemm.shape.math_mode == TFR_MATH_STRICT;
}

/* All of its panels, once, instead of in each run. */
static void pack_left_side(native_planner *p, big_product *b, int value)
{
    native_gemm *g = &b->gemm;
    const native_constant_key key = {{p->ir->values[value].known},
                                     {11, g->shape.m, g->shape.k, g->k_block, g->row_panels}};

    g->shared_blocks = (g->shape.k + g->k_block - 1) / g->k_block; /* one round */
    g->fills_a = false;
    b->packed_left = native_pack_later(p, &key, native_gemm_shared_bytes(g), fill_packed_left, g,
                                       sizeof *g, value);
}

static void add_run(native_planner *p, const big_product *b, double flops)
{
    native_round *r = native_keep(p, sizeof *r);

    if (!r)
        return;
    r->product = b;
    native_need_scratch(p, b->gemm.scratch_bytes);
    native_add_run(p, run_big_product, r, b->gemm.n_tiles, flops / 100.0)->flops = flops;
}

/* ---- the steps ---- */

static void set_bias(const native_planner *p, const native_item *item, big_product *b,
                     native_epilogue *e)
{
    const float *known;

    if (item->n_inputs < 3 || item->inputs[2] < 0)
        return;
    known = p->ir->values[item->inputs[2]].known;
    if (item->beta == 1.0f) {
        b->bias = known;
    } else {
        b->addend = known;
        e->beta = item->beta;
        e->addend_column = 1;
    }
}

void native_plan_big_product(native_planner *p, const native_item *item)
{
    big_product *b = native_keep(p, sizeof *b);
    native_gemm_shape s = shape_of(p, item, p->samples);
    const float *known = p->ir->values[item->inputs[1]].known;
    double flops = 2.0 * (double)native_count(p, &p->ir->values[item->output]) * (double)s.k;
    bool has_act;

    if (!b)
        return;
    has_act = native_read_epilogue(item, &s.epilogue);
    s.epilogue.ld_residual = s.n;
    if (s.b_packed)
        set_bias(p, item, b, &s.epilogue);
    b->left = native_ref_of(p, item->inputs[0]);
    b->right = native_ref_of(p, item->inputs[1]);
    b->to = native_ref_of(p, item->output);
    b->has_residual = item->residual >= 0;
    b->residual = native_ref_of(p, item->residual);
    native_gemm_plan(&b->gemm, &p->ir->device->gemm, &s, p->ir->device->threads);
    if (s.b_packed && !native_gemm_holds(&b->gemm, known)) {
        s.math_mode = TFR_MATH_STRICT;
        native_gemm_plan(&b->gemm, &p->ir->device->gemm, &s, p->ir->device->threads);
    }
    if (s.b_packed)
        pack_right_side(p, b, item->inputs[1]);
    if (b->packed && p->last_product)
        p->last_product->next = b;
    if (b->packed)
        p->last_product = b;
    if (can_pack_left(p, b, item->inputs[0])) {
        pack_left_side(p, b, item->inputs[0]);
        add_run(p, b, flops);
    } else {
        native_add_rounds(p, &b->gemm, b, run_pack, run_big_product, flops);
    }
    if (!has_act)
        native_plan_after(p, item, s.n);
}
