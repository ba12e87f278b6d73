/* SPDX-License-Identifier: Apache-2.0 */
/* Loading a plugin into this process, opening its device, and what follows when that goes wrong. */
#include "tfr_test.h"

#include "fake/kit.h"

#include "device/loader.h"
#include "op/op.h"
#include "value/tensor.h"
#include <pthread.h>
#include <tfrun/op.h>
#include <tfrun/tensor.h>

/* Relu of {-1, 2}, on device. */
static tfr_status run_relu(tfr_runtime *runtime, const char *device, float out[2], tfr_err *err)
{
    const tfr_shape shape = {.rank = 1, .dims = {2}};
    tfr_node_desc node = {.size = sizeof node};
    float in[2] = {-1, 2};
    tfr_tensor *x = NULL, *y = NULL;
    tfr_status status;
    node.op = "Relu";
    node.n_outputs = 1;
    status = tfr_tensor_wrap(TFR_DTYPE_F32, &shape, NULL, in, NULL, NULL, &x, err);
    if (!status)
        status = tfr_op_run(runtime, device, &node, &x, 1, &y, 1, err);
    if (!status)
        memcpy(out, tfr_tensor_data(y), sizeof in);
    tfr_tensor_release(x);
    tfr_tensor_release(y);
    return status;
}

static void check_relu(tfr_runtime *runtime, const char *device)
{
    float out[2] = {9, 9};
    tfr_err err = TFR_ERR_INIT;
    CHECK_OK(run_relu(runtime, device, out, &err), &err);
    CHECK(out[0] == 0 && out[1] == 2);
}

/* The tests of this program share plugin files of one build, so each has a copy of its own: a
 * library stays loaded by its path. */
static tfr_runtime *open_with(const char *first, const char *second)
{
    kit_begin();
    kit_add(first, first);
    if (second)
        kit_add(second, second);
    return kit_open(NULL);
}

static void close_all(tfr_runtime *runtime)
{
    tfr_runtime_release(runtime);
    kit_end();
}

TEST(a_plugin_is_loaded_when_it_is_used_and_not_before)
{
    tfr_runtime *runtime = open_with("good", NULL);
    CHECK_STATE("usable", kit_row(runtime, "good"));
    check_relu(runtime, NULL);
    CHECK_STATE("loaded", kit_row(runtime, "good"));
    close_all(runtime);
}

TEST(plugins_of_an_older_and_of_a_later_header_compute)
{
    tfr_runtime *runtime = open_with("min_structs", "future_structs");
    check_relu(runtime, "min-structs");
    check_relu(runtime, "future-structs");
    CHECK_STATE("loaded", kit_row(runtime, "min_structs"));
    CHECK_STATE("loaded", kit_row(runtime, "future_structs"));
    CHECK(!runtime->devices[0].backends[0].has_queue);
    close_all(runtime);
}

TEST(a_plugin_that_says_yes_and_fails_is_passed_over)
{
    tfr_runtime *runtime = open_with("prepare_fails", "good");
    CHECK_STR("prepare-fails", runtime->devices[0].backends[0].plugin_name);
    check_relu(runtime, NULL);
    CHECK_CONTAINS("on second thoughts, no", kit_talk);
    check_relu(runtime, NULL);
    CHECK_STATE("quarantined", kit_row(runtime, "prepare_fails"));
    CHECK_STR("prepare-fails:0, op Relu: on second thoughts, no",
              kit_row(runtime, "prepare_fails").reason);
    close_all(runtime);
}

TEST(a_plugin_whose_kernel_fails_is_passed_over)
{
    tfr_runtime *runtime = open_with("launch_fails", "good");
    float out[2];
    tfr_err err = TFR_ERR_INIT;
    /* The first run may fail, with the reason; the next ones go to the other backend. */
    if (run_relu(runtime, NULL, out, &err))
        CHECK_CONTAINS("the kernel fell over", err.text);
    check_relu(runtime, NULL);
    CHECK_STATE("quarantined", kit_row(runtime, "launch_fails"));
    CHECK_CONTAINS("op Relu: the kernel fell over", kit_row(runtime, "launch_fails").reason);
    close_all(runtime);
}

/* Counts, and gives a table of its own. */
static const tfr_plugin *watch(void *user, const char *path, const tfr_plugin *table)
{
    static tfr_plugin own;
    if (!strstr(path, "good"))
        return table;
    ++*(int *)user;
    own = *table;
    own.size = sizeof own;
    return &own;
}

TEST(a_tool_may_watch_the_tables_of_a_plugin_once_in_a_process)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime, *other;
    int n = 0;
    options.wrap = watch;
    options.wrap_user = &n;
    kit_begin();
    kit_add("good", "good");
    runtime = kit_open(&options);
    CHECK(n == 0);
    check_relu(runtime, NULL);
    CHECK(n == 1);
    other = kit_open(&options);
    check_relu(other, NULL);
    CHECK(n == 1);
    tfr_runtime_release(other);
    close_all(runtime);
}

