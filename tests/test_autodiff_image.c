/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of ops on images and signals; gradient_kit.h checks. */
#include "gradient_kit.h"

TEST(interpolation)
{
    static const gradient_case c[] = {
        {"Resize", "f1,2,3,4 - - i1,2,5,9", "mode:s=linear", .flags = LINEAR | SECOND | RANKS},
        {"Resize", "f1,2,3,4 - p1,1,2,1.5", "mode:s=linear", .flags = LINEAR | RANKS},
        {"Resize", "f1,2,3,4 - p1,2,0.6,0.7", "mode:s=linear antialias:i=1",
         .flags = LINEAR | RANKS},
        {"Resize", "f2,5,6 - p0.5,0.7", "mode:s=cubic antialias:i=1 axes:is=1,-1",
         .flags = LINEAR | RANKS},
        {"Resize", "f1,2,3,4 - p1,1,2,1.5", "mode:s=cubic cubic_coeff_a:f=-0.5",
         .flags = LINEAR | SECOND | RANKS},
        {"Resize", "f1,2,4,4 - p1,1,1.5,0.75", "mode:s=cubic exclude_outside:i=1",
         .flags = LINEAR | RANKS},
        {"Resize", "f1,1,3,4 - - i1,1,5,7",
         "mode:s=linear coordinate_transformation_mode:s=align_corners", .flags = LINEAR | RANKS},
        {"Resize", "f1,1,3,4 - p1,1,2,3",
         "mode:s=cubic coordinate_transformation_mode:s=asymmetric", .flags = LINEAR | RANKS},
        {"Resize", "f1,1,3,4 - p1,1,2.3,3.1",
         "mode:s=linear coordinate_transformation_mode:s=half_pixel_symmetric",
         .flags = LINEAR | RANKS},
        {"Resize", "f1,1,3,4 - - i1,1,1,7",
         "mode:s=linear coordinate_transformation_mode:s=pytorch_half_pixel",
         .flags = LINEAR | RANKS},
        {"Resize", "f1,1,4,5 p0,0,0.2,-0.25,1,1,0.8,1.25 - i1,1,3,6",
         "mode:s=linear coordinate_transformation_mode:s=tf_crop_and_resize "
         "extrapolation_value:f=7",
         .flags = RANKS},
        {"Resize", "f4,5 p0.1,0.9 - i3",
         "mode:s=cubic coordinate_transformation_mode:s=tf_crop_and_resize axes:is=0",
         .flags = LINEAR | RANKS},
        {"Resize", "f3 - - i7", "mode:s=linear", .flags = LINEAR | SECOND | RANKS},
        {"Resize", "f1,0,3,4 - - i1,0,5,9", "mode:s=linear", .flags = LINEAR | RANKS},
    };
    CHECK_GRADIENTS(c);
}

TEST(grids_and_blocks)
{
    static const gradient_case c[] = {
        {"AffineGrid", "f2,2,3 i2,1,3,4", "", .flags = LINEAR | SECOND},
        {"AffineGrid", "f1,3,4 i1,2,3,2,2", "align_corners:i=1", .flags = LINEAR},
        {"AffineGrid", "f0,2,3 i0,1,3,4", "", .flags = LINEAR},
        {"Col2Im", "f1,8,6 i3,4 i2,2", "", .flags = LINEAR | SECOND},
        {"Col2Im", "f2,6,8 i4,5 i2,3", "pads:is=1,0,0,1 strides:is=2,1 dilations:is=1,1",
         .flags = LINEAR},
        {"Col2Im", "f1,4,9 i7,8 i2,2", "dilations:is=2,3 strides:is=2,2", .flags = LINEAR},
        {"Col2Im", "f1,6,4 i6 i3", "", .flags = LINEAR},
    };
    CHECK_GRADIENTS(c);
}

