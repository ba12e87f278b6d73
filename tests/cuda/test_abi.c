/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/cuda/cuda_abi.h against the vendor's cuda.h, where that is: each value, the size and
 * the members of each structure, the type of each function. Types are compared by the compiler, in
 * test_abi_functions.c, too: where one differs, the test does not build.
 */
#include <stdint.h>

#include "cuda_abi.h"
#include "tfr_test.h"

#if defined __has_include
#if __has_include(<cuda.h>)
#include <cuda.h>
#endif
#endif

#ifdef CUDA_VERSION

typedef struct value_pair {
    const char *name;
    long long ours, theirs;
} value_pair;
#define PAIR(ours, theirs)                                                                         \
    {                                                                                              \
#ours, (long long)(ours), (long long)(theirs)                                              \
    }
#define RESULT(name)       PAIR(TFR_CU_##name, CUDA_ERROR_##name)
#define ATTR(ours, theirs) PAIR(TFR_CU_ATTR_##ours, CU_DEVICE_ATTRIBUTE_##theirs)

static const value_pair results[] = {
    PAIR(TFR_CU_SUCCESS, CUDA_SUCCESS),
    RESULT(INVALID_VALUE),
    RESULT(OUT_OF_MEMORY),
    RESULT(NOT_INITIALIZED),
    RESULT(DEINITIALIZED),
    RESULT(STUB_LIBRARY),
#if CUDA_VERSION >= 13000
    RESULT(CALL_REQUIRES_NEWER_DRIVER),
#endif
    RESULT(DEVICE_UNAVAILABLE),
    RESULT(NO_DEVICE),
    RESULT(INVALID_DEVICE),
    RESULT(DEVICE_NOT_LICENSED),
    RESULT(INVALID_IMAGE),
    RESULT(INVALID_CONTEXT),
    RESULT(NO_BINARY_FOR_GPU),
    RESULT(ECC_UNCORRECTABLE),
    RESULT(PEER_ACCESS_UNSUPPORTED),
    RESULT(INVALID_PTX),
    RESULT(NVLINK_UNCORRECTABLE),
    RESULT(JIT_COMPILER_NOT_FOUND),
    RESULT(UNSUPPORTED_PTX_VERSION),
    RESULT(JIT_COMPILATION_DISABLED),
    RESULT(OPERATING_SYSTEM),
    RESULT(INVALID_HANDLE),
    RESULT(ILLEGAL_STATE),
    RESULT(NOT_FOUND),
    RESULT(NOT_READY),
    RESULT(ILLEGAL_ADDRESS),
    RESULT(LAUNCH_OUT_OF_RESOURCES),
    RESULT(LAUNCH_TIMEOUT),
    RESULT(PEER_ACCESS_ALREADY_ENABLED),
    RESULT(PEER_ACCESS_NOT_ENABLED),
    RESULT(PRIMARY_CONTEXT_ACTIVE),
    RESULT(CONTEXT_IS_DESTROYED),
    RESULT(ASSERT),
    RESULT(HOST_MEMORY_ALREADY_REGISTERED),
    RESULT(HOST_MEMORY_NOT_REGISTERED),
    RESULT(HARDWARE_STACK_ERROR),
    RESULT(ILLEGAL_INSTRUCTION),
    RESULT(MISALIGNED_ADDRESS),
    RESULT(INVALID_ADDRESS_SPACE),
    RESULT(INVALID_PC),
    RESULT(LAUNCH_FAILED),
    RESULT(COOPERATIVE_LAUNCH_TOO_LARGE),
    RESULT(NOT_PERMITTED),
    RESULT(NOT_SUPPORTED),
    RESULT(SYSTEM_NOT_READY),
    RESULT(SYSTEM_DRIVER_MISMATCH),
    RESULT(COMPAT_NOT_SUPPORTED_ON_DEVICE),
    RESULT(MPS_CONNECTION_FAILED),
    PAIR(TFR_CU_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
    PAIR(TFR_CU_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
    PAIR(TFR_CU_CAPTURE_MERGE, CUDA_ERROR_STREAM_CAPTURE_MERGE),
    PAIR(TFR_CU_CAPTURE_UNMATCHED, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED),
    PAIR(TFR_CU_CAPTURE_UNJOINED, CUDA_ERROR_STREAM_CAPTURE_UNJOINED),
    PAIR(TFR_CU_CAPTURE_ISOLATION, CUDA_ERROR_STREAM_CAPTURE_ISOLATION),
    PAIR(TFR_CU_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT),
    PAIR(TFR_CU_CAPTURED_EVENT, CUDA_ERROR_CAPTURED_EVENT),
    PAIR(TFR_CU_CAPTURE_WRONG_THREAD, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD),
    RESULT(TIMEOUT),
    RESULT(GRAPH_EXEC_UPDATE_FAILURE),
    RESULT(INVALID_CLUSTER_SIZE),
    RESULT(UNKNOWN),
};

static const value_pair device_values[] = {
    ATTR(MAX_THREADS_PER_BLOCK, MAX_THREADS_PER_BLOCK),
    ATTR(MAX_BLOCK_DIM_X, MAX_BLOCK_DIM_X),
    ATTR(MAX_BLOCK_DIM_Y, MAX_BLOCK_DIM_Y),
    ATTR(MAX_BLOCK_DIM_Z, MAX_BLOCK_DIM_Z),
    ATTR(MAX_GRID_DIM_X, MAX_GRID_DIM_X),
    ATTR(MAX_GRID_DIM_Y, MAX_GRID_DIM_Y),
    ATTR(MAX_GRID_DIM_Z, MAX_GRID_DIM_Z),
    ATTR(SHARED_PER_BLOCK, MAX_SHARED_MEMORY_PER_BLOCK),
    ATTR(WARP_SIZE, WARP_SIZE),
    ATTR(MAX_PITCH, MAX_PITCH),
    ATTR(REGISTERS_PER_BLOCK, MAX_REGISTERS_PER_BLOCK),
    ATTR(CLOCK_RATE, CLOCK_RATE),
    ATTR(MULTIPROCESSOR_COUNT, MULTIPROCESSOR_COUNT),
    ATTR(INTEGRATED, INTEGRATED),
    ATTR(CAN_MAP_HOST_MEMORY, CAN_MAP_HOST_MEMORY),
    ATTR(COMPUTE_MODE, COMPUTE_MODE),
    ATTR(ECC_ENABLED, ECC_ENABLED),
    ATTR(PCI_BUS_ID, PCI_BUS_ID),
    ATTR(PCI_DEVICE_ID, PCI_DEVICE_ID),
    ATTR(TCC_DRIVER, TCC_DRIVER),
    ATTR(MEMORY_CLOCK_RATE, MEMORY_CLOCK_RATE),
    ATTR(MEMORY_BUS_WIDTH, GLOBAL_MEMORY_BUS_WIDTH),
    ATTR(L2_BYTES, L2_CACHE_SIZE),
    ATTR(MAX_THREADS_PER_MULTIPROCESSOR, MAX_THREADS_PER_MULTIPROCESSOR),
    ATTR(ASYNC_ENGINE_COUNT, ASYNC_ENGINE_COUNT),
    ATTR(UNIFIED_ADDRESSING, UNIFIED_ADDRESSING),
    ATTR(PCI_DOMAIN_ID, PCI_DOMAIN_ID),
    ATTR(CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MAJOR),
    ATTR(CAPABILITY_MINOR, COMPUTE_CAPABILITY_MINOR),
    ATTR(SHARED_PER_MULTIPROCESSOR, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
    ATTR(REGISTERS_PER_MULTIPROCESSOR, MAX_REGISTERS_PER_MULTIPROCESSOR),
    ATTR(MANAGED_MEMORY, MANAGED_MEMORY),
    ATTR(PAGEABLE_MEMORY_ACCESS, PAGEABLE_MEMORY_ACCESS),
    ATTR(COOPERATIVE_LAUNCH, COOPERATIVE_LAUNCH),
    ATTR(SHARED_PER_BLOCK_OPTIN, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
    ATTR(HOST_REGISTER_SUPPORTED, HOST_REGISTER_SUPPORTED),
    ATTR(MAX_BLOCKS_PER_MULTIPROCESSOR, MAX_BLOCKS_PER_MULTIPROCESSOR),
    ATTR(RESERVED_SHARED_PER_BLOCK, RESERVED_SHARED_MEMORY_PER_BLOCK),
    ATTR(MEMORY_POOLS_SUPPORTED, MEMORY_POOLS_SUPPORTED),
    ATTR(CLUSTER_LAUNCH, CLUSTER_LAUNCH),
#if CUDA_VERSION >= 13000
    ATTR(HOST_NUMA_ID, HOST_NUMA_ID),
#endif
    PAIR(TFR_CU_COMPUTE_DEFAULT, CU_COMPUTEMODE_DEFAULT),
    PAIR(TFR_CU_COMPUTE_PROHIBITED, CU_COMPUTEMODE_PROHIBITED),
    PAIR(TFR_CU_COMPUTE_EXCLUSIVE, CU_COMPUTEMODE_EXCLUSIVE_PROCESS),
    PAIR(TFR_CU_P2P_PERFORMANCE_RANK, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK),
    PAIR(TFR_CU_P2P_ACCESS_SUPPORTED, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED),
    PAIR(TFR_CU_P2P_NATIVE_ATOMIC_SUPPORTED, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED),
};

static const value_pair memory_values[] = {
    PAIR(TFR_CU_HOST_PORTABLE, CU_MEMHOSTALLOC_PORTABLE),
    PAIR(TFR_CU_HOST_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE),
    PAIR(TFR_CU_HOST_DEVICEMAP, CU_MEMHOSTALLOC_DEVICEMAP),
    PAIR(TFR_CU_HOST_DEVICEMAP, CU_MEMHOSTREGISTER_DEVICEMAP),
    PAIR(TFR_CU_HOST_WRITECOMBINED, CU_MEMHOSTALLOC_WRITECOMBINED),
    PAIR(TFR_CU_MEMORY_HOST, CU_MEMORYTYPE_HOST),
    PAIR(TFR_CU_MEMORY_DEVICE, CU_MEMORYTYPE_DEVICE),
    PAIR(TFR_CU_MEMORY_ARRAY, CU_MEMORYTYPE_ARRAY),
    PAIR(TFR_CU_MEMORY_UNIFIED, CU_MEMORYTYPE_UNIFIED),
    PAIR(TFR_CU_POINTER_CONTEXT, CU_POINTER_ATTRIBUTE_CONTEXT),
    PAIR(TFR_CU_POINTER_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE),
    PAIR(TFR_CU_POINTER_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_DEVICE_POINTER),
    PAIR(TFR_CU_POINTER_HOST_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER),
    PAIR(TFR_CU_POINTER_IS_MANAGED, CU_POINTER_ATTRIBUTE_IS_MANAGED),
    PAIR(TFR_CU_POINTER_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL),
    PAIR(TFR_CU_POINTER_RANGE_START, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR),
    PAIR(TFR_CU_POINTER_RANGE_SIZE, CU_POINTER_ATTRIBUTE_RANGE_SIZE),
    PAIR(TFR_CU_POINTER_MAPPED, CU_POINTER_ATTRIBUTE_MAPPED),
    PAIR(TFR_CU_ALLOCATION_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED),
    PAIR(TFR_CU_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE),
    PAIR(TFR_CU_ACCESS_NONE, CU_MEM_ACCESS_FLAGS_PROT_NONE),
    PAIR(TFR_CU_ACCESS_READ, CU_MEM_ACCESS_FLAGS_PROT_READ),
    PAIR(TFR_CU_ACCESS_READ_WRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
    PAIR(TFR_CU_POOL_REUSE_FOLLOW_EVENTS, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES),
    PAIR(TFR_CU_POOL_REUSE_OPPORTUNISTIC, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC),
    PAIR(TFR_CU_POOL_REUSE_INTERNAL_DEPENDENCIES,
         CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES),
    PAIR(TFR_CU_POOL_RELEASE_THRESHOLD, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD),
    PAIR(TFR_CU_POOL_RESERVED_CURRENT, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT),
    PAIR(TFR_CU_POOL_RESERVED_HIGH, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH),
    PAIR(TFR_CU_POOL_USED_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_CURRENT),
    PAIR(TFR_CU_POOL_USED_HIGH, CU_MEMPOOL_ATTR_USED_MEM_HIGH),
};

static const value_pair run_values[] = {
    PAIR(TFR_CU_STREAM_DEFAULT, CU_STREAM_DEFAULT),
    PAIR(TFR_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING),
    PAIR(TFR_CU_EVENT_DEFAULT, CU_EVENT_DEFAULT),
    PAIR(TFR_CU_EVENT_BLOCKING_SYNC, CU_EVENT_BLOCKING_SYNC),
    PAIR(TFR_CU_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING),
    PAIR(TFR_CU_CAPTURE_GLOBAL, CU_STREAM_CAPTURE_MODE_GLOBAL),
    PAIR(TFR_CU_CAPTURE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
    PAIR(TFR_CU_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED),
    PAIR(TFR_CU_CAPTURE_STATUS_NONE, CU_STREAM_CAPTURE_STATUS_NONE),
    PAIR(TFR_CU_CAPTURE_STATUS_ACTIVE, CU_STREAM_CAPTURE_STATUS_ACTIVE),
    PAIR(TFR_CU_CAPTURE_STATUS_INVALIDATED, CU_STREAM_CAPTURE_STATUS_INVALIDATED),
    PAIR(TFR_CU_SET_CAPTURE_DEPENDENCIES, CU_STREAM_SET_CAPTURE_DEPENDENCIES),
    PAIR(TFR_CU_FUNC_MAX_THREADS_PER_BLOCK, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
    PAIR(TFR_CU_FUNC_SHARED_BYTES, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
    PAIR(TFR_CU_FUNC_CONST_BYTES, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES),
    PAIR(TFR_CU_FUNC_LOCAL_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
    PAIR(TFR_CU_FUNC_NUM_REGS, CU_FUNC_ATTRIBUTE_NUM_REGS),
    PAIR(TFR_CU_FUNC_PTX_VERSION, CU_FUNC_ATTRIBUTE_PTX_VERSION),
    PAIR(TFR_CU_FUNC_BINARY_VERSION, CU_FUNC_ATTRIBUTE_BINARY_VERSION),
    PAIR(TFR_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
    PAIR(TFR_CU_FUNC_SHARED_CARVEOUT, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT),
    PAIR(TFR_CU_FUNC_NON_PORTABLE_CLUSTER, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED),
    PAIR(TFR_CU_LAUNCH_IGNORE, CU_LAUNCH_ATTRIBUTE_IGNORE),
    PAIR(TFR_CU_LAUNCH_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE),
    PAIR(TFR_CU_LAUNCH_CLUSTER, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION),
    PAIR(TFR_CU_LAUNCH_PROGRAMMATIC, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION),
    PAIR(TFR_CU_LAUNCH_PRIORITY, CU_LAUNCH_ATTRIBUTE_PRIORITY),
    PAIR(TFR_CU_GRAPH_AUTO_FREE_ON_LAUNCH, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH),
    PAIR(TFR_CU_GRAPH_USE_NODE_PRIORITY, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY),
    PAIR(TFR_CU_GRAPH_UPDATE_SUCCESS, CU_GRAPH_EXEC_UPDATE_SUCCESS),
    PAIR(TFR_CU_GRAPH_UPDATE_ERROR, CU_GRAPH_EXEC_UPDATE_ERROR),
    PAIR(TFR_CU_GRAPH_UPDATE_TOPOLOGY_CHANGED, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED),
    PAIR(TFR_CU_GRAPH_UPDATE_NODE_TYPE_CHANGED, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED),
    PAIR(TFR_CU_GRAPH_UPDATE_FUNCTION_CHANGED, CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED),
    PAIR(TFR_CU_GRAPH_UPDATE_PARAMETERS_CHANGED, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED),
    PAIR(TFR_CU_GRAPH_UPDATE_NOT_SUPPORTED, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED),
};

static void check_pairs(const value_pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        test_int(pairs[i].theirs, pairs[i].ours, pairs[i].name, TEST_AT, false);
}
#define CHECK_PAIRS(pairs) check_pairs(pairs, sizeof(pairs) / sizeof((pairs)[0]))

/* The members of the same place have the same size, too; the ends of structures are compared. */
#define SAME_SIZE(ours, theirs) CHECK_UINT(sizeof(theirs), sizeof(ours))
#define SAME_MEMBER(ours, m, theirs, n)                                                            \
    do {                                                                                           \
        CHECK_UINT(offsetof(theirs, n), offsetof(ours, m));                                        \
        CHECK_UINT(sizeof(((theirs *)0)->n), sizeof(((ours *)0)->m));                              \
    } while (0)

static void check_copy_2d(void)
{
    SAME_SIZE(tfr_cu_copy_2d, CUDA_MEMCPY2D);
    SAME_MEMBER(tfr_cu_copy_2d, src_x_bytes, CUDA_MEMCPY2D, srcXInBytes);
    SAME_MEMBER(tfr_cu_copy_2d, src_y, CUDA_MEMCPY2D, srcY);
    SAME_MEMBER(tfr_cu_copy_2d, src_memory, CUDA_MEMCPY2D, srcMemoryType);
    SAME_MEMBER(tfr_cu_copy_2d, src_host, CUDA_MEMCPY2D, srcHost);
    SAME_MEMBER(tfr_cu_copy_2d, src_device, CUDA_MEMCPY2D, srcDevice);
    SAME_MEMBER(tfr_cu_copy_2d, src_array, CUDA_MEMCPY2D, srcArray);
    SAME_MEMBER(tfr_cu_copy_2d, src_pitch, CUDA_MEMCPY2D, srcPitch);
    SAME_MEMBER(tfr_cu_copy_2d, dst_x_bytes, CUDA_MEMCPY2D, dstXInBytes);
    SAME_MEMBER(tfr_cu_copy_2d, dst_y, CUDA_MEMCPY2D, dstY);
    SAME_MEMBER(tfr_cu_copy_2d, dst_memory, CUDA_MEMCPY2D, dstMemoryType);
    SAME_MEMBER(tfr_cu_copy_2d, dst_host, CUDA_MEMCPY2D, dstHost);
    SAME_MEMBER(tfr_cu_copy_2d, dst_device, CUDA_MEMCPY2D, dstDevice);
    SAME_MEMBER(tfr_cu_copy_2d, dst_array, CUDA_MEMCPY2D, dstArray);
    SAME_MEMBER(tfr_cu_copy_2d, dst_pitch, CUDA_MEMCPY2D, dstPitch);
    SAME_MEMBER(tfr_cu_copy_2d, width_bytes, CUDA_MEMCPY2D, WidthInBytes);
    SAME_MEMBER(tfr_cu_copy_2d, height, CUDA_MEMCPY2D, Height);
}

static void check_pool_structures(void)
{
    SAME_SIZE(tfr_cu_uuid, CUuuid);
    SAME_SIZE(tfr_cu_location, CUmemLocation);
    SAME_MEMBER(tfr_cu_location, type, CUmemLocation, type);
    SAME_MEMBER(tfr_cu_location, id, CUmemLocation, id);
    SAME_SIZE(tfr_cu_pool_props, CUmemPoolProps);
    SAME_MEMBER(tfr_cu_pool_props, allocation, CUmemPoolProps, allocType);
    SAME_MEMBER(tfr_cu_pool_props, handle_types, CUmemPoolProps, handleTypes);
    SAME_MEMBER(tfr_cu_pool_props, location, CUmemPoolProps, location);
    SAME_MEMBER(tfr_cu_pool_props, win32_security, CUmemPoolProps, win32SecurityAttributes);
#if CUDA_VERSION >= 12020
    SAME_MEMBER(tfr_cu_pool_props, max_bytes, CUmemPoolProps, maxSize);
#endif
    SAME_SIZE(tfr_cu_access, CUmemAccessDesc);
    SAME_MEMBER(tfr_cu_access, location, CUmemAccessDesc, location);
    SAME_MEMBER(tfr_cu_access, flags, CUmemAccessDesc, flags);
}

static void check_launch_structures(void)
{
    SAME_SIZE(tfr_cu_launch_value, CUlaunchAttributeValue);
    SAME_MEMBER(tfr_cu_launch_value, cooperative, CUlaunchAttributeValue, cooperative);
    SAME_MEMBER(tfr_cu_launch_value, cluster, CUlaunchAttributeValue, clusterDim);
    SAME_MEMBER(tfr_cu_launch_value, programmatic, CUlaunchAttributeValue,
                programmaticStreamSerializationAllowed);
    SAME_MEMBER(tfr_cu_launch_value, priority, CUlaunchAttributeValue, priority);
    SAME_SIZE(tfr_cu_launch_attr, CUlaunchAttribute);
    SAME_MEMBER(tfr_cu_launch_attr, id, CUlaunchAttribute, id);
    SAME_MEMBER(tfr_cu_launch_attr, value, CUlaunchAttribute, value);
    SAME_SIZE(tfr_cu_launch_config, CUlaunchConfig);
    SAME_MEMBER(tfr_cu_launch_config, grid_x, CUlaunchConfig, gridDimX);
    SAME_MEMBER(tfr_cu_launch_config, grid_y, CUlaunchConfig, gridDimY);
    SAME_MEMBER(tfr_cu_launch_config, grid_z, CUlaunchConfig, gridDimZ);
    SAME_MEMBER(tfr_cu_launch_config, block_x, CUlaunchConfig, blockDimX);
    SAME_MEMBER(tfr_cu_launch_config, block_y, CUlaunchConfig, blockDimY);
    SAME_MEMBER(tfr_cu_launch_config, block_z, CUlaunchConfig, blockDimZ);
    SAME_MEMBER(tfr_cu_launch_config, shared_bytes, CUlaunchConfig, sharedMemBytes);
    SAME_MEMBER(tfr_cu_launch_config, stream, CUlaunchConfig, hStream);
    SAME_MEMBER(tfr_cu_launch_config, attrs, CUlaunchConfig, attrs);
    SAME_MEMBER(tfr_cu_launch_config, n_attrs, CUlaunchConfig, numAttrs);
    SAME_SIZE(tfr_cu_edge, CUgraphEdgeData);
    SAME_MEMBER(tfr_cu_edge, from_port, CUgraphEdgeData, from_port);
    SAME_MEMBER(tfr_cu_edge, to_port, CUgraphEdgeData, to_port);
    SAME_MEMBER(tfr_cu_edge, type, CUgraphEdgeData, type);
    SAME_SIZE(tfr_cu_update_info, CUgraphExecUpdateResultInfo);
    SAME_MEMBER(tfr_cu_update_info, result, CUgraphExecUpdateResultInfo, result);
    SAME_MEMBER(tfr_cu_update_info, error_node, CUgraphExecUpdateResultInfo, errorNode);
    SAME_MEMBER(tfr_cu_update_info, error_from_node, CUgraphExecUpdateResultInfo, errorFromNode);
}

TEST(results_have_the_vendors_values)
{
    CHECK_PAIRS(results);
}

TEST(values_have_the_vendors_values)
{
    CHECK_PAIRS(device_values);
    CHECK_PAIRS(memory_values);
    CHECK_PAIRS(run_values);
}

TEST(structures_have_the_vendors_layout)
{
    check_copy_2d();
    check_pool_structures();
    check_launch_structures();
    CHECK_UINT(sizeof(CUdeviceptr), sizeof(tfr_cu_ptr));
    CHECK_UINT(sizeof(CUdevice), sizeof(tfr_cu_device));
}

#else

TEST(results_have_the_vendors_values)
{
    SKIP("the header cuda.h is not in the compiler's path; CPPFLAGS=-I... names its folder");
}
TEST(values_have_the_vendors_values)
{
    SKIP("no cuda.h");
}
TEST(structures_have_the_vendors_layout)
{
    SKIP("no cuda.h");
}

#endif

/* The comparison itself is made by the compiler. */
size_t test_abi_functions_compared(void);

TEST(functions_have_the_vendors_types)
{
    size_t n = 0;
#define X(name, required, since, who) n++;
#include "driver.def"
#undef X
    CHECK_UINT(83, n);
    if (test_abi_functions_compared() == 0)
        SKIP("no cuda.h");
    CHECK_UINT(n, test_abi_functions_compared());
}

static const test_case cases[] = {
    CASE(results_have_the_vendors_values),
    CASE(values_have_the_vendors_values),
    CASE(structures_have_the_vendors_layout),
    CASE(functions_have_the_vendors_types),
};
TEST_MAIN_OF_ONE_THREAD(cases)
