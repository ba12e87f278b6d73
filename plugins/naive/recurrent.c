/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RNN, GRU, LSTM (all ONNX 22). With s(g) = x[t] * W[g]^T + H * R[g]^T + Wb[g] + Rb[g], . the
 * product of elements, and f, g, h the activations of the direction:
 *
 *   RNN   H' = f(s(i))
 *   GRU   z = f(s(z)); r = f(s(r)); H' = (1 - z) . n + z . H, where
 *         n = g(x W[h]^T + (r . H) R[h]^T + Wb[h] + Rb[h]), or with linear_before_reset
 *         n = g(x W[h]^T + r . (H R[h]^T + Rb[h]) + Wb[h])
 *   LSTM  i = f(s(i) + P[i] . C); f = f(s(f) + P[f] . C), or 1 - i with input_forget;
 *         C' = f . C + i . g(s(c)); o = f(s(o) + P[o] . C'); H' = o . h(C')
 *
 * X [T B I] or with layout 1 [B T I]; W [D G*H I]; R [D G*H H]; B [D 2*G*H]; P [D 3*H] (i o f);
 * initial and last states [D B H] or [B D H]; Y [T D B H] or [B T D H]. Gates are in the order i;
 * z r h; i o f c. clip bounds every activation's argument. The reverse direction walks the T steps,
 * or the batch's sequence_lens, backwards; steps beyond a sequence give 0 and leave the state.
 * The core gives the activations of all directions in ONNX's spelling, with an alpha and a beta for
 * each. State is double between the steps, outputs are rounded once; NaN spreads.
 */
#include "tensor.h"

#include <math.h>
#include <string.h>

enum { MAX_GATES = 4, MAX_ACTIVATIONS = 3, MAX_DIRECTIONS = 2 };

/* ---- activations ---- */

typedef struct activation {
    const char *name;
    double (*f)(double x, double alpha, double beta);
} activation;

static double f_affine(double x, double alpha, double beta)
{
    return alpha * x + beta;
}

static double f_elu(double x, double alpha, double beta)
{
    (void)beta;
    return x >= 0 ? x : alpha * expm1(x);
}

static double f_hard_sigmoid(double x, double alpha, double beta)
{
    double v = alpha * x + beta;

    return v < 0 ? 0 : v > 1 ? 1 : v;
}

static double f_leaky_relu(double x, double alpha, double beta)
{
    (void)beta;
    return x >= 0 ? x : alpha * x;
}

static double f_relu(double x, double alpha, double beta)
{
    (void)alpha;
    (void)beta;
    return x < 0 ? 0 : x;
}

static double f_scaled_tanh(double x, double alpha, double beta)
{
    return alpha * tanh(beta * x);
}

static double f_sigmoid(double x, double alpha, double beta)
{
    (void)alpha;
    (void)beta;
    return 1 / (1 + exp(-x));
}

