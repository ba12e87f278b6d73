/* SPDX-License-Identifier: Apache-2.0 */
/* fields.c: the tables that fields.h lists. */
#include "onnx/fields.h"

#define FIELD_ROW(prefix, field, number, kind, name) [number] = {TFR__WIRE_##kind, name},
#define MESSAGE_TABLE(prefix, fields, variable, name)                                              \
    static const tfr__wire_rule variable##_rules[TFR__##prefix##_END] = {fields(FIELD_ROW)};       \
    const tfr__wire_message tfr__onnx_##variable##_message = {name, TFR__##prefix##_END,           \
                                                              variable##_rules};
TFR__ONNX_MESSAGES(MESSAGE_TABLE)
