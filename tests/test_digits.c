/* SPDX-License-Identifier: Apache-2.0 */
/* The generator of digit images: the same bytes everywhere, each image alone, all digits. */
#include "nn/data/digits.h"

#include "tfr_test.h"

/* zlib's checksum. */
static uint32_t crc32_of(uint32_t crc, const uint8_t *bytes, size_t n)
{
    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

static uint32_t crc_of_images(uint64_t seed, uint32_t split, uint64_t first, int n)
{
    uint8_t image[TFR__DIGIT_PIXELS];
    uint32_t crc = 0;
    for (int i = 0; i < n; i++) {
        const uint8_t label = (uint8_t)tfr__digit_label(seed, split, first + (uint64_t)i);
        tfr__digit_draw(seed, split, first + (uint64_t)i, image);
        crc = crc32_of(crc, &label, 1);
        crc = crc32_of(crc, image, sizeof image);
    }
    return crc;
}

TEST(the_checksum_is_the_usual_one)
{
    CHECK_UINT(0xCBF43926u, crc32_of(0, (const uint8_t *)"123456789", 9));
}

/* Whatever the compiler and its optimization: there are two programs of this file. */
TEST(images_have_the_same_bytes_everywhere)
{
    CHECK_UINT(0xF5BA368Du, crc_of_images(0, 0, 0, 1000));
    CHECK_UINT(0x7A9E83A1u, crc_of_images(0, 1, 0, 1000));
    CHECK_UINT(0x119D5AF0u, crc_of_images(0xFEDCBA9876543210u, 0, 59000, 100));
}

TEST(an_image_does_not_depend_on_those_drawn_before)
{
    uint8_t first[TFR__DIGIT_PIXELS], other[TFR__DIGIT_PIXELS], again[TFR__DIGIT_PIXELS];
    tfr__digit_draw(3, 0, 70, first);
    tfr__digit_draw(4, 1, 71, other);
    tfr__digit_draw(3, 0, 70, again);
    CHECK_MEM(first, again, sizeof first);
    CHECK(memcmp(first, other, sizeof first) != 0);
}

TEST(seed_split_and_index_each_change_the_image)
{
    const uint32_t image = crc_of_images(1, 0, 5, 1);
    CHECK(image != crc_of_images(2, 0, 5, 1));
    CHECK(image != crc_of_images(1 + ((uint64_t)1 << 32), 0, 5, 1));
    CHECK(image != crc_of_images(1, 1, 5, 1));
    CHECK(image != crc_of_images(1, 0, 6, 1));
    CHECK(image != crc_of_images(1, 0, 5 + ((uint64_t)1 << 32), 1));
}

TEST(all_digits_are_about_as_frequent)
{
    int counts[10] = {0};
    for (uint64_t i = 0; i < 10000; i++) {
        const int32_t label = tfr__digit_label(0, 0, i);
        REQUIRE(label >= 0 && label < 10);
        counts[label]++;
    }
    for (int i = 0; i < 10; i++)
        CHECK(counts[i] > 850 && counts[i] < 1150);
}

static const test_case cases[] = {
    CASE(the_checksum_is_the_usual_one),
    CASE(images_have_the_same_bytes_everywhere),
    CASE(an_image_does_not_depend_on_those_drawn_before),
    CASE(seed_split_and_index_each_change_the_image),
    CASE(all_digits_are_about_as_frequent),
};
TEST_MAIN_OF_ONE_THREAD(cases)
