/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_nbits.c: products with weights of 4 and 8 bits of plugins/cpu-native/nbits.h against
 * float64, on every instruction set that this machine has.
 */
#include <math.h>
#include <stdlib.h>

#include "gemm.h"
#include "nbits.h"
#include "tfr_test.h"

static const char *const sets[] = {"", "avx2 fma", "avx2 fma avx512f avx512bw avx512vl avx512dq",
                                   "avx2 fma avx512f avx512bw avx512vl avx512dq avx512_vnni"};
static uint32_t seed = 1;

static float next_value(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(int32_t)seed / 2147483648.0f;
}

/* A matrix in a block of its own, so that a read beyond it is seen by a sanitizer. */
static float *make_matrix(int64_t n)
{
    float *p = malloc((size_t)n * sizeof *p);
    int64_t i;

    for (i = 0; p && i < n; i++)
        p[i] = next_value();
    return p;
}

static void *make_aligned(size_t bytes)
{
    return aligned_alloc(64, (bytes + 64) & ~(size_t)63);
}

enum { N_SETS = sizeof sets / sizeof sets[0] };

/* A model's weights, as MatMulNBits or as DequantizeLinear has them, and the same as numbers. */
typedef struct weights {
    native_nbits_source s;
    uint8_t *codes, *code_zeros;
    float *scales, *float_zeros;
    double *w; /* [K, N] */
    native_nbits q;
    void *packed;
} weights;

static int next_code(int bits)
{
    next_value();
    return (int)(seed >> 16) & ((1 << bits) - 1);
}

static int get_code(const uint8_t *codes, int bits, int64_t i)
{
    return bits == 8 ? codes[i] : codes[i / 2] >> (i % 2 * 4) & 15;
}

static double as_number(const native_nbits_source *s, int code)
{
    const int half = 1 << (s->bits - 1);
    return s->is_signed && code >= half ? code - 2 * half : code;
}

static double zero_of(const weights *w, int64_t block, int64_t n)
{
    const native_nbits_source *s = &w->s;
    const int64_t i = block * s->zero_k + n * s->zero_n;

    if (s->zero_kind == NATIVE_NBITS_CODE_ZEROS)
        return as_number(s, get_code(w->code_zeros, s->bits, i));
    return s->zero_kind == NATIVE_NBITS_FLOAT_ZEROS ? (double)w->float_zeros[i] : (double)s->zero;
}

/* by_column: the integers of a column follow each other, and their blocks are whole. */
static weights make_weights(int bits, int64_t k, int64_t n, int64_t block, bool by_column,
                            bool is_signed, native_nbits_zeros zeros)
{
    const int64_t blocks = (k + block - 1) / block;
    const int64_t elements = by_column ? n * blocks * block : k * n;
    weights w = {.s = {.k = k, .n = n, .block = block, .bits = bits, .is_signed = is_signed}};
    int64_t i, j;

    w.s.zero_kind = zeros;
    w.s.zero = is_signed ? 0 : (float)(1 << (bits - 1));
    w.s.code_k = by_column ? 1 : n;
    w.s.code_n = by_column ? blocks * block : 1;
    w.s.scale_k = w.s.zero_k = by_column ? 1 : n;
    w.s.scale_n = w.s.zero_n = by_column ? blocks : 1;
    w.codes = malloc((size_t)(elements * bits + 7) / 8);
    w.code_zeros = malloc((size_t)(blocks * n * bits + 7) / 8);
    w.scales = make_matrix(blocks * n);
    w.float_zeros = make_matrix(blocks * n);
    w.w = malloc((size_t)(k * n) * sizeof *w.w);
    for (i = 0; i < (elements * bits + 7) / 8; i++)
        w.codes[i] = (uint8_t)next_code(8);
    for (i = 0; i < (blocks * n * bits + 7) / 8; i++)
        w.code_zeros[i] = (uint8_t)next_code(8);
    w.s.codes = w.codes;
    w.s.scales = w.scales;
    w.s.zeros = zeros == NATIVE_NBITS_FLOAT_ZEROS ? (void *)w.float_zeros : w.code_zeros;
    for (i = 0; i < k; i++)
        for (j = 0; j < n; j++) {
            const int code = get_code(w.codes, bits, i * w.s.code_k + j * w.s.code_n);
            w.w[i * n + j] = (as_number(&w.s, code) - zero_of(&w, i / block, j)) *
                             w.scales[i / block * w.s.scale_k + j * w.s.scale_n];
        }
    native_nbits_plan(&w.q, &w.s);
    w.packed = make_aligned(w.q.bytes);
    native_nbits_pack(&w.q, &w.s, w.packed, 0, w.q.n_panels);
    return w;
}

