/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/compare.h: is one value as good as another? For tests of models and plugins. Link with
 * libtfrun-nn. Threads: any, while nobody writes the elements.
 */
#ifndef TFRUN_COMPARE_H
#define TFRUN_COMPARE_H

#include <tfrun/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfr_compare_report {
    uint32_t size;
    int64_t n_elements;
    int64_t n_different;
    int64_t first_index;   /* in plain order, -1 = none */
    double first_expected; /* as doubles; not for strings */
    double first_obtained;
    double max_abs_error;
    char text[256]; /* one sentence about the first difference, empty if equal */
} tfr_compare_report;

/*
 * Is |obtained - expected| <= atol + rtol * |expected| for all elements? NaN equals NaN, infinities
 * equal themselves; integers, bools and strings must be equal when both tolerances allow less than
 * one; sequences and optionals compare value by value. Different kinds, types, lengths or shapes
 * are a difference, with n_different -1. report may be NULL (size set by the caller).
 */
TFR_API bool tfr_tensor_compare(const tfr_tensor *expected, const tfr_tensor *obtained, double rtol,
                                double atol, tfr_compare_report *report);

#ifdef __cplusplus
}
#endif

#endif
