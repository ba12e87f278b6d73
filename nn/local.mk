# SPDX-License-Identifier: Apache-2.0
# The other part of libtfrun-nn: differentiation and training.
noinst_LTLIBRARIES += libtfrun-nn-core.la
libtfrun_nn_core_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES) $(JANSSON_CFLAGS) -I$(top_srcdir) -I$(top_srcdir)/nn
libtfrun_nn_core_la_SOURCES = \
	nn/accumulate.c \
	nn/autodiff.c \
	nn/autodiff.h \
	nn/autodiff_attention.c \
	nn/autodiff_body.c \
	nn/autodiff_control.c \
	nn/autodiff_conv.c \
	nn/autodiff_einsum.c \
	nn/autodiff_elementwise.c \
	nn/autodiff_expand.c \
	nn/autodiff_formula.c \
	nn/autodiff_inside.c \
	nn/autodiff_inside.h \
	nn/autodiff_kit.c \
	nn/autodiff_linear.c \
	nn/autodiff_linear_attention.c \
	nn/autodiff_loop.c \
	nn/autodiff_matmul.c \
	nn/autodiff_move.c \
	nn/autodiff_norm.c \
	nn/autodiff_parts.c \
	nn/autodiff_quantize.c \
	nn/autodiff_recurrent.c \
	nn/autodiff_reduce.c \
	nn/autodiff_resize.c \
	nn/autodiff_rules.c \
	nn/autodiff_roi.c \
	nn/autodiff_sample.c \
	nn/checkpoint.c \
	nn/crc32c.c \
	nn/crc32c.h \
	nn/curves.c \
	nn/curves.h \
	nn/curves_events.c \
	nn/curves_svg.c \
	nn/fit.c \
	nn/fit_conditions.c \
	nn/fit_conditions.h \
	nn/graph_copy.c \
	nn/graph_copy.h \
	nn/graph_kit.c \
	nn/graph_kit.h \
	nn/leftovers.c \
	nn/leftovers.h \
	nn/net.c \
	nn/onnx_gradient.c \
	nn/optimizer.c \
	nn/quantize/accuracy.c \
	nn/quantize/calibration.c \
	nn/quantize/calibration.h \
	nn/quantize/common.c \
	nn/quantize/dynamic.c \
	nn/quantize/half.c \
	nn/quantize/numbers.c \
	nn/quantize/qdq.h \
	nn/quantize/qdq_plan.c \
	nn/quantize/qdq_write.c \
	nn/quantize/quantize.c \
	nn/quantize/quantize.h \
	nn/quantize/weights.c \
	nn/recompute.c \
	nn/recompute.h \
	nn/schedule.c \
	nn/schedule.h \
	nn/train_graph.c \
	nn/train_graph.h \
	nn/train_held.c \
	nn/train_loss.c \
	nn/train_model.c \
	nn/trainer.c \
	nn/trainer.h \
	nn/trainer_held.c \
	$(NULL)

tfruninclude_HEADERS += \
	include/tfrun/autodiff.h \
	include/tfrun/checkpoint.h \
	include/tfrun/curves.h \
	include/tfrun/dataset.h \
	include/tfrun/fit.h \
	include/tfrun/net.h \
	include/tfrun/quantize.h \
	include/tfrun/train.h \
	$(NULL)

# Digit images have the same bytes everywhere, and so has augmentation: products and sums are rounded one by one.
noinst_LTLIBRARIES += libtfrun-nn-digits.la
libtfrun_nn_digits_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
libtfrun_nn_digits_la_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
libtfrun_nn_digits_la_SOURCES = $(tfr_digits) nn/data/augment.c nn/data/augment.h
tfr_digits = \
	nn/data/digits.c \
	nn/data/digits.h \
	nn/data/glyphs.c \
	nn/data/random.h \
	nn/data/rotation.h \
	$(NULL)

# Data to train with; formats/ has the files of the mapping kit.
noinst_LTLIBRARIES += libtfrun-nn-data.la
libtfrun_nn_data_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES) -I$(top_srcdir)
libtfrun_nn_data_la_LIBADD = libtfrun-images.la
libtfrun_nn_data_la_SOURCES = \
	nn/data/batches.c \
	nn/data/dataset.c \
	nn/data/dataset.h \
	nn/data/idx.c \
	nn/data/image_file.c \
	nn/data/image_file.h \
	nn/data/images.c \
	nn/data/inflate.c \
	nn/data/inflate.h \
	nn/data/npz.c \
	nn/data/order.c \
	nn/data/order.h \
	nn/data/parallel.c \
	nn/data/parallel.h \
	nn/data/prefetch.c \
	nn/data/prefetch.h \
	nn/data/random.h \
	nn/data/synthetic.c \
	nn/data/zip.c \
	nn/data/zip.h \
	$(NULL)
