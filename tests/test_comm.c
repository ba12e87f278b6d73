/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of devices (core/device/comm.c) through a plugin whose ranks exchange by the host's pairs
 * alone: between threads, and between processes by a folder.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <tfrun/fail.h>

#include "tfr_test.h"

#include "device/comm.h"
#include "fake/kit.h"

#define LONG_NS  UINT64_C(60000000000) /* nobody may wait for so long */
#define SHORT_NS UINT64_C(200000000)
#define N        20000 /* elements that take several values of a pair */

static tfr_err err = TFR_ERR_INIT;
static tfr_runtime *runtime;
static tfr__backend *devices[4];
static tfr__pairs *pairs;

static tfr__backend *backend_of(const char *name)
{
    uint32_t device;
    int32_t k;
    REQUIRE_OK(tfr_runtime_find(runtime, name, &device, &k, &err), &err);
    REQUIRE_OK(tfr__backend_open(runtime, &runtime->devices[device].backends[k], &err), &err);
    return &runtime->devices[device].backends[k];
}

static void begin(const char *folder)
{
    kit_begin();
    kit_add("collectives", "collectives");
    kit_add("good", "good");
    runtime = kit_open(NULL);
    for (unsigned i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "collectives:%u", i);
        devices[i] = backend_of(name);
    }
    REQUIRE_OK(tfr__pairs_create(folder, &pairs, &err), &err);
}

static void end(void)
{
    tfr_runtime_release(runtime);
    tfr__pairs_destroy(pairs);
    kit_end();
}

static tfr__comm_place place_of(const char *group, uint32_t n_ranks, uint64_t timeout_ns)
{
    return (tfr__comm_place){
        .group = group, .n_ranks = n_ranks, .pairs = pairs, .timeout_ns = timeout_ns};
}

static void open_group(const char *group, uint32_t n, uint64_t timeout_ns, tfr__comm **out)
{
    const tfr__comm_place place = place_of(group, n, timeout_ns);
    REQUIRE_OK(tfr__comms_open(devices, n, &place, out, &err), &err);
}

static void close_group(tfr__comm **comms, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        tfr__comm_close(comms[i]);
}

/* ---- ranks on threads ------------------------------------------------------------------------ */

typedef struct rank {
    pthread_t thread;
    tfr__comm *comm;
    tfr_collective what;
    tfr_status status;
    tfr_err err;
} rank;

static void *run_rank(void *user)
{
    rank *r = user;
    r->status = tfr__comm_run(r->comm, NULL, &r->what, &r->err);
    return NULL;
}

static void start(rank *r, tfr__comm *comm, tfr_collective what)
{
    *r = (rank){.comm = comm, .what = what, .err = TFR_ERR_INIT};
    REQUIRE_INT(0, pthread_create(&r->thread, NULL, run_rank, r));
}

static void join_all(rank *ranks, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        pthread_join(ranks[i].thread, NULL);
}

static void check_all(rank *ranks, uint32_t n)
{
    join_all(ranks, n);
    for (uint32_t i = 0; i < n; i++)
        CHECK_OK(ranks[i].status, &ranks[i].err);
}

static tfr_collective collective(int32_t kind, uint64_t count, void *src, void *dst)
{
    return (tfr_collective){.kind = kind,
                            .dtype = TFR_DTYPE_F32,
                            .count = count,
                            .src.address = src,
                            .dst.address = dst};
}

/* What a rank gives: numbers whose sum depends on the order. */
static float part(uint32_t r, uint64_t i)
{
    return (r == 1 ? 1e6f : 0.1f) * (float)(i % 97 + 1) / (float)(r + 3);
}

static float *new_part(uint32_t r, uint64_t n)
{
    float *x = calloc((size_t)n, sizeof *x);
    REQUIRE(x != NULL);
    for (uint64_t i = 0; i < n; i++)
        x[i] = part(r, i);
    return x;
}

/* ---- collectives ----------------------------------------------------------------------------- */

