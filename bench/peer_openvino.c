/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_openvino.c: OpenVINO through its C interface, at its strongest setting for one caller: the
 * hint for latency, one stream on as many threads as we have, the model reshaped to the dims of the
 * inputs, inputs in memory of the caller, and float32 where it would take bfloat16.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>
#include <tfrun/fail.h>

#include "ort_library.h"
#include "peer.h"

#define PEER "openvino"

/* As OpenVINO's C headers have them. */
typedef struct ov_dims {
    int64_t rank;
    int64_t *dims;
} ov_dims;
typedef struct ov_range {
    int64_t min, max;
} ov_range;
typedef struct ov_partial {
    ov_range rank;
    ov_range *dims;
} ov_partial;
typedef struct ov_version {
    const char *number, *description;
} ov_version;
typedef struct ov_object ov_object;

/* name, arguments; all return 0 for success */
#define OV_CALLS(X)                                                                                \
    X(ov_get_openvino_version, (ov_version *))                                                     \
    X(ov_core_create, (ov_object **))                                                              \
    X(ov_core_read_model, (ov_object *, const char *, const char *, ov_object **))                 \
    X(ov_core_compile_model, (ov_object *, ov_object *, const char *, size_t, ov_object **, ...))  \
    X(ov_model_reshape, (ov_object *, const char **, const ov_partial *, size_t))                  \
    X(ov_compiled_model_create_infer_request, (ov_object *, ov_object **))                         \
    X(ov_tensor_create_from_host_ptr, (int, ov_dims, void *, ov_object **))                        \
    X(ov_infer_request_set_tensor, (ov_object *, const char *, ov_object *))                       \
    X(ov_infer_request_infer, (ov_object *))                                                       \
    X(ov_infer_request_get_output_tensor_by_index, (ov_object *, size_t, ov_object **))            \
    X(ov_tensor_data, (ov_object *, void **))                                                      \
    X(ov_tensor_get_byte_size, (ov_object *, size_t *))

#define OV_RELEASES(X)                                                                             \
    X(ov_core_free)                                                                                \
    X(ov_model_free) X(ov_compiled_model_free) X(ov_infer_request_free) X(ov_tensor_free)

/* The library, opened once; it stays. */
static struct {
#define OV_CALL(name, arguments) int(*name) arguments;
#define OV_RELEASE(name)         void (*name)(ov_object *);
    OV_CALLS(OV_CALL)
    OV_RELEASES(OV_RELEASE)
    const char *(*ov_get_last_err_msg)(void);
    void *library;
} ov;

typedef struct ov_peer {
    ov_object *core, *model, *compiled, *request;
    double ready_seconds; /* that making it took, reading the file included */
    uint32_t n_inputs;
    ov_object *inputs[];
} ov_peer;

/* ---- the library ----------------------------------------------------------------------------- */

static bool take(bench_contest *contest, int status)
{
    const char *text = status ? ov.ov_get_last_err_msg() : NULL;
    if (status)
        bench_peer_skip(contest, PEER, "%s (status %d)", text && *text ? text : "it failed",
                        status);
    return !status;
}

