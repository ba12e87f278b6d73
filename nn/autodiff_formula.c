/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_formula.c: rules that are formulas, written in their rows of autodiff_rules.c:
 *
 *   share     sum, or a comparison of two sums: a > b, a >= b, a < b, a <= b, a = b
 *   sum       products added or subtracted; product: factors multiplied or divided
 *   factor    (share), -factor, a number, Op(share, ...), a name
 *   name      g the gradient of the output; x or a, b, c the inputs; y the output;
 *             alpha:0.5 a float attribute with what it is when it is absent;
 *             G, Y: g and y repeated along the axes that a reduction removed
 *
 * A row has one formula for each input that may have a gradient, with ";" between. What an input
 * was broadcast to is summed.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "autodiff.h"

typedef struct formula {
    tfr__diff *d;
    const char *at;
    tfr_value g;
} formula;

static tfr_value read_share(formula *f);

static bool take(formula *f, const char *token)
{
    f->at += strspn(f->at, " ");
    if (strncmp(f->at, token, strlen(token)) != 0)
        return false;
    f->at += strlen(token);
    return true;
}

static tfr_value read_number(formula *f, double sign)
{
    char *end;
    double value = strtod(f->at, &end);
    f->at = end;
    return tfr__diff_scalar(f->d, sign * value, tfr__diff_in(f->d, 0));
}

static tfr_value read_op(formula *f, const char *name, size_t bytes)
{
    tfr_value in[4];
    uint32_t n = 0;
    char op[32] = "";
    memcpy(op, name, bytes < sizeof op ? bytes : sizeof op - 1);
    while (n < 4 && !take(f, ")")) {
        take(f, ",");
        in[n++] = read_share(f);
    }
    return tfr__diff_node(f->d, op, in, n, NULL, 0);
}

static tfr_value read_name(formula *f)
{
    const char *name = f->at;
    size_t bytes = 0;
    char text[32] = "";
    while (isalnum((unsigned char)f->at[bytes]) || f->at[bytes] == '_')
        bytes++;
    f->at += bytes;
    memcpy(text, name, bytes < sizeof text ? bytes : sizeof text - 1);
    if (take(f, "(")) {
        tfr_value out = read_op(f, name, bytes);
        return out;
    }
    if (*f->at == ':') {
        char *end;
        float absent = strtof(f->at + 1, &end);
        f->at = end;
        return tfr__diff_scalar(f->d, (double)tfr__diff_float(f->d, text, absent),
                                tfr__diff_in(f->d, 0));
    }
    switch (*name) {
    case 'g':
        return f->g;
    case 'y':
        return tfr__diff_out(f->d);
    case 'G':
        return tfr__diff_repeated(f->d, f->g);
    case 'Y':
        return tfr__diff_repeated(f->d, tfr__diff_out(f->d));
    default:
        return tfr__diff_in(f->d, *name == 'x' ? 0 : (uint32_t)(*name - 'a'));
    }
}

static tfr_value read_factor(formula *f)
{
    tfr_value out;
    if (take(f, "-")) {
        f->at += strspn(f->at, " ");
        return isdigit((unsigned char)*f->at) ? read_number(f, -1)
                                              : tfr__diff_op1(f->d, "Neg", read_factor(f));
    }
    if (take(f, "(")) {
        out = read_share(f);
        take(f, ")");
        return out;
    }
    f->at += strspn(f->at, " ");
    return isdigit((unsigned char)*f->at) ? read_number(f, 1) : read_name(f);
}

static tfr_value read_product(formula *f)
{
    tfr_value out = read_factor(f);
    for (;;) {
        const char *op = take(f, "*") ? "Mul" : take(f, "/") ? "Div" : NULL;
        if (!op)
            return out;
        out = tfr__diff_op2(f->d, op, out, read_factor(f));
    }
}

static tfr_value read_sum(formula *f)
{
    tfr_value out = read_product(f);
    for (;;) {
        const char *op = take(f, "+") ? "Add" : take(f, "-") ? "Sub" : NULL;
        if (!op)
            return out;
        out = tfr__diff_op2(f->d, op, out, read_product(f));
    }
}

static tfr_value read_share(formula *f)
{
    static const char *const ops[][2] = {{">=", "GreaterOrEqual"},
                                         {"<=", "LessOrEqual"},
                                         {">", "Greater"},
                                         {"<", "Less"},
                                         {"=", "Equal"}};
    tfr_value out = read_sum(f);
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (take(f, ops[i][0]))
            return tfr__diff_op2(f->d, ops[i][1], out, read_sum(f));
    return out;
}

tfr_value tfr__diff_evaluate(tfr__diff *d, tfr_value g, const char *text)
{
    formula f = {d, text, g};
    return read_share(&f);
}

void tfr__diff_formula(tfr__diff *d, tfr_value g)
{
    const char *text = d->rule->formula;
    for (uint32_t i = 0; text; i++) {
        if (tfr__diff_wants(d, i)) {
            tfr_value share = tfr__diff_evaluate(d, g, text);
            tfr__diff_give(d, i,
                           d->node.n_inputs > 1 ? tfr__diff_sum_to(d, share, tfr__diff_in(d, i))
                                                : share);
        }
        text = strchr(text, ';');
        text = text ? text + 1 : NULL;
    }
}
