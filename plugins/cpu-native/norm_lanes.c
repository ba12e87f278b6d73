/* SPDX-License-Identifier: Apache-2.0 */
/*
 * norm_lanes.c: LpNormalization, GlobalLpPool and Hardmax. Norms are sums in double, as naive has
 * them: of a row in eight parts, of lanes that lie beside each other together, so that neither
 * waits for its last addition. Eight of anything have a loop of their own, which compilers turn
 * into vectors.
 */
#include "norm_lanes.h"

#include "lanes.h"

#include <math.h>
#include <string.h>

enum { PART = 8 * 1024 /* elements of a thread, at least */ };

typedef enum lanes_kind { NORMALIZE, POOL, HARDMAX } lanes_kind;

typedef struct state {
    lanes_kind kind;
    native_lanes lanes;
    int64_t p;
    bool wide;
    const void *known;
} state;

typedef struct work {
    const state *s;
    const void *from;
    void *to;
} work;

#define EIGHT(count, body)                                                                         \
    for (i = 0; i + 8 <= (count); i += 8)                                                          \
        for (j = 0; j < 8; j++)                                                                    \
            body;                                                                                  \
    for (j = 0; i < (count); i++)                                                                  \
        body;

static double root(int64_t p, double sum)
{
    return p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, 1 / (double)p);
}

static double add_up(const double *sums)
{
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) +
           ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

/*
 * NORMS: of a row, and of `lanes` beside each other, each `step` elements from the next of its own.
 * DIVIDE is how an element x becomes a result, with a norm that is not 0 and its reciprocal.
 */
#define NORMS(name, type)                                                                          \
    static double norm_##name(const type *restrict x, int64_t n, int64_t p)                        \
    {                                                                                              \
        double sums[8] = {0};                                                                      \
        int64_t i;                                                                                 \
        int j;                                                                                     \
        if (p == 1) {                                                                              \
            EIGHT(n, sums[j] += fabs((double)x[i + j]))                                            \
        } else if (p == 2) {                                                                       \
            EIGHT(n, sums[j] += (double)x[i + j] * (double)x[i + j])                               \
        } else {                                                                                   \
            EIGHT(n, sums[j] += pow(fabs((double)x[i + j]), (double)p))                            \
        }                                                                                          \
        return root(p, add_up(sums));                                                              \
    }                                                                                              \
    static void norms_##name(const type *restrict x, int64_t n, int64_t step, int64_t lanes,       \
                             int64_t p, double *restrict sums)                                     \
    {                                                                                              \
        int64_t i, k;                                                                              \
        int j;                                                                                     \
        memset(sums, 0, (size_t)lanes * sizeof *sums);                                             \
        for (k = 0; k < n; k++, x += step) {                                                       \
            if (p == 1) {                                                                          \
                EIGHT(lanes, sums[i + j] += fabs((double)x[i + j]))                                \
            } else if (p == 2) {                                                                   \
                EIGHT(lanes, sums[i + j] += (double)x[i + j] * (double)x[i + j])                   \
            } else {                                                                               \
                EIGHT(lanes, sums[i + j] += pow(fabs((double)x[i + j]), (double)p))                \
            }                                                                                      \
        }                                                                                          \
        for (i = 0; i < lanes; i++)                                                                \
            sums[i] = root(p, sums[i]);                                                            \
    }
NORMS(f32, float)
NORMS(f64, double)

/* ---- normalization ---- */

/* Elements of float32 are multiplied: no reciprocal of one of their norms is beyond double. */
static void scale_f32(const float *restrict x, float *restrict y, int64_t n, double norm)
{
    const double by = norm == 0 ? 0 : 1 / norm;
    int64_t i;
    int j;

    EIGHT(n, y[i + j] = (float)((double)x[i + j] * by))
}

static void scale_f64(const double *restrict x, double *restrict y, int64_t n, double norm)
{
    const double by = norm == 0 ? INFINITY : norm;
    int64_t i;
    int j;

    EIGHT(n, y[i + j] = x[i + j] / by)
}

