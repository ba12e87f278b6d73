/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_main.c: the program tfrun-probe, which loads one plugin, asks it what there is, answers on
 * file descriptor 3 and ends. It is started by the loader only (plugin_probe.c). A plugin may do
 * its worst here: this process has nothing to lose.
 *
 *     tfrun-probe FILE NAME KIND MEGABYTES SECONDS [NAME.KEY=VALUE...]
 *
 * MEGABYTES of memory and SECONDS of processor time are the most that it may take; 0 = no limit.
 */
#include "device/loader.h"

#include "base/alloc.h"
#include "base/port/dl.h"
#include "device/probe_limits.h"
#include "op/op_foreign.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <tfrun/fail.h>
#include <unistd.h>

typedef struct answer {
    tfr__region region;
    tfr__reply reply;
    tfr__tables tables;
    char text[1024];
} answer;

static void answer_fail(answer *a, tfr__outcome outcome, int32_t code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void answer_fail(answer *a, tfr__outcome outcome, int32_t code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(a->text, sizeof a->text, format, args);
    va_end(args);
    a->reply.text = a->text;
    a->reply.outcome = (int32_t)outcome;
    a->reply.code = code;
    a->reply.n_devices = a->reply.n_ops = 0;
}

/* Fills the claims of one device. False: the answer is a failure now. */
static bool answer_claims(answer *a, tfr__reply_device *out)
{
    uint32_t capacity = 256, n = capacity, i;
    tfr_op_claim *claims = NULL;
    tfr_err err = TFR_ERR_INIT;
    int32_t status = TFR_OK;
    for (;;) {
        claims = tfr__region_alloc(&a->region, capacity, sizeof *claims);
        out->claims = tfr__region_alloc(&a->region, capacity, sizeof *out->claims);
        if (!claims || !out->claims)
            return false;
        for (i = 0; i < capacity; i++)
            claims[i].size = sizeof *claims;
        n = capacity;
        status = a->tables.kernel.ops(&out->info, claims, sizeof *claims, &n, &err);
        if (status || n <= capacity)
            break;
        if (n > TFR__REPLY_MAX_CLAIMS) {
            answer_fail(a, TFR__OUTCOME_BREACH, TFR_EPLUGIN,
                        "claims %u ops, at most %u are believed", n, TFR__REPLY_MAX_CLAIMS);
            return false;
        }
        capacity = n;
    }
    if (status) {
        answer_fail(a, TFR__OUTCOME_BREACH, status, "its slot ops returned %s: %s",
                    tfr_status_name(status), err.text);
        return false;
    }
    for (i = 0; i < n; i++) {
        tfr__reply_claim *c = &out->claims[out->n_claims];
        if (!claims[i].name)
            continue;
        c->domain = claims[i].domain ? claims[i].domain : "";
        c->name = claims[i].name;
        c->numbers.since_version = claims[i].since_version;
        c->numbers.digest = claims[i].digest;
        c->numbers.dtypes = claims[i].dtypes;
        c->numbers.dtypes_if = claims[i].dtypes_if;
        out->n_claims++;
    }
    return true;
}

/* False: the answer is a failure now. */
static bool answer_spaces(answer *a, tfr_plugin_device *device, const tfr_device_info *info)
{
    tfr_space_info spaces[16] = {{0}};
    tfr_err err = TFR_ERR_INIT;
    uint32_t n = 16, i;
    int32_t status;
    for (i = 0; i < 16; i++)
        spaces[i].size = sizeof spaces[i];
    status = a->tables.memory.spaces(device, spaces, sizeof spaces[0], &n, &err);
    if (!status)
        status = tfr__spaces_check(spaces, n < 16 ? n : 16, &a->tables.memory, info, info->identity,
                                   &err);
    if (!status)
        return true;
    answer_fail(a, TFR__OUTCOME_BREACH, status, "%s", tfr__said(&err));
    return false;
}

/*
 * Asks for the ops of a device. The host's processor is opened, too, to see whether that works, and
 * never closed; to open another device may cost others what they need.
 */
static bool answer_device(answer *a, tfr__reply_device *out)
{
    tfr_plugin_device *device = NULL;
    tfr_err err = TFR_ERR_INIT;
    int32_t status;
    if (out->info.unusable || !a->tables.kernel.ops)
        return true;
    if (strcmp(out->info.identity, "host") != 0)
        return answer_claims(a, out);
    status = a->tables.plugin.open(&out->info, NULL, &device, &err);
    if (status) {
        out->info.unusable = status == TFR_ENOMEM         ? TFR_REASON_MEMORY
                             : status == TFR_EUNSUPPORTED ? TFR_REASON_DEVICE_FEATURE
                                                          : TFR_REASON_QUARANTINED;
        snprintf(out->info.why, sizeof out->info.why, "opening it returned %s: %.200s",
                 tfr_status_name(status), err.text);
        return true;
    }
    if (!device) {
        answer_fail(a, TFR__OUTCOME_BREACH, TFR_EPLUGIN,
                    "its slot open returned TFR_OK and no device");
        return false;
    }
    return answer_spaces(a, device, &out->info) && answer_claims(a, out);
}

static bool answer_devices(answer *a)
{
    uint32_t capacity = 16, n, i;
    tfr_device_info *infos;
    tfr_err err = TFR_ERR_INIT;
    int32_t status;
    for (;;) {
        infos = tfr__region_alloc(&a->region, capacity, sizeof *infos);
        if (!infos)
            return false;
        for (i = 0; i < capacity; i++) {
            infos[i].size = sizeof *infos;
            infos[i].numa_node = -1;
        }
        n = capacity;
        status = a->tables.plugin.enumerate(infos, sizeof *infos, &n, &err);
        if (status || n <= capacity)
            break;
        if (n > TFR__REPLY_MAX_DEVICES) {
            answer_fail(a, TFR__OUTCOME_BREACH, TFR_EPLUGIN,
                        "says that there are %u devices, at most %u are believed", n,
                        TFR__REPLY_MAX_DEVICES);
            return false;
        }
        capacity = n;
    }
    if (status) {
        answer_fail(a, TFR__OUTCOME_LOOKING, status, "looking for devices returned %s: %s",
                    tfr_status_name(status), err.text);
        return false;
    }
    snprintf(a->text, sizeof a->text, "%s", err.text); /* why there are none */
    a->reply.text = a->text;
    a->reply.devices = tfr__region_alloc(&a->region, n ? n : 1, sizeof *a->reply.devices);
    if (!a->reply.devices)
        return false;
    a->reply.n_devices = n;
    for (i = 0; i < n; i++) {
        a->reply.devices[i].info = infos[i];
        if (!answer_device(a, &a->reply.devices[i]))
            return false;
    }
    return true;
}

static const char *text_of(const char *text)
{
    return text ? text : "";
}

static const char *check_op(answer *a, const tfr__reply_op *op)
{
    tfr_err err = TFR_ERR_INIT;
    const tfr__op row = {.domain = op->texts[TFR__REPLY_OP_DOMAIN],
                         .name = op->texts[TFR__REPLY_OP_NAME],
                         .inputs = op->texts[TFR__REPLY_OP_INPUTS],
                         .outputs = op->texts[TFR__REPLY_OP_OUTPUTS],
                         .attrs = op->texts[TFR__REPLY_OP_ATTRS],
                         .types = op->texts[TFR__REPLY_OP_TYPES],
                         .since_version = op->numbers.since_version,
                         .compat_version = op->numbers.compat_version,
                         .shape_args = (uint32_t)op->numbers.shape_args};
    if (op->numbers.shape_args >> 32 || op->numbers.flags & TFR_MUST_UNDERSTAND)
        return "it has flags or shape arguments that are not known here";
    if (op->numbers.flags & TFR_OP_WRITTEN && !a->tables.ops.decompose)
        return "it is to be written out, and its plugin has no slot decompose";
    return tfr__op_check(&row, &err) ? text_of(tfr__region_copy(&a->region, err.text)) : "";
}

/* The rows that it brings, each checked. False: the answer is a failure now. */
static bool answer_ops(answer *a)
{
    tfr_err err = TFR_ERR_INIT;
    tfr_op_schema *rows;
    uint32_t n;
    if (tfr__ops_ask(&a->tables.ops, &a->region, &rows, &n, &err)) {
        answer_fail(a, TFR__OUTCOME_BREACH, TFR_EPLUGIN, "%s", err.text);
        return false;
    }
    a->reply.ops = tfr__region_alloc(&a->region, n + 1, sizeof *a->reply.ops);
    if (!a->reply.ops)
        return false;
    a->reply.n_ops = n;
    for (uint32_t i = 0; i < n; i++) {
        const tfr_op_schema *s = &rows[i];
        tfr__reply_op *op = &a->reply.ops[i];
        *op = (tfr__reply_op){
            .texts = {text_of(s->domain), text_of(s->name), text_of(s->inputs), text_of(s->outputs),
                      text_of(s->attrs), text_of(s->types), ""},
            .numbers = {s->since_version, s->compat_version ? s->compat_version : s->since_version,
                        s->flags,
                        (s->decomposition ? 1u << TFR__OP_DECOMPOSITION : 0) |
                            (s->flags & TFR_OP_WRITTEN ? 1u << TFR__OP_WRITTEN : 0) |
                            (s->gradient ? 1u << TFR__OP_GRADIENT : 0),
                        s->shape_args}};
        op->texts[TFR__REPLY_OP_WRONG] = check_op(a, op);
    }
    return true;
}

static void answer_ask(answer *a, const char *path, const char *name, uint32_t kind)
{
    const tfr_plugin *given = NULL;
    tfr_err err = TFR_ERR_INIT;
    tfr_plugin_entry_fn entry;
    int32_t status;
    void *library = tfr__dl_open(path, &err);
    if (!library) {
        answer_fail(a, TFR__OUTCOME_LINK, err.code, "%s", err.text);
        return;
    }
    entry = tfr__dl_entry(library);
    if (!entry) {
        answer_fail(a, TFR__OUTCOME_ENTRY, TFR_EPLUGIN,
                    "does not export tfrun_plugin_v%d, the entry of plugin ABI %d", TFR_ABI_MAJOR,
                    TFR_ABI_MAJOR);
        return;
    }
    status = entry(tfr__host(), &given, &err);
    if (status) {
        answer_fail(a, TFR__OUTCOME_REFUSED, status, "its entry returned %s: %s",
                    tfr_status_name(status), err.text);
        return;
    }
    if (tfr__tables_import(given, name, kind, &a->tables, &err)) {
        answer_fail(a, TFR__OUTCOME_BREACH, TFR_EPLUGIN, "%s", err.text);
        return;
    }
    a->reply.abi_minor = a->tables.plugin.abi_minor;
    a->reply.name = a->tables.plugin.name;
    a->reply.version = a->tables.plugin.version;
    a->reply.vendor = a->tables.plugin.vendor;
    a->reply.build_info = a->tables.plugin.build_info;
    if (!a->tables.has_ops || answer_ops(a))
        answer_devices(a);
}

static bool probe_write(const char *bytes, size_t n)
{
    while (n) {
        ssize_t done = write(TFR__PROBE_FD, bytes, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes += done;
        n -= (size_t)done;
    }
    return true;
}

/* The answer for a plugin that takes more memory than there is, made while there is some. */
static bool set_limits(const char *megabytes, const char *seconds)
{
    static char text[128];
    tfr__reply end = {.outcome = TFR__OUTCOME_MEMORY, .code = TFR_ENOMEM, .text = text};
    uint64_t memory = strtoull(megabytes, NULL, 10);
    size_t bytes;
    static void *written; /* kept for ever */
    snprintf(text, sizeof text, "took all of the %llu MB that a new plugin gets when it was loaded",
             (unsigned long long)memory);
    end.name = end.version = end.vendor = end.build_info = "";
    written = tfr__reply_write(&end, &bytes);
    if (written)
        probe_limits_set(memory, strtoull(seconds, NULL, 10), written, bytes);
    return written != NULL;
}

int main(int argc, char **argv)
{
    tfr__loader loader = {0};
    answer a = {0};
    struct stat st;
    size_t bytes;
    void *reply;
    int i;
    if (argc < 6 || fstat(TFR__PROBE_FD, &st) != 0) {
        fprintf(stderr, "tfrun-probe: started by tfrun to meet a plugin; of no other use\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!set_limits(argv[4], argv[5]))
        return 1;
    for (i = 6; i < argc; i++) {
        char *equal = strchr(argv[i], '=');
        if (!equal)
            continue;
        *equal = 0;
        if (tfr__config_add(&loader.config, argv[i], equal + 1, "tfrun"))
            return 1;
    }
    tfr__host_attach(&loader);
    tfr__host_begin_probe();
    a.reply.text = a.reply.name = a.reply.version = a.reply.vendor = a.reply.build_info = "";
    answer_ask(&a, argv[1], argv[2], (uint32_t)strtoul(argv[3], NULL, 10));
    reply = tfr__reply_write(&a.reply, &bytes);
    fflush(NULL); /* what the plugin printed is counted */
    if (!reply || !probe_write(reply, bytes))
        _exit(1);
    _exit(0); /* not exit: a plugin's destructors have no say any more */
}
