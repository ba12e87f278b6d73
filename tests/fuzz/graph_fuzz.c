/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_fuzz.c: makes models of seeds and looks at each in one of four ways:
 *   graph_fuzz --way memory|mutant|diff|ort [--seed S] [--count N | --seconds T] [--save DIR]
 *              [--hide FEATURES] [--op OP] [--max-findings N] [--reduce-seconds T] [-v]
 *   graph_fuzz --way WAY --replay FILE...    looks at models, or at a corpus of them
 *   graph_fuzz --way WAY --save DIR --reduce FILE    cuts one down
 *   graph_fuzz --pack CORPUS FILE...         makes a corpus of models
 *   graph_fuzz --emit FILE --seed S          writes the case of a seed
 * Without --seed the time gives one. Every case has a seed of its own, which is printed with what
 * was found, so that --seed S --count 1 gives it again. Without arguments it replays the corpus of
 * the tree in the way diff. Exits with 1 if something is wrong, 77 if the way cannot be had here.
 */
#include "graph_fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mutate.h"
#include "reduce.h"

/* Cases of one child, all with the same processor features. */
enum { BATCH = 512 };

/* What the seed's batch hides; the first is nothing. */
static const char *const levels[] = {
    "", "avx512_vnni avx512_bf16 amx_tile", "avx512f", "", "avx512f avx_vnni", "avx2 avx512f"};

double fuzz_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void listen(void *user, tfr_log_level level, const char *who, const char *text)
{
    (void)user;
    if (level == TFR_LOG_ERROR)
        fprintf(stderr, "%s: %s\n", who, text);
    if (level == TFR_LOG_WARNING && strcmp(who, "session") == 0 && strstr(text, " of memory"))
        fuzz_child_warned();
}

tfr_runtime *fuzz_runtime(const char *hidden)
{
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    const tfr_option given[] = {{"tuning", "off"}, {"hide-cpu-features", hidden}};
    tfr_runtime *runtime = NULL;
    tfr_err err = TFR_ERR_INIT;
    options.options = given;
    options.n_options = *hidden ? 2 : 1;
    options.log = listen;
    options.n_threads = 2;
    uint32_t device;
    int32_t backend;
    ops_must(tfr_runtime_create(&options, &runtime, &err), &err, "a runtime");
    ops_must(tfr_runtime_find(runtime, "naive:0", &device, &backend, &err), &err, "the reference");
    return runtime;
}

static const char *level_of(const fuzz_options *options, uint64_t seed)
{
    if (options->hidden)
        return options->hidden;
    if (strcmp(options->way->name, "diff") != 0)
        return "";
    return levels[seed / BATCH % (sizeof levels / sizeof levels[0])];
}

/* ---- cases ----------------------------------------------------------------------------------- */

bool fuzz_make_case(fuzz_context *context, const fuzz_options *options, uint64_t seed,
                    fuzz_bytes *out)
{
    static fuzz_bytes base;
    static uint64_t base_seed;
    const fuzz_way *way = options->way;
    const fuzz_limits limits = {way->opset, way->standard_only, options->only_op};
    /* Many mutants come of one model, because making it takes longer than they do. */
    uint64_t of = way->always_mutate ? seed / 64 : seed;
    if (!base.data || base_seed != of || !way->always_mutate) {
        base.n = 0;
        base_seed = of;
        fuzz_generate(context->runtime, of, &limits, context->report->ops_reached, &base);
    }
    ops_random random = {seed * 0x9e3779b97f4a7c15u + 1};
    out->n = 0;
    if (way->n_mutations == 0 || (!way->always_mutate && ops_random_below(&random, 2))) {
        fuzz_bytes_add(out, base.data, base.n);
    } else {
        fuzz_msg *model = fuzz_msg_read(base.data, base.n, FUZZ_MODEL);
        fuzz_mutate(model, 1 + (int)ops_random_below(&random, (uint64_t)way->n_mutations), &random);
        fuzz_msg_write(model, out);
        fuzz_msg_destroy(model);
    }
    return out->n < 1 << 20;
}

