/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_forms.c: which calls items do: of each op the form that its kind of item has steps for.
 */
#include "program_half.h"
#include "program_integer.h"

#include "cast.h"

#include <math.h>
#include <string.h>

static bool is_float(const tfr_operand *o)
{
    return o && o->dtype == TFR_DTYPE_F32;
}

static bool all_float(const tfr_call *call)
{
    uint32_t i;

    for (i = 0; i < call->n_inputs; i++) {
        const tfr_operand *o = tfr_call_input(call, i);
        if (o && !is_float(o))
            return false;
    }
    for (i = 1; i < call->n_outputs; i++) {
        if (tfr_call_output(call, i))
            return false;
    }
    return is_float(tfr_call_output(call, 0));
}

/* Rows and their steps in memory are counted in 32 bits. */
static bool fits(const tfr_operand *o)
{
    return tfr_operand_elements(o) < INT32_MAX / 2;
}

/* Of a window, its steps and its padding: offsets are counted in 32 bits. */
#define MAX_WINDOW 1048576

/* One axis of a window: what it is, and the sizes of source and result. */
typedef struct window_axis {
    int64_t kernel, stride, dilation, pad[2], size, out;
} window_axis;

/* A window that holds no element has a result of the reference's own. */
static bool axis_form(const window_axis *w)
{
    int64_t reach;

    if (w->kernel > MAX_WINDOW || w->dilation > MAX_WINDOW || w->stride > MAX_WINDOW ||
        w->pad[0] < 0 || w->pad[0] > MAX_WINDOW || w->pad[1] < 0 || w->pad[1] > MAX_WINDOW)
        return false;
    reach = (w->kernel - 1) * w->dilation + 1;
    return reach <= MAX_WINDOW && w->pad[0] < reach && w->pad[1] < reach &&
           (w->out - 1) * w->stride - w->pad[0] < w->size &&
           (w->kernel == 1 || w->dilation <= w->size);
}

/*
 * Leaves out the taps at both ends that are in the padding for every output, as those of far
 * dilations over small images are. The answer is how many there are in front.
 */
static int64_t trim_axis(window_axis *w)
{
    const int64_t last = (w->out - 1) * w->stride - w->pad[0]; /* where the last window begins */
    int64_t first = 0, end = w->kernel;

    if (w->dilation < 1 || w->dilation > MAX_WINDOW || w->kernel > MAX_WINDOW)
        return 0;
    while (first < end - 1 && last + first * w->dilation < 0)
        first++;
    while (end > first + 1 && (end - 1) * w->dilation - w->pad[0] >= w->size)
        end--;
    if (first * w->dilation > w->pad[0])
        return 0;
    if (end - first < w->kernel)
        w->pad[1] = 0; /* the outputs say how far windows go */
    w->kernel = end - first;
    w->pad[0] -= first * w->dilation;
    return first;
}

/* *padded: elements of the source with what windows read around it. */
static bool window_form(const tfr_call *call, const int64_t *kernel, const tfr_operand *x,
                        const tfr_operand *y, bool trims, double *padded)
{
    const int64_t *strides = tfr_call_ints(call, "strides", 2);
    const int64_t *dilations = tfr_call_ints(call, "dilations", 2);
    const int64_t *pads = tfr_call_ints(call, "pads", 4);
    int i;

    if (!x || !y || x->rank != 4 || y->rank != 4 || !kernel || !fits(x) || !fits(y))
        return false;
    *padded = (double)(x->dims[0] * x->dims[1]);
    for (i = 0; i < 2; i++) {
        window_axis w = {kernel[i],
                         strides ? strides[i] : 1,
                         dilations ? dilations[i] : 1,
                         {pads ? pads[i] : 0, pads ? pads[2 + i] : 0},
                         x->dims[2 + i],
                         y->dims[2 + i]};
        if (trims)
            (void)trim_axis(&w);
        if (!axis_form(&w))
            return false;
        *padded *= (double)(w.size + w.pad[0] + (w.kernel - 1) * w.dilation + w.stride);
    }
    return true;
}

