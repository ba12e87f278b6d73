# SPDX-License-Identifier: Apache-2.0
# libtfrun-nn: file formats here, differentiation in nn/, which lies above. It uses libtfrun like any
# other user does.
noinst_LTLIBRARIES += libtfrun-formats.la
libtfrun_formats_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES) -I$(top_srcdir)/formats -I$(top_srcdir)
libtfrun_formats_la_LIBADD = libtfrun-base.la
libtfrun_formats_la_SOURCES = \
	formats/file.c \
	formats/file.h \
	formats/foreign.c \
	formats/foreign.h \
	formats/labels.c \
	formats/labels.h \
	formats/npy.c \
	formats/npy_save.c \
	formats/npy_types.h \
	formats/onnx.c \
	formats/onnx_attr.c \
	formats/onnx_call.c \
	formats/onnx_call.h \
	formats/onnx_external.c \
	formats/onnx_external.h \
	formats/onnx_facts.c \
	formats/onnx_fields.c \
	formats/onnx_fields.h \
	formats/onnx_function.c \
	formats/onnx_gradient.c \
	formats/onnx_gradient.h \
	formats/onnx_import.c \
	formats/onnx_import.h \
	formats/onnx_model.c \
	formats/onnx_model.h \
	formats/onnx_node.c \
	formats/onnx_order.c \
	formats/onnx_scope.c \
	formats/onnx_tensor.c \
	formats/onnx_tensor.h \
	formats/onnx_tensor_file.c \
	formats/onnx_type.c \
	formats/onnx_type.h \
	formats/onnx_upgrade.c \
	formats/onnx_upgrade.h \
	formats/onnx_upgrade_attrs.c \
	formats/onnx_upgrade_broadcast.c \
	formats/onnx_upgrade_inputs.c \
	formats/onnx_upgrade_norm.c \
	formats/onnx_upgrade_resize.c \
	formats/onnx_upgrade_scan.c \
	formats/onnx_values.c \
	formats/prefix.c \
	formats/prefix.h \
	formats/scratch.c \
	formats/scratch.h \
	formats/wire.c \
	formats/wire.h \
	$(NULL)

lib_LTLIBRARIES += libtfrun-nn.la
libtfrun_nn_la_SOURCES =
libtfrun_nn_la_LIBADD = libtfrun-nn-core.la libtfrun-formats.la libtfrun.la
libtfrun_nn_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_NO_UNDEFINED) -version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/formats/libtfrun-nn.map
libtfrun_nn_la_DEPENDENCIES = libtfrun-nn-core.la libtfrun-formats.la libtfrun.la \
	formats/libtfrun-nn.map
EXTRA_DIST += formats/libtfrun-nn.map

tfruninclude_HEADERS += \
	include/tfrun/npy.h \
	include/tfrun/onnx.h \
	$(NULL)
