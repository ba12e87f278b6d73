/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.c: see library.h. Holds every dlopen of this backend. Who opens a library says so in the
 * log, as TensorFlow's loader does, and who does not find one says which names it tried, what needs
 * it and what brings it.
 */
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "host.h"

#define DRIVER_FILE "libcuda.so.1"
#define MAX_NAMES   3

/* The loader looks for it before anything of ours runs: a machine without a driver costs nothing.
 */
TFR_PLUGIN_OPENS("libcuda.so.1");
TFR_PLUGIN_MAY_OPEN_EITHER("libcublasLt.so.13", "libcublasLt.so.12");
TFR_PLUGIN_MAY_OPEN("libcudnn.so.9");
TFR_PLUGIN_MAY_OPEN_EITHER("libcusolver.so.12", "libcusolver.so.11");
TFR_PLUGIN_MAY_OPEN("libnccl.so.2");

cuda_driver_table cuda_driver;

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- opening a file -------------------------------------------------------------------------- */

/* In the folder of the option library-path first, where CUDA was installed out of the way. */
static void *open_file(const char *name)
{
    char folder[1024], path[1200];
    void *library = NULL;
    const int32_t length =
        cuda_host->option ? cuda_host->option("cuda", "library-path", folder, sizeof folder) : -1;

    if (length > 0 && length < (int32_t)sizeof folder) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return library ? library : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/* dlsym's answer as a function; POSIX says that this way works, ISO C knows none. */
static bool find(void *library, const char *name, void *table, size_t offset)
{
    void *address = dlsym(library, name);

    memcpy((char *)table + offset, &address, sizeof address);
    return address != NULL;
}

/* ---- the driver ------------------------------------------------------------------------------ */

typedef struct driver_function {
    const char *name;
    size_t offset;
    bool required;
    int since;
    const char *who;
} driver_function;

static const driver_function driver_functions[] = {
#define X(name, required, since, who)                                                              \
    {#name, offsetof(cuda_driver_table, name), required, since, who},
#include "driver.def"
#undef X
};

static int32_t find_driver_functions(void *library, cuda_driver_table *table, tfr_err *err)
{
    for (size_t i = 0; i < sizeof driver_functions / sizeof driver_functions[0]; i++) {
        const driver_function *f = &driver_functions[i];
        if (!find(library, f->name, table, f->offset) && f->required)
            return tfr_fail(err, TFR_EDEVICE,
                            DRIVER_FILE " has no %s of CUDA %d.%d, needed by %s; install NVIDIA "
                                        "driver " CUDA_OLDEST_FOR " or newer",
                            f->name, f->since / 1000, f->since % 1000 / 10, f->who);
    }
    return TFR_OK;
}

static int32_t check_version(const cuda_driver_table *table, int *version, tfr_err *err)
{
    if (!table->cuDriverGetVersion || table->cuDriverGetVersion(version) != TFR_CU_SUCCESS)
        return tfr_fail(err, TFR_EDEVICE,
                        DRIVER_FILE " tells no version; install NVIDIA driver " CUDA_OLDEST_FOR
                                    " or newer");
    if (*version < CUDA_OLDEST)
        return tfr_fail(err, TFR_EDEVICE,
                        "the NVIDIA driver knows CUDA up to %d.%d, and 12.0 is needed; install "
                        "driver " CUDA_OLDEST_FOR " or newer",
                        *version / 1000, *version % 1000 / 10);
    return TFR_OK;
}

static int32_t start_driver(cuda_driver_table *table, tfr_err *err)
{
    const tfr_cu_result result = table->cuInit(0);
    const char *visible = secure_getenv("CUDA_VISIBLE_DEVICES");
    char what[160];

    if (result == TFR_CU_SUCCESS)
        return TFR_OK;
    snprintf(what, sizeof what, "%s", "the NVIDIA driver does not start");
    if (result == TFR_CU_NO_DEVICE && visible) /* the driver reads it, and we only say so */
        snprintf(what, sizeof what, "no GPU, with CUDA_VISIBLE_DEVICES=\"%.99s\"", visible);
    else if (result == TFR_CU_NO_DEVICE)
        snprintf(what, sizeof what, "the NVIDIA driver finds no GPU");
    /* Its texts are asked for by way of the table, which is not ready yet. */
    return cuda_fail_starting(err, result, table, what);
}

static int32_t open_driver(tfr_err *err)
{
    cuda_driver_table table;
    void *library;
    int version = 0;
    int32_t status;

    memset(&table, 0, sizeof table);
    errno = 0;
    library = open_file(DRIVER_FILE);
    if (!library) {
        const int error = errno;
        const char *why = dlerror();
        if (tfr_dlopen_code(error, why, TFR_ENOTFOUND) == TFR_ENOMEM)
            return tfr_fail(err, TFR_ENOMEM, "no memory to open the NVIDIA driver: %s",
                            why ? why : DRIVER_FILE);
        return tfr_fail(err, TFR_ENOTFOUND,
                        "the NVIDIA driver does not open: %s; install driver " CUDA_OLDEST_FOR
                        " or newer (on Debian: apt install nvidia-driver libcuda1)",
                        why ? why : DRIVER_FILE);
    }
    (void)find(library, "cuDriverGetVersion", &table,
               offsetof(cuda_driver_table, cuDriverGetVersion));
    status = check_version(&table, &version, err);
    if (status == TFR_OK)
        status = find_driver_functions(library, &table, err);
    if (status == TFR_OK)
        status = start_driver(&table, err);
    if (status != TFR_OK)
        return status; /* it stays open: it may have threads by now */
    table.version = version;
    cuda_driver = table;
    cuda_log(TFR_LOG_INFO, "opened CUDA library " DRIVER_FILE ", CUDA %d.%d", table.version / 1000,
             table.version % 1000 / 10);
    return TFR_OK;
}

int32_t cuda_driver_open(tfr_err *err)
{
    int32_t status = TFR_OK;

    pthread_mutex_lock(&library_lock);
    if (!cuda_driver.version)
        status = open_driver(err);
    pthread_mutex_unlock(&library_lock);
    return status;
}

/* ---- libraries beside the driver ------------------------------------------------------------- */

typedef struct library_name {
    int cuda; /* the version of CUDA that it was made for, which the driver has to know; 0 = any */
    const char *file;
} library_name;

typedef struct library_function {
    const char *name;
    bool required;
} library_function;

static const library_function cublaslt_functions[] = {
#define X(name, required, since, who) {#name, required},
#include "cublaslt.def"
#undef X
};
static const library_function cudnn_functions[] = {
#define X(name, required, since, who) {#name, required},
#include "cudnn.def"
#undef X
};
static const library_function cusolver_functions[] = {
#define X(name, required, since, who) {#name, required},
#include "cusolver.def"
#undef X
};
static const library_function nvtx_functions[] = {{"nvtxRangePushA", true}, {"nvtxRangePop", true}};
static const library_function nccl_functions[] = {
#define X(name, required, since, who) {#name, required},
#include "nccl.def"
#undef X
};

#define FUNCTIONS(list) list, sizeof list / sizeof list[0]

static const struct {
    const char *title;
    const char *who;  /* needs it */
    const char *step; /* that brings it */
    library_name names[MAX_NAMES];
    const library_function *functions;
    size_t n_functions;
} libraries[CUDA_N_LIBRARIES] = {
    [CUDA_CUBLASLT] = {"cuBLASLt",
                       "large matrix products need it",
                       "install NVIDIA's libcublas-13-0 or libcublas-12-0, or set "
                       "cuda.library-path",
                       {{13000, "libcublasLt.so.13"}, {12000, "libcublasLt.so.12"}},
                       FUNCTIONS(cublaslt_functions)},
    [CUDA_CUDNN] = {"cuDNN",
                    "fast convolutions need it",
                    "install NVIDIA's libcudnn9-cuda-13 or libcudnn9-cuda-12, or set "
                    "cuda.library-path",
                    {{0, "libcudnn.so.9"}},
                    FUNCTIONS(cudnn_functions)},
    [CUDA_CUSOLVER] = {"cuSOLVER",
                       "inverses of large matrices need it",
                       "install NVIDIA's libcusolver-13-0 or libcusolver-12-0, or set "
                       "cuda.library-path",
                       {{13000, "libcusolver.so.12"}, {12000, "libcusolver.so.11"}},
                       FUNCTIONS(cusolver_functions)},
    [CUDA_NCCL] = {"NCCL",
                   "training on several GPUs needs it",
                   "install NVIDIA's libnccl2, or set cuda.library-path",
                   {{0, "libnccl.so.2"}},
                   FUNCTIONS(nccl_functions)},
    [CUDA_NVTX] = {"NVTX",
                   "names of launches in NVIDIA's tools need it",
                   "install NVIDIA's cuda-nvtx-13-0 or cuda-nvtx-12-0, or set cuda.library-path",
                   {{0, "libnvtx3interop.so.1"}, {0, "libnvToolsExt.so.1"}},
                   FUNCTIONS(nvtx_functions)},
};

static struct {
    void *library;
    const char *file; /* of names */
    bool is_tried;
    char why[512]; /* not */
} opened[CUDA_N_LIBRARIES];

/* Whether all functions are there; else the sentence says which is not. */
static bool has_functions(cuda_library_id id, const char *file, void *library)
{
    for (size_t i = 0; i < libraries[id].n_functions; i++) {
        const library_function *f = &libraries[id].functions[i];
        if (f->required && !dlsym(library, f->name)) {
            snprintf(opened[id].why, sizeof opened[id].why, "%s has no %s; %s", file, f->name,
                     libraries[id].step);
            return false;
        }
    }
    return true;
}

static void try_library(cuda_library_id id)
{
    char tried[256] = "";
    size_t used = 0;

    for (int i = 0; i < MAX_NAMES && libraries[id].names[i].file; i++) {
        const library_name *name = &libraries[id].names[i];
        void *library;
        /* Where no driver works, all are tried: who asks wants to know what there is. */
        if (cuda_driver.version && name->cuda > cuda_driver.version / 1000 * 1000) {
            used += (size_t)snprintf(tried + used, sizeof tried - used,
                                     "%s%s, which needs NVIDIA driver 580", used ? ", " : "",
                                     name->file);
            continue;
        }
        library = open_file(name->file);
        if (library && has_functions(id, name->file, library)) {
            opened[id].library = library;
            opened[id].file = name->file;
            cuda_log(TFR_LOG_INFO, "opened CUDA library %s", name->file);
            return;
        }
        if (library)
            return; /* said */
        used += (size_t)snprintf(tried + used, sizeof tried - used, "%s%s", used ? ", " : "",
                                 name->file);
        if (used >= sizeof tried)
            break;
    }
    snprintf(opened[id].why, sizeof opened[id].why,
             "CUDA library %s is not found, tried %s: %s; %s", libraries[id].title, tried,
             libraries[id].who, libraries[id].step);
}

int32_t cuda_library_open(cuda_library_id id, tfr_err *err)
{
    int32_t status = TFR_OK;

    pthread_mutex_lock(&library_lock);
    if (!opened[id].is_tried) {
        opened[id].is_tried = true;
        try_library(id);
        if (!opened[id].library)
            cuda_log(TFR_LOG_WARNING, "%s", opened[id].why);
    }
    if (!opened[id].library)
        status = tfr_fail(err, TFR_ENOTFOUND, "%s", opened[id].why);
    pthread_mutex_unlock(&library_lock);
    return status;
}

void *cuda_library_symbol(cuda_library_id id, const char *name)
{
    return opened[id].library ? dlsym(opened[id].library, name) : NULL;
}

const char *cuda_library_file(cuda_library_id id)
{
    return opened[id].file;
}

/* The function that tells the version has one of two forms. */
static unsigned long long ask_version(cuda_library_id id)
{
    static const char *const names[] = {[CUDA_CUBLASLT] = "cublasLtGetVersion",
                                        [CUDA_CUDNN] = "cudnnGetVersion",
                                        [CUDA_CUSOLVER] = "cusolverGetVersion",
                                        [CUDA_NCCL] = "ncclGetVersion"};
    void *address = cuda_library_symbol(id, names[id]);
    size_t (*give)(void) = NULL;
    int (*write)(int *) = NULL;
    int version = 0;

    if (!address)
        return 0;
    if (id == CUDA_CUBLASLT || id == CUDA_CUDNN) {
        memcpy(&give, &address, sizeof address);
        return give();
    }
    memcpy(&write, &address, sizeof address);
    return write(&version) == 0 && version > 0 ? (unsigned long long)version : 0;
}

/* "13.1.0", as each library tells it; "" = it tells none. */
static void say_version(cuda_library_id id, char *text, size_t n)
{
    const unsigned long long version = ask_version(id), major = id == CUDA_CUSOLVER ? 1000 : 10000;

    text[0] = '\0';
    if (version)
        snprintf(text, n, "%llu.%llu.%llu ", version / major, version % major / 100, version % 100);
}

void cuda_library_report(char *text, size_t n)
{
    static const char *const keys[] = {[CUDA_CUBLASLT] = "cublaslt",
                                       [CUDA_CUDNN] = "cudnn",
                                       [CUDA_CUSOLVER] = "cusolver",
                                       [CUDA_NCCL] = "nccl"};
    size_t used = (size_t)snprintf(text, n, "cuda_built=%s", CUDA_BUILT);
    tfr_err err = TFR_ERR_INIT;
    char version[48];

    if (cuda_driver_open(&err) == TFR_OK)
        used += (size_t)snprintf(text + used, n - used, "\ncuda_loaded=%d.%d (" DRIVER_FILE ")",
                                 cuda_driver.version / 1000, cuda_driver.version % 1000 / 10);
    for (int i = 0; i < CUDA_NVTX && used < n; i++) { /* which is for tools alone */
        const cuda_library_id id = (cuda_library_id)i;
        err = (tfr_err)TFR_ERR_INIT;
        if (cuda_library_open(id, &err) == TFR_OK) {
            say_version(id, version, sizeof version);
            used += (size_t)snprintf(text + used, n - used, "\n%s_loaded=%s(%s)", keys[id], version,
                                     opened[id].file);
        } else {
            used += (size_t)snprintf(text + used, n - used, "\n%s_missing=%s", keys[id], err.text);
        }
    }
}
