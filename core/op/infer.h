/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer.h: shape and element type inference for one node, and the normal form of its attributes.
 * A node that came through tfr__infer_node has been checked against its row of the op table; no
 * backend checks again. The functions behind the rows are in infer_*.c, one file per family, named
 * in ops.def.
 *
 * A session infers with the shapes of a run, and then every check is made. Before a run, with
 * tfr__infer.symbols, less may be known: a dim may be a symbol (infer_symbols.h), a rank, an
 * element type and a kind may be unknown, and so may the value of any input. Then what can be
 * checked is, and what follows is passed on; what does not follow is unknown. That holds for every
 * run that succeeds, but for runs in which a symbol that is a target dim of Reshape is 0: what
 * Reshape makes has no elements then, but it may have other dims.
 *
 * What backends may rely on is listed in tfrun/plugin_normal.h.
 */
#ifndef TFR__INFER_H
#define TFR__INFER_H

#include <stdbool.h>
#include <stdint.h>
#include <tfrun/plugin.h>
#include <tfrun/tensor.h>

#include "op/attr.h"
#include "op/infer_symbols.h"
#include "op/op.h"

/* Internal, positive: the value of an input (tfr__infer.pending) is needed and not known yet. */
#define TFR__EPENDING ((tfr_status)1)

/* Symbolic: a value of whatever kind. */
#define TFR__KIND_ANY 15

enum { TFR__MAX_ELEMENTS = 2 * TFR_MAX_RANK };

/* Symbolic: the elements of a small tensor of integers, as far as they are known. */
typedef struct tfr__elements {
    uint32_t n;
    tfr__number v[TFR__MAX_ELEMENTS];
} tfr__elements;

/* The type of a value. Zero is an absent operand. */
typedef struct tfr__type {
    int32_t kind;  /* tfr_kind */
    int32_t dtype; /* of the tensor, or of the tensors inside a sequence or optional; symbolic: 0
                      if it is not known */
    int32_t elem_kind; /* sequence, optional: what is inside, TENSOR or (optional) SEQUENCE */
    int32_t rank;      /* tensors: rank and dims, if shape_known */
    bool shape_known;  /* outputs of sequence ops, symbolic: false, the run tells */
    bool dynamic;      /* output: dims are upper bounds, the run tells the true ones */
    const void *data;  /* input: plain value in host memory, if already known */
    const tfr__elements *elements; /* symbolic, input: what is known of its value, or NULL */
    int64_t dims[TFR_MAX_RANK];    /* symbolic: negative = a symbol */
} tfr__type;

typedef struct tfr__infer {
    const tfr__op *op;
    const char *node; /* for messages; NULL or "" is fine */
    uint32_t n_inputs, n_outputs;
    tfr__type *inputs; /* symbolic: what the op demands of them is filled in */
    /*
     * The caller sets kind of each: ABSENT for an output that the node does not name, anything else
     * for one that it does. Inference fills the rest. Their content after an error is undefined.
     */
    tfr__type *outputs;
    /*
     * The attributes of the node, made canonical: defaults filled, axes and padding normalised,
     * canonical attributes added. Give each inference a fresh copy, for these depend on the shapes.
     * After TFR__EPENDING the same list may be given again.
     */
    tfr__attr_list *attrs;
    /* The value of an input, plain, host, its bytes as the type says; NULL = not known yet. May be
     * NULL itself. Asked only where inputs[i].data is NULL. */
    const void *(*value)(struct tfr__infer *, uint32_t input);
    void *user;
    uint32_t pending;      /* with TFR__EPENDING: the input that was asked for */
    bool again;            /* it was inferred before, of all but dims and values as it is now */
    tfr__symbols *symbols; /* NULL: everything is known */
} tfr__infer;

/*
 * 1 counts, kinds, element types and attributes against the row; 2 defaults; 3 the row's own
 * inference; 4 every dim >= 0, rank within TFR_MAX_RANK, bits of every tensor < 2^63.
 * Returns TFR_OK, TFR__EPENDING, or an error that names node, op, operands and numbers: TFR_ESHAPE,
 * TFR_EDTYPE, TFR_EMODEL (counts, attributes, values), TFR_ELIMIT (step 4), TFR_EUNSUPPORTED,
 * TFR_ENOMEM. For a row without inference only steps 1 (inputs) and 2 run.
 *
 * Symbolic: never TFR__EPENDING; a negative dim is no error, and an error is one of every run. Only
 * the outputs are filled in: the attributes are not in normal form.
 */
tfr_status tfr__infer_node(tfr__infer *in, tfr_err *err);

/* What is known of the value of output 0 after a symbolic inference (infer_elements.c); false if
 * nothing is. */
bool tfr__infer_elements(const tfr__infer *in, tfr__elements *out);

/* Elements of the tensor type, -1 if elements * bits does not fit 63 bits or a dim is negative. */
int64_t tfr__type_elements(const tfr__type *type);
/* The bytes that they take, -1 as above. */
int64_t tfr__type_bytes(const tfr__type *type);

#endif
