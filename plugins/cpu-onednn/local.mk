# SPDX-License-Identifier: Apache-2.0
# tfrun-onednn.so
if TFR_ONEDNN
plugin_LTLIBRARIES += tfrun-onednn.la
tfrun_onednn_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES) $(ONEDNN_CPPFLAGS)
tfrun_onednn_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_MODULE_FLAGS)
tfrun_onednn_la_LIBADD = $(ONEDNN_LIBS)
tfrun_onednn_la_SOURCES = \
	plugins/cpu-onednn/placeholder.c \
	$(NULL)
endif
