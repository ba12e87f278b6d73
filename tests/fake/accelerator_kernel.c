/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accelerator_kernel.c: the six ops of the fake accelerator, on plain float32 of rank 0 to 4; what
 * they do not take may be lent (accelerator_lent.c).
 *   Add, Mul    y = a + b, a * b with NumPy's broadcasting; y may have the memory of an input of
 *               its own shape
 *   Relu        y = max(x, 0), NaN stays; y may have x's memory
 *               with host_results, those of one element are computed by launch, on the host
 *               with host_scalars, an input b of one element is read by launch, from the host
 *   MatMul      [m,k] x [k,n]; the sums run in doubles; takes a workspace of k floats, for a column
 *   Dropout     in training, with a known ratio, which prepare consumes, and without the mask
 *   Compress    of the flattened input; tells how many elements there are on its queue's thread
 */
#include "accelerator.h"

#include <stdlib.h>
#include <string.h>
#include <tfrun/op_digests.h>

static const struct {
    const char *name;
    int32_t since_version;
    uint32_t n_inputs;
} ops[] = {
    [FAKE_ADD] = {"Add", 14, 2},         [FAKE_MUL] = {"Mul", 14, 2},
    [FAKE_RELU] = {"Relu", 14, 1},       [FAKE_MATMUL] = {"MatMul", 13, 2},
    [FAKE_DROPOUT] = {"Dropout", 22, 1}, [FAKE_COMPRESS] = {"Compress", 28, 2},
};
#define N_OPS (sizeof ops / sizeof ops[0])

enum { MAX_CLAIMS = 1024 };

/* Those of the lender that are not the accelerator's own, from number n on. */
static uint32_t lent_ops(const tfr_device_info *device, tfr_op_claim *out, uint32_t stride,
                         uint32_t capacity, uint32_t n, tfr_err *err)
{
    const tfr_kernel_facet *lender = fake_lender(err);
    tfr_op_claim *claims = lender ? calloc(MAX_CLAIMS, sizeof *claims) : NULL;
    uint32_t n_claims = MAX_CLAIMS;
    for (uint32_t i = 0; claims && i < MAX_CLAIMS; i++)
        claims[i].size = sizeof *claims;
    if (!claims || lender->ops(device, claims, sizeof *claims, &n_claims, err))
        n_claims = 0;
    for (uint32_t i = 0; i < n_claims && i < MAX_CLAIMS; i++) {
        bool is_own = false;
        for (uint32_t k = 0; k < N_OPS; k++)
            is_own = is_own || (!claims[i].domain[0] && !strcmp(claims[i].name, ops[k].name));
        if (!is_own && n < capacity)
            tfr_list_put(out, stride, capacity, n, &claims[i], sizeof claims[i]);
        n += !is_own;
    }
    free(claims);
    return n;
}

static int32_t fake_ops(const tfr_device_info *device, tfr_op_claim *out, uint32_t stride,
                        uint32_t *n, tfr_err *err)
{
    if (!fake_is_own(device))
        return fake_breach(err, "ops of \"%s\", which was not enumerated", device->identity);
    for (uint32_t i = 0; i < N_OPS && i < *n; i++) {
        const tfr_op_claim claim = {.since_version = ops[i].since_version,
                                    .domain = "",
                                    .name = ops[i].name,
                                    .digest = tfr_op_digest("", ops[i].name)};
        tfr_list_put(out, stride, *n, i, &claim, sizeof claim);
    }
    *n = lent_ops(device, out, stride, *n, N_OPS, err);
    return TFR_OK;
}

/* ---- judging --------------------------------------------------------------------------------- */

static int find_op(const tfr_call *call)
{
    for (uint32_t i = 0; i < N_OPS; i++)
        if (!call->domain[0] && strcmp(call->name, ops[i].name) == 0)
            return (int)i;
    return -1;
}

static bool is_plain(const tfr_operand *o)
{
    int64_t stride = 1;
    if (!o->strides || tfr_operand_elements(o) == 0)
        return true;
    for (int32_t i = o->rank - 1; i >= 0; i--) {
        if (o->dims[i] != 1 && o->strides[i] != stride)
            return false;
        stride *= o->dims[i];
    }
    return true;
}

