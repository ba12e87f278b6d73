/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.c: builds, launches and drops kernels, whatever their op.
 *
 * Scratchpads belong to the kernel: oneDNN's own, library-managed scratchpad is shared by the
 * primitives of the thread that made them, and kernels may be launched by several threads at once.
 * So does each kernel have its own stream, which on a CPU is a small struct.
 */
#include "kernel.h"
#include "records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

void onednn_build_fail(onednn_build *b, tfr_status status, const char *what)
{
    if (b->status == TFR_OK)
        b->status = tfr_fail(b->err, status, "%s: %s", b->call->name, what);
}

/* Keeps the first failure of the library. */
static bool succeeded(onednn_build *b, dnnl_status_t status, const char *what)
{
    if (b->status != TFR_OK)
        return false;
    if (status != dnnl_success)
        b->status = onednn_fail(b->err, status, what);
    return status == dnnl_success;
}

/* ---- descriptors ---- */

/* Takes over the descriptor that the library made with status, until the build ends. */
static onednn_cmd keep_md(onednn_build *b, dnnl_status_t status, onednn_md md)
{
    if (!succeeded(b, status, "memory descriptor"))
        return NULL;
    if (b->n_mds == ONEDNN_MAX_TENSORS) {
        onednn_md_destroy(md);
        onednn_build_fail(b, TFR_EINTERNAL, "more descriptors than a kernel may have");
        return NULL;
    }
    b->mds[b->n_mds++] = md;
    return md;
}

static onednn_cmd make_md(onednn_build *b, dnnl_data_type_t type, int rank, const int64_t *dims,
                          const int64_t *strides)
{
    onednn_md md = NULL;
    dnnl_status_t status;

    if (b->status != TFR_OK)
        return NULL;
    status = onednn_md_create(&md, type, rank, dims, strides);
    return keep_md(b, status, md);
}

onednn_cmd onednn_strided(onednn_build *b, dnnl_data_type_t type, int rank, const int64_t *dims,
                          const int64_t *strides)
{
    return make_md(b, type, rank, dims, strides);
}

onednn_cmd onednn_plain(onednn_build *b, dnnl_data_type_t type, int rank, const int64_t *dims)
{
    int64_t strides[TFR_MAX_RANK], n = 1, one = 1;
    int i;

    if (rank == 0)
        return make_md(b, type, 1, &one, &one);
    for (i = rank - 1; i >= 0; i--) {
        strides[i] = n;
        n *= dims[i];
    }
    return make_md(b, type, rank, dims, strides);
}

onednn_cmd onednn_any_like(onednn_build *b, int tensor)
{
    onednn_md md = NULL;
    dnnl_status_t status;

    if (b->status != TFR_OK)
        return NULL;
    status = onednn_md_create_any(&md, onednn_md_of(b, tensor));
    return keep_md(b, status, md);
}

onednn_cmd onednn_of(onednn_build *b, const tfr_operand *o)
{
    return onednn_plain(b, onednn_type(o->dtype), o->rank, o->dims);
}

onednn_cmd onednn_flat(onednn_build *b, const tfr_operand *o)
{
    int64_t n = tfr_operand_elements(o);
    return onednn_plain(b, onednn_type(o->dtype), 1, &n);
}

onednn_cmd onednn_wide(onednn_build *b, const tfr_operand *o)
{
    return onednn_plain(b, dnnl_f32, o->rank, o->dims);
}

onednn_cmd onednn_wide_flat(onednn_build *b, const tfr_operand *o)
{
    int64_t n = tfr_operand_elements(o);
    return onednn_plain(b, dnnl_f32, 1, &n);
}

/* ---- tensors ---- */

static int add_tensor(onednn_build *b, onednn_cmd md, int arg, const void *known, void *own)
{
    tfr_kernel *k = &b->kernel;
    onednn_tensor *t = &k->tensors[k->n_tensors];
    void *address = own ? own : DNNL_MEMORY_NONE;

    if (b->status != TFR_OK)
        return 0;
    if (k->n_tensors == ONEDNN_MAX_TENSORS) {
        onednn_build_fail(b, TFR_EINTERNAL, "more tensors than a kernel may have");
        return 0;
    }
    if (!succeeded(b, dnnl_memory_create(&t->memory, md, onednn_library.engine, address), "memory"))
        return 0;
    t->arg = arg;
    t->known = known;
    return k->n_tensors++;
}

