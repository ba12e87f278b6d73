/* SPDX-License-Identifier: Apache-2.0 */
/* known.c: looks known.def's rows up. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "way.h"

typedef enum when {
    ALWAYS,
    NAN_INPUT,
    BAD_INPUT,
    BAD_SECOND,
    ZERO_SCALE,
    LARGE,
    WIDE,
    OVERFLOW,
    EMPTY,
    INTEGERS,
    FLOATS,
    FLOAT64,
    FLOAT8,
    TEXT,
    INSIDE
} when;

enum { ONEDNN = FUZZ_PEER_ONEDNN, ORT = FUZZ_PEER_ORT };

static const struct row {
    unsigned peer;
    const char *op, *attribute;
    when condition;
} rows[] = {
#define KNOWN(peer, op, attribute, when, reason) {peer, op, attribute, when},
#include "known.def"
#undef KNOWN
};

static bool has_bad(const tfr_tensor *t, bool infinite_too)
{
    bool found = false;
    int64_t n;
    if (!tfr_dtype_is_float(tfr_tensor_dtype(t)))
        return false;
    double *x = fuzz_numbers(t, &n);
    for (int64_t i = 0; x && i < n && !found; i++)
        found = isnan(x[i]) || (infinite_too && isinf(x[i]));
    free(x);
    return found;
}

static bool has_zero(const tfr_tensor *t)
{
    bool found = false;
    int64_t n;
    double *x = fuzz_numbers(t, &n);
    for (int64_t i = 0; x && i < n && !found; i++)
        found = x[i] == 0;
    free(x);
    return found;
}

static bool is_large(const tfr_tensor *t)
{
    bool found = false;
    int64_t n;
    double *x = tfr_dtype_is_float(tfr_tensor_dtype(t)) ? fuzz_numbers(t, &n) : NULL;
    for (int64_t i = 0; x && i < n && !found; i++)
        found = isfinite(x[i]) && fabs(x[i]) > 1e15;
    free(x);
    return found;
}

/* Does a product of some of the elements leave float32's range? */
static bool is_wide(const tfr_tensor *t)
{
    double up = 0, down = 0;
    int64_t n;
    double *x = tfr_dtype_is_float(tfr_tensor_dtype(t)) ? fuzz_numbers(t, &n) : NULL;
    for (int64_t i = 0; x && i < n; i++) {
        double bits = x[i] == 0 || !isfinite(x[i]) ? 0 : log2(fabs(x[i]));
        up += fmax(bits, 0);
        down += fmin(bits, 0);
    }
    free(x);
    return up > 127 || down < -126;
}

/* A half float that is infinite. */
static bool is_overflow(const tfr_tensor *t)
{
    bool found = false;
    int64_t n;
    double *x = tfr_tensor_dtype(t) == TFR_DTYPE_F16 ? fuzz_numbers(t, &n) : NULL;
    for (int64_t i = 0; x && i < n && !found; i++)
        found = isinf(x[i]);
    free(x);
    return found;
}

static bool is_empty(const tfr_tensor *t)
{
    return tfr_tensor_kind(t) == TFR_KIND_TENSOR && tfr_tensor_elements(t) == 0;
}

static bool input_holds(when condition, const tfr_tensor *t, size_t k)
{
    switch (condition) {
    case NAN_INPUT:
        return has_bad(t, false);
    case BAD_INPUT:
        return has_bad(t, true);
    case BAD_SECOND:
        return k == 1 && has_bad(t, true);
    case ZERO_SCALE:
        return k > 0 && tfr_dtype_is_float(tfr_tensor_dtype(t)) && has_zero(t);
    case LARGE:
        return k == 0 && is_large(t);
    case WIDE:
        return k == 0 && is_wide(t);
    case EMPTY:
        return is_empty(t);
    case INTEGERS:
        return k == 0 && tfr_dtype_is_integer(tfr_tensor_dtype(t));
    case FLOATS:
        return k == 0 && tfr_dtype_is_float(tfr_tensor_dtype(t));
    case FLOAT64:
        return k == 0 && tfr_tensor_dtype(t) == TFR_DTYPE_F64;
    case FLOAT8:
        return k > 0 && tfr_tensor_dtype(t) >= TFR_DTYPE_F8E4M3FN &&
               tfr_tensor_dtype(t) <= TFR_DTYPE_F8E5M2FNUZ;
    default:
        return true;
    }
}

static bool holds(const struct row *row, const fuzz_msg *node, const fuzz_env *env,
                  tfr_tensor *const *outputs)
{
    size_t k = 0;
    if (*row->attribute && !fuzz_attr(node, row->attribute))
        return false;
    if (!outputs)
        return *row->op != 0;
    if (row->condition == INSIDE)
        return false;
    if (row->condition == TEXT)
        return outputs[0] && tfr_tensor_dtype(outputs[0]) == TFR_DTYPE_STRING;
    for (size_t i = 0; i < FUZZ_MAX_OUTPUTS; i++)
        if (outputs[i] && ((row->condition == EMPTY && is_empty(outputs[i])) ||
                           (row->condition == OVERFLOW && is_overflow(outputs[i]))))
            return true;
    if (row->condition == OVERFLOW)
        return false;
    for (size_t i = 0; i < node->n; i++) {
        const fuzz_field *f = &node->fields[i];
        if (f->number != FUZZ_NODE_INPUT || !f->data)
            continue;
        const tfr_tensor *t = f->n ? fuzz_env_get(env, (const char *)f->data) : NULL;
        if (t && input_holds(row->condition, t, k))
            return true;
        k++;
    }
    return false;
}

static bool known_inside(unsigned peer, const fuzz_msg *graph);

bool fuzz_known_node(unsigned peer, const fuzz_msg *node, const fuzz_env *env,
                     tfr_tensor *const *outputs)
{
    const char *op = fuzz_text(node, FUZZ_NODE_OP);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].peer & peer && (!*rows[i].op || strcmp(rows[i].op, op) == 0) &&
            holds(&rows[i], node, env, outputs))
            return true;
    for (size_t i = 0; i < node->n; i++)
        if (node->fields[i].msg && node->fields[i].number == FUZZ_NODE_ATTR &&
            known_inside(peer, fuzz_child(node->fields[i].msg, FUZZ_ATTR_GRAPH)))
            return true;
    return false;
}

static bool known_inside(unsigned peer, const fuzz_msg *graph)
{
    for (size_t i = 0; graph && i < graph->n; i++)
        if (graph->fields[i].msg && graph->fields[i].number == FUZZ_GRAPH_NODE &&
            fuzz_known_node(peer, graph->fields[i].msg, NULL, NULL))
            return true;
    return false;
}
