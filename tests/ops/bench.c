/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.c: times the descriptions that name letters for it, as CSV. The first type is taken, the
 * result is checked against naive before anything is timed, and a run is one tfr_session_run with
 * plain inputs; operands but the first are constants, as weights are.
 */
#include "modes.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_WARM = 5, N_TIMED = 31 };

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void print_shapes(const ops_call *call)
{
    char text[256];
    for (uint32_t i = 0; i < call->n_inputs; i++) {
        if (!call->plain[i])
            continue;
        tfr_shape_format(tfr_tensor_shape(call->plain[i]), text, sizeof text);
        for (char *at = text; *at; at++)
            *at = *at == ',' ? 'x' : *at;
        printf("%s%s", i ? " " : "", text);
    }
}

static bool correct(ops_run *run, const ops_call *call, ops_timing *timing)
{
    tfr_tensor *expected[OPS_MAX_OUTPUTS] = {NULL};
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    char why[512];
    if (ops_run_call(run, "naive:0", call, OPS_PLAIN, expected, &status, &err) != OPS_RAN) {
        printf("# %s: naive: %s\n", call->description->name, err.text);
        return false;
    }
    bool good = ops_time_call(run, call, N_WARM, N_TIMED, timing, &err);
    if (!good)
        printf("# %s: %s\n", call->description->name, err.text);
    for (uint32_t i = 0; i < call->n_outputs && good; i++) {
        good = ops_compare(call->description->tolerance, expected[i], timing->outputs[i], why,
                           sizeof why);
        if (!good) {
            printf("# FAILED %s: %s\n", call->description->name, why);
            run->n_failed++;
        }
    }
    ops_release_outputs(expected, call->n_outputs);
    ops_release_outputs(timing->outputs, call->n_outputs);
    return good;
}

void ops_mode_bench(ops_run *run)
{
    const ops_case *description;
    printf("op,shape,dtype,backend,median_us,p10_us,p90_us\n");
    for (uint32_t cursor = 0; (description = ops_next_case(&cursor)) != NULL;) {
        double times[N_TIMED];
        ops_timing timing = {.now = now_us, .times = times};
        ops_call call;
        char type[16];
        if (!description->bench || !ops_wanted(run, description))
            continue;
        /* A seed that sprinkles no special values. */
        ops_make(description, 3, 0, description->bench, &call);
        if (correct(run, &call, &timing)) {
            qsort(times, N_TIMED, sizeof times[0], by_size);
            ops_type_name(description, 0, type, sizeof type);
            printf("%s,", description->name);
            print_shapes(&call);
            printf(",%s,%s,%.1f,%.1f,%.1f\n", type, run->backend, times[N_TIMED / 2],
                   times[N_TIMED / 10], times[N_TIMED * 9 / 10]);
        }
        ops_call_finish(&call);
    }
}
