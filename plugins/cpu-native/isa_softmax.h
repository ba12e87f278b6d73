/* SPDX-License-Identifier: Apache-2.0 */
/* isa_softmax.h: softmax and its logarithm, of rows and of columns, a part of isa_kernels.h. */

/* A last part of a vector stays in a register: what is stored in parts is slow to read. */
static void softmax(const float *x, float scale, const float *mask, float *to, int64_t n)
{
    const int64_t some = n % LANES, whole = n - some;
    const float *from = x;
    vec greatest = V_ALL(-INFINITY), sum = V_ZERO(), k = V_ALL(scale), last = V_ZERO(), m;
    int64_t i;

    if (some) {
        last = V_MUL(V_LOAD_SOME(x + whole, some), k);
        if (mask)
            last = V_ADD(last, V_LOAD_SOME(mask + whole, some));
        greatest = V_SOME_OR(last, some, -INFINITY);
    }
    if (mask || scale != 1.0f) {
        for (i = 0; i < whole; i += LANES) {
            vec v = V_MUL(V_LOAD(x + i), k);
            if (mask)
                v = V_ADD(v, V_LOAD(mask + i));
            V_STORE(to + i, v);
            greatest = V_MAX(greatest, v);
        }
        from = to;
    } else {
        for (i = 0; i < whole; i += LANES)
            greatest = V_MAX(greatest, V_LOAD(x + i));
    }
    m = V_ALL(V_GREATEST(greatest));
    for (i = 0; i < whole; i += LANES) {
        const vec v = v_exp_below_0(V_SUB(V_LOAD(from + i), m));
        V_STORE(to + i, v);
        sum = V_ADD(sum, v);
    }
    if (some) {
        last = v_exp_below_0(V_SUB(last, m));
        sum = V_ADD(sum, V_SOME_OR(last, some, 0.0f));
    }
    m = V_ALL(1.0f / V_SUM(sum));
    for (i = 0; i < whole; i += LANES)
        V_STORE(to + i, V_MUL(V_LOAD(to + i), m));
    if (some)
        V_STORE_SOME(to + whole, some, V_MUL(last, m));
}

enum { PAIR_MOST = 2048 }; /* numbers of a row, of which more stay near */

/* Two rows as one is done, side by side: each waits for its greatest number and for its sum. */
static void softmax_two(const float *x, float *to, int64_t n)
{
    const int64_t some = n % LANES, whole = n - some;
    const float *y = x + n;
    float *const to_y = to + n;
    vec m = V_ALL(-INFINITY), k = m, sum = V_ZERO(), sum_y = sum, last = sum, last_y = sum;
    int64_t i;

    if (some) {
        last = V_LOAD_SOME(x + whole, some);
        last_y = V_LOAD_SOME(y + whole, some);
        m = V_SOME_OR(last, some, -INFINITY);
        k = V_SOME_OR(last_y, some, -INFINITY);
    }
    for (i = 0; i < whole; i += LANES) {
        m = V_MAX(m, V_LOAD(x + i));
        k = V_MAX(k, V_LOAD(y + i));
    }
    m = V_ALL(V_GREATEST(m));
    k = V_ALL(V_GREATEST(k));
    for (i = 0; i < whole; i += LANES) {
        const vec v = v_exp_below_0(V_SUB(V_LOAD(x + i), m));
        const vec w = v_exp_below_0(V_SUB(V_LOAD(y + i), k));
        V_STORE(to + i, v);
        V_STORE(to_y + i, w);
        sum = V_ADD(sum, v);
        sum_y = V_ADD(sum_y, w);
    }
    if (some) {
        last = v_exp_below_0(V_SUB(last, m));
        last_y = v_exp_below_0(V_SUB(last_y, k));
        sum = V_ADD(sum, V_SOME_OR(last, some, 0.0f));
        sum_y = V_ADD(sum_y, V_SOME_OR(last_y, some, 0.0f));
    }
    m = V_ALL(1.0f / V_SUM(sum));
    k = V_ALL(1.0f / V_SUM(sum_y));
    for (i = 0; i < whole; i += LANES) {
        V_STORE(to + i, V_MUL(V_LOAD(to + i), m));
        V_STORE(to_y + i, V_MUL(V_LOAD(to_y + i), k));
    }
    if (some) {
        V_STORE_SOME(to + whole, some, V_MUL(last, m));
        V_STORE_SOME(to_y + whole, some, V_MUL(last_y, k));
    }
}

static void softmax_rows(const float *x, float *to, int64_t rows, int64_t n)
{
    int64_t r = 0;

    for (; n <= PAIR_MOST && r + 2 <= rows; r += 2)
        softmax_two(x + r * n, to + r * n, n);
    for (; r < rows; r++)
        softmax(x + r * n, 1.0f, NULL, to + r * n, n);
}