/* Windows over one or three spatial axes of x, one for each element of y. */
static bool lifted_windows(const tfr_call *call, const int64_t *kernel, const tfr_operand *x,
                           const tfr_operand *y)
{
    const int n = x->rank - 2;
    const int64_t *strides = tfr_call_ints(call, "strides", (uint64_t)n);
    const int64_t *dilations = tfr_call_ints(call, "dilations", (uint64_t)n);
    const int64_t *pads = tfr_call_ints(call, "pads", (uint64_t)(2 * n));
    double padded;
    int i;

    if ((n != 1 && n != 3) || y->rank != x->rank || !kernel || !fits(x) || !fits(y) ||
        tfr_operand_elements(x) == 0 || tfr_operand_elements(y) == 0)
        return false;
    padded = (double)(x->dims[0] * x->dims[1]);
    for (i = 0; i < n; i++) {
        const window_axis w = {kernel[i],
                               strides ? strides[i] : 1,
                               dilations ? dilations[i] : 1,
                               {pads ? pads[i] : 0, pads ? pads[n + i] : 0},
                               x->dims[2 + i],
                               y->dims[2 + i]};
        if (!axis_form(&w))
            return false;
        padded *= (double)(w.size + w.pad[0] + (w.kernel - 1) * w.dilation + w.stride);
    }
    return padded < INT32_MAX / 2;
}

/* Those of a convolution by k. */
static bool lifted_conv(const tfr_call *call, const tfr_operand *x, const tfr_operand *k,
                        const tfr_operand *y)
{
    return k->rank == x->rank && fits(k) && tfr_operand_elements(k) > 0 &&
           lifted_windows(call, k->dims + 2, x, y);
}

/* Outputs of each input of a depthwise convolution. */
static int64_t outputs_of_each(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *k = tfr_call_input(call, 1);

    return k->dims[1] == 1 && x->dims[1] > 0 && tfr_call_int(call, "group", 1) == x->dims[1]
               ? k->dims[0] / x->dims[1]
               : 1;
}

/*
 * All inputs of each output, or of one input each, or groups with known weights. Groups of one
 * input are depthwise, of images with each channel as often as it has outputs, or vectors would be
 * nearly all zeros.
 */
static bool group_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *k = tfr_call_input(call, 1);
    const tfr_operand *bias = tfr_call_input(call, 2);
    const int64_t group = tfr_call_int(call, "group", 1);

    if (group == 1 || (group == x->dims[1] && k->dims[0] == group && k->dims[1] == 1))
        return true;
    return k->data && (!bias || bias->data) && group > 1 && k->dims[1] * group == x->dims[1] &&
           k->dims[0] % group == 0 &&
           (k->dims[1] > 1 || (x->rank == 4 && tfr_operand_elements(x) > 0));
}

/* With known weights; depthwise ones go over one axis or two. */
static bool lifted_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *k = tfr_call_input(call, 1);
    const tfr_operand *bias = tfr_call_input(call, 2);

    return k->data && (!bias || bias->data) && group_form(call) &&
           (x->rank == 3 || k->dims[1] > 1 || tfr_call_int(call, "group", 1) == 1) &&
           lifted_conv(call, x, k, tfr_call_output(call, 0));
}

/* Of float32 without groups, with gaps: those without may go by Winograd's windows. */
static bool trims(const tfr_call *call)
{
    const tfr_operand *k = tfr_call_input(call, 1);
    const int64_t *dilations = tfr_call_ints(call, "dilations", 2);

    return strcmp(call->name, "Conv") == 0 && call->math_mode == TFR_MATH_STRICT && dilations &&
           dilations[0] > 1 && dilations[1] > 1 && tfr_call_int(call, "group", 1) == 1 &&
           k->rank == 4 && k->dims[2] < 256 && k->dims[3] < 256;
}

bool native_trim_window(const tfr_call *call, int64_t *first, int64_t *kernel, int64_t *pad)
{
    const int64_t *strides = tfr_call_ints(call, "strides", 2);
    const int64_t *dilations = tfr_call_ints(call, "dilations", 2);
    bool any = false;
    int i;

    for (i = 0; i < 2 && trims(call); i++) {
        window_axis w = {kernel[i],
                         strides ? strides[i] : 1,
                         dilations[i],
                         {pad[i], 0},
                         tfr_call_input(call, 0)->dims[2 + i],
                         tfr_call_output(call, 0)->dims[2 + i]};
        first[i] = trim_axis(&w);
        any = any || w.kernel != kernel[i];
        kernel[i] = w.kernel;
        pad[i] = w.pad[0];
    }
    return any;
}

