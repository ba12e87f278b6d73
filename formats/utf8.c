/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c: see utf8.h. */
#include "utf8.h"

bool tfr__utf8_decode(const char *text, size_t n, uint32_t *codes, size_t *count)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    size_t used = 0;

    for (size_t i = 0; i < n;) {
        unsigned char first = (unsigned char)text[i];
        unsigned more = first < 0x80 ? 0 : first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
        uint32_t code = more ? first & (0x3fu >> more) : first;
        if ((first >= 0x80 && first < 0xc0) || first > 0xf7 || n - i <= more)
            return false;
        for (unsigned k = 1; k <= more; k++) {
            if ((text[i + k] & 0xc0) != 0x80)
                return false;
            code = code << 6 | ((unsigned char)text[i + k] & 0x3f);
        }
        if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            return false;
        if (codes)
            codes[used] = code;
        used++;
        i += more + 1;
    }
    *count = used;
    return true;
}
