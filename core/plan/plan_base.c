/* SPDX-License-Identifier: Apache-2.0 */
/* plan_base.c: what all that makes plans calls, and what calls none of it. */
#include <tfrun/fail.h>

#include "plan/plan.h"

tfr_status tfr__plan_no_memory(tfr_err *err)
{
    return tfr_fail(err, TFR_ENOMEM, "out of memory for a plan");
}
