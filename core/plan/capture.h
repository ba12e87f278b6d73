/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.h: steps of a plan that a device records once and takes as a whole ever after
 * (tfr.capture/1). A capture is a run of consecutive launches on one queue, whose arguments are the
 * same at each run, but for the states of variables that take turns in two places: for these there
 * is an executable for each place. The walk has no more to do than for other steps: the first one
 * of a capture calls it, and the others do nothing.
 */
#ifndef TFR_CORE_CAPTURE_H
#define TFR_CORE_CAPTURE_H

#include "device/runtime.h"

struct tfr__plan;
struct tfr__placed;

/* Of a node: whether it is in a capture, or why not; or what ended the capture before it. */
typedef enum tfr__captured {
    TFR__CAPTURED_NEVER, /* its backend captures nothing, or it is no launch; broken: by nothing */
    TFR__CAPTURED,
    TFR__UNCAPTURED_OFF,
    TFR__UNCAPTURED_KERNEL,
    TFR__UNCAPTURED_HOST,
    TFR__UNCAPTURED_DIMS,
    TFR__UNCAPTURED_ADDRESS,
    TFR__UNCAPTURED_ALONE,
    TFR__UNCAPTURED_FAILED, /* see the capture */
    TFR__BROKEN_COPY,
    TFR__BROKEN_WAIT,
    TFR__BROKEN_ORDER,
    TFR__BROKEN_STREAM,
    TFR__BROKEN_LAUNCH,
    TFR__BROKEN_LAYOUT
} tfr__captured;

typedef struct tfr__executable {
    tfr_executable *made; /* NULL = none */
    void **addresses;     /* of the capture's patches, when it was made */
} tfr__executable;

typedef struct tfr__capture {
    struct tfr__plan *plan;
    uint32_t first, end;             /* steps */
    uint32_t first_patch, end_patch; /* of the plan's: what may be elsewhere at another run */
    uint32_t at;                     /* the step that was launched by itself last */
    uint32_t newest, n_made;
    uint64_t n_replayed;
    bool is_off;
    char *why; /* it is off; NULL = no memory to say so */
    tfr__executable executables[2];
} tfr__capture;

/* Before a walk: replays from the second one on. homes: the variables' n_left; apart: each step has
 * to be by itself. */
void tfr__captures_ready(struct tfr__plan *plan, uint64_t homes, bool apart);
/* Puts captures into the bound steps, or takes them out. */
void tfr__captures_bind(struct tfr__plan *plan);
/* The step that has failed, when bound step `step` has. */
uint32_t tfr__captures_at(const struct tfr__plan *plan, uint32_t step);
/* Before anything that they launch goes. */
void tfr__captures_destroy(struct tfr__plan *plan);

/* Adds what the plan captures: captures, and launches in them. */
void tfr__captures_count(const struct tfr__plan *plan, uint32_t *n_captures, uint32_t *n_launches);
/* What a row says of it; "" = nothing. */
const char *tfr__captured_text(const struct tfr__plan *plan, const struct tfr__placed *row);

#endif