static void free_weights(weights *w)
{
    free(w->codes);
    free(w->code_zeros);
    free(w->scales);
    free(w->float_zeros);
    free(w->w);
    free(w->packed);
}

/* What the sum of a column is at most away from its float64: a share of the largest number of each
 * block times its weights. */
static bool column_agrees(const weights *w, const float *x, int64_t n, float got, double share)
{
    double sum = 0, bound = 0, most = 0;
    int64_t k, i;

    for (k = 0; k < w->q.k; k++) {
        if (k % w->q.block == 0)
            for (most = 0, i = k; i < w->q.k && i < k + w->q.block; i++)
                most = fabs((double)x[i]) > most ? fabs((double)x[i]) : most;
        sum += x[k] * w->w[k * w->q.n + n];
        bound += most * fabs(w->w[k * w->q.n + n]);
    }
    if (fabs(got - sum) <= share * bound + 1e-30)
        return true;
    printf("bits %d, block %d, K %d, column %d: %.9g, want %.9g\n", w->q.bits, (int)w->q.block,
           (int)w->q.k, (int)n, (double)got, sum);
    return false;
}

static bool digits_agree(const weights *w, const char *features, int parts, double share)
{
    const native_nbits_isa *isa = native_choose_nbits(features);
    float *x = make_matrix(w->q.k), to[NATIVE_NBITS_COLUMNS];
    void *digits = make_aligned(native_nbits_digits_bytes(&w->q, parts));
    bool good = true;
    int64_t n, half = w->q.n_blocks / 2;

    isa->digits(&w->q, parts, x, digits, 0, half); /* as two threads do */
    isa->digits(&w->q, parts, x, digits, half, w->q.n_blocks);
    for (n = 0; n < w->q.n; n++) {
        if (n % NATIVE_NBITS_COLUMNS == 0)
            isa->dot(&w->q, parts, (char *)w->packed + n / NATIVE_NBITS_COLUMNS * w->q.panel_bytes,
                     digits, x, to);
        good = good && column_agrees(w, x, n, to[n % NATIVE_NBITS_COLUMNS], share);
    }
    free(x);
    free(digits);
    return good;
}

static bool rows_agree(const weights *w, const char *features, int n_rows)
{
    const native_nbits_isa *isa = native_choose_nbits(features);
    const int64_t ldx = w->q.k + 3;
    float *x = make_matrix(ldx * n_rows), to[NATIVE_NBITS_ROWS * NATIVE_NBITS_COLUMNS];
    bool good = true;
    int64_t n;
    int r;

    for (n = 0; n < w->q.n; n++) {
        if (n % NATIVE_NBITS_COLUMNS == 0)
            isa->rows(&w->q, (char *)w->packed + n / NATIVE_NBITS_COLUMNS * w->q.panel_bytes, x,
                      ldx, n_rows, to);
        for (r = 0; r < n_rows; r++)
            good = good &&
                   column_agrees(w, x + r * ldx, n,
                                 to[r * NATIVE_NBITS_COLUMNS + n % NATIVE_NBITS_COLUMNS], 1e-6);
    }
    free(x);
    return good;
}

static const int64_t blocks[] = {8, 16, 24, 32, 64, 128, 256};
enum { N_BLOCKS = sizeof blocks / sizeof blocks[0] };

/* Each combination of what weights may be, in turns over some shapes. */
static void for_all(int bits, void (*check)(const weights *w))
{
    static const int64_t shapes[][2] = {{1, 1},    {7, 17},   {32, 16}, {33, 5},
                                        {100, 31}, {257, 33}, {520, 16}};
    int i, zeros, form, shape = 0;

    for (i = 0; i < N_BLOCKS; i++)
        for (zeros = 0; zeros < 3; zeros++)
            for (form = 0; form < 4; form++) {
                const int64_t *s = shapes[shape++ % 7];
                weights w = make_weights(bits, s[0], s[1], blocks[i], form & 1, form & 2,
                                         (native_nbits_zeros)zeros);
                check(&w);
                free_weights(&w);
            }
}

