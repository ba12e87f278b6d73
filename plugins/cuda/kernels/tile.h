/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tile.h: a matrix product in tiles of S x S through shared memory, in float32 arithmetic.
 *
 * A team of threads has a tile: of 64 x 64 a block, of 32 x 32 and 16 x 16 one warp, which waits
 * for nobody but itself. Where tiles are few, several teams of a block have one and divide its sum
 * among them, and blocks, too: splits, which leave slabs that another kernel adds. All is added in
 * a fixed order. While a team multiplies a chunk of the sum, it fetches the next one. What is
 * multiplied is behind a class:
 *
 *   struct operands {
 *       int M, N;
 *       bool a_by_k, b_by_k          neighbours lie along k
 *       int a_row                    from row to row of A
 *       float a(int at)              at: m * a_row + the a of the step k
 *       int out(int n)               what is common to column n of what is written
 *       void put(int out, int m, int n, float sum)
 *       static bool has_table        a step takes divisions: it is found once for a team. If so:
 *       tfr_spot step(int k), column(int n)
 *       float b(const tfr_spot &column, const tfr_spot &step, bool is_there)
 *                                    0 if not; one branch in all, or loads wait for each other
 *       static bool has_columns      a thread has several columns: they are in a table, too
 *                                    If not:
 *       int a_column, b_row, b_column
 *       float b(int at)
 *   };
 *
 * so that products, convolutions and their gradients are one loop. All indexes are in range.
 */
#ifndef TFR_CUDA_TILE_H
#define TFR_CUDA_TILE_H

#include "index.h"

/* Parts of places in A and B, and of one in a plane. */
struct alignas(16) tfr_spot {
    int a, b, row, across;
};

/* k: of the sum at once. A thread has rows x columns sums. */
template <int S> struct tfr_shape {
    static constexpr int team = S == 64 ? 256 : 32, teams = S == 64 ? 1 : S == 32 ? 8 : 16;
    static constexpr int threads = team * teams, k = S == 32 ? 8 : 16, buffers = S == 64 ? 2 : 1;
    static constexpr int rows = S == 32 ? 8 : 4, columns = S == 16 ? 2 : 4;
    static constexpr int pitch = S + 4, tile = 2 * k * pitch, loads = S * k / team;
    static constexpr int floats = S != 64 && S * S > tile ? S *S : buffers *tile;
};

/* What a team does: a tile of product number `outer`, from begin to end of its sum. */
struct tfr_part {
    int tile_m, tile_n, outer, split, begin, end;
    int team;      /* of those of the tile */
    bool is_there; /* the last block may have too many teams */
};

/* Gives the team its part of a sum of K steps. */
template <int S> __device__ inline void tfr_cut(const tfr_tiling &g, int K, tfr_part *p)
{
    const int teams = 1 << g.teams_shift, from = p->split * g.split_k;
    const int end = K - from < g.split_k ? K : from + g.split_k;
    const int each = (((end - from + teams - 1) >> g.teams_shift) + 3) / 4 * 4;
    p->begin = from + p->team * each;
    p->end = !p->is_there ? p->begin : p->begin + each < end ? p->begin + each : end;
}

template <int S> __device__ inline tfr_part tfr_part_of(const tfr_tiling &g, int K)
{
    const int team = (int)threadIdx.x / tfr_shape<S>::team;
    const int wanted = (int)(blockIdx.x * (blockDim.x / tfr_shape<S>::team) >> g.teams_shift) +
                       (team >> g.teams_shift);
    const int number = wanted < g.parts ? wanted : 0;
    const int down = tfr_divide(number, g.across), outer = tfr_divide(down, g.down);
    tfr_part p;

    p.is_there = wanted < g.parts;
    p.team = team & ((1 << g.teams_shift) - 1);
    p.tile_n = number - down * (int)g.across.d;
    p.tile_m = down - outer * (int)g.down.d;
    p.split = tfr_divide(outer, g.outer);
    p.outer = outer - p.split * (int)g.outer.d;
    tfr_cut<S>(g, K, &p);
    return p;
}

template <int S> __device__ inline void tfr_sync_team(void)
{
    if constexpr (tfr_shape<S>::team == 32)
        __syncwarp();
    else
        __syncthreads();
}

/* The elements (k, m) of a chunk that a thread of the team fetches: the first, and from one to the
 * next; n of them are within the matrix, if all of the sum is there. */
struct tfr_share {
    int k, m, k_step, m_step, n;
};

/* limit: of m. */
template <int S> __device__ inline tfr_share tfr_share_of(bool by_k, int t, int limit)
{
    typedef tfr_shape<S> shape;
    constexpr int m_step = shape::team / shape::k;
    if (by_k)
        return {t % shape::k, t / shape::k, 0, m_step,
                (limit - t / shape::k + m_step - 1) / m_step};
    return {t / S, t % S, shape::team / S, 0, t % S < limit ? shape::loads : 0};
}

