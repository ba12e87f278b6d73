/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svm.c: SVMClassifier and SVMRegressor, what plugins/naive/svm.c says of them. Threads share
 * samples, four at a time: a tile of the matrix of kernels, small enough for the first cache, is
 * made by isa_svm.h and added up at once, so that the matrix is never there as a whole. A model
 * without vectors has its rows of coefficients as vectors with a linear kernel.
 */
#include "svm.h"

#include "isa.h"
#include "ml_labels.h"

#include <math.h>
#include <string.h>

enum { TILE = 256 /* vectors */, MOST_DEGREE = 64 };

typedef struct state {
    int64_t N, vectors, features;
    char kernel;
    double gamma, coef0;
    int degree;
    float *panels;       /* [panels, features, lanes] */
    float *coefficients; /* [rows, V]; a regressor has one row */
    int64_t *ends;       /* of the vectors of each class */
    int64_t n_ends;      /* 0: every vector is a score */
    native_svm_model model;
    native_labels labels;
    bool classifier, one_class;
    size_t lane_bytes;
    const void *known_x;
} state;

typedef struct work {
    const state *state;
    const native_isa *isa;
    const tfr_host_pool *pool;
    char *scratch;
    const float *x;
    int64_t *labels;
    float *y;
} work;

/* ---- a run ---- */

/* Doubles that a sample's sums take. */
static int64_t count_sums(const state *s)
{
    return s->n_ends ? s->n_ends * (s->n_ends > 1 ? s->n_ends - 1 : 1) : s->vectors;
}

/* Adds the tile of `n` vectors from `first` on to the sums of a sample. */
static void add_tile(const state *s, const native_isa *isa, const double *kernels, int64_t first,
                     int64_t n, double *sums)
{
    const int64_t rows = s->n_ends > 1 ? s->n_ends - 1 : 1;
    int64_t i, row, begin = 0, from, to;

    if (!s->n_ends) {
        memcpy(sums + first, kernels, (size_t)n * sizeof *sums);
        return;
    }
    for (i = 0; i < s->n_ends; begin = s->ends[i++]) {
        from = begin > first ? begin : first;
        to = s->ends[i] < first + n ? s->ends[i] : first + n;
        for (row = 0; from < to && row < rows; row++)
            sums[i * rows + row] += isa->svm_sum(s->coefficients + row * s->vectors + from,
                                                 kernels + from - first, to - from);
    }
}

static void finish(const work *w, int64_t n, const double *sums, double *scratch)
{
    const state *s = w->state;
    double y;

    if (s->classifier) {
        native_svm_classify(&s->model, sums, scratch, w->labels ? w->labels + n : NULL,
                            w->y ? w->y + n * s->model.columns : NULL);
        return;
    }
    y = (double)s->model.rho[0] + sums[0];
    if (s->one_class)
        y = y > 0 ? 1 : -1;
    native_transform_scores(s->model.transform, &y, 1);
    w->y[n] = (float)y;
}

static void run_rows(void *user, int64_t n, int64_t end)
{
    const work *w = user;
    const state *s = w->state;
    const int lanes = w->isa->lanes;
    const int64_t n_sums = count_sums(s);
    uint64_t lane = w->pool ? w->pool->lane() : 0;
    double *kernels = (double *)(w->scratch + lane * s->lane_bytes);
    double *sums = kernels + NATIVE_SVM_ROWS * TILE, *scratch = sums + NATIVE_SVM_ROWS * n_sums;
    native_svm_tile t = {.features = s->features,
                         .kernel = s->kernel,
                         .gamma = s->gamma,
                         .coef0 = s->coef0,
                         .degree = s->degree,
                         .to = kernels,
                         .to_step = TILE};
    int64_t v, here;
    int r;

    for (; n < end; n += t.rows) {
        t.rows = end - n >= NATIVE_SVM_ROWS ? NATIVE_SVM_ROWS : 1;
        for (r = 0; r < t.rows; r++)
            t.x[r] = w->x + (n + r) * s->features;
        memset(sums, 0, (size_t)(t.rows * n_sums) * sizeof *sums);
        for (v = 0; v < s->vectors; v += TILE) {
            here = s->vectors - v < TILE ? s->vectors - v : TILE;
            t.panels = (here + lanes - 1) / lanes;
            t.vectors = s->panels + v * s->features;
            w->isa->svm_kernels(&t);
            for (r = 0; r < t.rows; r++)
                add_tile(s, w->isa, kernels + r * TILE, v, here, sums + r * n_sums);
        }
        for (r = 0; r < t.rows; r++)
            finish(w, n + r, sums + r * n_sums, scratch);
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.state = s, .isa = device->isa, .pool = device->pool, .scratch = launch->workspace};
    const int64_t cost = s->vectors * (s->features + 8) + 1;
    int64_t grain = (1 << 17) / cost + 1; /* some 10 us of a thread, whole tiles */

    w.x = native_argument(launch, 0, s->known_x);
    if (s->classifier) {
        w.labels = native_labels_at(&s->labels, launch->args[1].address,
                                    w.scratch + (size_t)device->lanes * s->lane_bytes);
        w.y = launch->n_args > 2 ? launch->args[2].address : NULL;
    } else {
        w.y = launch->args[1].address;
    }
    grain = (grain + NATIVE_SVM_ROWS - 1) / NATIVE_SVM_ROWS * NATIVE_SVM_ROWS;
    if (s->N <= grain || !device->pool)
        run_rows(&w, 0, s->N);
    else
        device->host->parallel_for(run_rows, &w, s->N, grain);
    return native_labels_finish(device, &s->labels, w.labels, s->N, launch->args[1].address, err);
}

/* ---- the model ---- */