static bool is_half(const tfr_operand *o)
{
    return o->dtype == TFR_DTYPE_BF16 || o->dtype == TFR_DTYPE_F16;
}

/* md describes as float32 what has 16 bits. */
static bool is_widened(const onednn_build *b, const tfr_operand *o, onednn_cmd md)
{
    return b->status == TFR_OK && is_half(o) && onednn_md_type(md) == dnnl_f32;
}

int onednn_input(onednn_build *b, uint32_t i, onednn_cmd md)
{
    const tfr_operand *o = tfr_call_input(b->call, i);
    onednn_md half = NULL;
    dnnl_status_t status;

    if (!is_widened(b, o, md))
        return add_tensor(b, md, (int)i, o->data, NULL);
    status = onednn_md_create_as(&half, md, onednn_type(o->dtype));
    return onednn_as(b, add_tensor(b, keep_md(b, status, half), (int)i, o->data, NULL), md);
}

static void *add_block(onednn_build *b, size_t bytes)
{
    tfr_kernel *k = &b->kernel;
    void *p;

    if (b->status != TFR_OK)
        return NULL;
    bytes = (bytes + ALIGNMENT) & ~(size_t)(ALIGNMENT - 1); /* never 0 */
    p = aligned_alloc(ALIGNMENT, bytes);
    if (!p || k->n_blocks == ONEDNN_MAX_TENSORS) {
        free(p);
        b->status = tfr_fail(b->err, TFR_ENOMEM, "%s: no memory for %zu bytes of its kernel",
                             b->call->name, bytes);
        return NULL;
    }
    k->blocks[k->n_blocks++] = p;
    return p;
}

int onednn_output(onednn_build *b, uint32_t i, onednn_cmd md)
{
    const tfr_operand *o = tfr_call_output(b->call, i);

    if (!is_widened(b, o, md))
        return add_tensor(b, md, (int)(b->call->n_inputs + i), NULL, NULL);
    if (i >= ONEDNN_MAX_OUTPUTS) {
        onednn_build_fail(b, TFR_EINTERNAL, "more outputs than a kernel may have");
        return 0;
    }
    if (!b->wide[i])
        b->wide[i] = add_block(b, (size_t)tfr_operand_elements(o) * sizeof(float));
    return add_tensor(b, md, -1, NULL, b->wide[i]);
}

/* The last steps: what was computed as float32 becomes the outputs. */
static void narrow_outputs(onednn_build *b)
{
    uint32_t i;

    for (i = 0; i < ONEDNN_MAX_OUTPUTS; i++) {
        const tfr_operand *o = tfr_call_output(b->call, i);
        int64_t n = o ? tfr_operand_elements(o) : 0;
        if (b->wide[i] && b->status == TFR_OK)
            onednn_add_reorder(
                b, add_tensor(b, onednn_plain(b, dnnl_f32, 1, &n), -1, NULL, b->wide[i]),
                onednn_output(b, i, onednn_flat(b, o)));
    }
}

int onednn_constant(onednn_build *b, onednn_cmd md, void **data)
{
    void *p = b->status == TFR_OK ? add_block(b, dnnl_memory_desc_get_size(md)) : NULL;

    *data = p;
    return add_tensor(b, md, -1, p, p);
}

int onednn_temporary(onednn_build *b, onednn_cmd md)
{
    void *p = b->status == TFR_OK ? add_block(b, dnnl_memory_desc_get_size(md)) : NULL;
    return add_tensor(b, md, -1, NULL, p);
}

int onednn_view(onednn_build *b, int temporary, onednn_cmd md)
{
    void *address = NULL;

    if (b->status == TFR_OK)
        dnnl_memory_get_data_handle(b->tensors[temporary].memory, &address);
    return add_tensor(b, md, -1, NULL, address);
}

/* ---- steps ---- */

onednn_cmd onednn_md_of(const onednn_build *b, int tensor)
{
    onednn_cmd md = NULL;

    if (b->status == TFR_OK)
        dnnl_memory_get_memory_desc(b->tensors[tensor].memory, &md);
    return md;
}

