/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_chain.c: functions that go over the same elements, of shared values such as the updates
 * of an optimizer, or of samples such as activations written out, become one item: it takes a block
 * of elements after the other through all of them, with what lies between in the first cache. A
 * step that makes what the chain alone reads, such as a gradient of all shards, becomes its part.
 */
#include "program.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512 };

/* ---- making ---- */

/* A number, or an element for each of n; of samples what a step by samples reads. */
static bool is_operand(const native_ir *ir, const native_item *item, int value, int64_t n)
{
    const native_value *v = &ir->values[value];
    const bool batched = ir->values[v->root].batched;

    if (v->dtype != TFR_DTYPE_F32 || v->blocked)
        return false;
    if (native_elements(v) == 1 && !v->batched)
        return !batched;
    return native_elements(v) == n && v->batched == item->by_samples && batched == v->batched;
}

/* What goes by samples is no sum over them, and shared values know no samples. */
static bool can_join(const native_ir *ir, const native_item *item, int64_t n,
                     const native_item *first)
{
    const native_value *y = &ir->values[item->output];
    int k;

    if ((item->kind != NATIVE_ITEM_BINARY && item->kind != NATIVE_ITEM_ACT) ||
        item->by_samples != first->by_samples || item->stage != first->stage || y->blocked ||
        y->batched != item->by_samples || native_elements(y) != n)
        return false;
    for (k = 0; k < item->n_inputs; k++) {
        if (!is_operand(ir, item, item->inputs[k], n))
            return false;
    }
    return true;
}

static int position(const int *list, int n, int value)
{
    int i;

    for (i = 0; i < n; i++) {
        if (list[i] == value)
            return i;
    }
    return -1;
}

/* An operand of an op while the chain grows: an input, or the result of an earlier op. */
enum { RESULTS = NATIVE_CHAIN_ENDS };

typedef struct growing {
    native_ir *ir;
    native_chain *chain;
    int values[NATIVE_CHAIN_OPS]; /* of each op */
    int64_t n;
} growing;

/* -1 = there is no room for one more input. */
static int operand_of(growing *g, int value)
{
    native_chain *c = g->chain;
    int at = position(g->values, c->n_ops, value);

    if (at >= 0)
        return RESULTS + at;
    at = position(c->inputs, c->n_inputs, value);
    if (at >= 0)
        return at;
    if (c->n_inputs == NATIVE_CHAIN_ENDS)
        return -1;
    c->inputs[c->n_inputs] = value;
    c->numbers[c->n_inputs] = native_elements(&g->ir->values[value]) == 1 && g->n > 1;
    return c->n_inputs++;
}

/* An item is up to two ops: its own, and the function behind it. */
static bool join(growing *g, const native_item *item)
{
    native_chain *c = g->chain;
    const bool more = item->kind == NATIVE_ITEM_BINARY && item->act.kind != NATIVE_ACT_NONE;
    const int n_inputs = c->n_inputs;
    native_chain_op *op;
    native_act linear;
    int k, operand = 0;

    if (c->n_ops + 1 + more > NATIVE_CHAIN_OPS)
        return false;
    op = &c->ops[c->n_ops];
    memset(op, 0, sizeof *op);
    op->is_act = item->kind == NATIVE_ITEM_ACT;
    op->binary = item->binary;
    op->act = item->act;
    if (native_is_linear(g->ir, item, &linear, &operand)) {
        op->is_act = true;
        op->act = linear;
    }
    for (k = 0; k < (op->is_act ? 1 : item->n_inputs); k++) {
        op->from[k] = operand_of(g, item->inputs[op->is_act ? operand : k]);
        if (op->from[k] < 0) {
            c->n_inputs = n_inputs;
            return false;
        }
    }
    g->values[c->n_ops++] = more ? -1 : item->output;
    if (!more)
        return true;
    op = &c->ops[c->n_ops];
    memset(op, 0, sizeof *op);
    op->is_act = true;
    op->act = item->act;
    op->from[0] = RESULTS + c->n_ops - 1;
    g->values[c->n_ops++] = item->output;
    return true;
}

