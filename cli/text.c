/* SPDX-License-Identifier: Apache-2.0 */
/* text.c: see text.h. Laying out tables is table.c. */
#include "text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- safe text ------------------------------------------------------------------------------- */

/* Bytes of the UTF-8 character at s, its code point in *point; 0 if it is none. */
static size_t utf8_decode(const unsigned char *s, uint32_t *point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    if (n == 0)
        return 0;
    *point = n == 1 ? s[0] : s[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        *point = *point << 6 | (s[i] & 0x3Fu);
    }
    if (*point < least[n] || *point > 0x10FFFF || (*point >= 0xD800 && *point <= 0xDFFF))
        return 0;
    return n;
}

/* The terminal obeys these instead of showing them. */
static bool is_control(uint32_t p)
{
    return p < 0x20 || (p >= 0x7F && p < 0xA0) || p == 0x200E || p == 0x200F || p == 0x061C ||
           (p >= 0x2028 && p <= 0x202E) || (p >= 0x2066 && p <= 0x2069) || p == 0xFEFF;
}

void cli_clean(char *text)
{
    unsigned char *in = (unsigned char *)text, *out = in;
    while (*in) {
        uint32_t point;
        size_t n = utf8_decode(in, &point);
        if (n == 0) {
            *out++ = '?';
            in++;
        } else if (point == '\n' || point == '\t') {
            *out++ = ' ';
            in++;
        } else if (is_control(point)) {
            in += n;
        } else {
            memmove(out, in, n);
            out += n;
            in += n;
        }
    }
    *out = 0;
}

size_t cli_width(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

static bool line_lost; /* one of the result */

bool cli_line_was_lost(void)
{
    return line_lost;
}

void cli_line(FILE *file, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    int n;
    va_start(args, format);
    n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0) {
        line_lost = line_lost || file == stdout;
        fputs("tfrun: out of memory for a line of text\n", stderr);
        return;
    }
    cli_clean(text);
    fprintf(file, "%s\n", text);
    free(text);
}

/* ---- colour ---------------------------------------------------------------------------------- */

static bool color_wanted;

void cli_color_init(int32_t choice)
{
    const char *no = secure_getenv("NO_COLOR"), *term = secure_getenv("TERM");
    if (choice > 1)
        color_wanted = choice == 2;
    else
        color_wanted = isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

const char *cli_color_on(cli_color color)
{
    static const char *const codes[] = {"", "\033[1m", "\033[31m", "\033[32m", "\033[33m"};
    return color_wanted ? codes[color] : "";
}

const char *cli_color_off(cli_color color)
{
    return color_wanted && color != CLI_PLAIN ? "\033[0m" : "";
}

size_t cli_terminal_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

/* ---- numbers with units ---------------------------------------------------------------------- */

const char *cli_format_bytes(uint64_t bytes, char *text, size_t n)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    snprintf(text, n, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

const char *cli_format_seconds(double seconds, char *text, size_t n)
{
    if (seconds < 1e-6)
        snprintf(text, n, "%.3g ns", seconds * 1e9);
    else if (seconds < 1e-3)
        snprintf(text, n, "%.3g us", seconds * 1e6);
    else if (seconds < 1)
        snprintf(text, n, "%.3g ms", seconds * 1e3);
    else
        snprintf(text, n, "%.2f s", seconds);
    return text;
}

const char *cli_format_type(const tfr_value_type *type, char *text, size_t n)
{
    const char *kind = type->kind == TFR_KIND_SEQUENCE   ? "sequence of "
                       : type->kind == TFR_KIND_OPTIONAL ? "optional "
                                                         : "";
    int used = snprintf(text, n, "%s%s", kind,
                        type->dtype ? tfr_dtype_name((tfr_dtype)type->dtype) : "any type");
    if (!type->rank_known || *kind)
        return text;
    for (int32_t i = 0; i < type->rank && used > 0 && (size_t)used < n; i++)
        used += type->dims[i] < 0 ? snprintf(text + used, n - (size_t)used, "%s?", i ? "," : "[")
                                  : snprintf(text + used, n - (size_t)used, "%s%lld", i ? "," : "[",
                                             (long long)type->dims[i]);
    if (used > 0 && (size_t)used < n)
        snprintf(text + used, n - (size_t)used, type->rank ? "]" : "[]");
    return text;
}

const char *cli_format_tensor(const tfr_tensor *tensor, char *text, size_t n)
{
    char shape[200];
    const char *dtype = tfr_dtype_name(tfr_tensor_dtype(tensor));
    if (tfr_tensor_kind(tensor) == TFR_KIND_TENSOR)
        snprintf(text, n, "%s%s", dtype,
                 tfr_shape_format(tfr_tensor_shape(tensor), shape, sizeof shape));
    else
        snprintf(text, n, "%s of %zu %s",
                 tfr_tensor_kind(tensor) == TFR_KIND_SEQUENCE ? "sequence" : "optional",
                 tfr_sequence_length(tensor), dtype);
    return text;
}
