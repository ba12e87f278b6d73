/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images in seven formats, whole, cut and damaged. The same picture of 5 x 3 in all: red is 40 x,
 * green 90 y, blue 255 - 50 x - 10 y.
 */
#include <images/codec.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tfr_test.h"

static tfr_err err = TFR_ERR_INIT;
enum { WIDTH = 5, HEIGHT = 3 };

static const char png[] =
    "\211\120\116\107\015\012\032\012\000\000\000\015\111\110\104\122\000\000\000\005\000\000"
    "\000\003\010\002\000\000\000\324\124\122\257\000\000\000\032\111\104\101\124\170\234\143"
    "\144\140\370\257\301\160\016\216\130\030\242\276\061\060\040\020\072\037\000\137\002\017"
    "\061\144\301\120\356\000\000\000\000\111\105\116\104\256\102\140\202";
static const char jpeg[] =
    "\377\330\377\340\000\020\112\106\111\106\000\001\001\000\000\001\000\001\000\000\377\333"
    "\000\103\000\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001"
    "\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001"
    "\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001"
    "\001\377\333\000\103\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001"
    "\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001"
    "\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001"
    "\001\001\001\001\377\300\000\021\010\000\003\000\005\003\001\021\000\002\021\001\003\021"
    "\001\377\304\000\024\000\001\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
    "\005\377\304\000\041\020\000\000\003\010\003\000\000\000\000\000\000\000\000\000\000\000"
    "\001\002\010\000\003\004\005\006\007\047\061\064\122\144\377\304\000\025\001\001\001\000"
    "\000\000\000\000\000\000\000\000\000\000\000\000\000\007\010\377\304\000\046\021\000\000"
    "\002\006\013\000\000\000\000\000\000\000\000\000\000\000\004\007\000\001\006\010\011\144"
    "\003\005\021\030\047\061\063\101\103\105\123\377\332\000\014\003\001\000\002\021\003\021"
    "\000\077\000\106\336\043\104\270\022\062\141\112\057\116\207\213\027\324\336\306\237\142"
    "\264\361\107\165\343\205\342\103\107\235\156\255\140\373\012\013\056\201\260\370\171\023"
    "\321\104\240\173\014\306\227\256\347\017\341\117\054\237\377\331";
static const char webp[] =
    "\122\111\106\106\102\000\000\000\127\105\102\120\126\120\070\114\065\000\000\000\057\004"
    "\200\000\000\167\100\220\155\063\300\023\324\237\345\014\203\042\026\114\374\065\203\330"
    "\333\374\367\040\007\330\274\000\006\001\040\021\250\130\122\110\041\270\024\126\030\065"
    "\242\377\341\041\307\276\000\000";
static const char tiff[] =
    "\111\111\052\000\010\000\000\000\012\000\000\001\004\000\001\000\000\000\005\000\000\000"
    "\001\001\004\000\001\000\000\000\003\000\000\000\002\001\003\000\003\000\000\000\206\000"
    "\000\000\003\001\003\000\001\000\000\000\001\000\000\000\006\001\003\000\001\000\000\000"
    "\002\000\000\000\021\001\004\000\001\000\000\000\214\000\000\000\025\001\003\000\001\000"
    "\000\000\003\000\000\000\026\001\004\000\001\000\000\000\003\000\000\000\027\001\004\000"
    "\001\000\000\000\055\000\000\000\034\001\003\000\001\000\000\000\001\000\000\000\000\000"
    "\000\000\010\000\010\000\010\000\000\000\377\050\000\315\120\000\233\170\000\151\240\000"
    "\067\000\132\365\050\132\303\120\132\221\170\132\137\240\132\055\000\264\353\050\264\271"
    "\120\264\207\170\264\125\240\264\043";
static const char jpeg2000[] =
    "\000\000\000\014\152\120\040\040\015\012\207\012\000\000\000\024\146\164\171\160\152\160"
    "\062\040\000\000\000\000\152\160\062\040\000\000\000\055\152\160\062\150\000\000\000\026"
    "\151\150\144\162\000\000\000\003\000\000\000\005\000\003\007\007\000\000\000\000\000\017"
    "\143\157\154\162\001\000\000\000\000\000\020\000\000\000\246\152\160\062\143\377\117\377"
    "\121\000\057\000\000\000\000\000\005\000\000\000\003\000\000\000\000\000\000\000\000\000"
    "\000\000\005\000\000\000\003\000\000\000\000\000\000\000\000\000\003\007\001\001\007\001"
    "\001\007\001\001\377\122\000\014\000\000\000\001\000\001\004\004\000\001\377\134\000\007"
    "\100\100\110\110\120\377\144\000\045\000\001\103\162\145\141\164\145\144\040\142\171\040"
    "\117\160\145\156\112\120\105\107\040\166\145\162\163\151\157\156\040\062\056\065\056\064"
    "\377\220\000\012\000\000\000\000\000\053\000\001\377\223\337\200\040\011\054\020\161\337"
    "\200\060\006\252\316\024\126\337\317\264\034\002\072\241\142\326\036\067\200\200\200\377"
    "\331";