static void check_exact(const weights *w)
{
    int i;
    for (i = 0; i < N_SETS; i++)
        CHECK(digits_agree(w, sets[i], NATIVE_NBITS_PARTS, 1e-6));
}

TEST(a_row_times_4_bits_agrees_with_float64)
{
    for_all(4, check_exact);
}

static void check_int8(const weights *w)
{
    int i;
    for (i = 0; i < N_SETS; i++)
        CHECK(digits_agree(w, sets[i], 1, 0.51 / 127));
}

TEST(a_row_of_8_bits_times_4_bits_errs_by_half_a_step_of_its_blocks)
{
    for_all(4, check_int8);
}

static void check_rows(const weights *w)
{
    int i, n;
    for (i = 0; i < N_SETS; i++)
        for (n = 1; n <= NATIVE_NBITS_ROWS; n++)
            CHECK(rows_agree(w, sets[i], n));
}

TEST(rows_times_4_bits_agree_with_float64)
{
    for_all(4, check_rows);
}

TEST(rows_times_8_bits_agree_with_float64)
{
    for_all(8, check_rows);
}

/* ---- panels for gemm.h ---- */

static bool panels_agree(const weights *w, const char *features, int nr, int64_t k0, int64_t n_k)
{
    const int64_t columns = (w->q.n + nr - 1) / nr * nr;
    float *to = make_aligned((size_t)(columns * n_k) * sizeof *to);
    /* Float zero points of bytes are stored less 128, where a step of float32 is 2^-17. */
    const float absolute = w->q.zero_kind != NATIVE_NBITS_FLOAT_ZEROS ? 0.0f : 1e-5f;
    bool good = true;
    int64_t k, n;

    native_nbits_fill(&w->q, native_choose_nbits(features), w->packed, 0, w->q.n, k0, n_k, nr, to);
    for (k = 0; k < n_k; k++)
        for (n = 0; n < columns; n++) {
            const float got = to[n / nr * nr * n_k + k * nr + n % nr];
            const float want = n < w->q.n ? (float)w->w[(k0 + k) * w->q.n + n] : 0;
            if (fabsf(got - want) > 1e-6f * fabsf(want) + absolute)
                good = false;
        }
    free(to);
    return good;
}

static void check_panels(const weights *w)
{
    static const int widths[] = {8, 16, 32};
    int i, j;

    for (i = 0; i < N_SETS; i++)
        for (j = 0; j < 3; j++) {
            CHECK(panels_agree(w, sets[i], widths[j], 0, w->q.k));
            if (w->q.k > 64)
                CHECK(panels_agree(w, sets[i], widths[j], 32, w->q.k - 32));
        }
}

TEST(panels_hold_what_dequantizing_gives)
{
    for_all(4, check_panels);
    for_all(8, check_panels);
}

typedef struct made {
    const weights *w;
    const native_nbits_isa *isa;
} made;

static void make_b(const void *b, float *to, int64_t column, int64_t n, int64_t k0, int64_t n_k,
                   int nr)
{
    const made *m = b;
    native_nbits_fill(&m->w->q, m->isa, m->w->packed, column, n, k0, n_k, nr, to);
}

static bool gemm_agrees(const weights *w, const char *features, int64_t m, int threads)
{
    const int64_t n = w->q.n, k = w->q.k;
    native_gemm_shape s = {.m = m, .n = n, .k = k, .lda = k, .ldb = n, .ldc = n, .b_made = true};
    float *a = make_matrix(m * k), *c = make_matrix(m * n);
    const made b = {w, native_choose_nbits(features)};
    native_gemm_args args = {.a = a, .b = &b, .c = c, .make_b = make_b};
    native_gemm_cpu cpu;
    native_gemm g;
    void *scratch;
    bool good = true;
    int64_t i, t;

    s.epilogue.alpha = 1.0f;
    native_gemm_find_cpu(&cpu, features);
    native_gemm_plan(&g, &cpu, &s, threads);
    g.shared_blocks = 0;
    scratch = make_aligned(g.scratch_bytes);
    for (t = 0; t < g.n_tiles; t++)
        native_gemm_run(&g, &args, scratch, t, t + 1);
    for (i = 0; i < m; i++)
        for (t = 0; t < n; t++)
            good = good && column_agrees(w, a + i * k, t, c[i * n + t], 2e-6);
    free(a);
    free(c);
    free(scratch);
    return good;
}

