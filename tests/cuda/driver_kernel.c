/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries, kernels and launches of the driver stand-in. An image is looked at as far as its first
 * bytes; its kernels are those that tests/cuda/cpu_kernels.so has as CPU build, and own ones.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* ------------------------------------------------------------------------------------------
 * Libraries.
 */
static bool is_image(const unsigned char *code)
{
    static const unsigned char fat_binary[] = {0x50, 0xed, 0x55, 0xba};
    return memcmp(code, fat_binary, 4) == 0 || memcmp(code, "\177ELF", 4) == 0 ||
           strncmp((const char *)code, "//", 2) == 0 ||
           strncmp((const char *)code, ".ver", 4) == 0 ||
           strncmp((const char *)code, "tfrun", 5) == 0;
}

static const tfr_cpu_kernel *find_row(const tfr_cpu_kernel *row, const char *name)
{
    while (row && row->name && strcmp(row->name, name) != 0)
        row++;
    return row && row->name ? row : NULL;
}

/* The table of the CPU build, which lies beside this library; NULL if there is none. */
static const tfr_cpu_kernel *cpu_kernels(void)
{
    static const tfr_cpu_kernel *table;
    static bool looked;
    if (looked)
        return table;
    looked = true;
    Dl_info info;
    char path[4096];
    if (!dladdr((void *)fake_own_kernels, &info) || !info.dli_fname)
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    int n = slash ? (int)(slash + 1 - info.dli_fname) : 0;
    snprintf(path, sizeof path, "%.*scpu_kernels.so", n, info.dli_fname);
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    table = so ? dlsym(so, "tfr_cpu_kernels") : NULL;
    return table;
}

static tfr_cu_library *find_library(const tfr_cu_library *handle)
{
    for (tfr_cu_library *l = fake.libraries; l; l = l->next)
        if (l == handle)
            return l;
    return NULL;
}

tfr_cu_result API(cuLibraryLoadData)(tfr_cu_library **out, const void *code, unsigned *jit_options,
                                     void **jit_values, unsigned n_jit, unsigned *library_options,
                                     void **library_values, unsigned n_library)
{
    (void)jit_options, (void)jit_values, (void)library_options, (void)library_values;
    BEGIN(cuLibraryLoadData, NEEDS_INIT | IS_UNSAFE);
    if (!out || !code || n_jit || n_library)
        END(TFR_CU_INVALID_VALUE);
    if (!is_image(code))
        END(TFR_CU_INVALID_IMAGE);
    tfr_cu_library *library = calloc(1, sizeof *library);
    if (!library)
        END(TFR_CU_OUT_OF_MEMORY);
    library->next = fake.libraries;
    fake.libraries = library;
    *out = library;
    END(TFR_CU_SUCCESS);
}

/* What has been launched, or captured, needs the row of the table alone. */
void fake_library_release(tfr_cu_library *library)
{
    for (tfr_cu_library **at = &fake.libraries; *at; at = &(*at)->next)
        if (*at == library) {
            *at = library->next;
            break;
        }
    while (library->kernels) {
        tfr_cu_kernel *next = library->kernels->next;
        free(library->kernels);
        library->kernels = next;
    }
    free(library);
}

tfr_cu_result API(cuLibraryUnload)(tfr_cu_library *handle)
{
    BEGIN(cuLibraryUnload, NEEDS_INIT | IS_UNSAFE);
    tfr_cu_library *library = find_library(handle);
    if (!library)
        END(TFR_CU_INVALID_HANDLE);
    fake_library_release(library);
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuLibraryGetKernel)(tfr_cu_kernel **out, tfr_cu_library *handle, const char *name)
{
    BEGIN(cuLibraryGetKernel, NEEDS_INIT);
    tfr_cu_library *library = find_library(handle);
    if (!library || !out || !name)
        END(library ? TFR_CU_INVALID_VALUE : TFR_CU_INVALID_HANDLE);
    fake_note("%s", name);
    const tfr_cpu_kernel *row = find_row(cpu_kernels(), name);
    if (!row)
        row = find_row(fake_own_kernels, name);
    if (!row || row->n_args > 64)
        END(TFR_CU_NOT_FOUND);
    tfr_cu_kernel *kernel = library->kernels;
    while (kernel && kernel->row != row)
        kernel = kernel->next;
    if (!kernel) {
        kernel = calloc(1, sizeof *kernel);
        if (!kernel)
            END(TFR_CU_OUT_OF_MEMORY);
        *kernel = (tfr_cu_kernel){.next = library->kernels, .row = row};
        int plain = fake_attribute(TFR_CU_ATTR_SHARED_PER_BLOCK);
        kernel->max_dynamic_shared = (size_t)plain - row->static_shared;
        library->kernels = kernel;
    }
    *out = kernel;
    END(TFR_CU_SUCCESS);
}

