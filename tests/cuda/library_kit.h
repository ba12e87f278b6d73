/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library_kit.h: the stand-ins of NVIDIA's libraries, as a test asks and orders them. Included
 * behind a kit that has `folder` and symbol().
 */
#ifndef TFR_CUDA_LIBRARY_KIT_H
#define TFR_CUDA_LIBRARY_KIT_H

#include "fake_library.h"

typedef struct library {
    const char *name, *soname;
    fake_library_calls_fn *calls;
    fake_library_fail_fn *fail;
    fake_library_cost_fn *cost;
    unsigned (*held)(void);
} library;

static library lt = {.name = "cublaslt", .soname = "libcublasLt.so.13"};
static library dnn = {.name = "cudnn", .soname = "libcudnn.so.9"};

static inline void find_library(library *l)
{
    char path[4200], name[64];
    snprintf(path, sizeof path, "%s/%s", folder, l->soname);
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(so != NULL);
    snprintf(name, sizeof name, "tfr_fake_%s_calls", l->name);
    *(void **)&l->calls = symbol(so, name);
    snprintf(name, sizeof name, "tfr_fake_%s_fail", l->name);
    *(void **)&l->fail = symbol(so, name);
    snprintf(name, sizeof name, "tfr_fake_%s_cost", l->name);
    *(void **)&l->cost = dlsym(so, name); /* NULL: it has one way of computing */
    snprintf(name, sizeof name, "tfr_fake_%s_held", l->name);
    *(void **)&l->held = symbol(so, name);
}

#endif
