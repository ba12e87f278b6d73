/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/quantize.h (libtfrun-nn): makes a smaller model of a float32 one, in standard ONNX:
 * constants of 8 or 4 bits behind DequantizeLinear, integers for activations too (QDQ), or float16.
 * Saved by tfrun/onnx.h, it runs wherever opset 21 does.
 *
 * Threads: one at a time for each calibration; graphs are only read, and frozen.
 */
#ifndef TFRUN_QUANTIZE_H
#define TFRUN_QUANTIZE_H

#include <tfrun/graph.h>
#include <tfrun/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- calibration ----------------------------------------------------------------------------- */

/*
 * What float32 values of a graph are in runs with samples: of inputs and of what nodes make, not of
 * what is inside subgraphs. A run keeps all of them until it ends.
 */
typedef struct tfr_calibration tfr_calibration;

/* Retains both. device as in tfr_session_options. */
TFR_API TFR_MUST_CHECK tfr_status tfr_calibration_create(tfr_runtime *runtime, tfr_graph *graph,
                                                         const char *device, tfr_calibration **out,
                                                         tfr_err *err);
/* Runs the graph with a sample, and counts its values in. Errors are those of a run. */
TFR_API TFR_MUST_CHECK tfr_status tfr_calibration_add(tfr_calibration *calibration,
                                                      tfr_tensor *const *inputs, uint32_t n_inputs,
                                                      tfr_err *err);
/* NULL is fine. */
TFR_API void tfr_calibration_destroy(tfr_calibration *calibration);

/* How a range is made of what was seen. */
typedef enum tfr_range_method {
    TFR_RANGE_MIN_MAX = 0, /* all of it */
    TFR_RANGE_MSE = 1      /* what 8 bits show with the least mean squared error: far outliers are
                              cut off where that makes the rest finer */
} tfr_range_method;

/*
 * The range of a value of the graph by a method. TFR_ENOTFOUND if there is none: no float32, no
 * element seen, or NaN or an infinity among them.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_calibration_range(const tfr_calibration *calibration,
                                                        tfr_value value, tfr_range_method method,
                                                        double *low, double *high, tfr_err *err);

/* ---- quantization ---------------------------------------------------------------------------- */

typedef enum tfr_quantize_form {
    /*
     * Constants of Conv, ConvTranspose, Gemm and MatMul as int8, symmetric, with a scale for each
     * output channel. With a calibration activations are integers, too: QuantizeLinear and
     * DequantizeLinear stand around these ops and around those between them, with a scale for each
     * tensor; biases are int32, and a Relu or Clip that the range of its output implies is gone.
     */
    TFR_QUANTIZE_INT8 = 1,
    /* Constants of Gemm and MatMul as int4, with a scale for each block along the summed dim. */
    TFR_QUANTIZE_INT4 = 2,
    /*
     * Constants and computation in float16. Nodes stay float32 whose op has no float16 or sums or
     * squares far beyond its range, and, with a calibration, those whose values are beyond it.
     */
    TFR_QUANTIZE_F16 = 3
} tfr_quantize_form;

/* What became of a node. */
typedef enum tfr_quantize_fate {
    TFR_QUANTIZE_DONE = 0,    /* it computes with quantized values, or in float16 */
    TFR_QUANTIZE_LEFT = 1,    /* it could have, and text says why it does not */
    TFR_QUANTIZE_OTHER = 2,   /* nothing is done for such an op in this form */
    TFR_QUANTIZE_CLAMPED = 3, /* no node: a constant has numbers that float16 has not */
    TFR_QUANTIZE_MERGED = 4   /* a Relu or Clip that is gone */
} tfr_quantize_fate;

/* Texts live until the call returns. */
typedef struct tfr_quantize_note {
    uint32_t size;
    int32_t fate;     /* tfr_quantize_fate */
    const char *name; /* of the node, or of the constant */
    const char *op;   /* "" of a constant */
    const char *text; /* "weights int8 per channel", "its weights are no constant" */
} tfr_quantize_note;

