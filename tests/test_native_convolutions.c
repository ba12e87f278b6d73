/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions, pools and what joins them in programs of the native backend; native_programs.sh. */
#include "native_program_kit.h"

TEST(a_convolution_of_few_channels_begins_a_chain)
{
    check("in x ? 3 19 17; const w 20 3 7 7; const b 20; const v 33 20 3 3;"
          "y = Relu(Conv{pads=3,3,3,3;strides=2,2}(x,w,b)); out Relu(Conv{pads=1,1,1,1}(y,v))");
    check("in x ? 1 28 28; const w 16 1 3 3; const b 16;"
          "out MaxPool{kernel_shape=2,2;strides=2,2}(Relu(Conv(x,w,b)))");
}

TEST(square_kernels_keep_size_and_channels)
{
    check("in x ? 32 14 14; const w 32 32 3 3; const b 32; y = Relu(x);"
          "out Conv{pads=1,1,1,1}(y,w,b)");
    check("in x ? 48 7 9; const w 40 48 3 3; y = Relu(x); out Conv{pads=1,1,1,1}(y,w)");
    check("in x ? 16 5 4; const w 64 16 3 3; y = Relu(x); out Relu(Conv(y,w))");
    check("in x ? 64 28 27; const w 16 64 3 3; y = Relu(x); out Conv{pads=0,2,1,0}(y,w)");
}

TEST(strides_and_dilations_are_kept)
{
    check("in x ? 32 15 13; const w 48 32 3 3; y = Relu(x);"
          "out Conv{pads=1,1,1,1;strides=2,2}(y,w)");
    check("in x ? 32 15 13; const w 48 32 1 1; y = Relu(x); out Conv{strides=2,2}(y,w)");
    check("in x ? 16 15 13; const w 16 16 3 3; y = Relu(x);"
          "out Conv{pads=2,2,2,2;dilations=2,2}(y,w)");
    check("in x ? 24 9 9; const w 16 24 5 3; y = Relu(x); out Conv{pads=2,1,2,1;strides=1,2}(y,w)");
}

/* Most taps of most outputs lie in the padding, and tiles end where one does. */
TEST(dilations_near_the_size_keep_the_taps_inside)
{
    check("in x ? 40 16 16; const w 64 40 3 3; const b 64; y = Relu(x);"
          "out Relu(Conv{pads=12,12,12,12;dilations=12,12}(y,w,b))");
    check("in x ? 40 13 11; const w 33 40 3 3; y = Relu(x);"
          "out Conv{pads=7,5,7,5;dilations=7,5}(y,w)");
    check("in x ? 64 17 13; const w 64 16 3 3; y = Relu(x);"
          "out Add(y,Conv{group=4;pads=6,6,6,6;dilations=6,6}(y,w))");
    check("in x ? 24 7 9 10; const w 32 24 3 3 3; y = Relu(x);"
          "out Conv{pads=3,4,5,3,4,5;dilations=3,4,5}(y,w)");
}

TEST(convolutions_over_three_axes_stay_in_the_program)
{
    check("in x ? 3 5 9 8; const w 20 3 3 5 3; const b 20; const v 33 20 3 3 3;"
          "y = Relu(Conv{pads=1,2,1,1,2,1;strides=1,2,1}(x,w,b));"
          "out Relu(Conv{pads=1,1,1,1,1,1}(y,v))");
    check("in x ? 16 4 9 10; const w 45 16 1 3 3; const b 45; const v 16 45 3 1 1; y = Relu(x);"
          "z = Relu(Conv{pads=0,1,1,0,1,1}(y,w,b)); out Relu(Add(y,Conv{pads=1,0,0,1,0,0}(z,v)))");
    check("in x ? 24 6 12 13; const w 16 24 3 3 3; y = Relu(x);"
          "out Conv{pads=1,1,1,1,1,1;strides=2,2,2}(y,w)");
    check("in x ? 16 1 12 13; const w 24 16 3 3 3; y = Relu(x); out Conv{pads=1,1,1,1,1,1}(y,w)");
    check("in x ? 16 7 12 13; const w 24 16 2 3 3; y = Relu(x);"
          "out Conv{pads=1,0,2,0,1,1;dilations=3,1,1;strides=2,1,1}(y,w)");
    check("in x ? 16 5 6 7; const w 32 16 1 1 1; y = Relu(x); out Conv{strides=2,2,2}(y,w)");
    check("in x ? 16 5 6 7; const w 32 16 1 1 1; y = Relu(x); out Conv(y,w)");
    check("in x ? 32 3 6 7; const w 32 8 3 3 3; const b 32; y = Relu(x);"
          "out Relu(Conv{group=4;pads=1,1,1,1,1,1}(y,w,b))");
}

