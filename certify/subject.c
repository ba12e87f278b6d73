/* SPDX-License-Identifier: Apache-2.0 */
/* subject.c: see subject.h. */
#include "direct.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tfrun/fail.h>

enum { N_SEEDS = 24, N_TRIES = 6 };

/* ---- verdicts -------------------------------------------------------------------------------- */

void certify_set(certify_verdict *v, certify_result result, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(v->text, sizeof v->text, format, list);
    va_end(list);
    v->result = (int32_t)result;
}

void certify_set_call(certify_verdict *v, const ops_call *call)
{
    FILE *file = fmemopen(v->call, sizeof v->call, "w");
    if (!file)
        return;
    ops_print_call(file, call);
    fclose(file);
    v->call[sizeof v->call - 1] = 0;
}

void certify_tell_place(const certify_options *options, const char *name, uint64_t seed,
                        const char *what)
{
    if (!options->place)
        return;
    if (name)
        snprintf(options->place, options->place_capacity, "%s:%llu, %s", name,
                 (unsigned long long)seed, what);
    else
        options->place[0] = 0;
}

void certify_keep_refusal(const certify_subject *s, const char *text, char *out, size_t n)
{
    char says[80];
    if (*out)
        return;
    snprintf(says, sizeof says, "%s says ", s->name);
    const char *at = strstr(text, says);
    at = at ? at + strlen(says) : text;
    snprintf(out, n, "%.*s", (int)strcspn(at, ";"), at);
}

/* ---- the runtime ----------------------------------------------------------------------------- */

