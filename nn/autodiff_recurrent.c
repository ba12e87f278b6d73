/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_recurrent.c: RNN, GRU and LSTM as what they are made of, which is differentiated in
 * their place. T steps, B batch, I input size, H hidden size, G gates. Of each direction:
 *
 *   S = X W' + Wb       [T B G*H], outside of the loop
 *   Scan over S         with the states H, and C of LSTM, [B H]; its body is one step
 *
 * With sequence_lens the steps beyond a sequence leave the states and give 0; backwards the
 * sequences are reversed, each by itself, before and after.
 */
#include <ctype.h>
#include <string.h>

#include "autodiff.h"

enum { MOST_DIRECTIONS = 2, MOST_ACTIVATIONS = 3 };

typedef struct activation {
    const char *name;
    float alpha, beta; /* when they are not given */
    bool has_alpha, has_beta;
} activation;

static const activation activations[] = {
    {"Affine", 1, 0, true, true},
    {"Elu", 1, 0, true, false},
    {"HardSigmoid", 0.2f, 0.5f, true, true},
    {"LeakyRelu", 0.01f, 0, true, false},
    {"Relu", 0, 0, false, false},
    {"ScaledTanh", 1, 1, true, true},
    {"Sigmoid", 0, 0, false, false},
    {"Softplus", 0, 0, false, false},
    {"Softsign", 0, 0, false, false},
    {"Tanh", 0, 0, false, false},
    {"ThresholdedRelu", 1, 0, true, false},
};

/* One direction of a node. */
typedef struct cell {
    tfr__diff *d;
    tfr__diff_body body;
    uint32_t gates, states, n_activations;
    bool lengths, flag; /* sequence_lens is there; linear_before_reset or input_forget */
    activation f[MOST_DIRECTIONS * MOST_ACTIVATIONS], *at; /* of both; of this direction */
    tfr_value one, zero, clip[2];                          /* scalars */
    tfr_value r, r_bias, peepholes[3];                     /* [H G*H], [G*H], [H] */
} cell;

/* ---- activations ----------------------------------------------------------------------------- */

static const activation *find_activation(const char *name, size_t bytes)
{
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++) {
        const char *is = activations[i].name;
        size_t k = 0;
        while (k < bytes && tolower((unsigned char)is[k]) == tolower((unsigned char)name[k]))
            k++;
        if (k == bytes && !is[k])
            return &activations[i];
    }
    return NULL;
}

/* Numbers go to the functions that have them, in their order. */
static void read_activations(cell *c, uint32_t directions)
{
    const char *const defaults[] = {c->gates == 1 ? "Tanh" : "Sigmoid", "Tanh", "Tanh"};
    const tfr_attr *names = tfr_node_attr(&c->d->node, "activations"),
                   *alphas = tfr_node_attr(&c->d->node, "activation_alpha"),
                   *betas = tfr_node_attr(&c->d->node, "activation_beta");
    uint64_t n_alpha = 0, n_beta = 0;
    for (uint32_t i = 0; i < c->n_activations * directions; i++) {
        const char *name = defaults[i % c->n_activations];
        size_t bytes = strlen(name);
        const activation *f;
        if (names && i < names->n) {
            name = names->strings[i].data;
            bytes = names->strings[i].bytes;
        }
        f = find_activation(name, bytes);
        if (!f) {
            tfr__diff_refuse(c->d, "one of its activations is not known");
            return;
        }
        c->f[i] = *f;
        if (f->has_alpha && alphas && n_alpha < alphas->n)
            c->f[i].alpha = alphas->floats[n_alpha++];
        if (f->has_beta && betas && n_beta < betas->n)
            c->f[i].beta = betas->floats[n_beta++];
    }
}

static tfr_value number(cell *c, float value)
{
    return tfr__diff_body_capture(&c->body,
                                  tfr__diff_scalar(c->d, (double)value, tfr__diff_in(c->d, 0)));
}

static tfr_value plus(cell *c, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(&c->body.in, "Add", a, b);
}

static tfr_value times(cell *c, tfr_value a, tfr_value b)
{
    return tfr__diff_op2(&c->body.in, "Mul", a, b);
}

static tfr_value activate(cell *c, uint32_t which, tfr_value v)
{
    const activation *f = &c->at[which];
    const tfr_attr attrs[] = {TFR_SET_FLOAT("alpha", f->alpha), TFR_SET_FLOAT("beta", f->beta)};
    if (c->clip[0] != TFR_VALUE_NONE)
        v = tfr__diff_op3(&c->body.in, "Clip", v, tfr__diff_body_capture(&c->body, c->clip[0]),
                          tfr__diff_body_capture(&c->body, c->clip[1]));
    if (strcmp(f->name, "Affine") == 0)
        return plus(c, times(c, v, number(c, f->alpha)), number(c, f->beta));
    if (strcmp(f->name, "ScaledTanh") == 0)
        return times(c, tfr__diff_op1(&c->body.in, "Tanh", times(c, v, number(c, f->beta))),
                     number(c, f->alpha));
    return tfr__diff_node(&c->body.in, f->name, &v, 1, attrs,
                          (uint32_t)f->has_alpha + (uint32_t)f->has_beta);
}

