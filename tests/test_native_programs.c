/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that the native backend compiles into programs, against the reference backend node by
 * node. tests/native_programs.sh runs them once more for each instruction set that this machine
 * has, by hiding features of the processor.
 */
#include "native_program_kit.h"
#include "temp_path.h"

/* ---- rows ------------------------------------------------------------------------------------ */

TEST(products_take_their_activations)
{
    check("in x ? 7 48; const w 48 65; const b 65; const v 65 33;"
          "h = Add(MatMul(x,w),b); g = Mul(Mul(h,Add(Erf(Div(h,1.4142135)),1)),0.5);"
          "out MatMul(g,v)");
    check(
        "in x ? 30; const w 30 17; const b 17; const v 17 5; out Tanh(Gemm(Relu(Gemm(x,w,b)),v))");
}

TEST(large_products_keep_what_is_fused_into_them)
{
    check("in x ? 40 300; const w 300 128; const b 128; const v 128 300; const c 300;"
          "h = Clip(Add(MatMul(x,w),b),-0.5,2); out Add(Add(MatMul(h,v),c),x)");
    check("in x ? 40 272; const w 272 144; const b 144; const v 144 272;"
          "y = Relu(x); h = Add(MatMul(y,w),b);"
          "g = Mul(Mul(h,Add(Erf(Div(h,1.4142135)),1)),0.5); out Add(MatMul(g,v),y)");
    check("in x 64 300; const w 300 130; const b 130;"
          "out Tanh(Gemm{alpha=0.5;beta=0.25}(x,w,b))");
}

TEST(products_of_few_rows_keep_what_is_fused_into_them)
{
    check("in x ? 515; const w 515 1037; const b 1037; const v 1037 515;"
          "h = Tanh(Gemm{alpha=0.5;beta=0.25}(x,w,b)); out Relu(Add(MatMul(h,v),x))");
    check("in x ? 512; const w 1024 512; const b 1024; const v 512 1024;"
          "out Clip(Gemm{transB=1;alpha=2}(Gemm{transB=1}(x,w,b),v),-1,2)");
    check("in x ? 2 261; const w 261 1027; out Relu(MatMul(x,w))");
}

/* Whichever tiles compute it, for however many rows. */
TEST(a_row_has_the_bits_that_it_has_alone)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text("in x ? 515; const w 515 1037; const b 1037;"
                                     "out Relu(Gemm{alpha=0.75}(x,w,b))");
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session *session = NULL;
    tfr_tensor *all = NULL;
    options.device = "native:0";
    if (tfr_session_create(runtime, graph, &options, &session, &err) == TFR_OK)
        all = run(session, graph, 9);
    for (int64_t rows = 1; all && rows < 9; rows++) {
        tfr_tensor *some = run(session, graph, rows);
        CHECK(memcmp(tfr_tensor_data(some), tfr_tensor_data(all), tfr_tensor_bytes(some)) == 0);
        tfr_tensor_release(some);
    }
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    if (!all)
        SKIP("there is no native backend");
    tfr_tensor_release(all);
}

TEST(nothing_joins_something)
{
    uint32_t n_launches;
    compare("in x ? 4; y = Relu(x); out Relu(Concat{axis=1}(Slice(y,[0],[0],[1]),y))", &n_launches);
}

TEST(windows_of_nothing_but_padding_agree)
{
    uint32_t n_launches;
    compare("in x ? 16 1 1; y = Relu(x); out AveragePool{kernel_shape=2,3;pads=1,2,1,0;strides=3,1;"
            "dilations=2,1}(y)",
            &n_launches);
    compare("in x ? 16 2 2; y = Relu(x); "
            "out Sigmoid(MaxPool{kernel_shape=2,2;pads=1,1,1,1;dilations=3,3}(y))",
            &n_launches);
    compare("in x ? 16 3 3; y = Relu(x); out AveragePool{kernel_shape=2,2;pads=3,3,3,3}(y)",
            &n_launches);
}

TEST(an_addend_with_beta_0_does_not_count)
{
    check("in x ? 30; const w 30 17; const b 17; out Relu(Gemm{alpha=0.5;beta=0}(x,w,b))");
    check("in x ? 30; const w 30 17; const b 1 17; out Relu(Gemm{beta=0}(x,w,b))");
    check("in x ? 30; const w 30 17; const b 17; const c 17;"
          "out Relu(Add(Gemm{beta=0}(x,w,b),c))");
    check("in x 64 300; const w 300 130; const b 130; out Relu(Gemm{beta=0}(x,w,b))");
}