/* Dim d of the output, as an operand of perhaps a lower rank sees it. */
static int64_t dim_of(const tfr_operand *o, int32_t rank, int32_t d)
{
    const int32_t own = d - (rank - o->rank);
    return own < 0 ? 1 : o->dims[own];
}

static int32_t check_compress(const tfr_operand *a, const tfr_operand *b, const tfr_operand *y,
                              tfr_err *err)
{
    if (a->dtype != y->dtype || b->dtype != TFR_DTYPE_BOOL || b->rank != 1 ||
        !(y->flags & TFR_OPERAND_DYNAMIC))
        return fake_breach(err, "Compress of types %d and %d to %d, with flags %u", a->dtype,
                           b->dtype, y->dtype, y->flags);
    return TFR_OK;
}

/* What the core has promised to have checked. */
static int32_t check_call(const tfr_call *call, int op, tfr_err *err)
{
    const tfr_operand *a = tfr_call_input(call, 0);
    const tfr_operand *b = ops[op].n_inputs > 1 ? tfr_call_input(call, 1) : a;
    const tfr_operand *y = tfr_call_output(call, 0);
    if (call->n_inputs < ops[op].n_inputs ||
        (op != FAKE_DROPOUT && (call->n_inputs > ops[op].n_inputs || call->n_outputs != 1)) || !a ||
        !b || !y)
        return fake_breach(err, "%s with %u inputs and %u outputs", call->name, call->n_inputs,
                           call->n_outputs);
    if (op == FAKE_COMPRESS)
        return check_compress(a, b, y, err);
    if (a->dtype != b->dtype || a->dtype != y->dtype)
        return fake_breach(err, "%s of types %d and %d to %d", call->name, a->dtype, b->dtype,
                           y->dtype);
    if (op == FAKE_MATMUL) {
        if (a->rank != 2 || b->rank != 2)
            return TFR_OK;
        if (a->dims[1] != b->dims[0] || y->rank != 2 || y->dims[0] != a->dims[0] ||
            y->dims[1] != b->dims[1])
            return fake_breach(err, "MatMul of dims that do not fit");
        return TFR_OK;
    }
    if (y->rank != (a->rank > b->rank ? a->rank : b->rank))
        return fake_breach(err, "%s of ranks %d and %d to %d", call->name, a->rank, b->rank,
                           y->rank);
    for (int32_t d = 0; d < y->rank; d++) {
        const int64_t x = dim_of(a, y->rank, d);
        const int64_t z = dim_of(b, y->rank, d);
        if (y->dims[d] != (x == 1 ? z : x) || (x != z && x != 1 && z != 1))
            return fake_breach(err, "%s of dim %d: %lld and %lld to %lld", call->name, d,
                               (long long)x, (long long)z, (long long)y->dims[d]);
    }
    return TFR_OK;
}

