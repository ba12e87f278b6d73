/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tfrun/plugin.h: the contract between the tfrun core and a plugin, and its only definition.
 *
 * A plugin is a shared object that exports one function, tfrun_plugin_v0, and carries one ELF note,
 * written by TFR_PLUGIN_NOTE. It includes this header and nothing else of tfrun, and it links
 * nothing of tfrun: what the core does for it arrives in the tfr_host table. The header is C99 and
 * C++11 and needs only <stddef.h> and <stdint.h>.
 *
 * Start by copying sdk/template, a whole plugin of one page. The life of a plugin:
 *
 *   note read -> probed in a child process -> dlopen -> tfrun_plugin_v0(host) -> enumerate()
 *     -> open(device) -> supports(call) -> prepare(call) -> launch() ... -> drop(kernel)
 *     -> close(device) -> shutdown() -> (never dlclose'd)
 *
 * Rules that hold everywhere:
 * - Every struct that crosses the border starts with its size. Fields are only appended, and who
 *   reads takes what is behind the size as zero. What one side hands to the other (tables, calls,
 *   launches, options) has its size from its owner. What a caller wants filled (tfr_err, an answer,
 *   the rows of a list) is zeroed and sized by the caller; who fills it writes within that size,
 * and never the size: fields of ABI 1.0 are always there, of later ones TFR_HAS tells. Arrays of
 *   structs travel with a stride; step through them with it, never with sizeof. tfr_list_put does
 *   all that for lists.
 * - Values that one side does not know: a flag in the upper half of a word of flags
 *   (TFR_MUST_UNDERSTAND) changes what the rest means, so who does not know it says no; one in the
 *   lower half may be ignored. An unknown enumerator or element type is a no, an unknown negative
 *   status a failure like any other. A core shows a plugin only calls that the minor version which
 *   the plugin was compiled with can express.
 * - Numbers are of the machine's byte order. BOOL elements are 0 or 1.
 * - A process that was forked after a plugin's entry may not call the plugin any more, but exec. A
 *   slot finds and leaves its caller's current device context, as drivers call it, unchanged.
 * - Zero, NULL and an absent field mean "default", "none" or "unknown". A NULL slot is legal unless
 * its comment says "required".
 * - A function that can fail returns a tfr_status: 0 or a negative code, and fills the caller's
 * tfr_err (which may be NULL). Outputs are written only on success.
 * - Whoever allocates frees. Strings returned by a plugin live until shutdown, strings and arrays
 * passed to a plugin live until the call returns, unless a comment says otherwise.
 * - No C++ exception, longjmp, abort, exit, write to standard output, signal handler, or change of
 *   locale or floating-point mode crosses the border. No call enters a plugin after shutdown.
 * - The floating-point mode (rounding, flushing to zero, trapping) may be changed inside of a slot
 *   or of a range of parallel_for and is set back before it returns. The core compares it, sets it
 *   back otherwise, and says which plugin it was.
 * - Thread rules: [any] from any thread at any time; [device] one thread at a time per device, the
 * core serializes; [queue] one thread at a time per queue.
 */
#ifndef TFRUN_PLUGIN_H
#define TFRUN_PLUGIN_H

#include <tfrun/plugin_types.h>
#include <tfrun/plugin_host.h>
#include <tfrun/plugin_device.h>
#include <tfrun/plugin_memory.h>
#include <tfrun/plugin_queue.h>
#include <tfrun/plugin_native.h>
#include <tfrun/plugin_capture.h>
#include <tfrun/plugin_call.h>
#include <tfrun/plugin_normal.h>
#include <tfrun/plugin_kernel.h>
#include <tfrun/plugin_ops.h>
#include <tfrun/plugin_random.h>
#include <tfrun/plugin_program.h>
#include <tfrun/plugin_profile.h>
#include <tfrun/plugin_comm.h>
#include <tfrun/plugin_note.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tfr_plugin {
    uint32_t size;
    uint32_t abi_minor;
    const char *name;       /* required: as in the note, [a-z][a-z0-9-]* */
    const char *version;    /* required: the plugin's own version */
    const char *vendor;     /* NULL = unspecified */
    /*
     * "key=value" lines: libraries it was built with (acme_built=2.1) and has loaded
     * (acme_loaded=2.3). Who opens libraries only when a kernel needs them opens all of them if its
     * option open-libraries is 1, which `tfrun doctor` sets while it probes, and says of one that
     * does not open acme_missing=why it does not, what needs it; the next step.
     */
    const char *build_info;
    /*
     * required [any]. Fills up to *n infos, stride bytes apart (each with size set by the caller),
     * and sets *n to the number of devices there are, which may be more than fitted. 0 devices is
     * an answer, not an error; err then may hold a sentence that says why. Opens nothing, loads no
     * vendor math library. In the user's process it is called once before the first open, with *n
     * 0, so that it is the place to find what open needs.
     */
    int32_t (*enumerate)(tfr_device_info *out, uint32_t stride, uint32_t *n, tfr_err *err);
    /*
     * required [any]. Opens the device that info describes. The same device may be opened more than
     * once (logical devices, several runtimes). options may be NULL. The probe, and each process
     * that only looks, opens devices of the identity "host" alone: elsewhere open may take a
     * context, memory and time, but reserves nothing that others then lack.
     */
    int32_t (*open)(const tfr_device_info *info, const tfr_open_options *options,
                    tfr_plugin_device **out, tfr_err *err);
    /* required [device]. All kernels are dropped and all queues destroyed before. */
    void (*close)(tfr_plugin_device *device);
    /* required [any]. The table of a facet by id, which lives until shutdown, or NULL. */
    const void *(*facet)(const char *id);
    /* optional [any]. The last call; every device is closed. */
    void (*shutdown)(void);
} tfr_plugin;

/* The bytes of tfr_plugin up to and with facet: what a plugin must fill, for ever. */
#define TFR_PLUGIN_MIN_SIZE ((uint32_t)(offsetof(tfr_plugin, facet) + sizeof(void *)))

/* The entry. Touches no device, starts no thread. *out lives until shutdown. */
typedef int32_t (*tfr_plugin_entry_fn)(const tfr_host *host, const tfr_plugin **out, tfr_err *err);
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
int32_t
tfrun_plugin_v0(const tfr_host *host, const tfr_plugin **out, tfr_err *err);

#ifdef __cplusplus
}
#endif

#endif
