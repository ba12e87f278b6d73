/* SPDX-License-Identifier: Apache-2.0 */
/* placement.c: see placement.h. */
#include "placement.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "table.h"

/* ---- for people ------------------------------------------------------------------------------ */

/* Why the node is where it is, how it is computed, and why it is in no program. */
static void add_reason(cli_table *table, const tfr_placement *p)
{
    const char *alone = p->program < 0 ? p->alone : "", *joint;
    /* The sentences name the reason, too. */
    const char *reason = *p->text                       ? p->text
                         : p->reason != TFR_REASON_NONE ? tfr_reason_name((tfr_reason)p->reason)
                                                        : "";
    joint = *reason && *p->note ? "; " : "";
    if (*alone)
        cli_table_add(table, "%s%s%s%sin no program: %s", reason, joint, p->note,
                      *reason || *p->note ? "; " : "", alone);
    else
        cli_table_add(table, "%s%s%s", *reason || *p->note ? reason : "-", joint, p->note);
}

/* "12 us"; with a tilde if nobody has measured it. */
static void add_time(cli_table *table, const tfr_placement *p)
{
    char time[32];
    if (p->time_ns)
        cli_table_add(table, "%s%s", p->time_measured ? "" : "~",
                      cli_format_seconds((double)p->time_ns / 1e9, time, sizeof time));
    else
        cli_table_add(table, "-");
}

static void add_row(cli_table *table, const tfr_placement *p, bool plans, bool programs)
{
    char bytes[32];
    if (plans)
        cli_table_add(table, "%u", (unsigned)p->plan);
    cli_table_add(table, "%s", p->node);
    cli_table_add(table, "%s", p->op);
    cli_table_add(table, "%s", *p->device ? p->device : "-");
    cli_table_add(table, "%s", p->backend);
    cli_table_color(table, p->fallback ? CLI_YELLOW : CLI_PLAIN);
    add_time(table, p);
    if (p->n_copies)
        cli_table_add(table, "%u (%s)", (unsigned)p->n_copies,
                      cli_format_bytes(p->copy_bytes, bytes, sizeof bytes));
    else
        cli_table_add(table, "-");
    if (programs && p->program >= 0)
        cli_table_add(table, "%d", (int)p->program);
    else if (programs)
        cli_table_add(table, "-");
    add_reason(table, p);
}

tfr_status cli_print_placements(const tfr_session *session, tfr_err *err)
{
    static const char *const all[] = {"PLAN", "NODE",   "OP",      "DEVICE", "BACKEND",
                                      "TIME", "COPIES", "PROGRAM", "REASON"};
    static const uint32_t all_flags[] = {CLI_RIGHT, CLI_WRAP,  0,         0,       0,
                                         CLI_RIGHT, CLI_RIGHT, CLI_RIGHT, CLI_WRAP};
    tfr_session_stats s = {.size = sizeof s};
    const bool programs = tfr_session_n_programs(session) > 0;
    const bool plans = !tfr_session_get_stats(session, &s, NULL) && s.n_used_plans > 1;
    const char *titles[9];
    uint32_t flags[9], n = 0;
    cli_table *table;
    for (uint32_t i = plans ? 0 : 1; i < 9; i++) {
        if (i == 7 && !programs)
            continue;
        titles[n] = all[i];
        flags[n++] = all_flags[i];
    }
    table = cli_table_create(n, titles, flags);
    for (uint32_t i = 0; i < tfr_session_n_placements(session); i++) {
        tfr_placement p = {.size = sizeof p};
        tfr_status status = tfr_session_placement(session, i, &p, err);
        if (status) {
            cli_table_destroy(table);
            return status;
        }
        add_row(table, &p, plans, programs);
    }
    return cli_table_print(table, err);
}