static void say_no(tfr_answer *answer, tfr_reason reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say_no(tfr_answer *answer, tfr_reason reason, const char *format, ...)
{
    va_list args;
    answer->verdict = reason == TFR_REASON_LAYOUT ? TFR_VERDICT_REORDER : TFR_VERDICT_NO;
    answer->reason = (int32_t)reason;
    va_start(args, format);
    vsnprintf(answer->text, sizeof answer->text, format, args);
    va_end(args);
}

/* One operand, number i of inputs, then outputs. True if there is nothing to say against it. */
static bool judge_operand(const tfr_plugin_device *device, int op, const tfr_operand *o, uint32_t i,
                          tfr_answer *answer)
{
    const int32_t max_rank = op == FAKE_MATMUL ? 2 : FAKE_MAX_RANK;
    const int64_t n = tfr_operand_elements(o);
    if (op == FAKE_COMPRESS && i == 1)
        return true;
    if (o->dtype != TFR_DTYPE_F32)
        say_no(answer, TFR_REASON_DTYPE,
               "operand %u has element type %d, only float32 (1) is known", i, o->dtype);
    else if (o->rank > max_rank || (op == FAKE_MATMUL && o->rank < 2))
        say_no(answer, TFR_REASON_RANK, "rank %d of operand %u is not %s%d", o->rank, i,
               op == FAKE_MATMUL ? "" : "at most ", max_rank);
    else if (o->flags & TFR_OPERAND_DYNAMIC && op != FAKE_COMPRESS)
        say_no(answer, TFR_REASON_DYNAMIC_SHAPE, "operand %u has a shape that only a run tells", i);
    else if ((uint64_t)n > device->size_limit)
        say_no(answer, TFR_REASON_SIZE_LIMIT, "%lld elements of operand %u are more than %llu",
               (long long)n, i, (unsigned long long)device->size_limit);
    else
        return true;
    return false;
}

/* As drivers' kernels take a limit or a factor: by value, when they are launched. */
static bool is_host_scalar(const tfr_plugin_device *device, int op, const tfr_call *call)
{
    return device->host_scalars && (op == FAKE_ADD || op == FAKE_MUL) &&
           tfr_operand_elements(tfr_call_input(call, 1)) == 1;
}

/* Ratio and mode of a Dropout that draws, and nothing else of it, are taken. */
static bool judge_dropout(const tfr_call *call, tfr_answer *answer)
{
    const tfr_operand *ratio = tfr_call_input(call, 1), *mode = tfr_call_input(call, 2);
    if (tfr_call_output(call, 1) || tfr_call_attr(call, "seed"))
        say_no(answer, TFR_REASON_ATTRIBUTE, "Dropout with a mask or a seed of its own");
    else if (!mode || !mode->data || !*(const unsigned char *)mode->data)
        say_no(answer, TFR_REASON_ATTRIBUTE, "Dropout that is not known to train");
    else if (ratio && (!ratio->data || ratio->dtype != TFR_DTYPE_F32))
        say_no(answer, TFR_REASON_DTYPE, "Dropout with a ratio that is no known float32");
    else
        return true;
    return false;
}

/* As what models compute of shapes: too small for a kernel. */
static bool is_host_result(const tfr_plugin_device *device, int op, const tfr_call *call)
{
    return device->host_results && op < FAKE_MATMUL &&
           tfr_operand_elements(tfr_call_output(call, 0)) == 1;
}

/* Fills answer for a call of an own op. A failing status is a breach. */
static int32_t judge_own(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                         int *out_op, tfr_err *err)
{
    const int op = find_op(call);
    *out_op = op;
    if (op < 0) {
        say_no(answer, TFR_REASON_UNKNOWN_OP, "there is no %s here", call->name);
        return TFR_OK;
    }
    int32_t status = check_call(call, op, err);
    if (status)
        return status;
    if (tfr_call_unknown(call, TFR_CALL_DETERMINISTIC)) {
        say_no(answer, TFR_REASON_POLICY, "flags 0x%x of the call are not known", call->flags);
        return TFR_OK;
    }
    if (device->unsteady == 1 && call->flags & TFR_CALL_DETERMINISTIC) {
        say_no(answer, TFR_REASON_NONDETERMINISTIC, "sums are in the order of the threads");
        return TFR_OK;
    }
    if (device->unsteady == 2)
        answer->flags |= TFR_ANSWER_NONDETERMINISTIC;
    bool plain = true;
    for (uint32_t i = 0; i <= ops[op].n_inputs; i++) {
        const tfr_operand *o =
            i < ops[op].n_inputs ? tfr_call_input(call, i) : tfr_call_output(call, 0);
        if (!judge_operand(device, op, o, i, answer))
            return TFR_OK;
        plain = plain && is_plain(o);
    }
    const tfr_operand *y = tfr_call_output(call, 0);
    if (op == FAKE_COMPRESS && tfr_call_attr(call, "axis")) {
        say_no(answer, TFR_REASON_ATTRIBUTE, "only a flattened input is compressed");
        return TFR_OK;
    }
    if (op == FAKE_MATMUL) {
        const int64_t k = tfr_call_input(call, 0)->dims[1];
        if (k > FAKE_MATMUL_MAX_K) {
            say_no(answer, TFR_REASON_SIZE_LIMIT, "k %lld is more than %d", (long long)k,
                   FAKE_MATMUL_MAX_K);
            return TFR_OK;
        }
        answer->workspace_bytes = (uint64_t)k * sizeof(float);
    }
    if (op == FAKE_DROPOUT && !judge_dropout(call, answer))
        return TFR_OK;
    if (!plain) {
        say_no(answer, TFR_REASON_LAYOUT, "only plain operands are taken");
        return TFR_OK;
    }
    if (op == FAKE_DROPOUT)
        answer->flags = TFR_ANSWER_RANDOM | TFR_ANSWER_NONDETERMINISTIC;
    answer->verdict = TFR_VERDICT_YES;
    if (is_host_scalar(device, op, call))
        answer->host_inputs = 1u << 1;
    if (is_host_result(device, op, call)) {
        answer->host_inputs = (1u << ops[op].n_inputs) - 1;
        answer->host_outputs = 1u << 0;
    }
    if (device->capture && !answer->host_inputs && op != FAKE_COMPRESS)
        answer->flags |= TFR_ANSWER_CAPTURABLE;
    answer->time_ns = device->delay_ns + (uint64_t)tfr_operand_elements(y);
    for (uint32_t i = 0; op < FAKE_MATMUL && i < ops[op].n_inputs; i++) {
        if (tfr_operand_elements(tfr_call_input(call, i)) != tfr_operand_elements(y) ||
            (answer->host_inputs >> i & 1 && !answer->host_outputs))
            continue;
        answer->in_place[answer->n_in_place].input = (int16_t)i;
        answer->in_place[answer->n_in_place].output = 0;
        answer->n_in_place++;
    }
    return TFR_OK;
}

static int32_t judge(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                     int *out_op, tfr_err *err)
{
    const uint32_t size = answer->size;
    int32_t status = judge_own(device, call, answer, out_op, err);
    if (status || answer->verdict != TFR_VERDICT_NO || !device->borrows)
        return status;
    *answer = (tfr_answer){.size = size};
    *out_op = FAKE_LENT;
    return fake_lent_judge(call, answer, err);
}

static int32_t fake_supports(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                             tfr_err *err)
{
    tfr_answer own = {.size = answer->size};
    int op;
    int32_t status = fake_check_device(device, err);
    if (!status)
        status = judge(device, call, &own, &op, err);
    if (!status)
        memcpy(answer, &own, answer->size < sizeof own ? answer->size : sizeof own);
    return status;
}

/* ---- preparing ------------------------------------------------------------------------------- */

static void set_shapes(tfr_kernel *kernel, const tfr_call *call)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    kernel->n_inputs = ops[kernel->op].n_inputs;
    kernel->n_call_inputs = call->n_inputs;
    kernel->n_call_outputs = call->n_outputs;
    kernel->rank = y->rank;
    memcpy(kernel->dims, y->dims, (size_t)y->rank * sizeof y->dims[0]);
    kernel->bytes[kernel->n_inputs] = (uint64_t)tfr_operand_elements(y) * sizeof(float);
    for (uint32_t i = 0; i < kernel->n_inputs; i++) {
        const tfr_operand *x = tfr_call_input(call, i);
        int64_t stride = 1;
        kernel->bytes[i] = (uint64_t)tfr_operand_elements(x) * sizeof(float);
        for (int32_t d = y->rank - 1; kernel->op < FAKE_MATMUL && d >= 0; d--) {
            const int64_t dim = dim_of(x, y->rank, d);
            kernel->strides[i][d] = dim == 1 ? 0 : stride;
            stride *= dim;
        }
    }
    if (kernel->op == FAKE_MATMUL) {
        kernel->m = y->dims[0];
        kernel->n = y->dims[1];
        kernel->k = tfr_call_input(call, 0)->dims[1];
    }
    if (kernel->op == FAKE_COMPRESS)
        kernel->bytes[1] /= sizeof(float);
}

