/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_code.c: a chain of program_fuse.c as fuse.cu takes it: registers for inputs and for what
 * each step makes, constants of one element as steps.
 */
#include "program.h"

#include <math.h>
#include <string.h>

bool cuda_find_repeat(const tfr_operand *in, const tfr_operand *out, int64_t *inner, int64_t *dim)
{
    bool has_begun = false, has_ended = false;

    *inner = *dim = 1;
    if (in->rank > out->rank)
        return false;
    for (int32_t d = 1; d <= out->rank; d++) {
        const int64_t here = d <= in->rank ? in->dims[in->rank - d] : 1;
        const int64_t all = out->dims[out->rank - d];
        if (all == 1)
            continue;
        if (here != 1 && (here != all || has_ended))
            return false;
        has_begun = has_begun || here != 1;
        has_ended = has_begun && here == 1;
        if (here != 1)
            *dim *= all;
        else if (!has_begun)
            *inner *= all;
    }
    return true;
}

/* While a chain is written: which value lies in which register. */
typedef struct writer {
    const tfr_program_graph *graph;
    cuda_chain *chain;
    const tfr_operand *out; /* of any of its nodes */
    int32_t sum;            /* the product's value, which lies as the outputs do; -1 = none */
    int32_t values[TFR_FUSED_INPUTS + TFR_FUSED_STEPS]; /* by register; -1 = none */
    bool is_full;
} writer;

static uint8_t add_step(writer *w, const tfr_fused_step *step, int32_t value)
{
    tfr_fused *code = &w->chain->code;
    const int32_t number = TFR_FUSED_INPUTS + code->n_steps;

    if (code->n_steps == TFR_FUSED_STEPS) {
        w->is_full = true;
        return 0;
    }
    code->steps[code->n_steps++] = *step;
    w->values[number] = value;
    return (uint8_t)number;
}

/* A repeat of a chain whose channels are last: a bias of channels, or one of samples. */
static bool find_last(const tfr_operand *out, int64_t *inner, int64_t dim)
{
    const int64_t plane = out->dims[2] * out->dims[3];

    if (*inner == plane && dim == out->dims[1])
        *inner = 1;
    else
        return *inner == plane * out->dims[1];
    return true;
}

/* Of the values that a cast of the chain reads. */
static void set_type(writer *w, int32_t number, int32_t dtype)
{
    tfr_fused *code = &w->chain->code;
    const uint32_t type = dtype == TFR_DTYPE_I32   ? TFR_FUSED_I32
                          : dtype == TFR_DTYPE_I64 ? TFR_FUSED_I64
                                                   : TFR_FUSED_F32;

    if (dtype == TFR_DTYPE_BOOL || dtype == TFR_DTYPE_U8) {
        code->byte_inputs |= 1u << number;
    } else if (dtype != w->chain->dtype) {
        code->cast_inputs |= 1u << number;
        code->input_types |= type << 4 * number;
    }
}

static uint8_t add_input(writer *w, int32_t value, const tfr_operand *o)
{
    tfr_fused *code = &w->chain->code;
    const int32_t number = code->n_inputs;
    int64_t inner, dim;

    if (number == TFR_FUSED_INPUTS) {
        w->is_full = true;
        return 0;
    }
    if (!tfr_operand_same_dims(o, w->out) && cuda_value_at(w->graph, value)->layout)
        w->is_full = true;
    code->single |= (uint32_t)cuda_is_single(o) << number;
    set_type(w, number, o->dtype);
    if (tfr_operand_same_dims(o, w->out) && !cuda_is_single(o)) {
        const bool is_last = cuda_value_at(w->graph, value)->layout != TFR_LAYOUT_PLAIN;
        code->swapped |= (uint32_t)(value != w->sum && is_last != w->chain->is_last) << number;
    } else if (!cuda_is_single(o) && cuda_find_repeat(o, w->out, &inner, &dim)) {
        w->is_full = w->is_full || (w->chain->is_last && !find_last(w->out, &inner, dim));
        code->repeated |= 1u << number;
        code->repeats[number].inner = cuda_divisor(inner);
        code->repeats[number].dim = cuda_divisor(dim);
    }
    code->n_inputs++;
    w->chain->inputs[number] = value;
    w->values[number] = value;
    return (uint8_t)number;
}

