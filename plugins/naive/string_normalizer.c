/* SPDX-License-Identifier: Apache-2.0 */
/*
 * StringNormalizer (ONNX 10): drops the elements that are stop words, then changes the case of the
 * rest; if none is left, the output is one empty string. Input and output are [C] or [1, C]. Case
 * is that of Unicode code points as the C library maps them one to one (no locale of the attribute
 * is taken: they differ in few letters, and the answer must not depend on what is installed);
 * without a UTF-8 locale only ASCII letters change. Bytes that are not UTF-8 stay.
 */
#include "naive.h"

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

/* 1 if text is a stop word, 0 if not, -1 without memory. */
static int is_stop_word(const tfr_call *call, const tfr_string *text, locale_t utf8)
{
    const tfr_attr *words = tfr_call_attr(call, "stopwords");
    char fold = tfr_call_int(call, "is_case_sensitive", 0) ? 'N' : 'L';
    uint64_t n, m, i;
    char *a = change_case(text, fold, utf8, &n), *b;
    int found = a ? 0 : -1;

    for (i = 0; words && found == 0 && i < words->n; i++) {
        b = change_case(&words->strings[i], fold, utf8, &m);
        found = !b ? -1 : m == n && memcmp(a, b, (size_t)n) == 0;
        free(b);
    }
    free(a);
    return found;
}

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
        int stop = is_stop_word(&k->call, px + i, utf8);
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
    {"", "StringNormalizer", 10, NULL, run_stringnormalizer, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