/* So many of them are there, of a chunk that has `left` steps. */
template <int S> __device__ inline int tfr_share_there(bool by_k, const tfr_share &of, int left)
{
    constexpr int k_step = tfr_shape<S>::team / S;
    const int n = by_k ? (of.k < left ? of.n : 0) : (left - of.k + k_step - 1) / k_step;
    return n < of.n ? n : of.n;
}

/* Loads what a thread has of the chunk at k0. Places go on from one element to the next, as places
 * that are found each for itself take registers. */
template <int S, class operands, class spots>
__device__ inline void tfr_fetch(const operands &o, const tfr_part &p, const spots &steps,
                                 const spots &columns, const tfr_spot &column,
                                 const tfr_share &of_a, const tfr_share &of_b, int k0, float *a,
                                 float *b)
{
    const int n_a = tfr_share_there<S>(o.a_by_k, of_a, p.end - k0);
    const int n_b = tfr_share_there<S>(o.b_by_k, of_b, p.end - k0), n0 = p.tile_n * S;
    int k = of_a.k, n = of_b.m;
    int at_a = (p.tile_m * S + of_a.m) * o.a_row, by_a = of_a.m_step * o.a_row, at_b = 0, by_b = 0;

    if constexpr (!operands::has_table) {
        at_a += (k0 + k) * o.a_column;
        by_a += of_a.k_step * o.a_column;
        at_b = (n0 + n) * o.b_column + (k0 + of_b.k) * o.b_row;
        by_b = of_b.m_step * o.b_column + of_b.k_step * o.b_row;
    }
    TFR_UNROLL
    for (int i = 0; i < tfr_shape<S>::loads; i++) {
        a[i] = 0;
        if (i < n_a) {
            if constexpr (operands::has_table)
                a[i] = o.a(at_a + steps[k].a);
            else
                a[i] = o.a(at_a);
        }
        k += of_a.k_step;
        at_a += by_a;
    }
    k = of_b.k;
    TFR_UNROLL
    for (int i = 0; i < tfr_shape<S>::loads; i++) {
        b[i] = 0;
        if constexpr (operands::has_columns)
            b[i] = o.b(columns[n], steps[k], i < n_b);
        else if constexpr (operands::has_table)
            b[i] = o.b(column, steps[k], i < n_b);
        else if (i < n_b)
            b[i] = o.b(at_b);
        k += of_b.k_step;
        n += of_b.m_step;
        at_b += by_b;
    }
}

/* Leaves what was loaded where all of the team can read it. */
template <int S, bool tf32, class floats>
__device__ inline void tfr_leave(const floats &to, const tfr_share &of, const float *from)
{
    typedef tfr_shape<S> shape;
    TFR_UNROLL
    for (int i = 0; i < shape::loads; i++)
        to[(of.k + i * of.k_step) * shape::pitch + of.m + i * of.m_step] =
            tf32 ? tfr_round_tf32(from[i]) : from[i];
}

/* Adds the products of a chunk, of which `left` are there. */
template <int S, class floats>
__device__ inline void tfr_add_products(const floats &as, const floats &bs, int ty, int tx,
                                        int left,
                                        float sums[tfr_shape<S>::rows][tfr_shape<S>::columns])
{
    typedef tfr_shape<S> shape;
    const int n = left < shape::k ? left : shape::k;
    /* not all at once, which takes more registers than there are */
    TFR_NO_UNROLL
    for (int k0 = 0; k0 < n; k0 += 4)
        TFR_UNROLL
    for (int k = k0; k < k0 + 4; k++) {
        float a[shape::rows], b[shape::columns];
        TFR_UNROLL
        for (int i = 0; i < shape::rows; i += 4) {
            const tfr_f4 four = tfr_get4(as, k * shape::pitch + ty + i);
            TFR_UNROLL
            for (int j = 0; j < 4; j++)
                a[i + j] = four.v[j];
        }
        if constexpr (shape::columns == 4) {
            const tfr_f4 four = tfr_get4(bs, k * shape::pitch + tx);
            TFR_UNROLL
            for (int j = 0; j < 4; j++)
                b[j] = four.v[j];
        } else {
            TFR_UNROLL
            for (int j = 0; j < shape::columns; j++)
                b[j] = bs[k * shape::pitch + tx + j];
        }
        TFR_UNROLL
        for (int i = 0; i < shape::rows; i++)
            TFR_UNROLL
        for (int j = 0; j < shape::columns; j++)
            sums[i][j] += a[i] * b[j];
    }
}

/* The same by the warp's own products: sums[4 * i + j] are those of 16 rows and 8 columns. */
template <class floats>
__device__ inline void tfr_add_products_tf32(const floats &as, const floats &bs, int lane,
                                             float sums[8][4])
{
    constexpr int pitch = tfr_shape<32>::pitch;
    const int high = lane % 4 * pitch + lane / 4, low = high + 4 * pitch;
    float b[4][2];

    TFR_UNROLL
    for (int j = 0; j < 4; j++) {
        b[j][0] = bs[high + 8 * j];
        b[j][1] = bs[low + 8 * j];
    }
    TFR_UNROLL
    for (int i = 0; i < 2; i++) {
        const float a[4] = {as[high + 16 * i], as[high + 16 * i + 8], as[low + 16 * i],
                            as[low + 16 * i + 8]};
        TFR_UNROLL
        for (int j = 0; j < 4; j++)
            tfr_multiply_tf32(a, b[j], sums[4 * i + j]);
    }
}

