/* SPDX-License-Identifier: Apache-2.0 */
/* plan_reduce.c: launches of reduce.cu, softmax.cu, layer_norm.cu, batch_norm.cu and loss.cu. */
#include "plan_kit.h"

#include <string.h>

enum {
    SHORT_SUM = 32,    /* elements that one thread adds */
    WARP_LANE = 1024,  /* elements that one warp normalizes */
    FEW_SAMPLES = 1024 /* whose losses one block adds, and each block their weights */
};

#define NAME(op) #op,
static const char *const reductions[] = {TFR_FOLD_LIST(NAME)};
#undef NAME

static cuda_names by_block = {CUDA_FLOATS("reduce_"),
                              CUDA_WIDE("reduce_"), [TFR_DTYPE_F64] = "reduce_f64"};
static cuda_names by_thread = {CUDA_FLOATS("reduce_thread_"),
                               CUDA_WIDE("reduce_thread_"), [TFR_DTYPE_F64] = "reduce_thread_f64"};

static cuda_names log_by_block = {CUDA_FLOATS("reduce_log_sum_exp_")};
static cuda_names log_by_thread = {CUDA_FLOATS("reduce_log_sum_exp_thread_")};

/* Strides of a plain operand, or with the channels last. */
static void find_strides(const tfr_operand *x, bool is_last, int64_t *out)
{
    cuda_dims_to_strides(x->rank, x->dims, out);
    if (!is_last)
        return;
    out[1] = 1;
    out[2] = x->dims[3] * x->dims[1];
    out[3] = x->dims[1];
}

/* Of a block with a sum of `each` elements, one of n: many where there are few blocks. */
static uint32_t reducing_threads(const cuda_chip *chip, int64_t n, int64_t each)
{
    uint32_t threads = 256;

    while (threads < 1024 && n * threads < (int64_t)chip->multiprocessors * 1024 &&
           each >= 16 * (int64_t)threads)
        threads *= 2;
    return threads;
}

/*
 * Long sums whose neighbours belong to other ones, in two launches: of parts by blocks that read
 * neighbours, and of these by threads. False: these are others.
 */
static bool plan_columns(const cuda_chip *chip, const tfr_call *call, const tfr_reducing *r,
                         tfr_answer *answer, cuda_plan *plan)
{
    const tfr_walk *kept = &r->kept, *reduced = &r->reduced;
    const bool has_columns = kept->rank == 0 || kept->strides[0][kept->rank - 1] == 1;
    const int64_t groups = (kept->n + 31) / 32, blocks = 2 * (int64_t)chip->multiprocessors;
    const int64_t most = blocks / groups < 32 ? blocks / groups : 32;
    const int64_t part = most ? (reduced->n + most - 1) / most : 0;
    tfr_reducing rest = *r;
    int64_t splits;
    cuda_step *step;

    if (tfr_call_input(call, 0)->dtype != TFR_DTYPE_F32 ||
        (r->op != TFR_FN_ReduceSum && r->op != TFR_FN_ReduceMean) || !has_columns || kept->n < 8 ||
        reduced->rank > 2 || reduced->n < 4096 || most < 2 ||
        (reduced->rank < 2 && reduced->strides[0][0] == 1))
        return false;
    splits = (reduced->n + part - 1) / part;
    answer->workspace_bytes = (uint64_t)(splits * kept->n) * sizeof(float);
    step = cuda_plan_add(plan, "reduce_column_f32", (uint64_t)(groups * splits), 1024);
    cuda_step_operand(plan, step, 0);
    cuda_step_workspace(plan, step, 0);
    cuda_step_bytes(plan, step, r, sizeof *r);
    cuda_step_int(plan, step, (int32_t)groups);
    cuda_step_int(plan, step, (int32_t)part);
    memset(&rest.kept, 0, sizeof rest.kept);
    memset(&rest.reduced, 0, sizeof rest.reduced);
    rest.kept.n = kept->n;
    rest.reduced.n = (int32_t)splits;
    rest.reduced.rank = 1;
    rest.reduced.dims[0] = cuda_divisor(splits);
    rest.reduced.strides[0][0] = kept->n;
    step = cuda_plan_add(plan, "reduce_thread_f32", cuda_blocks(chip, kept->n, 32), 32);
    cuda_step_workspace(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &rest, sizeof rest);
    return true;
}

