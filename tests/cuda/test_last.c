/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images with the channels last between convolutions on tensor cores, over the stand-ins: values,
 * and how many images are brought into another order, by the core or by cuDNN for itself.
 */
#include "ends_kit.h"

/* What is made of the constants is 5 kernels. */
#define HALF                                                                                       \
    "in x 2 8 6 7; const k 16 8 3 3; const l 16 16 3 3; const m 16; h = Cast{to=10}(x);"           \
    "w = Cast{to=10}(Mul(k,.1)); v = Cast{to=10}(Mul(l,.05)); b = Cast{to=10}(m);"

static const struct {
    const char *text;
    unsigned of_library, kernels, reorders;
} last_cases[] = {
    /* a block of a ResNet, and another one, to a pool: from the first convolution to the last */
    {HALF "a = Relu(Conv{pads=1,1,1,1}(h,w,b)); c = Relu(Conv{pads=1,1,1,1}(a,v,b));"
          "d = Relu(Add(Conv{pads=1,1,1,1}(c,v,b),a));"
          "out Cast{to=1}(MaxPool{kernel_shape=2,2}(Relu(Conv(d,v,b))))",
     4, 8, 0},
    /* one without an end in the way of the addend */
    {HALF
     "a = Relu(Conv(h,w,b)); c = Conv{pads=1,1,1,1}(a,v,b); d = Relu(Conv{pads=1,1,1,1}(a,v,b));"
     "e = Relu(Add(Conv{pads=1,1,1,1}(d,v,b),c)); out Cast{to=1}(Relu(Conv(e,v,b)))",
     5, 7, 0},
    /* what another kernel reads, too, is brought into the plain order for it, */
    {HALF "a = Relu(Conv(h,w,b)); out Cast{to=1}(Relu(Conv(a,v,b))); out Cast{to=1}(Softmax(a))", 2,
     10, 1},
    /* which a pool need not be */
    {HALF "a = Relu(Conv(h,w,b)); out Cast{to=1}(Relu(Conv(a,v,b)));"
          "out Cast{to=1}(MaxPool{kernel_shape=2,2}(a))",
     2, 9, 0},
    /* chains go on in the order of what they read, by channels and by samples, */
    {HALF "const t 2 1 1 1; s = Cast{to=10}(t); a = Relu(Conv(h,w,b)); c = Exp(Neg(Mul(a,s)));"
          "out Cast{to=1}(Relu(Conv(c,v,b)))",
     2, 9, 0},
    /* and read the other order where there are both */
    {HALF "in y 2 16 4 5; a = Relu(Conv(h,w,b)); c = Mul(Tanh(a),Cast{to=10}(y));"
          "out Cast{to=1}(Relu(Conv(c,v,b))); out Cast{to=1}(c)",
     2, 11, 1},
};

TEST(channels_are_last_between_convolutions_of_half_types)
{
    BEGIN("");
    for (size_t i = 0; i < sizeof last_cases / sizeof *last_cases; i++) {
        const unsigned before = calls_of("cuLaunchKernel");
        const result got = compute(engine_runtime("0"), "cuda:0", last_cases[i].text);
        const result want = compute(new_runtime(), "naive:0", last_cases[i].text);
        CHECK_OK(got.status, &err);
        if (apart(&got, &want) >= 1e-2)
            CHECK_STR("right values", last_cases[i].text);
        CHECK_UINT(last_cases[i].of_library, got.of_library);
        CHECK_UINT(last_cases[i].kernels, got.kernels);
        CHECK_UINT(last_cases[i].reorders, got.stats.n_reorders);
        CHECK(calls_of("cuLaunchKernel") > before);
        CHECK_UINT(0, got.stats.n_fallbacks);
    }
    CHECK_STR("", logged);
    check_end();
}

/* ---- whole networks -------------------------------------------------------------------------- */

