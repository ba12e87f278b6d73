/* SPDX-License-Identifier: Apache-2.0 */
/* Files that change while models use them: what is copied, what is noticed, whose address it is. */
#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <tfrun/onnx.h>

#include "file.h"
#include "onnx_build.h"
#include "session_kit.h"
#include "temp_path.h"

enum { LARGE = 1 << 19, SMALL = 1 << 16 }; /* floats: 2 MB and 256 kB */

static void write_weights(int64_t n, float value)
{
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    float *w = calloc((size_t)n, sizeof *w);
    REQUIRE(w != NULL);
    for (int64_t i = 0; i < n; i++)
        w[i] = value;
    temp_write("w.bin", w, (size_t)n * sizeof *w);
    /* So that a change soon after has another time on any clock. */
    CHECK_INT(0, utimensat(AT_FDCWD, temp_path("w.bin"), old, 0));
    free(w);
}

static void entry(pb *tensor, const char *key, const char *value)
{
    pb m = {.n = 0};
    pb_text(&m, 1, key);
    pb_text(&m, 2, value);
    pb_msg(tensor, 13, &m);
}

/* y = x + w with n weights of 2 in a file beside the model. */
static tfr_graph *load_sum(int64_t n)
{
    pb g = {.n = 0}, w = tensor_raw("w", TFR_DTYPE_F32, 1, &n, NULL, 0), m;
    tfr_graph *graph = NULL;
    entry(&w, "location", "w.bin");
    pb_int(&w, 14, 1);
    add_node(&g, node("Add", "x w", "y"));
    pb_text(&g, 2, "g");
    pb_msg(&g, 5, &w);
    add_value(&g, 11, "x", TFR_DTYPE_F32, 1, &n);
    add_value(&g, 12, "y", TFR_DTYPE_F32, 1, &n);
    m = model(&g, 13);
    write_weights(n, 2);
    temp_write("m.onnx", m.data, m.n);
    REQUIRE_OK(tfr_onnx_load(temp_path("m.onnx"), &graph, &err), &err);
    return graph;
}

/* Runs the sum with x = 0, and gives its first element. */
static tfr_status run(tfr_session *session, int64_t n, float *first)
{
    tfr_shape shape = {1, {n}};
    tfr_tensor *x = NULL, *y = NULL;
    tfr_status status = tfr_tensor_create(TFR_DTYPE_F32, &shape, &x, &err);
    if (!status)
        status = tfr_session_run(session, &x, 1, &y, 1, &err);
    if (!status)
        *first = *(const float *)tfr_tensor_data(y);
    tfr_tensor_release(y);
    tfr_tensor_release(x);
    return status;
}

static void change(off_t size)
{
    float value = 3;
    int fd = open(temp_path("w.bin"), O_WRONLY);
    REQUIRE(fd >= 0);
    if (size)
        CHECK_INT(0, ftruncate(fd, size));
    else
        CHECK_INT(sizeof value, pwrite(fd, &value, sizeof value, 0));
    close(fd);
}

static void drop_all(void)
{
    temp_drop("m.onnx");
    temp_drop("w.bin");
}

/* Some file systems give less than is asked for, and signals interrupt them. */
static size_t most_at_once = SIZE_MAX;
static unsigned n_reads;

ssize_t pread(int fd, void *to, size_t n, off_t offset)
{
    struct iovec piece = {to, n < most_at_once ? n : most_at_once};
    if (most_at_once < SIZE_MAX && n_reads++ % 3 == 1) {
        errno = EINTR;
        return -1;
    }
    return preadv(fd, &piece, 1, offset);
}

TEST(a_file_that_comes_in_pieces_is_whole)
{
    tfr__mapping *mapping = NULL;
    unsigned char bytes[1000];
    int fd;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 256);
    temp_write("w.bin", bytes, sizeof bytes);
    fd = open(temp_path("w.bin"), O_RDONLY);
    REQUIRE(fd >= 0);
    most_at_once = 300;
    REQUIRE_OK(tfr__mapping_of(fd, "w.bin", &mapping, &err), &err);
    most_at_once = SIZE_MAX;
    CHECK(n_reads > 4);
    CHECK_MEM(bytes, mapping->data, sizeof bytes);
    tfr__mapping_release(mapping);
    close(fd);
    temp_drop("w.bin");
}

TEST(a_small_file_may_change_after_it_was_loaded)
{
    tfr_session *session = session_over(new_runtime(), load_sum(SMALL), "naive:0");
    float first = 0;
    change(16);
    REQUIRE_OK(run(session, SMALL, &first), &err);
    CHECK_NEAR(2, first, 0);
    tfr_session_destroy(session);
    drop_all();
}

TEST(a_large_file_that_becomes_shorter_fails_the_next_run)
{
    tfr_session *session = session_over(new_runtime(), load_sum(LARGE), "naive:0");
    float first = 0;
    REQUIRE_OK(run(session, LARGE, &first), &err);
    CHECK_NEAR(2, first, 0);
    change(4096);
    CHECK_STATUS(TFR_EIO, run(session, LARGE, &first), &err);
    CHECK_CONTAINS("w.bin was changed while it is in use (4096 bytes, 2097152 when it was opened)",
                   err.text);
    tfr_session_destroy(session);
    drop_all();
}

TEST(a_large_file_that_is_written_fails_the_next_run)
{
    tfr_session *session = session_over(new_runtime(), load_sum(LARGE), "naive:0");
    float first = 0;
    change(0);
    CHECK_STATUS(TFR_EIO, run(session, LARGE, &first), &err);
    CHECK_CONTAINS("w.bin was changed while it is in use", err.text);
    tfr_session_destroy(session);
    drop_all();
}

TEST(a_large_file_that_is_replaced_does_no_harm)
{
    tfr_session *session = session_over(new_runtime(), load_sum(LARGE), "naive:0");
    float first = 0;
    unlink(temp_path("w.bin"));
    write_weights(LARGE, 5);
    REQUIRE_OK(run(session, LARGE, &first), &err);
    CHECK_NEAR(2, first, 0);
    tfr_session_destroy(session);
    drop_all();
}

TEST(an_address_in_a_mapped_file_has_its_name)
{
    tfr__mapping *mapping;
    char *data;
    write_weights(LARGE, 1);
    REQUIRE_OK(tfr__mapping_open(temp_path("w.bin"), &mapping, &err), &err);
    data = mapping->data;
    CHECK_STR(temp_path("w.bin"), tfr_onnx_file_at(data));
    CHECK_STR(temp_path("w.bin"), tfr_onnx_file_at(data + mapping->bytes - 1));
    CHECK(tfr_onnx_file_at(data + mapping->bytes) == NULL);
    CHECK(tfr_onnx_file_at(&mapping) == NULL);
    tfr__mapping_release(mapping);
    CHECK(tfr_onnx_file_at(data) == NULL);
    temp_drop("w.bin");
}

static const test_case cases[] = {
    CASE(a_file_that_comes_in_pieces_is_whole),
    CASE(a_small_file_may_change_after_it_was_loaded),
    CASE(a_large_file_that_becomes_shorter_fails_the_next_run),
    CASE(a_large_file_that_is_written_fails_the_next_run),
    CASE(a_large_file_that_is_replaced_does_no_harm),
    CASE(an_address_in_a_mapped_file_has_its_name),
};
TEST_MAIN(cases)
