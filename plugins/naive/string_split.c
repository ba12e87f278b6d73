/* SPDX-License-Identifier: Apache-2.0 */
/*
 * StringSplit (ONNX 20): y[...][j] = piece j of x[...], padded with empty strings to the most
 * pieces of any element; z = the number of pieces. Splits at each delimiter, or without one at runs
 * of ASCII white space, which also falls off both ends; after maxsplit splits the rest is one piece
 * (Python's str.split).
 */
#include "naive.h"

#include <string.h>

typedef struct splitter {
    const char *text, *delimiter;
    uint64_t bytes, at, delimiter_bytes;
    int64_t left; /* splits that may still be made */
    bool done;
} splitter;

static splitter start_split(const tfr_call *call, const tfr_string *x)
{
    const char *delimiter = tfr_call_string(call, "delimiter", "");
    splitter s = {x->data, delimiter, x->bytes, 0, strlen(delimiter), 0, false};

    s.left = tfr_call_int(call, "maxsplit", INT64_MAX);
    return s;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool next_word(splitter *s, tfr_string *piece)
{
    uint64_t begin;

    while (s->at < s->bytes && is_space(s->text[s->at]))
        s->at++;
    if (s->at == s->bytes)
        return false;
    begin = s->at;
    while (s->at < s->bytes && (s->left == 0 || !is_space(s->text[s->at])))
        s->at++;
    s->left -= s->left > 0;
    *piece = (tfr_string){s->text + begin, s->at - begin};
    return true;
}

static bool next_field(splitter *s, tfr_string *piece)
{
    uint64_t begin = s->at, n = s->delimiter_bytes, i;

    if (s->done)
        return false;
    for (i = begin; s->left > 0 && n <= s->bytes && i <= s->bytes - n; i++) {
        if (memcmp(s->text + i, s->delimiter, (size_t)n) == 0) {
            *piece = (tfr_string){s->text + begin, i - begin};
            s->at = i + n;
            s->left--;
            return true;
        }
    }
    *piece = (tfr_string){s->bytes ? s->text + begin : "", s->bytes - begin};
    s->done = true;
    return true;
}

static bool next_piece(splitter *s, tfr_string *piece)
{
    return s->delimiter_bytes ? next_field(s, piece) : next_word(s, piece);
}

static int32_t run_stringsplit(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *y = tfr_call_output(&k->call, 0);
    const tfr_string *px = naive_in(k, launch, 0);
    tfr_string *py = naive_out(k, launch, 0), piece;
    int64_t *pz = naive_out(k, launch, 1), *dims = naive_out_dims(k, launch, 0);
    int64_t *z_dims = naive_out_dims(k, launch, 1);
    int64_t n = tfr_operand_elements(x), width = 0, count, i;
    int64_t room = y ? y->dims[x->rank] : INT64_MAX;
    splitter s;
    int32_t status = TFR_OK;

    for (i = 0; i < n; i++) {
        for (s = start_split(&k->call, px + i), count = 0; next_piece(&s, &piece);)
            count++;
        if (pz)
            pz[i] = count;
        width = count > width ? count : width;
    }
    if (width > room)
        return tfr_fail(err, TFR_ELIMIT, "a string has %lld pieces, the output has room for %lld",
                        (long long)width, (long long)room);
    if (z_dims)
        memcpy(z_dims, x->dims, (size_t)x->rank * sizeof(*z_dims));
    if (dims) {
        memcpy(dims, x->dims, (size_t)x->rank * sizeof(*dims));
        dims[x->rank] = width;
    } else if (y) {
        width = room;
    }
    for (i = 0; i < n && y; i++) {
        s = start_split(&k->call, px + i);
        for (count = 0; count < width && status == TFR_OK; count++) {
            if (!next_piece(&s, &piece))
                piece = (tfr_string){"", 0};
            status = naive_set_string(py + i * width + count, piece.data, piece.bytes, err);
        }
    }
    return status;
}

const naive_op naive_string_split_ops[] = {
    {"", "StringSplit", 20, NULL, run_stringsplit, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
