/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convolution.h: what the convolutions of floats (convolution.c) and of 8-bit integers
 * (convolution_integer.c) share. k is the operand of the weights.
 */
#ifndef TFR_DNN_CONVOLUTION_H
#define TFR_DNN_CONVOLUTION_H

#include "quantized.h"

/* src_dims: those of x, less what no window reaches. */
void tfr_dnn_read_window(const tfr_call *call, const tfr_operand *k, tfr_dnn_window *w,
                         int64_t *src_dims);
/* x with the dims that read_window gave. */
tfr_dnn_cmd tfr_dnn_cut(tfr_dnn_build *b, const tfr_operand *x, dnnl_data_type_t type,
                        const int64_t *dims);
/* false = declined */
bool tfr_dnn_want_window(const tfr_call *call, tfr_answer *answer, const tfr_operand *k);
/*
 * Weights as oneDNN numbers them: [G,] OC/G, IC/G, K... For ConvTranspose memory holds
 * [IC, OC/G, K...], so the two channel dims change places.
 */
tfr_dnn_cmd tfr_dnn_weights_md(tfr_dnn_build *b, const tfr_call *call, const tfr_operand *k,
                               dnnl_data_type_t type);

typedef struct tfr_dnn_conv {
    int src, weight, shift, dst; /* tensors; shift = the bias, or -1 */
    bool blocked;                /* the library may choose layouts of src and dst */
    tfr_dnn_window window;
} tfr_dnn_conv;

/* Adds the convolution with the attributes and further arguments of q. */
void tfr_dnn_add_convolution(tfr_dnn_build *b, const tfr_dnn_conv *c, tfr_dnn_quant *q);

#endif
