/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass_matmul_add.c: MatMul of two matrices and Add of a row is a Gemm. Products of more than two
 * axes have no such op; there it is for the backend to take the Add in.
 */
#include "optimize/passes.h"

/* A row of n, as [n] or [1, n]. */
static bool is_row(const tfr_value_type *type, int64_t n)
{
    return type->rank_known && n > 0 &&
           ((type->rank == 1 && type->dims[0] == n) ||
            (type->rank == 2 && type->dims[0] == 1 && type->dims[1] == n));
}

static bool is_matrix(const tfr_value_type *type)
{
    return type->rank_known && type->rank == 2;
}

uint32_t tfr__pass_matmul_add(tfr__rewrite *rw)
{
    uint32_t n = 0, n_nodes = rw->graph->n_nodes;
    tfr__match m;
    if (!tfr__rewrite_claimed(rw, "Gemm"))
        return 0;
    for (uint32_t i = 0; i < n_nodes && !rw->status; i++) {
        tfr__attr_list none = {0};
        tfr_value in[3];
        const tfr_value_type *b;
        const tfr__node *node = &rw->graph->nodes[i];
        if (!node->op || !tfr__pattern(rw, node, "Add(MatMul(a,b),c)", &m))
            continue;
        for (int k = 0; k < 3; k++)
            in[k] = tfr__matched(&m, (char)('a' + k));
        b = tfr__rewrite_type(rw, in[1]);
        if (!is_matrix(tfr__rewrite_type(rw, in[0])) || !is_matrix(b) ||
            !is_row(tfr__rewrite_type(rw, in[2]), b->dims[1]))
            continue;
        n += tfr__rewrite_compose(rw, "Gemm", in, 3, &none, node->outputs[0]);
    }
    return n;
}
