/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c: the list of a backend: one line a description that it does not take or does wrong,
 *   unsupported NAME: reason     it takes no call of this description
 *   depends NAME: reason         it may or may not, with the processor or the library's version;
 *                                beside an xfail, it may get it right
 *   xfail NAME[:SEED]: reason    it takes and gets wrong; a pass is a failure of the list
 */
#include "modes.h"

#include <stdlib.h>
#include <string.h>

static ops_known list[200];
static uint32_t n_list;

static bool read_line(ops_known *known, char *line)
{
    static const char *const kinds[] = {"unsupported ", "depends ", "xfail "};
    int kind = 0;
    line[strcspn(line, "\n")] = 0;
    while (kind < 3 && strncmp(line, kinds[kind], strlen(kinds[kind])) != 0)
        kind++;
    char *reason = strstr(line, ": ");
    if (kind == 3 || !reason)
        return false;
    *reason = 0;
    known->kind = kind == 0 ? OPS_UNSUPPORTED : kind == 1 ? OPS_DEPENDS : OPS_XFAIL;
    snprintf(known->name, sizeof known->name, "%s", line + strlen(kinds[kind]));
    char *seed = strchr(known->name, ':');
    if (seed) {
        *seed = 0;
        known->seed = strtoull(seed + 1, NULL, 10);
    }
    return known->name[0] && reason[2];
}

bool ops_list_read(const char *path)
{
    const uint32_t capacity = sizeof list / sizeof list[0];
    char line[512];
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return false;
    }
    bool good = true;
    for (int n = 1; good && fgets(line, sizeof line, file); n++) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        good = n_list < capacity && read_line(&list[n_list++], line);
        if (!good)
            fprintf(stderr, "%s:%d: a line is \"unsupported|depends|xfail NAME: reason\"\n", path,
                    n);
    }
    fclose(file);
    return good;
}

ops_known *ops_list_find(int kind, const char *name, uint64_t seed)
{
    for (uint32_t i = 0; i < n_list; i++) {
        ops_known *k = &list[i];
        if ((int)k->kind == kind && k->seed == seed && strcmp(k->name, name) == 0) {
            k->used = true;
            return k;
        }
    }
    return NULL;
}

void ops_list_check_names(ops_run *run)
{
    for (uint32_t i = 0; i < n_list && !run->only; i++) {
        if (list[i].used || list[i].kind == OPS_DEPENDS)
            continue;
        printf("FAILED the list of %s has a line about %s that nothing asks for\n", run->backend,
               list[i].name);
        run->n_failed++;
    }
}
