/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finding.c: what becomes of a case with which something is wrong: it is looked at once more, cut
 * down, printed and kept. Findings that come down to the same ops with the same fault count once.
 */
#include <stdlib.h>
#include <string.h>

#include "graph_fuzz.h"
#include "reduce.h"

typedef struct look {
    fuzz_run_state *state;
    const fuzz_bytes *bytes;
    char wanted[160];     /* kind, while reducing; "" = any */
    fuzz_context context; /* in a child */
} look;

static bool begin_look(look *l)
{
    const fuzz_options *o = l->state->options;
    l->context = (fuzz_context){.report = l->state->report,
                                .hidden = l->state->level,
                                .verbose = o->verbose,
                                .sure = true,
                                .wanted = l->wanted[0] ? l->wanted : NULL};
    l->context.runtime = fuzz_runtime(l->state->level);
    return !o->way->begin || o->way->begin(&l->context);
}

static int look_at(void *user)
{
    look *l = user;
    if (!begin_look(l))
        return FUZZ_CANNOT;
    fuzz_child_begin_case();
    return l->state->options->way->check(&l->context, l->bytes->data, l->bytes->n)
               ? fuzz_child_end_case(&l->context)
               : FUZZ_FOUND;
}

bool fuzz_look(fuzz_run_state *state, const fuzz_bytes *bytes)
{
    look l = {.state = state, .bytes = bytes};
    return fuzz_child_run(state->report, look_at, &l) == FUZZ_FOUND;
}

/* ---- reducing -------------------------------------------------------------------------------- */

static bool persists(void *user, const fuzz_bytes *bytes)
{
    look *l = user;
    l->bytes = bytes;
    return fuzz_child_run(l->state->report, look_at, l) == FUZZ_FOUND &&
           strcmp(l->state->report->kind, l->wanted) == 0;
}

static void set_tensor(fuzz_env *env, const fuzz_msg *tensor)
{
    tfr_tensor *t = fuzz_tensor_read(tensor);
    if (t)
        fuzz_env_set(env, fuzz_text(tensor, FUZZ_TENSOR_NAME), t);
    tfr_tensor_release(t);
}

/* The values of all names, as far as the model can be computed node by node. */
static fuzz_msg *compute(tfr_runtime *runtime, const fuzz_bytes *bytes)
{
    fuzz_msg *model = fuzz_msg_read(bytes->data, bytes->n, FUZZ_MODEL);
    fuzz_msg *graph = model ? fuzz_child(model, FUZZ_MODEL_GRAPH) : NULL;
    fuzz_msg *out = fuzz_msg_create(FUZZ_GRAPH);
    fuzz_env env = {0};
    for (size_t i = 0; graph && i < model->n; i++)
        if (model->fields[i].number == FUZZ_MODEL_RUN_INPUT && model->fields[i].msg)
            set_tensor(&env, model->fields[i].msg);
    for (size_t i = 0; graph && i < graph->n; i++) {
        const fuzz_field *f = &graph->fields[i];
        tfr_tensor *outputs[FUZZ_MAX_OUTPUTS] = {NULL};
        if (f->number == FUZZ_GRAPH_INITIALIZER && f->msg)
            set_tensor(&env, f->msg);
        if (f->number != FUZZ_GRAPH_NODE || !f->msg ||
            fuzz_eval_node(runtime, model, f->msg, &env, outputs, NULL))
            continue;
        for (size_t k = 0; k < fuzz_count(f->msg, FUZZ_NODE_OUTPUT) && k < FUZZ_MAX_OUTPUTS; k++) {
            const char *name = (const char *)fuzz_find(f->msg, FUZZ_NODE_OUTPUT, k)->data;
            if (outputs[k] && name) {
                fuzz_env_set(&env, name, outputs[k]);
                if (tfr_tensor_kind(outputs[k]) == TFR_KIND_TENSOR)
                    fuzz_add_child(out, FUZZ_GRAPH_INITIALIZER, fuzz_tensor_msg(outputs[k], name));
            }
            tfr_tensor_release(outputs[k]);
        }
    }
    fuzz_env_finish(&env);
    fuzz_msg_destroy(model);
    return out;
}

