/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets: digits and IDX files, samples gathered, batches in order and resumed. */
#include <fcntl.h>
#include <stdlib.h>
#include <tfrun/dataset.h>

#include "idx_kit.h"
#include "nn/data/augment.h"
#include "nn/data/digits.h"
#include "nn/data/order.h"
#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;
static bytes file, packed;

enum { TRAIN = 23, TEST_COUNT = 7, H = 3, W = 4 };

static const char *const names[] = {
    "train-images-idx3-ubyte",    "train-labels-idx1-ubyte",    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",     "train-images.idx3-ubyte",    "train-labels.idx1-ubyte",
    "t10k-images.idx3-ubyte",     "t10k-labels.idx1-ubyte",     "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz",  "t10k-labels-idx1-ubyte.gz",
    "train-images.idx3-ubyte.gz", "train-labels.idx1-ubyte.gz", "t10k-images.idx3-ubyte.gz",
    "t10k-labels.idx1-ubyte.gz"};
enum { PLAIN = 0, DOTTED = 4, PACKED = 8, DOTTED_PACKED = 12, N_NAMES = 16 };

static void drop_all(void)
{
    for (int i = 0; i < N_NAMES; i++)
        unlink(temp_path(names[i]));
    rmdir(temp_folder());
}

static void write_idx(const char *name, bool gzip)
{
    packed.n = 0;
    if (gzip)
        put_gzip(&packed, &file);
    write_bytes(name, gzip ? &packed : &file);
}

/* All four files of a spelling. */
static void write_all(int spelling)
{
    drop_all();
    for (int i = 0; i < 4; i++) {
        file.n = 0;
        if (i % 2 == 0)
            put_images(&file, i < 2 ? TRAIN : TEST_COUNT, H, W);
        else
            put_labels(&file, i < 2 ? TRAIN : TEST_COUNT);
        write_idx(names[spelling + i], spelling >= PACKED);
    }
}

static tfr_status open_idx(tfr_dataset **train, tfr_dataset **test)
{
    char source[256];
    snprintf(source, sizeof source, "idx:%s", temp_folder());
    return tfr_dataset_open(source, train, test, &err);
}

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

/* ---- batches --------------------------------------------------------------------------------- */

/* The first pixel of each sample tells its number: 37 is odd, so the first 256 have others. */
static int64_t number_of(float pixel)
{
    for (uint32_t i = 0; i < TRAIN; i++)
        if (pixel == (float)kit_pixel(i, 0) / 255.0f)
            return i;
    return -1;
}

/* Samples from where it stands to the end of the epoch, and sizes of batches, ended by 0. */
static int take_all(tfr_batches *batches, int64_t *samples, int64_t *sizes)
{
    tfr_tensor *x, *y;
    int n = 0, n_batches = 0;
    for (;;) {
        REQUIRE_OK(tfr_batches_next(batches, &x, &y, &err), &err);
        CHECK(!x == !y);
        sizes[n_batches] = x ? tfr_tensor_shape(x)->dims[0] : 0;
        if (!x)
            return n;
        REQUIRE_INT(sizes[n_batches], tfr_tensor_shape(y)->dims[0]);
        for (int64_t i = 0; i < sizes[n_batches]; i++, n++) {
            samples[n] = number_of(((const float *)tfr_tensor_data(x))[i * H * W]);
            CHECK_INT(samples[n] % 10, ((const int64_t *)tfr_tensor_data(y))[i]);
        }
        n_batches++;
    }
}

TEST(the_last_batch_of_an_epoch_is_smaller)
{
    static const int64_t expected[4] = {10, 10, 3, 0};
    tfr_batch_options o = TFR_BATCH_OPTIONS_INIT;
    tfr_dataset *train;
    tfr_batches *batches;
    int64_t samples[TRAIN], sizes[TRAIN + 1];
    o.batch = 10;
    o.shuffle = 0;
    write_all(PLAIN);
    REQUIRE_OK(open_idx(&train, NULL), &err);
    REQUIRE_OK(tfr_batches_create(train, &o, &batches, &err), &err);
    tfr_dataset_release(train);
    CHECK_INT(3, tfr_batches_per_epoch(batches));
    REQUIRE_INT(TRAIN, take_all(batches, samples, sizes));
    CHECK_MEM(expected, sizes, sizeof expected);
    for (int i = 0; i < TRAIN; i++)
        CHECK_INT(i, samples[i]);
    CHECK_INT(TRAIN, tfr_batches_position(batches));
    CHECK_INT(0, take_all(batches, samples, sizes));
    tfr_batches_destroy(batches);
    drop_all();
}

