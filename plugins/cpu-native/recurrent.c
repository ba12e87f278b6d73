/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recurrent.c: RNN, GRU and LSTM of float32.
 *
 * One product makes x W^T plus biases for all steps, directions and entries of the batch. Then
 * directions and parts of the batch, which need nothing of each other, are walked in time on the
 * pool's threads, so that nobody waits for anybody within a step, and R stays in the second cache
 * of the core that walks (recurrent_run.c). What is constant is packed once.
 *
 * ONNX Runtime 1.31 takes on 2 threads of a Xeon with AVX-512, median of rounds in turns, 1.46
 * times as long for 200 steps of two bidirectional LSTM of 256 units, 1.06 with a batch of 16, 2.24
 * for such GRU.
 */
#include <math.h>
#include <string.h>

#include "gemm_layout.h"
#include "recurrent_layer.h"

/* The time from which a second thread pays, and what one does of the steps and of the product. */
#define STEP_FLOPS_PER_NS    25.0
#define PRODUCT_FLOPS_PER_NS 120.0
#define SMALL_NS             8000.0

/* ---- the call ---- */

static const tfr_operand *input(const tfr_call *call, uint32_t i)
{
    return i < call->n_inputs ? tfr_call_input(call, i) : NULL;
}

static const void *data_of(const tfr_call *call, uint32_t i)
{
    const tfr_operand *o = input(call, i);
    return o ? o->data : NULL;
}

static bool read_act(const tfr_call *call, uint64_t i, native_gate_act *f)
{
    static const struct {
        const char *name;
        native_act_kind kind;
    } acts[] = {
        {"Affine", NATIVE_ACT_LINEAR},
        {"Elu", NATIVE_ACT_ELU},
        {"HardSigmoid", NATIVE_ACT_HARD_SIGMOID},
        {"LeakyRelu", NATIVE_ACT_LEAKY},
        {"Relu", NATIVE_ACT_CLIP},
        {"ScaledTanh", NATIVE_ACT_TANH},
        {"Sigmoid", NATIVE_ACT_SIGMOID},
        {"Softplus", NATIVE_ACT_SOFTPLUS},
        {"Softsign", NATIVE_ACT_SOFTSIGN},
        {"Tanh", NATIVE_ACT_TANH},
        {"ThresholdedRelu", NATIVE_ACT_NONE},
    };
    const tfr_attr *names = tfr_call_attr(call, "activations");
    const tfr_attr *alpha = tfr_call_attr(call, "activation_alpha");
    const tfr_attr *beta = tfr_call_attr(call, "activation_beta");
    size_t k;

    if (!names || !alpha || !beta || i >= names->n || i >= alpha->n || i >= beta->n)
        return false;
    for (k = 0; k < sizeof acts / sizeof acts[0]; k++)
        if (strcmp(names->strings[i].data, acts[k].name) == 0)
            break;
    if (k == sizeof acts / sizeof acts[0])
        return false;
    *f = (native_gate_act){
        .act = {.kind = acts[k].kind, .a = alpha->floats[i], .b = beta->floats[i]},
        .before = 1.0f,
        .after = 1.0f};
    if (acts[k].kind == NATIVE_ACT_CLIP)
        f->act = (native_act){.kind = NATIVE_ACT_CLIP, .b = INFINITY};
    if (strcmp(acts[k].name, "ScaledTanh") == 0) {
        f->after = alpha->floats[i];
        f->before = beta->floats[i];
    }
    f->below_is_0 = acts[k].kind == NATIVE_ACT_NONE;
    return true;
}