static void publish(fuzz_report *report, const fuzz_bytes *bytes)
{
    report->n_bytes = bytes->n < FUZZ_MAX_BYTES ? bytes->n : 0;
    if (report->n_bytes)
        memcpy(report->bytes, bytes->data, report->n_bytes);
}

static int compute_here(void *user)
{
    look *l = user;
    fuzz_bytes bytes = {0};
    fuzz_child_begin_case();
    fuzz_msg *out = compute(fuzz_runtime(""), l->bytes);
    fuzz_msg_write(out, &bytes);
    publish(l->state->report, &bytes);
    return FUZZ_WELL;
}

static fuzz_msg *values(void *user, const fuzz_bytes *bytes)
{
    look *l = user;
    look inner = {.state = l->state, .bytes = bytes};
    l->state->report->n_bytes = 0;
    if (fuzz_child_run(l->state->report, compute_here, &inner) != FUZZ_WELL)
        return NULL;
    return fuzz_msg_read(l->state->report->bytes, l->state->report->n_bytes, FUZZ_GRAPH);
}

/* The same in one child, which is much quicker, for what is no crash. */
static bool persists_inside(void *user, const fuzz_bytes *bytes)
{
    look *l = user;
    fuzz_report *report = l->state->report;
    report->kind[0] = 0;
    fuzz_child_begin_case();
    if (l->state->options->way->check(&l->context, bytes->data, bytes->n) ||
        strcmp(report->kind, l->wanted) != 0)
        return false;
    publish(report, bytes);
    return true;
}

static fuzz_msg *values_inside(void *user, const fuzz_bytes *bytes)
{
    look *l = user;
    return compute(l->context.runtime, bytes);
}

static int reduce_inside(void *user)
{
    look *l = user;
    const fuzz_reduction reduction = {persists_inside, values_inside, l,
                                      l->state->options->reduce_seconds};
    fuzz_bytes bytes = {0};
    if (!begin_look(l))
        return FUZZ_CANNOT;
    fuzz_bytes_add(&bytes, l->bytes->data, l->bytes->n);
    l->state->report->n_cuts = fuzz_reduce(&reduction, &bytes);
    publish(l->state->report, &bytes);
    return FUZZ_WELL;
}

/* Leaves in bytes what is left, and how many cuts were tried in the report. */
static void reduce(fuzz_run_state *state, look *l, fuzz_bytes *bytes)
{
    const fuzz_reduction reduction = {persists, values, l, state->options->reduce_seconds};
    state->report->n_cuts = 0;
    if (state->report->crashed || strcmp(l->wanted, "memory") == 0) {
        state->report->n_cuts = fuzz_reduce(&reduction, bytes);
        return;
    }
    l->bytes = bytes;
    publish(state->report, bytes);
    fuzz_child_run(state->report, reduce_inside, l);
    /* If that ended with a crash, the last good one is there, too. */
    bytes->n = 0;
    fuzz_bytes_add(bytes, state->report->bytes, state->report->n_bytes);
}

/* ---- telling --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void collect_ops(const fuzz_msg *msg, const char **ops, size_t *n, size_t capacity)
{
    for (size_t i = 0; i < msg->n; i++) {
        const fuzz_field *f = &msg->fields[i];
        if (msg->type == FUZZ_NODE && f->number == FUZZ_NODE_OP && f->data && *n < capacity)
            ops[(*n)++] = (const char *)f->data;
        if (f->msg)
            collect_ops(f->msg, ops, n, capacity);
    }
}

/* The fault and the ops of the reduced model. */
static void sign(const fuzz_msg *model, const char *kind, char *text, size_t capacity)
{
    const char *ops[40];
    size_t n = 0, at;
    if (model)
        collect_ops(model, ops, &n, 40);
    qsort(ops, n, sizeof ops[0], by_name);
    at = (size_t)snprintf(text, capacity, "%s [", kind);
    for (size_t i = 0; i < n && at < capacity; i++)
        if (i == 0 || strcmp(ops[i], ops[i - 1]) != 0)
            at += (size_t)snprintf(text + at, capacity - at, "%s%s", i ? " " : "", ops[i]);
    if (at < capacity)
        snprintf(text + at, capacity - at, "]");
}

