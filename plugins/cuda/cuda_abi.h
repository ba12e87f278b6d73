/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tfrun calls of the CUDA driver API, declared here so that the host half of the backend is
 * built and tested where nothing of CUDA is. The names, types and values are facts of the driver's
 * binary interface, the same from CUDA 12.0 on; tests/cuda/test_abi.c compares all of them with the
 * vendor's headers where these are.
 *
 * The function NAME has the type tfr_NAME_fn; driver.def lists them. The names are those which the
 * driver exports, with suffix: the vendor's header renames by macro, and differently in each
 * release. Enumerations are passed as unsigned, as their values have that type.
 *
 * Not declared: what nobody calls. A value that the driver may answer with, but nobody compares
 * with, has no name here; the driver gives names and texts of its errors itself.
 */
#ifndef TFR_CUDA_ABI_H
#define TFR_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------------------------------
 * Handles. A kernel may be passed where a function is wanted, by a cast.
 */
typedef int tfr_cu_device;             /* 0, 1, ... */
typedef unsigned long long tfr_cu_ptr; /* an address of the device's memory */
typedef struct tfr_cu_context tfr_cu_context;
typedef struct tfr_cu_stream tfr_cu_stream;
typedef struct tfr_cu_event tfr_cu_event;
typedef struct tfr_cu_pool tfr_cu_pool;
typedef struct tfr_cu_library tfr_cu_library;
typedef struct tfr_cu_kernel tfr_cu_kernel;
typedef struct tfr_cu_function tfr_cu_function;
typedef struct tfr_cu_array tfr_cu_array;
typedef struct tfr_cu_graph tfr_cu_graph;
typedef struct tfr_cu_graph_node tfr_cu_graph_node;
typedef struct tfr_cu_graph_exec tfr_cu_graph_exec;

/* ------------------------------------------------------------------------------------------
 * Results.
 */
