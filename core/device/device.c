/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c: from the plugins' answers to devices. Equal identity means one physical device, however
 * many plugins drive it; each of them is a backend of it, the highest priority first. The processor
 * ("host") is described by the core and may be split into logical devices. Opening is lazy and in
 * plugin_load.c; names are in device_name.c.
 */
#include "device/loader.h"

#include "base/alloc.h"
#include "op/op.h"
#include "base/port/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>
#include <tfrun/tensor.h>

/* A device as one plugin found it, and those of other plugins that are the same one. */
typedef struct found {
    tfr__plugin *plugin;
    const tfr__reply_device *device;
    struct found *same; /* the next plugin's view of it */
    bool is_more;       /* hangs on another one's list */
} found;

/* ---- claims ---- */

/* Plugins list their ops as the table does, so the row is mostly one of the next. */
static const tfr__op *find_op(const char *domain, const char *name, uint32_t *next)
{
    enum { MOST_STEPS = 8 };
    for (uint32_t i = *next; i < *next + MOST_STEPS && i < tfr__op_count(); i++) {
        const tfr__op *op = tfr__op_at(i);
        if (strcmp(op->name, name) == 0 && strcmp(op->domain, domain) == 0) {
            *next = i + 1;
            return op;
        }
    }
    const tfr__op *op = tfr__op_find(domain, name);
    *next = op ? tfr__op_number(op) + 1 : *next;
    return op;
}

uint32_t tfr__claims_match(const tfr__reply_device *device, uint32_t n_table, uint8_t *claims,
                           int32_t *versions, tfr__claim_types *types)
{
    uint32_t i, n = 0, next = 0;
    for (i = 0; i < device->n_claims; i++) {
        const tfr__reply_claim *claim = &device->claims[i];
        const tfr__op *op = find_op(claim->domain, claim->name, &next);
        const uint32_t number = op ? tfr__op_number(op) : UINT32_MAX;
        uint8_t answer;
        if (number >= n_table || claims[number] == TFR__CLAIM_YES)
            continue;
        if (claim->numbers.digest && claim->numbers.digest != tfr__op_digest(op))
            answer = TFR__CLAIM_DIGEST;
        else
            answer = TFR__CLAIM_YES;
        if (claim->numbers.since_version < op->compat_version &&
            tfr__op_has_older(op, claim->numbers.since_version))
            answer = answer == TFR__CLAIM_YES ? TFR__CLAIM_OLDER : answer;
        else if (claim->numbers.since_version < op->compat_version ||
                 claim->numbers.since_version > op->since_version)
            answer = TFR__CLAIM_VERSION;
        n += answer == TFR__CLAIM_YES;
        claims[number] = answer;
        versions[number] = claim->numbers.since_version;
        types[number].here = claim->numbers.dtypes;
        types[number].conditional = claim->numbers.dtypes_if;
    }
    return n;
}

/* ---- putting the answers together ---- */

