/* SPDX-License-Identifier: Apache-2.0 */
/* Placeholder. */
extern int tfr__formats_placeholder;
int tfr__formats_placeholder;
