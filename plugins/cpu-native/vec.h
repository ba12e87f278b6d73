/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec.h: functions of a vector of floats, written once for every length. A file includes one of
 * vec_avx512.h, vec_avx2.h and vec_portable.h, which define
 *
 *   vec                     LANES floats
 *   V_ZERO() V_ALL(x)       the same number in each
 *   V_LOAD(p) V_STORE(p, v) at any address; V_LOAD_F16(p), V_LOAD_BF16(p) of such
 *   V_FMA(x, y, z)          x y + z; V_FNMA z - x y; V_ADD, V_SUB, V_MUL, V_DIV
 *   V_MAX(x, y) V_MIN       a NaN in the second operand stays
 *   V_ABS(x) V_ROUND(x)     V_SIGN(x, y) is x with the sign of y
 *   V_LESS(x, y, a, b)      x < y ? a : b
 *   V_NAN_OF(a, b, x)       x, but NaN where a or b is
 *   V_SCALE(x, n)           x 2^n for whole n; V_SCALE_NORMAL is cheaper, for n from -126 on,
 *                           and may be infinite from 128 on
 *   V_POWER_OF_SHIFTED(x)   2^n of x = n + 1.5 * 2^23, n from -126 to 127
 *   V_ROOTS(to, p)          the roots of LANES / 2 numbers of float64
 *   V_PARTS(x, n)           the m of x = m 2^*n, for positive normal x: from a root of 1/2 up to
 *                           one of 2
 *
 * and roots, sums and parts of vectors. So the same activation has the
 * same bits whatever it follows.
 */
#ifndef NATIVE_VEC_H
#define NATIVE_VEC_H

#include <math.h>

/*
 * exp(x) = p 2^n: x = n ln 2 + r, and p for e^r is 1 + r + r^2 q(r), whose q was fitted here to the
 * smallest greatest relative error, 3e-9: all of it is within 1 ulp.
 */
static inline vec v_exp_near(vec x, vec n)
{
    vec r, p;

    r = V_FNMA(n, V_ALL(0.693145752f), x);
    r = V_FNMA(n, V_ALL(1.42860677e-6f), r);
    p = V_FMA(r, V_ALL(0.00138143203f), V_ALL(0.00836885109f));
    p = V_FMA(p, r, V_ALL(0.0416684011f));
    p = V_FMA(p, r, V_ALL(0.166665195f));
    p = V_FMA(p, r, V_ALL(0.499999934f));
    p = V_FMA(p, r, V_ALL(1.0f));
    return V_FMA(p, r, V_ALL(1.0f));
}

static inline vec v_exp_parts(vec x, vec *n)
{
    *n = V_ROUND(V_MUL(x, V_ALL(1.44269504f)));
    return v_exp_near(x, *n);
}

static inline vec v_exp(vec x)
{
    vec n, p = v_exp_parts(V_MAX(V_ALL(-105.0f), V_MIN(V_ALL(89.0f), x)), &n);
    return V_SCALE(p, n);
}

/*
 * The same where it is a normal number, for a third fewer instructions: the least of them below,
 * and infinity from 88.376 on, which is 2^127.5.
 */
static inline vec v_exp_normal(vec x)
{
    vec n, p = v_exp_parts(V_MAX(V_ALL(-87.3365f), V_MIN(V_ALL(89.0f), x)), &n);
    return V_SCALE_NORMAL(p, n);
}

/* The same, but 0 where it would be no normal number. */
static inline vec v_exp_or_0(vec x)
{
    const vec least = V_ALL(-87.3365f);
    return V_LESS(x, least, V_ZERO(), v_exp_normal(x));
}

/*
 * Of x up to 0: 0 where it would be no normal number, which processors take a hundred times longer
 * for: a mask makes a row of softmax full of them. Adding 1.5 * 2^23 rounds to whole numbers, whose
 * lowest bits are those of the sum.
 */
static inline vec v_exp_below_0(vec x)
{
    const vec magic = V_ALL(0x1.8p23f), least = V_ALL(-87.3365f);
    const vec shifted = V_FMA(x, V_ALL(1.44269504f), magic);
    const vec p = v_exp_near(x, V_SUB(shifted, magic));
    return V_LESS(x, least, V_ZERO(), V_MUL(p, V_POWER_OF_SHIFTED(shifted)));
}

/* 0 where it would be no normal number. */
static inline vec v_sigmoid(vec x)
{
    return V_DIV(V_ALL(1.0f), V_ADD(V_ALL(1.0f), v_exp_normal(V_SUB(V_ZERO(), x))));
}

