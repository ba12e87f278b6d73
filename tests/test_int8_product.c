/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_int8_product.c: products and convolutions of 8-bit integers of plugins/cpu-native against
 * plain sums of 64 bits, on every instruction set that this machine has. The ways of processors
 * with VNNI are here, too, with that one instruction emulated: all else of them is the same text.
 */
#include <stdlib.h>

#include "int8_lists.h"
#include "int8_turn.h"
#include "int8_way.h"
#include "int8_winograd.h"
#include "tfr_test.h"

/* ---- VNNI without VNNI ---- */

#define NR 32
#define HAS_BYTES
#include "int8_finish.h"

#define MR             12
#define NV             2
#define LANES          16
#define GROUP_BYTES    64
#define I_ZERO()       ((ivec){{0}})
#define I_STORE(p, v)  memcpy(p, (v).sums, sizeof(v).sums)
#define I_GROUP(p)     load_group(p)
#define I_DOT(s, a, b) dot(s, a, b)
#define I_KEEP(x)      (void)0

typedef union ivec {
    int32_t sums[LANES];
    uint8_t bytes[LANES * 4];
} ivec;

static ivec load_group(const int8_t *p)
{
    ivec v;
    memcpy(v.bytes, p, sizeof v.bytes);
    return v;
}

static ivec all_of(const uint8_t *p)
{
    ivec v;
    for (int i = 0; i < LANES; i++)
        memcpy(v.bytes + 4 * i, p, 4);
    return v;
}
#define I_ALL(p) all_of(p)

static ivec dot(ivec s, ivec a, ivec b)
{
    for (int i = 0; i < LANES * 4; i++)
        s.sums[i / 4] =
            (int32_t)((uint32_t)s.sums[i / 4] + (uint32_t)(a.bytes[i] * (int8_t)b.bytes[i]));
    return s;
}

#include "int8_tile.h"

static const native_int8_way emulated_vnni = {
    .name = "emulated vnni",
    .mr = MR,
    .nr = NR,
    .tile = tile,
    .finish = finish,
    .take = take_bytes,
    .sum = sum_bytes,
};

/* ---- processors ---- */

enum { N_CPUS = 6 };

/* NULL = this machine has none. */
static const char *find_cpu(int i, native_int8_cpu *cpu)
{
    static const char *const features[] = {
        "", "avx2 fma", "avx2 fma avx512f avx512bw avx512vl avx512dq avx512_vnni avx_vnni"};
    native_int8_find_cpu(cpu, features[i < 3 ? i : 1]);
    if (i == 3)
        cpu->constant = cpu->variable = &emulated_vnni;
    if (i == 4) /* whatever the weights are */
        cpu->constant = cpu->variable;
    if (i == 5 && cpu->constant->lists) /* the same */
        cpu->variable = cpu->constant;
    return native_int8_way_name(cpu->constant);
}

/* ---- operands ---- */

static uint32_t seed = 1;

