/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The family of misbehaving plugins: each is survived, has its state with the thing that offends,
 * leaves the good one usable, is remembered, and is well again when it is repaired.
 */
#include "tfr_test.h"

#include "fake/kit.h"

#include "alloc.h"
#include "env.h"
#include "loader.h"

#include <fcntl.h>
#include <sys/stat.h>

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
    {"no_entry", "abi", "tfrun_plugin_v1", true},
    {"no_note", "not_a_plugin", "no tfrun note", false},
    {"garbage_note", "not_a_plugin", "says 4000 bytes, has 20", false},
    {"wrong_abi", "abi", "needs plugin ABI 2, this core has 1", false},
    {"wrong_sanitizer", "sanitizer", "memory sanitizer", false},
    {"cpu_feature", "cpu_features", "amx_nonexistent", false},
    {"undefined_symbol", "missing_library", "tfr_test_no_such_function", true},
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

/* ---- files ---- */

TEST(damaged_and_foreign_files_are_named_and_never_loaded)
{
    static char bytes[1 << 20];
    uint64_t before = tfr__probe_count();
    tfr_runtime *runtime;
    tfr_plugin_desc row;
    size_t n;
    kit_begin();
    n = kit_read(kit_built("good"), bytes, sizeof bytes);
    REQUIRE(n > 4096 && n < sizeof bytes);
    kit_write("plugins/text.so", "hello\n", 6);
    kit_write("plugins/empty.so", "", 0);
    kit_write("plugins/short.so", bytes, 40);
    kit_write("plugins/half.so", bytes, n / 2);
    bytes[18] = (char)(bytes[18] ^ 0x55); /* e_machine */
    kit_write("plugins/foreign.so", bytes, n);
    bytes[18] = (char)(bytes[18] ^ 0x55);
    bytes[4] = (char)(3 - bytes[4]); /* 32 and 64 bits change places */
    kit_write("plugins/bits.so", bytes, n);
    kit_write("plugins/ignored.txt", "hello\n", 6);
    mkdir(kit_path("plugins/folder.so"), 0755);
    runtime = kit_open(NULL);
    row = kit_row(runtime, "text");
    CHECK_STATE("not_a_plugin", row);
    CHECK_CONTAINS("not an ELF file", row.reason);
    CHECK_STATE("not_a_plugin", kit_row(runtime, "empty"));
    row = kit_row(runtime, "short");
    CHECK_STATE("not_a_plugin", row);
    CHECK_CONTAINS("cut short", row.reason);
    row = kit_row(runtime, "half");
    CHECK_STATE("not_a_plugin", row);
    CHECK_CONTAINS("cut short", row.reason);
    row = kit_row(runtime, "foreign");
    CHECK_STATE("foreign_arch", row);
    CHECK_CONTAINS("is built for", row.reason);
    CHECK_STATE("foreign_arch", kit_row(runtime, "bits"));
    CHECK_STATE("no row", kit_row(runtime, "folder"));
    CHECK_UINT(0, tfr__probe_count() - before);
    tfr_runtime_release(runtime);
    kit_end();
}

TEST(every_shortened_file_is_told_from_a_plugin)
{
    static char bytes[1 << 20];
    tfr__loader loader = {.lock = PTHREAD_MUTEX_INITIALIZER};
    size_t n, cut;
    kit_begin();
    n = kit_read(kit_built("good"), bytes, sizeof bytes);
    for (cut = 0; cut < n; cut += cut < 1024 ? 61 : 1021) {
        tfr__plugin plugin = {.loader = &loader, .path = kit_path("plugins/x.so"), .name = "x"};
        tfr_err err = TFR_ERR_INIT;
        kit_write("plugins/x.so", bytes, cut);
        CHECK_OK(tfr__plugin_read_facts(&plugin, &err), &err);
        CHECK_INT(TFR_PLUGIN_NOT_A_PLUGIN, plugin.state);
    }
    tfr__keep_free(&loader.keep);
    kit_end();
}

