/* SPDX-License-Identifier: Apache-2.0 */
/*
 * features.c: Scaler and Normalizer, what plugins/naive/features.c says of them, row by row in
 * double and on all threads; Imputer and Binarizer, element by element, and FeatureVectorizer.
 */
#include "ml_features.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 256, ELEMENTS = 4096 /* of a thread, at least */ };

typedef struct state {
    int64_t rows, F;
    double *offset, *scale; /* F each; the Normalizer has none */
    char norm[3];
    int32_t dtype;
    const void *known_x;
} state;

typedef struct work {
    const state *state;
    const void *x;
    float *y;
} work;

static int64_t part(int64_t n)
{
    return n < CHUNK ? n : CHUNK;
}

static void scale_rows(void *user, int64_t row, int64_t end)
{
    const work *w = user;
    const state *s = w->state;
    double chunk[CHUNK];
    int64_t f, n, i;

    for (; row < end; row++) {
        for (f = 0; f < s->F; f += n) {
            n = part(s->F - f);
            native_read_doubles(s->dtype, w->x, row * s->F + f, n, chunk);
            for (i = 0; i < n; i++)
                w->y[row * s->F + f + i] = (float)((chunk[i] - s->offset[f + i]) * s->scale[f + i]);
        }
    }
}

static double add_norm(char first, char second, const double *x, int64_t n, double d)
{
    int64_t i;

    for (i = 0; i < n; i++) {
        double v = fabs(x[i]);
        if (first == 'M')
            d = v <= d ? d : v;
        else
            d += second == '1' ? v : v * v;
    }
    return d;
}

/* Rows that are read together where they are short. */
static void normalize_short_rows(const work *w, int64_t row, int64_t n, double *chunk)
{
    const state *s = w->state;
    const char first = s->norm[0], second = s->norm[1];
    float *y = w->y + row * s->F;
    int64_t f;

    native_read_doubles(s->dtype, w->x, row * s->F, n * s->F, chunk);
    for (; n > 0; n--, chunk += s->F, y += s->F) {
        double d = add_norm(first, second, chunk, s->F, 0);
        if (second == '2')
            d = sqrt(d);
        d = d == 0 ? 1 : d;
        for (f = 0; f < s->F; f++)
            y[f] = (float)(chunk[f] / d);
    }
}

static void normalize_rows(void *user, int64_t row, int64_t end)
{
    const work *w = user;
    const state *s = w->state;
    const int64_t together = CHUNK / s->F;
    double chunk[CHUNK];
    int64_t f, n, i;

    for (; together && row < end; row += n) {
        n = end - row < together ? end - row : together;
        normalize_short_rows(w, row, n, chunk);
    }
    for (; row < end; row++) {
        double d = 0;
        for (f = 0; f < s->F; f += n) {
            n = part(s->F - f);
            native_read_doubles(s->dtype, w->x, row * s->F + f, n, chunk);
            d = add_norm(s->norm[0], s->norm[1], chunk, n, d);
        }
        if (s->norm[1] == '2')
            d = sqrt(d);
        d = d == 0 ? 1 : d;
        for (f = 0; f < s->F; f += n) {
            n = part(s->F - f);
            native_read_doubles(s->dtype, w->x, row * s->F + f, n, chunk);
            for (i = 0; i < n; i++)
                w->y[row * s->F + f + i] = (float)(chunk[i] / d);
        }
    }
}

static int32_t run(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                   tfr_err *err)
{
    const state *s = user;
    work w = {s, native_argument(launch, 0, s->known_x), launch->args[1].address};
    tfr_range_fn rows = s->offset ? scale_rows : normalize_rows;

    (void)err;
    if (s->rows * s->F <= 2 * ELEMENTS)
        rows(&w, 0, s->rows);
    else
        device->host->parallel_for(rows, &w, s->rows, ELEMENTS / s->F + 1);
    return TFR_OK;
}

void native_features_supports(const tfr_plugin_device *device, const tfr_call *call,
                              tfr_answer *answer)
{
    (void)device;
    if (native_numbers_supports(call, answer) && tfr_call_input(call, 0)->rank == 0)
        tfr_decline(answer, TFR_REASON_RANK, "numbers without a dim of features are not done");
}

static void fill(double *to, int64_t F, const tfr_call *call, const char *name, double absent)
{
    const float *values = native_attr_floats(call, name);
    int64_t n = native_attr_length(call, name), f;

    for (f = 0; f < F; f++)
        to[f] = values ? (double)values[f % n] : absent;
}

