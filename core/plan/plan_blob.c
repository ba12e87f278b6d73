/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_blob.c: what a compiler need not find out again. Its blob is kept in the store of tuning.h
 * under a key of all that an equal group on an equal machine has in common: backend and processor,
 * the calls, how they are connected, and what goes in and out.
 */
#include <string.h>

#include "base/alloc.h"
#include "plan/plan_build.h"

static void add_node(tfr__tuning_key *key, const tfr_program_node *node)
{
    const tfr_call *call = node->call;
    tfr__key_add_call(key, call);
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
    }
    return key;
}

void tfr__blob_get(tfr_runtime *runtime, const tfr__backend *backend, const tfr_program_graph *g,
                   tfr__blob *blob)
{
    memset(blob, 0, sizeof *blob);
    if (!backend->program.save || !runtime->tuning.path)
        return;
    blob->data = tfr__alloc(2 * TFR__TUNING_VALUE_BYTES); /* what there is, and what comes */
    if (!blob->data)
        return;
    blob->key = blob_key(runtime, backend, g);
    blob->bytes = tfr__tuning_get(&runtime->tuning, blob->key, blob->data, TFR__TUNING_VALUE_BYTES);
}

void tfr__blob_put(tfr_runtime *runtime, const tfr__backend *backend, tfr_program *program,
                   tfr__blob *blob)
{
    uint64_t n = TFR__TUNING_VALUE_BYTES;
    char *fresh = blob->data ? blob->data + n : NULL;
    int32_t status = TFR_EUNSUPPORTED;
    if (program && fresh)
        TFR__SLOT(backend, "save", NULL, NULL,
                  status = backend->program.save(backend->device, program, fresh, &n, NULL));
    if (!status && n && n <= TFR__TUNING_VALUE_BYTES &&
        (n != blob->bytes || memcmp(fresh, blob->data, n) != 0))
        tfr__tuning_put(&runtime->tuning, blob->key, fresh, (uint32_t)n);
    tfr__free(blob->data);
    blob->data = NULL;
}
