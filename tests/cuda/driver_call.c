/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way into the driver stand-in and out of it: the exported symbols, the lock, counting, the
 * errors that were ordered, the log, and what is left at the end.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

#define EXPORT __attribute__((visibility("default")))

fake_state fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
_Thread_local fake_thread fake_self;

/* dlsym asks the resolver, and gets NULL for a function that the library is told not to have. */
#define X(name, required, since, who)                                                              \
    __attribute__((used)) static tfr_##name##_fn *resolve_##name(void)                             \
    {                                                                                              \
        return fake_is_absent(#name, since) ? NULL : API(name);                                    \
    }                                                                                              \
    EXPORT tfr_##name##_fn name __attribute__((ifunc("resolve_" #name)));
#include "driver.def"
#undef X

static const char *const call_names[] = {
#define X(name, required, since, who) #name,
#include "driver.def"
#undef X
};

static const struct {
    tfr_cu_result code;
    const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "a stub of the library is loaded"},
    {36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "the call requires a newer driver"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "device busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {102, "CUDA_ERROR_DEVICE_NOT_LICENSED", "device without a licence"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image for this device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access between these devices unsupported"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX compilation failed"},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "uncorrectable NVLink error"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX compiler not found"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "PTX of a newer toolchain"},
    {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "PTX compilation is disabled"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "a call of the operating system failed"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "resource in a state that does not permit this"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "the primary context is active"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context is destroyed"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "memory is already registered"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "memory is not registered"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "operation not supported on this address space"},
    {718, "CUDA_ERROR_INVALID_PC", "invalid program counter"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in a cooperative launch"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "driver and its kernel module differ"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "no forward compatibility on this device"},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED", "no connection to the MPS server"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "failed due to a previous error of the capture"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "would merge two captures"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not begun in this stream"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "captured streams were not joined"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency on work that is not captured"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "legacy stream would depend on the capture"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "event was last recorded in a capturing stream"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "capture was begun by another thread"},
    {909, "CUDA_ERROR_TIMEOUT", "wait operation timed out"},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "graph cannot be updated so"},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "invalid cluster size"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};
enum { N_ERRORS = sizeof(errors) / sizeof(errors[0]) };

bool fake_is_fatal(tfr_cu_result r)
{
    return r == 214 || r == 220 || r == 700 || r == 702 || r == 710 || (r >= 714 && r <= 719) ||
           r == 721 || r == 999;
}

tfr_cu_result API(cuGetErrorName)(tfr_cu_result error, const char **name)
{
    *name = NULL;
    for (int i = 0; i < N_ERRORS; i++)
        if (errors[i].code == error)
            *name = errors[i].name;
    return *name ? TFR_CU_SUCCESS : TFR_CU_INVALID_VALUE;
}

tfr_cu_result API(cuGetErrorString)(tfr_cu_result error, const char **text)
{
    *text = NULL;
    for (int i = 0; i < N_ERRORS; i++)
        if (errors[i].code == error)
            *text = errors[i].text;
    return *text ? TFR_CU_SUCCESS : TFR_CU_INVALID_VALUE;
}

/* ------------------------------------------------------------------------------------------
 * The log.
 */
void fake_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(fake_self.note, sizeof fake_self.note, format, args);
    va_end(args);
}

static void add_line(const char *line)
{
    if (fake.set.log_file[0]) {
        FILE *file = fopen(fake.set.log_file, "ae");
        if (file) {
            fputs(line, file);
            fclose(file);
        }
        return;
    }
    size_t n = strlen(line);
    char *grown = fake.set.log ? realloc(fake.log, fake.log_bytes + n + 1) : NULL;
    if (!grown)
        return;
    memcpy(grown + fake.log_bytes, line, n + 1);
    fake.log = grown;
    fake.log_bytes += n;
}

/* ------------------------------------------------------------------------------------------
 * In and out.
 */
static void after_fork(void)
{
    fake.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_atfork(NULL, NULL, after_fork);
    fake_read_switches(getenv("TFRUN_FAKE_CUDA"));
}