/*
 * tanh(x) = e / (e + 1) with e = (exp(2 x) - 1) / 2, which is 2^n p + (2^n - 1) / 2 for
 * 2 x = n ln 2 + 2 r, so that nothing is lost near 0, where n is 0. p is r + r^2 q(r), fitted in
 * relative error, 1.4e-8. Within 2.5 ulp everywhere.
 */
static inline vec v_tanh(vec x)
{
    const vec a = V_MIN(V_ALL(10.0f), V_ABS(x)), one = V_ALL(1.0f);
    const vec magic = V_ALL(0x1.8p23f), shifted = V_FMA(a, V_ALL(2.88539008f), magic);
    const vec n = V_SUB(shifted, magic);
    vec r = V_FNMA(n, V_ALL(0.346572876f), a), p, e;

    r = V_FNMA(n, V_ALL(7.14303385e-7f), r);
    p = V_FMA(r, V_ALL(0.04442399f), V_ALL(0.133866349f));
    p = V_FMA(p, r, V_ALL(0.333337631f));
    p = V_FMA(p, r, V_ALL(0.666661707f));
    p = V_FMA(p, r, one);
    p = V_FMA(V_MUL(r, r), p, r);
    e = V_POWER_OF_SHIFTED(shifted);
    e = V_FMA(e, p, V_FMA(e, V_ALL(0.5f), V_ALL(-0.5f)));
    return V_SIGN(V_DIV(e, V_ADD(e, one)), x);
}

/*
 * erf(x): below 0.92 x + x p(x^2), above 1 - exp(x q(x)), which is 1 from 4 on. Both polynomials
 * were fitted here to the smallest greatest error: 5e-10 relative, 2e-10 absolute.
 */
static inline vec v_erf(vec x)
{
    vec a = V_MIN(V_ALL(4.0f), V_ABS(x)), s = V_MUL(x, x), p, q;

    p = V_FMA(s, V_ALL(8.3452236e-05f), V_ALL(-0.00081374374f));
    p = V_FMA(p, s, V_ALL(0.0052006342f));
    p = V_FMA(p, s, V_ALL(-0.02685927f));
    p = V_FMA(p, s, V_ALL(0.11283694f));
    p = V_FMA(p, s, V_ALL(-0.37612635f));
    p = V_FMA(p, s, V_ALL(0.12837917f));
    p = V_FMA(p, x, x);
    q = V_FMA(a, V_ALL(-4.8064617e-06f), V_ALL(4.3999793e-05f));
    q = V_FMA(q, a, V_ALL(5.7513946e-05f));
    q = V_FMA(q, a, V_ALL(-0.0029516742f));
    q = V_FMA(q, a, V_ALL(0.022708302f));
    q = V_FMA(q, a, V_ALL(-0.10529445f));
    q = V_FMA(q, a, V_ALL(-0.63560927f));
    q = V_FMA(q, a, V_ALL(-1.1285552f));
    q = V_SIGN(V_SUB(V_ALL(1.0f), v_exp_below_0(V_MUL(q, a))), x);
    return V_LESS(a, V_ALL(0.92f), p, q);
}

/*
 * x Phi(x): of a = |x| the smaller side, Phi(-a) = 2^(a q(a) - 1), has the same relative error far
 * out as near 0, and the other one is 1 less it. q was fitted here to the smallest greatest error
 * of a Phi(-a), 9e-9 up to 5.6, behind which it is 0; the power of 2 is within 2e-9 of itself.
 */
static inline vec v_gelu(vec x)
{
    const vec a = V_MIN(V_ALL(5.6f), V_ABS(x));
    vec q, n, r, p;

    q = V_FMA(a, V_ALL(-1.90206507e-06f), V_ALL(2.80569335e-05f));
    q = V_FMA(q, a, V_ALL(-0.000131473186f));
    q = V_FMA(q, a, V_ALL(-0.000272075832f));
    q = V_FMA(q, a, V_ALL(0.00724542138f));
    q = V_FMA(q, a, V_ALL(-0.0526276109f));
    q = V_FMA(q, a, V_ALL(-0.459162143f));
    q = V_FMA(q, a, V_ALL(-1.15111105f));
    q = V_FMA(q, a, V_ALL(-1.0f));
    n = V_ROUND(q);
    r = V_SUB(q, n);
    p = V_FMA(r, V_ALL(0.000153533618f), V_ALL(0.00133988744f));
    p = V_FMA(p, r, V_ALL(0.00961843736f));
    p = V_FMA(p, r, V_ALL(0.0555033247f));
    p = V_FMA(p, r, V_ALL(0.240226479f));
    p = V_FMA(p, r, V_ALL(0.693147203f));
    p = V_FMA(p, r, V_ALL(1.0f));
    p = V_LESS(a, V_ALL(5.6f), V_SCALE_NORMAL(p, n), V_ZERO());
    return V_MUL(x, V_LESS(x, V_ZERO(), p, V_SUB(V_ALL(1.0f), p)));
}

