/* SPDX-License-Identifier: Apache-2.0 */
/* External data: what is read from beside a model, and every way out of its folder. */
#include <fcntl.h>
#include <stdio.h>
#include <tfrun/onnx.h>
#include <unistd.h>

#include "onnx/external.h"
#include "onnx_build.h"
#include "temp_path.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;

static void entry(pb *tensor, const char *key, const char *value)
{
    pb m = {.n = 0};
    pb_text(&m, 1, key);
    pb_text(&m, 2, value);
    pb_msg(tensor, 13, &m);
}

/* float32[dim] in a file; offset and length may be NULL. */
static pb external(int64_t dim, const char *location, const char *offset, const char *length)
{
    pb m = tensor_raw("w", TFR_DTYPE_F32, 1, &dim, NULL, 0);
    entry(&m, "location", location);
    if (offset)
        entry(&m, "offset", offset);
    if (length)
        entry(&m, "length", length);
    pb_int(&m, 14, 1);
    return m;
}

static tfr_status load(const pb *m, tfr_tensor **out)
{
    temp_write("t.pb", m->data, m->n);
    return tfr_onnx_load_tensor(temp_path("t.pb"), TFR_KIND_TENSOR, out, &err);
}

static void drop_all(void)
{
    temp_drop("t.pb");
    temp_drop("w.bin");
}

TEST(data_beside_the_file_are_read_from_their_offset)
{
    float values[2048] = {0};
    tfr_tensor *tensor;
    pb m = external(2, "w.bin", "8", "8");
    values[2] = 3;
    values[3] = 4;
    temp_write("w.bin", values, sizeof values);
    REQUIRE_OK(load(&m, &tensor), &err);
    CHECK_MEM(values + 2, tfr_tensor_data(tensor), 8);
    tfr_tensor_release(tensor);
    /* Large ones stay in the file's mapping, which outlives everything but the tensor. */
    m = external(2048, "./w.bin", NULL, NULL);
    REQUIRE_OK(load(&m, &tensor), &err);
    drop_all();
    CHECK_MEM(values, tfr_tensor_data(tensor), sizeof values);
    tfr_tensor_release(tensor);
}

TEST(an_empty_tensor_may_lie_at_the_end_of_the_file)
{
    tfr_tensor *tensor;
    pb m = external(0, "w.bin", "12", "0");
    temp_write("w.bin", "123456789012", 12);
    REQUIRE_OK(load(&m, &tensor), &err);
    CHECK_UINT(0, tfr_tensor_bytes(tensor));
    tfr_tensor_release(tensor);
    m = external(0, "w.bin", "13", "0");
    CHECK_STATUS(TFR_EMODEL, load(&m, &tensor), &err);
    drop_all();
}

TEST(locations_that_leave_the_folder_are_refused)
{
    static const char *const bad[] = {"../w.bin", "a/../../w.bin", "/etc/passwd", "..", "", "a/.."};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tfr_tensor *tensor;
        pb m = external(1, bad[i], NULL, NULL);
        CHECK_STATUS(TFR_EMODEL, load(&m, &tensor), &err);
        CHECK_CONTAINS("external data: location", err.text);
    }
    drop_all();
}

TEST(links_are_refused_as_files_and_as_folders)
{
    char target[300];
    tfr_tensor *tensor;
    pb m = external(1, "link.bin", NULL, NULL);
    temp_write("w.bin", "1234", 4);
    snprintf(target, sizeof target, "%s", temp_path("w.bin"));
    REQUIRE(symlink(target, temp_path("link.bin")) == 0);
    CHECK_STATUS(TFR_EMODEL, load(&m, &tensor), &err);
    CHECK_CONTAINS("is or passes a link", err.text);
    snprintf(target, sizeof target, "%s", temp_folder());
    REQUIRE(symlink(target, temp_path("self")) == 0);
    m = external(1, "self/w.bin", NULL, NULL);
    CHECK(load(&m, &tensor) != TFR_OK);
    unlink(temp_path("link.bin"));
    unlink(temp_path("self"));
    drop_all();
}

