/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_strided_run.c: steps of what moves elements from and to any place, and products of two
 * computed sides, each of which may be read in steps.
 */
#include "copy_rows.h"
#include "program.h"
#include "turn.h"

#include <string.h>

/* Those that a plan is for, of dims that begin with samples. */
static int64_t first_dim(const native_planner *p, const native_strided *s, const native_value *y)
{
    return s->rank == 0 ? 1 : y->batched ? s->dims[0] / p->ir->samples * p->samples : s->dims[0];
}

/* ---- moves ---- */

/* Of a matrix that is turned in parts. */
enum { SMALLEST_PART = 64, LARGEST_PART = 2048 };

/*
 * Along the last dim numbers lie beside each other in the result. In the source, too: they are
 * copied; those of another dim do: both are a matrix to turn; else one by one.
 */
typedef struct move {
    native_turn_fn turn;
    native_ref from, to;
    native_strided at;
    int matrix; /* the dim that is innermost in the source, or -1 */
    int size;   /* bytes of an element: 4, or 1 */
    struct {
        int64_t n, step, to_step;
    } outer[NATIVE_STRIDED_RANK]; /* the other dims but the last */
    int n_outer;
} move;

/* One number n times, by the line of the cache. */
static void fill_row(float *to, float x, int64_t n)
{
    enum { LINE = 16 };
    float line[LINE];
    int64_t i;

    for (i = 0; i < LINE; i++)
        line[i] = x;
    for (i = 0; i + LINE <= n; i += LINE)
        memcpy(to + i, line, sizeof line);
    memcpy(to + i, line, (size_t)(n - i) * sizeof *to);
}

static void move_row(const move *m, const float *from, float *to)
{
    const int last = m->at.rank - 1;
    const int64_t n = m->at.dims[last], step = m->at.steps[last], to_step = m->at.to_steps[last];
    int64_t i;

    if (step == 0 && to_step == 1) {
        fill_row(to, *from, n);
        return;
    }
    for (i = 0; i < n; i++)
        to[i * to_step] = from[i * step];
}

static void move_bytes(const move *m, const uint8_t *from, uint8_t *to)
{
    const int last = m->at.rank - 1;
    const int64_t n = m->at.dims[last], step = m->at.steps[last], to_step = m->at.to_steps[last];
    int64_t i;

    if (step == 0 && to_step == 1)
        memset(to, *from, (size_t)n);
    else
        for (i = 0; i < n; i++)
            to[i * to_step] = from[i * step];
}

static void move_matrix(const move *m, const char *from, char *to)
{
    const int last = m->at.rank - 1;

    m->turn(from, m->at.steps[last], to, m->at.to_steps[m->matrix], m->at.dims[last],
            m->at.dims[m->matrix]);
}

/* So many along the innermost of the outer dims; steps in bytes. */
static void move_some(const move *m, const char *from, int64_t step, char *to, int64_t to_step,
                      int64_t n)
{
    const int last = m->at.rank - 1;

    if (m->matrix < 0 && m->at.steps[last] == 1 && m->at.to_steps[last] == 1) {
        native_copy_rows(from, step, to, to_step, m->at.dims[last] * m->size, n);
        return;
    }
    for (; n > 0; n--, from += step, to += to_step) {
        if (m->matrix >= 0)
            move_matrix(m, from, to);
        else if (m->size == 1)
            move_bytes(m, (const uint8_t *)from, (uint8_t *)to);
        else
            move_row(m, (const float *)(const void *)from, (float *)(void *)to);
    }
}

/* Numbers count all dims but the last and that of a matrix. */
static void run_move(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const move *m = params;
    const int64_t size = m->size;
    const int last = m->n_outer - 1;
    const char *base = (const char *)native_at(bases, &m->from) + m->at.offset * size;
    char *to_base = (char *)native_at(bases, &m->to) + m->at.to_offset * size;
    int64_t n;
    int d;

    for (; begin < end; begin += n) {
        int64_t rest = begin, from = 0, to = 0;
        n = last < 0 ? 1 : m->outer[last].n - begin % m->outer[last].n;
        n = end - begin < n ? end - begin : n;
        for (d = last; d >= 0; rest /= m->outer[d--].n) {
            from += rest % m->outer[d].n * m->outer[d].step;
            to += rest % m->outer[d].n * m->outer[d].to_step;
        }
        move_some(m, base + from * size, last < 0 ? 0 : m->outer[last].step * size,
                  to_base + to * size, last < 0 ? 0 : m->outer[last].to_step * size, n);
    }
}

