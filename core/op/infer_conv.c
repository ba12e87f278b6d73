/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_conv.c: convolutions. X is [N, C, spatial...], W [M, C / group, kernel...]; transposed: W
 * is [C, M / group, kernel...].
 */
#include <string.h>

#include "op/infer_window.h"

/* Groups, which divide channels of X and M. */
static tfr_status read_groups(tfr__infer *in, tfr_err *err, int64_t *groups)
{
    *groups = tfr__attr_int(in->attrs, "group", 1);
    if (*groups < 1)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "group is %lld, want at least 1",
                               (long long)*groups);
    return TFR_OK;
}

static tfr_status check_channels(tfr__infer *in, tfr_err *err, const tfr__type *x,
                                 const tfr__type *w, int64_t groups)
{
    int64_t c = x->dims[1], m = w->dims[0];
    if (c >= 0 && (c % groups || tfr__differ(in, c / groups, w->dims[1])))
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "input W has %lld channels a group, X has %lld channels in %lld "
                               "groups (want %lld)",
                               (long long)w->dims[1], (long long)c, (long long)groups,
                               (long long)(c / groups));
    if (m >= 0 && m % groups)
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "input W has %lld output channels, no multiple of %lld groups",
                               (long long)m, (long long)groups);
    return TFR_OK;
}

/* Where the operands of the three plain convolutions are; 0 = the op has none. */
typedef struct conv_inputs {
    uint32_t w, bias, x_scalars[2], w_vectors[2], y_scalars[2];
} conv_inputs;

static conv_inputs find_inputs(const tfr__infer *in)
{
    if (strcmp(in->op->name, "QLinearConv") == 0)
        return (conv_inputs){3, 8, {1, 2}, {4, 5}, {6, 7}};
    if (strcmp(in->op->name, "ConvInteger") == 0)
        return (conv_inputs){1, 0, {2, 0}, {3, 0}, {0, 0}};
    return (conv_inputs){1, 2, {0, 0}, {0, 0}, {0, 0}};
}

/* Scales and zero points: one for X and Y, one or one for each output channel for W. */
static tfr_status check_quant(tfr__infer *in, tfr_err *err, const conv_inputs *at, int64_t m)
{
    for (int k = 0; k < 2; k++) {
        if (at->x_scalars[k])
            TFR__TRY(tfr__want_one(in, err, at->x_scalars[k]));
        if (at->y_scalars[k])
            TFR__TRY(tfr__want_one(in, err, at->y_scalars[k]));
        const tfr__type *t = at->w_vectors[k] ? tfr__in(in, at->w_vectors[k]) : NULL;
        if (t && (t->rank != 1 || tfr__differ(in, t->dims[0], m)))
            TFR__TRY(tfr__want_one(in, err, at->w_vectors[k]));
    }
    return TFR_OK;
}

tfr_status tfr__infer_conv(tfr__infer *in, tfr_err *err)
{
    conv_inputs at = find_inputs(in);
    const tfr__type *x = tfr__in(in, 0), *w = tfr__in(in, at.w);
    int64_t groups;
    tfr__window window;
    tfr__dims y;
    TFR__TRY(tfr__want_rank_min(in, err, 0, 3));
    TFR__TRY(tfr__want_rank(in, err, at.w, x->rank));
    TFR__TRY(read_groups(in, err, &groups));
    TFR__TRY(check_channels(in, err, x, w, groups));
    if (at.bias)
        TFR__TRY(tfr__want_vector(in, err, at.bias, w->dims[0], "output channels of W"));
    TFR__TRY(check_quant(in, err, &at, w->dims[0]));
    TFR__TRY(tfr__window_read(in, err, (uint32_t)x->rank - 2, w->dims + 2, &window));
    tfr__window_auto_pad(in, x->dims + 2, &window);
    y.rank = x->rank;
    y.d[0] = x->dims[0];
    y.d[1] = w->dims[0];
    TFR__TRY(tfr__window_slide(in, err, x->dims + 2, false, &window, y.d + 2));
    int32_t dtype = at.y_scalars[1] ? tfr__in(in, at.y_scalars[1])->dtype
                    : at.bias       ? x->dtype
                                    : TFR_DTYPE_I32;
    TFR__TRY(tfr__out_dims(in, err, 0, dtype, &y));
    return tfr__window_write(in, err, &window);
}

/*
 * The gradients of Conv and of the pools. Input 0 is dY, the last one the shape of what is made: of
 * W in ConvGradFilter, of X in the others. Input 1 is Conv's other operand or MaxPool's Indices.
 */
