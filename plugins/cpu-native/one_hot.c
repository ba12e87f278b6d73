/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one_hot.c: OneHot and EyeLike, which write one value everywhere and another one in few places,
 * and Range. Threads share the outer dims of OneHot; the others are small in all models.
 */
#include "move.h"

#include <string.h>

enum { PART_BYTES = 32 * 1024 /* that a thread writes at once, at least */ };

typedef enum place_kind { ONE_HOT, EYE, RANGE } place_kind;

typedef struct state {
    place_kind kind;
    int32_t dtype, index_dtype;
    int64_t outer, n, inner; /* EYE: rows and columns, RANGE: n */
    int64_t diagonal;
    int width;
    const void *known[3];
    unsigned char one[8];
} state;

typedef struct work {
    const state *s;
    const void *indices;
    const char *values;
    char *to;
} work;

static int64_t read_index(const state *s, const void *from, int64_t i)
{
    return s->index_dtype == TFR_DTYPE_I64 ? ((const int64_t *)from)[i]
                                           : ((const int32_t *)from)[i];
}

/* n times the element at `from`, by doubling what is there. */
static void fill(char *to, const char *from, int width, int64_t n)
{
    const size_t all = (size_t)n * (size_t)width;
    size_t done = (size_t)width;

    if (!n)
        return;
    memcpy(to, from, (size_t)width);
    for (; done < all; done *= 2)
        memcpy(to + done, to, done < all - done ? done : all - done);
}

static void run_one_hot(void *user, int64_t begin, int64_t end)
{
    const work *w = user;
    const state *s = w->s;
    int64_t i;

    for (; begin < end; begin++) {
        char *to = w->to + begin * s->n * s->inner * s->width;
        fill(to, w->values, s->width, s->n * s->inner);
        for (i = 0; i < s->inner; i++) {
            int64_t hot = read_index(s, w->indices, begin * s->inner + i);
            hot += hot < 0 ? s->n : 0;
            if (hot >= 0 && hot < s->n)
                memcpy(to + (hot * s->inner + i) * s->width, w->values + s->width,
                       (size_t)s->width);
        }
    }
}

static void run_eye(const state *s, char *to)
{
    int64_t i;

    memset(to, 0, (size_t)(s->outer * s->n * s->width));
    if (s->diagonal >= s->n || s->diagonal <= -s->outer)
        return;
    for (i = s->diagonal < 0 ? -s->diagonal : 0; i < s->outer && i + s->diagonal < s->n; i++)
        memcpy(to + (i * s->n + i + s->diagonal) * s->width, s->one, (size_t)s->width);
}

enum { COUNT_BLOCK = 64 };

#define COUNT(type, wide)                                                                          \
    do {                                                                                           \
        const wide start = (wide) * (const type *)from, delta = (wide) * (const type *)step;       \
        type *y = to;                                                                              \
        int64_t i;                                                                                 \
        for (i = 0; i < s->n; i++)                                                                 \
            y[i] = (type)(start + (wide)i * delta);                                                \
    } while (0)

/* Integers wrap, and a sum is quicker than a product: a block is one number more than its steps. */
#define COUNT_BLOCKS(type)                                                                         \
    do {                                                                                           \
        const uint64_t delta = (uint64_t) * (const type *)step;                                    \
        uint64_t steps[COUNT_BLOCK], base = (uint64_t) * (const type *)from;                       \
        type *y = to;                                                                              \
        int64_t left = s->n, i;                                                                    \
        for (i = 0; i < COUNT_BLOCK; i++)                                                          \
            steps[i] = (uint64_t)i * delta;                                                        \
        for (; left >= COUNT_BLOCK; left -= COUNT_BLOCK, y += COUNT_BLOCK) {                       \
            for (i = 0; i < COUNT_BLOCK; i++)                                                      \
                y[i] = (type)(base + steps[i]);                                                    \
            base += COUNT_BLOCK * delta;                                                           \
        }                                                                                          \
        for (i = 0; i < left; i++)                                                                 \
            y[i] = (type)(base + steps[i]);                                                        \
    } while (0)

