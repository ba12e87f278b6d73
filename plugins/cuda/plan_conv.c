/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_conv.c: launches of conv.cu, conv_direct.cu, conv_direct_filter.cu and
 * conv_transpose.cu, and the windows of pool.cu, too.
 */
#include "plan_kit.h"

#include <stddef.h>
#include <string.h>

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
            (pads && (pads[d] > most || pads[axes + d] > most || pads[d] < -most ||
                      pads[axes + d] < -most))) {
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

bool cuda_fill_conv(const tfr_call *call, const tfr_operand *x, const tfr_operand *w,
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

/* A kernel of tiles, whose name is of their side and of the type. */
static cuda_step *add_tiles(const cuda_tiles *tiles, const tfr_call *call, const cuda_names *names,
                            tfr_answer *answer, cuda_plan *plan)
{
    cuda_mark_mode(tiles, answer, plan);
    return cuda_plan_add(plan, names[tiles->which][tfr_call_input(call, 0)->dtype], tiles->blocks,
                         tiles->threads);
}

/* On an H200 implicit products took two to three times the cycles that are estimated for tiles,
 * which know nothing of taps. */
enum { CYCLES_OF_IMPLICIT = 2 };

/* The steps of a direct convolution, if it is one that tiles would take longer for. */
static bool plan_direct(const cuda_chip *chip, const tfr_call *call, const tfr_conv *c,
                        bool is_gradient, const cuda_tiles *tiles, cuda_plan *plan)
{
    cuda_direct direct;
    tfr_direct what;
    cuda_step *step;

    if (tfr_call_input(call, 0)->dtype != TFR_DTYPE_F32 || !cuda_direct_of(c, is_gradient, &what) ||
        !cuda_choose_direct(chip, &what, CYCLES_OF_IMPLICIT * tiles->cycles, &direct))
        return false;
    step = cuda_plan_add(plan, direct.kernel, direct.blocks, direct.threads);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 1);
    cuda_step_operand(plan, step, is_gradient ? CUDA_NO_OPERAND : cuda_input_or_none(call, 2));
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &direct.args, sizeof direct.args);
    if (!is_gradient)
        cuda_mark_relu(plan, step, sizeof direct.args, offsetof(tfr_direct, relu));
    return true;
}

CUDA_FAMILY(cuda_conv)
{
    static cuda_names names[CUDA_TILES] = {{CUDA_FLOATS("conv_64_")},
                                           {[TFR_DTYPE_F32] = "conv_32_f32"},
                                           {CUDA_FLOATS("conv_16_")},
                                           {[TFR_DTYPE_F32] = "conv_tf32"}};
    const tfr_operand *x = tfr_call_input(call, 0), *w = tfr_call_input(call, 1);
    cuda_tiles tiles;
    cuda_step *step;
    tfr_conv c;

    if (!cuda_pick_input(names[0], call, answer) ||
        !cuda_fill_conv(call, x, w, tfr_call_output(call, 0), &c, answer))
        return;
    if (tfr_operand_elements(tfr_call_output(call, 0)) == 0)
        return;
    tiles = cuda_choose_tiles(chip, &(cuda_sums){c.filters, (int64_t)c.batch * c.y_plane.d,
                                                 (int64_t)c.channels * c.taps.d, c.groups, false,
                                                 cuda_tiles_of(chip, call)});
    if (!plan_direct(chip, call, &c, false, &tiles, plan)) {
        c.tiling = tiles.tiling;
        step = add_tiles(&tiles, call, names, answer, plan);
        cuda_step_operand(plan, step, 0);
        cuda_step_operand(plan, step, 1);
        cuda_step_operand(plan, step, cuda_input_or_none(call, 2));
        cuda_step_operand(plan, step, call->n_inputs);
        cuda_step_bytes(plan, step, &c, sizeof c);
        cuda_mark_relu(plan, step, sizeof c, offsetof(tfr_conv, relu));
    }
    describe_conv(chip, call, &c, CUDA_CONV_FORWARD, answer, plan);
}

