/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_bytes_scale.c: values of 8 bits times a factor and a term: batch norms between
 * DequantizeLinear and QuantizeLinear, and values that go from one scale and zero point to another.
 */
#include "program_grid.h"

#include <string.h>

/* ---- from grid to grid ---- */

void native_change_grid(const native_int8_isa *isa, const native_regrid *to_grid,
                        const uint8_t *from, uint8_t *to, int64_t n)
{
    native_byte_scale scale;

    if (!to_grid->is_scale) {
        isa->look_up(to_grid->table, from, to, n);
        return;
    }
    scale = to_grid->scale;
    scale.factor = &to_grid->factor;
    scale.term = &to_grid->term;
    scale.n = n;
    isa->scale_bytes(&scale, from, to);
}

/* Vectors multiply faster than they look up: if that gives the same for all 256. */
static void find_scale(const native_int8_isa *isa, const native_grid *x, const native_grid *y,
                       const uint8_t *all, native_regrid *made)
{
    const float flip = x->is_signed ? 128 : 0;
    uint8_t obtained[256];

    made->factor = x->scale / y->scale;
    made->term = -(x->zero + flip) * made->factor;
    made->scale = (native_byte_scale){.flip = x->is_signed ? 0x80 : 0, .zero = (int32_t)y->zero};
    made->scale.low = (y->is_signed ? INT8_MIN : 0) - y->zero;
    made->scale.high = (y->is_signed ? INT8_MAX : UINT8_MAX) - y->zero;
    made->is_scale = true;
    native_change_grid(isa, made, all, obtained, sizeof obtained);
    made->is_scale = memcmp(obtained, made->table, sizeof obtained) == 0;
}

const native_regrid *native_new_regrid(native_planner *p, const native_quant *from,
                                       const native_quant *to)
{
    const native_grid x = native_grid_of(from), y = native_grid_of(to);
    native_regrid *made;
    uint8_t all[256];
    float numbers[256];
    int i;

    if (native_same_grid(from, to))
        return NULL;
    made = native_keep(p, sizeof *made);
    if (!made)
        return NULL;
    for (i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    native_from_grid(p->ir->device->int8, &x, all, numbers, 256);
    native_to_grid(p->ir->device->int8, &y, numbers, made->table, 256);
    find_scale(p->ir->device->int8, &x, &y, all, made);
    return made;
}

/* ---- a factor and a term ---- */

typedef struct norm {
    const native_int8_isa *isa;
    native_ref from, to;
    native_byte_scale scale;
    int64_t pixels;
} norm;

enum { NORM_PART = 16 /* pixels */ };

static void run_norm(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const norm *f = params;
    const int64_t n = f->scale.n;
    const int64_t last = end * NORM_PART < f->pixels ? end * NORM_PART : f->pixels;
    const uint8_t *from = (const uint8_t *)native_at(bases, &f->from);
    uint8_t *to = (uint8_t *)native_at(bases, &f->to);
    int64_t i;

    for (i = begin * NORM_PART; i < last; i++)
        f->isa->scale_bytes(&f->scale, from + i * n, to + i * n);
}

static void set_factors(native_planner *p, norm *f, const native_item *item,
                        const native_integer *in)
{
    float *factors = native_keep(p, (size_t)f->scale.n * sizeof *factors);
    float *terms = native_keep(p, (size_t)f->scale.n * sizeof *terms);
    int64_t i;

    for (i = 0; i < f->scale.n && factors && terms; i++) {
        double factor, term;
        native_byte_norm(p->ir, item, &in->x, &in->y, i, &factor, &term);
        factors[i] = (float)factor;
        terms[i] = (float)(term - (f->scale.flip ? 128 : 0) * factor);
    }
    f->scale.factor = factors;
    f->scale.term = terms;
}

void native_plan_byte_norm(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    const native_integer *in = &p->ir->integers[item->integer];
    norm *f = native_keep(p, sizeof *f);
    int32_t low, high;

    if (!f)
        return;
    native_set_limits(&in->y, &item->act, &low, &high);
    f->isa = p->ir->device->int8;
    f->from = native_ref_of(p, item->inputs[0]);
    f->to = native_ref_of(p, item->output);
    f->scale = (native_byte_scale){.each = true, .n = y->dims[1]};
    f->scale.zero = native_quant_zero(&in->y, 0);
    f->scale.low = (float)(low - f->scale.zero);
    f->scale.high = (float)(high - f->scale.zero);
    f->scale.flip = in->x.dtype == TFR_DTYPE_I8 ? 0x80 : 0;
    f->pixels = native_count(p, y) / y->dims[1];
    set_factors(p, f, item, in);
    native_add_run(p, run_norm, f, (f->pixels + NORM_PART - 1) / NORM_PART,
                   (double)native_count(p, y) * 0.2);
}
