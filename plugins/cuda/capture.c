/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.c: launches that are recorded once, as a graph of the driver's. Capturing is the calling
 * thread's alone: what other threads do, with the driver's other calls, breaks nothing.
 *
 * Launches of executables that follow each other are one graph with a child for each, a chain, as
 * between graphs a GPU waits longer than between kernels of one. It is made when the same are asked
 * for again, since making it takes as long as some launches.
 */
#include "order.h"

#include <stdlib.h>

typedef struct chain {
    tfr_cu_graph_exec *exec; /* NULL = none */
    uint64_t other;          /* number of the executable that takes turns with the chain's own */
    uint32_t n;
} chain;

struct tfr_executable {
    tfr_cu_graph *graph;
    tfr_cu_graph_exec *exec;
    cuda_recorded *recorded; /* what its kernels may find; NULL = nothing */
    uint64_t number;         /* no other one of the process has it */
    chain chain;             /* that begins with it */
    chain asked;             /* without exec: what was asked for last */
};

static _Thread_local unsigned n_captures; /* of this thread, which ends what it begins */

bool cuda_is_capturing(void)
{
    return n_captures > 0;
}

static int32_t cuda_begin(tfr_plugin_device *device, tfr_queue *queue, tfr_err *err)
{
    int32_t status = cuda_enter(device, err);

    if (status != TFR_OK)
        return status;
    if (atomic_load(&queue->has_failed))
        status = tfr_fail(err, TFR_EUNSUPPORTED, "the queue has failed");
    else
        status = cuda_check(
            device, cuda_driver.cuStreamBeginCapture_v2(queue->stream, TFR_CU_CAPTURE_THREAD_LOCAL),
            err, "capture on %s", device->facts.name);
    queue->is_capturing = status == TFR_OK;
    queue->order = status == TFR_OK && device->overlaps ? cuda_order_new() : NULL;
    n_captures += status == TFR_OK;
    cuda_leave(device);
    return status;
}

/* ---- executables ----------------------------------------------------------------------------- */

static void drop_exec(const tfr_plugin_device *device, tfr_cu_graph_exec **exec)
{
    if (*exec && !device->is_dead)
        (void)cuda_driver.cuGraphExecDestroy(*exec);
    *exec = NULL;
}

/* The graph as something that can be launched, uploaded now and not at its first launch. */
static int32_t instantiate(tfr_plugin_device *device, tfr_queue *queue, tfr_cu_graph *graph,
                           tfr_cu_graph_exec **out, tfr_err *err)
{
    int32_t status = cuda_check(device, cuda_driver.cuGraphInstantiateWithFlags(out, graph, 0), err,
                                "a graph of %s", device->facts.name);

    if (status == TFR_OK)
        status = cuda_check(device, cuda_driver.cuGraphUpload(*out, queue->stream), err,
                            "a graph of %s", device->facts.name);
    if (status != TFR_OK)
        drop_exec(device, out);
    return status;
}

/* Takes over the graph if it succeeds. */
static int32_t make_executable(tfr_plugin_device *device, tfr_queue *queue, tfr_cu_graph *graph,
                               tfr_executable **out, tfr_err *err)
{
    static atomic_uint_fast64_t n_made;
    tfr_executable *executable = calloc(1, sizeof *executable);
    int32_t status;

    if (!executable)
        return tfr_fail(err, TFR_ENOMEM, "no memory for an executable");
    executable->number = atomic_fetch_add(&n_made, 1) + 1;
    status = instantiate(device, queue, graph, &executable->exec, err);
    if (status != TFR_OK) {
        free(executable);
        return status;
    }
    executable->graph = graph;
    *out = executable;
    return TFR_OK;
}

