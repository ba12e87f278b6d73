/* SPDX-License-Identifier: Apache-2.0 */
/* curves.c: see tfrun/curves.h: the points, and the CSV. */
#include "curves.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tfrun/fail.h>
#include <unistd.h>

#include <core/base/writer.h>

#define FIRST_COLUMN "step"

int tfr__curves_write(int fd, const void *bytes, size_t n)
{
    const char *at = bytes;
    while (n) {
        ssize_t done = write(fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : EIO;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

/* ---- points ---------------------------------------------------------------------------------- */

static tfr_status keep(tfr_curves *c, int64_t step, const double *values, tfr_err *err)
{
    if (c->n_points == c->capacity) {
        const size_t more = 2 * c->capacity + 64;
        int64_t *steps = realloc(c->steps, more * sizeof *steps);
        double *all = steps ? realloc(c->values, more * c->n * sizeof *all) : NULL;
        if (steps)
            c->steps = steps;
        if (!all)
            return tfr_fail(err, TFR_ENOMEM, "no memory for %zu points of curves", more);
        c->values = all;
        c->capacity = more;
    }
    c->steps[c->n_points] = step;
    memcpy(&c->values[c->n_points * c->n], values, c->n * sizeof *values);
    c->n_points++;
    return TFR_OK;
}

/* ---- the CSV --------------------------------------------------------------------------------- */

static void header_of(const tfr_curves *c, char *text, size_t n)
{
    size_t used = (size_t)snprintf(text, n, FIRST_COLUMN);
    for (uint32_t i = 0; i < c->n && used < n; i++)
        used += (size_t)snprintf(text + used, n - used, ",%s", c->names[i]);
}

/* With a point, whatever the language of the program. */
static size_t row_of(const tfr_curves *c, int64_t step, const double *values, char *text, size_t n)
{
    size_t used = (size_t)snprintf(text, n, "%" PRId64, step);
    for (uint32_t i = 0; i < c->n; i++) {
        char number[40] = "";
        if (!isnan(values[i]))
            snprintf(number, sizeof number, "%.9g", values[i]);
        for (char *p = number; *p; p++)
            if (*p == ',')
                *p = '.';
        used += (size_t)snprintf(text + used, n - used, ",%s", number);
    }
    return used + (size_t)snprintf(text + used, n - used, "\n");
}

/* The numbers of a row that row_of has made; false = it is cut, or no row. */
static bool parse_row(const tfr_curves *c, char *row, int64_t *step, double *values)
{
    const char point = *localeconv()->decimal_point;
    char *at, *end = strchr(row, '\n');
    if (!end)
        return false;
    for (char *p = row; *p; p++)
        if (*p == '.')
            *p = point == ',' ? '.' : point;
    *step = strtoll(row, &at, 10);
    if (at == row)
        return false;
    for (uint32_t i = 0; i < c->n; i++) {
        if (*at++ != ',')
            return false;
        values[i] = NAN;
        if (*at == ',' || *at == '\n')
            continue;
        values[i] = strtod(at, &end);
        if (end == at)
            return false;
        at = end;
    }
    return *at == '\n';
}

/* Takes over the points up to a step; what is no row ends them, as a crash may have left it. */
static tfr_status read_csv(tfr_curves *c, int64_t last, tfr_err *err)
{
    char *line = NULL, header[4096];
    size_t room = 0;
    double values[TFR_CURVES_MAX];
    int64_t step;
    tfr_status status = TFR_OK;
    FILE *file = fopen(c->csv, "re");
    if (!file)
        return errno == ENOENT
                   ? TFR_OK
                   : tfr_fail(err, TFR_EIO, "%s: cannot be read: %s", c->csv, strerror(errno));
    header_of(c, header, sizeof header);
    if (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, header) != 0)
            status = tfr_fail(err, TFR_EMODEL, "%s: it has the columns \"%.200s\", not \"%.200s\"",
                              c->csv, line, header);
    }
    while (!status && getline(&line, &room, file) > 0 && parse_row(c, line, &step, values) &&
           step <= last)
        status = keep(c, step, values, err);
    free(line);
    fclose(file);
    return status;
}

/* Replaces the file by header and points so far, and opens it for more. */
static tfr_status start_csv(tfr_curves *c, tfr_err *err)
{
    char text[8192];
    tfr__writer *writer = malloc(sizeof *writer);
    tfr_status status = writer ? tfr__writer_open(c->csv, writer, err)
                               : tfr_fail(err, TFR_ENOMEM, "no memory to write %s", c->csv);
    if (!status) {
        header_of(c, text, sizeof text);
        tfr__writer_put(writer, text, strlen(text));
        tfr__writer_put(writer, "\n", 1);
        for (size_t i = 0; i < c->n_points; i++)
            tfr__writer_put(writer, text,
                            row_of(c, c->steps[i], &c->values[i * c->n], text, sizeof text));
        status = tfr__writer_close(writer, err);
    }
    free(writer);
    if (status)
        return status;
    c->csv_fd = open(c->csv, O_WRONLY | O_APPEND | O_CLOEXEC);
    return c->csv_fd < 0 ? tfr_fail(err, TFR_EIO, "%s: %s", c->csv, strerror(errno)) : TFR_OK;
}

/* ---- life ------------------------------------------------------------------------------------ */

static tfr_status open_files(tfr_curves *c, const char *folder, int64_t from, tfr_err *err)
{
    const size_t n = strlen(folder) + sizeof "/curves.csv";
    tfr_status status = TFR_OK;
    if (n > 3000)
        return tfr_fail(err, TFR_ELIMIT, "the name of the folder \"%.80s...\" is too long", folder);
    if (mkdir(folder, 0777) && errno != EEXIST)
        return tfr_fail(err, TFR_EIO, "%s: cannot be made: %s", folder, strerror(errno));
    c->csv = malloc(n);
    if (!c->csv)
        return tfr_fail(err, TFR_ENOMEM, "no memory for the curves in %s", folder);
    snprintf(c->csv, n, "%s/curves.csv", folder);
    if (from >= 0)
        status = read_csv(c, from, err);
    if (!status)
        status = start_csv(c, err);
    if (!status)
        status = tfr__events_create(folder, &c->events_fd, err);
    return status;
}

tfr_status tfr_curves_create(const char *folder, const char *const *names, uint32_t n, int64_t from,
                             tfr_curves **out, tfr_err *err)
{
    tfr_curves *c;
    tfr_status status = TFR_OK;
    if (!n || n > TFR_CURVES_MAX)
        return tfr_fail(err, TFR_EINVAL, "a set has 1 to %d curves, not %u", TFR_CURVES_MAX, n);
    for (uint32_t i = 0; i < n; i++)
        if (!*names[i] || strlen(names[i]) > 100 || strpbrk(names[i], ",\n"))
            return tfr_fail(err, TFR_EINVAL, "\"%.100s\" is no name of a curve", names[i]);
    c = calloc(1, sizeof *c);
    if (!c)
        return tfr_fail(err, TFR_ENOMEM, "no memory for curves");
    c->n = n;
    c->csv_fd = c->events_fd = -1;
    for (uint32_t i = 0; !status && i < n; i++)
        if (!(c->names[i] = strdup(names[i])))
            status = tfr_fail(err, TFR_ENOMEM, "no memory for curves");
    if (!status && folder)
        status = open_files(c, folder, from, err);
    if (status)
        tfr_curves_destroy(c);
    else
        *out = c;
    return status;
}

void tfr_curves_destroy(tfr_curves *c)
{
    if (!c)
        return;
    if (c->csv_fd >= 0)
        close(c->csv_fd);
    if (c->events_fd >= 0)
        close(c->events_fd);
    for (uint32_t i = 0; i < c->n; i++)
        free(c->names[i]);
    free(c->csv);
    free(c->steps);
    free(c->values);
    free(c);
}

tfr_status tfr_curves_add(tfr_curves *c, int64_t step, const double *values, tfr_err *err)
{
    char text[8192];
    int error;
    tfr_status status = keep(c, step, values, err);
    if (status || !c->csv)
        return status;
    error = tfr__curves_write(c->csv_fd, text, row_of(c, step, values, text, sizeof text));
    if (error)
        return tfr_fail(err, TFR_EIO, "%s: cannot be written: %s", c->csv, strerror(error));
    return tfr__events_add(c, step, values, err);
}
