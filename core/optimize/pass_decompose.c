/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass_decompose.c: composite ops in parts, as the standard's function bodies define them (for
 * Softplus and the softmaxes without their overflow). An op is written out if the reference alone
 * has it while a backend above it has all of the parts; only for float32, because narrower types
 * would be rounded at every part. Nothing here undoes what other passes compose: they make ops that
 * are claimed.
 *
 * A body is a text: x y z w are the operands (those at the end of a call may be absent), other
 * small letters what `l=` named before, or constants of the node (see constant); decimals are
 * constants, & hands the attributes of the node on.
 */
#include "optimize/passes.h"

#include <math.h>
#include <string.h>

typedef struct composite {
    const char *op, *body;
    bool (*fits)(tfr__rewrite *rw, const tfr__node *node);
    uint32_t n_inputs; /* that must be there */
    float alpha;       /* where the node has none */
} composite;

/* (x - mean) / sqrt(variance + e) over the axes l */
#define NORMALIZED(x) "Div(d=Sub(" x ",ReduceMean(v,l)),Sqrt(Add(ReduceMean(Mul(d,d),l),e)))"

static bool sums_all(tfr__rewrite *rw, const tfr__node *node)
{
    (void)rw;
    return !tfr__attr_int(&node->attrs, "noop_with_empty_axes", 0);
}

/*
 * Dividing by 0 and multiplying by it gives NaN, and by large numbers nothing; the op is exact. A
 * negative alpha would swap the two halves of Elu.
 */
static bool has_usual_alpha(tfr__rewrite *rw, const tfr__node *node)
{
    (void)rw;
    float alpha = tfr__attr_float(&node->attrs, "alpha", 1);
    return alpha > 1e-3f && alpha < 1e3f;
}

/* An empty list is no axes here, and all axes to ReduceMean. */
static bool has_axes(tfr__rewrite *rw, const tfr__node *node)
{
    uint64_t n = 0;
    (void)rw;
    return !tfr__attr_ints(&node->attrs, "axes", &n) || n > 0;
}

static bool is_exact(tfr__rewrite *rw, const tfr__node *node)
{
    (void)rw;
    return *tfr__attr_string(&node->attrs, "approximate", "none") == 'n';
}

static bool is_approximate(tfr__rewrite *rw, const tfr__node *node)
{
    return !is_exact(rw, node);
}

static bool has_type(tfr__rewrite *rw, const tfr__node *node)
{
    return tfr__rewrite_type(rw, tfr__rewrite_input(rw, node, 1))->dtype != TFR_DTYPE_NONE;
}

/* Four known axes, as many heads on all sides, a plain mask of as many columns as there are keys.
 */
static bool is_plain_attention(tfr__rewrite *rw, const tfr__node *node)
{
    const tfr_value_type *t[4];
    for (uint32_t i = 0; i < 4; i++)
        t[i] = tfr__rewrite_type(rw, tfr__rewrite_input(rw, node, i));
    for (uint32_t i = 0; i < 3; i++)
        if (!t[i]->rank_known || t[i]->rank != 4 || t[i]->dims[1] < 1 || t[i]->dims[3] < 1 ||
            t[i]->dims[1] != t[0]->dims[1])
            return false;
    for (uint32_t i = 4; i < node->n_inputs; i++)
        if (tfr__rewrite_input(rw, node, i) != TFR_VALUE_NONE)
            return false;
    if (node->n_inputs > 3 &&
        (t[3]->dtype != TFR_DTYPE_F32 || !t[3]->rank_known || t[3]->rank < 2 || t[3]->rank > 4 ||
         t[1]->dims[2] < 1 || t[3]->dims[t[3]->rank - 1] != t[1]->dims[2]))
        return false;
    return !tfr__attr_int(&node->attrs, "is_causal", 0) &&
           tfr__attr_int(&node->attrs, "left_window_size", -1) < 0 &&
           tfr__attr_int(&node->attrs, "right_window_size", -1) < 0 &&
           tfr__attr_float(&node->attrs, "softcap", 0) == 0 &&
           !tfr__attr_find(&node->attrs, "softmax_precision");
}

