/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs an ONNX model with one input and one output: run_model MODEL.onnx INPUT.pb OUTPUT.pb, both
 * tensors as ONNX TensorProto files. README.md shows the part below, and a test keeps them equal.
 */
#include <stdio.h>
#include <tfrun/onnx.h>
#include <tfrun/session.h>

int main(int argc, char **argv)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_runtime *runtime = NULL;
    tfr_graph *graph = NULL;
    tfr_session *session = NULL;
    tfr_tensor *x = NULL, *y = NULL;

    if (argc != 4)
        return 2;
    if (tfr_runtime_create(NULL, &runtime, &err) || tfr_onnx_load(argv[1], &graph, &err) ||
        tfr_session_create(runtime, graph, NULL, &session, &err) ||
        tfr_onnx_load_tensor(argv[2], TFR_KIND_TENSOR, &x, &err) ||
        tfr_session_run(session, &x, 1, &y, 1, &err) || tfr_onnx_save_tensor(argv[3], "y", y, &err))
        fprintf(stderr, "%s\n", err.text);
    tfr_tensor_release(y);
    tfr_tensor_release(x);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    return err.code ? 1 : 0;
}
