/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dft.c: DFT and STFT of float32 and float64, what plugins/naive/dft.c says of them, in double and
 * by dft_fft.c instead of sums. Threads share the signals or frames.
 */
#include "dft.h"

#include <string.h>

enum { MAX_N = 1 << 22, PART = 2 * 1024 /* numbers that a thread transforms, at least */ };

typedef struct state {
    native_fft fft;
    bool wide, inverse, real;    /* real: the real inverse of one side */
    int64_t n, signals;          /* numbers of a transform; how many there are */
    int64_t inner, hop;          /* signals beside each other; STFT: hop > 0 */
    int64_t frames, length, out; /* STFT: of a signal; numbers that x has, and that y has */
    int parts;                   /* of a number of x */
    int window;                  /* the argument, or -1 */
    const void *known, *known_window;
} state;

typedef struct work {
    const state *s;
    const tfr_plugin_device *device;
    const void *x, *window;
    void *y;
    native_complex *scratch;
} work;

static double get(const state *s, const void *from, int64_t i)
{
    return s->wide ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

static void set(const state *s, void *to, int64_t i, double x)
{
    if (s->wide)
        ((double *)to)[i] = x;
    else
        ((float *)to)[i] = (float)x;
}

/* Zeros stand behind what there is. Backward is forward of conjugates. */
static void read_signal(const work *w, int64_t begin, int64_t step, int64_t length,
                        native_complex *to)
{
    const state *s = w->s;
    const double sign = s->inverse ? -1 : 1;
    const int64_t n = s->real ? s->n / 2 + 1 : s->n, m = length < n ? length : n;
    int64_t i;

    for (i = 0; i < m; i++) {
        const double weight = w->window ? get(s, w->window, i) : 1;
        to[i].re = weight * get(s, w->x, begin + i * step);
        to[i].im = s->parts == 2 ? sign * weight * get(s, w->x, begin + i * step + 1) : 0;
    }
    for (; i < s->n; i++)
        to[i] = (native_complex){0, 0};
    if (!s->real)
        return;
    to[0].im = 0;
    if (s->n % 2 == 0)
        to[s->n / 2].im = 0;
    for (i = s->n / 2 + 1; i < s->n; i++)
        to[i] = (native_complex){to[s->n - i].re, -to[s->n - i].im};
}

static void write_signal(const work *w, const native_complex *from, int64_t begin, int64_t step)
{
    const state *s = w->s;
    const double scale = s->inverse ? 1 / (double)s->n : 1, sign = s->inverse ? -1 : 1;
    int64_t i;

    for (i = 0; i < s->out; i++) {
        set(s, w->y, begin + i * step, from[i].re * scale);
        if (!s->real)
            set(s, w->y, begin + i * step + 1, from[i].im * scale * sign);
    }
}

static void run_signals(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    const tfr_host_pool *pool = w->device->pool;
    native_complex *x = w->scratch + (pool ? pool->lane() : 0) * 2 * s->fft.length;
    native_complex *y = x + s->fft.length;

    for (; begin < end; begin++) {
        if (s->hop > 0) {
            const int64_t first = begin % s->frames * s->hop;
            read_signal(w, (begin / s->frames * s->length + first) * s->parts, s->parts,
                        s->length - first, x);
            write_signal(w, native_fft_run(&s->fft, x, y), begin * s->out * 2, 2);
        } else {
            const int64_t outer = begin / s->inner, at = begin % s->inner;
            const int64_t parts = s->real ? 1 : 2;
            read_signal(w, (outer * s->length * s->inner + at) * s->parts, s->inner * s->parts,
                        s->length, x);
            write_signal(w, native_fft_run(&s->fft, x, y), (outer * s->out * s->inner + at) * parts,
                         s->inner * parts);
        }
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.s = s, .device = device, .scratch = launch->workspace};

    (void)err;
    w.x = launch->args[0].address ? launch->args[0].address : s->known;
    if (s->window > 0)
        w.window =
            launch->args[s->window].address ? launch->args[s->window].address : s->known_window;
    w.y = launch->args[launch->n_args - 1].address;
    if (!device->pool || s->signals * s->n <= PART)
        run_signals(&w, 0, s->signals);
    else
        device->host->parallel_for(run_signals, &w, s->signals, PART / s->n + 1);
    return TFR_OK;
}

/* The number that the core made an attribute of, or `other` where its input is absent. False: it
 * is in neither. */
static bool read_number(const tfr_call *call, const char *name, uint32_t input, int64_t other,
                        int64_t *out)
{
    const tfr_attr *a = tfr_call_attr(call, name);

    *out = other;
    if (a && a->n >= 1 && a->ints)
        *out = a->ints[0];
    else if (call->n_inputs > input && tfr_call_input(call, input))
        return false;
    return true;
}

static bool read_dft(const tfr_call *call, state *s)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const bool onesided = tfr_call_int(call, "onesided", 0) != 0;
    int64_t axis;
    int d;

    s->inverse = tfr_call_int(call, "inverse", 0) != 0;
    s->real = s->inverse && onesided;
    if (!read_number(call, "axis", 2, -2, &axis))
        return false;
    axis += axis < 0 ? x->rank : 0;
    if (axis < 0 || axis >= x->rank - 1)
        return false;
    s->length = x->dims[axis];
    s->out = y->dims[axis];
    s->inner = s->signals = 1;
    for (d = 0; d < x->rank - 1; d++) {
        s->inner *= d > axis ? x->dims[d] : 1;
        s->signals *= d != axis ? x->dims[d] : 1;
    }
    return read_number(call, "dft_length", 1, s->real ? 2 * (s->length - 1) : s->length, &s->n);
}