/* ---- one step -------------------------------------------------------------------------------- */

/* The last axis in n parts, in the outer graph or in the body. */
static void split(tfr__diff *d, tfr_value v, uint32_t n, tfr_value *parts)
{
    const tfr_attr attrs[] = {TFR_SET_INT("axis", -1), TFR_SET_INT("num_outputs", n)};
    if (n == 1)
        *parts = v;
    else
        tfr__diff_nodes(d, "Split", &v, 1, attrs, 2, parts, n);
}

static tfr_value from_state(cell *c, tfr_value h, tfr_value r)
{
    return tfr__diff_op2(&c->body.in, "MatMul", h, tfr__diff_body_capture(&c->body, r));
}

/* s: x W' + Wb + Rb of all gates. */
static void step_rnn(cell *c, tfr_value s, tfr_value *state)
{
    state[0] = activate(c, 0, plus(c, s, from_state(c, state[0], c->r)));
}

/* With linear_before_reset s of the last gate lacks its Rb. */
static void step_gru(cell *c, tfr_value s, tfr_value *state)
{
    tfr_value x[3], r[3], h[3], z, reset, n;
    split(&c->body.in, s, 3, x);
    split(c->d, c->r, 3, r);
    for (int i = 0; i < 2; i++)
        h[i] = plus(c, x[i], from_state(c, state[0], r[i]));
    z = activate(c, 0, h[0]);
    reset = activate(c, 0, h[1]);
    if (c->flag) {
        n = from_state(c, state[0], r[2]);
        if (c->r_bias != TFR_VALUE_NONE)
            n = plus(c, n, tfr__diff_body_capture(&c->body, c->r_bias));
        n = times(c, reset, n);
    } else {
        n = from_state(c, times(c, reset, state[0]), r[2]);
    }
    n = activate(c, 1, plus(c, x[2], n));
    state[0] = plus(c, n, times(c, z, tfr__diff_op2(&c->body.in, "Sub", state[0], n)));
}

/* v + P[gate] . state */
static tfr_value peep(cell *c, uint32_t gate, tfr_value v, tfr_value state)
{
    return c->peepholes[gate] == TFR_VALUE_NONE
               ? v
               : plus(c, v, times(c, tfr__diff_body_capture(&c->body, c->peepholes[gate]), state));
}

static void step_lstm(cell *c, tfr_value s, tfr_value *state)
{
    enum { I, O, F, C };
    tfr_value g[4], i, o, f;
    split(&c->body.in, plus(c, s, from_state(c, state[0], c->r)), 4, g);
    i = activate(c, 0, peep(c, I, g[I], state[1]));
    f = c->flag ? tfr__diff_op2(&c->body.in, "Sub", tfr__diff_body_capture(&c->body, c->one), i)
                : activate(c, 0, peep(c, F, g[F], state[1]));
    state[1] = plus(c, times(c, f, state[1]), times(c, i, activate(c, 1, g[C])));
    o = activate(c, 0, peep(c, O, g[O], state[1]));
    state[0] = times(c, o, activate(c, 2, state[1]));
}

/* States, then s, then whether the step is one of the sequence; gives states and H or 0. */
static void make_body(cell *c)
{
    tfr_value before[2], state[2], s, runs = TFR_VALUE_NONE, y;
    for (uint32_t i = 0; i < c->states; i++)
        before[i] = state[i] = tfr__diff_body_input(&c->body);
    s = tfr__diff_body_input(&c->body);
    if (c->lengths)
        runs = tfr__diff_body_input(&c->body);
    if (c->gates == 4)
        step_lstm(c, s, state);
    else if (c->gates == 3)
        step_gru(c, s, state);
    else
        step_rnn(c, s, state);
    y = tfr__diff_op1(&c->body.in, "Identity", state[0]);
    if (c->lengths) {
        y = tfr__diff_op3(&c->body.in, "Where", runs, state[0],
                          tfr__diff_body_capture(&c->body, c->zero));
        for (uint32_t i = 0; i < c->states; i++)
            state[i] = tfr__diff_op3(&c->body.in, "Where", runs, state[i], before[i]);
    }
    for (uint32_t i = 0; i < c->states; i++)
        tfr__diff_body_output(&c->body, state[i]);
    tfr__diff_body_output(&c->body, y);
}

