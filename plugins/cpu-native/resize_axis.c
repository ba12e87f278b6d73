/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize_axis.c: which elements of an axis an output of Resize takes, and what they weigh, in
 * double by the formulas of plugins/naive/resize.c. Taps of weight 0 are left out, for what they
 * would multiply may be infinite; an output that has fewer than the others gets its last one in
 * halves, which is the same sum.
 */
#include "resize_axis.h"

#include <math.h>
#include <string.h>

enum { MAX_TAPS = 256, MAX_LENGTH = 1 << 24 };

/* Entry i of input 2 or of attribute axes is about this axis; -1 = none is. */
static int64_t entry_of(const tfr_call *call, int axis, int rank)
{
    const tfr_attr *axes = tfr_call_attr(call, "axes");
    uint64_t i;

    if (!axes)
        return axis;
    for (i = 0; i < axes->n; i++) {
        if ((axes->ints[i] < 0 ? axes->ints[i] + rank : axes->ints[i]) == axis)
            return (int64_t)i;
    }
    return -1;
}

static bool is_given(const tfr_operand *o)
{
    return o && o->rank == 1 && o->dims[0] > 0;
}

/* False: it is not known yet. */
static bool find_scale(const tfr_call *call, int axis, double *scale)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const tfr_operand *scales = tfr_call_input(call, 2), *sizes = tfr_call_input(call, 3);
    const tfr_attr *given = tfr_call_attr(call, "scales");
    const int64_t entry = entry_of(call, axis, x->rank);

    *scale = (double)y->dims[axis] / (double)x->dims[axis];
    if (is_given(sizes))
        return true;
    if (is_given(scales) && scales->data && scales->dtype == TFR_DTYPE_F32) {
        if (entry >= 0 && entry < scales->dims[0])
            *scale = (double)((const float *)scales->data)[entry];
        return true;
    }
    if (!given || given->n != (uint64_t)x->rank)
        return false;
    *scale = (double)given->floats[axis];
    return true;
}

/* The taps left of the place, 0 or less: where the kernel begins. */
static double kernel_start(const native_resize_rule *r, double scale)
{
    const double radius = r->mode == NATIVE_RESIZE_CUBIC ? 2 : 1;

    return floor(-radius / (r->antialias ? fmin(scale, 1) : 1)) + 1;
}

const char *native_read_resize(const tfr_call *call, native_resize_rule *r)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const char *mode = tfr_call_string(call, "mode", "nearest");
    int d;

    r->mode = strcmp(mode, "linear") == 0  ? NATIVE_RESIZE_LINEAR
              : strcmp(mode, "cubic") == 0 ? NATIVE_RESIZE_CUBIC
                                           : NATIVE_RESIZE_NEAREST;
    r->nearest = tfr_call_string(call, "nearest_mode", "round_prefer_floor");
    r->transform = tfr_call_string(call, "coordinate_transformation_mode", "half_pixel");
    r->cubic_a = (double)tfr_call_float(call, "cubic_coeff_a", -0.75f);
    r->antialias = r->mode != NATIVE_RESIZE_NEAREST && tfr_call_int(call, "antialias", 0);
    r->exclude_outside = tfr_call_int(call, "exclude_outside", 0) != 0;
    if (strcmp(r->transform, "tf_crop_and_resize") == 0)
        return "coordinate_transformation_mode tf_crop_and_resize is not done here";
    if (is_given(tfr_call_input(call, 3)) &&
        strcmp(tfr_call_string(call, "keep_aspect_ratio_policy", "stretch"), "stretch") != 0)
        return "keep_aspect_ratio_policy is not done here";
    for (d = 0; d < x->rank; d++) {
        r->n[d] = x->dims[d];
        r->m[d] = y->dims[d];
        if (x->dims[d] < 1 || x->dims[d] > MAX_LENGTH || y->dims[d] > MAX_LENGTH)
            return "axes of 1 to 2^24 elements are done here";
        if (!find_scale(call, d, &r->scale[d]))
            return "scales are not known";
        if (!(r->scale[d] > 0) || 2 - 2 * kernel_start(r, r->scale[d]) > MAX_TAPS)
            return "scales of which an output takes at most 256 elements are done here";
    }
    return NULL;
}

