/* SPDX-License-Identifier: Apache-2.0 */
/* exec.h: runs a plan. */
#ifndef TFR_CORE_EXEC_H
#define TFR_CORE_EXEC_H

#include "run/frame.h"

tfr_status tfr__plan_run(tfr_session *session, tfr__plan *plan, tfr__frame *frame, tfr_err *err);
/* The steps alone, with everything in place; run numbers the run. An error names the node. */
tfr_status tfr__plan_walk(tfr_session *session, tfr__plan *plan, uint64_t run, tfr_err *err);
/* For a plan that is watched, or traced. False: nothing is in the way of a plain walk. */
__attribute__((cold)) bool tfr__plan_walk_special(tfr_session *session, tfr__plan *plan,
                                                  uint64_t run, tfr_err *err, tfr_status *status);

/* Notes which variables the plan has written: all, or, failed, those whose old state the steps
 * before `end` may have overwritten. failure.c */
void tfr__plan_wrote(tfr_session *session, const tfr__plan *plan, bool failed, uint32_t end);
/* Some queue is stuck: what the plan was given and gives now lives as long as the plan. */
void tfr__plan_hold(tfr__plan *plan, const tfr__frame *frame);

/* What a walk does with a call that failed: settles the session, gives the error that names it.
 * failure.c */
tfr_status tfr__plan_failed(tfr_session *session, tfr__plan *plan, uint32_t step, int32_t status,
                            tfr_err *err);
/* TFR_ETIMEOUT with what the run was doing: a verb, and a node or NULL, on a backend or NULL. */
tfr_status tfr__run_timed_out(const tfr_session *session, uint64_t deadline, const char *doing,
                              const tfr__node *node, const tfr__stream *stream, tfr_err *err);

#endif
