/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_classes.c: Multinomial of float32 and float64, with the numbers of tfrun/plugin_random.h,
 * to the bit. The shares of a row's classes are added up once, as naive adds them for each sample,
 * and a sample is the first class whose sum is above its number.
 */
#include "random.h"

#include <math.h>

enum { PART = 256 /* exponentials, or samples, of a thread, at least */ };

typedef struct state {
    int64_t rows, classes, samples;
    native_seed seed;
    bool wide_in, wide_out; /* float64, int64 */
    const void *known;
} state;

typedef struct work {
    const state *s;
    tfr_random_state from;
    uint32_t subsequence;
    const void *x;
    double *sums; /* of a row: of its classes up to each, and the last class that has a share */
    void *y;
} work;

static double number_of(const work *w, int64_t i)
{
    return w->s->wide_in ? ((const double *)w->x)[i] : (double)((const float *)w->x)[i];
}

static void add_up(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const int64_t n = w->s->classes;
    int64_t c, last;

    for (; begin < end; begin++) {
        double *sums = w->sums + begin * (n + 1), greatest = -INFINITY, sum = 0;
        for (c = 0; c < n; c++)
            greatest = fmax(greatest, number_of(w, begin * n + c));
        for (c = 0, last = 0; c < n; c++) {
            const double share = exp(number_of(w, begin * n + c) - greatest);
            last = share > 0 ? c : last;
            sums[c] = sum += share;
        }
        sums[n] = (double)last;
    }
}

/* Word a = 2 (i % 2) and the next one of block i / 2. */
static double uniform(const work *w, int64_t i)
{
    uint32_t words[4];

    tfr_random_block(&w->from, w->subsequence, (uint64_t)i / 2, words);
    return (double)((uint64_t)words[i % 2 * 2] << 21 | words[i % 2 * 2 + 1] >> 11) * 0x1p-53;
}

/* Sums do not fall, or are NaN from one class on. */
static int64_t first_above(const double *sums, int64_t n, double target)
{
    int64_t low = 0, high = n;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (target < sums[middle] || sums[middle] != sums[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low < n && target < sums[low] ? low : (int64_t)sums[n];
}

static void pick(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const int64_t n = w->s->classes;

    for (; begin < end; begin++) {
        const double *sums = w->sums + begin / w->s->samples * (n + 1);
        const int64_t c = first_above(sums, n, uniform(w, begin) * sums[n - 1]);
        if (w->s->wide_out)
            ((int64_t *)w->y)[begin] = c;
        else
            ((int32_t *)w->y)[begin] = (int32_t)c;
    }
}

static void share(const tfr_plugin_device *device, tfr_range_fn fn, work *w, int64_t n,
                  int64_t each)
{
    if (n * each <= PART)
        fn(w, 0, n);
    else
        device->host->parallel_for(fn, w, n, PART / each + 1);
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.s = s, .sums = launch->workspace, .y = launch->args[1].address};

    (void)err;
    w.x = launch->args[0].address ? launch->args[0].address : s->known;
    w.from = native_start_random(&s->seed, launch, &w.subsequence);
    share(device, add_up, &w, s->rows, s->classes);
    share(device, pick, &w, s->rows * s->samples, 1);
    return TFR_OK;
}

void native_classes_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);

    (void)device;
    if (!native_has_type(call, answer))
        return;
    if (x->dims[1] == 0) {
        tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "no classes are left to naive");
        return;
    }
    answer->flags |= TFR_ANSWER_RANDOM;
    if (!tfr_call_attr(call, "seed"))
        answer->flags |= TFR_ANSWER_NONDETERMINISTIC;
    answer->workspace_bytes = (size_t)x->dims[0] * (size_t)(x->dims[1] + 1) * sizeof(double);
}

void native_classes_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    state *s = native_set_function(b, run, NULL, sizeof *s, "multinomial");

    if (!s)
        return;
    s->seed = native_read_seed(call);
    s->rows = x->dims[0];
    s->classes = x->dims[1];
    s->samples = tfr_call_output(call, 0)->dims[1];
    s->wide_in = x->dtype == TFR_DTYPE_F64;
    s->wide_out = tfr_call_output(call, 0)->dtype == TFR_DTYPE_I64;
    s->known = x->data;
}
