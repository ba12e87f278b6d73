/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_rnn.c: RNN, GRU and LSTM. Letters: T steps, B batch, I input size, H hidden size, D
 * directions, G gates (1, 3, 4). layout 1 puts the batch in front.
 */
#include <string.h>

#include "op/infer_kit.h"

/* The functions that gates may use, with the defaults of alpha and beta. */
static const struct {
    const char *name;
    bool has_alpha, has_beta;
    float alpha, beta;
} activations[] = {
    {"Relu", false, false, 0, 0},         {"Tanh", false, false, 0, 0},
    {"Sigmoid", false, false, 0, 0},      {"Affine", true, true, 1, 0},
    {"LeakyRelu", true, false, 0.01f, 0}, {"ThresholdedRelu", true, false, 1, 0},
    {"ScaledTanh", true, true, 1, 1},     {"HardSigmoid", true, true, 0.2f, 0.5f},
    {"Elu", true, false, 1, 0},           {"Softsign", false, false, 0, 0},
    {"Softplus", false, false, 0, 0},
};

enum { N_ACTIVATIONS = sizeof(activations) / sizeof(activations[0]), MOST_GATES = 6 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static int find_activation(const tfr_string *name)
{
    for (int i = 0; i < N_ACTIVATIONS; i++) {
        size_t n = strlen(activations[i].name), k = 0;
        while (k < n && k < name->bytes && lower(name->data[k]) == lower(activations[i].name[k]))
            k++;
        if (k == n && name->bytes == n)
            return i;
    }
    return -1;
}

/* The next number of a list, which functions take in their order, or the function's default. */
static float take(const tfr__attr *list, uint64_t *at, bool has, float absent)
{
    if (!has)
        return 0;
    return list && *at < list->pub.n ? list->pub.floats[(*at)++] : absent;
}

/* Names of n functions, n / D for each direction, with alpha and beta for each. */
static tfr_status set_activations(tfr__infer *in, tfr_err *err, uint32_t each, uint32_t directions)
{
    static const char *const defaults[4] = {"", "Tanh", "Sigmoid,Tanh", "Sigmoid,Tanh,Tanh"};
    const tfr__attr *given = tfr__attr_find(in->attrs, "activations");
    const tfr__attr *alphas = tfr__attr_find(in->attrs, "activation_alpha");
    const tfr__attr *betas = tfr__attr_find(in->attrs, "activation_beta");
    uint32_t n = each * directions;
    uint64_t a = 0, b = 0;
    tfr_string names[MOST_GATES];
    float alpha[MOST_GATES], beta[MOST_GATES];
    /* RNN's default in ONNX has two names, also for one direction. */
    bool surplus = given && each == 1 && given->pub.n == 2 && n == 1;
    if (given && given->pub.n != n && !surplus)
        return tfr__infer_fail(in, err, TFR_EMODEL, "activations has %llu names, want %u",
                               (unsigned long long)given->pub.n, n);
    for (uint32_t i = 0; i < n; i++) {
        tfr_string name;
        if (given) {
            name = given->pub.strings[i];
        } else {
            const char *p = defaults[each];
            for (uint32_t k = 0; k < i % each; k++)
                p = strchr(p, ',') + 1;
            name = (tfr_string){p, strcspn(p, ",")};
        }
        int f = find_activation(&name);
        if (f < 0)
            return tfr__infer_fail(in, err, TFR_EMODEL, "activation \"%.32s\" is not known",
                                   name.data);
        alpha[i] = take(alphas, &a, activations[f].has_alpha, activations[f].alpha);
        beta[i] = take(betas, &b, activations[f].has_beta, activations[f].beta);
        names[i] = (tfr_string){activations[f].name, strlen(activations[f].name)};
    }
    TFR__TRY(tfr__attr_set_floats(in->attrs, "activation_alpha", alpha, n, err));
    TFR__TRY(tfr__attr_set_floats(in->attrs, "activation_beta", beta, n, err));
    return tfr__attr_set_strings(in->attrs, "activations", names, n, err);
}

tfr_status tfr__infer_rnn(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0), *r = tfr__in(in, 2);
    bool lstm = in->op->name[0] == 'L', gru = in->op->name[0] == 'G';
    int64_t gates = lstm ? 4 : gru ? 3 : 1, gates_h;
    int64_t layout = tfr__attr_int(in->attrs, "layout", 0);
    uint32_t directions = tfr__attr_string(in->attrs, "direction", "forward")[0] == 'b' ? 2 : 1;
    TFR__TRY(tfr__want_rank(in, err, 0, 3));
    TFR__TRY(tfr__want_rank(in, err, 2, 3));
    if (layout != 0 && layout != 1)
        return tfr__infer_fail(in, err, TFR_EMODEL, "layout is %lld, want 0 or 1",
                               (long long)layout);
    int64_t t = x->dims[layout], batch = x->dims[1 - layout], size = x->dims[2];
    int64_t hidden = tfr__attr_int(in->attrs, "hidden_size", r->dims[2]);
    bool open = !tfr__attr_find(in->attrs, "hidden_size") && hidden < 0; /* a symbol */
    if (!open && (hidden < 1 || hidden > INT32_MAX))
        return tfr__infer_fail(in, err, TFR_ESHAPE, "hidden_size is %lld, want 1...%d",
                               (long long)hidden, INT32_MAX);
    gates_h = open ? tfr__dim_mul(in, hidden, gates) : gates * hidden;
    tfr__dims w_shape = {.rank = 3, .d = {directions, gates_h, size}};
    tfr__dims r_shape = {.rank = 3, .d = {directions, gates_h, hidden}};
    tfr__dims b_shape = {.rank = 2,
                         .d = {directions, open ? tfr__dim_mul(in, gates_h, 2) : 2 * gates_h}};
    tfr__dims p_shape = {.rank = 2,
                         .d = {directions, open ? tfr__dim_mul(in, hidden, 3) : 3 * hidden}};
    tfr__dims state = {.rank = 3, .d = {directions, batch, hidden}};
    tfr__dims y = {.rank = 4, .d = {t, directions, batch, hidden}};
    if (layout) {
        state = (tfr__dims){.rank = 3, .d = {batch, directions, hidden}};
        y = (tfr__dims){.rank = 4, .d = {batch, t, directions, hidden}};
    }
    TFR__TRY(tfr__want_shape(in, err, 1, &w_shape));
    TFR__TRY(tfr__want_shape(in, err, 2, &r_shape));
    TFR__TRY(tfr__want_shape(in, err, 3, &b_shape));
    TFR__TRY(tfr__want_vector(in, err, 4, batch, "batch of X"));
    TFR__TRY(tfr__want_shape(in, err, 5, &state));
    TFR__TRY(tfr__want_shape(in, err, 6, &state));
    TFR__TRY(tfr__want_shape(in, err, 7, &p_shape));
    TFR__TRY(set_activations(in, err, lstm ? 3 : gru ? 2 : 1, directions));
    TFR__TRY(tfr__attr_set_int(in->attrs, "hidden_size", hidden, err));
    TFR__TRY(tfr__out_dims(in, err, 0, x->dtype, &y));
    TFR__TRY(tfr__out_dims(in, err, 1, x->dtype, &state));
    return tfr__out_dims(in, err, 2, x->dtype, &state);
}
