/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_pool.h: rows of pools, a part of isa_kernels.h. Of blocks, windows that are inside are taken
 * four neighbours at a time: averages each in the order of its rows, then columns, maxima with the
 * columns first that they have in common, as those of plain planes have.
 */

static inline vec end_row(const native_row *r, vec v, int64_t x)
{
    if (r->residual)
        v = V_ADD(v, V_LOAD(r->residual + x * LANES));
    return r->act.kind == NATIVE_ACT_CLIP ? v_clip(v, r->act.a, r->act.b) : v;
}

/* Of n vectors that lie step apart. */
static inline __attribute__((always_inline)) vec greatest(const float *p, int64_t step, int64_t n)
{
    vec v;
    int64_t i;

    if (n < 1)
        return V_ALL(-INFINITY);
    v = V_LOAD(p);
    for (i = 1; i + 1 < n; i += 2)
        v = v_greater_of_two(v, V_LOAD(p + i * step), V_LOAD(p + (i + 1) * step));
    return i < n ? v_greater(v, V_LOAD(p + i * step)) : v;
}

/* One output near a border; every window holds an element. */
static void pool_edge(const native_row *r, int64_t x, int64_t y0, int64_t y1)
{
    const int64_t left = r->left + x * r->stride[1], step = r->dilation[1] * LANES;
    vec v = r->average ? V_ZERO() : V_ALL(-INFINITY);
    int64_t x0, x1, i, j;

    inside(left, r->width, r->kernel[1], r->dilation[1], &x0, &x1);
    for (i = y0; i < y1; i++) {
        const float *p = r->source + ((r->top + i * r->dilation[0]) * r->width + left) * LANES;
        for (j = x0; r->average && j < x1; j++)
            v = V_ADD(v, V_LOAD(p + j * step));
        if (!r->average)
            v = v_greater(v, greatest(p + x0 * step, step, x1 - x0));
    }
    if (r->average)
        v = V_DIV(v, V_ALL(r->count_padding ? r->count : (float)((y1 - y0) * (x1 - x0))));
    V_STORE(r->to + x * LANES, end_row(r, v, x));
}

/* Four outputs of an average whose windows are inside. */
static void average_four(const native_row *r, int64_t x, int64_t y0, int64_t y1)
{
    const int64_t step = r->stride[1] * LANES, next = r->dilation[1] * LANES;
    const float *p =
        r->source + ((r->top + y0 * r->dilation[0]) * r->width + r->left) * LANES + x * step;
    const float count = r->count_padding ? r->count : (float)((y1 - y0) * r->kernel[1]);
    const vec n = V_ALL(count);
    vec v0 = V_ZERO(), v1 = v0, v2 = v0, v3 = v0;
    int64_t i, j;

    for (i = y0; i < y1; i++, p += r->dilation[0] * r->width * LANES) {
        const float *q = p;
        for (j = 0; j < r->kernel[1]; j++, q += next) {
            v0 = V_ADD(v0, V_LOAD(q));
            v1 = V_ADD(v1, V_LOAD(q + step));
            v2 = V_ADD(v2, V_LOAD(q + 2 * step));
            v3 = V_ADD(v3, V_LOAD(q + 3 * step));
        }
    }
    V_STORE(r->to + x * LANES, end_row(r, V_DIV(v0, n), x));
    V_STORE(r->to + (x + 1) * LANES, end_row(r, V_DIV(v1, n), x + 1));
    V_STORE(r->to + (x + 2) * LANES, end_row(r, V_DIV(v2, n), x + 2));
    V_STORE(r->to + (x + 3) * LANES, end_row(r, V_DIV(v3, n), x + 3));
}

/* Four outputs of a maximum whose windows are inside, of a known size: columns stay in registers.
 */
static inline __attribute__((always_inline)) void maximum_four(const native_row *r, int64_t x,
                                                               const float *p, int64_t row,
                                                               int64_t rows, int stride, int taps)
{
    vec columns[9];

    UNROLL for (int i = 0; i < 3 * stride + taps; i++)
    {
        columns[i] = greatest(p + i * LANES, row, rows);
    }
    UNROLL for (int i = 0; i < 4; i++)
    {
        const vec *c = columns + i * stride;
        vec v = taps == 2 ? v_greater(c[0], c[1]) : v_greater_of_two(c[0], c[1], c[2]);
        V_STORE(r->to + (x + i) * LANES, end_row(r, v, x + i));
    }
}

