/* SPDX-License-Identifier: Apache-2.0 */
/* Brings good ops and bad ones, all without kernels: signatures that cannot be read, inference that
 * answers nonsense, functions that are garbage or contain their own op. */
#define FAKE_NAME      "brings"
#define FAKE_DECOMPOSE brings_decompose
#include <tfrun/plugin.h>
static int32_t brings_decompose(const tfr_call *call, void *out, uint64_t *n, tfr_err *err);
#include "brings.h"

/* Y = X * k, with k = 2 if it is not given; its gradient is dY * k. */
#define K        "Z\013\012\001k\025\000\000\000@\240\001\001"
#define CONSTANT ":\043\022\001C\"\010Constant*\024\012\013value_float\240\001\001\252\001\001k"
static const char times[] =
    "\012\001F\"\001X*\001Y" K "J\002\020\025" CONSTANT ":\016\012\001X\012\001C\022\001Y\"\003Mul";
static const char times_gradient[] =
    "\012\001G\"\001X\"\001Y\"\001D*\001E" K "J\002\020\025" CONSTANT
    ":\016\012\001D\012\001C\022\001E\"\003Mul";
/* Y = Itself(X) */
static const char itself[] = "\012\001F\"\001X*\001YJ\017\012\013test.brings\020\001"
                             ":\033\012\001X\022\001Y\"\006Itself:\013test.brings";
/* Y = X + X, and Y = WrittenItself(X) */
static const char twice[] =
    "\012\001F\"\001X*\001YJ\002\020\025:\016\012\001X\012\001X\022\001Y\"\003Add";
static const char written_itself[] = "\012\001F\"\001X*\001YJ\017\012\013test.brings\020\001"
                                     ":\042\012\001X\022\001Y\"\015WrittenItself:\013test.brings";
static const char garbage[] = "\377\377garbage";

static const tfr_op_schema rows[] = {
    ROW("Times", .attrs = "k:f=2", FUNCTION(decomposition, times),
        FUNCTION(gradient, times_gradient)),
    ROW("Itself", FUNCTION(decomposition, itself)),
    ROW("Garbage", FUNCTION(decomposition, garbage), FUNCTION(gradient, garbage)),
    ROW("Huge", .decomposition = times, .decomposition_bytes = UINT64_C(1) << 40),
    ROW("Plain", .attrs = NULL),
    {.size = sizeof(tfr_op_schema),
     .since_version = 3,
     .compat_version = 2,
     .domain = "test.brings",
     .name = "Head",
     .inputs = "X:T n:i64",
     .outputs = "Y:T Z?:i64",
     .types = "T=f32",
     .shape_args = 2},
    ROW("SaysRank", .attrs = NULL),
    ROW("SaysDim", .attrs = NULL),
    ROW("SaysSymbol", .attrs = NULL),
    ROW("SaysType", .attrs = NULL),
    ROW("SaysOther", .attrs = NULL),
    ROW("SaysNothing", .attrs = NULL),
    ROW("SaysStatus", .attrs = NULL),
    ROW("SaysNo", .attrs = NULL),
    ROW("WrittenTwice", .flags = TFR_OP_WRITTEN, .attrs = "k:f=2"),
    ROW("WrittenItself", .flags = TFR_OP_WRITTEN),
    ROW("WrittenGarbage", .flags = TFR_OP_WRITTEN),
    ROW("WrittenLong", .flags = TFR_OP_WRITTEN),
    ROW("WrittenNo", .flags = TFR_OP_WRITTEN),
    ROW("WrittenNeeds", .flags = TFR_OP_WRITTEN, .attrs = "k:f!"),
    /* refused */
    ROW("Bad1", .attrs = "k:f=two"),
    ROW("Bad2", .attrs = "k:z"),
    ROW("Bad3", .attrs = "k:f k:i"),
    ROW("Bad4", .attrs = "k:i=1,2"),
    ROW("Bad5", .attrs = "g:g"),
    ROW("Bad6", .shape_args = 4),
    ROW("Bad7", .compat_version = 2),
    ROW("Bad 8", .attrs = NULL),
    ROW("", .attrs = NULL),
    ROW("Bad9", .flags = 1u << 31),
    {.size = sizeof(tfr_op_schema),
     .since_version = 1,
     .domain = "test.brings",
     .name = "Bad10",
     .inputs = "X:U",
     .outputs = "Y:T",
     .types = "T=f32"},
    {.size = sizeof(tfr_op_schema),
     .since_version = 1,
     .domain = "test.brings",
     .name = "Bad11",
     .inputs = "X...:f32 Z:f32",
     .outputs = "Y:f32"},
    {.size = sizeof(tfr_op_schema),
     .since_version = 1,
     .domain = "test.brings",
     .name = "Bad12",
     .inputs = "X:f32",
     .outputs = NULL},
    {.size = sizeof(tfr_op_schema),
     .since_version = 1,
     .domain = "test.brings",
     .name = "Bad13",
     .inputs = "X:T",
     .outputs = "Y:T",
     .types = "T=f32|float"},
    {.size = sizeof(tfr_op_schema),
     .since_version = 0,
     .domain = "test.brings",
     .name = "Bad14",
     .inputs = "X:f32",
     .outputs = "Y:f32"},
    {.size = sizeof(tfr_op_schema),
     .since_version = 1,
     .domain = "",
     .name = "Bad15",
     .inputs = "X:f32",
     .outputs = "Y:f32"},
    {.size = sizeof(tfr_op_schema),
     .since_version = 1,
     .domain = "ai.onnx.mine",
     .name = "Bad16",
     .inputs = "X:f32",
     .outputs = "Y:f32"},
    {.size = sizeof(tfr_op_schema),
     .since_version = 1,
     .domain = "Org.example",
     .name = "Bad17",
     .inputs = "X:f32",
     .outputs = "Y:f32"},
    {.size = sizeof(tfr_op_schema),
     .since_version = 1,
     .domain = "tfrun",
     .name = "Bad18",
     .inputs = "X:f32",
     .outputs = "Y:f32"},
    {.size = sizeof(tfr_op_schema)},
};

