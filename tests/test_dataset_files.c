/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets of npz archives and of folders of images, and damaged files of all kinds. */
#include <ftw.h>
#include <stdlib.h>
#include <tfrun/dataset.h>

#include "idx_kit.h"
#include "images/library.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;
static bytes file, packed, member;

static int drop_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

/* The folder of the test and all that is in it. */
static void drop_all(void)
{
    (void)nftw(temp_folder(), drop_one, 8, FTW_DEPTH | FTW_PHYS);
}

static tfr_status open_file(const char *scheme, const char *name, tfr_dataset **train,
                            tfr_dataset **test)
{
    char source[300];
    snprintf(source, sizeof source, "%s%s", scheme, temp_path(name));
    return tfr_dataset_open(source, train, test, &err);
}

/* The sentence of a source that is refused. */
static const char *refusal(tfr_status expected, const char *scheme, const char *name)
{
    tfr_dataset *train = NULL, *test = NULL;
    err.text[0] = 0;
    CHECK_STATUS(expected, open_file(scheme, name, &train, &test), &err);
    CHECK(!train && !test);
    return err.text;
}

/* ---- npz ------------------------------------------------------------------------------------- */

/* Where the next archive puts its members. */
static bytes directory;
static uint32_t n_members;

static void begin_npz(void)
{
    file.n = directory.n = n_members = 0;
}

/* A member whose bytes are those of `member`. */
static void put_member(const char *name, bool deflate)
{
    const uint32_t crc = kit_crc32(member.data, member.n);
    const size_t at = file.n, bytes_n = member.n;
    packed.n = 0;
    if (deflate)
        put_stored(&packed, member.data, member.n);
    else
        put(&packed, member.data, member.n);
    put_little(&file, 0x04034b50, 4);
    put_little(&file, 20, 4);
    put_little(&file, deflate ? 8 : 0, 2);
    put_little(&file, 0, 4);
    put_little(&file, crc, 4);
    put_little(&file, packed.n, 4);
    put_little(&file, bytes_n, 4);
    put_little(&file, strlen(name), 4);
    put(&file, name, strlen(name));
    put(&file, packed.data, packed.n);
    put_little(&directory, 0x02014b50, 4);
    put_little(&directory, 0x14 << 16 | 20, 4);
    put_little(&directory, 0, 2);
    put_little(&directory, deflate ? 8 : 0, 2);
    put_little(&directory, 0, 4);
    put_little(&directory, crc, 4);
    put_little(&directory, packed.n, 4);
    put_little(&directory, bytes_n, 4);
    put_little(&directory, strlen(name), 2);
    put_little(&directory, 0, 6);
    put_little(&directory, 0, 6);
    put_little(&directory, at, 4);
    put(&directory, name, strlen(name));
    n_members++;
}

static void end_npz(const char *name)
{
    const size_t at = file.n;
    put(&file, directory.data, directory.n);
    put_little(&file, 0x06054b50, 4);
    put_little(&file, 0, 4);
    put_little(&file, n_members, 2);
    put_little(&file, n_members, 2);
    put_little(&file, directory.n, 4);
    put_little(&file, at, 4);
    put_little(&file, 0, 2);
    write_bytes(name, &file);
}

/* An npy file in `member`: elements from 0, each 3 more than the one before, of width bytes. */
static void set_array(const char *descr, const char *shape, uint32_t n, int width)
{
    char header[128];
    const int length =
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n",
                 descr, shape);
    member.n = 0;
    put(&member, "\x93NUMPY\1\0", 8);
    put_little(&member, (uint64_t)length, 2);
    put(&member, header, (size_t)length);
    for (uint32_t i = 0; i < n; i++)
        put_little(&member, 3 * i & 255, width);
}

