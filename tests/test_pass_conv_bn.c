/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalization inside of the convolution before it. */
#include "pass_kit.h"

TEST(batch_normalization_goes_into_the_convolution)
{
    const char *rest = "const s 4; const b 4; const m 4; const v 4; ";
    char text[300];
    snprintf(text, sizeof text, "in x 1 3 8 8; const w 4 3 3 3; %sout " BN "(Conv(x,w),s,b,m,v)",
             rest);
    check(text, "all", "Conv");
    check(text, "-conv_bn", "Conv BatchNormalization");
    snprintf(text, sizeof text,
             "in x ? 4 6 6; const w 4 2 3 3; const c 4; %sout Relu(" BN
             "(Conv{group=2}(x,w,c),s,b,m,v))",
             rest);
    check(text, "all", "Conv Relu");
    snprintf(text, sizeof text,
             "in x 1 6 5 5; const w 6 2 3 3; const c 4; %sout " BN
             "(ConvTranspose{group=2;strides=2,2}(x,w,c),s,b,m,v)",
             rest);
    check(text, "all", "ConvTranspose");
    /* Two convolutions with the same weights get weights of their own. */
    snprintf(text, sizeof text,
             "in x 1 3 8 8; in y 1 3 8 8; const w 4 3 3 3; %s"
             "out Add(" BN "(Conv(x,w),s,b,m,v),Conv(y,w))",
             rest);
    check(text, "all", "Conv Conv Add");
}

TEST(batch_normalization_stays_where_it_cannot_be_folded)
{
    check("in x 1 3 8 8; const w 4 3 3 3; const s 4; c = Conv(x,w); "
          "out Add(" BN "(c,s,s,s,s),c)",
          "all", "Conv BatchNormalization Add");
    check("in x 1 3 8 8; var w 4 3 3 3; const s 4; out " BN "(Conv(x,w),s,s,s,s)", "all",
          "Conv BatchNormalization");
    check("in x 1 3 8 8; const w 4 3 3 3; const s 4; "
          "out BatchNormalization{training_mode=1}(Conv(x,w),s,s,s,s)",
          "all", "Conv BatchNormalization");
    check("in x 1 3 8 8; const w 4 3 3 3; const s 4; out " BN "(Relu(Conv(x,w)),s,s,s,s)", "all",
          "Conv Relu BatchNormalization");
}

TEST(batch_normalization_stays_if_its_scale_is_no_usual_number)
{
    check("in x 1 3 8 8; const w 4 3 3 3; const b 4; const m 4; const v 4; "
          "out " BN "(Conv(x,w),Mul(m,1e36),b,m,v)",
          "all", "Conv BatchNormalization");
}

static const test_case cases[] = {
    CASE(batch_normalization_goes_into_the_convolution),
    CASE(batch_normalization_stays_where_it_cannot_be_folded),
    CASE(batch_normalization_stays_if_its_scale_is_no_usual_number),
};
TEST_MAIN(cases)
