/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_text.h: graphs from short texts, for tests of what happens to graphs. Statements are
 * separated by semicolons:
 *   in x 2 ? N      an input of float32; ? is a dim that is not known, N one of that name, * a
 *                   shape that is not known
 *   half x 2 ? N    the same of float16
 *   const w 4 5     a constant of numbers in [0.5, 1.5), var v 4 a variable
 *   a = Expr        a name for a value
 *   a,b = Expr      names for both outputs of an op
 *   out Expr        an output
 * An expression is a name, a number (a scalar constant; 6h is of float16 and not negative), a list
 * [1,-1] (int64), or an op with attributes and a pin: Transpose{perm=1,0}(x), Relu@naive:0(x),
 * Einsum{equation=ij>ji}(x), where > is an arrow. A dash is an operand left out.
 */
#ifndef TFR_GRAPH_TEXT_H
#define TFR_GRAPH_TEXT_H

#include <ctype.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <tfrun/tfrun.h>

#include "op/op.h"
#include "tfr_test.h"

typedef struct graph_text {
    tfr_graph *graph;
    struct {
        char name[16];
        tfr_value value;
    } names[40];
    uint32_t n_names;
    bool pair;        /* the next op has two outputs, */
    tfr_value second; /* and this is the second one */
    const char *at;
} graph_text;

static tfr_err graph_text_err = TFR_ERR_INIT;

static inline tfr_tensor *random_floats(const tfr_shape *shape, uint64_t seed, float low,
                                        float high)
{
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F32, shape, &t, &graph_text_err), &graph_text_err);
    for (int64_t i = 0; i < tfr_tensor_elements(t); i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        ((float *)tfr_tensor_data(t))[i] = low + (high - low) * (float)(seed >> 40) / 16777216.0f;
    }
    return t;
}

/* For input i of a graph, as it declares it; dims that it does not know are `unknown`. */
static inline tfr_tensor *random_input(const tfr_graph *graph, uint32_t i, int64_t unknown,
                                       uint64_t seed, float low, float high)
{
    const tfr_value_type *type = tfr_graph_value_type(graph, tfr_graph_input(graph, i));
    tfr_shape shape = {type->rank, {0}};
    for (int32_t k = 0; k < type->rank; k++)
        shape.dims[k] = type->dims[k] < 0 ? unknown : type->dims[k];
    return random_floats(&shape, seed, low, high);
}

static bool graph_text_loose;       /* constants lie at odd addresses */
static atomic_int graph_text_rests; /* how often one was told to be idle, on any thread */

static inline void graph_text_idle(void *user, const void *at, size_t n)
{
    (void)user;
    (void)at;
    graph_text_rests += n > 0;
}

/* The same elements, at an odd address if that is wanted. */
static inline tfr_tensor *graph_text_place(tfr_tensor *t)
{
    tfr_tensor *odd = NULL;
    char *bytes;
    if (!graph_text_loose || tfr_tensor_bytes(t) == 0)
        return t;
    bytes = malloc(tfr_tensor_bytes(t) + 1);
    REQUIRE(bytes != NULL);
    memcpy(bytes + 1, tfr_tensor_data(t), tfr_tensor_bytes(t));
    REQUIRE_OK(tfr_tensor_wrap_bytes(tfr_tensor_dtype(t), tfr_tensor_shape(t), bytes + 1,
                                     graph_text_idle, free, bytes, &odd, &graph_text_err),
               &graph_text_err);
    tfr_tensor_release(t);
    return odd;
}

static inline void graph_text_blanks(graph_text *g)
{
    while (*g->at == ' ' || *g->at == ',')
        g->at++;
}

static inline void graph_text_word(graph_text *g, char *out, size_t capacity)
{
    size_t n = 0;
    graph_text_blanks(g);
    while ((isalnum((unsigned char)*g->at) || *g->at == '_') && n + 1 < capacity)
        out[n++] = *g->at++;
    out[n] = 0;
}

static inline tfr_value graph_text_constant(graph_text *g, tfr_tensor *t)
{
    tfr_value v = TFR_VALUE_NONE;
    t = graph_text_place(t);
    REQUIRE_OK(tfr_graph_add_constant(g->graph, NULL, t, &v, &graph_text_err), &graph_text_err);
    tfr_tensor_release(t);
    return v;
}