typedef unsigned tfr_cu_result;
enum {
    TFR_CU_SUCCESS = 0,
    TFR_CU_INVALID_VALUE = 1,
    TFR_CU_OUT_OF_MEMORY = 2,
    TFR_CU_NOT_INITIALIZED = 3,
    TFR_CU_DEINITIALIZED = 4,
    TFR_CU_STUB_LIBRARY = 34,
    TFR_CU_CALL_REQUIRES_NEWER_DRIVER = 36,
    TFR_CU_DEVICE_UNAVAILABLE = 46,
    TFR_CU_NO_DEVICE = 100,
    TFR_CU_INVALID_DEVICE = 101,
    TFR_CU_DEVICE_NOT_LICENSED = 102,
    TFR_CU_INVALID_IMAGE = 200,
    TFR_CU_INVALID_CONTEXT = 201,
    TFR_CU_NO_BINARY_FOR_GPU = 209,
    TFR_CU_ECC_UNCORRECTABLE = 214,
    TFR_CU_PEER_ACCESS_UNSUPPORTED = 217,
    TFR_CU_INVALID_PTX = 218,
    TFR_CU_NVLINK_UNCORRECTABLE = 220,
    TFR_CU_JIT_COMPILER_NOT_FOUND = 221,
    TFR_CU_UNSUPPORTED_PTX_VERSION = 222,
    TFR_CU_JIT_COMPILATION_DISABLED = 223,
    TFR_CU_OPERATING_SYSTEM = 304,
    TFR_CU_INVALID_HANDLE = 400,
    TFR_CU_ILLEGAL_STATE = 401,
    TFR_CU_NOT_FOUND = 500,
    TFR_CU_NOT_READY = 600,
    TFR_CU_ILLEGAL_ADDRESS = 700,
    TFR_CU_LAUNCH_OUT_OF_RESOURCES = 701,
    TFR_CU_LAUNCH_TIMEOUT = 702,
    TFR_CU_PEER_ACCESS_ALREADY_ENABLED = 704,
    TFR_CU_PEER_ACCESS_NOT_ENABLED = 705,
    TFR_CU_PRIMARY_CONTEXT_ACTIVE = 708,
    TFR_CU_CONTEXT_IS_DESTROYED = 709,
    TFR_CU_ASSERT = 710,
    TFR_CU_HOST_MEMORY_ALREADY_REGISTERED = 712,
    TFR_CU_HOST_MEMORY_NOT_REGISTERED = 713,
    TFR_CU_HARDWARE_STACK_ERROR = 714,
    TFR_CU_ILLEGAL_INSTRUCTION = 715,
    TFR_CU_MISALIGNED_ADDRESS = 716,
    TFR_CU_INVALID_ADDRESS_SPACE = 717,
    TFR_CU_INVALID_PC = 718,
    TFR_CU_LAUNCH_FAILED = 719,
    TFR_CU_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    TFR_CU_NOT_PERMITTED = 800,
    TFR_CU_NOT_SUPPORTED = 801,
    TFR_CU_SYSTEM_NOT_READY = 802,
    TFR_CU_SYSTEM_DRIVER_MISMATCH = 803,
    TFR_CU_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
    TFR_CU_MPS_CONNECTION_FAILED = 805,
    TFR_CU_CAPTURE_UNSUPPORTED = 900,
    TFR_CU_CAPTURE_INVALIDATED = 901,
    TFR_CU_CAPTURE_MERGE = 902,
    TFR_CU_CAPTURE_UNMATCHED = 903,
    TFR_CU_CAPTURE_UNJOINED = 904,
    TFR_CU_CAPTURE_ISOLATION = 905,
    TFR_CU_CAPTURE_IMPLICIT = 906,
    TFR_CU_CAPTURED_EVENT = 907,
    TFR_CU_CAPTURE_WRONG_THREAD = 908,
    TFR_CU_TIMEOUT = 909,
    TFR_CU_GRAPH_EXEC_UPDATE_FAILURE = 910,
    TFR_CU_INVALID_CLUSTER_SIZE = 912,
    TFR_CU_UNKNOWN = 999,
};

/* ------------------------------------------------------------------------------------------
 * Devices.
 */
/* Rates are in kHz, sizes in bytes, the bus width in bits. */
enum {
    TFR_CU_ATTR_MAX_THREADS_PER_BLOCK = 1,
    TFR_CU_ATTR_MAX_BLOCK_DIM_X = 2,
    TFR_CU_ATTR_MAX_BLOCK_DIM_Y = 3,
    TFR_CU_ATTR_MAX_BLOCK_DIM_Z = 4,
    TFR_CU_ATTR_MAX_GRID_DIM_X = 5,
    TFR_CU_ATTR_MAX_GRID_DIM_Y = 6,
    TFR_CU_ATTR_MAX_GRID_DIM_Z = 7,
    TFR_CU_ATTR_SHARED_PER_BLOCK = 8,
    TFR_CU_ATTR_WARP_SIZE = 10,
    TFR_CU_ATTR_MAX_PITCH = 11,
    TFR_CU_ATTR_REGISTERS_PER_BLOCK = 12,
    TFR_CU_ATTR_CLOCK_RATE = 13,
    TFR_CU_ATTR_MULTIPROCESSOR_COUNT = 16,
    TFR_CU_ATTR_INTEGRATED = 18,
    TFR_CU_ATTR_CAN_MAP_HOST_MEMORY = 19,
    TFR_CU_ATTR_COMPUTE_MODE = 20,
    TFR_CU_ATTR_ECC_ENABLED = 32,
    TFR_CU_ATTR_PCI_BUS_ID = 33,
    TFR_CU_ATTR_PCI_DEVICE_ID = 34,
    TFR_CU_ATTR_TCC_DRIVER = 35,
    TFR_CU_ATTR_MEMORY_CLOCK_RATE = 36,
    TFR_CU_ATTR_MEMORY_BUS_WIDTH = 37,
    TFR_CU_ATTR_L2_BYTES = 38,
    TFR_CU_ATTR_MAX_THREADS_PER_MULTIPROCESSOR = 39,
    TFR_CU_ATTR_ASYNC_ENGINE_COUNT = 40,
    TFR_CU_ATTR_UNIFIED_ADDRESSING = 41,
    TFR_CU_ATTR_PCI_DOMAIN_ID = 50,
    TFR_CU_ATTR_CAPABILITY_MAJOR = 75,
    TFR_CU_ATTR_CAPABILITY_MINOR = 76,
    TFR_CU_ATTR_SHARED_PER_MULTIPROCESSOR = 81,
    TFR_CU_ATTR_REGISTERS_PER_MULTIPROCESSOR = 82,
    TFR_CU_ATTR_MANAGED_MEMORY = 83,
    TFR_CU_ATTR_PAGEABLE_MEMORY_ACCESS = 88,
    TFR_CU_ATTR_COOPERATIVE_LAUNCH = 95,
    TFR_CU_ATTR_SHARED_PER_BLOCK_OPTIN = 97,
    TFR_CU_ATTR_HOST_REGISTER_SUPPORTED = 99,
    TFR_CU_ATTR_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
    TFR_CU_ATTR_RESERVED_SHARED_PER_BLOCK = 111,
    TFR_CU_ATTR_MEMORY_POOLS_SUPPORTED = 115,
    TFR_CU_ATTR_CLUSTER_LAUNCH = 120,
    TFR_CU_ATTR_HOST_NUMA_ID = 134,
};