/* Ends the capture in any case: a queue that still captures could neither compute nor wait. */
static int32_t end_capture(tfr_plugin_device *device, tfr_queue *queue, tfr_cu_graph **graph,
                           tfr_err *err)
{
    unsigned state = TFR_CU_CAPTURE_STATUS_NONE;
    int32_t status = cuda_check(device, cuda_driver.cuStreamEndCapture(queue->stream, graph), err,
                                "capture on %s", device->facts.name);

    if (status == TFR_OK)
        return *graph ? TFR_OK : tfr_fail(err, TFR_EUNSUPPORTED, "the driver recorded nothing");
    if (!device->is_dead &&
        cuda_driver.cuStreamIsCapturing(queue->stream, &state) == TFR_CU_SUCCESS &&
        state != TFR_CU_CAPTURE_STATUS_NONE)
        (void)cuda_driver.cuStreamEndCapture(queue->stream, graph);
    return status;
}

static int32_t cuda_end(tfr_plugin_device *device, tfr_queue *queue, tfr_executable **out,
                        tfr_err *err)
{
    const bool has_notes = queue->recorded != NULL;
    const bool is_whole = !cuda_order_has_failed(queue->order);
    cuda_recorded *recorded = cuda_finding_recorded(queue, err);
    tfr_cu_graph *graph = NULL;
    bool is_taken = false;
    int32_t status = cuda_enter(device, err);

    n_captures -= queue->is_capturing;
    queue->is_capturing = false;
    cuda_order_drop(queue->order);
    queue->order = NULL;
    if (status != TFR_OK) {
        cuda_recorded_drop(recorded);
        return status;
    }
    status = end_capture(device, queue, &graph, err);
    if (status == TFR_OK && has_notes && !recorded)
        status = TFR_ENOMEM; /* as it has been told */
    if (status == TFR_OK && !is_whole)
        status = tfr_fail(err, TFR_EUNSUPPORTED, "a launch of this capture has failed");
    if (status == TFR_OK && out) {
        status = make_executable(device, queue, graph, out, err);
        is_taken = status == TFR_OK;
    }
    if (is_taken)
        (*out)->recorded = recorded;
    else
        cuda_recorded_drop(recorded);
    if (graph && !is_taken && !device->is_dead)
        (void)cuda_driver.cuGraphDestroy(graph);
    cuda_leave(device);
    return status;
}

static void cuda_executable_drop(tfr_plugin_device *device, tfr_executable *executable)
{
    if (executable && !device->is_dead &&
        cuda_driver.cuCtxPushCurrent_v2(device->context) == TFR_CU_SUCCESS) {
        drop_exec(device, &executable->chain.exec);
        drop_exec(device, &executable->exec);
        (void)cuda_driver.cuGraphDestroy(executable->graph);
        cuda_leave(device);
    }
    if (executable)
        cuda_recorded_drop(executable->recorded);
    free(executable);
}

/* ---- launches -------------------------------------------------------------------------------- */

static int32_t launch(tfr_plugin_device *device, tfr_queue *queue, tfr_cu_graph_exec *exec,
                      tfr_err *err)
{
    const int32_t status = cuda_check(device, cuda_driver.cuGraphLaunch(exec, queue->stream), err,
                                      "launch of a graph on %s", device->facts.name);

    queue->last_launch = 0; /* several */
    queue->n_since++;
    return status;
}

static int32_t cuda_replay(tfr_plugin_device *device, tfr_queue *queue, tfr_executable *executable,
                           tfr_err *err)
{
    int32_t status = cuda_enter(device, err);

    if (status != TFR_OK)
        return status;
    if (!atomic_load(&queue->has_failed)) {
        status = launch(device, queue, executable->exec, err);
        if (status == TFR_OK)
            status = cuda_finding_replayed(queue, executable->recorded, err);
    }
    cuda_leave(device);
    return status;
}

/* n children of the graph, each behind the one before. */
static tfr_cu_result add_children(tfr_cu_graph *graph, const tfr_executable *first,
                                  const tfr_executable *second, uint32_t n)
{
    tfr_cu_graph_node *node = NULL;
    tfr_cu_result result = TFR_CU_SUCCESS;

    for (uint32_t i = 0; i < n && result == TFR_CU_SUCCESS; i++) {
        tfr_cu_graph_node *const before = node;
        result = cuda_driver.cuGraphAddChildGraphNode(&node, graph, &before, i > 0,
                                                      i % 2 ? second->graph : first->graph);
    }
    return result;
}

