/* SPDX-License-Identifier: Apache-2.0 */
/* What the user wants of plugins: lines, keys, their limits, lists, numbers, and who wins. */
#include "tfr_test.h"

#include "fake/kit.h"

#include "base/alloc.h"
#include "base/env.h"
#include "device/loader.h"

#include <errno.h>

/* A runtime that only talks; what it says is collected in config_talk. */
static char config_talk[4096];

static void config_log(void *user, tfr_log_level level, const char *who, const char *text)
{
    size_t used = strlen(config_talk);
    (void)user;
    snprintf(config_talk + used, sizeof config_talk - used, "%d %s: %s\n", (int)level, who, text);
}

static tfr_runtime talker = {.log_lock = PTHREAD_MUTEX_INITIALIZER, .log = config_log};

static tfr__config parse(const char *text)
{
    tfr__config config = {0};
    config_talk[0] = 0;
    REQUIRE_INT(TFR_OK, tfr__config_parse(&config, &talker, "f", text));
    return config;
}

TEST(a_line_becomes_a_setting_with_its_origin_or_a_warning)
{
    static const struct {
        const char *line, *key, *value, *warning; /* key NULL: nothing is set */
    } lines[] = {
        {"threads=2", "threads", "2", ""},
        {" \tthreads \t=\t 2 \r", "threads", "2", ""},
        {"log = a = b", "log", "a = b", ""},
        {"log = a b # more", "log", "a b", ""},
        {"log =", "log", "", ""},
        {"a.b = c", "a.b", "c", ""},
        {"", NULL, NULL, ""},
        {" \t\r", NULL, NULL, ""},
        {"# threads = 2", NULL, NULL, ""},
        {"threads", NULL, NULL, "f:2: the line is not \"key = value\""},
        {"thread = 2", NULL, NULL, "f:2: key \"thread\" is not known; keys are disable, enable"},
        {".b = c", NULL, NULL, "f:2: key \".b\" is not known"},
        {"a. = c", NULL, NULL, "f:2: key \"a.\" is not known"},
        {"= c", NULL, NULL, "f:2: key \"\" is not known"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char text[128];
        tfr__config config;
        snprintf(text, sizeof text, "\n%s\nenable = x", lines[i].line);
        config = parse(text);
        CHECK_CONTAINS(lines[i].warning, config_talk);
        CHECK_INT(!*lines[i].warning, !*config_talk);
        REQUIRE_INT(lines[i].key ? 2 : 1, (int)config.n);
        CHECK_STR("f:3", config.settings[config.n - 1].origin);
        if (lines[i].key) {
            CHECK_STR(lines[i].key, config.settings[0].key);
            CHECK_STR(lines[i].value, config.settings[0].value);
            CHECK_STR("f:2", config.settings[0].origin);
        }
        tfr__config_finish(&config);
    }
}

TEST(a_key_of_95_bytes_and_a_value_of_1023_are_the_longest)
{
    for (int more = 0; more < 4; more++) {
        const int key = 95 + (more & 1), value = 1023 + (more >> 1);
        char text[1200];
        tfr__config config;
        snprintf(text, sizeof text, "a.%0*d = %0*d\n", key - 2, 1, value, 2);
        config = parse(text);
        CHECK_UINT(more == 0, config.n);
        if (more)
            CHECK_CONTAINS("a key has at most 95 bytes and a value 1023; the line is left out",
                           config_talk);
        else
            CHECK_INT(95, (int)strlen(config.settings[0].key));
        tfr__config_finish(&config);
    }
}

TEST(every_known_key_is_taken_and_the_strongest_setting_is_found)
{
    tfr__config config =
        parse("disable=1\nenable=1\nvisible-devices=1\nlogical-cpus=1\nthreads=1\npin-threads=1\n"
              "probe-timeout-ms=1\nfailure-ttl-s=1\nhide-cpu-features=1\nlog=1\ntuning=1\n"
              "a.priority=1\nab.priority=2\nb.threads=3\nthreads=4\na.priority=5\nx.y=1\nx.z=2\n");
    CHECK_STR("", config_talk);
    REQUIRE_INT(18, config.n); /* over the first room */
    CHECK_STR("4", tfr__config_find(&config, NULL, "threads")->value);
    CHECK_STR("3", tfr__config_find(&config, "b", "threads")->value);
    CHECK_STR("5", tfr__config_find(&config, "a", "priority")->value);
    CHECK_STR("2", tfr__config_find(&config, "ab", "priority")->value);
    CHECK_STR("1", tfr__config_find(&config, NULL, "disable")->value);
    CHECK(tfr__config_find(&config, "a", "threads") == NULL);
    CHECK(tfr__config_find(&config, "c", "priority") == NULL);
    CHECK(tfr__config_find(&config, NULL, "priority") == NULL);
    tfr__config_finish(&config);
    CHECK_UINT(0, config.n);
}

TEST(a_number_has_to_be_whole_and_within_its_limits)
{
    static const struct {
        const char *value;
        int64_t number;
        bool good;
    } numbers[] = {
        {"1", 1, true},
        {"9", 9, true},
        {"+5", 5, true},
        {"0", 4, false},
        {"10", 4, false},
        {"-1", 4, false},
        {"", 4, false},
        {"5x", 4, false},
        {"5 6", 4, false},
        {"x", 4, false},
        {"1.5", 4, false},
        {"0x5", 4, false},
        {"99999999999999999999999", 4, false},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[64];
        tfr__config config;
        snprintf(text, sizeof text, "p.x = %s", numbers[i].value);
        config = parse(text);
        CHECK_INT(numbers[i].number, tfr__config_number(&config, &talker, "p", "x", 4, 1, 9));
        snprintf(text, sizeof text, "f:1: p.x \"%s\" is not a number from 1 to 9, 4 is used",
                 numbers[i].value);
        CHECK_CONTAINS(numbers[i].good ? "" : text, config_talk);
        CHECK_INT(numbers[i].good, !*config_talk);
        CHECK_INT(7, tfr__config_number(&config, &talker, "q", "x", 7, 1, 5));
        tfr__config_finish(&config);
    }
}

TEST(the_last_of_disable_and_enable_that_names_a_plugin_decides)
{
    static const struct {
        const char *text, *by; /* by NULL: it is not disabled */
    } lists[] = {
        {"disable = ab", "f:1"},
        {"disable = x, ab", "f:1"},
        {"disable = x ab,y", "f:1"},
        {"disable = *", "f:1"},
        {"disable = x,*", "f:1"},
        {"disable = a", NULL},
        {"disable = abc", NULL},
        {"disable = a b", NULL},
        {"disable = **", NULL},
        {"disable =", NULL},
        {"tuning = ab", NULL},
        {"disable = ab\ndisable = ab", "f:2"},
        {"disable = *\nenable = ab", NULL},
        {"disable = ab\nenable = x", "f:1"},
        {"enable = ab\ndisable = *", "f:2"},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        tfr__config config = parse(lists[i].text);
        const tfr__setting *by = tfr__config_disables(&config, "ab");
        CHECK_STR(lists[i].by ? lists[i].by : "", by ? by->origin : "");
        tfr__config_finish(&config);
    }
}

/* ---- files, environment and options ---- */

static tfr__config load(const tfr_runtime_options *given)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr__config config = {0};
    tfr_err err = TFR_ERR_INIT;
    config_talk[0] = 0;
    REQUIRE_OK(tfr__config_load(&config, &talker, given ? given : &options, &err), &err);
    return config;
}

