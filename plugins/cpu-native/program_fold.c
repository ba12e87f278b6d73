/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_fold.c: reductions of every kind over any axes. Neighbouring dims that are both reduced,
 * or both kept, are one; of the innermost two groups one is reduced and gives the rows of fold.h,
 * the other ones are walked. Where rows are short, several that lie beside each other are one row,
 * whose parts are folded onto each other at the end; where walks are, as for dims that are reduced
 * inside of kept ones inside of reduced ones, an outer group gives the rows, all that lies inside
 * of it is columns, and what is reduced there is reduced in their sums. A long reduction to few
 * numbers is cut in parts that depend on its dims alone, so that results are the same with any
 * number of threads.
 */
#include "program_fold_sums.h"

#include <string.h>

enum {
    NEAR = 4096,     /* elements of rows, before the next columns of these rows */
    NEAR_ROWS = 16,  /* that parts have a multiple of */
    LEAST_ROW = 64,  /* shorter ones are put together */
    PART = 32768,    /* elements of a part, at least */
    MOST_UNITS = 32, /* that are cut in parts */
    MOST_PARTS = 64,
    LEAST_LONG = 48,  /* of a row that is folded by itself; shorter ones are turned to columns */
    LEAST_WALK = 256, /* elements beside each other; with fewer an outer group gives the rows */
    LEAST_OUTER = 4   /* rows that it has then */
};

/* ---- walks ---- */

static int64_t offset_of(const native_fold_group *groups, int n, int64_t place)
{
    int64_t offset = 0;
    int i;

    for (i = n - 1; i >= 0; i--) {
        offset += place % groups[i].dim * groups[i].step;
        place /= groups[i].dim;
    }
    return offset;
}

/* Rows beside each other, or of n numbers in steps. */
static void add_rows(const native_reduction_step *r, native_fold *f, native_fold_fn add,
                     int64_t rows)
{
    const int64_t bytes = native_fold_bytes[r->type], n = f->n, near = NEAR / n;
    const char *x = f->x;

    if (r->together > 1) {
        f->rows = rows / r->together;
        f->step = f->n = r->together * n;
        add(f);
        f->x = x + f->rows * f->step * bytes;
        f->n = (rows - f->rows * r->together) * n;
        f->rows = f->n > 0;
        add(f);
        f->n = n;
        return;
    }
    f->step = r->step;
    for (; rows > 0; rows -= f->rows) {
        f->rows = rows < near ? rows : near;
        f->x = x;
        add(f);
        x += f->rows * r->step * bytes;
    }
}

/* Rows [first, end) of all that a result has; what is added up is columns numbers from x on. */
static void add_range(const native_reduction_step *r, native_fold_kind kind, const char *x,
                      int64_t columns, int64_t first, int64_t end, native_totals *s,
                      const double *top)
{
    const native_fold_fn add = r->isa->folds->rows[kind][r->type];
    native_fold f = {.to = s, .top = top, .n = columns};
    const int64_t begin = first;
    int64_t n;

    native_totals_begin(kind, native_fold_sums(kind, r->type), s, r->together * columns);
    for (; first < end; first += n) {
        const int64_t row = first % r->rows;
        const int64_t at = offset_of(r->over, r->n_over, first / r->rows) + row * r->step;
        n = r->rows - row < end - first ? r->rows - row : end - first;
        f.x = x + at * native_fold_bytes[r->type];
        add_rows(r, &f, add, n);
    }
    if (kind == NATIVE_FOLD_NEAR && !native_totals_finite(s->f64, r->together * columns)) {
        add_range(r, NATIVE_FOLD_SUM, x, columns, begin, end, s, top);
        return;
    }
    native_totals_fold_together(r, kind, s, r->together, columns);
    native_totals_fold_inside(r, kind, s, columns);
}

/* Where unit u begins, its columns, and its first result, of columns / r->within. */
static const char *unit_at(const native_reduction_step *r, const native_bases *bases, int64_t u,
                           int64_t *columns, int64_t *result)
{
    const int64_t column = u % r->blocks * r->columns, outer = u / r->blocks;

    *columns = r->inner - column < r->columns ? r->inner - column : r->columns;
    *result = (outer * r->inner + column) / r->within;
    return (const char *)native_at(bases, &r->from) +
           (offset_of(r->kept, r->n_kept, outer) + column) * native_fold_bytes[r->type];
}

static char *result_at(const native_reduction_step *r, const native_bases *bases, int64_t i)
{
    return (char *)native_at(bases, &r->to) + i * native_fold_bytes[r->type];
}

/* The result of a column, where others are reduced to it inside of what goes together. */
static int64_t result_of(const native_reduction_step *r, int64_t column)
{
    int i;

    for (i = 0; i < r->n_inside; i++) {
        const int64_t step = r->inside[i].step;
        column = column / (r->inside[i].dim * step) * step + column % step;
    }
    return column;
}

