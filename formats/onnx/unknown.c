/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unknown.c: the ops of a model that nobody knows, all at once: who has to change a model, or to
 * find a plugin for it, wants to see the whole list at the first try.
 */
#include <stdio.h>
#include <string.h>

#include "onnx/upgrade.h"

enum { MOST_OPS = 16, NAME_BYTES = 65 };

typedef struct unknown {
    char domain[NAME_BYTES], op[NAME_BYTES];
    uint32_t n_nodes;
} unknown;

typedef struct unknowns {
    unknown items[MOST_OPS];
    uint32_t n, n_more; /* nodes of ops that found no room */
} unknowns;

static void copy(char *to, tfr__text text)
{
    snprintf(to, NAME_BYTES, "%.*s", (int)(text.bytes < NAME_BYTES ? text.bytes : NAME_BYTES),
             text.bytes ? text.data : "");
}

static void count(unknowns *list, const tfr__onnx_model *model, const tfr__onnx_node *node)
{
    unknown u;
    copy(u.domain, node->domain);
    copy(u.op, node->op);
    if (tfr__onnx_knows(u.domain, u.op) ||
        tfr__onnx_find_function(model, node->domain, node->op, node->overload))
        return;
    for (uint32_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].op, u.op) == 0 && strcmp(list->items[i].domain, u.domain) == 0) {
            list->items[i].n_nodes++;
            return;
        }
    u.n_nodes = 1;
    if (list->n < MOST_OPS)
        list->items[list->n++] = u;
    else
        list->n_more++;
}

/* Ops that models have and that are left alone on purpose; op NULL = all of the domain. */
static const struct {
    const char *domain, *op, *why;
} refused[] = {
    {"com.microsoft.nchwc", NULL,
     "it works on weights in the layout of one processor; save the model with optimizations up to "
     "the level extended"},
    {"com.microsoft", "Tokenizer", "it splits texts; split them before the model"},
    {"com.microsoft", "BeamSearch", "it is a loop of generation; run the decoder step by step"},
    {"com.microsoft", "GreedySearch", "it is a loop of generation; run the decoder step by step"},
    {"com.microsoft", "Sampling", "it is a loop of generation; run the decoder step by step"},
    {"com.microsoft", "WhisperBeamSearch",
     "it is a loop of generation; run the decoder step by step"},
    {"com.microsoft", "DecoderMaskedMultiHeadAttention",
     "it reads a cache in the layout of a GPU; export the decoder with MultiHeadAttention"},
    {"com.microsoft", "DecoderMaskedSelfAttention",
     "it reads a cache in the layout of a GPU; export the decoder with Attention"},
};

const char *tfr__onnx_why_refused(const char *domain, const char *op)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strcmp(domain, refused[i].domain) == 0 &&
            (!refused[i].op || strcmp(op, refused[i].op) == 0))
            return refused[i].why;
    return NULL;
}

void tfr__onnx_list_unknown(const tfr__onnx_model *model, char *out, size_t n)
{
    unknowns list = {.n = 0};
    size_t at = 0;
    *out = '\0';
    for (const tfr__onnx_graph *g = model->graphs; g; g = g->next)
        for (uint32_t i = 0; i < g->n_nodes; i++)
            count(&list, model, &g->nodes[i]);
    if (list.n < 2)
        return;
    for (uint32_t i = 0; i < list.n && at < n; i++)
        at += (size_t)snprintf(
            out + at, n - at, "%s%s%s%s (%u)", i ? ", " : "; all such: ", list.items[i].domain,
            *list.items[i].domain ? "." : "", list.items[i].op, list.items[i].n_nodes);
    if (list.n_more && at < n)
        snprintf(out + at, n - at, ", and others (%u)", list.n_more);
}
