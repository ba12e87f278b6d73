/* SPDX-License-Identifier: Apache-2.0 */
/* moves.c: older forms of ops that ONNX has today under the same name, and what moves elements. */
#include "text.h"

#include <string.h>

static int32_t pad(contrib_text *t, tfr_err *err)
{
    (void)err;
    contrib_write(t,
                  "Y0 = Pad[mode=\"%.20s\"](data, Reshape(pads, {-1}), %s)\noutput = Identity(Y0)",
                  contrib_choice(t->call, "mode", "constant"),
                  contrib_has(t, 2) ? "Reshape(value, {})" : "_");
    return TFR_OK;
}

static int32_t range(contrib_text *t, tfr_err *err)
{
    (void)err;
    contrib_write(t, "s = Reshape(start, {})\nl = Reshape(limit, {})");
    if (contrib_has(t, 2))
        contrib_write(t, "d = Reshape(delta, {})");
    else
        contrib_write(t, "d = CastLike(1, s)");
    contrib_write(t, "Y = Range(s, l, d)");
    return TFR_OK;
}

static int32_t trilu(contrib_text *t, tfr_err *err)
{
    (void)err;
    contrib_write(t, "Y = Trilu[upper=%d](X, %s)", tfr_call_int(t->call, "upper", 1) != 0,
                  contrib_has(t, 1) ? "k" : "_");
    return TFR_OK;
}

static int32_t grid_sample(contrib_text *t, tfr_err *err)
{
    const char *mode = contrib_choice(t->call, "mode", "bilinear");
    (void)err;
    contrib_write(t,
                  "Y = GridSample[align_corners=%d,mode=\"%.20s\",padding_mode=\"%.20s\"](X, Grid)",
                  tfr_call_int(t->call, "align_corners", 0) != 0,
                  !strcmp(mode, "bilinear")  ? "linear"
                  : !strcmp(mode, "bicubic") ? "cubic"
                                             : mode,
                  contrib_choice(t->call, "padding_mode", "zeros"));
    return TFR_OK;
}

/* Slice i of the new axis begins at i * step. */
static int32_t unfold(contrib_text *t, tfr_err *err)
{
    const int64_t size = tfr_call_int(t->call, "size", 1), step = tfr_call_int(t->call, "step", 1);
    int64_t axis = tfr_call_int(t->call, "dim", -1);
    int32_t rank, status = contrib_need_rank(t, 0, &rank, err);
    char perm[64];
    size_t at = 0;
    if (status)
        return status;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank || size < 1 || step < 1)
        return tfr_fail(err, TFR_EMODEL,
                        "UnfoldTensor of rank %d with dim %lld, size %lld, step %lld", (int)rank,
                        (long long)axis, (long long)size, (long long)step);
    for (int32_t i = 0; i <= rank; i++) /* the axis of size goes to the end */
        at += (size_t)snprintf(perm + at, sizeof(perm) - at, "%c%d", i ? ',' : '{',
                               (int)(i == rank  ? axis + 1
                                     : i > axis ? i + 1
                                                : i));
    contrib_write(t,
                  "n = Shape[start=%lld,end=%lld](input)\n"
                  "m = Reshape(Add(Div(Sub(n, %lld), %lld), 1), {})\n"
                  "begins = Unsqueeze(Mul(Range(0, m, 1), %lld), {1})\n"
                  "g = Gather[axis=%lld](input, Add(begins, Unsqueeze(Range(0, %lld, 1), {0})))\n"
                  "output = Transpose[perm=%s}](g)",
                  (long long)axis, (long long)axis + 1, (long long)size, (long long)step,
                  (long long)step, (long long)axis, (long long)size, perm);
    return TFR_OK;
}

/*
 * Crops of images at boxes [y1 x1 y2 x2] in parts of the image, as GridSample sees them: -1 and 1
 * are the first and last pixel. What lies outside of the image is extrapolation_value.
 */
