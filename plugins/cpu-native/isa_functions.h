/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_functions.h: functions of one number in double for isa_elementwise.h, which rounds them once
 * to float32, and at last those of float64. They have no branches, so that compilers turn loops
 * over them into vectors: choices are between two numbers that are both computed. Series are cut
 * where the next term is below 1e-12 of the sum (Abramowitz and Stegun, Handbook of Mathematical
 * Functions, 4.2, 4.4 to 4.6).
 */

/* By bits: what is computed for one side of ?: alone compilers may put behind a jump. */
static inline double either(bool first, double a, double b)
{
    const uint64_t mask = (uint64_t)0 - first;
    uint64_t x, y;

    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x = (x & mask) | (y & ~mask);
    memcpy(&a, &x, sizeof a);
    return a;
}

/* log(1 + y), as 2 (f + f^3 / 3 + ...) of f = y / (2 + y) where y is small */
static inline double logarithm_from_1(double y)
{
    const double far = logarithm(1.0 + y), f = y / (2.0 + y), q = f * f;
    double p = 2.0 / 15.0;

    p = p * q + 2.0 / 13.0;
    p = p * q + 2.0 / 11.0;
    p = p * q + 2.0 / 9.0;
    p = p * q + 2.0 / 7.0;
    p = p * q + 2.0 / 5.0;
    p = p * q + 2.0 / 3.0;
    p = 2.0 * f + f * q * p;
    return either(fabs(y) < 0.375, p, far);
}

/*
 * e^x, x = n ln 2 + r: the series to r^9, within 1e-11 of it, or if exact to r^13. x is at most
 * 700; below -700 the result is e^-700.
 */
static inline double exponential(double x, bool exact)
{
    const double in = either(x < -700.0, -700.0, x);
    const double shifted = in * 1.44269504088896340736 + 0x1.8p52, n = shifted - 0x1.8p52;
    const double r = in - n * 0.693147180369123816490 - n * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800.0;
    uint64_t power, bits;

    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = (exact ? p * r : 0.0) + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    memcpy(&power, &shifted, sizeof power);
    memcpy(&bits, &p, sizeof bits);
    bits += power << 52;
    memcpy(&p, &bits, sizeof p);
    return p;
}

static inline double tangent(double x)
{
    return sine(x) / cosine(x);
}

static inline double hyperbolic_sine(double x)
{
    const double t = fabs(x), e = exponential(either(t > 700.0, 700.0, t), false),
                 far = 0.5 * (e - 1.0 / e), q = t * t;
    double p = 1.0 / 39916800.0;

    p = p * q + 1.0 / 362880.0;
    p = p * q + 1.0 / 5040.0;
    p = p * q + 1.0 / 120.0;
    p = p * q + 1.0 / 6.0;
    p = t + t * q * p;
    return copysign(either(t < 0.5, p, far), x);
}

static inline double hyperbolic_cosine(double x)
{
    const double t = fabs(x), e = exponential(either(t > 700.0, 700.0, t), false);

    return 0.5 * (e + 1.0 / e);
}

/* log((1 + t) / (1 - t)) / 2 */
static inline double area_tangent(double x)
{
    const double t = fabs(x);

    return copysign(0.5 * logarithm_from_1(2.0 * t / (1.0 - t)), x);
}

/* Of numbers above 0, or 0; Newton's iteration for 1 / root, as sqrt may set errno, which keeps
 * compilers from vectors. */
static inline double root(double x)
{
    const double half = 0.5 * x;
    uint64_t bits;
    double y;

    memcpy(&bits, &x, sizeof bits);
    bits = 0x5fe6eb50c7b537a9u - (bits >> 1); /* within 4 % */
    memcpy(&y, &bits, sizeof y);
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    return x * y;
}

/* log(t + r) = log(1 + t + (r - 1)), r the root of 1 + t^2 */
static inline double area_sine(double x)
{
    const double t = fabs(x), q = t * t;

    return copysign(logarithm_from_1(t + q / (1.0 + root(1.0 + q))), x);
}

static inline double area_cosine(double x)
{
    const double t = either(x > 1.0, x - 1.0, 0.0), y = logarithm_from_1(t + root(t * (t + 2.0)));

    return either(x >= 1.0, y, (double)NAN);
}

/* x^y of positive x */
static inline double power_of(double x, double y)
{
    const double z = y * logarithm(x);

    return exponential(either(z > 700.0, 700.0, z), false);
}

static const function_of tangent_of = {tan, 0x1p19f};
static const function_of hyperbolic_sine_of = {sinh, INFINITY};
static const function_of hyperbolic_cosine_of = {cosh, INFINITY};
static const function_of area_tangent_of = {atanh, INFINITY};
static const function_of area_sine_of = {asinh, FLT_MAX}, area_cosine_of = {acosh, FLT_MAX};

/* ---- of float64, within 3 units in the last place ---- */

