/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curves_svg.c: a plot of curves: a diagram for each group of names, one below the other, each with
 * a scale of its own from the least to the greatest value, in steps of 1, 2 or 5 times a power of
 * ten.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include <core/base/writer.h>

#include "curves.h"

enum { WIDTH = 800, HEIGHT = 320, LEFT = 70, RIGHT = 20, TOP = 50, BOTTOM = 40, HEAD = 30 };
enum { MOST_DOTS = 60 }; /* curves of so few points show each */

static const char *const colors[] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728",
                                     "#9467bd", "#8c564b", "#e377c2", "#7f7f7f"};
enum { N_COLORS = sizeof colors / sizeof *colors };

typedef struct axis {
    double least, most, step;
    double at, length; /* in pixels: where least is, and how far from there most is */
} axis;

/* With a point, whatever the language of the program. */
static const char *real(double value, const char *format, char text[40])
{
    snprintf(text, 40, format, value);
    for (char *p = text; *p; p++)
        if (*p == ',')
            *p = '.';
    return text;
}

static void put_name(FILE *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n && text[i]; i++)
        switch (text[i]) {
        case '<':
            fputs("&lt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            if ((unsigned char)text[i] >= ' ')
                fputc(text[i], out);
        }
}

/* ---- groups and scales ----------------------------------------------------------------------- */

/* Letters of a name before its slash, which name its group. */
static size_t group_length(const char *name)
{
    return strcspn(name, "/");
}

static bool is_same_group(const char *a, const char *b)
{
    const size_t n = group_length(a);
    return group_length(b) == n && memcmp(a, b, n) == 0;
}

/* Is curve i the first one of its group? */
static bool starts_group(const tfr_curves *c, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (is_same_group(c->names[k], c->names[i]))
            return false;
    return true;
}

static double value_at(const tfr_curves *c, size_t point, uint32_t curve)
{
    return c->values[point * c->n + curve];
}

/* Ends that are multiples of the step, at most about eight of it. */
static void round_axis(axis *a)
{
    double tens;
    if (!(a->most >= a->least))
        a->least = 0, a->most = 1;
    if (a->most == a->least)
        a->most = a->least + (a->least != 0 ? fabs(a->least) : 1);
    tens = pow(10, floor(log10((a->most - a->least) / 8)));
    a->step = tens;
    for (int i = 0; (a->most - a->least) / a->step > 8 && i < 3; i++)
        a->step = tens * (double[]){2, 5, 10}[i];
    a->least = floor(a->least / a->step + 1e-9) * a->step;
    a->most = ceil(a->most / a->step - 1e-9) * a->step;
}

static double place(const axis *a, double value)
{
    return a->at + (value - a->least) / (a->most - a->least) * a->length;
}

static axis steps_axis(const tfr_curves *c)
{
    axis x = {.least = INFINITY, .most = -INFINITY, .at = LEFT, .length = WIDTH - LEFT - RIGHT};
    for (size_t p = 0; p < c->n_points; p++) {
        x.least = fmin(x.least, (double)c->steps[p]);
        x.most = fmax(x.most, (double)c->steps[p]);
    }
    round_axis(&x);
    return x;
}

