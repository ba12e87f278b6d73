/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gradient_kit.h: checks the gradients of ops that are described as rows, on naive in double. Of
 * the outputs of the op the function f = sum of output * w is made, with fixed numbers w, and f is
 * differentiated by all inputs. Each row is built with nothing known of its inputs, with their
 * ranks, and with their dims.
 */
#ifndef TFR_TEST_GRADIENT_KIT_H
#define TFR_TEST_GRADIENT_KIT_H

#include <stdlib.h>
#include <tfrun/autodiff.h>
#include <tfrun/tfrun.h>

#include "tfr_test.h"

enum {
    LINEAR = 1,       /* f is linear in all inputs together, so f = <x, df/dx> but for rounding */
    MULTILINEAR = 2,  /* in each of them alone */
    SECOND = 4,       /* the gradients are differentiated, too */
    RANDOM = 16,      /* runs differ, so only the linear check is made */
    SINGLE = 32,      /* the op is not there in double: it runs in float, so limits are wide */
    RANKS = 8,        /* the ranks of the inputs have to be known */
    GRADIENT_MOST = 8 /* operands, attributes */
};

/*
 * Operands, separated by blanks: "f2,3" an input of double with these dims ("f": rank 0), "c2,3" a
 * constant like it, "i1,-1" a constant list of int64, "n5:2,3" a constant of int64 with these dims
 * and values below 5, "u5:2,3" the same of uint8, "b2,3" a constant of bool that alternates, "=0.5"
 * a constant scalar, "true", "p1,.5" a constant list of float32, "s3" a constant scalar of int64,
 * "l3,0" a constant list of int32, "-" an absent operand, "0" the same value as operand 0.
 * Attributes: "axis:i=1 pads:is=1,2 alpha:f=.5 fs:fs=.5,1 mode:s=linear activations:ss=Relu,Tanh",
 * one list of strings.
 */
typedef struct gradient_case {
    const char *op, *operands, *attrs; /* "tfrun.SumTo" */
    unsigned flags;
    double low, high;   /* of the inputs' values; both 0: -2 to 2 */
    uint32_t n_outputs; /* 0 = 1 */
    unsigned outputs;   /* those in f, bits; 0 = the first */
    /* In place of one node of the op: sets the outputs. */
    void (*build)(tfr_graph *graph, const tfr_value *in, tfr_value *out);
} gradient_case;

typedef struct gradient_run {
    const gradient_case *c;
    tfr_graph *graph;
    tfr_session *session;
    tfr_tensor *inputs[GRADIENT_MOST];
    tfr_value xs[GRADIENT_MOST];
    uint32_t n;
    int known; /* of the inputs: 0 nothing, 1 ranks, 2 dims */
    tfr_tensor *outputs[1 + GRADIENT_MOST];
} gradient_run;

static tfr_err gradient_err = TFR_ERR_INIT;
static unsigned gradient_cases, gradient_checks; /* done */

static tfr_value gradient_add(tfr_graph *graph, const char *op, const tfr_value *in, uint32_t n,
                              const tfr_attr *attrs, uint32_t n_attrs, tfr_value *out,
                              uint32_t n_out)
{
    const char *dot = strchr(op, '.');
    tfr_node_desc node = {.size = sizeof node,
                          .domain = dot ? "tfrun" : "",
                          .op = dot ? dot + 1 : op,
                          .name = op,
                          .inputs = in,
                          .n_inputs = n,
                          .n_outputs = n_out,
                          .attrs = attrs,
                          .n_attrs = n_attrs};
    REQUIRE_OK(tfr_graph_add_node(graph, &node, out, &gradient_err), &gradient_err);
    return out[0];
}

static tfr_value gradient_op(tfr_graph *graph, const char *op, tfr_value a, tfr_value b,
                             tfr_value c)
{
    tfr_value out;
    return gradient_add(graph, op, (tfr_value[]){a, b, c},
                        c >= 0   ? 3
                        : b >= 0 ? 2
                                 : 1,
                        NULL, 0, &out, 1);
}

