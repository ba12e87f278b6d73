/* SPDX-License-Identifier: Apache-2.0 */
/* curves.h: what the files of tfrun/curves.h share: the points, and the writer of event files. */
#ifndef TFR_NN_CURVES_H
#define TFR_NN_CURVES_H

#include <stddef.h>
#include <tfrun/curves.h>

struct tfr_curves {
    uint32_t n;
    char *names[TFR_CURVES_MAX];
    size_t n_points, capacity;
    int64_t *steps;
    double *values; /* n a point */
    char *csv;      /* its path; NULL = no files */
    int csv_fd, events_fd;
};

/* ---- curves_events.c ------------------------------------------------------------------------- */

/* Makes a new event file in the folder, with its first record. */
TFR_MUST_CHECK tfr_status tfr__events_create(const char *folder, int *fd, tfr_err *err);
/* One record with those values that are no NAN. */
TFR_MUST_CHECK tfr_status tfr__events_add(const tfr_curves *curves, int64_t step,
                                          const double *values, tfr_err *err);

/* All bytes, or errno. */
int tfr__curves_write(int fd, const void *bytes, size_t n);

#endif
