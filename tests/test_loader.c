/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The family of misbehaving plugins: each is survived, has its state with the thing that offends
 * and leaves the good one usable. Then which of several plugins wins, and what is not looked at.
 */
#include "tfr_test.h"

#include <tfrun/env.h>

#include "fake/kit.h"

#include "base/alloc.h"
#include "base/env.h"
#include "device/loader.h"

/* ---- one row each ---- */

static const struct {
    const char *fake, *state, *reason;
    bool asks; /* needs a child, the first time */
} family[] = {
    {"ctor_abort", "probe_crash", "SIGABRT", true},
    {"ctor_segv", "probe_crash", "SIGSEGV", true},
    {"ctor_ill", "probe_crash", "SIGILL", true},
    {"ctor_exit0", "probe_exit", "exit status 0", true},
    {"ctor_exit3", "probe_exit", "exit status 3", true},
    {"ctor_reply", "bad_reply", "no answer", true},
    {"entry_error", "probe_exit", "TFR_EINTERNAL: the flux of 88 is over 42", true},
    {"old_driver", "incompatible_driver", "driver 470 is older than 535", true},
    {"no_device", "no_device", "no board answers on bus 7", true},
    {"open_fails", "no_device", "process 4711 has it", true},
    {"open_null", "bad_reply", "slot open", true},
    {"no_entry", "abi", "tfrun_plugin_v0", true},
    {"no_note", "not_a_plugin", "no tfrun note", false},
    {"garbage_note", "not_a_plugin", "says 4000 bytes, has 20", false},
    {"wrong_minor", "abi", "before 1.0 both must be equal", false},
    {"wrong_abi", "abi", "needs plugin ABI 2.0, this core has ", false},
    {"wrong_sanitizer", "sanitizer", "memory sanitizer", false},
    {"cpu_feature", "cpu_features", "amx_nonexistent", false},
    {"undefined_symbol", "missing_library", "tfr_test_no_such_function", true},
    {"core_name", "not_a_plugin", "calls itself \"loader\", a name that tfrun keeps", false},
    {"wrong_name", "bad_reply", "\"other-name\", its note says \"wrong-name\"", true},
    {"null_slot", "bad_reply", "launch of tfr.kernel/1", true},
    {"short_struct", "bad_reply", "has 40 bytes", true},
    {"many_devices", "bad_reply", "4000000000 devices", true},
    {"wrong_digest", "usable", "Relu is of version 14 with another schema", true},
    {"wrong_version", "usable", "Relu is of version 1, this core has version 14", true},
    {"prints", "usable", "wrote 12 bytes to standard output", true},
    {"control_bytes", "usable", "", true},
    {"min_structs", "usable", "", true},
    {"future_structs", "usable", "", true},
    {"prepare_fails", "usable", "", true},
    {"launch_fails", "usable", "", true},
    {"good", "usable", "", true},
};
#define N_FAMILY (sizeof family / sizeof family[0])

static void family_add(void)
{
    for (size_t i = 0; i < N_FAMILY; i++)
        kit_add(family[i].fake, family[i].fake);
}

static void family_check(const tfr_runtime *runtime)
{
    for (size_t i = 0; i < N_FAMILY; i++) {
        tfr_plugin_desc row = kit_row(runtime, family[i].fake);
        bool well = strcmp(family[i].state, "usable") == 0;
        CHECK_STATE(family[i].state, row);
        CHECK_CONTAINS(family[i].reason, row.reason);
        CHECK(well || *row.next_step);
        CHECK(strchr(row.version, 27) == NULL);
    }
    CHECK(kit_has(runtime, "CPU:0"));
    CHECK(kit_has(runtime, "good:0"));
    CHECK(kit_has(runtime, "min-structs"));
    CHECK(kit_has(runtime, "future-structs"));
    CHECK(!kit_has(runtime, "ctor-abort"));
    CHECK_INT(1, kit_row(runtime, "good").n_ops);
    CHECK_INT(0, kit_row(runtime, "wrong_digest").n_ops);
    CHECK_INT(0, kit_row(runtime, "wrong_version").n_ops);
}

TEST(each_misbehaving_plugin_has_its_state_and_the_good_one_works)
{
    uint64_t n_children = 0, before;
    tfr_runtime *runtime;
    kit_begin();
    family_add();
    for (size_t i = 0; i < N_FAMILY; i++)
        n_children += family[i].asks;
    before = tfr__probe_count();
    runtime = kit_open(NULL);
    family_check(runtime);
    CHECK_UINT(n_children, tfr__probe_count() - before);
    tfr_runtime_release(runtime);

    /* Again: the same rows, and nobody is asked. */
    before = tfr__probe_count();
    runtime = kit_open(NULL);
    family_check(runtime);
    CHECK_UINT(0, tfr__probe_count() - before);
    tfr_runtime_release(runtime);
    kit_end();
}

/* ---- names ---- */

TEST(the_first_of_a_name_wins_and_the_later_one_is_shadowed)
{
    tfr_runtime *runtime;
    tfr_plugin_desc row;
    kit_begin();
    kit_add("good", "a");
    kit_add("good", "b");
    runtime = kit_open(NULL);
    CHECK_STATE("usable", kit_row(runtime, "a"));
    row = kit_row(runtime, "b");
    CHECK_STATE("shadowed", row);
    CHECK_CONTAINS("plugins/a.so comes first", row.reason);
    tfr_runtime_release(runtime);
    kit_end();
}