/*
 * Reduces the axes whose bit is set. With the channels last neighbours belong to other sums, so
 * that a thread has one where there are many.
 */
static void plan_reduction(const cuda_chip *chip, const tfr_call *call, uint32_t axes, int32_t op,
                           tfr_answer *answer, cuda_plan *plan)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    int64_t dims[2][TFR_MAX_RANK], strides[2][1][TFR_MAX_RANK], all[TFR_MAX_RANK];
    int32_t rank[2] = {0, 0}, d;
    const char *kernel;
    bool is_by_thread;
    uint32_t threads;
    tfr_reducing r;
    cuda_step *step;

    find_strides(x, cuda_is_last(plan, 0), all);
    for (d = 0; d < x->rank; d++) {
        const int reduced = (int)(axes >> d & 1);
        dims[reduced][rank[reduced]] = x->dims[d];
        strides[reduced][0][rank[reduced]++] = all[d];
    }
    if (!cuda_walk(rank[0], dims[0], 1, (const int64_t(*)[TFR_MAX_RANK])strides[0], NULL, &r.kept,
                   answer) ||
        !cuda_walk(rank[1], dims[1], 1, (const int64_t(*)[TFR_MAX_RANK])strides[1], NULL,
                   &r.reduced, answer))
        return;
    if (r.reduced.n == 0) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "a reduction of 0 elements");
        return;
    }
    r.op = op;
    r.scale = 1 / (float)r.reduced.n;
    if (r.kept.n && plan_columns(chip, call, &r, answer, plan))
        return;
    is_by_thread = r.reduced.n <= SHORT_SUM ||
                   (cuda_is_last(plan, 0) && cuda_sums_by_thread(chip, r.kept.n, r.reduced.n));
    if (op == TFR_FN_ReduceLogSumExp)
        kernel = cuda_pick(is_by_thread ? log_by_thread : log_by_block, x, 0, answer);
    else
        kernel = cuda_pick(is_by_thread ? by_thread : by_block, x, 0, answer);
    if (!kernel || r.kept.n == 0)
        return;
    threads = is_by_thread ? 256 : reducing_threads(chip, r.kept.n, r.reduced.n);
    if (op == TFR_FN_ReduceLogSumExp)
        threads = 256;
    step =
        cuda_plan_add(plan, kernel, cuda_blocks(chip, r.kept.n, is_by_thread ? 256 : 1), threads);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &r, sizeof r);
}

CUDA_FAMILY(cuda_reduce)
{
    const int32_t dtype = tfr_call_input(call, 0)->dtype;
    const bool is_float = dtype != TFR_DTYPE_I32 && dtype != TFR_DTYPE_I64;
    uint64_t n, i;
    const int64_t *given = cuda_ints(call, "axes", &n);
    uint32_t axes = 0;
    int32_t op = 0;

    if (!cuda_pick_input(by_block, call, answer))
        return;
    while (strcmp(reductions[op], call->name) != 0)
        op++; /* families.def names no other */
    if (!is_float &&
        (op == TFR_FN_ReduceMean || op == TFR_FN_ReduceL2 || op == TFR_FN_ReduceLogSum)) {
        tfr_decline(answer, TFR_REASON_DTYPE, "%s of integers", call->name);
        return;
    }
    for (i = 0; i < n; i++)
        axes |= (uint32_t)1 << given[i];
    plan_reduction(chip, call, axes, op, answer, plan);
}

/* The sum over what the output's dims repeat, aligned at the right. */
CUDA_FAMILY(cuda_sum_to)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const int32_t missing = x->rank - y->rank;
    uint32_t axes = 0;
    int32_t d;

    if (!cuda_pick_input(by_block, call, answer))
        return;
    for (d = 0; d < x->rank; d++)
        if (d < missing || (y->dims[d - missing] == 1 && x->dims[d] != 1))
            axes |= (uint32_t)1 << d;
    plan_reduction(chip, call, axes, TFR_FN_ReduceSum, answer, plan);
}