/* Rows from below, blue first, each to a multiple of four bytes. */
static size_t make_bmp(unsigned char *out)
{
    static const unsigned char header[54] = {'B', 'M', 102,    0, 0,  0, 0, 0, 0,     0,
                                             54,  0,   0,      0, 40, 0, 0, 0, WIDTH, 0,
                                             0,   0,   HEIGHT, 0, 0,  0, 1, 0, 24};
    memset(out, 0, 102);
    memcpy(out, header, sizeof header);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            unsigned char *p = out + 54 + (HEIGHT - 1 - y) * 16 + 3 * x;
            p[0] = (unsigned char)(255 - 50 * x - 10 * y);
            p[1] = (unsigned char)(90 * y);
            p[2] = (unsigned char)(40 * x);
        }
    return 102;
}

static size_t make_ppm(unsigned char *out, bool is_text)
{
    size_t n = (size_t)snprintf((char *)out, 1024, "P%d # red, green, blue\n%d %d\n255\n",
                                is_text ? 3 : 6, WIDTH, HEIGHT);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            const int rgb[3] = {40 * x, 90 * y, 255 - 50 * x - 10 * y};
            for (int c = 0; c < 3; c++)
                if (is_text)
                    n += (size_t)snprintf((char *)out + n, 1024 - n, "%d ", rgb[c]);
                else
                    out[n++] = (unsigned char)rgb[c];
        }
    return n;
}

typedef struct image {
    const char *name;
    unsigned char bytes[1024];
    size_t n;
    int tolerance;
} image;

enum { N_IMAGES = 8 };

static void put(image *i, const char *name, const char *bytes, size_t n, int tolerance)
{
    i->name = name;
    i->n = n;
    i->tolerance = tolerance;
    memcpy(i->bytes, bytes, n);
}

static image *make_images(void)
{
    image *all = calloc(N_IMAGES, sizeof *all);
    REQUIRE(all != NULL);
    put(&all[0], "PNG", png, sizeof png - 1, 0);
    put(&all[1], "JPEG", jpeg, sizeof jpeg - 1, 3);
    put(&all[2], "WebP", webp, sizeof webp - 1, 0);
    put(&all[3], "TIFF", tiff, sizeof tiff - 1, 0);
    put(&all[4], "JPEG 2000", jpeg2000, sizeof jpeg2000 - 1, 0);
    all[5] = (image){.name = "BMP"};
    all[5].n = make_bmp(all[5].bytes);
    all[6] = (image){.name = "PNM"};
    all[6].n = make_ppm(all[6].bytes, true);
    all[7] = (image){.name = "PNM"};
    all[7].n = make_ppm(all[7].bytes, false);
    return all;
}

/* Damaged or not: no reading behind the bytes, no writing behind the pixels; for the sanitizers. */
static tfr_status decode(const void *bytes, size_t n, unsigned char **out, tfr__image_size *size)
{
    unsigned char *exact = malloc(n + !n);
    tfr_status status;
    REQUIRE(exact != NULL);
    memcpy(exact, bytes, n);
    *out = NULL;
    status = tfr__image_look(exact, n, size, &err);
    if (!status && (uint64_t)size->width * size->height > 1 << 20)
        status = TFR_ELIMIT; /* a header that a test has made large */
    if (!status) {
        size->channels = 3;
        *out = malloc((size_t)size->width * size->height * 3);
        REQUIRE(*out != NULL);
        status = tfr__image_rows(exact, n, size, *out, &err);
    }
    free(exact);
    return status;
}

static bool has_library(const image *i)
{
    tfr__image_size size;
    if (tfr__image_look(i->bytes, i->n, &size, &err) != TFR_EUNSUPPORTED)
        return true;
    printf("skipped %s: %s\n", i->name, err.text);
    return false;
}