/* Of TFR_CU_ATTR_COMPUTE_MODE. */
enum {
    TFR_CU_COMPUTE_DEFAULT = 0,
    TFR_CU_COMPUTE_PROHIBITED = 2,
    TFR_CU_COMPUTE_EXCLUSIVE = 3,
};

/* Between two devices. */
enum {
    TFR_CU_P2P_PERFORMANCE_RANK = 1,
    TFR_CU_P2P_ACCESS_SUPPORTED = 2,
    TFR_CU_P2P_NATIVE_ATOMIC_SUPPORTED = 3,
};

/* ------------------------------------------------------------------------------------------
 * Memory.
 */
enum {
    TFR_CU_HOST_PORTABLE = 1, /* the flags of cuMemHostAlloc and cuMemHostRegister */
    TFR_CU_HOST_DEVICEMAP = 2,
    TFR_CU_HOST_WRITECOMBINED = 4, /* of cuMemHostAlloc only */
};

enum {
    TFR_CU_MEMORY_HOST = 1,
    TFR_CU_MEMORY_DEVICE = 2,
    TFR_CU_MEMORY_ARRAY = 3,
    TFR_CU_MEMORY_UNIFIED = 4,
};

/* What cuPointerGetAttributes writes for each: a context, an unsigned, an address, an address, a
 * bool as unsigned, an int, an address, a size_t, a bool as unsigned. */
enum {
    TFR_CU_POINTER_CONTEXT = 1,
    TFR_CU_POINTER_MEMORY_TYPE = 2,
    TFR_CU_POINTER_DEVICE_POINTER = 3,
    TFR_CU_POINTER_HOST_POINTER = 4,
    TFR_CU_POINTER_IS_MANAGED = 8,
    TFR_CU_POINTER_DEVICE_ORDINAL = 9,
    TFR_CU_POINTER_RANGE_START = 11,
    TFR_CU_POINTER_RANGE_SIZE = 12,
    TFR_CU_POINTER_MAPPED = 13,
};

enum {
    TFR_CU_ALLOCATION_PINNED = 1, /* the only kind of a pool's memory: it stays on the device */
    TFR_CU_LOCATION_DEVICE = 1,
    TFR_CU_ACCESS_NONE = 0,
    TFR_CU_ACCESS_READ = 1,
    TFR_CU_ACCESS_READ_WRITE = 3,
};