static tfr_cu_result ordered(int call)
{
    for (unsigned i = 0; i < fake.set.n_orders; i++) {
        const fake_order *order = &fake.set.orders[i];
        if (order->call != call || (order->nth && order->nth != fake.counts[call]))
            continue;
        tfr_cu_context *ctx = fake_current();
        if (ctx && fake_is_fatal(order->code)) {
            fake_lose(ctx, order->code);
            ctx->told = true;
        }
        return order->code;
    }
    return TFR_CU_SUCCESS;
}

static tfr_cu_result lost(int call, tfr_cu_context *ctx)
{
    if (ctx->told && fake.n_after_loss++ == 0)
        fake.first_after_loss = call;
    ctx->told = true;
    return ctx->lost;
}

tfr_cu_result fake_begin(int call, unsigned needs)
{
    pthread_mutex_lock(&fake.lock);
    fake.counts[call]++;
    fake_self.note[0] = '\0';
    tfr_cu_context *ctx = fake_current();
    if ((needs & NEEDS_CONTEXT) && ctx && ctx->lost)
        return lost(call, ctx);
    tfr_cu_result result = ordered(call);
    if (result)
        return result;
    if (needs && fake.pid != getpid())
        return TFR_CU_NOT_INITIALIZED;
    if ((needs & NEEDS_CONTEXT) && !ctx)
        return TFR_CU_INVALID_CONTEXT;
    return needs & IS_UNSAFE ? fake_capture_unsafe() : TFR_CU_SUCCESS;
}

tfr_cu_result fake_end(int call, tfr_cu_result result)
{
    char line[256];
    snprintf(line, sizeof line, "%s%s%s = %u\n", call_names[call], fake_self.note[0] ? " " : "",
             fake_self.note, result);
    add_line(line);
    pthread_mutex_unlock(&fake.lock);
    return result;
}

/* ------------------------------------------------------------------------------------------
 * What tests ask.
 */
typedef struct fake_text {
    char *at;
    size_t left;
    unsigned n;
} fake_text;

static void put(fake_text *text, unsigned n, const char *what)
{
    if (n == 0)
        return;
    int len =
        snprintf(text->at, text->left, "%s%u %s%s", text->n ? ", " : "", n, what, n > 1 ? "s" : "");
    if (len > 0 && (size_t)len < text->left) {
        text->at += len;
        text->left -= (size_t)len;
    }
    text->n += n;
}

/* What belongs to a lost context cannot be given back, nor can what belongs to none. */
static unsigned count_held(fake_text *text)
{
    unsigned n = 0;
    bool any_lost = false;
    for (int i = 0; i < MAX_DEVICES; i++) {
        any_lost |= fake.contexts[i].lost != 0;
        n += fake.contexts[i].lost ? 0 : fake.contexts[i].n_retained;
    }
    put(text, n, "context");
    put(text, fake.n_pushed > 0 ? (unsigned)fake.n_pushed : 0, "pushed context");
    n = 0;
    for (tfr_cu_stream *s = fake.streams; s; s = s->next)
        n += !s->destroyed && s != s->ctx->legacy && !s->ctx->lost;
    put(text, n, "stream");
    n = 0;
    for (tfr_cu_event *e = fake.events; e; e = e->next)
        n += !e->destroyed && !e->ctx->lost;
    put(text, n, "event");
    n = 0;
    for (fake_block *b = fake.blocks; b; b = b->next)
        n += !fake.contexts[b->device].lost && !b->freeing;
    put(text, n, "allocation");
    n = 0;
    for (tfr_cu_pool *p = fake.pools; p; p = p->next)
        n += !p->destroyed && !fake.contexts[p->device].lost;
    put(text, n, "pool");
    if (any_lost)
        return text->n;
    n = 0;
    for (fake_pinned *p = fake.pinned; p; p = p->next)
        n++;
    put(text, n, "pinned block");
    n = 0;
    for (tfr_cu_library *l = fake.libraries; l; l = l->next)
        n++;
    put(text, n, "library");
    n = 0;
    for (tfr_cu_graph *g = fake.graphs; g; g = g->next)
        n += g->captured;
    put(text, n, "graph");
    n = 0;
    for (tfr_cu_graph_exec *e = fake.execs; e; e = e->next)
        n++;
    put(text, n, "executable graph");
    return text->n;
}

