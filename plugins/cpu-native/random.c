/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.c: RandomNormal, RandomUniform, their Like forms, Bernoulli and Dropout of float32, with
 * the numbers that tfrun/plugin_random.h defines, to the bit. The generator has no state, so
 * threads share the elements, and the loops of draw.h compute some blocks beside each other.
 */
#include "random.h"
#include "isa.h"

#include <math.h>
#include <string.h>

enum { CHUNK = NATIVE_DRAWN /* elements */, PART = 4096 /* of a thread */ };

typedef struct state {
    const native_isa *isa;
    int64_t n;
    native_seed seed;
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

native_seed native_read_seed(const tfr_call *call)
{
    const tfr_attr *seed = tfr_call_attr(call, "seed");
    native_seed s = {.subsequence = call->subsequence, .has_seed = seed != NULL};

    if (seed && seed->type == TFR_ATTR_INT && seed->n == 1)
        s.seed = (uint64_t)seed->ints[0];
    else if (seed && seed->type == TFR_ATTR_FLOAT && seed->n == 1)
        memcpy(&s.seed, seed->floats, sizeof(float));
    return s;
}

tfr_random_state native_start_random(const native_seed *seed, const tfr_launch *launch,
                                     uint32_t *subsequence)
{
    tfr_random_state from = *(const tfr_random_state *)launch->random;

    *subsequence = seed->has_seed ? 0 : seed->subsequence;
    if (!seed->has_seed)
        return from;
    from.seed = seed->seed;
    if (!seed->each_run) {
        from.step = 0;
        from.pass = 0;
    }
    return from;
}

/* Those of chunk i, in the order of elements. */
static void draw(const work *w, int64_t i, uint32_t words[CHUNK])
{
    w->s->isa->draws->words(
        &(native_draw){.key = {(uint32_t)w->from.seed, (uint32_t)(w->from.seed >> 32)},
                       .block = (uint64_t)i * NATIVE_DRAW_BLOCKS,
                       .high = w->from.replica << 16,
                       .c = w->subsequence + w->from.pass * 0x9E3779B9u,
                       .d = (uint32_t)w->from.step},
        words);
}

/* ---- numbers ---- */

static void run_chunks(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    uint32_t words[CHUNK];
    float last[CHUNK];

    for (; begin < end; begin++) {
        const int64_t at = begin * CHUNK, n = s->n - at < CHUNK ? s->n - at : CHUNK;
        float *y = n < CHUNK ? last : w->y + at;
        draw(w, begin, words);
        if (s->normal)
            s->isa->draws->normal(words, s->a, s->b, y);
        else
            s->isa->draws->uniform(words, s->a, s->b - s->a, y);
        if (n < CHUNK)
            memcpy(w->y + at, last, (size_t)n * sizeof *y);
    }
}

/* Bernoulli: 1 where a uniform number is less. */
static void compare_chunks(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    uint32_t words[CHUNK];

    for (; begin < end; begin++) {
        const int64_t at = begin * CHUNK, n = w->s->n - at < CHUNK ? w->s->n - at : CHUNK;
        int64_t i;
        draw(w, begin, words);
        for (i = 0; i < n; i++)
            w->y[at + i] = (float)(words[i] >> 8) * 0x1p-24f < w->x[at + i];
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
    w.from = native_start_random(&s->seed, launch, &w.subsequence);
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
    uint32_t words[CHUNK];

    for (; begin < end; begin++) {
        const int64_t at = begin * CHUNK, n = w->s->n - at < CHUNK ? w->s->n - at : CHUNK;
        int64_t i;
        draw(w, begin, words);
        for (i = 0; i < n; i++) {
            const bool keep = (int32_t)(words[i] >> 8) >= least;
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
    w.from = native_start_random(&s->seed, launch, &w.subsequence);
    share(device, drop_chunks, &w);
    return TFR_OK;
}

/* ---- what they are ---- */

void native_random_supports(const tfr_plugin_device *device, const tfr_call *call,
                            tfr_answer *answer)
{
    (void)device;
    if (call->n_inputs > 0 && !native_has_type(call, answer))
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
    s->isa = b->device->isa;
    s->seed = native_read_seed(call);
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
    s->isa = b->device->isa;
    s->seed = native_read_seed(call);
    s->seed.each_run = true;
    s->n = tfr_operand_elements(tfr_call_input(call, 0));
    for (i = 0; i < 3; i++)
        s->known[i] = tfr_call_input(call, i) ? tfr_call_input(call, i)->data : NULL;
    s->has_ratio = tfr_call_input(call, 1) != NULL;
    s->has_mode = tfr_call_input(call, 2) != NULL;
    s->has_mask = tfr_call_output(call, 1) != NULL;
    s->outputs = call->n_inputs;
}
