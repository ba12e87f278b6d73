/* SPDX-License-Identifier: Apache-2.0 */
/* accelerator.c: the fake accelerator's entry, its devices and the doors of its calls. */
#include "accelerator.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

TFR_PLUGIN_NOTE(FAKE_NAME, TFR_PLUGIN_BACKEND, 100, "");

const tfr_host *fake_host;

static fake_driver_state own_driver = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                       .open_lock = PTHREAD_MUTEX_INITIALIZER};
fake_driver_state *fake_driver = &own_driver;

#define open_lock    (fake_driver->open_lock)
#define open_devices (fake_driver->devices)

/* The objects of a process come in the order in which they were loaded. */
static int find_driver(struct dl_phdr_info *info, size_t bytes, void *user)
{
    const char *base = strrchr(info->dlpi_name, '/');
    (void)bytes;
    if (!base || strncmp(base, "/fakeacc", 8) != 0)
        return 0;
    snprintf(user, PATH_MAX, "%s", info->dlpi_name);
    return 1;
}

static void share_driver(const tfr_host *host)
{
    char path[PATH_MAX] = "";
    void *so = dl_iterate_phdr(find_driver, path) ? dlopen(path, RTLD_NOLOAD | RTLD_LAZY) : NULL;
    tfr_plugin_entry_fn entry = NULL;
    const tfr_plugin *first = NULL;
    if (so)
        *(void **)&entry = dlsym(so, "tfrun_plugin_v0");
    if (entry && entry != tfrun_plugin_v0 && !entry(host, &first, NULL))
        fake_driver = (fake_driver_state *)(uintptr_t)first->facet("fake.driver");
}

/* ---- breaches -------------------------------------------------------------------------------- */

static void tell_breach(char *text, size_t n, const char *format, va_list args)
{
    const int prefix = snprintf(text, n, "host broke the contract: ");
    vsnprintf(text + prefix, n - (size_t)prefix, format, args);
    if (fake_host && fake_host->log)
        fake_host->log(TFR_LOG_ERROR, FAKE_NAME, text);
}

int32_t fake_breach(tfr_err *err, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    tell_breach(text, sizeof text, format, args);
    va_end(args);
    return tfr_fail(err, TFR_EPLUGIN, "%s", text);
}

void fake_breach_later(tfr_plugin_device *device, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    tell_breach(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&fake_lock);
    if (!device->breach[0])
        memcpy(device->breach, text, sizeof text);
    pthread_mutex_unlock(&fake_lock);
}

/* ---- doors ----------------------------------------------------------------------------------- */

int32_t fake_check_device(const tfr_plugin_device *device, tfr_err *err)
{
    const tfr_plugin_device *d;
    pthread_mutex_lock(&open_lock);
    for (d = open_devices; d && (d != device || d->plugin != &fake_plugin); d = d->next)
        ;
    pthread_mutex_unlock(&open_lock);
    return d ? TFR_OK : fake_breach(err, "device %p is not open", (const void *)device);
}

int32_t fake_lost(const tfr_plugin_device *device, tfr_err *err)
{
    return tfr_fail(err, TFR_ELOST, "device %u is lost after %lld launches", device->ordinal,
                    (long long)device->lose_after);
}

int32_t fake_tell(const tfr_plugin_device *device, const fake_failure *failure, tfr_err *err)
{
    tfr_fail(err, (tfr_status)failure->code, "%s", failure->text);
    if (err)
        err->native = failure->native;
    if (device->names_launch)
        tfr_err_set_launch(err, failure->launch);
    return failure->code;
}

int32_t fake_carried(const tfr_plugin_device *from, const tfr_plugin_device *to, int32_t code)
{
    return from != to && code == TFR_ELOST ? TFR_EDEVICE : code;
}

bool fake_is_fence(const tfr_fence *fence)
{
    const tfr_fence *f = NULL;
    pthread_mutex_lock(&open_lock);
    for (const tfr_plugin_device *d = open_devices; d && !f; d = d->next)
        for (f = d->plugin == &fake_plugin ? d->fences : NULL; f && f != fence; f = f->next)
            ;
    pthread_mutex_unlock(&open_lock);
    return f != NULL;
}

void fake_wake_all(void)
{
    pthread_mutex_lock(&open_lock);
    for (tfr_plugin_device *d = open_devices; d; d = d->next)
        pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&open_lock);
}