/* A scalar of float32 that is no less than 0, as one of float16. Takes over the tensor. */
static inline tfr_tensor *graph_text_half(graph_text *g, tfr_tensor *t)
{
    tfr_tensor *half = NULL;
    uint32_t bits;
    memcpy(&bits, tfr_tensor_data(t), sizeof bits);
    tfr_tensor_release(t);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_F16, &(tfr_shape){0, {0}}, &half, &graph_text_err),
               &graph_text_err);
    *(uint16_t *)tfr_tensor_data(half) =
        bits ? (uint16_t)(((bits >> 23) - 112) << 10 | (bits >> 13 & 0x3ff)) : 0;
    g->at++;
    return half;
}

static inline uint32_t graph_text_ints(graph_text *g, int64_t *out)
{
    uint32_t n = 0;
    for (graph_text_blanks(g); *g->at == '-' || isdigit((unsigned char)*g->at);
         graph_text_blanks(g)) {
        char *end;
        out[n++] = strtoll(g->at, &end, 10);
        g->at = end;
    }
    return n;
}

typedef struct graph_text_letters {
    char letters[48];
    tfr_string string;
} graph_text_letters;

static inline void graph_text_string(graph_text *g, graph_text_letters *to)
{
    size_t n = 0;
    for (; *g->at && *g->at != ';' && *g->at != '}' && n + 3 < sizeof to->letters; g->at++) {
        if (*g->at == '>')
            to->letters[n++] = '-';
        to->letters[n++] = *g->at;
    }
    to->letters[n] = '\0';
    to->string = (tfr_string){to->letters, n};
}

static inline const char *graph_text_domain(const char *op)
{
    return tfr__op_find("", op) ? "" : "tfrun";
}

/* {name=1,2;other=0.5}, typed as the op table says. */
static inline uint32_t graph_text_attrs(graph_text *g, const char *op, tfr_attr *attrs,
                                        int64_t (*ints)[8], float *floats, char (*names)[24],
                                        graph_text_letters *texts)
{
    uint32_t n = 0;
    while (*g->at == '{' || *g->at == ';') {
        const char *cursor = tfr__op_find(graph_text_domain(op), op)->attrs;
        tfr__attr_formal formal;
        g->at++;
        graph_text_word(g, names[n], sizeof names[n]);
        g->at++;
        while (tfr__op_next_attr(&cursor, &formal))
            if (formal.name_bytes == strlen(names[n]) &&
                !memcmp(formal.name, names[n], formal.name_bytes))
                break;
        attrs[n] = (tfr_attr){
            .size = sizeof *attrs, .type = formal.type, .name = names[n], .n = 1, .ints = ints[n]};
        if (formal.type == TFR_ATTR_FLOAT) {
            char *end;
            floats[n] = strtof(g->at, &end);
            g->at = end;
            attrs[n].floats = &floats[n];
        } else if (formal.type == TFR_ATTR_STRING) {
            graph_text_string(g, &texts[n]);
            attrs[n].strings = &texts[n].string;
        } else {
            attrs[n].n = graph_text_ints(g, ints[n]);
        }
        n++;
    }
    g->at += n != 0;
    return n;
}