/* The sums of a tile's teams, each with its own in slots, added in the order of the teams. */
template <int S, class operands, class floats>
__device__ inline void tfr_put_teams(const operands &o, const tfr_part &p, int teams, int t,
                                     const floats &slots)
{
    typedef tfr_shape<S> shape;
    const int n = p.tile_n * S + t % S;

    if (!p.is_there || n >= o.N)
        return;
    const int out = o.out(n);
    TFR_NO_UNROLL
    for (int e = p.team * shape::team + t; e < S * S; e += teams * shape::team) {
        const int m = p.tile_m * S + e / S;
        if (m >= o.M)
            break;
        float sum = slots[e];
        for (int i = 1; i < teams; i++)
            sum += slots[i * shape::floats + e];
        o.put(out, m, n, sum);
    }
}

/* tf32: factors are rounded to TF32, and tensor cores multiply; for S = 32. */
template <int S, bool tf32 = false, class operands>
__device__ inline void tfr_tile(const operands &o, const tfr_part &p, const tfr_tiling &g)
{
    typedef tfr_shape<S> shape;
    TFR_SHARED(float, all, shape::teams *shape::floats);
    TFR_SHARED(tfr_spot, all_steps,
               operands::has_table ? shape::teams * shape::buffers * shape::k : 1);
    TFR_SHARED(tfr_spot, all_columns, operands::has_columns ? shape::teams * S : 1);
    const int t = (int)threadIdx.x % shape::team, team = (int)threadIdx.x / shape::team;
    const int tx = t % (S / shape::columns) * shape::columns;
    const int ty = t / (S / shape::columns) * shape::rows;
    const auto mine = all + team * shape::floats;
    const auto steps = all_steps + (operands::has_table ? team * shape::buffers * shape::k : 0);
    const auto columns = all_columns + (operands::has_columns ? team * S : 0);
    const int last = o.N - 1, own = p.tile_n * S + t % S;
    float sums[shape::rows][shape::columns] = {}, a[shape::loads], b[shape::loads];
    tfr_spot column = {};
    int now = 0;

    const tfr_share of_a = tfr_share_of<S>(o.a_by_k, t, o.M - p.tile_m * S);
    const tfr_share of_b = tfr_share_of<S>(o.b_by_k, t, o.N - p.tile_n * S);
    if constexpr (operands::has_table && !operands::has_columns)
        column = o.column(own < last ? own : last);
    if constexpr (operands::has_columns)
        if (t < S)
            columns[t] = o.column(own < last ? own : last);
    if constexpr (operands::has_table)
        if (t < shape::k)
            steps[t] = o.step(p.begin + t);
    tfr_sync_team<S>();
    if (p.begin < p.end)
        tfr_fetch<S>(o, p, steps, columns, column, of_a, of_b, p.begin, a, b);
    TFR_NO_UNROLL
    for (int k0 = p.begin; k0 < p.end; k0 += shape::k) {
        const auto as = mine + now * shape::tile, bs = as + shape::k * shape::pitch;
        const int next = k0 + shape::k;
        if constexpr (shape::buffers == 1)
            tfr_sync_team<S>(); /* the last chunk has been read */
        tfr_leave<S, tf32>(as, of_a, a);
        tfr_leave<S, tf32>(bs, of_b, b);
        now = shape::buffers - 1 - now;
        if constexpr (operands::has_table)
            if (t < shape::k)
                steps[now * shape::k + t] = o.step(next + t);
        tfr_sync_team<S>();
        if (next < p.end)
            tfr_fetch<S>(o, p, steps + now * shape::k, columns, column, of_a, of_b, next, a, b);
        if constexpr (tf32)
            tfr_add_products_tf32(as, bs, t, sums);
        else
            tfr_add_products<S>(as, bs, ty, tx, p.end - k0, sums);
    }
    if constexpr (shape::team == 32) {
        __syncwarp();
        TFR_UNROLL
        for (int i = 0; i < shape::rows; i++)
            TFR_UNROLL
        for (int j = 0; j < shape::columns; j++) {
            const int m = tf32 ? i / 4 * 16 + j / 2 * 8 + t / 4 : ty + i;
            const int n = tf32 ? i % 4 * 8 + t % 4 * 2 + j % 2 : tx + j;
            mine[m * S + n] = sums[i][j];
        }
        __syncthreads();
        tfr_put_teams<S>(o, p, 1 << g.teams_shift, t, mine + -p.team * shape::floats);
    } else if (p.is_there) {
        TFR_UNROLL
        for (int j = 0; j < shape::columns; j++) {
            const int at = p.tile_n * S + tx + j;
            if (at >= o.N)
                break;
            const int out = o.out(at);
            TFR_UNROLL
            for (int i = 0; i < shape::rows; i++)
                if (p.tile_m * S + ty + i < o.M)
                    o.put(out, p.tile_m * S + ty + i, at, sums[i][j]);
        }
    }
}

#endif
