/* SPDX-License-Identifier: Apache-2.0 */
/* tfrun/plugin_capture.h: facet tfr.capture/1, optional, for plugins with tfr.queue/1: launches
 * that are recorded once and put on a queue as a whole ever after. Included by tfrun/plugin.h. */
#ifndef TFRUN_PLUGIN_CAPTURE_H
#define TFRUN_PLUGIN_CAPTURE_H

#include <tfrun/plugin_device.h>

#define TFR_CAPTURE_V1 "tfr.capture/1"

/* What was recorded, ready to be launched: a CUgraphExec, a command buffer. Of the device, not of
 * the queue: any of its queues may run it. */
typedef struct tfr_executable tfr_executable;

/*
 * A run makes the launches of the run before, with the same arguments. A driver that has recorded
 * them takes them as one, which spares the host the time of each:
 *
 *   begin(queue) -> launch(kernel or program), reorder ... -> end(queue) -> executable
 *     -> launch(executable) in this run and each later one ... -> drop(executable)
 *
 * What the core keeps to:
 *
 * - What it captures are launches for which TFR_ANSWER_CAPTURABLE was said (of a kernel in its
 *   tfr_kernel_info, of a program in its tfr_program_info), and reorders of tfr.layout/1, all on
 *   the queue that captures. A launch that reads or writes the host's memory, or true dims, is
 *   never among them: it would do so once, when it is recorded. Each of them has run uncaptured at
 *   least once before, so what a plugin does at the first launch is done. A device that cannot
 *   capture says it for none.
 * - Between begin and end the thread that called begin calls nothing else of the plugin: it does
 *   not allocate, free, copy, signal, wait, prepare or drop. Other threads do not touch this queue;
 *   with other queues, and in [device] calls, they go on. (With CUDA: thread-local capture mode.)
 * - To each begin that succeeded there is an end, by the same thread, also if a launch between them
 *   has failed.
 * - An executable is launched again only when the launch before has ended, as after a host_wait for
 *   it; so it is never at work twice. `repeat` alone puts several launches on a queue at once.
 * - What captured launches were given (operands, workspace, state of random numbers, but not the
 *   tfr_launch and its arrays) is there, at the same place, each time when the executable is
 *   launched; what lies in it is of that time. Kernels and programs are dropped after the
 *   executable; memory may be freed before, and then it is not launched any more.
 * - Where a run has other addresses, as the old and the new state of a variable that take turns, it
 *   has an executable for each. None is changed after it was made.
 * - While it asks for records (tfr.profile/1) the core launches one by one.
 *
 * What the plugin keeps to:
 *
 * - begin and end do not wait for the device: earlier work of the queue may be under way, and is
 *   not captured. Between them a launch computes nothing. end may take as long as compile does;
 *   launch only enqueues, as that of a kernel.
 * - If begin or end fails, the queue is as if begin had never been called, and nothing has been put
 *   on it. So it is with a launch of an executable that fails. No kernel is given up for it: the
 *   core logs it, and makes those launches one by one from then on, in this run, too.
 *   TFR_EUNSUPPORTED is the status for "not these".
 * - Work of an executable that fails does so as all work of a queue (tfrun/plugin_queue.h). The id
 *   that it names is that of the launch as it was captured.
 * - An executable outlives a failure, and its queue. On a lost device begin, end and launch may
 *   return TFR_ELOST, and drop does its work.
 */
typedef struct tfr_capture_facet {
    uint32_t size;
    uint32_t reserved;
    /* required [queue] */
    int32_t (*begin)(tfr_plugin_device *device, tfr_queue *queue, tfr_err *err);
    /* required [queue]. With out NULL, what was recorded is given up. */
    int32_t (*end)(tfr_plugin_device *device, tfr_queue *queue, tfr_executable **out, tfr_err *err);
    /* required [queue] */
    int32_t (*launch)(tfr_plugin_device *device, tfr_queue *queue, tfr_executable *executable,
                      tfr_err *err);
    /* required [device]. No launch of it is under way. NULL is fine. */
    void (*drop)(tfr_plugin_device *device, tfr_executable *executable);
    /*
     * optional [queue]; NULL = the core waits for each launch before the next. Puts n launches on
     * the queue, one behind the other, each of which begins when the one before it has ended:
     * first, second, first, second ... These may be one executable, and n is even. If it
     * fails, none of them has been put on the queue. Work that fails ends what is behind it.
     */
    int32_t (*repeat)(tfr_plugin_device *device, tfr_queue *queue, tfr_executable *first,
                      tfr_executable *second, uint32_t n, tfr_err *err);
} tfr_capture_facet;
#define TFR_CAPTURE_MIN_SIZE ((uint32_t)(offsetof(tfr_capture_facet, drop) + sizeof(void *)))

#endif
