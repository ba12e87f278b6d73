/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of core/base/port/pool.c and cpus.c. The pools are wider than most test machines, so that
 * threads are really stopped in the middle; run it under ThreadSanitizer, too.
 */
#include "tfr_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/port/clock.h"
#include "base/port/cpus.h"
#include "base/port/pool.h"

#define N 1000

typedef struct loop {
    tfr__pool *pool;
    int counts[N];
    _Atomic int n_calls;
    _Atomic int n_at_once;
    _Atomic int most_at_once;
    _Atomic bool was_bad; /* a range that the contract does not allow */
    int64_t grain;
} loop;

/* Plain writes: ThreadSanitizer sees if two threads get one element, or if the end is no barrier.
 */
static void count(void *user, int64_t begin, int64_t end)
{
    loop *l = user;
    const int now = atomic_fetch_add(&l->n_at_once, 1) + 1;
    int most = atomic_load(&l->most_at_once);
    while (now > most && !atomic_compare_exchange_weak(&l->most_at_once, &most, now))
        ;
    atomic_fetch_add(&l->n_calls, 1);
    if (l->grain && (begin % l->grain != 0 || (end - begin != l->grain && end != N)))
        atomic_store(&l->was_bad, true);
    for (int64_t i = begin; i < end; i++)
        l->counts[i]++;
    atomic_fetch_sub(&l->n_at_once, 1);
}

static bool all_are(const loop *l, int value)
{
    for (int i = 0; i < N; i++)
        if (l->counts[i] != value)
            return false;
    return true;
}

TEST(every_index_runs_exactly_once_for_any_grain)
{
    static const int64_t grains[] = {0, 1, 3, 7, 100, 999, 1000, 1001, INT64_MAX};
    tfr__pool *pool = tfr__pool_create(4);
    REQUIRE(pool != NULL);
    for (size_t i = 0; i < sizeof grains / sizeof grains[0]; i++) {
        loop l = {.grain = grains[i]};
        tfr__pool_run(pool, 0, count, &l, N, grains[i]);
        CHECK(all_are(&l, 1));
        CHECK(!l.was_bad);
    }
    tfr__pool_destroy(pool);
}

TEST(an_empty_loop_calls_nothing)
{
    loop l = {0};
    tfr__pool_run(tfr__pool_get(), 0, count, &l, 0, 1);
    tfr__pool_run(tfr__pool_get(), 0, count, &l, -5, 1);
    CHECK_INT(0, l.n_calls);
}

TEST(many_short_loops_see_each_others_writes)
{
    tfr__pool *pool = tfr__pool_create(4);
    loop l = {0};
    REQUIRE(pool != NULL);
    for (int i = 0; i < 500; i++)
        tfr__pool_run(pool, 0, count, &l, N, 50);
    CHECK(all_are(&l, 500));
    tfr__pool_destroy(pool);
}

/* Long enough between loops that the workers go to sleep. */
TEST(workers_wake_up_after_they_slept)
{
    tfr__pool *pool = tfr__pool_create(4);
    loop l = {0};
    REQUIRE(pool != NULL);
    for (int i = 0; i < 20; i++) {
        const uint64_t end = tfr__now_ns() + 1000000;
        tfr__pool_run(pool, 0, count, &l, N, 10);
        while (tfr__now_ns() < end)
            sched_yield();
    }
    CHECK(all_are(&l, 20));
    tfr__pool_destroy(pool);
}

typedef struct meeting {
    _Atomic int n_here;
    int wanted;
    _Atomic bool all_came;
} meeting;

/* Returns when `wanted` threads are here, which takes as many threads, or after a time. */
static void meet(void *user, int64_t begin, int64_t end)
{
    meeting *m = user;
    const uint64_t deadline = tfr__now_ns() + UINT64_C(10000000000);
    (void)begin;
    (void)end;
    atomic_fetch_add(&m->n_here, 1);
    while (atomic_load(&m->n_here) < m->wanted && tfr__now_ns() < deadline)
        sched_yield();
    if (atomic_load(&m->n_here) >= m->wanted)
        atomic_store(&m->all_came, true);
}

TEST(a_loop_runs_on_all_threads_at_once)
{
    tfr__pool *pool = tfr__pool_create(4);
    meeting m = {.wanted = 4};
    REQUIRE(pool != NULL);
    CHECK_UINT(4, tfr__pool_threads(pool));
    tfr__pool_run(pool, 0, meet, &m, 4, 1);
    CHECK(m.all_came);
    tfr__pool_destroy(pool);
}

