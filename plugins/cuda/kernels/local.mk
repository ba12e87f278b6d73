# SPDX-License-Identifier: Apache-2.0
# The kernels of the CUDA backend and how they are launched. nvcc makes a fat binary of each unit;
# kernels.cu has all of them, and the C++ compiler, where there is one, makes
# tests/cuda/cpu_kernels.so of it.
tfr_cuda_families = \
	plugins/cuda/families.def \
	plugins/cuda/plan_attention.c \
	plugins/cuda/plan_conv.c \
	plugins/cuda/plan_direct.c \
	plugins/cuda/plan_elementwise.c \
	plugins/cuda/plan_integer.c \
	plugins/cuda/plan_gather.c \
	plugins/cuda/plan_kit.c \
	plugins/cuda/plan_kit.h \
	plugins/cuda/plan_last.c \
	plugins/cuda/plan_move.c \
	plugins/cuda/plan_norm.c \
	plugins/cuda/plan_pad.c \
	plugins/cuda/plan_pool.c \
	plugins/cuda/plan_product.c \
	plugins/cuda/plan_quantize.c \
	plugins/cuda/plan_random.c \
	plugins/cuda/plan_reduce.c \
	plugins/cuda/plan_resize.c \
	plugins/cuda/plan_scan.c \
	plugins/cuda/plan_scatter.c \
	plugins/cuda/plan_solve.c \
	plugins/cuda/plan_tile.c \
	plugins/cuda/plan_variadic.c \
	$(NULL)
tfr_cuda_units = \
	plugins/cuda/kernels/attention.cu \
	plugins/cuda/kernels/batch_norm.cu \
	plugins/cuda/kernels/binary.cu \
	plugins/cuda/kernels/cast.cu \
	plugins/cuda/kernels/conv.cu \
	plugins/cuda/kernels/conv_direct.cu \
	plugins/cuda/kernels/conv_direct_filter.cu \
	plugins/cuda/kernels/conv_integer.cu \
	plugins/cuda/kernels/conv_transpose.cu \
	plugins/cuda/kernels/cum_sum.cu \
	plugins/cuda/kernels/eye_like.cu \
	plugins/cuda/kernels/fuse.cu \
	plugins/cuda/kernels/gather.cu \
	plugins/cuda/kernels/group_norm.cu \
	plugins/cuda/kernels/layer_norm.cu \
	plugins/cuda/kernels/loss.cu \
	plugins/cuda/kernels/matmul.cu \
	plugins/cuda/kernels/matmul_integer.cu \
	plugins/cuda/kernels/norm.cu \
	plugins/cuda/kernels/one_hot.cu \
	plugins/cuda/kernels/pad.cu \
	plugins/cuda/kernels/pool.cu \
	plugins/cuda/kernels/preview_training.cu \
	plugins/cuda/kernels/quantize.cu \
	plugins/cuda/kernels/random.cu \
	plugins/cuda/kernels/range.cu \
	plugins/cuda/kernels/reduce.cu \
	plugins/cuda/kernels/resize.cu \
	plugins/cuda/kernels/reverse_sequence.cu \
	plugins/cuda/kernels/scatter.cu \
	plugins/cuda/kernels/softmax.cu \
	plugins/cuda/kernels/solve.cu \
	plugins/cuda/kernels/top_k.cu \
	plugins/cuda/kernels/transpose.cu \
	plugins/cuda/kernels/trilu.cu \
	plugins/cuda/kernels/unary.cu \
	plugins/cuda/kernels/variadic.cu \
	plugins/cuda/kernels/where.cu \
	$(NULL)
tfr_cuda_headers = \
	plugins/cuda/kernels/args.h \
	plugins/cuda/kernels/binary.h \
	plugins/cuda/kernels/block.h \
	plugins/cuda/kernels/conv.h \
	plugins/cuda/kernels/functions.h \
	plugins/cuda/kernels/fused.h \
	plugins/cuda/kernels/hw.h \
	plugins/cuda/kernels/index.h \
	plugins/cuda/kernels/philox.h \
	plugins/cuda/kernels/tensors.h \
	plugins/cuda/kernels/tile.h \
	plugins/cuda/kernels/tile_integer.h \
	plugins/cuda/kernels/unary.h \
	$(NULL)
tfr_cuda_kernels = \
	$(tfr_cuda_units) \
	$(tfr_cuda_headers) \
	plugins/cuda/kernels/cpu_cuda.h \
	plugins/cuda/kernels/kernels.cu \
	$(NULL)
EXTRA_DIST += $(tfr_cuda_kernels)

# ---- fat binaries ----
# What ptxas says of each kernel's registers stays beside its fat binary, for tests/cuda/budgets.sh.
tfr_cuda_fatbins = $(tfr_cuda_units:.cu=.fatbin)
CLEANFILES += $(tfr_cuda_fatbins) $(tfr_cuda_units:.cu=.ptxas) plugins/cuda/kernels/units.def
AM_V_NVCC = $(am__v_NVCC_@AM_V@)
am__v_NVCC_ = $(am__v_NVCC_@AM_DEFAULT_V@)
am__v_NVCC_0 = @echo "  NVCC    " $@;
am__v_NVCC_1 =
if TFR_CUDA_KERNELS
.cu.fatbin:
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(top_srcdir)/scripts/nvcc-cached $@ $*.ptxas $< -- $(NVCC) -std=c++17 -fatbin \
	    $(CUDA_ARCH_FLAGS) $(CUDA_WERROR) -Xptxas -v,--warn-on-spills -I$(top_srcdir)/sdk/include
	$(AM_V_at)grep -i warning $*.ptxas >&2 || :
$(tfr_cuda_fatbins): $(tfr_cuda_headers)

# The list for blob_kernels.c, with the kernels of each, if ptxas has compiled them.
plugins/cuda/kernels/units.def: Makefile $(tfr_cuda_fatbins)
	$(AM_V_at)$(MKDIR_P) $(@D)
	$(AM_V_GEN)for u in $(tfr_cuda_units:.cu=.ptxas); do \
	    names=`sed -n "s/.*entry function '\([a-z0-9_]*\)' for.*/\1/p" $$u | sort -u | tr '\n' ' '`; \
	    echo "X(`basename $$u .ptxas`, \"$${names:+ }$$names\")"; \
	done >$@
endif
