# SPDX-License-Identifier: Apache-2.0
# The kernels of the CUDA backend and how they are launched. kernels.cu is one unit: nvcc makes one
# fat binary of it, and the C++ compiler, where there is one, tests/cuda/cpu_kernels.so.
tfr_cuda_families = \
	plugins/cuda/families.def \
	plugins/cuda/plan_elementwise.c \
	plugins/cuda/plan_kit.c \
	plugins/cuda/plan_kit.h \
	plugins/cuda/plan_move.c \
	plugins/cuda/plan_product.c \
	plugins/cuda/plan_random.c \
	plugins/cuda/plan_reduce.c \
	$(NULL)
tfr_cuda_kernels = \
	plugins/cuda/kernels/args.h \
	plugins/cuda/kernels/batch_norm.cu \
	plugins/cuda/kernels/binary.cu \
	plugins/cuda/kernels/block.h \
	plugins/cuda/kernels/cast.cu \
	plugins/cuda/kernels/conv.cu \
	plugins/cuda/kernels/cpu_cuda.h \
	plugins/cuda/kernels/functions.h \
	plugins/cuda/kernels/gather.cu \
	plugins/cuda/kernels/hw.h \
	plugins/cuda/kernels/index.h \
	plugins/cuda/kernels/kernels.cu \
	plugins/cuda/kernels/layer_norm.cu \
	plugins/cuda/kernels/loss.cu \
	plugins/cuda/kernels/matmul.cu \
	plugins/cuda/kernels/philox.h \
	plugins/cuda/kernels/pool.cu \
	plugins/cuda/kernels/preview_training.cu \
	plugins/cuda/kernels/random.cu \
	plugins/cuda/kernels/reduce.cu \
	plugins/cuda/kernels/softmax.cu \
	plugins/cuda/kernels/tensors.h \
	plugins/cuda/kernels/tile.h \
	plugins/cuda/kernels/transpose.cu \
	plugins/cuda/kernels/unary.cu \
	plugins/cuda/kernels/where.cu \
	$(NULL)
EXTRA_DIST += $(tfr_cuda_kernels)
