/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and contexts of the driver stand-in. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

/* ------------------------------------------------------------------------------------------
 * Which devices there are.
 */
static void device_uuid(int device, tfr_cu_uuid *uuid)
{
    memcpy(uuid->bytes, "tfrun stand-in 0", 16);
    uuid->bytes[15] = (char)('0' + device);
}

/* "GPU-7466..." or a beginning of it. */
static bool names_device(const char *word, size_t n, int device)
{
    tfr_cu_uuid uuid;
    char text[48];
    size_t at = (size_t)snprintf(text, sizeof text, "GPU-");
    device_uuid(device, &uuid);
    for (int i = 0; i < 16; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%02x",
                               i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                               (unsigned char)uuid.bytes[i]);
    return n > 4 && n <= at && strncmp(word, text, n) == 0;
}

/* CUDA_VISIBLE_DEVICES: the list ends at the first entry that is no device. */
static void read_visible(void)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    fake.n_visible = 0;
    if (!text) {
        for (int i = 0; i < fake.set.n_devices; i++)
            fake.visible[fake.n_visible++] = i;
        return;
    }
    while (*text && fake.n_visible < MAX_DEVICES) {
        size_t n = strcspn(text, ",");
        char *end;
        long index = strtol(text, &end, 10);
        int found = -1, matches = 0;
        if (end == text + n && n > 0 && index >= 0 && index < fake.set.n_devices)
            found = (int)index;
        for (int i = 0; i < fake.set.n_devices; i++)
            if (names_device(text, n, i)) {
                found = i;
                matches++;
            }
        if (found < 0 || matches > 1)
            return;
        fake.visible[fake.n_visible++] = found;
        text += n + (text[n] == ',');
    }
}

tfr_cu_result API(cuInit)(unsigned flags)
{
    BEGIN(cuInit, NEEDS_NOTHING);
    if (fake.pid && fake.pid != getpid())
        END(TFR_CU_NOT_INITIALIZED);
    if (flags != 0)
        END(TFR_CU_INVALID_VALUE);
    read_visible();
    if (fake.set.no_device || fake.n_visible == 0)
        END(TFR_CU_NO_DEVICE);
    fake.pid = getpid();
    for (int i = 0; i < MAX_DEVICES; i++)
        fake.contexts[i].device = i;
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuDriverGetVersion)(int *version)
{
    BEGIN(cuDriverGetVersion, NEEDS_NOTHING);
    if (!version)
        END(TFR_CU_INVALID_VALUE);
    *version = fake.set.version;
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuDeviceGetCount)(int *count)
{
    BEGIN(cuDeviceGetCount, NEEDS_INIT);
    *count = fake.n_visible;
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuDeviceGet)(tfr_cu_device *dev, int ordinal)
{
    BEGIN(cuDeviceGet, NEEDS_INIT);
    if (ordinal < 0 || ordinal >= fake.n_visible)
        END(TFR_CU_INVALID_DEVICE);
    *dev = ordinal;
    END(TFR_CU_SUCCESS);
}

static bool is_device(tfr_cu_device dev)
{
    return dev >= 0 && dev < fake.n_visible;
}

tfr_cu_result API(cuDeviceGetName)(char *name, int n, tfr_cu_device dev)
{
    BEGIN(cuDeviceGetName, NEEDS_INIT);
    if (!is_device(dev))
        END(TFR_CU_INVALID_DEVICE);
    if (n > 0)
        snprintf(name, (size_t)n, "tfrun stand-in GPU %d", fake.visible[dev]);
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuDeviceGetUuid_v2)(tfr_cu_uuid *uuid, tfr_cu_device dev)
{
    BEGIN(cuDeviceGetUuid_v2, NEEDS_INIT);
    if (!is_device(dev))
        END(TFR_CU_INVALID_DEVICE);
    device_uuid(fake.visible[dev], uuid);
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuDeviceGetPCIBusId)(char *id, int n, tfr_cu_device dev)
{
    BEGIN(cuDeviceGetPCIBusId, NEEDS_INIT);
    if (!is_device(dev))
        END(TFR_CU_INVALID_DEVICE);
    if (n < 13)
        END(TFR_CU_INVALID_VALUE);
    snprintf(id, (size_t)n, "0000:%02X:00.0", fake.visible[dev] + 1);
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuDeviceTotalMem_v2)(size_t *bytes, tfr_cu_device dev)
{
    BEGIN(cuDeviceTotalMem_v2, NEEDS_INIT);
    if (!is_device(dev))
        END(TFR_CU_INVALID_DEVICE);
    *bytes = fake.set.memory_bytes;
    END(TFR_CU_SUCCESS);
}

/* The most shared memory a block can have, by capability. */
static int shared_optin(int capability)
{
    switch (capability) {
    case 75:
        return 65536;
    case 80:
        return 166912;
    case 86:
    case 89:
        return 101376;
    default:
        return 232448;
    }
}

