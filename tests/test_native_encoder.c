/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoders of transformers as exporters write them: heads cut out of one product by a reshape, a
 * transposition that puts the samples in the middle, and a split; Gelu in pieces; a mean over the
 * rows. The native backend makes one program of a step, and gets the weights of the reference.
 */
#include <stdarg.h>

#include "native_train_kit.h"

typedef struct builder {
    tfr_graph *graph;
    int n; /* constants so far */
} builder;

static tfr_value weights(builder *b, int32_t rank, int64_t n, int64_t m, int64_t k)
{
    const tfr_shape shape = {rank, {n, m, k}};
    tfr_tensor *t = NULL;
    tfr_value v;
    char name[16];
    float *p;
    snprintf(name, sizeof name, "w%d", b->n++);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &t, &err), &err);
    p = tfr_tensor_data(t);
    for (int64_t i = 0; i < tfr_tensor_elements(t); i++)
        p[i] = (float)((i * i + 7 * i + 11 * b->n) % 83 - 41) / 120;
    REQUIRE_OK(tfr_graph_add_constant(b->graph, name, t, &v, &err), &err);
    tfr_tensor_release(t);
    return v;
}

static tfr_value number(builder *b, float x)
{
    const tfr_shape shape = {0, {0}};
    tfr_tensor *t = NULL;
    tfr_value v;
    char name[16];
    snprintf(name, sizeof name, "c%d", b->n++);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, &shape, &t, &err), &err);
    *(float *)tfr_tensor_data(t) = x;
    REQUIRE_OK(tfr_graph_add_constant(b->graph, name, t, &v, &err), &err);
    tfr_tensor_release(t);
    return v;
}

static tfr_value ints(builder *b, int64_t n, ...)
{
    const tfr_shape shape = {1, {n}};
    tfr_tensor *t = NULL;
    tfr_value v;
    char name[16];
    va_list list;
    snprintf(name, sizeof name, "i%d", b->n++);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_I64, &shape, &t, &err), &err);
    va_start(list, n);
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)tfr_tensor_data(t))[i] = va_arg(list, int);
    va_end(list);
    REQUIRE_OK(tfr_graph_add_constant(b->graph, name, t, &v, &err), &err);
    tfr_tensor_release(t);
    return v;
}

static void nodes(builder *b, const char *op, const tfr_value *in, uint32_t n_in,
                  const tfr_attr *attr, tfr_value *out, uint32_t n_out)
{
    const tfr_node_desc node = {.size = sizeof node,
                                .op = op,
                                .name = op,
                                .inputs = in,
                                .n_inputs = n_in,
                                .attrs = attr,
                                .n_attrs = attr != NULL,
                                .n_outputs = n_out};
    REQUIRE_OK(tfr_graph_add_node(b->graph, &node, out, &err), &err);
}

static tfr_value op1(builder *b, const char *op, tfr_value x)
{
    tfr_value out;
    nodes(b, op, &x, 1, NULL, &out, 1);
    return out;
}

static tfr_value op2(builder *b, const char *op, tfr_value x, tfr_value y)
{
    tfr_value out;
    nodes(b, op, (const tfr_value[]){x, y}, 2, NULL, &out, 1);
    return out;
}

static tfr_value transposed(builder *b, tfr_value x, uint64_t n, const int64_t *perm)
{
    tfr_attr attr = {.size = sizeof attr, .name = "perm", .type = TFR_ATTR_INTS};
    tfr_value out;
    attr.n = n;
    attr.ints = (int64_t *)(uintptr_t)perm;
    nodes(b, "Transpose", &x, 1, &attr, &out, 1);
    return out;
}

static tfr_value norm(builder *b, tfr_value x, int64_t width)
{
    const tfr_value in[] = {x, weights(b, 1, width, 0, 0), weights(b, 1, width, 0, 0)};
    tfr_value out;
    nodes(b, "LayerNormalization", in, 3, NULL, &out, 1);
    return out;
}

static tfr_value dense(builder *b, tfr_value x, int64_t ins, int64_t outs)
{
    x = op2(b, "MatMul", x, weights(b, 2, ins, outs, 0));
    return op2(b, "Add", x, weights(b, 1, outs, 0, 0));
}

/* x (1 + erf(x / sqrt(2))) / 2 */
static tfr_value gelu(builder *b, tfr_value x)
{
    tfr_value e = op1(b, "Erf", op2(b, "Div", x, number(b, 1.41421356f)));
    x = op2(b, "Mul", x, op2(b, "Add", e, number(b, 1)));
    return op2(b, "Mul", x, number(b, .5f));
}

typedef struct sizes {
    int rows, heads, depth, wide;
} sizes;

