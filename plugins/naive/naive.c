/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The naive backend as a plugin: its note, its one device "host", its memory, the list of its op
 * tables, and the kernel facet that turns a call into a deep copy and runs the op's function on it.
 * No arithmetic here; each op has its own file.
 */
#include "naive.h"

#include <stdlib.h>
#include <string.h>

TFR_PLUGIN_NOTE("naive", TFR_PLUGIN_BACKEND, 0, "");

/* The op tables, one per file, sorted. */
#define NAIVE_TABLES(X)                                                                            \
    X(naive_arg_max_ops)                                                                           \
    X(naive_binary_ops)                                                                            \
    X(naive_bit_cast_ops)                                                                          \
    X(naive_cast_ops)                                                                              \
    X(naive_clip_ops)                                                                              \
    X(naive_compress_ops)                                                                          \
    X(naive_constant_of_shape_ops)                                                                 \
    X(naive_cum_sum_ops)                                                                           \
    X(naive_det_ops)                                                                               \
    X(naive_dropout_ops)                                                                           \
    X(naive_eye_like_ops)                                                                          \
    X(naive_loss_ops)                                                                              \
    X(naive_mel_weight_matrix_ops)                                                                 \
    X(naive_non_zero_ops)                                                                          \
    X(naive_one_hot_ops)                                                                           \
    X(naive_quantize_ops)                                                                          \
    X(naive_random_ops)                                                                            \
    X(naive_range_ops)                                                                             \
    X(naive_reduce_ops)                                                                            \
    X(naive_regex_full_match_ops)                                                                  \
    X(naive_reorder_ops)                                                                           \
    X(naive_signal_window_ops)                                                                     \
    X(naive_softmax_ops)                                                                           \
    X(naive_string_concat_ops)                                                                     \
    X(naive_string_normalizer_ops)                                                                 \
    X(naive_string_split_ops)                                                                      \
    X(naive_tfidf_vectorizer_ops)                                                                  \
    X(naive_trilu_ops)                                                                             \
    X(naive_unary_ops)                                                                             \
    X(naive_unique_ops)                                                                            \
    X(naive_variadic_ops)                                                                          \
    X(naive_where_ops)

#define NAIVE_DECLARE(table) extern const naive_op table[];
NAIVE_TABLES(NAIVE_DECLARE)
#undef NAIVE_DECLARE

static const naive_op *const naive_tables[] = {
#define NAIVE_ENTRY(table) table,
    NAIVE_TABLES(NAIVE_ENTRY)
#undef NAIVE_ENTRY
};

enum { NAIVE_N_TABLES = sizeof(naive_tables) / sizeof(naive_tables[0]), NAIVE_ALIGNMENT = 64 };

struct tfr_plugin_device {
    uint32_t ordinal;
};

static const tfr_host_string *naive_host_string;

/* ---- kernel memory and launch arguments ---- */

/* A block of kernel memory; the union aligns what follows it for every type. */
typedef union naive_block {
    union naive_block *next;
    max_align_t align;
} naive_block;

void *naive_keep(naive_kernel *kernel, size_t bytes)
{
    naive_block *block;

    if (bytes > SIZE_MAX - sizeof(naive_block))
        return NULL;
    block = calloc(1, sizeof(naive_block) + bytes);
    if (!block)
        return NULL;
    block->next = kernel->blocks;
    kernel->blocks = block;
    return block + 1;
}