static void plan_product(const tfr_plugin_device *device, const tfr_call *call, native_layer *l)
{
    const int64_t n = l->directions * l->gates * l->hidden;
    const double flops = 2.0 * (double)(l->steps * l->batch) * (double)(l->inputs * n);
    native_gemm_shape s;

    memset(&s, 0, sizeof s);
    s.m = l->steps * l->batch;
    s.n = s.ldc = n;
    s.k = s.lda = s.ldb = l->inputs;
    s.trans_b = true;
    s.b_packed = data_of(call, W) != NULL;
    s.epilogue.alpha = 1.0f;
    l->product_threads = flops / PRODUCT_FLOPS_PER_NS < SMALL_NS ? 1 : device->threads;
    native_gemm_plan(&l->product, &device->gemm, &s, l->product_threads);
}

/* False: an activation is not known. */
static bool read_layer(const tfr_plugin_device *device, const tfr_call *call, native_layer *l)
{
    const tfr_operand *x = tfr_call_input(call, X), *w = tfr_call_input(call, W);
    const bool lstm = strcmp(call->name, "LSTM") == 0, gru = strcmp(call->name, "GRU") == 0;
    const int n_acts = lstm ? 3 : gru ? 2 : 1;
    int64_t d;
    int i;

    memset(l, 0, sizeof *l);
    l->batch_first = tfr_call_int(call, "layout", 0) != 0;
    l->backwards = strcmp(tfr_call_string(call, "direction", "forward"), "reverse") == 0;
    l->steps = x->dims[l->batch_first ? 1 : 0];
    l->batch = x->dims[l->batch_first ? 0 : 1];
    l->inputs = x->dims[2];
    l->hidden = tfr_call_input(call, R)->dims[2];
    l->directions = w->dims[0];
    l->gates = lstm ? 4 : gru ? 3 : 1;
    l->padded = ceil_div(l->hidden, device->isa->lanes) * device->isa->lanes;
    l->cell = lstm                                                ? NATIVE_CELL_LSTM
              : !gru                                              ? NATIVE_CELL_RNN
              : tfr_call_int(call, "linear_before_reset", 0) != 0 ? NATIVE_CELL_GRU_LINEAR
                                                                  : NATIVE_CELL_GRU;
    for (d = 0; d < l->directions && d < 2; d++) {
        native_recurrent_step *s = &l->step[d];
        s->cell = l->cell;
        s->hidden = l->hidden;
        s->has_clip = tfr_call_attr(call, "clip") != NULL;
        s->clip = tfr_call_float(call, "clip", 0.0f);
        s->input_forget = lstm && tfr_call_int(call, "input_forget", 0) != 0;
        for (i = 0; i < n_acts; i++)
            if (!read_act(call, (uint64_t)(d * n_acts + i), &s->f[i]))
                return false;
    }
    plan_product(device, call, l);
    l->threads = 2.0 * (double)(l->steps * l->batch * l->directions) *
                             (double)(l->gates * l->hidden) * (double)l->hidden /
                             STEP_FLOPS_PER_NS <
                         SMALL_NS
                     ? 1
                     : device->threads;
    return l->directions <= 2;
}

size_t native_recurrent_panel(const native_layer *l)
{
    return (size_t)(l->gates * l->hidden * l->padded);
}

static size_t bias_floats(const native_layer *l)
{
    return (size_t)(l->directions * l->gates * l->hidden);
}

native_recurrent_room native_recurrent_lay_out(const native_layer *l, bool panels_known)
{
    const size_t rows = (size_t)(l->directions * l->batch);
    native_recurrent_room r;

    r.products = aligned(native_gemm_workspace(&l->product, l->product_threads));
    r.bias = r.products + aligned((size_t)(l->steps * l->batch) * bias_floats(l) * sizeof(float));
    r.panels = r.bias + aligned(bias_floats(l) * sizeof(float));
    r.rows = r.panels;
    if (!panels_known)
        r.rows += aligned((size_t)l->directions * native_recurrent_panel(l) * sizeof(float));
    r.vectors = r.rows + aligned(rows * sizeof(native_recurrent_row));
    r.end = r.vectors + rows * ROW_VECTORS * (size_t)l->padded * sizeof(float);
    return r;
}

