/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blobs.h: between the core and the plugin's compiler: counts programs, has them saved, and gives
 * compile what it saved, whole or damaged.
 */
#ifndef TFR_CERTIFY_BLOBS_H
#define TFR_CERTIFY_BLOBS_H

#include <stdbool.h>
#include <tfrun/plugin.h>

typedef enum blobs_way {
    BLOBS_PASS, /* what the core gives */
    BLOBS_KEEP, /* none is given; each program is saved, and the last one's blob is kept */
    BLOBS_GIVE, /* the kept one, to a group of as many nodes and values */
    /* From here on to every group; the contract says that compile believes nothing. */
    BLOBS_FLIPPED, /* some bytes are others */
    BLOBS_SHORT,   /* the end is missing */
    BLOBS_LONG,    /* bytes behind it */
    BLOBS_FILLED,  /* all bytes are 0xff */
    BLOBS_N_WAYS
} blobs_way;

extern const char *const blobs_way_names[BLOBS_N_WAYS]; /* "a damaged blob" */

/* Has the plugin the facet? */
bool blobs_are_there(void);
/* What the core is to get for the plugin's own facet. */
const tfr_program_facet *blobs_watch(const tfr_program_facet *own);

/* From now on; the numbers below begin at 0. */
void blobs_begin(blobs_way way, uint64_t seed);
uint32_t blobs_n_programs(void); /* that were compiled of more than one node */
uint32_t blobs_n_given(void);    /* compiles that got a blob */
bool blobs_has_kept(void);
/* What save did wrong since; "" = nothing. */
const char *blobs_complaint(void);

#endif