onednn_cmd onednn_part(onednn_build *b, onednn_cmd parent, const int64_t *dims,
                       const int64_t *offsets)
{
    onednn_md md = NULL;
    dnnl_status_t status;

    if (b->status != TFR_OK)
        return NULL;
    status = onednn_md_create_part(&md, parent, dims, offsets);
    return keep_md(b, status, md);
}

onednn_make onednn_maker(const onednn_build *b)
{
    onednn_make make = {onednn_library.engine, b->attr, NULL};
    return make;
}

static void fill_step(onednn_build *b, onednn_step *s, dnnl_primitive_desc_t pd,
                      const onednn_use *uses, int n_uses)
{
    tfr_kernel *k = &b->kernel;
    onednn_cmd scratch = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    size_t bytes = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
    int i, t;

    s->args = calloc((size_t)n_uses + 1, sizeof *s->args);
    if (!s->args) {
        onednn_build_fail(b, TFR_ENOMEM, "no memory for its arguments");
        return;
    }
    for (i = 0; i < n_uses; i++) {
        if (uses[i].tensor < 0)
            continue;
        s->args[s->n_args].arg = uses[i].arg;
        s->args[s->n_args++].memory = k->tensors[uses[i].tensor].memory;
    }
    if (bytes > 0) {
        t = onednn_temporary(b, scratch);
        s->args[s->n_args].arg = DNNL_ARG_SCRATCHPAD;
        s->args[s->n_args++].memory = k->tensors[t].memory;
    }
}

void onednn_add(onednn_build *b, dnnl_status_t status, onednn_make *make, const char *what,
                const onednn_use *uses, int n_uses)
{
    tfr_kernel *k = &b->kernel;
    onednn_step *s = &k->steps[k->n_steps];

    if (b->status == TFR_OK && k->n_steps == ONEDNN_MAX_STEPS)
        onednn_build_fail(b, TFR_EINTERNAL, "more steps than a kernel may have");
    if (succeeded(b, status, what) &&
        succeeded(b, dnnl_primitive_create(&s->primitive, make->pd), what)) {
        k->n_steps++;
        fill_step(b, s, make->pd, uses, n_uses);
    }
    if (make->pd)
        dnnl_primitive_desc_destroy(make->pd);
}

