# SPDX-License-Identifier: Apache-2.0
# Tests. A unit test is one CUnit program per source file, a shell test one script; both run under
# Automake's parallel harness with the environment of tests/env.sh. Exit 77 is a skip.
#
# Misbehaving plugins are tests/fake/NAME.c and one line in tests/fake/local.mk.
TFR_TEST_INCLUDES = $(TFR_CORE_INCLUDES) -I$(top_srcdir)/tests
TFR_TEST_CORE = libtfrun-compare.la libtfrun-core.la $(CUNIT_LIBS)
TFR_TEST_NN_INCLUDES = $(TFR_TEST_INCLUDES) -I$(top_srcdir)/formats
TFR_TEST_FORMATS = libtfrun-formats.la libtfrun-core.la $(CUNIT_LIBS) $(JANSSON_LIBS)
# The objects of nn/, not their archive: it would give only what somebody names, and formats/ does
# not name nn/.
TFR_WITH_NN = $(libtfrun_nn_core_la_OBJECTS) libtfrun-nn-data.la libtfrun-nn-digits.la \
	libtfrun-formats.la libtfrun-core.la $(JANSSON_LIBS)
TFR_TEST_NN = $(TFR_WITH_NN) $(CUNIT_LIBS)

unit_tests = \
	tests/test_accelerator \
	tests/test_accelerator_kernel \
	tests/test_accelerator_late \
	tests/test_accelerator_memory \
	tests/test_accelerator_queue \
	tests/test_accelerator_staging \
	tests/test_accumulate \
	tests/test_alloc \
	tests/test_append \
	tests/test_arena \
	tests/test_autodiff \
	tests/test_autodiff_control \
	tests/test_autodiff_image \
	tests/test_autodiff_layers \
	tests/test_autodiff_math \
	tests/test_autodiff_move \
	tests/test_batches \
	tests/test_bench_peer \
	tests/test_building \
	tests/test_cache_file \
	tests/test_checkpoint \
	tests/test_class_weights \
	tests/test_cli_text \
	tests/test_comm \
	tests/test_compare \
	tests/test_cost \
	tests/test_curves \
	tests/test_deterministic \
	tests/test_data_order \
	tests/test_dataset \
	tests/test_dataset_files \
	tests/test_device \
	tests/test_digits \
	tests/test_digits_unoptimized \
	tests/test_dlpack \
	tests/test_dtype \
	tests/test_gemm \
	tests/test_gemm_modes \
	tests/test_gemm_threads \
	tests/test_fit \
	tests/test_graph \
	tests/test_growth \
	tests/test_harness \
	tests/test_hostile_values \
	tests/test_images \
	tests/test_immediate \
	tests/test_immediate_queues \
	tests/test_int8_depthwise \
	tests/test_int8_narrow \
	tests/test_int8_product \
	tests/test_int8_results \
	tests/test_int8_winograd \
	tests/test_loader \
	tests/test_mapped \
	tests/test_optimize \
	tests/test_optimizer \
	tests/test_pass_activation \
	tests/test_pass_attention \
	tests/test_pass_conv_bn \
	tests/test_pass_cse \
	tests/test_pass_dead \
	tests/test_pass_decompose \
	tests/test_pass_fold \
	tests/test_pass_layer_norm \
	tests/test_pass_loop \
	tests/test_pass_matmul_add \
	tests/test_pass_transpose \
	tests/test_peer \
	tests/test_placement \
	tests/test_plugin_cache \
	tests/test_plugin_config \
	tests/test_plugin_elf \
	tests/test_plugin_libs \
	tests/test_plugin_limits \
	tests/test_plugin_open \
	tests/test_plugin_ops \
	tests/test_plugin_path \
	tests/test_plugin_probe \
	tests/test_plugin_reply \
	tests/test_infer \
	tests/test_infer_hostile \
	tests/test_infer_symbolic \
	tests/test_mincut \
	tests/test_naive_text \
	tests/test_naive_values \
	tests/test_nbits \
	tests/test_native_handle \
	tests/test_native_kernels \
	tests/test_native_batch_norm \
	tests/test_native_nbits \
	tests/test_native_bf16 \
	tests/test_native_encoder \
	tests/test_native_pooled \
	tests/test_native_convolutions \
	tests/test_native_attention \
	tests/test_native_half \
	tests/test_native_images \
	tests/test_native_programs \
	tests/test_native_quantized \
	tests/test_native_quantized_bytes \
	tests/test_native_solve \
	tests/test_native_tables \
	tests/test_native_tokens \
	tests/test_native_train \
	tests/test_native_train_kernels \
	tests/test_native_trees \
	tests/test_native_ways \
	tests/test_net \
	tests/test_npy \
	tests/test_older_version \
	tests/test_one_pool \
	tests/test_onednn_library \
	tests/test_onnx \
	tests/test_onnx_external \
	tests/test_onnx_flex_attention \
	tests/test_onnx_gradient \
	tests/test_onnx_hostile \
	tests/test_onnx_map \
	tests/test_onnx_memory \
	tests/test_onnx_models \
	tests/test_onnx_roundtrip \
	tests/test_onnx_save \
	tests/test_onnx_save_files \
	tests/test_onnx_tensor \
	tests/test_onnx_upgrade \
	tests/test_op \
	tests/test_pool \
	tests/test_plan_again \
	tests/test_plan_formula \
	tests/test_plan_layers \
	tests/test_prices \
	tests/test_binding \
	tests/test_executor \
	tests/test_launch_errors \
	tests/test_memory_account \
	tests/test_memory_constant \
	tests/test_memory_domain \
	tests/test_memory_out \
	tests/test_program_failure \
	tests/test_program_memory \
	tests/test_quantize \
	tests/test_quantize_activations \
	tests/test_quantize_float16 \
	tests/test_quantize_weights \
	tests/test_random \
	tests/test_schedule \
	tests/test_session \
	tests/test_session_plans \
	tests/test_passes \
	tests/test_program \
	tests/test_recompute \
	tests/test_regex \
	tests/test_capture \
	tests/test_fetch \
	tests/test_variable \
	tests/test_safetensors \
	tests/test_scan \
	tests/test_sequence \
	tests/test_shape \
	tests/test_slot \
	tests/test_status \
	tests/test_store \
	tests/test_stranger \
	tests/test_tensor \
	tests/test_timeout \
	tests/test_trace \
	tests/test_train_accelerator \
	tests/test_train_counts \
	tests/test_train_graph \
	tests/test_train_recorded \
	tests/test_train_shards \
	tests/test_trainer \
	tests/test_tuning \
	tests/test_unaligned \
	tests/test_verify_random \
	tests/test_wire \
	tests/test_winograd \
	tests/test_winograd_errors \
	tests/test_winograd_grad \
	tests/test_writer \
	$(NULL)

# Those that take minutes begin first, so that none of them is left at the end with one processor.
# scripts/test-summary lists the slowest.
long_tests = \
	tests/build/new_op.sh \
	tests/cli/certify_rules.sh \
	$(NULL)
