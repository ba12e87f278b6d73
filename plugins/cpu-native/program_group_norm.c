/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_group_norm.c: GroupNormalization, InstanceNormalization and RMSNormalization, whose
 * groups of elements lie one behind the other. The sums of a group are in double; what the float
 * that is subtracted lacks of the mean goes into the shift.
 */
#include "program_fold.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { NEAR = 2048 /* elements that stay near between two loops over them */ };

typedef struct group_norm {
    const native_isa *isa;
    native_ref from, scale, shift, to;
    int64_t groups;          /* of a sample */
    int64_t channels, plane; /* of a group: elements of a channel */
    double epsilon;
} group_norm;

static double sum_of(const native_isa *isa, native_fold_kind kind, const float *x, int64_t n)
{
    const native_fold_fn add = isa->folds->rows[kind][NATIVE_FOLD_F32];
    const native_fold_fn merge = isa->folds->rows[NATIVE_FOLD_SUM][NATIVE_FOLD_F64];
    const int64_t rows = n / NATIVE_FOLD_LANES, whole = rows * NATIVE_FOLD_LANES;
    double sums[NATIVE_FOLD_LANES] = {0.0};
    int64_t k;

    add(&(native_fold){
        .x = x, .rows = rows, .step = NATIVE_FOLD_LANES, .n = NATIVE_FOLD_LANES, .to = sums});
    add(&(native_fold){.x = x + whole, .rows = 1, .n = n - whole, .to = sums});
    for (k = NATIVE_FOLD_LANES / 2; k > 0; k /= 2)
        merge(&(native_fold){.x = sums + k, .rows = 1, .n = k, .to = sums});
    return sums[0];
}

/* The mean of squares of distances; where little is left of the mean square, one by one. */
static double variance_of(const native_isa *isa, const float *x, double mean, int64_t n)
{
    const double squares = sum_of(isa, NATIVE_FOLD_SQUARE, x, n) / (double)n;
    double variance = squares - mean * mean;
    int64_t k;

    if (variance < squares * 1e-8) {
        for (variance = 0.0, k = 0; k < n; k++)
            variance += ((double)x[k] - mean) * ((double)x[k] - mean);
        variance /= (double)n;
    }
    return variance;
}

/* What float32 holds with all digits, with room for a sum of two. */
static bool is_plain(double x)
{
    return x == 0.0 || (fabs(x) >= (double)FLT_MIN && fabs(x) <= (double)FLT_MAX / 2);
}

/* (x - mean) factor + shift, no x farther from the mean than `reach`: in float32 if that holds all
 * that is on the way. */
static void shift_plane(const native_isa *isa, const float *x, double mean, double reach,
                        double factor, double shift, float *to, int64_t n)
{
    const float near_mean = (float)mean;
    const double rest = shift + ((double)near_mean - mean) * factor;
    const native_act act = {.kind = NATIVE_ACT_LINEAR, .a = (float)factor, .b = (float)rest};
    int64_t at, part;

    if (!is_plain(factor) || !(fabs(rest) <= (double)FLT_MAX / 2) ||
        !(fmax(reach, reach * fabs(factor)) <= (double)FLT_MAX / 2)) {
        for (at = 0; at < n; at++)
            to[at] = (float)(((double)x[at] - mean) * factor + shift);
        return;
    }
    for (at = 0; at < n; at += part) {
        part = n - at < NEAR ? n - at : NEAR;
        isa->binary(NATIVE_SUB, x + at, 1, &near_mean, 0, to + at, part);
        isa->act(&act, to + at, to + at, part);
    }
}

/* Numbers count groups of all samples. */
static void run_groups(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const group_norm *g = params;
    const int64_t n = g->channels * g->plane;
    const float *scale = native_at(bases, &g->scale), *shift = native_at(bases, &g->shift);
    int64_t k;

    for (; begin < end; begin++) {
        const float *x = native_at(bases, &g->from) + begin * n;
        float *to = native_at(bases, &g->to) + begin * n;
        const int64_t first = begin % g->groups * g->channels;
        const double mean = sum_of(g->isa, NATIVE_FOLD_SUM, x, n) / (double)n;
        const double variance = variance_of(g->isa, x, mean, n);
        const double factor = 1.0 / sqrt(variance + g->epsilon);
        const double reach = sqrt(fmax(variance, 0.0) * (double)n);
        for (k = 0; k < g->channels; k++)
            shift_plane(g->isa, x + k * g->plane, mean, reach, factor * (double)scale[first + k],
                        (double)shift[first + k], to + k * g->plane, g->plane);
    }
}

