/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention as exporters write it in parts is one step of native's programs, whatever stands
 * between the heads and their products, and makes what the reference makes; so is the op Attention.
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

/* Whatever the order of the letters; a projection behind it, or in front, takes over its bias. */
TEST(products_written_as_einsum_are_the_same_step)
{
    static const char *const forms[] = {
        "s = Softmax(Mul(Einsum{equation=bhlk,bhtk>bhlt}(a,a),0.3));"
        "out Transpose{perm=0,2,1,3}(Einsum{equation=bhlt,bhtv>bhlv}(s,a))",
        "s = Softmax(Add(Einsum{equation=bthd,bshd>bhts}(h,h),m));"
        "out Einsum{equation=bhts,bshd>bthd}(s,h)",
        "s = Softmax(Mul(Einsum{equation=bshd,bthd>bhts}(h,h),0.3));"
        "out Einsum{equation=bshd,bhts>bthd}(h,s)"};
    char text[2000];
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        snprintf(text, sizeof text, "%s%s", ROWS, forms[i]);
        check_steps(text, plain);
    }
    check_steps("in x ? 40 64; const w 4 16 64; const b 64; h = Reshape(Relu(x),[0,40,4,16]);"
                "out Sigmoid(Add(Einsum{equation=bthd,hdm>btm}(h,w),b))",
                "in x ? 40 64; const w 64 64; const b 64; out Sigmoid(Add(MatMul(Relu(x),w),b))");
    check("in x ? 5 6; const w 4 6; out Einsum{equation=bth,gh>bgt}(x,w)");
}

/* Two transpositions and a product between scores and their softmax are one step, or behind it. */
TEST(heads_are_mixed_where_they_lie)
{
    static const char with[] =
        ROWS "const v 4 4; const b 4; const u 4 4; t = Transpose{perm=0,2,3,1}(MatMul(a,k));"
             "s = Softmax(Transpose{perm=0,3,1,2}(Add(MatMul(t,v),b)));"
             "out MatMul(Einsum{equation=bhij,hg>bgij}(s,u),a)";
    static const char without[] = ROWS "out MatMul(Sigmoid(Softmax(Sigmoid(MatMul(a,k)))),a)";
    check_steps(with, without);
    check("in x ? 5 30 41; const w 5 9; const b 9;"
          "y = MatMul(Transpose{perm=0,2,3,1}(x),w); out Transpose{perm=0,3,1,2}(Add(b,y))");
    check(
        "in x 7 ? 41; const w 7 11; out Transpose{perm=2,0,1}(MatMul(Transpose{perm=1,2,0}(x),w))");
}

TEST(channels_that_are_turned_otherwise_stay_right)
{
    check("in x ? 6 30 30; const w 6 6; y = MatMul(Transpose{perm=0,3,2,1}(x),w);"
          "out Transpose{perm=0,3,1,2}(y)");
    check("in x ? 6 30 30; const w 6 6; y = MatMul(Transpose{perm=0,2,3,1}(x),w);"
          "out Transpose{perm=0,3,2,1}(y)");
    check("in x ? 6 30 30; const w 6 6; y = MatMul(Transpose{perm=0,2,3,1}(x),w);"
          "out Add(Transpose{perm=0,3,1,2}(y),ReduceMean{keepdims=1}(y,[1,2,3]))");
}

/* Who else reads a scaled operand still gets it. */
TEST(operands_that_others_read_stay)
{
    check(ROWS "q = Mul(a,0.3); l = Mul(k,2.0); s = Softmax(MatMul(q,l));"
               "out Add(MatMul(s,a),MatMul(Add(MatMul(q,l),m),q))");
}

/* ---- masks, the op, shared heads ---- */

TEST(attention_of_several_heads)
{
    uint32_t n_launches;
    compare("in x ? 10 32; const q 32 32; const k 32 32; const v 32 32; const o 32 32;"
            "a = Transpose{perm=0,2,1,3}(Reshape(MatMul(x,q),[0,10,4,8]));"
            "b = Transpose{perm=0,2,3,1}(Reshape(MatMul(x,k),[0,10,4,8]));"
            "c = Transpose{perm=0,2,1,3}(Reshape(MatMul(x,v),[0,10,4,8]));"
            "s = Softmax{axis=-1}(Mul(MatMul(a,b),0.01));"
            "y = Reshape(Transpose{perm=0,2,1,3}(MatMul(s,c)),[0,10,32]); out Add(x,MatMul(y,o))",
            &n_launches);
}

