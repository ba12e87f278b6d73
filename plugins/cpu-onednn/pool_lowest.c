/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_lowest.c: oneDNN begins a maximum with the lowest finite number of the type, so that a
 * window of nothing but -inf gives that number. The results are searched for it after the launch,
 * and such windows are looked at again.
 */
#include <stdlib.h>
#include <string.h>

#include "pool_lowest.h"

enum { BLOCK = 4096 };

struct onednn_lowest {
    onednn_window window;
    const void *known; /* input 0, if a launch does not give it */
    uint32_t output;   /* number of the argument */
    uint32_t lowest, infinity;
    uint32_t element_bytes;
    int rank; /* spatial dims */
    int64_t x[TFR_MAX_RANK], y[TFR_MAX_RANK];
    int64_t n_planes, x_plane, y_plane;
};

onednn_lowest *onednn_lowest_new(const tfr_call *call, const onednn_window *window)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    onednn_lowest *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->window = *window;
    l->known = x->data;
    l->output = call->n_inputs;
    l->element_bytes = x->dtype == TFR_DTYPE_F32 ? 4 : 2;
    l->lowest = x->dtype == TFR_DTYPE_F32    ? 0xff7fffffu
                : x->dtype == TFR_DTYPE_BF16 ? 0xff7fu
                                             : 0xfbffu;
    l->infinity = l->lowest + 1;
    l->rank = x->rank - 2;
    memcpy(l->x, x->dims + 2, (size_t)l->rank * sizeof *l->x);
    memcpy(l->y, y->dims + 2, (size_t)l->rank * sizeof *l->y);
    l->n_planes = tfr_operand_span(y, 0, 2);
    l->x_plane = tfr_operand_span(x, 2, x->rank);
    l->y_plane = tfr_operand_span(y, 2, y->rank);
    return l;
}

static uint32_t bits_at(const onednn_lowest *l, const void *data, int64_t i)
{
    return l->element_bytes == 4 ? ((const uint32_t *)data)[i] : ((const uint16_t *)data)[i];
}

/* Is there a number above -inf in the window of element `at` of the plane? NaN is none. */
static bool has_number(const onednn_lowest *l, const void *x, int64_t plane, int64_t at)
{
    int64_t begin[TFR_MAX_RANK], tap[TFR_MAX_RANK] = {0};
    int d;
    for (d = l->rank - 1; d >= 0; at /= l->y[d--])
        begin[d] = at % l->y[d] * l->window.stride[d] - l->window.pad_begin[d];
    do {
        int64_t i = 0;
        bool inside = true;
        for (d = 0; d < l->rank; d++) {
            const int64_t p = begin[d] + tap[d] * (l->window.dilation[d] + 1);
            inside = inside && p >= 0 && p < l->x[d];
            i = i * l->x[d] + p;
        }
        /* Of numbers with a sign -inf has the greatest bits; NaNs, of either sign, are above it. */
        if (inside) {
            const uint32_t bits = bits_at(l, x, plane * l->x_plane + i);
            const uint32_t sign = l->element_bytes == 4 ? 0x80000000u : 0x8000u;
            if ((bits | sign) < l->infinity || bits == (l->infinity & ~sign))
                return true;
        }
        for (d = l->rank - 1; d >= 0 && ++tap[d] == l->window.kernel[d]; d--)
            tap[d] = 0;
    } while (d >= 0);
    return false;
}

/* The compiler makes vectors of these. */
static bool block_has(const onednn_lowest *l, const void *y, int64_t begin, int64_t end)
{
    uint32_t found = 0;
    int64_t i;
    if (l->element_bytes == 4)
        for (i = begin; i < end; i++)
            found |= ((const uint32_t *)y)[i] == l->lowest;
    else
        for (i = begin; i < end; i++)
            found |= ((const uint16_t *)y)[i] == l->lowest;
    return found != 0;
}

void onednn_lowest_repair(const onednn_lowest *l, const tfr_launch *launch)
{
    const int64_t n = l->n_planes * l->y_plane;
    const void *x = launch->args[0].address ? launch->args[0].address : l->known;
    void *y = launch->args[l->output].address;
    int64_t begin, i;
    for (begin = 0; begin < n; begin += BLOCK) {
        const int64_t end = n - begin < BLOCK ? n : begin + BLOCK;
        for (i = block_has(l, y, begin, end) ? begin : end; i < end; i++) {
            if (bits_at(l, y, i) != l->lowest || has_number(l, x, i / l->y_plane, i % l->y_plane))
                continue;
            if (l->element_bytes == 4)
                ((uint32_t *)y)[i] = l->infinity;
            else
                ((uint16_t *)y)[i] = (uint16_t)l->infinity;
        }
    }
}
