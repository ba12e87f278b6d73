/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_ops.c: the rows of the op table that plugins bring. The probe's answer has them as texts;
 * the plugin itself is loaded when somebody needs the shape or the function of one. Rows stay as
 * long as the process, as libraries do, so they and what they need are copies that no runtime owns.
 */
#include "device/loader.h"

#include "base/alloc.h"
#include "op/op_foreign.h"

#include <string.h>
#include <tfrun/fail.h>

enum { MOST_FUNCTION_BYTES = 1 << 16 };

tfr_status tfr__ops_ask(const tfr_ops_facet *facet, tfr__region *region, tfr_op_schema **out,
                        uint32_t *n, tfr_err *err)
{
    tfr_err own = TFR_ERR_INIT;
    int32_t status;
    *n = TFR__REPLY_MAX_OPS;
    *out = tfr__region_alloc(region, *n, sizeof **out);
    if (!*out)
        return tfr__no_memory(err);
    for (uint32_t i = 0; i < *n; i++)
        (*out)[i].size = sizeof **out;
    status = facet->schemas(*out, sizeof **out, n, &own);
    if (status || *n > TFR__REPLY_MAX_OPS)
        return tfr_fail(err, TFR_EPLUGIN, "its slot schemas returned %s and %u ops, at most %u: %s",
                        tfr_status_name(status), (unsigned)*n, TFR__REPLY_MAX_OPS, tfr__said(&own));
    return TFR_OK;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Who answers for the rows of one plugin, of whatever runtime. */
typedef struct source {
    tfr__plugin plugin; /* what loading needs of it */
    tfr__region region; /* it and its rows, for ever */
    pthread_mutex_t lock;
    _Atomic(const tfr__tables *) tables;
} source;

static tfr_status source_tables(source *s, const tfr__tables **out, tfr_err *err)
{
    tfr_err own = TFR_ERR_INIT;
    tfr_status status;
    *out = atomic_load_explicit(&s->tables, memory_order_acquire);
    if (*out)
        return TFR_OK;
    pthread_mutex_lock(&s->lock);
    status = tfr__plugin_tables(&s->plugin, out, &own);
    tfr__plugin_unload(&s->plugin); /* no runtime's hold: the tables stay all the same */
    if (!status && !(*out)->has_ops)
        status = tfr_fail(&own, TFR_EPLUGIN, "it has no facet %s any more", TFR_OPS_V1);
    if (!status)
        atomic_store_explicit(&s->tables, *out, memory_order_release);
    pthread_mutex_unlock(&s->lock);
    return status ? tfr_fail(err, status == TFR_ENOMEM ? status : TFR_EPLUGIN, "plugin %s: %s",
                             s->plugin.name, tfr__said(&own))
                  : TFR_OK;
}

/* What a callback may say of a call that is wrong; all else is its own failure. */
static tfr_status ask(const tfr__op_foreign *row, const tfr_call *call, void *out, uint64_t *n,
                      tfr_err *err)
{
    const tfr__tables *tables;
    tfr_err own = TFR_ERR_INIT;
    tfr_status status = source_tables(row->source, &tables, err);
    if (status)
        return status;
    const tfr__visit visit = tfr__slot_enter(row->plugin, "infer", NULL, call->name);
    if (!n)
        status = (tfr_status)tables->ops.infer(call, out, sizeof(tfr_inferred), &own);
    else if (tables->ops.decompose)
        status = (tfr_status)tables->ops.decompose(call, out, n, &own);
    else
        status = TFR_EPLUGIN;
    tfr__slot_leave(&visit, NULL);
    if (!status)
        return TFR_OK;
    if (status == TFR_ESHAPE || status == TFR_EDTYPE || status == TFR_EMODEL ||
        status == TFR_EUNSUPPORTED || status == TFR_ENOMEM)
        return tfr_fail(err, status, "%s", tfr__said(&own));
    return tfr_fail(err, TFR_EPLUGIN, "the slot infer of plugin %s returned %d: %s", row->plugin,
                    (int)status, tfr__said(&own));
}

static bool is_row(const tfr_op_schema *s, const tfr__op *op)
{
    return s->name && s->domain && !strcmp(s->name, op->name) && !strcmp(s->domain, op->domain);
}

static tfr_status function(const tfr__op_foreign *row, uint32_t which, const void **bytes,
                           uint64_t *n, tfr_err *err)
{
    const tfr__tables *tables;
    tfr__region region = {NULL};
    tfr_op_schema *rows;
    uint32_t n_rows = 0;
    tfr_status status = source_tables(row->source, &tables, err);
    *bytes = NULL;
    *n = 0;
    if (!status) {
        const tfr__visit visit = tfr__slot_enter(row->plugin, "schemas", NULL, row->op.name);
        status = tfr__ops_ask(&tables->ops, &region, &rows, &n_rows, err);
        tfr__slot_leave(&visit, NULL);
    }
    for (uint32_t i = 0; !status && i < n_rows; i++)
        if (is_row(&rows[i], &row->op)) {
            *bytes = which == TFR__OP_GRADIENT ? rows[i].gradient : rows[i].decomposition;
            *n = which == TFR__OP_GRADIENT ? rows[i].gradient_bytes : rows[i].decomposition_bytes;
        }
    if (!status && (!*bytes || !*n || *n > MOST_FUNCTION_BYTES))
        status =
            tfr_fail(err, TFR_EPLUGIN, "plugin %s has a function of %llu bytes for %s, not 1 to %d",
                     row->plugin, (unsigned long long)*n, row->op.name, MOST_FUNCTION_BYTES);
    tfr__region_free(&region);
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Copies of the region live for good, so that they need no owner. */
static tfr_status source_create(const tfr__plugin *plugin, source **out, tfr_err *err)
{
    tfr__region region = {NULL};
    source *s = tfr__region_alloc(&region, 1, sizeof *s);
    char *path = tfr__region_copy(&region, plugin->path);
    char *name = tfr__region_copy(&region, plugin->name);
    if (!s || !path || !name) {
        tfr__region_free(&region);
        return tfr__no_memory(err);
    }
    s->plugin = (tfr__plugin){
        .path = path, .name = name, .note = plugin->note, .file = plugin->file, .mode_told = true};
    s->region = region;
    pthread_mutex_init(&s->lock, NULL);
    *out = s;
    return TFR_OK;
}

/* The same plugin in another file, or in one that was replaced, before anybody has loaded it. */
static void source_renew(source *s, const tfr__plugin *plugin)
{
    pthread_mutex_lock(&s->lock);
    if (!s->tables && strcmp(s->plugin.name, plugin->name) == 0) {
        char *path = strcmp(s->plugin.path, plugin->path) != 0
                         ? tfr__region_copy(&s->region, plugin->path)
                         : NULL;
        s->plugin.note = plugin->note;
        s->plugin.file = plugin->file;
        s->plugin.path = path ? path : s->plugin.path;
    }
    pthread_mutex_unlock(&s->lock);
}

static tfr__op op_of(const tfr__reply_op *said, const char *const *texts)
{
    const uint32_t random = said->numbers.flags & TFR_OP_RANDOM ? TFR__TRAIT_RANDOM : 0;
    return (tfr__op){.domain = texts[TFR__REPLY_OP_DOMAIN],
                     .name = texts[TFR__REPLY_OP_NAME],
                     .since_version = said->numbers.since_version,
                     .compat_version = said->numbers.compat_version,
                     .shape_args = (uint32_t)said->numbers.shape_args,
                     .kind = TFR__OP_KERNEL,
                     .traits = (uint8_t)(TFR__TRAIT_FOREIGN | random),
                     .inputs = texts[TFR__REPLY_OP_INPUTS],
                     .outputs = texts[TFR__REPLY_OP_OUTPUTS],
                     .attrs = texts[TFR__REPLY_OP_ATTRS],
                     .types = texts[TFR__REPLY_OP_TYPES],
                     .infer = tfr__infer_foreign};
}

/* *s is made for the first row that is new. */
static tfr_status add_row(tfr__plugin *plugin, const tfr__reply_op *said, source **s, tfr_err *err)
{
    const char *texts[TFR__REPLY_OP_TEXTS];
    const tfr__op op = op_of(said, said->texts);
    const tfr__op *known;
    tfr__op_foreign *row;
    tfr_status status = TFR_OK;
    if (*said->texts[TFR__REPLY_OP_WRONG])
        return tfr_fail(err, TFR_EPLUGIN, "%s", said->texts[TFR__REPLY_OP_WRONG]);
    known = tfr__op_find(op.domain, op.name);
    if (known) {
        status = tfr__op_same(&op, err);
        if (!status)
            source_renew(tfr__op_foreign_of(known)->source, plugin);
        return status;
    }
    if (!*s)
        status = source_create(plugin, s, err);
    if (status)
        return status;
    row = tfr__region_alloc(&(*s)->region, 1, sizeof *row);
    for (int t = 0; row && t < TFR__REPLY_OP_TEXTS; t++)
        if (!(texts[t] = tfr__region_copy(&(*s)->region, said->texts[t])))
            row = NULL;
    if (!row)
        return tfr__no_memory(err);
    *row = (tfr__op_foreign){.op = op_of(said, texts),
                             .functions = said->numbers.functions,
                             .plugin = (*s)->plugin.name,
                             .source = *s,
                             .ask = ask,
                             .function = function};
    return tfr__op_add(row, err);
}

/* The row is another one than the plugin means, if there is any: so are its kernels. */
static void drop_claims(tfr__plugin *plugin, const tfr__reply_op *op)
{
    for (uint32_t d = 0; d < plugin->reply.n_devices; d++)
        for (uint32_t i = 0; i < plugin->reply.devices[d].n_claims; i++) {
            tfr__reply_claim *claim = &plugin->reply.devices[d].claims[i];
            if (!strcmp(claim->name, op->texts[TFR__REPLY_OP_NAME]) &&
                !strcmp(claim->domain, op->texts[TFR__REPLY_OP_DOMAIN]))
                claim->name = "";
        }
}

static tfr_status add_rows(tfr__plugin *plugin, tfr_err *err)
{
    source *s = NULL;
    for (uint32_t i = 0; i < plugin->reply.n_ops; i++) {
        tfr_err own = TFR_ERR_INIT;
        tfr_status status = add_row(plugin, &plugin->reply.ops[i], &s, &own);
        if (status == TFR_ENOMEM)
            return tfr_fail(err, status, "%s", own.text);
        if (!status)
            continue;
        drop_claims(plugin, &plugin->reply.ops[i]);
        if (!*plugin->reason)
            tfr__plugin_set(plugin, (tfr_plugin_state)plugin->state,
                            "brings an op \"%.64s\" that is refused: %s",
                            plugin->reply.ops[i].texts[TFR__REPLY_OP_NAME], own.text);
    }
    return TFR_OK;
}

tfr_status tfr__ops_add(tfr__loader *loader, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < loader->n_plugins; i++) {
        tfr__plugin *plugin = loader->plugins[i];
        /* Without its device, too: its ops may be made of others. */
        if (plugin->state == TFR_PLUGIN_USABLE || plugin->state == TFR_PLUGIN_NO_DEVICE)
            status = add_rows(plugin, err);
    }
    return status;
}
