/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.c: see library.h. Holds the only dlopen of this backend, and what is set in the library
 * for the whole process before its first primitive.
 */
#include "library.h"

#include "onednn.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

TFR_PLUGIN_OPENS(ONEDNN_SONAME);

onednn_library_table onednn_library;

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define FUNCTION(name) {#name, offsetof(onednn_library_table, fn_##name)},
#include "library.def"
};

/* dlsym's answer as a function; POSIX says that this way works, ISO C knows none. */
static bool find(void *library, const char *name, void *table, size_t offset)
{
    void *address = dlsym(library, name);

    memcpy((char *)table + offset, &address, sizeof address);
    return address != NULL;
}

static int32_t find_functions(void *library, onednn_library_table *table, tfr_err *err)
{
    const dnnl_version_t *found;
    size_t i;

    for (i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (!find(library, functions[i].name, table, functions[i].offset))
            return tfr_fail(
                err, TFR_EUNSUPPORTED,
                "%s has no %s; install the oneDNN that this backend was built for, %d.%d",
                ONEDNN_SONAME, functions[i].name, DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR);
    }
    /* Descriptors are structs in oneDNN 2 and handles in 3: the majors must agree. */
    found = table->fn_dnnl_version();
    if (found->major != DNNL_VERSION_MAJOR)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "built for oneDNN %d, but %s is oneDNN %d.%d; install the library it was "
                        "built for",
                        DNNL_VERSION_MAJOR, ONEDNN_SONAME, found->major, found->minor);
    find(library, "omp_get_max_threads", table,
         offsetof(onednn_library_table, omp_get_max_threads));
    find(library, "omp_set_num_threads", table,
         offsetof(onednn_library_table, omp_set_num_threads));
    return TFR_OK;
}

static int32_t set_up(const tfr_host *host, onednn_library_table *table, tfr_err *err)
{
    const tfr_host_cpu *cpu = host->facet ? host->facet(TFR_HOST_CPU_V1) : NULL;
    dnnl_cpu_isa_t limit;
    char verbose[8] = "0";
    dnnl_status_t status;

    /* The library writes to standard output when its environment says so; a plugin must not. */
    if (host->option)
        host->option("onednn", "verbose", verbose, sizeof verbose);
    table->fn_dnnl_set_verbose((int)strtol(verbose, NULL, 10));
    /* Holds for the whole process, and only before the first primitive: its refusal is no error. */
    if (cpu && onednn_isa_limit(cpu->features, &limit))
        (void)table->fn_dnnl_set_max_cpu_isa(limit);
    status = table->fn_dnnl_engine_create(&table->engine, dnnl_cpu, 0);
    return onednn_fail(err, status, "the CPU engine");
}

static int32_t open_locked(const tfr_host *host, tfr_err *err)
{
    onednn_library_table table;
    void *library;
    int32_t status;

    memset(&table, 0, sizeof table);
    errno = 0;
    library = dlopen(ONEDNN_SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const int error = errno;
        const char *why = dlerror();
        if (tfr_dlopen_code(error, why, TFR_EUNSUPPORTED) == TFR_ENOMEM)
            return tfr_fail(err, TFR_ENOMEM, "no memory to load oneDNN: %s",
                            why ? why : ONEDNN_SONAME);
        return tfr_fail(err, TFR_EUNSUPPORTED, "oneDNN does not load: %s; install its package",
                        why ? why : ONEDNN_SONAME);
    }
    status = find_functions(library, &table, err);
    if (status == TFR_OK)
        status = set_up(host, &table, err);
    if (status == TFR_OK)
        onednn_library = table;
    return status;
}

int32_t onednn_library_open(const tfr_host *host, tfr_err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int32_t status = TFR_OK;

    pthread_mutex_lock(&lock);
    if (!onednn_library.engine)
        status = open_locked(host, err);
    pthread_mutex_unlock(&lock);
    return status;
}

bool onednn_library_adds_int8(const tfr_host *host)
{
    const unsigned with_vnni[] = {dnnl_cpu_isa_avx2_vnni, dnnl_cpu_isa_avx512_core_vnni};
    unsigned isa, i;

    if (onednn_library_open(host, NULL) != TFR_OK)
        return false;
    /* a level has the bits of all levels below it */
    isa = (unsigned)dnnl_get_effective_cpu_isa();
    for (i = 0; i < sizeof with_vnni / sizeof with_vnni[0]; i++)
        if ((isa & with_vnni[i]) == with_vnni[i])
            return true;
    return false;
}