/* As Keras' mnist.npz, with 4 images of 2 x 3 and 2 to test with. */
static void write_npz(bool deflate, const char *labels)
{
    begin_npz();
    set_array("|u1", "(4, 2, 3)", 24, 1);
    put_member("x_train.npy", deflate);
    set_array(labels, "(4,)", 4, labels[2] - '0');
    put_member("y_train.npy", deflate);
    set_array("|u1", "(2, 2, 3)", 12, 1);
    put_member("x_test.npy", deflate);
    set_array(labels, "(2,)", 2, labels[2] - '0');
    put_member("y_test.npy", deflate);
    end_npz("a.npz");
}

/* Skips where there is no zlib. */
static void open_npz(tfr_dataset **train, tfr_dataset **test)
{
    tfr_status status = open_file("npz:", "a.npz", train, test);
    if (status == TFR_EUNSUPPORTED && strstr(err.text, "install zlib1g")) {
        drop_all();
        SKIP("zlib is not here");
    }
    REQUIRE_OK(status, &err);
}

static const float *gather(tfr_dataset *data, int64_t index, tfr_tensor **x, tfr_tensor **y)
{
    REQUIRE_OK(tfr_dataset_gather(data, &index, 1, x, y, &err), &err);
    return tfr_tensor_data(*x);
}

static void release(tfr_tensor *x, tfr_tensor *y)
{
    tfr_tensor_release(x);
    tfr_tensor_release(y);
}

TEST(keras_npz_is_read_stored_and_deflated)
{
    static const char *const types[] = {"|u1", "<i4", "<i8"};
    for (int i = 0; i < 6; i++) {
        tfr_dataset *train, *test;
        tfr_tensor *x, *y;
        const float *pixels;
        write_npz(i % 2, types[i / 2]);
        open_npz(&train, &test);
        CHECK_INT(4, tfr_dataset_count(train));
        CHECK_INT(2, tfr_dataset_count(test));
        CHECK_INT(10, tfr_dataset_classes(train)); /* labels 0, 3, 6, 9 */
        CHECK_INT(10, tfr_dataset_classes(test));
        CHECK_INT(3, tfr_dataset_sample_shape(train)->rank);
        CHECK_INT(1, tfr_dataset_sample_shape(train)->dims[0]);
        pixels = gather(train, 3, &x, &y);
        for (int k = 0; k < 6; k++)
            CHECK(pixels[k] == (float)(3 * (18 + k)) / 255.0f);
        CHECK_INT(9, *(const int64_t *)tfr_tensor_data(y));
        release(x, y);
        tfr_dataset_release(train);
        tfr_dataset_release(test);
    }
    drop_all();
}

TEST(channels_that_are_last_become_first)
{
    tfr_dataset *train, *test;
    tfr_tensor *x, *y;
    const float *pixels;
    begin_npz();
    set_array("|u1", "(2, 2, 2, 3)", 24, 1);
    put_member("x.npy", false);
    set_array("<i2", "(2, 1)", 2, 2);
    put_member("y.npy", false);
    end_npz("a.npz");
    open_npz(&train, &test);
    CHECK(test == NULL);
    CHECK_INT(3, tfr_dataset_sample_shape(train)->dims[0]);
    CHECK_INT(2, tfr_dataset_sample_shape(train)->dims[2]);
    pixels = gather(train, 1, &x, &y);
    for (int c = 0; c < 3; c++)
        for (int p = 0; p < 4; p++)
            CHECK(pixels[c * 4 + p] == (float)(3 * (12 + p * 3 + c)) / 255.0f);
    release(x, y);
    tfr_dataset_release(train);
    drop_all();
}

TEST(numbers_are_targets_of_regression)
{
    tfr_dataset *train, *test;
    tfr_tensor *x, *y;
    begin_npz();
    set_array("<i4", "(3, 2)", 6, 4);
    put_member("x.npy", true);
    set_array("<f4", "(3,)", 3, 4);
    put_member("y.npy", true);
    end_npz("a.npz");
    open_npz(&train, &test);
    CHECK_INT(0, tfr_dataset_classes(train));
    CHECK_NEAR(12, gather(train, 2, &x, &y)[0], 0);
    CHECK_INT(TFR_DTYPE_F32, tfr_tensor_dtype(y));
    CHECK_INT(2, tfr_tensor_shape(y)->rank);
    release(x, y);
    tfr_dataset_release(train);
    drop_all();
}

