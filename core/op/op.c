/* SPDX-License-Identifier: Apache-2.0 */
/* op.c: the op table made from ops.def, and look-up. */
#include "op/op.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "op/infer_rows.h"
#include "op/op_foreign.h"

/*
 * What the table is made of. Most of it would be pointers to texts, twice as much as the texts, so
 * the rows that others see are made of this at first use.
 */
#define TEXT(domain, name, inputs, outputs, attrs, types)                                          \
    domain "\0" #name "\0" inputs "\0" outputs "\0" attrs "\0" types

static const struct {
#define OP(domain_, name_, since_, compat_, kind_, shape_args_, infer_, traits_, cost_, inputs_,   \
           outputs_, attrs_, types_)                                                               \
    char name_[sizeof(TEXT(domain_, name_, inputs_, outputs_, attrs_, types_))];
#include "op/ops.def"
} texts = {
#define OP(domain_, name_, since_, compat_, kind_, shape_args_, infer_, traits_, cost_, inputs_,   \
           outputs_, attrs_, types_)                                                               \
    .name_ = TEXT(domain_, name_, inputs_, outputs_, attrs_, types_),
#include "op/ops.def"
};

/* The bytes of ops.def that stand for others. */
enum { LOW_BYTES = 31, HIGH_BYTE = 0x80 };

static const char shared_texts[] =
    "u8|u16|u32|u64|i8|i16|i32|i64\0"                              /* 1 */
    "f16|f32|f64|bf16\0"                                           /* 2 */
    "\1|\2\0"                                                      /* 3 */
    "\3|bool|string|c64|c128\0"                                    /* 4 */
    "f8e4m3fn|f8e4m3fnuz|f8e5m2|f8e5m2fnuz\0"                      /* 5 */
    "\4|\5|\26\0"                                                  /* 6 */
    "auto_pad:s=NOTSET|SAME_UPPER|SAME_LOWER|VALID\0"              /* 7 */
    "post_transform:s=NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT\0" /* 10 */
    "kernel_type:s=LINEAR|POLY|RBF|SIGMOID\0"                      /* 11 */
    "nodes_falsenodeids:is nodes_featureids:is nodes_hitrates:fs "
    "nodes_hitrates_as_tensor:t nodes_missing_value_tracks_true:is nodes_modes:ss "
    "nodes_nodeids:is nodes_treeids:is nodes_truenodeids:is nodes_values:fs "
    "nodes_values_as_tensor:t\0"                    /* 12 */
    "i32|i64\0"                                     /* 13 */
    "keepdims:i=1 noop_with_empty_axes:i=0\0"       /* 14 */
    "pads:is strides:is\0"                          /* 15 */
    "kernel_shape:is\0"                             /* 16 */
    "input:T\0"                                     /* 17 */
    "output:T\0"                                    /* 20 */
    "X:T\0"                                         /* 21 */
    "Y:T\0"                                         /* 22 */
    "A:T B:T\0"                                     /* 23 */
    "data:T axes?:i64\0"                            /* 24 */
    "W:T R:T B?:T sequence_lens?:T1 initial_h?:T\0" /* 25 */
    "f8e8m0|f4e2m1|u4|i4|u2|i2\0"                   /* 26 */
    "T=\2\0"                                        /* 27 */
    "ai.onnx.ml\0"                                  /* 30 */
    "f32|f64|i32|i64\0"                             /* 31 */
    "\27|u32|u64|i32|i64\0"                         /* 32 */
    "dilations:is group:i=1 \16 \15\0"              /* 33 */
    "dilations:is kernel_shape:is!\0"               /* 34 */
    "output:T2\0"                                   /* 35 */
    "activation_alpha:fs activation_beta:fs activations:ss clip:f "
    "direction:s=forward|reverse|bidirectional hidden_size:i\0" /* 36 */
    "T=\1|f16|f32|f64|bool|string|c64|c128\0"                   /* 37 */
    "reduced:T\0"                                               /* 200 */
    "epsilon:f=1e-5\0"                                          /* 201 */
    "ignore_index:i reduction:s=mean|sum|none\0"                /* 202 */
    "data:T\0"                                                  /* 203 */
    "input_sequence:S\0"                                        /* 204 */
    "axis:i=-1\0"                                               /* 205 */
    "input:T1\0"                                                /* 206 */
    "classlabels_strings:ss\0"                                  /* 207 */
    "output_datatype:i=1 periodic:i=1\0"                        /* 210 */
    "T1=bool\0"                                                 /* 211 */
    "shape:i64\0"                                               /* 212 */
    "output_sequence:S\0"                                       /* 213 */
    "axis:i=0\0"                                                /* 214 */
    "alpha:f=1\0"                                               /* 215 */
    "default_int64:i=-1 default_string:s=_Unused\0"             /* 216 */
    "X:T1\0"                                                    /* 217 */
    "round_mode:s=up|down|nearest saturate:i=1\0"               /* 220 */
    "T=\4";                                                     /* 221 */

/* Does the byte, which is not 0, stand for a text? */
static bool is_shared(char c)
{
    return (uint8_t)c <= LOW_BYTES || (uint8_t)c >= HIGH_BYTE;
}

