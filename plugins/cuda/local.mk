# SPDX-License-Identifier: Apache-2.0
# tfrun-cuda.so, for tests alone as long as it has no kernels. It is not beside the other plugins, so
# that tests of those do not meet it. tests/cuda has a second build of the host half.
tfr_cuda_host = \
	plugins/cuda/blob.h \
	plugins/cuda/capture.c \
	plugins/cuda/copy.c \
	plugins/cuda/cublaslt.def \
	plugins/cuda/cuda.c \
	plugins/cuda/cuda_abi.h \
	plugins/cuda/cudnn.def \
	plugins/cuda/device.c \
	plugins/cuda/driver.def \
	plugins/cuda/error.c \
	plugins/cuda/fence.c \
	plugins/cuda/fence.h \
	plugins/cuda/host.h \
	plugins/cuda/kernel.c \
	plugins/cuda/kernel.h \
	plugins/cuda/launch.c \
	plugins/cuda/library.c \
	plugins/cuda/library.h \
	plugins/cuda/memory.c \
	plugins/cuda/module.c \
	plugins/cuda/nccl.def \
	plugins/cuda/open.c \
	plugins/cuda/plan.c \
	plugins/cuda/plan.h \
	plugins/cuda/pool.c \
	plugins/cuda/queue.c \
	$(NULL)
if TFR_CUDA
check_LTLIBRARIES += plugins/cuda/tfrun-cuda.la
plugins_cuda_tfrun_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES) \
	-DCUDA_BUILT='"$(CUDA_VERSION)"'
plugins_cuda_tfrun_cuda_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_MODULE_FLAGS) -rpath /nowhere
plugins_cuda_tfrun_cuda_la_SOURCES = \
	$(tfr_cuda_host) \
	$(tfr_cuda_families) \
	plugins/cuda/blob.c \
	$(NULL)
endif
