/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c: the one device of this backend, the host's processor: what it may use of it
 * (instruction sets, threads), and opening and closing it. Nothing of oneDNN is loaded here.
 */
#include "onednn.h"
#include "library.h"

#include <stdlib.h>
#include <string.h>

/*
 * What one thread does with data in its cache, and the time from which a second one pays: entering
 * and leaving an OpenMP region takes 1 us, and some ms when other programs hold the processors. See
 * docs/decisions/0010-one-pool.md.
 */
#define BYTES_PER_NS 30
#define FLOPS_PER_NS 150
#define SMALL_NS     8000

/* ---- threads ---- */

int onednn_threads_enter(const tfr_plugin_device *device)
{
    int before;

    if (device->threads == 0 || !onednn_library.omp_get_max_threads ||
        !onednn_library.omp_set_num_threads)
        return 0;
    /* Asked each time: the calling thread may use OpenMP for its own purposes in between. */
    before = onednn_library.omp_get_max_threads();
    if (before != device->threads)
        onednn_library.omp_set_num_threads(device->threads);
    return before;
}

void onednn_threads_leave(const tfr_plugin_device *device, int before)
{
    /* The threads of the host's pool belong to nobody who wants another number. */
    if (before != 0 && before != device->threads && !(device->pool && device->pool->lane() != 0))
        onednn_library.omp_set_num_threads(before);
}

static double bytes_of(const tfr_operand *o)
{
    return o ? (double)tfr_operand_elements(o) * tfr_dtype_bits(o->dtype) / 8 : 0;
}

/* Products and sums of a call, none where memory takes the time; at least as many as there are. */
static double flops_of(const tfr_call *call)
{
    const bool quantized = strncmp(call->name, "QLinear", 7) == 0;
    const tfr_operand *x = tfr_call_input(call, 0), *y = tfr_call_output(call, 0);
    const tfr_operand *w = tfr_call_input(call, quantized ? 3 : 1);
    const tfr_attr *kernel = tfr_call_attr(call, "kernel_shape");
    double flops;
    uint64_t i;

    if (!x || !y)
        return 0;
    flops = 2 * (double)tfr_operand_elements(y);
    if (strstr(call->name, "Conv") && w && w->rank > 0 && w->dims[0] > 0) {
        if (strcmp(call->name, "ConvTranspose") == 0)
            flops = 2 * (double)tfr_operand_elements(x);
        return flops * (double)tfr_operand_elements(w) / (double)w->dims[0];
    }
    if ((strstr(call->name, "MatMul") || strcmp(call->name, "Gemm") == 0) && x->rank > 0) {
        int64_t last = x->dims[x->rank - 1], other = x->rank > 1 ? x->dims[x->rank - 2] : 1;
        return flops * (double)(last > other ? last : other);
    }
    if (strstr(call->name, "Pool") && kernel)
        for (i = 0; i < kernel->n; i++)
            flops *= (double)kernel->ints[i];
    return flops;
}

bool onednn_is_small(const tfr_call *call)
{
    double bytes = 0;
    uint32_t i;

    /* Recurrent ones take a product for each of their steps. */
    if (tfr_call_attr(call, "hidden_size"))
        return false;
    for (i = 0; i < call->n_inputs; i++)
        bytes += bytes_of(tfr_call_input(call, i));
    for (i = 0; i < call->n_outputs; i++)
        bytes += bytes_of(tfr_call_output(call, i));
    return bytes / BYTES_PER_NS + flops_of(call) / FLOPS_PER_NS < SMALL_NS;
}

static int count_threads(const tfr_host_cpu *cpu, const tfr_open_options *options)
{
    const char *text = tfr_open_option(options, "threads");
    const long n = text ? strtol(text, NULL, 10) : 0;

    if (n > 0 && n <= 4096)
        return (int)n;
    return cpu ? (int)cpu->n_threads : 0;
}

/* ---- instruction sets ---- */

static bool has_feature(const char *features, const char *name)
{
    size_t n = strlen(name);
    const char *p = features;

    while ((p = strstr(p, name)) != NULL) {
        if ((p == features || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0))
            return true;
        p += n;
    }
    return false;
}

