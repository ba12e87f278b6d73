/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.c: the plugin image, with one op, ImageDecoder of ONNX 20. How large a picture is only its
 * header tells, which the core does not read; so the op is one of this plugin's own domain, and
 * the reader of models writes it there. Formats and their libraries: images/codec.h.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/host_device.h>

#include <images/codec.h>

#define DOMAIN "org.tfrun.image"

/* Behind the reference: it has no say where ops of networks run. */
TFR_PLUGIN_NOTE("image", TFR_PLUGIN_BACKEND, -10, "");

static struct tfr_plugin_device {
    int unused;
} image_device;

typedef enum pixel_format { FORMAT_RGB, FORMAT_BGR, FORMAT_GREY } pixel_format;

struct tfr_kernel {
    size_t bytes; /* of the encoded image */
    int64_t dims[3];
    pixel_format format;
};

static pixel_format format_of(const tfr_call *call)
{
    const tfr_attr *attr = tfr_call_attr(call, "pixel_format");
    if (attr && attr->type == TFR_ATTR_STRING && strcmp(attr->strings[0].data, "BGR") == 0)
        return FORMAT_BGR;
    return attr && attr->type == TFR_ATTR_STRING && strcmp(attr->strings[0].data, "Grayscale") == 0
               ? FORMAT_GREY
               : FORMAT_RGB;
}

/* ---- facet tfr.ops/1 ------------------------------------------------------------------------- */

static int32_t image_schemas(tfr_op_schema *out, uint32_t stride, uint32_t *n, tfr_err *err)
{
    static const tfr_op_schema decoder = {.size = sizeof(decoder),
                                          .since_version = 1,
                                          .domain = DOMAIN,
                                          .name = "ImageDecoder",
                                          .inputs = "encoded_stream:u8",
                                          .outputs = "image:u8",
                                          .attrs = "pixel_format:s=RGB|BGR|Grayscale",
                                          .shape_args = 1};
    (void)err;
    tfr_list_put(out, stride, *n, 0, &decoder, sizeof(decoder));
    *n = 1;
    return TFR_OK;
}

static int32_t image_infer(const tfr_call *call, tfr_inferred *out, uint32_t stride, tfr_err *err)
{
    const tfr_operand *encoded = tfr_call_input(call, 0);
    tfr__image_size size;

    (void)stride;
    if (encoded->rank != 1)
        return tfr_fail(err, TFR_ESHAPE, "encoded_stream has rank %d, want 1", (int)encoded->rank);
    out->dtype = TFR_DTYPE_U8;
    out->rank = 3;
    out->dims[0] = out->dims[1] = TFR_DIM_UNKNOWN;
    out->dims[2] = format_of(call) == FORMAT_GREY ? 1 : 3;
    if (!encoded->data)
        return TFR_OK;
    if (tfr__image_look(encoded->data, (size_t)encoded->dims[0], &size, err))
        return err->code == TFR_EUNSUPPORTED ? TFR_EUNSUPPORTED : TFR_EMODEL;
    out->dims[0] = size.height;
    out->dims[1] = size.width;
    return TFR_OK;
}

static const tfr_ops_facet image_ops_facet = {
    .size = sizeof(tfr_ops_facet), .schemas = image_schemas, .infer = image_infer};

/* ---- facet tfr.kernel/1 ---------------------------------------------------------------------- */

static int32_t image_ops(const tfr_device_info *device, tfr_op_claim *out, uint32_t stride,
                         uint32_t *n, tfr_err *err)
{
    const tfr_op_claim claim = {.size = sizeof(claim),
                                .since_version = 1,
                                .domain = DOMAIN,
                                .name = "ImageDecoder",
                                .dtypes = 1u << TFR_DTYPE_U8};
    (void)device, (void)err;
    tfr_list_put(out, stride, *n, 0, &claim, sizeof(claim));
    *n = 1;
    return TFR_OK;
}

static int32_t image_supports(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                              tfr_err *err)
{
    const bool strided = tfr_call_input(call, 0)->strides || tfr_call_output(call, 0)->strides;
    (void)device, (void)err;
    if (tfr_call_unknown(call, TFR_CALL_DETERMINISTIC))
        return tfr_decline(answer, TFR_REASON_POLICY, "flags 0x%x of the call are not known here",
                           (unsigned)call->flags);
    if (strided)
        tfr_decline(answer, TFR_REASON_LAYOUT, "an operand is strided");
    answer->verdict = strided ? TFR_VERDICT_REORDER : TFR_VERDICT_YES;
    return TFR_OK;
}

