/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dropout (ONNX 22; Srivastava et al. 2014): inference copies x and makes the mask true. In
 * training mask = u >= ratio with u uniform in [0, 1), and y = x * mask / (1 - ratio); ratio 1
 * gives zeros. Runs differ, with a seed too: the seed starts a sequence, run n takes its n-th part,
 * so that a training with a seed can be repeated and yet drops other elements in each step.
 */
#include "philox.h"

/* Draws in training only; without a known mode it might. */
static int32_t supports_dropout(const tfr_call *call, tfr_answer *answer)
{
    const tfr_operand *mode = tfr_call_input(call, 2);

    if (mode && (!mode->data || naive_get_int(mode->dtype, mode->data, 0)))
        answer->flags |= TFR_ANSWER_RANDOM | TFR_ANSWER_NONDETERMINISTIC;
    return TFR_OK;
}

static int32_t run_dropout(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *ratio_input = tfr_call_input(&k->call, 1);
    const tfr_operand *mode = tfr_call_input(&k->call, 2), *mask = tfr_call_output(&k->call, 1);
    const void *px = naive_in(k, launch, 0);
    void *py = naive_out(k, launch, 0), *pm = naive_out(k, launch, 1);
    bool training = mode && naive_get_int(mode->dtype, naive_in(k, launch, 2), 0);
    double ratio = ratio_input ? naive_get(ratio_input->dtype, naive_in(k, launch, 1), 0) : 0.5;
    naive_random r = {{0}, 0};
    int64_t n = tfr_operand_elements(x), i;

    if (training && !(ratio >= 0 && ratio <= 1))
        return tfr_fail(err, TFR_EINVAL, "Dropout ratio %g is not in [0, 1)", ratio);
    if (training)
        r = naive_random_start(k, launch, true);
    for (i = 0; i < n; i++) {
        bool keep = !training || naive_random_uniform(&r, i, TFR_DTYPE_F32) >= ratio;
        if (!training)
            naive_copy(x->dtype, py, i, px, i);
        else
            naive_set(x->dtype, py, i, keep ? naive_get(x->dtype, px, i) / (1 - ratio) : 0);
        if (mask)
            naive_set_int(mask->dtype, pm, i, keep);
    }
    return TFR_OK;
}

const naive_op naive_dropout_ops[] = {
    {"", "Dropout", 22, supports_dropout, run_dropout, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
