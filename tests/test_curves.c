/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of curves: event files are read again record by record, with their checksums; the CSV goes
 * on where a training does; a plot has a line for each curve.
 */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/curves.h>

#include "nn/crc32c.h"
#include "temp_path.h"
#include "tfr_test.h"

static const char *const names[] = {"loss/train", "loss/validation", "accuracy/train"};
enum { N = 3 };

static tfr_err err = TFR_ERR_INIT;
static char folder[200], text[1 << 16];

static void begin(void)
{
    snprintf(folder, sizeof folder, "%s", temp_path("curves"));
}

static void end(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK_INT(0, system(command));
}

static tfr_curves *new_curves(const char *where, int64_t from)
{
    tfr_curves *c = NULL;
    REQUIRE_OK(tfr_curves_create(where, names, N, from, &c, &err), &err);
    return c;
}

static void add(tfr_curves *c, int64_t step, double a, double b, double d)
{
    REQUIRE_OK(tfr_curves_add(c, step, (double[]){a, b, d}, &err), &err);
}

/* Into text; the number of bytes. */
static size_t read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t n;
    REQUIRE(file != NULL);
    n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    return n;
}

static size_t read_in_folder(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return read_file(path);
}

/* The only event file, into text. */
static size_t read_events(int *n_files)
{
    DIR *dir = opendir(folder);
    struct dirent *e;
    size_t n = 0;
    REQUIRE(dir != NULL);
    *n_files = 0;
    while ((e = readdir(dir)))
        if (strncmp(e->d_name, "events.out.tfevents.", 20) == 0) {
            n = read_in_folder(e->d_name);
            ++*n_files;
        }
    closedir(dir);
    return n;
}

static uint64_t little(const char *at, int n)
{
    uint64_t value = 0;
    for (int i = n; i-- > 0;)
        value = value << 8 | (unsigned char)at[i];
    return value;
}

static void check_crc(const char *data, size_t n, const char *at)
{
    const uint32_t crc = tfr__crc32c(0, data, n);
    CHECK_UINT((uint32_t)(((crc >> 15) | (crc << 17)) + 0xa282ead8u), little(at, 4));
}

/* Checks the record at `at` and gives its data and what follows it. */
static const char *next_record(const char *at, const char *stop, const char **data, size_t *n)
{
    REQUIRE(stop - at >= 16);
    *n = (size_t)little(at, 8);
    REQUIRE(*n <= (size_t)(stop - at) - 16);
    check_crc(at, 8, at + 8);
    *data = at + 12;
    check_crc(*data, *n, *data + *n);
    return *data + *n + 4;
}

TEST(an_event_file_is_what_tensorboard_reads)
{
    /* Behind the time: step 300; a summary with two values. */
    static const char scalar[] = "\x10\xac\x02\x2a\x2c"
                                 "\x0a\x11\x0a\x0aloss/train\x15\x00\x00\x20\x40"
                                 "\x0a\x17";
    tfr_curves *c;
    const char *at = text, *data;
    size_t n, bytes;
    int n_files;
    begin();
    c = new_curves(folder, -1);
    add(c, 300, 2.5, NAN, .25);
    tfr_curves_destroy(c);
    bytes = read_events(&n_files);
    CHECK_INT(1, n_files);
    at = next_record(at, text + bytes, &data, &n);
    CHECK_UINT(9 + 15, n);
    CHECK(memcmp(data + 9,
                 "\x1a\x0d"
                 "brain.Event:2",
                 15) == 0);
    at = next_record(at, text + bytes, &data, &n);
    CHECK_INT(9, data[0]);
    CHECK(memcmp(data + 9, scalar, 3) == 0);
    CHECK(memcmp(data + 14, scalar + 5, 19) == 0);
    CHECK_UINT(n - 14, (unsigned char)data[13]);
    CHECK(memcmp(data + n - 19, "accuracy/train\x15\x00\x00\x80\x3e", 19) == 0);
    CHECK(at == text + bytes);
    end();
}

TEST(the_csv_has_a_row_for_each_step_and_nothing_where_there_is_no_value)
{
    tfr_curves *c;
    begin();
    c = new_curves(folder, -1);
    add(c, 1, 2.5, NAN, .5);
    add(c, 2, 1e-7, -3, NAN);
    read_in_folder("curves.csv");
    CHECK_STR("step,loss/train,loss/validation,accuracy/train\n1,2.5,,0.5\n2,1e-07,-3,\n", text);
    tfr_curves_destroy(c);
    end();
}