static double f_softplus(double x, double alpha, double beta)
{
    (void)alpha;
    (void)beta;
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double f_softsign(double x, double alpha, double beta)
{
    (void)alpha;
    (void)beta;
    return x / (1 + fabs(x));
}

static double f_tanh(double x, double alpha, double beta)
{
    (void)alpha;
    (void)beta;
    return tanh(x);
}

static double f_thresholded_relu(double x, double alpha, double beta)
{
    (void)beta;
    return x < alpha ? 0 : x;
}

static const activation activations[] = {
    {"Affine", f_affine},
    {"Elu", f_elu},
    {"HardSigmoid", f_hard_sigmoid},
    {"LeakyRelu", f_leaky_relu},
    {"Relu", f_relu},
    {"ScaledTanh", f_scaled_tanh},
    {"Sigmoid", f_sigmoid},
    {"Softplus", f_softplus},
    {"Softsign", f_softsign},
    {"Tanh", f_tanh},
    {"ThresholdedRelu", f_thresholded_relu},
};

/* Activation i of the call; NULL if it has no name that is known. */
static const activation *find_activation(const tfr_call *call, uint64_t i)
{
    const tfr_attr *names = tfr_call_attr(call, "activations");
    size_t k;

    for (k = 0; names && i < names->n && k < sizeof(activations) / sizeof(activations[0]); k++)
        if (strcmp(activations[k].name, names->strings[i].data) == 0)
            return &activations[k];
    return NULL;
}

/* ---- what the three ops share ---- */

typedef struct recurrent {
    naive_tensor x, w, r, b, lens, initial_h, initial_c, p, y, y_h, y_c;
    int64_t T, B, I, H, D, gates; /* steps, batch, input size, hidden size, directions, gates */
    bool batch_first, backwards, has_clip, flag; /* flag: the op's own int attribute */
    double clip;
    uint32_t n_activations; /* of a direction */
    const activation *f[MAX_DIRECTIONS * MAX_ACTIVATIONS];
    const float *alpha, *beta; /* one for each of f */
} recurrent;

/* The state of one direction and one entry of the batch: arrays of H. */
typedef struct state {
    double *h, *c, *gate[MAX_GATES];
} state;

static uint64_t workspace_recurrent(const tfr_call *call)
{
    const tfr_operand *r = tfr_call_input(call, 2);

    return (uint64_t)r->dims[2] * (2 + MAX_GATES) * sizeof(double);
}

static uint32_t count_activations(const char *name)
{
    return strcmp(name, "LSTM") == 0 ? 3 : strcmp(name, "GRU") == 0 ? 2 : 1;
}

static int32_t supports_recurrent(const tfr_call *call, tfr_answer *answer)
{
    uint64_t n = count_activations(call->name) * (uint64_t)tfr_call_input(call, 1)->dims[0], i;

    for (i = 0; i < n; i++)
        if (!find_activation(call, i))
            return tfr_decline(answer, TFR_REASON_ATTRIBUTE, "activation %llu is not known",
                               (unsigned long long)i);
    return TFR_OK;
}

static int32_t read_activations(recurrent *r, const tfr_call *call, tfr_err *err)
{
    uint64_t n = r->n_activations * (uint64_t)r->D, n_alpha, n_beta, i;

    r->alpha = naive_attr_floats(call, "activation_alpha", &n_alpha);
    r->beta = naive_attr_floats(call, "activation_beta", &n_beta);
    for (i = 0; i < n; i++) {
        r->f[i] = find_activation(call, i);
        if (!r->f[i] || n_alpha != n || n_beta != n)
            return tfr_fail(err, TFR_EINVAL, "activation %llu of %llu is not known",
                            (unsigned long long)i, (unsigned long long)n);
    }
    return TFR_OK;
}

static int32_t recurrent_init(recurrent *r, const naive_kernel *k, const tfr_launch *launch,
                              int64_t gates, const char *flag, tfr_err *err)
{
    const tfr_call *call = &k->call;

    r->x = naive_input(k, launch, 0);
    r->w = naive_input(k, launch, 1);
    r->r = naive_input(k, launch, 2);
    r->b = naive_input(k, launch, 3);
    r->lens = naive_input(k, launch, 4);
    r->initial_h = naive_input(k, launch, 5);
    r->initial_c = naive_input(k, launch, 6);
    r->p = naive_input(k, launch, 7);
    r->y = naive_output(k, launch, 0);
    r->y_h = naive_output(k, launch, 1);
    r->y_c = naive_output(k, launch, 2);
    r->batch_first = tfr_call_int(call, "layout", 0) != 0;
    r->backwards = strcmp(tfr_call_string(call, "direction", "forward"), "reverse") == 0;
    r->T = r->x.dims[r->batch_first ? 1 : 0];
    r->B = r->x.dims[r->batch_first ? 0 : 1];
    r->I = r->x.dims[2];
    r->H = r->r.dims[2];
    r->D = r->w.dims[0];
    r->gates = gates;
    r->has_clip = tfr_call_attr(call, "clip") != NULL;
    r->clip = tfr_call_float(call, "clip", 0);
    r->flag = flag && tfr_call_int(call, flag, 0) != 0;
    r->n_activations = count_activations(k->op->name);
    if (r->D < 1 || r->D > MAX_DIRECTIONS)
        return tfr_fail(err, TFR_EINVAL, "%lld directions are not 1 or 2", (long long)r->D);
    return read_activations(r, call, err);
}

/* Element j of states or of Y for a direction and entry of the batch (and a step). */
static int64_t state_at(const recurrent *r, int64_t d, int64_t b, int64_t j)
{
    return (r->batch_first ? b * r->D + d : d * r->B + b) * r->H + j;
}

static int64_t y_at(const recurrent *r, int64_t t, int64_t d, int64_t b, int64_t j)
{
    return (r->batch_first ? (b * r->T + t) * r->D + d : (t * r->D + d) * r->B + b) * r->H + j;
}

/* x[t] * W[gate]^T, element j. */
static double from_input(const recurrent *r, int64_t d, int64_t b, int64_t t, int64_t gate,
                         int64_t j)
{
    int64_t x = (r->batch_first ? b * r->T + t : t * r->B + b) * r->I;
    int64_t w = ((d * r->gates + gate) * r->H + j) * r->I, i;
    double sum = 0;

    for (i = 0; i < r->I; i++)
        sum += naive_read(&r->x, x + i) * naive_read(&r->w, w + i);
    return sum;
}

/* (h . factor) * R[gate]^T, element j; factor NULL = ones. */
static double from_state(const recurrent *r, int64_t d, const double *h, const double *factor,
                         int64_t gate, int64_t j)
{
    int64_t w = ((d * r->gates + gate) * r->H + j) * r->H, i;
    double sum = 0;

    for (i = 0; i < r->H; i++)
        sum += h[i] * (factor ? factor[i] : 1) * naive_read(&r->r, w + i);
    return sum;
}

/* Wb[gate] (which 0) or Rb[gate] (which 1), element j. */
static double bias(const recurrent *r, int64_t d, int64_t which, int64_t gate, int64_t j)
{
    return r->b.n ? naive_read(&r->b, ((d * 2 + which) * r->gates + gate) * r->H + j) : 0;
}

/* s(gate), element j. */
static double gate_sum(const recurrent *r, int64_t d, int64_t b, int64_t t, const state *s,
                       int64_t gate, int64_t j)
{
    return from_input(r, d, b, t, gate, j) + from_state(r, d, s->h, NULL, gate, j) +
           bias(r, d, 0, gate, j) + bias(r, d, 1, gate, j);
}

static double activate(const recurrent *r, int64_t d, uint32_t which, double v)
{
    uint64_t i = (uint64_t)d * r->n_activations + which;

    if (r->has_clip && v > r->clip)
        v = r->clip;
    if (r->has_clip && v < -r->clip)
        v = -r->clip;
    return r->f[i]->f(v, (double)r->alpha[i], (double)r->beta[i]);
}

/* ---- one step of each op ---- */

static void step_rnn(const recurrent *r, int64_t d, int64_t b, int64_t t, state *s)
{
    int64_t j;

    for (j = 0; j < r->H; j++)
        s->gate[0][j] = activate(r, d, 0, gate_sum(r, d, b, t, s, 0, j));
    for (j = 0; j < r->H; j++)
        s->h[j] = s->gate[0][j];
}

static void step_gru(const recurrent *r, int64_t d, int64_t b, int64_t t, state *s)
{
    double *z = s->gate[0], *reset = s->gate[1], *n = s->gate[2];
    int64_t j;

    for (j = 0; j < r->H; j++) {
        z[j] = activate(r, d, 0, gate_sum(r, d, b, t, s, 0, j));
        reset[j] = activate(r, d, 0, gate_sum(r, d, b, t, s, 1, j));
    }
    for (j = 0; j < r->H; j++) {
        double v = from_input(r, d, b, t, 2, j) + bias(r, d, 0, 2, j);
        if (r->flag) /* linear_before_reset */
            v += reset[j] * (from_state(r, d, s->h, NULL, 2, j) + bias(r, d, 1, 2, j));
        else
            v += from_state(r, d, s->h, reset, 2, j) + bias(r, d, 1, 2, j);
        n[j] = activate(r, d, 1, v);
    }
    for (j = 0; j < r->H; j++)
        s->h[j] = (1 - z[j]) * n[j] + z[j] * s->h[j];
}

/* P[gate] . c, element j; gates in the order i o f. */
static double peephole(const recurrent *r, int64_t d, int64_t gate, int64_t j, double c)
{
    return r->p.n ? naive_read(&r->p, (d * 3 + gate) * r->H + j) * c : 0;
}

static void step_lstm(const recurrent *r, int64_t d, int64_t b, int64_t t, state *s)
{
    enum { I, O, F, C };
    double **g = s->gate;
    int64_t gate, j;

    for (gate = 0; gate < r->gates; gate++)
        for (j = 0; j < r->H; j++)
            g[gate][j] = gate_sum(r, d, b, t, s, gate, j);
    for (j = 0; j < r->H; j++) {
        double i = activate(r, d, 0, g[I][j] + peephole(r, d, I, j, s->c[j])), f, o;
        f = r->flag ? 1 - i : activate(r, d, 0, g[F][j] + peephole(r, d, F, j, s->c[j]));
        s->c[j] = f * s->c[j] + i * activate(r, d, 1, g[C][j]);
        o = activate(r, d, 0, g[O][j] + peephole(r, d, O, j, s->c[j]));
        s->h[j] = o * activate(r, d, 2, s->c[j]);
    }
}

/* ---- the loop over direction, batch and time ---- */

typedef void (*step_fn)(const recurrent *r, int64_t d, int64_t b, int64_t t, state *s);

static void run_sequence(const recurrent *r, step_fn step, int64_t d, int64_t b, int64_t length,
                         state *s)
{
    bool backwards = r->backwards || d == 1;
    int64_t i, j, t;

    for (j = 0; j < r->H; j++) {
        s->h[j] = r->initial_h.n ? naive_read(&r->initial_h, state_at(r, d, b, j)) : 0;
        s->c[j] = r->initial_c.n ? naive_read(&r->initial_c, state_at(r, d, b, j)) : 0;
    }
    for (i = 0; i < r->T; i++) {
        t = backwards && i < length ? length - 1 - i : i;
        if (i < length)
            step(r, d, b, t, s);
        for (j = 0; j < r->H && r->y.operand; j++)
            naive_write(&r->y, y_at(r, t, d, b, j), i < length ? s->h[j] : 0);
    }
    for (j = 0; j < r->H; j++) {
        if (r->y_h.operand)
            naive_write(&r->y_h, state_at(r, d, b, j), s->h[j]);
        if (r->y_c.operand)
            naive_write(&r->y_c, state_at(r, d, b, j), s->c[j]);
    }
}

static int32_t run_all(const recurrent *r, const tfr_launch *launch, step_fn step, tfr_err *err)
{
    double *room = launch->workspace;
    int64_t d, b, g;
    state s;

    if (r->H == 0)
        return TFR_OK;
    s.h = room;
    s.c = room + r->H;
    for (g = 0; g < MAX_GATES; g++)
        s.gate[g] = room + (2 + g) * r->H;
    for (b = 0; b < r->B; b++) {
        int64_t length = r->lens.n ? naive_read_int(&r->lens, b) : r->T;
        if (length < 0 || length > r->T)
            return tfr_fail(err, TFR_EINVAL,
                            "sequence length %lld of batch %lld is outside [0, %lld]",
                            (long long)length, (long long)b, (long long)r->T);
        for (d = 0; d < r->D; d++)
            run_sequence(r, step, d, b, length, &s);
    }
    return TFR_OK;
}

static int32_t run_rnn(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    recurrent r;
    int32_t status = recurrent_init(&r, k, launch, 1, NULL, err);

    return status ? status : run_all(&r, launch, step_rnn, err);
}

static int32_t run_gru(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    recurrent r;
    int32_t status = recurrent_init(&r, k, launch, 3, "linear_before_reset", err);

    return status ? status : run_all(&r, launch, step_gru, err);
}

static int32_t run_lstm(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    recurrent r;
    int32_t status = recurrent_init(&r, k, launch, 4, "input_forget", err);

    return status ? status : run_all(&r, launch, step_lstm, err);
}

const naive_op naive_recurrent_ops[] = {
    {.domain = "",
     .name = "GRU",
     .since_version = 22,
     .supports = supports_recurrent,
     .run = run_gru,
     .workspace = workspace_recurrent},
    {.domain = "",
     .name = "LSTM",
     .since_version = 22,
     .supports = supports_recurrent,
     .run = run_lstm,
     .workspace = workspace_recurrent},
    {.domain = "",
     .name = "RNN",
     .since_version = 22,
     .supports = supports_recurrent,
     .run = run_rnn,
     .workspace = workspace_recurrent},
    {.name = NULL},
};
