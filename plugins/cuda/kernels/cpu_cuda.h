/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_cuda.h: CUDA's language as far as the kernels of this folder use it, for a C++ compiler of
 * the CPU, so that every kernel can be tested without a GPU. Included by hw.h.
 *
 * A block runs as fibers, one for each of its threads, which yield at __syncthreads, __syncwarp and
 * shuffles. Between two such points they run one after the other in an order that a seed draws, so
 * a missing barrier shows as a wrong value; under the thread sanitizer it is reported as a race.
 * Shared memory begins as NaN. Pointers are spans that check bounds and alignment. Blocks run in a
 * drawn order, too, by tfr_cpu_workers threads.
 *
 * Not tested by this: memory ordering, bank conflicts, the last bits of math functions, speed.
 */
#ifndef TFR_CPU_CUDA_H
#define TFR_CPU_CUDA_H

#include "cpu_table.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>
#include <tuple>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define TFR_CPU_ASAN 1
#else
#define TFR_CPU_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define TFR_CPU_TSAN        1
#define TFR_CPU_UNSANITIZED __attribute__((no_sanitize("thread"), noinline))
/* Who passes the second one sees what was before the first one. Switches alone order nothing. */
#define TFR_CPU_BEFORE(p) __tsan_release(p)
#define TFR_CPU_AFTER(p)  __tsan_acquire(p)
#else
#define TFR_CPU_TSAN 0
#define TFR_CPU_UNSANITIZED
#define TFR_CPU_BEFORE(p) ((void)(p))
#define TFR_CPU_AFTER(p)  ((void)(p))
#endif

#define __device__
#define __forceinline__ inline
#define __restrict__
#define TFR_ALL_LANES 0xffffffffu

enum { TFR_CPU_ILLEGAL_ADDRESS = 700, TFR_CPU_MISALIGNED = 716, TFR_CPU_FAILED = 719 };

/* Threads that run blocks, and what orders are drawn from; for tests to set. */
extern "C" {
__attribute__((visibility("default"))) unsigned tfr_cpu_workers = 1;
__attribute__((visibility("default"))) uint64_t tfr_cpu_seed = 1;
}

/* ---- fibers ---- */

