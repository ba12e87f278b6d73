/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_product.c: runs products of 8-bit integers: rows of A are packed for a block of rows, or
 * read where they lie, and meet one panel of B after the other. Sums stay in registers for all of
 * K, for which B needs no blocks: a panel of 16 columns is K cache lines of a quarter each, which
 * come from the second cache as fast as they are used.
 */
#include "int8_product.h"

#include <stdatomic.h>
#include <string.h>

#include "int8_layout.h"

/* ---- columns ---- */

/* Loops without questions: where K is small these numbers take as long as the products. */
static inline __attribute__((always_inline)) void
take_finish(const native_int8_finish *f, int64_t first, const int n, native_int8_columns *c)
{
    const size_t bytes = (size_t)n * sizeof(int32_t);
    int j;

    if (f->bias && !f->bias_is_far)
        memcpy(c->term, f->bias + first, bytes);
    else
        memset(c->term, 0, bytes);
    memset(c->far_bias, 0, (size_t)n * sizeof *c->far_bias);
    for (j = 0; f->bias_is_far && f->bias && j < n; j++)
        c->far_bias[j] = f->bias[first + j];
    if (f->addend)
        memcpy(c->addend, f->addend + first, bytes);
    if (f->rescale && f->scale_each)
        memcpy(c->rescale, f->rescale + first, (size_t)n * sizeof *c->rescale);
    for (j = 0; f->rescale && !f->scale_each && j < n; j++)
        c->rescale[j] = *f->rescale;
    if (f->rescale)
        for (j = 0; j < n; j++)
            c->scale[j] = (float)c->rescale[j];
    else if (f->scale && f->scale_each)
        memcpy(c->scale, f->scale + first, bytes);
    else
        for (j = 0; j < n; j++)
            c->scale[j] = f->scale ? *f->scale : 1.0f;
}

void native_int8_finish_columns(const native_int8_finish *f, int64_t first, int nr, int64_t n,
                                native_int8_columns *c)
{
    const int some = (int)int8_smaller(nr, n - first);
    int j;

    if (some == 16) /* a known number makes vectors of them */
        take_finish(f, first, 16, c);
    else
        take_finish(f, first, some, c);
    for (j = some; j < nr; j++) {
        c->term[j] = c->term[some - 1];
        c->far_bias[j] = c->far_bias[some - 1];
        c->addend[j] = c->addend[some - 1];
        c->scale[j] = c->scale[some - 1];
        c->rescale[j] = c->rescale[some - 1];
    }
}

/* What all rows have in common in a panel: made for each block of rows, which is little. */
static void take_columns(const native_int8_product *p, const native_int8_args *args, int64_t panel,
                         bool b_zeros, native_int8_columns *c)
{
    const int nr = p->way->nr, flip_b = p->shape.b_signed ? 0 : 128;
    const int64_t first = panel * nr;
    const int32_t *sums = native_int8_column_sums(p, args->packed) + first;
    const uint32_t a_zero = p->way->wide ? 0 : (uint32_t)(args->a_zero + int8_flip_a(p));
    int j;

    native_int8_finish_columns(&args->finish, first, nr, p->shape.n, c);
    for (j = 0; j < nr && b_zeros; j++) /* else nobody reads them */
        c->zero[j] = args->b_zero - flip_b;
    for (j = 0; j < nr && args->b_zeros; j++)
        c->zero[j] = args->b_zeros[int8_smaller(first + j, p->shape.n - 1)] - flip_b;
    if (p->way->halve)
        memcpy(c->all, sums, (size_t)nr * sizeof *sums);
    if (!b_zeros)
        memcpy(c->sum, sums, (size_t)nr * sizeof *sums);
    for (j = 0; j < nr && b_zeros; j++)
        c->sum[j] = (int32_t)((uint32_t)sums[j] - (uint32_t)p->shape.k * (uint32_t)c->zero[j]);
    for (j = 0; j < nr && a_zero && !args->a_zeros; j++)
        c->term[j] = (int32_t)((uint32_t)c->term[j] - a_zero * (uint32_t)c->sum[j]);
}

static bool has_b_zeros(const native_int8_product *p, const native_int8_args *args)
{
    const int32_t flip = p->shape.b_signed ? 0 : 128;
    int64_t n;

    if (!args->b_zeros)
        return args->b_zero != flip;
    for (n = 0; n < p->shape.n; n++)
        if (args->b_zeros[n] != flip)
            return true;
    return false;
}

