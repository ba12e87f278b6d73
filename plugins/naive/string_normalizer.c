/* SPDX-License-Identifier: Apache-2.0 */
/*
 * StringNormalizer (ONNX 10): drops the elements that are stop words, then changes the case of the
 * rest; if none is left, the output is one empty string. Input and output are [C] or [1, C]. Case
 * is that of Unicode code points as the C library maps them one to one (no locale of the attribute
 * is taken: they differ in few letters, and the answer must not depend on what is installed);
 * without a UTF-8 locale only ASCII letters change. Bytes that are not UTF-8 stay.
 */
#include "naive.h"
#include "sort.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

/* Code point at s and its length in bytes; a byte that starts none is itself, with *code < 0. */
static int decode(const unsigned char *s, uint64_t n, int32_t *code)
{
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4, i;

    *code = -1;
    if (length == 0 || (uint64_t)length > n || s[0] > 0xf4)
        return 1;
    if (length == 1) {
        *code = s[0];
        return 1;
    }
    *code = s[0] & (0x7f >> length);
    for (i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            *code = -1;
            return 1;
        }
        *code = *code << 6 | (s[i] & 0x3f);
    }
    if (*code < least[length] || *code > 0x10ffff) {
        *code = -1;
        return 1;
    }
    return length;
}

static int encode(int32_t code, char out[4])
{
    int length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4, i;

    for (i = length - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(length == 1 ? code : (0xf00 >> length & 0xff) | code);
    return length;
}

/* Copies text with its case changed: 'U', 'L' or neither. The caller frees it. */
static char *change_case(const tfr_string *text, char action, locale_t utf8, uint64_t *bytes)
{
    char *out = malloc((size_t)text->bytes * 4 + 1);
    uint64_t at = 0, n = 0;

    while (out && at < text->bytes) {
        int32_t code;
        int length = decode((const unsigned char *)text->data + at, text->bytes - at, &code);
        bool letter = code >= 0 && (action == 'U' || action == 'L');
        if (letter && code < 0x80) {
            bool upper = code >= 'A' && code <= 'Z', lower = code >= 'a' && code <= 'z';
            out[n++] = (char)(action == 'U' && lower   ? code - 32
                              : action == 'L' && upper ? code + 32
                                                       : code);
        } else if (letter && utf8) {
            n += (uint64_t)encode((int32_t)(action == 'U' ? towupper_l((wint_t)code, utf8)
                                                          : towlower_l((wint_t)code, utf8)),
                                  out + n);
        } else {
            memcpy(out + n, text->data + at, (size_t)length);
            n += (uint64_t)length;
        }
        at += (uint64_t)length;
    }
    *bytes = n;
    return out;
}

/* ---- stop words ---- */

typedef struct stop_words {
    tfr_string *words; /* folded */
    int64_t *order;    /* sorted */
    int64_t n;
} stop_words;

/* Where a folded text is among the stop words. */
typedef struct stop_search {
    const stop_words *stop;
    tfr_string text;
} stop_search;

static int compare_words(const void *context, int64_t a, int64_t b)
{
    const stop_words *stop = context;

    return naive_compare_strings(&stop->words[a], &stop->words[b]);
}

static int match_word(const void *context, int64_t item)
{
    const stop_search *s = context;

    return naive_compare_strings(&s->text, &s->stop->words[item]);
}

/* How texts and stop words are folded before they are compared. */
static char fold_of(const tfr_call *call)
{
    return tfr_call_int(call, "is_case_sensitive", 0) ? 'N' : 'L';
}

/* Folds the stop words into memory of the kernel; false without memory. */
static bool fold_words(naive_kernel *k, stop_words *stop, const tfr_attr *words, locale_t utf8)
{
    int64_t i;

    for (i = 0; i < stop->n; i++) {
        uint64_t bytes;
        char *text = change_case(&words->strings[i], fold_of(&k->call), utf8, &bytes);
        char *copy = text ? naive_keep(k, (size_t)bytes + 1) : NULL;
        if (copy)
            memcpy(copy, text, (size_t)bytes);
        free(text);
        if (!copy)
            return false;
        stop->words[i] = (tfr_string){copy, bytes};
    }
    return true;
}

static int32_t prepare_stringnormalizer(naive_kernel *k, tfr_err *err)
{
    const tfr_attr *words = tfr_call_attr(&k->call, "stopwords");
    size_t n = words ? (size_t)words->n : 0;
    stop_words *stop = naive_keep(k, sizeof(*stop));
    int64_t *scratch = naive_keep(k, 2 * n * sizeof(*scratch));
    locale_t utf8;
    bool folded;

    if (stop)
        *stop = (stop_words){naive_keep(k, n * sizeof(*stop->words)), NULL, (int64_t)n};
    if (!stop || !stop->words || !scratch)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %zu stop words", n);
    utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    folded = fold_words(k, stop, words, utf8);
    if (utf8)
        freelocale(utf8);
    if (!folded)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %zu stop words", n);
    stop->order = naive_sort(stop->n, scratch, compare_words, stop);
    k->state = stop;
    return TFR_OK;
}

/* 1 if text is a stop word, 0 if not, -1 without memory. */
static int is_stop_word(const naive_kernel *k, const tfr_string *text, locale_t utf8)
{
    stop_search s = {k->state, {NULL, 0}};
    char *folded;
    int found;

    if (s.stop->n == 0)
        return 0;
    folded = change_case(text, fold_of(&k->call), utf8, &s.text.bytes);
    s.text.data = folded;
    found = folded ? naive_search(s.stop->order, s.stop->n, match_word, &s) >= 0 : -1;
    free(folded);
    return found;
}

/* ---- the op ---- */

static int32_t normalize(const naive_kernel *k, const tfr_launch *launch, locale_t utf8,
                         tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0);
    char action = tfr_call_string(&k->call, "case_change_action", "NONE")[0];
    int64_t *dims = naive_out_dims(k, launch, 0), n = tfr_operand_elements(x), count = 0, i;
    const tfr_string *px = naive_in(k, launch, 0);
    tfr_string *py = naive_out(k, launch, 0);
    int32_t status = TFR_OK;

    for (i = 0; i < n && status == TFR_OK; i++) {
        int stop = is_stop_word(k, px + i, utf8);
        uint64_t bytes = 0;
        char *text = stop == 0 ? change_case(px + i, action, utf8, &bytes) : NULL;
        if (stop > 0)
            continue;
        status =
            text ? naive_set_string(py + count++, text, bytes, err)
                 : (int32_t)tfr_fail(err, TFR_ENOMEM, "no memory for string %lld", (long long)i);
        free(text);
    }
    if (status == TFR_OK && count == 0)
        status = naive_set_string(py + count++, "", 0, err);
    if (dims) {
        dims[0] = 1;
        dims[x->rank - 1] = count;
    }
    return status;
}

static int32_t run_stringnormalizer(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    int32_t status = normalize(k, launch, utf8, err);

    if (utf8)
        freelocale(utf8);
    return status;
}

const naive_op naive_string_normalizer_ops[] = {
    {"", "StringNormalizer", 10, NULL, run_stringnormalizer, NULL, 0, prepare_stringnormalizer},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