static axis values_axis(const tfr_curves *c, uint32_t first, double top)
{
    axis y = {.least = INFINITY, .most = -INFINITY, .length = -(HEIGHT - TOP - BOTTOM)};
    y.at = top + HEIGHT - BOTTOM;
    for (uint32_t i = first; i < c->n; i++)
        for (size_t p = 0; p < c->n_points && is_same_group(c->names[first], c->names[i]); p++)
            if (isfinite(value_at(c, p, i))) {
                y.least = fmin(y.least, value_at(c, p, i));
                y.most = fmax(y.most, value_at(c, p, i));
            }
    round_axis(&y);
    return y;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void draw_line(FILE *out, double x1, double y1, double x2, double y2)
{
    char a[40], b[40], c[40], d[40];
    fprintf(out, "<line x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\" stroke=\"#ddd\"/>\n",
            real(x1, "%.1f", a), real(y1, "%.1f", b), real(x2, "%.1f", c), real(y2, "%.1f", d));
}

static void draw_label(FILE *out, double x, double y, const char *anchor, double value)
{
    char a[40], b[40], c[40];
    fprintf(out, "<text x=\"%s\" y=\"%s\" text-anchor=\"%s\">%s</text>\n", real(x, "%.1f", a),
            real(y, "%.1f", b), anchor, real(value, "%.6g", c));
}

static void draw_grid(FILE *out, const axis *x, const axis *y)
{
    const double right = x->at + x->length, top = y->at + y->length;
    for (int i = 0; y->least + i * y->step <= y->most + y->step / 2; i++) {
        const double value = y->least + i * y->step, at = place(y, value);
        draw_line(out, x->at, at, right, at);
        draw_label(out, x->at - 6, at + 4, "end", fabs(value) < y->step / 1e6 ? 0 : value);
    }
    for (int i = 0; x->least + i * x->step <= x->most + x->step / 2; i++) {
        const double at = place(x, x->least + i * x->step);
        draw_line(out, at, y->at, at, top);
        draw_label(out, at, y->at + 16, "middle", x->least + i * x->step);
    }
}

static void draw_curve(FILE *out, const tfr_curves *c, uint32_t i, const axis *x, const axis *y,
                       const char *color)
{
    char a[40], b[40];
    size_t n = 0;
    fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"", color);
    for (size_t p = 0; p < c->n_points; p++)
        if (isfinite(value_at(c, p, i))) {
            fprintf(out, "%s%s,%s", n ? " " : "", real(place(x, (double)c->steps[p]), "%.1f", a),
                    real(place(y, value_at(c, p, i)), "%.1f", b));
            n++;
        }
    fputs("\"/>\n", out);
    for (size_t p = 0; n <= MOST_DOTS && p < c->n_points; p++)
        if (isfinite(value_at(c, p, i)))
            fprintf(out, "<circle cx=\"%s\" cy=\"%s\" r=\"2.5\" fill=\"%s\"/>\n",
                    real(place(x, (double)c->steps[p]), "%.1f", a),
                    real(place(y, value_at(c, p, i)), "%.1f", b), color);
}

/* The curves of the group of `first`, and their names above. */
static void draw_group(FILE *out, const tfr_curves *c, uint32_t first, double top)
{
    const axis x = steps_axis(c), y = values_axis(c, first, top);
    uint32_t n = 0;
    draw_grid(out, &x, &y);
    fprintf(out, "<text x=\"%d\" y=\"%.0f\" font-weight=\"bold\">", LEFT, top + TOP - 12);
    put_name(out, c->names[first], group_length(c->names[first]));
    fputs("</text>\n", out);
    for (uint32_t i = first; i < c->n; i++) {
        const char *color = colors[n % N_COLORS], *name = c->names[i];
        const double at = LEFT + 120 + 150.0 * n;
        if (!is_same_group(c->names[first], name))
            continue;
        n++;
        draw_curve(out, c, i, &x, &y, color);
        name += name[group_length(name)] ? group_length(name) + 1 : 0;
        fprintf(out,
                "<line x1=\"%.0f\" y1=\"%.0f\" x2=\"%.0f\" y2=\"%.0f\" stroke=\"%s\" "
                "stroke-width=\"3\"/>\n<text x=\"%.0f\" y=\"%.0f\">",
                at, top + TOP - 16, at + 20, top + TOP - 16, color, at + 26, top + TOP - 12);
        put_name(out, name, strlen(name));
        fputs("</text>\n", out);
    }
}

static void draw(FILE *out, const tfr_curves *c, const char *title)
{
    int n = 0;
    double top = HEAD;
    for (uint32_t i = 0; i < c->n; i++)
        n += starts_group(c, i);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<text x=\"%d\" y=\"24\" font-size=\"16\">",
            WIDTH, HEAD + n * HEIGHT, LEFT);
    put_name(out, title ? title : "", title ? strlen(title) : 0);
    fputs("</text>\n", out);
    for (uint32_t i = 0; i < c->n; i++)
        if (starts_group(c, i)) {
            draw_group(out, c, i, top);
            top += HEIGHT;
        }
    fputs("</svg>\n", out);
}

tfr_status tfr_curves_plot(const tfr_curves *c, const char *path, const char *title, tfr_err *err)
{
    tfr__writer *writer = malloc(sizeof *writer);
    FILE *out = NULL;
    tfr_status status = writer ? tfr__writer_open(path, writer, err)
                               : tfr_fail(err, TFR_ENOMEM, "no memory for a plot");
    if (status) {
        free(writer);
        return status;
    }
    out = tfr__writer_stream(writer);
    if (out) {
        draw(out, c, title);
        fclose(out);
        status = tfr__writer_close(writer, err);
    } else {
        tfr__writer_abandon(writer);
        status = tfr_fail(err, TFR_ENOMEM, "no memory for a plot");
    }
    free(writer);
    return status;
}
