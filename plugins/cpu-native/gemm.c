/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm.c: runs the tiles of products, whatever the processor: the loops around the register tile.
 * gemm_plan.c says how they are cut; what a tile is and how operands are packed for it is in
 * gemm_<isa>.c.
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
 * Strict tiles pack on their way: those of the first panel of rows leave a copy of B where the
 * others read it, and the first tile of a panel of rows fills the panel of A in front of its use.
 * A copy costs as many loads and stores as packing does, but they lie between multiplications, of
 * which a tile has 28 for each k: 256 x 256 x 256 went from 92 to 95 % of the roof of a Zen 4 core,
 * 512 from 93 to 94 %.
 *
 * This turns K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
 * (2008), around: there B's panel is in the first cache and A's block in the second. With 14 rows
 * and 32 columns the tile reads less of a second cache's bandwidth than that has, K blocks become
 * twice as long, so that C is read and written half as often, and A needs no memory but one panel.
 *
 * A row of a panel of A is a short piece of a row of A, so each is on a page of its own, and if
 * pages are small, it waits for the page's address. So threads that have several stripes can share
 * panels that were packed for all of them, some blocks of K at a time. A thread that is alone packs
 * them on the way of its first stripe: packing them before takes 3 % of a product of 500 x 500.
 *
 * Tiles fetch what comes next on their way: the next tile of C, the next panel of A.
 */
#include "gemm_help.h"

#include <sched.h>

#include "gemm_layout.h"

enum {
    LINE = 64,
    PREFETCH_K = 16, /* k between the lines that a tile fetches */
    FAR = 8192, /* bytes: rows that lie a multiple of it apart share few places in the caches */
    MOST_WAITS = 10000
};

/* ---- panels of A for all stripes ---- */

/* What is computed of K: all of it, or the round whose panels of A are there. */
typedef struct range_of_k {
    int64_t begin, end;
} range_of_k;

static range_of_k range_of(const native_gemm *g, const native_gemm_args *args)
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
static char *shared_panel(const native_gemm *g, const native_gemm_args *args, int64_t k0, int64_t i)
{
    const int64_t block = k0 / g->k_block - args->round * g->shared_blocks;
    return (char *)args->shared_a + shared_block_bytes(g) * (size_t)block +
           g->isa->a_bytes(g->k_block) * (size_t)i;
}

/* Its byte that says that it could not be packed. */
static char *shared_failure(const native_gemm *g, const native_gemm_args *args, int64_t k0,
                            int64_t i)
{
    return shared_panel(g, args, k0, g->row_panels) + i;
}

void native_gemm_pack_a(const native_gemm *g, const native_gemm_args *args, int64_t begin,
                        int64_t end)
{
    const range_of_k range = range_of(g, args);
    int64_t i, k0;

    for (i = begin; i < end; i++) {
        const int64_t row = panel_row(g, i), rows = panel_row(g, i + 1) - row;
        for (k0 = range.begin; k0 < range.end; k0 += g->k_block) {
            const int64_t k = smaller(g->k_block, g->shape.k - k0);
            const native_source a = source_of_a(g, args->a, row, rows, k0, k);
            *shared_failure(g, args, k0, i) = !g->isa->pack_a(shared_panel(g, args, k0, i), &a);
        }
    }
}

/* ---- one unit ---- */

/* A stripe of one product of the batch. */
typedef struct unit {
    const native_gemm *g;
    range_of_k range;
    native_gemm_args own; /* args of this product of the batch */
    void *a_panel, *b_block;
    void *strict_a, *strict_b; /* where isa is not the strict one */
    int64_t row_begin, row_end, panel_begin, panel_end, column; /* rows count in panels, too */
    int64_t k0, k;                                              /* the block of K */
    bool finishes;                                              /* there is an epilogue */
    bool keeps_c;                                               /* the residual is what C holds */
    bool fills_a;         /* the first tile of each panel of rows packs it for other stripes */
    bool b_failed;        /* the block of B could not be packed */
    bool copies_b;        /* the first panel of rows packs the whole panels of the block of B */
    const char *packed_b; /* the first panel of the packed block of B, and what each takes */
    int64_t b_panel_bytes;
    int64_t steps;   /* of 16 k, at each of which a tile fetches lines */
    int64_t a_lines; /* of a packed panel of A for each tile and step */
    int64_t a_rows;  /* of A as it lies, for each tile */
    /* Packed B that is wanted after this block, its lines, and the tiles that still fetch some. */
    const char *next_b;
    int64_t next_lines, lines_each; /* lines of it that are left; of each tile and step */
    native_gemm_help *help;         /* who may take panels of rows; NULL = nobody */
} unit;

