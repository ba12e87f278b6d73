/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg.c: rate against size as lines with logarithmic axes: who is how fast at which size. Plain
 * SVG 1.1 without scripts, which browsers and README pages show.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <core/base/writer.h>
#include <tfrun/fail.h>

#include "bench.h"

enum { WIDTH = 760, HEIGHT = 460, LEFT = 76, RIGHT = 190, TOP = 44, BOTTOM = 56, MOST_LINES = 16 };

/* Okabe and Ito's colours, which people with impaired colour vision can tell apart. */
static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                     "#e69f00", "#56b4e9", "#000000", "#999999"};
#define N_COLORS 8

typedef struct axes {
    double x_least, x_most, y_least, y_most; /* logarithms to base 10 */
} axes;

static double x_of(const axes *a, double size)
{
    double wide = a->x_most - a->x_least;
    return LEFT + (wide > 0 ? (log10(size) - a->x_least) / wide : 0.5) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const axes *a, double rate)
{
    return HEIGHT - BOTTOM -
           (log10(rate) - a->y_least) / (a->y_most - a->y_least) * (HEIGHT - TOP - BOTTOM);
}

static void put_text(FILE *f, double x, double y, const char *attributes, const char *text)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", f);
        else if (*text == '&')
            fputs("&amp;", f);
        else if ((unsigned char)*text >= 32 && (unsigned char)*text < 127)
            fputc(*text, f);
    }
    fputs("</text>\n", f);
}

/* The rate of this contender in a row, or NaN. */
static double rate_of(const bench_row *row, const char *who)
{
    for (uint32_t i = 0; i < row->n_sides; i++)
        if (strcmp(row->sides[i].who, who) == 0)
            return row->sides[i].rate;
    return NAN;
}

static uint32_t list_names(const bench_report *report, const char *names[MOST_LINES])
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < report->n_rows; r++)
        for (uint32_t i = 0; i < report->rows[r].n_sides && n < MOST_LINES; i++) {
            const bench_side *side = &report->rows[r].sides[i];
            bool known = !(side->rate > 0);
            for (uint32_t k = 0; k < n; k++)
                known = known || strcmp(names[k], side->who) == 0;
            if (!known)
                names[n++] = side->who;
        }
    return n;
}

