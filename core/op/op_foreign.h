/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_foreign.h: rows of the op table that plugins bring (tfrun/plugin_ops.h). They stand behind the
 * built-in ones, belong to the process and never go: graphs and other threads point to them. Who
 * answers for them is behind two function pointers, for op/ does not know plugins.
 */
#ifndef TFR__OP_FOREIGN_H
#define TFR__OP_FOREIGN_H

#include "op/op.h"

enum { TFR__MOST_FOREIGN = 1024, TFR__OP_NAME_BYTES = 63, TFR__OP_TEXT_BYTES = 1023 };

/* Of which function: tfrun/op.h has the same numbers. */
enum { TFR__OP_DECOMPOSITION = 0, TFR__OP_GRADIENT = 1, TFR__OP_WRITTEN = 2 };

typedef struct tfr__op_foreign {
    tfr__op op; /* first */
    uint32_t number;
    uint32_t functions; /* bit TFR__OP_...: it has one, as the plugin's facts say */
    const char *plugin; /* its name */
    void *source;       /* who answers */
    /* Inference into tfr_inferred, or, with n, the function of a call into *n bytes. */
    tfr_status (*ask)(const struct tfr__op_foreign *row, const tfr_call *call, void *out,
                      uint64_t *n, tfr_err *err);
    /* The FunctionProto, which lives for good; *n 0 = none. */
    tfr_status (*function)(const struct tfr__op_foreign *row, uint32_t which, const void **bytes,
                           uint64_t *n, tfr_err *err);
} tfr__op_foreign;

/* NULL for a built-in row. */
const tfr__op_foreign *tfr__op_foreign_of(const tfr__op *op);

/* The function that such rows have as tfr__op.infer (infer_foreign.c). */
tfr_status tfr__infer_foreign(struct tfr__infer *in, tfr_err *err);

/* Is a signature right, and of whom is the domain? TFR_EPLUGIN with a sentence. The probe asks, and
 * has op_check.c. */
tfr_status tfr__op_check(const tfr__op *op, tfr_err *err);

/* Adds a row that lives for good, or, if there is one of its name, compares as below. [any] */
tfr_status tfr__op_add(tfr__op_foreign *row, tfr_err *err);
/* TFR_EPLUGIN with a sentence unless the table's row of this name has equal digest and versions. */
tfr_status tfr__op_same(const tfr__op *op, tfr_err *err);

#endif
