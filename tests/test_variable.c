/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables where they are used: in the memory of the fake accelerator, in the host's, between
 * plans and after failures. What a run should do is computed here, number by number.
 */
#include "training_kit.h"

/* One run, whose only output has to be this. */
static void run(tfr_session *session, float x, const float *expected)
{
    tfr_tensor *in = full(x, 0), *out = NULL;
    REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    for (int i = 0; i < N; i++)
        CHECK_NEAR((double)expected[i], (double)((float *)tfr_tensor_data(out))[i], 0);
    tfr_tensor_release(in);
    tfr_tensor_release(out);
}

static void check_state(tfr_session *session, const char *name, const float *expected)
{
    tfr_tensor *t = NULL;
    REQUIRE_OK(tfr_session_get_variable(session, name, &t, &err), &err);
    for (int i = 0; i < N; i++)
        CHECK_NEAR((double)expected[i], (double)((float *)tfr_tensor_data(t))[i], 0);
    tfr_tensor_release(t);
}

static void set_state(tfr_session *session, const char *name, float first, float step)
{
    tfr_tensor *t = full(first, step);
    CHECK_OK(tfr_session_set_variable(session, name, t, &err), &err);
    tfr_tensor_release(t);
}

/* w = w + x; y = w * w */
static tfr_graph *sum_graph(void)
{
    tfr_value x, w;
    tfr_graph *graph = new_graph(1, &x);
    w = variable(graph, "w", 0, 1);
    update(graph, w, binary(graph, "Add", w, x));
    output(graph, binary(graph, "Mul", w, w));
    return graph;
}

static void step_sum(float *w, float *y, float x)
{
    for (int i = 0; i < N; i++) {
        y[i] = w[i] * w[i];
        w[i] += x;
    }
}

TEST(a_variable_stays_where_it_is_used)
{
    for (size_t way = 0; way < N_WAYS; way++) {
        tfr_session *session = open_session(runtime_of(way, NULL, NULL), way, sum_graph());
        float w[N], y[N];
        for (int i = 0; i < N; i++)
            w[i] = (float)i;
        for (int k = 0; k < 10; k++) {
            step_sum(w, y, 1.5f);
            run(session, 1.5f, y);
        }
        CHECK_UINT(way ? 1 : 0, stats_of(session).variable_moves);
        CHECK_UINT(way ? 2 : 0, stats_of(session).n_copies); /* x and y */
        check_state(session, "w", w);
        step_sum(w, y, 2);
        run(session, 2, y); /* which the look has not brought away */
        check_state(session, "w", w);
        tfr_session_destroy(session);
        CHECK_STR("", breaches);
    }
}

TEST(a_state_that_is_set_is_what_the_next_run_reads)
{
    for (size_t way = 0; way < N_WAYS; way++) {
        tfr_session *session = open_session(runtime_of(way, NULL, NULL), way, sum_graph());
        float w[N], y[N];
        for (int k = 0; k < 3; k++) {
            set_state(session, "w", (float)k, 0.5f);
            for (int i = 0; i < N; i++)
                w[i] = (float)k + 0.5f * (float)i;
            check_state(session, "w", w);
            step_sum(w, y, 1);
            run(session, 1, y);
            step_sum(w, y, 1);
            run(session, 1, y);
            check_state(session, "w", w);
        }
        tfr_session_destroy(session);
        CHECK_STR("", breaches);
    }
}

/* a = b + x; b = a * x, of the old ones; y = a + b */
TEST(two_variables_are_updated_from_each_other_without_a_copy)
{
    for (size_t way = 0; way < N_WAYS; way++) {
        tfr_value x, a, b;
        tfr_graph *graph = new_graph(1, &x);
        tfr_session *session;
        float va[N], vb[N], y[N];
        a = variable(graph, "a", 1, 1);
        b = variable(graph, "b", 2, 0.25f);
        output(graph, binary(graph, "Add", a, b));
        update(graph, a, binary(graph, "Add", b, x));
        update(graph, b, binary(graph, "Mul", a, x));
        session = open_session(runtime_of(way, NULL, NULL), way, graph);
        for (int i = 0; i < N; i++) {
            va[i] = 1 + (float)i;
            vb[i] = 2 + 0.25f * (float)i;
        }
        for (int k = 0; k < 7; k++) {
            const float by = k % 2 ? 0.5f : 2;
            for (int i = 0; i < N; i++) {
                const float old = va[i];
                y[i] = va[i] + vb[i];
                va[i] = vb[i] + by;
                vb[i] = old * by;
            }
            run(session, by, y);
        }
        CHECK_UINT(way ? 2 : 0, stats_of(session).variable_moves);
        CHECK_UINT(way ? 2 : 0, stats_of(session).n_copies);
        check_state(session, "a", va);
        check_state(session, "b", vb);
        tfr_session_destroy(session);
        CHECK_STR("", breaches);
    }
}

