/* SPDX-License-Identifier: Apache-2.0 */
/* Placeholder. */
#include <stdio.h>

int main(void)
{
    puts("tfrun " PACKAGE_VERSION);
    return 0;
}
