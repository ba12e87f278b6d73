/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_cost.h: what nodes cost, by estimate and by measurement, and the cheapest placement.
 * plan_cost.c reads prices, plan_sample.c makes them.
 */
#ifndef TFR_CORE_PLAN_COST_H
#define TFR_CORE_PLAN_COST_H

#include "plan/plan_build.h"

/* What somebody of whom nothing is known would take. Never 0. */
uint64_t tfr__neutral_ns(const tfr__work *work);

/* Every launched node has a first choice: gives all a time, and moves those that pay elsewhere. */
tfr_status tfr__build_cheapest(tfr__build *b, tfr_err *err);

/* The node's time, after its choice has changed. */
void tfr__build_time(tfr__build *b, uint32_t i);

#endif