static bool find(void *out, const char *name)
{
    void *symbol = dlsym(ov.library, name);
    memcpy(out, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool open_library(bench_contest *contest)
{
    char python[800];
    const char *names[] = {"libopenvino_c.so", python, NULL};
    bool good;
    if (ov.library)
        return true;
    if (bench_peer_file(contest->options, PEER) ||
        !*bench_file_in_python("openvino", "libs/libopenvino_c.so*", python, sizeof python))
        names[1] = NULL;
    if (!(ov.library = bench_peer_open(contest, PEER, names)))
        return false;
    good = find(&ov.ov_get_last_err_msg, "ov_get_last_err_msg");
#define OV_FIND(name)                 good = good && find(&ov.name, #name);
#define OV_FIND_CALL(name, arguments) OV_FIND(name)
    OV_CALLS(OV_FIND_CALL)
    OV_RELEASES(OV_FIND)
    if (!good) {
        bench_peer_skip(contest, PEER, "the library lacks functions of the C interface of 2026");
        ov.library = NULL;
    }
    return good;
}

/* ---- a request ------------------------------------------------------------------------------- */

static void openvino_destroy(void *user)
{
    ov_peer *p = user;
    if (!p)
        return;
    for (uint32_t i = 0; i < p->n_inputs; i++)
        if (p->inputs[i])
            ov.ov_tensor_free(p->inputs[i]);
    if (p->request)
        ov.ov_infer_request_free(p->request);
    if (p->compiled)
        ov.ov_compiled_model_free(p->compiled);
    if (p->model)
        ov.ov_model_free(p->model);
    if (p->core)
        ov.ov_core_free(p->core);
    free(p);
}

static tfr_status openvino_run(void *user, tfr_err *err)
{
    ov_peer *p = user;
    return ov.ov_infer_request_infer(p->request)
               ? tfr_fail(err, TFR_EUNSUPPORTED, "%s", ov.ov_get_last_err_msg())
               : TFR_OK;
}

/* Its number for an element type, or 0. */
static int type_of(tfr_dtype dtype)
{
    switch (dtype) {
    case TFR_DTYPE_BOOL:
        return 1;
    case TFR_DTYPE_BF16:
        return 2;
    case TFR_DTYPE_F16:
        return 3;
    case TFR_DTYPE_F32:
        return 4;
    case TFR_DTYPE_F64:
        return 5;
    case TFR_DTYPE_I8:
        return 7;
    case TFR_DTYPE_I32:
        return 9;
    case TFR_DTYPE_I64:
        return 10;
    case TFR_DTYPE_U8:
        return 16;
    default:
        return 0;
    }
}

/* Gives the model the dims of the inputs. Where it will not have them it keeps open ones. */
static void reshape(ov_peer *p, const tfr_graph *graph, tfr_tensor *const *inputs)
{
    ov_range(*dims)[TFR_MAX_RANK] = calloc(p->n_inputs + 1u, sizeof *dims);
    ov_partial *shapes = calloc(p->n_inputs + 1u, sizeof *shapes);
    const char **names = calloc(p->n_inputs + 1u, sizeof *names);
    for (uint32_t i = 0; dims && shapes && names && i < p->n_inputs; i++) {
        const tfr_shape *shape = tfr_tensor_shape(inputs[i]);
        for (int32_t d = 0; d < shape->rank; d++)
            dims[i][d] = (ov_range){shape->dims[d], shape->dims[d]};
        shapes[i] = (ov_partial){{shape->rank, shape->rank}, dims[i]};
        names[i] = tfr_graph_value_name(graph, tfr_graph_input(graph, i));
    }
    if (dims && shapes && names)
        (void)ov.ov_model_reshape(p->model, names, shapes, p->n_inputs);
    free(dims);
    free(shapes);
    free(names);
}

static bool compile(bench_contest *contest, ov_peer *p)
{
    char threads[16];
    snprintf(threads, sizeof threads, "%u", contest->options->n_threads);
    return take(contest, ov.ov_core_compile_model(p->core, p->model, "CPU", (size_t)8, &p->compiled,
                                                  "PERFORMANCE_HINT", "LATENCY", "NUM_STREAMS", "1",
                                                  "INFERENCE_NUM_THREADS", threads,
                                                  "INFERENCE_PRECISION_HINT", "f32")) &&
           take(contest, ov.ov_compiled_model_create_infer_request(p->compiled, &p->request));
}

static bool bind(bench_contest *contest, ov_peer *p, const tfr_graph *graph,
                 tfr_tensor *const *inputs)
{
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        const char *name = tfr_graph_value_name(graph, tfr_graph_input(graph, i));
        tfr_shape shape = *tfr_tensor_shape(inputs[i]);
        const int type = type_of(tfr_tensor_dtype(inputs[i]));
        if (!type) {
            bench_peer_skip(contest, PEER, "input \"%s\" is of a type that is not given to it",
                            name);
            return false;
        }
        if (!take(contest,
                  ov.ov_tensor_create_from_host_ptr(type, (ov_dims){shape.rank, shape.dims},
                                                    tfr_tensor_data(inputs[i]), &p->inputs[i])) ||
            !take(contest, ov.ov_infer_request_set_tensor(p->request, name, p->inputs[i])))
            return false;
    }
    return true;
}

static bool compare(bench_contest *contest, const ov_peer *p, tfr_tensor *const *outputs,
                    uint32_t n_outputs)
{
    ov_object **tensors = calloc(n_outputs + 1u, sizeof *tensors);
    const void **data = calloc(n_outputs + 1u, sizeof *data);
    bool good = tensors && data;
    for (uint32_t i = 0; good && i < n_outputs; i++) {
        void *place = NULL;
        size_t bytes = 0;
        good = take(contest,
                    ov.ov_infer_request_get_output_tensor_by_index(p->request, i, &tensors[i])) &&
               take(contest, ov.ov_tensor_get_byte_size(tensors[i], &bytes));
        if (good && bytes != tfr_tensor_bytes(outputs[i])) {
            bench_peer_skip(contest, PEER, "output %u has %zu bytes, and ours %zu", i, bytes,
                            tfr_tensor_bytes(outputs[i]));
            good = false;
        }
        good = good && (bytes == 0 || take(contest, ov.ov_tensor_data(tensors[i], &place)));
        data[i] = place;
    }
    if (good)
        good = bench_peer_agrees(contest, PEER, outputs, n_outputs, data);
    else
        bench_contest_remove(contest, contest->n - 1);
    for (uint32_t i = 0; tensors && i < n_outputs; i++)
        if (tensors[i])
            ov.ov_tensor_free(tensors[i]);
    free(tensors);
    free(data);
    return good;
}

void bench_add_openvino_model(bench_contest *contest, const char *path, const tfr_graph *graph,
                              tfr_tensor *const *inputs, uint32_t n_inputs,
                              tfr_tensor *const *outputs, uint32_t n_outputs)
{
    bench_contender *c;
    ov_version version = {0};
    tfr_err err = TFR_ERR_INIT;
    double began, ready_seconds;
    ov_peer *p;
    if (!bench_wants(contest->options, PEER) || !open_library(contest))
        return;
    if (!(p = calloc(1, sizeof *p + n_inputs * sizeof *p->inputs))) {
        bench_peer_skip(contest, PEER, "no memory for its request");
        return;
    }
    p->n_inputs = n_inputs;
    began = bench_now();
    if (!take(contest, ov.ov_core_create(&p->core)) ||
        !take(contest, ov.ov_core_read_model(p->core, path, NULL, &p->model))) {
        openvino_destroy(p);
        return;
    }
    reshape(p, graph, inputs);
    if (!compile(contest, p) || !bind(contest, p, graph, inputs)) {
        openvino_destroy(p);
        return;
    }
    ready_seconds = bench_now() - began;
    if (openvino_run(p, &err) || !(c = bench_contest_add(contest, PEER))) {
        bench_peer_skip(contest, PEER, "%s", err.text);
        openvino_destroy(p);
        return;
    }
    (void)ov.ov_get_openvino_version(&version);
    snprintf(c->note, sizeof c->note, "%.60s, %u threads, float32",
             version.number ? version.number : "", contest->options->n_threads);
    c->run = openvino_run;
    c->destroy = openvino_destroy;
    c->user = p;
    if (compare(contest, p, outputs, n_outputs))
        bench_add_figure(contest->report, contest->row, "openvino_ready_seconds", "openvino ready",
                         "s", ready_seconds);
}
