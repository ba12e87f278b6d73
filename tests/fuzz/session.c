/* SPDX-License-Identifier: Apache-2.0 */
/* session.c: one run of a case in a session with given settings, and what all ways share. */
#include <stdarg.h>
#include <string.h>

#include "child.h"

bool fuzz_fail(fuzz_context *context, const char *kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    snprintf(context->report->kind, sizeof context->report->kind, "%s", kind);
    vsnprintf(context->report->text, sizeof context->report->text, format, args);
    va_end(args);
    return false;
}

void fuzz_stage(fuzz_context *context, const char *stage)
{
    snprintf(context->report->stage, sizeof context->report->stage, "%s", stage);
    fuzz_child_begin_case();
}

tfr_status fuzz_run(fuzz_context *context, const fuzz_case *c, const fuzz_setting *setting,
                    tfr_tensor **outputs, tfr_err *err)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    memset(outputs, 0, c->n_outputs * sizeof(tfr_tensor *));
    fuzz_stage(context, setting->name);
    options.device = setting->device;
    options.passes = setting->passes;
    options.no_programs = setting->no_programs;
    options.fallback = TFR_FALLBACK_ALLOW;
    tfr_status status = tfr_session_create(context->runtime, c->graph, &options, &session, err);
    if (!status)
        status = tfr_session_run(session, c->inputs, c->n_inputs, outputs, c->n_outputs, err);
    tfr_session_destroy(session);
    return status;
}

void fuzz_release(tfr_tensor **outputs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        tfr_tensor_release(outputs[i]);
    memset(outputs, 0, n * sizeof(tfr_tensor *));
}

bool fuzz_varies(const fuzz_msg *msg)
{
    for (size_t i = 0; i < msg->n; i++) {
        const fuzz_field *f = &msg->fields[i];
        if (msg->type == FUZZ_NODE && f->number == FUZZ_NODE_OP && f->data) {
            const char *op = (const char *)f->data;
            if (strncmp(op, "Random", 6) == 0 || strcmp(op, "Bernoulli") == 0 ||
                strcmp(op, "Multinomial") == 0 || strcmp(op, "Dropout") == 0)
                return true;
        }
        if (f->msg && fuzz_varies(f->msg))
            return true;
    }
    return false;
}