static void naive_release(naive_kernel *kernel)
{
    naive_block *block, *next;

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

int32_t naive_set_string(tfr_string *element, const char *data, uint64_t bytes, tfr_err *err)
{
    if (!naive_host_string || !naive_host_string->set)
        return tfr_fail(err, TFR_EUNSUPPORTED, "the host has no facet %s", TFR_HOST_STRING_V1);
    if (naive_host_string->set(element, data, bytes))
        return tfr_fail(err, TFR_ENOMEM, "no memory for a string of %llu bytes",
                        (unsigned long long)bytes);
    return TFR_OK;
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

/* ---- facet tfr.kernel/1 ---- */

static const naive_op *find_op(const tfr_call *call)
{
    const naive_op *op;
    size_t t;

    for (t = 0; t < NAIVE_N_TABLES; t++)
        for (op = naive_tables[t]; op->name; op++)
            if (strcmp(op->name, call->name) == 0 && strcmp(op->domain, call->domain) == 0)
                return op;
    return NULL;
}

static int32_t naive_ops(tfr_plugin_device *device, tfr_op_claim *out, uint32_t stride, uint32_t *n,
                         tfr_err *err)
{
    uint32_t room = *n, count = 0;
    const naive_op *op;
    size_t t;

    (void)device;
    (void)err;
    for (t = 0; t < NAIVE_N_TABLES; t++) {
        for (op = naive_tables[t]; op->name; op++, count++) {
            tfr_op_claim claim = {sizeof(claim), op->since_version, op->domain, op->name, 0};
            if (count < room)
                memcpy((char *)out + (size_t)count * stride, &claim,
                       stride < sizeof(claim) ? stride : sizeof(claim));
        }
    }
    *n = count;
    return TFR_OK;
}

/* The first operand that is not plain, as an index over inputs then outputs, or -1. */
static int64_t first_strided(const tfr_call *call)
{
    uint32_t i;

    for (i = 0; i < call->n_inputs + call->n_outputs; i++) {
        const tfr_operand *o = i < call->n_inputs ? tfr_call_input(call, i)
                                                  : tfr_call_output(call, i - call->n_inputs);
        if (o && !naive_is_plain(o))
            return i;
    }
    return -1;
}

static int32_t naive_supports(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                              tfr_err *err)
{
    const naive_op *op = find_op(call);
    int64_t strided;
    int32_t status;

    (void)device;
    (void)err;
    if (!op)
        return tfr_decline(answer, TFR_REASON_UNKNOWN_OP, "naive has no op %s of domain \"%s\"",
                           call->name, call->domain);
    answer->verdict = TFR_VERDICT_YES;
    if (op->supports && (status = op->supports(call, answer)) != TFR_OK)
        return status;
    if (answer->verdict == TFR_VERDICT_NO)
        return TFR_OK;
    if (op->workspace)
        answer->workspace_bytes = op->workspace(call);
    if ((op->flags & NAIVE_RANDOM) && !tfr_call_attr(call, "seed"))
        answer->flags |= TFR_ANSWER_NONDETERMINISTIC;
    if (!(op->flags & NAIVE_STRIDED) && (strided = first_strided(call)) >= 0) {
        tfr_decline(answer, TFR_REASON_LAYOUT, "operand %lld of %s is strided, naive takes plain",
                    (long long)strided, call->name);
        answer->verdict = TFR_VERDICT_REORDER;
    }
    return TFR_OK;
}

static int32_t naive_prepare(tfr_plugin_device *device, const tfr_call *call, tfr_kernel **out,
                             tfr_err *err)
{
    const naive_op *op = find_op(call);
    naive_kernel *k;
    int32_t status;

    (void)device;
    if (!op)
        return tfr_fail(err, TFR_EUNSUPPORTED, "naive has no op %s", call->name);
    k = calloc(1, sizeof(*k));
    if (!k)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a kernel of %s", op->name);
    k->op = op;
    if (!copy_call(k, call)) {
        naive_release(k);
        return tfr_fail(err, TFR_ENOMEM, "no memory for the call of %s", op->name);
    }
    status = op->prepare ? op->prepare(k, err) : TFR_OK;
    if (status) {
        naive_release(k);
        return status;
    }
    *out = (tfr_kernel *)k;
    return TFR_OK;
}

static int32_t naive_launch(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                            const tfr_launch *launch, tfr_err *err)
{
    const naive_kernel *k = (const naive_kernel *)kernel;

    (void)device;
    (void)queue;
    if (launch->n_args != k->call.n_inputs + k->call.n_outputs)
        return tfr_fail(err, TFR_EINVAL, "%s launched with %u arguments, its call has %u",
                        k->op->name, launch->n_args, k->call.n_inputs + k->call.n_outputs);
    return k->op->run(k, launch, err);
}

static void naive_drop(tfr_plugin_device *device, tfr_kernel *kernel)
{
    (void)device;
    if (kernel)
        naive_release((naive_kernel *)kernel);
}

static const tfr_kernel_facet naive_kernel_facet = {
    .size = sizeof(tfr_kernel_facet),
    .ops = naive_ops,
    .supports = naive_supports,
    .prepare = naive_prepare,
    .launch = naive_launch,
    .drop = naive_drop,
};

/* ---- facet tfr.memory/1 ---- */

static int32_t naive_spaces(tfr_plugin_device *device, tfr_space_info *out, uint32_t stride,
                            uint32_t *n, tfr_err *err)
{
    tfr_space_info space = {
        .size = sizeof(space),
        .flags = TFR_SPACE_HOST_ACCESS | TFR_SPACE_DEVICE_ACCESS,
        .name = "host",
        .alignment = NAIVE_ALIGNMENT,
    };

    (void)device;
    (void)err;
    if (*n > 0)
        memcpy(out, &space, stride < sizeof(space) ? stride : sizeof(space));
    *n = 1;
    return TFR_OK;
}

static int32_t naive_alloc(tfr_plugin_device *device, uint32_t space, uint64_t bytes,
                           uint64_t align, void **out, tfr_err *err)
{
    uint64_t unit = align < NAIVE_ALIGNMENT ? NAIVE_ALIGNMENT : align;
    void *p = NULL;

    (void)device;
    if (space != 0)
        return tfr_fail(err, TFR_EINVAL, "naive has memory space 0 only, not %u", space);
    /* aligned_alloc wants a size that is a multiple of the alignment. */
    if (bytes <= PTRDIFF_MAX - unit)
        p = aligned_alloc((size_t)unit, (size_t)((bytes + unit - 1) / unit * unit));
    if (!p)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %llu bytes on the host",
                        (unsigned long long)bytes);
    *out = p;
    return TFR_OK;
}

static void naive_free(tfr_plugin_device *device, uint32_t space, void *address)
{
    (void)device;
    (void)space;
    free(address);
}

static const tfr_memory_facet naive_memory_facet = {
    .size = sizeof(tfr_memory_facet),
    .spaces = naive_spaces,
    .alloc = naive_alloc,
    .free = naive_free,
};

/* ---- the plugin ---- */

static int32_t naive_enumerate(tfr_device_info *out, uint32_t stride, uint32_t *n, tfr_err *err)
{
    tfr_device_info info = {
        .size = sizeof(info),
        .type = "CPU",
        .identity = "host",
        .numa_node = -1,
    };

    (void)stride;
    (void)err;
    if (*n > 0) {
        uint32_t given = out->size;
        if (given > sizeof(info))
            given = sizeof(info);
        info.size = out->size;
        memcpy(out, &info, given);
    }
    *n = 1;
    return TFR_OK;
}

static int32_t naive_open(const tfr_device_info *info, const tfr_option *options,
                          uint32_t n_options, tfr_plugin_device **out, tfr_err *err)
{
    tfr_plugin_device *device = calloc(1, sizeof(*device));

    (void)options;
    (void)n_options;
    if (!device)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a device of %zu bytes", sizeof(*device));
    device->ordinal = info->ordinal;
    *out = device;
    return TFR_OK;
}

static void naive_close(tfr_plugin_device *device)
{
    free(device);
}

static const void *naive_facet(const char *id)
{
    if (strcmp(id, TFR_MEMORY_V1) == 0)
        return &naive_memory_facet;
    if (strcmp(id, TFR_KERNEL_V1) == 0)
        return &naive_kernel_facet;
    return NULL;
}

static const tfr_plugin naive_plugin = {
    .size = sizeof(tfr_plugin),
    .abi_minor = TFR_ABI_MINOR,
    .name = "naive",
    .version = "0.1.0",
    .vendor = "tfrun",
    .enumerate = naive_enumerate,
    .open = naive_open,
    .close = naive_close,
    .facet = naive_facet,
};

int32_t tfrun_plugin_v1(const tfr_host *host, const tfr_plugin **out, tfr_err *err)
{
    (void)err;
    naive_host_string = host->facet ? host->facet(TFR_HOST_STRING_V1) : NULL;
    *out = &naive_plugin;
    return TFR_OK;
}
