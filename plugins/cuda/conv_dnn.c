/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_dnn.c: large convolutions and their gradients by cuDNN.
 *
 * Plans are made in prepare (conv_plan.c), where the first few are run and the fastest is kept
 * (tune.h), and a launch tells where the operands are. A handle may
 * be used by one thread at a time, so that a device has one, behind its lock. Its first plan that
 * runs allocates, which a capture does not survive: the core captures what has been launched
 * before.
 */
#include "dnn.h"
#include "engine.h"
#include "tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)CUDA_DNN_PLANS <= (int)CUDA_TUNE_MOST, "each plan is a candidate");

typedef struct conv {
    cuda_engine engine;
    cuda_convolution what;
    cuda_dnn_plan plan;    /* for any address, or NULL ones: there is none */
    cuda_dnn_plan aligned; /* for multiples of 16, or NULL ones: the other one is as good */
} conv;

/* ---- the handle, one of each device ---------------------------------------------------------- */

static int32_t open_library(tfr_err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int32_t status = cuda_library_open(CUDA_CUDNN, err);
    void *address;

    if (status != TFR_OK)
        return status;
    pthread_mutex_lock(&lock);
    if (!cuda_dnn.cudnnCreate) {
#define X(name, required, since, who)                                                              \
    address = cuda_library_symbol(CUDA_CUDNN, #name);                                              \
    memcpy(&cuda_dnn.name, &address, sizeof address);
#include "cudnn.def"
#undef X
        cuda_engine_warn();
    }
    pthread_mutex_unlock(&lock);
    return TFR_OK;
}

bool cuda_convolution_can(void)
{
    tfr_err why = TFR_ERR_INIT;

    return open_library(&why) == TFR_OK;
}

/* With the lock held. */
static int32_t make_handle(tfr_plugin_device *device, tfr_err *err)
{
    int32_t status = TFR_OK;

    if (!device->dnn)
        status = cuda_dnn_check(cuda_dnn.cudnnCreate(&device->dnn), "a handle of cuDNN", err);
    if (status != TFR_OK)
        device->dnn = NULL;
    return status;
}

void cuda_convolution_close(tfr_plugin_device *device)
{
    if (device->dnn)
        (void)cuda_dnn.cudnnDestroy(device->dnn);
    device->dnn = NULL;
}

/* ---- running --------------------------------------------------------------------------------- */

static int32_t execute(tfr_plugin_device *device, const cuda_dnn_plan *plan, tfr_dnn_desc *pack,
                       tfr_cu_stream *stream, tfr_err *err)
{
    tfr_dnn_status status;

    pthread_mutex_lock(&device->engine_lock);
    status = cuda_dnn.cudnnSetStream(device->dnn, stream);
    if (status == TFR_DNN_SUCCESS)
        status = cuda_dnn.cudnnBackendExecute(device->dnn, plan->plan, pack);
    pthread_mutex_unlock(&device->engine_lock);
    return cuda_dnn_check(status, "a convolution", err);
}

/* By operand: what the library knows it by, and its number in a launch. */
enum { N_OPERANDS = 5 };
typedef struct operand {
    int64_t id;
    uint16_t number;
} operand;

static void list_operands(const cuda_convolution *c, operand out[N_OPERANDS])
{
    out[0] = (operand){CUDA_DNN_X, c->x};
    out[1] = (operand){CUDA_DNN_W, c->w};
    out[2] = (operand){CUDA_DNN_Y, c->y};
    out[3] = (operand){CUDA_DNN_BIAS, c->bias};
    out[4] = (operand){CUDA_DNN_ADDEND, c->addend};
}

/* Addresses are by operand; those of operands that are not there do not count. */
static int32_t run_plan(tfr_plugin_device *device, const cuda_convolution *what,
                        const cuda_dnn_plan *plan, void *const addresses[N_OPERANDS],
                        void *workspace, tfr_cu_stream *stream, tfr_err *err)
{
    operand all[N_OPERANDS];
    int64_t ids[N_OPERANDS], n = 0;
    void *given[N_OPERANDS];
    cuda_dnn_builder b = {.what = "the operands of a convolution", .err = err};
    tfr_dnn_desc *pack = cuda_dnn_create(&b, TFR_DNN_PACK);

    list_operands(what, all);
    for (int i = 0; i < N_OPERANDS; i++)
        if (all[i].number != CUDA_NO_OPERAND) {
            ids[n] = all[i].id;
            given[n++] = addresses[i];
        }
    cuda_dnn_set_ints(&b, pack, TFR_DNN_PACK_IDS, n, ids);
    cuda_dnn_set(&b, pack, TFR_DNN_PACK_POINTERS, TFR_DNN_TYPE_POINTER, n, given);
    cuda_dnn_set(&b, pack, TFR_DNN_PACK_WORKSPACE, TFR_DNN_TYPE_POINTER, 1, &workspace);
    cuda_dnn_finish(&b, pack);
    if (b.status == TFR_OK)
        b.status = execute(device, plan, pack, stream, err);
    cuda_dnn_drop(&b);
    return b.status;
}

static int32_t conv_launch(tfr_plugin_device *device, tfr_queue *queue, cuda_engine *engine,
                           const tfr_launch *launch, tfr_err *err)
{
    const conv *v = (const conv *)engine;
    const cuda_dnn_plan *plan = v->aligned.plan ? &v->aligned : &v->plan;
    operand all[N_OPERANDS];
    void *addresses[N_OPERANDS];

    list_operands(&v->what, all);
    for (int i = 0; i < N_OPERANDS; i++) {
        addresses[i] = cuda_operand_address(launch, all[i].number);
        if (all[i].number != CUDA_NO_OPERAND && (uintptr_t)addresses[i] % 16 != 0)
            plan = &v->plan;
    }
    if (!plan->plan)
        return tfr_fail(err, TFR_EUNSUPPORTED,
                        "cuDNN takes this convolution from multiples of 16 bytes alone");
    return run_plan(device, &v->what, plan, addresses, launch->workspace, queue->stream, err);
}

/* ---- which plan ------------------------------------------------------------------------------ */

/* A plan may have loaded code in the context, with which it is lost. */
static void drop_plan(const tfr_plugin_device *device, cuda_dnn_plan *plan)
{
    if (!device->is_dead)
        cuda_dnn_plan_drop(plan);
    *plan = (cuda_dnn_plan){.plan = NULL};
}

static int32_t make_plans(tfr_plugin_device *device, const tfr_call *call,
                          const cuda_convolution *what, cuda_dnn_plans *plans, tfr_err *err)
{
    const int32_t dtype = tfr_call_input(call, 0)->dtype;
    cuda_dnn_target target = {NULL, NULL};
    int32_t status;

    pthread_mutex_lock(&device->engine_lock);
    status = make_handle(device, err);
    target.handle = device->dnn;
    if (status == TFR_OK)
        status = cuda_dnn_plans_make(&target, what, dtype, call->math_mode, plans, err);
    pthread_mutex_unlock(&device->engine_lock);
    return status;
}

static cuda_candidate_id id_of(const cuda_dnn_plan *plan)
{
    const cuda_candidate_id id = {.words = {(uint64_t)plan->number, (uint64_t)plan->engine,
                                            plan->notes, plan->workspace_bytes}};

    return id;
}

static size_t write_dims(char *text, size_t n, const char *name, const int64_t dims[4],
                         bool is_last)
{
    return (size_t)snprintf(text, n, ", %s %lldx%lldx%lldx%lld%s", name, (long long)dims[0],
                            (long long)dims[1], (long long)dims[2], (long long)dims[3],
                            is_last ? " last" : "");
}

static void write_key(const tfr_plugin_device *device, const tfr_call *call,
                      const cuda_convolution *c, char key[CUDA_TUNE_KEY])
{
    static const char *const names[] = {[CUDA_CONV_FORWARD] = "convolution",
                                        [CUDA_CONV_GRAD_INPUT] = "gradient of inputs",
                                        [CUDA_CONV_GRAD_FILTER] = "gradient of filters"};
    char text[CUDA_TUNE_KEY];
    size_t used = (size_t)snprintf(text, sizeof text, "%s of type %d, math mode %d", names[c->kind],
                                   tfr_call_input(call, 0)->dtype, call->math_mode);

    used += write_dims(text + used, sizeof text - used, "x", c->x_dims, c->x_last);
    used += write_dims(text + used, sizeof text - used, "w", c->w_dims, false);
    used += write_dims(text + used, sizeof text - used, "y", c->y_dims, c->y_last);
    snprintf(text + used, sizeof text - used,
             ", strides %lld %lld, dilations %lld %lld, pads %lld %lld %lld %lld, bias %d, addend "
             "%d%s, relu %d, ceiling %a%s",
             (long long)c->stride[0], (long long)c->stride[1], (long long)c->dilation[0],
             (long long)c->dilation[1], (long long)c->pad[0], (long long)c->pad[1],
             (long long)c->pad_end[0], (long long)c->pad_end[1], c->bias != CUDA_NO_OPERAND,
             c->addend != CUDA_NO_OPERAND, c->addend_last ? " last" : "", c->has_relu,
             c->has_ceiling ? (double)c->ceiling : HUGE_VAL, c->is_aligned ? ", aligned" : "");
    cuda_tune_key(device, "cuDNN", cuda_dnn.cudnnGetVersion(), text, key);
}

/* The plan that was chosen before, and no other. */
static bool make_known(tfr_plugin_device *device, const tfr_call *call,
                       const cuda_convolution *what, const char *key, cuda_dnn_plan *out)
{
    cuda_dnn_plans plans = {.most = 1, .wants_engine = true};
    cuda_candidate_id known, found;
    tfr_err err = TFR_ERR_INIT;

    if (!cuda_tune_recall(device, key, &known))
        return false;
    plans.first = (int64_t)known.words[0];
    if (make_plans(device, call, what, &plans, &err) != TFR_OK)
        return false;
    found = id_of(&plans.all[0]);
    if (memcmp(&found, &known, sizeof known) == 0)
        *out = plans.all[0];
    else
        drop_plan(device, &plans.all[0]);
    return out->plan != NULL;
}

typedef struct trial {
    const cuda_convolution *what;
    const cuda_dnn_plans *plans;
} trial;

static int32_t try_plan(tfr_plugin_device *device, const void *user, uint32_t number,
                        void *const *operands, void *workspace, tfr_cu_stream *stream, tfr_err *err)
{
    const trial *t = user;

    return run_plan(device, t->what, &t->plans->all[number], operands, workspace, stream, err);
}

static uint64_t bytes_of(const int64_t dims[4], int32_t dtype)
{
    return (uint64_t)(dims[0] * dims[1] * dims[2] * dims[3]) * tfr_dtype_bits(dtype) / 8;
}

static int32_t choose_by_time(tfr_plugin_device *device, const tfr_call *call,
                              const cuda_convolution *c, const cuda_dnn_plans *plans,
                              const char *key, uint32_t *out, tfr_err *err)
{
    const int32_t dtype = tfr_call_input(call, 0)->dtype;
    const int64_t bias[] = {1, c->y_dims[1], 1, 1};
    const trial t = {c, plans};
    cuda_contest contest = {
        .key = key,
        .n = (uint32_t)plans->n,
        .operand_bytes = {bytes_of(c->x_dims, dtype), bytes_of(c->w_dims, dtype),
                          bytes_of(c->y_dims, dtype),
                          c->bias != CUDA_NO_OPERAND ? bytes_of(bias, dtype) : 0,
                          c->addend != CUDA_NO_OPERAND ? bytes_of(c->y_dims, dtype) : 0},
        .run = try_plan,
        .user = &t,
    };

    for (uint32_t i = 0; i < contest.n; i++) {
        contest.ids[i] = id_of(&plans->all[i]);
        contest.workspace_bytes[i] = plans->all[i].workspace_bytes;
    }
    return cuda_tune(device, &contest, out, err);
}

static int32_t choose(tfr_plugin_device *device, const tfr_call *call, const cuda_convolution *what,
                      cuda_dnn_plan *out, tfr_err *err)
{
    const bool decides = cuda_tune_decides(device, call);
    const bool runs = decides && cuda_tune_may_run(device);
    const uint64_t since = cuda_tune_clock();
    cuda_dnn_plans plans = {.most = runs ? CUDA_DNN_PLANS : 1, .wants_engine = runs};
    char key[CUDA_TUNE_KEY];
    uint32_t number = 0;
    int32_t status;

    if (decides) {
        write_key(device, call, what, key);
        if (make_known(device, call, what, key, out))
            return TFR_OK;
    }
    status = make_plans(device, call, what, &plans, err);
    if (runs)
        cuda_tune_spend(device, since); /* the library takes 10 ms for a plan */
    if (status == TFR_OK && runs)
        status = choose_by_time(device, call, what, &plans, key, &number, err);
    for (uint32_t i = 0; i < plans.n; i++)
        if (i == number && status == TFR_OK)
            *out = plans.all[i];
        else
            drop_plan(device, &plans.all[i]);
    return status;
}

/* ---- engines --------------------------------------------------------------------------------- */

static void conv_drop(tfr_plugin_device *device, cuda_engine *engine)
{
    conv *v = (conv *)engine;

    if ((v->plan.plan || v->aligned.plan) && !device->is_dead &&
        cuda_driver.cuCtxPushCurrent_v2(device->context) == TFR_CU_SUCCESS) {
        drop_plan(device, &v->plan);
        drop_plan(device, &v->aligned);
        cuda_leave(device);
    }
    free(v);
}

/* Where channels are last and nothing is added, a plan for aligned addresses goes first; the one
 * for any address is then rarely used, and may be missing. */
static int32_t choose_all(tfr_plugin_device *device, const tfr_call *call, conv *v, tfr_err *err)
{
    cuda_convolution what = v->what;
    int32_t status;

    what.is_aligned = (what.x_last || what.y_last) && what.bias == CUDA_NO_OPERAND;
    if (what.is_aligned) {
        status = choose(device, call, &what, &v->aligned, err);
        if (status != TFR_OK)
            return status;
        what.is_aligned = false;
    }
    status = choose(device, call, &what, &v->plan, err);
    return status == TFR_EUNSUPPORTED && v->aligned.plan ? TFR_OK : status;
}

static int32_t build(tfr_plugin_device *device, const tfr_call *call, conv *v, tfr_err *err)
{
    const int32_t dtype = tfr_call_input(call, 0)->dtype;
    const cuda_dnn_plan *best;
    uint64_t bytes;
    int32_t status = open_library(err);

    if (status == TFR_OK)
        status = choose_all(device, call, v, err);
    best = v->aligned.plan ? &v->aligned : &v->plan;
    bytes = v->plan.plan && v->plan.workspace_bytes > best->workspace_bytes
                ? v->plan.workspace_bytes
                : best->workspace_bytes;
    v->engine.uses_math_mode =
        dtype == TFR_DTYPE_F32 && best->notes & 1u << TFR_DNN_NOTE_TENSOR_CORE;
    v->engine.workspace_bytes = (bytes + 255) / 256 * 256;
    return status;
}

int32_t cuda_convolution_make(tfr_plugin_device *device, const tfr_call *call,
                              const cuda_convolution *convolution, cuda_engine **out, tfr_err *err)
{
    conv *v = calloc(1, sizeof *v);
    int32_t status;

    if (!v)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a convolution");
    v->what = *convolution;
    v->engine.name = "cudnn";
    v->engine.launch = conv_launch;
    v->engine.drop = conv_drop;
    status = build(device, call, v, err);
    if (status == TFR_OK)
        *out = &v->engine;
    else
        conv_drop(device, &v->engine);
    return status;
}
