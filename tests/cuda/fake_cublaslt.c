/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in of cuBLASLt for tests, tests/cuda/libcublasLt.so.13: products by plain loops in the
 * streams of the driver stand-in, which must be open. An algorithm differs from the others in the
 * alignment, the workspace that it needs and the time that it takes, and writes all over its
 * workspace, as two products that share one by mistake would. How often algorithm 2 was put on a
 * stream is told as the calls of "algo 2". A handle allocates with its first product, so that this
 * one cannot be captured. Strict f32 is not rounded, TF32 and bf16 computing are, so that a test
 * sees which it was.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cublaslt_abi.h"
#include "fake_driver.h"
#define FAKE_LIBRARY
#include "fake_library.h"
#include "fake_number.h"

#define EXPORT                        __attribute__((visibility("default")))
#define X(name, required, since, who) EXPORT tfr_##name##_fn name;
#include "cublaslt.def"
#undef X

enum { VERSION = 130100 };
static const uint64_t algo_magic = 0x6f676c61206b6166;

/* How many handles and descriptors there are: tests ask for it by dlsym. */
EXPORT unsigned tfr_fake_cublaslt_held(void);
EXPORT fake_library_calls_fn tfr_fake_cublaslt_calls;
EXPORT fake_library_fail_fn tfr_fake_cublaslt_fail;
EXPORT fake_library_cost_fn tfr_fake_cublaslt_cost;
static atomic_uint n_held;

EXPORT unsigned tfr_fake_cublaslt_held(void)
{
    return atomic_load(&n_held);
}

EXPORT unsigned tfr_fake_cublaslt_calls(const char *name)
{
    return fake_calls(name);
}

EXPORT void tfr_fake_cublaslt_fail(const char *name, unsigned nth, unsigned code)
{
    fake_fail(name, nth, code);
}

EXPORT void tfr_fake_cublaslt_cost(unsigned number, double ms)
{
    fake_set_cost(number, ms);
}

static void *hold(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (p)
        atomic_fetch_add(&n_held, 1);
    return p;
}

static tfr_lt_status drop(void *p)
{
    if (!p)
        return TFR_LT_INVALID_VALUE;
    atomic_fetch_sub(&n_held, 1);
    free(p);
    return TFR_LT_SUCCESS;
}

/* ------------------------------------------------------------------------------------------
 * Handles.
 */
struct tfr_lt_handle {
    tfr_lt_handle *next;
    fake_launch_fn *launch;
    fake_spend_fn *spend;
    tfr_cuMemHostAlloc_fn *allocate;
    tfr_cuMemFreeHost_fn *release;
    atomic_bool warm;
};

/* All of them, so that LeakSanitizer finds that of a GPU that is lost, which nobody destroys. */
static tfr_lt_handle *handles;

tfr_lt_status cublasLtCreate(tfr_lt_handle **handle)
{
    FAKE_CALL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    tfr_lt_handle *h = driver && handle ? hold(sizeof *h) : NULL;
    if (!h)
        return driver ? TFR_LT_ALLOC_FAILED : TFR_LT_NOT_INITIALIZED;
    *(void **)&h->launch = dlsym(driver, "tfr_fake_cuda_launch");
    *(void **)&h->spend = dlsym(driver, "tfr_fake_cuda_spend");
    *(void **)&h->allocate = dlsym(driver, "cuMemHostAlloc");
    *(void **)&h->release = dlsym(driver, "cuMemFreeHost");
    pthread_mutex_lock(&fake_lock);
    h->next = handles;
    handles = h;
    pthread_mutex_unlock(&fake_lock);
    *handle = h;
    return TFR_LT_SUCCESS;
}

tfr_lt_status cublasLtDestroy(tfr_lt_handle *handle)
{
    pthread_mutex_lock(&fake_lock);
    tfr_lt_handle **at = &handles;
    while (*at && *at != handle)
        at = &(*at)->next;
    if (*at)
        *at = handle->next;
    pthread_mutex_unlock(&fake_lock);
    return drop(handle);
}