static void set_scratch(unit *u, void *scratch)
{
    const native_gemm *g = u->g;

    u->a_panel = scratch;
    u->b_block = (char *)scratch + aligned(g->isa->a_bytes(g->k_block));
    if (g->isa != g->strict) {
        u->strict_a = (char *)scratch + g->scratch_bytes - strict_bytes(g);
        u->strict_b = (char *)u->strict_a + aligned(g->strict->a_bytes(g->k_block));
    }
}

/* Is panel p of B read where it lies? The last one has fewer columns than a tile reads. */
static bool is_raw(const unit *u, int64_t i, int64_t p)
{
    return (u->g->raw_b || (u->copies_b && i == u->row_begin)) &&
           (p + 1) * u->g->isa->nr <= u->g->shape.n;
}

/* Where panel p of the block of B is packed. */
static void *packed_panel(const unit *u, int64_t p)
{
    return (char *)u->b_block + u->b_panel_bytes * (p - u->panel_begin);
}

/* Panel p of the block of B that is worked on, for the panel of rows i. */
static const void *b_panel(const unit *u, int64_t i, int64_t p, int64_t *step)
{
    const native_gemm *g = u->g;
    const int64_t nr = g->isa->nr;

    *step = nr;
    if (g->shape.b_packed)
        return u->packed_b + u->b_panel_bytes * (p - u->panel_begin);
    if (is_raw(u, i, p)) {
        *step = g->shape.ldb;
        return (const float *)u->own.b + u->k0 * g->shape.ldb + p * nr;
    }
    return packed_panel(u, g->raw_b ? u->panel_begin : p); /* raw_b: only the last one is packed */
}

static void pack_block_of_b(unit *u)
{
    const native_gemm *g = u->g;
    const int64_t nr = g->isa->nr;
    int64_t begin = u->panel_begin * nr, end = smaller(u->panel_end * nr, g->shape.n);
    native_source s;

    u->b_failed = false;
    if (g->shape.b_packed)
        return;
    if (g->shape.b_made) {
        u->own.make_b(u->own.b, packed_panel(u, u->panel_begin), begin, end - begin, u->k0, u->k,
                      (int)nr);
        return;
    }
    if (g->raw_b || u->copies_b)
        begin = end / nr * nr;
    if (begin >= end)
        return;
    s = source_of_b(g, u->own.b, begin, end - begin, u->k0, u->k);
    u->b_failed = !g->isa->pack_b(packed_panel(u, g->raw_b ? u->panel_begin : begin / nr), &s);
}

/* Panel p as [k][nr] floats. */
static void floats_of_b(const unit *u, int64_t p)
{
    const native_gemm *g = u->g;
    const int64_t nr = g->isa->nr, begin = p * nr, n = smaller(nr, g->shape.n - begin);
    native_source s = source_of_b(g, u->own.b, begin, n, u->k0, u->k);
    float *to = u->strict_b;
    int64_t step, i, k;

    if (!u->b_failed) {
        g->isa->unpack_b(to, b_panel(u, u->row_begin, p, &step), u->k);
        return;
    }
    for (k = 0; k < u->k; k++, to += nr)
        for (i = 0; i < nr; i++)
            to[i] = i < n ? s.at[i * s.major_step + k * s.k_step] : 0.0f;
}

