/* SPDX-License-Identifier: Apache-2.0 */
/* plan_pad.c: launches of pad.cu and trilu.cu: elements that stay where they are, or get room. */
#include "plan_kit.h"

#include <string.h>

/* Elements in front of and behind each axis; negative ones are cut off. */
typedef struct border {
    int64_t before[TFR_MAX_RANK], after[TFR_MAX_RANK];
} border;

static int64_t cut_off(int64_t n)
{
    return n < 0 ? -n : 0;
}

/* Axes without a border that follow each other are one. False: a no. */
static bool fill_padding(const tfr_operand *x, const tfr_operand *y, const border *b, int32_t mode,
                         tfr_padding *out, tfr_answer *answer)
{
    int64_t strides[TFR_MAX_RANK];
    bool was_plain = false;

    memset(out, 0, sizeof *out);
    out->n = (int32_t)tfr_operand_elements(y);
    out->mode = mode;
    cuda_dims_to_strides(x->rank, x->dims, strides);
    for (int32_t d = 0; d < x->rank; d++) {
        const int64_t kept = x->dims[d] - cut_off(b->before[d]) - cut_off(b->after[d]);
        const bool is_plain = !b->before[d] && !b->after[d];
        const int32_t at = is_plain && was_plain ? out->rank - 1 : out->rank;
        if (mode != TFR_PAD_CONSTANT && kept <= 0 && out->n) {
            tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "no element is left of axis %d", d);
            return false;
        }
        if (at == TFR_WALK_DIMS) {
            tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "borders in more than %d axes",
                        TFR_WALK_DIMS);
            return false;
        }
        out->dims[at] = cuda_divisor(y->dims[d] * (at < out->rank ? out->dims[at].d : 1));
        out->kept[at] = (int32_t)kept * (at < out->rank ? out->kept[at] : 1);
        out->pad[at] = b->before[d] > 0 ? (int32_t)b->before[d] : 0;
        out->stride[at] = (int32_t)strides[d];
        out->offset += (int32_t)(cut_off(b->before[d]) * strides[d]);
        out->rank = at + 1;
        was_plain = is_plain;
    }
    return true;
}

static void plan_border(const cuda_chip *chip, const tfr_call *call, const border *b, int32_t mode,
                        uint32_t value, tfr_answer *answer, cuda_plan *plan)
{
    static const char *const kernels[] = {"pad_8", "pad_16", "pad_32", "pad_64"};
    const int size = cuda_movable(call, answer);
    tfr_padding p;
    cuda_step *step;

    if (size < 0 ||
        !fill_padding(tfr_call_input(call, 0), tfr_call_output(call, 0), b, mode, &p, answer) ||
        p.n == 0)
        return;
    step = cuda_plan_add(plan, kernels[size], cuda_blocks(chip, p.n, 256), 256);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, value);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &p, sizeof p);
}

CUDA_FAMILY(cuda_pad)
{
    static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};
    const tfr_operand *x = tfr_call_input(call, 0), *value = tfr_call_input(call, 2);
    const char *given = tfr_call_string(call, "mode", "constant");
    uint64_t n;
    const int64_t *pads = cuda_ints(call, "pads", &n);
    int32_t mode = TFR_PAD_WRAP, d;
    border b;

    while (mode > 0 && strcmp(given, modes[mode]) != 0)
        mode--;
    for (d = 0; d < x->rank; d++) {
        b.before[d] = pads[d];
        b.after[d] = pads[x->rank + d];
    }
    plan_border(chip, call, &b, mode,
                value && tfr_operand_elements(value) ? 2 : (uint32_t)CUDA_NO_OPERAND, answer, plan);
}

/* The larger half of what is odd is behind. */
CUDA_FAMILY(cuda_center_crop_pad)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    border b;

    for (int32_t d = 0; d < x->rank; d++) {
        const int64_t more = y->dims[d] - x->dims[d];
        b.before[d] = more / 2;
        b.after[d] = more - more / 2;
    }
    plan_border(chip, call, &b, TFR_PAD_CONSTANT, CUDA_NO_OPERAND, answer, plan);
}

CUDA_FAMILY(cuda_trilu)
{
    static const char *const kernels[] = {"trilu_8", "trilu_16", "trilu_32", "trilu_64"};
    const tfr_operand *x = tfr_call_input(call, 0);
    const int size = cuda_movable(call, answer);
    const int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    const int64_t k = tfr_call_int(call, "k", 0);
    tfr_triangle t = {.n = (int32_t)tfr_operand_elements(x),
                      .upper = tfr_call_int(call, "upper", 1) != 0,
                      .k = (int32_t)(k < -rows     ? -rows
                                     : k > columns ? columns
                                                   : k)};
    cuda_step *step;

    if (size < 0)
        return;
    cuda_may_share(answer, 0, 0);
    t.rows = cuda_divisor(rows);
    t.columns = cuda_divisor(columns);
    step = t.n ? cuda_plan_add(plan, kernels[size], cuda_blocks(chip, t.n, 256), 256) : NULL;
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &t, sizeof t);
}
