/* SPDX-License-Identifier: Apache-2.0 */
/* gen_grow.c: single ops over values that are there, whatever their shape. */
#include <stdio.h>
#include <string.h>

#include "gen.h"

static int64_t elements(const tfr_shape *shape)
{
    int64_t n = 1;
    for (int32_t d = 0; d < shape->rank; d++)
        n *= shape->dims[d];
    return n;
}

static const tfr_shape scalar = {0};

int fuzz_adapt(fuzz_gen *g, int v, tfr_dtype dtype, const tfr_shape *shape)
{
    char values[40];
    const int64_t flat = -1, n = elements(shape), have = elements(fuzz_shape(g, v));
    if (fuzz_dtype(g, v) != dtype) {
        char to[24];
        snprintf(to, sizeof to, "to:i=%d", (int)dtype);
        v = fuzz_add1(g, "Cast", to, v);
    }
    if (v < 0 || have == 0)
        return -1;
    if (tfr_shape_equal(fuzz_shape(g, v), shape))
        return v;
    if (have == n && n > 0)
        return fuzz_add2(g, "Reshape", NULL, v, fuzz_new_ints(g, shape->dims, shape->rank));
    v = fuzz_add2(g, "Reshape", NULL, v, fuzz_new_ints(g, &flat, 1));
    snprintf(values, sizeof values, "0..%lld", (long long)have - 1);
    return v < 0 ? -1
                 : fuzz_add2(g, "Gather", NULL, v,
                             fuzz_new_constant(g, TFR_DTYPE_I64, shape, values));
}

/* ---- elements -------------------------------------------------------------------------------- */

static void unary(fuzz_gen *g)
{
    static const char *const ops[] = {
        "Abs",        "Neg",   "Relu",      "Sigmoid",     "Tanh",      "Exp",
        "Erf",        "Sqrt",  "Gelu",      "Elu",         "LeakyRelu", "Floor",
        "Ceil",       "Round", "Sign",      "Identity",    "Softplus",  "Log",
        "Reciprocal", "Selu",  "HardSwish", "HardSigmoid", "Mish",      "Swish",
        "Softsign",   "Sin",   "Cos",       "IsNaN",       "Celu",      "ThresholdedRelu",
        "Clip",       "Not"};
    fuzz_add1(g, ops[fuzz_below(g, 32)], NULL, fuzz_pick(g, fuzz_is_number_tensor));
}

/* Another operand for a: itself, a value of the same type, or a new one. */
static int partner(fuzz_gen *g, int a)
{
    int found[FUZZ_MAX_VALUES], n = 0;
    for (int i = 0; i < g->n_values; i++)
        if (tfr_tensor_kind(g->values[i].tensor) == TFR_KIND_TENSOR &&
            fuzz_dtype(g, i) == fuzz_dtype(g, a) &&
            tfr_shape_broadcast(fuzz_shape(g, i), fuzz_shape(g, a), &(tfr_shape){0}, NULL) == 0)
            found[n++] = i;
    if (n > 0 && fuzz_chance(g, 55))
        return found[fuzz_below(g, (uint64_t)n)];
    tfr_shape shape = fuzz_broadcast_shape(g, fuzz_shape(g, a));
    return fuzz_chance(g, 75) ? fuzz_new_constant(g, fuzz_dtype(g, a), &shape, NULL)
                              : fuzz_new_input(g, fuzz_dtype(g, a), &shape, NULL);
}

static void binary(fuzz_gen *g)
{
    static const char *const ops[] = {"Add", "Sub", "Mul",     "Div",  "Add",   "Mul", "Max",
                                      "Min", "Pow", "Greater", "Less", "Equal", "Mod", "PRelu"};
    int a = fuzz_pick(g, fuzz_is_number_tensor), b;
    if (a < 0)
        return;
    b = partner(g, a);
    if (fuzz_chance(g, 40)) {
        int other = a;
        a = b;
        b = other;
    }
    fuzz_add2(g, ops[fuzz_below(g, 14)], NULL, a, b);
}

static void variadic(fuzz_gen *g)
{
    static const char *const ops[] = {"Sum", "Max", "Min", "Mean"};
    int in[4], n = 1 + (int)fuzz_below(g, 4);
    in[0] = fuzz_pick(g, fuzz_is_float_tensor);
    if (in[0] < 0)
        return;
    for (int i = 1; i < n; i++)
        in[i] = partner(g, in[0]);
    fuzz_add(g, ops[fuzz_below(g, 4)], NULL, in, n, 1);
}

