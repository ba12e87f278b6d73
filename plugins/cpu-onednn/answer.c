/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.c: the checks that supports is made of. All are pure and allocate nothing; no primitive
 * is created to find out.
 */
#include "onednn.h"

#include <limits.h>
#include <math.h>
#include <string.h>

dnnl_data_type_t onednn_type(int32_t dtype)
{
    switch (dtype) {
    case TFR_DTYPE_F32:
        return dnnl_f32;
    case TFR_DTYPE_BF16:
        return dnnl_bf16;
    case TFR_DTYPE_F16:
        return dnnl_f16;
    case TFR_DTYPE_I32:
        return dnnl_s32;
    case TFR_DTYPE_I8:
        return dnnl_s8;
    case TFR_DTYPE_U8:
    case TFR_DTYPE_BOOL:
        return dnnl_u8;
    default:
        return dnnl_data_type_undef;
    }
}

uint32_t onednn_types_here(const tfr_plugin_device *device, uint32_t types)
{
    if (!device->bf16)
        types &= ~(1u << TFR_DTYPE_BF16);
    if (!device->int8)
        types &= ~(1u << TFR_DTYPE_U8 | 1u << TFR_DTYPE_I8);
    if (!device->f16)
        types &= ~(1u << TFR_DTYPE_F16);
    return device->bf16 || device->f16 ? types : types & ~(1u << TFR_DTYPE_F32);
}

static const char *dtype_name(int32_t dtype)
{
    switch (dtype) {
#define NAME_CASE(name, number, bits, text)                                                        \
    case number:                                                                                   \
        return text;
        TFR_DTYPE_LIST(NAME_CASE)
#undef NAME_CASE
    default:
        return "an unknown type";
    }
}

/* Binary16 as float: by its fields, since not every compiler has the type. */
static float half_value(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    float value = exponent == 31 ? (fraction ? NAN : INFINITY)
                  : exponent     ? ldexpf((float)(fraction + 1024), exponent - 25)
                                 : ldexpf((float)fraction, -24);

    return half & 0x8000 ? -value : value;
}

float onednn_known(const tfr_operand *o, int64_t i)
{
    const char *at = o->data; /* that may lie anywhere */
    float value;
    uint32_t bits;
    uint16_t half;

    if (o->dtype == TFR_DTYPE_F32) {
        memcpy(&value, at + i * (int64_t)sizeof value, sizeof value);
        return value;
    }
    memcpy(&half, at + i * (int64_t)sizeof half, sizeof half);
    if (o->dtype == TFR_DTYPE_F16)
        return half_value(half);
    bits = (uint32_t)half << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- checks of one thing ---- */

static bool want_float(const tfr_plugin_device *device, const tfr_operand *o, tfr_answer *answer,
                       bool half_ok, const char *which, uint32_t i)
{
    if (!o || o->dtype == TFR_DTYPE_F32)
        return true;
    if (half_ok && (o->dtype == TFR_DTYPE_BF16 || o->dtype == TFR_DTYPE_F16)) {
        bool brain = o->dtype == TFR_DTYPE_BF16;
        if (brain ? device->bf16 : device->f16)
            return true;
        if (!brain && DNNL_VERSION_MAJOR < 3)
            tfr_decline(answer, TFR_REASON_LIBRARY_MISSING,
                        "%s %u is float16, which oneDNN %d has not; oneDNN 3 is needed", which, i,
                        DNNL_VERSION_MAJOR);
        else
            tfr_decline(answer, TFR_REASON_DEVICE_FEATURE,
                        "%s %u is %s, and this processor has no %s", which, i, dtype_name(o->dtype),
                        brain ? "avx512_bf16" : "avx512_fp16");
        return false;
    }
    tfr_decline(answer, TFR_REASON_DTYPE, "%s %u is %s, only float32%s is done here", which, i,
                dtype_name(o->dtype), half_ok ? ", bfloat16 or float16" : "");
    return false;
}

bool onednn_want_float(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                       uint64_t other_inputs, bool half_ok)
{
    const tfr_operand *first = tfr_call_input(call, 0);
    uint32_t i;

    for (i = 0; i < call->n_inputs; i++) {
        const tfr_operand *o = tfr_call_input(call, i);
        if (i < 64 && (other_inputs >> i & 1))
            continue;
        if (!want_float(device, o, answer, half_ok, "input", i))
            return false;
        if (o && first && o->dtype != first->dtype) {
            tfr_decline(answer, TFR_REASON_DTYPE, "input %u is %s and input 0 is %s", i,
                        dtype_name(o->dtype), dtype_name(first->dtype));
            return false;
        }
    }
    return want_float(device, tfr_call_output(call, 0), answer, half_ok, "output", 0);
}

bool onednn_want_rank(const tfr_call *call, tfr_answer *answer, uint32_t i, int low, int high)
{
    const tfr_operand *o = tfr_call_input(call, i);

    if (!o || (o->rank >= low && o->rank <= high))
        return true;
    tfr_decline(answer, TFR_REASON_RANK, "input %u has rank %d, only %d to %d are done here", i,
                (int)o->rank, low, high);
    return false;
}

bool onednn_want_one_output(const tfr_call *call, tfr_answer *answer)
{
    uint32_t i;

    for (i = 1; i < call->n_outputs; i++) {
        if (tfr_call_output(call, i)) {
            tfr_decline(answer, TFR_REASON_ATTRIBUTE, "output %u is not done here, only output 0",
                        i);
            return false;
        }
    }
    return true;
}

/* The library and its generated code count in 32 bits, bytes among other things. */
#define MAX_WINDOW 1048576

bool onednn_want_window_ints(const onednn_window *w, int n, tfr_answer *answer)
{
    int i, k;

    for (i = 0; i < n; i++) {
        int64_t reach = (w->kernel[i] - 1) * (w->dilation[i] + 1) + 1;
        int64_t sizes[4] = {reach, w->stride[i], w->pad_begin[i], w->pad_end[i]};
        for (k = 0; k < 4; k++) {
            if (sizes[k] <= MAX_WINDOW)
                continue;
            tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "the %s of axis %d is %lld, the limit is %d",
                        k == 0   ? "window"
                        : k == 1 ? "stride"
                                 : "padding",
                        i + 2, (long long)sizes[k], MAX_WINDOW);
            return false;
        }
    }
    return true;
}

