/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear_model.c: LinearClassifier and LinearRegressor, what plugins/naive/linear_model.c says of
 * them. Four scores of some samples are summed at once (isa_linear.h), each in the order of the
 * features and in double, so that their bits are naive's; threads share samples.
 */
#include "linear_model.h"

#include <string.h>

#include "isa.h"
#include "ml_labels.h"

enum {
    AT_ONCE = NATIVE_LINEAR_SCORES,
    TOGETHER = 16, /* samples whose features are read at once */
    CHUNK = 128,   /* features of them */
    ROWS = 64      /* of a thread, at least */
};

typedef struct state {
    int64_t N, F, E;      /* E: rows of coefficients */
    int64_t columns;      /* scores that are written */
    double *weights;      /* [groups of AT_ONCE, F, AT_ONCE] */
    double *intercepts;   /* of whole groups */
    native_labels labels; /* none: a regressor */
    native_transform transform;
    int32_t dtype;
    const void *known_x;
} state;

typedef struct work {
    const state *state;
    const native_isa *isa;
    const void *x;
    double *scores; /* of whole groups, for each sample */
    int64_t *labels;
    float *y;
} work;

static int64_t whole_groups(int64_t n)
{
    return (n + AT_ONCE - 1) / AT_ONCE * AT_ONCE;
}

/* The scores of n samples, no more than TOGETHER, before they are transformed. */
static void score_rows(const work *w, int64_t row, int64_t n)
{
    const state *s = w->state;
    const int64_t E = whole_groups(s->E), step = whole_groups(s->columns);
    double chunk[TOGETHER * CHUNK];
    native_linear_tile tile = {.rows = (int)n, .x = chunk, .step = step};
    int64_t f, r, e;

    for (r = 0; r < n; r++)
        memcpy(w->scores + (row + r) * step, s->intercepts, (size_t)E * sizeof *w->scores);
    for (f = 0; f < s->F; f += tile.features) {
        tile.features = tile.x_step = s->F - f < CHUNK ? s->F - f : CHUNK;
        if (tile.features == s->F)
            native_read_doubles(s->dtype, w->x, row * s->F, n * s->F, chunk);
        for (r = 0; r < n && tile.features < s->F; r++)
            native_read_doubles(s->dtype, w->x, (row + r) * s->F + f, tile.features,
                                chunk + r * tile.x_step);
        for (e = 0; e < E; e += AT_ONCE) {
            tile.weights = s->weights + e * s->F + f * AT_ONCE;
            tile.scores = w->scores + row * step + e;
            w->isa->linear_sums(&tile);
        }
    }
}

static int64_t label_of(const state *s, const double *scores)
{
    if (s->labels.n > 1)
        return s->labels.numbers[native_best(scores, s->labels.n)];
    return scores[0] >= (s->transform == NATIVE_NONE ? 0 : 0.5) ? s->labels.numbers[0] : 0;
}

/* From the sums of n samples to what is written. */
static void finish_rows(const work *w, int64_t row, int64_t n)
{
    const state *s = w->state;
    const int64_t end = row + n;
    int64_t c;

    for (; row < end; row++) {
        double *scores = w->scores + row * whole_groups(s->columns);
        if (s->E < s->columns) { /* two labels of one row */
            scores[1] = scores[0];
            scores[0] = -scores[0];
        }
        native_transform_scores(s->transform, scores, s->columns);
        if (w->labels)
            w->labels[row] = label_of(s, scores);
        for (c = 0; w->y && c < s->columns; c++)
            w->y[row * s->columns + c] = (float)scores[c];
    }
}

static void run_rows(void *user, int64_t row, int64_t end)
{
    int64_t n;

    for (; row < end; row += n) {
        n = end - row < TOGETHER ? end - row : TOGETHER;
        score_rows(user, row, n);
        finish_rows(user, row, n);
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.state = s,
              .isa = device->isa,
              .x = native_argument(launch, 0, s->known_x),
              .scores = launch->workspace};

    if (s->labels.n) {
        w.labels = native_labels_at(&s->labels, launch->args[1].address,
                                    w.scores + s->N * whole_groups(s->columns));
        w.y = launch->n_args > 2 ? launch->args[2].address : NULL;
    } else {
        w.y = launch->args[1].address;
    }
    if (s->N <= ROWS)
        run_rows(&w, 0, s->N);
    else
        device->host->parallel_for(run_rows, &w, s->N, ROWS);
    return native_labels_finish(device, &s->labels, w.labels, s->N, launch->args[1].address, err);
}

static bool is_classifier(const tfr_call *call)
{
    return strcmp(call->name, "LinearClassifier") == 0;
}

static int64_t count_columns(const tfr_call *call)
{
    if (!is_classifier(call))
        return tfr_call_output(call, 0)->dims[1];
    return native_count_labels(call, "classlabels_ints");
}

void native_linear_model_supports(const tfr_plugin_device *device, const tfr_call *call,
                                  tfr_answer *answer)
{
    const int64_t N = native_samples(tfr_call_input(call, 0));

    (void)device;
    if (!native_numbers_supports(call, answer))
        return;
    if (!tfr_call_output(call, 0))
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "output 0 is not asked for");
    else if (!is_classifier(call) || native_labels_supports(call, "classlabels_ints", answer))
        answer->workspace_bytes =
            (uint64_t)N * (uint64_t)whole_groups(count_columns(call)) * sizeof(double) +
            native_labels_work(call, N);
}

void native_linear_model_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const float *weights = native_attr_floats(call, "coefficients"),
                *intercepts = native_attr_floats(call, "intercepts");
    state *s = native_set_function(b, run, NULL, sizeof *s, "linear_model");
    int64_t groups, e, f;

    if (!s)
        return;
    s->N = native_samples(x);
    s->F = native_features(x);
    s->columns = count_columns(call);
    if (is_classifier(call) && !native_labels_prepare(b, "classlabels_ints", &s->labels))
        return;
    s->E = s->labels.n == 2 && native_attr_length(call, "coefficients") == s->F ? 1 : s->columns;
    s->transform = native_transform_of(call);
    s->dtype = x->dtype;
    s->known_x = x->data;
    groups = whole_groups(s->E);
    s->weights = native_add_block(b, (size_t)(groups * (s->F + 1)) * sizeof *s->weights);
    if (!s->weights)
        return;
    memset(s->weights, 0, (size_t)(groups * (s->F + 1)) * sizeof *s->weights);
    s->intercepts = s->weights + groups * s->F;
    for (e = 0; e < s->E; e++) {
        double *to = s->weights + e / AT_ONCE * AT_ONCE * s->F + e % AT_ONCE;
        for (f = 0; f < s->F; f++)
            to[f * AT_ONCE] = (double)weights[e * s->F + f];
        s->intercepts[e] = intercepts ? (double)intercepts[e] : 0;
    }
}