shell_tests = \
	tests/build/borders.sh \
	tests/build/ci.sh \
	tests/build/examples.sh \
	tests/build/harness.sh \
	tests/build/install.sh \
	tests/build/nvcc_cached.sh \
	tests/build/op_digests.sh \
	tests/build/ops_table.sh \
	tests/build/size.sh \
	tests/cli/bad_input.sh \
	tests/cli/bench.sh \
	tests/cli/certify.sh \
	tests/cli/completion.sh \
	tests/cli/devices.sh \
	tests/cli/doctor.sh \
	tests/cli/help.sh \
	tests/cli/inputs.sh \
	tests/cli/inspect.sh \
	tests/cli/optimize.sh \
	tests/cli/options.sh \
	tests/cli/out_of_memory.sh \
	tests/cli/profile.sh \
	tests/cli/quantize.sh \
	tests/cli/run.sh \
	tests/cli/strangers.sh \
	tests/cli/timeout.sh \
	tests/cli/trace.sh \
	tests/cli/train.sh \
	tests/cli/train_faults.sh \
	tests/cli/train_kill.sh \
	tests/cli/train_onnx.sh \
	tests/cli/verify.sh \
	tests/com_microsoft.sh \
	tests/dlpack_numpy.sh \
	tests/native_programs.sh \
	tests/onnx_newer.sh \
	tests/onnx_backend.sh \
	tests/onnx_optimize.sh \
	tests/sdk/template.sh \
	$(NULL)

if TFR_HAVE_CUNIT
check_PROGRAMS += $(unit_tests)
run_unit_tests = $(unit_tests)
endif
EXTRA_PROGRAMS = $(unit_tests)
CLEANFILES += $(EXTRA_PROGRAMS)

tests_test_accelerator_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_accelerator_LDADD = $(TFR_TEST_CORE)
tests_test_accelerator_SOURCES = tests/accelerator_kit.h tests/test_accelerator.c
tests_test_accelerator_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_accelerator_kernel_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_accelerator_kernel_LDADD = $(TFR_TEST_CORE)
tests_test_accelerator_kernel_SOURCES = tests/accelerator_kit.h tests/test_accelerator_kernel.c
tests_test_accelerator_kernel_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_accelerator_late_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_accelerator_late_LDADD = $(TFR_TEST_CORE)
tests_test_accelerator_late_SOURCES = tests/session_kit.h tests/test_accelerator_late.c
tests_test_accelerator_late_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_accelerator_memory_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_accelerator_memory_LDADD = $(TFR_TEST_CORE)
tests_test_accelerator_memory_SOURCES = tests/accelerator_kit.h tests/test_accelerator_memory.c
tests_test_accelerator_memory_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_accelerator_queue_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_accelerator_queue_LDADD = $(TFR_TEST_CORE)
tests_test_accelerator_queue_SOURCES = tests/accelerator_kit.h tests/test_accelerator_queue.c
tests_test_accelerator_queue_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_accelerator_staging_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_accelerator_staging_LDADD = $(TFR_TEST_CORE)
tests_test_accelerator_staging_SOURCES = tests/session_kit.h tests/test_accelerator_staging.c
tests_test_accelerator_staging_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_accumulate_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_accumulate_LDADD = $(TFR_TEST_NN)
tests_test_accumulate_SOURCES = tests/session_kit.h tests/test_accumulate.c

tests_test_alloc_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_alloc_LDADD = $(TFR_TEST_CORE)
tests_test_alloc_SOURCES = tests/test_alloc.c

tests_test_append_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_append_LDADD = $(TFR_TEST_CORE) -lm
tests_test_append_SOURCES = tests/session_kit.h tests/graph_text.h tests/test_append.c

tests_test_arena_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_arena_LDADD = $(TFR_TEST_CORE)
tests_test_arena_SOURCES = tests/test_arena.c

tests_test_autodiff_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_autodiff_LDADD = $(TFR_TEST_NN)
tests_test_autodiff_SOURCES = tests/test_autodiff.c

tests_test_autodiff_control_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_autodiff_control_LDADD = $(TFR_TEST_NN)
tests_test_autodiff_control_SOURCES = tests/gradient_kit.h tests/test_autodiff_control.c

tests_test_autodiff_image_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_autodiff_image_LDADD = $(TFR_TEST_NN)
tests_test_autodiff_image_SOURCES = tests/gradient_kit.h tests/test_autodiff_image.c

tests_test_autodiff_layers_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_autodiff_layers_LDADD = $(TFR_TEST_NN)
tests_test_autodiff_layers_SOURCES = tests/gradient_kit.h tests/test_autodiff_layers.c

tests_test_autodiff_math_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_autodiff_math_LDADD = $(TFR_TEST_NN)
tests_test_autodiff_math_SOURCES = tests/gradient_kit.h tests/test_autodiff_math.c

tests_test_autodiff_move_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_autodiff_move_LDADD = $(TFR_TEST_NN)
tests_test_autodiff_move_SOURCES = tests/gradient_kit.h tests/test_autodiff_move.c

tests_test_bench_peer_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) -I$(top_srcdir) $(CUNIT_CFLAGS)
tests_test_bench_peer_LDADD = $(TFR_TEST_CORE)
tests_test_bench_peer_SOURCES = bench/bench.h bench/contest.c bench/contest.h bench/peer.c \
	bench/peer.h bench/report.c tests/test_bench_peer.c

tests_test_building_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_building_LDADD = $(TFR_TEST_CORE) -lpthread
tests_test_building_SOURCES = tests/session_kit.h tests/test_building.c
tests_test_building_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_cache_file_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_cache_file_LDADD = $(TFR_TEST_CORE)
tests_test_cache_file_SOURCES = tests/fake/kit.h tests/test_cache_file.c

tests_test_curves_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) -I$(top_srcdir) $(CUNIT_CFLAGS)
tests_test_curves_LDADD = $(TFR_TEST_NN)
tests_test_curves_SOURCES = tests/temp_path.h tests/test_curves.c

tests_test_checkpoint_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) -I$(top_srcdir) $(CUNIT_CFLAGS)
tests_test_checkpoint_LDADD = $(TFR_TEST_NN)
tests_test_checkpoint_SOURCES = tests/session_kit.h tests/temp_path.h tests/test_checkpoint.c

tests_test_class_weights_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) -I$(top_srcdir) $(CUNIT_CFLAGS)
tests_test_class_weights_LDADD = $(TFR_TEST_NN)
tests_test_class_weights_SOURCES = tests/session_kit.h tests/test_class_weights.c

tests_test_cli_text_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) -I$(top_srcdir)/cli \
	$(CUNIT_CFLAGS)
tests_test_cli_text_LDADD = $(TFR_TEST_CORE) -lutil
tests_test_cli_text_SOURCES = tests/test_cli_text.c cli/suggest.c cli/suggest.h cli/table.c \
	cli/table.h cli/text.c cli/text.h

tests_test_comm_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_comm_LDADD = $(TFR_TEST_CORE) -lpthread
tests_test_comm_SOURCES = tests/fake/kit.h tests/test_comm.c
tests_test_comm_DEPENDENCIES = libtfrun-core.la tests/fake/stamp

tests_test_compare_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_compare_LDADD = $(TFR_TEST_CORE)
tests_test_compare_SOURCES = tests/test_compare.c

tests_test_cost_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_cost_LDADD = $(TFR_TEST_CORE)
tests_test_cost_SOURCES = tests/test_cost.c

tests_test_deterministic_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_deterministic_LDADD = $(TFR_TEST_CORE)
tests_test_deterministic_SOURCES = tests/session_kit.h tests/test_deterministic.c
tests_test_deterministic_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_data_order_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) -I$(top_srcdir) $(CUNIT_CFLAGS)
tests_test_data_order_LDADD = libtfrun-nn-data.la $(CUNIT_LIBS)
tests_test_data_order_SOURCES = tests/test_data_order.c

