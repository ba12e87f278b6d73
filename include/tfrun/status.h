/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/status.h: how every function of tfrun says whether it worked. The codes and tfr_err are
 * the contract's (tfrun/plugin.h), so that a plugin's error reaches the caller unchanged.
 *
 * A function that can fail returns tfr_status, 0 = TFR_OK or a negative code, and takes as its last
 * argument a tfr_err *, the caller's, which may be NULL:
 *
 *   tfr_err err = TFR_ERR_INIT;
 *   if (tfr_session_run(session, inputs, 1, outputs, 1, &err))
 *       fprintf(stderr, "%s\n", err.text);
 *
 * The text is one sentence with object, cause and numbers. Outputs are written only on success.
 * Functions of tfrun are safe to call from any thread unless their comment says otherwise.
 */
#ifndef TFRUN_STATUS_H
#define TFRUN_STATUS_H

#include <tfrun/plugin.h>

#if defined(__GNUC__)
#define TFR_API        __attribute__((visibility("default")))
#define TFR_MUST_CHECK __attribute__((warn_unused_result))
#else
#define TFR_API
#define TFR_MUST_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* "TFR_EINVAL"; "unknown status" for a number that is none. Static text. */
TFR_API const char *tfr_status_name(tfr_status status);

/* "an argument is not valid". Static text. */
TFR_API const char *tfr_status_text(tfr_status status);

/* "dtype", "size_limit"...: a reason code as the tools print it. Static text. */
TFR_API const char *tfr_reason_name(tfr_reason reason);

/* tfrun's version, "0.1.0". Static text. */
TFR_API const char *tfr_version(void);

#ifdef __cplusplus
}
#endif

#endif
