/* SPDX-License-Identifier: Apache-2.0 */
/* pass_activation.c: activations that exporters write out, in all spellings that are known to
 * occur, as the one op that the standard has for each. */
#include <stdio.h>

#include "optimize/passes.h"

/* 1 + erf(x / sqrt 2), and 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)), which comes factored, too. */
#define ERF  "Add(Erf({Div(x,1.41421356237)|Mul(x,.70710678119)}),1)"
#define CUBE "{Pow(x,3)|Mul(x,{Mul(x,x)|Pow(x,2)})|Mul({Mul(x,x)|Pow(x,2)},x)}"
#define TANH                                                                                       \
    "Add(Tanh({Mul(Add(x,Mul(" CUBE ",.044715)),.79788456080)|"                                    \
    "Mul(Mul(x,.79788456080),Add({Mul(Mul(x,.044715),x)|Mul({Mul(x,x)|Pow(x,2)},.044715)},1))|"    \
    "Mul(x,Mul(Add({Mul(Mul(x,.044715),x)|Mul({Mul(x,x)|Pow(x,2)},.044715)},1),.79788456080))}),"  \
    "1)"
/* x times half of one of these, multiplied in any order. */
#define HALF "{Mul(Mul(x,%1$s),.5)|Mul(Mul(x,.5),%1$s)|Mul(x,Mul(%1$s,.5))}"

static const struct {
    const char *op, *pattern; /* with part printed into it */
    const char *part, *attr, *value;
} activations[] = {
    {"Gelu", HALF, ERF, NULL, NULL},
    {"Gelu", HALF, TANH, "approximate", "tanh"},
    {"Swish", "Mul(x,Sigmoid(x))", NULL, NULL, NULL},
    {"HardSwish", "{Mul(x,Div(Clip(Add(x,3),0,6),6))|Div(Mul(x,Clip(Add(x,3),0,6)),6)}", NULL, NULL,
     NULL},
    {"Mish", "Mul(x,Tanh(Softplus(x)))", NULL, NULL, NULL},
};

uint32_t tfr__pass_activation(tfr__rewrite *rw)
{
    uint32_t n = 0, n_nodes = rw->graph->n_nodes;
    for (size_t a = 0; a < sizeof activations / sizeof activations[0]; a++) {
        const char *attr = activations[a].attr, *value = activations[a].value;
        char pattern[1200];
        snprintf(pattern, sizeof pattern, activations[a].pattern, activations[a].part);
        if (!tfr__rewrite_claimed(rw, activations[a].op))
            continue;
        for (uint32_t i = 0; i < n_nodes && !rw->status; i++) {
            const tfr__node *node = &rw->graph->nodes[i];
            tfr__attr_list attrs = {0};
            tfr__match m;
            tfr_value x;
            if (!node->op || !tfr__pattern(rw, node, pattern, &m))
                continue;
            x = tfr__matched(&m, 'x');
            /* Constants of rank 1 make a scalar x a vector. */
            if (m.rank &&
                (!tfr__rewrite_type(rw, x)->rank_known || tfr__rewrite_type(rw, x)->rank < m.rank))
                continue;
            if (attr && tfr__attr_set_string(&attrs, attr, value, 4, NULL))
                rw->status = TFR_ENOMEM;
            n += tfr__rewrite_compose(rw, activations[a].op, &x, 1, &attrs, node->outputs[0]);
        }
    }
    return n;
}
