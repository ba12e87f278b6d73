/* SPDX-License-Identifier: Apache-2.0 */
/*
 * way_ort.c: the reference against ONNX Runtime, if its library is there: the dynamic linker's, or
 * the one of Python's package. What both take must come out the same within what roundings explain;
 * what ONNX Runtime has no kernel for is passed over. known.def has the differences that stay.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/ort_library.h"
#include "way.h"

enum { COMPARED, CLOSE, COVERED, NO_KERNEL, REFUSED, OTHER };

/* ONNX Runtime's codes. */
enum { ORT_NOT_IMPLEMENTED = 9 };

static struct {
    ort_api api;
    ort_object *env, *memory, *options;
} ort;

static bool well(fuzz_context *context, ort_status *status)
{
    if (!status)
        return true;
    snprintf(context->report->text, sizeof context->report->text, "%s", ort.api.message(status));
    ort.api.release_status(status);
    return false;
}

static bool begin(fuzz_context *context)
{
    char python[800];
    const char *version;
    void *library = NULL;
    for (int i = 0; bench_ort_names[i] && !library; i++)
        library = dlopen(bench_ort_names[i], RTLD_LAZY | RTLD_LOCAL);
    if (!library && *bench_ort_in_python(python, sizeof python))
        library = dlopen(python, RTLD_LAZY | RTLD_LOCAL);
    if (!library || !bench_ort_take(library, &ort.api, &version)) {
        snprintf(context->report->text, sizeof context->report->text,
                 "ONNX Runtime is neither among the libraries nor in Python's packages");
        return false;
    }
    return well(context, ort.api.create_env(ORT_LOG_FATAL, "graph_fuzz", &ort.env)) &&
           well(context, ort.api.create_cpu_memory_info(ORT_ALLOCATOR_DEVICE, ORT_MEMORY_DEFAULT,
                                                        &ort.memory)) &&
           well(context, ort.api.create_session_options(&ort.options)) &&
           well(context, ort.api.set_intra_op_threads(ort.options, 1)) &&
           well(context, ort.api.set_inter_op_threads(ort.options, 1)) &&
           well(context, ort.api.set_optimization_level(ort.options, ORT_OPTIMIZE_NONE));
}

/* ---- one run there --------------------------------------------------------------------------- */

typedef struct answer {
    ort_object *session, *values[512];
    tfr_tensor *copies[512]; /* of inputs, because it may write into them */
    int code;                /* 0 = it ran */
    char text[1024];
} answer;

static bool took(answer *a, ort_status *status)
{
    if (!status)
        return true;
    a->code = ort.api.error_code(status);
    snprintf(a->text, sizeof a->text, "%s", ort.api.message(status));
    ort.api.release_status(status);
    return false;
}

static void answer_finish(answer *a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (a->values[i])
            ort.api.release_value(a->values[i]);
    fuzz_release(a->copies, n);
    if (a->session)
        ort.api.release_session(a->session);
}

/* False if it cannot even be asked: strings and the like. */
static bool ask(fuzz_context *context, const fuzz_case *c, answer *a)
{
    const char *names[512];
    *a = (answer){0};
    if (c->n_inputs + c->n_outputs > 512)
        return false;
    for (uint32_t i = 0; i < c->n_inputs; i++)
        if (tfr_tensor_kind(c->inputs[i]) != TFR_KIND_TENSOR ||
            tfr_tensor_dtype(c->inputs[i]) == TFR_DTYPE_STRING ||
            tfr_tensor_dtype(c->inputs[i]) > TFR_DTYPE_I4)
            return false; /* its numbers of the newest types are others */
    fuzz_stage(context, "onnxruntime reads");
    if (!took(a,
              ort.api.create_session_from_array(ort.env, c->bytes, c->n, ort.options, &a->session)))
        return true;
    fuzz_stage(context, "onnxruntime runs");
    for (uint32_t i = 0; i < c->n_inputs; i++) {
        const tfr_shape *shape = tfr_tensor_shape(c->inputs[i]);
        names[i] = tfr_graph_value_name(c->graph, tfr_graph_input(c->graph, i));
        if (tfr_tensor_copy(c->inputs[i], &a->copies[i], NULL))
            return false;
        if (!took(a, ort.api.create_tensor_with_data(
                         ort.memory, tfr_tensor_data(a->copies[i]), tfr_tensor_bytes(a->copies[i]),
                         shape->dims, (size_t)shape->rank, (int)tfr_tensor_dtype(c->inputs[i]),
                         &a->values[i])))
            return true;
    }
    for (uint32_t i = 0; i < c->n_outputs; i++)
        names[c->n_inputs + i] = tfr_graph_output_name(c->graph, i);
    took(a, ort.api.run(a->session, NULL, names, (const ort_object *const *)a->values, c->n_inputs,
                        names + c->n_inputs, c->n_outputs, a->values + c->n_inputs));
    return true;
}

