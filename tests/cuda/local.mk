# SPDX-License-Identifier: Apache-2.0
# Tests of the CUDA backend that need no GPU, and what they have instead of one: a stand-in of the
# driver, in a folder that nothing but a test puts into LD_LIBRARY_PATH. It is loaded, never linked
# and never installed, so one rule builds it.
unit_tests += \
	tests/cuda/test_abi \
	tests/cuda/test_abi_libraries \
	tests/cuda/test_cublaslt \
	tests/cuda/test_cudnn \
	tests/cuda/test_cudnn_plans \
	tests/cuda/test_driver_capture \
	tests/cuda/test_driver_memory \
	tests/cuda/test_driver_stream \
	tests/cuda/test_driver_switches \
	tests/cuda/test_finding \
	tests/cuda/test_host \
	tests/cuda/test_order \
	tests/cuda/test_tune \
	tests/cuda/test_tune_conv \
	$(NULL)

# These load the backend itself, which --without-cuda leaves out.
if TFR_CUDA
unit_tests += \
	tests/cuda/test_conv_engine \
	tests/cuda/test_ends \
	tests/cuda/test_engines \
	tests/cuda/test_held \
	tests/cuda/test_index \
	tests/cuda/test_last \
	tests/cuda/test_profile \
	tests/cuda/test_programs \
	tests/cuda/test_solve \
	tests/cuda/test_training \
	tests/cuda/test_tune_runs \
	$(NULL)
endif

shell_tests += \
	tests/cuda/budgets.sh \
	tests/cuda/doctor.sh \
	tests/cuda/engines.sh \
	tests/cuda/host.sh \
	tests/cuda/listing.sh \
	tests/cuda/no_engines.sh \
	$(NULL)

EXTRA_DIST += \
	plugins/cuda/budgets.def \
	plugins/cuda/cublaslt.def \
	plugins/cuda/cublaslt_abi.h \
	plugins/cuda/cuda_abi.h \
	plugins/cuda/cudnn.def \
	plugins/cuda/cudnn_abi.h \
	plugins/cuda/cusolver.def \
	plugins/cuda/cusolver_abi.h \
	plugins/cuda/driver.def \
	plugins/cuda/kernels/cpu_table.h \
	$(NULL)

TFR_CUDA_TEST_INCLUDES = -I$(top_srcdir)/plugins/cuda -I$(top_srcdir)/tests

# ---- the stand-in of the driver ----
fake_driver_sources = \
	tests/cuda/driver_call.c \
	tests/cuda/driver_capture.c \
	tests/cuda/driver_copy.c \
	tests/cuda/driver_device.c \
	tests/cuda/driver_graph.c \
	tests/cuda/driver_kernel.c \
	tests/cuda/driver_memory.c \
	tests/cuda/driver_own_kernels.c \
	tests/cuda/driver_run.c \
	tests/cuda/driver_stream.c \
	tests/cuda/driver_switch.c \
	$(NULL)
fake_driver_headers = \
	plugins/cuda/cuda_abi.h \
	plugins/cuda/driver.def \
	plugins/cuda/kernels/cpu_table.h \
	tests/cuda/driver.h \
	tests/cuda/fake_driver.h \
	$(NULL)
EXTRA_DIST += $(fake_driver_sources) tests/cuda/driver.h tests/cuda/fake_driver.h

# Links what make is to make, of $$sources with $$libraries.
link_stand_in = files=; for c in $$sources; do files="$$files $(srcdir)/$$c"; done; \
	$(CC) $(AM_CPPFLAGS) $(TFR_CUDA_TEST_INCLUDES) $(CPPFLAGS) $(TFR_CFLAGS) $(CFLAGS) \
	    $(TFR_SANITIZE) -fvisibility=hidden -fPIC -shared $(LDFLAGS) -Wl,-soname,$(@F) \
	    -Wl,-z,nodelete -o $@ $$files $$libraries
tests/cuda/libcuda.so.1: $(fake_driver_sources) $(fake_driver_headers)
	$(AM_V_at)$(MKDIR_P) tests/cuda
	$(AM_V_CCLD)sources='$(fake_driver_sources)' libraries='-lpthread -ldl'; \
	$(link_stand_in)

