/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.c: launches that are recorded once, as a graph of the driver's. Capturing is the calling
 * thread's alone: what other threads do, with the driver's other calls, breaks nothing.
 */
#include "host.h"

#include <stdlib.h>

struct tfr_executable {
    tfr_cu_graph_exec *exec;
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
    n_captures += status == TFR_OK;
    cuda_leave(device);
    return status;
}

/* The graph as something that can be launched, uploaded now and not at its first launch. */
static int32_t instantiate(tfr_plugin_device *device, tfr_queue *queue, tfr_cu_graph *graph,
                           tfr_executable **out, tfr_err *err)
{
    tfr_executable *executable = calloc(1, sizeof *executable);
    int32_t status;

    if (!executable)
        return tfr_fail(err, TFR_ENOMEM, "no memory for an executable");
    status =
        cuda_check(device, cuda_driver.cuGraphInstantiateWithFlags(&executable->exec, graph, 0),
                   err, "a graph of %s", device->facts.name);
    if (status == TFR_OK)
        status = cuda_check(device, cuda_driver.cuGraphUpload(executable->exec, queue->stream), err,
                            "a graph of %s", device->facts.name);
    if (status == TFR_OK) {
        *out = executable;
        return TFR_OK;
    }
    if (executable->exec && !device->is_dead)
        (void)cuda_driver.cuGraphExecDestroy(executable->exec);
    free(executable);
    return status;
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
    tfr_cu_graph *graph = NULL;
    int32_t status = cuda_enter(device, err);

    n_captures -= queue->is_capturing;
    queue->is_capturing = false;
    if (status != TFR_OK)
        return status;
    status = end_capture(device, queue, &graph, err);
    if (status == TFR_OK && out)
        status = instantiate(device, queue, graph, out, err);
    if (graph && !device->is_dead)
        (void)cuda_driver.cuGraphDestroy(graph);
    cuda_leave(device);
    return status;
}

static int32_t cuda_replay(tfr_plugin_device *device, tfr_queue *queue, tfr_executable *executable,
                           tfr_err *err)
{
    int32_t status = cuda_enter(device, err);

    if (status != TFR_OK)
        return status;
    if (!atomic_load(&queue->has_failed)) {
        status = cuda_check(device, cuda_driver.cuGraphLaunch(executable->exec, queue->stream), err,
                            "launch of a graph on %s", device->facts.name);
        queue->last_launch = 0; /* several */
        queue->n_since++;
    }
    cuda_leave(device);
    return status;
}

static void cuda_executable_drop(tfr_plugin_device *device, tfr_executable *executable)
{
    if (executable && !device->is_dead &&
        cuda_driver.cuCtxPushCurrent_v2(device->context) == TFR_CU_SUCCESS) {
        (void)cuda_driver.cuGraphExecDestroy(executable->exec);
        cuda_leave(device);
    }
    free(executable);
}

const tfr_capture_facet cuda_capture_facet = {
    .size = sizeof cuda_capture_facet,
    .begin = cuda_begin,
    .end = cuda_end,
    .launch = cuda_replay,
    .drop = cuda_executable_drop,
};