static void set_dropout(tfr_kernel *kernel, const tfr_call *call, tfr_kernel_info *info)
{
    const tfr_operand *ratio = tfr_call_input(call, 1);
    kernel->ratio = 0.5f;
    if (ratio)
        memcpy(&kernel->ratio, ratio->data, sizeof kernel->ratio);
    kernel->subsequence = call->subsequence;
    info->consumed_inputs = 1u << 2 | (ratio ? 1u << 1 : 0);
}

/* Takes the right side of a product into the kernel, as a driver packs weights. */
static int32_t consume(tfr_kernel *kernel, const tfr_operand *b, tfr_kernel_info *info,
                       tfr_err *err)
{
    if (!b->data || !kernel->bytes[1])
        return TFR_OK;
    kernel->packed = malloc(kernel->bytes[1]);
    if (!kernel->packed)
        return tfr_fail(err, TFR_ENOMEM, "no host memory for packed weights");
    memcpy(kernel->packed, b->data, kernel->bytes[1]);
    info->consumed_inputs = 1u << 1;
    return TFR_OK;
}

static const tfr_host_account *account(void)
{
    return fake_host->facet(TFR_HOST_ACCOUNT_V1);
}

static int32_t fake_prepare(tfr_plugin_device *device, const tfr_call *call,
                            const tfr_prepare_options *options, tfr_kernel **out,
                            tfr_kernel_info *info, tfr_err *err)
{
    tfr_answer answer = {.size = sizeof answer};
    int op;
    (void)options;
    int32_t status = fake_enter_build(device, err);
    if (status)
        return status;
    status = judge(device, call, &answer, &op, err);
    if (!status && answer.verdict != TFR_VERDICT_YES)
        status = fake_breach(err, "prepare of a %s that got no yes: %s", call->name, answer.text);
    tfr_kernel *kernel = status ? NULL : calloc(1, sizeof *kernel);
    if (kernel) {
        kernel->op = (fake_op)op;
        kernel->workspace_bytes = answer.workspace_bytes;
        kernel->wrong_dims = device->wrong_dims;
        kernel->host_result = answer.host_outputs != 0;
        kernel->host_scalar = answer.host_inputs != 0 && !kernel->host_result;
        for (uint32_t i = 0; i < answer.n_in_place; i++)
            kernel->in_place |= UINT64_C(1) << answer.in_place[i].input;
        if (op == FAKE_LENT)
            status = fake_lent_prepare(call, &answer, kernel, err);
        else
            set_shapes(kernel, call);
        if (op == FAKE_DROPOUT)
            set_dropout(kernel, call, info);
        if (device->unsteady == 3)
            info->flags |= TFR_ANSWER_NONDETERMINISTIC;
        if (device->consume && op == FAKE_MATMUL)
            status = consume(kernel, tfr_call_input(call, 1), info, err);
        if (!status && device->own_bytes)
            status = account()->take(device, "packed weights", device->own_bytes, err);
    }
    if (kernel && status) {
        free(kernel);
    } else if (kernel) {
        pthread_mutex_lock(&fake_lock);
        kernel->next = device->kernels;
        device->kernels = kernel;
        pthread_mutex_unlock(&fake_lock);
        *out = kernel;
    } else if (!status) {
        status = tfr_fail(err, TFR_ENOMEM, "no host memory for a kernel");
    }
    fake_leave_build(device);
    return status;
}

