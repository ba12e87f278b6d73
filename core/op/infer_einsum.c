/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_einsum.c: reads the equation of Einsum, and writes it in normal form: no blanks, an
 * explicit output, letters in the place of every "...". The meaning is numpy.einsum's.
 */
#include <string.h>

#include "op/infer_kit.h"

/* What one label (a letter) stands for; slots 0...51 are A...Z a...z. */
typedef struct einsum {
    int64_t dim[52];
    uint32_t uses[52];              /* in the inputs */
    uint8_t ellipsis[TFR_MAX_RANK]; /* slots of the letters for "...", the last dims last */
    int32_t n_ellipsis;
    char text[2048]; /* the normal form */
    size_t n_text;
} einsum;

static int slot_of(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

static char letter_of(int slot)
{
    return (char)(slot < 26 ? 'A' + slot : 'a' + slot - 26);
}

static tfr_status emit(tfr__infer *in, tfr_err *err, einsum *e, char c)
{
    if (e->n_text + 1 >= sizeof e->text)
        return tfr__infer_fail(in, err, TFR_ELIMIT, "equation is longer than %zu letters",
                               sizeof e->text);
    e->text[e->n_text++] = c;
    e->text[e->n_text] = '\0';
    return TFR_OK;
}

/* The next letter, '.' for "...", ',' or '>' for "->"; 0 at the end, '?' for anything else. */
static char next_token(const char **p)
{
    while (**p == ' ')
        (*p)++;
    char c = **p;
    if (!c)
        return 0;
    if (strncmp(*p, "...", 3) == 0) {
        *p += 3;
        return '.';
    }
    if (strncmp(*p, "->", 2) == 0) {
        *p += 2;
        return '>';
    }
    (*p)++;
    return c == ',' || slot_of(c) >= 0 ? c : '?';
}

/* Labels in one term, and whether it has an ellipsis. p is left at the token that ends the term. */
static tfr_status count_labels(tfr__infer *in, tfr_err *err, const char **p, int32_t *labels,
                               bool *ellipsis)
{
    *labels = 0;
    *ellipsis = false;
    for (;;) {
        const char *before = *p;
        char c = next_token(p);
        if (c == 0 || c == ',' || c == '>') {
            *p = before;
            return TFR_OK;
        }
        if (c == '?' || (c == '.' && *ellipsis))
            return tfr__infer_fail(in, err, TFR_EMODEL, "equation is not valid at \"%.32s\"",
                                   before);
        if (c == '.')
            *ellipsis = true;
        else
            (*labels)++;
    }
}

static tfr_status merge_dim(tfr__infer *in, tfr_err *err, einsum *e, int slot, int64_t dim)
{
    e->uses[slot]++;
    if (e->uses[slot] == 1)
        e->dim[slot] = dim;
    else if (!tfr__broadcast_dim(in, &e->dim[slot], dim))
        return tfr__infer_fail(in, err, TFR_ESHAPE, "label %c stands for %lld and for %lld",
                               letter_of(slot), (long long)e->dim[slot], (long long)dim);
    return TFR_OK;
}

static tfr_status read_term(tfr__infer *in, tfr_err *err, const char **p, uint32_t i, einsum *e)
{
    const tfr__type *t = tfr__in(in, i);
    const char *ahead = *p;
    int32_t labels, at = 0;
    bool ellipsis;
    tfr__text dims;
    TFR__TRY(count_labels(in, err, &ahead, &labels, &ellipsis));
    if (ellipsis ? labels > t->rank : labels != t->rank)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "equation has %d labels for input %u %s",
                               (int)labels, i, tfr__type_text(t, &dims));
    while (*p < ahead) {
        char c = next_token(p);
        int32_t n = c == '.' ? t->rank - labels : c ? 1 : 0;
        for (int32_t k = 0; k < n; k++) {
            int slot = c == '.' ? e->ellipsis[e->n_ellipsis - n + k] : slot_of(c);
            if (slot < 0) /* blanks before the token that ends the term */
                break;
            TFR__TRY(merge_dim(in, err, e, slot, t->dims[at++]));
            TFR__TRY(emit(in, err, e, letter_of(slot)));
        }
    }
    return TFR_OK;
}