/* Of pools: the first three are int, the others unsigned long long. */
enum {
    TFR_CU_POOL_REUSE_FOLLOW_EVENTS = 1,
    TFR_CU_POOL_REUSE_OPPORTUNISTIC = 2,
    TFR_CU_POOL_REUSE_INTERNAL_DEPENDENCIES = 3,
    TFR_CU_POOL_RELEASE_THRESHOLD = 4,
    TFR_CU_POOL_RESERVED_CURRENT = 5,
    TFR_CU_POOL_RESERVED_HIGH = 6,
    TFR_CU_POOL_USED_CURRENT = 7,
    TFR_CU_POOL_USED_HIGH = 8,
};

/* ------------------------------------------------------------------------------------------
 * Streams, events, kernels, graphs.
 */
enum {
    TFR_CU_STREAM_DEFAULT = 0,
    TFR_CU_STREAM_NON_BLOCKING = 1,
    TFR_CU_EVENT_DEFAULT = 0,
    TFR_CU_EVENT_BLOCKING_SYNC = 1,
    TFR_CU_EVENT_DISABLE_TIMING = 2,
};

enum {
    TFR_CU_CAPTURE_GLOBAL = 0, /* modes */
    TFR_CU_CAPTURE_THREAD_LOCAL = 1,
    TFR_CU_CAPTURE_RELAXED = 2,
    TFR_CU_CAPTURE_STATUS_NONE = 0,
    TFR_CU_CAPTURE_STATUS_ACTIVE = 1,
    TFR_CU_CAPTURE_STATUS_INVALIDATED = 2,
    TFR_CU_SET_CAPTURE_DEPENDENCIES = 1,
};

enum {
    TFR_CU_FUNC_MAX_THREADS_PER_BLOCK = 0,
    TFR_CU_FUNC_SHARED_BYTES = 1,
    TFR_CU_FUNC_CONST_BYTES = 2,
    TFR_CU_FUNC_LOCAL_BYTES = 3,
    TFR_CU_FUNC_NUM_REGS = 4,
    TFR_CU_FUNC_PTX_VERSION = 5,
    TFR_CU_FUNC_BINARY_VERSION = 6,
    TFR_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES = 8,
    TFR_CU_FUNC_SHARED_CARVEOUT = 9,
    TFR_CU_FUNC_NON_PORTABLE_CLUSTER = 14,
};

/* Launch attributes; the member of the value that each uses has its name. */
enum {
    TFR_CU_LAUNCH_IGNORE = 0,
    TFR_CU_LAUNCH_COOPERATIVE = 2,
    TFR_CU_LAUNCH_CLUSTER = 4,
    TFR_CU_LAUNCH_PROGRAMMATIC = 6, /* may start before the kernel before it has ended */
    TFR_CU_LAUNCH_PRIORITY = 8,
};

enum {
    TFR_CU_GRAPH_AUTO_FREE_ON_LAUNCH = 1,
    TFR_CU_GRAPH_USE_NODE_PRIORITY = 8,
    TFR_CU_GRAPH_UPDATE_SUCCESS = 0,
    TFR_CU_GRAPH_UPDATE_ERROR = 1,
    TFR_CU_GRAPH_UPDATE_TOPOLOGY_CHANGED = 2,
    TFR_CU_GRAPH_UPDATE_NODE_TYPE_CHANGED = 3,
    TFR_CU_GRAPH_UPDATE_FUNCTION_CHANGED = 4,
    TFR_CU_GRAPH_UPDATE_PARAMETERS_CHANGED = 5,
    TFR_CU_GRAPH_UPDATE_NOT_SUPPORTED = 6,
};

/* ------------------------------------------------------------------------------------------
 * Structures. The test of the function types names the vendor's in their place.
 */
#ifndef TFR_CUDA_ABI_NO_STRUCTS

