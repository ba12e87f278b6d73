/* SPDX-License-Identifier: Apache-2.0 */
/* bits.h: what libtfrun's files ask instead of tfr_dtype_bits, of which each would have a table. */
#ifndef TFR_CORE_BITS_H
#define TFR_CORE_BITS_H

#include <stdint.h>

/* Bits of an element; 0 of strings and of what is no element type. */
uint32_t tfr__dtype_bits(int32_t dtype);

#endif
