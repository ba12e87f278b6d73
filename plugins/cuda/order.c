/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.c: see order.h. Between two launches the stream's next node would be behind all nodes that
 * none is behind yet, so that whatever else is put there is ordered, and so is the end of the
 * capture. When the driver's set is another one than was left, something else has been there.
 */
#include "order.h"

#include <stdlib.h>
#include <string.h>

enum {
    UNITS = 512, /* launches that are told apart; then all that follows is behind all before */
    WORDS = UNITS / 64,
    RANDOM_BYTES = 64 /* of a state, or more */
};

typedef struct span {
    uintptr_t begin, end;
    bool is_written;
} span;

/* A launch, or all that came before. */
typedef struct unit {
    tfr_cu_graph_node **nodes; /* its last ones, which others may be behind */
    size_t n_nodes;
    span *spans;
    uint32_t n_spans;
    bool touches_all, has_followers;
    uint64_t before[WORDS]; /* the units that it is behind */
} unit;

struct cuda_order {
    uint32_t n;
    bool is_launching; /* the next unit is between its two calls, or its launch has failed */
    unit next;
    /* what the driver's set is between launches */
    tfr_cu_graph_node **left;
    size_t n_left;
    unit units[UNITS];
};

/* ---- lists of nodes -------------------------------------------------------------------------- */

static bool copy_nodes(tfr_cu_graph_node *const *nodes, size_t n, tfr_cu_graph_node ***out)
{
    *out = malloc((n + 1) * sizeof(**out));
    if (*out)
        memcpy(*out, nodes, n * sizeof(**out));
    return *out != NULL;
}

