/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cudacpu: a backend for tests that computes with the kernels of plugins/cuda/kernels as the CPU
 * runs them, launched as plugins/cuda/plan_*.c plans it, in the host's memory. So every op case is
 * a test of kernels, grids and arguments without a GPU or a driver. Each operand has its own
 * bounds, and outputs begin as NaN: what a kernel leaves out shows.
 *
 * TFR_CPU_LAST: images lie with the channels last for kernels that take them so: "x" those that are
 * read, "y" those that are written, "xy" both.
 */
#include <stdlib.h>
#include <string.h>
#include <tfrun/host_device.h>
#include <tfrun/op_digests.h>

#include "../../plugins/cuda/kernels/cpu_table.h"
#include "../../plugins/cuda/plan_kit.h"

extern tfr_cpu_kernel tfr_cpu_kernels[];
extern unsigned tfr_cpu_workers;
extern uint64_t tfr_cpu_seed;

TFR_PLUGIN_NOTE("cudacpu", TFR_PLUGIN_BACKEND, 1, "");

static struct tfr_plugin_device {
    int none;
} the_device;

enum { MAX_REGIONS = 96 };

/* Of an operand that lies with the channels last: its dims, and the bytes of an element. */
typedef struct image {
    int64_t samples, channels, plane;
    size_t each;
} image;

struct tfr_kernel {
    cuda_plan plan;
    uint32_t n_inputs, n_operands;
    uint64_t bytes[MAX_REGIONS]; /* of each operand */
    image images[MAX_REGIONS];
    uint64_t workspace_bytes;
};

/* Few multiprocessors, so that grids are smaller than the work and loops go round. */
static const cuda_chip chip = {90, 4, 2048, 232448, INT64_MAX};

static const cuda_op ops[] = {
#define X(domain, name, since_version, dtypes, family)                                             \
    {domain, name, since_version, dtypes, family},
#include "../../plugins/cuda/families.def"
#undef X
};
enum { N_OPS = sizeof ops / sizeof ops[0] };

static int32_t cudacpu_ops(const tfr_device_info *device, tfr_op_claim *out, uint32_t stride,
                           uint32_t *n, tfr_err *err)
{
    uint32_t i;

    (void)device;
    (void)err;
    for (i = 0; i < N_OPS; i++) {
        const tfr_op_claim claim = {
            .size = sizeof claim,
            .since_version = ops[i].since_version,
            .domain = ops[i].domain,
            .name = ops[i].name,
            .digest = tfr_op_digest(ops[i].domain, ops[i].name),
            .dtypes = ops[i].dtypes,
        };
        tfr_list_put(out, stride, *n, i, &claim, sizeof claim);
    }
    *n = N_OPS;
    return TFR_OK;
}

static const cuda_op *find_op(const tfr_call *call)
{
    uint32_t i = 0;

    while (strcmp(ops[i].name, call->name) != 0 || strcmp(ops[i].domain, call->domain) != 0)
        i++; /* no other op comes */
    return &ops[i];
}

static const tfr_operand *operand(const tfr_call *call, uint32_t i)
{
    return i < call->n_inputs ? tfr_call_input(call, i) : tfr_call_output(call, i - call->n_inputs);
}

