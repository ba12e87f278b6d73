/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HannWindow, HammingWindow, BlackmanWindow (ONNX 17): cosine sums over n = 0 ... size - 1 with
 * t = 2 pi n / N, N = size if periodic, else size - 1:
 *   Hann 0.5 - 0.5 cos(t); Hamming 25/46 - 21/46 cos(t); Blackman 0.42 - 0.5 cos(t) + 0.08 cos(2t)
 * In double, rounded once. A symmetric window of one point is 1.
 */
#include "naive.h"

#include <math.h>

static int32_t run_window(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *y = tfr_call_output(&k->call, 0);
    void *py = naive_out(k, launch, 0);
    int64_t size = tfr_operand_elements(y), n;
    double period = (double)(tfr_call_int(&k->call, "periodic", 1) ? size : size - 1);
    double a0 = 0.5, a1 = 0.5, a2 = 0;

    (void)err;
    if (k->op->name[0] == 'B') {
        a0 = 0.42;
        a2 = 0.08;
    } else if (k->op->name[2] == 'm') {
        a0 = 25.0 / 46;
        a1 = 21.0 / 46;
    }
    for (n = 0; n < size; n++) {
        double t = 2 * 3.14159265358979323846 * (double)n / period;
        naive_set(y->dtype, py, n, period == 0 ? 1 : a0 - a1 * cos(t) + a2 * cos(2 * t));
    }
    return TFR_OK;
}

const naive_op naive_signal_window_ops[] = {
    {"", "BlackmanWindow", 17, NULL, run_window, NULL, 0, NULL},
    {"", "HammingWindow", 17, NULL, run_window, NULL, 0, NULL},
    {"", "HannWindow", 17, NULL, run_window, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