TEST(depthwise_convolutions_over_three_axes_stay_between_dense_ones)
{
    check("in x ? 16 5 9 8; const w 20 16 1 1 1; const d 20 1 3 3 3; const b 20;"
          "const v 16 20 1 1 1; y = Relu(x); z = HardSwish(Conv(y,w,b));"
          "z = HardSwish(Conv{group=20;pads=1,1,1,1,1,1;strides=1,2,2}(z,d,b));"
          "out Relu(Conv(z,v))");
    check(
        "in x ? 16 5 9 8; const w 16 16 1 3 3; const d 16 1 5 1 1; const b 16; y = Relu(x);"
        "z = Conv{pads=0,1,1,0,1,1}(y,w); out Relu(Add(z,Conv{group=16;pads=2,0,0,2,0,0}(z,d,b)))");
    check("in x ? 24 4 7 8; const d 24 1 3 3 3; const b 24; y = Relu(x);"
          "out Relu(Add(Conv{group=24;pads=2,1,1,2,1,1;dilations=2,1,1}(y,d,b),y))");
    check("in x ? 16 6 7 8; const d 16 1 2 3 1; const s 16; const b 16; const m 16; const v 16;"
          "y = Relu(x); z = Conv{group=16;strides=3,1,1}(y,d);"
          "out Relu(BatchNormalization(z,s,b,m,v))");
}

TEST(what_stands_around_convolutions_over_three_axes_stays_with_them)
{
    check("in x ? 16 4 6 7; const w 24 16 3 3 3; const s 24; const b 24; const m 24; const v 24;"
          "const g 24 10;"
          "y = Relu(BatchNormalization(Conv{pads=1,1,1,1,1,1}(x,w),s,b,m,v));"
          "out Gemm(Flatten(GlobalAveragePool(y)),g)");
    check("in x ? 16 4 6 7; const w 16 16 3 3 3; const c 16 1 1 1; const d 4 1 1; const e 6 7;"
          "const f 4 6 7; y = Mul(Conv{pads=1,1,1,1,1,1}(x,w),c);"
          "out Add(Mul(Add(Add(y,d),e),y),f)");
}

/* By Winograd's tiles, which reach over whole frames. */
TEST(numbers_that_are_not_finite_reach_their_windows_over_three_axes_alone)
{
    uint32_t n_launches;

    compare("in x ? 16 5 9 10; const w 16 16 3 3 3; const b 16;"
            "z = Slice(x,[1],[2],[2]); r = Slice(x,[2],[5],[2]); f = Slice(x,[0],[1],[2]);"
            "c = Concat{axis=2}(f,Div(z,Sub(z,z)),r);"
            "out Slice(Relu(Conv{pads=0,1,1,0,1,1}(c,w,b)),[2],[3],[2])",
            &n_launches);
    compare("in x ? 20 5 9 10; const w 16 20 3 3 3; const b 16; z = Concat{axis=4}(x,Log(x));"
            "out Slice(Relu(Conv{pads=1,1,1,1,1,1}(z,w,b)),[0],[9],[4])",
            &n_launches);
}

TEST(pixels_between_the_steps_of_a_convolution_of_one_are_left_out)
{
    check("in x ? 20 9 8; const w 90 20 1 1; const b 90; const v 90 20 3 3; y = Relu(x);"
          "out Relu(Add(Conv{strides=2,2}(y,w,b),Conv{strides=2,2;pads=1,1,1,1}(y,v)))");
    check("in x ? 16 9 8; const w 128 16 1 1; y = Relu(x); out Conv{strides=1,3}(y,w)");
    check("in x ? 16 21; const w 128 16 1; y = Relu(x); out Conv{strides=2}(y,w)");
}

/* Of whole vectors, of parts of them, and across their borders. */
TEST(convolutions_in_groups_stay_in_the_program)
{
    check("in x ? 64 9 8; const w 64 8 3 3; const b 64; y = Relu(x);"
          "z = Relu(Conv{group=8;pads=1,1,1,1}(y,w,b)); out Conv{group=8;strides=2,2}(z,w)");
    check("in x ? 64 7 9; const w 64 4 3 3; const v 64 16 3 3; y = Relu(x);"
          "z = HardSwish(Conv{group=16;pads=1,1,1,1}(y,w));"
          "out Relu(Add(y,Conv{group=4;pads=1,1,1,1}(z,v)))");
    check("in x ? 24 9 8; const w 36 12 3 3; const b 36; const v 6 12 1 1; y = Relu(x);"
          "out Conv{group=3}(Sigmoid(Conv{group=2;dilations=2,2}(y,w,b)),v)");
    check("in x ? 72 7 7; const w 72 24 3 3; const b 72; y = Relu(x);"
          "out MaxPool{kernel_shape=2,2;strides=2,2}(Relu(Conv{group=3;pads=1,1,1,1}(y,w,b)))");
    check("in x ? 10 9 8; const w 35 2 2 3; const b 35; y = Relu(x);"
          "out ThresholdedRelu{alpha=0.5}(Conv{group=5}(y,w,b))");
    check("in x ? 80 9 8; const w 160 40 3 3; y = Relu(x); out Conv{group=2;pads=0,1,2,1}(y,w)");
    check("in x ? 6 21; const w 9 2 5; const b 9; y = Relu(x);"
          "out Relu(Conv{group=3;pads=2,2}(y,w,b))");
}

