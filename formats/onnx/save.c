/* SPDX-License-Identifier: Apache-2.0 */
/* save.c: the doors of tfrun/onnx.h for writing models. */
#include <string.h>
#include <tfrun/fail.h>

#include "onnx/save.h"
#include "prefix.h"

/* What one protobuf message may have, and every reader of protobuf takes. */
enum { MOST_BYTES = INT32_MAX };

static tfr_status start(tfr__onnx_save *save, tfr__wire_out *out, const tfr_graph *graph,
                        tfr_err *err)
{
    tfr_status status;

    if (!graph)
        return tfr_fail(err, TFR_EINVAL, "the graph to write is NULL");
    status = tfr_graph_check(graph, err);
    if (!status)
        status = tfr__onnx_save_start(save, graph, err);
    if (!status)
        status = tfr__onnx_find_versions(save, err);
    return status ? status : tfr__wire_out_measure(out, tfr__onnx_put_model, save, err);
}

static tfr_status check_limit(const tfr__wire_out *out, const char *without, tfr_err *err)
{
    if (out->bytes <= MOST_BYTES)
        return TFR_OK;
    return tfr_fail(err, TFR_ELIMIT,
                    "the model takes %llu bytes%s, a protobuf message has at most %d",
                    (unsigned long long)out->bytes, without, MOST_BYTES);
}

typedef struct writing {
    tfr__onnx_save *save;
    tfr__wire_out *out;
} writing;

/* Mapped constants may have changed while they were copied, so that is looked at last. */
static tfr_status write_model(tfr__sink *sink, const void *what)
{
    const writing *w = what;
    tfr_status status = tfr__wire_out_write(w->out, sink, tfr__onnx_put_model, w->save);
    return status ? status : tfr_graph_check(w->save->parts[0]->graph, sink->err);
}

static void finish(tfr__onnx_save *save, tfr__wire_out *out)
{
    tfr__wire_out_finish(out);
    tfr__onnx_save_finish(save);
}

tfr_status tfr_onnx_write(const tfr_graph *graph, tfr_write_fn write, void *user, tfr_err *err)
{
    tfr__onnx_save save = {.parts = NULL};
    tfr__wire_out out = {.sink = NULL};
    tfr__sink sink = {.write = write, .user = user, .err = err};
    tfr_status status = start(&save, &out, graph, err);

    if (!status)
        status = check_limit(&out, "", err);
    if (!status)
        status = write_model(&sink, &(writing){&save, &out});
    finish(&save, &out);
    return status;
}

/* The data file comes first: until the model is there, nothing names it. */
static tfr_status save_both(tfr__onnx_save *save, tfr__wire_out *out, const char *path,
                            tfr_err *err)
{
    bool is_new = false;
    tfr_status status = tfr__onnx_plan_data(save, path, err);

    if (!status)
        status = tfr__wire_out_measure(out, tfr__onnx_put_model, save, err);
    if (!status)
        status = check_limit(out, " without its large tensors", err);
    if (status)
        return tfr__prefix(err, status, "%s: ", path);
    status = tfr__onnx_save_data(save, path, &is_new, err);
    if (!status)
        status = tfr__file_save(path, write_model, &(writing){save, out}, err);
    if (status && is_new)
        tfr__onnx_remove_data(save, path);
    return status;
}

tfr_status tfr_onnx_save(const tfr_graph *graph, const char *path,
                         const tfr_onnx_save_options *given, tfr_err *err)
{
    tfr_onnx_save_options options = {.size = sizeof options};
    tfr__onnx_save save = {.parts = NULL};
    tfr__wire_out out = {.sink = NULL};
    tfr_status status = start(&save, &out, graph, err);

    if (given)
        memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    if (!options.max_bytes || options.max_bytes > MOST_BYTES)
        options.max_bytes = MOST_BYTES;
    if (status)
        (void)tfr__prefix(err, status, "%s: ", path);
    else if (out.bytes <= options.max_bytes)
        status = tfr__file_save(path, write_model, &(writing){&save, &out}, err);
    else
        status = save_both(&save, &out, path, err);
    finish(&save, &out);
    return status;
}