static tfr_tensor *gradient_tensor(tfr_dtype dtype, uint32_t rank, const int64_t *dims)
{
    tfr_shape shape = {0};
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_shape_make((int32_t)rank, dims, &shape, &gradient_err), &gradient_err);
    REQUIRE_OK(tfr_tensor_create(dtype, &shape, &t, &gradient_err), &gradient_err);
    return t;
}

static int64_t gradient_size(const tfr_tensor *t)
{
    const tfr_shape *shape = tfr_tensor_shape(t);
    int64_t n = 1;
    for (int32_t i = 0; i < shape->rank; i++)
        n *= shape->dims[i];
    return n;
}

static uint32_t gradient_numbers(const char *text, int64_t *out)
{
    uint32_t n = 0;
    while (*text && *text != ' ') {
        char *end;
        out[n++] = strtoll(text, &end, 10);
        text = end + (*end == ',');
    }
    return n;
}

/* The numbers of a list that is not empty. */
static uint32_t gradient_count(const char *text)
{
    uint32_t n = 1;
    for (; *text && *text != ' '; text++)
        n += *text == ',';
    return n;
}

/* Points of a grid in no order, none of them twice and none in the middle: away from kinks. */
static tfr_tensor *gradient_values(const gradient_case *c, uint32_t rank, const int64_t *dims,
                                   uint32_t number)
{
    tfr_tensor *t = gradient_tensor(TFR_DTYPE_F64, rank, dims);
    const double low = c->low == c->high ? -2 : c->low, high = c->low == c->high ? 2 : c->high;
    int64_t n = gradient_size(t);
    for (int64_t i = 0; i < n; i++)
        ((double *)tfr_tensor_data(t))[i] =
            low + (high - low) * ((double)(i * 7919 % n) + 0.37 + 0.09 * number) / (double)n;
    return t;
}

static tfr_value gradient_constant(tfr_graph *graph, tfr_tensor *t)
{
    tfr_value v = TFR_VALUE_NONE;
    REQUIRE_OK(tfr_graph_add_constant(graph, NULL, t, &v, &gradient_err), &gradient_err);
    tfr_tensor_release(t);
    return v;
}

static tfr_value gradient_scalar(tfr_graph *graph, double value)
{
    tfr_tensor *t = gradient_tensor(TFR_DTYPE_F64, 0, NULL);
    *(double *)tfr_tensor_data(t) = value;
    return gradient_constant(graph, t);
}

static tfr_value gradient_input(gradient_run *r, uint32_t rank, const int64_t *dims)
{
    tfr_value_type type = {.size = sizeof type, .dtype = TFR_DTYPE_F64, .rank_known = 1};
    tfr_value v = TFR_VALUE_NONE;
    char name[16];
    type.rank = (int32_t)rank;
    for (uint32_t i = 0; i < rank; i++)
        type.dims[i] = r->known == 2 ? dims[i] : -1;
    snprintf(name, sizeof name, "x%u", r->n);
    REQUIRE_OK(tfr_graph_add_input(r->graph, name, r->known ? &type : NULL, &v, &gradient_err),
               &gradient_err);
    r->inputs[r->n] = gradient_values(r->c, rank, dims, r->n);
    r->xs[r->n++] = v;
    return v;
}

