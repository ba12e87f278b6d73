/* SPDX-License-Identifier: Apache-2.0 */
/* infer_pool.c: pools over windows, over whole images and over regions of interest. */
#include "op/infer_window.h"

static tfr_status check_p(tfr__infer *in, tfr_err *err)
{
    int64_t p = tfr__attr_int(in->attrs, "p", 2);
    if (p < 1)
        return tfr__infer_fail(in, err, TFR_EMODEL, "p is %lld, want at least 1", (long long)p);
    return TFR_OK;
}

tfr_status tfr__infer_pool(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    tfr__window window;
    tfr__dims y;
    TFR__TRY(tfr__want_rank_min(in, err, 0, 3));
    TFR__TRY(check_p(in, err));
    TFR__TRY(tfr__window_read(in, err, (uint32_t)x->rank - 2, NULL, &window));
    tfr__window_auto_pad(in, x->dims + 2, &window);
    tfr__dims_of(x, &y);
    bool ceil = tfr__attr_int(in->attrs, "ceil_mode", 0) != 0;
    TFR__TRY(tfr__window_slide(in, err, x->dims + 2, ceil, &window, y.d + 2));
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &y));
    TFR__TRY(tfr__out_dims(in, err, 1, TFR_DTYPE_I64, &y)); /* MaxPool's Indices */
    return tfr__window_write(in, err, &window);
}

tfr_status tfr__infer_global_pool(tfr__infer *in, tfr_err *err)
{
    tfr__dims y;
    TFR__TRY(tfr__want_rank_min(in, err, 0, 2));
    TFR__TRY(check_p(in, err));
    tfr__dims_of(tfr__in(in, 0), &y);
    for (int32_t i = 2; i < y.rank; i++)
        y.d[i] = 1;
    return tfr__out_dims(in, err, 0, tfr__in(in, 0)->dtype, &y);
}

tfr_status tfr__infer_max_unpool(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    tfr__window w;
    tfr__dims y, given;
    int64_t least = 0;
    TFR__TRY(tfr__want_rank_min(in, err, 0, 3));
    tfr__dims_of(x, &y);
    TFR__TRY(tfr__want_shape(in, err, 1, &y));
    TFR__TRY(tfr__window_read(in, err, (uint32_t)x->rank - 2, NULL, &w));
    for (uint32_t i = 0; i < w.n; i++) {
        int64_t *d = &y.d[i + 2], pads = w.begin[i] + w.end[i];
        if (*d < 0) {
            *d = tfr__dim_add(in, tfr__dim_mul(in, *d, w.stride[i]),
                              w.kernel[i] - pads - w.stride[i]);
            continue;
        }
        TFR__TRY(tfr__mul(in, err, "output dim", *d - 1, w.stride[i], d));
        TFR__TRY(tfr__add(in, err, "output dim", *d, w.kernel[i] - pads, d));
        least = *d < least ? *d : least;
    }
    if (tfr__in(in, 2)) {
        given.rank = y.rank;
        for (int32_t i = 0; i < y.rank; i++)
            given.d[i] = i < 2 || !tfr__is_symbolic(in) ? y.d[i] : tfr__new_dim(in);
        TFR__TRY(tfr__may_pend(in, tfr__value_dims(in, err, 2, NULL, &given)));
        if (given.rank != y.rank || tfr__differ(in, given.d[0], y.d[0]) ||
            tfr__differ(in, given.d[1], y.d[1]))
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "output_shape does not start with the %lld images and %lld "
                                   "channels of X, or has no rank of %d",
                                   (long long)y.d[0], (long long)y.d[1], (int)y.rank);
        y = given;
        least = 0;
        for (int32_t i = 2; i < y.rank && !tfr__is_symbolic(in); i++)
            least = y.d[i] < least ? y.d[i] : least;
    }
    if (least < 0)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "the output would have the dim %lld",
                               (long long)least);
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &y));
    return tfr__window_write(in, err, &w);
}

/* [regions, channels, height, width] from input 1 [regions, columns]. */
static tfr_status region_shape(tfr__infer *in, tfr_err *err, int64_t columns, int64_t height,
                               int64_t width)
{
    const tfr__type *x = tfr__in(in, 0), *rois = tfr__in(in, 1);
    TFR__TRY(tfr__want_rank(in, err, 0, 4));
    TFR__TRY(tfr__want_rank(in, err, 1, 2));
    if (tfr__differ(in, rois->dims[1], columns))
        return tfr__infer_fail(in, err, TFR_ESHAPE, "rois has %lld columns, want %lld",
                               (long long)rois->dims[1], (long long)columns);
    if (height < 1 || width < 1)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "the output would be %lld x %lld",
                               (long long)height, (long long)width);
    int64_t dims[4] = {rois->dims[0], x->dims[1], height, width};
    return tfr__out(in, err, 0, x->dtype, 4, dims);
}

tfr_status tfr__infer_max_roi_pool(tfr__infer *in, tfr_err *err)
{
    int64_t pooled[2];
    uint32_t n;
    TFR__TRY(tfr__attr_list_ints(in, err, "pooled_shape", pooled, 2, &n));
    if (n != 2)
        return tfr__infer_fail(in, err, TFR_EMODEL, "pooled_shape has %u values, want 2", n);
    return region_shape(in, err, 5, pooled[0], pooled[1]);
}

tfr_status tfr__infer_roi_align(tfr__infer *in, tfr_err *err)
{
    int64_t ratio = tfr__attr_int(in->attrs, "sampling_ratio", 0);
    if (ratio < 0 || ratio > INT32_MAX)
        return tfr__infer_fail(in, err, TFR_EMODEL, "sampling_ratio is %lld, want 0...%d",
                               (long long)ratio, INT32_MAX);
    TFR__TRY(region_shape(in, err, 4, tfr__attr_int(in->attrs, "output_height", 1),
                          tfr__attr_int(in->attrs, "output_width", 1)));
    return tfr__want_vector(in, err, 2, tfr__in(in, 1)->dims[0], "regions in rois");
}
