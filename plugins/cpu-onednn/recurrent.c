/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recurrent.c: LSTM, GRU and RNN, one layer in one or both directions.
 *
 * T steps, B the batch, I the input's size, H the hidden size, D directions, G gates. ONNX keeps
 * weights as [D, G * H, I], oneDNN as [1, D, I, G, H] and for LSTM with other places of the gates:
 * i o f c becomes i f c o. The two biases of a gate are added, but for the last gate of a GRU with
 * linear_before_reset, where oneDNN takes both. Constant weights are packed once.
 */
#include <string.h>

#include "families.h"

enum { X, W, R, BIAS, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES }; /* inputs */
enum { Y, Y_H, Y_C };                                             /* outputs */
enum { MAX_GATES = 4 };

typedef struct layer {
    dnnl_alg_kind_t cell;
    int64_t t, b, i, h, d, g;
    bool batch_first;
    int place[MAX_GATES]; /* of ONNX's gate in oneDNN */
} layer;

static void read_layer(const tfr_call *call, layer *l)
{
    static const int same[MAX_GATES] = {0, 1, 2, 3}, lstm[MAX_GATES] = {0, 3, 1, 2};
    const tfr_operand *x = tfr_call_input(call, X);

    l->batch_first = tfr_call_int(call, "layout", 0) != 0;
    l->t = x->dims[l->batch_first ? 1 : 0];
    l->b = x->dims[l->batch_first ? 0 : 1];
    l->i = x->dims[2];
    l->h = tfr_call_input(call, R)->dims[2];
    l->d = tfr_call_input(call, W)->dims[0];
    memcpy(l->place, same, sizeof same);
    if (strcmp(call->name, "LSTM") == 0) {
        l->cell = dnnl_vanilla_lstm;
        l->g = 4;
        memcpy(l->place, lstm, sizeof lstm);
    } else if (strcmp(call->name, "GRU") == 0) {
        l->cell = tfr_call_int(call, "linear_before_reset", 0) ? dnnl_lbr_gru : dnnl_vanilla_gru;
        l->g = 3;
    } else {
        l->cell = dnnl_vanilla_rnn;
        l->g = 1;
    }
}

/* ---- supports ---- */

/* Activation k of all, which is the n of one direction after the other. */
static const char *activation(const tfr_call *call, uint64_t k, uint64_t n)
{
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    const tfr_attr *a = tfr_call_attr(call, "activations");

    if (a && a->type == TFR_ATTR_STRINGS && k < a->n)
        return a->strings[k].data;
    return n == 1 ? "Tanh" : usual[k % n];
}

static dnnl_alg_kind_t rnn_activation(const char *name)
{
    if (strcmp(name, "Tanh") == 0)
        return dnnl_eltwise_tanh;
    if (strcmp(name, "Sigmoid") == 0)
        return dnnl_eltwise_logistic;
    return dnnl_alg_kind_undef; /* Relu, too: it would lose a NaN */
}

static bool want_activations(const tfr_call *call, tfr_answer *answer, const layer *l)
{
    static const char *const gates[] = {"Sigmoid", "Tanh", "Tanh"};
    uint64_t n = l->g == 4 ? 3 : l->g == 3 ? 2 : 1, all = n * (uint64_t)l->d, k;

    for (k = 0; k < all; k++) {
        const char *name = activation(call, k, n);
        const char *wanted = n > 1 ? gates[k % n] : activation(call, 0, 1);
        if (strcmp(name, wanted) == 0 && (n > 1 || rnn_activation(name) != dnnl_alg_kind_undef))
            continue;
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "activation %d is %s, only %s is done here",
                    (int)k, name,
                    n > 1    ? wanted
                    : k == 0 ? "Tanh or Sigmoid"
                             : "the one of both directions");
        return false;
    }
    return true;
}