TEST(large_products_of_computed_sides)
{
    check("in x ? 48 272; y = Transpose{perm=0,2,1}(Relu(x));"
          "z = MatMul(y,Sigmoid(x)); out MatMul(Relu(x),z)");
}

/* ---- elements that move ---------------------------------------------------------------------- */

TEST(rows_are_gathered_by_computed_indices)
{
    check("in x ? 7; const w 9 5; i = Cast{to=7}(Mul(x,8)); out Relu(Gather(w,i))");
    check("in x ? 7; const w 9 5 3; i = Cast{to=6}(Mul(x,8)); out Relu(Gather{axis=0}(w,i))");
    check("in x ? 7; const w 3 9; i = Cast{to=7}(Mul(x,8)); out Relu(Gather{axis=1}(w,i))");
}

TEST(rows_are_gathered_inside_of_samples)
{
    check("in x ? 6 5; const w 5 3; out Relu(MatMul(Gather{axis=1}(x,[0]),w))");
    check("in x ? 6 5; out Relu(Gather{axis=2}(Relu(x),[4,-5,0]))");
    check("in x 4 6; out Relu(Gather(Relu(x),[3,-4,0,0]))");
}

TEST(numbers_are_cast_on_the_way)
{
    check("in x ? 40; out Relu(Cast{to=1}(Cast{to=9}(Cast{to=6}(Mul(x,3)))))");
    check("in x ? 40; out Relu(Cast{to=1}(Cast{to=3}(Mul(x,300))))");
    check("in x ? 40; out Relu(Cast{to=1}(Cast{to=2}(Cast{to=7}(Mul(x,1000)))))");
}

/* The text of the failure is the reference's, whoever computes and however samples are shared out.
 */
TEST(a_row_that_is_not_there_is_told_as_elsewhere)
{
    static const char *const devices[] = {"naive:0", "native:0"};
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text("in x ? 3; const w 9 5; out Relu(Gather(w,Cast{to=7}(x)))");
    float numbers[8][3] = {{0}};
    tfr_tensor *in = NULL, *out = NULL;
    numbers[5][1] = -10;
    numbers[7][2] = 9;
    REQUIRE_OK(tfr_tensor_wrap(TFR_DTYPE_F32, &(tfr_shape){2, {8, 3}}, NULL, numbers, NULL, NULL,
                               &in, &err),
               &err);
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
        tfr_session *session = NULL;
        options.device = devices[i];
        if (tfr_session_create(runtime, graph, &options, &session, &err)) {
            printf("  there is no native backend\n");
            continue;
        }
        CHECK_STATUS(TFR_EINVAL, tfr_session_run(session, &in, 1, &out, 1, &err), &err);
        CHECK_CONTAINS("gather index -10 at position 16 is outside [-9, 9)", err.text);
        tfr_session_destroy(session);
    }
    tfr_tensor_release(in);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(softmax_and_normalization_of_rows)
{
    check("in x ? 9 40; const w 40 40; const s 40; const b 40; y = MatMul(x,w);"
          "out Softmax{axis=-1}(LayerNormalization{axis=-1}(Add(y,x),s,b))");
    check("in x ? 9 40; const w 40 40; const m 40; y = MatMul(x,w);"
          "out Softmax{axis=-1}(Add(y,Mul(m,-200)))");
}

/* ---- math modes ------------------------------------------------------------------------------ */

/*
 * tests/native_programs.sh runs this where the modes are emulated, and says so: then there are
 * some. Else they are there if the processor has them.
 */
