/* SPDX-License-Identifier: Apache-2.0 */
/* tfrun/plugin_call.h: one op with its operands and attributes, as kernels and programs get it;
 * included by tfrun/plugin.h. */
#ifndef TFRUN_PLUGIN_CALL_H
#define TFRUN_PLUGIN_CALL_H

#include <tfrun/plugin_types.h>

enum {
    TFR_OPERAND_DYNAMIC = 1u << 0, /* output: dims are upper bounds, launch writes the true ones */
    /*
     * input of supports, propose and compile of backends with TFR_KERNEL_TAKES_UNALIGNED: data is
     * not at a multiple of its element's size, as in a model's file. Whoever reads it copies it
     * bytewise first.
     */
    TFR_OPERAND_UNALIGNED = 1u << 1
};

/* One input or output of a call. */
typedef struct tfr_operand {
    uint32_t size;
    int32_t dtype;  /* tfr_dtype; TFR_DTYPE_NONE = optional and absent, nothing else is set */
    uint32_t flags; /* TFR_OPERAND_... */
    int32_t rank;   /* 0...TFR_MAX_RANK */
    /* rank of them, each >= 0; their product with the element's bits fits 63 bits */
    const int64_t *dims;
    const int64_t *strides; /* in elements; NULL = plain: dense, row-major. May be 0 or negative */
    /*
     * input: the value, plain and readable by the host, if it is known when the kernel is prepared
     * (weights, and always the operands that the op table calls shape arguments: axes, shape,
     * starts, pads...). NULL = known at launch only. It is valid during supports and prepare and,
     * for prepare, until drop.
     */
    const void *data;
} tfr_operand;

/* AttributeProto's numbers. Scalars are arrays of one. */
typedef enum tfr_attr_type {
    TFR_ATTR_FLOAT = 1,
    TFR_ATTR_INT = 2,
    TFR_ATTR_STRING = 3,
    TFR_ATTR_TENSOR = 4,
    TFR_ATTR_GRAPH = 5,
    TFR_ATTR_FLOATS = 6,
    TFR_ATTR_INTS = 7,
    TFR_ATTR_STRINGS = 8
} tfr_attr_type;

typedef struct tfr_attr {
    uint32_t size;
    int32_t type; /* tfr_attr_type */
    const char *name;
    uint64_t n; /* elements */
    const int64_t *ints;
    const float *floats;
    const tfr_string *strings; /* also ended by a zero byte */
    const tfr_operand *tensor; /* plain, with data */
} tfr_attr;

/*
 * How exact products of float32 have to be, named by the user: a mode is a bound, and how a backend
 * keeps within it is its own affair; one that knows only strict ignores this. X(NAME, number, text,
 * bits, sentence): each product may be off by 2^-bits of itself, so that a sum of them is off by
 * 2^-bits of the sum of their absolute values, and by what float32 sums always are. A greater
 * number allows more, so a kernel that computes in one of these ways may do so in all later modes.
 */
#define TFR_MATH_MODE_LIST(X)                                                                      \
    X(STRICT, 0, "strict", 24, "float32 arithmetic")                                               \
    X(F32X6, 1, "f32x6", 22, "as each float32 as three bfloat16, six products")                    \
    X(F32X3, 2, "f32x3", 14, "as each float32 as two bfloat16, three products")                    \
    X(TF32, 3, "tf32", 10, "as each float32 rounded to 11 bits, TensorFloat-32")                   \
    X(BF16, 4, "bf16", 7, "as each float32 rounded to bfloat16")

typedef enum tfr_math_mode {
#define TFR_MATH_MODE_ENUM(name, number, text, bits, sentence) TFR_MATH_##name = number,
    TFR_MATH_MODE_LIST(TFR_MATH_MODE_ENUM)
#undef TFR_MATH_MODE_ENUM
} tfr_math_mode;

enum {
    /*
     * Launches of the kernel give the same bits for the same inputs and random state: in each
     * process on this machine with this software and these settings, whatever runs at the same
     * time, whatever was measured. A kernel that cannot promise it says no, by
     * TFR_REASON_NONDETERMINISTIC, so that another one gets the call; where there is a slower way
     * that can, it takes that one.
     */
    TFR_CALL_DETERMINISTIC = 1u << 16
};

/*
 * One op with everything fixed: types, shapes, strides, attributes. The core has checked it against
 * the op table and brought it into the normal form of tfrun/plugin_normal.h before a plugin sees
 * it: plugins do not check again.
 */
