/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cast and CastLike (ONNX 28, 25), every pair of float, integer, bool and string types.
 * - float to float: nearest, ties to even; overflow is infinite, in the float8 types it saturates
 *   or not as attribute saturate says; float8e8m0 rounds as attribute round_mode says;
 * - float to integer drops the fraction; out of range (undefined in ONNX) saturates, NaN gives 0;
 *   integers of 4 and 2 bits keep the low bits instead, as ONNX's node tests want it;
 * - integer to integer keeps the low bits; to bool: x != 0 (NaN is true);
 * - to string: the shortest decimal that reads back as the same number, plain from 1e-4 to 1e16
 *   ("1.0", "1e-05", "nan", "inf", "True");
 * - from string: C's strtod or strtoll, and text that is no number is an error.
 */
#include "naive.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_TEXT = 400 };

/*
 * Above 2^53 the low bits are folded into one sticky bit (round to odd), which makes the double
 * exact and the rounding to the type of y the only one.
 */
static void cast_uint64(uint64_t v, int32_t dtype, void *py, int64_t o, bool saturate)
{
    if (dtype == TFR_DTYPE_F32) {
        ((float *)py)[o] = (float)v;
        return;
    }
    if (v >> 53 && dtype != TFR_DTYPE_F64)
        v = (v & ~(uint64_t)0xfff) | ((v & 0xfff) ? 0x1000 : 0);
    if (saturate)
        naive_set(dtype, py, o, (double)v);
    else
        naive_set_overflow(dtype, py, o, (double)v);
}

static void cast_number(const tfr_call *call, const tfr_operand *x, const void *px, int64_t i,
                        const tfr_operand *y, void *py, int64_t o)
{
    bool saturate = tfr_call_int(call, "saturate", 1) != 0;

    if (y->dtype == TFR_DTYPE_F8E8M0) {
        naive_set_e8m0(py, o, naive_get(x->dtype, px, i),
                       tfr_call_string(call, "round_mode", "up")[0], saturate);
    } else if (x->dtype == TFR_DTYPE_U64 && naive_is_float(y->dtype)) {
        cast_uint64(((const uint64_t *)px)[i], y->dtype, py, o, saturate);
    } else if (!naive_is_float(x->dtype) && (saturate || !naive_is_float(y->dtype))) {
        naive_set_int(y->dtype, py, o, naive_get_int(x->dtype, px, i));
    } else if (naive_is_integer(y->dtype) && tfr_dtype_bits(y->dtype) < 8) {
        naive_set_int(y->dtype, py, o, naive_get_int(x->dtype, px, i));
    } else if (saturate) {
        naive_set(y->dtype, py, o, naive_get(x->dtype, px, i));
    } else {
        naive_set_overflow(y->dtype, py, o, naive_get(x->dtype, px, i));
    }
}

