/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on strings. */
#include "case.h"

const ops_case ops_string_concat_cases[] = {
    {"RegexFullMatch", .vars = "R=0..3 d=0..5", .attrs = "pattern:s=[a-z]*|.*e.*|a?",
     .in = {{"string", "d^R", NULL, NULL, NULL}}},
    {"StringConcat", .vars = "R=0..3 d=0..5",
     .in = {{"string", "~d^R", NULL, NULL, NULL}, {"string", "~d^R", NULL, NULL, NULL}}},
    {"StringNormalizer", .vars = "N=1..5", .attrs = "case_change_action?:s=NONE|LOWER|UPPER",
     .in = {{"string", "N", NULL, NULL, NULL}}},
    {"StringSplit", .vars = "R=0..3 d=1..4", .attrs = "delimiter?:s=e maxsplit?:i=1|2",
     .in = {{"string", "d^R", NULL, NULL, NULL}}, .outputs = "2"},
    {0},
};
