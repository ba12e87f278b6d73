/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs of the native backend compute of constants while they are compiled.
 */
#include "native_program_kit.h"

/* As positions relative to each other go through the weights of each layer. */
TEST(large_products_of_constants_are_computed_once)
{
    static const char *const text =
        "in x ? 8 256; const e 300 256; const w 256 256; const b 256;"
        "k = Div(Add(MatMul(e,Mul(w,0.001)),b),16); out MatMul(x,Transpose{perm=1,0}(k))";
    uint32_t n_launches = 0;
    check(text);
    CHECK_UINT(kernels_of("in x ? 8 256; const k 256 300; out MatMul(x,k)"), kernels_of(text));
    compare("in x ? 4 8 64; const e 1 260 256; const w 256 256; const b 256;"
            "k = Reshape(Sub(b,MatMul(e,Mul(w,0.001))),[1,260,4,64]);"
            "out MatMul(x,Transpose{perm=0,2,3,1}(k))",
            &n_launches);
    compare("in x ? 300; const v 256 256; const w 300 256;"
            "out Add(x,ReduceSum{keepdims=0}(MatMul(w,Mul(v,0.001)),[1]))",
            &n_launches);
}

static const test_case cases[] = {
    CASE(large_products_of_constants_are_computed_once),
};
TEST_MAIN(cases)
