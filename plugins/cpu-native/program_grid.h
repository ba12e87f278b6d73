/* SPDX-License-Identifier: Apache-2.0 */
/* program_grid.h: scales and zero points of values of 8 bits, as spans want them. */
#ifndef NATIVE_PROGRAM_GRID_H
#define NATIVE_PROGRAM_GRID_H

#include "int8.h"
#include "program_integer.h"

typedef struct grid {
    float scale, zero;
    bool is_signed;
} native_grid;

static inline native_grid native_grid_of(const native_quant *q)
{
    return (native_grid){native_quant_scale(q, 0), (float)native_quant_zero(q, 0),
                         q->dtype == TFR_DTYPE_I8};
}

static inline void native_from_grid(const native_int8_isa *isa, const native_grid *g,
                                    const uint8_t *from, float *to, int64_t n)
{
    const native_quantized_span span = {.scale = &g->scale, .zero = &g->zero, .n = n};

    if (g->is_signed)
        isa->dequantize_i8(&span, (const int8_t *)from, to);
    else
        isa->dequantize_u8(&span, from, to);
}

static inline void native_to_grid(const native_int8_isa *isa, const native_grid *g,
                                  const float *from, uint8_t *to, int64_t n)
{
    const native_quantized_span span = {.scale = &g->scale,
                                        .zero = &g->zero,
                                        .low = g->is_signed ? INT8_MIN : 0,
                                        .high = g->is_signed ? INT8_MAX : UINT8_MAX,
                                        .n = n};

    isa->quantize(&span, from, to);
}

#endif