#define STEM                                                                                       \
    "in x 2 3 17 14; const i 16 3 3 3; const j 16 16 3 3; const k 16; const l 24 16 1 1;"          \
    "const m 24 24 3 3; const n 24; h = Cast{to=10}(x); w = Cast{to=10}(Mul(i,.05));"              \
    "v = Cast{to=10}(Mul(j,.01)); b = Cast{to=10}(k); u = Cast{to=10}(Mul(l,.05));"                \
    "t = Cast{to=10}(Mul(m,.01)); c = Cast{to=10}(n);"
#define NORM(in) "BatchNormalization(" in ",b,b,b,b)"

/* Conversions of images, as counted with programs for chains and the ends of convolutions alone,
 * and as they are. Of a picture's three channels there is always one. */
static const struct {
    const char *mode, *what, *text;
    unsigned before, conversions;
} networks[] = {
    {"strict", "a ResNet: stem, pool, two blocks, mean",
     STEM "a = Relu(Conv{strides=2,2;pads=1,1,1,1}(h,w,b));"
          "p = MaxPool{kernel_shape=3,3;strides=2,2;pads=1,1,1,1}(a);"
          "d = Relu(Conv{pads=1,1,1,1}(p,v,b)); e = Relu(Add(Conv{pads=1,1,1,1}(d,v,b),p));"
          "f = Conv{strides=2,2}(e,u,c); g = Relu(Conv{strides=2,2}(e,u,c));"
          "o = Relu(Add(Conv{pads=1,1,1,1}(g,t,c),f));"
          "out Cast{to=1}(Flatten(GlobalAveragePool(o)))",
     5, 1},
    {"strict", "a MobileNet: depthwise convolutions between those of 1 x 1",
     STEM "const q 24 1 3 3; const r 16 24 1 1; z = Cast{to=10}(Mul(q,.1));"
          "s = Cast{to=10}(Mul(r,.02)); a = Clip(Conv{strides=2,2;pads=1,1,1,1}(h,w,b),0h,6h);"
          "d = Clip(Conv(a,u,c),0h,6h); e = Clip(Conv{group=24;pads=1,1,1,1}(d,z,c),0h,6h);"
          "f = Add(Conv(e,s,b),a); g = Clip(Conv(f,u,c),0h,6h);"
          "out Cast{to=1}(Flatten(GlobalAveragePool(g)))",
     9, 1},
    {"strict", "batch norms that are not folded, and means of the plane",
     STEM "a = Relu(" NORM(
         "Conv{pads=1,1,1,1}(h,w)") ");"
                                    "d = AveragePool{kernel_shape=2,2;strides=2,2}(a);"
                                    "e = Relu(" NORM(
                                        "Conv{pads=1,1,1,1}(d,v)") ");"
                                                                   "f = " NORM(
                                                                       "Add(e,d)") "; out "
                                                                                   "Cast{to=1}("
                                                                                   "ReduceMean(f,["
                                                                                   "2,3]))",
     4, 1},
    {"strict", "a pool whose output another kernel reads, too",
     STEM "a = Relu(Conv{pads=1,1,1,1}(h,w,b)); p = MaxPool{kernel_shape=2,2;strides=2,2}(a);"
          "out Cast{to=1}(Relu(Conv(p,v,b))); out Cast{to=1}(Softmax(p))",
     4, 3},
    {"tf32", "gradients of two convolutions with a pool between them",
     "in x 2 8 9 8; const i 16 8 3 3; const j 16 16 3 3; const b 16; w = Mul(i,.03);"
     "v = Mul(j,.01); a = Relu(Conv{pads=1,1,1,1}(x,w,b));"
     "p,k = MaxPool{kernel_shape=2,2;strides=2,2}(a); d = Tanh(Conv{pads=1,1,1,1}(p,v));"
     "out ConvGradFilter{pads=1,1,1,1}(d,p,[16,16,3,3]); out SumTo(d,[1,16,1,1]);"
     "e = ConvGradInput{pads=1,1,1,1}(d,v,[2,16,4,4]);"
     "f = MaxPoolGrad{kernel_shape=2,2;strides=2,2}(e,k,[2,16,9,8]);"
     "g = Where(Greater(a,0),f,0);"
     "out ConvGradFilter{pads=1,1,1,1}(g,x,[16,8,3,3]); "
     "out ConvGradInput{pads=1,1,1,1}(g,w,[2,8,9,8])",
     12, 3},
    /* which are not all in its windows */
    {"tf32", "the gradient of a pool by the indices of another one",
     "in x 2 8 9 8; const i 16 8 3 3; const j 16 16 3 3; const b 16; w = Mul(i,.03);"
     "v = Mul(j,.01); a = Relu(Conv{pads=1,1,1,1}(x,w,b));"
     "p,k = MaxPool{kernel_shape=2,2;strides=2,2}(a);"
     "q,z = MaxPool{kernel_shape=3,2;strides=2,2}(a); d = Tanh(Conv{pads=1,1,1,1}(Add(p,q),v));"
     "e = ConvGradInput{pads=1,1,1,1}(d,v,[2,16,4,4]);"
     "f = MaxPoolGrad{kernel_shape=2,2;strides=2,2}(e,z,[2,16,9,8]);"
     "out ConvGradFilter{pads=1,1,1,1}(Where(Greater(a,0),f,0),x,[16,8,3,3])",
     8, 2},
    /* a mean of a plane for each thread */
    {"strict", "a mean over the planes of many channels",
     "in x 2 8 6 7; const i 1056 8 1 1; const j 1056; h = Cast{to=10}(x);"
     "w = Cast{to=10}(Mul(i,.1)); b = Cast{to=10}(j); a = Relu(Conv(h,w,b));"
     "out Cast{to=1}(Flatten(GlobalAveragePool(a)))",
     2, 1},
};

