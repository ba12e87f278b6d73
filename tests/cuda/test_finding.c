/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel finds wrong with its data, here a matrix that is singular: which fences carry it,
 * on the queue of the launch and on those that wait for it, whenever the work is done.
 */
#define HOST_KIT_PLUGIN "plugins/cuda/.libs/tfrun-cuda.so"
#include "host_kit.h"

enum { N = 3, BYTES = N * N * sizeof(float) };

static const float good[N * N] = {1, 2, 0, 0, 1, 3, 2, 0, 1}, singular[N * N] = {1, 2, 3, 2, 4, 6};

static bool begin_here(const char *switches)
{
    char path[4200];
    const char *build = getenv("TFR_BUILDDIR");
    snprintf(path, sizeof path, "%s/tests/cuda/cpu_kernels.so", build ? build : ".");
    return access(path, F_OK) == 0 && begin(switches);
}
#define BEGIN_HERE(switches)                                                                       \
    if (!begin_here(switches))                                                                     \
    SKIP("the driver stand-in or its kernels are not built")

static tfr_kernel *new_inverse(const rig *r, tfr_answer *answer)
{
    static const int64_t dims[] = {N, N};
    const tfr_operand o = {.size = sizeof o, .dtype = TFR_DTYPE_F32, .rank = 2, .dims = dims};
    const tfr_operand operands[2] = {o, o};
    const tfr_call call = {.size = sizeof call,
                           .since_version = 1,
                           .domain = "tfrun",
                           .name = "Inverse",
                           .inputs = operands,
                           .outputs = operands + 1,
                           .n_inputs = 1,
                           .input_stride = sizeof o,
                           .n_outputs = 1,
                           .output_stride = sizeof o};
    tfr_kernel_info info = {.size = sizeof info};
    tfr_kernel *kernel = NULL;
    *answer = (tfr_answer){.size = sizeof *answer};
    REQUIRE_OK(kernels->supports(r->device, &call, answer, &err), &err);
    REQUIRE_INT(TFR_VERDICT_YES, answer->verdict);
    REQUIRE_OK(kernels->prepare(r->device, &call, NULL, &kernel, &info, &err), &err);
    return kernel;
}

/* A rig with a kernel and its memory; x is pinned. */
typedef struct bench {
    rig r;
    tfr_kernel *kernel;
    void *x, *y, *workspace;
    float *pinned;
} bench;

static bench new_bench(void)
{
    tfr_answer answer;
    bench b = {.r = rig_of(open_with(0, NULL, NULL))};
    b.kernel = new_inverse(&b.r, &answer);
    CHECK_UINT(0, answer.flags & TFR_ANSWER_CAPTURABLE);
    b.x = new_memory(&b.r, 0, 0, BYTES);
    b.y = new_memory(&b.r, 0, 0, BYTES);
    b.workspace = new_memory(&b.r, 0, 0, answer.workspace_bytes);
    b.pinned = new_memory(&b.r, 1, TFR_ALLOC_STAGING, 2 * BYTES);
    memcpy(b.pinned, good, BYTES);
    memcpy(b.pinned + N * N, singular, BYTES);
    return b;
}

static void end_bench(bench *b)
{
    kernels->drop(b->r.device, b->kernel);
    memory->free(b->r.device, 0, b->x);
    memory->free(b->r.device, 0, b->y);
    memory->free(b->r.device, 0, b->workspace);
    memory->free(b->r.device, 1, b->pinned);
    end_rig(&b->r);
    check_leaks("leaked: nothing");
}

static int32_t invert(bench *b, bool is_singular, uint64_t id)
{
    const tfr_arg args[2] = {{.address = b->x}, {.address = b->y}};
    const tfr_launch l = {
        .size = sizeof l, .n_args = 2, .args = args, .workspace = b->workspace, .id = id};
    const int32_t status =
        copy(&b->r, b->r.queue, 0, b->x, 1, b->pinned + (is_singular ? N * N : 0), BYTES);
    return status ? status : kernels->launch(b->r.device, b->r.queue, b->kernel, &l, &err);
}

static int32_t wait_for(const rig *r, uint64_t value)
{
    err = (tfr_err)TFR_ERR_INIT;
    return queues->host_wait(r->device, r->fence, value, TFR_WAIT_FOREVER, &err);
}

