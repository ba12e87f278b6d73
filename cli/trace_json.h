/* SPDX-License-Identifier: Apache-2.0 */
/* trace_json.h: a session's trace as a file that Perfetto and chrome://tracing open. */
#ifndef TFR_CLI_TRACE_JSON_H
#define TFR_CLI_TRACE_JSON_H

#include "cli.h"

/* The events that fit; more are counted. Their memory is taken as they come. */
#define CLI_TRACE_EVENTS (1u << 20)

/* Events in order of time: whole ones before their parts. What is no record has its own number as
 * parent, so that a launch and its records have the same. *out is freed with free. */
TFR_MUST_CHECK tfr_status cli_trace_events(const tfr_session *session, tfr_trace_event **out,
                                           uint32_t *n, uint64_t *n_dropped, tfr_err *err);

const char *cli_trace_kind(const tfr_trace_event *event);

/* Stops the trace, and writes the file of --trace; says so when events did not fit. */
TFR_MUST_CHECK tfr_status cli_trace_end(const cli_args *args, tfr_session *session, tfr_err *err);
/* Writes the file, whole or not at all. title is the model's name. */
TFR_MUST_CHECK tfr_status cli_trace_save(const tfr_session *session, const char *title,
                                         const char *path, tfr_err *err);

#endif