tfr_status tfr__infer_window_grad(tfr__infer *in, tfr_err *err)
{
    const bool conv = in->op->name[0] == 'C', filter = in->op->name[8] == 'F';
    const tfr__type *dy = tfr__in(in, 0);
    tfr__type made = {.kind = TFR_KIND_TENSOR, .dtype = dy->dtype};
    const tfr__type *x = filter ? tfr__in(in, 1) : &made, *w = filter ? &made : tfr__in(in, 1);
    int64_t groups, widest = 0;
    tfr__window window;
    tfr__dims shape, y;
    TFR__TRY(tfr__want_rank_min(in, err, 0, 3));
    TFR__TRY(tfr__value_dims(in, err, in->n_inputs - 1, "shape", &shape));
    for (int32_t i = 0; i < shape.rank; i++) {
        made.dims[i] = shape.d[i];
        widest = shape.d[i] > widest ? shape.d[i] : widest;
    }
    if (shape.rank != dy->rank || widest > INT64_MAX / 4)
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "shape has %d dims of up to %lld elements, dY has %d dims",
                               (int)shape.rank, (long long)widest, (int)dy->rank);
    y.rank = made.rank = dy->rank;
    if (conv) {
        TFR__TRY(tfr__want_rank(in, err, 1, dy->rank));
        TFR__TRY(read_groups(in, err, &groups));
        TFR__TRY(check_channels(in, err, x, w, groups));
    }
    TFR__TRY(tfr__window_read(in, err, (uint32_t)dy->rank - 2, conv ? w->dims + 2 : NULL, &window));
    tfr__window_auto_pad(in, x->dims + 2, &window);
    y.d[0] = x->dims[0];
    y.d[1] = conv ? w->dims[0] : x->dims[1];
    TFR__TRY(tfr__window_slide(in, err, x->dims + 2, tfr__attr_int(in->attrs, "ceil_mode", 0) != 0,
                               &window, y.d + 2));
    TFR__TRY(tfr__want_shape(in, err, 0, &y));
    if (!conv && in->n_inputs == 3) /* Indices */
        TFR__TRY(tfr__want_shape(in, err, 1, &y));
    TFR__TRY(tfr__out_dims(in, err, 0, dy->dtype, &shape));
    return tfr__window_write(in, err, &window);
}

/* The output length where not all is known and output_shape does not say it. */
static int64_t transposed_symbolic(const tfr__infer *in, int64_t dim, int64_t extra, uint32_t i,
                                   const tfr__window *w)
{
    const char *mode = tfr__attr_string(in->attrs, "auto_pad", "NOTSET");
    int64_t more = extra - w->stride[i], cut = w->begin[i] + w->end[i];
    if (mode[0] == 'S')
        return tfr__dim_of(in, tfr__number_mul(in->symbols, tfr__number_of_dim(dim),
                                               tfr__number_of(w->stride[i])));
    if (w->kernel[i] < 0)
        return tfr__new_dim(in);
    more += tfr__window_reach(w, i) - (mode[0] == 'V' ? 0 : cut);
    return tfr__dim_add(in, tfr__dim_mul(in, dim, w->stride[i]), more);
}

/*
 * One axis of ConvTranspose: its output length, and pads with output_padding folded in:
 * out = stride (in - 1) + reach - begin - end.
 */
static tfr_status transposed_axis(tfr__infer *in, tfr_err *err, int64_t dim, int64_t extra,
                                  int64_t want, uint32_t i, tfr__window *w, int64_t *out)
{
    const char *mode = tfr__attr_string(in->attrs, "auto_pad", "NOTSET");
    if (dim < 0 || w->kernel[i] < 0) {
        *out = want >= 0 ? want : transposed_symbolic(in, dim, extra, i, w);
        return TFR_OK;
    }
    /* dim is at most 2^31 and every number of the window less than that, so all this fits. */
    int64_t full = w->stride[i] * (dim - 1) + tfr__window_reach(w, i);
    if (want < 0 && mode[0] == 'S')
        want = dim * w->stride[i];
    if (want >= 0) {
        int64_t surplus = full + extra - want; /* full < 2^63 - 2^32, extra < 2^31 */
        int64_t cut = surplus > 0 ? surplus : 0;
        w->begin[i] = strcmp(mode, "SAME_UPPER") == 0 ? cut / 2 : cut - cut / 2;
        w->end[i] = full - want - w->begin[i];
        *out = want;
        return TFR_OK;
    }
    if (mode[0] == 'V')
        w->begin[i] = w->end[i] = 0;
    w->end[i] -= extra;
    *out = full - w->begin[i] - w->end[i];
    if (*out < 0)
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "pads take %lld from the %lld elements of spatial axis %u",
                               (long long)(w->begin[i] + w->end[i]), (long long)full, i);
    return TFR_OK;
}

/* A list of n numbers in [0, INT32_MAX], or all fill. */
static tfr_status read_sizes(tfr__infer *in, tfr_err *err, const char *name, uint32_t n,
                             int64_t fill, int64_t *out)
{
    uint32_t count;
    TFR__TRY(tfr__attr_list_ints(in, err, name, out, TFR__WINDOW_MAX, &count));
    bool given = tfr__attr_find(in->attrs, name) != NULL;
    if (given && count != n)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "attribute %s has %u values, want %u", name,
                               count, n);
    for (uint32_t i = 0; i < n; i++) {
        if (!given)
            out[i] = fill;
        else if (out[i] < 0 || out[i] > INT32_MAX)
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "attribute %s has %lld at %u, want 0...2^31", name,
                                   (long long)out[i], i);
    }
    return TFR_OK;
}