/* Seeds from state->report->seed on, in a child, until the batch, the count or the time ends. */
static int batch(void *user)
{
    fuzz_run_state *state = user;
    const fuzz_options *options = state->options;
    fuzz_report *report = state->report;
    fuzz_context context = {.report = report, .hidden = state->level, .verbose = options->verbose};
    fuzz_bytes bytes = {0};
    context.runtime = fuzz_runtime(state->level);
    if (options->way->begin && !options->way->begin(&context))
        return FUZZ_CANNOT;
    do {
        report->n_bytes = 0;
        snprintf(report->stage, sizeof report->stage, "making it");
        fuzz_child_begin_case();
        bool wanted = fuzz_make_case(&context, options, report->seed, &bytes);
        if (wanted) {
            memcpy(report->bytes, bytes.data, bytes.n);
            report->n_bytes = bytes.n;
            report->n_cases++;
            int end = options->way->check(&context, bytes.data, bytes.n)
                          ? fuzz_child_end_case(&context)
                          : FUZZ_FOUND;
            if (end != FUZZ_WELL)
                return end;
        }
        report->seed++;
        if (options->count && report->seed >= options->seed + options->count)
            break;
    } while (report->seed % BATCH && fuzz_now() < state->end);
    report->n_bytes = 0;
    free(bytes.data);
    return FUZZ_WELL;
}

/* ---- the run --------------------------------------------------------------------------------- */

static bool is_over(const fuzz_run_state *state)
{
    const fuzz_options *o = state->options;
    return (o->count && state->report->seed >= o->seed + o->count) || fuzz_now() >= state->end ||
           state->n_findings >= o->max_findings;
}

static void print_counts(const fuzz_run_state *state, double seconds)
{
    const fuzz_report *r = state->report;
    unsigned n_ops = 0;
    for (size_t i = 0; i < sizeof r->ops_reached; i++)
        n_ops += r->ops_reached[i];
    printf("%s: %llu cases in %.0f s, %u of %u ops reached", state->options->way->name,
           (unsigned long long)r->n_cases, seconds, n_ops, (unsigned)tfr_op_count());
    for (int i = 0; i < FUZZ_N_COUNTS && state->options->way->counts[i]; i++)
        printf(", %llu %s", (unsigned long long)r->counts[i], state->options->way->counts[i]);
    printf("; %llu findings, %llu more of the same, %llu not confirmed, %llu that are much work\n",
           (unsigned long long)state->n_findings, (unsigned long long)state->n_repeated,
           (unsigned long long)state->n_unsure, (unsigned long long)state->n_long);
}

static int run(fuzz_run_state *state)
{
    const fuzz_options *o = state->options;
    double begin = fuzz_now();
    printf("%s: seed %llu\n", o->way->name, (unsigned long long)o->seed);
    state->report->seed = o->seed;
    state->end = o->seconds > 0 ? begin + o->seconds : 1e300;
    while (!is_over(state)) {
        snprintf(state->level, sizeof state->level, "%s", level_of(o, state->report->seed));
        int result = fuzz_child_run(state->report, batch, state);
        if (result == FUZZ_CANNOT) {
            printf("skipped: %s\n0 passed, 0 failed, 1 skipped\n", state->report->text);
            return 77;
        }
        uint64_t seed = state->report->seed;
        if (result == FUZZ_FOUND)
            fuzz_finding(state);
        state->n_long += result == FUZZ_LONG;
        if (result == FUZZ_FOUND || result == FUZZ_LONG)
            state->report->seed = seed + 1;
    }
    print_counts(state, fuzz_now() - begin);
    free(state->seen);
    printf("%d passed, %llu failed, 0 skipped\n", state->n_findings == 0,
           (unsigned long long)state->n_findings);
    return state->n_findings ? 1 : 0;
}

/* ---- the command line ------------------------------------------------------------------------ */

static const fuzz_way *find_way(const char *name)
{
    static const fuzz_way *const ways[] = {&fuzz_way_memory, &fuzz_way_mutant, &fuzz_way_diff,
                                           &fuzz_way_ort};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(ways[i]->name, name) == 0)
            return ways[i];
    fprintf(stderr, "there is no way \"%s\"; there is: memory mutant diff ort\n", name);
    exit(2);
}