# ---- the stand-ins of libraries, which run in streams of that driver ----
fake_library_headers = \
	plugins/cuda/cublaslt.def \
	plugins/cuda/cublaslt_abi.h \
	plugins/cuda/cudnn.def \
	plugins/cuda/cudnn_abi.h \
	plugins/cuda/cusolver.def \
	plugins/cuda/cusolver_abi.h \
	tests/cuda/fake_cudnn.h \
	tests/cuda/fake_driver.h \
	tests/cuda/fake_library.h \
	tests/cuda/fake_number.h \
	$(NULL)
fake_cudnn_sources = tests/cuda/fake_cudnn.c tests/cuda/fake_cudnn_run.c
EXTRA_DIST += tests/cuda/fake_cublaslt.c $(fake_cudnn_sources) tests/cuda/fake_cudnn.h \
	tests/cuda/fake_cusolver.c tests/cuda/fake_library.h tests/cuda/fake_number.h
tests/cuda/libcublasLt.so.13: tests/cuda/fake_cublaslt.c $(fake_library_headers)
	$(AM_V_at)$(MKDIR_P) tests/cuda
	$(AM_V_CCLD)sources=tests/cuda/fake_cublaslt.c libraries='-ldl -lm'; $(link_stand_in)

tests/cuda/libcudnn.so.9: $(fake_cudnn_sources) $(fake_library_headers)
	$(AM_V_at)$(MKDIR_P) tests/cuda
	$(AM_V_CCLD)sources='$(fake_cudnn_sources)' libraries='-ldl -lm'; $(link_stand_in)

tests/cuda/libcusolver.so.12: tests/cuda/fake_cusolver.c $(fake_library_headers)
	$(AM_V_at)$(MKDIR_P) tests/cuda
	$(AM_V_CCLD)sources=tests/cuda/fake_cusolver.c libraries='-ldl -lm'; $(link_stand_in)

fake_cuda = tests/cuda/libcuda.so.1 tests/cuda/libcublasLt.so.13 tests/cuda/libcudnn.so.9 \
	tests/cuda/libcusolver.so.12
check_DATA += $(fake_cuda)
CLEANFILES += $(fake_cuda)

# ---- tests ----
tests_cuda_test_abi_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_abi_LDADD = $(CUNIT_LIBS)
tests_cuda_test_abi_SOURCES = tests/cuda/test_abi.c tests/cuda/test_abi_functions.c

tests_cuda_test_abi_libraries_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_abi_libraries_LDADD = $(CUNIT_LIBS) -ldl
tests_cuda_test_abi_libraries_SOURCES = tests/cuda/test_abi_libraries.c \
	tests/cuda/test_abi_library_functions.c

tests_cuda_test_cublaslt_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_cublaslt_LDADD = $(CUNIT_LIBS) -ldl -lm
tests_cuda_test_cublaslt_SOURCES = tests/cuda/driver_kit.h tests/cuda/test_cublaslt.c
tests_cuda_test_cublaslt_DEPENDENCIES = $(fake_cuda)

tests_cuda_test_cudnn_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_cudnn_LDADD = $(CUNIT_LIBS) -ldl -lm
tests_cuda_test_cudnn_SOURCES = tests/cuda/driver_kit.h tests/cuda/test_cudnn.c
tests_cuda_test_cudnn_DEPENDENCIES = $(fake_cuda)

# conv_plan.c against the real library, where it is.
tests_cuda_test_cudnn_plans_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CUDA_TEST_INCLUDES) \
	$(TFR_PLUGIN_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_cudnn_plans_LDADD = $(CUNIT_LIBS) -ldl
tests_cuda_test_cudnn_plans_SOURCES = plugins/cuda/conv_plan.c plugins/cuda/dnn.c \
	plugins/cuda/error.c tests/cuda/test_cudnn_plans.c

tests_cuda_test_driver_capture_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_driver_capture_LDADD = $(CUNIT_LIBS) -lpthread -ldl
tests_cuda_test_driver_capture_SOURCES = tests/cuda/driver_kit.h tests/cuda/test_driver_capture.c
tests_cuda_test_driver_capture_DEPENDENCIES = $(fake_cuda)

tests_cuda_test_driver_memory_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_driver_memory_LDADD = $(CUNIT_LIBS) -ldl
tests_cuda_test_driver_memory_SOURCES = tests/cuda/driver_kit.h tests/cuda/test_driver_memory.c
tests_cuda_test_driver_memory_DEPENDENCIES = $(fake_cuda)

tests_cuda_test_driver_stream_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_driver_stream_LDADD = $(CUNIT_LIBS) -ldl
tests_cuda_test_driver_stream_SOURCES = tests/cuda/driver_kit.h tests/cuda/test_driver_stream.c
tests_cuda_test_driver_stream_DEPENDENCIES = $(fake_cuda)

tests_cuda_test_driver_switches_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CUDA_TEST_INCLUDES) \
	$(CUNIT_CFLAGS)
