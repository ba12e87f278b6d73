/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx.c: the doors of tfrun/onnx.h for models. A file is mapped and read in place (model.c),
 * then becomes a graph (import.c), node by node in a form that the op table knows
 * (upgrade.c).
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/onnx.h>

#include "foreign.h"
#include "onnx/import.h"
#include "prefix.h"

static tfr_status build(tfr__onnx_model *model, tfr__onnx_source *source, tfr_graph **out,
                        tfr_err *err)
{
    tfr__onnx_import import = {
        .model = model, .source = source, .subgraph = tfr__onnx_import_subgraph};
    tfr__onnx_builder builder = {.graph = NULL};
    tfr__onnx_scope scope = {
        .import = &import, .builder = &builder, .graph = model->graph, .opsets = &model->opsets};
    char *name = tfr__scratch_text(&import.scratch, model->graph->name);
    tfr_status status = name ? tfr_graph_create(name, &builder.graph, err)
                             : tfr_fail(err, TFR_ENOMEM, "out of memory");

    if (!status)
        status = tfr__onnx_import_graph(&scope, err);
    tfr__onnx_scope_finish(&scope);
    tfr__scratch_finish(&import.scratch);
    free(import.held);
    tfr__onnx_builder_finish(&builder);
    if (status)
        tfr_graph_release(builder.graph);
    else
        *out = builder.graph;
    return status;
}

/* Every file has it, so that something else than a model mostly fails here. */
static tfr_status check_version(const tfr__onnx_model *model, tfr_err *err)
{
    if (model->ir_version < 1)
        return tfr_fail(err, TFR_EMODEL, "ModelProto.ir_version is %s",
                        model->ir_version ? "negative" : "missing");
    if (model->ir_version > TFR__ONNX_NEWEST_IR)
        return tfr_fail(err, TFR_EMODEL,
                        "ModelProto.ir_version %lld is newer than %d, the newest that tfrun reads",
                        (long long)model->ir_version, TFR__ONNX_NEWEST_IR);
    return TFR_OK;
}

/* Checks the version of what was read of a model, or says what the file is if it is none. */
static tfr_status check_model(const tfr__onnx_model *model, const void *bytes, size_t n,
                              tfr_status status, tfr_err *err)
{
    const char *foreign;

    if (!status)
        status = check_version(model, err);
    if (status == TFR_EMODEL && !model->ir_version) {
        foreign = n ? tfr__foreign_name(bytes, n) : "an empty file";
        if (foreign)
            (void)tfr__prefix(err, status, "not an ONNX model but %s: ", foreign);
    }
    return status;
}

static tfr_status read_model(tfr__onnx_source *source, const void *bytes, size_t n, tfr_graph **out,
                             tfr_err *err)
{
    tfr__onnx_model model;
    tfr_status status = tfr__onnx_read_model(bytes, n, &model, err);

    status = check_model(&model, bytes, n, status, err);
    if (!status)
        status = build(&model, source, out, err);
    tfr__onnx_model_finish(&model);
    return tfr__model_status(err, status);
}

tfr_status tfr_onnx_parse(const void *bytes, size_t n, tfr_graph **out, tfr_err *err)
{
    tfr__onnx_source source = {.dense_bytes = TFR__DENSE_BYTES_MAX};
    return read_model(&source, n ? bytes : "", n, out, err);
}

/* The mapped files that a graph's constants lie in. */
typedef struct watch {
    uint32_t n;
    tfr__mapping *mappings[];
} watch;

static tfr_status check_files(void *user, tfr_err *err)
{
    const watch *w = user;
    tfr_status status = TFR_OK;
    for (uint32_t i = 0; !status && i < w->n; i++)
        status = tfr__mapping_check(w->mappings[i], err);
    return status;
}

static void release_files(void *user)
{
    watch *w = user;
    for (uint32_t i = 0; i < w->n; i++)
        tfr__mapping_release(w->mappings[i]);
    free(w);
}

static void add_file(watch *w, tfr__mapping *mapping)
{
    /* The reader has one reference, tensors have others. */
    if (mapping->fd >= 0 && atomic_load(&mapping->refs) > 1)
        w->mappings[w->n++] = tfr__mapping_retain(mapping);
}

/* Has the graph's runs look after its files, and looks whether they changed while they were read.
 */
static tfr_status watch_files(const tfr__onnx_source *source, tfr_graph *graph, tfr_err *err)
{
    const tfr__external *e = source->external;
    watch *w = calloc(1, sizeof *w + (e->n_files + 1) * sizeof w->mappings[0]);
    tfr_status status = TFR_OK;
    if (!w)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for %u external files", e->n_files);
    status = tfr__mapping_check(source->mapping, err);
    for (uint32_t i = 0; !status && i < e->n_files; i++)
        status = tfr__mapping_check(e->files[i].mapping, err);
    add_file(w, source->mapping);
    for (uint32_t i = 0; i < e->n_files; i++)
        add_file(w, e->files[i].mapping);
    if (w->n && !status)
        tfr_graph_set_check(graph, check_files, release_files, w);
    else
        release_files(w);
    return status;
}

tfr_status tfr_onnx_load(const char *path, tfr_graph **out, tfr_err *err)
{
    tfr__onnx_source source = {.dense_bytes = TFR__DENSE_BYTES_MAX, .unaligned = true};
    tfr__external external = {.fd = -1};
    tfr_graph *graph = NULL;
    tfr_status status = tfr__mapping_open(path, &source.mapping, err);

    if (status)
        return status;
    status = tfr__external_open(path, &external, err);
    source.external = &external;
    if (!status)
        status = read_model(&source, source.mapping->data, source.mapping->bytes, &graph, err);
    if (status)
        (void)tfr__prefix(err, status, "%s: ", path);
    if (!status)
        status = watch_files(&source, graph, err);
    if (status)
        tfr_graph_release(graph);
    else
        *out = graph;
    tfr__external_close(&external);
    tfr__mapping_release(source.mapping);
    return status;
}

static void copy_opset(const tfr__onnx_opset *from, tfr_onnx_opset *to, uint32_t size)
{
    tfr_onnx_opset opset = {.version = from->version};
    size_t n = from->domain.bytes;

    opset.size = size < sizeof opset ? size : (uint32_t)sizeof opset;
    if (n >= sizeof opset.domain)
        n = sizeof opset.domain - 1;
    memcpy(opset.domain, from->domain.data, n);
    memcpy(to, &opset, opset.size);
}

tfr_status tfr_onnx_read_opsets(const char *path, tfr_onnx_opset *out, uint32_t capacity,
                                uint32_t *n, tfr_err *err)
{
    const uint32_t size = capacity ? out->size : 0;
    tfr__mapping *mapping = NULL;
    tfr__onnx_model model;
    tfr_status status = tfr__mapping_open(path, &mapping, err);

    if (status)
        return status;
    status = tfr__onnx_read_header(mapping->data, mapping->bytes, &model, err);
    status = check_model(&model, mapping->data, mapping->bytes, status, err);
    if (status)
        (void)tfr__prefix(err, status, "%s: ", path);
    for (uint32_t i = 0; !status && i < model.opsets.n && i < capacity; i++)
        copy_opset(&model.opsets.items[i], (void *)((char *)out + (size_t)i * size), size);
    if (!status)
        *n = model.opsets.n;
    tfr__onnx_model_finish(&model);
    tfr__mapping_release(mapping);
    return tfr__model_status(err, status);
}