typedef struct lateness {
    meeting m;
    pthread_t caller;
    _Atomic int n_done;
} lateness;

/* The caller is done first, and long before the others. */
static void be_late(void *user, int64_t begin, int64_t end)
{
    lateness *late = user;
    meet(&late->m, begin, end);
    if (!pthread_equal(late->caller, pthread_self()))
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    atomic_fetch_add(&late->n_done, 1);
}

TEST(a_loop_ends_after_the_last_of_its_threads)
{
    tfr__pool *pool = tfr__pool_create(4);
    REQUIRE(pool != NULL);
    for (int i = 0; i < 4; i++) {
        lateness late = {.m = {.wanted = 4}, .caller = pthread_self()};
        tfr__pool_run(pool, 0, be_late, &late, 4, 1);
        CHECK_INT(4, late.n_done);
    }
    tfr__pool_destroy(pool);
}

TEST(max_threads_bounds_a_loop)
{
    tfr__pool *pool = tfr__pool_create(4);
    REQUIRE(pool != NULL);
    for (uint32_t max = 1; max <= 3; max++) {
        loop l = {0};
        tfr__pool_run(pool, max, count, &l, N, 5);
        CHECK(all_are(&l, 1));
        CHECK(l.most_at_once <= (int)max);
    }
    tfr__pool_destroy(pool);
}

typedef struct nesting {
    tfr__pool *pool;
    _Atomic int n_inner;
    _Atomic int n_foreign; /* inner ranges that ran on another thread */
} nesting;

typedef struct inner_loop {
    nesting *nest;
    pthread_t thread;
} inner_loop;

static void inner(void *user, int64_t begin, int64_t end)
{
    inner_loop *l = user;
    atomic_fetch_add(&l->nest->n_inner, (int)(end - begin));
    if (!pthread_equal(pthread_self(), l->thread))
        atomic_fetch_add(&l->nest->n_foreign, 1);
}

static void outer(void *user, int64_t begin, int64_t end)
{
    inner_loop l = {user, pthread_self()};
    for (int64_t i = begin; i < end; i++)
        tfr__pool_run(l.nest->pool, 0, inner, &l, 10, 1);
}

#define WIDTH 4

typedef struct lanes {
    tfr__pool *pool;
    _Atomic int n_inside;
    _Atomic uint32_t taken; /* bit i: lane i is at work */
    _Atomic bool was_bad;
    bool meets; /* each range waits until all have begun */
} lanes;

static void check_nested_lane(void *user, int64_t begin, int64_t end)
{
    (void)begin;
    (void)end;
    if (tfr__pool_lane() != *(uint32_t *)user)
        *(uint32_t *)user = UINT32_MAX;
}

static void take_lane(void *user, int64_t begin, int64_t end)
{
    lanes *l = user;
    uint32_t lane = tfr__pool_lane(), nested = lane;
    (void)begin;
    (void)end;
    if (lane >= WIDTH || atomic_fetch_or(&l->taken, 1u << lane) >> lane & 1)
        atomic_store(&l->was_bad, true);
    tfr__pool_run(l->pool, 0, check_nested_lane, &nested, 8, 1);
    if (nested != lane)
        atomic_store(&l->was_bad, true);
    atomic_fetch_add(&l->n_inside, 1);
    while (l->meets && atomic_load(&l->n_inside) < WIDTH)
        sched_yield();
    atomic_fetch_and(&l->taken, ~(1u << lane));
}

TEST(threads_of_a_loop_have_numbers_of_their_own)
{
    lanes l = {.pool = tfr__pool_create(WIDTH)};
    REQUIRE(l.pool != NULL);
    for (int i = 0; i < 200; i++)
        tfr__pool_run(l.pool, 0, take_lane, &l, 40, 1);
    CHECK(!l.was_bad);
    l.meets = true;
    atomic_store(&l.n_inside, 0);
    tfr__pool_run(l.pool, 0, take_lane, &l, WIDTH, 1);
    CHECK(!l.was_bad);
    CHECK_UINT(0, tfr__pool_lane());
    tfr__pool_destroy(l.pool);
}

