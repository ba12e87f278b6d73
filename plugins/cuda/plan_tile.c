/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_tile.c: how kernels/tile.h computes a product: which tiles, how many teams have one, in how
 * many splits. What an H100 would take for each way is estimated in cycles, and the fewest win.
 */
#include "plan_kit.h"

/* As tfr_shape of tile.h has it; what a warp issues for a chunk, loads of both operands included,
 * and how many of them a multiprocessor holds. */
typedef struct shape {
    int32_t side, warps, teams, k, issue, resident;
} shape;
static const shape shapes[CUDA_TILES] = {
    {64, 8, 1, 16, 460, 16},
    {32, 1, 8, 8, 480, 16},
    {16, 1, 16, 16, 400, 16},
    {32, 1, 8, 8, 240, 16},
};

enum {
    MAX_SPLITS = 256,
    MAX_SLABS = 1 << 26 /* elements */,
    CYCLES_OF_LOAD = 900,
    CYCLES_OF_LAUNCH = 3500
};

uint32_t cuda_tiles_of(const cuda_chip *chip, const tfr_call *call)
{
    if (tfr_call_input(call, 0)->dtype != TFR_DTYPE_F32)
        return CUDA_ANY_TYPE;
    return CUDA_ANY_TYPE | 1 << CUDA_TILES_32 |
           (uint32_t)(call->math_mode >= TFR_MATH_TF32 && chip->capability >= 80)
               << CUDA_TILES_TF32;
}

static int64_t up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t tiles_of(const shape *s, const cuda_sums *w)
{
    return up(w->M, s->side) * up(w->N, s->side) * w->outer;
}

/* Warps of a block: whole tiles, few blocks, but enough of them. */
static int64_t warps_of(const cuda_chip *chip, const shape *s, int64_t warps, int64_t teams)
{
    int64_t n = teams * s->warps;

    while (n < (int64_t)s->teams * s->warps && warps > n * 4 * chip->multiprocessors)
        n *= 2;
    return n;
}

static int64_t cycles(const cuda_chip *chip, const shape *s, const cuda_sums *w, int64_t teams,
                      int64_t splits)
{
    const int64_t tiles = tiles_of(s, w), warps = tiles * splits * teams * s->warps;
    const int64_t of_block = warps_of(chip, s, warps, teams);
    const int64_t busy = up(up(warps, of_block), chip->multiprocessors) * of_block;
    const int64_t chunks = up(up(w->K, teams * splits), s->k);
    const int64_t issued = larger(up(busy, 4), s->warps / 4) * chunks * s->issue;
    const int64_t waited = up(busy, s->resident) * (chunks + 1) * CYCLES_OF_LOAD;
    /* 16 bytes a cycle come to a multiprocessor */
    const int64_t read = tiles * 2 * s->side * w->K * 4 / ((int64_t)chip->multiprocessors * 16);
    /* loads wait while others multiply, but for half of the shorter one */
    int64_t sum = larger(larger(issued, waited) + (issued < waited ? issued : waited) / 2, read) +
                  teams * 30 + s->side * s->side * 20 / (s->warps * teams * 32);

    if (splits > 1) /* slabs are written and read */
        sum += CYCLES_OF_LAUNCH +
               w->M * w->N * w->outer * splits / ((int64_t)chip->multiprocessors * 2);
    return sum;
}

cuda_tiles cuda_choose_tiles(const cuda_chip *chip, const cuda_sums *w)
{
    cuda_tiles out = {.threads = 0};
    int64_t best = INT64_MAX, teams = 1, warps;
    const shape *s = &shapes[0];
    tfr_tiling *t = &out.tiling;

    t->splits = 1;
    for (int32_t i = 0; i < CUDA_TILES; i++)
        for (int64_t n = 1; n <= shapes[i].teams; n *= 2)
            for (int64_t splits = 1; splits <= (w->may_split ? MAX_SPLITS : 1); splits *= 2) {
                const int64_t each = cycles(chip, &shapes[i], w, n, splits);
                if (!(w->may_have >> i & 1) || each >= best ||
                    (splits > 1 && (w->K < n * splits * shapes[i].k * 2 ||
                                    w->M * w->N * w->outer * splits > MAX_SLABS)))
                    continue;
                best = each;
                teams = n;
                out.which = i;
                t->splits = (int32_t)splits;
            }
    out.cycles = best;
    s = &shapes[out.which];
    while (1 << t->teams_shift < teams)
        t->teams_shift++;
    t->parts = (int32_t)(tiles_of(s, w) * t->splits);
    t->split_k = t->splits > 1 ? (int32_t)(up(up(w->K, t->splits), 4) * 4) : 1 << 30;
    t->across = cuda_divisor(up(w->N, s->side));
    t->down = cuda_divisor(up(w->M, s->side));
    t->outer = cuda_divisor(w->outer);
    warps = (int64_t)t->parts * teams * s->warps;
    out.threads = (uint32_t)warps_of(chip, s, warps, teams) * 32;
    out.blocks = (uint64_t)up(warps * 32, out.threads);
    return out;
}

void cuda_mark_mode(const cuda_tiles *tiles, tfr_answer *answer, cuda_plan *plan)
{
    if (tiles->which != CUDA_TILES_TF32)
        return;
    answer->flags |= TFR_ANSWER_MATH_MODE;
    if (plan)
        plan->uses_math_mode = true;
}