static tfr_value gradient_operand(gradient_run *r, const char *p, tfr_value first, uint32_t number)
{
    const bool has_colon = *p == 'n' || *p == 'u';
    int64_t dims[16] = {0}, most = has_colon ? strtoll(p + 1, NULL, 10) : 2;
    uint32_t rank = 0;
    tfr_tensor *t;
    if (*p == 'p')
        rank = gradient_count(p);
    else if (*p != '-' && *p != '=' && *p != 't')
        rank = gradient_numbers(has_colon ? strchr(p, ':') + 1 : p + 1, dims);
    switch (*p) {
    case 'f':
        return gradient_input(r, rank, dims);
    case 'c':
        return gradient_constant(r->graph, gradient_values(r->c, rank, dims, number));
    case '=':
        return gradient_scalar(r->graph, strtod(p + 1, NULL));
    case 'i':
        t = gradient_tensor(TFR_DTYPE_I64, 1, (const int64_t[]){rank});
        if (rank)
            memcpy(tfr_tensor_data(t), dims, rank * sizeof *dims);
        return gradient_constant(r->graph, t);
    case 'p':
        t = gradient_tensor(TFR_DTYPE_F32, 1, (const int64_t[]){rank});
        for (uint32_t i = 0; i < rank; i++) {
            p = i ? strchr(p, ',') + 1 : p + 1;
            ((float *)tfr_tensor_data(t))[i] = strtof(p, NULL);
        }
        return gradient_constant(r->graph, t);
    case 'l':
        t = gradient_tensor(TFR_DTYPE_I32, 1, (const int64_t[]){rank});
        for (uint32_t i = 0; i < rank; i++)
            ((int32_t *)tfr_tensor_data(t))[i] = (int32_t)dims[i];
        return gradient_constant(r->graph, t);
    case 's':
        t = gradient_tensor(TFR_DTYPE_I64, 0, NULL);
        *(int64_t *)tfr_tensor_data(t) = dims[0];
        return gradient_constant(r->graph, t);
    case 'n':
        t = gradient_tensor(TFR_DTYPE_I64, rank, dims);
        for (int64_t i = 0; i < gradient_size(t); i++)
            ((int64_t *)tfr_tensor_data(t))[i] = (i * 7 + 3) % most;
        return gradient_constant(r->graph, t);
    case 'u':
        t = gradient_tensor(TFR_DTYPE_U8, rank, dims);
        for (int64_t i = 0; i < gradient_size(t); i++)
            ((uint8_t *)tfr_tensor_data(t))[i] = (uint8_t)((i * 7 + 3) % most);
        return gradient_constant(r->graph, t);
    case 'b':
    case 't':
        t = gradient_tensor(TFR_DTYPE_BOOL, rank, dims);
        for (int64_t i = 0; i < gradient_size(t); i++)
            ((uint8_t *)tfr_tensor_data(t))[i] = i % 2 == 0;
        return gradient_constant(r->graph, t);
    default:
        return *p == '0' ? first : TFR_VALUE_NONE;
    }
}

/* What attributes point to. */
typedef struct gradient_attrs {
    tfr_attr list[8];
    char names[8][40];
    int64_t ints[8][16];
    float floats[8][8];
    tfr_string strings[8], lists[8];
    uint32_t n;
} gradient_attrs;

static void gradient_read_attrs(const char *p, gradient_attrs *out)
{
    memset(out, 0, sizeof *out);
    for (; p && *p; p += *p == ' ') {
        uint32_t i = out->n++, bytes = (uint32_t)strcspn(p, ":");
        const char *value = strchr(p, '=') + 1;
        tfr_attr *a = &out->list[i];
        snprintf(out->names[i], sizeof out->names[i], "%.*s", (int)bytes, p);
        *a = (tfr_attr){.size = sizeof *a, .name = out->names[i], .n = 1};
        p += bytes + 1;
        if (*p == 'i') {
            a->type = p[1] == 's' ? TFR_ATTR_INTS : TFR_ATTR_INT;
            a->n = gradient_numbers(value, out->ints[i]);
            a->ints = out->ints[i];
        } else if (*p == 'f') {
            char *end = (char *)value;
            a->type = p[1] == 's' ? TFR_ATTR_FLOATS : TFR_ATTR_FLOAT;
            a->floats = out->floats[i];
            for (a->n = 0; *end && *end != ' '; end += *end == ',')
                out->floats[i][a->n++] = strtof(end, &end);
        } else if (p[1] == 's') {
            const char *text = value;
            a->type = TFR_ATTR_STRINGS;
            a->strings = out->lists;
            for (a->n = 0; *text && *text != ' '; a->n++) {
                out->lists[a->n] = (tfr_string){text, strcspn(text, ", ")};
                text += out->lists[a->n].bytes;
                text += *text == ',';
            }
        } else {
            a->type = TFR_ATTR_STRING;
            out->strings[i] = (tfr_string){value, strcspn(value, " ")};
            a->strings = &out->strings[i];
        }
        p = value + strcspn(value, " ");
    }
}