/* "2 of 9 nodes fell back: Gelu to naive:0 (dtype)"; each op and reason once, the first few. */
static void print_fallbacks(const tfr_session *session, uint32_t n_fallbacks, uint32_t n_nodes)
{
    char seen[8][200];
    uint32_t n_seen = 0;
    tfr_placement p = {.size = sizeof p};
    if (!n_fallbacks) {
        printf("fallbacks        none of %u nodes\n", (unsigned)n_nodes);
        return;
    }
    for (uint32_t i = 0; !tfr_session_placement(session, i, &p, NULL) && n_seen < 8; i++) {
        bool known = !p.fallback;
        char line[200];
        snprintf(line, sizeof line, "%s on %s instead of %s (%s)", p.op, p.backend, p.wanted,
                 tfr_reason_name((tfr_reason)p.reason));
        for (uint32_t k = 0; k < n_seen; k++)
            known = known || strcmp(seen[k], line) == 0;
        if (!known)
            memcpy(seen[n_seen++], line, sizeof line);
    }
    printf("fallbacks        %u of %u nodes\n", (unsigned)n_fallbacks, (unsigned)n_nodes);
    for (uint32_t k = 0; k < n_seen; k++)
        cli_line(stdout, "                 %s", seen[k]);
}

void cli_print_programs(const tfr_session *session)
{
    tfr_program_desc p = {.size = sizeof p};
    for (uint32_t i = 0; !tfr_session_program(session, i, &p, NULL); i++) {
        char workspace[32], bound[32], constants[32], time[32] = "";
        if (p.time_ns)
            snprintf(time, sizeof time, ", %.3g ms", (double)p.time_ns / 1e6);
        cli_line(stdout, "program %-8u %u nodes from \"%s\" on %s: %u kernels, %u reorders%s", i,
                 (unsigned)p.n_nodes, p.node, p.backend, (unsigned)p.n_kernels,
                 (unsigned)p.n_reorders, time);
        cli_line(stdout, "                 workspace %s, lower bound %s, constants %s",
                 cli_format_bytes(p.workspace_bytes, workspace, sizeof workspace),
                 cli_format_bytes(p.lower_bound, bound, sizeof bound),
                 cli_format_bytes(p.constant_bytes, constants, sizeof constants));
        if (*p.text)
            cli_line(stdout, "                 %s", p.text);
    }
}

static double arena_ratio(const tfr_session_stats *s)
{
    return s->arena_lower_bound ? (double)s->arena_bytes / (double)s->arena_lower_bound : 1;
}

/* "2.1 ms, 3 of 4 measured, the others (~) estimated" */
static void print_times(const tfr_session *session)
{
    tfr_placement p = {.size = sizeof p};
    unsigned n = 0, n_measured = 0;
    uint64_t ns = 0;
    char time[32];
    for (uint32_t i = 0; !tfr_session_placement(session, i, &p, NULL); i++) {
        n += p.time_ns > 0;
        n_measured += p.time_ns && p.time_measured;
        ns += p.time_ns;
    }
    printf("times            %s, of %u nodes %u measured%s\n",
           cli_format_seconds((double)ns / 1e9, time, sizeof time), n, n_measured,
           n_measured < n ? ", the others (~) estimated" : "");
}

/* What is in captures, and each reason why a node is not, or why one ends, with its first node. */
static void print_captures(const tfr_session *session, const tfr_session_stats *s)
{
    tfr_placement p = {.size = sizeof p}, q = p;
    bool any = s->n_captures;
    for (uint32_t i = 0; !any && !tfr_session_placement(session, i, &p, NULL); i++)
        any = *p.capture;
    if (any)
        printf("captures         %u, of %u launches %u are in them\n", (unsigned)s->n_captures,
               (unsigned)s->n_launches, (unsigned)s->n_captured);
    for (uint32_t i = 0; any && !tfr_session_placement(session, i, &p, NULL); i++) {
        unsigned n = 0;
        for (uint32_t k = 0; *p.capture && !tfr_session_placement(session, k, &q, NULL); k++) {
            const bool same = strcmp(p.capture, q.capture) == 0;
            if (same && k < i)
                break; /* was told with that one */
            n += same;
        }
        if (n == 1)
            cli_line(stdout, "                 \"%s\" (%s): %s", p.node, p.op, p.capture);
        else if (n)
            cli_line(stdout, "                 %u nodes from \"%s\" (%s): %s", n, p.node, p.op,
                     p.capture);
    }
}

