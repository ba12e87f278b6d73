/* SPDX-License-Identifier: Apache-2.0 */
/* infer_generate.c: ops that make tensors: constants, ranges, random numbers, windows, filters. */
#include <math.h>
#include <string.h>

#include "op/infer_kit.h"

/* ---- constants ---- */

/* The forms that a Constant may have beside "value". */
static const struct {
    const char *name;
    int32_t dtype;
    int32_t rank;
} constant_forms[] = {
    {"value_float", TFR_DTYPE_F32, 0},     {"value_floats", TFR_DTYPE_F32, 1},
    {"value_int", TFR_DTYPE_I64, 0},       {"value_ints", TFR_DTYPE_I64, 1},
    {"value_string", TFR_DTYPE_STRING, 0}, {"value_strings", TFR_DTYPE_STRING, 1},
};

enum { N_FORMS = sizeof(constant_forms) / sizeof(constant_forms[0]) };

tfr_status tfr__infer_constant(tfr__infer *in, tfr_err *err)
{
    if (in->attrs->n != 1)
        return tfr__infer_fail(in, err, TFR_EMODEL, "%u values are given, want one", in->attrs->n);
    for (int i = 0; i < N_FORMS; i++) {
        const tfr__attr *a = tfr__attr_find(in->attrs, constant_forms[i].name);
        if (!a)
            continue;
        int64_t n = (int64_t)a->pub.n;
        const void *data = constant_forms[i].dtype == TFR_DTYPE_F32   ? (const void *)a->pub.floats
                           : constant_forms[i].dtype == TFR_DTYPE_I64 ? (const void *)a->pub.ints
                                                                      : a->pub.strings;
        tfr_operand t = {.size = (uint32_t)sizeof(t),
                         .dtype = constant_forms[i].dtype,
                         .rank = constant_forms[i].rank,
                         .dims = &n,
                         .data = data};
        TFR__TRY(tfr__attr_set_tensor(in->attrs, "value", &t, err));
        tfr__attr_remove(in->attrs, constant_forms[i].name);
        break;
    }
    const tfr_operand *value = tfr__attr_find(in->attrs, "value")->pub.tensor;
    return tfr__out(in, err, 0, value->dtype, value->rank, value->dims);
}

tfr_status tfr__infer_constant_of_shape(tfr__infer *in, tfr_err *err)
{
    static const float zero = 0;
    static const int64_t one = 1;
    tfr__dims shape = {.rank = -1};
    TFR__TRY(tfr__want_rank(in, err, 0, 1));
    TFR__TRY(tfr__may_pend(in, tfr__value_dims(in, err, 0, NULL, &shape)));
    const tfr__attr *value = tfr__attr_find(in->attrs, "value");
    if (value && tfr_operand_elements(value->pub.tensor) != 1)
        return tfr__infer_fail(in, err, TFR_EMODEL, "value has %lld elements, want 1",
                               (long long)tfr_operand_elements(value->pub.tensor));
    TFR__TRY(tfr__out_dims(in, err, 0, value ? value->pub.tensor->dtype : TFR_DTYPE_F32, &shape));
    tfr_operand t = {.size = (uint32_t)sizeof(t),
                     .dtype = TFR_DTYPE_F32,
                     .rank = 1,
                     .dims = &one,
                     .data = &zero};
    return value ? TFR_OK : tfr__attr_set_tensor(in->attrs, "value", &t, err);
}

/* ---- Range ---- */

/* Steps from start to limit, exactly; false if they do not fit. */
static bool count_ints(int64_t start, int64_t limit, int64_t delta, int64_t *n)
{
    uint64_t way = 0, step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    if (delta > 0 && limit > start)
        way = (uint64_t)limit - (uint64_t)start;
    if (delta < 0 && limit < start)
        way = (uint64_t)start - (uint64_t)limit;
    uint64_t count = way ? (way - 1) / step + 1 : 0;
    *n = (int64_t)(count & INT64_MAX);
    return count <= (uint64_t)INT64_MAX;
}

/* From 0 to a dim by 1 there are as many; of others nothing is known. */
static tfr_status range_symbolic(tfr__infer *in, tfr_err *err)
{
    tfr__number v[3] = {{TFR__UNKNOWN, 0}};
    int32_t dtype = tfr__in(in, 0)->dtype;
    bool counts = dtype == TFR_DTYPE_I32 || dtype == TFR_DTYPE_I64;
    for (uint32_t i = 0; counts && i < 3; i++)
        TFR__TRY(tfr__value_number(in, err, i, &v[i]));
    counts = v[0].what == TFR__KNOWN && v[0].v == 0 && v[2].what == TFR__KNOWN && v[2].v == 1;
    int64_t n = counts ? tfr__dim_of_value(in, v[1]) : tfr__new_dim(in);
    return tfr__out(in, err, 0, dtype, 1, &n);
}

