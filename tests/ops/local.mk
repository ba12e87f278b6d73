# SPDX-License-Identifier: Apache-2.0
# The op cases: calls of ops as data, and the program that runs them on any backend. A family of ops
# is one file; op_families, of families.mk, are those that scripts/list-sources finds.
include tests/ops/families.mk

check_PROGRAMS += tests/ops/ops
tests_ops_ops_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
tests_ops_ops_LDADD = libtfrun-core.la -lm
tests_ops_ops_SOURCES = \
	$(op_families) \
	tests/ops/bench.c \
	tests/ops/case.h \
	tests/ops/claims.c \
	tests/ops/compare.c \
	tests/ops/engine.c \
	tests/ops/engine.h \
	tests/ops/families.def \
	tests/ops/fill.c \
	tests/ops/fill.h \
	tests/ops/guard.c \
	tests/ops/guard.h \
	tests/ops/hostile.c \
	tests/ops/hostile.h \
	tests/ops/hostile_mode.c \
	tests/ops/hostile_table.c \
	tests/ops/list.c \
	tests/ops/main.c \
	tests/ops/make.c \
	tests/ops/make.h \
	tests/ops/modes.h \
	tests/ops/pattern.c \
	tests/ops/pattern.h \
	tests/ops/signature.c \
	tests/ops/support.c \
	tests/ops/value.c \
	$(NULL)

shell_tests += \
	tests/ops/naive.sh \
	tests/ops/native.sh \
	tests/ops/onednn.sh \
	tests/onnx_backend.sh \
	$(NULL)
EXTRA_DIST += tests/ops/naive.list tests/ops/native.list tests/ops/onednn.list
