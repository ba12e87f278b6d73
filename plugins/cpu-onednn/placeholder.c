/* SPDX-License-Identifier: Apache-2.0 */
/* Placeholder. */
#include <tfrun/plugin.h>

int32_t tfrun_plugin_v1(const tfr_host *host, const tfr_plugin **out, tfr_err *err)
{
    (void)host;
    (void)out;
    (void)err;
    return TFR_EUNSUPPORTED;
}
