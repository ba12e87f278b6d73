/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent_run.c: a launch of a recurrent layer; recurrent.c says how it is divided. */
#include <string.h>

#include "gemm_layout.h"
#include "recurrent_layer.h"

typedef struct work {
    const tfr_plugin_device *device;
    const native_layer *l;
    const float *in[N_INPUTS];
    float *out[N_OUTPUTS];
    const float *products, *panels;
    native_recurrent_row *rows;
    float *vectors;
    int64_t parts; /* of the batch */
} work;

static int64_t length_of(const work *w, int64_t b)
{
    return w->in[LENS] ? ((const int32_t *)(const void *)w->in[LENS])[b] : w->l->steps;
}

static int64_t state_at(const native_layer *l, int64_t d, int64_t b)
{
    return (l->batch_first ? b * l->directions + d : d * l->batch + b) * l->hidden;
}

/* h of step i lies in vector i % 2. */
static float *vectors_of(const work *w, int64_t d, int64_t b)
{
    return w->vectors + (d * w->l->batch + b) * ROW_VECTORS * w->l->padded;
}

static void begin_row(const work *w, int64_t d, int64_t b)
{
    const native_layer *l = w->l;
    const size_t bytes = (size_t)l->hidden * sizeof(float);
    float *v = vectors_of(w, d, b);

    memset(v, 0, (size_t)(ROW_VECTORS * l->padded) * sizeof *v);
    if (w->in[INITIAL_H])
        memcpy(v, w->in[INITIAL_H] + state_at(l, d, b), bytes);
    if (w->in[INITIAL_C])
        memcpy(v + 2 * l->padded, w->in[INITIAL_C] + state_at(l, d, b), bytes);
}

static void end_row(const work *w, int64_t d, int64_t b)
{
    const native_layer *l = w->l;
    const size_t bytes = (size_t)l->hidden * sizeof(float);
    const float *v = vectors_of(w, d, b);

    if (w->out[Y_H])
        memcpy(w->out[Y_H] + state_at(l, d, b), v + length_of(w, b) % 2 * l->padded, bytes);
    if (w->out[Y_C])
        memcpy(w->out[Y_C] + state_at(l, d, b), v + 2 * l->padded, bytes);
}

static float *y_of(const work *w, int64_t t, int64_t d, int64_t b)
{
    const native_layer *l = w->l;
    const int64_t at = l->batch_first ? (b * l->steps + t) * l->directions + d
                                      : (t * l->directions + d) * l->batch + b;
    return w->out[Y] + at * l->hidden;
}

/* Step i of entries [begin, end), those whose sequence is so long. */
static void run_step(const work *w, native_recurrent_step *s, int64_t d, int64_t i, int64_t begin,
                     int64_t end)
{
    const native_layer *l = w->l;
    const size_t bytes = (size_t)l->hidden * sizeof(float);
    native_recurrent_row *row = w->rows + d * l->batch + begin;
    int64_t b, r = 0;

    s->rows = row;
    s->n_rows = 0;
    for (b = begin; b < end; b++) {
        const int64_t n = length_of(w, b), t = l->backwards || d == 1 ? n - 1 - i : i;
        const int64_t at = l->batch_first ? b * l->steps + t : t * l->batch + b;
        float *v = vectors_of(w, d, b);
        if (i >= n)
            continue;
        row[s->n_rows++] = (native_recurrent_row){
            .x = w->products + (at * l->directions + d) * l->gates * l->hidden,
            .h = v + i % 2 * l->padded,
            .to = v + (i + 1) % 2 * l->padded,
            .c = v + 2 * l->padded,
            .z = v + 3 * l->padded,
            .reset = v + 4 * l->padded,
        };
    }
    if (s->n_rows > 0)
        w->device->isa->recurrent_step(s);
    for (b = begin; b < end && w->out[Y]; b++) {
        const int64_t n = length_of(w, b), t = (l->backwards || d == 1) && i < n ? n - 1 - i : i;
        if (i < n)
            memcpy(y_of(w, t, d, b), row[r++].to, bytes);
        else
            memset(y_of(w, t, d, b), 0, bytes);
    }
}

