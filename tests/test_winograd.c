/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Winograd's convolution of compiled programs against the sum over the window, with all that is
 * fused with it, and which layers go by it. How far its sums are off is in test_winograd_errors.c.
 */
#include "winograd_kit.h"

/* What a code names is the maximum: NaN where there is one, and what its output has otherwise. */
static void check_codes(const problem *p, double tolerance)
{
    const layer *l = p->l;
    const int64_t width = l->columns / 2, area = l->rows / 2 * width;

    for (int64_t k = 0; k < p->count[CODES]; k++) {
        const uint8_t *codes = (const uint8_t *)p->memory[CODES];
        const int code = codes[place_of(p, CODES, k)];
        double size, most = -INFINITY, named = NAN;
        REQUIRE(code < 4);
        for (int i = 0; i < 4; i++) {
            double sum = output_at(p, k / area / l->outs, k / area % l->outs,
                                   k % area / width * 2 + i / 2, k % width * 2 + i % 2, &size);
            most = sum > most || isnan(sum) ? sum : most;
            named = i == code ? sum : named;
        }
        if (isnan(most) ? !isnan(named) : !(most == named || most - named <= tolerance * p->size)) {
            CHECK_NEAR(most, named, tolerance * p->size);
            return;
        }
    }
    CHECK(true);
}

static void check_plan(const layer *l, void (*plan)(native_planner *, const native_item *))
{
    EACH_ISA(isa)
    {
        problem p;
        seed = 1;
        begin_problem(&p, l, isa, 2);
        run(&p, plan, 1);
        reference(&p);
        check(&p, 1e-6);
        if (l->codes)
            check_codes(&p, 1e-6);
        free_all();
    }
}

static void check_way(const layer *l)
{
    EACH_FORM(plan)
    {
        if (makes(plan, l))
            check_plan(l, plan);
    }
}

static void check_layer(const layer *l)
{
    layer one = *l;
    for (one.way = KNOWN; one.way < WAYS; one.way++)
        check_way(&one);
}

TEST(odd_sizes_and_paddings_give_the_sum_over_the_window)
{
    static const layer layers[] = {
        {1, 16, 16, 4, 4, 4, 4, 1, 1, false, false, false, {0}, KNOWN, false},
        {1, 16, 16, 6, 6, 4, 4, 0, 0, true, false, false, {0}, KNOWN, false},
        {2, 32, 48, 7, 9, 7, 9, 1, 1, true, false, false, {0}, KNOWN, false},
        {1, 17, 33, 13, 5, 13, 5, 1, 1, true, false, false, {0}, KNOWN, false},
        {1, 40, 21, 11, 10, 12, 9, 2, 0, true, false, false, {0}, KNOWN, false},
        {1, 16, 80, 5, 1, 7, 3, 2, 2, true, false, false, {0}, KNOWN, false},
        {3, 24, 16, 10, 12, 8, 10, 0, 0, false, false, false, {0}, KNOWN, false},
    };
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        check_layer(&layers[i]);
}

TEST(a_gradient_of_one_tile_is_the_transposed_form)
{
    static const layer layers[] = {
        {5, 32, 48, 3, 3, 5, 5, 2, 2, false, false, false, {0}, TURNED, false},
        {1, 17, 33, 2, 3, 4, 5, 2, 2, true, false, false, {0}, TURNED, false},
        {2, 16, 80, 1, 1, 3, 3, 2, 2, false, false, false, {0}, TURNED, false},
    };
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        layer frozen = layers[i];
        frozen.way = FROZEN;
        check_plan(&layers[i], plan_3_back);
        check_plan(&frozen, plan_3_back);
    }
}

TEST(residuals_and_activations_are_fused)
{
    layer l = {2, 32, 48, 9, 7, 9, 7, 1, 1, true, true, false, {0}, KNOWN, false};
    check_layer(&l);
    l.act = relu;
    check_layer(&l);
    l.act = leaky;
    check_layer(&l);
    l.residual = false;
    check_layer(&l);
}

