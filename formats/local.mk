# SPDX-License-Identifier: Apache-2.0
# libtfrun-nn: file formats here, differentiation in nn/, which lies above. It uses libtfrun like any
# other user does.
noinst_LTLIBRARIES += libtfrun-compare.la libtfrun-formats.la
libtfrun_compare_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
libtfrun_compare_la_SOURCES = formats/compare.c
libtfrun_formats_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES) $(JANSSON_CFLAGS) -I$(top_srcdir)/formats -I$(top_srcdir)
libtfrun_formats_la_LIBADD = libtfrun-base.la libtfrun-compare.la
libtfrun_formats_la_SOURCES = \
	formats/file.c \
	formats/file.h \
	formats/foreign.c \
	formats/foreign.h \
	formats/npy.c \
	formats/npy_save.c \
	formats/npy_types.h \
	formats/onnx/attr.c \
	formats/onnx/call.c \
	formats/onnx/call.h \
	formats/onnx/external.c \
	formats/onnx/external.h \
	formats/onnx/facts.c \
	formats/onnx/fields.c \
	formats/onnx/fields.h \
	formats/onnx/flex_attention.c \
	formats/onnx/function.c \
	formats/onnx/gradient.c \
	formats/onnx/gradient.h \
	formats/onnx/import.c \
	formats/onnx/import.h \
	formats/onnx/labels.c \
	formats/onnx/labels.h \
	formats/onnx/map.c \
	formats/onnx/model.c \
	formats/onnx/model.h \
	formats/onnx/node.c \
	formats/onnx/onnx.c \
	formats/onnx/op_function.c \
	formats/onnx/order.c \
	formats/onnx/save.c \
	formats/onnx/save.h \
	formats/onnx/save_data.c \
	formats/onnx/save_model.c \
	formats/onnx/save_names.c \
	formats/onnx/save_opset.c \
	formats/onnx/scope.c \
	formats/onnx/scratch.c \
	formats/onnx/scratch.h \
	formats/onnx/tensor.c \
	formats/onnx/tensor.h \
	formats/onnx/tensor_file.c \
	formats/onnx/type.c \
	formats/onnx/type.h \
	formats/onnx/unknown.c \
	formats/onnx/upgrade.c \
	formats/onnx/upgrade.h \
	formats/onnx/upgrade_attrs.c \
	formats/onnx/upgrade_broadcast.c \
	formats/onnx/upgrade_image.c \
	formats/onnx/upgrade_inputs.c \
	formats/onnx/upgrade_norm.c \
	formats/onnx/upgrade_resize.c \
	formats/onnx/upgrade_scan.c \
	formats/onnx/values.c \
	formats/onnx/written.c \
	formats/prefix.c \
	formats/prefix.h \
	formats/safetensors.c \
	formats/safetensors_save.c \
	formats/safetensors_types.h \
	formats/utf8.c \
	formats/utf8.h \
	formats/wire.c \
	formats/wire.h \
	formats/wire_out.c \
	formats/wire_out.h \
	$(NULL)

lib_LTLIBRARIES += libtfrun-nn.la
libtfrun_nn_la_SOURCES =
libtfrun_nn_la_LIBADD = libtfrun-nn-core.la libtfrun-nn-data.la libtfrun-nn-digits.la \
	libtfrun-formats.la libtfrun.la $(JANSSON_LIBS)
libtfrun_nn_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_NO_UNDEFINED) -version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/formats/libtfrun-nn.map
libtfrun_nn_la_DEPENDENCIES = libtfrun-nn-core.la libtfrun-nn-data.la libtfrun-nn-digits.la \
	libtfrun-formats.la libtfrun.la \
	formats/libtfrun-nn.map
EXTRA_DIST += formats/libtfrun-nn.map

tfruninclude_HEADERS += \
	include/tfrun/compare.h \
	include/tfrun/npy.h \
	include/tfrun/onnx.h \
	include/tfrun/safetensors.h \
	$(NULL)
