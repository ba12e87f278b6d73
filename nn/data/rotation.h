/* SPDX-License-Identifier: Apache-2.0 */
/* rotation.h: small angles, with the same bits on every machine, in files without contraction. */
#ifndef TFR_NN_DATA_ROTATION_H
#define TFR_NN_DATA_ROTATION_H

/* Taylor's series, within a rounding for |a| < 0.4. */
static inline void tfr__sine_cosine(float a, float *sine, float *cosine)
{
    const float q = a * a;
    *sine = a * (1 - q / 6 * (1 - q / 20 * (1 - q / 42)));
    *cosine = 1 - q / 2 * (1 - q / 12 * (1 - q / 30 * (1 - q / 56)));
}

#endif