static void check_mode(const char *text, const char *mode, double tolerance)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text(text);
    tfr_session *naive = new_session(runtime, graph, "naive:0"), *session = NULL;
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_session_stats stats = {.size = sizeof stats};
    options.device = "native:0";
    options.math_mode = mode;
    for (uint32_t off = 0; off < 2; off++) {
        tfr_tensor *expected, *obtained;
        options.no_programs = off;
        if (tfr_session_create(runtime, graph, &options, &session, &err) != TFR_OK) {
            tfr_session_destroy(naive);
            tfr_graph_release(graph);
            tfr_runtime_release(runtime);
            SKIP("there is no native backend");
        }
        expected = run(naive, graph, 3);
        obtained = run(session, graph, 3);
        CHECK(difference(expected, obtained) <= tolerance);
        CHECK_OK(tfr_session_get_stats(session, &stats, &err), &err);
        if (getenv("TFR_TEST_EMULATES")) {
            CHECK(stats.n_math_mode > 0);
            if (tolerance > 1e-4) /* it is the mode, and not strict */
                CHECK(difference(expected, obtained) >= 1e-5);
        } else if (!stats.n_math_mode) {
            printf("  no %s here\n", mode);
        }
        tfr_tensor_release(expected);
        tfr_tensor_release(obtained);
        tfr_session_destroy(session);
    }
    tfr_session_destroy(naive);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

static void check_modes(const char *text)
{
    check_mode(text, "f32x6", 1e-5);
    check_mode(text, "f32x3", 5e-5);
    check_mode(text, "bf16", 3e-2);
}

TEST(math_modes_compute_products_of_rows_and_constants)
{
    check_modes("in x ? 20 40; const w 40 48; const b 48; const v 48 40;"
                "h = LeakyRelu(Add(MatMul(x,w),b)); out Add(MatMul(h,v),x)");
    check_modes("in x 40 64; const w 64 70; const b 70; out Relu(Gemm{beta=0.5}(x,w,b))");
}

TEST(math_modes_compute_products_of_computed_sides)
{
    check_modes("in x ? 32 48; y = Transpose{perm=0,2,1}(Relu(x)); out MatMul(y,Sigmoid(x))");
}

/* ---- what is kept from process to process ---------------------------------------------------- */

/* Plans in a runtime of its own; *ns is what measuring found, 0 = it did not measure. */
static void plan_once(tfr_graph *graph, const char *store, uint64_t *ns)
{
    const tfr_option option = {"tuning", store};
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_session_options how = TFR_SESSION_OPTIONS_INIT;
    tfr_program_desc row = {.size = sizeof row};
    tfr_runtime *runtime = NULL;
    tfr_session *session = NULL;
    options.options = &option;
    options.n_options = 1;
    how.device = "native:0";
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    if (tfr_session_create(runtime, graph, &how, &session, &err) != TFR_OK) {
        tfr_runtime_release(runtime);
        SKIP("there is no native backend");
    }
    tfr_tensor_release(run(session, graph, 8));
    if (tfr_session_n_programs(session))
        CHECK_OK(tfr_session_program(session, 0, &row, &err), &err);
    tfr_session_destroy(session);
    tfr_runtime_release(runtime);
    *ns = row.time_ns;
}

TEST(what_was_measured_once_is_not_measured_again)
{
    tfr_graph *graph =
        graph_of_text("in x ? 8 12 12; const w 16 8 3 3; const v 8 16 3 3;"
                      "out Relu(Conv{pads=1,1,1,1}(Relu(Conv{pads=1,1,1,1}(x,w)),v))");
    uint64_t first = 0, second = 0;
    plan_once(graph, temp_path("store"), &first);
    plan_once(graph, temp_path("store"), &second);
    CHECK_UINT(0, second);
    if (!first)
        printf("  nothing to measure on this processor\n");
    tfr_graph_release(graph);
    temp_drop("store");
}

/* Which would pack the right side as the weights of a layer, with no blocks for the caches. */
TEST(products_of_two_computed_matrices_have_no_stages)
{
    static const char text[] = "in x 200 200; out Relu(MatMul(x,Sigmoid(x)))";
    tfr_program_desc row = {.size = sizeof row};
    tfr_graph *graph = graph_of_text(text);
    tfr_runtime *runtime = new_runtime();
    tfr_session *session = new_session(runtime, graph, "native:0");
    check(text);
    tfr_tensor_release(run(session, graph, 1));
    REQUIRE_INT(1, (int)tfr_session_n_programs(session));
    CHECK_OK(tfr_session_program(session, 0, &row, &err), &err);
    CHECK(!strstr(row.text, "stages"));
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
}

