/* SPDX-License-Identifier: Apache-2.0 */
/* infer_image.c: ops on images and boxes: Resize, GridSample, AffineGrid, Col2Im, suppression. */
#include <math.h>
#include <string.h>

#include "op/infer_window.h"

/* ---- Resize ---- */

typedef struct resize {
    int64_t axes[TFR_MAX_RANK], sizes[TFR_MAX_RANK];
    double scales[TFR_MAX_RANK], roi[2 * TFR_MAX_RANK]; /* per entry of axes; roi: starts, ends */
    uint32_t n;
    bool has_sizes, crops;
} resize;

static bool is_given(const tfr__infer *in, uint32_t i)
{
    const tfr__type *t = tfr__in(in, i);
    return t && tfr__type_elements(t) > 0; /* models say "none" with an empty tensor, too */
}

static tfr_status read_resize(tfr__infer *in, tfr_err *err, resize *r)
{
    int32_t rank = tfr__in(in, 0)->rank;
    uint32_t n;
    for (uint32_t i = 1; i < 4; i++)
        if (is_given(in, i))
            TFR__TRY(tfr__want_rank(in, err, i, 1));
    TFR__TRY(tfr__attr_list_ints(in, err, "axes", r->axes, TFR_MAX_RANK, &r->n));
    if (!tfr__attr_find(in->attrs, "axes"))
        for (; r->n < (uint32_t)rank; r->n++)
            r->axes[r->n] = r->n;
    TFR__TRY(tfr__axes(in, err, "axes", r->axes, r->n, rank));
    r->has_sizes = is_given(in, 3);
    if (r->n && r->has_sizes == is_given(in, 2))
        return tfr__infer_fail(in, err, TFR_EMODEL, "scales or sizes is wanted, %s",
                               r->has_sizes ? "not both" : "none is given");
    if (r->has_sizes)
        TFR__TRY(tfr__value_ints(in, err, 3, r->sizes, TFR_MAX_RANK, &n));
    else if (r->n)
        TFR__TRY(tfr__value_floats(in, err, 2, r->scales, TFR_MAX_RANK, &n));
    else
        n = 0;
    if (n != r->n)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "%s has %u entries, want %u",
                               r->has_sizes ? "sizes" : "scales", n, r->n);
    const char *mode = tfr__attr_string(in->attrs, "coordinate_transformation_mode", "");
    r->crops = strcmp(mode, "tf_crop_and_resize") == 0;
    if (!r->crops)
        return TFR_OK;
    TFR__TRY(tfr__value_floats(in, err, 1, r->roi, 2 * TFR_MAX_RANK, &n));
    if (n != 2 * r->n)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "roi has %u entries, want %u", n, 2 * r->n);
    for (uint32_t i = 0; i < n; i++)
        if (!isfinite(r->roi[i]))
            return tfr__infer_fail(in, err, TFR_EMODEL, "roi has %g at %u", r->roi[i], i);
    return TFR_OK;
}

/* The whole elements of a length. */
static tfr_status to_dim(tfr__infer *in, tfr_err *err, double length, int64_t axis, int64_t *out)
{
    if (!(length >= 0 && length < 0x1p62))
        return tfr__infer_fail(in, err, TFR_ESHAPE, "axis %lld would have %g elements",
                               (long long)axis, length);
    *out = (int64_t)length;
    return TFR_OK;
}

static tfr_status resize_by_scales(tfr__infer *in, tfr_err *err, resize *r, tfr__dims *shape)
{
    for (uint32_t i = 0; i < r->n; i++) {
        int64_t *d = &shape->d[r->axes[i]];
        if (!(r->scales[i] > 0) || !isfinite(r->scales[i]))
            return tfr__infer_fail(in, err, TFR_ESHAPE, "scales has %g at %u, want more than 0",
                                   r->scales[i], i);
        if (r->scales[i] == 1 && !r->crops)
            continue; /* whatever the dim: single precision holds only those up to 2^24 */
        /* In single precision, as ONNX's own inference does: 10 * 0.7f is 7. */
        float length = (float)*d * (float)r->scales[i];
        if (r->crops)
            length = (float)*d * (float)(r->roi[r->n + i] - r->roi[i]) * (float)r->scales[i];
        TFR__TRY(to_dim(in, err, (double)length, r->axes[i], d));
    }
    return TFR_OK;
}

