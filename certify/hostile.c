/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile.c: calls that are wrong in one place: a description's right call with one attribute,
 * type, rank, dim, operand or value made hostile. Each must end in a status or a result.
 */
#include "hostile.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fill.h"

enum { N_MUTATIONS = 3 };

/* ---- material -------------------------------------------------------------------------------- */

int64_t ops_bad_int(ops_random *random)
{
    static const int64_t numbers[] = {0,
                                      -1,
                                      1,
                                      -2,
                                      3,
                                      17,
                                      -17,
                                      INT32_MAX,
                                      INT32_MIN,
                                      (int64_t)1 << 32,
                                      ((int64_t)1 << 32) + 1,
                                      (int64_t)1 << 40,
                                      ((int64_t)1 << 62) + 1,
                                      INT64_MAX,
                                      INT64_MAX - 1,
                                      INT64_MIN,
                                      INT64_MIN + 1};
    return numbers[ops_random_below(random, sizeof numbers / sizeof numbers[0])];
}

float ops_bad_float(ops_random *random)
{
    const float numbers[] = {0,   -1,       1e-38f,    FLT_MAX, -FLT_MAX,
                             NAN, INFINITY, -INFINITY, 0.5f,    1e10f};
    return numbers[ops_random_below(random, sizeof numbers / sizeof numbers[0])];
}

tfr_dtype ops_any_dtype(ops_random *random)
{
    return (tfr_dtype)(1 + ops_random_below(random, TFR_DTYPE_END - 1));
}

tfr_tensor *ops_any_tensor(tfr_dtype dtype, const tfr_shape *shape, bool hostile,
                           ops_random *random)
{
    ops_letters letters;
    tfr_tensor *t = NULL;
    tfr_err err = TFR_ERR_INIT;
    ops_letters_init(&letters, "a hostile tensor", NULL, NULL, random);
    ops_must(tfr_tensor_create(dtype, shape, &t, &err), &err, "a hostile tensor");
    ops_fill(&letters, t, NULL, 0, hostile ? "nizh" : "");
    if (hostile && (dtype == TFR_DTYPE_I64 || dtype == TFR_DTYPE_I32))
        for (int64_t i = 0; i < tfr_tensor_elements(t); i++) {
            if (ops_random_below(random, 2))
                continue;
            if (dtype == TFR_DTYPE_I64)
                ((int64_t *)tfr_tensor_data(t))[i] = ops_bad_int(random);
            else
                ((int32_t *)tfr_tensor_data(t))[i] = (int32_t)ops_bad_int(random);
        }
    return t;
}

tfr_tensor *ops_huge_tensor(tfr_dtype dtype, int32_t rank, ops_random *random)
{
    static uint64_t element[2]; /* zeros of any type, also the empty string */
    tfr_shape shape = {rank, {0}};
    int64_t strides[TFR_MAX_RANK] = {0}, capacity = (int64_t)1 << 55;
    tfr_tensor *t = NULL;
    tfr_err err = TFR_ERR_INIT;
    if (dtype >= TFR_DTYPE_U4 && dtype != TFR_DTYPE_F8E8M0)
        dtype = TFR_DTYPE_F32; /* packed types have no strides */
    for (int32_t d = 0; d < rank; d++) {
        int64_t dim = (int64_t)1 << ops_random_below(random, 56);
        shape.dims[d] = dim < capacity ? dim : capacity;
        capacity /= shape.dims[d];
    }
    ops_must(tfr_tensor_wrap(dtype, &shape, strides, element, NULL, NULL, &t, &err), &err,
             "a huge tensor");
    return t;
}

/* ---- judgement ------------------------------------------------------------------------------- */

/* Reads all of a result, for the sanitizers. */
static unsigned read_all(tfr_tensor *t)
{
    const unsigned char *bytes = tfr_tensor_data(t);
    size_t n = tfr_tensor_bytes(t);
    unsigned sum = 0;
    for (size_t i = 0; i < n && bytes; i++)
        sum += bytes[i];
    return sum;
}

static const char *what_is_wrong(ops_verdict verdict, tfr_status status, const tfr_err *err)
{
    if (verdict == OPS_ELSEWHERE)
        return "it ran elsewhere";
    if (verdict == OPS_BROKEN)
        return "the library warns";
    if (!status)
        return NULL;
    if (status == TFR_EINTERNAL || status == TFR_EPLUGIN)
        return "a defect is reported";
    return err->text[0] && status > -100 && status < 0 ? NULL : "an error without a sentence";
}

