/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary elementwise ops with numpy broadcasting: z = f(a, b). Source: the ONNX operator of the
 * same name at the version in the table. Floats are computed in double and rounded once to the type
 * of z; NaN is passed on, and compares unequal with everything. Integers are exact:
 * - Add, Sub, Mul wrap; Div truncates, and wraps for smallest / -1; Div and Mod by zero give 0;
 * - Pow with a negative integer exponent truncates the quotient (0 but for bases 1 and -1);
 * - shifts by at least the width, or by a negative amount, leave the sign extension only.
 */
#include "naive.h"

#include <math.h>
#include <string.h>

/* mode is the op's attribute: fmod of Mod, 1 for BitShift to the left. */
typedef double (*float_fn)(double a, double b, int mode);
typedef int64_t (*int_fn)(int64_t a, int64_t b, int32_t dtype, int mode);

#define FLOAT_OP(name, expression)                                                                 \
    static double f_##name(double a, double b, int mode)                                           \
    {                                                                                              \
        (void)mode;                                                                                \
        return expression;                                                                         \
    }
#define INT_OP(name, expression)                                                                   \
    static int64_t i_##name(int64_t a, int64_t b, int32_t dtype, int mode)                         \
    {                                                                                              \
        (void)dtype;                                                                               \
        (void)mode;                                                                                \
        return expression;                                                                         \
    }

FLOAT_OP(add, a + b)
FLOAT_OP(sub, a - b)
FLOAT_OP(mul, a *b)
FLOAT_OP(div, a / b)
FLOAT_OP(pow, pow(a, b))
FLOAT_OP(equal, a == b)
FLOAT_OP(greater, a > b)
FLOAT_OP(greater_equal, a >= b)
FLOAT_OP(less, a < b)
FLOAT_OP(less_equal, a <= b)
FLOAT_OP(prelu, a < 0 ? a * b : a)

/* Negative, zero or positive as a is less than, equal to or greater than b. */
static int compare(int64_t a, int64_t b, int32_t dtype)
{
    if (dtype == TFR_DTYPE_U64)
        return ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b);
    return (a > b) - (a < b);
}

INT_OP(add, naive_wrap_add(a, b))
INT_OP(sub, naive_wrap_sub(a, b))
INT_OP(mul, naive_wrap_mul(a, b))
INT_OP(equal, a == b)
INT_OP(greater, compare(a, b, dtype) > 0)
INT_OP(greater_equal, compare(a, b, dtype) >= 0)
INT_OP(less, compare(a, b, dtype) < 0)
INT_OP(less_equal, compare(a, b, dtype) <= 0)
INT_OP(and, a &b)
INT_OP(or, a | b)
INT_OP(xor, a ^ b)
INT_OP(prelu, compare(a, 0, dtype) < 0 ? naive_wrap_mul(a, b) : a)

static int64_t i_div(int64_t a, int64_t b, int32_t dtype, int mode)
{
    (void)mode;
    if (b == 0)
        return 0;
    if (dtype == TFR_DTYPE_U64)
        return (int64_t)((uint64_t)a / (uint64_t)b);
    return b == -1 ? naive_wrap_sub(0, a) : a / b;
}

