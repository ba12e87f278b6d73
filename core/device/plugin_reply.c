/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_reply.c: the format in which the probe child answers, and in which the cache remembers.
 * Written by our own code, but in a process where a plugin's code ran: the reader believes nothing.
 *
 *   head    magic "TFRREPL6", u64 bytes of the body, u64 tfr__hash_words of the body
 *   body    i32 outcome, i32 code, u32 abi_minor, texts, u32 ops, ops, u32 devices, devices
 *   op      texts, i32 versions x 2, u32 flags, u32 functions, u64 shape arguments
 *   device  u32 ordinal, texts, u64 memory x 2, u32 clock, i32 node, i32 unusable, text, claims
 *   text    u32 bytes, bytes (no zero among them), a zero
 *
 * Numbers are in the machine's order: a reply never leaves it.
 */
#include "base/hash.h"
#include "device/loader.h"

#include "base/alloc.h"

#include <string.h>
#include <tfrun/fail.h>

static const char reply_magic[8] = {'T', 'F', 'R', 'R', 'E', 'P', 'L', '6'};

/* The longest texts that are sent and believed. */
enum {
    REPLY_OP_BYTES = 127,
    REPLY_SIGNATURE_BYTES = 1023,
    REPLY_NAME_BYTES = 31,
    REPLY_VERSION_BYTES = 127,
    REPLY_TEXT_BYTES = 2047,
    REPLY_INFO_BYTES = 8191,
    /* The least bytes that a claim and a device can have: their numbers and empty texts. */
    REPLY_OP_LEAST = 59,
    REPLY_CLAIM_LEAST = 42,
    REPLY_DEVICE_LEAST = 71
};

static uint64_t checksum(const char *body, size_t n)
{
    return tfr__hash_words(TFR__HASH_SEED, body, n);
}

/* ---- writing ---- */

typedef struct reply_out {
    char *bytes;
    size_t n, capacity;
    bool failed;
} reply_out;

static void put(reply_out *out, const void *bytes, size_t n)
{
    if (out->failed || n > TFR__REPLY_MAX_BYTES - out->n) {
        out->failed = true;
        return;
    }
    if (n > out->capacity - out->n) {
        size_t capacity = 2 * out->capacity + n + 4096;
        char *more = tfr__realloc(out->bytes, capacity);
        if (!more) {
            out->failed = true;
            return;
        }
        out->bytes = more;
        out->capacity = capacity;
    }
    memcpy(out->bytes + out->n, bytes, n);
    out->n += n;
}

/* Cuts a text to what the reader takes, and hides control bytes, which it refuses. */
static void put_text(reply_out *out, const char *text, size_t most)
{
    uint32_t n = text ? (uint32_t)strnlen(text, most) : 0;
    size_t i;
    put(out, &n, sizeof n);
    put(out, text ? text : "", n);
    put(out, "", 1);
    if (out->failed)
        return;
    for (i = out->n - n - 1; i < out->n - 1; i++)
        if (((unsigned char)out->bytes[i] < ' ' && out->bytes[i] != '\n') || out->bytes[i] == 127)
            out->bytes[i] = '?';
}

static void put_device(reply_out *out, const tfr__reply_device *d)
{
    const tfr_device_info *info = &d->info;
    uint32_t i;
    put(out, &info->ordinal, sizeof info->ordinal);
    put_text(out, info->type, sizeof info->type - 1);
    put_text(out, info->identity, sizeof info->identity - 1);
    put_text(out, info->identities, sizeof info->identities - 1);
    put_text(out, info->name, sizeof info->name - 1);
    put_text(out, info->driver, sizeof info->driver - 1);
    put_text(out, info->properties, sizeof info->properties - 1);
    put(out, &info->memory_total, sizeof info->memory_total);
    put(out, &info->memory_free, sizeof info->memory_free);
    put(out, &info->clock_khz, sizeof info->clock_khz);
    put(out, &info->numa_node, sizeof info->numa_node);
    put(out, &info->unusable, sizeof info->unusable);
    put_text(out, info->why, sizeof info->why - 1);
    put(out, &d->n_claims, sizeof d->n_claims);
    for (i = 0; i < d->n_claims; i++) {
        const tfr__reply_claim *c = &d->claims[i];
        put_text(out, c->domain, REPLY_OP_BYTES);
        put_text(out, c->name, REPLY_OP_BYTES);
        put(out, &c->numbers, sizeof c->numbers);
    }
}

static void put_op(reply_out *out, const tfr__reply_op *op)
{
    for (int t = 0; t < TFR__REPLY_OP_TEXTS; t++)
        put_text(out, op->texts[t], REPLY_SIGNATURE_BYTES);
    put(out, &op->numbers, sizeof op->numbers);
}

