/* SPDX-License-Identifier: Apache-2.0 */
/* table.c: see table.h. */
#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

#define GAP        2  /* columns between columns */
#define LEAST_WRAP 16 /* a wrapped column gets no narrower */

typedef struct cell {
    char *text;
    cli_color color;
} cell;

struct cli_table {
    uint32_t n_columns;
    const char *const *titles;
    const uint32_t *flags;
    cell *cells;
    size_t n, capacity;
    bool broken; /* a cell is lost: memory was short */
};

cli_table *cli_table_create(uint32_t n, const char *const *titles, const uint32_t *flags)
{
    cli_table *table = calloc(1, sizeof *table);
    if (!table || n > CLI_MAX_COLUMNS) {
        free(table);
        return NULL;
    }
    table->n_columns = n;
    table->titles = titles;
    table->flags = flags;
    return table;
}

void cli_table_destroy(cli_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->n; i++)
        free(table->cells[i].text);
    free(table->cells);
    free(table);
}

void cli_table_add(cli_table *table, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    int n;
    if (!table || table->broken)
        return;
    if (table->n == table->capacity) {
        size_t capacity = table->capacity ? 2 * table->capacity : 64;
        cell *more = realloc(table->cells, capacity * sizeof *more);
        table->broken = !more;
        if (!more)
            return;
        table->cells = more;
        table->capacity = capacity;
    }
    va_start(args, format);
    n = vasprintf(&text, format, args);
    va_end(args);
    table->broken = n < 0;
    if (n < 0)
        return;
    cli_clean(text);
    table->cells[table->n++] = (cell){text, CLI_PLAIN};
}

void cli_table_color(cli_table *table, cli_color color)
{
    if (table && table->n)
        table->cells[table->n - 1].color = color;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void table_widths(const cli_table *table, size_t *widths)
{
    for (uint32_t c = 0; c < table->n_columns; c++)
        widths[c] = cli_width(table->titles[c]);
    for (size_t i = 0; i < table->n; i++) {
        size_t w = cli_width(table->cells[i].text), c = i % table->n_columns;
        widths[c] = w > widths[c] ? w : widths[c];
    }
}

/* Takes columns from the widest wrapping column, one by one, until the row fits. */
static void table_narrow(const cli_table *table, size_t *widths, size_t limit)
{
    size_t sum = 0;
    for (uint32_t c = 0; c < table->n_columns; c++)
        sum += widths[c] + (c ? GAP : 0);
    while (limit && sum > limit) {
        uint32_t widest = table->n_columns;
        for (uint32_t c = 0; c < table->n_columns; c++)
            if ((table->flags[c] & CLI_WRAP) && widths[c] > LEAST_WRAP &&
                (widest == table->n_columns || widths[c] > widths[widest]))
                widest = c;
        if (widest == table->n_columns)
            return;
        widths[widest]--;
        sum--;
    }
}

/* Bytes of text that go into `width` columns, cut at a blank if there is one. */
static size_t line_bytes(const char *text, size_t width)
{
    size_t i = 0, columns = 0, blank = 0;
    while (text[i]) {
        bool starts = ((unsigned char)text[i] & 0xC0) != 0x80;
        if (starts && columns == width)
            return blank ? blank : i;
        if (text[i] == ' ' && i)
            blank = i;
        columns += starts;
        i++;
    }
    return i;
}

/* One row, over as many lines as its longest cell needs. rest[] are what is left of the cells. */
static void print_row(const cli_table *table, const char **rest, const cli_color *colors,
                      const size_t *widths)
{
    bool more = true;
    while (more) {
        size_t pending = 0; /* blanks that are printed only if something follows */
        more = false;
        for (uint32_t c = 0; c < table->n_columns; c++) {
            size_t bytes = line_bytes(rest[c], widths[c]), columns = 0;
            for (size_t i = 0; i < bytes; i++)
                columns += ((unsigned char)rest[c][i] & 0xC0) != 0x80;
            pending += c ? GAP : 0;
            if (bytes) {
                if (table->flags[c] & CLI_RIGHT)
                    pending += widths[c] - columns;
                printf("%*s%s%.*s%s", (int)pending, "", cli_color_on(colors[c]), (int)bytes,
                       rest[c], cli_color_off(colors[c]));
                pending = 0;
            }
            if (!bytes || !(table->flags[c] & CLI_RIGHT))
                pending += widths[c] - columns;
            rest[c] += bytes;
            while (*rest[c] == ' ')
                rest[c]++;
            more = more || *rest[c];
        }
        putchar('\n');
    }
}

tfr_status cli_table_print(cli_table *table, tfr_err *err)
{
    size_t widths[CLI_MAX_COLUMNS];
    const char *rest[CLI_MAX_COLUMNS];
    cli_color colors[CLI_MAX_COLUMNS];
    if (!table || table->broken) {
        cli_table_destroy(table);
        return tfr_fail(err, TFR_ENOMEM, "no memory for a table");
    }
    table_widths(table, widths);
    table_narrow(table, widths, cli_terminal_width());
    for (uint32_t c = 0; c < table->n_columns; c++) {
        rest[c] = table->titles[c];
        colors[c] = CLI_BOLD;
    }
    print_row(table, rest, colors, widths);
    for (size_t i = 0; i + table->n_columns <= table->n; i += table->n_columns) {
        for (uint32_t c = 0; c < table->n_columns; c++) {
            rest[c] = table->cells[i + c].text;
            colors[c] = table->cells[i + c].color;
        }
        print_row(table, rest, colors, widths);
    }
    cli_table_destroy(table);
    return TFR_OK;
}
