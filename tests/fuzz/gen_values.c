/* SPDX-License-Identifier: Apache-2.0 */
/* gen_values.c: the values of a model under construction. See gen.h. */
#include <stdio.h>
#include <string.h>

#include "certify/fill.h"
#include "gen.h"

uint64_t fuzz_below(fuzz_gen *g, uint64_t n)
{
    return ops_random_below(&g->random, n);
}

bool fuzz_chance(fuzz_gen *g, unsigned percent)
{
    return fuzz_below(g, 100) < percent;
}

const tfr_shape *fuzz_shape(const fuzz_gen *g, int value)
{
    return tfr_tensor_shape(g->values[value].tensor);
}

tfr_dtype fuzz_dtype(const fuzz_gen *g, int value)
{
    return tfr_tensor_dtype(g->values[value].tensor);
}

int fuzz_register(fuzz_gen *g, const char *name, tfr_tensor *tensor, bool constant)
{
    if (g->n_values == FUZZ_MAX_VALUES)
        return -1;
    fuzz_value *v = &g->values[g->n_values];
    snprintf(v->name, sizeof v->name, "%s", name);
    v->tensor = tensor;
    v->constant = constant;
    v->used = false;
    fuzz_env_set(&g->env, v->name, tensor);
    return g->n_values++;
}

/* Inputs can only be of the outermost graph; constants are of any, or Constant nodes. */
int fuzz_new_value(fuzz_gen *g, tfr_tensor *tensor, bool constant)
{
    char name[16];
    if (g->n_values == FUZZ_MAX_VALUES) {
        tfr_tensor_release(tensor);
        return -1;
    }
    constant = constant || g->depth > 0;
    snprintf(name, sizeof name, "%c%d", constant ? 'c' : 'x', g->n_names++);
    if (!constant) {
        fuzz_add_child(g->model, FUZZ_MODEL_RUN_INPUT, fuzz_tensor_msg(tensor, name));
    } else if (fuzz_chance(g, 15)) {
        fuzz_msg *node = fuzz_add_msg(g->graph, FUZZ_GRAPH_NODE, FUZZ_NODE);
        fuzz_add_text(node, FUZZ_NODE_OUTPUT, name);
        fuzz_add_text(node, FUZZ_NODE_OP, "Constant");
        fuzz_msg *attr = fuzz_add_msg(node, FUZZ_NODE_ATTR, FUZZ_ATTR);
        fuzz_add_text(attr, FUZZ_ATTR_NAME, "value");
        fuzz_add_child(attr, FUZZ_ATTR_TENSOR, fuzz_tensor_msg(tensor, NULL));
        fuzz_add_int(attr, FUZZ_ATTR_TYPE, 4);
    } else {
        fuzz_add_child(g->graph, FUZZ_GRAPH_INITIALIZER, fuzz_tensor_msg(tensor, name));
    }
    return fuzz_register(g, name, tensor, constant);
}

static tfr_tensor *new_tensor(fuzz_gen *g, tfr_dtype dtype, const tfr_shape *shape,
                              const char *values)
{
    static const char *const specials[] = {"n", "i", "z", "h", "nizh"};
    const tfr_shape scalar = {0};
    ops_letters letters;
    tfr_err err = TFR_ERR_INIT;
    tfr_tensor *t = NULL;
    int64_t n;
    ops_letters_init(&letters, "a value", "", "", &g->random);
    /* Beside a value without elements a dim may have any size. */
    if (tfr_shape_elements(shape, &n, NULL) || n > 1 << 20)
        shape = &scalar;
    ops_must(tfr_tensor_create(dtype, shape, &t, &err), &err, "a value");
    ops_fill(&letters, t, values, 0, fuzz_chance(g, 6) ? specials[fuzz_below(g, 5)] : "");
    return t;
}

int fuzz_new_input(fuzz_gen *g, tfr_dtype dtype, const tfr_shape *shape, const char *values)
{
    return fuzz_new_value(g, new_tensor(g, dtype, shape, values), false);
}

int fuzz_new_constant(fuzz_gen *g, tfr_dtype dtype, const tfr_shape *shape, const char *values)
{
    return fuzz_new_value(g, new_tensor(g, dtype, shape, values), fuzz_chance(g, 85));
}

int fuzz_new_ints(fuzz_gen *g, const int64_t *ints, int n)
{
    tfr_shape shape = {.rank = 1, .dims = {n}};
    tfr_err err = TFR_ERR_INIT;
    tfr_tensor *t = NULL;
    ops_must(tfr_tensor_create(TFR_DTYPE_I64, &shape, &t, &err), &err, "a list");
    if (n > 0)
        memcpy(tfr_tensor_data(t), ints, (size_t)n * sizeof *ints);
    return fuzz_new_value(g, t, fuzz_chance(g, 85));
}

int fuzz_new_scalar(fuzz_gen *g, tfr_dtype dtype, double x)
{
    tfr_shape shape = {.rank = fuzz_chance(g, 30), .dims = {1}};
    tfr_err err = TFR_ERR_INIT;
    tfr_tensor *t = NULL;
    ops_must(tfr_tensor_create(dtype, &shape, &t, &err), &err, "a number");
    ops_must(tfr_dtype_convert(dtype, tfr_tensor_data(t), TFR_DTYPE_F64, &x, 1, &err), &err,
             "a number");
    return fuzz_new_value(g, t, fuzz_chance(g, 90));
}

bool fuzz_is_float_tensor(const tfr_tensor *t)
{
    tfr_dtype d = tfr_tensor_dtype(t);
    return tfr_tensor_kind(t) == TFR_KIND_TENSOR && tfr_tensor_elements(t) <= 20000 &&
           (d == TFR_DTYPE_F32 || d == TFR_DTYPE_F64 || d == TFR_DTYPE_F16 || d == TFR_DTYPE_BF16);
}

bool fuzz_is_number_tensor(const tfr_tensor *t)
{
    return fuzz_is_float_tensor(t) ||
           (tfr_tensor_kind(t) == TFR_KIND_TENSOR && tfr_tensor_elements(t) <= 20000 &&
            tfr_dtype_is_integer(tfr_tensor_dtype(t)) && tfr_tensor_dtype(t) < TFR_DTYPE_U4);
}

int fuzz_pick(fuzz_gen *g, bool (*fits)(const tfr_tensor *t))
{
    int found[FUZZ_MAX_VALUES], n = 0;
    for (int i = 0; i < g->n_values; i++)
        if (fits(g->values[i].tensor) && (!g->values[i].constant || fuzz_chance(g, 20)))
            found[n++] = i;
    if (n == 0)
        return -1;
    uint64_t a = fuzz_below(g, (uint64_t)n), b = fuzz_below(g, (uint64_t)n);
    return found[fuzz_chance(g, 70) && b > a ? b : a];
}
