/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify_model.c: tries one model on its test data. The layout is that of ONNX's backend tests:
 * model.onnx and test_data_set_N/{input,output}_K.pb.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tfrun/compare.h>
#include <tfrun/fail.h>
#include <tfrun/onnx.h>

#include "timing.h"
#include "verify.h"

#define PATH_BYTES 4096

static bool is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* Path of data set n of the folder, or of file k in it; false if it is too long. */
static bool set_path(char *out, const char *dir, uint32_t n, const char *what, uint32_t k)
{
    int used = what ? snprintf(out, PATH_BYTES, "%s/test_data_set_%u/%s_%u.pb", dir, (unsigned)n,
                               what, (unsigned)k)
                    : snprintf(out, PATH_BYTES, "%s/test_data_set_%u", dir, (unsigned)n);
    return used > 0 && used < PATH_BYTES;
}

/* ---- one data set ---------------------------------------------------------------------------- */

typedef struct trial {
    const cli_args *args;
    const char *dir;
    tfr_graph *graph;
    tfr_session *session;
    tfr_tensor **inputs, **outputs;
    uint32_t n_inputs, n_outputs;
} trial;

static void release_all(tfr_tensor **tensors, uint32_t n)
{
    for (uint32_t i = 0; tensors && i < n; i++) {
        tfr_tensor_release(tensors[i]);
        tensors[i] = NULL;
    }
}

static void release_base(void *base)
{
    tfr_tensor_release(base);
}

/*
 * ONNX's own tests keep bfloat16 as uint16 in the data files, because NumPy has no bfloat16: if the
 * other side is bfloat16, the same bits are taken as that.
 */
static tfr_status as_bfloat16(tfr_tensor **tensor, int32_t wanted, tfr_err *err)
{
    tfr_tensor *base = *tensor;
    if (wanted != TFR_DTYPE_BF16 || tfr_tensor_dtype(base) != TFR_DTYPE_U16 ||
        tfr_tensor_kind(base) != TFR_KIND_TENSOR)
        return TFR_OK;
    return tfr_tensor_wrap(TFR_DTYPE_BF16, tfr_tensor_shape(base), tfr_tensor_strides(base),
                           tfr_tensor_data(base), release_base, base, tensor, err);
}

static tfr_status load_inputs(trial *t, uint32_t set, tfr_err *err)
{
    char path[PATH_BYTES];
    for (uint32_t i = 0; i < t->n_inputs; i++) {
        const tfr_value_type *type = tfr_graph_value_type(t->graph, tfr_graph_input(t->graph, i));
        tfr_status status =
            set_path(path, t->dir, set, "input", i)
                ? tfr_onnx_load_tensor(path, (tfr_kind)type->kind, &t->inputs[i], err)
                : tfr_fail(err, TFR_EIO, "a path is too long");
        if (!status)
            status = as_bfloat16(&t->inputs[i], type->dtype, err);
        if (status)
            return status;
    }
    if (set_path(path, t->dir, set, "input", t->n_inputs) && is_there(path))
        return tfr_fail(err, TFR_EMODEL,
                        "test_data_set_%u has more inputs than the %u of the model", (unsigned)set,
                        (unsigned)t->n_inputs);
    return TFR_OK;
}

/* The first node of the last run that drew random numbers; false if there was none. */
static bool find_random(const tfr_session *session, tfr_placement *p)
{
    *p = (tfr_placement){.size = sizeof *p};
    for (uint32_t i = 0; !tfr_session_placement(session, i, p, NULL); i++)
        if (p->random)
            return true;
    return false;
}

/* ---- outputs that random numbers are in ---- */

enum { MOST_RUNS = 2000, MOST_SAMPLES = 1 << 20, LEAST_RUNS = 8 };

static tfr_status copy_doubles(const tfr_tensor *from, double *to, tfr_err *err)
{
    tfr_tensor *plain = NULL;
    tfr_status status = tfr_tensor_copy(from, &plain, err);
    if (!status)
        status = tfr_dtype_convert(TFR_DTYPE_F64, to, tfr_tensor_dtype(plain),
                                   tfr_tensor_data(plain), tfr_tensor_elements(plain), err);
    tfr_tensor_release(plain);
    return status;
}

