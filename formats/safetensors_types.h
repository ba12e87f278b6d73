/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_types.h: element types by their names in safetensors files. */
#ifndef TFR_FORMATS_SAFETENSORS_TYPES_H
#define TFR_FORMATS_SAFETENSORS_TYPES_H

#include <tfrun/dtype.h>

enum { TFR__SAFETENSORS_HEADER = 100000000 }; /* bytes at most */

/* TFR_DTYPE_NONE for a name that there is not. */
tfr_dtype tfr__safetensors_dtype(const char *name);
/* NULL for a type that the format has not. */
const char *tfr__safetensors_name(tfr_dtype dtype);

#endif