/* The tops of the logarithm of a sum of powers: of each column, for each of the rows that are one,
 * and of the results. */
static void find_tops(const native_reduction_step *r, const char *x, int64_t columns, double *top,
                      double *of_results)
{
    native_totals s;
    int64_t i;

    add_range(r, NATIVE_FOLD_GREATEST, x, columns, 0, r->steps, &s, NULL);
    for (i = 0; i < columns / r->within; i++)
        of_results[i] = native_totals_number(&s, r->type, i);
    for (i = 0; i < columns; i++)
        top[i] = of_results[result_of(r, i)];
    for (; i < r->together * columns; i++)
        top[i] = top[i - columns];
}

/* Numbers count units. */
static void run_units(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const native_reduction_step *r = params;
    const bool powers = r->kind.fold == NATIVE_FOLD_EXP;
    double top[NATIVE_FOLD_COLUMNS + NATIVE_FOLD_LANES], of_results[NATIVE_FOLD_COLUMNS];
    int64_t columns, result;
    native_totals s;

    for (; begin < end; begin++) {
        const char *x = unit_at(r, bases, begin, &columns, &result);
        if (powers)
            find_tops(r, x, columns, top, of_results);
        add_range(r, native_totals_adding(r), x, columns, 0, r->steps, &s, powers ? top : NULL);
        native_totals_end(r, &s, powers ? of_results : NULL, result_at(r, bases, result),
                          columns / r->within);
    }
}

static void fold_each(const native_reduction_step *r, native_fold_kind kind, const char *x,
                      native_totals *s, int64_t n)
{
    const int64_t bytes = r->rows * native_fold_bytes[r->type],
                  sum_bytes = native_fold_bytes[r->sum_type];
    const native_fold_fn fold = r->isa->folds->ones[kind][r->type];
    int64_t i;

    native_totals_begin(kind, r->sum_type, s, n);
    for (i = 0; i < n; i++)
        fold(&(native_fold){
            .x = x + i * bytes, .rows = 1, .n = r->rows, .to = (char *)s + i * sum_bytes});
}

/* Rows that lie one behind the other, each by itself: numbers count rows. */
static void run_rows(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const native_reduction_step *r = params;
    const int64_t bytes = r->rows * native_fold_bytes[r->type];
    const char *x = (const char *)native_at(bases, &r->from);
    int64_t n;
    native_totals s;

    for (; begin < end; begin += n) {
        n = end - begin < NATIVE_SHORT_ROWS ? end - begin : NATIVE_SHORT_ROWS;
        fold_each(r, native_totals_adding(r), x + begin * bytes, &s, n);
        if (native_totals_adding(r) == NATIVE_FOLD_NEAR && !native_totals_finite(s.f64, n))
            fold_each(r, NATIVE_FOLD_SUM, x + begin * bytes, &s, n);
        native_totals_end(r, &s, NULL, result_at(r, bases, begin), n);
    }
}

/* The tops of what is folded to s. */
static void find_turned_tops(const native_reduction_step *r, const native_fold *f, native_totals *s,
                             double *top)
{
    int64_t i;

    native_totals_begin(NATIVE_FOLD_GREATEST, r->type, s, f->n);
    r->isa->folds->rows[NATIVE_FOLD_GREATEST][r->type](f);
    for (i = 0; i < f->n; i++)
        top[i] = native_totals_number(s, r->type, i);
}

/* Rows that lie one behind the other, turned to columns part by part: numbers count rows. */
static void run_short(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const native_reduction_step *r = params;
    const bool powers = r->kind.fold == NATIVE_FOLD_EXP; /* of one part */
    const int64_t bytes = native_fold_bytes[r->type];
    const char *x = (const char *)native_at(bases, &r->from);
    uint64_t turned[NATIVE_SHORT_ROWS * NATIVE_SHORT];
    double top[NATIVE_SHORT_ROWS];
    native_fold f = {.x = turned, .top = powers ? top : NULL};
    int64_t n, first;
    native_totals s;

    f.to = &s;
    for (; begin < end; begin += n) {
        f.n = f.step = n = end - begin < NATIVE_SHORT_ROWS ? end - begin : NATIVE_SHORT_ROWS;
        for (first = 0; first < r->rows; first += f.rows) {
            f.rows = r->rows - first < NATIVE_SHORT ? r->rows - first : NATIVE_SHORT;
            native_turn_rows(r->isa, x + (begin * r->rows + first) * bytes, r->rows, n, f.rows,
                             bytes, turned);
            if (powers)
                find_turned_tops(r, &f, &s, top);
            if (first == 0)
                native_totals_begin(r->kind.fold, r->sum_type, &s, n);
            r->isa->folds->rows[r->kind.fold][r->type](&f);
        }
        native_totals_end(r, &s, f.top, result_at(r, bases, begin), n);
    }
}

