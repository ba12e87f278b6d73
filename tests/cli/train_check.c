/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of `tfrun train` need beside it:
 *   train_check net FILE.onnx              a small network for images of 28 x 28
 *   train_check samples SOURCE X.npy Y.npy the part of a source to test with
 *   train_check accuracy SCORES.npy Y.npy  prints how many of the scores are right
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/dataset.h>
#include <tfrun/net.h>
#include <tfrun/npy.h>
#include <tfrun/onnx.h>

static tfr_err err = TFR_ERR_INIT;

static tfr_status make_net(const char *path)
{
    const int64_t dims[] = {-1, 1, 28, 28};
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    tfr_status status = tfr_net_create("small", dims, 4, TFR_NET_KERAS, 3, &net, &err);
    if (!status) {
        tfr_net_flatten(net);
        tfr_net_dense(net, 16, "relu");
        tfr_net_dropout(net, .125f);
        tfr_net_dense(net, 10, "softmax");
        status = tfr_net_graph(net, &graph, &err);
    }
    if (!status)
        status = tfr_onnx_save(graph, path, NULL, &err);
    tfr_graph_release(graph);
    tfr_net_destroy(net);
    return status;
}

static tfr_status take_samples(const char *source, const char *inputs, const char *targets)
{
    tfr_dataset *train = NULL, *test = NULL;
    tfr_tensor *x = NULL, *y = NULL;
    int64_t *all = NULL, n = 0;
    tfr_status status = tfr_dataset_open(source, &train, &test, &err);
    if (!status) {
        n = tfr_dataset_count(test);
        all = calloc((size_t)n, sizeof *all);
        for (int64_t i = 0; all && i < n; i++)
            all[i] = i;
        status = tfr_dataset_gather(test, all, (uint32_t)n, &x, &y, &err);
    }
    if (!status)
        status = tfr_npy_save(inputs, x, &err);
    if (!status)
        status = tfr_npy_save(targets, y, &err);
    free(all);
    tfr_tensor_release(x);
    tfr_tensor_release(y);
    tfr_dataset_release(train);
    tfr_dataset_release(test);
    return status;
}

static tfr_status print_accuracy(const char *scores, const char *targets)
{
    tfr_tensor *s = NULL, *t = NULL;
    tfr_status status = tfr_npy_load(scores, &s, &err);
    if (!status)
        status = tfr_npy_load(targets, &t, &err);
    if (!status) {
        const int64_t n = tfr_tensor_shape(s)->dims[0], classes = tfr_tensor_shape(s)->dims[1];
        const float *row = tfr_tensor_data(s);
        const int64_t *wanted = tfr_tensor_data(t);
        int64_t right = 0;
        for (int64_t i = 0; i < n; i++, row += classes) {
            int64_t best = 0;
            for (int64_t k = 1; k < classes; k++)
                best = row[k] > row[best] ? k : best;
            right += best == wanted[i];
        }
        printf("%.4f\n", (double)right / (double)n);
    }
    tfr_tensor_release(s);
    tfr_tensor_release(t);
    return status;
}

int main(int argc, char **argv)
{
    tfr_status status = TFR_OK;
    if (argc == 3 && strcmp(argv[1], "net") == 0)
        status = make_net(argv[2]);
    else if (argc == 5 && strcmp(argv[1], "samples") == 0)
        status = take_samples(argv[2], argv[3], argv[4]);
    else if (argc == 4 && strcmp(argv[1], "accuracy") == 0)
        status = print_accuracy(argv[2], argv[3]);
    else
        return 2;
    if (status)
        fprintf(stderr, "%s\n", err.text);
    return status ? 1 : 0;
}
