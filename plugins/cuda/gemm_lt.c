/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_lt.c: large products by cuBLASLt.
 *
 * The library takes matrices by columns. What lies in memory as C = A B by rows is C' = B' A' by
 * columns, so that the operands change places and nothing is transposed; a bias along the rows of C
 * is one along the columns of C', as the library wants it.
 *
 * All is made in prepare: the handle, the descriptors, the choice of an algorithm (gemm_algo.c). A
 * first launch loads code, which a capture does not survive; the core captures what has been
 * launched before. Addresses are known at launch only. Most are aligned to 16 bytes, which is all
 * that an algorithm asks for, so one is chosen for those and one for any address; a deterministic
 * call has the latter alone, for bits may not depend on where an operand lies.
 */
#include "gemm_lt.h"

#include <stdlib.h>
#include <string.h>

cuda_lt_table cuda_lt;

int32_t cuda_lt_check(tfr_lt_status status, const char *what, tfr_err *err)
{
    if (status == TFR_LT_SUCCESS)
        return TFR_OK;
    return cuda_fail_cublas(err, (int)status, cuda_lt.cublasLtGetStatusString(status), what);
}

/* ---- the handle, one of each device ---------------------------------------------------------- */

static int32_t open_library(tfr_err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int32_t status = cuda_library_open(CUDA_CUBLASLT, err);
    void *address;

    if (status != TFR_OK)
        return status;
    pthread_mutex_lock(&lock);
    if (!cuda_lt.cublasLtCreate) {
#define X(name, required, since, who)                                                              \
    address = cuda_library_symbol(CUDA_CUBLASLT, #name);                                           \
    memcpy(&cuda_lt.name, &address, sizeof address);
#include "cublaslt.def"
#undef X
        cuda_engine_warn();
    }
    pthread_mutex_unlock(&lock);
    return TFR_OK;
}

static int32_t make_handle(tfr_plugin_device *device, tfr_err *err)
{
    int32_t status = open_library(err);

    if (status != TFR_OK)
        return status;
    pthread_mutex_lock(&device->engine_lock);
    if (!device->lt)
        status = cuda_lt_check(cuda_lt.cublasLtCreate(&device->lt), "a handle of cuBLASLt", err);
    if (status != TFR_OK)
        device->lt = NULL;
    pthread_mutex_unlock(&device->engine_lock);
    return status;
}

void cuda_gemm_close(tfr_plugin_device *device)
{
    if (device->lt)
        (void)cuda_lt.cublasLtDestroy(device->lt);
    device->lt = NULL;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static unsigned type_of(int32_t dtype)
{
    return dtype == TFR_DTYPE_F16 ? TFR_LT_F16 : dtype == TFR_DTYPE_BF16 ? TFR_LT_BF16 : TFR_LT_F32;
}

/* Half types are multiplied as they are and summed in f32, whatever the mode. */
static unsigned compute_of(int32_t dtype, int32_t math_mode)
{
    if (dtype != TFR_DTYPE_F32 || math_mode < TFR_MATH_TF32)
        return TFR_LT_COMPUTE_F32;
    return math_mode == TFR_MATH_TF32 ? TFR_LT_COMPUTE_FAST_TF32 : TFR_LT_COMPUTE_FAST_BF16;
}

static int32_t set(cuda_gemm *g, unsigned attribute, const void *value, size_t bytes, tfr_err *err)
{
    return cuda_lt_check(cuda_lt.cublasLtMatmulDescSetAttribute(g->desc, attribute, value, bytes),
                         "the description of a product", err);
}

static uint32_t epilogue_of(const cuda_product *p)
{
    const bool has_bias = p->bias != CUDA_NO_OPERAND;

    switch (p->activation) {
    case CUDA_ACTIVATION_RELU:
        return has_bias ? TFR_LT_EPILOGUE_RELU_BIAS : TFR_LT_EPILOGUE_RELU;
    case CUDA_ACTIVATION_GELU:
        return has_bias ? TFR_LT_EPILOGUE_GELU_BIAS : TFR_LT_EPILOGUE_GELU;
    default:
        return has_bias ? TFR_LT_EPILOGUE_BIAS : TFR_LT_EPILOGUE_DEFAULT;
    }
}

static int32_t make_desc(cuda_gemm *g, unsigned compute, tfr_err *err)
{
    const int32_t transposed = TFR_LT_OP_T;
    const uint32_t epilogue = epilogue_of(&g->product);
    const uint64_t some_address = 256; /* heuristics take a product with a bias that has one */
    int32_t status = cuda_lt_check(cuda_lt.cublasLtMatmulDescCreate(&g->desc, compute, TFR_LT_F32),
                                   "the description of a product", err);

    if (status == TFR_OK && g->product.b_swapped)
        status = set(g, TFR_LT_DESC_TRANS_A, &transposed, sizeof transposed, err);
    if (status == TFR_OK && g->product.a_swapped)
        status = set(g, TFR_LT_DESC_TRANS_B, &transposed, sizeof transposed, err);
    if (status == TFR_OK && epilogue != TFR_LT_EPILOGUE_DEFAULT)
        status = set(g, TFR_LT_DESC_EPILOGUE, &epilogue, sizeof epilogue, err);
    if (status == TFR_OK && g->product.bias != CUDA_NO_OPERAND)
        status = set(g, TFR_LT_DESC_BIAS_POINTER, &some_address, sizeof some_address, err);
    return status;
}

/* A matrix as it lies in memory, its rows for the library's columns. */
static int32_t make_layout(tfr_lt_layout **out, unsigned type, int64_t rows, int64_t columns,
                           int64_t batch, int64_t stride, tfr_err *err)
{
    static const char what[] = "the layout of a matrix";
    const int32_t count = (int32_t)batch;
    int32_t status = cuda_lt_check(
        cuda_lt.cublasLtMatrixLayoutCreate(out, type, (uint64_t)columns, (uint64_t)rows, columns),
        what, err);

    if (status == TFR_OK && batch > 1)
        status = cuda_lt_check(cuda_lt.cublasLtMatrixLayoutSetAttribute(
                                   *out, TFR_LT_LAYOUT_BATCH_COUNT, &count, sizeof count),
                               what, err);
    if (status == TFR_OK && batch > 1)
        status = cuda_lt_check(cuda_lt.cublasLtMatrixLayoutSetAttribute(
                                   *out, TFR_LT_LAYOUT_BATCH_STRIDE, &stride, sizeof stride),
                               what, err);
    return status;
}

static int32_t make_layouts(cuda_gemm *g, unsigned type, tfr_err *err)
{
    const cuda_product *p = &g->product;
    int32_t status = make_layout(&g->a, type, p->b_swapped ? p->n : p->k,
                                 p->b_swapped ? p->k : p->n, p->batch, p->b_stride, err);

    if (status == TFR_OK)
        status = make_layout(&g->b, type, p->a_swapped ? p->k : p->m, p->a_swapped ? p->m : p->k,
                             p->batch, p->a_stride, err);
    if (status == TFR_OK)
        status = make_layout(&g->y, type, p->m, p->n, p->batch, p->m * p->n, err);
    return status;
}

/* ---- running --------------------------------------------------------------------------------- */

int32_t cuda_gemm_multiply(tfr_plugin_device *device, cuda_gemm *g, const cuda_gemm_algo *algo,
                           const cuda_gemm_memory *m, tfr_cu_stream *stream, tfr_err *err)
{
    tfr_lt_status status = TFR_LT_SUCCESS;

    if (m->bias) {
        pthread_mutex_lock(&g->lock);
        status = cuda_lt.cublasLtMatmulDescSetAttribute(g->desc, TFR_LT_DESC_BIAS_POINTER, &m->bias,
                                                        sizeof m->bias);
    }
    if (status == TFR_LT_SUCCESS)
        status =
            cuda_lt.cublasLtMatmul(device->lt, g->desc, &g->product.alpha, m->b, g->a, m->a, g->b,
                                   &g->product.beta, m->addend ? m->addend : m->y, g->y, m->y, g->y,
                                   &algo->algo, m->workspace, algo->workspace_bytes, stream);
    if (m->bias)
        pthread_mutex_unlock(&g->lock);
    return cuda_lt_check(status, "a product", err);
}

static int32_t gemm_launch(tfr_plugin_device *device, tfr_queue *queue, cuda_engine *engine,
                           const tfr_launch *launch, tfr_err *err)
{
    cuda_gemm *g = (cuda_gemm *)engine;
    const cuda_gemm_memory m = {
        .a = cuda_operand_address(launch, g->product.a),
        .b = cuda_operand_address(launch, g->product.b),
        .bias = cuda_operand_address(launch, g->product.bias),
        .addend = cuda_operand_address(launch, g->product.addend),
        .y = cuda_operand_address(launch, g->product.y),
        .workspace = launch->workspace,
    };
    const uintptr_t all =
        (uintptr_t)m.a | (uintptr_t)m.b | (uintptr_t)m.bias | (uintptr_t)m.addend | (uintptr_t)m.y;
    const bool is_aligned = g->has_aligned && all % CUDA_GEMM_ALIGNMENT == 0;

    return cuda_gemm_multiply(device, g, is_aligned ? &g->aligned : &g->any, &m, queue->stream,
                              err);
}

/* ---- engines --------------------------------------------------------------------------------- */

/* Descriptors are the host's alone: they are given back whatever became of the device. */
static void gemm_drop(tfr_plugin_device *device, cuda_engine *engine)
{
    cuda_gemm *g = (cuda_gemm *)engine;

    (void)device;
    if (g->desc)
        (void)cuda_lt.cublasLtMatmulDescDestroy(g->desc);
    if (g->a)
        (void)cuda_lt.cublasLtMatrixLayoutDestroy(g->a);
    if (g->b)
        (void)cuda_lt.cublasLtMatrixLayoutDestroy(g->b);
    if (g->y)
        (void)cuda_lt.cublasLtMatrixLayoutDestroy(g->y);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

static int32_t build(tfr_plugin_device *device, const tfr_call *call, cuda_gemm *g, tfr_err *err)
{
    const int32_t dtype = tfr_call_input(call, 0)->dtype;
    const unsigned compute = compute_of(dtype, call->math_mode);
    int32_t status = make_handle(device, err);

    if (status == TFR_OK)
        status = make_desc(g, compute, err);
    if (status == TFR_OK)
        status = make_layouts(g, type_of(dtype), err);
    if (status == TFR_OK)
        status = cuda_gemm_choose(device, call, g, err);
    if (status != TFR_OK)
        return status;
    g->engine.uses_math_mode = compute != TFR_LT_COMPUTE_F32;
    g->engine.workspace_bytes = g->any.workspace_bytes;
    if (g->has_aligned && g->aligned.workspace_bytes > g->any.workspace_bytes)
        g->engine.workspace_bytes = g->aligned.workspace_bytes;
    g->engine.workspace_bytes = (g->engine.workspace_bytes + 255) / 256 * 256;
    return TFR_OK;
}

int32_t cuda_gemm_make(tfr_plugin_device *device, const tfr_call *call, const cuda_product *product,
                       cuda_engine **out, tfr_err *err)
{
    cuda_gemm *g = calloc(1, sizeof *g);
    int32_t status;

    if (!g)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a product");
    pthread_mutex_init(&g->lock, NULL);
    g->product = *product;
    g->engine.name = "cublasLt";
    g->engine.launch = gemm_launch;
    g->engine.drop = gemm_drop;
    status = build(device, call, g, err);
    if (status == TFR_OK)
        *out = &g->engine;
    else
        gemm_drop(device, &g->engine);
    return status;
}
