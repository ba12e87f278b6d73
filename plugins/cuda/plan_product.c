/* SPDX-License-Identifier: Apache-2.0 */
/* plan_product.c: launches of matmul.cu and conv.cu, and the windows of pool.cu, too. */
#include "plan_kit.h"

#include <stddef.h>
#include <string.h>

/* The last bytes of the step, a struct of args.h, have this member. */
static void mark_relu(cuda_plan *plan, const cuda_step *step, size_t bytes, size_t member)
{
    if (step)
        plan->relu_at = step->n_bytes - (uint32_t)((bytes + 15) / 16 * 16) + (uint32_t)member;
}

/* Tiles of 64 x 64 where they keep the chip busy, else of 32 x 32. */
static void plan_product(const cuda_chip *chip, const tfr_call *call, const tfr_product *p,
                         tfr_answer *answer, cuda_plan *plan)
{
    static cuda_names large = {CUDA_FLOATS("matmul_64_")}, small = {CUDA_FLOATS("matmul_32_")};
    const int64_t tiles = (int64_t)((p->M + 63) / 64) * ((p->N + 63) / 64) * p->batch.n;
    const bool is_large = tiles >= chip->multiprocessors;
    const int64_t side = is_large ? 64 : 32;
    const char *kernel = cuda_pick_input(is_large ? large : small, call, answer);
    cuda_step *step;

    if (!kernel || (int64_t)p->M * p->N * p->batch.n == 0)
        return;
    step = cuda_plan_add(
        plan, kernel,
        (uint64_t)((p->M + side - 1) / side * ((p->N + side - 1) / side) * p->batch.n),
        is_large ? 256 : 64);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 1);
    /* with beta 0 an addend does not count, be it NaN */
    cuda_step_operand(plan, step, p->beta != 0 ? cuda_input_or_none(call, 2) : CUDA_NO_OPERAND);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, p, sizeof *p);
    mark_relu(plan, step, sizeof *p, offsetof(tfr_product, relu));
}

/*
 * The product as cuBLASLt takes it, if it does: one batch with a stride for each operand, a bias
 * along the rows of y or an addend that is as large as y. Opening the library takes 55 ms and 150
 * MB, so that small products are ours: the first one of 500 x 500 is there before the library would
 * be. The rule is of the shapes alone, so that bits depend on nothing that was computed before.
 */
static void describe_product(const cuda_chip *chip, const tfr_call *call, const tfr_product *p,
                             tfr_answer *answer, cuda_plan *plan)
{
    const tfr_walk *batch = &p->batch;
    const bool adds = p->beta != 0 && tfr_call_input(call, 2);
    const bool has_bias = adds && p->beta == 1 && p->bias_row == 0 && p->bias_column == 1;
    const bool has_addend = adds && p->bias_row == p->N && p->bias_column == 1;
    const double work = (double)p->M * p->N * p->K * batch->n;
    cuda_product *out;

    if (p->alpha == 0 || work == 0 || work < (double)chip->library_from || batch->rank > 1 ||
        (batch->n > 1 && batch->rank == 0) || (adds && !has_bias && !has_addend))
        return;
    if (tfr_call_input(call, 0)->dtype == TFR_DTYPE_F32 && call->math_mode >= TFR_MATH_TF32)
        answer->flags |= TFR_ANSWER_MATH_MODE;
    if (!plan)
        return;
    out = &plan->product;
    *out = (cuda_product){
        .is_set = true,
        .a_swapped = p->a_column != 1,
        .b_swapped = p->b_column != 1,
        .m = p->M,
        .n = p->N,
        .k = p->K,
        .batch = batch->n,
        .a_stride = batch->n > 1 ? batch->strides[0][0] : 0,
        .b_stride = batch->n > 1 ? batch->strides[1][0] : 0,
        .a = 0,
        .b = 1,
        .y = (uint16_t)call->n_inputs,
        .bias = has_bias ? 2 : CUDA_NO_OPERAND,
        .addend = has_addend && !has_bias ? 2 : CUDA_NO_OPERAND,
        .alpha = p->alpha,
        .beta = has_addend && !has_bias ? p->beta : 0,
    };
    /* Matrices that lie behind each other and meet the same b are the rows of one. */
    if (out->batch > 1 && !out->a_swapped && out->b_stride == 0 &&
        out->a_stride == out->m * out->k) {
        out->m *= out->batch;
        out->batch = 1;
    }
}

