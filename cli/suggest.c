/* SPDX-License-Identifier: Apache-2.0 */
/* suggest.c: see suggest.h. */
#include "suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LONGEST 63 /* longer words get no suggestion */

/*
 * Edits that make a into b: insert, delete, change, swap two neighbours; case does not count. This
 * is the optimal string alignment distance (Boytsov, Indexing methods for approximate dictionary
 * searching, 2011, section 2.2).
 */
static size_t edits(const char *a, const char *b)
{
    size_t rows[3][LONGEST + 1], na = strlen(a), nb = strlen(b);
    if (na > LONGEST || nb > LONGEST)
        return LONGEST;
    for (size_t k = 0; k <= nb; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= na; i++) {
        size_t *row = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t k = 1; k <= nb; k++) {
            int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[k - 1]);
            size_t best = last[k - 1] + (ca != cb);
            best = last[k] + 1 < best ? last[k] + 1 : best;
            best = row[k - 1] + 1 < best ? row[k - 1] + 1 : best;
            if (i > 1 && k > 1 && ca == tolower((unsigned char)b[k - 2]) &&
                cb == tolower((unsigned char)a[i - 2]) && before[k - 2] + 1 < best)
                best = before[k - 2] + 1;
            row[k] = best;
        }
    }
    return rows[na % 3][nb];
}

const char *cli_nearest(const char *word, cli_name_fn name, const void *user, uint32_t n)
{
    /* A word of which nothing is left has no near name. */
    size_t n_word = strlen(word), limit = n_word < 2 ? 0 : n_word < 4 ? 1 : n_word / 3;
    size_t best = limit + 1;
    const char *found = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const char *candidate = name(user, i);
        size_t distance = edits(word, candidate);
        if (distance < best) {
            best = distance;
            found = candidate;
        }
    }
    return found;
}

const char *cli_did_you_mean(const char *word, cli_name_fn name, const void *user, uint32_t n,
                             char *text, size_t capacity)
{
    const char *nearest = cli_nearest(word, name, user, n);
    if (nearest)
        snprintf(text, capacity, ", did you mean \"%s\"?", nearest);
    else
        text[0] = 0;
    return text;
}

const char *cli_join(cli_name_fn name, const void *user, uint32_t n, char *text, size_t capacity)
{
    size_t used = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        const char *word = name(user, i);
        if (used + strlen(word) + 8 > capacity) {
            snprintf(text + used, capacity - used, ", ...");
            return text;
        }
        used += (size_t)snprintf(text + used, capacity - used, "%s%s", i ? ", " : "", word);
    }
    return text;
}