static void check_breach_on_opening(const char *fake, const char *name, const char *what)
{
    tfr_runtime *runtime = open_with(fake, "good");
    tfr__backend *backend = NULL;
    tfr_err err = TFR_ERR_INIT;
    tfr_plugin_desc row;
    for (uint32_t i = 0; i < runtime->n_devices; i++)
        if (strcmp(runtime->devices[i].backends[0].plugin_name, name) == 0)
            backend = &runtime->devices[i].backends[0];
    REQUIRE(backend != NULL);
    CHECK_STATUS(TFR_EPLUGIN, tfr__backend_open(runtime, backend, &err), &err);
    CHECK_CONTAINS(what, err.text);
    row = kit_row(runtime, fake);
    CHECK_STATE("quarantined", row);
    CHECK_CONTAINS(what, row.reason);
    CHECK(*row.next_step);
    CHECK(atomic_load(&backend->quarantined));
    CHECK_STATUS(TFR_EPLUGIN, tfr__backend_open(runtime, backend, &err), &err);
    CHECK_CONTAINS("is quarantined", err.text);
    check_relu(runtime, NULL);
    close_all(runtime);
}

TEST(a_breach_found_on_opening_quarantines_the_plugin)
{
    check_breach_on_opening("no_access", "no-access",
                            "space 0 of no-access:0 is without TFR_SPACE_DEVICE_ACCESS");
}

TEST(a_space_with_a_flag_that_must_be_understood_is_not_used)
{
    check_breach_on_opening("strange_space", "strange-space",
                            "space 0 of strange-space:0 has flags 0x80000000");
}

TEST(a_role_without_what_it_needs_is_told_with_the_space)
{
    check_breach_on_opening("strange_role", "strange-role",
                            "space 0 of strange-role:0, \"host\", has flags 0x1b: its role needs "
                            "0x3, and addresses");
}

TEST(what_can_be_seen_before_is_found_by_the_probe)
{
    tfr_runtime *runtime = open_with("no_host_access", "twins");
    CHECK_STATE("bad_reply", kit_row(runtime, "no_host_access"));
    CHECK_STR("space 0 of host is without TFR_SPACE_HOST_ACCESS, and its identity is the host",
              kit_row(runtime, "no_host_access").reason);
    CHECK_STATE("usable", kit_row(runtime, "twins"));
    CHECK_STR("has more than one device of the identity board:7; the first is used",
              kit_row(runtime, "twins").reason);
    CHECK(kit_has(runtime, "NPU:0"));
    CHECK(!kit_has(runtime, "NPU:1"));
    close_all(runtime);
    runtime = open_with("old_ops", NULL);
    CHECK_STR("3 of its ops are off: Add is of version 1, this core has version 14, Relu is of "
              "version 1, this core has version 14, ScatterElements is of version 11 with another "
              "schema or normal form, this core has version 18",
              kit_row(runtime, "old_ops").reason);
    CHECK_INT(
        TFR__CLAIM_OLDER,
        runtime->devices[0].backends[0].claims[tfr__op_number(tfr__op_find("", "ScatterND"))]);
    close_all(runtime);
}

/* Kernels work, and the plugin's row says what is wrong with the facet that is off. */
static void check_facet_off(const char *fake, const char *name, const char *why)
{
    tfr_runtime *runtime = open_with(fake, NULL);
    char device[40];
    tfr_plugin_desc row;
    snprintf(device, sizeof device, "%s:0", name);
    check_relu(runtime, device);
    row = kit_row(runtime, fake);
    CHECK_STATE("loaded", row);
    CHECK_STR(why, row.reason);
    CHECK_CONTAINS(why, kit_talk);
    CHECK(!runtime->devices[0].backends[0].has_program);
    CHECK(!runtime->devices[0].backends[0].has_layout);
    CHECK(!runtime->devices[0].backends[0].has_profile);
    CHECK(!runtime->devices[0].backends[0].has_comm);
    close_all(runtime);
}

TEST(a_broken_optional_facet_is_off_alone)
{
    check_facet_off("null_program", "null-program",
                    "the required slot launch of tfr.program/1 is NULL, so this facet is off");
    check_facet_off("short_layout", "short-layout",
                    "tfr.layout/1 has 16 bytes, at least 24 are required, so this facet is off");
    check_facet_off("bad_profile", "bad-profile",
                    "the required slot drain of tfr.profile/1 is NULL, so this facet is off");
    check_facet_off("bad_comm", "bad-comm",
                    "the required slot unique_id of tfr.comm/1 is NULL, so this facet is off");
}

