/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calibration.c: counts what values are in runs. Of each value there is a histogram over [-r, r],
 * r a power of two: where a number is beyond it, r is doubled and bins are added in pairs, which
 * loses nothing but their width. So one pass over the samples does, in any order, and all samples
 * need not be kept.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>
#include <tfrun/session.h>

#include "graph_copy.h"
#include "quantize/calibration.h"

/* Of which half are positive; 8 bits have 256 steps, so that even a range that the last doubling
 * has just begun has 4 bins a step. */
enum { N_BINS = 4096 };

/* What was seen of one value. */
typedef struct seen {
    double low, high, r; /* r = 0: nothing but zeros so far */
    uint64_t n, n_other; /* n_other: NaN and infinities */
    uint64_t *bins;      /* N_BINS of them, without zeros; NULL as long as r = 0 */
} seen;

struct tfr_calibration {
    tfr_graph *graph;
    tfr_session *session;
    seen *seen;      /* by value */
    uint32_t *watch; /* by output of the session's graph: the value of `graph` */
    uint32_t n_watched;
};

const tfr_graph *tfr__calibration_graph(const tfr_calibration *calibration)
{
    return calibration->graph;
}

/* ---- counting -------------------------------------------------------------------------------- */

/* Both halves shrink towards the middle. */
static void widen(seen *s)
{
    uint64_t *b = s->bins, more[N_BINS] = {0};
    for (uint32_t i = 0; i < N_BINS; i++)
        more[N_BINS / 4 + i / 2] += b[i];
    memcpy(b, more, sizeof more);
    s->r *= 2;
}

static tfr_status reach(seen *s, double greatest, tfr_err *err)
{
    if (greatest <= s->r || greatest == 0)
        return TFR_OK;
    if (!s->bins) {
        s->bins = calloc(N_BINS, sizeof *s->bins);
        if (!s->bins)
            return tfr_fail(err, TFR_ENOMEM, "out of memory for a histogram");
        s->r = ldexp(1, ilogb(greatest) + 1);
    }
    while (s->r < greatest)
        widen(s);
    return TFR_OK;
}

static tfr_status count(seen *s, const float *x, int64_t n, tfr_err *err)
{
    double low = s->low, high = s->high, per_unit;
    tfr_status status;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i])) {
            low = (double)x[i] < low ? (double)x[i] : low;
            high = (double)x[i] > high ? (double)x[i] : high;
        }
    status = reach(s, high > -low ? high : -low, err);
    if (status)
        return status;
    s->low = low;
    s->high = high;
    s->n += (uint64_t)n;
    per_unit = s->r > 0 ? N_BINS / 2 / s->r : 0;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) {
            s->n_other++;
        } else if (x[i] != 0) {
            const double at = floor((double)x[i] * per_unit) + N_BINS / 2;
            s->bins[at < N_BINS ? (uint32_t)at : N_BINS - 1]++;
        }
    }
    return TFR_OK;
}

static tfr_status count_tensor(seen *s, tfr_tensor *tensor, tfr_err *err)
{
    tfr_tensor *copy = NULL;
    const float *x;
    tfr_status status = TFR_OK;
    if (tfr_tensor_kind(tensor) != TFR_KIND_TENSOR || tfr_tensor_dtype(tensor) != TFR_DTYPE_F32 ||
        !tfr_tensor_elements(tensor))
        return TFR_OK;
    if (!tfr_tensor_is_plain(tensor))
        status = tfr_tensor_copy(tensor, &copy, err);
    if (status)
        return status;
    x = tfr_tensor_data(copy ? copy : tensor);
    status = x ? count(s, x, tfr_tensor_elements(tensor), err)
               : tfr_fail(err, TFR_ENOMEM, "out of memory for values of a sample");
    tfr_tensor_release(copy);
    return status;
}

/* ---- a graph whose float32 values are outputs ------------------------------------------------ */

static bool is_watched(const tfr_graph *graph, const tfr_graph_types *types, tfr_value v)
{
    tfr_value_type type = {.size = sizeof type};
    tfr_value_view view = {.size = sizeof view};
    return !tfr_graph_value(graph, v, &view, NULL) && view.role == TFR_ROLE_NODE &&
           !tfr_graph_types_get(types, NULL, v, &type, NULL) && type.kind <= TFR_KIND_TENSOR &&
           type.dtype == TFR_DTYPE_F32;
}

static tfr_status watch_values(tfr_calibration *c, tfr__copy *copy, tfr_err *err)
{
    tfr_graph_types *types = NULL;
    tfr_status status = tfr_graph_infer(c->graph, &types, err);
    for (uint32_t v = 0; !status && v < tfr_graph_n_values(c->graph); v++) {
        if (copy->map[v] == TFR_VALUE_NONE || !is_watched(c->graph, types, (tfr_value)v))
            continue;
        status = tfr_graph_add_output(copy->to, copy->map[v], NULL, err);
        c->watch[c->n_watched++] = v;
    }
    tfr_graph_types_release(types);
    return status;
}