static bool want_full_lengths(const tfr_call *call, tfr_answer *answer, int64_t steps)
{
    const tfr_operand *o = tfr_call_input(call, LENGTHS);
    int64_t n = o ? tfr_operand_elements(o) : 0, i;

    if (o && !o->data) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "sequence_lens is not a constant");
        return false;
    }
    for (i = 0; i < n; i++) {
        if (((const int32_t *)o->data)[i] == steps)
            continue;
        tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                    "sequence %lld has %d steps of %lld, only full ones are done here",
                    (long long)i, (int)((const int32_t *)o->data)[i], (long long)steps);
        return false;
    }
    return true;
}

void onednn_recurrent_supports(const tfr_plugin_device *device, const tfr_call *call,
                               tfr_answer *answer)
{
    const tfr_operand *bias = tfr_call_input(call, BIAS);
    layer l;

    if (!onednn_want_float(device, call, answer, 1u << LENGTHS, false))
        return;
    read_layer(call, &l);
    if (tfr_operand_elements(tfr_call_input(call, W)) == 0 || l.h == 0)
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "the weights have 0 elements");
    else if (l.cell == dnnl_vanilla_gru && l.h == 1)
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT,
                    "hidden_size is 1, for which oneDNN 3.7 is wrong; 2 or more are done here");
    else if (tfr_call_attr(call, "clip"))
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "clip %g is not done here",
                    (double)tfr_call_float(call, "clip", 0.0f));
    else if (tfr_call_int(call, "input_forget", 0) != 0)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "input_forget is 1, only 0 is done here");
    else if (tfr_call_input(call, PEEPHOLES))
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "peepholes (input 7) are not done here");
    else if (bias && !bias->data)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "the bias (input 3) is not a constant");
    else if (want_activations(call, answer, &l))
        want_full_lengths(call, answer, l.t);
}

/* ---- weights ---- */

static void fill_weights(float *out, const float *in, const layer *l, int64_t n)
{
    int64_t d, g, h, i;

    for (d = 0; d < l->d; d++)
        for (g = 0; g < l->g; g++)
            for (h = 0; h < l->h; h++)
                for (i = 0; i < n; i++)
                    out[((d * n + i) * l->g + l->place[g]) * l->h + h] =
                        in[((d * l->g + g) * l->h + h) * n + i];
}

/* Input w as [1, D, n, G, H], plain, n = I or H. */
static int add_weights(onednn_build *b, const layer *l, uint32_t w, int64_t n)
{
    const tfr_operand *o = tfr_call_input(b->call, w);
    const int64_t dims[5] = {1, l->d, n, l->g, l->h}, gate[5] = {1, l->d, n, 1, l->h};
    const int64_t block = l->g * l->h * n, strides[5] = {l->d * block, block, 1, l->h * n, n};
    onednn_cmd plain = onednn_plain(b, dnnl_f32, 5, dims), given;
    void *data;
    int to, g;

    if (o->data) {
        to = onednn_constant(b, plain, &data);
        if (data)
            fill_weights(data, o->data, l, n);
        return to;
    }
    to = onednn_temporary(b, plain);
    given = onednn_strided(b, dnnl_f32, 5, dims, strides);
    for (g = 0; g < l->g; g++) {
        const int64_t from_at[5] = {0, 0, 0, g, 0}, to_at[5] = {0, 0, 0, l->place[g], 0};
        onednn_add_reorder(b, onednn_input(b, w, onednn_part(b, given, gate, from_at)),
                           onednn_view(b, to, onednn_part(b, plain, gate, to_at)));
    }
    return to;
}

