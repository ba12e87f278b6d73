/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations that are written in parts. */
#include "pass_kit.h"

#define LN_HEAD "in x 2 3 8; const s 8; const t 8; "

TEST(layer_normalization_is_found)
{
    check(LN_HEAD LN_OF("Sub(x,ReduceMean(x,[-1]))", "-1", ""), "all", "LayerNormalization");
    check(LN_HEAD LN_OF("Sub(x,ReduceMean(x,[2]))", "-1", ""), "all", "LayerNormalization");
    check("in x ? ? 8; var s 8; var t 8; "
          "out Add(t,Mul(s,Mul(Sub(x,ReduceMean(x,[-1])),Reciprocal(Sqrt(Add(0.00001,"
          "ReduceMean(Mul(Sub(x,ReduceMean(x,[-1])),Sub(x,ReduceMean(x,[-1]))),[-1])))))))",
          "all", "LayerNormalization");
    check("in x 2 3 8; const s 3 8; const t 3 8; " LN_OF("Sub(x,ReduceMean(x,[1,2]))", "-1,-2", ""),
          "all", "LayerNormalization");
    check("in x 2 3 8; const s 8; "
          "out Mul(Div(x,Sqrt(Add(ReduceMean(Mul(x,x),[-1]),0.00001))),s)",
          "all", "RMSNormalization");
}

TEST(what_is_almost_a_normalization_stays)
{
    const char *all = "ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul Add";
    const char *rms = "ReduceMean Sub RMSNormalization Add"; /* which is there at least */
    check("in x 2 8 8; const s 8; const t 8; " LN_OF("Sub(x,ReduceMean(x,[1]))", "1", ""), "all",
          all);
    check(LN_HEAD LN_OF("Sub(x,ReduceMean(x,[-1]))", "1", ""), "all", all);
    check("in x 2 3 1; const s 8; const t 8; " LN_OF("Sub(x,ReduceMean(x,[-1]))", "-1", ""), "all",
          all);
    check("in x 8 8 8; const s 8; const t 8; " LN_OF("Sub(x,ReduceMean{keepdims=0}(x,[-1]))", "-1",
                                                     ""),
          "all", rms);
    check("in x 2 3 8; const s 3 8; const t 8; " LN_OF("Sub(x,ReduceMean(x,[-1]))", "-1", ""),
          "all", all);
    check(LN_HEAD LN_OF("Sub(x,ReduceMean(x,[-1]))", "-1", "; out Relu(d)"), "all",
          "ReduceMean Sub RMSNormalization Add Relu");
}

static const test_case cases[] = {
    CASE(layer_normalization_is_found),
    CASE(what_is_almost_a_normalization_stays),
};
TEST_MAIN(cases)
