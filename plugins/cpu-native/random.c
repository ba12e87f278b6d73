/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.c: RandomNormalLike, RandomUniformLike, Bernoulli and Dropout of float32, with
 * the numbers that tfrun/plugin_random.h defines, to the bit. The generator has no state, so
 * threads share the elements, and eight blocks of four words are computed beside each other, as
 * vectors.
 */
#include "random.h"

#include <math.h>
#include <string.h>
#include <tfrun/plugin_random.h>

enum { BLOCKS = 8, CHUNK = 4 * BLOCKS /* elements */, PART = 4096 /* elements of a thread */ };

typedef struct state {
    int64_t n;
    uint32_t subsequence;
    bool has_seed, each_run;
    uint64_t seed;
    bool normal, compares; /* compares: Bernoulli */
    double a, b;           /* mean and scale, or low and high */
    /* Dropout */
    bool has_ratio, has_mode, has_mask;
    uint32_t outputs; /* the number of their first argument */
    const void *known[3];
} state;

typedef struct work {
    const state *s;
    tfr_random_state from;
    uint32_t subsequence;
    double ratio;
    const float *x;
    float *y;
    uint8_t *mask; /* NULL = nobody wants it */
} work;

static void start(const state *s, const tfr_launch *launch, work *w)
{
    const tfr_random_state *from = launch->random;

    w->from = *from;
    w->subsequence = s->subsequence;
    if (!s->has_seed)
        return;
    w->subsequence = 0;
    w->from.seed = s->seed;
    if (!s->each_run) {
        w->from.step = 0;
        w->from.pass = 0;
    }
}

