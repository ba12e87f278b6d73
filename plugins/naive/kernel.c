/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A prepared kernel: its memory, the deep copy of its call, and the readers of launch arguments and
 * attributes that ops share.
 */
#include "naive.h"

#include <stdlib.h>
#include <string.h>

/* ---- kernel memory and launch arguments ---- */

/* A block of kernel memory behind its room; the union aligns what follows it for every type. */
typedef union naive_block {
    union naive_block *next;
    max_align_t align;
} naive_block;

void *naive_keep(naive_kernel *kernel, size_t bytes)
{
    const size_t taken = (bytes + sizeof(naive_block) - 1) & ~(sizeof(naive_block) - 1);
    naive_block *block;
    void *first;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    if (taken <= NAIVE_ROOM - kernel->taken) {
        first = &kernel->room[kernel->taken / sizeof *kernel->room];
        kernel->taken += taken;
        return first;
    }
    block = calloc(1, sizeof(naive_block) + bytes);
    if (!block)
        return NULL;
    block->next = kernel->blocks;
    kernel->blocks = block;
    return block + 1;
}

void naive_kernel_destroy(naive_kernel *kernel)
{
    naive_block *block, *next;

    if (!kernel)
        return;
    for (block = kernel->blocks; block; block = next) {
        next = block->next;
        free(block);
    }
    free(kernel);
}

const void *naive_in(const naive_kernel *kernel, const tfr_launch *launch, uint32_t i)
{
    const tfr_operand *input = tfr_call_input(&kernel->call, i);

    if (!input)
        return NULL;
    return launch->args[i].address ? launch->args[i].address : input->data;
}

void *naive_out(const naive_kernel *kernel, const tfr_launch *launch, uint32_t i)
{
    return tfr_call_output(&kernel->call, i) ? launch->args[kernel->call.n_inputs + i].address
                                             : NULL;
}

int64_t *naive_out_dims(const naive_kernel *kernel, const tfr_launch *launch, uint32_t i)
{
    return tfr_call_output(&kernel->call, i) ? launch->args[kernel->call.n_inputs + i].dims : NULL;
}

const int64_t *naive_attr_ints(const tfr_call *call, const char *name, uint64_t *n)
{
    const tfr_attr *a = tfr_call_attr(call, name);

    *n = a && a->ints ? a->n : 0;
    return *n ? a->ints : NULL;
}

const float *naive_attr_floats(const tfr_call *call, const char *name, uint64_t *n)
{
    const tfr_attr *a = tfr_call_attr(call, name);

    *n = a && a->floats ? a->n : 0;
    return *n ? a->floats : NULL;
}

/* ---- the deep copy of a call ---- */

/* dst = n elements of src, which may be NULL. False when memory is out. */
static bool copy_array(naive_kernel *k, const void *src, uint64_t n, size_t element,
                       const void **dst)
{
    void *copy;

    *dst = NULL;
    if (!src || n == 0)
        return true;
    if (n > SIZE_MAX / element || !(copy = naive_keep(k, (size_t)n * element)))
        return false;
    memcpy(copy, src, (size_t)n * element);
    *dst = copy;
    return true;
}

/* Reads a struct that may be older or newer than ours: the common bytes, the rest zero. */
static void read_struct(void *dst, size_t own, const void *src)
{
    uint32_t given;

    memcpy(&given, src, sizeof(given));
    memset(dst, 0, own);
    memcpy(dst, src, given < own ? given : own);
    given = (uint32_t)own;
    memcpy(dst, &given, sizeof(given));
}

static bool copy_operand(naive_kernel *k, tfr_operand *dst, const void *src)
{
    const void *dims, *strides;

    read_struct(dst, sizeof(*dst), src);
    if (dst->dtype == TFR_DTYPE_NONE)
        return true;
    if (!copy_array(k, dst->dims, (uint64_t)dst->rank, sizeof(int64_t), &dims) ||
        !copy_array(k, dst->strides, (uint64_t)dst->rank, sizeof(int64_t), &strides))
        return false;
    dst->dims = dims;
    dst->strides = strides;
    return true;
}

