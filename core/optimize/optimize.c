/* SPDX-License-Identifier: Apache-2.0 */
/* optimize.c: passes over a graph that some other runtime may run. */
#include <string.h>
#include <tfrun/fail.h>

#include "optimize/passes.h"

#define LEAST_OPSET    21 /* which runtimes of 2024 know */
#define DEFAULT_PASSES "-decompose"

/* Passes forget what runs do not check; here it is the graph's own word. */
static void recall_types(tfr_graph *g)
{
    for (uint32_t i = 0; g->source && i < g->n_inputs; i++)
        g->values[g->inputs[i]].type = g->source->values[g->inputs[i]].type;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (uint32_t k = 0; k < g->nodes[i].n_subgraphs; k++)
            recall_types(g->nodes[i].subgraphs[k]);
}

static void report(const tfr_optimize_options *options, const tfr__pass_row *rows)
{
    for (uint32_t p = 0; options->report && p < TFR__N_PASSES; p++)
        if (rows[p].rounds) {
            tfr_pass pass = tfr__pass_view(&rows[p]);
            options->report(options->user, &pass);
        }
}

tfr_status tfr_graph_optimize(tfr_graph *graph, tfr_runtime *runtime,
                              const tfr_optimize_options *given, tfr_graph **out, tfr_err *err)
{
    tfr_optimize_options options = TFR_OPTIMIZE_OPTIONS_INIT;
    tfr__pass_row rows[TFR__N_PASSES] = {{0}};
    tfr__streams streams;
    tfr__kernel_env env = {.streams = &streams, .preferred = {-1, -1}};
    tfr_graph *result = graph;
    uint32_t mask;
    tfr_status status;
    if (!graph || !out)
        return tfr_fail(err, TFR_EINVAL, "passes need a graph and a place for the result");
    if (graph->parent)
        return tfr_fail(err, TFR_EINVAL, "graph \"%s\" is a subgraph; passes take a whole one",
                        graph->name);
    if (given)
        memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    status = tfr__passes_parse(options.passes ? options.passes : DEFAULT_PASSES, &mask, err);
    if (status)
        return status;
    env.opset = options.opset > 0 ? options.opset : LEAST_OPSET;
    tfr__graph_freeze(graph);
    tfr__streams_init(&streams, runtime);
    tfr_graph_retain(graph);
    status = tfr__passes_run(&env, false, mask, &result, rows, err);
    tfr__streams_finish(&streams);
    if (status) {
        tfr_graph_release(graph);
        return status;
    }
    recall_types(result);
    report(&options, rows);
    *out = result;
    return TFR_OK;
}
