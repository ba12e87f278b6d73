/* SPDX-License-Identifier: Apache-2.0 */
/* frame.c: the values of one run of a subgraph (plan.h). */

#include "base/alloc.h"
#include "run/frame.h"

tfr_status tfr__frame_init(tfr__subgraph *subgraph, tfr__frame *frame, tfr_err *err)
{
    size_t n = (size_t)subgraph->graph->n_values + 1;
    frame->subgraph = subgraph;
    frame->n_there = 0;
    frame->values = tfr__calloc(n, sizeof *frame->values);
    frame->there = tfr__alloc(n * sizeof *frame->there);
    if (!frame->values || !frame->there)
        return tfr__no_memory(err);
    return TFR_OK;
}

void tfr__frame_put(tfr__frame *frame, tfr_value v, tfr_tensor *t)
{
    if (!t)
        return;
    if (frame->values[v])
        tfr_tensor_release(frame->values[v]);
    else
        frame->there[frame->n_there++] = v;
    frame->values[v] = t;
}

void tfr__frame_clear(tfr__frame *frame)
{
    for (uint32_t i = 0; i < frame->n_there; i++) {
        tfr_tensor_release(frame->values[frame->there[i]]);
        frame->values[frame->there[i]] = NULL;
    }
    frame->n_there = 0;
}

void tfr__frame_finish(tfr__frame *frame)
{
    tfr__frame_clear(frame);
    tfr__free(frame->values);
    tfr__free(frame->there);
    frame->values = NULL;
    frame->there = NULL;
}

tfr_tensor *tfr__frame_get(const tfr__frame *frame, tfr_value v)
{
    const tfr__value *value = &frame->subgraph->graph->values[v];
    return value->role == TFR__ROLE_CONSTANT ? value->tensor : frame->values[v];
}