/* ------------------------------------------------------------------------------------------
 * Functions: a kernel is one.
 */
static tfr_cu_kernel *find_function(const tfr_cu_function *handle)
{
    for (tfr_cu_library *l = fake.libraries; l; l = l->next)
        for (tfr_cu_kernel *k = l->kernels; k; k = k->next)
            if ((const void *)k == (const void *)handle)
                return k;
    return NULL;
}

tfr_cu_result API(cuKernelGetFunction)(tfr_cu_function **fn, tfr_cu_kernel *kernel)
{
    BEGIN(cuKernelGetFunction, NEEDS_CONTEXT);
    if (!fn || !find_function((const tfr_cu_function *)kernel))
        END(TFR_CU_INVALID_HANDLE);
    *fn = (tfr_cu_function *)kernel;
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuFuncLoad)(tfr_cu_function *fn)
{
    BEGIN(cuFuncLoad, NEEDS_CONTEXT | IS_UNSAFE);
    tfr_cu_kernel *kernel = find_function(fn);
    if (!kernel)
        END(TFR_CU_INVALID_HANDLE);
    fake_note("%s", kernel->row->name);
    kernel->loaded[fake_current()->device] = true;
    END(TFR_CU_SUCCESS);
}

static unsigned max_threads(const tfr_cu_kernel *kernel)
{
    return kernel->row->max_threads ? kernel->row->max_threads : 1024;
}

tfr_cu_result API(cuFuncGetAttribute)(int *value, unsigned attr, tfr_cu_function *fn)
{
    BEGIN(cuFuncGetAttribute, NEEDS_CONTEXT);
    const tfr_cu_kernel *kernel = find_function(fn);
    if (!kernel || !value)
        END(TFR_CU_INVALID_HANDLE);
    switch (attr) {
    case TFR_CU_FUNC_MAX_THREADS_PER_BLOCK:
        *value = (int)max_threads(kernel);
        END(TFR_CU_SUCCESS);
    case TFR_CU_FUNC_SHARED_BYTES:
        *value = (int)kernel->row->static_shared;
        END(TFR_CU_SUCCESS);
    case TFR_CU_FUNC_NUM_REGS:
        *value = 32;
        END(TFR_CU_SUCCESS);
    case TFR_CU_FUNC_PTX_VERSION:
    case TFR_CU_FUNC_BINARY_VERSION:
        *value = fake.set.capability;
        END(TFR_CU_SUCCESS);
    case TFR_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES:
        *value = (int)kernel->max_dynamic_shared;
        END(TFR_CU_SUCCESS);
    case TFR_CU_FUNC_CONST_BYTES:
    case TFR_CU_FUNC_LOCAL_BYTES:
        *value = 0;
        END(TFR_CU_SUCCESS);
    default:
        END(TFR_CU_INVALID_VALUE);
    }
}

tfr_cu_result API(cuFuncSetAttribute)(tfr_cu_function *fn, unsigned attr, int value)
{
    BEGIN(cuFuncSetAttribute, NEEDS_CONTEXT);
    tfr_cu_kernel *kernel = find_function(fn);
    if (!kernel)
        END(TFR_CU_INVALID_HANDLE);
    if (attr == TFR_CU_FUNC_SHARED_CARVEOUT || attr == TFR_CU_FUNC_NON_PORTABLE_CLUSTER)
        END(TFR_CU_SUCCESS);
    int most = fake_attribute(TFR_CU_ATTR_SHARED_PER_BLOCK_OPTIN) - (int)kernel->row->static_shared;
    if (attr != TFR_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES || value < 0 || value > most)
        END(TFR_CU_INVALID_VALUE);
    kernel->max_dynamic_shared = (size_t)value;
    END(TFR_CU_SUCCESS);
}