static const char *shared_text(char c)
{
    const uint32_t byte = (uint8_t)c;
    return tfr__texts_skip(shared_texts,
                           byte <= LOW_BYTES ? byte - 1 : byte - HIGH_BYTE + LOW_BYTES);
}

/* Rows hold numbers of these: an address takes eight times as much. */
static tfr_status (*const infer_rows[])(struct tfr__infer *, tfr_err *) = {NULL,
#define INFER(name) tfr__infer_##name,
                                                                           TFR__INFER_ROWS(INFER)
#undef INFER
};
enum {
    INFER_none,
#define INFER(name) INFER_##name,
    TFR__INFER_ROWS(INFER)
#undef INFER
};

static const struct {
    uint16_t shape_args : 12, kind : 4;
    uint8_t infer, since, compat, traits, cost[2];
} facts[] = {
#define OP(domain_, name_, since_, compat_, kind_, shape_args_, infer_, traits_, cost_, inputs_,   \
           outputs_, attrs_, types_)                                                               \
    {.infer = INFER_##infer_,                                                                      \
     .shape_args = shape_args_,                                                                    \
     .since = since_,                                                                              \
     .compat = compat_,                                                                            \
     .kind = TFR__OP_##kind_,                                                                      \
     .traits = traits_,                                                                            \
     .cost = cost_},
#include "op/ops.def"
};

enum { N_BUILT_IN = sizeof(facts) / sizeof(facts[0]), LONG_TEXTS = 40 << 10 };

static tfr__op ops[N_BUILT_IN];
static struct {
    pthread_once_t once;
    uint32_t n;
    char bytes[LONG_TEXTS]; /* with shared texts in them */
} written = {.once = PTHREAD_ONCE_INIT};

/* Behind what is written; without room the rest is left out, which test_op would see. */
static void write_text(const char *text)
{
    for (; *text; text++)
        if (is_shared(*text))
            write_text(shared_text(*text));
        else if (written.n < LONG_TEXTS - 1)
            written.bytes[written.n++] = *text;
}

/* The text at *at, which is stepped over. */
static const char *next_text(const char **at)
{
    const char *text = *at, *p = text, *out = written.bytes + written.n;
    while (*p && !is_shared(*p))
        p++;
    *at = p + strlen(p) + 1;
    if (!*p)
        return text;
    write_text(text);
    written.n += written.n < LONG_TEXTS - 1; /* the zero behind it */
    return out;
}

static void make_rows(void)
{
    const char *at = (const char *)&texts;
    for (uint32_t i = 0; i < N_BUILT_IN; i++) {
        tfr__op *op = &ops[i];
        const char **const columns[] = {&op->domain,  &op->name,  &op->inputs,
                                        &op->outputs, &op->attrs, &op->types};
        for (uint32_t k = 0; k < sizeof columns / sizeof columns[0]; k++)
            *columns[k] = next_text(&at);
        op->since_version = facts[i].since;
        op->compat_version = facts[i].compat;
        op->shape_args = facts[i].shape_args;
        op->kind = facts[i].kind;
        op->traits = facts[i].traits;
        op->cost.rule = facts[i].cost[0];
        op->cost.weight = facts[i].cost[1];
        op->infer = infer_rows[facts[i].infer];
    }
}

/* pthread_once looks at one word when it is done. */
static const tfr__op *built_in(void)
{
    pthread_once(&written.once, make_rows);
    return ops;
}

uint32_t tfr__op_count(void)
{
    return N_BUILT_IN + tfr__op_n_foreign();
}

const tfr__op *tfr__op_at(uint32_t i)
{
    return i < N_BUILT_IN ? &built_in()[i] : tfr__op_foreign_at(i - N_BUILT_IN);
}

const tfr__op_foreign *tfr__op_foreign_of(const tfr__op *op)
{
    return op->traits & TFR__TRAIT_FOREIGN ? (const tfr__op_foreign *)(const void *)op : NULL;
}

uint32_t tfr__op_number(const tfr__op *op)
{
    const tfr__op_foreign *foreign = tfr__op_foreign_of(op);
    return foreign ? foreign->number : (uint32_t)(op - ops);
}

_Atomic uint64_t *tfr__op_kept_digest(const tfr__op *op)
{
    static _Atomic uint64_t digests[N_BUILT_IN];
    return op >= ops && op < ops + N_BUILT_IN ? &digests[op - ops] : NULL;
}

static int compare_key(const void *key, const void *row)
{
    const char *const *k = key;
    const tfr__op *op = row;
    int by_domain = strcmp(k[0], op->domain);
    return by_domain ? by_domain : strcmp(k[1], op->name);
}

const tfr__op *tfr__op_find(const char *domain, const char *name)
{
    if (!name)
        return NULL;
    if (!domain || strcmp(domain, "ai.onnx") == 0)
        domain = "";
    const char *key[2] = {domain, name};
    const tfr__op *op = bsearch(key, built_in(), N_BUILT_IN, sizeof(tfr__op), compare_key);
    return op || !*domain ? op : tfr__op_foreign_find(domain, name);
}