typedef struct masks {
    int64_t n;
    _Atomic int n_inside, n_pinned;
    int caller; /* processors that the caller's thread may use in its range */
} masks;

static void read_mask(void *user, int64_t begin, int64_t end)
{
    masks *m = user;
    cpu_set_t set;
    (void)begin;
    (void)end;
    atomic_fetch_add(&m->n_inside, 1);
    while (atomic_load(&m->n_inside) < m->n)
        sched_yield();
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    if (tfr__pool_lane() == 0)
        m->caller = CPU_COUNT(&set);
    else
        atomic_fetch_add(&m->n_pinned, CPU_COUNT(&set) == 1);
}

/* In a child, since the threads of this process may have started already. */
static int pinned_in_child(bool may_pin, uint32_t max_threads)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        masks m = {.n = max_threads ? max_threads : tfr__cpus_allowed()};
        tfr__pool_may_pin(may_pin);
        tfr__pool_run(tfr__pool_get(), max_threads, read_mask, &m, m.n, 1);
        _exit(m.caller == (int)tfr__cpus_allowed() ? m.n_pinned : 255);
    }
    REQUIRE_INT(pid, waitpid(pid, &status, 0));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(workers_are_pinned_if_there_is_one_for_each_processor)
{
    uint32_t n = tfr__cpus_allowed();
    if (n < 2 || n > 64 || tfr__cpus_usable() != n)
        SKIP("this process may not use 2 to 64 processors wholly");
    CHECK_INT((int)n - 1, pinned_in_child(true, 0));
    CHECK_INT(0, pinned_in_child(false, 0));
    if (n > 2)
        CHECK_INT(0, pinned_in_child(true, 2));
}

/* Each notes its processor, and waits for the others, so that all have a range. */
typedef struct places {
    uint32_t n;
    _Atomic uint32_t n_inside;
    cpu_set_t workers; /* that they are pinned to, put together */
    pthread_mutex_t lock;
} places;

static void note_place(void *user, int64_t begin, int64_t end)
{
    places *p = user;
    cpu_set_t set;
    (void)begin, (void)end;
    CPU_ZERO(&set);
    if (tfr__pool_lane() && sched_getaffinity(0, sizeof set, &set) == 0) {
        pthread_mutex_lock(&p->lock);
        CPU_OR(&p->workers, &p->workers, &set);
        pthread_mutex_unlock(&p->lock);
    }
    atomic_fetch_add(&p->n_inside, 1);
    while (atomic_load(&p->n_inside) < p->n)
        sched_yield();
}

/* In a child, whose pool is new: is the caller alone on each processor that it moves to? */
static bool makes_way_in_child(uint32_t n)
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        cpu_set_t all;
        bool alone = sched_getaffinity(0, sizeof all, &all) == 0;
        places first = {.n = n, .lock = PTHREAD_MUTEX_INITIALIZER};
        tfr__pool_run(tfr__pool_get(), 0, note_place, &first, n, 1);
        alone = alone && CPU_COUNT(&first.workers) == (int)n - 1;
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            places p = {.n = n, .lock = PTHREAD_MUTEX_INITIALIZER};
            cpu_set_t one;
            if (!CPU_ISSET(cpu, &all))
                continue;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            tfr__pool_run(tfr__pool_get(), 0, note_place, &p, n, 1);
            alone = alone && CPU_COUNT(&p.workers) == (int)n - 1 && !CPU_ISSET(cpu, &p.workers);
        }
        _exit(alone ? 0 : 1);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

TEST(a_caller_on_the_processor_of_a_worker_changes_places_with_it)
{
    const uint32_t n = tfr__cpus_usable();
    if (n < 2 || n != tfr__cpus_allowed())
        SKIP("there is one processor, or a quota");
    CHECK(makes_way_in_child(n));
}

TEST(processors_are_counted_without_the_one_that_is_left_out)
{
    uint32_t n = tfr__cpus_allowed();
    int first = tfr__cpus_nth(0, -1);
    CHECK(first >= 0);
    CHECK_INT(-1, tfr__cpus_nth(n, -1));
    CHECK_INT(-1, tfr__cpus_nth(n - 1, first));
    CHECK(tfr__cpus_nth(0, first) != first);
}