/* A tile of isa's size by the strict tiles. */
static void run_strictly(const unit *u, const native_gemm_tile *whole, int64_t row, int64_t p)
{
    const native_gemm *g = u->g;
    int64_t i, j;

    floats_of_b(u, p);
    for (i = 0; i < whole->rows; i += g->strict->mr) {
        const int64_t rows = smaller(g->strict->mr, whole->rows - i);
        const native_source a = source_of_a(g, u->own.a, row + i, rows, u->k0, u->k);
        native_gemm_tile t = {.a = u->strict_a, .k = u->k, .ldc = whole->ldc, .rows = (int)rows};
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

/* Lines that the tiles of a panel fetch one after the other, and how many there are. */
typedef struct lines_ahead {
    native_prefetch next;
    int64_t left;
} lines_ahead;

/* Panel i of A; where it lies as it is, a line of each row. */
static lines_ahead lines_of_a(const unit *u, int64_t i)
{
    const native_gemm *g = u->g;
    lines_ahead a = {{0}, 0};

    if (i >= u->row_end)
        return a;
    if (u->own.shared_a && !u->fills_a) {
        a.next.at = shared_panel(g, &u->own, u->k0, i);
        a.next.step = u->steps * LINE;
        a.next.n = (int)u->a_lines;
        a.left = INT64_MAX;
    } else if (!g->shape.trans_a) {
        const int64_t row = panel_row(g, i);
        a.next.at = (const char *)(u->own.a + row * g->shape.lda + u->k0);
        a.next.step = g->shape.lda * (int64_t)sizeof(float);
        a.next.n = (int)u->a_rows;
        a.left = panel_row(g, i + 1) - row;
    }
    return a;
}

static native_prefetch next_lines(lines_ahead *a)
{
    native_prefetch next = a->next;

    next.n = (int)smaller(next.n, a->left);
    a->left -= next.n;
    a->next.at += next.n * next.step;
    return next;
}

/*
 * Packed B is read once and comes from far away: the first panel of rows would wait for it. So the
 * tiles of a block fetch the next one into the second cache, each a part.
 */
static native_prefetch next_part_of_b(unit *u)
{
    native_prefetch next = {0};

    if (u->next_lines <= 0)
        return next;
    next.n = (int)u->lines_each;
    next.at = u->next_b;
    next.step = u->steps * LINE;
    u->next_b += next.n * next.step;
    u->next_lines -= next.n * u->steps;
    return next;
}

static void set_next_b(unit *u, const void *b, size_t bytes)
{
    const int64_t tiles = (u->row_end - u->row_begin) * (u->panel_end - u->panel_begin);

    u->next_b = b;
    u->next_lines = b && tiles > 0 && u->steps > 0 ? (int64_t)(bytes / LINE) : 0;
    if (u->next_lines > 0)
        u->lines_each = ceil_div(ceil_div(u->next_lines, tiles), u->steps);
}

/* What all tiles of a block of K have in common: divisions take as long as some k of a tile. */
static void begin_block(unit *u)
{
    const native_gemm *g = u->g;
    const int64_t panels = larger(u->panel_end - u->panel_begin, 1);
    const int64_t lines = (int64_t)g->isa->a_bytes(u->k) / LINE;

    u->b_panel_bytes = (int64_t)g->isa->b_bytes(u->k);
    if (g->shape.b_packed)
        u->packed_b = (const char *)u->own.b + packed_at(g, u->k0, u->k, u->panel_begin);
    u->steps = ceil_div(u->k, PREFETCH_K);
    u->a_lines = ceil_div(ceil_div(lines, panels), larger(u->steps, 1));
    u->a_rows = u->fills_a ? g->isa->mr : ceil_div(g->isa->mr, panels);
}

/* Panel i of A for the tile. False: the format cannot hold it. */
static bool take_a(const unit *u, int64_t i, int64_t row, native_gemm_tile *t)
{
    native_source a;

    t->a = u->own.shared_a ? shared_panel(u->g, &u->own, u->k0, i) : u->a_panel;
    if (u->own.shared_a && !u->fills_a)
        return u->g->fills_a || !*shared_failure(u->g, &u->own, u->k0, i);
    a = source_of_a(u->g, u->own.a, row, t->rows, u->k0, u->k);
    if (u->g->isa->packs_on_its_way && a.k_step == 1) { /* the first tile packs it */
        t->raw_a = a.at;
        t->lda = a.major_step;
        return true;
    }
    return u->g->isa->pack_a(u->a_panel, &a);
}

static void run_panel(unit *u, int64_t i)
{
    const native_gemm *g = u->g;
    const native_gemm_shape *s = &g->shape;
    const int64_t nr = g->isa->nr, row = panel_row(g, i), rows = panel_row(g, i + 1) - row;
    const bool last = u->k0 + u->k >= s->k;
    native_gemm_tile t = {.k = u->k, .ldc = s->ldc, .rows = (int)rows};
    lines_ahead next_a = lines_of_a(u, i + 1);
    bool strictly;
    int64_t p;

    t.accumulate = u->k0 > 0 || u->keeps_c;
    strictly = !take_a(u, i, row, &t) || u->b_failed;
    for (p = u->panel_begin; p < u->panel_end; p++) {
        t.b = b_panel(u, i, p, &t.b_step);
        t.packed_b = !g->raw_b && is_raw(u, i, p) ? packed_panel(u, p) : NULL;
        t.cols = (int)smaller(nr, s->n - p * nr);
        t.c = u->own.c + row * s->ldc + p * nr;
        t.next_c = NULL;
        if (p + 1 < u->panel_end)
            t.next_c = t.c + nr;
        else if (i + 1 < u->row_end && row + rows + g->isa->mr <= s->m)
            t.next_c = u->own.c + (row + rows) * s->ldc + u->panel_begin * nr;
        t.next_a = next_lines(&next_a);
        t.next_b = next_part_of_b(u);
        if (strictly)
            run_strictly(u, &t, row, p);
        else
            g->isa->tile(&t);
        t.raw_a = NULL;
        if (last && u->finishes)
            g->strict->finish(&s->epilogue, &u->own, t.c, s->ldc, row, p * nr, (int)rows, t.cols);
    }
}

/* The columns of a stripe in one block of K. */
static const void *stripe_of_b(const native_gemm *g, const void *packed, int64_t k0, int64_t column,
                               size_t *bytes)
{
    const int64_t k = smaller(g->k_block, g->shape.k - k0);
    const int64_t begin = g->n_panels * column / g->column_units;
    const int64_t end = g->n_panels * (column + 1) / g->column_units;

    *bytes = g->isa->b_bytes(k) * (size_t)(end - begin);
    return (const char *)packed + packed_at(g, k0, k, begin);
}

static int64_t column_of(const native_gemm *g, int64_t tile)
{
    return tile / g->row_units % g->column_units;
}

const void *native_gemm_first_b(const native_gemm *g, const void *packed, int64_t tile,
                                size_t *bytes)
{
    return stripe_of_b(g, packed, 0, column_of(g, tile), bytes);
}

/* ---- panels of rows for others ---- */

static void take_panels(unit *u, native_gemm_help *help)
{
    int64_t i;

    while ((i = atomic_fetch_add_explicit(&help->next, 1, memory_order_relaxed)) < u->row_end)
        run_panel(u, i);
}

/* The first panel of rows copies the block of B; then it is for all who come. */
static void run_with_help(unit *u)
{
    native_gemm_help *help = u->help;
    unit shown;
    int64_t waits;

    if (u->row_begin < u->row_end)
        run_panel(u, u->row_begin);
    shown = *u;
    help->unit = &shown;
    atomic_store_explicit(&help->next, u->row_begin + 1, memory_order_relaxed);
    atomic_store(&help->open, true);
    take_panels(u, help);
    atomic_store(&help->open, false);
    for (waits = 0; atomic_load(&help->helpers) > 0; waits++)
        if (waits >= MOST_WAITS)
            sched_yield();
}

bool native_gemm_run_help(native_gemm_help *help, void *scratch)
{
    bool has_helped = false;

    atomic_fetch_add(&help->helpers, 1);
    if (atomic_load(&help->open)) {
        const unit *shown = help->unit;
        if (atomic_load_explicit(&help->next, memory_order_relaxed) < shown->row_end) {
            unit u = *shown;
            set_scratch(&u, scratch);
            u.b_block = shown->b_block;
            u.next_lines = 0;
            if (u.g->isa->begin)
                u.g->isa->begin();
            take_panels(&u, help);
            if (u.g->isa->end)
                u.g->isa->end();
            has_helped = true;
        }
    }
    atomic_fetch_sub(&help->helpers, 1);
    return has_helped;
}

/* ---- units ---- */

/* ahead: what is wanted after the unit. */
static void run_unit(unit *u, const void *ahead, size_t ahead_bytes)
{
    const native_gemm *g = u->g;
    const range_of_k *range = &u->range;
    int64_t i;

    for (u->k0 = range->begin; u->k0 == 0 || u->k0 < range->end; u->k0 += g->k_block) {
        u->k = smaller(g->k_block, g->shape.k - u->k0);
        begin_block(u);
        set_next_b(u, ahead, ahead_bytes);
        if (g->shape.b_packed && u->k0 + g->k_block < range->end) {
            size_t bytes;
            const void *next = stripe_of_b(g, u->own.b, u->k0 + g->k_block, u->column, &bytes);
            set_next_b(u, next, bytes);
        }
        pack_block_of_b(u);
        if (u->help) {
            run_with_help(u);
            continue;
        }
        for (i = u->row_begin; i < u->row_end; i++)
            run_panel(u, i);
    }
}

/* ---- all units ---- */

static void step_batch(const native_gemm *g, int64_t i, native_gemm_args *args)
{
    const native_gemm_shape *s = &g->shape;
    int64_t b = 0, c = 0;
    int d;

    for (d = NATIVE_GEMM_BATCH_RANK - 1; d >= 0; d--) {
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

/*
 * Do the first tiles copy the block of B? Where its rows are a multiple of 8 KiB apart, all have
 * the same place in the first cache and few in the second, so that others push out what a tile
 * fetches for the next one. Then the block is packed before, row by row.
 */
static bool copies_b(const native_gemm *g)
{
    const native_gemm_shape *s = &g->shape;

    if (!g->isa->packs_on_its_way || s->b_packed || s->b_made || s->trans_b || g->raw_b)
        return false;
    return !g->isa->packs_far_rows || s->ldb * (int64_t)sizeof(float) % FAR != 0;
}

static bool has_epilogue(const native_epilogue *e, const native_gemm_args *args)
{
    return e->alpha != 1.0f || e->activation != NATIVE_GEMM_NONE || args->addend ||
           args->row_bias || args->column_bias || args->residual;
}

void native_gemm_run(const native_gemm *g, const native_gemm_args *args, void *scratch,
                     int64_t begin, int64_t end)
{
    native_gemm_run_helped(g, args, scratch, begin, end, NULL);
}

void native_gemm_run_helped(const native_gemm *g, const native_gemm_args *args, void *scratch,
                            int64_t begin, int64_t end, native_gemm_help *help)
{
    unit u = {.g = g, .range = range_of(g, args), .help = help};
    native_gemm_args whole = *args;
    const void *ahead;
    size_t bytes;
    int64_t i;

    set_scratch(&u, scratch);
    if (g->isa->begin)
        g->isa->begin();
    u.copies_b = copies_b(g);
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
        u.fills_a = g->fills_a && u.own.shared_a && column == 0;
        ahead = i + 1 < end ? NULL : args->ahead;
        bytes = args->ahead_bytes;
        if (g->shape.b_packed && i + 1 < end)
            ahead = stripe_of_b(g, args->b, u.range.begin, column_of(g, i + 1), &bytes);
        run_unit(&u, ahead, bytes);
    }
    if (g->isa->end)
        g->isa->end();
}
