/* SPDX-License-Identifier: Apache-2.0 */
/* Offers a compiler and forgets how to launch what it makes. */
#include <tfrun/plugin.h>

static int32_t propose(tfr_plugin_device *device, const tfr_program_graph *graph, tfr_proposal *out,
                       uint32_t stride, tfr_err *err)
{
    (void)device, (void)graph, (void)out, (void)stride, (void)err;
    return TFR_OK;
}

static int32_t compile(tfr_plugin_device *device, const tfr_program_graph *graph,
                       const tfr_compile_options *options, tfr_program **out,
                       tfr_program_output *outputs, uint32_t stride, tfr_program_info *info,
                       tfr_err *err)
{
    (void)device, (void)graph, (void)options, (void)out, (void)outputs, (void)stride, (void)info;
    (void)err;
    return TFR_EUNSUPPORTED;
}

static void drop(tfr_plugin_device *device, tfr_program *program)
{
    (void)device, (void)program;
}

static const tfr_program_facet program = {
    .size = sizeof program, .propose = propose, .compile = compile, .drop = drop};

#define FAKE_NAME "null-program"
#define FAKE_ON_FACET                                                                              \
    if (strcmp(id, TFR_PROGRAM_V1) == 0)                                                           \
        return &program;
#include "fake.h"