void native_features_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    state *s = native_set_function(b, run, NULL, sizeof *s, "features");

    if (!s)
        return;
    s->F = native_features(x);
    s->rows = tfr_operand_elements(x) / s->F;
    s->dtype = x->dtype;
    s->known_x = x->data;
    if (strcmp(call->name, "Normalizer") == 0) {
        memcpy(s->norm, tfr_call_string(call, "norm", "MAX"), 2);
        return;
    }
    s->offset = native_add_block(b, (size_t)s->F * 2 * sizeof *s->offset);
    if (!s->offset)
        return;
    s->scale = s->offset + s->F;
    fill(s->offset, s->F, call, "offset", 0);
    fill(s->scale, s->F, call, "scale", 1);
}

/* ---- Imputer ---- */

typedef struct imputer {
    int64_t n, n_values, old_int;
    const float *floats; /* the kernel's */
    const int64_t *ints;
    double old;
    int32_t dtype;
    const void *known_x;
} imputer;

typedef struct imputing {
    const imputer *s;
    const void *x;
    void *y;
} imputing;

static bool is_old(double v, double old)
{
    return v == old || (isnan(v) && isnan(old));
}

/* Element i gets value i, counted round and round. */
#define IMPUTE(type, values, is_replaced)                                                          \
    static void impute_##type(const imputing *w, int64_t i, int64_t end)                           \
    {                                                                                              \
        const imputer *s = w->s;                                                                   \
        const type *x = w->x;                                                                      \
        type *y = w->y;                                                                            \
        int64_t place = i % s->n_values;                                                           \
        for (; i < end; i++) {                                                                     \
            y[i] = (is_replaced) ? (type)s->values[place] : x[i];                                  \
            place = place + 1 == s->n_values ? 0 : place + 1;                                      \
        }                                                                                          \
    }
IMPUTE(float, floats, is_old((double)x[i], s->old))
IMPUTE(double, floats, is_old(x[i], s->old))
IMPUTE(int32_t, ints, x[i] == s->old_int)
IMPUTE(int64_t, ints, x[i] == s->old_int)

static void impute(void *user, int64_t begin, int64_t end)
{
    const imputing *w = user;

    if (w->s->dtype == TFR_DTYPE_F32)
        impute_float(w, begin, end);
    else if (w->s->dtype == TFR_DTYPE_F64)
        impute_double(w, begin, end);
    else if (w->s->dtype == TFR_DTYPE_I32)
        impute_int32_t(w, begin, end);
    else
        impute_int64_t(w, begin, end);
}

static int32_t run_imputer(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                           tfr_err *err)
{
    const imputer *s = user;
    imputing w = {s, native_argument(launch, 0, s->known_x), launch->args[1].address};

    (void)err;
    if (s->n <= 2 * ELEMENTS)
        impute(&w, 0, s->n);
    else
        device->host->parallel_for(impute, &w, s->n, ELEMENTS);
    return TFR_OK;
}

static const char *imputed_of(const tfr_call *call)
{
    const int32_t dtype = tfr_call_input(call, 0)->dtype;

    return dtype == TFR_DTYPE_I32 || dtype == TFR_DTYPE_I64 ? "imputed_value_int64s"
                                                            : "imputed_value_floats";
}

void native_imputer_supports(const tfr_plugin_device *device, const tfr_call *call,
                             tfr_answer *answer)
{
    (void)device;
    if (native_numbers_supports(call, answer) && native_attr_length(call, imputed_of(call)) == 0)
        tfr_decline(answer, TFR_REASON_ATTRIBUTE, "without imputed values it is not done");
}

void native_imputer_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const char *name = imputed_of(call);
    imputer *s = native_set_function(b, run_imputer, NULL, sizeof *s, "imputer");
    void *values;

    if (!s)
        return;
    s->n = tfr_operand_elements(x);
    s->dtype = x->dtype;
    s->known_x = x->data;
    s->old = (double)tfr_call_float(call, "replaced_value_float", 0);
    s->old_int = tfr_call_int(call, "replaced_value_int64", 0);
    s->n_values = native_attr_length(call, name);
    values = native_add_block(b, (size_t)s->n_values * sizeof(int64_t));
    if (!values)
        return;
    if (x->dtype == TFR_DTYPE_I32 || x->dtype == TFR_DTYPE_I64)
        s->ints =
            memcpy(values, native_attr_ints(call, name), (size_t)s->n_values * sizeof *s->ints);
    else
        s->floats =
            memcpy(values, native_attr_floats(call, name), (size_t)s->n_values * sizeof *s->floats);
}

/* ---- Binarizer ---- */

typedef struct binarizer {
    int64_t n;
    double threshold;
    int32_t dtype;
    const void *known_x;
} binarizer;

typedef struct binarizing {
    const binarizer *s;
    const void *x;
    void *y;
} binarizing;

