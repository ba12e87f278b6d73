/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_kit.h: what tests of calls that NVIDIA's libraries compute begin with: the stand-ins of
 * these libraries and a runtime that uses them. Included once per test program.
 */
#ifndef TFR_CUDA_ENGINE_KIT_H
#define TFR_CUDA_ENGINE_KIT_H

#include "training_kit.h"

#include "library_kit.h"

static library solver = {.name = "cusolver", .soname = "libcusolver.so.12"};

/* Options library-from and tune. */
static inline tfr_runtime *tuned_runtime(const char *from, const char *tune)
{
    char path[4200];
    const char *files[] = {path}, *build = getenv("TFR_BUILDDIR");
    const tfr_option given[] = {{"cuda.library-path", folder},
                                {"cuda.library-from", from},
                                {"cuda.tune", tune},
                                {"cuda.tune_fill", "0"}};
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    find_library(&lt);
    find_library(&dnn);
    find_library(&solver);
    snprintf(path, sizeof path, "%s/plugins/cuda/.libs/tfrun-cuda.so", build ? build : ".");
    options.plugin_files = files;
    options.n_plugin_files = 1;
    options.options = given;
    options.n_options = 4;
    options.log = keep_log;
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    return runtime;
}

/* What the libraries name first computes: no time decides, and calls can be counted. */
static inline tfr_runtime *engine_runtime(const char *from)
{
    return tuned_runtime(from, "off");
}

static inline void check_end(void)
{
    CHECK_UINT(0, lt.held());
    CHECK_UINT(0, dnn.held());
    CHECK_UINT(0, solver.held());
    check_leaks("leaked: nothing");
}

#endif
