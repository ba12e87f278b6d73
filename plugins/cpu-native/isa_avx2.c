/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isa_avx2.c: isa_kernels.h for AVX2 with FMA: 16 registers of 8 lanes.
 *
 * The tiles that most convolutions and products are made of are in assembly, as those of
 * gemm_avx2.c, and for the same reason: where a core also runs another thread, instructions count.
 * A tap of 8 channels, 6 pixels and 16 outputs takes 160 here; gcc needs 225 with the addresses of
 * the pixels. On a Zen 3 that takes 2 to 10 % off tiles when the host is busy, and up to 2 % when
 * it is not.
 */
#include "isa.h"

#if defined(__x86_64__)
#include "vec_avx2.h"

#define SIZES_1(X) X(1, 1) X(1, 2) X(1, 3) X(1, 4) X(1, 5) X(1, 6) X(1, 7) X(1, 8) X(1, 9) X(1, 10)
#define SIZES_2(X) X(2, 1) X(2, 2) X(2, 3) X(2, 4) X(2, 5) X(2, 6)
#define SIZES_3(X) X(3, 1) X(3, 2) X(3, 3) X(3, 4)
#define MAX_PIXELS                                                                                 \
    {                                                                                              \
        0, 10, 6, 4, 0                                                                             \
    }

/* Pixel i of channel c, and its products. One pointer reaches three pixels. */
#define AT_0 "4*\\c(%[p])"
#define AT_1 "4*\\c(%[p],%[apart])"
#define AT_2 "4*\\c(%[p],%[apart],2)"
#define AT_3 "4*\\c(%[q])"
#define AT_4 "4*\\c(%[q],%[apart])"
#define AT_5 "4*\\c(%[q],%[apart],2)"
#define TIMES_2(i, x)                                                                              \
    "vbroadcastss " AT_##i ", %%" #x "\n\t"                                                        \
                           "vfmadd231ps %%ymm12, %%" #x ", %[s" #i "]\n\t"                         \
                           "vfmadd231ps %%ymm13, %%" #x ", %[t" #i "]\n\t"
#define TIMES_3(i)                                                                                 \
    "vbroadcastss " AT_##i ", %%ymm15\n\t"                                                         \
                           "vfmadd231ps %%ymm12, %%ymm15, %[s" #i "]\n\t"                          \
                           "vfmadd231ps %%ymm13, %%ymm15, %[t" #i "]\n\t"                          \
                           "vfmadd231ps %%ymm14, %%ymm15, %[u" #i "]\n\t"
#define WEIGHTS_2                                                                                  \
    "vmovups 64*\\c-128(%[w]), %%ymm12\n\t"                                                        \
    "vmovups 64*\\c-96(%[w]), %%ymm13\n\t"
#define WEIGHTS_3                                                                                  \
    "vmovups 96*\\c-128(%[w]), %%ymm12\n\t"                                                        \
    "vmovups 96*\\c-96(%[w]), %%ymm13\n\t"                                                         \
    "vmovups 96*\\c-64(%[w]), %%ymm14\n\t"
#define PIXELS_2_3 WEIGHTS_2 TIMES_2(0, ymm14) TIMES_2(1, ymm15) TIMES_2(2, ymm14)
#define PIXELS_2_4 PIXELS_2_3 TIMES_2(3, ymm15)
#define PIXELS_2_5 PIXELS_2_4 TIMES_2(4, ymm14)
#define PIXELS_2_6 PIXELS_2_5 TIMES_2(5, ymm15)
#define PIXELS_3_3 WEIGHTS_3 TIMES_3(0) TIMES_3(1) TIMES_3(2)
#define PIXELS_3_4 PIXELS_3_3 TIMES_3(3)
#define SUMS_2(i)  [s##i] "+x"(sum[i]), [t##i] "+x"(sum[pixels + i])
#define SUMS_3(i)  SUMS_2(i), [u##i] "+x"(sum[2 * pixels + i])

#define SUM_PIXELS(size, ...)                                                                      \
    __asm__(".irp c, 0, 1, 2, 3, 4, 5, 6, 7\n\t" PIXELS_##size ".endr"                             \
            : __VA_ARGS__                                                                          \
            : [w] "r"(w + 32), [p] "r"(p), [q] "r"(p + 3 * apart), [apart] "r"(apart * 4)          \
            : "xmm12", "xmm13", "xmm14", "xmm15", "memory")

static inline __attribute__((always_inline)) bool
sum_tap(const int blocks, const int pixels, const float *w, const float *p, int64_t apart, vec *sum)
{
    switch (blocks * 10 + pixels) {
    case 23:
        SUM_PIXELS(2_3, SUMS_2(0), SUMS_2(1), SUMS_2(2));
        return true;
    case 24:
        SUM_PIXELS(2_4, SUMS_2(0), SUMS_2(1), SUMS_2(2), SUMS_2(3));
        return true;
    case 25:
        SUM_PIXELS(2_5, SUMS_2(0), SUMS_2(1), SUMS_2(2), SUMS_2(3), SUMS_2(4));
        return true;
    case 26:
        SUM_PIXELS(2_6, SUMS_2(0), SUMS_2(1), SUMS_2(2), SUMS_2(3), SUMS_2(4), SUMS_2(5));
        return true;
    case 33:
        SUM_PIXELS(3_3, SUMS_3(0), SUMS_3(1), SUMS_3(2));
        return true;
    case 34:
        SUM_PIXELS(3_4, SUMS_3(0), SUMS_3(1), SUMS_3(2), SUMS_3(3));
        return true;
    default:
        return false;
    }
}
#define SUM_TAP sum_tap

#define ISA_TABLE native_avx2
#define ISA_NAME  "avx2"

#include "isa_kernels.h"

#include "vec_end.h"
#else
typedef int native_no_avx2; /* C wants one declaration in a file */
#endif
