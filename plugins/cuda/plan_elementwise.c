/* SPDX-License-Identifier: Apache-2.0 */
/* plan_elementwise.c: launches of binary.cu, unary.cu, cast.cu and where.cu. */
#include "plan_kit.h"

#include <string.h>

#define NAME(op) #op,
static const char *const arithmetic[] = {TFR_ARITHMETIC_LIST(NAME)};
static const char *const comparisons[] = {TFR_COMPARISON_LIST(NAME)};
#undef NAME

/* The number of an op among names, or -1. */
static int32_t find(const char *const *names, int32_t n, const char *name)
{
    int32_t i;

    for (i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

/* Both operands, or one in place of two, broadcast to the output. Rank 0 of the walk: none does. */
static bool walk_inputs(const tfr_call *call, int32_t n, tfr_walk *walk, tfr_answer *answer)
{
    const tfr_operand *z = tfr_call_output(call, 0);
    int64_t strides[TFR_WALK_OPERANDS][TFR_MAX_RANK];
    int32_t k;

    for (k = 0; k < n; k++)
        cuda_broadcast(tfr_call_input(call, call->n_inputs > 1 ? (uint32_t)k : 0), z->rank,
                       strides[k]);
    return cuda_walk(z->rank, z->dims, n, (const int64_t(*)[TFR_MAX_RANK])strides, NULL, walk,
                     answer);
}

/* An input of the output's type and dims may give it its memory. */
static void share_equal(const tfr_call *call, uint32_t n, tfr_answer *answer)
{
    const tfr_operand *z = tfr_call_output(call, 0);
    uint32_t k;

    for (k = 0; k < n; k++) {
        const tfr_operand *x = tfr_call_input(call, k);
        if (x && x->dtype == z->dtype && tfr_operand_same_dims(x, z))
            cuda_may_share(answer, (int16_t)k, 0);
    }
}

static void plan_two(const cuda_chip *chip, const tfr_call *call, const char *kernel,
                     const tfr_function *f, tfr_answer *answer, cuda_plan *plan)
{
    tfr_walk walk;
    cuda_step *step;

    if (!walk_inputs(call, 2, &walk, answer))
        return;
    share_equal(call, 2, answer);
    step = walk.n ? cuda_plan_add(plan, kernel, cuda_blocks(chip, walk.n, 1024), 256) : NULL;
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs - 1);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, f, sizeof *f);
    cuda_step_bytes(plan, step, &walk, sizeof walk);
}

CUDA_FAMILY(cuda_binary)
{
    static cuda_names plain = {
        CUDA_FLOATS("binary_"), CUDA_BYTES("binary_"),
        CUDA_WIDE("binary_"), [TFR_DTYPE_F64] = "binary_f64", [TFR_DTYPE_BOOL] = "binary_u8"};
    static cuda_names longer = {CUDA_FLOATS("binary_long_"), CUDA_BYTES("binary_"),
                                CUDA_WIDE("binary_"), [TFR_DTYPE_F64] = "binary_long_f64"};
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 1);
    tfr_function f = {find(arithmetic, TFR_N_ARITHMETIC, call->name), 0, 0, 0};
    const char *kernel =
        cuda_pick_input(f.op == TFR_FN_Pow || f.op == TFR_FN_Mod ? longer : plain, call, answer);

    f.mode = tfr_call_int(call, "fmod", 0) != 0;
    if (kernel && b && b->dtype != a->dtype)
        tfr_decline(answer, TFR_REASON_DTYPE, "a power of type %d with an exponent of type %d",
                    a->dtype, b->dtype);
    else if (kernel)
        plan_two(chip, call, kernel, &f, answer, plan);
}

/* IsInf's signs, as its function has them. */
static int32_t which_infinite(const tfr_call *call)
{
    return (tfr_call_int(call, "detect_negative", 1) != 0) |
           (tfr_call_int(call, "detect_positive", 1) != 0) << 1;
}

CUDA_FAMILY(cuda_compare)
{
    static cuda_names names = {CUDA_FLOATS("compare_"), CUDA_BYTES("compare_"),
                               CUDA_WIDE("compare_"), [TFR_DTYPE_BOOL] = "compare_u8"};
    const char *kernel = cuda_pick_input(names, call, answer);
    const tfr_function f = {find(comparisons, TFR_N_COMPARISONS, call->name), 0, 0,
                            which_infinite(call)};

    if (kernel)
        plan_two(chip, call, kernel, &f, answer, plan);
}