TEST(pooled_windows_give_their_maximum)
{
    layer l = {2, 32, 24, 10, 14, 10, 14, 1, 1, true, false, true, {0}, KNOWN, false};
    check_layer(&l);
    l.rows = 6;
    l.act = relu;
    check_layer(&l);
}

TEST(codes_name_the_maximum_of_their_window)
{
    layer l = {2, 32, 24, 10, 14, 10, 14, 1, 1, true, false, true, {0}, COMPUTED, true};
    check_way(&l);
    l.rows = 6;
    l.act = relu;
    check_way(&l);
    l.way = KNOWN;
    l.bias = false;
    check_way(&l);
}

TEST(neither_cuts_nor_bands_change_a_bit)
{
    const layer l = {3, 32, 80, 30, 29, 30, 29, 1, 1, true, true, false, relu, KNOWN, false};
    EACH_FORM(plan) EACH_ISA(isa)
    {
        problem p, q;
        seed = 1;
        begin_problem(&p, &l, isa, 1);
        seed = 1;
        begin_problem(&q, &l, isa, 1);
        run(&p, plan, 1);
        for (int64_t parts = 2; parts < 12; parts += 3) {
            q.device.threads = (int)parts;
            run(&q, plan, parts);
            for (int64_t k = 0; k < p.count[Y]; k++) {
                int64_t at = place_of(&p, Y, k);
                if (memcmp(&p.memory[Y][at], &q.memory[Y][at], sizeof(float)) != 0) {
                    CHECK_NEAR(p.memory[Y][at], q.memory[Y][at], 0.0);
                    break;
                }
            }
        }
        free_all();
    }
}

TEST(a_residual_may_be_where_the_result_goes)
{
    const layer l = {1, 32, 32, 9, 9, 9, 9, 1, 1, true, true, false, relu, KNOWN, false};
    EACH_FORM(plan) EACH_ISA(isa)
    {
        problem p;
        seed = 1;
        begin_problem(&p, &l, isa, 1);
        p.plain[X][7] = INFINITY;
        p.memory[Y] = p.memory[RESIDUAL];
        run(&p, plan, 3);
        reference(&p);
        check(&p, 1e-6);
        free_all();
    }
}

TEST(nan_and_infinity_reach_their_windows_only)
{
    static const layer layers[] = {
        {2, 17, 33, 11, 9, 11, 9, 1, 1, true, true, false, {0}, KNOWN, false},
        {1, 16, 40, 12, 9, 10, 8, 0, 1, true, false, true, {0}, KNOWN, false},
        {1,
         16,
         40,
         12,
         9,
         12,
         9,
         1,
         1,
         true,
         true,
         false,
         {.kind = NATIVE_ACT_LEAKY, .a = 0.25f},
         KNOWN,
         false},
        {1, 16, 40, 12, 9, 10, 8, 0, 1, true, false, true, {0}, COMPUTED, true},
        {2, 17, 33, 11, 9, 11, 9, 1, 1, true, true, false, {0}, TURNED, false},
    };
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        EACH_FORM(plan) EACH_ISA(isa)
        {
            problem p;
            if (!makes(plan, &layers[i]))
                continue;
            seed = 1;
            begin_problem(&p, &layers[i], isa, 2);
            p.plain[X][0] = INFINITY;
            p.plain[X][57] = -INFINITY;
            p.plain[X][p.count[X] - 3] = NAN;
            p.plain[X][p.count[X] / 2] = 3e38f; /* finite, but not its transform */
            run(&p, plan, 2);
            reference(&p);
            check(&p, 1e-6);
            if (layers[i].codes)
                check_codes(&p, 1e-6);
            free_all();
        }
    }
}

TEST(nan_and_infinity_of_a_gradient_of_one_tile_reach_their_windows_only)
{
    const layer l = {7, 17, 33, 3, 3, 5, 5, 2, 2, false, false, false, {0}, TURNED, false};
    EACH_ISA(isa)
    {
        problem p;
        seed = 1;
        begin_problem(&p, &l, isa, 2);
        p.plain[X][0] = INFINITY;
        p.plain[X][p.count[X] - 3] = NAN;
        p.plain[X][p.count[X] / 2] = 3e38f;
        run(&p, plan_3_back, 2);
        reference(&p);
        check(&p, 1e-6);
        free_all();
    }
}