static inline tfr_value graph_text_expr(graph_text *g)
{
    char word[32], pin[16] = "", names[4][24];
    tfr_value in[24], out[2] = {TFR_VALUE_NONE, TFR_VALUE_NONE};
    tfr_attr attrs[4];
    int64_t ints[4][8], list[8];
    float floats[4];
    graph_text_letters texts[4];
    tfr_node_desc node = {.size = sizeof node, .n_outputs = 1, .op = word, .inputs = in};
    graph_text_blanks(g);
    if (*g->at == '-' && !isdigit((unsigned char)g->at[1])) {
        g->at++;
        return TFR_VALUE_NONE;
    }
    if (isdigit((unsigned char)*g->at) || *g->at == '-' || *g->at == '.') {
        char *end;
        tfr_tensor *t = random_floats(&(tfr_shape){0, {0}}, 1, 0, 1);
        *(float *)tfr_tensor_data(t) = strtof(g->at, &end);
        g->at = end;
        if (*g->at == 'h')
            t = graph_text_half(g, t);
        return graph_text_constant(g, t);
    }
    if (*g->at == '[') {
        tfr_tensor *t = NULL;
        g->at++;
        tfr_shape shape = {1, {graph_text_ints(g, list)}};
        g->at++;
        REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_I64, &shape, &t, &graph_text_err), &graph_text_err);
        memcpy(tfr_tensor_data(t), list, tfr_tensor_bytes(t));
        return graph_text_constant(g, t);
    }
    graph_text_word(g, word, sizeof word);
    if (islower((unsigned char)*word)) {
        for (uint32_t i = 0; i < g->n_names; i++)
            if (strcmp(g->names[i].name, word) == 0)
                return g->names[i].value;
        printf("no value \"%s\"\n", word);
        REQUIRE(false);
    }
    node.domain = graph_text_domain(word);
    node.n_attrs = graph_text_attrs(g, word, attrs, ints, floats, names, texts);
    node.attrs = attrs;
    if (*g->at == '@') {
        size_t n = strcspn(++g->at, "(");
        snprintf(pin, sizeof pin, "%.*s", (int)n, g->at);
        g->at += n;
        node.device = pin;
    }
    node.n_outputs = g->pair ? 2 : 1;
    g->pair = false;
    for (g->at++; *g->at != ')'; graph_text_blanks(g))
        in[node.n_inputs++] = graph_text_expr(g);
    g->at++;
    REQUIRE_OK(tfr_graph_add_node(g->graph, &node, out, &graph_text_err), &graph_text_err);
    g->second = out[1];
    return out[0];
}

static inline void graph_text_name(graph_text *g, const char *name, tfr_value value)
{
    snprintf(g->names[g->n_names].name, sizeof g->names[0].name, "%s", name);
    g->names[g->n_names++].value = value;
}

/* The rest of "in x 2 ?" and its like, behind the kind. */
static inline void graph_text_leaf(graph_text *g, const char *kind)
{
    tfr_value_type type = {
        .size = sizeof type, .kind = TFR_KIND_TENSOR, .dtype = TFR_DTYPE_F32, .rank_known = 1};
    const bool half = strcmp(kind, "half") == 0;
    char name[16];
    tfr_value value = TFR_VALUE_NONE;
    tfr_shape shape;
    tfr_tensor *t;
    graph_text_word(g, name, sizeof name);
    for (graph_text_blanks(g); *g->at && *g->at != ';'; graph_text_blanks(g)) {
        int64_t dim = -1;
        if (*g->at == '*')
            type.rank_known = 0;
        if (isupper((unsigned char)*g->at)) {
            char symbol[16];
            graph_text_word(g, symbol, sizeof symbol);
            REQUIRE_OK(tfr_graph_add_symbol(g->graph, symbol, &dim, &graph_text_err),
                       &graph_text_err);
        } else if (*g->at == '*' || *g->at == '?') {
            g->at++;
        } else {
            dim = strtoll(g->at, (char **)&g->at, 10);
        }
        type.dims[type.rank++] = dim;
    }
    if (half)
        type.dtype = TFR_DTYPE_F16;
    if (half || strcmp(kind, "in") == 0) {
        REQUIRE_OK(tfr_graph_add_input(g->graph, name, &type, &value, &graph_text_err),
                   &graph_text_err);
    } else {
        REQUIRE_OK(tfr_shape_make(type.rank, type.dims, &shape, &graph_text_err), &graph_text_err);
        t = graph_text_place(random_floats(&shape, (uint64_t)*name * 77, 0.5f, 1.5f));
        if (strcmp(kind, "var") == 0)
            REQUIRE_OK(tfr_graph_add_variable(g->graph, name, t, &value, &graph_text_err),
                       &graph_text_err);
        else
            REQUIRE_OK(tfr_graph_add_constant(g->graph, name, t, &value, &graph_text_err),
                       &graph_text_err);
        tfr_tensor_release(t);
    }
    graph_text_name(g, name, value);
}

