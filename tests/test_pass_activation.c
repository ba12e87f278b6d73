/* SPDX-License-Identifier: Apache-2.0 */
/* Activations that are written in parts. */
#include "pass_kit.h"

#define ERF        "Add(Erf(Div(x,1.4142135)),1)"
#define TANH(cube) "Add(Tanh(Mul(Add(x,Mul(" cube ",0.044715)),0.7978846)),1)"

TEST(gelu_is_found_in_every_spelling)
{
    static const char *const spellings[] = {
        "Mul(Mul(x," ERF "),0.5)",
        "Mul(0.5,Mul(" ERF ",x))",
        "Mul(Mul(x,0.5)," ERF ")",
        "Mul(x,Mul(0.5," ERF "))",
        "Mul(Mul(x,0.5),Add(1,Erf(Mul(x,0.70710677))))",
        "Mul(Mul(x,0.5)," TANH("Pow(x,3)") ")",
        "Mul(Mul(0.5,x)," TANH("Mul(x,Mul(x,x))") ")",
        "Mul(x,Mul(0.5," TANH("Mul(Mul(x,x),x)") "))",
        "Mul(Mul(x,0.5),Add(1,Tanh(Mul(Mul(x,0.7978846),Add(1,Mul(Mul(0.044715,x),x))))))",
    };
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        char text[300];
        snprintf(text, sizeof text, "in x ? 7; out %s", spellings[i]);
        check(text, "all", "Gelu");
    }
}

TEST(other_activations_are_found)
{
    check("in x 7; out Mul(x,Sigmoid(x))", "all", "Swish");
    check("in x 7; out Mul(Tanh(Softplus(x)),x)", "all", "Mish");
    check("in x 7; out Mul(x,Div(Clip(Add(x,3),0,6),6))", "all", "HardSwish");
}

TEST(what_is_almost_an_activation_stays)
{
    check("in x 7; in y 7; out Mul(x,Sigmoid(y))", "all", "Sigmoid Mul");
    check("in x 7; s = Sigmoid(x); out Mul(x,s); out s", "all", "Sigmoid Mul");
    check("in x 7; out Mul(Mul(x,0.5),Add(Erf(Div(x,1.4)),1))", "all", "Mul Div Erf Add Mul");
    check("in x 7; out Mul(x,Sigmoid@naive:0(x))", "all", "Sigmoid Mul");
}

static const test_case cases[] = {
    CASE(gelu_is_found_in_every_spelling),
    CASE(other_activations_are_found),
    CASE(what_is_almost_an_activation_stays),
};
TEST_MAIN(cases)
