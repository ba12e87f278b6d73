/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_lt.c: large products by cuBLASLt.
 *
 * The library takes matrices by columns. What lies in memory as C = A B by rows is C' = B' A' by
 * columns, so that the operands change places and nothing is transposed; a bias along the rows of C
 * is one along the columns of C', as the library wants it.
 *
 * All is made in prepare: the handle, the descriptors, the algorithm that the library's heuristic
 * names first. A first launch loads code, which a capture does not survive; the core captures what
 * has been launched before. Addresses are known at launch only. Most are aligned to 16 bytes, which
 * is all that an algorithm asks for, so one is chosen for those and one for any address; a
 * deterministic call has the latter alone, for bits may not depend on where an operand lies.
 */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cublaslt_abi.h"

#define MIB       (UINT64_C(1) << 20)
#define ALIGNMENT 16u

enum { N_CANDIDATES = 8 };

static struct {
#define X(name, required, since, who) tfr_##name##_fn *name;
#include "cublaslt.def"
#undef X
} lt;

typedef struct gemm_algo {
    tfr_lt_algo algo;
    uint64_t workspace_bytes;
} gemm_algo;

typedef struct gemm {
    cuda_engine engine;
    cuda_product product;
    tfr_lt_desc *desc;
    tfr_lt_layout *a, *b, *y; /* by columns: a is ours b */
    gemm_algo aligned, any;
    bool has_aligned;
    pthread_mutex_t lock; /* of desc, which holds the bias's address */
} gemm;

