/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade_image.c: ImageDecoder becomes the op of the plugin image, which reads the size of a
 * picture from its header. The core knows no format of images, and cannot infer ONNX's op. A model
 * is written with ONNX's op again.
 */
#include <string.h>
#include <tfrun/fail.h>
#include <tfrun/op.h>

#include "onnx/save.h"
#include "onnx/upgrade.h"

#define PLUGIN_DOMAIN "org.tfrun.image"

tfr_status tfr__upgrade_image_decoder(tfr__onnx_call *call, tfr_err *err)
{
    if (tfr_op_find(PLUGIN_DOMAIN, "ImageDecoder") < 0)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "ImageDecoder is an op of the plugin image, which no runtime of this "
                        "process has; `tfrun plugins` tells where plugins are looked for");
    call->domain = PLUGIN_DOMAIN;
    return TFR_OK;
}

const char *tfr__onnx_saved_domain(const tfr_node_view *node)
{
    return strcmp(node->domain, PLUGIN_DOMAIN) == 0 ? "" : node->domain;
}
