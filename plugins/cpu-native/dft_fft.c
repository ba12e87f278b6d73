/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dft_fft.c: the transform of dft.h. Each pass takes one factor r of the length, goes from one
 * buffer to the other and leaves results in order (Stockham): what is r parts apart becomes r
 * neighbours. The numbers of a part that were transformed already lie together and share factors.
 */
#include <math.h>
#include <string.h>

#include "dft.h"

enum { MAX_FACTOR = 13 };

/* A factor of n, at most MAX_FACTOR; 0 = there is none. 4 before 2. */
static int64_t find_factor(int64_t n)
{
    int64_t r;

    if (n % 4 == 0)
        return 4;
    for (r = 2; r <= MAX_FACTOR; r++)
        if (n % r == 0)
            return r;
    return 0;
}

int64_t native_fft_length(int64_t n)
{
    int64_t rest = n, length = 1, r;

    while (rest > 1 && (r = find_factor(rest)) > 0)
        rest /= r;
    if (rest <= 1)
        return n;
    while (length < 2 * n - 1)
        length *= 2;
    return length;
}

int64_t native_fft_table(int64_t n)
{
    const int64_t length = native_fft_length(n);
    return length == n ? n : 2 * length + n;
}

static native_complex times(native_complex a, native_complex b)
{
    return (native_complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Part p of m: s numbers beside each other from each of r places. */
static void pass_any(const native_fft *f, int r, int64_t p, int64_t m, int64_t s,
                     const native_complex *x, native_complex *y)
{
    const int64_t step = f->length / (m * r), unit = f->length / r;
    int64_t q;
    int j, k;

    for (k = 0; k < r; k++) {
        native_complex w[MAX_FACTOR];
        for (j = 0; j < r; j++)
            w[j] = times(f->turns[j * k % r * unit], f->turns[p * k * step]);
        for (q = 0; q < s; q++) {
            native_complex sum = times(x[q + s * p], w[0]);
            for (j = 1; j < r; j++) {
                const native_complex t = times(x[q + s * (p + m * j)], w[j]);
                sum.re += t.re;
                sum.im += t.im;
            }
            y[q + s * (r * p + k)] = sum;
        }
    }
}

static void pass_4(const native_fft *f, int64_t p, int64_t m, int64_t s, const native_complex *x,
                   native_complex *y)
{
    const int64_t step = f->length / (m * 4);
    const native_complex w1 = f->turns[p * step], w2 = f->turns[2 * p * step],
                         w3 = f->turns[3 * p * step];
    int64_t q;

    x += s * p;
    y += 4 * s * p;
    for (q = 0; q < s; q++) {
        const native_complex a = x[q], b = x[q + s * m], c = x[q + 2 * s * m], d = x[q + 3 * s * m];
        const native_complex even = {a.re + c.re, a.im + c.im}, less = {a.re - c.re, a.im - c.im};
        const native_complex odd = {b.re + d.re, b.im + d.im}, turned = {b.im - d.im, d.re - b.re};
        y[q] = (native_complex){even.re + odd.re, even.im + odd.im};
        y[q + s] = times((native_complex){less.re + turned.re, less.im + turned.im}, w1);
        y[q + 2 * s] = times((native_complex){even.re - odd.re, even.im - odd.im}, w2);
        y[q + 3 * s] = times((native_complex){less.re - turned.re, less.im - turned.im}, w3);
    }
}

/* Of f->length numbers. */
static native_complex *transform(const native_fft *f, native_complex *x, native_complex *y)
{
    int64_t n = f->length, s = 1, p;

    while (n > 1) {
        const int64_t r = find_factor(n), m = n / r;
        native_complex *keep = x;
        for (p = 0; p < m; p++) {
            if (r == 4)
                pass_4(f, p, m, s, x, y);
            else
                pass_any(f, (int)r, p, m, s, x, y);
        }
        x = y;
        y = keep;
        n = m;
        s *= r;
    }
    return x;
}

static native_complex *convolve(const native_fft *f, native_complex *x, native_complex *y)
{
    native_complex *z;
    int64_t i;

    for (i = 0; i < f->n; i++)
        x[i] = times(x[i], f->chirp[i]);
    memset(x + f->n, 0, (size_t)(f->length - f->n) * sizeof *x);
    z = transform(f, x, y);
    for (i = 0; i < f->length; i++) { /* backward: the conjugate of the conjugate's */
        z[i] = times(z[i], f->other[i]);
        z[i].im = -z[i].im;
    }
    z = transform(f, z, z == x ? y : x);
    for (i = 0; i < f->n; i++)
        z[i] = times((native_complex){z[i].re / (double)f->length, -z[i].im / (double)f->length},
                     f->chirp[i]);
    return z;
}

native_complex *native_fft_run(const native_fft *f, native_complex *x, native_complex *y)
{
    return f->chirp ? convolve(f, x, y) : transform(f, x, y);
}

static native_complex turn(int64_t k, int64_t n)
{
    const double a = 2 * acos(-1.0) * (double)k / (double)n;
    return (native_complex){cos(a), -sin(a)};
}

void native_fft_plan(native_fft *f, int64_t n, native_complex *tables, native_complex *scratch)
{
    native_complex *other;
    int64_t i;

    memset(f, 0, sizeof *f);
    f->n = n;
    f->length = native_fft_length(n);
    f->turns = tables;
    for (i = 0; i < f->length; i++)
        f->turns[i] = turn(i, f->length);
    if (f->length == n)
        return;
    f->other = tables + f->length;
    f->chirp = f->other + f->length;
    memset(scratch, 0, (size_t)f->length * sizeof *scratch);
    for (i = 0; i < n; i++) {
        f->chirp[i] = turn(i * i % (2 * n), 2 * n);
        scratch[i] = (native_complex){f->chirp[i].re, -f->chirp[i].im};
        if (i)
            scratch[f->length - i] = scratch[i];
    }
    other = transform(f, scratch, scratch + f->length);
    memcpy(f->other, other, (size_t)f->length * sizeof *other);
}
