/* SPDX-License-Identifier: Apache-2.0 */
/* program_integer_run.c: the steps of program_integer.c's items, by int8_product.h. */
#include "program_integer_groups.h"

#include <math.h>
#include <string.h>

#include "int8_narrow.h"
#include "int8_product.h"
#include "int8_winograd.h"
#include "pixel_rows.h"

typedef struct integer {
    const tfr_plugin_device *device;
    native_int8_product product;
    native_int8_winograd winograd;
    native_int8_narrow narrow;
    const native_integer_groups *groups; /* or NULL */
    native_int8_shape shape;
    native_int8_args args;
    native_int8_addition addition;
    native_int8_matrix weights;
    native_ref source, packed, to, with;
    native_ref scale, zero; /* of the source, where a run computes them */
    bool has_scale, has_zero, zero_signed;
    bool has_with, depthwise, by_winograd, is_narrow;
    bool blocked;           /* of float32, made in shared memory first */
    bool turned;            /* of int32 with the pixels of a channel together: the same */
    bool has_act, in_parts; /* blocked: in_parts of rows, without shared memory */
    native_act act;         /* that the finish does not do */
    int64_t rows;           /* of a part */
    uint64_t rows_at;       /* in scratch memory: those of a part */
    uint64_t scratch_bytes; /* in front of computed scales */
    int32_t w_zero;         /* depthwise, by_winograd, is_narrow: of all, or of each channel */
    const int32_t *w_zeros;
    int64_t channels, blocks, pixels; /* blocked */
} integer;

/* ---- running ---- */

static native_int8_args args_of(const integer *c, const native_bases *bases,
                                native_int8_addition *addition)
{
    native_int8_args args = c->args;

    args.a = native_at(bases, &c->source);
    args.packed = native_at(bases, &c->packed);
    args.c = c->blocked || c->turned ? (void *)bases->shared : (void *)native_at(bases, &c->to);
    if (c->has_with && args.finish.result == NATIVE_INT8_TO_F32)
        args.finish.residual = native_at(bases, &c->with);
    else if (c->has_with) {
        *addition = c->addition;
        addition->with = native_at(bases, &c->with);
        args.finish.then = addition;
    }
    return args;
}

/* Scales and a zero point, where a run computes them. */
static void set_computed(const integer *c, const native_bases *bases, native_int8_args *args)
{
    float *scales = (float *)(void *)(bases->scratch + c->scratch_bytes), scale;
    int64_t i;

    if (c->has_zero) {
        const void *zero = native_at(bases, &c->zero);
        args->a_zero = c->zero_signed ? *(const int8_t *)zero : *(const uint8_t *)zero;
    }
    if (!c->has_scale)
        return;
    scale = *native_at(bases, &c->scale);
    for (i = 0; i < c->shape.n; i++)
        scales[i] = c->args.finish.scale[i] * scale;
    args->finish.scale = scales;
}

static void run_units(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const integer *c = params;
    native_int8_addition addition;
    native_int8_args args = args_of(c, bases, &addition);

    set_computed(c, bases, &args);
    if (c->groups)
        native_run_integer_groups(c->groups, &args, bases->scratch, begin, end);
    else if (c->depthwise)
        native_int8_depthwise_run(&c->device->int8_cpu, &c->shape, &args, begin, end);
    else if (c->is_narrow)
        native_int8_narrow_run(&c->narrow, &args, bases->scratch, begin, end);
    else if (c->by_winograd)
        native_int8_winograd_run(&c->winograd, &args, bases->scratch, begin, end);
    else
        native_int8_run(&c->product, &args, bases->scratch, begin, end);
}

/* n rows of channels to blocks of them, from row `row` on, with what is done to each number. */
static void put_blocks(const integer *c, const float *rows, int64_t row, int64_t n, float *to)
{
    const int64_t lanes = c->device->isa->lanes, step = c->pixels * lanes;
    int64_t some;

    for (; n > 0; n -= some, row += some, rows += some * c->channels) {
        const int64_t sample = row / c->pixels, first = row % c->pixels;
        float *at = to + sample * c->blocks * step + first * lanes;
        some = c->pixels - first < n ? c->pixels - first : n;
        native_rows_to_blocks(rows, c->channels, some, at, step, lanes);
        for (int64_t k = 0; k < c->blocks && c->has_act; k++, at += step)
            c->device->isa->act(&c->act, at, at, some * lanes);
    }
}