static void select(fuzz_gen *g)
{
    int in[3] = {-1, fuzz_pick(g, fuzz_is_number_tensor), -1};
    if (in[1] < 0)
        return;
    in[2] = partner(g, in[1]);
    in[0] = fuzz_chance(g, 50) ? fuzz_add2(g, "Less", NULL, in[1], in[2])
                               : fuzz_new_constant(g, TFR_DTYPE_BOOL, fuzz_shape(g, in[1]), NULL);
    fuzz_add(g, "Where", NULL, in, 3, 1);
}

static void clip(fuzz_gen *g)
{
    int in[3] = {fuzz_pick(g, fuzz_is_number_tensor), -1, -1};
    if (in[0] < 0)
        return;
    tfr_dtype dtype = fuzz_dtype(g, in[0]);
    if (fuzz_chance(g, 80))
        in[1] = fuzz_new_constant(g, dtype, &scalar, "0|1|0");
    if (fuzz_chance(g, 70))
        in[2] = fuzz_new_constant(g, dtype, &scalar, "1|2|6");
    fuzz_add(g, "Clip", NULL, in, 3, 1);
}

static void cast(fuzz_gen *g)
{
    static const int to[] = {1, 1, 10, 11, 16, 6, 7, 9, 2, 3, 12};
    char attrs[24];
    snprintf(attrs, sizeof attrs, "to:i=%d", to[fuzz_below(g, 11)]);
    fuzz_add1(g, "Cast", attrs, fuzz_pick(g, fuzz_is_number_tensor));
}

/* ---- moves ----------------------------------------------------------------------------------- */

static void transpose(fuzz_gen *g)
{
    char attrs[80];
    int64_t perm[TFR_MAX_RANK];
    int v = fuzz_pick(g, fuzz_is_number_tensor);
    if (v < 0)
        return;
    int rank = fuzz_shape(g, v)->rank;
    for (int d = 0; d < rank; d++) {
        int other = (int)fuzz_below(g, (uint64_t)d + 1);
        perm[d] = perm[other];
        perm[other] = d;
    }
    fuzz_add1(g, "Transpose",
              rank == 0 || fuzz_chance(g, 15)
                  ? NULL
                  : fuzz_list_attr(attrs, sizeof attrs, "perm", perm, rank),
              v);
}

static void reshape(fuzz_gen *g)
{
    int v = fuzz_pick(g, fuzz_is_number_tensor);
    if (v < 0)
        return;
    int64_t dims[TFR_MAX_RANK + 1], rest = elements(fuzz_shape(g, v));
    int n = 0, want = 1 + (int)fuzz_below(g, 4);
    for (int64_t f = 2; f <= 7 && n < want; f++)
        if (rest % f == 0 && rest > 0 && fuzz_chance(g, 60)) {
            dims[n++] = f;
            rest /= f;
        }
    dims[n++] = fuzz_chance(g, 50) ? -1 : rest;
    if (n > 1 && fuzz_chance(g, 50)) {
        int64_t swap = dims[0];
        dims[0] = dims[n - 1];
        dims[n - 1] = swap;
    }
    if (fuzz_shape(g, v)->rank > 0 && fuzz_chance(g, 15))
        dims[0] = 0;
    fuzz_add2(g, "Reshape", NULL, v, fuzz_new_ints(g, dims, n));
}

static void flatten(fuzz_gen *g)
{
    int v = fuzz_pick(g, fuzz_is_number_tensor);
    char attrs[24];
    if (v < 0)
        return;
    int rank = fuzz_shape(g, v)->rank;
    snprintf(attrs, sizeof attrs, "axis:i=%d", (int)fuzz_below(g, (uint64_t)(2 * rank + 1)) - rank);
    fuzz_add1(g, "Flatten", attrs, v);
}