/* Outputs from x on, four at a time; the first that is left. p: where the window of output 0 is. */
static inline __attribute__((always_inline)) int64_t maximum_fours(const native_row *r, int64_t x,
                                                                   int64_t end, const float *p,
                                                                   int64_t rows, int stride,
                                                                   int taps)
{
    const int64_t row = r->dilation[0] * r->width * LANES;

    for (; x + 4 <= end && rows == taps; x += 4)
        maximum_four(r, x, p + x * stride * LANES, row, taps, stride, taps);
    for (; x + 4 <= end; x += 4)
        maximum_four(r, x, p + x * stride * LANES, row, rows, stride, taps);
    return x;
}

/* The same for any window, as many outputs as there are columns for. */
static int64_t maximum_strip(const native_row *r, int64_t x, int64_t end, const float *p,
                             int64_t rows)
{
    enum { COLUMNS = 64 };
    const int64_t stride = r->stride[1], step = r->dilation[1] * LANES;
    const int64_t reach = (r->kernel[1] - 1) * r->dilation[1];
    const int64_t row = r->dilation[0] * r->width * LANES;
    float columns[COLUMNS * LANES];
    int64_t n = (COLUMNS - 1 - reach) / stride + 1, i;

    if (reach >= COLUMNS)
        return x;
    n = n < end - x ? n : end - x;
    p += x * stride * LANES;
    for (i = 0; i <= (n - 1) * stride + reach; i++)
        V_STORE(columns + i * LANES, greatest(p + i * LANES, row, rows));
    for (i = 0; i < n; i++) {
        vec v = greatest(columns + i * stride * LANES, step, r->kernel[1]);
        V_STORE(r->to + (x + i) * LANES, end_row(r, v, x + i));
    }
    return x + n;
}

/* Outputs [x, end) of a maximum whose windows are inside; the first that is left. */
static int64_t maximum_inside(const native_row *r, int64_t x, int64_t end, int64_t y0, int64_t y1)
{
    const int64_t taps = r->kernel[1], stride = r->stride[1], rows = y1 - y0;
    const float *p = r->source + ((r->top + y0 * r->dilation[0]) * r->width + r->left) * LANES;
    int64_t before = -1;

    if (r->dilation[1] == 1 && taps == 3 && stride == 2)
        x = maximum_fours(r, x, end, p, rows, 2, 3);
    else if (r->dilation[1] == 1 && taps == 3 && stride == 1)
        x = maximum_fours(r, x, end, p, rows, 1, 3);
    else if (r->dilation[1] == 1 && taps == 2 && stride == 2)
        x = maximum_fours(r, x, end, p, rows, 2, 2);
    for (; x < end && x != before; x = maximum_strip(r, x, end, p, rows))
        before = x;
    return x;
}

static void pool_row(const native_row *r)
{
    int64_t y0, y1, first, last, x;

    inside(r->top, r->height, r->kernel[0], r->dilation[0], &y0, &y1);
    inside_columns(r, &first, &last);
    for (x = 0; x < first; x++)
        pool_edge(r, x, y0, y1);
    if (!r->average)
        x = maximum_inside(r, x, last, y0, y1);
    for (; r->average && x + 4 <= last; x += 4)
        average_four(r, x, y0, y1);
    for (; x < r->out_width; x++)
        pool_edge(r, x, y0, y1);
}

/* ---- plain planes ---- */

static inline float pool_one(float x, float sum, bool average)
{
    return average ? sum + x : x > sum || isnan(x) ? x : sum;
}

/* The maxima or sums of n columns of rows that lie step apart. room: floats from p on, in the last
 * row. Up to a vector more is written. */
static inline __attribute__((always_inline)) void pool_columns(const float *p, int64_t step,
                                                               int64_t rows, int64_t n,
                                                               int64_t room, float *to,
                                                               bool average)
{
    int64_t x, i;

    for (x = 0; x < n && x + LANES <= room; x += LANES) {
        vec v = average ? V_ZERO() : greatest(p + x, step, rows);
        for (i = 0; average && i < rows; i++)
            v = V_ADD(v, V_LOAD(p + i * step + x));
        V_STORE(to + x, v);
    }
    for (; x < n; x++) {
        float sum = average ? 0.0f : -INFINITY;
        for (i = 0; i < rows; i++)
            sum = pool_one(p[i * step + x], sum, average);
        to[x] = sum;
    }
}

