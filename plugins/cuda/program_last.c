/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_last.c: which nodes are programs of their own so that images keep the channels last
 * between convolutions: pools, batch norms, gradients, convolutions without an end.
 *
 * Alone they gain nothing: a convolution on tensor cores brings what lies plain into the other
 * order for itself, and the core brings what a kernel reads into the plain one. So both are counted
 * as if the nodes of a region, which images connect, were programs and as if not, and they are
 * where fewer conversions remain.
 */
#include "engine.h"
#include "program.h"

#include <stdlib.h>
#include <string.h>

/* ---- convolutions ---------------------------------------------------------------------------- */

/* Tensor cores take them so; strict float32 does without. */
static bool uses_tensor_cores(const cuda_chip *chip, const tfr_call *call)
{
    const int32_t dtype = tfr_call_input(call, 0)->dtype;

    return dtype == TFR_DTYPE_F32 ? call->math_mode >= TFR_MATH_TF32 && chip->capability >= 90
                                  : chip->capability >= (dtype == TFR_DTYPE_BF16 ? 80 : 70);
}

bool cuda_likes_last(const cuda_chip *chip, const cuda_convolution *c, const tfr_call *call)
{
    const bool has_groups = c->x_dims[1] != c->w_dims[1];

    if (c->kind == CUDA_CONV_NONE || tfr_call_input(call, 0)->rank != 4 ||
        !uses_tensor_cores(chip, call) || c->y_dims[1] % 8 != 0)
        return false;
    /* The few channels of a picture are padded by cuDNN, whatever their order. */
    if (c->kind == CUDA_CONV_GRAD_INPUT && c->x_dims[1] % 8 != 0)
        return false;
    return !has_groups ||
           (tfr_call_input(call, 0)->dtype != TFR_DTYPE_F32 && c->x_dims[1] % 8 == 0);
}

/* ---- units ----------------------------------------------------------------------------------- */

/* What becomes one launch: a chain with the product that it is the end of, or another node. */
typedef enum unit_kind {
    KERNEL,  /* reads and writes plain images */
    PROGRAM, /* the same */
    CHAIN,   /* reads any, writes as it reads */
    CONVOLUTION,
    IMAGE,   /* reads and writes any */
    TOGETHER /* in one order */
} unit_kind;

typedef struct unit {
    unit_kind kind;
    bool is_optional;         /* it is a kernel unless it is chosen */
    bool pads;                /* the input of a convolution: its order does not matter */
    bool reads_last, all_any; /* while they are counted */
    int32_t region;           /* of units: one of them, or on the way to it */
    int32_t gain;             /* of a region: conversions that are saved */
} unit;

/* What is known of a value. */
enum { BY_PROGRAM = 1, AS_PLAIN = 2, LAST = 4 };

typedef struct search {
    const tfr_program_graph *graph;
    const cuda_chains *chains;
    const bool *in_group; /* by node */
    int32_t *unit_of;     /* by node */
    unit *units;          /* by the number of one of its nodes */
    uint8_t *values;
    bool with; /* the optional units are programs */
} search;

static unit *unit_at(const search *s, uint32_t i)
{
    return &s->units[s->unit_of[i]];
}

static unit_kind kind_of(const search *s, const unit *u)
{
    return u->is_optional && !s->with ? KERNEL : u->kind;
}

static bool has(uint32_t bits, uint32_t k)
{
    return k < 32 && bits >> k & 1;
}

/* The operands of a node, inputs first, that are images in any order. */
static uint32_t images_of(const search *s, uint32_t i)
{
    const tfr_program_node *node = cuda_node_at(s->graph, i);
    const unit *u = unit_at(s, i);
    uint32_t bits = 0, output;
    bool together;

    if (u->kind < CHAIN)
        return 0;
    output = (uint32_t)1 << node->call->n_inputs;
    if (s->chains->of[i] >= 0) {
        const tfr_operand *y = tfr_call_output(node->call, 0);
        for (uint32_t k = 0; k < node->call->n_inputs; k++) {
            const tfr_operand *o = tfr_call_input(node->call, k);
            bits |= (uint32_t)(o && o->rank == 4 && tfr_operand_same_dims(o, y)) << k;
        }
        return y->rank == 4 ? bits | output : 0;
    }
    if (u->kind == IMAGE || u->kind == TOGETHER)
        return cuda_may_last(node->call, &together);
    return strcmp(node->call->name, "ConvGradFilter") == 0 ? 3 : 1 | output;
}

