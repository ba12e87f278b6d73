/* SPDX-License-Identifier: Apache-2.0 */
/* dl.h: opens a plugin's file for ever. There is no close: code that has run stays mapped. */
#ifndef TFR_PORT_DL_H
#define TFR_PORT_DL_H

#include <tfrun/plugin.h>

/*
 * All symbols bound now, none given to others. On failure NULL, and *err has the linker's sentence
 * with TFR_ENOMEM, which says nothing about the file, or TFR_EPLUGIN.
 */
void *tfr__dl_open(const char *path, tfr_err *err);

/* The entry of a plugin, or NULL. */
tfr_plugin_entry_fn tfr__dl_entry(void *library);

#endif
