/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save.h: what the parts of the writer share while a tfr_graph becomes a ModelProto.
 *
 *   part    one graph, the model's or a node's, with the names that its values get
 *   save    all of them, in the order in which they are met: a node's graphs after the node's own
 */
#ifndef TFR_FORMATS_ONNX_SAVE_H
#define TFR_FORMATS_ONNX_SAVE_H

#include <tfrun/onnx.h>

#include "onnx/labels.h"
#include "onnx/scratch.h"
#include "onnx/tensor.h"

/* An output of a graph. What goes out under two names, or is another graph's, goes through an
 * Identity. */
typedef struct tfr__onnx_result {
    const char *name;
    bool is_identity;
} tfr__onnx_result;

typedef struct tfr__onnx_part {
    const tfr_graph *graph;
    struct tfr__onnx_part *outer; /* NULL for the model's graph */
    bool *used;                   /* by value: something reads it */
    const tfr_tensor **tensors;   /* by value: a constant's, or NULL */
    bool *shared;                 /* by value: a graph around this one has the same constant */
    const char **names;           /* by value, NULL = it is not written */
    const char **node_names;      /* by node, NULL = none */
    tfr__onnx_result *results;    /* by output */
    uint64_t *offsets;            /* by value: place of a constant in the data file + 1, or 0 */
    tfr__labels labels;           /* the names */
    tfr__labels node_labels;
    tfr__labels addresses; /* of the tensors, as texts: pieces of the array */
} tfr__onnx_part;

/* Versions of operator sets; 0 = none of its ops is used. */
typedef struct tfr__onnx_versions {
    int32_t onnx, ml, training, tfrun, ir;
    uint32_t n_others; /* domains of plugins */
    struct {
        const char *domain; /* of the op table */
        int32_t version;
    } others[64];
} tfr__onnx_versions;

typedef struct tfr__onnx_save {
    tfr__onnx_part **parts;
    uint32_t n_parts, capacity;
    uint32_t next;          /* the part that a run of the writer meets next */
    uint32_t n_made_up;     /* names of values, */
    uint32_t n_numbered;    /* and of nodes, with a number so far */
    tfr__scratch scratch;   /* of names and arrays */
    tfr_graph_types *types; /* what follows from the inputs, or NULL: the graph is wrong */
    tfr__onnx_versions versions;
    const char *location; /* of the data file, NULL = all is in the model */
} tfr__onnx_save;

/* ---- save_names.c: which values are written, and under what names ---------------------------- */

TFR_MUST_CHECK tfr_status tfr__onnx_save_start(tfr__onnx_save *save, const tfr_graph *graph,
                                               tfr_err *err);
void tfr__onnx_save_finish(tfr__onnx_save *save);
/* What is known of a value: declared, or inferred without the names of dims. */
tfr_value_type tfr__onnx_type_of(const tfr__onnx_save *save, const tfr__onnx_part *part,
                                 tfr_value v);

/* ---- save_opset.c ---------------------------------------------------------------------------- */

/* The oldest versions in which every node means what it means to tfrun. */
TFR_MUST_CHECK tfr_status tfr__onnx_find_versions(tfr__onnx_save *save, tfr_err *err);

/* upgrade_image.c: the domain that ONNX has the op in, for one that a plugin stands in for. */
const char *tfr__onnx_saved_domain(const tfr_node_view *node);

/* ---- save_model.c ---------------------------------------------------------------------------- */

/* A tfr__onnx_save as a ModelProto; for tfr__wire_out_measure and _write. */
void tfr__onnx_put_model(tfr__wire_out *out, void *save);

/* map.c: the type of the keys of a value that is a list of maps; TFR_DTYPE_NONE for others. */
tfr_dtype tfr__onnx_key_type(const tfr_graph *graph, tfr_value value);

/* ---- save_data.c: large tensors beside the model --------------------------------------------- */

enum { TFR__ONNX_LARGE_BYTES = 1 << 20 };

/*
 * Gives the large constants places in a file and names it after path and its content, so that no
 * other content is ever overwritten.
 */
TFR_MUST_CHECK tfr_status tfr__onnx_plan_data(tfr__onnx_save *save, const char *path, tfr_err *err);
/* The file, in the folder of path. */
TFR_MUST_CHECK tfr_status tfr__onnx_save_data(tfr__onnx_save *save, const char *path, bool *is_new,
                                              tfr_err *err);
/* Takes a file back that nothing names. */
void tfr__onnx_remove_data(const tfr__onnx_save *save, const char *path);

#endif