static int plugin_order(const void *a, const void *b)
{
    const tfr__plugin *x = *(tfr__plugin *const *)a, *y = *(tfr__plugin *const *)b;
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool found_is_host(const found *f)
{
    return strcmp(f->device->info.identity, "host") == 0;
}

/* The processor first, then by type; equal ones stay in the order in which they were found. */
static int found_order(const void *a, const void *b)
{
    const found *x = *(found *const *)a, *y = *(found *const *)b;
    int order;
    if (found_is_host(x) != found_is_host(y))
        return found_is_host(x) ? -1 : 1;
    order = strcmp(x->device->info.type, y->device->info.type);
    if (order)
        return order;
    return x < y ? -1 : x > y;
}

/* Is the text one of the device's identities? */
static bool has_identity(const tfr_device_info *info, const char *text, size_t bytes)
{
    return (strlen(info->identity) == bytes && !memcmp(info->identity, text, bytes)) ||
           (bytes && tfr__words_have(info->identities, text, bytes));
}

/* Do they have an identity in common? */
static bool is_same(const tfr_device_info *a, const tfr_device_info *b)
{
    const char *word = a->identities;
    if (has_identity(b, a->identity, strlen(a->identity)))
        return true;
    while (*(word += strspn(word, " "))) {
        const size_t n = strcspn(word, " ");
        if (has_identity(b, word, n))
            return true;
        word += n;
    }
    return false;
}

/* Puts the list of another device behind first's, in the order of all; not if a plugin has both. */
static bool found_join(found *first, found *other)
{
    for (const found *a = first; a; a = a->same)
        for (const found *b = other; b; b = b->same)
            if (a->plugin == b->plugin)
                return false;
    while (other) {
        found *next = other->same, *at = first;
        while (at->same && at->same < other)
            at = at->same;
        other->same = at->same;
        other->is_more = true;
        at->same = other;
        other = next;
    }
    return true;
}

static bool found_is_any(const found *first, const found *f)
{
    while (first && !is_same(&first->device->info, &f->device->info))
        first = first->same;
    return first != NULL;
}

/* Hangs f on the earlier ones that are the same device; these may not have known it of each other.
 */
static void found_merge(found *all, uint32_t n, found *f)
{
    found *first = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (!all[i].is_more && found_is_any(&all[i], f)) {
            if (!first && found_join(&all[i], f))
                first = &all[i];
            else if (first)
                found_join(first, &all[i]);
        }
}

/* Does the plugin have a device of this identity already? Its row says so then. */
static bool found_twice(const found *all, uint32_t n, const found *f)
{
    for (; n && all[n - 1].plugin == f->plugin; n--)
        if (is_same(&all[n - 1].device->info, &f->device->info)) {
            tfr__plugin_set(f->plugin, TFR_PLUGIN_USABLE,
                            "has more than one device of the identity %s; the first is used",
                            f->device->info.identity);
            return true;
        }
    return false;
}

/* All usable devices of usable plugins; *order gets the n_order physical ones, sorted. */
static tfr_status found_collect(const tfr__loader *loader, found **all, found ***order,
                                uint32_t *n_order, tfr_err *err)
{
    tfr__plugin **plugins = tfr__calloc(loader->n_plugins + 1, sizeof *plugins);
    uint32_t n_plugins = 0, n = 0, i, d;
    *all = NULL;
    *order = NULL;
    *n_order = 0;
    for (i = 0; plugins && i < loader->n_plugins; i++)
        if (loader->plugins[i]->state == TFR_PLUGIN_USABLE &&
            loader->plugins[i]->note.kind == TFR_PLUGIN_BACKEND) {
            plugins[n_plugins++] = loader->plugins[i];
            n += loader->plugins[i]->reply.n_devices;
        }
    if (plugins) {
        *all = tfr__calloc(n + 1, sizeof **all);
        *order = tfr__calloc(n + 1, sizeof **order);
    }
    if (!plugins || !*all || !*order) {
        tfr__free(plugins);
        tfr__free(*all);
        tfr__free(*order);
        return tfr__no_memory(err);
    }
    qsort(plugins, n_plugins, sizeof *plugins, plugin_order);
    for (i = 0, n = 0; i < n_plugins; i++)
        for (d = 0; d < plugins[i]->reply.n_devices; d++) {
            const tfr__reply_device *device = &plugins[i]->reply.devices[d];
            if (device->info.unusable)
                continue;
            (*all)[n] = (found){.plugin = plugins[i], .device = device};
            if (found_twice(*all, n, &(*all)[n]))
                continue;
            found_merge(*all, n, &(*all)[n]);
            n++;
        }
    for (i = 0; i < n; i++)
        if (!(*all)[i].is_more)
            (*order)[(*n_order)++] = &(*all)[i];
    qsort(*order, *n_order, sizeof **order, found_order);
    tfr__free(plugins);
    return TFR_OK;
}

/* ---- one device ---- */

static char no_text[] = "there was no memory to note how"; /* never freed */

/* The first failure is the one that is told. */
static void op_quarantine(_Atomic(char *) *slot, const char *text)
{
    char *copy = tfr__strdup(text), *none = NULL;
    if (!atomic_compare_exchange_strong(slot, &none, copy ? copy : no_text))
        tfr__free(copy);
}

static void op_quarantined_free(_Atomic(char *) *texts, uint32_t n)
{
    for (uint32_t op = 0; texts && op < n; op++)
        if (atomic_load(&texts[op]) != no_text)
            tfr__free(atomic_load(&texts[op]));
    tfr__free(texts);
}

static void device_finish(tfr__device *device)
{
    uint32_t i;
    for (i = 0; i < device->n_backends; i++) {
        tfr__backend *backend = &device->backends[i];
        tfr__backend_close(backend);
        pthread_mutex_destroy(&backend->lock);
        tfr__free(backend->claims);
        tfr__free(backend->claim_versions);
        tfr__free(backend->claim_types);
        op_quarantined_free(backend->op_quarantined, backend->n_table);
        if (atomic_load(&backend->failed) != no_text)
            tfr__free(atomic_load(&backend->failed));
    }
    tfr__free(device->backends);
    memset(device, 0, sizeof *device);
}

atomic_uint tfr__n_quarantines;

void tfr__backend_quarantine(tfr__backend *backend, int32_t op, const char *text)
{
    if (op == TFR__PROGRAMS) {
        atomic_store(&backend->program_off, true);
    } else if (op < 0) {
        op_quarantine(&backend->failed, text);
        atomic_store(&backend->quarantined, true);
    } else if (backend->op_quarantined) {
        op_quarantine(&backend->op_quarantined[op], text);
    }
    atomic_fetch_add(&tfr__n_quarantines, 1);
    if (backend->plugin) /* a backend that a test made by hand has none */
        tfr__plugin_set(backend->plugin, TFR_PLUGIN_QUARANTINED, "%s%s%s: %s", backend->name,
                        op == TFR__PROGRAMS ? ", programs"
                        : op < 0            ? ""
                                            : ", op ",
                        op < 0 ? "" : tfr__op_at((uint32_t)op)->name, text);
}

/* Claims that do not meet the op table turn off those ops alone; the plugin's row says so. */
static void backend_tell_claims(const tfr__backend *backend)
{
    uint32_t n = 0, op;
    char text[400] = "";
    size_t used = 0;
    for (op = 0; op < backend->n_table; op++) {
        if (backend->claims[op] != TFR__CLAIM_VERSION && backend->claims[op] != TFR__CLAIM_DIGEST)
            continue;
        if (n++ && used < sizeof text / 2) /* room for one more, or for the last word */
            used += (size_t)snprintf(text + used, sizeof text - used, ", ");
        else if (n > 1)
            continue;
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%s is of version %d%s, this core has version %d",
            tfr__op_at(op)->name, (int)backend->claim_versions[op],
            backend->claims[op] == TFR__CLAIM_DIGEST ? " with another schema or normal form" : "",
            (int)tfr__op_at(op)->since_version);
    }
    if (n && !*backend->plugin->reason)
        tfr__plugin_set(backend->plugin, TFR_PLUGIN_USABLE, "%u of its ops are off: %s%s",
                        (unsigned)n, text, used < sizeof text / 2 ? "" : ", ...");
}