TEST(a_file_that_was_swapped_since_it_was_looked_at_is_not_loaded)
{
    tfr_runtime *runtime = open_with("good", NULL);
    tfr_err err = TFR_ERR_INIT;
    kit_add("ctor_abort", "good");
    CHECK_STATUS(TFR_EPLUGIN, tfr__backend_open(runtime, &runtime->devices[0].backends[0], &err),
                 &err);
    CHECK_CONTAINS("has changed since it was looked at", err.text);
    CHECK_STATE("quarantined", kit_row(runtime, "good"));
    close_all(runtime);
}

TEST(two_runtimes_share_a_plugin_and_outlive_each_other)
{
    tfr_runtime *one = open_with("good", NULL), *two = kit_open(NULL);
    check_relu(one, NULL);
    check_relu(two, NULL);
    CHECK(one->devices[0].backends[0].device != two->devices[0].backends[0].device);
    tfr_runtime_release(one);
    check_relu(two, NULL);
    tfr_runtime_release(two);
    two = kit_open(NULL);
    check_relu(two, NULL);
    close_all(two);
}

struct opening {
    tfr_runtime *runtime;
    uint32_t device;
};

static void *open_on_thread(void *user)
{
    struct opening *o = user;
    tfr_err err = TFR_ERR_INIT;
    return tfr__backend_open(o->runtime, &o->runtime->devices[o->device].backends[0], &err) ? user
                                                                                            : NULL;
}

TEST(threads_that_open_at_once_get_one_device_each_and_one_plugin)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    struct opening openings[8];
    pthread_t threads[8];
    tfr_runtime *runtime;
    void *failed;
    kit_begin();
    kit_add("good", "good");
    options.logical_cpus = 2;
    runtime = kit_open(&options);
    for (uint32_t i = 0; i < 8; i++) {
        openings[i] = (struct opening){runtime, i % 2};
        REQUIRE_INT(0, pthread_create(&threads[i], NULL, open_on_thread, &openings[i]));
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], &failed);
        CHECK(failed == NULL);
    }
    CHECK(runtime->devices[0].backends[0].device != NULL);
    CHECK(runtime->devices[0].backends[0].device != runtime->devices[1].backends[0].device);
    close_all(runtime);
}

TEST(the_host_table_gives_options_and_facets)
{
    tfr_runtime *runtime;
    const tfr_host *host = tfr__host();
    const tfr_host_cpu *cpu = host->facet(TFR_HOST_CPU_V1);
    const tfr_host_string *strings = host->facet(TFR_HOST_STRING_V1);
    tfr_string text = {0};
    char value[4];
    kit_begin();
    kit_config("good.math-mode = fast\n");
    runtime = kit_open(NULL);
    CHECK_INT(4, host->option("good", "math-mode", value, sizeof value));
    CHECK_STR("fas", value);
    CHECK_INT(-1, host->option("good", "math", value, sizeof value));
    CHECK_INT(-1, host->option("goo", "math-mode", value, sizeof value));
    REQUIRE(cpu && strings);
    CHECK(cpu->n_threads >= 1 && *cpu->name);
    CHECK_INT(0, strings->set(&text, "abc", 3));
    CHECK_UINT(3, text.bytes);
    CHECK_INT(0, strings->set(&text, "", 0));
    tfr__strings_clear(&text, 1);
    CHECK(host->facet("tfr.host.nonsense/1") == NULL);
    host->log(TFR_LOG_WARNING, "good", "two\nlines\033[2J");
    CHECK_CONTAINS("good: two lines [2J", kit_talk);
    close_all(runtime);
    CHECK_INT(-1, host->option("good", "math-mode", value, sizeof value));
}

static const test_case cases[] = {
    CASE(a_plugin_is_loaded_when_it_is_used_and_not_before),
    CASE(plugins_of_an_older_and_of_a_later_header_compute),
    CASE(a_plugin_that_says_yes_and_fails_is_passed_over),
    CASE(a_plugin_whose_kernel_fails_is_passed_over),
    CASE(a_tool_may_watch_the_tables_of_a_plugin_once_in_a_process),
    CASE(a_breach_found_on_opening_quarantines_the_plugin),
    CASE(a_space_with_a_flag_that_must_be_understood_is_not_used),
    CASE(a_role_without_what_it_needs_is_told_with_the_space),
    CASE(what_can_be_seen_before_is_found_by_the_probe),
    CASE(a_broken_optional_facet_is_off_alone),
    CASE(a_file_that_was_swapped_since_it_was_looked_at_is_not_loaded),
    CASE(two_runtimes_share_a_plugin_and_outlive_each_other),
    CASE(threads_that_open_at_once_get_one_device_each_and_one_plugin),
    CASE(the_host_table_gives_options_and_facets),
};
TEST_MAIN(cases)