static int blocks_per_multiprocessor(const tfr_cu_kernel *kernel, unsigned threads, size_t shared)
{
    size_t bytes = shared + kernel->row->static_shared +
                   (size_t)fake_attribute(TFR_CU_ATTR_RESERVED_SHARED_PER_BLOCK);
    int by_threads = fake_attribute(TFR_CU_ATTR_MAX_THREADS_PER_MULTIPROCESSOR) /
                     (int)((threads + 31) / 32 * 32);
    int n = fake_attribute(TFR_CU_ATTR_MAX_BLOCKS_PER_MULTIPROCESSOR);
    if (n > by_threads)
        n = by_threads;
    if (bytes > 0) {
        int by_shared =
            (int)((size_t)fake_attribute(TFR_CU_ATTR_SHARED_PER_MULTIPROCESSOR) / bytes);
        n = n < by_shared ? n : by_shared;
    }
    return n;
}

tfr_cu_result API(cuOccupancyMaxActiveBlocksPerMultiprocessor)(int *n_blocks, tfr_cu_function *fn,
                                                               int block_threads,
                                                               size_t shared_bytes)
{
    BEGIN(cuOccupancyMaxActiveBlocksPerMultiprocessor, NEEDS_CONTEXT);
    const tfr_cu_kernel *kernel = find_function(fn);
    if (!kernel)
        END(TFR_CU_INVALID_HANDLE);
    if (!n_blocks || block_threads < 1)
        END(TFR_CU_INVALID_VALUE);
    *n_blocks = (unsigned)block_threads > max_threads(kernel)
                    ? 0
                    : blocks_per_multiprocessor(kernel, (unsigned)block_threads, shared_bytes);
    END(TFR_CU_SUCCESS);
}

/* ------------------------------------------------------------------------------------------
 * Launches.
 */
static tfr_cu_result look_at_launch(const tfr_cu_kernel *kernel, const tfr_cu_launch_config *c)
{
    const unsigned grid_yz = 65535;
    if (!c->grid_x || !c->grid_y || !c->grid_z || !c->block_x || !c->block_y || !c->block_z ||
        c->grid_x > 0x7fffffff || c->grid_y > grid_yz || c->grid_z > grid_yz || c->block_x > 1024 ||
        c->block_y > 1024 || c->block_z > 64 ||
        (uint64_t)c->block_x * c->block_y * c->block_z > max_threads(kernel) ||
        c->shared_bytes > kernel->max_dynamic_shared)
        return TFR_CU_INVALID_VALUE;
    for (unsigned i = 0; i < c->n_attrs; i++) {
        const tfr_cu_launch_attr *a = &c->attrs[i];
        const unsigned *cluster = &a->value.cluster.x;
        switch (a->id) {
        case TFR_CU_LAUNCH_IGNORE:
        case TFR_CU_LAUNCH_PRIORITY:
            break;
        case TFR_CU_LAUNCH_PROGRAMMATIC:
            if (fake.set.capability < 90)
                return TFR_CU_NOT_SUPPORTED;
            break;
        case TFR_CU_LAUNCH_CLUSTER:
            if (fake.set.capability < 90 || !cluster[0] || !cluster[1] || !cluster[2] ||
                cluster[0] * cluster[1] * cluster[2] > 8 || c->grid_x % cluster[0] ||
                c->grid_y % cluster[1] || c->grid_z % cluster[2])
                return TFR_CU_INVALID_CLUSTER_SIZE;
            break;
        case TFR_CU_LAUNCH_COOPERATIVE: {
            uint64_t room = (uint64_t)blocks_per_multiprocessor(
                                kernel, c->block_x * c->block_y * c->block_z, c->shared_bytes) *
                            (uint64_t)fake_attribute(TFR_CU_ATTR_MULTIPROCESSOR_COUNT);
            if (a->value.cooperative && (uint64_t)c->grid_x * c->grid_y * c->grid_z > room)
                return TFR_CU_COOPERATIVE_LAUNCH_TOO_LARGE;
            break;
        }
        default:
            return TFR_CU_INVALID_VALUE;
        }
    }
    return TFR_CU_SUCCESS;
}

/* The arguments are copied now: the caller's may change as soon as the call is over. */
static unsigned char *copy_arguments(const tfr_cpu_kernel *row, void **args)
{
    size_t n = 0, at = 0;
    for (unsigned i = 0; i < row->n_args; i++)
        n += (row->arg_bytes[i] + 15u) & ~(size_t)15;
    unsigned char *bytes = calloc(1, n ? n : 1);
    for (unsigned i = 0; bytes && i < row->n_args; i++) {
        memcpy(bytes + at, args[i], row->arg_bytes[i]);
        at += (row->arg_bytes[i] + 15u) & ~(size_t)15;
    }
    return bytes;
}