static const char *loaded(const tfr__config *config, const char *plugin, const char *key)
{
    const tfr__setting *s = tfr__config_find(config, plugin, key);
    static char text[2][256];
    static unsigned next;
    char *out = text[next++ % 2];
    snprintf(out, sizeof text[0], "%s from %s", s ? s->value : "nothing", s ? s->origin : "nobody");
    return out;
}

TEST(the_environment_beats_the_file_and_options_beat_both)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    const tfr_option own[] = {{"a.key", "4"}, {"no-key", "5"}, {NULL, "6"}, {"a.none", NULL}};
    tfr__config config;
    kit_begin();
    kit_config("threads = 1\nlogical-cpus = 1\na.key = 1\nlog = 1");
    setenv("TFRUN_THREADS", "2", 1);
    setenv("TFRUN_LOGICAL_CPUS", "", 1); /* empty is not set */
    config = load(NULL);
    CHECK_STR("2 from TFRUN_THREADS", loaded(&config, NULL, "threads"));
    CHECK_CONTAINS("config/tfrun/tfrun.conf:2", loaded(&config, NULL, "logical-cpus"));
    CHECK_CONTAINS("config/tfrun/tfrun.conf:4", loaded(&config, NULL, "log"));
    CHECK_STR("", config_talk);
    tfr__config_finish(&config);

    options.options = own;
    options.n_options = 4;
    options.n_threads = 3;
    options.logical_cpus = 5;
    options.visible_devices = "GPU:1";
    config = load(&options);
    CHECK_STR("3 from an option of the program", loaded(&config, NULL, "threads"));
    CHECK_STR("5 from an option of the program", loaded(&config, NULL, "logical-cpus"));
    CHECK_STR("GPU:1 from an option of the program", loaded(&config, NULL, "visible-devices"));
    CHECK_STR("4 from an option of the program", loaded(&config, "a", "key"));
    CHECK_STR("nothing from nobody", loaded(&config, "a", "none"));
    CHECK_STR("nothing from nobody", loaded(&config, NULL, "no-key"));
    CHECK_CONTAINS("option \"no-key\" is not known", config_talk);
    tfr__config_finish(&config);
    unsetenv("TFRUN_THREADS");
    unsetenv("TFRUN_LOGICAL_CPUS");
    kit_end();
}