/* Has node i a unit of its own that is a program if it is chosen? */
static void find_kind(tfr_plugin_device *device, search *s, uint32_t i, cuda_plan *plan)
{
    const tfr_program_node *node = cuda_node_at(s->graph, i);
    unit *u = unit_at(s, i);
    const bool is_end = s->unit_of[i] != (int32_t)i || s->in_group[i];
    uint64_t workspace;
    bool together;

    if (!(node->flags & TFR_NODE_MINE))
        return;
    if (s->chains->of[i] >= 0 && s->in_group[i]) {
        if (u->kind != CONVOLUTION && u->kind != PROGRAM)
            u->kind = CHAIN;
    } else if (cuda_is_convolution(node->call)) {
        if (is_end)
            u->kind = PROGRAM;
        if (!cuda_call_plan(device, node->call, 0, plan, &workspace) ||
            !cuda_likes_last(&device->facts.chip, &plan->convolution, node->call) ||
            !cuda_convolution_can())
            return;
        u->kind = CONVOLUTION;
        u->is_optional = !is_end;
        u->pads = plan->convolution.x_dims[1] % 8 != 0;
    } else if (s->in_group[i]) {
        u->kind = PROGRAM;
    } else if (s->chains->of[i] == (int32_t)i && s->chains->n_nodes[i] == 1) {
        u->kind = CHAIN;
        u->is_optional = true;
    } else if (cuda_may_last(node->call, &together) &&
               cuda_call_plan(device, node->call, cuda_may_last(node->call, &together), plan,
                              &workspace)) {
        u->kind = together ? TOGETHER : IMAGE;
        u->is_optional = true;
    }
}

static int32_t region_of(const search *s, int32_t u)
{
    while (s->units[u].region != u)
        u = s->units[u].region;
    return u;
}

static int32_t maker_of(const search *s, int32_t value)
{
    const int32_t node = value < 0 ? -1 : cuda_value_at(s->graph, value)->node;

    return node < 0 ? -1 : s->unit_of[node];
}

/* Units are in one region if one writes an image that the other one reads. */
static void join_regions(search *s)
{
    for (uint32_t i = 0; i < s->graph->n_nodes; i++) {
        const tfr_program_node *node = cuda_node_at(s->graph, i);
        const uint32_t images = images_of(s, i);
        for (uint32_t k = 0; k < node->call->n_inputs; k++) {
            const int32_t maker = has(images, k) ? maker_of(s, node->inputs[k]) : -1;
            if (maker >= 0 && s->units[maker].kind >= CHAIN)
                s->units[region_of(s, maker)].region = region_of(s, s->unit_of[i]);
        }
    }
}

/* ---- counting -------------------------------------------------------------------------------- */

static void find_readers(search *s)
{
    memset(s->values, 0, s->graph->n_values);
    for (uint32_t i = 0; i < s->graph->n_nodes; i++) {
        const tfr_program_node *node = cuda_node_at(s->graph, i);
        const unit_kind kind = kind_of(s, unit_at(s, i));
        const uint32_t images = kind >= CHAIN ? images_of(s, i) : 0;
        for (uint32_t k = 0; k < node->call->n_inputs; k++) {
            const int32_t v = node->inputs[k];
            if (v < 0 || maker_of(s, v) == s->unit_of[i])
                continue;
            if (kind != KERNEL)
                s->values[v] |= BY_PROGRAM;
            if (!has(images, k))
                s->values[v] |= AS_PLAIN;
        }
    }
}

/* May the value lie in any order, as far as its readers go? Nobody beside its unit: yes. */
static bool may_be_last(const search *s, int32_t v)
{
    return !(cuda_value_at(s->graph, v)->flags & TFR_VALUE_OUTPUT) &&
           (s->values[v] & BY_PROGRAM || !(s->values[v] & AS_PLAIN));
}

