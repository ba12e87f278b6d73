/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_python.c: NumPy, PyTorch, TensorFlow and JAX as warm children: each is started once, has its
 * data and has run once; then it waits at a pipe for "N", runs N times after one run that does
 * not count, and answers with the seconds. Its clock stands around the runs alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tfrun/fail.h>

#include "child.h"
#include "peer.h"

#define START_SECONDS 120 /* TensorFlow takes 10 */
#define BURST_SECONDS 300

/* "ready VERSION, or "no REASON"; then the error against float64. */
static const char script[] =
    "import sys, time\n"
    "who, m, n, k, threads = sys.argv[1], *map(int, sys.argv[2:])\n"
    "def start():\n"
    "    import numpy as np\n"
    "    rng = np.random.default_rng(7)\n"
    "    a = (rng.random((m, k), dtype=np.float32) - np.float32(0.5)) * 2\n"
    "    b = (rng.random((k, n), dtype=np.float32) - np.float32(0.5)) * 2\n"
    "    if who == 'numpy':\n"
    "        c = np.empty((m, n), np.float32)\n"
    "        version, run, value = np.__version__, lambda: np.matmul(a, b, out=c), lambda: c\n"
    "    elif who == 'torch':\n"
    "        import torch\n"
    "        torch.set_num_threads(threads)\n"
    "        x, y, z = torch.from_numpy(a), torch.from_numpy(b), torch.empty((m, n))\n"
    "        version = torch.__version__\n"
    "        run, value = lambda: torch.mm(x, y, out=z), lambda: z.numpy()\n"
    "    elif who == 'tensorflow':\n"
    "        import tensorflow as tf\n"
    "        tf.config.threading.set_intra_op_parallelism_threads(threads)\n"
    "        x, y = tf.constant(a), tf.constant(b)\n"
    "        version = tf.__version__\n"
    "        run, value = lambda: tf.linalg.matmul(x, y), lambda: run().numpy()\n"
    "    else:\n"
    "        import jax\n"
    "        x, y = jax.numpy.asarray(a), jax.numpy.asarray(b)\n"
    "        f = jax.jit(jax.numpy.matmul)\n"
    "        version = jax.__version__\n"
    "        run, value = lambda: f(x, y).block_until_ready(), lambda: np.asarray(run())\n"
    "    run()\n"
    "    rows = rng.integers(0, m, 8)\n"
    "    true = a[rows].astype(np.float64) @ b.astype(np.float64)\n"
    "    return version, run, float(np.abs(value()[rows] - true).max())\n"
    "try:\n"
    "    version, run, error = start()\n"
    "except Exception as e:\n"
    "    print('no', str(e).replace('\\n', ' ')[:300], flush=True)\n"
    "    sys.exit(1)\n"
    "print('ready', version, error, flush=True)\n"
    "for line in sys.stdin:\n"
    "    run()\n"
    "    began = time.perf_counter_ns()\n"
    "    for i in range(int(line)):\n"
    "        run()\n"
    "    print(time.perf_counter_ns() - began, flush=True)\n";

static tfr_status python_burst(void *user, uint64_t n, double *seconds, tfr_err *err)
{
    bench_process *p = user;
    char line[64];
    tfr_status status;
    snprintf(line, sizeof line, "%llu\n", (unsigned long long)n);
    status = bench_process_write(p, line, err);
    if (!status)
        status = bench_process_read(p, line, sizeof line, BURST_SECONDS, err);
    if (!status)
        *seconds = strtod(line, NULL) * 1e-9;
    return status;
}

static void python_destroy(void *user)
{
    bench_process_finish(user);
    free(user);
}

static void add(bench_contest *contest, const bench_product *product, const char *who)
{
    char words[4][24], threads[4][40], line[400], version[100];
    const char *argv[] = {"python3", "-c",     script,   who, words[0],
                          words[1],  words[2], words[3], NULL};
    const char *variables[] = {threads[0], threads[1], threads[2], threads[3], NULL};
    static const char *const names[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                        "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"};
    long long numbers[] = {product->m, product->n, product->k, contest->options->n_threads};
    bench_process *p = calloc(1, sizeof *p);
    bench_contender *c;
    double error = NAN;
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    for (int i = 0; i < 4; i++) {
        snprintf(words[i], sizeof words[i], "%lld", numbers[i]);
        snprintf(threads[i], sizeof threads[i], "%s=%u", names[i], contest->options->n_threads);
    }
    if (!p)
        return;
    status = bench_process_start(p, argv, variables, &err);
    if (!status)
        status = bench_process_read(p, line, sizeof line, START_SECONDS, &err);
    if (!status && sscanf(line, "ready %99s %lf", version, &error) != 2)
        status =
            tfr_fail(&err, TFR_ENOTFOUND, "%s", strncmp(line, "no ", 3) == 0 ? line + 3 : line);
    if (status || !(c = bench_contest_add(contest, who))) {
        bench_peer_skip(contest, who, "%s", err.text);
        python_destroy(p);
        return;
    }
    snprintf(c->note, sizeof c->note, "%s, %u threads", version, contest->options->n_threads);
    c->burst = python_burst;
    c->destroy = python_destroy;
    c->user = p;
    c->error = error;
    if (clock_getcpuclockid(p->pid, &c->cpu))
        c->cpu = 0;
}

void bench_add_python(bench_contest *contest, const bench_product *product)
{
    static const char *const peers[] = {"numpy", "torch", "tensorflow", "jax"};
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
        if (bench_wants(contest->options, peers[i]))
            add(contest, product, peers[i]);
}
