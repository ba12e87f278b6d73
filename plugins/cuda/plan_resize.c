/* SPDX-License-Identifier: Apache-2.0 */
/* plan_resize.c: launches of resize.cu. */
#include "plan_kit.h"

#include <math.h>
#include <string.h>

enum { MOST_TAPS = 256, MOST_LENGTH = 1 << 24 };

/* The number of a text in a list; -1 = it is not there. */
static int32_t number_of(const char *text, const char *const *list, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (strcmp(list[i], text) == 0)
            return i;
    return -1;
}

static bool read_rules(const tfr_call *call, tfr_resizing *r, tfr_answer *answer)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil"};
    static const char *const transforms[] = {"half_pixel",         "half_pixel_symmetric",
                                             "pytorch_half_pixel", "align_corners",
                                             "asymmetric",         "tf_crop_and_resize"};
    const tfr_operand *sizes = tfr_call_input(call, 3);

    r->mode = number_of(tfr_call_string(call, "mode", "nearest"), modes, 3);
    r->nearest = number_of(tfr_call_string(call, "nearest_mode", nearest[0]), nearest, 4);
    r->transform = number_of(tfr_call_string(call, "coordinate_transformation_mode", transforms[0]),
                             transforms, 6);
    r->antialias = r->mode != TFR_RESIZE_NEAREST && tfr_call_int(call, "antialias", 0);
    r->exclude_outside = tfr_call_int(call, "exclude_outside", 0) != 0;
    r->cubic_a = (double)tfr_call_float(call, "cubic_coeff_a", -0.75f);
    r->extrapolation = tfr_call_float(call, "extrapolation_value", 0);
    if (r->mode < 0 || r->nearest < 0 || r->transform < 0) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "a mode that is not known");
        return false;
    }
    /* the attribute scales has rounded what sizes say to a float */
    if (sizes && tfr_operand_elements(sizes) > 0 &&
        strcmp(tfr_call_string(call, "keep_aspect_ratio_policy", "stretch"), "stretch") != 0) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "keep_aspect_ratio_policy with sizes");
        return false;
    }
    return true;
}

/* The axis, and whether it is to be resized; -1, and a no. */
static int read_axis(const tfr_call *call, int32_t d, const tfr_resizing *r, tfr_resize_axis *a,
                     tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const tfr_operand *sizes = tfr_call_input(call, 3);
    const tfr_attr *scales = tfr_call_attr(call, "scales"), *roi = tfr_call_attr(call, "roi");
    double taps;

    *a = (tfr_resize_axis){.n = (int32_t)x->dims[d], .m = (int32_t)y->dims[d], .end = 1};
    a->scale = (double)a->m / (double)a->n;
    if (!(sizes && tfr_operand_elements(sizes) > 0)) {
        if (!scales || scales->n != (uint64_t)x->rank) {
            tfr_decline(answer, TFR_REASON_DYNAMIC_SHAPE, "scales are not known");
            return -1;
        }
        a->scale = (double)scales->floats[d];
    }
    if (r->transform == TFR_RESIZE_CROP) {
        if (!roi || roi->n != 2 * (uint64_t)x->rank) {
            tfr_decline(answer, TFR_REASON_DYNAMIC_SHAPE, "roi is not known");
            return -1;
        }
        a->begin = (double)roi->floats[d];
        a->end = (double)roi->floats[x->rank + d];
    }
    a->start = (int32_t)fmax(
        floor(-(r->mode == TFR_RESIZE_CUBIC ? 2 : 1) / (r->antialias ? fmin(a->scale, 1) : 1)) + 1,
        -MOST_LENGTH);
    taps = 2 - 2 * (double)a->start;
    if (!(a->scale > 0) || taps > MOST_TAPS || a->n > MOST_LENGTH || a->m > MOST_LENGTH) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "axis %d of %d to %d elements", d, a->n, a->m);
        return -1;
    }
    a->taps = (int32_t)taps;
    return !(a->scale == 1 && a->n == a->m && a->begin == 0 && a->end == 1);
}