/* From all rows. Numbers count parts of them. */
static void run_blocks(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const integer *c = params;
    const int64_t row = begin * c->rows, last = end * c->rows;
    const float *rows = (const float *)(const void *)bases->shared;

    put_blocks(c, rows + row * c->channels, row, (last < c->shape.m ? last : c->shape.m) - row,
               native_at(bases, &c->to));
}

/* Parts of the rows, which are put into blocks while they are in the caches. */
static void run_parts(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const integer *c = params;
    native_int8_args args = args_of(c, bases, NULL);
    float *rows = (float *)(void *)(bases->scratch + c->rows_at);

    set_computed(c, bases, &args);
    args.c = rows;
    for (; begin < end; begin++) {
        const int64_t row = begin * c->rows, left = c->shape.m - row;
        const int64_t n = left < c->rows ? left : c->rows;
        args.row_of_c = row;
        if (c->depthwise)
            native_int8_depthwise_run(&c->device->int8_cpu, &c->shape, &args, row, row + n);
        else
            native_int8_run_rows(&c->product, &args, bases->scratch, row, n);
        put_blocks(c, rows, row, n, native_at(bases, &c->to));
    }
}

/* Rows of channels to the pixels of each. Numbers count samples, in them channels. */
static void run_turned(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const integer *c = params;
    const int32_t *rows = (const int32_t *)(const void *)bases->shared;
    int32_t *to = (int32_t *)(void *)native_at(bases, &c->to) + begin * c->pixels;

    for (; begin < end; begin++) {
        const int64_t sample = begin / c->channels, channel = begin % c->channels;
        const int32_t *from = rows + sample * c->pixels * c->channels + channel;
        for (int64_t i = 0; i < c->pixels; i++)
            *to++ = from[i * c->channels];
    }
}

/* ---- what becomes of the sums ---- */

/* The integer that the number becomes, or the end of the type. */
static int32_t quantized(const native_quant *q, float x)
{
    const double v = rint((double)(x / native_quant_scale(q, 0))) + native_quant_zero(q, 0);
    const int32_t low = q->dtype == TFR_DTYPE_I8 ? INT8_MIN : 0;
    const int32_t high = q->dtype == TFR_DTYPE_I8 ? INT8_MAX : UINT8_MAX;

    return v <= low ? low : v >= high ? high : (int32_t)v;
}

void native_set_limits(const native_quant *q, const native_act *act, int32_t *low, int32_t *high)
{
    const bool clips = act->kind == NATIVE_ACT_CLIP;

    *low = quantized(q, clips ? act->a : -INFINITY);
    *high = quantized(q, clips ? act->b : INFINITY);
}

static float computed_scale(const native_integer *in, int64_t i)
{
    const native_quant w = {.scale = in->w.scale, .n = in->scales};

    return native_quant_scale(&w, i);
}

static void set_float(native_planner *p, integer *c, const native_item *item, int64_t n)
{
    const native_integer *in = &p->ir->integers[item->integer];
    native_int8_finish *f = &c->args.finish;
    float *scale = native_keep(p, (size_t)n * sizeof *scale), *addend;
    int64_t i;

    for (i = 0; scale && i < n; i++)
        scale[i] = in->x.scale ? native_quant_scale(&in->x, 0) * native_quant_scale(&in->w, i)
                               : computed_scale(in, i);
    f->result = NATIVE_INT8_TO_F32;
    f->scale = scale;
    f->low_f = item->act.kind == NATIVE_ACT_CLIP ? item->act.a : -INFINITY;
    f->high_f = item->act.kind == NATIVE_ACT_CLIP ? item->act.b : INFINITY;
    if (item->n_inputs < 3 || item->inputs[2] < 0)
        return;
    addend = native_keep(p, (size_t)n * sizeof *addend);
    for (i = 0; addend && i < n; i++)
        addend[i] = item->beta * ((const float *)p->ir->values[item->inputs[2]].known)[i];
    f->addend = addend;
}

static void set_addition(integer *c, const native_integer *in)
{
    native_int8_addition *t = &c->addition;

    t->with_signed = in->with.dtype == TFR_DTYPE_I8;
    t->sum_signed = in->sum.dtype == TFR_DTYPE_I8;
    t->scale = native_quant_scale(&in->y, 0);
    t->with_scale = native_quant_scale(&in->with, 0);
    t->sum_scale = native_quant_scale(&in->sum, 0);
    t->with_zero = native_quant_zero(&in->with, 0);
    t->sum_zero = native_quant_zero(&in->sum, 0);
    native_set_limits(&in->sum, &in->limits, &t->low, &t->high);
}