CUDA_FAMILY(cuda_conv_grad_input)
{
    static cuda_names names[CUDA_TILES] = {{CUDA_FLOATS("conv_grad_input_64_")},
                                           {[TFR_DTYPE_F32] = "conv_grad_input_32_f32"},
                                           {CUDA_FLOATS("conv_grad_input_16_")},
                                           {[TFR_DTYPE_F32] = "conv_grad_input_tf32"}};
    const tfr_operand *dy = tfr_call_input(call, 0), *w = tfr_call_input(call, 1);
    cuda_tiles tiles;
    cuda_step *step;
    tfr_conv c;

    if (!cuda_pick_input(names[0], call, answer) ||
        !cuda_fill_conv(call, tfr_call_output(call, 0), w, dy, &c, answer) ||
        !has_elements(dy, answer))
        return;
    tiles = cuda_choose_tiles(chip, &(cuda_sums){c.channels, (int64_t)c.batch * c.x_plane.d,
                                                 (int64_t)c.filters * c.taps.d, c.groups, false,
                                                 cuda_tiles_of(chip, call)});
    if (!plan_direct(chip, call, &c, true, &tiles, plan)) {
        c.tiling = tiles.tiling;
        step = add_tiles(&tiles, call, names, answer, plan);
        cuda_step_operand(plan, step, 0);
        cuda_step_operand(plan, step, 1);
        cuda_step_operand(plan, step, call->n_inputs);
        cuda_step_bytes(plan, step, &c, sizeof c);
    }
    describe_conv(chip, call, &c, CUDA_CONV_GRAD_INPUT, answer, plan);
}

/* Slabs of n elements each, which are those of the output. */
static void plan_add_slabs(const tfr_call *call, const tfr_tiling *tiling, int64_t n,
                           cuda_plan *plan)
{
    const tfr_product p = {
        .M = 1, .N = (int32_t)n, .alpha = 1, .batch = {.n = 1}, .tiling = *tiling};

    cuda_add_slabs(call, &p, CUDA_NO_OPERAND, plan);
}

/* The slabs or the output, which the step writes; then their sum. */
static void finish_filter(const tfr_call *call, const tfr_tiling *tiling, const void *args,
                          uint32_t bytes, cuda_step *step, tfr_answer *answer, cuda_plan *plan)
{
    const int64_t n = tfr_operand_elements(tfr_call_output(call, 0));

    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 1);
    if (tiling->splits > 1)
        cuda_step_workspace(plan, step, 0);
    else
        cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, args, bytes);
    if (tiling->splits > 1) {
        answer->workspace_bytes = (uint64_t)tiling->splits * (uint64_t)n * sizeof(float);
        plan_add_slabs(call, tiling, n, plan);
    }
}

/* As plan_direct, for the gradient of the filter. */
static bool plan_direct_filter(const cuda_chip *chip, const tfr_call *call, const tfr_conv *c,
                               const cuda_tiles *tiles, tfr_answer *answer, cuda_plan *plan)
{
    cuda_direct_filter direct;
    tfr_direct_filter what;
    tfr_tiling slabs = {.splits = 1};
    cuda_step *step;

    if (!cuda_direct_filter_of(c, &what) ||
        !cuda_choose_direct_filter(chip, &what, CYCLES_OF_IMPLICIT * tiles->cycles, &direct))
        return false;
    slabs.splits = direct.slabs;
    step = cuda_plan_add(plan, "conv_direct_filter_f32", direct.blocks, direct.threads);
    finish_filter(call, &slabs, &direct.args, sizeof direct.args, step, answer, plan);
    return true;
}

CUDA_FAMILY(cuda_conv_grad_filter)
{
    static cuda_names names[CUDA_TILES] = {{[TFR_DTYPE_F32] = "conv_grad_filter_64_f32"},
                                           {[TFR_DTYPE_F32] = "conv_grad_filter_32_f32"},
                                           {[TFR_DTYPE_F32] = "conv_grad_filter_16_f32"},
                                           {[TFR_DTYPE_F32] = "conv_grad_filter_tf32"}};
    const tfr_operand *dy = tfr_call_input(call, 0), *x = tfr_call_input(call, 1);
    const tfr_operand *dw = tfr_call_output(call, 0);
    cuda_tiles tiles;
    cuda_step *step;
    tfr_conv c;

    if (!cuda_pick_input(names[0], call, answer) || !cuda_fill_conv(call, x, dw, dy, &c, answer) ||
        !has_elements(dy, answer))
        return;
    tiles = cuda_choose_tiles(chip, &(cuda_sums){c.filters, (int64_t)c.channels * c.taps.d,
                                                 (int64_t)c.batch * c.y_plane.d, c.groups, true,
                                                 cuda_tiles_of(chip, call)});
    if (!plan_direct_filter(chip, call, &c, &tiles, answer, plan)) {
        c.tiling = tiles.tiling;
        step = add_tiles(&tiles, call, names, answer, plan);
        finish_filter(call, &c.tiling, &c, sizeof c, step, answer, plan);
    }
    describe_conv(chip, call, &c, CUDA_CONV_GRAD_FILTER, answer, plan);
}