TEST(npz_files_that_are_not_right_are_refused)
{
    tfr_dataset *train, *test;
    write_npz(true, "|u1");
    open_npz(&train, &test);
    tfr_dataset_release(train);
    tfr_dataset_release(test);
    CHECK_CONTAINS("y_train has label 6 for sample 2; 0 to 5 can be",
                   refusal(TFR_EMODEL, "npz:", "a.npz?classes=6"));
    file.data[45] ^= 1;
    write_bytes("a.npz", &file);
    CHECK_CONTAINS("a.npz: ", refusal(TFR_EMODEL, "npz:", "a.npz"));
    begin_npz();
    set_array("|u1", "(2, 2, 2)", 8, 1);
    put_member("images.npy", false);
    end_npz("a.npz");
    CHECK_CONTAINS("it has no member \"x_train.npy\", but \"images.npy\"",
                   refusal(TFR_ENOTFOUND, "npz:", "a.npz"));
    set_array("|u1", "(3,)", 3, 1);
    begin_npz();
    put_member("y.npy", false);
    set_array("|u1", "(2, 2, 2)", 8, 1);
    put_member("x.npy", false);
    end_npz("a.npz");
    CHECK_CONTAINS("y is for 3 samples, and there are 2", refusal(TFR_EMODEL, "npz:", "a.npz"));
    temp_write("a.npz", "no archive", 10);
    CHECK_CONTAINS("a.npz: it is no zip archive", refusal(TFR_EMODEL, "npz:", "a.npz"));
    CHECK_CONTAINS("a.npz\": the file is no npz archive but text; for MNIST's files",
                   refusal(TFR_EMODEL, "", "a.npz"));
    write_npz(false, "|u1");
    REQUIRE_OK(open_file("", "a.npz", &train, NULL), &err);
    tfr_dataset_release(train);
    drop_all();
}

/* ---- images ---------------------------------------------------------------------------------- */

static void put_chunk(const char *type, const bytes *data)
{
    static bytes summed;
    summed.n = 0;
    put(&summed, type, 4);
    put(&summed, data->data, data->n);
    put_big(&file, (uint32_t)data->n);
    put(&file, summed.data, summed.n);
    put_big(&file, kit_crc32(summed.data, summed.n));
}

/* A PNG image in `file`, grey or in colours, of bytes from `first`, each 5 more. */
static void set_png(uint32_t width, uint32_t height, uint32_t channels, uint8_t first)
{
    static bytes rows;
    uint32_t a = 1, b = 0;
    file.n = packed.n = rows.n = 0;
    put(&file, "\x89PNG\r\n\x1a\n", 8);
    put_big(&packed, width);
    put_big(&packed, height);
    put_little(&packed, 8, 1);
    put_little(&packed, channels == 3 ? 2 : 0, 1);
    put_little(&packed, 0, 3);
    put_chunk("IHDR", &packed);
    for (uint32_t i = 0; i < height * width * channels; i++) {
        if (i % (width * channels) == 0)
            put_little(&rows, 0, 1); /* no filter */
        put_little(&rows, (uint8_t)(first + 5 * i), 1);
    }
    for (size_t i = 0; i < rows.n; i++) {
        a = (a + rows.data[i]) % 65521;
        b = (b + a) % 65521;
    }
    packed.n = 0;
    put(&packed, "\x78\x01", 2);
    put_stored(&packed, rows.data, rows.n);
    put_big(&packed, b << 16 | a);
    put_chunk("IDAT", &packed);
    packed.n = 0;
    put_chunk("IEND", &packed);
}