static const tfr_op_schema *brings_rows(uint32_t *n)
{
    *n = sizeof rows / sizeof rows[0];
    return rows;
}

static int32_t brings_infer(const tfr_call *call, tfr_inferred *out, uint32_t stride, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const char *says = strncmp(call->name, "Says", 4) ? "" : call->name + 4;
    if (!strncmp(call->name, "Written", 7))
        return tfr_fail(err, TFR_EUNSUPPORTED, "%s is written out", call->name);
    tfr_inferred_like(out, x);
    if (!strcmp(call->name, "Head")) {
        const tfr_operand *n = tfr_call_input(call, 1);
        out->dims[0] = n->data ? *(const int64_t *)n->data : TFR_DIM_UNKNOWN;
        if (call->n_outputs > 1)
            tfr_inferred_like(tfr_inferred_at(out, stride, 1), n);
    }
    if (!strcmp(says, "Rank"))
        out->rank = 99;
    if (!strcmp(says, "Dim"))
        out->dims[0] = -7000;
    if (!strcmp(says, "Symbol")) /* never in a run */
        out->dims[0] = TFR_DIM_UNKNOWN;
    if (!strcmp(says, "Type"))
        out->dtype = 77;
    if (!strcmp(says, "Other"))
        out->dtype = TFR_DTYPE_STRING;
    if (!strcmp(says, "Nothing"))
        out->dtype = 0, out->rank = -1;
    if (!strcmp(says, "Status")) {
        memset(err->text, 'x', sizeof err->text);
        return 12345;
    }
    if (!strcmp(says, "No"))
        return tfr_fail(err, TFR_ESHAPE, "dim 0 is %d", (int)x->dims[0]);
    return TFR_OK;
}

static int32_t brings_decompose(const tfr_call *call, void *out, uint64_t *n, tfr_err *err)
{
    const char *says = call->name + 7;
    const char *bytes = !strcmp(says, "Itself")    ? written_itself
                        : !strcmp(says, "Garbage") ? garbage
                                                   : twice;
    if (!strcmp(says, "No"))
        return tfr_fail(err, TFR_EUNSUPPORTED, "X has rank %d", (int)tfr_call_input(call, 0)->rank);
    *n = strlen(bytes);
    memcpy(out, bytes, *n);
    if (!strcmp(says, "Long"))
        *n = UINT64_C(1) << 40;
    return TFR_OK;
}