static const composite composites[] = {
    {"Attention", "MatMul(Softmax(Add(MatMul(Mul(x,q),Transpose(y)),w)),z)", .n_inputs = 4,
     .fits = is_plain_attention},
    {"Attention", "MatMul(Softmax(MatMul(Mul(x,q),Transpose(y))),z)", .n_inputs = 3,
     .fits = is_plain_attention},
    {"CastLike", "Cast&(x)", .n_inputs = 2, .fits = has_type},
    {"Celu", "Mul(Elu(Div(x,a)),a)", .n_inputs = 1, .alpha = 1, .fits = has_usual_alpha},
    {"Clip", "Min(Max(x,y),z)", .n_inputs = 3},
    {"Elu", "Where(Less(x,0),Mul(Sub(Exp(x),1),a),x)", .n_inputs = 1, .alpha = 1},
    {"Gelu", "Mul(Mul(x,.5),Add(Erf(Mul(x,.70710678118)),1))", .n_inputs = 1, .fits = is_exact},
    {"Gelu", "Mul(Mul(x,.5),Add(Tanh(Mul(Add(x,Mul(Mul(x,Mul(x,x)),.044715)),.79788456080)),1))",
     .n_inputs = 1, .fits = is_approximate},
    {"GreaterOrEqual", "Or(Greater(x,y),Equal(x,y))", .n_inputs = 2},
    {"GroupNormalization",
     "Add(Mul(Reshape(" NORMALIZED("v=Reshape(x,g)") ",Shape(x)),Reshape(y,s)),Reshape(z,s))",
     .n_inputs = 3},
    {"HardSigmoid", "Clip(Add(Mul(x,a),b),0,1)", .n_inputs = 1, .alpha = .2f},
    {"HardSwish", "Mul(x,Clip(Add(Mul(x,.16666666667),.5),0,1))", .n_inputs = 1},
    {"LayerNormalization", "Add(Mul(" NORMALIZED("v=x") ",y),z)", .n_inputs = 3},
    {"LayerNormalization", "Mul(" NORMALIZED("v=x") ",y)", .n_inputs = 2},
    {"LeakyRelu", "Where(Less(x,0),Mul(x,a),x)", .n_inputs = 1, .alpha = .01f},
    {"LessOrEqual", "Or(Less(x,y),Equal(x,y))", .n_inputs = 2},
    {"LogSoftmax", "Sub(d=Sub(x,ReduceMax(x,i)),Log(ReduceSum(Exp(d),i)))", .n_inputs = 1},
    {"MeanVarianceNormalization",
     "Div(d=Sub(x,ReduceMean(x,m)),Add(Sqrt(ReduceMean(Mul(d,d),m)),.000000001))", .n_inputs = 1,
     .fits = has_axes},
    {"Mish", "Mul(x,Tanh(Softplus(x)))", .n_inputs = 1},
    {"PRelu", "Where(Less(x,0),Mul(x,y),x)", .n_inputs = 2},
    {"RMSNormalization", "Mul(Div(x,Sqrt(Add(ReduceMean(Mul(x,x),l),e))),y)", .n_inputs = 2},
    {"ReduceL1", "ReduceSum&(Abs(x),y)", .n_inputs = 1, .fits = sums_all},
    {"ReduceL2", "Sqrt(ReduceSum&(Mul(x,x),y))", .n_inputs = 1, .fits = sums_all},
    {"ReduceLogSum", "Log(ReduceSum&(x,y))", .n_inputs = 1, .fits = sums_all},
    {"ReduceSumSquare", "ReduceSum&(Mul(x,x),y)", .n_inputs = 1, .fits = sums_all},
    {"Selu", "Mul(Where(Less(x,0),Mul(Sub(Exp(x),1),a),x),c)", .n_inputs = 1,
     .alpha = 1.67326319217681884765625f},
    {"Softmax", "Div(d=Exp(Sub(x,ReduceMax(x,i))),ReduceSum(d,i))", .n_inputs = 1},
    {"Softplus", "Add(Max(x,0),Log(Add(Exp(Neg(Abs(x))),1)))", .n_inputs = 1},
    {"Softsign", "Div(x,Add(Abs(x),1))", .n_inputs = 1},
    {"Swish", "Mul(x,Sigmoid(Mul(x,a)))", .n_inputs = 1, .alpha = 1},
    {"ThresholdedRelu", "Where(Greater(x,a),x,0)", .n_inputs = 1, .alpha = 1},
};

/* ---- constants ------------------------------------------------------------------------------- */

typedef struct building {
    tfr__rewrite *rw;
    const composite *row;
    uint32_t node;
    tfr_value letters[26];
} building;

static tfr_value new_constant(building *b, tfr_dtype dtype, int32_t rank, const void *data,
                              int64_t n)
{
    tfr_tensor *t;
    tfr_shape shape = {rank, {n}};
    if (tfr_tensor_create(dtype, &shape, &t, NULL)) {
        b->rw->status = TFR_ENOMEM;
        return TFR_VALUE_NONE;
    }
    if (t->bytes)
        memcpy(t->data, data, t->bytes);
    return tfr__rewrite_constant(b->rw, b->rw->graph->nodes[b->node].outputs[0], t);
}

static tfr_value number(building *b, double x)
{
    float f = (float)x;
    return new_constant(b, TFR_DTYPE_F32, 0, &f, 1);
}

