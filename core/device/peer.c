/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.c: two devices of one plugin that reach each other: what the plugin says of the way, order
 * between their queues, and copies without the host.
 */
#include <tfrun/fail.h>

#include "device/stream.h"

bool tfr__backend_link(tfr__backend *to, tfr__backend *from, tfr_link *out)
{
    tfr_err err = TFR_ERR_INIT;
    int32_t status = TFR_EUNSUPPORTED;
    *out = (tfr_link){.size = sizeof *out};
    if (to->memory.link && atomic_load(&to->is_open) && (!from || atomic_load(&from->is_open)))
        TFR__SLOT(to, "link", NULL, NULL,
                  status = to->memory.link(to->device, 0, from ? from->device : NULL,
                                           from ? 0 : TFR_SPACE_HOST, out, &err));
    if (status)
        *out = (tfr_link){.size = sizeof *out};
    return !status;
}

bool tfr__backend_reaches(tfr__backend *to, tfr__backend *from, tfr_link *out)
{
    return to->plugin == from->plugin && tfr__backend_link(to, from, out) && to->memory.copy &&
           (out->kind == TFR_LINK_DMA || out->kind == TFR_LINK_MAPPED);
}

tfr_status tfr__stream_order(tfr__stream *later, tfr__stream *earlier, tfr_err *err)
{
    tfr__backend *b = later->backend;
    tfr_status status;
    if (!later->queue || !earlier->queue)
        return tfr__stream_gone((later->queue ? earlier : later)->backend, err);
    status = tfr__stream_signal(earlier, err);
    if (status)
        return status;
    TFR__SLOT(b, "wait", NULL, NULL,
              status = (tfr_status)b->queue.wait(b->device, later->queue, earlier->fence,
                                                 earlier->fence_value, err));
    return status;
}

tfr_status tfr__stream_copy_peer(tfr__stream *e, const tfr__stream *from, tfr_arg dst, tfr_arg src,
                                 uint64_t bytes, tfr_err *err)
{
    const tfr_copy copy = {.size = sizeof copy,
                           .dst = dst.address,
                           .dst_offset = dst.offset,
                           .src = src.address,
                           .src_offset = src.offset,
                           .bytes = bytes,
                           .src_device = from->backend->device};
    return bytes ? tfr__stream_enqueue(e, &copy, err) : TFR_OK;
}
