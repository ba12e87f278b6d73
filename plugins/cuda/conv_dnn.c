/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_dnn.c: large convolutions and their gradients by cuDNN.
 *
 * Plans are made in prepare (conv_plan.c), and a launch tells where the operands are. A handle may
 * be used by one thread at a time, so that a device has one, behind its lock. Its first plan that
 * runs allocates, which a capture does not survive: the core captures what has been launched
 * before.
 */
#include "dnn.h"
#include "engine.h"

#include <stdlib.h>
#include <string.h>

typedef struct conv {
    cuda_engine engine;
    cuda_convolution what;
    cuda_dnn_plan plan;
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

static int32_t execute(tfr_plugin_device *device, const conv *v, tfr_dnn_desc *pack,
                       tfr_cu_stream *stream, tfr_err *err)
{
    tfr_dnn_status status;

    pthread_mutex_lock(&device->engine_lock);
    status = cuda_dnn.cudnnSetStream(device->dnn, stream);
    if (status == TFR_DNN_SUCCESS)
        status = cuda_dnn.cudnnBackendExecute(device->dnn, v->plan.plan, pack);
    pthread_mutex_unlock(&device->engine_lock);
    return cuda_dnn_check(status, "a convolution", err);
}

static int32_t conv_launch(tfr_plugin_device *device, tfr_queue *queue, cuda_engine *engine,
                           const tfr_launch *launch, tfr_err *err)
{
    const conv *v = (const conv *)engine;
    const struct {
        int64_t id;
        uint16_t operand;
    } all[] = {{CUDA_DNN_X, v->what.x},
               {CUDA_DNN_W, v->what.w},
               {CUDA_DNN_Y, v->what.y},
               {CUDA_DNN_BIAS, v->what.bias},
               {CUDA_DNN_ADDEND, v->what.addend}};
    int64_t ids[5], n = 0;
    void *addresses[5];
    cuda_dnn_builder b = {.what = "the operands of a convolution", .err = err};
    tfr_dnn_desc *pack = cuda_dnn_create(&b, TFR_DNN_PACK);

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].operand != CUDA_NO_OPERAND) {
            ids[n] = all[i].id;
            addresses[n++] = cuda_operand_address(launch, all[i].operand);
        }
    cuda_dnn_set_ints(&b, pack, TFR_DNN_PACK_IDS, n, ids);
    cuda_dnn_set(&b, pack, TFR_DNN_PACK_POINTERS, TFR_DNN_TYPE_POINTER, n, addresses);
    cuda_dnn_set(&b, pack, TFR_DNN_PACK_WORKSPACE, TFR_DNN_TYPE_POINTER, 1, &launch->workspace);
    cuda_dnn_finish(&b, pack);
    if (b.status == TFR_OK)
        b.status = execute(device, v, pack, queue->stream, err);
    cuda_dnn_drop(&b);
    return b.status;
}

/* ---- engines --------------------------------------------------------------------------------- */

/* A plan may have loaded code in the context, with which it is lost. */
static void conv_drop(tfr_plugin_device *device, cuda_engine *engine)
{
    conv *v = (conv *)engine;

    if (v->plan.plan && !device->is_dead &&
        cuda_driver.cuCtxPushCurrent_v2(device->context) == TFR_CU_SUCCESS) {
        cuda_dnn_plan_drop(&v->plan);
        cuda_leave(device);
    }
    free(v);
}

static int32_t build(tfr_plugin_device *device, const tfr_call *call, conv *v, tfr_err *err)
{
    const int32_t dtype = tfr_call_input(call, 0)->dtype;
    cuda_dnn_target target = {NULL, NULL};
    int32_t status = open_library(err);

    if (status != TFR_OK)
        return status;
    pthread_mutex_lock(&device->engine_lock);
    status = make_handle(device, err);
    target.handle = device->dnn;
    if (status == TFR_OK)
        status = cuda_dnn_plan_make(&target, &v->what, dtype, call->math_mode, &v->plan, err);
    pthread_mutex_unlock(&device->engine_lock);
    v->engine.uses_math_mode =
        dtype == TFR_DTYPE_F32 && v->plan.notes & 1u << TFR_DNN_NOTE_TENSOR_CORE;
    v->engine.workspace_bytes = (v->plan.workspace_bytes + 255) / 256 * 256;
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
