/* SPDX-License-Identifier: Apache-2.0 */
/* infer_kit.c: what the inference functions share; infer_kit.h describes it. No rule of an op. */
#include "op/infer_kit.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"

/* ---- errors and texts ---- */

tfr_status tfr__infer_fail(const tfr__infer *in, tfr_err *err, tfr_status code, const char *format,
                           ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (in->node && *in->node)
        return tfr_fail(err, code, "node \"%.80s\" (%s): %s", in->node, in->op->name, text);
    return tfr_fail(err, code, "node of %s: %s", in->op->name, text);
}

const char *tfr__dims_text(const int64_t *dims, int32_t rank, tfr__text *buffer)
{
    size_t at = 0, room = sizeof buffer->text;
    at += (size_t)snprintf(buffer->text, room, "[");
    for (int32_t i = 0; i < rank && i < TFR_MAX_RANK && at < room - 24; i++)
        at += (size_t)snprintf(buffer->text + at, room - at, i ? ",%lld" : "%lld",
                               (long long)dims[i]);
    snprintf(buffer->text + at, room - at, "]");
    return buffer->text;
}

const char *tfr__type_text(const tfr__type *type, tfr__text *buffer)
{
    return tfr__dims_text(type->dims, type->rank, buffer);
}

const char *tfr__in_name(const tfr__infer *in, uint32_t i, tfr__text *buffer)
{
    tfr__formal formal;
    if (!tfr__op_formal(in->op->inputs, i, &formal)) {
        snprintf(buffer->text, sizeof buffer->text, "%u", i);
    } else if (formal.variadic) {
        snprintf(buffer->text, sizeof buffer->text, "%.*s[%u]", (int)formal.name_bytes, formal.name,
                 i - formal.at);
    } else {
        snprintf(buffer->text, sizeof buffer->text, "%.*s", (int)formal.name_bytes, formal.name);
    }
    return buffer->text;
}

/* ---- operands ---- */

const tfr__type *tfr__in(const tfr__infer *in, uint32_t i)
{
    return i < in->n_inputs && in->inputs[i].kind != TFR_KIND_NONE ? &in->inputs[i] : NULL;
}

bool tfr__wants(const tfr__infer *in, uint32_t i)
{
    return i < in->n_outputs && in->outputs[i].kind != TFR_KIND_NONE;
}

tfr_status tfr__out(tfr__infer *in, tfr_err *err, uint32_t i, int32_t dtype, int32_t rank,
                    const int64_t *dims)
{
    if (!tfr__wants(in, i))
        return TFR_OK;
    if (rank < 0 || rank > TFR_MAX_RANK)
        return tfr__infer_fail(in, err, TFR_ELIMIT, "an output would have rank %d, the limit is %d",
                               (int)rank, TFR_MAX_RANK);
    tfr__type *out = &in->outputs[i];
    memset(out, 0, sizeof(*out));
    out->kind = TFR_KIND_TENSOR;
    out->dtype = dtype;
    out->rank = rank;
    out->shape_known = true;
    for (int32_t k = 0; k < rank; k++)
        out->dims[k] = dims[k];
    return TFR_OK;
}

tfr_status tfr__out_like(tfr__infer *in, tfr_err *err, uint32_t i, int32_t dtype,
                         const tfr__type *shape)
{
    return tfr__out(in, err, i, dtype, shape->rank, shape->dims);
}

tfr_status tfr__out_dims(tfr__infer *in, tfr_err *err, uint32_t i, int32_t dtype,
                         const tfr__dims *shape)
{
    return tfr__out(in, err, i, dtype, shape->rank, shape->d);
}

void tfr__out_dynamic(tfr__infer *in, uint32_t i)
{
    if (tfr__wants(in, i))
        in->outputs[i].dynamic = true;
}

tfr_status tfr__want_rank(tfr__infer *in, tfr_err *err, uint32_t i, int32_t want)
{
    const tfr__type *t = tfr__in(in, i);
    tfr__text name, dims;
    if (!t || t->rank == want)
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_ESHAPE, "input %s %s has rank %d, want %d",
                           tfr__in_name(in, i, &name), tfr__type_text(t, &dims), (int)t->rank,
                           (int)want);
}

tfr_status tfr__want_rank_min(tfr__infer *in, tfr_err *err, uint32_t i, int32_t least)
{
    const tfr__type *t = tfr__in(in, i);
    tfr__text name, dims;
    if (!t || t->rank >= least)
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_ESHAPE, "input %s %s has rank %d, want at least %d",
                           tfr__in_name(in, i, &name), tfr__type_text(t, &dims), (int)t->rank,
                           (int)least);
}