typedef struct tfr_cu_uuid {
    char bytes[16];
} tfr_cu_uuid;

typedef struct tfr_cu_copy_2d {
    size_t src_x_bytes;
    size_t src_y;
    unsigned src_memory; /* TFR_CU_MEMORY_... */
    const void *src_host;
    tfr_cu_ptr src_device;
    tfr_cu_array *src_array;
    size_t src_pitch;
    size_t dst_x_bytes;
    size_t dst_y;
    unsigned dst_memory;
    void *dst_host;
    tfr_cu_ptr dst_device;
    tfr_cu_array *dst_array;
    size_t dst_pitch;
    size_t width_bytes;
    size_t height;
} tfr_cu_copy_2d;

typedef struct tfr_cu_location {
    unsigned type; /* TFR_CU_LOCATION_... */
    int id;        /* of a device */
} tfr_cu_location;

typedef struct tfr_cu_pool_props {
    unsigned allocation;   /* TFR_CU_ALLOCATION_PINNED */
    unsigned handle_types; /* 0: no other process opens it */
    tfr_cu_location location;
    void *win32_security;
    size_t max_bytes; /* 0: no limit; drivers before 12.2 take no other value */
    unsigned char reserved[56];
} tfr_cu_pool_props;

typedef struct tfr_cu_access {
    tfr_cu_location location;
    unsigned flags; /* TFR_CU_ACCESS_... */
} tfr_cu_access;

typedef union tfr_cu_launch_value {
    char pad[64];
    int cooperative;
    struct {
        unsigned x, y, z;
    } cluster;
    int programmatic;
    int priority;
} tfr_cu_launch_value;

typedef struct tfr_cu_launch_attr {
    unsigned id; /* TFR_CU_LAUNCH_... */
    char pad[4];
    tfr_cu_launch_value value;
} tfr_cu_launch_attr;

typedef struct tfr_cu_launch_config {
    unsigned grid_x, grid_y, grid_z;    /* blocks */
    unsigned block_x, block_y, block_z; /* threads */
    unsigned shared_bytes;
    tfr_cu_stream *stream;
    tfr_cu_launch_attr *attrs;
    unsigned n_attrs;
} tfr_cu_launch_config;

typedef struct tfr_cu_edge {
    unsigned char from_port, to_port, type, reserved[5];
} tfr_cu_edge;

typedef struct tfr_cu_update_info {
    unsigned result; /* TFR_CU_GRAPH_UPDATE_... */
    tfr_cu_graph_node *error_node;
    tfr_cu_graph_node *error_from_node;
} tfr_cu_update_info;

#endif

/* ------------------------------------------------------------------------------------------
 * Functions, in the order of driver.def.
 */
typedef tfr_cu_result tfr_cuInit_fn(unsigned flags);
typedef tfr_cu_result tfr_cuDriverGetVersion_fn(int *version);
typedef tfr_cu_result tfr_cuGetErrorName_fn(tfr_cu_result error, const char **name);
typedef tfr_cu_result tfr_cuGetErrorString_fn(tfr_cu_result error, const char **text);

typedef tfr_cu_result tfr_cuDeviceGet_fn(tfr_cu_device *dev, int ordinal);
typedef tfr_cu_result tfr_cuDeviceGetCount_fn(int *count);
typedef tfr_cu_result tfr_cuDeviceGetName_fn(char *name, int n, tfr_cu_device dev);
typedef tfr_cu_result tfr_cuDeviceGetAttribute_fn(int *value, unsigned attr, tfr_cu_device dev);
typedef tfr_cu_result tfr_cuDeviceGetUuid_v2_fn(tfr_cu_uuid *uuid, tfr_cu_device dev);
typedef tfr_cu_result tfr_cuDeviceGetPCIBusId_fn(char *id, int n, tfr_cu_device dev);
typedef tfr_cu_result tfr_cuDeviceGetP2PAttribute_fn(int *value, unsigned attr, tfr_cu_device src,
                                                     tfr_cu_device dst);