/* Saves the registers that a call preserves, keeps the stack pointer in *from, goes on at to. */
extern "C" void tfr_cpu_switch(void **from, void *to) __attribute__((visibility("hidden")));
#if defined(__x86_64__)
asm(R"(
.text
.globl tfr_cpu_switch
.hidden tfr_cpu_switch
.type tfr_cpu_switch, @function
tfr_cpu_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size tfr_cpu_switch, .-tfr_cpu_switch
)");
enum { TFR_CPU_SAVED = 8, TFR_CPU_RETURN = 6 }; /* words below the top; which one is returned to */
#elif defined(__aarch64__)
asm(R"(
.text
.globl tfr_cpu_switch
.hidden tfr_cpu_switch
.type tfr_cpu_switch, %function
tfr_cpu_switch:
    stp x29, x30, [sp, #-160]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    ldp x29, x30, [sp], #160
    ret
.size tfr_cpu_switch, .-tfr_cpu_switch
)");
enum { TFR_CPU_SAVED = 20, TFR_CPU_RETURN = 1 };
#else
#include <ucontext.h>
#define TFR_CPU_UCONTEXT 1
#endif

struct tfr_cpu_dim3 {
    unsigned x, y, z;
};

enum tfr_cpu_state { TFR_CPU_READY, TFR_CPU_AT_BLOCK, TFR_CPU_AT_WARP, TFR_CPU_DONE };

/* A copy that is done when its thread waits for it. */
struct tfr_cpu_copy {
    void *to;
    const void *from;
    size_t bytes;
};

struct tfr_cpu_fiber {
    void *sp; /* a ucontext_t where there is no assembly */
    char *stack;
    tfr_cpu_dim3 thread;
    unsigned number; /* in the block */
    unsigned n_exchanges;
    tfr_cpu_state state;
    uint64_t given[2]; /* what it gives to shuffles; two, as a fast lane may be one shuffle ahead */
    std::vector<tfr_cpu_copy> copies;
    void *fake_stack, *tsan;
};

enum {
    TFR_CPU_MAX_THREADS = 1024,
    TFR_CPU_STACK = TFR_CPU_ASAN || TFR_CPU_TSAN ? 256 * 1024 : 64 * 1024,
    TFR_CPU_SHARED = 48 * 1024, /* what a block may have without asking for more */
    TFR_CPU_SHARED_NAMES = 32
};

struct tfr_cpu_job; /* a launch, see below */

/* Where an address of a launch lies, and how many bytes from there on are its block's. */
struct tfr_cpu_place {
    uint64_t address;
    void *at;
    size_t bytes;
};
enum { TFR_CPU_PLACES = 64 };

/* What runs blocks, one at a time: a thread's fibers and the block's memory. */
struct tfr_cpu_worker {
    tfr_cpu_job *job;
    tfr_cpu_fiber fibers[TFR_CPU_MAX_THREADS];
    char *stacks;
    void *sp; /* of the loop that runs the fibers */
    void *fake_stack, *tsan;
    const void *bottom; /* of that loop's stack */
    size_t stack_bytes;
    tfr_cpu_dim3 block;
    unsigned n_threads, n_live, at_block;
    unsigned at_warp[TFR_CPU_MAX_THREADS / 32];
    char begun, ended; /* addresses for TFR_CPU_BEFORE and TFR_CPU_AFTER */
    bool failed;
    alignas(16) char shared[TFR_CPU_SHARED];
    const void *shared_names[TFR_CPU_SHARED_NAMES];
    size_t shared_begin[TFR_CPU_SHARED_NAMES], shared_used;
    unsigned n_shared;
    tfr_cpu_place places[TFR_CPU_PLACES];
};

struct tfr_cpu_job {
    const tfr_cpu_launch *launch;
    const char *name;
    void (*call)(const void *args); /* the kernel with its arguments, for one thread */
    const void *args;
    tfr_cpu_dim3 grid, threads;
    uint64_t n_blocks, seed;
    std::atomic<uint64_t> next;
    std::atomic<unsigned> result;
};

static thread_local tfr_cpu_worker *tfr_cpu_here;
static thread_local tfr_cpu_fiber *tfr_cpu_now;

#define threadIdx (tfr_cpu_now->thread)
#define blockIdx  (tfr_cpu_here->block)
#define blockDim  (tfr_cpu_here->job->threads)
#define gridDim   (tfr_cpu_here->job->grid)

static void TFR_CPU_UNSANITIZED tfr_cpu_leave(bool for_ever)
{
    tfr_cpu_worker *w = tfr_cpu_here;
    tfr_cpu_fiber *f = tfr_cpu_now;
    (void)for_ever;
#if TFR_CPU_ASAN
    __sanitizer_start_switch_fiber(for_ever ? NULL : &f->fake_stack, w->bottom, w->stack_bytes);
#endif
#if TFR_CPU_TSAN
    __tsan_switch_to_fiber(w->tsan, 1 /* which orders nothing: barriers do that */);
#endif
#ifdef TFR_CPU_UCONTEXT
    swapcontext((ucontext_t *)f->sp, (ucontext_t *)w->sp);
#else
    tfr_cpu_switch(&f->sp, w->sp);
#endif
#if TFR_CPU_ASAN
    __sanitizer_finish_switch_fiber(f->fake_stack, &w->bottom, &w->stack_bytes);
#endif
}

/* Ends the kernel with one of the driver's results, and says why. */
[[noreturn]] static void TFR_CPU_UNSANITIZED __attribute__((format(printf, 2, 3)))
tfr_cpu_fail(unsigned result, const char *format, ...)
{
    tfr_cpu_worker *w = tfr_cpu_here;
    unsigned none = 0;
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (w->job->result.compare_exchange_strong(none, result))
        fprintf(stderr, "kernel %s, block %u,%u,%u, thread %u,%u,%u: %s\n", w->job->name,
                w->block.x, w->block.y, w->block.z, threadIdx.x, threadIdx.y, threadIdx.z, text);
    w->failed = true;
    TFR_CPU_BEFORE(&w->ended);
    tfr_cpu_leave(true);
    __builtin_unreachable(); /* nobody comes back to this fiber */
}

static void TFR_CPU_UNSANITIZED tfr_cpu_release(unsigned begin, unsigned end, tfr_cpu_state state)
{
    tfr_cpu_worker *w = tfr_cpu_here;
    for (unsigned i = begin; i < end && i < w->n_threads; i++)
        if (w->fibers[i].state == state)
            w->fibers[i].state = TFR_CPU_READY;
}

static void TFR_CPU_UNSANITIZED tfr_cpu_sync_block(void)
{
    tfr_cpu_worker *w = tfr_cpu_here;
    tfr_cpu_now->state = TFR_CPU_AT_BLOCK;
    TFR_CPU_BEFORE(&w->at_block);
    if (++w->at_block == w->n_live) {
        w->at_block = 0;
        tfr_cpu_release(0, w->n_threads, TFR_CPU_AT_BLOCK);
    }
    tfr_cpu_leave(false);
    TFR_CPU_AFTER(&w->at_block);
}

static void TFR_CPU_UNSANITIZED tfr_cpu_sync_warp(unsigned mask)
{
    tfr_cpu_worker *w = tfr_cpu_here;
    unsigned warp = tfr_cpu_now->number / 32;
    if (mask != TFR_ALL_LANES)
        tfr_cpu_fail(TFR_CPU_FAILED, "mask 0x%x: warps are whole here", mask);
    tfr_cpu_now->state = TFR_CPU_AT_WARP;
    TFR_CPU_BEFORE(&w->at_warp[warp]);
    if (++w->at_warp[warp] == 32) {
        w->at_warp[warp] = 0;
        tfr_cpu_release(warp * 32, warp * 32 + 32, TFR_CPU_AT_WARP);
    }
    tfr_cpu_leave(false);
    TFR_CPU_AFTER(&w->at_warp[warp]);
}

#define __syncthreads() tfr_cpu_sync_block()
#define __syncwarp()    tfr_cpu_sync_warp(TFR_ALL_LANES)

/* What lane `from` of the warp gives; each lane comes to the same shuffle. */
template <class T> static T TFR_CPU_UNSANITIZED tfr_cpu_shuffle(T value, unsigned from)
{
    tfr_cpu_worker *w = tfr_cpu_here;
    tfr_cpu_fiber *f = tfr_cpu_now;
    unsigned slot = f->n_exchanges++ & 1;
    T out;

    static_assert(sizeof(T) <= sizeof f->given[0], "a shuffle moves up to 8 bytes");
    memcpy(&f->given[slot], &value, sizeof value);
    tfr_cpu_sync_warp(TFR_ALL_LANES);
    memcpy(&out, &w->fibers[f->number / 32 * 32 + from].given[slot], sizeof out);
    return out;
}

#define __shfl_sync(mask, v, lane)     tfr_cpu_shuffle(v, (unsigned)(lane) & 31)
#define __shfl_xor_sync(mask, v, bits) tfr_cpu_shuffle(v, (threadIdx.x & 31) ^ (unsigned)(bits))

static void tfr_cpu_copy_later(void *to, const void *from, size_t bytes)
{
    tfr_cpu_now->copies.push_back({to, from, bytes});
}

static void tfr_cpu_copy_now(void)
{
    for (const tfr_cpu_copy &c : tfr_cpu_now->copies)
        memcpy(c.to, c.from, c.bytes);
    tfr_cpu_now->copies.clear();
}

/* ---- memory ---- */

/* A pointer to elements between two ends, in bytes from where it points. */
template <class T> struct tfr_span {
    T *at = nullptr;
    int64_t low = 0, high = 0;

    tfr_span() = default;
    tfr_span(T *p, int64_t l, int64_t h) : at(p), low(l), high(h) {}
    template <class U> tfr_span(const tfr_span<U> &o) : at(o.at), low(o.low), high(o.high) {}
    T &operator[](int64_t i) const
    {
        const int64_t begin = i * (int64_t)sizeof(T);
        if (begin < low || begin + (int64_t)sizeof(T) > high)
            tfr_cpu_fail(TFR_CPU_ILLEGAL_ADDRESS,
                         "element %lld of %zu bytes is outside of bytes %lld to %lld", (long long)i,
                         sizeof(T), (long long)low, (long long)high);
        if (reinterpret_cast<uintptr_t>(at) % alignof(T) != 0)
            tfr_cpu_fail(TFR_CPU_MISALIGNED, "a pointer is not aligned to %zu bytes", alignof(T));
        return at[i];
    }
    tfr_span operator+(int64_t n) const
    {
        const int64_t bytes = n * (int64_t)sizeof(T);
        return tfr_span(reinterpret_cast<T *>(reinterpret_cast<uintptr_t>(at) + (uintptr_t)bytes),
                        low - bytes, high - bytes);
    }
    explicit operator bool() const
    {
        return at != nullptr;
    }
};

#define TFR_PTR(T) tfr_span<T>

/* Each thread of a kernel asks for the same few addresses, and again for each element, while the
 * driver's answer takes a lock and a list: it is kept until the worker's next launch. */
static void *TFR_CPU_UNSANITIZED tfr_cpu_place_of(tfr_cpu_worker *w, uint64_t address,
                                                  size_t *bytes)
{
    const tfr_cpu_launch *launch = w->job->launch;
    tfr_cpu_place *p = &w->places[address * 0x9E3779B97F4A7C15u >> 58];

    if (!p->at || p->address != address) {
        p->address = address;
        p->bytes = 0;
        p->at = launch->reach(launch->ctx, address, &p->bytes);
    }
    *bytes = p->bytes;
    return p->at;
}

/* worker is NULL outside of the kernel's threads. */
template <class T>
static tfr_span<T> tfr_cpu_reach(const tfr_cpu_launch *launch, uint64_t address,
                                 tfr_cpu_worker *worker)
{
    tfr_span<T> s;
    size_t bytes = 0;

    if (!launch->reach) { /* the host's pointers, of unknown bounds */
        s.at = reinterpret_cast<T *>((uintptr_t)address);
        s.high = address ? INT64_MAX / 2 : 0;
        return s;
    }
    if (address && worker)
        s.at = static_cast<T *>(tfr_cpu_place_of(worker, address, &bytes));
    else if (address)
        s.at = static_cast<T *>(launch->reach(launch->ctx, address, &bytes));
    s.high = s.at ? (int64_t)bytes : 0;
    if (address && !s.at) /* it may be one that is never followed */
        s.at = reinterpret_cast<T *>(alignof(T));
    return s;
}

/* A pointer in a struct that is an argument. */
template <class T> struct tfr_field {
    uint64_t address;
    operator tfr_span<T>() const
    {
        return tfr_cpu_reach<T>(tfr_cpu_here->job->launch, address, tfr_cpu_here);
    }
};
#define TFR_FIELD(T) tfr_field<T>
#define TFR_FIELD_AS(T, field) tfr_field<T>{(field).address}
#define TFR_ALIAS(T) tfr_span<T>

static char *TFR_CPU_UNSANITIZED tfr_cpu_shared(const void *name, size_t bytes)
{
    tfr_cpu_worker *w = tfr_cpu_here;
    unsigned i = 0;

    while (i < w->n_shared && w->shared_names[i] != name)
        i++;
    if (i == w->n_shared) {
        if (i == TFR_CPU_SHARED_NAMES || bytes > TFR_CPU_SHARED - w->shared_used)
            tfr_cpu_fail(TFR_CPU_FAILED, "no shared memory for %zu bytes", bytes);
        w->shared_names[i] = name;
        w->shared_begin[i] = w->shared_used;
        w->shared_used = std::min((w->shared_used + bytes + 15) / 16 * 16, sizeof w->shared);
        w->n_shared++;
    }
    return w->shared + w->shared_begin[i];
}

#define TFR_SHARED(type, name, n)                                                                  \
    static const char tfr_shared_##name = 0;                                                       \
    const tfr_span<type> name(                                                                     \
        reinterpret_cast<type *>(tfr_cpu_shared(&tfr_shared_##name, sizeof(type) * (n))), 0,       \
        (int64_t)(sizeof(type) * (n)))

/* ---- running blocks ---- */

static void TFR_CPU_UNSANITIZED tfr_cpu_end_fiber(void)
{
    tfr_cpu_worker *w = tfr_cpu_here;
    tfr_cpu_now->state = TFR_CPU_DONE;
    TFR_CPU_BEFORE(&w->ended);
    w->n_live--;
    if (w->n_live > 0 && w->at_block == w->n_live) {
        w->at_block = 0;
        tfr_cpu_release(0, w->n_threads, TFR_CPU_AT_BLOCK);
    }
    tfr_cpu_leave(true);
    __builtin_unreachable();
}

static void TFR_CPU_UNSANITIZED tfr_cpu_enter(void)
{
#if TFR_CPU_ASAN
    __sanitizer_finish_switch_fiber(NULL, &tfr_cpu_here->bottom, &tfr_cpu_here->stack_bytes);
#endif
    TFR_CPU_AFTER(&tfr_cpu_here->begun);
    tfr_cpu_here->job->call(tfr_cpu_here->job->args);
    tfr_cpu_end_fiber();
}

static void TFR_CPU_UNSANITIZED tfr_cpu_begin_fiber(tfr_cpu_worker *w, unsigned i)
{
    tfr_cpu_fiber *f = &w->fibers[i];
    const tfr_cpu_dim3 *d = &w->job->threads;

    f->thread = {i % d->x, i / d->x % d->y, i / d->x / d->y};
    f->number = i;
    f->n_exchanges = 0;
    f->state = TFR_CPU_READY;
    f->copies.clear();
    f->stack = w->stacks + (size_t)i * TFR_CPU_STACK;
    f->fake_stack = NULL;
#if TFR_CPU_ASAN
    __asan_unpoison_memory_region(f->stack, TFR_CPU_STACK);
#endif
#if TFR_CPU_TSAN
    if (!f->tsan) /* which takes far longer than a block; one is used again by later blocks */
        f->tsan = __tsan_create_fiber(0);
#endif
#ifdef TFR_CPU_UCONTEXT
    if (!f->sp)
        f->sp = calloc(1, sizeof(ucontext_t));
    ucontext_t *u = (ucontext_t *)f->sp;
    getcontext(u);
    u->uc_stack.ss_sp = f->stack;
    u->uc_stack.ss_size = TFR_CPU_STACK;
    makecontext(u, tfr_cpu_enter, 0);
#else
    void **top = reinterpret_cast<void **>(f->stack + TFR_CPU_STACK);
    top -= TFR_CPU_SAVED;
    top[TFR_CPU_RETURN] = reinterpret_cast<void *>(tfr_cpu_enter);
    f->sp = top;
#endif
}

static void TFR_CPU_UNSANITIZED tfr_cpu_resume(tfr_cpu_worker *w, tfr_cpu_fiber *f)
{
    tfr_cpu_now = f;
#if TFR_CPU_ASAN
    __sanitizer_start_switch_fiber(&w->fake_stack, f->stack, TFR_CPU_STACK);
#endif
#if TFR_CPU_TSAN
    __tsan_switch_to_fiber(f->tsan, 1);
#endif
#ifdef TFR_CPU_UCONTEXT
    swapcontext((ucontext_t *)w->sp, (ucontext_t *)f->sp);
#else
    tfr_cpu_switch(&w->sp, f->sp);
#endif
#if TFR_CPU_ASAN
    __sanitizer_finish_switch_fiber(w->fake_stack, NULL, NULL);
#endif
}

/* splitmix64 */
static uint64_t tfr_cpu_draw(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* i * a + b is a permutation of 0...n-1 for an a without a common divisor. */
static uint64_t tfr_cpu_stride(uint64_t n, uint64_t drawn)
{
    uint64_t a = drawn % n + 1, x, y;
    for (;; a++) {
        for (x = a, y = n; y; std::swap(x, y))
            x %= y;
        if (x == 1)
            return a;
    }
}

static void TFR_CPU_UNSANITIZED tfr_cpu_run_block(tfr_cpu_worker *w, uint64_t number)
{
    tfr_cpu_job *job = w->job;
    uint64_t state = job->seed ^ number * 0xD1342543DE82EF95u;
    const unsigned n = w->n_threads;
    bool moved = true;

    w->block = {(unsigned)(number % job->grid.x), (unsigned)(number / job->grid.x % job->grid.y),
                (unsigned)(number / job->grid.x / job->grid.y)};
    w->n_live = n;
    w->at_block = w->n_shared = 0;
    w->shared_used = 0;
    memset(w->at_warp, 0, sizeof w->at_warp);
    memset(w->shared, 0xff, sizeof w->shared); /* NaN in each float type */
    for (unsigned i = 0; i < n; i++)
        tfr_cpu_begin_fiber(w, i);
    TFR_CPU_BEFORE(&w->begun);
    while (w->n_live && moved && !w->failed) {
        const uint64_t a = tfr_cpu_stride(n, tfr_cpu_draw(&state)), b = tfr_cpu_draw(&state) % n;
        moved = false;
        for (unsigned i = 0; i < n && !w->failed; i++) {
            tfr_cpu_fiber *f = &w->fibers[(i * a + b) % n];
            if (f->state != TFR_CPU_READY)
                continue;
            moved = true;
            tfr_cpu_resume(w, f);
        }
    }
    if (!moved && !w->failed) {
        unsigned none = 0;
        w->failed = true;
        if (job->result.compare_exchange_strong(none, TFR_CPU_FAILED))
            fprintf(stderr, "kernel %s, block %u,%u,%u: %u threads wait at a barrier for ever\n",
                    job->name, w->block.x, w->block.y, w->block.z, w->n_live);
    }
    TFR_CPU_AFTER(&w->ended);
    TFR_CPU_AFTER(&w->at_block);
    for (unsigned i = 0; i < n / 32; i++)
        TFR_CPU_AFTER(&w->at_warp[i]);
#if TFR_CPU_TSAN
    for (unsigned i = 0; i < n && w->failed; i++) { /* in the midst of calls */
        __tsan_destroy_fiber(w->fibers[i].tsan);
        w->fibers[i].tsan = NULL;
    }
#endif
}

static void *tfr_cpu_work(void *p)
{
    static std::mutex lock;
    static auto *idle = new std::vector<tfr_cpu_worker *>; /* their stacks are warm */
    tfr_cpu_job *job = static_cast<tfr_cpu_job *>(p);
    tfr_cpu_worker *w = NULL, *outer = tfr_cpu_here;
    uint64_t i, a = tfr_cpu_stride(job->n_blocks, job->seed);

    {
        std::lock_guard<std::mutex> hold(lock);
        if (!idle->empty()) {
            w = idle->back();
            idle->pop_back();
        }
    }
    if (!w) {
        w = new tfr_cpu_worker();
        w->stacks = static_cast<char *>(mmap(NULL, (size_t)TFR_CPU_MAX_THREADS * TFR_CPU_STACK,
                                             PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
#ifdef TFR_CPU_UCONTEXT
        w->sp = calloc(1, sizeof(ucontext_t));
#endif
    }
    w->job = job;
    memset(w->places, 0, sizeof w->places);
    w->failed = false;
    w->n_threads = job->threads.x * job->threads.y * job->threads.z;
    tfr_cpu_here = w;
#if TFR_CPU_TSAN
    w->tsan = __tsan_get_current_fiber();
#endif
    while (!w->failed && job->result == 0 && (i = job->next++) < job->n_blocks)
        tfr_cpu_run_block(w, (uint64_t)((unsigned __int128)i * a % job->n_blocks));
    tfr_cpu_here = outer;
    std::lock_guard<std::mutex> hold(lock);
    idle->push_back(w);
    return NULL;
}

static unsigned tfr_cpu_run(tfr_cpu_job *job)
{
    const unsigned n =
        (unsigned)std::min<uint64_t>(std::min(tfr_cpu_workers, 16u), job->n_blocks);
    const uint64_t threads = (uint64_t)job->threads.x * job->threads.y * job->threads.z;
    pthread_t others[16];
    unsigned begun = 0;

    if (threads == 0 || threads > TFR_CPU_MAX_THREADS || threads % 32 || !job->n_blocks) {
        fprintf(stderr, "kernel %s: blocks of %llu threads; whole warps are wanted\n", job->name,
                (unsigned long long)threads);
        return TFR_CPU_FAILED;
    }
    while (begun + 1 < n && pthread_create(&others[begun], NULL, tfr_cpu_work, job) == 0)
        begun++;
    tfr_cpu_work(job);
    while (begun > 0)
        pthread_join(others[--begun], NULL);
    return job->result;
}

/* ---- the table of kernels ---- */

template <class A> struct tfr_cpu_arg {
    static constexpr unsigned bytes = sizeof(A);
    static A get(const tfr_cpu_launch *, const void *p)
    {
        A a;
        memcpy(&a, p, sizeof a);
        return a;
    }
};
template <class T> struct tfr_cpu_arg<tfr_span<T>> {
    static constexpr unsigned bytes = 8;
    static tfr_span<T> get(const tfr_cpu_launch *launch, const void *p)
    {
        uint64_t address;
        memcpy(&address, p, sizeof address);
        return tfr_cpu_reach<T>(launch, address, NULL);
    }
};

enum { TFR_CPU_MAX_KERNELS = 1024 };
extern "C" {
__attribute__((visibility("default"))) tfr_cpu_kernel tfr_cpu_kernels[TFR_CPU_MAX_KERNELS + 1];
}
static unsigned tfr_cpu_n_kernels;

/* Runs kernel K, a function of the arguments A. */
template <auto K, class F> struct tfr_cpu_entry;
template <auto K, class... A> struct tfr_cpu_entry<K, void(A...)> {
    static const char *name;
    static constexpr unsigned bytes[sizeof...(A)] = {tfr_cpu_arg<A>::bytes...};

    static void call(const void *args)
    {
        std::apply(K, *static_cast<const std::tuple<A...> *>(args));
    }
    template <size_t... I>
    static unsigned run_all(const tfr_cpu_launch *l, std::index_sequence<I...>)
    {
        std::tuple<A...> args(tfr_cpu_arg<A>::get(l, l->args[I])...);
        tfr_cpu_job job{l,
                        name,
                        call,
                        &args,
                        {l->grid[0], l->grid[1], l->grid[2]},
                        {l->block[0], l->block[1], l->block[2]},
                        (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
                        tfr_cpu_seed,
                        {0},
                        {0}};
        return tfr_cpu_run(&job);
    }
    static unsigned run(const tfr_cpu_launch *launch)
    {
        return run_all(launch, std::index_sequence_for<A...>());
    }
};
template <auto K, class... A> const char *tfr_cpu_entry<K, void(A...)>::name;

template <auto K, class F> static bool tfr_cpu_register(const char *name, unsigned max_threads)
{
    typedef tfr_cpu_entry<K, F> entry;
    if (tfr_cpu_n_kernels == TFR_CPU_MAX_KERNELS)
        return false; /* nobody finds it, which a test tells */
    entry::name = name;
    tfr_cpu_kernels[tfr_cpu_n_kernels++] = {
        name,         entry::run,  sizeof entry::bytes / sizeof entry::bytes[0],
        entry::bytes, max_threads, 0};
    return true;
}

/* TFR_GLOBAL(name, threads of a block at most, (parameters)) { body } */
#define TFR_GLOBAL(name, threads, parameters)                                                      \
    static void name parameters;                                                                   \
    static const bool tfr_has_##name = tfr_cpu_register<&name, void parameters>(#name, threads);   \
    static void name parameters

#endif