static bool has_node(tfr_cu_graph_node *const *nodes, size_t n, const tfr_cu_graph_node *node)
{
    for (size_t i = 0; i < n; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

static bool same_nodes(tfr_cu_graph_node *const *a, size_t n_a, tfr_cu_graph_node *const *b,
                       size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++)
        if (a[i] != b[i] && !has_node(b, n_b, a[i]))
            return false;
    return true;
}

/* What the next node of the stream would be behind; the array is the driver's. */
static int32_t read_set(tfr_plugin_device *device, tfr_queue *queue,
                        tfr_cu_graph_node *const **nodes, size_t *n, tfr_err *err)
{
    const tfr_cu_edge *edges = NULL; /* asked for, as there may be some; whole nodes are awaited */
    unsigned state = TFR_CU_CAPTURE_STATUS_NONE;

    *nodes = NULL;
    *n = 0;
    return cuda_check(
        device,
        cuda_driver.cuStreamGetCaptureInfo_v3(queue->stream, &state, NULL, NULL, nodes, &edges, n),
        err, "capture on %s", device->facts.name);
}

static int32_t write_set(tfr_plugin_device *device, tfr_queue *queue, tfr_cu_graph_node **nodes,
                         size_t n, tfr_err *err)
{
    return cuda_check(device,
                      cuda_driver.cuStreamUpdateCaptureDependencies_v2(
                          queue->stream, nodes, NULL, n, TFR_CU_SET_CAPTURE_DEPENDENCIES),
                      err, "capture on %s", device->facts.name);
}

/* ---- units ----------------------------------------------------------------------------------- */

static void drop_units(cuda_order *order)
{
    for (uint32_t i = 0; i < order->n; i++) {
        free(order->units[i].nodes);
        free(order->units[i].spans);
    }
    order->n = 0;
}

static int32_t no_memory(tfr_err *err)
{
    return tfr_fail(err, TFR_ENOMEM, "no memory for the order of a capture");
}

/* All that was captured is one unit, which ends with these nodes. */
static int32_t begin_anew(cuda_order *order, tfr_cu_graph_node *const *nodes, size_t n,
                          tfr_err *err)
{
    unit *first = &order->units[0];

    drop_units(order);
    memset(first, 0, sizeof *first);
    first->touches_all = true;
    if (!copy_nodes(nodes, n, &first->nodes))
        return no_memory(err);
    first->n_nodes = n;
    order->n = 1;
    return TFR_OK;
}

static void add_span(unit *u, const void *address, uint64_t bytes, bool is_written)
{
    if (address && bytes)
        u->spans[u->n_spans++] =
            (span){(uintptr_t)address, (uintptr_t)address + (uintptr_t)bytes, is_written};
}

static bool find_spans(unit *u, const tfr_kernel *kernel, const tfr_launch *launch)
{
    const cuda_extents *e = kernel->extents;
    const uint32_t n = e ? e->n_read + e->n_written : 0;

    if (!e || (launch->workspace && !e->workspace_bytes)) {
        u->touches_all = true;
        return true;
    }
    u->spans = malloc((n + 2) * sizeof *u->spans);
    for (uint32_t i = 0; u->spans && i < n && i < launch->n_args; i++)
        add_span(u, launch->args[i].address, e->bytes[i], i >= e->n_read);
    if (u->spans) {
        add_span(u, launch->workspace, e->workspace_bytes, true);
        add_span(u, launch->random, RANDOM_BYTES, false);
    }
    return u->spans != NULL;
}

static bool do_meet(const unit *a, const unit *b)
{
    if (a->touches_all || b->touches_all)
        return true;
    for (uint32_t i = 0; i < a->n_spans; i++)
        for (uint32_t k = 0; k < b->n_spans; k++)
            if ((a->spans[i].is_written || b->spans[k].is_written) &&
                a->spans[i].begin < b->spans[k].end && b->spans[k].begin < a->spans[i].end)
                return true;
    return false;
}

/* ---- the set of a launch --------------------------------------------------------------------- */

/* The nodes of units whose bit is set; the caller frees them. */
static bool gather_nodes(const cuda_order *order, const uint64_t *chosen,
                         tfr_cu_graph_node ***nodes, size_t *n)
{
    size_t room = 1;

    for (uint32_t i = 0; i < order->n; i++)
        room += order->units[i].n_nodes;
    *nodes = malloc(room * sizeof(**nodes));
    *n = 0;
    for (uint32_t i = 0; *nodes && i < order->n; i++)
        for (size_t k = 0; chosen[i / 64] >> i % 64 & 1 && k < order->units[i].n_nodes; k++)
            (*nodes)[(*n)++] = order->units[i].nodes[k];
    return *nodes != NULL;
}

/* The newest units that the new one has to wait for: not those that one of them waits for. */
static void find_before(cuda_order *order, unit *u, uint64_t *chosen)
{
    for (uint32_t i = order->n; i-- > 0;) {
        unit *other = &order->units[i];
        if (u->before[i / 64] >> i % 64 & 1 || !do_meet(u, other))
            continue;
        chosen[i / 64] |= (uint64_t)1 << i % 64;
        u->before[i / 64] |= (uint64_t)1 << i % 64;
        for (int w = 0; w < WORDS; w++)
            u->before[w] |= other->before[w];
        other->has_followers = true;
    }
}

cuda_order *cuda_order_new(void)
{
    if (!cuda_driver.cuStreamGetCaptureInfo_v3 || !cuda_driver.cuStreamUpdateCaptureDependencies_v2)
        return NULL;
    return calloc(1, sizeof(cuda_order));
}

void cuda_order_drop(cuda_order *order)
{
    if (!order)
        return;
    drop_units(order);
    free(order->next.spans);
    free(order->left);
    free(order);
}

int32_t cuda_order_before(tfr_plugin_device *device, tfr_queue *queue, const tfr_kernel *kernel,
                          const tfr_launch *launch, tfr_err *err)
{
    cuda_order *order = queue->order;
    tfr_cu_graph_node *const *now, **nodes = NULL;
    uint64_t chosen[WORDS] = {0};
    size_t n = 0, n_now = 0;
    int32_t status;

    if (!order)
        return TFR_OK;
    if (order->is_launching)
        return tfr_fail(err, TFR_EUNSUPPORTED, "a launch of this capture has failed");
    status = read_set(device, queue, &now, &n_now, err);
    if (status == TFR_OK &&
        (!order->n || order->n == UNITS || !same_nodes(order->left, order->n_left, now, n_now)))
        status = begin_anew(order, now, n_now, err);
    if (status != TFR_OK)
        return status;
    order->is_launching = true;
    free(order->next.spans);
    memset(&order->next, 0, sizeof order->next);
    if (!find_spans(&order->next, kernel, launch))
        return no_memory(err);
    find_before(order, &order->next, chosen);
    if (!gather_nodes(order, chosen, &nodes, &n))
        status = no_memory(err);
    else if (!same_nodes(now, n_now, nodes, n))
        status = write_set(device, queue, nodes, n, err);
    free(nodes);
    return status;
}

/* The set between launches: what no unit is behind. */
static int32_t leave_set(tfr_plugin_device *device, tfr_queue *queue, cuda_order *order,
                         tfr_err *err)
{
    uint64_t last[WORDS] = {0};

    for (uint32_t i = 0; i < order->n; i++)
        if (!order->units[i].has_followers)
            last[i / 64] |= (uint64_t)1 << i % 64;
    free(order->left);
    order->left = NULL;
    if (!gather_nodes(order, last, &order->left, &order->n_left))
        return no_memory(err);
    return write_set(device, queue, order->left, order->n_left, err);
}

int32_t cuda_order_after(tfr_plugin_device *device, tfr_queue *queue, tfr_err *err)
{
    cuda_order *order = queue->order;
    tfr_cu_graph_node *const *now;
    int32_t status;
    size_t n;

    if (!order)
        return TFR_OK;
    status = read_set(device, queue, &now, &n, err);
    if (status != TFR_OK)
        return status;
    if (!copy_nodes(now, n, &order->next.nodes))
        return no_memory(err);
    order->next.n_nodes = n;
    order->units[order->n++] = order->next;
    order->next.spans = NULL;
    status = leave_set(device, queue, order, err);
    order->is_launching = status != TFR_OK;
    return status;
}

bool cuda_order_has_failed(const cuda_order *order)
{
    return order && order->is_launching;
}