/* Chooses letters that the equation does not have for the dims of the longest "...". */
static tfr_status choose_ellipsis(tfr__infer *in, tfr_err *err, const char *equation, einsum *e)
{
    const char *p = equation;
    for (uint32_t i = 0; i < in->n_inputs; i++) {
        int32_t labels;
        bool ellipsis;
        TFR__TRY(count_labels(in, err, &p, &labels, &ellipsis));
        if (ellipsis && tfr__in(in, i)->rank - labels > e->n_ellipsis)
            e->n_ellipsis = tfr__in(in, i)->rank - labels;
        if (next_token(&p) != ',')
            break;
    }
    int slot = 0;
    for (int32_t k = 0; k < e->n_ellipsis; k++, slot++) {
        while (slot < 52 && strchr(equation, letter_of(slot)))
            slot++;
        if (slot >= 52)
            return tfr__infer_fail(in, err, TFR_ELIMIT, "equation leaves no letter for \"...\"");
        e->ellipsis[k] = (uint8_t)slot;
    }
    return TFR_OK;
}

static tfr_status add_output(tfr__infer *in, tfr_err *err, einsum *e, int slot, uint32_t *seen,
                             tfr__dims *out)
{
    if (!e->uses[slot])
        return tfr__infer_fail(in, err, TFR_EMODEL, "output label %c is in no input",
                               letter_of(slot));
    if (seen[slot]++)
        return tfr__infer_fail(in, err, TFR_EMODEL, "output label %c is there twice",
                               letter_of(slot));
    if (out->rank == TFR_MAX_RANK)
        return tfr__infer_fail(in, err, TFR_ELIMIT, "the output has more than %d labels",
                               TFR_MAX_RANK);
    out->d[out->rank++] = e->dim[slot];
    return emit(in, err, e, letter_of(slot));
}

/* The output's labels: those behind "->", or "..." and every label that is used once, sorted. */
static tfr_status read_output(tfr__infer *in, tfr_err *err, const char *p, bool given, einsum *e,
                              tfr__dims *out)
{
    uint32_t seen[52] = {0};
    TFR__TRY(emit(in, err, e, '-'));
    TFR__TRY(emit(in, err, e, '>'));
    if (!given) {
        bool is_ellipsis[52] = {false};
        for (int32_t k = 0; k < e->n_ellipsis; k++) {
            is_ellipsis[e->ellipsis[k]] = true;
            TFR__TRY(add_output(in, err, e, e->ellipsis[k], seen, out));
        }
        for (int slot = 0; slot < 52; slot++)
            if (e->uses[slot] == 1 && !is_ellipsis[slot])
                TFR__TRY(add_output(in, err, e, slot, seen, out));
        return TFR_OK;
    }
    for (char c; (c = next_token(&p));) {
        if (c == '.') {
            for (int32_t k = 0; k < e->n_ellipsis; k++)
                TFR__TRY(add_output(in, err, e, e->ellipsis[k], seen, out));
        } else if (slot_of(c) < 0) {
            return tfr__infer_fail(in, err, TFR_EMODEL, "equation is not valid behind \"->\"");
        } else {
            TFR__TRY(add_output(in, err, e, slot_of(c), seen, out));
        }
    }
    return TFR_OK;
}

tfr_status tfr__infer_einsum(tfr__infer *in, tfr_err *err)
{
    const char *equation = tfr__attr_string(in->attrs, "equation", ""), *p = equation;
    einsum e = {.n_text = 0};
    tfr__dims shape = {0};
    char c = ',';
    TFR__TRY(choose_ellipsis(in, err, equation, &e));
    for (uint32_t i = 0; i < in->n_inputs; i++) {
        if (c != ',')
            return tfr__infer_fail(in, err, TFR_EMODEL,
                                   "equation has %u terms, there are %u inputs", i, in->n_inputs);
        if (i)
            TFR__TRY(emit(in, err, &e, ','));
        TFR__TRY(read_term(in, err, &p, i, &e));
        c = next_token(&p);
    }
    if (c == ',')
        return tfr__infer_fail(in, err, TFR_EMODEL, "equation has more terms than the %u inputs",
                               in->n_inputs);
    TFR__TRY(read_output(in, err, p, c == '>', &e, &shape));
    TFR__TRY(tfr__out_dims(in, err, 0, tfr__in(in, 0)->dtype, &shape));
    return tfr__attr_set_string(in->attrs, "equation", e.text, e.n_text, err);
}
