/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of older versions of an op (core/op/older.c): which calls of today they get. */
#include "session_kit.h"

#include "device/runtime.h"
#include "op/op.h"

/* ---- the rules ------------------------------------------------------------------------------- */

typedef struct rule {
    const char *op;
    int32_t version;
    const char *attr, *text; /* text: a string's value; else n and ints */
    int64_t ints[2];
    uint64_t n;
    int32_t types[3]; /* of inputs */
    bool takes;
} rule;

static const rule rules[] = {
    {"MaxPool", 8, NULL, NULL, {0}, 0, {TFR_DTYPE_F32}, true},
    {"MaxPool", 8, "dilations", NULL, {1, 1}, 2, {TFR_DTYPE_F32}, true},
    {"MaxPool", 8, "dilations", NULL, {1, 2}, 2, {TFR_DTYPE_F32}, false},
    {"MaxPool", 8, "ceil_mode", NULL, {1}, 1, {TFR_DTYPE_F32}, false},
    {"MaxPool", 7, NULL, NULL, {0}, 0, {TFR_DTYPE_F32}, false},
    {"Pad", 11, "mode", "reflect", {0}, 1, {TFR_DTYPE_F32}, true},
    {"Pad", 11, "mode", "wrap", {0}, 1, {TFR_DTYPE_F32}, false},
    {"ScatterND", 11, "reduction", "none", {0}, 1, {TFR_DTYPE_F32}, true},
    {"ScatterND", 11, "reduction", "add", {0}, 1, {TFR_DTYPE_F32}, false},
    {"ReduceMean", 13, "axes", NULL, {0}, 1, {TFR_DTYPE_F32}, true},
    {"ReduceMean", 13, "axes", NULL, {0}, 0, {TFR_DTYPE_F32}, false},
    {"ReduceMean", 13, NULL, NULL, {0}, 0, {TFR_DTYPE_F32}, false},
    {"DequantizeLinear", 13, "output_dtype", NULL, {TFR_DTYPE_F32}, 1, {TFR_DTYPE_U8, 1}, true},
    {"DequantizeLinear", 13, "output_dtype", NULL, {TFR_DTYPE_F16}, 1, {TFR_DTYPE_U8, 1}, false},
    {"QuantizeLinear", 13, "output_dtype", NULL, {TFR_DTYPE_U8}, 1, {1, 1}, true},
    {"QuantizeLinear", 13, "output_dtype", NULL, {TFR_DTYPE_I8}, 1, {1, 1}, false},
    {"QuantizeLinear", 13, "output_dtype", NULL, {TFR_DTYPE_I8}, 1, {1, 1, TFR_DTYPE_I8}, true},
    {"Split", 13, NULL, NULL, {0}, 0, {TFR_DTYPE_F32}, true},
    {"Softmax", 11, NULL, NULL, {0}, 0, {TFR_DTYPE_F32}, false},
};

TEST(an_older_kernel_takes_calls_whose_newer_attributes_are_neutral)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const rule *r = &rules[i];
        const tfr_string text = {r->text, r->text ? strlen(r->text) : 0};
        const tfr_attr attr = {.size = sizeof attr,
                               .type = r->text ? TFR_ATTR_STRING : TFR_ATTR_INTS,
                               .name = r->attr,
                               .n = r->n,
                               .ints = r->ints,
                               .strings = &text};
        tfr_operand inputs[3] = {{0}};
        const tfr_call call = {.size = sizeof call,
                               .attrs = &attr,
                               .n_attrs = r->attr != NULL,
                               .attr_stride = sizeof attr,
                               .inputs = inputs,
                               .n_inputs = 3,
                               .input_stride = sizeof *inputs};
        char newer[32] = "";
        for (int k = 0; k < 3; k++)
            inputs[k].dtype = r->types[k];
        if (tfr__op_takes_older(tfr__op_find("", r->op), r->version, &call, newer, sizeof newer) !=
            r->takes)
            printf("row %zu, %s\n", i, r->op);
        CHECK_INT(r->takes, tfr__op_takes_older(tfr__op_find("", r->op), r->version, &call, newer,
                                                sizeof newer));
        if (!r->takes && r->attr)
            CHECK_STR(r->attr, newer);
    }
}

