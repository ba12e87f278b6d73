/* SPDX-License-Identifier: Apache-2.0 */
/*
 * non_zero.c: NonZero, what plugins/naive/non_zero.c says of it. Numbers of elements that are not
 * zero are gathered at the end of the output, without a branch for each, and become columns of
 * indices from the front on: no column is written over before it is read, for none lies behind its
 * number.
 */
#include "non_zero.h"

#include <string.h>

typedef struct state {
    int64_t n, dims[TFR_MAX_RANK];
    int32_t rank;
    int width;
    uint64_t mask; /* of the bits that are not all 0 in what is not zero */
    const void *known;
} state;

#define GATHER(type)                                                                               \
    do {                                                                                           \
        const type *p = from, mask = (type)s->mask;                                                \
        for (i = 0; i < s->n; i++) {                                                               \
            to[count] = i;                                                                         \
            count += (p[i] & mask) != 0;                                                           \
        }                                                                                          \
    } while (0)

static int64_t gather(const state *s, const void *from, int64_t *to)
{
    int64_t count = 0, i;

    if (s->width == 1)
        GATHER(uint8_t);
    else if (s->width == 2)
        GATHER(uint16_t);
    else if (s->width == 4)
        GATHER(uint32_t);
    else
        GATHER(uint64_t);
    return count;
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    const tfr_arg *x = &launch->args[0], *y = &launch->args[1];
    int64_t *to = y->address, *numbers = to + (s->rank - 1) * s->n, index[TFR_MAX_RANK] = {0};
    const int32_t last = s->rank - 1;
    int64_t count, i, line = 0;
    int32_t d;

    (void)device, (void)err;
    count = gather(s, x->address ? x->address : s->known, numbers);
    for (i = 0; i < count; i++) {
        const int64_t number = numbers[i];
        if (number - line >= s->dims[last]) {
            int64_t rest = number / s->dims[last];
            line = rest * s->dims[last];
            for (d = last - 1; d >= 0; rest /= s->dims[d--])
                index[d] = rest % s->dims[d];
        }
        for (d = 0; d < last; d++)
            to[d * count + i] = index[d];
        to[last * count + i] = number - line;
    }
    y->dims[0] = s->rank;
    y->dims[1] = count;
    return TFR_OK;
}

void native_non_zero_supports(const tfr_plugin_device *device, const tfr_call *call,
                              tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);

    (void)device;
    if (!(native_find_op(call)->types >> x->dtype & 1))
        tfr_decline(answer, TFR_REASON_DTYPE, "numbers of one to eight bytes and bool are done");
    else if (!x->rank)
        tfr_decline(answer, TFR_REASON_RANK, "a scalar is left to naive");
}

void native_non_zero_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    state *s = native_set_function(b, run, NULL, sizeof *s, "non_zero");

    if (!s)
        return;
    s->n = tfr_operand_elements(x);
    s->rank = x->rank;
    memcpy(s->dims, x->dims, (size_t)x->rank * sizeof *s->dims);
    s->width = (int)tfr_dtype_bits(x->dtype) / 8;
    s->mask = UINT64_MAX;
    if (x->dtype == TFR_DTYPE_F32 || x->dtype == TFR_DTYPE_F64 || x->dtype == TFR_DTYPE_F16 ||
        x->dtype == TFR_DTYPE_BF16)
        s->mask = UINT64_MAX >> (65 - 8 * s->width);
    s->known = x->data;
}
