/* SPDX-License-Identifier: Apache-2.0 */
/* library.c: see library.h. */
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <tfrun/fail.h>

static tfr_status open_library(tfr__library *l)
{
    void *handle;
    errno = 0;
    handle = dlopen(l->soname, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const int error = errno;
        const char *why = dlerror();
        if (tfr_dlopen_code(error, why, TFR_EUNSUPPORTED) == TFR_ENOMEM)
            return TFR_ENOMEM;
        snprintf(l->why, sizeof l->why, "%s", why ? why : l->soname);
        return TFR_EUNSUPPORTED;
    }
    for (int i = 0; l->names[i]; i++) {
        /* dlsym's answer as a function; POSIX says that this way works, ISO C knows none. */
        void *address = dlsym(handle, l->names[i]);
        memcpy((char *)l->functions + (size_t)i * sizeof address, &address, sizeof address);
        if (!address) {
            snprintf(l->why, sizeof l->why, "%s has no %s", l->soname, l->names[i]);
            return TFR_EUNSUPPORTED;
        }
    }
    l->is_open = true;
    return TFR_OK;
}

tfr_status tfr__library_need(tfr__library *library, const char *what, tfr_err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    tfr_status status;
    /* A library that is not there stays so, but without memory the next call tries again. */
    pthread_mutex_lock(&lock);
    status = library->is_open ? TFR_OK : library->why[0] ? TFR_EUNSUPPORTED : open_library(library);
    pthread_mutex_unlock(&lock);
    if (status == TFR_ENOMEM)
        return tfr_fail(err, status, "%s: out of memory for %s", what, library->soname);
    if (status)
        return tfr_fail(err, status, "%s needs a library that does not load: %s; install %s", what,
                        library->why, library->package);
    return TFR_OK;
}
