/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of the driver stand-in. A graph runs one node after the other, but in an order as far from
 * that of the capture as its dependencies allow, the node captured last first: a dependency that
 * is missing shows in the result.
 */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* ------------------------------------------------------------------------------------------
 * Operations own arguments and programs.
 */
static size_t argument_bytes(const tfr_cpu_kernel *row)
{
    size_t n = 0;
    for (unsigned i = 0; i < row->n_args; i++)
        n += (row->arg_bytes[i] + 15u) & ~(size_t)15;
    return n;
}

void fake_op_copy(fake_op *to, const fake_op *from)
{
    *to = *from;
    to->next = NULL;
    if (from->kind != OP_KERNEL || !from->u.kernel.bytes)
        return;
    size_t n = argument_bytes(from->u.kernel.row);
    to->u.kernel.bytes = malloc(n);
    if (to->u.kernel.bytes)
        memcpy(to->u.kernel.bytes, from->u.kernel.bytes, n);
}

void fake_op_finish(fake_op *op)
{
    if (op->kind == OP_KERNEL)
        free(op->u.kernel.bytes);
    else if (op->kind == OP_GRAPH)
        fake_program_release(op->u.program);
    else if (op->kind == OP_WAIT) {
        op->u.wait.stream->n_waiters--;
        fake_stream_release(op->u.wait.stream);
    } else if (op->kind == OP_RECORD) {
        op->u.record.event->n_records--;
        fake_event_release(op->u.record.event);
    }
}

/* ------------------------------------------------------------------------------------------
 * Graphs.
 */
tfr_cu_graph *fake_graph_create(void)
{
    tfr_cu_graph *graph = calloc(1, sizeof *graph);
    if (graph) {
        graph->next = fake.graphs;
        fake.graphs = graph;
    }
    return graph;
}

size_t fake_graph_add(tfr_cu_graph *graph, const fake_op *op, const fake_deps *deps)
{
    tfr_cu_graph_node *node = malloc(sizeof *node);
    if (graph->n == graph->room) {
        graph->room = 2 * graph->room + 16;
        graph->nodes = realloc(graph->nodes, graph->room * sizeof *graph->nodes);
    }
    node->op = *op;
    node->deps = *deps;
    graph->nodes[graph->n] = node;
    return graph->n++;
}

/* Nodes only depend on nodes before them. */
bool fake_graph_reaches(const tfr_cu_graph *graph, size_t node, size_t of)
{
    bool reaches = node == of;
    bool *from = node < of ? calloc(of + 1, sizeof *from) : NULL;
    if (!from)
        return reaches;
    from[node] = true;
    for (size_t i = node + 1; i <= of; i++)
        for (unsigned d = 0; d < graph->nodes[i]->deps.n; d++)
            from[i] = from[i] || from[graph->nodes[i]->deps.at[d]];
    reaches = from[of];
    free(from);
    return reaches;
}

void fake_graph_release(tfr_cu_graph *graph)
{
    for (size_t i = 0; i < graph->n; i++) {
        fake_op_finish(&graph->nodes[i]->op);
        free(graph->nodes[i]);
    }
    free(graph->nodes);
    for (tfr_cu_graph **at = &fake.graphs; *at; at = &(*at)->next)
        if (*at == graph) {
            *at = graph->next;
            break;
        }
    free(graph);
}

static tfr_cu_graph *find_graph(const tfr_cu_graph *handle)
{
    for (tfr_cu_graph *g = fake.graphs; g; g = g->next)
        if (g == handle && g->captured)
            return g;
    return NULL;
}

tfr_cu_result API(cuGraphCreate)(tfr_cu_graph **out, unsigned flags)
{
    BEGIN(cuGraphCreate, NEEDS_INIT);
    if (!out || flags)
        END(TFR_CU_INVALID_VALUE);
    *out = fake_graph_create();
    if (!*out)
        END(TFR_CU_OUT_OF_MEMORY);
    (*out)->captured = true;
    END(TFR_CU_SUCCESS);
}

bool fake_graph_find(const tfr_cu_graph *graph, tfr_cu_graph_node *const *nodes, size_t n,
                     fake_deps *out)
{
    out->n = 0;
    for (size_t i = 0; i < n && out->n < MAX_DEPS; i++)
        for (size_t k = 0; k < graph->n; k++)
            if (graph->nodes[k] == nodes[i])
                out->at[out->n++] = k;
    return out->n == n;
}

