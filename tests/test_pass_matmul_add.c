/* SPDX-License-Identifier: Apache-2.0 */
/* A product and a sum as one Gemm. */
#include "pass_kit.h"

TEST(a_product_and_a_row_are_one_gemm)
{
    check("in x ? 3; const w 3 4; const b 4; out Add(MatMul(x,w),b)", "all", "Gemm");
    check("in x 2 3; var w 3 4; var b 1 4; out Add(b,MatMul(x,w))", "all", "Gemm");
}

TEST(a_product_stays_if_the_sum_is_no_row)
{
    check("in x 2 5 3; const w 3 4; const b 4; out Add(MatMul(x,w),b)", "all", "MatMul Add");
    check("in x 2 3; const w 3 1; const b 4; out Add(MatMul(x,w),b)", "all", "MatMul Add");
    check("in x 2 3; const w 3 4; const b 4 1 1; out Add(MatMul(x,w),b)", "all", "MatMul Add");
    check("in x 2 3; const w 3 4; const b 4; y = MatMul(x,w); out Mul(Add(y,b),y)", "all",
          "MatMul Add Mul");
    check("in x * 2 3; const w 3 4; const b 4; out Add(MatMul(x,w),b)", "none", "MatMul Add");
}

static const test_case cases[] = {
    CASE(a_product_and_a_row_are_one_gemm),
    CASE(a_product_stays_if_the_sum_is_no_row),
};
TEST_MAIN(cases)
