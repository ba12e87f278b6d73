/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs of the native backend compute of constants while they are compiled: rows of a
 * matrix that a one-hot product picks, and products of two constants; and where known tuples go.
 */
#include "native_program_kit.h"

#define IDS    "in x ? 20 1; const w 7 12; const b 12; i = Cast{to=7}(Mul(x,9));"
#define PICKED "h = MatMul(Cast{to=1}(Equal(i,[0,1,2,3,4,5,6])),w);"
#define CURVE  "Mul(y,Add(Tanh(Mul(y,Add(Mul(y,y),1))),1))"

/* Numbers from -8 to 8, of which 0 to 6 have rows. */
TEST(rows_of_ones_times_a_matrix_are_rows_of_it)
{
    check(IDS PICKED "out Relu(Add(h,b))");
    check("in x ? 1; const w 7 12; const b 12; i = Cast{to=7}(Mul(x,9));"
          "out Relu(Gemm(Cast{to=1}(Equal(i,[0,1,2,3,4,5,6])),w,b))");
    check(IDS "out MatMul(Cast{to=1}(Equal([0,1,2,3,4,5,6],i)),w)");
    check("in x ? 20 1; const w 7 12; i = Cast{to=6}(Mul(x,9));"
          "out MatMul(Cast{to=1}(Equal(i,Cast{to=6}([0,1,2,3,4,5,6]))),w)");
    check(IDS "k = Reshape([0,1,2,3,4,5,6],[1,1,7]); out MatMul(Cast{to=1}(Equal(i,k)),w)");
    CHECK_UINT(kernels_of(IDS "out MatMul(Cast{to=1}(Equal(i,[0,1,2,3,4,5,7])),w)") - 2,
               kernels_of(IDS PICKED "out h"));
}

TEST(what_follows_them_is_computed_for_the_rows_of_the_matrix)
{
    check(IDS PICKED "y = Add(h,b); out " CURVE);
    check(IDS PICKED "y = Mul(h,3); out Add(" CURVE ",Sub(b,h))");
    CHECK_UINT(kernels_of(IDS PICKED "out h"), kernels_of(IDS PICKED "y = Add(h,b); out " CURVE));
}

TEST(it_is_not_for_fewer_numbers_than_rows)
{
    check("in x ? 2 1; const w 7 12; const b 12; i = Cast{to=7}(Mul(x,9));" PICKED
          "y = Add(h,b); out " CURVE);
}

TEST(products_of_others_stay)
{
    check(IDS "out MatMul(Cast{to=1}(Equal(i,[1,2,3,4,5,6,7])),w)");
    check(IDS "out MatMul(Cast{to=1}(Equal(i,[0,1,2,3,5,4,6])),w)");
    check("in x ? 20 7; const w 7 12; i = Cast{to=7}(Mul(x,9));"
          "out MatMul(Cast{to=1}(Equal(i,[0,1,2,3,4,5,6])),w)");
    check(IDS "e = Cast{to=1}(Equal(i,[0,1,2,3,4,5,6])); out Add(MatMul(e,w),ReduceSum(e,[2]))");
    check(IDS "h = MatMul(Cast{to=1}(Equal(i,[0,1,2,3,4,5,6])),Div(w,Sub(b,b)));"
              "out Cast{to=1}(IsNaN(h))");
}

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

/* Also where they go backwards, meet, or count from the end. */
TEST(slices_are_assigned_where_their_tuples_say)
{
    static const char *const tuples[] = {"[0,0,0,1,0,2,0,3],[4,2]",    "[0,0,0,2,0,4,0,5],[4,2]",
                                         "[0,5,0,3,0,1,0,0],[4,2]",    "[0,2,0,2,0,2,0,2],[4,2]",
                                         "[0,-1,0,-2,0,3,0,-3],[4,2]", "[0,1,0,4,0,1,0,4],[4,2]",
                                         "[-1,0,-1,1,-1,2,-1,3],[4,2]"};
    char text[300];
    uint32_t n_launches = 0;
    for (size_t i = 0; i < sizeof tuples / sizeof tuples[0]; i++) {
        snprintf(text, sizeof text,
                 "in x ? 6 5; const u 4 5; out Relu(ScatterND(Neg(x),Reshape(%s),u))", tuples[i]);
        compare(text, &n_launches);
    }
    compare("in x ? 6 5; const u 2; i = Reshape([0,5,1,0,5,4],[2,3]);"
            "out Relu(ScatterND(Neg(x),i,u))",
            &n_launches);
    compare("in x ? 6 5; const u 1 5; const v 3 2; i = Reshape([0,0,0,2,0,4],[3,2]);"
            "j = Concat{axis=1}(i,Reshape([1,1,1],[3,1]));"
            "y = ScatterND(Neg(x),Concat{axis=0}(j,j),Reshape(v,[6]));"
            "out Relu(ScatterND(y,Reshape([0,4],[1,2]),u))",
            &n_launches);
}

static const test_case cases[] = {
    CASE(rows_of_ones_times_a_matrix_are_rows_of_it),
    CASE(what_follows_them_is_computed_for_the_rows_of_the_matrix),
    CASE(it_is_not_for_fewer_numbers_than_rows),
    CASE(products_of_others_stay),
    CASE(slices_are_assigned_where_their_tuples_say),
    CASE(large_products_of_constants_are_computed_once),
};
TEST_MAIN(cases)
