/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and backends, their names, and what the configuration does to them. */
#include "tfr_test.h"

#include "fake/kit.h"

#include "device/loader.h"
#include "base/port/cpu.h"

/* CPU:0 with the backends good (10), min-structs (10) and launch-fails (900). */
static tfr_runtime *open_three(const tfr_runtime_options *options)
{
    kit_begin();
    kit_add("good", "good");
    kit_add("min_structs", "min");
    kit_add("launch_fails", "launch");
    return kit_open(options);
}

static void close_all(tfr_runtime *runtime)
{
    tfr_runtime_release(runtime);
    kit_end();
}

static const char *backend_name(const tfr_runtime *runtime, uint32_t device, uint32_t i)
{
    static tfr_backend_desc desc;
    tfr_err err = TFR_ERR_INIT;
    desc = (tfr_backend_desc){.size = sizeof desc};
    REQUIRE_OK(tfr_runtime_backend(runtime, device, i, &desc, &err), &err);
    return desc.name;
}

static tfr_device_desc device_row(const tfr_runtime *runtime, uint32_t i)
{
    tfr_device_desc desc = {.size = sizeof desc};
    tfr_err err = TFR_ERR_INIT;
    REQUIRE_OK(tfr_runtime_device(runtime, i, &desc, &err), &err);
    return desc;
}

TEST(one_processor_behind_three_plugins_is_one_device)
{
    tfr_runtime *runtime = open_three(NULL);
    tfr_device_desc row;
    REQUIRE_INT(1, (int)tfr_runtime_n_devices(runtime));
    row = device_row(runtime, 0);
    CHECK_STR("CPU:0", row.name);
    CHECK_STR("host", row.identity);
    CHECK_UINT(3, row.n_backends);
    CHECK_UINT(1, row.n_ops);
    CHECK(row.n_threads >= 1);
    CHECK_CONTAINS("thread", row.description);
    CHECK(row.memory_total > (1u << 20) && row.memory_free <= row.memory_total);
    CHECK_STR("launch-fails:0", backend_name(runtime, 0, 0)); /* by priority, then by name */
    CHECK_STR("good:0", backend_name(runtime, 0, 1));
    CHECK_STR("min-structs:0", backend_name(runtime, 0, 2));
    close_all(runtime);
}

TEST(priorities_come_from_the_configuration_and_later_ones_beat_earlier)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    const tfr_option one[] = {{"min-structs.priority", "2000"}};
    tfr_runtime *runtime = open_three(NULL);
    tfr_runtime_release(runtime);
    kit_config("good.priority = 1000\nlaunch-fails.priority = 1\n");
    runtime = kit_open(NULL);
    CHECK_STR("good:0", backend_name(runtime, 0, 0));
    CHECK_STR("launch-fails:0", backend_name(runtime, 0, 2));
    tfr_runtime_release(runtime);
    setenv("TFRUN_PRIORITY", "launch-fails=1500,good=-5", 1);
    runtime = kit_open(NULL);
    CHECK_STR("launch-fails:0", backend_name(runtime, 0, 0));
    CHECK_STR("good:0", backend_name(runtime, 0, 2));
    tfr_runtime_release(runtime);
    options.options = one;
    options.n_options = 1;
    runtime = kit_open(&options);
    CHECK_STR("min-structs:0", backend_name(runtime, 0, 0));
    unsetenv("TFRUN_PRIORITY");
    close_all(runtime);
}

TEST(usual_names_are_understood)
{
    static const struct {
        const char *name;
        int32_t backend;
    } good[] = {
        {"CPU:0", -1},         {"cpu", -1},
        {"/cpu:0", -1},        {"/device:CPU:0", -1},
        {"device:cpu:0", -1},  {"/job:worker/replica:0/task:1/device:CPU:0", -1},
        {"launch-fails:0", 0}, {"good", 1},
        {"Good:0", 1},         {"/device:min-structs:0", 2},
    };
    tfr_runtime *runtime = open_three(NULL);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        uint32_t device = 99;
        int32_t backend = 99;
        tfr_err err = TFR_ERR_INIT;
        CHECK_OK(tfr_runtime_find(runtime, good[i].name, &device, &backend, &err), &err);
        CHECK_UINT(0, device);
        CHECK_INT(good[i].backend, backend);
    }
    close_all(runtime);
}

