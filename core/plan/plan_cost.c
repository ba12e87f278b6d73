/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_cost.c: placement by price. The first choice of place.c stands unless other backends are
 * known to be cheaper, copies included:
 *
 *   a node costs what was measured for its call on that backend (plan_sample.c), else what the
 *   backend estimates, else, for the first choice alone, a neutral guess: 10 bytes or 10 flops
 *   each nanosecond, whichever takes longer. The guess meets estimates alone: what can be
 *   measured is measured before it is left, and nobody is preferred for being unknown. The
 *   reference, of priority 0, is the exception: its guess is 16 times as long, other devices'
 *   kernels are guessed, too, and where its nodes take over 20 ms they are opened to be asked.
 *   an edge costs 500 ns and a pass over its bytes between backends of one memory, for layouts and
 *   programs end there; between memories also the latency and the bytes over the speed of the
 *   link, 10 us and 10 GB/s where the backend does not say: of the one between two devices where
 *   their plugin has one, else of both that lead to the host.
 *
 * A value that several nodes of a device read is copied once, but counted for each. What the user
 * named, pinned or gave a priority stays, with fallback "error" all does, and so do nodes that draw
 * random numbers. A new placement must save a twentieth, so that noise moves nothing. Equal
 * knowledge gives equal placements; a plan that stands is never changed.
 */
#include "plan/plan_cost.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/mincut.h"
#include "value/bits.h"

enum {
    SWITCH_NS = 500,
    SWITCH_NS_PER_KIB = 100,
    LINK_NS = 10000,
    MOST_TERMS = 1 << 17, /* of nodes and edges: with the bounds below no sum reaches IMPOSSIBLE */
    MOST_NS_PER_KIB = 1 << 13,
    REFERENCE_TIMES = 16,
    WORTH_OPENING_NS = 20000000
};
#define LINK_SPEED UINT64_C(10000000000)
#define MOST_NS    (UINT64_C(1) << 36)
#define MOST_BYTES (UINT64_C(1) << 32)

/* ---- keys and times -------------------------------------------------------------------------- */

uint64_t tfr__neutral_ns(const tfr__work *work)
{
    uint64_t most = work->flops > work->bytes ? work->flops : work->bytes;
    return most / 10 + 1;
}

static tfr__tuning_key full_key(tfr__tuning_key backend, tfr__tuning_key call)
{
    tfr__tuning_add(&backend, &call, sizeof call);
    return backend;
}

/* 0 = never. */
static uint64_t measured_ns(const tfr__build *b, tfr__tuning_key key)
{
    uint64_t ns = 0;
    if (b->env->call_flags & TFR_CALL_DETERMINISTIC) /* what was measured differs by process */
        return 0;
    if (tfr__tuning_get(&b->streams->runtime->tuning, key, &ns, sizeof ns) != sizeof ns)
        return 0;
    return ns < MOST_NS ? ns : MOST_NS;
}

/* ---- the problem ----------------------------------------------------------------------------- */

typedef struct pricing {
    tfr__build *b;
    tfr__labeling l;
    tfr__backend *backends[TFR__LABELS]; /* by label */
    tfr__device *devices[TFR__LABELS];
    tfr__tuning_key keys[TFR__LABELS];
    int64_t *prices;
    tfr__labeling_edge *edges;
    uint8_t *labels, *first; /* by node: now, and as place.c chose */
    int64_t fixed_host[TFR__LABELS], per_kib_host[TFR__LABELS]; /* a copy from or to the host */
    bool linked; /* two devices that do not exchange through the host */
    bool opens;  /* the reference has so much to do that other devices are worth opening */
} pricing;

static bool is_launched(const tfr__build *b, uint32_t i)
{
    return b->nodes[i].choice.backend != NULL;
}

static uint32_t label_of(const pricing *p, const tfr__backend *backend)
{
    uint32_t k = 0;
    while (k < p->l.n_labels && p->backends[k] != backend)
        k++;
    return k;
}

/* The chosen backends come first: all of them must have a label. */
static bool find_labels(pricing *p)
{
    tfr_runtime *rt = p->b->streams->runtime;
    for (uint32_t i = 0; i < p->l.n_nodes; i++) {
        const tfr__choice *c = &p->b->nodes[i].choice;
        if (!c->backend || label_of(p, c->backend) < p->l.n_labels)
            continue;
        if (p->l.n_labels == TFR__LABELS)
            return false;
        p->backends[p->l.n_labels] = c->backend;
        p->devices[p->l.n_labels++] = c->device;
    }
    for (uint32_t d = 0; d < rt->n_devices; d++) {
        for (uint32_t k = 0; k < rt->devices[d].n_backends; k++) {
            tfr__backend *backend = &rt->devices[d].backends[k];
            if (p->l.n_labels == TFR__LABELS || label_of(p, backend) < p->l.n_labels)
                continue;
            p->backends[p->l.n_labels] = backend;
            p->devices[p->l.n_labels++] = &rt->devices[d];
        }
    }
    for (uint32_t k = 0; k < p->l.n_labels; k++)
        p->keys[k] = tfr__backend_key(rt, p->backends[k]);
    return true;
}