TEST(a_nested_loop_runs_on_the_calling_thread)
{
    nesting nest = {.pool = tfr__pool_create(4)};
    REQUIRE(nest.pool != NULL);
    tfr__pool_run(nest.pool, 0, outer, &nest, 40, 1);
    CHECK_INT(400, nest.n_inner);
    CHECK_INT(0, nest.n_foreign);
    tfr__pool_destroy(nest.pool);
}

static void *call_often(void *user)
{
    loop *l = user;
    for (int i = 0; i < 50; i++)
        tfr__pool_run(l->pool, 0, count, l, N, 25);
    return NULL;
}

TEST(callers_on_several_threads_all_get_their_loops_run)
{
    static loop loops[3];
    pthread_t threads[3];
    tfr__pool *pool = tfr__pool_create(3);
    REQUIRE(pool != NULL);
    for (int i = 0; i < 3; i++) {
        loops[i].pool = pool;
        REQUIRE_INT(0, pthread_create(&threads[i], NULL, call_often, &loops[i]));
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        CHECK(all_are(&loops[i], 50));
    }
    tfr__pool_destroy(pool);
}

TEST(a_child_of_fork_gets_threads_of_its_own)
{
    if (TFR_SANITIZERS & TFR_SANITIZER_THREAD)
        SKIP("ThreadSanitizer does not allow new threads in a child of fork");
    tfr__pool *pool = tfr__pool_create(3);
    loop l = {0};
    int status = -1;
    REQUIRE(pool != NULL);
    tfr__pool_run(pool, 0, count, &l, N, 10);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        meeting m = {.wanted = 3};
        alarm(30);
        tfr__pool_run(pool, 0, count, &l, N, 10);
        tfr__pool_run(pool, 0, meet, &m, 3, 1);
        const bool good = all_are(&l, 2) && m.all_came;
        tfr__pool_destroy(pool);
        _exit(good ? 0 : 1);
    }
    REQUIRE_INT(child, waitpid(child, &status, 0));
    CHECK_INT(0, status);
    /* The parent's threads are still there. */
    tfr__pool_run(pool, 0, count, &l, N, 10);
    CHECK(all_are(&l, 2));
    tfr__pool_destroy(pool);
}

typedef struct naming {
    meeting meeting;
    char names[2][16];
} naming;

static void note_name(void *user, int64_t begin, int64_t end)
{
    naming *at = user;
    pthread_getname_np(pthread_self(), at->names[begin], sizeof at->names[begin]);
    meet(&at->meeting, begin, end);
}

TEST(workers_have_names)
{
    naming at = {.meeting = {.wanted = 2}};
    tfr__pool *pool = tfr__pool_create(2);
    REQUIRE(pool != NULL);
    tfr__pool_run(pool, 0, note_name, &at, 2, 1);
    CHECK(strcmp(at.names[0], "tfr-pool-1") == 0 || strcmp(at.names[1], "tfr-pool-1") == 0);
    tfr__pool_destroy(pool);
}

TEST(the_pool_of_the_process_is_one_and_as_wide_as_the_machine_allows)
{
    tfr__pool *pool = tfr__pool_get();
    CHECK(pool == tfr__pool_get());
    CHECK_UINT(tfr__cpus_usable(), tfr__pool_threads(pool));
}

TEST(the_affinity_mask_bounds_the_processors)
{
    cpu_set_t before;
    cpu_set_t one;
    int cpu = 0;
    REQUIRE_INT(0, sched_getaffinity(0, sizeof before, &before));
    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &before))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    REQUIRE_INT(0, sched_setaffinity(0, sizeof one, &one));
    CHECK_UINT(1, tfr__cpus_usable());
    sched_setaffinity(0, sizeof before, &before);
}

TEST(no_memory_for_a_pool_is_null_and_leaks_nothing)
{
    const uint64_t live = tfr__alloc_live();
    for (uint64_t n = 1; n <= 2; n++) {
        tfr__alloc_fail_at(n);
        CHECK(tfr__pool_create(4) == NULL);
    }
    tfr__alloc_fail_at(0);
    CHECK_UINT(live, tfr__alloc_live());
}

/* ---- control groups, in a tree of our own ---------------------------------------------------- */

static char root[] = "/tmp/tfrun-test-cpus.XXXXXX";

static bool put(const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(full, 0700);
        *p = '/';
    }
    FILE *file = fopen(full, "w");
    if (!file)
        return false;
    const bool good = fputs(text, file) >= 0;
    return fclose(file) == 0 && good;
}

