/* SPDX-License-Identifier: Apache-2.0 */
/* plan_integer.c: launches of matmul_integer.cu and conv_integer.cu. */
#include "plan_kit.h"

enum { TILE = 64, FLIP = 0x80 };

/* Bytes are signed inside of the kernels. False, and a no, if it is none. */
static bool find_flip(const tfr_operand *o, uint32_t number, int32_t *flip, tfr_answer *answer)
{
    *flip = o->dtype == TFR_DTYPE_U8 ? FLIP : 0;
    if (o->dtype == TFR_DTYPE_U8 || o->dtype == TFR_DTYPE_I8)
        return true;
    tfr_decline(answer, TFR_REASON_DTYPE, "operand %u has element type %d and not bytes", number,
                o->dtype);
    return false;
}

/* 0 for one number, or none, 1 for n of them. False, and a no: there are others. */
static bool find_step(const tfr_call *call, uint32_t number, int64_t n, int32_t *step,
                      tfr_answer *answer)
{
    const tfr_operand *o = tfr_call_input(call, number);
    const int64_t has = o ? tfr_operand_elements(o) : 1;

    *step = has != 1;
    if (has == 1 || has == n)
        return true;
    tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "input %u has %lld numbers and not 1 or %lld",
                number, (long long)has, (long long)n);
    return false;
}

static uint64_t tiles(int64_t M, int64_t N)
{
    return (uint64_t)((M + TILE - 1) / TILE * ((N + TILE - 1) / TILE));
}

/* The inputs in the order of the kernel, the output, and both structs. */
static void plan_integer(const tfr_call *call, cuda_step *step, const uint32_t *inputs, uint32_t n,
                         const void *what, uint32_t bytes, const tfr_integers *q, cuda_plan *plan)
{
    uint32_t i;

    for (i = 0; i < n; i++)
        cuda_step_operand(plan, step, cuda_input_or_none(call, inputs[i]));
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, what, bytes);
    cuda_step_bytes(plan, step, q, sizeof *q);
}

/* Where a, its zero point, b and its zero point are among the inputs. */
typedef struct places {
    uint32_t a, a_zero, b, b_zero;
} places;

static bool fill_matmul(const tfr_call *call, const places *in, tfr_product *p, tfr_integers *q,
                        tfr_answer *answer)
{
    const tfr_operand *a = tfr_call_input(call, in->a), *b = tfr_call_input(call, in->b);

    return find_flip(a, in->a, &q->a_flip, answer) && find_flip(b, in->b, &q->b_flip, answer) &&
           cuda_fill_product(call, a, b, p, answer) &&
           find_step(call, in->a_zero, p->M, &q->a_zeros, answer) &&
           find_step(call, in->b_zero, p->N, &q->b_zeros, answer);
}

CUDA_FAMILY(cuda_matmul_integer)
{
    static const uint32_t inputs[] = {0, 2, 1, 3};
    static const places in = {.a = 0, .b = 1, .a_zero = 2, .b_zero = 3};
    tfr_integers q = {.a_flip = 0};
    cuda_step *step;
    uint64_t blocks;
    tfr_product p;

    (void)chip;
    if (!fill_matmul(call, &in, &p, &q, answer))
        return;
    blocks = tiles(p.M, p.N) * (uint64_t)p.batch.n;
    step = blocks ? cuda_plan_add(plan, "matmul_integer", blocks, 256) : NULL;
    plan_integer(call, step, inputs, 4, &p, sizeof p, &q, plan);
}

CUDA_FAMILY(cuda_qlinear_matmul)
{
    static cuda_names names = {CUDA_FLOATS("qlinear_matmul_")};
    static const uint32_t inputs[] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const places in = {.a = 0, .a_zero = 2, .b = 3, .b_zero = 5};
    const tfr_operand *y = tfr_call_output(call, 0);
    const char *kernel = cuda_pick(names, tfr_call_input(call, 1), 1, answer);
    tfr_integers q = {.y_signed = y->dtype == TFR_DTYPE_I8};
    int32_t flip, none;
    cuda_step *step;
    uint64_t blocks;
    tfr_product p;

    (void)chip;
    if (!kernel || !fill_matmul(call, &in, &p, &q, answer) ||
        !find_flip(y, call->n_inputs, &flip, answer) ||
        !find_step(call, 1, p.M, &q.a_scales, answer) ||
        !find_step(call, 4, p.N, &q.b_scales, answer) || !find_step(call, 6, 1, &none, answer) ||
        !find_step(call, 7, 1, &none, answer))
        return;
    blocks = tiles(p.M, p.N) * (uint64_t)p.batch.n;
    step = blocks ? cuda_plan_add(plan, kernel, blocks, 256) : NULL;
    plan_integer(call, step, inputs, 8, &p, sizeof p, &q, plan);
}

/* a is the filter, whose numbers are one for each of them. */
static bool fill_conv(const tfr_call *call, const places *in, tfr_conv *c, tfr_integers *q,
                      tfr_answer *answer)
{
    const tfr_operand *w = tfr_call_input(call, in->a), *x = tfr_call_input(call, in->b);
    int32_t none;

    return find_flip(w, in->a, &q->a_flip, answer) && find_flip(x, in->b, &q->b_flip, answer) &&
           cuda_call_fits(call, answer) &&
           cuda_fill_conv(call, x, w, tfr_call_output(call, 0), c, answer) &&
           find_step(call, in->a_zero, w->dims[0], &q->a_zeros, answer) &&
           find_step(call, in->b_zero, 1, &none, answer);
}

static uint64_t conv_tiles(const tfr_conv *c)
{
    return tiles(c->filters, (int64_t)c->batch * c->y_plane.d) * (uint64_t)c->groups;
}

CUDA_FAMILY(cuda_conv_integer)
{
    static const uint32_t inputs[] = {0, 2, 1, 3};
    static const places in = {.a = 1, .b = 0, .a_zero = 3, .b_zero = 2};
    tfr_integers q = {.a_flip = 0};
    cuda_step *step;
    tfr_conv c;

    (void)chip;
    if (!fill_conv(call, &in, &c, &q, answer) ||
        tfr_operand_elements(tfr_call_output(call, 0)) == 0)
        return;
    step = cuda_plan_add(plan, "conv_integer", conv_tiles(&c), 256);
    plan_integer(call, step, inputs, 4, &c, sizeof c, &q, plan);
}

CUDA_FAMILY(cuda_qlinear_conv)
{
    static const uint32_t inputs[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    static const places in = {.a = 3, .a_zero = 5, .b = 0, .b_zero = 2};
    const tfr_operand *y = tfr_call_output(call, 0);
    tfr_integers q = {.y_signed = y->dtype == TFR_DTYPE_I8};
    int32_t flip, none;
    cuda_step *step;
    tfr_conv c;

    (void)chip;
    if (!fill_conv(call, &in, &c, &q, answer) || !find_flip(y, call->n_inputs, &flip, answer) ||
        !find_step(call, 4, tfr_call_input(call, 3)->dims[0], &q.a_scales, answer) ||
        !find_step(call, 1, 1, &none, answer) || !find_step(call, 6, 1, &none, answer) ||
        !find_step(call, 7, 1, &none, answer) || tfr_operand_elements(y) == 0)
        return;
    step = cuda_plan_add(plan, "qlinear_conv", conv_tiles(&c), 256);
    plan_integer(call, step, inputs, 9, &c, sizeof c, &q, plan);
}
