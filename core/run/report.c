/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: what a session says about its last run, its plans and its passes. */
#include <string.h>
#include <tfrun/fail.h>

#include "optimize/passes.h"
#include "run/session.h"

uint32_t tfr_session_n_placements(const tfr_session *session)
{
    return session->n_rows;
}

/* The number of the plan of row i, which is there; or of program i. */
static uint32_t plan_of(const tfr_session *session, bool program, uint32_t i)
{
    uint32_t low = 0, high = session->n_used;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        const tfr__plan *p = session->used[middle];
        if ((program ? p->first_program : p->first_row) <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

tfr_status tfr_session_placement(const tfr_session *session, uint32_t i, tfr_placement *out,
                                 tfr_err *err)
{
    tfr_placement row = {0};
    const tfr__plan *p;
    uint32_t k;
    if (!out || out->size < sizeof out->size)
        return tfr_fail(err, TFR_EINVAL, "the placement has no size");
    if (i >= session->n_rows)
        return tfr_fail(err, TFR_EINVAL, "there is no placement %u, the last run has %u", i,
                        tfr_session_n_placements(session));
    row.plan = plan_of(session, false, i);
    p = session->used[row.plan];
    row.graph = p->graph->name;
    k = i - p->first_row;
    row.reason = p->placed[k].reason;
    row.node = p->graph->nodes[p->placed[k].node].name;
    row.op = p->graph->nodes[p->placed[k].node].op->name;
    row.device = p->placed[k].device;
    row.backend = p->placed[k].backend;
    row.wanted = p->placed[k].wanted;
    row.text = p->placed[k].text ? p->placed[k].text : "";
    row.fallback = p->placed[k].fallback;
    row.n_copies = p->placed[k].n_copies;
    row.copy_bytes = p->placed[k].copy_bytes;
    row.random = p->placed[k].random;
    row.time_ns = p->placed[k].time_ns;
    row.time_measured = p->placed[k].measured;
    row.program = p->placed[k].program < 0 ? -1 : p->placed[k].program + (int32_t)p->first_program;
    row.alone = p->placed[k].alone ? p->placed[k].alone : "";
    row.note = p->placed[k].note ? p->placed[k].note : "";
    row.math_mode = p->placed[k].math_mode;
    row.nondeterministic = p->placed[k].nondeterministic;
    row.captured = p->placed[k].capture == TFR__CAPTURED;
    row.capture = tfr__captured_text(p, &p->placed[k]);
    row.size = out->size < sizeof row ? out->size : (uint32_t)sizeof row;
    memcpy(out, &row, row.size);
    return TFR_OK;
}

uint32_t tfr_session_n_programs(const tfr_session *session)
{
    return session->n_program_rows;
}

tfr_status tfr_session_program(const tfr_session *session, uint32_t i, tfr_program_desc *out,
                               tfr_err *err)
{
    tfr_program_desc row = {0};
    const tfr__plan *p;
    const tfr__program *program;
    if (!out || out->size < sizeof out->size)
        return tfr_fail(err, TFR_EINVAL, "the program's description has no size");
    if (i >= session->n_program_rows)
        return tfr_fail(err, TFR_EINVAL, "there is no program %u, the last run has %u", i,
                        session->n_program_rows);
    p = session->used[plan_of(session, true, i)];
    program = &p->programs[i - p->first_program];
    row.n_nodes = program->n_nodes;
    row.backend = program->backend->name;
    row.node = p->graph->nodes[program->node].name;
    row.text = program->info.text;
    row.n_kernels = program->info.n_kernels;
    row.n_reorders = program->info.n_reorders;
    row.workspace_bytes = program->info.workspace_bytes;
    row.lower_bound = program->info.lower_bound;
    row.constant_bytes = program->info.constant_bytes;
    row.time_ns = program->info.time_ns;
    row.size = out->size < sizeof row ? out->size : (uint32_t)sizeof row;
    memcpy(out, &row, row.size);
    return TFR_OK;
}

tfr_status tfr_session_get_stats(const tfr_session *session, tfr_session_stats *out, tfr_err *err)
{
    tfr_session_stats stats = {0};
    if (!out || out->size < sizeof out->size)
        return tfr_fail(err, TFR_EINVAL, "the stats have no size");
    stats.n_used_plans = session->n_used;
    stats.n_unplanned = session->graph->n_nodes;
    for (uint32_t i = 0; i < session->n_used; i++) {
        const tfr__plan *p = session->used[i];
        if (p->graph == session->graph)
            stats.n_unplanned -= p->end - p->first;
        stats.n_nodes += p->n_placed;
        stats.n_steps += p->n_steps;
        stats.n_launches += p->n_launches;
        stats.n_reorders += p->n_reorders;
        stats.n_copies += p->n_copies;
        stats.n_waits += p->n_syncs;
        stats.n_programs += p->n_programs;
        stats.n_fallbacks += p->n_fallbacks;
        for (uint32_t k = 0; k < p->n_placed; k++)
            stats.n_math_mode += p->placed[k].math_mode;
        stats.copy_bytes += p->copy_bytes;
        tfr__captures_count(p, &stats.n_captures, &stats.n_captured);
        tfr__plan_count_skipped(p, &stats.n_copies, &stats.n_reorders, &stats.copy_bytes);
        stats.arena_bytes += p->arena_bytes;
        stats.arena_lower_bound += p->arena_lower_bound;
    }
    stats.n_runs = session->plans.kernel.run;
    stats.n_plans = session->n_plans;
    stats.plan_ns = session->plan_ns;
    stats.variable_moves = session->variables.n_moves;
    stats.n_plans_dropped = session->n_plans_dropped;
    stats.size = out->size < sizeof stats ? out->size : (uint32_t)sizeof stats;
    memcpy(out, &stats, stats.size);
    return TFR_OK;
}

uint32_t tfr_session_n_passes(const tfr_session *session)
{
    uint32_t n = 0;
    for (uint32_t p = 0; session->passes && p < TFR__N_PASSES; p++)
        n += session->passes[p].rounds != 0;
    return n;
}

tfr_status tfr_session_pass(const tfr_session *session, uint32_t i, tfr_pass *out, tfr_err *err)
{
    tfr_pass pass;
    uint32_t p = 0;
    if (i >= tfr_session_n_passes(session))
        return tfr_fail(err, TFR_EINVAL, "there is no pass %u, %u ran", i,
                        tfr_session_n_passes(session));
    while (!session->passes[p].rounds || i--)
        p++;
    pass = tfr__pass_view(&session->passes[p]);
    pass.size = out->size < sizeof pass ? out->size : (uint32_t)sizeof pass;
    memcpy(out, &pass, pass.size);
    return TFR_OK;
}
