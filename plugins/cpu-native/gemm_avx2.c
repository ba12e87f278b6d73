/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_avx2.c: strict products with AVX2 and FMA.
 *
 * A tile of 6 x 16 takes 12 of the 16 registers for sums, two for B, two for elements of A: 12
 * multiplications of 6 cycles against 8 loads of 4. A panel of A, 6 x 512 floats, is 12 KiB, a
 * third of a first cache of 32 KiB. Tiles are short, so that what each takes beside its products
 * counts: blocks of K are as long as that.
 *
 * Alone on a core a tile runs at 96 to 97 % of the roof however it is written. Where the core runs
 * another thread, too, as on a host of virtual machines that is busy, what counts is how many
 * instructions there are and how many bytes they take. So the sums of packed panels are written in
 * assembly: 20 instructions for each k, with distances of one byte where they can be, for which
 * rows of A come 8 k at a time, and no more than 8 k in a round. What gcc made of 16 k in C was
 * 2.1 KiB with some copies of registers. Longer instructions that fill the decoded lines evenly,
 * loads that are part of a multiplication, and fewer loads with shuffles for them were slower or
 * no faster.
 *
 * Rows of B that is not packed are too far apart for the processor's own fetching: their tiles
 * fetch on their way.
 */
#include "gemm_isa.h"

#if NATIVE_X86

#include "vec_avx2.h"

#define NV             2
#define MR             6
#define KC             768
#define K_ROW          8
#define PACKS_FAR_ROWS true
#define UNROLL_K       UNROLL_TWO

#ifdef __x86_64__
/* Row k of B in two vectors, and row i of A, whose elements are at constant distances, too. */
#define COLUMNS                                                                                    \
    "vmovups 64*\\k-128(%%rdx), %%ymm12\n\t"                                                       \
    "vmovups 64*\\k-96(%%rdx), %%ymm13\n\t"
#define ROW(i, x)                                                                                  \
    "vbroadcastss 32*" #i "+4*\\k-64(%%rax), %%" #x "\n\t"                                         \
    "vfmadd231ps %%ymm12, %%" #x ", %[s" #i "]\n\t"                                                \
    "vfmadd231ps %%ymm13, %%" #x ", %[t" #i "]\n\t"
#define ROWS_3 ROW(0, ymm14) ROW(1, ymm15) ROW(2, ymm14)
#define ROWS_4 ROWS_3 ROW(3, ymm15)
#define ROWS_5 ROWS_4 ROW(4, ymm14)
#define ROWS_6 ROWS_5 ROW(5, ymm15)
#define SUM(i) [s##i] "+x"(sum[i][0]), [t##i] "+x"(sum[i][1])

/* n times 8 k of so many rows. An asm has 30 operands at most, so pointers that move are copies. */
#define SUM_ROWS(rows, ...)                                                                        \
    __asm__("mov %[a], %%rax\n\t"                                                                  \
            "mov %[b], %%rdx\n\t"                                                                  \
            "mov %[n], %%rcx\n\t"                                                                  \
            "mov %[at], %%rsi\n\t"                                                                 \
            ".p2align 6\n"                                                                         \
            "1: .irp k, 0, 1, 2, 3, 4, 5, 6, 7\n\t" COLUMNS ROWS_##rows ".endr\n\t"                \
                                                                        "prefetcht1 (%%rsi)\n\t"   \
                                                                        "add $32*" #rows           \
                                                                        ", %%rax\n\t"              \
                                                                        "add $512, %%rdx\n\t"      \
                                                                        "add %[by], %%rsi\n\t"     \
                                                                        "dec %%rcx\n\t"            \
                                                                        "jnz 1b"                   \
            : __VA_ARGS__                                                                          \
            : [a] "r"(a), [b] "r"(b), [n] "r"(n), [at] "r"(at), [by] "r"(by)                       \
            : "rax", "rcx", "rdx", "rsi", "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory")

static inline __attribute__((always_inline)) bool sum_rows(const int rows, const int nv,
                                                           const float *a, const float *b,
                                                           int64_t n, const char *at, int64_t by,
                                                           vec sum[6][2])
{
    if (nv != 2 || rows < 3) /* these wait for B */
        return false;
    a += 16;
    b += 32;
    switch (rows) {
    case 3:
        SUM_ROWS(3, SUM(0), SUM(1), SUM(2));
        break;
    case 4:
        SUM_ROWS(4, SUM(0), SUM(1), SUM(2), SUM(3));
        break;
    case 5:
        SUM_ROWS(5, SUM(0), SUM(1), SUM(2), SUM(3), SUM(4));
        break;
    default:
        SUM_ROWS(6, SUM(0), SUM(1), SUM(2), SUM(3), SUM(4), SUM(5));
    }
    return true;
}
#define SUM_PACKED sum_rows
#endif

#define ISA avx2
#include "gemm_strict.h"

#include "vec_end.h"

#endif