/* The form with tanh: (1 + tanh u) / 2 = sigmoid(2 u). */
static inline vec v_gelu_tanh(vec x)
{
    const vec u = V_MUL(x, V_FMA(V_MUL(x, x), V_ALL(0.0713548163f), V_ALL(1.59576912f)));
    return V_MUL(x, v_sigmoid(u));
}

/* exp(x) - 1: near 0 the series to x^8, which is within 1 ulp below 0.5. */
static inline vec v_expm1(vec x)
{
    vec p = V_FMA(x, V_ALL(1.0f / 40320.0f), V_ALL(1.0f / 5040.0f));

    p = V_FMA(p, x, V_ALL(1.0f / 720.0f));
    p = V_FMA(p, x, V_ALL(1.0f / 120.0f));
    p = V_FMA(p, x, V_ALL(1.0f / 24.0f));
    p = V_FMA(p, x, V_ALL(1.0f / 6.0f));
    p = V_FMA(p, x, V_ALL(0.5f));
    p = V_FMA(V_MUL(p, x), x, x);
    return V_LESS(V_ABS(x), V_ALL(0.5f), p, V_SUB(v_exp(x), V_ALL(1.0f)));
}

/*
 * log(1 + exp(x)) = max(0, x) + log(1 + t), t = exp(-|x|): with s = t / (2 + t) <= 1/3 the last is
 * 2 (s + s^3 / 3 + s^5 / 5 + ...), here to s^15, which is within 1 ulp.
 */
static inline vec v_softplus(vec x)
{
    const vec t = v_exp(V_SUB(V_ZERO(), V_ABS(x)));
    const vec s = V_DIV(t, V_ADD(V_ALL(2.0f), t)), q = V_MUL(s, s);
    vec p = V_FMA(q, V_ALL(2.0f / 15.0f), V_ALL(2.0f / 13.0f));

    p = V_FMA(p, q, V_ALL(2.0f / 11.0f));
    p = V_FMA(p, q, V_ALL(2.0f / 9.0f));
    p = V_FMA(p, q, V_ALL(2.0f / 7.0f));
    p = V_FMA(p, q, V_ALL(2.0f / 5.0f));
    p = V_FMA(p, q, V_ALL(2.0f / 3.0f));
    p = V_FMA(p, q, V_ALL(2.0f));
    return V_FMA(p, s, V_MAX(V_ZERO(), x));
}

/* x tanh(log(1 + e)), e = exp(x): the tanh is n / (n + 2) with n = e (e + 2); 1 from 20 on. */
static inline vec v_mish(vec x)
{
    const vec e = v_exp(V_MIN(V_ALL(20.0f), x));
    const vec n = V_MUL(e, V_ADD(e, V_ALL(2.0f)));
    return V_MUL(x, V_DIV(n, V_ADD(n, V_ALL(2.0f))));
}

/*
 * log(m 2^n) = n ln 2 + log(1 + f), f = m - 1: f - f^2 / 2 + f^3 p(f), whose p was fitted in S. L.
 * Moshier's Cephes library. Numbers below the normal ones are scaled first.
 */
static inline vec v_log(vec x)
{
    const vec least = V_ALL(0x1p-126f);
    vec n, f, q, p;

    f = V_PARTS(V_LESS(x, least, V_MUL(x, V_ALL(0x1p24f)), x), &n);
    n = V_SUB(n, V_LESS(x, least, V_ALL(24.0f), V_ZERO()));
    f = V_SUB(f, V_ALL(1.0f));
    q = V_MUL(f, f);
    p = V_FMA(f, V_ALL(7.0376836292e-2f), V_ALL(-1.1514610310e-1f));
    p = V_FMA(p, f, V_ALL(1.1676998740e-1f));
    p = V_FMA(p, f, V_ALL(-1.2420140846e-1f));
    p = V_FMA(p, f, V_ALL(1.4249322787e-1f));
    p = V_FMA(p, f, V_ALL(-1.6668057665e-1f));
    p = V_FMA(p, f, V_ALL(2.0000714765e-1f));
    p = V_FMA(p, f, V_ALL(-2.4999993993e-1f));
    p = V_FMA(p, f, V_ALL(3.3333331174e-1f));
    p = V_FMA(V_MUL(p, f), q, V_MUL(n, V_ALL(-2.12194440e-4f)));
    p = V_ADD(f, V_FNMA(q, V_ALL(0.5f), p));
    p = V_FMA(n, V_ALL(0.693359375f), p);
    p = V_LESS(V_ZERO(), x, p, V_LESS(x, V_ZERO(), V_ALL(NAN), V_ALL(-INFINITY)));
    return V_LESS(x, V_ALL(INFINITY), p, x);
}

