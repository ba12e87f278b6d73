/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pad (ONNX 25). Negative pads crop x first; then, along each axis of M elements left,
 *
 *   y[i] = x[i - pad]     where that is inside, else
 *   constant  constant_value, or zero, false, ""
 *   edge      x[0] or x[M - 1]
 *   reflect   x mirrored at its first and last element, again and again; x[0] if M is 1
 *   wrap      x[(i - pad) mod M]
 *
 * CenterCropPad (ONNX 18): crops or pads with zero both sides of each of axes to dims shape; of an
 * odd difference the larger half is behind.
 *
 * The core puts Pad's pads of all axes into an attribute; without it inputs 1 and 3 are read. Both
 * copy elements of any type.
 */
#include "tensor.h"

#include <string.h>

enum pad_mode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP };

/* Along each axis: x's elements begin...begin + n - 1 stay, and start at `pad` in y. */
typedef struct frame {
    int64_t begin[TFR_MAX_RANK];
    int64_t n[TFR_MAX_RANK];
    int64_t pad[TFR_MAX_RANK];
} frame;

/* Crops (negative) or pads axis d of dims by before and after. */
static void frame_axis(frame *f, const int64_t *dims, int32_t d, int64_t before, int64_t after)
{
    f->begin[d] = before < 0 ? -before : 0;
    f->n[d] = dims[d] - f->begin[d] - (after < 0 ? -after : 0);
    f->pad[d] = before > 0 ? before : 0;
}

static enum pad_mode read_mode(const tfr_call *call)
{
    const char *mode = tfr_call_string(call, "mode", "constant");

    if (strcmp(mode, "edge") == 0)
        return PAD_EDGE;
    if (strcmp(mode, "reflect") == 0)
        return PAD_REFLECT;
    return strcmp(mode, "wrap") == 0 ? PAD_WRAP : PAD_CONSTANT;
}

/* i, outside [0, n) with n > 0, brought inside; -1 in constant mode. */
static int64_t bring_inside(int64_t i, int64_t n, enum pad_mode mode)
{
    int64_t period = mode == PAD_REFLECT ? 2 * (n - 1) : n;

    switch (mode) {
    case PAD_EDGE:
        return i < 0 ? 0 : n - 1;
    case PAD_REFLECT:
    case PAD_WRAP:
        if (period == 0)
            return 0;
        i %= period;
        if (i < 0)
            i += period;
        return i < n ? i : period - i;
    default:
        return -1;
    }
}

/* The element of x that position index of y takes, or -1 for the pad value. */
static int64_t source(const naive_tensor *x, const frame *f, const int64_t *index,
                      enum pad_mode mode)
{
    int64_t at = 0;
    int32_t d;

    for (d = 0; d < x->rank; d++) {
        int64_t i = index[d] - f->pad[d];
        if (i < 0 || i >= f->n[d])
            i = f->n[d] > 0 ? bring_inside(i, f->n[d], mode) : -1;
        if (i < 0)
            return -1;
        at = at * x->dims[d] + f->begin[d] + i;
    }
    return at;
}

static int32_t write_framed(const naive_tensor *x, const naive_tensor *y, const naive_tensor *value,
                            const frame *f, enum pad_mode mode, tfr_err *err)
{
    int32_t status = TFR_OK;
    int64_t i = 0;
    naive_iter it;

    for (naive_iter_init(&it, y->rank, y->dims); it.left > 0 && status == TFR_OK;
         naive_iter_next(&it), i++) {
        int64_t at = source(x, f, it.index, mode);
        if (at >= 0)
            status = naive_move(y, i, x, at, err);
        else if (mode != PAD_CONSTANT)
            return tfr_fail(err, TFR_EINVAL, "no element is left of the data to pad with");
        else
            status = value->n ? naive_move(y, i, value, 0, err) : naive_clear(y, i, err);
    }
    return status;
}

static int32_t run_pad(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), value = naive_input(k, launch, 2),
                 axes = naive_input(k, launch, 3), y = naive_output(k, launch, 0);
    naive_list pads = naive_list_of(k, launch, "pads", 1);
    int64_t i;
    int32_t d;
    frame f;

    for (d = 0; d < x.rank; d++)
        frame_axis(&f, x.dims, d, 0, 0);
    for (i = 0; i < pads.n / 2; i++)
        frame_axis(&f, x.dims,
                   naive_axis(axes.operand && !pads.ints ? naive_read_int(&axes, i) : i, x.rank),
                   naive_list_at(&pads, i), naive_list_at(&pads, pads.n / 2 + i));
    return write_framed(&x, &y, &value, &f, read_mode(&k->call), err);
}

static int32_t run_center_crop_pad(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0),
                 nothing = naive_tensor_of(NULL, NULL, NULL);
    int32_t d;
    frame f;

    for (d = 0; d < x.rank; d++) {
        int64_t more = y.dims[d] - x.dims[d];
        frame_axis(&f, x.dims, d, more / 2, more - more / 2);
    }
    return write_framed(&x, &y, &nothing, &f, PAD_CONSTANT, err);
}

const naive_op naive_pad_ops[] = {
    {.domain = "", .name = "CenterCropPad", .since_version = 18, .run = run_center_crop_pad},
    {.domain = "", .name = "Pad", .since_version = 25, .run = run_pad},
    {.name = NULL},
};