TEST(attention_is_one_step_with_its_scale_mask_and_heads)
{
    static const char heads[] =
        "in x ? 48 64; const q 64 64; const k 64 64; const m 1 1 48 48;"
        "const n 48; a = Transpose{perm=0,2,1,3}(Reshape(MatMul(x,q),[0,48,4,16]));"
        "r = Reshape(MatMul(x,k),[0,48,4,16]); b = Transpose{perm=0,2,3,1}(r);";
    static const char *const scores[] = {
        "s = Softmax{axis=-1}(Add(Div(MatMul(a,b),300),Mul(m,-5)));",
        "s = Softmax(Mul(0.01,MatMul(a,b)));", "s = Softmax{axis=3}(Add(Mul(n,-3),MatMul(a,b)));",
        ("t = Transpose{perm=0,1,3,2}(Transpose{perm=0,2,1,3}(r));"
         "s = Softmax(Add(Mul(MatMul(Mul(a,0.01),t),0.5),Relu(n)));"),
        "s = Softmax(Mul(MatMul(a,Relu(b)),0.003));"};
    char text[2000];
    for (size_t i = 0; i < sizeof scores / sizeof scores[0]; i++) {
        snprintf(text, sizeof text,
                 "%s%s z = Transpose{perm=0,2,1,3}(MatMul(s,a)); out Reshape(z,[0,48,64])", heads,
                 scores[i]);
        check(text);
        snprintf(text, sizeof text, "%s%s out MatMul(s,a)", heads, scores[i]);
        check(text);
    }
}

TEST(attention_reads_a_mask_of_each_sample)
{
    check("in x ? 16 32; const q 32 32; const w 32 16;"
          "a = Transpose{perm=0,2,1,3}(Reshape(MatMul(x,q),[0,16,2,16]));"
          "m = Reshape(MatMul(x,w),[0,1,16,16]);"
          "s = Softmax(Add(MatMul(a,Transpose{perm=0,1,3,2}(a)),m));"
          "out Transpose{perm=0,2,1,3}(MatMul(s,a))");
}

/* More rows than a block has, of which each sees a part of the keys. */
TEST(the_op_attention_is_in_the_program_in_all_its_forms)
{
    static const char x[] = "in x ? 100 64; const q 64 64; const k 64 32; const v 64 32;"
                            "a = MatMul(x,q); b = MatMul(x,k); c = MatMul(x,v);"
                            "d = Transpose{perm=0,2,1,3}(Reshape(a,[0,100,4,16]));"
                            "e = Transpose{perm=0,2,1,3}(Reshape(b,[0,100,2,16]));"
                            "f = Transpose{perm=0,2,1,3}(Reshape(c,[0,100,2,16]));";
    static const char *const ends[] = {
        "out Attention{q_num_heads=4;kv_num_heads=2;is_causal=1;scale=0.02}(a,b,c)",
        "out Transpose{perm=0,2,1,3}(Attention{is_causal=1;scale=0.02}(d,e,f))",
        "out Attention{left_window_size=20;right_window_size=5;softcap=3.0;scale=0.02}(d,e,f)",
        "const m 100 100; out Attention{scale=0.02}(d,e,f,Greater(m,0))",
        "const m 4 1 100; out Attention{scale=0.02;is_causal=1}(d,e,f,Mul(m,3))"};
    char text[2000];
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(text, sizeof text, "%s%s", x, ends[i]);
        check(text);
    }
}

TEST(heads_of_keys_that_are_a_part_of_a_product_are_the_right_ones)
{
    check("in x 2 4 8; const w 8 16; a,b = Split{axis=2;num_outputs=2}(MatMul(x,w));"
          "y,k = Attention{q_num_heads=2;kv_num_heads=2}(a,b,b);"
          "out Add(Reshape(y,[64]),Reshape(k,[64]))");
}

TEST(heads_of_one_row_share_keys_of_the_past)
{
    check("in x 1 1 64; const q 64 128; const k 64 32; const p 1 2 130 16; const r 1 2 130 16;"
          "out Attention{q_num_heads=8;kv_num_heads=2;is_causal=1;scale=0.02}(MatMul(x,q),"
          "MatMul(x,k),MatMul(x,k),-,p,r)");
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
    CASE(products_written_as_einsum_are_the_same_step),
    CASE(heads_are_mixed_where_they_lie),
    CASE(channels_that_are_turned_otherwise_stay_right),
    CASE(operands_that_others_read_stay),
    CASE(attention_of_several_heads),
    CASE(attention_is_one_step_with_its_scale_mask_and_heads),
    CASE(attention_reads_a_mask_of_each_sample),
    CASE(the_op_attention_is_in_the_program_in_all_its_forms),
    CASE(heads_of_keys_that_are_a_part_of_a_product_are_the_right_ones),
    CASE(heads_of_one_row_share_keys_of_the_past),
};
TEST_MAIN(cases)
