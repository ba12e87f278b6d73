/* SPDX-License-Identifier: Apache-2.0 */
/* normal_form.c: the normal form of an op's calls, as plugin_normal.h says it, and the digest that
 * covers it. */
#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "op/op.h"

/* Of each row domain and name, which take half as much without addresses; forms are shared. */
static const char names[] =
#define ROW(domain, name, version, form) domain "\0" name "\0"
    TFR_NORMAL_FORM_LIST(ROW)
#undef ROW
    ;

static const char *const forms[] = {
#define ROW(domain, name, version, form) form,
    TFR_NORMAL_FORM_LIST(ROW)
#undef ROW
};

static const struct {
    uint8_t bytes, version;
} rows[] = {
#define ROW(domain, name, version, form) {sizeof(domain "\0" name), version},
    TFR_NORMAL_FORM_LIST(ROW)
#undef ROW
};

const char *tfr__op_normal_form(const tfr__op *op, uint32_t *version)
{
    const char *at = names;
    *version = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; at += rows[i++].bytes)
        if (strcmp(at, op->domain) == 0 && strcmp(at + strlen(at) + 1, op->name) == 0) {
            *version = rows[i].version;
            return forms[i];
        }
    return "";
}

/* The digits of a number, ended by `last`, at `at`; where they end. */
static char *put_number(char *at, uint32_t number, char last)
{
    uint32_t above = 1;
    while (number / above > 9)
        above *= 10;
    for (; above; above /= 10)
        *at++ = (char)('0' + number / above % 10);
    *at = last;
    return at + 1;
}

/* For each claim of each plugin at the start of a process, so that printf would show. */
uint64_t tfr__op_digest_with(const tfr__op *op, uint32_t all, uint32_t version, const char *form)
{
    char versions[32];
    const char *parts[] = {op->domain, op->name, op->inputs, op->outputs,
                           op->attrs,  versions, form};
    uint64_t hash = TFR__HASH_SEED;
    put_number(put_number(versions, all, '.'), version, '\0');
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (i)
            hash = tfr__hash(hash, "|", 1);
        hash = tfr__hash(hash, parts[i], strlen(parts[i]));
    }
    return hash ? hash : 1; /* 0 means "not compared" in a claim */
}

/* Each call has it, so it is kept once it is known. */
uint64_t tfr__op_digest(const tfr__op *op)
{
    _Atomic uint64_t *kept = tfr__op_kept_digest(op);
    uint64_t digest = kept ? atomic_load_explicit(kept, memory_order_relaxed) : 0;
    uint32_t version;
    const char *form;
    if (digest)
        return digest;
    form = tfr__op_normal_form(op, &version);
    digest = tfr__op_digest_with(op, TFR_NORMAL_FORM, version, form);
    if (kept)
        atomic_store_explicit(kept, digest, memory_order_relaxed);
    return digest;
}