TEST(a_wrong_name_is_answered_with_the_right_ones)
{
    static const char *const bad[] = {"GPU:0",         "CPU:1", "",
                                      "cpu:",          "cpu:x", "cpu:0x",
                                      "/job:x/cpu:0/", ":0",    "cpu:99999999999999999999"};
    tfr_runtime *runtime = open_three(NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint32_t device;
        int32_t backend;
        tfr_err err = TFR_ERR_INIT;
        CHECK_STATUS(TFR_ENOTFOUND, tfr_runtime_find(runtime, bad[i], &device, &backend, &err),
                     &err);
        CHECK_CONTAINS("CPU:0 launch-fails:0 good:0 min-structs:0", err.text);
    }
    close_all(runtime);
}

TEST(the_name_of_an_unusable_plugin_is_answered_with_its_reason)
{
    uint32_t device;
    int32_t backend;
    tfr_err err = TFR_ERR_INIT;
    tfr_runtime *runtime;
    kit_begin();
    kit_add("ctor_exit3", "bad");
    runtime = kit_open(NULL);
    CHECK_STATUS(TFR_EDEVICE, tfr_runtime_find(runtime, "ctor-exit3:0", &device, &backend, &err),
                 &err);
    CHECK_CONTAINS("probe_exit", err.text);
    CHECK_CONTAINS("exit status 3", err.text);
    CHECK_CONTAINS("TFRUN_DISABLE=ctor-exit3", err.text);
    close_all(runtime);
}

TEST(logical_processors_split_the_threads)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime;
    uint32_t total, sum = 0;
    runtime = open_three(NULL);
    total = device_row(runtime, 0).n_threads;
    tfr_runtime_release(runtime);
    options.logical_cpus = 3;
    runtime = kit_open(&options);
    REQUIRE_INT(3, (int)tfr_runtime_n_devices(runtime));
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(device_row(runtime, i).n_threads >= 1);
        sum += device_row(runtime, i).n_threads;
    }
    CHECK_UINT(total < 3 ? 3 : total, sum);
    CHECK_STR("CPU:2", device_row(runtime, 2).name);
    CHECK_STR("good:2", backend_name(runtime, 2, 1));
    CHECK(kit_has(runtime, "CPU:2") && !kit_has(runtime, "CPU:3"));
    close_all(runtime);
}

TEST(hidden_devices_are_not_there_and_a_wrong_name_is_a_warning)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime = open_three(NULL);
    tfr_runtime_release(runtime);
    options.logical_cpus = 3;
    options.visible_devices = "CPU:2, /device:CPU:0,GPU:7";
    runtime = kit_open(&options);
    CHECK_UINT(2, tfr_runtime_n_devices(runtime));
    CHECK_STR("CPU:0", device_row(runtime, 0).name);
    CHECK_STR("CPU:2", device_row(runtime, 1).name);
    CHECK_CONTAINS("\"GPU:7\"", kit_talk);
    CHECK_CONTAINS("CPU:1", kit_talk);
    close_all(runtime);
}

TEST(a_fault_in_a_configuration_file_names_line_and_keys_and_the_rest_counts)
{
    tfr_runtime *runtime;
    kit_begin();
    kit_add("good", "good");
    kit_config("nonsense\nlogical-cpu = 2\nlogical-cpus = many\n  good.priority=77  # fine\n");
    runtime = kit_open(NULL);
    CHECK_CONTAINS("tfrun.conf:1: the line is not \"key = value\"", kit_talk);
    CHECK_CONTAINS("tfrun.conf:2: key \"logical-cpu\" is not known", kit_talk);
    CHECK_CONTAINS("visible-devices, logical-cpus", kit_talk);
    CHECK_CONTAINS("tfrun.conf:3: logical-cpus \"many\" is not a number from 0 to 1024", kit_talk);
    CHECK_INT(77, kit_row(runtime, "good").priority);
    close_all(runtime);
}