static void sums_in(tfr__comm **comms, uint32_t n)
{
    float *x[4], *y[4];
    rank ranks[4];
    for (uint32_t r = 0; r < n; r++) {
        x[r] = new_part(r, N);
        y[r] = r ? calloc(N, sizeof(float)) : x[r]; /* rank 0 in place */
        start(&ranks[r], comms[r], collective(TFR_COLLECTIVE_ALLREDUCE, N, x[r], y[r]));
    }
    check_all(ranks, n);
    for (uint32_t i = 0; i < N; i += 1999) {
        float sum = part(0, i);
        for (uint32_t r = 1; r < n; r++)
            sum = (float)((double)sum + part(r, i));
        CHECK_NEAR(sum, y[0][i], 0);
    }
    for (uint32_t r = 1; r < n; r++) {
        CHECK(memcmp(y[0], y[r], N * sizeof(float)) == 0);
        free(x[r]);
        free(y[r]);
    }
    free(x[0]);
}

TEST(sums_have_the_same_bits_on_all_ranks)
{
    tfr__comm *comms[4];
    begin(NULL);
    open_group("sums", 4, LONG_NS, comms);
    sums_in(comms, 4);
    sums_in(comms, 4); /* the next ones do not take the first ones' parts */
    for (int i = 0; i < 4; i++)
        CHECK_OK(tfr__comm_error(comms[i], &err), &err);
    close_group(comms, 4);
    end();
}

TEST(other_reductions_are_of_all_ranks)
{
    static const float expected[] = {[TFR_REDUCTION_PROD] = 2 * 3 * 4 * 5,
                                     [TFR_REDUCTION_MIN] = 2,
                                     [TFR_REDUCTION_MAX] = 5,
                                     [TFR_REDUCTION_AVG] = 3.5f};
    tfr__comm *comms[4];
    begin(NULL);
    open_group("reductions", 4, LONG_NS, comms);
    for (int32_t reduction = TFR_REDUCTION_PROD; reduction <= TFR_REDUCTION_AVG; reduction++) {
        float x[4];
        rank ranks[4];
        for (uint32_t r = 0; r < 4; r++) {
            tfr_collective what = collective(TFR_COLLECTIVE_ALLREDUCE, 1, &x[r], &x[r]);
            what.reduction = reduction;
            x[r] = (float)(r + 2);
            start(&ranks[r], comms[r], what);
        }
        check_all(ranks, 4);
        for (uint32_t r = 0; r < 4; r++)
            CHECK_NEAR(expected[reduction], x[r], 0);
    }
    close_group(comms, 4);
    end();
}

TEST(broadcast_gather_and_scatter_move_what_they_say)
{
    tfr__comm *comms[3];
    float all[3][9], one[3][3];
    rank ranks[3];
    begin(NULL);
    open_group("moves", 3, LONG_NS, comms);
    for (uint32_t r = 0; r < 3; r++) {
        tfr_collective what =
            collective(TFR_COLLECTIVE_BROADCAST, 3, r == 2 ? one[2] : NULL, one[r]);
        what.peer = 2;
        for (uint32_t i = 0; i < 3; i++)
            one[r][i] = part(r, i);
        start(&ranks[r], comms[r], what);
    }
    check_all(ranks, 3);
    for (uint32_t r = 0; r < 3; r++) {
        for (uint32_t i = 0; i < 3; i++) {
            CHECK_NEAR(part(2, i), one[r][i], 0);
            all[r][3 * r + i] = (float)(10 * r + i);
        }
        start(&ranks[r], comms[r], /* in place */
              collective(TFR_COLLECTIVE_ALLGATHER, 3, &all[r][3 * r], all[r]));
    }
    check_all(ranks, 3);
    for (uint32_t r = 0; r < 3; r++) {
        for (uint32_t i = 0; i < 9; i++)
            CHECK_NEAR((double)(10 * (i / 3) + i % 3), all[r][i], 0);
        start(&ranks[r], comms[r], collective(TFR_COLLECTIVE_REDUCESCATTER, 3, all[r], one[r]));
    }
    check_all(ranks, 3);
    for (uint32_t r = 0; r < 3; r++)
        for (uint32_t i = 0; i < 3; i++)
            CHECK_NEAR((double)(3 * (10 * r + i)), one[r][i], 0);
    close_group(comms, 3);
    end();
}

