/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unary elementwise ops: y[i] = f(x[i]), shapes equal. Source of every formula: the ONNX operator
 * of the same name at the version in the table. Floats are computed in double with libm and rounded
 * once to the type of y; NaN in gives NaN out unless the op's formula says otherwise. Integers are
 * exact and wrap (Abs and Neg of the smallest value give it back).
 */
#include "naive.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* a and b are the op's attributes, in the order of its table row. */
typedef double (*float_fn)(double x, double a, double b);
typedef int64_t (*int_fn)(int64_t x, bool is_unsigned);

/* Functions of libm whose ONNX op means just them. */
#define LIBM(name, expression)                                                                     \
    static double f_##name(double x, double a, double b)                                           \
    {                                                                                              \
        (void)a;                                                                                   \
        (void)b;                                                                                   \
        return expression;                                                                         \
    }

LIBM(abs, fabs(x))
LIBM(acos, acos(x))
LIBM(acosh, acosh(x))
LIBM(asin, asin(x))
LIBM(asinh, asinh(x))
LIBM(atan, atan(x))
LIBM(atanh, atanh(x))
LIBM(ceil, ceil(x))
LIBM(cos, cos(x))
LIBM(cosh, cosh(x))
LIBM(erf, erf(x))
LIBM(exp, exp(x))
LIBM(floor, floor(x))
LIBM(log, log(x))
LIBM(neg, -x)
LIBM(reciprocal, 1 / x)
LIBM(round, rint(x)) /* halves go to the even neighbour */
LIBM(sin, sin(x))
LIBM(sinh, sinh(x))
LIBM(sqrt, sqrt(x))
LIBM(tan, tan(x))
LIBM(tanh, tanh(x))
LIBM(isnan, isnan(x) ? 1 : 0)
LIBM(relu, x < 0 ? 0 : x)
LIBM(sign, x > 0 ? 1 : x < 0 ? -1 : x) /* keeps zero, its sign and NaN */
LIBM(softsign, x / (1 + fabs(x)))
/* log(exp(x) + 1), without overflow for large x */
LIBM(softplus, log1p(exp(-fabs(x))) + (x > 0 ? x : x != x ? x : 0))
/* x * tanh(softplus(x)), Misra 2019, arXiv:1908.08681 */
LIBM(mish, x *tanh(f_softplus(x, 0, 0)))