void ops_judge_hostile(ops_run *run, ops_call *call, const char *what, bool prepare_only,
                       ops_random *random)
{
    tfr_tensor *outputs[OPS_MAX_OUTPUTS] = {NULL};
    volatile unsigned sink = 0;
    tfr_err err = TFR_ERR_INIT;
    tfr_status status = TFR_OK;
    ops_verdict verdict;
    ops_how how = (ops_how)ops_random_below(random, 3);
    if (run->watch)
        run->watch(run->watch_user, ops_call_name(call), call->seed, what);
    if (prepare_only)
        verdict = ops_prepare_call(run, run->backend, call, OPS_PLAIN, &status, &err);
    else
        verdict = ops_run_call(run, run->backend, call, how, outputs, &status, &err);
    for (uint32_t i = 0; !prepare_only && verdict == OPS_RAN && i < call->n_outputs; i++)
        if (outputs[i] && tfr_tensor_kind(outputs[i]) == TFR_KIND_TENSOR)
            sink = sink + read_all(outputs[i]);
    if (run->watch)
        run->watch(run->watch_user, NULL, 0, NULL);
    ops_release_outputs(outputs, call->n_outputs);
    const char *wrong = what_is_wrong(verdict, status, &err);
    if (run->verbose || wrong) {
        fprintf(run->out, "%s %s:%llu on %s, %s: %s: %s\n", wrong ? "FAILED" : "ok",
                ops_call_name(call), (unsigned long long)call->seed, run->backend, what,
                wrong ? wrong : tfr_status_name(status), err.text);
        if (wrong)
            ops_print_call(run->out, call);
    }
    run->n_failed += wrong != NULL;
    run->n_passed += wrong == NULL;
}

/* ---- mutations ------------------------------------------------------------------------------- */

static void replace(ops_call *call, uint32_t i, tfr_tensor *t)
{
    tfr_tensor_release(call->plain[i]);
    tfr_tensor_release(call->views[i]);
    call->plain[i] = t;
    call->views[i] = tfr_tensor_retain(t);
}

/* A random operand that is there, or -1. */
static int pick_operand(const ops_call *call, ops_random *random)
{
    for (int tries = 0; tries < 8 && call->n_inputs > 0; tries++) {
        int i = (int)ops_random_below(random, call->n_inputs);
        if (call->plain[i])
            return i;
    }
    return -1;
}

static const char *change_attr(ops_call *call, ops_random *random)
{
    if (call->n_attrs == 0)
        return NULL;
    uint32_t k = (uint32_t)ops_random_below(random, call->n_attrs);
    tfr_attr *a = &call->attrs[k];
    uint64_t at = a->n ? ops_random_below(random, a->n) : 0;
    if (a->type == TFR_ATTR_TENSOR) {
        call->floats[k][0] = ops_bad_float(random);
        call->bytes[k][0] = (uint8_t)ops_bad_int(random);
        call->lengths[k] -= ops_random_below(random, 2) && call->lengths[k] > 0;
        return "a tensor with a bad value, or shorter";
    }
    switch (ops_random_below(random, 8)) {
    case 0:
        a->type = (int32_t)(1 + ops_random_below(random, 6));
        if (a->type == TFR_ATTR_STRING || a->type == TFR_ATTR_STRINGS)
            call->strings[k][0] = (tfr_string){"x", 1};
        a->n = a->n ? 1 : 0;
        return "an attribute of another type";
    case 1:
        a->n = ops_random_below(random, 2) ? 0 : a->n + 1;
        if (a->n > 8 || a->type < TFR_ATTR_INTS)
            a->n = 1;
        return "a list of another length";
    case 2:
        a->name = "surprise";
        return "an unknown attribute";
    default:
        call->ints[k][at] = ops_bad_int(random);
        call->floats[k][at] = ops_bad_float(random);
        if (a->type == TFR_ATTR_STRING || a->type == TFR_ATTR_STRINGS)
            call->strings[k][at] = (tfr_string){"SURPRISE", ops_random_below(random, 9)};
        return "an attribute with a bad value";
    }
}

static const char *change_count(ops_call *call, ops_random *random)
{
    int i = pick_operand(call, random);
    switch (ops_random_below(random, 4)) {
    case 0:
        call->n_outputs = (uint32_t)ops_random_below(random, OPS_MAX_OUTPUTS + 1);
        return "another number of outputs";
    case 1:
        if (i < 0 || call->n_inputs == OPS_MAX_OPERANDS)
            return NULL;
        replace(call, call->n_inputs++, tfr_tensor_retain(call->plain[i]));
        return "an operand too many";
    default:
        if (i < 0)
            return NULL;
        replace(call, (uint32_t)i, NULL);
        return "an operand too few";
    }
}