static bool conv_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *k = tfr_call_input(call, 1);
    double padded;

    if (x->rank != 4)
        return lifted_form(call);
    return k->rank == 4 && fits(k) &&
           window_form(call, k->dims + 2, x, tfr_call_output(call, 0), trims(call), &padded) &&
           padded * (double)outputs_of_each(call) < INT32_MAX / 2 && group_form(call);
}

/* Gradients of a convolution x * k = y. */
static bool conv_grad_form(const tfr_call *call, const tfr_operand *x, const tfr_operand *k,
                           const tfr_operand *y)
{
    double padded;

    return is_float(x) && is_float(k) && is_float(y) && x->rank == 4 && k->rank == 4 && fits(k) &&
           tfr_call_int(call, "group", 1) == 1 &&
           window_form(call, k->dims + 2, x, y, false, &padded) && padded < INT32_MAX / 2;
}

static bool conv_grad_input_form(const tfr_call *call)
{
    return conv_grad_form(call, tfr_call_output(call, 0), tfr_call_input(call, 1),
                          tfr_call_input(call, 0));
}

/* Which is the gradient of what a convolution by the same weights reads. */
static bool conv_transpose_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *k = tfr_call_input(call, 1);
    const tfr_operand *bias = tfr_call_input(call, 2), *y = tfr_call_output(call, 0);

    if (!all_float(call) || (bias && !bias->data))
        return false;
    if (x->rank == 3)
        return k->data && tfr_call_int(call, "group", 1) == 1 && lifted_conv(call, y, k, x);
    return conv_grad_form(call, y, k, x);
}

static bool qlinear_conv_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *w = tfr_call_input(call, 3);
    const tfr_operand *bias = tfr_call_input(call, 8), *y = tfr_call_output(call, 0);
    const int64_t group = tfr_call_int(call, "group", 1);
    double padded;

    return x->rank == 4 && w->rank == 4 && w->data && fits(w) && tfr_operand_elements(w) > 0 &&
           tfr_operand_elements(x) > 0 && tfr_operand_elements(y) > 0 && (!bias || bias->data) &&
           window_form(call, w->dims + 2, x, y, false, &padded) &&
           tfr_operand_elements(w) / w->dims[0] <=
               (group == 1 ? NATIVE_INTEGER_TERMS : NATIVE_INT8_MOST_TAPS) &&
           (group == 1 || (group == x->dims[1] && w->dims[0] == group && w->dims[1] == 1)) &&
           native_known_quant(call, 1, x, 1) && native_known_quant(call, 4, w, w->dims[0]) &&
           native_known_quant(call, 6, y, 1);
}

static bool conv_grad_filter_form(const tfr_call *call)
{
    return conv_grad_form(call, tfr_call_input(call, 1), tfr_call_output(call, 0),
                          tfr_call_input(call, 0));
}

/* Greatest bytes are found as they are, between ops of integers. */
static bool pools_type(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *indices = tfr_call_output(call, 1);

    if (x->dtype == TFR_DTYPE_U8 || x->dtype == TFR_DTYPE_I8)
        return !indices && call->name[0] == 'M' && tfr_operand_elements(x) > 0;
    return is_float(x) && is_float(tfr_call_output(call, 0));
}

static bool pool_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const tfr_operand *indices = tfr_call_output(call, 1);
    const int64_t *kernel =
        x->rank < 3 ? NULL : tfr_call_ints(call, "kernel_shape", (uint64_t)(x->rank - 2));
    double padded;

    if (!pools_type(call) ||
        (strcmp(call->name, "AveragePool") == 0 && tfr_call_int(call, "ceil_mode", 0) &&
         tfr_call_int(call, "count_include_pad", 0)))
        return false;
    if (x->rank != 4)
        return is_float(x) && !indices && lifted_windows(call, kernel, x, y);
    return (!indices || tfr_call_int(call, "storage_order", 0) == 0) &&
           window_form(call, kernel, x, y, false, &padded);
}

static bool gemm_form(const tfr_call *call)
{
    const tfr_operand *b = tfr_call_input(call, 1), *c = tfr_call_input(call, 2);
    const tfr_operand *y = tfr_call_output(call, 0);

    if (b->rank != 2 || !fits(b) || !fits(y) || !fits(tfr_call_input(call, 0)))
        return false;
    if (tfr_call_int(call, "transA", 0))
        return !tfr_call_int(call, "transB", 0) && tfr_call_float(call, "alpha", 1.0f) == 1.0f &&
               (!c || tfr_call_float(call, "beta", 1.0f) == 0.0f);
    return !c || (c->rank > 0 && c->dims[c->rank - 1] == y->dims[1] &&
                  tfr_operand_elements(c) == y->dims[1]);
}

