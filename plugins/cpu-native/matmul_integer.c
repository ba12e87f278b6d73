/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul_integer.c: MatMulInteger and QLinearMatMul, what plugins/naive/matmul.c says of them, bit
 * for bit. A right side that is known is packed once, others in each launch, every matrix of a
 * batch.
 */
#include <stdatomic.h>
#include <string.h>

#include "integer_op.h"
#include "matmul.h"

typedef struct state {
    native_int8_operands operands;
    native_int8_product product;
    native_gemm_shape dims; /* steps of the batch */
    int64_t batch;
    const void *packed; /* NULL = B comes with the launch */
    int threads;
    /* Offsets in the workspace. */
    size_t packed_at, scratch_at;
} state;

/* ---- the call ---- */

static uint32_t b_of(const tfr_call *call)
{
    return strcmp(call->name, "QLinearMatMul") == 0 ? 3 : 1;
}

static int64_t count_batch(const native_gemm_shape *s)
{
    int64_t n = 1;
    int d;

    for (d = 0; d < NATIVE_GEMM_BATCH_RANK; d++)
        n *= s->batch[d] > 0 ? s->batch[d] : 1;
    return n;
}

static bool has_batch_of_b(const native_gemm_shape *s)
{
    int d;

    for (d = 0; d < NATIVE_GEMM_BATCH_RANK; d++)
        if (s->batch_b[d] != 0)
            return true;
    return false;
}

/* All but the packed right side. False: it has batch dims that do not merge. */
static bool read_call(const tfr_plugin_device *device, const tfr_call *call, state *s)
{
    const tfr_operand *b = tfr_call_input(call, b_of(call));
    native_int8_shape shape = {0};
    native_int8_matrix known = {0};

    memset(s, 0, sizeof *s);
    if (!native_matmul_dims(tfr_call_input(call, 0), b, &s->dims))
        return false;
    s->batch = count_batch(&s->dims);
    s->operands = native_int8_find_operands(call, s->dims.k, s->dims.n);
    shape.m = s->dims.m;
    shape.n = shape.ldc = s->dims.n;
    shape.k = shape.lda = s->dims.k;
    shape.a_signed = s->operands.a_signed;
    shape.b_signed = s->operands.b_signed;
    known = (native_int8_matrix){b->data, 1, shape.k, shape.n, 0};
    s->threads = native_int8_threads(device, (double)s->batch * (double)shape.m * (double)shape.n *
                                                 (double)shape.k);
    native_int8_plan(&s->product, &device->int8_cpu, &shape,
                     b->data && !has_batch_of_b(&s->dims) ? &known : NULL,
                     s->batch > 1 ? 1 : s->threads);
    s->packed_at = native_int8_params_bytes(&s->operands);
    s->scratch_at = s->packed_at;
    if (!b->data || has_batch_of_b(&s->dims))
        s->scratch_at += s->product.packed_bytes * (size_t)s->batch;
    return true;
}

void native_int8_matmul_supports(const tfr_plugin_device *device, const tfr_call *call,
                                 tfr_answer *answer)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, b_of(call));
    state s;

    if (a->rank < 1 || b->rank < 1)
        tfr_decline(answer, TFR_REASON_RANK, "an input has rank 0");
    else if (!read_call(device, call, &s))
        tfr_decline(answer, TFR_REASON_RANK, "more than %d batch dims do not merge",
                    (int)NATIVE_GEMM_BATCH_RANK);
    else if (native_int8_check_operands(&s.operands, call, s.batch > 1 ? 1 : s.dims.m, answer))
        answer->workspace_bytes = s.scratch_at + s.product.scratch_bytes * (size_t)s.threads;
}

/* ---- the kernel ---- */

typedef struct work {
    const state *state;
    native_int8_args args;
    const uint8_t *b;
    char *packed, *scratch;
    atomic_int_fast64_t next;
} work;

/* Elements in front of the operands of product i of the batch. */
static void find_batch(const native_gemm_shape *s, int64_t i, int64_t *a, int64_t *b)
{
    int d;

    *a = *b = 0;
    for (d = NATIVE_GEMM_BATCH_RANK - 1; d >= 0; d--) {
        const int64_t n = s->batch[d] > 0 ? s->batch[d] : 1;
        *a += i % n * s->batch_a[d];
        *b += i % n * s->batch_b[d];
        i /= n;
    }
}

static void pack_panels(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const native_int8_product *p = &w->state->product;
    int64_t a, b;

    for (; begin < end; begin++) {
        const int64_t i = begin / p->n_panels, panel = begin % p->n_panels;
        find_batch(&w->state->dims, i, &a, &b);
        const native_int8_matrix matrix = {w->b + b, 1, p->shape.k, p->shape.n, 0};
        native_int8_pack(p, &matrix, w->packed + (size_t)i * p->packed_bytes, panel, panel + 1);
    }
}

static void run_unit(const work *w, int64_t unit, void *scratch)
{
    const state *s = w->state;
    const native_int8_product *p = &s->product;
    const int64_t i = unit / p->n_units, size = s->operands.quantized ? 1 : 4;
    native_int8_args args = w->args;
    int64_t a, b;

    find_batch(&s->dims, i, &a, &b);
    args.a = (const uint8_t *)args.a + a;
    args.c = (char *)args.c + i * p->shape.m * p->shape.n * size;
    args.packed = s->packed ? s->packed : w->packed + (size_t)i * p->packed_bytes;
    native_int8_run(p, &args, scratch, unit % p->n_units, unit % p->n_units + 1);
}

/* A thread's share: units as they come, with the scratch memory of this number. */
static void run_share(void *user, int64_t begin, int64_t end)
{
    work *w = user;
    const state *s = w->state;
    int64_t i, unit;

    for (i = begin; i < end; i++)
        while ((unit = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed)) <
               s->batch * s->product.n_units)
            run_unit(w, unit, w->scratch + (size_t)i * s->product.scratch_bytes);
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.state = s, .packed = (char *)launch->workspace + s->packed_at};
    const int64_t panels = s->batch * s->product.n_panels;

    (void)err;
    native_int8_read_params(&s->operands, launch, launch->workspace, &w.args);
    w.args.a = native_int8_operand(&s->operands, launch, NATIVE_INT8_A);
    w.args.c = launch->args[s->operands.output].address;
    w.b = native_int8_operand(&s->operands, launch, NATIVE_INT8_B);
    w.scratch = (char *)launch->workspace + s->scratch_at;
    atomic_init(&w.next, 0);
    if (s->threads <= 1) {
        if (!s->packed)
            pack_panels(&w, 0, panels);
        run_share(&w, 0, 1);
        return TFR_OK;
    }
    if (!s->packed)
        device->host->parallel_for(pack_panels, &w, panels, 0);
    device->host->parallel_for(run_share, &w, s->threads, 1);
    return TFR_OK;
}

void native_int8_matmul_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *right = tfr_call_input(call, b_of(call));
    state *s = native_set_function(b, run, NULL, sizeof *s, "product of 8 bits");
    native_int8_matrix matrix;
    void *packed;

    if (!s)
        return;
    read_call(b->device, call, s);
    if (!right->data || has_batch_of_b(&s->dims))
        return;
    packed = native_add_block(b, s->product.packed_bytes);
    if (!packed)
        return;
    matrix = (native_int8_matrix){right->data, 1, s->dims.k, s->dims.n, 0};
    native_int8_pack(&s->product, &matrix, packed, 0, s->product.n_panels);
    s->packed = packed;
}
