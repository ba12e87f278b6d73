/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op.h: the op table, one row per operator of core/op/ops.def, and the reader of its signature
 * strings. Inside the core there is one version of each op, the newest that the core knows; the
 * importer rewrites older forms. Shape inference is in infer.h. Everything here is [any]: constant
 * tables, no allocation, nothing to start.
 */
#ifndef TFR__OP_H
#define TFR__OP_H

#include <stdbool.h>
#include <stdint.h>
#include <tfrun/plugin.h>

struct tfr__infer;

typedef enum tfr__op_kind {
    TFR__OP_KERNEL,   /* a backend computes it */
    TFR__OP_VIEW,     /* output 0 has the bytes of input 0: Reshape Squeeze Unsqueeze Flatten
                         Identity */
    TFR__OP_CONST,    /* the value is known at planning: Constant Shape Size */
    TFR__OP_CONTROL,  /* has graphs inside: If Loop Scan SequenceMap; and Gradient */
    TFR__OP_SEQUENCE, /* sequences and optionals, run by the core on the host */
} tfr__op_kind;

/* What passes may know of an op. */
enum {
    /* an element of the one output is made of those of the inputs at its place, broadcast */
    TFR__TRAIT_ELEMENTWISE = 1u << 0,
    TFR__TRAIT_CHEAP = 1u << 1,  /* its work is about its bytes; elementwise ones are cheap, too */
    TFR__TRAIT_RANDOM = 1u << 2, /* draws random numbers: two calls give different values */
    TFR__TRAIT_READS_PART = 1u << 3, /* reads of input 0 only what it writes */
    /* Before a run: can be inferred without the rank of any input, or of any but the first. */
    TFR__TRAIT_ANY_RANK = 1u << 4,
    TFR__TRAIT_RANK_OF_FIRST = 1u << 5,
    /* Before a run: dims that are found for symbols are those of all runs, unless inference has
     * guessed (infer_symbols.h), and attributes do not depend on dims. Elementwise ones are so. */
    TFR__TRAIT_FORMULA = 1u << 6,
    TFR__TRAIT_FOREIGN = 1u << 7 /* the row is in a tfr__op_foreign (op_foreign.h) */
};

/* How floating-point operations are counted (cost.c). */
typedef enum tfr__cost_rule {
    TFR__COST_NONE,
    TFR__COST_OUTPUT, /* weight x elements of output 0 */
    TFR__COST_INPUT,  /* weight x elements of input 0 */
    TFR__COST_CONV,   /* weight = number of the input with the filters */
    TFR__COST_CONV_TRANSPOSE,
    TFR__COST_MATMUL,
    TFR__COST_GEMM,
    TFR__COST_ATTENTION,
    TFR__COST_POOL,
    TFR__COST_EINSUM,
    TFR__COST_RNN
} tfr__cost_rule;

/*
 * Signature strings; items are separated by one blank.
 *   inputs, outputs  "X:T W:T B?:T", "data...:T"   ? = optional, ... = any number >= 1,
 *                    "v...0:V" any number >= 0; a variadic item is the last one. A type in capitals
 *                    names a set of types, all operands with it have one type; after "..." a "*"
 *                    frees them of that: "v...*:V". Else it is the name of one type: "K:i64".
 *   attrs            "axis:i=-1 perm:is mode:s=a|b to:i!"   i f s t g is fs ss; =default, lists
 *                    with commas; ! = required; none of both = optional; after = or ! the strings
 *                    that are allowed, the default first
 *   types            "T=f16|f32 I=i64"   names as TFR_DTYPE_LIST in small letters, and seq, opt
 */
typedef struct tfr__op {
    const char *domain; /* "" = ONNX */
    const char *name;
    int32_t since_version;
    int32_t compat_version; /* oldest version with the same meaning for the calls that it admits */
    uint32_t shape_args;    /* bit i: the value of input i decides an output's shape */
    uint8_t kind;           /* tfr__op_kind */
    uint8_t traits;         /* TFR__TRAIT_... */
    struct {
        uint8_t rule, weight;
    } cost;
    const char *inputs, *outputs, *attrs, *types;
    tfr_status (*infer)(struct tfr__infer *, tfr_err *); /* NULL = the integrator's: control flow */
} tfr__op;