/* words[i][b] = word i of block first + b, as tfr_random_block has it. */
static void draw(const work *w, uint64_t first, uint32_t words[4][BLOCKS])
{
    uint32_t k0 = (uint32_t)w->from.seed, k1 = (uint32_t)(w->from.seed >> 32);
    uint32_t *a = words[0], *b = words[1], *c = words[2], *d = words[3];
    int round, i;

    for (i = 0; i < BLOCKS; i++) {
        a[i] = (uint32_t)(first + (uint64_t)i);
        b[i] = (uint32_t)((first + (uint64_t)i) >> 32) + (w->from.replica << 16);
        c[i] = w->subsequence + w->from.pass * 0x9E3779B9u;
        d[i] = (uint32_t)w->from.step;
    }
    for (round = 0; round < 10; round++) {
        for (i = 0; i < BLOCKS; i++) {
            const uint64_t p0 = (uint64_t)0xD2511F53u * a[i], p1 = (uint64_t)0xCD9E8D57u * c[i];
            a[i] = (uint32_t)(p1 >> 32) ^ b[i] ^ k0;
            b[i] = (uint32_t)p1;
            c[i] = (uint32_t)(p0 >> 32) ^ d[i] ^ k1;
            d[i] = (uint32_t)p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* ---- numbers ---- */

static void fill_normal(const state *s, uint32_t words[4][BLOCKS], float *y)
{
    int i, pair;

    for (i = 0; i < BLOCKS; i++)
        for (pair = 0; pair < 4; pair += 2) {
            const double length = sqrt(-2 * log(((double)words[pair][i] + 1) * 0x1p-32));
            const double angle = 2 * 3.14159265358979323846 * (words[pair + 1][i] * 0x1p-32);
            y[4 * i + pair] = (float)(s->a + s->b * (length * cos(angle)));
            y[4 * i + pair + 1] = (float)(s->a + s->b * (length * sin(angle)));
        }
}

static void fill_uniform(const state *s, uint32_t words[4][BLOCKS], float *y)
{
    const double range = s->b - s->a;
    int i, j;

    for (i = 0; i < BLOCKS; i++)
        for (j = 0; j < 4; j++)
            y[4 * i + j] = (float)(s->a + range * ((double)(int32_t)(words[j][i] >> 8) * 0x1p-24));
}

static void run_chunks(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    uint32_t words[4][BLOCKS];
    float last[CHUNK];

    for (; begin < end; begin++) {
        const int64_t at = begin * CHUNK, n = s->n - at < CHUNK ? s->n - at : CHUNK;
        float *y = n < CHUNK ? last : w->y + at;
        draw(w, (uint64_t)begin * BLOCKS, words);
        if (s->normal)
            fill_normal(s, words, y);
        else
            fill_uniform(s, words, y);
        if (n < CHUNK)
            memcpy(w->y + at, last, (size_t)n * sizeof *y);
    }
}

/* Bernoulli: 1 where a uniform number is less. */
static void compare_chunks(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    uint32_t words[4][BLOCKS];

    for (; begin < end; begin++) {
        const int64_t at = begin * CHUNK, n = w->s->n - at < CHUNK ? w->s->n - at : CHUNK;
        int64_t i;
        draw(w, (uint64_t)begin * BLOCKS, words);
        for (i = 0; i < n; i++)
            w->y[at + i] = (float)(words[i % 4][i / 4] >> 8) * 0x1p-24f < w->x[at + i];
    }
}

static void share(const tfr_plugin_device *device, tfr_range_fn fn, work *w)
{
    const int64_t chunks = (w->s->n + CHUNK - 1) / CHUNK;

    if (w->s->n <= PART)
        fn(w, 0, chunks);
    else
        device->host->parallel_for(fn, w, chunks, PART / CHUNK);
}

static int32_t run_random(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                          tfr_err *err)
{
    const state *s = user;
    work w = {.s = s, .y = launch->args[launch->n_args - 1].address};

    (void)err;
    if (s->compares)
        w.x = launch->args[0].address ? launch->args[0].address : s->known[0];
    start(s, launch, &w);
    share(device, s->compares ? compare_chunks : run_chunks, &w);
    return TFR_OK;
}

/* ---- Dropout ---- */

static void drop_chunks(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const float scale = (float)(1 / (1 - w->ratio));
    /* u >= ratio, where u is a word of 24 bits: less than this is dropped. */
    const int32_t least = (int32_t)ceil(w->ratio * 0x1p24);
    uint32_t words[4][BLOCKS];

    for (; begin < end; begin++) {
        const int64_t at = begin * CHUNK, n = w->s->n - at < CHUNK ? w->s->n - at : CHUNK;
        int64_t i;
        draw(w, (uint64_t)begin * BLOCKS, words);
        for (i = 0; i < n; i++) {
            const bool keep = (int32_t)(words[i % 4][i / 4] >> 8) >= least;
            w->y[at + i] = keep ? w->x[at + i] * scale : 0;
            if (w->mask)
                w->mask[at + i] = keep;
        }
    }
}

static int32_t run_dropout(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                           tfr_err *err)
{
    const state *s = user;
    const tfr_arg *args = launch->args;
    const float *ratio = s->has_ratio ? args[1].address ? args[1].address : s->known[1] : NULL;
    const uint8_t *mode = s->has_mode ? args[2].address ? args[2].address : s->known[2] : NULL;
    work w = {.s = s, .ratio = ratio ? (double)*ratio : 0.5};

    w.x = args[0].address ? args[0].address : s->known[0];
    w.y = args[s->outputs].address;
    w.mask = s->has_mask ? args[s->outputs + 1].address : NULL;
    if (!mode || !*mode) {
        memcpy(w.y, w.x, (size_t)s->n * sizeof *w.y);
        if (w.mask)
            memset(w.mask, 1, (size_t)s->n);
        return TFR_OK;
    }
    if (!(w.ratio >= 0 && w.ratio <= 1))
        return tfr_fail(err, TFR_EINVAL, "Dropout ratio %g is not in [0, 1)", w.ratio);
    start(s, launch, &w);
    share(device, drop_chunks, &w);
    return TFR_OK;
}

/* ---- what they are ---- */

static void read_seed(state *s, const tfr_call *call)
{
    const tfr_attr *seed = tfr_call_attr(call, "seed");

    s->subsequence = call->subsequence;
    s->has_seed = seed != NULL;
    if (seed && seed->type == TFR_ATTR_INT && seed->n == 1)
        s->seed = (uint64_t)seed->ints[0];
    else if (seed && seed->type == TFR_ATTR_FLOAT && seed->n == 1)
        memcpy(&s->seed, seed->floats, sizeof(float));
}

void native_random_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    (void)device;
    if (!native_has_type(call, answer))
        return;
    if (tfr_call_output(call, 0)->dtype != TFR_DTYPE_F32) {
        tfr_decline(answer, TFR_REASON_DTYPE, "only float32 is drawn here");
        return;
    }
    answer->flags |= TFR_ANSWER_RANDOM;
    if (!tfr_call_attr(call, "seed"))
        answer->flags |= TFR_ANSWER_NONDETERMINISTIC;
}

void native_random_prepare(native_build *b, const tfr_call *call)
{
    state *s = native_set_function(b, run_random, NULL, sizeof *s, "random");

    if (!s)
        return;
    read_seed(s, call);
    s->n = tfr_operand_elements(tfr_call_output(call, 0));
    s->compares = call->name[0] == 'B';
    s->known[0] = s->compares ? tfr_call_input(call, 0)->data : NULL;
    s->normal = strncmp(call->name, "RandomNormal", 12) == 0;
    s->a = (double)tfr_call_float(call, s->normal ? "mean" : "low", 0);
    s->b = (double)tfr_call_float(call, s->normal ? "scale" : "high", 1);
}

void native_dropout_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer)
{
    const tfr_operand *ratio = tfr_call_input(call, 1), *mode = tfr_call_input(call, 2);

    (void)device;
    if (tfr_call_input(call, 0)->dtype != TFR_DTYPE_F32 || (ratio && ratio->dtype != TFR_DTYPE_F32))
        tfr_decline(answer, TFR_REASON_DTYPE, "only float32 is done here");
    else if (mode && (!mode->data || *(const uint8_t *)mode->data))
        answer->flags |= TFR_ANSWER_RANDOM | TFR_ANSWER_NONDETERMINISTIC;
}

void native_dropout_prepare(native_build *b, const tfr_call *call)
{
    state *s = native_set_function(b, run_dropout, NULL, sizeof *s, "dropout");
    uint32_t i;

    if (!s)
        return;
    read_seed(s, call);
    s->each_run = true;
    s->n = tfr_operand_elements(tfr_call_input(call, 0));
    for (i = 0; i < 3; i++)
        s->known[i] = tfr_call_input(call, i) ? tfr_call_input(call, i)->data : NULL;
    s->has_ratio = tfr_call_input(call, 1) != NULL;
    s->has_mode = tfr_call_input(call, 2) != NULL;
    s->has_mask = tfr_call_output(call, 1) != NULL;
    s->outputs = call->n_inputs;
}