static bool matmul_form(const tfr_call *call)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 1);
    int i;

    if (!fits(a) || !fits(b) || !fits(tfr_call_output(call, 0)) || a->rank < 2)
        return false;
    if (b->rank == 2)
        return true;
    if (a->rank != b->rank || a->rank > NATIVE_STRIDED_RANK || tfr_operand_elements(a) == 0 ||
        tfr_operand_elements(b) == 0)
        return false;
    for (i = 0; i < a->rank - 2; i++) {
        if (a->dims[i] != b->dims[i])
            return false;
    }
    return true;
}

/* One of the inputs, or all, spread over the output in at most 4 groups of dims. */
static bool binary_form(const tfr_call *call)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 1);
    const tfr_operand *y = tfr_call_output(call, 0);

    return a->rank <= y->rank && b->rank <= y->rank && y->rank <= 6 &&
           (tfr_operand_same_dims(a, y) || tfr_operand_same_dims(b, y));
}

float native_known(const tfr_operand *o)
{
    float value;

    memcpy(&value, o->data, sizeof value);
    return value;
}

static bool known_number(const tfr_operand *o)
{
    return !o || (o->data && tfr_operand_elements(o) == 1 && !isnan(native_known(o)));
}

static bool clip_form(const tfr_call *call)
{
    return known_number(tfr_call_input(call, 1)) && known_number(tfr_call_input(call, 2));
}

static bool celu_form(const tfr_call *call)
{
    return tfr_call_float(call, "alpha", 1.0f) != 0.0f;
}

static bool last_axis_form(const tfr_call *call)
{
    int rank = tfr_call_input(call, 0)->rank;
    int64_t axis = tfr_call_int(call, "axis", -1);

    return rank > 0 && (axis == -1 || axis == rank - 1);
}

static bool is_row(const tfr_operand *o, const tfr_operand *x)
{
    return o->rank == 1 && o->dims[0] == x->dims[x->rank - 1];
}

static bool layer_norm_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const tfr_operand *scale = tfr_call_input(call, 1), *shift = tfr_call_input(call, 2);

    return last_axis_form(call) && is_row(scale, x) && (!shift || is_row(shift, x));
}

static bool transpose_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    return x->rank <= 6 && fits(x);
}

static bool any_form(const tfr_call *call)
{
    (void)call;
    return true;
}

static bool mean_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);

    return (x->rank == 4 || x->rank == 5) && fits(x);
}

static bool cast_form(const tfr_call *call)
{
    return native_find_cast(tfr_call_input(call, 0)->dtype, tfr_call_output(call, 0)->dtype);
}

/* ---- gradients ---- */

static bool compare_form(const tfr_call *call)
{
    const tfr_operand *y = tfr_call_output(call, 0);

    return is_float(tfr_call_input(call, 0)) && is_float(tfr_call_input(call, 1)) && y->rank <= 6;
}

static bool select_form(const tfr_call *call)
{
    return is_float(tfr_call_input(call, 1)) && is_float(tfr_call_input(call, 2)) &&
           is_float(tfr_call_output(call, 0)) && tfr_call_output(call, 0)->rank <= 6;
}

/* Kept dims of rank r that lie beside each other, or none. */
static bool axes_form(const tfr_operand *x, const tfr_attr *axes)
{
    bool reduced[TFR_MAX_RANK] = {false};
    int d, turns = 0;
    uint64_t i;

    for (i = 0; axes && i < axes->n; i++) {
        if (axes->ints[i] < 0 || axes->ints[i] >= x->rank)
            return false;
        reduced[axes->ints[i]] = true;
    }
    for (d = 0; d + 1 < x->rank; d++)
        turns += reduced[d] != reduced[d + 1];
    return turns < 2 || (turns == 2 && reduced[0]);
}

static bool sum_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);

    return is_float(x) && x->rank > 0 && fits(x) && axes_form(x, tfr_call_attr(call, "axes"));
}

/* Dims beside each other, but not all outside of samples. */
static bool reduce_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const tfr_attr *axes = tfr_call_attr(call, "axes");
    int64_t previous = -1;
    uint64_t i;

    if (!is_float(x) || !axes || axes->n == 0 || tfr_operand_elements(x) == 0 || !fits(x))
        return false;
    for (i = 0; i < axes->n; i++) {
        if (axes->ints[i] < 0 || axes->ints[i] >= x->rank ||
            (i > 0 && axes->ints[i] != previous + 1))
            return false;
        previous = axes->ints[i];
    }
    return true;
}

