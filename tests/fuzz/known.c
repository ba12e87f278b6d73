/* SPDX-License-Identifier: Apache-2.0 */
/* known.c: looks known.def's rows up. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "way.h"

typedef enum when { ALWAYS, NAN_INPUT, BAD_INPUT, NAN_OUTPUT } when;

enum { ONEDNN = FUZZ_PEER_ONEDNN, ORT = FUZZ_PEER_ORT };

static const struct node_row {
    unsigned peers;
    const char *op;
    when condition;
} nodes[] = {
#define NODE(peers, op, when, reason) {peers, op, when},
#define REFUSAL(peers, op, message, reason)
#include "known.def"
#undef NODE
#undef REFUSAL
    {0, NULL, ALWAYS},
};

static const struct refusal_row {
    unsigned peers;
    const char *op, *message;
} refusals[] = {
#define NODE(peers, op, when, reason)
#define REFUSAL(peers, op, message, reason) {peers, op, message},
#include "known.def"
#undef NODE
#undef REFUSAL
    {0, NULL, NULL},
};

static bool has_bad(const tfr_tensor *t, bool infinite_too)
{
    bool found = false;
    if (!t || tfr_tensor_kind(t) != TFR_KIND_TENSOR || !tfr_dtype_is_float(tfr_tensor_dtype(t)))
        return false;
    const int64_t n = tfr_tensor_elements(t);
    double *x = calloc((size_t)n + 1, sizeof *x);
    if (x && !tfr_dtype_convert(TFR_DTYPE_F64, x, tfr_tensor_dtype(t), tfr_tensor_data(t), n, NULL))
        for (int64_t i = 0; i < n && !found; i++)
            found = isnan(x[i]) || (infinite_too && isinf(x[i]));
    free(x);
    return found;
}

static bool holds(when condition, const fuzz_msg *node, const fuzz_env *env,
                  tfr_tensor *const *outputs)
{
    if (condition == ALWAYS)
        return true;
    if (condition == NAN_OUTPUT)
        return has_bad(outputs[0], false);
    for (size_t i = 0; i < node->n; i++) {
        const fuzz_field *f = &node->fields[i];
        if (f->number == FUZZ_NODE_INPUT && f->data && f->n &&
            has_bad(fuzz_env_get(env, (const char *)f->data), condition == BAD_INPUT))
            return true;
    }
    return false;
}

bool fuzz_known_node(unsigned peer, const fuzz_msg *node, const fuzz_env *env,
                     tfr_tensor *const *outputs)
{
    const char *op = fuzz_text(node, FUZZ_NODE_OP);
    for (const struct node_row *row = nodes; row->op; row++)
        if (row->peers & peer && (!*row->op || strcmp(row->op, op) == 0) &&
            holds(row->condition, node, env, outputs))
            return true;
    return false;
}

static bool has_op(const fuzz_msg *msg, const char *op)
{
    for (size_t i = 0; i < msg->n; i++) {
        const fuzz_field *f = &msg->fields[i];
        if (msg->type == FUZZ_NODE && f->number == FUZZ_NODE_OP && f->data &&
            strcmp((const char *)f->data, op) == 0)
            return true;
        if (f->msg && has_op(f->msg, op))
            return true;
    }
    return false;
}

bool fuzz_known_refusal(unsigned peer, const fuzz_msg *model, const char *text)
{
    for (const struct refusal_row *row = refusals; row->op; row++)
        if (row->peers & peer && strstr(text, row->message) &&
            (!*row->op || has_op(model, row->op)))
            return true;
    return false;
}
