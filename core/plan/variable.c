/* SPDX-License-Identifier: Apache-2.0 */
/* variable.c: moves the states of variables between the host and their homes; see variable.h. */
#include "plan/variable.h"

#include <string.h>
#include <tfrun/fail.h>

#include "base/alloc.h"

/* Where the elements of a tensor without elements would be: whoever reads them faults at once. */
#define NOWHERE ((void *)(uintptr_t)64)

static bool is_host_tensor(const tfr__home *home)
{
    return home->memory == TFR__MEMORY_HOST && home->layout == TFR_LAYOUT_PLAIN;
}

static const char *name_of(const tfr__variables *vars, uint32_t i)
{
    return vars->graph->values[vars->graph->variables[i]].name;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Variables that somebody reads as tensors: control flow, captures, the graph's caller, others. */
static void find_host_only(tfr__variables *vars)
{
    const tfr_graph *g = vars->graph;
#define READ_AS_TENSOR(v)                                                                          \
    do {                                                                                           \
        if ((v) != TFR_VALUE_NONE && vars->number[v] >= 0)                                         \
            vars->items[vars->number[v]].host_only = true;                                         \
    } while (0)
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const tfr__node *node = &g->nodes[i];
        const bool whole = node->op->kind == TFR__OP_CONTROL || node->op->kind == TFR__OP_SEQUENCE;
        for (uint32_t k = 0; whole && k < node->n_inputs; k++)
            READ_AS_TENSOR(node->inputs[k]);
        for (uint32_t k = 0; k < node->n_captures; k++)
            READ_AS_TENSOR(node->captures[k]);
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        READ_AS_TENSOR(g->outputs[i]);
    for (uint32_t i = 0; i < vars->n; i++) {
        READ_AS_TENSOR(g->values[g->variables[i]].update);
        if (vars->items[i].plain->dtype == TFR_DTYPE_STRING)
            vars->items[i].host_only = true;
    }
#undef READ_AS_TENSOR
}

tfr_status tfr__variables_init(tfr__variables *vars, tfr__streams *streams, const tfr_graph *graph,
                               tfr_err *err)
{
    const size_t n_values = (size_t)graph->n_values + 1;
    *vars = (tfr__variables){.streams = streams, .graph = graph};
    vars->items = tfr__calloc((size_t)graph->n_variables + 1, sizeof *vars->items);
    vars->fresh = tfr__calloc((size_t)graph->n_variables + 1, sizeof *vars->fresh);
    vars->number = tfr__alloc(n_values * sizeof *vars->number);
    vars->update_of = tfr__alloc(n_values * sizeof *vars->update_of);
    if (!vars->items || !vars->fresh || !vars->number || !vars->update_of)
        return tfr__no_memory(err);
    memset(vars->number, 0xff, n_values * sizeof *vars->number);
    memset(vars->update_of, 0xff, n_values * sizeof *vars->update_of);
    for (uint32_t i = 0; i < graph->n_variables; i++) {
        const tfr_value v = graph->variables[i];
        const tfr_value update = graph->values[v].update;
        tfr_status status = tfr_tensor_copy(graph->values[v].tensor, &vars->items[i].plain, err);
        if (status)
            return status;
        vars->items[i].is_plain = true;
        vars->number[v] = (int32_t)i;
        if (update != TFR_VALUE_NONE && vars->update_of[update] >= 0) /* it has no one home */
            vars->items[i].host_only = vars->items[vars->update_of[update]].host_only = true;
        else if (update != TFR_VALUE_NONE)
            vars->update_of[update] = (int32_t)i;
        vars->n = i + 1;
    }
    find_host_only(vars);
    return TFR_OK;
}

static void leave_home(tfr__variables *vars, tfr__variable *v)
{
    tfr__stream_free(vars->streams, v->home.memory, v->now);
    tfr__stream_free(vars->streams, v->home.memory, v->beside);
    vars->n_left += v->now || v->beside;
    v->now = v->beside = NULL;
    v->is_home = false;
}

void tfr__variables_finish(tfr__variables *vars)
{
    for (uint32_t i = 0; i < vars->n; i++) {
        leave_home(vars, &vars->items[i]);
        if (vars->streams->n_stuck && vars->items[i].is_plain)
            continue; /* its work may use them */
        tfr_tensor_release(vars->items[i].plain);
        tfr_tensor_release(vars->items[i].spare);
    }
    tfr__free(vars->items);
    tfr__free(vars->fresh);
    tfr__free(vars->number);
    tfr__free(vars->update_of);
    memset(vars, 0, sizeof *vars);
}

/* ---- moving ---------------------------------------------------------------------------------- */

static tfr_status reorder(tfr__stream *stream, const tfr_tensor *like, uint64_t from,
                          const void *src, uint64_t to, void *dst, tfr_err *err)
{
    tfr__backend *b = stream->backend;
    const tfr_operand plain = {.size = sizeof plain,
                               .dtype = like->dtype,
                               .rank = like->shape.rank,
                               .dims = like->shape.dims};
    const tfr_arg at = {.address = (void *)(uintptr_t)src}, into = {.address = dst};
    tfr_status status;
    TFR__SLOT(
        b, "reorder", NULL, NULL,
        status = tfr__plugin_status(
            b->layout.reorder(b->device, stream->queue, &plain, from, &at, to, &into, err), err));
    return status;
}

/* Memory of the variable's home. */
static tfr_status alloc(const tfr__variables *vars, const tfr__variable *v, uint64_t bytes,
                        uint32_t use, void **out, tfr_err *err)
{
    const tfr_value value = vars->graph->variables[v - vars->items];
    return tfr__stream_alloc(vars->streams, v->home.memory, bytes, use, "variable",
                             vars->graph->values[value].name, out, err);
}

/* Between a tensor and its home, which is not the tensor itself; done on return. */
static tfr_status move(tfr__variables *vars, const tfr__variable *v, tfr_tensor *t, bool to_home,
                       tfr_err *err)
{
    tfr__stream *stream = &vars->streams->items[v->home.stream];
    const uint64_t layout = v->home.layout;
    const bool on_host = v->home.memory == TFR__MEMORY_HOST;
    void *between = on_host ? t->data : v->now; /* plain, where the backend can read it */
    tfr_status status = TFR_OK, synced;
    vars->n_moves++;
    if (!on_host && layout)
        status = alloc(vars, v, t->bytes, TFR_ALLOC_STAGING, &between, err);
    if (!status && layout && !to_home)
        status = reorder(stream, t, layout, v->now, TFR_LAYOUT_PLAIN, between, err);
    if (!status && !on_host)
        status =
            tfr__stream_copy(stream, to_home, (tfr_arg){.address = to_home ? between : t->data},
                             (tfr_arg){.address = to_home ? t->data : between}, t->bytes, err);
    if (!status && layout && to_home)
        status = reorder(stream, t, TFR_LAYOUT_PLAIN, between, layout, v->now, err);
    synced = tfr__stream_sync(stream, status ? NULL : err);
    if (!status)
        status = tfr__plugin_status(synced, err);
    if (status)
        tfr__streams_settle(vars->streams);
    if (!on_host && layout)
        tfr__stream_free(vars->streams, v->home.memory, between);
    return status;
}

static tfr_status check_there(const tfr__variables *vars, uint32_t i, tfr_err *err)
{
    const tfr__variable *v = &vars->items[i];
    if (v->is_plain || v->is_home)
        return TFR_OK;
    return tfr_fail(
        err, TFR_ELOST,
        "variable \"%s\" has no state: a run failed after it had begun to write the new "
        "one; set it, or go on from a checkpoint",
        name_of(vars, i));
}

static tfr_status named(const tfr__variables *vars, uint32_t i, tfr_status status, tfr_err *why,
                        tfr_err *err)
{
    return tfr_fail(err, status, "variable \"%s\": %.400s", name_of(vars, i), tfr__said(why));
}

tfr_status tfr__variable_get(tfr__variables *vars, uint32_t i, tfr_tensor **out, tfr_err *err)
{
    const tfr__variable *v = &vars->items[i];
    tfr_err own = TFR_ERR_INIT;
    tfr_status status = check_there(vars, i, err);
    if (status)
        return status;
    if (v->is_plain)
        return tfr_tensor_copy(v->plain, out, err);
    status = tfr_tensor_create((tfr_dtype)v->plain->dtype, &v->plain->shape, out, err);
    if (status)
        return status;
    status = move(vars, v, *out, false, &own);
    if (!status)
        return TFR_OK;
    tfr_tensor_release(*out);
    *out = NULL;
    return named(vars, i, status, &own, err);
}

static void put_plain(tfr__variable *v, tfr_tensor *t, bool is_state)
{
    tfr_tensor_release(v->plain);
    v->plain = t;
    v->is_plain = is_state;
}

/* The elements of plain are not the state any more and take no memory. */
static void forget_plain(tfr__variable *v)
{
    tfr_tensor *t;
    v->is_plain = false;
    if (!tfr_tensor_wrap((tfr_dtype)v->plain->dtype, &v->plain->shape, NULL, NOWHERE, NULL, NULL,
                         &t, NULL))
        put_plain(v, t, false);
}

void tfr__variable_set(tfr__variables *vars, uint32_t i, tfr_tensor *state)
{
    tfr__variable *v = &vars->items[i];
    put_plain(v, state, true);
    /* one that was never used has no home yet, and gets the one of who reads it */
    v->is_home = v->is_home && is_host_tensor(&v->home);
}

tfr_status tfr__variable_to_plain(tfr__variables *vars, uint32_t i, tfr_err *err)
{
    tfr_tensor *t;
    tfr_status status;
    if (vars->items[i].is_plain)
        return TFR_OK;
    status = tfr__variable_get(vars, i, &t, err);
    if (!status)
        put_plain(&vars->items[i], t, true);
    return status;
}

/* The same for the host's own tensors. */
static tfr_status to_host(tfr__variables *vars, uint32_t i, void **now, void **beside, tfr_err *err)
{
    tfr__variable *v = &vars->items[i];
    tfr_status status = tfr__variable_to_plain(vars, i, err);
    if (status)
        return status;
    if (!is_host_tensor(&v->home))
        leave_home(vars, v);
    v->home = (tfr__home){.memory = TFR__MEMORY_HOST};
    v->is_home = true;
    if (beside && !v->spare)
        status = tfr_tensor_create((tfr_dtype)v->plain->dtype, &v->plain->shape, &v->spare, err);
    *now = v->plain->data;
    if (beside && !status)
        *beside = v->spare->data;
    return status;
}

tfr_status tfr__variable_to_home(tfr__variables *vars, uint32_t i, const tfr__home *home,
                                 void **now, void **beside, tfr_err *err)
{
    tfr__variable *v = &vars->items[i];
    tfr_err own = TFR_ERR_INIT;
    tfr_status status = check_there(vars, i, err);
    if (status)
        return status;
    if (is_host_tensor(home))
        return to_host(vars, i, now, beside, err);
    if (v->home.memory != home->memory || v->home.layout != home->layout ||
        v->home.stream != home->stream || v->home.bytes != home->bytes) {
        status = tfr__variable_to_plain(vars, i, err);
        if (status)
            return status;
        leave_home(vars, v);
        v->home = *home;
    }
    if (!v->now)
        status = alloc(vars, v, home->bytes, TFR_ALLOC_CONSTANTS, &v->now, &own);
    if (!status && !v->is_home)
        status = move(vars, v, v->plain, true, &own);
    if (status)
        return named(vars, i, status, &own, err);
    v->is_home = true;
    if (v->is_plain && !v->host_only)
        forget_plain(v);
    if (beside && !v->beside)
        status = alloc(vars, v, home->bytes, TFR_ALLOC_CONSTANTS, &v->beside, &own);
    *now = v->now;
    if (beside)
        *beside = v->beside;
    return status ? named(vars, i, status, &own, err) : TFR_OK;
}

/* ---- the end of a run ------------------------------------------------------------------------ */

void tfr__variables_commit(tfr__variables *vars)
{
    for (uint32_t i = 0; i < vars->n; i++) {
        tfr__variable *v = &vars->items[i];
        const bool beside = v->written == TFR__WRITTEN_BESIDE;
        if (!v->written)
            continue;
        v->written = TFR__WRITTEN_NOT;
        if (is_host_tensor(&v->home)) {
            tfr_tensor *t = v->plain;
            v->plain = beside ? v->spare : t;
            v->spare = beside ? t : v->spare;
            continue;
        }
        if (beside) {
            void *now = v->now;
            v->now = v->beside;
            v->beside = now;
        }
        if (v->is_plain)
            forget_plain(v);
    }
}

void tfr__variables_abort(tfr__variables *vars)
{
    for (uint32_t i = 0; i < vars->n; i++) {
        tfr__variable *v = &vars->items[i];
        if (v->written == TFR__WRITTEN_OVER) {
            v->is_home = false;
            v->is_plain = v->is_plain && !is_host_tensor(&v->home);
        }
        v->written = TFR__WRITTEN_NOT;
    }
}
