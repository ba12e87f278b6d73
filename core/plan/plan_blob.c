/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_blob.c: what a compiler need not find out again. Its blob is kept in the file of tuning.h,
 * or in the folder of store.h if it is long, under a key of all that an equal group on an equal
 * machine has in common: backend and processor, the calls, how they are connected, and what goes in
 * and out.
 */
#include <string.h>

#include "base/alloc.h"
#include "device/store.h"
#include "plan/plan_build.h"

static void add_node(tfr__tuning_key *key, const tfr_program_node *node)
{
    const tfr_call *call = node->call;
    tfr__key_add_op(key, call); /* operands follow, each value once */
    tfr__tuning_add(key, node->inputs, call->n_inputs * sizeof *node->inputs);
    tfr__tuning_add(key, node->outputs, call->n_outputs * sizeof *node->outputs);
}

static tfr__tuning_key blob_key(const tfr_runtime *runtime, const tfr__backend *backend,
                                const tfr_program_graph *g)
{
    tfr__tuning_key key = tfr__backend_key(runtime, backend);
    tfr__tuning_add_text(&key, TFR_PROGRAM_V1);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        add_node(&key, &g->nodes[i]);
    for (uint32_t v = 0; v < g->n_values; v++) {
        tfr__key_add_operand(&key, g->values[v].operand);
        tfr__tuning_add(&key, &g->values[v].flags, sizeof g->values[v].flags);
        tfr__tuning_add(&key, &g->values[v].layout, sizeof g->values[v].layout);
        tfr__tuning_add(&key, &g->values[v].variable, sizeof g->values[v].variable);
    }
    return key;
}

void tfr__blob_get(tfr_runtime *runtime, const tfr__backend *backend, const tfr_program_graph *g,
                   tfr__blob *blob)
{
    size_t n = 0;
    memset(blob, 0, sizeof *blob);
    if (!backend->program.save || !runtime->tuning.path)
        return;
    blob->data = tfr__alloc(TFR__TUNING_VALUE_BYTES);
    if (!blob->data)
        return;
    blob->key = blob_key(runtime, backend, g);
    blob->bytes = tfr__tuning_get(&runtime->tuning, blob->key, blob->data, TFR__TUNING_VALUE_BYTES);
    if (!blob->bytes && backend->plugin) {
        char *found = tfr__store_get(backend->plugin, &blob->key, sizeof blob->key, &n);
        if (found) {
            tfr__free(blob->data);
            blob->data = found;
            blob->bytes = (uint32_t)n;
        }
    }
}

static void blob_keep(tfr_runtime *runtime, const tfr__backend *backend, const tfr__blob *blob,
                      const void *fresh, size_t n)
{
    tfr_err why = TFR_ERR_INIT;
    if (n == blob->bytes && memcmp(fresh, blob->data, n) == 0)
        return;
    if (n <= TFR__TUNING_VALUE_BYTES)
        tfr__tuning_put(&runtime->tuning, blob->key, fresh, (uint32_t)n);
    else if (backend->plugin &&
             tfr__store_put(backend->plugin, &blob->key, sizeof blob->key, fresh, n, &why))
        tfr__log(runtime, TFR_LOG_DEBUG, "tuning", "%s keeps nothing of a program: %s",
                 backend->name, why.text);
}

void tfr__blob_put(tfr_runtime *runtime, tfr__backend *backend, tfr_program *program,
                   tfr__blob *blob)
{
    const bool is_any = backend->program.flags & TFR_PROGRAM_COMPILE_ANY;
    uint64_t n = TFR__TUNING_VALUE_BYTES, room = 0;
    int32_t status = TFR_EUNSUPPORTED;
    char *fresh = NULL;
    while (program && blob->data && n > room && n <= TFR__STORE_ENTRY_BYTES) {
        tfr__free(fresh);
        room = n;
        fresh = tfr__alloc((size_t)n);
        if (!fresh)
            break;
        tfr__lock_unless(backend, is_any);
        TFR__SLOT(backend, "save", NULL, NULL,
                  status = backend->program.save(backend->device, program, fresh, &n, NULL));
        tfr__unlock_unless(backend, is_any);
        if (status)
            break;
    }
    if (fresh && !status && n && n <= room)
        blob_keep(runtime, backend, blob, fresh, (size_t)n);
    tfr__free(fresh);
    tfr__free(blob->data);
    blob->data = NULL;
}