/* Max, Min and Sum of two have the kernel of two. */
CUDA_FAMILY(cuda_variadic)
{
    static cuda_names names = {CUDA_FLOATS("binary_"), CUDA_BYTES("binary_"), CUDA_WIDE("binary_")};
    const char *name = strcmp(call->name, "Sum") == 0 ? "Add" : call->name;
    const tfr_function f = {find(arithmetic, TFR_N_ARITHMETIC, name), 0, 0, 0};
    const char *kernel =
        call->n_inputs == 2 && f.op >= 0 ? names[tfr_call_input(call, 0)->dtype] : NULL;

    if (!kernel)
        cuda_variadic_many(chip, call, answer, plan);
    else if (cuda_call_fits(call, answer))
        plan_two(chip, call, kernel, &f, answer, plan);
}

typedef struct unary {
    const char *name;
    int32_t op;
    bool is_long;      /* stands in the kernel of long functions */
    const char *a, *b; /* attributes */
    float absent_a, absent_b;
} unary;

#define SHORT(name)                                                                                \
    {                                                                                              \
#name, TFR_FN_##name, false, NULL, NULL, 0, 0                                              \
    }
#define LONG(name)                                                                                 \
    {                                                                                              \
#name, TFR_FN_##name, true, NULL, NULL, 0, 0                                               \
    }
static const unary unaries[] = {
    SHORT(Abs),
    LONG(Acos),
    LONG(Acosh),
    LONG(Asin),
    LONG(Asinh),
    LONG(Atan),
    LONG(Atanh),
    SHORT(BitwiseNot),
    SHORT(Ceil),
    {"Celu", TFR_FN_Celu, true, "alpha", NULL, 1, 0},
    LONG(Cos),
    LONG(Cosh),
    {"Elu", TFR_FN_Elu, true, "alpha", NULL, 1, 0},
    LONG(Erf),
    LONG(Exp),
    SHORT(Floor),
    LONG(Gelu),
    {"HardSigmoid", TFR_FN_HardSigmoid, false, "alpha", "beta", 0.2f, 0.5f},
    SHORT(HardSwish),
    {"LeakyRelu", TFR_FN_LeakyRelu, false, "alpha", NULL, 0.01f, 0},
    LONG(Log),
    LONG(Mish),
    SHORT(Neg),
    SHORT(Not),
    SHORT(Reciprocal),
    SHORT(Relu),
    SHORT(Round),
    {"Selu", TFR_FN_Selu, true, "alpha", "gamma", 1.67326319f, 1.05070102f},
    {"Shrink", TFR_FN_Shrink, false, "lambd", "bias", 0.5f, 0},
    LONG(Sigmoid),
    SHORT(Sign),
    LONG(Sin),
    LONG(Sinh),
    LONG(Softplus),
    SHORT(Softsign),
    SHORT(Sqrt),
    {"Swish", TFR_FN_Swish, true, "alpha", NULL, 1, 0},
    LONG(Tan),
    LONG(Tanh),
    {"ThresholdedRelu", TFR_FN_ThresholdedRelu, false, "alpha", NULL, 1, 0},
};
#undef SHORT
#undef LONG

static tfr_function unary_function(const unary *u, const tfr_call *call)
{
    tfr_function f = {u->op, u->a ? tfr_call_float(call, u->a, u->absent_a) : 0,
                      u->b ? tfr_call_float(call, u->b, u->absent_b) : 0, 0};

    if (u->op == TFR_FN_Gelu)
        f.a = strcmp(tfr_call_string(call, "approximate", "none"), "tanh") == 0;
    return f;
}

/* Add, Sub, Mul, Div, PRelu, Max, Min, Pow and comparisons. */
static bool two_step(const char *name, tfr_fused_step *out)
{
    const int32_t op = find(arithmetic, TFR_N_ARITHMETIC, strcmp(name, "Sum") == 0 ? "Add" : name);

    out->f.op = op < 0 ? find(comparisons, TFR_N_COMPARISONS, name) : op;
    out->kind = op < 0             ? TFR_FUSED_COMPARE
                : op == TFR_FN_Pow ? TFR_FUSED_LONG_BINARY
                                   : TFR_FUSED_BINARY;
    return out->f.op >= 0 && (op < TFR_FN_BitwiseAnd && op != TFR_FN_Mod);
}

/* Casts of bytes, of integers and from float32 are those of an input; to float32 they are a step.
 */
static bool cast_step(const tfr_operand *x, const tfr_operand *y, tfr_fused_step *out)
{
    const bool is_wide = y->dtype == TFR_DTYPE_F64;

    out->kind = TFR_FUSED_CLIP; /* by nothing */
    if (x->dtype == TFR_DTYPE_F64) {
        out->f.op = TFR_FUSED_ROUND;
        return y->dtype == TFR_DTYPE_F32;
    }
    if (x->dtype == TFR_DTYPE_I32 || x->dtype == TFR_DTYPE_I64)
        return is_wide || y->dtype == TFR_DTYPE_F32;
    return x->dtype == TFR_DTYPE_U8 || x->dtype == TFR_DTYPE_BOOL ||
           (is_wide && x->dtype == TFR_DTYPE_F32);
}

