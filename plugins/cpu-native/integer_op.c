/* SPDX-License-Identifier: Apache-2.0 */
/* integer_op.c: operands, zero points and scales of the ops that multiply 8-bit integers. */
#include "integer_op.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "ml.h"

/* Sums of more products of 255 x 255 may leave 32 bits. */
enum { MOST_TERMS = INT32_MAX / (255 * 255) };

native_int8_operands native_int8_find_operands(const tfr_call *call, int64_t k, int64_t n)
{
    static const int integer[NATIVE_INT8_ROLES] = {0, -1, 2, 1, -1, 3, -1, -1, -1};
    native_int8_operands o = {.k = k, .n = n, .output = (int)call->n_inputs};
    int i;

    o.quantized = strncmp(call->name, "QLinear", 7) == 0;
    for (i = 0; i < NATIVE_INT8_ROLES; i++) {
        const int at = o.quantized ? i : integer[i];
        const tfr_operand *x = at >= 0 ? tfr_call_input(call, (uint32_t)at) : NULL;
        o.at[i] = x ? at : -1;
        o.known[i] = x ? x->data : NULL;
        o.count[i] = x ? tfr_operand_elements(x) : 0;
    }
    o.a_signed = tfr_call_input(call, (uint32_t)o.at[NATIVE_INT8_A])->dtype == TFR_DTYPE_I8;
    o.b_signed = tfr_call_input(call, (uint32_t)o.at[NATIVE_INT8_B])->dtype == TFR_DTYPE_I8;
    o.y_signed = tfr_call_output(call, 0)->dtype == TFR_DTYPE_I8;
    return o;
}

static bool is_bytes(const tfr_operand *x)
{
    return x->dtype == TFR_DTYPE_U8 || x->dtype == TFR_DTYPE_I8;
}

/* rows: how many zero points A may have; 1 = only one. */
bool native_int8_check_operands(const native_int8_operands *o, const tfr_call *call, int64_t rows,
                                tfr_answer *answer)
{
    static const native_int8_role ones[] = {NATIVE_INT8_A_SCALE, NATIVE_INT8_Y_SCALE,
                                            NATIVE_INT8_Y_ZERO};
    const int64_t a_zeros = o->count[NATIVE_INT8_A_ZERO];
    size_t i;

    if (!is_bytes(tfr_call_input(call, (uint32_t)o->at[NATIVE_INT8_B])) ||
        (o->quantized &&
         (!is_bytes(tfr_call_output(call, 0)) || tfr_call_input(call, 1)->dtype != TFR_DTYPE_F32)))
        return tfr_decline(answer, TFR_REASON_DTYPE,
                           "integers of 8 bits with scales of float32 are done here"),
               false;
    for (i = 0; i < 3; i++)
        if (o->count[ones[i]] > 1)
            return tfr_decline(answer, TFR_REASON_RANK, "one scale of A and of Y is done here"),
                   false;
    for (i = 0; i < 2; i++) {
        const int64_t n = o->count[i ? NATIVE_INT8_B_ZERO : NATIVE_INT8_B_SCALE];
        if (n > 1 && n != o->n)
            return tfr_decline(answer, TFR_REASON_RANK,
                               "a scale and zero point for each matrix of B are not done here"),
                   false;
    }
    if (a_zeros > 1 && (a_zeros != rows || o->quantized))
        return tfr_decline(answer, TFR_REASON_RANK, "%lld zero points of A are not done here",
                           (long long)a_zeros),
               false;
    if (o->quantized && o->k > MOST_TERMS)
        return tfr_decline(answer, TFR_REASON_SIZE_LIMIT,
                           "sums of %lld products may leave 32 bits, %d are done here",
                           (long long)o->k, MOST_TERMS),
               false;
    return true;
}

/* ---- zero points and scales ---- */

const void *native_int8_operand(const native_int8_operands *o, const tfr_launch *launch,
                                native_int8_role role)
{
    if (o->at[role] < 0)
        return NULL;
    return launch ? native_argument(launch, o->at[role], o->known[role]) : o->known[role];
}

