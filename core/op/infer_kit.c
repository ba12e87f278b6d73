/* SPDX-License-Identifier: Apache-2.0 */
/* infer_kit.c: what the inference functions share; infer_kit.h describes it. No rule of an op. */
#include "op/infer_kit.h"

#include <string.h>

#include "base/checked.h"
#include "value/bits.h"

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
    size_t at = 0, capacity = sizeof buffer->text;
    at += (size_t)snprintf(buffer->text, capacity, "[");
    for (int32_t i = 0; i < rank && i < TFR_MAX_RANK && at < capacity - 24; i++) {
        if (dims[i] < 0)
            at += (size_t)snprintf(buffer->text + at, capacity - at, i ? ",?" : "?");
        else
            at += (size_t)snprintf(buffer->text + at, capacity - at, i ? ",%lld" : "%lld",
                                   (long long)dims[i]);
    }
    snprintf(buffer->text + at, capacity - at, "]");
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

/* ---- symbols ---- */

int64_t tfr__dim_of(const tfr__infer *in, tfr__number n)
{
    if (n.what == TFR__SYMBOL || (n.what == TFR__KNOWN && n.v >= 0))
        return n.v;
    return tfr__new_dim(in);
}

int64_t tfr__dim_of_value(const tfr__infer *in, tfr__number n)
{
    return tfr__number_dim(in->symbols, n);
}

int64_t tfr__dim_add(const tfr__infer *in, int64_t dim, int64_t n)
{
    return tfr__dim_of(in,
                       tfr__number_add(in->symbols, tfr__number_of_dim(dim), tfr__number_of(n)));
}

int64_t tfr__dim_mul(const tfr__infer *in, int64_t dim, int64_t n)
{
    return tfr__dim_of(in,
                       tfr__number_mul(in->symbols, tfr__number_of_dim(dim), tfr__number_of(n)));
}

int64_t tfr__dim_div(const tfr__infer *in, int64_t dim, int64_t n)
{
    return tfr__dim_of(in,
                       tfr__number_div(in->symbols, tfr__number_of_dim(dim), tfr__number_of(n)));
}

bool tfr__differ(const tfr__infer *in, int64_t a, int64_t b)
{
    if (a == b || (a >= 0 && b >= 0))
        return a != b;
    if (in->symbols)
        in->symbols->guessed = true;
    return false;
}

tfr__number tfr__dims_product(const tfr__infer *in, const int64_t *dims, int32_t n)
{
    tfr__number product = tfr__number_of(1);
    for (int32_t i = 0; i < n; i++)
        product = tfr__number_mul(in->symbols, product, tfr__number_of_dim(dims[i]));
    return product;
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

void tfr__out_unknown(tfr__infer *in, uint32_t i, int32_t dtype)
{
    if (tfr__wants(in, i))
        in->outputs[i] = (tfr__type){.kind = TFR_KIND_TENSOR, .dtype = dtype};
}

tfr_status tfr__out_like(tfr__infer *in, tfr_err *err, uint32_t i, int32_t dtype,
                         const tfr__type *shape)
{
    if (!shape->shape_known) {
        tfr__out_unknown(in, i, dtype);
        return TFR_OK;
    }
    return tfr__out(in, err, i, dtype, shape->rank, shape->dims);
}

tfr_status tfr__out_dims(tfr__infer *in, tfr_err *err, uint32_t i, int32_t dtype,
                         const tfr__dims *shape)
{
    if (shape->rank < 0) {
        tfr__out_unknown(in, i, dtype);
        return TFR_OK;
    }
    return tfr__out(in, err, i, dtype, shape->rank, shape->d);
}

void tfr__out_dynamic(tfr__infer *in, uint32_t i)
{
    if (tfr__wants(in, i) && !tfr__is_symbolic(in))
        in->outputs[i].dynamic = true;
}

/* Input i of unknown rank has this one, so it has these dims; NULL = new ones. */
static void refine(tfr__infer *in, uint32_t i, int32_t rank, const int64_t *dims)
{
    tfr__type *t = &in->inputs[i];
    t->shape_known = true;
    t->rank = rank;
    for (int32_t k = 0; k < rank; k++)
        t->dims[k] = dims ? dims[k] : tfr__new_dim(in);
}

static bool is_unknown(const tfr__infer *in, const tfr__type *t)
{
    return tfr__is_symbolic(in) && !t->shape_known;
}

tfr_status tfr__want_rank(tfr__infer *in, tfr_err *err, uint32_t i, int32_t want)
{
    const tfr__type *t = tfr__in(in, i);
    tfr__text name, dims;
    if (t && is_unknown(in, t))
        refine(in, i, want, NULL);
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
    if (t && is_unknown(in, t))
        return TFR__EPENDING;
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
    if (t && is_unknown(in, t))
        refine(in, i, 1, &length);
    if (!t || (t->rank == 1 && !tfr__differ(in, t->dims[0], length)))
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_ESHAPE, "input %s has shape %s, want [%lld] (%s)",
                           tfr__in_name(in, i, &name), tfr__type_text(t, &dims), (long long)length,
                           what);
}