TEST(a_file_with_any_byte_changed_is_read_without_harm)
{
    static char bytes[1 << 20];
    tfr__loader loader = {.lock = PTHREAD_MUTEX_INITIALIZER};
    uint32_t seed = 1;
    size_t n;
    kit_begin();
    n = kit_read(kit_built("good"), bytes, sizeof bytes);
    for (int round = 0; round < 400; round++) {
        tfr__plugin plugin = {.loader = &loader, .path = kit_path("plugins/x.so"), .name = "x"};
        tfr_err err = TFR_ERR_INIT;
        size_t at[3];
        char was[3];
        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525u + 1013904223u;
            /* Mostly headers, notes and the dynamic tables at the front. */
            at[k] = (seed >> 8) % (round % 4 ? 1024 : n);
            was[k] = bytes[at[k]];
            bytes[at[k]] = (char)(seed >> 3);
        }
        kit_write("plugins/x.so", bytes, n);
        CHECK_OK(tfr__plugin_read_facts(&plugin, &err), &err);
        CHECK_OK(tfr__plugin_find_libs(&plugin, &err), &err);
        for (int k = 3; k-- > 0;)
            bytes[at[k]] = was[k];
    }
    tfr__keep_free(&loader.keep);
    kit_end();
}

TEST(a_file_that_others_can_write_is_refused)
{
    tfr_runtime *runtime;
    tfr_plugin_desc row;
    kit_begin();
    kit_add("good", "open");
    chmod(kit_path("plugins/open.so"), 0757);
    runtime = kit_open(NULL);
    row = kit_row(runtime, "open");
    CHECK_STATE("unsafe_path", row);
    CHECK_CONTAINS("plugins/open.so can be written by everybody (mode 0757)", row.reason);
    CHECK_CONTAINS("chmod", row.next_step);
    tfr_runtime_release(runtime);
    chmod(kit_path("plugins/open.so"), 0755);
    runtime = kit_open(NULL);
    CHECK_STATE("usable", kit_row(runtime, "open"));
    tfr_runtime_release(runtime);
    kit_end();
}

TEST(a_folder_that_others_can_write_is_refused)
{
    tfr_runtime *runtime;
    tfr_plugin_desc row;
    kit_begin();
    kit_add("good", "good");
    chmod(kit_path("plugins"), 01777); /* sticky is no help where plugins lie */
    runtime = kit_open(NULL);
    row = kit_row(runtime, "good");
    CHECK_STATE("unsafe_path", row);
    CHECK_CONTAINS("/plugins can be written by everybody (mode 1777)", row.reason);
    tfr_runtime_release(runtime);
    kit_end();
}

TEST(a_file_of_another_user_is_refused)
{
    tfr_runtime *runtime;
    tfr_plugin_desc row;
    if (geteuid() != 0)
        SKIP("only root can give files away");
    kit_begin();
    kit_add("good", "good");
    REQUIRE_INT(0, chown(kit_path("plugins/good.so"), 4711, 0));
    runtime = kit_open(NULL);
    row = kit_row(runtime, "good");
    CHECK_STATE("unsafe_path", row);
    CHECK_CONTAINS("belongs to user 4711", row.reason);
    tfr_runtime_release(runtime);
    kit_end();
}