/* Output i of the run that is done, and of more runs. */
static tfr_status draw_rows(trial *t, uint32_t i, cli_sample *s, tfr_err *err)
{
    tfr_status status = copy_doubles(t->outputs[i], s->rows, err);
    size_t n_runs = s->n_rows;
    for (s->n_rows = 1; !status && s->n_rows < n_runs; s->n_rows++) {
        tfr_tensor **more = calloc((size_t)t->n_outputs, sizeof *more);
        if (!more)
            return tfr_fail(err, TFR_ENOMEM, "no memory for outputs");
        status = tfr_session_run(t->session, t->inputs, t->n_inputs, more, t->n_outputs, err);
        if (!status && (size_t)tfr_tensor_elements(more[i]) != s->n)
            status =
                tfr_fail(err, TFR_ESHAPE, "output %u has another size in each run", (unsigned)i);
        if (!status)
            status = copy_doubles(more[i], s->rows + s->n_rows * s->n, err);
        release_all(more, t->n_outputs);
        free(more);
    }
    return status;
}

/* With a seed in the model all runs may be equal, which are one row then. */
static void drop_equal_rows(cli_sample *s)
{
    for (size_t r = 1; r < s->n_rows; r++)
        if (memcmp(s->rows, s->rows + r * s->n, s->n * sizeof *s->rows) != 0)
            return;
    s->n_rows = 1;
}

/* out->result becomes different, or stays with a word about what was compared. */
static tfr_status judge_random(trial *t, uint32_t set, uint32_t i, const tfr_tensor *expected,
                               cli_verdict *out, tfr_err *err)
{
    cli_sample s = {
        .n = (size_t)tfr_tensor_elements(expected), .rtol = t->args->rtol, .atol = t->args->atol};
    char text[300];
    tfr_status status;
    s.n_rows = MOST_SAMPLES / (s.n + 1);
    s.n_rows = s.n_rows > MOST_RUNS ? MOST_RUNS : s.n_rows < LEAST_RUNS ? LEAST_RUNS : s.n_rows;
    s.expected = calloc(s.n + 1, sizeof *s.expected);
    s.rows = calloc(s.n * s.n_rows + 1, sizeof *s.rows);
    status = s.expected && s.rows ? copy_doubles(expected, s.expected, err)
                                  : tfr_fail(err, TFR_ENOMEM, "no memory for %zu runs", s.n_rows);
    if (!status)
        status = draw_rows(t, i, &s, err);
    if (!status) {
        drop_equal_rows(&s);
        if (cli_random_judge(&s, text, sizeof text)) {
            snprintf(out->text, sizeof out->text, "random: distribution compared");
        } else {
            out->result = CLI_DIFFERENT;
            snprintf(out->text, sizeof out->text, "random: output \"%s\" of test_data_set_%u: %s",
                     tfr_graph_output_name(t->graph, i), (unsigned)set, text);
        }
    }
    free(s.expected);
    free(s.rows);
    return status;
}

/* An output is not what is expected. */
static tfr_status set_different(trial *t, uint32_t set, uint32_t i, const tfr_tensor *expected,
                                const tfr_compare_report *report, cli_verdict *out, tfr_err *err)
{
    tfr_placement p;
    if (report->n_different >= 0 && find_random(t->session, &p)) {
        if (tfr_tensor_kind(expected) == TFR_KIND_TENSOR &&
            tfr_tensor_dtype(expected) != TFR_DTYPE_STRING)
            return judge_random(t, set, i, expected, out, err);
        out->result = CLI_PASSED_OVER;
        snprintf(out->text, sizeof out->text,
                 "op %s draws random numbers, and only tensors of numbers are judged by their "
                 "distribution",
                 p.op);
        return TFR_OK;
    }
    out->result = CLI_DIFFERENT;
    snprintf(out->text, sizeof out->text, "output \"%s\" of test_data_set_%u: %s",
             tfr_graph_output_name(t->graph, i), (unsigned)set, report->text);
    return TFR_OK;
}