tests_test_batches_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) -I$(top_srcdir) $(CUNIT_CFLAGS)
tests_test_batches_LDADD = $(TFR_TEST_NN) -lpthread
tests_test_batches_SOURCES = tests/idx_files.h tests/idx_kit.h tests/temp_path.h \
	tests/test_batches.c

tests_test_dataset_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) -I$(top_srcdir) $(CUNIT_CFLAGS)
tests_test_dataset_LDADD = $(TFR_TEST_NN) -lpthread
tests_test_dataset_SOURCES = tests/idx_files.h tests/idx_kit.h tests/temp_path.h \
	tests/test_dataset.c

tests_test_dataset_files_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) -I$(top_srcdir) \
	$(CUNIT_CFLAGS)
tests_test_dataset_files_LDADD = $(TFR_TEST_NN) -lpthread
tests_test_dataset_files_SOURCES = tests/idx_kit.h tests/temp_path.h tests/test_dataset_files.c

tests_test_device_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_device_LDADD = $(TFR_TEST_CORE)
tests_test_device_SOURCES = tests/test_device.c tests/fake/kit.h

tests_test_digits_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) -I$(top_srcdir) $(CUNIT_CFLAGS)
tests_test_digits_LDADD = libtfrun-nn-digits.la $(CUNIT_LIBS)
tests_test_digits_SOURCES = tests/test_digits.c

tests_test_digits_unoptimized_CPPFLAGS = $(tests_test_digits_CPPFLAGS)
tests_test_digits_unoptimized_CFLAGS = $(AM_CFLAGS) -O0 -ffp-contract=off
tests_test_digits_unoptimized_LDADD = $(CUNIT_LIBS)
tests_test_digits_unoptimized_SOURCES = tests/test_digits.c $(tfr_digits)

tests_test_dlpack_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_dlpack_LDADD = $(TFR_TEST_CORE)
tests_test_dlpack_SOURCES = tests/test_dlpack.c

tests_test_dtype_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_dtype_LDADD = $(TFR_TEST_CORE)
tests_test_dtype_SOURCES = tests/test_dtype.c

tests_test_gemm_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS) \
	-I$(top_srcdir)/plugins/cpu-native
tests_test_gemm_LDADD = $(tfr_native_gemm_objects) $(CUNIT_LIBS) -lm
tests_test_gemm_SOURCES = tests/test_gemm.c tests/gemm_kit.h

tests_test_gemm_modes_CPPFLAGS = $(tests_test_gemm_CPPFLAGS)
tests_test_gemm_modes_LDADD = $(tests_test_gemm_LDADD)
tests_test_gemm_modes_SOURCES = tests/test_gemm_modes.c tests/gemm_kit.h

tests_test_gemm_threads_CPPFLAGS = $(tests_test_gemm_CPPFLAGS)
tests_test_gemm_threads_LDADD = $(tests_test_gemm_LDADD)
tests_test_gemm_threads_SOURCES = tests/test_gemm_threads.c

tests_test_int8_product_CPPFLAGS = $(tests_test_gemm_CPPFLAGS)
tests_test_int8_product_LDADD = \
	$(tfr_native_int8_objects) \
	plugins/cpu-native/tfrun_native_la-level.lo \
	$(CUNIT_LIBS) -lm
tests_test_int8_product_SOURCES = tests/test_int8_product.c tests/int8_kit.h
tests_test_int8_depthwise_CPPFLAGS = $(tests_test_int8_product_CPPFLAGS)
tests_test_int8_depthwise_LDADD = $(tests_test_int8_product_LDADD)
tests_test_int8_depthwise_SOURCES = tests/test_int8_depthwise.c tests/int8_kit.h
tests_test_int8_narrow_CPPFLAGS = $(tests_test_int8_product_CPPFLAGS)
tests_test_int8_narrow_LDADD = $(tests_test_int8_product_LDADD)
tests_test_int8_narrow_SOURCES = tests/test_int8_narrow.c tests/int8_kit.h
tests_test_int8_results_CPPFLAGS = $(tests_test_int8_product_CPPFLAGS)
tests_test_int8_results_LDADD = $(tests_test_int8_product_LDADD)
tests_test_int8_results_SOURCES = tests/test_int8_results.c tests/int8_kit.h
tests_test_int8_winograd_CPPFLAGS = $(tests_test_int8_product_CPPFLAGS)
tests_test_int8_winograd_LDADD = $(tests_test_int8_product_LDADD)
tests_test_int8_winograd_SOURCES = tests/test_int8_winograd.c tests/int8_kit.h

tests_test_nbits_CPPFLAGS = $(tests_test_gemm_CPPFLAGS)
tests_test_nbits_LDADD = $(tfr_native_nbits_objects) $(tests_test_gemm_LDADD)
tests_test_nbits_SOURCES = tests/test_nbits.c

tests_test_fit_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) -I$(top_srcdir) $(CUNIT_CFLAGS)
tests_test_fit_LDADD = $(TFR_TEST_NN) -lpthread
tests_test_fit_SOURCES = tests/session_kit.h tests/temp_path.h tests/test_fit.c

tests_test_graph_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_graph_LDADD = $(TFR_TEST_CORE)
tests_test_graph_SOURCES = tests/test_graph.c

tests_test_harness_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_harness_LDADD = $(TFR_TEST_CORE)
tests_test_harness_SOURCES = tests/test_harness.c tests/tfr_test.h

tests_test_hostile_values_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_hostile_values_LDADD = $(TFR_TEST_CORE)
tests_test_hostile_values_SOURCES = tests/graph_text.h tests/test_hostile_values.c

tests_test_immediate_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_immediate_LDADD = $(TFR_TEST_CORE)
tests_test_immediate_SOURCES = tests/session_kit.h tests/test_immediate.c

tests_test_immediate_queues_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_immediate_queues_LDADD = $(TFR_TEST_CORE)
tests_test_immediate_queues_SOURCES = tests/session_kit.h tests/test_immediate_queues.c
tests_test_immediate_queues_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_loader_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_loader_LDADD = $(TFR_TEST_CORE)
tests_test_loader_SOURCES = tests/test_loader.c tests/fake/kit.h

tests_test_pass_activation_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_pass_activation_LDADD = $(TFR_TEST_CORE)
tests_test_pass_activation_SOURCES = tests/graph_text.h tests/pass_kit.h tests/test_pass_activation.c

tests_test_pass_attention_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_pass_attention_LDADD = $(TFR_TEST_CORE)
tests_test_pass_attention_SOURCES = tests/graph_text.h tests/pass_kit.h tests/test_pass_attention.c

tests_test_pass_conv_bn_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_pass_conv_bn_LDADD = $(TFR_TEST_CORE)
tests_test_pass_conv_bn_SOURCES = tests/graph_text.h tests/pass_kit.h tests/test_pass_conv_bn.c

tests_test_pass_cse_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_pass_cse_LDADD = $(TFR_TEST_CORE)
tests_test_pass_cse_SOURCES = tests/graph_text.h tests/pass_kit.h tests/test_pass_cse.c

tests_test_optimizer_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_optimizer_LDADD = $(TFR_TEST_NN)
tests_test_optimizer_SOURCES = tests/session_kit.h tests/test_optimizer.c tests/trainer_kit.h

tests_test_optimize_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_optimize_LDADD = $(TFR_TEST_CORE)
tests_test_optimize_SOURCES = tests/graph_text.h tests/pass_kit.h tests/test_optimize.c

