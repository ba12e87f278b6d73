/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_match.c: patterns as texts (rewrite.h), read while they are matched: descent from the
 * root to what it reads, with a copy of the state to come back to where there is a choice. Patterns
 * are ours, so they are not checked.
 */
#include <math.h>
#include <string.h>

#include "optimize/rewrite.h"

static const char *match_expr(tfr__match *m, tfr_value v, const char *p);

/* Behind the expression at p. */
static const char *skip(const char *p)
{
    for (int depth = 0; *p; p++) {
        if (depth == 0 && (*p == ',' || *p == ')' || *p == '|' || *p == '}'))
            return p;
        depth += (*p == '(' || *p == '{') - (*p == ')' || *p == '}');
    }
    return p;
}

/* One more read of a value from inside the pattern. */
static bool note_read(tfr__match *m, tfr_value v, bool add)
{
    for (uint32_t i = 0; i < m->n_inner; i++) {
        if (m->inner[i].value == v) {
            m->inner[i].reads++;
            return true;
        }
    }
    if (!add)
        return true;
    if (m->n_inner == sizeof m->inner / sizeof m->inner[0])
        return false;
    m->inner[m->n_inner].value = v;
    m->inner[m->n_inner++].reads = 1;
    return true;
}

static bool bind(tfr__match *m, char letter, tfr_value v)
{
    tfr_value *bound = &m->letters[letter - 'a'];
    if (*bound == TFR_VALUE_NONE)
        *bound = v;
    return *bound == v;
}

double tfr__pattern_number(const char **p)
{
    double value = 0, unit = 0;
    for (; (**p >= '0' && **p <= '9') || **p == '.'; ++*p) {
        if (**p == '.') {
            unit = 1;
        } else {
            value = value * 10 + (**p - '0');
            unit *= 10;
        }
    }
    return unit > 0 ? value / unit : value;
}

static const char *match_number(tfr__match *m, tfr_value v, const char *p)
{
    double want = tfr__pattern_number(&p), is, slack = 1e-6;
    const tfr_tensor *t = tfr__rewrite_tensor(m->rw, v);
    if (!tfr__rewrite_number(m->rw, v, &is))
        return NULL;
    if (t->dtype == TFR_DTYPE_F16 || t->dtype == TFR_DTYPE_BF16)
        slack = t->dtype == TFR_DTYPE_F16 ? 1e-3 : 8e-3; /* half a unit of rounding and more */
    if (t->shape.rank > m->rank)
        m->rank = t->shape.rank;
    return fabs(is - want) <= slack * want ? p : NULL;
}

static const char *match_op(tfr__match *m, const tfr__node *node, const char *p)
{
    const char *open = strchr(p, '('), *q = open + 1;
    size_t bytes = (size_t)(open - p);
    uint32_t k = 0;
    tfr__match before;
    if (!node || *node->op->domain || strncmp(node->op->name, p, bytes) != 0 ||
        node->op->name[bytes])
        return NULL;
    before = *m;
    for (; q && *q != ')' && k < node->n_inputs; k++) {
        q = match_expr(m, tfr__rewrite_input(m->rw, node, k), q);
        if (q && *q == ',')
            q++;
    }
    if (q && *q == ')' && k == node->n_inputs)
        return q + 1;
    *m = before;
    if (node->n_inputs != 2 || (strncmp(p, "Add(", 4) != 0 && strncmp(p, "Mul(", 4) != 0))
        return NULL;
    q = match_expr(m, tfr__rewrite_input(m->rw, node, 1), open + 1);
    if (q)
        q = match_expr(m, tfr__rewrite_input(m->rw, node, 0), q + 1);
    if (!q)
        *m = before;
    return q ? q + 1 : NULL;
}

static const char *match_expr(tfr__match *m, tfr_value v, const char *p)
{
    tfr__match before;
    const char *end;
    if (v == TFR_VALUE_NONE)
        return NULL;
    if (*p >= 'a' && *p <= 'z') {
        if (p[1] != '=')
            return note_read(m, v, false) && bind(m, *p, v) ? p + 1 : NULL;
        end = match_expr(m, v, p + 2);
        return end && bind(m, *p, v) ? end : NULL;
    }
    if (*p >= 'A' && *p <= 'Z')
        return note_read(m, v, true) ? match_op(m, tfr__rewrite_producer(m->rw, v), p) : NULL;
    if (*p != '{')
        return match_number(m, v, p);
    do {
        before = *m;
        end = match_expr(m, v, ++p);
        if (!end)
            *m = before;
        p = skip(p);
    } while (!end && *p == '|');
    if (!end)
        return NULL;
    while (*p == '|')
        p = skip(p + 1);
    return p + 1;
}

bool tfr__pattern(tfr__rewrite *rw, const tfr__node *node, const char *pattern, tfr__match *m)
{
    if (node->device || !node->n_outputs || node->outputs[0] == TFR_VALUE_NONE)
        return false;
    m->rw = rw;
    m->n_inner = 0;
    m->rank = 0;
    for (int i = 0; i < 26; i++)
        m->letters[i] = TFR_VALUE_NONE;
    if (!match_expr(m, node->outputs[0], pattern))
        return false;
    for (uint32_t i = 1; i < m->n_inner; i++) /* the first is the root */
        if (m->inner[i].reads != rw->uses[m->inner[i].value])
            return false;
    return true;
}