size_t cublasLtGetVersion(void)
{
    return VERSION;
}

const char *cublasLtGetStatusString(tfr_lt_status status)
{
    switch (status) {
    case TFR_LT_SUCCESS:
        return "CUBLAS_STATUS_SUCCESS";
    case TFR_LT_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case TFR_LT_ALLOC_FAILED:
        return "CUBLAS_STATUS_ALLOC_FAILED";
    case TFR_LT_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case TFR_LT_EXECUTION_FAILED:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    case TFR_LT_INTERNAL_ERROR:
        return "CUBLAS_STATUS_INTERNAL_ERROR";
    case TFR_LT_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
        return "<unknown>";
    }
}

/* ------------------------------------------------------------------------------------------
 * Descriptors. Values are copied into the structures from which the job is made.
 */
struct tfr_lt_desc {
    unsigned compute;
    int32_t trans_a, trans_b, sm_count, bias_type;
    uint32_t epilogue;
    uint64_t bias, aux;
    int64_t bias_stride, aux_ld, aux_stride;
};

struct tfr_lt_layout {
    fake_type type;
    uint64_t rows, cols;
    int64_t ld;
    int32_t order, batch;
    int64_t stride;
};

struct tfr_lt_pref {
    uint64_t workspace;
    uint32_t reduction, align[4];
};

static tfr_lt_status put(void *to, size_t room, const void *value, size_t bytes)
{
    if (!to || !value || bytes != room)
        return TFR_LT_INVALID_VALUE;
    memcpy(to, value, bytes);
    return TFR_LT_SUCCESS;
}
#define PUT(member) put(&(member), sizeof(member), value, bytes)

tfr_lt_status cublasLtMatmulDescCreate(tfr_lt_desc **desc, unsigned compute, unsigned scale_type)
{
    FAKE_CALL;
    if (scale_type != TFR_LT_F32 ||
        (compute != TFR_LT_COMPUTE_F32 && compute != TFR_LT_COMPUTE_FAST_BF16 &&
         compute != TFR_LT_COMPUTE_FAST_TF32 && compute != TFR_LT_COMPUTE_FAST_F16 &&
         compute != TFR_LT_COMPUTE_EMULATED_BF16X9))
        return TFR_LT_NOT_SUPPORTED;
    tfr_lt_desc *d = hold(sizeof *d);
    if (!d)
        return TFR_LT_ALLOC_FAILED;
    *d = (tfr_lt_desc){.compute = compute, .epilogue = TFR_LT_EPILOGUE_DEFAULT, .bias_type = -1};
    *desc = d;
    return TFR_LT_SUCCESS;
}

tfr_lt_status cublasLtMatmulDescDestroy(tfr_lt_desc *desc)
{
    return drop(desc);
}

tfr_lt_status cublasLtMatmulDescSetAttribute(tfr_lt_desc *d, unsigned attr, const void *value,
                                             size_t bytes)
{
    FAKE_CALL;
    switch (attr) {
    case TFR_LT_DESC_TRANS_A:
        return PUT(d->trans_a);
    case TFR_LT_DESC_TRANS_B:
        return PUT(d->trans_b);
    case TFR_LT_DESC_EPILOGUE:
        return PUT(d->epilogue);
    case TFR_LT_DESC_BIAS_POINTER:
        return PUT(d->bias);
    case TFR_LT_DESC_BIAS_STRIDE:
        return PUT(d->bias_stride);
    case TFR_LT_DESC_AUX_POINTER:
        return PUT(d->aux);
    case TFR_LT_DESC_AUX_LD:
        return PUT(d->aux_ld);
    case TFR_LT_DESC_AUX_STRIDE:
        return PUT(d->aux_stride);
    case TFR_LT_DESC_SM_COUNT:
        return PUT(d->sm_count);
    case TFR_LT_DESC_BIAS_TYPE:
        return PUT(d->bias_type);
    default:
        return TFR_LT_INVALID_VALUE;
    }
}

