/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_ort.c: ONNX Runtime, at its strongest setting for one caller: all graph optimisations, as
 * many threads as we have, spinning allowed, outputs in memory of the caller, so that a run
 * allocates none for them, but for strings, sequences and maps. float32 stays float32: it has no
 * option for less on x86.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

#include "onnx_bytes.h"
#include "ort_library.h"

#define PEER "onnxruntime"

/* The library, opened once; it stays. */
static struct {
    ort_api api;
    const char *version;
    ort_object *env, *memory;
} ort;

typedef struct ort_peer {
    ort_object *session;
    double ready_seconds; /* that making it took, reading the file included */
    ort_object **values;  /* inputs, then outputs */
    const char **names;   /* of them; not owned */
    float **owned;        /* memory of outputs; NULL = each run makes the value */
    size_t n_inputs, n_outputs;
} ort_peer;

/* ---- the library ----------------------------------------------------------------------------- */

const char *bench_ort_file(const bench_options *options, char *path, size_t capacity)
{
    const char *given = bench_peer_file(options, PEER);
    void *library;
    if (given)
        return given;
    for (int i = 0; bench_ort_names[i]; i++) {
        library = dlopen(bench_ort_names[i], RTLD_LAZY | RTLD_LOCAL);
        if (library) {
            dlclose(library);
            return NULL;
        }
    }
    return *bench_ort_in_python(path, capacity) ? path : NULL;
}

static bool take(bench_contest *contest, ort_status *status)
{
    if (!status)
        return true;
    bench_peer_skip(contest, PEER, "%s", ort.api.message(status));
    ort.api.release_status(status);
    return false;
}

static bool open_library(bench_contest *contest)
{
    char python[800];
    const char *names[] = {bench_ort_names[0], bench_ort_names[1], python, NULL};
    void *library;
    if (ort.memory)
        return true;
    if (bench_peer_file(contest->options, PEER) || !*bench_ort_in_python(python, sizeof python))
        names[2] = NULL;
    if (!(library = bench_peer_open(contest, PEER, names)))
        return false;
    if (!bench_ort_take(library, &ort.api, &ort.version)) {
        bench_peer_skip(contest, PEER, "the library has no C interface of version %d",
                        ORT_API_VERSION_WANTED);
        return false;
    }
    return take(contest, ort.api.create_env(ORT_LOG_ERROR, "tfrun bench", &ort.env)) &&
           take(contest, ort.api.create_cpu_memory_info(ORT_ALLOCATOR_DEVICE, ORT_MEMORY_DEFAULT,
                                                        &ort.memory));
}

/* ---- a session ------------------------------------------------------------------------------- */

static void ort_destroy(void *user)
{
    ort_peer *p = user;
    if (!p)
        return;
    for (size_t i = 0; p->values && i < p->n_inputs + p->n_outputs; i++) {
        if (p->values[i])
            ort.api.release_value(p->values[i]);
        free(p->owned ? p->owned[i] : NULL);
    }
    if (p->session)
        ort.api.release_session(p->session);
    free(p->values);
    free(p->names);
    free(p->owned);
    free(p);
}

static tfr_status ort_run(void *user, tfr_err *err)
{
    ort_peer *p = user;
    ort_status *status;
    tfr_status code;
    for (size_t i = p->n_inputs; i < p->n_inputs + p->n_outputs; i++)
        if (!p->owned[i] && p->values[i]) {
            ort.api.release_value(p->values[i]);
            p->values[i] = NULL;
        }
    status =
        ort.api.run(p->session, NULL, p->names, (const ort_object *const *)p->values, p->n_inputs,
                    p->names + p->n_inputs, p->n_outputs, p->values + p->n_inputs);
    if (!status)
        return TFR_OK;
    code = tfr_fail(err, TFR_EUNSUPPORTED, "%s", ort.api.message(status));
    ort.api.release_status(status);
    return code;
}

static bool set_options(bench_contest *contest, ort_object *options)
{
    int n = (int)contest->options->n_threads;
    return take(contest, ort.api.set_optimization_level(options, ORT_OPTIMIZE_ALL)) &&
           take(contest, ort.api.set_intra_op_threads(options, n)) &&
           take(contest, ort.api.set_inter_op_threads(options, 1)) &&
           take(contest,
                ort.api.add_session_config(options, "session.intra_op.allow_spinning", "1"));
}

