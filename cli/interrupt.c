/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.c: see interrupt.h. */
#include "interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"

static volatile sig_atomic_t came;
static const char *line;

static void on_signal(int number)
{
    const int error = errno;
    cli_note note = {0};
    (void)number;
    came = 1;
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    cli_note_add(&note, line);
    cli_note_write(&note);
    errno = error;
}

void cli_interrupt_install(const char *told)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    struct sigaction before, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    line = told;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    for (int i = 0; i < 2; i++)
        if (!sigaction(numbers[i], NULL, &before) && before.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
}

bool cli_interrupt_came(void)
{
    return came;
}

/* ---- the command line ------------------------------------------------------------------------ */

typedef struct line_text {
    char *text;
    size_t used, n;
} line_text;

static void put(line_text *l, char c)
{
    if (l->used < l->n)
        l->text[l->used++] = c;
}

/* In single quotes where a shell would take a letter for more than itself. */
static void put_word(line_text *l, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,@%+";
    const bool quoted = !*word || word[strspn(word, plain)];
    if (l->used)
        put(l, ' ');
    if (quoted)
        put(l, '\'');
    for (; *word; word++)
        if (*word != '\'')
            put(l, *word);
        else
            for (const char *c = "'\\''"; *c; c++)
                put(l, *c);
    if (quoted)
        put(l, '\'');
}

const char *cli_command_line(const char *word, char *text, unsigned n)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    char *one = NULL;
    size_t room = 0, length = strlen(word);
    bool has_word = false;
    line_text l = {text, 0, n};
    while (file && getdelim(&one, &room, '\0', file) > 0) {
        put_word(&l, one);
        has_word = has_word || (strncmp(one, word, length) == 0 && strchr("=", one[length]));
    }
    if (!has_word && l.used)
        put_word(&l, word);
    free(one);
    if (file)
        fclose(file);
    text[l.used < n ? l.used : 0] = '\0';
    return text;
}
