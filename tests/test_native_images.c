/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images with the channels last, pads, and factors of channels around convolutions, branches that
 * are summed and channels that are cut in programs of the native backend; native_programs.sh.
 */
#include "native_program_kit.h"

/* Steps of the one program of the graph. */
static void count_kernels(const char *text, uint32_t *n)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text(text);
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_program_desc program = {.size = sizeof program};
    tfr_session *session = NULL;

    options.device = "native:0";
    if (tfr_session_create(runtime, graph, &options, &session, &err) != TFR_OK) {
        tfr_graph_release(graph);
        tfr_runtime_release(runtime);
        SKIP("there is no native backend");
    }
    tfr_tensor_release(run(session, graph, 1));
    REQUIRE(tfr_session_n_programs(session) == 1);
    CHECK_OK(tfr_session_program(session, 0, &program, &err), &err);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    *n = program.n_kernels;
}

/* Right, and in as many steps as what means the same with the channels first. */
static void check_steps(const char *text, const char *plain)
{
    uint32_t n = 0, n_plain = 0;

    check(text);
    count_kernels(text, &n);
    count_kernels(plain, &n_plain);
    CHECK(n == n_plain);
}

/* Right, and in so many steps. */
static void check_count(const char *text, uint32_t steps)
{
    uint32_t n = 0;

    check(text);
    count_kernels(text, &n);
    CHECK(n == steps);
}

#define LAST  "Transpose{perm=0,2,3,1}"
#define FIRST "Transpose{perm=0,3,1,2}"
#define CONVS "in x 2 16 9 8; const w 24 16 3 3; const v 16 24 1 1;"

TEST(a_hard_swish_of_an_image_with_the_channels_last_is_not_transposed)
{
    check_steps(CONVS "y = " LAST "(Conv(x,w)); z = Mul(y,Mul(Clip(Add(y,3),0,6),0.16666667));"
                      "out Conv(" FIRST "(z),v)",
                CONVS "y = Conv(x,w); z = Mul(y,Mul(Clip(Add(y,3),0,6),0.16666667));"
                      "out Conv(z,v)");
}

TEST(numbers_of_channels_follow_an_image_that_is_turned)
{
    check_steps(CONVS "const s 24; const t 1 1 1 24; y = " LAST "(Conv(x,w));"
                      "out Conv(" FIRST "(Sigmoid(Add(Mul(Relu(y),s),t))),v)",
                CONVS "const s 24 1 1; const t 1 24 1 1; y = Conv(x,w);"
                      "out Conv(Sigmoid(Add(Mul(Relu(y),s),t)),v)");
}

TEST(sums_and_concatenations_of_images_with_the_channels_last_are_not_transposed)
{
    check_steps("in x 1 16 7 6; const w 16 16 3 3; const v 8 32 1 1;"
                "a = " LAST "(Conv{pads=1,1,1,1}(x,w)); b = " LAST "(Relu(x));"
                "c = Concat{axis=3}(Add(a,b),b); out Conv(" FIRST "(c),v)",
                "in x 1 16 7 6; const w 16 16 3 3; const v 8 32 1 1;"
                "a = Conv{pads=1,1,1,1}(x,w); b = Relu(x);"
                "c = Concat{axis=1}(Add(a,b),b); out Conv(c,v)");
}

TEST(means_over_the_pixels_of_an_image_with_the_channels_last_are_not_transposed)
{
    check(CONVS "const a 8 24 1 1; const b 24 8 1 1; y = " LAST "(Relu(Conv(x,w)));"
                "m = " FIRST "(ReduceMean{keepdims=1}(y,[1,2]));"
                "s = " LAST "(Sigmoid(Conv(Relu(Conv(m,a)),b)));"
                "out Conv(" FIRST "(Mul(y,s)),v)");
    check("in x ? 16 5 4; y = Relu(x); out ReduceMean{keepdims=0}(y,[2,3])");
    check(CONVS "out Softmax(ReduceMean{keepdims=0}(Relu(Conv(x,w)),[2,3]))");
}

TEST(sequences_with_the_channels_last_are_turned_as_well)
{
    check("in x ? 12 19; const w 16 12 3; const v 8 16 3; const s 16;"
          "y = Transpose{perm=0,2,1}(Conv(x,w));"
          "out Conv{pads=1,1}(Transpose{perm=0,2,1}(Gelu(Mul(y,s))),v)");
}