TEST(one_thread_drives_all_ranks_between_begin_and_end)
{
    tfr__comm *comms[4];
    float x[4], y[4];
    begin(NULL);
    open_group("together", 4, LONG_NS, comms);
    REQUIRE_OK(tfr__comm_begin(devices[0], &err), &err);
    for (uint32_t r = 0; r < 4; r++) { /* round the ring */
        tfr_collective to = collective(TFR_COLLECTIVE_SEND, 1, &x[r], NULL);
        tfr_collective from = collective(TFR_COLLECTIVE_RECV, 1, NULL, &y[r]);
        to.peer = (r + 1) % 4;
        from.peer = (r + 3) % 4;
        x[r] = (float)r;
        CHECK_OK(tfr__comm_run(comms[r], NULL, &from, &err), &err);
        CHECK_OK(tfr__comm_run(comms[r], NULL, &to, &err), &err);
    }
    CHECK_OK(tfr__comm_end(devices[0], &err), &err);
    for (uint32_t r = 0; r < 4; r++)
        CHECK_NEAR((r + 3) % 4, y[r], 0);
    REQUIRE_OK(tfr__comm_begin(devices[0], &err), &err);
    CHECK_STATUS(TFR_EINVAL, tfr__comm_begin(devices[0], &err), &err);
    for (uint32_t r = 0; r < 4; r++) {
        const tfr_collective sum = collective(TFR_COLLECTIVE_ALLREDUCE, 1, &x[r], &x[r]);
        CHECK_OK(tfr__comm_run(comms[r], NULL, &sum, &err), &err);
    }
    CHECK_OK(tfr__comm_end(devices[0], &err), &err);
    CHECK_NEAR(6, x[3], 0);
    close_group(comms, 4);
    end();
}

TEST(two_groups_of_the_same_devices_do_not_mix)
{
    tfr__comm *a[4], *b[2];
    begin(NULL);
    open_group("one", 4, LONG_NS, a);
    open_group("two", 2, LONG_NS, b);
    for (int round = 0; round < 5; round++) {
        float x[4], y[2];
        rank ranks[6];
        for (uint32_t r = 0; r < 4; r++) {
            x[r] = 1;
            start(&ranks[r], a[r], collective(TFR_COLLECTIVE_ALLREDUCE, 1, &x[r], &x[r]));
        }
        for (uint32_t r = 0; r < 2; r++) {
            y[r] = 10;
            start(&ranks[4 + r], b[r], collective(TFR_COLLECTIVE_ALLREDUCE, 1, &y[r], &y[r]));
        }
        check_all(ranks, 6);
        CHECK_NEAR(4, x[3], 0);
        CHECK_NEAR(20, y[1], 0);
    }
    tfr__comm_abort(b[0]); /* which is not the other one's affair */
    CHECK_STATUS(TFR_EDEVICE, tfr__comm_error(b[1], &err), &err);
    CHECK_OK(tfr__comm_error(a[1], &err), &err);
    sums_in(a, 4);
    close_group(a, 4);
    close_group(b, 2);
    end();
}

/* ---- ranks that are missing ------------------------------------------------------------------ */

TEST(a_rank_that_never_comes_is_named)
{
    tfr__comm *comms[4] = {NULL};
    begin(NULL);
    const tfr__comm_place place = place_of("waiting", 4, SHORT_NS);
    CHECK_STATUS(TFR_ETIMEOUT, tfr__comms_open(devices, 3, &place, comms, &err), &err);
    CHECK_CONTAINS("group \"waiting\", rank ", err.text);
    CHECK_CONTAINS("of 4 (collectives:", err.text);
    CHECK_CONTAINS("opening: after 0.2 s there is no rank 3", err.text);
    CHECK(!comms[0] && !comms[1] && !comms[2]);
    end();
}

TEST(a_rank_that_cannot_open_ends_the_group_at_once)
{
    tfr__comm *comms[3] = {NULL};
    tfr__backend *mixed[3];
    begin(NULL);
    const tfr__comm_place place = place_of("mixed", 3, LONG_NS);
    mixed[0] = devices[0];
    mixed[1] = backend_of("good:0");
    mixed[2] = devices[2];
    CHECK_STATUS(TFR_EUNSUPPORTED, tfr__comms_open(mixed, 3, &place, comms, &err), &err);
    CHECK_CONTAINS("group \"mixed\", rank 1 of 3 (good:0), opening: its plugin has no collectives",
                   err.text);
    end();
}