static void fake_drop(tfr_plugin_device *device, tfr_kernel *kernel)
{
    tfr_kernel **at;
    const char *breach = NULL;
    if (!kernel || !fake_enter_void(device, "drop"))
        return;
    pthread_mutex_lock(&fake_lock);
    for (at = &device->kernels; *at && *at != kernel; at = &(*at)->next)
        ;
    while (*at && kernel->n_pending > 0 && device->is_lost)
        pthread_cond_wait(&device->changed, &fake_lock);
    if (fake_is_captured(device, kernel)) {
        breach = "which an executable launches";
    } else if (!*at) {
        breach = "which prepare did not give";
    } else if (kernel->n_pending > 0) {
        breach = "whose launch is under way";
    } else {
        *at = kernel->next;
        if (kernel->op == FAKE_LENT)
            fake_lent_drop(kernel);
        free(kernel->packed);
        free(kernel);
        if (device->own_bytes)
            account()->give(device, device->own_bytes);
    }
    pthread_mutex_unlock(&fake_lock);
    if (breach)
        fake_breach_later(device, "drop of kernel %p, %s", (void *)kernel, breach);
    fake_leave(device);
}

/* ---- launching ------------------------------------------------------------------------------- */

static bool overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
    return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

/* With the lock held: args become addresses, and those in the shadow mapping. */
static int32_t resolve_args(const tfr_plugin_device *device, const tfr_kernel *kernel,
                            const tfr_launch *launch, void **places, fake_item *item, tfr_err *err)
{
    const uint32_t n_args = kernel->n_inputs + 1;
    const uint32_t n_call_args = kernel->n_call_inputs + kernel->n_call_outputs;
    const char *name = ops[kernel->op].name;
    if (launch->n_args != n_call_args)
        return fake_breach(err, "launch of %s with %u args, it has %u", name, launch->n_args,
                           n_call_args);
    for (uint32_t i = 0; i < n_args; i++) {
        const tfr_arg *arg =
            &launch->args[i < kernel->n_inputs ? i : i - kernel->n_inputs + kernel->n_call_inputs];
        if (i == 2 && kernel->op == FAKE_COMPRESS) {
            int32_t status =
                fake_resolve_dims(device, name, arg->dims, kernel->rank, &item->blocks[3], err);
            if (status)
                return status;
            item->dims = arg->dims;
        } else if (arg->dims)
            return fake_breach(err, "launch of %s asks arg %u for its dims, which are fixed", name,
                               i);
        if (kernel->bytes[i] == 0)
            continue;
        if (i == 1 && kernel->packed) {
            if (arg->address)
                return fake_breach(err, "launch of %s gets an input that prepare has consumed",
                                   name);
            item->args[i] = kernel->packed;
            continue;
        }
        if (i == 1 && kernel->host_scalar) {
            memcpy(&item->scalar, arg->address, sizeof item->scalar);
            item->args[i] = &item->scalar;
            continue;
        }
        const uint64_t element = i == 1 && kernel->op == FAKE_COMPRESS ? 1 : sizeof(float);
        places[i] = fake_place(device, arg->address, arg->offset);
        item->blocks[i] = fake_block_of(device, places[i], kernel->bytes[i]);
        if (!item->blocks[i] || (uintptr_t)places[i] % element != 0)
            return fake_breach(err,
                               "launch of %s: arg %u of %llu bytes at %p is not inside one "
                               "allocation, or not aligned",
                               name, i, (unsigned long long)kernel->bytes[i], arg->address);
        item->args[i] = fake_shadow(device, places[i]);
    }
    const void *y = places[n_args - 1];
    for (uint32_t i = 0; i + 1 < n_args; i++) {
        const bool allowed = (kernel->in_place >> i & 1) && places[i] == y;
        if (!allowed && places[i] && y &&
            overlap(places[i], kernel->bytes[i], y, kernel->bytes[n_args - 1]))
            return fake_breach(err, "launch of %s: the output overlaps input %u", name, i);
    }
    return TFR_OK;
}

