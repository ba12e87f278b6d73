/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: building a bench_report: rows, sides, figures, skips; medians and spreads. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

void bench_report_init(bench_report *report, const char *name, const bench_options *options)
{
    tfr_device_desc device = {.size = sizeof device};
    *report = (bench_report){.name = name,
                             .n_threads = options->n_threads,
                             .fma_roof = NAN,
                             .read_roof = NAN,
                             .fma_kernel = ""};
    if (getloadavg(&report->load, 1) != 1)
        report->load = NAN;
    for (uint32_t i = 0; options->runtime; i++) {
        if (tfr_runtime_device(options->runtime, i, &device, NULL))
            break;
        if (strcmp(device.type, "CPU") == 0) {
            /* "NAME, 2 threads": the number is a field of its own. */
            const char *end = strrchr(device.description, ',');
            snprintf(report->cpu, sizeof report->cpu, "%.*s",
                     (int)(end ? end - device.description : (int)strlen(device.description)),
                     device.description);
            break;
        }
    }
}

void bench_report_finish(bench_report *report)
{
    for (uint32_t i = 0; i < report->n_rows; i++) {
        free(report->rows[i].sides);
        free(report->rows[i].figures);
        free(report->rows[i].skips);
    }
    free(report->rows);
    free(report->figures);
    free(report->skips);
    *report = (bench_report){0};
}

/* Room for one more of n entries; zeroed. */
static void *grow(bench_report *report, void *array, uint32_t *n, size_t bytes, void **out_array)
{
    char *more = realloc(array, bytes * (*n + 1u));
    if (!more) {
        report->lost = true;
        return NULL;
    }
    *out_array = more;
    return memset(more + bytes * (*n)++, 0, bytes);
}

bench_row *bench_add_row(bench_report *report, int64_t size, const char *format, ...)
{
    void *array = report->rows;
    bench_row *row = grow(report, array, &report->n_rows, sizeof *row, &array);
    va_list args;
    report->rows = array;
    if (!row)
        return NULL;
    va_start(args, format);
    vsnprintf(row->what, sizeof row->what, format, args);
    va_end(args);
    row->size = size;
    return row;
}

bench_side *bench_add_side(bench_report *report, bench_row *row)
{
    void *array;
    bench_side *side;
    bench_spread none = {NAN, NAN, NAN, NAN, NAN};
    if (!row)
        return NULL;
    array = row->sides;
    side = grow(report, array, &row->n_sides, sizeof *side, &array);
    row->sides = array;
    if (side) {
        side->seconds = side->ratio = none;
        side->rate = side->roof_share = side->error = NAN;
        side->samples = side->accuracy = NAN;
    }
    return side;
}

void bench_add_figure(bench_report *report, bench_row *row, const char *name, const char *text,
                      const char *unit, double value)
{
    void *array = row ? row->figures : report->figures;
    bench_figure *figure =
        grow(report, array, row ? &row->n_figures : &report->n_figures, sizeof *figure, &array);
    if (row)
        row->figures = array;
    else
        report->figures = array;
    if (!figure)
        return;
    snprintf(figure->name, sizeof figure->name, "%s", name);
    snprintf(figure->text, sizeof figure->text, "%s", text);
    snprintf(figure->unit, sizeof figure->unit, "%s", unit);
    figure->value = value;
}

void bench_add_skip(bench_report *report, bench_row *row, const char *who, const char *why)
{
    uint32_t *n = row ? &row->n_skips : &report->n_skips;
    void *array = row ? row->skips : report->skips;
    bench_skip *skip = array;
    for (uint32_t i = 0; i < *n; i++)
        if (strcmp(skip[i].who, who) == 0 && strcmp(skip[i].why, why) == 0)
            return;
    skip = grow(report, array, n, sizeof *skip, &array);
    if (row)
        row->skips = array;
    else
        report->skips = array;
    if (!skip)
        return;
    snprintf(skip->who, sizeof skip->who, "%s", who);
    snprintf(skip->why, sizeof skip->why, "%s", why);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which the share lies, between the two nearest. */
static double quantile(const double *sorted, uint64_t n, double share)
{
    double at = share * (double)(n - 1);
    uint64_t below = (uint64_t)at;
    return below + 1 < n
               ? sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below])
               : sorted[n - 1];
}

bench_spread bench_spread_of(double *values, uint64_t n)
{
    qsort(values, n, sizeof *values, by_size);
    return (bench_spread){values[0], quantile(values, n, 0.1), quantile(values, n, 0.5),
                          quantile(values, n, 0.9), values[n - 1]};
}
