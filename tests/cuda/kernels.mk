# SPDX-License-Identifier: Apache-2.0
# CUDA's kernels as the CPU runs them, and a backend that computes with them alone. The plugin lies
# in a folder of its own, so that only the test that names it meets it.
tests_cuda_cudacpu = tests/cuda/plugins/tfrun-cudacpu.so
tests_cuda_cudacpu_sources = tests/cuda/cudacpu.c plugins/cuda/plan.c $(tfr_cuda_families)
EXTRA_DIST += tests/cuda/cudacpu.c tests/cuda/emulation.cu tests/cuda/kernels.list
CLEANFILES += tests/cuda/cpu_kernels.so tests/cuda/emulation.so $(tests_cuda_cudacpu) \
	tests/cuda/cpu_kernels.o tests/cuda/emulation.o
long_tests += tests/cuda/kernels.sh
unit_tests += tests/cuda/test_emulation
if TFR_CUDA_CPU
check_DATA += tests/cuda/cpu_kernels.so $(tests_cuda_cudacpu)
tfr_cuda_emulation = tests/cuda/emulation.so
endif

# -O1 and -g1 take the compiler less time; the latter has the lines of a report's stacks. An object of
# its own, which under ASan and UBSan takes three minutes, is what ccache can keep.
cpu_kernels_compile = $(TFR_CXX) -std=c++17 -x c++ -O1 -g1 -Wall -Wextra -fPIC \
	-fvisibility=hidden -I$(top_srcdir)/sdk/include -I$(top_srcdir)/plugins/cuda/kernels \
	$(TFR_SANITIZE) -c -o $@
cpu_kernels_link = $(TFR_CXX) -shared $(TFR_SANITIZE) $(LDFLAGS) -o $@
tests/cuda/cpu_kernels.o: $(tfr_cuda_kernels) plugins/cuda/kernels/cpu_table.h
	$(AM_V_at)$(MKDIR_P) tests/cuda
	$(AM_V_CC)$(cpu_kernels_compile) $(top_srcdir)/plugins/cuda/kernels/kernels.cu

tests/cuda/emulation.o: tests/cuda/emulation.cu plugins/cuda/kernels/cpu_cuda.h \
		plugins/cuda/kernels/cpu_table.h plugins/cuda/kernels/hw.h
	$(AM_V_at)$(MKDIR_P) tests/cuda
	$(AM_V_CC)$(cpu_kernels_compile) $(top_srcdir)/tests/cuda/emulation.cu

tests/cuda/cpu_kernels.so tests/cuda/emulation.so: tests/cuda/%.so: tests/cuda/%.o
	$(AM_V_CCLD)$(cpu_kernels_link) $< -lpthread

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
