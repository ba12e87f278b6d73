/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elementwise.h: ops that go element by element over operands that broadcast, of any type:
 * comparisons, logic, choices, arithmetic. A row is one op for one type; its loop does a span of
 * the innermost dim, and program_elementwise.c walks the others. isa_elementwise.h has the list.
 */
#ifndef NATIVE_ELEMENTWISE_H
#define NATIVE_ELEMENTWISE_H

#include <stdbool.h>
#include <stdint.h>
#include <tfrun/plugin.h>

enum { NATIVE_SPAN_INPUTS = 8 };

/* n results beside each other. `to` may be an input of the same type and step. */
typedef struct native_span {
    const void *in[NATIVE_SPAN_INPUTS]; /* NULL = absent */
    int step[NATIVE_SPAN_INPUTS];       /* from element to element: 1, or 0 for one of them all */
    int n_in;
    void *to;
    int64_t n;
    int mode; /* of the op: what its attributes say */
} native_span;

typedef void (*native_span_fn)(const native_span *span);

typedef struct native_elementwise {
    const char *op;
    int32_t inputs, output; /* their types; of Where those behind the first */
    bool folds;             /* takes two operands at a time: the result so far is the first */
    native_span_fn run;
} native_elementwise;

#endif
