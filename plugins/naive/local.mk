# SPDX-License-Identifier: Apache-2.0
# tfrun-naive.so, the specification in code. The module has no folder in its name, so that all
# modules of the tree land in one .libs/ and one TFRUN_PLUGIN_PATH runs them uninstalled.
# The sources are found by scripts/list-sources.
include plugins/naive/sources.mk
plugin_LTLIBRARIES += tfrun-naive.la
# configure.ac says why.
naive_product_objects = \
	plugins/naive/tfrun_naive_la-conv.lo \
	plugins/naive/tfrun_naive_la-conv_grad.lo \
	plugins/naive/tfrun_naive_la-conv_transpose.lo \
	plugins/naive/tfrun_naive_la-einsum.lo \
	plugins/naive/tfrun_naive_la-gemm.lo \
	plugins/naive/tfrun_naive_la-index.lo \
	plugins/naive/tfrun_naive_la-matmul.lo \
	plugins/naive/tfrun_naive_la-window.lo \
	$(NULL)
$(naive_product_objects): AM_CFLAGS += $(TFR_PRODUCT_SANITIZE)
tfrun_naive_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES) $(NAIVE_PCRE2_CPPFLAGS)
tfrun_naive_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_MODULE_FLAGS)
tfrun_naive_la_SOURCES = $(naive_sources) plugins/naive/tables.def