TEST(weights_of_groups_may_be_computed)
{
    check("in x ? 24 9 8; const w 36 12 3 3; const b 36; r = ReduceMean{keepdims=0}(x);"
          "out Conv{group=2;pads=1,1,1,1}(x,Mul(w,Sub(2,r)),Sub(b,r))");
    check("in x ? 64 7 9; const w 64 4 3 3; const v 64 16 3 3; r = ReduceMean{keepdims=0}(x);"
          "y = Relu(Conv{group=16;pads=1,1,1,1}(x,Mul(w,r)));"
          "out Conv{group=4;strides=2,2}(y,Mul(v,Sub(r,1)))");
}

/* Where groups share a vector, those beside infinities are what they are alone. */
TEST(numbers_that_are_not_finite_stay_in_their_group)
{
    uint32_t n_launches;

    compare("in x ? 4 9 8; const w 8 4 3 3; const b 8;"
            "z = Concat{axis=1}(x,Div(x,Sub(x,x)));"
            "out Slice(Relu(Conv{group=2;pads=1,1,1,1}(z,w,b)),[0],[4],[1])",
            &n_launches);
    compare("in x ? 12 9 8; const w 18 12 3 3; y = Relu(x); z = Concat{axis=1}(y,Div(x,Sub(x,x)));"
            "r = Concat{axis=1}(x,Slice(x,[0],[6],[1]));"
            "out Slice(Add(r,Conv{group=2;pads=1,1,1,1}(z,w)),[0],[9],[1])",
            &n_launches);
    compare("in x ? 4 9 8; const w 8 4 3 3; const b 8;"
            "z = Concat{axis=1}(x,Div(x,Sub(x,x)));"
            "out Slice(Relu(ConvTranspose{group=2;pads=1,1,1,1;strides=2,2}(z,w,b)),[0],[4],[1])",
            &n_launches);
    compare("in x ? 6 9 8; const w 12 9 3 3; y = Relu(x); z = Concat{axis=1}(y,Div(x,Sub(x,x)));"
            "r = Concat{axis=1}(z,z); s = Slice(r,[0],[18],[1]);"
            "out Slice(Add(s,ConvTranspose{group=2;pads=1,1,1,1}(z,w)),[0],[6],[1])",
            &n_launches);
    compare("in x ? 4 9 8; const w 8 4 3 3; const b 8; r = ReduceMean{keepdims=0}(x);"
            "z = Concat{axis=1}(x,Div(x,Sub(x,x)));"
            "c = Conv{group=2;pads=1,1,1,1}(z,Mul(w,Sub(2,r)),Sub(b,r));"
            "out Slice(Relu(c),[0],[4],[1])",
            &n_launches);
}

TEST(a_residual_sum_joins_its_convolution)
{
    check("in x ? 32 10 10; const w 32 32 3 3; const b 32; const v 32 32 1 1; y = Relu(x);"
          "z = Relu(Conv{pads=1,1,1,1}(y,w,b)); out Relu(Add(Conv(z,v),y))");
    check("in x ? 24 8 8; const w 24 24 3 3; y = Relu(x);"
          "out Add(y,Conv{pads=1,1,1,1}(y,w))");
}

TEST(a_sum_that_is_spread_over_a_residual_stays_apart)
{
    uint32_t n;
    compare("in x ? 1 3 1; const w 1 1 3 3; out Add(x,Conv{pads=0,0,0,2}(x,w))", &n);
    compare("in x ? 16 3 3; const w 16 16 3 3; out Add(Conv(x,w),x)", &n);
    compare("in x ? 6; const a 1 8; const w 8 6; out Add(x,MatMul(a,w))", &n);
}

TEST(batch_normalization_is_folded)
{
    check("in x ? 16 9 9; const w 32 16 3 3; const s 32; const b 32; const m 32; const v 32;"
          "out Relu(BatchNormalization(Conv{pads=1,1,1,1}(x,w),s,b,m,v))");
}

TEST(depthwise_convolutions_stay_between_dense_ones)
{
    check("in x ? 16 12 11; const w 40 16 1 1; const d 40 1 3 3; const e 40; const v 24 40 1 1;"
          "a = Clip(Conv(x,w),0,6); b = Clip(Conv{group=40;pads=1,1,1,1}(a,d,e),0,6);"
          "out Conv(b,v)");
    check("in x ? 32 12 11; const d 32 1 3 3; const v 16 32 1 1; a = Relu(x);"
          "b = Conv{group=32;pads=1,1,1,1;strides=2,2}(a,d); out Conv(b,v)");
}

