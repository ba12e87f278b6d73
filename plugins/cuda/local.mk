# SPDX-License-Identifier: Apache-2.0
# tfrun-cuda.so; without kernels it is built for tests alone. It is not beside the other plugins, so
# that tests of those do not meet it. tests/cuda has a second build of the host half.
tfr_cuda_host = \
	plugins/cuda/blob.h \
	plugins/cuda/capture.c \
	plugins/cuda/constants.c \
	plugins/cuda/conv_dnn.c \
	plugins/cuda/conv_plan.c \
	plugins/cuda/copy.c \
	plugins/cuda/cublaslt.def \
	plugins/cuda/cuda.c \
	plugins/cuda/cuda_abi.h \
	plugins/cuda/cudnn.def \
	plugins/cuda/cusolver.def \
	plugins/cuda/device.c \
	plugins/cuda/dnn.c \
	plugins/cuda/dnn.h \
	plugins/cuda/driver.def \
	plugins/cuda/engine.c \
	plugins/cuda/engine.h \
	plugins/cuda/error.c \
	plugins/cuda/fence.c \
	plugins/cuda/fence.h \
	plugins/cuda/finding.c \
	plugins/cuda/finding.h \
	plugins/cuda/gemm_algo.c \
	plugins/cuda/gemm_lt.c \
	plugins/cuda/gemm_lt.h \
	plugins/cuda/host.h \
	plugins/cuda/kernel.c \
	plugins/cuda/kernel.h \
	plugins/cuda/launch.c \
	plugins/cuda/layout.c \
	plugins/cuda/library.c \
	plugins/cuda/library.h \
	plugins/cuda/memory.c \
	plugins/cuda/module.c \
	plugins/cuda/nccl.def \
	plugins/cuda/open.c \
	plugins/cuda/order.c \
	plugins/cuda/order.h \
	plugins/cuda/plan.c \
	plugins/cuda/plan.h \
	plugins/cuda/pool.c \
	plugins/cuda/profile.c \
	plugins/cuda/profile.h \
	plugins/cuda/program.c \
	plugins/cuda/program.h \
	plugins/cuda/program_code.c \
	plugins/cuda/program_compile.c \
	plugins/cuda/program_fuse.c \
	plugins/cuda/program_image.c \
	plugins/cuda/program_last.c \
	plugins/cuda/program_product.c \
	plugins/cuda/program_slots.c \
	plugins/cuda/queue.c \
	plugins/cuda/solve_dn.c \
	plugins/cuda/tune.c \
	plugins/cuda/tune.h \
	$(NULL)
plugins_cuda_tfrun_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES) \
	-I$(top_builddir)/plugins/cuda -DCUDA_BUILT='"$(CUDA_VERSION)"' \
	-DCUDA_UNITS='"kernels/units.def"'
plugins_cuda_tfrun_cuda_la_SOURCES = $(tfr_cuda_host) $(tfr_cuda_families)
if TFR_CUDA_KERNELS
plugin_LTLIBRARIES += plugins/cuda/tfrun-cuda.la
plugins_cuda_tfrun_cuda_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_MODULE_FLAGS)
plugins_cuda_tfrun_cuda_la_SOURCES += plugins/cuda/blob_kernels.c
# By a variable: automake takes a name for a rule in place of its own.
tfr_cuda_blobs = plugins/cuda/tfrun_cuda_la-blob_kernels.lo
$(tfr_cuda_blobs): $(tfr_cuda_fatbins) plugins/cuda/kernels/units.def
else
if TFR_CUDA
check_LTLIBRARIES += plugins/cuda/tfrun-cuda.la
endif
plugins_cuda_tfrun_cuda_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_MODULE_FLAGS) -rpath /nowhere
plugins_cuda_tfrun_cuda_la_SOURCES += plugins/cuda/blob.c
endif