/* A session of the file, or of the bytes if path is NULL. NULL after remembering the skip. */
static ort_peer *ort_create(bench_contest *contest, const char *path, const bench_bytes *bytes,
                            size_t n_inputs, size_t n_outputs)
{
    ort_object *options = NULL;
    ort_peer *p = calloc(1, sizeof *p);
    bool good = p != NULL;
    double began;
    if (good) {
        p->n_inputs = n_inputs;
        p->n_outputs = n_outputs;
        p->values = calloc(n_inputs + n_outputs, sizeof *p->values);
        p->names = calloc(n_inputs + n_outputs, sizeof *p->names);
        p->owned = calloc(n_inputs + n_outputs, sizeof *p->owned);
        good = p->values && p->names && p->owned;
    }
    if (!good || (bytes && bytes->lost))
        bench_peer_skip(contest, PEER, "no memory for its session");
    began = bench_now();
    good = good && !(bytes && bytes->lost) &&
           take(contest, ort.api.create_session_options(&options)) &&
           set_options(contest, options) &&
           take(contest, path ? ort.api.create_session(ort.env, path, options, &p->session)
                              : ort.api.create_session_from_array(ort.env, bytes->data, bytes->n,
                                                                  options, &p->session));
    if (options)
        ort.api.release_session_options(options);
    if (good) {
        p->ready_seconds = bench_now() - began;
        return p;
    }
    ort_destroy(p);
    return NULL;
}

/* Value i is this memory, which is not copied; NULL = memory of our own. */
static bool ort_bind(bench_contest *contest, ort_peer *p, size_t i, const char *name, int dtype,
                     void *data, size_t bytes, const int64_t *dims, size_t rank)
{
    p->names[i] = name;
    if (!data && !(data = p->owned[i] = calloc(1, bytes + 64))) {
        bench_peer_skip(contest, PEER, "no memory for %zu bytes of an output", bytes);
        return false;
    }
    return take(contest, ort.api.create_tensor_with_data(ort.memory, data, bytes, dims, rank, dtype,
                                                         &p->values[i]));
}

/* Value i is a copy of these strings. */
static bool ort_bind_strings(bench_contest *contest, ort_peer *p, size_t i, const tfr_tensor *t)
{
    const tfr_shape *shape = tfr_tensor_shape(t);
    const int64_t n = tfr_tensor_elements(t);
    const char **strings = calloc((size_t)n + 1, sizeof *strings);
    ort_object *allocator;
    bool good = strings != NULL;
    if (!good)
        bench_peer_skip(contest, PEER, "no memory for %lld strings", (long long)n);
    for (int64_t k = 0; good && k < n; k++)
        strings[k] = tfr_tensor_get_string(t, k, NULL);
    good = good && take(contest, ort.api.default_allocator(&allocator)) &&
           take(contest, ort.api.create_tensor(allocator, shape->dims, (size_t)shape->rank,
                                               TFR_DTYPE_STRING, &p->values[i])) &&
           take(contest, ort.api.fill_strings(p->values[i], strings, (size_t)n));
    free(strings);
    return good;
}

/* Whether output o is a tensor there; what ZipMap makes is a tensor of ours alone. */
static bool gives_tensor(bench_contest *contest, const ort_peer *p, size_t o)
{
    ort_object *type = NULL;
    int kind = 0;
    const bool good = take(contest, ort.api.output_type(p->session, o, &type)) &&
                      take(contest, ort.api.kind_of_type(type, &kind));
    if (type)
        ort.api.release_type(type);
    return good && kind == ORT_KIND_TENSOR;
}

/* Value i is the input or the memory for the output t, which only some kinds have. */
static bool ort_bind_tensor(bench_contest *contest, ort_peer *p, size_t i, const char *name,
                            const tfr_tensor *t)
{
    const bool is_input = i < p->n_inputs;
    const bool is_tensor = tfr_tensor_kind(t) == TFR_KIND_TENSOR;
    const bool has_bytes = is_tensor && tfr_tensor_dtype(t) != TFR_DTYPE_STRING;
    const tfr_shape *shape;
    p->names[i] = name;
    if (is_input && !is_tensor) {
        bench_peer_skip(contest, PEER, "input \"%s\" is no tensor", name);
        return false;
    }
    if (is_input && !has_bytes)
        return ort_bind_strings(contest, p, i, t);
    if (!has_bytes || (!is_input && !gives_tensor(contest, p, i - p->n_inputs)))
        return true;
    shape = tfr_tensor_shape(t);
    return ort_bind(contest, p, i, name, (int)tfr_tensor_dtype(t),
                    is_input ? tfr_tensor_data(t) : NULL, tfr_tensor_bytes(t), shape->dims,
                    (size_t)shape->rank);
}