static bool copy_operands(naive_kernel *k, const tfr_operand *src, uint32_t n, uint32_t stride,
                          const tfr_operand **out)
{
    tfr_operand *dst = naive_keep(k, n * sizeof(*dst));
    uint32_t i;

    if (!dst)
        return false;
    for (i = 0; i < n; i++)
        if (!copy_operand(k, &dst[i], (const char *)src + (size_t)i * stride))
            return false;
    *out = dst;
    return true;
}

/* Strings are copied with a zero byte behind each, as the contract gives them. */
static bool copy_strings(naive_kernel *k, const tfr_string *src, uint64_t n, const void **out)
{
    tfr_string *dst;
    uint64_t i;

    if (!copy_array(k, src, n, sizeof(*src), out) || !*out)
        return !src || n == 0;
    dst = (tfr_string *)(uintptr_t)*out;
    for (i = 0; i < n; i++) {
        char *text = naive_keep(k, (size_t)src[i].bytes + 1);
        if (!text)
            return false;
        if (src[i].bytes)
            memcpy(text, src[i].data, (size_t)src[i].bytes);
        dst[i].data = text;
    }
    return true;
}

/* A tensor attribute's data are copied too: unlike those of operands they die with the call. */
static bool copy_tensor(naive_kernel *k, const tfr_operand *src, const tfr_operand **out)
{
    tfr_operand *dst = naive_keep(k, sizeof(*dst));
    uint64_t bytes;
    const void *data;

    if (!dst || !copy_operand(k, dst, src))
        return false;
    if (dst->dtype == TFR_DTYPE_STRING) {
        if (!copy_strings(k, dst->data, (uint64_t)tfr_operand_elements(dst), &data))
            return false;
    } else {
        bytes = ((uint64_t)tfr_operand_elements(dst) * tfr_dtype_bits(dst->dtype) + 7) / 8;
        if (!copy_array(k, dst->data, bytes, 1, &data))
            return false;
    }
    dst->data = data;
    *out = dst;
    return true;
}

static bool copy_attr(naive_kernel *k, tfr_attr *dst, const void *src)
{
    const void *name, *ints, *floats, *strings;

    read_struct(dst, sizeof(*dst), src);
    if (!copy_array(k, dst->name, strlen(dst->name) + 1, 1, &name) ||
        !copy_array(k, dst->ints, dst->n, sizeof(int64_t), &ints) ||
        !copy_array(k, dst->floats, dst->n, sizeof(float), &floats) ||
        !copy_strings(k, dst->strings, dst->n, &strings))
        return false;
    dst->name = name;
    dst->ints = ints;
    dst->floats = floats;
    dst->strings = strings;
    return !dst->tensor || copy_tensor(k, dst->tensor, &dst->tensor);
}

static bool copy_call(naive_kernel *k, const tfr_call *src)
{
    tfr_call *call = &k->call;
    tfr_attr *attrs;
    uint32_t i;

    read_struct(call, sizeof(*call), src);
    call->domain = k->op->domain;
    call->name = k->op->name;
    attrs = naive_keep(k, call->n_attrs * sizeof(*attrs));
    if (!attrs)
        return false;
    for (i = 0; i < call->n_attrs; i++)
        if (!copy_attr(k, &attrs[i], (const char *)src->attrs + (size_t)i * src->attr_stride))
            return false;
    call->attrs = attrs;
    call->attr_stride = sizeof(tfr_attr);
    if (!copy_operands(k, src->inputs, src->n_inputs, src->input_stride, &call->inputs) ||
        !copy_operands(k, src->outputs, src->n_outputs, src->output_stride, &call->outputs))
        return false;
    call->input_stride = call->output_stride = sizeof(tfr_operand);
    return true;
}

naive_kernel *naive_kernel_create(const naive_op *op, const tfr_call *call)
{
    naive_kernel *kernel = calloc(1, sizeof(*kernel));

    if (!kernel)
        return NULL;
    kernel->op = op;
    if (!copy_call(kernel, call)) {
        naive_kernel_destroy(kernel);
        return NULL;
    }
    return kernel;
}
