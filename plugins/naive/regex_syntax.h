/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex_syntax.h: patterns of RE2, which is what ONNX means by a regular expression, as patterns of
 * PCRE2. What only PCRE2 has (references back, looking around, possessive quantifiers, recursion,
 * verbs, comments) is refused, so that a model means the same wherever it runs.
 */
#ifndef NAIVE_REGEX_SYNTAX_H
#define NAIVE_REGEX_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>

enum {
    NAIVE_REGEX_BYTES = 4096,   /* of a pattern, at most */
    NAIVE_REGEX_REPEATS = 1000, /* a{1000}, and (a{10}){100}: RE2's own limit */
    NAIVE_REGEX_DEPTH = 200,    /* of groups inside groups */
    NAIVE_REGEX_ROOM = 16       /* bytes that one byte of a pattern may become */
};

/*
 * Writes the pattern to out, which has room for NAIVE_REGEX_ROOM bytes for each of its n. NULL, or
 * why it cannot be taken; what stays for PCRE2 to find are errors that both have.
 */
const char *naive_regex_translate(const char *pattern, size_t n, char *out, size_t *out_bytes);

#endif