tfr_status tfr__want_vector(tfr__infer *in, tfr_err *err, uint32_t i, int64_t length,
                            const char *what)
{
    const tfr__type *t = tfr__in(in, i);
    tfr__text name, dims;
    if (!t || (t->rank == 1 && t->dims[0] == length))
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_ESHAPE, "input %s has shape %s, want [%lld] (%s)",
                           tfr__in_name(in, i, &name), tfr__type_text(t, &dims), (long long)length,
                           what);
}

tfr_status tfr__want_shape(tfr__infer *in, tfr_err *err, uint32_t i, const tfr__dims *shape)
{
    const tfr__type *t = tfr__in(in, i);
    tfr__text name, dims, want;
    if (!t)
        return TFR_OK;
    bool same = t->rank == shape->rank;
    for (int32_t k = 0; same && k < t->rank; k++)
        same = t->dims[k] == shape->d[k];
    if (same)
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_ESHAPE, "input %s has shape %s, want %s",
                           tfr__in_name(in, i, &name), tfr__type_text(t, &dims),
                           tfr__dims_text(shape->d, shape->rank, &want));
}

tfr_status tfr__want_one(tfr__infer *in, tfr_err *err, uint32_t i)
{
    const tfr__type *t = tfr__in(in, i);
    tfr__text name, dims;
    if (!t || (t->rank <= 1 && tfr__type_elements(t) == 1))
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_ESHAPE, "input %s has shape %s, want one element",
                           tfr__in_name(in, i, &name), tfr__type_text(t, &dims));
}

/* ---- values ---- */

tfr_status tfr__value_raw(tfr__infer *in, tfr_err *err, uint32_t i, const void **out)
{
    static const int64_t nothing = 0;
    const tfr__type *t = tfr__in(in, i);
    tfr__text name;
    if (!t)
        return tfr__infer_fail(in, err, TFR_EMODEL, "input %s is missing",
                               tfr__in_name(in, i, &name));
    const void *data = t->data;
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
    int exponent = h >> 10 & 31;
    double fraction = h & 1023, sign = h & 0x8000 ? -1 : 1;
    if (exponent == 31)
        return (float)(fraction ? NAN : sign * INFINITY);
    return (float)(exponent ? sign * ldexp(1024 + fraction, exponent - 25)
                            : sign * ldexp(fraction, -24));
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

/* The value of a list or scalar of at most max elements. */
static tfr_status value_list(tfr__infer *in, tfr_err *err, uint32_t i, uint32_t max, uint32_t *n,
                             const void **data)
{
    const tfr__type *t = tfr__in(in, i);
    tfr__text name, dims;
    if (t && t->rank > 1)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "input %s has shape %s, want a list",
                               tfr__in_name(in, i, &name), tfr__type_text(t, &dims));
    if (t && tfr__type_elements(t) > max)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "input %s has %lld elements, want at most %u",
                               tfr__in_name(in, i, &name), (long long)tfr__type_elements(t), max);
    TFR__TRY(tfr__value_raw(in, err, i, data));
    *n = (uint32_t)tfr__type_elements(t);
    return TFR_OK;
}

tfr_status tfr__value_ints(tfr__infer *in, tfr_err *err, uint32_t i, int64_t *out, uint32_t max,
                           uint32_t *n)
{
    const void *data;
    tfr__text name;
    TFR__TRY(value_list(in, err, i, max, n, &data));
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

tfr_status tfr__value_int(tfr__infer *in, tfr_err *err, uint32_t i, int64_t *out)
{
    uint32_t n;
    TFR__TRY(tfr__want_one(in, err, i));
    return tfr__value_ints(in, err, i, out, 1, &n);
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

/* ---- axes and attributes ---- */

tfr_status tfr__axis(tfr__infer *in, tfr_err *err, const char *what, int64_t axis, int32_t rank,
                     int32_t *out)
{
    if (axis < -(int64_t)rank || axis >= rank)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "%s %lld is outside of [%d, %d) for rank %d",
                               what, (long long)axis, -(int)rank, (int)rank, (int)rank);
    *out = (int32_t)(axis < 0 ? axis + rank : axis);
    return TFR_OK;
}

tfr_status tfr__axis_attr(tfr__infer *in, tfr_err *err, const char *name, int32_t rank,
                          int32_t *out)
{
    TFR__TRY(tfr__axis(in, err, name, tfr__attr_int(in->attrs, name, 0), rank, out));
    return tfr__attr_set_int(in->attrs, name, *out, err);
}

tfr_status tfr__axes(tfr__infer *in, tfr_err *err, const char *what, int64_t *axes, uint32_t n,
                     int32_t rank)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < n; i++) {
        int32_t axis = 0;
        TFR__TRY(tfr__axis(in, err, what, axes[i], rank, &axis));
        if (seen >> axis & 1)
            return tfr__infer_fail(in, err, TFR_ESHAPE, "%s has axis %d twice", what, (int)axis);
        seen |= UINT32_C(1) << axis;
        axes[i] = axis;
    }
    return TFR_OK;
}