tests_test_pass_dead_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_pass_dead_LDADD = $(TFR_TEST_CORE)
tests_test_pass_dead_SOURCES = tests/graph_text.h tests/pass_kit.h tests/test_pass_dead.c

tests_test_pass_decompose_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_pass_decompose_LDADD = $(TFR_TEST_CORE)
tests_test_pass_decompose_SOURCES = tests/graph_text.h tests/pass_kit.h tests/test_pass_decompose.c

tests_test_pass_fold_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_pass_fold_LDADD = $(TFR_TEST_CORE)
tests_test_pass_fold_SOURCES = tests/graph_text.h tests/pass_kit.h tests/test_pass_fold.c

tests_test_pass_layer_norm_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_pass_layer_norm_LDADD = $(TFR_TEST_CORE)
tests_test_pass_layer_norm_SOURCES = tests/graph_text.h tests/pass_kit.h tests/test_pass_layer_norm.c

tests_test_pass_loop_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_pass_loop_LDADD = $(TFR_TEST_CORE)
tests_test_pass_loop_SOURCES = tests/graph_text.h tests/pass_kit.h tests/test_pass_loop.c

tests_test_pass_matmul_add_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_pass_matmul_add_LDADD = $(TFR_TEST_CORE)
tests_test_pass_matmul_add_SOURCES = tests/graph_text.h tests/pass_kit.h tests/test_pass_matmul_add.c

tests_test_pass_transpose_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_pass_transpose_LDADD = $(TFR_TEST_CORE)
tests_test_pass_transpose_SOURCES = tests/graph_text.h tests/pass_kit.h tests/test_pass_transpose.c

tests_test_placement_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_placement_LDADD = $(TFR_TEST_CORE)
tests_test_placement_SOURCES = tests/session_kit.h tests/test_placement.c

tests_test_plugin_cache_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_plugin_cache_LDADD = $(TFR_TEST_CORE)
tests_test_plugin_cache_SOURCES = tests/fake/kit.h tests/test_plugin_cache.c

tests_test_plugin_config_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_plugin_config_LDADD = $(TFR_TEST_CORE)
tests_test_plugin_config_SOURCES = tests/fake/kit.h tests/test_plugin_config.c

tests_test_plugin_elf_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_plugin_elf_LDADD = $(TFR_TEST_CORE)
tests_test_plugin_elf_SOURCES = tests/fake/kit.h tests/test_plugin_elf.c

tests_test_plugin_libs_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_plugin_libs_LDADD = $(TFR_TEST_CORE)
tests_test_plugin_libs_SOURCES = tests/fake/kit.h tests/test_plugin_libs.c

tests_test_plugin_limits_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_plugin_limits_LDADD = $(TFR_TEST_CORE)
tests_test_plugin_limits_SOURCES = tests/fake/kit.h tests/test_plugin_limits.c

tests_test_plugin_open_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_plugin_open_LDADD = $(TFR_TEST_CORE)
tests_test_plugin_open_SOURCES = tests/test_plugin_open.c tests/fake/kit.h

tests_test_plugin_ops_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_plugin_ops_LDADD = $(TFR_TEST_NN)
tests_test_plugin_ops_SOURCES = tests/test_plugin_ops.c tests/fake/kit.h

tests_test_plugin_path_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_plugin_path_LDADD = $(TFR_TEST_CORE)
tests_test_plugin_path_SOURCES = tests/fake/kit.h tests/test_plugin_path.c

tests_test_plugin_probe_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_plugin_probe_LDADD = $(TFR_TEST_CORE)
tests_test_plugin_probe_SOURCES = tests/fake/kit.h tests/test_plugin_probe.c

tests_test_plugin_reply_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_plugin_reply_LDADD = $(TFR_TEST_CORE)
tests_test_plugin_reply_SOURCES = tests/test_plugin_reply.c

tests_test_infer_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_infer_LDADD = $(TFR_TEST_CORE)
tests_test_infer_SOURCES = tests/test_infer.c tests/infer_case.h

tests_test_infer_hostile_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_infer_hostile_LDADD = $(TFR_TEST_CORE)
tests_test_infer_hostile_SOURCES = tests/test_infer_hostile.c tests/infer_case.h

tests_test_infer_symbolic_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_infer_symbolic_LDADD = $(TFR_TEST_CORE)
tests_test_infer_symbolic_SOURCES = tests/test_infer_symbolic.c tests/graph_text.h

tests_test_mincut_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_mincut_LDADD = $(TFR_TEST_CORE)
tests_test_mincut_SOURCES = tests/test_mincut.c

tests_test_naive_text_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS) \
	-I$(top_srcdir)/plugins/naive
tests_test_naive_text_LDADD = $(TFR_TEST_CORE)
tests_test_naive_text_SOURCES = \
	tests/test_naive_text.c \
	tests/values_kit.h \
	plugins/naive/sort.c \
	$(NULL)

tests_test_naive_values_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_naive_values_LDADD = $(TFR_TEST_CORE)
tests_test_naive_values_SOURCES = tests/test_naive_values.c tests/values_kit.h

tests_test_native_kernels_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_native_kernels_LDADD = $(TFR_TEST_CORE)
tests_test_native_kernels_SOURCES = tests/test_native_kernels.c tests/graph_text.h

tests_test_native_nbits_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_native_nbits_LDADD = $(TFR_TEST_CORE)
tests_test_native_nbits_SOURCES = tests/session_kit.h tests/test_native_nbits.c

tests_test_native_batch_norm_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_native_batch_norm_LDADD = $(TFR_TEST_NN)
tests_test_native_batch_norm_SOURCES = tests/test_native_batch_norm.c tests/native_train_kit.h

tests_test_native_bf16_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_native_bf16_LDADD = $(TFR_TEST_NN)
tests_test_native_bf16_SOURCES = tests/test_native_bf16.c tests/native_train_kit.h

tests_test_native_encoder_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_native_encoder_LDADD = $(TFR_TEST_NN)
tests_test_native_encoder_SOURCES = tests/test_native_encoder.c tests/native_train_kit.h

tests_test_native_pooled_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS) \
	-I$(top_srcdir)/plugins/cpu-native
tests_test_native_pooled_LDADD = \
	$(tfr_native_isa_objects) \
	plugins/cpu-native/tfrun_native_la-program_pooled.lo \
	plugins/cpu-native/tfrun_native_la-program_sparse.lo \
	$(TFR_TEST_CORE) -lm
tests_test_native_pooled_SOURCES = tests/test_native_pooled.c

tests_test_native_programs_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_native_programs_LDADD = $(TFR_TEST_CORE)
tests_test_native_programs_SOURCES = tests/test_native_programs.c tests/native_program_kit.h \
	tests/graph_text.h tests/temp_path.h
tests_test_native_attention_CPPFLAGS = $(tests_test_native_programs_CPPFLAGS)
tests_test_native_attention_LDADD = $(tests_test_native_programs_LDADD)
tests_test_native_attention_SOURCES = tests/test_native_attention.c tests/native_program_kit.h \
	tests/graph_text.h
tests_test_native_convolutions_CPPFLAGS = $(tests_test_native_programs_CPPFLAGS)
tests_test_native_convolutions_LDADD = $(tests_test_native_programs_LDADD)
tests_test_native_convolutions_SOURCES = tests/test_native_convolutions.c \
	tests/native_program_kit.h tests/graph_text.h

