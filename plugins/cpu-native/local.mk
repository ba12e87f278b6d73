# SPDX-License-Identifier: Apache-2.0
# tfrun-native.so
# Unit tests compile the matrix product, too.
tfr_native_gemm = \
	plugins/cpu-native/gemm.c \
	plugins/cpu-native/gemm.h \
	plugins/cpu-native/gemm_amx.c \
	plugins/cpu-native/gemm_avx2.c \
	plugins/cpu-native/gemm_avx512.c \
	plugins/cpu-native/gemm_epilogue.h \
	plugins/cpu-native/gemm_isa.h \
	plugins/cpu-native/gemm_layout.h \
	plugins/cpu-native/gemm_plan.c \
	plugins/cpu-native/gemm_portable.c \
	plugins/cpu-native/gemm_split.c \
	plugins/cpu-native/gemm_split.h \
	plugins/cpu-native/gemm_strict.h \
	plugins/cpu-native/gemm_tile.h \
	plugins/cpu-native/level.c \
	plugins/cpu-native/level.h \
	plugins/cpu-native/vec.h \
	plugins/cpu-native/vec_avx2.h \
	plugins/cpu-native/vec_avx512.h \
	plugins/cpu-native/vec_end.h \
	plugins/cpu-native/vec_portable.h \
	$(NULL)
plugin_LTLIBRARIES += tfrun-native.la
tfrun_native_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES)
tfrun_native_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_MODULE_FLAGS)
tfrun_native_la_SOURCES = \
	$(tfr_native_gemm) \
	plugins/cpu-native/cast.c \
	plugins/cpu-native/cast.h \
	plugins/cpu-native/constants.c \
	plugins/cpu-native/constants.h \
	plugins/cpu-native/device.c \
	plugins/cpu-native/device.h \
	plugins/cpu-native/gather.c \
	plugins/cpu-native/gather.h \
	plugins/cpu-native/isa.c \
	plugins/cpu-native/isa.h \
	plugins/cpu-native/isa_avx2.c \
	plugins/cpu-native/isa_avx512.c \
	plugins/cpu-native/isa_depthwise.h \
	plugins/cpu-native/isa_kernels.h \
	plugins/cpu-native/isa_pooled.h \
	plugins/cpu-native/isa_portable.c \
	plugins/cpu-native/isa_rows_grad.h \
	plugins/cpu-native/isa_train.h \
	plugins/cpu-native/isa_transpose.h \
	plugins/cpu-native/isa_winograd.h \
	plugins/cpu-native/kernel.c \
	plugins/cpu-native/kernel.h \
	plugins/cpu-native/matmul.c \
	plugins/cpu-native/matmul.h \
	plugins/cpu-native/native.c \
	plugins/cpu-native/ops.c \
	plugins/cpu-native/pooled.h \
	plugins/cpu-native/profile.c \
	plugins/cpu-native/profile.h \
	plugins/cpu-native/program.c \
	plugins/cpu-native/program.h \
	plugins/cpu-native/program_attention.c \
	plugins/cpu-native/program_chain.c \
	plugins/cpu-native/program_conv.c \
	plugins/cpu-native/program_conv_weights.c \
	plugins/cpu-native/program_flat.c \
	plugins/cpu-native/program_forms.c \
	plugins/cpu-native/program_fuse.c \
	plugins/cpu-native/program_gradient.c \
	plugins/cpu-native/program_kernel.c \
	plugins/cpu-native/program_kit.c \
	plugins/cpu-native/program_layout.c \
	plugins/cpu-native/program_measure.c \
	plugins/cpu-native/program_move.c \
	plugins/cpu-native/program_pack.c \
	plugins/cpu-native/program_plan.c \
	plugins/cpu-native/program_pooled.c \
	plugins/cpu-native/program_product.c \
	plugins/cpu-native/program_read.c \
	plugins/cpu-native/program_reduce.c \
	plugins/cpu-native/program_rows.c \
	plugins/cpu-native/program_rows_grad.c \
	plugins/cpu-native/program_run.c \
	plugins/cpu-native/program_sparse.c \
	plugins/cpu-native/program_stages.c \
	plugins/cpu-native/program_stages_plan.c \
	plugins/cpu-native/program_stages_run.c \
	plugins/cpu-native/program_tiles.h \
	plugins/cpu-native/program_strided.c \
	plugins/cpu-native/program_strided_run.c \
	plugins/cpu-native/program_train.c \
	plugins/cpu-native/program_wide.c \
	plugins/cpu-native/program_window.c \
	plugins/cpu-native/program_winograd.c \
	plugins/cpu-native/program_winograd.h \
	plugins/cpu-native/program_winograd_weights.c \
	$(NULL)
