/* SPDX-License-Identifier: Apache-2.0 */
/* note.c: a line of talk without stdio, which a signal handler must not use. */
#include "guard.h"

#include <errno.h>
#include <unistd.h>

void cli_note_add(cli_note *note, const char *text)
{
    for (; *text && note->n + 1 < sizeof note->text; text++)
        note->text[note->n++] = *text;
}

void cli_note_add_hex(cli_note *note, uint64_t number)
{
    char digits[19] = "0x", *at = digits + 2;
    int shift = 60;
    while (shift && !(number >> shift))
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        *at++ = "0123456789abcdef"[number >> shift & 15];
    *at = 0;
    cli_note_add(note, digits);
}

void cli_note_write(cli_note *note)
{
    size_t done = 0;
    note->text[note->n++] = '\n';
    while (done < note->n) {
        ssize_t n = write(STDERR_FILENO, note->text + done, note->n - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        done += (size_t)n;
    }
}
