/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions over attribute axes, which the core makes from input 1 (ONNX ReduceSum 13, ReduceMean,
 * Prod, L1, L2, SumSquare 18, ReduceMax, ReduceMin 20, ReduceLogSum, ReduceLogSumExp 28), and SumTo
 * (tfrun 1), which sums what broadcasting input 1 to the shape of the data would repeat.
 *
 * Floats run in double in row-major order and are rounded once. Integers are exact and wrap; the
 * mean of integers truncates. Max and Min give NaN if an element is NaN. No axes left means that
 * each element is reduced alone. Over an empty set: Sum, L1, L2, SumSquare 0; Prod 1; Mean NaN;
 * LogSum and LogSumExp -infinity; Max the least value of the type, Min the greatest (infinite for
 * floats).
 */
#include "naive.h"

#include <math.h>
#include <string.h>

typedef enum reduction {
    SUM,
    MEAN,
    MAX,
    MIN,
    PROD,
    L1,
    L2,
    LOG_SUM,
    LOG_SUM_EXP,
    SUM_SQUARE,
    N_REDUCTIONS
} reduction;

static const char *const names[] = {
    [SUM] = "ReduceSum",
    [MEAN] = "ReduceMean",
    [MAX] = "ReduceMax",
    [MIN] = "ReduceMin",
    [PROD] = "ReduceProd",
    [L1] = "ReduceL1",
    [L2] = "ReduceL2",
    [LOG_SUM] = "ReduceLogSum",
    [LOG_SUM_EXP] = "ReduceLogSumExp",
    [SUM_SQUARE] = "ReduceSumSquare",
};

/* Marks the axes to reduce, which the core has put into an attribute. */
static void find_axes(const naive_kernel *k, bool reduced[TFR_MAX_RANK])
{
    const tfr_operand *x = tfr_call_input(&k->call, 0);
    const tfr_attr *axes = tfr_call_attr(&k->call, "axes");
    int64_t n = axes ? (int64_t)axes->n : 0, i;

    for (i = 0; i < x->rank; i++)
        reduced[i] = false;
    for (i = 0; i < n; i++)
        if (axes->ints[i] >= 0 && axes->ints[i] < x->rank)
            reduced[axes->ints[i]] = true;
}

static double extreme(reduction kind, int32_t dtype, const void *px, naive_iter it)
{
    double result = kind == MAX ? -INFINITY : INFINITY;

    for (; it.left > 0; naive_iter_next(&it)) {
        double v = naive_get(dtype, px, it.at[0]);
        if (isnan(v))
            return v;
        if (kind == MAX ? v > result : v < result)
            result = v;
    }
    return result;
}

/* log(sum(exp(x))) = m + log(sum(exp(x - m))) with m = max(x), which cannot overflow. */
static double log_sum_exp(int32_t dtype, const void *px, naive_iter it)
{
    double m = extreme(MAX, dtype, px, it), sum = 0;

    if (isnan(m) || isinf(m))
        return m;
    for (; it.left > 0; naive_iter_next(&it))
        sum += exp(naive_get(dtype, px, it.at[0]) - m);
    return m + log(sum);
}

static double reduce_float(reduction kind, int32_t dtype, const void *px, naive_iter it)
{
    double result = kind == PROD ? 1 : 0;
    int64_t n = it.left;

    if (kind == MAX || kind == MIN)
        return extreme(kind, dtype, px, it);
    if (kind == LOG_SUM_EXP)
        return log_sum_exp(dtype, px, it);
    for (; it.left > 0; naive_iter_next(&it)) {
        double v = naive_get(dtype, px, it.at[0]);
        if (kind == PROD)
            result *= v;
        else
            result += kind == L1 ? fabs(v) : kind == L2 || kind == SUM_SQUARE ? v * v : v;
    }
    if (kind == MEAN)
        return result / (double)n;
    return kind == L2 ? sqrt(result) : kind == LOG_SUM ? log(result) : result;
}

