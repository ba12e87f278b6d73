/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_import.c: a plugin's tables become ours: min(own, given) bytes are copied, the rest is
 * zero, the given size is compared with the frozen minimum and never with today's, and the slots
 * that are required, for ever, must be there. An older and a newer plugin both pass.
 */
#include "device/loader.h"

#include <stdio.h>
#include <string.h>
#include <tfrun/fail.h>

/* Checks a struct's size, its first four bytes, and copies it. */
static tfr_status import_copy(const void *given, const char *what, uint32_t least, void *out,
                              uint32_t own, tfr_err *err)
{
    uint32_t size;
    memcpy(&size, given, sizeof size);
    if (size < least)
        return tfr_fail(err, TFR_EPLUGIN, "%s has %u bytes, at least %u are required", what, size,
                        least);
    memset(out, 0, own);
    memcpy(out, given, size < own ? size : own);
    memcpy(out, &own, sizeof own);
    return TFR_OK;
}

typedef struct import_slot {
    size_t offset;
    const char *name;
} import_slot;

/* A function pointer of all zero bytes is NULL on every system that has dlopen. */
static tfr_status import_slots(const void *table, const char *what, const import_slot *slots,
                               size_t n, tfr_err *err)
{
    static const char none[sizeof(void (*)(void))];
    size_t i;
    for (i = 0; i < n; i++)
        if (memcmp((const char *)table + slots[i].offset, none, sizeof none) == 0)
            return tfr_fail(err, TFR_EPLUGIN, "the required slot %s of %s is NULL", slots[i].name,
                            what);
    return TFR_OK;
}

#define SLOT(type, name)                                                                           \
    {                                                                                              \
        offsetof(type, name), #name                                                                \
    }
#define N_SLOTS(slots) (sizeof(slots) / sizeof(slots)[0])

static const import_slot plugin_slots[] = {
    SLOT(tfr_plugin, name), SLOT(tfr_plugin, version), SLOT(tfr_plugin, enumerate),
    SLOT(tfr_plugin, open), SLOT(tfr_plugin, close),   SLOT(tfr_plugin, facet),
};
static const import_slot memory_slots[] = {
    SLOT(tfr_memory_facet, spaces),
    SLOT(tfr_memory_facet, alloc),
    SLOT(tfr_memory_facet, free),
};
static const import_slot kernel_slots[] = {
    SLOT(tfr_kernel_facet, ops),     SLOT(tfr_kernel_facet, supports),
    SLOT(tfr_kernel_facet, prepare), SLOT(tfr_kernel_facet, launch),
    SLOT(tfr_kernel_facet, drop),
};
static const import_slot queue_slots[] = {
    SLOT(tfr_queue_facet, create),       SLOT(tfr_queue_facet, destroy),
    SLOT(tfr_queue_facet, fence_create), SLOT(tfr_queue_facet, fence_destroy),
    SLOT(tfr_queue_facet, signal),       SLOT(tfr_queue_facet, wait),
    SLOT(tfr_queue_facet, host_wait),
};
static const import_slot program_slots[] = {
    SLOT(tfr_program_facet, propose),
    SLOT(tfr_program_facet, compile),
    SLOT(tfr_program_facet, launch),
    SLOT(tfr_program_facet, drop),
};
static const import_slot layout_slots[] = {
    SLOT(tfr_layout_facet, bytes),
    SLOT(tfr_layout_facet, reorder),
};

static const import_slot profile_slots[] = {
    SLOT(tfr_profile_facet, start),
    SLOT(tfr_profile_facet, drain),
};
static const import_slot capture_slots[] = {
    SLOT(tfr_capture_facet, begin),
    SLOT(tfr_capture_facet, end),
    SLOT(tfr_capture_facet, launch),
    SLOT(tfr_capture_facet, drop),
};

static const import_slot native_slots[] = {
    SLOT(tfr_native_facet, get),
};
static const import_slot ops_slots[] = {
    SLOT(tfr_ops_facet, schemas),
    SLOT(tfr_ops_facet, infer),
};

static const import_slot comm_slots[] = {
    SLOT(tfr_comm_facet, unique_id), SLOT(tfr_comm_facet, init),
    SLOT(tfr_comm_facet, enqueue),   SLOT(tfr_comm_facet, group_begin),
    SLOT(tfr_comm_facet, group_end), SLOT(tfr_comm_facet, error),
    SLOT(tfr_comm_facet, abort),     SLOT(tfr_comm_facet, drop),
};

/* One facet; a required one that is absent is a breach. *has tells whether it is there. */
static tfr_status import_facet(const tfr_plugin *plugin, const char *id, bool required,
                               uint32_t least, void *out, uint32_t own, const import_slot *slots,
                               size_t n, bool *has, tfr_err *err)
{
    const void *given = plugin->facet(id);
    tfr_status status;
    *has = given != NULL;
    if (!given)
        return required ? tfr_fail(err, TFR_EPLUGIN, "the required facet %s is not there", id)
                        : TFR_OK;
    status = import_copy(given, id, least, out, own, err);
    return status ? status : import_slots(out, id, slots, n, err);
}

/* A facet that the backend can do without: a broken one is off, and out->off says why. */
static bool import_extra(tfr__tables *out, const char *id, uint32_t least, void *table,
                         uint32_t own, const import_slot *slots, size_t n)
{
    tfr_err err = TFR_ERR_INIT;
    bool has;
    if (!import_facet(&out->plugin, id, false, least, table, own, slots, n, &has, &err))
        return has;
    memset(table, 0, own);
    snprintf(out->off, sizeof out->off, "%.120s, so this facet is off", err.text);
    return false;
}

