/* SPDX-License-Identifier: Apache-2.0 */
/* Throws a C++ exception across the border. Not built by make: the test looks for a compiler. */
#include <stdexcept>
#include <tfrun/plugin.h>

int32_t tfrun_plugin_v0(const tfr_host *, const tfr_plugin **, tfr_err *)
{
    throw std::runtime_error("thrown across the border");
}

TFR_PLUGIN_NOTE("throws", TFR_PLUGIN_BACKEND, 10, "");
