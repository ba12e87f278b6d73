/* SPDX-License-Identifier: Apache-2.0 */
/* move.h: ops that put elements elsewhere, or few values in many places. */
#ifndef NATIVE_MOVE_H
#define NATIVE_MOVE_H

#include "kernel.h"

/* Whether operand 0 has a type that the op's row has; else it declines. */
static inline bool native_has_type(const tfr_call *call, tfr_answer *answer)
{
    const int32_t dtype = tfr_call_input(call, 0)->dtype;

    if (dtype < 32 && (native_find_op(call)->types >> dtype & 1))
        return true;
    tfr_decline(answer, TFR_REASON_DTYPE, "element type %d is left to naive", dtype);
    return false;
}

/* depth_tile.c: DepthToSpace, SpaceToDepth, Tile */
void native_move_supports(const tfr_plugin_device *device, const tfr_call *call,
                          tfr_answer *answer);
void native_move_prepare(native_build *b, const tfr_call *call);
/* index_rows.c: Trilu, ReverseSequence */
void native_move_rows_supports(const tfr_plugin_device *device, const tfr_call *call,
                               tfr_answer *answer);
void native_move_rows_prepare(native_build *b, const tfr_call *call);
/* one_hot.c: OneHot, EyeLike, Range */
void native_place_supports(const tfr_plugin_device *device, const tfr_call *call,
                           tfr_answer *answer);
void native_place_prepare(native_build *b, const tfr_call *call);
/* cum_sum.c: CumSum, CumProd */
void native_cum_sum_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer);
void native_cum_sum_prepare(native_build *b, const tfr_call *call);
/* tensor_scatter.c */
void native_tensor_scatter_supports(const tfr_plugin_device *device, const tfr_call *call,
                                    tfr_answer *answer);
void native_tensor_scatter_prepare(native_build *b, const tfr_call *call);

#endif
