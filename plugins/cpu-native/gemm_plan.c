/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_plan.c: what a product is computed with and how it is cut: the processor, blocks of K,
 * units, sizes of memory, and constant right sides, which are packed once. gemm.c runs it.
 */
#include <string.h>
#include <unistd.h>

#include "gemm_layout.h"
#include "level.h"

enum { K_UNIT = 32, FEW = 16, PIECES = 4 /* of each thread */ };
#define LONG 1e7 /* multiplications of a product that is worth pieces */
enum { SHARED_MOST = 32 << 20, SHARED_LEAST = 256 << 10 }; /* bytes of A that are packed ahead */

/* ---- the processor ---- */

static int64_t cache_bytes(int name, int64_t otherwise)
{
    const long bytes = name < 0 ? 0 : sysconf(name);
    return bytes > 0 ? bytes : otherwise;
}

void native_gemm_find_cpu(native_gemm_cpu *cpu, const char *features)
{
    const native_level level = native_find_level(features);
#ifdef _SC_LEVEL1_DCACHE_SIZE
    const int l1 = _SC_LEVEL1_DCACHE_SIZE, l2 = _SC_LEVEL2_CACHE_SIZE;
#else
    const int l1 = -1, l2 = -1;
#endif

    memset(cpu, 0, sizeof *cpu);
    cpu->strict = &native_gemm_portable;
    cpu->l1_bytes = cache_bytes(l1, 32 << 10);
    cpu->l2_bytes = cache_bytes(l2, 512 << 10);
#if NATIVE_X86
    if (level >= NATIVE_LEVEL_AVX2)
        cpu->strict = &native_gemm_avx2;
    if (level >= NATIVE_LEVEL_AVX512)
        cpu->strict = &native_gemm_avx512;
    if (level >= NATIVE_LEVEL_AMX && native_gemm_amx_exists())
        cpu->modes = native_gemm_amx;
#else
    (void)level;
#endif
}

/* NULL = there is one for the mode. */
static const char *no_isa(const native_gemm_cpu *cpu, int32_t mode)
{
    if (mode <= TFR_MATH_STRICT || mode > TFR_MATH_BF16)
        return "strict products are asked for";
    if (!cpu->modes)
        return "this processor has no amx_bf16, so that products are strict";
    if (cpu->modes == native_gemm_amx && !native_gemm_amx_permit())
        return "the system refuses the use of AMX, so that products are strict";
    return NULL;
}

const char *native_gemm_no_mode(const native_gemm_cpu *cpu, const native_gemm_shape *shape)
{
    const char *why = no_isa(cpu, shape->math_mode);

    if (why)
        return why;
    if (shape->m < FEW || shape->n < FEW || shape->k < FEW)
        return "fewer than 16 rows, columns or terms are multiplied strictly";
    return NULL;
}

void native_gemm_emulate_modes(native_gemm_cpu *cpu)
{
    cpu->modes = native_gemm_emulated;
}

const char *native_gemm_isa_name(const native_gemm_isa *isa)
{
    return isa->name;
}

/* ---- the plan ---- */

/* K in equal blocks, none longer than what the first cache takes of a panel of A. */
static void split_k(native_gemm *g, const native_gemm_cpu *cpu)
{
    const int64_t k = g->shape.k;
    int64_t longest = g->isa->kc;

    if (cpu->l1_bytes < 48 << 10)
        longest = larger(longest * cpu->l1_bytes / (48 << 10) / K_UNIT * K_UNIT, 64);
    g->k_block = K_UNIT;
    if (k > 0)
        g->k_block = ceil_div(ceil_div(k, ceil_div(k, longest)), K_UNIT) * K_UNIT;
}

/* The part of the second cache that a block of B takes, in panels. */
static int64_t panels_in_l2(const native_gemm *g, const native_gemm_cpu *cpu)
{
    const int64_t panel = (int64_t)g->isa->b_bytes(g->k_block);
    const int quarters = g->isa->l2_quarters ? g->isa->l2_quarters : 2;
    return larger(cpu->l2_bytes * quarters / 4 / panel, 1);
}

/*
 * Threads that are done take units of those that others have not begun (program_run.c), which needs
 * some for each: a processor that does other things, too, is waited for otherwise. With two threads
 * on a busy host that took 3 to 4 % of bert, vit_b_16 and whisper_tiny (Zen 3). A unit keeps two
 * panels of columns, or A would be read too often.
 */
static bool takes_pieces(const native_gemm *g, int64_t threads)
{
    const native_gemm_shape *s = &g->shape;

    return threads > 1 && s->b_packed && g->n_batch == 1 && g->n_panels >= 2 * PIECES * threads &&
           (double)s->m * (double)s->n * (double)s->k > LONG;
}

static void split_c(native_gemm *g, const native_gemm_cpu *cpu, int64_t threads)
{
    const int64_t most = panels_in_l2(g, cpu);
    /* Units that the columns of one product should make. */
    const int64_t wanted = ceil_div(threads, larger(g->n_batch, 1));
    int64_t columns = larger(ceil_div(g->n_panels, most), 1);

    if (g->n_batch % threads != 0 || columns > 1) {
        columns = larger(columns, smaller(wanted, g->n_panels));
        if (columns % wanted != 0 && ceil_div(columns, wanted) * wanted <= g->n_panels)
            columns = ceil_div(columns, wanted) * wanted;
    }
    if (takes_pieces(g, threads) && columns < PIECES * threads)
        columns = PIECES * threads;
    g->column_units = columns;
    g->row_units = 1;
    if (columns < wanted)
        g->row_units = larger(smaller(ceil_div(wanted, columns), g->row_panels), 1);
    g->n_tiles = g->shape.m > 0 ? g->n_batch * g->column_units * g->row_units : 0;
    if (g->n_panels == 0)
        g->n_tiles = 0;
}

