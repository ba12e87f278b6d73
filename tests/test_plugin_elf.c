/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged and foreign files: each is told from a plugin, and none is loaded. */
#include "tfr_test.h"

#include "fake/kit.h"

#include "device/loader.h"
#include "device/plugin_elf.h"

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
    tfr__region_free(&loader.region);
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
    tfr__region_free(&loader.region);
    kit_end();
}

/* A program begins with segments that are not loaded; what it needs lies behind them. */
TEST(names_lie_in_whichever_segment_holds_them)
{
    char why[256], name[64];
    ElfW(Dyn) entries[64];
    struct stat info;
    tfr__elf elf;
    uint32_t n;
    uint64_t table = 0;
    bool found = false;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && fstat(fd, &info) == 0);
    REQUIRE_INT(TFR__ELF_OK, tfr__elf_open(&elf, fd, (uint64_t)info.st_size, why, sizeof why));
    CHECK(elf.segments[0].p_type != PT_LOAD);
    n = tfr__elf_dynamic(&elf, entries, 64);
    for (uint32_t i = 0; i < n; i++)
        table = entries[i].d_tag == DT_STRTAB ? entries[i].d_un.d_ptr : table;
    for (uint32_t i = 0; i < n; i++)
        if (entries[i].d_tag == DT_NEEDED) {
            CHECK(tfr__elf_string(&elf, table, entries[i].d_un.d_val, name, sizeof name));
            found = found || strncmp(name, "libc.so", 7) == 0;
        }
    CHECK(found);
    close(fd);
}

static const test_case cases[] = {
    CASE(damaged_and_foreign_files_are_named_and_never_loaded),
    CASE(every_shortened_file_is_told_from_a_plugin),
    CASE(a_file_with_any_byte_changed_is_read_without_harm),
    CASE(names_lie_in_whichever_segment_holds_them),
};
TEST_MAIN(cases)
