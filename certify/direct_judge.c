/* SPDX-License-Identifier: Apache-2.0 */
/* direct_judge.c: what the memory of a launch says of the plugin; see direct.h. */
#include "direct.h"

#include <string.h>

static void say_where(char *text, size_t n, const char *what, const direct_buffer *b, int64_t at)
{
    if (at < 0)
        snprintf(text, n, "%s: byte %lld before its %llu bytes was written", what, (long long)-at,
                 (unsigned long long)b->bytes);
    else if ((uint64_t)at >= b->bytes)
        snprintf(text, n, "%s: byte %lld behind its %llu bytes was written", what,
                 (long long)(at - (int64_t)b->bytes + 1), (unsigned long long)b->bytes);
    else
        snprintf(text, n, "%s: byte %lld of its %llu was written", what, (long long)at,
                 (unsigned long long)b->bytes);
}

/* Was it written where it may not be? */
static bool is_broken(direct_device *d, direct_buffer *b, bool guards_only, const char *what,
                      char *text, size_t n)
{
    tfr_err err = TFR_ERR_INIT;
    int64_t at;
    if (!b->base)
        return false;
    if (direct_read(d, b, &err)) {
        snprintf(text, n, "%s cannot be read back: %s", what, err.text);
        return true;
    }
    if (!direct_is_changed(b, guards_only, &at))
        return false;
    say_where(text, n, what, b, at);
    return true;
}

/* The true dims that a launch told. */
static bool dims_are_wrong(direct_device *d, const direct_kernel *k, direct_launch *l, uint32_t i,
                           tfr_shape *out, char *text, size_t n)
{
    const tfr_operand *o = tfr_call_output(k->call->copy.call, i);
    const tfr_shape *expected = tfr_tensor_shape(k->call->expected[i]);
    char what[40];
    snprintf(what, sizeof what, "dims of output %u", (unsigned)i);
    out->rank = o->rank;
    memcpy(out->dims, o->dims, (size_t)o->rank * sizeof *o->dims);
    if (!(o->flags & TFR_OPERAND_DYNAMIC))
        return false;
    if (is_broken(d, &l->dims[i], true, what, text, n))
        return true;
    if (o->rank)
        memcpy(out->dims, l->dims[i].now + l->dims[i].guard, (size_t)o->rank * sizeof *o->dims);
    for (int32_t a = 0; a < o->rank; a++) {
        if (out->dims[a] == expected->dims[a])
            continue;
        if (out->dims[a] == -1)
            snprintf(text, n, "%s: dim %d was not written", what, (int)a);
        else
            snprintf(text, n, "%s: dim %d is told as %lld, it is %lld of at most %lld", what,
                     (int)a, (long long)out->dims[a], (long long)expected->dims[a],
                     (long long)o->dims[a]);
        return true;
    }
    return false;
}

static bool is_untouched(const direct_buffer *b, uint64_t bytes)
{
    uint64_t i = 0;
    while (i < bytes && b->now[b->guard + i] == DIRECT_POISON)
        i++;
    return bytes > 0 && i == bytes;
}

static bool values_are_wrong(const direct_kernel *k, const direct_buffer *b, uint32_t i,
                             const tfr_shape *shape, int in_place, char *text, size_t n)
{
    const ops_call *call = k->call->call;
    tfr_tensor *expected = k->call->expected[i], *obtained = NULL;
    tfr_err err = TFR_ERR_INIT;
    char why[400];
    bool good;
    if (tfr_tensor_create(tfr_tensor_dtype(expected), shape, &obtained, &err)) {
        snprintf(text, n, "%s", err.text);
        return true;
    }
    if (tfr_tensor_bytes(obtained))
        memcpy(tfr_tensor_data(obtained), b->now + b->guard, tfr_tensor_bytes(obtained));
    good = ops_compare(call->description->tolerance, expected, obtained, why, sizeof why);
    if (!good && in_place >= 0)
        snprintf(text, n, "in place: output %u in the memory of input %d: %s", (unsigned)i,
                 (int)k->answer.in_place[in_place].input, why);
    else if (!good && is_untouched(b, tfr_tensor_bytes(obtained)))
        snprintf(text, n, "output %u was not written, and no error told", (unsigned)i);
    else if (!good)
        snprintf(text, n, "output %u: %s", (unsigned)i, why);
    tfr_tensor_release(obtained);
    return !good;
}

bool direct_launch_is_wrong(direct_device *d, const direct_kernel *k, direct_launch *l, char *text,
                            size_t n)
{
    const int in_place = l->in_place;
    const tfr_call *call = k->call->copy.call;
    char what[40];
    if (is_broken(d, &l->workspace, true, "workspace", text, n))
        return true;
    for (uint32_t i = 0; i < call->n_inputs; i++) {
        const bool is_shared = in_place >= 0 && k->answer.in_place[in_place].input == (int16_t)i;
        snprintf(what, sizeof what, "input %u", (unsigned)i);
        if (is_broken(d, &l->args[i], is_shared, what, text, n))
            return true;
    }
    for (uint32_t i = 0; i < call->n_outputs; i++) {
        const int shared = direct_shared_input(k, in_place, i);
        direct_buffer *b = shared >= 0 ? &l->args[shared] : &l->args[call->n_inputs + i];
        tfr_shape shape = {0};
        snprintf(what, sizeof what, "output %u", (unsigned)i);
        if (is_broken(d, b, true, what, text, n) || dims_are_wrong(d, k, l, i, &shape, text, n) ||
            values_are_wrong(k, b, i, &shape, shared >= 0 ? in_place : -1, text, n))
            return true;
    }
    return false;
}

bool direct_launch_is_touched(direct_device *d, direct_launch *l, char *text, size_t n)
{
    char what[64];
    for (uint32_t i = 0; i < OPS_MAX_OPERANDS + OPS_MAX_OUTPUTS; i++) {
        snprintf(what, sizeof what, "after the launch, operand %u", (unsigned)i);
        if (is_broken(d, &l->args[i], false, what, text, n))
            return true;
    }
    for (uint32_t i = 0; i < OPS_MAX_OUTPUTS; i++)
        if (is_broken(d, &l->dims[i], false, "after the launch, its dims", text, n))
            return true;
    return is_broken(d, &l->workspace, false, "after the launch, its workspace", text, n);
}