TEST(a_rank_that_is_aborted_ends_a_collective_for_all)
{
    tfr__comm *comms[4];
    float x[4] = {1, 2, 3, 4};
    rank ranks[3];
    begin(NULL);
    open_group("aborted", 4, LONG_NS, comms);
    for (uint32_t r = 0; r < 3; r++)
        start(&ranks[r], comms[r], collective(TFR_COLLECTIVE_ALLREDUCE, 1, &x[r], &x[r]));
    tfr__comm_abort(comms[3]);
    join_all(ranks, 3);
    for (uint32_t r = 0; r < 3; r++) {
        CHECK_STATUS(TFR_EDEVICE, ranks[r].status, &ranks[r].err);
        CHECK_CONTAINS("group \"aborted\", rank", ranks[r].err.text);
        CHECK_CONTAINS("abort", ranks[r].err.text);
        CHECK_NEAR(r + 1, x[r], 0);
        CHECK_STATUS(TFR_EDEVICE, tfr__comm_error(comms[r], &err), &err);
        CHECK_CONTAINS("rank 3 (collectives:3) was aborted", err.text);
        CHECK_STATUS(TFR_EDEVICE, tfr__comm_run(comms[r], NULL, &ranks[r].what, &err), &err);
    }
    close_group(comms, 4);
    open_group("again", 4, LONG_NS, comms);
    sums_in(comms, 4);
    close_group(comms, 4);
    end();
}