TEST(an_image_that_is_read_with_the_channels_last_stays_right)
{
    check(CONVS "const m 24 5; y = " LAST "(Relu(Conv(x,w))); z = Sigmoid(y);"
                "out Add(MatMul(y,m),MatMul(Mul(z,y),m))");
    check(CONVS "const t 7 6 24; out Add(" LAST "(Relu(Conv(x,w))),t)");
    check("in x 2 4 3 5; out Relu(" LAST "(x))");
}

TEST(zeros_around_an_image_are_the_padding_of_its_convolution)
{
    check_steps("in x ? 16 9 8; const w 16 1 3 3; const b 16; y = Pad(Relu(x),[0,0,0,1,0,0,1,0]);"
                "out Conv{group=16;strides=2,2;pads=1,0,0,1}(y,w,b)",
                "in x ? 16 9 8; const w 16 1 3 3; const b 16; y = Relu(x);"
                "out Conv{group=16;strides=2,2;pads=1,1,1,1}(y,w,b)");
    check_steps("in x ? 3 19 17; const w 20 3 7 7; y = Pad(x,[0,0,3,3,0,0,3,3],0);"
                "out Relu(Conv{strides=2,2}(y,w))",
                "in x ? 3 19 17; const w 20 3 7 7;"
                "out Relu(Conv{strides=2,2;pads=3,3,3,3}(x,w))");
    check_steps("in x ? 12 20; const w 12 12 3; out Conv{dilations=4}(Pad(x,[0,0,8,0,0,0]),w)",
                "in x ? 12 20; const w 12 12 3; out Conv{dilations=4;pads=8,0}(x,w)");
    check_steps("in x ? 9 8 5; const w 16 5 3 3; y = Pad(x,[0,1,1,0,0,1,1,0]);"
                "out Conv(" FIRST "(y),w)",
                "in x ? 9 8 5; const w 16 5 3 3; out Conv{pads=1,1,1,1}(" FIRST "(x),w)");
}

TEST(a_picture_with_the_channels_last_is_turned_where_it_is_padded)
{
    check_steps("in x ? 19 17 3; const w 20 3 3 3;"
                "out Relu(Conv{strides=2,2;pads=1,0,1,1}(" FIRST "(x),w))",
                "in x ? 3 19 17; const w 20 3 3 3;"
                "out Relu(Conv{strides=2,2;pads=1,0,1,1}(x,w))");
    check_steps("in x ? 9 8 2; const w 16 2 5 5; y = Pad(x,[0,2,2,0,0,2,3,0]);"
                "out Conv(" FIRST "(y),w)",
                "in x ? 2 9 8; const w 16 2 5 5; out Conv{pads=2,2,2,3}(x,w)");
    check_steps("in x ? 7 30 1; const w 8 1 7 7; out Conv{pads=3,3,3,3}(" FIRST "(x),w)",
                "in x ? 1 7 30; const w 8 1 7 7; out Conv{pads=3,3,3,3}(x,w)");
    check("in x ? 19 17 3; const w 20 3 3 3; const v 20 3 1 1; y = " FIRST "(x);"
          "out Add(Conv{pads=1,1,1,1}(y,w),Conv(y,v))");
    check("in x ? 19 17 4; const w 20 4 3 3; out Conv{pads=1,1,1,1}(" FIRST "(Relu(x)),w)");
    check("in x ? 19 17 3; const w 20 3 3 3; out Conv(" FIRST "(x),w)");
}

TEST(pads_that_are_no_padding_stay)
{
    check("in x ? 8 9 8; const w 16 8 3 3; out Conv(Pad(Relu(x),[0,0,1,1,0,0,1,1],2.5),w)");
    check("in x ? 8 9 8; const w 16 8 3 3;"
          "out Conv(Pad{mode=reflect}(Relu(x),[0,0,1,1,0,0,1,1]),w)");
    check("in x ? 8 9 8; const w 16 10 3 3; out Conv(Pad(Relu(x),[0,1,0,0,0,1,0,0]),w)");
    check("in x ? 8 9 8; const w 16 8 3 3; out Conv(Pad(Relu(x),[0,0,-1,1,0,0,1,1]),w)");
    check("in x ? 8 9 8; const w 16 8 3 3; out Conv(Pad(Relu(x),[0,0,4,0,0,0,0,5]),w)");
    check("in x ? 8 9 8; const w 16 8 3 3; y = Pad(Relu(x),[0,0,1,1,0,0,1,1]);"
          "out Add(Conv{pads=1,1,1,1}(y,w),MaxPool{kernel_shape=1,1}(Concat{axis=1}(y,y)))");
}

