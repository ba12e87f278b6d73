/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of plugins: how long, for which surroundings, and not if it is damaged. */
#include "tfr_test.h"

#include "fake/kit.h"

#include "device/loader.h"

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

/* Opens a runtime; the state of asks, and whether it was asked. */
static const char *asks(uint32_t refresh, bool *probed)
{
    static char state[32];
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    const uint64_t before = tfr__probe_count();
    tfr_runtime *runtime;
    options.refresh = refresh;
    runtime = kit_open(&options);
    snprintf(state, sizeof state, "%s", kit_state(kit_row(runtime, "asks")));
    *probed = tfr__probe_count() != before;
    tfr_runtime_release(runtime);
    return state;
}

static void begin_asks(void)
{
    kit_begin();
    kit_add("asks", "asks");
    mkdir(kit_path("vendors"), 0755);
    setenv("ASKS_FOLDER", kit_path("vendors"), 1);
    unsetenv("ASKS_ON");
}

TEST(variables_and_files_that_a_note_names_are_looked_at)
{
    static const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    bool probed;
    begin_asks();
    CHECK_STR("no_device", asks(TFR_REFRESH_NONE, &probed));
    CHECK_STR("no_device", asks(TFR_REFRESH_NONE, &probed));
    CHECK(!probed);
    kit_write("vendors/vendor.icd", "lib", 3);
    CHECK_STR("no_device", asks(TFR_REFRESH_NONE, &probed));
    CHECK(probed); /* the folder has changed */
    setenv("ASKS_ON", "1", 1);
    CHECK_STR("usable", asks(TFR_REFRESH_NONE, &probed));
    CHECK_STR("usable", asks(TFR_REFRESH_NONE, &probed));
    CHECK(!probed);
    REQUIRE_INT(0, utimensat(AT_FDCWD, kit_path("vendors/vendor.icd"), old, 0));
    CHECK_STR("usable", asks(TFR_REFRESH_NONE, &probed));
    CHECK(probed); /* a file in it has changed, which the folder itself does not tell */
    setenv("ASKS_FOLDER", "/nowhere", 1);
    CHECK_STR("no_device", asks(TFR_REFRESH_NONE, &probed));
    setenv("ASKS_FOLDER", kit_path("vendors"), 1);
    CHECK_STR("usable", asks(TFR_REFRESH_NONE, &probed));
    unsetenv("ASKS_ON");
    CHECK_STR("no_device", asks(TFR_REFRESH_NONE, &probed));
    setenv("ASKS_ON", "1", 1);
    CHECK_STR("usable", asks(TFR_REFRESH_NONE, &probed));
    CHECK(!probed); /* each value of a variable has its own */
    unlink(kit_path("vendors/vendor.icd"));
    CHECK_STR("no_device", asks(TFR_REFRESH_NONE, &probed));
    unsetenv("ASKS_ON");
    unsetenv("ASKS_FOLDER");
    kit_end();
}

TEST(a_refresh_asks_those_that_failed_or_all)
{
    bool probed;
    begin_asks();
    kit_write("vendors/vendor.icd", "lib", 3);
    CHECK_STR("no_device", asks(TFR_REFRESH_NONE, &probed));
    CHECK_STR("no_device", asks(TFR_REFRESH_FAILED, &probed));
    CHECK(probed);
    setenv("ASKS_ON", "1", 1);
    CHECK_STR("usable", asks(TFR_REFRESH_FAILED, &probed));
    CHECK_STR("usable", asks(TFR_REFRESH_FAILED, &probed));
    CHECK(!probed);
    CHECK_STR("usable", asks(TFR_REFRESH_ALL, &probed));
    CHECK(probed);
    CHECK_STR("usable", asks(TFR_REFRESH_NONE, &probed));
    CHECK(!probed);
    unsetenv("ASKS_ON");
    unsetenv("ASKS_FOLDER");
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
    /* Without its first 8 bytes it is nobody's, and stays. */
    for (at = 8; at < n; at += 37) {
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
    struct timespec older[2] = {{.tv_sec = 10}, {.tv_sec = 10}};
    char name[64];
    unsigned n = 0;
    kit_begin();
    kit_add("good", "good");
    tfr_runtime_release(kit_open(NULL));
    for (unsigned i = 0; i < 80; i++) {
        struct timespec old[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
        snprintf(name, sizeof name, "cache/tfrun/probe-1/old-%u", i);
        kit_write(name, "TFRCACH1 old", 12);
        CHECK_INT(0, utimensat(AT_FDCWD, kit_path(name), old, 0));
    }
    kit_write("cache/tfrun/probe-1/letter", "not ours", 8);
    CHECK_INT(0, utimensat(AT_FDCWD, kit_path("cache/tfrun/probe-1/letter"), older, 0));
    kit_add("ctor_abort", "ctor_abort");
    tfr_runtime_release(kit_open(NULL));
    CHECK_INT(0, access(kit_path("cache/tfrun/probe-1/letter"), F_OK));
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

static const test_case cases[] = {
    CASE(a_repaired_plugin_is_well_again),
    CASE(a_remembered_failure_expires_and_a_success_does_not),
    CASE(other_visible_devices_are_asked_for_anew),
    CASE(variables_and_files_that_a_note_names_are_looked_at),
    CASE(a_refresh_asks_those_that_failed_or_all),
    CASE(a_damaged_memory_is_not_believed),
    CASE(the_oldest_of_too_many_memories_go),
    CASE(a_cache_folder_that_cannot_be_written_is_no_error),
};
TEST_MAIN(cases)
