/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of the driver's functions, ours against the vendor's: the vendor's structures take the
 * names of ours, and the compiler refuses the file if one function differs. Part of test_abi.
 */
#include <stddef.h>

size_t test_abi_functions_compared(void);

#if defined __has_include
#if __has_include(<cuda.h>)
#include <cuda.h>
#endif
#endif

#ifdef CUDA_VERSION

#define TFR_CUDA_ABI_NO_STRUCTS
#define tfr_cu_context       CUctx_st
#define tfr_cu_stream        CUstream_st
#define tfr_cu_event         CUevent_st
#define tfr_cu_pool          CUmemPoolHandle_st
#define tfr_cu_library       CUlib_st
#define tfr_cu_kernel        CUkern_st
#define tfr_cu_function      CUfunc_st
#define tfr_cu_array         CUarray_st
#define tfr_cu_graph         CUgraph_st
#define tfr_cu_graph_node    CUgraphNode_st
#define tfr_cu_graph_exec    CUgraphExec_st
#define tfr_cu_uuid          CUuuid
#define tfr_cu_copy_2d       CUDA_MEMCPY2D
#define tfr_cu_pool_props    CUmemPoolProps
#define tfr_cu_access        CUmemAccessDesc
#define tfr_cu_launch_config CUlaunchConfig
#define tfr_cu_edge          CUgraphEdgeData
#define tfr_cu_update_info   CUgraphExecUpdateResultInfo
#include "cuda_abi.h"

#define X(name, required, since, who)                                                              \
    _Static_assert(__builtin_types_compatible_p(__typeof__(name), tfr_##name##_fn), #name);
#include "driver.def"
#undef X

size_t test_abi_functions_compared(void)
{
    size_t n = 0;
#define X(name, required, since, who) n++;
#include "driver.def"
#undef X
    return n;
}

#else

size_t test_abi_functions_compared(void)
{
    return 0;
}

#endif