CUDA_FAMILY(cuda_arg)
{
    static cuda_names names = {CUDA_FLOATS("arg_"), CUDA_WIDE("arg_")};
    const tfr_operand *x = tfr_call_input(call, 0);
    const char *kernel = cuda_pick_input(names, call, answer);
    const tfr_lanes l = cuda_lanes(x, tfr_call_int(call, "axis", 0));
    cuda_step *step;

    if (!kernel || l.n == 0 || l.outer * l.inner == 0) {
        if (kernel && l.n == 0)
            tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "the greatest of 0 elements");
        return;
    }
    step = cuda_plan_add(plan, kernel, cuda_blocks(chip, l.outer * l.inner, 256), 256);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &l, sizeof l);
    cuda_step_int(plan, step, strcmp(call->name, "ArgMin") == 0);
    cuda_step_int(plan, step, tfr_call_int(call, "select_last_index", 0) != 0);
}

CUDA_FAMILY(cuda_softmax)
{
    static cuda_names warps = {CUDA_FLOATS("softmax_warp_")}, blocks = {CUDA_FLOATS("softmax_")};
    const tfr_operand *x = tfr_call_input(call, 0);
    const tfr_lanes l = cuda_lanes(x, tfr_call_int(call, "axis", x->rank - 1));
    const bool warp = l.n <= WARP_LANE;
    const char *kernel = cuda_pick_input(warp ? warps : blocks, call, answer);
    cuda_step *step;

    if (!kernel)
        return;
    cuda_may_share(answer, 0, 0);
    if (l.n == 0 || l.outer * l.inner == 0)
        return;
    step = cuda_plan_add(plan, kernel, cuda_blocks(chip, l.outer * l.inner, warp ? 4 : 1),
                         warp ? 128 : 256);
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &l, sizeof l);
    cuda_step_int(plan, step, call->name[0] == 'L');
}

CUDA_FAMILY(cuda_layer_norm)
{
    static cuda_names names = {CUDA_FLOATS("layer_norm_")};
    const tfr_operand *x = tfr_call_input(call, 0), *mean = tfr_call_output(call, 1);
    const tfr_operand *inverse = tfr_call_output(call, 2);
    const int32_t axis = (int32_t)tfr_call_int(call, "axis", x->rank - 1);
    const char *kernel = cuda_pick_input(names, call, answer);
    tfr_norm m = {0};
    cuda_step *step;
    uint32_t i;

    if (!kernel || !cuda_same_types(call, answer))
        return;
    m.rows = (int32_t)tfr_operand_span(x, 0, axis);
    m.n = (int32_t)tfr_operand_span(x, axis, x->rank);
    m.rms = call->name[0] == 'R';
    m.epsilon = tfr_call_float(call, "epsilon", 1e-5f);
    for (i = 1; i < 3; i++) {
        const tfr_operand *o = tfr_call_input(call, i);
        if (o && (tfr_operand_elements(o) != m.n || o->rank > x->rank - axis || m.n == 0)) {
            tfr_decline(answer, TFR_REASON_SIZE_LIMIT,
                        "input %u is not of the %d elements of a row", i, m.n);
            return;
        }
    }
    if ((mean && mean->dtype != TFR_DTYPE_F32) || (inverse && inverse->dtype != TFR_DTYPE_F32)) {
        tfr_decline(answer, TFR_REASON_DTYPE, "statistics are written as float32 alone");
        return;
    }
    step = m.rows ? cuda_plan_add(plan, kernel, cuda_blocks(chip, m.rows, 1), m.n > 128 ? 256 : 64)
                  : NULL;
    for (i = 0; i < 3; i++)
        cuda_step_operand(plan, step, cuda_input_or_none(call, i));
    for (i = 0; i < 3; i++)
        cuda_step_operand(plan, step, cuda_output_or_none(call, i));
    cuda_step_bytes(plan, step, &m, sizeof m);
}