static int32_t image_prepare(tfr_plugin_device *device, const tfr_call *call,
                             const tfr_prepare_options *options, tfr_kernel **out,
                             tfr_kernel_info *info, tfr_err *err)
{
    tfr_kernel *kernel = malloc(sizeof(*kernel));
    (void)device, (void)options, (void)info;
    if (!kernel)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a kernel of %zu bytes", sizeof(*kernel));
    kernel->bytes = (size_t)tfr_call_input(call, 0)->dims[0];
    memcpy(kernel->dims, tfr_call_output(call, 0)->dims, sizeof(kernel->dims));
    kernel->format = format_of(call);
    *out = kernel;
    return TFR_OK;
}

/* ITU-R 601-2 luma in 16 bits of fraction. */
static void make_grey(const uint8_t *rgb, uint8_t *out, size_t pixels)
{
    for (size_t i = 0; i < pixels; i++, rgb += 3)
        out[i] = (uint8_t)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

static void swap_red_and_blue(uint8_t *pixels, size_t n)
{
    for (size_t i = 0; i < n; i++, pixels += 3) {
        const uint8_t red = pixels[0];
        pixels[0] = pixels[2];
        pixels[2] = red;
    }
}

/* What has one channel is grey already. */
static tfr_status decode_grey(const void *bytes, const tfr_kernel *k, tfr__image_size size,
                              uint8_t *out, tfr_err *err)
{
    const size_t pixels = (size_t)size.height * size.width;
    uint8_t *rgb;
    tfr_status status;
    if (size.channels == 1)
        return tfr__image_rows(bytes, k->bytes, &size, out, err);
    rgb = malloc(pixels * 3);
    if (!rgb)
        return tfr_fail(err, TFR_ENOMEM, "no memory for an image of %u x %u", size.width,
                        size.height);
    status = tfr__image_rows(bytes, k->bytes, &size, rgb, err);
    if (!status)
        make_grey(rgb, out, pixels);
    free(rgb);
    return status;
}

static int32_t image_launch(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                            const tfr_launch *launch, tfr_err *err)
{
    const void *bytes = launch->args[0].address;
    uint8_t *out = launch->args[1].address;
    tfr__image_size size;
    tfr_status status = tfr__image_look(bytes, kernel->bytes, &size, err);
    (void)device, (void)queue;
    if (!status && (size.height != kernel->dims[0] || size.width != kernel->dims[1]))
        status = tfr_fail(err, TFR_EMODEL, "the image has %u x %u pixels, the plan is for %d x %d",
                          size.width, size.height, (int)kernel->dims[1], (int)kernel->dims[0]);
    if (status)
        return status;
    if (kernel->format == FORMAT_GREY)
        return decode_grey(bytes, kernel, size, out, err);
    size.channels = 3;
    status = tfr__image_rows(bytes, kernel->bytes, &size, out, err);
    if (!status && kernel->format == FORMAT_BGR)
        swap_red_and_blue(out, (size_t)size.height * size.width);
    return status;
}

static void image_drop(tfr_plugin_device *device, tfr_kernel *kernel)
{
    (void)device;
    free(kernel);
}

static const tfr_kernel_facet image_kernel_facet = {.size = sizeof(tfr_kernel_facet),
                                                    .flags = TFR_KERNEL_PREPARE_ANY,
                                                    .ops = image_ops,
                                                    .supports = image_supports,
                                                    .prepare = image_prepare,
                                                    .launch = image_launch,
                                                    .drop = image_drop};

/* ---- the plugin ------------------------------------------------------------------------------ */

static int32_t image_open(const tfr_device_info *info, const tfr_open_options *options,
                          tfr_plugin_device **out, tfr_err *err)
{
    (void)info, (void)options, (void)err;
    *out = &image_device;
    return TFR_OK;
}

static void image_close(tfr_plugin_device *device)
{
    (void)device;
}

static const void *image_facet(const char *id)
{
    if (strcmp(id, TFR_MEMORY_V1) == 0)
        return &tfr_host_device_memory;
    if (strcmp(id, TFR_OPS_V1) == 0)
        return &image_ops_facet;
    return strcmp(id, TFR_KERNEL_V1) == 0 ? &image_kernel_facet : NULL;
}

static const tfr_plugin image_plugin = {.size = sizeof(tfr_plugin),
                                        .abi_minor = TFR_ABI_MINOR,
                                        .name = "image",
                                        .version = "0.1.0",
                                        .vendor = "tfrun",
                                        .enumerate = tfr_host_device_enumerate,
                                        .open = image_open,
                                        .close = image_close,
                                        .facet = image_facet};

int32_t tfrun_plugin_v0(const tfr_host *host, const tfr_plugin **out, tfr_err *err)
{
    (void)host, (void)err;
    *out = &image_plugin;
    return TFR_OK;
}
