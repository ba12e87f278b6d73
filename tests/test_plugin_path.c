/* SPDX-License-Identifier: Apache-2.0 */
/* Files and folders that others can change are refused, and the current folder is no place. */
#include "tfr_test.h"

#include "fake/kit.h"

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

TEST(a_file_that_another_group_can_write_is_refused)
{
    static const struct {
        gid_t group;
        mode_t mode;
        const char *state;
    } rows[] = {
        {4711, 0775, "unsafe_path"}, {4711, 0755, "usable"}, {0, 0775, "usable"}, /* root's */
    };
    if (geteuid() != 0)
        SKIP("only root can give files away");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfr_runtime *runtime;
        tfr_plugin_desc row;
        kit_begin();
        kit_add("good", "good");
        REQUIRE_INT(0, chown(kit_path("plugins/good.so"), 0, rows[i].group));
        REQUIRE_INT(0, chmod(kit_path("plugins/good.so"), rows[i].mode));
        runtime = kit_open(NULL);
        row = kit_row(runtime, "good");
        CHECK_STATE(rows[i].state, row);
        if (i == 0)
            CHECK_CONTAINS("good.so can be written by group 4711 (mode 0775)", row.reason);
        tfr_runtime_release(runtime);
        kit_end();
    }
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

static const test_case cases[] = {
    CASE(a_file_that_others_can_write_is_refused),
    CASE(a_folder_that_others_can_write_is_refused),
    CASE(a_file_of_another_user_is_refused),
    CASE(a_file_that_another_group_can_write_is_refused),
    CASE(a_link_is_followed_and_what_it_leads_to_is_checked),
    CASE(the_current_folder_is_never_searched),
};
TEST_MAIN(cases)