static fake_type type_of(unsigned type)
{
    switch (type) {
    case TFR_LT_F32:
        return FAKE_F32;
    case TFR_LT_F16:
        return FAKE_F16;
    case TFR_LT_BF16:
        return FAKE_BF16;
    default:
        return FAKE_NO_TYPE;
    }
}

tfr_lt_status cublasLtMatrixLayoutCreate(tfr_lt_layout **layout, unsigned type, uint64_t rows,
                                         uint64_t cols, int64_t ld)
{
    FAKE_CALL;
    if (type_of(type) == FAKE_NO_TYPE)
        return TFR_LT_NOT_SUPPORTED;
    tfr_lt_layout *l = hold(sizeof *l);
    if (!l)
        return TFR_LT_ALLOC_FAILED;
    *l = (tfr_lt_layout){type_of(type), rows, cols, ld, TFR_LT_ORDER_COLUMN, 1, 0};
    *layout = l;
    return TFR_LT_SUCCESS;
}

tfr_lt_status cublasLtMatrixLayoutDestroy(tfr_lt_layout *layout)
{
    return drop(layout);
}

tfr_lt_status cublasLtMatrixLayoutSetAttribute(tfr_lt_layout *l, unsigned attr, const void *value,
                                               size_t bytes)
{
    FAKE_CALL;
    switch (attr) {
    case TFR_LT_LAYOUT_ORDER:
        return PUT(l->order);
    case TFR_LT_LAYOUT_BATCH_COUNT:
        return PUT(l->batch);
    case TFR_LT_LAYOUT_BATCH_STRIDE:
        return PUT(l->stride);
    default:
        return TFR_LT_INVALID_VALUE;
    }
}

tfr_lt_status cublasLtMatmulPreferenceCreate(tfr_lt_pref **pref)
{
    FAKE_CALL;
    tfr_lt_pref *p = hold(sizeof *p);
    if (!p)
        return TFR_LT_ALLOC_FAILED;
    *p = (tfr_lt_pref){.align = {256, 256, 256, 256}, .reduction = 7};
    *pref = p;
    return TFR_LT_SUCCESS;
}

tfr_lt_status cublasLtMatmulPreferenceDestroy(tfr_lt_pref *pref)
{
    return drop(pref);
}

tfr_lt_status cublasLtMatmulPreferenceSetAttribute(tfr_lt_pref *p, unsigned attr, const void *value,
                                                   size_t bytes)
{
    FAKE_CALL;
    if (attr == TFR_LT_PREF_WORKSPACE_BYTES)
        return PUT(p->workspace);
    if (attr == TFR_LT_PREF_REDUCTION_MASK)
        return PUT(p->reduction);
    if (attr >= TFR_LT_PREF_ALIGNMENT_A && attr <= TFR_LT_PREF_ALIGNMENT_D)
        return PUT(p->align[attr - TFR_LT_PREF_ALIGNMENT_A]);
    return TFR_LT_INVALID_VALUE;
}

/* ------------------------------------------------------------------------------------------
 * Algorithms, the one that is offered first first.
 */
static const struct {
    uint32_t align;
    size_t workspace;
} algos[] = {{256, (size_t)1 << 20}, {256, 0}, {16, (size_t)4 << 20}, {16, 0}, {1, 0}};
enum { N_ALGOS = sizeof(algos) / sizeof(algos[0]) };

static tfr_lt_status check_layout(const tfr_lt_layout *l, uint64_t rows, uint64_t cols, int batch)
{
    uint64_t least = l->order == TFR_LT_ORDER_ROW ? l->cols : l->rows;
    bool good = l->rows == rows && l->cols == cols && l->ld >= (int64_t)least &&
                l->batch == batch && (l->order == 0 || l->order == 1) && rows > 0 && cols > 0;
    return good ? TFR_LT_SUCCESS : TFR_LT_INVALID_VALUE;
}