TEST(in_a_whole_network_images_are_converted_once)
{
    BEGIN("");
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        const result got =
            compute_in(engine_runtime("0"), "cuda:0", networks[i].mode, networks[i].text);
        const result want = compute(new_runtime(), "naive:0", networks[i].text);
        CHECK_OK(got.status, &err);
        if (apart(&got, &want) >= 1e-2)
            CHECK_STR("right values", networks[i].what);
        printf("%s: %u conversions of images, %u before\n", networks[i].what, got.conversions,
               networks[i].before);
        CHECK_UINT(networks[i].conversions, got.conversions);
        CHECK_UINT(0, got.stats.n_fallbacks);
    }
    CHECK_STR("", logged);
    check_end();
}

/* In strict float32, for our own convolutions, and where there are none. */
TEST(where_no_conversion_is_saved_pools_stay_kernels)
{
    static const struct {
        const char *from, *mode, *text;
    } plain[] = {
        {"0", "strict",
         "in x 2 8 6 7; const w 8 8 3 3; const b 8;"
         "out GlobalAveragePool(MaxPool{kernel_shape=2,2}(Conv(x,w,b)))"},
        {"1000000000", "tf32",
         "in x 2 8 6 7; const w 8 8 3 3; const b 8;"
         "out GlobalAveragePool(MaxPool{kernel_shape=2,2}(Conv(x,w,b)))"},
        {"0", "tf32", "in x 2 8 6 7; out MaxPool{kernel_shape=2,2}(Softmax(x))"},
        {"0", "tf32",
         "in x 2 8 6 7; const w 8 8 3 3; const b 8; a = Conv(x,w,b);"
         "out MaxPool{kernel_shape=2,2}(x); out Softmax(a)"},
    };
    BEGIN("");
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        const result got =
            compute_in(engine_runtime(plain[i].from), "cuda:0", plain[i].mode, plain[i].text);
        CHECK_OK(got.status, &err);
        CHECK_UINT(0, got.stats.n_programs);
        CHECK_UINT(0, got.stats.n_reorders);
    }
    check_end();
}