static void squeeze(fuzz_gen *g)
{
    int v = fuzz_pick(g, fuzz_is_number_tensor);
    if (v < 0)
        return;
    const tfr_shape *shape = fuzz_shape(g, v);
    int64_t axes[TFR_MAX_RANK];
    int n = 0;
    if (fuzz_chance(g, 50)) {
        for (int32_t d = 0; d < shape->rank; d++)
            if (shape->dims[d] == 1 && fuzz_chance(g, 70))
                axes[n++] = fuzz_chance(g, 30) ? d - shape->rank : d;
        fuzz_add2(g, "Squeeze", NULL, v, fuzz_new_ints(g, axes, n));
        return;
    }
    axes[0] = (int64_t)fuzz_below(g, (uint64_t)shape->rank + 1);
    fuzz_add2(g, "Unsqueeze", NULL, v, fuzz_new_ints(g, axes, 1));
}

static void slice(fuzz_gen *g)
{
    int in[5] = {fuzz_pick(g, fuzz_is_number_tensor), -1, -1, -1, -1};
    if (in[0] < 0 || fuzz_shape(g, in[0])->rank == 0)
        return;
    const tfr_shape shape = *fuzz_shape(g, in[0]);
    static const int64_t far[] = {INT64_MAX, INT32_MAX, -1, INT64_MIN, 100};
    int64_t axis = (int64_t)fuzz_below(g, (uint64_t)shape.rank), dim = shape.dims[axis];
    int64_t begin = (int64_t)fuzz_below(g, (uint64_t)dim + 1) - (fuzz_chance(g, 20) ? dim : 0);
    int64_t end =
        fuzz_chance(g, 30) ? far[fuzz_below(g, 5)] : (int64_t)fuzz_below(g, (uint64_t)dim + 1);
    int64_t step = fuzz_chance(g, 70) ? 1 : (int64_t)fuzz_below(g, 5) - 2;
    if (step < 0 && end > dim) /* which is the other end */
        end = INT64_MIN;
    in[1] = fuzz_new_ints(g, &begin, 1);
    in[2] = fuzz_new_ints(g, &end, 1);
    in[3] = fuzz_new_ints(g, &axis, 1);
    if (step != 1)
        in[4] = fuzz_new_ints(g, &step, 1);
    fuzz_add(g, "Slice", NULL, in, 5, 1);
}

static void split(fuzz_gen *g)
{
    int in[2] = {fuzz_pick(g, fuzz_is_number_tensor), -1};
    char attrs[60];
    if (in[0] < 0 || fuzz_shape(g, in[0])->rank == 0)
        return;
    const tfr_shape shape = *fuzz_shape(g, in[0]);
    int axis = (int)fuzz_below(g, (uint64_t)shape.rank);
    int64_t dim = shape.dims[axis], parts[3];
    if (fuzz_chance(g, 40) && g->opset >= 18) {
        snprintf(attrs, sizeof attrs, "axis:i=%d num_outputs:i=2", axis);
        fuzz_add(g, "Split", attrs, in, 1, 2);
        return;
    }
    parts[0] = (int64_t)fuzz_below(g, (uint64_t)dim + 1);
    parts[1] = (int64_t)fuzz_below(g, (uint64_t)(dim - parts[0]) + 1);
    parts[2] = dim - parts[0] - parts[1];
    in[1] = fuzz_new_ints(g, parts, 3);
    snprintf(attrs, sizeof attrs, "axis:i=%d", axis - (fuzz_chance(g, 30) ? shape.rank : 0));
    fuzz_add(g, "Split", attrs, in, 2, 3);
}

static void concat(fuzz_gen *g)
{
    int in[5], n = 1 + (int)fuzz_below(g, 4);
    char attrs[24];
    in[0] = fuzz_pick(g, fuzz_is_number_tensor);
    if (in[0] < 0 || fuzz_shape(g, in[0])->rank == 0)
        return;
    tfr_shape shape = *fuzz_shape(g, in[0]);
    tfr_dtype dtype = fuzz_dtype(g, in[0]);
    int axis = (int)fuzz_below(g, (uint64_t)shape.rank);
    for (int i = 1; i < n; i++) {
        in[i] = in[fuzz_below(g, (uint64_t)i)];
        if (fuzz_chance(g, 60)) {
            tfr_shape other = shape;
            other.dims[axis] = (int64_t)fuzz_below(g, 5);
            in[i] = fuzz_new_constant(g, dtype, &other, NULL);
        }
    }
    snprintf(attrs, sizeof attrs, "axis:i=%d", axis - (fuzz_chance(g, 30) ? shape.rank : 0));
    fuzz_add(g, "Concat", attrs, in, n, 1);
}