/* What a copy over a link costs; what is not known is guessed. */
static void link_price(const tfr_link *link, int64_t *fixed, int64_t *per_kib)
{
    const uint64_t ns = link->latency_ns ? link->latency_ns : LINK_NS;
    const uint64_t speed = link->bytes_per_second ? link->bytes_per_second : LINK_SPEED;
    *fixed = (int64_t)(ns < MOST_NS / 4 ? ns : MOST_NS / 4);
    *per_kib = (int64_t)(UINT64_C(1024000000000) / speed) + 1;
    if (*per_kib > MOST_NS_PER_KIB)
        *per_kib = MOST_NS_PER_KIB;
}

/* The way into label c's memory from a's: straight where there is one, else through the host. */
static void find_way(pricing *p, uint32_t a, uint32_t c)
{
    int64_t fixed = p->fixed_host[a] + p->fixed_host[c];
    int64_t per_kib = p->per_kib_host[a] + p->per_kib_host[c];
    tfr_link link;
    if (!p->devices[a]->is_host && !p->devices[c]->is_host &&
        tfr__backend_shares(p->backends[c], p->backends[a])) {
        fixed = LINK_NS; /* the host waits */
        per_kib = 0;
        p->linked = true;
    } else if (!p->devices[a]->is_host && !p->devices[c]->is_host &&
               tfr__backend_reaches(p->backends[c], p->backends[a], &link)) {
        link_price(&link, &fixed, &per_kib);
        p->linked = true;
    }
    p->l.fixed[a][c] = fixed + SWITCH_NS;
    p->l.per_kib[a][c] = per_kib + SWITCH_NS_PER_KIB;
}

/* Prices must be a metric, as those through the host are: no detour may be cheaper. */
static void shorten(int64_t price[TFR__LABELS][TFR__LABELS], uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t c = 0; c < n; c++)
                if (price[a][k] + price[k][c] < price[a][c])
                    price[a][c] = price[a][k] + price[k][c];
}

static void find_ways(pricing *p)
{
    for (uint32_t k = 0; k < p->l.n_labels; k++) {
        tfr_link link;
        if (p->devices[k]->is_host)
            continue; /* nothing for the host's own */
        tfr__backend_link(p->backends[k], NULL, &link);
        link_price(&link, &p->fixed_host[k], &p->per_kib_host[k]);
    }
    for (uint32_t a = 0; a < p->l.n_labels; a++)
        for (uint32_t c = 0; c < p->l.n_labels; c++)
            if (a != c)
                find_way(p, a, c);
    if (!p->linked)
        return;
    shorten(p->l.fixed, p->l.n_labels);
    shorten(p->l.per_kib, p->l.n_labels);
}

static uint64_t bytes_of(const tfr__build *b, tfr_value v)
{
    tfr_operand o = {.size = sizeof o};
    uint64_t bytes;
    tfr__operand_set(&o, &b->types[v], NULL, NULL);
    bytes = (uint64_t)tfr_operand_elements(&o) * tfr__dtype_bits((tfr_dtype)o.dtype) / 8;
    return bytes < MOST_BYTES ? bytes : MOST_BYTES;
}

/* The launched node whose bytes v has, through views; -1: it comes from outside or is known. */
static int64_t maker_of(const tfr__build *b, tfr_value v)
{
    for (;;) {
        int64_t m = tfr__build_maker(b, v);
        if (m < 0 || is_launched(b, (uint32_t)m))
            return m;
        if (tfr__build_node_at(b, (uint32_t)m)->op->kind != TFR__OP_VIEW)
            return -1;
        v = tfr__build_node_at(b, (uint32_t)m)->inputs[0];
    }
}

static void add_copy(pricing *p, uint32_t i, uint64_t bytes)
{
    for (uint32_t k = 0; k < p->l.n_labels; k++)
        p->prices[i * p->l.n_labels + k] +=
            p->fixed_host[k] + (int64_t)(bytes >> 10) * p->per_kib_host[k];
}

