/* SPDX-License-Identifier: Apache-2.0 */
/* plan_attention.c: launches of attention.cu and rotary_embedding.cu. */
#include "plan_kit.h"

#include <math.h>

enum {
    TILE_QUERIES = 32,
    FEW_QUERIES = 8, /* fewer, and a block has one of them */
    PART_KEYS = 256, /* that are worth a block of their own */
    MOST_PARTS = 32,
    MOST_ELEMENTS = 256 /* of a head */
};

/* Strides of [B H T S], or of [B T H*S] if its rank is 3. */
static tfr_heads strides_of(const tfr_operand *o, int64_t H, int64_t T, int64_t S)
{
    return o->rank == 3 ? (tfr_heads){(int32_t)(T * H * S), (int32_t)S, (int32_t)(H * S)}
                        : (tfr_heads){(int32_t)(H * T * S), (int32_t)(T * S), (int32_t)S};
}

/* What the kernels do not do. */
static bool is_usual(const tfr_call *call, tfr_answer *answer)
{
    const tfr_operand *q = tfr_call_input(call, 0), *mask = tfr_call_input(call, 3);
    static const uint32_t others[] = {1, 2, 4, 5};

    for (int i = 0; i < 4; i++) {
        const tfr_operand *o = tfr_call_input(call, others[i]);
        if (o && o->dtype != q->dtype) {
            tfr_decline(answer, TFR_REASON_DTYPE, "input %u has type %d, input 0 type %d",
                        others[i], o->dtype, q->dtype);
            return false;
        }
    }
    if (mask && mask->dtype != TFR_DTYPE_BOOL && mask->dtype != q->dtype) {
        tfr_decline(answer, TFR_REASON_DTYPE, "a mask of element type %d", mask->dtype);
        return false;
    }
    if (mask && (mask->rank < 1 || mask->rank > 4)) {
        tfr_decline(answer, TFR_REASON_RANK, "a mask of rank %d", mask->rank);
        return false;
    }
    if (tfr_call_output(call, 3)) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "qk_matmul_output is wanted");
        return false;
    }
    if (!tfr_call_input(call, 4) != !tfr_call_input(call, 5)) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "one of past_key and past_value is absent");
        return false;
    }
    return true;
}

/* The mask is aligned right to [B HQ TQ T]; behind its last dim nothing is seen. */
static void read_mask(const tfr_operand *mask, tfr_attention *a)
{
    int64_t stride = 1;

    a->has_mask = 1;
    a->mask_is_bool = mask->dtype == TFR_DTYPE_BOOL;
    a->mask_length = (int32_t)mask->dims[mask->rank - 1];
    for (int32_t d = mask->rank - 1, to = 3; d >= 0; d--, to--) {
        if (to < 3)
            a->mask[to] = mask->dims[d] == 1 ? 0 : (int32_t)stride;
        stride *= mask->dims[d];
    }
}

static int32_t window(const tfr_call *call, const char *name)
{
    const int64_t n = tfr_call_int(call, name, -1);

    return n < 0 ? -1 : n > 1 << 30 ? 1 << 30 : (int32_t)n;
}

static bool read_attention(const tfr_call *call, tfr_attention *a, tfr_answer *answer)
{
    const tfr_operand *q = tfr_call_input(call, 0), *k = tfr_call_input(call, 1);
    const tfr_operand *v = tfr_call_input(call, 2), *past = tfr_call_input(call, 4);
    const tfr_operand *mask = tfr_call_input(call, 3), *y = tfr_call_output(call, 0);
    const int64_t HQ = q->rank == 3 ? tfr_call_int(call, "q_num_heads", 1) : q->dims[1];
    const int64_t HK = k->rank == 3 ? tfr_call_int(call, "kv_num_heads", 1) : k->dims[1];
    const int64_t TQ = q->dims[q->rank - 2], TK = k->dims[k->rank - 2];
    int64_t S, SV;

    if (HK < 1 || HQ < 1 || HQ % HK != 0) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT,
                    "%lld heads of queries do not share %lld of keys", (long long)HQ,
                    (long long)HK);
        return false;
    }
    S = q->rank == 3 ? q->dims[2] / HQ : q->dims[3];
    SV = v->rank == 3 ? v->dims[2] / HK : v->dims[3];
    if (S > MOST_ELEMENTS || SV > MOST_ELEMENTS) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "heads of %lld elements, and values of %lld",
                    (long long)S, (long long)SV);
        return false;
    }
    *a = (tfr_attention){.HQ = (int32_t)HQ,
                         .HK = (int32_t)HK,
                         .group = (int32_t)(HQ / HK),
                         .TQ = (int32_t)TQ,
                         .T = (int32_t)(TK + (past ? past->dims[2] : 0)),
                         .past = past ? (int32_t)past->dims[2] : 0,
                         .has_past = past != NULL,
                         .S = (int32_t)S,
                         .SV = (int32_t)SV,
                         .of_q = strides_of(q, HQ, TQ, S),
                         .of_k = strides_of(k, HK, TK, S),
                         .of_v = strides_of(v, HK, TK, SV),
                         .of_y = strides_of(y, HQ, TQ, SV),
                         .left = window(call, "left_window_size"),
                         .right = window(call, "right_window_size"),
                         .causal = tfr_call_int(call, "is_causal", 0) != 0,
                         .softcap = tfr_call_float(call, "softcap", 0),
                         .scale = tfr_call_float(call, "scale", 1 / sqrtf((float)S)),
                         .rows = (int32_t)(q->dims[0] * HQ * TQ),
                         .parts = 1};
    if (mask)
        read_mask(mask, a);
    return true;
}

