/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_direct_filter.cu: the gradient of the filter of a convolution of 3 x 3 with stride and
 * dilation 1 in float32.
 *
 * A block has some channels and some filters, and goes through chunks, rows of a sample each: x
 * with its padding and dY, 8 filters side by side, are in shared memory, and the next chunk is on
 * its way. A thread has the 9 taps of one channel in 8 filters, and slides along rows, of which
 * teams of threads have every n-th. Sums of teams are added in a fixed order; those of blocks that
 * divide the chunks among them are slabs, which matmul_add_f32 adds.
 */
#include "index.h"

namespace direct_filter
{

enum { FILTERS = 8 /* of a thread */, SIDE = 3, TAPS = SIDE * SIDE };

struct alignas(8) move {
    int from, to;
};

struct piece {
    int group, slab, channel, channels, filter, filters; /* the first one, and how many */
    int team, own, octet, mine; /* team >= teams: nothing to do; mine: which of the channels */
    int first, end;             /* chunks */
};

__device__ inline piece piece_of(const tfr_direct_filter &d)
{
    const int t = (int)threadIdx.x, block = (int)blockIdx.x;
    const int by_filters = tfr_divide(block, d.filter_tiles);
    const int by_channels = tfr_divide(by_filters, d.channel_tiles);
    piece p;

    p.filter = (block - by_filters * (int)d.filter_tiles.d) * d.block_filters;
    p.channel = (by_filters - by_channels * (int)d.channel_tiles.d) * d.block_channels;
    p.slab = tfr_divide(by_channels, d.groups_d);
    p.group = by_channels - p.slab * d.groups;
    p.filters = d.filters - p.filter < d.block_filters ? d.filters - p.filter : d.block_filters;
    p.channels =
        d.channels - p.channel < d.block_channels ? d.channels - p.channel : d.block_channels;
    p.team = tfr_divide(t, d.team);
    p.own = t - p.team * (int)d.team.d;
    p.octet = tfr_divide(p.own, d.channels_d);
    p.mine = p.own - p.octet * d.block_channels;
    p.first = p.slab * d.share;
    p.end = p.first + d.share < d.chunks ? p.first + d.share : d.chunks;
    return p;
}

/* Lists where a chunk's elements of a plane of x, and of one of dY, go, as if all were there. */
__device__ inline void list_moves(const tfr_direct_filter &d, TFR_ALIAS(move) list)
{
    const int of_x = (d.rows + SIDE - 1) * d.x[1], all = of_x + d.rows * d.y[1];

    for (int e = (int)threadIdx.x; e < all; e += (int)blockDim.x) {
        const bool is_x = e < of_x;
        const int at = is_x ? e : e - of_x, row = tfr_divide(at, is_x ? d.x_row : d.y_row);
        const int across = at - row * (is_x ? d.x[1] : d.y[1]);
        list[e] = {at, is_x ? row * d.x_pitch + across + d.pad[1]
                            : (row * d.y_pitch + across) * FILTERS};
    }
}

/* Copies the elements of a plane that a list has, moved by `by`; those outside of it are 0. */
template <class P>
__device__ inline void copy_plane(const P &to, TFR_PTR(const float) plane, int n, int by,
                                  TFR_ALIAS(const move) list, int moves)
{
    TFR_NO_UNROLL
    for (int e = (int)threadIdx.x % 32; e < moves; e += 32) {
        const move m = list[e];
        if ((unsigned)(m.from + by) < (unsigned)n)
            tfr_copy_async(to, m.to, plane, m.from + by);
        else
            to[m.to] = 0;
    }
}

/* A plane for a warp, and another one. */
__device__ inline void fetch(const tfr_direct_filter &d, const piece &p, int chunk,
                             TFR_PTR(const float) dy, TFR_PTR(const float) x, TFR_ALIAS(float) to,
                             TFR_ALIAS(const move) list)
{
    const int sample = tfr_divide(chunk, d.parts), row = (chunk - sample * (int)d.parts.d) * d.rows;
    const int number = sample * d.groups + p.group, x_plane = d.x[0] * d.x[1];
    const int y_plane = d.y[0] * d.y[1], of_x = (d.rows + SIDE - 1) * d.x[1];
    const int x_at = d.block_filters / FILTERS * d.y_floats;

    TFR_NO_UNROLL
    for (int i = (int)threadIdx.x / 32; i < p.channels + p.filters; i += (int)blockDim.x / 32) {
        const int f = i - p.channels;
        if (f < 0)
            copy_plane(to + x_at + i * d.x_floats,
                       x + (number * d.channels + p.channel + i) * x_plane, x_plane,
                       (row - d.pad[0]) * d.x[1], list, of_x);
        else
            copy_plane(to + f / FILTERS * d.y_floats + f % FILTERS,
                       dy + (number * d.filters + p.filter + f) * y_plane, y_plane, row * d.y[1],
                       list + of_x, d.rows * d.y[1]);
    }
}

/* Adds what a row of dY gives, three columns at a time: of the window a column goes each time. */
__device__ inline void add_row(TFR_ALIAS(const float) x, TFR_ALIAS(const float) dy, int x_pitch,
                               int y_pitch, float (&sums)[FILTERS][TAPS])
{
    float v[SIDE][SIDE];

    TFR_UNROLL
    for (int r = 0; r < SIDE; r++)
        TFR_UNROLL
    for (int c = 0; c < SIDE - 1; c++)
        v[r][c] = x[r * x_pitch + c];
    TFR_NO_UNROLL
    for (int q = 0; q < y_pitch; q += SIDE)
        TFR_UNROLL
    for (int s = 0; s < SIDE; s++) {
        TFR_UNROLL
        for (int r = 0; r < SIDE; r++)
            v[r][(s + 2) % SIDE] = x[r * x_pitch + q + s + 2];
        TFR_UNROLL
        for (int f = 0; f < FILTERS; f += 4) {
            const tfr_f4 four = tfr_get4(dy, (q + s) * FILTERS + f);
            TFR_UNROLL
            for (int k = 0; k < 4; k++)
                TFR_UNROLL
            for (int tap = 0; tap < TAPS; tap++)
                sums[f + k][tap] += four.v[k] * v[tap / SIDE][(s + tap) % SIDE];
        }
    }
}

/* Adds the sums of all teams to those of team 0, of 4 filters of each thread. */
__device__ inline void add_teams(const tfr_direct_filter &d, const piece &p, TFR_ALIAS(float) all,
                                 float (*sums)[TAPS])
{
    const int size = (int)d.team.d;

    TFR_NO_UNROLL
    for (int n = d.teams, half; n > 1; n = half) {
        half = (n + 1) / 2;
        const auto slot = all + (p.team < half ? p.team : p.team - half) * size + p.own;
        if (p.team >= half && p.team < n)
            TFR_UNROLL
        for (int k = 0; k < 4 * TAPS; k++)
            slot[k * half * size] = sums[k / TAPS][k % TAPS];
        __syncthreads();
        if (p.team < n - half)
            TFR_UNROLL
        for (int k = 0; k < 4 * TAPS; k++)
            sums[k / TAPS][k % TAPS] += slot[k * half * size];
        __syncthreads();
    }
}

__device__ inline void run(TFR_PTR(const float) dy, TFR_PTR(const float) x, TFR_PTR(float) slabs,
                           const tfr_direct_filter &d)
{
    TFR_SHARED(float, all, TFR_DIRECT_FLOATS);
    TFR_SHARED(move, list, TFR_DIRECT_MOVES);
    const piece p = piece_of(d);
    const bool is_there = p.team < d.teams;
    const int x_at = d.block_filters / FILTERS * d.y_floats;
    const int size = (x_at + d.block_channels * d.x_floats + 3) / 4 * 4;
    float sums[FILTERS][TAPS] = {};

    list_moves(d, list);
    for (int e = (int)threadIdx.x; e < 2 * size; e += (int)blockDim.x)
        all[e] = 0;
    __syncthreads();
    if (p.first < p.end)
        fetch(d, p, p.first, dy, x, all + 0, list);
    TFR_NO_UNROLL
    for (int chunk = p.first, now = 0; chunk < p.end; chunk++, now = size - now) {
        tfr_wait_copies();
        __syncthreads();
        if (chunk + 1 < p.end)
            fetch(d, p, chunk + 1, dy, x, all + (size - now), list);
        TFR_NO_UNROLL
        for (int row = p.team; is_there && row < d.rows; row += d.teams)
            add_row(all + now + x_at + p.mine * d.x_floats + row * d.x_pitch,
                    all + now + p.octet * d.y_floats + row * d.y_pitch * FILTERS, d.x_pitch,
                    d.y_pitch, sums);
    }
    __syncthreads();
    TFR_UNROLL
    for (int from = 0; from < FILTERS; from += 4)
        add_teams(d, p, all, sums + from);
    if (p.team > 0 || p.mine >= p.channels)
        return;
    const int filter = p.octet * FILTERS;
    int at = (p.slab * d.groups + p.group) * d.filters + p.filter + filter;
    at = (at * d.channels + p.channel + p.mine) * TAPS;
    TFR_UNROLL
    for (int k = 0; k < FILTERS; k++)
        TFR_UNROLL
    for (int tap = 0; tap < TAPS; tap++)
        if (filter + k < p.filters)
            slabs[at + k * d.channels * TAPS + tap] = sums[k][tap];
}

} // namespace direct_filter

TFR_GLOBAL(conv_direct_filter_f32, TFR_MORE_REGISTERS(TFR_DIRECT_THREADS),
           (TFR_PTR(const float) dy, TFR_PTR(const float) x, TFR_PTR(float) slabs,
            tfr_direct_filter d))
{
    direct_filter::run(dy, x, slabs, d);
}
