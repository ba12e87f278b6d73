/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_nbits.c: products with known weights of 4 and 8 bits, by nbits.h: MatMulNBits, and MatMul
 * or Gemm whose right side is a DequantizeLinear of a constant with blocks, with a Transpose
 * between them or without. Such an item is a PRODUCT whose input 1 are the integers; it has the
 * call that holds their scales and zero points.
 *
 * Few rows read the packed weights where they lie: one and two rows of 4 bits as integers, others
 * in float32. From MANY_ROWS on blocks are unpacked into the panels of gemm.h, which each thread
 * reads for all rows.
 */
#include "program.h"

#include <string.h>

#include "nbits.h"

enum { EXACT_ROWS = 2, MANY_ROWS = 16, INT8_LEVEL = 4 };

/* ---- the weights ---- */

static void read_nbits(const tfr_call *call, native_nbits_source *s)
{
    const tfr_operand *zeros = tfr_call_input(call, 3);
    const int64_t blocks = (s->k + s->block - 1) / s->block;

    s->n = tfr_call_int(call, "N", 0);
    s->bits = (int)tfr_call_int(call, "bits", 4);
    s->zero = (float)(1 << (s->bits - 1));
    s->codes = tfr_call_input(call, 1)->data;
    s->scales = tfr_call_input(call, 2)->data;
    s->code_k = s->scale_k = s->zero_k = 1;
    s->code_n = blocks * s->block;
    s->scale_n = s->zero_n = blocks;
    if (!zeros)
        return;
    s->zeros = zeros->data;
    s->zero_kind =
        zeros->dtype == TFR_DTYPE_F32 ? NATIVE_NBITS_FLOAT_ZEROS : NATIVE_NBITS_CODE_ZEROS;
    if (s->zero_kind == NATIVE_NBITS_CODE_ZEROS && s->bits == 4)
        s->zero_n = blocks + blocks % 2; /* rows are whole bytes */
}

/* along: the axis of K. */
static void read_dequantize(const tfr_call *call, int along, native_nbits_source *s)
{
    const tfr_operand *x = tfr_call_input(call, 0), *zeros = tfr_call_input(call, 2);
    const int64_t blocks = (s->k + s->block - 1) / s->block;

    s->n = x->dims[1 - along];
    s->bits = (int)tfr_dtype_bits(x->dtype);
    s->is_signed = x->dtype == TFR_DTYPE_I4 || x->dtype == TFR_DTYPE_I8;
    s->codes = x->data;
    s->scales = tfr_call_input(call, 1)->data;
    s->code_k = along == 0 ? s->n : 1;
    s->code_n = along == 0 ? 1 : s->k;
    s->scale_k = s->zero_k = along == 0 ? s->n : 1;
    s->scale_n = s->zero_n = along == 0 ? 1 : blocks;
    if (zeros)
        s->zero_kind = NATIVE_NBITS_CODE_ZEROS;
    s->zeros = zeros ? zeros->data : NULL;
}

static bool is_nbits(const tfr_call *call)
{
    return strcmp(call->name, "MatMulNBits") == 0;
}

static int axis_of(const tfr_call *call)
{
    const int64_t axis = tfr_call_int(call, "axis", 1);
    return (int)(axis < 0 ? axis + tfr_call_input(call, 0)->rank : axis);
}

static native_nbits_source source_of(const tfr_call *call)
{
    native_nbits_source s;

    memset(&s, 0, sizeof s);
    s.block = tfr_call_int(call, "block_size", 0);
    if (is_nbits(call)) {
        s.k = tfr_call_int(call, "K", 0);
        read_nbits(call, &s);
    } else {
        s.k = tfr_call_input(call, 0)->dims[axis_of(call)];
        read_dequantize(call, axis_of(call), &s);
    }
    return s;
}

/* ---- forms ---- */

static bool is_known(const tfr_operand *o, int32_t dtype)
{
    return o && o->data && o->dtype == dtype;
}

