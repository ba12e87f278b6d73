/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_check.c: reads a file of `tfrun run --trace` and says what is wrong with it: JSON, the
 * fields of every event, and that the events of one thread nest or follow one another. Prints how
 * many events there are of each category: "kernel 3". Exit 1 = something is wrong.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct span {
    json_int_t pid, tid;
    double begin, end;
    const char *name;
} span;

static int n_wrong;

static void wrong(const char *what, const char *name)
{
    fprintf(stderr, "%s: %s\n", name, what);
    n_wrong++;
}

static int by_begin(const void *x, const void *y)
{
    const span *a = x, *b = y;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->begin < b->begin || a->begin > b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->end > b->end ? -1 : a->end < b->end;
}

/* In order, each event ends before or within every one that began before it and is still open. */
static void check_nesting(span *spans, size_t n)
{
    const double rounding = 0.0005; /* half a nanosecond, in microseconds */
    qsort(spans, n, sizeof *spans, by_begin);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            const span *a = &spans[i], *b = &spans[k];
            if (a->pid != b->pid || a->tid != b->tid || b->begin >= a->end - rounding)
                break;
            if (b->end > a->end + rounding)
                wrong("overlaps the event before it", b->name);
        }
}

static void count(json_t *counts, const char *category)
{
    json_int_t n = json_integer_value(json_object_get(counts, category));
    json_object_set_new(counts, category, json_integer(n + 1));
}

static void check_events(json_t *events, json_t *counts, json_t *threads)
{
    span *spans = calloc(json_array_size(events) + 1, sizeof *spans);
    size_t n = 0, i;
    json_t *e;
    json_array_foreach(events, i, e)
    {
        const char *name = json_string_value(json_object_get(e, "name"));
        const char *ph = json_string_value(json_object_get(e, "ph"));
        const char *category = json_string_value(json_object_get(e, "cat"));
        json_t *ts = json_object_get(e, "ts"), *dur = json_object_get(e, "dur");
        json_t *pid = json_object_get(e, "pid"), *tid = json_object_get(e, "tid");
        char key[64];
        snprintf(key, sizeof key, "%lld.%lld", (long long)json_integer_value(pid),
                 (long long)json_integer_value(tid));
        if (!name || !*name || !ph || !json_is_integer(pid) || !json_is_integer(tid)) {
            wrong("lacks name, ph, pid or tid", name ? name : "?");
        } else if (strcmp(ph, "M") == 0) {
            if (!json_is_string(json_object_get(json_object_get(e, "args"), "name")))
                wrong("names nothing", name);
            if (strcmp(name, "thread_name") == 0)
                json_object_set_new(threads, key, json_true());
        } else if (strcmp(ph, "X") != 0 || !category || !json_is_number(ts) ||
                   !json_is_number(dur) || json_number_value(ts) < 0 ||
                   json_number_value(dur) < 0) {
            wrong("is no complete event", name);
        } else {
            count(counts, category);
            spans[n].pid = json_integer_value(pid);
            spans[n].tid = json_integer_value(tid);
            spans[n].begin = json_number_value(ts);
            spans[n].end = spans[n].begin + json_number_value(dur);
            spans[n++].name = name;
        }
    }
    check_nesting(spans, n);
    for (i = 0; i < n; i++) {
        char key[64];
        snprintf(key, sizeof key, "%lld.%lld", (long long)spans[i].pid, (long long)spans[i].tid);
        if (!json_object_get(threads, key))
            wrong("is on a thread without a name", spans[i].name);
    }
    free(spans);
}

int main(int argc, char **argv)
{
    json_error_t error;
    json_t *root = argc == 2 ? json_load_file(argv[1], JSON_REJECT_DUPLICATES, &error) : NULL;
    json_t *counts = json_object(), *threads = json_object(), *value;
    const char *key;
    if (!root) {
        fprintf(stderr, "%s\n", argc == 2 ? error.text : "usage: trace_check FILE");
        return 1;
    }
    if (!json_is_array(json_object_get(root, "traceEvents")))
        wrong("has no traceEvents", argv[1]);
    check_events(json_object_get(root, "traceEvents"), counts, threads);
    json_object_foreach(counts, key, value)
        printf("%s %lld\n", key, (long long)json_integer_value(value));
    json_decref(counts);
    json_decref(threads);
    json_decref(root);
    return n_wrong != 0;
}
