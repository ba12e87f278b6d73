/* SPDX-License-Identifier: Apache-2.0 */
/* NonMaxSuppression. Small whole numbers and quarters overlap by exactly a threshold at times. */
#include "case.h"

const ops_case ops_non_max_suppression_cases[] = {
    {"NonMaxSuppression", .vars = "N=1|2 C=1..3 S=1..30 M=1..12",
     .attrs = "center_point_box?:i=0|1",
     .in = {{"f32", "N,S,4", "0..8|0..8|0.25|2.5", "niz", NULL},
            {"f32", "N,C,S", "-3..9|-0.5|0.1", "niz", NULL},
            {"i64", "1", "M", NULL, NULL},
            {"f32", "1", "0|0.25|0.5|0.75|1", NULL, "0|1"},
            {"f32", "1", "-1|0|0.1|3", NULL, "0|1"}}},
    {"NonMaxSuppression/many boxes", .vars = "C=1|2 S=200..900 M=150..900",
     .attrs = "center_point_box?:i=0|1",
     .in = {{"f32", "1,S,4", "0..900|0..30|0..99|0.1", "nizh", NULL},
            {"f32", "1,C,S", "0..999|-7..7", "nizh", NULL},
            {"i64", "", "M", NULL, NULL},
            {"f32", "1", "-0.5|0|0.01|0.3|0.5|0.7|2", NULL, NULL},
            {"f32", "1", "0|1|3", NULL, "0|1"}}},
    /* far apart, as boxes without a positive width and height count for nothing */
    {"NonMaxSuppression/small boxes", .vars = "S=300..900 M=90..900 W=20..300",
     .attrs = "center_point_box:i=1",
     .in = {{"f32", "1,S,4", "-W..0|1..9", NULL, NULL},
            {"f32", "1,1,S", "0..999|-7..7", NULL, NULL},
            {"i64", "", "M", NULL, NULL},
            {"f32", "1", "0|0.01|0.1|0.3|0.5", NULL, NULL}}},
    {0},
};
