/* SPDX-License-Identifier: Apache-2.0 */
/* hostile.h: what the two sources of hostile calls share: bad numbers and the judgement. */
#ifndef OPS_HOSTILE_H
#define OPS_HOSTILE_H

#include "engine.h"

/* A number that some shape or attribute should not be. */
int64_t ops_bad_int(ops_random *random);
float ops_bad_float(ops_random *random);
/* Any element type. */
tfr_dtype ops_any_dtype(ops_random *random);
/* A tensor with small random elements, among them bad integers if hostile; ends the program when
 * memory is out. */
tfr_tensor *ops_any_tensor(tfr_dtype dtype, const tfr_shape *shape, bool hostile,
                           ops_random *random);
/* The bytes of one element; dim[0] of them, without the memory for it. */
tfr_tensor *ops_huge_tensor(tfr_dtype dtype, int32_t rank, ops_random *random);

/*
 * Runs the call in a random way; only plans it if prepare_only. A status with a sentence is right,
 * a result too; a defect, silence or a warning of the library is a failure. Counts.
 */
void ops_judge_hostile(ops_run *run, ops_call *call, const char *what, bool prepare_only,
                       ops_random *random);

/* A call made from a row of the op table alone: signature.c. Its description is NULL. */
void ops_call_of_signature(const tfr_op_desc *desc, uint64_t seed, ops_call *out);
/* Such calls: hostile_table.c. */
void ops_hostile_op(ops_run *run, const tfr_op_desc *desc);
/* The description's calls, each made wrong in one place. */
void ops_hostile_description(ops_run *run, const ops_case *description);
/* Tensors of shapes that there are not. */
void ops_hostile_shapes(ops_run *run);

#endif
