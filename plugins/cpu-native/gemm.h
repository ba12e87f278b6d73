/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm.h: this backend's own product of float32 matrices, for kernels and for compiled programs.
 *
 *   C[M,N] = act(alpha * A[M,K] x B[K,N] + beta * addend + row bias + column bias + residual)
 *
 *   native_gemm g;
 *   native_gemm_plan(&g, cpu, &shape, n_threads);             once
 *   bytes = n_threads * g.scratch_bytes; packed = g.packed_bytes if B is constant
 *   native_gemm_run(&g, &args, scratch of one thread, begin, end);   any split of [0, g.n_tiles)
 *
 * A plan is plain data without pointers to memory of its own. Nothing here allocates or starts
 * threads. Each element of C is one sum over k in an order that depends on K and on
 * the processor only: not on the threads, not on the split into tiles, not on M and N. (In a math
 * mode, rows whose panel has numbers that the format lacks are computed strictly.)
 */
#ifndef NATIVE_GEMM_H
#define NATIVE_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tfrun/plugin.h>

enum { NATIVE_GEMM_BATCH_RANK = 3 };

typedef enum native_gemm_activation {
    NATIVE_GEMM_NONE,
    NATIVE_GEMM_RELU,
    NATIVE_GEMM_CLIP, /* to [low, high] */
    NATIVE_GEMM_SIGMOID,
    NATIVE_GEMM_TANH,
    NATIVE_GEMM_SILU,
    NATIVE_GEMM_GELU_ERF,
    NATIVE_GEMM_GELU_TANH
} native_gemm_activation;

/* What happens to a tile of C while it is in the cache. Zero, with alpha 1, is nothing. */
typedef struct native_epilogue {
    float alpha;
    float beta; /* of the addend */
    /* Steps of the addend in elements for one row and one column; 0 broadcasts. */
    int64_t addend_row, addend_column;
    int64_t ld_residual;
    int32_t activation; /* native_gemm_activation */
    float low, high;    /* of CLIP */
} native_epilogue;

typedef struct native_gemm_shape {
    int64_t m, n, k;
    /* Elements between the rows as they lie in memory: of A[M,K], or A[K,M] if trans_a... */
    int64_t lda, ldb, ldc;
    bool trans_a, trans_b;
    bool b_packed; /* b will be what native_gemm_pack wrote; not with a batch over b */
    bool b_made;   /* make_b of the args writes each block of B, strictly; the same there */
    /* Up to 3 batch dims, outermost first; unused ones are 1 (0 counts as 1). Steps in elements. */
    int64_t batch[NATIVE_GEMM_BATCH_RANK];
    int64_t batch_a[NATIVE_GEMM_BATCH_RANK], batch_b[NATIVE_GEMM_BATCH_RANK],
        batch_c[NATIVE_GEMM_BATCH_RANK];
    int32_t math_mode; /* tfr_math_mode; strict where the processor cannot do it */
    native_epilogue epilogue;
} native_gemm_shape;

/* How products are computed on a processor that has these features (tfr_host_cpu). */
typedef struct native_gemm_isa native_gemm_isa;
typedef struct native_gemm_cpu {
    const native_gemm_isa *strict;
    const native_gemm_isa *modes; /* f32x6, f32x3, bf16; NULL = the processor has none */
    int64_t l1_bytes, l2_bytes;   /* of one core */
} native_gemm_cpu;
/* Never more than this processor itself has. */
void native_gemm_find_cpu(native_gemm_cpu *cpu, const char *features);
/*
 * NULL = a product in its shape's math mode is worth it here; else why it is not, as a sentence:
 * then plan it strictly. The first call for a mode asks the system for the right to use AMX.
 */
const char *native_gemm_no_mode(const native_gemm_cpu *cpu, const native_gemm_shape *shape);
/* The modes' own arithmetic without instructions for it; for tests. */
void native_gemm_emulate_modes(native_gemm_cpu *cpu);
/* "avx512", "avx2", "portable", "amx f32x6"... */
const char *native_gemm_isa_name(const native_gemm_isa *isa);

