/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far sums of Winograd's convolution of compiled programs are from those over the window, and
 * where they must be exact: blank pixels, and the codes of blank windows.
 */
#include "winograd_kit.h"

static double error_of(const problem *p)
{
    double sum = 0.0;
    for (int64_t k = 0; k < p->count[Y]; k++) {
        double e = p->memory[Y][place_of(p, Y, k)] - p->sums[k];
        sum += e * e;
    }
    return sqrt(sum / (double)p->count[Y]);
}

TEST(errors_are_below_four_times_those_of_the_plain_sum)
{
    static const int64_t channels[] = {16, 64, 256};
    for (int i = 0; i < 3; i++) {
        const layer l = {1, channels[i], 32,    16,    16,  16,    16,   1,
                         1, false,       false, false, {0}, KNOWN, false};
        EACH_FORM(plan) EACH_ISA(isa)
        {
            problem p;
            double direct, winograd;
            seed = 1;
            begin_problem(&p, &l, isa, 1);
            reference(&p);
            run(&p, native_plan_conv, 1);
            direct = error_of(&p);
            run(&p, plan, 1);
            winograd = error_of(&p);
            CHECK(winograd < 4.0 * direct);
            free_all();
        }
    }
}

/* All pixels are 0 but a few, and of the outputs those that read one of them. */
static void check_zeros(const layer *l, const native_isa *isa,
                        void (*plan)(native_planner *, const native_item *))
{
    problem p;
    int64_t n = 0;

    seed = 1;
    begin_problem(&p, l, isa, 2);
    memset(p.plain[X], 0, (size_t)p.count[X] * sizeof(float));
    p.plain[X][3 * l->width + 4] = 0.37f;
    p.plain[X][p.count[X] - 5 * l->width - 4] = -0.71f;
    memset(p.plain[BIAS], 0, (size_t)p.count[BIAS] * sizeof(float));
    run(&p, plan, 2);
    reference(&p);
    check(&p, 1e-6);
    for (int64_t k = 0; k < p.count[Y]; k++) {
        const int64_t at = place_of(&p, Y, k);
        if (p.sums[k] != 0.0)
            continue;
        n++;
        CHECK(p.memory[Y][at] == 0.0f);
    }
    CHECK(n > 0);
    free_all();
}

/* The gradient behind a ReLU goes by the sign of a sum, which is that of a rounding error there. */
TEST(sums_of_blank_pixels_are_exactly_0_before_an_activation_of_a_step)
{
    layer l = {2, 32, 40, 10, 14, 10, 14, 1, 1, true, false, false, relu, COMPUTED, false};
    EACH_FORM(plan) EACH_ISA(isa)
    {
        l.bias = true;
        check_zeros(&l, isa, plan);
        l.bias = false;
        check_zeros(&l, isa, plan);
    }
}

TEST(gradients_of_one_tile_have_errors_below_four_times_those_of_the_plain_sum)
{
    const layer l = {64, 64, 64, 3, 3, 5, 5, 2, 2, false, false, false, {0}, TURNED, false};
    EACH_ISA(isa)
    {
        problem p;
        double direct;
        seed = 1;
        begin_problem(&p, &l, isa, 1);
        reference(&p);
        run(&p, native_plan_conv, 1);
        direct = error_of(&p);
        run(&p, plan_3_back, 1);
        CHECK(error_of(&p) < 4.0 * direct);
        free_all();
    }
}

/* Of equal maxima the first has the code, so that of four blank windows the code is 0. */
TEST(blank_windows_have_the_code_of_the_first_in_a_step)
{
    const layer l = {1, 32, 24, 10, 14, 10, 14, 1, 1, true, false, true, {0}, COMPUTED, true};
    EACH_FORM(plan) EACH_ISA(isa)
    {
        problem p;
        int64_t wrong = 0, n = 0;

        if (!makes(plan, &l))
            continue;
        seed = 1;
        begin_problem(&p, &l, isa, 1);
        memset(p.plain[X], 0, (size_t)p.count[X] * sizeof(float));
        memset(p.plain[BIAS], 0, (size_t)p.count[BIAS] * sizeof(float));
        for (int64_t c = 0; c < l.ins; c++)
            p.plain[X][c * l.height * l.width + 4 * l.width + 5] = next();
        run(&p, plan, 1);
        for (int64_t k = 0; k < p.count[CODES]; k++) {
            const int64_t y = k / 7 % 5 * 2, x = k % 7 * 2; /* pixel 4, 5 is read by 3-5, 4-6 */
            if (y <= 5 && y + 1 >= 3 && x <= 6 && x + 1 >= 4)
                continue;
            n++;
            wrong += ((const uint8_t *)p.memory[CODES])[place_of(&p, CODES, k)] != 0;
        }
        CHECK(n > 0);
        CHECK_INT(0, wrong);
        free_all();
    }
}

static const test_case cases[] = {
    CASE(errors_are_below_four_times_those_of_the_plain_sum),
    CASE(gradients_of_one_tile_have_errors_below_four_times_those_of_the_plain_sum),
    CASE(sums_of_blank_pixels_are_exactly_0_before_an_activation_of_a_step),
    CASE(blank_windows_have_the_code_of_the_first_in_a_step),
};
TEST_MAIN_OF_ONE_THREAD(cases)