TEST(normalizations_and_joined_channels_stay_in_the_program)
{
    static const int channels[] = {32, 24, 7};
    char text[2000];
    for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++) {
        const int c = channels[i], n = c + 2 * 16;
        snprintf(text, sizeof text,
                 "in x ? %d 9 11; const w 16 %d 3 3; const s %d; const t %d; const m %d;"
                 "const d %d; const u 8 %d 1 1; y = Conv{pads=1,1,1,1}(x,w);"
                 "z = Concat{axis=1}(Relu(x),y,Sigmoid(y));"
                 "out Conv(Relu(BatchNormalization{epsilon=0.1}(z,s,t,m,d)),u)",
                 c, c, n, n, n, n, n);
        check(text);
    }
    check("in x ? 3 5; out Concat{axis=-1}(x,x,x,x,x,Relu(x),x,x,x,x,x,x,x,x,x,x,x,x,x,Neg(x))");
    check("in x ? 300 5 5; out Concat{axis=1}(x,Relu(x),x)");
}

/* More rows than go at once, of which some operands have one element, one row or one column. */
TEST(short_rows_of_operands_that_spread_are_right)
{
    check("in x 300 1 2; const y 1 49 2; const z 300 49 1; d = Cast{to=11}(x);"
          "e = Cast{to=1}(Max(d,Cast{to=11}(y))); out Where(Less(x,y),Add(Add(x,y),z),e)");
    check("in x 3 400 1; const y 1 1 7; out Mul(Sub(x,y),Add(y,x))");
    check("in x 200 8 4; const y 8 1; const z 200 1 4; a = Relu(Sub(x,y)); out Mul(Add(z,a),a)");
    check("in x 5 90 3 4; const y 5 1 3 1; const z 1 90 1 4; out Div(Sub(z,x),Add(x,y))");
    check("in x 7 40 31; const y 7 1 31; const z 40 1; out Mul(Relu(Add(y,x)),Sub(x,z))");
    check("in x ? 6 50 2; const y 6 1 2; out Sigmoid(Mul(Add(x,y),x))");
}

TEST(a_few_elements_of_each_input_are_joined)
{
    uint32_t n;

    check("in x 1300 1; y = Relu(x); z = Concat{axis=1}(x,y,x); out Concat{axis=1}(z,Neg(z),y)");
    compare("in x 1300 1; y = Cast{to=7}(Mul(x,100)); z = Concat{axis=1}(y,y);"
            "out Cast{to=1}(Concat{axis=1}(z,y))",
            &n);
}

TEST(einsum_is_a_product_in_the_program)
{
    static const char *const ends[] = {
        "out Einsum{equation=abcd,abde>abce}(x,y)",
        "out Einsum{equation=abcd,abed>abce}(x,z)",
        "out Einsum{equation=abcd,ebd>cae}(x,w)",
        "out Einsum{equation=abcd,def>abcef}(x,u)",
        "out Einsum{equation=abcd,deb>acbe}(x,v)",
        "out Einsum{equation=abcd,ae>ecbda}(x,Einsum{equation=abcd,abcd>ad}(x,x))",
        "out Einsum{equation=abcd>dacb}(x)",
        "out Einsum{equation=abcd>ac}(x)",
        "out Einsum{equation=abcd>db}(z)",
        "out Mul(Einsum{equation=abcd>}(x),Einsum{equation=abcd>a}(z))"};
    char text[2000];
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(text, sizeof text,
                 "in x ? 4 24 20; const w 9 4 20; const v 20 7 4; const u 20 3 7; z = Sigmoid(x);"
                 "y = Transpose{perm=0,1,3,2}(z); %s",
                 ends[i]);
        check(text);
    }
}

TEST(products_with_constants_of_more_axes_are_in_the_program)
{
    check("in x 3 20 64; const w 3 64 24; const v 3 24 7; out MatMul(Relu(MatMul(x,w)),v)");
    check("in x 20 64; const w 4 16 24; y = Transpose{perm=1,0,2}(Reshape(x,[20,4,16]));"
          "out Softmax(Add(MatMul(y,w),MatMul(Neg(y),Relu(w))))");
}