/* What only moves, with steps and places that inference has found. */
static bool strided_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const uint64_t rank = (uint64_t)x->rank;
    uint32_t i;

    for (i = 0; i < call->n_outputs; i++) {
        const tfr_operand *y = tfr_call_output(call, i);
        if (!y || !is_float(y) || y->rank > NATIVE_STRIDED_RANK || tfr_operand_elements(y) == 0 ||
            !fits(y))
            return false;
    }
    if (strcmp(call->name, "Slice") == 0 &&
        (!tfr_call_ints(call, "starts", rank) || !tfr_call_ints(call, "steps", rank)))
        return false;
    return is_float(x) && x->rank <= NATIVE_STRIDED_RANK && tfr_operand_elements(x) > 0 &&
           fits(x) && call->n_outputs <= NATIVE_ITEM_OUTPUTS;
}

static bool layer_norm_grad_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 1), *sums = tfr_call_output(call, 1);
    const int64_t axis = tfr_call_int(call, "axis", -1);

    return is_float(tfr_call_input(call, 0)) && is_float(x) && is_float(tfr_call_input(call, 2)) &&
           is_float(tfr_call_output(call, 0)) && (!sums || is_float(sums)) && x->rank > 1 &&
           (axis == -1 || axis == x->rank - 1) && tfr_operand_elements(x) > 0 &&
           is_row(tfr_call_input(call, 2), x);
}

static bool scatter_form(const tfr_call *call)
{
    const tfr_operand *dy = tfr_call_input(call, 0);

    return is_float(dy) && dy->rank == 4 && fits(tfr_call_output(call, 0));
}

/* Of the mean over labels of rank 1, each of which counts. */
static bool loss_grad_form(const tfr_call *call)
{
    const tfr_operand *dy = tfr_call_input(call, 0), *x = tfr_call_input(call, 1);

    return is_float(dy) && is_float(x) && x->rank == 2 && tfr_operand_elements(dy) == 1 &&
           tfr_call_input(call, 2)->dtype == TFR_DTYPE_I64 && !tfr_call_input(call, 3) &&
           !tfr_call_attr(call, "ignore_index") &&
           tfr_call_string(call, "reduction", "mean")[0] == 'm';
}

/* The same loss: its mean, and the logarithms of softmax. */
static bool loss_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *log_prob = tfr_call_output(call, 1);

    return is_float(x) && x->rank == 2 && is_float(tfr_call_output(call, 0)) &&
           (!log_prob || is_float(log_prob)) && tfr_call_input(call, 1)->dtype == TFR_DTYPE_I64 &&
           !tfr_call_input(call, 2) && !tfr_call_attr(call, "ignore_index") &&
           tfr_call_string(call, "reduction", "mean")[0] == 'm';
}

/* All of float32. */
static bool norm_form(const tfr_call *call, int rank)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    uint32_t i;

    for (i = 0; i < call->n_inputs; i++) {
        if (!is_float(tfr_call_input(call, i)))
            return false;
    }
    for (i = 0; i < call->n_outputs; i++) {
        if (tfr_call_output(call, i) && !is_float(tfr_call_output(call, i)))
            return false;
    }
    return call->n_inputs == 5 && x->rank == rank && fits(x) && tfr_operand_elements(x) > 0 &&
           tfr_call_output(call, 0);
}

static bool batch_norm_form(const tfr_call *call)
{
    return norm_form(call, 4);
}

static bool normalize_form(const tfr_call *call)
{
    return (norm_form(call, 3) || norm_form(call, 4) || norm_form(call, 5)) &&
           !tfr_call_int(call, "training_mode", 0) && !tfr_call_output(call, 1) &&
           !tfr_call_output(call, 2);
}

#define ONE_IS_WHOLE "inputs of which one has the dims of the output, up to 6, are done here"
#define PLANES       "two spatial axes of float32 are done here"
#define WINDOWS                                                                                    \
    "windows that all hold an element are done here, over two spatial axes or, with one output "   \
    "of float32, over one or three"

