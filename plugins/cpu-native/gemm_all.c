/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_all.c: a product on the host's threads: each takes units as they come, and then helps. */
#include "gemm_help.h"
#include "gemm_layout.h"

enum { MOST_HELPED = 64 /* threads */ };

typedef struct whole_run {
    const native_gemm *g;
    native_gemm_args args;
    char *scratch;
    int64_t shares;
    _Atomic int64_t next_tile;
    native_gemm_help help[MOST_HELPED]; /* of each share, if there are no more */
} whole_run;

static void pack_share(void *user, int64_t begin, int64_t end)
{
    const whole_run *run = user;
    native_gemm_pack_a(run->g, &run->args, begin, end);
}

/* Rounds over the others until none of them has anything to take. */
static void help_others(whole_run *run, int64_t share, void *scratch)
{
    bool has_helped;
    int64_t i;

    do {
        has_helped = false;
        for (i = 1; i < run->shares; i++)
            has_helped |= native_gemm_run_help(&run->help[(share + i) % run->shares], scratch);
    } while (has_helped);
}

/* Thread's share: tiles as they come, with the scratch memory of this number. */
static void run_share(void *user, int64_t begin, int64_t end)
{
    whole_run *run = user;
    int64_t i, tile;

    for (i = begin; i < end; i++) {
        char *scratch = run->scratch + (size_t)i * run->g->scratch_bytes;
        while ((tile = atomic_fetch_add_explicit(&run->next_tile, 1, memory_order_relaxed)) <
               run->g->n_tiles)
            native_gemm_run_helped(run->g, &run->args, scratch, tile, tile + 1,
                                   run->shares <= MOST_HELPED ? &run->help[i] : NULL);
        if (run->shares <= MOST_HELPED)
            help_others(run, i, scratch);
    }
}

void native_gemm_run_all(const native_gemm *g, const native_gemm_args *args, void *workspace,
                         const tfr_host *host, int n_threads)
{
    const int64_t n = smaller(n_threads, g->n_tiles), rounds = native_gemm_rounds(g);
    const bool alone = n <= 1 || g->fills_a || !host || !host->parallel_for;
    whole_run run;
    int64_t i;

    run.g = g;
    run.args = *args;
    run.scratch = (char *)workspace + native_gemm_shared_bytes(g);
    run.shares = n;
    for (i = 0; i < n && n <= MOST_HELPED; i++) {
        atomic_init(&run.help[i].next, 0);
        atomic_init(&run.help[i].open, false);
        atomic_init(&run.help[i].helpers, 0);
    }
    run.args.shared_a = rounds > 0 ? workspace : NULL;
    for (run.args.round = 0; run.args.round < larger(rounds, 1); run.args.round++) {
        atomic_init(&run.next_tile, 0);
        if (rounds > 0 && alone && !g->fills_a)
            pack_share(&run, 0, g->row_panels);
        else if (rounds > 0 && !alone)
            host->parallel_for(pack_share, &run, g->row_panels, 0);
        if (alone)
            native_gemm_run(g, &run.args, run.scratch, 0, g->n_tiles);
        else
            host->parallel_for(run_share, &run, n, 1);
    }
}