/*
 * Are all numbers of two bfloat16 tensors the same or neighbours? One unit in their last place is
 * up to 0.8 %, far over --rtol, and what a sum is rounded to hangs on the order of its terms.
 */
static bool are_neighbours(const tfr_tensor *expected, const tfr_tensor *obtained)
{
    const tfr_tensor *both[2] = {expected, obtained};
    for (int k = 0; k < 2; k++)
        if (!both[k] || tfr_tensor_kind(both[k]) != TFR_KIND_TENSOR ||
            tfr_tensor_dtype(both[k]) != TFR_DTYPE_BF16 || !tfr_tensor_is_plain(both[k]) ||
            !tfr_shape_equal(tfr_tensor_shape(both[k]), tfr_tensor_shape(expected)))
            return false;
    for (int64_t i = 0; i < tfr_tensor_elements(expected); i++) {
        uint16_t bits[2];
        int32_t place[2]; /* in the order of the numbers */
        for (int k = 0; k < 2; k++) {
            memcpy(&bits[k], (const char *)tfr_tensor_data(both[k]) + 2 * i, sizeof bits[k]);
            place[k] = bits[k] & 0x8000 ? 0x8000 - (int32_t)bits[k] : (int32_t)bits[k];
        }
        if (bits[0] == bits[1])
            continue;
        if ((bits[0] & 0x7f80) == 0x7f80 || (bits[1] & 0x7f80) == 0x7f80 ||
            abs(place[0] - place[1]) > 1)
            return false;
    }
    return true;
}

static tfr_status load_output(const trial *t, const char *path, uint32_t i, tfr_tensor **out,
                              tfr_err *err)
{
    tfr_tensor *keys;
    tfr_status status = tfr_onnx_output_keys(t->graph, i, &keys, err);
    if (!status && keys)
        status = tfr_onnx_load_maps(path, keys, out, err);
    else if (!status)
        status = tfr_onnx_load_tensor(path, tfr_tensor_kind(t->outputs[i]), out, err);
    tfr_tensor_release(keys);
    return status;
}

/* Sets out->result and out->text at the first output that differs. */
static tfr_status compare_outputs(trial *t, uint32_t set, cli_verdict *out, tfr_err *err)
{
    char path[PATH_BYTES];
    for (uint32_t i = 0; i < t->n_outputs && out->result != CLI_DIFFERENT; i++) {
        tfr_compare_report report = {.size = sizeof report};
        tfr_tensor *expected = NULL, *obtained = t->outputs[i];
        tfr_status status = set_path(path, t->dir, set, "output", i)
                                ? load_output(t, path, i, &expected, err)
                                : tfr_fail(err, TFR_EIO, "a path is too long");
        if (!status)
            status = as_bfloat16(&expected, (int32_t)tfr_tensor_dtype(obtained), err);
        if (!status &&
            !tfr_tensor_compare(expected, obtained, t->args->rtol, t->args->atol, &report) &&
            !are_neighbours(expected, obtained))
            status = set_different(t, set, i, expected, &report, out, err);
        tfr_tensor_release(expected);
        if (status)
            return status;
    }
    return TFR_OK;
}

/* What a backend had promised, or must not refuse to say, although others then ran the node. */
static void find_broken(const tfr_session *session, cli_verdict *out)
{
    tfr_placement p = {.size = sizeof p};
    uint32_t n = 0;
    for (uint32_t i = 0; !tfr_session_placement(session, i, &p, NULL); i++)
        if (p.reason == TFR_REASON_QUARANTINED && !n++ && !out->n_broken)
            snprintf(out->broken, sizeof out->broken,
                     "%s did not keep its word at node \"%s\" (%s): %s", p.wanted, p.node, p.op,
                     p.text);
    if (n > out->n_broken)
        out->n_broken = n;
}

