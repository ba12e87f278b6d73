/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_attention_read.c: the op Attention of ONNX as an item of program_attention.c: heads out
 * of [B, H, T, S] or [B, T, H * S], a mask of float32 or bool, what is_causal and windows hide,
 * heads of keys that several heads of queries share, and the past, which items in front put
 * together with what is new.
 */
#include "program.h"

#include <string.h>

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, LENGTHS };

static bool is_float(const tfr_operand *o)
{
    return o->dtype == TFR_DTYPE_F32 && tfr_operand_elements(o) > 0 &&
           tfr_operand_elements(o) < INT32_MAX / 2;
}

static int64_t heads_of(const tfr_call *call, const tfr_operand *o, const char *attribute)
{
    return o->rank == 3 ? tfr_call_int(call, attribute, 1) : o->dims[1];
}

static int64_t depth_of(const tfr_operand *o, int64_t heads)
{
    return o->rank == 3 ? o->dims[2] / heads : o->dims[3];
}

/* Rows of all keys, the same ones for some dims or all. */
static bool is_mask(const tfr_operand *m, int64_t heads, int64_t rows, int64_t keys, int64_t batch)
{
    const int64_t dims[] = {batch, heads, rows, keys};
    int i;

    if ((m->dtype != TFR_DTYPE_F32 && m->dtype != TFR_DTYPE_BOOL) || m->rank < 1 || m->rank > 4 ||
        m->dims[m->rank - 1] != keys)
        return false;
    for (i = 2; i <= m->rank; i++) {
        if (m->dims[m->rank - i] != 1 && m->dims[m->rank - i] != dims[4 - i])
            return false;
    }
    return true;
}

bool native_attention_form(const tfr_call *call)
{
    const tfr_operand *q = tfr_call_input(call, Q), *k = tfr_call_input(call, K);
    const tfr_operand *v = tfr_call_input(call, V), *mask = tfr_call_input(call, MASK);
    const tfr_operand *past = tfr_call_input(call, PAST_KEY);
    const tfr_operand *past_v = tfr_call_input(call, PAST_VALUE);
    int64_t heads, key_heads, keys;
    uint32_t i;

    if (!q || !k || !v || !is_float(q) || !is_float(k) || !is_float(v) ||
        tfr_call_input(call, LENGTHS) || tfr_call_output(call, 3) || !past != !past_v ||
        q->rank < 3 || q->rank > 4 || k->rank != v->rank || k->rank < 3 || k->rank > 4)
        return false;
    for (i = 0; i < 3; i++) {
        const tfr_operand *o = tfr_call_output(call, i);
        if (o ? !is_float(o) : i == 0)
            return false;
    }
    heads = heads_of(call, q, "q_num_heads");
    key_heads = heads_of(call, k, "kv_num_heads");
    if (heads < 1 || key_heads < 1 || heads % key_heads ||
        heads_of(call, v, "kv_num_heads") != key_heads ||
        depth_of(k, key_heads) != depth_of(q, heads))
        return false;
    if (past && (!is_float(past) || !is_float(past_v) || past->rank != 4 || past_v->rank != 4))
        return false;
    keys = k->dims[k->rank - 2] + (past ? past->dims[2] : 0);
    return keys < INT32_MAX / 4096 &&
           (!mask || is_mask(mask, heads, q->dims[q->rank - 2], keys, q->dims[0]));
}

/* Steps from sample, head, row of [B, H, T, S], or of [B, T, H * S]. */
static void set_steps(int64_t *steps, int rank, int64_t heads, int64_t rows, int64_t depth)
{
    steps[0] = heads * rows * depth;
    steps[1] = rank == 3 ? depth : rows * depth;
    steps[2] = rank == 3 ? heads * depth : depth;
}

/* A part of [B, H, T, S] from row `first` on. */
static void set_part(native_strided *s, const native_value *from, const native_value *to,
                     int64_t first)
{
    const int64_t heads = to->dims[1], depth = to->dims[3], rows = from->dims[from->rank - 2];
    const int64_t dims[] = {to->dims[0], heads, rows, depth};

    s->rank = 4;
    memcpy(s->dims, dims, sizeof dims);
    set_steps(s->steps, from->rank, heads, rows, depth);
    set_steps(s->to_steps, 4, heads, to->dims[2], depth);
    s->steps[3] = s->to_steps[3] = 1;
    s->to_offset = first * depth;
}

/* The past and what is new behind each other, as the output `number` of the node or a value of our
 * own; or what is new alone, if there is neither a past nor an output. */