/* dX, which leaves the statistics of the rows in the workspace, and dScale, which reads them. */
CUDA_FAMILY(cuda_layer_norm_grad)
{
    static cuda_names names = {CUDA_FLOATS("layer_norm_grad_")};
    static cuda_names scales = {CUDA_FLOATS("layer_norm_scale_")};
    const tfr_operand *x = tfr_call_input(call, 1), *scale = tfr_call_input(call, 2);
    const int64_t axis = tfr_call_int(call, "axis", -1);
    const int32_t first = (int32_t)(axis < 0 ? axis + x->rank : axis);
    const char *kernel = cuda_pick_input(names, call, answer);
    tfr_norm m = {.rms = tfr_call_int(call, "rms", 0) != 0,
                  .epsilon = tfr_call_float(call, "epsilon", 1e-5f)};
    cuda_step *step;
    uint32_t i;

    if (!kernel || !cuda_same_types(call, answer))
        return;
    m.rows = (int32_t)tfr_operand_span(x, 0, first);
    m.n = (int32_t)tfr_operand_span(x, first, x->rank);
    if (tfr_operand_elements(scale) != m.n || scale->rank > x->rank - first || m.n == 0) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "Scale is not of the %d elements of a row", m.n);
        return;
    }
    answer->workspace_bytes = (uint64_t)m.rows * 2 * sizeof(float);
    step = m.rows ? cuda_plan_add(plan, kernel, cuda_blocks(chip, m.rows, 1), m.n > 128 ? 256 : 64)
                  : NULL;
    for (i = 0; i < 4; i++)
        cuda_step_operand(plan, step, i);
    cuda_step_workspace(plan, step, 0);
    cuda_step_bytes(plan, step, &m, sizeof m);
    if (!tfr_call_output(call, 1))
        return;
    step = cuda_plan_add(plan, scales[x->dtype], cuda_blocks(chip, m.n, 32), 256);
    for (i = 0; i < 2; i++)
        cuda_step_operand(plan, step, i);
    cuda_step_workspace(plan, step, 0);
    cuda_step_operand(plan, step, 4);
    cuda_step_bytes(plan, step, &m, sizeof m);
}

/* With the channels last each place of a plane is a row. */
static tfr_norm channels_of(const tfr_operand *x, const tfr_call *call, bool is_last)
{
    tfr_norm m = {.rows = x->rank > 0 ? (int32_t)x->dims[0] : 1,
                  .n = x->rank > 1 ? (int32_t)x->dims[1] : 1,
                  .plane = x->rank > 2 ? (int32_t)tfr_operand_span(x, 2, x->rank) : 1,
                  .epsilon = tfr_call_float(call, "epsilon", 1e-5f),
                  .momentum = tfr_call_float(call, "momentum", 0.9f),
                  .unbiased = tfr_call_int(call, "unbiased", 0) != 0};
    if (is_last) {
        m.rows *= m.plane;
        m.plane = 1;
    }
    return m;
}

CUDA_FAMILY(cuda_batch_norm)
{
    static cuda_names names = {CUDA_FLOATS("batch_norm_")};
    const tfr_operand *x = tfr_call_input(call, 0);
    const int64_t n = tfr_operand_elements(x);
    const char *kernel = cuda_pick_input(names, call, answer);
    const tfr_norm m = channels_of(x, call, cuda_is_last(plan, 0));
    cuda_step *step;
    uint32_t i;

    if (!kernel || !cuda_same_types(call, answer))
        return;
    if (tfr_call_int(call, "training_mode", 0)) {
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "training_mode 1");
        return;
    }
    step = n ? cuda_plan_add(plan, kernel, cuda_blocks(chip, n, 256), 256) : NULL;
    for (i = 0; i < 5; i++)
        cuda_step_operand(plan, step, i);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &m, sizeof m);
}

/* BatchNormTrain and BatchNormGrad: a block for each channel. */
CUDA_FAMILY(cuda_batch_norm_train)
{
    static cuda_names train = {[TFR_DTYPE_F32] = "batch_norm_train_f32"};
    static cuda_names grad = {[TFR_DTYPE_F32] = "batch_norm_grad_f32"};
    const bool trains = strcmp(call->name, "BatchNormTrain") == 0;
    const tfr_operand *x = tfr_call_input(call, 0);
    const char *kernel = cuda_pick_input(trains ? train : grad, call, answer);
    const tfr_norm m = channels_of(x, call, cuda_is_last(plan, 0));
    cuda_step *step;
    uint32_t i;

    (void)chip;
    if (!kernel || !cuda_same_types(call, answer))
        return;
    if (m.rows == 0 || m.plane == 0) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "statistics of 0 elements");
        return;
    }
    step = m.n ? cuda_plan_add(plan, kernel, (uint64_t)m.n, 256) : NULL;
    for (i = 0; i < 5; i++)
        cuda_step_operand(plan, step, i);
    for (i = 0; i < (trains ? 5u : 3u); i++)
        cuda_step_operand(plan, step, cuda_output_or_none(call, i));
    cuda_step_bytes(plan, step, &m, sizeof m);
}

