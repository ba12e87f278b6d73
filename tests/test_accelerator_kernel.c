/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the fake accelerator, and what it declines (tests/fake/accelerator_kernel.c). */
#include "accelerator_kit.h"

TEST(add_broadcasts_and_mul_works_in_place)
{
    rig r = new_rig();
    const tfr_operand o[3] = {operand(2, DIMS(2, 3)), operand(1, DIMS(3)), operand(2, DIMS(2, 3))};
    const tfr_call add = call_of("Add", o, 2);
    const tfr_call mul = call_of("Mul", o, 2);
    tfr_kernel *plus = new_kernel(&r, &add);
    tfr_kernel *times = new_kernel(&r, &mul);
    void *a = new_floats(&r, 6, (const float[]){1, 2, 3, 4, 5, 6});
    void *b = new_floats(&r, 3, (const float[]){10, 20, 30});
    void *y = new_memory(&r, 24);
    const tfr_answer answer = ask(&r, &mul);
    CHECK_INT(1, answer.n_in_place);
    CHECK_INT(0, answer.in_place[0].input);
    CHECK_OK(launch(&r, plus, 3, a, b, y, NULL), &err);
    CHECK_OK(launch(&r, times, 3, y, b, y, NULL), &err);
    check_floats(&r, 6, (const float[]){110, 440, 990, 140, 500, 1080}, y);
    kernels->drop(r.device, plus);
    kernels->drop(r.device, times);
    kernels->drop(r.device, NULL);
    memory->free(r.device, 0, a);
    memory->free(r.device, 0, b);
    memory->free(r.device, 0, y);
    end_rig(&r);
}

TEST(matmul_takes_a_workspace)
{
    rig r = new_rig();
    const tfr_operand o[3] = {operand(2, DIMS(2, 3)), operand(2, DIMS(3, 2)),
                              operand(2, DIMS(2, 2))};
    const tfr_call call = call_of("MatMul", o, 2);
    tfr_kernel *kernel = new_kernel(&r, &call);
    void *a = new_floats(&r, 6, (const float[]){1, 2, 3, 4, 5, 6});
    void *b = new_floats(&r, 6, (const float[]){1, 0, 0, 1, 2, -1});
    void *y = new_memory(&r, 16);
    void *w = new_memory(&r, 12);
    CHECK_UINT(12, ask(&r, &call).workspace_bytes);
    CHECK_OK(launch(&r, kernel, 3, a, b, y, w), &err);
    check_floats(&r, 4, (const float[]){7, -1, 16, -1}, y);
    CHECK_STATUS(TFR_EPLUGIN, launch(&r, kernel, 3, a, b, y, NULL), &err);
    CHECK_CONTAINS("workspace", err.text);
    CHECK_INT(1, take_logged_errors());
    kernels->drop(r.device, kernel);
    memory->free(r.device, 0, a);
    memory->free(r.device, 0, b);
    memory->free(r.device, 0, y);
    memory->free(r.device, 0, w);
    end_rig(&r);
}

TEST(relu_keeps_nan_and_drops_negative_numbers)
{
    rig r = new_rig();
    tfr_kernel *relu = new_relu(&r, 4);
    void *x = new_floats(&r, 4, (const float[]){-1, 2, NAN, -INFINITY});
    CHECK_OK(launch(&r, relu, 2, x, x, NULL, NULL), &err);
    check_floats(&r, 4, (const float[]){0, 2, NAN, 0}, x);
    kernels->drop(r.device, relu);
    memory->free(r.device, 0, x);
    end_rig(&r);
}

