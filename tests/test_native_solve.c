/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inverse, Solve and Det of matrices that are large enough for blocks, which the cases of tests/ops
 * cannot write down: against the reference, whose plain elimination is as exact as double allows.
 */
#include <math.h>

#include "session_kit.h"

enum { NATIVE, NAIVE };

static tfr_runtime *runtime;

/* The status of one node of native or of the reference; *out only if it is TFR_OK. */
static tfr_status run(int backend, const char *op, tfr_tensor *const *in, uint32_t n,
                      tfr_tensor **out)
{
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_value values[2], y = TFR_VALUE_NONE;
    tfr_graph *graph = new_graph(n, values);
    tfr_node_desc node = {.size = sizeof node,
                          .op = op,
                          .domain = strcmp(op, "Det") == 0 ? "" : "tfrun",
                          .inputs = values,
                          .n_inputs = n,
                          .n_outputs = 1};
    tfr_status status;
    REQUIRE_OK(tfr_graph_add_node(graph, &node, &y, &err), &err);
    output(graph, y);
    options.device = backend == NATIVE ? "native:0" : "naive:0";
    options.fallback = TFR_FALLBACK_ERROR;
    options.passes = "none";
    status = tfr_session_create(runtime, graph, &options, &session, &err);
    *out = NULL;
    if (status == TFR_OK)
        status = tfr_session_run(session, in, n, out, 1, &err);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    return status;
}

static void begin(void)
{
    tfr_tensor *one, *x = NULL;
    runtime = new_runtime();
    one = new_tensor(TFR_DTYPE_F64, 2, (const int64_t[]){1, 1}, (const double[]){2});
    tfr_status status = run(NATIVE, "Inverse", &one, 1, &x);
    tfr_tensor_release(one);
    tfr_tensor_release(x);
    if (status != TFR_OK) {
        tfr_runtime_release(runtime);
        SKIP("there is no native backend");
    }
}

static void end(void)
{
    tfr_runtime_release(runtime);
}

static double get(const tfr_tensor *t, int64_t i)
{
    return tfr_tensor_dtype(t) == TFR_DTYPE_F64 ? ((double *)tfr_tensor_data(t))[i]
                                                : (double)((float *)tfr_tensor_data(t))[i];
}

static void set(tfr_tensor *t, int64_t i, double x)
{
    if (tfr_tensor_dtype(t) == TFR_DTYPE_F64)
        ((double *)tfr_tensor_data(t))[i] = x;
    else
        ((float *)tfr_tensor_data(t))[i] = (float)x;
}

/* Numbers in [-1, 1). */
static tfr_tensor *random_matrices(tfr_dtype dtype, int64_t batch, int64_t rows, int64_t columns,
                                   uint64_t seed)
{
    tfr_tensor *t = new_tensor(dtype, 3, (const int64_t[]){batch, rows, columns}, NULL);
    for (int64_t i = 0; i < tfr_tensor_elements(t); i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        set(t, i, (double)(seed >> 33) * 0x1p-30 - 1);
    }
    return t;
}

/* The greatest number of A X - B over that of X; B NULL = the unit matrix. */
static double residual(const tfr_tensor *a, const tfr_tensor *x, const tfr_tensor *b, int64_t n,
                       int64_t k, int64_t at)
{
    double worst = 0, greatest = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < k; j++) {
            long double sum = b ? (long double)-get(b, (at * n + i) * k + j) : -(i == j);
            for (int64_t c = 0; c < n; c++)
                sum += (long double)get(a, (at * n + i) * n + c) * get(x, (at * n + c) * k + j);
            worst = fmax(worst, fabs((double)sum));
            greatest = fmax(greatest, fabs(get(x, (at * n + i) * k + j)));
        }
    return worst / greatest;
}

/* Of all numbers, within the limit, of the greatest one; those that are not finite are alike. */
static void check_alike(const tfr_tensor *expected, const tfr_tensor *x, double limit)
{
    double greatest = 0;
    for (int64_t i = 0; i < tfr_tensor_elements(expected); i++)
        greatest = fmax(greatest, isfinite(get(expected, i)) ? fabs(get(expected, i)) : 0);
    for (int64_t i = 0; i < tfr_tensor_elements(expected); i++) {
        const double want = get(expected, i), got = get(x, i);
        if (isfinite(want) ? !(fabs(want - got) <= limit * greatest) : isfinite(got)) {
            CHECK_NEAR(want, got, limit * greatest);
            return;
        }
    }
}

static void check_matrices(tfr_tensor *a, tfr_tensor *b, double limit)
{
    tfr_tensor *in[] = {a, b}, *expected, *x;
    const char *op = b ? "Solve" : "Inverse";
    REQUIRE_OK(run(NAIVE, op, in, b ? 2 : 1, &expected), &err);
    REQUIRE_OK(run(NATIVE, op, in, b ? 2 : 1, &x), &err);
    check_alike(expected, x, limit);
    tfr_tensor_release(expected);
    tfr_tensor_release(x);
}

TEST(inverses_are_those_of_the_reference)
{
    static const int64_t sizes[] = {20, 21, 22, 23, 24, 25, 32, 40, 61, 96, 128, 131, 300};
    begin();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tfr_tensor *wide = random_matrices(TFR_DTYPE_F64, 1, sizes[i], sizes[i], i);
        tfr_tensor *narrow = random_matrices(TFR_DTYPE_F32, 1, sizes[i], sizes[i], i);
        check_matrices(wide, NULL, 1e-10);
        check_matrices(narrow, NULL, 1e-7);
        tfr_tensor_release(wide);
        tfr_tensor_release(narrow);
    }
    end();
}

