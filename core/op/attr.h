/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attr.h: an owned list of attributes, in the form that plugins see. Names are unique. Values are
 * copied on the way in; a graph is only pointed to and belongs to somebody else. Not thread-safe.
 */
#ifndef TFR__ATTR_H
#define TFR__ATTR_H

#include <stdbool.h>
#include <stdint.h>
#include <tfrun/plugin.h>

typedef struct tfr__attr {
    tfr_attr pub; /* first, so that a list's items can go into tfr_call with attr_stride */
    void *graph;  /* TFR_ATTR_GRAPH: borrowed */
    void *block;  /* with the name and the value; NULL = another list's */
} tfr__attr;

/* Zero is an empty list. A call takes items as tfr_call.attrs with stride sizeof(tfr__attr). */
typedef struct tfr__attr_list {
    tfr__attr *items;
    uint32_t n, capacity;
} tfr__attr_list;

void tfr__attr_free(tfr__attr_list *list);
/* *out must be empty or uninitialised; on failure it is empty. */
tfr_status tfr__attr_copy(const tfr__attr_list *list, tfr__attr_list *out, tfr_err *err);
/* The same with the names and values of `list`, which has to outlive *out unchanged; what is set in
 * *out afterwards is its own. */
tfr_status tfr__attr_borrow(const tfr__attr_list *list, tfr__attr_list *out, tfr_err *err);

/* Each replaces an attribute of that name, of whatever type. The name is copied, too. */
tfr_status tfr__attr_set_int(tfr__attr_list *list, const char *name, int64_t value, tfr_err *err);
tfr_status tfr__attr_set_float(tfr__attr_list *list, const char *name, float value, tfr_err *err);
tfr_status tfr__attr_set_string(tfr__attr_list *list, const char *name, const char *data,
                                uint64_t bytes, tfr_err *err);
tfr_status tfr__attr_set_ints(tfr__attr_list *list, const char *name, const int64_t *values,
                              uint64_t n, tfr_err *err);
tfr_status tfr__attr_set_floats(tfr__attr_list *list, const char *name, const float *values,
                                uint64_t n, tfr_err *err);
tfr_status tfr__attr_set_strings(tfr__attr_list *list, const char *name, const tfr_string *values,
                                 uint64_t n, tfr_err *err);
/* Plain, with data (NULL only for 0 elements). */
tfr_status tfr__attr_set_tensor(tfr__attr_list *list, const char *name, const tfr_operand *tensor,
                                tfr_err *err);
tfr_status tfr__attr_set_graph(tfr__attr_list *list, const char *name, void *graph, tfr_err *err);
/* Any of the above, from the public form. */
tfr_status tfr__attr_set(tfr__attr_list *list, const tfr_attr *attr, void *graph, tfr_err *err);

/* False if there was none. */
bool tfr__attr_remove(tfr__attr_list *list, const char *name);

/* Name and value; tensors and graphs are not compared, they count as different. */
bool tfr__attr_same(const tfr_attr *a, const tfr_attr *b);
/* All of them, in the same order. */
bool tfr__attrs_same(const tfr__attr_list *a, const tfr__attr_list *b);

/* NULL if there is none. Valid until the list changes. */
const tfr__attr *tfr__attr_find(const tfr__attr_list *list, const char *name);
/* The value, or absent if there is none of that name and type. */
int64_t tfr__attr_int(const tfr__attr_list *list, const char *name, int64_t absent);
float tfr__attr_float(const tfr__attr_list *list, const char *name, float absent);
const char *tfr__attr_string(const tfr__attr_list *list, const char *name, const char *absent);
/* The numbers and their count; NULL and 0 if there is none of that name and type. An empty list
 * that is there is not NULL. */
const int64_t *tfr__attr_ints(const tfr__attr_list *list, const char *name, uint64_t *n);
void *tfr__attr_graph(const tfr__attr_list *list, const char *name);

#endif