/* What a call that has got in still may find: a breach to tell, a lost device. */
static int32_t look_around(tfr_plugin_device *device, tfr_err *err)
{
    int32_t status = TFR_OK;
    pthread_mutex_lock(&fake_lock);
    if (device->breach[0]) {
        status = tfr_fail(err, TFR_EPLUGIN, "%s", device->breach);
        device->breach[0] = '\0';
    } else if (device->is_lost) {
        status = fake_lost(device, err);
    }
    pthread_mutex_unlock(&fake_lock);
    return status;
}

int32_t fake_enter(tfr_plugin_device *device, tfr_err *err)
{
    int32_t status = fake_check_device(device, err);
    if (!status)
        status = fake_check_capture(NULL, "a [device] call", err);
    if (status)
        return status;
    if (atomic_exchange(&device->is_inside, true))
        return fake_breach(err, "two threads are in [device] calls of device %u", device->ordinal);
    status = look_around(device, err);
    if (status)
        fake_leave(device);
    return status;
}

int32_t fake_enter_build(tfr_plugin_device *device, tfr_err *err)
{
    if (!device->concurrent)
        return fake_enter(device, err);
    int32_t status = fake_check_device(device, err);
    return status ? status : look_around(device, err);
}

void fake_leave_build(tfr_plugin_device *device)
{
    if (!device->concurrent)
        fake_leave(device);
}

void fake_leave(tfr_plugin_device *device)
{
    atomic_store(&device->is_inside, false);
}

bool fake_enter_void(tfr_plugin_device *device, const char *function)
{
    if (fake_check_device(device, NULL))
        return false;
    if (fake_capturing) {
        fake_breach_later(device, "%s by a thread that captures", function);
        return false;
    }
    if (atomic_exchange(&device->is_inside, true)) {
        fake_breach_later(device, "%s while another thread is in a [device] call", function);
        return false;
    }
    return true;
}

int32_t fake_enter_queue(tfr_plugin_device *device, tfr_queue *queue, tfr_err *err)
{
    const tfr_queue *q;
    if (!queue)
        return fake_enter(device, err);
    int32_t status = fake_check_device(device, err);
    if (status)
        return status;
    pthread_mutex_lock(&fake_lock);
    for (q = device->queues; q && q != queue; q = q->next)
        ;
    pthread_mutex_unlock(&fake_lock);
    if (!q)
        return fake_breach(err, "queue %p is not one of device %u", (void *)queue, device->ordinal);
    status = fake_check_capture(queue, "a [queue] call", err);
    if (status)
        return status;
    if (atomic_exchange(&queue->real->is_inside, true))
        return fake_breach(err, "two threads are in calls of one queue");
    status = look_around(device, err);
    if (status)
        fake_leave_queue(device, queue);
    return status;
}

void fake_leave_queue(tfr_plugin_device *device, tfr_queue *queue)
{
    atomic_store(queue ? &queue->real->is_inside : &device->is_inside, false);
}

/* ---- devices --------------------------------------------------------------------------------- */

/* A number from the configuration, or absent. */
static int64_t option_number(const char *key, int64_t absent)
{
    char text[32];
    char *end;
    const int32_t length = fake_host->option(FAKE_NAME, key, text, sizeof text);
    if (length <= 0 || length >= (int32_t)sizeof text)
        return absent;
    const long long number = strtoll(text, &end, 10);
    if (*end == '\0' && number >= 0)
        return number;
    char line[128];
    snprintf(line, sizeof line, "option %s: \"%s\" is no number", key, text);
    fake_host->log(TFR_LOG_WARNING, FAKE_NAME, line);
    return absent;
}

static uint64_t memory_of(const tfr_open_options *options)
{
    const char *text = tfr_open_option(options, "memory_limit");
    return text ? strtoull(text, NULL, 10) : (uint64_t)option_number("memory_limit", 1 << 20);
}

/* The options for tests that every plugin may know. */
static int64_t number_of(const tfr_open_options *options, const char *key)
{
    const char *text = tfr_open_option(options, key);
    return text ? strtoll(text, NULL, 10) : option_number(key, -1);
}

/* Drivers find here what open needs. */
static atomic_bool was_enumerated;

