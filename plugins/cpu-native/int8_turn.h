/* SPDX-License-Identifier: Apache-2.0 */
/* int8_turn.h: matrices of bytes and of int32 are transposed: images get their channels last. */
#ifndef NATIVE_INT8_TURN_H
#define NATIVE_INT8_TURN_H

#include <stdint.h>

/* to[c][r] = from[r][c] for rows x columns; steps are elements from row to row of each. */
void native_int8_turn(const uint8_t *from, int64_t from_step, int64_t rows, int64_t columns,
                      uint8_t *to, int64_t to_step);
void native_int8_turn_sums(const int32_t *from, int64_t from_step, int64_t rows, int64_t columns,
                           int32_t *to, int64_t to_step);

/* to[2 * i] = a[i] and to[2 * i + 1] = b[i] for n of both. */
void native_int8_weave(const uint8_t *a, const uint8_t *b, int64_t n, uint8_t *to);

#endif