/* Whether something has changed. */
static bool spread(search *s)
{
    bool changed = false;

    for (uint32_t i = 0; i < s->graph->n_nodes; i++) {
        unit *u = unit_at(s, i);
        u->reads_last = false;
        u->all_any = true;
    }
    for (uint32_t i = 0; i < s->graph->n_nodes; i++) {
        const tfr_program_node *node = cuda_node_at(s->graph, i);
        const uint32_t images = images_of(s, i);
        unit *u = unit_at(s, i);
        for (uint32_t k = 0; k < node->call->n_inputs; k++)
            if (has(images, k) && node->inputs[k] >= 0 && s->values[node->inputs[k]] & LAST)
                u->reads_last = true;
        for (uint32_t k = 0; k < node->call->n_outputs; k++)
            if (has(images, node->call->n_inputs + k) && node->outputs[k] >= 0)
                u->all_any = u->all_any && may_be_last(s, node->outputs[k]);
    }
    for (uint32_t i = 0; i < s->graph->n_nodes; i++) {
        const tfr_program_node *node = cuda_node_at(s->graph, i);
        const unit *u = unit_at(s, i);
        const unit_kind kind = kind_of(s, u);
        const uint32_t images = kind >= CHAIN ? images_of(s, i) : 0;
        const bool follows = kind == CHAIN || kind == TOGETHER;
        for (uint32_t k = 0; k < node->call->n_outputs; k++) {
            const int32_t v = node->outputs[k];
            if (v < 0 || !has(images, node->call->n_inputs + k) || s->values[v] & LAST ||
                (follows && !u->reads_last) || (kind == IMAGE ? !may_be_last(s, v) : !u->all_any))
                continue;
            s->values[v] |= LAST;
            changed = true;
        }
    }
    return changed;
}

/* Adds so many times the conversions of what node i reads and writes to its region's gain. */
static void count_node(const search *s, uint32_t i, int32_t times)
{
    const tfr_program_node *node = cuda_node_at(s->graph, i);
    const unit *u = unit_at(s, i);
    const uint32_t n = node->call->n_inputs, images = u->kind >= CHAIN ? images_of(s, i) : 0;
    int32_t conversions = 0;

    for (uint32_t k = 0; k < n + node->call->n_outputs; k++) {
        const int32_t v = k < n ? node->inputs[k] : node->outputs[k - n];
        if (v < 0 || !has(images, k))
            continue;
        if (k >= n && (s->values[v] & (LAST | AS_PLAIN)) == (LAST | AS_PLAIN))
            conversions++; /* by the core, once for all readers */
        if (u->kind == CONVOLUTION && s->chains->of[i] < 0 && !(s->values[v] & LAST) &&
            !(k < n && u->pads))
            conversions++; /* by cuDNN */
    }
    s->units[region_of(s, s->unit_of[i])].gain += times * conversions;
}

static void count_all(search *s, bool with)
{
    s->with = with;
    find_readers(s);
    while (spread(s))
        ;
    for (uint32_t i = 0; i < s->graph->n_nodes; i++)
        count_node(s, i, with ? -1 : 1);
}

static bool has_convolutions(const search *s)
{
    for (uint32_t i = 0; i < s->graph->n_nodes; i++)
        if (unit_at(s, i)->kind == CONVOLUTION)
            return true;
    return false;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void find_units(tfr_plugin_device *device, search *s, cuda_plan *plan)
{
    const uint32_t n = s->graph->n_nodes;

    for (uint32_t i = 0; i < n; i++) {
        s->unit_of[i] = s->chains->of[i] >= 0 && s->in_group[i] ? s->chains->of[i] : (int32_t)i;
        s->units[i].region = (int32_t)i;
    }
    for (uint32_t i = 0; i < n; i++)
        if (s->unit_of[i] == (int32_t)i && s->chains->of[i] >= 0 && s->in_group[i] &&
            s->chains->product[i] >= 0)
            s->unit_of[s->chains->product[i]] = (int32_t)i;
    for (uint32_t i = 0; i < n; i++)
        find_kind(device, s, i, plan);
}

int32_t cuda_last_find(tfr_plugin_device *device, const tfr_program_graph *graph,
                       const cuda_chains *chains, const bool *in_group, bool *chosen, tfr_err *err)
{
    const size_t n = graph->n_nodes + 1;
    search s = {.graph = graph, .chains = chains, .in_group = in_group};
    cuda_plan *plan = malloc(sizeof *plan);
    int32_t status = TFR_OK;

    s.unit_of = malloc(n * sizeof *s.unit_of);
    s.units = calloc(n, sizeof *s.units);
    s.values = calloc(graph->n_values + 1, sizeof *s.values);
    if (plan && s.unit_of && s.units && s.values) {
        find_units(device, &s, plan);
        if (has_convolutions(&s)) {
            join_regions(&s);
            count_all(&s, false);
            count_all(&s, true);
        }
        for (uint32_t i = 0; i < graph->n_nodes; i++)
            chosen[i] =
                unit_at(&s, i)->is_optional && s.units[region_of(&s, s.unit_of[i])].gain > 0;
    } else {
        status = tfr_fail(err, TFR_ENOMEM, "no memory for the order of images");
    }
    free(plan);
    free(s.unit_of);
    free(s.units);
    free(s.values);
    return status;
}