static tfr_lt_status check_problem(const tfr_lt_desc *desc, const tfr_lt_layout *a,
                                   const tfr_lt_layout *b, const tfr_lt_layout *c,
                                   const tfr_lt_layout *d)
{
    if (!desc || !a || !b || !c || !d)
        return TFR_LT_INVALID_VALUE;
    uint64_t k = desc->trans_a ? a->rows : a->cols;
    uint64_t m = desc->trans_a ? a->cols : a->rows;
    uint64_t n = desc->trans_b ? b->rows : b->cols;
    if (check_layout(a, desc->trans_a ? k : m, desc->trans_a ? m : k, d->batch) ||
        check_layout(b, desc->trans_b ? n : k, desc->trans_b ? k : n, d->batch) ||
        check_layout(c, m, n, d->batch) || check_layout(d, m, n, d->batch) || c->type != d->type)
        return TFR_LT_INVALID_VALUE;
    bool bits = desc->epilogue & 128 && desc->epilogue & (TFR_LT_EPILOGUE_RELU | 8);
    if (desc->epilogue & 128 && (desc->aux_ld < (int64_t)m || desc->aux_ld % (bits ? 128 : 8)))
        return TFR_LT_INVALID_VALUE;
    return a->type == b->type ? TFR_LT_SUCCESS : TFR_LT_NOT_SUPPORTED;
}

tfr_lt_status cublasLtMatmulAlgoGetHeuristic(tfr_lt_handle *handle, tfr_lt_desc *desc,
                                             tfr_lt_layout *a, tfr_lt_layout *b, tfr_lt_layout *c,
                                             tfr_lt_layout *d, tfr_lt_pref *pref, int n_wanted,
                                             tfr_lt_heuristic *results, int *n_results)
{
    FAKE_CALL;
    if (!handle || !pref || n_wanted < 1 || !results || !n_results)
        return TFR_LT_INVALID_VALUE;
    tfr_lt_status status = check_problem(desc, a, b, c, d);
    *n_results = 0;
    for (int i = 0; !status && i < N_ALGOS && *n_results < n_wanted; i++) {
        bool good = algos[i].workspace <= pref->workspace;
        for (int k = 0; k < 4; k++)
            good &= algos[i].align <= pref->align[k];
        if (good)
            results[(*n_results)++] = (tfr_lt_heuristic){
                .algo = {{algo_magic, VERSION, (uint64_t)i}},
                .workspace_bytes = algos[i].workspace,
                .waves = 1,
            };
    }
    return !status && *n_results == 0 ? TFR_LT_NOT_SUPPORTED : status;
}

static tfr_lt_status check_algo(const tfr_lt_algo *algo)
{
    if (!algo || algo->data[0] != algo_magic || algo->data[2] >= N_ALGOS)
        return TFR_LT_INVALID_VALUE;
    return algo->data[1] == VERSION ? TFR_LT_SUCCESS : TFR_LT_NOT_SUPPORTED;
}

tfr_lt_status cublasLtMatmulAlgoCheck(tfr_lt_handle *handle, tfr_lt_desc *desc, tfr_lt_layout *a,
                                      tfr_lt_layout *b, tfr_lt_layout *c, tfr_lt_layout *d,
                                      const tfr_lt_algo *algo, tfr_lt_heuristic *result)
{
    FAKE_CALL;
    if (!handle || !result)
        return TFR_LT_INVALID_VALUE;
    tfr_lt_status status = check_problem(desc, a, b, c, d);
    if (!status)
        status = check_algo(algo);
    if (!status)
        *result = (tfr_lt_heuristic){
            .algo = *algo, .workspace_bytes = algos[algo->data[2]].workspace, .waves = 1};
    return status;
}