static int32_t resolve_workspace(const tfr_plugin_device *device, const tfr_kernel *kernel,
                                 const tfr_launch *launch, void *const *places, fake_item *item,
                                 tfr_err *err)
{
    void *place = fake_place(device, launch->workspace, launch->workspace_offset);
    if (kernel->workspace_bytes == 0)
        return TFR_OK;
    item->blocks[3] = fake_block_of(device, place, kernel->workspace_bytes);
    if (!item->blocks[3] || (uintptr_t)place % FAKE_ALIGNMENT != 0)
        return fake_breach(err,
                           "launch of %s: the workspace of %llu bytes at %p is not inside one "
                           "allocation, or not aligned to %d",
                           ops[kernel->op].name, (unsigned long long)kernel->workspace_bytes,
                           launch->workspace, FAKE_ALIGNMENT);
    for (uint32_t i = 0; i <= kernel->n_inputs; i++)
        if (places[i] && overlap(places[i], kernel->bytes[i], place, kernel->workspace_bytes))
            return fake_breach(err, "launch of %s: the workspace overlaps arg %u",
                               ops[kernel->op].name, i);
    item->workspace = fake_shadow(device, place);
    return TFR_OK;
}

static int32_t resolve_random(const tfr_plugin_device *device, const tfr_kernel *kernel,
                              const tfr_launch *launch, fake_item *item, tfr_err *err)
{
    void *place = fake_place(device, (void *)(uintptr_t)launch->random, launch->random_offset);
    if (kernel->op != FAKE_DROPOUT)
        return TFR_OK;
    item->blocks[4] = fake_block_of(device, place, sizeof *item->random);
    if (!item->blocks[4] || (uintptr_t)place % sizeof(uint64_t) != 0)
        return fake_breach(err, "launch of %s: there is no state of random numbers at %p",
                           ops[kernel->op].name, launch->random);
    item->random = fake_shadow(device, place);
    return TFR_OK;
}