static int32_t check(tfr_lt_status status, const char *what, tfr_err *err)
{
    if (status == TFR_LT_SUCCESS)
        return TFR_OK;
    return cuda_fail_cublas(err, (int)status, lt.cublasLtGetStatusString(status), what);
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
    if (!lt.cublasLtCreate) {
#define X(name, required, since, who)                                                              \
    address = cuda_library_symbol(CUDA_CUBLASLT, #name);                                           \
    memcpy(&lt.name, &address, sizeof address);
#include "cublaslt.def"
#undef X
        cuda_engine_warn();
    }
    pthread_mutex_unlock(&lock);
    return TFR_OK;
}

static int32_t find_handle(tfr_plugin_device *device, tfr_lt_handle **out, tfr_err *err)
{
    int32_t status = open_library(err);

    if (status != TFR_OK)
        return status;
    pthread_mutex_lock(&device->engine_lock);
    if (!device->lt)
        status = check(lt.cublasLtCreate(&device->lt), "a handle of cuBLASLt", err);
    if (status != TFR_OK)
        device->lt = NULL;
    *out = device->lt;
    pthread_mutex_unlock(&device->engine_lock);
    return status;
}

void cuda_gemm_close(tfr_plugin_device *device)
{
    if (device->lt)
        (void)lt.cublasLtDestroy(device->lt);
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

static int32_t set(gemm *g, unsigned attribute, const void *value, size_t bytes, tfr_err *err)
{
    return check(lt.cublasLtMatmulDescSetAttribute(g->desc, attribute, value, bytes),
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

static int32_t make_desc(gemm *g, unsigned compute, tfr_err *err)
{
    const int32_t transposed = TFR_LT_OP_T;
    const uint32_t epilogue = epilogue_of(&g->product);
    const uint64_t some_address = 256; /* heuristics take a product with a bias that has one */
    int32_t status = check(lt.cublasLtMatmulDescCreate(&g->desc, compute, TFR_LT_F32),
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
    int32_t status =
        check(lt.cublasLtMatrixLayoutCreate(out, type, (uint64_t)columns, (uint64_t)rows, columns),
              what, err);

    if (status == TFR_OK && batch > 1)
        status = check(lt.cublasLtMatrixLayoutSetAttribute(*out, TFR_LT_LAYOUT_BATCH_COUNT, &count,
                                                           sizeof count),
                       what, err);
    if (status == TFR_OK && batch > 1)
        status = check(lt.cublasLtMatrixLayoutSetAttribute(*out, TFR_LT_LAYOUT_BATCH_STRIDE,
                                                           &stride, sizeof stride),
                       what, err);
    return status;
}

static int32_t make_layouts(gemm *g, unsigned type, tfr_err *err)
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

/* ---- the algorithm --------------------------------------------------------------------------- */

static int32_t set_preference(tfr_lt_pref *pref, uint64_t workspace, uint32_t alignment,
                              uint32_t reductions, tfr_err *err)
{
    static const unsigned alignments[] = {TFR_LT_PREF_ALIGNMENT_A, TFR_LT_PREF_ALIGNMENT_B,
                                          TFR_LT_PREF_ALIGNMENT_C, TFR_LT_PREF_ALIGNMENT_D};
    tfr_lt_status status = lt.cublasLtMatmulPreferenceSetAttribute(
        pref, TFR_LT_PREF_WORKSPACE_BYTES, &workspace, sizeof workspace);

    if (status == TFR_LT_SUCCESS)
        status = lt.cublasLtMatmulPreferenceSetAttribute(pref, TFR_LT_PREF_REDUCTION_MASK,
                                                         &reductions, sizeof reductions);
    for (int i = 0; i < 4 && status == TFR_LT_SUCCESS; i++)
        status = lt.cublasLtMatmulPreferenceSetAttribute(pref, alignments[i], &alignment,
                                                         sizeof alignment);
    return check(status, "the preferences for a product", err);
}

static int32_t ask(gemm *g, tfr_lt_handle *handle, tfr_lt_pref *pref, gemm_algo *out, tfr_err *err)
{
    tfr_lt_heuristic results[N_CANDIDATES];
    int n = 0;
    int32_t status;

    memset(results, 0, sizeof results);
    status = check(lt.cublasLtMatmulAlgoGetHeuristic(handle, g->desc, g->a, g->b, g->y, g->y, pref,
                                                     N_CANDIDATES, results, &n),
                   "the choice of an algorithm for a product", err);
    if (status != TFR_OK)
        return status;
    for (int i = 0; i < n; i++)
        if (results[i].state == TFR_LT_SUCCESS) {
            out->algo = results[i].algo;
            out->workspace_bytes = results[i].workspace_bytes;
            return TFR_OK;
        }
    return tfr_fail(err, TFR_EUNSUPPORTED, "cuBLASLt has no algorithm for this product");
}

/* Parts of a sum are added in f32, never as half numbers. */
static int32_t choose(gemm *g, const tfr_plugin_device *device, tfr_lt_handle *handle,
                      uint32_t alignment, gemm_algo *out, tfr_err *err)
{
    const uint64_t workspace = (device->facts.chip.capability >= 90 ? 32 : 4) * MIB;
    tfr_lt_pref *pref = NULL;
    int32_t status =
        check(lt.cublasLtMatmulPreferenceCreate(&pref), "the preferences for a product", err);

    if (status != TFR_OK)
        return status;
    status = set_preference(pref, workspace, alignment, TFR_LT_REDUCTION_COMPUTE_TYPE, err);
    if (status == TFR_OK)
        status = ask(g, handle, pref, out, err);
    (void)lt.cublasLtMatmulPreferenceDestroy(pref);
    return status;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct gemm_memory {
    const void *a, *b, *bias, *addend;
    void *y, *workspace;
} gemm_memory;

static int32_t multiply(tfr_plugin_device *device, gemm *g, const gemm_algo *algo,
                        const gemm_memory *m, tfr_cu_stream *stream, tfr_err *err)
{
    tfr_lt_status status = TFR_LT_SUCCESS;

    if (m->bias) {
        pthread_mutex_lock(&g->lock);
        status = lt.cublasLtMatmulDescSetAttribute(g->desc, TFR_LT_DESC_BIAS_POINTER, &m->bias,
                                                   sizeof m->bias);
    }
    if (status == TFR_LT_SUCCESS)
        status = lt.cublasLtMatmul(device->lt, g->desc, &g->product.alpha, m->b, g->a, m->a, g->b,
                                   &g->product.beta, m->addend ? m->addend : m->y, g->y, m->y, g->y,
                                   &algo->algo, m->workspace, algo->workspace_bytes, stream);
    if (m->bias)
        pthread_mutex_unlock(&g->lock);
    return check(status, "a product", err);
}

static int32_t gemm_launch(tfr_plugin_device *device, tfr_queue *queue, cuda_engine *engine,
                           const tfr_launch *launch, tfr_err *err)
{
    gemm *g = (gemm *)engine;
    const gemm_memory m = {
        .a = cuda_operand_address(launch, g->product.a),
        .b = cuda_operand_address(launch, g->product.b),
        .bias = cuda_operand_address(launch, g->product.bias),
        .addend = cuda_operand_address(launch, g->product.addend),
        .y = cuda_operand_address(launch, g->product.y),
        .workspace = launch->workspace,
    };
    const uintptr_t all =
        (uintptr_t)m.a | (uintptr_t)m.b | (uintptr_t)m.bias | (uintptr_t)m.addend | (uintptr_t)m.y;
    const bool is_aligned = g->has_aligned && all % ALIGNMENT == 0;

    return multiply(device, g, is_aligned ? &g->aligned : &g->any, &m, queue->stream, err);
}

/* ---- engines --------------------------------------------------------------------------------- */

/* Descriptors are the host's alone: they are given back whatever became of the device. */
static void gemm_drop(tfr_plugin_device *device, cuda_engine *engine)
{
    gemm *g = (gemm *)engine;

    (void)device;
    if (g->desc)
        (void)lt.cublasLtMatmulDescDestroy(g->desc);
    if (g->a)
        (void)lt.cublasLtMatrixLayoutDestroy(g->a);
    if (g->b)
        (void)lt.cublasLtMatrixLayoutDestroy(g->b);
    if (g->y)
        (void)lt.cublasLtMatrixLayoutDestroy(g->y);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

static int32_t build(tfr_plugin_device *device, const tfr_call *call, gemm *g, tfr_err *err)
{
    const int32_t dtype = tfr_call_input(call, 0)->dtype;
    const unsigned compute = compute_of(dtype, call->math_mode);
    const uint64_t size = tfr_dtype_bits(dtype) / 8;
    const bool is_free = !(call->flags & TFR_CALL_DETERMINISTIC);
    tfr_lt_handle *handle = NULL;
    int32_t status = find_handle(device, &handle, err);

    if (status == TFR_OK)
        status = make_desc(g, compute, err);
    if (status == TFR_OK)
        status = make_layouts(g, type_of(dtype), err);
    if (status == TFR_OK)
        status = choose(g, device, handle, (uint32_t)size, &g->any, err);
    if (status == TFR_OK && is_free) {
        status = choose(g, device, handle, ALIGNMENT, &g->aligned, err);
        g->has_aligned = status == TFR_OK;
    }
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
    gemm *g = calloc(1, sizeof *g);
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