/* a = b = a + x; y = a + b */
TEST(two_variables_may_become_the_same_value)
{
    for (size_t way = 0; way < N_WAYS; way++) {
        tfr_value x, a, b, next;
        tfr_graph *graph = new_graph(1, &x);
        tfr_session *session;
        float va[N], vb[N], y[N];
        a = variable(graph, "a", 1, 1);
        b = variable(graph, "b", 2, 0.25f);
        output(graph, binary(graph, "Add", a, b));
        next = binary(graph, "Add", a, x);
        update(graph, a, next);
        update(graph, b, next);
        session = open_session(runtime_of(way, NULL, NULL), way, graph);
        for (int i = 0; i < N; i++) {
            va[i] = 1 + (float)i;
            vb[i] = 2 + 0.25f * (float)i;
        }
        for (int k = 0; k < 4; k++) {
            for (int i = 0; i < N; i++) {
                y[i] = va[i] + vb[i];
                va[i] = vb[i] = va[i] + 0.5f;
            }
            run(session, 0.5f, y);
        }
        check_state(session, "a", va);
        check_state(session, "b", vb);
        tfr_session_destroy(session);
        CHECK_STR("", breaches);
    }
}

/* What reads the old state stands behind what makes the new one. */
TEST(a_late_reader_still_reads_the_old_state)
{
    for (size_t way = 0; way < N_WAYS; way++) {
        tfr_value x, w, next;
        tfr_graph *graph = new_graph(1, &x);
        tfr_session *session;
        float y[N];
        w = variable(graph, "w", 3, 1);
        next = binary(graph, "Mul", w, x);
        update(graph, w, next);
        output(graph, binary(graph, "Add", next, w));
        session = open_session(runtime_of(way, NULL, NULL), way, graph);
        for (int k = 0; k < 4; k++) {
            for (int i = 0; i < N; i++) {
                const float old = (3 + (float)i) * (float)(1 << k);
                y[i] = old * 2 + old;
            }
            run(session, 2, y);
        }
        tfr_session_destroy(session);
        CHECK_STR("", breaches);
    }
}

/* a becomes b and b becomes x, which no kernel makes; c is given out as well. */
TEST(updates_that_no_launch_makes_are_taken_over_too)
{
    for (size_t way = 0; way < N_WAYS; way++) {
        tfr_value x, a, b, c;
        tfr_graph *graph = new_graph(1, &x);
        tfr_session *session;
        float y[N], vb[N];
        a = variable(graph, "a", 0, 0);
        b = variable(graph, "b", 0, 1);
        c = variable(graph, "c", 0, 0);
        update(graph, a, b);
        update(graph, b, x);
        update(graph, c, binary(graph, "Add", binary(graph, "Add", a, b), c));
        output(graph, c);
        session = open_session(runtime_of(way, NULL, NULL), way, graph);
        memset(y, 0, sizeof y);
        for (int i = 0; i < N; i++)
            vb[i] = (float)i;
        run(session, 5, y);
        for (int i = 0; i < N; i++)
            y[i] = vb[i]; /* a was 0 */
        run(session, 6, y);
        for (int i = 0; i < N; i++)
            y[i] += vb[i] + 5;
        run(session, 7, y);
        for (int i = 0; i < N; i++)
            vb[i] = 7;
        check_state(session, "b", vb);
        for (int i = 0; i < N; i++)
            vb[i] = 6;
        check_state(session, "a", vb);
        tfr_session_destroy(session);
        CHECK_STR("", breaches);
    }
}

