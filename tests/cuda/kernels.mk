# SPDX-License-Identifier: Apache-2.0
# CUDA's kernels as the CPU runs them, and a backend that computes with them alone. The plugin lies
# in a folder of its own, so that only the test that names it meets it.
tests_cuda_cudacpu = tests/cuda/plugins/tfrun-cudacpu.so
tests_cuda_cudacpu_sources = tests/cuda/cudacpu.c plugins/cuda/plan.c $(tfr_cuda_families)
EXTRA_DIST += tests/cuda/cudacpu.c tests/cuda/kernels.list
CLEANFILES += tests/cuda/cpu_kernels.so $(tests_cuda_cudacpu)
shell_tests += tests/cuda/kernels.sh
if TFR_CUDA_CPU
check_DATA += tests/cuda/cpu_kernels.so $(tests_cuda_cudacpu)
endif

# -O1: the compiler takes 10 seconds and not 25.
tests/cuda/cpu_kernels.so: $(tfr_cuda_kernels) plugins/cuda/kernels/cpu_table.h
	$(AM_V_at)$(MKDIR_P) tests/cuda
	$(AM_V_CCLD)$(TFR_CXX) -std=c++17 -x c++ -O1 -g -Wall -Wextra -fPIC -shared \
	    -fvisibility=hidden -I$(top_srcdir)/sdk/include $(TFR_SANITIZE) $(LDFLAGS) -o $@ \
	    $(top_srcdir)/plugins/cuda/kernels/kernels.cu -lpthread

$(tests_cuda_cudacpu): $(tests_cuda_cudacpu_sources) tests/cuda/cpu_kernels.so $(sdk_headers)
	$(AM_V_at)$(MKDIR_P) tests/cuda/plugins
	$(AM_V_CCLD)$(CC) $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES) -I$(top_srcdir)/plugins/cuda \
	    $(CPPFLAGS) $(TFR_CFLAGS) $(CFLAGS) $(TFR_SANITIZE) -fPIC -shared $(LDFLAGS) -o $@ \
	    $(addprefix $(top_srcdir)/,$(filter %.c,$(tests_cuda_cudacpu_sources))) \
	    -Ltests/cuda -l:cpu_kernels.so -Wl,-rpath,'$$ORIGIN/..'