void tfr__sort_axes(int64_t *axes, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        int64_t axis = axes[i];
        uint32_t k = i;
        for (; k && axes[k - 1] > axis; k--)
            axes[k] = axes[k - 1];
        axes[k] = axis;
    }
}

tfr_status tfr__attr_list_ints(tfr__infer *in, tfr_err *err, const char *name, int64_t *out,
                               uint32_t max, uint32_t *n)
{
    uint64_t count;
    const int64_t *values = tfr__attr_ints(in->attrs, name, &count);
    if (count > max)
        return tfr__infer_fail(in, err, TFR_EMODEL, "attribute %s has %llu values, want at most %u",
                               name, (unsigned long long)count, max);
    for (uint32_t i = 0; i < count; i++)
        out[i] = values[i];
    *n = (uint32_t)count;
    return TFR_OK;
}

tfr_status tfr__dtype_attr(tfr__infer *in, tfr_err *err, const char *name, int32_t absent,
                           int32_t *out)
{
    int64_t value = tfr__attr_int(in->attrs, name, absent);
    if (value < 0 || value >= TFR_DTYPE_END || !tfr_dtype_bits((int32_t)value))
        return tfr__infer_fail(in, err, TFR_EDTYPE, "attribute %s is %lld, not an element type",
                               name, (long long)value);
    *out = (int32_t)value;
    return TFR_OK;
}

/* ---- broadcasting and arithmetic ---- */

void tfr__dims_of(const tfr__type *type, tfr__dims *out)
{
    out->rank = type->rank;
    for (int32_t i = 0; i < type->rank; i++)
        out->d[i] = type->dims[i];
}

tfr_status tfr__broadcast(tfr__infer *in, tfr_err *err, uint32_t i, tfr__dims *shape)
{
    const tfr__type *t = tfr__in(in, i);
    tfr__text name, dims, have;
    if (!t)
        return TFR_OK;
    if (t->rank > shape->rank) {
        int32_t extra = t->rank - shape->rank;
        for (int32_t k = shape->rank - 1; k >= 0; k--)
            shape->d[k + extra] = shape->d[k];
        for (int32_t k = 0; k < extra; k++)
            shape->d[k] = 1;
        shape->rank = t->rank;
    }
    int32_t skip = shape->rank - t->rank;
    for (int32_t k = 0; k < t->rank; k++) {
        int64_t *d = &shape->d[k + skip];
        if (*d == t->dims[k] || t->dims[k] == 1)
            continue;
        if (*d != 1)
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "input %s %s does not broadcast with %s: %lld and %lld on axis "
                                   "%d",
                                   tfr__in_name(in, i, &name), tfr__type_text(t, &dims),
                                   tfr__dims_text(shape->d, shape->rank, &have),
                                   (long long)t->dims[k], (long long)*d, (int)(k + skip));
        *d = t->dims[k];
    }
    return TFR_OK;
}

tfr_status tfr__broadcasts_to(tfr__infer *in, tfr_err *err, uint32_t i, const tfr__dims *shape)
{
    const tfr__type *t = tfr__in(in, i);
    tfr__text name, dims, want;
    if (!t)
        return TFR_OK;
    int32_t skip = shape->rank - t->rank;
    bool fits = skip >= 0;
    for (int32_t k = 0; fits && k < t->rank; k++)
        fits = t->dims[k] == 1 || t->dims[k] == shape->d[k + skip];
    if (fits)
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_ESHAPE, "input %s %s does not broadcast to %s",
                           tfr__in_name(in, i, &name), tfr__type_text(t, &dims),
                           tfr__dims_text(shape->d, shape->rank, &want));
}

tfr_status tfr__mul(tfr__infer *in, tfr_err *err, const char *what, int64_t a, int64_t b,
                    int64_t *out)
{
    if (tfr__mul64(a, b, out))
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_ELIMIT, "%s %lld * %lld does not fit 63 bits", what,
                           (long long)a, (long long)b);
}

tfr_status tfr__add(tfr__infer *in, tfr_err *err, const char *what, int64_t a, int64_t b,
                    int64_t *out)
{
    if (tfr__add64(a, b, out))
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_ELIMIT, "%s %lld + %lld does not fit 63 bits", what,
                           (long long)a, (long long)b);
}