/* The shortest digits d that read back as v, then d.ddde+xx outside of [1e-4, 1e16), else plain. */
static void float_text(int32_t dtype, double v, char text[NUMBER_TEXT])
{
    char digits[40];
    int n, exponent, zeros;

    if (isnan(v) || isinf(v)) {
        snprintf(text, NUMBER_TEXT, "%s", isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    for (n = 1; n < 17; n++) {
        snprintf(text, NUMBER_TEXT, "%.*e", n - 1, v);
        if (naive_round_to(dtype, strtod(text, NULL)) == v)
            break;
    }
    snprintf(text, NUMBER_TEXT, "%.*e", n - 1, v);
    exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    if (exponent < -4 || exponent >= 16)
        return;
    if (n - 1 > exponent) {
        snprintf(text, NUMBER_TEXT, "%.*f", n - 1 - exponent, v);
        return;
    }
    /* A whole number with zeros behind its digits, where %f would print digits that nobody gave. */
    snprintf(digits, sizeof(digits), "%.*e", n - 1, fabs(v));
    if (n > 1)
        memmove(digits + 1, digits + 2, (size_t)n - 1);
    zeros = exponent - (n - 1);
    snprintf(text, NUMBER_TEXT, "%s%.*s%.*s.0", signbit(v) ? "-" : "", n, digits, zeros,
             "0000000000000000");
}

static int32_t cast_to_string(const tfr_operand *x, const void *px, int64_t i, tfr_string *out,
                              tfr_err *err)
{
    char text[NUMBER_TEXT];

    if (x->dtype == TFR_DTYPE_BOOL)
        snprintf(text, sizeof(text), "%s", naive_get_int(x->dtype, px, i) ? "True" : "False");
    else if (naive_is_float(x->dtype))
        float_text(x->dtype, naive_get(x->dtype, px, i), text);
    else if (x->dtype == TFR_DTYPE_U64)
        snprintf(text, sizeof(text), "%" PRIu64, (uint64_t)naive_get_int(x->dtype, px, i));
    else
        snprintf(text, sizeof(text), "%" PRId64, naive_get_int(x->dtype, px, i));
    return naive_set_string(out, text, strlen(text), err);
}

static int32_t cast_from_string(const tfr_string *s, const tfr_operand *y, void *py, int64_t o,
                                tfr_err *err)
{
    char text[NUMBER_TEXT], *end = text;
    int64_t whole;
    double v;

    if (s->bytes < sizeof(text)) {
        if (s->bytes)
            memcpy(text, s->data, (size_t)s->bytes);
        text[s->bytes] = 0;
        whole =
            y->dtype == TFR_DTYPE_U64 ? (int64_t)strtoull(text, &end, 10) : strtoll(text, &end, 10);
        if (end != text && !*end && naive_is_integer(y->dtype)) {
            naive_set_int(y->dtype, py, o, whole);
            return TFR_OK;
        }
        v = strtod(text, &end);
        if (end != text && !*end) {
            naive_set(y->dtype, py, o, v);
            return TFR_OK;
        }
    }
    return tfr_fail(err, TFR_EINVAL,
                    "element %" PRId64 " is the text \"%.*s\" of %" PRIu64
                    " bytes, which is no number",
                    o, s->bytes < 40 ? (int)s->bytes : 40, s->data ? s->data : "", s->bytes);
}

static int32_t cast_all(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *y = tfr_call_output(&k->call, 0);
    const void *px = naive_in(k, launch, 0);
    void *py = naive_out(k, launch, 0);
    int32_t status = TFR_OK;
    naive_iter it;

    naive_iter_init(&it, y->rank, y->dims);
    naive_iter_add(&it, x);
    naive_iter_add(&it, y);
    for (; it.left > 0 && status == TFR_OK; naive_iter_next(&it)) {
        int64_t i = it.at[0], o = it.at[1];
        if (x->dtype == y->dtype)
            status = naive_copy_any(x->dtype, py, o, px, i, err);
        else if (y->dtype == TFR_DTYPE_STRING)
            status = cast_to_string(x, px, i, (tfr_string *)py + o, err);
        else if (x->dtype == TFR_DTYPE_STRING)
            status = cast_from_string((const tfr_string *)px + i, y, py, o, err);
        else
            cast_number(&k->call, x, px, i, y, py, o);
    }
    return status;
}

/* Text has a decimal point whatever the process' locale; this thread alone reads it so meanwhile.
 */
static int32_t run_cast(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    locale_t plain, old;
    int32_t status;

    if (tfr_call_input(&k->call, 0)->dtype != TFR_DTYPE_STRING &&
        tfr_call_output(&k->call, 0)->dtype != TFR_DTYPE_STRING)
        return cast_all(k, launch, err);
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return tfr_fail(err, TFR_ENOMEM, "no memory for the locale C");
    old = uselocale(plain);
    status = cast_all(k, launch, err);
    uselocale(old);
    freelocale(plain);
    return status;
}

static bool castable(const tfr_operand *o)
{
    return naive_is_number(o->dtype) || o->dtype == TFR_DTYPE_BOOL || o->dtype == TFR_DTYPE_STRING;
}

static int32_t supports_cast(const tfr_call *call, tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);

    if (!castable(x) || !castable(y))
        return tfr_decline(answer, TFR_REASON_DTYPE, "no cast from element type %d to %d", x->dtype,
                           y->dtype);
    return TFR_OK;
}

const naive_op naive_cast_ops[] = {
    {"", "Cast", 28, supports_cast, run_cast, NULL, NAIVE_STRIDED, NULL},
    {"", "CastLike", 25, supports_cast, run_cast, NULL, NAIVE_STRIDED, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