/* sum of v * w; w depends on nothing but the number of the element. */
static tfr_value gradient_weighted_sum(tfr_graph *graph, tfr_value v)
{
    const tfr_attr to[] = {TFR_SET_INT("to", TFR_DTYPE_F64)};
    const tfr_attr flat[] = {TFR_SET_INT("keepdims", 0)}, zeros[] = {TFR_SET_INT("allowzero", 1)};
    tfr_value n = gradient_op(graph, "Size", v, -1, -1), w, shape;
    gradient_add(graph, "Cast", &n, 1, to, 1, &n, 1);
    w = gradient_op(graph, "Range", gradient_scalar(graph, 1),
                    gradient_op(graph, "Add", n, gradient_scalar(graph, 1), -1),
                    gradient_scalar(graph, 1));
    w = gradient_op(graph, "Sin", gradient_op(graph, "Mul", w, gradient_scalar(graph, 12.9898), -1),
                    -1, -1);
    shape = gradient_op(graph, "Shape", v, -1, -1);
    gradient_add(graph, "Reshape", (tfr_value[]){w, shape}, 2, zeros, 1, &w, 1);
    w = gradient_op(graph, "Mul", v, w, -1);
    return gradient_add(graph, "ReduceSum", &w, 1, flat, 1, &w, 1);
}

static void gradient_build(gradient_run *r, tfr_runtime *runtime, bool second)
{
    tfr_value in[GRADIENT_MOST], out[8], y = TFR_VALUE_NONE, gradients[GRADIENT_MOST];
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    const tfr_attr single[] = {TFR_SET_INT("to", TFR_DTYPE_F32)};
    const tfr_attr whole[] = {TFR_SET_INT("to", TFR_DTYPE_F64)};
    const uint32_t n_out = r->c->n_outputs ? r->c->n_outputs : 1;
    gradient_attrs attrs;
    uint32_t n = 0;
    REQUIRE_OK(tfr_graph_create("f", &r->graph, &gradient_err), &gradient_err);
    for (const char *p = r->c->operands; *p; n++) {
        in[n] = gradient_operand(r, p, in[0], n);
        if ((r->c->flags & SINGLE) && (*p == 'f' || *p == 'c'))
            gradient_add(r->graph, "Cast", &in[n], 1, single, 1, &in[n], 1);
        p += strcspn(p, " ");
        p += *p == ' ';
    }
    gradient_read_attrs(r->c->attrs, &attrs);
    if (r->c->build)
        r->c->build(r->graph, in, out);
    else
        gradient_add(r->graph, r->c->op, in, n, attrs.list, attrs.n, out, n_out);
    for (uint32_t k = 0; k < n_out; k++)
        if ((r->c->outputs ? r->c->outputs : 1) >> k & 1) {
            tfr_value sum;
            if (r->c->flags & SINGLE)
                gradient_add(r->graph, "Cast", &out[k], 1, whole, 1, &out[k], 1);
            sum = gradient_weighted_sum(r->graph, out[k]);
            y = y == TFR_VALUE_NONE ? sum : gradient_op(r->graph, "Add", y, sum, -1);
        }
    for (int pass = 0; pass <= second; pass++) {
        tfr_status status = tfr_graph_gradient(r->graph, y, r->xs, r->n, gradients, &gradient_err);
        if (status)
            printf("%s %s %s: %s\n", r->c->op, r->c->operands, r->c->attrs ? r->c->attrs : "",
                   gradient_err.text);
        REQUIRE_OK(status, &gradient_err);
        for (uint32_t k = 0; pass < second && k < r->n; k++) {
            tfr_value sum = gradient_weighted_sum(r->graph, gradients[k]);
            y = k ? gradient_op(r->graph, "Add", y, sum, -1) : sum;
        }
    }
    REQUIRE_OK(tfr_graph_add_output(r->graph, y, "y", &gradient_err), &gradient_err);
    for (uint32_t k = 0; k < r->n; k++)
        REQUIRE_OK(tfr_graph_add_output(r->graph, gradients[k], NULL, &gradient_err),
                   &gradient_err);
    options.device = "naive:0";
    REQUIRE_OK(tfr_session_create(runtime, r->graph, &options, &r->session, &gradient_err),
               &gradient_err);
}

