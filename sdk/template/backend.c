/* SPDX-License-Identifier: Apache-2.0 */
/* template: a backend with one device, an "NPU", and two ops on float32, Relu of ONNX and Square of
 * its own. It plays on the host: where it calls malloc or loops, yours calls a driver. The tables
 * at the end say what is what. */
#include <stdlib.h>
#include <string.h>
#include <tfrun/host_device.h>
#include <tfrun/op_digests.h>
#pragma GCC diagnostic ignored "-Wunused-parameter" /* slots offer more than one op needs */

/* Read without running the file: name, kind, priority (100 is usual), CPU features ("avx2 fma"). */
TFR_PLUGIN_NOTE("template", TFR_PLUGIN_BACKEND, 100, "");

static struct tfr_plugin_device {
    int handle; /* yours, the core never looks inside: the driver's handle, its libraries */
} template_device;
struct tfr_kernel {
    int64_t elements; /* yours as well: descriptors, packed weights */
    int is_square;
};

static int32_t template_ops(const tfr_device_info *device, tfr_op_claim *out, uint32_t stride,
                            uint32_t *n, tfr_err *err)
{
    /* Relu as this SDK knows it: calls that mean something else do not come. */
    const tfr_op_claim claims[] = {
        {sizeof(claims[0]), 14, "", "Relu", tfr_op_digest("", "Relu"), 1u << TFR_DTYPE_F32, 0},
        {sizeof(claims[0]), 1, "org.template", "Square", 0, 1u << TFR_DTYPE_F32, 0}};
    uint32_t i;
    for (i = 0; i < 2; i++) /* row i, if *n has room for it */
        tfr_list_put(out, stride, *n, i, &claims[i], sizeof(claims[i]));
    *n = 2; /* how many there are */
    return TFR_OK;
}

static int32_t template_supports(tfr_plugin_device *device, const tfr_call *call,
                                 tfr_answer *answer, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(call, 0); /* NULL: an optional input that is absent */
    if (x->dtype != TFR_DTYPE_F32) /* no is not an error; name the number that does not fit */
        return tfr_decline(answer, TFR_REASON_DTYPE, "type %d is not float32 (1)", (int)x->dtype);
    if (tfr_call_unknown(call, TFR_CALL_DETERMINISTIC)) /* demands that this file knows of */
        return tfr_decline(answer, TFR_REASON_POLICY, "flags 0x%x are unknown", call->flags);
    if (x->strides) /* yes, once the core has made it dense */
        tfr_decline(answer, TFR_REASON_LAYOUT, "input 0 of rank %d is strided", (int)x->rank);
    answer->verdict = x->strides ? TFR_VERDICT_REORDER : TFR_VERDICT_YES;
    return TFR_OK;
}

static int32_t template_prepare(tfr_plugin_device *device, const tfr_call *call,
                                const tfr_prepare_options *options, tfr_kernel **out,
                                tfr_kernel_info *info, tfr_err *err)
{
    tfr_kernel *kernel = malloc(sizeof(*kernel));
    if (!kernel)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a kernel of %zu bytes", sizeof(*kernel));
    kernel->elements = tfr_operand_elements(tfr_call_input(call, 0));
    kernel->is_square = strcmp(call->name, "Square") == 0;
    *out = kernel;
    return TFR_OK;
}

static int32_t template_launch(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                               const tfr_launch *launch, tfr_err *err)
{
    const float *x = launch->args[0].address; /* inputs, then outputs */
    float *y = launch->args[1].address;
    for (int64_t i = 0; i < kernel->elements; i++)
        y[i] = kernel->is_square ? x[i] * x[i] : x[i] < 0 ? 0 : x[i]; /* NaN stays NaN */
    return TFR_OK;
}

static void template_drop(tfr_plugin_device *device, tfr_kernel *kernel)
{
    free(kernel);
}

static int32_t template_enumerate(tfr_device_info *out, uint32_t stride, uint32_t *n, tfr_err *err)
{
    static const tfr_device_info npu = {
        .size = sizeof(npu), .type = "NPU", .identity = "template:0", .numa_node = -1};
    tfr_list_put(out, stride, *n, 0, &npu, sizeof(npu));
    *n = 1;
    return TFR_OK;
}

