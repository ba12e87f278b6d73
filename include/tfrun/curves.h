/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/curves.h (libtfrun-nn): keeps what a training measures, numbers by step, in files that
 * other programs show: event files for TensorBoard, a CSV, and a plot in SVG.
 *
 * Threads: one at a time for each set of curves.
 */
#ifndef TFRUN_CURVES_H
#define TFRUN_CURVES_H

#include <tfrun/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfr_curves tfr_curves;

/* Columns of a set, at most. */
#define TFR_CURVES_MAX 32

/*
 * n curves by name, such as "loss/train"; those with the same word before the slash are shown in
 * one diagram. Names have no comma and no line break and are copied.
 *
 * folder is made if it is not there and gets "curves.csv", with a column "step" in front, and a
 * file "events.out.tfevents.SECONDS.HOST.PID" for TensorBoard. NULL: points are only kept for a
 * plot. from < 0 begins anew and replaces the CSV. Else a training goes on that has made `from`
 * steps: points of the CSV behind that are dropped from it, and the others belong to the set as if
 * they had been added. TFR_EMODEL if that file has other columns; TFR_EIO.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_curves_create(const char *folder, const char *const *names,
                                                    uint32_t n, int64_t from, tfr_curves **out,
                                                    tfr_err *err);
/* NULL is fine. */
TFR_API void tfr_curves_destroy(tfr_curves *curves);

/*
 * A point of each curve; NAN = it has none at this step. The files have it when this returns. After
 * TFR_EIO (no space) the set has the point, and the next call tries the files again.
 */
TFR_API TFR_MUST_CHECK tfr_status tfr_curves_add(tfr_curves *curves, int64_t step,
                                                 const double *values, tfr_err *err);

/* Replaces the file with a plot of all points so far when it is whole. title may be NULL. */
TFR_API TFR_MUST_CHECK tfr_status tfr_curves_plot(const tfr_curves *curves, const char *path,
                                                  const char *title, tfr_err *err);

#ifdef __cplusplus
}
#endif

#endif
