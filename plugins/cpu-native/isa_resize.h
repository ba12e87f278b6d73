/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_resize.h: weighted sums of rows, and of the pixels of one, a part of isa_kernels.h. Of plain
 * rows a vector of outputs takes each of its taps from one vector of the row or two beside each
 * other, whose lanes are put in order, where these have all that they take.
 */

/* The sum of n rows, 1 to 4, in so many lanes from place i on; more: of what is there, too. */
static inline __attribute__((always_inline)) void weigh_lanes(const float *const *rows,
                                                              const vec *weights, int n, bool more,
                                                              int64_t i, int64_t some, float *to)
{
    vec sum = V_MUL(v_some(rows[0], 1, i, some), weights[0]);

    if (n > 1)
        sum = V_FMA(v_some(rows[1], 1, i, some), weights[1], sum);
    if (n > 2)
        sum = V_FMA(v_some(rows[2], 1, i, some), weights[2], sum);
    if (n > 3)
        sum = V_FMA(v_some(rows[3], 1, i, some), weights[3], sum);
    if (more)
        sum = V_ADD(sum, v_some(to, 1, i, some));
    store_some(to + i, some, sum);
}

static inline __attribute__((always_inline)) void weigh_few(const float *const *rows,
                                                            const float *weights, int n, bool more,
                                                            int64_t length, float *to)
{
    const float *const near[4] = {rows[0], rows[n > 1 ? 1 : 0], rows[n > 2 ? 2 : 0],
                                  rows[n > 3 ? 3 : 0]};
    const vec w[4] = {V_ALL(weights[0]), V_ALL(weights[n > 1 ? 1 : 0]),
                      V_ALL(weights[n > 2 ? 2 : 0]), V_ALL(weights[n > 3 ? 3 : 0])};
    int64_t i;

    for (i = 0; i + LANES <= length; i += LANES)
        weigh_lanes(near, w, n, more, i, LANES, to);
    if (i < length)
        weigh_lanes(near, w, n, more, i, length - i, to);
}

static void weigh_rows(const float *const *rows, const float *weights, int n, int64_t length,
                       float *to)
{
    bool more = false;

    for (; n > 4; n -= 4, rows += 4, weights += 4, more = true)
        weigh_few(rows, weights, 4, more, length, to);
    switch (n) {
    case 4:
        weigh_few(rows, weights, 4, more, length, to);
        break;
    case 3:
        weigh_few(rows, weights, 3, more, length, to);
        break;
    case 2:
        weigh_few(rows, weights, 2, more, length, to);
        break;
    default:
        weigh_few(rows, weights, 1, more, length, to);
    }
}

/* Pixels of one vector. */
static void weigh_vectors(const native_pixels *p, const float *row, float *to)
{
    const int32_t *at = p->at;
    const float *weight = p->weight;
    int64_t i;
    int t;

    for (i = 0; i < p->n; i++, at += p->taps, weight += p->taps) {
        vec sum = V_MUL(V_LOAD(row + (int64_t)at[0] * LANES), V_ALL(weight[0]));
        for (t = 1; t < p->taps; t++)
            sum = V_FMA(V_LOAD(row + (int64_t)at[t] * LANES), V_ALL(weight[t]), sum);
        V_STORE(to + i * LANES, sum);
    }
}

/* Pixels of one number, [begin, end). */
static void weigh_numbers(const native_pixels *p, const float *row, int64_t begin, int64_t end,
                          float *to)
{
    const int32_t *at = p->at + begin * p->taps;
    const float *weight = p->weight + begin * p->taps;
    int t;

    for (; begin < end; begin++, at += p->taps, weight += p->taps) {
        float sum = row[at[0]] * weight[0];
        for (t = 1; t < p->taps; t++)
            sum += row[at[t]] * weight[t];
        to[begin] = sum;
    }
}

#if LANES >= 8
static inline __attribute__((always_inline)) vec near_tap(const native_pixels *p, const float *row,
                                                          int64_t i, bool wide)
{
    const float *from = row + p->near_at[i];
#if LANES == 8
    const __m256i lane =
        _mm256_loadu_si256((const __m256i *)(const void *)(p->near_lane + i * LANES));
    const vec low = _mm256_permutevar8x32_ps(V_LOAD(from), lane);

    if (!wide)
        return low;
    return _mm256_blendv_ps(low, _mm256_permutevar8x32_ps(V_LOAD(from + LANES), lane),
                            _mm256_castsi256_ps(_mm256_slli_epi32(lane, 28)));
#else
    const __m512i lane = _mm512_loadu_si512(p->near_lane + i * LANES);

    return wide ? _mm512_permutex2var_ps(V_LOAD(from), lane, V_LOAD(from + LANES))
                : _mm512_permutexvar_ps(lane, V_LOAD(from));
#endif
}

/* Vector `number` of outputs, the last of which may begin in the one before it. */
static inline __attribute__((always_inline)) void
weigh_near(const native_pixels *p, const float *row, int64_t number, bool wide, float *to)
{
    const int64_t first = number * p->taps, left = p->n - LANES;
    const int64_t begin = number * LANES < left ? number * LANES : left;
    vec sum;
    int t;

    if (p->near_at[first] < 0) {
        weigh_numbers(p, row, begin, begin + LANES, to);
        return;
    }
    sum = V_MUL(near_tap(p, row, first, wide), V_LOAD(p->near_weight + first * LANES));
    for (t = 1; t < p->taps; t++)
        sum = V_FMA(near_tap(p, row, first + t, wide), V_LOAD(p->near_weight + (first + t) * LANES),
                    sum);
    V_STORE(to + begin, sum);
}
#endif

static void weigh_pixels(const native_pixels *p, const float *row, float *to)
{
    if (p->width == LANES) {
        weigh_vectors(p, row, to);
        return;
    }
#if LANES >= 8
    if (p->near_at) {
        int64_t i;
        for (i = 0; p->near_wide && i * LANES < p->n; i++)
            weigh_near(p, row, i, true, to);
        for (i = 0; !p->near_wide && i * LANES < p->n; i++)
            weigh_near(p, row, i, false, to);
        return;
    }
#endif
    weigh_numbers(p, row, 0, p->n, to);
}
