/* SPDX-License-Identifier: Apache-2.0 */
/* ml_labels.c: see ml_labels.h. */
#include "ml_labels.h"

#include <string.h>

#define WORDS "classlabels_strings"

/* ---- strings ---- */

size_t native_strings_bytes(const tfr_string *from, int64_t n)
{
    size_t bytes = (size_t)n * sizeof *from;
    int64_t i;

    for (i = 0; i < n; i++)
        bytes += (size_t)from[i].bytes;
    return bytes;
}

char *native_strings_copy(const tfr_string *from, int64_t n, void *block)
{
    tfr_string *to = block;
    char *at = (char *)(to + n);
    int64_t i;

    for (i = 0; i < n; i++) {
        to[i] = (tfr_string){at, from[i].bytes};
        if (from[i].bytes)
            memcpy(at, from[i].data, (size_t)from[i].bytes);
        at += from[i].bytes;
    }
    return at;
}

int32_t native_set_string(const tfr_plugin_device *device, tfr_string *to, const tfr_string *from,
                          tfr_err *err)
{
    const tfr_host_string *host =
        device->host->facet ? device->host->facet(TFR_HOST_STRING_V1) : NULL;

    if (!host)
        return tfr_fail(err, TFR_EUNSUPPORTED, "the host has no facet %s", TFR_HOST_STRING_V1);
    if (host->set(to, from->data, from->bytes))
        return tfr_fail(err, TFR_ENOMEM, "no memory for a string of %llu bytes",
                        (unsigned long long)from->bytes);
    return TFR_OK;
}

/* ---- labels ---- */

static bool has_words(const tfr_call *call)
{
    const tfr_operand *y = tfr_call_output(call, 0);

    return y && y->dtype == TFR_DTYPE_STRING;
}

int64_t native_count_labels(const tfr_call *call, const char *ints)
{
    return native_attr_length(call, ints) + native_attr_length(call, WORDS);
}

bool native_labels_supports(const tfr_call *call, const char *ints, tfr_answer *answer)
{
    const char *other = has_words(call) ? ints : WORDS;

    if (native_attr_length(call, other) == 0)
        return true;
    tfr_decline(answer, TFR_REASON_DTYPE, "output 0 is not of the type that %s has", other);
    return false;
}

size_t native_labels_work(const tfr_call *call, int64_t n)
{
    return has_words(call) ? (size_t)n * sizeof(int64_t) : 0;
}

bool native_labels_prepare(native_build *b, const char *ints, native_labels *l)
{
    const tfr_attr *words = has_words(b->call) ? tfr_call_attr(b->call, WORDS) : NULL;
    int64_t i;
    char *at;

    l->n = native_count_labels(b->call, ints);
    at = native_add_block(b, (size_t)l->n * sizeof *l->numbers +
                                 (words ? native_strings_bytes(words->strings, l->n) : 0));
    if (!at)
        return false;
    l->numbers = (int64_t *)(void *)at;
    at += (size_t)l->n * sizeof *l->numbers;
    if (l->n && !words)
        memcpy(l->numbers, native_attr_ints(b->call, ints), (size_t)l->n * sizeof *l->numbers);
    if (words) {
        l->words = (tfr_string *)(void *)at;
        native_strings_copy(words->strings, l->n, at);
        for (i = 0; i < l->n; i++)
            l->numbers[i] = i + 1;
    }
    return true;
}

int32_t native_labels_finish(const tfr_plugin_device *device, const native_labels *l,
                             const int64_t *numbers, int64_t n, void *y, tfr_err *err)
{
    static const tfr_string none = {"", 0};
    int32_t status = TFR_OK;
    int64_t i;

    for (i = 0; l->words && i < n && !status; i++)
        status = native_set_string(device, (tfr_string *)y + i,
                                   numbers[i] ? &l->words[numbers[i] - 1] : &none, err);
    return status;
}
