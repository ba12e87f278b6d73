# SPDX-License-Identifier: Apache-2.0
# The program that runs the op cases of certify/ on any backend.
check_PROGRAMS += tests/ops/ops
tests_ops_ops_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES) -I$(top_srcdir)
tests_ops_ops_LDADD = libtfrun-certify.la libtfrun-compare.la libtfrun-core.la -lm
tests_ops_ops_SOURCES = \
	tests/ops/bench.c \
	tests/ops/claims.c \
	tests/ops/guard.c \
	tests/ops/guard.h \
	tests/ops/hostile_mode.c \
	tests/ops/list.c \
	tests/ops/main.c \
	tests/ops/modes.h \
	tests/ops/support.c \
	tests/ops/value.c \
	$(NULL)

long_tests += \
	tests/ops/naive.sh \
	tests/ops/native.sh \
	tests/ops/native_portable.sh \
	tests/ops/onednn.sh \
	$(NULL)
EXTRA_DIST += tests/ops/naive.list tests/ops/native.list tests/ops/onednn.list
