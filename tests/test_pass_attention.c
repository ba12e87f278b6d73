/* SPDX-License-Identifier: Apache-2.0 */
/* Attention that is written in parts. */
#include "pass_kit.h"

#define QKV "in q 2 3 4 8; in k 2 3 5 8; in v 2 3 5 6; "
#define KT  "Transpose{perm=0,1,3,2}(k)"

TEST(attention_is_found)
{
    check(QKV "const m 4 5; out MatMul(Softmax(Add(Div(MatMul(q," KT "),2.5),m)),v)", "all",
          "Attention");
    check(QKV "out MatMul(Softmax(Mul(MatMul(q," KT "),0.3)),v)", "all", "Attention");
    check("in q 2 3 4 8; in k 2 5 3 8; in v 2 3 5 6; "
          "out MatMul(Softmax(MatMul(q,Transpose{perm=0,2,3,1}(k))),v)",
          "all", "Transpose Attention");
}

TEST(what_is_almost_attention_stays)
{
    check(QKV "const m 4 1; out MatMul(Softmax(Add(MatMul(q," KT "),m)),v)", "all",
          "Transpose MatMul Add Softmax MatMul");
    check("in q 2 3 4 8; in k 1 3 5 8; in v 2 3 5 6; out MatMul(Softmax(MatMul(q," KT ")),v)",
          "all", "Transpose MatMul Softmax MatMul");
    check(QKV "out MatMul(Softmax{axis=2}(MatMul(q," KT ")),v)", "all",
          "Transpose MatMul Softmax MatMul");
    check("in q ? 3 4 8; in k ? 3 5 8; in v ? 3 5 6; out MatMul(Softmax(MatMul(q," KT ")),v)",
          "all", "Transpose MatMul Softmax MatMul");
}

static const test_case cases[] = {
    CASE(attention_is_found),
    CASE(what_is_almost_attention_stays),
};
TEST_MAIN(cases)