static void scale_lanes_f32(const float *restrict x, float *restrict y, int64_t lanes,
                            const double *restrict by)
{
    int64_t i;
    int j;

    EIGHT(lanes, y[i + j] = (float)((double)x[i + j] * by[i + j]))
}

static void scale_lanes_f64(const double *restrict x, double *restrict y, int64_t lanes,
                            const double *restrict by)
{
    int64_t i;
    int j;

    EIGHT(lanes, y[i + j] = x[i + j] / by[i + j])
}

static void normalize(const work *w, int64_t at, int64_t lanes)
{
    const state *s = w->s;
    double norms[NATIVE_LANE_GROUP];
    int64_t i;

    if (s->lanes.inner == 1 && s->wide) {
        const double *x = (const double *)w->from + at;
        scale_f64(x, (double *)w->to + at, s->lanes.n, norm_f64(x, s->lanes.n, s->p));
        return;
    }
    if (s->lanes.inner == 1) {
        const float *x = (const float *)w->from + at;
        scale_f32(x, (float *)w->to + at, s->lanes.n, norm_f32(x, s->lanes.n, s->p));
        return;
    }
    if (s->wide)
        norms_f64((const double *)w->from + at, s->lanes.n, s->lanes.inner, lanes, s->p, norms);
    else
        norms_f32((const float *)w->from + at, s->lanes.n, s->lanes.inner, lanes, s->p, norms);
    for (i = 0; i < lanes; i++)
        norms[i] = s->wide ? norms[i] == 0 ? INFINITY : norms[i] : norms[i] == 0 ? 0 : 1 / norms[i];
    for (i = 0; i < s->lanes.n; i++, at += s->lanes.inner)
        if (s->wide)
            scale_lanes_f64((const double *)w->from + at, (double *)w->to + at, lanes, norms);
        else
            scale_lanes_f32((const float *)w->from + at, (float *)w->to + at, lanes, norms);
}

/* ---- Hardmax ---- */

/*
 * The first greatest element, and the first NaN above all; elements beside each other as vectors
 * of 16 bytes, which any compiler knows.
 */