static int put_together(native_ir *ir, const tfr_program_node *node, const native_item *of,
                        int number, int64_t heads, int64_t depth)
{
    const tfr_operand *past = tfr_call_input(node->call, (uint32_t)(PAST_KEY + number - 1));
    const int from = node->inputs[number];
    const int given = (uint32_t)number < node->call->n_outputs ? node->outputs[number] : -1;
    const int n = past ? 2 : 1;
    native_value value = ir->values[from];
    native_item *item;
    int at;

    if (!past && given < 0)
        return from;
    value.rank = 4;
    value.dims[2] = ir->values[from].dims[ir->values[from].rank - 2] + (past ? past->dims[2] : 0);
    value.dims[1] = heads;
    value.dims[3] = depth;
    item = native_new_item(ir, NATIVE_ITEM_STRIDED);
    if (ir->failed)
        return from;
    item->node = of->node;
    item->call = of->call;
    item->n_inputs = n;
    item->inputs[n - 1] = from;
    if (past)
        item->inputs[0] = node->inputs[PAST_KEY + number - 1];
    item->output = given >= 0 ? given : native_new_value(ir, &value);
    at = native_new_strided(ir, n);
    if (at < 0 || ir->failed)
        return from;
    ir->items[ir->n_items - 1].strided = at;
    if (past)
        set_part(&ir->strided[at], &ir->values[item->inputs[0]], &value, 0);
    set_part(&ir->strided[at + n - 1], &ir->values[from], &value, past ? past->dims[2] : 0);
    return ir->items[ir->n_items - 1].output;
}

static void set_mask(native_heads *h, const native_value *mask)
{
    int64_t step = mask->dims[mask->rank - 1];
    int i;

    for (i = 2; i <= mask->rank; i++) {
        const int64_t n = mask->dims[mask->rank - i];
        h->mask[4 - i] = n > 1 ? step : 0;
        step *= n;
    }
    h->bool_mask = mask->dtype == TFR_DTYPE_BOOL;
}

void native_merge_rows(native_heads *h)
{
    if (h->rows != 1 || h->group == 1 || h->mask[1] != 0)
        return;
    h->heads /= h->group;
    h->rows = h->group;
    h->q[2] = h->q[1];
    h->q[1] *= h->group;
    h->to[2] = h->to[1];
    h->to[1] *= h->group;
    h->mask[2] = 0;
    h->next = 0;
    h->group = 1;
}

void native_read_attention(native_ir *ir, int at, const tfr_program_node *node)
{
    const tfr_call *call = node->call;
    const tfr_operand *q = tfr_call_input(call, Q), *k = tfr_call_input(call, K);
    const tfr_operand *v = tfr_call_input(call, V), *past = tfr_call_input(call, PAST_KEY);
    const int64_t key_heads = heads_of(call, k, "kv_num_heads");
    native_item item = ir->items[at];
    native_heads *h = &item.heads;

    h->heads = heads_of(call, q, "q_num_heads");
    h->group = h->heads / key_heads;
    h->rows = q->dims[q->rank - 2];
    h->keys = k->dims[k->rank - 2] + (past ? past->dims[2] : 0);
    h->depth = depth_of(q, h->heads);
    h->width = depth_of(v, key_heads);
    h->first = past ? past->dims[2] : 0;
    h->next = h->k_term = 1;
    h->zero_rows = true;
    h->left = tfr_call_int(call, "left_window_size", -1);
    h->right = tfr_call_int(call, "right_window_size", -1);
    if (tfr_call_int(call, "is_causal", 0))
        h->right = 0;
    h->softcap = tfr_call_float(call, "softcap", 0.0f);
    item.alpha = tfr_call_attr(call, "scale") ? tfr_call_float(call, "scale", 1.0f)
                                              : 1.0f / sqrtf((float)h->depth);
    /* Items that put together come in front of it. */
    ir->n_items--;
    item.inputs[K] = put_together(ir, node, &item, K, key_heads, h->depth);
    item.inputs[V] = put_together(ir, node, &item, V, key_heads, h->width);
    if (ir->failed)
        return;
    set_steps(h->q, q->rank, h->heads, h->rows, h->depth);
    set_steps(h->to, q->rank, h->heads, h->rows, h->width);
    set_steps(h->k, ir->values[item.inputs[K]].rank, key_heads, h->keys, h->depth);
    set_steps(h->v, ir->values[item.inputs[V]].rank, key_heads, h->keys, h->width);
    item.inputs[MASK] = item.n_inputs > MASK ? item.inputs[MASK] : -1;
    if (item.inputs[MASK] >= 0)
        set_mask(h, &ir->values[item.inputs[MASK]]);
    item.n_inputs = MASK + 1;
    native_merge_rows(h);
    *native_new_item(ir, NATIVE_ITEM_ATTENTION) = item;
}
