/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.h: tells what a file is that is not what was asked for, so that an error can say it. */
#ifndef TFR_FORMATS_FOREIGN_H
#define TFR_FORMATS_FOREIGN_H

#include <stddef.h>

/* "a PNG image", "text"; NULL = cannot tell. */
const char *tfr__foreign_name(const void *bytes, size_t n);

#endif
