/* SPDX-License-Identifier: Apache-2.0 */
/* infer_value.c: values of inputs that inference asks for; infer_kit.h describes them. */
#include <math.h>
#include <string.h>

#include "op/infer_kit.h"

tfr_status tfr__value_raw(tfr__infer *in, tfr_err *err, uint32_t i, const void **out)
{
    static const int64_t nothing = 0;
    const tfr__type *t = tfr__in(in, i);
    tfr__text name;
    if (!t)
        return tfr__infer_fail(in, err, TFR_EMODEL, "input %s is missing",
                               tfr__in_name(in, i, &name));
    const void *data = t->data;
    if (tfr__is_symbolic(in) && (!t->shape_known || tfr__type_elements(t) < 0))
        return TFR__EPENDING;
    if (!data && tfr__type_elements(t) == 0)
        data = &nothing;
    if (!data && in->value)
        data = in->value(in, i);
    if (!data) {
        in->pending = i;
        return TFR__EPENDING;
    }
    *out = data;
    return TFR_OK;
}

static float from_half(uint16_t h)
{
    const uint32_t exponent = h >> 10 & 31, fraction = h & 1023;
    const uint32_t bits = (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
    float f;
    memcpy(&f, &bits, sizeof f);
    if (!exponent)
        f = (float)fraction * 0x1p-24f;
    return h & 0x8000 ? -f : f;
}

static float from_bfloat(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Values may sit in a file's mapping at any address, hence memcpy. */
#define LOAD(type, data, at, name)                                                                 \
    type name;                                                                                     \
    memcpy(&name, (const char *)(data) + (size_t)(at) * sizeof(type), sizeof(type))

double tfr__element_double(const void *data, int32_t dtype, int64_t at)
{
    switch (dtype) {
    case TFR_DTYPE_F32: {
        LOAD(float, data, at, v);
        return v;
    }
    case TFR_DTYPE_F64: {
        LOAD(double, data, at, v);
        return v;
    }
    case TFR_DTYPE_F16: {
        LOAD(uint16_t, data, at, v);
        return from_half(v);
    }
    case TFR_DTYPE_BF16: {
        LOAD(uint16_t, data, at, v);
        return from_bfloat(v);
    }
    case TFR_DTYPE_I8: {
        LOAD(int8_t, data, at, v);
        return v;
    }
    case TFR_DTYPE_U8: {
        LOAD(uint8_t, data, at, v);
        return v;
    }
    case TFR_DTYPE_I16: {
        LOAD(int16_t, data, at, v);
        return v;
    }
    case TFR_DTYPE_U16: {
        LOAD(uint16_t, data, at, v);
        return v;
    }
    case TFR_DTYPE_I32: {
        LOAD(int32_t, data, at, v);
        return v;
    }
    case TFR_DTYPE_U32: {
        LOAD(uint32_t, data, at, v);
        return v;
    }
    case TFR_DTYPE_I64: {
        LOAD(int64_t, data, at, v);
        return (double)v;
    }
    case TFR_DTYPE_U64: {
        LOAD(uint64_t, data, at, v);
        return (double)v;
    }
    default:
        return NAN;
    }
}

/* The elements that are known without a value in memory: of how many, 0 to max; else pends. */
static tfr_status known_elements(tfr__infer *in, uint32_t i, uint32_t max, tfr__number *out,
                                 uint32_t *n)
{
    const tfr__type *t = tfr__in(in, i);
    in->pending = i;
    if (t->elements && t->elements->n <= max) {
        *n = t->elements->n;
        memcpy(out, t->elements->v, *n * sizeof *out);
        return TFR_OK;
    }
    if (!t->shape_known || t->rank > 1 || (t->rank == 1 && (t->dims[0] < 0 || t->dims[0] > max)))
        return TFR__EPENDING;
    *n = t->rank ? (uint32_t)t->dims[0] : 1;
    memset(out, 0, *n * sizeof *out);
    return TFR_OK;
}

/* The value of a list or scalar of at most max elements. */
static tfr_status value_list(tfr__infer *in, tfr_err *err, uint32_t i, uint32_t max, uint32_t *n,
                             const void **data)
{
    const tfr__type *t = tfr__in(in, i);
    const int64_t elements = t ? tfr__type_elements(t) : 0;
    tfr__text name, dims;
    if (t && t->rank > 1)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "input %s has shape %s, want a list",
                               tfr__in_name(in, i, &name), tfr__type_text(t, &dims));
    if (elements > max)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "input %s has %lld elements, want at most %u",
                               tfr__in_name(in, i, &name), (long long)elements, max);
    TFR__TRY(tfr__value_raw(in, err, i, data));
    *n = (uint32_t)elements;
    return TFR_OK;
}

