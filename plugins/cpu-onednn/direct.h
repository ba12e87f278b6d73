/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct.h: convolutions, dense layers and pools of our own on channels-last images, for compiled
 * programs. Not for kernels, whose operands are plain.
 *
 * An image is dense [h][w][c] float32. A convolution reads it in place: for each window tap a table
 * of offsets says where the row of ic floats for each position begins, or that it lies in the
 * padding. P positions times V vectors of output channels are summed in registers, so nothing is
 * copied, rearranged or stored between the taps; bias, residual, clamp and a max pool of disjoint
 * windows happen before the one store. (Dukhan, "The Indirect Convolution Algorithm", 2019, has
 * tables of pointers; offsets serve every image and thread.) A dense layer is an image of h rows,
 * w = 1, with a window of 1 x 1.
 *
 * Work of one call is a number of items; any range of them may run on any thread, and each output
 * is computed by one item in one order, so that the values do not depend on threads.
 */
#ifndef TFR_DNN_DIRECT_H
#define TFR_DNN_DIRECT_H

#include <stdint.h>
#include <tfrun/plugin.h>

/* The kernels of one instruction set. */
typedef struct tfr_dnn_isa tfr_dnn_isa;

/* The best one for a list of features as in tfr_host_cpu; the portable one at least. */
const tfr_dnn_isa *tfr_dnn_isa_pick(const char *features);
const char *tfr_dnn_isa_name(const tfr_dnn_isa *isa);
/* One by name ("avx512", "avx2", "portable"), or NULL if this build or processor has it not. */
const tfr_dnn_isa *tfr_dnn_isa_find(const char *name, const char *features);

typedef struct tfr_dnn_direct_shape {
    int64_t h, w, ic;       /* of one input image */
    int64_t oh, ow;         /* positions to compute, which may be fewer than the input allows */
    int64_t oc;             /* output channels */
    int64_t kh, kw;         /* window */
    int64_t sh, sw;         /* strides */
    int64_t dh, dw;         /* dilations, 1 = none */
    int64_t pt, pl;         /* padding at the top and left; the rest follows from oh and ow */
    int64_t pool_h, pool_w; /* max pool of window = stride behind the clamp; they divide oh and ow;
                               1 = none */
    int64_t groups;         /* 1, or ic == oc == groups: depthwise */
} tfr_dnn_direct_shape;

/* Offsets and choices for one shape. Read-only once made. */
typedef struct tfr_dnn_direct tfr_dnn_direct;

/* TFR_EUNSUPPORTED for images of 2^31 floats or windows of more than 8 positions to pool. */
int32_t tfr_dnn_direct_create(const tfr_dnn_isa *isa, const tfr_dnn_direct_shape *shape,
                              tfr_dnn_direct **out, tfr_err *err);
void tfr_dnn_direct_destroy(tfr_dnn_direct *d);

/*
 * Weights as the kernels read them. The packing depends on oc, ic, kh, kw, groups, the instruction
 * set and on pack_id alone, so that shapes with equal ones can share packed weights.
 */
uint64_t tfr_dnn_direct_packed_bytes(const tfr_dnn_direct *d);
uint32_t tfr_dnn_direct_pack_id(const tfr_dnn_direct *d);
/*
 * w[o * strides[0] + i * strides[1] + y * strides[2] + x * strides[3]]: ONNX's OIHW, Gemm's B in
 * both forms, or a dense layer over a channels-last image. bias (oc of them) may be NULL. packed is
 * aligned to 64.
 */
void tfr_dnn_direct_pack(const tfr_dnn_direct *d, const float *w, const int64_t strides[4],
                         const float *bias, float *packed);

/* y = pool(min(max(conv + bias + residual, low), high)); NaN stays NaN. */
typedef struct tfr_dnn_epilogue {
    float low, high;       /* -INFINITY, INFINITY = no clamp */
    const float *residual; /* image of oh * ow * oc, may be y itself; NULL = none, always with a
                              pool */
} tfr_dnn_epilogue;

/* Images that are worked on together, so that weights are read once for all. */
typedef struct tfr_dnn_batch {
    int64_t n;
    int64_t x_stride, y_stride, residual_stride; /* floats from image to image */
} tfr_dnn_batch;

/* Items of one call, whatever n is. */
int64_t tfr_dnn_direct_items(const tfr_dnn_direct *d);
/* Items [begin, end) of all images. batch NULL = one. Needs no memory. [any] */
void tfr_dnn_direct_run(const tfr_dnn_direct *d, const float *packed, const float *x, float *y,
                        const tfr_dnn_epilogue *epilogue, const tfr_dnn_batch *batch, int64_t begin,
                        int64_t end);

/* ---- pools ---- */

typedef enum tfr_dnn_pool_kind {
    TFR_DNN_POOL_MAX,
    TFR_DNN_POOL_AVERAGE,       /* of the positions inside the image */
    TFR_DNN_POOL_AVERAGE_PADDED /* of the whole window, zeros outside */
} tfr_dnn_pool_kind;

/*
 * Pools one image; shape has oc = ic, pool_h and pool_w do not count. Rows [begin, end) of oh. The
 * maximum of a window that has no position inside is -INFINITY, of one with a NaN it is NaN.
 */
void tfr_dnn_direct_pool(const tfr_dnn_isa *isa, const tfr_dnn_direct_shape *shape,
                         tfr_dnn_pool_kind kind, const float *x, float *y, int64_t begin,
                         int64_t end);

#endif