static bool reads(const native_ir *ir, const native_item *item, int value)
{
    int k;

    if (item->kind == NATIVE_ITEM_NONE)
        return false;
    for (k = 0; k < item->n_inputs; k++) {
        if (item->inputs[k] == value)
            return true;
    }
    for (k = 0; item->chain && k < item->chain->n_inputs; k++) {
        if (item->chain->inputs[k] == value)
            return true;
    }
    (void)ir;
    return item->residual == value;
}

static bool reads_any(const growing *g, const native_item *item)
{
    int i;

    for (i = 0; i < g->chain->n_ops; i++) {
        if (g->values[i] >= 0 && reads(g->ir, item, g->values[i]))
            return true;
    }
    return false;
}

/* Somebody else reads it. */
static bool is_wanted(const growing *g, int value, const bool *joined)
{
    int i;

    if (value < 0)
        return false;
    if (g->ir->values[value].output)
        return true;
    for (i = 0; i < g->ir->n_items; i++) {
        if (!joined[i] && reads(g->ir, &g->ir->items[i], value))
            return true;
    }
    return false;
}

/* Registers are given to results that are not wanted outside, from their op to the last reader. */
static void give_registers(native_chain *c, const int *output_of)
{
    int last[NATIVE_CHAIN_OPS] = {0}, place[NATIVE_CHAIN_OPS], i, k;
    bool taken[NATIVE_CHAIN_OPS] = {false};

    for (i = 0; i < c->n_ops; i++) {
        for (k = 0; k < 2 - c->ops[i].is_act; k++) {
            if (c->ops[i].from[k] >= RESULTS)
                last[c->ops[i].from[k] - RESULTS] = i;
        }
    }
    for (i = 0; i < c->n_ops; i++) {
        int r = 0;
        for (k = 0; k < 2 - c->ops[i].is_act; k++) {
            int from = c->ops[i].from[k] - RESULTS;
            if (from >= 0)
                c->ops[i].from[k] = place[from];
        }
        for (k = 0; k < i; k++) {
            if (output_of[k] < 0 && last[k] == i - 1)
                taken[place[k] - c->n_inputs - c->n_outputs] = false;
        }
        while (output_of[i] < 0 && taken[r])
            r++;
        if (output_of[i] < 0)
            taken[r] = true;
        place[i] = output_of[i] < 0 ? c->n_inputs + c->n_outputs + r : c->n_inputs + output_of[i];
        c->ops[i].to = place[i];
        if (output_of[i] < 0 && c->n_registers < r + 1)
            c->n_registers = r + 1;
    }
}

/* False: it has too many ends; nothing was changed. */
static bool end_chain(growing *g, const bool *joined)
{
    native_chain *c = g->chain;
    int output_of[NATIVE_CHAIN_OPS], i;

    for (i = 0; i < c->n_ops; i++) {
        output_of[i] = -1;
        if (!is_wanted(g, g->values[i], joined))
            continue;
        if (c->n_outputs == NATIVE_CHAIN_ENDS)
            return false;
        output_of[i] = c->n_outputs;
        c->outputs[c->n_outputs++] = g->values[i];
    }
    give_registers(c, output_of);
    return c->n_outputs > 0;
}

/* Chains everything that fits, from an item on, into the place of the last one. */
static void grow(native_ir *ir, int first, bool *joined)
{
    const native_item begin = ir->items[first];
    growing g = {.ir = ir, .n = native_elements(&ir->values[begin.output])};
    int last = first, n = 0, i;

    if (!can_join(ir, &begin, g.n, &begin))
        return;
    g.chain = calloc(1, sizeof *g.chain);
    if (!g.chain) {
        ir->failed = true;
        return;
    }
    memset(joined, 0, (size_t)ir->n_items * sizeof *joined);
    for (i = first; i < ir->n_items; i++) {
        if (can_join(ir, &ir->items[i], g.n, &begin) && join(&g, &ir->items[i])) {
            joined[i] = true;
            last = i;
            n++;
        } else if (reads_any(&g, &ir->items[i])) {
            break;
        }
    }
    if (n < 2 || !end_chain(&g, joined)) {
        free(g.chain);
        return;
    }
    for (i = first; i <= last; i++) {
        if (joined[i])
            ir->items[i].kind = NATIVE_ITEM_NONE;
    }
    ir->items[last].kind = NATIVE_ITEM_CHAIN;
    ir->items[last].n_inputs = 0;
    ir->items[last].residual = -1;
    ir->items[last].output = g.chain->outputs[0];
    ir->items[last].chain = g.chain;
    ir->n_fused += n - 1;
}

