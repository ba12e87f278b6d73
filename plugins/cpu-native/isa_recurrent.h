/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_recurrent.h: one step of a recurrent layer, a part of isa_kernels.h.
 *
 * The sums of all gates of one vector of hidden units are made together, for some rows of the batch
 * or, of one row, for some vectors, so that about 8 sums hide the latency of additions. Each is
 * added up from the first to the last element of h, whatever the rows beside it. Where R is read
 * for several groups of rows, it is in chunks of h that stay in the first caches, between which
 * sums wait in memory. The gates follow while the sums are in the first cache.
 *
 * With vectors of 16 the groups fetch the next chunk into the second cache. With those of 8 that
 * takes more than it brings: 16 rows of 256 units run at 95 GFLOP/s of a Zen 3 core without, at 88
 * with it, 8 rows at 90 and 80.
 */
#include "recurrent.h"

#define MOST_ROWS (LANES == 16 ? 6 : LANES == 8 ? 3 : 2)
enum {
    MOST_SUMS = 24,                              /* vectors of a call */
    MOST_TOGETHER = 24,                          /* rows that go over a chunk of R */
    CHUNK_BYTES = (LANES == 8 ? 32 : 16) * 1024, /* of R */
    FETCHES_AHEAD = LANES != 8,
    LINE = 64 /* bytes of a line of the cache */
};

/* One vector of hidden units, or some. */
typedef struct gate_terms {
    const float *panel;
    int64_t k;             /* terms of h, from [0] of each row on */
    int64_t step;          /* floats from the panel of one vector to that of the next */
    bool more;             /* the sums go on from `to` */
    const char *ahead;     /* bytes to fetch, */
    const char *ahead_end; /* and their end */
} gate_terms;

static inline __attribute__((always_inline)) void gate_sums(const gate_terms *t,
                                                            const float *const *h, const int gates,
                                                            const int rows, const int blocks,
                                                            float *to)
{
    const float *panel = t->panel;
    const char *ahead = t->ahead;
    vec s[MOST_SUMS];
    int64_t j;
    int b, g, r;

    UNROLL for (r = 0; r < gates * rows * blocks; r++) s[r] =
        t->more ? V_LOAD(to + r * LANES) : V_ZERO();
    for (j = 0; j < t->k; j++, panel += gates * LANES) {
        if (FETCHES_AHEAD && blocks == 1 && ahead < t->ahead_end) {
            __builtin_prefetch(ahead, 0, 2);
            ahead += LINE;
        }
        UNROLL for (b = 0; b < blocks; b++)
        {
            UNROLL for (g = 0; g < gates; g++)
            {
                const vec w = V_LOAD(panel + b * t->step + g * LANES);
                UNROLL for (r = 0; r < rows; r++) s[(b * rows + r) * gates + g] =
                    V_FMA(w, V_ALL(h[r][j]), s[(b * rows + r) * gates + g]);
            }
        }
    }
    UNROLL for (r = 0; r < gates * rows * blocks; r++) V_STORE(to + r * LANES, s[r]);
}

#if LANES == 8
/*
 * Some of all gates, of more rows than all of them leave registers for: of four gates two at a
 * time, so that 16 rows are 6, 5 and 5 with 10 to 12 sums, where 3 rows would leave groups of 2,
 * whose 8 sums wait for each other.
 */
static inline __attribute__((always_inline)) void many_sums(const gate_terms *t,
                                                            const float *const *h, const int gates,
                                                            const int all, const int rows,
                                                            float *to)
{
    const float *panel = t->panel;
    vec s[MOST_SUMS];
    int64_t j;
    int g, r;

    UNROLL for (r = 0; r < rows; r++)
    {
        UNROLL for (g = 0; g < gates; g++) s[r * gates + g] =
            t->more ? V_LOAD(to + (r * all + g) * LANES) : V_ZERO();
    }
    _Pragma("GCC unroll 4") for (j = 0; j < t->k; j++, panel += all * LANES)
    {
        vec w[3];
        UNROLL for (g = 0; g < gates; g++) w[g] = V_LOAD(panel + g * LANES);
        UNROLL for (r = 0; r < rows; r++)
        {
            const vec x = V_ALL(h[r][j]);
            UNROLL for (g = 0; g < gates; g++) s[r * gates + g] = V_FMA(w[g], x, s[r * gates + g]);
        }
    }
    UNROLL for (r = 0; r < rows; r++)
    {
        UNROLL for (g = 0; g < gates; g++) V_STORE(to + (r * all + g) * LANES, s[r * gates + g]);
    }
}