static int32_t crop_and_resize(contrib_text *t, tfr_err *err)
{
    const char *mode = tfr_call_string(t->call, "mode", "bilinear");
    const double outside = (double)tfr_call_float(t->call, "extrapolation_value", 0);
    (void)err;
    contrib_write(t, "y1, x1, y2, x2 = Split[axis=1,num_outputs=4](rois)\n"
                     "size = Cast[to=7](crop_size)\n"
                     "h = Gather(size, 0)\nw = Gather(size, 1)");
    for (int i = 0; i < 2; i++) {
        const char *n = i ? "w" : "h", *a = i ? "x1" : "y1", *b = i ? "x2" : "y2";
        /* one sample lies in the middle */
        contrib_write(t,
                      "%sr = CastLike(Unsqueeze(Range(0, %s, 1), {0}), rois)\n"
                      "%sd = CastLike(Max(Sub(%s, 1), 1), rois)\n"
                      "%sm = Add(%s, Div(Mul(Sub(%s, %s), %sr), %sd))\n"
                      "%so = Mul(Add(%s, %s), 0.5)\n"
                      "%sp = Where(Equal(%s, 1), %so, %sm)",
                      n, n, n, n, n, a, b, a, n, n, n, a, b, n, n, n, n);
    }
    if (!strcmp(mode, "nearest")) /* halves go up */
        contrib_write(t, "H = CastLike(Max(Sub(Shape[start=2,end=3](X), 1), 1), rois)\n"
                         "W = CastLike(Max(Sub(Shape[start=3,end=4](X), 1), 1), rois)\n"
                         "hq = Div(Floor(Add(Mul(hp, H), 0.5)), H)\n"
                         "wq = Div(Floor(Add(Mul(wp, W), 0.5)), W)");
    else
        contrib_write(t, "hq = Identity(hp)\nwq = Identity(wp)");
    contrib_write(t,
                  "k = Shape[start=0,end=1](rois)\n"
                  "full = Concat[axis=0](k, Unsqueeze(h, {0}), Unsqueeze(w, {0}))\n"
                  "gy = Expand(Unsqueeze(hq, {2}), full)\n"
                  "gx = Expand(Unsqueeze(wq, {1}), full)\n"
                  "grid = Concat[axis=3](Unsqueeze(Sub(Mul(gx, 2.0), 1.0), {3}), "
                  "Unsqueeze(Sub(Mul(gy, 2.0), 1.0), {3}))\n"
                  "s = GridSample[align_corners=1,padding_mode=\"border\",mode=\"%s\"](Gather(X, "
                  "batch_indices), grid)\n"
                  "iny = Unsqueeze(And(GreaterOrEqual(hp, 0.0), LessOrEqual(hp, 1.0)), {2})\n"
                  "inx = Unsqueeze(And(GreaterOrEqual(wp, 0.0), LessOrEqual(wp, 1.0)), {1})\n"
                  "Y = Where(Unsqueeze(And(iny, inx), {1}), s, %.9e)",
                  strcmp(mode, "nearest") ? "linear" : "nearest", outside);
    return TFR_OK;
}

#define ALL "u8|u16|u32|u64|i8|i16|i32|i64|f16|f32|f64|bf16|bool|string"

const contrib_written contrib_moves[] = {
    {CONTRIB_ROW("CropAndResize", "X:T1 rois:T1 batch_indices:T2 crop_size:T2", "Y:T1",
                 "extrapolation_value:f=0 mode:s=bilinear|nearest", "T1=f16|f32|f64 T2=i32"),
     .write = crop_and_resize},
    {CONTRIB_ROW("ExpandDims", "X:T axis:i32", "Y:T", NULL, "T=" ALL),
     .text = "Y = Unsqueeze(X, Reshape(Cast[to=7](axis), {1}))"},
    {CONTRIB_ROW("GatherND", "data:T indices:Tind", "output:T", NULL, "T=" ALL " Tind=i32|i64"),
     .text = "output = GatherND(data, Cast[to=7](indices))"},
    {CONTRIB_ROW("GridSample", "X:T1 Grid:T1", "Y:T1",
                 "align_corners:i=0 mode:s=bilinear|nearest|bicubic "
                 "padding_mode:s=zeros|border|reflection",
                 "T1=f16|f32|f64"),
     .write = grid_sample},
    {CONTRIB_ROW("Pad", "data:T pads:i64 value?:T", "output:T", "mode:s=constant|reflect|edge",
                 "T=f16|f32|f64"),
     .write = pad},
    {CONTRIB_ROW("Range", "start:T limit:T delta?:T", "Y:T", NULL, "T=f32|f64|i16|i32|i64"),
     .write = range},
    {CONTRIB_ROW("Trilu", "X:T k?:i64", "Y:T", "upper:i=1", "T=" ALL), .write = trilu},
    {CONTRIB_ROW("UnfoldTensor", "input:T", "output:T", "dim:i=-1 size:i! step:i=1", "T=" ALL),
     .write = unfold},
    {CONTRIB_ROW("Unique", "x:T", "y:T idx:i64 counts:i64", NULL, "T=" ALL),
     .text = "y, _, idx, counts = Unique[sorted=0](x)"},
    {.row = {.name = NULL}},
};