TEST(elements_between)
{
    static const gradient_case c[] = {
        {"GridSample", "f1,2,3,4 f1,2,3,2", "", .flags = RANKS | SECOND, .low = -0.9, .high = 0.9},
        {"GridSample", "f2,1,3,4 f2,2,2,2", "padding_mode:s=border", .flags = RANKS, .low = -1.3,
         .high = 1.4},
        {"GridSample", "f1,2,3,4 f1,2,4,2", "padding_mode:s=reflection align_corners:i=1",
         .flags = RANKS, .low = -1.7, .high = 1.9},
        {"GridSample", "f1,2,3,4 f1,2,4,2", "padding_mode:s=reflection", .flags = RANKS,
         .low = -1.7, .high = 1.9},
        {"GridSample", "f1,1,4,5 f1,2,2,2", "mode:s=cubic", .flags = RANKS | SECOND, .low = -1.1,
         .high = 1.2},
        {"GridSample", "f1,1,4,5 f1,2,2,2", "mode:s=cubic padding_mode:s=border align_corners:i=1",
         .flags = RANKS, .low = -1.1, .high = 1.2},
        {"GridSample", "f1,1,4,5 f1,2,2,2", "mode:s=cubic padding_mode:s=reflection",
         .flags = RANKS, .low = -1.3, .high = 1.4},
        {"GridSample", "f1,1,2,3,2 f1,1,2,2,3", "", .flags = RANKS, .low = -1.2, .high = 1.3},
        {"GridSample", "f1,2,5 f1,4,1", "mode:s=cubic", .flags = RANKS, .low = -1.2, .high = 1.3},
        {"GridSample", "f0,2,3,4 f0,2,3,2", "", .flags = RANKS},
        {"RoiAlign", "f2,2,5,6 c3,4 n2:3", "output_height:i=2 output_width:i=3 sampling_ratio:i=2",
         .flags = RANKS | LINEAR | SECOND, .low = 0, .high = 5},
        {"RoiAlign", "f2,1,5,6 f2,4 n2:2",
         "output_height:i=2 output_width:i=2 sampling_ratio:i=1 spatial_scale:f=0.75",
         .flags = RANKS, .low = 0.3, .high = 5},
        {"RoiAlign", "f1,1,6,6 f2,4 n1:2",
         "output_height:i=2 output_width:i=1 coordinate_transformation_mode:s=output_half_pixel",
         .flags = RANKS, .low = 0.3, .high = 6},
        {"RoiAlign", "f1,1,6,6 c3,4 n1:3", "output_height:i=1 output_width:i=2",
         .flags = RANKS | LINEAR, .low = 0, .high = 9},
        {"DeformConv", "f1,2,4,4 f2,2,2,2 f1,8,3,3", "", .flags = RANKS, .low = -0.8, .high = 0.9},
        {"DeformConv", "f1,4,4,3 f2,2,2,2 f1,16,3,3 f2 f1,8,3,3",
         "offset_group:i=2 group:i=2 pads:is=1,0,0,1 dilations:is=2,1", .flags = RANKS, .low = -1.1,
         .high = 1.2},
        {"DeformConv", "f2,1,5,5 f1,1,2,2 f2,8,2,2 - f2,4,2,2", "strides:is=2,2",
         .flags = RANKS | SECOND, .low = -1.6, .high = 1.5},
    };
    CHECK_GRADIENTS(c);
}

TEST(fourier)
{
    static const gradient_case c[] = {
        {"DFT", "f2,5,1", "", .flags = LINEAR | SECOND},
        {"DFT", "f2,6,2", "", .flags = LINEAR | SECOND},
        {"DFT", "f2,5,2 - s1", "inverse:i=1", .flags = LINEAR},
        {"DFT", "f4,3,1 - s0", "onesided:i=1", .flags = LINEAR | SECOND},
        {"DFT", "f5,3,1 - s-3", "onesided:i=1", .flags = LINEAR},
        {"DFT", "f2,5,1 s8", "onesided:i=1", .flags = LINEAR},
        {"DFT", "f2,5,2 s3", "", .flags = LINEAR},
        {"DFT", "f2,5,1 s7", "inverse:i=1", .flags = LINEAR},
        {"DFT", "f2,4,2", "inverse:i=1 onesided:i=1", .flags = LINEAR | SECOND},
        {"DFT", "f2,4,2 s7", "inverse:i=1 onesided:i=1", .flags = LINEAR},
        {"DFT", "f4,2,2 s6 s0", "inverse:i=1 onesided:i=1", .flags = LINEAR},
        {"DFT", "f2,4,2 s12 s1", "inverse:i=1 onesided:i=1", .flags = LINEAR},
        {"STFT", "f2,9,1 s2 f4", "", .flags = MULTILINEAR | SECOND},
        {"STFT", "f1,8,2 s3 - s4", "onesided:i=0", .flags = LINEAR},
        {"STFT", "f1,7,1 s1 f3 s3", "onesided:i=1", .flags = MULTILINEAR},
    };
    CHECK_GRADIENTS(c);
}

TEST(convolutions_with_state)
{
    static const gradient_case c[] = {
        {"CausalConvWithState", "f2,3,5 f3,1,3", "", .flags = MULTILINEAR | SINGLE, .n_outputs = 2,
         .outputs = 1},
        {"CausalConvWithState", "f2,3,5 c3,1,3 f3 f2,3,2", "", .flags = LINEAR | SINGLE,
         .n_outputs = 2, .outputs = 3},
        {"CausalConvWithState", "f2,3,5 c3,1,1 - -", "", .flags = LINEAR | SINGLE, .n_outputs = 2,
         .outputs = 1},
    };
    CHECK_GRADIENTS(c);
}

static const test_case cases[] = {
    CASE(interpolation), CASE(grids_and_blocks),        CASE(elements_between),
    CASE(fourier),       CASE(convolutions_with_state),
};
TEST_MAIN(cases)
