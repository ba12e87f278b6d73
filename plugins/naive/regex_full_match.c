/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RegexFullMatch (ONNX 20): y = whether the pattern matches the whole of x. ONNX asks for RE2's
 * syntax; the C library has POSIX extended expressions. The pattern is rewritten: \d, \s, \w also
 * inside brackets, escapes inside brackets, (?:...) as a plain group, and ^(...)$ around all. What
 * has no POSIX form (lazy quantifiers, flags, \pN, \Q...) is declined. Bytes, not code points; a
 * string with a zero byte matches nothing.
 */
#include "naive.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN_BYTES = 4096 };

typedef struct pattern {
    char text[PATTERN_BYTES];
    size_t n;
    bool full; /* did not fit */
} pattern;

static void append(pattern *p, const char *text, size_t n)
{
    if (n >= sizeof(p->text) - p->n) {
        p->full = true;
        return;
    }
    memcpy(p->text + p->n, text, n);
    p->n += n;
    p->text[p->n] = 0;
}

/* The inside of a bracket expression for an escape, or NULL for one without. */
static const char *class_of(char c)
{
    return c == 'd' ? "0-9" : c == 's' ? "[:space:]" : c == 'w' ? "[:alnum:]_" : NULL;
}

/*
 * Rewrites the bracket expression at s. POSIX has no escapes inside: ] must come first, ^ not
 * first,
 * - last. Returns the bytes read, 0 if it has no POSIX form.
 */
static size_t rewrite_bracket(const char *s, pattern *out)
{
    bool close = false, dash = false, caret = false, any = false;
    size_t i = 1, start;

    append(out, "[", 1);
    if (s[i] == '^')
        append(out, &s[i++], 1);
    start = out->n;
    for (; s[i] && (s[i] != ']'); i++) {
        bool escaped = s[i] == '\\' && s[i + 1];
        char c = escaped ? s[++i] : s[i];
        if (escaped && class_of(c)) {
            append(out, class_of(c), strlen(class_of(c)));
            any = true;
        } else if (escaped &&
                   ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) {
            return 0;
        } else if (c == ']') {
            close = true;
        } else if (c == '^') {
            caret = true;
        } else if (c == '-' && (escaped || out->n == start || s[i + 1] == ']')) {
            dash = true;
        } else {
            append(out, &c, 1);
            any = any || c != '-';
        }
    }
    if (!s[i] || out->full || (caret && !any && !close))
        return 0;
    if (close) {
        append(out, " ", 1);
        if (out->full)
            return 0;
        memmove(out->text + start + 1, out->text + start, out->n - start - 1);
        out->text[start] = ']';
    }
    append(out, "^", caret);
    append(out, "-", dash);
    append(out, "]", 1);
    return i + 1;
}

/* An escape outside of brackets, 2 bytes. False if POSIX has none such. */
static bool rewrite_escape(char c, pattern *out)
{
    char pair[2] = {'\\', c};

    if (c == 'd' || c == 'D') {
        append(out, c == 'd' ? "[0-9]" : "[^0-9]", c == 'd' ? 5 : 6);
        return true;
    }
    if (c == 't' || c == 'n' || c == 'r') {
        append(out, c == 't' ? "\t" : c == 'n' ? "\n" : "\r", 1);
        return true;
    }
    append(out, pair, 2);
    return strchr("wWsSbB", c) ||
           !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'));
}

static bool rewrite(const char *s, pattern *out)
{
    size_t read;

    out->n = 0;
    out->full = false;
    append(out, "^(", 2);
    for (; *s && !out->full; s += read) {
        read = 1;
        if (*s == '\\') {
            if (!s[1] || !rewrite_escape(s[1], out))
                return false;
            read = 2;
        } else if (*s == '[') {
            read = rewrite_bracket(s, out);
            if (!read)
                return false;
        } else if (*s == '(' && s[1] == '?') {
            if (s[2] != ':')
                return false;
            append(out, "(", 1);
            read = 3;
        } else if (strchr("*+?}", *s) && (s[1] == '?' || s[1] == '+')) {
            return false; /* lazy and possessive quantifiers */
        } else {
            append(out, s, 1);
        }
    }
    append(out, ")$", 2);
    return !out->full;
}

static int32_t supports_regex(const tfr_call *call, tfr_answer *answer)
{
    pattern p;
    const char *text = tfr_call_string(call, "pattern", "");

    if (!rewrite(text, &p))
        return tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                           "pattern \"%.80s\" of %zu bytes has no POSIX form of at most %d bytes",
                           text, strlen(text), PATTERN_BYTES);
    return TFR_OK;
}

/* 1 or 0, -1 without memory. regexec wants a zero at the end. */
static int match(const regex_t *regex, const tfr_string *x)
{
    char *text = malloc((size_t)x->bytes + 1);
    int found;

    if (!text)
        return -1;
    if (x->bytes)
        memcpy(text, x->data, (size_t)x->bytes);
    text[x->bytes] = 0;
    found = strlen(text) == x->bytes && regexec(regex, text, 0, NULL, 0) == 0;
    free(text);
    return found;
}

static int32_t run_regex(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0);
    const tfr_string *px = naive_in(k, launch, 0);
    uint8_t *py = naive_out(k, launch, 0);
    int64_t n = tfr_operand_elements(x), i;
    int32_t status = TFR_OK;
    char why[128];
    regex_t regex;
    pattern p;
    int code;

    if (!rewrite(tfr_call_string(&k->call, "pattern", ""), &p))
        return tfr_fail(err, TFR_EUNSUPPORTED, "the pattern has no POSIX form");
    code = regcomp(&regex, p.text, REG_EXTENDED | REG_NOSUB);
    if (code) {
        regerror(code, &regex, why, sizeof(why));
        return tfr_fail(err, TFR_EINVAL, "pattern \"%.80s\" is not valid: %s",
                        tfr_call_string(&k->call, "pattern", ""), why);
    }
    for (i = 0; i < n && status == TFR_OK; i++) {
        int found = match(&regex, px + i);
        if (found < 0)
            status = tfr_fail(err, TFR_ENOMEM, "no memory for a string of %llu bytes",
                              (unsigned long long)px[i].bytes);
        else
            py[i] = (uint8_t)found;
    }
    regfree(&regex);
    return status;
}

const naive_op naive_regex_full_match_ops[] = {
    {"", "RegexFullMatch", 20, supports_regex, run_regex, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
