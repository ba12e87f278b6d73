/* SPDX-License-Identifier: Apache-2.0 */
/* loop_state.c: see loop_state.h. */
#include "loop_state.h"

#include <string.h>

/* The axis along which b is longer than a, all else being equal; -1: there is none. */
static int32_t grown_axis(const tfr_shape *a, const tfr_shape *b)
{
    int32_t axis = -1;
    if (a->rank != b->rank)
        return -1;
    for (int32_t d = 0; d < a->rank; d++) {
        if (a->dims[d] == b->dims[d])
            continue;
        if (axis >= 0 || b->dims[d] < a->dims[d])
            return -1;
        axis = d;
    }
    return axis;
}

static void take(tfr_tensor **input, tfr_tensor *t)
{
    tfr_tensor_release(*input);
    *input = t;
}

/* A view of memory for `room` indices of the axis, with what `made` has, whose memory is for
 * `made_room`. */
static tfr_status with_room(const tfr_tensor *made, int32_t axis, int64_t made_room, int64_t room,
                            tfr_tensor **out, tfr_err *err)
{
    const tfr_shape *shape = tfr_tensor_shape(made);
    const size_t size = tfr_dtype_bits(tfr_tensor_dtype(made)) / 8;
    tfr_shape all = *shape;
    tfr_tensor *memory;
    tfr_status status;
    size_t outer = 1, inner = size;
    all.dims[axis] = room;
    status = tfr_tensor_create(tfr_tensor_dtype(made), &all, &memory, err);
    if (status)
        return status;
    status = tfr_tensor_view(memory, 0, shape, tfr_tensor_strides(memory), out, err);
    for (int32_t d = 0; d < shape->rank; d++)
        *(d < axis ? &outer : &inner) *= d == axis ? 1 : (size_t)shape->dims[d];
    for (size_t i = 0; !status && i < outer; i++)
        memcpy((char *)tfr_tensor_data(memory) + i * (size_t)room * inner,
               (const char *)tfr_tensor_data(made) + i * (size_t)made_room * inner,
               (size_t)shape->dims[axis] * inner);
    tfr_tensor_release(memory);
    return status;
}

bool cli_loop_state_appended(const cli_loop_state *loop, const tfr_tensor *made,
                             const tfr_tensor *input)
{
    return loop->room && made && tfr_tensor_data(made) == tfr_tensor_data(input);
}

tfr_status cli_loop_state_pass(cli_loop_state *loop, tfr_tensor *made, tfr_tensor **input,
                               tfr_err *err)
{
    const bool appended = cli_loop_state_appended(loop, made, *input);
    const int32_t axis = grown_axis(tfr_tensor_shape(*input), tfr_tensor_shape(made));
    int64_t rows, more, room;
    tfr_tensor *next;
    tfr_status status;
    if (axis < 0 || tfr_dtype_bits(tfr_tensor_dtype(made)) < 8 ||
        tfr_tensor_dtype(made) == TFR_DTYPE_STRING || tfr_tensor_elements(made) == 0)
        loop->plain = true;
    if (loop->plain) {
        take(input, tfr_tensor_retain(made));
        return TFR_OK;
    }
    rows = tfr_tensor_shape(made)->dims[axis];
    more = rows - tfr_tensor_shape(*input)->dims[axis];
    if (!appended && rows <= loop->room) { /* there was room, and nobody took it */
        loop->plain = true;
        loop->room = 0;
    }
    if (loop->plain || (appended && rows + more <= loop->room)) {
        take(input, tfr_tensor_retain(made));
        return TFR_OK;
    }
    room = 2 * rows > rows + more ? 2 * rows : rows + more;
    status = with_room(made, axis, appended ? loop->room : rows, room, &next, err);
    if (status)
        return status;
    loop->room = room;
    loop->copied_bytes += tfr_tensor_bytes(made);
    take(input, next);
    return TFR_OK;
}
