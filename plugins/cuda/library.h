/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h: CUDA's libraries, opened when they are needed: none is linked, and no header of
 * theirs is used. A listing of devices opens the driver alone; the libraries for products and
 * convolutions cost 55 ms and 150 MB, and many models do without them.
 *
 * Which functions are taken of a library is one list each (driver.def, cublaslt.def, ...), and a
 * function is called through its table: cuda_driver.cuInit(0).
 */
#ifndef CUDA_LIBRARY_H
#define CUDA_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>
#include <tfrun/plugin.h>

#include "cuda_abi.h"

/* Versions as the driver counts them: 12040 is CUDA 12.4. */
#define CUDA_OLDEST     12000
#define CUDA_OLDEST_FOR "525" /* the driver that came with it */

/* All is NULL before cuda_driver_open; what an old driver lacks stays so. */
typedef struct cuda_driver_table {
#define X(name, required, since, who) tfr_##name##_fn *name;
#include "driver.def"
#undef X
    int version; /* 0 = not open */
} cuda_driver_table;
extern cuda_driver_table cuda_driver;

/*
 * [any]. Opens the driver and starts it, if that has not been done. TFR_ENOTFOUND: there is no
 * driver, or it has no GPU; TFR_EDEVICE: it is too old or does not work. err has the next step.
 */
int32_t cuda_driver_open(tfr_err *err);

/* ---- libraries beside the driver ---- */

/* X(ID, title) */
#define CUDA_LIBRARY_LIST(X)                                                                       \
    X(CUBLASLT, "cuBLASLt")                                                                        \
    X(CUDNN, "cuDNN")                                                                              \
    X(CUSOLVER, "cuSOLVER")                                                                        \
    X(NCCL, "NCCL")                                                                                \
    X(NVTX, "NVTX")

typedef enum cuda_library_id {
#define X(id, title) CUDA_##id,
    CUDA_LIBRARY_LIST(X)
#undef X
        CUDA_N_LIBRARIES
} cuda_library_id;

/*
 * [any]. Opens a library if nobody has done so; it is never closed. The driver is open. What cannot
 * be opened is looked for once, and told each time: TFR_ENOTFOUND with the names that were tried,
 * who needs it and what brings it.
 */
int32_t cuda_library_open(cuda_library_id id, tfr_err *err);
/* The function of this name in an open library, or NULL. */
void *cuda_library_symbol(cuda_library_id id, const char *name);
/* "libcublasLt.so.13" once it is open, else NULL. */
const char *cuda_library_file(cuda_library_id id);
/* Opens all that can be opened, and writes what was found as lines of build_info. */
void cuda_library_report(char *text, size_t n);

#endif
