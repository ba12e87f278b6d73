/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_graphs.c: models from files. A corpus is "tfrun corpus 1\n", then for each model its
 * length, 4 bytes little endian, and its bytes, as replay.c has it.
 */
#include <stdlib.h>
#include <string.h>

#include "graph_fuzz.h"

#define MAGIC "tfrun corpus 1\n"

bool fuzz_read_file(const char *path, fuzz_bytes *out)
{
    unsigned char part[4096];
    FILE *file = fopen(path, "rb");
    bool good = file != NULL;
    out->n = 0;
    for (size_t n; good && (n = fread(part, 1, sizeof part, file)) > 0;)
        fuzz_bytes_add(out, part, n);
    good = good && !ferror(file);
    if (!good)
        fprintf(stderr, "%s cannot be read\n", path);
    if (file)
        fclose(file);
    return good;
}

bool fuzz_write_file(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(bytes, 1, n, file) == n;
    if (file && fclose(file) != 0)
        good = false;
    if (!good)
        fprintf(stderr, "%s cannot be written\n", path);
    return good;
}

int fuzz_pack(const char *corpus, char **paths, int n)
{
    fuzz_bytes all = {0}, one = {0};
    int bad = 0;
    fuzz_bytes_add(&all, MAGIC, sizeof MAGIC - 1);
    for (int i = 0; i < n; i++) {
        unsigned char head[4];
        bad += !fuzz_read_file(paths[i], &one);
        for (int k = 0; k < 4; k++)
            head[k] = (unsigned char)(one.n >> 8 * k);
        fuzz_bytes_add(&all, head, 4);
        fuzz_bytes_add(&all, one.data, one.n);
    }
    if (bad == 0 && !fuzz_write_file(corpus, all.data, all.n))
        bad = 1;
    free(all.data);
    free(one.data);
    return bad ? 1 : 0;
}

/* True if nothing is wrong. */
static bool replay_one(fuzz_run_state *state, const char *path, uint64_t number,
                       const unsigned char *bytes, size_t n)
{
    fuzz_bytes one = {0};
    const char *const *level;
    static const char *const levels[] = {"", "avx512f", NULL};
    bool good = n <= FUZZ_MAX_BYTES;
    fuzz_bytes_add(&one, bytes, n);
    for (level = levels; *level && good; level++) {
        const char *hidden = state->options->hidden ? state->options->hidden : *level;
        snprintf(state->level, sizeof state->level, "%s", hidden);
        good = !fuzz_look(state, &one);
        if (!good)
            printf("FAILED %s, model %llu, hidden \"%s\": %s: %s\n", path,
                   (unsigned long long)number, hidden, state->report->kind, state->report->text);
        if (state->options->hidden)
            break;
    }
    free(one.data);
    return good;
}

static int replay_file(fuzz_run_state *state, const char *path, uint64_t *n_cases)
{
    fuzz_bytes all = {0};
    int bad = 0;
    size_t at = sizeof MAGIC - 1;
    if (!fuzz_read_file(path, &all))
        return -1;
    if (all.n < at || memcmp(all.data, MAGIC, at) != 0) {
        bad = !replay_one(state, path, (*n_cases)++, all.data, all.n);
        free(all.data);
        return bad;
    }
    while (at + 4 <= all.n && bad >= 0) {
        const unsigned char *head = all.data + at;
        size_t n =
            (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
        if (n > all.n - at - 4) {
            fprintf(stderr, "%s is cut at model %llu\n", path, (unsigned long long)*n_cases);
            bad = -1;
            break;
        }
        bad += !replay_one(state, path, (*n_cases)++, head + 4, n);
        at += 4 + n;
    }
    free(all.data);
    return bad;
}

int fuzz_replay(fuzz_run_state *state, char **paths, int n, uint64_t *n_cases)
{
    int bad = 0;
    for (int i = 0; i < n; i++) {
        int more = replay_file(state, paths[i], n_cases);
        if (more < 0)
            return -1;
        bad += more;
    }
    return bad;
}