static const char *change_shape(ops_call *call, ops_random *random)
{
    int i = pick_operand(call, random);
    if (i < 0)
        return NULL;
    tfr_shape shape = *tfr_tensor_shape(call->plain[i]);
    int32_t d = shape.rank ? (int32_t)ops_random_below(random, (uint64_t)shape.rank) : -1;
    const char *what = "another dim";
    switch (ops_random_below(random, 6)) {
    case 0:
        shape.rank = 0;
        what = "a scalar";
        break;
    case 1:
        shape.rank = TFR_MAX_RANK;
        for (int32_t k = 0; k < shape.rank; k++)
            shape.dims[k] = 1 + (ops_random_below(random, 8) == 0);
        what = "the highest rank";
        break;
    case 2:
        shape.dims[shape.rank++] = 1;
        what = "one dim more";
        break;
    case 3:
        if (shape.rank > 0)
            shape.rank--;
        what = "one dim less";
        break;
    case 4:
        if (d >= 0)
            shape.dims[d] = 0;
        what = "a dim of 0";
        break;
    default:
        if (d >= 0)
            shape.dims[d] += 1;
        break;
    }
    tfr_dtype dtype = tfr_tensor_dtype(call->plain[i]);
    replace(call, (uint32_t)i, ops_any_tensor(dtype, &shape, false, random));
    return what;
}

static const char *change_type(ops_call *call, ops_random *random)
{
    int i = pick_operand(call, random);
    tfr_tensor *sequence = NULL;
    if (i < 0)
        return NULL;
    if (ops_random_below(random, 6) == 0) {
        tfr_dtype dtype = tfr_tensor_dtype(call->plain[i]);
        if (tfr_sequence_create(dtype, &call->plain[i], 1, &sequence, NULL))
            return NULL;
        replace(call, (uint32_t)i, sequence);
        return "a sequence";
    }
    tfr_shape shape = *tfr_tensor_shape(call->plain[i]);
    replace(call, (uint32_t)i, ops_any_tensor(ops_any_dtype(random), &shape, false, random));
    return "another element type";
}

static const char *change_values(ops_call *call, ops_random *random)
{
    int i = pick_operand(call, random);
    if (i < 0)
        return NULL;
    tfr_shape shape = *tfr_tensor_shape(call->plain[i]);
    tfr_dtype dtype = tfr_tensor_dtype(call->plain[i]);
    replace(call, (uint32_t)i, ops_any_tensor(dtype, &shape, true, random));
    return "bad values";
}

static const char *mutate(ops_call *call, ops_random *random, bool *prepare_only)
{
    int i;
    switch (ops_random_below(random, 8)) {
    case 0:
    case 1:
        return change_attr(call, random);
    case 2:
        return change_count(call, random);
    case 3:
        return change_shape(call, random);
    case 4:
        return change_type(call, random);
    case 5:
        i = pick_operand(call, random);
        if (i < 0)
            return NULL;
        replace(call, (uint32_t)i,
                ops_huge_tensor(tfr_tensor_dtype(call->plain[i]),
                                tfr_tensor_shape(call->plain[i])->rank, random));
        *prepare_only = true;
        return "a huge operand";
    default:
        return change_values(call, random);
    }
}

void ops_hostile_description(ops_run *run, const ops_case *description)
{
    for (uint64_t s = 0; s < run->n_seeds * N_MUTATIONS; s++) {
        ops_random random = {ops_hash(description->name) +
                             (run->first_seed + s / N_MUTATIONS) * 7919 + s % N_MUTATIONS};
        bool prepare_only = false;
        ops_call call;
        ops_make(description, run->first_seed + s / N_MUTATIONS, -1, NULL, &call);
        const char *what = mutate(&call, &random, &prepare_only);
        if (what)
            ops_judge_hostile(run, &call, what, prepare_only, &random);
        ops_call_finish(&call);
    }
}

/* Shapes that no tensor has are refused before any op sees them. */
void ops_hostile_shapes(ops_run *run)
{
    static const struct {
        const char *what;
        tfr_shape shape;
    } bad[] = {{"rank -1", {-1, {0}}},
               {"rank 17", {TFR_MAX_RANK + 1, {0}}},
               {"a dim of -1", {2, {3, -1}}},
               {"a dim of INT64_MIN", {1, {INT64_MIN}}},
               {"a dim of INT64_MAX", {1, {INT64_MAX}}},
               {"a product over 2^63", {3, {(int64_t)1 << 31, (int64_t)1 << 31, 3}}}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tfr_err err = TFR_ERR_INIT;
        tfr_tensor *t = NULL;
        uint64_t element = 0;
        bool refused =
            tfr_tensor_create(TFR_DTYPE_F32, &bad[i].shape, &t, &err) && err.text[0] &&
            tfr_tensor_wrap(TFR_DTYPE_F32, &bad[i].shape, NULL, &element, NULL, NULL, &t, &err) &&
            err.text[0];
        if (!refused)
            fprintf(run->out, "FAILED a tensor of %s is not refused\n", bad[i].what);
        run->n_passed += refused;
        run->n_failed += !refused;
    }
}
