/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of ops that move elements, all of them linear; gradient_kit.h checks. */
#include "gradient_kit.h"

TEST(elements_in_another_order)
{
    static const gradient_case c[] = {
        {"CenterCropPad", "f4,5 i2,8", "", .flags = LINEAR | SECOND},
        {"Concat", "f2,3 f2,1 0", "axis:i=-1", .flags = LINEAR | SECOND},
        {"DepthToSpace", "f1,8,2,3", "blocksize:i=2 mode:s=CRD", .flags = LINEAR | SECOND},
        {"Expand", "f2,1 i3,2,4", "", .flags = LINEAR | SECOND},
        {"Flatten", "f2,3,2", "axis:i=2", .flags = LINEAR | SECOND},
        {"Pad", "f2,3 i1,0,-1,2", "", .flags = LINEAR | SECOND},
        {"Pad", "f2,3 i1,0,2,2 f", "", .flags = LINEAR | SECOND},
        {"Pad", "f2,3 i1,2 - i1", "mode:s=reflect", .flags = LINEAR | SECOND},
        {"Pad", "f2,3 i1,2,3,0", "mode:s=edge", .flags = LINEAR},
        {"Pad", "f2,3 i1,2,3,4", "mode:s=wrap", .flags = LINEAR},
        {"Reshape", "f2,6 i3,-1", "", .flags = LINEAR | SECOND},
        {"ReverseSequence", "f4,3 i1,4,2", "", .flags = LINEAR | SECOND},
        {"Slice", "f4,5 i1,0 i3,4", "", .flags = LINEAR | SECOND},
        {"Slice", "f4,5 i3,-1 i0,-9 i0,1 i-1,-2", "", .flags = LINEAR | SECOND},
        {"Slice", "f4,5 i2 i2 i0", "", .flags = LINEAR},
        {"SpaceToDepth", "f1,2,4,6", "blocksize:i=2", .flags = LINEAR | SECOND},
        {"Split", "f7,2 i2,4,1", "", .flags = LINEAR | SECOND, .n_outputs = 3, .outputs = 7},
        {"Split", "f2,7 i2,4,1", "axis:i=-1", .flags = LINEAR, .n_outputs = 3, .outputs = 5},
        {"Split", "f5", "num_outputs:i=2", .flags = LINEAR, .n_outputs = 2, .outputs = 2},
        {"Squeeze", "f2,1,3 i1", "", .flags = LINEAR},
        {"Tile", "f2,3 i2,3", "", .flags = LINEAR | SECOND},
        {"Tile", "f2,3 i0,3", "", .flags = LINEAR},
        {"Transpose", "f2,3,4", "perm:is=2,0,1", .flags = LINEAR | SECOND},
        {"Trilu", "f2,3,4", "", .flags = LINEAR | SECOND},
        {"Trilu", "f4,4 i-1", "upper:i=0", .flags = LINEAR},
        {"Unsqueeze", "f2,3 i0,-1", "", .flags = LINEAR},
    };
    CHECK_GRADIENTS(c);
}

TEST(elements_at_indices)
{
    static const gradient_case c[] = {
        {"Compress", "f4,3 b4", "axis:i=0", .flags = LINEAR | SECOND},
        {"Compress", "f2,3 b5", "", .flags = LINEAR},
        {"Gather", "f4,3 n4:2,3", "", .flags = LINEAR | SECOND},
        {"Gather", "f4,3 n3:5", "axis:i=-1", .flags = LINEAR},
        {"Gather", "f4,3 n4:", "", .flags = LINEAR},
        {"GatherElements", "f4,3 n4:5,2", "", .flags = LINEAR | SECOND},
        {"GatherND", "f4,3 n3:5,2", "", .flags = LINEAR | SECOND},
        {"GatherND", "f2,4,3 n3:2,3,1", "batch_dims:i=1", .flags = LINEAR},
        {"GridSample", "f1,2,3,4 c1,2,5,2", "mode:s=nearest", .flags = LINEAR, .low = -1.3,
         .high = 1.3},
        {"MaxUnpool", "f1,1,2,2 n13:1,1,2,2", "kernel_shape:is=2,2 strides:is=2,2",
         .flags = LINEAR},
        {"Resize", "f1,2,3,4 - - i1,2,5,9", "", .flags = LINEAR | SECOND},
        {"ScatterElements", "f4,3 n4:2,3 f2,3", "", .flags = LINEAR | SECOND},
        {"ScatterElements", "f4,3 n4:6,2 f6,2", "reduction:s=add", .flags = LINEAR | SECOND},
        {"ScatterElements", "f4,5 n5:4,2 f4,2", "axis:i=1", .flags = LINEAR},
        {"ScatterND", "f4,3 n4:2,1 f2,3", "", .flags = LINEAR | SECOND},
        {"ScatterND", "f4,3 n3:5,2 f5", "reduction:s=add", .flags = LINEAR | SECOND},
        {"TensorScatter", "f2,5,3 f2,2,3 i3,0", "", .flags = LINEAR | SECOND},
        {"TensorScatter", "f2,3,4 f2,3,3 i3,2", "axis:i=-1 mode:s=circular", .flags = LINEAR},
        {"TopK", "f3,5 i2", "", .flags = LINEAR | SECOND, .n_outputs = 2, .outputs = 1},
        {"TopK", "f5,3 i2", "axis:i=0 largest:i=0", .flags = LINEAR, .n_outputs = 2, .outputs = 1},
    };
    CHECK_GRADIENTS(c);
}

