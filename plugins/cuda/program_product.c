/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_product.c: products and convolutions with what stands behind them: a bias, something as
 * large that is added, Relu, Clip from 0 on, Gelu by tanh. cuBLASLt and cuDNN compute that before
 * they write a sum, our kernels compute Relu so; what nobody takes in is a launch of its own, in
 * place.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

/* ---- what an end is -------------------------------------------------------------------------- */

/* Values by their numbers, -1 = none. */
typedef struct end_code {
    int32_t bias, addend;
    int64_t inner, dim; /* of the bias: element i has number i / inner % dim */
    bool has_steps, has_relu, has_gelu, has_ceiling;
    float ceiling;
} end_code;

static bool is_constant(const tfr_fused *code, uint8_t number, double *value)
{
    const int32_t step = number - TFR_FUSED_INPUTS;

    if (step < 0 || code->steps[step].kind != TFR_FUSED_CONSTANT)
        return false;
    *value = code->steps[step].value;
    return true;
}

static bool read_addition(const cuda_chain *chain, const tfr_fused_step *s, uint8_t sum,
                          end_code *out)
{
    const tfr_fused *code = &chain->code;
    const uint8_t other = s->a == sum ? s->b : s->a;

    if (s->f.op != TFR_FN_Add || (s->a == sum) == (s->b == sum) || other >= code->n_inputs ||
        code->single >> other & 1)
        return false;
    if (!(code->repeated >> other & 1)) {
        if (out->addend >= 0)
            return false;
        out->addend = chain->inputs[other];
        return true;
    }
    if (out->bias >= 0)
        return false;
    out->bias = chain->inputs[other];
    out->inner = code->repeats[other].inner.d;
    out->dim = code->repeats[other].dim.d;
    return true;
}

static bool read_clip(const tfr_fused *code, const tfr_fused_step *s, end_code *out)
{
    double low = 1, high = 0;

    if (!(s->f.mode & 1) || !is_constant(code, s->b, &low) || low != 0)
        return false;
    out->has_relu = true;
    out->has_ceiling = s->f.mode & 2;
    if (out->has_ceiling && (!is_constant(code, s->c, &high) || high < 0))
        return false;
    out->ceiling = (float)high;
    return true;
}

/* One step behind another, from the value to the one output. */
static bool read_end(const cuda_chain *chain, int32_t value, end_code *out)
{
    const tfr_fused *code = &chain->code;
    uint8_t sum = 0;

    *out = (end_code){.bias = -1, .addend = -1};
    while (sum < code->n_inputs && chain->inputs[sum] != value)
        sum++;
    if (sum == code->n_inputs || code->n_outputs != 1 || code->byte_inputs || code->bool_outputs)
        return false;
    for (int32_t k = 0; k < code->n_steps; k++) {
        const tfr_fused_step *s = &code->steps[k];
        bool good = !out->has_relu && !out->has_gelu;
        if (s->kind == TFR_FUSED_CONSTANT)
            continue;
        if (s->kind == TFR_FUSED_BINARY) {
            good = good && read_addition(chain, s, sum, out);
        } else {
            good = good && s->a == sum;
            out->has_relu = s->kind == TFR_FUSED_UNARY && s->f.op == TFR_FN_Relu;
            out->has_gelu =
                s->kind == TFR_FUSED_LONG_UNARY && s->f.op == TFR_FN_Gelu && s->f.a != 0;
            if (s->kind == TFR_FUSED_CLIP)
                good = good && read_clip(code, s, out);
            good = good && (out->has_relu || out->has_gelu);
        }
        if (!good)
            return false;
        out->has_steps = true;
        sum = (uint8_t)(TFR_FUSED_INPUTS + k);
    }
    return code->outputs[0] == sum;
}

/* ---- finding them ---------------------------------------------------------------------------- */

static bool is_product(const tfr_program_node *node)
{
    static const char *const names[] = {"Conv", "Gemm", "MatMul"};
    bool found = false;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        found = found || strcmp(node->call->name, names[i]) == 0;
    return found && node->flags & TFR_NODE_MINE && !node->call->domain[0];
}

/* What a product makes is read by a chain alone, which is an end of it. */
static bool ends_with(const tfr_program_graph *graph, const cuda_chains *chains,
                      const tfr_program_node *node, int32_t number, cuda_chain *chain)
{
    const tfr_call *last = cuda_node_at(graph, (uint32_t)number)->call;
    const tfr_operand *out = tfr_call_output(node->call, 0);
    const tfr_program_value *value = cuda_value_at(graph, node->outputs[0]);
    end_code code;

    return !(value->flags & TFR_VALUE_OUTPUT) && tfr_operand_elements(out) > 0 &&
           tfr_operand_same_dims(out, tfr_call_output(last, 0)) &&
           cuda_chain_make(graph, chains, number, false, chain) && chain->dtype == out->dtype &&
           read_end(chain, node->outputs[0], &code);
}