static uint32_t next_number(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

static int32_t between(int32_t low, int32_t high)
{
    return low + (int32_t)(next_number() % (uint32_t)(high - low + 1));
}

/* A matrix in a block of its own, so that a read beyond it is seen by a sanitizer. */
static uint8_t *make_bytes(int64_t n)
{
    uint8_t *p = malloc((size_t)n);
    for (int64_t i = 0; p && i < n; i++)
        p[i] = (uint8_t)next_number();
    return p;
}

/* As weights are: nearer to 0 than evenly distributed ones. */
static void make_normal(uint8_t *p, int64_t n, bool is_signed, int spread)
{
    for (int64_t i = 0; i < n; i++) {
        int v = 0;
        for (int k = 0; k < 4; k++)
            v += between(-spread, spread);
        v = v < -128 ? -128 : v > 127 ? 127 : v;
        p[i] = (uint8_t)(is_signed ? v : v + 128);
    }
}

static int32_t number_at(const uint8_t *p, int64_t i, bool is_signed)
{
    return is_signed ? (int8_t)p[i] : p[i];
}

static void *make_aligned(size_t bytes)
{
    return aligned_alloc(64, (bytes + 64) & ~(size_t)63);
}

/* ---- products and what they should be ---- */

typedef struct product {
    native_int8_shape shape;
    native_int8_matrix b; /* rows [K][N] unless a test says otherwise */
    native_int8_args args;
    int64_t a_elements, b_elements;
} product;

static product make_product(int64_t m, int64_t n, int64_t k, int signs)
{
    product p = {.shape = {.m = m, .n = n, .k = k, .lda = k, .ldc = n}};
    p.shape.a_signed = (signs & 1) != 0;
    p.shape.b_signed = (signs & 2) != 0;
    p.args.a_zero = p.shape.a_signed ? between(-128, 127) : between(0, 255);
    p.args.b_zero = p.shape.b_signed ? between(-128, 127) : between(0, 255);
    p.args.a = make_bytes(m * k);
    p.a_elements = m * k;
    p.b = (native_int8_matrix){make_bytes(k * n), 1, k, n, 0};
    p.b_elements = k * n;
    return p;
}

static void free_product(product *p)
{
    free((void *)(uintptr_t)p->args.a);
    free((void *)(uintptr_t)p->b.at);
}

/* Element of A in row r, less its zero point. */
static int32_t term_of_a(const product *p, int64_t r, int64_t k)
{
    const native_int8_window *w = &p->shape.window;
    const int32_t zero = p->args.a_zeros ? p->args.a_zeros[r] : p->args.a_zero;
    int64_t tap = k, out[3], kernel[3], pixel = 0;
    if (w->rank == 0)
        return number_at(p->args.a, r * p->shape.lda + k, p->shape.a_signed) - zero;
    tap = k / w->channels;
    for (int d = w->rank - 1; d >= 0; d--) {
        out[d] = r % w->out[d];
        r /= w->out[d];
        kernel[d] = tap % w->kernel[d];
        tap /= w->kernel[d];
    }
    for (int d = 0; d < w->rank; d++) {
        const int64_t x = out[d] * w->stride[d] - w->pad[d] + kernel[d] * w->dilation[d];
        if (x < 0 || x >= w->in[d])
            return 0;
        pixel = pixel * w->in[d] + x;
    }
    return number_at(p->args.a, r * w->image_step + pixel * w->pixel_step + k % w->channels,
                     p->shape.a_signed) -
           zero;
}

static int32_t term_of_b(const product *p, int64_t k, int64_t n)
{
    const int64_t at =
        n * p->b.n_step + k / p->b.inner * p->b.outer_step + k % p->b.inner * p->b.inner_step;
    return number_at(p->b.at, at, p->shape.b_signed) -
           (p->args.b_zeros ? p->args.b_zeros[n] : p->args.b_zero);
}

/* The low 32 bits of each sum. */
static int32_t *make_sums(const product *p, bool depthwise)
{
    int32_t *sums = malloc((size_t)(p->shape.m * p->shape.n) * sizeof *sums);
    for (int64_t r = 0; sums && r < p->shape.m; r++)
        for (int64_t n = 0; n < p->shape.n; n++) {
            uint64_t sum = 0;
            for (int64_t k = 0; k < p->shape.k; k++) {
                const int64_t term =
                    depthwise ? term_of_a(p, r, k * p->shape.n + n) : term_of_a(p, r, k);
                sum += (uint64_t)(term * term_of_b(p, k, n));
            }
            sums[r * p->shape.n + n] = (int32_t)(uint32_t)sum;
        }
    return sums;
}

/* C on a processor, or NULL. What is added lies in C: programs do that where nobody reads it later.
 */
static void *run(const product *p, const native_int8_cpu *cpu, bool constant, int threads)
{
    native_int8_product plan;
    native_int8_args args = p->args;
    native_int8_addition then;
    void *packed, *workspace, *c = malloc((size_t)(p->shape.m * p->shape.ldc) * 4);
    if (c && args.finish.then) {
        then = *args.finish.then;
        then.with = memcpy(c, then.with, (size_t)(p->shape.m * p->shape.ldc));
        args.finish.then = &then;
    }
    native_int8_plan(&plan, cpu, &p->shape, constant ? &p->b : NULL, threads);
    packed = make_aligned(plan.packed_bytes);
    workspace = make_aligned(native_int8_workspace(&plan, threads));
    if (packed && workspace && c) {
        native_int8_pack(&plan, &p->b, packed, 0, plan.n_panels);
        args.packed = packed;
        args.c = c;
        native_int8_run_all(&plan, &args, workspace, NULL, threads);
    }
    free(packed);
    free(workspace);
    return c;
}

static bool same(const void *expected, const void *obtained, size_t bytes, const char *name)
{
    if (expected && obtained && memcmp(expected, obtained, bytes) == 0)
        return true;
    printf("  differs with %s\n", name);
    return false;
}

/* Of int32, on every processor, with B constant and not. */
static void check_sums(const product *p)
{
    int32_t *sums = make_sums(p, false);
    native_int8_cpu cpu;
    for (int i = 0; i < 2 * N_CPUS; i++) {
        const char *name = find_cpu(i / 2, &cpu);
        void *c = run(p, &cpu, i % 2 != 0 || cpu.variable->lists, i % 3 + 1);
        CHECK(same(sums, c, (size_t)(p->shape.m * p->shape.n) * 4, name));
        free(c);
    }
    free(sums);
}

/* ---- sums ---- */

TEST(products_of_every_small_size_are_exact)
{
    for (int64_t i = 1; i <= 50; i++)
        for (int signs = 0; signs < 4; signs++) {
            product p = make_product(1 + (i * 7) % 29, i, 1 + (i * 29) % 65, signs);
            product q = make_product(i, 1 + (i * 13) % 40, i + signs, signs);
            check_sums(&p);
            check_sums(&q);
            free_product(&p);
            free_product(&q);
        }
}

TEST(weights_of_every_spread_are_exact)
{
    static const int spreads[] = {1, 10, 20, 30, 40, 60, 127};
    for (size_t i = 0; i < sizeof spreads / sizeof spreads[0]; i++)
        for (int signs = 0; signs < 4; signs++) {
            product p = make_product(9, 37, 131, signs);
            make_normal((uint8_t *)(uintptr_t)p.b.at, p.b_elements, p.shape.b_signed, spreads[i]);
            check_sums(&p);
            free_product(&p);
        }
}

/* 16 columns of the same k weights, sorted into lists. */
static native_int8_lists *make_lists(const int8_t *weights, int k)
{
    int8_t b[64 * 16];
    const native_int8_matrix matrix = {b, 1, k, 16, 0};
    native_int8_lists *l = make_aligned(native_int8_lists_bytes(k));
    for (int i = 0; i < 16 * k; i++)
        b[i] = weights[i / 16];
    if (l)
        native_int8_make_lists(&matrix, true, k, 0, 16, l);
    return l;
}

TEST(terms_meet_others_where_their_neighbours_are_too_large)
{
    static const int8_t paired[16] = {100, 100, 100, 100, 9, 9, 9,   9,
                                      9,   100, 9,   100, 9, 9, 100, 100};
    static const int8_t summed[16] = {90, 80, 70, 60, 9, 9, 9, 9, -90, -80, -70, -60, 3, -3, 3, -3};
    static const int8_t large[20] = {100, 100, 100, 100, 100, 100, 100, 100, 100, 100,
                                     100, 100, 100, 100, 100, 100, 1,   2,   3,   4};
    native_int8_lists *l = make_lists(paired, 16);
    CHECK(l && l->octets == 0 && l->quads == 2 && l->wides == 0);
    free(l);
    l = make_lists(summed, 16);
    CHECK(l && l->octets == 2 && l->quads == 0 && l->wides == 0);
    free(l);
    l = make_lists(large, 20);
    CHECK(l && l->octets == 1 && l->quads == 0 && l->wides == 2);
    free(l);
}

TEST(extreme_values_do_not_saturate)
{
    static const uint8_t ends[] = {0x00, 0x7f, 0x80, 0xff};
    for (int i = 0; i < 256; i++) {
        product p = make_product(5, 19, 264 + i % 3, i >> 6);
        memset((void *)(uintptr_t)p.args.a, ends[i & 3], (size_t)p.a_elements);
        memset((void *)(uintptr_t)p.b.at, ends[i >> 2 & 3], (size_t)p.b_elements);
        p.args.a_zero = p.shape.a_signed ? (i & 16 ? -128 : 127) : i & 16 ? 0 : 255;
        p.args.b_zero = p.shape.b_signed ? (i & 32 ? -128 : 127) : i & 32 ? 0 : 255;
        check_sums(&p);
        free_product(&p);
    }
}

TEST(long_sums_keep_their_low_32_bits)
{
    product p = make_product(2, 17, 70000, 0);
    memset((void *)(uintptr_t)p.args.a, 255, (size_t)p.a_elements);
    memset((void *)(uintptr_t)p.b.at, 255, (size_t)p.b_elements);
    p.args.a_zero = p.args.b_zero = 0;
    check_sums(&p);
    free_product(&p);
}

TEST(every_row_and_column_may_have_a_zero_point)
{
    for (int signs = 0; signs < 4; signs++) {
        product p = make_product(23, 41, 50, signs);
        int32_t rows[23], columns[41];
        for (int i = 0; i < 23; i++)
            rows[i] = p.shape.a_signed ? between(-128, 127) : between(0, 255);
        for (int i = 0; i < 41; i++)
            columns[i] = p.shape.b_signed ? between(-128, 127) : between(0, 255);
        p.args.a_zeros = rows;
        check_sums(&p);
        p.args.b_zeros = columns;
        check_sums(&p);
        p.args.a_zeros = NULL;
        check_sums(&p);
        free_product(&p);
    }
}

TEST(rows_and_columns_may_lie_apart)
{
    product p = make_product(13, 20, 36, 1);
    free_product(&p);
    p.shape.lda = 50;
    p.args.a = make_bytes(13 * 50);
    p.b = (native_int8_matrix){make_bytes(20 * 36), 36, 36, 1, 0}; /* transposed */
    check_sums(&p);
    free_product(&p);
}

/* ---- windows ---- */

/* A random convolution of `rank` axes; C * G channels lie beside each other. */
static product make_window(int rank, int signs, int64_t channels, int64_t groups, int64_t n)
{
    native_int8_window w = {.rank = rank, .channels = channels, .pixel_step = channels * groups};
    int64_t pixels = 1, outs = 1, taps = 1;
    for (int d = 0; d < rank; d++) {
        w.kernel[d] = between(1, 3);
        w.dilation[d] = between(1, 2);
        w.stride[d] = between(1, 2);
        w.pad[d] = between(0, 2);
        w.in[d] = (w.kernel[d] - 1) * w.dilation[d] + between(1, 5);
        w.out[d] = (w.in[d] + w.pad[d] + between(0, 2) - (w.kernel[d] - 1) * w.dilation[d] - 1) /
                       w.stride[d] +
                   1;
        pixels *= w.in[d];
        outs *= w.out[d];
        taps *= w.kernel[d];
    }
    w.image_step = pixels * w.pixel_step;
    product p = make_product(2 * outs, n, taps * channels, signs);
    free((void *)(uintptr_t)p.args.a);
    p.shape.window = w;
    p.args.a = make_bytes(2 * w.image_step);
    p.b = (native_int8_matrix){p.b.at, p.shape.k, channels, taps, 1}; /* [N][C][taps] */
    return p;
}

TEST(windows_are_convolutions)
{
    for (int i = 0; i < 240; i++) {
        product p = make_window(1 + i % 3, i / 3 % 4, between(1, 40), 1 + i % 2, between(1, 40));
        check_sums(&p);
        free_product(&p);
    }
}

/* A convolution of all channels becomes one of each by itself, on every processor. */
static void check_depthwise(product *p, int64_t channels)
{
    native_int8_cpu cpu;
    p->shape.k /= channels;
    p->b = (native_int8_matrix){p->b.at, p->shape.k, p->shape.k, 1, 0};
    int32_t *sums = make_sums(p, true);
    void *packed = make_aligned(native_int8_depthwise_bytes(&p->shape));
    int32_t *c = malloc((size_t)(p->shape.m * p->shape.n) * sizeof *c);
    REQUIRE(sums && packed && c);
    native_int8_depthwise_pack(&p->shape, &p->b, p->args.b_zero, NULL, packed);
    p->args.packed = packed;
    p->args.c = c;
    for (int k = 0; k < N_CPUS; k++) {
        const char *name = find_cpu(k, &cpu);
        memset(c, 0, (size_t)(p->shape.m * p->shape.n) * sizeof *c);
        native_int8_depthwise_run(&cpu, &p->shape, &p->args, 0, p->shape.m);
        CHECK(same(sums, c, (size_t)(p->shape.m * p->shape.n) * 4, name));
    }
    free(sums);
    free(packed);
    free(c);
}

TEST(depthwise_windows_are_convolutions)
{
    for (int i = 0; i < 120; i++) {
        /* more than are done together, too */
        const int64_t channels = i % 40 ? between(1, 40) : between(1025, 1100);
        product p = make_window(1 + i % 3, i / 3 % 4, channels, 1, channels);
        check_depthwise(&p, channels);
        free_product(&p);
    }
}

/* ---- Winograd ---- */

/* Windows of 3 x 3 over 2 images of `height` x `width`. */
static product make_3x3(int64_t channels, int64_t n, int64_t height, int64_t width, int signs)
{
    const int64_t pad[2] = {between(0, 2), between(0, 2)}, in[2] = {height, width};
    product p = make_product(1, n, 9 * channels, signs);
    native_int8_window *w = &p.shape.window;
    free((void *)(uintptr_t)p.args.a);
    *w = (native_int8_window){.rank = 2, .channels = channels, .pixel_step = channels};
    for (int d = 0; d < 2; d++) {
        w->in[d] = in[d];
        w->kernel[d] = 3;
        w->stride[d] = w->dilation[d] = 1;
        w->pad[d] = pad[d];
        w->out[d] = in[d] + pad[d] + between(0, 2) - 2;
    }
    w->image_step = height * width * channels;
    p.a_elements = 2 * w->image_step;
    p.args.a = make_bytes(p.a_elements);
    p.shape.m = 2 * w->out[0] * w->out[1];
    p.b = (native_int8_matrix){p.b.at, p.shape.k, channels, 9, 1};
    return p;
}

TEST(depthwise_pixels_of_long_lines_share_their_taps)
{
    for (int i = 0; i < 64; i++) {
        const int64_t channels = 16 * between(1, 3) + (i % 16 == 15 ? 1024 : 0);
        product p = make_3x3(channels, channels, between(5, 8), between(41, 150), i & 3);
        native_int8_window *w = &p.shape.window;
        for (int d = 0; d < 2; d++) {
            w->stride[d] = between(1, 2);
            w->dilation[d] = d == 0 ? between(1, 2) : 1;
            w->out[d] =
                (w->in[d] + w->pad[d] + between(0, 2) - 2 * w->dilation[d] - 1) / w->stride[d] + 1;
        }
        p.shape.m = 2 * w->out[0] * w->out[1];
        check_depthwise(&p, channels);
        free_product(&p);
    }
}

/* Of int32, on every processor that does it so; how many did. */
static int check_winograd(const product *p, int threads)
{
    int32_t *sums = make_sums(p, false);
    native_int8_winograd plan;
    native_int8_cpu cpu;
    int done = 0;
    for (int i = 0; i < N_CPUS && sums; i++) {
        const char *name = find_cpu(i, &cpu);
        if (!native_int8_winograd_plan(&plan, &cpu, &p->shape, threads))
            continue;
        void *packed = make_aligned(plan.packed_bytes), *scratch = make_aligned(plan.scratch_bytes);
        int32_t *c = calloc((size_t)(p->shape.m * p->shape.n), sizeof *c);
        native_int8_args args = p->args;
        args.packed = packed;
        args.c = c;
        if (packed && scratch && c) {
            native_int8_winograd_pack(&plan, &p->b, args.b_zero, args.b_zeros, packed, 0,
                                      plan.n_panels);
            native_int8_winograd_run(&plan, &args, scratch, 0, plan.n_units);
        }
        CHECK(same(sums, c, (size_t)(p->shape.m * p->shape.n) * 4, name));
        free(packed);
        free(scratch);
        free(c);
        done++;
    }
    free(sums);
    return done;
}

static bool has_winograd(void)
{
    native_int8_cpu cpu;
    native_int8_find_cpu(&cpu, "avx2 fma");
    return cpu.winograd != NULL;
}

TEST(windows_of_3_x_3_are_exact_by_winograd)
{
    int done = 0;
    for (int i = 0; i < 48; i++) {
        product p =
            make_3x3(16 * between(1, 4), between(1, 70), between(8, 19), between(8, 19), i & 3);
        int32_t zeros[70];
        for (int n = 0; n < 70; n++)
            zeros[n] = p.shape.b_signed ? between(-128, 127) : between(0, 255);
        p.args.b_zeros = i & 4 ? zeros : NULL;
        done += check_winograd(&p, i % 3 + 1);
        free_product(&p);
    }
    CHECK(done > 0 || !has_winograd());
}

TEST(winograd_does_not_overflow_with_the_most_channels)
{
    static const uint8_t ends[] = {0x00, 0x7f, 0x80, 0xff};
    for (int i = 0; i < 16; i++) {
        product p = make_3x3(896, 1, 10, 10, (i ^ i >> 2) & 3);
        memset((void *)(uintptr_t)p.args.a, ends[i & 3], (size_t)p.a_elements);
        memset((void *)(uintptr_t)p.b.at, ends[i >> 2 & 3], (size_t)p.b_elements);
        p.args.a_zero = p.shape.a_signed ? (i & 1 ? -128 : 127) : i & 1 ? 0 : 255;
        p.args.b_zero = p.shape.b_signed ? (i & 4 ? -128 : 127) : i & 4 ? 0 : 255;
        CHECK(check_winograd(&p, 1) > 0 || !has_winograd());
        free_product(&p);
    }
}

TEST(what_winograd_does_not_do_is_left)
{
    product p = make_3x3(16, 16, 12, 12, 0);
    native_int8_winograd plan;
    native_int8_cpu cpu;
    native_int8_find_cpu(&cpu, "avx2 fma");
    CHECK(native_int8_winograd_plan(&plan, &cpu, &p.shape, 2) == has_winograd());
    p.shape.window.stride[1] = 2;
    CHECK(!native_int8_winograd_plan(&plan, &cpu, &p.shape, 2));
    p.shape.window.stride[1] = 1;
    p.shape.window.channels = 17;
    CHECK(!native_int8_winograd_plan(&plan, &cpu, &p.shape, 2));
    p.shape.window.channels = 912;
    CHECK(!native_int8_winograd_plan(&plan, &cpu, &p.shape, 2));
    free_product(&p);
}

/* ---- results ---- */

static int32_t limit(double v, int32_t low, int32_t high)
{
    return v < low ? low : v > high ? high : (int32_t)v;
}

/* Bytes of C on every processor against what the formula says. */
static void check_bytes(const product *p, const uint8_t *expected)
{
    native_int8_cpu cpu;
    for (int i = 0; i < N_CPUS; i++) {
        const char *name = find_cpu(i, &cpu);
        void *c = run(p, &cpu, true, 2);
        CHECK(same(expected, c, (size_t)(p->shape.m * p->shape.n), name));
        free(c);
    }
}

TEST(results_of_8_bits_round_doubles_to_even)
{
    /* 1/2 and 1/4 make ties, the others come near to them */
    static const double scales[] = {0.5, 0.25, 0.0625, 1.0 / 3, 0.001, 1.0 / 1024, 0x1.fffffffp-8};
    enum { M = 21, N = 37 };
    for (int i = 0; i < 28; i++) {
        product p = make_product(M, N, 16, i & 3);
        native_int8_finish *f = &p.args.finish;
        int32_t bias[N];
        double rescale[N];
        uint8_t expected[M * N];
        for (int n = 0; n < N; n++) {
            bias[n] = between(-3000, 3000);
            rescale[n] = scales[(i + n) % 7] * (i % 9 == 8 ? 4 : 1);
            if (i % 5 == 0) {
                bias[n] += n % 2 ? INT32_MAX - 3000 : INT32_MIN + 3000;
                rescale[n] /= 1 << 24;
            }
        }
        f->result = i & 4 ? NATIVE_INT8_TO_I8 : NATIVE_INT8_TO_U8;
        f->bias = bias;
        f->bias_is_far = i % 5 == 0;
        f->rescale = rescale;
        f->scale_each = true;
        f->zero = i & 4 ? between(-128, 127) : between(0, 255);
        f->low = (i & 4 ? -128 : 0) + (i % 3 == 1 ? 20 : 0);
        f->high = f->low + (i % 3 == 1 ? 200 : 255);
        int32_t *sums = make_sums(&p, false);
        REQUIRE(sums != NULL);
        for (int k = 0; k < M * N; k++)
            expected[k] = (uint8_t)limit(
                nearbyint(((double)sums[k] + bias[k % N]) * rescale[k % N]) + f->zero, f->low,
                f->high);
        check_bytes(&p, expected);
        free(sums);
        free_product(&p);
    }
}

TEST(an_addition_rounds_as_its_three_ops_do)
{
    enum { M = 9, N = 21 };
    for (int i = 0; i < 32; i++) {
        product p = make_product(M, N, 33, 3);
        native_int8_addition t = {.scale = 0.031f, .with_scale = 0.017f, .sum_scale = 0.043f};
        const double rescale = 0.004;
        if (i & 16) /* half of all sums are next to a tie */
            t.scale = t.with_scale = 0.3f, t.sum_scale = 0.6f;
        uint8_t *with = make_bytes(M * N), expected[M * N];
        int32_t *sums = make_sums(&p, false);
        REQUIRE(with && sums);
        t.with = with;
        t.with_signed = (i & 1) != 0;
        t.sum_signed = (i & 2) != 0;
        t.with_zero = t.with_signed ? -3 : 120;
        t.sum_zero = t.sum_signed ? 5 : 130;
        t.low = i & 4 ? t.sum_zero : t.sum_signed ? -128 : 0;
        t.high = t.sum_signed ? 127 : 255;
        p.args.finish =
            (native_int8_finish){.result = i & 8 ? NATIVE_INT8_TO_I8 : NATIVE_INT8_TO_U8,
                                 .rescale = &rescale,
                                 .zero = i & 8 ? 7 : 99,
                                 .low = i & 8 ? -128 : 0,
                                 .high = i & 8 ? 127 : 255,
                                 .then = &t};
        for (int k = 0; k < M * N; k++) {
            const native_int8_finish *f = &p.args.finish;
            const int32_t y = limit(nearbyint(sums[k] * rescale) + f->zero, f->low, f->high);
            const float a = (float)(y - f->zero) * t.scale;
            const float b = (float)(number_at(with, k, t.with_signed) - t.with_zero) * t.with_scale;
            const float sum = a + b, quotient = sum / t.sum_scale;
            expected[k] = (uint8_t)limit(nearbyint((double)quotient) + t.sum_zero, t.low, t.high);
        }
        check_bytes(&p, expected);
        free(with);
        free(sums);
        free_product(&p);
    }
}

TEST(float_results_round_every_step)
{
    enum { M = 14, N = 35 };
    for (int i = 0; i < 32; i++) {
        product p = make_product(M, N, 40, i & 3);
        native_int8_finish *f = &p.args.finish;
        float scale[N], addend[N], row_scale[M], residual[M * N], expected[M * N];
        native_int8_cpu cpu;
        for (int k = 0; k < M * N; k++) {
            residual[k] = (float)between(-1000, 1000) / 7;
            addend[k % N] = (float)between(-1000, 1000) / 3;
            scale[k % N] = (float)between(1, 1000) / 9999;
            row_scale[k % M] = (float)between(1, 1000) / 777;
        }
        f->result = NATIVE_INT8_TO_F32;
        f->scale = scale;
        f->scale_each = true;
        f->addend = i & 4 ? addend : NULL;
        f->residual = i & 8 ? residual : NULL;
        f->row_scale = i & 16 ? row_scale : NULL;
        f->low_f = i & 1 ? 0 : -INFINITY;
        f->high_f = i & 2 ? 6 : INFINITY;
        int32_t *sums = make_sums(&p, false);
        REQUIRE(sums != NULL);
        for (int k = 0; k < M * N; k++) {
            float y = (float)sums[k] * scale[k % N];
            if (f->row_scale)
                y *= row_scale[k / N];
            if (f->addend)
                y += addend[k % N];
            if (f->residual)
                y += residual[k];
            y = y < f->low_f ? f->low_f : y;
            expected[k] = y > f->high_f ? f->high_f : y;
        }
        for (int k = 0; k < N_CPUS; k++) {
            const char *name = find_cpu(k, &cpu);
            void *c = run(&p, &cpu, true, 1);
            CHECK(same(expected, c, sizeof expected, name));
            free(c);
        }
        free(sums);
        free_product(&p);
    }
}

TEST(a_block_of_rows_gives_what_all_of_them_do)
{
    product p = make_window(2, 1, 17, 1, 33);
    native_int8_product plan;
    native_int8_cpu cpu;
    for (int i = 0; i < N_CPUS; i++) {
        const char *name = find_cpu(i, &cpu);
        int32_t *sums = make_sums(&p, false), *c = malloc((size_t)(p.shape.m * p.shape.n) * 4);
        native_int8_plan(&plan, &cpu, &p.shape, &p.b, 1);
        void *packed = make_aligned(plan.packed_bytes), *scratch = make_aligned(plan.scratch_bytes);
        REQUIRE(sums && c && packed && scratch);
        native_int8_pack(&plan, &p.b, packed, 0, plan.n_panels);
        p.args.packed = packed;
        for (int64_t row = 0; row < p.shape.m; row += 5) {
            p.args.c = c + row * p.shape.n;
            native_int8_run_rows(&plan, &p.args, scratch, row,
                                 p.shape.m - row < 5 ? p.shape.m - row : 5);
        }
        CHECK(same(sums, c, (size_t)(p.shape.m * p.shape.n) * 4, name));
        free(sums);
        free(c);
        free(packed);
        free(scratch);
    }
    free_product(&p);
}

/* ---- transposed ---- */

TEST(matrices_of_every_small_size_are_transposed)
{
    enum { MOST = 37 };
    for (int64_t rows = 1; rows <= MOST; rows++)
        for (int64_t columns = 1; columns <= MOST; columns++) {
            const int64_t step = columns + 1;
            uint8_t *from = make_bytes(rows * step), *to = malloc((size_t)(rows * columns));
            int wrong = 0;
            REQUIRE(from && to);
            native_int8_turn(from, step, rows, columns, to, rows);
            for (int64_t i = 0; i < rows * columns; i++)
                wrong += to[i] != from[i % rows * step + i / rows];
            CHECK_INT(0, wrong);
            free(from);
            free(to);
        }
}

static const test_case cases[] = {
    CASE(products_of_every_small_size_are_exact),
    CASE(weights_of_every_spread_are_exact),
    CASE(terms_meet_others_where_their_neighbours_are_too_large),
    CASE(extreme_values_do_not_saturate),
    CASE(long_sums_keep_their_low_32_bits),
    CASE(every_row_and_column_may_have_a_zero_point),
    CASE(rows_and_columns_may_lie_apart),
    CASE(windows_are_convolutions),
    CASE(depthwise_windows_are_convolutions),
    CASE(depthwise_pixels_of_long_lines_share_their_taps),
    CASE(windows_of_3_x_3_are_exact_by_winograd),
    CASE(winograd_does_not_overflow_with_the_most_channels),
    CASE(what_winograd_does_not_do_is_left),
    CASE(results_of_8_bits_round_doubles_to_even),
    CASE(an_addition_rounds_as_its_three_ops_do),
    CASE(float_results_round_every_step),
    CASE(a_block_of_rows_gives_what_all_of_them_do),
    CASE(matrices_of_every_small_size_are_transposed),
};

TEST_MAIN_OF_ONE_THREAD(cases)
