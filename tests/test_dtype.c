/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of core/value/dtype.c, convert.c and smallfloat.c. Expected patterns are those of the
 * formats' definitions; ml_dtypes and NumPy agree with all of them.
 */
#include "tfr_test.h"

#include <stdlib.h>
#include <tfrun/dtype.h>

#define QUIET_NAN 0x7ff8000000000000

static double double_of(uint64_t pattern)
{
    double x;
    memcpy(&x, &pattern, sizeof x);
    return x;
}

static uint64_t pattern_of(double x)
{
    uint64_t pattern;
    memcpy(&pattern, &x, sizeof pattern);
    return pattern;
}

/* One element there and back; the pattern of at most 64 bits of what comes out. */
static uint64_t convert_one(tfr_dtype to, tfr_dtype from, const void *x)
{
    uint64_t out = 0;
    tfr_err err = TFR_ERR_INIT;
    CHECK_OK(tfr_dtype_convert(to, &out, from, x, 1, &err), &err);
    return out;
}

static uint64_t from_double(tfr_dtype to, double x)
{
    return convert_one(to, TFR_DTYPE_F64, &x);
}

static double to_double(tfr_dtype from, uint64_t pattern)
{
    return double_of(convert_one(TFR_DTYPE_F64, from, &pattern));
}

/* ---- names ----------------------------------------------------------------------------------- */

TEST(every_name_parses_to_its_type)
{
    for (int i = 1; i < TFR_DTYPE_END; i++)
        CHECK_INT(i, tfr_dtype_parse(tfr_dtype_name((tfr_dtype)i)));
    CHECK_STR("none", tfr_dtype_name(TFR_DTYPE_NONE));
    CHECK_STR("unknown", tfr_dtype_name(TFR_DTYPE_END));
    CHECK_STR("unknown", tfr_dtype_name((tfr_dtype)-1));
}

TEST(usual_other_names_parse_and_wrong_ones_do_not)
{
    CHECK_INT(TFR_DTYPE_F32, tfr_dtype_parse("f32"));
    CHECK_INT(TFR_DTYPE_F32, tfr_dtype_parse("float"));
    CHECK_INT(TFR_DTYPE_F64, tfr_dtype_parse("double"));
    CHECK_INT(TFR_DTYPE_F16, tfr_dtype_parse("half"));
    CHECK_INT(TFR_DTYPE_NONE, tfr_dtype_parse("floaty"));
    CHECK_INT(TFR_DTYPE_NONE, tfr_dtype_parse(""));
    CHECK_INT(TFR_DTYPE_NONE, tfr_dtype_parse(NULL));
}

TEST(kinds_of_types_are_told_apart)
{
    static const char floats[] = "float32 float16 float64 bfloat16 float8e4m3fn float8e4m3fnuz "
                                 "float8e5m2 float8e5m2fnuz float4e2m1 float8e8m0 ";
    static const char others[] = "none string bool complex64 complex128 unknown ";
    for (int i = 0; i <= TFR_DTYPE_END; i++) {
        char word[32];
        snprintf(word, sizeof word, "%s ", tfr_dtype_name((tfr_dtype)i));
        const bool is_float = strstr(floats, word) != NULL;
        CHECK_INT(is_float, tfr_dtype_is_float((tfr_dtype)i));
        CHECK_INT(!is_float && !strstr(others, word), tfr_dtype_is_integer((tfr_dtype)i));
    }
}

/* ---- patterns there and back ----------------------------------------------------------------- */

