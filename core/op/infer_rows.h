/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_rows.h: the inference functions that ops.def names; the file of each family has them. There
 * is no tfr__infer_none: those rows have none (op.c).
 */
#ifndef TFR__INFER_ROWS_H
#define TFR__INFER_ROWS_H

#include <tfrun/plugin.h>

struct tfr__infer;

#define OP(domain, name, since, compat, kind, shape_args, infer, ...)                              \
    tfr_status tfr__infer_##infer(struct tfr__infer *in, tfr_err *err);
#include "op/ops.def"

#endif