static int32_t cudacpu_supports(tfr_plugin_device *device, const tfr_call *call, tfr_answer *answer,
                                tfr_err *err)
{
    const cuda_op *op = find_op(call);
    const int32_t type =
        (call->n_inputs ? tfr_call_input(call, 0) : tfr_call_output(call, 0))->dtype;
    bool strided = false;
    uint32_t i;

    (void)device;
    (void)err;
    if (tfr_call_unknown(call, TFR_CALL_DETERMINISTIC))
        return tfr_decline(answer, TFR_REASON_POLICY, "flags 0x%x are unknown", call->flags);
    if (call->n_inputs + call->n_outputs > MAX_REGIONS - 3)
        return tfr_decline(answer, TFR_REASON_SIZE_LIMIT, "%u operands",
                           call->n_inputs + call->n_outputs);
    for (i = 0; i < call->n_inputs + call->n_outputs; i++) {
        const tfr_operand *o = operand(call, i);
        strided = strided || (o && !tfr_operand_is_plain(o));
        if (o && o->flags & TFR_OPERAND_DYNAMIC)
            return tfr_decline(answer, TFR_REASON_DYNAMIC_SHAPE, "operand %u has no fixed dims", i);
    }
    if (!(op->dtypes >> type & 1))
        return tfr_decline(answer, TFR_REASON_DTYPE, "%s of element type %d", call->name, type);
    answer->verdict = TFR_VERDICT_YES;
    op->plan(&chip, call, answer, NULL);
    if (answer->verdict == TFR_VERDICT_YES && strided) {
        tfr_decline(answer, TFR_REASON_LAYOUT, "an operand is strided");
        answer->verdict = TFR_VERDICT_REORDER;
    }
    return TFR_OK;
}

static uint32_t which_last(const tfr_call *call)
{
    const char *given = getenv("TFR_CPU_LAST");
    bool together;
    const uint32_t all = cuda_may_last(call, &together);
    const uint32_t inputs = ((uint32_t)1 << call->n_inputs) - 1;

    if (!given || !all)
        return 0;
    return together
               ? all
               : (strchr(given, 'x') ? all & inputs : 0) | (strchr(given, 'y') ? all & ~inputs : 0);
}

static int32_t cudacpu_prepare(tfr_plugin_device *device, const tfr_call *call,
                               const tfr_prepare_options *options, tfr_kernel **out,
                               tfr_kernel_info *info, tfr_err *err)
{
    tfr_kernel *kernel = calloc(1, sizeof *kernel);
    tfr_answer answer = {.size = sizeof answer, .verdict = TFR_VERDICT_YES};
    uint32_t i;

    (void)device;
    (void)options;
    (void)info;
    if (!kernel)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a kernel");
    kernel->plan.last = which_last(call);
    find_op(call)->plan(&chip, call, &answer, &kernel->plan);
    if (answer.verdict != TFR_VERDICT_YES || kernel->plan.is_full) {
        free(kernel);
        return tfr_fail(err, TFR_EPLUGIN, "the plan of %s does not fit: %s", call->name,
                        answer.text);
    }
    kernel->n_inputs = call->n_inputs;
    kernel->n_operands = call->n_inputs + call->n_outputs;
    kernel->workspace_bytes = answer.workspace_bytes;
    for (i = 0; i < kernel->n_operands; i++) {
        const tfr_operand *o = operand(call, i);
        if (o)
            kernel->bytes[i] =
                (uint64_t)(tfr_operand_elements(o) * tfr_dtype_bits(o->dtype) + 7) / 8;
        if (o && cuda_is_last(&kernel->plan, i))
            kernel->images[i] = (image){o->dims[0], o->dims[1], o->dims[2] * o->dims[3],
                                        tfr_dtype_bits(o->dtype) / 8};
    }
    *out = kernel;
    return TFR_OK;
}

/* What a launch may touch. */
typedef struct regions {
    uint64_t begin[MAX_REGIONS], bytes[MAX_REGIONS];
    uint32_t n;
} regions;

static void add_region(regions *r, const void *address, uint64_t bytes)
{
    r->begin[r->n] = (uint64_t)(uintptr_t)address;
    r->bytes[r->n++] = address ? bytes : 0;
}

static void *reach(void *ctx, uint64_t address, size_t *bytes)
{
    const regions *r = ctx;
    uint32_t i;

    for (i = 0; i < r->n; i++)
        if (address >= r->begin[i] && address - r->begin[i] < r->bytes[i]) {
            *bytes = (size_t)(r->bytes[i] - (address - r->begin[i]));
            return (void *)(uintptr_t)address;
        }
    return NULL;
}