static tfr_value attention(builder *b, tfr_value x, const sizes *s)
{
    const int width = s->heads * s->depth;
    tfr_value parts[3], axis = ints(b, 1, 0);
    x = dense(b, x, width, 3 * width);
    x = op2(b, "Reshape", x, ints(b, 5, -1, s->rows, 3, s->heads, s->depth));
    x = transposed(b, x, 5, (const int64_t[]){2, 0, 3, 1, 4});
    nodes(b, "Split", (const tfr_value[]){x, ints(b, 3, 1, 1, 1)}, 2, NULL, parts, 3);
    for (int i = 0; i < 3; i++)
        parts[i] = op2(b, "Squeeze", parts[i], axis);
    x = op2(b, "MatMul", parts[0], transposed(b, parts[1], 4, (const int64_t[]){0, 1, 3, 2}));
    x = op1(b, "Softmax", op2(b, "Mul", x, number(b, .3f)));
    x = transposed(b, op2(b, "MatMul", x, parts[2]), 4, (const int64_t[]){0, 2, 1, 3});
    return op2(b, "Reshape", x, ints(b, 3, -1, s->rows, width));
}

static tfr_graph *encoder(const sizes *s)
{
    const tfr_value_type type = {.size = sizeof type,
                                 .kind = TFR_KIND_TENSOR,
                                 .dtype = TFR_DTYPE_F32,
                                 .rank = 4,
                                 .dims = {-1, 1, 28, 28}};
    const int width = s->heads * s->depth;
    const int64_t zero = 0;
    tfr_attr flat = {.size = sizeof flat, .name = "keepdims", .type = TFR_ATTR_INT};
    builder b = {NULL, 0};
    tfr_value x, y;
    flat.n = 1;
    flat.ints = (int64_t *)(uintptr_t)&zero;
    REQUIRE_OK(tfr_graph_create("encoder", &b.graph, &err), &err);
    REQUIRE_OK(tfr_graph_add_input(b.graph, "x", &type, &x, &err), &err);
    x = op2(&b, "Reshape", x, ints(&b, 3, -1, s->rows, 784 / s->rows));
    x = op2(&b, "Add", dense(&b, x, 784 / s->rows, width), weights(&b, 3, 1, s->rows, width));
    y = attention(&b, norm(&b, x, width), s);
    x = op2(&b, "Add", x, dense(&b, y, width, width));
    y = dense(&b, norm(&b, x, width), width, s->wide);
    x = op2(&b, "Add", x, dense(&b, gelu(&b, y), s->wide, width));
    nodes(&b, "ReduceMean", (const tfr_value[]){x, ints(&b, 1, 1)}, 2, &flat, &x, 1);
    x = dense(&b, x, width, 10);
    REQUIRE_OK(tfr_graph_add_output(b.graph, x, "y", &err), &err);
    return b.graph;
}

/* Heads of whole vectors. */
static tfr_graph *even(void)
{
    return encoder(&(sizes){28, 2, 16, 64});
}

/* Nothing fills a vector. */
static tfr_graph *odd(void)
{
    return encoder(&(sizes){7, 3, 5, 37});
}

/* A head whose keys and values fit no near cache. */
static tfr_graph *large(void)
{
    return encoder(&(sizes){112, 1, 304, 16});
}

TEST(an_encoder_gets_the_weights_of_the_reference)
{
    check_like_reference(even, "adam", 4);
    check_like_reference(odd, "sgd", 6);
}

TEST(an_encoder_of_large_heads_gets_the_weights_of_the_reference)
{
    check_like_reference(large, "sgd", 2);
}

/* Where there is no bfloat16, it is strict. */
TEST(an_encoder_in_bf16_differs_by_rounding_alone)
{
    math_mode = "bf16";
    most_difference = 2e-2;
    check_like_reference(even, "adam", 4);
    check_like_reference(odd, "sgd", 6);
    check_bits(even);
    most_difference = 2e-3;
    math_mode = NULL;
}

TEST(an_encoder_has_the_same_bits_whatever_the_units)
{
    check_bits(even);
    check_bits(odd);
}

/* With the metrics, which count in other types than float32. */
TEST(the_whole_step_is_one_program)
{
    tfr_runtime *runtime = new_runtime();
    tfr_trainer *trainer;
    tfr_graph *graph;
    uint32_t with = 0;
    if (!runtime)
        SKIP("there is no native backend");
    graph = even();
    trainer = new_trainer(runtime, graph, "native:0", "adam");
    train(trainer, 8, 1);
    for (uint32_t i = 0; i < tfr_session_n_placements(tfr_trainer_session(trainer)); i++) {
        tfr_placement p = {.size = sizeof p};
        REQUIRE_OK(tfr_session_placement(tfr_trainer_session(trainer), i, &p, &err), &err);
        if (n_nodes == 0 || strcmp(p.backend, "core") == 0)
            continue;
        if (strcmp(p.backend, "native:0") != 0)
            printf("  %s (%s) is on %s\n", p.node, p.op, p.backend);
        CHECK_STR("native:0", p.backend);
        with += p.program == 0;
    }
    CHECK(n_nodes == 0 || with > 300);
    tfr_trainer_destroy(trainer);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static const test_case cases[] = {
    CASE(an_encoder_gets_the_weights_of_the_reference),
    CASE(an_encoder_of_large_heads_gets_the_weights_of_the_reference),
    CASE(an_encoder_in_bf16_differs_by_rounding_alone),
    CASE(an_encoder_has_the_same_bits_whatever_the_units),
    CASE(the_whole_step_is_one_program),
};
TEST_MAIN(cases)