static tfr_status make_session(tfr_calibration *c, tfr_runtime *runtime, const char *device,
                               tfr_err *err)
{
    tfr__copy copy = {.from = c->graph};
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_graph *graph = NULL;
    tfr_status status = tfr__copy_begin(&copy, err);
    options.device = device;
    if (!status)
        status = tfr__copy_nodes(&copy, err);
    if (!status)
        status = watch_values(c, &copy, err);
    tfr__copy_finish(&copy, status ? NULL : &graph);
    if (!status)
        status = tfr_session_create(runtime, graph, &options, &c->session, err);
    tfr_graph_release(graph);
    return status;
}

tfr_status tfr_calibration_create(tfr_runtime *runtime, tfr_graph *graph, const char *device,
                                  tfr_calibration **out, tfr_err *err)
{
    const size_t n = tfr_graph_n_values(graph);
    tfr_calibration *c = calloc(1, sizeof *c);
    tfr_status status;
    if (!c)
        return tfr_fail(err, TFR_ENOMEM, "out of memory for a calibration");
    c->graph = tfr_graph_retain(graph);
    c->seen = calloc(n + 1, sizeof *c->seen);
    c->watch = calloc(n + 1, sizeof *c->watch);
    status = c->seen && c->watch
                 ? make_session(c, runtime, device, err)
                 : tfr_fail(err, TFR_ENOMEM, "out of memory for ranges of %zu values", n);
    if (status)
        tfr_calibration_destroy(c);
    else
        *out = c;
    return status;
}

void tfr_calibration_destroy(tfr_calibration *c)
{
    if (!c)
        return;
    for (uint32_t v = 0; c->seen && v < tfr_graph_n_values(c->graph); v++)
        free(c->seen[v].bins);
    free(c->seen);
    free(c->watch);
    tfr_session_destroy(c->session);
    tfr_graph_release(c->graph);
    free(c);
}

tfr_status tfr_calibration_add(tfr_calibration *c, tfr_tensor *const *inputs, uint32_t n_inputs,
                               tfr_err *err)
{
    tfr_tensor **outputs = calloc((size_t)c->n_watched + 1, sizeof *outputs);
    tfr_status status =
        outputs ? tfr_session_run(c->session, inputs, n_inputs, outputs, c->n_watched, err)
                : tfr_fail(err, TFR_ENOMEM, "out of memory for %u values", c->n_watched);
    for (uint32_t i = 0; !status && i < n_inputs; i++)
        status = count_tensor(&c->seen[tfr_graph_input(c->graph, i)], inputs[i], err);
    for (uint32_t i = 0; outputs && i < c->n_watched; i++) {
        if (!status && outputs[i])
            status = count_tensor(&c->seen[c->watch[i]], outputs[i], err);
        tfr_tensor_release(outputs[i]);
    }
    free(outputs);
    return status;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* The error of 256 steps over [low, high]: steps are off by a twelfth of their square on average,
 * and numbers beyond by what is cut off. */
static double error_of(const seen *s, double low, double high)
{
    const double width = s->r / (N_BINS / 2), step = (high - low) / 255;
    double sum = 0;
    for (uint32_t i = 0; i < N_BINS; i++) {
        const double x = -s->r + (i + 0.5) * width;
        const double beyond = x < low ? low - x : x > high ? x - high : 0;
        if (s->bins[i])
            sum += (double)s->bins[i] * (beyond > 0 ? beyond * beyond : step * step / 12);
    }
    return sum;
}

/* Shrinks one end, then the other, and both again: the error is nearly convex in each. */
static void shrink(const seen *s, double *low, double *high)
{
    double best = error_of(s, *low, *high);
    for (int round = 0; round < 4; round++) {
        double *end = round % 2 ? low : high;
        const double whole = *end;
        for (int percent = 99; whole != 0 && percent >= 5; percent--) {
            const double tried = whole * percent / 100;
            const double error = end == low ? error_of(s, tried, *high) : error_of(s, *low, tried);
            if (error < best) {
                best = error;
                *end = tried;
            }
        }
    }
}

tfr_status tfr_calibration_range(const tfr_calibration *c, tfr_value value, tfr_range_method method,
                                 double *low, double *high, tfr_err *err)
{
    const seen *s;
    if (value < 0 || (uint32_t)value >= tfr_graph_n_values(c->graph))
        return tfr_fail(err, TFR_EINVAL, "there is no value %d", (int)value);
    s = &c->seen[value];
    if (!s->n)
        return tfr_fail(err, TFR_ENOTFOUND, "no element of \"%s\" was seen",
                        tfr_graph_value_name(c->graph, value));
    if (s->n_other)
        return tfr_fail(err, TFR_ENOTFOUND, "\"%s\" has %llu of %llu elements that are not finite",
                        tfr_graph_value_name(c->graph, value), (unsigned long long)s->n_other,
                        (unsigned long long)s->n);
    *low = s->low;
    *high = s->high;
    if (method == TFR_RANGE_MSE && s->bins)
        shrink(s, low, high);
    return TFR_OK;
}