static void gradient_release(gradient_run *r)
{
    for (uint32_t i = 0; i <= r->n; i++) {
        tfr_tensor_release(r->outputs[i]);
        r->outputs[i] = NULL;
    }
}

/* f, and its gradients into the outputs. */
static double gradient_value(gradient_run *r)
{
    tfr_status status =
        tfr_session_run(r->session, r->inputs, r->n, r->outputs, 1 + r->n, &gradient_err);
    if (status)
        printf("%s %s %s: %s\n", r->c->op, r->c->operands, r->c->attrs ? r->c->attrs : "",
               gradient_err.text);
    REQUIRE_OK(status, &gradient_err);
    return *(const double *)tfr_tensor_data(r->outputs[0]);
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Element e of direction v; of directions from 5 on only one element is not 0. */
static double gradient_direction(int v, int64_t e)
{
    if (v >= 5)
        return v - 5 == e;
    return sin(78.233 * (double)(e + 1) + 17.17 * (v + 1));
}

/* Where rounding and what the difference leaves out are about equal. */
static double gradient_step(const gradient_run *r, double x)
{
    return (r->c->flags & SINGLE ? 0x1p-8 : 6e-6) * (fabs(x) > 1 ? fabs(x) : 1);
}

/* Moves all inputs by this many steps in a direction. */
static void gradient_move(gradient_run *r, double *const *middle, int v, double by)
{
    int64_t e = 0;
    for (uint32_t k = 0; k < r->n; k++)
        for (int64_t i = 0; i < gradient_size(r->inputs[k]); i++, e++) {
            double x = middle[k][i], h = gradient_step(r, x);
            ((double *)tfr_tensor_data(r->inputs[k]))[i] = x + by * h * gradient_direction(v, e);
        }
}

static double gradient_difference(gradient_run *r, double *const *middle, int v)
{
    double above, below;
    gradient_move(r, middle, v, 1);
    above = gradient_value(r);
    gradient_release(r);
    gradient_move(r, middle, v, -1);
    below = gradient_value(r);
    gradient_release(r);
    gradient_move(r, middle, v, 0);
    return (above - below) / 2;
}

static void gradient_report(const gradient_run *r, const char *what, double want, double have)
{
    printf("%s %s %s, known %d: %s is %.12g, want %.12g\n", r->c->op, r->c->operands,
           r->c->attrs ? r->c->attrs : "", r->known, what, have, want);
}

/* f = <x, g>, of all inputs together or of each one. */
static void gradient_check_linear(gradient_run *r, double f, double *const *middle, double **g)
{
    const double limit = r->c->flags & SINGLE ? 1e-6 : 1e-13;
    double sum = 0, size = 1;
    for (uint32_t k = 0; k < r->n; k++) {
        for (int64_t i = 0; i < gradient_size(r->inputs[k]); i++) {
            sum += middle[k][i] * g[k][i];
            size += fabs(middle[k][i] * g[k][i]);
        }
        if ((r->c->flags & LINEAR) && k + 1 < r->n)
            continue;
        gradient_checks++;
        if (!(fabs(sum - f) <= limit * size))
            gradient_report(r, "<x, g>", f, sum);
        CHECK_NEAR(f, sum, limit * size);
        sum = 0;
        size = 1;
    }
}

static void gradient_check_run(gradient_run *r, bool second)
{
    double *middle[GRADIENT_MOST], *g[GRADIENT_MOST], f = gradient_value(r);
    int64_t total = 0;
    for (uint32_t k = 0; k < r->n; k++) {
        size_t bytes = (size_t)gradient_size(r->inputs[k]) * sizeof(double);
        middle[k] = malloc(bytes + 1);
        g[k] = malloc(bytes + 1);
        REQUIRE(middle[k] && g[k]);
        CHECK(tfr_shape_equal(tfr_tensor_shape(r->outputs[1 + k]), tfr_tensor_shape(r->inputs[k])));
        CHECK_INT(TFR_DTYPE_F64, tfr_tensor_dtype(r->outputs[1 + k]));
        if (bytes) {
            memcpy(middle[k], tfr_tensor_data(r->inputs[k]), bytes);
            memcpy(g[k], tfr_tensor_data(r->outputs[1 + k]), bytes);
        }
        total += gradient_size(r->inputs[k]);
    }
    gradient_release(r);
    if (!second && r->c->flags & (LINEAR | MULTILINEAR))
        gradient_check_linear(r, f, middle, g);
    for (int v = 0; !(r->c->flags & RANDOM) && v < 5 + (total <= 64 ? (int)total : 0); v++) {
        double have = 0, want = gradient_difference(r, middle, v), limit;
        int64_t e = 0;
        for (uint32_t k = 0; k < r->n; k++)
            for (int64_t i = 0; i < gradient_size(r->inputs[k]); i++, e++) {
                have += g[k][i] * gradient_direction(v, e) * gradient_step(r, middle[k][i]);
            }
        have /= gradient_step(r, 0);
        want /= gradient_step(r, 0);
        limit = (r->c->flags & SINGLE ? 1e-3 : 1e-6) * (fabs(want) > 1 ? fabs(want) : 1);
        gradient_checks++;
        if (!(fabs(want - have) <= limit))
            gradient_report(r, second ? "the second derivative" : "the derivative", want, have);
        CHECK_NEAR(want, have, limit);
    }
    for (uint32_t k = 0; k < r->n; k++) {
        free(middle[k]);
        free(g[k]);
    }
}

static void gradient_check(const gradient_case *cases, size_t n)
{
    tfr_runtime *runtime = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &gradient_err), &gradient_err);
    for (size_t i = 0; i < n; i++, gradient_cases++)
        for (int known = cases[i].flags & RANKS ? 1 : 0; known < 3; known++)
            for (int second = 0; second <= ((cases[i].flags & SECOND) && known == 2); second++) {
                gradient_run r = {.c = &cases[i], .known = known};
                gradient_build(&r, runtime, second);
                gradient_check_run(&r, second);
                for (uint32_t k = 0; k < r.n; k++)
                    tfr_tensor_release(r.inputs[k]);
                tfr_session_destroy(r.session);
                tfr_graph_release(r.graph);
            }
    tfr_runtime_release(runtime);
    printf("%u cases, %u checks so far\n", gradient_cases, gradient_checks);
}
/* The gradients of the sum of output 0 * g at values where a difference would meet a kink. */
typedef struct gradient_exact {
    const char *op, *operands, *attrs; /* as above; values of at most three inputs: */
    double in[3][16], g[16], want[3][16];
} gradient_exact;