static bool fill_transposed(const tfr_conv *c, tfr_transposed *t)
{
    const tfr_window *v = &c->window;
    int d;

    memset(t, 0, sizeof *t);
    t->conv = *c;
    for (d = 0; d < 2; d++) {
        if (v->stride[d] > 1 && v->dilation[d] > 1)
            return false;
        t->phase[d] = v->stride[d];
        t->u[d] = (v->x[d] + v->stride[d] - 1) / v->stride[d];
        t->step[d] = v->dilation[d];
    }
    t->conv.filters_d = cuda_divisor(c->filters);
    t->u_plane = cuda_divisor((int64_t)t->u[0] * t->u[1]);
    t->u_row = cuda_divisor(t->u[1]);
    for (d = 0; d < 2; d++) /* by d whether there is one more */
        t->taps_row[d] = cuda_divisor(v->kernel[1] / v->stride[1] + d);
    return true;
}

/* The bias, behind a library that computes what is in front of it. */
static void plan_bias_behind(const cuda_chip *chip, const tfr_call *call, cuda_plan *plan)
{
    static cuda_names names = {CUDA_FLOATS("conv_transpose_bias_")};
    const tfr_operand *y = tfr_call_output(call, 0);
    const tfr_divisor plane = cuda_divisor(tfr_operand_span(y, 2, y->rank));
    const tfr_divisor channels = cuda_divisor(y->dims[1]);
    const int64_t n = tfr_operand_elements(y);
    cuda_step *step = cuda_plan_add(plan, names[y->dtype], cuda_blocks(chip, n, 256), 256);

    cuda_step_operand(plan, step, 2);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_int(plan, step, (int32_t)n);
    cuda_step_bytes(plan, step, &plane, sizeof plane);
    cuda_step_bytes(plan, step, &channels, sizeof channels);
    if (step) {
        plan->behind = *step;
        plan->has_behind = true;
        plan->n_steps--;
    }
}

/* The gradient of the input of a convolution of y to x. */
CUDA_FAMILY(cuda_conv_transpose)
{
    static cuda_names names[CUDA_TILES] = {
        {CUDA_FLOATS("conv_transpose_64_")}, [2] = {CUDA_FLOATS("conv_transpose_16_")}};
    static cuda_names dilated[CUDA_TILES] = {{CUDA_FLOATS("conv_transpose_dilated_64_")},
                                             [2] = {CUDA_FLOATS("conv_transpose_dilated_16_")}};
    const tfr_operand *x = tfr_call_input(call, 0), *w = tfr_call_input(call, 1);
    cuda_sums sums = {.may_have = CUDA_ANY_TYPE};
    tfr_transposed t;
    cuda_tiles tiles;
    bool has_phases;
    cuda_step *step;
    tfr_conv c;

    if (!cuda_pick_input(names[0], call, answer) ||
        !cuda_fill_conv(call, tfr_call_output(call, 0), w, x, &c, answer))
        return;
    if (tfr_operand_elements(x) == 0) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "a convolution of 0 elements");
        return;
    }
    has_phases = fill_transposed(&c, &t);
    sums.M = c.channels;
    sums.N = (int64_t)c.batch * (has_phases ? t.u_plane.d : c.x_plane.d);
    sums.K = (int64_t)c.filters * c.taps.d;
    sums.outer = c.groups;
    if (has_phases) {
        sums.K = sums.K / (t.phase[0] * t.phase[1]) + 1;
        sums.outer *= t.phase[0] * t.phase[1];
    }
    tiles = cuda_choose_tiles(chip, &sums);
    c.tiling = t.conv.tiling = tiles.tiling;
    step = add_tiles(&tiles, call, has_phases ? names : dilated, answer, plan);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 1);
    cuda_step_operand(plan, step, cuda_input_or_none(call, 2));
    cuda_step_operand(plan, step, call->n_inputs);
    if (has_phases)
        cuda_step_bytes(plan, step, &t, sizeof t);
    else
        cuda_step_bytes(plan, step, &c, sizeof c);
    describe_conv(chip, call, &c, CUDA_CONV_GRAD_INPUT, answer, plan);
    if (plan && plan->convolution.kind != CUDA_CONV_NONE && tfr_call_input(call, 2))
        plan_bias_behind(chip, call, plan);
}