/* ---- around the loop ------------------------------------------------------------------------- */

static tfr_value transposed(tfr__diff *d, tfr_value v, const int64_t *perm, uint32_t n)
{
    const tfr_attr attr = {
        .size = sizeof attr, .type = TFR_ATTR_INTS, .name = "perm", .n = n, .ints = perm};
    return tfr__diff_node(d, "Transpose", &v, 1, &attr, 1);
}

/* The direction of an operand whose axis 0 is directions, without that axis. */
static tfr_value of_direction(tfr__diff *d, tfr_value v, uint32_t i, uint32_t n)
{
    const tfr_attr attrs[] = {TFR_SET_INT("axis", 0), TFR_SET_INT("num_outputs", n)};
    const int64_t first = 0;
    tfr_value parts[MOST_DIRECTIONS] = {v, v};
    if (v == TFR_VALUE_NONE)
        return v;
    if (n > 1)
        tfr__diff_nodes(d, "Split", &v, 1, attrs, 2, parts, n);
    return tfr__diff_op2(d, "Squeeze", parts[i], tfr__diff_ints(d, &first, 1));
}

/* A state at first: operand k, [D B H] or [B D H], or zeros. */
static tfr_value start_of(tfr__diff *d, uint32_t k, tfr_value x, uint32_t i, uint32_t n)
{
    static const int64_t swap[] = {1, 0, 2};
    tfr_value v = tfr__diff_in(d, k), lists[2];
    if (v != TFR_VALUE_NONE)
        return of_direction(d, tfr__diff_int(d, "layout", 0) ? transposed(d, v, swap, 3) : v, i, n);
    lists[0] = tfr__diff_dims(d, x, 1, 2);
    lists[1] = tfr__diff_dims(d, tfr__diff_in(d, 2), 2, 3);
    return tfr__diff_op2(d, "Expand", tfr__diff_scalar(d, 0, tfr__diff_in(d, 0)),
                         tfr__diff_join(d, lists, 2));
}

/* Is step t one of the sequence of b? [T B 1] */
static tfr_value steps_that_run(tfr__diff *d, tfr_value x)
{
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_I64)};
    const int64_t last = 1, back[] = {1, 2};
    tfr_value t = tfr__diff_dims(d, x, 0, 1), lengths = tfr__diff_in(d, 4), first;
    first = tfr__diff_int_scalar(d, 0);
    t = tfr__diff_op2(d, "Squeeze", t, tfr__diff_ints(d, &(const int64_t){0}, 1));
    t = tfr__diff_op3(d, "Range", first, t, tfr__diff_int_scalar(d, 1));
    t = tfr__diff_op2(d, "Unsqueeze", t, tfr__diff_ints(d, back, 2));
    lengths = tfr__diff_node(d, "Cast", &lengths, 1, to, 1);
    lengths = tfr__diff_op2(d, "Unsqueeze", lengths, tfr__diff_ints(d, &last, 1));
    return tfr__diff_op2(d, "Less", t, lengths);
}

static tfr_value reversed(tfr__diff *d, tfr_value v)
{
    const tfr_attr axes[] = {TFR_SET_INT("time_axis", 0), TFR_SET_INT("batch_axis", 1)};
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_I64)};
    tfr_value lengths = tfr__diff_in(d, 4);
    lengths = tfr__diff_node(d, "Cast", &lengths, 1, to, 1);
    return tfr__diff_node(d, "ReverseSequence", (const tfr_value[]){v, lengths}, 2, axes, 2);
}

/* S, and what the body reads of R, biases and peepholes. */
static tfr_value prepare(cell *c, tfr_value x, uint32_t i, uint32_t n)
{
    tfr__diff *d = c->d;
    static const int64_t swap[] = {1, 0};
    tfr_value b = of_direction(d, tfr__diff_in(d, 3), i, n), biases[2], parts[2][3];
    tfr_value p = of_direction(d, tfr__diff_in(d, 7), i, n);
    tfr_value s = transposed(d, of_direction(d, tfr__diff_in(d, 1), i, n), swap, 2);
    s = tfr__diff_op2(d, "MatMul", x, s);
    c->r = transposed(d, of_direction(d, tfr__diff_in(d, 2), i, n), swap, 2);
    c->r_bias = TFR_VALUE_NONE;
    if (b != TFR_VALUE_NONE) {
        split(d, b, 2, biases);
        if (c->gates == 3 && c->flag) {
            const tfr_attr axis[] = {TFR_SET_INT("axis", 0)};
            split(d, biases[1], 3, parts[0]);
            c->r_bias = parts[0][2];
            parts[0][2] = tfr__diff_filled_like(d, 0, c->r_bias);
            biases[1] = tfr__diff_node(d, "Concat", parts[0], 3, axis, 1);
        }
        s = tfr__diff_op2(d, "Add", s, tfr__diff_op2(d, "Add", biases[0], biases[1]));
    }
    for (int k = 0; k < 3; k++)
        c->peepholes[k] = TFR_VALUE_NONE;
    if (p != TFR_VALUE_NONE)
        split(d, p, 3, c->peepholes);
    return s;
}