static tfr_status resize_to_sizes(tfr__infer *in, tfr_err *err, resize *r, tfr__dims *shape)
{
    const char *policy = tfr__attr_string(in->attrs, "keep_aspect_ratio_policy", "stretch");
    bool larger = strcmp(policy, "not_larger") == 0, keeps = policy[0] == 'n';
    double common = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        int64_t dim = shape->d[r->axes[i]], size = r->sizes[i];
        if (size < 0 || (dim == 0 && size))
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "sizes has %lld at %u, axis %lld of X has %lld elements",
                                   (long long)size, i, (long long)r->axes[i], (long long)dim);
        r->scales[i] = dim ? (double)size / (double)dim : 1;
        if (i == 0 || (larger ? r->scales[i] < common : r->scales[i] > common))
            common = r->scales[i];
    }
    for (uint32_t i = 0; i < r->n; i++) {
        int64_t *d = &shape->d[r->axes[i]];
        if (!keeps) {
            *d = r->sizes[i];
            continue;
        }
        r->scales[i] = common;
        TFR__TRY(to_dim(in, err, (double)*d * common + 0.5, r->axes[i], d));
    }
    return TFR_OK;
}

/*
 * Some axes have a known length afterwards: those that are not resized, and those that sizes sets.
 * Scales but 1 are multiplied in single precision, so they make no symbol.
 */
static tfr_status resize_symbolic(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0), *sizes = tfr__in(in, 3);
    const char *policy = tfr__attr_string(in->attrs, "keep_aspect_ratio_policy", "stretch");
    const char *mode = tfr__attr_string(in->attrs, "coordinate_transformation_mode", "");
    bool crops = strcmp(mode, "tf_crop_and_resize") == 0;
    int64_t axes[TFR_MAX_RANK];
    tfr__number want[TFR_MAX_RANK];
    double scales[TFR_MAX_RANK];
    uint32_t n, n_want = 0, n_scales = 0;
    tfr__dims shape;
    TFR__TRY(tfr__attr_list_ints(in, err, "axes", axes, TFR_MAX_RANK, &n));
    if (!tfr__attr_find(in->attrs, "axes"))
        for (; n < (uint32_t)x->rank; n++)
            axes[n] = n;
    TFR__TRY(tfr__axes(in, err, "axes", axes, n, x->rank));
    if (sizes)
        TFR__TRY(tfr__may_pend(in, tfr__value_numbers(in, err, 3, want, TFR_MAX_RANK, &n_want)));
    else if (tfr__in(in, 2))
        TFR__TRY(tfr__may_pend(in, tfr__value_floats(in, err, 2, scales, TFR_MAX_RANK, &n_scales)));
    tfr__dims_of(x, &shape);
    for (uint32_t i = 0; i < n; i++) {
        int64_t *d = &shape.d[axes[i]];
        if (n_want == n && *policy != 'n' && (want[i].what != TFR__KNOWN || want[i].v >= 0))
            *d = want[i].what == TFR__KNOWN ? want[i].v : tfr__dim_of_value(in, want[i]);
        else if (n_scales != n || scales[i] != 1 || crops)
            *d = tfr__new_dim(in);
    }
    return tfr__out_dims(in, err, 0, x->dtype, &shape);
}

/* Is all known that decides the shape? */
static bool resize_is_known(tfr__infer *in)
{
    const void *data;
    for (int32_t i = 0; i < tfr__in(in, 0)->rank; i++)
        if (tfr__in(in, 0)->dims[i] < 0)
            return false;
    for (uint32_t i = 1; i < 4; i++)
        if (tfr__in(in, i) && tfr__value_raw(in, NULL, i, &data))
            return false;
    return true;
}

