# SPDX-License-Identifier: Apache-2.0
# libtfrun. The objects live in a convenience library, so that unit tests reach internals, too.
noinst_LTLIBRARIES += libtfrun-base.la libtfrun-call.la libtfrun-core.la libtfrun-run.la
libtfrun_core_la_CFLAGS = $(AM_CFLAGS) $(TFR_CORE_CFLAGS) $(TFR_SIZE_CFLAGS)
libtfrun_core_la_LIBADD = libtfrun-base.la libtfrun-call.la libtfrun-run.la
libtfrun_core_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CORE_INCLUDES) -DTFR_FAIL_INLINE=inline \
	-DTFR_PLUGIN_DIR='"$(plugindir)"' \
	-DTFR_SYSCONFDIR='"$(sysconfdir)"' \
	-DTFR_PROBE_PATH='"$(tfrunexecdir)/tfrun-probe"'
libtfrun_core_la_SOURCES = \
	core/base/alloc.h \
	core/base/arena.c \
	core/base/arena.h \
	core/base/arena_stream.c \
	core/base/cache_file.c \
	core/base/cache_file.h \
	core/base/checked.h \
	core/base/env.c \
	core/base/env.def \
	core/base/env.h \
	core/base/hash.h \
	core/base/region.c \
	core/base/region.h \
	core/base/names.c \
	core/base/names.h \
	core/base/port/clock.h \
	core/base/port/cpu.c \
	core/base/port/cpu.h \
	core/base/port/cpus.c \
	core/base/port/cpus.h \
	core/base/port/dl.c \
	core/base/port/dl.h \
	core/base/port/fpmode.h \
	core/base/port/park.h \
	core/base/port/pool.h \
	core/base/status.c \
	core/base/thread.c \
	core/base/thread.h \
	core/device/account.c \
	core/device/account.h \
	core/device/backend_memory.c \
	core/device/comm.c \
	core/device/comm.h \
	core/device/comm_store.c \
	core/device/constant.c \
	core/device/constant.h \
	core/device/device.c \
	core/device/device_name.c \
	core/device/host.c \
	core/device/loader.h \
	core/device/log.c \
	core/device/native.c \
	core/device/native.h \
	core/device/peer.c \
	core/device/plugin_asks.c \
	core/device/plugin_cache.c \
	core/device/plugin_config.c \
	core/device/plugin_elf.c \
	core/device/plugin_elf.h \
	core/device/plugin_import.c \
	core/device/plugin_libs.c \
	core/device/plugin_load.c \
	core/device/plugin_note.c \
	core/device/plugin_ops.c \
	core/device/plugin_path.c \
	core/device/plugin_probe.c \
	core/device/plugin_reply.c \
	core/device/plugin_scan.c \
	core/device/plugin_state.c \
	core/device/runtime.c \
	core/device/runtime.h \
	core/device/slot.c \
	core/device/slot.h \
	core/device/staging.c \
	core/device/staging.h \
	core/device/store.c \
	core/device/store.h \
	core/device/stream.c \
	core/device/stream.h \
	core/device/stream_memory.c \
	core/device/stream_rest.c \
	core/device/stream_stop.c \
	core/device/tuning.c \
	core/device/tuning.h \
	core/graph/captures.c \
	core/graph/captures.h \
	core/graph/graph.c \
	core/graph/graph.h \
	core/graph/graph_copy.c \
	core/graph/graph_infer.c \
	core/graph/graph_infer.h \
	core/graph/graph_infer_control.c \
	core/graph/graph_nodes.c \
	core/graph/graph_symbols.c \
	core/graph/graph_view.c \
	core/graph/graph_work.c \
	core/kernel/call.c \
	core/kernel/call.h \
	core/kernel/eval.c \
	core/kernel/eval.h \
	core/kernel/key.c \
	core/kernel/key.h \
	core/kernel/place.c \
	core/kernel/place.h \
	core/op/attr.c \
	core/op/attr.h \
	core/op/cost.c \
	core/op/cost.h \
	core/op/infer.c \
	core/op/infer.h \
	core/op/infer_attention.c \
	core/op/infer_attrs.c \
	core/op/infer_conv.c \
	core/op/infer_einsum.c \
	core/op/infer_elements.c \
	core/op/infer_elementwise.c \
	core/op/infer_foreign.c \
	core/op/infer_generate.c \
	core/op/infer_image.c \
	core/op/infer_index.c \
	core/op/infer_kit.c \
	core/op/infer_kit.h \
	core/op/infer_linalg.c \
	core/op/infer_matmul.c \
	core/op/infer_ml.c \
	core/op/infer_ml.h \
	core/op/infer_move.c \
	core/op/infer_norm.c \
	core/op/infer_pool.c \
	core/op/infer_quant.c \
	core/op/infer_reduce.c \
	core/op/infer_rnn.c \
	core/op/infer_rows.h \
	core/op/infer_sequence.c \
	core/op/infer_signal.c \
	core/op/infer_symbols.c \
	core/op/infer_symbols.h \
	core/op/infer_text.c \
	core/op/infer_train.c \
	core/op/infer_trees.c \
	core/op/infer_value.c \
	core/op/infer_view.c \
	core/op/infer_window.c \
	core/op/infer_window.h \
	core/op/normal_form.c \
	core/op/older.c \
	core/op/op.c \
	core/op/op.h \
	core/op/op_foreign.c \
	core/op/op_foreign.h \
	core/op/op_list.c \
	core/op/ops.def \
	core/op/signature.c \
	core/op/type.c \
	core/optimize/optimize.c \
	core/optimize/pass_activation.c \
	core/optimize/pass_attention.c \
	core/optimize/pass_conv_bn.c \
	core/optimize/pass_cse.c \
	core/optimize/pass_dead.c \
	core/optimize/pass_decompose.c \
	core/optimize/pass_fold.c \
	core/optimize/pass_layer_norm.c \
	core/optimize/pass_loop.c \
	core/optimize/pass_matmul_add.c \
	core/optimize/pass_transpose.c \
	core/optimize/passes.c \
	core/optimize/passes.h \
	core/optimize/rewrite.c \
	core/optimize/rewrite.h \
	core/optimize/rewrite_match.c \
	core/optimize/rewrite_types.c \
	core/optimize/write_out.c \
	core/plan/buffer.h \
	core/plan/capture.c \
	core/plan/capture.h \
	core/plan/mincut.c \
	core/plan/mincut.h \
	core/plan/placed.h \
	core/plan/plan.c \
	core/plan/plan.h \
	core/plan/plan_again.c \
	core/plan/plan_base.c \
	core/plan/plan_bind.c \
	core/plan/plan_blob.c \
	core/plan/plan_buffers.c \
	core/plan/plan_build.c \
	core/plan/plan_build.h \
	core/plan/plan_capture.c \
	core/plan/plan_compile.c \
	core/plan/plan_cost.c \
	core/plan/plan_cost.h \
	core/plan/plan_course.c \
	core/plan/plan_fetch.c \
	core/plan/plan_formula.c \
	core/plan/plan_formula.h \
	core/plan/plan_infer.c \
	core/plan/plan_place.c \
	core/plan/plan_program.c \
	core/plan/plan_renew.c \
	core/plan/plan_sample.c \
	core/plan/plan_steps.c \
	core/plan/plan_steps.h \
	core/plan/plan_variables.c \
	core/plan/plan_view.c \
	core/plan/plan_view.h \
	core/plan/plan_twin.c \
	core/plan/step.h \
	core/plan/variable.c \
	core/plan/variable.h \
	core/run/binding.c \
	core/run/binding.h \
	core/run/control.c \
	core/run/exec.h \
	core/run/failure.c \
	core/run/frame.h \
	core/run/host_ops.h \
	core/run/immediate.c \
	core/run/native.c \
	core/run/report.c \
	core/run/sequence_ops.c \
	core/run/session.h \
	core/run/subgraph.h \
	core/run/trace.c \
	core/run/trace.h \
	core/value/dtype.c \
	core/value/join.c \
	core/value/join.h \
	core/value/sequence.c \
	core/value/bits.h \
	core/value/convert.c \
	core/value/smallfloat.h \
	core/value/tensor.h \
	core/value/tensor_copy.c \
	core/value/tensor_dlpack.c \
	$(NULL)