TEST(shuffled_batches_follow_the_order_of_seed_and_epoch)
{
    tfr_batch_options o = TFR_BATCH_OPTIONS_INIT;
    tfr_dataset *train;
    tfr_batches *batches;
    int64_t samples[TRAIN], sizes[TRAIN + 1], order[TRAIN];
    o.batch = 4;
    o.seed = 99;
    write_all(PLAIN);
    REQUIRE_OK(open_idx(&train, NULL), &err);
    REQUIRE_OK(tfr_batches_create(train, &o, &batches, &err), &err);
    tfr_dataset_release(train);
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        REQUIRE_OK(tfr_batches_start(batches, epoch, 0, &err), &err);
        CHECK_INT(epoch, tfr_batches_epoch(batches));
        tfr__data_order(99, (uint64_t)epoch, TRAIN, order);
        REQUIRE_INT(TRAIN, take_all(batches, samples, sizes));
        CHECK_MEM(order, samples, sizeof order);
    }
    tfr_batches_destroy(batches);
    drop_all();
}

TEST(an_epoch_goes_on_at_any_position)
{
    tfr_batch_options o = TFR_BATCH_OPTIONS_INIT;
    tfr_dataset *train;
    tfr_batches *batches;
    int64_t samples[TRAIN], sizes[TRAIN + 1], order[TRAIN];
    o.batch = 4;
    write_all(PLAIN);
    REQUIRE_OK(open_idx(&train, NULL), &err);
    REQUIRE_OK(tfr_batches_create(train, &o, &batches, &err), &err);
    tfr_dataset_release(train);
    tfr__data_order(0, 5, TRAIN, order);
    for (int64_t position = 0; position <= TRAIN; position++) {
        REQUIRE_OK(tfr_batches_start(batches, 5, position, &err), &err);
        CHECK_INT(position, tfr_batches_position(batches));
        REQUIRE_INT(TRAIN - position, take_all(batches, samples, sizes));
        CHECK_MEM(order + position, samples, (size_t)(TRAIN - position) * sizeof *order);
    }
    CHECK_STATUS(TFR_EINVAL, tfr_batches_start(batches, 5, TRAIN + 1, &err), &err);
    CHECK_CONTAINS("there is no position 24 of epoch 5, but 0 to 23", err.text);
    CHECK_STATUS(TFR_EINVAL, tfr_batches_start(batches, -1, 0, &err), &err);
    tfr_batches_destroy(batches);
    drop_all();
}

TEST(a_batch_of_more_than_there_is_takes_all)
{
    tfr_dataset *train;
    tfr_batches *batches = NULL;
    int64_t samples[TRAIN], sizes[TRAIN + 1];
    tfr_batch_options o = TFR_BATCH_OPTIONS_INIT;
    write_all(PLAIN);
    REQUIRE_OK(open_idx(&train, NULL), &err);
    o.batch = 0;
    CHECK_STATUS(TFR_EINVAL, tfr_batches_create(train, &o, &batches, &err), &err);
    REQUIRE_OK(tfr_batches_create(train, NULL, &batches, &err), &err);
    CHECK_INT(1, tfr_batches_per_epoch(batches));
    CHECK_INT(TRAIN, take_all(batches, samples, sizes));
    CHECK_INT(TRAIN, sizes[0]);
    tfr_batches_destroy(batches);
    tfr_dataset_release(train);
    drop_all();
}

/* ---- prefetch and augmentation --------------------------------------------------------------- */

/* CRC of all batches of two epochs; takes the first one to the middle only. */
static uint32_t crc_of_batches(tfr_dataset *data, uint32_t prefetch, uint32_t augment)
{
    tfr_batch_options o = TFR_BATCH_OPTIONS_INIT;
    tfr_batches *batches;
    tfr_tensor *x, *y;
    uint32_t crc[2] = {0};
    o.batch = 7;
    o.prefetch = prefetch;
    o.augment = augment;
    o.seed = 3;
    REQUIRE_OK(tfr_batches_create(data, &o, &batches, &err), &err);
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        REQUIRE_OK(tfr_batches_start(batches, epoch, epoch * 5, &err), &err);
        for (int i = 0;; i++) {
            REQUIRE_OK(tfr_batches_next(batches, &x, &y, &err), &err);
            if (!x || (epoch == 0 && i == 3))
                break;
            crc[1] = kit_crc32(tfr_tensor_data(x), tfr_tensor_bytes(x));
            crc[0] = kit_crc32((const uint8_t *)crc, sizeof crc);
            crc[1] = kit_crc32(tfr_tensor_data(y), tfr_tensor_bytes(y));
            crc[0] = kit_crc32((const uint8_t *)crc, sizeof crc);
        }
    }
    tfr_batches_destroy(batches);
    return crc[0];
}