/* The sum of v * g, whose elements stand in the same order. */
static tfr_value gradient_product(tfr_graph *graph, tfr_value v, const double g[16])
{
    const tfr_attr flat[] = {TFR_SET_INT("keepdims", 0)};
    tfr_tensor *all = gradient_tensor(TFR_DTYPE_I64, 1, (const int64_t[]){1}),
               *zero = gradient_tensor(TFR_DTYPE_I64, 1, (const int64_t[]){1}),
               *numbers = gradient_tensor(TFR_DTYPE_F64, 1, (const int64_t[]){16});
    tfr_value part;
    *(int64_t *)tfr_tensor_data(all) = -1;
    *(int64_t *)tfr_tensor_data(zero) = 0;
    memcpy(tfr_tensor_data(numbers), g, 16 * sizeof *g);
    v = gradient_op(graph, "Reshape", v, gradient_constant(graph, all), -1);
    part = gradient_op(graph, "Slice", gradient_constant(graph, numbers),
                       gradient_constant(graph, zero), gradient_op(graph, "Shape", v, -1, -1));
    v = gradient_op(graph, "Mul", v, part, -1);
    return gradient_add(graph, "ReduceSum", &v, 1, flat, 1, &v, 1);
}

static inline void gradient_check_at(tfr_runtime *runtime, const gradient_exact *c, int known)
{
    const gradient_case row = {.op = c->op, .operands = c->operands, .attrs = c->attrs};
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_value in[GRADIENT_MOST], y, gradients[GRADIENT_MOST];
    gradient_run r = {.c = &row, .known = known};
    gradient_attrs attrs;
    uint32_t n = 0;
    REQUIRE_OK(tfr_graph_create("f", &r.graph, &gradient_err), &gradient_err);
    for (const char *p = c->operands; *p; n++) {
        in[n] = gradient_operand(&r, p, in[0], n);
        p += strcspn(p, " ");
        p += *p == ' ';
    }
    gradient_read_attrs(c->attrs, &attrs);
    gradient_add(r.graph, c->op, in, n, attrs.list, attrs.n, &y, 1);
    y = gradient_product(r.graph, y, c->g);
    REQUIRE_OK(tfr_graph_gradient(r.graph, y, r.xs, r.n, gradients, &gradient_err), &gradient_err);
    for (uint32_t k = 0; k < r.n; k++) {
        REQUIRE_OK(tfr_graph_add_output(r.graph, gradients[k], NULL, &gradient_err), &gradient_err);
        memcpy(tfr_tensor_data(r.inputs[k]), c->in[k],
               (size_t)gradient_size(r.inputs[k]) * sizeof(double));
    }
    options.device = "naive:0";
    REQUIRE_OK(tfr_session_create(runtime, r.graph, &options, &r.session, &gradient_err),
               &gradient_err);
    REQUIRE_OK(tfr_session_run(r.session, r.inputs, r.n, r.outputs, r.n, &gradient_err),
               &gradient_err);
    for (uint32_t k = 0; k < r.n; k++) {
        const double *have = tfr_tensor_data(r.outputs[k]);
        CHECK(tfr_shape_equal(tfr_tensor_shape(r.outputs[k]), tfr_tensor_shape(r.inputs[k])));
        for (int64_t i = 0; i < gradient_size(r.inputs[k]); i++, gradient_checks++) {
            if (!(fabs(c->want[k][i] - have[i]) <= 1e-15 * fabs(have[i])))
                printf("%s %s %s: gradient %u of input %u is %.17g, want %.17g\n", c->op,
                       c->operands, c->attrs, (unsigned)i, k, have[i], c->want[k][i]);
            CHECK_NEAR(c->want[k][i], have[i], 1e-15 * fabs(have[i]));
        }
        tfr_tensor_release(r.outputs[k]);
        tfr_tensor_release(r.inputs[k]);
    }
    tfr_session_destroy(r.session);
    tfr_graph_release(r.graph);
}

static inline void gradient_check_exact(const gradient_exact *cases, size_t n)
{
    tfr_runtime *runtime = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &gradient_err), &gradient_err);
    for (size_t i = 0; i < n; i++, gradient_cases++)
        for (int known = 1; known < 3; known++)
            gradient_check_at(runtime, &cases[i], known);
    tfr_runtime_release(runtime);
}

#define CHECK_GRADIENTS(list)       gradient_check(list, sizeof(list) / sizeof(list)[0])
#define CHECK_EXACT_GRADIENTS(list) gradient_check_exact(list, sizeof(list) / sizeof(list)[0])

#endif