TEST(products_of_many_rows_unpack_blocks_as_they_come)
{
    static const int64_t shapes[][3] = {{1, 40, 70}, {9, 17, 64}, {33, 129, 700}, {70, 48, 1100}};
    int i, j, bits;

    for (bits = 4; bits <= 8; bits += 4)
        for (i = 0; i < 4; i++) {
            weights w = make_weights(bits, shapes[i][2], shapes[i][1], 32, i & 1, i & 1,
                                     NATIVE_NBITS_CODE_ZEROS);
            for (j = 0; j < N_SETS; j++) {
                CHECK(gemm_agrees(&w, sets[j], shapes[i][0], 1));
                CHECK(gemm_agrees(&w, sets[j], shapes[i][0], 2));
            }
            free_weights(&w);
        }
}

/* ---- numbers that are not ordinary ---- */

/* The first 16 results. */
static void dot(const weights *w, const char *features, const float *x, float *to)
{
    const native_nbits_isa *isa = native_choose_nbits(features);
    void *digits = make_aligned(native_nbits_digits_bytes(&w->q, NATIVE_NBITS_PARTS));

    isa->digits(&w->q, NATIVE_NBITS_PARTS, x, digits, 0, w->q.n_blocks);
    isa->dot(&w->q, NATIVE_NBITS_PARTS, w->packed, digits, x, to);
    free(digits);
}

TEST(infinity_and_nan_come_out_as_in_float32)
{
    weights w = make_weights(4, 100, 16, 32, true, false, NATIVE_NBITS_NO_ZEROS);
    float *x = make_matrix(100), to[NATIVE_NBITS_COLUMNS];
    int i, n;

    for (i = 0; i < N_SETS; i++) {
        x[40] = INFINITY;
        dot(&w, sets[i], x, to);
        for (n = 0; n < 16; n++)
            CHECK(w.w[40 * 16 + n] == 0 ? isnan(to[n])
                                        : isinf(to[n]) && (to[n] > 0) == (w.w[40 * 16 + n] > 0));
        x[40] = NAN;
        dot(&w, sets[i], x, to);
        for (n = 0; n < 16; n++)
            CHECK(isnan(to[n]));
    }
    free(x);
    free_weights(&w);
}

TEST(a_number_that_stands_out_costs_the_others_no_bits_where_its_weight_is_zero)
{
    weights w = make_weights(4, 64, 16, 32, true, false, NATIVE_NBITS_NO_ZEROS);
    float *x = make_matrix(64), to[NATIVE_NBITS_COLUMNS];
    int i, n, found = 0;
    int64_t k;

    for (i = 0; i < N_SETS; i++) {
        x[5] = 300;
        dot(&w, sets[i], x, to);
        for (n = 0; n < 16; n++) {
            double sum = 0, sizes = 0;
            if (w.w[5 * 16 + n] != 0)
                continue;
            for (k = 0; k < 64; k++) {
                sum += x[k] * w.w[k * 16 + n];
                sizes += fabs(x[k] * w.w[k * 16 + n]);
            }
            found++;
            CHECK(fabs(to[n] - sum) <= 1e-6 * sizes);
        }
    }
    CHECK(found > 0);
    free(x);
    free_weights(&w);
}