tfr_status tfr__infer_resize(tfr__infer *in, tfr_err *err)
{
    if (tfr__is_symbolic(in) && !resize_is_known(in))
        return resize_symbolic(in, err);
    const tfr__type *x = tfr__in(in, 0);
    uint32_t rank = (uint32_t)x->rank;
    resize r = {.n = 0};
    tfr__dims shape;
    float scales[TFR_MAX_RANK], roi[2 * TFR_MAX_RANK];
    TFR__TRY(read_resize(in, err, &r));
    tfr__dims_of(x, &shape);
    TFR__TRY(r.has_sizes ? resize_to_sizes(in, err, &r, &shape)
                         : resize_by_scales(in, err, &r, &shape));
    for (uint32_t i = 0; i < rank; i++) {
        if (x->dims[i] == 0 && shape.d[i] != 0)
            return tfr__infer_fail(in, err, TFR_ESHAPE, "axis %u of X has no element to resize", i);
        scales[i] = 1;
        roi[i] = 0;
        roi[rank + i] = 1;
    }
    for (uint32_t i = 0; i < r.n; i++) {
        scales[r.axes[i]] = (float)r.scales[i];
        roi[r.axes[i]] = (float)r.roi[i];
        roi[rank + (uint32_t)r.axes[i]] = (float)r.roi[r.n + i];
    }
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &shape));
    TFR__TRY(tfr__attr_set_ints(in->attrs, "axes", r.axes, r.n, err));
    if (r.crops)
        TFR__TRY(tfr__attr_set_floats(in->attrs, "roi", roi, 2 * (uint64_t)rank, err));
    return tfr__attr_set_floats(in->attrs, "scales", scales, rank, err);
}

/* ---- sampling ---- */

tfr_status tfr__infer_grid_sample(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0), *grid = tfr__in(in, 1);
    tfr__dims shape;
    TFR__TRY(tfr__want_rank_min(in, err, 0, 3));
    TFR__TRY(tfr__want_rank(in, err, 1, x->rank));
    int32_t last = x->rank - 1;
    if (tfr__differ(in, grid->dims[0], x->dims[0]) ||
        tfr__differ(in, grid->dims[last], x->rank - 2))
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "grid has batch %lld and %lld coordinates, want %lld and %d",
                               (long long)grid->dims[0], (long long)grid->dims[last],
                               (long long)x->dims[0], (int)(x->rank - 2));
    tfr__dims_of(x, &shape);
    for (int32_t i = 2; i < x->rank; i++) {
        shape.d[i] = grid->dims[i - 1];
        if (x->dims[i] == 0)
            return tfr__infer_fail(in, err, TFR_ESHAPE, "axis %d of X has no element to sample",
                                   (int)i);
    }
    return tfr__out_dims(in, err, 0, x->dtype, &shape);
}

tfr_status tfr__infer_affine_grid(tfr__infer *in, tfr_err *err)
{
    const tfr__type *theta = tfr__in(in, 0);
    int64_t dims[5];
    tfr__dims given;
    TFR__TRY(tfr__want_rank(in, err, 0, 3));
    TFR__TRY(tfr__value_dims(in, err, 1, NULL, &given));
    const int64_t *size = given.d;
    uint32_t n = (uint32_t)given.rank;
    if (n != 4 && n != 5)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "size has %u entries, want 4 or 5", n);
    tfr__dims want = {.rank = 3, .d = {size[0], n - 2, n - 1}};
    TFR__TRY(tfr__want_shape(in, err, 0, &want));
    dims[0] = size[0];
    for (uint32_t i = 2; i < n; i++)
        dims[i - 1] = size[i];
    dims[n - 1] = n - 2;
    return tfr__out(in, err, 0, theta->dtype, (int32_t)n, dims); /* negative sizes fail there */
}

/* Rank and batch, and the image as far as it is known. */
static tfr_status col2im_symbolic(tfr__infer *in, tfr_err *err)
{
    tfr__dims image, shape = {.rank = 2, .d = {tfr__in(in, 0)->dims[0], tfr__new_dim(in)}};
    TFR__TRY(tfr__value_dims(in, err, 1, "image_shape", &image));
    for (int32_t i = 0; i < image.rank && shape.rank < TFR_MAX_RANK; i++)
        shape.d[shape.rank++] = image.d[i];
    return tfr__out_dims(in, err, 0, tfr__in(in, 0)->dtype, &shape);
}

