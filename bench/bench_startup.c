/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_startup.c: from the start of a process to its first product of 500 x 500, and the peak
 * resident memory of such a process. The children of C are this same program with a hidden command,
 * which does nothing but open one library and use it: "nothing" among them is what the program
 * alone takes, and is in all of theirs. Python's children import one package and multiply.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tfrun/fail.h>

#include "child.h"
#include "contest.h"
#include "peer.h"
#include "product.h"

#define DEFAULT_SIZE  500
#define CHILD_SECONDS 120
#define N_PEAKS       5 /* processes for each peak, unless the user says */

/* ---- the child ------------------------------------------------------------------------------- */

/* The line that the parent waits for. */
static tfr_status __attribute__((format(printf, 2, 3)))
answer(tfr_err *err, const char *format, ...)
{
    va_list args;
    int n;
    errno = 0;
    va_start(args, format);
    n = vprintf(format, args);
    va_end(args);
    if (n >= 0 && fflush(stdout) == 0)
        return TFR_OK;
    return tfr_fail(err, errno == ENOMEM ? TFR_ENOMEM : TFR_EIO,
                    "standard output cannot be written: %s", strerror(errno));
}

static tfr_status child_ours(const bench_options *options, const bench_product *product,
                             tfr_err *err)
{
    tfr_runtime_options runtime_options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    bench_ours ours = {0};
    tfr_status status;
    runtime_options.n_threads = options->n_threads;
    status = tfr_runtime_create(&runtime_options, &runtime, err);
    if (!status)
        status = bench_ours_init(&ours, runtime, options->device, options->math_mode, product, err);
    if (!status)
        status = tfr_binding_run(ours.binding, err);
    if (!status)
        status = answer(err, "done %.9g %llu\n", (double)((float *)tfr_tensor_data(ours.c))[0],
                        (unsigned long long)bench_process_peak(0));
    bench_ours_finish(&ours);
    tfr_runtime_release(runtime);
    return status;
}

tfr_status bench_child(const bench_options *options, const char *who, int64_t n, tfr_err *err)
{
    bench_report report;
    bench_contest contest = {.options = options, .report = &report};
    bench_product product = {.m = n, .n = n, .k = n};
    tfr_status status = TFR_OK;
    float *data;
    if (strncmp(who, "train-", 6) == 0) {
        uint64_t peak = 0;
        status = bench_train_child(options, who + 6, (uint32_t)n, &peak, err);
        return status ? status : answer(err, "done 0 %llu\n", (unsigned long long)peak);
    }
    data = malloc(2 * (size_t)(n * n) * sizeof *data);
    if (!data)
        return tfr_fail(err, TFR_ENOMEM, "no memory for two matrices of %lld elements",
                        (long long)(n * n));
    bench_fill_random(data, 2 * n * n, 1);
    product.a = data;
    product.b = data + n * n;
    if (strcmp(who, "tfrun") == 0) {
        status = child_ours(options, &product, err);
        free(data);
        return status;
    }
    bench_report_init(&report, "child", options);
    contest.row = bench_add_row(&report, n, "child");
    /* Each makes one product on its way. */
    if (strcmp(who, "onednn") == 0)
        bench_add_onednn(&contest, &product);
    else if (strcmp(who, "openblas") == 0)
        bench_add_openblas(&contest, &product);
    else if (strcmp(who, "onnxruntime") == 0)
        bench_add_ort_product(&contest, &product);
    if (report.n_rows && report.rows[0].n_skips)
        status = answer(err, "no %s\n", report.rows[0].skips[0].why);
    else
        status = answer(err, "done 0 %llu\n", (unsigned long long)bench_process_peak(0));
    bench_contest_finish(&contest);
    bench_report_finish(&report);
    free(data);
    return status;
}

/* ---- the parent ------------------------------------------------------------------------------ */