void *tfr__reply_write(const tfr__reply *reply, size_t *bytes)
{
    reply_out out = {0};
    char head[TFR__REPLY_HEAD_BYTES] = {0};
    uint64_t body, sum;
    uint32_t i;
    put(&out, head, sizeof head);
    put(&out, &reply->outcome, sizeof reply->outcome);
    put(&out, &reply->code, sizeof reply->code);
    put(&out, &reply->abi_minor, sizeof reply->abi_minor);
    put_text(&out, reply->text, REPLY_TEXT_BYTES);
    put_text(&out, reply->name, REPLY_NAME_BYTES);
    put_text(&out, reply->version, REPLY_VERSION_BYTES);
    put_text(&out, reply->vendor, REPLY_VERSION_BYTES);
    put_text(&out, reply->build_info, REPLY_INFO_BYTES);
    put(&out, &reply->n_ops, sizeof reply->n_ops);
    for (i = 0; i < reply->n_ops; i++)
        put_op(&out, &reply->ops[i]);
    put(&out, &reply->n_devices, sizeof reply->n_devices);
    for (i = 0; i < reply->n_devices; i++)
        put_device(&out, &reply->devices[i]);
    if (out.failed) {
        tfr__free(out.bytes);
        return NULL;
    }
    body = out.n - sizeof head;
    sum = checksum(out.bytes + sizeof head, body);
    memcpy(out.bytes, reply_magic, 8);
    memcpy(out.bytes + 8, &body, 8);
    memcpy(out.bytes + 16, &sum, 8);
    *bytes = out.n;
    return out.bytes;
}

/* ---- reading ---- */

typedef struct reply_in {
    const char *at, *end;
    tfr__region *region;
    const char *wrong; /* the first thing that is wrong, NULL = all well */
    bool no_memory;
} reply_in;

static void set_wrong(reply_in *in, const char *why)
{
    if (!in->wrong)
        in->wrong = why;
}

static void get(reply_in *in, void *out, size_t n)
{
    if (n > (size_t)(in->end - in->at)) {
        set_wrong(in, "it ends early");
        in->at = in->end;
        memset(out, 0, n);
        return;
    }
    memcpy(out, in->at, n);
    in->at += n;
}