static double half_value(const tfr_operand *o)
{
    uint16_t bits;
    double value;

    memcpy(&bits, o->data, sizeof bits);
    if (o->dtype == TFR_DTYPE_BF16) {
        const uint32_t wide = (uint32_t)bits << 16;
        float f;
        memcpy(&f, &wide, sizeof f);
        return (double)f;
    }
    if ((bits & 0x7c00) == 0x7c00)
        value = bits & 0x3ff ? NAN : INFINITY;
    else if (bits & 0x7c00)
        value = ldexp(0x400 + (bits & 0x3ff), (bits >> 10 & 31) - 25);
    else
        value = ldexp(bits & 0x3ff, -24);
    return bits & 0x8000 ? -value : value;
}

/* A number that is known. */
static uint8_t add_constant(writer *w, int32_t value, const tfr_operand *o)
{
    tfr_fused_step step;
    float f = 0;

    memset(&step, 0, sizeof step);
    step.kind = TFR_FUSED_CONSTANT;
    if (o->dtype == TFR_DTYPE_F64) {
        memcpy(&step.value, o->data, sizeof step.value);
    } else if (o->dtype == TFR_DTYPE_F32) {
        memcpy(&f, o->data, sizeof f);
        step.value = (double)f;
    } else if (o->dtype == TFR_DTYPE_I32) {
        int32_t i;
        memcpy(&i, o->data, sizeof i);
        step.value = (double)i;
    } else if (o->dtype == TFR_DTYPE_I64) {
        int64_t i;
        memcpy(&i, o->data, sizeof i);
        step.value = (double)i;
        /* else it would be rounded twice, to float64 here and to float32 there */
        w->is_full = w->is_full || i < -(1ll << 53) || i > 1ll << 53;
    } else if (o->dtype == TFR_DTYPE_BOOL || o->dtype == TFR_DTYPE_U8) {
        step.value = *(const unsigned char *)o->data;
    } else {
        step.value = half_value(o);
    }
    return add_step(w, &step, value);
}

/* Where the value lies; a number that is known becomes part of the code. */
static uint8_t find_register(writer *w, int32_t value)
{
    const tfr_operand *o = cuda_value_at(w->graph, value)->operand;

    for (int32_t i = 0; i < TFR_FUSED_INPUTS + w->chain->code.n_steps; i++)
        if (w->values[i] == value)
            return (uint8_t)i;
    return o->data && cuda_is_single(o) ? add_constant(w, value, o) : add_input(w, value, o);
}

static void write_node(writer *w, const tfr_program_node *node)
{
    tfr_fused_step step;

    memset(&step, 0, sizeof step); /* codes are compared as bytes */
    (void)cuda_fused_step(node->call, &step);
    step.a = step.b = step.c = find_register(w, node->inputs[0]);
    if (node->call->n_inputs > 1 && node->inputs[1] >= 0)
        step.b = find_register(w, node->inputs[1]);
    if (node->call->n_inputs > 2 && node->inputs[2] >= 0)
        step.c = find_register(w, node->inputs[2]);
    (void)add_step(w, &step, node->outputs[0]);
}

/* Does a node that is not in the chain read the value? */
static bool is_read_beside(const tfr_program_graph *graph, const cuda_chains *chains,
                           int32_t number, int32_t value)
{
    uint32_t left = cuda_value_at(graph, value)->n_readers;

    for (uint32_t i = 0; i < graph->n_nodes && left; i++) {
        const tfr_program_node *node = cuda_node_at(graph, i);
        bool reads = false;
        for (uint32_t k = 0; k < node->call->n_inputs; k++)
            reads = reads || node->inputs[k] == value;
        if (reads && chains->of[i] != number)
            return true;
        left -= reads;
    }
    return false;
}