/* Where one plan is not the whole model: each plan, and how many nodes are in none. */
static void print_plans(const tfr_session *session, const tfr_session_stats *s)
{
    tfr_placement p = {.size = sizeof p}, first = p;
    uint32_t n = 0;
    if (s->n_used_plans > 1 || s->n_unplanned)
        printf(
            "plans            %u; nodes in none, as control flow and what works on sequences: %u\n",
            (unsigned)s->n_used_plans, (unsigned)s->n_unplanned);
    for (uint32_t i = 0; s->n_used_plans > 1 && !tfr_session_placement(session, i, &p, NULL); i++) {
        tfr_placement next = {.size = sizeof next};
        if (!n++)
            first = p;
        if (!tfr_session_placement(session, i + 1, &next, NULL) && next.plan == p.plan)
            continue;
        cli_line(stdout, "plan %-11u %u nodes of graph \"%s\" from \"%s\"", p.plan, n, p.graph,
                 first.node);
        n = 0;
    }
}

tfr_status cli_print_stats(const tfr_session *session, tfr_err *err)
{
    tfr_session_stats s = {.size = sizeof s};
    char bytes[32], bound[32];
    tfr_status status = tfr_session_get_stats(session, &s, err);
    if (status)
        return status;
    print_plans(session, &s);
    printf("steps            %u: %u launches, %u reorders, %u copies, %u waits\n",
           (unsigned)s.n_steps, (unsigned)s.n_launches, (unsigned)s.n_reorders,
           (unsigned)s.n_copies, (unsigned)s.n_waits);
    print_captures(session, &s);
    printf("copied per run   %s\n", cli_format_bytes(s.copy_bytes, bytes, sizeof bytes));
    printf("arena            %s, lower bound %s, ratio %.2f\n",
           cli_format_bytes(s.arena_bytes, bytes, sizeof bytes),
           cli_format_bytes(s.arena_lower_bound, bound, sizeof bound), arena_ratio(&s));
    print_times(session);
    print_fallbacks(session, s.n_fallbacks, s.n_nodes);
    return TFR_OK;
}

void cli_print_passes(const tfr_session *session)
{
    tfr_pass p = {.size = sizeof p};
    const char *title = "passes";
    for (uint32_t i = 0; !tfr_session_pass(session, i, &p, NULL); i++) {
        if (!p.n_changes)
            continue;
        cli_line(stdout, "%-16s %s: %s; %d fewer, %.1f ms", title, p.name, p.text,
                 (int)p.nodes_removed, (double)p.ns / 1e6);
        title = "";
    }
    if (*title)
        printf("passes           nothing changed\n");
}

/* ---- for programs ---------------------------------------------------------------------------- */

json_t *cli_json_placements(const tfr_session *session)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < tfr_session_n_placements(session); i++) {
        tfr_placement p = {.size = sizeof p};
        json_t *row;
        if (tfr_session_placement(session, i, &p, NULL))
            break;
        row = json_object();
        cli_json_set(row, "node", cli_json_text(p.node));
        cli_json_set(row, "op", cli_json_text(p.op));
        cli_json_set(row, "device", cli_json_text(*p.device ? p.device : NULL));
        cli_json_set(row, "backend", cli_json_text(p.backend));
        cli_json_set(row, "wanted", cli_json_text(p.wanted));
        cli_json_set(row, "fallback", json_boolean(p.fallback));
        cli_json_set(row, "reason", cli_json_text(tfr_reason_name((tfr_reason)p.reason)));
        cli_json_set(row, "text", cli_json_text(p.text));
        cli_json_set(row, "time_seconds",
                     p.time_ns ? cli_json_real((double)p.time_ns / 1e9) : json_null());
        cli_json_set(row, "time_measured", json_boolean(p.time_measured));
        cli_json_set(row, "copies", cli_json_int(p.n_copies));
        cli_json_set(row, "copy_bytes", cli_json_int(p.copy_bytes));
        cli_json_set(row, "program", p.program < 0 ? json_null() : json_integer(p.program));
        cli_json_set(row, "alone", cli_json_text(p.alone));
        cli_json_set(row, "note", cli_json_text(p.note));
        cli_json_set(row, "captured", json_boolean(p.captured));
        cli_json_set(row, "capture", cli_json_text(p.capture));
        cli_json_set(row, "math_mode", json_boolean(p.math_mode));
        cli_json_set(row, "plan", json_integer(p.plan));
        cli_json_set(row, "graph", cli_json_text(p.graph));
        cli_json_append(rows, row);
    }
    return rows;
}