/* Copies of the child's nodes; the one behind all of them stands for the child. */
static tfr_cu_graph_node *add_child(tfr_cu_graph *graph, const fake_deps *deps,
                                    const tfr_cu_graph *child)
{
    const fake_op nothing = {.kind = OP_NOTHING};
    const size_t first = fake_graph_add(graph, &nothing, deps) + 1;
    fake_deps all = {{0}, 0};
    fake_op op;
    for (size_t i = 0; i < child->n; i++) {
        fake_deps own = child->nodes[i]->deps;
        bool is_last = true;
        for (unsigned d = 0; d < own.n; d++)
            own.at[d] += first;
        if (!own.n)
            own = (fake_deps){{first - 1}, 1};
        for (size_t k = i + 1; k < child->n && is_last; k++)
            for (unsigned d = 0; d < child->nodes[k]->deps.n; d++)
                is_last = is_last && child->nodes[k]->deps.at[d] != i;
        if (is_last && all.n == MAX_DEPS)
            return NULL;
        if (is_last)
            all.at[all.n++] = first + i;
        fake_op_copy(&op, &child->nodes[i]->op);
        fake_graph_add(graph, &op, &own);
    }
    if (!all.n)
        all = (fake_deps){{first - 1}, 1};
    return graph->nodes[fake_graph_add(graph, &nothing, &all)];
}

tfr_cu_result API(cuGraphAddChildGraphNode)(tfr_cu_graph_node **out, tfr_cu_graph *handle,
                                            tfr_cu_graph_node *const *dependencies, size_t n,
                                            tfr_cu_graph *child_handle)
{
    BEGIN(cuGraphAddChildGraphNode, NEEDS_INIT);
    tfr_cu_graph *graph = find_graph(handle);
    const tfr_cu_graph *child = find_graph(child_handle);
    fake_deps deps;
    if (!out || !graph || !child || child == graph || (n && !dependencies) ||
        !fake_graph_find(graph, dependencies, n, &deps))
        END(TFR_CU_INVALID_VALUE);
    *out = add_child(graph, &deps, child);
    END(*out ? TFR_CU_SUCCESS : TFR_CU_UNKNOWN);
}

tfr_cu_result API(cuGraphDestroy)(tfr_cu_graph *handle)
{
    BEGIN(cuGraphDestroy, NEEDS_INIT);
    tfr_cu_graph *graph = find_graph(handle);
    if (!graph)
        END(TFR_CU_INVALID_VALUE);
    fake_graph_release(graph);
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuGraphGetNodes)(tfr_cu_graph *handle, tfr_cu_graph_node **nodes, size_t *n)
{
    BEGIN(cuGraphGetNodes, NEEDS_INIT);
    const tfr_cu_graph *graph = find_graph(handle);
    if (!graph || !n)
        END(TFR_CU_INVALID_VALUE);
    if (!nodes) {
        *n = graph->n;
        END(TFR_CU_SUCCESS);
    }
    for (size_t i = 0; i < *n; i++)
        nodes[i] = i < graph->n ? graph->nodes[i] : NULL;
    if (*n > graph->n)
        *n = graph->n;
    END(TFR_CU_SUCCESS);
}

/* ------------------------------------------------------------------------------------------
 * Programs.
 */
void fake_program_release(fake_program *program)
{
    if (--program->n_refs > 0)
        return;
    for (size_t i = 0; i < program->n; i++)
        fake_op_finish(&program->nodes[i].op);
    free(program->nodes);
    free(program->order);
    free(program);
}

static bool is_ready(const fake_program *program, const bool *done, size_t i)
{
    const fake_deps *deps = &program->nodes[i].deps;
    for (unsigned d = 0; d < deps->n; d++)
        if (!done[deps->at[d]])
            return false;
    return !done[i];
}

static void choose_order(fake_program *program, bool *done)
{
    for (size_t n = 0; n < program->n; n++) {
        size_t i = program->n;
        while (i-- > 0 && !is_ready(program, done, i))
            continue;
        done[i] = true;
        program->order[n] = i;
    }
}

static fake_program *program_create(const tfr_cu_graph *graph)
{
    size_t room = graph->n ? graph->n : 1;
    fake_program *program = calloc(1, sizeof *program);
    bool *done = calloc(room, sizeof *done);
    program->nodes = calloc(room, sizeof *program->nodes);
    program->order = calloc(room, sizeof *program->order);
    program->n = graph->n;
    program->n_refs = 1;
    for (size_t i = 0; i < graph->n; i++) {
        program->nodes[i].deps = graph->nodes[i]->deps;
        fake_op_copy(&program->nodes[i].op, &graph->nodes[i]->op);
    }
    choose_order(program, done);
    free(done);
    return program;
}

static tfr_cu_graph_exec *find_exec(const tfr_cu_graph_exec *handle)
{
    for (tfr_cu_graph_exec *e = fake.execs; e; e = e->next)
        if (e == handle)
            return e;
    return NULL;
}

