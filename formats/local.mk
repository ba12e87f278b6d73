# SPDX-License-Identifier: Apache-2.0
# libtfrun-nn: file formats now, training later. It uses libtfrun like any other user does.
noinst_LTLIBRARIES += libtfrun-nn-core.la
libtfrun_nn_core_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES) -I$(top_srcdir)/formats
libtfrun_nn_core_la_SOURCES = \
	formats/placeholder.c \
	$(NULL)

lib_LTLIBRARIES += libtfrun-nn.la
libtfrun_nn_la_SOURCES =
libtfrun_nn_la_LIBADD = libtfrun-nn-core.la libtfrun.la
libtfrun_nn_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_NO_UNDEFINED) -version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/formats/libtfrun-nn.map
libtfrun_nn_la_DEPENDENCIES = libtfrun-nn-core.la libtfrun.la formats/libtfrun-nn.map
EXTRA_DIST += formats/libtfrun-nn.map

tfruninclude_HEADERS += \
	include/tfrun/npy.h \
	include/tfrun/onnx.h \
	$(NULL)
