/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_int8_depthwise.c: depthwise convolutions of 8-bit integers of plugins/cpu-native against
 * plain sums of 64 bits, on every instruction set that this machine has.
 */
#include "int8_kit.h"

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

TEST(depthwise_pixels_of_long_lines_share_their_taps)
{
    for (int i = 0; i < 64; i++) {
        const int64_t some = i & 4 ? between(1, 50) : 16 * between(1, 3);
        const int64_t channels = some + (i % 16 == 15 ? 1024 : 0);
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

static const test_case cases[] = {
    CASE(depthwise_windows_are_convolutions),
    CASE(depthwise_pixels_of_long_lines_share_their_taps),
};

TEST_MAIN_OF_ONE_THREAD(cases)