/* clang-format off */
#define MANY_OF(g, all, r) case r: many_sums(t, h, g, all, r, to); break;
#define MANY(name, g, all, more)                                                                   \
    static __attribute__((noinline)) void name(const gate_terms *t, const float *const *h,         \
                                               int rows, float *to)                                \
    {                                                                                              \
        switch (rows) {                                                                            \
        MANY_OF(g, all, 4)                                                                         \
        more                                                                                       \
        default: break;                                                                            \
        }                                                                                          \
    }
MANY(many_of_1, 1, 1, MANY_OF(1, 1, 5) MANY_OF(1, 1, 6) MANY_OF(1, 1, 7) MANY_OF(1, 1, 8))
MANY(many_of_2, 2, 2, MANY_OF(2, 2, 5) MANY_OF(2, 2, 6))
MANY(many_of_3, 3, 3, )
MANY(many_of_pair, 2, 4, MANY_OF(2, 4, 5) MANY_OF(2, 4, 6))
#define MANY_ROWS(g)                                                                               \
    if (rows > MOST_ROWS) {                                                                        \
        many_of_##g(t, h, rows, to);                                                               \
        return;                                                                                    \
    }
/* clang-format on */
#else
#define MANY_ROWS(g)
#endif

/* clang-format off */
#define SUMS_OF(g, r, b) gate_sums(t, h, g, r, b, to); break
#define SUMS_FOR(g, most)                                                                          \
    switch (rows) {                                                                                \
    case 1: if (blocks == most) { SUMS_OF(g, 1, most); } SUMS_OF(g, 1, 1);                         \
    case 2: SUMS_OF(g, 2, 1);                                                                      \
    SUMS_MORE(g)                                                                                   \
    default: break;                                                                                \
    }
#if LANES == 16
#define SUMS_MORE(g)                                                                               \
    case 3: SUMS_OF(g, 3, 1);                                                                      \
    case 4: SUMS_OF(g, 4, 1);                                                                      \
    case 5: SUMS_OF(g, 5, 1);                                                                      \
    case 6: SUMS_OF(g, 6, 1);
#elif LANES == 8
#define SUMS_MORE(g) case 3: SUMS_OF(g, 3, 1);
#else
#define SUMS_MORE(g)
#endif
/* clang-format on */

static int64_t most_rows(int gates)
{
#if LANES == 8
    static const int most[] = {0, 8, 6, 4, 6};
    return most[gates];
#else
    (void)gates;
    return MOST_ROWS;
#endif
}

/* Vectors of hidden units that one row's sums are made for together. */
static int most_blocks(int gates)
{
    return gates > 2 ? 2 : 4;
}

static __attribute__((noinline)) void sums_of_1(const gate_terms *t, const float *const *h,
                                                int rows, int blocks, float *to)
{
    MANY_ROWS(1)
    SUMS_FOR(1, 4)
}

static __attribute__((noinline)) void sums_of_2(const gate_terms *t, const float *const *h,
                                                int rows, int blocks, float *to)
{
    MANY_ROWS(2)
    SUMS_FOR(2, 4)
}

static __attribute__((noinline)) void sums_of_3(const gate_terms *t, const float *const *h,
                                                int rows, int blocks, float *to)
{
    MANY_ROWS(3)
    SUMS_FOR(3, 2)
}

static __attribute__((noinline)) void sums_of_4(const gate_terms *t, const float *const *h,
                                                int rows, int blocks, float *to)
{
#if LANES == 8
    if (rows > MOST_ROWS) {
        gate_terms other = *t;
        many_of_pair(t, h, rows, to);
        other.panel += 2 * LANES;
        many_of_pair(&other, h, rows, to + 2 * LANES);
        return;
    }
#endif
    SUMS_FOR(4, 2)
}

/* ---- gates ---- */

static __attribute__((noinline)) vec gate_act(const native_recurrent_step *s, int which, vec x)
{
    const native_gate_act *f = &s->f[which];

    if (s->has_clip)
        x = v_clip(x, -s->clip, s->clip);
    if (f->act.kind == NATIVE_ACT_SIGMOID)
        return v_sigmoid(x);
    if (f->below_is_0)
        return V_LESS(x, V_ALL(f->act.a), V_ZERO(), x);
    return V_MUL(V_ALL(f->after), v_act(&f->act, V_MUL(V_ALL(f->before), x)));
}

static inline vec load_part(const float *p, int64_t n)
{
    return n >= LANES ? V_LOAD(p) : V_LOAD_SOME(p, n);
}

/* The vector of units from `unit` on, of gates whose sums lie at `sum`. */
typedef void (*gates_fn)(const native_recurrent_step *s, const native_recurrent_row *row,
                         int64_t unit, const float *sum);

static inline vec gate_sum(const native_recurrent_step *s, const native_recurrent_row *row,
                           int64_t unit, const float *sum, int gate)
{
    return V_ADD(V_LOAD(sum), load_part(row->x + gate * s->hidden + unit, s->hidden - unit));
}

