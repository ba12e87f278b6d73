# SPDX-License-Identifier: Apache-2.0
# Tests of the CUDA backend that need no GPU.
unit_tests += \
	tests/cuda/test_abi \
	$(NULL)

EXTRA_DIST += \
	plugins/cuda/cuda_abi.h \
	plugins/cuda/driver.def \
	plugins/cuda/kernels/cpu_table.h \
	$(NULL)

TFR_CUDA_TEST_INCLUDES = -I$(top_srcdir)/plugins/cuda -I$(top_srcdir)/tests

tests_cuda_test_abi_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_abi_LDADD = $(CUNIT_LIBS)
tests_cuda_test_abi_SOURCES = tests/cuda/test_abi.c tests/cuda/test_abi_functions.c