void native_make_chains(native_ir *ir)
{
    bool *joined = calloc((size_t)ir->n_items + 1, sizeof *joined);
    int i;

    if (!joined)
        ir->failed = true;
    for (i = 0; joined && i < ir->n_items; i++)
        grow(ir, i, joined);
    free(joined);
}

/* ---- the step ---- */

/* A step that makes an input of the chain; it is called for each unit of its elements. */
typedef struct source {
    void (*run)(const void *params, const native_bases *bases, int64_t begin, int64_t end);
    const void *params;
    int64_t n, each, numbers; /* of work; elements by each so many */
} source;

enum { SOURCES = 4 };

typedef struct chain {
    const native_isa *isa;
    int64_t n, unit; /* elements, all and of one number of work */
    int n_sources;
    source sources[SOURCES];
    int n_ops, n_inputs, n_ends, n_registers;
    native_ref ends[2 * NATIVE_CHAIN_ENDS];
    bool numbers[2 * NATIVE_CHAIN_ENDS];
    native_chain_op ops[NATIVE_CHAIN_OPS];
} chain;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* at, step: of inputs, outputs and registers. */
static void run_block(const chain *c, float *const *at, const int *step, int64_t n)
{
    int i;

    for (i = 0; i < c->n_ops; i++) {
        const native_chain_op *op = &c->ops[i];
        const int x = op->from[0], y = op->from[1];
        if (!op->is_act) {
            c->isa->binary(op->binary, at[x], step[x], at[y], step[y], at[op->to], n);
            continue;
        }
        if (step[x]) {
            c->isa->act(&op->act, at[x], at[op->to], n);
            continue;
        }
        c->isa->act(&op->act, at[x], at[op->to], 1);
        for (int64_t k = 1; k < n; k++)
            at[op->to][k] = at[op->to][0];
    }
}

/* What sources make of the elements from first on. */
static void call_sources(const chain *c, const native_bases *bases, int64_t first, int64_t last)
{
    int i;

    for (i = 0; i < c->n_sources; i++) {
        const source *s = &c->sources[i];
        const int64_t end = last == c->n ? s->n : last / s->each * s->numbers;
        s->run(s->params, bases, first / s->each * s->numbers, end);
    }
}

/* Numbers count units, which are gone through block by block. */
static void run_chain(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const chain *c = params;
    float *ends[2 * NATIVE_CHAIN_ENDS], *at[2 * NATIVE_CHAIN_ENDS + NATIVE_CHAIN_OPS];
    int step[2 * NATIVE_CHAIN_ENDS + NATIVE_CHAIN_OPS], i;
    int64_t unit, first;

    for (i = 0; i < c->n_ends + c->n_registers; i++) {
        step[i] = i >= c->n_ends || !c->numbers[i];
        if (i < c->n_ends)
            ends[i] = native_at(bases, &c->ends[i]);
        else
            at[i] = (float *)(void *)bases->scratch + (i - c->n_ends) * BLOCK;
    }
    for (unit = begin; unit < end; unit++) {
        const int64_t last = least(c->n, (unit + 1) * c->unit);
        call_sources(c, bases, unit * c->unit, last);
        for (first = unit * c->unit; first < last; first += BLOCK) {
            for (i = 0; i < c->n_ends; i++)
                at[i] = ends[i] + (step[i] ? first : 0);
            run_block(c, at, step, least(last - first, BLOCK));
        }
    }
}

/* ---- steps that make what a chain reads ---- */

/* Elements that one thread may as well make alone. */
enum { TAKEN_WHOLE = 2048 };