typedef struct tfr_quantize_options {
    uint32_t size;
    int32_t form; /* tfr_quantize_form */
    /* NULL = weights alone. It must be one of the same graph. */
    const tfr_calibration *calibration;
    int32_t range_method; /* tfr_range_method */
    int32_t activations;  /* TFR_DTYPE_I8 or TFR_DTYPE_U8; 0 = int8 */
    uint32_t per_tensor;  /* int8: not 0 = one scale for all channels */
    /*
     * int8 without a calibration: not 0 = activations of MatMul and Gemm become uint8 in each run,
     * by DynamicQuantizeLinear, and are multiplied by MatMulInteger.
     */
    uint32_t dynamic;
    /*
     * int8: not 0 = weights of 7 bits, for runtimes that add two products of 8 bits in 16, as x86
     * processors without VNNI do.
     */
    uint32_t reduce_range;
    int64_t block_size;  /* int4: a power of two from 16 on; 0 = 32 */
    uint32_t asymmetric; /* int4: not 0 = uint4 with zero points */
    uint32_t tables;     /* int8, int4: not 0 = constants that Gather takes rows of, too */
    uint32_t float16_io; /* f16: not 0 = inputs and outputs become float16 as well */
    /*
     * Shell patterns for names of nodes and ops, such as "/layer1/?*" and "Conv". Nodes that none
     * of `only` matches, if there is one, and those that one of `except` does are left alone.
     */
    const char *const *only, *const *except;
    uint32_t n_only, n_except;
    /* Called for each node, in order, and for constants; may be NULL. */
    void (*note)(void *user, const tfr_quantize_note *note);
    void *user;
} tfr_quantize_options;
#define TFR_QUANTIZE_OPTIONS_INIT(form)                                                            \
    {                                                                                              \
        (uint32_t)sizeof(tfr_quantize_options), form, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, \
            0, 0, NULL, NULL                                                                       \
    }

/*
 * A new graph. What is inside subgraphs stays as it is. A constant that several quantized nodes
 * read is quantized once; with weights alone the other nodes that read it get the same numbers, but
 * for those that `only` and `except` leave alone, and outputs. TFR_EINVAL for options that make no
 * sense; TFR_EUNSUPPORTED for a variable with an update; TFR_EMODEL, TFR_ESHAPE or TFR_EDTYPE for a
 * graph that is wrong for all inputs.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_graph_quantize(tfr_graph *graph,
                                                     const tfr_quantize_options *options,
                                                     tfr_graph **out, tfr_err *err);

/* ---- accuracy -------------------------------------------------------------------------------- */

/* How far one output of the new model is from that of the old one, in all samples so far. Zeroed
 * but for size before the first. */
typedef struct tfr_accuracy {
    uint32_t size;
    uint64_t n_elements; /* that are compared: finite in both */
    uint64_t n_other;    /* NaN or infinite, and not the same in both */
    double max_abs_error;
    double signal, noise, other, product; /* sums of x², (x - y)², y² and xy */
    uint64_t n_rows, n_rows_same;         /* rows along the last dim, and with the same maximum */
} tfr_accuracy;

/* Tensors of numbers of one shape; TFR_ESHAPE or TFR_EDTYPE else. The types may differ. */
TFR_API TFR_MUST_CHECK tfr_status tfr_accuracy_add(tfr_accuracy *accuracy,
                                                   const tfr_tensor *expected,
                                                   const tfr_tensor *obtained, tfr_err *err);
/* 10 log10(signal / noise), infinite without noise; the noise relative to the signal as norms; the
 * cosine of the angle between both. NaN if nothing was compared. */
TFR_API double tfr_accuracy_sqnr(const tfr_accuracy *accuracy);
TFR_API double tfr_accuracy_relative(const tfr_accuracy *accuracy);
TFR_API double tfr_accuracy_cosine(const tfr_accuracy *accuracy);

#ifdef __cplusplus
}
#endif

#endif
