/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_pad.c: Pad in all its modes, of any type of whole bytes. What each place along a padded
 * axis takes is in a list; what lies behind the last padded axis is moved as one element, and what
 * the data have beside each other as one piece.
 */
#include "program.h"

#include <string.h>

/* Numbers before and after what an axis has; below 0 they are cut off. */
typedef struct margins {
    int64_t before, after;
} margins;

typedef struct pad {
    native_ref from, to, value;
    bool has_value;
    int rank;                      /* up to the last padded axis, which rows are along */
    int64_t dims[TFR_MAX_RANK];    /* of the result */
    int64_t steps[TFR_MAX_RANK];   /* bytes of the data */
    int32_t *places[TFR_MAX_RANK]; /* of the data for each of the result; -1 = the value */
    int64_t bytes, size;           /* of an element with what lies behind it; of a number */
    int64_t first, last;           /* of a row: what the data have beside each other */
    int64_t row_bytes;
} pad;

/* ---- the form ---- */

static const int64_t *pads_of(const tfr_call *call)
{
    return tfr_call_ints(call, "pads", 2 * (uint64_t)tfr_call_input(call, 0)->rank);
}

bool native_pad_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const tfr_operand *value = tfr_call_input(call, 2);
    int d;

    if (!y || y->dtype != x->dtype || x->dtype == TFR_DTYPE_STRING || x->rank < 1 ||
        tfr_dtype_bits(x->dtype) % 8 || tfr_operand_elements(x) == 0 ||
        tfr_operand_elements(y) == 0 || !pads_of(call) ||
        (value && (value->dtype != x->dtype || tfr_operand_elements(value) != 1)))
        return false;
    for (d = 0; d < x->rank; d++) { /* something of each axis stays */
        const int64_t *pads = pads_of(call);
        const int64_t before = pads[d] < 0 ? -pads[d] : 0;
        const int64_t after = pads[x->rank + d] < 0 ? -pads[x->rank + d] : 0;
        if (before + after >= x->dims[d])
            return false;
    }
    return true;
}

/* What stands around axis d of the values, which may be another axis of the call's operands. */
static margins margins_of(const native_item *item, int d)
{
    const int64_t *pads = pads_of(item->call) + item->perm[d];

    return (margins){pads[0], pads[tfr_call_input(item->call, 0)->rank]};
}

static bool is_padded(const native_item *item, int d)
{
    const margins a = margins_of(item, d);

    return a.before != 0 || a.after != 0;
}

bool native_pads_samples(const native_item *item)
{
    return is_padded(item, 0);
}

static bool is_zero(const native_ir *ir, int value)
{
    float number = 0.0f;

    if (value < 0)
        return true;
    if (!ir->values[value].known || ir->values[value].dtype != TFR_DTYPE_F32)
        return false;
    memcpy(&number, ir->values[value].known, sizeof number);
    return number == 0.0f;
}

bool native_pads_images(const native_ir *ir, const native_item *item)
{
    const native_value *x = &ir->values[item->inputs[0]];
    int d;

    if (item->kind != NATIVE_ITEM_PADDED || x->rank < 3 || x->dtype != TFR_DTYPE_F32 ||
        tfr_call_string(item->call, "mode", "constant")[0] != 'c' || !is_zero(ir, item->inputs[1]))
        return false;
    for (d = 1; d < x->rank; d++) {
        if (margins_of(item, d).before < 0 || margins_of(item, d).after < 0)
            return false;
    }
    return !is_padded(item, 0) && margins_of(item, 1).before == 0;
}

bool native_pads_pixels(const native_ir *ir, const native_item *item, int64_t *before)
{
    const int rank = ir->values[item->output].rank;
    int d;

    if (rank > 4 || !native_pads_images(ir, item) || is_padded(item, 1))
        return false;
    for (d = 2; d < rank; d++)
        before[d - 2] = margins_of(item, d).before;
    return true;
}

/* ---- the step ---- */

/* The same number n times. */
static void fill(char *to, const char *number, int64_t size, int64_t bytes)
{
    int64_t done = size;

    if (bytes == 0)
        return;
    memcpy(to, number, (size_t)size);
    while (done < bytes) {
        const int64_t more = done < bytes - done ? done : bytes - done;
        memcpy(to + done, to, (size_t)more);
        done += more;
    }
}