/* ------------------------------------------------------------------------------------------
 * The product. All that it needs is in its job, which the launch copies.
 */
typedef struct fake_job {
    tfr_lt_desc desc;
    tfr_lt_layout a, b, c, d;
    uint64_t pa, pb, pc, pd, workspace;
    size_t workspace_bytes;
    float alpha, beta;
    fake_spend_fn *spend;
    double ms;
} fake_job;

/* What a job works on, as the CPU sees it. */
typedef struct fake_memory {
    const void *a, *b, *c;
    void *d, *bias, *aux;
} fake_memory;

static size_t place(const tfr_lt_layout *l, uint64_t i, uint64_t j, int batch)
{
    uint64_t at = l->order == TFR_LT_ORDER_ROW ? i * (uint64_t)l->ld + j : j * (uint64_t)l->ld + i;
    return (size_t)((int64_t)at + batch * l->stride);
}

static void *find(const tfr_cpu_launch *launch, uint64_t p, size_t bytes)
{
    size_t left;
    void *at = p ? launch->reach(launch->ctx, p, &left) : NULL;
    return at && bytes <= left ? at : NULL;
}

static void *find_matrix(const tfr_cpu_launch *launch, uint64_t p, const tfr_lt_layout *l)
{
    size_t n = place(l, l->rows - 1, l->cols - 1, l->batch - 1) + 1;
    return find(launch, p, n * fake_size(l->type));
}

static double in(const fake_job *job, const void *p, const tfr_lt_layout *l, uint64_t i, uint64_t j,
                 int batch)
{
    double x = fake_load(p, l->type, place(l, i, j, batch));
    if (job->desc.compute == TFR_LT_COMPUTE_FAST_TF32 ||
        job->desc.compute == TFR_LT_COMPUTE_FAST_F16)
        return fake_round((float)x, 10);
    return job->desc.compute == TFR_LT_COMPUTE_FAST_BF16 ? fake_round((float)x, 7) : x;
}

static double op_a(const fake_job *job, const void *p, uint64_t i, uint64_t k, int batch)
{
    return job->desc.trans_a ? in(job, p, &job->a, k, i, batch) : in(job, p, &job->a, i, k, batch);
}

static double op_b(const fake_job *job, const void *p, uint64_t k, uint64_t j, int batch)
{
    return job->desc.trans_b ? in(job, p, &job->b, j, k, batch) : in(job, p, &job->b, k, j, batch);
}

