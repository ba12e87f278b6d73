/* SPDX-License-Identifier: Apache-2.0 */
/* prefix.h: says in front of an error's sentence where it happened: the file, the node. */
#ifndef TFR_FORMATS_PREFIX_H
#define TFR_FORMATS_PREFIX_H

#include <tfrun/fail.h>
#include <tfrun/status.h>

/* Puts the formatted text in front of err's; returns status. If there is no
 * room for both, what is cut is in the middle. */
TFR__PRINTF(3, 4)
tfr_status tfr__prefix(tfr_err *err, tfr_status status, const char *format, ...);

/*
 * A status for what a file caused: wrong shapes, types and limits make a bad model. Running out of
 * memory, broken input and what tfrun cannot do yet stay what they are.
 */
tfr_status tfr__model_status(tfr_err *err, tfr_status status);

#endif