TEST(the_first_of_equal_elements)
{
    static const gradient_case c[] = {
        {"Unique", "f2,3", "", .flags = LINEAR | SECOND},
        {"Unique", "f7", "sorted:i=0", .flags = LINEAR},
        {"Unique", "f3,2,2", "axis:i=0", .flags = LINEAR | SECOND},
        {"Unique", "f3,4,2", "axis:i=-2 sorted:i=0", .flags = LINEAR, .n_outputs = 4},
        {"Unique", "f4,3", "axis:i=-1", .flags = LINEAR, .n_outputs = 2},
        {"Unique", "f0", "", .flags = LINEAR},
    };
    static const gradient_exact e[] = {
        {"Unique", "f6", "", {{3, 1, 3, 1, 2, 3}}, {5, 7, 11}, {{11, 5, 0, 0, 7, 0}}},
        {"Unique", "f2,3", "sorted:i=0", {{3, 1, 3, 1, 2, 3}}, {5, 7, 11}, {{5, 7, 0, 0, 11, 0}}},
        {"Unique",
         "f2,4",
         "axis:i=1",
         {{2, 1, 2, 1, 5, 4, 5, 0}},
         {1, 2, 3, 4, 5, 6},
         {{3, 2, 0, 1, 6, 5, 0, 4}}},
    };
    CHECK_GRADIENTS(c);
    CHECK_EXACT_GRADIENTS(e);
}

/* Of data and updates that reach the same element. */
TEST(reductions_at_indices)
{
    static const gradient_case c[] = {
        {"ScatterElements", "f4,3 n4:6,2 f6,2", "reduction:s=max", .flags = LINEAR | SECOND},
        {"ScatterElements", "f4,5 n5:4,3 f4,3", "reduction:s=min axis:i=-1", .flags = LINEAR},
        {"ScatterND", "f4,3 n3:7,2 f7", "reduction:s=min", .flags = LINEAR | SECOND},
        {"ScatterND", "f4,3 n4:6,1 c6,3", "reduction:s=max", .flags = 0},
        {"ScatterND", "c4,3 n4:6,1 f6,3", "reduction:s=max", .flags = 0},
        {"ScatterElements", "f4,3 n3:7,2 f7,2", "reduction:s=mul", .flags = SECOND},
        {"ScatterElements", "f3,5 n5:3,4 f3,4", "reduction:s=mul axis:i=1", .flags = 0},
        {"ScatterND", "f3,3 n3:6,2 f6", "reduction:s=mul", .flags = SECOND},
        {"ScatterND", "f4,3 n4:6,1 c6,3", "reduction:s=mul", .flags = LINEAR},
        {"ScatterND", "c4,3 n4:6,1 f6,3", "reduction:s=mul", .flags = 0},
        {"ScatterElements", "f4,3 n4:0,2 f0,2", "reduction:s=mul", .flags = LINEAR},
        {"ScatterElements", "f4,3 n4:0,2 f0,2", "reduction:s=min", .flags = LINEAR},
    };
    CHECK_GRADIENTS(c);
}

/* i = 1, 1, -3, 1, 2 of 4 elements, of which the last is left as it is. */
TEST(equal_elements_share_and_zeros_are_factors)
{
    static const gradient_exact c[] = {
        {"ScatterElements",
         "f4 i1,1,-3,1,2 f5",
         "reduction:s=max",
         {{9, 4, 3, 2}, {4, 4, 1, 3, 3}},
         {2, 6, 10, 5},
         {{2, 2, 5, 5}, {2, 2, 0, 0, 5}}},
        {"ScatterElements",
         "f4 i1,1,-3,1,2 f5",
         "reduction:s=min",
         {{9, 4, 3, 2}, {1, 4, 1, 3, 4}},
         {2, 6, 10, 5},
         {{2, 0, 10, 5}, {3, 0, 3, 0, 0}}},
        {"ScatterElements",
         "f4 i1,1,-3,1,2 f5",
         "reduction:s=mul",
         {{9, 4, 3, 2}, {2, 0, 3, 5, 0}},
         {2, 6, 10, 5},
         {{2, 0, 0, 5}, {0, 720, 0, 0, 30}}},
        {"ScatterElements",
         "f4 i1,1,-3,1,2 f5",
         "reduction:s=mul",
         {{0, 0, 0, 2}, {2, 1, 3, 5, 0}},
         {2, 6, 10, 5},
         {{2, 180, 0, 5}, {0, 0, 0, 0, 0}}},
        {"ScatterElements",
         "f4 i1,1,-3,1,2 f5",
         "reduction:s=mul",
         {{9, 4, 3, 2}, {0, 2, 0, 5, 7}},
         {2, 6, 10, 5},
         {{2, 0, 70, 5}, {0, 0, 0, 0, 30}}},
    };
    CHECK_EXACT_GRADIENTS(c);
}

static const test_case cases[] = {
    CASE(elements_in_another_order),
    CASE(elements_at_indices),
    CASE(the_first_of_equal_elements),
    CASE(reductions_at_indices),
    CASE(equal_elements_share_and_zeros_are_factors),
};
TEST_MAIN_OF_ONE_THREAD(cases)
