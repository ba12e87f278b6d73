/* SPDX-License-Identifier: Apache-2.0 */
/*
 * solve_dn.c: large systems of equations and inverses by cuSOLVER.
 *
 * Each matrix of a batch is brought into double and the library's order by columns, is factored
 * there (getrf) and solved (getrs), and X is brought back, all in the order of the stream and in
 * one workspace. Double is what the reference and our own kernel compute in, so that the result
 * does not depend on whether the library is installed. getrf tells in `info` which pivot is 0, as
 * our kernel does, and finding.c makes the same error of it.
 *
 * A handle may be used by one thread at a time, so that a device has one, behind its lock.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#include "cusolver_abi.h"

static struct {
#define X(name, required, since, who) tfr_##name##_fn *name;
#include "cusolver.def"
#undef X
} dn;

typedef struct solver {
    cuda_engine engine;
    cuda_solution what;
    uint64_t at_pivots, at_a, at_b, at_work, at_lone; /* in the workspace */
    uint64_t size;                                    /* of an element of the operands */
    tfr_cu_function *load, *store, *found;
} solver;

static int32_t check(tfr_solver_status status, const char *what, tfr_err *err)
{
    return cuda_fail_cusolver(err, (int)status, what);
}

/* ---- the handle, one of each device ---------------------------------------------------------- */

