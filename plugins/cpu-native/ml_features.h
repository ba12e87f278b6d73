/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ml_features.h: ops of ai.onnx.ml that prepare features (features.c) or look elements up
 * (features_encoders.c).
 */
#ifndef NATIVE_ML_FEATURES_H
#define NATIVE_ML_FEATURES_H

#include "ml.h"

void native_features_supports(const tfr_plugin_device *device, const tfr_call *call,
                              tfr_answer *answer);
void native_features_prepare(native_build *b, const tfr_call *call);
void native_imputer_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer);
void native_imputer_prepare(native_build *b, const tfr_call *call);
void native_binarizer_supports(const tfr_plugin_device *device, const tfr_call *call,
                               tfr_answer *answer);
void native_binarizer_prepare(native_build *b, const tfr_call *call);
void native_vectorizer_supports(const tfr_plugin_device *device, const tfr_call *call,
                                tfr_answer *answer);
void native_vectorizer_prepare(native_build *b, const tfr_call *call);

void native_mapper_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer);
void native_mapper_prepare(native_build *b, const tfr_call *call);
void native_encoder_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer);
void native_encoder_prepare(native_build *b, const tfr_call *call);

#endif
