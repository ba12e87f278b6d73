# SPDX-License-Identifier: Apache-2.0
# The benchmarks, a part of the tfrun command, and the backend that does nothing.
tfrun_CPPFLAGS += -I$(top_srcdir)
tfrun_SOURCES += \
	bench/bench.h \
	bench/bench_dispatch.c \
	bench/bench_matmul.c \
	bench/bench_model.c \
	bench/bench_startup.c \
	bench/bench_train.c \
	bench/chain.c \
	bench/chain.h \
	bench/child.c \
	bench/child.h \
	bench/cnn_list.c \
	bench/cnn_list.h \
	bench/cnn_math.c \
	bench/cnn_math.h \
	bench/cnn_net.c \
	bench/contest.c \
	bench/contest.h \
	bench/cpu_has.h \
	bench/dnnl_library.c \
	bench/dnnl_library.h \
	bench/onnx_bytes.c \
	bench/onnx_bytes.h \
	bench/ort_api.h \
	bench/ort_library.c \
	bench/ort_library.h \
	bench/peer.c \
	bench/peer.h \
	bench/peer_onednn.c \
	bench/peer_onednn_train.c \
	bench/peer_openblas.c \
	bench/peer_openvino.c \
	bench/peer_ort.c \
	bench/peer_python.c \
	bench/peer_python_train.c \
	bench/product.c \
	bench/product.h \
	bench/report.c \
	bench/roof.c \
	bench/roof.h \
	bench/svg.c \
	bench/team.c \
	bench/team.h \
	bench/training.c \
	bench/training.h \
	$(NULL)

# The lines of a script, which the peer starts as text, so that no file must be found.
nodist_tfrun_SOURCES = bench/train_script.c
bench/train_script.c: bench/train_peers.py
	$(AM_V_GEN)$(MKDIR_P) bench && { \
	echo '#include <bench/peer.h>' && echo 'const char *const bench_train_script[] = {' && \
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n",/' $(srcdir)/bench/train_peers.py && \
	echo 'NULL};'; } >$@.new && mv $@.new $@
CLEANFILES += bench/train_script.c

# In a folder of its own: who puts the other modules on the plugin path does not get it.
tfrunexec_LTLIBRARIES += bench/tfrun-null.la
bench_tfrun_null_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES)
bench_tfrun_null_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_MODULE_FLAGS)
bench_tfrun_null_la_SOURCES = bench/null_plugin.c

EXTRA_DIST += \
	bench/README.md \
	bench/check_events.py \
	bench/compare_backends.py \
	bench/dispatch_instructions.sh \
	bench/encoder_peers.py \
	bench/field/decoder_4bit.py \
	bench/field/exports.py \
	bench/field/get_models.py \
	bench/field/get_onnx_tests.py \
	bench/field/kinds.py \
	bench/field/learned.py \
	bench/field/quantized.py \
	bench/field/requirements.txt \
	bench/loss_curves.py \
	bench/make_models.py \
	bench/requirements.txt \
	bench/train_peers.py \
	bench/train_resnet.py \
	$(NULL)
