/* SPDX-License-Identifier: Apache-2.0 */
/* facts.c: what is known of a call, and its attributes as pieces of texts. */
#include "text.h"

#include <string.h>

/* ---- what is known of the call --------------------------------------------------------------- */

int32_t contrib_rank(const contrib_text *t, uint32_t input)
{
    const tfr_operand *o = tfr_call_input(t->call, input);
    return o ? o->rank : -1;
}

int64_t contrib_dim(const contrib_text *t, uint32_t input, int32_t i)
{
    const tfr_operand *o = tfr_call_input(t->call, input);
    if (o && i < 0)
        i += o->rank;
    return o && i >= 0 && i < o->rank ? o->dims[i] : -1;
}

int32_t contrib_need_rank(const contrib_text *t, uint32_t input, int32_t *out, tfr_err *err)
{
    *out = contrib_rank(t, input);
    if (*out >= 1)
        return TFR_OK;
    return tfr_fail(err, TFR_EUNSUPPORTED,
                    "input %u of %s is a scalar, or its rank is not known while the model is read",
                    input, t->call->name);
}

const char *contrib_swap(int32_t rank, int32_t a, int32_t b, char *text)
{
    size_t at = 0;
    for (int32_t i = 0; i < rank; i++)
        at += (size_t)snprintf(text + at, 64 - at, "%c%d", i ? ',' : '{',
                               (int)(i == a   ? b
                                     : i == b ? a
                                              : i));
    snprintf(text + at, 64 - at, "}");
    return text;
}

const char *contrib_to_first(int32_t rank, char *text)
{
    size_t at = (size_t)snprintf(text, 64, "{0,%d", (int)rank - 1);
    for (int32_t i = 1; i < rank - 1; i++)
        at += (size_t)snprintf(text + at, 64 - at, ",%d", (int)i);
    snprintf(text + at, 64 - at, "}");
    return text;
}

const char *contrib_to_last(int32_t rank, char *text)
{
    size_t at = (size_t)snprintf(text, 64, "{0");
    for (int32_t i = 2; i < rank; i++)
        at += (size_t)snprintf(text + at, 64 - at, ",%d", (int)i);
    snprintf(text + at, 64 - at, ",1}");
    return text;
}

int32_t contrib_only(const contrib_text *t, const char *attr, int64_t value, tfr_err *err)
{
    const int64_t is = tfr_call_int(t->call, attr, value);
    if (is == value)
        return TFR_OK;
    return tfr_fail(err, TFR_EUNSUPPORTED, "%s with %s %lld is not supported, %lld is",
                    t->call->name, attr, (long long)is, (long long)value);
}

int32_t contrib_without(const contrib_text *t, uint32_t input, const char *name, tfr_err *err)
{
    if (!contrib_has(t, input))
        return TFR_OK;
    return tfr_fail(err, TFR_EUNSUPPORTED, "%s with input %s is not supported", t->call->name,
                    name);
}

int32_t contrib_no_output(const contrib_text *t, uint32_t output, const char *name, tfr_err *err)
{
    if (!contrib_wants(t, output))
        return TFR_OK;
    return tfr_fail(err, TFR_EUNSUPPORTED, "%s with output %s is not supported", t->call->name,
                    name);
}

/* ---- attributes of the call ------------------------------------------------------------------ */

const char *contrib_choice(const tfr_call *call, const char *name, const char *absent)
{
    const char *text = tfr_call_string(call, name, absent);
    size_t n = 0;
    while ((text[n] >= 'a' && text[n] <= 'z') || (text[n] >= 'A' && text[n] <= 'Z') ||
           text[n] == '_')
        n++;
    return text[n] || n > 20 ? "unknown" : text;
}

const char *contrib_list(const tfr_call *call, const char *name, char *text)
{
    const tfr_attr *a = tfr_call_attr(call, name);
    size_t at = 1;
    text[0] = '{';
    for (uint64_t i = 0; a && a->ints && i < a->n && i < 10; i++)
        at += (size_t)snprintf(text + at, 256 - at, "%s%lld", i ? "," : "", (long long)a->ints[i]);
    snprintf(text + at, 256 - at, "}");
    return text;
}

const char *contrib_window(const tfr_call *call, bool with_group, char *text)
{
    static const char *const lists[] = {"dilations", "kernel_shape", "output_padding", "pads",
                                        "strides"};
    const char *auto_pad = contrib_choice(call, "auto_pad", "NOTSET");
    char list[256];
    size_t at = (size_t)snprintf(text, 1024, "auto_pad=\"%.20s\"", auto_pad);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (tfr_call_attr(call, lists[i]))
            at += (size_t)snprintf(text + at, 1024 - at, ",%s=%.160s", lists[i],
                                   contrib_list(call, lists[i], list));
    if (with_group && tfr_call_attr(call, "group"))
        snprintf(text + at, 1024 - at, ",group=%lld", (long long)tfr_call_int(call, "group", 1));
    return text;
}
