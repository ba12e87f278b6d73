/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune_kit.h: the CUDA backend through the plugin contract, over the stand-ins of the driver and of
 * the libraries, with a host whose store the test holds. Time is what candidates say that they
 * take. Included once per test program.
 */
#ifndef TFR_CUDA_TUNE_KIT_H
#define TFR_CUDA_TUNE_KIT_H

#define HOST_KIT_PLUGIN "plugins/cuda/.libs/tfrun-cuda.so"
#include "host_kit.h"

#include "library_kit.h"

/* ---- the store ------------------------------------------------------------------------------- */

enum { MOST_ENTRIES = 16 };
static struct {
    char key[1024];
    unsigned char data[256];
    uint64_t n;
} entries[MOST_ENTRIES];
static uint32_t n_entries;
static unsigned n_gets, n_puts;
static bool store_is_off;

static inline uint32_t find_entry(const void *key, uint64_t key_bytes)
{
    uint32_t i = 0;
    while (i < n_entries && (strlen(entries[i].key) != key_bytes ||
                             memcmp(entries[i].key, key, (size_t)key_bytes) != 0))
        i++;
    return i;
}

static inline int32_t store_get(const char *name, const void *key, uint64_t key_bytes, void *out,
                                uint64_t *n, tfr_err *error)
{
    const uint32_t i = find_entry(key, key_bytes);
    CHECK_STR("cuda", name);
    n_gets++;
    if (store_is_off || i == n_entries)
        return tfr_fail(error, TFR_ENOTFOUND, "no entry");
    if (entries[i].n <= *n)
        memcpy(out, entries[i].data, (size_t)entries[i].n);
    *n = entries[i].n;
    return TFR_OK;
}

static inline int32_t store_put(const char *name, const void *key, uint64_t key_bytes,
                                const void *data, uint64_t n, tfr_err *error)
{
    const uint32_t i = find_entry(key, key_bytes);
    CHECK_STR("cuda", name);
    n_puts++;
    if (store_is_off)
        return tfr_fail(error, TFR_EUNSUPPORTED, "it is off");
    REQUIRE(i < MOST_ENTRIES && key_bytes < sizeof entries[i].key && n <= sizeof entries[i].data);
    snprintf(entries[i].key, sizeof entries[i].key, "%.*s", (int)key_bytes, (const char *)key);
    memcpy(entries[i].data, data, (size_t)n);
    entries[i].n = n;
    n_entries += i == n_entries;
    return TFR_OK;
}

static const tfr_host_store the_store = {.size = sizeof the_store,
                                         .max_key_bytes = sizeof entries[0].key,
                                         .max_bytes = sizeof entries[0].data,
                                         .get = store_get,
                                         .put = store_put};

static inline const void *find_facet(const char *id)
{
    return strcmp(id, TFR_HOST_STORE_V1) == 0 ? &the_store : NULL;
}

/* ---- devices --------------------------------------------------------------------------------- */

/* An empty store, and candidates that all take no time; switches are of the driver. */
#define BEGIN_TUNE(switches)                                                                       \
    facet_of_host = find_facet;                                                                    \
    BEGIN("worktime " switches);                                                                   \
    reset_tune()

static inline void reset_tune(void)
{
    find_library(&lt);
    find_library(&dnn);
    n_entries = n_gets = n_puts = 0;
    store_is_off = false;
    for (unsigned i = 0; i < 16; i++) {
        lt.cost(i, 0);
        dnn.cost(i, 0);
    }
}

/* One more option, unless key is NULL. */
static inline rig new_rig(const char *key, const char *value)
{
    const tfr_option options[] = {{"library-from", "0"}, {"tune_fill", "0"}, {key, value}};
    return rig_of(open_options(0, options, key ? 3 : 2));
}

static inline void end_tune(rig *r)
{
    end_rig(r);
    CHECK_UINT(0, lt.held());
    CHECK_UINT(0, dnn.held());
    check_leaks("leaked: nothing");
}

/* ---- calls ----------------------------------------------------------------------------------- */

typedef struct problem {
    const char *op;
    int32_t rank;
    int64_t x[4], w[4], y[4];
    int32_t math_mode;
    uint32_t flags;
} problem;

static const problem product = {"MatMul", 2, {24, 32}, {32, 40}, {24, 40}, 0, 0};

static inline int64_t count(const int64_t dims[4], int32_t rank)
{
    int64_t n = 1;
    for (int32_t d = 0; d < rank; d++)
        n *= dims[d];
    return n;
}