/* What node i takes and gives: edges between launches, prices for the host's side. */
static void find_edges(pricing *p, uint32_t i)
{
    const tfr__build *b = p->b;
    const tfr__node *node = tfr__build_node_at(b, i);
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        tfr_value v = node->inputs[k];
        uint32_t before = 0;
        int64_t maker;
        while (node->inputs[before] != v)
            before++;
        if (v == TFR_VALUE_NONE || b->known[v] || before < k)
            continue;
        maker = maker_of(b, v);
        if (maker >= 0)
            p->edges[p->l.n_edges++] = (tfr__labeling_edge){(uint32_t)maker, i, bytes_of(b, v)};
        else if (tfr__build_live_in(b, v) && tfr__build_variable(b, v) < 0)
            add_copy(p, i, bytes_of(b, v));
    }
    for (uint32_t k = 0; k < node->n_outputs; k++)
        if (node->outputs[k] != TFR_VALUE_NONE && tfr__build_leaves(b, node->outputs[k]))
            add_copy(p, i, bytes_of(b, node->outputs[k]));
}

/* Is the node on the reference by lack of better, and the label another device? */
static bool beats_reference(const pricing *p, uint32_t i, uint32_t label)
{
    const tfr__choice *c = &p->b->nodes[i].choice;
    return !c->backend->priority && c->device->is_host && !p->devices[label]->is_host;
}

/* May the node run elsewhere, and for how long? 0 = no, or nobody knows. */
static tfr_status ask_elsewhere(pricing *p, uint32_t i, uint32_t label, tfr_answer *answer,
                                uint64_t *ns, bool *measured, tfr_err *err)
{
    tfr__build_node *state = &p->b->nodes[i];
    const tfr__node *node = tfr__build_node_at(p->b, i);
    const bool beats = beats_reference(p, i, label);
    tfr__backend *backend = p->backends[label];
    tfr__call call;
    tfr_status status;
    *ns = measured_ns(p->b, full_key(p->keys[label], state->key));
    *measured = *ns > 0;
    if (*measured && !beats && !state->measured && !state->choice.answer.time_ns) {
        *ns = 0; /* a guess is no match: the first choice is measured before it is left */
        return TFR_OK;
    }
    /* No plugin is loaded to hear what nobody has measured. */
    if (!*ns && !atomic_load(&backend->is_open) && !(beats && p->opens))
        return TFR_OK;
    status = tfr__build_call(p->b, i, !p->devices[label]->is_host, &call, err);
    if (status)
        return status;
    status =
        tfr__ask(p->b->streams->runtime, backend, tfr__op_number(node->op), &call, answer, err);
    tfr__call_finish(&call);
    if (status || answer->verdict != TFR_VERDICT_YES ||
        (!p->devices[label]->is_host && state->plain != UINT64_MAX &&
         tfr__build_any_strided(p->b, i)))
        *ns = 0;
    else if (!*ns)
        *ns = answer->time_ns ? answer->time_ns : beats ? tfr__neutral_ns(&state->work) : 0;
    if (*ns > MOST_NS)
        *ns = MOST_NS;
    return status;
}

/* The user's order of a device's backends is not for prices to change. */
static bool is_ordered(const pricing *p, uint32_t from, uint32_t to)
{
    return p->devices[from] == p->devices[to] &&
           (p->backends[from]->priority_set || p->backends[to]->priority_set);
}

/* *n_free counts nodes that have a choice. */
static tfr_status find_prices(pricing *p, uint32_t i, uint32_t *n_free, tfr_err *err)
{
    tfr__build *b = p->b;
    const tfr__build_node *state = &b->nodes[i];
    const bool stays = b->section->pins[b->first + i].device >= 0 ||
                       (state->choice.answer.flags & TFR_ANSWER_RANDOM) != 0;
    const uint8_t now = p->labels[i];
    int64_t *prices = &p->prices[(size_t)i * p->l.n_labels];
    bool has_choice = false;
    for (uint32_t k = 0; k < p->l.n_labels; k++) {
        tfr_answer answer;
        uint64_t ns = 0;
        bool measured;
        tfr_status status = k == now || stays || is_ordered(p, now, k)
                                ? TFR_OK
                                : ask_elsewhere(p, i, k, &answer, &ns, &measured, err);
        if (status)
            return status;
        prices[k] = ns ? (int64_t)ns : TFR__IMPOSSIBLE;
        has_choice = has_choice || ns;
    }
    prices[now] = (int64_t)state->time_ns;
    *n_free += has_choice;
    return TFR_OK;
}

/* ---- the result ------------------------------------------------------------------------------ */