/* Windows of all forms over images of one band and of several, and what stands around them. */
TEST(a_convolution_in_front_of_a_depthwise_one_keeps_its_numbers)
{
    check("in x ? 16 130 112; const w 40 16 1 1; const b 40; const d 40 1 3 3; const e 40;"
          "y = Clip(Conv(x,w,b),0,6); out Clip(Conv{group=40;pads=1,1,1,1}(y,d,e),0,6)");
    check("in x ? 16 131 113; const w 40 16 1 1; const d 40 1 5 5; y = Relu(Conv(x,w));"
          "out Conv{group=40;strides=2,2;pads=2,1,1,2}(y,d)");
    check("in x ? 19 40 33; const w 21 19 1 1; const b 21; const d 21 1 3 7; y = Gelu(Conv(x,w,b));"
          "out Gelu(Conv{group=21;strides=3,2;dilations=2,1}(y,d))");
    check(
        "in x ? 300 7 7; const w 24 300 1 1; const d 24 1 3 3; const e 24; y = Sigmoid(Conv(x,w));"
        "out Add(Conv{group=24;pads=1,1,1,1}(y,d,e),Conv(x,w))");
    check("in x ? 8 5 6; const w 8 8 1 1; const d 8 1 9 9; y = Relu(Conv(x,w));"
          "out Add(Conv{group=8;pads=4,4,4,4}(y,d),x)");
    check("in x ? 8 9 9; const w 16 8 1 1; const d 16 1 3 3; y = Relu(Conv(x,w));"
          "out Add(Conv{group=16;pads=1,1,1,1}(y,d),y)");
    check("in x ? 8 3 9; const w 16 8 1 1; const d 16 1 2 2; y = Relu(Conv(x,w));"
          "out Conv{group=16;strides=2,2;pads=2,0,2,0;dilations=3,3}(y,d)");
}

TEST(pools_and_a_mean_end_in_a_product)
{
    check("in x ? 16 13 13; const w 32 16 3 3; const g 32 10; const b 10;"
          "y = MaxPool{kernel_shape=3,3;strides=2,2;pads=1,1,1,1}(Relu(Conv(x,w)));"
          "out Gemm(Flatten(GlobalAveragePool(y)),g,b)");
    check("in x ? 16 12 12; const w 16 16 1 1; y = Relu(Conv(x,w));"
          "out AveragePool{kernel_shape=2,2;strides=2,2}(y)");
}

TEST(pools_over_one_and_three_axes_stay_in_the_program)
{
    static const char begin[] = "in x ? 12 5 8 9; const w 20 12 3 3 3; const v 16 20 1 1 1;"
                                "y = Relu(Conv{pads=1,1,1,1,1,1}(x,w));";
    static const char *const pools[] = {
        "MaxPool{kernel_shape=2,2,2;strides=2,2,2}",
        "MaxPool{kernel_shape=3,2,4;strides=1,2,1;pads=1,0,2,1,1,1}",
        "MaxPool{kernel_shape=2,3,2;dilations=3,2,4}",
        "MaxPool{kernel_shape=3,3,3;strides=2,2,2;ceil_mode=1}",
        "MaxPool{kernel_shape=1,2,2;strides=1,2,2}",
        "MaxPool{kernel_shape=1,1,1;strides=2,3,2}",
        "MaxPool{kernel_shape=3,1,1;pads=1,0,0,1,0,0}",
        "AveragePool{kernel_shape=3,2,3;strides=2,1,2;pads=1,1,1,1,0,1}",
        "AveragePool{kernel_shape=2,3,3;pads=1,1,1,0,1,1;count_include_pad=1}",
    };
    char text[400];
    size_t i;

    for (i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        (void)snprintf(text, sizeof text, "%sout Conv(%s(y),v)", begin, pools[i]);
        check(text);
        (void)snprintf(text, sizeof text, "in x 2 3 5 8 9; out %s(x)", pools[i]);
        check(text);
    }
    check("in x ? 12 19; const w 20 12 3; const v 7 20 1; y = Relu(Conv{pads=1,1}(x,w));"
          "out Conv(MaxPool{kernel_shape=3;strides=2;pads=1,0}(y),v)");
    check("in x ? 12 19; out AveragePool{kernel_shape=4;strides=3;pads=2,1}(x)");
}

TEST(a_flattened_picture_is_in_the_order_of_the_standard)
{
    check("in x ? 8 6 5; const w 20 8 3 3; const g 240 12; const b 12;"
          "y = Relu(Conv(x,w)); out Relu(Gemm(Flatten(y),g,b))");
}