tests_cuda_test_driver_switches_LDADD = $(CUNIT_LIBS) -ldl
tests_cuda_test_driver_switches_SOURCES = tests/cuda/driver_kit.h tests/cuda/test_driver_switches.c
tests_cuda_test_driver_switches_DEPENDENCIES = $(fake_cuda)

# The host half with one op whose kernel the stand-in has.
if TFR_CUDA
check_LTLIBRARIES += tests/cuda/cudahost.la
tests_cuda_cudahost_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES) \
	-I$(top_srcdir)/plugins/cuda -I$(top_srcdir)/tests/cuda -DCUDA_BUILT='"none"' \
	-DCUDA_FAMILIES='"host_families.def"'
tests_cuda_cudahost_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_MODULE_FLAGS) -rpath /nowhere
tests_cuda_cudahost_la_SOURCES = \
	$(tfr_cuda_host) \
	tests/cuda/host_blob.c \
	tests/cuda/host_families.def \
	tests/cuda/host_family.c \
	$(NULL)
tfr_cuda_host_test = tests/cuda/cudahost.la
endif

tests_cuda_test_host_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CUDA_TEST_INCLUDES) $(TFR_PLUGIN_INCLUDES) \
	$(CUNIT_CFLAGS)
tests_cuda_test_host_LDADD = $(CUNIT_LIBS) -ldl -lm
tests_cuda_test_host_SOURCES = tests/cuda/host_kit.h tests/cuda/test_host.c
tests_cuda_test_host_DEPENDENCIES = tests/cuda/libcuda.so.1 $(tfr_cuda_host_test)

tests_cuda_test_order_CPPFLAGS = $(tests_cuda_test_host_CPPFLAGS)
tests_cuda_test_order_LDADD = $(CUNIT_LIBS) -ldl -lm
tests_cuda_test_order_SOURCES = tests/cuda/host_kit.h tests/cuda/test_order.c
tests_cuda_test_order_DEPENDENCIES = tests/cuda/libcuda.so.1 $(tfr_cuda_host_test)