/* No call of a description is worth a warning, so one is kept for whoever judges the call. */
static void hear(void *user, tfr_log_level level, const char *who, const char *text)
{
    certify_subject *subject = user;
    /* A bad size that makes gigabytes is announced, and refused by who cannot have them. */
    const bool is_announced = strcmp(who, "session") == 0 && strstr(text, " of memory");
    if (level <= TFR_LOG_WARNING && !is_announced)
        snprintf(subject->run.talk, sizeof subject->run.talk, "%s: %s", who, text);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static tfr_status find_plugin(certify_subject *s, tfr_err *err)
{
    s->plugin = (tfr_plugin_desc){.size = sizeof s->plugin};
    for (uint32_t i = 0; !tfr_runtime_plugin(s->run.runtime, i, &s->plugin, NULL); i++)
        if (is_same_file(s->plugin.path, s->options->file))
            return TFR_OK;
    return tfr_fail(err, TFR_ENOTFOUND, "%s is not among the plugins that were found",
                    s->options->file);
}

tfr_status certify_open(const certify_options *options, certify_subject **out, tfr_err *err)
{
    tfr_runtime_options runtime = options->runtime;
    certify_subject *s = calloc(1, sizeof *s);
    tfr_status status;
    *out = NULL;
    if (!s)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a check");
    s->options = options;
    s->run =
        (ops_run){.backend = s->name, .first_seed = 1, .n_seeds = N_SEEDS, .backend_index = -1};
    runtime.log_level = TFR_LOG_WARNING;
    runtime.log = hear;
    runtime.log_user = s;
    runtime.wrap = certify_wrap;
    runtime.wrap_user = (void *)(uintptr_t)options->file;
    status = tfr_runtime_create(&runtime, &s->run.runtime, err);
    if (!status)
        status = find_plugin(s, err);
    if (status) {
        certify_finish(s);
        return status;
    }
    *out = s;
    return TFR_OK;
}

void certify_finish(certify_subject *s)
{
    if (!s)
        return;
    if (s->direct)
        direct_close(s->direct);
    free(s->direct);
    tfr_runtime_release(s->run.runtime);
    free(s);
}

/* The plugin's backend of a device, from backend number `first` on. */
static bool find_on(certify_subject *s, uint32_t device, uint32_t first)
{
    s->backend = (tfr_backend_desc){.size = sizeof s->backend};
    for (uint32_t b = first; !tfr_runtime_backend(s->run.runtime, device, b, &s->backend, NULL);
         b++) {
        if (strcmp(s->backend.path, s->plugin.path) != 0)
            continue;
        s->run.device = device;
        s->run.backend_index = (int32_t)b;
        snprintf(s->name, sizeof s->name, "%s", s->backend.name);
        s->run.is_reference = strcmp(s->name, CERTIFY_REFERENCE) == 0;
        return true;
    }
    return false;
}

tfr_status certify_find_backend(certify_subject *s, tfr_err *err)
{
    const char *wanted = s->options->device;
    uint32_t device = 0;
    int32_t backend = -1;
    tfr_status status;
    if (s->run.backend_index >= 0)
        return TFR_OK;
    status = tfr_runtime_find(s->run.runtime, CERTIFY_REFERENCE, &device, &backend, err);
    if (!status && wanted)
        status = tfr_runtime_find(s->run.runtime, wanted, &device, &backend, err);
    if (status)
        return status;
    if (wanted) {
        if (find_on(s, device, backend < 0 ? 0 : (uint32_t)backend) &&
            (backend < 0 || backend == s->run.backend_index))
            return TFR_OK;
        s->run.backend_index = -1;
        return tfr_fail(err, TFR_ENOTFOUND, "plugin %s does not drive %s", s->plugin.name, wanted);
    }
    for (device = 0; device < tfr_runtime_n_devices(s->run.runtime); device++)
        if (find_on(s, device, 0))
            return TFR_OK;
    return tfr_fail(err, TFR_EDEVICE, "plugin %s drives no device here", s->plugin.name);
}

bool certify_is_broken(certify_subject *s)
{
    tfr_err err = TFR_ERR_INIT;
    return !find_plugin(s, &err) && s->plugin.state == TFR_PLUGIN_QUARANTINED;
}

/* ---- ops ------------------------------------------------------------------------------------- */

bool certify_claims(const certify_subject *s, uint32_t op)
{
    return tfr_runtime_claims(s->run.runtime, s->run.device, (uint32_t)s->run.backend_index, op);
}

bool certify_is_case_of(const ops_case *description, const tfr_op_desc *op)
{
    size_t n = strcspn(description->name, "/");
    return strcmp(description->domain ? description->domain : "", op->domain) == 0 &&
           strlen(op->name) == n && strncmp(description->name, op->name, n) == 0;
}

void certify_op_name(const tfr_op_desc *op, char *text, size_t n)
{
    snprintf(text, n, "%s%s%s", op->domain, *op->domain ? "." : "", op->name);
}

bool certify_is_wanted_op(const certify_options *options, const tfr_op_desc *op)
{
    char name[64];
    const char *at = options->ops;
    certify_op_name(op, name, sizeof name);
    while (at && *at) { /* with its domain, or without */
        size_t n = strcspn(at, ",");
        if ((strlen(name) == n && strncmp(at, name, n) == 0) ||
            (strlen(op->name) == n && strncmp(at, op->name, n) == 0))
            return true;
        at += n + (at[n] == ',');
    }
    return !options->ops;
}

/* A call of the op that the plugin takes. */
static bool find_call(certify_subject *s, const tfr_op_desc *op, certify_found *out)
{
    const ops_case *description;
    for (uint32_t cursor = 0; (description = ops_next_case(&cursor)) != NULL;) {
        if (!certify_is_case_of(description, op) || description->varies)
            continue;
        /* Some backends want to know all inputs but the first. */
        for (uint64_t seed = 1; seed <= N_TRIES; seed++) {
            tfr_err err = TFR_ERR_INIT;
            tfr_status status;
            out->how = seed % 2 ? OPS_PLAIN : OPS_CONSTANTS;
            ops_make(description, seed, 0, NULL, &out->call);
            certify_tell_place(s->options, description->name, seed, ops_how_names[out->how]);
            if (ops_prepare_call(&s->run, s->name, &out->call, out->how, &status, &err) == OPS_RAN)
                return true;
            ops_call_finish(&out->call);
        }
    }
    return false;
}

uint32_t certify_find_calls(certify_subject *s, certify_found *found, uint32_t most)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < tfr_op_count() && n < most; i++) {
        tfr_op_desc op = {.size = sizeof op};
        if (!tfr_op_describe(i, &op, NULL) && certify_claims(s, i) &&
            certify_is_wanted_op(s->options, &op) && find_call(s, &op, &found[n]))
            n++;
    }
    return n;
}