/* Axes or a shape; NONE if what it depends on is not known. */
static tfr_value integers(building *b, char letter)
{
    const tfr__node *node = &b->rw->graph->nodes[b->node];
    const tfr_value_type *x = tfr__rewrite_type(b->rw, node->inputs[0]);
    int64_t list[TFR_MAX_RANK] = {0}, n = 0, axis = tfr__attr_int(&node->attrs, "axis", -1);
    uint64_t n_axes = 0;
    const int64_t *axes = tfr__attr_ints(&node->attrs, "axes", &n_axes);
    switch (letter) {
    case 'i': /* the axis of the node */
        list[n++] = axis;
        break;
    case 'l': /* the last axes, from the axis of the node; the last one alone for groups */
        if (axis >= 0 && !x->rank_known)
            return TFR_VALUE_NONE;
        for (axis -= axis < 0 ? 0 : x->rank; axis < 0 && n < TFR_MAX_RANK; axis++)
            list[n++] = axis;
        break;
    case 'm': /* those of MeanVarianceNormalization */
        for (; axes && n < (int64_t)n_axes && n < TFR_MAX_RANK; n++)
            list[n] = axes[n];
        for (axis = 0; !axes && axis < 4; axis += axis ? 1 : 2)
            list[n++] = axis;
        break;
    case 'g': /* the shape of groups */
        n = 3;
        list[1] = tfr__attr_int(&node->attrs, "num_groups", 1);
        list[2] = -1;
        break;
    default: /* s: the shape of an operand for each channel */
        if (!x->rank_known || x->rank < 2)
            return TFR_VALUE_NONE;
        for (list[n++] = -1; n < x->rank - 1; n++)
            list[n] = 1;
    }
    return new_constant(b, TFR_DTYPE_I64, 1, list, n);
}

/* What a letter stands for that the body does not name itself. */
static tfr_value constant(building *b, char letter)
{
    const tfr__node *node = &b->rw->graph->nodes[b->node];
    const tfr__attr_list *attrs = &node->attrs;
    switch (letter) {
    case 'a':
        return number(b, tfr__attr_float(attrs, "alpha", b->row->alpha));
    case 'b':
        return number(b, tfr__attr_float(attrs, "beta", .5f));
    case 'c':
        return number(b, tfr__attr_float(attrs, "gamma", 1.05070102214813232421875f));
    case 'e':
        return number(b, tfr__attr_float(attrs, "epsilon", 1e-5f));
    case 'q': {
        double d = (double)tfr__rewrite_type(b->rw, node->inputs[0])->dims[3];
        return number(b, tfr__attr_float(attrs, "scale", (float)(1 / sqrt(d))));
    }
    default:
        return integers(b, letter);
    }
}

/* ---- building -------------------------------------------------------------------------------- */

static tfr_value build(building *b, const char **p, tfr_value out);

/* The last two axes of four change places: keys, the only thing that is transposed. */
static bool set_attrs(building *b, tfr__node *node, bool inherits)
{
    static const int64_t perm[] = {0, 1, 3, 2};
    const tfr__node *from = &b->rw->graph->nodes[b->node];
    if (tfr__rewrite_is(node, "Transpose"))
        return !tfr__attr_set_ints(&node->attrs, "perm", perm, 4, NULL);
    if (inherits && tfr__attr_copy(&from->attrs, &node->attrs, NULL))
        return false;
    return !tfr__rewrite_is(node, "Cast") ||
           !tfr__attr_set_int(&node->attrs, "to", tfr__rewrite_type(b->rw, from->inputs[1])->dtype,
                              NULL);
}

static tfr_value build_op(building *b, const char **p, tfr_value out)
{
    char op[32];
    tfr_value in[4];
    uint32_t n = 0;
    size_t bytes = strcspn(*p, "&(");
    bool inherits = (*p)[bytes] == '&';
    tfr__node *node;
    memcpy(op, *p, bytes);
    op[bytes] = 0;
    for (*p += bytes + inherits; **p != ')' && !b->rw->status;) {
        ++*p;
        in[n++] = build(b, p, TFR_VALUE_NONE);
    }
    ++*p;
    while (n && in[n - 1] == TFR_VALUE_NONE)
        n--;
    if (out == TFR_VALUE_NONE && !b->rw->status) {
        out = tfr__rewrite_value(b->rw, b->rw->graph->nodes[b->node].outputs[0]);
        if (out != TFR_VALUE_NONE)
            b->rw->graph->values[out].type =
                (tfr_value_type){.size = sizeof(tfr_value_type), .kind = TFR_KIND_TENSOR};
    }
    node = out == TFR_VALUE_NONE ? NULL : tfr__rewrite_node(b->rw, op, in, n, out);
    if (!node || !set_attrs(b, node, inherits))
        b->rw->status = TFR_ENOMEM;
    return out;
}