TEST(factors_and_terms_of_channels_are_in_the_weights_before_them)
{
    check_steps("in x ? 16 9 8; const w 16 1 3 3; const s 1 16 1 1; const t 16 1 1;"
                "out Relu(Add(Mul(Conv{group=16}(x,w),s),t))",
                "in x ? 16 9 8; const w 16 1 3 3; const b 16; out Relu(Conv{group=16}(x,w,b))");
    check_steps("in x ? 16 9 8; const w 20 16 3 3; const b 20; const s 20 1 1;"
                "out HardSwish(Mul(Conv(x,w,b),s))",
                "in x ? 16 9 8; const w 20 16 3 3; const b 20; out HardSwish(Conv(x,w,b))");
    check_steps("in x ? 12 20; const w 16 12 3; const s 16 1; out Relu(Mul(Conv(x,w),s))",
                "in x ? 12 20; const w 16 12 3; out Relu(Conv(x,w))");
    check("in x ? 16 9 8; const w 20 16 3 3; const s 1 1 1 6; out Mul(Conv(x,w),s)");
    check("in x ? 16 9 8; const w 20 16 3 3; const s 20 1 1; y = Conv(x,w); out Add(Mul(y,s),y)");
}

#define NORMS   "const s 24; const t 24; const m 24; const d 24;"
#define NORM(x) "BatchNormalization(" x ",s,t,m,d)"

TEST(numbers_behind_a_convolution_are_in_its_weights)
{
    check_steps("in x ? 16 9 8; const w 20 16 3 3; const v 20 16 1 1;"
                "out Relu(Add(Add(Conv(x,w),0.5),Mul(2,Conv(Slice(x,[1,1],[8,7],[2,3]),v))))",
                "in x ? 16 9 8; const w 20 16 3 3; const v 20 16 1 1;"
                "out Relu(Add(Conv(x,w),Conv(Slice(x,[1,1],[8,7],[2,3]),v)))");
}

TEST(factors_behind_channels_of_several_convolutions_are_in_the_weights_of_each)
{
    check_steps(
        "in x ? 16 9 8; const w 10 16 3 3; const v 14 16 3 3; const b 14; const u 16 24 1 1;" NORMS
        "out Conv(Relu(" NORM("Concat{axis=1}(Conv(x,w),Conv(x,v,b))") "),u)",
        "in x ? 16 9 8; const w 10 16 3 3; const v 14 16 3 3; const b 14; const a 10;"
        "const u 16 24 1 1; out Conv(Concat{axis=1}(Relu(Conv(x,w,a)),Relu(Conv(x,v,b))),u)");
    check_steps("in x ? 16 9 8; const w 16 16 3 3; const v 8 16 3 3; const s 1 24 1 1;"
                "const t 24 1 1; out HardSwish(Add(Mul(Concat{axis=-3}(Conv(x,w),Conv(x,v)),s),t))",
                "in x ? 16 9 8; const w 16 16 3 3; const v 8 16 3 3; const a 16; const b 8;"
                "out Concat{axis=1}(HardSwish(Conv(x,w,a)),HardSwish(Conv(x,v,b)))");
    check("in x ? 24 9 8; const w 12 24 3 3; y = Conv(x,w);" NORMS
          "out Relu(" NORM("Concat{axis=1}(y,y)") ")");
    check("in x ? 12 9 8; const w 12 12 1 1;" NORMS
          "out Relu(" NORM("Concat{axis=1}(Conv(x,w),x)") ")");
    check("in x ? 16 9 8; const w 24 16 3 3; const v 24 16 3 3;" NORMS
          "out Relu(" NORM("Concat{axis=2}(Conv(x,w),Conv(x,v))") ")");
}