TEST(batches_of_right_sides_are_solved)
{
    static const int64_t columns[] = {1, 3, 8, 31, 33, 100};
    begin();
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        tfr_tensor *a = random_matrices(TFR_DTYPE_F64, 3, 50, 50, i);
        tfr_tensor *b = random_matrices(TFR_DTYPE_F64, 3, 50, columns[i], i + 9);
        tfr_tensor *one = random_matrices(TFR_DTYPE_F32, 1, 140, 140, i);
        tfr_tensor *many = random_matrices(TFR_DTYPE_F32, 2, 140, columns[i], i + 9);
        check_matrices(a, b, 1e-10);
        check_matrices(one, many, 1e-7);
        tfr_tensor_release(a);
        tfr_tensor_release(b);
        tfr_tensor_release(one);
        tfr_tensor_release(many);
    }
    end();
}

/* Rows and columns that are scaled by as much as 1e6: the error of X follows the condition, but
 * what is left of A X - B does not. */
TEST(what_is_left_is_small_for_badly_conditioned_matrices)
{
    const int64_t n = 90;
    begin();
    tfr_tensor *a = random_matrices(TFR_DTYPE_F64, 1, n, n, 5), *x;
    for (int64_t i = 0; i < n * n; i++)
        set(a, i,
            get(a, i) * pow(10, -6.0 * (double)(i % n) / (double)n) +
                (i / n == 0 ? 0 : 1e-9 * get(a, i % n)));
    REQUIRE_OK(run(NAIVE, "Inverse", &a, 1, &x), &err);
    const double naive = residual(a, x, NULL, n, n, 0);
    tfr_tensor_release(x);
    REQUIRE_OK(run(NATIVE, "Inverse", &a, 1, &x), &err);
    CHECK(residual(a, x, NULL, n, n, 0) < 10 * naive);
    tfr_tensor_release(x);
    tfr_tensor_release(a);
    end();
}

/* Without a change of rows each pivot is 0, or tiny and the result noise. */
TEST(rows_change_places)
{
    const int64_t n = 70;
    begin();
    for (int tiny = 0; tiny < 2; tiny++) {
        tfr_tensor *a = random_matrices(TFR_DTYPE_F64, 1, n, n, 8);
        for (int64_t i = 0; i < n * n; i++)
            if ((i / n + i) % n < n / 2)
                set(a, i, tiny ? 1e-14 * get(a, i) : 0);
        for (int64_t i = 0; i < n; i++)
            set(a, i * n + (n - 1 - i), 40);
        check_matrices(a, NULL, 1e-12);
        tfr_tensor_release(a);
    }
    end();
}

/* Row n - 1 is the sum of two others, in numbers without roundings. */
TEST(a_singular_matrix_is_the_error_of_the_reference)
{
    static const int64_t sizes[] = {4, 40, 150};
    begin();
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const int64_t n = sizes[k];
        tfr_tensor *a = new_tensor(TFR_DTYPE_F32, 3, (const int64_t[]){2, n, n}, NULL), *x;
        char text[512];
        for (int64_t i = 0; i < 2 * n * n; i++)
            set(a, i, i / n % n == i % n ? 4 : i / n % n > i % n ? 0 : (double)(i % 3));
        for (int64_t i = 0; i < n; i++)
            set(a, (2 * n - 1) * n + i, get(a, n * n + i) + get(a, (n + 1) * n + i));
        CHECK_STATUS(TFR_EINVAL, run(NAIVE, "Inverse", &a, 1, &x), &err);
        snprintf(text, sizeof text, "%s", strstr(err.text, "matrix "));
        CHECK(strncmp("matrix 1 is singular: pivot ", text, 28) == 0);
        CHECK_STATUS(TFR_EINVAL, run(NATIVE, "Inverse", &a, 1, &x), &err);
        CHECK_STR(text, strstr(err.text, "matrix "));
        REQUIRE_OK(run(NATIVE, "Det", &a, 1, &x), &err);
        CHECK(get(x, 0) != 0);
        CHECK_NEAR(0, get(x, 1), 0);
        tfr_tensor_release(x);
        tfr_tensor_release(a);
    }
    end();
}

TEST(nan_and_infinity_go_where_they_go_on_the_reference)
{
    begin();
    for (int i = 0; i < 3; i++) {
        tfr_tensor *a = random_matrices(TFR_DTYPE_F64, 1, 45, 45, 3);
        set(a, 45 * 20 + 7 * i, i < 2 ? (double)NAN : (double)INFINITY);
        check_matrices(a, NULL, 1e-10);
        tfr_tensor_release(a);
    }
    end();
}

TEST(determinants_are_those_of_the_reference)
{
    static const int64_t sizes[] = {19, 21, 60, 129, 200};
    begin();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tfr_tensor *a = random_matrices(TFR_DTYPE_F64, 2, sizes[i], sizes[i], i), *expected, *x;
        REQUIRE_OK(run(NAIVE, "Det", &a, 1, &expected), &err);
        REQUIRE_OK(run(NATIVE, "Det", &a, 1, &x), &err);
        for (int j = 0; j < 2; j++)
            CHECK_NEAR(get(expected, j), get(x, j), 1e-10 * fabs(get(expected, j)));
        tfr_tensor_release(expected);
        tfr_tensor_release(x);
        tfr_tensor_release(a);
    }
    end();
}

static const test_case cases[] = {
    CASE(inverses_are_those_of_the_reference),
    CASE(batches_of_right_sides_are_solved),
    CASE(what_is_left_is_small_for_badly_conditioned_matrices),
    CASE(rows_change_places),
    CASE(a_singular_matrix_is_the_error_of_the_reference),
    CASE(nan_and_infinity_go_where_they_go_on_the_reference),
    CASE(determinants_are_those_of_the_reference),
};
TEST_MAIN(cases)
