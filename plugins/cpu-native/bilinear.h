/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bilinear.h: linear interpolation between the elements of a plane of float32, at places that many
 * planes share. The four elements of a place are two pairs of neighbours, one in each of two rows,
 * so that four places are eight loads, four products of vectors and a transposition: half of the
 * time that elements one by one take with any x86-64, and on no machine more.
 */
#ifndef NATIVE_BILINEAR_H
#define NATIVE_BILINEAR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Places lie in groups of 4; what fills the last group may be anything that is inside. */
typedef struct native_places {
    int32_t *at;   /* of the pairs: 2 for each place */
    float *weight; /* 4 for each place; 0 = this element does not count */
} native_places;

/*
 * Two elements of an axis of n, -1 = none, and their weights, as a pair of neighbours. False: they
 * are none.
 */
static inline bool native_pair(const int64_t *at, const double *weight, int64_t n, int64_t *first,
                               double *pair)
{
    int64_t base = at[0] < 0 || (at[1] >= 0 && at[1] < at[0]) ? at[1] : at[0];
    int t;

    base = base < 0 ? 0 : base > n - 2 ? n - 2 : base;
    *first = base;
    pair[0] = pair[1] = 0;
    for (t = 0; t < 2; t++) {
        if (at[t] < 0)
            continue;
        if (base < 0 || at[t] - base < 0 || at[t] - base > 1)
            return false;
        pair[at[t] - base] += weight[t];
    }
    return true;
}

typedef float native_four __attribute__((vector_size(16)));
typedef int32_t native_four_bits __attribute__((vector_size(16)));
typedef double native_two __attribute__((vector_size(16)));

/* The two pairs of place i, weighed. */
static inline native_four native_weigh(const native_places *p, const float *x, int i)
{
    double pair[2]; /* of floats: only moved */
    native_four weight;

    memcpy(&pair[0], x + p->at[2 * i], sizeof pair[0]);
    memcpy(&pair[1], x + p->at[2 * i + 1], sizeof pair[1]);
    memcpy(&weight, p->weight + 4 * i, sizeof weight);
    return (native_four)(native_two){pair[0], pair[1]} * weight;
}

/* Element by element, leaving out those that do not count. */
static inline void native_sample_exactly(const native_places *p, const float *x, float *y, int n)
{
    int i, t;

    for (i = 0; i < n; i++) {
        double sum = 0;
        for (t = 0; t < 4; t++)
            if (p->weight[4 * i + t] != 0)
                sum += (double)p->weight[4 * i + t] * (double)x[p->at[2 * i + t / 2] + t % 2];
        y[i] = (float)sum;
    }
}

/*
 * y[i] = x at place i, n of them; room for a multiple of 4. x has two columns or more. False: some
 * are no numbers, which may come from what is weighed with 0.
 */
static inline bool native_sample(const native_places *p, const float *x, float *y, int n)
{
    native_four_bits bad = {0, 0, 0, 0};
    int i;

    for (i = 0; i < n; i += 4) {
        const native_four a = native_weigh(p, x, i), b = native_weigh(p, x, i + 1);
        const native_four c = native_weigh(p, x, i + 2), d = native_weigh(p, x, i + 3);
        const native_four ab =
            __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
        const native_four cd =
            __builtin_shufflevector(c, d, 0, 1, 4, 5) + __builtin_shufflevector(c, d, 2, 3, 6, 7);
        const native_four sum = __builtin_shufflevector(ab, cd, 0, 2, 4, 6) +
                                __builtin_shufflevector(ab, cd, 1, 3, 5, 7);
        bad |= sum != sum;
        memcpy(y + i, &sum, sizeof sum);
    }
    return !(bad[0] | bad[1] | bad[2] | bad[3]);
}

#endif
