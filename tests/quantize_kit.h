/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_kit.h: graphs of texts, quantized, with what notes tell of it, and how far the results
 * of both are apart.
 */
#ifndef TFR_TESTS_QUANTIZE_KIT_H
#define TFR_TESTS_QUANTIZE_KIT_H

#include <tfrun/quantize.h>

#include "pass_kit.h"

/* The elements of a constant, to be changed before anybody has seen them. */
static inline float *numbers_of(const tfr_graph *graph, const char *name)
{
    tfr_value_view view = {.size = sizeof view};
    REQUIRE_OK(tfr_graph_value(graph, tfr_graph_find_value(graph, name), &view, &err), &err);
    REQUIRE(view.tensor != NULL);
    return tfr_tensor_data(view.tensor);
}

static inline tfr_tensor *constant_of(const tfr_graph *graph, const char *name)
{
    tfr_value_view view = {.size = sizeof view};
    const tfr_value v = tfr_graph_find_value(graph, name);
    REQUIRE(v != TFR_VALUE_NONE);
    REQUIRE_OK(tfr_graph_value(graph, v, &view, &err), &err);
    REQUIRE(view.tensor != NULL);
    return view.tensor;
}

/* What notes told last, by fate, and the last text that is no "done". */
static uint32_t told[5];
static char told_text[200], told_name[100];

static inline void take_note(void *user, const tfr_quantize_note *note)
{
    (void)user;
    told[note->fate]++;
    if (note->fate == TFR_QUANTIZE_LEFT || note->fate == TFR_QUANTIZE_CLAMPED) {
        snprintf(told_text, sizeof told_text, "%s", note->text);
        snprintf(told_name, sizeof told_name, "%s", note->name);
    }
}

static inline tfr_quantize_options new_options(tfr_quantize_form form)
{
    tfr_quantize_options options = TFR_QUANTIZE_OPTIONS_INIT(form);
    options.note = take_note;
    return options;
}

static inline tfr_graph *quantized(tfr_graph *graph, const tfr_quantize_options *options)
{
    tfr_graph *out = NULL;
    memset(told, 0, sizeof told);
    told_text[0] = '\0';
    REQUIRE_OK(tfr_graph_quantize(graph, options, &out, &err), &err);
    return out;
}

static inline void check_ops(const char *expected, const tfr_graph *graph)
{
    char text[600] = "";
    list_ops(graph, text, sizeof text);
    CHECK_STR(expected, text);
}

/* How far the outputs of both are apart on the same inputs. */
static inline double sqnr_of(tfr_graph *before, tfr_graph *after)
{
    tfr_runtime *runtime = new_runtime(false);
    tfr_session *sessions[2] = {new_session(runtime, before, "none"),
                                new_session(runtime, after, "none")};
    tfr_tensor *outputs[2][4] = {{NULL}, {NULL}};
    tfr_accuracy accuracy = {.size = sizeof accuracy};
    for (int k = 0; k < 2; k++)
        run(sessions[k], outputs[k]);
    for (uint32_t i = 0; i < tfr_graph_n_outputs(before); i++) {
        REQUIRE(outputs[0][i] && outputs[1][i]);
        CHECK_OK(tfr_accuracy_add(&accuracy, outputs[0][i], outputs[1][i], &err), &err);
        tfr_tensor_release(outputs[0][i]);
        tfr_tensor_release(outputs[1][i]);
    }
    tfr_session_destroy(sessions[0]);
    tfr_session_destroy(sessions[1]);
    tfr_runtime_release(runtime);
    return tfr_accuracy_sqnr(&accuracy);
}

/* Counts n samples in; the graph's values are those of run(), and their negatives. */
static inline tfr_calibration *calibrated(tfr_graph *graph, uint32_t n)
{
    tfr_runtime *runtime = new_runtime(false);
    tfr_calibration *calibration = NULL;
    REQUIRE_OK(tfr_calibration_create(runtime, graph, "naive:0", &calibration, &err), &err);
    for (uint32_t k = 0; k < n; k++) {
        tfr_tensor *in[4];
        for (uint32_t i = 0; i < tfr_graph_n_inputs(graph); i++)
            in[i] = random_input(graph, i, 5, i + 1 + 10 * k, -3, 3);
        CHECK_OK(tfr_calibration_add(calibration, in, tfr_graph_n_inputs(graph), &err), &err);
        for (uint32_t i = 0; i < tfr_graph_n_inputs(graph); i++)
            tfr_tensor_release(in[i]);
    }
    tfr_runtime_release(runtime);
    return calibration;
}

#endif