/* The next text, which stays where it is. Control bytes but \n are refused. */
static const char *get_text(reply_in *in, uint32_t most)
{
    const char *text;
    uint32_t i, n;
    get(in, &n, sizeof n);
    text = in->at;
    if (n > most || n >= (size_t)(in->end - in->at) || text[n]) {
        set_wrong(in, "a text is longer than possible");
        return "";
    }
    for (i = 0; i < n; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\n') || text[i] == 127)
            set_wrong(in, "a text has control bytes");
    in->at += n + 1;
    return text;
}

static void get_array(reply_in *in, char *out, size_t capacity)
{
    const char *text = get_text(in, (uint32_t)capacity - 1);
    memset(out, 0, capacity);
    memcpy(out, text, strlen(text));
}

/* least: bytes that each item takes, so that no memory is taken for what is not there. */
static uint32_t get_count(reply_in *in, uint32_t most, size_t least)
{
    uint32_t n;
    get(in, &n, sizeof n);
    if (n > most || n > (size_t)(in->end - in->at) / least) {
        set_wrong(in, "a count is larger than possible");
        n = 0;
    }
    return n;
}

static bool reply_type_is_good(const char *type)
{
    if (!*type)
        return false;
    for (; *type; type++)
        if ((*type < 'A' || *type > 'Z') && *type != '_')
            return false;
    return true;
}

static void get_device(reply_in *in, tfr__reply_device *d)
{
    tfr_device_info *info = &d->info;
    uint32_t i;
    info->size = sizeof *info;
    get(in, &info->ordinal, sizeof info->ordinal);
    get_array(in, info->type, sizeof info->type);
    get_array(in, info->identity, sizeof info->identity);
    get_array(in, info->identities, sizeof info->identities);
    get_array(in, info->name, sizeof info->name);
    get_array(in, info->driver, sizeof info->driver);
    get_array(in, info->properties, sizeof info->properties);
    get(in, &info->memory_total, sizeof info->memory_total);
    get(in, &info->memory_free, sizeof info->memory_free);
    get(in, &info->clock_khz, sizeof info->clock_khz);
    get(in, &info->numa_node, sizeof info->numa_node);
    get(in, &info->unusable, sizeof info->unusable);
    get_array(in, info->why, sizeof info->why);
    if (!reply_type_is_good(info->type))
        set_wrong(in, "a device's type is not upper-case letters");
    if (!info->identity[0])
        set_wrong(in, "a device has no identity");
    d->n_claims = get_count(in, TFR__REPLY_MAX_CLAIMS, REPLY_CLAIM_LEAST);
    if (!d->n_claims)
        return;
    d->claims = tfr__region_alloc(in->region, d->n_claims, sizeof *d->claims);
    if (!d->claims) {
        in->no_memory = true;
        d->n_claims = 0;
        return;
    }
    for (i = 0; i < d->n_claims && !in->wrong; i++) {
        tfr__reply_claim *c = &d->claims[i];
        c->domain = get_text(in, REPLY_OP_BYTES);
        c->name = get_text(in, REPLY_OP_BYTES);
        get(in, &c->numbers, sizeof c->numbers);
    }
}

static void get_op(reply_in *in, tfr__reply_op *op)
{
    for (int t = 0; t < TFR__REPLY_OP_TEXTS; t++)
        op->texts[t] = get_text(in, REPLY_SIGNATURE_BYTES);
    get(in, &op->numbers, sizeof op->numbers);
}

size_t tfr__reply_bytes(const void *head)
{
    uint64_t body;
    if (memcmp(head, reply_magic, sizeof reply_magic) != 0)
        return 0;
    memcpy(&body, (const char *)head + 8, 8);
    if (body > TFR__REPLY_MAX_BYTES)
        return 0;
    return (size_t)body + TFR__REPLY_HEAD_BYTES;
}

static void get_body(reply_in *in, tfr__reply *out)
{
    uint32_t i;
    get(in, &out->outcome, sizeof out->outcome);
    get(in, &out->code, sizeof out->code);
    get(in, &out->abi_minor, sizeof out->abi_minor);
    out->text = get_text(in, REPLY_TEXT_BYTES);
    out->name = get_text(in, REPLY_NAME_BYTES);
    out->version = get_text(in, REPLY_VERSION_BYTES);
    out->vendor = get_text(in, REPLY_VERSION_BYTES);
    out->build_info = get_text(in, REPLY_INFO_BYTES);
    if (out->outcome < TFR__OUTCOME_OK || out->outcome > TFR__OUTCOME_MEMORY)
        set_wrong(in, "its outcome is not known");
    out->n_ops = get_count(in, TFR__REPLY_MAX_OPS, REPLY_OP_LEAST);
    out->ops = tfr__region_alloc(in->region, out->n_ops + 1, sizeof *out->ops);
    if (!out->ops) {
        in->no_memory = true;
        out->n_ops = 0;
    }
    for (i = 0; i < out->n_ops && !in->wrong; i++)
        get_op(in, &out->ops[i]);
    out->n_devices = get_count(in, TFR__REPLY_MAX_DEVICES, REPLY_DEVICE_LEAST);
    if (!out->n_devices)
        return;
    out->devices = tfr__region_alloc(in->region, out->n_devices, sizeof *out->devices);
    if (!out->devices) {
        in->no_memory = true;
        out->n_devices = 0;
        return;
    }
    for (i = 0; i < out->n_devices && !in->wrong; i++)
        get_device(in, &out->devices[i]);
}

tfr_status tfr__reply_read(const void *bytes, size_t n, tfr__region *region, tfr__reply *out,
                           tfr_err *err)
{
    reply_in in = {0};
    tfr__reply reply = {0};
    uint64_t sum;
    size_t whole;
    if (n < TFR__REPLY_HEAD_BYTES)
        return tfr_fail(err, TFR_EPLUGIN, "the answer has %zu bytes, its head alone has %u", n,
                        TFR__REPLY_HEAD_BYTES);
    whole = tfr__reply_bytes(bytes);
    if (!whole)
        return tfr_fail(err, TFR_EPLUGIN, "the answer of %zu bytes does not start as one", n);
    if (whole != n)
        return tfr_fail(err, TFR_EPLUGIN, "the answer says %zu bytes and has %zu", whole, n);
    memcpy(&sum, (const char *)bytes + 16, 8);
    in.at = tfr__region_span(region, bytes, n);
    if (!in.at)
        return tfr_fail(err, TFR_ENOMEM, "no memory for an answer of %zu bytes", n);
    in.end = in.at + n;
    in.at += TFR__REPLY_HEAD_BYTES;
    in.region = region;
    if (sum != checksum(in.at, n - TFR__REPLY_HEAD_BYTES))
        return tfr_fail(err, TFR_EPLUGIN, "the answer of %zu bytes has a wrong checksum", n);
    get_body(&in, &reply);
    if (in.no_memory)
        return tfr_fail(err, TFR_ENOMEM, "no memory for an answer of %zu bytes", n);
    if (in.at != in.end)
        set_wrong(&in, "it goes on after its end");
    if (in.wrong)
        return tfr_fail(err, TFR_EPLUGIN, "the answer of %zu bytes is not valid: %s", n, in.wrong);
    *out = reply;
    return TFR_OK;
}