static int32_t resolve_all(const tfr_plugin_device *device, const tfr_kernel *kernel,
                           const tfr_launch *launch, fake_item *item, tfr_err *err)
{
    void *places[3] = {NULL}; /* of inputs, then the output, in device memory */
    int32_t status = resolve_args(device, kernel, launch, places, item, err);
    if (!status)
        status = resolve_workspace(device, kernel, launch, places, item, err);
    return status ? status : resolve_random(device, kernel, launch, item, err);
}

static float element(fake_op op, float a, float b)
{
    switch (op) {
    case FAKE_ADD:
        return a + b;
    case FAKE_MUL:
        return a * b;
    default:
        return a < 0 ? 0 : a;
    }
}

/* All of it now, where the host is. With the lock held. */
static int32_t launch_on_host(const tfr_plugin_device *device, const tfr_kernel *kernel,
                              const tfr_launch *launch, tfr_err *err)
{
    float values[2] = {0};
    for (uint32_t i = 0; i <= kernel->n_inputs; i++) {
        void *address = launch->n_args > i ? launch->args[i].address : NULL;
        if (!address || fake_block_of(device, address, 1))
            return fake_breach(err, "launch of %s: arg %u at %p is not in host memory",
                               ops[kernel->op].name, i, address);
        if (i < kernel->n_inputs)
            memcpy(&values[i], address, sizeof values[i]);
    }
    values[0] = element(kernel->op, values[0], values[1]);
    memcpy(launch->args[kernel->n_inputs].address, &values[0], sizeof values[0]);
    return TFR_OK;
}

static int32_t fake_launch(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                           const tfr_launch *launch, tfr_err *err)
{
    const tfr_kernel *known;
    if (!queue)
        return fake_breach(err, "launch without a queue on a device that has queues");
    int32_t status = fake_enter_queue(device, queue, err);
    if (status)
        return status;
    fake_item *item = calloc(1, sizeof *item);
    pthread_mutex_lock(&fake_lock);
    for (known = device->kernels; known && known != kernel; known = known->next)
        ;
    if (!item)
        status = tfr_fail(err, TFR_ENOMEM, "no host memory for a piece of work");
    else if (device->sticky && queue->real->failure.code)
        status = fake_tell(device, &queue->real->failure, err);
    else if (!known)
        status =
            fake_breach(err, "launch of kernel %p, which prepare did not give", (void *)kernel);
    else if (queue->capture &&
             (kernel->host_result || kernel->host_scalar || kernel->op >= FAKE_COMPRESS))
        status = fake_breach(err, "launch of %s, which is not capturable, on a queue that captures",
                             kernel->op == FAKE_LENT ? "a lent kernel" : ops[kernel->op].name);
    else if (kernel->host_result)
        status = launch_on_host(device, kernel, launch, err);
    else if (kernel->op == FAKE_LENT)
        status = fake_lent_resolve(device, kernel, launch, item, err);
    else
        status = resolve_all(device, kernel, launch, item, err);
    if (!status && !kernel->host_result) {
        item->kind = FAKE_LAUNCH;
        item->kernel = kernel;
        item->id = launch->id;
        fake_push(device, queue, item);
        item = NULL;
        if (device->launch_waits)
            fake_queue_drain(device, queue);
    }
    pthread_mutex_unlock(&fake_lock);
    free(item);
    fake_leave_queue(device, queue);
    return status;
}