TEST(a_picture_is_the_same_in_all_formats)
{
    image *all = make_images();
    for (int i = 0; i < N_IMAGES; i++) {
        unsigned char *out;
        tfr__image_size size = {0};
        if (!has_library(&all[i]))
            continue;
        CHECK_STR(all[i].name, tfr__codec_of(all[i].bytes, all[i].n)->name);
        REQUIRE_OK(decode(all[i].bytes, all[i].n, &out, &size), &err);
        CHECK_UINT(WIDTH, size.width);
        CHECK_UINT(HEIGHT, size.height);
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) {
                const unsigned char *p = out + 3 * (y * WIDTH + x);
                CHECK(abs(p[0] - 40 * x) <= all[i].tolerance);
                CHECK(abs(p[1] - 90 * y) <= all[i].tolerance);
                CHECK(abs(p[2] - (255 - 50 * x - 10 * y)) <= all[i].tolerance);
            }
        free(out);
    }
    free(all);
}

TEST(an_image_that_is_cut_anywhere_is_an_error_or_is_filled)
{
    image *all = make_images();
    for (int i = 0; i < N_IMAGES; i++) {
        size_t n_failed = 0;
        if (!has_library(&all[i]))
            continue;
        for (size_t n = 0; n < all[i].n; n++) {
            unsigned char *out;
            tfr__image_size size;
            tfr_status status = decode(all[i].bytes, n, &out, &size);
            n_failed += status != TFR_OK;
            if (status)
                CHECK(err.text[0] != 0);
            free(out);
        }
        CHECK(n_failed > all[i].n / 4);
    }
    free(all);
}

TEST(damaged_bytes_do_no_harm)
{
    image *all = make_images();
    for (int i = 0; i < N_IMAGES; i++) {
        if (!has_library(&all[i]))
            continue;
        for (size_t k = 0; k < all[i].n * 3; k++) {
            static const unsigned char masks[3] = {0xff, 0x80, 0x01};
            unsigned char *out;
            tfr__image_size size;
            all[i].bytes[k / 3] ^= masks[k % 3];
            (void)decode(all[i].bytes, all[i].n, &out, &size);
            free(out);
            all[i].bytes[k / 3] ^= masks[k % 3];
        }
    }
    free(all);
}

TEST(bytes_that_are_no_image_are_told_so)
{
    tfr__image_size size;
    CHECK_STATUS(TFR_EMODEL, tfr__image_look("hello, world", 12, &size, &err), &err);
    CHECK_CONTAINS("the 12 bytes are no image in PNG, JPEG, JPEG 2000, WebP, TIFF, BMP or PNM",
                   err.text);
    CHECK_STATUS(TFR_EMODEL, tfr__image_look("", 0, &size, &err), &err);
}

TEST(palettes_grey_and_bits_are_read)
{
    /* 3 x 1 of a palette of two colours: 1 0 1, from the highest bit on */
    static const unsigned char bits[70] = {'B', 'M', 66, 0,        0, 0, 0, 0, 0, 0, 62, 0,   0,
                                           0,   40,  0,  0,        0, 3, 0, 0, 0, 1, 0,  0,   0,
                                           1,   0,   1,  [54] = 1, 2, 3, 0, 7, 8, 9, 0,  0xa0};
    static const unsigned char want[9] = {9, 8, 7, 3, 2, 1, 9, 8, 7};
    tfr__image_size size;
    unsigned char *out, grey[4];
    REQUIRE_OK(decode(bits, 66, &out, &size), &err);
    CHECK(memcmp(out, want, sizeof want) == 0);
    free(out);
    REQUIRE_OK(tfr__image_look("P5 4 1 100\n\0\62\144\12", 15, &size, &err), &err);
    CHECK_UINT(1, size.channels);
    REQUIRE_OK(tfr__image_rows("P5 4 1 100\n\0\62\144\12", 15, &size, grey, &err), &err);
    CHECK(memcmp(grey, "\0\177\377\31", 4) == 0);
    REQUIRE_OK(tfr__image_look("P1 3 1 1 01", 11, &size, &err), &err);
    REQUIRE_OK(tfr__image_rows("P1 3 1 1 01", 11, &size, grey, &err), &err);
    CHECK(memcmp(grey, "\0\377\0", 3) == 0);
    REQUIRE_OK(tfr__image_rows("P4 3 1 \240", 8, &size, grey, &err), &err);
    CHECK(memcmp(grey, "\0\377\0", 3) == 0);
}

static const test_case cases[] = {
    CASE(a_picture_is_the_same_in_all_formats),
    CASE(an_image_that_is_cut_anywhere_is_an_error_or_is_filled),
    CASE(damaged_bytes_do_no_harm),
    CASE(bytes_that_are_no_image_are_told_so),
    CASE(palettes_grey_and_bits_are_read),
};
TEST_MAIN(cases)