static int64_t reduce_int(reduction kind, int32_t dtype, const void *px, naive_iter it)
{
    bool is_u64 = dtype == TFR_DTYPE_U64;
    int64_t n = it.left, result = kind == PROD  ? 1
                                  : kind == MAX ? naive_int_min(dtype)
                                  : kind == MIN ? naive_int_max(dtype)
                                                : 0;

    for (; it.left > 0; naive_iter_next(&it)) {
        int64_t v = naive_get_int(dtype, px, it.at[0]);
        bool greater = is_u64 ? (uint64_t)v > (uint64_t)result : v > result;
        if (kind == MAX || kind == MIN)
            result = v != result && greater == (kind == MAX) ? v : result;
        else if (kind == PROD)
            result = naive_wrap_mul(result, v);
        else if (kind == L2 || kind == SUM_SQUARE)
            result = naive_wrap_add(result, naive_wrap_mul(v, v));
        else
            result =
                naive_wrap_add(result, kind == L1 && v < 0 && !is_u64 ? naive_wrap_sub(0, v) : v);
    }
    if (kind == MEAN && n > 0)
        return is_u64 ? (int64_t)((uint64_t)result / (uint64_t)n) : result / n;
    return result;
}

static void reduce_lane(reduction kind, const tfr_operand *x, const void *px, const naive_iter *it,
                        void *py, int64_t o)
{
    /* L2 and the logarithms of integers leave the integers, so they run in double. */
    if (naive_is_float(x->dtype) || kind == LOG_SUM || kind == LOG_SUM_EXP)
        naive_set(x->dtype, py, o, reduce_float(kind, x->dtype, px, *it));
    else if (kind == L2)
        naive_set(x->dtype, py, o, sqrt((double)reduce_int(SUM_SQUARE, x->dtype, px, *it)));
    else
        naive_set_int(x->dtype, py, o, reduce_int(kind, x->dtype, px, *it));
}

static void reduce(const naive_kernel *k, const tfr_launch *launch, reduction kind)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0);
    const void *px = naive_in(k, launch, 0);
    void *py = naive_out(k, launch, 0);
    int64_t kept[TFR_MAX_RANK], lane[TFR_MAX_RANK], strides[TFR_MAX_RANK], o = 0;
    bool reduced[TFR_MAX_RANK];
    int32_t d;
    naive_iter outer, inner;

    find_axes(k, reduced);
    naive_strides(x, strides);
    for (d = 0; d < x->rank; d++) {
        kept[d] = reduced[d] ? 1 : x->dims[d];
        lane[d] = reduced[d] ? x->dims[d] : 1;
    }
    /* The output is plain, with or without the reduced dims as ones: o counts its elements. */
    naive_iter_init(&outer, x->rank, kept);
    naive_iter_add_strides(&outer, strides, 0);
    for (; outer.left > 0; naive_iter_next(&outer), o++) {
        naive_iter_init(&inner, x->rank, lane);
        naive_iter_add_strides(&inner, strides, outer.at[0]);
        reduce_lane(kind, x, px, &inner, py, o);
    }
}

static int32_t run_reduce(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    int kind = 0;

    (void)err;
    while (kind < N_REDUCTIONS - 1 && strcmp(names[kind], k->op->name) != 0)
        kind++;
    reduce(k, launch, (reduction)kind);
    return TFR_OK;
}

/* Most sums are over nothing, as most operands have the shape of the result: no copy then. */
static int32_t supports_sum_to(const tfr_call *call, tfr_answer *answer)
{
    const tfr_attr *axes = tfr_call_attr(call, "axes");

    if (axes && axes->n == 0) {
        answer->in_place[0].input = answer->in_place[0].output = 0;
        answer->n_in_place = 1;
    }
    return TFR_OK;
}

static int32_t run_sum_to(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    (void)err;
    if (naive_in(k, launch, 0) != naive_out(k, launch, 0))
        reduce(k, launch, SUM);
    return TFR_OK;
}

const naive_op naive_reduce_ops[] = {
    {"", "ReduceL1", 18, NULL, run_reduce, NULL, 0, NULL},
    {"", "ReduceL2", 18, NULL, run_reduce, NULL, 0, NULL},
    {"", "ReduceLogSum", 28, NULL, run_reduce, NULL, 0, NULL},
    {"", "ReduceLogSumExp", 28, NULL, run_reduce, NULL, 0, NULL},
    {"", "ReduceMax", 20, NULL, run_reduce, NULL, 0, NULL},
    {"", "ReduceMean", 18, NULL, run_reduce, NULL, 0, NULL},
    {"", "ReduceMin", 20, NULL, run_reduce, NULL, 0, NULL},
    {"", "ReduceProd", 18, NULL, run_reduce, NULL, 0, NULL},
    {"", "ReduceSum", 13, NULL, run_reduce, NULL, 0, NULL},
    {"", "ReduceSumSquare", 18, NULL, run_reduce, NULL, 0, NULL},
    {"tfrun", "SumTo", 1, supports_sum_to, run_sum_to, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