static bool set_option(fuzz_options *o, const char *name, const char *value)
{
    if (strcmp(name, "--way") == 0)
        o->way = find_way(value);
    else if (strcmp(name, "--seed") == 0)
        o->seed = strtoull(value, NULL, 10);
    else if (strcmp(name, "--count") == 0)
        o->count = strtoull(value, NULL, 10);
    else if (strcmp(name, "--seconds") == 0)
        o->seconds = strtod(value, NULL);
    else if (strcmp(name, "--save") == 0)
        o->save = value;
    else if (strcmp(name, "--hide") == 0)
        o->hidden = value;
    else if (strcmp(name, "--op") == 0)
        o->only_op = value;
    else if (strcmp(name, "--max-findings") == 0)
        o->max_findings = (unsigned)strtoul(value, NULL, 10);
    else if (strcmp(name, "--reduce-seconds") == 0)
        o->reduce_seconds = strtod(value, NULL);
    else
        return false;
    return true;
}

static int replay(fuzz_run_state *state, char **paths, int n)
{
    uint64_t n_cases = 0;
    int bad = fuzz_replay(state, paths, n, &n_cases);
    if (bad < 0)
        return 1;
    printf("%llu passed, %d failed, 0 skipped\n", (unsigned long long)n_cases - (unsigned)bad, bad);
    return bad > 0 || n_cases == 0 ? 1 : 0;
}

static int reduce_file(fuzz_run_state *state, const char *path)
{
    fuzz_bytes bytes = {0};
    if (!fuzz_read_file(path, &bytes) || bytes.n > FUZZ_MAX_BYTES)
        return 1;
    memcpy(state->report->bytes, bytes.data, bytes.n);
    state->report->n_bytes = bytes.n;
    if (!fuzz_look(state, &bytes)) {
        printf("nothing is wrong with %s in the way %s\n", path, state->options->way->name);
        return 1;
    }
    memcpy(state->report->bytes, bytes.data, bytes.n);
    state->report->n_bytes = bytes.n;
    state->report->seed = ops_hash(path) % 1000000;
    fuzz_finding(state);
    return 0;
}

static int emit(fuzz_run_state *state, const char *path)
{
    fuzz_context context = {.report = state->report, .hidden = ""};
    fuzz_bytes bytes = {0};
    context.runtime = fuzz_runtime("");
    fuzz_make_case(&context, state->options, state->options->seed, &bytes);
    bool good = fuzz_write_file(path, bytes.data, bytes.n);
    tfr_runtime_release(context.runtime);
    free(bytes.data);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    fuzz_options o = {.way = &fuzz_way_diff,
                      .seed = (uint64_t)time(NULL) * 1000003 % 1000000007 * 1000,
                      .max_findings = 20,
                      .reduce_seconds = 60};
    fuzz_run_state state = {.options = &o};
    char tree[4096], *only[] = {tree};
    const char *srcdir = getenv("TFR_SRCDIR");
    setvbuf(stdout, NULL, _IOLBF, 0);
    state.report = fuzz_report_create();
    snprintf(tree, sizeof tree, "%s/tests/fuzz/graphs.corpus", srcdir ? srcdir : ".");
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0)
            o.verbose = true;
        else if (strcmp(argv[i], "--replay") == 0)
            return replay(&state, argv + i + 1, argc - i - 1);
        else if (i + 1 < argc && strcmp(argv[i], "--reduce") == 0)
            return reduce_file(&state, argv[i + 1]);
        else if (i + 1 < argc && strcmp(argv[i], "--pack") == 0)
            return fuzz_pack(argv[i + 1], argv + i + 2, argc - i - 2);
        else if (i + 3 < argc && strcmp(argv[i], "--emit") == 0 &&
                 set_option(&o, argv[i + 2], argv[i + 3]))
            return emit(&state, argv[i + 1]);
        else if (i + 1 == argc || !set_option(&o, argv[i], argv[i + 1])) {
            fprintf(stderr, "%s: what is \"%s\"? The top of graph_fuzz.c says how it is run\n",
                    argv[0], argv[i]);
            return 2;
        } else
            i++;
    }
    if (argc < 2)
        return replay(&state, only, 1);
    if (!o.count && o.seconds <= 0)
        o.seconds = 60;
    return run(&state);
}
