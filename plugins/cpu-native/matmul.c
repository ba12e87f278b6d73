/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul.c: MatMul and Gemm of float32 as kernels around gemm.h. A right side that is known is
 * packed once; scratch memory is the launch's workspace.
 */
#include <stdio.h>
#include <string.h>

#include "matmul.h"
#include "program_half.h"

typedef struct product_state {
    native_gemm gemm;
    const void *packed; /* NULL = b comes with the launch */
    const float *known_a, *known_addend;
    int addend; /* argument of the launch, -1 = none */
    int output;
    int threads;
} product_state;

/* ---- dims ---- */

/* Batch dims merged where both sides agree; then [batch..., M, K] x [batch..., K, N]. */
typedef struct product_dims {
    int rank; /* batch dims + 2 */
    int64_t a[TFR_MAX_RANK + 2], b[TFR_MAX_RANK + 2], c[TFR_MAX_RANK + 2];
} product_dims;

static int64_t batch_dim(const tfr_operand *o, int batch_rank, int i)
{
    int at = i - (batch_rank - (o->rank - 2));
    return o->rank < 3 || at < 0 ? 1 : o->dims[at];
}

static void read_dims(const tfr_operand *a, const tfr_operand *b, product_dims *p)
{
    int64_t m = a->rank == 1 ? 1 : a->dims[a->rank - 2], k = a->dims[a->rank - 1];
    int64_t n = b->rank == 1 ? 1 : b->dims[b->rank - 1];
    int batch = (a->rank > b->rank ? a->rank : b->rank) - 2, last = -1, i;
    bool b_has_batch = false;

    for (i = 0; i < batch; i++) {
        int64_t in_a = batch_dim(a, batch, i), in_b = batch_dim(b, batch, i);
        int64_t out = in_a > in_b ? in_a : in_b;
        if (out == 1)
            continue;
        b_has_batch = b_has_batch || in_b > 1;
        if (last >= 0 && (p->a[last] == p->c[last]) == (in_a == out) &&
            (p->b[last] == p->c[last]) == (in_b == out)) {
            p->a[last] *= in_a;
            p->b[last] *= in_b;
            p->c[last] *= out;
            continue;
        }
        last++;
        p->a[last] = in_a;
        p->b[last] = in_b;
        p->c[last] = out;
    }
    if (!b_has_batch && last >= 0) { /* then a's batch is only more rows */
        m *= p->a[0];
        last = -1;
    }
    last++;
    p->rank = last + 2;
    p->a[last] = p->c[last] = m;
    p->a[last + 1] = p->b[last] = k;
    p->b[last + 1] = p->c[last + 1] = n;
}

/* Steps of what may be 1 long where the product is longer. */
static void read_batch(const product_dims *p, native_gemm_shape *s)
{
    int64_t a = s->m * s->k, b = s->k * s->n, c = s->m * s->n;
    int d, to = NATIVE_GEMM_BATCH_RANK - 1;

    for (d = p->rank - 3; d >= 0; d--, to--) {
        s->batch[to] = p->c[d];
        s->batch_a[to] = p->a[d] > 1 ? a : 0;
        s->batch_b[to] = p->b[d] > 1 ? b : 0;
        s->batch_c[to] = c;
        a *= p->a[d];
        b *= p->b[d];
        c *= p->c[d];
    }
}

bool native_matmul_dims(const tfr_operand *a, const tfr_operand *b, native_gemm_shape *s)
{
    product_dims p;

    memset(&p, 0, sizeof p);
    read_dims(a, b, &p);
    if (p.rank > NATIVE_GEMM_BATCH_RANK + 2)
        return false;
    s->m = p.c[p.rank - 2];
    s->n = p.c[p.rank - 1];
    s->k = p.a[p.rank - 1];
    s->lda = s->k;
    s->ldb = s->ldc = s->n;
    read_batch(&p, s);
    return true;
}

