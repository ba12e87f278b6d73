/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/onnx.h (libtfrun-nn): reads and writes ONNX models and TensorProto files. A file to read is
 * mapped and read in place by a bounded reader; everything in it is hostile until checked. Errors
 * are TFR_EMODEL with the file, the node, the field and the numbers (byte offset where it helps),
 * or TFR_EIO.
 *
 * Older opset forms are rewritten into the newest form that the op table knows. Functions that the
 * model defines are inlined, sparse tensors become dense. Initializers are constants; an input of
 * the model that has an initializer, as all have in old files, is not an input of the graph.
 */
#ifndef TFRUN_ONNX_H
#define TFRUN_ONNX_H

#include <tfrun/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* External data is found in the model's folder only. Large constants stay mapped from the file. */
TFR_API TFR_MUST_CHECK tfr_status tfr_onnx_load(const char *path, tfr_graph **out, tfr_err *err);

/* A model in memory, which is not needed after the call. External data is refused. */
TFR_API TFR_MUST_CHECK tfr_status tfr_onnx_parse(const void *bytes, size_t n, tfr_graph **out,
                                                 tfr_err *err);

/* An opset that a model was written for; "" is ONNX's own domain. */
typedef struct tfr_onnx_opset {
    uint32_t size;
    int64_t version;
    char domain[64]; /* cut if it is longer */
} tfr_onnx_opset;
/* A file with more is refused. */
#define TFR_ONNX_MAX_OPSETS 256

/*
 * The opsets that a model in a file imports, as the file orders them: the first `capacity` into
 * out, which has entries of out[0].size bytes, and into *n how many there are. The file is read
 * once, and the graph in it not at all.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_onnx_read_opsets(const char *path, tfr_onnx_opset *out,
                                                       uint32_t capacity, uint32_t *n,
                                                       tfr_err *err);

typedef struct tfr_onnx_save_options {
    uint32_t size;
    /*
     * A model that would be a larger file gets a second one for its tensors of 1 MiB and more:
     * PATH.HASH.data, in the same folder. 0 = 2^31 - 1, which is also the most there may be.
     */
    uint64_t max_bytes;
} tfr_onnx_save_options;
#define TFR_ONNX_SAVE_OPTIONS_INIT                                                                 \
    {                                                                                              \
        (uint32_t)sizeof(tfr_onnx_save_options), 0                                                 \
    }

/*
 * Writes a graph as an ONNX model, for the oldest opset from 21 on that has the ops, attributes and
 * types in use. The same graph always gives the same bytes. Inputs and outputs keep their names,
 * and so do other values where ONNX allows it. An output gets an Identity node if it is an input or
 * another output under a different name, or a value of an outer graph. Unused constants and the
 * pins of nodes to devices are not written. Ops of the domain "tfrun" are written as custom ops,
 * which other runtimes do not know.
 *
 * The file is replaced once the new one is complete, so that a graph can be saved over the file it
 * was loaded from while it uses that file's weights. HASH depends on the content of the data file:
 * the data of another model are never overwritten, and data files of earlier versions are not
 * removed. Tensors are written from where they are stored, without a copy.
 *
 * options may be NULL. TFR_EUNSUPPORTED for what ONNX cannot express: a variable with an update, a
 * constant that is a sequence or optional. TFR_EMODEL if the name of an input or output is empty,
 * not UTF-8 or used twice. TFR_ELIMIT for a model of more than 2 GiB without its large tensors.
 * TFR_EIO.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_onnx_save(const tfr_graph *graph, const char *path,
                                                const tfr_onnx_save_options *options, tfr_err *err);
/* The same bytes to anywhere, in order, without a second file: TFR_ELIMIT beyond 2^31 - 1 bytes. */
TFR_API TFR_MUST_CHECK tfr_status tfr_onnx_write(const tfr_graph *graph, tfr_write_fn write,
                                                 void *user, tfr_err *err);

/*
 * A file with one TensorProto, or, guided by kind, one SequenceProto or OptionalProto, as ONNX's
 * backend tests store them. kind TFR_KIND_NONE = TensorProto.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_onnx_load_tensor(const char *path, tfr_kind kind,
                                                       tfr_tensor **out, tfr_err *err);
TFR_API TFR_MUST_CHECK tfr_status tfr_onnx_parse_tensor(const void *bytes, size_t n, tfr_kind kind,
                                                        tfr_tensor **out, tfr_err *err);
/*
 * Writes a TensorProto file, or a SequenceProto or OptionalProto for such a value. The file is
 * replaced when the new one is whole, so that after an error the old one is there; links are
 * followed, and what is no regular file, such as a pipe, is written as it is.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_onnx_save_tensor(const char *path, const char *name,
                                                       const tfr_tensor *tensor, tfr_err *err);
/* The same bytes to anywhere, in order. */
TFR_API TFR_MUST_CHECK tfr_status tfr_onnx_write_tensor(const char *name, const tfr_tensor *tensor,
                                                        tfr_write_fn write, void *user,
                                                        tfr_err *err);

/*
 * Lists of maps. What ZipMap gives, a map from classes to numbers for each sample, is a table in
 * tfrun: float32 [N,C], or [C] of one sample, a map a row and a key a column.
 *
 * *keys has the keys of the columns of output i, int64[C] or string[C], to be released; NULL if the
 * output is no list of maps. A plain tensor with the same numbers is what a run gives.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_onnx_output_keys(const tfr_graph *graph, uint32_t i,
                                                       tfr_tensor **keys, tfr_err *err);
/* A SequenceProto of MapProto as a table [N,C]: each map has all keys, in any order. */
TFR_API TFR_MUST_CHECK tfr_status tfr_onnx_load_maps(const char *path, const tfr_tensor *keys,
                                                     tfr_tensor **out, tfr_err *err);
/* The same to anywhere, of a plain table. */
TFR_API TFR_MUST_CHECK tfr_status tfr_onnx_write_maps(const char *name, const tfr_tensor *keys,
                                                      const tfr_tensor *values, tfr_write_fn write,
                                                      void *user, tfr_err *err);

/*
 * The name of the file, of those that are mapped by this library, that holds the address, or NULL.
 * For a program's handler of SIGBUS, which the system sends when somebody has made a mapped file
 * shorter: may be called there. Names are cut after 255 bytes, and beyond 64 files there are none.
 */
TFR_API const char *tfr_onnx_file_at(const void *address);

#ifdef __cplusplus
}
#endif

#endif