/* Dims of one element go, and those that lie together on both sides are one. */
static void join_dims(native_strided *to, const native_strided *from, int64_t first)
{
    int d;

    *to = *from;
    to->rank = 0;
    for (d = 0; d < from->rank; d++) {
        const int64_t n = d == 0 ? first : from->dims[d];
        const int before = to->rank - 1;
        if (n == 1)
            continue;
        if (before >= 0 && to->steps[before] == n * from->steps[d] &&
            to->to_steps[before] == n * from->to_steps[d]) {
            to->dims[before] *= n;
            to->steps[before] = from->steps[d];
            to->to_steps[before] = from->to_steps[d];
            continue;
        }
        to->dims[to->rank] = n;
        to->steps[to->rank] = from->steps[d];
        to->to_steps[to->rank++] = from->to_steps[d];
    }
    if (to->rank > 0)
        return;
    to->rank = 1;
    to->dims[0] = to->steps[0] = to->to_steps[0] = 1;
}

/*
 * A matrix that is turned alone is one number of work: its longer side is cut into parts of whole
 * vectors for the threads, if it can be.
 */
static void cut_matrix(move *m)
{
    const int last = m->at.rank - 1;
    const int d = m->at.dims[m->matrix] > m->at.dims[last] ? m->matrix : last;
    const int64_t n = m->at.dims[d];
    int64_t part = LARGEST_PART;

    while (part >= SMALLEST_PART && n % part != 0)
        part -= SMALLEST_PART;
    if (part < SMALLEST_PART || part == n)
        return;
    m->at.dims[d] = part;
    m->outer[m->n_outer].n = n / part;
    m->outer[m->n_outer].step = part * m->at.steps[d];
    m->outer[m->n_outer++].to_step = part * m->at.to_steps[d];
}

static void plan_move(native_planner *p, int from, const native_strided *s, int to, int parts)
{
    const native_value *y = &p->ir->values[to];
    move *m = native_keep(p, sizeof *m);
    int64_t n = 1;
    int d, last;

    if (!m)
        return;
    m->from = native_ref_of(p, from);
    m->to = native_ref_of(p, to);
    m->size = (int)tfr_dtype_bits(y->dtype) / 8;
    m->turn = native_find_turn(p->isa, m->size);
    join_dims(&m->at, s, first_dim(p, s, y));
    last = m->at.rank - 1;
    m->matrix = -1;
    for (d = 0; d < last && m->at.steps[last] != 1 && m->at.to_steps[last] == 1; d++) {
        if (m->at.steps[d] == 1)
            m->matrix = d;
    }
    for (d = 0; d < last; d++) {
        if (d == m->matrix)
            continue;
        m->outer[m->n_outer].n = m->at.dims[d];
        m->outer[m->n_outer].step = m->at.steps[d];
        m->outer[m->n_outer++].to_step = m->at.to_steps[d];
        n *= m->at.dims[d];
    }
    if (m->matrix >= 0 && n == 1) {
        cut_matrix(m);
        n = m->n_outer ? m->outer[m->n_outer - 1].n : 1;
    }
    native_add_run(p, run_move, m, n,
                   (double)native_count(p, y) / parts * (m->matrix < 0 ? 0.2 : 0.4));
}

void native_plan_strided(native_planner *p, const native_item *item)
{
    int k;

    if (p->ir->values[item->output].blocked) {
        native_plan_channels(p, item);
        return;
    }
    for (k = 0; k < item->n_inputs; k++)
        plan_move(p, item->inputs[k], &p->ir->strided[item->strided + k], item->output,
                  item->n_inputs);
}

void native_plan_transpose(native_planner *p, const native_item *item)
{
    native_strided from, to, plain;

    native_lies_plain(&p->ir->values[item->inputs[0]], &from);
    native_lies_plain(&p->ir->values[item->output], &plain);
    native_lies_turned(&from, item->perm, &to);
    memcpy(to.to_steps, plain.steps, sizeof plain.steps);
    plan_move(p, item->inputs[0], &to, item->output, 1);
}

/* ---- products ---- */

typedef struct products {
    const native_isa *isa;
    native_ref left, right, to;
    native_strided left_at, right_at;
    int64_t rows, depth, columns, width; /* width: columns up to whole vectors */
    bool packs;                          /* right sides, into scratch memory */
    float factor;
    int32_t *offsets, *taps;
} products;

/* Where matrix i begins. */
static int64_t matrix_at(const native_strided *s, int64_t i)
{
    int64_t at = s->offset;
    int d;

    for (d = s->rank - 3; d >= 0; d--) {
        at += i % s->dims[d] * s->steps[d];
        i /= s->dims[d];
    }
    return at;
}