TEST(convolutions_of_one_image_that_are_summed_are_one)
{
    const char *one = "in x ? 24 9 8; const w 24 24 3 3; const b 24;"
                      "out Relu(Conv{pads=1,1,1,1}(x,w,b))";

    check_steps("in x ? 24 9 8; const w 24 24 3 3; const b 24; const v 24 24 1 1;" NORMS
                "out Relu(Add(" NORM("x") ",Add(Conv(x,v),Conv{pads=1,1,1,1}(x,w,b))))",
                one);
    check_steps("in x ? 24 9 8; const w 24 24 3 3; const b 24; const v 24 24 1 3; const a 24;"
                "out Relu(Add(Conv{pads=1,1,1,1}(x,w,b),Conv{pads=0,1,0,1}(x,v,a)))",
                one);
    check_steps("in x ? 24 9 8; const w 24 24 5 5; const v 24 24 3 3;"
                "out Add(Conv{strides=2,2;pads=2,2,2,2}(x,w),"
                "Conv{strides=2,2;dilations=2,2;pads=2,2,2,2}(x,v))",
                "in x ? 24 9 8; const w 24 24 5 5; out Conv{strides=2,2;pads=2,2,2,2}(x,w)");
    check_steps(
        "in x ? 24 9 8; const w 24 6 3 3; const v 24 6 1 1;" NORMS
        "out Relu(Add(Add(Conv{group=4}(x,v)," NORM("x") "),"
                                                         "Conv{group=4;pads=1,1,1,1}(x,w)))",
        "in x ? 24 9 8; const w 24 6 3 3; const b 24;"
        "out Relu(Conv{group=4;pads=1,1,1,1}(x,w,b))");
}

TEST(an_image_is_a_tap_of_the_depthwise_convolution_that_it_is_added_to)
{
    check_steps("in x ? 24 9 8; const w 24 1 3 3; const v 24 1 1 1; const b 24;" NORMS
                "out " NORM("Add(Add(Conv{group=24;pads=1,1,1,1}(x,w),Conv{group=24}(x,v,b)),x)"),
                "in x ? 24 9 8; const w 24 1 3 3; const b 24;"
                "out Conv{group=24;pads=1,1,1,1}(x,w,b)");
}

TEST(sums_that_are_no_window_of_one_image_stay)
{
    check("in x ? 24 9 8; const w 24 24 3 3; const v 24 24 1 1; y = Conv{pads=1,1,1,1}(x,w);"
          "out Add(y,Conv(y,v))");
    check("in x ? 24 9 8; const w 24 24 2 2; const v 24 24 2 2;"
          "out Add(Conv{pads=1,1,0,0}(x,w),Conv{pads=0,0,1,1}(x,v))");
    check("in x ? 24 9 8; const w 24 24 3 3; const v 24 24 2 2;"
          "out Add(Conv{dilations=2,2;pads=2,2,2,2}(x,w),Conv{pads=0,0,1,1}(x,v))");
    check("in x ? 24 9 9; const w 24 24 9 9; const v 24 24 3 3;"
          "out Add(Conv{strides=2,2;pads=4,4,4,4}(x,w),Conv{strides=2,2;pads=1,1,1,1}(x,v))");
    check("in x ? 24 9 8; const w 24 24 3 3; const v 24 24 3 3; y = Conv{pads=1,1,1,1}(x,w);"
          "out Add(Add(y,Conv{pads=1,1,1,1}(x,v)),y)");
    check("in x ? 24 9 8; const w 24 24 1 1; const v 24 24 1 1; const u 24 1 1;"
          "out Add(Relu(Conv(x,w)),Add(Conv(x,v),u))");
    check("in x ? 24 9 8; const w 24 1 2 2; out Add(Conv{group=24;pads=0,0,1,1}(x,w),x)");
    check("in x ? 24 9 8; const w 24 1 3 3;"
          "out Add(Conv{group=24;dilations=2,2;pads=1,1,3,3}(x,w),x)");
}