static void rnn_gates(const native_recurrent_step *s, const native_recurrent_row *row, int64_t unit,
                      const float *sum)
{
    V_STORE(row->to + unit, gate_act(s, 0, gate_sum(s, row, unit, sum, 0)));
}

/* Sigmoid and tanh, and nothing else: what of a step does not wait for the rest goes side by side.
 */
static bool is_usual_lstm(const native_recurrent_step *s)
{
    bool is = !s->has_clip && !s->input_forget && !s->peephole;
    int i;

    for (i = 0; i < 3; i++) {
        const native_gate_act *f = &s->f[i];
        is = is && f->act.kind == (i == 0 ? NATIVE_ACT_SIGMOID : NATIVE_ACT_TANH) &&
             f->before == 1.0f && f->after == 1.0f;
    }
    return is;
}

/* Two loops, so that what a row waits for is computed beside other rows. */
static void usual_lstm_gates(const native_recurrent_step *s, const native_recurrent_row *row,
                             int64_t n, int64_t unit, float *sums)
{
    float *sum = sums;
    int64_t r;

    for (r = 0; r < n; r++, sum += 4 * LANES) {
        const vec i = v_sigmoid(gate_sum(s, &row[r], unit, sum, 0));
        const vec f = v_sigmoid(gate_sum(s, &row[r], unit, sum + 2 * LANES, 2));
        const vec g = v_tanh(gate_sum(s, &row[r], unit, sum + 3 * LANES, 3));
        V_STORE(row[r].c + unit, V_FMA(i, g, V_MUL(f, V_LOAD(row[r].c + unit))));
        V_STORE(sum, gate_sum(s, &row[r], unit, sum + LANES, 1));
    }
    for (r = 0, sum = sums; r < n; r++, sum += 4 * LANES)
        V_STORE(row[r].to + unit, V_MUL(v_sigmoid(V_LOAD(sum)), v_tanh(V_LOAD(row[r].c + unit))));
}

static void lstm_gates(const native_recurrent_step *s, const native_recurrent_row *row,
                       int64_t unit, const float *sum)
{
    const int64_t left = s->hidden - unit;
    const float *p = s->peephole ? s->peephole + unit : NULL;
    vec c = V_LOAD(row->c + unit), i = gate_sum(s, row, unit, sum, 0), o, f;

    i = gate_act(s, 0, p ? V_FMA(load_part(p, left), c, i) : i);
    if (s->input_forget) {
        f = V_SUB(V_ALL(1.0f), i);
    } else {
        f = gate_sum(s, row, unit, sum + 2 * LANES, 2);
        f = gate_act(s, 0, p ? V_FMA(load_part(p + 2 * s->hidden, left), c, f) : f);
    }
    c = V_FMA(i, gate_act(s, 1, gate_sum(s, row, unit, sum + 3 * LANES, 3)), V_MUL(f, c));
    o = gate_sum(s, row, unit, sum + LANES, 1);
    o = gate_act(s, 0, p ? V_FMA(load_part(p + s->hidden, left), c, o) : o);
    V_STORE(row->c + unit, c);
    V_STORE(row->to + unit, V_MUL(o, gate_act(s, 2, c)));
}

/* (1 - z) n + z h */
static inline vec mix_states(vec z, vec n, vec h)
{
    return V_FMA(z, h, V_MUL(V_SUB(V_ALL(1.0f), z), n));
}

static void gru_linear_gates(const native_recurrent_step *s, const native_recurrent_row *row,
                             int64_t unit, const float *sum)
{
    const int64_t left = s->hidden - unit;
    const vec z = gate_act(s, 0, gate_sum(s, row, unit, sum, 0));
    const vec reset = gate_act(s, 0, gate_sum(s, row, unit, sum + LANES, 1));
    vec n = V_LOAD(sum + 2 * LANES);

    if (s->hidden_bias)
        n = V_ADD(n, load_part(s->hidden_bias + unit, left));
    n = V_FMA(reset, n, load_part(row->x + 2 * s->hidden + unit, left));
    V_STORE(row->to + unit, mix_states(z, gate_act(s, 1, n), load_part(row->h + unit, left)));
}

static void gru_reset_gates(const native_recurrent_step *s, const native_recurrent_row *row,
                            int64_t unit, const float *sum)
{
    const vec reset = gate_act(s, 0, gate_sum(s, row, unit, sum + LANES, 1));

    V_STORE(row->z + unit, gate_act(s, 0, gate_sum(s, row, unit, sum, 0)));
    V_STORE(row->reset + unit, V_MUL(reset, V_LOAD(row->h + unit)));
}