/* A vector a is [1 K], a vector b [K 1]; what is in front are matrices, which broadcast. */
CUDA_FAMILY(cuda_matmul)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 1);
    const tfr_operand *y = tfr_call_output(call, 0);
    const int32_t rank = y->rank - (a->rank > 1) - (b->rank > 1);
    const tfr_operand *both[2];
    int64_t strides[2][TFR_MAX_RANK];
    tfr_product p = {.alpha = 1};
    int32_t k, d;

    both[0] = a;
    both[1] = b;
    p.K = (int32_t)a->dims[a->rank - 1];
    p.M = a->rank > 1 ? (int32_t)a->dims[a->rank - 2] : 1;
    p.N = b->rank > 1 ? (int32_t)b->dims[b->rank - 1] : 1;
    p.a_row = p.K;
    p.a_column = 1;
    p.b_row = p.N;
    p.b_column = 1;
    for (k = 0; k < 2; k++) {
        tfr_operand outer = *both[k];
        outer.rank = outer.rank > 2 ? outer.rank - 2 : 0;
        cuda_broadcast(&outer, rank, strides[k]);
        for (d = 0; d < rank; d++)
            strides[k][d] *= k == 0 ? (int64_t)p.M * p.K : (int64_t)p.K * p.N;
    }
    if (!cuda_call_fits(call, answer) ||
        !cuda_walk(rank, y->dims, 2, (const int64_t(*)[TFR_MAX_RANK])strides, NULL, &p.batch,
                   answer))
        return;
    plan_product(chip, call, &p, answer, plan);
    describe_product(chip, call, &p, answer, plan);
}

CUDA_FAMILY(cuda_gemm)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 1);
    const tfr_operand *c = tfr_call_input(call, 2), *y = tfr_call_output(call, 0);
    const bool a_swapped = tfr_call_int(call, "transA", 0) != 0;
    const bool b_swapped = tfr_call_int(call, "transB", 0) != 0;
    int64_t strides[TFR_MAX_RANK] = {0, 0};
    tfr_product p = {.alpha = tfr_call_float(call, "alpha", 1),
                     .beta = tfr_call_float(call, "beta", 1)};

    p.M = (int32_t)y->dims[0];
    p.N = (int32_t)y->dims[1];
    p.K = (int32_t)a->dims[a_swapped ? 0 : 1];
    p.a_row = a_swapped ? 1 : p.K;
    p.a_column = a_swapped ? p.M : 1;
    p.b_row = b_swapped ? 1 : p.N;
    p.b_column = b_swapped ? (int32_t)b->dims[1] : 1;
    if (c)
        cuda_broadcast(c, 2, strides);
    p.bias_row = (int32_t)strides[0];
    p.bias_column = (int32_t)strides[1];
    p.batch.n = 1;
    plan_product(chip, call, &p, answer, plan);
    describe_product(chip, call, &p, answer, plan);
}

/* ---- windows ---- */

bool cuda_fill_window(const tfr_call *call, const tfr_operand *x, const tfr_operand *y,
                      const tfr_operand *w, tfr_window *out, tfr_answer *answer)
{
    const int32_t axes = x->rank - 2;
    uint64_t n;
    const int64_t *kernel = cuda_ints(call, "kernel_shape", &n);
    const int64_t *stride = cuda_ints(call, "strides", &n);
    const int64_t *dilation = cuda_ints(call, "dilations", &n);
    const int64_t *pads = cuda_ints(call, "pads", &n);
    int32_t d;

    memset(out, 0, sizeof *out);
    if (axes < 1 || axes > 2) {
        tfr_decline(answer, TFR_REASON_RANK, "%d spatial axes are not 1 or 2", axes);
        return false;
    }
    for (d = 0; d < 2; d++)
        out->x[d] = out->y[d] = out->kernel[d] = out->stride[d] = out->dilation[d] = 1;
    for (d = 0; d < axes; d++) {
        const int32_t to = 2 - axes + d;
        const int64_t most = 1 << 15; /* their products fit 31 bits */
        out->x[to] = (int32_t)x->dims[d + 2];
        out->y[to] = (int32_t)y->dims[d + 2];
        if (w ? w->dims[d + 2] > most : kernel[d] > most) {
            tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "a window of more than %lld",
                        (long long)most);
            return false;
        }
        if ((stride && stride[d] > most) || (dilation && dilation[d] > most) ||
            (pads && (pads[d] > most || pads[axes + d] > most))) {
            tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "strides, dilations or pads over %lld",
                        (long long)most);
            return false;
        }
        out->kernel[to] = (int32_t)(w ? w->dims[d + 2] : kernel[d]);
        out->stride[to] = stride ? (int32_t)stride[d] : 1;
        out->dilation[to] = dilation ? (int32_t)dilation[d] : 1;
        out->pad[to] = pads ? (int32_t)pads[d] : 0;
        out->pad_end[to] = pads ? (int32_t)pads[axes + d] : 0;
    }
    out->planes = (int32_t)tfr_operand_span(x, 0, 2);
    return true;
}

