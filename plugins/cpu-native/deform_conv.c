/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deform_conv.c: DeformConv of float32 over two axes, what plugins/naive/deform_conv.c says of it.
 *
 * A block of positions at a time: where its taps lie is found once for all channels of an offset
 * group, in double as naive does; the channels become columns [channel, tap][position], and these a
 * product with the weights, which are packed once: transposed, so that no block packs them again.
 * A block is as long as its columns fit into the second cache. Threads take blocks as they come.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "bilinear.h"
#include "window.h"

enum { MOST = 96 /* positions of a block */, STEP = 24, CACHED = 384 * 1024 /* bytes */ };

typedef struct state {
    native_window window;
    int64_t N, C, M, groups, offset_groups, taps, height, width, out_width, places;
    int64_t block, K, outs; /* K, outs: of a group */
    native_gemm gemm;
    size_t packed_bytes, scratch_bytes; /* of a group, of a thread */
    int threads;
    char *packed; /* NULL = the weights come at launch */
    bool has_bias, has_mask;
    const void *known[5];
} state;

typedef struct work {
    const state *s;
    const float *x, *offset, *bias, *mask;
    float *y;
    const char *packed;
    char *scratch;
    atomic_int_fast64_t next;
} work;

/* Of one thread. */
typedef struct room {
    native_places places; /* of all taps of an offset group */
    float *columns, *tile;
    void *gemm;
} room;

static size_t rounded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static room room_at(const state *s, char *memory)
{
    const size_t places = (size_t)(s->taps * s->block);
    room r;

    r.places.at = (int32_t *)(void *)memory;
    memory += rounded(places * 2 * sizeof(int32_t));
    r.places.weight = (float *)(void *)memory;
    memory += rounded(places * 4 * sizeof(float));
    r.columns = (float *)(void *)memory;
    memory += rounded((size_t)(s->K * s->block) * sizeof(float));
    r.tile = (float *)(void *)memory;
    r.gemm = memory + rounded((size_t)(s->outs * s->block) * sizeof(float));
    return r;
}

static size_t room_bytes(const state *s)
{
    const size_t block = (size_t)s->block;

    return rounded(block * (size_t)s->taps * 2 * sizeof(int32_t)) +
           rounded(block * (size_t)s->taps * 4 * sizeof(float)) +
           rounded(block * (size_t)s->K * sizeof(float)) +
           rounded(block * (size_t)s->outs * sizeof(float)) + rounded(s->gemm.scratch_bytes);
}

/* ---- places ---- */

static void find_axis(double at, int64_t n, int64_t *index, double *weight)
{
    const double low = floor(at);

    index[0] = (int64_t)low;
    index[1] = index[0] + 1 < n ? index[0] + 1 : -1;
    weight[1] = at - low;
    weight[0] = 1 - weight[1];
}

static void find_place(const state *s, double y, double x, int32_t *at, float *weight)
{
    int64_t rows[2], columns[2], first;
    double down[2], across[2], pair[2];
    int a, b;

    at[0] = at[1] = 0;
    memset(weight, 0, 4 * sizeof *weight);
    if (!(y > -1 && y < (double)s->height && x > -1 && x < (double)s->width))
        return;
    find_axis(y, s->height, rows, down);
    find_axis(x, s->width, columns, across);
    if (s->width < 2) { /* element 1 of a pair is never counted */
        first = 0;
        pair[0] = columns[0] < 0 ? across[1] : across[0];
        pair[1] = 0;
    } else {
        native_pair(columns, across, s->width, &first, pair);
    }
    for (a = 0; a < 2; a++) {
        if (rows[a] < 0)
            continue;
        at[a] = (int32_t)(rows[a] * s->width + first);
        for (b = 0; b < 2; b++)
            weight[2 * a + b] = (float)(down[a] * pair[b]);
    }
}

