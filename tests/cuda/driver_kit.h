/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_kit.h: opens the driver stand-in of the build tree, for the tests of it and of what calls
 * it. cu.NAME is the driver's function, cu.calls(NAME) and its kin are those of fake_driver.h.
 */
#ifndef DRIVER_KIT_H
#define DRIVER_KIT_H

#include <dlfcn.h>
#include <stdlib.h>

#include "cuda_abi.h"
#include "fake_driver.h"
#include "tfr_test.h"

typedef struct driver_kit {
#define X(name, required, since, who) tfr_##name##_fn *name;
#include "driver.def"
#undef X
    fake_configure_fn *configure;
    fake_calls_fn *calls;
    fake_leaks_fn *leaks;
    fake_log_fn *log;
    void *so;
} driver_kit;

static driver_kit cu;

/* ISO C does not convert the pointer, POSIX does. */
static inline void kit_take(void *so, const char *name, void *fn)
{
    *(void **)fn = dlsym(so, name);
}

static inline bool kit_open(void)
{
    const char *dir = getenv("TFR_BUILDDIR");
    char path[4096];
    if (cu.so)
        return true;
    snprintf(path, sizeof path, "%s/tests/cuda/libcuda.so.1", dir ? dir : ".");
    cu.so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!cu.so) {
        printf("%s\n", dlerror());
        return false;
    }
#define X(name, required, since, who) kit_take(cu.so, #name, &cu.name);
#include "driver.def"
#undef X
    kit_take(cu.so, "tfr_fake_cuda_configure", &cu.configure);
    kit_take(cu.so, "tfr_fake_cuda_calls", &cu.calls);
    kit_take(cu.so, "tfr_fake_cuda_leaks", &cu.leaks);
    kit_take(cu.so, "tfr_fake_cuda_log", &cu.log);
    return true;
}

/* A driver with these switches, device 0's context current. */
static inline tfr_cu_context *kit_begin(const char *switches)
{
    tfr_cu_context *ctx = NULL;
    REQUIRE(kit_open());
    cu.configure(switches);
    REQUIRE_INT(0, cu.cuInit(0));
    REQUIRE_INT(0, cu.cuDevicePrimaryCtxRetain(&ctx, 0));
    REQUIRE_INT(0, cu.cuCtxPushCurrent_v2(ctx));
    return ctx;
}

/* Gives the context back; nothing may be left. */
static inline void kit_end(void)
{
    char text[256];
    CHECK_INT(0, cu.cuCtxPopCurrent_v2(NULL));
    CHECK_INT(0, cu.cuDevicePrimaryCtxRelease_v2(0));
    cu.leaks(text, sizeof text);
    CHECK_STR("leaked: nothing", text);
}

static inline tfr_cu_stream *kit_stream(void)
{
    tfr_cu_stream *stream = NULL;
    REQUIRE_INT(0, cu.cuStreamCreateWithPriority(&stream, TFR_CU_STREAM_NON_BLOCKING, 0));
    return stream;
}

static inline tfr_cu_event *kit_event(void)
{
    tfr_cu_event *event = NULL;
    REQUIRE_INT(0, cu.cuEventCreate(&event, TFR_CU_EVENT_DISABLE_TIMING));
    return event;
}

static inline tfr_cu_ptr kit_alloc(size_t bytes)
{
    tfr_cu_ptr ptr = 0;
    REQUIRE_INT(0, cu.cuMemAlloc_v2(&ptr, bytes));
    return ptr;
}

static inline void *kit_pinned(size_t bytes)
{
    void *ptr = NULL;
    REQUIRE_INT(0, cu.cuMemHostAlloc(&ptr, bytes, TFR_CU_HOST_PORTABLE));
    return ptr;
}

/* The library with the stand-in's own kernels. */
static inline tfr_cu_library *kit_library(void)
{
    tfr_cu_library *library = NULL;
    REQUIRE_INT(0,
                cu.cuLibraryLoadData(&library, "tfrun: own kernels", NULL, NULL, 0, NULL, NULL, 0));
    return library;
}

/* A kernel that is loaded, so that it can be captured. */
static inline tfr_cu_function *kit_kernel(tfr_cu_library *library, const char *name)
{
    tfr_cu_kernel *kernel = NULL;
    tfr_cu_function *fn = NULL;
    REQUIRE_INT(0, cu.cuLibraryGetKernel(&kernel, library, name));
    REQUIRE_INT(0, cu.cuKernelGetFunction(&fn, kernel));
    REQUIRE_INT(0, cu.cuFuncLoad(fn));
    return fn;
}

static inline tfr_cu_result kit_scale(tfr_cu_function *fn, tfr_cu_stream *stream, tfr_cu_ptr y,
                                      float a, int n)
{
    void *args[] = {&y, &a, &n};
    return cu.cuLaunchKernel(fn, 1, 1, 1, 64, 1, 1, 0, stream, args, NULL);
}

static inline tfr_cu_result kit_add(tfr_cu_function *fn, tfr_cu_stream *stream, tfr_cu_ptr y,
                                    tfr_cu_ptr x, int n)
{
    void *args[] = {&y, &x, &n};
    return cu.cuLaunchKernel(fn, 1, 1, 1, 64, 1, 1, 0, stream, args, NULL);
}

#endif