#define BINARIZE(type)                                                                             \
    static void binarize_##type(const binarizing *w, int64_t i, int64_t end)                       \
    {                                                                                              \
        const type *x = w->x;                                                                      \
        type *y = w->y;                                                                            \
        for (; i < end; i++)                                                                       \
            y[i] = (double)x[i] > w->s->threshold;                                                 \
    }
BINARIZE(float)
BINARIZE(double)
BINARIZE(int32_t)
BINARIZE(int64_t)

static void binarize(void *user, int64_t begin, int64_t end)
{
    const binarizing *w = user;

    if (w->s->dtype == TFR_DTYPE_F32)
        binarize_float(w, begin, end);
    else if (w->s->dtype == TFR_DTYPE_F64)
        binarize_double(w, begin, end);
    else if (w->s->dtype == TFR_DTYPE_I32)
        binarize_int32_t(w, begin, end);
    else
        binarize_int64_t(w, begin, end);
}

static int32_t run_binarizer(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                             tfr_err *err)
{
    const binarizer *s = user;
    binarizing w = {s, native_argument(launch, 0, s->known_x), launch->args[1].address};

    (void)err;
    if (s->n <= 4 * ELEMENTS)
        binarize(&w, 0, s->n);
    else
        device->host->parallel_for(binarize, &w, s->n, 2 * ELEMENTS);
    return TFR_OK;
}

void native_binarizer_supports(const tfr_plugin_device *device, const tfr_call *call,
                               tfr_answer *answer)
{
    (void)device;
    native_numbers_supports(call, answer);
}

void native_binarizer_prepare(native_build *b, const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    binarizer *s = native_set_function(b, run_binarizer, NULL, sizeof *s, "binarizer");

    if (!s)
        return;
    s->n = tfr_operand_elements(x);
    s->dtype = x->dtype;
    s->threshold = (double)tfr_call_float(call, "threshold", 0);
    s->known_x = x->data;
}

/* ---- FeatureVectorizer ---- */

typedef struct vectorizer {
    int64_t rows, columns;
    uint32_t n;
    int32_t dtype;
    struct side {
        int64_t own, width; /* features that there are, and that are written */
        const void *known_x;
    } * sides;
} vectorizer;

/* n numbers as float32, and zeros up to width. */
static void put_features(int32_t dtype, const void *x, int64_t i, int64_t n, int64_t width,
                         float *to)
{
    double chunk[CHUNK];
    int64_t f, here, k;

    if (dtype == TFR_DTYPE_F32)
        memcpy(to, (const float *)x + i, (size_t)n * sizeof *to);
    for (f = 0; dtype != TFR_DTYPE_F32 && f < n; f += here) {
        here = part(n - f);
        native_read_doubles(dtype, x, i + f, here, chunk);
        for (k = 0; k < here; k++)
            to[f + k] = (float)chunk[k];
    }
    if (width > n)
        memset(to + n, 0, (size_t)(width - n) * sizeof *to);
}

static int32_t run_vectorizer(const tfr_plugin_device *device, void *user, const tfr_launch *launch,
                              tfr_err *err)
{
    const vectorizer *s = user;
    float *y = launch->args[s->n].address;
    int64_t row;
    uint32_t i;

    (void)device, (void)err;
    for (i = 0; i < s->n; i++) {
        const struct side *side = &s->sides[i];
        const void *x = native_argument(launch, (int)i, side->known_x);
        for (row = 0; row < s->rows; row++)
            put_features(s->dtype, x, row * side->own,
                         side->own < side->width ? side->own : side->width, side->width,
                         y + row * s->columns);
        y += side->width;
    }
    return TFR_OK;
}

void native_vectorizer_supports(const tfr_plugin_device *device, const tfr_call *call,
                                tfr_answer *answer)
{
    uint32_t i;

    (void)device;
    if (!native_numbers_supports(call, answer))
        return;
    for (i = 0; i < call->n_inputs; i++)
        if (tfr_operand_elements(tfr_call_input(call, i)) == 0)
            tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "input %u has 0 elements", (unsigned)i);
}

void native_vectorizer_prepare(native_build *b, const tfr_call *call)
{
    const int64_t *widths = native_attr_ints(call, "inputdimensions");
    vectorizer *s = native_set_function(b, run_vectorizer, NULL, sizeof *s, "vectorizer");
    uint32_t i;

    if (!s || !(s->sides = native_add_block(b, call->n_inputs * sizeof *s->sides)))
        return;
    s->n = call->n_inputs;
    s->dtype = tfr_call_input(call, 0)->dtype;
    s->rows = tfr_call_output(call, 0)->dims[0];
    s->columns = tfr_call_output(call, 0)->dims[1];
    for (i = 0; i < s->n; i++) {
        const tfr_operand *x = tfr_call_input(call, i);
        const int64_t own = native_features(x);
        s->sides[i] = (struct side){own, widths ? widths[i] : own, x->data};
    }
}
