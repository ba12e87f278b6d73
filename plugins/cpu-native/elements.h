/* SPDX-License-Identifier: Apache-2.0 */
/* elements.h: GatherElements, GatherND, ScatterElements, ScatterND, ConstantOfShape, Expand,
 * Transpose. */
#ifndef NATIVE_ELEMENTS_H
#define NATIVE_ELEMENTS_H

#include "kernel.h"

void native_elements_supports(const tfr_plugin_device *device, const tfr_call *call,
                              tfr_answer *answer);
void native_elements_prepare(native_build *b, const tfr_call *call);

void native_tuples_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer);
void native_tuples_prepare(native_build *b, const tfr_call *call);

void native_fill_supports(const tfr_plugin_device *device, const tfr_call *call,
                          tfr_answer *answer);
void native_fill_prepare(native_build *b, const tfr_call *call);

void native_expand_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer);
void native_expand_prepare(native_build *b, const tfr_call *call);

void native_transpose_supports(const tfr_plugin_device *device, const tfr_call *call,
                               tfr_answer *answer);
void native_transpose_prepare(native_build *b, const tfr_call *call);

#endif
