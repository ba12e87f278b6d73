/* SPDX-License-Identifier: Apache-2.0 */
/* calibration.h: what the library itself asks of a calibration. */
#ifndef TFR_NN_CALIBRATION_H
#define TFR_NN_CALIBRATION_H

#include <tfrun/quantize.h>

const tfr_graph *tfr__calibration_graph(const tfr_calibration *calibration);

#endif