static void make_chain(tfr_plugin_device *device, tfr_queue *queue, tfr_executable *first,
                       const tfr_executable *second, uint32_t n)
{
    tfr_cu_graph *graph = NULL;
    tfr_err err = TFR_ERR_INIT;
    int32_t status = cuda_check(device, cuda_driver.cuGraphCreate(&graph, 0), &err, "a graph of %s",
                                device->facts.name);

    drop_exec(device, &first->chain.exec);
    if (status == TFR_OK)
        status = cuda_check(device, add_children(graph, first, second, n), &err, "a graph of %s",
                            device->facts.name);
    if (status == TFR_OK)
        status = instantiate(device, queue, graph, &first->chain.exec, &err);
    if (graph && !device->is_dead)
        (void)cuda_driver.cuGraphDestroy(graph);
    first->chain.other = second->number;
    first->chain.n = n;
    if (status != TFR_OK)
        cuda_log(TFR_LOG_WARNING, "%u runs on %s are not one graph, but one each: %s", n,
                 device->facts.name, err.text);
}

static bool is_of(const chain *c, const tfr_executable *second, uint32_t n)
{
    return c->other == second->number && c->n == n;
}

/* What cannot be taken back is the queue's failure. */
static void fail_behind(tfr_queue *queue, int32_t status, const tfr_err *why)
{
    cuda_failure failure;

    if (status != TFR_OK) {
        cuda_failure_keep(&failure, status, why, 0);
        cuda_queue_fail(queue, &failure);
    }
}

static int32_t launch_each(tfr_plugin_device *device, tfr_queue *queue, tfr_executable *first,
                           tfr_executable *second, uint32_t n, tfr_err *err)
{
    tfr_err why = TFR_ERR_INIT;
    int32_t status = launch(device, queue, first->exec, err);

    if (status != TFR_OK)
        return status;
    for (uint32_t i = 1; i < n && status == TFR_OK; i++)
        status = launch(device, queue, i % 2 ? second->exec : first->exec, &why);
    fail_behind(queue, status, &why);
    return TFR_OK;
}

/* The words of what is recorded keep the first mistake of all the launches. */
static void note_findings(tfr_queue *queue, tfr_executable *first, tfr_executable *second)
{
    tfr_err why = TFR_ERR_INIT;
    int32_t status = cuda_finding_replayed(queue, first->recorded, &why);

    if (status == TFR_OK && second != first)
        status = cuda_finding_replayed(queue, second->recorded, &why);
    fail_behind(queue, status, &why);
}

static int32_t cuda_repeat(tfr_plugin_device *device, tfr_queue *queue, tfr_executable *first,
                           tfr_executable *second, uint32_t n, tfr_err *err)
{
    int32_t status = cuda_enter(device, err);

    if (status != TFR_OK)
        return status;
    if (!is_of(&first->chain, second, n) && is_of(&first->asked, second, n))
        make_chain(device, queue, first, second, n);
    first->asked = (chain){.other = second->number, .n = n};
    if (device->is_dead)
        status = cuda_tell_lost(device, err);
    else if (!atomic_load(&queue->has_failed)) {
        status = first->chain.exec && is_of(&first->chain, second, n)
                     ? launch(device, queue, first->chain.exec, err)
                     : launch_each(device, queue, first, second, n, err);
        if (status == TFR_OK)
            note_findings(queue, first, second);
    }
    cuda_leave(device);
    return status;
}

const tfr_capture_facet cuda_capture_facet = {
    .size = sizeof cuda_capture_facet,
    .begin = cuda_begin,
    .end = cuda_end,
    .launch = cuda_replay,
    .drop = cuda_executable_drop,
    .repeat = cuda_repeat,
};
