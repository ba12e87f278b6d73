/* SPDX-License-Identifier: Apache-2.0 */
/* placement.h: what passes did to a session's graph, where the nodes of its last plan run
 * and why, and what the plan costs. */
#ifndef TFR_CLI_PLACEMENT_H
#define TFR_CLI_PLACEMENT_H

#include "cli.h"
#include "json.h"

/* A table with a row for each node. */
TFR_MUST_CHECK tfr_status cli_print_placements(const tfr_session *session, tfr_err *err);
/* Lines: steps, copies and bytes, arena, and one that sums up what fell back. */
TFR_MUST_CHECK tfr_status cli_print_stats(const tfr_session *session, tfr_err *err);

/* What each pass did that changed something. */
void cli_print_passes(const tfr_session *session);

/* A line for each program, and what its backend says of it. */
void cli_print_programs(const tfr_session *session);

json_t *cli_json_programs(const tfr_session *session);
json_t *cli_json_placements(const tfr_session *session);
json_t *cli_json_pass(const tfr_pass *pass);
json_t *cli_json_passes(const tfr_session *session);
json_t *cli_json_stats(const tfr_session *session);

#endif
