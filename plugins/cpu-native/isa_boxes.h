/* SPDX-License-Identifier: Apache-2.0 */
/* isa_boxes.h: which boxes may overlap one too much, a part of isa_kernels.h. */
#include "boxes.h"

static inline vec boxes_excess(const native_boxes *b, const native_near *q, int64_t i)
{
    const vec w =
        V_SUB(V_MIN(V_ALL(q->x1), V_LOAD(b->x1 + i)), V_MAX(V_ALL(q->x0), V_LOAD(b->x0 + i)));
    const vec h =
        V_SUB(V_MIN(V_ALL(q->y1), V_LOAD(b->y1 + i)), V_MAX(V_ALL(q->y0), V_LOAD(b->y0 + i)));
    const vec both = V_FMA(V_MUL(w, h), V_ALL(q->share), V_ALL(q->least));
    const vec excess = V_FNMA(V_ALL(q->iou), V_ADD(V_ALL(q->area), V_LOAD(b->area + i)), both);

    return V_LESS(V_ZERO(), V_MIN(w, h), excess, V_ALL(-1.0f));
}

static int64_t boxes_near(const native_boxes *b, const native_near *q, int64_t i, float *excess)
{
    vec e;

    while (i < b->n) {
        if (i % (4 * LANES) == 0) {
            e = V_MAX(V_MAX(boxes_excess(b, q, i), boxes_excess(b, q, i + LANES)),
                      V_MAX(boxes_excess(b, q, i + 2 * LANES), boxes_excess(b, q, i + 3 * LANES)));
            if (V_GREATEST(e) < 0) {
                i += 4 * LANES;
                continue;
            }
        }
        e = boxes_excess(b, q, i);
        if (V_GREATEST(e) >= 0) {
            V_STORE(excess, e);
            return i;
        }
        i += LANES;
    }
    return -1;
}