/* Copies [B H T S] from one operand into another at row `row` of T. */
static void plan_rows(const cuda_chip *chip, uint32_t from, const tfr_operand *x, tfr_heads strides,
                      const int64_t dims[4], uint32_t to, const tfr_operand *y, int64_t row,
                      tfr_answer *answer, cuda_plan *plan)
{
    const int64_t both[2][TFR_MAX_RANK] = {
        {strides.batch, strides.head, strides.row, 1},
        {y->dims[1] * y->dims[2] * y->dims[3], y->dims[2] * y->dims[3], y->dims[3], 1}};
    const int64_t offsets[2] = {0, row * y->dims[3]};
    cuda_step *step;
    tfr_walk walk;

    if (tfr_operand_elements(x) == 0 || !cuda_walk(4, dims, 2, both, offsets, &walk, answer))
        return;
    step = cuda_plan_add(plan, tfr_dtype_bits(x->dtype) == 32 ? "copy_32" : "copy_16",
                         cuda_blocks(chip, walk.n, 1024), 256);
    cuda_step_operand(plan, step, from);
    cuda_step_operand(plan, step, to);
    cuda_step_bytes(plan, step, &walk, sizeof walk);
}

/* present_key or present_value: the past, and what is new behind it. */
static void plan_present(const cuda_chip *chip, const tfr_call *call, const tfr_attention *a,
                         bool is_value, tfr_answer *answer, cuda_plan *plan)
{
    const uint32_t fresh = is_value ? 2 : 1, old = is_value ? 5 : 4, out = is_value ? 2 : 1;
    const tfr_operand *y = tfr_call_output(call, out), *past = tfr_call_input(call, old);
    const int64_t S = is_value ? a->SV : a->S;
    const int64_t news[4] = {y ? y->dims[0] : 0, a->HK, a->T - a->past, S};
    const int64_t olds[4] = {news[0], a->HK, a->past, S};

    if (!y)
        return;
    if (past)
        plan_rows(chip, old, past, strides_of(past, a->HK, a->past, S), olds, call->n_inputs + out,
                  y, 0, answer, plan);
    plan_rows(chip, fresh, tfr_call_input(call, fresh), is_value ? a->of_v : a->of_k, news,
              call->n_inputs + out, y, a->past, answer, plan);
}

static cuda_step *plan_step(const tfr_call *call, const char *kernel, uint64_t blocks,
                            uint32_t threads, cuda_plan *plan)
{
    static const uint32_t inputs[] = {0, 1, 2, 3, 3, 4, 5, 6};
    cuda_step *step = cuda_plan_add(plan, kernel, blocks, threads);

    for (int i = 0; i < 8; i++)
        cuda_step_operand(plan, step, cuda_input_or_none(call, inputs[i]));
    cuda_step_operand(plan, step, call->n_inputs);
    return step;
}

/* As many parts of each row as give each multiprocessor two blocks. */
static int32_t count_parts(const cuda_chip *chip, const tfr_attention *a)
{
    const int64_t wanted =
        a->rows ? (2 * (int64_t)chip->multiprocessors + a->rows - 1) / a->rows : 1;
    int64_t parts = a->T / PART_KEYS < MOST_PARTS ? a->T / PART_KEYS : MOST_PARTS;

    parts = parts < wanted ? parts : wanted;
    return parts < 1 ? 1 : (int32_t)parts;
}

static void plan_by_rows(const cuda_chip *chip, const tfr_call *call, tfr_attention *a,
                         tfr_answer *answer, cuda_plan *plan)
{
    static cuda_names rows = {CUDA_FLOATS("attention_rows_")};
    static cuda_names join = {CUDA_FLOATS("attention_join_")};
    const int32_t dtype = tfr_call_input(call, 0)->dtype;
    cuda_step *step;

    a->parts = count_parts(chip, a);
    answer->workspace_bytes =
        a->parts > 1 ? (uint64_t)a->rows * (uint64_t)a->parts * (uint64_t)(a->SV + 2) * 4 : 0;
    step =
        plan_step(call, rows[dtype], cuda_blocks(chip, (int64_t)a->rows * a->parts, 1), 256, plan);
    if (a->parts > 1)
        cuda_step_workspace(plan, step, 0);
    else
        cuda_step_operand(plan, step, CUDA_NO_OPERAND);
    cuda_step_bytes(plan, step, a, sizeof *a);
    if (a->parts == 1)
        return;
    step = cuda_plan_add(plan, join[dtype], cuda_blocks(chip, (int64_t)a->rows * a->SV, 256), 256);
    cuda_step_workspace(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, a, sizeof *a);
}

CUDA_FAMILY(cuda_attention)
{
    static cuda_names small = {CUDA_FLOATS("attention_64_")};
    static cuda_names large = {CUDA_FLOATS("attention_128_")};
    const tfr_operand *q = tfr_call_input(call, 0);
    const char *kernel = cuda_pick_input(large, call, answer);
    cuda_step *step;
    tfr_attention a;
    int32_t most;

    if (!kernel || !is_usual(call, answer) || !read_attention(call, &a, answer))
        return;
    plan_present(chip, call, &a, false, answer, plan);
    plan_present(chip, call, &a, true, answer, plan);
    if (tfr_operand_elements(tfr_call_output(call, 0)) == 0)
        return;
    most = a.S > a.SV ? a.S : a.SV;
    if (a.TQ < FEW_QUERIES || most > 128) {
        plan_by_rows(chip, call, &a, answer, plan);
        return;
    }
    step = plan_step(call, most > 64 ? kernel : small[q->dtype],
                     (uint64_t)((a.TQ + TILE_QUERIES - 1) / TILE_QUERIES) * (uint64_t)a.HQ *
                         (uint64_t)q->dims[0],
                     128, plan);
    cuda_step_bytes(plan, step, &a, sizeof a);
}