#if defined(__x86_64__) || defined(__i386__)
/* Each level needs its features and those of the levels above it in the table. */
static const struct {
    const char *features[4];
    dnnl_cpu_isa_t isa;
} isa_levels[] = {
    {{"sse4_1"}, dnnl_cpu_isa_sse41},
    {{"avx"}, dnnl_cpu_isa_avx},
    {{"avx2", "fma"}, dnnl_cpu_isa_avx2},
    {{"avx512f", "avx512bw", "avx512vl", "avx512dq"}, dnnl_cpu_isa_avx512_core},
    {{"avx512_vnni"}, dnnl_cpu_isa_avx512_core_vnni},
    {{"avx512_bf16"}, dnnl_cpu_isa_avx512_core_bf16},
    {{"amx_tile", "amx_int8", "amx_bf16"}, dnnl_cpu_isa_avx512_core_amx},
};
#define N_LEVELS (sizeof isa_levels / sizeof isa_levels[0])

/* Whether the processor itself has the level; which of the last ones does not matter. */
static bool cpu_has(dnnl_cpu_isa_t isa)
{
    switch ((int)isa) {
    case dnnl_cpu_isa_sse41:
        return __builtin_cpu_supports("sse4.1");
    case dnnl_cpu_isa_avx:
        return __builtin_cpu_supports("avx");
    case dnnl_cpu_isa_avx2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case dnnl_cpu_isa_avx512_core:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    default:
        return __builtin_cpu_supports("avx512vnni");
    }
}

/* How many levels of the table the user allows. */
static size_t count_levels(const char *features)
{
    size_t level, i;

    for (level = 0; level < N_LEVELS; level++)
        for (i = 0; i < 4 && isa_levels[level].features[i]; i++)
            if (!has_feature(features, isa_levels[level].features[i]))
                return level;
    return level;
}

bool onednn_isa_limit(const char *features, dnnl_cpu_isa_t *limit)
{
    size_t level = features && features[0] ? count_levels(features) : 0;

    if (level == 0 || level == N_LEVELS || !cpu_has(isa_levels[level].isa))
        return false;
    *limit = isa_levels[level - 1].isa;
    if (*limit == dnnl_cpu_isa_avx2 && has_feature(features, "avx_vnni"))
        *limit = dnnl_cpu_isa_avx2_vnni; /* beside the levels, not between them */
    return true;
}

static bool has_isa(const char *features, dnnl_cpu_isa_t isa)
{
    size_t level = count_levels(features);

    return level > 0 && isa_levels[level - 1].isa >= isa;
}

static void find_types(tfr_plugin_device *device, const char *features)
{
    device->bf16 = has_isa(features, dnnl_cpu_isa_avx512_core_bf16);
    device->int8 = has_isa(features, dnnl_cpu_isa_avx512_core_vnni) ||
                   (has_isa(features, dnnl_cpu_isa_avx2) && has_feature(features, "avx_vnni"));
#if DNNL_VERSION_MAJOR >= 3
    device->f16 = device->bf16 && has_feature(features, "avx512_fp16");
#endif
}
#else
bool onednn_isa_limit(const char *features, dnnl_cpu_isa_t *limit)
{
    (void)features;
    (void)limit;
    return false;
}

static void find_types(tfr_plugin_device *device, const char *features)
{
    (void)device;
    (void)has_feature(features, "");
}
#endif

uint32_t onednn_types_claimed(const tfr_host *host, uint32_t types)
{
    const tfr_host_cpu *cpu = host->facet ? host->facet(TFR_HOST_CPU_V1) : NULL;
    tfr_plugin_device here = {.host = host};

    find_types(&here, cpu && cpu->features ? cpu->features : "");
    return onednn_types_here(&here, types);
}

/* ---- open and close ---- */

int32_t onednn_device_open(const tfr_host *host, const tfr_device_info *info,
                           const tfr_open_options *options, tfr_plugin_device **out, tfr_err *err)
{
    const tfr_host_cpu *cpu = host->facet ? host->facet(TFR_HOST_CPU_V1) : NULL;
    tfr_plugin_device *device = calloc(1, sizeof *device);
    const char *features = cpu && cpu->features ? cpu->features : "";

    (void)info;
    if (!device)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a device");
    device->host = host;
    device->pool = host->facet ? host->facet(TFR_HOST_POOL_V1) : NULL;
    device->threads = count_threads(cpu, options);
    find_types(device, features);
    device->single = calloc(1, sizeof *device);
    if (!device->single) {
        free(device);
        return tfr_fail(err, TFR_ENOMEM, "no memory for a device");
    }
    *device->single = *device;
    device->single->threads = 1;
    *out = device;
    return TFR_OK;
}

void onednn_device_close(tfr_plugin_device *device)
{
    if (!device)
        return;
    free(device->records);
    free(device->single);
    free(device);
}