/* By value: the one chain that reads it, -1 = nobody, -2 = others. */
static void find_readers(const tfr_program_graph *graph, const cuda_chains *chains, int32_t *reader)
{
    for (uint32_t v = 0; v < graph->n_values; v++)
        reader[v] = -1;
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const tfr_program_node *node = cuda_node_at(graph, i);
        const int32_t chain = chains->of[i] < 0 ? -2 : chains->of[i];
        for (uint32_t k = 0; k < node->call->n_inputs; k++) {
            const int32_t v = node->inputs[k];
            if (v >= 0)
                reader[v] = reader[v] == -1 || reader[v] == chain ? chain : -2;
        }
    }
}

int32_t cuda_ends_find(const tfr_program_graph *graph, cuda_chains *chains, tfr_err *err)
{
    int32_t *reader = malloc((graph->n_values + 1) * sizeof *reader);
    cuda_chain *chain = malloc(sizeof *chain);
    int32_t status = TFR_OK;

    if (!reader || !chain)
        status = tfr_fail(err, TFR_ENOMEM, "no memory for the ends of products");
    else
        find_readers(graph, chains, reader);
    for (uint32_t i = 0; i < graph->n_nodes && status == TFR_OK; i++) {
        const tfr_program_node *node = cuda_node_at(graph, i);
        if (!is_product(node) || node->outputs[0] < 0 || reader[node->outputs[0]] < 0)
            continue;
        if (ends_with(graph, chains, node, reader[node->outputs[0]], chain))
            chains->product[reader[node->outputs[0]]] = (int32_t)i;
    }
    free(reader);
    free(chain);
    return status;
}

/* ---- making them ----------------------------------------------------------------------------- */

/* From operands of the call to arguments of launch: the output is that of the chain. */
typedef struct renumbering {
    const cuda_numbering *numbers;
    const tfr_program_node *node;
    int32_t output;
} renumbering;

static uint16_t renumber(const renumbering *r, uint32_t operand)
{
    if (operand == CUDA_NO_OPERAND)
        return CUDA_NO_OPERAND;
    return cuda_argument(r->numbers,
                         operand < r->node->call->n_inputs ? r->node->inputs[operand] : r->output);
}

static void renumber_plan(const renumbering *r, cuda_plan *plan)
{
    cuda_product *p = &plan->product;
    cuda_convolution *c = &plan->convolution;
    uint16_t *const all[] = {&p->a, &p->b, &p->y, &p->bias, &p->addend,
                             &c->x, &c->w, &c->y, &c->bias, &c->addend};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] = renumber(r, *all[i]);
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        cuda_step *step = &plan->steps[i];
        for (uint32_t k = 0; k < step->n_params; k++)
            if (step->params[k].kind == CUDA_PARAM_OPERAND)
                step->params[k].number = renumber(r, step->params[k].number);
        for (uint32_t k = 0; k < step->n_addresses; k++)
            step->addresses[k].operand = renumber(r, step->addresses[k].operand);
    }
}

/* False: cuBLASLt has no such end. */
static bool end_product(const renumbering *r, const end_code *end, cuda_product *p)
{
    if (!p->is_set || end->has_ceiling)
        return false;
    if (end->bias >= 0) {
        if (p->bias != CUDA_NO_OPERAND || end->inner != 1 || end->dim != p->n)
            return false;
        p->bias = cuda_argument(r->numbers, end->bias);
    }
    if (end->addend >= 0) {
        if (p->addend != CUDA_NO_OPERAND)
            return false;
        p->addend = cuda_argument(r->numbers, end->addend);
        p->beta = 1;
    }
    p->activation = end->has_relu   ? CUDA_ACTIVATION_RELU
                    : end->has_gelu ? CUDA_ACTIVATION_GELU
                                    : CUDA_ACTIVATION_NONE;
    return true;
}

/* False: cuDNN has no such end. */
static bool end_convolution(const renumbering *r, const end_code *end, cuda_convolution *c)
{
    const tfr_call *call = r->node->call;
    const bool is_strict =
        tfr_call_input(call, 0)->dtype == TFR_DTYPE_F32 && call->math_mode < TFR_MATH_TF32;

    if (c->kind != CUDA_CONV_FORWARD)
        return c->kind != CUDA_CONV_NONE && !end->has_steps;
    /* It has no engine on tensor cores for Relu with a ceiling. */
    if (end->has_gelu || (end->has_ceiling && !is_strict))
        return false;
    if (end->bias >= 0) {
        if (c->bias != CUDA_NO_OPERAND || end->inner != c->y_dims[2] * c->y_dims[3] ||
            end->dim != c->y_dims[1])
            return false;
        c->bias = cuda_argument(r->numbers, end->bias);
    }
    if (end->addend >= 0)
        c->addend = cuda_argument(r->numbers, end->addend);
    c->has_relu = end->has_relu;
    c->has_ceiling = end->has_ceiling;
    c->ceiling = end->ceiling;
    return true;
}