/* [1, D, G, H], or one gate more for linear_before_reset; zeros if there is no bias. */
static int add_bias(onednn_build *b, const layer *l)
{
    const tfr_operand *o = tfr_call_input(b->call, BIAS);
    bool split = l->cell == dnnl_lbr_gru;
    int64_t gates = l->g + (split ? 1 : 0), d, g, h;
    const int64_t dims[4] = {1, l->d, gates, l->h};
    void *data;
    int tensor = onednn_constant(b, onednn_plain(b, dnnl_f32, 4, dims), &data);
    float *out = data;

    if (data)
        memset(data, 0, (size_t)(l->d * gates * l->h) * sizeof *out);
    for (d = 0; data && o && d < l->d; d++) {
        const float *w = (const float *)o->data + d * 2 * l->g * l->h, *r = w + l->g * l->h;
        float *to = out + d * gates * l->h;
        for (g = 0; g < l->g; g++) {
            bool apart = split && g == l->g - 1;
            for (h = 0; h < l->h; h++) {
                to[l->place[g] * l->h + h] = w[g * l->h + h] + (apart ? 0.0f : r[g * l->h + h]);
                if (apart)
                    to[l->g * l->h + h] = r[g * l->h + h];
            }
        }
    }
    return tensor;
}

/* ---- states ---- */

/* A state as [1, D, B, H]. */
static onednn_cmd state_md(onednn_build *b, const layer *l, bool given)
{
    const int64_t dims[4] = {1, l->d, l->b, l->h}, n = l->d * l->b * l->h;
    const int64_t batch_first[4] = {n, l->h, l->d * l->h, 1};

    return given && l->batch_first ? onednn_strided(b, dnnl_f32, 4, dims, batch_first)
                                   : onednn_plain(b, dnnl_f32, 4, dims);
}

/* An initial state, zeros if it is absent. */
static int add_initial(onednn_build *b, const layer *l, uint32_t i)
{
    void *data;
    int tensor;

    if (tfr_call_input(b->call, i))
        return onednn_as(b, onednn_input(b, i, state_md(b, l, true)), state_md(b, l, false));
    tensor = onednn_constant(b, state_md(b, l, false), &data);
    if (data)
        memset(data, 0, (size_t)(l->d * l->b * l->h) * sizeof(float));
    return tensor;
}

/* A last state; *given is the output that is to be reordered from it, or -1. */
static int add_last(onednn_build *b, const layer *l, uint32_t i, int *given)
{
    int to;

    *given = -1;
    if (!tfr_call_output(b->call, i))
        return onednn_temporary(b, state_md(b, l, false));
    to = onednn_output(b, i, state_md(b, l, true));
    if (!l->batch_first)
        return to;
    *given = to;
    return onednn_temporary(b, state_md(b, l, false));
}

/* ---- the layer ---- */

static int add_steps(onednn_build *b, const layer *l)
{
    const int64_t dims[3] = {l->t, l->b, l->i}, batch_first[3] = {l->i, l->t * l->i, 1};
    onednn_cmd plain = onednn_plain(b, dnnl_f32, 3, dims);

    if (!l->batch_first)
        return onednn_input(b, X, plain);
    return onednn_as(b, onednn_input(b, X, onednn_strided(b, dnnl_f32, 3, dims, batch_first)),
                     plain);
}

/* oneDNN gives [T, B, D * H], ONNX wants [T, D, B, H] or [B, T, D, H]. */
static void add_copy_to_y(onednn_build *b, const layer *l, int from)
{
    const int64_t dims[4] = {l->t, l->b, l->d, l->h}, h = l->h;
    const int64_t batch_first[4] = {l->d * h, l->t * l->d * h, h, 1};
    const int64_t time_first[4] = {l->d * l->b * h, h, l->b * h, 1};
    onednn_cmd to = onednn_strided(b, dnnl_f32, 4, dims, l->batch_first ? batch_first : time_first);

    onednn_add_reorder(b, onednn_view(b, from, onednn_plain(b, dnnl_f32, 4, dims)),
                       onednn_output(b, Y, to));
}

static dnnl_rnn_direction_t direction(const tfr_call *call)
{
    const char *name = tfr_call_string(call, "direction", "forward");

    if (strcmp(name, "bidirectional") == 0)
        return dnnl_bidirectional_concat;
    return strcmp(name, "reverse") == 0 ? dnnl_unidirectional_right2left
                                        : dnnl_unidirectional_left2right;
}

