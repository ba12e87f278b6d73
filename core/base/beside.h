/* SPDX-License-Identifier: Apache-2.0 */
/* beside.h: modules of the command that are not plugins: where a build or an installation has them.
 */
#ifndef TFR_BASE_BESIDE_H
#define TFR_BASE_BESIDE_H

#include <stddef.h>

/*
 * Writes where the module is: in the build tree, under folder/.libs beside this program, or one
 * folder up where the program itself is in .libs; else in installed. Never one folder up from
 * elsewhere: that may be a folder where all may write. Returns path; whether a file is there is for
 * who opens it to see.
 */
const char *tfr__beside_find(const char *folder, const char *file, const char *installed,
                             char *path, size_t capacity);

#endif