/* Symbolic: nothing is in memory, but all elements may be known. */
static tfr_status computed_ints(tfr__infer *in, uint32_t i, int64_t *out, uint32_t max, uint32_t *n)
{
    const tfr__elements *known = in->inputs[i].elements;
    in->pending = i;
    if (!known || known->n > max)
        return TFR__EPENDING;
    for (uint32_t k = 0; k < known->n; k++) {
        if (known->v[k].what != TFR__KNOWN)
            return TFR__EPENDING;
        out[k] = known->v[k].v;
    }
    *n = known->n;
    return TFR_OK;
}

tfr_status tfr__value_ints(tfr__infer *in, tfr_err *err, uint32_t i, int64_t *out, uint32_t max,
                           uint32_t *n)
{
    const void *data;
    tfr__text name;
    tfr_status status = value_list(in, err, i, max, n, &data);
    if (status == TFR__EPENDING && tfr__is_symbolic(in))
        return computed_ints(in, i, out, max, n);
    TFR__TRY(status);
    int32_t dtype = in->inputs[i].dtype;
    for (uint32_t k = 0; k < *n; k++) {
        if (dtype == TFR_DTYPE_I64) {
            LOAD(int64_t, data, k, v);
            out[k] = v;
            continue;
        }
        /* Every other type of a count is exact as double, or out of range. */
        double v = tfr__element_double(data, dtype, k);
        if (!(v > -0x1p62 && v < 0x1p62))
            return tfr__infer_fail(in, err, TFR_EMODEL, "element %u of input %s is not a size", k,
                                   tfr__in_name(in, i, &name));
        out[k] = (int64_t)v;
    }
    return TFR_OK;
}

tfr_status tfr__value_numbers(tfr__infer *in, tfr_err *err, uint32_t i, tfr__number *out,
                              uint32_t max, uint32_t *n)
{
    int64_t known[TFR__MAX_ELEMENTS];
    if (max > TFR__MAX_ELEMENTS)
        max = TFR__MAX_ELEMENTS;
    tfr_status status = tfr__value_ints(in, err, i, known, max, n);
    if (status == TFR__EPENDING && tfr__is_symbolic(in))
        return known_elements(in, i, max, out, n);
    TFR__TRY(status);
    for (uint32_t k = 0; k < *n; k++)
        out[k] = tfr__number_of(known[k]);
    return TFR_OK;
}

tfr_status tfr__value_dims(tfr__infer *in, tfr_err *err, uint32_t i, const char *what,
                           tfr__dims *out)
{
    tfr__number dims[TFR_MAX_RANK];
    tfr__text name;
    uint32_t n;
    TFR__TRY(tfr__value_numbers(in, err, i, dims, TFR_MAX_RANK, &n));
    out->rank = (int32_t)n;
    for (uint32_t k = 0; k < n; k++) {
        if (dims[k].what == TFR__KNOWN && dims[k].v < 0 && (what || tfr__is_symbolic(in)))
            return tfr__infer_fail(in, err, TFR_ESHAPE, "%s has the negative dim %lld at %u",
                                   what ? what : tfr__in_name(in, i, &name), (long long)dims[k].v,
                                   k);
        out->d[k] = dims[k].what == TFR__KNOWN ? dims[k].v : tfr__dim_of_value(in, dims[k]);
    }
    return TFR_OK;
}

tfr_status tfr__value_int(tfr__infer *in, tfr_err *err, uint32_t i, int64_t *out)
{
    uint32_t n;
    TFR__TRY(tfr__want_one(in, err, i));
    return tfr__value_ints(in, err, i, out, 1, &n);
}

tfr_status tfr__value_number(tfr__infer *in, tfr_err *err, uint32_t i, tfr__number *out)
{
    int64_t known;
    uint32_t n;
    *out = (tfr__number){TFR__UNKNOWN, 0};
    tfr_status status = tfr__value_int(in, err, i, &known);
    if (!status)
        *out = tfr__number_of(known);
    if (status != TFR__EPENDING || !tfr__is_symbolic(in))
        return status;
    if (known_elements(in, i, 1, out, &n) || n != 1)
        *out = (tfr__number){TFR__UNKNOWN, 0};
    return TFR_OK;
}

tfr_status tfr__value_floats(tfr__infer *in, tfr_err *err, uint32_t i, double *out, uint32_t max,
                             uint32_t *n)
{
    const void *data;
    TFR__TRY(value_list(in, err, i, max, n, &data));
    for (uint32_t k = 0; k < *n; k++)
        out[k] = tfr__element_double(data, in->inputs[i].dtype, k);
    return TFR_OK;
}