/* Few numbers of few columns for each result of a kept group: turned, so that rows are longer. */
static void run_small(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const native_reduction_step *r = params;
    const int64_t bytes = native_fold_bytes[r->type], unit = r->rows * r->inner;
    const int64_t most = NATIVE_FOLD_COLUMNS / r->inner < NATIVE_SHORT_ROWS
                             ? NATIVE_FOLD_COLUMNS / r->inner
                             : NATIVE_SHORT_ROWS;
    const char *x = (const char *)native_at(bases, &r->from);
    uint64_t turned[NATIVE_SHORT_ROWS * NATIVE_SHORT], results[NATIVE_FOLD_COLUMNS];
    const bool powers = r->kind.fold == NATIVE_FOLD_EXP;
    double top[NATIVE_FOLD_COLUMNS];
    native_fold f = {.x = turned, .rows = r->rows, .top = powers ? top : NULL};
    int64_t n;
    native_totals s;

    f.to = &s;
    for (; begin < end; begin += n) {
        n = end - begin < most ? end - begin : most;
        f.n = f.step = n * r->inner;
        native_turn_rows(r->isa, x + begin * unit * bytes, unit, n, unit, bytes, turned);
        if (powers)
            find_turned_tops(r, &f, &s, top);
        native_totals_begin(r->kind.fold, r->sum_type, &s, f.n);
        r->isa->folds->rows[r->kind.fold][r->type](&f);
        native_totals_end(r, &s, f.top, results, f.n);
        native_turn_rows(r->isa, results, n, r->inner, n, bytes,
                         result_at(r, bases, begin * r->inner));
    }
}

/* ---- parts ---- */

static char *part_at(const native_reduction_step *r, const native_bases *bases, int64_t number)
{
    char *at = r->shared ? bases->shared : (char *)native_at(bases, &r->parts_at);

    return at + number * (r->columns / r->within) * native_fold_bytes[r->sum_type];
}

/* Numbers count parts, which lie as [unit][part]. */
static void run_parts(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const native_reduction_step *r = params;
    int64_t columns, result;
    native_totals s;

    for (; begin < end; begin++) {
        const char *x = unit_at(r, bases, begin / r->parts, &columns, &result);
        const int64_t first = begin % r->parts * r->part;
        add_range(r, native_totals_adding(r), x, columns, first,
                  r->steps - first < r->part ? r->steps : first + r->part, &s, NULL);
        memcpy(part_at(r, bases, begin), &s,
               (size_t)(columns / r->within * native_fold_bytes[r->sum_type]));
    }
}

/* Numbers count units. */
static void merge_parts(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const native_reduction_step *r = params;
    int64_t columns, result;
    native_totals s;

    for (; begin < end; begin++) {
        unit_at(r, bases, begin, &columns, &result);
        columns /= r->within;
        native_totals_begin(r->kind.fold, r->sum_type, &s, columns);
        native_totals_merge(r,
                            r->kind.fold)(&(native_fold){.x = part_at(r, bases, begin * r->parts),
                                                         .rows = r->parts,
                                                         .step = r->columns / r->within,
                                                         .n = columns,
                                                         .to = &s});
        native_totals_end(r, &s, NULL, result_at(r, bases, result), columns);
    }
}

/* ---- plans ---- */

/* From the innermost dim outwards; dims of one are nothing. */
static int merge_dims(const native_planner *p, const native_value *x, uint32_t axes,
                      native_fold_group *groups, bool *reduced)
{
    int64_t step = 1;
    int d, n = 0;

    for (d = x->rank - 1; d >= 0; d--) {
        const int64_t dim = d == 0 ? native_first_dim(p, x) : x->dims[d];
        const bool over = axes >> d & 1;
        if (dim != 1 && n > 0 && reduced[n - 1] == over) {
            groups[n - 1].dim *= dim;
        } else if (dim != 1) {
            reduced[n] = over;
            groups[n++] = (native_fold_group){dim, step};
        }
        step *= dim;
    }
    return n;
}

/*
 * The group whose dims are rows: the innermost one that is reduced, or, where less than LEAST_WALK
 * elements lie beside each other and others around them are reduced, the longest of these.
 */
static int find_rows(const native_fold_group *groups, const bool *reduced, int n)
{
    int i = n > 0 && !reduced[0], best = i, k;

    if (i >= n || groups[i].step * groups[i].dim >= LEAST_WALK)
        return i;
    for (k = i + 2; k < n && groups[k - 1].step <= NATIVE_FOLD_COLUMNS; k += 2) {
        if (groups[k].dim >= LEAST_OUTER && (best == i || groups[k].dim > groups[best].dim))
            best = k;
    }
    return best;
}