/* Of offset group h, for n positions from `first` on. */
static void find_places(const work *w, int64_t image, int64_t h, int64_t first, int64_t n, room *r)
{
    const state *s = w->s;
    const native_window *window = &s->window;
    const float *offset = w->offset + (image * s->offset_groups + h) * s->taps * 2 * s->places;
    int64_t tap, i;

    for (tap = 0; tap < s->taps; tap++, offset += 2 * s->places) {
        const int64_t ky = tap / window->kernel[1] * window->dilation[0] - window->pad[0];
        const int64_t kx = tap % window->kernel[1] * window->dilation[1] - window->pad[1];
        int64_t oy = first / s->out_width, ox = first % s->out_width;
        for (i = 0; i < s->block; i++) {
            const int64_t at = tap * s->block + i, from = first + (i < n ? i : 0);
            find_place(s, (double)(oy * window->stride[0] + ky) + (double)offset[from],
                       (double)(ox * window->stride[1] + kx) + (double)offset[s->places + from],
                       r->places.at + 2 * at, r->places.weight + 4 * at);
            if (i < n && ++ox == s->out_width) {
                ox = 0;
                oy++;
            }
        }
    }
}

/* ---- columns and products ---- */

/* Eight at a time are vectors. */
static void scale(float *restrict x, const float *restrict by, int64_t n)
{
    int64_t i;
    int j;

    for (i = 0; i + 8 <= n; i += 8)
        for (j = 0; j < 8; j++)
            x[i + j] *= by[i + j];
    for (; i < n; i++)
        x[i] *= by[i];
}

static void fill_columns(const work *w, int64_t image, int64_t c, int64_t first, int64_t n,
                         const room *r, float *to)
{
    const state *s = w->s;
    const int64_t h = c / (s->C / s->offset_groups);
    const float *x = w->x + (image * s->C + c) * s->height * s->width;
    int64_t tap;

    for (tap = 0; tap < s->taps; tap++, to += s->block) {
        const native_places places = {r->places.at + 2 * tap * s->block,
                                      r->places.weight + 4 * tap * s->block};
        if (s->width < 2 || !native_sample(&places, x, to, (int)s->block))
            native_sample_exactly(&places, x, to, (int)s->block);
        if (w->mask) {
            const float *mask =
                w->mask + ((image * s->offset_groups + h) * s->taps + tap) * s->places + first;
            scale(to, mask, n);
        }
    }
}

static void multiply(const work *w, int64_t image, int64_t group, int64_t first, int64_t n,
                     const room *r)
{
    const state *s = w->s;
    float *to = w->y + (image * s->M + group * s->outs) * s->places + first;
    native_gemm_args args;
    int64_t m, i;

    memset(&args, 0, sizeof args);
    args.a = r->columns;
    args.b = w->packed + (size_t)group * s->packed_bytes;
    args.c = r->tile;
    args.column_bias = w->bias ? w->bias + group * s->outs : NULL;
    native_gemm_run(&s->gemm, &args, r->gemm, 0, s->gemm.n_tiles);
    for (m = 0; m < s->outs; m++, to += s->places)
        for (i = 0; i < n; i++)
            to[i] = r->tile[i * s->outs + m];
}

static void run_block(const work *w, int64_t image, int64_t first, room *r)
{
    const state *s = w->s;
    const int64_t n = s->places - first < s->block ? s->places - first : s->block;
    const int64_t inner = s->C / s->groups, together = s->C / s->offset_groups;
    int64_t found = -1, group, c;

    for (group = 0; group < s->groups; group++) {
        for (c = 0; c < inner; c++) {
            const int64_t channel = group * inner + c;
            if (channel / together != found) {
                found = channel / together;
                find_places(w, image, found, first, n, r);
            }
            fill_columns(w, image, channel, first, n, r, r->columns + c * s->taps * s->block);
        }
        multiply(w, image, group, first, n, r);
    }
}

static void run_share(void *user, int64_t begin, int64_t end)
{
    work *w = user;
    const state *s = w->s;
    const int64_t blocks = (s->places + s->block - 1) / s->block;
    int64_t i;

    for (; begin < end; begin++) {
        room r = room_at(s, w->scratch + (size_t)begin * s->scratch_bytes);
        while ((i = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed)) < s->N * blocks)
            run_block(w, i / blocks, i % blocks * s->block, &r);
    }
}

static void pack_weights(const state *s, const float *weights, char *to)
{
    int64_t g;

    for (g = 0; g < s->groups; g++)
        native_gemm_pack(&s->gemm, weights + g * s->outs * s->K, to + (size_t)g * s->packed_bytes);
}

