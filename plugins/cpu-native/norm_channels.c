/* SPDX-License-Identifier: Apache-2.0 */
/*
 * norm_channels.c: LRN of float32, x / (bias + alpha / size * s)^beta, s the sum of the squares of
 * the channels around. Rows of a channel that lie beside each other are operands of the loops of
 * programs: the squares of a few channels are computed once and added up for each. The usual powers
 * are products of roots.
 */
#include "norm_channels.h"

#include <math.h>
#include <string.h>

#include "isa.h"

enum { COLUMNS = 256, MOST = 32 /* channels of a window */ };
/* Roundings of what is raised are multiplied by the power. */
#define MOST_POWER 8.0f

typedef struct state {
    const native_isa *isa;
    native_span_fn power;
    int64_t outer, channels, inner, blocks;
    int64_t before, after;
    float bias, factor, beta;
    const void *known;
} state;

typedef struct work {
    const state *s;
    const float *x;
    float *y;
} work;

/* v = v^beta; a: room for as many */
static void raise(const state *s, float *v, float *a, int64_t n)
{
    const native_act root = {.kind = NATIVE_ACT_SQRT};

    if (s->beta == 1.0f)
        return;
    if (s->beta == 0.5f || s->beta == 0.75f) {
        s->isa->act(&root, v, v, n);
        if (s->beta == 0.5f)
            return;
        s->isa->act(&root, v, a, n);
        s->isa->binary(NATIVE_MUL, v, 1, a, 1, v, n);
        return;
    }
    s->power(&(native_span){.in = {v, &s->beta}, .step = {1, 0}, .n_in = 2, .to = a, .n = n});
    memcpy(v, a, (size_t)n * sizeof *v);
}

/* Numbers count blocks of columns. */
static void run_blocks(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    const native_act square = {.kind = NATIVE_ACT_SQUARE};
    const native_act scale = {.kind = NATIVE_ACT_LINEAR, .a = s->factor, .b = s->bias};
    float squares[MOST][COLUMNS], sum[COLUMNS], room[COLUMNS];

    for (; begin < end; begin++) {
        const int64_t first = begin % s->blocks * COLUMNS, left = s->inner - first;
        const int64_t at = begin / s->blocks * s->channels * s->inner + first;
        const int64_t n = left < COLUMNS ? left : COLUMNS;
        int64_t c, next = 0, i;
        for (c = 0; c < s->channels; c++) {
            const float *x = w->x + at + c * s->inner;
            const int64_t low = c > s->before ? c - s->before : 0;
            const int64_t high = c + s->after < s->channels ? c + s->after : s->channels - 1;
            for (; next <= high; next++)
                s->isa->act(&square, w->x + at + next * s->inner, squares[next % MOST], n);
            memcpy(sum, squares[low % MOST], (size_t)n * sizeof *sum);
            for (i = low + 1; i <= high; i++)
                s->isa->binary(NATIVE_ADD, sum, 1, squares[i % MOST], 1, sum, n);
            s->isa->act(&scale, sum, sum, n);
            raise(s, sum, room, n);
            s->isa->binary(NATIVE_DIV, x, 1, sum, 1, w->y + at + c * s->inner, n);
        }
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.s = s, .y = launch->args[1].address};

    (void)err;
    w.x = launch->args[0].address ? launch->args[0].address : s->known;
    device->host->parallel_for(run_blocks, &w, s->outer * s->blocks, 1);
    return TFR_OK;
}

void native_lrn_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const int64_t size = tfr_call_int(call, "size", 1);

    (void)device;
    if (!native_has_type(call, answer))
        return;
    if (x->rank < 2 || size < 1 || size > MOST)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "windows of up to %d channels are done here",
                    MOST);
    else if (fabsf(tfr_call_float(call, "beta", 0.75f)) > MOST_POWER)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "powers of up to %g are done here",
                    (double)MOST_POWER);
    else if (!(tfr_call_float(call, "alpha", 1e-4f) >= 0 && tfr_call_float(call, "bias", 1) >= 0))
        tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                    "powers of what may be less than 0 are left to others");
}

void native_lrn_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const int64_t size = tfr_call_int(call, "size", 1);
    const native_elementwise *row = b->device->isa->elementwise;
    state *s = native_set_function(b, run, NULL, sizeof *s, "lrn");

    if (!s)
        return;
    s->isa = b->device->isa;
    while (row->op && (strcmp(row->op, "Pow") != 0 || row->inputs != TFR_DTYPE_F32))
        row++;
    s->power = row->run;
    s->outer = x->dims[0];
    s->channels = x->dims[1];
    s->inner = tfr_operand_span(x, 2, x->rank);
    s->blocks = (s->inner + COLUMNS - 1) / COLUMNS;
    s->before = (size - 1) / 2;
    s->after = size / 2;
    s->bias = tfr_call_float(call, "bias", 1);
    s->factor = (float)((double)tfr_call_float(call, "alpha", 1e-4f) / (double)size);
    s->beta = tfr_call_float(call, "beta", 0.75f);
    s->known = x->data;
}