TEST(a_rank_that_does_not_come_to_a_collective_is_named)
{
    tfr__comm *comms[3];
    float x[2] = {1, 2};
    rank ranks[2];
    begin(NULL);
    open_group("absent", 3, SHORT_NS, comms);
    for (uint32_t r = 0; r < 2; r++)
        start(&ranks[r], comms[r], collective(TFR_COLLECTIVE_ALLREDUCE, 1, &x[r], &x[r]));
    join_all(ranks, 2);
    for (uint32_t r = 0; r < 2; r++) {
        /* The slower one may hear of it from the other. */
        CHECK(ranks[r].status == TFR_ETIMEOUT || ranks[r].status == TFR_EDEVICE);
        CHECK_CONTAINS("group \"absent\", rank", ranks[r].err.text);
        CHECK_CONTAINS(", allreduce: ", ranks[r].err.text);
    }
    CHECK_STATUS(TFR_EDEVICE, tfr__comm_error(comms[2], &err), &err);
    CHECK_CONTAINS("rank 2 did not come within 0.2 s", err.text);
    close_group(comms, 3);
    end();
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static void check_refused(tfr__comm *c, tfr_collective what, tfr_status status, const char *text)
{
    CHECK_STATUS(status, tfr__comm_run(c, NULL, &what, &err), &err);
    CHECK_CONTAINS("group \"wrong\", rank 1 of 2 (collectives:1), ", err.text);
    CHECK_CONTAINS(text, err.text);
}

TEST(wrong_collectives_are_refused_and_the_group_goes_on)
{
    tfr__comm *comms[2];
    float x[2];
    begin(NULL);
    open_group("wrong", 2, LONG_NS, comms);
    const tfr_collective good = collective(TFR_COLLECTIVE_ALLREDUCE, 1, x, x);
    tfr_collective bad = good;
    bad.kind = 77;
    check_refused(comms[1], bad, TFR_EINVAL, "there is no kind 77");
    bad = good;
    bad.dtype = TFR_DTYPE_STRING;
    check_refused(comms[1], bad, TFR_EINVAL, "allreduce: element type 8 cannot be exchanged");
    bad.dtype = TFR_DTYPE_I4;
    check_refused(comms[1], bad, TFR_EINVAL, "element type 22");
    bad.dtype = TFR_DTYPE_F64;
    check_refused(comms[1], bad, TFR_EUNSUPPORTED, "element type 11 is not known here");
    bad = good;
    bad.reduction = 9;
    check_refused(comms[1], bad, TFR_EINVAL, "reduction 9");
    bad = good;
    bad.count = INT64_MAX;
    check_refused(comms[1], bad, TFR_EINVAL, "9223372036854775807 elements are too many");
    bad = good;
    bad.src.address = NULL;
    check_refused(comms[1], bad, TFR_EINVAL, "no memory for its 1 elements");
    bad = collective(TFR_COLLECTIVE_SEND, 1, x, NULL);
    bad.peer = 1;
    check_refused(comms[1], bad, TFR_EINVAL, "send: rank 1 is none to exchange with");
    bad = collective(TFR_COLLECTIVE_BROADCAST, 1, x, x);
    bad.peer = 2;
    check_refused(comms[1], bad, TFR_EINVAL, "broadcast: rank 2 is none");
    sums_in(comms, 2);
    close_group(comms, 2);
    end();
}

TEST(ranks_that_disagree_fail)
{
    tfr__comm *comms[2];
    float x[2][2] = {{1, 2}, {3, 4}};
    rank ranks[2];
    begin(NULL);
    open_group("counts", 2, LONG_NS, comms);
    start(&ranks[0], comms[0], collective(TFR_COLLECTIVE_ALLREDUCE, 1, x[0], x[0]));
    start(&ranks[1], comms[1], collective(TFR_COLLECTIVE_ALLREDUCE, 2, x[1], x[1]));
    join_all(ranks, 2);
    for (uint32_t r = 0; r < 2; r++)
        CHECK_STATUS(TFR_EDEVICE, ranks[r].status, &ranks[r].err);
    CHECK_STATUS(TFR_EDEVICE, tfr__comm_error(comms[0], &err), &err);
    close_group(comms, 2);
    end();
}

TEST(ranks_that_do_not_fit_a_group_are_refused)
{
    tfr__comm *comms[3] = {NULL}, *c = NULL;
    begin(NULL);
    open_group("taken", 2, LONG_NS, comms);
    tfr__comm_place place = place_of("taken", 2, SHORT_NS);
    CHECK_STATUS(TFR_EBUSY, tfr__comm_open(devices[3], &place, &c, &err), &err);
    close_group(comms, 2);
    open_group("taken-2", 2, LONG_NS, comms);
    place = place_of("taken-2", 2, SHORT_NS);
    place.rank = 1;
    CHECK_STATUS(TFR_EINVAL, tfr__comm_open(devices[3], &place, &c, &err), &err);
    CHECK_CONTAINS("the rank is there already", err.text);
    close_group(comms, 2);
    open_group("taken-3", 2, LONG_NS, comms);
    place = place_of("taken-3", 3, SHORT_NS);
    place.rank = 2;
    CHECK_STATUS(TFR_EINVAL, tfr__comm_open(devices[3], &place, &c, &err), &err);
    CHECK_CONTAINS("for rank 0 there are 2 ranks", err.text);
    place.rank = 3;
    CHECK_STATUS(TFR_EINVAL, tfr__comm_open(devices[3], &place, &c, &err), &err);
    close_group(comms, 2);
    end();
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static void pairs_work(tfr__pairs *p)
{
    char out[8] = "";
    uint64_t n = 2;
    static char big[65537];
    CHECK_OK(tfr__pairs_put(p, "a/b c", "four", 4, &err), &err);
    CHECK_STATUS(TFR_EBUSY, tfr__pairs_put(p, "a/b c", "five", 4, &err), &err);
    CHECK_STATUS(TFR_ELIMIT, tfr__pairs_put(p, "big", big, sizeof big, &err), &err);
    CHECK_OK(tfr__pairs_get(p, "a/b c", NULL, out, &n, 0, &err), &err);
    CHECK_INT(4, n);
    CHECK_STR("", out); /* no room: nothing was written */
    CHECK_OK(tfr__pairs_get(p, "a/b c", NULL, out, &n, 0, &err), &err);
    CHECK_STR("four", out);
    n = sizeof out;
    CHECK_STATUS(TFR_ETIMEOUT, tfr__pairs_get(p, "none", NULL, out, &n, 5000000, &err), &err);
    CHECK_CONTAINS("none has not come within 0.005 s", err.text);
    CHECK_STATUS(TFR_EDEVICE, tfr__pairs_get(p, "none", "a/b c", out, &n, LONG_NS, &err), &err);
    CHECK_STR("four", err.text);
}

TEST(pairs_are_put_once_and_waited_for)
{
    char folder[] = "/tmp/tfrun-pairs.XXXXXX", command[64];
    tfr__pairs *p = NULL, *other = NULL;
    REQUIRE_OK(tfr__pairs_create(NULL, &p, &err), &err);
    pairs_work(p);
    tfr__pairs_destroy(p);
    REQUIRE(mkdtemp(folder) != NULL);
    REQUIRE_OK(tfr__pairs_create(folder, &p, &err), &err);
    REQUIRE_OK(tfr__pairs_create(folder, &other, &err), &err);
    pairs_work(p);
    CHECK_STATUS(TFR_EBUSY, tfr__pairs_put(other, "a/b c", "six", 3, &err), &err);
    tfr__pairs_destroy(p);
    tfr__pairs_destroy(other);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    REQUIRE_INT(0, system(command));
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Rank r of three, in a process of its own, where nothing may jump out. Rank 2 may end early. */
static tfr_status rank_in_process(const char *folder, uint32_t r, bool dies, tfr_err *e)
{
    tfr__comm *c = NULL;
    float x = (float)(r + 1);
    const tfr_collective sum = collective(TFR_COLLECTIVE_ALLREDUCE, 1, &x, &x);
    tfr__comm_place place;
    uint32_t device;
    int32_t k;
    char name[32];
    tfr_status status = tfr_runtime_create(NULL, &runtime, e);
    snprintf(name, sizeof name, "collectives:%u", r);
    if (!status)
        status = tfr_runtime_find(runtime, name, &device, &k, e);
    if (!status)
        status = tfr__backend_open(runtime, &runtime->devices[device].backends[k], e);
    if (!status)
        status = tfr__pairs_create(folder, &pairs, e);
    if (status)
        return status;
    place = place_of("processes", 3, dies ? 10 * SHORT_NS : LONG_NS);
    place.rank = r;
    status = tfr__comm_open(&runtime->devices[device].backends[k], &place, &c, e);
    if (!status && dies && r == 2)
        raise(SIGKILL);
    if (!status)
        status = tfr__comm_run(c, NULL, &sum, e);
    if (!status && x != 6)
        status = tfr_fail(e, TFR_EINTERNAL, "the sum is %g", (double)x);
    tfr__comm_close(c);
    tfr_runtime_release(runtime);
    tfr__pairs_destroy(pairs);
    return status;
}

static void processes(bool die)
{
    char folder[] = "/tmp/tfrun-ranks.XXXXXX", command[64];
    pid_t child[3];
    tfr_err own = TFR_ERR_INIT;
    REQUIRE(mkdtemp(folder) != NULL);
    kit_begin();
    kit_add("collectives", "collectives");
    for (uint32_t r = 0; r < 3; r++) { /* this process opens no plugin: it forks later ones, too */
        child[r] = fork();
        if (child[r] == 0) {
            const tfr_status status = rank_in_process(folder, r, die, &own);
            const bool good = die ? (status == TFR_ETIMEOUT || status == TFR_EDEVICE) &&
                                        strstr(own.text, "group \"processes\", rank")
                                  : status == TFR_OK;
            if (!good)
                printf("rank %u: %s\n", r, own.text);
            fflush(stdout);
            _exit(good ? 0 : 1);
        }
    }
    for (uint32_t r = 0; r < 3; r++) {
        int how = -1;
        REQUIRE_INT(child[r], waitpid(child[r], &how, 0));
        if (die && r == 2)
            CHECK(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
        else
            CHECK_INT(0, how);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    REQUIRE_INT(0, system(command));
    kit_end();
}

TEST(processes_meet_in_a_folder)
{
    processes(false);
}

TEST(a_process_that_is_killed_ends_the_others_collective)
{
    processes(true);
}

static const test_case cases[] = {
    CASE(processes_meet_in_a_folder), /* first, as no plugin is loaded yet */
    CASE(a_process_that_is_killed_ends_the_others_collective),
    CASE(sums_have_the_same_bits_on_all_ranks),
    CASE(other_reductions_are_of_all_ranks),
    CASE(broadcast_gather_and_scatter_move_what_they_say),
    CASE(one_thread_drives_all_ranks_between_begin_and_end),
    CASE(two_groups_of_the_same_devices_do_not_mix),
    CASE(a_rank_that_never_comes_is_named),
    CASE(a_rank_that_cannot_open_ends_the_group_at_once),
    CASE(a_rank_that_is_aborted_ends_a_collective_for_all),
    CASE(a_rank_that_does_not_come_to_a_collective_is_named),
    CASE(wrong_collectives_are_refused_and_the_group_goes_on),
    CASE(ranks_that_disagree_fail),
    CASE(ranks_that_do_not_fit_a_group_are_refused),
    CASE(pairs_are_put_once_and_waited_for),
};
TEST_MAIN(cases)
