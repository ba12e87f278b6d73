/* SPDX-License-Identifier: Apache-2.0 */
/* What the command prints: text made safe, units, colours, and tables on a terminal and elsewhere.
 */
#include "tfr_test.h"

#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <tfrun/tensor.h>
#include <unistd.h>

#include "suggest.h"
#include "table.h"
#include "text.h"

/* ---- text ---- */

TEST(text_is_made_safe_for_a_terminal)
{
    static const struct {
        const char *text, *clean;
    } rows[] = {
        {"a b~", "a b~"},
        {"a\nb\tc", "a b c"},
        {"a\x01\x1f\x7f"
         "b",
         "ab"},
        {"\xc2\x80\xc2\x9f\u00a0", "\u00a0"},         /* C1 ends before the blank */
        {"\u200d\u200e\u200f\u2010", "\u200d\u2010"}, /* marks of direction */
        {"\u061b\u061c\u061d", "\u061b\u061d"},
        {"\u2027\u2028\u202e\u202f", "\u2027\u202f"},
        {"\u2065\u2066\u2069\u206a", "\u2065\u206a"},
        {"\ufefe\ufeff", "\ufefe"},
        {"\x80 \xc3( \xff", "? ?( ?"}, /* no UTF-8 */
        {"\xc1\xbf", "??"},            /* longer than need be */
        {"\xe0\x9f\xbf", "???"},
        {"\xe0\xa0\x80", "\u0800"},
        {"\xf0\x8f\xbf\xbf", "????"},
        {"\xf0\x90\x80\x80", "\U00010000"},
        {"\xf4\x8f\xbf\xbf", "\U0010ffff"},
        {"\xf4\x90\x80\x80", "????"}, /* beyond Unicode */
        {"\xed\x9f\xbf", "\xed\x9f\xbf"},
        {"\xed\xa0\x80\xed\xbf\xbf", "??????"}, /* halves of pairs */
        {"\xee\x80\x80", "\ue000"},
        {"\xc3", "?"}, /* ends early */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", rows[i].text);
        cli_clean(text);
        CHECK_STR(rows[i].clean, text);
    }
    CHECK_UINT(3, cli_width("a\u00e4\u20ac"));
}

