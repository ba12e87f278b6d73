/* SPDX-License-Identifier: Apache-2.0 */
/* Placeholder until core/status.c is there. */
#include <tfrun/status.h>

const char *tfr_version(void)
{
    return PACKAGE_VERSION;
}