static tfr_status move(pricing *p, uint32_t i, tfr_err *err)
{
    tfr__build_node *state = &p->b->nodes[i];
    uint32_t label = p->labels[i];
    tfr_answer answer;
    char text[300];
    uint64_t ns;
    bool measured;
    tfr_status status = ask_elsewhere(p, i, label, &answer, &ns, &measured, err);
    if (status || !ns)
        return status;
    snprintf(text, sizeof text,
             "moved from %s by price, copies included: %llu ns there (%s), %llu ns here (%s)",
             state->choice.backend->name, (unsigned long long)state->time_ns,
             state->measured ? "measured" : "estimate", (unsigned long long)ns,
             measured ? "measured" : "estimate");
    tfr__free(state->choice.text);
    state->choice.text = tfr__strdup(text);
    state->choice.backend = p->backends[label];
    state->choice.device = p->devices[label];
    state->choice.answer = answer;
    state->priced = full_key(p->keys[label], state->key);
    state->time_ns = ns;
    state->measured = measured;
    if (!state->choice.device->is_host)
        state->plain = UINT64_MAX;
    return TFR_OK;
}

static tfr_status pricing_solve(pricing *p, tfr_err *err)
{
    tfr_status status = TFR_OK;
    uint32_t n_free = 0;
    for (uint32_t i = 0; !status && i < p->l.n_nodes; i++)
        if (is_launched(p->b, i))
            status = find_prices(p, i, &n_free, err);
    if (status || !n_free)
        return status;
    find_ways(p);
    for (uint32_t i = 0; i < p->l.n_nodes; i++)
        if (is_launched(p->b, i))
            find_edges(p, i);
    if (!tfr__labeling_solve(&p->l) ||
        tfr__labeling_price(&p->l, p->labels) >= tfr__labeling_price(&p->l, p->first) / 20 * 19)
        return TFR_OK;
    for (uint32_t i = 0; !status && i < p->l.n_nodes; i++)
        if (p->labels[i] != p->first[i] && is_launched(p->b, i))
            status = move(p, i, err);
    return status;
}

/* How many prices can add up. */
static size_t count_terms(const tfr__build *b)
{
    size_t n = 0;
    for (uint32_t i = 0; i < b->end - b->first; i++)
        n += 1 + (size_t)tfr__build_node_at(b, i)->n_inputs + tfr__build_node_at(b, i)->n_outputs;
    return n;
}

static tfr_status pricing_init(pricing *p, tfr_err *err)
{
    const size_t n = p->l.n_nodes;
    p->prices = tfr__calloc(n * p->l.n_labels + 1, sizeof *p->prices);
    p->edges = tfr__calloc(count_terms(p->b), sizeof *p->edges);
    p->labels = tfr__calloc(2 * n + 1, sizeof *p->labels);
    if (!p->prices || !p->edges || !p->labels)
        return tfr__no_memory(err);
    p->first = p->labels + n;
    p->l.prices = p->prices;
    p->l.edges = p->edges;
    p->l.labels = p->labels;
    for (uint32_t i = 0; i < n; i++)
        if (is_launched(p->b, i))
            p->labels[i] = p->first[i] = (uint8_t)label_of(p, p->b->nodes[i].choice.backend);
    return TFR_OK;
}

/* What a node costs on the chosen backend, whose key is given. */
static void set_time(const tfr__build *b, tfr__build_node *state, tfr__tuning_key backend)
{
    state->priced = full_key(backend, state->key);
    state->time_ns = measured_ns(b, state->priced);
    state->measured = state->time_ns > 0;
    if (!state->time_ns)
        state->time_ns = state->choice.answer.time_ns;
    if (!state->time_ns)
        state->time_ns =
            tfr__neutral_ns(&state->work) * (state->choice.backend->priority ? 1 : REFERENCE_TIMES);
    if (state->time_ns > MOST_NS)
        state->time_ns = MOST_NS;
}

void tfr__build_time(tfr__build *b, uint32_t i)
{
    tfr__build_node *state = &b->nodes[i];
    set_time(b, state, tfr__backend_key(b->streams->runtime, state->choice.backend));
}

tfr_status tfr__build_cheapest(tfr__build *b, tfr_err *err)
{
    pricing p = {.b = b, .l.n_nodes = b->end - b->first};
    uint64_t reference_ns = 0;
    tfr_status status;
    if (!find_labels(&p))
        return TFR_OK;
    for (uint32_t i = 0; i < p.l.n_nodes; i++) {
        tfr__build_node *state = &b->nodes[i];
        if (!is_launched(b, i))
            continue;
        set_time(b, state, p.keys[label_of(&p, state->choice.backend)]);
        reference_ns += state->choice.backend->priority ? 0 : state->time_ns;
    }
    p.opens = reference_ns >= WORTH_OPENING_NS;
    if (b->env->kernel.preferred.device >= 0 || b->env->no_fallback || p.l.n_labels < 2 ||
        count_terms(b) > MOST_TERMS)
        return TFR_OK;
    status = pricing_init(&p, err);
    if (!status)
        status = pricing_solve(&p, err);
    tfr__free(p.prices);
    tfr__free(p.edges);
    tfr__free(p.labels);
    return status;
}
