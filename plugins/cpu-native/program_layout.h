/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_layout.h: what program_layout.c, program_layout_conv.c and program_pool_rows.c ask of
 * each other.
 */
#ifndef NATIVE_PROGRAM_LAYOUT_H
#define NATIVE_PROGRAM_LAYOUT_H

#include "program.h"

/* ---- program_layout.c ---- */

/* The number of a value like another, without a twin; 0 and ir->failed without memory. */
int native_add_value(native_ir *ir, int like);
/* The value in the layout that is wanted: itself, or its twin, which an item REORDER makes. */
int native_as(native_ir *ir, int value, bool blocked);

/* ---- program_layout_conv.c ---- */

/* What they change is in the item; they may put others in front of it. */
void native_lay_conv(native_ir *ir, native_item *item);
void native_lay_conv_grad_filter(native_ir *ir, native_item *item);
/* Of a CONV whose layout is known. */
void native_take_steps(native_ir *ir, native_item *conv);
/* Of a POOL that is blocked. */
void native_part_pool(native_ir *ir, native_item *pool);

/* ---- program_pool_rows.c ---- */

/* Whether a POOL may stay plain, and whether it does: neither its source nor who reads it, among
 * the n items that follow, has blocks. */
bool native_has_pool_rows(const native_ir *ir, const native_item *item);
bool native_pools_rows(const native_ir *ir, const native_item *item, const native_item *later,
                       int n);

#endif