/* Sorted by name. All but the movers are of float32. */
static const native_form forms[] = {
    {"Abs", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_ABS, NULL},
    {"Add", binary_form, NATIVE_ITEM_BINARY, NATIVE_ADD, ONE_IS_WHOLE},
    {"Attention", native_attention_form, NATIVE_ITEM_ATTENTION, 0,
     "float32 with masks of all keys and without nonpad_kv_seqlen is done here"},
    {"AveragePool", pool_form, NATIVE_ITEM_POOL, 0, WINDOWS},
    {"BatchNormGrad", batch_norm_form, NATIVE_ITEM_BATCH_NORM_GRAD, 0, PLANES},
    {"BatchNormalization", normalize_form, NATIVE_ITEM_BATCH_NORM, 1,
     "one to three spatial axes of float32 without training_mode are done here"},
    {"BatchNormTrain", batch_norm_form, NATIVE_ITEM_BATCH_NORM, 0, PLANES},
    {"Cast", cast_form, NATIVE_ITEM_CAST, 0, NULL},
    {"CastLike", cast_form, NATIVE_ITEM_CAST, 0, NULL},
    {"Celu", celu_form, NATIVE_ITEM_ACT, NATIVE_ACT_CELU, "an alpha that is not 0 is done here"},
    {"Clip", clip_form, NATIVE_ITEM_ACT, NATIVE_ACT_CLIP,
     "bounds that are known and numbers are done here"},
    {"Concat", any_form, NATIVE_ITEM_CONCAT, 0, "up to 64 inputs are done here"},
    {"Conv", conv_form, NATIVE_ITEM_CONV, 0,
     "two spatial axes, or one or three with known weights, dense, depthwise over one or two or, "
     "with known weights, in groups, are done here"},
    {"ConvGradFilter", conv_grad_filter_form, NATIVE_ITEM_CONV_GRAD_FILTER, 0,
     "two spatial axes without groups are done here"},
    {"ConvGradInput", conv_grad_input_form, NATIVE_ITEM_CONV_GRAD_INPUT, 0,
     "two spatial axes without groups are done here"},
    {"ConvTranspose", conv_transpose_form, NATIVE_ITEM_CONV_GRAD_INPUT, 1,
     "known weights of one or two spatial axes without groups are done here"},
    {"DequantizeLinear", native_dequantize_form, NATIVE_ITEM_DEQUANTIZE, 0, NULL},
    {"DequantizeLinear", native_blocks_form, NATIVE_ITEM_BLOCKS, 0,
     "known matrices with blocks are done here"},
    {"Div", binary_form, NATIVE_ITEM_BINARY, NATIVE_DIV, ONE_IS_WHOLE},
    {"DynamicQuantizeLinear", native_dynamic_quantize_form, NATIVE_ITEM_DYNAMIC_QUANTIZE, 0, NULL},
    {"Einsum", native_einsum_form, NATIVE_ITEM_BATCHED_PRODUCT, 0,
     "up to two operands of up to 6 dims, whose letters are all different and are summed over only "
     "where both have them, are done here"},
    {"Elu", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_ELU, NULL},
    {"Erf", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_ERF, NULL},
    {"Exp", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_EXP, NULL},
    {"Expand", strided_form, NATIVE_ITEM_STRIDED, 0, "up to 8 dims are done here"},
    {"Gather", native_gather_fits, NATIVE_ITEM_GATHER, 0, NULL},
    {"Gelu", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_GELU, NULL},
    {"Gemm", gemm_form, NATIVE_ITEM_PRODUCT, 0, NULL},
    {"GlobalAveragePool", mean_form, NATIVE_ITEM_MEAN, 0,
     "two or three spatial axes of less than 2^30 elements are done here"},
    {"Greater", compare_form, NATIVE_ITEM_COMPARE, 0, NULL},
    {"GroupNormalization", native_group_norm_form, NATIVE_ITEM_GROUP_NORM, 0,
     "groups that divide the channels are done here"},
    {"HardSigmoid", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_HARD_SIGMOID, NULL},
    {"HardSwish", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_HARD_SWISH, NULL},
    {"InstanceNormalization", native_group_norm_form, NATIVE_ITEM_GROUP_NORM, 0, NULL},
    {"LayerNormGrad", layer_norm_grad_form, NATIVE_ITEM_LAYER_NORM_GRAD, 0,
     "the last axis with a scale for each of its elements is done here"},
    {"LayerNormalization", layer_norm_form, NATIVE_ITEM_LAYER_NORM, 0,
     "the last axis with a scale for each of its elements is done here"},
    {"LeakyRelu", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_LEAKY, NULL},
    {"LogSoftmax", last_axis_form, NATIVE_ITEM_LOG_SOFTMAX, 0, "the last axis is done here"},
    {"MatMul", matmul_form, NATIVE_ITEM_PRODUCT, 0, NULL},
    {"MatMulInteger", native_matmul_integer_form, NATIVE_ITEM_PRODUCT, 2,
     "known matrices with known zero points, by one zero point, are done here"},
    {"MatMulNBits", native_nbits_form, NATIVE_ITEM_PRODUCT, 3,
     "known weights of 4 or 8 bits in blocks of up to 256, without g_idx, are done here"},
    {"MaxPool", pool_form, NATIVE_ITEM_POOL, 0, WINDOWS},
    {"MaxPoolGrad", scatter_form, NATIVE_ITEM_SCATTER, 0, "two spatial axes are done here"},
    {"Mish", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_MISH, NULL},
    {"Mul", binary_form, NATIVE_ITEM_BINARY, NATIVE_MUL, ONE_IS_WHOLE},
    {"Neg", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_LINEAR, NULL},
    {"Pad", native_pad_form, NATIVE_ITEM_PADDED, 0,
     "elements of whole bytes, of which some of each axis stay, are done here"},
    {"PRelu", binary_form, NATIVE_ITEM_BINARY, NATIVE_PRELU, NULL},
    {"QLinearConv", qlinear_conv_form, NATIVE_ITEM_CONV, 1,
     "known weights, scales and zero points of two spatial axes, dense or depthwise, are done "
     "here"},
    {"QLinearMatMul", native_qlinear_matmul_form, NATIVE_ITEM_PRODUCT, 1,
     "known matrices, scales and zero points are done here"},
    {"QuantizeLinear", native_quantize_form, NATIVE_ITEM_QUANTIZE, 0, NULL},
    {"RMSNormalization", native_rms_form, NATIVE_ITEM_GROUP_NORM, 0,
     "a scale of the dims from an axis on, which is not the first, is done here"},
    {"ReduceMean", reduce_form, NATIVE_ITEM_REDUCE, 0, "dims beside each other are done here"},
    {"ReduceSum", reduce_form, NATIVE_ITEM_REDUCE, 0, "dims beside each other are done here"},
    {"Relu", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_CLIP, NULL},
    {"Resize", native_resize_form, NATIVE_ITEM_RESIZE, 0,
     "the pixels of images of float32 are resized here"},
    {"Selu", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_SELU, NULL},
    {"Shrink", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_SHRINK, NULL},
    {"Sigmoid", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_SIGMOID, NULL},
    {"Slice", strided_form, NATIVE_ITEM_STRIDED, 0, "up to 8 dims are done here"},
    {"Softmax", last_axis_form, NATIVE_ITEM_SOFTMAX, 0, "the last axis is done here"},
    {"SoftmaxCrossEntropyGrad", loss_grad_form, NATIVE_ITEM_LOSS_GRAD, 0,
     "the mean over one int64 label for each row, all of which count, is done here"},
    {"SoftmaxCrossEntropyLoss", loss_form, NATIVE_ITEM_LOSS, 0,
     "the mean over one int64 label for each row, all of which count, is done here"},
    {"Softplus", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_SOFTPLUS, NULL},
    {"Softsign", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_SOFTSIGN, NULL},
    {"Split", strided_form, NATIVE_ITEM_STRIDED, 0, "up to 8 dims and 8 outputs are done here"},
    {"Sqrt", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_SQRT, NULL},
    {"Sub", binary_form, NATIVE_ITEM_BINARY, NATIVE_SUB, ONE_IS_WHOLE},
    {"SumTo", sum_form, NATIVE_ITEM_SUM, 0,
     "axes of which the others lie beside each other are done here"},
    {"Swish", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_SWISH, NULL},
    {"Tanh", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_TANH, NULL},
    {"ThresholdedRelu", any_form, NATIVE_ITEM_ACT, NATIVE_ACT_THRESHOLD, NULL},
    {"Transpose", transpose_form, NATIVE_ITEM_TRANSPOSE, 0, "up to 6 dims are done here"},
    {"Where", select_form, NATIVE_ITEM_SELECT, 0, NULL},
};