/* Goes on with a graph that is there; names are those of g. */
static inline void graph_text_more(graph_text *g, const char *text)
{
    for (g->at = text; *g->at; g->at += *g->at == ';') {
        char word[16];
        const char *first;
        graph_text_blanks(g);
        first = g->at;
        graph_text_word(g, word, sizeof word);
        graph_text_blanks(g);
        if (!strcmp(word, "in") || !strcmp(word, "half") || !strcmp(word, "const") ||
            !strcmp(word, "var")) {
            graph_text_leaf(g, word);
        } else if (strcmp(word, "out") == 0) {
            REQUIRE_OK(tfr_graph_add_output(g->graph, graph_text_expr(g), NULL, &graph_text_err),
                       &graph_text_err);
        } else if (islower((unsigned char)*g->at)) {
            char second[16];
            graph_text_word(g, second, sizeof second);
            graph_text_blanks(g);
            g->at++;
            g->pair = true;
            graph_text_name(g, word, graph_text_expr(g));
            graph_text_name(g, second, g->second);
        } else if (*g->at == '=') {
            g->at++;
            graph_text_name(g, word, graph_text_expr(g));
        } else {
            g->at = first; /* a node that nobody reads */
            graph_text_expr(g);
        }
        graph_text_blanks(g);
    }
}

/* An If of one output, with the graphs of its branches, which it takes over. */
static inline tfr_value graph_text_if(tfr_graph *graph, tfr_value condition, tfr_graph *then,
                                      tfr_graph *otherwise)
{
    const tfr_subgraph branches[] = {{.name = "then_branch", .graph = then},
                                     {.name = "else_branch", .graph = otherwise}};
    const tfr_node_desc node = {.size = sizeof node,
                                .op = "If",
                                .inputs = &condition,
                                .n_inputs = 1,
                                .n_outputs = 1,
                                .n_subgraphs = 2,
                                .subgraphs = branches};
    tfr_value out = TFR_VALUE_NONE;
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &out, &graph_text_err), &graph_text_err);
    return out;
}

/*
 * A graph with an input x of one dim and a Loop: each of its trips puts a number behind what it
 * has, which begins as x, and gives it to op.
 */
static inline tfr_graph *growing_loop(int64_t trips, const char *op)
{
    graph_text g = {0}, body = {0};
    char text[80];
    tfr_value counter, go, out;
    tfr_value_type type = {.size = sizeof type, .kind = TFR_KIND_TENSOR};
    tfr_tensor *yes = NULL;
    const tfr_shape scalar = {0};
    REQUIRE_OK(tfr_graph_create("loop", &g.graph, &graph_text_err), &graph_text_err);
    snprintf(text, sizeof text, "in x ?; n = [%lld]", (long long)trips);
    graph_text_more(&g, text);
    REQUIRE_OK(tfr_tensor_create(TFR_DTYPE_BOOL, &scalar, &yes, &graph_text_err), &graph_text_err);
    *(uint8_t *)tfr_tensor_data(yes) = 1;
    graph_text_name(&g, "c", graph_text_constant(&g, yes));
    REQUIRE_OK(tfr_graph_create_child(g.graph, "body", &body.graph, &graph_text_err),
               &graph_text_err);
    type.dtype = TFR_DTYPE_I64;
    REQUIRE_OK(tfr_graph_add_input(body.graph, "i", &type, &counter, &graph_text_err),
               &graph_text_err);
    type.dtype = TFR_DTYPE_BOOL;
    REQUIRE_OK(tfr_graph_add_input(body.graph, "go", &type, &go, &graph_text_err), &graph_text_err);
    graph_text_name(&body, "go", go);
    snprintf(text, sizeof text, "in a ?; const one 1; out go; out %s(Concat{axis=0}(a,one))", op);
    graph_text_more(&body, text);
    const tfr_subgraph sub = {.name = "body", .graph = body.graph};
    const tfr_value in[] = {g.names[1].value, g.names[2].value, g.names[0].value};
    const tfr_node_desc node = {.size = sizeof node,
                                .op = "Loop",
                                .inputs = in,
                                .n_inputs = 3,
                                .n_outputs = 1,
                                .n_subgraphs = 1,
                                .subgraphs = &sub};
    REQUIRE_OK(tfr_graph_add_node(g.graph, &node, &out, &graph_text_err), &graph_text_err);
    REQUIRE_OK(tfr_graph_add_output(g.graph, out, NULL, &graph_text_err), &graph_text_err);
    return g.graph;
}

static inline tfr_graph *graph_of_text(const char *text)
{
    graph_text g = {0};
    REQUIRE_OK(tfr_graph_create("text", &g.graph, &graph_text_err), &graph_text_err);
    graph_text_more(&g, text);
    return g.graph;
}

#endif