/* w = w + ReduceMean of nothing but x: plans for two shapes of x share the state. */
TEST(plans_of_several_shapes_share_the_state)
{
    static const int64_t shapes[2][2] = {{2, N}, {1, N}};
    for (size_t way = 0; way < N_WAYS; way++) {
        tfr_value x, w, scale;
        tfr_graph *graph = new_graph(1, &x);
        tfr_tensor *half = floats(0, NULL, (const float[]){0.5f});
        tfr_session *session;
        float expected[N];
        w = variable(graph, "w", 1, 1);
        REQUIRE_OK(tfr_graph_add_constant(graph, "half", half, &scale, &err), &err);
        tfr_tensor_release(half);
        output(graph, binary(graph, "Mul", x, w));
        update(graph, w, binary(graph, "Mul", w, scale));
        session = open_session(runtime_of(way, NULL, NULL), way, graph);
        for (int i = 0; i < N; i++)
            expected[i] = 1 + (float)i;
        for (int k = 0; k < 6; k++) {
            tfr_tensor *in = floats(2, shapes[k % 2], NULL), *out = NULL;
            for (int64_t i = 0; i < tfr_tensor_elements(in); i++)
                ((float *)tfr_tensor_data(in))[i] = 1;
            REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
            for (int64_t i = 0; i < tfr_tensor_elements(in); i++)
                CHECK_NEAR((double)expected[i % N], (double)((float *)tfr_tensor_data(out))[i], 0);
            for (int i = 0; i < N; i++)
                expected[i] *= 0.5f;
            tfr_tensor_release(in);
            tfr_tensor_release(out);
        }
        CHECK_UINT(way ? 1 : 0, stats_of(session).variable_moves);
        check_state(session, "w", expected);
        tfr_session_destroy(session);
        CHECK_STR("", breaches);
    }
}

/* A variable as the shape of a Reshape: each run reads it before it is planned. */
TEST(a_variable_may_decide_a_shape)
{
    static const int64_t first[2] = {2, 4}, second[2] = {4, 2}, two = 2;
    for (size_t way = 0; way < N_WAYS; way++) {
        tfr_value x, shape;
        tfr_graph *graph = new_graph(1, &x);
        tfr_tensor *t = new_tensor(TFR_DTYPE_I64, 1, &two, first), *in = full(0, 1), *out = NULL;
        tfr_session *session;
        REQUIRE_OK(tfr_graph_add_variable(graph, "shape", t, &shape, &err), &err);
        tfr_tensor_release(t);
        output(graph, binary(graph, "Reshape", unary(graph, "Relu", x), shape));
        session = open_session(runtime_of(way, NULL, NULL), way, graph);
        for (int k = 0; k < 4; k++) {
            const int64_t *want = k % 2 ? second : first;
            t = new_tensor(TFR_DTYPE_I64, 1, &two, want);
            CHECK_OK(tfr_session_set_variable(session, "shape", t, &err), &err);
            tfr_tensor_release(t);
            REQUIRE_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
            CHECK_INT(want[0], tfr_tensor_shape(out)->dims[0]);
            tfr_tensor_release(out);
        }
        tfr_tensor_release(in);
        tfr_session_destroy(session);
        CHECK_STR("", breaches);
    }
}