TEST(a_list_of_priorities_keeps_what_is_name_and_number)
{
    char list[256];
    tfr__config config;
    kit_begin();
    snprintf(list, sizeof list, "a=1, b=-2,,=3 c d=,%063d=5,%064d=6", 7, 8);
    setenv("TFRUN_PRIORITY", list, 1);
    config = load(NULL);
    unsetenv("TFRUN_PRIORITY");
    CHECK_STR("1 from TFRUN_PRIORITY", loaded(&config, "a", "priority"));
    CHECK_STR("-2 from TFRUN_PRIORITY", loaded(&config, "b", "priority"));
    CHECK_STR("nothing from nobody", loaded(&config, "c", "priority"));
    CHECK_STR(" from TFRUN_PRIORITY", loaded(&config, "d", "priority"));
    snprintf(list, sizeof list, "%063d", 7);
    CHECK_STR("5 from TFRUN_PRIORITY", loaded(&config, list, "priority"));
    CHECK_CONTAINS("TFRUN_PRIORITY: \"=3\" is not NAME=NUMBER", config_talk);
    CHECK_CONTAINS("TFRUN_PRIORITY: \"c\" is not NAME=NUMBER", config_talk);
    CHECK_CONTAINS("8=6\" is not NAME=NUMBER", config_talk);
    CHECK(strstr(config_talk, "\"\"") == NULL);
    tfr__config_finish(&config);
    kit_end();
}

TEST(options_of_plugins_come_from_the_environment_and_lose_to_the_program)
{
    const tfr_option own[] = {{"a.y", "own"}, {"a.y", "later"}};
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr__config config;
    kit_begin();
    kit_config("a.x = file\na.y = file\na.z = file\n");
    options.options = own;
    options.n_options = 2;
    setenv("TFRUN_PLUGIN_OPTIONS", "a.x=1,2=3 a.y=env\ta.w= b=2 .k=1 c. a.v  ", 1);
    config = load(&options);
    CHECK_STR("1,2=3 from TFRUN_PLUGIN_OPTIONS", loaded(&config, "a", "x"));
    CHECK_STR("later from an option of the program", loaded(&config, "a", "y"));
    CHECK_CONTAINS("file from ", loaded(&config, "a", "z"));
    CHECK_STR(" from TFRUN_PLUGIN_OPTIONS", loaded(&config, "a", "w"));
    CHECK_CONTAINS("TFRUN_PLUGIN_OPTIONS: \"b=2\" is not NAME.KEY=VALUE and is left", config_talk);
    CHECK_CONTAINS("\".k=1\" is not", config_talk);
    CHECK_CONTAINS("\"c.\" is not", config_talk);
    CHECK_CONTAINS("\"a.v\" is not", config_talk);
    tfr__config_finish(&config);
    tfr__privileged_for_test(1);
    config = load(NULL);
    tfr__privileged_for_test(-1);
    CHECK_STR("nothing from nobody", loaded(&config, "a", "w"));
    tfr__config_finish(&config);
    unsetenv("TFRUN_PLUGIN_OPTIONS");
    kit_end();
}

TEST(an_option_of_a_plugin_that_is_not_there_is_an_error)
{
    const tfr_option own[] = {{"good.x", "1"}, {"goo.priority", "1"}, {"goo.x", "1"}};
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_err err = TFR_ERR_INIT;
    tfr_runtime *runtime = NULL;
    kit_begin();
    kit_add("good", "good");
    kit_config("no.x = 1\n"); /* a file may tell of plugins that are not installed */
    setenv("TFRUN_PLUGIN_OPTIONS", "good.y=2 nobody.x=1", 1);
    options.options = own;
    options.n_options = 2;
    runtime = kit_open(&options);
    CHECK_STR(
        "config: TFRUN_PLUGIN_OPTIONS: option nobody.x: there is no plugin \"nobody\"; `tfrun "
        "plugins` lists them\n",
        kit_talk);
    tfr_runtime_release(runtime);
    unsetenv("TFRUN_PLUGIN_OPTIONS");
    options.n_options = 3;
    CHECK_STATUS(TFR_ENOTFOUND, tfr_runtime_create(&options, &runtime, &err), &err);
    CHECK_CONTAINS("option goo.x: there is no plugin \"goo\"; `tfrun plugins`", err.text);
    kit_end();
}

