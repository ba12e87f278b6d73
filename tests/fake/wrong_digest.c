/* SPDX-License-Identifier: Apache-2.0 */
/* Claims an op whose schema it has differently. */
#define FAKE_NAME   "wrong-digest"
#define FAKE_DIGEST 12345
#include "fake.h"