static bool new_root(void)
{
    memcpy(root + strlen(root) - 6, "XXXXXX", 7);
    return mkdtemp(root) != NULL;
}

static void remove_root(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    CHECK_INT(0, system(command));
}

TEST(the_least_quota_of_a_version_2_group_and_its_parents_counts)
{
    REQUIRE(new_root());
    CHECK(put("/proc/self/cgroup", "0::/a/b\n"));
    CHECK(put("/proc/self/mountinfo", "36 35 0:41 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"));
    CHECK(put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"));
    CHECK_UINT(0, tfr__cpus_quota(root));
    CHECK(put("/sys/fs/cgroup/a/cpu.max", "250000 100000\n"));
    CHECK_UINT(3, tfr__cpus_quota(root));
    CHECK(put("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n"));
    CHECK_UINT(3, tfr__cpus_quota(root));
    CHECK(put("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n"));
    CHECK_UINT(1, tfr__cpus_quota(root));
    remove_root();
}

TEST(a_version_1_group_is_found_below_what_the_container_shows)
{
    REQUIRE(new_root());
    CHECK(put("/proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/box/7/job\n0::/\n"));
    CHECK(put("/proc/self/mountinfo",
              "29 25 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
              "30 25 0:27 /box/7 /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"));
    CHECK(put("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "200000\n"));
    CHECK(put("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"));
    CHECK_UINT(2, tfr__cpus_quota(root));
    CHECK(put("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n"));
    CHECK_UINT(0, tfr__cpus_quota(root));
    remove_root();
}

TEST(lines_that_name_no_group_are_passed_over)
{
    REQUIRE(new_root());
    CHECK(put("/proc/self/cgroup", "nonsense\n1:name\n0::/a\n"));
    CHECK(put("/proc/self/mountinfo",
              "nonsense\n36 35 0:41 / /c rw - cgroup2 cgroup2 rw\n37 - tmpfs\n"));
    CHECK(put("/c/a/cpu.max", "200000 100000\n"));
    CHECK_UINT(2, tfr__cpus_quota(root));
    remove_root();
}

TEST(a_damaged_proc_is_no_limit)
{
    REQUIRE(new_root());
    CHECK_UINT(0, tfr__cpus_quota(root));
    CHECK(put("/proc/self/mountinfo", "nonsense\n36 - cgroup2\n - cgroup2 a b\n"));
    CHECK_UINT(0, tfr__cpus_quota(root));
    CHECK(put("/proc/self/cgroup", "0\n:\n::\n"));
    CHECK(put("/proc/self/mountinfo", "36 35 0:41 / /c rw - cgroup2 cgroup2 rw\n"));
    CHECK_UINT(0, tfr__cpus_quota(root));
    remove_root();
}

static const test_case cases[] = {
    CASE(every_index_runs_exactly_once_for_any_grain),
    CASE(an_empty_loop_calls_nothing),
    CASE(many_short_loops_see_each_others_writes),
    CASE(workers_wake_up_after_they_slept),
    CASE(a_loop_runs_on_all_threads_at_once),
    CASE(a_loop_ends_after_the_last_of_its_threads),
    CASE(max_threads_bounds_a_loop),
    CASE(threads_of_a_loop_have_numbers_of_their_own),
    CASE(workers_are_pinned_if_there_is_one_for_each_processor),
    CASE(a_caller_on_the_processor_of_a_worker_changes_places_with_it),
    CASE(processors_are_counted_without_the_one_that_is_left_out),
    CASE(a_nested_loop_runs_on_the_calling_thread),
    CASE(callers_on_several_threads_all_get_their_loops_run),
    CASE(a_child_of_fork_gets_threads_of_its_own),
    CASE(workers_have_names),
    CASE(the_pool_of_the_process_is_one_and_as_wide_as_the_machine_allows),
    CASE(the_affinity_mask_bounds_the_processors),
    CASE(no_memory_for_a_pool_is_null_and_leaks_nothing),
    CASE(the_least_quota_of_a_version_2_group_and_its_parents_counts),
    CASE(a_version_1_group_is_found_below_what_the_container_shows),
    CASE(lines_that_name_no_group_are_passed_over),
    CASE(a_damaged_proc_is_no_limit),
};
TEST_MAIN(cases)
