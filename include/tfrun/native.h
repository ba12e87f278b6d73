/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/native.h: the driver's own objects, for programs that work with a device's driver besides
 * tfrun: its context for a communication library, its queue for kernels of their own. A kind is a
 * word of the plugin, such as "cuda.stream"; TFR_EUNSUPPORTED says which ones there are. A handle
 * that is no pointer comes, and is given, as one by way of uintptr_t.
 *
 * A name of a device ("GPU:0") means each of its backends that knows the kind, first the one that
 * is asked first; one of a backend ("acme:0") means that one alone.
 */
#ifndef TFRUN_NATIVE_H
#define TFRUN_NATIVE_H

#include <tfrun/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A handle of a device, which is opened if need be. It is the plugin's: destroy nothing by it. It
 * is valid until the runtime is gone, and it is what it is of a device that was lost, too. [any]
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_runtime_native(tfr_runtime *runtime, const char *device,
                                                     const char *kind, void **out, tfr_err *err);

/*
 * A handle of the session's queue on a device, which is made if need be. It is valid until the
 * session is destroyed, gets another queue, or has a run that fails: after that ask again. Work
 * that you put on it between runs is in order with them.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_session_native(tfr_session *session, const char *device,
                                                     const char *kind, void **out, tfr_err *err);

/*
 * From now on the session puts its work on your queue, behind what is on it already; kind NULL
 * gives it one of its own again. Waits for what the session has put on the one before. For the
 * plans and bindings that there are, too; on an error all stays as it was.
 *
 * - The queue is yours: the session does not destroy it, and you keep it until the session is
 *   destroyed or has another one. A run of a session with a timeout may leave work on it that does
 *   not end; then keep it until that has ended.
 * - Put nothing on it while the session runs, nor from two threads at once.
 * - A run ends by waiting for the queue, hence for your work on it as well, whose time counts as
 * the run's. Your work is not given up when the time is over.
 * - If work on it fails, be it yours, so does the run, and so do all later ones until the session
 *   has another queue.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_session_set_queue(tfr_session *session, const char *device,
                                                        const char *kind, void *queue,
                                                        tfr_err *err);

#ifdef __cplusplus
}
#endif

#endif