bool cuda_fused_step(const tfr_call *call, tfr_fused_step *out)
{
    const char *name = call->name;

    if (call->domain[0])
        return false;
    if (strcmp(name, "Cast") == 0)
        return tfr_call_input(call, 0) && tfr_call_output(call, 0) &&
               cast_step(tfr_call_input(call, 0), tfr_call_output(call, 0), out);
    if (strcmp(name, "Clip") == 0) {
        out->kind = TFR_FUSED_CLIP;
        out->f.mode = (tfr_call_input(call, 1) != NULL) | (tfr_call_input(call, 2) != NULL) << 1;
        return true;
    }
    if (call->n_inputs == 2)
        return two_step(name, out);
    if (call->n_inputs == 3) {
        out->kind = TFR_FUSED_WHERE;
        return strcmp(name, "Where") == 0;
    }
    if (strcmp(name, "IsNaN") == 0)
        return two_step(name, out);
    for (size_t i = 0; i < sizeof unaries / sizeof unaries[0] && call->n_inputs == 1; i++)
        if (strcmp(unaries[i].name, name) == 0) {
            out->kind = unaries[i].is_long ? TFR_FUSED_LONG_UNARY : TFR_FUSED_UNARY;
            out->f = unary_function(&unaries[i], call);
            return true;
        }
    return false;
}

CUDA_FAMILY(cuda_unary)
{
    static cuda_names plain = {
        CUDA_FLOATS("unary_"), CUDA_BYTES("unary_"),
        CUDA_WIDE("unary_"), [TFR_DTYPE_F64] = "unary_f64", [TFR_DTYPE_BOOL] = "unary_u8"};
    static cuda_names longer = {CUDA_FLOATS("unary_long_")};
    const unary *u = unaries;
    const int64_t n = tfr_operand_elements(tfr_call_input(call, 0));
    const char *kernel;
    tfr_function f;
    cuda_step *step;

    while (strcmp(u->name, call->name) != 0)
        u++; /* families.def names no other */
    kernel = cuda_pick_input(u->is_long ? longer : plain, call, answer);
    if (!kernel)
        return;
    f = unary_function(u, call);
    share_equal(call, 1, answer);
    step = n ? cuda_plan_add(plan, kernel, cuda_blocks(chip, n, 1024), 256) : NULL;
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 1);
    cuda_step_bytes(plan, step, &f, sizeof f);
    cuda_step_int(plan, step, (int32_t)n);
}

CUDA_FAMILY(cuda_clip)
{
    static cuda_names names = {CUDA_FLOATS("clip_"), CUDA_BYTES("clip_"), CUDA_WIDE("clip_")};
    const int64_t n = tfr_operand_elements(tfr_call_input(call, 0));
    const char *kernel = cuda_pick_input(names, call, answer);
    cuda_step *step;
    uint32_t i;

    if (!kernel)
        return;
    share_equal(call, 1, answer);
    step = n ? cuda_plan_add(plan, kernel, cuda_blocks(chip, n, 256), 256) : NULL;
    for (i = 0; i < 3; i++)
        cuda_step_operand(plan, step, tfr_call_input(call, i) ? i : CUDA_NO_OPERAND);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_int(plan, step, (int32_t)n);
}

CUDA_FAMILY(cuda_cast)
{
    static cuda_names names = {
        CUDA_FLOATS("cast_"), CUDA_BYTES("cast_"),
        CUDA_WIDE("cast_"), [TFR_DTYPE_F64] = "cast_f64", [TFR_DTYPE_BOOL] = "cast_u8"};
    const tfr_operand *y = tfr_call_output(call, 0);
    const int64_t n = tfr_operand_elements(y);
    const char *kernel = cuda_pick_input(names, call, answer);
    cuda_step *step;
    int i;

    if (!kernel || !cuda_pick(names, y, call->n_inputs, answer))
        return;
    step = n ? cuda_plan_add(plan, kernel, cuda_blocks(chip, n, 256), 256) : NULL;
    cuda_step_operand(plan, step, 0);
    for (i = 0; i < 4; i++)
        cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_int(plan, step, (int32_t)n);
    cuda_step_int(plan, step, y->dtype);
}

CUDA_FAMILY(cuda_where)
{
    static const char *const kernels[] = {"where_8", "where_16", "where_32", "where_64"};
    const int size =
        cuda_call_fits(call, answer) ? cuda_size_index(tfr_call_output(call, 0), answer) : -1;
    cuda_step *step;
    tfr_walk walk;
    uint32_t i;

    if (size < 0 || !walk_inputs(call, 3, &walk, answer))
        return;
    step = walk.n ? cuda_plan_add(plan, kernels[size], cuda_blocks(chip, walk.n, 256), 256) : NULL;
    for (i = 0; i < 4; i++)
        cuda_step_operand(plan, step, i);
    cuda_step_bytes(plan, step, &walk, sizeof walk);
}
