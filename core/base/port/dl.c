/* SPDX-License-Identifier: Apache-2.0 */
/* dl.c: dlopen and dlsym, here only. */
#include "dl.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <tfrun/fail.h>

void *tfr__dl_open(const char *path, tfr_err *err)
{
    void *library;
    errno = 0;
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const int error = errno;
        const char *text = dlerror();
        (void)tfr_fail(err, tfr_dlopen_code(error, text, TFR_EPLUGIN), "%s",
                       text ? text : "the dynamic linker does not say why");
    }
    return library;
}

tfr_plugin_entry_fn tfr__dl_entry(void *library)
{
    void *address = dlsym(library, "tfrun_plugin_v0");
    tfr_plugin_entry_fn entry = NULL;
    /* ISO C has no cast from an object's address to a function's. */
    if (address)
        memcpy(&entry, &address, sizeof entry);
    return entry;
}
