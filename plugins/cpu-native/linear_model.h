/* SPDX-License-Identifier: Apache-2.0 */
/* linear_model.h: LinearClassifier and LinearRegressor of ai.onnx.ml. */
#ifndef NATIVE_LINEAR_MODEL_H
#define NATIVE_LINEAR_MODEL_H

#include "ml.h"

void native_linear_model_supports(const tfr_plugin_device *device, const tfr_call *call,
                                  tfr_answer *answer);
void native_linear_model_prepare(native_build *b, const tfr_call *call);

#endif