static bool is_new(fuzz_run_state *state, const char *signature)
{
    for (uint64_t i = 0; i < state->n_findings; i++)
        if (strcmp(state->seen[i], signature) == 0)
            return false;
    void *more = realloc(state->seen, (size_t)(state->n_findings + 1) * sizeof *state->seen);
    if (!more)
        exit(99);
    state->seen = more;
    snprintf(state->seen[state->n_findings], sizeof *state->seen, "%s", signature);
    return true;
}

static void save(const fuzz_run_state *state, uint64_t seed, const fuzz_bytes *bytes,
                 const char *signature, const char *text)
{
    char path[4096];
    FILE *file;
    if (!state->options->save || bytes->n == 0)
        return;
    snprintf(path, sizeof path, "%s/%s-%llu.onnx", state->options->save, state->options->way->name,
             (unsigned long long)seed);
    if (!fuzz_write_file(path, bytes->data, bytes->n))
        return;
    printf("    kept as %s\n", path);
    snprintf(path, sizeof path, "%s/%s-%llu.txt", state->options->save, state->options->way->name,
             (unsigned long long)seed);
    file = fopen(path, "w");
    if (!file)
        return;
    fprintf(file, "%s\n%s\nseed %llu, hidden \"%s\"\n", signature, text, (unsigned long long)seed,
            state->level);
    fclose(file);
}

/* Of the last look at the case as it is now. */
static void tell(fuzz_run_state *state, uint64_t seed, const fuzz_bytes *bytes, const char *kind,
                 const char *text, int n_tries)
{
    char signature[640];
    fuzz_msg *model = fuzz_msg_read(bytes->data, bytes->n, FUZZ_MODEL);
    sign(model, kind, signature, sizeof signature);
    fuzz_msg_destroy(model);
    if (!is_new(state, signature)) {
        state->n_repeated++;
        return;
    }
    state->n_findings++;
    printf("FAILED %s\n    %s\n    again: --way %s --seed %llu --count 1%s%s%s; %zu bytes after %d "
           "cuts\n",
           signature, text, state->options->way->name, (unsigned long long)seed,
           *state->level ? " --hide '" : "", state->level, *state->level ? "'" : "", bytes->n,
           n_tries);
    save(state, seed, bytes, signature, text);
}

void fuzz_finding(fuzz_run_state *state)
{
    fuzz_report *report = state->report;
    if (report->crashed && strncmp(report->stage, "onnxruntime", 11) == 0) {
        state->n_unsure++; /* its own defects are not ours */
        return;
    }
    const uint64_t seed = report->seed;
    char kind[sizeof report->kind], text[sizeof report->text];
    fuzz_bytes bytes = {0};
    look l = {.state = state};
    int n_cuts = 0;
    fuzz_bytes_add(&bytes, report->bytes, report->n_bytes);
    snprintf(kind, sizeof kind, "%s", report->kind);
    snprintf(text, sizeof text, "%s", report->text);
    if (bytes.n > 0 && fuzz_look(state, &bytes)) {
        snprintf(kind, sizeof kind, "%s", report->kind);
        snprintf(text, sizeof text, "%s", report->text);
        snprintf(l.wanted, sizeof l.wanted, "%s", kind);
        reduce(state, &l, &bytes);
        n_cuts = report->n_cuts;
        if (fuzz_look(state, &bytes))
            snprintf(text, sizeof text, "%s", report->text);
        tell(state, seed, &bytes, kind, text, n_cuts);
    } else if (bytes.n > 0 && strncmp(kind, "memory", 6) != 0 && strncmp(kind, "hang", 4) != 0 &&
               !strstr(kind, "crash")) {
        state->n_unsure++;
        if (state->options->verbose)
            printf("not confirmed: %s: %s (seed %llu)\n", kind, text, (unsigned long long)seed);
    } else {
        /* It needs what ran before it in the same process, or making it is what fails. */
        tell(state, seed, &bytes, kind, text, 0);
    }
    free(bytes.data);
}