tfr_status tfr__infer_conv_transpose(tfr__infer *in, tfr_err *err)
{
    static const int64_t zeros[TFR__WINDOW_MAX];
    const tfr__type *x = tfr__in(in, 0), *w = tfr__in(in, 1);
    int64_t groups, extra[TFR__WINDOW_MAX], want[TFR__WINDOW_MAX];
    tfr__window window;
    tfr__dims y;
    TFR__TRY(tfr__want_rank_min(in, err, 0, 3));
    TFR__TRY(tfr__want_rank(in, err, 1, x->rank));
    TFR__TRY(read_groups(in, err, &groups));
    uint32_t n = (uint32_t)x->rank - 2;
    if (tfr__differ(in, x->dims[1], w->dims[0]) || (x->dims[1] >= 0 && x->dims[1] % groups))
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "input X has %lld channels, W has %lld, in %lld groups",
                               (long long)x->dims[1], (long long)w->dims[0], (long long)groups);
    TFR__TRY(tfr__window_read(in, err, n, w->dims + 2, &window));
    TFR__TRY(read_sizes(in, err, "output_padding", n, 0, extra));
    TFR__TRY(read_sizes(in, err, "output_shape", n, -1, want));
    y.rank = x->rank;
    y.d[0] = x->dims[0];
    TFR__TRY(tfr__mul_dims(in, err, "output channels", w->dims[1], groups, &y.d[1]));
    TFR__TRY(tfr__want_vector(in, err, 2, y.d[1], "output channels"));
    for (uint32_t i = 0; i < n; i++) {
        if (x->dims[i + 2] > INT64_C(1) << 31)
            return tfr__infer_fail(in, err, TFR_ELIMIT,
                                   "input X has %lld elements on spatial axis "
                                   "%u, the limit is 2^31",
                                   (long long)x->dims[i + 2], i);
        TFR__TRY(
            transposed_axis(in, err, x->dims[i + 2], extra[i], want[i], i, &window, &y.d[i + 2]));
    }
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &y));
    tfr__attr_remove(in->attrs, "output_shape");
    TFR__TRY(tfr__attr_set_ints(in->attrs, "output_padding", zeros, n, err));
    return tfr__window_write(in, err, &window);
}

tfr_status tfr__infer_deform_conv(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0), *w = tfr__in(in, 1);
    int64_t groups, offset_groups = tfr__attr_int(in->attrs, "offset_group", 1), taps;
    tfr__window window;
    tfr__dims y = {.rank = 4}, offset;
    TFR__TRY(tfr__want_rank(in, err, 0, 4));
    TFR__TRY(tfr__want_rank(in, err, 1, 4));
    TFR__TRY(read_groups(in, err, &groups));
    TFR__TRY(check_channels(in, err, x, w, groups));
    if (offset_groups < 1 || (x->dims[1] >= 0 && x->dims[1] % offset_groups))
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "offset_group is %lld, which does not divide %lld channels of X",
                               (long long)offset_groups, (long long)x->dims[1]);
    TFR__TRY(tfr__window_read(in, err, 2, w->dims + 2, &window));
    y.d[0] = x->dims[0];
    y.d[1] = w->dims[0];
    TFR__TRY(tfr__window_slide(in, err, x->dims + 2, false, &window, y.d + 2));
    TFR__TRY(tfr__want_vector(in, err, 3, w->dims[0], "output channels of W"));
    TFR__TRY(tfr__mul_dims(in, err, "taps", window.kernel[0], window.kernel[1], &taps));
    TFR__TRY(tfr__mul_dims(in, err, "taps", taps, offset_groups, &taps));
    offset = y;
    offset.d[1] = taps;
    TFR__TRY(tfr__want_shape(in, err, 4, &offset));
    TFR__TRY(tfr__mul_dims(in, err, "offsets", taps, 2, &offset.d[1]));
    TFR__TRY(tfr__want_shape(in, err, 2, &offset));
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &y));
    return tfr__window_write(in, err, &window);
}

tfr_status tfr__infer_causal_conv(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0), *w = tfr__in(in, 1);
    TFR__TRY(tfr__want_rank(in, err, 0, 3));
    TFR__TRY(tfr__want_rank(in, err, 1, 3));
    int64_t k = w->dims[2];
    tfr__dims weights = {.rank = 3, .d = {x->dims[1], 1, k}};
    tfr__dims state = {.rank = 3, .d = {x->dims[0], x->dims[1], k - 1}};
    if (k < 0)
        state.d[2] = tfr__dim_add(in, k, -1);
    if (k == 0)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "weight has an empty kernel");
    TFR__TRY(tfr__want_shape(in, err, 1, &weights));
    TFR__TRY(tfr__want_vector(in, err, 2, x->dims[1], "channels of input"));
    TFR__TRY(tfr__want_shape(in, err, 3, &state));
    TFR__TRY(tfr__out_like(in, err, 0, x->dtype, x));
    return tfr__out_dims(in, err, 1, x->dtype, &state);
}
