/* SPDX-License-Identifier: Apache-2.0 */
/* gen_rows.c: single ops over rows, matrices and images: reductions, products, windows, norms. */
#include <stdio.h>
#include <string.h>

#include "gen.h"

const char *fuzz_list_attr(char *text, size_t capacity, const char *name, const int64_t *ints,
                           int n)
{
    int at = snprintf(text, capacity, "%s:is=", name);
    for (int i = 0; i < n; i++)
        at +=
            snprintf(text + at, capacity - (size_t)at, "%s%lld", i ? "," : "", (long long)ints[i]);
    return text;
}

tfr_shape fuzz_broadcast_shape(fuzz_gen *g, const tfr_shape *shape)
{
    tfr_shape s = *shape;
    if (fuzz_chance(g, 20))
        return (tfr_shape){0};
    if (s.rank > 0 && fuzz_chance(g, 40)) {
        int32_t drop = (int32_t)fuzz_below(g, (uint64_t)s.rank + 1);
        s.rank -= drop;
        memmove(s.dims, s.dims + drop, (size_t)s.rank * sizeof *s.dims);
    }
    for (int32_t d = 0; d < s.rank; d++)
        if (fuzz_chance(g, 25))
            s.dims[d] = 1;
    if (s.rank < 5 && fuzz_chance(g, 8)) {
        memmove(s.dims + 1, s.dims, (size_t)s.rank * sizeof *s.dims);
        s.dims[0] = 1 + (int64_t)fuzz_below(g, 2);
        s.rank++;
    }
    return s;
}

static void reduce(fuzz_gen *g)
{
    static const char *const ops[] = {"ReduceSum", "ReduceMean",      "ReduceMax",
                                      "ReduceMin", "ReduceL2",        "ReduceProd",
                                      "ReduceL1",  "ReduceSumSquare", "ReduceLogSumExp"};
    int v = fuzz_pick(g, fuzz_is_number_tensor), axes = -1;
    if (v < 0)
        return;
    int rank = fuzz_shape(g, v)->rank;
    int64_t list_of[TFR_MAX_RANK];
    int n = 0;
    for (int d = 0; d < rank; d++)
        if (fuzz_chance(g, 40))
            list_of[n++] = fuzz_chance(g, 30) ? d - rank : d;
    if (fuzz_chance(g, 85))
        axes = fuzz_new_ints(g, list_of, n);
    int in[2] = {v, axes};
    fuzz_add(g, ops[fuzz_below(g, 9)], fuzz_chance(g, 50) ? "keepdims:i=0" : NULL, in, 2, 1);
}

static void along_axis(fuzz_gen *g)
{
    static const char *const ops[] = {"Softmax", "LogSoftmax", "ArgMax",         "ArgMin",
                                      "Softmax", "Hardmax",    "LpNormalization"};
    char attrs[24];
    int v = fuzz_pick(g, fuzz_is_float_tensor);
    if (v < 0 || fuzz_shape(g, v)->rank == 0)
        return;
    int rank = fuzz_shape(g, v)->rank;
    snprintf(attrs, sizeof attrs, "axis:i=%d", (int)fuzz_below(g, (uint64_t)(2 * rank)) - rank);
    fuzz_add1(g, ops[fuzz_below(g, 7)], attrs, v);
}

static void product(fuzz_gen *g)
{
    int v = fuzz_pick(g, fuzz_is_float_tensor);
    if (v < 0 || fuzz_shape(g, v)->rank == 0)
        return;
    const tfr_shape shape = *fuzz_shape(g, v);
    tfr_shape other = {.rank = 2,
                       .dims = {shape.dims[shape.rank - 1], 1 + (int64_t)fuzz_below(g, 20)}};
    if (shape.rank == 2 && fuzz_chance(g, 35)) {
        char attrs[80];
        int in[3] = {v, -1, -1};
        bool ta = fuzz_chance(g, 30), tb = fuzz_chance(g, 50);
        int64_t k = shape.dims[ta ? 0 : 1], m = shape.dims[ta ? 1 : 0], n = other.dims[1];
        other.dims[0] = tb ? n : k;
        other.dims[1] = tb ? k : n;
        tfr_shape bias = {.rank = 2, .dims = {m, n}};
        bias = fuzz_broadcast_shape(g, &bias);
        in[1] = fuzz_new_constant(g, fuzz_dtype(g, v), &other, NULL);
        if (fuzz_chance(g, 70) && bias.rank <= 2)
            in[2] = fuzz_new_constant(g, fuzz_dtype(g, v), &bias, NULL);
        snprintf(attrs, sizeof attrs, "transA:i=%d transB:i=%d alpha:f=%s beta:f=%s", ta, tb,
                 fuzz_chance(g, 70) ? "1" : "0.5",
                 fuzz_chance(g, 70)   ? "1"
                 : fuzz_chance(g, 50) ? "0"
                                      : "2");
        fuzz_add(g, "Gemm", attrs, in, 3, 1);
        return;
    }
    if (shape.rank > 2 && fuzz_chance(g, 20)) {
        other = shape;
        other.dims[shape.rank - 2] = shape.dims[shape.rank - 1];
    }
    int w = fuzz_chance(g, 80) ? fuzz_new_constant(g, fuzz_dtype(g, v), &other, NULL)
                               : fuzz_new_input(g, fuzz_dtype(g, v), &other, NULL);
    fuzz_add2(g, "MatMul", NULL, v, w);
}