/* Says whether the channels of what it writes are last; a filter lies as it does. */
static void set_output_last(cuda_convolution *c, bool is_last)
{
    if (c->kind == CUDA_CONV_FORWARD)
        c->y_last = is_last;
    else if (c->kind == CUDA_CONV_GRAD_INPUT)
        c->x_last = is_last;
}

/* A library for the plan, with the channels last if they may be. */
static int32_t find_engine(tfr_plugin_device *device, const renumbering *r, bool may_last,
                           cuda_plan *plan, cuda_end *out, tfr_err *err)
{
    int32_t status = TFR_OK;

    for (int last = may_last; last >= 0 && status == TFR_OK && !out->engine; last--) {
        set_output_last(&plan->convolution, last);
        out->y_last = last;
        status = cuda_engine_make(device, r->node->call, plan, &out->engine, err);
    }
    return status;
}

/* With the whole end, or without it. */
static int32_t make_engine(tfr_plugin_device *device, const renumbering *r, const end_code *end,
                           bool may_last, bool can_last, cuda_plan *plan, cuda_end *out,
                           tfr_err *err)
{
    const cuda_product product = plan->product;
    const cuda_convolution convolution = plan->convolution;
    int32_t status = TFR_OK;

    if (end_product(r, end, &plan->product) || end_convolution(r, end, &plan->convolution))
        status = find_engine(device, r, may_last, plan, out, err);
    if (status != TFR_OK || out->engine)
        return status;
    plan->product = product;
    plan->convolution = convolution;
    out->has_chain = end->has_steps;
    return find_engine(device, r, may_last && can_last, plan, out, err);
}

/* ---- channels last --------------------------------------------------------------------------- */

static bool is_last(const cuda_numbering *numbers, int32_t value)
{
    return value >= 0 && cuda_value_at(numbers->graph, value)->layout != TFR_LAYOUT_PLAIN;
}

void cuda_no_end(const tfr_program_graph *graph, int32_t number, cuda_chain *out)
{
    const tfr_program_node *node = cuda_node_at(graph, (uint32_t)number);

    memset(out, 0, sizeof *out);
    out->dtype = tfr_call_output(node->call, 0)->dtype;
    out->n = tfr_operand_elements(tfr_call_output(node->call, 0));
    out->code.n_inputs = out->code.n_outputs = 1;
    out->inputs[0] = out->outputs[0] = node->outputs[0];
}

/* How the operands of a convolution lie, which it numbers as its node does. False: they cannot be
 * read so, or not by our kernels. */
static bool take_layouts(const cuda_numbering *numbers, const tfr_program_node *node,
                         const end_code *end, cuda_plan *plan)
{
    cuda_convolution *c = &plan->convolution;

    for (uint32_t k = 0; k < node->call->n_inputs; k++) {
        if (!is_last(numbers, node->inputs[k]))
            continue;
        if (c->kind == CUDA_CONV_NONE || (k != c->x && k != c->y))
            return false;
        *(k == c->x ? &c->x_last : &c->y_last) = true;
    }
    c->addend_last = is_last(numbers, end->addend);
    return true;
}

static void set_relu(cuda_plan *plan)
{
    const int32_t one = 1;

    memcpy(plan->steps[plan->relu_step].bytes + plan->relu_at, &one, sizeof one);
}

int32_t cuda_end_make(tfr_plugin_device *device, const cuda_numbering *numbers, int32_t number,
                      const cuda_chain *chain, bool can_last, cuda_plan *plan, cuda_end *out,
                      tfr_err *err)
{
    const tfr_program_node *node = cuda_node_at(numbers->graph, (uint32_t)number);
    const renumbering r = {numbers, node, chain->outputs[0]};
    end_code end;
    bool may_last, has_last;
    int32_t status;

    *out = (cuda_end){.engine = NULL};
    if (!read_end(chain, node->outputs[0], &end) ||
        !cuda_call_plan(device, node->call, 0, plan, &out->workspace_bytes) ||
        !take_layouts(numbers, node, &end, plan))
        return tfr_fail(err, TFR_EUNSUPPORTED, "\"%s\" has no end", node->name);
    may_last = cuda_value_at(numbers->graph, chain->outputs[0])->flags & TFR_VALUE_ANY_LAYOUT &&
               plan->convolution.kind != CUDA_CONV_GRAD_FILTER &&
               cuda_likes_last(&device->facts.chip, &plan->convolution, node->call);
    has_last = plan->convolution.x_last || plan->convolution.y_last;
    renumber_plan(&r, plan);
    status = make_engine(device, &r, &end, may_last, can_last, plan, out, err);
    if (status != TFR_OK)
        return status;
    if (!out->engine && (has_last || !end.has_steps))
        return tfr_fail(err, TFR_EUNSUPPORTED, "\"%s\" has no engine", node->name);
    if (out->engine) {
        out->workspace_bytes = out->engine->workspace_bytes;
    } else if (end.has_relu && !end.has_ceiling && end.bias < 0 && end.addend < 0 &&
               plan->relu_at) {
        set_relu(plan);
        out->has_chain = false;
    }
    return TFR_OK;
}