static void run_range(const state *s, const void *from, const void *step, void *to)
{
    if (s->dtype == TFR_DTYPE_F32)
        COUNT(float, double);
    else if (s->dtype == TFR_DTYPE_F64)
        COUNT(double, double);
    else if (s->dtype == TFR_DTYPE_I32)
        COUNT_BLOCKS(int32_t);
    else
        COUNT_BLOCKS(int64_t);
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    const void *in[3];
    const int64_t block = s->n * s->inner * s->width;
    char *to = launch->args[launch->n_args - 1].address;
    work w = {.s = s, .to = to};
    uint32_t i;

    (void)err;
    for (i = 0; i < 3; i++)
        in[i] = i + 1 < launch->n_args && launch->args[i].address ? launch->args[i].address
                                                                  : s->known[i];
    if (s->kind == EYE) {
        run_eye(s, to);
    } else if (s->kind == RANGE) {
        run_range(s, in[0], in[2], to);
    } else {
        w.indices = in[0];
        w.values = in[2];
        if (s->outer * block <= PART_BYTES)
            run_one_hot(&w, 0, s->outer);
        else
            device->host->parallel_for(run_one_hot, &w, s->outer, PART_BYTES / block + 1);
    }
    return TFR_OK;
}

/* The bits of 1; false = a type that is left to naive. */
static bool find_one(int32_t dtype, unsigned char *one)
{
    const float f = 1;
    const double d = 1;
    const int64_t i = 1;
    const int32_t narrow = 1;

    if (dtype == TFR_DTYPE_F32)
        memcpy(one, &f, sizeof f);
    else if (dtype == TFR_DTYPE_F64)
        memcpy(one, &d, sizeof d);
    else if (dtype == TFR_DTYPE_I64)
        memcpy(one, &i, sizeof i);
    else if (dtype == TFR_DTYPE_I32)
        memcpy(one, &narrow, sizeof narrow);
    else if (dtype == TFR_DTYPE_BOOL || dtype == TFR_DTYPE_U8 || dtype == TFR_DTYPE_I8)
        *one = 1;
    else
        return false;
    return true;
}

void native_place_supports(const tfr_plugin_device *device, const tfr_call *call,
                           tfr_answer *answer)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    unsigned char one[8];

    (void)device;
    if (!native_has_type(call, answer))
        return;
    if (y->dtype == TFR_DTYPE_STRING || tfr_dtype_bits(y->dtype) % 8 != 0 ||
        (strcmp(call->name, "EyeLike") == 0 && !find_one(y->dtype, one)))
        tfr_decline(answer, TFR_REASON_DTYPE, "this type of elements is left to naive");
}

void native_place_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    state *s = native_set_function(b, run, NULL, sizeof *s, "place");
    int64_t axis = tfr_call_int(call, "axis", x->rank);
    uint32_t i;
    int d;

    if (!s)
        return;
    s->kind = strcmp(call->name, "OneHot") == 0    ? ONE_HOT
              : strcmp(call->name, "EyeLike") == 0 ? EYE
                                                   : RANGE;
    s->dtype = y->dtype;
    s->index_dtype = x->dtype;
    s->width = (int)(tfr_dtype_bits(y->dtype) / 8);
    s->diagonal = tfr_call_int(call, "k", 0);
    for (i = 0; i < call->n_inputs && i < 3; i++)
        s->known[i] = tfr_call_input(call, i)->data;
    s->outer = s->inner = 1;
    s->n = y->dims[y->rank - 1];
    if (s->kind == EYE) {
        s->outer = y->dims[0];
        (void)find_one(y->dtype, s->one);
    } else if (s->kind == ONE_HOT) {
        axis += axis < 0 ? y->rank : 0;
        s->n = y->dims[axis];
        for (d = 0; d < y->rank; d++)
            *(d < axis ? &s->outer : &s->inner) *= d == axis ? 1 : y->dims[d];
    }
}
