/* SPDX-License-Identifier: Apache-2.0 */
/*
 * families.h: the supports and prepare functions of every op family, for ops.c, which names them in
 * its table. Each pair lives in the file that its banner names.
 */
#ifndef ONEDNN_FAMILIES_H
#define ONEDNN_FAMILIES_H

#include "kernel.h"

#define ONEDNN_FAMILY(name)                                                                        \
    void onednn_##name##_supports(const tfr_plugin_device *device, const tfr_call *call,           \
                                  tfr_answer *answer);                                             \
    void onednn_##name##_prepare(onednn_build *b, const tfr_call *call)

ONEDNN_FAMILY(batch_norm);     /* normalization.c */
ONEDNN_FAMILY(binary);         /* binary.c */
ONEDNN_FAMILY(cast);           /* reorder.c */
ONEDNN_FAMILY(clip);           /* eltwise.c */
ONEDNN_FAMILY(concat);         /* concat.c */
ONEDNN_FAMILY(conv_integer);   /* convolution_integer.c */
ONEDNN_FAMILY(convolution);    /* convolution.c */
ONEDNN_FAMILY(eltwise);        /* eltwise.c */
ONEDNN_FAMILY(exp);            /* eltwise.c */
ONEDNN_FAMILY(gelu);           /* eltwise.c */
ONEDNN_FAMILY(gemm);           /* matmul.c */
ONEDNN_FAMILY(group_norm);     /* normalization.c */
ONEDNN_FAMILY(hard_sigmoid);   /* eltwise.c */
ONEDNN_FAMILY(layer_norm);     /* normalization.c */
ONEDNN_FAMILY(lrn);            /* lrn.c */
ONEDNN_FAMILY(matmul);         /* matmul.c */
ONEDNN_FAMILY(matmul_integer); /* matmul_integer.c */
ONEDNN_FAMILY(pooling);        /* pooling.c */
ONEDNN_FAMILY(pow);            /* binary.c */
ONEDNN_FAMILY(prelu);          /* binary.c */
ONEDNN_FAMILY(quantize);       /* quantize.c */
ONEDNN_FAMILY(recurrent);      /* recurrent.c */
ONEDNN_FAMILY(reduction);      /* reduction.c */
ONEDNN_FAMILY(resize);         /* resampling.c */
ONEDNN_FAMILY(softmax);        /* softmax.c */
ONEDNN_FAMILY(sum);            /* binary.c */
ONEDNN_FAMILY(transpose);      /* reorder.c */

#undef ONEDNN_FAMILY

#endif
