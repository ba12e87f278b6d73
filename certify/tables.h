/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables.h: the plugin's own tables, for checks that call its slots themselves, and a copy of the
 * last call that the core had prepared: calls in the form in which only the core makes them.
 */
#ifndef TFR_CERTIFY_TABLES_H
#define TFR_CERTIFY_TABLES_H

#include <stdbool.h>
#include <tfrun/plugin.h>

/* Zero-filled to this header's sizes. */
typedef struct certify_tables {
    tfr_plugin plugin;
    tfr_memory_facet memory;
    tfr_kernel_facet kernel;
    tfr_queue_facet queue; /* all NULL: the device is synchronous */
} certify_tables;

/* For tfr_runtime_options.wrap; user is the plugin's file, a path. */
const struct tfr_plugin *certify_wrap(void *user, const char *path, const tfr_plugin *table);

/* NULL before a device of the plugin was opened in this process. */
const certify_tables *certify_plugin_tables(void);

/* ---- calls ----------------------------------------------------------------------------------- */

typedef struct certify_chunk certify_chunk;

/* A call with all that it points to. */
typedef struct certify_copy {
    tfr_call *call;
    certify_chunk *chunks; /* but for the data of operands, which are apart */
    certify_chunk *data;
} certify_copy;

/* False if memory is out; then nothing is to be freed. */
bool certify_copy_call(const tfr_call *call, certify_copy *out);
/* Makes all but the data of operands unusable, as it is when prepare has returned. */
void certify_copy_poison(certify_copy *copy);
/* The data of one input, as they are when prepare has consumed it. */
void certify_copy_poison_input(certify_copy *copy, uint32_t i);
void certify_copy_free(certify_copy *copy);

/* From now on the last call of this op that is prepared is kept; NULL = none any more. */
void certify_record(const char *op);
/* It becomes the caller's; false if there was none. */
bool certify_recorded(certify_copy *out);

/* ---- allocations ----------------------------------------------------------------------------- */

/* Allocation number n from now on, from 0, gets TFR_ENOMEM, and so do `more` after it. */
void certify_fail_alloc(uint32_t n, uint32_t more);
/* How many there were since then; none fails any more. */
uint32_t certify_stop_failing(void);

#endif
