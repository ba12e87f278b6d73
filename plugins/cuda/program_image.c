/* SPDX-License-Identifier: Apache-2.0 */
/* program_image.c: a pool or its like as a program: it reads and writes images in any order, so
 * that none is brought into another one for it (program_last.c). */
#include "program.h"

/* Operands that lie with the channels last; false: the node does not take them so. */
static bool find_last(const tfr_program_graph *graph, const tfr_program_node *node, uint32_t *last)
{
    const uint32_t n = node->call->n_inputs, inputs = ((uint32_t)1 << n) - 1;
    bool together;
    const uint32_t may = cuda_may_last(node->call, &together);

    *last = 0;
    for (uint32_t k = 0; k < n + node->call->n_outputs; k++) {
        const int32_t v = k < n ? node->inputs[k] : node->outputs[k - n];
        const tfr_program_value *value = v < 0 ? NULL : cuda_value_at(graph, v);
        if (value && (k < n ? value->layout != TFR_LAYOUT_PLAIN
                            : may >> k & 1 && value->flags & TFR_VALUE_ANY_LAYOUT))
            *last |= (uint32_t)1 << k;
    }
    if (together && !(*last & inputs))
        *last = 0;
    return (*last & ~may) == 0 && (!together || *last == 0 || *last == may);
}

int32_t cuda_image_plan(tfr_plugin_device *device, const tfr_program_graph *graph, cuda_plan *plan,
                        uint64_t *workspace, tfr_err *err)
{
    const tfr_program_node *node = cuda_node_at(graph, 0);
    uint32_t last;

    if (!find_last(graph, node, &last) ||
        !cuda_call_plan(device, node->call, last, plan, workspace) || !plan->n_steps)
        return tfr_fail(err, TFR_EUNSUPPORTED, "\"%s\" does not take its images as they lie",
                        node->name);
    return TFR_OK;
}

int32_t cuda_image_number(const cuda_numbering *numbers, const cuda_plan *plan, cuda_step *steps,
                          uint32_t *n, tfr_err *err)
{
    const tfr_program_node *node = cuda_node_at(numbers->graph, 0);
    const uint32_t first = node->call->n_inputs; /* of the outputs */

    for (*n = 0; *n < plan->n_steps; ++*n) {
        steps[*n] = plan->steps[*n];
        for (uint32_t k = 0; k < steps[*n].n_params; k++) {
            cuda_param *p = &steps[*n].params[k];
            if (p->kind != CUDA_PARAM_OPERAND || p->number == CUDA_NO_OPERAND)
                continue;
            p->number =
                cuda_argument(numbers, p->number < first ? node->inputs[p->number]
                                                         : node->outputs[p->number - first]);
            if (p->number == CUDA_NO_OPERAND && !cuda_may_lack(node->call, k))
                return tfr_fail(err, TFR_EUNSUPPORTED, "nobody reads an output of \"%s\"",
                                node->name);
        }
    }
    return TFR_OK;
}
