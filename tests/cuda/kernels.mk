# SPDX-License-Identifier: Apache-2.0
# CUDA's kernels as the CPU runs them, and a backend that computes with them alone. The plugin lies
# in a folder of its own, so that only the test that names it meets it.
tests_cuda_cudacpu = tests/cuda/plugins/tfrun-cudacpu.so
tests_cuda_cudacpu_sources = tests/cuda/cudacpu.c plugins/cuda/plan.c $(tfr_cuda_families)
EXTRA_DIST += tests/cuda/cudacpu.c tests/cuda/emulation.cu tests/cuda/kernels.list
CLEANFILES += tests/cuda/cpu_kernels.so tests/cuda/emulation.so $(tests_cuda_cudacpu)
long_tests += tests/cuda/kernels.sh
unit_tests += tests/cuda/test_emulation
if TFR_CUDA_CPU
check_DATA += tests/cuda/cpu_kernels.so $(tests_cuda_cudacpu)
tfr_cuda_emulation = tests/cuda/emulation.so
endif

# -O1: the compiler takes 10 seconds and not 25.
cpu_kernels_compile = $(TFR_CXX) -std=c++17 -x c++ -O1 -g -Wall -Wextra -fPIC -shared \
	-fvisibility=hidden -I$(top_srcdir)/sdk/include -I$(top_srcdir)/plugins/cuda/kernels \
	$(TFR_SANITIZE) $(LDFLAGS) -o $@
tests/cuda/cpu_kernels.so: $(tfr_cuda_kernels) plugins/cuda/kernels/cpu_table.h
	$(AM_V_at)$(MKDIR_P) tests/cuda
	$(AM_V_CCLD)$(cpu_kernels_compile) $(top_srcdir)/plugins/cuda/kernels/kernels.cu -lpthread

tests/cuda/emulation.so: tests/cuda/emulation.cu plugins/cuda/kernels/cpu_cuda.h \
		plugins/cuda/kernels/cpu_table.h plugins/cuda/kernels/hw.h
	$(AM_V_at)$(MKDIR_P) tests/cuda
	$(AM_V_CCLD)$(cpu_kernels_compile) $(top_srcdir)/tests/cuda/emulation.cu -lpthread

tests_cuda_test_emulation_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_emulation_LDADD = $(CUNIT_LIBS) -ldl -lm
tests_cuda_test_emulation_SOURCES = tests/cuda/test_emulation.c
tests_cuda_test_emulation_DEPENDENCIES = $(tfr_cuda_emulation)

$(tests_cuda_cudacpu): $(tests_cuda_cudacpu_sources) tests/cuda/cpu_kernels.so $(sdk_headers)
	$(AM_V_at)$(MKDIR_P) tests/cuda/plugins
	$(AM_V_CCLD)$(CC) $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES) -I$(top_srcdir)/plugins/cuda \
	    $(CPPFLAGS) $(TFR_CFLAGS) $(CFLAGS) $(TFR_SANITIZE) -fPIC -shared $(LDFLAGS) -o $@ \
	    $(addprefix $(top_srcdir)/,$(filter %.c,$(tests_cuda_cudacpu_sources))) \
	    -Ltests/cuda -l:cpu_kernels.so -Wl,-rpath,'$$ORIGIN/..'