static const float *operand(const state *s, const tfr_launch *launch, int i)
{
    return launch->args[i].address ? launch->args[i].address : s->known[i];
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    char *memory = launch->workspace;
    work w = {.s = s};

    (void)err;
    w.x = operand(s, launch, 0);
    w.offset = operand(s, launch, 2);
    w.bias = s->has_bias ? operand(s, launch, 3) : NULL;
    w.mask = s->has_mask ? operand(s, launch, 4) : NULL;
    w.y = launch->args[launch->n_args - 1].address;
    w.packed = s->packed;
    w.scratch = memory;
    if (!s->packed) {
        w.packed = memory;
        w.scratch = memory + (size_t)s->groups * s->packed_bytes;
        pack_weights(s, operand(s, launch, 1), memory);
    }
    atomic_init(&w.next, 0);
    if (s->threads > 1)
        device->host->parallel_for(run_share, &w, s->threads, 1);
    else
        run_share(&w, 0, 1);
    return TFR_OK;
}

/* ---- what it is ---- */

static void plan(state *s, const tfr_plugin_device *device)
{
    native_gemm_shape shape;

    memset(&shape, 0, sizeof shape);
    s->block = CACHED / (s->K * (int64_t)sizeof(float)) / STEP * STEP;
    s->block = s->block < STEP ? STEP : s->block > MOST ? MOST : s->block;
    shape.m = s->block;
    shape.n = shape.ldc = s->outs;
    shape.k = shape.ldb = s->K;
    shape.lda = s->block;
    shape.trans_a = shape.trans_b = shape.b_packed = true;
    shape.epilogue.alpha = 1;
    native_gemm_plan(&s->gemm, &device->gemm, &shape, 1);
    s->packed_bytes = rounded(s->gemm.packed_bytes);
    s->scratch_bytes = room_bytes(s);
    s->threads = device->threads;
    if (s->N * ((s->places + s->block - 1) / s->block) < s->threads)
        s->threads = (int)(s->N * ((s->places + s->block - 1) / s->block));
}

static bool read_call(state *s, const tfr_plugin_device *device, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *w = tfr_call_input(call, 1),
                      *y = tfr_call_output(call, 0);

    if (!native_window_read(&s->window, call, 2, w->dims + 2))
        return false;
    s->N = x->dims[0];
    s->C = x->dims[1];
    s->M = w->dims[0];
    s->groups = tfr_call_int(call, "group", 1);
    s->offset_groups = tfr_call_int(call, "offset_group", 1);
    s->taps = w->dims[2] * w->dims[3];
    s->height = x->dims[2];
    s->width = x->dims[3];
    s->out_width = y->dims[3];
    s->places = y->dims[2] * y->dims[3];
    s->K = s->C / s->groups * s->taps;
    s->outs = s->M / s->groups;
    plan(s, device);
    return true;
}

void native_deform_conv_supports(const tfr_plugin_device *device, const tfr_call *call,
                                 tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0), *w = tfr_call_input(call, 1);
    state s;

    memset(&s, 0, sizeof s);
    if (x->dtype != TFR_DTYPE_F32)
        tfr_decline(answer, TFR_REASON_DTYPE, "only float32 is done here");
    else if (x->rank != 4)
        tfr_decline(answer, TFR_REASON_RANK, "%d axes are left to naive, 2 are done", x->rank - 2);
    else if (!tfr_operand_elements(w))
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "weights without elements are left to naive");
    else if (!read_call(&s, device, call))
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "a window of this size is left to naive");
    else
        answer->workspace_bytes =
            (size_t)s.threads * s.scratch_bytes + (w->data ? 0 : (size_t)s.groups * s.packed_bytes);
}

void native_deform_conv_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *w = tfr_call_input(call, 1);
    state *s = native_set_function(b, run, NULL, sizeof *s, "deform_conv");
    uint32_t i;

    if (!s)
        return;
    read_call(s, b->device, call);
    for (i = 0; i < call->n_inputs && i < 5; i++)
        s->known[i] = tfr_call_input(call, i) ? tfr_call_input(call, i)->data : NULL;
    s->has_bias = call->n_inputs > 3 && tfr_call_input(call, 3);
    s->has_mask = call->n_inputs > 4 && tfr_call_input(call, 4);
    if (!w->data)
        return;
    s->packed = native_add_block(b, (size_t)s->groups * s->packed_bytes);
    if (s->packed)
        pack_weights(s, w->data, s->packed);
}