TEST(activations_join_convolutions_and_products)
{
    static const char *const acts[] = {"Elu{alpha=0.5}", "Celu{alpha=2.0}", "Selu", "Softplus",
                                       "Mish",           "Softsign"};
    char text[400];
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
        snprintf(text, sizeof text,
                 "in x ? 3 9 9; const w 5 3 3 3; const v 4 5 3 3; const m 100 7;"
                 "y = %s(Conv(%s(Conv(x,w)),v)); out %s(MatMul(Reshape(y,[0,-1]),m))",
                 acts[i], acts[i], acts[i]);
        check(text);
    }
}

TEST(numbers_around_an_activation_become_a_part_of_it)
{
    static const char *const acts[] = {
        "Relu", "HardSwish", "HardSigmoid", "Sigmoid", "LeakyRelu{alpha=0.1}", "Softplus"};
    char with[500], without[500];
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
        snprintf(with, sizeof with,
                 "in x ? 3 9 9; const w 5 3 3 3; const v 4 5 1 1; const d 5 1 3 3;"
                 "y = Add(Mul(2.0,%s(Add(Mul(Conv(x,w),0.5),-0.25))),-1.0);"
                 "z = Sub(Div(%s(Conv{group=5}(y,d)),4.0),0.5); out Mul(Conv(z,v),3.0)",
                 acts[i], acts[i]);
        snprintf(without, sizeof without,
                 "in x ? 3 9 9; const w 5 3 3 3; const v 4 5 1 1; const d 5 1 3 3;"
                 "y = %s(Conv(x,w)); z = %s(Conv{group=5}(y,d)); out Relu(Conv(z,v))",
                 acts[i], acts[i]);
        check(with);
        CHECK_UINT(kernels_of(without), kernels_of(with));
    }
}

/* As squeeze and excitation has it: what is multiplied stays as convolutions have it. */
TEST(numbers_by_channel_and_sample_spread_without_a_reorder)
{
    static const char *const ends[] = {"Mul(y,s)", "Mul(s,y)", "Sub(s,y)", "Add(y,s)"};
    char text[500];

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(text, sizeof text,
                 "in x ? 5 9 7; const w 20 5 3 3; const v 20 20 1 1; const u 6 20 1 1;"
                 "y = Relu(Conv(x,w)); s = Sigmoid(Conv(GlobalAveragePool(y),v)); out Conv(%s,u)",
                 ends[i]);
        check(text);
        CHECK_UINT(8, kernels_of(text));
    }
    check("in x ? 8 9 7; const w 20 8 3 3; const a 20 1 1; const u 6 20 1 1;"
          "out Conv(Mul(a,Add(Conv(x,w),a)),u)");
}

TEST(slopes_by_channel_stay_as_convolutions_have_it)
{
    const char *const text = "in x ? 5 9 7; const w 20 5 3 3; const s 20 1 1; const v 6 20 1 1;"
                             "out Conv(PRelu(Conv(x,w),s),v)";
    const char *const number = "in x ? 5 9 7; const w 20 5 3 3; const s 1; const v 6 20 1 1;"
                               "out Conv(PRelu(Conv(x,w),s),v)";

    check(text);
    check(number);
    CHECK_UINT(kernels_of("in x ? 5 9 7; const w 20 5 3 3; const s 20 1 1; const v 6 20 1 1;"
                          "out Conv(Mul(Relu(Conv(x,w)),s),v)"),
               kernels_of(text));
    CHECK_UINT(kernels_of("in x ? 5 9 7; const w 20 5 3 3; const v 6 20 1 1;"
                          "out Conv(Relu(Conv(x,w)),v)"),
               kernels_of(number));
    check("in x ? 5 9 7; const w 20 5 3 3; const v 6 20 1 1; y = Conv(x,w);"
          "out Conv(PRelu(y,Sigmoid(y)),v)");
}

/* Numbers that are no single float, or too large together, stay apart. */
TEST(numbers_that_cannot_be_composed_stay_right)
{
    check("in x ? 3 9 9; const w 5 3 3 3; out Mul(Mul(Relu(Conv(x,w)),1e30),1e-30)");
    check("in x ? 3 9 9; const w 5 3 3 3; out Mul(Mul(Conv(x,w),1e-30),1e30)");
    check("in x ? 3 9 9; const w 5 3 3 3; const c 5 1 1; out Mul(Relu(Add(Conv(x,w),c)),c)");
    check("in x ? 3 9 9; const w 5 3 3 3; y = Conv(x,w); out Add(Mul(Sigmoid(y),2.0),y)");
}

