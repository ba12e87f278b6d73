/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the cuDNN stand-in share: a plan as one job, and what carries it out. */
#ifndef FAKE_CUDNN_H
#define FAKE_CUDNN_H

#include <stdbool.h>
#include <stdint.h>

#include "fake_driver.h"
#include "fake_number.h"

/* n, channels, height, width; of a filter: outputs, channels of a group, height, width. */
typedef struct fake_tensor {
    fake_type type;
    int64_t dims[4], strides[4], id, alignment;
    bool is_virtual;
    uint64_t data;
} fake_tensor;

enum { MAX_POINTWISE = 4 };

/* A convolution or one of its gradients, and on the way out additions and ReLU. */
typedef struct fake_conv {
    unsigned kind; /* TFR_DNN_OP_CONV_... */
    bool flip, rounds;
    int64_t pad[2], pad_end[2], stride[2], dilation[2];
    double alpha, beta;
    fake_tensor x, w, y; /* or their gradients */
    fake_tensor out;     /* of the last pointwise operation */
    unsigned n_pointwise;
    unsigned modes[MAX_POINTWISE];
    fake_tensor addends[MAX_POINTWISE];
    double ceilings[MAX_POINTWISE]; /* of ReLU */
    uint64_t workspace;
    size_t workspace_bytes;
    fake_spend_fn *spend;
    double ms; /* that it takes */
} fake_conv;

extern const tfr_cpu_kernel fake_conv_kernel;

#endif