static void set_bytes(native_planner *p, integer *c, const native_item *item, int64_t n)
{
    const native_integer *in = &p->ir->integers[item->integer];
    native_int8_finish *f = &c->args.finish;
    double *rescale = native_keep(p, (size_t)n * sizeof *rescale);
    const double x = native_quant_scale(&in->x, 0), y = native_quant_scale(&in->y, 0);
    const native_value *v;
    int32_t *bias;
    int64_t i;

    for (i = 0; rescale && i < n; i++)
        rescale[i] = x * native_quant_scale(&in->w, i) / y;
    f->result = in->y.dtype == TFR_DTYPE_I8 ? NATIVE_INT8_TO_I8 : NATIVE_INT8_TO_U8;
    f->rescale = rescale;
    f->zero = native_quant_zero(&in->y, 0);
    native_set_limits(&in->y, &item->act, &f->low, &f->high);
    if (in->with.scale)
        set_addition(c, in);
    if (item->n_inputs < 3 || item->inputs[2] < 0)
        return;
    v = &p->ir->values[item->inputs[2]];
    bias = native_keep(p, (size_t)n * sizeof *bias);
    for (i = 0; bias && i < n; i++)
        bias[i] = v->dtype == TFR_DTYPE_I32
                      ? ((const int32_t *)v->known)[i]
                      : (int32_t)rint((double)((const float *)v->known)[i] * item->beta /
                                      (x * native_quant_scale(&in->w, i)));
    for (i = 0; bias && i < n; i++)
        f->bias_is_far = f->bias_is_far ||
                         fabs((double)bias[i]) + 255.0 * 255.0 * (double)c->shape.k > INT32_MAX;
    f->bias = bias;
}

static void set_finish(native_planner *p, integer *c, const native_item *item, int64_t n)
{
    const native_integer *in = &p->ir->integers[item->integer];
    int32_t *zeros;
    int64_t i;

    c->args.finish.scale_each = true;
    c->args.a_zero = native_quant_zero(&in->x, 0);
    c->args.b_zero = c->w_zero = native_quant_zero(&in->w, 0);
    zeros = in->w.n > 1 && in->w.zero ? native_keep(p, (size_t)n * sizeof *zeros) : NULL;
    for (i = 0; zeros && i < n; i++)
        zeros[i] = native_quant_zero(&in->w, i);
    for (i = 0; zeros && i < n && zeros[i] == zeros[0]; i++)
        continue;
    c->args.b_zeros = c->w_zeros = zeros && i < n ? zeros : NULL;
    if (in->y.scale)
        set_bytes(p, c, item, n);
    else if (!in->x.scale && !in->scales)
        c->args.finish.result = NATIVE_INT8_TO_I32;
    else
        set_float(p, c, item, n);
}

/* ---- weights ---- */

static void pack_panels(void *user, int64_t begin, int64_t end)
{
    const integer *c = user;
    void *packed = (void *)(uintptr_t)c->packed.known;

    if (c->by_winograd)
        native_int8_winograd_pack(&c->winograd, &c->weights, c->w_zero, c->w_zeros, packed, begin,
                                  end);
    else if (c->is_narrow)
        native_int8_narrow_pack(&c->narrow, &c->weights, c->w_zero, c->w_zeros, packed, begin, end);
    else
        native_int8_pack(&c->product, &c->weights, packed, begin, end);
}

static void fill_weights(float *to, const void *user)
{
    integer c = *(const integer *)user;

    c.packed.known = (const char *)to;
    if (c.depthwise)
        native_int8_depthwise_pack(&c.shape, &c.weights, c.w_zero, c.w_zeros, to);
    else
        c.device->host->parallel_for(pack_panels, &c,
                                     c.by_winograd ? c.winograd.n_panels
                                     : c.is_narrow ? c.narrow.parts
                                                   : c.product.n_panels,
                                     1);
}

static void pack(native_planner *p, integer *c, const native_item *item)
{
    const native_integer *in = &p->ir->integers[item->integer];
    const native_int8_product *g = &c->product;
    const native_int8_matrix *w = &c->weights;
    const int64_t form = c->by_winograd ? -5 : c->is_narrow ? -14 : -3 - c->depthwise;
    const native_constant_key key = {
        {w->at, in->w.zero, c->depthwise ? NULL : (const void *)g->way},
        {form, c->shape.n, c->shape.k, w->n_step, w->inner_step, w->outer_step, c->shape.b_signed,
         c->shape.a_signed, c->is_narrow ? c->narrow.groups : g->panel_bytes}};
    const uint64_t bytes = c->depthwise     ? native_int8_depthwise_bytes(&c->shape)
                           : c->by_winograd ? c->winograd.packed_bytes
                           : c->is_narrow   ? c->narrow.packed_bytes
                                            : g->packed_bytes;

    c->packed.known = (const char *)native_pack(p, &key, bytes, fill_weights, c);
}