/* Of elements of so many bytes, as one of which the value is. */
#define MOVE_PLACES(width)                                                                         \
    case width:                                                                                    \
        for (; begin < end; begin++)                                                               \
            memcpy(to + begin * (width),                                                           \
                   places[begin] < 0 ? value : from + places[begin] * (int64_t)(width), width);    \
        return;

/* Places [begin, end) of a row, one by one. */
static void move_places(const pad *s, const char *from, char *to, const char *value, int64_t begin,
                        int64_t end)
{
    const int32_t *places = s->places[s->rank - 1];

    switch (s->size == s->bytes ? s->bytes : 0) {
        MOVE_PLACES(1)
        MOVE_PLACES(2)
        MOVE_PLACES(4)
        MOVE_PLACES(8)
    default:
        break;
    }
    for (; begin < end; begin++) {
        if (places[begin] < 0)
            fill(to + begin * s->bytes, value, s->size, s->bytes);
        else
            memcpy(to + begin * s->bytes, from + places[begin] * s->bytes, (size_t)s->bytes);
    }
}

/* Numbers count rows. */
static void run_pad(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    static const char zeros[16];
    const pad *s = params;
    const int last = s->rank - 1;
    const char *data = (const char *)native_at(bases, &s->from);
    const char *value = s->has_value ? (const char *)native_at(bases, &s->value) : zeros;
    char *to = (char *)native_at(bases, &s->to) + begin * s->row_bytes;
    int64_t at[TFR_MAX_RANK], rest = begin;
    int d;

    for (d = last - 1; d >= 0; rest /= s->dims[d--])
        at[d] = rest % s->dims[d];
    for (; begin < end; begin++, to += s->row_bytes) {
        const char *from = data;
        for (d = last - 1; d >= 0 && from; d--) {
            const int64_t place = s->places[d] ? s->places[d][at[d]] : at[d];
            from = place < 0 ? NULL : from + place * s->steps[d];
        }
        for (d = last - 1; d >= 0 && ++at[d] == s->dims[d]; d--)
            at[d] = 0;
        if (!from) {
            fill(to, value, s->size, s->row_bytes);
            continue;
        }
        move_places(s, from, to, value, 0, s->first);
        memcpy(to + s->first * s->bytes, from + s->places[last][s->first] * s->bytes,
               (size_t)((s->last - s->first) * s->bytes));
        move_places(s, from, to, value, s->last, s->dims[last]);
    }
}

/* ---- plan ---- */

/* i, outside of [0, n), brought inside; -1 = the value. */
static int64_t bring_inside(int64_t i, int64_t n, char mode)
{
    const int64_t period = mode == 'r' ? 2 * (n - 1) : n;

    if (mode == 'c')
        return -1;
    if (mode == 'e')
        return i < 0 ? 0 : n - 1;
    if (period == 0)
        return 0;
    i = (i % period + period) % period;
    return i < n ? i : period - i;
}

/* Axis d is that of the call's operand. */
static int32_t *make_places(native_planner *p, const tfr_call *call, int d, int64_t dim)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const int64_t *pads = pads_of(call);
    const int64_t before = pads[d], after = pads[x->rank + d];
    const int64_t begin = before < 0 ? -before : 0;
    const int64_t n = x->dims[d] - begin - (after < 0 ? -after : 0);
    const char mode = tfr_call_string(call, "mode", "constant")[0];
    int32_t *places = native_keep(p, (size_t)dim * sizeof *places);
    int64_t i;

    for (i = 0; places && i < dim; i++) {
        const int64_t at = i - (before > 0 ? before : 0);
        const int64_t place = at >= 0 && at < n ? at : bring_inside(at, n, mode);
        places[i] = place < 0 ? -1 : (int32_t)(begin + place);
    }
    return places;
}

/* The longest piece of a row that lies in the data as it does there. */
static void find_piece(pad *s)
{
    const int32_t *places = s->places[s->rank - 1];
    int64_t begin, end;

    for (begin = 0; places && begin < s->dims[s->rank - 1]; begin = end) {
        end = begin + 1;
        if (places[begin] < 0)
            continue;
        while (end < s->dims[s->rank - 1] && places[end] == places[end - 1] + 1)
            end++;
        if (end - begin > s->last - s->first) {
            s->first = begin;
            s->last = end;
        }
    }
}