bool native_resize_copies(const native_resize_rule *r, int axis)
{
    return r->scale[axis] == 1 && r->n[axis] == r->m[axis];
}

int native_resize_taps(const native_resize_rule *r, int axis)
{
    if (r->mode == NATIVE_RESIZE_NEAREST || native_resize_copies(r, axis))
        return 1;
    return (int)(2 - 2 * kernel_start(r, r->scale[axis]));
}

/* ---- weights of one output ---- */

static double keys(double v, double a)
{
    v = fabs(v);
    if (v <= 1)
        return ((a + 2) * v - (a + 3)) * v * v + 1;
    return v < 2 ? ((a * v - 5 * a) * v + 8 * a) * v - 4 * a : 0;
}

/* Does nearest take the second of the two elements around a place, ratio in (0, 1] past the first?
 */
static bool takes_second(const char *rule, double ratio)
{
    if (ratio == 1)
        return true;
    if (strcmp(rule, "round_prefer_floor") == 0)
        return ratio > 0.5;
    if (strcmp(rule, "round_prefer_ceil") == 0)
        return ratio >= 0.5;
    return strcmp(rule, "ceil") == 0;
}

static void normalize(double *w, int n)
{
    double sum = 0;
    int t;

    for (t = 0; t < n; t++)
        sum += w[t];
    for (t = 0; t < n && sum != 0; t++)
        w[t] /= sum;
}

/* The place in x of output o. */
static double place(const native_resize_rule *r, int axis, int64_t o)
{
    const double n = (double)r->n[axis], s = r->scale[axis], length = s * n, v = (double)o;

    if (strcmp(r->transform, "align_corners") == 0)
        return length == 1 ? 0 : v * (n - 1) / (length - 1);
    if (strcmp(r->transform, "asymmetric") == 0)
        return v / s;
    if (strcmp(r->transform, "pytorch_half_pixel") == 0 && r->m[axis] == 1)
        return 0;
    if (strcmp(r->transform, "half_pixel_symmetric") == 0)
        return n / 2 * (1 - (double)r->m[axis] / length) + (v + 0.5) / s - 0.5;
    return (v + 0.5) / s - 0.5;
}

static int32_t inside(int64_t at, int64_t n)
{
    return (int32_t)(at < 0 ? 0 : at >= n ? n - 1 : at);
}

/* The taps of output o that weigh something; returns how many. */
static int weigh(const native_resize_rule *r, int axis, int64_t o, int32_t *at, double *w)
{
    const double v = fmin(fmax(place(r, axis, o), -0x1p52), 0x1p52);
    const double low = ceil(v) - 1; /* a whole place is its element's right end: ratio 1, never 0 */
    const double ratio = v - low, start = kernel_start(r, r->scale[axis]);
    const double stretch = r->antialias ? fmin(r->scale[axis], 1) : 1;
    const int64_t n = r->n[axis], first = (int64_t)low + (int64_t)start;
    const int taps = (int)(2 - 2 * start);
    int t, count = 0;

    if (r->mode == NATIVE_RESIZE_NEAREST) {
        at[0] = inside(first + takes_second(r->nearest, ratio), n);
        w[0] = 1;
        return 1;
    }
    for (t = 0; t < taps; t++) {
        const double distance = (start + t - ratio) * stretch;
        w[t] = r->mode == NATIVE_RESIZE_CUBIC ? keys(distance, r->cubic_a)
                                              : fmax(1 - fabs(distance), 0);
    }
    if (r->antialias)
        normalize(w, taps);
    if (r->exclude_outside) {
        for (t = 0; t < taps; t++)
            if (first + t < 0 || first + t >= n)
                w[t] = 0;
        normalize(w, taps);
    }
    for (t = 0; t < taps; t++) {
        if (w[t] == 0)
            continue;
        at[count] = inside(first + t, n);
        w[count++] = w[t];
    }
    return count;
}

/* ---- maps ---- */

static bool add_map(native_build *b, native_axis_map *map, int64_t n, int64_t m, int taps)
{
    const size_t bytes = (size_t)(m * taps) * sizeof *map->at;

    map->n = n;
    map->m = m;
    map->taps = taps;
    map->at = native_add_block(b, 2 * bytes);
    if (!map->at)
        return false;
    map->weight = (float *)(void *)((char *)map->at + bytes);
    return true;
}