static void check_told(const rig *r, uint64_t value, uint64_t launch)
{
    CHECK_STATUS(TFR_EINVAL, wait_for(r, value), &err);
    CHECK_CONTAINS("matrix 0 is singular: pivot 1 of 3 is 0", err.text);
    CHECK_UINT(launch, err.launch);
}

static void check_values(const char *switches)
{
    BEGIN_HERE(switches);
    bench b = new_bench();
    REQUIRE_OK(invert(&b, false, 7), &err);
    CHECK_OK(signal(&b.r), &err);
    REQUIRE_OK(invert(&b, true, 8), &err); /* a launch does not wait */
    CHECK_OK(signal(&b.r), &err);
    CHECK_OK(signal(&b.r), &err);
    check_told(&b.r, 3, 8);
    check_told(&b.r, 2, 8);
    CHECK_OK(wait_for(&b.r, 1), &err);
    (void)invert(&b, true, 9); /* skipped, and the first failure stays */
    CHECK_OK(signal(&b.r), &err);
    check_told(&b.r, 4, 8);
    end_bench(&b);
}

TEST(values_signalled_behind_the_launch_carry_it_and_no_others)
{
    check_values("");
    check_values("lazy");
}

static void check_other_queue(const char *switches, bool is_singular)
{
    BEGIN_HERE(switches);
    bench b = new_bench();
    rig other = {.device = b.r.device};
    REQUIRE_OK(queues->create(b.r.device, NULL, &other.queue, &err), &err);
    REQUIRE_OK(queues->fence_create(b.r.device, NULL, &other.fence, &err), &err);
    CHECK_OK(signal(&other), &err);
    REQUIRE_OK(invert(&b, is_singular, 5), &err);
    CHECK_OK(signal(&b.r), &err);
    CHECK_OK(queues->wait(b.r.device, other.queue, b.r.fence, b.r.value, &err), &err);
    CHECK_OK(signal(&other), &err);
    if (is_singular)
        check_told(&other, 2, 5);
    else
        CHECK_OK(wait_for(&other, 2), &err);
    CHECK_OK(wait_for(&other, 1), &err);
    (void)wait_for(&b.r, 1);
    queues->destroy(other.device, other.queue);
    queues->fence_destroy(other.device, other.fence);
    end_bench(&b);
}

TEST(a_queue_that_waits_for_the_launch_takes_it_over)
{
    check_other_queue("", true);
    check_other_queue("lazy", true);
    check_other_queue("lazy", false);
}

TEST(other_queues_know_nothing_of_it)
{
    BEGIN_HERE("");
    bench b = new_bench();
    rig other = rig_of(b.r.device);
    REQUIRE_OK(invert(&b, true, 5), &err);
    CHECK_OK(signal(&b.r), &err);
    check_told(&b.r, 1, 5);
    CHECK_OK(signal(&other), &err);
    CHECK_OK(wait_for(&other, 1), &err);
    queues->destroy(other.device, other.queue);
    queues->fence_destroy(other.device, other.fence);
    end_bench(&b);
}

TEST(more_findings_than_there_are_notes_in_a_block)
{
    BEGIN_HERE("lazy");
    bench b = new_bench();
    for (uint64_t i = 1; i <= 100; i++) {
        REQUIRE_OK(invert(&b, false, i), &err);
        CHECK_OK(signal(&b.r), &err);
    }
    CHECK_OK(wait_for(&b.r, 100), &err);
    end_bench(&b);
}

TEST(a_device_that_is_lost_leaves_no_memory_of_the_host)
{
    BEGIN_HERE("sticky=700:2");
    bench b = new_bench();
    (void)invert(&b, true, 1);
    CHECK_STATUS(TFR_ELOST, finish(&b.r), &err);
    kernels->drop(b.r.device, b.kernel);
    end_rig(&b.r);
}

static const test_case cases[] = {
    CASE(values_signalled_behind_the_launch_carry_it_and_no_others),
    CASE(a_queue_that_waits_for_the_launch_takes_it_over),
    CASE(other_queues_know_nothing_of_it),
    CASE(more_findings_than_there_are_notes_in_a_block),
    CASE(a_device_that_is_lost_leaves_no_memory_of_the_host),
};
TEST_MAIN(cases)
