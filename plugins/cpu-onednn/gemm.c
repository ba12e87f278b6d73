/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm.c: plans products and runs their tiles, whatever the processor: the loops around the
 * register tile. What a tile is and how operands are packed for it is in gemm_<isa>.c.
 *
 * A unit of work is a stripe of columns of C, as wide as a block of B [K block, columns] that stays
 * in a core's second cache, over all rows; where that gives too few units, over a part of them:
 *
 *   for each block of K:
 *       pack the block of B into the second cache            once for all rows
 *       for each panel of rows:
 *           pack the panel of A into the first cache         once for all columns of the stripe
 *           for each panel of columns: tile                  the rest of the time
 *
 * This turns K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
 * (2008), around: there B's panel is in the first cache and A's block in the second. With 14 rows
 * and 32 columns the tile reads less of a second cache's bandwidth than that has, K blocks become
 * twice as long, so that C is read and written half as often, and A needs no memory but one panel.
 *
 * A row of a panel of A is a short piece of a row of A, so each is on a page of its own, and if
 * pages are small, it waits for the page's address. So threads that have several stripes can share
 * panels that were packed for all of them, some blocks of K at a time.
 *
 * Tiles fetch what comes next on their way: the next tile of C, the next panel of A.
 */
#include "gemm.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "gemm_isa.h"

enum { ALIGNMENT = 64, LINE = 64, K_UNIT = 32, FEW = 16 };
enum { PREFETCH_K = 16 }; /* k between the lines that a tile fetches */
enum { SHARED_MOST = 32 << 20, SHARED_LEAST = 256 << 10 }; /* bytes of A that are packed ahead */

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- the processor ---- */

#if TFR_DNN_X86
static bool has_feature(const char *features, const char *name)
{
    const size_t n = strlen(name);
    const char *p = features;

    for (; (p = strstr(p, name)) != NULL; p += n)
        if ((p == features || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0))
            return true;
    return false;
}
#endif

static int64_t cache_bytes(int name, int64_t otherwise)
{
    const long bytes = name < 0 ? 0 : sysconf(name);
    return bytes > 0 ? bytes : otherwise;
}

