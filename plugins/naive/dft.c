/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DFT (ONNX 20) and STFT (ONNX 17), by their sums, with complex numbers as pairs (re, im):
 *
 *   DFT      y[k] = sum over n < N of x[n] * e^(-2 pi i k n / N) along axis; inverse: +, and 1/N
 *   IRFFT    (inverse and onesided) the real inverse of the spectrum whose bins beyond N/2 are the
 *            conjugates of those before; im of bin 0, and of bin N/2 if N is even, is ignored
 *   STFT     Y[b,f,k] = sum over n < N of signal[b, f*step + n] * window[n] * e^(-2 pi i k n / N)
 *
 * N = dft_length: x is cut or taken as 0 behind. onesided keeps the N/2 + 1 first bins. The last
 * dim is 1 (real) or 2. The core puts axis, dft_length, frame_step and frame_length into
 * attributes; without them the inputs are read. Sums in double, rounded once; the angle is reduced
 * by (k * n) mod N first.
 */
#include "tensor.h"

#include <math.h>

/* A signal in a tensor: element n of it begins at begin + n * step. */
typedef struct signal {
    const naive_tensor *x, *window; /* window NULL = all ones */
    int64_t begin, step, length;    /* elements that are there; 0 beyond */
    bool is_complex;
} signal;

static double turn(int64_t k, int64_t n, int64_t N)
{
    return 2 * acos(-1.0) * (double)(k % N * (n % N) % N) / (double)N;
}

/* Bin k of the transform of N elements; sign -1 forward, 1 backward. */
static void sum_bin(const signal *s, int64_t k, int64_t N, int sign, double *re, double *im)
{
    int64_t n;

    *re = *im = 0;
    for (n = 0; n < N && n < s->length; n++) {
        double a = sign * turn(k, n, N), w = s->window ? naive_read(s->window, n) : 1;
        double x = w * naive_read(s->x, s->begin + n * s->step),
               y = s->is_complex ? w * naive_read(s->x, s->begin + n * s->step + 1) : 0;
        *re += x * cos(a) - y * sin(a);
        *im += x * sin(a) + y * cos(a);
    }
}

/* Element n of the real signal of N elements whose spectrum's first half s is. */
static double sum_real(const signal *s, int64_t n, int64_t N)
{
    double sum = 0;
    int64_t k;

    for (k = 0; k <= N / 2 && k < s->length; k++) {
        double a = turn(k, n, N), x = naive_read(s->x, s->begin + k * s->step),
               y = s->is_complex ? naive_read(s->x, s->begin + k * s->step + 1) : 0;
        if (k == 0 || 2 * k == N)
            sum += x * cos(a);
        else
            sum += 2 * (x * cos(a) - y * sin(a));
    }
    return sum / (double)N;
}

static int32_t run_dft(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), y = naive_output(k, launch, 0);
    naive_list length = naive_list_of(k, launch, "dft_length", 1),
               axes = naive_list_of(k, launch, "axis", 2);
    bool inverse = tfr_call_int(&k->call, "inverse", 0) != 0,
         onesided = tfr_call_int(&k->call, "onesided", 0) != 0;
    int32_t axis = naive_axis(axes.n ? naive_list_at(&axes, 0) : -2, x.rank), last = x.rank - 1, d;
    int64_t strides[TFR_MAX_RANK], N = inverse && onesided ? 2 * (x.dims[axis] - 1) : x.dims[axis];
    naive_iter it;
    int64_t i;

    if (length.n)
        N = naive_list_at(&length, 0);
    if (y.n > 0 && (N < 1 || N > INT32_MAX))
        return tfr_fail(err, TFR_EINVAL, "dft_length %lld is outside [1, %d]", (long long)N,
                        INT32_MAX);
    naive_dims_to_strides(x.rank, x.dims, strides);
    for (naive_iter_init(&it, last, y.dims), i = 0; it.left > 0 && y.n > 0;
         naive_iter_next(&it), i++) {
        signal s = {&x, NULL, 0, strides[axis], x.dims[axis], x.dims[last] == 2};
        double re, im;
        for (d = 0; d < last; d++)
            s.begin += d == axis ? 0 : it.index[d] * strides[d];
        if (inverse && onesided) {
            naive_write(&y, i, sum_real(&s, it.index[axis], N));
            continue;
        }
        sum_bin(&s, it.index[axis], N, inverse ? 1 : -1, &re, &im);
        naive_write(&y, 2 * i, inverse ? re / (double)N : re);
        naive_write(&y, 2 * i + 1, inverse ? im / (double)N : im);
    }
    return TFR_OK;
}

static int32_t run_stft(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    naive_tensor x = naive_input(k, launch, 0), window = naive_input(k, launch, 2),
                 y = naive_output(k, launch, 0);
    naive_list step = naive_list_of(k, launch, "frame_step", 1),
               length = naive_list_of(k, launch, "frame_length", 3);
    int64_t N = length.n ? naive_list_at(&length, 0) : window.n ? window.n : x.dims[1], i = 0;
    int64_t hop = step.n ? naive_list_at(&step, 0) : 0, parts = x.dims[2];
    naive_iter it;

    if (y.n > 0 && (N < 1 || N > INT32_MAX || (window.operand && window.n != N) || hop < 1))
        return tfr_fail(err, TFR_EINVAL,
                        "frames of %lld do not fit a window of %lld and steps of %lld",
                        (long long)N, (long long)window.n, (long long)hop);
    for (naive_iter_init(&it, 3, y.dims); it.left > 0; naive_iter_next(&it), i++) {
        int64_t first = it.index[1] * hop;
        signal s = {&x,
                    window.operand ? &window : NULL,
                    (it.index[0] * x.dims[1] + first) * parts,
                    parts,
                    x.dims[1] - first,
                    parts == 2};
        double re, im;
        sum_bin(&s, it.index[2], N, -1, &re, &im);
        naive_write(&y, 2 * i, re);
        naive_write(&y, 2 * i + 1, im);
    }
    return TFR_OK;
}

const naive_op naive_dft_ops[] = {
    {.domain = "", .name = "DFT", .since_version = 20, .run = run_dft},
    {.domain = "", .name = "STFT", .since_version = 17, .run = run_stft},
    {.name = NULL},
};