static void read_groups(const native_planner *p, const native_value *x, uint32_t axes,
                        native_reduction_step *r)
{
    native_fold_group groups[TFR_MAX_RANK];
    bool reduced[TFR_MAX_RANK];
    const int n = merge_dims(p, x, axes, groups, reduced);
    const int at = find_rows(groups, reduced, n);
    int i;

    r->rows = r->outer = r->within = r->period = 1;
    r->inner = at < n ? groups[at].step : n > 0 ? groups[0].dim : 1;
    r->step = r->inner;
    if (at < n)
        r->rows = groups[at].dim;
    r->steps = r->rows;
    for (i = n - 1; i > at; i--) {
        if (reduced[i])
            r->over[r->n_over++] = groups[i];
        else
            r->kept[r->n_kept++] = groups[i];
        *(reduced[i] ? &r->steps : &r->outer) *= groups[i].dim;
    }
    for (i = at - 1; i >= 0 && at < n; i--) {
        if (reduced[i]) {
            r->inside[r->n_inside++] = groups[i];
            r->within *= groups[i].dim;
            r->period = groups[at - 1].step;
        }
    }
    r->terms = r->steps * r->within;
}

static void find_parts(const native_planner *p, native_reduction_step *r)
{
    const int64_t units = r->outer * r->blocks;
    int64_t parts = r->steps * r->columns / PART;

    r->parts = 1;
    r->part = r->steps;
    /* Plans of fewer samples have to give the same bits. */
    if (units >= MOST_UNITS || parts < 2 || r->kind.fold == NATIVE_FOLD_EXP ||
        (p->item->by_samples && (p->staging || p->ir->samples > 1)))
        return;
    parts = parts < MOST_PARTS ? parts : MOST_PARTS;
    r->part = (r->steps + parts - 1) / parts;
    r->part = (r->part + NEAR_ROWS * r->together - 1) / (NEAR_ROWS * r->together) * NEAR_ROWS *
              r->together;
    r->parts = (r->steps + r->part - 1) / r->part;
}

static void plan_parts(native_planner *p, native_reduction_step *r, double cost)
{
    const int64_t units = r->outer * r->blocks;
    const uint64_t bytes = (uint64_t)(units * r->parts * (r->columns / r->within)) *
                           (uint64_t)native_fold_bytes[r->sum_type];

    r->shared = !p->staging;
    if (r->shared)
        native_need_shared(p, bytes);
    else
        r->parts_at = native_derived(p, bytes);
    native_add_run(p, run_parts, r, units * r->parts, cost);
    native_add_run(p, merge_parts, r, units, (double)(units * r->parts * r->columns))->alone = true;
}

void native_plan_fold(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]];
    native_reduction_step *r = native_keep(p, sizeof *r);
    double cost;

    if (!r)
        return;
    r->isa = p->isa;
    r->from = native_ref_of(p, item->inputs[0]);
    r->to = native_ref_of(p, item->output);
    r->kind = *native_reduction_of(item->call);
    r->type = (native_fold_type)native_fold_type_of(tfr_call_input(item->call, 0)->dtype);
    r->sum_type = native_fold_sums(r->kind.fold, r->type);
    read_groups(p, x, item->axes, r);
    r->columns =
        r->inner < NATIVE_FOLD_COLUMNS ? r->inner : NATIVE_FOLD_COLUMNS / r->period * r->period;
    r->blocks = (r->inner + r->columns - 1) / r->columns;
    r->together = r->step != r->inner || r->inner >= LEAST_ROW / 2 ? 1
                  : r->inner == 1                                  ? NATIVE_FOLD_LANES
                                                                   : LEAST_ROW / r->inner;
    if (r->together > r->rows)
        r->together = r->rows;
    find_parts(p, r);
    cost = (double)native_count(p, x) * (r->kind.fold == NATIVE_FOLD_EXP ? 1.0 : 0.15) +
           (double)r->outer * 20.0;
    if (r->parts > 1)
        plan_parts(p, r, cost);
    else if (r->inner > 1 && r->within == 1 && r->n_over == 0 && r->n_kept == 1 &&
             r->kept[0].step == r->rows * r->inner && r->kept[0].step <= NATIVE_SHORT)
        native_add_run(p, run_small, r, r->outer, cost);
    else if (r->inner == 1 && r->n_over == 0 && r->n_kept < 2 &&
             r->kept[0].step == r->rows * (r->n_kept > 0) &&
             (r->kind.fold != NATIVE_FOLD_EXP || r->rows <= NATIVE_SHORT))
        native_add_run(
            p, r->rows < LEAST_LONG || r->kind.fold == NATIVE_FOLD_EXP ? run_short : run_rows, r,
            r->outer, cost);
    else
        native_add_run(p, run_units, r, r->outer * r->blocks, cost);
}
