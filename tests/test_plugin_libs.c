/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that a plugin needs, that it does not link but opens later (TFR_PLUGIN_OPENS and
 * TFR_HOST_PROBE_V1), and that lie beside plugins.
 */
#include "tfr_test.h"

#include "fake/kit.h"

#include "base/alloc.h"
#include "device/loader.h"

#include <tfrun/plugin.h>

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

TEST(a_library_that_is_opened_later_is_missed_before_the_plugin_runs)
{
    uint64_t before = tfr__probe_count();
    tfr_runtime *runtime;
    tfr_plugin_desc row;
    kit_begin();
    kit_add("opens_missing", "opens_missing");
    runtime = kit_open(NULL);
    row = kit_row(runtime, "opens_missing");
    CHECK_STATE("missing_library", row);
    CHECK_CONTAINS("libtfr-absent.so.7 (needed by opens_missing.so)", row.reason);
    CHECK_CONTAINS("packages", row.next_step);
    CHECK_UINT(0, tfr__probe_count() - before);
    tfr_runtime_release(runtime);
    kit_end();
}

TEST(one_of_the_names_is_enough_and_what_is_only_recommended_may_lack)
{
    tfr_runtime *runtime;
    kit_begin();
    kit_add("opens_others", "opens_others");
    runtime = kit_open(NULL);
    CHECK_STATE("usable", kit_row(runtime, "opens_others"));
    tfr_runtime_release(runtime);
    kit_end();
}

TEST(a_probe_finds_the_broken_library_that_would_be_opened_later)
{
    tfr_runtime *runtime;
    tfr_plugin_desc row;
    kit_begin();
    kit_add("opens_broken", "opens_broken");
    runtime = kit_open(NULL);
    row = kit_row(runtime, "opens_broken");
    CHECK_CONTAINS("libtfr-old.so is of 1987", row.reason);
    CHECK(!kit_has(runtime, "opens-broken"));
    tfr_runtime_release(runtime);
    kit_end();
}

TEST(a_note_with_any_byte_changed_is_read_without_harm)
{
    static const char marks[] = {'"', '}', '{', '\\', ':', ']', 0, 'x', (char)0xff};
    static char bytes[1 << 20];
    tfr__loader loader = {.lock = PTHREAD_MUTEX_INITIALIZER};
    size_t n, text;
    char *found;
    kit_begin();
    n = kit_read(kit_built("opens_others"), bytes, sizeof bytes);
    found = memmem(bytes, n, "[ {\"soname\"", 11);
    REQUIRE(found != NULL);
    text = (size_t)(found - bytes);
    for (size_t at = text - 16; at < text + 260; at++)
        for (size_t k = 0; k < sizeof marks; k++) {
            tfr__plugin plugin = {.loader = &loader, .path = kit_path("plugins/x.so"), .name = "x"};
            tfr_err err = TFR_ERR_INIT;
            char was = bytes[at];
            bytes[at] = marks[k];
            kit_write("plugins/x.so", bytes, n);
            CHECK_OK(tfr__plugin_find_libs(&plugin, &err), &err);
            bytes[at] = was;
        }
    tfr__region_free(&loader.region);
    kit_end();
}

TEST(a_users_process_is_no_probe)
{
    CHECK(tfr__host()->facet(TFR_HOST_PROBE_V1) == NULL);
}

static const test_case cases[] = {
    CASE(all_missing_libraries_are_named_with_who_needs_them),
    CASE(a_helper_library_beside_plugins_has_no_row),
    CASE(a_library_that_is_opened_later_is_missed_before_the_plugin_runs),
    CASE(one_of_the_names_is_enough_and_what_is_only_recommended_may_lack),
    CASE(a_probe_finds_the_broken_library_that_would_be_opened_later),
    CASE(a_note_with_any_byte_changed_is_read_without_harm),
    CASE(a_users_process_is_no_probe),
};
TEST_MAIN(cases)
