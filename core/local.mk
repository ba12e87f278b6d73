# SPDX-License-Identifier: Apache-2.0
# libtfrun. The objects live in a convenience library, so that unit tests reach internals, too.
noinst_LTLIBRARIES += libtfrun-core.la
libtfrun_core_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CORE_INCLUDES) \
	-DTFR_PLUGIN_DIR='"$(plugindir)"' \
	-DTFR_SYSCONFDIR='"$(sysconfdir)"' \
	-DTFR_PROBE_PATH='"$(tfrunexecdir)/tfrun-probe"'
libtfrun_core_la_SOURCES = \
	core/alloc.c \
	core/alloc.h \
	core/compare.c \
	core/convert.c \
	core/dtype.c \
	core/port/clock.h \
	core/port/cpus.c \
	core/port/cpus.h \
	core/port/park.c \
	core/port/park.h \
	core/port/pool.c \
	core/port/pool.h \
	core/runtime.h \
	core/sequence.c \
	core/shape.c \
	core/smallfloat.c \
	core/smallfloat.h \
	core/status.c \
	core/strided.c \
	core/tensor.c \
	core/tensor.h \
	$(NULL)

tfruninclude_HEADERS += \
	include/tfrun/device.h \
	include/tfrun/dtype.h \
	include/tfrun/graph.h \
	include/tfrun/op.h \
	include/tfrun/session.h \
	include/tfrun/shape.h \
	include/tfrun/status.h \
	include/tfrun/tensor.h \
	include/tfrun/tfrun.h \
	$(NULL)

lib_LTLIBRARIES += libtfrun.la
libtfrun_la_SOURCES =
libtfrun_la_LIBADD = libtfrun-core.la
libtfrun_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_NO_UNDEFINED) -version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/core/libtfrun.map
libtfrun_la_DEPENDENCIES = libtfrun-core.la core/libtfrun.map
EXTRA_DIST += core/libtfrun.map

# The child that meets a plugin first. It links the objects it needs, not libtfrun.so, so that it
# starts fast and always has the same version as the library that starts it.
tfrunexec_PROGRAMS += tfrun-probe
tfrun_probe_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CORE_INCLUDES)
tfrun_probe_SOURCES = core/placeholder_probe.c
tfrun_probe_LDADD = libtfrun-core.la
