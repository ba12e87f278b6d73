/* SPDX-License-Identifier: Apache-2.0 */
/* Is called like a part of tfrun. */
#define FAKE_NAME "loader"
#include "fake.h"