/*
 * asin(|x|) up to 1/2, or that of a root of (1 - |x|) / 2, which is a half of what is missing to a
 * quarter of a turn; the polynomial is of Cephes, too.
 */
static inline vec v_asin_near(vec x, vec *far)
{
    const vec a = V_ABS(x), half = V_ALL(0.5f), z = V_MUL(V_SUB(V_ALL(1.0f), a), half);
    const vec q = V_LESS(half, a, z, V_MUL(a, a));
    const vec s = V_LESS(half, a, V_SQRT(z), a);
    vec p;

    p = V_FMA(q, V_ALL(4.2163199048e-2f), V_ALL(2.4181311049e-2f));
    p = V_FMA(p, q, V_ALL(4.5470025998e-2f));
    p = V_FMA(p, q, V_ALL(7.4953002686e-2f));
    p = V_FMA(p, q, V_ALL(1.6666752422e-1f));
    *far = a;
    return V_FMA(V_MUL(p, q), s, s);
}

#define QUARTER_TURN      1.57079637f /* and what it is too much */
#define QUARTER_TURN_LESS 4.37113883e-8f

static inline vec v_asin(vec x)
{
    vec a, p = v_asin_near(x, &a), far;

    far = V_SUB(V_ALL(QUARTER_TURN), V_FMA(p, V_ALL(2.0f), V_ALL(QUARTER_TURN_LESS)));
    return V_SIGN(V_LESS(V_ALL(0.5f), a, far, p), x);
}

static inline vec v_acos(vec x)
{
    vec a, p = v_asin_near(x, &a);
    const vec twice = V_ADD(p, p), less = V_ALL(QUARTER_TURN_LESS);
    const vec far = V_SUB(V_ALL(2.0f * QUARTER_TURN), V_FMA(less, V_ALL(2.0f), twice));

    return V_LESS(V_ALL(0.5f), a, V_LESS(x, V_ZERO(), far, twice),
                  V_SUB(V_ALL(QUARTER_TURN), V_ADD(V_SIGN(p, x), less)));
}

/*
 * Of the smaller of |x| and 1 / |x|, and what that is of a quarter of a turn: v + v^3 p(v^2), whose
 * p was fitted here to the smallest greatest relative error, 2e-8.
 */
static inline vec v_atan(vec x)
{
    const vec a = V_ABS(x), one = V_ALL(1.0f), v = V_DIV(V_MIN(one, a), V_MAX(one, a));
    const vec q = V_MUL(v, v);
    vec p = V_FMA(q, V_ALL(0.0029206886f), V_ALL(-0.0163679142f)), far;

    p = V_FMA(p, q, V_ALL(0.0432118364f));
    p = V_FMA(p, q, V_ALL(-0.0755221248f));
    p = V_FMA(p, q, V_ALL(0.106660038f));
    p = V_FMA(p, q, V_ALL(-0.142110556f));
    p = V_FMA(p, q, V_ALL(0.199937731f));
    p = V_FMA(p, q, V_ALL(-0.333331525f));
    p = V_FMA(V_MUL(p, q), v, v);
    far = V_SUB(V_ALL(QUARTER_TURN), V_ADD(p, V_ALL(QUARTER_TURN_LESS)));
    return V_SIGN(V_LESS(one, a, far, p), x);
}

/* The greatest, of which a NaN is: V_MAX keeps that of its second operand alone. */
static inline vec v_greater(vec v, vec p)
{
    return V_NAN_OF(p, p, V_MAX(p, v));
}

static inline vec v_greater_of_two(vec v, vec p, vec q)
{
    return V_NAN_OF(p, q, V_MAX(p, V_MAX(q, v)));
}

static inline vec v_clip(vec x, float low, float high)
{
    return V_MIN(V_ALL(high), V_MAX(V_ALL(low), x));
}

#endif