/* As masks are on their way to scores: of a byte each, along rows and as a whole. */
TEST(masks_are_spread_in_the_program)
{
    check("in x ? 8 12; const w 12 12; const v 12 1; const k 8 12; y = MatMul(x,w);"
          "b = Less(MatMul(x,v),ReduceMean{keepdims=1}(y,[2])); c = Expand(b,[1,8,12]);"
          "d = Expand(Greater(ReduceMean{keepdims=1}(y,[1]),ReduceMean{keepdims=1}(k,[0])),"
          "[1,8,12]); out MatMul(Where(And(c,d),y,x),w)");
}

TEST(comparisons_choices_and_logic_stay_in_the_program)
{
    check("in x ? 8 12; const w 12 12; const m 8 1; const n 1 8 12; y = MatMul(x,w);"
          "b = Or(And(Less(y,m),GreaterOrEqual(x,n)),Not(IsNaN(y)));"
          "s = Where(b,Max(x,y,m),Min(n,y)); c = Equal(Cast{to=7}(s),Cast{to=7}(y));"
          "out MatMul(Where(c,y,PRelu(s,m)),w)");
}

/* Of lengths that come in: below a thread's part of it, and above. */
TEST(a_range_that_is_compared_with_known_numbers_is_in_the_program)
{
    uint32_t n_launches;
    check("in x ? 48; n = Squeeze(Gather(Shape(x),[0]),[0]);"
          "r = Range(Squeeze([0],[0]),n,Squeeze([1],[0]));"
          "out Where(LessOrEqual(Reshape(r,[-1,1]),[2]),Relu(x),x)");
    check("in x ? 2500; n = Squeeze(Mul(Gather(Shape(x),[0]),[2500]),[0]);"
          "r = Range(Squeeze([5],[0]),Sub(Squeeze([5],[0]),Mul(n,Squeeze([3],[0]))),"
          "Squeeze([-3],[0]));"
          "out Where(Greater([-4000],Reshape(r,[-1,2500])),Relu(x),x)");
    compare("in x ? 48; n = Squeeze(Gather(Shape(x),[0]),[0]);"
            "r = Range(Squeeze([0],[0]),n,Squeeze([1],[0]));"
            "out Add(Cast{to=1}(Reshape(r,[-1,1])),x)",
            &n_launches);
}

TEST(reductions_and_selections_stay_in_the_program)
{
    check("in x ? 6 40; const w 40 40; y = MatMul(x,w); t,i = TopK{axis=1}(y,[4]);"
          "l = ReduceLogSumExp{keepdims=1}(t,[-1]); m = ReduceMax{keepdims=1}(y,[2,0]);"
          "a = Cast{to=1}(ArgMax{axis=1;keepdims=1}(y)); p = ReduceMin{keepdims=1}(m,[1]);"
          "out Add(Add(MatMul(Sub(t,l),w),a),Mul(p,Cast{to=1}(i)))");
    check("in x ? 6 40; const w 40 40; y = MatMul(x,w); out ReduceL2{keepdims=1}(y,[1])");
    check("in x ? 6 231; out LogSoftmax(Mul(x,40))");
    check("in x ? 6 31; out LogSoftmax(Mul(x,40))");
    check("in x ? 70 100; y = Relu(x); out "
          "Add(ReduceL2{keepdims=1}(y,[2]),ReduceMax{keepdims=1}(y,[2]))");
}

/* Two of which are more than the greatest float32. */
TEST(great_numbers_have_a_mean)
{
    static const char *const means[] = {
        "ReduceMean{keepdims=1}(y,[1])", "ReduceMean{keepdims=1}(y,[2])",
        "ReduceMean{keepdims=0}(y,[0,1])", "ReduceMean{keepdims=1}(y,[1,2])"};
    char text[200];
    for (size_t i = 0; i < sizeof means / sizeof means[0]; i++) {
        snprintf(text, sizeof text,
                 "in x ? 33 100; y = Mul(Add(Sigmoid(x),1.0),1.5e38); out Mul(%s,1e-38)", means[i]);
        check(text);
    }
}