/* a - trunc(a / b) * b with mode (fmod), else a - floor(a / b) * b, which has the sign of b. */
static int64_t i_mod(int64_t a, int64_t b, int32_t dtype, int mode)
{
    int64_t r;

    if (b == 0)
        return 0;
    if (dtype == TFR_DTYPE_U64)
        return (int64_t)((uint64_t)a % (uint64_t)b);
    r = b == -1 ? 0 : a % b;
    return !mode && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* fmod is exact. The floor variant keeps the sign of b on zero, as the ONNX text asks. */
static double f_mod(double a, double b, int mode)
{
    double r = fmod(a, b);

    if (mode)
        return r;
    if (r == 0)
        return copysign(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

/* Square and multiply, modulo 2^64: the low bits are right for every narrower type. */
static int64_t i_pow(int64_t a, int64_t b, int32_t dtype, int mode)
{
    uint64_t base = (uint64_t)a, power = 1, n = (uint64_t)b;

    (void)mode;
    if (b < 0 && dtype != TFR_DTYPE_U64)
        return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    for (; n; n >>= 1, base *= base)
        if (n & 1)
            power *= base;
    return (int64_t)power;
}

static int64_t i_shift(int64_t a, int64_t b, int32_t dtype, int left)
{
    bool is_unsigned = naive_is_unsigned(dtype), negative = !is_unsigned && a < 0;

    if ((uint64_t)b >= tfr_dtype_bits(dtype))
        return negative && !left ? -1 : 0;
    if (left)
        return (int64_t)((uint64_t)a << b);
    /* ~ turns the arithmetic shift of a negative number into one of a positive number. */
    return negative ? (int64_t) ~((uint64_t)~a >> b) : (int64_t)((uint64_t)a >> b);
}

typedef struct binary {
    const char *name;
    float_fn f;
    int_fn g;
} binary;

static const binary binaries[] = {
    {"Add", f_add, i_add},
    {"And", NULL, i_and},
    {"BitShift", NULL, i_shift},
    {"BitwiseAnd", NULL, i_and},
    {"BitwiseOr", NULL, i_or},
    {"BitwiseXor", NULL, i_xor},
    {"Div", f_div, i_div},
    {"Equal", f_equal, i_equal},
    {"Greater", f_greater, i_greater},
    {"GreaterOrEqual", f_greater_equal, i_greater_equal},
    {"Less", f_less, i_less},
    {"LessOrEqual", f_less_equal, i_less_equal},
    {"Mod", f_mod, i_mod},
    {"Mul", f_mul, i_mul},
    {"Or", NULL, i_or},
    {"PRelu", f_prelu, i_prelu},
    {"Pow", f_pow, i_pow},
    {"Sub", f_sub, i_sub},
    {"Xor", NULL, i_xor},
};

static const binary *find_binary(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof(binaries) / sizeof(binaries[0]); i++)
        if (strcmp(binaries[i].name, name) == 0)
            return &binaries[i];
    return NULL;
}

static bool strings_equal(const tfr_string *a, const tfr_string *b)
{
    return a->bytes == b->bytes &&
           (a->bytes == 0 || memcmp(a->data, b->data, (size_t)a->bytes) == 0);
}

static int32_t run_binary(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *a = tfr_call_input(&k->call, 0), *b = tfr_call_input(&k->call, 1);
    const tfr_operand *z = tfr_call_output(&k->call, 0);
    const void *pa = naive_in(k, launch, 0), *pb = naive_in(k, launch, 1);
    void *pz = naive_out(k, launch, 0);
    const binary *op = find_binary(k->op->name);
    /* Only Pow's operands may differ in type; an integer to a float power goes through double. */
    bool exact = !naive_is_float(a->dtype) && !naive_is_float(b->dtype);
    bool left = strcmp(tfr_call_string(&k->call, "direction", ""), "LEFT") == 0;
    int mode = left || tfr_call_int(&k->call, "fmod", 0) != 0;
    naive_iter it;

    if (!exact && !op->f)
        return tfr_fail(err, TFR_EDTYPE, "%s has no meaning for element type %d", op->name,
                        a->dtype);
    naive_iter_init(&it, z->rank, z->dims);
    naive_iter_add(&it, a);
    naive_iter_add(&it, b);
    naive_iter_add(&it, z);
    for (; it.left > 0; naive_iter_next(&it)) {
        int64_t i = it.at[0], j = it.at[1], o = it.at[2];
        if (a->dtype == TFR_DTYPE_STRING)
            naive_set_int(z->dtype, pz, o,
                          strings_equal((const tfr_string *)pa + i, (const tfr_string *)pb + j));
        else if (exact)
            naive_set_int(z->dtype, pz, o,
                          op->g(naive_get_int(a->dtype, pa, i), naive_get_int(b->dtype, pb, j),
                                op->g == i_pow ? b->dtype : a->dtype, mode));
        else
            naive_set(z->dtype, pz, o,
                      op->f(naive_get(a->dtype, pa, i), naive_get(b->dtype, pb, j), mode));
    }
    return TFR_OK;
}

#define ROW(name, version)                                                                         \
    {                                                                                              \
        "", name, version, NULL, run_binary, NULL, NAIVE_STRIDED, NULL                             \
    }

const naive_op naive_binary_ops[] = {
    ROW("Add", 14),       ROW("And", 7),
    ROW("BitShift", 28),  ROW("BitwiseAnd", 18),
    ROW("BitwiseOr", 18), ROW("BitwiseXor", 18),
    ROW("Div", 14),       ROW("Equal", 19),
    ROW("Greater", 13),   ROW("GreaterOrEqual", 16),
    ROW("Less", 13),      ROW("LessOrEqual", 16),
    ROW("Mod", 28),       ROW("Mul", 14),
    ROW("Or", 7),         ROW("PRelu", 16),
    ROW("Pow", 15),       ROW("Sub", 14),
    ROW("Xor", 7),        {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
