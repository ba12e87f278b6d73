# SPDX-License-Identifier: Apache-2.0
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
	plugins/cpu-onednn/batch_norm.c \
	plugins/cpu-onednn/binary.c \
	plugins/cpu-onednn/cast.c \
	plugins/cpu-onednn/concat.c \
	plugins/cpu-onednn/conv.c \
	plugins/cpu-onednn/conv.h \
	plugins/cpu-onednn/conv_grad.c \
	plugins/cpu-onednn/conv_integer.c \
	plugins/cpu-onednn/device.c \
	plugins/cpu-onednn/error.c \
	plugins/cpu-onednn/families.h \
	plugins/cpu-onednn/kernel.c \
	plugins/cpu-onednn/kernel.h \
	plugins/cpu-onednn/layer_norm.c \
	plugins/cpu-onednn/library.c \
	plugins/cpu-onednn/library.def \
	plugins/cpu-onednn/library.h \
	plugins/cpu-onednn/matmul.c \
	plugins/cpu-onednn/matmul.h \
	plugins/cpu-onednn/matmul_integer.c \
	plugins/cpu-onednn/norm.c \
	plugins/cpu-onednn/onednn.c \
	plugins/cpu-onednn/onednn.h \
	plugins/cpu-onednn/ops.c \
	plugins/cpu-onednn/pool.c \
	plugins/cpu-onednn/pool_lowest.c \
	plugins/cpu-onednn/pool_lowest.h \
	plugins/cpu-onednn/quantize.c \
	plugins/cpu-onednn/quantized.c \
	plugins/cpu-onednn/quantized.h \
	plugins/cpu-onednn/records.c \
	plugins/cpu-onednn/records.h \
	plugins/cpu-onednn/recurrent.c \
	plugins/cpu-onednn/reduce.c \
	plugins/cpu-onednn/resize.c \
	plugins/cpu-onednn/softmax.c \
	plugins/cpu-onednn/transpose.c \
	plugins/cpu-onednn/unary.c \
	$(NULL)
endif
