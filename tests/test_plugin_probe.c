/* SPDX-License-Identifier: Apache-2.0 */
/* The child that loads a plugin first: hanging, lying, missing, hit by an exception. */
#include "tfr_test.h"

#include "fake/kit.h"

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

TEST(many_hanging_plugins_cost_one_deadline)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    tfr_runtime *runtime;
    double start;
    kit_begin();
    for (size_t i = 0; i < 8; i++)
        kit_add(i % 2 ? "ctor_hang" : "hang_enumerate", names[i]);
    kit_add("good", "good");
    /* Only the first of a name is asked; the others are different plugins by their names alone. */
    for (size_t i = 0; i < 8; i++) {
        static char bytes[1 << 20];
        char path[64], *at;
        size_t n;
        snprintf(path, sizeof path, "plugins/%s.so", names[i]);
        n = kit_read(kit_path(path), bytes, sizeof bytes);
        for (at = bytes; (at = memmem(at, n - (size_t)(at - bytes), "-hang", 5)); at++)
            at[1] = (char)('a' + i);
        for (at = bytes; (at = memmem(at, n - (size_t)(at - bytes), "hang-", 5)); at++)
            at[0] = (char)('a' + i);
        kit_write(path, bytes, n);
    }
    setenv("TFRUN_PROBE_TIMEOUT_MS", "3000", 1);
    start = seconds();
    runtime = kit_open(NULL);
    CHECK(seconds() - start < 3 * 2); /* eight deadlines would be 24 s */
    for (size_t i = 0; i < 8; i++) {
        tfr_plugin_desc row = kit_row(runtime, names[i]);
        CHECK_STATE("probe_timeout", row);
        CHECK_CONTAINS("3000 ms", row.reason);
        CHECK_CONTAINS("TFRUN_PROBE_TIMEOUT_MS", row.next_step);
    }
    CHECK(kit_has(runtime, "good"));
    tfr_runtime_release(runtime);
    kit_end();
}

static void write_probe(const char *text)
{
    kit_write("probe", text, strlen(text));
    chmod(kit_path("probe"), 0755);
    setenv("TFRUN_PROBE", kit_path("probe"), 1);
}

TEST(a_lying_probe_is_not_believed)
{
    static const struct {
        const char *script, *state, *reason;
    } lies[] = {
        {"#!/bin/sh\nprintf nonsense >&3\n", "bad_reply", "8 bytes, cut short"},
        {"#!/bin/sh\nhead -c 5000000 /dev/zero >&3\n", "bad_reply", "no answer"},
        {"#!/bin/sh\nprintf TFRREPL6 >&3\nhead -c 16 /dev/zero >&3\n", "bad_reply", "checksum"},
        {"#!/bin/sh\nprintf 'TFRREPL6\\377\\377\\377\\377\\377\\377\\377\\377aaaaaaaa' >&3\n",
         "bad_reply", "no answer"},
        {"#!/bin/sh\nexit 9\n", "probe_exit", "exit status 9"},
        {"#!/bin/sh\nkill -9 $$\n", "probe_crash", "SIGKILL"},
    };
    char *was = strdup(getenv("TFRUN_PROBE") ? getenv("TFRUN_PROBE") : "");
    kit_begin();
    kit_add("good", "good");
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        tfr_runtime *runtime;
        tfr_plugin_desc row;
        write_probe(lies[i].script);
        setenv("TFRUN_FAILURE_TTL_S", "0", 1);
        runtime = kit_open(NULL);
        row = kit_row(runtime, "good");
        CHECK_STATE(lies[i].state, row);
        CHECK_CONTAINS(lies[i].reason, row.reason);
        tfr_runtime_release(runtime);
    }
    unsetenv("TFRUN_FAILURE_TTL_S");
    setenv("TFRUN_PROBE", was, 1);
    free(was);
    kit_end();
}

