/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scatter_fold.c: the reductions of ScatterElements and ScatterND for 32 and 64 bits. An element
 * is rounded after each update, as plugins/naive/scatter.c has it; sums of integers wrap, and of
 * max and min NaN is the result if it is on either side. What lies side by side is taken AT_ONCE
 * elements through arrays of known size, which compilers make vectors of.
 */
#include "scatter_fold.h"

#include <string.h>

enum { AT_ONCE = 8 };

#define FOLD(type, name, result)                                                                   \
    static void name##_##type(void *to, const void *from, const int64_t *places, int64_t n)        \
    {                                                                                              \
        const type *f = from;                                                                      \
        type *t = to, ours[AT_ONCE], theirs[AT_ONCE];                                              \
        int64_t i;                                                                                 \
        int k;                                                                                     \
        for (i = 0; places && i < n; i++) {                                                        \
            const type a = t[places[i]], b = f[i];                                                 \
            t[places[i]] = (result);                                                               \
        }                                                                                          \
        for (i = 0; !places && i + AT_ONCE <= n; i += AT_ONCE) {                                   \
            memcpy(ours, t + i, sizeof ours);                                                      \
            memcpy(theirs, f + i, sizeof theirs);                                                  \
            for (k = 0; k < AT_ONCE; k++) {                                                        \
                const type a = ours[k], b = theirs[k];                                             \
                ours[k] = (result);                                                                \
            }                                                                                      \
            memcpy(t + i, ours, sizeof ours);                                                      \
        }                                                                                          \
        for (; !places && i < n; i++) {                                                            \
            const type a = t[i], b = f[i];                                                         \
            t[i] = (result);                                                                       \
        }                                                                                          \
    }
#define FLOATS(type)                                                                               \
    FOLD(type, add, a + b)                                                                         \
    FOLD(type, mul, a *b)                                                                          \
    FOLD(type, max, a != a || a > b ? a : b)                                                       \
    FOLD(type, min, a != a || a < b ? a : b)
#define INTEGERS(type, unsigned_type)                                                              \
    FOLD(type, add, (type)((unsigned_type)a + (unsigned_type)b))                                   \
    FOLD(type, mul, (type)((unsigned_type)a * (unsigned_type)b))                                   \
    FOLD(type, max, a > b ? a : b)                                                                 \
    FOLD(type, min, a < b ? a : b)

FLOATS(float)
FLOATS(double)
INTEGERS(int32_t, uint32_t)
INTEGERS(int64_t, uint64_t)

native_scatter_fold native_scatter_fold_of(const tfr_call *call)
{
    static const char *const names[4] = {"add", "mul", "max", "min"};
    static const struct {
        int32_t dtype;
        native_scatter_fold folds[4];
    } rows[] = {
        {TFR_DTYPE_F32, {add_float, mul_float, max_float, min_float}},
        {TFR_DTYPE_F64, {add_double, mul_double, max_double, min_double}},
        {TFR_DTYPE_I32, {add_int32_t, mul_int32_t, max_int32_t, min_int32_t}},
        {TFR_DTYPE_I64, {add_int64_t, mul_int64_t, max_int64_t, min_int64_t}},
    };
    const char *given = tfr_call_string(call, "reduction", "none");
    size_t k, r;

    for (k = 0; k < 4; k++)
        for (r = 0; r < sizeof rows / sizeof rows[0]; r++)
            if (strcmp(given, names[k]) == 0 && rows[r].dtype == tfr_call_input(call, 0)->dtype)
                return rows[r].folds[k];
    return NULL;
}

bool native_scatter_folds(const tfr_call *call, tfr_answer *answer)
{
    if (strcmp(tfr_call_string(call, "reduction", "none"), "none") == 0 ||
        native_scatter_fold_of(call))
        return true;
    tfr_decline(answer, TFR_REASON_DTYPE,
                "reductions are done here for numbers of 32 and 64 bits, the others by naive");
    return false;
}