static bool find_axes(const bench_report *report, axes *a)
{
    *a = (axes){INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (uint32_t r = 0; r < report->n_rows; r++)
        for (uint32_t i = 0; i < report->rows[r].n_sides; i++) {
            double x = log10((double)report->rows[r].size),
                   y = log10(report->rows[r].sides[i].rate);
            if (!(report->rows[r].sides[i].rate > 0) || !(report->rows[r].size > 0))
                continue;
            a->x_least = fmin(a->x_least, x);
            a->x_most = fmax(a->x_most, x);
            a->y_least = fmin(a->y_least, y);
            a->y_most = fmax(a->y_most, y);
        }
    if (report->fma_roof > 0)
        a->y_most = fmax(a->y_most, log10(report->fma_roof));
    a->y_least = floor(a->y_least - 0.05);
    a->y_most = a->y_most + 0.1;
    return isfinite(a->y_least) && isfinite(a->x_least);
}

/* Lines at 1, 2, 5 times powers of ten, and a mark under each size. */
static void put_grid(FILE *f, const bench_report *report, const axes *a)
{
    static const double steps[] = {1, 2, 5};
    char text[48];
    double last = -1000;
    for (double power = a->y_least; power <= a->y_most; power++)
        for (int i = 0; i < 3; i++) {
            double rate = steps[i] * pow(10, power), y = y_of(a, rate);
            if (log10(rate) > a->y_most)
                continue;
            fprintf(f, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\"/>\n", LEFT,
                    y, WIDTH - RIGHT, y, i ? "#eeeeee" : "#cccccc");
            snprintf(text, sizeof text, "%g", rate / 1e9);
            put_text(f, LEFT - 8, y + 4, "text-anchor=\"end\"", text);
        }
    for (uint32_t r = 0; r < report->n_rows; r++) {
        double x = x_of(a, (double)report->rows[r].size);
        fprintf(f, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#888888\"/>\n", x,
                HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 5);
        /* 500 and 512 are too near for two labels. */
        if (x - last < 34)
            continue;
        snprintf(text, sizeof text, "%lld", (long long)report->rows[r].size);
        put_text(f, x, HEIGHT - BOTTOM + 20, "text-anchor=\"middle\"", text);
        last = x;
    }
}

static void put_line(FILE *f, const bench_report *report, const axes *a, const char *who,
                     uint32_t number)
{
    const char *color = colors[number % N_COLORS];
    double y = TOP + 12 + 20.0 * number;
    bool first = true;
    fprintf(f, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" d=\"", color,
            number ? "1.8" : "3");
    for (uint32_t r = 0; r < report->n_rows; r++) {
        double rate = rate_of(&report->rows[r], who);
        if (!(rate > 0))
            continue;
        fprintf(f, "%s%.1f %.1f", first ? "M" : " L", x_of(a, (double)report->rows[r].size),
                y_of(a, rate));
        first = false;
    }
    fprintf(f, "\"/>\n");
    for (uint32_t r = 0; r < report->n_rows; r++) {
        double rate = rate_of(&report->rows[r], who);
        if (rate > 0)
            fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                    x_of(a, (double)report->rows[r].size), y_of(a, rate), color);
    }
    fprintf(f,
            "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\" "
            "stroke-width=\"3\"/>\n",
            WIDTH - RIGHT + 16, y - 4, WIDTH - RIGHT + 40, y - 4, color);
    put_text(f, WIDTH - RIGHT + 48, y, "", who);
}

static void put_all(FILE *f, const bench_report *report, const axes *a)
{
    const char *names[MOST_LINES];
    uint32_t n = list_names(report, names);
    char text[200];
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    snprintf(text, sizeof text, "N x N times N x N, float32: %s, %u thread%s", report->cpu,
             report->n_threads, report->n_threads == 1 ? "" : "s");
    put_text(f, LEFT, 24, "font-size=\"14\" font-weight=\"bold\"", text);
    put_grid(f, report, a);
    if (report->fma_roof > 0) {
        double y = y_of(a, report->fma_roof);
        fprintf(f,
                "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#888888\" "
                "stroke-dasharray=\"6 4\"/>\n",
                LEFT, y, WIDTH - RIGHT, y);
        put_text(f, WIDTH - RIGHT + 4, y + 4, "fill=\"#666666\" font-size=\"10\"", "roof");
    }
    fprintf(f, "<path d=\"M%d %d V%d H%d\" fill=\"none\" stroke=\"#888888\"/>\n", LEFT, TOP,
            HEIGHT - BOTTOM, WIDTH - RIGHT);
    for (uint32_t i = n; i-- > 0;)
        put_line(f, report, a, names[i], i);
    put_text(f, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 14, "text-anchor=\"middle\"", "N");
    put_text(f, 0, 0, "text-anchor=\"middle\" transform=\"translate(18 220) rotate(-90)\"",
             "GFLOP/s");
    fprintf(f, "</svg>\n");
}

tfr_status bench_svg_write(const bench_report *report, const char *path, tfr_err *err)
{
    tfr__writer writer;
    tfr_status status;
    axes a;
    FILE *f;
    if (!find_axes(report, &a))
        return tfr_fail(err, TFR_EINVAL, "%s: there is nothing to draw", path);
    status = tfr__writer_open(path, &writer, err);
    if (status)
        return status;
    f = tfr__writer_stream(&writer);
    if (f) {
        put_all(f, report, &a);
        if (fclose(f) == 0)
            return tfr__writer_close(&writer, err);
    }
    tfr__writer_abandon(&writer);
    return tfr_fail(err, TFR_ENOMEM, "no memory for writing a plot");
}