TEST(without_a_probe_program_nothing_is_loaded_and_it_says_so)
{
    char *was = strdup(getenv("TFRUN_PROBE") ? getenv("TFRUN_PROBE") : "");
    tfr_runtime *runtime;
    tfr_plugin_desc row;
    kit_begin();
    kit_add("good", "good");
    setenv("TFRUN_PROBE", kit_path("not-there"), 1);
    runtime = kit_open(NULL);
    row = kit_row(runtime, "good");
    CHECK_STATE("probe_exit", row);
    CHECK_CONTAINS("install tfrun-probe or set TFRUN_PROBE", row.reason);
    tfr_runtime_release(runtime);
    setenv("TFRUN_PROBE", was, 1);
    runtime = kit_open(NULL);
    CHECK_STATE("usable", kit_row(runtime, "good"));
    tfr_runtime_release(runtime);
    free(was);
    kit_end();
}

TEST(a_cxx_exception_ends_the_child_only)
{
    static const char make[] = "c++ -shared -fPIC -o '%s/plugins/throws.so' "
                               "\"$TFR_SRCDIR/tests/fake/throws.cc\" -I\"$TFR_SRCDIR/sdk/include\"";
    tfr_runtime *runtime;
    if (!getenv("TFR_SRCDIR") || system("c++ --version >/dev/null 2>&1") != 0)
        SKIP("there is no C++ compiler c++");
    kit_begin();
    kit_add("good", "good");
    kit_shell(make, kit_folder, "");
    runtime = kit_open(NULL);
    CHECK_STATE("probe_crash", kit_row(runtime, "throws"));
    CHECK_CONTAINS("SIGABRT", kit_row(runtime, "throws").reason);
    CHECK_STATE("usable", kit_row(runtime, "good"));
    tfr_runtime_release(runtime);
    kit_end();
}

TEST(a_plugin_that_takes_all_memory_gets_no_more_than_its_share)
{
    static const char *const fakes[] = {"ctor_eats", "ctor_eats_exits"};
    tfr_runtime *runtime;
    if (TFR_SANITIZERS)
        SKIP("under a sanitizer, whose memory counts too, a probe has no limit");
    kit_begin();
    kit_add("good", "good");
    setenv("TFRUN_PROBE_MEMORY_MB", "100", 1);
    for (size_t i = 0; i < 2; i++)
        kit_add(fakes[i], fakes[i]);
    runtime = kit_open(NULL);
    for (size_t i = 0; i < 2; i++) {
        tfr_plugin_desc row = kit_row(runtime, fakes[i]);
        CHECK_STATE("probe_memory", row);
        CHECK_CONTAINS("took all of the 100 MB", row.reason);
        CHECK_CONTAINS("TFRUN_PROBE_MEMORY_MB", row.next_step);
    }
    CHECK_STATE("usable", kit_row(runtime, "good"));
    tfr_runtime_release(runtime);
    unsetenv("TFRUN_PROBE_MEMORY_MB");
    kit_end();
}

TEST(whoever_raises_the_limit_is_not_told_the_remembered_answer)
{
    tfr_runtime *runtime;
    if (TFR_SANITIZERS)
        SKIP("under a sanitizer, whose memory counts too, a probe has no limit");
    kit_begin();
    kit_add("ctor_eats_exits", "eats");
    setenv("TFRUN_PROBE_MEMORY_MB", "100", 1);
    tfr_runtime_release(kit_open(NULL));
    setenv("TFRUN_PROBE_MEMORY_MB", "120", 1);
    runtime = kit_open(NULL);
    CHECK_CONTAINS("120 MB", kit_row(runtime, "eats").reason);
    tfr_runtime_release(runtime);
    unsetenv("TFRUN_PROBE_MEMORY_MB");
    kit_end();
}

static const test_case cases[] = {
    CASE(many_hanging_plugins_cost_one_deadline),
    CASE(a_lying_probe_is_not_believed),
    CASE(without_a_probe_program_nothing_is_loaded_and_it_says_so),
    CASE(a_cxx_exception_ends_the_child_only),
    CASE(a_plugin_that_takes_all_memory_gets_no_more_than_its_share),
    CASE(whoever_raises_the_limit_is_not_told_the_remembered_answer),
};
TEST_MAIN(cases)
