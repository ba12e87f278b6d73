# SPDX-License-Identifier: Apache-2.0
# The tfrun command: one file a subcommand.
bin_PROGRAMS += tfrun
tfrun_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES) $(JANSSON_CFLAGS) \
	-DTFR_EXEC_DIR='"$(tfrunexecdir)"'
tfrun_SOURCES = \
	cli/bench_field.c \
	cli/bench_field.h \
	cli/cli.h \
	cli/cmd_bench.c \
	cli/cmd_certify.c \
	cli/cmd_complete.c \
	cli/cmd_devices.c \
	cli/cmd_doctor.c \
	cli/cmd_explain.c \
	cli/cmd_help.c \
	cli/cmd_inspect.c \
	cli/cmd_matmul.c \
	cli/cmd_ops.c \
	cli/cmd_optimize.c \
	cli/cmd_plugins.c \
	cli/cmd_profile.c \
	cli/cmd_quantize.c \
	cli/cmd_run.c \
	cli/cmd_train.c \
	cli/cmd_verify.c \
	cli/cmd_version.c \
	cli/commands.h \
	cli/crash.c \
	cli/crew.c \
	cli/crew.h \
	cli/dims.c \
	cli/dims.h \
	cli/exit_guard.c \
	cli/failure.c \
	cli/guard.h \
	cli/help.h \
	cli/image_input.c \
	cli/image_input.h \
	cli/input_file.c \
	cli/input_file.h \
	cli/interrupt.c \
	cli/interrupt.h \
	cli/json.c \
	cli/loop_state.c \
	cli/json.h \
	cli/loop_state.h \
	cli/made_up.c \
	cli/made_up.h \
	cli/main.c \
	cli/model.c \
	cli/model.h \
	cli/model_folders.c \
	cli/model_folders.h \
	cli/note.c \
	cli/open.c \
	cli/options.c \
	cli/options.h \
	cli/optimize_check.c \
	cli/optimize_check.h \
	cli/output_files.c \
	cli/output_files.h \
	cli/placement.c \
	cli/placement.h \
	cli/profile.c \
	cli/profile.h \
	cli/quantize_check.c \
	cli/quantize_check.h \
	cli/reference.c \
	cli/reference.h \
	cli/samples.c \
	cli/samples.h \
	cli/suggest.c \
	cli/suggest.h \
	cli/table.c \
	cli/table.h \
	cli/tensor_file.c \
	cli/tensor_file.h \
	cli/text.c \
	cli/text.h \
	cli/timing.c \
	cli/timing.h \
	cli/top.c \
	cli/top.h \
	cli/trace_json.c \
	cli/trace_json.h \
	cli/train.h \
	cli/train_model.c \
	cli/train_screen.c \
	cli/values.c \
	cli/values.h \
	cli/verify.h \
	cli/verify_model.c \
	cli/verify_random.c \
	cli/verify_workers.c \
	cli/watch.c \
	$(NULL)
tfrun_LDADD = libtfrun-images.la libtfrun-base.la libtfrun-nn.la libtfrun.la $(JANSSON_LIBS) -lpthread -lm

# Made by `tfrun __complete`; tests/cli/completion.sh says when it is out of date.
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = completion/tfrun.bash
