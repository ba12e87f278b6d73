/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention as exporters write it in parts is one step of native's programs, whatever stands
 * between the heads and their products, and makes what the reference makes.
 */
#include "native_program_kit.h"

/* Heads as torch.onnx cuts them out of rows: keys are turned with three axes. */
#define ROWS                                                                                       \
    "in x ? 40 64; const w 64 64; const m 40 40; h = Reshape(MatMul(x,w),[0,40,4,16]);"            \
    "a = Transpose{perm=0,2,1,3}(h);"                                                              \
    "k = Reshape(Transpose{perm=0,2,1}(Reshape(a,[-1,40,16])),[-1,4,16,40]);"

static const char plain[] = ROWS "out Transpose{perm=0,2,1,3}(MatMul(Softmax(MatMul(a,k)),a))";

/* The parts become one step: no more steps than with nothing between. */
static void check_steps(const char *text, const char *as)
{
    check(text);
    CHECK_UINT(kernels_of(as), kernels_of(text));
}

TEST(a_guarded_softmax_of_scaled_sides_is_one_step)
{
    check_steps(ROWS "s = Softmax(Add(MatMul(Mul(a,0.3),Mul(k,0.3)),m));"
                     "y = MatMul(Where(IsNaN(s),0.0,s),a);"
                     "out Transpose{perm=0,2,1,3}(Reshape(y,[0,4,40,16]))",
                plain);
    check_steps(ROWS "s = Softmax(MatMul(Div(a,3.0),Mul(0.3,k)));"
                     "out Transpose{perm=0,2,1,3}(MatMul(Where(IsNaN(s),0.0,s),a))",
                plain);
}

TEST(rows_that_see_no_key_are_0_behind_a_guard)
{
    check_steps(ROWS "const c 40 1; const n 40; d = Log(Relu(Add(c,Mul(n,0.0))));"
                     "s = Softmax(Add(MatMul(a,k),d));"
                     "out Transpose{perm=0,2,1,3}(MatMul(Where(IsNaN(s),0.0,s),a))",
                plain);
    check(ROWS "s = Softmax(MatMul(Sqrt(a),k)); out MatMul(Where(IsNaN(s),0.0,s),a)");
}

TEST(what_is_almost_a_guard_stays)
{
    check(ROWS "s = Softmax(MatMul(a,k)); out MatMul(Where(IsNaN(s),1.0,s),a)");
    check(ROWS "s = Softmax(MatMul(a,k)); out Add(Where(IsNaN(a),0.0,a),MatMul(s,a))");
    check(ROWS "s = Softmax(MatMul(a,k)); out MatMul(Add(s,Where(IsNaN(s),0.0,s)),a)");
}

/* One row as much as more than a block of them; keys of which each is there three times. */
TEST(heads_that_are_repeated_are_read_where_they_lie_once)
{
    static const char form[] =
        "in x ? 52 96; const w 96 96; const u 96 %d; const t 96 %d; const o %d 52;"
        "a = Transpose{perm=0,2,1,3}(Reshape(MatMul(Einsum{equation=ij,bjk>bik}(o,x),w),"
        "[0,%d,6,16]));"
        "c = Transpose{perm=0,2,1,3}(Reshape(MatMul(x,u),[0,52,%d,16]));"
        "d = Transpose{perm=0,2,1,3}(Reshape(MatMul(x,t),[0,52,%d,16])); %s"
        "s = Softmax(Mul(MatMul(a,Transpose{perm=0,1,3,2}(k)),0.001));"
        "out Reshape(Transpose{perm=0,2,1,3}(MatMul(s,v)),[0,%d,96])";
    static const char more[] = "k = Reshape(Expand(Unsqueeze(c,[2]),[1,2,3,52,16]),[-1,6,52,16]);"
                               "v = Reshape(Expand(Unsqueeze(d,[2]),[1,2,3,52,16]),[-1,6,52,16]);";
    static const int rows[] = {1, 3, 20, 70};
    char text[2000], as[2000];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int n = rows[i];
        snprintf(text, sizeof text, form, 32, 32, n, n, 2, 2, more, n);
        snprintf(as, sizeof as, form, 96, 96, n, n, 6, 6, "k = Identity(c); v = Identity(d);", n);
        check_steps(text, as);
    }
}