static unsigned describe_leaks(char *text, size_t n)
{
    int len = snprintf(text, n, "leaked: ");
    fake_text out = {text + len, n - (size_t)len, 0};
    if (count_held(&out) == 0)
        len = snprintf(out.at, out.left, "nothing");
    size_t used = strlen(text);
    if (fake.n_after_loss > 0)
        snprintf(text + used, n - used, "; after a fatal error: %u calls, first %s",
                 fake.n_after_loss, call_names[fake.first_after_loss]);
    return out.n + fake.n_after_loss;
}

EXPORT unsigned tfr_fake_cuda_leaks(char *text, size_t n)
{
    pthread_mutex_lock(&fake.lock);
    unsigned count = describe_leaks(text, n);
    pthread_mutex_unlock(&fake.lock);
    return count;
}

EXPORT unsigned tfr_fake_cuda_calls(const char *name)
{
    unsigned n = 0;
    pthread_mutex_lock(&fake.lock);
    for (int i = 0; i < N_CALLS; i++)
        if (strcmp(call_names[i], name) == 0)
            n = fake.counts[i];
    pthread_mutex_unlock(&fake.lock);
    return n;
}

EXPORT void tfr_fake_cuda_fail(const char *name, unsigned nth, unsigned code)
{
    pthread_mutex_lock(&fake.lock);
    for (int i = 0; i < N_CALLS; i++)
        if (strcmp(call_names[i], name) == 0 && fake.set.n_orders < 16)
            fake.set.orders[fake.set.n_orders++] = (fake_order){i, fake.counts[i] + nth, code};
    pthread_mutex_unlock(&fake.lock);
}

EXPORT char *tfr_fake_cuda_log(void)
{
    pthread_mutex_lock(&fake.lock);
    char *log = strdup(fake.log ? fake.log : "");
    pthread_mutex_unlock(&fake.lock);
    return log;
}

static void forget_objects(void)
{
    fake_streams_drop();
    while (fake.captures)
        fake_capture_end(fake.captures);
    while (fake.events) {
        fake.events->destroyed = true;
        fake_event_release(fake.events);
    }
    while (fake.libraries)
        fake_library_release(fake.libraries);
    while (fake.graphs)
        fake_graph_release(fake.graphs);
    while (fake.execs)
        fake_exec_release(fake.execs);
    while (fake.blocks)
        fake_block_release(fake.blocks);
    while (fake.pinned)
        fake_pinned_release(&fake.pinned);
    while (fake.pools) {
        fake.pools->destroyed = true;
        fake_pool_release(fake.pools);
    }
}

EXPORT void tfr_fake_cuda_configure(const char *switches)
{
    pthread_mutex_lock(&fake.lock);
    forget_objects();
    fake_read_switches(switches);
    fake.pid = 0;
    fake.n_launches = fake.n_after_loss = 0;
    fake.spent_ms = 0;
    fake.n_pushed = 0;
    fake_self = (fake_thread){0};
    memset(fake.counts, 0, sizeof fake.counts);
    memset(fake.used, 0, sizeof fake.used);
    for (int i = 0; i < MAX_DEVICES; i++)
        fake.contexts[i] = (tfr_cu_context){.device = i};
    free(fake.log);
    fake.log = NULL;
    fake.log_bytes = 0;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

__attribute__((destructor)) static void end(void)
{
    char text[256], line[300];
    pthread_mutex_lock(&fake.lock);
    if (fake.pid == getpid() && fake.set.log_file[0]) {
        describe_leaks(text, sizeof text);
        snprintf(line, sizeof line, "%s\n", text);
        add_line(line);
    }
    pthread_mutex_unlock(&fake.lock);
}
