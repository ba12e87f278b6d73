/* SPDX-License-Identifier: Apache-2.0 */
/*
 * older.c: which calls of today a kernel of an older version of an op computes. Behind the range
 * that ops.def calls compatible a version added attributes, or values of them; as long as these are
 * at their neutral value the call means what it meant before. What became an input instead of an
 * attribute is an attribute again in the normal form (ops.def). By ONNX's own versions and changes.
 */
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "op/op.h"

/*
 * From this version on; conditions are separated by blanks: "a=v" an integer, all integers of a
 * list, or a string are v; "a!v" the string is not v; "a+" the list is not empty; "a@i" the integer
 * is the number of input i's element type, or that of uint8 if there is no such input. Of all that
 * reduce, neutral_of says it.
 */
#define OLDER_LIST(X)                                                                              \
    X("ArgMax", 1, "select_last_index=0")                                                          \
    X("ArgMin", 1, "select_last_index=0")                                                          \
    X("AveragePool", 7, "ceil_mode=0 dilations=1")                                                 \
    X("BatchNormalization", 9, "training_mode=0")                                                  \
    X("Cast", 13, "round_mode=up saturate=1")                                                      \
    X("CastLike", 15, "round_mode=up saturate=1")                                                  \
    X("DequantizeLinear", 13, "block_size=0 output_dtype@1")                                       \
    X("GRU", 7, "layout=0")                                                                        \
    X("GatherND", 11, "batch_dims=0")                                                              \
    X("LSTM", 7, "layout=0")                                                                       \
    X("LpPool", 11, "ceil_mode=0 dilations=1")                                                     \
    X("MaxPool", 8, "ceil_mode=0 dilations=1")                                                     \
    X("Pad", 11, "mode!wrap")                                                                      \
    X("QuantizeLinear", 13, "block_size=0 output_dtype@2 precision=0 saturate=1")                  \
    X("RNN", 7, "layout=0")                                                                        \
    X("Range", 11, "stash_type=1")                                                                 \
    X("ScatterElements", 11, "reduction=none")                                                     \
    X("ScatterND", 11, "reduction=none")                                                           \
    X("SpaceToDepth", 1, "mode=DCR")                                                               \
    X("Split", 2, "")                                                                              \
    X("TopK", 10, "largest=1 sorted=1")

/* Name and conditions of each, which take half as much without addresses. */
#define OLDER_TEXT(name, version, neutral)    name "\0" neutral "\0"
#define OLDER_VERSION(name, version, neutral) version,
static const char texts[] = OLDER_LIST(OLDER_TEXT);
static const uint8_t versions[] = {OLDER_LIST(OLDER_VERSION)};

static const char *neutral_of(const tfr__op *op, int32_t version)
{
    if (!*op->domain && strncmp(op->name, "Reduce", 6) == 0)
        return version >= 1 && version < op->compat_version ? "axes+" : NULL;
    const char *name = texts;
    for (size_t i = 0; !*op->domain && i < sizeof versions; i++, name = tfr__texts_skip(name, 2))
        if (strcmp(name, op->name) == 0)
            return version >= versions[i] && version < op->compat_version ? tfr__texts_skip(name, 1)
                                                                          : NULL;
    return NULL;
}

bool tfr__op_has_older(const tfr__op *op, int32_t version)
{
    return neutral_of(op, version) != NULL;
}

/* Is the attribute as the word of a condition behind its name says? An absent one is. */
static bool is_neutral(const tfr_call *call, const char *name, char how, const char *value)
{
    const tfr_attr *a = tfr_call_attr(call, name);
    const tfr_operand *input;
    int64_t number = 0;
    if (!a)
        return how != '+';
    if (how == '+')
        return a->n > 0;
    if (a->type == TFR_ATTR_STRING)
        return (strcmp(a->strings[0].data, value) == 0) == (how == '=');
    for (const char *digit = value; *digit; digit++)
        number = 10 * number + (*digit - '0');
    if (how == '@') {
        input = tfr_call_input(call, (uint32_t)number);
        number = input ? input->dtype : TFR_DTYPE_U8;
    }
    for (uint64_t i = 0; i < a->n; i++)
        if (!a->ints || a->ints[i] != number)
            return false;
    return true;
}

bool tfr__op_takes_older(const tfr__op *op, int32_t version, const tfr_call *call, char *attr,
                         size_t n)
{
    const char *word = neutral_of(op, version);
    while (word && *(word += strspn(word, " "))) {
        const size_t bytes = strcspn(word, " "), end = strcspn(word, "=!+@");
        char value[32];
        snprintf(attr, n, "%.*s", (int)end, word);
        snprintf(value, sizeof value, "%.*s", (int)(bytes - end - 1), word + end + 1);
        if (!is_neutral(call, attr, word[end], value))
            return false;
        word += bytes;
    }
    return word != NULL;
}