#define GREATEST(name, type, bits)                                                                 \
    typedef type four_##name __attribute__((vector_size(16)));                                     \
    typedef bits mask_##name __attribute__((vector_size(16)));                                     \
    static inline four_##name load_##name(const type *x)                                           \
    {                                                                                              \
        four_##name v;                                                                             \
        memcpy(&v, x, sizeof v);                                                                   \
        return v;                                                                                  \
    }                                                                                              \
    static inline four_##name larger_##name(four_##name a, four_##name b)                          \
    {                                                                                              \
        const mask_##name m = a > b;                                                               \
        return (four_##name)(((mask_##name)a & m) | ((mask_##name)b & ~m));                        \
    }                                                                                              \
    static int64_t greatest_##name(const type *x, int64_t n, int64_t step)                         \
    {                                                                                              \
        enum { LANES = 16 / sizeof(type) };                                                        \
        four_##name best[2];                                                                       \
        mask_##name wrong = {0};                                                                   \
        type max = x[0];                                                                           \
        bool any = false;                                                                          \
        int64_t i = 0;                                                                             \
        int j;                                                                                     \
        if (step == 1 && n >= 2 * LANES) {                                                         \
            best[0] = best[1] = load_##name(x);                                                    \
            for (; i + 2 * LANES <= n; i += 2 * LANES) {                                           \
                const four_##name a = load_##name(x + i), b = load_##name(x + i + LANES);          \
                best[0] = larger_##name(a, best[0]);                                               \
                best[1] = larger_##name(b, best[1]);                                               \
                wrong |= (a != a) | (b != b);                                                      \
            }                                                                                      \
            best[0] = larger_##name(best[0], best[1]);                                             \
            for (j = 0; j < LANES; j++) {                                                          \
                max = best[0][j] > max ? best[0][j] : max;                                         \
                any |= wrong[j] != 0;                                                              \
            }                                                                                      \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            max = x[i * step] > max ? x[i * step] : max;                                           \
            any |= x[i * step] != x[i * step];                                                     \
        }                                                                                          \
        for (i = 0; step == 1 && !any && i + LANES <= n; i += LANES) {                             \
            const mask_##name m = load_##name(x + i) == max;                                       \
            bits found = 0;                                                                        \
            for (j = 0; j < LANES; j++)                                                            \
                found |= m[j];                                                                     \
            if (found)                                                                             \
                break;                                                                             \
        }                                                                                          \
        for (; i < n - 1; i++)                                                                     \
            if (any ? x[i * step] != x[i * step] : x[i * step] == max)                             \
                break;                                                                             \
        return i;                                                                                  \
    }                                                                                              \
    static void hardmax_##name(const state *s, const type *x, type *y, int64_t lanes)              \
    {                                                                                              \
        int64_t i;                                                                                 \
        if (s->lanes.inner == 1)                                                                   \
            memset(y, 0, (size_t)s->lanes.n * sizeof *y);                                          \
        for (i = 0; i < s->lanes.n && s->lanes.inner > 1; i++)                                     \
            memset(y + i * s->lanes.inner, 0, (size_t)lanes * sizeof *y);                          \
        for (i = 0; i < lanes; i++)                                                                \
            y[greatest_##name(x + i, s->lanes.n, s->lanes.inner) * s->lanes.inner + i] = 1;        \
    }
GREATEST(f32, float, int32_t)
GREATEST(f64, double, int64_t)

/* ---- all of it ---- */

static void run_groups(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;

    for (; begin < end; begin++) {
        int64_t at;
        const int64_t lanes = native_lane_group(&s->lanes, begin, &at);
        if (s->kind == NORMALIZE)
            normalize(w, at, lanes);
        else if (s->kind == HARDMAX && s->wide)
            hardmax_f64(s, (const double *)w->from + at, (double *)w->to + at, lanes);
        else if (s->kind == HARDMAX)
            hardmax_f32(s, (const float *)w->from + at, (float *)w->to + at, lanes);
        else if (s->wide)
            ((double *)w->to)[begin] = norm_f64((const double *)w->from + at, s->lanes.n, s->p);
        else
            ((float *)w->to)[begin] =
                (float)norm_f32((const float *)w->from + at, s->lanes.n, s->p);
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {.s = s};

    (void)err;
    w.from = launch->args[0].address ? launch->args[0].address : s->known;
    w.to = launch->args[launch->n_args - 1].address;
    native_lanes_run(device, &s->lanes, PART, run_groups, &w);
    return TFR_OK;
}

void native_lanes_supports(const tfr_plugin_device *device, const tfr_call *call,
                           tfr_answer *answer)
{
    const tfr_operand *x = tfr_call_input(call, 0);

    (void)device;
    if (!native_has_type(call, answer))
        return;
    if (x->rank < 1)
        tfr_decline(answer, TFR_REASON_RANK, "a scalar is left to naive");
    else if (tfr_call_int(call, "p", 2) < 1)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "only a positive p is done here");
}

void native_lanes_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const int64_t axis = tfr_call_int(call, "axis", x->rank - 1);
    state *s = native_set_function(b, run, NULL, sizeof *s, "lanes");

    if (!s)
        return;
    s->kind = strcmp(call->name, "Hardmax") == 0        ? HARDMAX
              : strcmp(call->name, "GlobalLpPool") == 0 ? POOL
                                                        : NORMALIZE;
    s->lanes = native_lanes_along(x, s->kind == POOL ? 2 : axis);
    if (s->kind == POOL) { /* all spatial axes as one */
        s->lanes.n *= s->lanes.inner;
        s->lanes.inner = 1;
    }
    s->p = tfr_call_int(call, "p", 2);
    s->wide = x->dtype == TFR_DTYPE_F64;
    s->known = x->data;
}
