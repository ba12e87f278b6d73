/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autodiff_einsum.c: the gradient of Einsum by one input is an Einsum of g and the other inputs
 * that gives the letters of that input. Letters that only it has are there by a factor of ones of
 * its shape; what was broadcast is summed.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "autodiff.h"

enum { EINSUM_INPUTS = 16, EINSUM_TEXT = 512 };

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

static bool has_twice(const char *letters)
{
    for (const char *p = letters; *p; p++)
        if (isalpha((unsigned char)*p) && strchr(p + 1, *p))
            return true;
    return false;
}

static void give_input(tfr__diff *d, tfr_value g, const einsum *e, uint32_t i)
{
    tfr_value in[EINSUM_INPUTS + 1], like = tfr__diff_in(d, i);
    char equation[3 * EINSUM_TEXT]; /* all of the node's, and twice an input */
    tfr_string string = {equation, 0};
    tfr_attr attr = {.size = sizeof attr, .type = TFR_ATTR_STRING, .name = "equation", .n = 1};
    size_t n = (size_t)snprintf(equation, sizeof equation, "%s", e->output);
    attr.strings = &string;
    for (uint32_t k = 0; k < e->n; k++)
        n += (size_t)snprintf(equation + n, sizeof equation - n, ",%s", e->inputs[k]);
    n += (size_t)snprintf(equation + n, sizeof equation - n, "->%s", e->inputs[i]);
    string.bytes = n;
    in[0] = g;
    for (uint32_t k = 0; k < e->n; k++)
        in[1 + k] = k == i ? tfr__diff_expand_like(d, tfr__diff_scalar(d, 1, like), like)
                           : tfr__diff_in(d, k);
    g = tfr__diff_node(d, "Einsum", in, e->n + 1, &attr, 1);
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
    for (uint32_t i = 0; i < e.n; i++) {
        if (!tfr__diff_wants(d, i))
            continue;
        if (has_twice(e.inputs[i]))
            tfr__diff_refuse(d, "a letter is twice in the same input");
        else
            give_input(d, g, &e, i);
    }
}