typedef struct tfr_call {
    uint32_t size;
    int32_t since_version;
    const char *domain; /* "" = ONNX */
    const char *name;   /* "Conv" */
    uint64_t digest;    /* of what the op is in this core: tfrun/op_digests.h */
    const tfr_attr *attrs;
    const tfr_operand *inputs;
    const tfr_operand *outputs;
    uint32_t n_attrs, attr_stride;
    uint32_t n_inputs, input_stride;
    uint32_t n_outputs, output_stride;
    int32_t math_mode;    /* tfr_math_mode */
    uint32_t subsequence; /* of random numbers: the node's own (plugin_random.h) */
    uint32_t flags;       /* TFR_CALL_... */
    /*
     * Parts of the samples that a sum over them has: each is summed in the order of its samples,
     * then the parts are added in theirs, so that bits depend on it, and not on threads. 0 = the
     * backend's choice, for those that sum otherwise, too.
     */
    uint32_t shards;
} tfr_call;

/* ---- reading a call ---- */

/* Flags that may not be ignored, of those that are not known: others than 0 are a no. */
static inline uint32_t tfr_call_unknown(const tfr_call *call, uint32_t known)
{
    return TFR_HAS(call, tfr_call, flags) ? call->flags & TFR_MUST_UNDERSTAND & ~known : 0;
}

static inline const tfr_operand *tfr_call_input(const tfr_call *call, uint32_t i)
{
    const tfr_operand *o;
    if (i >= call->n_inputs)
        return NULL;
    o = (const tfr_operand *)(const void *)((const char *)call->inputs +
                                            (size_t)i * call->input_stride);
    return o->dtype == TFR_DTYPE_NONE ? NULL : o; /* NULL = absent */
}

static inline const tfr_operand *tfr_call_output(const tfr_call *call, uint32_t i)
{
    const tfr_operand *o;
    if (i >= call->n_outputs)
        return NULL;
    o = (const tfr_operand *)(const void *)((const char *)call->outputs +
                                            (size_t)i * call->output_stride);
    return o->dtype == TFR_DTYPE_NONE ? NULL : o;
}

static inline const tfr_attr *tfr_call_attr(const tfr_call *call, const char *name)
{
    uint32_t i;
    for (i = 0; i < call->n_attrs; i++) {
        const tfr_attr *a = (const tfr_attr *)(const void *)((const char *)call->attrs +
                                                             (size_t)i * call->attr_stride);
        const char *x = a->name, *y = name;
        while (*x && *x == *y)
            x++, y++;
        if (*x == *y)
            return a;
    }
    return NULL;
}

static inline int64_t tfr_call_int(const tfr_call *call, const char *name, int64_t absent)
{
    const tfr_attr *a = tfr_call_attr(call, name);
    return a && a->type == TFR_ATTR_INT && a->n == 1 ? a->ints[0] : absent;
}

static inline float tfr_call_float(const tfr_call *call, const char *name, float absent)
{
    const tfr_attr *a = tfr_call_attr(call, name);
    return a && a->type == TFR_ATTR_FLOAT && a->n == 1 ? a->floats[0] : absent;
}

/* The string, ended by a zero byte, or absent. */
static inline const char *tfr_call_string(const tfr_call *call, const char *name,
                                          const char *absent)
{
    const tfr_attr *a = tfr_call_attr(call, name);
    return a && a->type == TFR_ATTR_STRING && a->n == 1 ? a->strings[0].data : absent;
}

/* The numbers of an attribute of exactly n of them, or NULL. */
static inline const int64_t *tfr_call_ints(const tfr_call *call, const char *name, uint64_t n)
{
    const tfr_attr *a = tfr_call_attr(call, name);
    return a && a->type == TFR_ATTR_INTS && a->n == n ? a->ints : NULL;
}

/* Product of dims [begin, end); 1 where there are none. */
static inline int64_t tfr_operand_span(const tfr_operand *o, int32_t begin, int32_t end)
{
    int64_t n = 1;
    for (; begin < end; begin++)
        n *= o->dims[begin];
    return n;
}

/* Product of all dims; 1 for rank 0. */
static inline int64_t tfr_operand_elements(const tfr_operand *o)
{
    return tfr_operand_span(o, 0, o->rank);
}

/* 1 = both have the same rank and dims. */
static inline int tfr_operand_same_dims(const tfr_operand *a, const tfr_operand *b)
{
    int32_t i = 0;
    while (i < a->rank && i < b->rank && a->dims[i] == b->dims[i])
        i++;
    return i == a->rank && i == b->rank;
}

/* 1 = dense and row-major: strides are absent, or say no more than that. */
static inline int tfr_operand_is_plain(const tfr_operand *o)
{
    int64_t n = 1;
    int32_t i;
    for (i = o->rank - 1; o->strides && i >= 0; i--) {
        if (o->dims[i] != 1 && o->strides[i] != n)
            return 0;
        n *= o->dims[i];
    }
    return 1;
}

static inline uint32_t tfr_dtype_bits(int32_t dtype)
{
    switch (dtype) {
#define TFR_DTYPE_BITS(name, number, bits, text)                                                   \
    case number:                                                                                   \
        return bits;
        TFR_DTYPE_LIST(TFR_DTYPE_BITS)
#undef TFR_DTYPE_BITS
    default:
        return 0;
    }
}

#endif