tests_cuda_test_conv_engine_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) \
	$(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_conv_engine_LDADD = $(TFR_TEST_NN) -ldl -lm
tests_cuda_test_conv_engine_SOURCES = tests/cuda/engine_kit.h tests/cuda/library_kit.h \
	tests/cuda/test_conv_engine.c tests/cuda/training_kit.h
tests_cuda_test_conv_engine_DEPENDENCIES = $(TFR_WITH_NN) $(fake_cuda) $(tfr_cuda_training_test)

tests_cuda_test_ends_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) \
	$(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_ends_LDADD = $(TFR_TEST_NN) -ldl -lm
tests_cuda_test_ends_SOURCES = tests/cuda/ends_kit.h tests/cuda/engine_kit.h tests/cuda/library_kit.h \
	tests/cuda/test_ends.c tests/cuda/training_kit.h
tests_cuda_test_ends_DEPENDENCIES = $(TFR_WITH_NN) $(fake_cuda) $(tfr_cuda_training_test)

tests_cuda_test_last_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) \
	$(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_last_LDADD = $(TFR_TEST_NN) -ldl -lm
tests_cuda_test_last_SOURCES = tests/cuda/ends_kit.h tests/cuda/engine_kit.h \
	tests/cuda/test_last.c tests/cuda/training_kit.h
tests_cuda_test_last_DEPENDENCIES = $(TFR_WITH_NN) $(fake_cuda) $(tfr_cuda_training_test)

tests_cuda_test_engines_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) \
	$(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_engines_LDADD = $(TFR_TEST_NN) -ldl
tests_cuda_test_engines_SOURCES = tests/cuda/engine_kit.h tests/cuda/library_kit.h \
	tests/cuda/test_engines.c tests/cuda/training_kit.h
tests_cuda_test_engines_DEPENDENCIES = $(TFR_WITH_NN) $(fake_cuda) $(tfr_cuda_training_test)

tests_cuda_test_finding_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CUDA_TEST_INCLUDES) \
	$(TFR_PLUGIN_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_finding_LDADD = $(CUNIT_LIBS) -ldl -lm
tests_cuda_test_finding_SOURCES = tests/cuda/host_kit.h tests/cuda/test_finding.c
tests_cuda_test_finding_DEPENDENCIES = tests/cuda/libcuda.so.1 $(tfr_cuda_training_test)

tests_cuda_test_held_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) \
	$(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_held_LDADD = $(TFR_TEST_NN) -ldl
tests_cuda_test_held_SOURCES = tests/cuda/training_kit.h tests/cuda/test_held.c
tests_cuda_test_held_DEPENDENCIES = $(TFR_WITH_NN) tests/cuda/libcuda.so.1 \
	$(tfr_cuda_training_test)

tests_cuda_test_index_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) \
	$(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_index_LDADD = $(TFR_TEST_NN) -ldl -lm
tests_cuda_test_index_SOURCES = tests/cuda/training_kit.h tests/cuda/test_index.c
tests_cuda_test_index_DEPENDENCIES = $(TFR_WITH_NN) tests/cuda/libcuda.so.1 \
	$(tfr_cuda_training_test)

tests_cuda_test_profile_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) \
	$(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_profile_LDADD = $(TFR_TEST_NN) -ldl
tests_cuda_test_profile_SOURCES = tests/cuda/training_kit.h tests/cuda/test_profile.c
tests_cuda_test_profile_DEPENDENCIES = $(TFR_WITH_NN) tests/cuda/libcuda.so.1 \
	$(tfr_cuda_training_test)

tests_cuda_test_programs_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) \
	$(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_programs_LDADD = $(TFR_TEST_NN) -ldl
tests_cuda_test_programs_SOURCES = tests/cuda/training_kit.h tests/cuda/test_programs.c
tests_cuda_test_programs_DEPENDENCIES = $(TFR_WITH_NN) $(fake_cuda) $(tfr_cuda_training_test)

tests_cuda_test_solve_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) \
	$(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_solve_LDADD = $(TFR_TEST_NN) -ldl -lm
tests_cuda_test_solve_SOURCES = tests/cuda/engine_kit.h tests/cuda/test_solve.c \
	tests/cuda/training_kit.h
tests_cuda_test_solve_DEPENDENCIES = $(TFR_WITH_NN) $(fake_cuda) $(tfr_cuda_training_test)

tests_cuda_test_training_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) \
	$(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_training_LDADD = $(TFR_TEST_NN) -ldl
tests_cuda_test_training_SOURCES = tests/cuda/training_kit.h tests/cuda/test_training.c
tests_cuda_test_training_DEPENDENCIES = $(TFR_WITH_NN) tests/cuda/libcuda.so.1 \
	$(tfr_cuda_training_test)

tests_cuda_test_tune_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CUDA_TEST_INCLUDES) $(TFR_PLUGIN_INCLUDES) \
	$(CUNIT_CFLAGS)
tests_cuda_test_tune_LDADD = $(CUNIT_LIBS) -ldl -lm
tests_cuda_test_tune_SOURCES = tests/cuda/host_kit.h tests/cuda/library_kit.h \
	tests/cuda/test_tune.c tests/cuda/tune_kit.h
tests_cuda_test_tune_DEPENDENCIES = $(fake_cuda) $(tfr_cuda_plugin_test)

tests_cuda_test_tune_conv_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CUDA_TEST_INCLUDES) \
	$(TFR_PLUGIN_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_tune_conv_LDADD = $(CUNIT_LIBS) -ldl -lm
tests_cuda_test_tune_conv_SOURCES = tests/cuda/host_kit.h tests/cuda/library_kit.h \
	tests/cuda/test_tune_conv.c tests/cuda/tune_kit.h
tests_cuda_test_tune_conv_DEPENDENCIES = $(fake_cuda) $(tfr_cuda_training_test)

tests_cuda_test_tune_runs_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) \
	$(TFR_CUDA_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_cuda_test_tune_runs_LDADD = $(TFR_TEST_NN) -ldl -lm
tests_cuda_test_tune_runs_SOURCES = tests/cuda/engine_kit.h tests/cuda/library_kit.h \
	tests/cuda/test_tune_runs.c tests/cuda/training_kit.h
tests_cuda_test_tune_runs_DEPENDENCIES = $(TFR_WITH_NN) $(fake_cuda) $(tfr_cuda_training_test)
if TFR_CUDA
tfr_cuda_plugin_test = plugins/cuda/tfrun-cuda.la
if TFR_CUDA_CPU
tfr_cuda_training_test = plugins/cuda/tfrun-cuda.la tests/cuda/cpu_kernels.so
endif
endif