static tfr_status try_set(trial *t, uint32_t set, cli_verdict *out, tfr_err *err)
{
    tfr_session_stats stats = {.size = sizeof stats};
    tfr_status status = load_inputs(t, set, err);
    if (!status)
        status = tfr_session_run(t->session, t->inputs, t->n_inputs, t->outputs, t->n_outputs, err);
    if (!status) {
        find_broken(t->session, out);
        status = compare_outputs(t, set, out, err);
    }
    if (!status && !tfr_session_get_stats(t->session, &stats, NULL))
        out->n_fallbacks += stats.n_fallbacks;
    release_all(t->inputs, t->n_inputs);
    release_all(t->outputs, t->n_outputs);
    out->n_sets += !status;
    return status;
}

/* ---- one model ------------------------------------------------------------------------------- */

static tfr_status try_model(trial *t, tfr_runtime *runtime, cli_verdict *out, tfr_err *err)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    char path[PATH_BYTES];
    tfr_status status = snprintf(path, sizeof path, "%s/model.onnx", t->dir) < PATH_BYTES
                            ? tfr_onnx_load(path, &t->graph, err)
                            : tfr_fail(err, TFR_EIO, "a path is too long");
    if (status)
        return status;
    options.device = t->args->device;
    options.passes = t->args->passes;
    options.math_mode = t->args->math_mode;
    options.deterministic = t->args->deterministic;
    options.fallback = t->args->fallback;
    options.no_programs = t->args->programs == 2;
    options.no_capture = t->args->capture == 2;
    options.timeout_ns = (uint64_t)t->args->timeout * 1000000000;
    options.loose_shapes = 1; /* the data decide: some of ONNX's models declare other dims */
    status = tfr_session_create(runtime, t->graph, &options, &t->session, err);
    if (status)
        return status;
    t->n_inputs = tfr_graph_n_inputs(t->graph);
    t->n_outputs = tfr_graph_n_outputs(t->graph);
    t->inputs = calloc((size_t)t->n_inputs + 1, sizeof *t->inputs);
    t->outputs = calloc((size_t)t->n_outputs + 1, sizeof *t->outputs);
    if (!t->inputs || !t->outputs)
        return tfr_fail(err, TFR_ENOMEM, "no memory for inputs and outputs");
    for (uint32_t set = 0; !status && out->result != CLI_DIFFERENT; set++) {
        if (!set_path(path, t->dir, set, NULL, 0) || !is_there(path))
            break;
        status = try_set(t, set, out, err);
    }
    if (!status && !out->n_sets && out->result == CLI_PASSED) {
        out->result = CLI_PASSED_OVER;
        snprintf(out->text, sizeof out->text, "there is no test_data_set_0 to compare with");
    }
    return status;
}

/*
 * What tfrun says it cannot do, as against what it does wrong: no memory, no kernel, a type or a
 * feature that is not supported, or an op that is not in the table at all, whose sentence sends to
 * `tfrun ops`.
 */
static bool is_not_tried(const tfr_err *err)
{
    return err->code == TFR_ENOMEM || err->code == TFR_EUNSUPPORTED ||
           (err->code == TFR_EMODEL && strstr(err->text, "`tfrun ops` lists") != NULL);
}

void cli_verify_model(const cli_args *args, tfr_runtime *runtime, const char *dir, cli_verdict *out)
{
    tfr_err err = TFR_ERR_INIT;
    trial t = {.args = args, .dir = dir};
    double began = cli_now();
    tfr_status status;
    memset(out, 0, sizeof *out);
    out->result = CLI_PASSED;
    status = try_model(&t, runtime, out, &err);
    if (status) {
        out->code = err.code;
        out->result = is_not_tried(&err) ? CLI_PASSED_OVER : CLI_DIFFERENT;
        snprintf(out->text, sizeof out->text, "%s", err.text);
    }
    out->seconds = cli_now() - began;
    free(t.inputs);
    free(t.outputs);
    tfr_session_destroy(t.session);
    tfr_graph_release(t.graph);
}