tests_test_native_tables_CPPFLAGS = $(tests_test_native_programs_CPPFLAGS)
tests_test_native_tables_LDADD = $(tests_test_native_programs_LDADD)
tests_test_native_tables_SOURCES = tests/test_native_tables.c \
	tests/native_program_kit.h tests/graph_text.h
tests_test_native_tokens_CPPFLAGS = $(tests_test_native_programs_CPPFLAGS)
tests_test_native_tokens_LDADD = $(tests_test_native_programs_LDADD)
tests_test_native_tokens_SOURCES = tests/test_native_tokens.c \
	tests/native_program_kit.h tests/graph_text.h
tests_test_native_half_CPPFLAGS = $(tests_test_native_programs_CPPFLAGS)
tests_test_native_half_LDADD = $(tests_test_native_programs_LDADD)
tests_test_native_half_SOURCES = tests/test_native_half.c \
	tests/native_program_kit.h tests/graph_text.h
tests_test_native_images_CPPFLAGS = $(tests_test_native_programs_CPPFLAGS)
tests_test_native_images_LDADD = $(tests_test_native_programs_LDADD)
tests_test_native_images_SOURCES = tests/test_native_images.c \
	tests/native_program_kit.h tests/graph_text.h

tests_test_native_quantized_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_native_quantized_LDADD = $(TFR_TEST_CORE) -lm
tests_test_native_quantized_SOURCES = tests/test_native_quantized.c \
	tests/native_quantized_kit.h tests/graph_text.h

tests_test_native_quantized_bytes_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_native_quantized_bytes_LDADD = $(TFR_TEST_CORE) -lm
tests_test_native_quantized_bytes_SOURCES = tests/test_native_quantized_bytes.c \
	tests/native_quantized_kit.h tests/graph_text.h

tests_test_native_solve_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_native_solve_LDADD = $(TFR_TEST_CORE) -lm
tests_test_native_solve_SOURCES = tests/session_kit.h tests/test_native_solve.c

tests_test_native_train_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_native_train_LDADD = $(TFR_TEST_NN)
tests_test_native_train_SOURCES = tests/test_native_train.c tests/native_train_kit.h

tests_test_native_train_kernels_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS) \
	-I$(top_srcdir)/plugins/cpu-native
tests_test_native_train_kernels_LDADD = \
	$(tfr_native_isa_objects) \
	$(TFR_TEST_CORE) -lm
tests_test_native_train_kernels_SOURCES = tests/test_native_train_kernels.c

tests_test_native_trees_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_native_trees_LDADD = $(TFR_TEST_CORE)
tests_test_native_trees_SOURCES = tests/session_kit.h tests/test_native_trees.c

tests_test_native_ways_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_native_ways_LDADD = $(TFR_TEST_CORE)
tests_test_native_ways_SOURCES = tests/test_native_ways.c tests/graph_text.h

tests_test_net_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_net_LDADD = $(TFR_TEST_NN)
tests_test_net_SOURCES = tests/session_kit.h tests/test_net.c

tests_test_npy_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_npy_LDADD = $(TFR_TEST_FORMATS)
tests_test_npy_SOURCES = tests/test_npy.c tests/temp_path.h

tests_test_older_version_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_older_version_LDADD = $(TFR_TEST_CORE)
tests_test_older_version_SOURCES = tests/session_kit.h tests/test_older_version.c

tests_test_one_pool_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_one_pool_LDADD = $(TFR_TEST_CORE)
tests_test_one_pool_SOURCES = tests/test_one_pool.c tests/graph_text.h

tests_test_onednn_library_CPPFLAGS = $(AM_CPPFLAGS) $(ONEDNN_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_onednn_library_LDADD = $(TFR_TEST_CORE)
tests_test_onednn_library_SOURCES = tests/test_onednn_library.c tests/graph_text.h

tests_test_onnx_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_onnx_LDADD = $(TFR_TEST_FORMATS)
tests_test_onnx_SOURCES = tests/test_onnx.c tests/onnx_build.h tests/temp_path.h

tests_test_onnx_external_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_onnx_external_LDADD = $(TFR_TEST_FORMATS)
tests_test_onnx_external_SOURCES = tests/test_onnx_external.c tests/onnx_build.h tests/temp_path.h

tests_test_onnx_flex_attention_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_onnx_flex_attention_LDADD = $(TFR_TEST_NN)
tests_test_onnx_flex_attention_SOURCES = tests/test_onnx_flex_attention.c tests/onnx_build.h

tests_test_onnx_gradient_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_onnx_gradient_LDADD = $(TFR_TEST_NN)
tests_test_onnx_gradient_SOURCES = tests/test_onnx_gradient.c tests/onnx_build.h

tests_test_images_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) -I$(top_srcdir) $(CUNIT_CFLAGS)
tests_test_images_LDADD = libtfrun-images.la $(CUNIT_LIBS)
tests_test_images_SOURCES = tests/test_images.c

tests_test_onnx_map_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_onnx_map_LDADD = $(TFR_TEST_FORMATS)
tests_test_onnx_map_SOURCES = tests/test_onnx_map.c tests/onnx_build.h tests/temp_path.h

tests_test_onnx_hostile_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_onnx_hostile_LDADD = $(TFR_TEST_FORMATS)
tests_test_onnx_hostile_SOURCES = tests/test_onnx_hostile.c tests/onnx_build.h tests/temp_path.h

tests_test_onnx_memory_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_onnx_memory_LDADD = $(TFR_TEST_FORMATS)
# The n-th request for memory fails: in the libraries under test, not only in the program.
tests_test_onnx_memory_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc \
	-Wl,--wrap=realloc -Wl,--wrap=posix_memalign -Wl,--wrap=aligned_alloc \
	-Wl,--wrap=strdup -Wl,--wrap=strndup
tests_test_onnx_memory_SOURCES = tests/test_onnx_memory.c tests/onnx_build.h tests/temp_path.h

tests_test_onnx_models_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_onnx_models_LDADD = $(TFR_TEST_NN)
tests_test_onnx_models_SOURCES = tests/test_onnx_models.c

tests_test_onnx_roundtrip_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_onnx_roundtrip_LDADD = $(TFR_TEST_NN)
tests_test_onnx_roundtrip_SOURCES = tests/test_onnx_roundtrip.c tests/graph_equal.h

tests_test_onnx_save_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_onnx_save_LDADD = $(TFR_TEST_FORMATS)
tests_test_onnx_save_SOURCES = tests/test_onnx_save.c tests/graph_equal.h tests/onnx_save_kit.h

tests_test_onnx_save_files_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_onnx_save_files_LDADD = $(TFR_TEST_FORMATS)
tests_test_onnx_save_files_SOURCES = tests/test_onnx_save_files.c tests/graph_equal.h \
	tests/onnx_save_kit.h tests/temp_path.h

tests_test_onnx_tensor_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_onnx_tensor_LDADD = $(TFR_TEST_FORMATS)
tests_test_onnx_tensor_SOURCES = tests/test_onnx_tensor.c tests/onnx_build.h tests/temp_path.h

tests_test_onnx_upgrade_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_onnx_upgrade_LDADD = $(TFR_TEST_FORMATS)
tests_test_onnx_upgrade_SOURCES = tests/test_onnx_upgrade.c tests/onnx_build.h

# The libraries once more, for a program that counts the basic blocks that run.
tests_test_growth_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_growth_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc \
	-Wl,--wrap=realloc -Wl,--wrap=posix_memalign
