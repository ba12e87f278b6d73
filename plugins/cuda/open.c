/* SPDX-License-Identifier: Apache-2.0 */
/* open.c: opens and closes devices, and knows which are lost. */
#include "profile.h"
#include "tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB          (UINT64_C(1) << 20)
#define LIBRARY_FROM (1 << 27) /* 512 x 512 x 512 */
#define TUNE_FILL    (1 << 26) /* less for tests, where a fill is the host's work */

/* ---- a device that is lost ------------------------------------------------------------------- */

void cuda_lose(tfr_plugin_device *device, const cuda_failure *failure, bool is_dead)
{
    pthread_mutex_lock(&device->lock);
    if (!atomic_load(&device->is_lost)) {
        device->failure = *failure;
        device->failure.code = TFR_ELOST;
        atomic_store(&device->is_dead, is_dead);
        atomic_store(&device->is_lost, true);
        cuda_log(TFR_LOG_ERROR, "%s (%s) is lost: %s", device->facts.name, device->facts.pci,
                 failure->text);
    }
    pthread_mutex_unlock(&device->lock);
}

int32_t cuda_tell_lost(const tfr_plugin_device *device, tfr_err *err)
{
    return cuda_failure_tell(&device->failure, err);
}

int32_t cuda_check_launch(tfr_plugin_device *device, tfr_cu_result result, uint64_t launch,
                          tfr_err *err, const char *format, ...)
{
    tfr_err own = TFR_ERR_INIT;
    cuda_failure failure;
    char what[128];
    va_list args;
    int32_t status;

    if (result == TFR_CU_SUCCESS)
        return TFR_OK;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    status = cuda_fail(&own, result, "%s", what);
    cuda_failure_keep(&failure, status, &own, launch);
    if (!cuda_is_fatal(result))
        return cuda_failure_tell(&failure, err);
    cuda_lose(device, &failure, true);
    return cuda_tell_lost(device, err);
}

int32_t cuda_enter(tfr_plugin_device *device, tfr_err *err)
{
    if (atomic_load(&device->is_lost))
        return cuda_tell_lost(device, err);
    return cuda_check(device, cuda_driver.cuCtxPushCurrent_v2(device->context), err,
                      "the context of %s", device->facts.name);
}

