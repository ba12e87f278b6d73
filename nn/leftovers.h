/* SPDX-License-Identifier: Apache-2.0 */
/* leftovers.h: files that writers of core/base/writer.h did not come to rename. */
#ifndef TFR_NN_LEFTOVERS_H
#define TFR_NN_LEFTOVERS_H

/* Removes those of the user in the folder whose writers are dead; what cannot be looked at or
 * removed stays, which harms nobody. */
void tfr__leftovers_remove(const char *folder);

#endif
