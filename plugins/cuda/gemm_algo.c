/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_algo.c: the algorithm of a product among those that cuBLASLt's heuristic names. For aligned
 * addresses, which is nearly all, the first few are run and the fastest is taken (tune.h). For any
 * address it is the heuristic's first: the bits of a deterministic call may not depend on times,
 * and other calls with such addresses are rare.
 *
 * Candidates compute in the type of the math mode, and add parts of a sum in f32, never as half
 * numbers: one differs from another by roundings of f32.
 */
#include <stdio.h>
#include <string.h>

#include "gemm_lt.h"
#include "tune.h"

#define MIB (UINT64_C(1) << 20)

_Static_assert(sizeof(tfr_lt_algo) <= sizeof(cuda_candidate_id), "an algorithm is its own id");

/* What the heuristic names, its first choice first. */
typedef struct algo_list {
    uint32_t n;
    cuda_gemm_algo all[CUDA_TUNE_MOST];
} algo_list;

static uint64_t most_workspace(const tfr_plugin_device *device)
{
    return (device->facts.chip.capability >= 90 ? 32 : 4) * MIB;
}

static int32_t set_preference(tfr_lt_pref *pref, uint64_t workspace, uint32_t alignment,
                              uint32_t reductions, tfr_err *err)
{
    static const unsigned alignments[] = {TFR_LT_PREF_ALIGNMENT_A, TFR_LT_PREF_ALIGNMENT_B,
                                          TFR_LT_PREF_ALIGNMENT_C, TFR_LT_PREF_ALIGNMENT_D};
    tfr_lt_status status = cuda_lt.cublasLtMatmulPreferenceSetAttribute(
        pref, TFR_LT_PREF_WORKSPACE_BYTES, &workspace, sizeof workspace);

    if (status == TFR_LT_SUCCESS)
        status = cuda_lt.cublasLtMatmulPreferenceSetAttribute(pref, TFR_LT_PREF_REDUCTION_MASK,
                                                              &reductions, sizeof reductions);
    for (int i = 0; i < 4 && status == TFR_LT_SUCCESS; i++)
        status = cuda_lt.cublasLtMatmulPreferenceSetAttribute(pref, alignments[i], &alignment,
                                                              sizeof alignment);
    return cuda_lt_check(status, "the preferences for a product", err);
}

static int32_t ask(const tfr_plugin_device *device, const cuda_gemm *g, tfr_lt_pref *pref,
                   algo_list *out, tfr_err *err)
{
    tfr_lt_heuristic results[CUDA_TUNE_MOST];
    int n = 0;
    int32_t status;

    out->n = 0;
    memset(results, 0, sizeof results);
    status = cuda_lt_check(cuda_lt.cublasLtMatmulAlgoGetHeuristic(device->lt, g->desc, g->a, g->b,
                                                                  g->y, g->y, pref, CUDA_TUNE_MOST,
                                                                  results, &n),
                           "the choice of an algorithm for a product", err);
    if (status != TFR_OK)
        return status;
    for (int i = 0; i < n && i < CUDA_TUNE_MOST; i++)
        if (results[i].state == TFR_LT_SUCCESS &&
            results[i].workspace_bytes <= most_workspace(device))
            out->all[out->n++] =
                (cuda_gemm_algo){results[i].algo, (uint64_t)results[i].workspace_bytes};
    return out->n ? TFR_OK
                  : tfr_fail(err, TFR_EUNSUPPORTED, "cuBLASLt has no algorithm for this product");
}

static int32_t list_algos(const tfr_plugin_device *device, const cuda_gemm *g, uint32_t alignment,
                          algo_list *out, tfr_err *err)
{
    tfr_lt_pref *pref = NULL;
    int32_t status = cuda_lt_check(cuda_lt.cublasLtMatmulPreferenceCreate(&pref),
                                   "the preferences for a product", err);

    if (status != TFR_OK)
        return status;
    status =
        set_preference(pref, most_workspace(device), alignment, TFR_LT_REDUCTION_COMPUTE_TYPE, err);
    if (status == TFR_OK)
        status = ask(device, g, pref, out, err);
    (void)cuda_lt.cublasLtMatmulPreferenceDestroy(pref);
    return status;
}

