/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_forms_window.c: which convolutions and pools items do, and which of their gradients: what
 * goes by windows, whose sizes and paddings are held to what the steps have.
 */
#include "program_forms.h"
#include "program_integer.h"

#include <string.h>

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

    if (!x || !y || x->rank != 4 || y->rank != 4 || !kernel || !native_fits(x) || !native_fits(y))
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

    if ((n != 1 && n != 3) || y->rank != x->rank || !kernel || !native_fits(x) || !native_fits(y) ||
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
    return k->rank == x->rank && native_fits(k) && tfr_operand_elements(k) > 0 &&
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
 * All inputs of each output, or of one input each, or groups. Groups of one input are depthwise, of
 * images with each channel as often as it has outputs, or vectors would be nearly all zeros.
 */
static bool group_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *k = tfr_call_input(call, 1);
    const int64_t group = tfr_call_int(call, "group", 1);

    if (group == 1 || (group == x->dims[1] && k->dims[0] == group && k->dims[1] == 1))
        return true;
    return group > 1 && k->dims[1] * group == x->dims[1] && k->dims[0] % group == 0 &&
           (k->dims[1] > 1 || (x->rank == 4 && tfr_operand_elements(x) > 0));
}

static bool lifted_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *k = tfr_call_input(call, 1);
    const tfr_operand *bias = tfr_call_input(call, 2);

    return (!bias || bias->data) && group_form(call) &&
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

bool native_conv_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *k = tfr_call_input(call, 1);
    double padded;

    if (x->rank != 4)
        return lifted_form(call);
    return k->rank == 4 && native_fits(k) &&
           window_form(call, k->dims + 2, x, tfr_call_output(call, 0), trims(call), &padded) &&
           padded * (double)outputs_of_each(call) < INT32_MAX / 2 && group_form(call);
}

/* Gradients of a convolution x * k = y. */
static bool conv_grad_form(const tfr_call *call, const tfr_operand *x, const tfr_operand *k,
                           const tfr_operand *y)
{
    double padded;

    return native_is_float(x) && native_is_float(k) && native_is_float(y) && x->rank == 4 &&
           k->rank == 4 && native_fits(k) && window_form(call, k->dims + 2, x, y, false, &padded) &&
           padded < INT32_MAX / 2;
}

static bool has_groups(const tfr_call *call)
{
    return tfr_call_int(call, "group", 1) != 1;
}

bool native_conv_grad_input_form(const tfr_call *call)
{
    return !has_groups(call) && conv_grad_form(call, tfr_call_output(call, 0),
                                               tfr_call_input(call, 1), tfr_call_input(call, 0));
}

/* Weights in groups are packed beforehand. */
static bool transpose_group_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *k = tfr_call_input(call, 1);
    const int64_t group = tfr_call_int(call, "group", 1);

    return group == 1 ||
           (group > 1 && k->data && k->rank > 1 && k->dims[1] > 0 && k->dims[0] == x->dims[1] &&
            x->dims[1] % group == 0 && tfr_operand_elements(x) > 0 && tfr_operand_elements(k) > 0);
}

/* Which is the gradient of what a convolution by the same weights reads. */
bool native_conv_transpose_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *k = tfr_call_input(call, 1);
    const tfr_operand *bias = tfr_call_input(call, 2), *y = tfr_call_output(call, 0);

    if (!native_all_float(call) || (bias && !bias->data) || !transpose_group_form(call))
        return false;
    if (x->rank == 3 || x->rank == 5)
        return lifted_conv(call, y, k, x);
    return conv_grad_form(call, y, k, x);
}

/* By known weights of 8 bits. */
static bool integer_conv_form(const tfr_call *call, const tfr_operand *w)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const int64_t group = tfr_call_int(call, "group", 1);
    double padded;

    return x->rank == 4 && w->rank == 4 && w->data && native_fits(w) &&
           tfr_operand_elements(w) > 0 && tfr_operand_elements(x) > 0 &&
           tfr_operand_elements(y) > 0 && window_form(call, w->dims + 2, x, y, false, &padded) &&
           tfr_operand_elements(w) / w->dims[0] <=
               (group > 1 && w->dims[1] == 1 ? NATIVE_INT8_MOST_TAPS : NATIVE_INTEGER_TERMS) &&
           (group == 1 || w->dims[1] > 1 || (group == x->dims[1] && w->dims[0] == group));
}

bool native_qlinear_conv_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *w = tfr_call_input(call, 3);
    const tfr_operand *bias = tfr_call_input(call, 8), *y = tfr_call_output(call, 0);

    return integer_conv_form(call, w) && (!bias || bias->data) &&
           native_known_quant(call, 1, x, 1) && native_known_quant(call, 4, w, w->dims[0]) &&
           native_known_quant(call, 6, y, 1);
}

bool native_conv_integer_form(const tfr_call *call)
{
    const tfr_operand *w = tfr_call_input(call, 1);

    return integer_conv_form(call, w) && native_has_integer_zeros(call, w->dims[0]);
}

bool native_conv_grad_filter_form(const tfr_call *call)
{
    return !has_groups(call) && conv_grad_form(call, tfr_call_input(call, 1),
                                               tfr_call_output(call, 0), tfr_call_input(call, 0));
}

/* Greatest bytes are found as they are, between ops of integers. */
static bool pools_type(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *indices = tfr_call_output(call, 1);

    if (x->dtype == TFR_DTYPE_U8 || x->dtype == TFR_DTYPE_I8)
        return !indices && call->name[0] == 'M' && tfr_operand_elements(x) > 0;
    return native_is_float(x) && native_is_float(tfr_call_output(call, 0));
}

bool native_pool_form(const tfr_call *call)
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
        return native_is_float(x) && !indices && lifted_windows(call, kernel, x, y);
    return (!indices || tfr_call_int(call, "storage_order", 0) == 0) &&
           window_form(call, kernel, x, y, false, &padded);
}

bool native_scatter_form(const tfr_call *call)
{
    const tfr_operand *dy = tfr_call_input(call, 0);

    return native_is_float(dy) && dy->rank == 4 && native_fits(tfr_call_output(call, 0));
}
