/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets: digits and IDX files, and samples gathered. */
#include <fcntl.h>
#include <stdlib.h>

#include "idx_files.h"
#include "nn/data/digits.h"
#include "tfr_test.h"

/* Skips where there is no zlib. */
static void open_written(tfr_dataset **train, tfr_dataset **test)
{
    tfr_status status = open_idx(train, test);
    if (status == TFR_EUNSUPPORTED) {
        CHECK_CONTAINS("install zlib1g", err.text);
        drop_all();
        SKIP("zlib is not here");
    }
    REQUIRE_OK(status, &err);
}

/* The sentence of opening what was written with the changed file; the files go away. */
static const char *refusal(tfr_status expected)
{
    tfr_dataset *train = NULL, *test = NULL;
    err.text[0] = 0;
    CHECK_STATUS(expected, open_idx(&train, &test), &err);
    CHECK(!train && !test);
    drop_all();
    return err.text;
}

/* ---- sources --------------------------------------------------------------------------------- */

TEST(synthetic_digits_are_those_of_the_generator)
{
    tfr_dataset *train, *test;
    tfr_tensor *x, *y;
    uint8_t image[TFR__DIGIT_PIXELS];
    const int64_t indices[2] = {299, 0};
    REQUIRE_OK(tfr_dataset_open("synthetic?seed=7&train=300&test=20", &train, &test, &err), &err);
    CHECK_INT(300, tfr_dataset_count(train));
    CHECK_INT(20, tfr_dataset_count(test));
    CHECK_INT(10, tfr_dataset_classes(train));
    CHECK_STR("synthetic?seed=7&train=300&test=20 (train)", tfr_dataset_name(train));
    for (int part = 0; part < 2; part++) {
        REQUIRE_OK(tfr_dataset_gather(part ? test : train, indices + part, (uint32_t)(2 - part), &x,
                                      &y, &err),
                   &err);
        tfr__digit_draw(7, (uint32_t)part, (uint64_t)indices[part], image);
        for (int i = 0; i < TFR__DIGIT_PIXELS; i++)
            REQUIRE(((const float *)tfr_tensor_data(x))[i] == (float)image[i] / 255.0f);
        CHECK_INT(tfr__digit_label(7, (uint32_t)part, (uint64_t)indices[part]),
                  *(const int64_t *)tfr_tensor_data(y));
        tfr_tensor_release(x);
        tfr_tensor_release(y);
    }
    tfr_dataset_release(train);
    tfr_dataset_release(test);
}

TEST(synthetic_may_have_seed_0_and_no_test_part)
{
    tfr_dataset *train = NULL, *test = NULL;
    REQUIRE_OK(tfr_dataset_open("synthetic?seed=0&train=10&test=0", &train, &test, &err), &err);
    CHECK_INT(10, tfr_dataset_count(train));
    CHECK(!test);
    tfr_dataset_release(train);
    tfr_dataset_release(test);
}

TEST(synthetic_says_what_it_does_not_know)
{
    static const struct {
        const char *source, *part;
    } rows[] = {
        {"synthetic?sede=1", "there is no \"sede\" here, but seed, train and test"},
        {"synthetic?train=0", "train is \"0\", not a number from 1 to"},
        {"synthetic?train=-3", "train is \"-3\", not a number from 1 to"},
        {"synthetic?test=1x", "test is \"1x\", not a number"},
        {"synthetic?seed=99999999999999999999999", "not a number from 0 to 18446744073709551615"},
        {"synthetic?seed", "\"seed\" is not key=value"},
        {"synthetic:x", "no path is expected"},
        {"", "no source, which is synthetic, idx:DIR"},
    };
    tfr_dataset *train = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_STATUS(TFR_EINVAL, tfr_dataset_open(rows[i].source, &train, NULL, &err), &err);
        CHECK_CONTAINS(rows[i].part, err.text);
        CHECK(!train);
    }
}

TEST(idx_files_of_each_spelling_are_read)
{
    static const int64_t last = TRAIN - 1;
    for (int spelling = 0; spelling < N_NAMES; spelling += 4) {
        tfr_dataset *train, *test;
        tfr_tensor *x, *y;
        const tfr_shape *shape;
        write_all(spelling);
        open_written(&train, &test);
        CHECK_INT(TRAIN, tfr_dataset_count(train));
        CHECK_INT(TEST_COUNT, tfr_dataset_count(test));
        CHECK_INT(10, tfr_dataset_classes(train));
        shape = tfr_dataset_sample_shape(train);
        CHECK(shape->rank == 3 && shape->dims[0] == 1 && shape->dims[1] == H &&
              shape->dims[2] == W);
        REQUIRE_OK(tfr_dataset_gather(train, &last, 1, &x, &y, &err), &err);
        for (uint32_t i = 0; i < H * W; i++)
            CHECK(((const float *)tfr_tensor_data(x))[i] == kit_pixel(TRAIN - 1, i) / 255.0f);
        CHECK_INT((TRAIN - 1) % 10, *(const int64_t *)tfr_tensor_data(y));
        tfr_tensor_release(x);
        tfr_tensor_release(y);
        tfr_dataset_release(train);
        tfr_dataset_release(test);
    }
    drop_all();
}

