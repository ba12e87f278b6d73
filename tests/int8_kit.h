/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_kit.h: products and convolutions of 8-bit integers for the tests of
 * plugins/cpu-native/int8_product.h: the processors to try, made-up operands, and plain sums of 64
 * bits. The ways of processors with VNNI are here, too, with that one instruction emulated: all
 * else of them is the same text. The plugin's files are compiled into the tests.
 */
#ifndef TFR_TESTS_INT8_KIT_H
#define TFR_TESTS_INT8_KIT_H

#include <stdlib.h>

#include "int8_way.h"
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

static inline ivec load_group(const int8_t *p)
{
    ivec v;
    memcpy(v.bytes, p, sizeof v.bytes);
    return v;
}

static inline ivec all_of(const uint8_t *p)
{
    ivec v;
    for (int i = 0; i < LANES; i++)
        memcpy(v.bytes + 4 * i, p, 4);
    return v;
}
#define I_ALL(p) all_of(p)

static inline ivec dot(ivec s, ivec a, ivec b)
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

enum { N_CPUS = 7 };

/* NULL = this machine has none. */
static inline const char *find_cpu(int i, native_int8_cpu *cpu)
{
    static const char *const features[] = {
        "", "avx2 fma", "avx2 fma avx512f avx512bw avx512vl avx512dq avx512_vnni avx_vnni"};
    native_int8_find_cpu(cpu, features[i < 3 ? i : 1]);
    if (i == 3)
        cpu->constant = cpu->variable = &emulated_vnni;
    if (i == 4) /* whatever the weights are */
        cpu->constant = cpu->variable;
    if (i == 6 && cpu->many) /* the same, and even of few columns */
        cpu->constant = cpu->variable = cpu->many;
    if (i == 5 && cpu->constant->lists) /* the same */
        cpu->variable = cpu->constant;
    return native_int8_way_name(cpu->constant);
}

/* ---- operands ---- */

static uint32_t seed = 1;

static inline uint32_t next_number(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

static inline int32_t between(int32_t low, int32_t high)
{
    return low + (int32_t)(next_number() % (uint32_t)(high - low + 1));
}

/* A matrix in a block of its own, so that a read beyond it is seen by a sanitizer. */
static inline uint8_t *make_bytes(int64_t n)
{
    uint8_t *p = malloc((size_t)n);
    for (int64_t i = 0; p && i < n; i++)
        p[i] = (uint8_t)next_number();
    return p;
}

static inline int32_t number_at(const uint8_t *p, int64_t i, bool is_signed)
{
    return is_signed ? (int8_t)p[i] : p[i];
}

static inline void *make_aligned(size_t bytes)
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

static inline product make_product(int64_t m, int64_t n, int64_t k, int signs)
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

static inline void free_product(product *p)
{
    free((void *)(uintptr_t)p->args.a);
    free((void *)(uintptr_t)p->b.at);
}

/* Element of A in row r, less its zero point. */
static inline int32_t term_of_a(const product *p, int64_t r, int64_t k)
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

static inline int32_t term_of_b(const product *p, int64_t k, int64_t n)
{
    const int64_t at =
        n * p->b.n_step + k / p->b.inner * p->b.outer_step + k % p->b.inner * p->b.inner_step;
    return number_at(p->b.at, at, p->shape.b_signed) -
           (p->args.b_zeros ? p->args.b_zeros[n] : p->args.b_zero);
}

/* The low 32 bits of each sum. */
static inline int32_t *make_sums(const product *p, bool depthwise)
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
static inline void *run(const product *p, const native_int8_cpu *cpu, bool constant, int threads)
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

static inline bool same(const void *expected, const void *obtained, size_t bytes, const char *name)
{
    if (expected && obtained && memcmp(expected, obtained, bytes) == 0)
        return true;
    printf("  differs with %s\n", name);
    return false;
}

/* ---- windows ---- */

/* A random convolution of `rank` axes; C * G channels lie beside each other. */
static inline product make_window(int rank, int signs, int64_t channels, int64_t groups, int64_t n)
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

/* Windows of 3 x 3 over 2 images of `height` x `width`. */
static inline product make_3x3(int64_t channels, int64_t n, int64_t height, int64_t width,
                               int signs)
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

#endif