static void read_gemm(const tfr_call *call, native_gemm_shape *s)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 1);
    const tfr_operand *c = tfr_call_input(call, 2), *y = tfr_call_output(call, 0);

    s->trans_a = tfr_call_int(call, "transA", 0) != 0;
    s->trans_b = tfr_call_int(call, "transB", 0) != 0;
    s->m = y->dims[0];
    s->n = s->ldc = y->dims[1];
    s->k = a->dims[s->trans_a ? 0 : 1];
    s->lda = a->dims[1];
    s->ldb = b->dims[1];
    s->epilogue.alpha = tfr_call_float(call, "alpha", 1.0f);
    s->epilogue.beta = tfr_call_float(call, "beta", 1.0f);
    if (c) {
        int64_t rows = c->rank > 1 ? c->dims[c->rank - 2] : 1;
        int64_t columns = c->rank > 0 ? c->dims[c->rank - 1] : 1;
        s->epilogue.addend_row = rows > 1 ? columns : 0;
        s->epilogue.addend_column = columns > 1 ? 1 : 0;
    }
}

static native_gemm_shape shape_of(const tfr_call *call)
{
    native_gemm_shape s;

    memset(&s, 0, sizeof s);
    s.epilogue.alpha = 1.0f;
    s.math_mode = call->math_mode;
    if (strcmp(call->name, "Gemm") == 0)
        read_gemm(call, &s);
    else
        (void)native_matmul_dims(tfr_call_input(call, 0), tfr_call_input(call, 1), &s);
    return s;
}

/* Only without a batch: else each product has a right side of its own. */
static bool can_pack(const tfr_call *call, const native_gemm_shape *s)
{
    int d;

    for (d = 0; d < NATIVE_GEMM_BATCH_RANK; d++)
        if (s->batch_b[d] != 0)
            return false;
    return tfr_call_input(call, 1)->data != NULL;
}

/* ---- threads ---- */

/*
 * What one thread does with data in its cache, and the time from which a second one pays. See
 * docs/decisions/0010-one-pool.md.
 */
#define BYTES_PER_NS 30.0
#define FLOPS_PER_NS 150.0
#define SMALL_NS     8000.0

static double bytes_of(const tfr_operand *o)
{
    return o ? (double)tfr_operand_elements(o) * tfr_dtype_bits(o->dtype) / 8 : 0;
}

static int threads_of(const tfr_plugin_device *device, const tfr_call *call)
{
    const tfr_operand *a = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const int64_t last = a->dims[a->rank - 1], other = a->rank > 1 ? a->dims[a->rank - 2] : 1;
    const double flops =
        2.0 * (double)tfr_operand_elements(y) * (double)(last > other ? last : other);
    const double bytes = bytes_of(a) + bytes_of(tfr_call_input(call, 1)) +
                         bytes_of(tfr_call_input(call, 2)) + bytes_of(y);

    return bytes / BYTES_PER_NS + flops / FLOPS_PER_NS < SMALL_NS ? 1 : device->threads;
}

static size_t workspace_of(const tfr_plugin_device *device, const native_gemm_shape *s, int threads)
{
    native_gemm g;

    native_gemm_plan(&g, &device->gemm, s, threads);
    return native_gemm_workspace(&g, threads);
}

/* ---- supports ---- */

/* NULL = the call is computed in its math mode; else why not. */
static const char *no_mode(const tfr_plugin_device *device, const tfr_call *call,
                           const native_gemm_shape *s)
{
    const char *why = native_gemm_no_mode(&device->gemm, s);
    native_gemm g;

    if (why || !s->b_packed)
        return why;
    native_gemm_plan(&g, &device->gemm, s, threads_of(device, call));
    return native_gemm_holds(&g, tfr_call_input(call, 1)->data)
               ? NULL
               : "the right side has numbers that are too large or too small for bfloat16 parts";
}

/* Whether the operands are such as can be done. */
static bool check(const tfr_call *call, tfr_answer *answer)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 1);
    product_dims p;

    memset(&p, 0, sizeof p);
    if (a->dtype != TFR_DTYPE_F32)
        tfr_decline(answer, TFR_REASON_DTYPE, "only float32 is done here");
    else if (a->rank < 1 || b->rank < 1)
        tfr_decline(answer, TFR_REASON_RANK, "an input has rank 0");
    else if (read_dims(a, b, &p), p.rank > NATIVE_GEMM_BATCH_RANK + 2)
        tfr_decline(answer, TFR_REASON_RANK, "%d batch dims do not merge, %d are done here",
                    p.rank - 2, (int)NATIVE_GEMM_BATCH_RANK);
    else
        return true;
    return false;
}