tests_test_growth_SOURCES = tests/growth_models.h tests/session_kit.h tests/test_growth.c
if TFR_COUNTS
tests_test_growth_CPPFLAGS += -DTFR_COUNTS
tests_test_growth_LDADD = tests/libcounted.la $(CUNIT_LIBS)
tests_test_growth_DEPENDENCIES = tests/libcounted.la tests/fakeacc/fakeacc.la
EXTRA_LTLIBRARIES += tests/libcounted.la
tests_libcounted_la_CFLAGS = $(AM_CFLAGS) $(TFR_CORE_CFLAGS) -O1 -fsanitize-coverage=trace-pc
tests_libcounted_la_CPPFLAGS = $(libtfrun_core_la_CPPFLAGS) -I$(top_srcdir)/formats -I$(top_srcdir)/nn \
	-I$(top_srcdir)
tests_libcounted_la_SOURCES = $(libtfrun_base_la_SOURCES) $(libtfrun_core_la_SOURCES) \
	$(libtfrun_call_la_SOURCES) $(libtfrun_run_la_SOURCES) $(libtfrun_formats_la_SOURCES) \
	$(libtfrun_nn_core_la_SOURCES)
else
tests_test_growth_LDADD = $(TFR_TEST_NN)
endif

tests_test_op_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_op_LDADD = $(TFR_TEST_CORE)
tests_test_op_SOURCES = tests/test_op.c

tests_test_pool_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_pool_LDADD = $(TFR_TEST_CORE)
tests_test_pool_SOURCES = tests/test_pool.c

tests_program_case = tests/graph_text.h tests/program_case.h tests/program_kit.h \
	tests/session_kit.h
tests_test_program_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_program_LDADD = $(TFR_TEST_CORE)
tests_test_program_SOURCES = $(tests_program_case) tests/test_program.c

tests_test_program_failure_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_program_failure_LDADD = $(TFR_TEST_CORE)
tests_test_program_failure_SOURCES = $(tests_program_case) tests/test_program_failure.c

tests_test_program_memory_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_program_memory_LDADD = $(TFR_TEST_CORE)
tests_test_program_memory_SOURCES = $(tests_program_case) tests/temp_path.h tests/test_program_memory.c

tests_test_safetensors_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_safetensors_LDADD = $(TFR_TEST_FORMATS)
tests_test_safetensors_SOURCES = tests/temp_path.h tests/test_safetensors.c

tests_test_scan_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_scan_LDADD = $(TFR_TEST_CORE)
tests_test_scan_SOURCES = tests/graph_text.h tests/session_kit.h tests/test_scan.c

tests_test_sequence_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_sequence_LDADD = $(TFR_TEST_CORE)
tests_test_sequence_SOURCES = tests/test_sequence.c

tests_test_shape_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_shape_LDADD = $(TFR_TEST_CORE)
tests_test_shape_SOURCES = tests/test_shape.c

tests_test_slot_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_slot_LDADD = $(TFR_TEST_CORE)
tests_test_slot_SOURCES = tests/graph_text.h tests/session_kit.h tests/test_slot.c

tests_test_status_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_status_LDADD = $(TFR_TEST_CORE)
tests_test_status_SOURCES = tests/test_status.c

tests_test_store_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_store_LDADD = $(TFR_TEST_CORE)
tests_test_store_SOURCES = tests/test_store.c tests/fake/kit.h

tests_test_stranger_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_stranger_LDADD = $(TFR_TEST_CORE)
tests_test_stranger_SOURCES = tests/graph_text.h tests/session_kit.h tests/test_stranger.c
tests_test_stranger_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_tensor_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_tensor_LDADD = $(TFR_TEST_CORE)
tests_test_tensor_SOURCES = tests/test_tensor.c

tests_test_train_accelerator_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_train_accelerator_LDADD = $(TFR_TEST_NN)
tests_test_train_accelerator_SOURCES = tests/session_kit.h tests/test_train_accelerator.c
tests_test_train_accelerator_DEPENDENCIES = $(TFR_WITH_NN) tests/fakeacc/fakeacc.la

tests_test_train_counts_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_train_counts_LDADD = $(TFR_TEST_NN)
tests_test_train_counts_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=tfr__pool_run
tests_test_train_counts_SOURCES = tests/session_kit.h tests/test_train_counts.c

tests_test_train_graph_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) -I$(top_srcdir) $(CUNIT_CFLAGS)
tests_test_train_graph_LDADD = $(TFR_TEST_NN)
tests_test_train_graph_SOURCES = tests/session_kit.h tests/test_train_graph.c

tests_test_train_recorded_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_train_recorded_LDADD = $(TFR_TEST_NN)
tests_test_train_recorded_SOURCES = tests/session_kit.h tests/test_train_recorded.c tests/train_recorded.h

tests_test_train_shards_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_train_shards_LDADD = $(TFR_TEST_NN)
tests_test_train_shards_SOURCES = tests/test_train_shards.c

tests_test_trainer_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_trainer_LDADD = $(TFR_TEST_NN)
tests_test_trainer_SOURCES = tests/session_kit.h tests/test_trainer.c tests/trainer_kit.h

tests_test_tuning_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_tuning_LDADD = $(TFR_TEST_CORE)
tests_test_tuning_SOURCES = tests/test_tuning.c tests/temp_path.h

tests_test_unaligned_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_unaligned_LDADD = $(TFR_TEST_CORE)
tests_test_unaligned_SOURCES = tests/test_unaligned.c tests/graph_text.h

tests_test_verify_random_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) -I$(top_srcdir)/cli \
	$(JANSSON_CFLAGS) $(CUNIT_CFLAGS)
tests_test_verify_random_LDADD = $(TFR_TEST_CORE) -lm
tests_test_verify_random_SOURCES = tests/test_verify_random.c cli/verify_random.c cli/verify.h

tests_test_winograd_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS) \
	-I$(top_srcdir)/plugins/cpu-native
tests_test_winograd_LDADD = \
	$(tfr_native_isa_objects) \
	plugins/cpu-native/tfrun_native_la-program_conv.lo \
	plugins/cpu-native/tfrun_native_la-program_conv_groups.lo \
	plugins/cpu-native/tfrun_native_la-program_conv_phases.lo \
	plugins/cpu-native/tfrun_native_la-program_conv_weights.lo \
	plugins/cpu-native/tfrun_native_la-program_tile_cut.lo \
	plugins/cpu-native/tfrun_native_la-program_tile_table.lo \
	plugins/cpu-native/tfrun_native_la-program_winograd.lo \
	plugins/cpu-native/tfrun_native_la-program_winograd_form.lo \
	plugins/cpu-native/tfrun_native_la-program_winograd_weights.lo \
	$(TFR_TEST_CORE)
tests_test_winograd_SOURCES = tests/test_winograd.c tests/winograd_kit.h
tests_test_winograd_errors_CPPFLAGS = $(tests_test_winograd_CPPFLAGS)
tests_test_winograd_errors_LDADD = $(tests_test_winograd_LDADD)
tests_test_winograd_errors_SOURCES = tests/test_winograd_errors.c tests/winograd_kit.h

tests_test_winograd_grad_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS) \
	-I$(top_srcdir)/plugins/cpu-native
tests_test_winograd_grad_LDADD = \
	$(tfr_native_isa_objects) \
	plugins/cpu-native/tfrun_native_la-program_winograd_form.lo \
	plugins/cpu-native/tfrun_native_la-program_winograd_grad.lo \
	$(TFR_TEST_CORE)
tests_test_winograd_grad_SOURCES = tests/test_winograd_grad.c