TEST(a_file_named_by_the_program_comes_before_the_folders)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    const char *files[1];
    tfr_runtime *runtime;
    kit_begin();
    kit_add("good", "a");
    mkdir(kit_path("own"), 0755);
    kit_shell("cp '%s' '%s'", kit_built("good"), kit_path("own/mine.so"));
    files[0] = kit_path("own/mine.so");
    options.plugin_files = files;
    options.n_plugin_files = 1;
    runtime = kit_open(&options);
    CHECK_STATE("usable", kit_row(runtime, "mine"));
    CHECK_STATE("shadowed", kit_row(runtime, "a"));
    tfr_runtime_release(runtime);
    kit_end();
}

TEST(a_disabled_plugin_is_not_asked_and_says_who_disabled_it)
{
    uint64_t before = tfr__probe_count();
    tfr_runtime *runtime;
    tfr_plugin_desc row;
    kit_begin();
    kit_add("good", "good");
    kit_config("# comment\n\ndisable = other, good # more\n");
    runtime = kit_open(NULL);
    row = kit_row(runtime, "good");
    CHECK_STATE("disabled", row);
    CHECK_CONTAINS("tfrun.conf:3 disables it", row.reason);
    CHECK_CONTAINS("TFRUN_ENABLE=good", row.next_step);
    CHECK_UINT(0, tfr__probe_count() - before);
    tfr_runtime_release(runtime);
    setenv("TFRUN_ENABLE", "good", 1);
    runtime = kit_open(NULL);
    CHECK_STATE("usable", kit_row(runtime, "good"));
    tfr_runtime_release(runtime);
    unsetenv("TFRUN_ENABLE");
    kit_end();
}

/* ---- privilege ---- */

TEST(a_privileged_process_ignores_the_environment_and_the_users_folders)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    const char *folders[1];
    tfr_runtime *runtime;
    tfr_plugin_desc row;
    kit_begin();
    kit_add("good", "good");
    kit_config("disable = good\n");
    setenv("TFRUN_LOGICAL_CPUS", "7", 1);
    tfr__privileged_for_test(1);
    runtime = kit_open(NULL);
    CHECK_STATE("no row", kit_row(runtime, "good")); /* TFRUN_PLUGIN_PATH is not read */
    tfr_runtime_release(runtime);
    folders[0] = kit_path("plugins");
    options.plugin_dirs = folders;
    options.n_plugin_dirs = 1;
    runtime = kit_open(&options);
    row = kit_row(runtime, "good");
    CHECK(row.state != TFR_PLUGIN_DISABLED); /* nor the user's configuration */
    CHECK(!kit_has(runtime, "CPU:6"));
    tfr_runtime_release(runtime);
    tfr__privileged_for_test(-1);
    CHECK_INT(-1, access(kit_path("cache"), F_OK)); /* nor is the user's cache written */
    unsetenv("TFRUN_LOGICAL_CPUS");
    kit_end();
}

TEST(every_variable_is_described)
{
    tfr_env_desc beyond = {.size = sizeof beyond};
    tfr_err err = TFR_ERR_INIT;
    for (uint32_t i = 0; i < tfr_env_count(); i++) {
        tfr_env_desc desc = {.size = sizeof desc};
        REQUIRE_OK(tfr_env_describe(i, &desc, &err), &err);
        CHECK(*desc.name && *desc.meaning);
    }
    CHECK_STATUS(TFR_EINVAL, tfr_env_describe(tfr_env_count(), &beyond, &err), &err);
}

/* ---- no memory ---- */

TEST(any_failing_allocation_is_a_status_and_leaks_nothing)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    uint64_t n, last;
    kit_begin();
    options.log = kit_log;
    kit_add("good", "good");
    kit_add("ctor_exit3", "bad");
    kit_config("good.key = value\n");
    tfr_runtime_release(kit_open(NULL)); /* now it is remembered */
    n = tfr__alloc_count();
    tfr_runtime_release(kit_open(NULL));
    last = tfr__alloc_count() - n;
    REQUIRE(last > 10 && last < 100000);
    for (n = 1; n <= last; n++) {
        tfr_runtime *runtime = NULL;
        tfr_err err = TFR_ERR_INIT;
        tfr_status status;
        tfr__alloc_fail_at(n);
        status = tfr_runtime_create(&options, &runtime, &err);
        tfr__alloc_fail_at(0);
        CHECK(status == TFR_OK || status == TFR_ENOMEM);
        CHECK((status == TFR_OK) == (runtime != NULL));
        CHECK(status == TFR_OK || err.text[0]);
        tfr_runtime_release(runtime);
    }
    kit_end();
}

static const test_case cases[] = {
    CASE(each_misbehaving_plugin_has_its_state_and_the_good_one_works),
    CASE(the_first_of_a_name_wins_and_the_later_one_is_shadowed),
    CASE(a_file_named_by_the_program_comes_before_the_folders),
    CASE(a_disabled_plugin_is_not_asked_and_says_who_disabled_it),
    CASE(a_privileged_process_ignores_the_environment_and_the_users_folders),
    CASE(every_variable_is_described),
    CASE(any_failing_allocation_is_a_status_and_leaks_nothing),
};
TEST_MAIN(cases)