/* ---- plan ---- */

/* Axes of frames, rows and columns: values have the first two as one. */
static void set_window(native_int8_shape *s, const native_item *item, const native_value *x,
                       const native_value *y)
{
    const native_depth *depth = &item->depth;
    const int frames = depth->kernel > 0;
    native_int8_window *w = &s->window;
    int i;

    w->rank = 2 + frames;
    for (i = 0; i < 2; i++) {
        const int d = i + frames;
        w->in[d] = i == 0 ? native_frame_rows(x->dims[2], depth->size) : x->dims[3];
        w->out[d] = i == 0 ? native_frame_rows(y->dims[2], depth->outs) : y->dims[3];
        w->kernel[d] = item->kernel[i];
        w->stride[d] = item->stride[i];
        w->dilation[d] = item->dilation[i];
        w->pad[d] = item->pad[i];
    }
    if (frames) {
        w->in[0] = depth->size;
        w->out[0] = depth->outs;
        w->kernel[0] = depth->kernel;
        w->stride[0] = depth->stride;
        w->dilation[0] = depth->dilation;
        w->pad[0] = depth->pad;
    }
    w->channels = w->pixel_step = x->dims[1];
    w->image_step = x->dims[1] * x->dims[2] * x->dims[3];
}

static void set_shape(native_planner *p, integer *c, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const native_value *w = &p->ir->values[item->inputs[1]];
    native_int8_shape *s = &c->shape;
    const int64_t taps = native_taps(item);

    s->a_signed = x->dtype == TFR_DTYPE_I8;
    s->b_signed = w->dtype == TFR_DTYPE_I8;
    if (item->kind == NATIVE_ITEM_PRODUCT) {
        s->k = w->dims[item->transposed];
        s->n = w->dims[!item->transposed];
        s->m = native_count(p, x) / s->k;
        s->lda = s->k;
        c->weights = item->transposed ? (native_int8_matrix){w->known, s->k, s->k, 1, 0}
                                      : (native_int8_matrix){w->known, 1, s->k, s->n, 0};
    } else {
        c->depthwise = item->kind == NATIVE_ITEM_DEPTHWISE;
        s->n = y->dims[1];
        s->m = native_first_dim(p, y) * y->dims[2] * y->dims[3];
        s->k = taps * w->dims[1];
        set_window(s, item, x, y);
        c->weights = (native_int8_matrix){w->known, s->k, w->dims[1], taps, 1};
    }
    s->ldc = s->n;
}

/* Of inputs 3 and 4. */
static void set_refs(native_planner *p, integer *c, const native_item *item)
{
    c->has_scale = item->inputs[3] >= 0;
    c->scale = native_ref_of(p, item->inputs[3]);
    c->has_zero = item->inputs[4] >= 0;
    c->zero = native_ref_of(p, item->inputs[4]);
    c->zero_signed = c->shape.a_signed;
    c->scratch_bytes = p->scratch;
    if (c->has_scale)
        native_need_scratch(p, c->scratch_bytes + (uint64_t)c->shape.n * sizeof(float));
}

enum { PART_OF_ROWS = 128 << 10 /* bytes */, LEAST_ROWS = 48 };

/* Whether enough parts can be cut for all threads. */
static bool cut_rows(native_planner *p, integer *c)
{
    const int64_t threads = p->lanes > 1 ? p->ir->device->threads : 1;
    const int64_t row = c->shape.n * (int64_t)sizeof(float), m = c->shape.m;
    int64_t most = c->depthwise ? 512 : c->product.row_block;

    if (threads > 1 && most > (m + 4 * threads - 1) / (4 * threads))
        most = (m + 4 * threads - 1) / (4 * threads);
    c->rows = PART_OF_ROWS / row > LEAST_ROWS ? PART_OF_ROWS / row : LEAST_ROWS;
    c->rows = c->rows < most ? c->rows : most;
    if (c->groups || c->is_narrow || c->by_winograd || (threads > 1 && most < LEAST_ROWS)) {
        c->rows = LEAST_ROWS;
        return false;
    }
    c->rows_at = p->scratch;
    native_need_scratch(p, c->rows_at + (uint64_t)(c->rows * row));
    return true;
}