static int32_t template_open(const tfr_device_info *info, const tfr_open_options *options,
                             tfr_plugin_device **out, tfr_err *err)
{
    *out = &template_device;
    return TFR_OK;
}

static void template_close(tfr_plugin_device *device)
{
}

static const tfr_kernel_facet template_kernel = {
    .size = sizeof(tfr_kernel_facet),
    .ops = template_ops,           /* the ops that supports is asked about */
    .supports = template_supports, /* this very call? fast, any thread; a yes must be kept */
    .prepare = template_prepare,   /* once: all that is slow. Copy what you need, call goes away */
    .launch = template_launch,     /* often, any thread; done on return, as there is no queue */
    .drop = template_drop,         /* the kernel of prepare comes back */
};

/* ---- an op of your own; leave it out if you need none ---- */

/* Each a FunctionProto of ONNX: make yours with onnx.helper.make_function(...).SerializeToString().
 * Y = Mul(X, X), for types and devices without the kernel, and for the gradient, of X, Y and dY:
 * A = Add(X, X), dX = Mul(A, dY). Both import opset 21 of ONNX. */
static const char square_decomposition[] = "\012\006Square\"\001X*\001YJ\002\020\025"
                                           ":\016\012\001X\012\001X\022\001Y\"\003Mul";
static const char square_gradient[] = "\012\001G\"\001X\"\001Y\"\002dY*\002dXJ\002\020\025"
                                      ":\016\012\001X\012\001X\022\001A\"\003Add"
                                      ":\020\012\001A\012\002dY\022\002dX\"\003Mul";

static int32_t template_schemas(tfr_op_schema *out, uint32_t stride, uint32_t *n, tfr_err *err)
{
    static const tfr_op_schema square = {
        .size = sizeof(square),
        .since_version = 1,
        .domain = "org.template", /* yours alone: a domain name that you own, turned round */
        .name = "Square",
        .inputs = "X:T",
        .outputs = "Y:T",
        .types = "T=f32|f64",
        .decomposition = square_decomposition, /* their bytes without the zero at the end */
        .decomposition_bytes = sizeof(square_decomposition) - 1,
        .gradient = square_gradient,
        .gradient_bytes = sizeof(square_gradient) - 1,
    };
    tfr_list_put(out, stride, *n, 0, &square, sizeof(square));
    *n = 1;
    return TFR_OK;
}

static int32_t template_infer(const tfr_call *call, tfr_inferred *out, uint32_t stride,
                              tfr_err *err)
{
    tfr_inferred_like(out, tfr_call_input(call, 0)); /* Y has type and dims of X */
    return TFR_OK;
}

static const tfr_ops_facet template_own_ops = {
    .size = sizeof(tfr_ops_facet),
    .schemas = template_schemas, /* names, versions, signatures, functions */
    .infer = template_infer,     /* which shape comes out */
};

static const void *template_facet(const char *id)
{
    if (strcmp(id, TFR_MEMORY_V1) == 0)
        return &tfr_host_device_memory; /* a card: spaces, alloc, free and copy of its driver */
    if (strcmp(id, TFR_OPS_V1) == 0)
        return &template_own_ops;
    return strcmp(id, TFR_KERNEL_V1) == 0 ? &template_kernel : NULL;
}

static const tfr_plugin template_plugin = {
    .size = sizeof(tfr_plugin),
    .abi_minor = TFR_ABI_MINOR,
    .name = "template", /* as in the note */
    .version = "0.1.0",
    .enumerate = template_enumerate, /* which devices; equal identity = same hardware. 0 is fine */
    .open = template_open,           /* what it gives comes back in each call, then in close */
    .close = template_close,
    .facet = template_facet, /* the tables above by name; NULL: I have none */
};

int32_t tfrun_plugin_v0(const tfr_host *host, const tfr_plugin **out, tfr_err *err)
{
    *out = &template_plugin; /* keep host for its log, threads and options; touch no device */
    return TFR_OK;
}
