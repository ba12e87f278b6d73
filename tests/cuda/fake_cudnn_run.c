/* SPDX-License-Identifier: Apache-2.0 */
/* The convolutions of the cuDNN stand-in, by plain loops with sums in double. */
#include <stdlib.h>

#include "cudnn_abi.h"
#include "fake_cudnn.h"

static int64_t count(const fake_tensor *t)
{
    return t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3];
}

/* The tensor as the CPU sees it, or NULL. */
static void *find(const tfr_cpu_launch *launch, const fake_tensor *t)
{
    size_t left, last = 0;
    for (int i = 0; i < 4; i++)
        last += (size_t)((t->dims[i] - 1) * t->strides[i]);
    void *at = launch->reach(launch->ctx, t->data, &left);
    return at && (last + 1) * fake_size(t->type) <= left ? at : NULL;
}

static size_t place(const fake_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (size_t)(a * t->strides[0] + b * t->strides[1] + c * t->strides[2] + d * t->strides[3]);
}

/* Where element a, b, c, d stands in a dense array. */
static size_t dense(const fake_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (size_t)(((a * t->dims[1] + b) * t->dims[2] + c) * t->dims[3] + d);
}

static double in(const fake_conv *conv, const void *p, const fake_tensor *t, size_t at)
{
    double v = fake_load(p, t->type, at);
    return conv->rounds && t->type == FAKE_F32 ? fake_round((float)v, 10) : v;
}

/* One product of the convolution, for the sum that is wanted. */
typedef struct fake_term {
    const fake_conv *conv;
    const void *x, *w, *y;
    double *sums;
} fake_term;

static void add_term(const fake_term *t, const int64_t y[4], const int64_t w[4], const int64_t x[4])
{
    const fake_conv *conv = t->conv;
    const size_t py = place(&conv->y, y[0], y[1], y[2], y[3]);
    const size_t pw = place(&conv->w, w[0], w[1], w[2], w[3]);
    const size_t px = place(&conv->x, x[0], x[1], x[2], x[3]);
    if (conv->kind == TFR_DNN_OP_CONV_FORWARD)
        t->sums[dense(&conv->y, y[0], y[1], y[2], y[3])] +=
            in(conv, t->x, &conv->x, px) * in(conv, t->w, &conv->w, pw);
    else if (conv->kind == TFR_DNN_OP_CONV_BACKWARD_DATA)
        t->sums[dense(&conv->x, x[0], x[1], x[2], x[3])] +=
            in(conv, t->y, &conv->y, py) * in(conv, t->w, &conv->w, pw);
    else
        t->sums[dense(&conv->w, w[0], w[1], w[2], w[3])] +=
            in(conv, t->y, &conv->y, py) * in(conv, t->x, &conv->x, px);
}

/* All terms of output element n, k, p, q. */
static void add_window(const fake_term *t, int64_t n, int64_t k, int64_t p, int64_t q)
{
    const fake_conv *conv = t->conv;
    const int64_t *filter = conv->w.dims;
    const int64_t group = k / (filter[0] / (conv->x.dims[1] / filter[1]));
    for (int64_t c = 0; c < filter[1]; c++)
        for (int64_t r = 0; r < filter[2]; r++)
            for (int64_t s = 0; s < filter[3]; s++) {
                const int64_t h = p * conv->stride[0] - conv->pad[0] + r * conv->dilation[0];
                const int64_t v = q * conv->stride[1] - conv->pad[1] + s * conv->dilation[1];
                if (h < 0 || h >= conv->x.dims[2] || v < 0 || v >= conv->x.dims[3])
                    continue;
                const int64_t y[] = {n, k, p, q}, x[] = {n, group * filter[1] + c, h, v};
                const int64_t w[] = {k, c, conv->flip ? filter[2] - 1 - r : r,
                                     conv->flip ? filter[3] - 1 - s : s};
                add_term(t, y, w, x);
            }
}

