/* SPDX-License-Identifier: Apache-2.0 */
/* session.h: sessions that do not hold their runtime, for the runtime's own use (immediate.c). */
#ifndef TFR_CORE_SESSION_H
#define TFR_CORE_SESSION_H

#include <tfrun/session.h>

/* As tfr_session_create, but the runtime must outlive the session. */
tfr_status tfr__session_create(tfr_runtime *runtime, tfr_graph *graph,
                               const tfr_session_options *options, tfr_session **out, tfr_err *err);
void tfr__session_destroy(tfr_session *session);

#endif
