/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_recurrent.h: one step of a recurrent layer, a part of isa_kernels.h.
 *
 * The sums of all gates of one vector of hidden units are made together, for some rows of the batch
 * or, of one row, for some vectors, so that about 8 sums hide the latency of additions. Each is
 * added up from the first to the last element of h, whatever the rows beside it. The gates follow
 * while the sums are in the first cache.
 */
#include "recurrent.h"

#define MOST_ROWS (LANES == 16 ? 6 : LANES == 8 ? 3 : 2)
enum { MOST_SUMS = 24 }; /* vectors of a call */

static inline __attribute__((always_inline)) void gate_sums(const float *panel, int64_t k,
                                                            const float *const *h, const int gates,
                                                            const int rows, const int blocks,
                                                            float *to)
{
    const int64_t step = k * gates * LANES;
    vec s[MOST_SUMS];
    int64_t j;
    int b, g, r;

    UNROLL for (r = 0; r < gates * rows * blocks; r++) s[r] = V_ZERO();
    for (j = 0; j < k; j++, panel += gates * LANES) {
        UNROLL for (b = 0; b < blocks; b++)
        {
            UNROLL for (g = 0; g < gates; g++)
            {
                const vec w = V_LOAD(panel + b * step + g * LANES);
                UNROLL for (r = 0; r < rows; r++) s[(b * rows + r) * gates + g] =
                    V_FMA(w, V_ALL(h[r][j]), s[(b * rows + r) * gates + g]);
            }
        }
    }
    UNROLL for (r = 0; r < gates * rows * blocks; r++) V_STORE(to + r * LANES, s[r]);
}

/* clang-format off */
#define SUMS_OF(g, r, b) gate_sums(panel, k, h, g, r, b, to); break
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

/* Vectors of hidden units that one row's sums are made for together. */
static int most_blocks(int gates)
{
    return gates > 2 ? 2 : 4;
}

static __attribute__((noinline)) void
sums_of_1(const float *panel, int64_t k, const float *const *h, int rows, int blocks, float *to)
{
    SUMS_FOR(1, 4)
}

static __attribute__((noinline)) void
sums_of_2(const float *panel, int64_t k, const float *const *h, int rows, int blocks, float *to)
{
    SUMS_FOR(2, 4)
}

static __attribute__((noinline)) void
sums_of_3(const float *panel, int64_t k, const float *const *h, int rows, int blocks, float *to)
{
    SUMS_FOR(3, 2)
}

static __attribute__((noinline)) void
sums_of_4(const float *panel, int64_t k, const float *const *h, int rows, int blocks, float *to)
{
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

static void recurrent_gates(const native_recurrent_step *s, const float *panels, int n_gates,
                            bool of_reset, gates_fn gates)
{
    static void (*const sums_of[])(const float *, int64_t, const float *const *, int, int,
                                   float *) = {NULL, sums_of_1, sums_of_2, sums_of_3, sums_of_4};
    const int64_t n_blocks = (s->hidden + LANES - 1) / LANES;
    float sums[MOST_SUMS * LANES];
    const float *h[MOST_ROWS];
    int64_t at, block, i;

    for (block = 0; block < n_blocks; block += i) {
        const float *panel = panels + block * s->hidden * n_gates * LANES;
        int blocks = 1, rows, r, b;
        if (s->n_rows == 1 && n_blocks - block >= most_blocks(n_gates))
            blocks = most_blocks(n_gates);
        for (at = 0; at < s->n_rows; at += rows) {
            rows = (int)(s->n_rows - at < MOST_ROWS ? s->n_rows - at : MOST_ROWS);
            for (r = 0; r < rows; r++)
                h[r] = of_reset ? s->rows[at + r].reset : s->rows[at + r].h;
            sums_of[n_gates](panel, s->hidden, h, rows, blocks, sums);
            for (b = 0; b < blocks; b++)
                for (r = 0; r < rows; r++)
                    gates(s, &s->rows[at + r], (block + b) * LANES,
                          sums + (b * rows + r) * n_gates * LANES);
        }
        i = blocks;
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
        recurrent_gates(s, s->panels, 4, false, lstm_gates);
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
