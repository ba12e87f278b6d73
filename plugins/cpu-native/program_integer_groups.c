/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_integer_groups.c: convolutions of 8 bits in groups, as products of int8_product.h over
 * parts of the channels. Wide groups are a part each. Of narrow ones as many are a part as have
 * outputs for one panel of columns: each column reads the inputs of all of them, with weights that
 * are its zero point for inputs of other groups, which adds nothing. A panel is computed whole
 * anyway, so that this takes no more products than one panel for each group. Groups of few
 * outputs are int8_narrow.h's where that is faster.
 *
 * The last part reads as many inputs as the others, those in front of its own, too, if it has
 * fewer groups.
 */
#include "program_integer_groups.h"

#include <stdlib.h>
#include <string.h>

/* ---- parts ---- */

static int64_t first_input(const native_integer_groups *g, int64_t part)
{
    return part * g->ins + g->ins < g->all_ins ? part * g->ins : g->all_ins - g->ins;
}

static const native_int8_product *product_of(const native_integer_groups *g, int64_t part)
{
    return part + 1 < g->parts ? &g->product : &g->last;
}

/* How many groups of so many outputs and terms are a part. */
static int64_t groups_of_part(const native_int8_cpu *cpu, int64_t groups, int64_t outs,
                              int64_t terms)
{
    int64_t n = native_int8_panel_columns(cpu) / outs;

    if (n > groups)
        n = groups;
    if (n > NATIVE_INTEGER_TERMS / terms)
        n = NATIVE_INTEGER_TERMS / terms;
    return n > 1 ? n : 1;
}

/* ---- running ---- */

static native_int8_args args_of(const native_integer_groups *g, const native_int8_args *all,
                                int64_t part, native_int8_addition *then)
{
    const int64_t out = part * g->outs;
    native_int8_args args = *all;
    native_int8_finish *f = &args.finish;
    const bool bytes = f->result == NATIVE_INT8_TO_U8 || f->result == NATIVE_INT8_TO_I8;

    args.a = (const char *)all->a + first_input(g, part);
    args.packed = g->packed + (size_t)part * g->product.packed_bytes;
    args.c = (char *)all->c + out * (bytes ? 1 : 4);
    if (args.b_zeros)
        args.b_zeros += out;
    if (f->bias)
        f->bias += out;
    if (f->scale && f->scale_each)
        f->scale += out;
    if (f->rescale && f->scale_each)
        f->rescale += out;
    if (f->addend)
        f->addend += out;
    if (f->residual)
        f->residual += out;
    if (f->then) {
        *then = *f->then;
        then->with = (const char *)f->then->with + out;
        f->then = then;
    }
    return args;
}

void native_run_integer_groups(const native_integer_groups *g, const native_int8_args *args,
                               void *scratch, int64_t begin, int64_t end)
{
    const int64_t units = g->product.n_units;
    int64_t some;

    for (; begin < end; begin += some) {
        const int64_t part = begin / units, unit = begin % units;
        native_int8_addition then;
        const native_int8_args own = args_of(g, args, part, &then);
        some = units - unit < end - begin ? units - unit : end - begin;
        native_int8_run(product_of(g, part), &own, scratch, unit, unit + some);
    }
}

/* ---- weights ---- */

static native_int8_matrix weights_of(const native_integer_groups *g, int64_t part)
{
    const int64_t terms = g->ins * g->taps;

    return (native_int8_matrix){g->weights + part * g->outs * terms, terms, g->ins, g->taps, 1};
}

/* from: the model's, [all_outs][ins of a group][taps], of so many groups. */
static void spread_weights(const native_integer_groups *g, const uint8_t *from, int64_t groups,
                           const native_quant *quant, uint8_t *to)
{
    const int64_t ins = g->all_ins / groups, outs = g->all_outs / groups, terms = g->ins * g->taps;
    int64_t o;

    for (o = 0; o < g->all_outs; o++, to += terms) {
        const int64_t first = o / outs * ins - first_input(g, o / g->outs);
        memset(to, native_quant_zero(quant, o) & 0xff, (size_t)terms);
        memcpy(to + first * g->taps, from + o * ins * g->taps, (size_t)(ins * g->taps));
    }
}

typedef struct packer {
    const native_integer_groups *groups;
    const tfr_host *host;
    char *to;
} packer;

static void pack_parts(void *user, int64_t begin, int64_t end)
{
    const packer *k = user;
    const native_integer_groups *g = k->groups;

    for (; begin < end; begin++) {
        const native_int8_product *p = product_of(g, begin);
        const native_int8_matrix w = weights_of(g, begin);
        native_int8_pack(p, &w, k->to + (size_t)begin * g->product.packed_bytes, 0, p->n_panels);
    }
}

static void fill(float *to, const void *user)
{
    packer k = *(const packer *)user;

    k.to = (char *)to;
    k.host->parallel_for(pack_parts, &k, k.groups->parts, 1);
}

/* ---- plan ---- */

static void plan_products(native_integer_groups *g, const native_planner *p,
                          const native_int8_shape *all)
{
    const int threads = p->lanes > 1 ? p->ir->device->threads : 1;
    const native_int8_matrix w = weights_of(g, 0);
    native_int8_shape shape = *all;

    shape.n = g->outs;
    shape.k = g->ins * g->taps;
    shape.window.channels = g->ins;
    native_int8_plan(&g->product, &p->ir->device->int8_cpu, &shape, &w,
                     g->parts < 4 * threads ? threads : 1);
    g->last = g->product;
    native_int8_plan_less(&g->last, g->all_outs - (g->parts - 1) * g->outs);
    g->n_units = g->parts * g->product.n_units;
}

static void pack(native_planner *p, native_integer_groups *g, const native_item *item)
{
    const native_int8_product *one = &g->product;
    const native_constant_key key = {
        {p->ir->values[item->inputs[1]].known, p->ir->integers[item->integer].w.zero, one->way},
        {-6, g->all_outs, g->all_ins, g->taps, g->ins, g->outs, one->shape.b_signed,
         one->shape.a_signed, one->panel_bytes}};
    const packer k = {.groups = g, .host = p->ir->device->host};

    g->packed =
        (const char *)native_pack(p, &key, (uint64_t)g->parts * one->packed_bytes, fill, &k);
}

const native_integer_groups *native_plan_integer_groups(native_planner *p, const native_item *item,
                                                        const native_int8_shape *shape)
{
    native_integer_groups *g = native_keep(p, sizeof *g);
    const int64_t outs = shape->n / item->groups, ins = shape->window.channels / item->groups;
    uint8_t *weights;
    int64_t n;

    if (!g)
        return NULL;
    n = groups_of_part(&p->ir->device->int8_cpu, item->groups, outs, shape->k);
    *g = (native_integer_groups){.parts = (item->groups + n - 1) / n,
                                 .ins = n * ins,
                                 .outs = n * outs,
                                 .all_ins = shape->window.channels,
                                 .all_outs = shape->n,
                                 .taps = shape->k / ins};
    weights = malloc((size_t)(g->all_outs * g->ins * g->taps));
    if (!weights) {
        p->status = tfr_fail(p->err, TFR_ENOMEM, "no memory for weights of groups");
        return NULL;
    }
    spread_weights(g, p->ir->values[item->inputs[1]].known, item->groups,
                   &p->ir->integers[item->integer].w, weights);
    g->weights = weights;
    plan_products(g, p, shape);
    pack(p, g, item);
    g->weights = NULL;
    free(weights);
    native_need_scratch(p, g->product.scratch_bytes);
    return g->packed ? g : NULL;
}