/* ---- computing ------------------------------------------------------------------------------- */

static void compute_elements(const tfr_kernel *kernel, float *const *args)
{
    const uint64_t n = kernel->bytes[kernel->n_inputs] / sizeof(float);
    const float *b = kernel->n_inputs > 1 ? args[1] : args[0];
    float *y = args[kernel->n_inputs];
    for (uint64_t i = 0; i < n; i++) {
        int64_t at[2] = {0, 0};
        uint64_t rest = i;
        for (int32_t d = kernel->rank - 1; d >= 0; d--) {
            const int64_t index = (int64_t)(rest % (uint64_t)kernel->dims[d]);
            rest /= (uint64_t)kernel->dims[d];
            at[0] += index * kernel->strides[0][d];
            at[1] += index * kernel->strides[1][d];
        }
        y[i] = element(kernel->op, args[0][at[0]], b[at[1]]);
    }
}

static void compute_matmul(const tfr_kernel *kernel, float *const *args, float *column)
{
    for (int64_t j = 0; j < kernel->n; j++) {
        for (int64_t l = 0; l < kernel->k; l++)
            column[l] = args[1][l * kernel->n + j];
        for (int64_t i = 0; i < kernel->m; i++) {
            double sum = 0;
            for (int64_t l = 0; l < kernel->k; l++)
                sum += (double)args[0][i * kernel->k + l] * (double)column[l];
            args[2][i * kernel->n + j] = (float)sum;
        }
    }
}

static void compute_dropout(const tfr_kernel *kernel, const tfr_random_state *random,
                            float *const *args)
{
    const uint64_t n = kernel->bytes[0] / sizeof(float);
    const double ratio = (double)kernel->ratio;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t words[4];
        tfr_random_block(random, kernel->subsequence, i / 4, words);
        args[1][i] =
            (words[i % 4] >> 8) * 0x1p-24 >= ratio ? (float)((double)args[0][i] / (1 - ratio)) : 0;
    }
}

/* As late as all else that a queue does. */
static void compute_compress(const fake_item *item)
{
    const tfr_kernel *kernel = item->kernel;
    const uint64_t n = kernel->bytes[0] / sizeof(float);
    const unsigned char *keep = (const unsigned char *)item->args[1];
    int64_t kept = 0;
    for (uint64_t i = 0; i < n && i < kernel->bytes[1]; i++)
        if (keep[i])
            item->args[2][kept++] = item->args[0][i];
    if (kernel->wrong_dims == 3)
        kept -= kept > 0;
    if (kernel->wrong_dims != 2)
        item->dims[0] = kernel->wrong_dims == 1 ? kernel->dims[0] + 1 : kept;
}

void fake_compute(const fake_item *item)
{
    if (item->kernel->op == FAKE_LENT)
        fake_lent_compute(item);
    else if (item->kernel->op == FAKE_COMPRESS)
        compute_compress(item);
    else if (item->kernel->op == FAKE_MATMUL)
        compute_matmul(item->kernel, item->args, item->workspace);
    else if (item->kernel->op == FAKE_DROPOUT)
        compute_dropout(item->kernel, item->random, item->args);
    else
        compute_elements(item->kernel, item->args);
}

const tfr_kernel_facet fake_kernel_facet = {
    .size = sizeof fake_kernel_facet,
    .ops = fake_ops,
    .supports = fake_supports,
    .prepare = fake_prepare,
    .launch = fake_launch,
    .drop = fake_drop,
};