void cuda_leave(tfr_plugin_device *device)
{
    tfr_cu_context *context;

    (void)device;
    (void)cuda_driver.cuCtxPopCurrent_v2(&context);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static int64_t number_of(const tfr_open_options *options, const char *key, int64_t absent)
{
    const char *text = tfr_open_option(options, key);

    return text && *text ? strtoll(text, NULL, 10) : absent;
}

/* What TensorFlow leaves to the display, the driver and the libraries. */
static uint64_t reserve_of(const cuda_facts *facts, uint64_t available)
{
    const int major = facts->chip.capability / 10;

    if (available < 2048 * MIB)
        return 225 * MIB;
    return (major <= 6 ? 500 : major == 7 ? 1050 : major == 8 ? 1536 : 1800) * MIB;
}

/* Memory is taken as it is needed, up to the limit. The context is current. */
static int32_t find_limit(tfr_plugin_device *device, const tfr_open_options *options, tfr_err *err)
{
    const char *text = tfr_open_option(options, "memory-fraction");
    const int64_t bytes = number_of(options, "memory_limit", -1);
    size_t available = 0, total = 0;
    uint64_t reserve;
    int32_t status = cuda_check(device, cuda_driver.cuMemGetInfo_v2(&available, &total), err,
                                "free memory of %s", device->facts.name);

    if (status != TFR_OK)
        return status;
    if (bytes >= 0) {
        device->limit = (uint64_t)bytes;
        return TFR_OK;
    }
    if (text) {
        const double fraction = strtod(text, NULL);
        if (!(fraction > 0 && fraction <= 1))
            return tfr_fail(err, TFR_EINVAL,
                            "cuda.memory-fraction is %s, and has to be over 0 and at most 1: more "
                            "than the GPU has would be managed memory, which is not supported",
                            text);
        device->limit = (uint64_t)(fraction * (double)total);
        return TFR_OK;
    }
    reserve = reserve_of(&device->facts, available);
    device->limit = available > 2 * reserve ? available - reserve : available;
    return TFR_OK;
}

/* ---- switches -------------------------------------------------------------------------------- */

static int32_t read_switch(const tfr_open_options *options, const char *key, bool *is_on,
                           tfr_err *err)
{
    const char *text = tfr_open_option(options, key);
    const bool is_off = text && (strcmp(text, "off") == 0 || strcmp(text, "0") == 0);

    if (text && *text && !is_off && strcmp(text, "on") != 0 && strcmp(text, "1") != 0)
        return tfr_fail(err, TFR_EINVAL, "cuda.%s is %.32s, and has to be on or off", key, text);
    *is_on = !is_off;
    return TFR_OK;
}

static int32_t read_switches(tfr_plugin_device *device, const tfr_open_options *options,
                             tfr_err *err)
{
    bool tunes = true;
    int32_t status = read_switch(options, "tune", &tunes, err);

    if (status == TFR_OK)
        status = read_switch(options, "overlap", &device->overlaps, err);
    if (status == TFR_OK)
        cuda_tune_open(device, tunes, (uint64_t)number_of(options, "tune_fill", TUNE_FILL));
    return status;
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* The driver's number of the device that was listed, maybe by another process. */
static int32_t find_device(const tfr_device_info *info, cuda_facts *facts, tfr_err *err)
{
    int n = 0;
    int32_t status = cuda_fail(err, cuda_driver.cuDeviceGetCount(&n), "the number of GPUs");

    for (int i = 0; i < n && status == TFR_OK; i++) {
        char identity[sizeof info->identity];
        size_t length;
        status = cuda_find_facts(i, facts, err);
        snprintf(identity, sizeof identity, "%s:%s", facts->uuid[0] ? "uuid" : "pci",
                 facts->uuid[0] ? facts->uuid : facts->pci);
        length = strlen(identity);
        if (status == TFR_OK && strncmp(info->identity, identity, length) == 0 &&
            (info->identity[length] == 0 || info->identity[length] == '/'))
            return TFR_OK;
    }
    return status ? status
                  : tfr_fail(err, TFR_EDEVICE,
                             "there is no GPU %s any more; list the devices with --refresh, and "
                             "look at CUDA_VISIBLE_DEVICES",
                             info->identity);
}

static void say_found(const tfr_plugin_device *device)
{
    const cuda_facts *f = &device->facts;

    cuda_log(TFR_LOG_INFO,
             "opened device %d with %.0f MB memory: name: %s, pci bus id: %s, compute capability: "
             "%d.%d, clock: %.2f GHz, multiprocessors: %d, memory: %.2f GiB, bandwidth: %.2f TB/s",
             f->device, (double)device->limit / (double)MIB, f->name, f->pci,
             f->chip.capability / 10, f->chip.capability % 10, (double)f->clock_khz / 1e6,
             f->chip.multiprocessors, (double)f->memory_total / (1024.0 * (double)MIB),
             (double)f->memory_bandwidth / 1e12);
}

static int32_t start(tfr_plugin_device *device, const tfr_open_options *options, tfr_err *err)
{
    int32_t status = cuda_enter(device, err);

    if (status != TFR_OK)
        return status;
    status = find_limit(device, options, err);
    if (status == TFR_OK)
        status = cuda_check(
            device,
            cuda_driver.cuStreamCreateWithPriority(&device->stream, TFR_CU_STREAM_NON_BLOCKING, 0),
            err, "a stream of %s", device->facts.name);
    if (status == TFR_OK)
        status = cuda_pool_open(device, err);
    cuda_leave(device);
    return status;
}

int32_t cuda_open(const tfr_device_info *info, const tfr_open_options *options,
                  tfr_plugin_device **out, tfr_err *err)
{
    tfr_plugin_device *device;
    int32_t status = cuda_driver_open(err);

    if (status != TFR_OK)
        return status == TFR_ENOTFOUND ? TFR_EDEVICE : status;
    device = calloc(1, sizeof *device);
    if (!device)
        return tfr_fail(err, TFR_ENOMEM, "no memory for a device");
    pthread_mutex_init(&device->lock, NULL);
    pthread_mutex_init(&device->engine_lock, NULL);
    pthread_mutex_init(&device->constants_lock, NULL);
    pthread_mutex_init(&device->profile.lock, NULL);
    cuda_module_hold();
    device->fail_after = number_of(options, "fail_after", -1);
    device->lose_after = number_of(options, "lose_after", -1);
    pthread_mutex_init(&device->tuner.lock, NULL);
    status = read_switches(device, options, err);
    if (status == TFR_OK)
        status = find_device(info, &device->facts, err);
    device->facts.chip.library_from = number_of(options, "library-from", LIBRARY_FROM);
    if (status == TFR_OK)
        status = cuda_check(
            device, cuda_driver.cuDevicePrimaryCtxRetain(&device->context, device->facts.device),
            err, "the primary context of %s", device->facts.name);
    if (status == TFR_OK)
        status = start(device, options, err);
    if (status != TFR_OK) {
        cuda_close(device);
        return status;
    }
    say_found(device);
    cuda_ranges_open();
    *out = device;
    return TFR_OK;
}

void cuda_close(tfr_plugin_device *device)
{
    const bool is_dead = device->is_dead;

    if (device->context && !is_dead &&
        cuda_driver.cuCtxPushCurrent_v2(device->context) == TFR_CU_SUCCESS) {
        if (device->stream)
            (void)cuda_driver.cuStreamSynchronize(device->stream);
        cuda_engines_close(device);
        cuda_profile_close(device);
        cuda_memory_close(device);
        cuda_pool_close(device);
        cuda_events_close(device);
        cuda_notes_close(device);
        if (device->stream)
            (void)cuda_driver.cuStreamDestroy_v2(device->stream);
        cuda_module_release(false);
        cuda_leave(device);
        (void)cuda_driver.cuDevicePrimaryCtxRelease_v2(device->facts.device);
    } else {
        cuda_profile_close(device);
        cuda_memory_close(device);
        cuda_notes_close(device);
        cuda_module_release(is_dead);
    }
    cuda_tune_close(device);
    free(device->events);
    pthread_mutex_destroy(&device->tuner.lock);
    pthread_mutex_destroy(&device->engine_lock);
    pthread_mutex_destroy(&device->constants_lock);
    pthread_mutex_destroy(&device->profile.lock);
    pthread_mutex_destroy(&device->lock);
    free(device);
}