static int32_t fake_enumerate(tfr_device_info *out, uint32_t stride, uint32_t *n, tfr_err *err)
{
    const int64_t wanted = option_number("devices", 1);
    const uint32_t n_devices = wanted > 4 ? 4 : (uint32_t)wanted;
    const uint32_t capacity = *n;
    if (capacity > 0 && (!out || stride < offsetof(tfr_device_info, ordinal)))
        return fake_breach(err, "enumerate has room for %u devices and nowhere to put them",
                           capacity);
    for (uint32_t i = 0; i < n_devices && i < capacity; i++) {
        tfr_device_info *to = (tfr_device_info *)(void *)((char *)out + (size_t)i * stride);
        tfr_device_info info = {.ordinal = i, .type = "NPU", .numa_node = -1};
        if (to->size > stride)
            return fake_breach(err, "a device info of %u bytes every %u bytes", to->size, stride);
        snprintf(info.identity, sizeof info.identity, "fake:%u", i);
        if (option_number("uuid", 0)) {
            memcpy(info.identities, info.identity, sizeof info.identity);
            snprintf(info.identity, sizeof info.identity, "uuid:%u", i);
        }
        snprintf(info.name, sizeof info.name, "Fake Accelerator %u", i);
        snprintf(info.driver, sizeof info.driver, "1.0");
        snprintf(info.properties, sizeof info.properties, "fake=yes\nseries=one");
        info.memory_total = info.memory_free = memory_of(NULL);
        tfr_list_put(out, stride, capacity, i, &info, sizeof info);
    }
    *n = n_devices;
    atomic_store(&was_enumerated, true);
    return TFR_OK;
}

bool fake_is_own(const tfr_device_info *info)
{
    return strncmp(info->identity, "fake:", 5) == 0 || strncmp(info->identity, "uuid:", 5) == 0;
}

static int32_t fake_open(const tfr_device_info *info, const tfr_open_options *options,
                         tfr_plugin_device **out, tfr_err *err)
{
    pthread_condattr_t attr;
    if (!atomic_load(&was_enumerated))
        return fake_breach(err, "open before enumerate in this process");
    if (!fake_is_own(info) || (int64_t)info->ordinal >= option_number("devices", 1))
        return fake_breach(err, "open of device %u, \"%s\", which was not enumerated",
                           info->ordinal, info->identity);
    tfr_plugin_device *device = calloc(1, sizeof *device);
    if (!device)
        return tfr_fail(err, TFR_ENOMEM, "no host memory for a device");
    device->plugin = &fake_plugin;
    device->ordinal = info->ordinal;
    if (option_number("domain", 0))
        snprintf(device->domain, sizeof device->domain, "fake:%d:%u",
                 (int)option_number("domain", 0), info->ordinal);
    device->memory_limit = memory_of(options);
    device->size_limit = (uint64_t)option_number("size_limit", 65536);
    device->delay_ns = (uint64_t)option_number("delay_us", 100) * 1000;
    device->lose_after = number_of(options, "lose_after");
    device->programs = option_number("programs", 0);
    device->may_profile = option_number("profile", 1) != 0;
    device->handles = option_number("handles", 0) != 0;
    device->consume = option_number("consume", 0) != 0;
    device->pinned = option_number("pinned", 0) != 0;
    device->pinned_left = (uint64_t)option_number("pinned_limit", 1 << 24);
    device->own_bytes = (uint64_t)option_number("own_bytes", 0);
    device->max_alloc = (uint64_t)option_number("max_alloc", 0);
    device->pageable_blocks = option_number("pageable_blocks", 0) != 0;
    device->host_results = option_number("host_results", 0) != 0;
    device->transfer = option_number("transfer", 0) != 0;
    device->wrong_dims = option_number("wrong_dims", 0);
    device->host_scalars = option_number("host_scalars", 0) != 0;
    device->fail_after = number_of(options, "fail_after");
    device->hang_after = option_number("hang_after", -1);
    device->hang_ns = (uint64_t)option_number("hang_ms", 0) * 1000000;
    device->may_abort = option_number("abort", 1) != 0;
    device->queue_limit = option_number("queue_limit", 0);
    device->pool = option_number("pool", 0) != 0;
    device->names_launch = option_number("names_launch", 1) != 0;
    device->sticky = option_number("sticky", 0) != 0;
    device->early_waits = option_number("early_waits", 0) != 0;
    device->links = option_number("links", 1) != 0;
    device->unsteady = option_number("unsteady", 0);
    device->saves = option_number("saves", 0);
    device->concurrent = option_number("concurrent", 0) != 0;
    device->ignores_waits = option_number("ignores_waits", 0) != 0;
    device->launch_waits = option_number("launch_waits", 0) != 0;
    device->loses_errors = option_number("loses_errors", 0) != 0;
    device->capture = option_number("capture", 1);
    device->borrows = fake_lender(err) != NULL;
    if (!fake_memory_map(device)) {
        tfr_fail(err, TFR_ENOMEM, "%llu bytes of device memory cannot be mapped",
                 (unsigned long long)device->memory_limit);
        free(device);
        return TFR_ENOMEM;
    }
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&device->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_lock(&open_lock);
    device->next = open_devices;
    open_devices = device;
    pthread_mutex_unlock(&open_lock);
    *out = device;
    return TFR_OK;
}