typedef tfr_cu_result tfr_cuDeviceTotalMem_v2_fn(size_t *bytes, tfr_cu_device dev);
typedef tfr_cu_result tfr_cuDeviceCanAccessPeer_fn(int *can, tfr_cu_device dev, tfr_cu_device peer);

typedef tfr_cu_result tfr_cuDevicePrimaryCtxRetain_fn(tfr_cu_context **ctx, tfr_cu_device dev);
typedef tfr_cu_result tfr_cuDevicePrimaryCtxRelease_v2_fn(tfr_cu_device dev);
typedef tfr_cu_result tfr_cuDevicePrimaryCtxGetState_fn(tfr_cu_device dev, unsigned *flags,
                                                        int *active);
typedef tfr_cu_result tfr_cuCtxPushCurrent_v2_fn(tfr_cu_context *ctx);
typedef tfr_cu_result tfr_cuCtxPopCurrent_v2_fn(tfr_cu_context **ctx);
typedef tfr_cu_result tfr_cuCtxGetCurrent_fn(tfr_cu_context **ctx);
typedef tfr_cu_result tfr_cuCtxEnablePeerAccess_fn(tfr_cu_context *peer, unsigned flags);
typedef tfr_cu_result tfr_cuCtxSynchronize_fn(void);
typedef tfr_cu_result tfr_cuCtxGetStreamPriorityRange_fn(int *least, int *greatest);

typedef tfr_cu_result tfr_cuMemGetInfo_v2_fn(size_t *free_bytes, size_t *total_bytes);
typedef tfr_cu_result tfr_cuMemAlloc_v2_fn(tfr_cu_ptr *ptr, size_t bytes);
typedef tfr_cu_result tfr_cuMemFree_v2_fn(tfr_cu_ptr ptr);
typedef tfr_cu_result tfr_cuMemHostAlloc_fn(void **ptr, size_t bytes, unsigned flags);
typedef tfr_cu_result tfr_cuMemFreeHost_fn(void *ptr);
typedef tfr_cu_result tfr_cuMemHostRegister_v2_fn(void *ptr, size_t bytes, unsigned flags);
typedef tfr_cu_result tfr_cuMemHostUnregister_fn(void *ptr);
typedef tfr_cu_result tfr_cuPointerGetAttributes_fn(unsigned n, unsigned *attrs, void **values,
                                                    tfr_cu_ptr ptr);

typedef tfr_cu_result tfr_cuMemcpyHtoDAsync_v2_fn(tfr_cu_ptr dst, const void *src, size_t bytes,
                                                  tfr_cu_stream *stream);
typedef tfr_cu_result tfr_cuMemcpyDtoHAsync_v2_fn(void *dst, tfr_cu_ptr src, size_t bytes,
                                                  tfr_cu_stream *stream);
typedef tfr_cu_result tfr_cuMemcpyDtoDAsync_v2_fn(tfr_cu_ptr dst, tfr_cu_ptr src, size_t bytes,
                                                  tfr_cu_stream *stream);
typedef tfr_cu_result tfr_cuMemcpyPeerAsync_fn(tfr_cu_ptr dst, tfr_cu_context *dst_ctx,
                                               tfr_cu_ptr src, tfr_cu_context *src_ctx,
                                               size_t bytes, tfr_cu_stream *stream);
typedef tfr_cu_result tfr_cuMemcpy2DAsync_v2_fn(const tfr_cu_copy_2d *copy, tfr_cu_stream *stream);
typedef tfr_cu_result tfr_cuMemsetD8Async_fn(tfr_cu_ptr dst, unsigned char value, size_t n,
                                             tfr_cu_stream *stream);
typedef tfr_cu_result tfr_cuMemsetD32Async_fn(tfr_cu_ptr dst, unsigned value, size_t n,
                                              tfr_cu_stream *stream);