/* With native.winograd as given, NULL = not at all. NULL = there is no such backend. */
static tfr_tensor *run_winograd(tfr_graph *graph, const char *value)
{
    const tfr_option option = {"native.winograd", value};
    tfr_runtime_options options = TFR_RUNTIME_OPTIONS_INIT;
    tfr_session_options how = TFR_SESSION_OPTIONS_INIT;
    tfr_runtime *runtime = NULL;
    tfr_session *session = NULL;
    tfr_tensor *out = NULL;
    options.options = &option;
    options.n_options = value ? 1 : 0;
    how.device = "native:0";
    REQUIRE_OK(tfr_runtime_create(&options, &runtime, &err), &err);
    if (tfr_session_create(runtime, graph, &how, &session, &err) == TFR_OK)
        out = run(session, graph, 2);
    tfr_session_destroy(session);
    tfr_runtime_release(runtime);
    return out;
}

TEST(fast_convolutions_can_be_turned_off)
{
    tfr_graph *graph = graph_of_text("in x ? 64 24 24; const w 64 64 3 3; y = Relu(x);"
                                     "out Conv{pads=1,1,1,1}(y,w)");
    tfr_tensor *fast = run_winograd(graph, NULL), *on = run_winograd(graph, "on");
    tfr_tensor *off = run_winograd(graph, "off");
    double apart;
    tfr_graph_release(graph);
    if (!fast || !on || !off)
        SKIP("there is no native backend");
    apart = difference(off, fast);
    CHECK(memcmp(tfr_tensor_data(on), tfr_tensor_data(fast), tfr_tensor_bytes(on)) == 0);
    CHECK(apart <= 1e-5);
    if (apart == 0)
        printf("  no fast convolutions on this processor\n");
    tfr_tensor_release(fast);
    tfr_tensor_release(on);
    tfr_tensor_release(off);
}

TEST(convolutions_over_one_axis_stay_in_the_program)
{
    check("in x ? 20 50; const w 24 20 7; const b 24; const v 24 1 5; const u 6 24 1;"
          "y = LeakyRelu{alpha=0.1}(Conv{pads=3,3;strides=2}(x,w,b));"
          "z = Add(y,Relu(Conv{pads=4,4;dilations=2;group=24}(y,v))); out Conv(Mul(z,0.5),u)");
    check("in x ? 3 40; const w 16 3 5; const s 16; const t 16; const m 16; const d 16;"
          "const a 16 1; y = BatchNormalization(Conv(x,w),s,t,m,d);"
          "out Softmax(Transpose{perm=0,2,1}(Tanh(Mul(y,a))))");
}

TEST(maxima_of_large_windows_stay_in_the_program)
{
    check("in x ? 3 33 28; const w 20 3 3 3; const v 4 60 1 1; y = Relu(Conv{strides=2,2}(x,w));"
          "a = MaxPool{kernel_shape=5,5;pads=2,2,2,2}(y);"
          "b = MaxPool{kernel_shape=13,13;pads=6,6,6,6}(y); out Conv(Concat{axis=1}(y,a,b),v)");
    check("in x ? 12 30 41; const w 12 12 3 3; y = Conv(x,w);"
          "out MaxPool{kernel_shape=7,9;pads=3,0,2,4;strides=1,2;ceil_mode=1}(y)");
    check("in x ? 12 30 41; const w 12 12 3 3; y = Conv(x,w);"
          "out Relu(MaxPool{kernel_shape=4,6;pads=1,2,3,4;dilations=3,2}(y))");
}

/* Behind a convolution and in it. */
TEST(a_nan_is_the_maximum_of_its_windows)
{
    static const char *const windows[] = {"kernel_shape=2,2;strides=2,2",
                                          "kernel_shape=3,3;strides=2,2;pads=1,1,1,1",
                                          "kernel_shape=3,3;pads=1,1,1,1",
                                          "kernel_shape=5,5;pads=2,2,2,2",
                                          "kernel_shape=4,3;strides=3,3",
                                          "kernel_shape=3,4;dilations=2,2",
                                          "kernel_shape=1,2",
                                          "kernel_shape=6,1"};
    char text[300];
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        snprintf(text, sizeof text,
                 "in x ? 8 23 22; const w 20 8 1 1; const b 20;"
                 "y = MaxPool{%s}(Relu(Conv(Sqrt(Add(x,0.99)),w,b))); out Where(IsNaN(y),7.0,y)",
                 windows[i]);
        check(text);
    }
}

TEST(transposed_convolutions_stay_in_the_program)
{
    static const char *const ends[] = {
        "const w 32 48 3 3; const b 48; out Relu(ConvTranspose{pads=1,1,1,1}(y,w,b))",
        "const w 32 20 4 5; out ConvTranspose{pads=1,1,2,2;strides=2,3;output_padding=1,0}(y,w)",
        "const w 32 20 3 2; out ConvTranspose{dilations=2,3;strides=1,2}(y,w)",
        "const w 32 70 5 6; const b 70; out Relu(ConvTranspose{pads=0,1,1,2;strides=3,4}(y,w,b))",
        "const w 32 20 2 5; out ConvTranspose{strides=3,2}(y,w)",
        "z = Reshape(y,[0,32,-1]); const w 32 20 6; out ConvTranspose{pads=2,2;strides=3}(z,w)",
        "z = Reshape(y,[0,32,-1]); const w 32 9 16; const b 9; const v 7 9 3;"
        "out Conv(LeakyRelu{alpha=0.2}(ConvTranspose{pads=4,4;strides=8}(z,w,b)),v)"};
    char text[1000];
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(text, sizeof text, "in x ? 8 20 18; const k 32 8 3 3; y = Conv(x,k); %s", ends[i]);
        check(text);
    }
}