static void write_output(writer *w, int32_t value)
{
    tfr_fused *code = &w->chain->code;
    const int32_t dtype = cuda_value_at(w->graph, value)->operand->dtype;
    const bool is_bool = dtype == TFR_DTYPE_BOOL;
    const bool is_float = dtype == TFR_DTYPE_F32 && w->chain->dtype == TFR_DTYPE_F64;

    if (code->n_outputs == TFR_FUSED_OUTPUTS) {
        w->is_full = true;
        return;
    }
    code->bool_outputs |= (uint32_t)is_bool << code->n_outputs;
    code->float_outputs |= (uint32_t)is_float << code->n_outputs;
    w->chain->outputs[code->n_outputs] = value;
    code->outputs[code->n_outputs++] = find_register(w, value);
}

/* Channels are last in the outputs if they are in an input and all outputs may lie so; behind a
 * product as is_last says. */
static void find_layout(const tfr_program_graph *graph, const cuda_chains *chains, int32_t number,
                        bool is_last, cuda_chain *out)
{
    const tfr_operand *o = tfr_call_output(cuda_node_at(graph, (uint32_t)number)->call, 0);
    bool has_last = false, may_be = o->rank == 4;

    for (uint32_t i = 0; i < graph->n_nodes && may_be; i++) {
        const tfr_program_node *node = cuda_node_at(graph, i);
        const tfr_program_value *value = cuda_value_at(graph, node->outputs[0]);
        if (chains->of[i] != number)
            continue;
        may_be = !(value->flags & TFR_VALUE_OUTPUT) || value->flags & TFR_VALUE_ANY_LAYOUT;
        for (uint32_t k = 0; k < node->call->n_inputs; k++)
            has_last =
                has_last || (node->inputs[k] >= 0 && cuda_value_at(graph, node->inputs[k])->layout);
    }
    out->is_last = chains->product[number] < 0 ? may_be && has_last : is_last && o->rank == 4;
    if (o->rank == 4) {
        const int64_t plane = o->dims[2] * o->dims[3];
        out->code.sample = cuda_divisor(plane * o->dims[1]);
        out->code.row = cuda_divisor(out->is_last ? o->dims[1] : plane);
        out->code.rows = (int32_t)(out->is_last ? plane : o->dims[1]);
    }
}

bool cuda_chain_make(const tfr_program_graph *graph, const cuda_chains *chains, int32_t number,
                     bool is_last, cuda_chain *out)
{
    const int32_t product = chains->product[number];
    writer w = {.graph = graph,
                .chain = out,
                .sum = product < 0 ? -1 : cuda_node_at(graph, (uint32_t)product)->outputs[0],
                .out = tfr_call_output(cuda_node_at(graph, (uint32_t)number)->call, 0)};

    memset(out, 0, sizeof *out);
    memset(w.values, 0xff, sizeof w.values);
    out->dtype = cuda_type_of(cuda_node_at(graph, (uint32_t)number));
    out->n = tfr_operand_elements(w.out);
    find_layout(graph, chains, number, is_last, out);
    for (uint32_t i = 0; i < graph->n_nodes && !w.is_full; i++)
        if (chains->of[i] == number)
            write_node(&w, cuda_node_at(graph, i));
    for (uint32_t i = 0; i < graph->n_nodes && !w.is_full; i++) {
        const tfr_program_node *node = cuda_node_at(graph, i);
        const int32_t value = node->outputs[0];
        if (chains->of[i] != number)
            continue;
        if (cuda_value_at(graph, value)->flags & TFR_VALUE_OUTPUT ||
            is_read_beside(graph, chains, number, value))
            write_output(&w, value);
    }
    if (!out->code.swapped) { /* equal codes are equal bytes */
        out->code.sample = out->code.row = (tfr_divisor){0, 0, 0};
        out->code.rows = 0;
    }
    return !w.is_full && out->code.n_outputs > 0;
}
