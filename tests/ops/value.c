/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value.c: the value mode. Every description gives n_seeds calls; on each, a backend must agree
 * with naive, and naive with itself: on plain inputs, views, constants, a second time, and badly
 * aligned.
 */
#include "modes.h"

static void complain(const ops_run *run, const ops_call *call, const char *how, const char *text,
                     bool expected)
{
    printf("%s %s:%llu on %s, %s: %s\n", expected ? "expected failure" : "FAILED",
           call->description->name, (unsigned long long)call->seed, run->backend, how, text);
    if (!expected)
        ops_print_call(stdout, call);
}

/* One call in all ways. Sets *ran if the backend took it in one of them; returns true if none went
 * wrong. */
static bool check_call(ops_run *run, const ops_call *call, bool quiet, bool *ran)
{
    tfr_tensor *expected[OPS_MAX_OUTPUTS] = {NULL};
    tfr_err err = TFR_ERR_INIT;
    tfr_status status;
    ops_outcome result = {0};
    bool good = true, plain_ran = false;
    ops_verdict verdict = ops_run_call(run, "naive:0", call, OPS_PLAIN, expected, &status, &err);
    *ran = false;
    /* What even the reference has only with a library. */
    if (verdict == OPS_DECLINED && ops_list_find(OPS_DEPENDS, call->description->name, 0))
        return true;
    if (verdict != OPS_RAN) {
        snprintf(result.text, sizeof result.text, "%s: %s", tfr_status_name(status), err.text);
        complain(run, call, "the reference on plain inputs", result.text, quiet);
        return false;
    }
    for (ops_how how = OPS_PLAIN; how <= OPS_UNALIGNED && good; how++) {
        if ((how == OPS_CONSTANTS && !ops_has_constants(call)) ||
            (how == OPS_AGAIN && call->description->varies))
            continue;
        ops_try_call(run, call, how, expected, &result);
        if (how == OPS_PLAIN)
            plain_ran = result.verdict == OPS_RAN;
        *ran = *ran || result.verdict == OPS_RAN;
        /* The core makes inputs plain for a backend that wants that: views are no reason. */
        if ((how == OPS_VIEWS || how == OPS_UNALIGNED) && plain_ran &&
            result.verdict == OPS_DECLINED)
            result.good = false;
        if (!result.good)
            complain(run, call, ops_how_names[how], result.text, quiet);
        good = result.good;
    }
    if (run->verbose)
        printf("%s:%llu %s\n", call->description->name, (unsigned long long)call->seed,
               !good  ? "failed"
               : *ran ? "ok"
                      : result.text);
    ops_release_outputs(expected, call->n_outputs);
    return good;
}

/* The list must say what the backend does not do, and no more than that. */
static void check_list(ops_run *run, const ops_case *description, uint64_t n_ran, uint64_t n_wrong)
{
    const char *name = description->name;
    ops_known *unsupported = ops_list_find(OPS_UNSUPPORTED, name, 0);
    ops_known *xfail = ops_list_find(OPS_XFAIL, name, 0);
    bool depends = ops_list_find(OPS_DEPENDS, name, 0) != NULL;
    if (run->only)
        return;
    if (n_ran == 0 && !unsupported && !depends) {
        printf("FAILED %s: %s took none of its calls, and its list has no line about that\n", name,
               run->backend);
        run->n_failed++;
    }
    if (n_ran > 0 && unsupported) {
        printf("FAILED %s: %s takes it, and its list calls it unsupported\n", name, run->backend);
        run->n_failed++;
    }
    if (xfail && n_wrong == 0 && !depends) {
        printf("FAILED %s: it passes, and the list of %s expects it to fail\n", name, run->backend);
        run->n_failed++;
    }
}

static void check_description(ops_run *run, const ops_case *description)
{
    uint64_t n_ran = 0, n_wrong = 0;
    bool whole = ops_list_find(OPS_XFAIL, description->name, 0) != NULL;
    for (uint64_t s = 0; s < run->n_seeds; s++) {
        uint64_t seed = run->first_seed + s;
        ops_known *one = ops_list_find(OPS_XFAIL, description->name, seed);
        ops_call call;
        bool ran, good;
        ops_make(description, seed, -1, NULL, &call);
        good = check_call(run, &call, one || whole, &ran);
        ops_call_finish(&call);
        n_ran += ran;
        n_wrong += !good;
        if (good && one) {
            printf("FAILED %s:%llu passes, and the list expects it to fail\n", description->name,
                   (unsigned long long)seed);
            good = false;
        } else if (!good && (one || whole)) {
            continue;
        }
        if (!good)
            run->n_failed++;
        else if (ran)
            run->n_passed++;
        else
            run->n_declined++;
    }
    check_list(run, description, n_ran, n_wrong);
}

void ops_mode_value(ops_run *run)
{
    const ops_case *description;
    uint64_t n_unclaimed = 0;
    for (uint32_t cursor = 0; (description = ops_next_case(&cursor)) != NULL;) {
        if (!ops_wanted(run, description))
            continue;
        if (ops_claimed(run, description))
            check_description(run, description);
        else
            n_unclaimed++;
    }
    ops_list_check_names(run);
    printf("%s: %llu calls agree with %s, %llu were declined, %llu descriptions are of ops that it "
           "does not claim\n",
           run->backend, (unsigned long long)run->n_passed,
           run->is_reference ? "themselves" : "naive:0", (unsigned long long)run->n_declined,
           (unsigned long long)n_unclaimed);
}
