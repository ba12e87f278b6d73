# SPDX-License-Identifier: Apache-2.0
# Plugins that misbehave, each in one way, as real shared objects. Built by one rule: they are
# loaded by tests only, never linked, and there are many of them.
fake_plugins = \
	tests/fake/as_told.so \
	tests/fake/asks.so \
	tests/fake/bad_comm.so \
	tests/fake/bad_profile.so \
	tests/fake/brings.so \
	tests/fake/brings_again.so \
	tests/fake/collectives.so \
	tests/fake/control_bytes.so \
	tests/fake/core_name.so \
	tests/fake/cpu_feature.so \
	tests/fake/ctor_abort.so \
	tests/fake/ctor_eats.so \
	tests/fake/ctor_eats_exits.so \
	tests/fake/ctor_exit0.so \
	tests/fake/ctor_exit3.so \
	tests/fake/ctor_hang.so \
	tests/fake/ctor_ill.so \
	tests/fake/ctor_reply.so \
	tests/fake/ctor_segv.so \
	tests/fake/drifts_and_says.so \
	tests/fake/entry_error.so \
	tests/fake/future_structs.so \
	tests/fake/garbage_note.so \
	tests/fake/good.so \
	tests/fake/hang_enumerate.so \
	tests/fake/ignores_strides.so \
	tests/fake/keeps_workspace.so \
	tests/fake/launch_adds.so \
	tests/fake/launch_drifts.so \
	tests/fake/launch_exit.so \
	tests/fake/launch_fails.so \
	tests/fake/launch_forgets.so \
	tests/fake/launch_hangs.so \
	tests/fake/launch_rounds.so \
	tests/fake/launch_segv.so \
	tests/fake/launch_truncates.so \
	tests/fake/loop_segv.so \
	tests/fake/many_devices.so \
	tests/fake/min_structs.so \
	tests/fake/no_access.so \
	tests/fake/no_device.so \
	tests/fake/no_entry.so \
	tests/fake/no_host_access.so \
	tests/fake/no_note.so \
	tests/fake/not_in_place.so \
	tests/fake/null_program.so \
	tests/fake/null_slot.so \
	tests/fake/old_driver.so \
	tests/fake/old_ops.so \
	tests/fake/open_fails.so \
	tests/fake/open_null.so \
	tests/fake/opens_broken.so \
	tests/fake/opens_missing.so \
	tests/fake/opens_others.so \
	tests/fake/overruns_workspace.so \
	tests/fake/prepare_abort.so \
	tests/fake/prepare_exit.so \
	tests/fake/prepare_fails.so \
	tests/fake/prepare_forks.so \
	tests/fake/prepare_quick_exit.so \
	tests/fake/prepare_slow.so \
	tests/fake/prints.so \
	tests/fake/short_layout.so \
	tests/fake/short_struct.so \
	tests/fake/skips_output.so \
	tests/fake/strange_role.so \
	tests/fake/strange_space.so \
	tests/fake/supports_fails.so \
	tests/fake/thread_segv.so \
	tests/fake/twins.so \
	tests/fake/undefined_symbol.so \
	tests/fake/writes_input.so \
	tests/fake/wrong_abi.so \
	tests/fake/wrong_digest.so \
	tests/fake/wrong_minor.so \
	tests/fake/wrong_name.so \
	tests/fake/wrong_sanitizer.so \
	tests/fake/wrong_version.so \
	$(NULL)
fake_sources = $(fake_plugins:.so=.c)
EXTRA_DIST += $(fake_sources) tests/fake/brings.h tests/fake/fake.h tests/fake/throws.cc

tests/fake/stamp: $(fake_sources) tests/fake/brings.h tests/fake/fake.h $(sdk_headers)
	$(AM_V_at)$(MKDIR_P) tests/fake && rm -f $@
	$(AM_V_CCLD)for so in $(fake_plugins); do \
	    c=$$(echo "$$so" | sed 's/\.so$$/.c/'); \
	    test -f "$$c" || c='$(srcdir)'/$$c; \
	    $(CC) $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES) $(CPPFLAGS) $(TFR_CFLAGS) $(CFLAGS) \
	        $(TFR_SANITIZE) -fPIC -shared $(LDFLAGS) -o "$$so" "$$c" -lm || exit 1; \
	done
	$(AM_V_at)echo built >$@
check_DATA += tests/fake/stamp
CLEANFILES += $(fake_plugins) tests/fake/stamp
