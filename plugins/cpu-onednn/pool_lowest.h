/* SPDX-License-Identifier: Apache-2.0 */
/* pool_lowest.h: maxima of windows of nothing but -inf, which oneDNN gets wrong. */
#ifndef ONEDNN_POOL_LOWEST_H
#define ONEDNN_POOL_LOWEST_H

#include "onednn.h"

typedef struct onednn_lowest onednn_lowest;

/* For a call of a float type; NULL = no memory. It is freed by free. */
onednn_lowest *onednn_lowest_new(const tfr_call *call, const onednn_window *window);
/* After the launch, on its output. */
void onednn_lowest_repair(const onednn_lowest *lowest, const tfr_launch *launch);

#endif