void native_matmul_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    native_gemm_shape s;
    size_t strict;
    int threads;

    if (native_has_half(call)) {
        native_item_supports(device, call, answer);
        return;
    }
    if (!check(call, answer))
        return;
    threads = threads_of(device, call);
    s = shape_of(call);
    s.b_packed = can_pack(call, &s);
    if (s.math_mode != TFR_MATH_STRICT) {
        const char *why = no_mode(device, call, &s);
        if (why)
            snprintf(answer->text, sizeof answer->text, "%s", why);
        else
            answer->flags |= TFR_ANSWER_MATH_MODE;
        s.math_mode = why ? TFR_MATH_STRICT : s.math_mode;
    }
    answer->workspace_bytes = workspace_of(device, &s, threads);
    /* A right side that the math mode's format cannot hold is computed strictly. */
    s.math_mode = TFR_MATH_STRICT;
    strict = workspace_of(device, &s, threads);
    if (strict > answer->workspace_bytes)
        answer->workspace_bytes = strict;
}

/* ---- the kernel ---- */

static int32_t run_product(const tfr_plugin_device *device, void *state, const tfr_launch *launch,
                           tfr_err *err)
{
    const product_state *p = state;
    const float *a = launch->args[0].address;
    native_gemm_args args;

    (void)err;
    memset(&args, 0, sizeof args);
    args.a = a ? a : p->known_a;
    args.b = p->packed ? p->packed : launch->args[1].address;
    args.c = launch->args[p->output].address;
    if (p->addend >= 0) {
        args.addend = launch->args[p->addend].address;
        if (!args.addend)
            args.addend = p->known_addend;
    }
    native_gemm_run_all(&p->gemm, &args, launch->workspace, device->host, p->threads);
    return TFR_OK;
}

static void pack_right_side(native_build *b, product_state *p, native_gemm_shape *s,
                            const float *data)
{
    void *packed = native_add_block(b, p->gemm.packed_bytes);

    if (packed && !native_gemm_pack(&p->gemm, data, packed)) {
        s->math_mode = TFR_MATH_STRICT;
        native_gemm_plan(&p->gemm, &b->device->gemm, s, p->threads);
        packed = native_add_block(b, p->gemm.packed_bytes);
        if (packed)
            native_gemm_pack(&p->gemm, data, packed);
    }
    p->packed = packed;
}

static void prepare_product(native_build *b, const tfr_call *call)
{
    product_state *p = native_set_function(b, run_product, NULL, sizeof *p, "product");
    const tfr_operand *c = strcmp(call->name, "Gemm") == 0 ? tfr_call_input(call, 2) : NULL;
    native_gemm_shape s = shape_of(call);

    if (!p)
        return;
    s.b_packed = can_pack(call, &s);
    if (native_gemm_no_mode(&b->device->gemm, &s))
        s.math_mode = TFR_MATH_STRICT;
    p->threads = threads_of(b->device, call);
    p->output = (int)call->n_inputs;
    p->addend = c && s.epilogue.beta != 0.0f ? 2 : -1;
    p->known_a = tfr_call_input(call, 0)->data;
    p->known_addend = c ? c->data : NULL;
    native_gemm_plan(&p->gemm, &b->device->gemm, &s, p->threads);
    if (s.b_packed)
        pack_right_side(b, p, &s, tfr_call_input(call, 1)->data);
    else if (tfr_call_input(call, 1)->data)
        p->packed = tfr_call_input(call, 1)->data; /* known, but as it lies */
}

/* Products of half are programs of one item. */
void native_matmul_prepare(native_build *b, const tfr_call *call)
{
    if (native_has_half(call))
        native_item_prepare(b, call);
    else
        prepare_product(b, call);
}