/* 8 x 4, grey, all 200. */
static const uint8_t jpeg[] = {
    0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10, 0x4a, 0x46, 0x49, 0x46, 0x00, 0x01, 0x01, 0x00, 0x00, 0x01,
    0x00, 0x01, 0x00, 0x00, 0xff, 0xdb, 0x00, 0x43, 0x00, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
    0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
    0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
    0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
    0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0xff, 0xc0, 0x00, 0x0b, 0x08, 0x00, 0x04,
    0x00, 0x08, 0x01, 0x01, 0x11, 0x00, 0xff, 0xc4, 0x00, 0x1f, 0x00, 0x00, 0x01, 0x05, 0x01, 0x01,
    0x01, 0x01, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04,
    0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0xff, 0xc4, 0x00, 0xb5, 0x10, 0x00, 0x02, 0x01, 0x03,
    0x03, 0x02, 0x04, 0x03, 0x05, 0x05, 0x04, 0x04, 0x00, 0x00, 0x01, 0x7d, 0x01, 0x02, 0x03, 0x00,
    0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07, 0x22, 0x71, 0x14, 0x32,
    0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52, 0xd1, 0xf0, 0x24, 0x33, 0x62, 0x72,
    0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x34, 0x35,
    0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55,
    0x56, 0x57, 0x58, 0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75,
    0x76, 0x77, 0x78, 0x79, 0x7a, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94,
    0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2,
    0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9,
    0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6,
    0xe7, 0xe8, 0xe9, 0xea, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xff, 0xda,
    0x00, 0x08, 0x01, 0x01, 0x00, 0x00, 0x3f, 0x00, 0xfe, 0x90, 0x2b, 0xff, 0xd9};

static void make_folder(const char *name)
{
    mkdir(temp_path(name), 0700);
}

static void write_png(const char *name, uint32_t width, uint32_t height, uint32_t channels,
                      uint8_t first)
{
    set_png(width, height, channels, first);
    write_bytes(name, &file);
}

/* Two classes of 8 x 4, and one image to test with. */
static void write_images(uint32_t channels)
{
    drop_all();
    make_folder("d");
    make_folder("d/train");
    make_folder("d/test");
    make_folder("d/train/cat");
    make_folder("d/train/ant");
    make_folder("d/test/cat");
    write_png("d/train/cat/1.png", 8, 4, channels, 10);
    write_png("d/train/cat/0.PNG", 8, 4, channels, 20);
    write_png("d/train/ant/x.png", 8, 4, channels, 30);
    write_png("d/test/cat/9.png", 8, 4, channels, 40);
    temp_write("d/train/cat/notes.txt", "no image", 8);
    temp_write("d/train/cat/.hidden.png", "no image", 8);
    temp_write("d/train/readme", "no folder", 9);
}

static void open_images(const char *name, tfr_dataset **train, tfr_dataset **test)
{
    tfr_status status = open_file("images:", name, train, test);
    if (status == TFR_EUNSUPPORTED) {
        CHECK_CONTAINS("; install lib", err.text);
        drop_all();
        SKIP("libpng or libturbojpeg is not here");
    }
    REQUIRE_OK(status, &err);
}

TEST(folders_of_png_are_classes_in_the_order_of_names)
{
    static const uint8_t firsts[3] = {30, 20, 10};
    for (uint32_t channels = 1; channels <= 3; channels += 2) {
        tfr_dataset *train, *test;
        tfr_tensor *x, *y;
        write_images(channels);
        open_images("d", &train, &test);
        CHECK_INT(3, tfr_dataset_count(train));
        CHECK_INT(1, tfr_dataset_count(test));
        CHECK_INT(2, tfr_dataset_classes(test));
        CHECK_INT(channels, tfr_dataset_sample_shape(train)->dims[0]);
        for (int i = 0; i < 3; i++) {
            const float *pixels = gather(train, i, &x, &y);
            CHECK_INT(i > 0, *(const int64_t *)tfr_tensor_data(y));
            for (uint32_t c = 0; c < channels; c++)
                for (uint32_t p = 0; p < 32; p++)
                    CHECK(pixels[c * 32 + p] ==
                          (float)(uint8_t)(firsts[i] + 5 * (p * channels + c)) / 255.0f);
            release(x, y);
        }
        gather(test, 0, &x, &y);
        CHECK_INT(1, *(const int64_t *)tfr_tensor_data(y));
        release(x, y);
        tfr_dataset_release(train);
        tfr_dataset_release(test);
    }
    drop_all();
}

