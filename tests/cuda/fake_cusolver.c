/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in of cuSOLVER for tests, tests/cuda/libcusolver.so.12: LU factors with partial
 * pivoting and what is solved by them, by plain loops in the streams of the driver stand-in, which
 * must be open. Matrices are column-major. A factoring writes all over its workspace. As in the
 * library, a pivot that is 0 is told in `info` on the device, and nowhere else.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cusolver_abi.h"
#include "fake_driver.h"
#define FAKE_LIBRARY
#include "fake_library.h"

#define EXPORT                        __attribute__((visibility("default")))
#define X(name, required, since, who) EXPORT tfr_##name##_fn name;
#include "cusolver.def"
#undef X

/* How many handles there are: tests ask for it by dlsym. */
EXPORT unsigned tfr_fake_cusolver_held(void);
EXPORT fake_library_calls_fn tfr_fake_cusolver_calls;
EXPORT fake_library_fail_fn tfr_fake_cusolver_fail;
static atomic_uint n_held;

EXPORT unsigned tfr_fake_cusolver_held(void)
{
    return atomic_load(&n_held);
}

EXPORT unsigned tfr_fake_cusolver_calls(const char *name)
{
    return fake_calls(name);
}

EXPORT void tfr_fake_cusolver_fail(const char *name, unsigned nth, unsigned code)
{
    fake_fail(name, nth, code);
}

/* ------------------------------------------------------------------------------------------
 * Handles.
 */
struct tfr_solver_handle {
    fake_launch_fn *launch;
    tfr_cu_stream *stream;
};

tfr_solver_status cusolverGetVersion(int *version)
{
    FAKE_CALL;
    *version = 12004;
    return TFR_SOLVER_SUCCESS;
}

tfr_solver_status cusolverDnCreate(tfr_solver_handle **handle)
{
    FAKE_CALL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    tfr_solver_handle *h = driver ? calloc(1, sizeof *h) : NULL;
    if (!h)
        return driver ? TFR_SOLVER_ALLOC_FAILED : TFR_SOLVER_NOT_INITIALIZED;
    *(void **)&h->launch = dlsym(driver, "tfr_fake_cuda_launch");
    atomic_fetch_add(&n_held, 1);
    *handle = h;
    return TFR_SOLVER_SUCCESS;
}

tfr_solver_status cusolverDnDestroy(tfr_solver_handle *handle)
{
    fake_called(__func__);
    if (!handle)
        return TFR_SOLVER_NOT_INITIALIZED;
    atomic_fetch_sub(&n_held, 1);
    free(handle);
    return TFR_SOLVER_SUCCESS;
}

tfr_solver_status cusolverDnSetStream(tfr_solver_handle *handle, tfr_cu_stream *stream)
{
    FAKE_CALL;
    handle->stream = stream;
    return TFR_SOLVER_SUCCESS;
}

/* ------------------------------------------------------------------------------------------
 * What runs in the stream. All that it needs is in its job, which the launch copies.
 */
typedef struct fake_job {
    int n, k, lda, ldb;
    unsigned op;
    uint64_t a, b, workspace, pivots, info;
} fake_job;

enum { WORKSPACE = 3 }; /* doubles for each row */

static void *find(const tfr_cpu_launch *launch, uint64_t p, size_t bytes)
{
    size_t left;
    void *at = p ? launch->reach(launch->ctx, p, &left) : NULL;
    return at && bytes <= left ? at : NULL;
}

static double *find_matrix(const tfr_cpu_launch *launch, uint64_t p, int rows, int columns, int ld)
{
    return find(launch, p, ((size_t)ld * (size_t)(columns - 1) + (size_t)rows) * sizeof(double));
}

static void swap(double *a, double *b)
{
    const double t = *a;
    *a = *b;
    *b = t;
}

/* The row of the pivot of column i, which is exchanged with row i. */
static int pivot_of(double *a, int n, int lda, int i)
{
    int pivot = i;
    for (int r = i + 1; r < n; r++)
        if (fabs(a[i * lda + r]) > fabs(a[i * lda + pivot]))
            pivot = r;
    for (int c = 0; c < n; c++)
        swap(&a[c * lda + i], &a[c * lda + pivot]);
    return pivot;
}

