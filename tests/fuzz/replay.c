/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c: the other half of a fuzz target when libFuzzer is not there: gives it every input of a
 * corpus file. replay CORPUS...              runs them; a crash is the failure replay --pack CORPUS
 * FILE...  makes a corpus file of files, for maintainers A corpus file is "tfrun corpus 1\n", then
 * for each input its length, 4 bytes little endian, and its bytes. Without arguments it runs
 * $TFR_SRCDIR/tests/fuzz/NAME.corpus, NAME being the program's after "replay_".
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC     "tfrun corpus 1\n"
#define MAX_BYTES (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The whole file; the caller frees it. NULL with a message if it cannot be read. */
static uint8_t *read_file(const char *path, size_t *n)
{
    uint8_t *bytes = malloc(MAX_BYTES);
    FILE *file = fopen(path, "rb");
    *n = file && bytes ? fread(bytes, 1, MAX_BYTES, file) : 0;
    if (!file || !bytes || ferror(file)) {
        fprintf(stderr, "%s cannot be read\n", path);
        free(bytes);
        bytes = NULL;
    }
    if (file)
        fclose(file);
    return bytes;
}

/* How many inputs ran, or -1. Each gets memory of its own size, so that a sanitizer sees its end.
 */
static long replay(const char *path)
{
    size_t n, at = sizeof MAGIC - 1;
    long n_ran = 0;
    uint8_t *bytes = read_file(path, &n);
    if (!bytes)
        return -1;
    if (n < at || memcmp(bytes, MAGIC, at) != 0) {
        fprintf(stderr, "%s is no corpus file\n", path);
        free(bytes);
        return -1;
    }
    while (at + 4 <= n) {
        size_t length = (size_t)bytes[at] | (size_t)bytes[at + 1] << 8 |
                        (size_t)bytes[at + 2] << 16 | (size_t)bytes[at + 3] << 24;
        uint8_t *input = malloc(length + !length);
        if (!input || length > n - at - 4) {
            fprintf(stderr, "%s is cut at input %ld\n", path, n_ran);
            n_ran = -1;
            free(input);
            break;
        }
        memcpy(input, bytes + at + 4, length);
        LLVMFuzzerTestOneInput(input, length);
        free(input);
        at += 4 + length;
        n_ran++;
    }
    free(bytes);
    return n_ran;
}

static int pack(const char *path, char **files, int n_files)
{
    FILE *out = fopen(path, "wb");
    int good = out && fputs(MAGIC, out) >= 0;
    for (int i = 0; good && i < n_files; i++) {
        size_t n;
        uint8_t *bytes = read_file(files[i], &n), head[4];
        for (int k = 0; k < 4; k++)
            head[k] = (uint8_t)(n >> 8 * k);
        good = bytes && fwrite(head, 1, 4, out) == 4 && fwrite(bytes, 1, n, out) == n;
        free(bytes);
    }
    if (out && fclose(out) != 0)
        good = 0;
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    char path[4096];
    const char *name = strstr(argv[0], "replay_"), *tree = getenv("TFR_SRCDIR");
    long n_ran = 0, n = 0;
    if (argc > 2 && strcmp(argv[1], "--pack") == 0)
        return pack(argv[2], argv + 3, argc - 3);
    if (argc < 2) {
        snprintf(path, sizeof path, "%s/tests/fuzz/%s.corpus", tree ? tree : ".",
                 name ? name + strlen("replay_") : "");
        n = n_ran = replay(path);
    }
    for (int i = 1; i < argc && n >= 0; i++, n_ran += n)
        n = replay(argv[i]);
    if (n < 0 || n_ran == 0)
        return 1;
    printf("%ld inputs ran\n", n_ran);
    return 0;
}
