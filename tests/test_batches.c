/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of data sets: in order, resumed, prefetched and augmented. */
#include <fcntl.h>
#include <stdlib.h>

#include "idx_files.h"
#include "nn/data/augment.h"
#include "nn/data/digits.h"
#include "nn/data/order.h"
#include "tfr_test.h"

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
