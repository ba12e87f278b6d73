/* SPDX-License-Identifier: Apache-2.0 */
/* Says yes to strided inputs, and reads them as if they were plain: no further than they reach. */
#define FAKE_NAME "ignores-strides"
#define FAKE_ON_SUPPORTS                                                                           \
    if (x && x->dtype == TFR_DTYPE_F32 && reaches(x)) {                                            \
        answer->verdict = TFR_VERDICT_YES;                                                         \
        return TFR_OK;                                                                             \
    }
#include <tfrun/plugin.h>

/* Are there as many elements behind the first one as the operand has? */
static int reaches(const tfr_operand *x)
{
    int64_t last = 0;
    int32_t d;
    for (d = 0; x->strides && d < x->rank; d++) {
        if (x->strides[d] < 0)
            return 0;
        last += (x->dims[d] - 1) * x->strides[d];
    }
    return !x->strides || last + 1 >= tfr_operand_elements(x);
}
#include "fake.h"
