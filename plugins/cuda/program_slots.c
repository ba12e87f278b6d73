/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_slots.c: a chain as fuse.cu is launched with it. Constants, which wait for nothing, come
 * first; what is made takes the slot of what nobody reads any more, so that a block's shared memory
 * has room for many threads; and there are as many elements for each of them as keep the GPU busy.
 */
#include "program.h"

enum { REGISTERS = TFR_FUSED_INPUTS + TFR_FUSED_STEPS, NEVER = REGISTERS };

typedef struct arranger {
    tfr_fused *code;
    int32_t order[TFR_FUSED_STEPS]; /* the number of each step in the chain */
    int32_t last[REGISTERS];        /* by register: the last step that reads it */
    uint8_t slot[REGISTERS];
    bool is_taken[REGISTERS];
    int32_t n_slots;
} arranger;

static bool is_constant(const tfr_fused_step *step)
{
    return step->kind == TFR_FUSED_CONSTANT;
}

static void order_steps(const tfr_fused *from, arranger *a)
{
    int32_t n = 0;

    for (int32_t pass = 0; pass < 2; pass++)
        for (int32_t k = 0; k < from->n_steps; k++)
            if (is_constant(&from->steps[k]) == (pass == 0)) {
                a->order[n] = k;
                a->code->steps[n++] = from->steps[k];
                a->code->n_constants += pass == 0;
            }
}

static void find_last(arranger *a)
{
    const tfr_fused *code = a->code;

    for (int32_t i = 0; i < REGISTERS; i++)
        a->last[i] = -1;
    for (int32_t k = code->n_constants; k < code->n_steps; k++) {
        const tfr_fused_step *s = &code->steps[k];
        a->last[s->a] = a->last[s->b] = a->last[s->c] = k;
    }
    for (int32_t k = 0; k < code->n_outputs; k++)
        a->last[code->outputs[k]] = NEVER;
}

static uint8_t take_slot(arranger *a, int32_t number)
{
    int32_t i = 0;

    while (a->is_taken[i])
        i++;
    a->is_taken[i] = true;
    a->slot[number] = (uint8_t)i;
    a->n_slots = a->n_slots > i ? a->n_slots : i + 1;
    return (uint8_t)i;
}

static void leave_slot(arranger *a, int32_t number, int32_t step)
{
    if (a->last[number] == step)
        a->is_taken[a->slot[number]] = false;
}

/* Step k, after those before it: inputs are read before the result is written. */
static void arrange_step(arranger *a, int32_t k)
{
    const tfr_fused_step *s = &a->code->steps[k];
    const int32_t to = TFR_FUSED_INPUTS + a->order[k];
    uint32_t word = TFR_FUSED_NUMBER(s->kind, s->f.op);

    if (!is_constant(s)) {
        word |= (uint32_t)a->slot[s->a] << 9 | (uint32_t)a->slot[s->b] << 14 |
                (uint32_t)a->slot[s->c] << 19;
        leave_slot(a, s->a, k);
        leave_slot(a, s->b, k);
        leave_slot(a, s->c, k);
    }
    a->code->words[k] = word | (uint32_t)take_slot(a, to) << 24;
    leave_slot(a, to, -1); /* nobody reads it */
}

/* Threads of a block with so many values each. */
static uint32_t find_threads(const arranger *a, bool is_wide)
{
    const int32_t cells = is_wide ? TFR_FUSED_WIDE_CELLS : TFR_FUSED_CELLS;
    const int32_t most = is_wide ? TFR_FUSED_WIDE_THREADS : TFR_FUSED_THREADS;
    const int32_t room = cells / a->n_slots / 32 * 32;

    return (uint32_t)(room < most ? room : most);
}

void cuda_fused_arrange(const cuda_chip *chip, const tfr_fused *code, int32_t dtype,
                        int64_t elements, cuda_fused_launch *out)
{
    static cuda_names few = {CUDA_FLOATS("fuse_"), [TFR_DTYPE_F64] = "fuse_f64"};
    static cuda_names many = {CUDA_FLOATS("fuse_wide_"), [TFR_DTYPE_F64] = "fuse_wide_f64"};
    /* as many as all multiprocessors have threads for at once, or about that */
    const bool is_wide = elements > (int64_t)chip->multiprocessors * 1024;
    arranger a = {.code = &out->code};

    out->code = *code;
    order_steps(code, &a);
    find_last(&a);
    for (int32_t k = 0; k < code->n_inputs; k++)
        (void)take_slot(&a, k);
    for (int32_t k = 0; k < code->n_steps; k++)
        arrange_step(&a, k);
    for (int32_t k = 0; k < code->n_outputs; k++)
        out->code.outputs[k] = a.slot[code->outputs[k]];
    out->kernel = is_wide ? many[dtype] : few[dtype];
    out->threads = find_threads(&a, is_wide);
    out->part = (int64_t)out->threads * (!is_wide                 ? 1
                                         : dtype == TFR_DTYPE_F64 ? TFR_FUSED_WIDE / 2
                                                                  : TFR_FUSED_WIDE);
}
