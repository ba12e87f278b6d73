/* SPDX-License-Identifier: Apache-2.0 */
/* ort_library.c: see ort_library.h. */
#include "ort_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

const char *const bench_ort_names[] = {"libonnxruntime.so.1", "libonnxruntime.so", NULL};

const char *bench_file_in_python(const char *package, const char *pattern, char *path,
                                 size_t capacity)
{
    char command[300], folder[600] = "", full[700];
    glob_t found;
    FILE *pipe;
    *path = 0;
    snprintf(command, sizeof command,
             "python3 -c 'import importlib.util as u; "
             "print(u.find_spec(\"%s\").submodule_search_locations[0])' 2>/dev/null",
             package);
    if (!(pipe = popen(command, "r")))
        return path;
    if (fgets(folder, sizeof folder, pipe))
        folder[strcspn(folder, "\n")] = 0;
    if (pclose(pipe) || !*folder)
        return path;
    snprintf(full, sizeof full, "%s/%s", folder, pattern);
    if (glob(full, 0, NULL, &found) == 0) {
        snprintf(path, capacity, "%s", found.gl_pathv[0]);
        globfree(&found);
    }
    return path;
}

const char *bench_ort_in_python(char *path, size_t capacity)
{
    return bench_file_in_python("onnxruntime", "capi/libonnxruntime.so*", path, capacity);
}

bool bench_ort_take(void *library, ort_api *api, const char **version)
{
    const ort_api_base *(*get_base)(void);
    void *symbol = dlsym(library, "OrtGetApiBase");
    memcpy(&get_base, &symbol, sizeof get_base);
    const ort_fn *slots = symbol ? get_base()->get_api(ORT_API_VERSION_WANTED) : NULL;
    if (!slots)
        return false;
    *version = get_base()->version();
#define ORT_TAKE(name, slot, result, arguments) memcpy(&api->name, &slots[slot], sizeof api->name);
    ORT_SLOTS(ORT_TAKE)
#undef ORT_TAKE
    return true;
}