tfr_status tfr__infer_col2im(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t image[TFR__WINDOW_MAX], block[TFR__WINDOW_MAX], positions[TFR__WINDOW_MAX];
    int64_t per_channel = 1, blocks = 1;
    uint32_t n, n_block;
    tfr__window w;
    TFR__TRY(tfr__want_rank(in, err, 0, 3));
    tfr_status status = tfr__value_ints(in, err, 1, image, TFR_MAX_RANK - 2, &n);
    if (!status)
        status = tfr__value_ints(in, err, 2, block, TFR_MAX_RANK - 2, &n_block);
    if (tfr__is_symbolic(in) && (status == TFR__EPENDING || x->dims[1] < 0 || x->dims[2] < 0))
        return col2im_symbolic(in, err);
    TFR__TRY(status);
    if (n != n_block)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "image_shape has %u dims, block_shape has %u",
                               n, n_block);
    tfr__dims shape = {.rank = 2 + (int32_t)n, .d = {x->dims[0]}};
    for (uint32_t i = 0; i < n; i++) {
        if (image[i] < 0)
            return tfr__infer_fail(in, err, TFR_ESHAPE, "image_shape has the negative dim %lld",
                                   (long long)image[i]);
        shape.d[i + 2] = image[i];
    }
    TFR__TRY(tfr__window_read(in, err, n, block, &w));
    TFR__TRY(tfr__window_slide(in, err, image, false, &w, positions));
    for (uint32_t i = 0; i < n; i++) {
        TFR__TRY(tfr__mul(in, err, "block", per_channel, block[i], &per_channel));
        TFR__TRY(tfr__mul(in, err, "number of blocks", blocks, positions[i], &blocks));
    }
    if (x->dims[1] % per_channel || x->dims[2] != blocks)
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "input has %lld rows and %lld columns, want a multiple of %lld (the "
                               "block) and %lld (the blocks)",
                               (long long)x->dims[1], (long long)x->dims[2], (long long)per_channel,
                               (long long)blocks);
    shape.d[1] = x->dims[1] / per_channel;
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &shape));
    return tfr__window_write(in, err, &w);
}

tfr_status tfr__infer_nms(tfr__infer *in, tfr_err *err)
{
    const tfr__type *boxes = tfr__in(in, 0), *scores = tfr__in(in, 1);
    int64_t most = 0, rows;
    TFR__TRY(tfr__want_rank(in, err, 0, 3));
    TFR__TRY(tfr__want_rank(in, err, 1, 3));
    if (tfr__differ(in, boxes->dims[0], scores->dims[0]) ||
        tfr__differ(in, boxes->dims[1], scores->dims[2]) || tfr__differ(in, boxes->dims[2], 4))
        return tfr__infer_fail(in, err, TFR_ESHAPE,
                               "boxes is [%lld,%lld,%lld] and scores is [%lld,%lld,%lld], want "
                               "[batch,boxes,4] and [batch,classes,boxes]",
                               (long long)boxes->dims[0], (long long)boxes->dims[1],
                               (long long)boxes->dims[2], (long long)scores->dims[0],
                               (long long)scores->dims[1], (long long)scores->dims[2]);
    TFR__TRY(tfr__want_one(in, err, 3));
    TFR__TRY(tfr__want_one(in, err, 4));
    int64_t center = tfr__attr_int(in->attrs, "center_point_box", 0);
    if (center != 0 && center != 1)
        return tfr__infer_fail(in, err, TFR_EMODEL, "center_point_box is %lld, want 0 or 1",
                               (long long)center);
    if (tfr__is_symbolic(in))
        return tfr__out(in, err, 0, TFR_DTYPE_I64, 2, (int64_t[]){tfr__new_dim(in), 3});
    if (tfr__in(in, 2))
        TFR__TRY(tfr__value_int(in, err, 2, &most));
    if (most < 0)
        most = 0;
    if (most > boxes->dims[1])
        most = boxes->dims[1];
    TFR__TRY(tfr__mul(in, err, "boxes", boxes->dims[0], scores->dims[1], &rows));
    TFR__TRY(tfr__mul(in, err, "boxes", rows, most, &rows));
    int64_t dims[2] = {rows, 3};
    TFR__TRY(tfr__out(in, err, 0, TFR_DTYPE_I64, 2, dims));
    tfr__out_dynamic(in, 0);
    return TFR_OK;
}

tfr_status tfr__infer_image_decoder(tfr__infer *in, tfr_err *err)
{
    return tfr__infer_fail(in, err, TFR_EUNSUPPORTED,
                           "the size of an encoded image is not known before the run");
}
