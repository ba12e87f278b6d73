/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_einsum.c: the gradient of Einsum by one input is an Einsum of g and the other inputs
 * that gives the letters of that input. Letters that only it has are there by a factor of ones of
 * its shape; what was broadcast is summed. Where it has a letter twice, only a diagonal gets
 * anything: the second one is called x, and an identity matrix "ix" is one more factor.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "autodiff.h"

enum { EINSUM_INPUTS = 16, EINSUM_TEXT = 512, EINSUM_DIAGONALS = TFR_MAX_RANK };

/* An equation's parts, without blanks. */
typedef struct einsum {
    char text[EINSUM_TEXT];
    char *inputs[EINSUM_INPUTS], *output;
    uint32_t n;
} einsum;

/* The letters that are there once, sorted, behind "..." if that is there. */
static void write_output(const char *inputs, char *out)
{
    uint8_t seen[256] = {0};
    if (strstr(inputs, "...")) {
        memcpy(out, "...", 3);
        out += 3;
    }
    for (const char *p = inputs; *p; p++)
        seen[(unsigned char)*p] += seen[(unsigned char)*p] < 2;
    for (int letter = 'A'; letter <= 'z'; letter++)
        if (isalpha(letter) && seen[letter] == 1)
            *out++ = (char)letter;
    *out = 0;
}

static bool read_equation(tfr__diff *d, einsum *e, char output[EINSUM_TEXT])
{
    const tfr_attr *attr = tfr_node_attr(&d->node, "equation");
    size_t n = 0;
    char *arrow;
    if (!attr || attr->type != TFR_ATTR_STRING || attr->strings[0].bytes >= EINSUM_TEXT)
        return false;
    for (uint64_t i = 0; i < attr->strings[0].bytes; i++)
        if (attr->strings[0].data[i] != ' ')
            e->text[n++] = attr->strings[0].data[i];
    e->text[n] = 0;
    arrow = strstr(e->text, "->");
    if (arrow)
        *arrow = 0;
    e->output = arrow ? arrow + 2 : output;
    if (!arrow)
        write_output(e->text, output);
    e->n = 0;
    for (char *p = e->text; p && e->n < EINSUM_INPUTS; e->n++) {
        char *comma = strchr(p, ',');
        if (comma)
            *comma = 0;
        e->inputs[e->n] = p;
        p = comma ? comma + 1 : NULL;
    }
    return e->n == d->node.n_inputs;
}

/* ---- a letter that is twice in the same input ------------------------------------------------ */

/* The length of the axis of v that a letter of its term stands for, as a list of one. */
static tfr_value length_of(tfr__diff *d, tfr_value v, const char *term, const char *letter)
{
    const char *dots = strstr(term, "...");
    const int64_t behind = (int64_t)strlen(letter), before = letter - term;
    if (dots && dots < letter)
        return tfr__diff_dims(d, v, -behind, 1 - behind);
    return tfr__diff_dims(d, v, before, before + 1);
}

/* A letter that is neither in the equation nor in more; 0 = none is left. */
static char new_letter(const einsum *e, const char *more)
{
    for (int letter = 'z'; letter >= 'A'; letter--) {
        bool used = !isalpha(letter) || strchr(more, letter);
        for (uint32_t k = 0; k < e->n; k++)
            used = used || strchr(e->inputs[k], letter);
        if (!used)
            return (char)letter;
    }
    return 0;
}

/* The identity matrix of the axes of input i that a letter stands for, some of which may be 1. */
static tfr_value identity(tfr__diff *d, const einsum *e, uint32_t i, char letter)
{
    const int64_t behind = 1;
    tfr_value v = tfr__diff_in(d, i), zeros = tfr__diff_scalar(d, 0, v), columns;
    for (const char *p = e->inputs[i]; (p = strchr(p, letter)); p++)
        zeros = tfr__diff_op2(d, "Expand", zeros, length_of(d, v, e->inputs[i], p));
    columns = tfr__diff_op2(d, "Unsqueeze", zeros, tfr__diff_ints(d, &behind, 1));
    return tfr__diff_op1(d, "EyeLike", tfr__diff_op2(d, "Add", zeros, columns));
}

/*
 * Gives each letter of input i a name of its own where it stands for the second time or later in
 * term, which is that of the input, and joins the names by identity matrices: operands "ix" are
 * added to in and to the equation, of n bytes, whose new length it returns.
 */
static size_t join_diagonals(tfr__diff *d, const einsum *e, uint32_t i, char *term, char *equation,
                             size_t n, tfr_value *in, uint32_t *n_in)
{
    const char *old = e->inputs[i];
    for (size_t at = 0; old[at] && !d->status; at++) {
        if (!isalpha((unsigned char)old[at]) || strchr(old, old[at]) == old + at)
            continue;
        term[at] = new_letter(e, term);
        if (!term[at] || *n_in == e->n + 1 + EINSUM_DIAGONALS) {
            tfr__diff_refuse(d, "its equation has too many letters for a diagonal");
            return n;
        }
        in[(*n_in)++] = identity(d, e, i, old[at]);
        equation[n++] = ',';
        equation[n++] = old[at];
        equation[n++] = term[at];
    }
    return n;
}

/* ---- the rule -------------------------------------------------------------------------------- */

static void give_input(tfr__diff *d, tfr_value g, const einsum *e, uint32_t i)
{
    tfr_value in[EINSUM_INPUTS + 1 + EINSUM_DIAGONALS], like = tfr__diff_in(d, i);
    char equation[3 * EINSUM_TEXT], term[EINSUM_TEXT]; /* all of the node's, and twice an input */
    tfr_string string = {equation, 0};
    tfr_attr attr = {.size = sizeof attr, .type = TFR_ATTR_STRING, .name = "equation", .n = 1};
    size_t n = (size_t)snprintf(equation, sizeof equation, "%s", e->output);
    uint32_t n_in = 0;
    attr.strings = &string;
    in[n_in++] = g;
    for (uint32_t k = 0; k < e->n; k++) {
        n += (size_t)snprintf(equation + n, sizeof equation - n, ",%s", e->inputs[k]);
        in[n_in++] = k == i ? tfr__diff_expand_like(d, tfr__diff_scalar(d, 1, like), like)
                            : tfr__diff_in(d, k);
    }
    snprintf(term, sizeof term, "%s", e->inputs[i]);
    n = join_diagonals(d, e, i, term, equation, n, in, &n_in);
    n += (size_t)snprintf(equation + n, sizeof equation - n, "->%s", term);
    string.bytes = n;
    g = tfr__diff_node(d, "Einsum", in, n_in, &attr, 1);
    tfr__diff_give(d, i, tfr__diff_sum_to(d, g, like));
}

void tfr__diff_einsum(tfr__diff *d, tfr_value g)
{
    char output[EINSUM_TEXT];
    einsum e;
    if (!read_equation(d, &e, output)) {
        tfr__diff_refuse(d, "its equation is too long, or its inputs are too many");
        return;
    }
    for (uint32_t i = 0; i < e.n; i++)
        if (tfr__diff_wants(d, i))
            give_input(d, g, &e, i);
}