typedef tfr_cu_result tfr_cuMemPoolCreate_fn(tfr_cu_pool **pool, const tfr_cu_pool_props *props);
typedef tfr_cu_result tfr_cuMemPoolDestroy_fn(tfr_cu_pool *pool);
typedef tfr_cu_result tfr_cuMemPoolSetAttribute_fn(tfr_cu_pool *pool, unsigned attr, void *value);
typedef tfr_cu_result tfr_cuMemPoolGetAttribute_fn(tfr_cu_pool *pool, unsigned attr, void *value);
typedef tfr_cu_result tfr_cuMemPoolTrimTo_fn(tfr_cu_pool *pool, size_t keep_bytes);
typedef tfr_cu_result tfr_cuMemPoolSetAccess_fn(tfr_cu_pool *pool, const tfr_cu_access *access,
                                                size_t n);
typedef tfr_cu_result tfr_cuMemAllocFromPoolAsync_fn(tfr_cu_ptr *ptr, size_t bytes,
                                                     tfr_cu_pool *pool, tfr_cu_stream *stream);
typedef tfr_cu_result tfr_cuMemFreeAsync_fn(tfr_cu_ptr ptr, tfr_cu_stream *stream);

typedef tfr_cu_result tfr_cuStreamCreateWithPriority_fn(tfr_cu_stream **stream, unsigned flags,
                                                        int priority);
typedef tfr_cu_result tfr_cuStreamDestroy_v2_fn(tfr_cu_stream *stream);
typedef tfr_cu_result tfr_cuStreamSynchronize_fn(tfr_cu_stream *stream);
typedef tfr_cu_result tfr_cuStreamQuery_fn(tfr_cu_stream *stream);
typedef tfr_cu_result tfr_cuStreamWaitEvent_fn(tfr_cu_stream *stream, tfr_cu_event *event,
                                               unsigned flags);
typedef tfr_cu_result tfr_cuStreamGetCtx_fn(tfr_cu_stream *stream, tfr_cu_context **ctx);
typedef tfr_cu_result tfr_cuStreamBeginCapture_v2_fn(tfr_cu_stream *stream, unsigned mode);
typedef tfr_cu_result tfr_cuStreamEndCapture_fn(tfr_cu_stream *stream, tfr_cu_graph **graph);
typedef tfr_cu_result tfr_cuStreamIsCapturing_fn(tfr_cu_stream *stream, unsigned *status);
/* The nodes that the next one will be behind; the array is the driver's, until its next call. */
typedef tfr_cu_result tfr_cuStreamGetCaptureInfo_v3_fn(tfr_cu_stream *stream, unsigned *status,
                                                       uint64_t *id, tfr_cu_graph **graph,
                                                       tfr_cu_graph_node *const **nodes,
                                                       const tfr_cu_edge **edges, size_t *n);
typedef tfr_cu_result tfr_cuStreamUpdateCaptureDependencies_v2_fn(tfr_cu_stream *stream,
                                                                  tfr_cu_graph_node **nodes,
                                                                  const tfr_cu_edge *edges,
                                                                  size_t n, unsigned flags);
typedef tfr_cu_result tfr_cuThreadExchangeStreamCaptureMode_fn(unsigned *mode);

typedef tfr_cu_result tfr_cuEventCreate_fn(tfr_cu_event **event, unsigned flags);
typedef tfr_cu_result tfr_cuEventDestroy_v2_fn(tfr_cu_event *event);
typedef tfr_cu_result tfr_cuEventRecord_fn(tfr_cu_event *event, tfr_cu_stream *stream);
typedef tfr_cu_result tfr_cuEventQuery_fn(tfr_cu_event *event);
typedef tfr_cu_result tfr_cuEventSynchronize_fn(tfr_cu_event *event);
typedef tfr_cu_result tfr_cuEventElapsedTime_fn(float *ms, tfr_cu_event *start, tfr_cu_event *end);