/* x/2 (1 + tanh(s)), s = sqrt(2/pi) (x + 0.044715 x^3). */
static double gelu(double x)
{
    return x / 2 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static double gelu_slope(double x)
{
    double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
    return (1 + t) / 2 + x / 2 * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

/* What the epilogue makes of element i, j, and the auxiliary output or input on the way. */
static double finish(const fake_job *job, const fake_memory *mem, double x, uint64_t i, uint64_t j,
                     int batch)
{
    const uint32_t e = job->desc.epilogue;
    const size_t aux = (size_t)(j * (uint64_t)job->desc.aux_ld + i);
    const size_t aux_at = aux + (size_t)(batch * job->desc.aux_stride);
    unsigned char *bits = mem->aux;
    if (e & TFR_LT_EPILOGUE_BIAS)
        x += fake_load(mem->bias, job->d.type, i + (size_t)(batch * job->desc.bias_stride));
    if (e & TFR_LT_EPILOGUE_RELU) {
        if (e & 128)
            bits[aux_at / 8] = (unsigned char)((bits[aux_at / 8] & ~(1u << aux_at % 8)) |
                                               (unsigned)(x > 0) << aux_at % 8);
        return x > 0 || isnan(x) ? x : 0;
    }
    if (e & TFR_LT_EPILOGUE_GELU) {
        if (e & 128)
            fake_store(mem->aux, job->d.type, aux_at, x);
        return gelu(x);
    }
    if (e & 8)
        return bits[aux_at / 8] >> aux_at % 8 & 1 ? x : 0;
    if (e & 64)
        return x * gelu_slope(fake_load(mem->aux, job->d.type, aux_at));
    return x;
}

static void multiply(const fake_job *job, const fake_memory *mem, int batch)
{
    const uint64_t n_k = job->desc.trans_a ? job->a.rows : job->a.cols;
    for (uint64_t j = 0; j < job->d.cols; j++)
        for (uint64_t i = 0; i < job->d.rows; i++) {
            double sum = 0;
            for (uint64_t k = 0; k < n_k; k++)
                sum += op_a(job, mem->a, i, k, batch) * op_b(job, mem->b, k, j, batch);
            sum *= (double)job->alpha;
            if (job->beta != 0)
                sum +=
                    (double)job->beta * fake_load(mem->c, job->c.type, place(&job->c, i, j, batch));
            fake_store(mem->d, job->d.type, place(&job->d, i, j, batch),
                       finish(job, mem, sum, i, j, batch));
        }
}

/* Gradients of biases: sums of what was multiplied, or of what came out. */
static void sum_bias(const fake_job *job, const fake_memory *mem, int batch)
{
    const uint32_t e = job->desc.epilogue;
    const uint64_t n_k = job->desc.trans_a ? job->a.rows : job->a.cols;
    const uint64_t n = e == TFR_LT_EPILOGUE_BGRAD_B ? job->d.cols : job->d.rows;
    const bool of_d = e & 16;
    for (uint64_t i = 0; i < n; i++) {
        double sum = 0;
        for (uint64_t k = 0; k < (of_d ? job->d.cols : n_k); k++)
            sum += of_d ? fake_load(mem->d, job->d.type, place(&job->d, i, k, batch))
                   : e == TFR_LT_EPILOGUE_BGRAD_A ? op_a(job, mem->a, i, k, batch)
                                                  : op_b(job, mem->b, k, i, batch);
        fake_store(mem->bias, job->d.type, i + (size_t)(batch * job->desc.bias_stride), sum);
    }
}

static bool has_bias(uint32_t epilogue)
{
    return epilogue &
           (TFR_LT_EPILOGUE_BIAS | 16 | TFR_LT_EPILOGUE_BGRAD_A | TFR_LT_EPILOGUE_BGRAD_B);
}

static unsigned run(const tfr_cpu_launch *launch)
{
    const fake_job *job = launch->args[0];
    const tfr_lt_desc *desc = &job->desc;
    const size_t size = fake_size(job->d.type), last = (size_t)job->d.batch - 1;
    const bool bits = desc->epilogue & (TFR_LT_EPILOGUE_RELU | 8);
    const size_t n_bias = desc->epilogue == TFR_LT_EPILOGUE_BGRAD_B ? job->d.cols : job->d.rows;
    const size_t n_aux = (size_t)desc->aux_ld * job->d.cols + last * (size_t)desc->aux_stride;
    fake_memory mem = {
        .a = find_matrix(launch, job->pa, &job->a),
        .b = find_matrix(launch, job->pb, &job->b),
        .c = job->beta != 0 ? find_matrix(launch, job->pc, &job->c) : NULL,
        .d = find_matrix(launch, job->pd, &job->d),
    };
    if (!mem.a || !mem.b || !mem.d || (job->beta != 0 && !mem.c))
        return TFR_CU_ILLEGAL_ADDRESS;
    if (has_bias(desc->epilogue)) {
        mem.bias = find(launch, desc->bias, (n_bias + last * (size_t)desc->bias_stride) * size);
        if (!mem.bias)
            return TFR_CU_ILLEGAL_ADDRESS;
    }
    if (desc->epilogue & 128) {
        mem.aux = find(launch, desc->aux, bits ? n_aux / 8 : n_aux * size);
        if (!mem.aux)
            return TFR_CU_ILLEGAL_ADDRESS;
    }
    if (job->workspace_bytes) {
        void *workspace = find(launch, job->workspace, job->workspace_bytes);
        if (!workspace)
            return TFR_CU_ILLEGAL_ADDRESS;
        memset(workspace, 0xff, job->workspace_bytes);
    }
    job->spend(job->ms);
    for (int batch = 0; batch < job->d.batch; batch++) {
        multiply(job, &mem, batch);
        if (desc->epilogue & (16 | TFR_LT_EPILOGUE_BGRAD_A | TFR_LT_EPILOGUE_BGRAD_B))
            sum_bias(job, &mem, batch);
    }
    return TFR_CU_SUCCESS;
}

static const unsigned job_bytes[] = {sizeof(fake_job)};
static const tfr_cpu_kernel job_kernel = {"cublasLtMatmul", run, 1, job_bytes, 0, 0};

/* The first product allocates, and a stream that is captured does not survive that. */
static tfr_lt_status warm_up(tfr_lt_handle *handle)
{
    void *p;
    if (atomic_load(&handle->warm))
        return TFR_LT_SUCCESS;
    if (handle->allocate(&p, 64, 0) != TFR_CU_SUCCESS)
        return TFR_LT_ALLOC_FAILED;
    handle->release(p);
    atomic_store(&handle->warm, true);
    return TFR_LT_SUCCESS;
}

tfr_lt_status cublasLtMatmul(tfr_lt_handle *handle, tfr_lt_desc *desc, const void *alpha,
                             const void *a, tfr_lt_layout *a_layout, const void *b,
                             tfr_lt_layout *b_layout, const void *beta, const void *c,
                             tfr_lt_layout *c_layout, void *d, tfr_lt_layout *d_layout,
                             const tfr_lt_algo *algo, void *workspace, size_t workspace_bytes,
                             tfr_cu_stream *stream)
{
    FAKE_CALL;
    tfr_lt_status status = check_problem(desc, a_layout, b_layout, c_layout, d_layout);
    if (!handle || !alpha || !beta || status)
        return status ? status : TFR_LT_INVALID_VALUE;
    size_t needed = 0, align = 1;
    double ms = 0;
    char name[16];
    if (algo) {
        status = check_algo(algo);
        needed = status ? 0 : algos[algo->data[2]].workspace;
        align = status ? 1 : algos[algo->data[2]].align;
        ms = status ? 0 : fake_cost((unsigned)algo->data[2]);
    }
    if (ms < 0)
        status = TFR_LT_NOT_SUPPORTED;
    if (has_bias(desc->epilogue) && !desc->bias)
        status = TFR_LT_INVALID_VALUE;
    if (!status && (needed > workspace_bytes || (uintptr_t)a % align || (uintptr_t)b % align ||
                    (uintptr_t)c % align || (uintptr_t)d % align))
        status = TFR_LT_INVALID_VALUE;
    if (!status)
        status = warm_up(handle);
    if (status)
        return status;
    fake_job job;
    memset(&job, 0, sizeof job);
    job.desc = *desc;
    job.a = *a_layout, job.b = *b_layout, job.c = *c_layout, job.d = *d_layout;
    job.pa = (uintptr_t)a, job.pb = (uintptr_t)b, job.pc = (uintptr_t)c, job.pd = (uintptr_t)d;
    job.workspace = (uintptr_t)workspace;
    job.workspace_bytes = needed;
    job.alpha = *(const float *)alpha;
    job.beta = *(const float *)beta;
    job.spend = handle->spend;
    job.ms = ms;
    if (algo) {
        snprintf(name, sizeof name, "algo %d", (int)algo->data[2]);
        fake_called(name);
    }
    void *args[] = {&job};
    return handle->launch(stream, &job_kernel, args) ? TFR_LT_EXECUTION_FAILED : TFR_LT_SUCCESS;
}