TEST(a_training_that_goes_on_drops_the_rows_behind_its_step)
{
    tfr_curves *c;
    FILE *torn;
    char path[300];
    int n_files;
    begin();
    c = new_curves(folder, 0); /* of which there is no CSV yet */
    add(c, 1, 4, NAN, .5);
    add(c, 2, 3, 3.5, NAN);
    add(c, 3, 2, NAN, NAN);
    tfr_curves_destroy(c);
    c = new_curves(folder, 2);
    add(c, 3, 1, NAN, NAN);
    tfr_curves_destroy(c);
    read_in_folder("curves.csv");
    CHECK_STR("step,loss/train,loss/validation,accuracy/train\n1,4,,0.5\n2,3,3.5,\n3,1,,\n", text);
    (void)read_events(&n_files);
    CHECK_INT(2, n_files);
    /* A row that a crash has cut is none. */
    snprintf(path, sizeof path, "%s/curves.csv", folder);
    torn = fopen(path, "a");
    REQUIRE(torn != NULL);
    fputs("4,1", torn);
    fclose(torn);
    c = new_curves(folder, 9);
    REQUIRE_OK(tfr_curves_plot(c, path, NULL, &err), &err);
    tfr_curves_destroy(c);
    read_file(path);
    CHECK_CONTAINS("<polyline", text);
    end();
}

TEST(a_new_training_replaces_the_csv)
{
    tfr_curves *c;
    begin();
    c = new_curves(folder, -1);
    add(c, 1, 4, NAN, .5);
    tfr_curves_destroy(c);
    tfr_curves_destroy(new_curves(folder, -1));
    read_in_folder("curves.csv");
    CHECK_STR("step,loss/train,loss/validation,accuracy/train\n", text);
    end();
}

TEST(a_csv_with_other_columns_is_left_alone)
{
    static const char *const other[] = {"speed"};
    tfr_curves *c = NULL;
    begin();
    tfr_curves_destroy(new_curves(folder, -1));
    CHECK_INT(TFR_EMODEL, tfr_curves_create(folder, other, 1, 5, &c, &err));
    CHECK_CONTAINS("curves.csv: it has the columns \"step,loss/train,", err.text);
    CHECK(c == NULL);
    end();
}

static int count(const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++)
        n++;
    return n;
}

TEST(a_plot_has_a_diagram_for_each_group_and_a_line_for_each_curve)
{
    tfr_curves *c = new_curves(NULL, -1);
    char path[300];
    snprintf(path, sizeof path, "%s", temp_path("plot.svg"));
    REQUIRE_OK(tfr_curves_plot(c, path, "no points", &err), &err);
    for (int i = 1; i <= 10; i++)
        add(c, 10 * i, 2.3 / i, i % 5 ? NAN : 2. / i, i / 10.);
    REQUIRE_OK(tfr_curves_plot(c, path, "a < b", &err), &err);
    tfr_curves_destroy(c);
    read_file(path);
    CHECK_INT(N, count("<polyline"));
    CHECK_INT(2, count("font-weight=\"bold\""));
    CHECK_INT(22, count("<circle"));
    CHECK_CONTAINS("a &lt; b", text);
    CHECK_CONTAINS("</svg>", text);
    temp_drop("plot.svg");
}

TEST(what_cannot_be_written_is_said_and_the_points_stay)
{
    tfr_curves *c = NULL;
    FILE *file;
    char path[300];
    begin();
    file = fopen(folder, "w"); /* a file where the folder should be */
    REQUIRE(file != NULL);
    fclose(file);
    CHECK_INT(TFR_EIO, tfr_curves_create(folder, names, N, -1, &c, &err));
    CHECK_CONTAINS(folder, err.text);
    c = new_curves(NULL, -1);
    add(c, 1, 1, 2, 3);
    snprintf(path, sizeof path, "%s/plot.svg", folder);
    CHECK_INT(TFR_EIO, tfr_curves_plot(c, path, NULL, &err));
    tfr_curves_destroy(c);
    end();
}

TEST(names_that_a_csv_cannot_have_are_refused)
{
    static const char *const comma[] = {"a,b"};
    tfr_curves *c = NULL;
    CHECK_INT(TFR_EINVAL, tfr_curves_create(NULL, comma, 1, -1, &c, &err));
    CHECK_INT(TFR_EINVAL, tfr_curves_create(NULL, comma, 0, -1, &c, &err));
}

static const test_case cases[] = {
    CASE(an_event_file_is_what_tensorboard_reads),
    CASE(the_csv_has_a_row_for_each_step_and_nothing_where_there_is_no_value),
    CASE(a_training_that_goes_on_drops_the_rows_behind_its_step),
    CASE(a_new_training_replaces_the_csv),
    CASE(a_csv_with_other_columns_is_left_alone),
    CASE(a_plot_has_a_diagram_for_each_group_and_a_line_for_each_curve),
    CASE(what_cannot_be_written_is_said_and_the_points_stay),
    CASE(names_that_a_csv_cannot_have_are_refused),
};
TEST_MAIN(cases)
