/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key.c: a call as a key of the store of tuning.h: all that its time and a compiler's
 * decisions depend on, the backend aside. Of known operands the bytes count if they are few, as
 * shape arguments, scales and zero points are; of weights the shape alone.
 */
#include "kernel/key.h"
#include "value/bits.h"

#include <tfrun/op.h>

#define SMALL_BYTES 256

static void add_u64(tfr__tuning_key *key, uint64_t value)
{
    tfr__tuning_add(key, &value, sizeof value);
}

void tfr__key_add_operand(tfr__tuning_key *key, const tfr_operand *o)
{
    int32_t head[4] = {0};
    uint64_t bytes;
    if (!o || o->dtype == TFR_DTYPE_NONE) {
        tfr__tuning_add(key, head, sizeof head);
        return;
    }
    head[0] = o->dtype;
    head[1] = o->rank;
    head[2] = o->strides != NULL;
    head[3] = o->data != NULL;
    tfr__tuning_add(key, head, sizeof head);
    tfr__tuning_add(key, o->dims, (size_t)o->rank * sizeof *o->dims);
    bytes = ((uint64_t)tfr_operand_elements(o) * tfr__dtype_bits(o->dtype) + 7) / 8;
    if (o->data && bytes <= SMALL_BYTES && o->dtype != TFR_DTYPE_STRING)
        tfr__tuning_add(key, o->data, (size_t)bytes);
}

static void add_attr(tfr__tuning_key *key, const tfr_attr *a)
{
    tfr__tuning_add_text(key, a->name);
    add_u64(key, (uint64_t)a->type);
    add_u64(key, a->n);
    if (a->ints)
        tfr__tuning_add(key, a->ints, (size_t)a->n * sizeof *a->ints);
    if (a->floats)
        tfr__tuning_add(key, a->floats, (size_t)a->n * sizeof *a->floats);
    for (uint64_t i = 0; a->strings && i < a->n; i++)
        tfr__tuning_add(key, a->strings[i].data, (size_t)a->strings[i].bytes);
    if (a->tensor)
        tfr__key_add_operand(key, a->tensor);
}

void tfr__key_add_op(tfr__tuning_key *key, const tfr_call *call)
{
    const uint32_t head[6] = {(uint32_t)call->since_version,
                              (uint32_t)call->math_mode,
                              call->n_attrs,
                              call->n_inputs,
                              call->n_outputs,
                              call->flags};
    tfr__tuning_add_text(key, call->domain);
    tfr__tuning_add_text(key, call->name);
    tfr__tuning_add(key, &call->digest, sizeof call->digest);
    tfr__tuning_add(key, head, sizeof head);
    for (uint32_t i = 0; i < call->n_attrs; i++)
        add_attr(key, (const tfr_attr *)(const void *)((const char *)call->attrs +
                                                       (size_t)i * call->attr_stride));
}

void tfr__key_add_call(tfr__tuning_key *key, const tfr_call *call)
{
    tfr__key_add_op(key, call);
    for (uint32_t i = 0; i < call->n_inputs; i++)
        tfr__key_add_operand(key, tfr_call_input(call, i));
    for (uint32_t i = 0; i < call->n_outputs; i++)
        tfr__key_add_operand(key, tfr_call_output(call, i));
}