# What libtfrun, libtfrun-nn and the command each have inside.
libtfrun_base_la_CFLAGS = $(AM_CFLAGS) $(TFR_CORE_CFLAGS) $(TFR_SIZE_CFLAGS)
libtfrun_base_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
libtfrun_base_la_SOURCES = \
	core/base/beside.c \
	core/base/beside.h \
	core/base/path.c \
	core/base/path.h \
	core/base/writer.c \
	core/base/writer.h \
	$(NULL)

# What works at each run is compiled for speed, all else for size: libtfrun has a limit (size.sh).
libtfrun_run_la_CFLAGS = $(AM_CFLAGS) $(TFR_CORE_CFLAGS)
libtfrun_run_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CORE_INCLUDES) -DTFR_FAIL_INLINE=inline
libtfrun_run_la_SOURCES = \
	core/base/port/park.c \
	core/base/port/pool.c \
	core/run/binding_run.c \
	core/run/walk.c \
	core/value/smallfloat.c \
	core/value/strided.c \
	$(NULL)

# What a call of tfr_session_run passes through. For size, too, but the C library sets and copies its
# memory: the instruction that gcc takes for size needs 5 ns to begin, and a call has some of them.
libtfrun_call_la_CFLAGS = $(libtfrun_core_la_CFLAGS) $(TFR_STRING_CFLAGS)
libtfrun_call_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CORE_INCLUDES) -DTFR_FAIL_INLINE=inline
libtfrun_call_la_SOURCES = \
	core/base/alloc.c \
	core/plan/plan_bound.c \
	core/run/exec.c \
	core/run/fetch.c \
	core/run/frame.c \
	core/run/session.c \
	core/run/subgraph.c \
	core/value/shape.c \
	core/value/tensor.c \
	$(NULL)

