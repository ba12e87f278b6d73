/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm.h: groups of devices that exchange data: communicators of plugins (tfr.comm/1), and the
 * pairs of keys and values by which the ranks of a group find each other. Nothing in the core runs
 * on several devices yet.
 */
#ifndef TFR_CORE_COMM_H
#define TFR_CORE_COMM_H

#include "device/runtime.h"

/* ---- pairs; comm_store.c --------------------------------------------------------------------- */

/* What all ranks see: of this process, or, in files of a folder, of all that know the folder. */
typedef struct tfr__pairs tfr__pairs;

/* folder NULL = in this process; else it is there, is empty at first, and nobody else writes it. */
tfr_status tfr__pairs_create(const char *folder, tfr__pairs **out, tfr_err *err);
void tfr__pairs_destroy(tfr__pairs *pairs);
/* TFR_EBUSY = the key is there already. A key is a file name's worth. */
tfr_status tfr__pairs_put(tfr__pairs *pairs, const char *key, const void *value, uint64_t bytes,
                          tfr_err *err);
/*
 * Waits for the key, or for the other one, which ends it with TFR_EDEVICE and that one's value as
 * the text. *n as in tfr_comm_store.
 */
tfr_status tfr__pairs_get(tfr__pairs *pairs, const char *key, const char *other, void *out,
                          uint64_t *n, uint64_t timeout_ns, tfr_err *err);

/* ---- communicators --------------------------------------------------------------------------- */

typedef struct tfr__comm tfr__comm;

typedef struct tfr__comm_place {
    const char *group; /* a new name for each group that pairs ever saw: letters, digits, -, _ */
    uint32_t rank, n_ranks;
    tfr__pairs *pairs;   /* stay until the communicator is closed */
    uint64_t timeout_ns; /* to wait for other ranks, at first and in each collective */
} tfr__comm_place;

/* Waits for all other ranks. A rank that fails gives up the group, and the others fail, too. */
tfr_status tfr__comm_open(tfr__backend *backend, const tfr__comm_place *place, tfr__comm **out,
                          tfr_err *err);
/* The ranks from place's on, of this process, each on a thread of its own; all or none. The error
 * is of the rank that failed first. */
tfr_status tfr__comms_open(tfr__backend *const *backends, uint32_t n, const tfr__comm_place *place,
                           tfr__comm **out, tfr_err *err);
/*
 * One rank's part in a collective; size and timeout_ns are set here. Errors name group and rank.
 * What is refused here, TFR_EINVAL, and TFR_EUNSUPPORTED change nothing; any other failure ends the
 * group for all ranks.
 */
tfr_status tfr__comm_run(tfr__comm *comm, tfr_queue *queue, const tfr_collective *what,
                         tfr_err *err);
/* What one thread runs on several communicators of the backend's plugin in between is one. If its
 * end fails, abort them. */
tfr_status tfr__comm_begin(tfr__backend *backend, tfr_err *err);
tfr_status tfr__comm_end(tfr__backend *backend, tfr_err *err);
/* TFR_OK, or why the group is at its end. Never waits. */
tfr_status tfr__comm_error(tfr__comm *comm, tfr_err *err);
/* From any thread: ends the group for all ranks. */
void tfr__comm_abort(tfr__comm *comm);
/* Its work has ended. NULL is fine. */
void tfr__comm_close(tfr__comm *comm);

#endif