static uint64_t address_of(const regions *r, uint32_t number)
{
    return number == CUDA_NO_OPERAND ? 0 : r->begin[number];
}

/* TFR_CPU_KERNELS is a file to which the names of kernels that run are added. */
static void tell_of(const char *kernel)
{
    const char *path = getenv("TFR_CPU_KERNELS");
    FILE *file = path ? fopen(path, "a") : NULL;

    if (file) {
        fprintf(file, "%s\n", kernel);
        fclose(file);
    }
}

static int32_t run_step(const tfr_kernel *kernel, const cuda_step *step, regions *r, tfr_err *err)
{
    const tfr_cpu_kernel *k = tfr_cpu_kernels;
    const uint32_t workspace = kernel->n_operands, random = kernel->n_operands + 1,
                   found = kernel->n_operands + 2;
    uint64_t addresses[CUDA_STEP_PARAMS];
    void *args[CUDA_STEP_PARAMS];
    cuda_step own = *step;
    tfr_cpu_launch launch = {.args = args, .reach = reach, .ctx = r};
    uint32_t i;
    unsigned result;

    while (k->name && strcmp(k->name, step->kernel) != 0)
        k++;
    if (!k->name || k->n_args != step->n_params || step->block[0] > k->max_threads)
        return tfr_fail(err, TFR_EPLUGIN, "%s with %u parameters and %u threads: it has %u and %u",
                        step->kernel, step->n_params, step->block[0], k->n_args, k->max_threads);
    for (i = 0; i < step->n_addresses; i++) {
        const uint64_t address = address_of(r, step->addresses[i].operand);
        memcpy(own.bytes + step->addresses[i].byte, &address, sizeof address);
    }
    for (i = 0; i < step->n_params; i++) {
        const cuda_param p = step->params[i];
        addresses[i] = p.kind == CUDA_PARAM_OPERAND  ? address_of(r, p.number)
                       : p.kind == CUDA_PARAM_RANDOM ? r->begin[random]
                       : p.kind == CUDA_PARAM_FOUND  ? r->begin[found]
                                                     : r->begin[workspace] + p.number;
        args[i] = p.kind == CUDA_PARAM_BYTES ? (void *)(own.bytes + p.number) : &addresses[i];
    }
    memcpy(launch.grid, step->grid, sizeof launch.grid);
    memcpy(launch.block, step->block, sizeof launch.block);
    tell_of(k->name);
    result = k->run(&launch);
    return result ? tfr_fail(err, TFR_EPLUGIN, "kernel %s ended with %u", step->kernel, result)
                  : TFR_OK;
}

/* From the plain order to the one with the channels last, or back. */
static void swap(const image *m, const unsigned char *from, unsigned char *to, bool back)
{
    int64_t n, c, i;

    for (n = 0; n < m->samples; n++)
        for (c = 0; c < m->channels; c++)
            for (i = 0; i < m->plane; i++) {
                const size_t plain = (size_t)((n * m->channels + c) * m->plane + i) * m->each;
                const size_t last = (size_t)((n * m->plane + i) * m->channels + c) * m->each;
                memcpy(to + (back ? plain : last), from + (back ? last : plain), m->each);
            }
}

static int32_t run_all(const tfr_kernel *kernel, regions *r, tfr_err *err)
{
    uint32_t i, j;
    int32_t status = TFR_OK;

    if (kernel->workspace_bytes && r->begin[kernel->n_operands])
        memset((void *)(uintptr_t)r->begin[kernel->n_operands], 0xff,
               (size_t)kernel->workspace_bytes);
    for (i = kernel->n_inputs; i < kernel->n_operands; i++) {
        for (j = 0; j < kernel->n_inputs && r->begin[j] != r->begin[i]; j++)
            ;
        if (j == kernel->n_inputs && r->bytes[i]) /* not an input's memory, too */
            memset((void *)(uintptr_t)r->begin[i], 0xff, (size_t)r->bytes[i]);
    }
    for (i = 0; i < kernel->plan.n_steps && !status; i++)
        status = run_step(kernel, &kernel->plan.steps[i], r, err);
    return status;
}