TEST(a_folder_of_idx_files_needs_no_scheme)
{
    tfr_dataset *train = NULL;
    write_all(PLAIN);
    REQUIRE_OK(tfr_dataset_open(temp_folder(), &train, NULL, &err), &err);
    CHECK_INT(TRAIN, tfr_dataset_count(train));
    tfr_dataset_release(train);
    drop_all();
    train = NULL;
    CHECK_STATUS(TFR_ENOTFOUND, tfr_dataset_open("/no/such/folder", &train, NULL, &err), &err);
    CHECK_CONTAINS("No such file", err.text);
    CHECK_STATUS(TFR_ENOTFOUND, tfr_dataset_open("/", &train, NULL, &err), &err);
    CHECK_CONTAINS("train-images-idx3-ubyte", err.text);
    CHECK(!train);
}

TEST(without_the_files_of_testing_there_is_no_test_part)
{
    tfr_dataset *train, *test;
    write_all(PLAIN);
    unlink(temp_path(names[2]));
    CHECK_CONTAINS("t10k-images-idx3-ubyte is not there", refusal(TFR_ENOTFOUND));
    write_all(PLAIN);
    unlink(temp_path(names[2]));
    unlink(temp_path(names[3]));
    REQUIRE_OK(open_idx(&train, &test), &err);
    CHECK(test == NULL);
    tfr_dataset_release(train);
    drop_all();
    CHECK_CONTAINS("train-images-idx3-ubyte is not there", refusal(TFR_ENOTFOUND));
}

/* ---- files that are not right ---------------------------------------------------------------- */

TEST(another_magic_is_refused)
{
    write_all(PLAIN);
    file.n = 0;
    put_labels(&file, TRAIN);
    write_bytes(names[0], &file);
    CHECK_CONTAINS("its magic is 0x00000801, of IDX labels, and 0x00000803, of images, is expected",
                   refusal(TFR_EMODEL));
    CHECK_CONTAINS("train-images-idx3-ubyte: ", err.text);
    write_all(PLAIN);
    temp_write(names[1], "\x89PNG\r\n\x1a\n ", 9);
    CHECK_CONTAINS("0x00000801, of IDX labels, is expected; it looks like a PNG image",
                   refusal(TFR_EMODEL));
    write_all(PLAIN);
    temp_write(names[1], "", 0);
    CHECK_CONTAINS("it has 0 bytes, too few for an IDX file", refusal(TFR_EMODEL));
}

TEST(counts_that_disagree_are_refused)
{
    write_all(PLAIN);
    file.n = 0;
    put_labels(&file, TRAIN - 1);
    write_bytes(names[1], &file);
    CHECK_CONTAINS("ubyte has 23 images, and ", refusal(TFR_EMODEL));
    CHECK_CONTAINS(" 22 labels; take both files from one data set", err.text);
    write_all(PLAIN);
    file.n = 0;
    put_images(&file, TEST_COUNT, H + 1, W);
    write_bytes(names[2], &file);
    CHECK_CONTAINS("(train) has inputs of shape [1,3,4], and ", refusal(TFR_EMODEL));
}

TEST(a_label_out_of_range_is_refused)
{
    char source[256];
    tfr_dataset *train;
    write_all(PLAIN);
    file.n = 0;
    put_labels(&file, TEST_COUNT);
    file.data[8 + 5] = 25;
    write_bytes(names[3], &file);
    CHECK_CONTAINS("label 5 is 25, not below 10; if the data have more classes, say "
                   "idx:DIR?classes=26",
                   refusal(TFR_EMODEL));
    write_all(PLAIN);
    write_bytes(names[3], &file);
    snprintf(source, sizeof source, "idx:%s?classes=26", temp_folder());
    REQUIRE_OK(tfr_dataset_open(source, &train, NULL, &err), &err);
    CHECK_INT(26, tfr_dataset_classes(train));
    tfr_dataset_release(train);
    drop_all();
}

TEST(a_file_that_was_cut_short_is_refused)
{
    write_all(PLAIN);
    file.n = 0;
    put_images(&file, TRAIN, H, W);
    file.n--;
    write_bytes(names[0], &file);
    CHECK_CONTAINS("its header says 276 bytes, and 275 follow it; it was cut short",
                   refusal(TFR_EMODEL));
    write_all(PLAIN);
    file.n = 0;
    put_images(&file, TRAIN, H, W);
    put_little(&file, 0, 1);
    write_bytes(names[0], &file);
    CHECK_CONTAINS("its header says 276 bytes, and 277 follow it", refusal(TFR_EMODEL));
}

TEST(no_samples_and_far_too_many_are_refused)
{
    write_all(PLAIN);
    file.n = 0;
    put_images(&file, 0, H, W);
    write_bytes(names[0], &file);
    CHECK_CONTAINS("dim 0 of its header is 0, which is no sample at all", refusal(TFR_EMODEL));
    write_all(PLAIN);
    file.n = 0;
    put_big(&file, 0x803);
    for (int i = 0; i < 3; i++)
        put_big(&file, 0xffffffffu);
    write_bytes(names[0], &file);
    CHECK_CONTAINS("dim 1 of its header is 4294967295, which is too much", refusal(TFR_EMODEL));
}