bool native_nbits_form(const tfr_call *call)
{
    const tfr_operand *a = tfr_call_input(call, 0), *zeros = tfr_call_input(call, 3);
    const tfr_operand *bias = tfr_call_input(call, 5);
    const int64_t bits = tfr_call_int(call, "bits", 4);
    native_nbits_source s;

    if (a->dtype != TFR_DTYPE_F32 || !is_known(tfr_call_input(call, 1), TFR_DTYPE_U8) ||
        !is_known(tfr_call_input(call, 2), TFR_DTYPE_F32) || (bits != 4 && bits != 8) ||
        (zeros && !is_known(zeros, TFR_DTYPE_U8) && !is_known(zeros, TFR_DTYPE_F32)) ||
        tfr_call_input(call, 4) || (bias && !is_known(bias, TFR_DTYPE_F32)))
        return false;
    s = source_of(call);
    return !native_nbits_refuses(&s);
}

bool native_blocks_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *zeros = tfr_call_input(call, 2);
    native_nbits_source s;

    if (x->rank != 2 || !x->data || tfr_call_int(call, "block_size", 0) < 1 ||
        (x->dtype != TFR_DTYPE_I4 && x->dtype != TFR_DTYPE_U4 && x->dtype != TFR_DTYPE_I8 &&
         x->dtype != TFR_DTYPE_U8) ||
        !is_known(tfr_call_input(call, 1), TFR_DTYPE_F32) ||
        (zeros && !is_known(zeros, x->dtype)) || tfr_call_output(call, 0)->dtype != TFR_DTYPE_F32)
        return false;
    s = source_of(call);
    return !native_nbits_refuses(&s);
}

/* ---- who reads them ---- */

static bool is_turn(const tfr_call *call)
{
    const int64_t *perm = tfr_call_ints(call, "perm", 2);
    return strcmp(call->name, "Transpose") == 0 && tfr_call_input(call, 0)->rank == 2 &&
           (!perm || perm[0] == 1);
}

static bool is_product(const tfr_call *call)
{
    return !call->domain[0] &&
           (strcmp(call->name, "MatMul") == 0 ||
            (strcmp(call->name, "Gemm") == 0 && !tfr_call_int(call, "transA", 0)));
}

/* Whether K of the right side is its axis `along`. */
static bool is_right_side(const tfr_program_node *node, int value, int along)
{
    return is_product(node->call) && node->inputs[1] == value && node->inputs[0] != value &&
           (tfr_call_int(node->call, "transB", 0) != 0) == (along == 1) &&
           native_find_form(node->call);
}

static bool only_products_read(const tfr_program_graph *graph, int value, int along, bool may_turn)
{
    uint32_t i, k;
    bool any = false;

    for (i = 0; i < graph->n_outputs; i++)
        if (graph->outputs[i] == value)
            return false;
    for (i = 0; i < graph->n_nodes; i++) {
        const tfr_program_node *node = native_graph_node(graph, (int)i);
        for (k = 0; k < node->call->n_inputs; k++) {
            if (node->inputs[k] != value)
                continue;
            any = true;
            if (!is_right_side(node, value, along) &&
                !(may_turn && is_turn(node->call) &&
                  only_products_read(graph, node->outputs[0], 1 - along, false)))
                return false;
        }
    }
    return any;
}

bool native_feeds_products(const tfr_program_graph *graph, int i)
{
    const tfr_program_node *node = native_graph_node(graph, i);
    return only_products_read(graph, node->outputs[0], axis_of(node->call), true);
}

/* Products that read the value take over the call that makes it. */
static void give(native_ir *ir, int value, int along, const native_item *from)
{
    int i;

    for (i = 0; i < ir->n_items; i++) {
        native_item *item = &ir->items[i];
        if (item->kind != NATIVE_ITEM_PRODUCT || item->inputs[1] != value ||
            item->inputs[0] == value || item->transposed != (along == 1))
            continue;
        item->quantized = from->call;
        item->inputs[1] = from->inputs[0];
        item->transposed = false;
        ir->n_fused++;
    }
}

bool native_fuse_nbits(native_ir *ir)
{
    int i, j;

    if (!(native_kinds(ir) & native_kind_bit(NATIVE_ITEM_BLOCKS)))
        return true;
    for (i = 0; i < ir->n_items; i++) {
        const native_item *item = &ir->items[i];
        if (item->kind != NATIVE_ITEM_BLOCKS)
            continue;
        give(ir, item->output, axis_of(item->call), item);
        for (j = 0; j < ir->n_items; j++)
            if (ir->items[j].kind == NATIVE_ITEM_TRANSPOSE && is_turn(ir->items[j].call) &&
                ir->items[j].inputs[0] == item->output)
                give(ir, ir->items[j].output, 1 - axis_of(item->call), item);
    }
    native_count_readers(ir);
    for (i = ir->n_items - 1; i >= 0; i--) {
        native_item *item = &ir->items[i];
        if (item->kind == NATIVE_ITEM_TRANSPOSE && ir->values[item->output].readers == 0) {
            item->kind = NATIVE_ITEM_NONE;
            native_count_readers(ir);
        }
        if (item->kind != NATIVE_ITEM_BLOCKS)
            continue;
        if (ir->values[item->output].readers > 0)
            return false;
        item->kind = NATIVE_ITEM_NONE;
    }
    return true;
}