TEST(channels_that_are_cut_out_or_put_together_stay_in_blocks)
{
    /* from blocks and into blocks are one step each */
    check_count("in x ? 16 17 16; const w 30 16 3 3; const v 16 13 1 1;"
                "out Conv(Slice(Conv(x,w),[5],[18],[1]),v)",
                5);
    check_count("in x ? 16 17 16; const w 13 16 3 3; const v 20 16 3 3; const u 16 33 1 1;"
                "out Conv(Concat{axis=1}(Conv(x,w),Conv(x,v)),u)",
                6);
    check_count("in x ? 16 17 16; const w 30 16 3 3; const v 16 15 1 1; const u 8 31 1 1;"
                "a,b = Split{axis=1;num_outputs=2}(Conv(x,w));"
                "out Conv(Concat{axis=1}(a,Conv(b,v)),u)",
                8);
    check_count(
        "in x ? 16 5 4; const w 24 16 3 3; const v 16 9 1 1;"
        "out Conv(Concat{axis=1}(Slice(Conv(x,w),[7],[8],[1]),Slice(Conv(x,w),[8],[16],[1])),v)",
        7);
    check("in x ? 16 17 16; const w 30 16 3 3; y = Conv(x,w);"
          "out Concat{axis=1}(Slice(y,[5],[18],[1]),Slice(y,[0],[30],[3]))");
    check("in x ? 16 9 8; const w 30 16 3 3; const v 16 13 1 1;"
          "out Conv(Slice(Conv(x,w),[5,1],[18,6],[1,2]),v)");
}

TEST(pixels_that_are_cut_out_with_their_channels_stay_in_blocks)
{
    check_count("in x ? 16 9 8; const w 30 16 3 3; const v 9 18 1 1;"
                "out Conv(Slice(Conv(x,w),[5,1,2],[23,6,5],[1,2,3]),v)",
                5);
    check_count("in x ? 16 9 8; const w 24 16 3 3; const v 9 24 2 2;"
                "out Conv(Relu(Slice(Conv(x,w),[1,0],[9223372036854775807,-1],[2,3])),v)",
                6);
    check_count("in x ? 16 9 800; const w 24 16 3 3; const v 9 24 2 2;"
                "out Conv(Slice(Conv(x,w),[3],[790],[3]),v)",
                5);
    check("in x ? 16 9 8; const w 24 16 3 3; const v 9 24 1 1;"
          "out Conv(Slice(Conv(x,w),[6,5],[0,0],[2,3],[-2,-1]),v)");
}

TEST(sequences_and_volumes_are_cut_and_put_together_in_blocks)
{
    /* a convolution that sees no later elements, as exported: padded on both sides, then cut */
    check_count(
        "in x ? 16 40; const w 24 16 3; const v 9 24 3;"
        "out Conv{pads=4,4;dilations=2}(Slice(Conv{pads=4,4;dilations=2}(x,w),[0],[40],[2]),v)",
        5);
    /* lengths of what a short-time transform gives */
    check_count("in x ? 1 640; const w 34 1 32; const v 8 17 3;"
                "y = Conv{strides=16}(x,w); a = Slice(y,[0,1],[17,39],[1,2]);"
                "b = Slice(y,[17,1],[34,39],[1,2]);"
                "out Conv(Sqrt(Add(Pow(a,2.0),Pow(b,2.0))),v)",
                9);
    check_count("in x ? 16 40; const w 19 16 3; const v 9 35 1; y = Conv{pads=1,1}(x,w);"
                "const u 16 16 1; out Conv(Concat{axis=-2}(y,Relu(Conv(x,u))),v)",
                6);
    check_count("in x ? 8 5 6 7; const w 12 8 3 3 3; const v 5 20 1 1 1; const u 8 8 1 1 1;"
                "y = Conv{pads=1,1,1,1,1,1}(x,w); z = Conv(x,u);"
                "out Conv(Concat{axis=1}(y,z),v)",
                6);
    check("in x ? 8 5 6 7; const w 12 8 1 1 1; const v 5 6 1 1 1; y = Conv(x,w);"
          "out Conv(Slice(y,[3,1,2],[9,4,6],[1,2,4]),v)");
    check("in x ? 8 5 6 7; const w 12 8 1 1 1; const v 5 12 1 1 1; y = Conv(x,w);"
          "out Conv(Slice(y,[1,2],[4,6],[3,4]),v)");
    check("in x ? 8 20; const w 12 8 1; y = Conv(x,w); out Slice(y,[3,1],[9,4],[1,2])");
}

