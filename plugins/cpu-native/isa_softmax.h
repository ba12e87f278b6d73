/* SPDX-License-Identifier: Apache-2.0 */
/* isa_softmax.h: softmax and its logarithm, of rows and of columns, a part of isa_kernels.h. */

static void softmax(const float *x, float scale, const float *mask, float *to, int64_t n)
{
    vec greatest = V_ALL(-INFINITY), sum = V_ZERO(), k = V_ALL(scale), m;
    float one;
    int64_t i;

    for (i = 0; i < n; i += LANES) {
        int64_t some = n - i < LANES ? n - i : LANES;
        vec v = V_MUL(v_some(x, 1, i, some), k);
        if (mask)
            v = V_ADD(v, v_some(mask, 1, i, some));
        if (some == LANES) {
            V_STORE(to + i, v);
            greatest = V_MAX(greatest, v);
        } else {
            V_STORE_SOME(to + i, some, v);
            greatest = V_MAX(greatest, V_SOME_OR(v, some, -INFINITY));
        }
    }
    one = V_GREATEST(greatest);
    m = V_ALL(one);
    for (i = 0; i < n; i += LANES) {
        int64_t some = n - i < LANES ? n - i : LANES;
        vec v = v_exp_or_0(V_SUB(v_some(to, 1, i, some), m));
        if (some == LANES) {
            V_STORE(to + i, v);
            sum = V_ADD(sum, v);
        } else {
            V_STORE_SOME(to + i, some, v);
            sum = V_ADD(sum, V_SOME_OR(v, some, 0.0f));
        }
    }
    m = V_ALL(1.0f / V_SUM(sum));
    for (i = 0; i < n; i += LANES) {
        int64_t some = n - i < LANES ? n - i : LANES;
        vec v = V_MUL(v_some(to, 1, i, some), m);
        if (some == LANES)
            V_STORE(to + i, v);
        else
            V_STORE_SOME(to + i, some, v);
    }
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
            vec v = v_exp_or_0(V_SUB(v_some(x + i * step, 1, j, some), m));
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

static void log_softmax(const float *x, float *to, int64_t n)
{
    vec greatest = V_ALL(-INFINITY), m, all;
    double sum = 0.0;
    int64_t i, end;

    for (i = 0; i < n; i += LANES) {
        const int64_t some = n - i < LANES ? n - i : LANES;
        const vec v = v_some(x, 1, i, some);
        greatest = V_MAX(greatest, some == LANES ? v : V_SOME_OR(v, some, -INFINITY));
    }
    m = V_ALL(V_GREATEST(greatest));
    for (i = 0; i < n;) {
        vec part = V_ZERO();
        end = n - i < SUM_VECTORS * LANES ? n : i + SUM_VECTORS * LANES;
        for (; i < end; i += LANES) {
            const int64_t some = end - i < LANES ? end - i : LANES;
            const vec v = v_exp_or_0(V_SUB(v_some(x, 1, i, some), m));
            part = V_ADD(part, some == LANES ? v : V_SOME_OR(v, some, 0.0f));
        }
        sum += (double)V_SUM(part);
    }
    all = V_ALL((float)log(sum));
    for (i = 0; i < n; i += LANES) {
        const int64_t some = n - i < LANES ? n - i : LANES;
        store_some(to + i, some, V_SUB(V_SUB(v_some(x, 1, i, some), m), all));
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
                sum = V_ADD(sum, v_exp_or_0(V_SUB(v_some(x + i * step, 1, j, some), m)));
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