TEST(normalizations_of_groups_channels_and_rows)
{
    check("in x ? 8 9 9; const w 8 8 3 3; const s 8; const b 8; y = Conv(x,w);"
          "z = Relu(InstanceNormalization(y,s,b));"
          "out GroupNormalization{num_groups=4}(Conv(z,w),s,b)");
    check("in x ? 6 40; const w 40 40; const s 40; out MatMul(RMSNormalization(MatMul(x,w),s),w)");
}

/* Of one product, for its batch is only more rows, whatever is packed of them. */
TEST(sums_of_two_are_fused_as_other_sums_are)
{
    check("in x ? 40; const w 40 40; out Relu(Sum(MatMul(x,w),x))");
    CHECK_UINT(
        kernels_of("in x ? 5 9 7; const w 5 5 3 3; out Relu(Add(Conv{pads=1,1,1,1}(x,w),x))"),
        kernels_of("in x ? 5 9 7; const w 5 5 3 3; out Relu(Sum(Conv{pads=1,1,1,1}(x,w),x))"));
}

TEST(plain_images_are_normalized_as_they_lie)
{
    const char *const images[] = {"in x ? 5 9 7;", "in x ? 5 9;", "in x ? 5 3 4 4;"};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        char text[160];
        snprintf(text, sizeof text,
                 "%s const s 5; const b 5; const m 5; const v 5;"
                 "out Tanh(BatchNormalization(Relu(BatchNormalization(x,s,b,m,v)),s,b,m,v))",
                 images[i]);
        check(text);
        CHECK_UINT(2, kernels_of(text));
    }
}

TEST(known_matrices_times_what_is_computed)
{
    const char *small = "in x ? 40; const a 2 33 40; out Relu(MatMul(a,Transpose{perm=1,0}(x)))";

    check(small);
    check("in x ? 40 300; const a 2 57 300;"
          "out Relu(MatMul(a,Transpose{perm=1,0}(Reshape(Relu(x),[-1,300]))))");
    check("in x ? 40 1100; const a 57 1100;"
          "out Transpose{perm=1,0}(MatMul(a,Transpose{perm=1,0}(Reshape(x,[-1,1100]))))");
}

static const test_case cases[] = {
    CASE(products_take_their_activations),
    CASE(large_products_keep_what_is_fused_into_them),
    CASE(products_of_few_rows_keep_what_is_fused_into_them),
    CASE(a_row_has_the_bits_that_it_has_alone),
    CASE(nothing_joins_something),
    CASE(windows_of_nothing_but_padding_agree),
    CASE(an_addend_with_beta_0_does_not_count),
    CASE(large_products_of_computed_sides),
    CASE(rows_are_gathered_by_computed_indices),
    CASE(rows_are_gathered_inside_of_samples),
    CASE(numbers_are_cast_on_the_way),
    CASE(a_row_that_is_not_there_is_told_as_elsewhere),
    CASE(softmax_and_normalization_of_rows),
    CASE(math_modes_compute_products_of_rows_and_constants),
    CASE(math_modes_compute_products_of_computed_sides),
    CASE(products_of_two_computed_matrices_have_no_stages),
    CASE(normalizations_and_joined_channels_stay_in_the_program),
    CASE(short_rows_of_operands_that_spread_are_right),
    CASE(a_few_elements_of_each_input_are_joined),
    CASE(einsum_is_a_product_in_the_program),
    CASE(products_with_constants_of_more_axes_are_in_the_program),
    CASE(activations_join_convolutions_and_products),
    CASE(numbers_around_an_activation_become_a_part_of_it),
    CASE(numbers_by_channel_and_sample_spread_without_a_reorder),
    CASE(slopes_by_channel_stay_as_convolutions_have_it),
    CASE(numbers_that_cannot_be_composed_stay_right),
    CASE(comparisons_choices_and_logic_stay_in_the_program),
    CASE(masks_are_spread_in_the_program),
    CASE(a_range_that_is_compared_with_known_numbers_is_in_the_program),
    CASE(reductions_and_selections_stay_in_the_program),
    CASE(great_numbers_have_a_mean),
    CASE(normalizations_of_groups_channels_and_rows),
    CASE(what_was_measured_once_is_not_measured_again),
    CASE(sums_of_two_are_fused_as_other_sums_are),
    CASE(plain_images_are_normalized_as_they_lie),
    CASE(known_matrices_times_what_is_computed),
};
TEST_MAIN(cases)