/* ---- trainings ------------------------------------------------------------------------------- */

/* Conversions in a step. Losses are apart by no more than the limit times theirs. */
static unsigned train(tfr_graph *(*graph)(void), const char *mode, double limit)
{
    tfr_train_options o = TFR_TRAIN_OPTIONS_INIT;
    tfr_runtime *runtime = engine_runtime("0");
    tfr_graph *net = graph();
    tfr_trainer *gpu = NULL, *cpu = NULL;
    unsigned conversions = 0;
    o.device = "cuda:0";
    o.learning_rate = .01;
    o.optimizer = "sgd";
    o.math_mode = mode;
    REQUIRE_OK(tfr_trainer_create(runtime, net, &o, &gpu, &err), &err);
    tfr_runtime_release(runtime);
    runtime = new_runtime();
    o.device = "naive:0";
    REQUIRE_OK(tfr_trainer_create(runtime, net, &o, &cpu, &err), &err);
    tfr_graph_release(net);
    tfr_runtime_release(runtime);
    for (int i = 0; i < 3; i++) {
        const unsigned before = dnn.calls("conversion");
        REQUIRE_OK(step(gpu, i), &err);
        REQUIRE_OK(step(cpu, i), &err);
        const double got = loss_of(gpu), want = loss_of(cpu);
        CHECK(fabs(got - want) < limit * want);
        CHECK_UINT(0, stats_of(tfr_trainer_session(gpu)).n_fallbacks);
        if (i == 0)
            conversions = dnn.calls("conversion") - before +
                          (unsigned)stats_of(tfr_trainer_session(gpu)).n_reorders;
    }
    tfr_trainer_destroy(gpu);
    tfr_trainer_destroy(cpu);
    CHECK_STR("", logged);
    check_end();
    return conversions;
}

TEST(in_a_training_of_the_guides_network_images_are_converted_once)
{
    BEGIN("");
    const unsigned n = train(cnn_graph, "tf32", 1e-3);
    printf("a step of the guides' CNN: %u conversions of images, 14 before\n", n);
    CHECK_UINT(1, n);
}

static tfr_graph *normed_graph(void)
{
    const int64_t dims[] = {-1, 1, SIDE, SIDE};
    tfr_net *net = NULL;
    tfr_graph *graph = NULL;
    REQUIRE_OK(tfr_net_create("normed", dims, 4, TFR_NET_KERAS, 1, &net, &err), &err);
    tfr_net_conv(net, 8, 3, NULL);
    tfr_net_batch_norm(net);
    tfr_net_max_pool(net, 2);
    tfr_net_conv(net, 16, 3, NULL);
    tfr_net_batch_norm(net);
    tfr_net_conv(net, 16, 3, "relu");
    tfr_net_max_pool(net, 2);
    tfr_net_flatten(net);
    tfr_net_dense(net, CLASSES, NULL);
    REQUIRE_OK(tfr_net_graph(net, &graph, &err), &err);
    tfr_net_destroy(net);
    return graph;
}

TEST(batch_norms_in_a_training_convert_no_images)
{
    BEGIN("");
    const unsigned n = train(normed_graph, "tf32", 1e-2);
    printf("a step of a network with batch norms: %u conversions of images, 14 before\n", n);
    CHECK_UINT(0, n);
}

static const test_case cases[] = {
    CASE(channels_are_last_between_convolutions_of_half_types),
    CASE(in_a_whole_network_images_are_converted_once),
    CASE(where_no_conversion_is_saved_pools_stay_kernels),
    CASE(in_a_training_of_the_guides_network_images_are_converted_once),
    CASE(batch_norms_in_a_training_convert_no_images),
};
TEST_MAIN_WITHOUT_TSAN(cases, "its streams are those of cuda/test_programs")