/* n outputs, each of the taps that lie at[j] floats behind p, in whole vectors or exactly. count:
 * of an average, the elements of a column and those of the rows. */
static inline __attribute__((always_inline)) void
pool_outputs(const float *p, const int32_t *at, int64_t taps, int64_t n, bool exactly, float *to,
             const float *count, float rows, bool average)
{
    float some[LANES];
    int64_t x, j;

    for (x = 0; x < n; x += LANES) {
        vec v = average ? V_ZERO() : V_LOAD(p + x + at[0]);
        for (j = 0; average && j < taps; j++)
            v = V_ADD(v, V_LOAD(p + x + at[j]));
        for (j = 1; !average && j + 1 < taps; j += 2)
            v = v_greater_of_two(v, V_LOAD(p + x + at[j]), V_LOAD(p + x + at[j + 1]));
        if (!average && j < taps)
            v = v_greater(v, V_LOAD(p + x + at[j]));
        if (average)
            v = V_DIV(v, V_MUL(V_LOAD(count + x), V_ALL(rows)));
        if (!exactly || x + LANES <= n) {
            V_STORE(to + x, v);
        } else {
            V_STORE(some, v);
            memcpy(to + x, some, (size_t)(n - x) * sizeof *to);
        }
    }
}

enum { POOL_STRIP = 2048, POOL_ROWS = 64 };

/*
 * Rows of outputs, from `first` on among the n columns that windows have from `left` on, and what
 * is made of them: first the columns of all rows, then all outputs, as what has just been stored is
 * slow to be read in other vectors.
 */
typedef struct pool_strip {
    int64_t outs, left, n, pitch, part, line; /* line: pitch in parts */
    bool exactly;            /* what follows the outputs of a row may be there already */
    int64_t rows[POOL_ROWS]; /* that each window has */
    float count[NATIVE_POOL_SPAN + LANES];
    int32_t at[NATIVE_POOL_SPAN]; /* of each tap, in parts */
    float columns[POOL_STRIP + NATIVE_POOL_SPAN + LANES];
    float parts[POOL_STRIP + NATIVE_POOL_SPAN + NATIVE_POOL_STRIDE * (LANES + 2)];
} pool_strip;

static inline __attribute__((always_inline)) void pool_fill(float *to, int64_t n, vec v)
{
    int64_t i;

    for (i = 0; i < n; i += LANES)
        V_STORE(to + i, v);
}

/* One row of columns; end: of the plane. */
static void pool_row_columns(const native_row *r, const float *plane, const float *end, int64_t top,
                             pool_strip *s, int64_t number)
{
    const vec none = r->average ? V_ZERO() : V_ALL(-INFINITY);
    const int64_t begin = s->left < 0 ? -s->left : 0, step = r->dilation[0] * r->width;
    const int64_t last = s->left + s->n < r->width ? s->n : r->width - s->left, n = last - begin;
    float *to = s->columns + number * s->pitch;
    int64_t y0, y1, room;

    inside(top, r->height, r->kernel[0], r->dilation[0], &y0, &y1);
    plane += (top + y0 * r->dilation[0]) * r->width + s->left + begin;
    room = end - plane - (y1 - y0 - 1) * step;
    s->rows[number] = y1 - y0;
    pool_fill(to, begin, none);
    if (r->average && y1 - y0 == 2)
        pool_columns(plane, step, 2, n, room, to + begin, true);
    else if (r->average)
        pool_columns(plane, step, y1 - y0, n, room, to + begin, true);
    else if (y1 - y0 == 2)
        pool_columns(plane, step, 2, n, room, to + begin, false);
    else if (y1 - y0 == 3)
        pool_columns(plane, step, 3, n, room, to + begin, false);
    else
        pool_columns(plane, step, y1 - y0, n, room, to + begin, false);
    pool_fill(to + last, s->n - last, none);
}

/* Every second one, from the first or the second on. */
static inline void pool_halves(const float *line, int64_t n, float *even, float *odd)
{
    SPAN_GROUPS(n, even[j] = line[2 * j]; odd[j] = line[2 * j + 1]);
}