/* The convolution of x with w to y. */
static bool fill_conv(const tfr_call *call, const tfr_operand *x, const tfr_operand *w,
                      const tfr_operand *y, tfr_conv *c, tfr_answer *answer)
{
    const int64_t group = tfr_call_int(call, "group", 1);
    const tfr_window *v = &c->window;
    int d;

    memset(c, 0, sizeof *c);
    if (!cuda_fill_window(call, x, y, w, &c->window, answer))
        return false;
    if (tfr_operand_elements(w) == 0 || v->x[0] == 0 || v->x[1] == 0) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "a convolution of 0 elements");
        return false;
    }
    c->batch = (int32_t)x->dims[0];
    c->groups = (int32_t)group;
    c->channels = (int32_t)w->dims[1];
    c->filters = (int32_t)(w->dims[0] / group);
    c->splits = 1;
    c->y_plane = cuda_divisor((int64_t)v->y[0] * v->y[1]);
    c->y_row = cuda_divisor(v->y[1]);
    c->x_plane = cuda_divisor((int64_t)v->x[0] * v->x[1]);
    c->x_row = cuda_divisor(v->x[1]);
    c->taps = cuda_divisor((int64_t)v->kernel[0] * v->kernel[1]);
    c->kernel_row = cuda_divisor(v->kernel[1]);
    for (d = 0; d < 2; d++)
        c->stride[d] = cuda_divisor(v->stride[d]);
    return true;
}

static void put_dims(int64_t out[4], int64_t a, int64_t b, const int32_t plane[2])
{
    out[0] = a;
    out[1] = b;
    out[2] = plane[0];
    out[3] = plane[1];
}

/*
 * The convolution as cuDNN takes it, from as many multiplications on as a product is cuBLASLt's:
 * its first plan takes a third of a second, in which our kernels compute a thousand small ones. The
 * operands are numbered for the forward one.
 */
static void describe_conv(const cuda_chip *chip, const tfr_call *call, const tfr_conv *c,
                          cuda_conv_kind kind, tfr_answer *answer, cuda_plan *plan)
{
    const tfr_window *v = &c->window;
    const int64_t channels = (int64_t)c->channels * c->groups;
    const int64_t filters = (int64_t)c->filters * c->groups;
    const double work = (double)c->batch * (double)filters * c->channels * c->taps.d * c->y_plane.d;
    const bool is_forward = kind == CUDA_CONV_FORWARD;
    const uint16_t y = (uint16_t)call->n_inputs;
    cuda_convolution *out;

    if (work == 0 || work < (double)chip->library_from)
        return;
    for (int d = 0; d < 2; d++)
        if (v->pad[d] < 0 || v->pad_end[d] < 0)
            return;
    if (tfr_call_input(call, 0)->dtype == TFR_DTYPE_F32 && call->math_mode >= TFR_MATH_TF32)
        answer->flags |= TFR_ANSWER_MATH_MODE;
    if (!plan)
        return;
    out = &plan->convolution;
    *out = (cuda_convolution){
        .kind = kind,
        .x = is_forward                     ? 0
             : kind == CUDA_CONV_GRAD_INPUT ? y
                                            : 1,
        .w = kind == CUDA_CONV_GRAD_FILTER ? y : 1,
        .y = is_forward ? y : 0,
        .bias = is_forward ? (uint16_t)cuda_input_or_none(call, 2) : CUDA_NO_OPERAND,
        .addend = CUDA_NO_OPERAND,
    };
    put_dims(out->x_dims, c->batch, channels, v->x);
    put_dims(out->w_dims, filters, c->channels, v->kernel);
    put_dims(out->y_dims, c->batch, filters, v->y);
    for (int d = 0; d < 2; d++) {
        out->stride[d] = v->stride[d];
        out->dilation[d] = v->dilation[d];
        out->pad[d] = v->pad[d];
        out->pad_end[d] = v->pad_end[d];
    }
}

static bool has_elements(const tfr_operand *dy, tfr_answer *answer)
{
    if (tfr_operand_elements(dy) == 0)
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "the gradient of 0 elements");
    return tfr_operand_elements(dy) != 0;
}

static uint64_t tiles(int64_t M, int64_t N)
{
    return (uint64_t)((M + 63) / 64 * ((N + 63) / 64));
}