void native_map_whole(native_build *b, int64_t n, native_axis_map *map)
{
    int64_t o;

    map->copied = true;
    if (!add_map(b, map, n, n, 1))
        return;
    for (o = 0; o < n; o++) {
        map->at[o] = (int32_t)o;
        map->weight[o] = 1.0f;
    }
}

void native_map_axis(native_build *b, const native_resize_rule *r, int axis, native_axis_map *map)
{
    int32_t at[MAX_TAPS];
    double w[MAX_TAPS];
    int most = 1, t, n;
    int64_t o;

    if (native_resize_copies(r, axis)) {
        native_map_whole(b, r->n[axis], map);
        return;
    }
    map->copied = false;
    for (o = 0; o < r->m[axis]; o++) {
        n = weigh(r, axis, o, at, w);
        most = n > most ? n : most;
    }
    if (!add_map(b, map, r->n[axis], r->m[axis], most))
        return;
    for (o = 0; o < r->m[axis]; o++) {
        n = weigh(r, axis, o, at, w);
        if (n == 0) { /* weights that add up to nothing */
            at[n] = 0;
            w[n++] = 0;
        }
        for (; n < most; n++) {
            at[n] = at[n - 1];
            w[n] = w[n - 1] /= 2;
        }
        for (t = 0; t < most; t++) {
            map->at[o * most + t] = at[t];
            map->weight[o * most + t] = (float)w[t];
        }
    }
}

/* ---- pixels ---- */

size_t native_pixels_bytes(const native_axis_map *map, int lanes)
{
    const int64_t vectors = (map->m + lanes - 1) / lanes;

    return (size_t)(vectors * map->taps * (1 + 2 * lanes)) * sizeof *map->at;
}

/* One tap of a vector of outputs: where `reach` elements of the row begin that have all that they
 * take, or -1. */
static int32_t find_near(const native_axis_map *map, int64_t first, int tap, int lanes, int reach,
                         int32_t *lane, float *weight)
{
    const int32_t *at = map->at + first * map->taps + tap;
    int32_t low = (int32_t)(map->n - reach);
    int i;

    for (i = 0; i < lanes; i++)
        low = at[i * map->taps] < low ? at[i * map->taps] : low;
    for (i = 0; i < lanes; i++) {
        lane[i] = at[i * map->taps] - low;
        weight[i] = map->weight[(first + i) * map->taps + tap];
        if (low < 0 || lane[i] >= reach)
            return -1;
    }
    return low;
}

/* How many vectors of outputs have none. */
static int64_t find_all_near(const native_axis_map *map, int lanes, int reach, int32_t *at,
                             int32_t *lane, float *weight)
{
    const int64_t n = (map->m + lanes - 1) / lanes * map->taps;
    int64_t i, first, without = 0;
    int tap;

    for (i = 0; i < n; i += map->taps) {
        bool all = true;
        first = i / map->taps * lanes; /* the last vector may have some of the one before it */
        first = first < map->m - lanes ? first : map->m - lanes;
        for (tap = 0; tap < map->taps; tap++) {
            at[i + tap] = find_near(map, first, tap, lanes, reach, lane + (i + tap) * lanes,
                                    weight + (i + tap) * lanes);
            all = all && at[i + tap] >= 0;
        }
        at[i] = all ? at[i] : -1;
        without += !all;
    }
    return without;
}

void native_find_pixels(const native_axis_map *map, int lanes, void *memory, native_pixels *pixels)
{
    const int64_t n = (map->m + lanes - 1) / lanes * map->taps;
    int32_t *at = memory, *lane = at + n;
    float *weight = (float *)(void *)(lane + n * lanes);

    pixels->near_at = map->m < lanes ? NULL : at;
    pixels->near_lane = lane;
    pixels->near_weight = weight;
    pixels->near_wide = pixels->near_at && map->n >= 2 * lanes &&
                        find_all_near(map, lanes, lanes, at, lane, weight) > 0;
    if (pixels->near_at)
        find_all_near(map, lanes, pixels->near_wide ? 2 * lanes : lanes, at, lane, weight);
}