tfr_status tfr__infer_range(tfr__infer *in, tfr_err *err)
{
    int32_t dtype = tfr__in(in, 0)->dtype;
    int64_t v[3] = {0}, n;
    double f[3];
    uint32_t one;
    TFR__TRY(tfr__need_dtype(in, 0));
    bool is_int = dtype == TFR_DTYPE_I16 || dtype == TFR_DTYPE_I32 || dtype == TFR_DTYPE_I64;
    for (uint32_t i = 0; i < 3; i++) {
        TFR__TRY(tfr__want_one(in, err, i));
        tfr_status status = is_int ? tfr__value_int(in, err, i, &v[i])
                                   : tfr__value_floats(in, err, i, &f[i], 1, &one);
        if (status == TFR__EPENDING && tfr__is_symbolic(in))
            return range_symbolic(in, err);
        TFR__TRY(status);
    }
    if (is_int) {
        if (v[2] == 0 || !count_ints(v[0], v[1], v[2], &n))
            return tfr__infer_fail(in, err, TFR_ESHAPE, "from %lld to %lld by %lld has no end",
                                   (long long)v[0], (long long)v[1], (long long)v[2]);
    } else {
        /* The difference has the precision of the type, the quotient that of double, as in ONNX. */
        double way = dtype == TFR_DTYPE_F64 ? f[1] - f[0] : (double)(float)(f[1] - f[0]);
        double count = ceil(way / f[2]);
        if (!(count < 0x1p53) || !isfinite(f[0]) || !isfinite(f[2]))
            return tfr__infer_fail(in, err, TFR_ESHAPE, "from %g to %g by %g has no end", f[0],
                                   f[1], f[2]);
        n = count > 0 ? (int64_t)count : 0;
    }
    return tfr__out(in, err, 0, dtype, 1, &n);
}

/* ---- random numbers ---- */

/* The attribute dtype, or that of input 0; filled in. */
static tfr_status fill_dtype(tfr__infer *in, tfr_err *err, int32_t *dtype)
{
    if (!tfr__attr_find(in->attrs, "dtype"))
        TFR__TRY(tfr__need_dtype(in, 0));
    TFR__TRY(tfr__dtype_attr(in, err, "dtype", tfr__in(in, 0)->dtype, dtype));
    return tfr__attr_set_int(in->attrs, "dtype", *dtype, err);
}

tfr_status tfr__infer_random(tfr__infer *in, tfr_err *err)
{
    tfr__dims shape;
    uint32_t n;
    int32_t dtype;
    TFR__TRY(tfr__attr_list_ints(in, err, "shape", shape.d, TFR_MAX_RANK, &n));
    shape.rank = (int32_t)n;
    for (uint32_t i = 0; i < n; i++)
        if (shape.d[i] < 0 && tfr__is_symbolic(in))
            return tfr__infer_fail(in, err, TFR_ESHAPE, "shape has the negative dim %lld at %u",
                                   (long long)shape.d[i], i);
    TFR__TRY(tfr__dtype_attr(in, err, "dtype", TFR_DTYPE_F32, &dtype));
    return tfr__out_dims(in, err, 0, dtype, &shape);
}

tfr_status tfr__infer_random_like(tfr__infer *in, tfr_err *err)
{
    int32_t dtype;
    TFR__TRY(fill_dtype(in, err, &dtype));
    return tfr__out_like(in, err, 0, dtype, tfr__in(in, 0));
}

tfr_status tfr__infer_bernoulli(tfr__infer *in, tfr_err *err)
{
    return tfr__infer_random_like(in, err);
}

tfr_status tfr__infer_eye_like(tfr__infer *in, tfr_err *err)
{
    TFR__TRY(tfr__want_rank(in, err, 0, 2));
    return tfr__infer_random_like(in, err);
}

tfr_status tfr__infer_multinomial(tfr__infer *in, tfr_err *err)
{
    int64_t samples = tfr__attr_int(in->attrs, "sample_size", 1);
    int32_t dtype;
    TFR__TRY(tfr__want_rank(in, err, 0, 2));
    TFR__TRY(tfr__dtype_attr(in, err, "dtype", TFR_DTYPE_I32, &dtype));
    if (samples < 1 || tfr__in(in, 0)->dims[1] == 0)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "%lld samples of %lld classes are asked for",
                               (long long)samples, (long long)tfr__in(in, 0)->dims[1]);
    int64_t dims[2] = {tfr__in(in, 0)->dims[0], samples};
    return tfr__out(in, err, 0, dtype, 2, dims);
}