static const char python[] =
    "import sys\n"
    "who, n, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])\n"
    "try:\n"
    "    if who == 'numpy':\n"
    "        import numpy as np\n"
    "        x = (np.arange(n * n, dtype=np.float32) % 251 / 251).reshape(n, n)\n"
    "        first = (x @ x)[0, 0]\n"
    "    elif who == 'torch':\n"
    "        import torch\n"
    "        torch.set_num_threads(threads)\n"
    "        x = (torch.arange(n * n, dtype=torch.float32) % 251 / 251).reshape(n, n)\n"
    "        first = (x @ x)[0, 0]\n"
    "    elif who == 'tensorflow':\n"
    "        import tensorflow as tf\n"
    "        x = tf.reshape(tf.range(n * n, dtype=tf.float32) % 251 / 251, (n, n))\n"
    "        first = (x @ x)[0, 0]\n"
    "    else:\n"
    "        import jax.numpy as jnp\n"
    "        x = (jnp.arange(n * n, dtype=jnp.float32) % 251 / 251).reshape(n, n)\n"
    "        first = (x @ x)[0, 0]\n"
    "    peak = next(s for s in open('/proc/self/status') if s.startswith('VmHWM'))\n"
    "    print('done', float(first), int(peak.split()[1]) * 1024, flush=True)\n"
    "except Exception as e:\n"
    "    print('no', str(e).replace('\\n', ' ')[:300], flush=True)\n";

typedef struct starter {
    char who[32], n[24], threads[24], library[700], self[1024];
    char variables[4][48];
    const char *argv[16];
    const char *environment[5];
    uint64_t peak; /* of the last child */
} starter;

static bool is_python(const char *who)
{
    return !strcmp(who, "numpy") || !strcmp(who, "torch") || !strcmp(who, "tensorflow") ||
           !strcmp(who, "jax");
}

static void starter_init(starter *s, const char *who, const bench_options *options, int64_t n)
{
    static const char *const names[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                        "MKL_NUM_THREADS", "TFRUN_THREADS"};
    char path[600];
    const char *peer = strncmp(who, "train-", 6) == 0 ? "onednn" : who;
    const char *file = strcmp(peer, "onnxruntime") == 0 ? bench_ort_file(options, path, sizeof path)
                                                        : bench_peer_file(options, peer);
    ssize_t length = readlink("/proc/self/exe", s->self, sizeof s->self - 1);
    int argc = 0;
    s->self[length > 0 ? length : 0] = 0;
    snprintf(s->who, sizeof s->who, "%s", who);
    snprintf(s->n, sizeof s->n, "%lld", (long long)n);
    snprintf(s->threads, sizeof s->threads, "%u", options->n_threads);
    for (int i = 0; i < 4; i++) {
        snprintf(s->variables[i], sizeof s->variables[i], "%s=%u", names[i], options->n_threads);
        s->environment[i] = s->variables[i];
    }
    if (is_python(who)) {
        const char *words[] = {"python3", "-c", python, s->who, s->n, s->threads};
        memcpy(s->argv, words, sizeof words);
        return;
    }
    s->argv[argc++] = s->self;
    s->argv[argc++] = "__bench_child";
    s->argv[argc++] = s->who;
    s->argv[argc++] = s->n;
    s->argv[argc++] = "--threads";
    s->argv[argc++] = s->threads;
    if (file) {
        snprintf(s->library, sizeof s->library, "--library=%s=%s", peer, file);
        s->argv[argc++] = s->library;
    }
}

/* Starts n children, one after the other; *seconds is the sum from start to answer. */
static tfr_status start(void *user, uint64_t n, double *seconds, tfr_err *err)
{
    starter *s = user;
    tfr_status status = TFR_OK;
    *seconds = 0;
    for (uint64_t i = 0; !status && i < n; i++) {
        bench_process p;
        char line[400] = "";
        unsigned long long peak = 0;
        double began = bench_now();
        status = bench_process_start(&p, s->argv, s->environment, err);
        if (status)
            return status;
        status = bench_process_read(&p, line, sizeof line, CHILD_SECONDS, err);
        *seconds += bench_now() - began;
        bench_process_finish(&p);
        if (!status && sscanf(line, "done %*s %llu", &peak) != 1)
            status =
                tfr_fail(err, TFR_ENOTFOUND, "%s", strncmp(line, "no ", 3) == 0 ? line + 3 : line);
        s->peak = peak;
    }
    return status;
}

