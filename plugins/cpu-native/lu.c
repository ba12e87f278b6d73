/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lu.c: see lu.h.
 *
 * Products are cut into blocks of 60 rows and 64 columns, which threads share: of a block of 256 of
 * k, the columns' panels come from the first cache and the rows' from the second. Rows of the whole
 * matrix change places as soon as a strip of eight columns says so.
 */
#include "lu.h"

#include <math.h>
#include <string.h>

#include "isa.h"

enum {
    ROWS = NATIVE_LU_ROWS,
    STRIP = NATIVE_LU_STRIP,
    CHUNK = 32,         /* columns that are solved for at once */
    BLOCK_ROWS = 60,    /* of a task of a product */
    BLOCK_COLUMNS = 64, /* the same */
    BLOCK_K = 256,
    SMALL = 1 << 19 /* products of one thread */
};

static int64_t at_least(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static int64_t least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static const native_lu_isa *find_isa(const tfr_plugin_device *device)
{
#if defined(__x86_64__)
    if (device->isa == &native_avx512)
        return &native_lu_avx512;
    if (device->isa == &native_avx2)
        return &native_lu_avx2;
#endif
    (void)device;
    return &native_lu_portable;
}

/* ---- memory ---- */

/* Rows do not begin in the same place of a page, where they would share few lines of caches. */
static int64_t row_step(int64_t n)
{
    const int64_t step = at_least(n, 8);
    return step % 128 == 0 ? step + 8 : step;
}

/* Doubles of lu->left: L and U in triangles of panels, or L of half the columns. */
static int64_t left_doubles(int64_t n)
{
    return at_least((n + 2 * ROWS) * (n + 2 * ROWS), 8);
}

static int64_t right_doubles(int64_t n, int64_t lanes)
{
    const int64_t chunks = lanes * n * CHUNK, half = n * (n + NATIVE_LU_MAX_NR);
    return at_least(chunks > half ? chunks : half, 8);
}

size_t native_lu_bytes(const tfr_plugin_device *device, int64_t n, int64_t lanes)
{
    (void)device;
    return sizeof(double) *
           (size_t)(at_least(n, 8) + n * row_step(n) + left_doubles(n) + right_doubles(n, lanes));
}

void native_lu_begin(native_lu *lu, const tfr_plugin_device *device, int64_t n, void *memory)
{
    memset(lu, 0, sizeof *lu);
    lu->device = device;
    lu->isa = find_isa(device);
    lu->n = n;
    lu->lda = row_step(n);
    lu->order = memory;
    lu->a = (double *)memory + at_least(n, 8);
    lu->left = lu->a + n * lu->lda;
    lu->right = lu->left + left_doubles(n);
}

/* ---- parts of A as panels ---- */

/* Rows [row, row + rows) of columns [k0, k1): [k][ROWS], with zeros for rows that are not there. */
static void pack_rows(const native_lu *lu, int64_t row, int64_t rows, int64_t k0, int64_t k1,
                      double *to)
{
    const double *from = lu->a + row * lu->lda;
    int64_t k, r;

    if (rows == ROWS) {
        for (k = k0; k < k1; k++, to += ROWS)
            for (r = 0; r < ROWS; r++)
                to[r] = from[r * lu->lda + k];
        return;
    }
    for (k = k0; k < k1; k++, to += ROWS)
        for (r = 0; r < ROWS; r++)
            to[r] = r < rows ? from[r * lu->lda + k] : 0;
}

/* Copies columns between A and a panel, rows [row, row + n). */
static void move_columns(const native_lu *lu, int64_t row, int64_t n, int64_t column,
                         int64_t columns, double *panel, bool out)
{
    const int nr = lu->isa->nr;
    double *a = lu->a + row * lu->lda + column;
    int64_t i;

    for (i = 0; i < n; i++, a += lu->lda, panel += nr) {
        if (out) {
            memcpy(a, panel, (size_t)columns * sizeof *a);
        } else {
            memcpy(panel, a, (size_t)columns * sizeof *a);
            if (columns < nr)
                memset(panel + columns, 0, (size_t)(nr - columns) * sizeof *a);
        }
    }
}

/* ---- substitution in a panel of columns ---- */

/* Doubles before the panel of rows from `row` on, of L from column `first` on: each has its columns
 * before the triangle and those of it. */
static int64_t lower_at(int64_t row)
{
    const int64_t p = row / ROWS;
    return (p * (p + 1) / 2) * ROWS * ROWS;
}

/* Packs rows [k0, k1) of L, whose first column is k0. */
static void pack_lower(const native_lu *lu, int64_t k0, int64_t k1, double *to)
{
    int64_t row;

    for (row = k0; row < k1; row += ROWS) {
        const int64_t rows = least(ROWS, k1 - row);
        pack_rows(lu, row, rows, k0, row + rows, to + lower_at(row - k0));
    }
}

/* n rows of `count` panels, from `first` on, a multiple of ROWS: those before are 0. */
static void substitute_down(const native_lu *lu, const double *packed, int64_t n, int64_t first,
                            double *panels, int64_t count)
{
    const native_lu_isa *isa = lu->isa;
    int64_t row, i;

    for (row = first; row < n; row += ROWS) {
        const int rows = (int)least(ROWS, n - row);
        const double *left = packed + lower_at(row);
        for (i = 0; i < count; i++) {
            double *panel = panels + i * n * isa->nr, *c = panel + row * isa->nr;
            isa->tile(left + first * ROWS, panel + first * isa->nr, row - first, c, isa->nr, rows,
                      isa->nr);
            isa->lower(left + row * ROWS, c, rows);
        }
    }
}

/* ---- L and U ---- */

typedef struct update {
    const native_lu *lu;
    int64_t k0, k1, end; /* columns [k0, k1) are L, [k1, end) change */
    double *triangle;    /* L's rows [k0, k1), packed */
    double *below;       /* and the others */
} update;

static int64_t panels_of(const update *u)
{
    return (u->end - u->k1 + u->lu->isa->nr - 1) / u->lu->isa->nr;
}

/* Columns by panels: the rows of U, which stay packed in lu->right. */
static void run_columns(void *user, int64_t begin, int64_t end)
{
    const update *u = user;
    const native_lu *lu = u->lu;
    const int64_t n = u->k1 - u->k0, nr = lu->isa->nr;

    for (; begin < end; begin++) {
        const int64_t column = u->k1 + begin * nr, columns = least(nr, u->end - column);
        double *panel = lu->right + begin * n * nr;
        move_columns(lu, u->k0, n, column, columns, panel, false);
        substitute_down(lu, u->triangle, n, 0, panel, 1);
        move_columns(lu, u->k0, n, column, columns, panel, true);
    }
}

/* Panels of rows below. */
static void run_packing(void *user, int64_t begin, int64_t end)
{
    const update *u = user;
    const native_lu *lu = u->lu;

    for (; begin < end; begin++) {
        const int64_t row = u->k1 + begin * ROWS;
        pack_rows(lu, row, least(ROWS, lu->n - row), u->k0, u->k1,
                  u->below + begin * ROWS * (u->k1 - u->k0));
    }
}

/* One block of the product. */
static void run_block(const update *u, int64_t row0, int64_t column0)
{
    const native_lu *lu = u->lu;
    const int64_t n = u->k1 - u->k0, nr = lu->isa->nr;
    const int64_t row1 = least(row0 + BLOCK_ROWS, lu->n);
    const int64_t column1 = least(column0 + BLOCK_COLUMNS, u->end);
    int64_t k, row, column;

    for (k = 0; k < n; k += BLOCK_K)
        for (column = column0; column < column1; column += nr)
            for (row = row0; row < row1; row += ROWS)
                lu->isa->tile(u->below + ((row - u->k1) * n + k * ROWS),
                              lu->right + ((column - u->k1) * n + k * nr), least(BLOCK_K, n - k),
                              lu->a + row * lu->lda + column, lu->lda, (int)least(ROWS, row1 - row),
                              (int)least(nr, column1 - column));
}

static void run_product(void *user, int64_t begin, int64_t end)
{
    const update *u = user;
    const int64_t across = (u->end - u->k1 + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;

    for (; begin < end; begin++)
        run_block(u, u->k1 + begin / across * BLOCK_ROWS, u->k1 + begin % across * BLOCK_COLUMNS);
}

static void share(const native_lu *lu, tfr_range_fn run, update *u, int64_t n, bool alone)
{
    if (n <= 0)
        return;
    if (alone)
        run(u, 0, n);
    else
        lu->device->host->parallel_for(run, u, n, 1);
}

/* Columns [k1, end) after L of [k0, k1). */
static void update_columns(const native_lu *lu, int64_t k0, int64_t k1, int64_t end)
{
    const int64_t n = k1 - k0, below = lu->n - k1, columns = end - k1;
    const bool alone = n * columns * (below + n / 2) < SMALL;
    update u = {lu, k0, k1, end, lu->left, lu->left + lower_at(at_least(n, ROWS))};

    pack_lower(lu, k0, k1, u.triangle);
    share(lu, run_columns, &u, panels_of(&u), alone);
    share(lu, run_packing, &u, (below + ROWS - 1) / ROWS, alone);
    share(lu, run_product, &u,
          (below + BLOCK_ROWS - 1) / BLOCK_ROWS * ((columns + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS),
          alone);
}

static void swap_rows(native_lu *lu, int64_t i, int64_t j)
{
    double *x = lu->a + i * lu->lda, *y = lu->a + j * lu->lda;
    const int64_t order = lu->order[i];
    int64_t c;

    for (c = 0; c < lu->n; c++) {
        const double keep = x[c];
        x[c] = y[c];
        y[c] = keep;
    }
    lu->order[i] = lu->order[j];
    lu->order[j] = order;
    lu->sign = -lu->sign;
}

/* Columns [begin, end), at most STRIP, copied beside each other. */
static bool factor_strip(native_lu *lu, int64_t begin, int64_t end)
{
    const int64_t m = lu->n - begin, width = end - begin;
    double *strip = lu->right, *a = lu->a + begin * lu->lda + begin;
    int64_t pivots[STRIP], i;

    for (i = 0; i < m; i++) {
        memset(strip + i * STRIP, 0, STRIP * sizeof *strip);
        memcpy(strip + i * STRIP, a + i * lu->lda, (size_t)width * sizeof *strip);
    }
    if (!lu->isa->strip(strip, m, (int)width, lu->least, pivots))
        return false;
    for (i = 0; i < width; i++)
        if (pivots[i] != i)
            swap_rows(lu, begin + i, begin + pivots[i]);
    for (i = 0; i < m; i++)
        memcpy(a + i * lu->lda, strip + i * STRIP, (size_t)width * sizeof *strip);
    return true;
}

static bool factor_columns(native_lu *lu, int64_t begin, int64_t end)
{
    int64_t middle;

    if (end - begin <= STRIP)
        return factor_strip(lu, begin, end);
    middle = begin + at_least((end - begin) / 2, STRIP);
    if (!factor_columns(lu, begin, middle))
        return false;
    update_columns(lu, begin, middle, end);
    return factor_columns(lu, middle, end);
}

bool native_lu_factor(native_lu *lu)
{
    double greatest = 0, nothing = 0;
    int64_t i, c;

    for (i = 0; i < lu->n; i++) {
        lu->order[i] = i;
        for (c = 0; c < lu->n; c++) {
            const double x = fabs(lu->a[i * lu->lda + c]);
            greatest = x > greatest ? x : greatest;
            nothing += x * 0;
        }
    }
    if (nothing != 0)
        return false;
    lu->sign = 1;
    lu->least = fmax(greatest * (double)lu->n * 0x1p-52, 0x1p-1000);
    return factor_columns(lu, 0, lu->n);
}

/* ---- solving ---- */

/* U's panels lie behind those of L, from the last rows on: the triangle, with inverses on the
 * diagonal, and the columns behind it. */
static int64_t upper_at(int64_t n, int64_t row)
{
    const int64_t panels = (n + ROWS - 1) / ROWS, p = row / ROWS;
    return lower_at(panels * ROWS) + lower_at((panels - 1 - p) * ROWS);
}

void native_lu_pack(native_lu *lu)
{
    int64_t row, i;

    pack_lower(lu, 0, lu->n, lu->left);
    for (row = 0; row < lu->n; row += ROWS) {
        const int64_t rows = least(ROWS, lu->n - row);
        double *to = lu->left + upper_at(lu->n, row);
        pack_rows(lu, row, rows, row, lu->n, to);
        for (i = 0; i < rows; i++)
            to[i * ROWS + i] = 1 / to[i * ROWS + i];
    }
}

int64_t native_lu_chunk(const native_lu *lu)
{
    (void)lu;
    return CHUNK;
}

double *native_lu_columns(const native_lu *lu, int64_t lane)
{
    return lu->right + lane * lu->n * CHUNK;
}

void native_lu_solve(const native_lu *lu, double *panels, int64_t columns, int64_t first)
{
    const native_lu_isa *isa = lu->isa;
    const int64_t n = lu->n, step = n * isa->nr, count = (columns + isa->nr - 1) / isa->nr;
    int64_t row, i;

    substitute_down(lu, lu->left, n, first / ROWS * ROWS, panels, count);
    for (row = (n - 1) / ROWS * ROWS; row >= 0; row -= ROWS) {
        const int64_t rows = least(ROWS, n - row), behind = row + rows;
        const double *left = lu->left + upper_at(n, row);
        for (i = 0; i < count; i++) {
            double *panel = panels + i * step, *c = panel + row * isa->nr;
            isa->tile(left + rows * ROWS, panel + behind * isa->nr, n - behind, c, isa->nr,
                      (int)rows, isa->nr);
            isa->upper(left, c, (int)rows);
        }
    }
}