void onednn_add_reorder(onednn_build *b, int from, int to)
{
    const onednn_use uses[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    onednn_make make = onednn_maker(b);

    if (b->status == TFR_OK)
        onednn_add(b, onednn_reorder(&make, onednn_md_of(b, from), onednn_md_of(b, to)), &make,
                   "reorder", uses, 2);
}

/* The block of a constant that nobody reads any more. */
static void drop_block(onednn_build *b, const void *data)
{
    int i;

    for (i = 0; i < b->kernel.n_blocks; i++) {
        if (b->blocks[i] == data) {
            free(b->blocks[i]);
            b->blocks[i] = NULL;
        }
    }
}

/* Runs the newest step now and takes it away: how constants are packed. */
static void run_last_step(onednn_build *b, const void *from)
{
    tfr_kernel *k = &b->kernel;
    onednn_step *s = &k->steps[k->n_steps - 1];

    if (b->status != TFR_OK)
        return;
    /* The library reads it only, whatever the type says. */
    if (succeeded(b, dnnl_memory_set_data_handle(s->args[0].memory, (void *)(uintptr_t)from),
                  "memory") &&
        succeeded(b, dnnl_primitive_execute(s->primitive, k->stream, s->n_args, s->args),
                  "packing of a constant"))
        succeeded(b, dnnl_stream_wait(k->stream), "packing of a constant");
    dnnl_primitive_destroy(s->primitive);
    free(s->args);
    memset(s, 0, sizeof *s);
    k->n_steps--;
}

int onednn_as(onednn_build *b, int tensor, onednn_cmd md)
{
    const onednn_tensor *t = &b->tensors[tensor];
    int to;

    if (b->status != TFR_OK || !md || dnnl_memory_desc_equal(onednn_md_of(b, tensor), md))
        return tensor;
    to = onednn_temporary(b, md);
    onednn_add_reorder(b, tensor, to);
    if (t->known)
        run_last_step(b, t->known);
    if (t->known && t->arg < 0 && b->status == TFR_OK)
        drop_block(b, t->known);
    return to;
}

int onednn_target(onednn_build *b, int tensor, onednn_cmd md)
{
    if (b->status != TFR_OK || !md || dnnl_memory_desc_equal(onednn_md_of(b, tensor), md))
        return tensor;
    return onednn_temporary(b, md);
}

void onednn_add_eltwise(onednn_build *b, dnnl_alg_kind_t alg, float alpha, float beta, int from,
                        int to)
{
    const onednn_use uses[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
    onednn_make make = onednn_maker(b);

    if (b->status == TFR_OK)
        onednn_add(b, onednn_eltwise(&make, alg, onednn_md_of(b, from), alpha, beta), &make,
                   "eltwise", uses, 2);
}

void onednn_add_binary(onednn_build *b, dnnl_alg_kind_t alg, int x, int y, int to)
{
    const onednn_use uses[] = {{DNNL_ARG_SRC_0, x}, {DNNL_ARG_SRC_1, y}, {DNNL_ARG_DST, to}};
    onednn_make make = onednn_maker(b);

    if (b->status == TFR_OK)
        onednn_add(
            b,
            onednn_binary(&make, alg, onednn_md_of(b, x), onednn_md_of(b, y), onednn_md_of(b, to)),
            &make, "binary", uses, 3);
}

void onednn_add_matmul(onednn_build *b, int x, int y, int to)
{
    const onednn_use uses[] = {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, y}, {DNNL_ARG_DST, to}};
    onednn_make make = onednn_maker(b);

    if (b->status == TFR_OK)
        onednn_add(
            b,
            onednn_matmul(&make, onednn_md_of(b, x), onednn_md_of(b, y), NULL, onednn_md_of(b, to)),
            &make, "matmul", uses, 3);
}

void onednn_add_reduction(onednn_build *b, dnnl_alg_kind_t alg, int from, int to)
{
    const onednn_use uses[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
    onednn_make make = onednn_maker(b);

    if (b->status == TFR_OK)
        onednn_add(b, onednn_reduction(&make, alg, onednn_md_of(b, from), onednn_md_of(b, to)),
                   &make, "reduction", uses, 2);
}

/* ---- the facet's slots ---- */

/* What every kernel of primitives starts with. */
static void begin_primitives(onednn_build *b)
{
    if (succeeded(
            b,
            dnnl_stream_create(&b->kernel.stream, onednn_library.engine, dnnl_stream_default_flags),
            "stream") &&
        succeeded(b, dnnl_primitive_attr_create(&b->attr), "attributes") &&
        succeeded(b, dnnl_primitive_attr_set_scratchpad_mode(b->attr, dnnl_scratchpad_mode_user),
                  "attributes"))
        succeeded(b, onednn_strict(b->attr), "attributes");
}

static void release(tfr_kernel *k)
{
    int i;

    for (i = 0; i < k->n_steps; i++) {
        if (k->steps[i].primitive)
            dnnl_primitive_destroy(k->steps[i].primitive);
        free(k->steps[i].args);
    }
    for (i = 0; i < k->n_tensors; i++)
        dnnl_memory_destroy(k->tensors[i].memory);
    for (i = 0; i < k->n_blocks; i++)
        free(k->blocks[i]);
    if (k->stream)
        dnnl_stream_destroy(k->stream);
    free(k->lowest);
}

/* The finished kernel in one block of the right size. */
static tfr_kernel *end_build(onednn_build *b)
{
    const tfr_kernel *from = &b->kernel;
    size_t tensors = (size_t)from->n_tensors * sizeof *from->tensors;
    size_t steps = (size_t)from->n_steps * sizeof *from->steps;
    size_t blocks = (size_t)from->n_blocks * sizeof *from->blocks;
    tfr_kernel *k = b->status == TFR_OK ? malloc(sizeof *k + tensors + steps + blocks) : NULL;
    int i;

    for (i = 0; i < b->n_mds; i++)
        onednn_md_destroy(b->mds[i]);
    if (b->attr)
        dnnl_primitive_attr_destroy(b->attr);
    if (!k) {
        onednn_build_fail(b, TFR_ENOMEM, "no memory for its kernel");
        release(&b->kernel);
        return NULL;
    }
    *k = *from;
    k->tensors = memcpy(k + 1, from->tensors, tensors);
    k->steps = memcpy((char *)k->tensors + tensors, from->steps, steps);
    k->blocks = memcpy((char *)k->steps + steps, from->blocks, blocks);
    return k;
}

static void prepare_primitives(onednn_build *b, const onednn_op *op, const tfr_call *call)
{
    int threads;

    b->status = onednn_library_open(b->device->host, b->err);
    if (b->status != TFR_OK)
        return;
    /* Primitives divide their work among the threads they see when they are made. */
    threads = onednn_threads_enter(b->device);
    begin_primitives(b);
    if (b->status == TFR_OK)
        op->prepare(b, call);
    narrow_outputs(b);
    onednn_threads_leave(b->device, threads);
}

int32_t onednn_prepare(tfr_plugin_device *device, const tfr_call *call,
                       const tfr_prepare_options *options, tfr_kernel **out, tfr_kernel_info *info,
                       tfr_err *err)
{
    (void)options, (void)info;
    const onednn_op *op = onednn_find_op(call);
    onednn_build b = {0};
    tfr_kernel *kernel;

    if (!op)
        return tfr_fail(err, TFR_EUNSUPPORTED, "%s is not an op of this backend", call->name);
    b.device = onednn_is_small(call) ? device->single : device;
    b.kernel.device = b.device;
    b.call = call;
    b.err = err;
    b.kernel.tensors = b.tensors;
    b.kernel.steps = b.steps;
    b.kernel.blocks = b.blocks;
    prepare_primitives(&b, op, call);
    kernel = end_build(&b);
    if (kernel)
        *out = kernel;
    return b.status;
}

static int32_t run_step(const tfr_kernel *kernel, const onednn_step *s, tfr_err *err)
{
    dnnl_status_t status = dnnl_primitive_execute(s->primitive, kernel->stream, s->n_args, s->args);

    return status == dnnl_success ? TFR_OK : onednn_fail(err, status, "launch");
}

/* A step with the time that it takes. Its name is asked for after the clock has been read. */
static int32_t run_recorded(tfr_plugin_device *device, const tfr_kernel *kernel,
                            const onednn_step *s, uint64_t id, tfr_err *err)
{
    tfr_profile_record what = {.size = sizeof what,
                               .id = id,
                               .kind = TFR_PROFILE_KERNEL,
                               .node = -1,
                               .begin_ns = onednn_now_ns()};
    int32_t status = run_step(kernel, s, err);
    dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
    const_dnnl_primitive_desc_t pd;
    const char *method = "";

    what.end_ns = onednn_now_ns();
    if (dnnl_primitive_get_primitive_desc(s->primitive, &pd) == dnnl_success) {
        dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &method);
        dnnl_primitive_desc_query(pd, dnnl_query_primitive_kind, 0, &kind);
    }
    if (kind == dnnl_reorder)
        what.kind = TFR_PROFILE_REORDER;
    snprintf(what.name, sizeof what.name, "%s %s", dnnl_prim_kind2str(kind), method);
    if (status == TFR_OK)
        onednn_add_record(device, &what);
    return status;
}

int32_t onednn_launch(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                      const tfr_launch *launch, tfr_err *err)
{
    const bool recorded = launch->id != 0 && atomic_load(&device->profiling);
    int32_t status = TFR_OK;
    int threads = onednn_threads_enter(kernel->device), i;

    (void)queue;
    for (i = 0; i < kernel->n_tensors; i++) {
        const onednn_tensor *t = &kernel->tensors[i];
        const void *address;
        if (t->arg < 0)
            continue;
        address = launch->args[t->arg].address;
        if (!address)
            address = t->known;
        dnnl_memory_set_data_handle(t->memory, (void *)(uintptr_t)address);
    }
    for (i = 0; i < kernel->n_steps && status == TFR_OK; i++) {
        const onednn_step *s = &kernel->steps[i];
        status =
            recorded ? run_recorded(device, kernel, s, launch->id, err) : run_step(kernel, s, err);
    }
    onednn_threads_leave(kernel->device, threads);
    if (kernel->lowest && status == TFR_OK)
        onednn_lowest_repair(kernel->lowest, launch);
    return status;
}

void onednn_drop(tfr_plugin_device *device, tfr_kernel *kernel)
{
    (void)device;
    if (kernel)
        release(kernel);
    free(kernel);
}
