/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_norm.c: BatchNormalization of rows [N, C] of float32 with given moments, as it stands
 * behind a product; images are items of programs. The scale and the shift of a channel are computed
 * in double, and threads share the rows.
 */
#include "batch_norm.h"

#include <math.h>
#include <string.h>

#include "isa.h"
#include "program_half.h"

enum { PART = 8 * 1024 /* elements that a thread computes at once, at least */ };

typedef struct state {
    const native_isa *isa;
    int64_t rows, C;
    double epsilon;
    const void *known[5]; /* x, scale, B, mean, var */
    float *factor, *shift;
} state;

typedef struct work {
    const state *s;
    const float *x;
    float *y;
} work;

static void run_rows(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const float *factor = w->s->factor, *shift = w->s->shift;
    const int64_t C = w->s->C;

    for (; begin < end; begin++) {
        float *to = w->y + begin * C;
        w->s->isa->binary(NATIVE_MUL, w->x + begin * C, 1, factor, 1, to, C);
        w->s->isa->binary(NATIVE_ADD, to, 1, shift, 1, to, C);
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    const float *args[5];
    work w = {.s = s, .y = launch->args[5].address};
    int64_t c;
    int i;

    (void)err;
    for (i = 0; i < 5; i++)
        args[i] = launch->args[i].address ? launch->args[i].address : s->known[i];
    for (c = 0; c < s->C; c++) {
        const double factor = args[1][c] / sqrt((double)args[4][c] + s->epsilon);
        s->factor[c] = (float)factor;
        s->shift[c] = (float)(args[2][c] - args[3][c] * factor);
    }
    w.x = args[0];
    if (s->rows * s->C <= 2 * PART)
        run_rows(&w, 0, s->rows);
    else
        device->host->parallel_for(run_rows, &w, s->rows, PART / s->C + 1);
    return TFR_OK;
}

void native_batch_norm_supports(const tfr_plugin_device *device, const tfr_call *call,
                                tfr_answer *answer)
{
    bool rows = tfr_call_input(call, 0)->rank == 2 && call->n_inputs == 5 &&
                !tfr_call_int(call, "training_mode", 0) && !tfr_call_output(call, 1) &&
                !tfr_call_output(call, 2);
    uint32_t i;

    for (i = 0; rows && i < 5; i++)
        rows = tfr_call_input(call, i)->dtype == TFR_DTYPE_F32;
    if (!rows)
        native_item_supports(device, call, answer);
}

void native_batch_norm_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    state *s;
    int i;

    if (x->rank != 2) {
        native_item_prepare(b, call);
        return;
    }
    s = native_set_function(b, run, NULL, sizeof *s, "batch_norm");
    if (!s || !(s->factor = native_add_block(b, 2 * (size_t)x->dims[1] * sizeof(float))))
        return;
    s->isa = b->device->isa;
    s->rows = x->dims[0];
    s->C = x->dims[1];
    s->shift = s->factor + s->C;
    s->epsilon = (double)tfr_call_float(call, "epsilon", 1e-5f);
    for (i = 0; i < 5; i++)
        s->known[i] = tfr_call_input(call, (uint32_t)i)->data;
}