TEST(transposed_convolutions_in_groups_stay_in_the_program)
{
    static const char *const ends[] = {
        "const w 48 8 4 4; const b 32; const v 9 32 3 3;"
        "out Conv(Relu(ConvTranspose{group=4;pads=1,1,1,1;strides=2,2}(y,w,b)),v)",
        "const w 48 5 3 2; out Sigmoid(ConvTranspose{group=3;dilations=2,3;strides=1,2}(y,w))",
        "const w 48 1 4 4; const b 48;"
        "out Relu(ConvTranspose{group=48;pads=1,1,1,1;strides=2,2}(y,w,b))",
        "const w 48 24 3 3; out Relu(Add(y,ConvTranspose{group=2;pads=1,1,1,1}(y,w)))",
        "const w 48 3 3 3; z = ConvTranspose{group=16;pads=1,1,1,1}(y,w); out Relu(Add(z,y))",
        "z = Reshape(y,[0,48,-1]); const w 48 1 12;"
        "out Tanh(ConvTranspose{group=48;pads=5,5;strides=2}(z,w))",
        "z = Reshape(y,[0,48,-1]); const w 48 16 6; const b 64;"
        "out LeakyRelu(ConvTranspose{group=4;pads=2,2;strides=3}(z,w,b))"};
    char text[1000];
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(text, sizeof text, "in x ? 8 12 11; const k 48 8 3 3; y = Conv(x,k); %s", ends[i]);
        check(text);
    }
}

TEST(transposed_convolutions_of_one_pixel_are_products)
{
    static const char *const ends[] = {
        "const w 40 16 4 4; const b 16; const v 9 16 3 3;"
        "out Conv{pads=1,1,1,1}(Relu(ConvTranspose(y,w,b)),v)",
        "const w 40 33 5 4; out Tanh(ConvTranspose{pads=1,0,2,1;strides=3,2}(y,w))",
        "const w 40 3 7 7; const b 3; const v 16 3 3 3;"
        "z = ConvTranspose{pads=2,2,2,2;strides=2,2}(y,w,b);"
        "out Conv(LeakyRelu{alpha=0.2}(Add(z,Sigmoid(z))),v)",
        "const w 40 8 3 3; const v 40 8 3 3; z = Relu(ConvTranspose(y,v));"
        "out Relu(Add(ConvTranspose(y,w),z))",
        "const w 40 7 3 3; const b 7; out ConvTranspose{dilations=2,2}(y,w,b)",
        "const w 40 7 3 3; out ConvTranspose{pads=1,1,1,1;output_padding=1,1;strides=2,2}(y,w)",
        "const w 40 300 4 4; const b 300; out Relu(ConvTranspose{pads=1,1,0,0}(y,w,b))",
        "z = Reshape(y,[0,40,1]); const w 40 20 6; const b 20;"
        "out Relu(ConvTranspose{pads=1,0}(z,w,b))"};
    char text[1000];
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(text, sizeof text, "in x ? 8 3 3; const k 40 8 3 3; y = Conv(x,k); %s", ends[i]);
        check(text);
    }
}

TEST(borders_of_every_mode_stay_in_the_program)
{
    static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};
    char text[600];
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        snprintf(text, sizeof text,
                 "in x ? 6 7 5; y = Pad{mode=%s}(Relu(x),[0,2,0,3,0,1,0,4]);"
                 "out Sigmoid(Pad{mode=%s}(y,[0,0,-1,5,0,0,2,-2]))",
                 modes[i], modes[i]);
        check(text);
    }
    check("in x ? 6 7; out Pad(Relu(x),[1,0,2,0,3,-1],2.5)");
}

/* Also so many that windows have nothing of the image. */
TEST(zeros_around_an_image_are_those_of_its_convolution)
{
    check("in x ? 3 11 10; const w 24 3 5 5; const b 24;"
          "out Relu(Conv{strides=2,2}(Pad(x,[0,0,1,2,0,0,2,1]),w,b))");
    check("in x ? 16 9 8; const w 16 1 3 3; y = Relu(x);"
          "out Conv{group=16;strides=2,2;pads=1,0,0,1}(Pad(y,[0,0,0,1,0,0,2,1],0.0),w)");
    check("in x ? 16 9 8; const w 24 16 3 3; const v 16 1 3 3; y = Pad(Relu(x),[0,0,5,4,0,0,6,5]);"
          "out Concat{axis=1}(Conv{pads=1,1,1,1}(y,w),Conv{group=16;pads=1,1,1,1}(y,v))");
    check("in x ? 64 9 8; const w 64 8 3 3; y = Relu(x);"
          "out Conv{group=8}(Pad(y,[0,0,5,4,0,0,6,5]),w)");
    check("in x ? 16 9 8; const w 24 16 2 2; y = Pad(Relu(x),[0,0,1,0,0,0,0,1]);"
          "out Concat{axis=1}(Conv(y,w),MaxPool{kernel_shape=2,2}(y))");
}