/* Numbers count rows. */
static void run_rms(const void *params, const native_bases *bases, int64_t begin, int64_t end)
{
    const group_norm *g = params;
    const float *scale = native_at(bases, &g->scale);
    int64_t k;

    for (; begin < end; begin++) {
        const float *x = native_at(bases, &g->from) + begin * g->plane;
        float *to = native_at(bases, &g->to) + begin * g->plane;
        const double squares = sum_of(g->isa, NATIVE_FOLD_SQUARE, x, g->plane) / (double)g->plane;
        const double exactly = 1.0 / sqrt(squares + g->epsilon);
        const float factor = (float)exactly;
        if (is_plain(exactly)) {
            g->isa->binary(NATIVE_MUL, x, 1, &factor, 0, to, g->plane);
            g->isa->binary(NATIVE_MUL, to, 1, scale, 1, to, g->plane);
            continue;
        }
        for (k = 0; k < g->plane; k++)
            to[k] = (float)((double)x[k] * exactly * (double)scale[k]);
    }
}

static int first_axis(const tfr_call *call)
{
    const int64_t axis = tfr_call_int(call, "axis", -1);

    return (int)(axis < 0 ? axis + tfr_call_input(call, 0)->rank : axis);
}

void native_plan_group_norm(native_planner *p, const native_item *item)
{
    const native_value *x = &p->ir->values[item->inputs[0]];
    const tfr_operand *o = tfr_call_input(item->call, 0);
    const bool rms = strcmp(item->call->name, "RMSNormalization") == 0;
    const int64_t n = native_count(p, x);
    group_norm *g = native_keep(p, sizeof *g);

    if (!g)
        return;
    g->isa = p->isa;
    g->from = native_ref_of(p, item->inputs[0]);
    g->scale = native_ref_of(p, item->inputs[1]);
    g->to = native_ref_of(p, item->output);
    g->epsilon = (double)tfr_call_float(item->call, "epsilon", 1e-5f);
    if (rms) {
        g->plane = tfr_operand_span(o, first_axis(item->call), o->rank);
        native_add_run(p, run_rms, g, n / g->plane, (double)n * 0.4);
        return;
    }
    g->shift = native_ref_of(p, item->inputs[2]);
    g->groups = strcmp(item->call->name, "InstanceNormalization") == 0
                    ? o->dims[1]
                    : tfr_call_int(item->call, "num_groups", 1);
    g->channels = o->dims[1] / g->groups;
    g->plane = tfr_operand_span(o, 2, o->rank);
    native_add_run(p, run_groups, g, n / (g->channels * g->plane), (double)n * 0.5);
}

bool native_group_norm_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *scale = tfr_call_input(call, 1);
    const tfr_operand *shift = tfr_call_input(call, 2);
    int64_t groups;

    if (!scale || !shift || x->rank < 2 || tfr_operand_elements(x) == 0)
        return false;
    groups = strcmp(call->name, "InstanceNormalization") == 0 ? x->dims[1]
                                                              : tfr_call_int(call, "num_groups", 1);
    return groups > 0 && x->dims[1] % groups == 0 && scale->rank == 1 && shift->rank == 1 &&
           scale->dims[0] == x->dims[1] && shift->dims[0] == x->dims[1];
}

bool native_rms_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0), *scale = tfr_call_input(call, 1);
    const int axis = first_axis(call);
    int d;

    if (!scale || axis < 1 || axis >= x->rank || scale->rank != x->rank - axis ||
        tfr_operand_elements(x) == 0)
        return false;
    for (d = axis; d < x->rank; d++) {
        if (scale->dims[d - axis] != x->dims[d])
            return false;
    }
    return true;
}
