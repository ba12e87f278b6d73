/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_arg.c: ArgMax and ArgMin along any axis. Along the innermost one the greatest number of
 * each part of a row is found first, in vectors, and then where the greatest of them is; along
 * another one 64 columns go together, each with its best number and the place of it.
 */
#include "program_fold.h"
#include "row_search.h"
#include "turn.h"

#include <math.h>
#include <string.h>

enum {
    COLUMNS = 64,
    MOST_TURNED = 512, /* bytes of a row that is turned to a column */
    CHUNK = 1024       /* numbers of a row whose best one is found together */
};

typedef struct places {
    const native_isa *isa;
    native_ref from, to;
    native_fold_type type;
    bool least, last;
    int64_t n, inner, blocks;
} places;

/*
 * Of each CHUNK numbers the best one, and where the best of these is; NaN beats all. A later chunk
 * has to beat the ones before, or if the last place is wanted to equal them.
 */
#define PLACE(name, search, c_type)                                                                \
    static int64_t place_##name(const places *p, const void *from)                                 \
    {                                                                                              \
        const native_fold_kind kind = p->least ? NATIVE_FOLD_LEAST : NATIVE_FOLD_GREATEST;         \
        const native_fold_fn fold = p->isa->folds->ones[kind][NATIVE_FOLD_##name];                 \
        const c_type *x = from;                                                                    \
        c_type best = x[0], b;                                                                     \
        int64_t at = 0, chunk, n;                                                                  \
                                                                                                   \
        for (chunk = 0; chunk < p->n; chunk += CHUNK) {                                            \
            n = p->n - chunk < CHUNK ? p->n - chunk : CHUNK;                                       \
            b = x[chunk];                                                                          \
            fold(&(native_fold){.x = x + chunk, .rows = 1, .n = n, .to = &b});                     \
            if (p->last ? native_is_##search(b, best) || beats_##name(p, b, best)                  \
                        : beats_##name(p, b, best)) {                                              \
                best = b;                                                                          \
                at = chunk;                                                                        \
            }                                                                                      \
        }                                                                                          \
        n = p->n - at < CHUNK ? p->n - at : CHUNK;                                                 \
        return at + (p->last ? native_last_##search(x + at, n, best)                               \
                             : native_first_##search(x + at, n, best));                            \
    }

#define BEATS(name, c_type)                                                                        \
    static bool beats_##name(const places *p, c_type x, c_type best)                               \
    {                                                                                              \
        return best == best && (x != x || (p->least ? x < best : x > best));                       \
    }

BEATS(F32, float)
BEATS(F64, double)
BEATS(I32, int32_t)
BEATS(I64, int64_t)
PLACE(F32, f32, float)
PLACE(F64, f64, double)
PLACE(I32, i32, int32_t)
PLACE(I64, i64, int64_t)

static const int8_t type_bytes[NATIVE_FOLD_TYPES] = {4, 8, 4, 8, 1, 1};

/* Numbers count rows. */
static void run_rows(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    static int64_t (*const place[NATIVE_FOLD_TYPES])(const places *, const void *) = {
        place_F32, place_F64, place_I32, place_I64};
    const places *p = params;
    const char *from = (const char *)native_at(bases, &p->from);
    int64_t *to = (int64_t *)(void *)native_at(bases, &p->to);

    for (; begin < end; begin++)
        to[begin] = place[p->type](p, from + begin * p->n * type_bytes[p->type]);
}

void native_turn_rows(const native_isa *isa, const void *from, int64_t step, int64_t rows,
                      int64_t n, int64_t bytes, void *to)
{
    native_find_turn(isa, bytes)(from, step, to, rows, rows, n);
}

/* Short ones, turned to columns. */
static void run_short(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const places *p = params;
    const char *from = (const char *)native_at(bases, &p->from);
    int64_t *to = (int64_t *)(void *)native_at(bases, &p->to), n;
    uint64_t turned[NATIVE_SHORT_ROWS * NATIVE_SHORT];
    const int64_t room = (int64_t)sizeof turned / (p->n * type_bytes[p->type]);
    const int64_t together = room < NATIVE_SHORT_ROWS ? room : NATIVE_SHORT_ROWS;

    for (; begin < end; begin += n) {
        n = end - begin < together ? end - begin : together;
        native_turn_rows(p->isa, from + begin * p->n * type_bytes[p->type], p->n, n, p->n,
                         type_bytes[p->type], turned);
        p->isa->folds->places[p->least][p->last][p->type](
            &(native_fold){.x = turned, .rows = p->n, .step = n, .n = n, .to = to + begin});
    }
}

/* Numbers count blocks of columns. */
static void run_columns(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const places *p = params;
    const char *from = (const char *)native_at(bases, &p->from);
    int64_t *to = (int64_t *)(void *)native_at(bases, &p->to);
    native_fold f = {.rows = p->n, .step = p->inner};

    for (; begin < end; begin++) {
        const int64_t outer = begin / p->blocks, column = begin % p->blocks * COLUMNS;
        f.n = p->inner - column < COLUMNS ? p->inner - column : COLUMNS;
        f.x = from + (outer * p->n * p->inner + column) * type_bytes[p->type];
        f.to = to + outer * p->inner + column;
        p->isa->folds->places[p->least][p->last][p->type](&f);
    }
}

int native_axis(const tfr_call *call, int64_t otherwise)
{
    const int64_t axis = tfr_call_int(call, "axis", otherwise);

    return (int)(axis < 0 ? axis + tfr_call_input(call, 0)->rank : axis);
}

void native_plan_arg(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]];
    const int axis = native_axis(item->call, 0);
    places *w = native_keep(p, sizeof *w);
    int64_t outer = 1;
    int d;

    if (!w)
        return;
    w->isa = p->isa;
    w->from = native_ref_of(p, item->inputs[0]);
    w->to = native_ref_of(p, item->output);
    w->type = (native_fold_type)native_fold_type_of(tfr_call_input(item->call, 0)->dtype);
    w->least = strcmp(item->call->name, "ArgMin") == 0;
    w->last = tfr_call_int(item->call, "select_last_index", 0) != 0;
    w->n = axis == 0 ? native_first_dim(p, x) : x->dims[axis];
    w->inner = 1;
    for (d = 0; d < axis; d++)
        outer *= d == 0 ? native_first_dim(p, x) : x->dims[d];
    for (d = axis + 1; d < x->rank; d++)
        w->inner *= x->dims[d];
    w->blocks = (w->inner + COLUMNS - 1) / COLUMNS;
    native_add_run(p,
                   w->inner > 1                                ? run_columns
                   : w->n * type_bytes[w->type] <= MOST_TURNED ? run_short
                                                               : run_rows,
                   w, outer * w->blocks, (double)native_count(p, x) * 0.4 + (double)outer * 20.0);
}

const native_form *native_find_arg(const tfr_call *call)
{
    static const native_form form = {"", NULL, NATIVE_ITEM_ARG, 0, NULL};
    const tfr_operand *x;
    int axis, type;

    if ((strcmp(call->name, "ArgMax") != 0 && strcmp(call->name, "ArgMin") != 0) ||
        call->domain[0] || call->n_inputs < 1)
        return NULL;
    x = tfr_call_input(call, 0);
    axis = native_axis(call, 0);
    type = native_fold_type_of(x->dtype);
    if (x->rank == 0 || axis < 0 || axis >= x->rank || tfr_operand_elements(x) == 0 || type < 0 ||
        type > NATIVE_FOLD_I64)
        return NULL;
    return &form;
}