TEST(rows_may_be_huge_tiny_or_zero)
{
    static const float sizes[] = {3e37f, 1e-30f, 1e-36f, 1e-42f, 0.0f};
    weights w = make_weights(4, 64, 16, 32, true, false, NATIVE_NBITS_CODE_ZEROS);
    float *x = make_matrix(64), *scaled = make_matrix(64), to[NATIVE_NBITS_COLUMNS];
    int i, j, n;
    int64_t k;

    for (i = 0; i < N_SETS; i++)
        for (j = 0; j < 5; j++) {
            for (k = 0; k < 64; k++)
                scaled[k] = x[k] * sizes[j] / 16;
            dot(&w, sets[i], scaled, to);
            for (n = 0; n < 16; n++) {
                double sum = 0, most = 0;
                for (k = 0; k < 64; k++) {
                    sum += scaled[k] * w.w[k * 16 + n];
                    most += fabs(w.w[k * 16 + n]);
                }
                CHECK(fabs(to[n] - sum) <= 1e-6 * most * (double)sizes[j] + 1e-35 * most);
            }
        }
    free(x);
    free(scaled);
    free_weights(&w);
}

TEST(the_largest_of_a_block_stays_in_its_digits)
{
    weights w = make_weights(4, 32, 16, 32, true, false, NATIVE_NBITS_NO_ZEROS);
    float *x = make_matrix(32), to[NATIVE_NBITS_COLUMNS];
    int i, j, n;

    for (j = 0; j < 2000; j++) { /* quotients round up for some */
        const float largest = 1.0f + fabsf(next_value());
        x[0] = x[9] = largest;
        x[1] = x[20] = -largest;
        for (i = 0; i < N_SETS; i++) {
            dot(&w, sets[i], x, to);
            for (n = 0; n < 16; n++)
                CHECK(column_agrees(&w, x, n, to[n], 1e-6));
        }
    }
    free(x);
    free_weights(&w);
}

/* ---- forms ---- */

TEST(long_blocks_become_short_ones_with_the_same_scales)
{
    static const int64_t longs[] = {384, 512, 1000, 5000};
    int i;

    for (i = 0; i < 4; i++) {
        weights w = make_weights(4, 1000, 20, longs[i], i & 1, true, NATIVE_NBITS_CODE_ZEROS);
        CHECK(w.q.block == 128);
        check_exact(&w);
        check_panels(&w);
        free_weights(&w);
    }
}

TEST(zero_points_that_are_all_alike_take_no_memory)
{
    weights w = make_weights(4, 64, 16, 32, true, false, NATIVE_NBITS_CODE_ZEROS);
    weights none = make_weights(4, 64, 16, 32, true, false, NATIVE_NBITS_NO_ZEROS);
    int64_t i;

    CHECK(w.q.bytes > none.q.bytes);
    for (i = 0; i < 16; i++)
        w.code_zeros[i] = 0x33;
    native_nbits_plan(&w.q, &w.s);
    CHECK(w.q.bytes == none.q.bytes);
    CHECK(w.q.zero == 3);
    free_weights(&w);
    free_weights(&none);
}

TEST(blocks_that_do_not_fill_lines_are_refused)
{
    native_nbits_source s = {.k = 100, .n = 5, .block = 12, .bits = 4};

    CHECK(native_nbits_refuses(&s) != NULL);
    s.block = 264;
    s.k = 1000;
    CHECK(native_nbits_refuses(&s) != NULL);
    s.block = 1000; /* one for each column */
    CHECK(native_nbits_refuses(&s) == NULL);
    s.block = 40;
    CHECK(native_nbits_refuses(&s) == NULL);
}

static const test_case cases[] = {
    CASE(a_row_times_4_bits_agrees_with_float64),
    CASE(a_row_of_8_bits_times_4_bits_errs_by_half_a_step_of_its_blocks),
    CASE(rows_times_4_bits_agree_with_float64),
    CASE(rows_times_8_bits_agree_with_float64),
    CASE(panels_hold_what_dequantizing_gives),
    CASE(products_of_many_rows_unpack_blocks_as_they_come),
    CASE(infinity_and_nan_come_out_as_in_float32),
    CASE(a_number_that_stands_out_costs_the_others_no_bits_where_its_weight_is_zero),
    CASE(rows_may_be_huge_tiny_or_zero),
    CASE(the_largest_of_a_block_stays_in_its_digits),
    CASE(long_blocks_become_short_ones_with_the_same_scales),
    CASE(zero_points_that_are_all_alike_take_no_memory),
    CASE(blocks_that_do_not_fill_lines_are_refused),
};

TEST_MAIN_OF_ONE_THREAD(cases)