TEST(prefetch_changes_no_batch)
{
    tfr_dataset *train;
    REQUIRE_OK(tfr_dataset_open("synthetic?train=100", &train, NULL, &err), &err);
    for (uint32_t augment = 0; augment < 2; augment++) {
        const uint32_t crc = crc_of_batches(train, 0, augment);
        for (uint32_t prefetch = 1; prefetch <= 64; prefetch *= 4)
            CHECK_UINT(crc, crc_of_batches(train, prefetch, augment));
    }
    tfr_dataset_release(train);
}

TEST(a_borrowed_batch_stays_while_others_are_prepared)
{
    tfr_batch_options o = TFR_BATCH_OPTIONS_INIT;
    tfr_dataset *train;
    tfr_batches *batches;
    tfr_tensor *x, *y, *copy;
    o.batch = 5;
    o.prefetch = 1;
    REQUIRE_OK(tfr_dataset_open("synthetic?train=50", &train, NULL, &err), &err);
    REQUIRE_OK(tfr_batches_create(train, &o, &batches, &err), &err);
    for (int i = 0; i < 10; i++) {
        REQUIRE_OK(tfr_batches_next(batches, &x, &y, &err), &err);
        REQUIRE_OK(tfr_tensor_copy(x, &copy, &err), &err);
        usleep(2000); /* for who would write into it now; the test holds whatever the time */
        CHECK_MEM(tfr_tensor_data(copy), tfr_tensor_data(x), tfr_tensor_bytes(x));
        tfr_tensor_release(copy);
    }
    tfr_batches_destroy(batches);
    tfr_dataset_release(train);
}