tfr_status bench_child_peak(const bench_options *options, const char *who, int64_t n, uint64_t *out,
                            tfr_err *err)
{
    starter s = {0};
    double seconds;
    tfr_status status;
    starter_init(&s, who, options, n);
    status = start(&s, 1, &seconds, err);
    *out = s.peak;
    return status;
}

static const char *const whos[] = {"tfrun", "nothing", "onednn",     "openblas", "onnxruntime",
                                   "numpy", "torch",   "tensorflow", "jax"};
#define N_WHOS 9

static uint32_t list(const bench_options *options, starter *starters, int64_t n)
{
    uint32_t found = 0;
    for (int i = 0; i < N_WHOS; i++)
        if (i < 2 || bench_wants(options, whos[i]))
            starter_init(&starters[found++], whos[i], options, n);
    return found;
}

static const char *note_of(const starter *s)
{
    return strcmp(s->who, "tfrun") == 0     ? "best backend"
           : strcmp(s->who, "nothing") == 0 ? "a process of this program without a product"
           : is_python(s->who)              ? "python3 and one import"
                                            : "its library alone";
}

tfr_status bench_startup(const bench_options *options, bench_report *report, tfr_err *err)
{
    bench_contest contest = {.options = options, .report = report};
    starter *starters = calloc(N_WHOS, sizeof *starters);
    int64_t n = options->n_sizes ? options->sizes[0] : DEFAULT_SIZE;
    uint32_t n_starters;
    tfr_status status;
    if (!starters)
        return tfr_fail(err, TFR_ENOMEM, "no memory for command lines");
    contest.row = bench_add_row(report, n, "start to %lld x %lld", (long long)n, (long long)n);
    n_starters = list(options, starters, n);
    for (uint32_t i = 0; i < n_starters; i++) {
        bench_contender *c = bench_contest_add(&contest, starters[i].who);
        snprintf(c->note, sizeof c->note, "%s", note_of(&starters[i]));
        c->burst = start;
        c->user = &starters[i];
        c->ours = i == 0;
    }
    status = bench_contest_run(&contest, err);
    free(starters);
    return status;
}

tfr_status bench_memory(const bench_options *options, bench_report *report, tfr_err *err)
{
    starter *starters = calloc(N_WHOS, sizeof *starters);
    int64_t n = options->n_sizes ? options->sizes[0] : DEFAULT_SIZE;
    uint32_t n_starters, rounds = options->n_pairs ? options->n_pairs : N_PEAKS;
    double *peaks = calloc(rounds, sizeof *peaks), seconds, ours = 0;
    tfr_status status = TFR_OK;
    bench_row *row = bench_add_row(report, n, "%lld x %lld", (long long)n, (long long)n);
    if (!starters || !peaks)
        status = tfr_fail(err, TFR_ENOMEM, "no memory for %u peaks", rounds);
    n_starters = status ? 0 : list(options, starters, n);
    for (uint32_t i = 0; !status && i < n_starters; i++) {
        bench_side *side;
        for (uint32_t r = 0; !status && r < rounds; r++) {
            status = start(&starters[i], 1, &seconds, err);
            peaks[r] = (double)starters[i].peak;
        }
        if (status && i > 0) {
            bench_add_skip(report, row, starters[i].who, err->text);
            status = TFR_OK;
            continue;
        }
        if (status || !(side = bench_add_side(report, row)))
            break;
        snprintf(side->who, sizeof side->who, "%s", starters[i].who);
        snprintf(side->note, sizeof side->note, "%s", note_of(&starters[i]));
        side->n = rounds;
        side->bytes = (uint64_t)bench_spread_of(peaks, rounds).median;
        if (i == 0)
            ours = (double)side->bytes;
        else if (ours > 0)
            side->ratio.least = side->ratio.p10 = side->ratio.median = side->ratio.p90 =
                side->ratio.most = (double)side->bytes / ours;
    }
    free(starters);
    free(peaks);
    return status;
}