static void softmax_columns(const float *x, int64_t step, float *to, int64_t n, int64_t columns)
{
    int64_t i, j;

    for (j = 0; j < columns; j += LANES) {
        const int64_t some = columns - j < LANES ? columns - j : LANES;
        vec m = V_ALL(-INFINITY), sum = V_ZERO();
        for (i = 0; i < n; i++)
            m = V_MAX(m, v_some(x + i * step, 1, j, some));
        for (i = 0; i < n; i++) {
            vec v = v_exp_below_0(V_SUB(v_some(x + i * step, 1, j, some), m));
            sum = V_ADD(sum, v);
            store_some(to + i * step + j, some, v);
        }
        sum = V_DIV(V_ALL(1.0f), sum);
        for (i = 0; i < n; i++)
            store_some(to + i * step + j, some, V_MUL(v_some(to + i * step, 1, j, some), sum));
    }
}

/* ---- x - greatest - log(sum of e^(x - greatest)) ---- */

enum { SUM_VECTORS = 64 }; /* that are added up in float32 */

/* Of a row: the sum, and the greatest. */
static double sum_of_powers(const float *x, int64_t n, float *top)
{
    const int64_t some = n % LANES, whole = n - some;
    vec greatest = V_ALL(-INFINITY), last = V_ZERO(), m;
    double sum = 0.0;
    int64_t i, end;

    if (some) {
        last = V_LOAD_SOME(x + whole, some);
        greatest = V_SOME_OR(last, some, -INFINITY);
    }
    for (i = 0; i < whole; i += LANES)
        greatest = V_MAX(greatest, V_LOAD(x + i));
    *top = V_GREATEST(greatest);
    m = V_ALL(*top);
    if (some)
        sum = (double)V_SUM(V_SOME_OR(v_exp_below_0(V_SUB(last, m)), some, 0.0f));
    for (i = 0; i < whole; i = end) {
        vec part = V_ZERO();
        end = whole - i < SUM_VECTORS * LANES ? whole : i + SUM_VECTORS * LANES;
        for (; i < end; i += LANES)
            part = V_ADD(part, v_exp_below_0(V_SUB(V_LOAD(x + i), m)));
        sum += (double)V_SUM(part);
    }
    return sum;
}

enum { LOGARITHMS = 8 }; /* of rows at a time, as each of them waits long for its logarithm */

static void log_softmax(const float *x, float *to, int64_t rows, int64_t n)
{
    const int64_t some = n % LANES, whole = n - some;
    double sums[LOGARITHMS];
    float top[LOGARITHMS];
    int64_t i, r, group;
    int k;

    for (; rows > 0; rows -= group, x += group * n, to += group * n) {
        group = rows < LOGARITHMS && n <= PAIR_MOST ? rows : n <= PAIR_MOST ? LOGARITHMS : 1;
        for (k = 0; k < LOGARITHMS; k++)
            sums[k] = 1.0;
        for (r = 0; r < group; r++)
            sums[r] = sum_of_powers(x + r * n, n, &top[r]);
        for (k = 0; k < LOGARITHMS; k++)
            sums[k] = logarithm(sums[k]);
        for (r = 0; r < group; r++) {
            const float *from = x + r * n;
            const vec m = V_ALL(top[r]), all = V_ALL((float)sums[r]);
            for (i = 0; i < whole; i += LANES)
                V_STORE(to + r * n + i, V_SUB(V_SUB(V_LOAD(from + i), m), all));
            if (some)
                V_STORE_SOME(to + r * n + whole, some,
                             V_SUB(V_SUB(V_LOAD_SOME(from + whole, some), m), all));
        }
    }
}

static void log_softmax_columns(const float *x, int64_t step, float *to, int64_t n, int64_t columns)
{
    float sums[LANES];
    int64_t i, j, end;
    int k;

    for (j = 0; j < columns; j += LANES) {
        const int64_t some = columns - j < LANES ? columns - j : LANES;
        double all[LANES] = {0.0};
        vec m = V_ALL(-INFINITY), log_sum;
        for (i = 0; i < n; i++)
            m = V_MAX(m, v_some(x + i * step, 1, j, some));
        for (i = 0; i < n;) {
            vec sum = V_ZERO();
            end = n - i < SUM_VECTORS ? n : i + SUM_VECTORS;
            for (; i < end; i++)
                sum = V_ADD(sum, v_exp_below_0(V_SUB(v_some(x + i * step, 1, j, some), m)));
            V_STORE(sums, sum);
            for (k = 0; k < LANES; k++)
                all[k] += (double)sums[k];
        }
        for (k = 0; k < LANES; k++)
            sums[k] = (float)logarithm(all[k]);
        log_sum = V_LOAD(sums);
        for (i = 0; i < n; i++)
            store_some(to + i * step + j, some,
                       V_SUB(V_SUB(v_some(x + i * step, 1, j, some), m), log_sum));
    }
}