static int attribute(unsigned attr, int device)
{
    int cc = fake.set.capability;
    switch (attr) {
    case TFR_CU_ATTR_MAX_THREADS_PER_BLOCK:
    case TFR_CU_ATTR_MAX_BLOCK_DIM_X:
    case TFR_CU_ATTR_MAX_BLOCK_DIM_Y:
        return 1024;
    case TFR_CU_ATTR_MAX_BLOCK_DIM_Z:
        return 64;
    case TFR_CU_ATTR_MAX_GRID_DIM_X:
    case TFR_CU_ATTR_MAX_PITCH:
        return 0x7fffffff;
    case TFR_CU_ATTR_MAX_GRID_DIM_Y:
    case TFR_CU_ATTR_MAX_GRID_DIM_Z:
        return 65535;
    case TFR_CU_ATTR_SHARED_PER_BLOCK:
        return 49152;
    case TFR_CU_ATTR_WARP_SIZE:
        return 32;
    case TFR_CU_ATTR_REGISTERS_PER_BLOCK:
    case TFR_CU_ATTR_REGISTERS_PER_MULTIPROCESSOR:
        return 65536;
    case TFR_CU_ATTR_CLOCK_RATE:
        return 1980000;
    case TFR_CU_ATTR_MULTIPROCESSOR_COUNT:
        return fake.set.multiprocessors ? fake.set.multiprocessors
               : cc >= 90               ? 132
               : cc == 80               ? 108
                                        : 40;
    case TFR_CU_ATTR_COMPUTE_MODE:
        return fake.set.prohibited  ? TFR_CU_COMPUTE_PROHIBITED
               : fake.set.exclusive ? TFR_CU_COMPUTE_EXCLUSIVE
                                    : TFR_CU_COMPUTE_DEFAULT;
    case TFR_CU_ATTR_PCI_BUS_ID:
        return device + 1;
    case TFR_CU_ATTR_MEMORY_CLOCK_RATE:
        return 3201000;
    case TFR_CU_ATTR_MEMORY_BUS_WIDTH:
        return 6144;
    case TFR_CU_ATTR_L2_BYTES:
        return 50 << 20;
    case TFR_CU_ATTR_MAX_THREADS_PER_MULTIPROCESSOR:
        return cc == 75 ? 1024 : cc == 86 || cc == 89 ? 1536 : 2048;
    case TFR_CU_ATTR_ASYNC_ENGINE_COUNT:
        return 3;
    case TFR_CU_ATTR_CAPABILITY_MAJOR:
        return cc / 10;
    case TFR_CU_ATTR_CAPABILITY_MINOR:
        return cc % 10;
    case TFR_CU_ATTR_SHARED_PER_MULTIPROCESSOR:
        return shared_optin(cc) + (cc == 75 ? 0 : 1024);
    case TFR_CU_ATTR_SHARED_PER_BLOCK_OPTIN:
        return shared_optin(cc);
    case TFR_CU_ATTR_RESERVED_SHARED_PER_BLOCK:
        return cc == 75 ? 0 : 1024;
    case TFR_CU_ATTR_MAX_BLOCKS_PER_MULTIPROCESSOR:
        return cc == 75 || cc == 86 ? 16 : 32;
    case TFR_CU_ATTR_ECC_ENABLED:
    case TFR_CU_ATTR_CAN_MAP_HOST_MEMORY:
    case TFR_CU_ATTR_UNIFIED_ADDRESSING:
    case TFR_CU_ATTR_MANAGED_MEMORY:
    case TFR_CU_ATTR_COOPERATIVE_LAUNCH:
    case TFR_CU_ATTR_HOST_REGISTER_SUPPORTED:
    case TFR_CU_ATTR_MEMORY_POOLS_SUPPORTED:
        return 1;
    case TFR_CU_ATTR_CLUSTER_LAUNCH:
        return cc >= 90;
    case TFR_CU_ATTR_HOST_NUMA_ID:
        return -1;
    default:
        return 0;
    }
}

tfr_cu_result API(cuDeviceGetAttribute)(int *value, unsigned attr, tfr_cu_device dev)
{
    BEGIN(cuDeviceGetAttribute, NEEDS_INIT);
    if (!is_device(dev))
        END(TFR_CU_INVALID_DEVICE);
    if (attr == 0 || attr > 147)
        END(TFR_CU_INVALID_VALUE);
    *value = attribute(attr, fake.visible[dev]);
    END(TFR_CU_SUCCESS);
}

int fake_attribute(unsigned attr)
{
    return attribute(attr, 0);
}

/* ------------------------------------------------------------------------------------------
 * Peers.
 */
static bool are_peers(tfr_cu_device a, tfr_cu_device b)
{
    return a != b && fake.set.peers;
}

tfr_cu_result API(cuDeviceCanAccessPeer)(int *can, tfr_cu_device dev, tfr_cu_device peer)
{
    BEGIN(cuDeviceCanAccessPeer, NEEDS_INIT);
    if (!is_device(dev) || !is_device(peer))
        END(TFR_CU_INVALID_DEVICE);
    *can = are_peers(dev, peer);
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuDeviceGetP2PAttribute)(int *value, unsigned attr, tfr_cu_device src,
                                           tfr_cu_device dst)
{
    BEGIN(cuDeviceGetP2PAttribute, NEEDS_INIT);
    if (!is_device(src) || !is_device(dst) || src == dst)
        END(TFR_CU_INVALID_DEVICE);
    if (attr < TFR_CU_P2P_PERFORMANCE_RANK || attr > 5)
        END(TFR_CU_INVALID_VALUE);
    *value = attr == TFR_CU_P2P_PERFORMANCE_RANK ? 0 : are_peers(src, dst);
    END(TFR_CU_SUCCESS);
}

