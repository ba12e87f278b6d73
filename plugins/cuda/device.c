/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c: the list of devices, which calls cuInit and cuDevice... alone: no context is made, and
 * how much memory is free nobody can tell without one.
 */
#include "host.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLDEST_CAPABILITY 75
#define MAX_DEVICES       64

/* ---- facts ----------------------------------------------------------------------------------- */

static int32_t attribute(tfr_cu_device device, unsigned number, int absent)
{
    int value;

    return cuda_driver.cuDeviceGetAttribute(&value, number, device) == TFR_CU_SUCCESS ? value
                                                                                      : absent;
}

/* The first line of a file of the system's, without its end. */
static bool read_line(const char *path, char *line, size_t n)
{
    FILE *file = fopen(path, "re");
    const bool good = file && fgets(line, (int)n, file);

    if (file)
        fclose(file);
    if (good)
        line[strcspn(line, "\n")] = 0;
    return good;
}

/* The kernel says -1 on machines with one node. */
static int32_t find_numa_node(const char *pci)
{
    char path[96], line[32];
    long node;

    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", pci);
    if (!read_line(path, line, sizeof line))
        return -1;
    node = strtol(line, NULL, 10);
    return node < 0 ? 0 : (int32_t)node;
}

static void find_names(tfr_cu_device device, cuda_facts *facts)
{
    tfr_cu_uuid uuid;
    size_t used = 0;

    if (cuda_driver.cuDeviceGetName(facts->name, sizeof facts->name, device) != TFR_CU_SUCCESS)
        snprintf(facts->name, sizeof facts->name, "NVIDIA GPU");
    facts->name[sizeof facts->name - 1] = 0;
    facts->is_mig = strstr(facts->name, " MIG ") != NULL;
    if (cuda_driver.cuDeviceGetPCIBusId(facts->pci, sizeof facts->pci, device) != TFR_CU_SUCCESS)
        facts->pci[0] = 0;
    for (char *p = facts->pci; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    if (cuda_driver.cuDeviceGetUuid_v2(&uuid, device) != TFR_CU_SUCCESS)
        return;
    for (int i = 0; i < 16; i++)
        used += (size_t)snprintf(facts->uuid + used, sizeof facts->uuid - used, "%s%02x",
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                                 (unsigned)(unsigned char)uuid.bytes[i]);
}

int32_t cuda_find_facts(tfr_cu_device device, cuda_facts *facts, tfr_err *err)
{
    size_t total = 0;
    tfr_cu_result result;

    memset(facts, 0, sizeof *facts);
    facts->device = device;
    result = cuda_driver.cuDeviceTotalMem_v2(&total, device);
    if (result != TFR_CU_SUCCESS)
        return cuda_fail(err, result, "memory of GPU %d", device);
    find_names(device, facts);
    facts->memory_total = total;
    facts->chip.capability = attribute(device, TFR_CU_ATTR_CAPABILITY_MAJOR, 0) * 10 +
                             attribute(device, TFR_CU_ATTR_CAPABILITY_MINOR, 0);
    facts->chip.multiprocessors = attribute(device, TFR_CU_ATTR_MULTIPROCESSOR_COUNT, 1);
    facts->chip.threads_per_multiprocessor =
        attribute(device, TFR_CU_ATTR_MAX_THREADS_PER_MULTIPROCESSOR, 1024);
    facts->chip.max_shared = attribute(device, TFR_CU_ATTR_SHARED_PER_BLOCK_OPTIN, 48 << 10);
    facts->clock_khz = (uint32_t)attribute(device, TFR_CU_ATTR_CLOCK_RATE, 0);
    /* Two transfers a clock; the bus is in bits. */
    facts->memory_bandwidth = 2000 * (uint64_t)attribute(device, TFR_CU_ATTR_MEMORY_CLOCK_RATE, 0) *
                              (uint64_t)attribute(device, TFR_CU_ATTR_MEMORY_BUS_WIDTH, 0) / 8;
    facts->numa_node = find_numa_node(facts->pci);
    facts->has_pools = attribute(device, TFR_CU_ATTR_MEMORY_POOLS_SUPPORTED, 0) != 0;
    facts->compute_mode = attribute(device, TFR_CU_ATTR_COMPUTE_MODE, 0);
    return TFR_OK;
}

/* ---- the list -------------------------------------------------------------------------------- */

int64_t cuda_option(const char *key, int64_t absent)
{
    char text[32], *end;
    const int32_t length = cuda_host->option("cuda", key, text, sizeof text);
    long long number;

    if (length <= 0 || length >= (int32_t)sizeof text)
        return absent;
    number = strtoll(text, &end, 10);
    if (*end == 0 && number >= 0)
        return number;
    cuda_log(TFR_LOG_WARNING, "option %s: \"%s\" is no number", key, text);
    return absent;
}

/* A row of the matrix of devices that reach each other's memory: "NYY", itself not. */
static void write_peers(const cuda_facts *facts, int n_devices, char *row, size_t n)
{
    int i;

    for (i = 0; i < n_devices && (size_t)i + 1 < n; i++) {
        int can = 0;
        if (i != facts->device)
            (void)cuda_driver.cuDeviceCanAccessPeer(&can, facts->device, i);
        row[i] = can ? 'Y' : 'N';
    }
    row[i] = 0;
}

static void write_properties(const cuda_facts *facts, int n_devices, tfr_device_info *info)
{
    char peers[MAX_DEVICES + 1], bandwidth[32] = "";

    write_peers(facts, n_devices, peers, sizeof peers);
    /* The driver of CUDA 13 tells no clock of some memories. */
    if (facts->memory_bandwidth)
        snprintf(bandwidth, sizeof bandwidth, "memory_bandwidth=%.2fTB/s\n",
                 (double)facts->memory_bandwidth / 1e12);
    snprintf(info->properties, sizeof info->properties,
             "compute_capability=%d.%d\npci=%s\nuuid=%s\nmultiprocessors=%d\n%speers=%s",
             facts->chip.capability / 10, facts->chip.capability % 10, facts->pci, facts->uuid,
             facts->chip.multiprocessors, bandwidth, peers);
}

static void judge(const cuda_facts *facts, tfr_device_info *info)
{
    if (facts->compute_mode == TFR_CU_COMPUTE_PROHIBITED) {
        info->unusable = TFR_REASON_POLICY;
        snprintf(info->why, sizeof info->why,
                 "its compute mode is \"prohibited\"; set it with nvidia-smi -i %s -c 0",
                 facts->pci);
    } else if (facts->chip.capability < OLDEST_CAPABILITY) {
        info->unusable = TFR_REASON_POLICY;
        snprintf(info->why, sizeof info->why,
                 "its compute capability is %d.%d, and kernels are for %d.%d and newer; use a GPU "
                 "of the Turing generation or newer",
                 facts->chip.capability / 10, facts->chip.capability % 10, OLDEST_CAPABILITY / 10,
                 OLDEST_CAPABILITY % 10);
    }
}

static void describe(const cuda_facts *facts, int n_devices, tfr_device_info *info)
{
    char version[40];

    snprintf(info->type, sizeof info->type, "GPU");
    snprintf(info->name, sizeof info->name, "%s", facts->name);
    if (read_line("/sys/module/nvidia/version", version, sizeof version))
        snprintf(info->driver, sizeof info->driver, "%s, CUDA %d.%d", version,
                 cuda_driver.version / 1000, cuda_driver.version % 1000 / 10);
    else
        snprintf(info->driver, sizeof info->driver, "CUDA %d.%d", cuda_driver.version / 1000,
                 cuda_driver.version % 1000 / 10);
    /* Instances of a MIG share their address: the number of the chip is no name of one. */
    snprintf(info->identity, sizeof info->identity, "%s:%s", facts->uuid[0] ? "uuid" : "pci",
             facts->uuid[0] ? facts->uuid : facts->pci);
    if (!facts->is_mig && facts->uuid[0] && facts->pci[0])
        snprintf(info->identities, sizeof info->identities, "pci:%s", facts->pci);
    info->memory_total = facts->memory_total;
    info->clock_khz = facts->clock_khz;
    info->numa_node = facts->numa_node;
    write_properties(facts, n_devices, info);
    judge(facts, info);
}

int32_t cuda_enumerate(tfr_device_info *out, uint32_t stride, uint32_t *n, tfr_err *err)
{
    const int64_t wanted = cuda_option("logical-devices", 1);
    const uint32_t n_logical = wanted < 1 ? 1 : wanted > 16 ? 16 : (uint32_t)wanted;
    const uint32_t capacity = *n;
    int n_devices = 0;
    int32_t status = cuda_driver_open(err);

    *n = 0;
    if (status == TFR_ENOTFOUND)
        return TFR_OK; /* an answer, and err says why */
    if (status == TFR_OK)
        status = cuda_fail(err, cuda_driver.cuDeviceGetCount(&n_devices), "the number of GPUs");
    n_devices = n_devices > MAX_DEVICES ? MAX_DEVICES : n_devices;
    for (int i = 0; i < n_devices && status == TFR_OK && capacity; i++) {
        tfr_device_info info = {.size = sizeof info};
        cuda_facts facts;
        char physical[sizeof info.identity];
        status = cuda_find_facts(i, &facts, err);
        if (status != TFR_OK)
            break;
        describe(&facts, n_devices, &info);
        memcpy(physical, info.identity, sizeof physical);
        for (uint32_t k = 0; k < n_logical; k++) {
            info.ordinal = (uint32_t)i * n_logical + k;
            if (n_logical > 1) { /* no other plugin has these */
                info.identities[0] = 0;
                snprintf(info.identity, sizeof info.identity, "%.56s/%u", physical, k);
            }
            tfr_list_put(out, stride, capacity, info.ordinal, &info, sizeof info);
        }
    }
    if (status == TFR_OK)
        *n = (uint32_t)n_devices * n_logical;
    return status;
}