/* ---- blocked ---- */

typedef struct images {
    native_ref from, to;
    int64_t lanes, channels, height, width; /* of the data */
    int64_t blocks, out_height, out_width, top, left;
    bool cuts; /* the last block of the data has channels of zeros in the result */
} images;

static void pad_line(const images *s, const float *from, float *to, bool last)
{
    const size_t pixel = (size_t)s->lanes * sizeof *to;
    const int64_t right = s->out_width - s->left - s->width, n = s->channels % s->lanes;
    float *inner = to + s->left * s->lanes;
    int64_t x;

    memset(to, 0, (size_t)s->left * pixel);
    memcpy(inner, from, (size_t)s->width * pixel);
    for (x = 0; last && s->cuts && x < s->width; x++)
        memset(inner + x * s->lanes + n, 0, (size_t)(s->lanes - n) * sizeof *to);
    memset(inner + s->width * s->lanes, 0, (size_t)right * pixel);
}

/* Numbers count rows of all blocks of the result. */
static void run_images(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const images *s = params;
    const int64_t blocks = (s->channels + s->lanes - 1) / s->lanes, line = s->out_width * s->lanes;
    const float *from = native_at(bases, &s->from);
    float *to = native_at(bases, &s->to);

    for (; begin < end; begin++) {
        const int64_t y = begin % s->out_height - s->top, plane = begin / s->out_height;
        const int64_t sample = plane / s->blocks, block = plane % s->blocks;
        if (block >= blocks || y < 0 || y >= s->height)
            memset(to + begin * line, 0, (size_t)line * sizeof *to);
        else
            pad_line(s, from + ((sample * blocks + block) * s->height + y) * s->width * s->lanes,
                     to + begin * line, block == blocks - 1);
    }
}

static void plan_images(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    images *s = native_keep(p, sizeof *s);
    int64_t rows;

    if (!s)
        return;
    s->from = native_ref_of(p, item->inputs[0]);
    s->to = native_ref_of(p, item->output);
    s->lanes = p->isa->lanes;
    s->channels = x->dims[1];
    s->height = x->dims[2];
    s->width = x->dims[3];
    s->blocks = (y->dims[1] + s->lanes - 1) / s->lanes;
    s->out_height = y->dims[2];
    s->out_width = y->dims[3];
    s->top = margins_of(item, 2).before;
    s->left = margins_of(item, 3).before;
    s->cuts = margins_of(item, 1).after > 0 && x->dims[1] % s->lanes != 0;
    rows = native_first_dim(p, y) * s->blocks * s->out_height;
    native_add_run(p, run_images, s, rows, (double)(rows * s->out_width * s->lanes) * 0.2);
}

/* ---- any ---- */

void native_plan_padded(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    pad *s = native_keep(p, sizeof *s);
    int64_t rows = 1, step;
    int d;

    if (y->blocked) {
        plan_images(p, item);
        return;
    }
    if (!s)
        return;
    s->from = native_ref_of(p, item->inputs[0]);
    s->has_value = item->inputs[1] >= 0;
    s->value = native_ref_of(p, item->inputs[1]);
    s->to = native_ref_of(p, item->output);
    s->size = s->bytes = tfr_dtype_bits(x->dtype) / 8;
    for (s->rank = x->rank; s->rank > 1 && !is_padded(item, s->rank - 1);)
        s->bytes *= x->dims[--s->rank];
    for (d = s->rank - 1, step = s->bytes; d >= 0; d--) {
        s->dims[d] = d == 0 ? native_first_dim(p, y) : y->dims[d];
        s->steps[d] = step;
        step *= d == 0 ? 1 : x->dims[d];
        if (d == s->rank - 1 || is_padded(item, d))
            s->places[d] = make_places(p, item->call, item->perm[d], s->dims[d]);
        rows *= d == s->rank - 1 ? 1 : s->dims[d];
    }
    find_piece(s);
    s->row_bytes = s->dims[s->rank - 1] * s->bytes;
    native_add_run(p, run_pad, s, rows, (double)(rows * s->row_bytes) * 0.05);
}
