/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h: aligned tables on standard output. Cells are cleaned (text.h). On a terminal the columns
 * that may wrap are narrowed until a row fits; elsewhere a row is one line, so that grep works.
 */
#ifndef TFR_CLI_TABLE_H
#define TFR_CLI_TABLE_H

#include "text.h"

#define CLI_MAX_COLUMNS 16

enum {
    CLI_RIGHT = 1u << 0, /* numbers */
    CLI_WRAP = 1u << 1   /* sentences */
};

typedef struct cli_table cli_table;

/* titles are n static texts; flags one a column. NULL when memory is short, which all others take.
 */
cli_table *cli_table_create(uint32_t n, const char *const *titles, const uint32_t *flags);
void cli_table_destroy(cli_table *table);

/* Adds the next cell; after the last column comes the next row. */
void cli_table_add(cli_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Colours the cell that was added last. */
void cli_table_color(cli_table *table, cli_color color);

/* Prints and destroys it. TFR_ENOMEM if a cell was lost. */
TFR_MUST_CHECK tfr_status cli_table_print(cli_table *table, tfr_err *err);

#endif