tfr_status tfr__want_shape(tfr__infer *in, tfr_err *err, uint32_t i, const tfr__dims *shape)
{
    const tfr__type *t = tfr__in(in, i);
    tfr__text name, dims, want;
    if (!t || shape->rank < 0)
        return TFR_OK;
    if (is_unknown(in, t))
        refine(in, i, shape->rank, shape->d);
    bool same = t->rank == shape->rank;
    for (int32_t k = 0; same && k < t->rank; k++)
        same = !tfr__differ(in, t->dims[k], shape->d[k]);
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
    if (!t || is_unknown(in, t) || !t->rank || (t->rank == 1 && !tfr__differ(in, t->dims[0], 1)))
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_ESHAPE, "input %s has shape %s, want one element",
                           tfr__in_name(in, i, &name), tfr__type_text(t, &dims));
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

tfr_status tfr__need_dtype(tfr__infer *in, uint32_t i)
{
    const tfr__type *t = tfr__in(in, i);
    return t && !t->dtype ? TFR__EPENDING : TFR_OK;
}

tfr_status tfr__dtype_attr(tfr__infer *in, tfr_err *err, const char *name, int32_t absent,
                           int32_t *out)
{
    int64_t value = tfr__attr_int(in->attrs, name, absent);
    if (value < 0 || value >= TFR_DTYPE_END || !tfr__dtype_bits((int32_t)value))
        return tfr__infer_fail(in, err, TFR_EDTYPE, "attribute %s is %lld, not an element type",
                               name, (long long)value);
    *out = (int32_t)value;
    return TFR_OK;
}

/* ---- broadcasting and arithmetic ---- */

void tfr__dims_of(const tfr__type *type, tfr__dims *out)
{
    out->rank = type->shape_known ? type->rank : -1;
    for (int32_t i = 0; i < out->rank; i++)
        out->d[i] = type->dims[i];
}

bool tfr__broadcast_dim(const tfr__infer *in, int64_t *d, int64_t other)
{
    if (*d == other || other == 1)
        return true;
    if (*d == 1) {
        *d = other;
        return true;
    }
    if (tfr__differ(in, *d, other))
        return false;
    /* A symbol beside a dim that is not 1 is 1 or that; two symbols may be anything. */
    *d = *d < 0 && other < 0 ? tfr__new_dim(in) : tfr__meet(*d, other);
    return true;
}

tfr_status tfr__broadcast(tfr__infer *in, tfr_err *err, uint32_t i, tfr__dims *shape)
{
    const tfr__type *t = tfr__in(in, i);
    tfr__text name, dims, have;
    if (!t || shape->rank < 0)
        return TFR_OK;
    if (is_unknown(in, t)) {
        shape->rank = -1;
        return TFR_OK;
    }
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
        if (!tfr__broadcast_dim(in, d, t->dims[k]))
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "input %s %s does not broadcast with %s: %lld and %lld on axis "
                                   "%d",
                                   tfr__in_name(in, i, &name), tfr__type_text(t, &dims),
                                   tfr__dims_text(shape->d, shape->rank, &have),
                                   (long long)t->dims[k], (long long)*d, (int)(k + skip));
    }
    return TFR_OK;
}

tfr_status tfr__broadcasts_to(tfr__infer *in, tfr_err *err, uint32_t i, const tfr__dims *shape)
{
    const tfr__type *t = tfr__in(in, i);
    tfr__text name, dims, want;
    if (!t || shape->rank < 0 || is_unknown(in, t))
        return TFR_OK;
    int32_t skip = shape->rank - t->rank;
    bool fits = skip >= 0;
    for (int32_t k = 0; fits && k < t->rank; k++)
        fits = t->dims[k] == 1 || !tfr__differ(in, t->dims[k], shape->d[k + skip]);
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

tfr_status tfr__mul_dims(tfr__infer *in, tfr_err *err, const char *what, int64_t a, int64_t b,
                         int64_t *out)
{
    if (!tfr__is_symbolic(in) || (a >= 0 && b >= 0))
        return tfr__mul(in, err, what, a, b, out);
    *out =
        tfr__dim_of(in, tfr__number_mul(in->symbols, tfr__number_of_dim(a), tfr__number_of_dim(b)));
    return TFR_OK;
}

tfr_status tfr__add_dims(tfr__infer *in, tfr_err *err, const char *what, int64_t a, int64_t b,
                         int64_t *out)
{
    if (!tfr__is_symbolic(in) || (a >= 0 && b >= 0))
        return tfr__add(in, err, what, a, b, out);
    *out =
        tfr__dim_of(in, tfr__number_add(in->symbols, tfr__number_of_dim(a), tfr__number_of_dim(b)));
    return TFR_OK;
}
