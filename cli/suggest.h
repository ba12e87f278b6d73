/* SPDX-License-Identifier: Apache-2.0 */
/* suggest.h: what a wrong word may have meant. */
#ifndef TFR_CLI_SUGGEST_H
#define TFR_CLI_SUGGEST_H

#include <stddef.h>
#include <stdint.h>

typedef const char *(*cli_name_fn)(const void *user, uint32_t i);

/* The one of n names that is nearest to word, or NULL if none is near. */
const char *cli_nearest(const char *word, cli_name_fn name, const void *user, uint32_t n);

/* Writes `, did you mean "x"?`, or "" if no name is near; returns text. */
const char *cli_did_you_mean(const char *word, cli_name_fn name, const void *user, uint32_t n,
                             char *text, size_t capacity);

/* Writes the names with commas between them, and "..." if they do not all fit; returns text. */
const char *cli_join(cli_name_fn name, const void *user, uint32_t n, char *text, size_t capacity);

#endif
