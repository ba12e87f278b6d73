/* SPDX-License-Identifier: Apache-2.0 */
/* autodiff_expand.c: the gradients of a node by those of what it is made of. */
#include <stdlib.h>
#include <tfrun/fail.h>

#include "autodiff.h"

void tfr__diff_through(tfr__diff *d, uint32_t first, const tfr_value *outputs)
{
    const uint32_t end = tfr_graph_n_nodes(d->graph);
    tfr__diff part = {.graph = d->graph, .err = d->err, .types = d->types};
    tfr_value *xs = calloc((size_t)d->node.n_inputs + 1, sizeof *xs);
    uint32_t n = 0;
    if (!xs && !d->status)
        d->status = tfr_fail(d->err, TFR_ENOMEM, "out of memory for the gradient of node \"%s\"",
                             d->node.name);
    for (uint32_t i = 0; !d->status && i < d->node.n_inputs; i++)
        if (tfr__diff_wants(d, i))
            xs[n++] = tfr__diff_in(d, i);
    if (!d->status)
        d->status = tfr__diff_start(&part, first, xs, n);
    for (uint32_t k = 0; !d->status && k < d->node.n_outputs; k++) {
        tfr_value g = tfr__diff_gradient(d, k);
        if (g != TFR_VALUE_NONE)
            tfr__diff_seed(&part, outputs[k], g);
    }
    if (!d->status)
        d->status = part.status;
    if (!d->status)
        d->status = tfr__diff_backwards(&part, first, end);
    for (uint32_t i = 0; !d->status && i < n; i++) {
        if (part.gradients[xs[i]] != TFR_VALUE_NONE)
            tfr__diff_seed(d, xs[i], part.gradients[xs[i]]);
        part.gradients[xs[i]] = TFR_VALUE_NONE; /* an operand may stand there twice */
    }
    tfr__diff_finish(&part);
    free(xs);
}
