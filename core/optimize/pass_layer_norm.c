/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass_layer_norm.c: normalisations over the last axes that are written out:
 *   d = x - mean(x)   y = d / sqrt(mean(d d) + e) s + t      LayerNormalization
 *                     y = x / sqrt(mean(x x) + e) s          RMSNormalization
 * The sums are kept in float by the op, so it is no loss for float and less.
 */
#include "optimize/passes.h"

/* b / sqrt(mean of squares + e). c is b where it is read again. */
#define OVER_ROOT(b, c)                                                                            \
    "{Div(" b ",Sqrt(" MEAN_SQUARE(c) "))|"                                                        \
                                      "Mul(" b ",{Reciprocal(Sqrt(" MEAN_SQUARE(                   \
                                          c) "))|Div(1,Sqrt(" MEAN_SQUARE(c) "))})}"
#define MEAN_SQUARE(c) "Add(v=ReduceMean({Pow(" c ",2)|Mul(" c "," c ")},b),e)"

static const struct {
    const char *op, *pattern;
} norms[] = {
    {"LayerNormalization", "Add(Mul(" OVER_ROOT("d=Sub(x,m=ReduceMean(x,a))", "d") ",s),t)"},
    {"RMSNormalization", "Mul(" OVER_ROOT("x", "x") ",s)"},
};

/* How many of the last axes the mean is over, with rank known or a list of -1 alone; 0 = not so. */
static int32_t last_axes(tfr__rewrite *rw, tfr_value mean, const tfr_value_type *x)
{
    const tfr__node *node = tfr__rewrite_producer(rw, mean);
    int64_t axes[TFR_MAX_RANK];
    uint32_t n, seen = 0;
    if (!tfr__attr_int(&node->attrs, "keepdims", 1) ||
        !tfr__rewrite_ints(rw, tfr__rewrite_input(rw, node, 1), axes, TFR_MAX_RANK, &n))
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t back = axes[i] < 0 ? -axes[i] : x->rank_known ? x->rank - axes[i] : 0;
        if (back < 1 || back > TFR_MAX_RANK)
            return 0;
        seen |= UINT32_C(1) << (back - 1);
    }
    return seen == (UINT32_C(1) << n) - 1 ? (int32_t)n : 0;
}

/* Are s (and t) of just the last n axes, known for x as well? Else they might make y larger. */
static bool fits(const tfr__rewrite *rw, tfr_value v, const tfr_value_type *x, int32_t n)
{
    const tfr_value_type *s = tfr__rewrite_type(rw, v);
    if (!s->rank_known || s->rank != n || x->rank < n ||
        (s->dtype != TFR_DTYPE_F32 && s->dtype != TFR_DTYPE_F16 && s->dtype != TFR_DTYPE_BF16))
        return false;
    for (int32_t i = 0; i < n; i++)
        if (s->dims[i] < 1 || s->dims[i] != x->dims[x->rank - n + i])
            return false;
    return true;
}

static uint32_t find(tfr__rewrite *rw, uint32_t i, const char *op, const char *pattern)
{
    tfr__match m;
    tfr_value in[3];
    const tfr_value_type *x;
    const tfr__node *node = &rw->graph->nodes[i];
    tfr__attr_list attrs = {0};
    double epsilon;
    int32_t n;
    if (!node->op || !tfr__pattern(rw, node, pattern, &m) ||
        !tfr__rewrite_number(rw, tfr__matched(&m, 'e'), &epsilon))
        return 0;
    in[0] = tfr__matched(&m, 'x');
    in[1] = tfr__matched(&m, 's');
    in[2] = tfr__matched(&m, 't');
    x = tfr__rewrite_type(rw, in[0]);
    n = last_axes(rw, tfr__matched(&m, 'v'), x);
    if (!n || !x->rank_known || m.rank > x->rank || !fits(rw, in[1], x, n) ||
        tfr__rewrite_type(rw, tfr__matched(&m, 'e'))->rank > x->rank)
        return 0;
    if (in[2] != TFR_VALUE_NONE &&
        (!fits(rw, in[2], x, n) || last_axes(rw, tfr__matched(&m, 'm'), x) != n))
        return 0;
    if (tfr__attr_set_int(&attrs, "axis", -n, NULL) ||
        tfr__attr_set_float(&attrs, "epsilon", (float)epsilon, NULL))
        rw->status = TFR_ENOMEM;
    return tfr__rewrite_compose(rw, op, in, in[2] == TFR_VALUE_NONE ? 2 : 3, &attrs,
                                node->outputs[0]);
}

uint32_t tfr__pass_layer_norm(tfr__rewrite *rw)
{
    uint32_t n = 0, n_nodes = rw->graph->n_nodes;
    for (size_t k = 0; k < sizeof norms / sizeof norms[0]; k++)
        for (uint32_t i = 0; i < n_nodes && !rw->status && tfr__rewrite_claimed(rw, norms[k].op);
             i++)
            n += find(rw, i, norms[k].op, norms[k].pattern);
    return n;
}