void onednn_in_place(tfr_answer *answer, int input)
{
    answer->in_place[0].input = (int16_t)input;
    answer->in_place[0].output = 0;
    answer->n_in_place = 1;
}

/* ---- supports ---- */

/* The limits of the library as a whole. empty_ok: an operand that only describes the call. */
static bool check_operand(const tfr_operand *o, bool empty_ok, const char *which, uint32_t i,
                          tfr_answer *answer)
{
    int64_t n = tfr_operand_elements(o);

    if (o->flags & TFR_OPERAND_DYNAMIC)
        tfr_decline(answer, TFR_REASON_DYNAMIC_SHAPE, "the dims of %s %u are not known", which, i);
    else if (o->rank > DNNL_MAX_NDIMS)
        tfr_decline(answer, TFR_REASON_RANK, "%s %u has rank %d, the library's limit is %d", which,
                    i, (int)o->rank, DNNL_MAX_NDIMS);
    else if (n == 0 && !empty_ok)
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "%s %u has 0 elements", which, i);
    else if (n > INT_MAX)
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "%s %u has %lld elements, the limit is %d",
                    which, i, (long long)n, INT_MAX);
    else
        return true;
    return false;
}

int32_t onednn_supports(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                        tfr_err *err)
{
    const onednn_op *op = onednn_find_op(call);
    int strided = -1;
    uint32_t i;

    (void)err;
    if (!op)
        return tfr_decline(answer, TFR_REASON_UNKNOWN_OP, "%s is not an op of this backend",
                           call->name);
    /* The library has an attribute for it from version 3.3 on; before it promises nothing. */
    if (tfr_call_unknown(call, 0))
        return tfr_decline(answer, TFR_REASON_NONDETERMINISTIC,
                           "equal bits in all runs are not promised by oneDNN");
    for (i = 0; i < call->n_inputs; i++) {
        const tfr_operand *o = tfr_call_input(call, i);
        if (!o)
            continue;
        if (!check_operand(o, i > 0, "input", i, answer))
            return TFR_OK;
        if (!tfr_operand_is_plain(o))
            strided = (int)i;
    }
    for (i = 0; i < call->n_outputs; i++) {
        const tfr_operand *o = tfr_call_output(call, i);
        if (!o)
            continue;
        if (!check_operand(o, false, "output", i, answer))
            return TFR_OK;
        if (!tfr_operand_is_plain(o))
            strided = (int)(call->n_inputs + i);
    }
    answer->verdict = TFR_VERDICT_YES;
    op->supports(device, call, answer);
    if (answer->verdict == TFR_VERDICT_YES && strided >= 0) {
        bool input = strided < (int)call->n_inputs;
        tfr_decline(answer, TFR_REASON_LAYOUT, "%s %d is strided, and only plain ones are done",
                    input ? "input" : "output", input ? strided : strided - (int)call->n_inputs);
        answer->verdict = TFR_VERDICT_REORDER;
    }
    return TFR_OK;
}