/* max(0, min(1, x)); NaN stays NaN */
static double clamp01(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* 1 / (1 + exp(-x)), without overflow on either side */
static double sigmoid(double x)
{
    double e = exp(-fabs(x));
    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

LIBM(sigmoid, sigmoid(x))
/* x * max(0, min(1, x / 6 + 0.5)) */
LIBM(hardswish, x *clamp01(x / 6 + 0.5))

/* x >= 0: x, else a * (exp(x) - 1) */
static double f_elu(double x, double a, double b)
{
    (void)b;
    return x < 0 ? a * expm1(x) : x;
}

/* max(0, x) + min(0, a * (exp(x / a) - 1)) */
static double f_celu(double x, double a, double b)
{
    double negative = a * expm1(x / a);

    (void)b;
    if (isnan(x) || isnan(a))
        return x + a;
    return (x > 0 ? x : 0) + (negative < 0 ? negative : 0);
}

/* Hendrycks and Gimpel 2016, arXiv:1606.08415: x * Phi(x); a = 1 takes its tanh approximation */
static double f_gelu(double x, double a, double b)
{
    (void)b;
    if (a != 0)
        return 0.5 * x * (1 + tanh(sqrt(2 / PI) * (x + 0.044715 * x * x * x)));
    return 0.5 * x * erfc(-x / sqrt(2)); /* Phi(x) without cancellation for x < 0 */
}

/* max(0, min(1, a * x + b)) */
static double f_hardsigmoid(double x, double a, double b)
{
    return clamp01(a * x + b);
}

/* a: count negative infinity, b: count positive infinity */
static double f_isinf(double x, double a, double b)
{
    return isinf(x) && (x < 0 ? a : b) != 0;
}

/* x >= 0: x, else a * x */
static double f_leakyrelu(double x, double a, double b)
{
    (void)b;
    return x < 0 ? a * x : x;
}

/* b * (x > 0: x, else a * (exp(x) - 1)), Klambauer et al. 2017, arXiv:1706.02515 */
static double f_selu(double x, double a, double b)
{
    return b * (x > 0 ? x : a * expm1(x));
}

/* x < -a: x + b; x > a: x - b; else 0, as the ONNX text has it, so NaN gives 0 */
static double f_shrink(double x, double a, double b)
{
    return x < -a ? x + b : x > a ? x - b : 0;
}

/* x * sigmoid(a * x) */
static double f_swish(double x, double a, double b)
{
    (void)b;
    return x * sigmoid(a * x);
}

/* x > a: x, else 0, as the ONNX text has it, so NaN gives 0 */
static double f_thresholdedrelu(double x, double a, double b)
{
    (void)b;
    return x > a ? x : 0;
}

static int64_t i_abs(int64_t x, bool is_unsigned)
{
    return is_unsigned || x >= 0 ? x : naive_wrap_sub(0, x);
}

static int64_t i_neg(int64_t x, bool is_unsigned)
{
    (void)is_unsigned;
    return naive_wrap_sub(0, x);
}

static int64_t i_sign(int64_t x, bool is_unsigned)
{
    return x == 0 ? 0 : is_unsigned || x > 0 ? 1 : -1;
}

static int64_t i_relu(int64_t x, bool is_unsigned)
{
    return is_unsigned || x > 0 ? x : 0;
}

static int64_t i_not(int64_t x, bool is_unsigned)
{
    (void)is_unsigned;
    return x == 0;
}

static int64_t i_bitwise_not(int64_t x, bool is_unsigned)
{
    (void)is_unsigned;
    return ~x;
}

typedef struct unary {
    const char *name;
    float_fn f;
    int_fn g; /* for integers and bool; NULL = through double */
    const char *a_name, *b_name;
    double a, b; /* what they are when absent */
} unary;

static const unary unaries[] = {
    {"Abs", f_abs, i_abs, NULL, NULL, 0, 0},
    {"Acos", f_acos, NULL, NULL, NULL, 0, 0},
    {"Acosh", f_acosh, NULL, NULL, NULL, 0, 0},
    {"Asin", f_asin, NULL, NULL, NULL, 0, 0},
    {"Asinh", f_asinh, NULL, NULL, NULL, 0, 0},
    {"Atan", f_atan, NULL, NULL, NULL, 0, 0},
    {"Atanh", f_atanh, NULL, NULL, NULL, 0, 0},
    {"BitwiseNot", NULL, i_bitwise_not, NULL, NULL, 0, 0},
    {"Ceil", f_ceil, NULL, NULL, NULL, 0, 0},
    {"Celu", f_celu, NULL, "alpha", NULL, 1, 0},
    {"Cos", f_cos, NULL, NULL, NULL, 0, 0},
    {"Cosh", f_cosh, NULL, NULL, NULL, 0, 0},
    {"Elu", f_elu, NULL, "alpha", NULL, 1, 0},
    {"Erf", f_erf, NULL, NULL, NULL, 0, 0},
    {"Exp", f_exp, NULL, NULL, NULL, 0, 0},
    {"Floor", f_floor, NULL, NULL, NULL, 0, 0},
    {"Gelu", f_gelu, NULL, "approximate", NULL, 0, 0},
    {"HardSigmoid", f_hardsigmoid, NULL, "alpha", "beta", 0.2f, 0.5},
    {"HardSwish", f_hardswish, NULL, NULL, NULL, 0, 0},
    {"IsInf", f_isinf, NULL, "detect_negative", "detect_positive", 1, 1},
    {"IsNaN", f_isnan, NULL, NULL, NULL, 0, 0},
    {"LeakyRelu", f_leakyrelu, NULL, "alpha", NULL, 0.01f, 0},
    {"Log", f_log, NULL, NULL, NULL, 0, 0},
    {"Mish", f_mish, NULL, NULL, NULL, 0, 0},
    {"Neg", f_neg, i_neg, NULL, NULL, 0, 0},
    {"Not", NULL, i_not, NULL, NULL, 0, 0},
    {"Reciprocal", f_reciprocal, NULL, NULL, NULL, 0, 0},
    {"Relu", f_relu, i_relu, NULL, NULL, 0, 0},
    {"Round", f_round, NULL, NULL, NULL, 0, 0},
    {"Selu", f_selu, NULL, "alpha", "gamma", 1.67326319217681884765625f,
     1.05070102214813232421875f},
    {"Shrink", f_shrink, NULL, "lambd", "bias", 0.5, 0},
    {"Sigmoid", f_sigmoid, NULL, NULL, NULL, 0, 0},
    {"Sign", f_sign, i_sign, NULL, NULL, 0, 0},
    {"Sin", f_sin, NULL, NULL, NULL, 0, 0},
    {"Sinh", f_sinh, NULL, NULL, NULL, 0, 0},
    {"Softplus", f_softplus, NULL, NULL, NULL, 0, 0},
    {"Softsign", f_softsign, NULL, NULL, NULL, 0, 0},
    {"Sqrt", f_sqrt, NULL, NULL, NULL, 0, 0},
    {"Swish", f_swish, NULL, "alpha", NULL, 1, 0},
    {"Tan", f_tan, NULL, NULL, NULL, 0, 0},
    {"Tanh", f_tanh, NULL, NULL, NULL, 0, 0},
    {"ThresholdedRelu", f_thresholdedrelu, NULL, "alpha", NULL, 1, 0},
};

/* An attribute as a number: a float, an int, or for Gelu's string whether it is "tanh". */
static double attr_number(const tfr_call *call, const char *name, double absent)
{
    const char *text = name ? tfr_call_string(call, name, NULL) : NULL;

    if (!name)
        return absent;
    if (text)
        return strcmp(text, "tanh") == 0;
    return tfr_call_float(call, name, (float)tfr_call_int(call, name, (int64_t)absent));
}

static const unary *find_unary(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof(unaries) / sizeof(unaries[0]); i++)
        if (strcmp(unaries[i].name, name) == 0)
            return &unaries[i];
    return NULL;
}

static int32_t run_unary(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *y = tfr_call_output(&k->call, 0);
    const void *px = naive_in(k, launch, 0);
    void *py = naive_out(k, launch, 0);
    const unary *op = find_unary(k->op->name);
    bool exact = op->g && !naive_is_float(x->dtype), is_unsigned = naive_is_unsigned(x->dtype);
    double a = attr_number(&k->call, op->a_name, op->a);
    double b = attr_number(&k->call, op->b_name, op->b);
    naive_iter it;

    if (!exact && !op->f)
        return tfr_fail(err, TFR_EDTYPE, "%s has no meaning for element type %d", op->name,
                        x->dtype);
    naive_iter_init(&it, y->rank, y->dims);
    naive_iter_add(&it, x);
    naive_iter_add(&it, y);
    for (; it.left > 0; naive_iter_next(&it)) {
        if (exact)
            naive_set_int(y->dtype, py, it.at[1],
                          op->g(naive_get_int(x->dtype, px, it.at[0]), is_unsigned));
        else
            naive_set(y->dtype, py, it.at[1], op->f(naive_get(x->dtype, px, it.at[0]), a, b));
    }
    return TFR_OK;
}

#define ROW(name, version)                                                                         \
    {                                                                                              \
        "", name, version, NULL, run_unary, NULL, NAIVE_STRIDED, NULL                              \
    }

const naive_op naive_unary_ops[] = {
    ROW("Abs", 13),
    ROW("Acos", 22),
    ROW("Acosh", 22),
    ROW("Asin", 22),
    ROW("Asinh", 22),
    ROW("Atan", 22),
    ROW("Atanh", 22),
    ROW("BitwiseNot", 18),
    ROW("Ceil", 13),
    ROW("Celu", 28),
    ROW("Cos", 22),
    ROW("Cosh", 22),
    ROW("Elu", 22),
    ROW("Erf", 13),
    ROW("Exp", 13),
    ROW("Floor", 13),
    ROW("Gelu", 20),
    ROW("HardSigmoid", 22),
    ROW("HardSwish", 22),
    ROW("IsInf", 20),
    ROW("IsNaN", 20),
    ROW("LeakyRelu", 16),
    ROW("Log", 13),
    ROW("Mish", 22),
    ROW("Neg", 13),
    ROW("Not", 1),
    ROW("Reciprocal", 13),
    ROW("Relu", 14),
    ROW("Round", 22),
    ROW("Selu", 22),
    ROW("Shrink", 9),
    ROW("Sigmoid", 13),
    ROW("Sign", 13),
    ROW("Sin", 22),
    ROW("Sinh", 22),
    ROW("Softplus", 22),
    ROW("Softsign", 22),
    ROW("Sqrt", 13),
    ROW("Swish", 24),
    ROW("Tan", 22),
    ROW("Tanh", 13),
    ROW("ThresholdedRelu", 22),
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
