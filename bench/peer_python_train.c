/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_python_train.c: training by PyTorch, Keras and JAX as warm children, as in peer_python.c.
 * What they do is in train_peers.py; they read data set and weights from a file that is removed
 * when all have them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tfrun/fail.h>

#include "child.h"
#include "peer.h"
#include "training.h"

#define START_SECONDS  180
#define ANSWER_SECONDS 3600 /* an epoch, with compilation */

/* The script as one text, which the caller frees. */
static char *script_text(void)
{
    size_t bytes = 1, at = 0;
    char *text;
    for (int i = 0; bench_train_script[i]; i++)
        bytes += strlen(bench_train_script[i]);
    text = malloc(bytes);
    for (int i = 0; text && bench_train_script[i]; i++)
        at += (size_t)snprintf(text + at, bytes - at, "%s", bench_train_script[i]);
    return text;
}

/* ---- what they read -------------------------------------------------------------------------- */

static bool put(FILE *f, const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, f) == bytes;
}

static bool put_all(FILE *f, const bench_training *t)
{
    bench_cursor cursor;
    uint32_t n;
    size_t samples = (size_t)(t->n_train + t->n_test);
    bool well = put(f, t->images, samples * BENCH_PIXELS) && put(f, t->labels, samples);
    for (int i = 0; well && i < BENCH_CNN_PARAMS; i++)
        well = put(f, t->weights[i], (size_t)bench_cnn_sizes[i] * sizeof(float));
    if (!well || bench_cursor_init(&cursor, t, NULL))
        return false;
    well = put(f, bench_cursor_next(&cursor, &n), (size_t)t->n_train * sizeof(int64_t));
    bench_cursor_finish(&cursor);
    return well;
}

/* Writes the file into the folder for temporary ones; path has room for it. */
static tfr_status write_file(const bench_training *t, char *path, size_t capacity, tfr_err *err)
{
    const char *folder = getenv("TMPDIR");
    FILE *f;
    int number;
    snprintf(path, capacity, "%s/tfrun-bench-XXXXXX", folder && *folder ? folder : "/tmp");
    number = mkstemp(path);
    if (number < 0)
        return tfr_fail(err, TFR_EIO, "%s cannot be made: %s", path, strerror(errno));
    f = fdopen(number, "wb");
    if (!f || !put_all(f, t) || fflush(f)) {
        tfr_status status =
            tfr_fail(err, TFR_EIO, "%s cannot be written: %s", path, strerror(errno));
        unlink(path);
        if (f)
            fclose(f);
        else
            close(number);
        return status;
    }
    fclose(f);
    return TFR_OK;
}

/* ---- contenders ------------------------------------------------------------------------------ */

/* A question and its answer, which is a number. */
static tfr_status ask(bench_process *p, const char *question, double *out, tfr_err *err)
{
    char line[64];
    tfr_status status = bench_process_write(p, question, err);
    if (!status)
        status = bench_process_read(p, line, sizeof line, ANSWER_SECONDS, err);
    if (!status)
        *out = strtod(line, NULL);
    return status;
}

static tfr_status python_burst(void *user, uint64_t n, double *seconds, tfr_err *err)
{
    char line[32];
    double nanoseconds = 0;
    tfr_status status;
    snprintf(line, sizeof line, "%llu\n", (unsigned long long)n);
    status = ask(user, line, &nanoseconds, err);
    *seconds = nanoseconds * 1e-9;
    return status;
}

static tfr_status python_loss(void *user, double *out, tfr_err *err)
{
    return ask(user, "loss\n", out, err);
}

static tfr_status python_accuracy(void *user, double *out, tfr_err *err)
{
    return ask(user, "accuracy\n", out, err);
}

static uint64_t python_peak(void *user)
{
    return bench_process_peak(((bench_process *)user)->pid);
}

static void python_destroy(void *user)
{
    bench_process_finish(user);
    free(user);
}

static tfr_status begin(bench_process *p, const char *who, const bench_training *t,
                        uint32_t n_threads, const char *script, const char *file, char *version,
                        tfr_err *err)
{
    static const char *const names[] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS",
                                        "TF_NUM_INTRAOP_THREADS"};
    char words[4][24], threads[3][40], line[400];
    const long long numbers[] = {t->n_train, t->n_test, t->batch, n_threads};
    const char *argv[] = {"python3", "-c",     script,   who,      file,
                          words[0],  words[1], words[2], words[3], NULL};
    const char *variables[] = {threads[0], threads[1], threads[2], NULL};
    tfr_status status;
    for (int i = 0; i < 4; i++)
        snprintf(words[i], sizeof words[i], "%lld", numbers[i]);
    for (int i = 0; i < 3; i++)
        snprintf(threads[i], sizeof threads[i], "%s=%u", names[i], n_threads);
    status = bench_process_start(p, argv, variables, err);
    if (!status)
        status = bench_process_read(p, line, sizeof line, START_SECONDS, err);
    if (!status && sscanf(line, "ready %99[^\n]", version) != 1)
        status = tfr_fail(err, TFR_ENOTFOUND, "%s", strncmp(line, "no ", 3) == 0 ? line + 3 : line);
    return status;
}

static void add(bench_contest *contest, const bench_training *training, const char *who,
                const char *script, const char *file)
{
    bench_process *p = calloc(1, sizeof *p);
    bench_contender *c;
    char version[100] = "";
    tfr_err err = TFR_ERR_INIT;
    if (!p)
        return;
    *p = (bench_process){.pid = -1, .to = -1, .from = -1};
    if (begin(p, who, training, contest->options->n_threads, script, file, version, &err) ||
        !(c = bench_contest_add(contest, who))) {
        bench_peer_skip(contest, who, "%s", err.text);
        python_destroy(p);
        return;
    }
    snprintf(c->note, sizeof c->note, "%s", version);
    c->burst = python_burst;
    c->loss = python_loss;
    c->accuracy = python_accuracy;
    c->peak = python_peak;
    c->destroy = python_destroy;
    c->user = p;
    if (clock_getcpuclockid(p->pid, &c->cpu))
        c->cpu = 0;
}

void bench_add_python_training(bench_contest *contest, const bench_training *training)
{
    static const char *const peers[] = {"torch", "torch-compiled", "keras", "keras-jit", "jax"};
    enum { N_PEERS = sizeof peers / sizeof *peers };
    char file[600], *script;
    tfr_err err = TFR_ERR_INIT;
    bool any = false;
    for (size_t i = 0; i < N_PEERS; i++)
        any = any || bench_wants(contest->options, peers[i]);
    if (!any || !(script = script_text()))
        return;
    if (write_file(training, file, sizeof file, &err)) {
        bench_peer_skip(contest, "python", "%s", err.text);
        free(script);
        return;
    }
    for (size_t i = 0; i < N_PEERS; i++)
        if (bench_wants(contest->options, peers[i]))
            add(contest, training, peers[i], script, file);
    unlink(file);
    free(script);
}
