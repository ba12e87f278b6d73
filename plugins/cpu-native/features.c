/* SPDX-License-Identifier: Apache-2.0 */
/*
 * features.c: Scaler and Normalizer, what plugins/naive/features.c says of them, row by row in
 * double and on all threads.
 */
#include "ml_features.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 256, ELEMENTS = 4096 /* of a thread, at least */ };

typedef struct state {
    int64_t rows, F;
    double *offset, *scale; /* F each; the Normalizer has none */
    char norm[3];
    int32_t dtype;
    const void *known_x;
} state;

typedef struct work {
    const state *state;
    const void *x;
    float *y;
} work;

static int64_t part(int64_t n)
{
    return n < CHUNK ? n : CHUNK;
}

static void scale_rows(void *user, int64_t row, int64_t end)
{
    const work *w = user;
    const state *s = w->state;
    double chunk[CHUNK];
    int64_t f, n, i;

    for (; row < end; row++) {
        for (f = 0; f < s->F; f += n) {
            n = part(s->F - f);
            native_read_doubles(s->dtype, w->x, row * s->F + f, n, chunk);
            for (i = 0; i < n; i++)
                w->y[row * s->F + f + i] = (float)((chunk[i] - s->offset[f + i]) * s->scale[f + i]);
        }
    }
}

static double add_norm(char first, char second, const double *x, int64_t n, double d)
{
    int64_t i;

    for (i = 0; i < n; i++) {
        double v = fabs(x[i]);
        if (first == 'M')
            d = v <= d ? d : v;
        else
            d += second == '1' ? v : v * v;
    }
    return d;
}

static void normalize_rows(void *user, int64_t row, int64_t end)
{
    const work *w = user;
    const state *s = w->state;
    double chunk[CHUNK];
    int64_t f, n, i;

    for (; row < end; row++) {
        double d = 0;
        for (f = 0; f < s->F; f += n) {
            n = part(s->F - f);
            native_read_doubles(s->dtype, w->x, row * s->F + f, n, chunk);
            d = add_norm(s->norm[0], s->norm[1], chunk, n, d);
        }
        if (s->norm[1] == '2')
            d = sqrt(d);
        d = d == 0 ? 1 : d;
        for (f = 0; f < s->F; f += n) {
            n = part(s->F - f);
            native_read_doubles(s->dtype, w->x, row * s->F + f, n, chunk);
            for (i = 0; i < n; i++)
                w->y[row * s->F + f + i] = (float)(chunk[i] / d);
        }
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {s, native_argument(launch, 0, s->known_x), launch->args[1].address};
    tfr_range_fn rows = s->offset ? scale_rows : normalize_rows;

    (void)err;
    if (s->rows * s->F <= 2 * ELEMENTS)
        rows(&w, 0, s->rows);
    else
        device->host->parallel_for(rows, &w, s->rows, ELEMENTS / s->F + 1);
    return TFR_OK;
}

void native_features_supports(const tfr_plugin_device *device, const tfr_call *call,
                              tfr_answer *answer)
{
    (void)device;
    if (native_numbers_supports(call, answer) && tfr_call_input(call, 0)->rank == 0)
        tfr_decline(answer, TFR_REASON_RANK, "numbers without a dim of features are not done");
}

static void fill(double *to, int64_t F, const tfr_call *call, const char *name, double absent)
{
    const float *values = native_attr_floats(call, name);
    int64_t n = native_attr_length(call, name), f;

    for (f = 0; f < F; f++)
        to[f] = values ? (double)values[f % n] : absent;
}

void native_features_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    state *s = native_set_function(b, run, NULL, sizeof *s, "features");

    if (!s)
        return;
    s->F = native_features(x);
    s->rows = tfr_operand_elements(x) / s->F;
    s->dtype = x->dtype;
    s->known_x = x->data;
    if (strcmp(call->name, "Normalizer") == 0) {
        memcpy(s->norm, tfr_call_string(call, "norm", "MAX"), 2);
        return;
    }
    s->offset = native_add_block(b, (size_t)s->F * 2 * sizeof *s->offset);
    if (!s->offset)
        return;
    s->scale = s->offset + s->F;
    fill(s->offset, s->F, call, "offset", 0);
    fill(s->scale, s->F, call, "scale", 1);
}
