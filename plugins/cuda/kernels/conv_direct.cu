/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_direct.cu: direct convolutions with stride and dilation 1 in float32, for Conv and for the
 * gradient of its input, which is one with mirrored taps.
 *
 * A block has some rows of some samples, and some filters. Its threads are teams, which divide the
 * channels among them; a team has a chunk of its channels in shared memory, planes with their
 * padding and weights, while the next chunk is on its way. A thread has 8 filters of W neighbours
 * in a row: a pixel that it loads meets all taps of a row, and a weight meets W pixels. At the end
 * sums of teams are added in a fixed order.
 */
#include "index.h"

namespace direct
{

enum { FILTERS = 8 /* of a thread */ };

/* A float of a plane or of weights of one channel: where it is from, where it goes. */
struct alignas(8) move {
    int from, to;
};

/* What a block has, and where the thread stands in it. */
struct piece {
    int group, sample, samples, row, rows, filter; /* the first one, and how many there are */
    int team, own;      /* the thread's number in its team; team >= teams: it has nothing to do */
    int octet, x, y;    /* of its filters; of its pixels in the planes read, and written */
    int across, left;   /* its first column, and how many it writes */
    int moves_x, moves; /* of a channel; all */
    int first, end;     /* channels of the team */
};

template <int KH, int KW, int W> __device__ inline piece piece_of(const tfr_direct &d)
{
    const int t = (int)threadIdx.x, block = (int)blockIdx.x;
    const int by_filters = tfr_divide(block, d.filter_tiles);
    const int by_rows = tfr_divide(by_filters, d.row_tiles);
    const int by_group = tfr_divide(by_rows, d.groups_d);
    piece p;

    p.filter = (block - by_filters * (int)d.filter_tiles.d) * d.block_filters;
    p.row = (by_filters - by_rows * (int)d.row_tiles.d) * d.rows;
    p.group = by_rows - by_group * d.groups;
    p.sample = by_group * d.samples;
    p.samples = d.batch - p.sample < d.samples ? d.batch - p.sample : d.samples;
    p.rows = d.y[0] - p.row < d.rows ? d.y[0] - p.row : d.rows;

    p.team = tfr_divide(t, d.team);
    p.own = t - p.team * (int)d.team.d;
    p.octet = tfr_divide(p.own, d.places);
    const int place = p.own - p.octet * (int)d.places.d;
    const int line = tfr_divide(place, d.segments), sample = tfr_divide(line, d.rows_d);
    const int row = line - sample * d.rows;
    p.across = (place - line * (int)d.segments.d) * W;
    p.x = (sample * (d.rows + KH - 1) + row) * d.pitch + p.across;
    p.y = (sample * d.rows + row) * d.y[1] + p.across;
    p.left = d.y[1] - p.across < W ? d.y[1] - p.across : W;
    p.first = p.team * d.share;
    p.end = p.first + d.share < d.channels ? p.first + d.share : d.channels;
    return p;
}

/* Lists the pixels and weights of a channel that are there; all others are 0. */
template <int KH, int KW>
__device__ inline void list_moves(const tfr_direct &d, piece *p, TFR_ALIAS(move) list)
{
    const int top = p->row - d.pad[0], low = top < 0 ? 0 : top;
    const int bottom = top + d.rows + KH - 1, high = bottom < d.x[0] ? bottom : d.x[0];
    const int rows = high > low ? high - low : 0, x_plane = d.x[0] * d.x[1];
    const int filters =
        d.filters - p->filter < d.block_filters ? d.filters - p->filter : d.block_filters;

    p->moves_x = p->samples * rows * d.x[1];
    p->moves = p->moves_x + filters * KH * KW;
    for (int e = (int)threadIdx.x; e < p->moves_x; e += (int)blockDim.x) {
        const int line = tfr_divide(e, d.x_row), across = e - line * d.x[1];
        const int sample = line / rows, row = line - sample * rows + low;
        list[e] = {sample * d.groups * d.channels * x_plane + row * d.x[1] + across,
                   (sample * (d.rows + KH - 1) + row - top) * d.pitch + across + d.pad[1]};
    }
    for (int e = p->moves_x + (int)threadIdx.x; e < p->moves; e += (int)blockDim.x) {
        const int filter = (e - p->moves_x) / (KH * KW), tap = e - p->moves_x - filter * KH * KW;
        list[e] = {(p->filter + filter) * d.w_filter + (d.is_mirrored ? KH * KW - 1 - tap : tap),
                   (filter / FILTERS * KH * KW + tap) * FILTERS + filter % FILTERS};
    }
}

/* Adds what a channel gives. */
template <int KH, int KW, int W>
__device__ inline void add_channel(TFR_ALIAS(const float) x, TFR_ALIAS(const float) w, int pitch,
                                   float (&sums)[FILTERS][W])
{
    TFR_UNROLL
    for (int r = 0; r < KH; r++) {
        float pixels[W + KW - 1];
        TFR_UNROLL
        for (int i = 0; i < W + KW - 1; i++)
            pixels[i] = x[r * pitch + i];
        TFR_UNROLL
        for (int c = 0; c < KW; c++)
            TFR_UNROLL
        for (int f = 0; f < FILTERS; f += 4) {
            const tfr_f4 four = tfr_get4(w, (r * KW + c) * FILTERS + f);
            TFR_UNROLL
            for (int k = 0; k < 4; k++)
                TFR_UNROLL
            for (int j = 0; j < W; j++)
                sums[f + k][j] += four.v[k] * pixels[c + j];
        }
    }
}

/* Adds the sums of all teams to those of team 0, of 4 filters of each thread. */
template <int W>
__device__ inline void add_teams(const tfr_direct &d, const piece &p, TFR_ALIAS(float) all,
                                 float (*sums)[W])
{
    const int size = (int)d.team.d;

    TFR_NO_UNROLL
    for (int n = d.teams / 2; n > 0; n /= 2) {
        const auto slot = all + (p.team < n ? p.team : p.team - n) * size + p.own;
        if (p.team >= n && p.team < 2 * n)
            TFR_UNROLL
        for (int k = 0; k < 4 * W; k++)
            slot[k * n * size] = sums[k / W][k % W];
        __syncthreads();
        if (p.team < n)
            TFR_UNROLL
        for (int k = 0; k < 4 * W; k++)
            sums[k / W][k % W] += slot[k * n * size];
        __syncthreads();
    }
}

/* Writes 4 filters of each octet, from number `from` of it on: by way of shared memory, so that
 * neighbours write one behind the other. */
template <int W>
__device__ inline void put(const tfr_direct &d, const piece &p, TFR_ALIAS(float) all, int from,
                           const float (*sums)[W], TFR_PTR(const float) bias, TFR_PTR(float) y)
{
    const int plane = (int)d.y_piece.d, n = d.block_filters / 2 * d.samples * plane;

    if (p.team == 0)
        TFR_UNROLL
    for (int k = 0; k < 4; k++)
        TFR_UNROLL
    for (int j = 0; j < W; j++)
        if (j < p.left)
            all[(p.octet * 4 + k) * d.samples * plane + p.y + j] = sums[k][j];
    __syncthreads();
    TFR_NO_UNROLL
    for (int e = (int)threadIdx.x; e < n; e += (int)blockDim.x) {
        const int down = tfr_divide(e, d.y_piece), at = e - down * plane;
        const int number = tfr_divide(down, d.samples_d), sample = down - number * d.samples;
        const int filter = p.filter + number / 4 * FILTERS + from + number % 4;
        if (at >= p.rows * d.y[1] || sample >= p.samples || filter >= d.filters)
            continue;
        const int plane_of = ((p.sample + sample) * d.groups + p.group) * d.filters + filter;
        float sum = all[e];
        if (bias)
            sum += bias[p.group * d.filters + filter];
        if (d.relu)
            sum = sum < 0 ? 0 : sum;
        y[plane_of * d.y[0] * d.y[1] + p.row * d.y[1] + at] = sum;
    }
    __syncthreads();
}

template <int KH, int KW, int W>
__device__ inline void run(TFR_PTR(const float) x, TFR_PTR(const float) w,
                           TFR_PTR(const float) bias, TFR_PTR(float) y, const tfr_direct &d)
{
    TFR_SHARED(float, all, TFR_DIRECT_FLOATS);
    TFR_SHARED(move, list, TFR_DIRECT_MOVES);
    piece p = piece_of<KH, KW, W>(d);
    const int of_w = d.block_filters * KH * KW, of_x = d.samples * (d.rows + KH - 1) * d.pitch;
    const int size = (d.teams * d.chunk * (of_w + of_x) + 3) / 4 * 4;
    const bool is_there = p.team < d.teams;
    const int my_w = is_there ? p.team * d.chunk * of_w : 0;
    const int my_x = is_there ? d.teams * d.chunk * of_w + p.team * d.chunk * of_x : 0;
    const int x_plane = d.x[0] * d.x[1];
    const auto from_x = x + (p.sample * d.groups + p.group) * d.channels * x_plane;
    const auto from_w = w + p.group * d.w_group;
    float sums[FILTERS][W] = {};

    list_moves<KH, KW>(d, &p, list);
    for (int e = (int)threadIdx.x; e < (d.chunk < d.share ? 2 : 1) * size; e += (int)blockDim.x)
        all[e] = 0;
    __syncthreads();
    const auto fetch = [&](int first, int to) {
        TFR_NO_UNROLL
        for (int c = first; is_there && c < first + d.chunk && c < p.end; c++) {
            const auto plane = from_x + c * x_plane, weights = from_w + c * d.w_channel;
            const auto to_x = all + to + my_x + (c - first) * of_x;
            const auto to_w = all + to + my_w + (c - first) * of_w;
            int e = p.own;
            TFR_NO_UNROLL
            for (; e < p.moves_x; e += (int)d.team.d) {
                const move m = list[e];
                tfr_copy_async(to_x, m.to, plane, m.from);
            }
            TFR_NO_UNROLL
            for (; e < p.moves; e += (int)d.team.d) {
                const move m = list[e];
                tfr_copy_async(to_w, m.to, weights, m.from);
            }
        }
    };
    fetch(p.first, 0);
    TFR_NO_UNROLL
    for (int done = 0, now = 0; done < d.share; done += d.chunk, now = size - now) {
        tfr_wait_copies();
        __syncthreads();
        if (done + d.chunk < d.share)
            fetch(p.first + done + d.chunk, size - now);
        TFR_NO_UNROLL
        for (int c = 0; is_there && c < d.chunk && p.first + done + c < p.end; c++)
            add_channel<KH, KW, W>(all + now + my_x + c * of_x + p.x,
                                   all + now + my_w + c * of_w + p.octet * KH * KW * FILTERS,
                                   d.pitch, sums);
    }
    __syncthreads();
    TFR_UNROLL
    for (int from = 0; from < FILTERS; from += 4) {
        add_teams<W>(d, p, all, sums + from);
        put<W>(d, p, all, from, sums + from, bias, y);
    }
}

} // namespace direct

#define DIRECT(W)                                                                                  \
    TFR_GLOBAL(conv_direct_##W##_f32, TFR_MORE_REGISTERS(TFR_DIRECT_THREADS),                      \
               (TFR_PTR(const float) x, TFR_PTR(const float) w, TFR_PTR(const float) bias,         \
                TFR_PTR(float) y, tfr_direct d))                                                   \
    {                                                                                              \
        direct::run<3, 3, W>(x, w, bias, y, d);                                                    \
    }
DIRECT(4)
DIRECT(5)
DIRECT(6)
DIRECT(7)
#undef DIRECT