/* Direction i of n: out gets Y [T B H] and the last states [B H]. */
static void run_direction(cell *c, tfr_value x, uint32_t i, uint32_t n, tfr_value *out)
{
    tfr__diff *d = c->d;
    const bool back = i == 1 || tfr__diff_is(d, "direction", "forward", "reverse");
    const int64_t turn[] = {back && !c->lengths, back && !c->lengths};
    const tfr_attr attrs[] = {TFR_SET_INT("num_scan_inputs", 1 + c->lengths),
                              {.size = sizeof(tfr_attr),
                               .type = TFR_ATTR_INTS,
                               .name = "scan_input_directions",
                               .n = 1 + c->lengths,
                               .ints = turn},
                              TFR_SET_INTS("scan_output_directions", back && !c->lengths)};
    tfr_value inputs[4], s = prepare(c, back && c->lengths ? reversed(d, x) : x, i, n);
    c->at = c->f + i * c->n_activations;
    for (uint32_t k = 0; k < c->states; k++)
        inputs[k] = start_of(d, 5 + k, x, i, n);
    inputs[c->states] = s;
    if (c->lengths)
        inputs[c->states + 1] = steps_that_run(d, x);
    tfr__diff_body_open(&c->body, d);
    make_body(c);
    tfr__diff_body_scan(&c->body, inputs, c->states + 1 + c->lengths, attrs, 3, out + 1,
                        c->states + 1);
    if (d->status)
        return;
    out[0] = out[1 + c->states];
    if (back && c->lengths)
        out[0] = reversed(d, out[0]);
}

/* Directions side by side along an axis of their own, in the layout of output k. */
static tfr_value together(tfr__diff *d, tfr_value *parts, uint32_t n, bool y)
{
    static const int64_t y_perm[] = {2, 0, 1, 3}, state_perm[] = {1, 0, 2};
    const int64_t axis = y;
    const tfr_attr along[] = {TFR_SET_INT("axis", axis)};
    tfr_value v;
    for (uint32_t i = 0; i < n; i++)
        parts[i] = tfr__diff_op2(d, "Unsqueeze", parts[i], tfr__diff_ints(d, &axis, 1));
    v = n == 1 ? parts[0] : tfr__diff_node(d, "Concat", parts, n, along, 1);
    if (!tfr__diff_int(d, "layout", 0))
        return v;
    return transposed(d, v, y ? y_perm : state_perm, y ? 4 : 3);
}

void tfr__diff_recurrent(tfr__diff *d, tfr_value g)
{
    static const int64_t swap[] = {1, 0, 2};
    const uint32_t first = tfr_graph_n_nodes(d->graph),
                   n = tfr__diff_is(d, "direction", "forward", "bidirectional") ? 2 : 1;
    const char op = d->node.op[0];
    const tfr_attr *clip = tfr_node_attr(&d->node, "clip");
    cell c = {.d = d,
              .gates = op == 'L'   ? 4
                       : op == 'G' ? 3
                                   : 1,
              .states = op == 'L' ? 2 : 1,
              .n_activations = op == 'L'   ? 3
                               : op == 'G' ? 2
                                           : 1,
              .lengths = tfr__diff_in(d, 4) != TFR_VALUE_NONE,
              .clip = {TFR_VALUE_NONE, TFR_VALUE_NONE}};
    tfr_value x = tfr__diff_in(d, 0), found[MOST_DIRECTIONS][4], outs[3], parts[MOST_DIRECTIONS];
    (void)g;
    c.flag = tfr__diff_int(d, op == 'L' ? "input_forget" : "linear_before_reset", 0) != 0;
    read_activations(&c, n);
    c.one = tfr__diff_scalar(d, 1, x);
    c.zero = tfr__diff_scalar(d, 0, x);
    for (int i = 0; clip && i < 2; i++)
        c.clip[i] = tfr__diff_scalar(d, (double)(i ? clip->floats[0] : -clip->floats[0]), x);
    if (tfr__diff_int(d, "layout", 0))
        x = transposed(d, x, swap, 3);
    for (uint32_t i = 0; i < n; i++)
        run_direction(&c, x, i, n, found[i]);
    for (uint32_t k = 0; !d->status && k <= c.states; k++) {
        for (uint32_t i = 0; i < n; i++)
            parts[i] = found[i][k];
        outs[k] = together(d, parts, n, k == 0);
    }
    tfr__diff_through(d, first, outs);
}
