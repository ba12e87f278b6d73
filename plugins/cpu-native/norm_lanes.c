/* SPDX-License-Identifier: Apache-2.0 */
/*
 * norm_lanes.c: LpNormalization, GlobalLpPool and Hardmax of rows and of lanes that lie beside each
 * other. Norms are sums in double, as naive has them, by the loops of fold.h. Short rows are turned
 * to columns, some at a time.
 */
#include "norm_lanes.h"

#include "lanes.h"
#include "program_fold.h"
#include "row_search.h"

#include <math.h>
#include <string.h>

enum {
    PART = 8 * 1024,  /* elements of a thread, at least */
    MOST_TURNED = 512 /* bytes of a row whose greatest element is found in a column */
};

typedef enum lanes_kind { NORMALIZE, POOL, HARDMAX } lanes_kind;

typedef struct state {
    lanes_kind kind;
    native_lanes lanes;
    int64_t p;
    bool wide;
    const native_isa *isa;
    const void *known;
} state;

typedef struct work {
    const state *s;
    const void *from;
    void *to;
} work;

static double root(int64_t p, double sum)
{
    return p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, 1 / (double)p);
}

static double element(const state *s, const void *x, int64_t i)
{
    return s->wide ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static const char *at_of(const state *s, const void *x, int64_t i)
{
    return (const char *)x + i * (s->wide ? 8 : 4);
}

/* Of `lanes` beside each other, whose elements are `inner` from the next of their own. */
static void find_norms(const state *s, const void *x, int64_t lanes, double *norms)
{
    const native_fold_kind kind = s->p == 1 ? NATIVE_FOLD_ABS : NATIVE_FOLD_SQUARE;
    const native_fold_type type = s->wide ? NATIVE_FOLD_F64 : NATIVE_FOLD_F32;
    native_fold f = {.x = x, .rows = s->lanes.n, .step = s->lanes.inner, .n = lanes, .to = norms};
    int64_t i, k;

    for (i = 0; i < lanes; i++)
        norms[i] = 0;
    if (s->p <= 2 && s->lanes.inner == 1) {
        f.rows = 1;
        f.n = s->lanes.n;
        s->isa->folds->ones[kind][type](&f);
    } else if (s->p <= 2) {
        s->isa->folds->rows[kind][type](&f);
    }
    for (i = 0; i < lanes; i++) {
        for (k = 0; s->p > 2 && k < s->lanes.n; k++)
            norms[i] += pow(fabs(element(s, x, k * s->lanes.inner + i)), (double)s->p);
        norms[i] = root(s->p, norms[i]);
    }
}

/* ---- normalization ---- */

/* The reciprocals of norms as float32; false: one is beyond what that has normal numbers for. */
static bool invert(const double *norms, int64_t n, float *by)
{
    bool near = true;
    int64_t i;

    for (i = 0; i < n; i++) {
        by[i] = norms[i] == 0 ? 0 : (float)(1 / norms[i]);
        near &= norms[i] == 0 || (norms[i] > 0x1p-120 && norms[i] < 0x1p120) || isnan(norms[i]);
    }
    return near;
}

static void normalize(const work *w, int64_t at, int64_t lanes)
{
    const state *s = w->s;
    const bool row = s->lanes.inner == 1;
    const int64_t rows = row ? 1 : s->lanes.n, n = row ? s->lanes.n : lanes;
    double norms[NATIVE_LANE_GROUP];
    float by[NATIVE_LANE_GROUP];
    const void *from = at_of(s, w->from, at);
    char *to = (char *)w->to + (at_of(s, w->from, at) - (const char *)w->from);
    int64_t i, k;

    find_norms(s, from, lanes, norms);
    if (!s->wide && invert(norms, lanes, by)) {
        for (i = 0; i < rows; i++)
            s->isa->binary(NATIVE_MUL, (const float *)from + i * s->lanes.inner, 1, by, !row,
                           (float *)(void *)to + i * s->lanes.inner, n);
        return;
    }
    for (i = 0; i < lanes; i++)
        norms[i] = norms[i] == 0 ? INFINITY : norms[i];
    for (i = 0; i < rows; i++) {
        for (k = 0; k < n; k++) {
            const int64_t place = i * s->lanes.inner + k;
            const double y = element(s, from, place) / norms[row ? 0 : k];
            if (s->wide)
                ((double *)(void *)to)[place] = y;
            else
                ((float *)(void *)to)[place] = (float)y;
        }
    }
}

/* ---- Hardmax ---- */

/* The first greatest element, and the first NaN above all. */
static int64_t greatest_of_row(const state *s, const void *x)
{
    native_fold f = {.x = x, .rows = 1, .n = s->lanes.n};
    double d;
    float v;

    if (s->wide) {
        d = *(const double *)x;
        f.to = &d;
        s->isa->folds->ones[NATIVE_FOLD_GREATEST][NATIVE_FOLD_F64](&f);
        return native_first_f64(x, s->lanes.n, d);
    }
    v = *(const float *)x;
    f.to = &v;
    s->isa->folds->ones[NATIVE_FOLD_GREATEST][NATIVE_FOLD_F32](&f);
    return native_first_f32(x, s->lanes.n, v);
}

static void hardmax(const work *w, int64_t at, int64_t lanes)
{
    const state *s = w->s;
    const int64_t inner = s->lanes.inner;
    const native_fold_type type = s->wide ? NATIVE_FOLD_F64 : NATIVE_FOLD_F32;
    const size_t width = s->wide ? 8 : 4;
    const void *from = at_of(s, w->from, at);
    int64_t places[NATIVE_LANE_GROUP], i;

    if (inner == 1) {
        memset((char *)w->to + (size_t)at * width, 0, (size_t)s->lanes.n * width);
        places[0] = greatest_of_row(s, from);
    } else {
        for (i = 0; i < s->lanes.n; i++)
            memset((char *)w->to + (size_t)(at + i * inner) * width, 0, (size_t)lanes * width);
        s->isa->folds->places[0][0][type](
            &(native_fold){.x = from, .rows = s->lanes.n, .step = inner, .n = lanes, .to = places});
    }
    for (i = 0; i < lanes; i++) {
        const int64_t place = at + places[i] * inner + i;
        if (s->wide)
            ((double *)w->to)[place] = 1;
        else
            ((float *)w->to)[place] = 1;
    }
}

/* ---- short rows, of which some are turned to columns ---- */

static void turn(const state *s, const void *from, int64_t rows, int64_t n, void *to)
{
    native_turn_rows(s->isa, from, n, rows, n, s->wide ? 8 : 4, to);
}

static void normalize_short(const work *w, const float *from, float *to, int64_t rows)
{
    const state *s = w->s;
    const int64_t n = s->lanes.n;
    float turned[NATIVE_SHORT * NATIVE_SHORT_ROWS], by[NATIVE_SHORT_ROWS];
    double norms[NATIVE_SHORT_ROWS];
    state columns = *s;
    int64_t i;

    turn(s, from, rows, n, turned);
    columns.lanes.inner = rows;
    find_norms(&columns, turned, rows, norms);
    if (!invert(norms, rows, by)) {
        for (i = 0; i < rows; i++)
            normalize(w, from - (const float *)w->from + i * n, 1);
        return;
    }
    for (i = 0; i < n; i++)
        s->isa->binary(NATIVE_MUL, turned + i * rows, 1, by, 1, turned + i * rows, rows);
    turn(s, turned, n, rows, to);
}

static void hardmax_short(const work *w, const char *from, char *to, int64_t rows)
{
    const state *s = w->s;
    const int64_t n = s->lanes.n;
    const native_fold_type type = s->wide ? NATIVE_FOLD_F64 : NATIVE_FOLD_F32;
    uint64_t turned[NATIVE_SHORT * NATIVE_SHORT_ROWS];
    int64_t places[NATIVE_SHORT_ROWS], i;

    turn(s, from, rows, n, turned);
    s->isa->folds->places[0][0][type](
        &(native_fold){.x = turned, .rows = n, .step = rows, .n = rows, .to = places});
    memset(to, 0, (size_t)(rows * n) * (s->wide ? 8 : 4));
    for (i = 0; i < rows; i++) {
        if (s->wide)
            ((double *)(void *)to)[i * n + places[i]] = 1;
        else
            ((float *)(void *)to)[i * n + places[i]] = 1;
    }
}

static bool is_short(const state *s)
{
    if (s->kind == HARDMAX)
        return s->lanes.inner == 1 && s->lanes.n * (s->wide ? 8 : 4) <= MOST_TURNED;
    return s->lanes.inner == 1 && s->lanes.n <= NATIVE_SHORT && s->kind == NORMALIZE && !s->wide &&
           s->p <= 2;
}

/* Rows that there is room for as columns. */
static int64_t rows_together(const state *s)
{
    const int64_t room = NATIVE_SHORT * NATIVE_SHORT_ROWS * 8 / (s->lanes.n * (s->wide ? 8 : 4));

    return room < NATIVE_SHORT_ROWS ? room : NATIVE_SHORT_ROWS;
}

/* Numbers count rows. */
static void run_short(const work *w, int64_t begin, int64_t end)
{
    const state *s = w->s;
    const int64_t row = s->lanes.n * (s->wide ? 8 : 4), together = rows_together(s);
    int64_t n;

    for (; begin < end; begin += n) {
        const char *from = (const char *)w->from + begin * row;
        char *to = (char *)w->to + begin * row;
        n = end - begin < together ? end - begin : together;
        if (s->kind == HARDMAX)
            hardmax_short(w, from, to, n);
        else
            normalize_short(w, (const float *)(const void *)from, (float *)(void *)to, n);
    }
}

/* ---- all of it ---- */

static void run_groups(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    double norm;

    if (is_short(s)) {
        run_short(w, begin, end);
        return;
    }
    for (; begin < end; begin++) {
        int64_t at;
        const int64_t lanes = native_lane_group(&s->lanes, begin, &at);
        if (s->kind == NORMALIZE) {
            normalize(w, at, lanes);
        } else if (s->kind == HARDMAX) {
            hardmax(w, at, lanes);
        } else {
            find_norms(s, at_of(s, w->from, at), 1, &norm);
            if (s->wide)
                ((double *)w->to)[begin] = norm;
            else
                ((float *)w->to)[begin] = (float)norm;
        }
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.s = s};

    (void)err;
    w.from = launch->args[0].address ? launch->args[0].address : s->known;
    w.to = launch->args[launch->n_args - 1].address;
    native_lanes_run(device, &s->lanes, PART, run_groups, &w);
    return TFR_OK;
}

void native_lanes_supports(const tfr_plugin_device *device, const tfr_call *call,
                           tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);

    (void)device;
    if (!native_has_type(call, answer))
        return;
    if (x->rank < 1)
        tfr_decline(answer, TFR_REASON_RANK, "a scalar is left to naive");
    else if (tfr_call_int(call, "p", 2) < 1)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "only a positive p is done here");
}

void native_lanes_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const int64_t axis = tfr_call_int(call, "axis", x->rank - 1);
    state *s = native_set_function(b, run, NULL, sizeof *s, "lanes");

    if (!s)
        return;
    s->kind = strcmp(call->name, "Hardmax") == 0        ? HARDMAX
              : strcmp(call->name, "GlobalLpPool") == 0 ? POOL
                                                        : NORMALIZE;
    s->lanes = native_lanes_along(x, s->kind == POOL ? 2 : axis);
    if (s->kind == POOL) { /* all spatial axes as one */
        s->lanes.n *= s->lanes.inner;
        s->lanes.inner = 1;
    }
    s->p = tfr_call_int(call, "p", 2);
    s->wide = x->dtype == TFR_DTYPE_F64;
    s->isa = b->device->isa;
    s->known = x->data;
}