static bool is_nbits(const native_form *form)
{
    return form->kind == NATIVE_ITEM_PRODUCT && form->sub == 3;
}

/* Of this domain of ours, "tfrun". */
static bool is_own(const native_form *form)
{
    const native_item_kind kind = form->kind;

    if (kind == NATIVE_ITEM_BATCH_NORM || kind == NATIVE_ITEM_CONV_GRAD_INPUT)
        return form->sub == 0;
    return kind == NATIVE_ITEM_SUM || kind == NATIVE_ITEM_SCATTER ||
           kind == NATIVE_ITEM_BATCH_NORM_GRAD || kind == NATIVE_ITEM_LOSS_GRAD ||
           kind == NATIVE_ITEM_CONV_GRAD_FILTER || kind == NATIVE_ITEM_LAYER_NORM_GRAD;
}

static const char *domain_of(const native_form *form)
{
    return is_nbits(form) ? "com.microsoft" : is_own(form) ? "tfrun" : "";
}

/* DequantizeLinear has two forms: with blocks, and without. */
static bool has_blocks(const native_form *form, const tfr_call *call)
{
    const native_item_kind kind = form->kind;
    return (kind != NATIVE_ITEM_BLOCKS && kind != NATIVE_ITEM_DEQUANTIZE) ||
           (kind == NATIVE_ITEM_BLOCKS) == (tfr_call_int(call, "block_size", 0) != 0);
}