tfruninclude_HEADERS += \
	include/tfrun/device.h \
	include/tfrun/dlpack.h \
	include/tfrun/dtype.h \
	include/tfrun/env.h \
	include/tfrun/graph.h \
	include/tfrun/native.h \
	include/tfrun/op.h \
	include/tfrun/optimize.h \
	include/tfrun/runtime.h \
	include/tfrun/session.h \
	include/tfrun/shape.h \
	include/tfrun/slot.h \
	include/tfrun/status.h \
	include/tfrun/tensor.h \
	include/tfrun/tfrun.h \
	include/tfrun/trace.h \
	$(NULL)

lib_LTLIBRARIES += libtfrun.la
libtfrun_la_SOURCES =
libtfrun_la_LIBADD = libtfrun-core.la
# Its threads never end, so it is never unmapped. Its calls of its own functions stay inside,
# whatever a plugin defines; code and constants share a segment, which saves two pages.
libtfrun_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_NO_UNDEFINED) $(TFR_GC_SECTIONS) -Wl,-z,nodelete \
	-Wl,-Bsymbolic -Wl,-z,noseparate-code $(TFR_SORT_SECTIONS) \
	-version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/core/libtfrun.map
libtfrun_la_DEPENDENCIES = libtfrun-core.la core/libtfrun.map
EXTRA_DIST += core/libtfrun.map

# The child that meets a plugin first. It links the objects it needs, not libtfrun.so, so that it
# starts fast and always has the same version as the library that starts it.
tfrunexec_PROGRAMS += tfrun-probe
tfrun_probe_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_CORE_INCLUDES)
tfrun_probe_SOURCES = core/device/probe_limits.c core/device/probe_limits.h \
	core/device/probe_main.c core/op/op_check.c
tfrun_probe_LDADD = libtfrun-core.la