/* The launch of the update is the last that works: it has written over the state. */
TEST(a_run_that_fails_after_an_update_leaves_no_state)
{
    static const size_t way = 1;
    tfr_value x, w, v;
    tfr_graph *graph = new_graph(1, &x);
    tfr_tensor *in = full(1, 0), *out = NULL, *state = NULL;
    w = variable(graph, "w", 0, 1);
    v = variable(graph, "v", 5, 0);
    update(graph, w, binary(graph, "Add", w, x));
    output(graph, binary(graph, "Add", unary(graph, "Relu", x), v));
    tfr_session *session = open_session(runtime_of(way, "fakeacc.fail_after", "1"), way, graph);
    CHECK_STATUS(TFR_EDEVICE, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_STATUS(TFR_ELOST, tfr_session_get_variable(session, "w", &state, &err), &err);
    CHECK_CONTAINS("variable \"w\" has no state", err.text);
    CHECK_STATUS(TFR_ELOST, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    CHECK_OK(tfr_session_get_variable(session, "v", &state, &err), &err);
    tfr_tensor_release(state);
    set_state(session, "w", 0, 1);
    CHECK_OK(tfr_session_run(session, &in, 1, &out, 1, &err), &err);
    tfr_tensor_release(out);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
    CHECK_STR("", breaches);
}

TEST(a_run_that_fails_before_an_update_leaves_the_state)
{
    static const size_t way = 1;
    static const float zero[N] = {0, 1, 2, 3, 4, 5, 6, 7};
    tfr_session *session =
        open_session(runtime_of(way, "fakeacc.fail_after", "0"), way, sum_graph());
    tfr_tensor *in = full(1, 0), *out = NULL, *wrong = floats(0, NULL, zero);
    tfr_tensor *two[2] = {in, in};
    CHECK_STATUS(TFR_EINVAL, tfr_session_run(session, two, 2, &out, 1, &err), &err);
    check_state(session, "w", zero);
    tfr_tensor_release(wrong);
    tfr_tensor_release(in);
    tfr_session_destroy(session);
}

TEST(a_binding_of_variables_that_stay_reads_them_when_it_is_made)
{
    for (size_t way = 0; way < N_WAYS; way++) {
        tfr_value x, w;
        tfr_graph *graph = new_graph(1, &x);
        tfr_tensor *in = full(2, 0), *out = full(0, 0);
        tfr_binding *binding = NULL;
        float y[N];
        w = variable(graph, "w", 1, 1);
        output(graph, binary(graph, "Mul", x, w));
        tfr_session *session = open_session(runtime_of(way, NULL, NULL), way, graph);
        for (int i = 0; i < N; i++)
            y[i] = 2 + 2 * (float)i;
        run(session, 2, y); /* it has a home now */
        REQUIRE_OK(tfr_binding_create(session, &in, 1, &out, 1, &binding, &err), &err);
        for (int k = 0; k < 2; k++) {
            CHECK_OK(tfr_binding_run(binding, &err), &err);
            for (int i = 0; i < N; i++)
                CHECK_NEAR((double)y[i], (double)((float *)tfr_tensor_data(out))[i], 0);
            set_state(session, "w", 100, 0);
        }
        tfr_binding_destroy(binding);
        tfr_tensor_release(in);
        tfr_tensor_release(out);
        tfr_session_destroy(session);
        CHECK_STR("", breaches);
    }
}

TEST(a_training_goes_on_bit_by_bit_where_it_was_saved)
{
    float losses[N_WAYS][10][N];
    for (size_t way = 0; way < N_WAYS; way++) {
        tfr_session *first = open_session(runtime_of(way, NULL, NULL), way, training_graph());
        tfr_session *second = open_session(runtime_of(way, NULL, NULL), way, training_graph());
        for (int k = 0; k < 10; k++) {
            tfr_tensor *in = full(0.5f, 0.125f), *out = NULL;
            REQUIRE_OK(tfr_session_run(first, &in, 1, &out, 1, &err), &err);
            memcpy(losses[way][k], tfr_tensor_data(out), sizeof losses[way][k]);
            tfr_tensor_release(out);
            if (k > 4) {
                REQUIRE_OK(tfr_session_run(second, &in, 1, &out, 1, &err), &err);
                CHECK(memcmp(losses[way][k], tfr_tensor_data(out), sizeof losses[way][k]) == 0);
                tfr_tensor_release(out);
            } else if (k == 4) {
                uint64_t seed, step;
                copy_state(first, second, "a");
                copy_state(first, second, "b");
                tfr_session_get_random(first, &seed, &step);
                tfr_session_set_random(second, seed, step);
            }
            tfr_tensor_release(in);
        }
        CHECK_UINT(way ? 3 : 0, stats_of(second).n_copies); /* x, what it draws from, the loss */
        CHECK_UINT(way ? 2 : 0, stats_of(second).variable_moves);
        CHECK_UINT(ways[way].programs[0] == '1', stats_of(second).n_programs);
        CHECK(memcmp(losses[way], losses[0], sizeof losses[0]) == 0);
        tfr_session_destroy(first);
        tfr_session_destroy(second);
        CHECK_STR("", breaches);
    }
}

static uint32_t n_states;

/* Memory for a state of N numbers, in the layout of the accelerator's programs. */
static void count_states(const char *text)
{
    n_states += strstr(text, "288 bytes for constants") != NULL;
}

static void count_plain_states(const char *text)
{
    char part[64];
    snprintf(part, sizeof part, "%d bytes for constants", (int)(N * sizeof(float)));
    n_states += strncmp(text, part, strlen(part)) == 0;
}

/* y = w * w in one program, then w = w + x in another one, or the other way round. */
TEST(a_program_writes_over_a_state_that_others_have_read)
{
    const tfr_option given[] = {{"fakeacc.programs", "2"}, {"log", "debug"}};
    for (int late = 0; late < 2; late++) {
        tfr_value x, w;
        tfr_graph *graph = new_graph(1, &x);
        float vw[N], vy[N];
        w = variable(graph, "w", 0, 1);
        if (late)
            update(graph, w, binary(graph, "Add", w, x));
        output(graph, binary(graph, "Mul", w, w));
        if (!late)
            update(graph, w, binary(graph, "Add", w, x));
        n_states = 0;
        log_reader = count_plain_states;
        tfr_session *session = open_session(accelerator_runtime(given, 2), 3, graph);
        for (int i = 0; i < N; i++)
            vw[i] = (float)i;
        for (int k = 0; k < 5; k++) {
            step_sum(vw, vy, 0.5f);
            run(session, 0.5f, vy);
        }
        log_reader = NULL;
        CHECK_UINT(2, stats_of(session).n_programs);
        CHECK_UINT(late ? 2 : 1, n_states);
        check_state(session, "w", vw);
        tfr_session_destroy(session);
        CHECK_STR("", breaches);
    }
}

/* y = w * w, then w = w + x or, if it may not work in place, w = (w + x) and then y. */
TEST(a_program_keeps_a_state_in_its_own_layout_and_writes_over_it)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        for (size_t way = 3; way < N_WAYS; way++) {
            tfr_value x, w, y;
            tfr_graph *graph = new_graph(1, &x);
            tfr_session *session;
            float vw[N], vy[N];
            w = variable(graph, "w", 0, 1);
            if (in_place) {
                y = binary(graph, "Mul", w, w);
                update(graph, w, binary(graph, "Add", w, x));
            } else {
                update(graph, w, binary(graph, "Add", w, x));
                y = binary(graph, "Mul", w, w);
            }
            output(graph, y);
            n_states = 0;
            log_reader = count_states;
            session = open_session(runtime_of(way, "log", "debug"), way, graph);
            for (int i = 0; i < N; i++)
                vw[i] = (float)i;
            for (int k = 0; k < 5; k++) {
                step_sum(vw, vy, 0.5f);
                run(session, 0.5f, vy);
            }
            log_reader = NULL;
            CHECK_UINT(in_place ? 1 : 2, n_states);
            CHECK_UINT(1, stats_of(session).variable_moves);
            CHECK_UINT(0, stats_of(session).n_reorders);
            check_state(session, "w", vw);
            tfr_session_destroy(session);
            CHECK_STR("", breaches);
        }
    }
}

static const test_case cases[] = {
    CASE(a_variable_stays_where_it_is_used),
    CASE(a_state_that_is_set_is_what_the_next_run_reads),
    CASE(two_variables_are_updated_from_each_other_without_a_copy),
    CASE(two_variables_may_become_the_same_value),
    CASE(a_late_reader_still_reads_the_old_state),
    CASE(updates_that_no_launch_makes_are_taken_over_too),
    CASE(plans_of_several_shapes_share_the_state),
    CASE(a_variable_may_decide_a_shape),
    CASE(a_run_that_fails_after_an_update_leaves_no_state),
    CASE(a_run_that_fails_before_an_update_leaves_the_state),
    CASE(a_binding_of_variables_that_stay_reads_them_when_it_is_made),
    CASE(a_training_goes_on_bit_by_bit_where_it_was_saved),
    CASE(a_program_keeps_a_state_in_its_own_layout_and_writes_over_it),
    CASE(a_program_writes_over_a_state_that_others_have_read),
};
TEST_MAIN(cases)