static int count_reads(const native_ir *ir, const native_item *item, int root)
{
    int n = 0, k;

    for (k = 0; k < item->n_inputs; k++)
        n += item->inputs[k] >= 0 && ir->values[item->inputs[k]].root == root;
    for (k = 0; item->chain && k < item->chain->n_inputs; k++)
        n += ir->values[item->chain->inputs[k]].root == root;
    return n + (item->residual >= 0 && ir->values[item->residual].root == root);
}

static bool has_one_reader(const native_ir *ir, int root)
{
    int n = 0, i;

    for (i = 0; i < ir->n_items; i++) {
        if (ir->items[i].kind != NATIVE_ITEM_NONE && ir->items[i].kind != NATIVE_ITEM_VIEW)
            n += count_reads(ir, &ir->items[i], root);
    }
    return n == 1;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;

    while (y != 0) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Whether a step makes a value of n elements, in units that leave some for each thread. */
static bool makes(const native_planner *p, const native_run *run, int value, int64_t n,
                  int64_t unit)
{
    const native_value *v = &p->ir->values[value];

    return v->root == run->made && run->stage == p->stage && native_elements(v) == n &&
           native_elements(&p->ir->values[v->root]) == n &&
           (n <= TAKEN_WHOLE || n / unit >= p->ir->device->threads) &&
           has_one_reader(p->ir, v->root);
}

/*
 * Takes a step of this stage out of the plan that makes a value of n elements which the item reads,
 * if nothing else reads it and it makes them in order: the item's own step then calls it for the
 * elements that it is about to read, so that no thread waits for the others' parts. *unit becomes a
 * multiple of the elements that it makes at a time. The run of the last one is NULL.
 */
static native_run take_step(native_planner *p, const native_item *item, int64_t n, int64_t *unit)
{
    native_run taken = {0};
    int i, k;

    if (!p->staging || item->by_samples || p->status != TFR_OK)
        return taken;
    for (i = 0; i < p->plan->n_runs; i++) {
        native_run *run = &p->plan->runs[i];
        for (k = 0; k < item->chain->n_inputs && run->made >= 0 && run->elements > 0; k++) {
            const int64_t common = common_multiple(*unit, run->elements);
            if (!makes(p, run, item->chain->inputs[k], n, common))
                continue;
            taken = *run;
            *unit = common;
            run->run = NULL; /* make_order leaves it out */
            run->made = -1;
            return taken;
        }
    }
    return taken;
}

/* Units are at least a block, and whole ones of the steps that are taken. Returns their cost. */
static double take_sources(native_planner *p, const native_item *item, chain *c)
{
    double cost = 0.0;

    c->unit = 1;
    while (c->n_sources < SOURCES) {
        const native_run run = take_step(p, item, c->n, &c->unit);
        if (!run.run)
            break;
        c->sources[c->n_sources++] =
            (source){run.run, run.params, run.n, run.elements, run.numbers};
        cost += run.cost;
    }
    c->unit *= (BLOCK + c->unit - 1) / c->unit;
    return cost;
}

/* ---- planning ---- */

void native_plan_chain(native_planner *p, const native_item *item)
{
    const native_chain *from = item->chain;
    chain *c = native_keep(p, sizeof *c);
    double cost;
    int i;

    if (!c)
        return;
    c->isa = p->isa;
    c->n = native_count(p, &p->ir->values[item->output]);
    c->n_ops = from->n_ops;
    c->n_inputs = from->n_inputs;
    c->n_ends = from->n_inputs + from->n_outputs;
    c->n_registers = from->n_registers;
    memcpy(c->ops, from->ops, sizeof c->ops);
    for (i = 0; i < c->n_ends; i++) {
        const bool input = i < from->n_inputs;
        c->ends[i] = native_ref_of(p, input ? from->inputs[i] : from->outputs[i - from->n_inputs]);
        c->numbers[i] = input && from->numbers[i];
    }
    native_need_scratch(p, (uint64_t)c->n_registers * BLOCK * sizeof(float));
    cost = take_sources(p, item, c) + (double)(c->n * c->n_ops) * 0.1;
    native_add_run(p, run_chain, c, (c->n + c->unit - 1) / c->unit, cost);
}