tfr_cu_result API(cuGraphInstantiateWithFlags)(tfr_cu_graph_exec **out, tfr_cu_graph *handle,
                                               unsigned long long flags)
{
    BEGIN(cuGraphInstantiateWithFlags, NEEDS_CONTEXT);
    const tfr_cu_graph *graph = find_graph(handle);
    if (!graph || !out ||
        flags & ~(unsigned long long)(TFR_CU_GRAPH_AUTO_FREE_ON_LAUNCH |
                                      TFR_CU_GRAPH_USE_NODE_PRIORITY))
        END(TFR_CU_INVALID_VALUE);
    tfr_cu_graph_exec *exec = calloc(1, sizeof *exec);
    if (!exec)
        END(TFR_CU_OUT_OF_MEMORY);
    *exec = (tfr_cu_graph_exec){.next = fake.execs, .program = program_create(graph)};
    fake.execs = exec;
    *out = exec;
    fake_note("%zu nodes", graph->n);
    END(TFR_CU_SUCCESS);
}

/* Which difference is in the way of an update, or 0. */
static unsigned compare(const fake_program *program, const tfr_cu_graph *graph, size_t *at)
{
    if (program->n != graph->n)
        return TFR_CU_GRAPH_UPDATE_TOPOLOGY_CHANGED;
    for (*at = 0; *at < graph->n; ++*at) {
        const tfr_cu_graph_node *ours = &program->nodes[*at];
        const tfr_cu_graph_node *theirs = graph->nodes[*at];
        if (ours->op.kind != theirs->op.kind)
            return TFR_CU_GRAPH_UPDATE_NODE_TYPE_CHANGED;
        if (ours->deps.n != theirs->deps.n ||
            memcmp(ours->deps.at, theirs->deps.at, ours->deps.n * sizeof ours->deps.at[0]))
            return TFR_CU_GRAPH_UPDATE_TOPOLOGY_CHANGED;
    }
    return TFR_CU_GRAPH_UPDATE_SUCCESS;
}

tfr_cu_result API(cuGraphExecUpdate_v2)(tfr_cu_graph_exec *handle, tfr_cu_graph *graph_handle,
                                        tfr_cu_update_info *info)
{
    BEGIN(cuGraphExecUpdate_v2, NEEDS_CONTEXT);
    tfr_cu_graph_exec *exec = find_exec(handle);
    tfr_cu_graph *graph = find_graph(graph_handle);
    if (!exec || !graph || !info)
        END(TFR_CU_INVALID_VALUE);
    size_t at = 0;
    *info = (tfr_cu_update_info){.result = compare(exec->program, graph, &at)};
    if (info->result) {
        info->error_node = at < graph->n ? graph->nodes[at] : NULL;
        END(TFR_CU_GRAPH_EXEC_UPDATE_FAILURE);
    }
    fake_program_release(exec->program);
    exec->program = program_create(graph);
    END(TFR_CU_SUCCESS);
}

static tfr_cu_result submit_graph(tfr_cu_graph_exec *handle, tfr_cu_stream *stream, bool launch)
{
    tfr_cu_graph_exec *exec = find_exec(handle);
    tfr_cu_stream *s = fake_stream(stream);
    if (!exec || !s)
        return exec ? TFR_CU_INVALID_HANDLE : TFR_CU_INVALID_VALUE;
    if (s->capture)
        return fake_capture_break(s->capture, TFR_CU_CAPTURE_UNSUPPORTED);
    fake_note("%zu nodes stream %d", exec->program->n, s->id);
    if (!launch)
        return fake_submit(s, &(fake_op){.kind = OP_NOTHING});
    exec->program->n_refs++;
    return fake_submit(s, &(fake_op){.kind = OP_GRAPH, .u.program = exec->program});
}

tfr_cu_result API(cuGraphUpload)(tfr_cu_graph_exec *exec, tfr_cu_stream *stream)
{
    BEGIN(cuGraphUpload, NEEDS_CONTEXT);
    END(submit_graph(exec, stream, false));
}

tfr_cu_result API(cuGraphLaunch)(tfr_cu_graph_exec *exec, tfr_cu_stream *stream)
{
    BEGIN(cuGraphLaunch, NEEDS_CONTEXT);
    END(submit_graph(exec, stream, true));
}

void fake_exec_release(tfr_cu_graph_exec *exec)
{
    for (tfr_cu_graph_exec **at = &fake.execs; *at; at = &(*at)->next)
        if (*at == exec) {
            *at = exec->next;
            break;
        }
    fake_program_release(exec->program);
    free(exec);
}

tfr_cu_result API(cuGraphExecDestroy)(tfr_cu_graph_exec *handle)
{
    BEGIN(cuGraphExecDestroy, NEEDS_INIT);
    tfr_cu_graph_exec *exec = find_exec(handle);
    if (!exec)
        END(TFR_CU_INVALID_VALUE);
    fake_exec_release(exec);
    END(TFR_CU_SUCCESS);
}