/* The options of cuLibraryLoadData are enumerations of which none is used. */
typedef tfr_cu_result tfr_cuLibraryLoadData_fn(tfr_cu_library **library, const void *code,
                                               unsigned *jit_options, void **jit_values,
                                               unsigned n_jit, unsigned *library_options,
                                               void **library_values, unsigned n_library);
typedef tfr_cu_result tfr_cuLibraryUnload_fn(tfr_cu_library *library);
typedef tfr_cu_result tfr_cuLibraryGetKernel_fn(tfr_cu_kernel **kernel, tfr_cu_library *library,
                                                const char *name);
typedef tfr_cu_result tfr_cuKernelGetFunction_fn(tfr_cu_function **fn, tfr_cu_kernel *kernel);
typedef tfr_cu_result tfr_cuFuncGetAttribute_fn(int *value, unsigned attr, tfr_cu_function *fn);
typedef tfr_cu_result tfr_cuFuncSetAttribute_fn(tfr_cu_function *fn, unsigned attr, int value);
typedef tfr_cu_result tfr_cuFuncLoad_fn(tfr_cu_function *fn);
typedef tfr_cu_result tfr_cuOccupancyMaxActiveBlocksPerMultiprocessor_fn(int *n_blocks,
                                                                         tfr_cu_function *fn,
                                                                         int block_threads,
                                                                         size_t shared_bytes);
/* args has the address of each argument; the driver copies the arguments before it returns. */
typedef tfr_cu_result tfr_cuLaunchKernel_fn(tfr_cu_function *fn, unsigned grid_x, unsigned grid_y,
                                            unsigned grid_z, unsigned block_x, unsigned block_y,
                                            unsigned block_z, unsigned shared_bytes,
                                            tfr_cu_stream *stream, void **args, void **extra);
typedef tfr_cu_result tfr_cuLaunchKernelEx_fn(const tfr_cu_launch_config *config,
                                              tfr_cu_function *fn, void **args, void **extra);
typedef tfr_cu_result tfr_cuLaunchCooperativeKernel_fn(tfr_cu_function *fn, unsigned grid_x,
                                                       unsigned grid_y, unsigned grid_z,
                                                       unsigned block_x, unsigned block_y,
                                                       unsigned block_z, unsigned shared_bytes,
                                                       tfr_cu_stream *stream, void **args);

typedef tfr_cu_result tfr_cuGraphCreate_fn(tfr_cu_graph **graph, unsigned flags);
typedef tfr_cu_result tfr_cuGraphAddChildGraphNode_fn(tfr_cu_graph_node **node, tfr_cu_graph *graph,
                                                      tfr_cu_graph_node *const *dependencies,
                                                      size_t n, tfr_cu_graph *child);
typedef tfr_cu_result tfr_cuGraphInstantiateWithFlags_fn(tfr_cu_graph_exec **exec,
                                                         tfr_cu_graph *graph,
                                                         unsigned long long flags);
typedef tfr_cu_result tfr_cuGraphExecUpdate_v2_fn(tfr_cu_graph_exec *exec, tfr_cu_graph *graph,
                                                  tfr_cu_update_info *info);
typedef tfr_cu_result tfr_cuGraphUpload_fn(tfr_cu_graph_exec *exec, tfr_cu_stream *stream);
typedef tfr_cu_result tfr_cuGraphLaunch_fn(tfr_cu_graph_exec *exec, tfr_cu_stream *stream);
typedef tfr_cu_result tfr_cuGraphExecDestroy_fn(tfr_cu_graph_exec *exec);
typedef tfr_cu_result tfr_cuGraphDestroy_fn(tfr_cu_graph *graph);
typedef tfr_cu_result tfr_cuGraphGetNodes_fn(tfr_cu_graph *graph, tfr_cu_graph_node **nodes,
                                             size_t *n);

#endif
