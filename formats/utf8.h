/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h: texts of files that have to be UTF-8. */
#ifndef TFR_FORMATS_UTF8_H
#define TFR_FORMATS_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Code points of n bytes of UTF-8, or false if they are not UTF-8. codes may be NULL. */
bool tfr__utf8_decode(const char *text, size_t n, uint32_t *codes, size_t *count);

#endif