/* One zero point into *one, several into to. */
static const int32_t *read_zeros(const void *x, int64_t n, bool is_signed, int32_t *one,
                                 int32_t *to)
{
    int64_t i;

    *one = !x ? 0 : is_signed ? *(const int8_t *)x : *(const uint8_t *)x;
    if (!x || n <= 1)
        return NULL;
    for (i = 0; i < n; i++)
        to[i] = is_signed ? ((const int8_t *)x)[i] : ((const uint8_t *)x)[i];
    return to;
}

size_t native_int8_params_bytes(const native_int8_operands *o)
{
    return native_int8_line((size_t)o->count[NATIVE_INT8_A_ZERO] * sizeof(int32_t)) +
           native_int8_line((size_t)o->count[NATIVE_INT8_B_ZERO] * sizeof(int32_t)) +
           native_int8_line((size_t)o->n * sizeof(double));
}

/* Whether S + bias may leave 32 bits. */
static bool is_far(const native_int8_operands *o, const int32_t *bias)
{
    const int64_t limit = INT32_MAX - o->k * 255 * 255;
    int64_t i;

    for (i = 0; bias && i < o->n; i++)
        if (bias[i] > limit || bias[i] < -limit)
            return true;
    return false;
}

static void read_finish(const native_int8_operands *o, const tfr_launch *launch, double *rescale,
                        native_int8_finish *f)
{
    const float *a = native_int8_operand(o, launch, NATIVE_INT8_A_SCALE);
    const float *b = native_int8_operand(o, launch, NATIVE_INT8_B_SCALE);
    const float *y = native_int8_operand(o, launch, NATIVE_INT8_Y_SCALE);
    int64_t i;

    for (i = 0; i < o->count[NATIVE_INT8_B_SCALE]; i++)
        rescale[i] = (double)*a * (double)b[i] / (double)*y;
    f->result = o->y_signed ? NATIVE_INT8_TO_I8 : NATIVE_INT8_TO_U8;
    f->bias = native_int8_operand(o, launch, NATIVE_INT8_BIAS);
    f->bias_is_far = is_far(o, f->bias);
    f->rescale = rescale;
    f->scale_each = o->count[NATIVE_INT8_B_SCALE] > 1;
    f->low = o->y_signed ? INT8_MIN : 0;
    f->high = o->y_signed ? INT8_MAX : UINT8_MAX;
    read_zeros(native_int8_operand(o, launch, NATIVE_INT8_Y_ZERO), 1, o->y_signed, &f->zero, NULL);
}

void native_int8_read_params(const native_int8_operands *o, const tfr_launch *launch, void *memory,
                             native_int8_args *args)
{
    const int64_t n_a = o->count[NATIVE_INT8_A_ZERO], n_b = o->count[NATIVE_INT8_B_ZERO];
    char *at = memory;
    int32_t *a_zeros = (int32_t *)(void *)at, *b_zeros;

    memset(args, 0, sizeof *args);
    at += native_int8_line((size_t)n_a * sizeof(int32_t));
    b_zeros = (int32_t *)(void *)at;
    at += native_int8_line((size_t)n_b * sizeof(int32_t));
    args->a_zeros = read_zeros(native_int8_operand(o, launch, NATIVE_INT8_A_ZERO), n_a, o->a_signed,
                               &args->a_zero, a_zeros);
    args->b_zeros = read_zeros(native_int8_operand(o, launch, NATIVE_INT8_B_ZERO), n_b, o->b_signed,
                               &args->b_zero, b_zeros);
    if (o->quantized)
        read_finish(o, launch, (double *)(void *)at, &args->finish);
}

void native_int8_read_zeros_of_b(const native_int8_operands *o, void *memory,
                                 native_int8_args *args)
{
    args->b_zeros = read_zeros(native_int8_operand(o, NULL, NATIVE_INT8_B_ZERO),
                               o->count[NATIVE_INT8_B_ZERO], o->b_signed, &args->b_zero, memory);
}

/* A thread multiplies about 60 pairs a nanosecond; docs/decisions/0010-one-pool.md. */
int native_int8_threads(const tfr_plugin_device *device, double products)
{
    return products / 60 < 8000 ? 1 : device->threads;
}