/* ---- constants ---- */

/* Gates [first, first + n) of R [G H, H] as panels; returns their end. */
static float *pack_gates(const native_layer *l, int lanes, const float *r, int64_t first, int64_t n,
                         float *to)
{
    const int64_t h = l->hidden;
    int64_t block, k, g, i;

    for (block = 0; block < l->padded; block += lanes)
        for (k = 0; k < h; k++)
            for (g = first; g < first + n; g++)
                for (i = block; i < block + lanes; i++)
                    *to++ = i < h ? r[(g * h + i) * h + k] : 0.0f;
    return to;
}

void native_recurrent_pack(const native_layer *l, int lanes, const float *r, float *to)
{
    const int64_t together = l->cell == NATIVE_CELL_GRU ? 2 : l->gates;
    int64_t d;

    for (d = 0; d < l->directions; d++, r += l->gates * l->hidden * l->hidden) {
        to = pack_gates(l, lanes, r, 0, together, to);
        if (together < l->gates)
            to = pack_gates(l, lanes, r, together, l->gates - together, to);
    }
}

/* Wb + Rb, but only Wb of what is reset after its product. */
void native_recurrent_biases(const native_layer *l, const float *b, float *to)
{
    const int64_t n = l->gates * l->hidden;
    int64_t d, i;

    for (d = 0; d < l->directions; d++, b += 2 * n)
        for (i = 0; i < n; i++)
            *to++ =
                l->cell == NATIVE_CELL_GRU_LINEAR && i >= 2 * l->hidden ? b[i] : b[i] + b[n + i];
}

/* ---- supports and prepare ---- */

void native_recurrent_supports(const tfr_plugin_device *device, const tfr_call *call,
                               tfr_answer *answer)
{
    native_layer l;

    if (tfr_call_input(call, X)->dtype != TFR_DTYPE_F32) {
        tfr_decline(answer, TFR_REASON_DTYPE, "only float32 is done here");
        return;
    }
    if (!read_layer(device, call, &l)) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "an activation is not known here");
        return;
    }
    answer->workspace_bytes = native_recurrent_lay_out(&l, data_of(call, R) != NULL).end;
}

void native_recurrent_prepare(native_build *b, const tfr_call *call)
{
    native_recurrent_state *s =
        native_set_function(b, native_recurrent_run, NULL, sizeof *s, "recurrent");
    const float *w = data_of(call, W), *r = data_of(call, R), *bias = data_of(call, B);
    float *panels = NULL, *sums = NULL;
    void *packed = NULL;
    size_t n;
    int i;

    if (!s)
        return;
    (void)read_layer(b->device, call, &s->layer);
    for (i = 0; i < N_INPUTS; i++) {
        s->known[i] = data_of(call, (uint32_t)i);
        s->arg[i] = input(call, (uint32_t)i) ? i : -1;
    }
    for (i = 0; i < N_OUTPUTS; i++)
        s->arg[N_INPUTS + i] = i < (int)call->n_outputs && tfr_call_output(call, (uint32_t)i)
                                   ? (int)call->n_inputs + i
                                   : -1;
    if (w)
        packed = native_add_block(b, s->layer.product.packed_bytes);
    if (packed)
        native_gemm_pack(&s->layer.product, w, packed);
    s->packed_w = packed;
    n = (size_t)s->layer.directions * native_recurrent_panel(&s->layer);
    if (r && bias)
        n += bias_floats(&s->layer);
    if (r)
        panels = native_add_block(b, n * sizeof(float));
    if (!panels)
        return;
    native_recurrent_pack(&s->layer, b->device->isa->lanes, r, panels);
    if (bias)
        sums = panels + (size_t)s->layer.directions * native_recurrent_panel(&s->layer);
    if (sums)
        native_recurrent_biases(&s->layer, bias, sums);
    s->panels = panels;
    s->bias = sums;
}
