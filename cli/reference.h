/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference.h: a warning where the reference backend holds a model up. naive computes one element
 * at a time; it is there so that every op runs, not to be fast.
 */
#ifndef TFR_CLI_REFERENCE_H
#define TFR_CLI_REFERENCE_H

#include "cli.h"

/*
 * Is a run of this session to be traced for the warning? So if a node is on naive, or may be, in
 * the body of a Loop, and there are faster backends, which nobody has ruled out. The session has a
 * plan.
 */
bool cli_reference_may_matter(const cli_args *args, const tfr_runtime *runtime,
                              const tfr_session *session);

/*
 * Prints one line to standard error if naive took more than 2 % of the traced runs, and at least
 * least_seconds of each. The trace has stopped; events that did not fit are not counted.
 */
void cli_reference_tell(const cli_args *args, const tfr_session *session, double least_seconds);

#endif
