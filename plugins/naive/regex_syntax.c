/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex_syntax.c: see regex_syntax.h and https://github.com/google/re2/wiki/Syntax. One walk over
 * the pattern copies what both read alike and rewrites the rest:
 *
 *   \s \S   RE2's have no vertical tab       \v   is one, PCRE2's is a class
 *   $       without (?m) the end of the text; PCRE2's option for that breaks (?m)$ in 10.42
 *   \012    octal, also where PCRE2 would see a reference        {,n}   are characters
 */
#include "regex_syntax.h"

#include <stdint.h>
#include <string.h>

typedef struct walk {
    const char *at, *end;
    char *out;
    const char *why; /* the pattern is refused; NULL = not yet */
    bool may_repeat; /* false right after a quantifier: a** is an error, a*+ would be possessive */
    /* The most often that anything in each open group is repeated, and in the piece before at. */
    int repeats[NAIVE_REGEX_DEPTH + 1], piece, depth;
    bool multiline[NAIVE_REGEX_DEPTH + 1]; /* (?m) holds there */
} walk;

static void put(walk *w, const char *text, size_t n)
{
    memcpy(w->out, text, n);
    w->out += n;
}

static void put_text(walk *w, const char *text)
{
    put(w, text, strlen(text));
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void refuse(walk *w, const char *why)
{
    if (!w->why)
        w->why = why;
}

/* ---- escapes --------------------------------------------------------------------------------- */

/* Up to three octal digits; one digit from 1 on would be a reference. */
static void octal(walk *w)
{
    static const char hex[] = "0123456789abcdef";
    const char *at = w->at + 1;
    int code = 0, n = 0;
    for (; n < 3 && at + n < w->end && at[n] >= '0' && at[n] <= '7'; n++)
        code = code * 8 + (at[n] - '0');
    if (n < 1 || (at[0] != '0' && n < 2) || code > 0xff) {
        refuse(w, "references such as \\1 are not in RE2's syntax");
        return;
    }
    put_text(w, "\\x{");
    put(w, &hex[code >> 4], 1);
    put(w, &hex[code & 15], 1);
    put_text(w, "}");
    w->at += 1 + n;
}

/* \Q...\E, where \E may be missing. */
static void quoted(walk *w)
{
    const char *begin = w->at;
    for (w->at += 2; w->at < w->end; w->at++)
        if (w->end - w->at >= 2 && w->at[0] == '\\' && w->at[1] == 'E') {
            w->at += 2;
            break;
        }
    put(w, begin, (size_t)(w->at - begin));
}

/* \pN, \p{Greek}; and \x7f, \x{10ffff}. */
static void escape_with_more(walk *w)
{
    const char *close;
    size_t n = w->at[1] == 'x' ? 4 : 3;
    if (w->end - w->at >= 3 && w->at[2] == '{') {
        close = memchr(w->at, '}', (size_t)(w->end - w->at));
        n = close ? (size_t)(close - w->at) + 1 : SIZE_MAX;
    }
    if (n > (size_t)(w->end - w->at)) {
        refuse(w, "an escape ends early");
        return;
    }
    for (size_t i = 2; w->at[1] == 'x' && i < n; i++)
        if (!is_digit(w->at[i]) && !strchr("abcdefABCDEF{}", w->at[i]))
            refuse(w, "\\x has digits that are not hexadecimal");
    put(w, w->at, n);
    w->at += n;
}

static void escape(walk *w, bool in_class)
{
    char c = w->end - w->at >= 2 ? w->at[1] : 0;
    const char *other = NULL;
    if (w->end - w->at < 2) {
        refuse(w, "it ends in a backslash");
    } else if (is_digit(c)) {
        octal(w);
    } else if (c == 'Q' && !in_class) {
        quoted(w);
    } else if (c == 'p' || c == 'P' || c == 'x') {
        escape_with_more(w);
    } else if (is_letter(c) && !strchr("dDwWafnrtsSv", c) && (in_class || !strchr("AbBzE", c))) {
        refuse(w, "it has an escape that is not in RE2's syntax");
    } else {
        if (c == 's')
            other = in_class ? "\\t\\n\\f\\r\\x20" : "[\\t\\n\\f\\r\\x20]";
        else if (c == 'S')
            other = in_class ? "\\S\\x0b" : "[^\\t\\n\\f\\r\\x20]";
        else if (c == 'v')
            other = "\\x0b";
        if (other)
            put_text(w, other);
        else
            put(w, w->at, 2);
        w->at += 2;
    }
}

/* ---- brackets -------------------------------------------------------------------------------- */

/* [:alpha:] or [:^alpha:] inside brackets; false: what begins here is a plain bracket. */
static bool named_class(walk *w)
{
    static const char *const names[] = {"alnum", "alpha", "ascii", "blank",  "cntrl",
                                        "digit", "graph", "lower", "print",  "punct",
                                        "space", "upper", "word",  "xdigit", NULL};
    const char *name = w->at + 2, *end = name;
    if (w->end - w->at < 4 || w->at[1] != ':')
        return false;
    if (*name == '^')
        end = ++name;
    while (end < w->end && is_letter(*end))
        end++;
    if (w->end - end < 2 || end[0] != ':' || end[1] != ']')
        return false;
    for (int i = 0; names[i]; i++)
        if (strlen(names[i]) == (size_t)(end - name) &&
            memcmp(names[i], name, (size_t)(end - name)) == 0) {
            put(w, w->at, (size_t)(end + 2 - w->at));
            w->at = end + 2;
            return true;
        }
    refuse(w, "there is no class of that name between [: and :]");
    return true;
}

static void brackets(walk *w)
{
    bool first = true;
    put(w, w->at++, 1);
    if (w->at < w->end && *w->at == '^')
        put(w, w->at++, 1);
    for (; !w->why && w->at < w->end && (first || *w->at != ']'); first = false) {
        if (*w->at == '\\') {
            escape(w, true);
        } else if (*w->at != '[') {
            put(w, w->at++, 1);
        } else if (!named_class(w)) {
            put_text(w, "\\[");
            w->at++;
        }
    }
    if (w->at < w->end)
        put(w, w->at++, 1);
    else
        refuse(w, "a bracket is not closed");
}

/* ---- groups and quantifiers ------------------------------------------------------------------ */

/* (, (?:, (?P<name>, (?flags) and (?flags: with flags of i, m, s, U. */
static void open_group(walk *w)
{
    const char *at = w->at + 1;
    bool multiline = w->multiline[w->depth], sets = true;
    if (at < w->end && *at == '*')
        refuse(w, "nothing is there to repeat after \"(\"");
    if (w->end - at >= 3 && memcmp(at, "?P<", 3) == 0) {
        at += 3;
    } else if (at < w->end && *at == '?') {
        for (at++; at < w->end && strchr("imsU-", *at); at++) {
            sets = sets && *at != '-';
            multiline = *at == 'm' ? sets : multiline;
        }
        if (at == w->end || (*at != ':' && *at != ')'))
            refuse(w, "a group begins with (? in a way that is not in RE2's syntax");
        else
            at++;
    }
    if (w->why)
        return;
    put(w, w->at, (size_t)(at - w->at));
    w->at = at;
    if (at[-1] != ')') { /* not flags alone */
        if (w->depth == NAIVE_REGEX_DEPTH) {
            refuse(w, "more than 200 groups are inside each other");
            return;
        }
        w->repeats[++w->depth] = 1;
    }
    w->multiline[w->depth] = multiline;
}

static void raise_to(int *most, int value)
{
    *most = value > *most ? value : *most;
}

static void close_group(walk *w)
{
    if (!w->depth) {
        refuse(w, "a group is closed that is not open");
        return;
    }
    put(w, w->at++, 1);
    w->piece = w->repeats[w->depth--];
    raise_to(&w->repeats[w->depth], w->piece);
}

static void dollar(walk *w)
{
    put_text(w, w->multiline[w->depth] ? "$" : "\\z");
    w->at++;
}

/* The bytes of {n}, {n,} or {n,m} at w->at, 0 if these are characters. *count is the larger. */
static size_t counted(const walk *w, int *count)
{
    const char *at = w->at + 1;
    int numbers[2] = {-1, -1};
    for (int i = 0; i < 2; i++) {
        for (; at < w->end && is_digit(*at); at++) {
            int so_far = numbers[i] < 0 ? 0 : numbers[i];
            numbers[i] = so_far > NAIVE_REGEX_REPEATS ? so_far : so_far * 10 + (*at - '0');
        }
        if (i == 0 && (numbers[0] < 0 || at == w->end || *at != ','))
            break;
        at += i == 0;
    }
    if (numbers[0] < 0 || at == w->end || *at != '}')
        return 0;
    *count = numbers[0];
    raise_to(count, numbers[1]);
    return (size_t)(at + 1 - w->at);
}

static void quantifier(walk *w)
{
    int count = 1;
    size_t n = *w->at == '{' ? counted(w, &count) : 1;
    if (!n) {
        put_text(w, "\\{");
        w->at++;
        w->piece = 1;
        w->may_repeat = true;
        return;
    }
    if (!w->may_repeat)
        refuse(w, "a quantifier follows another one");
    if (count > NAIVE_REGEX_REPEATS || count * w->piece > NAIVE_REGEX_REPEATS)
        refuse(w, "it repeats something more than 1000 times, which is RE2's limit, too");
    if (w->why)
        return;
    raise_to(&w->repeats[w->depth], count * w->piece);
    put(w, w->at, n);
    w->at += n;
    if (w->at < w->end && *w->at == '?')
        put(w, w->at++, 1);
    w->may_repeat = false;
}

const char *naive_regex_translate(const char *pattern, size_t n, char *out, size_t *out_bytes)
{
    walk w = {.at = pattern, .end = pattern + n, .out = out, .may_repeat = true, .piece = 1};
    if (n > NAIVE_REGEX_BYTES)
        return "it has more than 4096 bytes";
    w.repeats[0] = 1;
    while (!w.why && w.at < w.end) {
        if (strchr("*+?{", *w.at) && *w.at) {
            quantifier(&w);
            continue;
        }
        w.piece = 1;
        w.may_repeat = true;
        if (*w.at == '\\')
            escape(&w, false);
        else if (*w.at == '[')
            brackets(&w);
        else if (*w.at == '(')
            open_group(&w);
        else if (*w.at == ')')
            close_group(&w);
        else if (*w.at == '$')
            dollar(&w);
        else
            put(&w, w.at++, 1);
    }
    *out_bytes = (size_t)(w.out - out);
    return w.why;
}