const native_form *native_form_of(const tfr_call *call)
{
    size_t i;

    for (i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (forms[i].name[0] == call->name[0] && strcmp(forms[i].name, call->name) == 0 &&
            strcmp(domain_of(&forms[i]), call->domain) == 0 && has_blocks(&forms[i], call))
            return &forms[i];
    }
    return NULL;
}

/* Its form looks at the types of operands itself. */
static bool sees_types(const native_form *form)
{
    switch (form->kind) {
    case NATIVE_ITEM_PRODUCT:
        return is_nbits(form);
    case NATIVE_ITEM_BLOCKS:
    case NATIVE_ITEM_ATTENTION:
    case NATIVE_ITEM_PADDED:
    case NATIVE_ITEM_GATHER:
    case NATIVE_ITEM_CAST:
    case NATIVE_ITEM_COMPARE:
    case NATIVE_ITEM_SELECT:
    case NATIVE_ITEM_SUM:
    case NATIVE_ITEM_REDUCE:
    case NATIVE_ITEM_STRIDED:
    case NATIVE_ITEM_LAYER_NORM_GRAD:
    case NATIVE_ITEM_POOL:
    case NATIVE_ITEM_RESIZE:
    case NATIVE_ITEM_SCATTER:
    case NATIVE_ITEM_LOSS:
    case NATIVE_ITEM_BATCH_NORM:
    case NATIVE_ITEM_BATCH_NORM_GRAD:
    case NATIVE_ITEM_LOSS_GRAD:
    case NATIVE_ITEM_CONV_GRAD_INPUT:
    case NATIVE_ITEM_CONV_GRAD_FILTER:
    case NATIVE_ITEM_QUANTIZE:
    case NATIVE_ITEM_DEQUANTIZE:
    case NATIVE_ITEM_DYNAMIC_QUANTIZE:
        return true;
    default:
        return false;
    }
}

/* A CONV or PRODUCT of integers. */
static bool is_integer(const native_form *form)
{
    return form->sub > 0 && (form->kind == NATIVE_ITEM_CONV || form->kind == NATIVE_ITEM_PRODUCT);
}

const native_form *native_find_form(const tfr_call *call)
{
    const native_form *f = native_form_of(call);

    if (call->n_inputs > NATIVE_ITEM_INPUTS)
        return NULL;
    if (f && (sees_types(f) || is_integer(f) || all_float(call)) && f->ok(call))
        return f;
    f = native_find_fold(call);
    if (!f)
        f = native_find_arg(call);
    if (!f)
        f = native_find_top_k(call);
    if (!f)
        f = native_find_columns(call);
    return f ? f : native_find_elementwise(call);
}

bool native_is_native(const tfr_plugin_device *device, const tfr_call *call)
{
    return device->isa && native_find_any_form(call);
}

bool native_can_hold(const tfr_call *call, const char **why)
{
    uint32_t i;

    for (i = 0; i < call->n_outputs; i++) {
        const tfr_operand *o = tfr_call_output(call, i);
        if (o && (o->flags & TFR_OPERAND_DYNAMIC)) {
            *why = "the dims of an output are not known";
            return false;
        }
    }
    return true;
}