TEST(jpeg_and_png_go_together_and_grey_can_be_colours)
{
    tfr_dataset *train;
    tfr_tensor *x, *y;
    char source[300];
    write_images(1);
    temp_write("d/train/ant/a.jpg", jpeg, sizeof jpeg);
    snprintf(source, sizeof source, "%s", temp_path("d"));
    for (int colours = 0; colours < 2; colours++) {
        const float *pixels;
        if (colours)
            write_png("d/train/cat/1.png", 8, 4, 3, 10);
        open_images(colours ? "d?channels=3" : "d", &train, NULL);
        CHECK_INT(4, tfr_dataset_count(train));
        pixels = gather(train, 0, &x, &y);
        for (int i = 0; i < (colours ? 96 : 32); i++)
            CHECK(pixels[i] == 200 / 255.0f);
        release(x, y);
        tfr_dataset_release(train);
    }
    CHECK_STATUS(TFR_EMODEL, tfr_dataset_open(source, &train, NULL, &err), &err);
    CHECK_CONTAINS("1.png: the image has colours, and ", err.text);
    CHECK_CONTAINS("a.jpg is grey; images:DIR?channels=3 reads", err.text);
    drop_all();
}

TEST(images_that_do_not_fit_are_refused_by_name)
{
    tfr_dataset *train;
    write_images(1);
    open_images("d", &train, NULL);
    tfr_dataset_release(train);
    write_png("d/train/cat/0.PNG", 9, 4, 1, 0);
    CHECK_CONTAINS("/d/train/cat/0.PNG: the image is 9 x 4 (width x height), and ",
                   refusal(TFR_EMODEL, "images:", "d"));
    CHECK_CONTAINS("ant/x.png 8 x 4; make all of one size first", err.text);
    temp_write("d/train/cat/0.PNG", "GIF89a", 6);
    CHECK_CONTAINS("0.PNG: the 6 bytes are no image in PNG, JPEG",
                   refusal(TFR_EMODEL, "images:", "d"));
    unlink(temp_path("d/train/cat/0.PNG"));
    make_folder("d/train/dog");
    CHECK_CONTAINS("d/train/dog has no image", refusal(TFR_ENOTFOUND, "images:", "d"));
    rmdir(temp_path("d/train/dog"));
    make_folder("d/test/dog");
    CHECK_CONTAINS("d/test/dog is a class that there are no images to train with for",
                   refusal(TFR_EMODEL, "images:", "d"));
    CHECK_CONTAINS("d/train/cat has 0 folders; one for each class",
                   refusal(TFR_ENOTFOUND, "images:", "d/train/cat"));
    CHECK_CONTAINS("nor a folder of images for each class",
                   refusal(TFR_ENOTFOUND, "", "d/train/cat"));
    CHECK_CONTAINS("channels is 2, not 1 or 3", refusal(TFR_EINVAL, "images:", "d?channels=2"));
    drop_all();
}

/* ---- libraries ------------------------------------------------------------------------------- */

TEST(a_library_that_is_missing_is_named_with_its_package)
{
    static const char *const known[] = {"puts", NULL};
    static const char *const unknown[] = {"puts", "tfr_there_is_no_such_function", NULL};
    void *functions[2];
    tfr__library absent = {"libtfr-absent.so.7", "libabsent7", known, functions, false, ""};
    tfr__library older = {"libc.so.6", "libc6", unknown, functions, false, ""};
    tfr__library there = {"libc.so.6", "libc6", known, functions, false, ""};
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(TFR_EUNSUPPORTED, tfr__library_need(&absent, "a GIF image", &err), &err);
        CHECK_CONTAINS("a GIF image needs a library that does not load: libtfr-absent.so.7",
                       err.text);
        CHECK_CONTAINS("; install libabsent7", err.text);
        CHECK_STATUS(TFR_EUNSUPPORTED, tfr__library_need(&older, "a GIF image", &err), &err);
        CHECK_CONTAINS("libc.so.6 has no tfr_there_is_no_such_function", err.text);
        CHECK_OK(tfr__library_need(&there, "a GIF image", &err), &err);
    }
}