/* Runs it once and adds it. */
static bench_contender *ort_add(bench_contest *contest, ort_peer *p, const char *note)
{
    tfr_err err = TFR_ERR_INIT;
    bench_contender *c = NULL;
    if (ort_run(p, &err))
        bench_peer_skip(contest, PEER, "%s", err.text);
    else
        c = bench_contest_add(contest, PEER);
    if (!c) {
        ort_destroy(p);
        return NULL;
    }
    snprintf(c->note, sizeof c->note, "%s, %u threads%s", ort.version, contest->options->n_threads,
             note);
    c->run = ort_run;
    c->destroy = ort_destroy;
    c->user = p;
    return c;
}

/* ---- what it is given ------------------------------------------------------------------------ */

void bench_add_ort_product(bench_contest *contest, const bench_product *product)
{
    bench_bytes bytes = {0};
    int64_t a[] = {product->m, product->k}, b[] = {product->k, product->n},
            c[] = {product->m, product->n};
    size_t n_inputs = product->constant ? 1 : 2;
    bench_contender *contender = NULL;
    ort_peer *p;
    bool good;
    if (!bench_wants(contest->options, PEER) || !open_library(contest))
        return;
    bench_onnx_product(product, &bytes);
    p = ort_create(contest, NULL, &bytes, n_inputs, 1);
    free(bytes.data);
    if (!p)
        return;
    good = ort_bind(contest, p, 0, "a", TFR_DTYPE_F32, (void *)(uintptr_t)product->a,
                    (size_t)(a[0] * a[1]) * sizeof(float), a, 2);
    if (good && !product->constant)
        good = ort_bind(contest, p, 1, "b", TFR_DTYPE_F32, (void *)(uintptr_t)product->b,
                        (size_t)(b[0] * b[1]) * sizeof(float), b, 2);
    good = good && ort_bind(contest, p, n_inputs, "c", TFR_DTYPE_F32, NULL,
                            (size_t)(c[0] * c[1]) * sizeof(float), c, 2);
    if (!good)
        ort_destroy(p);
    else
        contender = ort_add(contest, p, product->constant ? ", constant packed" : "");
    if (contender) {
        contender->flops = 2.0 * (double)c[0] * (double)c[1] * (double)a[1];
        contender->error = bench_product_error(product, p->owned[n_inputs]);
    }
}

void bench_add_ort_chain(bench_contest *contest, int64_t n)
{
    static float one = 1;
    const int64_t dims[] = {1};
    bench_bytes bytes = {0};
    ort_peer *p;
    if (!bench_wants(contest->options, PEER) || !open_library(contest))
        return;
    bench_onnx_chain(n, &bytes);
    p = ort_create(contest, NULL, &bytes, 1, 1);
    free(bytes.data);
    if (!p)
        return;
    if (ort_bind(contest, p, 0, "x", TFR_DTYPE_F32, &one, sizeof one, dims, 1) &&
        ort_bind(contest, p, 1, "y", TFR_DTYPE_F32, NULL, sizeof one, dims, 1))
        ort_add(contest, p, ", each node adds one element");
    else
        ort_destroy(p);
}

void bench_add_ort_model(bench_contest *contest, const char *path, const tfr_graph *graph,
                         tfr_tensor *const *inputs, uint32_t n_inputs, tfr_tensor *const *outputs,
                         uint32_t n_outputs)
{
    ort_peer *p;
    bool good = true;
    double ready_seconds;
    if (!bench_wants(contest->options, PEER) || !open_library(contest) ||
        !(p = ort_create(contest, path, NULL, n_inputs, n_outputs)))
        return;
    for (uint32_t i = 0; good && i < n_inputs + n_outputs; i++) {
        uint32_t o = i - n_inputs;
        const char *name = i < n_inputs ? tfr_graph_value_name(graph, tfr_graph_input(graph, i))
                                        : tfr_graph_output_name(graph, o);
        good = ort_bind_tensor(contest, p, i, name, i < n_inputs ? inputs[i] : outputs[o]);
    }
    if (!good) {
        ort_destroy(p);
        return;
    }
    ready_seconds = p->ready_seconds;
    if (!ort_add(contest, p, ""))
        return;
    if (!bench_peer_agrees(contest, PEER, outputs, n_outputs,
                           (const void *const *)p->owned + n_inputs))
        return;
    bench_add_figure(contest->report, contest->row, "onnxruntime_ready_seconds",
                     "onnxruntime ready", "s", ready_seconds);
}