static tfr_status backend_init(tfr__backend *backend, const found *f, uint32_t number, tfr_err *err)
{
    const uint32_t n_ops = backend->n_table = tfr__op_count();
    backend->plugin = f->plugin;
    backend->plugin_name = f->plugin->name;
    snprintf(backend->name, sizeof backend->name, "%s:%u", f->plugin->name, (unsigned)number);
    backend->priority = f->plugin->priority;
    backend->priority_set = f->plugin->priority != f->plugin->note.priority;
    backend->info = f->device->info;
    backend->claims = tfr__calloc(n_ops + 1, sizeof *backend->claims);
    backend->claim_versions = tfr__calloc(n_ops + 1, sizeof *backend->claim_versions);
    backend->claim_types = tfr__calloc(n_ops + 1, sizeof *backend->claim_types);
    backend->op_quarantined = tfr__calloc(n_ops + 1, sizeof *backend->op_quarantined);
    if (!backend->claims || !backend->claim_versions || !backend->claim_types ||
        !backend->op_quarantined) {
        tfr__free(backend->claims);
        tfr__free(backend->claim_versions);
        tfr__free(backend->claim_types);
        op_quarantined_free(backend->op_quarantined, backend->n_table);
        return tfr__no_memory(err);
    }
    backend->n_ops = tfr__claims_match(f->device, n_ops, backend->claims, backend->claim_versions,
                                       backend->claim_types);
    backend_tell_claims(backend);
    if (backend->n_ops > f->plugin->n_ops)
        f->plugin->n_ops = backend->n_ops;
    pthread_mutex_init(&backend->lock, NULL);
    return TFR_OK;
}