static void gru_last_gate(const native_recurrent_step *s, const native_recurrent_row *row,
                          int64_t unit, const float *sum)
{
    const vec n = gate_act(s, 1, gate_sum(s, row, unit, sum, 2));
    V_STORE(row->to + unit, mix_states(V_LOAD(row->z + unit), n, V_LOAD(row->h + unit)));
}

/* ---- the step ---- */

typedef void (*sums_fn)(const gate_terms *t, const float *const *h, int rows, int blocks,
                        float *to);

/* The sums of one vector of units for n rows, in groups of about the same size. */
static void sums_of_rows(sums_fn sums_of, const native_recurrent_row *rows, int64_t n,
                         const float *panel, int64_t terms, int gates, bool of_reset, float *sums)
{
    const int64_t chunk = CHUNK_BYTES / (int64_t)sizeof(float) / (gates * LANES);
    const int64_t most = most_rows(gates), groups = (n + most - 1) / most;
    const char *end = (const char *)(panel + terms * gates * LANES);
    const float *h[MOST_TOGETHER];
    int64_t k, g, i;

    for (k = 0; k < terms; k += chunk) {
        gate_terms t = {.panel = panel + k * gates * LANES, .more = k > 0};
        t.k = terms - k < chunk ? terms - k : chunk;
        t.ahead = (const char *)(t.panel + t.k * gates * LANES);
        t.ahead_end = end - t.ahead < CHUNK_BYTES ? end : t.ahead + CHUNK_BYTES;
        for (g = 0; g < groups; g++) {
            const int64_t first = g * n / groups, some = (g + 1) * n / groups - first;
            for (i = 0; i < some; i++)
                h[i] = (of_reset ? rows[first + i].reset : rows[first + i].h) + k;
            sums_of(&t, h, (int)some, 1, sums + first * gates * LANES);
            t.ahead += t.k * LINE < t.ahead_end - t.ahead ? t.k * LINE : t.ahead_end - t.ahead;
        }
    }
}

static void gates_of_rows(const native_recurrent_step *s, const native_recurrent_row *row,
                          int64_t n, int64_t unit, int n_gates, gates_fn gates, float *sums)
{
    int64_t i;

    if (gates == NULL)
        usual_lstm_gates(s, row, n, unit, sums);
    for (i = 0; gates && i < n; i++)
        gates(s, &row[i], unit, sums + i * n_gates * LANES);
}

/* gates NULL = usual_lstm_gates */
static void recurrent_gates(const native_recurrent_step *s, const float *panels, int n_gates,
                            bool of_reset, gates_fn gates)
{
    static const sums_fn sums_of[] = {NULL, sums_of_1, sums_of_2, sums_of_3, sums_of_4};
    const int64_t n_blocks = (s->hidden + LANES - 1) / LANES, step = s->hidden * n_gates * LANES;
    float sums[MOST_TOGETHER * 4 * LANES];
    int64_t at, block = 0, i, n;

    for (; s->n_rows == 1 && n_blocks - block >= most_blocks(n_gates);
         block += most_blocks(n_gates)) {
        const gate_terms t = {.panel = panels + block * step, .k = s->hidden, .step = step};
        const float *h = of_reset ? s->rows->reset : s->rows->h;
        sums_of[n_gates](&t, &h, 1, most_blocks(n_gates), sums);
        for (i = 0; i < most_blocks(n_gates); i++)
            gates_of_rows(s, s->rows, 1, (block + i) * LANES, n_gates, gates,
                          sums + i * n_gates * LANES);
    }
    for (; block < n_blocks; block++) {
        for (at = 0; at < s->n_rows; at += n) {
            n = s->n_rows - at < MOST_TOGETHER ? s->n_rows - at : MOST_TOGETHER;
            sums_of_rows(sums_of[n_gates], s->rows + at, n, panels + block * step, s->hidden,
                         n_gates, of_reset, sums);
            gates_of_rows(s, s->rows + at, n, block * LANES, n_gates, gates, sums);
        }
    }
}

static void recurrent_step(const native_recurrent_step *s)
{
    const int64_t units = (s->hidden + LANES - 1) / LANES * LANES;

    switch (s->cell) {
    case NATIVE_CELL_RNN:
        recurrent_gates(s, s->panels, 1, false, rnn_gates);
        break;
    case NATIVE_CELL_LSTM:
        recurrent_gates(s, s->panels, 4, false, is_usual_lstm(s) ? NULL : lstm_gates);
        break;
    case NATIVE_CELL_GRU_LINEAR:
        recurrent_gates(s, s->panels, 3, false, gru_linear_gates);
        break;
    case NATIVE_CELL_GRU:
        recurrent_gates(s, s->panels, 2, false, gru_reset_gates);
        recurrent_gates(s, s->panels + 2 * s->hidden * units, 1, true, gru_last_gate);
        break;
    }
}