static tfr_loss loss_of(const tfr_call *call, const tfr_operand *x)
{
    const tfr_attr *ignore = tfr_call_attr(call, "ignore_index");
    const char *reduction = tfr_call_string(call, "reduction", "mean");
    tfr_loss l = {.outer = (int32_t)x->dims[0],
                  .classes = (int32_t)x->dims[1],
                  .inner = (int32_t)tfr_operand_span(x, 2, x->rank),
                  .has_ignore = ignore != NULL,
                  .reduction = reduction[0] == 'm'   ? 2
                               : reduction[0] == 's' ? 1
                                                     : 0,
                  .entropy = call->name[0] == 'S',
                  .ignore = ignore ? ignore->ints[0] : 0};
    return l;
}

CUDA_FAMILY(cuda_loss)
{
    static cuda_names names = {CUDA_WIDE("loss_")};
    static cuda_names types = {[TFR_DTYPE_F32] = "float32"};
    const tfr_operand *x = tfr_call_input(call, 0);
    const tfr_loss l = loss_of(call, x);
    const int64_t n = (int64_t)l.outer * l.inner;
    const bool has_parts = l.reduction && n > FEW_SAMPLES;
    const uint32_t threads = l.reduction && !has_parts ? 256 : 128;
    const char *kernel;
    cuda_step *step;

    if (!cuda_pick_input(types, call, answer))
        return;
    kernel = cuda_pick(names, tfr_call_input(call, 1), 1, answer);
    if (!kernel)
        return;
    if (has_parts)
        answer->workspace_bytes = (uint64_t)n * 2 * sizeof(float);
    if (l.reduction && !has_parts) /* also of no samples */
        step = cuda_plan_add(plan, kernel, 1, threads);
    else
        step = n ? cuda_plan_add(plan, kernel, cuda_blocks(chip, n, threads), threads) : NULL;
    cuda_step_operand(plan, step, 0);
    cuda_step_operand(plan, step, 1);
    cuda_step_operand(plan, step, cuda_input_or_none(call, 2));
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_operand(plan, step, cuda_output_or_none(call, 1));
    if (has_parts)
        cuda_step_workspace(plan, step, 0);
    else
        cuda_step_operand(plan, step, CUDA_NO_OPERAND);
    cuda_step_bytes(plan, step, &l, sizeof l);
    if (!has_parts)
        return;
    step = cuda_plan_add(plan, "loss_sum", 1, 256);
    cuda_step_workspace(plan, step, 0);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_int(plan, step, (int32_t)n);
    cuda_step_int(plan, step, l.reduction == 2);
}

CUDA_FAMILY(cuda_loss_grad)
{
    static cuda_names names = {CUDA_WIDE("loss_grad_")}, weigh = {CUDA_WIDE("loss_weigh_")};
    static cuda_names types = {[TFR_DTYPE_F32] = "float32"};
    const tfr_operand *dx = tfr_call_output(call, 0);
    const tfr_loss l = loss_of(call, dx);
    const int64_t n = tfr_operand_elements(dx);
    const bool has_total = l.reduction == 2 && (int64_t)l.outer * l.inner > FEW_SAMPLES;
    const char *kernel;
    cuda_step *step;
    uint32_t i;

    if (!cuda_pick_input(types, call, answer))
        return;
    kernel = cuda_pick(names, tfr_call_input(call, 2), 2, answer);
    if (!kernel)
        return;
    if (has_total)
        answer->workspace_bytes = sizeof(float);
    if (n == 0)
        return;
    if (has_total) {
        step = cuda_plan_add(plan, weigh[tfr_call_input(call, 2)->dtype], 1, 256);
        cuda_step_operand(plan, step, 2);
        cuda_step_operand(plan, step, cuda_input_or_none(call, 3));
        cuda_step_workspace(plan, step, 0);
        cuda_step_bytes(plan, step, &l, sizeof l);
    }
    step = cuda_plan_add(plan, kernel, cuda_blocks(chip, n, 256), 256);
    for (i = 0; i < 4; i++)
        cuda_step_operand(plan, step, cuda_input_or_none(call, i));
    if (has_total)
        cuda_step_workspace(plan, step, 0);
    else
        cuda_step_operand(plan, step, CUDA_NO_OPERAND);
    cuda_step_operand(plan, step, call->n_inputs);
    cuda_step_bytes(plan, step, &l, sizeof l);
}
