/* SPDX-License-Identifier: Apache-2.0 */
/* ml_labels.h: the labels that classifiers of domain ai.onnx.ml write, int64 or strings. */
#ifndef NATIVE_ML_LABELS_H
#define NATIVE_ML_LABELS_H

#include "ml.h"

/*
 * Rows are given a number: the label itself or, where labels are strings, its place from 1 on. 0 is
 * no label, which as a string is "". Strings are written at the end, by one thread.
 */
typedef struct native_labels {
    int64_t n;
    int64_t *numbers;
    tfr_string *words; /* NULL: labels are int64 */
} native_labels;

/* The labels in attributes `ints` and classlabels_strings. */
int64_t native_count_labels(const tfr_call *call, const char *ints);
/* Whether output 0 has the type of the labels, which one attribute lists; else declines. */
bool native_labels_supports(const tfr_call *call, const char *ints, tfr_answer *answer);
/* Bytes of the workspace that the numbers of n rows take: 0 where they are the output. */
size_t native_labels_work(const tfr_call *call, int64_t n);
/* Takes a block of the kernel. False after an error. */
bool native_labels_prepare(native_build *b, const char *ints, native_labels *labels);

/* Where rows are given their numbers. */
static inline int64_t *native_labels_at(const native_labels *l, void *y, void *work)
{
    return l->words ? work : y;
}
/* Makes strings of n numbers; nothing is to do for int64. */
int32_t native_labels_finish(const tfr_plugin_device *device, const native_labels *l,
                             const int64_t *numbers, int64_t n, void *y, tfr_err *err);

/* ---- strings ---- */

/* What the blocks of copies of n strings take, and that copy; the answer is behind it. */
size_t native_strings_bytes(const tfr_string *from, int64_t n);
char *native_strings_copy(const tfr_string *from, int64_t n, void *block);
int32_t native_set_string(const tfr_plugin_device *device, tfr_string *to, const tfr_string *from,
                          tfr_err *err);

#endif