static bool is_image(const tfr_tensor *t)
{
    const tfr_shape *s = tfr_tensor_shape(t);
    return fuzz_is_float_tensor(t) && s->rank >= 3 && s->rank <= 5 && s->dims[1] > 0;
}

static void window(fuzz_gen *g)
{
    static const char *const ops[] = {"MaxPool", "AveragePool", "LpPool", "MaxPool"};
    char attrs[200];
    int v = fuzz_pick(g, is_image), at = 0, rank;
    if (v < 0)
        return;
    rank = fuzz_shape(g, v)->rank - 2;
    int64_t k = 1 + (int64_t)fuzz_below(g, 3), s = 1 + (int64_t)fuzz_below(g, 2), p[6];
    for (int i = 0; i < 2 * rank; i++)
        p[i] = (int64_t)fuzz_below(g, (uint64_t)k);
    at += snprintf(attrs, sizeof attrs, "ceil_mode:i=%d kernel_shape:is=", fuzz_chance(g, 20));
    for (int i = 0; i < rank; i++)
        at += snprintf(attrs + at, sizeof attrs - (size_t)at, "%s%lld", i ? "," : "", (long long)k);
    at += snprintf(attrs + at, sizeof attrs - (size_t)at, " strides:is=");
    for (int i = 0; i < rank; i++)
        at += snprintf(attrs + at, sizeof attrs - (size_t)at, "%s%lld", i ? "," : "", (long long)s);
    if (fuzz_chance(g, 60)) {
        attrs[at++] = ' ';
        fuzz_list_attr(attrs + at, sizeof attrs - (size_t)at, "pads", p, 2 * rank);
    }
    fuzz_add1(g, ops[fuzz_below(g, 4)], attrs, v);
}

static void convolution(fuzz_gen *g)
{
    char attrs[120] = "";
    int in[3] = {fuzz_pick(g, is_image), -1, -1}, at, rank;
    if (in[0] < 0)
        return;
    const tfr_shape shape = *fuzz_shape(g, in[0]);
    rank = shape.rank - 2;
    int64_t groups = fuzz_chance(g, 25) ? shape.dims[1] : 1, p[6];
    tfr_shape w = shape;
    w.dims[0] = groups * (1 + (int64_t)fuzz_below(g, 4));
    w.dims[1] = shape.dims[1] / groups;
    for (int d = 0; d < rank; d++)
        w.dims[2 + d] = 1 + (int64_t)fuzz_below(g, 3);
    for (int i = 0; i < 2 * rank; i++)
        p[i] = (int64_t)fuzz_below(g, 3);
    at = snprintf(attrs, sizeof attrs, "group:i=%lld ", (long long)groups);
    fuzz_list_attr(attrs + at, sizeof attrs - (size_t)at, "pads", p, 2 * rank);
    bool turned = fuzz_chance(g, 15);
    if (turned) {
        w.dims[1] = w.dims[0] / groups;
        w.dims[0] = shape.dims[1];
    }
    in[1] = fuzz_new_constant(g, fuzz_dtype(g, in[0]), &w, NULL);
    if (fuzz_chance(g, 60)) {
        tfr_shape bias = {.rank = 1, .dims = {turned ? w.dims[1] * groups : w.dims[0]}};
        in[2] = fuzz_new_constant(g, fuzz_dtype(g, in[0]), &bias, NULL);
    }
    fuzz_add(g, turned ? "ConvTranspose" : "Conv", attrs, in, 3, 1);
}

static void normalize(fuzz_gen *g)
{
    char attrs[40];
    int in[5] = {fuzz_pick(g, is_image), -1, -1, -1, -1};
    if (in[0] < 0)
        return;
    tfr_dtype dtype = fuzz_dtype(g, in[0]);
    tfr_shape c = {.rank = 1, .dims = {fuzz_shape(g, in[0])->dims[1]}};
    for (int i = 1; i < 4; i++)
        in[i] = fuzz_new_constant(g, dtype, &c, NULL);
    in[4] = fuzz_new_constant(g, dtype, &c, "0.1..2");
    snprintf(attrs, sizeof attrs, "epsilon:f=%s", fuzz_chance(g, 50) ? "0.001" : "0.00001");
    if (fuzz_chance(g, 60))
        fuzz_add(g, "BatchNormalization", attrs, in, 5, 1);
    else
        fuzz_add(g, "InstanceNormalization", attrs, in, 3, 1);
}

static void top(fuzz_gen *g)
{
    char attrs[60];
    int v = fuzz_pick(g, fuzz_is_number_tensor);
    if (v < 0 || fuzz_shape(g, v)->rank == 0)
        return;
    const tfr_shape shape = *fuzz_shape(g, v);
    int64_t axis = (int64_t)fuzz_below(g, (uint64_t)shape.rank);
    int64_t k = (int64_t)fuzz_below(g, (uint64_t)shape.dims[axis] + 1);
    int in[2] = {v, fuzz_new_ints(g, &k, 1)};
    snprintf(attrs, sizeof attrs, "axis:i=%lld largest:i=%d sorted:i=1", (long long)axis,
             fuzz_chance(g, 50));
    fuzz_add(g, "TopK", attrs, in, 2, 2);
}

void fuzz_grow_rows(fuzz_gen *g)
{
    static void (*const sources[])(fuzz_gen *) = {reduce,    reduce, along_axis,  product,
                                                  product,   window, convolution, convolution,
                                                  normalize, top};
    sources[fuzz_below(g, sizeof sources / sizeof sources[0])](g);
}
