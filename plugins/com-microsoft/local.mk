# SPDX-License-Identifier: Apache-2.0
# tfrun-com-microsoft.so: the ops that ONNX Runtime's optimizers and quantizers write. Builds
# everywhere, for it needs no library.
plugin_LTLIBRARIES += tfrun-com-microsoft.la
tfrun_com_microsoft_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES)
tfrun_com_microsoft_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_MODULE_FLAGS)
tfrun_com_microsoft_la_LIBADD = -lm
tfrun_com_microsoft_la_SOURCES = \
	plugins/com-microsoft/activations.c \
	plugins/com-microsoft/attention.c \
	plugins/com-microsoft/contrib.c \
	plugins/com-microsoft/contrib.h \
	plugins/com-microsoft/dynamic.c \
	plugins/com-microsoft/element.c \
	plugins/com-microsoft/facts.c \
	plugins/com-microsoft/gather_block_quantized.c \
	plugins/com-microsoft/group_attention.c \
	plugins/com-microsoft/matmul_nbits.c \
	plugins/com-microsoft/moves.c \
	plugins/com-microsoft/norms.c \
	plugins/com-microsoft/products.c \
	plugins/com-microsoft/quantized.c \
	plugins/com-microsoft/text.c \
	plugins/com-microsoft/text.h \
	$(NULL)