static inline int32_t prepare_one(const rig *r, const problem *p, tfr_kernel **out,
                                  tfr_kernel_info *info)
{
    const tfr_operand o = {.size = sizeof o, .dtype = TFR_DTYPE_F32, .rank = p->rank};
    tfr_operand operands[] = {o, o, o};
    const tfr_call call = {.size = sizeof call,
                           .since_version = 13,
                           .domain = "",
                           .name = p->op,
                           .inputs = operands,
                           .outputs = operands + 2,
                           .n_inputs = 2,
                           .input_stride = sizeof o,
                           .n_outputs = 1,
                           .output_stride = sizeof o,
                           .math_mode = p->math_mode,
                           .flags = p->flags};
    operands[0].dims = p->x;
    operands[1].dims = p->w;
    operands[2].dims = p->y;
    *info = (tfr_kernel_info){.size = sizeof *info, .flags = TFR_ANSWER_MATH_MODE};
    *out = NULL;
    return kernels->prepare(r->device, &call, NULL, out, info, &err);
}

/* One run of what was prepared, the values looked at: inputs are ones. */
static inline void run_kernel(rig *r, const problem *p, tfr_kernel *kernel, uint64_t workspace)
{
    const int64_t *const dims[] = {p->x, p->w, p->y};
    float *host_x = malloc(4096 * sizeof *host_x);
    void *at[3];
    tfr_arg args[3];
    for (int i = 0; i < 3; i++) {
        const uint64_t bytes = (uint64_t)count(dims[i], p->rank) * 4;
        REQUIRE(host_x && bytes <= 4096 * sizeof *host_x);
        at[i] = new_memory(r, 0, TFR_ALLOC_ARENA, bytes);
        args[i] = (tfr_arg){.address = at[i]};
        for (uint64_t k = 0; k < bytes / 4; k++)
            host_x[k] = 1;
        if (i < 2)
            CHECK_OK(copy(r, NULL, 0, at[i], TFR_SPACE_HOST, host_x, bytes), &err);
    }
    void *scratch = workspace ? new_memory(r, 0, TFR_ALLOC_ARENA, workspace) : NULL;
    const tfr_launch l = {
        .size = sizeof l, .n_args = 3, .args = args, .workspace = scratch, .id = 1};
    CHECK_OK(kernels->launch(r->device, r->queue, kernel, &l, &err), &err);
    CHECK_OK(finish(r), &err);
    const uint64_t bytes = (uint64_t)count(p->y, p->rank) * 4;
    CHECK_OK(copy(r, NULL, TFR_SPACE_HOST, host_x, 0, at[2], bytes), &err);
    const float sum =
        (float)(p->rank == 2 ? p->x[1] : count(p->w, 4) / p->w[0]); /* no padding: all alike */
    for (uint64_t i = 0; i < bytes / 4; i++)
        if (host_x[i] < sum || host_x[i] > sum)
            CHECK_NEAR(sum, host_x[i], 0);
    for (int i = 0; i < 3; i++)
        memory->free(r->device, 0, at[i]);
    if (scratch)
        memory->free(r->device, 0, scratch);
    free(host_x);
}

/* The number of the algorithm or engine that computes the problem once it is prepared; -1 = no
 * library does. */
static inline int number_of(rig *r, const problem *p)
{
    library *l = p->rank == 2 ? &lt : &dnn;
    unsigned before[16];
    char name[16];
    tfr_kernel *kernel;
    tfr_kernel_info info;
    int found = -1;
    REQUIRE_OK(prepare_one(r, p, &kernel, &info), &err);
    for (int i = 0; i < 16; i++) {
        snprintf(name, sizeof name, p->rank == 2 ? "algo %d" : "engine %d", i);
        before[i] = l->calls(name);
    }
    run_kernel(r, p, kernel, info.workspace_bytes);
    for (int i = 0; i < 16; i++) {
        snprintf(name, sizeof name, p->rank == 2 ? "algo %d" : "engine %d", i);
        if (l->calls(name) != before[i])
            found = i;
    }
    kernels->drop(r->device, kernel);
    return found;
}

/* So often have candidates been run: each run is between two events. */
static inline unsigned n_timed(void)
{
    return calls_of("cuEventElapsedTime");
}

/* By a thread that captures, what the contract forbids: nothing is run or kept, and the capture
 * comes to its end. function: of the library, that runs a candidate. */
static inline void prepare_in_capture(rig *r, const problem *p, const char *function)
{
    const library *l = p->rank == 2 ? &lt : &dnn;
    const unsigned before = l->calls(function);
    tfr_kernel *kernel;
    tfr_kernel_info info;
    tfr_executable *executable = NULL;
    REQUIRE_OK(captures->begin(r->device, r->queue, &err), &err);
    REQUIRE_OK(prepare_one(r, p, &kernel, &info), &err);
    CHECK_OK(captures->end(r->device, r->queue, &executable, &err), &err);
    CHECK_UINT(0, n_timed());
    CHECK_UINT(before, l->calls(function));
    CHECK_UINT(0, n_puts);
    captures->drop(r->device, executable);
    kernels->drop(r->device, kernel);
}

#endif