/* With this byte of the gzip file of the training images changed, or cut after `cut` bytes. */
static const char *damaged(size_t at, uint8_t flip, size_t cut)
{
    write_all(PACKED);
    file.n = packed.n = 0;
    put_images(&file, TRAIN, H, W);
    put_gzip(&packed, &file);
    packed.data[at] ^= flip;
    packed.n = cut ? cut : packed.n;
    write_bytes(names[PACKED], &packed);
    return refusal(TFR_EMODEL);
}

/* Packed images whose header says another height than they have, with the right checksum. */
static void write_height(uint8_t height)
{
    file.n = 0;
    put_images(&file, TRAIN, H, W);
    file.data[11] = height;
    write_idx(names[PACKED], true);
}

TEST(damaged_gzip_is_refused)
{
    tfr_dataset *train, *test;
    size_t n;
    write_all(PACKED);
    open_written(&train, &test);
    tfr_dataset_release(train);
    tfr_dataset_release(test);
    file.n = packed.n = 0;
    put_images(&file, TRAIN, H, W);
    put_gzip(&packed, &file);
    n = packed.n;
    CHECK_CONTAINS("ubyte.gz: the compressed data are damaged", damaged(n - 8, 1, 0)); /* CRC */
    CHECK_CONTAINS("incorrect data check", err.text);
    CHECK_CONTAINS("incorrect length check", damaged(n - 4, 1, 0));
    CHECK_CONTAINS("incorrect data check", damaged(n - 20, 1, 0));
    CHECK_CONTAINS("without their end mark; the file may be cut short", damaged(0, 0, n - 1));
    CHECK_CONTAINS("without their end mark", damaged(0, 0, n - 9));
    CHECK_CONTAINS("without their end mark", damaged(0, 0, 12));
    CHECK_CONTAINS("more than the 315 bytes of the file can unpack to", damaged(15 + 4, 1, 0));
    write_all(PACKED);
    write_height(H + 1);
    CHECK_CONTAINS("it unpacks to 292 bytes, 384 are needed", refusal(TFR_EMODEL));
    write_all(PACKED);
    write_height(H - 1);
    CHECK_CONTAINS("it unpacks to more than the 200 bytes it should", refusal(TFR_EMODEL));
    write_all(PACKED);
    file.n = packed.n = 0;
    put_labels(&file, TRAIN);
    put_gzip(&packed, &file);
    put_little(&packed, 7, 3);
    write_bytes(names[PACKED + 1], &packed);
    CHECK_CONTAINS("3 bytes follow the compressed data", refusal(TFR_EMODEL));
}

/* ---- gathering ------------------------------------------------------------------------------- */

TEST(gathered_samples_are_in_the_order_of_their_indices)
{
    static const int64_t indices[4] = {3, 0, 3, 22}, wrong[2] = {0, TRAIN};
    tfr_dataset *train;
    tfr_tensor *x = NULL, *y = NULL;
    write_all(PLAIN);
    REQUIRE_OK(open_idx(&train, NULL), &err);
    REQUIRE_OK(tfr_dataset_gather(train, indices, 4, &x, &y, &err), &err);
    CHECK(tfr_tensor_shape(x)->rank == 4 && tfr_tensor_shape(x)->dims[0] == 4);
    CHECK(tfr_tensor_shape(y)->rank == 1 && tfr_tensor_dtype(y) == TFR_DTYPE_I64);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_INT(indices[i] % 10, ((const int64_t *)tfr_tensor_data(y))[i]);
        for (uint32_t k = 0; k < H * W; k++)
            CHECK(((const float *)tfr_tensor_data(x))[i * H * W + k] ==
                  (float)kit_pixel((uint32_t)indices[i], k) / 255.0f);
    }
    tfr_tensor_release(x);
    tfr_tensor_release(y);
    x = y = NULL;
    CHECK_STATUS(TFR_EINVAL, tfr_dataset_gather(train, wrong, 2, &x, &y, &err), &err);
    CHECK_CONTAINS("there is no sample 23, but 23 from 0", err.text);
    CHECK(!x && !y);
    tfr_dataset_release(train);
    drop_all();
}

static const test_case cases[] = {
    CASE(synthetic_digits_are_those_of_the_generator),
    CASE(synthetic_may_have_seed_0_and_no_test_part),
    CASE(synthetic_says_what_it_does_not_know),
    CASE(idx_files_of_each_spelling_are_read),
    CASE(a_folder_of_idx_files_needs_no_scheme),
    CASE(without_the_files_of_testing_there_is_no_test_part),
    CASE(another_magic_is_refused),
    CASE(counts_that_disagree_are_refused),
    CASE(a_label_out_of_range_is_refused),
    CASE(a_file_that_was_cut_short_is_refused),
    CASE(no_samples_and_far_too_many_are_refused),
    CASE(damaged_gzip_is_refused),
    CASE(gathered_samples_are_in_the_order_of_their_indices),
};
TEST_MAIN(cases)