static int32_t open_library(tfr_err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int32_t status = cuda_library_open(CUDA_CUSOLVER, err);
    void *address;

    if (status != TFR_OK)
        return status;
    pthread_mutex_lock(&lock);
    if (!dn.cusolverDnCreate) {
#define X(name, required, since, who)                                                              \
    address = cuda_library_symbol(CUDA_CUSOLVER, #name);                                           \
    memcpy(&dn.name, &address, sizeof address);
#include "cusolver.def"
#undef X
    }
    pthread_mutex_unlock(&lock);
    return TFR_OK;
}

/* With the lock held. */
static int32_t make_handle(tfr_plugin_device *device, tfr_err *err)
{
    int32_t status = TFR_OK;

    if (!device->solver)
        status = check(dn.cusolverDnCreate(&device->solver), "a handle of cuSOLVER", err);
    if (status != TFR_OK)
        device->solver = NULL;
    return status;
}

void cuda_solve_close(tfr_plugin_device *device)
{
    if (device->solver)
        (void)dn.cusolverDnDestroy(device->solver);
    device->solver = NULL;
}

/* ---- running --------------------------------------------------------------------------------- */

enum { THREADS = 256 };

/* Our kernel over n elements. */
static int32_t run_kernel(tfr_plugin_device *device, tfr_queue *queue, tfr_cu_function *function,
                          int64_t n, void **params, uint64_t launch, tfr_err *err)
{
    const int64_t most = (int64_t)device->facts.chip.multiprocessors * 16;
    const int64_t blocks = (n + THREADS - 1) / THREADS;

    return cuda_check_launch(
        device,
        cuda_driver.cuLaunchKernel(function, (unsigned)(blocks < most ? blocks : most), 1, 1,
                                   THREADS, 1, 1, 0, queue->stream, params, NULL),
        launch, err, "launch of what goes around cuSOLVER");
}

/* A matrix of an operand into the workspace; the unit matrix if there is no operand. */
static int32_t load(tfr_plugin_device *device, tfr_queue *queue, const solver *s, uint64_t from,
                    uint64_t to, int32_t columns, uint64_t launch, tfr_err *err)
{
    int32_t rows = s->what.what.n, unit = from == 0;
    void *params[] = {&from, &to, &rows, &columns, &unit};

    if (columns == 0)
        return TFR_OK;
    return run_kernel(device, queue, s->load, (int64_t)rows * columns, params, launch, err);
}

static int32_t store(tfr_plugin_device *device, tfr_queue *queue, const solver *s, uint64_t from,
                     uint64_t to, uint64_t launch, tfr_err *err)
{
    int32_t rows = s->what.what.n, columns = s->what.what.k;
    void *params[] = {&from, &to, &rows, &columns};

    return run_kernel(device, queue, s->store, (int64_t)rows * columns, params, launch, err);
}

static int32_t find_bad(tfr_plugin_device *device, tfr_queue *queue, const solver *s,
                        uint64_t workspace, uint64_t launch, tfr_err *err)
{
    uint64_t infos = workspace + CUDA_SOLUTION_INFO, word = workspace + CUDA_SOLUTION_FOUND;
    int32_t n = s->what.what.batch.n;
    void *params[] = {&infos, &word, &n};

    return run_kernel(device, queue, s->found, 1, params, launch, err);
}

/* Matrix m of the batch, whose A and B are in the workspace. */
static int32_t factor_and_solve(tfr_plugin_device *device, tfr_queue *queue, const solver *s,
                                char *workspace, int32_t m, tfr_err *err)
{
    const int32_t n = s->what.what.n, k = s->what.what.k;
    double *a = (double *)(void *)(workspace + s->at_a),
           *b = (double *)(void *)(workspace + s->at_b);
    double *work = (double *)(void *)(workspace + s->at_work);
    int *pivots = (int *)(void *)(workspace + s->at_pivots);
    int *info = (int *)(void *)(workspace + CUDA_SOLUTION_INFO) + m;
    int *lone = (int *)(void *)(workspace + s->at_lone); /* getrs has no news */
    tfr_solver_status status;

    pthread_mutex_lock(&device->engine_lock);
    status = dn.cusolverDnSetStream(device->solver, queue->stream);
    if (status == TFR_SOLVER_SUCCESS)
        status = dn.cusolverDnDgetrf(device->solver, n, n, a, n, work, pivots, info);
    if (status == TFR_SOLVER_SUCCESS && k > 0)
        status =
            dn.cusolverDnDgetrs(device->solver, TFR_SOLVER_OP_N, n, k, a, n, pivots, b, n, lone);
    pthread_mutex_unlock(&device->engine_lock);
    return check(status, "a system of equations", err);
}

static int32_t solve_launch(tfr_plugin_device *device, tfr_queue *queue, cuda_engine *engine,
                            const tfr_launch *launch, tfr_err *err)
{
    const solver *s = (const solver *)engine;
    const tfr_solving *what = &s->what.what;
    const uint64_t a = (uintptr_t)cuda_operand_address(launch, 0);
    const uint64_t b = what->has_b ? (uintptr_t)cuda_operand_address(launch, 1) : 0;
    const uint64_t x = (uintptr_t)cuda_operand_address(launch, what->has_b ? 2 : 1);
    const uint64_t workspace = (uintptr_t)launch->workspace;
    const uint64_t a_bytes = (uint64_t)what->n * (uint64_t)what->n * s->size;
    const uint64_t b_bytes = (uint64_t)what->n * (uint64_t)what->k * s->size;
    int32_t status = TFR_OK;

    for (int32_t m = 0; m < what->batch.n && status == TFR_OK; m++) {
        const uint64_t a_at = (uint64_t)cuda_walk_find(&what->batch, 0, m);
        const uint64_t b_at = (uint64_t)cuda_walk_find(&what->batch, 1, m);
        status = load(device, queue, s, a + a_at * a_bytes, workspace + s->at_a, what->n,
                      launch->id, err);
        if (status == TFR_OK)
            status = load(device, queue, s, b ? b + b_at * b_bytes : 0, workspace + s->at_b,
                          what->k, launch->id, err);
        if (status == TFR_OK)
            status = factor_and_solve(device, queue, s, launch->workspace, m, err);
        if (status == TFR_OK && what->k > 0)
            status = store(device, queue, s, workspace + s->at_b, x + (uint64_t)m * b_bytes,
                           launch->id, err);
    }
    return status ? status : find_bad(device, queue, s, workspace, launch->id, err);
}

/* ---- engines --------------------------------------------------------------------------------- */

static void solve_drop(tfr_plugin_device *device, cuda_engine *engine)
{
    (void)device;
    free(engine);
}

static uint64_t place(uint64_t *end, uint64_t bytes)
{
    const uint64_t at = *end;

    *end += (bytes + 255) / 256 * 256;
    return at;
}

static int32_t lay_out(tfr_plugin_device *device, solver *s, tfr_err *err)
{
    const tfr_solving *what = &s->what.what;
    const uint64_t n = (uint64_t)what->n, k = (uint64_t)what->k;
    uint64_t end = CUDA_SOLUTION_INFO;
    int lwork = 0;
    int32_t status;

    pthread_mutex_lock(&device->engine_lock);
    status = make_handle(device, err);
    if (status == TFR_OK)
        status = check(
            dn.cusolverDnDgetrf_bufferSize(device->solver, what->n, what->n, NULL, what->n, &lwork),
            "the workspace of a system of equations", err);
    pthread_mutex_unlock(&device->engine_lock);
    if (status != TFR_OK)
        return status;
    (void)place(&end, (uint64_t)what->batch.n * sizeof(int));
    s->at_lone = place(&end, sizeof(int));
    s->at_pivots = place(&end, n * sizeof(int));
    s->at_a = place(&end, n * n * sizeof(double));
    s->at_b = place(&end, n * k * sizeof(double));
    s->at_work = place(&end, (uint64_t)(lwork > 0 ? lwork : 1) * sizeof(double));
    s->engine.workspace_bytes = end;
    return TFR_OK;
}

static int32_t find_kernels(tfr_plugin_device *device, solver *s, tfr_err *err)
{
    static const char *const loads[TFR_DTYPE_END] = {[TFR_DTYPE_F32] = "solve_load_f32",
                                                     [TFR_DTYPE_F64] = "solve_load_f64",
                                                     [TFR_DTYPE_F16] = "solve_load_f16",
                                                     [TFR_DTYPE_BF16] = "solve_load_bf16"};
    static const char *const stores[TFR_DTYPE_END] = {[TFR_DTYPE_F32] = "solve_store_f32",
                                                      [TFR_DTYPE_F64] = "solve_store_f64",
                                                      [TFR_DTYPE_F16] = "solve_store_f16",
                                                      [TFR_DTYPE_BF16] = "solve_store_bf16"};
    const struct {
        const char *name;
        tfr_cu_function **out;
    } all[] = {{loads[s->what.dtype], &s->load},
               {stores[s->what.dtype], &s->store},
               {"solve_found", &s->found}};
    int32_t status = TFR_OK;

    for (size_t i = 0; i < sizeof all / sizeof *all && status == TFR_OK; i++) {
        cuda_step *step = calloc(1, sizeof *step);
        if (!step)
            return tfr_fail(err, TFR_ENOMEM, "no memory for a kernel");
        step->kernel = all[i].name;
        status = cuda_find_function(device, step, all[i].out, err);
        free(step);
    }
    return status;
}

int32_t cuda_solve_make(tfr_plugin_device *device, const cuda_solution *solution, cuda_engine **out,
                        tfr_err *err)
{
    solver *s = calloc(1, sizeof *s);
    int32_t status;

    if (!s)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a system of equations");
    s->what = *solution;
    s->size = tfr_dtype_bits(solution->dtype) / 8;
    s->engine.name = "cusolver";
    s->engine.launch = solve_launch;
    s->engine.drop = solve_drop;
    status = open_library(err);
    if (status == TFR_OK)
        status = lay_out(device, s, err);
    if (status == TFR_OK)
        status = find_kernels(device, s, err);
    if (status == TFR_OK)
        *out = &s->engine;
    else
        free(s);
    return status;
}