static tfr_cu_result launch(tfr_cu_function *fn, const tfr_cu_launch_config *c, void **args,
                            void **extra)
{
    tfr_cu_kernel *kernel = find_function(fn);
    tfr_cu_stream *s = fake_stream(c->stream);
    if (!kernel || !s || s->ctx != fake_current())
        return TFR_CU_INVALID_HANDLE;
    fake_note("%s grid %u %u %u block %u %u %u shared %u stream %d", kernel->row->name, c->grid_x,
              c->grid_y, c->grid_z, c->block_x, c->block_y, c->block_z, c->shared_bytes, s->id);
    if (extra || (!args && kernel->row->n_args))
        return TFR_CU_INVALID_VALUE;
    tfr_cu_result result = look_at_launch(kernel, c);
    if (!result && s->capture && !kernel->loaded[s->ctx->device])
        result = TFR_CU_CAPTURE_UNSUPPORTED;
    if (result)
        return s->capture ? fake_capture_break(s->capture, result) : result;
    fake_op op = {.kind = OP_KERNEL,
                  .u.kernel = {.row = kernel->row,
                               .grid = {c->grid_x, c->grid_y, c->grid_z},
                               .block = {c->block_x, c->block_y, c->block_z},
                               .shared_bytes = c->shared_bytes}};
    op.u.kernel.bytes = copy_arguments(kernel->row, args);
    if (!op.u.kernel.bytes)
        return TFR_CU_OUT_OF_MEMORY;
    result = fake_submit(s, &op);
    if (!result)
        kernel->loaded[s->ctx->device] = true;
    return result;
}

tfr_cu_result API(cuLaunchKernel)(tfr_cu_function *fn, unsigned grid_x, unsigned grid_y,
                                  unsigned grid_z, unsigned block_x, unsigned block_y,
                                  unsigned block_z, unsigned shared_bytes, tfr_cu_stream *stream,
                                  void **args, void **extra)
{
    BEGIN(cuLaunchKernel, NEEDS_CONTEXT);
    const tfr_cu_launch_config config = {grid_x,  grid_y,       grid_z, block_x, block_y,
                                         block_z, shared_bytes, stream, NULL,    0};
    END(launch(fn, &config, args, extra));
}

tfr_cu_result API(cuLaunchKernelEx)(const tfr_cu_launch_config *config, tfr_cu_function *fn,
                                    void **args, void **extra)
{
    BEGIN(cuLaunchKernelEx, NEEDS_CONTEXT);
    END(config ? launch(fn, config, args, extra) : TFR_CU_INVALID_VALUE);
}

tfr_cu_result API(cuLaunchCooperativeKernel)(tfr_cu_function *fn, unsigned grid_x, unsigned grid_y,
                                             unsigned grid_z, unsigned block_x, unsigned block_y,
                                             unsigned block_z, unsigned shared_bytes,
                                             tfr_cu_stream *stream, void **args)
{
    BEGIN(cuLaunchCooperativeKernel, NEEDS_CONTEXT);
    tfr_cu_launch_attr attr = {.id = TFR_CU_LAUNCH_COOPERATIVE, .value.cooperative = 1};
    const tfr_cu_launch_config config = {grid_x,  grid_y,       grid_z, block_x, block_y,
                                         block_z, shared_bytes, stream, &attr,   1};
    END(launch(fn, &config, args, NULL));
}

/* ------------------------------------------------------------------------------------------
 * Kernels of library stand-ins. They are no kernels of a cuLibrary, and count as launched only.
 */
__attribute__((visibility("default"))) tfr_cu_result
tfr_fake_cuda_launch(tfr_cu_stream *stream, const tfr_cpu_kernel *row, void **args)
{
    BEGIN(cuLaunchKernel, NEEDS_CONTEXT);
    tfr_cu_stream *s = fake_stream(stream);
    if (!s)
        END(TFR_CU_INVALID_HANDLE);
    fake_note("%s stream %d", row->name, s->id);
    fake_op op = {.kind = OP_KERNEL, .u.kernel = {row, {1, 1, 1}, {1, 1, 1}, 0, NULL}};
    op.u.kernel.bytes = copy_arguments(row, args);
    if (!op.u.kernel.bytes)
        END(TFR_CU_OUT_OF_MEMORY);
    END(fake_submit(s, &op));
}

__attribute__((visibility("default"))) void tfr_fake_cuda_spend(double ms)
{
    pthread_mutex_lock(&fake.lock);
    fake.spent_ms += ms;
    pthread_mutex_unlock(&fake.lock);
}