/* Every pattern widens and comes back; a NaN comes back as a NaN. */
static void check_round_trip(tfr_dtype dtype, tfr_dtype wide, uint32_t n)
{
    uint16_t *patterns = calloc(n, 2);
    uint16_t *back = calloc(n, 2);
    double *values = calloc(n, 8);
    tfr_err err = TFR_ERR_INIT;
    const bool is_byte = tfr_dtype_bits((int32_t)dtype) == 8;
    uint32_t n_bad = 0;
    REQUIRE(patterns && back && values);
    for (uint32_t i = 0; i < n; i++)
        if (is_byte)
            ((uint8_t *)patterns)[i] = (uint8_t)i;
        else
            patterns[i] = (uint16_t)i;
    CHECK_OK(tfr_dtype_convert(wide, values, dtype, patterns, n, &err), &err);
    CHECK_OK(tfr_dtype_convert(dtype, back, wide, values, n, &err), &err);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t got = is_byte ? ((uint8_t *)back)[i] : back[i];
        const bool is_nan = isnan(to_double(dtype, i));
        n_bad += is_nan ? !isnan(to_double(dtype, got)) : got != i;
    }
    CHECK_UINT(0, n_bad);
    free(patterns);
    free(back);
    free(values);
}

TEST(every_f16_pattern_comes_back_from_f32_and_f64)
{
    check_round_trip(TFR_DTYPE_F16, TFR_DTYPE_F32, 65536);
    check_round_trip(TFR_DTYPE_F16, TFR_DTYPE_F64, 65536);
}

TEST(every_bf16_pattern_comes_back_from_f32_and_f64)
{
    check_round_trip(TFR_DTYPE_BF16, TFR_DTYPE_F32, 65536);
    check_round_trip(TFR_DTYPE_BF16, TFR_DTYPE_F64, 65536);
}

TEST(a_bf16_is_the_upper_half_of_an_f32)
{
    uint32_t n_bad = 0;
    for (uint32_t i = 0; i < 65536; i++) {
        const uint64_t wide = convert_one(TFR_DTYPE_F32, TFR_DTYPE_BF16, &i);
        if ((i & 0x7fff) <= 0x7f80)
            n_bad += wide != (uint64_t)i << 16;
    }
    CHECK_UINT(0, n_bad);
}

static const tfr_dtype bytes[] = {TFR_DTYPE_F8E4M3FN, TFR_DTYPE_F8E4M3FNUZ, TFR_DTYPE_F8E5M2,
                                  TFR_DTYPE_F8E5M2FNUZ, TFR_DTYPE_F8E8M0};

/* Infinities of e5m2 saturate, as Cast says, and are not expected back. */
TEST(every_8_bit_float_comes_back)
{
    for (size_t t = 0; t < sizeof bytes / sizeof bytes[0]; t++)
        for (uint32_t i = 0; i < 256; i++) {
            const double x = to_double(bytes[t], i);
            const uint64_t back = from_double(bytes[t], x);
            if (isnan(x))
                CHECK(isnan(to_double(bytes[t], back)));
            else if (isinf(x))
                CHECK_UINT(i - 1, back);
            else
                CHECK_UINT(i, back);
        }
}

/* Sign, exponent and mantissa as the definitions of the formats write them down. */
static double defined_value(int man_bits, int bias, uint32_t pattern)
{
    const int e = (int)(pattern & 0x7f) >> man_bits;
    const double man = (double)(pattern & ((1u << man_bits) - 1)) / (1 << man_bits);
    const double x = e ? ldexp(1 + man, e - bias) : ldexp(man, 1 - bias);
    return pattern & 0x80 ? -x : x;
}

TEST(every_8_bit_float_has_its_defined_value)
{
    for (uint32_t i = 0; i < 256; i++) {
        const uint32_t m = i & 0x7f;
        CHECK_NEAR(m == 0x7f ? NAN : defined_value(3, 7, i), to_double(TFR_DTYPE_F8E4M3FN, i), 0);
        CHECK_NEAR(i == 0x80 ? NAN : defined_value(3, 8, i), to_double(TFR_DTYPE_F8E4M3FNUZ, i), 0);
        CHECK_NEAR(i == 0x80 ? NAN : defined_value(2, 16, i), to_double(TFR_DTYPE_F8E5M2FNUZ, i),
                   0);
        CHECK_NEAR(m > 0x7c    ? NAN
                   : m == 0x7c ? (i & 0x80 ? -INFINITY : INFINITY)
                               : defined_value(2, 15, i),
                   to_double(TFR_DTYPE_F8E5M2, i), 0);
        CHECK_NEAR(i == 0xff ? NAN : ldexp(1, (int)i - 127), to_double(TFR_DTYPE_F8E8M0, i), 0);
    }
}