static unsigned run_factor(const tfr_cpu_launch *launch)
{
    const fake_job *job = launch->args[0];
    const int n = job->n, lda = job->lda;
    double *a = find_matrix(launch, job->a, n, n, lda);
    int *pivots = find(launch, job->pivots, (size_t)n * sizeof(int));
    int *info = find(launch, job->info, sizeof(int));
    void *workspace = find(launch, job->workspace, (size_t)n * WORKSPACE * sizeof(double));
    if (!a || !pivots || !info || !workspace)
        return TFR_CU_ILLEGAL_ADDRESS;
    memset(workspace, 0xff, (size_t)n * WORKSPACE * sizeof(double));
    *info = 0;
    for (int i = 0; i < n; i++) {
        pivots[i] = pivot_of(a, n, lda, i) + 1;
        if (a[i * lda + i] == 0) { /* it goes on, as LAPACK does */
            *info = *info ? *info : i + 1;
            continue;
        }
        for (int r = i + 1; r < n; r++)
            a[i * lda + r] /= a[i * lda + i];
        for (int c = i + 1; c < n; c++)
            for (int r = i + 1; r < n; r++)
                a[c * lda + r] -= a[i * lda + r] * a[c * lda + i];
    }
    return TFR_CU_SUCCESS;
}

static void solve_column(const fake_job *job, const double *a, const int *pivots, double *b)
{
    for (int i = 0; i < job->n; i++)
        swap(&b[i], &b[pivots[i] - 1]);
    for (int i = 0; i < job->n; i++)
        for (int r = i + 1; r < job->n; r++)
            b[r] -= a[i * job->lda + r] * b[i];
    for (int i = job->n - 1; i >= 0; i--) {
        b[i] /= a[i * job->lda + i];
        for (int r = 0; r < i; r++)
            b[r] -= a[i * job->lda + r] * b[i];
    }
}

static unsigned run_solve(const tfr_cpu_launch *launch)
{
    const fake_job *job = launch->args[0];
    const double *a = find_matrix(launch, job->a, job->n, job->n, job->lda);
    double *b = find_matrix(launch, job->b, job->n, job->k, job->ldb);
    const int *pivots = find(launch, job->pivots, (size_t)job->n * sizeof(int));
    int *info = find(launch, job->info, sizeof(int));
    if (!a || !b || !pivots || !info)
        return TFR_CU_ILLEGAL_ADDRESS;
    *info = 0;
    for (int c = 0; c < job->k; c++)
        solve_column(job, a, pivots, b + (size_t)c * (size_t)job->ldb);
    return TFR_CU_SUCCESS;
}

/* ------------------------------------------------------------------------------------------
 * Calls.
 */
static const unsigned job_bytes[] = {sizeof(fake_job)};
static const tfr_cpu_kernel factor_kernel = {"getrf", run_factor, 1, job_bytes, 0, 0};
static const tfr_cpu_kernel solve_kernel = {"getrs", run_solve, 1, job_bytes, 0, 0};

static tfr_solver_status launch_job(tfr_solver_handle *handle, const tfr_cpu_kernel *kernel,
                                    fake_job *job)
{
    void *args[] = {job};
    return handle->launch(handle->stream, kernel, args) ? TFR_SOLVER_EXECUTION_FAILED
                                                        : TFR_SOLVER_SUCCESS;
}

tfr_solver_status cusolverDnDgetrf_bufferSize(tfr_solver_handle *handle, int m, int n, double *a,
                                              int lda, int *lwork)
{
    FAKE_CALL;
    (void)a;
    if (!handle || m != n || n < 1 || lda < m)
        return TFR_SOLVER_INVALID_VALUE;
    *lwork = n * WORKSPACE;
    return TFR_SOLVER_SUCCESS;
}

tfr_solver_status cusolverDnDgetrf(tfr_solver_handle *handle, int m, int n, double *a, int lda,
                                   double *workspace, int *pivots, int *info)
{
    FAKE_CALL;
    if (!handle || m != n || n < 1 || lda < m || !a || !workspace || !pivots || !info)
        return TFR_SOLVER_INVALID_VALUE;
    fake_job job = {.n = n,
                    .lda = lda,
                    .a = (uintptr_t)a,
                    .workspace = (uintptr_t)workspace,
                    .pivots = (uintptr_t)pivots,
                    .info = (uintptr_t)info};
    return launch_job(handle, &factor_kernel, &job);
}

tfr_solver_status cusolverDnDgetrs(tfr_solver_handle *handle, unsigned op, int n, int k,
                                   const double *a, int lda, const int *pivots, double *b, int ldb,
                                   int *info)
{
    FAKE_CALL;
    if (!handle || n < 1 || k < 1 || lda < n || ldb < n || !a || !pivots || !b || !info)
        return TFR_SOLVER_INVALID_VALUE;
    if (op != TFR_SOLVER_OP_N)
        return TFR_SOLVER_NOT_SUPPORTED;
    fake_job job = {.n = n,
                    .k = k,
                    .lda = lda,
                    .ldb = ldb,
                    .a = (uintptr_t)a,
                    .b = (uintptr_t)b,
                    .pivots = (uintptr_t)pivots,
                    .info = (uintptr_t)info};
    return launch_job(handle, &solve_kernel, &job);
}
