/* SPDX-License-Identifier: Apache-2.0 */
/* Has a profile facet without its drain. */
#define FAKE_NAME "bad-profile"
#define FAKE_PROFILE
#include "fake.h"