/* What is made of float32 goes to blocks. */
static void plan_blocks(native_planner *p, integer *c, const native_item *item, int64_t units,
                        double flops)
{
    const native_value *y = &p->ir->values[item->output];
    int64_t parts;

    c->has_act = item->act.kind != NATIVE_ACT_NONE && item->act.kind != NATIVE_ACT_CLIP;
    c->act = item->act;
    c->channels = c->shape.n;
    c->blocks = (c->channels + p->isa->lanes - 1) / p->isa->lanes;
    c->pixels = y->dims[2] * y->dims[3];
    c->in_parts = cut_rows(p, c);
    parts = (c->shape.m + c->rows - 1) / c->rows;
    if (c->in_parts) {
        native_add_run(p, run_parts, c, parts, flops / 100.0)->flops = flops;
        return;
    }
    native_need_shared(p, (uint64_t)(c->shape.m * c->shape.n) * sizeof(float));
    native_add_run(p, run_units, c, units, flops / 100.0)->flops = flops;
    native_add_run(p, run_blocks, c, parts, (double)native_count(p, y) * 0.5);
}

/* Sums that stay as they are go to the pixels of each channel. */
static void plan_turned(native_planner *p, integer *c, const native_item *item, int64_t units,
                        double flops)
{
    const native_value *y = &p->ir->values[item->output];

    c->turned = true;
    c->channels = c->shape.n;
    c->pixels = y->dims[2] * y->dims[3];
    native_need_shared(p, (uint64_t)(c->shape.m * c->shape.n) * sizeof(int32_t));
    native_add_run(p, run_units, c, units, flops / 100.0)->flops = flops;
    native_add_run(p, run_turned, c, native_first_dim(p, y) * c->channels,
                   (double)native_count(p, y) * 0.5);
}

/* What it is computed with; how many units there are. */
static int64_t choose_way(native_planner *p, integer *c, const native_item *item)
{
    const native_int8_cpu *cpu = &p->ir->device->int8_cpu;
    const int threads = p->lanes > 1 ? p->ir->device->threads : 1;

    c->is_narrow = item->groups > 1 && !c->depthwise &&
                   native_int8_narrow_plan(&c->narrow, cpu, &c->shape, item->groups);
    if (c->is_narrow) {
        native_need_scratch(p, c->narrow.scratch_bytes);
        return c->narrow.n_units;
    }
    if (item->groups > 1) {
        c->groups = native_plan_integer_groups(p, item, &c->shape);
        c->packed.known = c->groups ? c->groups->packed : NULL;
        return c->groups ? c->groups->n_units : 0;
    }
    if (c->depthwise)
        return c->shape.m;
    c->by_winograd = native_int8_winograd_plan(&c->winograd, cpu, &c->shape, threads);
    if (c->by_winograd) {
        native_need_scratch(p, c->winograd.scratch_bytes);
        return c->winograd.n_units;
    }
    native_int8_plan(&c->product, cpu, &c->shape, &c->weights, threads);
    native_need_scratch(p, c->product.scratch_bytes);
    return c->product.n_units;
}

void native_plan_integer(native_planner *p, const native_item *item)
{
    const native_value *y = &p->ir->values[item->output];
    const tfr_plugin_device *device = p->ir->device;
    integer *c;
    int64_t units;
    double flops;

    if (item->kind == NATIVE_ITEM_CONV_GRAD_INPUT) {
        native_plan_integer_turned(p, item);
        return;
    }
    if (item->kind != NATIVE_ITEM_CONV && item->kind != NATIVE_ITEM_DEPTHWISE &&
        item->kind != NATIVE_ITEM_PRODUCT) {
        native_plan_bytes(p, item);
        return;
    }
    c = native_keep(p, sizeof *c);
    if (!c)
        return;
    c->device = device;
    c->source = native_ref_of(p, item->inputs[0]);
    c->to = native_ref_of(p, item->output);
    c->has_with = item->residual >= 0;
    c->with = native_ref_of(p, item->residual);
    set_shape(p, c, item);
    units = choose_way(p, c, item);
    if (item->n_inputs > 4)
        set_refs(p, c, item);
    set_finish(p, c, item, c->shape.n);
    if (p->status == TFR_OK && !c->groups)
        pack(p, c, item);
    flops = 2.0 * (double)c->shape.m * (double)c->shape.n * (double)c->shape.k;
    c->blocked = y->blocked && y->dtype == TFR_DTYPE_F32;
    if (c->blocked)
        plan_blocks(p, c, item, units, flops);
    else if (y->dtype == TFR_DTYPE_I32 && item->kind != NATIVE_ITEM_PRODUCT)
        plan_turned(p, c, item, units, flops);
    else
        native_add_run(p, run_units, c, units, flops / 100.0)->flops = flops;
}