static void gather(fuzz_gen *g)
{
    int v = fuzz_pick(g, fuzz_is_number_tensor);
    char attrs[24], values[48];
    if (v < 0 || fuzz_shape(g, v)->rank == 0)
        return;
    const tfr_shape shape = *fuzz_shape(g, v);
    int axis = (int)fuzz_below(g, (uint64_t)shape.rank);
    tfr_shape at = {.rank = (int32_t)fuzz_below(g, 3), .dims = {2, 3}};
    snprintf(attrs, sizeof attrs, "axis:i=%d", axis);
    snprintf(values, sizeof values, "%lld..%lld", -(long long)shape.dims[axis],
             (long long)shape.dims[axis] - 1);
    if (shape.dims[axis] > 0)
        fuzz_add2(g, "Gather", attrs, v, fuzz_new_constant(g, TFR_DTYPE_I64, &at, values));
}

static void pad(fuzz_gen *g)
{
    static const char *const modes[] = {"mode:s=constant", "mode:s=edge", "mode:s=reflect", NULL};
    int in[3] = {fuzz_pick(g, fuzz_is_number_tensor), -1, -1};
    if (in[0] < 0)
        return;
    int64_t pads[2 * TFR_MAX_RANK];
    int n = 2 * fuzz_shape(g, in[0])->rank;
    for (int i = 0; i < n; i++)
        pads[i] = fuzz_chance(g, 60) ? 0 : (int64_t)fuzz_below(g, 4) - 1;
    in[1] = fuzz_new_ints(g, pads, n);
    if (fuzz_chance(g, 30))
        in[2] = fuzz_new_constant(g, fuzz_dtype(g, in[0]), &scalar, NULL);
    fuzz_add(g, "Pad", modes[fuzz_below(g, 4)], in, 3, 1);
}

static void expand(fuzz_gen *g)
{
    int v = fuzz_pick(g, fuzz_is_number_tensor);
    if (v < 0)
        return;
    tfr_shape shape = *fuzz_shape(g, v);
    for (int32_t d = 0; d < shape.rank; d++)
        if (shape.dims[d] == 1)
            shape.dims[d] = 1 + (int64_t)fuzz_below(g, 3);
    bool tile = fuzz_chance(g, 30);
    for (int32_t d = 0; d < shape.rank && tile; d++)
        shape.dims[d] = 1 + fuzz_chance(g, 30);
    fuzz_add2(g, tile ? "Tile" : "Expand", NULL, v, fuzz_new_ints(g, shape.dims, shape.rank));
}

void fuzz_grow_op(fuzz_gen *g)
{
    static void (*const sources[])(fuzz_gen *) = {
        unary,          unary,          unary,          binary,         binary,
        binary,         variadic,       select,         clip,           cast,
        transpose,      reshape,        reshape,        flatten,        squeeze,
        slice,          split,          concat,         gather,         pad,
        expand,         fuzz_grow_rows, fuzz_grow_rows, fuzz_grow_rows, fuzz_grow_rows,
        fuzz_grow_rows, fuzz_grow_rows, fuzz_grow_rows, fuzz_grow_rows, fuzz_grow_rows,
        transpose};
    /* Something to begin with. */
    if (fuzz_pick(g, fuzz_is_number_tensor) < 0 || fuzz_chance(g, 8)) {
        static const tfr_dtype types[] = {TFR_DTYPE_F32, TFR_DTYPE_F32, TFR_DTYPE_F32,
                                          TFR_DTYPE_F32, TFR_DTYPE_F16, TFR_DTYPE_BF16,
                                          TFR_DTYPE_F64, TFR_DTYPE_I64, TFR_DTYPE_I32,
                                          TFR_DTYPE_U8,  TFR_DTYPE_I8};
        tfr_shape shape = {.rank = (int32_t)fuzz_below(g, 6)};
        for (int32_t d = 0; d < shape.rank; d++)
            shape.dims[d] = fuzz_chance(g, 3) ? 0 : 1 + (int64_t)fuzz_below(g, d > 2 ? 4 : 8);
        fuzz_new_input(g, types[fuzz_below(g, 11)], &shape, NULL);
    }
    sources[fuzz_below(g, sizeof sources / sizeof sources[0])](g);
}