TEST(a_file_over_a_mebibyte_and_a_folder_are_warnings)
{
    static const char setting[] = "threads = 7\n";
    static char text[(1 << 20) + 1];
    tfr__config config;
    kit_begin();
    memset(text, '\n', sizeof text);
    memcpy(text, setting, sizeof setting - 1);
    kit_write("config/tfrun/tfrun.conf", text, sizeof text - 1);
    config = load(NULL);
    CHECK_CONTAINS("7 from ", loaded(&config, NULL, "threads"));
    CHECK_STR("", config_talk);
    tfr__config_finish(&config);
    kit_write("config/tfrun/tfrun.conf", text, sizeof text);
    config = load(NULL);
    CHECK_STR("nothing from nobody", loaded(&config, NULL, "threads"));
    CHECK_CONTAINS("no regular file of at most 1048576 bytes", config_talk);
    unlink(kit_path("config/tfrun/tfrun.conf"));
    mkdir(kit_path("config/tfrun/tfrun.conf"), 0755);
    tfr__config_finish(&config);
    config = load(NULL);
    CHECK_STR("nothing from nobody", loaded(&config, NULL, "threads"));
    CHECK_CONTAINS("no regular file", config_talk);
    tfr__config_finish(&config);
    rmdir(kit_path("config/tfrun/tfrun.conf"));
    config = load(NULL); /* a missing one is nothing to talk about */
    CHECK_STR("", config_talk);
    tfr__config_finish(&config);
    kit_end();
}

TEST(the_users_file_is_under_xdg_config_home_or_else_under_home)
{
    tfr__config config;
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    kit_begin();
    mkdir(kit_path("home"), 0755);
    mkdir(kit_path("home/.config"), 0755);
    mkdir(kit_path("home/.config/tfrun"), 0755);
    kit_write("home/.config/tfrun/tfrun.conf", "log = home", 10);
    kit_config("log = xdg");
    setenv("HOME", kit_path("home"), 1);
    config = load(NULL);
    CHECK_CONTAINS("xdg from ", loaded(&config, NULL, "log"));
    tfr__config_finish(&config);
    setenv("XDG_CONFIG_HOME", "relative", 1); /* is ignored */
    config = load(NULL);
    CHECK_CONTAINS("home from ", loaded(&config, NULL, "log"));
    tfr__config_finish(&config);
    setenv("HOME", "relative", 1);
    config = load(NULL);
    CHECK_STR("nothing from nobody", loaded(&config, NULL, "log"));
    tfr__config_finish(&config);
    if (home)
        setenv("HOME", home, 1);
    free(home);
    kit_end();
}

TEST(without_memory_there_is_an_error_and_not_half_a_configuration)
{
    const tfr_option own[] = {{"b.key", "2"}};
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    bool failed = true;
    kit_begin();
    kit_config("a.key = 1");
    setenv("TFRUN_PRIORITY", "c=3", 1);
    options.options = own;
    options.n_options = 1;
    for (uint64_t n = 1; failed; n++) {
        const uint64_t before = tfr__alloc_count();
        tfr__config config = {0};
        tfr_err err = TFR_ERR_INIT;
        tfr_status status;
        tfr__alloc_fail_at(n);
        status = tfr__config_load(&config, &talker, &options, &err);
        tfr__alloc_fail_at(0);
        failed = tfr__alloc_count() - before >= n;
        CHECK_STATUS(failed ? TFR_ENOMEM : TFR_OK, status, &err);
        CHECK_CONTAINS(failed ? "no memory for the configuration" : "", err.text);
        tfr__config_finish(&config);
    }
    unsetenv("TFRUN_PRIORITY");
    kit_end();
}

static const test_case cases[] = {
    CASE(a_line_becomes_a_setting_with_its_origin_or_a_warning),
    CASE(a_key_of_95_bytes_and_a_value_of_1023_are_the_longest),
    CASE(every_known_key_is_taken_and_the_strongest_setting_is_found),
    CASE(a_number_has_to_be_whole_and_within_its_limits),
    CASE(the_last_of_disable_and_enable_that_names_a_plugin_decides),
    CASE(the_environment_beats_the_file_and_options_beat_both),
    CASE(a_list_of_priorities_keeps_what_is_name_and_number),
    CASE(options_of_plugins_come_from_the_environment_and_lose_to_the_program),
    CASE(an_option_of_a_plugin_that_is_not_there_is_an_error),
    CASE(a_file_over_a_mebibyte_and_a_folder_are_warnings),
    CASE(the_users_file_is_under_xdg_config_home_or_else_under_home),
    CASE(without_memory_there_is_an_error_and_not_half_a_configuration),
};
TEST_MAIN(cases)
