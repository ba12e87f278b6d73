/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checks.c: the checks by number: those of the whole plugin that come first, those of each op of
 * the op table, and those of the whole plugin that come last.
 */
#include <string.h>

#include <tfrun/fail.h>

#include "subject.h"

static const struct {
    const char *name;
    void (*check)(certify_subject *subject, certify_verdict *v);
} first[] =
    {
        {"note", certify_check_note},
        {"devices", certify_check_devices},
        {"claims", certify_check_claims},
        {"life cycle", certify_check_life},
        {"two runtimes", certify_check_two_runtimes},
},
  last[] = {
      {"programs", certify_check_programs},
      {"variables", certify_check_variables},
      {"copies", certify_check_copies},
      {"queues", certify_check_queues},
      {"enqueuing", certify_check_enqueue},
      {"failure", certify_check_failure},
      {"abort", certify_check_abort},
      {"loss", certify_check_loss},
      {"out of memory", certify_check_out_of_memory},
      {"memory limit", certify_check_limit},
      {"two devices", certify_check_two_devices},
      {"threads", certify_check_threads},
      {"leaks", certify_check_leaks},
};
enum { N_FIRST = sizeof first / sizeof *first, N_LAST = sizeof last / sizeof *last };

static const char *const way_names[CERTIFY_N_WAYS] = {
    [CERTIFY_VALUES] = "values",       [CERTIFY_STRIDED] = "strided",
    [CERTIFY_UNALIGNED] = "unaligned", [CERTIFY_CONSTANTS] = "constants",
    [CERTIFY_EMPTY] = "zero-size",     [CERTIFY_REPEATED] = "repeated",
    [CERTIFY_HOSTILE] = "hostile",     [CERTIFY_MEMORY] = "memory",
    [CERTIFY_IN_PLACE] = "in place",   [CERTIFY_DYNAMIC] = "dynamic dims",
};

/* Tfrun's own ops, which stand first. Those that plugins bring have no cases, and they become more
 * when a runtime is made, which would move the numbers of checks. */
static uint32_t n_ops(void)
{
    tfr_op_desc op = {.size = sizeof op};
    uint32_t n = tfr_op_count();
    while (n && !tfr_op_describe(n - 1, &op, NULL) && op.plugin)
        n--;
    return n;
}

uint32_t certify_n_checks(void)
{
    return N_FIRST + n_ops() * CERTIFY_N_WAYS + N_LAST;
}

/* The op and the way of check i; false = it is of the whole plugin. */
static bool op_of(uint32_t i, uint32_t *op, certify_way *way)
{
    if (i < N_FIRST || i >= N_FIRST + n_ops() * CERTIFY_N_WAYS)
        return false;
    *op = (i - N_FIRST) / CERTIFY_N_WAYS;
    *way = (certify_way)((i - N_FIRST) % CERTIFY_N_WAYS);
    return true;
}

certify_check certify_describe(uint32_t i)
{
    tfr_op_desc desc = {.size = sizeof desc};
    certify_check out = {.op = ""};
    certify_way way;
    uint32_t op;
    if (!op_of(i, &op, &way)) {
        out.name = i < N_FIRST ? first[i].name : last[i - N_FIRST - n_ops() * CERTIFY_N_WAYS].name;
        return out;
    }
    out.name = way_names[way];
    if (!tfr_op_describe(op, &desc, NULL))
        certify_op_name(&desc, out.op, sizeof out.op);
    return out;
}

bool certify_is_wanted(const certify_options *options, uint32_t i)
{
    tfr_op_desc desc = {.size = sizeof desc};
    certify_way way;
    uint32_t op;
    return !op_of(i, &op, &way) ||
           (!tfr_op_describe(op, &desc, NULL) && certify_is_wanted_op(options, &desc));
}

bool certify_has_unknown(const char *ops, char *name, size_t n)
{
    while (ops && *ops) {
        size_t length = strcspn(ops, ",");
        certify_options one = {.ops = name};
        bool found = false;
        snprintf(name, n, "%.*s", (int)length, ops);
        for (uint32_t i = 0; i < n_ops() && !found; i++)
            found = certify_is_wanted(&one, N_FIRST + i * CERTIFY_N_WAYS);
        if (!found)
            return true;
        ops += length + (ops[length] == ',');
    }
    return false;
}

/* A check of an op whose plugin does not claim it is told of once, if the user named the op. */
static void run_op(certify_subject *s, uint32_t number, certify_way way, certify_verdict *v)
{
    tfr_op_desc op = {.size = sizeof op};
    if (tfr_op_describe(number, &op, NULL) || !certify_is_wanted_op(s->options, &op))
        return;
    if (certify_claims(s, number) && way >= CERTIFY_MEMORY)
        certify_check_memory(s, &op, way, v);
    else if (certify_claims(s, number))
        certify_check_op(s, &op, way, v);
    else if (s->options->ops && way == CERTIFY_VALUES)
        certify_set(v, CERTIFY_UNSUPPORTED, "%s does not claim the op%s", s->name,
                    op.metadata ? ", which the core does on every device" : "");
}

void certify_run(const certify_options *options, certify_subject **state, uint32_t i,
                 certify_verdict *out)
{
    tfr_err err = TFR_ERR_INIT;
    certify_way way;
    uint32_t op;
    tfr_status status = *state ? TFR_OK : certify_open(options, state, &err);
    certify_tell_place(options, NULL, 0, NULL);
    /* The first check is about the file, and the others cannot do without a backend. */
    if (!status && i > 0)
        status = certify_find_backend(*state, &err);
    if (status) {
        certify_set(out, CERTIFY_FAILED, "%s", err.text);
        out->code = status;
        out->is_last = 1;
        return;
    }
    if (op_of(i, &op, &way))
        run_op(*state, op, way, out);
    else if (i < N_FIRST)
        first[i].check(*state, out);
    else
        last[i - N_FIRST - n_ops() * CERTIFY_N_WAYS].check(*state, out);
    certify_tell_place(options, NULL, 0, NULL);
    /* tfrun asks a backend no more about what it did not keep its word in. */
    if (certify_is_broken(*state)) {
        certify_finish(*state);
        *state = NULL;
    }
}