tests_test_wire_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_wire_LDADD = $(TFR_TEST_FORMATS)
tests_test_wire_SOURCES = tests/test_wire.c tests/onnx_build.h

tests_test_writer_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_writer_LDADD = $(TFR_TEST_CORE)
tests_test_writer_SOURCES = tests/test_writer.c tests/temp_path.h

tests_test_mapped_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_mapped_LDADD = $(TFR_TEST_FORMATS)
tests_test_mapped_SOURCES = tests/onnx_build.h tests/session_kit.h tests/temp_path.h \
	tests/test_mapped.c

tfr_quantize_kit = tests/graph_text.h tests/pass_kit.h tests/quantize_kit.h
tests_test_quantize_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_quantize_LDADD = $(TFR_TEST_NN)
tests_test_quantize_SOURCES = $(tfr_quantize_kit) tests/test_quantize.c
tests_test_quantize_activations_CPPFLAGS = $(tests_test_quantize_CPPFLAGS)
tests_test_quantize_activations_LDADD = $(tests_test_quantize_LDADD)
tests_test_quantize_activations_SOURCES = $(tfr_quantize_kit) tests/test_quantize_activations.c
tests_test_quantize_float16_CPPFLAGS = $(tests_test_quantize_CPPFLAGS)
tests_test_quantize_float16_LDADD = $(tests_test_quantize_LDADD)
tests_test_quantize_float16_SOURCES = $(tfr_quantize_kit) tests/test_quantize_float16.c
tests_test_quantize_weights_CPPFLAGS = $(tests_test_quantize_CPPFLAGS)
tests_test_quantize_weights_LDADD = $(tests_test_quantize_LDADD)
tests_test_quantize_weights_SOURCES = $(tfr_quantize_kit) tests/test_quantize_weights.c

tests_test_recompute_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) $(CUNIT_CFLAGS)
tests_test_recompute_LDADD = $(TFR_TEST_NN)
tests_test_recompute_SOURCES = tests/test_recompute.c

tests_test_regex_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_regex_LDADD = $(TFR_TEST_CORE)
tests_test_regex_SOURCES = tests/session_kit.h tests/test_regex.c

tests_test_schedule_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_NN_INCLUDES) -I$(top_srcdir) $(CUNIT_CFLAGS)
tests_test_schedule_LDADD = $(TFR_TEST_NN)
tests_test_schedule_SOURCES = tests/session_kit.h tests/test_schedule.c tests/train_recorded.h

tests_test_session_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_session_LDADD = $(TFR_TEST_CORE)
tests_test_session_SOURCES = tests/graph_text.h tests/session_kit.h tests/test_session.c

tests_test_session_plans_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_session_plans_LDADD = $(TFR_TEST_CORE)
tests_test_session_plans_SOURCES = tests/graph_text.h tests/session_kit.h tests/test_session_plans.c

tests_test_passes_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_passes_LDADD = $(TFR_TEST_CORE)
tests_test_passes_SOURCES = tests/graph_text.h tests/pass_kit.h tests/test_passes.c

tests_test_memory_out_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_memory_out_LDADD = $(TFR_TEST_CORE)
tests_test_memory_out_SOURCES = tests/test_memory_out.c

# For onnx_optimize.sh.
check_PROGRAMS += tests/optimize_models
tests_optimize_models_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
tests_optimize_models_LDADD = libtfrun-nn.la libtfrun.la
tests_optimize_models_SOURCES = tests/optimize_models.c

# Reads what tfrun run --trace writes.
check_PROGRAMS += tests/cli/train_check
tests_cli_train_check_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
tests_cli_train_check_LDADD = libtfrun-nn.la libtfrun.la
tests_cli_train_check_SOURCES = tests/cli/train_check.c

check_PROGRAMS += tests/cli/trace_check
tests_cli_trace_check_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_cli_trace_check_LDADD = $(JANSSON_LIBS)
tests_cli_trace_check_SOURCES = tests/cli/trace_check.c

# For LD_PRELOAD: calls of tfrun that write in a folder, and requests for memory, that fail. Built
# like the plugins of tests/fake, but without sanitizers, which have a malloc of their own.
preloads = tests/io_fails.so tests/malloc_fails.so
$(preloads): tests/%.so: tests/%.c
	$(AM_V_at)$(MKDIR_P) tests && c=tests/$*.c && \
	    { test -f "$$c" || c='$(srcdir)'/$$c; } && \
	    $(CC) $(AM_CPPFLAGS) $(CPPFLAGS) $(TFR_CFLAGS) $(CFLAGS) -fPIC -shared $(LDFLAGS) \
	        -o $@ "$$c"
check_DATA += $(preloads)
CLEANFILES += $(preloads)
EXTRA_DIST += tests/io_fails.c tests/malloc_fails.c

# The fake accelerator, in a folder of its own: who puts it on the plugin path gets only it.
check_LTLIBRARIES += tests/fakeacc/fakeacc.la
tests_fakeacc_fakeacc_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES)
tests_fakeacc_fakeacc_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
tests_fakeacc_fakeacc_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_MODULE_FLAGS) -rpath /nowhere
tests_fakeacc_fakeacc_la_SOURCES = \
	tests/fake/accelerator.c \
	tests/fake/accelerator.h \
	tests/fake/accelerator_capture.c \
	tests/fake/accelerator_kernel.c \
	tests/fake/accelerator_lent.c \
	tests/fake/accelerator_memory.c \
	tests/fake/accelerator_profile.c \
	tests/fake/accelerator_program.c \
	tests/fake/accelerator_queue.c \
	tests/fake/accelerator_spaces.c \
	$(NULL)

# Another plugin of the same driver.
check_LTLIBRARIES += tests/fakeacc2/fakeacc2.la
tests_fakeacc2_fakeacc2_la_CPPFLAGS = $(tests_fakeacc_fakeacc_la_CPPFLAGS) \
	-DFAKE_NAME='"fakeacc2"'
tests_fakeacc2_fakeacc2_la_CFLAGS = $(tests_fakeacc_fakeacc_la_CFLAGS)
tests_fakeacc2_fakeacc2_la_LDFLAGS = $(tests_fakeacc_fakeacc_la_LDFLAGS)
tests_fakeacc2_fakeacc2_la_SOURCES = $(tests_fakeacc_fakeacc_la_SOURCES)

tests_test_memory_account_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_memory_account_LDADD = $(TFR_TEST_CORE)
tests_test_memory_account_SOURCES = tests/graph_text.h tests/session_kit.h tests/test_memory_account.c
tests_test_memory_account_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_memory_constant_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_memory_constant_LDADD = $(TFR_TEST_CORE)
tests_test_memory_constant_SOURCES = tests/session_kit.h tests/test_memory_constant.c
tests_test_memory_constant_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_memory_domain_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_memory_domain_LDADD = $(TFR_TEST_CORE)
tests_test_memory_domain_SOURCES = tests/graph_text.h tests/session_kit.h tests/test_memory_domain.c
tests_test_memory_domain_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la \
	tests/fakeacc2/fakeacc2.la

tests_test_plan_again_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_plan_again_LDADD = $(TFR_TEST_CORE)
tests_test_plan_again_SOURCES = tests/graph_text.h tests/session_kit.h tests/test_plan_again.c

tests_test_plan_formula_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_plan_formula_LDADD = $(TFR_TEST_CORE)
tests_test_plan_formula_SOURCES = tests/graph_text.h tests/session_kit.h tests/test_plan_formula.c