/* The space of y: axes that are copied beside each other are one. */
static bool read_space(const tfr_call *call, tfr_resizing *r, tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int64_t strides[TFR_MAX_RANK], sizes[TFR_MAX_RANK];
    tfr_resize_axis a;

    cuda_dims_to_strides(x->rank, x->dims, strides);
    for (int32_t d = 0; d < x->rank; d++) {
        const int is_resized = read_axis(call, d, r, &a, answer);
        if (is_resized < 0)
            return false;
        if (is_resized && r->n_axes == TFR_RESIZE_AXES) {
            tfr_decline(answer, TFR_REASON_RANK, "more than %d axes are resized", TFR_RESIZE_AXES);
            return false;
        }
        if (!is_resized && r->rank && r->which[r->rank - 1] < 0) {
            sizes[r->rank - 1] *= a.m;
            r->strides[r->rank - 1] = (int32_t)strides[d];
            continue;
        }
        sizes[r->rank] = a.m;
        r->strides[r->rank] = (int32_t)strides[d];
        r->which[r->rank++] = is_resized ? r->n_axes : -1;
        if (is_resized) {
            a.stride = (int32_t)strides[d];
            r->axis[r->n_axes++] = a;
        }
    }
    for (int32_t d = 0; d < r->rank; d++)
        r->dims[d] = cuda_divisor(sizes[d]);
    return true;
}

/* Where each axis has its places and weights; false, and a no, if they are too many. */
static bool place_tables(tfr_resizing *r, bool moves, int64_t *n_weights, tfr_answer *answer)
{
    *n_weights = 0;
    for (int32_t k = 0; k < TFR_RESIZE_AXES; k++) {
        tfr_resize_axis *a = &r->axis[k];
        if (k >= r->n_axes) {
            *a = (tfr_resize_axis){.n = 1, .taps = 1};
            continue;
        }
        a->taps = moves ? 0 : a->taps;
        a->table = r->places;
        a->weights = (int32_t)*n_weights;
        r->places += a->m;
        *n_weights += (int64_t)a->m * a->taps;
        if (*n_weights > 1 << 28) {
            tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "%lld weights", (long long)*n_weights);
            return false;
        }
    }
    return true;
}

CUDA_FAMILY(cuda_resize)
{
    static const char *const moving[] = {"resize_nearest_8", "resize_nearest_16",
                                         "resize_nearest_32", "resize_nearest_64"};
    static cuda_names summing = {CUDA_FLOATS("resize_")};
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    tfr_resizing r = {.n = (int32_t)tfr_operand_elements(y)};
    const char *kernel;
    int64_t n_weights;
    uint32_t room;
    cuda_step *step;
    bool moves;
    int size;

    if (!cuda_call_fits(call, answer) || !read_rules(call, &r, answer))
        return;
    moves = r.mode == TFR_RESIZE_NEAREST && r.transform != TFR_RESIZE_CROP;
    size = moves ? cuda_size_index(x, answer) : 0;
    kernel = !moves ? cuda_pick(summing, x, 0, answer) : size < 0 ? NULL : moving[size];
    if (!kernel || r.n == 0)
        return;
    if (tfr_operand_elements(x) == 0) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "nothing can be resized");
        return;
    }
    if (!read_space(call, &r, answer) || !place_tables(&r, moves, &n_weights, answer))
        return;
    if (r.n_axes == 0) { /* a copy */
        moves = true;
        kernel = moving[cuda_size_index(x, answer)];
    }
    room = ((uint32_t)r.places * 4 + 15) / 16 * 16;
    answer->workspace_bytes = room + (uint64_t)n_weights * sizeof(float);
    if (r.n_axes) {
        step = cuda_plan_add(plan, "resize_axis", cuda_blocks(chip, r.places, 256), 256);
        cuda_step_workspace(plan, step, 0);
        cuda_step_workspace(plan, step, room);
        cuda_step_bytes(plan, step, &r, sizeof r);
    }
    step = cuda_plan_add(plan, kernel, cuda_blocks(chip, r.n, 256), 256);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_workspace(plan, step, 0);
    if (!moves)
        cuda_step_workspace(plan, step, room);
    cuda_step_bytes(plan, step, &r, sizeof r);
}