/* ------------------------------------------------------------------------------------------
 * Contexts: only primary ones.
 */
tfr_cu_context *fake_current(void)
{
    return fake_self.depth > 0 ? fake_self.stack[fake_self.depth - 1] : NULL;
}

void fake_lose(tfr_cu_context *ctx, tfr_cu_result code)
{
    if (!ctx->lost)
        ctx->lost = code;
    pthread_cond_broadcast(&fake.changed);
}

static bool is_context(const tfr_cu_context *ctx)
{
    return ctx >= fake.contexts && ctx < fake.contexts + MAX_DEVICES && ctx->n_retained > 0;
}

tfr_cu_result API(cuDevicePrimaryCtxRetain)(tfr_cu_context **ctx, tfr_cu_device dev)
{
    BEGIN(cuDevicePrimaryCtxRetain, NEEDS_INIT);
    if (!is_device(dev))
        END(TFR_CU_INVALID_DEVICE);
    if (fake.set.exclusive || fake.set.prohibited)
        END(TFR_CU_DEVICE_UNAVAILABLE);
    tfr_cu_context *own = &fake.contexts[fake.visible[dev]];
    if (own->lost)
        END(own->lost);
    own->n_retained++;
    *ctx = own;
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuDevicePrimaryCtxRelease_v2)(tfr_cu_device dev)
{
    BEGIN(cuDevicePrimaryCtxRelease_v2, NEEDS_INIT);
    if (!is_device(dev))
        END(TFR_CU_INVALID_DEVICE);
    tfr_cu_context *ctx = &fake.contexts[fake.visible[dev]];
    if (ctx->n_retained == 0)
        END(TFR_CU_INVALID_CONTEXT);
    if (--ctx->n_retained == 0)
        memset(ctx->peer, 0, sizeof ctx->peer);
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuDevicePrimaryCtxGetState)(tfr_cu_device dev, unsigned *flags, int *active)
{
    BEGIN(cuDevicePrimaryCtxGetState, NEEDS_INIT);
    if (!is_device(dev))
        END(TFR_CU_INVALID_DEVICE);
    *flags = 0;
    *active = fake.contexts[fake.visible[dev]].n_retained > 0;
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuCtxPushCurrent_v2)(tfr_cu_context *ctx)
{
    BEGIN(cuCtxPushCurrent_v2, NEEDS_INIT);
    if (!is_context(ctx) || fake_self.depth == 16)
        END(TFR_CU_INVALID_CONTEXT);
    fake_self.stack[fake_self.depth++] = ctx;
    fake.n_pushed++;
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuCtxPopCurrent_v2)(tfr_cu_context **ctx)
{
    BEGIN(cuCtxPopCurrent_v2, NEEDS_INIT);
    if (fake_self.depth == 0)
        END(TFR_CU_INVALID_CONTEXT);
    tfr_cu_context *top = fake_self.stack[--fake_self.depth];
    fake.n_pushed--;
    if (ctx)
        *ctx = top;
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuCtxGetCurrent)(tfr_cu_context **ctx)
{
    BEGIN(cuCtxGetCurrent, NEEDS_INIT);
    *ctx = fake_current();
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuCtxEnablePeerAccess)(tfr_cu_context *peer, unsigned flags)
{
    BEGIN(cuCtxEnablePeerAccess, NEEDS_CONTEXT);
    tfr_cu_context *ctx = fake_current();
    if (flags != 0)
        END(TFR_CU_INVALID_VALUE);
    if (!is_context(peer) || peer == ctx)
        END(TFR_CU_INVALID_CONTEXT);
    if (!fake.set.peers)
        END(TFR_CU_PEER_ACCESS_UNSUPPORTED);
    if (ctx->peer[peer->device])
        END(TFR_CU_PEER_ACCESS_ALREADY_ENABLED);
    ctx->peer[peer->device] = true;
    END(TFR_CU_SUCCESS);
}

tfr_cu_result API(cuCtxSynchronize)(void)
{
    BEGIN(cuCtxSynchronize, NEEDS_CONTEXT | IS_UNSAFE);
    tfr_cu_context *ctx = fake_current();
    for (tfr_cu_stream *s = fake.streams; s; s = s->next)
        if (s->ctx == ctx && s->capture)
            END(fake_capture_break(s->capture, TFR_CU_CAPTURE_UNSUPPORTED));
    tfr_cu_result result = fake_wait_context(ctx);
    fake_pools_settle();
    END(result);
}

tfr_cu_result API(cuCtxGetStreamPriorityRange)(int *least, int *greatest)
{
    BEGIN(cuCtxGetStreamPriorityRange, NEEDS_CONTEXT);
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    END(TFR_CU_SUCCESS);
}
