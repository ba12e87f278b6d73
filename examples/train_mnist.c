/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains the convolutional network of the TensorFlow guides: train_mnist DATA OUT.onnx [EPOCHS].
 * DATA is a folder with MNIST's four files, or "synthetic".
 */
#include <stdio.h>
#include <stdlib.h>
#include <tfrun/fit.h>
#include <tfrun/onnx.h>

static int32_t on_event(void *user, const tfr_fit_event *e)
{
    (void)user;
    if (e->kind == TFR_FIT_EPOCH)
        printf("epoch %d: loss %.4f, test accuracy %.4f\n", (int)e->epoch + 1, e->train->loss,
               e->validation ? e->validation->accuracy : 0);
    return 0; /* 1 would stop */
}

int main(int argc, char **argv)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_runtime *runtime = NULL;
    tfr_net *net = NULL;
    tfr_graph *graph = NULL, *trained = NULL;
    tfr_dataset *train = NULL, *test = NULL;
    tfr_trainer *trainer = NULL;
    tfr_fit_options options = TFR_FIT_OPTIONS_INIT;

    if (argc < 3)
        return 2;
    options.epochs = argc > 3 ? strtol(argv[3], NULL, 10) : 5;
    options.event = on_event;
    if (tfr_runtime_create(NULL, &runtime, &err) ||
        tfr_dataset_open(argv[1], &train, &test, &err) ||
        tfr_net_create_mnist_cnn(TFR_NET_KERAS, 1, &net, &err) ||
        tfr_net_graph(net, &graph, &err) ||
        tfr_trainer_create(runtime, graph, NULL, &trainer, &err) ||
        tfr_trainer_fit(trainer, train, test, &options, NULL, &err) ||
        tfr_trainer_graph(trainer, &trained, &err) || tfr_onnx_save(trained, argv[2], NULL, &err))
        fprintf(stderr, "%s\n", err.text);
    tfr_graph_release(trained);
    tfr_trainer_destroy(trainer);
    tfr_graph_release(graph);
    tfr_net_destroy(net);
    tfr_dataset_release(train);
    tfr_dataset_release(test);
    tfr_runtime_release(runtime);
    return err.code ? 1 : 0;
}