static void run_part(void *user, int64_t first, int64_t last)
{
    const work *w = user;
    const native_layer *l = w->l;
    const int64_t n = l->gates * l->hidden;
    int64_t b, i;

    for (; first < last; first++) {
        const int64_t d = first % l->directions, part = first / l->directions;
        const int64_t begin = l->batch * part / w->parts, end = l->batch * (part + 1) / w->parts;
        native_recurrent_step s = l->step[d];
        s.panels = w->panels + d * (int64_t)native_recurrent_panel(l);
        s.peephole = w->in[P] ? w->in[P] + d * 3 * l->hidden : NULL;
        s.hidden_bias = w->in[B] ? w->in[B] + d * 2 * n + n + 2 * l->hidden : NULL;
        for (b = begin; b < end; b++)
            begin_row(w, d, b);
        for (i = 0; i < l->steps; i++)
            run_step(w, &s, d, i, begin, end);
        for (b = begin; b < end; b++)
            end_row(w, d, b);
    }
}

static int32_t check_lengths(const work *w, tfr_err *err)
{
    int64_t b;

    for (b = 0; b < w->l->batch; b++)
        if (length_of(w, b) < 0 || length_of(w, b) > w->l->steps)
            return tfr_fail(err, TFR_EINVAL,
                            "sequence length %lld of batch %lld is outside [0, %lld]",
                            (long long)length_of(w, b), (long long)b, (long long)w->l->steps);
    return TFR_OK;
}

static void multiply_inputs(const work *w, const native_recurrent_state *s, const float *bias,
                            float *to, void *scratch)
{
    native_gemm_args args;

    memset(&args, 0, sizeof args);
    args.a = w->in[X];
    args.b = s->packed_w ? s->packed_w : w->in[W];
    args.c = to;
    args.column_bias = bias;
    native_gemm_run_all(&s->layer.product, &args, scratch, w->device->host,
                        s->layer.product_threads);
}

int32_t native_recurrent_run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                             tfr_err *err)
{
    const native_recurrent_state *s = user;
    const native_layer *l = &s->layer;
    const native_recurrent_room at = native_recurrent_lay_out(l, s->panels != NULL);
    char *memory = launch->workspace;
    const float *bias = s->bias;
    work w = {.device = device, .l = l, .panels = s->panels};
    int i;

    for (i = 0; i < N_INPUTS; i++) {
        w.in[i] = s->arg[i] >= 0 ? launch->args[s->arg[i]].address : NULL;
        if (!w.in[i])
            w.in[i] = s->known[i];
    }
    for (i = 0; i < N_OUTPUTS; i++)
        w.out[i] = s->arg[N_INPUTS + i] >= 0 ? launch->args[s->arg[N_INPUTS + i]].address : NULL;
    if (check_lengths(&w, err) != TFR_OK)
        return TFR_EINVAL;
    if (w.in[B] && !bias) {
        native_recurrent_biases(l, w.in[B], (float *)(void *)(memory + at.bias));
        bias = (const float *)(const void *)(memory + at.bias);
    }
    if (!w.panels) {
        native_recurrent_pack(l, device->isa->lanes, w.in[R],
                              (float *)(void *)(memory + at.panels));
        w.panels = (const float *)(const void *)(memory + at.panels);
    }
    w.products = (const float *)(const void *)(memory + at.products);
    w.rows = (native_recurrent_row *)(void *)(memory + at.rows);
    w.vectors = (float *)(void *)(memory + at.vectors);
    multiply_inputs(&w, s, bias, (float *)(void *)(memory + at.products), memory);
    w.parts = smaller(l->batch, ceil_div(l->threads, l->directions));
    if (l->threads == 1)
        run_part(&w, 0, w.parts * l->directions);
    else
        device->host->parallel_for(run_part, &w, w.parts * l->directions, 1);
    return TFR_OK;
}
