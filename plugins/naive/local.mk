# SPDX-License-Identifier: Apache-2.0
# tfrun-naive.so, the specification in code. The module has no folder in its name, so that all
# modules of the tree land in one .libs/ and one TFRUN_PLUGIN_PATH runs them uninstalled.
# The sources are found by scripts/list-sources.
include plugins/naive/sources.mk
plugin_LTLIBRARIES += tfrun-naive.la
tfrun_naive_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES) $(NAIVE_PCRE2_CPPFLAGS)
tfrun_naive_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_MODULE_FLAGS)
tfrun_naive_la_SOURCES = $(naive_sources) plugins/naive/tables.def