tfr_status tfr__tables_import(const tfr_plugin *given, const char *name, uint32_t kind,
                              tfr__tables *out, tfr_err *err)
{
    tfr_status status;
    bool backend = kind == TFR_PLUGIN_BACKEND, has;
    memset(out, 0, sizeof *out);
    if (!given)
        return tfr_fail(err, TFR_EPLUGIN, "the entry returned TFR_OK and no table");
    status = import_copy(given, "tfr_plugin", TFR_PLUGIN_MIN_SIZE, &out->plugin, sizeof out->plugin,
                         err);
    if (!status)
        status = import_slots(&out->plugin, "tfr_plugin", plugin_slots, N_SLOTS(plugin_slots), err);
    if (!status && strcmp(out->plugin.name, name) != 0)
        return tfr_fail(err, TFR_EPLUGIN, "calls itself \"%.32s\", its note says \"%s\"",
                        out->plugin.name, name);
    if (!status)
        status =
            import_facet(&out->plugin, TFR_MEMORY_V1, backend, TFR_MEMORY_MIN_SIZE, &out->memory,
                         sizeof out->memory, memory_slots, N_SLOTS(memory_slots), &has, err);
    if (!status)
        status =
            import_facet(&out->plugin, TFR_KERNEL_V1, backend, TFR_KERNEL_MIN_SIZE, &out->kernel,
                         sizeof out->kernel, kernel_slots, N_SLOTS(kernel_slots), &has, err);
    if (!status)
        status = import_facet(&out->plugin, TFR_QUEUE_V1, false, TFR_QUEUE_MIN_SIZE, &out->queue,
                              sizeof out->queue, queue_slots, N_SLOTS(queue_slots), &out->has_queue,
                              err);
    if (status || !backend)
        return status;
    out->has_program = import_extra(out, TFR_PROGRAM_V1, TFR_PROGRAM_MIN_SIZE, &out->program,
                                    sizeof out->program, program_slots, N_SLOTS(program_slots));
    out->has_layout = import_extra(out, TFR_LAYOUT_V1, TFR_LAYOUT_MIN_SIZE, &out->layout,
                                   sizeof out->layout, layout_slots, N_SLOTS(layout_slots));
    out->has_profile = import_extra(out, TFR_PROFILE_V1, TFR_PROFILE_MIN_SIZE, &out->profile,
                                    sizeof out->profile, profile_slots, N_SLOTS(profile_slots));
    out->has_native = import_extra(out, TFR_NATIVE_V1, TFR_NATIVE_MIN_SIZE, &out->native,
                                   sizeof out->native, native_slots, N_SLOTS(native_slots));
    out->has_comm = import_extra(out, TFR_COMM_V1, TFR_COMM_MIN_SIZE, &out->comm, sizeof out->comm,
                                 comm_slots, N_SLOTS(comm_slots));
    out->has_ops = import_extra(out, TFR_OPS_V1, TFR_OPS_MIN_SIZE, &out->ops, sizeof out->ops,
                                ops_slots, N_SLOTS(ops_slots));
    out->has_capture = import_extra(out, TFR_CAPTURE_V1, TFR_CAPTURE_MIN_SIZE, &out->capture,
                                    sizeof out->capture, capture_slots, N_SLOTS(capture_slots));
    return TFR_OK;
}

/* ---- memory spaces --------------------------------------------------------------------------- */

tfr_status tfr__spaces_check(const tfr_space_info *spaces, uint32_t n,
                             const tfr_memory_facet *memory, const tfr_device_info *device,
                             const char *name, tfr_err *err)
{
    if (n < 1)
        return tfr_fail(err, TFR_EPLUGIN, "%s has no memory space", name);
    if (spaces[0].flags & TFR_MUST_UNDERSTAND)
        return tfr_fail(err, TFR_EPLUGIN,
                        "space 0 of %s has flags 0x%x, which this core does not know", name,
                        (unsigned)(spaces[0].flags & TFR_MUST_UNDERSTAND));
    if (!(spaces[0].flags & TFR_SPACE_DEVICE_ACCESS))
        return tfr_fail(err, TFR_EPLUGIN, "space 0 of %s is without TFR_SPACE_DEVICE_ACCESS", name);
    if (strcmp(device->identity, "host") == 0 && !(spaces[0].flags & TFR_SPACE_HOST_ACCESS))
        return tfr_fail(err, TFR_EPLUGIN,
                        "space 0 of %s is without TFR_SPACE_HOST_ACCESS, and its identity is the "
                        "host",
                        name);
    if (spaces[0].alignment & (spaces[0].alignment - 1))
        return tfr_fail(err, TFR_EPLUGIN, "space 0 of %s has alignment %llu, no power of two", name,
                        (unsigned long long)spaces[0].alignment);
    for (uint32_t i = 0; i < n; i++)
        if (!(spaces[i].flags & TFR_SPACE_HOST_ACCESS) && !memory->copy)
            return tfr_fail(err, TFR_EPLUGIN,
                            "the slot copy of %s is NULL, and the host cannot access space %u",
                            name, i);
    return TFR_OK;
}

/* ---- what a plugin says of itself ------------------------------------------------------------ */

const char *tfr__said(tfr_err *err)
{
    size_t n = tfr__text_bytes(err->size, offsetof(tfr_err, text), sizeof err->text);
    if (!n)
        return "it is not known why";
    err->text[n - 1] = '\0';
    return err->text[0] ? err->text : "it does not say why";
}

tfr_status tfr__plugin_status(int32_t status, tfr_err *err)
{
    switch (status) {
#define STATUS_CASE(name, number, text) case number:
        TFR_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
        return (tfr_status)status;
    }
    if (status < 0) /* of a later minor: a failure as any other, in the plugin's own words */
        return TFR_EDEVICE;
    return tfr_fail(err, TFR_EPLUGIN, "it returned %d, which is no status", (int)status);
}
