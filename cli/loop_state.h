/* SPDX-License-Identifier: Apache-2.0 */
/* loop_state.h: outputs that are inputs of the next run, as the keys and values of a decoder. */
#ifndef TFR_CLI_LOOP_STATE_H
#define TFR_CLI_LOOP_STATE_H

#include "cli.h"

typedef struct cli_loop_state {
    uint32_t output, input;
    int64_t room;          /* along the axis that grows, in the memory of the input; 0 = none */
    bool plain;            /* the session does not append: nothing is given room any more */
    int64_t n_appended;    /* runs that wrote what is new into the room */
    uint64_t copied_bytes; /* to give room */
} cli_loop_state;

/* Has a run written what is new behind the input? */
bool cli_loop_state_appended(const cli_loop_state *loop, const tfr_tensor *made,
                             const tfr_tensor *input);

/*
 * *input, which a run has read, becomes what that run has made of it. One that grows along an axis
 * lies with room for as much again (tfr_session_append), so that it is copied each time that it has
 * doubled, and not each time that it grows.
 */
TFR_MUST_CHECK tfr_status cli_loop_state_pass(cli_loop_state *loop, tfr_tensor *made,
                                              tfr_tensor **input, tfr_err *err);

#endif