/* ---- which layers ---- */

TEST(small_outputs_have_tiles_of_3_x_3)
{
    layer l = {1, 64, 64, 5, 5, 3, 3, 0, 0, true, false, false, relu, COMPUTED, false};
    EACH_ISA(isa)
    {
        problem p;
        begin_problem(&p, &l, isa, 1);
        CHECK_INT(NATIVE_WINOGRAD_3, native_winograd_form(&p.planner, &p.item));
        p.item.codes = CODES;
        CHECK(native_winograd_form(&p.planner, &p.item) != NATIVE_WINOGRAD_3);
        free_all();
    }
}

TEST(gradients_of_small_outputs_are_the_transposed_form)
{
    const layer l = {1, 64, 64, 3, 3, 5, 5, 2, 2, false, false, false, {0}, TURNED, false};
    EACH_ISA(isa)
    {
        problem p;
        begin_problem(&p, &l, isa, 1);
        CHECK_INT(NATIVE_WINOGRAD_3_BACK, native_winograd_form(&p.planner, &p.item));
        p.item.pad[0] = 1; /* not all that the gradient reaches are outputs */
        CHECK(native_winograd_form(&p.planner, &p.item) != NATIVE_WINOGRAD_3_BACK);
        p.item.pad[0] = 0;
        p.values[X].dims[2] = 4;
        p.values[Y].dims[2] = 6;
        CHECK(native_winograd_form(&p.planner, &p.item) != NATIVE_WINOGRAD_3_BACK);
        free_all();
    }
}

TEST(only_windows_of_3_x_3_and_stride_1_are_taken)
{
    const layer l = {1, 64, 64, 28, 28, 28, 28, 1, 1, false, false, false, {0}, KNOWN, false};
    EACH_FORM(plan) EACH_ISA(isa)
    {
        problem p;
        begin_problem(&p, &l, isa, 1);
        CHECK_INT(1, native_winograd_form(&p.planner, &p.item));
        p.item.stride[0] = 2;
        CHECK_INT(-1, native_winograd_form(&p.planner, &p.item));
        p.item.stride[0] = 1;
        p.item.dilation[1] = 2;
        CHECK_INT(-1, native_winograd_form(&p.planner, &p.item));
        p.item.dilation[1] = 1;
        p.item.kernel[1] = 1;
        CHECK_INT(-1, native_winograd_form(&p.planner, &p.item));
        p.item.kernel[1] = 3;
        p.values[Y].dims[2] = p.values[Y].dims[3] = 14; /* weights from far away decide */
        CHECK_INT(0, native_winograd_form(&p.planner, &p.item));
        p.values[Y].dims[2] = 1; /* three of four rows of a tile for nothing */
        CHECK_INT(-1, native_winograd_form(&p.planner, &p.item));
        free_all();
    }
}

static const test_case cases[] = {
    CASE(odd_sizes_and_paddings_give_the_sum_over_the_window),
    CASE(a_gradient_of_one_tile_is_the_transposed_form),
    CASE(residuals_and_activations_are_fused),
    CASE(pooled_windows_give_their_maximum),
    CASE(codes_name_the_maximum_of_their_window),
    CASE(neither_cuts_nor_bands_change_a_bit),
    CASE(a_residual_may_be_where_the_result_goes),
    CASE(nan_and_infinity_reach_their_windows_only),
    CASE(nan_and_infinity_of_a_gradient_of_one_tile_reach_their_windows_only),
    CASE(small_outputs_have_tiles_of_3_x_3),
    CASE(gradients_of_small_outputs_are_the_transposed_form),
    CASE(only_windows_of_3_x_3_and_stride_1_are_taken),
};
TEST_MAIN_OF_ONE_THREAD(cases)
