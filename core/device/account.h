/* SPDX-License-Identifier: Apache-2.0 */
/* account.h: what is taken of a device's memory, against the option memory_limit. */
#ifndef TFR_CORE_ACCOUNT_H
#define TFR_CORE_ACCOUNT_H

#include "device/runtime.h"

/* limit: the option's text, or NULL */
void tfr__account_open(const tfr_plugin_device *device, const char *limit);
void tfr__account_close(const tfr_plugin_device *device);
/* TFR_ENOMEM: an alloc of so many bytes would be too much. */
tfr_status tfr__account_may(const tfr_plugin_device *device, uint64_t bytes, tfr_err *err);
void tfr__account_add(const tfr_plugin_device *device, const void *address, uint64_t bytes);
void tfr__account_remove(const tfr_plugin_device *device, const void *address);

extern const tfr_host_account tfr__host_account;

#endif