/* ---- steps ---- */

typedef struct nbits_product {
    native_nbits q;
    const native_nbits_isa *isa;
    const native_isa *functions;
    native_ref x, to, residual;
    bool has_residual;
    const void *packed;
    const float *bias;
    float alpha, beta;
    native_act act;
    int64_t rows;
    int parts; /* of rows as digits; 0 = in float32 */
    int64_t digits_bytes;
    native_gemm gemm; /* of many rows */
} nbits_product;

/* Numbers count blocks of rows. */
static void run_digits(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const nbits_product *b = params;
    const float *x = native_at(bases, &b->x);
    int64_t row, n;

    for (; begin < end; begin += n) {
        const int64_t block = begin % b->q.n_blocks;
        row = begin / b->q.n_blocks;
        n = b->q.n_blocks - block < end - begin ? b->q.n_blocks - block : end - begin;
        b->isa->digits(&b->q, b->parts, x + row * b->q.k, bases->shared + row * b->digits_bytes,
                       block, block + n);
    }
}

/* A panel's results of a row become those of the item. */
static void finish(const nbits_product *b, const native_bases *bases, int64_t row, int64_t panel,
                   const float *from)
{
    const int64_t column = panel * NATIVE_NBITS_COLUMNS, left = b->q.n - column;
    const int n = (int)(left < NATIVE_NBITS_COLUMNS ? left : NATIVE_NBITS_COLUMNS);
    const int64_t at = row * b->q.n + column;
    const float *residual = b->has_residual ? native_at(bases, &b->residual) + at : NULL;
    float *to = native_at(bases, &b->to) + at;
    int j;

    for (j = 0; j < n; j++) {
        float y = b->alpha * from[j];
        if (b->bias)
            y += b->beta * b->bias[column + j];
        to[j] = residual ? y + residual[j] : y;
    }
    if (b->act.kind != NATIVE_ACT_NONE)
        b->functions->act(&b->act, to, to, n);
}

/* Numbers count panels. */
static void run_panels(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const nbits_product *b = params;
    const float *x = native_at(bases, &b->x);
    float sums[NATIVE_NBITS_ROWS * NATIVE_NBITS_COLUMNS];
    int64_t row, r, n;

    for (; begin < end; begin++) {
        const char *panel = (const char *)b->packed + begin * b->q.panel_bytes;
        for (row = 0; row < b->rows; row += n) {
            n = b->parts                            ? 1
                : b->rows - row < NATIVE_NBITS_ROWS ? b->rows - row
                                                    : NATIVE_NBITS_ROWS;
            if (b->parts)
                b->isa->dot(&b->q, b->parts, panel, bases->shared + row * b->digits_bytes,
                            x + row * b->q.k, sums);
            else
                b->isa->rows(&b->q, panel, x + row * b->q.k, b->q.k, (int)n, sums);
            for (r = 0; r < n; r++)
                finish(b, bases, row + r, begin, sums + r * NATIVE_NBITS_COLUMNS);
        }
    }
}

static void make_b(const void *b, float *to, int64_t column, int64_t n, int64_t k0, int64_t n_k,
                   int nr)
{
    const nbits_product *p = b;
    native_nbits_fill(&p->q, p->isa, p->packed, column, n, k0, n_k, nr, to);
}

/* Numbers count panels of rows. */
static void run_pack(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const native_round *r = params;
    const nbits_product *b = r->product;
    const native_gemm_args args = {
        .a = native_at(bases, &b->x), .shared_a = bases->shared, .round = r->number};

    native_gemm_pack_a(&b->gemm, &args, begin, end);
}