static void fake_close(tfr_plugin_device *device)
{
    tfr_plugin_device **at;
    if (!fake_enter_void(device, "close"))
        return;
    /* What is still there may be in use: rather a leak than a crash far away from its cause. */
    if (device->queues || device->fences || device->kernels || device->blocks ||
        device->near_blocks || device->executables) {
        fake_breach(NULL, "close of device %u, which still has%s%s%s%s%s", device->ordinal,
                    device->executables ? " executables" : "", device->queues ? " queues" : "",
                    device->fences ? " fences" : "", device->kernels ? " kernels" : "",
                    device->blocks || device->near_blocks ? " allocations" : "");
        fake_leave(device);
        return;
    }
    pthread_mutex_lock(&open_lock);
    for (at = &open_devices; *at != device; at = &(*at)->next)
        ;
    *at = device->next;
    pthread_mutex_unlock(&open_lock);
    fake_memory_unmap(device);
    pthread_cond_destroy(&device->changed);
    free(device);
}

static const void *fake_facet(const char *id)
{
    if (strcmp(id, TFR_MEMORY_V1) == 0)
        return &fake_memory_facet;
    if (strcmp(id, TFR_QUEUE_V1) == 0)
        return &fake_queue_facet;
    if (strcmp(id, TFR_KERNEL_V1) == 0)
        return &fake_kernel_facet;
    if (strcmp(id, TFR_PROGRAM_V1) == 0)
        return &fake_program_facet;
    if (strcmp(id, TFR_LAYOUT_V1) == 0)
        return &fake_layout_facet;
    if (strcmp(id, TFR_PROFILE_V1) == 0)
        return &fake_profile_facet;
    if (strcmp(id, TFR_NATIVE_V1) == 0)
        return &fake_native_facet;
    if (strcmp(id, "fake.driver") == 0) /* for another plugin of it */
        return fake_driver;
    if (strcmp(id, TFR_CAPTURE_V1) == 0)
        return &fake_capture_facet;
    return NULL;
}

static void fake_shutdown(void)
{
    pthread_mutex_lock(&open_lock);
    bool is_open = false;
    for (const tfr_plugin_device *d = open_devices; d; d = d->next)
        is_open = is_open || d->plugin == &fake_plugin;
    pthread_mutex_unlock(&open_lock);
    if (is_open)
        fake_breach(NULL, "shutdown with a device open");
}

const tfr_plugin fake_plugin = {
    .size = sizeof fake_plugin,
    .abi_minor = TFR_ABI_MINOR,
    .name = FAKE_NAME,
    .version = "1.0",
    .vendor = "tests",
    .build_info = "",
    .enumerate = fake_enumerate,
    .open = fake_open,
    .close = fake_close,
    .facet = fake_facet,
    .shutdown = fake_shutdown,
};

int32_t tfrun_plugin_v0(const tfr_host *host, const tfr_plugin **out, tfr_err *err)
{
    if (host->size < offsetof(tfr_host, facet))
        return tfr_fail(err, TFR_EPLUGIN, "the host's table has only %u bytes", host->size);
    if (!fake_host) /* else another plugin of the driver asks */
        share_driver(host);
    if (fake_host != host)
        fake_host = host;
    *out = &fake_plugin;
    return TFR_OK;
}
