/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_winograd_form.c: Winograd's forms, and which of them pays for a convolution, if one does.
 */
#include "program_winograd.h"

/* 1 / (2 a^2 (a^2 - b^2)) for the points a = 5/8 and b = 3/2, and with a and b exchanged */
#define FACTOR_A (1.0 / (2.0 * 0.390625 * (0.390625 - 2.25)))
#define FACTOR_B (1.0 / (2.0 * 2.25 * (2.25 - 0.390625)))

#define WEIGHTS_3                                                                                  \
    {                                                                                              \
        {1.0, 0.0, 0.0}, {-2.0 / 9.0, 2.0 / 9.0, -2.0 / 9.0},                                      \
            {-8.0 / 9.0, -4.0 / 9.0, -2.0 / 9.0}, {1.0 / 9.0, 2.0 / 9.0, 4.0 / 9.0},               \
        {                                                                                          \
            0.0, 0.0, 1.0                                                                          \
        }                                                                                          \
    }

const native_winograd_form_desc native_winograd_forms[NATIVE_WINOGRAD_FORMS] = {
    {2,
     4,
     4,
     false,
     {{1.0, 0.0, 0.0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0.0, 0.0, 1.0}},
     90.0,
     70.0},
    {4,
     6,
     6,
     false,
     {{1.0 / (0.390625 * 2.25), 0.0, 0.0},
      {FACTOR_A, 0.625 * FACTOR_A, 0.390625 * FACTOR_A},
      {FACTOR_A, -0.625 * FACTOR_A, 0.390625 * FACTOR_A},
      {FACTOR_B, 1.5 * FACTOR_B, 2.25 * FACTOR_B},
      {FACTOR_B, -1.5 * FACTOR_B, 2.25 * FACTOR_B},
      {0.0, 0.0, 1.0}},
     200.0,
     160.0},
    {3, 5, 5, false, WEIGHTS_3, 160.0, 110.0},
    {5, 3, 5, true, WEIGHTS_3, 80.0, 150.0},
};

/* Outputs of the convolution that are one of the item, in each direction. */
static int64_t side(const native_item *item)
{
    return item->pooled || item->codes >= 0 ? 2 : 1;
}

/* Weights of training are read by unit after unit: few of them stay in the second cache. */
static bool stays_near(const native_planner *p, const native_item *item, int places)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];

    return !p->ir->values[item->inputs[1]].known &&
           places * x->dims[1] * y->dims[1] * (int64_t)sizeof(float) <= WINOGRAD_NEAR_BYTES;
}

int64_t native_winograd_count_taps(int64_t outputs, int64_t pixels, int64_t pad)
{
    int64_t n = 0, i;

    for (i = 0; i < 3 * outputs; i++) {
        const int64_t at = i / 3 + i % 3 - pad;
        n += at >= 0 && at < pixels;
    }
    return n;
}

/*
 * Products of the sum over the window. Of constants those with padding count, too: what they pay
 * was measured so.
 */
static double count_products(const native_planner *p, const native_item *item, int64_t rows,
                             int64_t columns)
{
    const native_depth *d = &item->depth;
    const native_value *x = &p->ir->values[item->inputs[0]];
    const bool turned = item->kind == NATIVE_ITEM_CONV_GRAD_INPUT;

    if (p->ir->values[item->inputs[1]].known)
        return (double)(rows * columns * WINOGRAD_TAPS) *
               (double)(d->kernel ? d->kernel * d->outs : 1);
    return (double)native_winograd_count_taps(rows, x->dims[2],
                                              turned ? 2 - item->pad[0] : item->pad[0]) *
           (double)native_winograd_count_taps(columns, x->dims[3],
                                              turned ? 2 - item->pad[1] : item->pad[1]);
}

/* Whether tiles of the form can make the item's outputs. */
static bool fits(const native_planner *p, const native_item *item,
                 const native_winograd_form_desc *f)
{
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];

    if (!f->back)
        return f->out % side(item) == 0;
    return item->kind == NATIVE_ITEM_CONV_GRAD_INPUT && item->pad[0] == 0 && item->pad[1] == 0 &&
           x->dims[2] <= f->in && x->dims[3] <= f->in && y->dims[2] <= f->out &&
           y->dims[3] <= f->out;
}

/*
 * The form that pays, or -1, counted in products of numbers; those in whose time a weight comes
 * from far away were measured. By the shape of a sample alone, so that the same model gives the
 * same numbers in every process and batch, however samples are shared out.
 */
int native_winograd_form(const native_planner *p, const native_item *item)
{
    const double worth = 0.75;
    const native_value *x = &p->ir->values[item->inputs[0]], *y = &p->ir->values[item->output];
    const double ins = (double)x->dims[1], outs = (double)y->dims[1];
    const int64_t part = side(item), frames = item->depth.kernel ? item->depth.outs : 1;
    const int64_t rows = y->dims[2] / frames * part, columns = y->dims[3] * part;
    const double deep = item->depth.kernel ? (double)item->depth.kernel : 1.0;
    double least = worth * count_products(p, item, rows, columns) * ins * outs;
    int best = -1, i;

    for (i = 0; i < 2; i++) {
        if (item->kernel[i] != 3 || item->stride[i] != 1 || item->dilation[i] != 1)
            return -1;
    }
    if (item->groups > 1 || (item->kind == NATIVE_ITEM_CONV_GRAD_INPUT && item->depth.kernel))
        return -1;
    if (item->codes >= 0 && (item->pool[0] != 2 || item->pool[1] != 2))
        return -1;
    if (!p->ir->device->winograd || item->plain_source || x->dims[1] < NATIVE_MAX_LANES ||
        y->dims[1] < NATIVE_MAX_LANES)
        return -1;
    for (i = 0; i < NATIVE_WINOGRAD_FORMS; i++) {
        const native_winograd_form_desc *f = &native_winograd_forms[i];
        double tiles =
            (double)(frames * ((rows + f->out - 1) / f->out) * ((columns + f->out - 1) / f->out));
        const int places = native_winograd_places(f);
        const double of_weight = stays_near(p, item, places) ? 0.0 : 43.0;
        double cost = places * deep * ins * outs * (tiles > of_weight ? tiles : of_weight) +
                      tiles * (f->of_source * deep * ins + f->of_result * outs);
        if (fits(p, item, f) && cost <= least) {
            least = cost;
            best = i;
        }
    }
    return best;
}