static tfr_value build(building *b, const char **p, tfr_value out)
{
    char letter = **p;
    tfr_value *named = &b->letters[letter - 'a'];
    if (letter >= 'A' && letter <= 'Z')
        return build_op(b, p, out);
    if (letter < 'a' || letter > 'z')
        return number(b, tfr__pattern_number(p));
    ++*p;
    if (**p == '=') {
        ++*p;
        *named = build(b, p, TFR_VALUE_NONE);
    } else if (*named == TFR_VALUE_NONE && letter < 'v') {
        *named = constant(b, letter);
    }
    return *named;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* The constants are made first: what cannot be known stops the rewriting before it begins. */
static bool begin(building *b)
{
    const tfr__node *node = &b->rw->graph->nodes[b->node];
    for (int i = 0; i < 26; i++)
        b->letters[i] = TFR_VALUE_NONE;
    for (uint32_t k = 0; k < node->n_inputs && k < 4; k++)
        b->letters["xyzw"[k] - 'a'] = tfr__rewrite_input(b->rw, node, k);
    for (const char *p = b->row->body; *p; p++) {
        bool is_letter =
            *p >= 'a' && *p < 'v' && (p[-1] == ',' || p[-1] == '(') && p[1] != '=' && *p != 'd';
        if (is_letter && b->letters[*p - 'a'] == TFR_VALUE_NONE) {
            b->letters[*p - 'a'] = constant(b, *p);
            if (b->letters[*p - 'a'] == TFR_VALUE_NONE)
                return false;
        }
    }
    return true;
}

static bool fits_type(const tfr__rewrite *rw, const composite *row, tfr_value v)
{
    return row->fits == has_type || tfr__rewrite_type(rw, v)->dtype == TFR_DTYPE_F32;
}

static bool is_composite(tfr__rewrite *rw, const tfr__node *node, const composite *row)
{
    if (!tfr__rewrite_is(node, row->op) || node->device || node->n_inputs < row->n_inputs ||
        node->outputs[0] == TFR_VALUE_NONE ||
        tfr__rewrite_type(rw, node->inputs[0])->dtype != TFR_DTYPE_F32)
        return false;
    /* Scales and shifts of norms may be of another type; the parts take one type only. */
    for (uint32_t k = 0; k < row->n_inputs; k++)
        if (node->inputs[k] == TFR_VALUE_NONE || !fits_type(rw, row, node->inputs[k]))
            return false;
    for (uint32_t k = 1; k < node->n_outputs; k++)
        if (node->outputs[k] != TFR_VALUE_NONE && rw->uses[node->outputs[k]])
            return false;
    return !row->fits || row->fits(rw, node);
}

static bool has_parts(const tfr__rewrite *rw, const composite *row, int depth);

/* Views need nobody; a part may be a composite op itself, whose turn is in the next round. */
static bool has_part(const tfr__rewrite *rw, const char *op, int depth)
{
    if (strcmp(op, "Reshape") == 0 || strcmp(op, "Shape") == 0 || tfr__rewrite_claimed(rw, op))
        return true;
    for (size_t c = 0; depth < 2 && c < sizeof composites / sizeof composites[0]; c++)
        if (strcmp(composites[c].op, op) == 0 && has_parts(rw, &composites[c], depth + 1))
            return true;
    return false;
}

/* Has a backend above the reference all of them? */
static bool has_parts(const tfr__rewrite *rw, const composite *row, int depth)
{
    for (const char *p = row->body; *p; p++) {
        char op[32];
        size_t n = strcspn(p, "&(");
        if (*p < 'A' || *p > 'Z')
            continue;
        memcpy(op, p, n);
        op[n] = 0;
        if (!has_part(rw, op, depth))
            return false;
        p += n;
    }
    return true;
}

uint32_t tfr__pass_decompose(tfr__rewrite *rw)
{
    uint32_t n = 0, n_nodes = rw->graph->n_nodes;
    for (size_t c = 0; c < sizeof composites / sizeof composites[0]; c++) {
        if (tfr__rewrite_claimed(rw, composites[c].op) || !has_parts(rw, &composites[c], 0))
            continue;
        for (uint32_t i = 0; i < n_nodes && !rw->status; i++) {
            building b = {.rw = rw, .row = &composites[c], .node = i};
            const char *body = composites[c].body;
            if (!is_composite(rw, &rw->graph->nodes[i], b.row) || !begin(&b))
                continue;
            build(&b, &body, rw->graph->nodes[i].outputs[0]);
            n++;
        }
    }
    return n;
}