/* A field that the first backend leaves empty is taken from the next. */
static void device_merge_info(tfr_device_info *out, const tfr_device_info *in, bool from_cache)
{
#define TAKE_TEXT(field)                                                                           \
    if (!out->field[0])                                                                            \
    memcpy(out->field, in->field, sizeof out->field)
    TAKE_TEXT(type);
    TAKE_TEXT(identity);
    TAKE_TEXT(identities);
    TAKE_TEXT(name);
    TAKE_TEXT(driver);
    TAKE_TEXT(properties);
#undef TAKE_TEXT
    if (!out->memory_total)
        out->memory_total = in->memory_total;
    if (!out->memory_free && !from_cache) /* a remembered one would be a guess */
        out->memory_free = in->memory_free;
    if (!out->clock_khz)
        out->clock_khz = in->clock_khz;
    if (out->numa_node < 0)
        out->numa_node = in->numa_node;
}

static void device_describe(tfr__device *device)
{
    if (!device->is_host) {
        snprintf(device->description, sizeof device->description, "%s",
                 device->info.name[0] ? device->info.name : device->info.identity);
        return;
    }
    tfr__memory_size(&device->info.memory_total, &device->info.memory_free);
    device->info.clock_khz = tfr__cpu_get()->clock_khz;
    snprintf(device->info.name, sizeof device->info.name, "%s", tfr__cpu_get()->name);
    snprintf(device->description, sizeof device->description, "%s, %u %s", device->info.name,
             (unsigned)device->n_threads, device->n_threads == 1 ? "thread" : "threads");
}

static tfr_status device_init(tfr__device *device, found *first, uint32_t number,
                              uint32_t n_threads, tfr_runtime *runtime, tfr_err *err)
{
    found *f;
    uint32_t n = 0, earlier, d, b;
    device->is_host = found_is_host(first);
    device->n_threads = device->is_host ? n_threads : 0;
    memcpy(device->type, first->device->info.type, sizeof device->type);
    snprintf(device->name, sizeof device->name, "%s:%u", device->type, (unsigned)number);
    device->info = (tfr_device_info){.size = sizeof device->info, .numa_node = -1};
    for (f = first; f; f = f->same)
        n++;
    device->backends = tfr__calloc(n, sizeof *device->backends);
    if (!device->backends)
        return tfr__no_memory(err);
    for (f = first; f; f = f->same) {
        tfr_status status;
        for (d = 0, earlier = 0; &runtime->devices[d] != device; d++)
            for (b = 0; b < runtime->devices[d].n_backends; b++)
                earlier += runtime->devices[d].backends[b].plugin == f->plugin;
        status = backend_init(&device->backends[device->n_backends], f, earlier, err);
        if (status)
            return status;
        device->n_backends++;
        device_merge_info(&device->info, &f->device->info, f->plugin->from_cache);
    }
    device_describe(device);
    return TFR_OK;
}