static bool read_stft(const tfr_call *call, state *s)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const tfr_operand *window = call->n_inputs > 2 ? tfr_call_input(call, 2) : NULL;
    const int64_t n_window = window ? tfr_operand_elements(window) : 0;

    s->length = x->dims[1];
    s->frames = y->dims[1];
    s->out = y->dims[2];
    s->signals = x->dims[0] * s->frames;
    s->window = window ? 2 : -1;
    s->known_window = window ? window->data : NULL;
    return read_number(call, "frame_step", 1, 0, &s->hop) && s->hop > 0 &&
           read_number(call, "frame_length", 3, window ? n_window : s->length, &s->n) &&
           (!window || n_window == s->n);
}

/* False: naive knows what to say of it. */
static bool read_call(const tfr_call *call, state *s)
{
    const tfr_operand *x = tfr_call_input(call, 0);

    s->wide = x->dtype == TFR_DTYPE_F64;
    s->parts = (int)x->dims[x->rank - 1];
    s->window = -1;
    s->known = x->data;
    if (!(strcmp(call->name, "DFT") == 0 ? read_dft : read_stft)(call, s))
        return false;
    return s->parts >= 1 && s->parts <= 2 && s->n >= 1 && s->n <= MAX_N && s->out <= s->n;
}

void native_dft_supports(const tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer)
{
    const int32_t dtype = tfr_call_input(call, 0)->dtype;
    state s = {0};

    if (dtype != TFR_DTYPE_F32 && dtype != TFR_DTYPE_F64)
        tfr_decline(answer, TFR_REASON_DTYPE, "only float32 and float64 are done here");
    else if (tfr_call_input(call, 0)->rank < 2 || !read_call(call, &s))
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "the length or the axis is left to naive");
    else
        answer->workspace_bytes =
            (uint64_t)native_fft_length(s.n) * 2 * sizeof(native_complex) * (uint64_t)device->lanes;
}

void native_dft_prepare(native_build *b, const tfr_call *call)
{
    state *s = native_set_function(b, run, NULL, sizeof *s, "dft");
    native_complex *tables, *scratch;

    if (!s || !read_call(call, s))
        return;
    tables = native_add_block(b, (size_t)native_fft_table(s->n) * sizeof *tables);
    scratch = native_add_block(b, (size_t)native_fft_length(s->n) * 2 * sizeof *scratch);
    if (tables && scratch)
        native_fft_plan(&s->fft, s->n, tables, scratch);
}
