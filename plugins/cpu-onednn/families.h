/* SPDX-License-Identifier: Apache-2.0 */
/*
 * families.h: the supports and prepare functions of every op family, for ops.c, which names them in
 * its table. Each pair lives in the file that its banner names.
 */
#ifndef TFR_DNN_FAMILIES_H
#define TFR_DNN_FAMILIES_H

#include "kernel.h"

#define TFR_DNN_FAMILY(name)                                                                       \
    void tfr_dnn_##name##_supports(const tfr_plugin_device *device, const tfr_call *call,          \
                                   tfr_answer *answer);                                            \
    void tfr_dnn_##name##_prepare(tfr_dnn_build *b, const tfr_call *call)

TFR_DNN_FAMILY(batch_norm);     /* normalization.c */
TFR_DNN_FAMILY(binary);         /* binary.c */
TFR_DNN_FAMILY(cast);           /* reorder.c */
TFR_DNN_FAMILY(clip);           /* eltwise.c */
TFR_DNN_FAMILY(concat);         /* concat.c */
TFR_DNN_FAMILY(conv_integer);   /* convolution_integer.c */
TFR_DNN_FAMILY(convolution);    /* convolution.c */
TFR_DNN_FAMILY(eltwise);        /* eltwise.c */
TFR_DNN_FAMILY(exp);            /* eltwise.c */
TFR_DNN_FAMILY(gelu);           /* eltwise.c */
TFR_DNN_FAMILY(gemm);           /* matmul.c */
TFR_DNN_FAMILY(group_norm);     /* normalization.c */
TFR_DNN_FAMILY(hard_sigmoid);   /* eltwise.c */
TFR_DNN_FAMILY(layer_norm);     /* normalization.c */
TFR_DNN_FAMILY(lrn);            /* lrn.c */
TFR_DNN_FAMILY(matmul);         /* matmul.c */
TFR_DNN_FAMILY(matmul_integer); /* matmul_integer.c */
TFR_DNN_FAMILY(pooling);        /* pooling.c */
TFR_DNN_FAMILY(pow);            /* binary.c */
TFR_DNN_FAMILY(prelu);          /* binary.c */
TFR_DNN_FAMILY(quantize);       /* quantize.c */
TFR_DNN_FAMILY(recurrent);      /* recurrent.c */
TFR_DNN_FAMILY(reduction);      /* reduction.c */
TFR_DNN_FAMILY(resize);         /* resampling.c */
TFR_DNN_FAMILY(softmax);        /* softmax.c */
TFR_DNN_FAMILY(sum);            /* binary.c */
TFR_DNN_FAMILY(transpose);      /* reorder.c */

#undef TFR_DNN_FAMILY

#endif
