/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failure.c: a step of a plan has failed: the error that names the node, and what the backend loses
 * by it.
 */
#include <stdio.h>
#include <tfrun/fail.h>

#include "run/exec.h"
#include "run/session.h"

/* Says where; a backend whose program failed compiles none any more. */
static tfr_status program_failed(tfr_session *session, tfr__plan *p, const tfr__program *program,
                                 tfr_status status, const char *text, tfr_err *err)
{
    const char *first = p->graph->nodes[program->node].name, *backend = program->backend->name;
    if (status != TFR_EINVAL && status != TFR_ENOMEM && status != TFR_EMODEL) {
        tfr__log(session->runtime, TFR_LOG_WARNING, program->backend->plugin_name,
                 "the program of %u nodes from \"%s\" failed: %s; %s compiles no programs any more "
                 "in this process",
                 program->n_nodes, first, text, backend);
        tfr__backend_quarantine(program->backend, TFR__PROGRAMS, text);
        p->stale = true;
    }
    return tfr_fail(err, status, "program of %u nodes from \"%s\" on %s: %.400s", program->n_nodes,
                    first, backend, text);
}

/* What failed in a launch: says where, and takes the op from a backend that broke its yes. */
static tfr_status step_failed(tfr_session *session, tfr__plan *p, const tfr__step *step,
                              tfr_status status, tfr_err *err)
{
    const tfr__node *node = step->node < 0 ? NULL : &p->graph->nodes[step->node];
    tfr_err copy = TFR_ERR_INIT;
    if (err)
        snprintf(copy.text, sizeof copy.text, "%s", tfr__said(err));
    if (status == TFR_ELOST && step->backend) {
        tfr__backend_quarantine(step->backend, -1, copy.text);
        p->stale = true;
        return tfr_fail(err, TFR_ELOST, "%s is lost%s%s%s: %.400s", step->backend->name,
                        node ? " at node \"" : "", node ? node->name : "", node ? "\"" : "",
                        copy.text);
    }
    if (step->program >= 0)
        return program_failed(session, p, &p->programs[step->program], status, copy.text, err);
    if (!node && step->backend) /* work that failed on a queue, without saying whose it was */
        return tfr_fail(err, status, "%s: %.400s", step->backend->name, copy.text);
    if (!node)
        return status;
    /* EINVAL: the data are wrong (an index out of range), not the kernel. */
    if (status != TFR_EINVAL && status != TFR_ENOMEM && status != TFR_EMODEL) {
        tfr__log(session->runtime, TFR_LOG_WARNING, step->backend->plugin_name,
                 "node \"%s\" (%s) failed after a yes: %s; %s is not asked about %s again in this "
                 "process",
                 node->name, node->op->name, copy.text, step->backend->name, node->op->name);
        tfr__backend_quarantine(step->backend, (int32_t)tfr__op_number(node->op), copy.text);
        p->stale = true;
    }
    return tfr_fail(err, status, "node \"%s\" (%s) on %s: %.400s", node->name, node->op->name,
                    step->backend->name, copy.text);
}

tfr_status tfr__plan_failed(tfr_session *session, tfr__plan *p, uint32_t step, int32_t status,
                            tfr_err *err)
{
    tfr_status known = tfr__plugin_status(status, err);
    tfr_status named = step_failed(session, p, &p->steps[step], known, err);
    tfr__plan_wrote(session, p, true, step + 1);
    if (p->watch & TFR__WATCH_QUEUES) /* nothing may still run when memory is taken back */
        tfr__streams_settle(&session->streams);
    return named;
}
