/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.h: a private copy of a graph that passes may change, and the kit to change it. The copy
 * borrows names, attributes and tensors of the graph that it was made of, and keeps the numbers of
 * its values, so nothing big is copied and messages name what the user wrote. Passes see nodes in
 * an order in which each comes after those whose values it uses; nodes that they add stand at the
 * end until the graph is tidied. What runs out of memory sets status and does nothing.
 */
#ifndef TFR_CORE_REWRITE_H
#define TFR_CORE_REWRITE_H

#include "kernel/eval.h"

typedef struct tfr__rewrite {
    const tfr__kernel_env *env;
    tfr_graph *graph;
    struct tfr__rewrite *parent; /* of a subgraph */
    uint32_t *uses;              /* by value: reads by nodes, subgraphs, outputs and updates */
    tfr_value *alias;            /* by value: what replaced it, or itself */
    uint32_t capacity;           /* of both */
    tfr_status status;
} tfr__rewrite;

/* ---- life ------------------------------------------------------------------------------------ */

/* Counts uses; call it again when a subgraph or its parent has changed. */
void tfr__rewrite_count(tfr__rewrite *rw);
/* Takes over what became of captured values in the parent. Returns how many are constants now. */
uint32_t tfr__rewrite_captures(tfr__rewrite *rw);
/* Applies replacements, drops dead nodes, puts the others in order, counts. */
void tfr__rewrite_tidy(tfr__rewrite *rw);
void tfr__rewrite_finish(tfr__rewrite *rw);

/* ---- looking --------------------------------------------------------------------------------- */

/* What stands for the value now. NONE gives NONE. */
tfr_value tfr__rewrite_find(tfr__rewrite *rw, tfr_value v);
/* Input k of a node, NONE if absent. */
tfr_value tfr__rewrite_input(tfr__rewrite *rw, const tfr__node *node, uint32_t k);
/* The node that makes the value as its first output, NULL if it is none or pinned. */
tfr__node *tfr__rewrite_producer(tfr__rewrite *rw, tfr_value v);
/* A constant's plain tensor that is not of strings, or NULL. */
tfr_tensor *tfr__rewrite_tensor(tfr__rewrite *rw, tfr_value v);
/* The integers of a small constant of type int64; false if it is none or has more than most. */
bool tfr__rewrite_ints(tfr__rewrite *rw, tfr_value v, int64_t *out, uint32_t most, uint32_t *n);
/* Is it an op of the standard of this name? A dead node is none. */
bool tfr__rewrite_is(const tfr__node *node, const char *op);
/* Does a backend above the reference that is asked first claim the op? Roundings may only change
 * where one does. */
bool tfr__rewrite_claimed(const tfr__rewrite *rw, const char *op);

/* The type of a value of which nothing is known. */
extern const tfr_value_type tfr__type_unknown;

/* Nothing is known of NONE. */
static inline const tfr_value_type *tfr__rewrite_type(const tfr__rewrite *rw, tfr_value v)
{
    return v == TFR_VALUE_NONE ? &tfr__type_unknown : &rw->graph->values[v].type;
}

/* ---- changing -------------------------------------------------------------------------------- */

/* Everybody who reads `old` reads `now` instead. */
void tfr__rewrite_replace(tfr__rewrite *rw, tfr_value old, tfr_value now);
/* The value becomes a constant; its node loses it. Takes the tensor over. */
void tfr__rewrite_set_constant(tfr__rewrite *rw, tfr_value v, tfr_tensor *tensor);
/* A new constant with the name of `like`. Takes the tensor over; NONE without memory. */
tfr_value tfr__rewrite_constant(tfr__rewrite *rw, tfr_value like, tfr_tensor *tensor);
/* A new value without a node, with name and type of `like`. */
tfr_value tfr__rewrite_value(tfr__rewrite *rw, tfr_value like);
/*
 * A node of an op of the standard that makes the value `out` from now on; the node that made it so
 * far loses it, and is dead if it has no other. Its name is that node's, or like's. NULL without
 * memory. Pointers to nodes do not survive.
 */
tfr__node *tfr__rewrite_node(tfr__rewrite *rw, const char *op, const tfr_value *inputs, uint32_t n,
                             tfr_value out);
/* The same with op and attributes of another node, and its name. */
tfr__node *tfr__rewrite_become(tfr__rewrite *rw, tfr_value out, const tfr__node *like,
                               const tfr_value *inputs, uint32_t n);
/*
 * A node with op, attributes and name of a node of another graph, which may go. map is of that
 * graph's values: the inputs are there, and the outputs, new values named as outer, are put there.
 */
tfr__node *tfr__rewrite_append(tfr__rewrite *rw, const tfr__node *like, tfr_value *map,
                               tfr_value outer);
/* Would a backend take the node, types that are not known being guessed? Else why none does. */
bool tfr__rewrite_runs(tfr__rewrite *rw, const tfr__node *node, tfr_err *err);
/*
 * A node as above with these attributes, if that pays: if a backend above the reference says yes to
 * such a call, dims that are not known being guessed. Takes the attributes over. 1 = done.
 */
uint32_t tfr__rewrite_compose(tfr__rewrite *rw, const char *op, const tfr_value *inputs, uint32_t n,
                              tfr__attr_list *attrs, tfr_value out);
void tfr__rewrite_set_input(tfr__rewrite *rw, tfr__node *node, uint32_t k, tfr_value v);
/* Attributes that may be changed: borrowed ones are copied first. */
tfr__attr_list *tfr__rewrite_attrs(tfr__rewrite *rw, tfr__node *node);
/* Nobody reads what it makes. */
void tfr__rewrite_kill(tfr__rewrite *rw, tfr__node *node);

/* ---- types (rewrite_types.c) ----------------------------------------------------------------- */

/* What folding does with a node whose types are known; true = its values are constants now. */
typedef bool tfr__rewrite_fold(tfr__rewrite *rw, uint32_t node, const tfr__attr_list *attrs,
                               const tfr__type *outputs);
/* Finds the types of all values, as far as they do not depend on the run. Returns nodes folded. */
uint32_t tfr__rewrite_types(tfr__rewrite *rw, tfr__rewrite_fold *fold);

/* ---- patterns (rewrite_match.c) -------------------------------------------------------------- */

/*
 * A pattern is a text like "Mul(x,{Sigmoid(x)|s=Tanh(x)})". A name in front of a bracket is an op
 * of the standard without a pin with just these inputs; Add and Mul match either way round. A small
 * letter stands for a value, the same one wherever it is, and l= names what follows. A number is a
 * constant of one element. {|} are alternatives, the first that matches counts. What is inside must
 * not be read from outside.
 */
typedef struct tfr__match {
    tfr__rewrite *rw;
    tfr_value letters[26];
    struct {
        tfr_value value;
        uint32_t reads;
    } inner[28];
    uint32_t n_inner;
    int32_t rank; /* the greatest of the numbers' */
} tfr__match;

bool tfr__pattern(tfr__rewrite *rw, const tfr__node *node, const char *pattern, tfr__match *out);

/* Reads a decimal of a pattern and goes behind it; the C library's reader follows the locale. */
double tfr__pattern_number(const char **p);

static inline tfr_value tfr__matched(const tfr__match *m, char letter)
{
    return m->letters[letter - 'a'];
}

/* The number that a constant of one element holds; false if it is none. */
bool tfr__rewrite_number(tfr__rewrite *rw, tfr_value v, double *out);

#endif
