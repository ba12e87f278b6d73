/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_algo.c: the algorithm of a product, the first one that cuBLASLt's heuristic names.
 * Candidates compute in the type of the math mode, and add parts of a sum in f32, never as half
 * numbers.
 */
#include <string.h>

#include "gemm_lt.h"

#define MIB (UINT64_C(1) << 20)

enum { N_CANDIDATES = 8 };

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
                   cuda_gemm_algo *out, tfr_err *err)
{
    tfr_lt_heuristic results[N_CANDIDATES];
    int n = 0;
    int32_t status;

    memset(results, 0, sizeof results);
    status =
        cuda_lt_check(cuda_lt.cublasLtMatmulAlgoGetHeuristic(device->lt, g->desc, g->a, g->b, g->y,
                                                             g->y, pref, N_CANDIDATES, results, &n),
                      "the choice of an algorithm for a product", err);
    if (status != TFR_OK)
        return status;
    for (int i = 0; i < n && i < N_CANDIDATES; i++)
        if (results[i].state == TFR_LT_SUCCESS &&
            results[i].workspace_bytes <= most_workspace(device)) {
            *out = (cuda_gemm_algo){results[i].algo, (uint64_t)results[i].workspace_bytes};
            return TFR_OK;
        }
    return tfr_fail(err, TFR_EUNSUPPORTED, "cuBLASLt has no algorithm for this product");
}

static int32_t find_algo(const tfr_plugin_device *device, const cuda_gemm *g, uint32_t alignment,
                         cuda_gemm_algo *out, tfr_err *err)
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

int32_t cuda_gemm_choose(tfr_plugin_device *device, const tfr_call *call, cuda_gemm *g,
                         tfr_err *err)
{
    const uint32_t size = tfr_dtype_bits(tfr_call_input(call, 0)->dtype) / 8;
    int32_t status = find_algo(device, g, size, &g->any, err);

    if (status != TFR_OK || call->flags & TFR_CALL_DETERMINISTIC)
        return status;
    status = find_algo(device, g, CUDA_GEMM_ALIGNMENT, &g->aligned, err);
    g->has_aligned = status == TFR_OK;
    return status;
}