TEST(too_much_prefetch_is_refused)
{
    tfr_batch_options o = TFR_BATCH_OPTIONS_INIT;
    tfr_dataset *train;
    tfr_batches *batches = NULL;
    o.prefetch = 65;
    REQUIRE_OK(tfr_dataset_open("synthetic?train=5", &train, NULL, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_batches_create(train, &o, &batches, &err), &err);
    CHECK_CONTAINS("prefetch is 65 batches, at most 64", err.text);
    CHECK(!batches);
    tfr_dataset_release(train);
}

/* An image file that is mapped, not copied; the labels are all 0. */
static void write_large(void)
{
    enum { N = 1400, PIXELS = 28 * 28 };
    static uint8_t image[PIXELS];
    FILE *f = fopen(temp_path(names[0]), "wb");
    REQUIRE(f != NULL);
    file.n = 0;
    put_big(&file, 0x803);
    put_big(&file, N);
    put_big(&file, 28);
    put_big(&file, 28);
    fwrite(file.data, 1, file.n, f);
    for (int i = 0; i < N; i++)
        fwrite(image, 1, PIXELS, f);
    fclose(f);
    file.n = 0;
    put_big(&file, 0x801);
    put_big(&file, N);
    for (int i = 0; i < N; i++)
        put_little(&file, 0, 1);
    write_bytes(names[1], &file);
}

TEST(a_changed_file_is_an_error_of_the_batch_and_can_be_put_right)
{
    for (uint32_t prefetch = 0; prefetch < 3; prefetch++) {
        tfr_batch_options o = TFR_BATCH_OPTIONS_INIT;
        tfr_dataset *train;
        tfr_batches *batches;
        tfr_tensor *x = NULL, *y = NULL;
        struct stat info;
        int taken = 0;
        o.prefetch = prefetch;
        write_large();
        REQUIRE_OK(open_idx(&train, NULL), &err);
        REQUIRE_OK(tfr_batches_create(train, &o, &batches, &err), &err);
        REQUIRE_OK(tfr_batches_next(batches, &x, &y, &err), &err);
        REQUIRE(stat(temp_path(names[0]), &info) == 0);
        REQUIRE(truncate(temp_path(names[0]), info.st_size + 1) == 0);
        /* Those that are ready still come. */
        while (taken <= 2 * (int)prefetch && !tfr_batches_next(batches, &x, &y, &err))
            taken++;
        CHECK_STATUS(TFR_EIO, tfr_batches_next(batches, &x, &y, &err), &err);
        CHECK_CONTAINS("was changed while it is in use", err.text);
        CHECK_INT(64 * (taken + 1), tfr_batches_position(batches));
        REQUIRE(truncate(temp_path(names[0]), info.st_size) == 0);
        REQUIRE(utimensat(AT_FDCWD, temp_path(names[0]),
                          (struct timespec[2]){info.st_atim, info.st_mtim}, 0) == 0);
        /* One more may have failed before the file was right again. */
        if (tfr_batches_next(batches, &x, &y, &err))
            REQUIRE_OK(tfr_batches_next(batches, &x, &y, &err), &err);
        CHECK_INT(64 * (taken + 2), tfr_batches_position(batches));
        tfr_batches_destroy(batches);
        tfr_dataset_release(train);
    }
    drop_all();
}

TEST(augmented_images_have_the_same_bytes_everywhere)
{
    tfr_dataset *train;
    REQUIRE_OK(tfr_dataset_open("synthetic?train=100", &train, NULL, &err), &err);
    CHECK_UINT(0x2B20A479u, crc_of_batches(train, 0, 1));
    CHECK_UINT(0x9270841u, crc_of_batches(train, 0, 0));
    tfr_dataset_release(train);
}

TEST(all_channels_of_an_image_move_alike)
{
    enum { SIZE = 12 };
    float one[SIZE * SIZE], three[3][SIZE * SIZE], scratch[SIZE * SIZE];
    for (int i = 0; i < SIZE * SIZE; i++)
        one[i] = three[0][i] = three[1][i] = three[2][i] = (float)(i * 7 % 23);
    tfr__augment(1, 2, 3, 1, SIZE, SIZE, one, scratch);
    tfr__augment(1, 2, 3, 3, SIZE, SIZE, three[0], scratch);
    for (int c = 0; c < 3; c++)
        CHECK(memcmp(one, three[c], sizeof one) == 0);
}

TEST(augmentation_moves_an_image_a_little_and_otherwise_in_each_epoch)
{
    tfr_batch_options o = TFR_BATCH_OPTIONS_INIT;
    tfr_dataset *train;
    tfr_batches *batches;
    tfr_tensor *x, *y;
    static float seen[4][TFR__DIGIT_PIXELS];
    o.shuffle = 0;
    REQUIRE_OK(tfr_dataset_open("synthetic?train=1", &train, NULL, &err), &err);
    for (int i = 0; i < 4; i++) {
        double sum = 0, first = 0;
        o.augment = i > 0;
        REQUIRE_OK(tfr_batches_create(train, &o, &batches, &err), &err);
        REQUIRE_OK(tfr_batches_start(batches, i, 0, &err), &err);
        REQUIRE_OK(tfr_batches_next(batches, &x, &y, &err), &err);
        memcpy(seen[i], tfr_tensor_data(x), sizeof seen[i]);
        for (int k = 0; k < TFR__DIGIT_PIXELS; k++) {
            REQUIRE(seen[i][k] >= 0 && seen[i][k] <= 1.00001f);
            sum += seen[i][k];
            first += seen[0][k];
        }
        CHECK(sum > 0.8 * first && sum < 1.1 * first); /* some noise goes over the edge */
        for (int k = 0; k < i; k++)
            CHECK(memcmp(seen[i], seen[k], sizeof seen[i]) != 0);
        tfr_batches_destroy(batches);
    }
    tfr_dataset_release(train);
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
    CASE(the_last_batch_of_an_epoch_is_smaller),
    CASE(shuffled_batches_follow_the_order_of_seed_and_epoch),
    CASE(an_epoch_goes_on_at_any_position),
    CASE(a_batch_of_more_than_there_is_takes_all),
    CASE(prefetch_changes_no_batch),
    CASE(a_borrowed_batch_stays_while_others_are_prepared),
    CASE(too_much_prefetch_is_refused),
    CASE(a_changed_file_is_an_error_of_the_batch_and_can_be_put_right),
    CASE(augmented_images_have_the_same_bytes_everywhere),
    CASE(all_channels_of_an_image_move_alike),
    CASE(augmentation_moves_an_image_a_little_and_otherwise_in_each_epoch),
};
TEST_MAIN(cases)