/* A copy as one of our tensors; NULL if it is no tensor of a type with a fixed size. */
static tfr_tensor *output_of(answer *a, ort_object *value)
{
    int is_tensor = 0, type = 0;
    ort_object *info = NULL;
    size_t rank = 0;
    tfr_shape shape = {0};
    tfr_tensor *t = NULL;
    void *data = NULL;
    if (!value || !took(a, ort.api.is_tensor(value, &is_tensor)) || !is_tensor ||
        !took(a, ort.api.type_and_shape(value, &info)))
        return NULL;
    bool good = took(a, ort.api.element_type(info, &type)) &&
                took(a, ort.api.n_dims(info, &rank)) && rank <= TFR_MAX_RANK &&
                took(a, ort.api.dims(info, shape.dims, rank)) && type != TFR_DTYPE_STRING &&
                took(a, ort.api.tensor_data(value, &data));
    shape.rank = (int32_t)rank;
    if (good && !tfr_tensor_create((tfr_dtype)type, &shape, &t, NULL) && tfr_tensor_bytes(t))
        memcpy(tfr_tensor_data(t), data, tfr_tensor_bytes(t));
    ort.api.release_type_and_shape(info);
    return t;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool compare_one(fuzz_context *context, const fuzz_case *c, tfr_tensor *expected,
                        tfr_tensor *obtained, uint32_t i)
{
    char why[512], text[256] = "";
    fuzz_spread spread;
    bool covered = false;
    if (fuzz_close(obtained, expected, why, sizeof why)) {
        context->report->counts[CLOSE]++;
        return true;
    }
    for (int round = 0; round < (context->sure ? 2 : 1) && !covered; round++) {
        if (fuzz_spread_init(context, c, FUZZ_PEER_ORT, round ? 96 : 10, &spread))
            covered = fuzz_spread_covers(&spread, i, expected, obtained, text, sizeof text);
        fuzz_spread_finish(&spread);
    }
    if (covered) {
        context->report->counts[COVERED]++;
        return true;
    }
    return fuzz_fail(context, "values differ from onnxruntime's",
                     "output %u: \"expected\" is onnxruntime's: %s%s%s", (unsigned)i, why,
                     text[0] ? "; " : "", text);
}

/* An input of the right form may still be refused by the reference in a run alone. */
static bool refusal(fuzz_context *context, const fuzz_case *c, const char *text)
{
    fuzz_spread spread;
    bool valid = fuzz_spread_init(context, c, FUZZ_PEER_ORT, 1, &spread);
    fuzz_spread_finish(&spread);
    return !valid || fuzz_fail(context, "the reference refuses what onnxruntime takes", "%s", text);
}

static bool check_case(fuzz_context *context, const fuzz_case *c)
{
    static const fuzz_setting reference = {"naive", "naive:0", "none", 1};
    static answer a;
    tfr_tensor *expected[256];
    tfr_err err = TFR_ERR_INIT;
    bool good = true;
    fuzz_msg *model = fuzz_msg_read(c->bytes, c->n, FUZZ_MODEL);
    bool random = model && fuzz_varies(model);
    fuzz_msg_destroy(model);
    if (c->n_outputs > 256 || random)
        return true;
    tfr_status status = fuzz_run(context, c, &reference, expected, &err);
    if (!ask(context, c, &a)) {
        context->report->counts[OTHER]++;
    } else if (a.code == ORT_NOT_IMPLEMENTED) {
        context->report->counts[NO_KERNEL]++;
    } else if (a.code) {
        /* It has many limits of its own; a look at these now and then is worth it. */
        context->report->counts[REFUSED]++;
        if (context->verbose && !status)
            printf("onnxruntime refuses seed %llu: %s\n", (unsigned long long)context->report->seed,
                   a.text);
    } else if (status) {
        good = refusal(context, c, err.text);
    } else if (!a.code) {
        context->report->counts[COMPARED]++;
        for (uint32_t i = 0; i < c->n_outputs && good; i++) {
            tfr_tensor *obtained = output_of(&a, a.values[c->n_inputs + i]);
            if (obtained && tfr_tensor_kind(expected[i]) == TFR_KIND_TENSOR &&
                tfr_tensor_dtype(expected[i]) <= TFR_DTYPE_I4)
                good = compare_one(context, c, expected[i], obtained, i);
            tfr_tensor_release(obtained);
        }
    }
    answer_finish(&a, c->n_inputs + c->n_outputs);
    fuzz_release(expected, c->n_outputs);
    return good;
}

static bool check(fuzz_context *context, const unsigned char *bytes, size_t n)
{
    fuzz_case c;
    tfr_err err = TFR_ERR_INIT;
    fuzz_stage(context, "read");
    bool good = true;
    if (fuzz_case_init(&c, bytes, n, &err) == TFR_OK)
        good = check_case(context, &c);
    fuzz_case_finish(&c);
    return good;
}

const fuzz_way fuzz_way_ort = {.name = "ort",
                               .counts = {"compared", "outputs close", "outputs explained",
                                          "without a kernel there", "refused there", "not asked"},
                               .standard_only = true,
                               .opset = 23,
                               .begin = begin,
                               .check = check};
