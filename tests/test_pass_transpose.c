/* SPDX-License-Identifier: Apache-2.0 */
/* Transposes that cancel, move or go into a product. */
#include "pass_kit.h"

TEST(transposes_in_a_row_cancel_or_become_one)
{
    check("in x 2 3 4; out Relu(" TT "(" TT "(x)))", "transpose", "Relu");
    check("in x 2 3; out Transpose(Transpose(x))", "transpose,fold", "");
    check("in x 2 3 4; out Transpose{perm=0,1,2}(Relu(x))", "transpose", "Relu");
    check("in x 2 3 4; out Transpose{perm=1,2,0}(" TT "(x))", "transpose", "Transpose");
    check("in x 2 3 4; y = " TT "(x); out y; out " TT "(y)", "transpose", "Transpose");
}

TEST(a_transpose_moves_behind_elementwise_ops)
{
    check("in x 2 3 4; out " TT "(Relu(" TT "(x)))", "transpose", "Relu");
    check("in x 2 3 4; in y 2 3 4; out Add(" TT "(x)," TT "(y))", "transpose", "Add Transpose");
    check("in x 2 3 4; const w 3; out " TT "(Mul(" TT "(x),w))", "transpose", "Mul");
    check("in x 2 3 4; const w 4 1; out " TT "(Exp(Mul(" TT "(x),w)))", "transpose", "Mul Exp");
    check("in x 2 3 4; y = " TT "(x); out " TT "(Add(y,y))", "transpose", "Add");
    check("in x ? ? ?; out " TT "(Clip(" TT "(x),0,1))", "transpose", "Clip");
}

TEST(a_transpose_stays_where_moving_would_cost)
{
    check("in x 2 3 4; y = " TT "(x); out Add(Relu(y),Softmax(y))", "transpose",
          "Transpose Relu Softmax Add");
    check("in x 2 3 3; in y 2 3 3; out Add(" TT "(x),y)", "transpose", "Transpose Add");
    check("in x 2 3 4; const w 4 3; out Add(" TT "(x),w)", "transpose", "Transpose Add");
    check("in x 2 3 4; in y 4 3 2; out Add(Transpose(x),Transpose{perm=0,1,2}(y))", "fold,cse",
          "Transpose Transpose Add");
}

TEST(a_product_takes_its_operand_transposed)
{
    check("in x 3 2; in y 3 4; out MatMul(Transpose(x),y)", "fold,transpose", "Gemm");
    check("in x 3 2; in y 4 3; out Gemm(Transpose(x),Transpose(y))", "fold,transpose", "Gemm");
    check("in x 3 2; in y 3 4; out Gemm{transA=1}(x,y)", "transpose", "Gemm");
    check("in x 5 3 2; in y 3 4; out MatMul(" TT "(x),y)", "fold,transpose", "Transpose MatMul");
}

static const test_case cases[] = {
    CASE(transposes_in_a_row_cancel_or_become_one),
    CASE(a_transpose_moves_behind_elementwise_ops),
    CASE(a_transpose_stays_where_moving_would_cost),
    CASE(a_product_takes_its_operand_transposed),
};
TEST_MAIN(cases)
