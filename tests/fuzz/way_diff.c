/* SPDX-License-Identifier: Apache-2.0 */
/*
 * way_diff.c: one model in sessions with different settings. On the reference no pass may change a
 * bit. Another backend's results may differ by what roundings explain, and a setting may not turn a
 * result into an error. Models are valid, so an error of the reference is a finding, too.
 */
#include <stdlib.h>
#include <string.h>

#include "certify/pattern.h"
#include "way.h"

enum { COMPARED, CLOSE, COVERED, VARIES };

static const fuzz_setting reference = {"naive, no passes", "naive:0", "none", 1};

static const fuzz_setting settings[] = {
    {"naive, all passes", "naive:0", "all", 0},
    {"default, all passes, programs", NULL, "all", 0},
    {"default, no passes, no programs", NULL, "none", 1},
    {"default, all passes, no programs", NULL, "all", 1},
    {"default, no passes, programs", NULL, "none", 0},
    /* Without a name native takes what both have. */
    {"onednn, no passes, no programs", "onednn:0", "none", 1},
};

static const char *const passes[] = {"fold",      "dead",       "cse",        "transpose",
                                     "conv_bn",   "matmul_add", "activation", "layer_norm",
                                     "attention", "decompose"};

static bool is_reference(const fuzz_setting *setting)
{
    return setting->device && strcmp(setting->device, "naive:0") == 0;
}

/* A build without oneDNN has no such device. */
static bool is_here(const fuzz_context *context, const fuzz_setting *setting)
{
    uint32_t device;
    int32_t backend;
    return !setting->device ||
           tfr_runtime_find(context->runtime, setting->device, &device, &backend, NULL) == TFR_OK;
}

static bool explain(fuzz_context *context, const fuzz_case *c, const fuzz_setting *setting,
                    tfr_tensor **expected, tfr_tensor **obtained, uint32_t i, const char *why)
{
    char kind[160], text[256] = "";
    fuzz_spread spread;
    bool covered = false;
    for (int round = 0; round < (context->sure ? 2 : 1) && !covered; round++) {
        if (!fuzz_spread_init(context, c, FUZZ_PEER_ONEDNN, round ? 96 : 10, &spread)) {
            fuzz_spread_finish(&spread);
            break;
        }
        covered = fuzz_spread_covers(&spread, i, expected[i], obtained[i], text, sizeof text);
        fuzz_spread_finish(&spread);
    }
    if (covered) {
        context->report->counts[COVERED]++;
        return true;
    }
    snprintf(kind, sizeof kind, "%s: values differ", setting->name);
    return fuzz_fail(context, kind, "output %u: %s%s%s", (unsigned)i, why, text[0] ? "; " : "",
                     text);
}

static bool compare(fuzz_context *context, const fuzz_case *c, const fuzz_setting *setting,
                    tfr_tensor **expected, tfr_tensor **obtained)
{
    char why[512], kind[160];
    for (uint32_t i = 0; i < c->n_outputs; i++) {
        if (is_reference(setting)) {
            if (fuzz_same_bits(expected[i], obtained[i], why, sizeof why))
                continue;
            snprintf(kind, sizeof kind, "%s: bits differ", setting->name);
            return fuzz_fail(context, kind, "output %u: %s", (unsigned)i, why);
        }
        if (fuzz_close(expected[i], obtained[i], why, sizeof why)) {
            context->report->counts[CLOSE]++;
            continue;
        }
        if (!explain(context, c, setting, expected, obtained, i, why))
            return false;
    }
    return true;
}

static bool try_setting(fuzz_context *context, const fuzz_case *c, const fuzz_setting *setting,
                        tfr_status wanted, const tfr_err *wanted_err, tfr_tensor **expected)
{
    tfr_tensor *obtained[256];
    tfr_err err = TFR_ERR_INIT;
    char kind[160];
    bool good = true;
    if (context->wanted && strncmp(context->wanted, setting->name, strlen(setting->name)) != 0)
        return true;
    if (!is_here(context, setting))
        return true;
    tfr_status status = fuzz_run(context, c, setting, obtained, &err);
    if (status == TFR_EINTERNAL || (status && !err.text[0]))
        return fuzz_fail(context, "internal error", "%s: %s", setting->name, err.text);
    if (!status != !wanted) {
        snprintf(kind, sizeof kind, "%s: %s", setting->name,
                 status ? "an error where the reference has a result"
                        : "a result where the reference has an error");
        return fuzz_fail(context, kind, "%s: %s", tfr_status_name(status ? status : wanted),
                         status ? err.text : wanted_err->text);
    }
    if (!status) {
        context->report->counts[COMPARED]++;
        good = compare(context, c, setting, expected, obtained);
        fuzz_release(obtained, c->n_outputs);
    }
    return good;
}

/* One pass alone on the reference, and all but one elsewhere. */
static bool try_passes(fuzz_context *context, const fuzz_case *c, tfr_status wanted,
                       const tfr_err *wanted_err, tfr_tensor **expected)
{
    char alone[80], without[80], minus[24];
    ops_random random = {context->report->seed ^ 0x5bd1e995};
    const size_t n = sizeof passes / sizeof passes[0];
    /* A case from a file has no seed of its own: all passes are tried. */
    for (size_t k = 0; k < (context->sure ? n : 1); k++) {
        const char *one = context->sure ? passes[k] : passes[ops_random_below(&random, n)];
        const char *other = context->sure ? passes[k] : passes[ops_random_below(&random, n)];
        snprintf(alone, sizeof alone, "naive, pass %s alone", one);
        snprintf(without, sizeof without, "default, all passes but %s", other);
        snprintf(minus, sizeof minus, "-%s", other);
        fuzz_setting naive = {alone, "naive:0", one, 1}, fast = {without, NULL, minus, 0};
        if (!try_setting(context, c, &naive, wanted, wanted_err, expected) ||
            !try_setting(context, c, &fast, wanted, wanted_err, expected))
            return false;
    }
    return true;
}

static bool check_case(fuzz_context *context, const fuzz_case *c)
{
    tfr_tensor *expected[256];
    tfr_err err = TFR_ERR_INIT;
    fuzz_msg *model = fuzz_msg_read(c->bytes, c->n, FUZZ_MODEL);
    bool random = model && fuzz_varies(model), good = true;
    fuzz_msg_destroy(model);
    if (c->n_outputs > 256)
        return true;
    tfr_status status = fuzz_run(context, c, &reference, expected, &err);
    if (status && context->report->seed && !context->sure)
        return fuzz_fail(context, "the reference refuses a valid model", "%s: %s",
                         tfr_status_name(status), err.text);
    if (random) {
        context->report->counts[VARIES]++;
    } else {
        for (size_t i = 0; i < sizeof settings / sizeof settings[0] && good; i++)
            good = try_setting(context, c, &settings[i], status, &err, expected);
        good = good && try_passes(context, c, status, &err, expected);
    }
    fuzz_release(expected, c->n_outputs);
    return good;
}

static bool check(fuzz_context *context, const unsigned char *bytes, size_t n)
{
    fuzz_case c;
    tfr_err err = TFR_ERR_INIT;
    fuzz_stage(context, "read");
    tfr_status status = fuzz_case_init(&c, bytes, n, &err);
    bool good = true;
    if (!status)
        good = check_case(context, &c);
    else if (context->report->seed && !context->sure)
        good = fuzz_fail(context, "the reader refuses a valid model", "%s", err.text);
    fuzz_case_finish(&c);
    return good;
}

const fuzz_way fuzz_way_diff = {
    .name = "diff",
    .counts = {"compared", "outputs close", "outputs explained", "random"},
    .check = check};