TEST(borders_that_are_no_zeros_stay_around_an_image)
{
    check("in x ? 16 9 8; const w 24 16 3 3; y = Relu(x);"
          "out Conv(Pad(y,[0,0,1,1,0,0,1,1],0.5),w)");
    check("in x ? 16 9 8; const w 24 16 3 3; y = Relu(x);"
          "out Conv(Pad{mode=reflect}(y,[0,0,1,1,0,0,1,1]),w)");
    check("in x ? 16 9 8; const w 24 16 3 3; y = Relu(x);"
          "out Conv(Pad(y,[0,0,1,-1,0,0,-1,1]),w)");
}

/* As where a residual has fewer channels; lanes of no channel hold a half behind Sigmoid. */
TEST(channels_of_zeros_are_added_in_blocks)
{
    check("in x ? 24 9 8; const w 20 24 1 1; const v 29 20 1 1; y = Sigmoid(Conv(x,w));"
          "out Relu(Add(Conv(y,v),Pad(y,[0,0,0,0,0,9,0,0])))");
    check("in x ? 24 9 8; const w 16 24 1 1; const v 50 16 3 3; y = Relu(Conv(x,w));"
          "out Relu(Add(Conv{pads=2,2,2,1}(y,v),Pad(y,[0,0,1,0,0,34,1,1],0.0)))");
    check("in x ? 24 9 8; const w 20 24 1 1; const v 8 29 3 3; y = Sigmoid(Conv(x,w));"
          "out Conv(Pad(y,[0,0,1,0,0,9,0,2]),v)");
    check("in x ? 24 9 8; const w 20 24 1 1; y = Sigmoid(Conv(x,w));"
          "out Sigmoid(Pad(y,[0,3,0,0,0,9,0,0]))");
}

/* Lanes are inputs, and outputs leave plain: no step puts blocks of them in order. */
TEST(few_outputs_are_written_plain)
{
    const char *graph = "in x ? 4 9 9; const v 16 4 3 3; const w %d 16 3 3; y = Relu(Conv(x,v));"
                        "out Sigmoid(Conv{pads=1,1,1,1}(y,w))";
    char text[200];

    snprintf(text, sizeof text, graph, 2);
    CHECK_INT(2, kernels_of(text));
    snprintf(text, sizeof text, graph, 16);
    CHECK_INT(3, kernels_of(text));
}

TEST(few_outputs_have_all_of_their_windows)
{
    check("in x ? 32 21 23; const w 1 32 3 3; const b 1; y = Relu(x);"
          "out Sigmoid(Conv{pads=1,1,1,1}(y,w,b))");
    check("in x ? 21 9 25; const w 2 21 5 7; const b 2; y = Relu(x);"
          "out Conv{pads=2,3,2,3;strides=2,2}(y,w,b)");
    check("in x ? 45 15 13; const w 3 45 3 3; y = Relu(x);"
          "out Tanh(Conv{pads=3,2,1,4;dilations=2,3}(y,w))");
    check("in x ? 16 4 3; const w 4 16 3 5; const b 4; y = Relu(x);"
          "out Relu(Conv{pads=1,2,1,2}(y,w,b))");
    check("in x ? 64 7 30; const w 3 64 1 1; const b 3; y = Relu(x); out Conv(y,w,b)");
    check("in x ? 24 60; const w 1 24 7; const b 1; y = Relu(x); out Tanh(Conv{pads=3,3}(y,w,b))");
    check("in x ? 32 5 6 19; const w 1 32 3 3 3; const b 1; y = Relu(x);"
          "out Conv{pads=1,1,1,1,1,1}(y,w,b)");
    check("in x ? 16 7 12 13; const w 2 16 2 3 3; y = Relu(x);"
          "out Conv{pads=1,0,2,0,1,1;dilations=3,1,1;strides=2,1,1}(y,w)");
    check("in x ? 32 1 20; const w 2 32 3 3; y = Relu(x); out Conv{pads=1,1,1,1}(y,w)");
}

TEST(few_outputs_are_added_to_a_residual)
{
    check("in x ? 3 12 17; const v 32 3 3 3; const w 3 32 3 3; const b 3;"
          "y = Relu(Conv{pads=1,1,1,1}(x,v)); out Relu(Add(Conv{pads=1,1,1,1}(y,w,b),x))");
    check("in x ? 16 6 17; const v 2 16 1 1; const w 2 16 3 3; const u 24 2 3 3; y = Relu(x);"
          "z = Sigmoid(Add(Conv{pads=1,1,1,1}(y,w),Conv(y,v))); out Conv{pads=1,1,1,1}(z,u)");
}