TEST(every_4_bit_float_has_its_defined_value)
{
    static const double values[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    for (uint32_t i = 0; i < 16; i++) {
        const double x = to_double(TFR_DTYPE_F4E2M1, i);
        CHECK_NEAR(i & 8 ? -values[i & 7] : values[i & 7], x, 0);
        CHECK_INT((i & 8) != 0, signbit(x) != 0);
        CHECK_UINT(i, from_double(TFR_DTYPE_F4E2M1, x));
    }
}

/* ---- rounding -------------------------------------------------------------------------------- */

typedef struct hard_case {
    tfr_dtype dtype;
    double x;
    uint64_t pattern;
} hard_case;

/* Written with a C99 hexadecimal exponent where the last bit is the point. */
static const hard_case hard_cases[] = {
    /* f16: largest value, the tie above it, ties, subnormals, the tie below the smallest */
    {TFR_DTYPE_F16, 65504, 0x7bff},
    {TFR_DTYPE_F16, 65519.99, 0x7bff},
    {TFR_DTYPE_F16, 65520, 0x7c00},
    {TFR_DTYPE_F16, -65520, 0xfc00},
    {TFR_DTYPE_F16, 1e300, 0x7c00},
    {TFR_DTYPE_F16, 2049, 0x6800},
    {TFR_DTYPE_F16, 2051, 0x6802},
    {TFR_DTYPE_F16, 0x1p-24, 0x0001},
    {TFR_DTYPE_F16, 0x1p-25, 0x0000},
    {TFR_DTYPE_F16, 0x1.8p-24, 0x0002},
    {TFR_DTYPE_F16, 0x1.0000000000001p-25, 0x0001},
    {TFR_DTYPE_F16, -0x1p-26, 0x8000},
    {TFR_DTYPE_F16, 0x1.ff8p-15, 0x03ff},
    {TFR_DTYPE_F16, 0x1.ffcp-15, 0x0400},
    {TFR_DTYPE_F16, -0.0, 0x8000},
    {TFR_DTYPE_F16, INFINITY, 0x7c00},
    {TFR_DTYPE_F16, 5e-324, 0x0000},
    /* Through f32 these would first become a tie and then go the wrong way. */
    {TFR_DTYPE_F16, 0x1.0020000000001p0, 0x3c01},
    {TFR_DTYPE_F16, 0x1.005fffffffffp0, 0x3c01},
    {TFR_DTYPE_BF16, 0x1.0100000000001p0, 0x3f81},
    {TFR_DTYPE_BF16, 0x1.01p0, 0x3f80},
    {TFR_DTYPE_BF16, 0x1.03p0, 0x3f82},
    {TFR_DTYPE_BF16, 0x1.fffffep127, 0x7f80},
    {TFR_DTYPE_BF16, 0x1.fep127, 0x7f7f},
    {TFR_DTYPE_BF16, 0x1p-133, 0x0001},
    {TFR_DTYPE_BF16, 0x1p-134, 0x0000},
    {TFR_DTYPE_F32, 0x1.0000010000001p0, 0x3f800001},
    {TFR_DTYPE_F32, 1e300, 0x7f800000},
    /* 8 bits saturate, infinities too; the fnuz ones have no negative zero */
    {TFR_DTYPE_F8E4M3FN, 448, 0x7e},
    {TFR_DTYPE_F8E4M3FN, 464, 0x7e},
    {TFR_DTYPE_F8E4M3FN, 1e9, 0x7e},
    {TFR_DTYPE_F8E4M3FN, -INFINITY, 0xfe},
    {TFR_DTYPE_F8E4M3FN, 0x1p-10, 0x00},
    {TFR_DTYPE_F8E4M3FN, 0x1.8p-9, 0x02},
    {TFR_DTYPE_F8E4M3FN, -0.0, 0x80},
    {TFR_DTYPE_F8E4M3FN, 17, 0x58},
    {TFR_DTYPE_F8E4M3FN, 19, 0x5a},
    {TFR_DTYPE_F8E4M3FNUZ, 240, 0x7f},
    {TFR_DTYPE_F8E4M3FNUZ, INFINITY, 0x7f},
    {TFR_DTYPE_F8E4M3FNUZ, -0.0, 0x00},
    {TFR_DTYPE_F8E4M3FNUZ, -0x1p-12, 0x00},
    {TFR_DTYPE_F8E5M2, 57344, 0x7b},
    {TFR_DTYPE_F8E5M2, 1e9, 0x7b},
    {TFR_DTYPE_F8E5M2, INFINITY, 0x7b},
    {TFR_DTYPE_F8E5M2, 0x1p-17, 0x00},
    {TFR_DTYPE_F8E5M2FNUZ, 57344, 0x7f},
    {TFR_DTYPE_F8E5M2FNUZ, -1e9, 0xff},
    {TFR_DTYPE_F8E5M2FNUZ, -0.0, 0x00},
    {TFR_DTYPE_F4E2M1, 0.25, 0x0},
    {TFR_DTYPE_F4E2M1, 0.75, 0x2},
    {TFR_DTYPE_F4E2M1, 2.5, 0x4},
    {TFR_DTYPE_F4E2M1, 5, 0x6},
    {TFR_DTYPE_F4E2M1, -5.1, 0xf},
    {TFR_DTYPE_F4E2M1, INFINITY, 0x7},
    {TFR_DTYPE_F4E2M1, -0.0, 0x8},
    /* e8m0 goes up */
    {TFR_DTYPE_F8E8M0, 1, 127},
    {TFR_DTYPE_F8E8M0, 1.0001, 128},
    {TFR_DTYPE_F8E8M0, 0, 0},
    {TFR_DTYPE_F8E8M0, 1e-300, 0},
    {TFR_DTYPE_F8E8M0, 1e300, 254},
    {TFR_DTYPE_F8E8M0, INFINITY, 254},
    {TFR_DTYPE_F8E8M0, -1, 255},
};

TEST(hard_cases_round_once_to_nearest_even)
{
    for (size_t i = 0; i < sizeof hard_cases / sizeof hard_cases[0]; i++) {
        const hard_case *c = &hard_cases[i];
        const uint64_t got = from_double(c->dtype, c->x);
        if (got != c->pattern)
            printf("%s of %a: 0x%jx\n", tfr_dtype_name(c->dtype), c->x, (uintmax_t)got);
        CHECK_UINT(c->pattern, got);
    }
}

TEST(nan_stays_nan_with_its_sign_where_there_is_one)
{
    static const struct {
        tfr_dtype dtype;
        uint64_t positive;
        uint64_t negative;
    } nans[] = {
        {TFR_DTYPE_F16, 0x7e00, 0xfe00},    {TFR_DTYPE_BF16, 0x7fc0, 0xffc0},
        {TFR_DTYPE_F8E4M3FN, 0x7f, 0xff},   {TFR_DTYPE_F8E5M2, 0x7e, 0xfe},
        {TFR_DTYPE_F8E4M3FNUZ, 0x80, 0x80}, {TFR_DTYPE_F8E5M2FNUZ, 0x80, 0x80},
        {TFR_DTYPE_F8E8M0, 0xff, 0xff},     {TFR_DTYPE_F32, 0x7fc00000, 0xffc00000},
        {TFR_DTYPE_F4E2M1, 0x7, 0x7}, /* it has none: the largest value */
    };
    for (size_t i = 0; i < sizeof nans / sizeof nans[0]; i++) {
        CHECK_UINT(nans[i].positive, from_double(nans[i].dtype, double_of(QUIET_NAN)));
        CHECK_UINT(nans[i].negative, from_double(nans[i].dtype, double_of(QUIET_NAN | 1ull << 63)));
    }
    /* A payload of low bits only must not become an infinity. */
    CHECK(
        isnan(to_double(TFR_DTYPE_F16, from_double(TFR_DTYPE_F16, double_of(0x7ff0000000000001)))));
    CHECK_UINT(0x7ff0000000000000, pattern_of(to_double(TFR_DTYPE_F16, 0x7c00)));
}

/* ---- integers -------------------------------------------------------------------------------- */

TEST(float_to_integer_truncates_and_saturates)
{
    static const struct {
        tfr_dtype dtype;
        double x;
        uint64_t pattern;
    } table[] = {
        {TFR_DTYPE_I8, -1.9, 0xff},
        {TFR_DTYPE_I8, 127.9, 127},
        {TFR_DTYPE_I8, 1e9, 127},
        {TFR_DTYPE_I8, -1e9, 0x80},
        {TFR_DTYPE_U8, -0.9, 0},
        {TFR_DTYPE_U8, -5, 0},
        {TFR_DTYPE_U8, 255.9, 255},
        {TFR_DTYPE_U8, INFINITY, 255},
        {TFR_DTYPE_U8, NAN, 0},
        {TFR_DTYPE_I32, 2147483648.0, 0x7fffffff},
        {TFR_DTYPE_I32, -INFINITY, 0x80000000},
        {TFR_DTYPE_U32, 4294967295.5, 0xffffffff},
        {TFR_DTYPE_I64, 9223372036854775808.0, INT64_MAX},
        {TFR_DTYPE_I64, -9223372036854775808.0, (uint64_t)INT64_MAX + 1},
        {TFR_DTYPE_I64, -1e300, (uint64_t)INT64_MAX + 1},
        {TFR_DTYPE_I64, NAN, 0},
        {TFR_DTYPE_U64, 18446744073709551616.0, UINT64_MAX},
        {TFR_DTYPE_U64, 9223372036854775808.0, (uint64_t)INT64_MAX + 1},
        {TFR_DTYPE_I4, 100, 7},
        {TFR_DTYPE_I4, -100, 8},
        {TFR_DTYPE_U4, 100, 15},
        {TFR_DTYPE_I2, -1.5, 3},
        {TFR_DTYPE_I2, 5, 1},
        {TFR_DTYPE_U2, 5, 3},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        CHECK_UINT(table[i].pattern, from_double(table[i].dtype, table[i].x));
}

TEST(integer_to_integer_keeps_the_low_bits)
{
    const int16_t x = 200;
    const int64_t y = -1;
    CHECK_UINT(0xc8, convert_one(TFR_DTYPE_I8, TFR_DTYPE_I16, &x));
    CHECK_UINT(0x8, convert_one(TFR_DTYPE_U4, TFR_DTYPE_I16, &x));
    CHECK_UINT(UINT32_MAX, convert_one(TFR_DTYPE_U32, TFR_DTYPE_I64, &y));
    CHECK_UINT(UINT64_MAX, convert_one(TFR_DTYPE_U64, TFR_DTYPE_I64, &y));
    const int8_t z = -3;
    CHECK_UINT((uint64_t)-3, convert_one(TFR_DTYPE_I64, TFR_DTYPE_I8, &z));
}

TEST(large_integers_round_once)
{
    /* Rounded to f64 first, each of these becomes a tie that f32 and f16 then take downwards. */
    const int64_t x = (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1;
    const uint64_t y = (UINT64_C(1) << 63) + (UINT64_C(1) << 39) + 1;
    const int64_t z = -x;
    CHECK_UINT(0x5d800001, convert_one(TFR_DTYPE_F32, TFR_DTYPE_I64, &x));
    CHECK_UINT(0xdd800001, convert_one(TFR_DTYPE_F32, TFR_DTYPE_I64, &z));
    CHECK_UINT(0x5f000001, convert_one(TFR_DTYPE_F32, TFR_DTYPE_U64, &y));
    const int64_t w = (INT64_C(1) << 60) + (INT64_C(1) << 52) + 1;
    CHECK_UINT(0x5d81, convert_one(TFR_DTYPE_BF16, TFR_DTYPE_I64, &w));
    const int64_t least = INT64_MIN;
    CHECK_UINT(pattern_of(-0x1p63), convert_one(TFR_DTYPE_F64, TFR_DTYPE_I64, &least));
    CHECK_UINT(0xdf000000, convert_one(TFR_DTYPE_F32, TFR_DTYPE_I64, &least));
    const int32_t over = 65520;
    CHECK_UINT(0x7c00, convert_one(TFR_DTYPE_F16, TFR_DTYPE_I32, &over));
}

TEST(anything_but_zero_is_true)
{
    const uint32_t bit = UINT32_C(1) << 31;
    const uint8_t seven = 7;
    CHECK_UINT(0, from_double(TFR_DTYPE_BOOL, 0.0));
    CHECK_UINT(0, from_double(TFR_DTYPE_BOOL, -0.0));
    CHECK_UINT(1, from_double(TFR_DTYPE_BOOL, NAN));
    CHECK_UINT(1, from_double(TFR_DTYPE_BOOL, 5e-324));
    CHECK_UINT(1, convert_one(TFR_DTYPE_BOOL, TFR_DTYPE_U32, &bit));
    CHECK_UINT(1, convert_one(TFR_DTYPE_I32, TFR_DTYPE_BOOL, &seven));
    CHECK_UINT(0x3f800000, convert_one(TFR_DTYPE_F32, TFR_DTYPE_BOOL, &seven));
}

/* ---- packed, complex, arguments -------------------------------------------------------------- */

/* More than one chunk, and a last byte that is not full. */
TEST(packed_integers_come_back_and_leave_unused_bits_zero)
{
    static const tfr_dtype dtypes[] = {TFR_DTYPE_I4, TFR_DTYPE_U4, TFR_DTYPE_I2, TFR_DTYPE_U2};
    uint8_t packed[256];
    uint8_t back[256];
    int32_t values[1024];
    tfr_err err = TFR_ERR_INIT;
    for (int i = 0; i < 256; i++)
        packed[i] = (uint8_t)i;
    for (int t = 0; t < 4; t++) {
        const int n = 2048 / (int)tfr_dtype_bits((int32_t)dtypes[t]);
        memset(back, 0xff, sizeof back);
        CHECK_OK(tfr_dtype_convert(TFR_DTYPE_I32, values, dtypes[t], packed, n, &err), &err);
        CHECK_OK(tfr_dtype_convert(dtypes[t], back, TFR_DTYPE_I32, values, n, &err), &err);
        CHECK_MEM(packed, back, 256);
    }
    static const int32_t few[3] = {-1, -1, -1};
    memset(back, 0xff, sizeof back);
    CHECK_OK(tfr_dtype_convert(TFR_DTYPE_I4, back, TFR_DTYPE_I32, few, 3, &err), &err);
    CHECK_MEM("\xff\x0f\xff", back, 3);
    CHECK_OK(tfr_dtype_convert(TFR_DTYPE_I2, back, TFR_DTYPE_I32, few, 3, &err), &err);
    CHECK_MEM("\x3f\x0f", back, 2);
}

TEST(complex_converts_to_complex_and_from_real)
{
    const double in[4] = {1.5, -2.5, 0.1, 1e300};
    float narrow[4];
    double wide[4];
    tfr_err err = TFR_ERR_INIT;
    CHECK_OK(tfr_dtype_convert(TFR_DTYPE_C64, narrow, TFR_DTYPE_C128, in, 2, &err), &err);
    CHECK_NEAR(-2.5, narrow[1], 0);
    CHECK_NEAR(0.1f, narrow[2], 0);
    CHECK_NEAR(INFINITY, narrow[3], 0);
    CHECK_OK(tfr_dtype_convert(TFR_DTYPE_C128, wide, TFR_DTYPE_C64, narrow, 2, &err), &err);
    CHECK_NEAR(1.5, wide[0], 0);
    static const int16_t real[2] = {7, -9};
    CHECK_OK(tfr_dtype_convert(TFR_DTYPE_C64, narrow, TFR_DTYPE_I16, real, 2, &err), &err);
    CHECK_NEAR(7, narrow[0], 0);
    CHECK_NEAR(0, narrow[1], 0);
    CHECK_NEAR(-9, narrow[2], 0);
    CHECK_NEAR(0, narrow[3], 0);
}

TEST(what_does_not_convert_is_refused)
{
    double x[2] = {0};
    tfr_err err = TFR_ERR_INIT;
    CHECK_STATUS(TFR_EUNSUPPORTED,
                 tfr_dtype_convert(TFR_DTYPE_STRING, x, TFR_DTYPE_F32, x, 1, &err), &err);
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr_dtype_convert(TFR_DTYPE_F32, x, TFR_DTYPE_C64, x, 1, &err),
                 &err);
    CHECK_CONTAINS("complex64", err.text);
    CHECK_STATUS(TFR_EDTYPE, tfr_dtype_convert(TFR_DTYPE_NONE, x, TFR_DTYPE_F32, x, 1, &err), &err);
    CHECK_STATUS(TFR_EDTYPE, tfr_dtype_convert(TFR_DTYPE_F32, x, TFR_DTYPE_END, x, 1, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_dtype_convert(TFR_DTYPE_F32, x, TFR_DTYPE_F64, x, -1, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_dtype_convert(TFR_DTYPE_F32, x, TFR_DTYPE_F64, NULL, 1, &err),
                 &err);
    CHECK_OK(tfr_dtype_convert(TFR_DTYPE_F32, NULL, TFR_DTYPE_F64, NULL, 0, &err), &err);
}

/* All pairs, so that the sanitizers see every path; memory that is not aligned, and more than a
 * chunk. */
TEST(every_pair_of_types_converts_from_unaligned_memory)
{
    static uint8_t in[16 * 600 + 1];
    static uint8_t out[16 * 600 + 1];
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (uint8_t)(i * 151 + i / 7);
    for (int to = 1; to < TFR_DTYPE_END; to++)
        for (int from = 1; from < TFR_DTYPE_END; from++) {
            const bool drops = (from == TFR_DTYPE_C64 || from == TFR_DTYPE_C128) &&
                               to != TFR_DTYPE_C64 && to != TFR_DTYPE_C128;
            const bool refused = drops || to == TFR_DTYPE_STRING || from == TFR_DTYPE_STRING;
            CHECK_INT(
                refused ? TFR_EUNSUPPORTED : TFR_OK,
                tfr_dtype_convert((tfr_dtype)to, out + 1, (tfr_dtype)from, in + 1, 599, NULL));
        }
}

static const test_case cases[] = {
    CASE(every_name_parses_to_its_type),
    CASE(usual_other_names_parse_and_wrong_ones_do_not),
    CASE(kinds_of_types_are_told_apart),
    CASE(every_f16_pattern_comes_back_from_f32_and_f64),
    CASE(every_bf16_pattern_comes_back_from_f32_and_f64),
    CASE(a_bf16_is_the_upper_half_of_an_f32),
    CASE(every_8_bit_float_comes_back),
    CASE(every_8_bit_float_has_its_defined_value),
    CASE(every_4_bit_float_has_its_defined_value),
    CASE(hard_cases_round_once_to_nearest_even),
    CASE(nan_stays_nan_with_its_sign_where_there_is_one),
    CASE(float_to_integer_truncates_and_saturates),
    CASE(integer_to_integer_keeps_the_low_bits),
    CASE(large_integers_round_once),
    CASE(anything_but_zero_is_true),
    CASE(packed_integers_come_back_and_leave_unused_bits_zero),
    CASE(complex_converts_to_complex_and_from_real),
    CASE(what_does_not_convert_is_refused),
    CASE(every_pair_of_types_converts_from_unaligned_memory),
};
TEST_MAIN(cases)