/* Rows of whole vectors. */
static const float *pack_right(const products *m, const float *right, float *to)
{
    const int64_t term = m->right_at.steps[m->right_at.rank - 2];
    const int64_t column = m->right_at.steps[m->right_at.rank - 1];
    int64_t i, j;

    if (m->width != m->columns)
        memset(to, 0, (size_t)(m->depth * m->width) * sizeof *to);
    if (term == 1 && column != 1) {
        m->isa->transpose(right, column, to, m->width, m->columns, m->depth);
        return to;
    }
    for (i = 0; i < m->depth; i++) {
        if (column == 1)
            memcpy(to + i * m->width, right + i * term, (size_t)m->columns * sizeof *to);
        for (j = 0; j < m->columns && column != 1; j++)
            to[i * m->width + j] = right[i * term + j * column];
    }
    return to;
}

static void multiply(const products *m, native_tile *tile, const float *left, const float *right,
                     float *to)
{
    const int64_t lanes = m->isa->lanes, wide = m->width / lanes;
    const int64_t step = m->left_at.steps[m->left_at.rank - 2];
    const int64_t most = m->isa->max_pixels[4] ? 4 : 3;
    int64_t block, blocks, row, n;

    for (block = 0; block < wide; block += blocks) {
        blocks = wide - block < most ? wide - block : most;
        tile->last_lanes = block + blocks == wide ? (uint32_t)(m->columns % lanes) : 0;
        tile->weights = right + block * lanes;
        for (row = 0; row < m->rows; row += n) {
            const int64_t pixels = m->isa->max_pixels[blocks];
            n = m->rows - row;
            n = n <= pixels ? n : n < 2 * pixels ? (n + 1) / 2 : pixels;
            tile->source = left + row * step;
            tile->to = to + row * m->columns + block * lanes;
            m->isa->plain[blocks][n](tile);
        }
    }
}

/* Numbers count matrices. */
static void run_products(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const products *m = params;
    const float *left = native_at(bases, &m->left), *right = native_at(bases, &m->right);
    float *to = native_at(bases, &m->to);
    int64_t i;
    native_tile tile;

    memset(&tile, 0, sizeof tile);
    tile.n_groups = 1;
    tile.n_taps = (int)m->depth;
    tile.taps = m->taps;
    tile.offsets = m->offsets;
    tile.weights_step = m->packs ? m->width : m->right_at.steps[m->right_at.rank - 2];
    tile.to_pixel = m->columns;
    tile.to_block = m->isa->lanes;
    tile.first = tile.last = true;
    tile.scale = m->factor;
    for (i = begin; i < end; i++) {
        const float *b = right + matrix_at(&m->right_at, i);
        if (m->packs)
            b = pack_right(m, b, (float *)(void *)bases->scratch);
        multiply(m, &tile, left + matrix_at(&m->left_at, i), b, to + i * m->rows * m->columns);
    }
}

static void read_sides(const native_planner *p, const native_item *item, products *m)
{
    if (item->strided >= 0) {
        m->left_at = p->ir->strided[item->strided];
        m->right_at = p->ir->strided[item->strided + 1];
    } else {
        native_lies_plain(&p->ir->values[item->inputs[0]], &m->left_at);
        native_lies_plain(&p->ir->values[item->inputs[1]], &m->right_at);
    }
}

void native_plan_batched_product(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    const int64_t lanes = p->isa->lanes;
    products *m = native_keep(p, sizeof *m);
    int64_t i, n, row, term;

    if (!m)
        return;
    m->isa = p->isa;
    m->left = native_ref_of(p, item->inputs[0]);
    m->right = native_ref_of(p, item->inputs[1]);
    m->to = native_ref_of(p, item->output);
    read_sides(p, item, m);
    m->factor = item->alpha;
    m->rows = y->dims[y->rank - 2];
    m->columns = y->dims[y->rank - 1];
    m->depth = m->left_at.dims[m->left_at.rank - 1];
    m->width = (m->columns + lanes - 1) / lanes * lanes;
    m->packs = m->width != m->columns || m->right_at.steps[m->right_at.rank - 1] != 1;
    row = m->left_at.steps[m->left_at.rank - 2];
    term = m->left_at.steps[m->left_at.rank - 1];
    m->offsets = native_keep(p, NATIVE_MAX_PIXELS * sizeof *m->offsets);
    m->taps = native_keep(p, (size_t)m->depth * sizeof *m->taps);
    for (i = 0; m->offsets && i < NATIVE_MAX_PIXELS; i++)
        m->offsets[i] = (int32_t)(i * row);
    for (i = 0; m->taps && i < m->depth; i++)
        m->taps[i] = (int32_t)(i * term);
    if (m->packs)
        native_need_scratch(p, (uint64_t)(m->depth * m->width) * sizeof(float));
    n = native_count(p, y) / (m->rows * m->columns);
    native_add_run(p, run_products, m, n,
                   2.0 * (double)(n * m->rows * m->columns) * (double)m->depth / 60.0);
}