/* What vectors of outputs have as the same tap lies beside each other. */
static void pool_part_columns(pool_strip *s, int64_t stride, int64_t rows)
{
    const int64_t n = (rows * s->pitch + stride - 1) / stride;
    int64_t k, i;

    if (stride == 2)
        pool_halves(s->columns, n, s->parts, s->parts + s->part);
    for (k = 0; stride > 2 && k < stride; k++)
        for (i = 0; i < n; i++)
            s->parts[k * s->part + i] = s->columns[i * stride + k];
}

static void pool_row_outputs(const native_row *r, const pool_strip *s, int64_t number, float *to,
                             bool exactly)
{
    const int64_t stride = r->stride[1];
    const float *from = (stride > 1 ? s->parts : s->columns) + number * s->line;
    const float rows = r->count_padding ? r->count : (float)s->rows[number];

    if (r->average && r->kernel[1] == 2)
        pool_outputs(from, s->at, 2, s->outs, exactly, to, s->count, rows, true);
    else if (r->average)
        pool_outputs(from, s->at, r->kernel[1], s->outs, exactly, to, s->count, rows, true);
    else if (r->kernel[1] == 2)
        pool_outputs(from, s->at, 2, s->outs, exactly, to, NULL, 0.0f, false);
    else if (r->kernel[1] == 3)
        pool_outputs(from, s->at, 3, s->outs, exactly, to, NULL, 0.0f, false);
    else
        pool_outputs(from, s->at, r->kernel[1], s->outs, exactly, to, NULL, 0.0f, false);
}

/* Outputs from x on of all rows, as many as strips have columns for. */
static void pool_begin_strip(const native_row *r, int64_t x, pool_strip *s)
{
    const int64_t stride = r->stride[1], reach = (r->kernel[1] - 1) * r->dilation[1] + 1;
    const int64_t most = (NATIVE_POOL_SPAN - reach - stride) / stride + 1;
    int64_t i, x0, x1;

    s->outs = r->out_width - x < most ? r->out_width - x : most;
    s->left = r->left + x * stride;
    s->n = (s->outs - 1) * stride + reach;
    s->pitch = (s->n + stride - 1) / stride * stride;
    s->line = s->pitch / stride;
    s->part = (POOL_STRIP + NATIVE_POOL_SPAN) / stride + LANES;
    s->exactly = s->outs < r->out_width;
    for (i = 0; i < r->kernel[1]; i++) {
        const int64_t tap = i * r->dilation[1];
        s->at[i] = (int32_t)(tap % stride * s->part + tap / stride);
    }
    for (i = 0; r->average && i < s->outs; i++) {
        inside(s->left + i * stride, r->width, r->kernel[1], r->dilation[1], &x0, &x1);
        s->count[i] = r->count_padding ? 1.0f : (float)(x1 - x0);
    }
    for (i = 0; i < LANES; i++)
        s->count[s->outs + i] = 1.0f;
}

static void pool_plain(const native_row *r, int64_t out_height, int64_t begin, int64_t end)
{
    const int64_t size = r->height * r->width, first = begin / out_height;
    const float *source_end = r->source + ((end - 1) / out_height + 1) * size;
    int64_t x, y, i, k, rows;
    pool_strip s;

    for (x = 0; x < r->out_width; x += s.outs) {
        const float *plane = r->source + first * size;
        pool_begin_strip(r, x, &s);
        for (i = begin, y = begin - first * out_height; i < end; i += rows) {
            rows = POOL_STRIP / s.pitch < POOL_ROWS ? POOL_STRIP / s.pitch : POOL_ROWS;
            rows = rows < end - i ? rows : end - i;
            for (k = 0; k < rows; k++) {
                pool_row_columns(r, plane, source_end, r->top + y * r->stride[0], &s, k);
                if (++y == out_height) {
                    y = 0;
                    plane += size;
                }
            }
            pool_part_columns(&s, r->stride[1], rows);
            for (k = 0; k < rows; k++)
                pool_row_outputs(r, &s, k, r->to + (i + k) * r->out_width + x,
                                 s.exactly || (end - i - k - 1) * r->out_width < LANES);
        }
    }
}