TEST(keys_and_values_that_are_repeated_differently_stay_right)
{
    check("in x ? 20 96; const w 96 96; const u 96 32; a = Reshape(MatMul(x,w),[0,20,6,16]);"
          "q = Transpose{perm=0,2,1,3}(a); k = Reshape(MatMul(x,u),[0,20,2,1,16]);"
          "r = Reshape(Expand(Transpose{perm=0,2,3,1,4}(k),[1,2,3,20,16]),[-1,6,20,16]);"
          "s = Softmax(MatMul(Mul(q,0.02),Transpose{perm=0,1,3,2}(r))); out MatMul(s,q)");
    check("in x ? 20 96; const w 96 96; const u 96 32; a = Reshape(MatMul(x,w),[0,20,6,16]);"
          "q = Transpose{perm=0,2,1,3}(a); k = Reshape(MatMul(x,u),[0,20,2,1,16]);"
          "r = Reshape(Expand(Transpose{perm=0,2,3,1,4}(k),[1,2,3,20,16]),[-1,6,20,16]);"
          "b = Reshape(Expand(Transpose{perm=0,3,2,1,4}(k),[1,3,2,20,16]),[-1,6,20,16]);"
          "s = Softmax(MatMul(Mul(q,0.02),Transpose{perm=0,1,3,2}(r))); out MatMul(s,b)");
}

TEST(heads_that_are_a_part_of_one_product_are_read_there)
{
    check_steps("in x ? 40 64; const w 64 128; a,b = Split{axis=2;num_outputs=2}(MatMul(x,w));"
                "q = Transpose{perm=0,2,1,3}(Reshape(a,[0,40,4,16]));"
                "k = Transpose{perm=0,2,3,1}(Reshape(b,[0,40,4,16]));"
                "v = Transpose{perm=0,2,1,3}(Reshape(b,[0,40,4,16]));"
                "out Transpose{perm=0,2,1,3}(MatMul(Softmax(MatMul(Mul(q,0.02),k)),v))",
                plain);
}

/* As torch's MultiheadAttention cuts them: by an index each, out of one product. */
TEST(heads_that_are_indexed_are_read_there)
{
    static const char form[] =
        "in x ? 40 64; const w 64 192; y = Reshape(MatMul(x,w),[0,40,3,4,16]);"
        "z = Transpose{perm=2,0,3,1,4}(y); q = Squeeze(Gather(z,[0]),[0]);"
        "k = Gather(z,Squeeze([1],[0])); v = Squeeze(Gather(z,[-1]),[0]); %s";
    static const char *const ends[] = {
        "s = Softmax(MatMul(Mul(q,0.01),Transpose{perm=0,1,3,2}(k)));"
        "out Transpose{perm=0,2,1,3}(MatMul(s,v))",
        "out Transpose{perm=0,2,1,3}(Attention{scale=0.01;is_causal=1}(q,k,v))"};
    char text[2000];
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(text, sizeof text, form, ends[i]);
        check_steps(text, plain);
    }
    check("in x ? 5 6; a = Gather{axis=1}(Relu(x),[-2]); b = Gather{axis=2}(x,[3]);"
          "out Add(Reshape(a,[0,6,1]),Reshape(Gather{axis=1}(b,Squeeze([0],[0])),[0,1,1]))");
}

TEST(heads_that_are_samples_are_one_step)
{
    check("in x ? 40 16; const w 16 16; const m 40 40; q = MatMul(x,w);"
          "s = Softmax(Add(MatMul(Mul(q,0.25),Transpose{perm=0,2,1}(x)),m)); out MatMul(s,x)");
    check("in x ? 7 16; const w 16 16; q = MatMul(x,w); m = MatMul(x,Transpose{perm=0,2,1}(x));"
          "s = Softmax(Add(MatMul(q,Transpose{perm=0,2,1}(x)),m)); out MatMul(s,x)");
}

/* Who else reads a scaled operand still gets it. */
TEST(operands_that_others_read_stay)
{
    check(ROWS "q = Mul(a,0.3); l = Mul(k,2.0); s = Softmax(MatMul(q,l));"
               "out Add(MatMul(s,a),MatMul(Add(MatMul(q,l),m),q))");
}

static const test_case cases[] = {
    CASE(a_guarded_softmax_of_scaled_sides_is_one_step),
    CASE(rows_that_see_no_key_are_0_behind_a_guard),
    CASE(what_is_almost_a_guard_stays),
    CASE(heads_that_are_repeated_are_read_where_they_lie_once),
    CASE(keys_and_values_that_are_repeated_differently_stay_right),
    CASE(heads_that_are_a_part_of_one_product_are_read_there),
    CASE(heads_that_are_indexed_are_read_there),
    CASE(heads_that_are_samples_are_one_step),
    CASE(operands_that_others_read_stay),
};
TEST_MAIN(cases)
