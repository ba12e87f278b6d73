/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a library when it first needs it, and that one is not installed. */
#define FAKE_NAME "opens-missing"
#include "fake.h"

TFR_PLUGIN_OPENS("libtfr-absent.so.7");