/* ---- rows ---- */

/* A block of rows that is ready for tiles. */
typedef struct ready_rows {
    const uint8_t *a;
    int64_t step;          /* bytes */
    int32_t *sums, *zeros; /* sums: times the zero point of B, where it has one */
    uint8_t *lists;
    bool has_sums;
} ready_rows;

/* Rows of bytes that lie there, of which nothing but the products is asked. */
static bool take_halved(const native_int8_product *p, const native_int8_args *args, int64_t row,
                        int64_t n, const ready_rows *r)
{
    const native_int8_rows rows = {.to = (void *)(uintptr_t)r->a,
                                   .from = (const uint8_t *)args->a + row * p->shape.lda,
                                   .to_step = r->step,
                                   .from_step = p->shape.lda,
                                   .n = p->shape.k,
                                   .rows = n,
                                   .is_signed = p->shape.a_signed,
                                   .zero = args->a_zero};

    return p->way->take_halved && p->shape.window.rank == 0 && !r->has_sums && !args->a_zeros &&
           p->way->take_halved(&rows, p->k_padded, r->lists);
}

static void take_rows(const native_int8_product *p, const native_int8_args *args, int64_t row,
                      int64_t n, uint8_t *memory, ready_rows *r)
{
    int64_t i;

    r->a = memory;
    r->step = native_int8_row_bytes(p);
    if (p->in_place) {
        r->a = (const uint8_t *)args->a + row * p->shape.lda;
        r->step = p->shape.lda;
    } else if (take_halved(p, args, row, n, r)) {
        return;
    } else {
        native_int8_pack_rows(p, args, row, n, memory);
    }
    for (i = 0; i < n && r->has_sums; i++)
        r->sums[i] = p->way->sum(r->a + i * r->step, p->shape.k);
    for (i = 0; i < n && r->has_sums && !args->b_zeros; i++)
        r->sums[i] = (int32_t)((uint32_t)r->sums[i] *
                               (uint32_t)(args->b_zero - (p->shape.b_signed ? 0 : 128)));
    if (p->way->halve)
        p->way->halve(memory, r->step, n, p->k_padded,
                      args->a_zeros ? -1 : args->a_zero + (p->shape.a_signed ? 128 : 0), r->lists);
    for (i = 0; i < n && r->zeros; i++)
        r->zeros[i] = args->a_zeros[row + i] + int8_flip_a(p);
}

/* ---- tiles ---- */

/* Columns of the panels [panel, end) of a block of rows. row_of_c: which of them is c's first. */
typedef struct block {
    const native_int8_product *p;
    const native_int8_args *args;
    const ready_rows *rows;
    int64_t row, n, row_of_c;
    bool b_zeros;
} block;

static void set_band(const block *b, int64_t i, int64_t column, native_int8_band *band)
{
    const native_int8_finish *f = &b->args->finish;
    const int64_t ldc = b->p->shape.ldc, row = b->row + i, at = row * ldc + column;
    const int64_t at_c = (row - b->row_of_c) * ldc + column;
    const bool bytes = f->result == NATIVE_INT8_TO_U8 || f->result == NATIVE_INT8_TO_I8;

    band->finish = f;
    band->ldc = ldc;
    band->c = (char *)b->args->c + at_c * (bytes ? 1 : 4);
    band->row_sums = b->b_zeros && b->args->b_zeros ? b->rows->sums + i : NULL;
    band->row_terms = b->b_zeros && !b->args->b_zeros ? b->rows->sums + i : NULL;
    band->row_zeros = b->rows->zeros ? b->rows->zeros + i : NULL;
    band->lists = b->rows->lists;
    band->row_scale = f->row_scale ? f->row_scale + row : NULL;
    band->residual = f->residual ? f->residual + at : NULL;
    band->with = bytes && f->then ? (const uint8_t *)f->then->with + at : NULL;
}

/* Some tiles are finished together: what they have in common is set up once. */
static void run_tiles(const block *b, int64_t column, int64_t first, native_int8_tile *t,
                      native_int8_band *band, int32_t *sums)
{
    const native_int8_way *way = b->p->way;
    const int64_t n = b->n - first, tiles = int8_ceil_div(n, way->mr);
    int64_t i, end = 0;

    band->sums = sums;
    band->rows = 0;
    for (i = 0; i < tiles; i++) {
        const int64_t least = n / tiles, more = n % tiles; /* so many tiles have a row more */
        t->a = b->rows->a + (first + end) * t->a_step;
        t->rows = (int)(least + (i < more));
        end += t->rows;
        t->sums = sums + band->rows * way->nr;
        way->tile(t);
        band->rows += t->rows;
        if (i + 1 < tiles && (band->rows + way->mr) * way->nr <= INT8_SUMS)
            continue;
        set_band(b, first + end - band->rows, column, band);
        way->finish(band);
        band->rows = 0;
    }
}