CUDA_FAMILY(cuda_conv)
{
    static cuda_names names = {CUDA_FLOATS("conv_")};
    const tfr_operand *x = tfr_call_input(call, 0), *w = tfr_call_input(call, 1);
    const char *kernel = cuda_pick_input(names, call, answer);
    cuda_step *step;
    tfr_conv c;

    if (!kernel || !fill_conv(call, x, w, tfr_call_output(call, 0), &c, answer))
        return;
    if (tfr_operand_elements(tfr_call_output(call, 0)) == 0)
        return;
    step = cuda_plan_add(
        plan, kernel, tiles(c.filters, (int64_t)c.batch * c.y_plane.d) * (uint64_t)c.groups, 256);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 1);
    cuda_step_operand(plan, step, cuda_input_or_none(call, 2));
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &c, sizeof c);
    mark_relu(plan, step, sizeof c, offsetof(tfr_conv, relu));
    describe_conv(chip, call, &c, CUDA_CONV_FORWARD, answer, plan);
}

CUDA_FAMILY(cuda_conv_grad_input)
{
    static cuda_names names = {CUDA_FLOATS("conv_grad_input_")};
    const tfr_operand *dy = tfr_call_input(call, 0), *w = tfr_call_input(call, 1);
    const char *kernel = cuda_pick_input(names, call, answer);
    cuda_step *step;
    tfr_conv c;

    if (!kernel || !fill_conv(call, tfr_call_output(call, 0), w, dy, &c, answer) ||
        !has_elements(dy, answer))
        return;
    step = cuda_plan_add(
        plan, kernel, tiles(c.channels, (int64_t)c.batch * c.x_plane.d) * (uint64_t)c.groups, 256);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 1);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &c, sizeof c);
    describe_conv(chip, call, &c, CUDA_CONV_GRAD_INPUT, answer, plan);
}

/* Adds slabs of n elements, one behind the other, in their order. */
static void plan_add_slabs(const cuda_chip *chip, const tfr_call *call, int32_t slabs, int64_t n,
                           tfr_answer *answer, cuda_plan *plan)
{
    const int64_t strides[2][1][TFR_MAX_RANK] = {{{1}}, {{n}}}, counts[2] = {n, slabs};
    cuda_step *step;
    tfr_reducing r;

    cuda_walk(1, &counts[0], 1, strides[0], NULL, &r.kept, answer);
    cuda_walk(1, &counts[1], 1, strides[1], NULL, &r.reduced, answer);
    r.op = TFR_FN_ReduceSum;
    r.scale = 1;
    step = cuda_plan_add(plan, "reduce_thread_f32", cuda_blocks(chip, n, 256), 256);
    cuda_step_workspace(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &r, sizeof r);
}

/* So many splits of the long sum that two blocks come to each multiprocessor. */
CUDA_FAMILY(cuda_conv_grad_filter)
{
    static cuda_names names = {[TFR_DTYPE_F32] = "conv_grad_filter_f32"};
    const tfr_operand *dy = tfr_call_input(call, 0), *x = tfr_call_input(call, 1);
    const tfr_operand *dw = tfr_call_output(call, 0);
    const char *kernel = cuda_pick_input(names, call, answer);
    const int64_t n = tfr_operand_elements(dw);
    uint64_t blocks, splits, most;
    cuda_step *step;
    tfr_conv c;

    if (!kernel || !fill_conv(call, x, dw, dy, &c, answer) || !has_elements(dy, answer))
        return;
    blocks = tiles(c.filters, (int64_t)c.channels * c.taps.d) * (uint64_t)c.groups;
    splits = ((uint64_t)chip->multiprocessors * 2 + blocks - 1) / blocks;
    most = ((uint64_t)c.batch * c.y_plane.d + 255) / 256; /* each has 256 products at least */
    splits = splits < most ? splits : most;
    c.splits = splits > 32 ? 32 : splits ? (int32_t)splits : 1;
    if (c.splits > 1)
        answer->workspace_bytes = (uint64_t)c.splits * (uint64_t)n * sizeof(float);
    step = cuda_plan_add(plan, kernel, blocks * (uint64_t)c.splits, 256);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 1);
    if (c.splits > 1)
        cuda_step_workspace(plan, step, 0);
    else
        cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &c, sizeof c);
    if (c.splits > 1)
        plan_add_slabs(chip, call, c.splits, n, answer, plan);
    describe_conv(chip, call, &c, CUDA_CONV_GRAD_FILTER, answer, plan);
}