TEST(few_outputs_of_transposed_convolutions_are_written_plain)
{
    check("in x ? 4 9 9; const v 32 4 3 3; const w 32 3 4 4; const b 3; y = Relu(Conv(x,v));"
          "out Tanh(ConvTranspose{strides=2,2;pads=1,1,1,1}(y,w,b))");
    check("in x ? 21 5 17; const w 21 2 3 5; y = Relu(x);"
          "out Relu(ConvTranspose{strides=1,3;pads=0,2,1,0;dilations=2,1}(y,w))");
    check("in x ? 40 3 14; const w 40 4 2 2; const b 4; y = Relu(x);"
          "out ConvTranspose{strides=4,3}(y,w,b)");
    check("in x ? 32 6 9; const w 32 1 3 3; const v 1 32 1 1; y = Relu(x);"
          "out Sigmoid(Add(ConvTranspose{pads=1,1,1,1}(y,w),Conv(y,v)))");
    CHECK_INT(2, kernels_of("in x ? 4 9 9; const v 16 4 3 3; const w 16 2 4 4;"
                            "y = Relu(Conv(x,v)); out Sigmoid(ConvTranspose{strides=2,2}(y,w))"));
}

TEST(squares_that_floats_do_not_hold_are_pooled)
{
    uint32_t n_launches;

    compare("in x ? 2 9 20; out LpPool{kernel_shape=3,3}(Mul(x,1e30))", &n_launches);
    compare("in x ? 2 9 20; out LpPool{kernel_shape=2,2;strides=2,2}(Mul(x,1e-25))", &n_launches);
}

/* Sums over all samples keep them together in one unit. */
TEST(pixels_of_all_samples_are_rows_of_one_product)
{
    check("in x ? 40 5 4; const w 20 40 1 1; const b 20; const v 40 20 1 1;"
          "p = GlobalAveragePool(x); z = Sigmoid(Conv(Relu(Conv(p,w,b)),v));"
          "out ReduceSum{keepdims=0}(GlobalAveragePool(Mul(x,z)),[0])");
    check("in x ? 33 1 1; const w 33 33 1 1; y = Relu(x);"
          "out ReduceSum{keepdims=0}(Relu(Add(Conv(y,w),y)),[0])");
}

static const test_case cases[] = {
    CASE(a_convolution_of_few_channels_begins_a_chain),
    CASE(square_kernels_keep_size_and_channels),
    CASE(strides_and_dilations_are_kept),
    CASE(dilations_near_the_size_keep_the_taps_inside),
    CASE(convolutions_over_three_axes_stay_in_the_program),
    CASE(depthwise_convolutions_over_three_axes_stay_between_dense_ones),
    CASE(what_stands_around_convolutions_over_three_axes_stays_with_them),
    CASE(numbers_that_are_not_finite_reach_their_windows_over_three_axes_alone),
    CASE(pixels_between_the_steps_of_a_convolution_of_one_are_left_out),
    CASE(convolutions_in_groups_stay_in_the_program),
    CASE(weights_of_groups_may_be_computed),
    CASE(numbers_that_are_not_finite_stay_in_their_group),
    CASE(a_residual_sum_joins_its_convolution),
    CASE(a_sum_that_is_spread_over_a_residual_stays_apart),
    CASE(batch_normalization_is_folded),
    CASE(depthwise_convolutions_stay_between_dense_ones),
    CASE(a_convolution_in_front_of_a_depthwise_one_keeps_its_numbers),
    CASE(pools_and_a_mean_end_in_a_product),
    CASE(pixels_of_all_samples_are_rows_of_one_product),
    CASE(pools_over_one_and_three_axes_stay_in_the_program),
    CASE(a_flattened_picture_is_in_the_order_of_the_standard),
    CASE(fast_convolutions_can_be_turned_off),
    CASE(convolutions_over_one_axis_stay_in_the_program),
    CASE(maxima_of_large_windows_stay_in_the_program),
    CASE(a_nan_is_the_maximum_of_its_windows),
    CASE(transposed_convolutions_stay_in_the_program),
    CASE(transposed_convolutions_in_groups_stay_in_the_program),
    CASE(transposed_convolutions_of_one_pixel_are_products),
    CASE(borders_of_every_mode_stay_in_the_program),
    CASE(zeros_around_an_image_are_those_of_its_convolution),
    CASE(borders_that_are_no_zeros_stay_around_an_image),
    CASE(channels_of_zeros_are_added_in_blocks),
    CASE(few_outputs_are_written_plain),
    CASE(few_outputs_have_all_of_their_windows),
    CASE(few_outputs_are_added_to_a_residual),
    CASE(few_outputs_of_transposed_convolutions_are_written_plain),
    CASE(squares_that_floats_do_not_hold_are_pooled),
};
TEST_MAIN(cases)