TEST(a_link_is_followed_and_what_it_leads_to_is_checked)
{
    tfr_runtime *runtime;
    kit_begin();
    mkdir(kit_path("safe"), 0755);
    mkdir(kit_path("unsafe"), 0777);
    chmod(kit_path("unsafe"), 0777);
    kit_shell("cp '%s' '%s'", kit_built("good"), kit_path("safe/behind.so"));
    kit_shell("cp '%s' '%s'", kit_built("min_structs"), kit_path("unsafe/danger.so"));
    REQUIRE_INT(0, symlink(kit_path("safe/behind.so"), kit_path("plugins/a.so")));
    REQUIRE_INT(0, symlink(kit_path("unsafe/danger.so"), kit_path("plugins/b.so")));
    REQUIRE_INT(0, symlink(kit_path("nowhere.so"), kit_path("plugins/c.so")));
    runtime = kit_open(NULL);
    CHECK_STATE("usable", kit_row(runtime, "behind"));
    CHECK_STATE("unsafe_path", kit_row(runtime, "danger"));
    CHECK_STATE("not_a_plugin", kit_row(runtime, "c"));
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

TEST(the_current_folder_is_never_searched)
{
    tfr_runtime *runtime;
    char here[PATH_MAX];
    kit_begin();
    kit_add("good", "good");
    REQUIRE(getcwd(here, sizeof here) != NULL);
    REQUIRE_INT(0, chdir(kit_path("plugins")));
    setenv("TFRUN_PLUGIN_PATH", ".::", 1);
    runtime = kit_open(NULL);
    REQUIRE_INT(0, chdir(here));
    CHECK_STATE("no row", kit_row(runtime, "good"));
    CHECK_CONTAINS("\".\" is left out", kit_talk);
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

/* ---- libraries ---- */

TEST(all_missing_libraries_are_named_with_who_needs_them)
{
    static const char make[] =
        "cd '%s' && cc='%s' && : >n.c && printf 'int gone(void);int gone(void){return 1;}' >g.c &&"
        "$cc -shared -fPIC -o libtfr-gone1.so g.c -Wl,-soname,libtfr-gone1.so &&"
        "$cc -shared -fPIC -o libtfr-gone2.so g.c -Wl,-soname,libtfr-gone2.so &&"
        "$cc -shared -fPIC -o libtfr-here.so n.c -Wl,-soname,libtfr-here.so -Wl,--no-as-needed "
        "-L. -ltfr-gone2 &&"
        "$cc $TFR_SANITIZE -D_GNU_SOURCE -shared -fPIC -o plugins/needy.so "
        "\"$TFR_SRCDIR/tests/fake/good.c\" -I\"$TFR_SRCDIR/sdk/include\" -Wl,--no-as-needed -L. "
        "-ltfr-gone1 -ltfr-here -Wl,-rpath-link,. -Wl,--enable-new-dtags,-rpath,'$ORIGIN/..' &&"
        "rm libtfr-gone*.so";
    uint64_t before = tfr__probe_count();
    const char *cc = getenv("TFR_CC");
    tfr_runtime *runtime;
    tfr_plugin_desc row;
    if (!cc)
        SKIP("TFR_CC does not name a compiler");
    kit_begin();
    kit_shell(make, kit_folder, cc);
    runtime = kit_open(NULL);
    row = kit_row(runtime, "needy");
    CHECK_STATE("missing_library", row);
    CHECK_CONTAINS("2 libraries are missing", row.reason);
    CHECK_CONTAINS("libtfr-gone1.so (needed by needy.so)", row.reason);
    CHECK_CONTAINS("libtfr-gone2.so (needed by libtfr-here.so)", row.reason);
    CHECK_CONTAINS("packages", row.next_step);
    CHECK_UINT(0, tfr__probe_count() - before);
    tfr_runtime_release(runtime);
    kit_end();
}

TEST(a_helper_library_beside_plugins_has_no_row)
{
    tfr_runtime *runtime;
    kit_begin();
    kit_add("no_note", "libhelper");
    runtime = kit_open(NULL);
    CHECK_STATE("no row", kit_row(runtime, "libhelper"));
    tfr_runtime_release(runtime);
    kit_end();
}

/* ---- the child ---- */

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
        {"#!/bin/sh\nprintf TFRREPL2 >&3\nhead -c 16 /dev/zero >&3\n", "bad_reply", "checksum"},
        {"#!/bin/sh\nprintf 'TFRREPL2\\377\\377\\377\\377\\377\\377\\377\\377aaaaaaaa' >&3\n",
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

/* ---- remembering ---- */

TEST(a_repaired_plugin_is_well_again)
{
    tfr_runtime *runtime;
    kit_begin();
    kit_add("ctor_abort", "x");
    runtime = kit_open(NULL);
    CHECK_STATE("probe_crash", kit_row(runtime, "x"));
    tfr_runtime_release(runtime);
    kit_add("good", "x");
    runtime = kit_open(NULL);
    CHECK_STATE("usable", kit_row(runtime, "x"));
    tfr_runtime_release(runtime);
    kit_end();
}

TEST(a_remembered_failure_expires_and_a_success_does_not)
{
    uint64_t before;
    tfr_runtime *runtime;
    kit_begin();
    kit_add("ctor_exit3", "bad");
    kit_add("good", "good");
    tfr_runtime_release(kit_open(NULL));
    setenv("TFRUN_FAILURE_TTL_S", "0", 1);
    before = tfr__probe_count();
    runtime = kit_open(NULL);
    CHECK_UINT(1, tfr__probe_count() - before);
    CHECK_STATE("probe_exit", kit_row(runtime, "bad"));
    tfr_runtime_release(runtime);
    unsetenv("TFRUN_FAILURE_TTL_S");
    kit_end();
}

TEST(other_visible_devices_are_asked_for_anew)
{
    uint64_t before;
    kit_begin();
    kit_add("good", "good");
    tfr_runtime_release(kit_open(NULL));
    before = tfr__probe_count();
    setenv("ACME_VISIBLE_DEVICES", "1", 1);
    tfr_runtime_release(kit_open(NULL));
    CHECK_UINT(1, tfr__probe_count() - before);
    tfr_runtime_release(kit_open(NULL));
    unsetenv("ACME_VISIBLE_DEVICES");
    tfr_runtime_release(kit_open(NULL));
    CHECK_UINT(1, tfr__probe_count() - before); /* both are remembered */
    kit_end();
}

TEST(a_damaged_memory_is_not_believed)
{
    static char bytes[65536];
    char folder[PATH_MAX], name[256] = "";
    size_t n, at;
    FILE *list;
    kit_begin();
    kit_add("good", "good");
    tfr_runtime_release(kit_open(NULL));
    snprintf(folder, sizeof folder, "ls '%s'", kit_path("cache/tfrun/probe-1"));
    list = popen(folder, "r");
    REQUIRE(list != NULL);
    REQUIRE(fgets(name, sizeof name - 1, list) != NULL);
    pclose(list);
    name[strcspn(name, "\n")] = 0;
    snprintf(folder, sizeof folder, "cache/tfrun/probe-1/%s", name);
    n = kit_read(kit_path(folder), bytes, sizeof bytes);
    for (at = 0; at < n; at += 37) {
        uint64_t before = tfr__probe_count();
        tfr_runtime *runtime;
        bytes[at] = (char)(bytes[at] ^ 1);
        kit_write(folder, bytes, n);
        bytes[at] = (char)(bytes[at] ^ 1);
        runtime = kit_open(NULL);
        CHECK_STATE("usable", kit_row(runtime, "good"));
        CHECK_UINT(1, tfr__probe_count() - before);
        tfr_runtime_release(runtime);
    }
    kit_write(folder, bytes, n / 2);
    tfr_runtime_release(kit_open(NULL));
    kit_end();
}

TEST(the_oldest_of_too_many_memories_go)
{
    char name[64];
    unsigned n = 0;
    kit_begin();
    kit_add("good", "good");
    tfr_runtime_release(kit_open(NULL));
    for (unsigned i = 0; i < 80; i++) {
        struct timespec old[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
        snprintf(name, sizeof name, "cache/tfrun/probe-1/old-%u", i);
        kit_write(name, "old", 3);
        CHECK_INT(0, utimensat(AT_FDCWD, kit_path(name), old, 0));
    }
    kit_add("ctor_abort", "ctor_abort");
    tfr_runtime_release(kit_open(NULL));
    for (unsigned i = 0; i < 80; i++) {
        snprintf(name, sizeof name, "cache/tfrun/probe-1/old-%u", i);
        bool there = access(kit_path(name), F_OK) == 0;
        CHECK_INT(i >= 18, there);
        n += there;
    }
    CHECK_UINT(62, n);
    kit_end();
}

TEST(a_cache_folder_that_cannot_be_written_is_no_error)
{
    tfr_runtime *runtime;
    kit_begin();
    kit_add("good", "good");
    kit_write("cache", "a file, no folder", 17);
    runtime = kit_open(NULL);
    CHECK_STATE("usable", kit_row(runtime, "good"));
    CHECK_STR("", kit_talk);
    tfr_runtime_release(runtime);
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
    CASE(many_hanging_plugins_cost_one_deadline),
    CASE(damaged_and_foreign_files_are_named_and_never_loaded),
    CASE(every_shortened_file_is_told_from_a_plugin),
    CASE(a_file_with_any_byte_changed_is_read_without_harm),
    CASE(a_file_that_others_can_write_is_refused),
    CASE(a_folder_that_others_can_write_is_refused),
    CASE(a_file_of_another_user_is_refused),
    CASE(a_link_is_followed_and_what_it_leads_to_is_checked),
    CASE(the_first_of_a_name_wins_and_the_later_one_is_shadowed),
    CASE(a_file_named_by_the_program_comes_before_the_folders),
    CASE(the_current_folder_is_never_searched),
    CASE(a_disabled_plugin_is_not_asked_and_says_who_disabled_it),
    CASE(all_missing_libraries_are_named_with_who_needs_them),
    CASE(a_helper_library_beside_plugins_has_no_row),
    CASE(a_lying_probe_is_not_believed),
    CASE(without_a_probe_program_nothing_is_loaded_and_it_says_so),
    CASE(a_cxx_exception_ends_the_child_only),
    CASE(a_repaired_plugin_is_well_again),
    CASE(a_remembered_failure_expires_and_a_success_does_not),
    CASE(other_visible_devices_are_asked_for_anew),
    CASE(a_damaged_memory_is_not_believed),
    CASE(the_oldest_of_too_many_memories_go),
    CASE(a_cache_folder_that_cannot_be_written_is_no_error),
    CASE(a_privileged_process_ignores_the_environment_and_the_users_folders),
    CASE(every_variable_is_described),
    CASE(any_failing_allocation_is_a_status_and_leaks_nothing),
};
TEST_MAIN(cases)
