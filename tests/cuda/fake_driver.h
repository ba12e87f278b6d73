/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver stand-in of the tests, tests/cuda/libcuda.so.1: what the host half of the CUDA backend
 * calls, with the driver's semantics and without a GPU. A stream is a thread with a queue. Memory
 * of a device is an address that faults when the host follows it; the bytes lie elsewhere, where
 * only copies and kernels of the stand-in find them. Kernels run as their CPU build
 * (plugins/cuda/kernels/cpu_table.h). What CUDA refuses, also while a stream is captured, is
 * refused with CUDA's code. Where CUDA leaves open what happens, the stand-in refuses.
 *
 * The environment variable TFRUN_FAKE_CUDA has words, separated by blanks:
 *
 *     devices=N         1 to 4 of them (1); nodevice: cuInit gives 100
 *     peers=0           devices have no access to each other (1)
 *     capability=75     what the devices are like: 75, 80, 86, 90 or 100 (90)
 *     multiprocessors=N of each device (132, 108 or 40 by its capability)
 *     memory=BYTES      of each device (16 GiB); what does not fit gives 2
 *     version=12020     the driver's (13000); it lacks what is newer
 *     exclusive         another process has the devices: retaining gives 46
 *     prohibited        attribute 20 is 2, and retaining gives 46
 *     absent=NAME       the library has no such function; may be repeated, as fail
 *     fail=NAME:N:CODE  the N-th call of NAME gives CODE and does nothing; N = 0: every call
 *     sticky=CODE:N     the N-th kernel that runs fails with CODE, and its context is lost
 *     lazy              streams do nothing until somebody waits for or asks about them, so that
 *                       what was not waited for is seen not to have happened
 *     worktime          events tell the time that kernels say they have spent, and not the clock's,
 *                       so that a test knows it: none, but for what libraries have been told
 *     log or log=FILE   a line for each call, in memory or in FILE, which in the end also gets
 *                       a line "leaked: ..."
 *
 * A test that has opened the library may use what follows, by dlsym.
 */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include <stddef.h>

#include "cuda_abi.h"
#include "kernels/cpu_table.h"

/* Reads switches anew, as if the variable had been so from the beginning; all that was counted is
 * forgotten. Contexts must have been released; devices keep their addresses. */
typedef void fake_configure_fn(const char *switches);
/* How often NAME has been called since. */
typedef unsigned fake_calls_fn(const char *name);
/* The switch fail=NAME:N:CODE, with calls counted from now on; N is 1 or more. */
typedef void fake_fail_fn(const char *name, unsigned nth, unsigned code);
/* Writes what the program holds and should not, at its end: "leaked: nothing", or "leaked: 2
 * streams, 1 allocation"; then, if that has happened, "; after a fatal error: 3 calls, first
 * cuMemAlloc_v2". Returns the number of objects and of such calls. */
typedef unsigned fake_leaks_fn(char *text, size_t n);
/* The log so far, one line for each call: "cuMemFree_v2 = 0", "cuLaunchKernel fake_add grid 4 1 1
 * block 128 1 1 = 0". Release it with free(). */
typedef char *fake_log_fn(void);

/* For the stand-ins of libraries, which run kernels of their own in a stream, as one block: the row
 * must live for ever. Returns what cuLaunchKernel returns. */
typedef tfr_cu_result fake_launch_fn(tfr_cu_stream *stream, const tfr_cpu_kernel *row, void **args);

/* Called by such a kernel while it runs: with the switch worktime it has taken so long. */
typedef void fake_spend_fn(double ms);

fake_configure_fn tfr_fake_cuda_configure;
fake_calls_fn tfr_fake_cuda_calls;
fake_fail_fn tfr_fake_cuda_fail;
fake_leaks_fn tfr_fake_cuda_leaks;
fake_log_fn tfr_fake_cuda_log;
fake_launch_fn tfr_fake_cuda_launch;
fake_spend_fn tfr_fake_cuda_spend;

/* Kernels that the stand-in has of itself:
 * fake_add(float *y, const float *x, int n): y[i] += x[i]; needs n threads at least
 * fake_scale(float *y, float a, int n): y[i] *= a
 * fake_wait(const int *pinned): runs until *pinned is not 0; for tests of order */

#endif