TEST(bytes_and_seconds_have_the_unit_that_suits_them)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {
        {0, "0 B"},
        {99, "99 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {102399, "100.0 KiB"},
        {102400, "100 KiB"},
        {1048576, "1.0 MiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    static const struct {
        double seconds;
        const char *text;
    } times[] = {
        {0, "0 ns"},    {5e-7, "500 ns"}, {1e-6, "1 us"}, {5e-4, "500 us"},
        {1e-3, "1 ms"}, {0.5, "500 ms"},  {1, "1.00 s"},  {61.25, "61.25 s"},
    };
    char text[32];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        CHECK_STR(sizes[i].text, cli_format_bytes(sizes[i].bytes, text, sizeof text));
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        CHECK_STR(times[i].text, cli_format_seconds(times[i].seconds, text, sizeof text));
}

TEST(types_of_values_are_shown_whole_or_cut)
{
    static const struct {
        tfr_value_type type;
        const char *text;
    } rows[] = {
        {{.kind = TFR_KIND_TENSOR}, "any type"},
        {{.kind = TFR_KIND_TENSOR, .dtype = TFR_DTYPE_F32}, "float32"},
        {{.kind = TFR_KIND_TENSOR, .dtype = TFR_DTYPE_F32, .rank_known = 1}, "float32[]"},
        {{.kind = TFR_KIND_TENSOR,
          .dtype = TFR_DTYPE_F32,
          .rank_known = 1,
          .rank = 3,
          .dims = {1, -1, 0}},
         "float32[1,?,0]"},
        {{.kind = TFR_KIND_SEQUENCE, .dtype = TFR_DTYPE_I64, .rank_known = 1}, "sequence of int64"},
        {{.kind = TFR_KIND_OPTIONAL, .dtype = TFR_DTYPE_I64}, "optional int64"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        CHECK_STR(rows[i].text, cli_format_type(&rows[i].type, text, sizeof text));
        for (size_t n = 1; n <= strlen(rows[i].text); n++) {
            memset(text, '#', sizeof text);
            cli_format_type(&rows[i].type, text, n);
            CHECK_UINT(n - 1, strlen(text));
            CHECK_INT('#', text[n]);
            CHECK(strncmp(rows[i].text, text, n - 1) == 0);
        }
    }
}

TEST(colours_are_for_terminals_unless_one_says_otherwise)
{
    cli_color_init(2); /* always */
    CHECK_STR("\033[1m", cli_color_on(CLI_BOLD));
    CHECK_STR("\033[0m", cli_color_off(CLI_BOLD));
    CHECK_STR("", cli_color_on(CLI_PLAIN));
    CHECK_STR("", cli_color_off(CLI_PLAIN));
    cli_color_init(3); /* never */
    CHECK_STR("", cli_color_on(CLI_RED));
    CHECK_STR("", cli_color_off(CLI_RED));
}

/* ---- words that are nearly right ---- */

static const char *name_at(const void *user, uint32_t i)
{
    return ((const char *const *)user)[i];
}

TEST(the_nearest_word_is_found_within_a_third_of_edits)
{
    static const char *const names[] = {"run", "explain", "devices", "Explains"};
    static const char longest[] = "123456789012345678901234567890123456789012345678901234567890123";
    static const struct {
        const char *word, *nearest;
    } rows[] = {
        {"run", "run"},
        {"RUN", "run"},
        {"rn", "run"},
        {"rrun", "run"},
        {"rnu", "run"}, /* two neighbours that are swapped are one edit */
        {"ru", "run"},
        {"xun", "run"},
        {"nur", NULL},
        {"r", NULL},
        {"", NULL},
        {"ruxx", NULL},
        {"explian", "explain"},
        {"xplian", "explain"},
        {"xplia", NULL},
        {"explainss", "Explains"},
        {"dveicse", "devices"},
        {"dveicsex", NULL},
    };
    const char *one = longest;
    char word[80];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *nearest = cli_nearest(rows[i].word, name_at, names, 4);
        CHECK_STR(rows[i].nearest ? rows[i].nearest : "", nearest ? nearest : "");
    }
    CHECK_STR(longest, cli_nearest(longest, name_at, &one, 1));
    snprintf(word, sizeof word, "%s4", longest);
    CHECK(cli_nearest(word, name_at, &one, 1) == NULL); /* too long to be looked at */
    CHECK_STR(", did you mean \"run\"?",
              cli_did_you_mean("ru", name_at, names, 4, word, sizeof word));
    CHECK_STR("", cli_did_you_mean("zz", name_at, names, 4, word, sizeof word));
}

TEST(a_list_of_words_is_cut_where_the_room_ends)
{
    static const char *const names[] = {"run", "explain", "devices"};
    static const struct {
        size_t capacity;
        const char *text;
    } rows[] = {{64, "run, explain, devices"},
                {27, "run, explain, devices"},
                {26, "run, explain, ..."},
                {18, "run, explain, ..."},
                {17, "run, ..."},
                {11, "run, ..."},
                {10, ", ..."}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        CHECK_STR(rows[i].text, cli_join(name_at, names, 3, text, rows[i].capacity));
    }
}

/* ---- tables ---- */

static const char no_terminal[] = "no pseudo-terminal can be had here; is /dev/pts mounted?";

/* A bare chroot has none. */
static bool has_terminals(void)
{
    int ends[2];
    if (openpty(&ends[0], &ends[1], NULL, NULL, NULL))
        return false;
    close(ends[0]);
    close(ends[1]);
    return true;
}

/* Runs draw with standard output on a terminal of so many columns, or on none, and returns what it
 * prints. */
static const char *printed(void (*draw)(void), int columns)
{
    static char text[4096];
    struct winsize size = {.ws_row = 25, .ws_col = (unsigned short)columns};
    struct termios raw;
    int ends[2] = {-1, -1}, kept = dup(1);
    size_t n = 0;
    ssize_t got;
    memset(&raw, 0, sizeof raw);
    fflush(stdout);
    if (columns)
        REQUIRE_INT(0, openpty(&ends[0], &ends[1], NULL, &raw, &size));
    else
        REQUIRE_INT(0, pipe(ends));
    dup2(ends[1], 1);
    draw();
    fputc('\001', stdout); /* the end */
    fflush(stdout);
    dup2(kept, 1);
    while (n + 1 < sizeof text && (got = read(ends[0], text + n, sizeof text - 1 - n)) > 0) {
        n += (size_t)got;
        if (text[n - 1] == 1)
            break;
    }
    text[n ? n - 1 : 0] = 0;
    close(ends[0]);
    close(ends[1]);
    close(kept);
    return text;
}

static void draw_table(void)
{
    static const char *const titles[] = {"name", "n", "what it is"};
    static const uint32_t flags[] = {0, CLI_RIGHT, CLI_WRAP};
    cli_table *table = cli_table_create(3, titles, flags);
    tfr_err err = TFR_ERR_INIT;
    cli_table_add(table, "%s", "a");
    cli_table_add(table, "%d", 12345);
    cli_table_add(table, "%s", "one two three four five six seven");
    cli_table_add(table, "%s", "b\u00e4r \033x");
    cli_table_color(table, CLI_RED);
    cli_table_add(table, "%d", 7);
    cli_table_add(table, "%s", "");
    cli_table_add(table, "%s", "half"); /* a row that is not whole is left out */
    CHECK_OK(cli_table_print(table, &err), &err);
}

TEST(a_table_is_aligned_and_cleaned_with_a_line_a_row_where_there_is_no_terminal)
{
    cli_color_init(3);
    CHECK_STR("name       n  what it is\n"
              "a      12345  one two three four five six seven\n"
              "b\u00e4r x      7\n",
              printed(draw_table, 0));
    cli_color_init(2);
    CHECK_STR("\033[1mname\033[0m       \033[1mn\033[0m  \033[1mwhat it is\033[0m\n"
              "a      12345  one two three four five six seven\n"
              "\033[31mb\u00e4r x\033[0m      7\n",
              printed(draw_table, 0));
}

TEST(a_table_on_a_terminal_wraps_what_may_wrap_at_blanks)
{
    if (!has_terminals())
        SKIP(no_terminal);
    cli_color_init(3);
    CHECK_STR("name       n  what it is\n"
              "a      12345  one two three four five six seven\n"
              "b\u00e4r x      7\n",
              printed(draw_table, 47));
    CHECK_STR("name       n  what it is\n"
              "a      12345  one two three four five six\n"
              "              seven\n"
              "b\u00e4r x      7\n",
              printed(draw_table, 46));
    /* No narrower than 16 columns. */
    CHECK_STR("name       n  what it is\n"
              "a      12345  one two three\n"
              "              four five six\n"
              "              seven\n"
              "b\u00e4r x      7\n",
              printed(draw_table, 20));
}

static void draw_words(void)
{
    static const char *const titles[] = {"one", "two"};
    static const uint32_t flags[] = {CLI_WRAP, CLI_WRAP};
    cli_table *table = cli_table_create(2, titles, flags);
    tfr_err err = TFR_ERR_INIT;
    cli_table_add(table, "%s", "aaaaaaaaaabbbbbbbbbbcc");
    cli_table_add(table, "%s", "0123456789 0123456789");
    CHECK_OK(cli_table_print(table, &err), &err);
}

TEST(the_widest_column_wraps_first_and_a_word_without_blanks_is_cut)
{
    if (!has_terminals())
        SKIP(no_terminal);
    cli_color_init(3);
    CHECK_STR("one                    two\n"
              "aaaaaaaaaabbbbbbbbbbc  0123456789 0123456789\n"
              "c\n",
              printed(draw_words, 44));
    CHECK_STR("one                   two\n"
              "aaaaaaaaaabbbbbbbbbb  0123456789\n"
              "cc                    0123456789\n",
              printed(draw_words, 42));
}

TEST(a_table_has_at_most_twelve_columns)
{
    static const char *const titles[CLI_MAX_COLUMNS + 1] = {0};
    static const uint32_t flags[CLI_MAX_COLUMNS + 1] = {0};
    tfr_err err = TFR_ERR_INIT;
    cli_table *table = cli_table_create(CLI_MAX_COLUMNS, titles, flags);
    CHECK(table != NULL);
    cli_table_destroy(table);
    table = cli_table_create(CLI_MAX_COLUMNS + 1, titles, flags);
    CHECK(table == NULL);
    cli_table_add(table, "no matter");
    cli_table_color(table, CLI_RED);
    CHECK_STATUS(TFR_ENOMEM, cli_table_print(table, &err), &err);
}

static const test_case cases[] = {
    CASE(text_is_made_safe_for_a_terminal),
    CASE(bytes_and_seconds_have_the_unit_that_suits_them),
    CASE(types_of_values_are_shown_whole_or_cut),
    CASE(colours_are_for_terminals_unless_one_says_otherwise),
    CASE(the_nearest_word_is_found_within_a_third_of_edits),
    CASE(a_list_of_words_is_cut_where_the_room_ends),
    CASE(a_table_is_aligned_and_cleaned_with_a_line_a_row_where_there_is_no_terminal),
    CASE(a_table_on_a_terminal_wraps_what_may_wrap_at_blanks),
    CASE(the_widest_column_wraps_first_and_a_word_without_blanks_is_cut),
    CASE(a_table_has_at_most_twelve_columns),
};
TEST_MAIN(cases)