static void run_panel(const block *b, int64_t panel, native_int8_columns *columns, int32_t *sums)
{
    const native_int8_product *p = b->p;
    const native_int8_way *way = p->way;
    const int64_t column = panel * way->nr;
    native_int8_tile t = {.a = b->rows->a, .a_step = b->rows->step};
    native_int8_band band = {.columns = columns, .rows = (int)b->n};
    int64_t done = 0;

    t.b = native_int8_panel(p, b->args->packed, panel);
    t.groups = int8_ceil_div(p->shape.k, native_int8_group(way));
    t.cols = band.cols = (int)int8_smaller(way->nr, p->shape.n - column);
    take_columns(p, b->args, panel, b->b_zeros, columns);
    if (way->panel) {
        set_band(b, 0, column, &band);
        done = way->panel(&t, &band);
    }
    run_tiles(b, column, done, &t, &band, sums);
}

static void run_block(const native_int8_product *p, const native_int8_args *args, void *scratch,
                      int64_t row, int64_t n, int64_t row_of_c, int64_t panel, int64_t panel_end)
{
    const int8_scratch s = native_int8_scratch(p, scratch);
    ready_rows r = {.sums = s.row_sums, .lists = s.lists};
    block b = {.p = p, .args = args, .rows = &r, .row = row, .n = n, .row_of_c = row_of_c};

    b.b_zeros = r.has_sums = has_b_zeros(p, args);
    r.zeros = args->a_zeros && !p->way->wide ? s.row_zeros : NULL;
    take_rows(p, args, row, n, s.rows, &r);
    for (; panel < panel_end; panel++)
        run_panel(&b, panel, s.columns, s.sums);
}

/* The blocks are as many tiles each as they can be, so that only the last one has a part of one. */
static int64_t first_row(const native_int8_product *p, int64_t row_unit)
{
    const int64_t mr = p->way->mr;

    return row_unit == p->row_units ? p->shape.m : p->shape.m * row_unit / p->row_units / mr * mr;
}

void native_int8_run(const native_int8_product *p, const native_int8_args *args, void *scratch,
                     int64_t begin, int64_t end)
{
    int64_t i;

    for (i = begin; i < end; i++) {
        const int64_t row_unit = i / p->column_units, column = i % p->column_units;
        const int64_t row = first_row(p, row_unit);
        run_block(p, args, scratch, row, first_row(p, row_unit + 1) - row, 0,
                  p->n_panels * column / p->column_units,
                  p->n_panels * (column + 1) / p->column_units);
    }
}

void native_int8_run_rows(const native_int8_product *p, const native_int8_args *args, void *scratch,
                          int64_t row, int64_t rows)
{
    run_block(p, args, scratch, row, rows, row, 0, p->n_panels);
}

/* ---- all of it ---- */

typedef struct whole_run {
    const native_int8_product *p;
    const native_int8_args *args;
    char *scratch;
    atomic_int_fast64_t next;
} whole_run;

/* A thread's share: units as they come, with the scratch memory of this number. */
static void run_share(void *user, int64_t begin, int64_t end)
{
    whole_run *run = user;
    int64_t i, unit;

    for (i = begin; i < end; i++)
        while ((unit = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed)) <
               run->p->n_units)
            native_int8_run(run->p, run->args, run->scratch + (size_t)i * run->p->scratch_bytes,
                            unit, unit + 1);
}

size_t native_int8_workspace(const native_int8_product *p, int n_threads)
{
    return p->scratch_bytes * (size_t)int8_smaller(n_threads, p->n_units);
}

void native_int8_run_all(const native_int8_product *p, const native_int8_args *args,
                         void *workspace, const tfr_host *host, int n_threads)
{
    const int64_t n = int8_smaller(n_threads, p->n_units);
    whole_run run = {p, args, workspace, 0};

    if (n <= 1 || !host || !host->parallel_for)
        native_int8_run(p, args, workspace, 0, p->n_units);
    else
        host->parallel_for(run_share, &run, n, 1);
}
