/* SPDX-License-Identifier: Apache-2.0 */
/* text.h: text for people: made safe for a terminal, measured, coloured; numbers with units. */
#ifndef TFR_CLI_TEXT_H
#define TFR_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tfrun/graph.h>

/*
 * Makes text safe in place: control bytes (C0, C1, DEL) and characters that turn the direction of
 * writing are taken out, bytes that are not UTF-8 become '?'. Names in models and sentences of
 * plugins could otherwise drive the user's terminal.
 */
void cli_clean(char *text);

/* Columns that cleaned text takes: one per code point, which is near enough for names. */
size_t cli_width(const char *text);

/* Prints one line, cleaned. Long lines are printed whole. */
void cli_line(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Has there been no memory for a line of standard output? */
bool cli_line_was_lost(void);

typedef enum cli_color { CLI_PLAIN, CLI_BOLD, CLI_RED, CLI_GREEN, CLI_YELLOW } cli_color;

/* choice as in cli_args; auto is a terminal that is not dumb, without NO_COLOR. */
void cli_color_init(int32_t choice);
/* The escape sequences, or "" when standard output has no colours. */
const char *cli_color_on(cli_color color);
const char *cli_color_off(cli_color color);

/* Columns of the terminal on standard output; 0 = it is none. */
size_t cli_terminal_width(void);

/* "7.6 GiB", "512 B". Returns text. */
const char *cli_format_bytes(uint64_t bytes, char *text, size_t n);
/* "1.53 ms". Returns text. */
const char *cli_format_seconds(double seconds, char *text, size_t n);
/* "float32[1,3,?,224]", "sequence of int64", "any type". Returns text. */
const char *cli_format_type(const tfr_value_type *type, char *text, size_t n);
/* "float32[1,3]" of a value. Returns text. */
const char *cli_format_tensor(const tfr_tensor *tensor, char *text, size_t n);

#endif
