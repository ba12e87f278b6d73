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

ONEDNN_FAMILY(batch_norm);     /* batch_norm.c */
ONEDNN_FAMILY(binary);         /* binary.c */
ONEDNN_FAMILY(cast);           /* cast.c */
ONEDNN_FAMILY(clip);           /* unary.c */
ONEDNN_FAMILY(concat);         /* concat.c */
ONEDNN_FAMILY(conv);           /* conv.c */
ONEDNN_FAMILY(conv_grad);      /* conv_grad.c */
ONEDNN_FAMILY(conv_integer);   /* conv_integer.c */
ONEDNN_FAMILY(exp);            /* unary.c */
ONEDNN_FAMILY(gelu);           /* unary.c */
ONEDNN_FAMILY(gemm);           /* matmul.c */
ONEDNN_FAMILY(group_norm);     /* layer_norm.c */
ONEDNN_FAMILY(hard_sigmoid);   /* unary.c */
ONEDNN_FAMILY(layer_norm);     /* layer_norm.c */
ONEDNN_FAMILY(lrn);            /* norm.c */
ONEDNN_FAMILY(matmul);         /* matmul.c */
ONEDNN_FAMILY(matmul_integer); /* matmul_integer.c */
ONEDNN_FAMILY(pool);           /* pool.c */
ONEDNN_FAMILY(pow);            /* binary.c */
ONEDNN_FAMILY(prelu);          /* binary.c */
ONEDNN_FAMILY(quantize);       /* quantize.c */
ONEDNN_FAMILY(recurrent);      /* recurrent.c */
ONEDNN_FAMILY(reduce);         /* reduce.c */
ONEDNN_FAMILY(resize);         /* resize.c */
ONEDNN_FAMILY(softmax);        /* softmax.c */
ONEDNN_FAMILY(transpose);      /* transpose.c */
ONEDNN_FAMILY(unary);          /* unary.c */
ONEDNN_FAMILY(variadic);       /* binary.c */

#undef ONEDNN_FAMILY

#endif