/* Reading B where it lies saves its packing and costs tiles of it that the caches like less. */
static bool reads_raw_b(const native_gemm *g)
{
    const native_gemm_shape *s = &g->shape;
    return !s->b_packed && !s->b_made && !s->trans_b && g->isa->packs_on_its_way &&
           s->m <= 2 * g->isa->mr;
}

/* What of A is packed for all stripes: nothing where each thread would pack it only once, anyway.
 */
static void share_a(native_gemm *g, int64_t threads)
{
    const int64_t blocks = ceil_div(g->shape.k, g->k_block);
    int64_t most, rounds;

    if (g->n_batch > 1 || g->column_units <= threads || g->raw_b ||
        g->shape.m * g->shape.k * (int64_t)sizeof(float) < SHARED_LEAST)
        return;
    most = larger(SHARED_MOST / (int64_t)shared_block_bytes(g), 1);
    rounds = ceil_div(blocks, most);
    g->shared_blocks = ceil_div(blocks, rounds);
    g->fills_a = threads == 1 && g->isa->packs_on_its_way && !g->shape.trans_a;
}

void native_gemm_plan(native_gemm *g, const native_gemm_cpu *cpu, const native_gemm_shape *shape,
                      int threads)
{
    int64_t b_panels;
    int i;

    memset(g, 0, sizeof *g);
    g->shape = *shape;
    g->strict = g->isa = cpu->strict;
    if (!shape->b_made && !no_isa(cpu, shape->math_mode))
        g->isa = &cpu->modes[shape->math_mode <= TFR_MATH_F32X6 ? 0
                             : shape->math_mode < TFR_MATH_BF16 ? 1 /* f32x3 is in tf32's bound */
                                                                : 2];
    g->n_batch = 1;
    for (i = 0; i < NATIVE_GEMM_BATCH_RANK; i++) {
        if (g->shape.batch[i] < 1)
            g->shape.batch[i] = 1;
        g->n_batch *= g->shape.batch[i];
    }
    split_k(g, cpu);
    g->n_panels = ceil_div(shape->n, g->isa->nr);
    g->row_panels = ceil_div(shape->m, g->isa->mr);
    split_c(g, cpu, larger(threads, 1));
    g->raw_b = reads_raw_b(g);
    share_a(g, larger(threads, 1));
    b_panels = shape->b_packed ? 0 : g->raw_b ? 1 : ceil_div(g->n_panels, g->column_units);
    g->scratch_bytes = aligned(g->isa->a_bytes(g->k_block)) +
                       aligned((size_t)b_panels * g->isa->b_bytes(g->k_block));
    if (g->isa != g->strict)
        g->scratch_bytes += strict_bytes(g);
    g->packed_bytes =
        (size_t)g->n_panels * (g->isa->b_bytes(g->k_block) * (size_t)(shape->k / g->k_block) +
                               g->isa->b_bytes(shape->k % g->k_block));
    g->packed_bytes = aligned(larger((int64_t)g->packed_bytes, 1));
}

int64_t native_gemm_rounds(const native_gemm *g)
{
    return g->shared_blocks > 0 ? ceil_div(g->shape.k, g->shared_blocks * g->k_block) : 0;
}

size_t native_gemm_shared_bytes(const native_gemm *g)
{
    return g->shared_blocks > 0 ? shared_block_bytes(g) * (size_t)g->shared_blocks : 0;
}

size_t native_gemm_workspace(const native_gemm *g, int n_threads)
{
    return native_gemm_shared_bytes(g) + g->scratch_bytes * (size_t)smaller(n_threads, g->n_tiles);
}

/* ---- a constant right side ---- */

bool native_gemm_pack(const native_gemm *g, const float *b, void *packed)
{
    int64_t k0;

    for (k0 = 0; k0 < g->shape.k; k0 += g->k_block) {
        const int64_t k = smaller(g->k_block, g->shape.k - k0);
        const native_source s = source_of_b(g, b, 0, g->shape.n, k0, k);
        if (!g->isa->pack_b((char *)packed + packed_at(g, k0, k, 0), &s))
            return false;
    }
    return true;
}

bool native_gemm_holds(const native_gemm *g, const float *b)
{
    const native_gemm_isa *isa = g->isa;
    const int64_t rows = g->shape.trans_b ? g->shape.n : g->shape.k;
    const int64_t columns = g->shape.trans_b ? g->shape.k : g->shape.n;
    bool bad = false;
    int64_t i, j;

    for (i = 0; isa->high && i < rows && !bad; i++)
        for (j = 0; j < columns; j++) {
            uint32_t bits;
            memcpy(&bits, b + i * g->shape.ldb + j, sizeof bits);
            bits &= 0x7fffffffu;
            bad |= bits != 0 && (bits < isa->low || bits >= isa->high);
        }
    return !bad;
}