/* The row, or NULL. "ai.onnx" is "". Takes some string comparisons: look up once per node. */
const tfr__op *tfr__op_find(const char *domain, const char *name);

/* All rows: the built-in ones, sorted by domain and name, then those that plugins brought, which
 * become more as runtimes are made (op_foreign.h). */
uint32_t tfr__op_count(void);
const tfr__op *tfr__op_at(uint32_t i);

/* The row's number, for tfr__op_at. */
uint32_t tfr__op_number(const tfr__op *op);

/* Those of plugins alone (op_foreign.c). */
uint32_t tfr__op_n_foreign(void);
const tfr__op *tfr__op_foreign_at(uint32_t i);
const tfr__op *tfr__op_foreign_find(const char *domain, const char *name);

/* The op's row of TFR_NORMAL_FORM_LIST; "" and 0 if it has none. normal_form.c, with the digests */
const char *tfr__op_normal_form(const tfr__op *op, uint32_t *version);

/*
 * What tfr_call.digest carries: FNV-1a, 64 bits, of "domain|name|inputs|outputs|attrs|A.V|form",
 * where A is TFR_NORMAL_FORM and V and form are the op's own. Type sets are left out: a wider set
 * of types does not change what a call means. Never 0.
 */
uint64_t tfr__op_digest(const tfr__op *op);
/* Where that of a built-in row is kept, 0 = not yet; NULL for other rows. */
_Atomic uint64_t *tfr__op_kept_digest(const tfr__op *op);
/* The same with other numbers, and another form. */
uint64_t tfr__op_digest_with(const tfr__op *op, uint32_t all, uint32_t version, const char *form);

/* older.c: is there a rule for kernels of this version, which is older than compat_version? */
bool tfr__op_has_older(const tfr__op *op, int32_t version);
/* Does such a kernel compute the call? Else attr names the attribute that is newer. */
bool tfr__op_takes_older(const tfr__op *op, int32_t version, const tfr_call *call, char *attr,
                         size_t n);

/* One operand of a signature. */
typedef struct tfr__formal {
    const char *name;
    uint32_t name_bytes;
    const char *type;
    uint32_t type_bytes;
    bool optional, variadic, mixed; /* mixed: variadic and of different types */
    uint32_t min;                   /* variadic: how many at least */
    uint32_t at; /* its number among the items; variadic: where the tail begins */
} tfr__formal;

/*
 * Operand i of inputs or outputs, false if there is none; an i in the variadic tail gives the
 * variadic item.
 */
bool tfr__op_formal(const char *operands, uint32_t i, tfr__formal *out);

/* How many operands a signature admits; *most is UINT32_MAX with a variadic one. */
void tfr__op_arity(const char *operands, uint32_t *least, uint32_t *most);

/* One attribute of a signature. */
typedef struct tfr__attr_formal {
    const char *name;
    uint32_t name_bytes;
    int32_t type; /* tfr_attr_type */
    bool required;
    const char *value; /* text of the default, NULL = none */
    uint32_t value_bytes;
    const char *choices; /* the strings that are allowed, "a|b|c"; NULL = any */
    uint32_t choices_bytes;
} tfr__attr_formal;

/* Steps through attrs: start with *cursor = op->attrs; false at the end. */
bool tfr__op_next_attr(const char **cursor, tfr__attr_formal *out);

/* Whether operands of the formal type may be tensors of dtype (kind 1), sequences (2), optionals
 * (3); the numbers are tfr_kind's. */
bool tfr__op_admits(const tfr__op *op, const char *type, uint32_t type_bytes, int32_t kind,
                    int32_t dtype);

/* The set of a formal type as text, for messages: "f16|f32"; not ended by a zero byte. */
const char *tfr__op_types(const tfr__op *op, const char *type, uint32_t type_bytes,
                          uint32_t *bytes);

/* The element type of a formal type that admits tensors of one element type only, else 0. */
int32_t tfr__op_only_dtype(const tfr__op *op, const char *type, uint32_t type_bytes);

/* Whether word is an item of a list separated by bars. */
bool tfr__op_in_list(const char *list, uint32_t list_bytes, const char *word, uint64_t word_bytes);

/* The short name of an element type as messages and signatures have it: "f32"; "?" if unknown. */
const char *tfr__dtype_short(int32_t dtype);

#endif
