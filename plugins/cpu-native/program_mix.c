/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_mix.c: a product of few heads or channels by a known matrix, as attention whose heads
 * talk to each other has it: exporters turn the axis to the end, multiply, and turn it back. Here
 * vectors lie along the axes behind it, so that no element moves.
 */
#include "program.h"

#include <string.h>

enum {
    MOST = 64,  /* of one side: more are a product that is worth to be turned for */
    PART = 384, /* elements of each output, of which vectors of all kinds make whole tiles */
    LEAST = 2 * PART
};

/* ---- what is one ---- */

/* A transposition moves an axis behind all others: which one; or -1. */
static int moved_to_end(const native_item *item, int rank)
{
    const int axis = item->perm[rank - 1];
    int d;

    for (d = 0; d + 1 < rank; d++) {
        if (item->perm[d] != d + (d >= axis))
            return -1;
    }
    return axis < rank - 1 ? axis : -1;
}

static bool moves_back(const native_item *item, int rank, int axis)
{
    int d;

    for (d = 0; d < rank; d++) {
        if (item->perm[d] != (d < axis ? d : d == axis ? rank - 1 : d - 1))
            return false;
    }
    return true;
}

static bool is_plain_product(const native_ir *ir, const native_item *item)
{
    const native_value *w = &ir->values[item->inputs[1]];
    const int bias = item->n_inputs > 2 ? item->inputs[2] : -1;

    return item->residual < 0 && item->act.kind == NATIVE_ACT_NONE && !item->quantized &&
           item->integer < 0 && item->alpha == 1.0f && w->known && w->rank == 2 &&
           w->dtype == TFR_DTYPE_F32 && w->dims[0] <= MOST && w->dims[1] <= MOST &&
           (bias < 0 || (item->beta == 1.0f && ir->values[bias].known &&
                         native_elements(&ir->values[bias]) == w->dims[!item->transposed]));
}

static void find_mix(native_ir *ir, native_item *item)
{
    native_item *first = native_only_maker(ir, item->inputs[0]);
    native_item *last = native_only_reader(ir, item->output);
    const native_value *x;
    int64_t behind = 1;
    int axis, d;

    if (!first || !last || first->kind != NATIVE_ITEM_TRANSPOSE ||
        last->kind != NATIVE_ITEM_TRANSPOSE || !is_plain_product(ir, item))
        return;
    x = &ir->values[first->inputs[0]];
    axis = x->rank > 1 ? moved_to_end(first, x->rank) : -1;
    if (axis < 0 || !moves_back(last, x->rank, axis))
        return;
    for (d = axis + 1; d < x->rank; d++)
        behind *= x->dims[d];
    if (behind < LEAST || x->dtype != TFR_DTYPE_F32)
        return;
    item->kind = NATIVE_ITEM_MIX;
    item->axis = axis;
    item->inputs[0] = first->inputs[0];
    item->output = last->output;
    first->kind = last->kind = NATIVE_ITEM_NONE;
    ir->n_fused += 2;
}

void native_fuse_mixes(native_ir *ir)
{
    int i;

    if (native_wants_stages(ir))
        return;
    for (i = 0; i < ir->n_items; i++) {
        if (ir->items[i].kind == NATIVE_ITEM_PRODUCT)
            find_mix(ir, &ir->items[i]);
    }
}

/* ---- the step ---- */

typedef struct mix {
    const native_isa *isa;
    native_ref from, to;
    int64_t ins, outs, plane; /* plane: elements of one of them */
    int64_t parts;            /* of a plane */
    float *weights;           /* [out][in] */
    float *bias;              /* of each out, or NULL */
    int32_t *offsets, *taps;
} mix;

/* What is left behind whole vectors. */
static void mix_rest(const mix *m, const float *from, float *to, int64_t n)
{
    int64_t o, k, i;

    for (o = 0; o < m->outs; o++) {
        for (i = 0; i < n; i++) {
            float sum = m->bias ? m->bias[o] : 0.0f;
            for (k = 0; k < m->ins; k++)
                sum += m->weights[o * m->ins + k] * from[k * m->plane + i];
            to[o * m->plane + i] = sum;
        }
    }
}

static void fill(float *to, float value, int64_t n)
{
    while (n-- > 0)
        *to++ = value;
}