static int32_t cudacpu_launch(tfr_plugin_device *device, tfr_queue *queue, tfr_kernel *kernel,
                              const tfr_launch *launch, tfr_err *err)
{
    regions r = {.n = 0};
    unsigned char *own[MAX_REGIONS] = {NULL}; /* of operands in the other order */
    int64_t found = -1;
    uint32_t i;
    int32_t status = TFR_OK;

    (void)device;
    (void)queue;
    for (i = 0; i < kernel->n_operands; i++) {
        const bool is_last = kernel->images[i].each && launch->args[i].address;
        own[i] = is_last ? malloc((size_t)kernel->bytes[i] + 1) : NULL;
        if (is_last && !own[i])
            status = tfr_fail(err, TFR_ENOMEM, "no memory for an image");
        if (own[i] && i < kernel->n_inputs)
            swap(&kernel->images[i], launch->args[i].address, own[i], false);
        add_region(&r, own[i] ? own[i] : launch->args[i].address, kernel->bytes[i]);
    }
    add_region(&r, launch->workspace, kernel->workspace_bytes);
    add_region(&r, launch->random, sizeof(tfr_random_state));
    add_region(&r, &found, sizeof found);
    if (!status)
        status = run_all(kernel, &r, err);
    if (!status && found != -1)
        status = cuda_mistake_say(&kernel->plan.mistake, found, err);
    for (i = 0; i < kernel->n_operands; i++) {
        if (own[i] && i >= kernel->n_inputs)
            swap(&kernel->images[i], own[i], launch->args[i].address, true);
        free(own[i]);
    }
    return status;
}

static void cudacpu_drop(tfr_plugin_device *device, tfr_kernel *kernel)
{
    (void)device;
    free(kernel);
}

static int32_t cudacpu_open(const tfr_device_info *info, const tfr_open_options *options,
                            tfr_plugin_device **out, tfr_err *err)
{
    const char *workers = getenv("TFR_CPU_WORKERS"), *seed = getenv("TFR_CPU_SEED");

    (void)info;
    (void)options;
    (void)err;
    tfr_cpu_workers = workers ? (unsigned)strtoul(workers, NULL, 10) : 1;
    tfr_cpu_seed = seed ? strtoull(seed, NULL, 10) : 1;
    *out = &the_device;
    return TFR_OK;
}

static void cudacpu_close(tfr_plugin_device *device)
{
    (void)device;
}

static const tfr_kernel_facet kernel_facet = {
    .size = sizeof(tfr_kernel_facet),
    .ops = cudacpu_ops,
    .supports = cudacpu_supports,
    .prepare = cudacpu_prepare,
    .launch = cudacpu_launch,
    .drop = cudacpu_drop,
};

static const void *cudacpu_facet(const char *id)
{
    if (strcmp(id, TFR_MEMORY_V1) == 0)
        return &tfr_host_device_memory;
    return strcmp(id, TFR_KERNEL_V1) == 0 ? &kernel_facet : NULL;
}

static const tfr_plugin plugin = {
    .size = sizeof(tfr_plugin),
    .abi_minor = TFR_ABI_MINOR,
    .name = "cudacpu",
    .version = "0",
    .enumerate = tfr_host_device_enumerate,
    .open = cudacpu_open,
    .close = cudacpu_close,
    .facet = cudacpu_facet,
};

int32_t tfrun_plugin_v0(const tfr_host *host, const tfr_plugin **out, tfr_err *err)
{
    (void)host;
    (void)err;
    *out = &plugin;
    return TFR_OK;
}
