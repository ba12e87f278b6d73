/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make.h: a description and a seed become one call: attributes and input tensors, each input both
 * plain and as a view that is strided, turned around, repeated or badly aligned.
 */
#ifndef OPS_MAKE_H
#define OPS_MAKE_H

#include <stdio.h>
#include <tfrun/tfrun.h>

#include "cases/case.h"
#include "pattern.h"

typedef struct ops_call {
    const ops_case *description;
    uint64_t seed;
    char op[40];
    const char *domain;
    uint32_t n_attrs, n_inputs, n_outputs;
    tfr_attr attrs[OPS_MAX_ATTRS];
    tfr_tensor *plain[OPS_MAX_OPERANDS]; /* NULL = absent */
    tfr_tensor *views[OPS_MAX_OPERANDS]; /* equal values; the plain one where views are not done */
    char names[OPS_MAX_ATTRS][40];
    double numbers[OPS_MAX_ATTRS][OPS_MAX_LIST]; /* the lists before they have their type */
    int64_t ints[OPS_MAX_ATTRS][OPS_MAX_LIST];
    float floats[OPS_MAX_ATTRS][OPS_MAX_LIST];
    tfr_string strings[OPS_MAX_ATTRS][8];
    uint8_t bytes[OPS_MAX_ATTRS][OPS_MAX_LIST];
    tfr_operand tensors[OPS_MAX_ATTRS]; /* lists of floats or bytes */
    int64_t lengths[OPS_MAX_ATTRS];
} ops_call;

/*
 * Ends the program on a description that cannot be read and when memory is out. type >= 0 takes
 * that alternative for the first operand's type. overrides, NULL = none, beats the letters' draws.
 */
void ops_make(const ops_case *description, uint64_t seed, int type, const char *overrides,
              ops_call *out);
void ops_call_finish(ops_call *call);

/* How many alternatives the first operand has, and the name of one in text. */
int ops_n_types(const ops_case *description);
void ops_type_name(const ops_case *description, int type, char *text, size_t n);

/* The same elements in a layout drawn anew; exact = no dim may be repeated by a stride of 0. */
tfr_tensor *ops_view_of(tfr_tensor **plain, ops_random *random, bool exact);

/* A dense copy that lies one element after an aligned address; the plain one where there is none.
 */
tfr_tensor *ops_unaligned_of(tfr_tensor *plain);

/* "Conv(group=2) of f32[1,4,7] strides..., i64[2]={0,1}" in some lines. */
void ops_print_call(FILE *out, const ops_call *call);

/* Of a name, to make seeds mean something else for each description. */
uint64_t ops_hash(const char *text);

/* Ends the program with the text if status is not 0. */
void ops_must(tfr_status status, const tfr_err *err, const char *who);

#endif
