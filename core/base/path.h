/* SPDX-License-Identifier: Apache-2.0 */
/* path.h: where a file that is to be written lies: an open folder and a name in it. */
#ifndef TFR_BASE_PATH_H
#define TFR_BASE_PATH_H

#include <limits.h>

/* Opens the folder of path, which is relative to base, and takes its last part. 0 or errno, and
 * *folder is -1 then. */
int tfr__path_enter(int base, const char *path, int *folder, char name[NAME_MAX + 1]);

/*
 * The same after the links of the last part, also to where nothing is yet. EACCES: one of them was
 * put into a folder where all may write by somebody else.
 */
int tfr__path_find(const char *path, int *folder, char name[NAME_MAX + 1]);

/*
 * The process's own descriptor that a path such as /dev/stdout means, or -1. To open that again
 * would write from the start of the file that it was redirected to, and to replace it is worse.
 */
int tfr__path_descriptor(const char *path);

#endif
