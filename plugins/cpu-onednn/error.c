/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.c: oneDNN's status codes as ours. The only place that knows their texts.
 */
#include "onednn.h"

tfr_status onednn_fail(tfr_err *err, dnnl_status_t status, const char *what)
{
    tfr_status code;
    const char *text;

    switch (status) {
    case dnnl_success:
        return TFR_OK;
    case dnnl_out_of_memory:
        code = TFR_ENOMEM;
        text = "out of memory";
        break;
    case dnnl_invalid_arguments:
        code = TFR_EPLUGIN;
        text = "invalid arguments";
        break;
    case dnnl_unimplemented:
        code = TFR_EUNSUPPORTED;
        text = "not implemented for these types and shapes";
        break;
    case dnnl_runtime_error:
        code = TFR_EDEVICE;
        text = "run-time error";
        break;
    default:
        code = TFR_EPLUGIN;
        text = "failed";
        break;
    }
    tfr_fail(err, code, "%s: oneDNN says %s (status %d)", what, text, (int)status);
    if (err && err->size >= offsetof(tfr_err, text))
        err->native = status;
    return code;
}