/* ---- all devices ---- */

void tfr__devices_destroy(tfr_runtime *runtime)
{
    uint32_t i;
    for (i = 0; i < runtime->n_devices; i++)
        device_finish(&runtime->devices[i]);
    tfr__free(runtime->devices);
    runtime->devices = NULL;
    runtime->n_devices = 0;
}

static tfr_status devices_init(tfr_runtime *runtime, found **order, uint32_t n_order,
                               uint32_t n_logical, tfr_err *err)
{
    uint32_t threads = runtime->loader->n_threads, i, k, number = 0;
    for (i = 0; i < n_order; i++) {
        uint32_t n = found_is_host(order[i]) ? n_logical : 1;
        if (i && strcmp(order[i]->device->info.type, order[i - 1]->device->info.type) != 0)
            number = 0;
        for (k = 0; k < n; k++) {
            tfr__device *device = &runtime->devices[runtime->n_devices];
            uint32_t share = threads / n + (k < threads % n);
            tfr_status status =
                device_init(device, order[i], number++, share ? share : 1, runtime, err);
            runtime->n_devices++;
            if (status)
                return status;
        }
    }
    return TFR_OK;
}

/* Hides what the setting does not name. The first processor stays: the core works on it. */
static void devices_hide(tfr_runtime *runtime)
{
    const tfr__setting *s = tfr__config_find(&runtime->loader->config, NULL, "visible-devices");
    const char *list = s ? s->value : NULL;
    uint32_t n = 0, i;
    if (!s || strcmp(s->value, "all") == 0)
        return;
    while (*(list += strspn(list, ", "))) {
        size_t bytes = strcspn(list, ", ");
        char name[128], names[512];
        uint32_t device;
        int32_t backend;
        snprintf(name, sizeof name, "%.*s", (int)(bytes < 127 ? bytes : 127), list);
        if (tfr__device_parse(runtime, name, &device, &backend))
            runtime->devices[device].is_visible = true;
        else
            tfr__log(runtime, TFR_LOG_WARNING, "config",
                     "%s: there is no device \"%s\" to be visible; there are %s", s->origin, name,
                     tfr__device_names(runtime, names, sizeof names));
        list += bytes;
    }
    for (i = 0; i < runtime->n_devices; i++) {
        tfr__device *device = &runtime->devices[i];
        if (device->is_visible || (device->is_host && i == 0)) {
            if (n != i) {
                runtime->devices[n] = *device;
                memset(device, 0, sizeof *device);
            }
            n++;
        } else {
            device_finish(device);
        }
    }
    runtime->n_devices = n;
}

tfr_status tfr__devices_create(tfr_runtime *runtime, tfr_err *err)
{
    tfr__loader *loader = runtime->loader;
    found *all, **order;
    uint32_t n_order, n_logical;
    tfr_status status = found_collect(loader, &all, &order, &n_order, err);
    if (status)
        return status;
    n_logical =
        (uint32_t)tfr__config_number(&loader->config, runtime, NULL, "logical-cpus", 1, 0, 1024);
    n_logical = n_logical ? n_logical : 1;
    runtime->devices = tfr__calloc(n_order + n_logical, sizeof *runtime->devices);
    if (runtime->devices)
        status = devices_init(runtime, order, n_order, n_logical, err);
    else
        status = tfr__no_memory(err);
    tfr__free(all);
    tfr__free(order);
    if (!status)
        devices_hide(runtime);
    return status;
}

/* ---- rows ---- */

uint32_t tfr_runtime_n_devices(const tfr_runtime *runtime)
{
    return runtime->n_devices;
}

