/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_known.c: products of two constants, and what follows them and reads constants alone, are
 * computed while a program is compiled, by the functions that its runs would call. The core folds
 * what is small, by the reference (pass_fold.c); here are such as the projections of relative
 * positions in each layer of DeBERTa, whose 40 million terms would take the reference a second.
 */
#include <stdlib.h>

#include "program_quantized.h"

enum { MOST_BYTES = 16 << 20 /* of a result */ };

typedef struct known {
    native_ir *ir;
    native_unpacked *kept;
    uint64_t *constant_bytes;
    bool *made; /* of each value: here */
} known;

/* Constants of files lie at any address. */
static float *copy_of(const native_value *v)
{
    const size_t bytes = (size_t)native_aligned((uint64_t)native_elements(v) * sizeof(float));
    float *copy = aligned_alloc(NATIVE_ALIGNMENT, bytes + NATIVE_ALIGNMENT);

    if (copy)
        memcpy(copy, v->known, (size_t)native_elements(v) * sizeof(float));
    return copy;
}

enum { MADE = -20 /* how it is made, in keys, is this and below */ };

/*
 * Room for the output, which is known from now on; `how` tells those of the same operands and dims
 * apart. *made: its numbers are to be filled.
 */
static float *keep(known *k, const native_item *item, int how, bool *made)
{
    const native_value *values = k->ir->values, *x = &values[item->inputs[0]];
    native_value *y = &k->ir->values[item->output];
    native_constant_key key = {{NULL}, {MADE - how}};
    float *to;
    int d;

    for (d = 0; d < item->n_inputs && d < 3; d++)
        key.data[d] = item->inputs[d] >= 0 ? values[item->inputs[d]].known : NULL;
    for (d = 0; d < x->rank && d < 8; d++)
        key.numbers[1 + d] = x->dims[d];
    key.numbers[9] = native_elements(y);
    to = native_keep_unpacked(k->ir, k->kept, &key, native_elements(y), k->constant_bytes, made);
    y->known = to;
    return to;
}

/* ---- products ---- */

bool native_has_row(const native_ir *ir, const native_item *product)
{
    const int bias = product->n_inputs > 2 ? product->inputs[2] : -1;
    const native_value *v = bias < 0 ? NULL : &ir->values[bias];
    const native_value *y = &ir->values[product->output];

    return !v || (v->known && v->dtype == TFR_DTYPE_F32 && product->beta == 1.0f && v->rank > 0 &&
                  native_elements(v) == v->dims[v->rank - 1] &&
                  v->dims[v->rank - 1] == y->dims[y->rank - 1]);
}

static bool is_product(const native_ir *ir, const native_item *item)
{
    const native_value *a, *b;

    if (item->kind != NATIVE_ITEM_PRODUCT || item->quantized || item->integer >= 0 ||
        item->alpha != 1.0f || item->residual >= 0 || item->act.kind != NATIVE_ACT_NONE ||
        !native_has_row(ir, item))
        return false;
    a = &ir->values[item->inputs[0]];
    b = &ir->values[item->inputs[1]];
    return a->known && b->known && a->dtype == TFR_DTYPE_F32 && b->dtype == TFR_DTYPE_F32 &&
           a->rank > 1 && b->rank == 2 && native_elements(a) > 0 && native_elements(b) > 0;
}

static bool multiply(known *k, const native_item *item)
{
    const int bias = item->n_inputs > 2 ? item->inputs[2] : -1;
    const native_value *a = &k->ir->values[item->inputs[0]], *b = &k->ir->values[item->inputs[1]];
    const int64_t terms = b->dims[item->transposed];
    native_gemm_shape s = {.m = native_elements(a) / terms, .n = b->dims[!item->transposed]};
    native_gemm_args args = {NULL};
    native_gemm gemm;
    bool made = false;
    float *x, *w, *row = NULL;
    void *scratch;

    args.c = keep(k, item, item->transposed, &made);
    if (!made)
        return args.c;
    s.k = s.lda = terms;
    s.ldb = item->transposed ? terms : s.n;
    s.ldc = s.n;
    s.trans_b = item->transposed;
    s.epilogue.alpha = 1.0f;
    native_gemm_plan(&gemm, &k->ir->device->gemm, &s, 1);
    args.a = x = copy_of(a);
    args.b = w = copy_of(b);
    if (bias >= 0)
        args.column_bias = row = copy_of(&k->ir->values[bias]);
    scratch = aligned_alloc(NATIVE_ALIGNMENT, (size_t)native_aligned(gemm.scratch_bytes + 1));
    made = x && w && scratch && (bias < 0 || row);
    if (made)
        native_gemm_run(&gemm, &args, scratch, 0, gemm.n_tiles);
    free(x);
    free(w);
    free(row);
    free(scratch);
    return made;
}