/* A row whose op got a wider range of equal meaning, or another name, would never be asked. */
TEST(every_rule_belongs_to_an_op_and_to_older_versions)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < tfr__op_count(); i++) {
        const tfr__op *op = tfr__op_at(i);
        bool has = false;
        for (int32_t version = 1; version < op->compat_version; version++)
            has = has || tfr__op_has_older(op, version);
        n += has;
        CHECK(!tfr__op_has_older(op, op->compat_version));
        CHECK(!tfr__op_has_older(op, op->since_version));
    }
    CHECK_INT(31, n);
}

/* ---- placement ------------------------------------------------------------------------------- */

static tfr_kernel_facet real;
static int32_t seen;

static int32_t supports(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                        tfr_err *e)
{
    if (strcmp(call->name, "ReduceMean") == 0)
        seen = call->since_version;
    return real.supports(device, call, answer, e);
}

/* The mean over some axes, by a backend that is made to claim version 13. */
static tfr_status mean(const int64_t *axes, int64_t n, tfr_placement *row)
{
    tfr_runtime *runtime = new_runtime();
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_value x;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = floats(2, two_by_three, six), *out = NULL, *list = ints(n, axes);
    const uint32_t op = tfr__op_number(tfr__op_find("", "ReduceMean"));
    const int64_t noop = 1;
    const tfr_attr attr = {.size = sizeof attr,
                           .type = TFR_ATTR_INT,
                           .name = "noop_with_empty_axes",
                           .n = 1,
                           .ints = &noop};
    tfr_value y, given[2] = {x, TFR_VALUE_NONE};
    tfr__backend *backend;
    tfr_status status;
    uint32_t device;
    int32_t k;
    REQUIRE_OK(tfr_runtime_find(runtime, "naive:0", &device, &k, &err), &err);
    backend = &runtime->devices[device].backends[k];
    REQUIRE_OK(tfr__backend_open(runtime, backend, &err), &err);
    for (uint32_t b = 0; b < runtime->devices[device].n_backends; b++) {
        runtime->devices[device].backends[b].claims[op] = TFR__CLAIM_OLDER;
        runtime->devices[device].backends[b].claim_versions[op] = 13;
    }
    real = backend->kernel;
    backend->kernel.supports = supports;
    REQUIRE_OK(tfr_graph_add_constant(graph, "axes", list, &given[1], &err), &err);
    const tfr_node_desc node = {.size = sizeof node,
                                .op = "ReduceMean",
                                .inputs = given,
                                .n_inputs = 2,
                                .n_outputs = 1,
                                .attrs = &attr,
                                .n_attrs = 1};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &y, &err), &err);
    output(graph, y);
    options.device = "naive:0";
    options.passes = "none";
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &err), &err);
    status = tfr_session_run(session, &in, 1, &out, 1, &err);
    if (!status) {
        *row = row_of(session, 0);
        CHECK_STR("naive:0", row->backend);
        CHECK_NEAR(-1.5, *(const float *)tfr_tensor_data(out), 0);
    }
    tfr_tensor_release(out);
    tfr_tensor_release(list);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_tensor_release(in);
    tfr_runtime_release(runtime);
    return status;
}

TEST(a_backend_with_an_older_kernel_gets_what_that_computes_and_no_more)
{
    const int64_t rows = 0;
    tfr_placement row = {0};
    CHECK_OK(mean(&rows, 1, &row), &err);
    CHECK_INT(13, seen);
    CHECK_STATUS(TFR_EUNSUPPORTED, mean(&rows, 0, &row), &err);
    CHECK_CONTAINS("naive:0 says op_version: its kernel of ReduceMean is of version 13, and "
                   "attribute axes needs a newer one",
                   err.text);
}

static const test_case cases[] = {
    CASE(an_older_kernel_takes_calls_whose_newer_attributes_are_neutral),
    CASE(every_rule_belongs_to_an_op_and_to_older_versions),
    CASE(a_backend_with_an_older_kernel_gets_what_that_computes_and_no_more),
};
TEST_MAIN(cases)