TEST(older_and_newer_callers_structs_are_read_by_their_size)
{
    struct {
        tfr_device_desc desc;
        char later[64];
    } big;
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime;
    tfr_err err = TFR_ERR_INIT;
    tfr_device_desc old;
    kit_begin();
    kit_add("good", "good");
    options.size = offsetof(tfr_runtime_options, visible_devices);
    options.visible_devices = (const char *)1; /* beyond size: not looked at */
    options.log = NULL;
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    memset(&old, 0x5a, sizeof old);
    old.size = offsetof(tfr_device_desc, type);
    CHECK_OK(tfr_runtime_device(runtime, 0, &old, &err), &err);
    CHECK_STR("CPU:0", old.name);
    CHECK_UINT(0x5a5a5a5a, old.n_ops);
    memset(&big, 0x5a, sizeof big);
    big.desc.size = sizeof big;
    CHECK_OK(tfr_runtime_device(runtime, 0, &big.desc, &err), &err);
    CHECK_INT(0x5a, big.later[0]);
    old.size = 0;
    CHECK_STATUS(TFR_EINVAL, tfr_runtime_device(runtime, 0, &old, &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr_runtime_device(runtime, 9, &old, &err), &err);
    options.size = 2;
    CHECK_STATUS(TFR_EINVAL, tfr_runtime_create(&options, &runtime, &err), &err);
    close_all(runtime);
}

TEST(processors_of_all_kinds_are_read)
{
    static tfr__cpu cpu;
    tfr__cpu_parse("processor\t: 0\nmodel name\t: Some(R)   Chip\ncpu MHz\t\t: 2600.5\n"
                   "flags\t\t: fpu avx2  avx512f\n\nprocessor\t: 1\nflags\t\t: other\n",
                   &cpu);
    CHECK_STR("Some(R) Chip", cpu.name);
    CHECK_STR("fpu avx2 avx512f", cpu.features);
    CHECK_UINT(2600500, cpu.clock_khz);
    CHECK(tfr__words_have(cpu.features, "avx2", 4) && !tfr__words_have(cpu.features, "avx", 3));
    tfr__cpu_parse("processor\t: 0\nFeatures\t: fp asimd sve\n", &cpu);
    CHECK_STR("fp asimd sve", cpu.features);
    CHECK_STR("", cpu.name);
    tfr__cpu_parse("processor\t: 0\nisa\t: rv64imafdc_zba_zbb\nuarch\t: acme,one\n", &cpu);
    CHECK_STR("i m a f d c zba zbb", cpu.features);
    CHECK_STR("acme,one", cpu.name);
    tfr__cpu_parse("features\t: esan3 zarch vx \nbogus", &cpu);
    CHECK_STR("esan3 zarch vx", cpu.features);
    tfr__cpu_parse("", &cpu);
    CHECK_STR("", cpu.features);
}

static const test_case cases[] = {
    CASE(one_processor_behind_three_plugins_is_one_device),
    CASE(priorities_come_from_the_configuration_and_later_ones_beat_earlier),
    CASE(usual_names_are_understood),
    CASE(a_wrong_name_is_answered_with_the_right_ones),
    CASE(the_name_of_an_unusable_plugin_is_answered_with_its_reason),
    CASE(logical_processors_split_the_threads),
    CASE(hidden_devices_are_not_there_and_a_wrong_name_is_a_warning),
    CASE(a_fault_in_a_configuration_file_names_line_and_keys_and_the_rest_counts),
    CASE(older_and_newer_callers_structs_are_read_by_their_size),
    CASE(processors_of_all_kinds_are_read),
};
TEST_MAIN(cases)