tests_test_plan_layers_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_plan_layers_LDADD = $(TFR_TEST_CORE)
tests_test_plan_layers_SOURCES = $(tests_program_case) tests/test_plan_layers.c

tests_test_prices_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_prices_LDADD = $(TFR_TEST_CORE)
tests_test_prices_SOURCES = tests/graph_text.h tests/session_kit.h tests/temp_path.h \
	tests/test_prices.c
tests_test_prices_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_capture_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_capture_LDADD = $(TFR_TEST_CORE)
tests_test_capture_SOURCES = tests/session_kit.h tests/test_capture.c tests/training_kit.h
tests_test_capture_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_fetch_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_fetch_LDADD = $(TFR_TEST_CORE)
tests_test_fetch_SOURCES = tests/session_kit.h tests/test_fetch.c
tests_test_fetch_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_variable_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_variable_LDADD = $(TFR_TEST_CORE)
tests_test_variable_SOURCES = tests/session_kit.h tests/test_variable.c tests/training_kit.h
tests_test_variable_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_random_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_random_LDADD = $(TFR_TEST_CORE)
tests_test_random_SOURCES = tests/session_kit.h tests/test_random.c
tests_test_random_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_executor_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_executor_LDADD = $(TFR_TEST_CORE)
tests_test_executor_SOURCES = tests/graph_text.h tests/session_kit.h tests/test_executor.c
tests_test_executor_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_timeout_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_timeout_LDADD = $(TFR_TEST_CORE)
tests_test_timeout_SOURCES = tests/graph_text.h tests/session_kit.h tests/test_timeout.c
tests_test_timeout_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_launch_errors_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_launch_errors_LDADD = $(TFR_TEST_CORE)
tests_test_launch_errors_SOURCES = tests/session_kit.h tests/test_launch_errors.c
tests_test_launch_errors_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_peer_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_peer_LDADD = $(TFR_TEST_CORE)
tests_test_peer_SOURCES = tests/graph_text.h tests/session_kit.h tests/test_peer.c
tests_test_peer_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_native_handle_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_native_handle_LDADD = $(TFR_TEST_CORE)
tests_test_native_handle_SOURCES = tests/graph_text.h tests/session_kit.h tests/test_native_handle.c
tests_test_native_handle_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_trace_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_trace_LDADD = $(TFR_TEST_CORE)
tests_test_trace_SOURCES = tests/graph_text.h tests/session_kit.h tests/test_trace.c
tests_test_trace_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

tests_test_binding_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_TEST_INCLUDES) $(CUNIT_CFLAGS)
tests_test_binding_LDADD = $(TFR_TEST_CORE)
tests_test_binding_SOURCES = tests/graph_text.h tests/session_kit.h tests/test_binding.c
tests_test_binding_DEPENDENCIES = libtfrun-core.la tests/fakeacc/fakeacc.la

include tests/ops/local.mk

TESTS = $(long_tests) $(run_unit_tests) $(fuzz_tests) $(shell_tests)
TEST_EXTENSIONS = .sh
# A test that hangs fails by name, and the others go on; the longest takes a tenth of this.
test_limit = $(SHELL) '$(abs_top_srcdir)/scripts/timed' timeout -k 10 1200
LOG_COMPILER = $(test_limit)
SH_LOG_COMPILER = $(test_limit) $(SHELL)
AM_TESTS_ENVIRONMENT = \
	TFR_SRCDIR='$(abs_top_srcdir)'; TFR_BUILDDIR='$(abs_top_builddir)'; \
	TFR_CC='$(CC)'; TFR_SANITIZE='$(TFR_SANITIZE)'; \
	. '$(abs_top_srcdir)/tests/env.sh';
EXTRA_DIST += $(long_tests) $(shell_tests) tests/env.sh tests/lib.sh tests/sdk/square_model.sh
EXTRA_DIST += \
	tests/cli/devices.expected \
	tests/cli/devices_json.expected \
	tests/cli/explain.expected \
	tests/cli/model.sh \
	tests/cli/run_json.expected \
	tests/cli/verify.expected \
	tests/data/ops/README \
	tests/data/ops/classic.tar.gz \
	tests/data/ops/coarse.tar.gz \
	tests/data/ops/image.tar.gz \
	tests/data/ops/make.py \
	tests/data/ops/make_microsoft.py \
	tests/data/ops/microsoft.tar.gz \
	tests/data/ops/microsoft_refused.tar.gz \
	tests/data/ops/newer.tar.gz \
	tests/data/ops/tfrun.tar.gz \
	$(NULL)

# "make install" relinks libtfrun-nn and moves the built one aside for a moment, so it goes last.
tests/build/install.log: $(TEST_LOGS:tests/build/install.log=)

# The unit tests alone, for a second pass in a sanitizer build.
check-unit:
	@$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(run_unit_tests) $(fuzz_tests)'

# scripts/test-summary asks which logs there should be; a missing one is a failure.
print-test-logs:
	@echo $(TEST_LOGS)
print-unit-test-logs:
	@$(MAKE) -s --no-print-directory print-test-logs TESTS='$(run_unit_tests) $(fuzz_tests)'
print-bindir print-libdir print-includedir print-plugindir print-templatedir \
print-tfrunexecdir:
	@case $@ in \
	*-bindir) echo '$(bindir)' ;; *-libdir) echo '$(libdir)' ;; \
	*-includedir) echo '$(includedir)' ;; *-plugindir) echo '$(plugindir)' ;; \
	*-templatedir) echo '$(templatedir)' ;; *) echo '$(tfrunexecdir)' ;; esac
.PHONY: check-unit print-test-logs print-unit-test-logs

# libFuzzer's targets need clang and are built by hand; HACKING.md says how.
# Here their corpora are replayed, which take no time.
fuzz_tests = \
	tests/fuzz/replay_external \
	tests/fuzz/replay_npy \
	tests/fuzz/replay_onnx \
	tests/fuzz/replay_tensor \
	$(NULL)
check_PROGRAMS += $(fuzz_tests)
EXTRA_DIST += \
	tests/fuzz/external.corpus \
	tests/fuzz/npy.corpus \
	tests/fuzz/onnx.corpus \
	tests/fuzz/tensor.corpus \
	$(NULL)
tests_fuzz_replay_external_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
tests_fuzz_replay_external_LDADD = libtfrun-formats.la libtfrun-core.la
tests_fuzz_replay_external_SOURCES = tests/fuzz/fuzz_external.c tests/fuzz/replay.c
tests_fuzz_replay_npy_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
tests_fuzz_replay_npy_LDADD = libtfrun-formats.la libtfrun-core.la
tests_fuzz_replay_npy_SOURCES = tests/fuzz/fuzz_npy.c tests/fuzz/replay.c
tests_fuzz_replay_onnx_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
tests_fuzz_replay_onnx_LDADD = $(TFR_WITH_NN)
tests_fuzz_replay_onnx_SOURCES = tests/fuzz/fuzz_onnx.c tests/fuzz/replay.c
tests_fuzz_replay_tensor_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
tests_fuzz_replay_tensor_LDADD = libtfrun-formats.la libtfrun-core.la
tests_fuzz_replay_tensor_SOURCES = tests/fuzz/fuzz_tensor.c tests/fuzz/replay.c


# What the runtimes of the tests remember.
clean-tests:
	rm -rf tests/xdg
clean-local: clean-tests
.PHONY: clean-tests
EXTRA_DIST += tests/onnx_known.list tests/onnx_known_1.17.list

include tests/fuzz/local.mk