static bool is_classifier(const tfr_call *call)
{
    return strcmp(call->name, "SVMClassifier") == 0;
}

/* What needs no memory of its own. */
static void read_model(const tfr_call *call, state *s)
{
    const float *params = native_attr_floats(call, "kernel_params");
    const int64_t *per_class = native_attr_ints(call, "vectors_per_class");
    const float *coefficients = native_attr_floats(call, "coefficients");
    native_svm_model *m = &s->model;
    int64_t i, V = tfr_call_int(call, "n_supports", 0);

    for (i = 0; i < native_attr_length(call, "vectors_per_class"); i++)
        V += per_class[i];
    s->classifier = is_classifier(call);
    s->one_class = tfr_call_int(call, "one_class", 0) != 0;
    s->N = native_samples(tfr_call_input(call, 0));
    s->features = native_features(tfr_call_input(call, 0));
    m->C = s->classifier ? native_count_labels(call, "classlabels_ints") : 1;
    m->V = V > 0 ? V : 0;
    m->transform = native_transform_of(call);
    m->one_rho = native_attr_length(call, "rho") == 1;
    m->probabilities = native_attr_length(call, "prob_a") > 0;
    m->not_negative = true;
    for (i = 0; i < native_attr_length(call, "coefficients"); i++)
        m->not_negative = m->not_negative && coefficients[i] >= 0;
    s->vectors = m->V ? m->V : m->C;
    s->n_ends = m->V ? m->C : 0;
    s->kernel = m->V ? *tfr_call_string(call, "kernel_type", "LINEAR") : 'L';
    if (native_attr_length(call, "kernel_params") == 3) {
        s->gamma = (double)params[0];
        s->coef0 = (double)params[1];
        s->degree = params[2] >= 0 && params[2] < MOST_DEGREE + 1 ? (int)params[2] : -1;
    }
    s->lane_bytes = (size_t)(NATIVE_SVM_ROWS * (TILE + count_sums(s)) +
                             (s->classifier ? native_svm_work(m) : 0)) *
                    sizeof(double);
    s->lane_bytes = (s->lane_bytes + 63) / 64 * 64;
}

void native_svm_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    state s = {0};

    if (tfr_call_input(call, 0)->dtype != TFR_DTYPE_F32) {
        tfr_decline(answer, TFR_REASON_DTYPE, "only float32 is done here");
        return;
    }
    if (!tfr_call_output(call, 0)) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "output 0 is not asked for");
        return;
    }
    if (is_classifier(call) && !native_labels_supports(call, "classlabels_ints", answer))
        return;
    read_model(call, &s);
    if (s.model.one_rho && s.model.C != 2 && native_labels_work(call, 1)) /* the label "1" */
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "one rho of other than two strings is not done");
    else if (s.kernel == 'P' && s.degree < 0)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "only degrees of 0 to 64 are done");
    else
        answer->workspace_bytes =
            (uint64_t)device->lanes * s.lane_bytes + native_labels_work(call, s.N);
}

/* [vectors, features] to panels of `lanes` vectors; those behind the last are zeros. */
static void pack(const float *from, int64_t vectors, int64_t features, int lanes, float *to)
{
    int64_t v, f;

    for (v = 0; v < (vectors + lanes - 1) / lanes * lanes; v++)
        for (f = 0; f < features; f++)
            to[(v / lanes * features + f) * lanes + v % lanes] =
                v < vectors ? from[v * features + f] : 0;
}

static float *copy_floats(const tfr_call *call, const char *name, float *to)
{
    const int64_t n = native_attr_length(call, name);

    if (n)
        memcpy(to, native_attr_floats(call, name), (size_t)n * sizeof *to);
    return to + n;
}

void native_svm_prepare(native_build *b, const tfr_call *call)
{
    const int lanes = b->device->isa->lanes;
    const int64_t *per_class = native_attr_ints(call, "vectors_per_class");
    state *s = native_set_function(b, run, NULL, sizeof *s, "svm");
    int64_t columns, floats, i;
    float *at, *rho, *prob_a, *prob_b;

    if (!s)
        return;
    read_model(call, s);
    columns =
        is_classifier(call) && tfr_call_output(call, 1) ? tfr_call_output(call, 1)->dims[1] : 0;
    s->model.columns = columns;
    s->known_x = tfr_call_input(call, 0)->data;
    floats = (s->vectors + lanes - 1) / lanes * lanes * s->features +
             native_attr_length(call, "coefficients") + native_attr_length(call, "rho") +
             native_attr_length(call, "prob_a") + native_attr_length(call, "prob_b");
    s->ends = native_add_block(b, (size_t)s->model.C * sizeof *s->ends +
                                      (size_t)floats * sizeof *s->panels);
    if (!s->ends || (s->classifier && !native_labels_prepare(b, "classlabels_ints", &s->labels)))
        return;
    at = s->panels = (float *)(void *)(s->ends + s->model.C);
    pack(native_attr_floats(call, s->model.V ? "support_vectors" : "coefficients"), s->vectors,
         s->features, lanes, at);
    s->coefficients = at + (s->vectors + lanes - 1) / lanes * lanes * s->features;
    rho = copy_floats(call, "coefficients", s->coefficients);
    prob_a = copy_floats(call, "rho", rho);
    prob_b = copy_floats(call, "prob_a", prob_a);
    copy_floats(call, "prob_b", prob_b);
    s->model.rho = rho;
    s->model.prob_a = prob_a;
    s->model.prob_b = prob_b;
    for (i = 0; i < s->model.C; i++)
        s->ends[i] = (i ? s->ends[i - 1] : 0) + (per_class ? per_class[i] : s->vectors);
    s->model.labels = s->labels.numbers;
}