static void convolve(const fake_term *t)
{
    const int64_t *dims = t->conv->y.dims;
    for (int64_t n = 0; n < dims[0]; n++)
        for (int64_t k = 0; k < dims[1]; k++)
            for (int64_t p = 0; p < dims[2]; p++)
                for (int64_t q = 0; q < dims[3]; q++)
                    add_window(t, n, k, p, q);
}

/* An addend with a dimension of 1 is repeated along it. */
static double add(const void *p, const fake_tensor *t, const int64_t at[4])
{
    int64_t i[4];
    for (int d = 0; d < 4; d++)
        i[d] = t->dims[d] == 1 ? 0 : at[d];
    return fake_load(p, t->type, place(t, i[0], i[1], i[2], i[3]));
}

static double finish(const fake_conv *conv, void *const *addends, double v, const int64_t at[4])
{
    for (unsigned i = 0; i < conv->n_pointwise; i++) {
        if (conv->modes[i] == TFR_DNN_POINTWISE_ADD)
            v += add(addends[i], &conv->addends[i], at);
        else if (conv->modes[i] == TFR_DNN_POINTWISE_RELU_FORWARD)
            v = v > conv->ceilings[i] ? conv->ceilings[i] : v > 0 || isnan(v) ? v : 0;
    }
    return v;
}

static void write_out(const fake_conv *conv, const double *sums, void *out, void *const *addends)
{
    const fake_tensor *t = &conv->out;
    for (int64_t a = 0; a < t->dims[0]; a++)
        for (int64_t b = 0; b < t->dims[1]; b++)
            for (int64_t c = 0; c < t->dims[2]; c++)
                for (int64_t d = 0; d < t->dims[3]; d++) {
                    const int64_t at[] = {a, b, c, d};
                    const size_t to = place(t, a, b, c, d);
                    double v = conv->alpha * sums[dense(t, a, b, c, d)];
                    if (conv->beta != 0)
                        v += conv->beta * fake_load(out, t->type, to);
                    fake_store(out, t->type, to, finish(conv, addends, v, at));
                }
}

static unsigned run(const tfr_cpu_launch *launch)
{
    const fake_conv *conv = launch->args[0];
    fake_term t = {.conv = conv};
    void *addends[MAX_POINTWISE] = {NULL};
    size_t left;
    void *out = find(launch, &conv->out);
    bool good = out != NULL;
    if (conv->kind != TFR_DNN_OP_CONV_BACKWARD_DATA)
        good &= (t.x = find(launch, &conv->x)) != NULL;
    if (conv->kind != TFR_DNN_OP_CONV_BACKWARD_FILTER)
        good &= (t.w = find(launch, &conv->w)) != NULL;
    if (conv->kind != TFR_DNN_OP_CONV_FORWARD)
        good &= (t.y = find(launch, &conv->y)) != NULL;
    for (unsigned i = 0; i < conv->n_pointwise; i++)
        if (conv->modes[i] == TFR_DNN_POINTWISE_ADD)
            good &= (addends[i] = find(launch, &conv->addends[i])) != NULL;
    if (conv->workspace_bytes) {
        void *workspace = launch->reach(launch->ctx, conv->workspace, &left);
        good &= workspace && left >= conv->workspace_bytes;
        if (good)
            memset(workspace, 0xff, conv->workspace_bytes);
    }
    if (!good)
        return TFR_CU_ILLEGAL_ADDRESS;
    t.sums = calloc((size_t)count(&conv->out), sizeof *t.sums);
    if (!t.sums)
        return TFR_CU_OUT_OF_MEMORY;
    conv->spend(conv->ms);
    convolve(&t);
    write_out(conv, t.sums, out, addends);
    free(t.sums);
    return TFR_CU_SUCCESS;
}

static const unsigned conv_bytes[] = {sizeof(fake_conv)};
const tfr_cpu_kernel fake_conv_kernel = {"cudnnBackendExecute", run, 1, conv_bytes, 0, 0};