/* ---- by timing ------------------------------------------------------------------------------- */

typedef struct trial {
    cuda_gemm *gemm;
    const algo_list *list;
} trial;

/* Operands are a, b, y, the bias, the addend. */
static int32_t run_algo(tfr_plugin_device *device, const void *user, uint32_t number,
                        void *const *operands, void *workspace, tfr_cu_stream *stream, tfr_err *err)
{
    const trial *t = user;
    const cuda_gemm_memory memory = {.a = operands[0],
                                     .b = operands[1],
                                     .y = operands[2],
                                     .bias = operands[3],
                                     .addend = operands[4],
                                     .workspace = workspace};

    return cuda_gemm_multiply(device, t->gemm, &t->list->all[number], &memory, stream, err);
}

static void write_key(const tfr_plugin_device *device, const tfr_call *call, const cuda_product *p,
                      char key[CUDA_TUNE_KEY])
{
    char problem[CUDA_TUNE_KEY];

    snprintf(problem, sizeof problem,
             "product of type %d, math mode %d: %lld x %lld x %lld, swapped %d %d, batch %lld by "
             "%lld and %lld, bias %d, addend %d, alpha %a, beta %a, activation %d",
             tfr_call_input(call, 0)->dtype, call->math_mode, (long long)p->m, (long long)p->n,
             (long long)p->k, p->a_swapped, p->b_swapped, (long long)p->batch,
             (long long)p->a_stride, (long long)p->b_stride, p->bias != CUDA_NO_OPERAND,
             p->addend != CUDA_NO_OPERAND, (double)p->alpha, (double)p->beta, (int)p->activation);
    cuda_tune_key(device, "cuBLASLt", cuda_lt.cublasLtGetVersion(), problem, key);
}

static int32_t choose_by_time(tfr_plugin_device *device, const tfr_call *call, cuda_gemm *g,
                              const algo_list *list, uint32_t *out, tfr_err *err)
{
    const cuda_product *p = &g->product;
    const int64_t size = tfr_dtype_bits(tfr_call_input(call, 0)->dtype) / 8, more = p->batch - 1;
    const trial t = {g, list};
    char key[CUDA_TUNE_KEY];
    cuda_contest contest = {
        .key = key,
        .n = list->n,
        .operand_bytes = {(uint64_t)((more * p->a_stride + p->m * p->k) * size),
                          (uint64_t)((more * p->b_stride + p->k * p->n) * size),
                          (uint64_t)(p->batch * p->m * p->n * size),
                          p->bias != CUDA_NO_OPERAND ? (uint64_t)(p->n * size) : 0,
                          p->addend != CUDA_NO_OPERAND ? (uint64_t)(p->batch * p->m * p->n * size)
                                                       : 0},
        .run = run_algo,
        .user = &t,
    };

    write_key(device, call, p, key);
    for (uint32_t i = 0; i < list->n; i++) {
        memcpy(&contest.ids[i], &list->all[i].algo, sizeof list->all[i].algo);
        contest.workspace_bytes[i] = list->all[i].workspace_bytes;
    }
    return cuda_tune(device, &contest, out, err);
}

int32_t cuda_gemm_choose(tfr_plugin_device *device, const tfr_call *call, cuda_gemm *g,
                         tfr_err *err)
{
    const uint32_t size = tfr_dtype_bits(tfr_call_input(call, 0)->dtype) / 8;
    algo_list list;
    uint32_t number = 0;
    int32_t status = list_algos(device, g, size, &list, err);

    if (status != TFR_OK)
        return status;
    g->any = list.all[0];
    if (call->flags & TFR_CALL_DETERMINISTIC)
        return TFR_OK;
    status = list_algos(device, g, CUDA_GEMM_ALIGNMENT, &list, err);
    if (status == TFR_OK && cuda_tune_decides(device, call))
        status = choose_by_time(device, call, g, &list, &number, err);
    if (status != TFR_OK)
        return status;
    g->aligned = list.all[number];
    g->has_aligned = true;
    return TFR_OK;
}