typedef struct native_gemm {
    native_gemm_shape shape;
    const native_gemm_isa *isa;    /* that computes */
    const native_gemm_isa *strict; /* that steps in for values that isa cannot hold */
    int64_t n_tiles;
    size_t scratch_bytes; /* of each thread, aligned to 64 */
    size_t packed_bytes;  /* of B for native_gemm_pack, aligned to 64 */
    /* The split: K in blocks, columns and rows in panels, both in units. */
    int64_t k_block, n_panels, row_panels, column_units, row_units, n_batch;
    bool raw_b;            /* B is read where it lies */
    int64_t shared_blocks; /* of K in a round of packed A; 0 = each tile packs its own */
    bool fills_a;          /* one thread: the first stripe packs A for the others on its way */
} native_gemm;

/*
 * Beta, bias and residual are used where their pointer is there. None may overlap c, but with alpha
 * 1 and the same step of rows the residual may be c.
 */
typedef struct native_gemm_args {
    const float *a;
    const void *b; /* floats, or what native_gemm_pack wrote */
    float *c;
    const float *addend;
    const float *row_bias, *column_bias; /* M and N of them; the same for the whole batch */
    const float *residual;               /* as C, M x N, with ld_residual; batch steps as c's */
    const void *ahead;                   /* read soon after these tiles: they fetch it; or NULL */
    size_t ahead_bytes;
    void *shared_a; /* panels of A of this round; or NULL: tiles pack theirs, for all of K */
    int64_t round;
    /* With b_made: n columns from `column` and n_k from k0, a multiple of 32, as panels of nr
     * columns, [n_k][nr] each, with zeros behind the last column. b is what it gets first. */
    void (*make_b)(const void *b, float *to, int64_t column, int64_t n, int64_t k0, int64_t n_k,
                   int nr);
} native_gemm_args;

/*
 * m, n, k may be 0: K = 0 gives the epilogue of zeros. threads is how many will share the tiles,
 * for their number.
 */
void native_gemm_plan(native_gemm *gemm, const native_gemm_cpu *cpu, const native_gemm_shape *shape,
                      int threads);
/*
 * Packs B, once. False: it has values that the math mode's format cannot hold (not finite, or
 * extremely large or small); plan again with TFR_MATH_STRICT, which takes everything.
 */
bool native_gemm_pack(const native_gemm *gemm, const float *b, void *packed);
/* Whether it will: the same check without packing. */
bool native_gemm_holds(const native_gemm *gemm, const float *b);
/* Computes the tiles [begin, end). scratch is for this thread alone meanwhile. */
void native_gemm_run(const native_gemm *gemm, const native_gemm_args *args, void *scratch,
                     int64_t begin, int64_t end);
/* What a tile reads first of packed B. */
const void *native_gemm_first_b(const native_gemm *gemm, const void *packed, int64_t tile,
                                size_t *bytes);
/*
 * Several stripes may share panels of A that are packed before, in rounds of some blocks of K: for
 * each round pack all g.row_panels, then run all tiles, with the round and the memory in args.
 * With g.fills_a there is nothing to pack: one thread runs the tiles, in order.
 */
int64_t native_gemm_rounds(const native_gemm *gemm); /* 0 = not worth it here */
size_t native_gemm_shared_bytes(const native_gemm *gemm);
void native_gemm_pack_a(const native_gemm *gemm, const native_gemm_args *args, int64_t begin,
                        int64_t end);
/* All of it on the host's threads, n_threads >= 1; workspace is so many bytes, aligned to 64. */
size_t native_gemm_workspace(const native_gemm *gemm, int n_threads);
void native_gemm_run_all(const native_gemm *gemm, const native_gemm_args *args, void *workspace,
                         const tfr_host *host, int n_threads);

#endif
