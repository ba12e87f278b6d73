/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_rotary.c: RotaryEmbedding of float32, what plugins/naive/rotary_embedding.c says of it.
 * A task is a token of a head: one row of cosines and sines, and two halves that are read once, in
 * vectors of four where pairs lie apart. Threads share the tokens.
 */
#include "attention_rotary.h"

#include <string.h>

#include "vec_portable.h"

enum { PART = 8 * 1024 /* elements of a thread, at least */ };

typedef struct state {
    bool heads_first, interleaved,
        wide;                          /* X is [B N T S], else [B T N S]; position_ids are there */
    int64_t heads, T, S, half, tokens; /* tokens of all heads */
    int64_t rows;                      /* of the caches */
    const void *known[4];
} state;

typedef struct work {
    const state *s;
    const float *x, *cosines, *sines;
    const int64_t *positions; /* NULL = a row for each token */
    float *y;
} work;

/* Token i as it lies in memory: the row of the caches is that of its number in [B T]. */
static int64_t row_of(const work *w, int64_t i)
{
    const state *s = w->s;
    const int64_t batch = i / (s->T * s->heads);
    const int64_t t = s->heads_first ? i % s->T : i / s->heads % s->T;
    const int64_t token = batch * s->T + t;
    return w->positions ? w->positions[token] : token;
}

static void turn_halves(const float *restrict x, const float *restrict c, const float *restrict v,
                        int64_t half, float *restrict y)
{
    int64_t j = 0;

    for (; j + LANES <= half; j += LANES) {
        const vec a = V_LOAD(x + j), b = V_LOAD(x + half + j);
        const vec cosine = V_LOAD(c + j), sine = V_LOAD(v + j);
        V_STORE(y + j, V_SUB(V_MUL(cosine, a), V_MUL(sine, b)));
        V_STORE(y + half + j, V_ADD(V_MUL(sine, a), V_MUL(cosine, b)));
    }
    for (; j < half; j++) {
        y[j] = c[j] * x[j] - v[j] * x[half + j];
        y[half + j] = v[j] * x[j] + c[j] * x[half + j];
    }
}

static void turn_pairs(const float *restrict x, const float *restrict c, const float *restrict v,
                       int64_t half, float *restrict y)
{
    int64_t j;

    for (j = 0; j < half; j++) {
        y[2 * j] = c[j] * x[2 * j] - v[j] * x[2 * j + 1];
        y[2 * j + 1] = v[j] * x[2 * j] + c[j] * x[2 * j + 1];
    }
}

static void run_tokens(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;

    for (; begin < end; begin++) {
        const float *x = w->x + begin * s->S;
        const int64_t row = row_of(w, begin) * s->half, turned = 2 * s->half;
        float *y = w->y + begin * s->S;
        (s->interleaved ? turn_pairs : turn_halves)(x, w->cosines + row, w->sines + row, s->half,
                                                    y);
        memcpy(y + turned, x + turned, (size_t)(s->S - turned) * sizeof *y);
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    const void *in[4];
    work w = {.s = s, .y = launch->args[launch->n_args - 1].address};
    int64_t i;

    for (i = 0; i < 4; i++)
        in[i] = i < launch->n_args - 1 && launch->args[i].address ? launch->args[i].address
                                                                  : s->known[i];
    w.x = in[0];
    w.cosines = in[1];
    w.sines = in[2];
    w.positions = s->wide ? in[3] : NULL;
    for (i = 0; w.positions && i < s->tokens / s->heads; i++)
        if (w.positions[i] < 0 || w.positions[i] >= s->rows)
            return tfr_fail(err, TFR_EINVAL, "position %lld of token %lld is outside [0, %lld)",
                            (long long)w.positions[i], (long long)i, (long long)s->rows);
    if (s->tokens * s->S <= PART)
        run_tokens(&w, 0, s->tokens);
    else
        device->host->parallel_for(run_tokens, &w, s->tokens, PART / s->S + 1);
    return TFR_OK;
}

static void read_call(const tfr_call *call, state *s)
{
    const tfr_operand *x = tfr_call_input(call, 0), *c = tfr_call_input(call, 1);
    uint32_t i;

    s->heads_first = x->rank == 4;
    s->interleaved = tfr_call_int(call, "interleaved", 0) != 0;
    s->heads = s->heads_first ? x->dims[1] : tfr_call_int(call, "num_heads", 1);
    s->T = x->dims[s->heads_first ? 2 : 1];
    s->S = s->heads_first ? x->dims[3] : s->heads > 0 ? x->dims[2] / s->heads : 0;
    s->half = tfr_call_int(call, "rotary_embedding_dim", 0) / 2;
    if (s->half == 0)
        s->half = s->S / 2;
    s->tokens = s->S > 0 ? tfr_operand_elements(x) / s->S : 0;
    s->rows = c->dims[0];
    for (i = 0; i < call->n_inputs && i < 4; i++)
        if (tfr_call_input(call, i))
            s->known[i] = tfr_call_input(call, i)->data;
    s->wide = call->n_inputs > 3 && tfr_call_input(call, 3);
}

/* What naive refuses is left to it, so that there is one message. */
void native_rotary_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    const tfr_operand *c = tfr_call_input(call, 1);
    const int64_t turned = tfr_call_int(call, "rotary_embedding_dim", 0);
    state s = {0};

    (void)device;
    if (tfr_call_input(call, 0)->dtype != TFR_DTYPE_F32 || c->dtype != TFR_DTYPE_F32) {
        tfr_decline(answer, TFR_REASON_DTYPE, "only float32 is done here");
        return;
    }
    read_call(call, &s);
    if (turned % 2 != 0 || s.S % 2 != 0 || 2 * s.half > s.S || s.half < 1 ||
        c->dims[c->rank - 1] != s.half ||
        (!s.wide && tfr_operand_elements(c) != s.tokens / s.heads * s.half))
        tfr_decline(answer, TFR_REASON_LAYOUT,
                    "caches that are not of half of what turns are left to naive");
}

void native_rotary_prepare(native_build *b, const tfr_call *call)
{
    state *s = native_set_function(b, run, NULL, sizeof *s, "rotary");

    if (s)
        read_call(call, s);
}
