/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images with the channels last between convolutions on tensor cores, over the stand-ins: values,
 * and how many images are brought into another order.
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

static const test_case cases[] = {
    CASE(channels_are_last_between_convolutions_of_half_types),
};
TEST_MAIN(cases)
