/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade_image.c: ImageDecoder becomes the op of the plugin image, which reads the size of a
 * picture from its header. The core knows no format of images, and cannot infer ONNX's op.
 */
#include <tfrun/fail.h>
#include <tfrun/op.h>

#include "onnx/upgrade.h"

tfr_status tfr__upgrade_image_decoder(tfr__onnx_call *call, tfr_err *err)
{
    if (tfr_op_find("org.tfrun.image", "ImageDecoder") < 0)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "ImageDecoder is an op of the plugin image, which no runtime of this "
                        "process has; `tfrun plugins` tells where plugins are looked for");
    call->domain = "org.tfrun.image";
    return TFR_OK;
}