TEST(folders_and_devices_are_refused)
{
    tfr_tensor *tensor;
    pb m = external(1, "sub", NULL, NULL);
    mkdir(temp_path("sub"), 0700);
    CHECK_STATUS(TFR_EIO, load(&m, &tensor), &err);
    CHECK_CONTAINS("it is a folder", err.text);
    rmdir(temp_path("sub"));
    REQUIRE(mkfifo(temp_path("sub"), 0600) == 0);
    CHECK_STATUS(TFR_EIO, load(&m, &tensor), &err);
    CHECK_CONTAINS("not a regular file", err.text);
    temp_drop("sub");
    drop_all();
}

TEST(ranges_beyond_the_file_are_refused_with_the_numbers)
{
    static const struct {
        const char *offset, *length, *text;
    } bad[] = {
        {"8", NULL, "8 bytes from offset 8 are asked of \"w.bin\", which has 12"},
        {"9223372036854775807", NULL, "8 bytes from offset 9223372036854775807"},
        {"99999999999999999999", NULL, "is not a number from 0 to 2^63-1"},
        {"-4", NULL, "is not a number"},
        {NULL, "4", "length 4 in \"w.bin\", the tensor needs 8 bytes"},
    };
    temp_write("w.bin", "123456789012", 12);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tfr_tensor *tensor;
        pb m = external(2, "w.bin", bad[i].offset, bad[i].length);
        CHECK_STATUS(TFR_EMODEL, load(&m, &tensor), &err);
        CHECK_CONTAINS(bad[i].text, err.text);
    }
    drop_all();
}

TEST(a_missing_file_is_named)
{
    tfr_tensor *tensor;
    pb m = external(1, "gone.bin", NULL, NULL);
    CHECK_STATUS(TFR_EIO, load(&m, &tensor), &err);
    CHECK_CONTAINS("cannot open \"gone.bin\" in the model's folder: No such file", err.text);
    drop_all();
}

/* Pages of this process that are really in memory, in bytes (proc_pid_statm(5)). */
static int64_t resident(void)
{
    long all = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &all, &pages) != 2)
        pages = -1;
    if (f)
        fclose(f);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

TEST(three_gigabytes_are_mapped_not_copied)
{
    const int64_t elements = INT64_C(3) << 28; /* of 4 bytes, in a file that is one hole */
    const float last = 42;
    int64_t before = resident();
    tfr_tensor *tensor;
    pb m = external(elements, "w.bin", NULL, NULL);
    temp_write("w.bin", "", 0);
    int fd = open(temp_path("w.bin"), O_WRONLY);
    REQUIRE(fd >= 0);
    if (pwrite(fd, &last, sizeof last, (off_t)((elements - 1) * 4)) != (ssize_t)sizeof last) {
        close(fd);
        drop_all();
        SKIP("the file system holds no file of 3 GiB");
    }
    close(fd);
    REQUIRE_OK(load(&m, &tensor), &err);
    CHECK_NEAR(42, ((const float *)tfr_tensor_data(tensor))[elements - 1], 0);
    CHECK(resident() - before < 64 << 20);
    tfr_tensor_release(tensor);
    drop_all();
}

TEST(bytes_in_memory_have_no_folder)
{
    tfr_tensor *tensor;
    pb m = external(1, "w.bin", NULL, NULL);
    CHECK_STATUS(TFR_EMODEL, tfr_onnx_parse_tensor(m.data, m.n, TFR_KIND_TENSOR, &tensor, &err),
                 &err);
    CHECK_CONTAINS("load the model from its file", err.text);
}

static const test_case cases[] = {
    CASE(data_beside_the_file_are_read_from_their_offset),
    CASE(an_empty_tensor_may_lie_at_the_end_of_the_file),
    CASE(locations_that_leave_the_folder_are_refused),
    CASE(links_are_refused_as_files_and_as_folders),
    CASE(folders_and_devices_are_refused),
    CASE(ranges_beyond_the_file_are_refused_with_the_numbers),
    CASE(a_missing_file_is_named),
    CASE(three_gigabytes_are_mapped_not_copied),
    CASE(bytes_in_memory_have_no_folder),
};
TEST_MAIN(cases)