json_t *cli_json_programs(const tfr_session *session)
{
    json_t *rows = json_array();
    tfr_program_desc p = {.size = sizeof p};
    for (uint32_t i = 0; !tfr_session_program(session, i, &p, NULL); i++) {
        json_t *row = json_object();
        cli_json_set(row, "backend", cli_json_text(p.backend));
        cli_json_set(row, "node", cli_json_text(p.node));
        cli_json_set(row, "nodes", cli_json_int(p.n_nodes));
        cli_json_set(row, "kernels", cli_json_int(p.n_kernels));
        cli_json_set(row, "reorders", cli_json_int(p.n_reorders));
        cli_json_set(row, "workspace_bytes", cli_json_int(p.workspace_bytes));
        cli_json_set(row, "lower_bound", cli_json_int(p.lower_bound));
        cli_json_set(row, "constant_bytes", cli_json_int(p.constant_bytes));
        cli_json_set(row, "seconds", cli_json_real((double)p.time_ns / 1e9));
        cli_json_set(row, "text", cli_json_text(p.text));
        cli_json_append(rows, row);
    }
    return rows;
}

json_t *cli_json_pass(const tfr_pass *p)
{
    json_t *row = json_object();
    cli_json_set(row, "pass", cli_json_text(p->name));
    cli_json_set(row, "text", cli_json_text(p->text));
    cli_json_set(row, "rounds", cli_json_int(p->rounds));
    cli_json_set(row, "changes", cli_json_int(p->n_changes));
    cli_json_set(row, "nodes_before", cli_json_int(p->nodes_before));
    cli_json_set(row, "nodes_removed", json_integer(p->nodes_removed));
    cli_json_set(row, "seconds", cli_json_real((double)p->ns / 1e9));
    return row;
}

json_t *cli_json_passes(const tfr_session *session)
{
    json_t *rows = json_array();
    tfr_pass p = {.size = sizeof p};
    for (uint32_t i = 0; !tfr_session_pass(session, i, &p, NULL); i++)
        cli_json_append(rows, cli_json_pass(&p));
    return rows;
}

json_t *cli_json_stats(const tfr_session *session)
{
    tfr_session_stats s = {.size = sizeof s};
    json_t *object;
    if (tfr_session_get_stats(session, &s, NULL))
        return json_null();
    object = json_object();
    cli_json_set(object, "nodes", cli_json_int(s.n_nodes));
    cli_json_set(object, "steps", cli_json_int(s.n_steps));
    cli_json_set(object, "launches", cli_json_int(s.n_launches));
    cli_json_set(object, "reorders", cli_json_int(s.n_reorders));
    cli_json_set(object, "copies", cli_json_int(s.n_copies));
    cli_json_set(object, "waits", cli_json_int(s.n_waits));
    cli_json_set(object, "programs", cli_json_int(s.n_programs));
    cli_json_set(object, "captures", cli_json_int(s.n_captures));
    cli_json_set(object, "captured_launches", cli_json_int(s.n_captured));
    cli_json_set(object, "fallbacks", cli_json_int(s.n_fallbacks));
    cli_json_set(object, "math_mode_nodes", cli_json_int(s.n_math_mode));
    cli_json_set(object, "copy_bytes", cli_json_int(s.copy_bytes));
    cli_json_set(object, "arena_bytes", cli_json_int(s.arena_bytes));
    cli_json_set(object, "arena_lower_bound", cli_json_int(s.arena_lower_bound));
    cli_json_set(object, "arena_ratio", cli_json_real(arena_ratio(&s)));
    cli_json_set(object, "used_plans", cli_json_int(s.n_used_plans));
    cli_json_set(object, "unplanned_nodes", cli_json_int(s.n_unplanned));
    cli_json_set(object, "plan_seconds", cli_json_real((double)s.plan_ns / 1e9));
    return object;
}