/* n elements of each, which are whole vectors. */
static void mix_vectors(const mix *m, native_tile *tile, const float *from, float *to, int64_t n)
{
    const int64_t lanes = m->isa->lanes, group = m->isa->max_pixels[4] ? 4 : 3;
    int64_t at, o, blocks, rows;

    for (o = 0; m->bias && o < m->outs; o++)
        fill(to + o * m->plane, m->bias[o], n);
    for (at = 0; at < n; at += blocks * lanes) {
        blocks = (n - at) / lanes < group ? (n - at) / lanes : group;
        tile->weights = from + at;
        for (o = 0; o < m->outs; o += rows) {
            const int64_t most = m->isa->max_pixels[blocks];
            rows = m->outs - o < most ? m->outs - o : most;
            tile->source = m->weights + o * m->ins;
            tile->to = to + o * m->plane + at;
            m->isa->plain[blocks][rows](tile);
        }
    }
}

/* Numbers count samples, in them parts. */
static void run_mix(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const mix *m = params;
    const int64_t lanes = m->isa->lanes;
    native_tile tile;

    memset(&tile, 0, sizeof tile);
    tile.n_groups = 1;
    tile.n_taps = (int)m->ins;
    tile.taps = m->taps;
    tile.offsets = m->offsets;
    tile.weights_step = tile.to_pixel = m->plane;
    tile.to_block = lanes;
    tile.first = !m->bias;
    tile.last = true;
    tile.scale = 1.0f;
    for (; begin < end; begin++) {
        const int64_t sample = begin / m->parts, at = begin % m->parts * PART;
        const int64_t n = m->plane - at < PART ? m->plane - at : PART, whole = n / lanes * lanes;
        const float *from = native_at(bases, &m->from) + sample * m->ins * m->plane + at;
        float *to = native_at(bases, &m->to) + sample * m->outs * m->plane + at;
        mix_vectors(m, &tile, from, to, whole);
        mix_rest(m, from + whole, to + whole, n - whole);
    }
}

/* [out][in] of the matrix, and what is added to each output. */
static void keep_weights(native_planner *p, const native_item *item, mix *m)
{
    const void *w = p->ir->values[item->inputs[1]].known;
    const int bias = item->n_inputs > 2 ? item->inputs[2] : -1;
    int64_t o, k;

    m->weights = native_keep(p, (size_t)(m->outs * m->ins) * sizeof *m->weights);
    m->bias = bias < 0 ? NULL : native_keep(p, (size_t)m->outs * sizeof *m->bias);
    for (o = 0; m->weights && o < m->outs; o++) {
        for (k = 0; k < m->ins; k++)
            m->weights[o * m->ins + k] =
                native_float_at(w, item->transposed ? o * m->ins + k : k * m->outs + o);
    }
    for (o = 0; m->bias && o < m->outs; o++)
        m->bias[o] = native_float_at(p->ir->values[bias].known, o);
}

void native_plan_mix(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const double all = (double)native_count(p, y);
    mix *m = native_keep(p, sizeof *m);
    int64_t samples, i;
    native_run *run;

    if (!m)
        return;
    m->isa = p->isa;
    m->from = native_ref_of(p, item->inputs[0]);
    m->to = native_ref_of(p, item->output);
    m->ins = x->dims[item->axis];
    m->outs = y->dims[item->axis];
    m->plane = 1;
    for (i = item->axis + 1; i < x->rank; i++)
        m->plane *= x->dims[i];
    m->parts = (m->plane + PART - 1) / PART;
    keep_weights(p, item, m);
    m->offsets = native_keep(p, NATIVE_MAX_PIXELS * sizeof *m->offsets);
    m->taps = native_keep(p, (size_t)m->ins * sizeof *m->taps);
    for (i = 0; m->offsets && i < NATIVE_MAX_PIXELS; i++)
        m->offsets[i] = (int32_t)(i * m->ins);
    for (i = 0; m->taps && i < m->ins; i++)
        m->taps[i] = (int32_t)i;
    samples = native_count(p, y) / (m->outs * m->plane);
    run = native_add_run(p, run_mix, m, samples * m->parts, all * (0.1 + (double)m->ins / 60.0));
    run->flops = 2.0 * all * (double)m->ins;
}
