/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c.h: the checksum of Castagnoli et al., 1993, as iSCSI (RFC 3720) and TensorBoard use it. */
#ifndef TFR_NN_CRC32C_H
#define TFR_NN_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Goes on from the checksum of what came before; 0 at first. "123456789" gives e3069283. */
uint32_t tfr__crc32c(uint32_t crc, const void *data, size_t n);

#endif