/* Numbers count tiles of gemm.h. */
static void run_gemm(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const native_round *r = params;
    const nbits_product *b = r->product;
    native_gemm_args args = {.a = native_at(bases, &b->x),
                             .b = b,
                             .c = native_at(bases, &b->to),
                             .shared_a = r->rounds > 0 ? bases->shared : NULL,
                             .round = r->number,
                             .make_b = make_b};

    if (b->bias && b->beta == 1.0f)
        args.column_bias = b->bias;
    else if (b->bias)
        args.addend = b->bias;
    if (b->has_residual)
        args.residual = native_at(bases, &b->residual);
    native_gemm_run(&b->gemm, &args, bases->scratch, begin, end);
}

static void plan_gemm(native_planner *p, const native_item *item, nbits_product *b)
{
    const double flops = 2.0 * (double)b->rows * (double)b->q.n * (double)b->q.k;
    native_gemm_shape s;
    bool has_act;

    memset(&s, 0, sizeof s);
    s.m = b->rows;
    s.n = s.ldb = s.ldc = b->q.n;
    s.k = s.lda = b->q.k;
    s.b_made = true;
    has_act = native_read_epilogue(item, &s.epilogue);
    s.epilogue.ld_residual = s.n;
    if (b->beta != 1.0f) {
        s.epilogue.beta = b->beta;
        s.epilogue.addend_column = 1;
    }
    native_gemm_plan(&b->gemm, &p->ir->device->gemm, &s, p->ir->device->threads);
    native_add_rounds(p, &b->gemm, b, run_pack, run_gemm, flops);
    if (!has_act)
        native_plan_after(p, item, s.n);
}

static void plan_panels(native_planner *p, nbits_product *b)
{
    const double bytes = (double)b->q.bytes, flops = 2.0 * (double)(b->rows * b->q.n * b->q.k);
    native_run *run;

    if (b->parts) {
        b->digits_bytes = (int64_t)native_aligned(native_nbits_digits_bytes(&b->q, b->parts));
        native_need_shared(p, (uint64_t)(b->rows * b->digits_bytes));
        native_add_run(p, run_digits, b, b->rows * b->q.n_blocks, (double)(b->rows * b->q.k) * 0.5);
    }
    run = native_add_run(p, run_panels, b, b->q.n_panels, bytes / 15.0 + flops / 60.0);
    run->flops = flops;
    run->bytes = bytes;
}

static void fill_packed(float *to, const float *from, const void *user)
{
    native_nbits_source s = *(const native_nbits_source *)user;
    native_nbits q;

    s.codes = from;
    native_nbits_plan(&q, &s);
    native_nbits_pack(&q, &s, to, 0, q.n_panels);
}

static void pack(native_planner *p, const native_item *item, nbits_product *b,
                 const native_nbits_source *s)
{
    const native_constant_key key = {
        {s->codes, s->scales, s->zeros},
        {10, s->n, s->k, s->bits, s->block, s->code_k, s->is_signed, s->zero_kind}};

    b->packed = native_pack_later(p, &key, b->q.bytes, fill_packed, s, sizeof *s, item->inputs[1]);
}

static int parts_of(const nbits_product *b, const tfr_call *call)
{
    if (b->q.bits != 4)
        return 0;
    if (is_nbits(call) && tfr_call_int(call, "accuracy_level", 0) == INT8_LEVEL)
        return 1;
    return b->rows <= EXACT_ROWS ? NATIVE_NBITS_PARTS : 0;
}

void native_plan_nbits(native_planner *p, const native_item *item)
{
    const native_nbits_source s = source_of(item->quantized);
    const int bias = item->n_inputs > 2 ? item->inputs[2] : -1;
    nbits_product *b = native_keep(p, sizeof *b);

    if (!b)
        return;
    native_nbits_plan(&b->q, &s);
    b->isa = p->ir->device->nbits;
    b->functions = p->isa;
    b->x = native_ref_of(p, item->inputs[0]);
    b->to = native_ref_of(p, item->output);
    b->has_residual = item->residual >= 0;
    b->residual = native_ref_of(p, item->residual);
    b->bias = bias >= 0 ? p->ir->values[bias].known : NULL;
    b->alpha = item->alpha;
    b->beta = item->beta;
    b->act = item->act;
    b->rows = native_count(p, &p->ir->values[item->output]) / b->q.n;
    b->parts = parts_of(b, item->quantized);
    pack(p, item, b, &s);
    if (b->parts || b->rows < MANY_ROWS || (b->alpha != 1.0f && b->has_residual))
        plan_panels(p, b);
    else
        plan_gemm(p, item, b);
}