/* ---- damage ---------------------------------------------------------------------------------- */

/*
 * Each byte of a file changed in three ways, and the file cut after each byte: it is read, or there
 * is a sentence with a status of a bad file, and nothing is touched that should not be.
 */
static void damage(const char *scheme, const char *source, const char *name, const uint8_t *data,
                   size_t n)
{
    static uint8_t copy[KIT_BYTES];
    static const uint8_t flips[] = {1, 0x80, 0xff, 0};
    for (size_t i = 0; i < n * 4; i++) {
        tfr_dataset *train = NULL, *test = NULL;
        tfr_status status;
        memcpy(copy, data, n);
        copy[i / 4] ^= flips[i % 4];
        unlink(temp_path(name)); /* some file systems sync what is written over */
        temp_write(name, copy, i % 4 == 3 ? i / 4 : n);
        err.text[0] = 0;
        status = open_file(scheme, source, &train, &test);
        CHECK(status == TFR_OK || status == TFR_EMODEL || status == TFR_EUNSUPPORTED ||
              status == TFR_ENOTFOUND || status == TFR_ELIMIT || status == TFR_ENOMEM);
        CHECK(!status == !err.text[0]);
        if (status) {
            CHECK_CONTAINS(temp_folder(), err.text);
        } else {
            tfr_tensor *x, *y;
            gather(train, tfr_dataset_count(train) - 1, &x, &y);
            release(x, y);
        }
        tfr_dataset_release(train);
        tfr_dataset_release(test);
    }
    temp_write(name, data, n);
}

TEST(damaged_idx_files_do_no_harm)
{
    static const char *const names[] = {"d/train-images-idx3-ubyte", "d/train-labels-idx1-ubyte"};
    make_folder("d");
    for (int gzip = 0; gzip < 2; gzip++)
        for (int labels = 0; labels < 2; labels++) {
            for (int i = 0; i < 3; i++) {
                const int other = i < 2 ? i : labels;
                file.n = packed.n = 0;
                if (other)
                    put_labels(&file, 5);
                else
                    put_images(&file, 5, 2, 2);
                put_gzip(&packed, &file);
                write_bytes(names[other], gzip ? &packed : &file);
            }
            member = gzip ? packed : file;
            damage("idx:", "d", names[labels], member.data, member.n);
        }
    drop_all();
}

TEST(damaged_npz_files_do_no_harm)
{
    for (int deflate = 0; deflate < 2; deflate++) {
        static bytes whole;
        write_npz(deflate, "|u1");
        whole = file;
        damage("npz:", "a.npz", "a.npz", whole.data, whole.n);
    }
    drop_all();
}

TEST(damaged_images_do_no_harm)
{
    static bytes whole;
    write_images(3);
    set_png(8, 4, 3, 10);
    whole = file;
    damage("images:", "d", "d/train/ant/x.png", whole.data, whole.n);
    damage("images:", "d", "d/train/cat/1.png", whole.data, whole.n);
    write_images(1);
    temp_write("d/train/cat/a.jpg", jpeg, sizeof jpeg);
    damage("images:", "d", "d/train/cat/a.jpg", jpeg, sizeof jpeg);
    drop_all();
}

static const test_case cases[] = {
    CASE(keras_npz_is_read_stored_and_deflated),
    CASE(channels_that_are_last_become_first),
    CASE(numbers_are_targets_of_regression),
    CASE(npz_files_that_are_not_right_are_refused),
    CASE(folders_of_png_are_classes_in_the_order_of_names),
    CASE(jpeg_and_png_go_together_and_grey_can_be_colours),
    CASE(images_that_do_not_fit_are_refused_by_name),
    CASE(a_library_that_is_missing_is_named_with_its_package),
    CASE(damaged_idx_files_do_no_harm),
    CASE(damaged_npz_files_do_no_harm),
    CASE(damaged_images_do_no_harm),
};
TEST_MAIN(cases)