/* What a block is computed by where all its numbers are from least to most, and else. */
typedef struct precise_function {
    double (*exactly)(double x);
    double least, most;
} precise_function;

/* e^x */
static inline double precise_exponential(double x)
{
    return exponential(x, true);
}

/*
 * log(m 2^n) = n ln 2 + log(1 + f), f = m - 1: with s = f / (2 + f) the last is f - f^2 / 2 +
 * s (f^2 / 2 + r) for r = 2 s^2 / 3 + 2 s^4 / 5 + ..., so that f, which is exact, is rounded last.
 */
static inline double precise_logarithm(double x)
{
    uint64_t bits, high;
    double n, m, half, f, s, q, p, square;

    memcpy(&bits, &x, sizeof bits);
    high = bits >> 52 | 0x4330000000000000u;
    memcpy(&n, &high, sizeof n);
    bits = (bits & 0xfffffffffffffu) | 0x3ff0000000000000u;
    memcpy(&m, &bits, sizeof m);
    half = m > 1.41421356237309504880 ? 0.5 : 0.0;
    n += 2.0 * half - (0x1p52 + 1023.0);
    m -= half * m;
    f = m - 1.0;
    s = f / (2.0 + f);
    q = s * s;
    p = 2.0 / 23.0;
    p = p * q + 2.0 / 21.0;
    p = p * q + 2.0 / 19.0;
    p = p * q + 2.0 / 17.0;
    p = p * q + 2.0 / 15.0;
    p = p * q + 2.0 / 13.0;
    p = p * q + 2.0 / 11.0;
    p = p * q + 2.0 / 9.0;
    p = p * q + 2.0 / 7.0;
    p = p * q + 2.0 / 5.0;
    p = p * q + 2.0 / 3.0;
    square = 0.5 * f * f;
    return n * 0.693147180369123816490 -
           ((square - (s * (square + q * p) + n * 1.90821492927058770002e-10)) - f);
}

static inline double precise_sigmoid(double x)
{
    return 1.0 / (1.0 + exponential(-x, true));
}

static double sigmoid_exactly(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/*
 * e / (e + 2) with e = exp(2 t) - 1 = 2^n p + (2^n - 1), 2 t = n ln 2 + r and p = exp(r) - 1, so
 * that nothing is lost near 0, where n is 0.
 */
static inline double precise_hyperbolic_tangent(double x)
{
    const double t = fabs(x), in = 2.0 * either(t > 20.0, 20.0, t);
    const double shifted = in * 1.44269504088896340736 + 0x1.8p52, n = shifted - 0x1.8p52;
    const double r = in - n * 0.693147180369123816490 - n * 1.90821492927058770002e-10;
    double p = 1.0 / 87178291200.0, e;
    uint64_t bits;

    p = p * r + 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = r + r * r * p;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(&e, &bits, sizeof e);
    e = e * p + (e - 1.0);
    return copysign(e / (e + 2.0), x);
}

static const precise_function precise_exponential_of = {exp, -700.0, 700.0};
static const precise_function precise_logarithm_of = {log, DBL_MIN, DBL_MAX};
static const precise_function precise_sigmoid_of = {sigmoid_exactly, -700.0, 700.0};
static const precise_function precise_hyperbolic_tangent_of = {tanh, -DBL_MAX, DBL_MAX};

/* Block by block, each of which all numbers are near in, or not. */
#define PRECISE(op, from, in_type, result, out_type, function)                                     \
    static void span_##op##_##from(const native_span *s)                                           \
    {                                                                                              \
        const in_type *p = s->in[0];                                                               \
        const in_type least = function##_of.least, most = function##_of.most;                      \
        out_type *to = s->to;                                                                      \
        in_type block[SPAN_BLOCK];                                                                 \
        int64_t at, n;                                                                             \
        int k;                                                                                     \
                                                                                                   \
        for (at = 0; at < s->n; at += n) {                                                         \
            uint64_t far = 0;                                                                      \
            n = s->n - at < SPAN_BLOCK ? s->n - at : SPAN_BLOCK;                                   \
            for (k = 0; n < SPAN_BLOCK && k < SPAN_BLOCK; k++)                                     \
                block[k] = 1;                                                                      \
            memcpy(block, p + at, (size_t)n * sizeof *p);                                          \
            for (k = 0; k < SPAN_BLOCK; k++)                                                       \
                far |= (uint64_t)(!(block[k] >= least)) | (uint64_t)(!(block[k] <= most));         \
            if (far) {                                                                             \
                for (k = 0; k < n; k++)                                                            \
                    block[k] = function##_of.exactly(block[k]);                                    \
            } else {                                                                               \
                for (k = 0; k < SPAN_BLOCK; k++)                                                   \
                    block[k] = function(block[k]);                                                 \
            }                                                                                      \
            memcpy(to + at, block, (size_t)n * sizeof *to);                                        \
        }                                                                                          \
    }