void tfr_dnn_gemm_find_cpu(tfr_dnn_gemm_cpu *cpu, const char *features)
{
#ifdef _SC_LEVEL1_DCACHE_SIZE
    const int l1 = _SC_LEVEL1_DCACHE_SIZE, l2 = _SC_LEVEL2_CACHE_SIZE;
#else
    const int l1 = -1, l2 = -1;
#endif

    memset(cpu, 0, sizeof *cpu);
    cpu->strict = &tfr_dnn_gemm_portable;
    cpu->l1_bytes = cache_bytes(l1, 32 << 10);
    cpu->l2_bytes = cache_bytes(l2, 512 << 10);
#if TFR_DNN_X86
    if (has_feature(features, "avx2") && has_feature(features, "fma") &&
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        cpu->strict = &tfr_dnn_gemm_avx2;
    if (has_feature(features, "avx512f") && has_feature(features, "avx512bw") &&
        has_feature(features, "avx512vl") && has_feature(features, "avx512dq") &&
        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
        cpu->strict = &tfr_dnn_gemm_avx512;
    if (cpu->strict == &tfr_dnn_gemm_avx512 && has_feature(features, "avx512_bf16") &&
        has_feature(features, "amx_tile") && has_feature(features, "amx_bf16") &&
        tfr_dnn_gemm_amx_exists())
        cpu->modes = tfr_dnn_gemm_amx;
#else
    (void)features;
#endif
}

/* NULL = there is one for the mode. */
static const char *no_isa(const tfr_dnn_gemm_cpu *cpu, int32_t mode)
{
    if (mode <= TFR_MATH_STRICT || mode > TFR_MATH_BF16)
        return "strict products are asked for";
    if (!cpu->modes)
        return "this processor has no amx_bf16, so that products are strict";
    if (cpu->modes == tfr_dnn_gemm_amx && !tfr_dnn_gemm_amx_permit())
        return "the system refuses the use of AMX, so that products are strict";
    return NULL;
}

const char *tfr_dnn_gemm_no_mode(const tfr_dnn_gemm_cpu *cpu, const tfr_dnn_gemm_shape *shape)
{
    const char *why = no_isa(cpu, shape->math_mode);

    if (why)
        return why;
    if (shape->m < FEW || shape->n < FEW || shape->k < FEW)
        return "fewer than 16 rows, columns or terms are multiplied strictly";
    return NULL;
}

void tfr_dnn_gemm_emulate_modes(tfr_dnn_gemm_cpu *cpu)
{
    cpu->modes = tfr_dnn_gemm_emulated;
}

const char *tfr_dnn_gemm_isa_name(const tfr_dnn_gemm_isa *isa)
{
    return isa->name;
}

/* ---- the plan ---- */

/* K in equal blocks, none longer than what the first cache takes of a panel of A. */
static void split_k(tfr_dnn_gemm *g, const tfr_dnn_gemm_cpu *cpu)
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
static int64_t panels_in_l2(const tfr_dnn_gemm *g, const tfr_dnn_gemm_cpu *cpu)
{
    const int64_t panel = (int64_t)g->isa->b_bytes(g->k_block);
    const int quarters = g->isa->l2_quarters ? g->isa->l2_quarters : 2;
    return larger(cpu->l2_bytes * quarters / 4 / panel, 1);
}

static void split_c(tfr_dnn_gemm *g, const tfr_dnn_gemm_cpu *cpu, int64_t threads)
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
    g->column_units = columns;
    g->row_units = 1;
    if (columns < wanted)
        g->row_units = larger(smaller(ceil_div(wanted, columns), g->row_panels), 1);
    g->n_tiles = g->shape.m > 0 ? g->n_batch * g->column_units * g->row_units : 0;
    if (g->n_panels == 0)
        g->n_tiles = 0;
}

/* Reading B where it lies saves its packing and costs tiles of it that the caches like less. */
static bool reads_raw_b(const tfr_dnn_gemm *g)
{
    const tfr_dnn_gemm_shape *s = &g->shape;
    return !s->b_packed && !s->trans_b && g->isa->can_read_b && s->m <= 2 * g->isa->mr;
}

/* A packed block of K of A, and behind it a byte of each panel: that it could not be packed. */
static size_t shared_block_bytes(const tfr_dnn_gemm *g)
{
    return aligned((size_t)g->row_panels * g->isa->a_bytes(g->k_block)) +
           aligned((size_t)g->row_panels);
}

/* What of A is packed for all stripes: nothing where each thread would pack it only once, anyway.
 */
static void share_a(tfr_dnn_gemm *g, int64_t threads)
{
    const int64_t blocks = ceil_div(g->shape.k, g->k_block);
    int64_t most, rounds;

    if (g->n_batch > 1 || g->column_units <= threads || g->raw_b ||
        g->shape.m * g->shape.k * (int64_t)sizeof(float) < SHARED_LEAST)
        return;
    most = larger(SHARED_MOST / (int64_t)shared_block_bytes(g), 1);
    rounds = ceil_div(blocks, most);
    g->shared_blocks = ceil_div(blocks, rounds);
}

/* Of a panel of A and of one of B as floats, for values that the math mode's format lacks. */
static size_t strict_bytes(const tfr_dnn_gemm *g)
{
    return aligned(g->strict->a_bytes(g->k_block)) +
           aligned((size_t)(g->k_block * g->isa->nr) * sizeof(float));
}

void tfr_dnn_gemm_plan(tfr_dnn_gemm *g, const tfr_dnn_gemm_cpu *cpu,
                       const tfr_dnn_gemm_shape *shape, int threads)
{
    int64_t b_panels;
    int i;

    memset(g, 0, sizeof *g);
    g->shape = *shape;
    g->strict = g->isa = cpu->strict;
    if (!no_isa(cpu, shape->math_mode))
        g->isa = &cpu->modes[shape->math_mode - 1];
    g->n_batch = 1;
    for (i = 0; i < TFR_DNN_GEMM_BATCH_RANK; i++) {
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

/* ---- operands ---- */

/* Rows from i of A, or columns from i of B, and k from k0 of n_k. */
static tfr_dnn_source source_of(const float *at, int64_t ld, bool k_is_row, int64_t i, int64_t n,
                                int64_t k0, int64_t n_k)
{
    tfr_dnn_source s;

    s.major_step = k_is_row ? 1 : ld;
    s.k_step = k_is_row ? ld : 1;
    s.at = at + i * s.major_step + k0 * s.k_step;
    s.n = n;
    s.k = n_k;
    return s;
}

static tfr_dnn_source source_of_a(const tfr_dnn_gemm *g, const float *a, int64_t row, int64_t rows,
                                  int64_t k0, int64_t k)
{
    return source_of(a, g->shape.lda, g->shape.trans_a, row, rows, k0, k);
}

static tfr_dnn_source source_of_b(const tfr_dnn_gemm *g, const float *b, int64_t column,
                                  int64_t columns, int64_t k0, int64_t k)
{
    return source_of(b, g->shape.ldb, !g->shape.trans_b, column, columns, k0, k);
}

/* Packed B is all panels of the first block of K, then those of the next. */
static size_t packed_at(const tfr_dnn_gemm *g, int64_t k0, int64_t k, int64_t panel)
{
    return g->isa->b_bytes(g->k_block) * (size_t)(k0 / g->k_block * g->n_panels) +
           g->isa->b_bytes(k) * (size_t)panel;
}

/* The rows of panel i; panels are of equal height where the tile can be. */
static int64_t panel_row(const tfr_dnn_gemm *g, int64_t i)
{
    if (g->isa->whole_panels)
        return smaller(i * g->isa->mr, g->shape.m);
    return g->shape.m * i / g->row_panels;
}

bool tfr_dnn_gemm_pack(const tfr_dnn_gemm *g, const float *b, void *packed)
{
    int64_t k0;

    for (k0 = 0; k0 < g->shape.k; k0 += g->k_block) {
        const int64_t k = smaller(g->k_block, g->shape.k - k0);
        const tfr_dnn_source s = source_of_b(g, b, 0, g->shape.n, k0, k);
        if (!g->isa->pack_b((char *)packed + packed_at(g, k0, k, 0), &s))
            return false;
    }
    return true;
}

bool tfr_dnn_gemm_holds(const tfr_dnn_gemm *g, const float *b)
{
    const tfr_dnn_gemm_isa *isa = g->isa;
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

/* ---- panels of A for all stripes ---- */

/* What is computed of K: all of it, or the round whose panels of A are there. */
typedef struct range_of_k {
    int64_t begin, end;
} range_of_k;

static range_of_k range_of(const tfr_dnn_gemm *g, const tfr_dnn_gemm_args *args)
{
    const int64_t each = g->shared_blocks * g->k_block;
    range_of_k range = {0, g->shape.k};

    if (args->shared_a) {
        range.begin = args->round * each;
        range.end = smaller(range.begin + each, g->shape.k);
    }
    return range;
}

/* Panel i of the packed block of K at k0. */
static char *shared_panel(const tfr_dnn_gemm *g, const tfr_dnn_gemm_args *args, int64_t k0,
                          int64_t i)
{
    const int64_t block = k0 / g->k_block - args->round * g->shared_blocks;
    return (char *)args->shared_a + shared_block_bytes(g) * (size_t)block +
           g->isa->a_bytes(g->k_block) * (size_t)i;
}

/* Its byte that says that it could not be packed. */
static char *shared_failure(const tfr_dnn_gemm *g, const tfr_dnn_gemm_args *args, int64_t k0,
                            int64_t i)
{
    return shared_panel(g, args, k0, g->row_panels) + i;
}

void tfr_dnn_gemm_pack_a(const tfr_dnn_gemm *g, const tfr_dnn_gemm_args *args, int64_t begin,
                         int64_t end)
{
    const range_of_k range = range_of(g, args);
    int64_t i, k0;

    for (i = begin; i < end; i++) {
        const int64_t row = panel_row(g, i), rows = panel_row(g, i + 1) - row;
        for (k0 = range.begin; k0 < range.end; k0 += g->k_block) {
            const int64_t k = smaller(g->k_block, g->shape.k - k0);
            const tfr_dnn_source a = source_of_a(g, args->a, row, rows, k0, k);
            *shared_failure(g, args, k0, i) = !g->isa->pack_a(shared_panel(g, args, k0, i), &a);
        }
    }
}

/* ---- one unit ---- */

/* A stripe of one product of the batch. */
typedef struct unit {
    const tfr_dnn_gemm *g;
    range_of_k range;
    tfr_dnn_gemm_args own; /* args of this product of the batch */
    void *a_panel, *b_block;
    void *strict_a, *strict_b; /* where isa is not the strict one */
    int64_t row_begin, row_end, panel_begin, panel_end, column; /* rows count in panels, too */
    int64_t k0, k;                                              /* the block of K */
    bool finishes;                                              /* there is an epilogue */
    bool keeps_c;                                               /* the residual is what C holds */
    bool b_failed; /* the block of B could not be packed */
    /* Packed B that is wanted after this block, its lines, and the tiles that still fetch some. */
    const char *next_b;
    int64_t next_lines, next_tiles;
} unit;

/* Panel p of the block of B that is worked on. */
static const void *b_panel(const unit *u, int64_t p, int64_t *step)
{
    const tfr_dnn_gemm *g = u->g;
    const int64_t nr = g->isa->nr;

    *step = nr;
    if (g->shape.b_packed)
        return (const char *)u->own.b + packed_at(g, u->k0, u->k, p);
    if (!g->raw_b)
        return (const char *)u->b_block + g->isa->b_bytes(u->k) * (size_t)(p - u->panel_begin);
    if ((p + 1) * nr <= g->shape.n) {
        *step = g->shape.ldb;
        return (const float *)u->own.b + u->k0 * g->shape.ldb + p * nr;
    }
    return u->b_block; /* the only panel that is packed: it has less than nr columns */
}

static void pack_block_of_b(unit *u)
{
    const tfr_dnn_gemm *g = u->g;
    int64_t begin = u->panel_begin * g->isa->nr;
    int64_t end = smaller(u->panel_end * g->isa->nr, g->shape.n);
    tfr_dnn_source s;

    u->b_failed = false;
    if (g->shape.b_packed)
        return;
    if (g->raw_b)
        begin = end / g->isa->nr * g->isa->nr;
    if (begin >= end)
        return;
    s = source_of_b(g, u->own.b, begin, end - begin, u->k0, u->k);
    u->b_failed = !g->isa->pack_b(u->b_block, &s);
}

/* Panel p as [k][nr] floats. */
static void floats_of_b(const unit *u, int64_t p)
{
    const tfr_dnn_gemm *g = u->g;
    const int64_t nr = g->isa->nr, begin = p * nr, n = smaller(nr, g->shape.n - begin);
    tfr_dnn_source s = source_of_b(g, u->own.b, begin, n, u->k0, u->k);
    float *to = u->strict_b;
    int64_t step, i, k;

    if (!u->b_failed) {
        g->isa->unpack_b(to, b_panel(u, p, &step), u->k);
        return;
    }
    for (k = 0; k < u->k; k++, to += nr)
        for (i = 0; i < nr; i++)
            to[i] = i < n ? s.at[i * s.major_step + k * s.k_step] : 0.0f;
}

/* A tile of isa's size by the strict tiles. */
static void run_strictly(const unit *u, const tfr_dnn_gemm_tile *whole, int64_t row, int64_t p)
{
    const tfr_dnn_gemm *g = u->g;
    int64_t i, j;

    floats_of_b(u, p);
    for (i = 0; i < whole->rows; i += g->strict->mr) {
        const int64_t rows = smaller(g->strict->mr, whole->rows - i);
        const tfr_dnn_source a = source_of_a(g, u->own.a, row + i, rows, u->k0, u->k);
        tfr_dnn_gemm_tile t = {.a = u->strict_a, .k = u->k, .ldc = whole->ldc, .rows = (int)rows};
        t.b_step = g->isa->nr;
        t.accumulate = whole->accumulate;
        g->strict->pack_a(u->strict_a, &a);
        for (j = 0; j < whole->cols; j += g->strict->nr) {
            t.b = (const float *)u->strict_b + j;
            t.c = whole->c + i * whole->ldc + j;
            t.cols = (int)smaller(g->strict->nr, whole->cols - j);
            g->strict->tile(&t);
        }
    }
}

/*
 * Lines of panel i of A for panel p of B to fetch, all panels of the stripe the whole of it: rows
 * p, p + n... of it where it lies.
 */
static tfr_dnn_prefetch part_of_a(const unit *u, int64_t i, int64_t p)
{
    const tfr_dnn_gemm *g = u->g;
    const int64_t panels = u->panel_end - u->panel_begin, part = p - u->panel_begin;
    tfr_dnn_prefetch next = {0};

    if (i >= u->row_end)
        return next;
    if (u->own.shared_a) {
        const int64_t lines = (int64_t)g->isa->a_bytes(u->k) / LINE;
        const int64_t steps = ceil_div(u->k, PREFETCH_K);
        next.n = (int)ceil_div(ceil_div(lines, panels), larger(steps, 1));
        next.step = steps * LINE;
        next.at = shared_panel(g, &u->own, u->k0, i) + part * next.n * next.step;
    } else if (!g->shape.trans_a) {
        const int64_t row = panel_row(g, i), each = ceil_div(g->isa->mr, panels);
        next.n = (int)larger(smaller(each, panel_row(g, i + 1) - row - part * each), 0);
        next.step = g->shape.lda * (int64_t)sizeof(float);
        next.at = (const char *)(u->own.a + (row + part * each) * g->shape.lda + u->k0);
    }
    return next;
}

/*
 * Packed B is read once and comes from far away: the first panel of rows would wait for it. So the
 * tiles of a block fetch the next one into the second cache, each a part.
 */
static tfr_dnn_prefetch next_part_of_b(unit *u)
{
    const int64_t steps = ceil_div(u->k, PREFETCH_K);
    tfr_dnn_prefetch next = {0};

    if (u->next_lines <= 0 || u->next_tiles <= 0 || steps == 0)
        return next;
    next.n = (int)ceil_div(ceil_div(u->next_lines, u->next_tiles), steps);
    next.at = u->next_b;
    next.step = steps * LINE;
    u->next_b += next.n * next.step;
    u->next_lines -= next.n * steps;
    u->next_tiles--;
    return next;
}

static void set_next_b(unit *u, const void *b, size_t bytes)
{
    u->next_b = b;
    u->next_lines = b ? (int64_t)(bytes / LINE) : 0;
    u->next_tiles = (u->row_end - u->row_begin) * (u->panel_end - u->panel_begin);
}

/* Panel i of A for the tile. False: the format cannot hold it. */
static bool take_a(const unit *u, int64_t i, int64_t row, tfr_dnn_gemm_tile *t)
{
    tfr_dnn_source a;

    if (u->own.shared_a) {
        t->a = shared_panel(u->g, &u->own, u->k0, i);
        return !*shared_failure(u->g, &u->own, u->k0, i);
    }
    a = source_of_a(u->g, u->own.a, row, t->rows, u->k0, u->k);
    t->a = u->a_panel;
    return u->g->isa->pack_a(u->a_panel, &a);
}

static void run_panel(unit *u, int64_t i)
{
    const tfr_dnn_gemm *g = u->g;
    const tfr_dnn_gemm_shape *s = &g->shape;
    const int64_t nr = g->isa->nr, row = panel_row(g, i), rows = panel_row(g, i + 1) - row;
    const bool last = u->k0 + u->k >= s->k;
    tfr_dnn_gemm_tile t = {.k = u->k, .ldc = s->ldc, .rows = (int)rows};
    bool strictly;
    int64_t p;

    t.accumulate = u->k0 > 0 || u->keeps_c;
    strictly = !take_a(u, i, row, &t) || u->b_failed;
    for (p = u->panel_begin; p < u->panel_end; p++) {
        t.b = b_panel(u, p, &t.b_step);
        t.cols = (int)smaller(nr, s->n - p * nr);
        t.c = u->own.c + row * s->ldc + p * nr;
        t.next_c = NULL;
        if (p + 1 < u->panel_end)
            t.next_c = t.c + nr;
        else if (i + 1 < u->row_end && row + rows + g->isa->mr <= s->m)
            t.next_c = u->own.c + (row + rows) * s->ldc + u->panel_begin * nr;
        t.next_a = part_of_a(u, i + 1, p);
        t.next_b = next_part_of_b(u);
        if (strictly)
            run_strictly(u, &t, row, p);
        else
            g->isa->tile(&t);
        if (last && u->finishes)
            g->strict->finish(&s->epilogue, &u->own, t.c, s->ldc, row, p * nr, (int)rows, t.cols);
    }
}

/* The columns of a stripe in one block of K. */
static const void *stripe_of_b(const tfr_dnn_gemm *g, const void *packed, int64_t k0,
                               int64_t column, size_t *bytes)
{
    const int64_t k = smaller(g->k_block, g->shape.k - k0);
    const int64_t begin = g->n_panels * column / g->column_units;
    const int64_t end = g->n_panels * (column + 1) / g->column_units;

    *bytes = g->isa->b_bytes(k) * (size_t)(end - begin);
    return (const char *)packed + packed_at(g, k0, k, begin);
}

static int64_t column_of(const tfr_dnn_gemm *g, int64_t tile)
{
    return tile / g->row_units % g->column_units;
}

const void *tfr_dnn_gemm_first_b(const tfr_dnn_gemm *g, const void *packed, int64_t tile,
                                 size_t *bytes)
{
    return stripe_of_b(g, packed, 0, column_of(g, tile), bytes);
}

/* ahead: what is wanted after the unit. */
static void run_unit(unit *u, const void *ahead, size_t ahead_bytes)
{
    const tfr_dnn_gemm *g = u->g;
    const range_of_k *range = &u->range;
    int64_t i;

    for (u->k0 = range->begin; u->k0 == 0 || u->k0 < range->end; u->k0 += g->k_block) {
        u->k = smaller(g->k_block, g->shape.k - u->k0);
        set_next_b(u, ahead, ahead_bytes);
        if (g->shape.b_packed && u->k0 + g->k_block < range->end) {
            size_t bytes;
            const void *next = stripe_of_b(g, u->own.b, u->k0 + g->k_block, u->column, &bytes);
            set_next_b(u, next, bytes);
        }
        pack_block_of_b(u);
        for (i = u->row_begin; i < u->row_end; i++)
            run_panel(u, i);
    }
}

/* ---- all units ---- */

static void step_batch(const tfr_dnn_gemm *g, int64_t i, tfr_dnn_gemm_args *args)
{
    const tfr_dnn_gemm_shape *s = &g->shape;
    int64_t b = 0, c = 0;
    int d;

    for (d = TFR_DNN_GEMM_BATCH_RANK - 1; d >= 0; d--) {
        const int64_t at = i % s->batch[d];
        i /= s->batch[d];
        args->a += at * s->batch_a[d];
        b += at * s->batch_b[d];
        c += at * s->batch_c[d];
    }
    if (b != 0)
        args->b = (const float *)args->b + b;
    args->c += c;
    if (args->residual)
        args->residual += c;
}

static bool has_epilogue(const tfr_dnn_epilogue *e, const tfr_dnn_gemm_args *args)
{
    return e->alpha != 1.0f || e->activation != TFR_DNN_GEMM_NONE || args->addend ||
           args->row_bias || args->column_bias || args->residual;
}

void tfr_dnn_gemm_run(const tfr_dnn_gemm *g, const tfr_dnn_gemm_args *args, void *scratch,
                      int64_t begin, int64_t end)
{
    unit u = {.g = g, .range = range_of(g, args), .a_panel = scratch};
    tfr_dnn_gemm_args whole = *args;
    const void *ahead;
    size_t bytes;
    int64_t i;

    u.b_block = (char *)scratch + aligned(g->isa->a_bytes(g->k_block));
    if (g->isa != g->strict) {
        u.strict_a = (char *)scratch + g->scratch_bytes - strict_bytes(g);
        u.strict_b = (char *)u.strict_a + aligned(g->strict->a_bytes(g->k_block));
    }
    if (g->isa->begin)
        g->isa->begin();
    u.keeps_c = args->residual == args->c;
    if (u.keeps_c)
        whole.residual = NULL;
    u.finishes = has_epilogue(&g->shape.epilogue, &whole);
    for (i = begin; i < end; i++) {
        const int64_t row = i % g->row_units, rest = i / g->row_units;
        const int64_t column = rest % g->column_units;
        u.own = whole;
        step_batch(g, rest / g->column_units, &u.own);
        u.row_begin = g->row_panels * row / g->row_units;
        u.row_end = g->row_panels * (row + 1) / g->row_units;
        u.panel_begin = g->n_panels * column / g->column_units;
        u.panel_end = g->n_panels * (column + 1) / g->column_units;
        u.column = column;
        ahead = i + 1 < end ? NULL : args->ahead;
        bytes = args->ahead_bytes;
        if (g->shape.b_packed && i + 1 < end)
            ahead = stripe_of_b(g, args->b, u.range.begin, column_of(g, i + 1), &bytes);
        run_unit(&u, ahead, bytes);
    }
    if (g->isa->end)
        g->isa->end();
}

/* ---- all of it ---- */

typedef struct whole_run {
    const tfr_dnn_gemm *g;
    tfr_dnn_gemm_args args;
    char *scratch;
    atomic_int_fast64_t next_tile;
} whole_run;

static void pack_share(void *user, int64_t begin, int64_t end)
{
    const whole_run *run = user;
    tfr_dnn_gemm_pack_a(run->g, &run->args, begin, end);
}

/* Thread's share: tiles as they come, with the scratch memory of this number. */
static void run_share(void *user, int64_t begin, int64_t end)
{
    whole_run *run = user;
    int64_t i, tile;

    for (i = begin; i < end; i++)
        while ((tile = atomic_fetch_add_explicit(&run->next_tile, 1, memory_order_relaxed)) <
               run->g->n_tiles)
            tfr_dnn_gemm_run(run->g, &run->args, run->scratch + (size_t)i * run->g->scratch_bytes,
                             tile, tile + 1);
}

int64_t tfr_dnn_gemm_rounds(const tfr_dnn_gemm *g)
{
    return g->shared_blocks > 0 ? ceil_div(g->shape.k, g->shared_blocks * g->k_block) : 0;
}

size_t tfr_dnn_gemm_shared_bytes(const tfr_dnn_gemm *g)
{
    return g->shared_blocks > 0 ? shared_block_bytes(g) * (size_t)g->shared_blocks : 0;
}

size_t tfr_dnn_gemm_workspace(const tfr_dnn_gemm *g, int n_threads)
{
    return tfr_dnn_gemm_shared_bytes(g) + g->scratch_bytes * (size_t)smaller(n_threads, g->n_tiles);
}

void tfr_dnn_gemm_run_all(const tfr_dnn_gemm *g, const tfr_dnn_gemm_args *args, void *workspace,
                          const tfr_host *host, int n_threads)
{
    const int64_t n = smaller(n_threads, g->n_tiles), rounds = tfr_dnn_gemm_rounds(g);
    const bool alone = n <= 1 || !host || !host->parallel_for;
    whole_run run = {g, *args, (char *)workspace + tfr_dnn_gemm_shared_bytes(g), 0};

    run.args.shared_a = rounds > 0 ? workspace : NULL;
    for (run.args.round = 0; run.args.round < larger(rounds, 1); run.args.round++) {
        run.next_tile = 0;
        if (rounds > 0 && alone)
            pack_share(&run, 0, g->row_panels);
        else if (rounds > 0)
            host->parallel_for(pack_share, &run, g->row_panels, 0);
        if (alone)
            tfr_dnn_gemm_run(g, &run.args, run.scratch, 0, g->n_tiles);
        else
            host->parallel_for(run_share, &run, n, 1);
    }
}
