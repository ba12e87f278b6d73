/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and copies of the fake accelerator (tests/fake/accelerator_memory.c). */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "accelerator_kit.h"

TEST(what_is_copied_in_comes_out)
{
    rig r = new_rig();
    char in[1000];
    char out[1000];
    char *a = new_memory(&r, 1000);
    char *b = new_memory(&r, 2000);
    for (int i = 0; i < 1000; i++)
        in[i] = (char)(i * 7);
    CHECK_OK(copy_in(&r, a, in, 1000), &err);
    tfr_copy inside = {.dst = b + 500, .src = a, .bytes = 1000};
    CHECK_OK(memory->copy(r.device, r.queue, &inside, 1, sizeof inside, &err), &err);
    CHECK_OK(copy_out(&r, out, b + 500, 1000), &err);
    CHECK_OK(finish(&r), &err);
    CHECK_MEM(in, out, 1000);
    /* Without a queue it is done on return. */
    tfr_copy now = {.dst_space = TFR_SPACE_HOST, .dst = out, .src = b, .bytes = 4};
    CHECK_OK(memory->copy(r.device, NULL, &now, 1, sizeof now, &err), &err);
    CHECK_MEM("\xcd\xcd\xcd\xcd", out, 4);
    memory->free(r.device, 0, a);
    memory->free(r.device, 0, b);
    end_rig(&r);
}

TEST(a_peer_is_copied_from_at_once)
{
    tfr_device_info infos[2] = {{.size = sizeof infos[0]}, {.size = sizeof infos[0]}};
    const char in[4] = "abc";
    char out[4] = "xyz";
    uint32_t n = 2;
    tfr_plugin_device *peer = NULL;
    void *there = NULL;
    tfr_link way = {.size = sizeof way};
    load();
    set_options("devices", "2", NULL, NULL);
    REQUIRE_OK(plugin->enumerate(infos, sizeof infos[0], &n, &err), &err);
    REQUIRE_OK(plugin->open(&infos[1], NULL, &peer, &err), &err);
    set_options(NULL, NULL, NULL, NULL);
    rig r = new_rig();
    void *here = new_memory(&r, 4);
    REQUIRE_OK(memory->alloc(peer, 0, 4, NULL, &there, &err), &err);
    const tfr_copy fill = {.src_space = TFR_SPACE_HOST, .dst = there, .src = in, .bytes = 4};
    CHECK_OK(memory->copy(peer, NULL, &fill, 1, sizeof fill, &err), &err);
    tfr_copy over = {.dst = here, .src = there, .bytes = 4, .src_device = peer};
    CHECK_OK(memory->copy(r.device, r.queue, &over, 1, sizeof over, &err), &err);
    CHECK_OK(copy_out(&r, out, here, 4), &err);
    CHECK_OK(finish(&r), &err);
    CHECK_STR("abc", out);
    CHECK_OK(memory->link(r.device, 0, peer, 0, &way, &err), &err);
    CHECK_INT(TFR_LINK_DMA, way.kind);
    over.src_device = NULL;
    CHECK_STATUS(TFR_EPLUGIN, memory->copy(r.device, r.queue, &over, 1, sizeof over, &err), &err);
    CHECK_INT(1, take_logged_errors());
    memory->free(r.device, 0, here);
    memory->free(peer, 0, there);
    plugin->close(peer);
    end_rig(&r);
}

TEST(a_touch_by_the_host_is_a_fault)
{
    rig r = new_rig();
    volatile char *address = new_memory(&r, 100);
    for (int write = 0; write < 2; write++) {
        int status = 0;
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            signal(SIGSEGV, SIG_DFL);
            if (write)
                address[50] = 1;
            _exit(address[50] == 1);
        }
        REQUIRE_INT(child, waitpid(child, &status, 0));
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    }
    memory->free(r.device, 0, (void *)(uintptr_t)address);
    end_rig(&r);
}

TEST(memory_ends_at_its_limit_and_comes_back)
{
    set_options("memory_limit", "10000", NULL, NULL);
    rig r = new_rig();
    void *a = new_memory(&r, 6000);
    void *b = NULL, *none = NULL;
    CHECK_UINT(0, (uintptr_t)a % 256);
    CHECK_STATUS(TFR_ENOMEM, memory->alloc(r.device, 0, 4001, NULL, &b, &err), &err);
    CHECK_STR("no room for 4001 bytes on device 0, which has 4000 of 10000 left", err.text);
    CHECK(b == NULL);
    b = new_memory(&r, 4000);
    memory->free(r.device, 0, a);
    a = new_memory(&r, 5000);
    CHECK_STATUS(TFR_ENOMEM, memory->alloc(r.device, 0, 1001, NULL, &none, &err), &err);
    memory->free(r.device, 0, a);
    memory->free(r.device, 0, b);
    memory->free(r.device, 0, NULL);
    end_rig(&r);
}

static const test_case cases[] = {
    CASE(what_is_copied_in_comes_out),
    CASE(a_peer_is_copied_from_at_once),
    CASE(a_touch_by_the_host_is_a_fault),
    CASE(memory_ends_at_its_limit_and_comes_back),
};
TEST_MAIN(cases)
