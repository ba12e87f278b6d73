# SPDX-License-Identifier: Apache-2.0
# tfrun-native.so
# A unit test compiles the matrix product, too.
tfr_native_gemm = \
	plugins/cpu-onednn/gemm.c \
	plugins/cpu-onednn/gemm.h \
	plugins/cpu-onednn/gemm_amx.c \
	plugins/cpu-onednn/gemm_avx2.c \
	plugins/cpu-onednn/gemm_avx512.c \
	plugins/cpu-onednn/gemm_epilogue.h \
	plugins/cpu-onednn/gemm_isa.h \
	plugins/cpu-onednn/gemm_layout.h \
	plugins/cpu-onednn/gemm_plan.c \
	plugins/cpu-onednn/gemm_portable.c \
	plugins/cpu-onednn/gemm_split.c \
	plugins/cpu-onednn/gemm_split.h \
	plugins/cpu-onednn/gemm_strict.h \
	plugins/cpu-onednn/gemm_tile.h \
	$(NULL)
plugin_LTLIBRARIES += tfrun-native.la
tfrun_native_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES)
tfrun_native_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_MODULE_FLAGS)
tfrun_native_la_SOURCES = \
	$(tfr_native_gemm) \
	plugins/cpu-onednn/cast.c \
	plugins/cpu-onednn/cast.h \
	plugins/cpu-onednn/constants.c \
	plugins/cpu-onednn/constants.h \
	plugins/cpu-onednn/gather.c \
	plugins/cpu-onednn/gather.h \
	plugins/cpu-onednn/isa.c \
	plugins/cpu-onednn/isa.h \
	plugins/cpu-onednn/isa_avx2.c \
	plugins/cpu-onednn/isa_avx512.c \
	plugins/cpu-onednn/isa_depthwise.h \
	plugins/cpu-onednn/isa_kernels.h \
	plugins/cpu-onednn/isa_winograd.h \
	plugins/cpu-onednn/native.c \
	plugins/cpu-onednn/native_device.c \
	plugins/cpu-onednn/native_device.h \
	plugins/cpu-onednn/native_kernel.c \
	plugins/cpu-onednn/native_kernel.h \
	plugins/cpu-onednn/native_ops.c \
	plugins/cpu-onednn/product.c \
	plugins/cpu-onednn/product.h \
	plugins/cpu-onednn/profile.c \
	plugins/cpu-onednn/profile.h \
	plugins/cpu-onednn/program.c \
	plugins/cpu-onednn/program.h \
	plugins/cpu-onednn/program_attention.c \
	plugins/cpu-onednn/program_conv.c \
	plugins/cpu-onednn/program_flat.c \
	plugins/cpu-onednn/program_forms.c \
	plugins/cpu-onednn/program_fuse.c \
	plugins/cpu-onednn/program_kernel.c \
	plugins/cpu-onednn/program_kit.c \
	plugins/cpu-onednn/program_layout.c \
	plugins/cpu-onednn/program_measure.c \
	plugins/cpu-onednn/program_move.c \
	plugins/cpu-onednn/program_pack.c \
	plugins/cpu-onednn/program_plan.c \
	plugins/cpu-onednn/program_product.c \
	plugins/cpu-onednn/program_read.c \
	plugins/cpu-onednn/program_rows.c \
	plugins/cpu-onednn/program_run.c \
	plugins/cpu-onednn/program_window.c \
	plugins/cpu-onednn/program_winograd.c \
	$(NULL)

# tfrun-onednn.so
if TFR_ONEDNN
plugin_LTLIBRARIES += tfrun-onednn.la
tfrun_onednn_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES) $(ONEDNN_CPPFLAGS)
tfrun_onednn_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_MODULE_FLAGS)
tfrun_onednn_la_LIBADD = $(ONEDNN_LIBS)
tfrun_onednn_la_SOURCES = \
	plugins/cpu-onednn/answer.c \
	plugins/cpu-onednn/api.h \
	plugins/cpu-onednn/api_v2.c \
	plugins/cpu-onednn/api_v3.c \
	plugins/cpu-onednn/binary.c \
	plugins/cpu-onednn/concat.c \
	plugins/cpu-onednn/convolution.c \
	plugins/cpu-onednn/convolution.h \
	plugins/cpu-onednn/convolution_integer.c \
	plugins/cpu-onednn/device.c \
	plugins/cpu-onednn/eltwise.c \
	plugins/cpu-onednn/error.c \
	plugins/cpu-onednn/families.h \
	plugins/cpu-onednn/kernel.c \
	plugins/cpu-onednn/kernel.h \
	plugins/cpu-onednn/library.c \
	plugins/cpu-onednn/library.def \
	plugins/cpu-onednn/library.h \
	plugins/cpu-onednn/lrn.c \
	plugins/cpu-onednn/matmul.c \
	plugins/cpu-onednn/matmul.h \
	plugins/cpu-onednn/matmul_integer.c \
	plugins/cpu-onednn/normalization.c \
	plugins/cpu-onednn/onednn.c \
	plugins/cpu-onednn/onednn.h \
	plugins/cpu-onednn/ops.c \
	plugins/cpu-onednn/pooling.c \
	plugins/cpu-onednn/quantize.c \
	plugins/cpu-onednn/quantized.c \
	plugins/cpu-onednn/quantized.h \
	plugins/cpu-onednn/records.c \
	plugins/cpu-onednn/records.h \
	plugins/cpu-onednn/recurrent.c \
	plugins/cpu-onednn/reduction.c \
	plugins/cpu-onednn/reorder.c \
	plugins/cpu-onednn/resampling.c \
	plugins/cpu-onednn/softmax.c \
	$(NULL)
endif
