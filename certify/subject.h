/* SPDX-License-Identifier: Apache-2.0 */
/* subject.h: the plugin under test in a runtime, and how the checks write their verdicts. */
#ifndef TFR_CERTIFY_SUBJECT_H
#define TFR_CERTIFY_SUBJECT_H

#include "certify.h"
#include "engine.h"

#define CERTIFY_REFERENCE "naive:0"

struct certify_subject {
    const certify_options *options;
    ops_run run; /* its runtime, and the plugin's backend if there is one */
    tfr_plugin_desc plugin;
    tfr_backend_desc backend;
    char name[64];                /* of the backend */
    struct direct_device *direct; /* its device as the direct host has it, or NULL */
};

/* A runtime with the plugin's file; TFR_ENOTFOUND if its row is not there. */
TFR_MUST_CHECK tfr_status certify_open(const certify_options *options, certify_subject **out,
                                       tfr_err *err);
/* The backend that the options name; TFR_ENOTFOUND without it, or without the reference. */
TFR_MUST_CHECK tfr_status certify_find_backend(certify_subject *subject, tfr_err *err);

/* The plugin broke its word since the runtime was made; the text of its row says how. */
bool certify_is_broken(certify_subject *subject);

/* Sets the result and a formatted text. */
void certify_set(certify_verdict *v, certify_result result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Why the plugin did not take a call, the first time: of the core's sentence what the plugin said.
 */
void certify_keep_refusal(const certify_subject *subject, const char *text, char *out, size_t n);
/* Adds what a call was. */
void certify_set_call(certify_verdict *v, const ops_call *call);
/* Says where the check is. */
void certify_tell_place(const certify_options *options, const char *name, uint64_t seed,
                        const char *what);

/* Does `ops` of the options allow it? */
bool certify_is_wanted_op(const certify_options *options, const tfr_op_desc *op);
/* Does the backend claim row `op` of the op table? */
bool certify_claims(const certify_subject *subject, uint32_t op);
/* Is the description of this op? */
bool certify_is_case_of(const ops_case *description, const tfr_op_desc *op);
/* "Relu", "ai.onnx.ml.Scaler". */
void certify_op_name(const tfr_op_desc *op, char *text, size_t n);

/* A call that the plugin takes in this way of giving its inputs. */
typedef struct certify_found {
    ops_call call;
    ops_how how;
} certify_found;

/* At most one call an op, and `most`; their number. The caller finishes them. */
uint32_t certify_find_calls(certify_subject *subject, certify_found *found, uint32_t most);

/* ---- the checks ------------------------------------------------------------------------------ */

typedef enum certify_way {
    CERTIFY_VALUES,
    CERTIFY_STRIDED,
    CERTIFY_UNALIGNED,
    CERTIFY_CONSTANTS,
    CERTIFY_EMPTY,
    CERTIFY_REPEATED,
    CERTIFY_HOSTILE,
    CERTIFY_MEMORY,
    CERTIFY_IN_PLACE,
    CERTIFY_DYNAMIC,
    CERTIFY_N_WAYS
} certify_way;

/* check_ops.c */
void certify_check_op(certify_subject *subject, const tfr_op_desc *op, certify_way way,
                      certify_verdict *v);
/* check_memory.c: the last three ways */
void certify_check_memory(certify_subject *subject, const tfr_op_desc *op, certify_way way,
                          certify_verdict *v);
/* check_facts.c */
void certify_check_note(certify_subject *subject, certify_verdict *v);
void certify_check_devices(certify_subject *subject, certify_verdict *v);
void certify_check_claims(certify_subject *subject, certify_verdict *v);
/* check_life.c */
void certify_check_life(certify_subject *subject, certify_verdict *v);
void certify_check_two_runtimes(certify_subject *subject, certify_verdict *v);
void certify_check_threads(certify_subject *subject, certify_verdict *v);
void certify_check_leaks(certify_subject *subject, certify_verdict *v);
/* check_copy.c */
void certify_check_copies(certify_subject *subject, certify_verdict *v);
/* check_queue.c */
void certify_check_queues(certify_subject *subject, certify_verdict *v);
void certify_check_enqueue(certify_subject *subject, certify_verdict *v);
/* check_failure.c */
void certify_check_failure(certify_subject *subject, certify_verdict *v);
void certify_check_abort(certify_subject *subject, certify_verdict *v);
void certify_check_loss(certify_subject *subject, certify_verdict *v);
/* check_program.c */
void certify_check_programs(certify_subject *subject, certify_verdict *v);
void certify_check_variables(certify_subject *subject, certify_verdict *v);
/* Puts exact ops that the plugin claims behind the calls of the run, until the end; false if it
 * compiles no programs, or claims none of them. */
bool certify_chain_begin(certify_subject *subject);
void certify_chain_end(certify_subject *subject);
/* Are the call's outputs, which these were, for such ops? */
bool certify_may_chain(const ops_call *call, tfr_tensor *const *outputs);
/* check_room.c */
void certify_check_out_of_memory(certify_subject *subject, certify_verdict *v);
void certify_check_limit(certify_subject *subject, certify_verdict *v);
void certify_check_two_devices(certify_subject *subject, certify_verdict *v);

#endif