TEST(it_declines_with_reasons_and_numbers)
{
    rig r = new_rig();
    tfr_operand o[3] = {operand(1, DIMS(65537)), operand(1, DIMS(65537)), operand(1, DIMS(65537))};
    tfr_call call = call_of("Add", o, 2);
    tfr_answer answer = ask(&r, &call);
    CHECK_INT(TFR_VERDICT_NO, answer.verdict);
    CHECK_INT(TFR_REASON_SIZE_LIMIT, answer.reason);
    CHECK_STR("65537 elements of operand 0 are more than 65536", answer.text);
    call.name = "Softmax";
    CHECK_INT(TFR_REASON_UNKNOWN_OP, ask(&r, &call).reason);
    o[0] = o[1] = o[2] = operand(5, DIMS(1, 1, 1, 1, 1));
    call.name = "Mul";
    CHECK_INT(TFR_REASON_RANK, ask(&r, &call).reason);
    o[0] = o[1] = o[2] = operand(1, DIMS(4));
    o[0].dtype = o[1].dtype = o[2].dtype = TFR_DTYPE_F64;
    CHECK_INT(TFR_REASON_DTYPE, ask(&r, &call).reason);
    o[0] = operand(2, DIMS(1, 2000));
    o[1] = operand(2, DIMS(2000, 1));
    o[2] = operand(2, DIMS(1, 1));
    call.name = "MatMul";
    answer = ask(&r, &call);
    CHECK_INT(TFR_REASON_SIZE_LIMIT, answer.reason);
    CHECK_STR("k 2000 is more than 1024", answer.text);
    /* Strided is a yes after a reorder. */
    o[0] = o[1] = o[2] = operand(2, DIMS(2, 3));
    o[0].strides = DIMS(1, 2);
    call.name = "Add";
    answer = ask(&r, &call);
    CHECK_INT(TFR_VERDICT_REORDER, answer.verdict);
    CHECK_INT(TFR_REASON_LAYOUT, answer.reason);
    end_rig(&r);
}

/* Who has a space for dims gets them there, and not in the device's memory, and not elsewhere. */
TEST(dims_have_to_lie_where_a_kernel_can_write_them)
{
    set_options("transfer", "1", "pinned", "1");
    rig r = new_rig();
    tfr_operand o[3] = {operand(1, DIMS(3)), operand(1, DIMS(3)), operand(1, DIMS(3))};
    tfr_call call = call_of("Compress", o, 2);
    int64_t elsewhere = 0, *dims = NULL;
    o[1].dtype = TFR_DTYPE_BOOL;
    o[2].flags = TFR_OPERAND_DYNAMIC;
    call.since_version = 28;
    tfr_kernel *kernel = new_kernel(&r, &call);
    char *x = new_memory(&r, 64);
    const tfr_alloc_options use = {.size = sizeof use, .flags = TFR_ALLOC_DIMS};
    CHECK_STATUS(TFR_EPLUGIN, memory->alloc(r.device, 1, 8, &use, (void **)&dims, &err), &err);
    CHECK_CONTAINS("alloc of 8 bytes for dims in space 1", err.text);
    REQUIRE_OK(memory->alloc(r.device, 2, 8, &use, (void **)&dims, &err), &err);
    int64_t *const places[] = {NULL, &elsewhere, (int64_t *)(void *)x, dims};
    for (int i = 0; i < 4; i++) {
        const tfr_arg args[3] = {
            {.address = x}, {.address = x + 16}, {.address = x + 32, .dims = places[i]}};
        const tfr_launch l = {.size = sizeof l, .n_args = 3, .args = args};
        CHECK_STATUS(i < 3 ? TFR_EPLUGIN : TFR_OK,
                     kernels->launch(r.device, r.queue, kernel, &l, &err), &err);
    }
    CHECK_INT(4, take_logged_errors());
    CHECK_OK(finish(&r), &err);
    CHECK_INT(3, *dims); /* for 0xcd is true */
    kernels->drop(r.device, kernel);
    memory->free(r.device, 2, dims);
    memory->free(r.device, 0, x);
    end_rig(&r);
}

TEST(it_claims_six_ops)
{
    tfr_op_claim claims[8] = {{.size = sizeof claims[0]}};
    uint32_t n = 1;
    rig r = new_rig();
    CHECK_OK(
        kernels->ops(&(tfr_device_info){.identity = "fake:0"}, claims, sizeof claims[0], &n, &err),
        &err);
    CHECK_INT(6, n);
    CHECK_STR("Add", claims[0].name);
    CHECK_INT(14, claims[0].since_version);
    end_rig(&r);
}

static const test_case cases[] = {
    CASE(add_broadcasts_and_mul_works_in_place),
    CASE(matmul_takes_a_workspace),
    CASE(relu_keeps_nan_and_drops_negative_numbers),
    CASE(it_declines_with_reasons_and_numbers),
    CASE(dims_have_to_lie_where_a_kernel_can_write_them),
    CASE(it_claims_six_ops),
};
TEST_MAIN(cases)