/* The primitive over tensors in the order of uses; weights are packed as it likes. */
static void add_layer(onednn_build *b, const layer *l, onednn_use uses[9])
{
    onednn_make make = onednn_maker(b);
    onednn_recurrent r = {0};
    dnnl_status_t status;

    r.cell = l->cell;
    r.activation = rnn_activation(activation(b->call, 0, 1));
    r.direction = direction(b->call);
    r.src = onednn_md_of(b, uses[0].tensor);
    r.h_in = onednn_md_of(b, uses[1].tensor);
    r.c_in = l->g == 4 ? onednn_md_of(b, uses[2].tensor) : NULL;
    r.weights = onednn_any_like(b, uses[3].tensor);
    r.recurrence = onednn_any_like(b, uses[4].tensor);
    r.bias = onednn_md_of(b, uses[5].tensor);
    r.dst = onednn_md_of(b, uses[6].tensor);
    r.h_out = onednn_md_of(b, uses[7].tensor);
    r.c_out = l->g == 4 ? onednn_md_of(b, uses[8].tensor) : NULL;
    if (b->status != TFR_OK)
        return;
    status = onednn_recurrent_layer(&make, &r);
    if (status == dnnl_success) {
        uses[3].tensor = onednn_as(b, uses[3].tensor,
                                   dnnl_primitive_desc_query_md(make.pd, dnnl_query_weights_md, 0));
        uses[4].tensor = onednn_as(b, uses[4].tensor,
                                   dnnl_primitive_desc_query_md(make.pd, dnnl_query_weights_md, 1));
    }
    onednn_add(b, status, &make, b->call->name, uses, 9);
}

void onednn_recurrent_prepare(onednn_build *b, const tfr_call *call)
{
    onednn_use uses[9] = {
        {DNNL_ARG_SRC_LAYER, -1},     {DNNL_ARG_SRC_ITER, -1},     {DNNL_ARG_SRC_ITER_C, -1},
        {DNNL_ARG_WEIGHTS_LAYER, -1}, {DNNL_ARG_WEIGHTS_ITER, -1}, {DNNL_ARG_BIAS, -1},
        {DNNL_ARG_DST_LAYER, -1},     {DNNL_ARG_DST_ITER, -1},     {DNNL_ARG_DST_ITER_C, -1}};
    int h_given, c_given = -1;
    int64_t dims[3];
    onednn_cmd dst;
    bool direct;
    layer l;

    read_layer(call, &l);
    dims[0] = l.t;
    dims[1] = l.b;
    dims[2] = l.d * l.h;
    dst = onednn_plain(b, dnnl_f32, 3, dims);
    direct = tfr_call_output(call, Y) && l.d == 1 && !l.batch_first;
    uses[0].tensor = add_steps(b, &l);
    uses[1].tensor = add_initial(b, &l, INITIAL_H);
    uses[3].tensor = add_weights(b, &l, W, l.i);
    uses[4].tensor = add_weights(b, &l, R, l.h);
    uses[5].tensor = add_bias(b, &l);
    uses[6].tensor = direct ? onednn_output(b, Y, dst) : onednn_temporary(b, dst);
    uses[7].tensor = add_last(b, &l, Y_H, &h_given);
    if (l.g == 4) {
        uses[2].tensor = add_initial(b, &l, INITIAL_C);
        uses[8].tensor = add_last(b, &l, Y_C, &c_given);
    }
    add_layer(b, &l, uses);
    if (h_given >= 0)
        onednn_add_reorder(b, uses[7].tensor, h_given);
    if (c_given >= 0)
        onednn_add_reorder(b, uses[8].tensor, c_given);
    if (tfr_call_output(call, Y) && !direct)
        add_copy_to_y(b, &l, uses[6].tensor);
}