/* ---- what follows them ---- */

/* The other operand is as large, or a number, or one for each column. */
static bool is_binary(const native_ir *ir, const native_item *item)
{
    const native_value *y = &ir->values[item->output];
    int i;

    if (item->kind != NATIVE_ITEM_BINARY || item->act.kind != NATIVE_ACT_NONE || y->rank < 1)
        return false;
    for (i = 0; i < 2; i++) {
        const native_value *x = &ir->values[item->inputs[i]];
        const int64_t n = native_elements(x);
        if (x->dtype != TFR_DTYPE_F32 ||
            (n != native_elements(y) && n != 1 &&
             (x->rank < 1 || n != y->dims[y->rank - 1] || x->dims[x->rank - 1] != n)))
            return false;
    }
    return true;
}

static bool combine(known *k, const native_item *item)
{
    const native_value *y = &k->ir->values[item->output];
    const int64_t n = y->dims[y->rank - 1], rows = n ? native_elements(y) / n : 0;
    float *x[2], *to;
    int64_t row, row_step[2];
    bool made = false;
    int i, step[2];

    to = keep(k, item, 2 + (int)item->binary, &made);
    if (!made)
        return to;
    for (i = 0; i < 2; i++) {
        const native_value *v = &k->ir->values[item->inputs[i]];
        x[i] = copy_of(v);
        row_step[i] = native_elements(v) == rows * n ? n : 0;
        step[i] = native_elements(v) != 1 || n == 1;
        made = made && x[i];
    }
    for (row = 0; made && row < rows; row++)
        k->ir->device->isa->binary(item->binary, x[0] + row * row_step[0], step[0],
                                   x[1] + row * row_step[1], step[1], to + row * n, n);
    free(x[0]);
    free(x[1]);
    return made;
}

static bool transpose(known *k, const native_item *item)
{
    const native_value *x = &k->ir->values[item->inputs[0]], *y = &k->ir->values[item->output];
    const char *from = x->known;
    const int64_t n = native_elements(y);
    int64_t steps[TFR_MAX_RANK], i;
    bool made = false;
    float *to;
    int d, e, order = 0;

    for (d = 0; d < x->rank; d++) /* of up to 6 dims */
        order = order * TFR_MAX_RANK + item->perm[d];
    to = keep(k, item, 64 + order, &made);
    if (!made)
        return to;
    for (d = 0; d < y->rank; d++)
        for (e = item->perm[d] + 1, steps[d] = 1; e < x->rank; e++)
            steps[d] *= x->dims[e];
    for (i = 0; i < n; i++) {
        int64_t rest = i, at = 0;
        for (d = y->rank - 1; d >= 0; d--) {
            at += rest % y->dims[d] * steps[d];
            rest /= y->dims[d];
        }
        to[i] = native_float_at(from, at);
    }
    return true;
}

static bool follows(const known *k, const native_item *item)
{
    const native_ir *ir = k->ir;
    bool any = false;
    int i;

    for (i = 0; i < item->n_inputs; i++) {
        if (item->inputs[i] < 0 || !ir->values[item->inputs[i]].known)
            return false;
        any = any || k->made[item->inputs[i]];
    }
    return any && (item->kind == NATIVE_ITEM_VIEW || item->kind == NATIVE_ITEM_TRANSPOSE ||
                   is_binary(ir, item));
}

static bool compute(known *k, const native_item *item)
{
    switch (item->kind) {
    case NATIVE_ITEM_PRODUCT:
        return multiply(k, item);
    case NATIVE_ITEM_BINARY:
        return combine(k, item);
    case NATIVE_ITEM_TRANSPOSE:
        return transpose(k, item);
    default: /* a view */
        k->ir->values[item->output].known = k->ir->values[item->inputs[0]].known;
        return true;
    }
}

void native_compute_known(native_ir *ir, native_unpacked *kept, uint64_t *constant_bytes)
{
    known k = {ir, kept, constant_bytes, NULL};
    int i;

    for (i = 0; i < ir->n_items && !ir->failed; i++) {
        native_item *item = &ir->items[i];
        const native_value *y = &ir->values[item->output];
        if (y->output || native_elements(y) > MOST_BYTES / (int64_t)sizeof(float) ||
            !(is_product(ir, item) || (k.made && follows(&k, item))))
            continue;
        if (!k.made)
            k.made = calloc((size_t)ir->n_values, sizeof *k.made);
        ir->failed = !k.made || !compute(&k, item) || ir->failed;
        if (!ir->failed)
            k.made[item->output] = true;
        item->kind = NATIVE_ITEM_NONE;
    }
    free(k.made);
}
