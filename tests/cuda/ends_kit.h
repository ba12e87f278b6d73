/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ends_kit.h: small graphs on the CUDA backend over the stand-ins, whose values, launches and calls
 * of libraries are looked at. Included once per test program.
 */
#ifndef TFR_CUDA_ENDS_KIT_H
#define TFR_CUDA_ENDS_KIT_H

#include "engine_kit.h"
#include "graph_text.h"

enum { MOST = 8192 }; /* elements of all outputs */

typedef struct result {
    tfr_status status;
    float y[MOST];
    int64_t n;
    unsigned of_library, kernels; /* calls in the first run */
    unsigned conversions;         /* of images, by the core and by cuDNN */
    tfr_session_stats stats;
} result;

static inline void run(tfr_session *session, const tfr_graph *graph, result *r)
{
    tfr_tensor *in[8] = {NULL}, *out[4] = {NULL};
    const uint32_t n = tfr_graph_n_inputs(graph), n_out = tfr_graph_n_outputs(graph);
    const unsigned before = dnn.calls("cudnnBackendExecute") + lt.calls("cublasLtMatmul");
    const unsigned kernels = calls_of("cuLaunchKernel");
    const unsigned conversions = dnn.calls("conversion");
    for (uint32_t i = 0; i < n; i++)
        in[i] = random_input(graph, i, 1, i + 1, -1.5f, 2);
    r->status = tfr_session_run(session, in, n, out, n_out, &err);
    for (uint32_t i = 0; i < n_out && !r->status; i++) {
        REQUIRE(r->n + tfr_tensor_elements(out[i]) <= MOST);
        memcpy(r->y + r->n, tfr_tensor_data(out[i]), tfr_tensor_bytes(out[i]));
        r->n += tfr_tensor_elements(out[i]);
        tfr_tensor_release(out[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        tfr_tensor_release(in[i]);
    r->of_library = dnn.calls("cudnnBackendExecute") + lt.calls("cublasLtMatmul") - before;
    r->kernels = calls_of("cuLaunchKernel") - kernels - r->of_library;
    r->stats = stats_of(session);
    r->conversions = r->stats.n_reorders + dnn.calls("conversion") - conversions;
}

/* Takes over the runtime. */
static inline result compute_in(tfr_runtime *runtime, const char *device, const char *mode,
                                const char *text)
{
    tfr_session_options o = TFR_SESSION_OPTIONS_INIT;
    tfr_graph *graph = graph_of_text(text);
    tfr_session *session = NULL;
    static result r;
    memset(&r, 0, sizeof r);
    o.device = device;
    o.passes = "none";
    o.math_mode = mode;
    r.status = tfr_session_create(runtime, graph, &o, &session, &err);
    if (!r.status)
        run(session, graph, &r);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return r;
}

static inline result compute(tfr_runtime *runtime, const char *device, const char *text)
{
    return compute_in(runtime, device, "strict", text);
}

/* The largest difference, by the larger one of the numbers and 1. */
static inline double apart(const result *a, const result *b)
{
    double most = 0;
    CHECK_INT(a->n, b->n);
    for (int64_t i = 0; i < a->n; i++)
        most = fmax(most, fabs((double)a->y[i] - (double)b->y[i]) / fmax(1, fabs((double)b->y[i])));
    return most;
}

#endif
