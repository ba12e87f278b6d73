/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h: writes what a call is made of as an ONNX function, from a text with one node a line:
 *
 *   s, n = Split[axis=2,num_outputs=2](Add(X, bias))
 *   Y = Mul(s, Sigmoid(Mul(n, 1.702)))
 *
 * Names are those of the op's inputs and outputs (of a variadic one with a number: inputs0,
 * inputs1), or of values of the text. An argument may be a node itself, and _ is one that is
 * absent. Constants: 1.5 and -2.0 are scalars of the type of the text, set by contrib_type, 2 is
 * one of int64, {1,2} a list of int64; {} an empty one. Attributes: axis=2, epsilon=1e-5,
 * mode="linear", pads={0,1}. A domain stands before the op: tfrun.Inverse(X).
 */
#ifndef CONTRIB_TEXT_H
#define CONTRIB_TEXT_H

#include "contrib.h"

typedef struct contrib_text {
    const tfr_call *call;
    uint8_t *out;
    uint64_t room, n;
    int32_t dtype;   /* of constants */
    uint32_t n_made; /* values without a name */
    const char *at;  /* in the text at hand */
    bool full;
    char wrong[48]; /* where a text cannot be read */
} contrib_text;

/* Bytes that grow; one more than there is room for is noted as full. */
typedef struct contrib_bytes {
    uint8_t *data;
    size_t room, n;
    bool full;
} contrib_bytes;

/* An op that is written out: its row and what its calls are made of, or a function that writes it.
 * A table of them ends with a row without a name. */
typedef struct contrib_written {
    tfr_op_schema row;
    const char *text;
    int32_t (*write)(contrib_text *t, tfr_err *err);
} contrib_written;

#define CONTRIB_ROW(op, in, out_, attributes, sets)                                                \
    .row = {.size = sizeof(tfr_op_schema),                                                         \
            .flags = TFR_OP_WRITTEN,                                                               \
            .since_version = 1,                                                                    \
            .domain = CONTRIB_DOMAIN,                                                              \
            .name = op,                                                                            \
            .inputs = in,                                                                          \
            .outputs = out_,                                                                       \
            .attrs = attributes,                                                                   \
            .types = sets}

#define CONTRIB_FLOATS "f16|f32|f64|bf16"

extern const contrib_written contrib_activations[], contrib_attentions[], contrib_dynamic[],
    contrib_groups[], contrib_moves[], contrib_norms[], contrib_products[], contrib_quantized[];

/* The head of the function: inputs and outputs of the row. */
void contrib_begin(contrib_text *t, const tfr_op_schema *row, const tfr_call *call, void *out,
                   uint64_t room);
/* The type of an input for constants; float32 where it is not known. */
void contrib_type(contrib_text *t, uint32_t input);
TFR__PRINTF(2, 3) void contrib_write(contrib_text *t, const char *format, ...);
int32_t contrib_end(contrib_text *t, uint64_t *n, tfr_err *err);

/* Is input i there, is output i wanted? */
static inline bool contrib_has(const contrib_text *t, uint32_t i)
{
    return tfr_call_input(t->call, i) != NULL;
}

static inline bool contrib_wants(const contrib_text *t, uint32_t i)
{
    return tfr_call_output(t->call, i) != NULL;
}

/* Its rank, or -1, and dim i, negative if it is not known; i may count from the end. */
int32_t contrib_rank(const contrib_text *t, uint32_t input);
int64_t contrib_dim(const contrib_text *t, uint32_t input, int32_t i);
/* The rank, or an error that says that it is needed. */
int32_t contrib_need_rank(const contrib_text *t, uint32_t input, int32_t *out, tfr_err *err);
/* A permutation of so many axes with two of them exchanged, as "{0,2,1}". */
const char *contrib_swap(int32_t rank, int32_t a, int32_t b, char *text);
/* From channels last to channels first, and back. */
const char *contrib_to_first(int32_t rank, char *text);
const char *contrib_to_last(int32_t rank, char *text);
/* Refuses an attribute that is not what it is by default, or an input or output. */
int32_t contrib_only(const contrib_text *t, const char *attr, int64_t value, tfr_err *err);
int32_t contrib_without(const contrib_text *t, uint32_t input, const char *name, tfr_err *err);
int32_t contrib_no_output(const contrib_text *t, uint32_t output, const char *name, tfr_err *err);

/* A string of the call as a word of a text; "unknown", which no op of ONNX takes, if it is none. */
const char *contrib_choice(const tfr_call *call, const char *name, const char *absent);
/* "{1,2}" of a list attribute, "{}" if there is none; text has 256 bytes. */
const char *contrib_list(const tfr_call *call, const char *name, char *text);
/* Attributes of windows that the call has, as ",pads={0,1},group=2"; text has 1024 bytes. */
const char *contrib_window(const tfr_call *call, bool with_group, char *text);

#endif
