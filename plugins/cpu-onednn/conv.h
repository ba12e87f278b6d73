/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.h: what the convolutions of floats (conv.c) and of 8-bit integers
 * (conv_integer.c) share. k is the operand of the weights.
 */
#ifndef ONEDNN_CONVOLUTION_H
#define ONEDNN_CONVOLUTION_H

#include "quantized.h"

/* src_dims: those of x, less what no window reaches. */
void onednn_read_window(const tfr_call *call, const tfr_operand *k, onednn_window *w,
                        int64_t *src_dims);
/* x with the dims that read_window gave. */
onednn_cmd onednn_cut(onednn_build *b, const tfr_operand *x, dnnl_data_type_t type,
                      const int64_t *dims);
/* false = declined */
bool onednn_want_window(const tfr_call *call, tfr_answer *answer, const tfr_operand *k);
/*
 * Weights as oneDNN numbers them: [G,] OC/G, IC/G, K... For ConvTranspose memory holds
 * [IC, OC/G, K...], so the two channel dims change places.
 */
onednn_cmd onednn_weights_md(onednn_build *b, const tfr_call *call, const tfr_operand *k,
                             dnnl_data_type_t type);

typedef struct onednn_conv {
    int src, weight, shift, dst; /* tensors; shift = the bias, or -1 */
    bool blocked;                /* the library may choose layouts of src and dst */
    onednn_window window;
} onednn_conv;

/* Adds the convolution with the attributes and further arguments of q. */
void onednn_add_convolution(onednn_build *b, const onednn_conv *c, onednn_quant *q);

#endif
