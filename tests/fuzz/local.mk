# SPDX-License-Identifier: Apache-2.0
# graph_fuzz: makes models of seeds and looks at them. Without arguments it replays its corpus, which
# is how make check runs it; .ci/run and HACKING.md have the other ways.
fuzz_tests += tests/fuzz/graph_fuzz
EXTRA_DIST += tests/fuzz/graphs.corpus

tests_fuzz_graph_fuzz_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES) -I$(top_srcdir)
tests_fuzz_graph_fuzz_LDADD = libtfrun-certify.la $(TFR_WITH_NN) -lm
tests_fuzz_graph_fuzz_SOURCES = \
	bench/ort_api.h \
	bench/ort_library.c \
	bench/ort_library.h \
	tests/fuzz/child.c \
	tests/fuzz/child.h \
	tests/fuzz/compare.c \
	tests/fuzz/eval.c \
	tests/fuzz/eval.h \
	tests/fuzz/finding.c \
	tests/fuzz/gen.c \
	tests/fuzz/gen.h \
	tests/fuzz/gen_case.c \
	tests/fuzz/gen_control.c \
	tests/fuzz/gen_grow.c \
	tests/fuzz/gen_pattern.c \
	tests/fuzz/gen_rows.c \
	tests/fuzz/gen_values.c \
	tests/fuzz/graph_fuzz.c \
	tests/fuzz/graph_fuzz.h \
	tests/fuzz/known.c \
	tests/fuzz/known.def \
	tests/fuzz/message.c \
	tests/fuzz/message.h \
	tests/fuzz/mutate.c \
	tests/fuzz/mutate.h \
	tests/fuzz/reduce.c \
	tests/fuzz/reduce.h \
	tests/fuzz/replay_graphs.c \
	tests/fuzz/session.c \
	tests/fuzz/spread.c \
	tests/fuzz/way.h \
	tests/fuzz/way_diff.c \
	tests/fuzz/way_memory.c \
	tests/fuzz/way_ort.c \
	tests/ops/guard.c \
	tests/ops/guard.h \
	$(NULL)