TEST(lanes_behind_the_last_channel_are_zero)
{
    check("in x ? 16 9 8; const w 5 16 1 1; const v 11 16 1 1; const u 8 5 1 1;"
          "y = Concat{axis=1}(Sigmoid(Conv(x,w)),Exp(Mul(Abs(Conv(x,v)),100000)));"
          "out Conv(Slice(y,[0],[5],[1]),u)");
}

TEST(a_depthwise_convolution_has_several_outputs_of_each_channel)
{
    check_count("in x ? 12 17 16; const w 24 1 3 3; const b 24;"
                "out Relu(Conv{group=12;pads=1,1,1,1;strides=2,2}(x,w,b))",
                4);
    check_count("in x ? 12 17 16; const w 36 1 3 3; const v 36 1 5 5; const u 12 12 1 1;"
                "y = Relu(Conv(x,u)); out Add(Conv{group=12;pads=1,1,1,1}(y,w),"
                "Conv{group=12;pads=2,2,2,2}(y,v))",
                5);
    check("in x 3 5 9 8; const w 15 1 3 3; out Conv{group=5;pads=1,1,1,1}(x,w)");
}

#define TWICE(x) "Resize{mode=" x "}"

TEST(images_are_resized_in_blocks)
{
    check_count("in x 2 16 9 8; const w 20 16 3 3; const v 8 20 1 1;"
                "out Conv(" TWICE("linear") "(Conv(x,w),-,-,[2,20,14,12]),v)",
                5);
    check_count("in x 2 16 9 8; const w 20 16 3 3; const v 20 16 1 1;"
                "out Relu(Add(" TWICE("nearest") "(Conv(x,w),-,-,[2,20,9,8]),Conv(x,v)))",
                5);
    check("in x 2 16 9 8; const w 20 16 3 3; const v 8 20 1 1;"
          "out Conv(" TWICE("cubic") "(Conv(x,w),-,-,[2,20,5,12]),v)");
    check("in x 2 5 9 8; out Relu(" TWICE("linear") "(Sigmoid(x),-,-,[2,5,17,16]))");
    check("in x 2 16 9 8; const w 20 16 3 3;"
          "out Softmax(" TWICE("linear") "(Conv(x,w),-,-,[2,20,14,6]))");
}

TEST(parts_without_channels_are_put_beside_others)
{
    uint32_t n_launches = 0;
    compare("in x 1 9 5 6; const w 8 9 1 1; const b 8; const z 1 0 5 6; const v 1 8 5 6;"
            "y = HardSwish(Add(v,Conv(x,w,b))); out Concat{axis=1}(y,z)",
            &n_launches);
}

static const test_case cases[] = {
    CASE(parts_without_channels_are_put_beside_others),
    CASE(a_hard_swish_of_an_image_with_the_channels_last_is_not_transposed),
    CASE(numbers_of_channels_follow_an_image_that_is_turned),
    CASE(sums_and_concatenations_of_images_with_the_channels_last_are_not_transposed),
    CASE(means_over_the_pixels_of_an_image_with_the_channels_last_are_not_transposed),
    CASE(sequences_with_the_channels_last_are_turned_as_well),
    CASE(an_image_that_is_read_with_the_channels_last_stays_right),
    CASE(zeros_around_an_image_are_the_padding_of_its_convolution),
    CASE(a_picture_with_the_channels_last_is_turned_where_it_is_padded),
    CASE(pads_that_are_no_padding_stay),
    CASE(factors_and_terms_of_channels_are_in_the_weights_before_them),
    CASE(numbers_behind_a_convolution_are_in_its_weights),
    CASE(factors_behind_channels_of_several_convolutions_are_in_the_weights_of_each),
    CASE(convolutions_of_one_image_that_are_summed_are_one),
    CASE(an_image_is_a_tap_of_the_depthwise_convolution_that_it_is_added_to),
    CASE(sums_that_are_no_window_of_one_image_stay),
    CASE(channels_that_are_cut_out_or_put_together_stay_in_blocks),
    CASE(pixels_that_are_cut_out_with_their_channels_stay_in_blocks),
    CASE(sequences_and_volumes_are_cut_and_put_together_in_blocks),
    CASE(lanes_behind_the_last_channel_are_zero),
    CASE(images_are_resized_in_blocks),
    CASE(a_depthwise_convolution_has_several_outputs_of_each_channel),
};
TEST_MAIN(cases)
