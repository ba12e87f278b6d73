/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a plugin's answer is believed, on both sides of each limit. */
#include "tfr_test.h"

#include "fake/kit.h"

#include "device/loader.h"

/* A runtime with the one plugin as_told and its options. */
static tfr_runtime *told(const char *options)
{
    kit_begin();
    kit_add("as_told", "as_told");
    kit_config(options);
    return kit_open(NULL);
}

static void done(tfr_runtime *runtime)
{
    tfr_runtime_release(runtime);
    kit_end();
}

static void check_told(const char *options, const char *state, const char *reason)
{
    tfr_runtime *runtime = told(options);
    tfr_plugin_desc row = kit_row(runtime, "as_told");
    CHECK_STATE(state, row);
    CHECK_CONTAINS(reason, row.reason);
    CHECK_INT(*reason != 0, *row.reason != 0);
    done(runtime);
}

TEST(up_to_256_devices_are_believed)
{
    static const unsigned counts[] = {1, 16, 17, 256};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char options[64], last[32], beyond[32];
        tfr_runtime *runtime;
        snprintf(options, sizeof options, "as-told.devices = %u", counts[i]);
        snprintf(last, sizeof last, "NPU:%u", counts[i] - 1);
        snprintf(beyond, sizeof beyond, "NPU:%u", counts[i]);
        runtime = told(options);
        CHECK_STATE("usable", kit_row(runtime, "as_told"));
        CHECK(kit_has(runtime, last));
        CHECK(!kit_has(runtime, beyond));
        done(runtime);
    }
    check_told("as-told.devices = 257", "bad_reply",
               "says that there are 257 devices, at most 256 are believed");
    check_told("as-told.devices = 0", "no_device", "finds no device that it can drive");
}

TEST(up_to_4096_ops_are_believed_and_one_without_a_name_is_passed_over)
{
    static const char *const options[] = {
        "as-told.ops = 1",
        "as-told.ops = 256",
        "as-told.ops = 257",
        "as-told.ops = 4096",
        "as-told.ops = 2\nas-told.nameless = 1",
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        tfr_runtime *runtime = told(options[i]);
        CHECK_STATE("usable", kit_row(runtime, "as_told"));
        CHECK_INT(1, kit_row(runtime, "as_told").n_ops); /* Relu, which comes last */
        done(runtime);
    }
    check_told("as-told.ops = 4097", "bad_reply", "claims 4097 ops, at most 4096 are believed");
}

TEST(an_error_of_the_slot_ops_is_shown)
{
    char options[64];
    snprintf(options, sizeof options, "as-told.ops-status = %d", TFR_EIO);
    check_told(options, "bad_reply", "its slot ops returned TFR_EIO: it forgot its ops");
}

TEST(a_device_that_does_not_open_has_the_reason_that_the_status_says)
{
    static const struct {
        tfr_status status;
        const char *state, *reason;
        int32_t unusable;
    } rows[] = {
        {TFR_ENOMEM, "no_device", "opening it returned TFR_ENOMEM: it shall not open",
         TFR_REASON_MEMORY},
        {TFR_EUNSUPPORTED, "incompatible_driver", "opening it returned TFR_EUNSUPPORTED",
         TFR_REASON_DEVICE_FEATURE},
        {TFR_EIO, "no_device", "opening it returned TFR_EIO", TFR_REASON_QUARANTINED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char options[64];
        tfr_runtime *runtime;
        const tfr__plugin *plugin;
        snprintf(options, sizeof options, "as-told.host = 1\nas-told.open-status = %d",
                 (int)rows[i].status);
        runtime = told(options);
        CHECK_STATE(rows[i].state, kit_row(runtime, "as_told"));
        CHECK_CONTAINS(rows[i].reason, kit_row(runtime, "as_told").reason);
        plugin = runtime->loader->plugins[0];
        REQUIRE_INT(1, (int)plugin->reply.n_devices);
        CHECK_INT(rows[i].unusable, plugin->reply.devices[0].info.unusable);
        CHECK_INT(0, (int)plugin->reply.devices[0].n_claims);
        done(runtime);
    }
}

TEST(only_the_hosts_own_device_is_opened_to_be_listed)
{
    char options[64];
    tfr_runtime *runtime;
    snprintf(options, sizeof options, "as-told.open-status = %d", TFR_EIO);
    runtime = told(options);
    CHECK_STATE("usable", kit_row(runtime, "as_told"));
    CHECK_INT(1, kit_row(runtime, "as_told").n_ops);
    done(runtime);
}

TEST(a_device_that_cannot_be_used_is_not_opened_and_leaves_the_others)
{
    char options[128];
    tfr_runtime *runtime;
    snprintf(options, sizeof options, "as-told.devices = 3\nas-told.unusable = %d",
             TFR_REASON_MEMORY);
    runtime = told(options);
    CHECK_STATE("usable", kit_row(runtime, "as_told"));
    CHECK_STR("2 of 3 devices cannot be used; board:1: it is told so",
              kit_row(runtime, "as_told").reason);
    CHECK(kit_has(runtime, "NPU:0"));
    CHECK(!kit_has(runtime, "NPU:1"));
    done(runtime);
    snprintf(options, sizeof options,
             "as-told.first = 0\nas-told.silent = 1\nas-told.unusable = %d",
             TFR_REASON_LIBRARY_MISSING);
    check_told(options, "missing_library", "board:0 cannot be used: the plugin does not say why");
}

static const test_case cases[] = {
    CASE(up_to_256_devices_are_believed),
    CASE(up_to_4096_ops_are_believed_and_one_without_a_name_is_passed_over),
    CASE(an_error_of_the_slot_ops_is_shown),
    CASE(a_device_that_does_not_open_has_the_reason_that_the_status_says),
    CASE(only_the_hosts_own_device_is_opened_to_be_listed),
    CASE(a_device_that_cannot_be_used_is_not_opened_and_leaves_the_others),
};
TEST_MAIN(cases)