tfr_status tfr_runtime_device(const tfr_runtime *runtime, uint32_t i, tfr_device_desc *out,
                              tfr_err *err)
{
    tfr_device_desc desc = {0};
    const tfr__device *device;
    uint32_t op, b;
    if (i >= runtime->n_devices)
        return tfr_fail(err, TFR_EINVAL, "device %u does not exist, there are %u", (unsigned)i,
                        (unsigned)runtime->n_devices);
    if (!out || out->size < sizeof out->size)
        return tfr_fail(err, TFR_EINVAL, "the description's size is not set");
    device = &runtime->devices[i];
    desc.size = out->size;
    desc.n_backends = device->n_backends;
    desc.name = device->name;
    desc.type = device->type;
    desc.description = device->description;
    desc.identity = device->info.identity;
    desc.driver = device->info.driver;
    desc.properties = device->info.properties;
    desc.memory_total = device->info.memory_total;
    desc.memory_free = device->info.memory_free;
    desc.clock_khz = device->info.clock_khz;
    desc.numa_node = device->info.numa_node;
    desc.n_threads = device->n_threads;
    for (op = 0; op < tfr__op_count(); op++) {
        for (b = 0; b < device->n_backends; b++)
            if (tfr__backend_claim(&device->backends[b], op) == TFR__CLAIM_YES)
                break;
        desc.n_ops += b < device->n_backends;
    }
    memcpy(out, &desc, out->size < sizeof desc ? out->size : sizeof desc);
    return TFR_OK;
}

tfr_status tfr_runtime_backend(const tfr_runtime *runtime, uint32_t device, uint32_t i,
                               tfr_backend_desc *out, tfr_err *err)
{
    tfr_backend_desc desc = {0};
    const tfr__backend *backend;
    if (device >= runtime->n_devices || i >= runtime->devices[device].n_backends)
        return tfr_fail(err, TFR_EINVAL, "device %u has no backend %u", (unsigned)device,
                        (unsigned)i);
    if (!out || out->size < sizeof out->size)
        return tfr_fail(err, TFR_EINVAL, "the description's size is not set");
    backend = &runtime->devices[device].backends[i];
    desc.size = out->size;
    desc.priority = backend->priority;
    desc.name = backend->name;
    desc.plugin = backend->plugin_name;
    desc.version = backend->plugin->reply.version;
    desc.path = backend->plugin->path;
    desc.n_ops = backend->n_ops;
    memcpy(out, &desc, out->size < sizeof desc ? out->size : sizeof desc);
    return TFR_OK;
}

bool tfr_runtime_claims(const tfr_runtime *runtime, uint32_t device, uint32_t backend, uint32_t op)
{
    return device < runtime->n_devices && backend < runtime->devices[device].n_backends &&
           tfr__backend_claim(&runtime->devices[device].backends[backend], op) == TFR__CLAIM_YES;
}

/* The element types that operand 0 of the op may have. */
static uint32_t op_types(const tfr__op *op)
{
    tfr__formal formal;
    uint32_t types = 0;
    int32_t dtype;
    if (tfr__op_formal(op->inputs, 0, &formal) || tfr__op_formal(op->outputs, 0, &formal))
        for (dtype = 1; dtype < TFR_DTYPE_END; dtype++)
            if (tfr__op_admits(op, formal.type, formal.type_bytes, TFR_KIND_TENSOR, dtype))
                types |= 1u << dtype;
    return types;
}

bool tfr_runtime_claim_types(const tfr_runtime *runtime, uint32_t device, uint32_t backend,
                             uint32_t op, uint64_t *here, uint64_t *conditional)
{
    const tfr__claim_types *types;
    uint32_t admitted;
    if (!tfr_runtime_claims(runtime, device, backend, op))
        return false;
    types = &runtime->devices[device].backends[backend].claim_types[op];
    admitted = op_types(tfr__op_at(op));
    *here = types->here & admitted;
    *conditional = types->conditional & admitted;
    return (*here | *conditional) != 0;
}
