/* SPDX-License-Identifier: Apache-2.0 */
/* ml_features.h: Scaler, Normalizer, Imputer and OneHotEncoder of ai.onnx.ml. */
#ifndef NATIVE_ML_FEATURES_H
#define NATIVE_ML_FEATURES_H

#include "ml.h"

void native_features_supports(const tfr_plugin_device *device, const tfr_call *call,
                              tfr_answer *answer);
void native_features_prepare(native_build *b, const tfr_call *call);
void native_imputer_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer);
void native_imputer_prepare(native_build *b, const tfr_call *call);
void native_encoder_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer);
void native_encoder_prepare(native_build *b, const tfr_call *call);

#endif
