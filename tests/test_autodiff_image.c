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

/* One scale for all axes: 4/3 or 0.6 of 3 x 5 elements, and others. */
TEST(interpolation_that_keeps_the_aspect_ratio)
{
    static const gradient_case c[] = {
        {"Resize", "f2,3,5 - - i4,9",
         "mode:s=linear axes:is=1,2 keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | SECOND | RANKS},
        {"Resize", "f2,3,5 - - i4,9",
         "mode:s=linear axes:is=-2,-1 keep_aspect_ratio_policy:s=not_smaller",
         .flags = LINEAR | RANKS},
        {"Resize", "f3,5 - - i2,3", "mode:s=linear keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f3,5 - - i2,3", "mode:s=cubic keep_aspect_ratio_policy:s=not_smaller",
         .flags = LINEAR | SECOND | RANKS},
        {"Resize", "f3,5 - - i7,9",
         "mode:s=cubic cubic_coeff_a:f=-0.5 keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f3,7 - - i2,3",
         "mode:s=linear antialias:i=1 keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f3,9 - - i1,2",
         "mode:s=cubic antialias:i=1 keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f5,8 - - i2,4",
         "mode:s=cubic antialias:i=1 exclude_outside:i=1 keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f3,5 - - i4,9",
         "mode:s=cubic exclude_outside:i=1 keep_aspect_ratio_policy:s=not_smaller",
         .flags = LINEAR | RANKS},
        {"Resize", "f3,5 - - i4,9",
         "mode:s=linear coordinate_transformation_mode:s=align_corners "
         "keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f5,8 - - i2,3",
         "mode:s=cubic coordinate_transformation_mode:s=align_corners "
         "keep_aspect_ratio_policy:s=not_smaller",
         .flags = LINEAR | RANKS},
        {"Resize", "f9,4 - - i4,2",
         "mode:s=linear coordinate_transformation_mode:s=align_corners "
         "keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f4,9 - - i1,5",
         "mode:s=linear coordinate_transformation_mode:s=align_corners "
         "keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f3,5 - - i4,9",
         "mode:s=linear coordinate_transformation_mode:s=asymmetric "
         "keep_aspect_ratio_policy:s=not_smaller",
         .flags = LINEAR | RANKS},
        {"Resize", "f3,7 - - i1,3",
         "mode:s=linear coordinate_transformation_mode:s=pytorch_half_pixel "
         "keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f3,7 - - i2,9",
         "mode:s=cubic coordinate_transformation_mode:s=half_pixel_symmetric "
         "keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f4,5 p0.1,-0.2,0.9,1.25 - i7,6",
         "mode:s=linear coordinate_transformation_mode:s=tf_crop_and_resize "
         "keep_aspect_ratio_policy:s=not_larger extrapolation_value:f=7",
         .flags = RANKS},
        {"Resize", "f2,4,3 p0,0.25,1,0.5 - i4,1",
         "mode:s=cubic coordinate_transformation_mode:s=tf_crop_and_resize axes:is=2,1 "
         "keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f3,5 - p2,0.5 i", "mode:s=linear keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f3,5 - p2,0.5", "mode:s=linear keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f15,3 - - i8,9",
         "mode:s=cubic coordinate_transformation_mode:s=align_corners "
         "keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f5,8 - - i1,9",
         "mode:s=linear coordinate_transformation_mode:s=align_corners "
         "keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f5,8 - - i1,9",
         "mode:s=linear coordinate_transformation_mode:s=align_corners exclude_outside:i=1 "
         "keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f3,5 - - i4,9",
         "mode:s=linear antialias:i=1 keep_aspect_ratio_policy:s=not_smaller",
         .flags = LINEAR | RANKS},
        {"Resize", "f2,4 p0,0,1,1 - i4,8",
         "mode:s=linear coordinate_transformation_mode:s=tf_crop_and_resize "
         "keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f3,5 - - i0,4",
         "mode:s=linear antialias:i=1 keep_aspect_ratio_policy:s=not_larger",
         .flags = LINEAR | RANKS},
        {"Resize", "f3,5 - - i4,9", "mode:s=nearest keep_aspect_ratio_policy:s=not_smaller",
         .flags = LINEAR | RANKS},
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
        {"RoiAlign", "f1,1,4,4 c0,4 n1:0", "", .flags = RANKS | LINEAR},
        {"DeformConv", "f1,2,4,4 f2,2,2,2 f1,8,3,3", "", .flags = RANKS, .low = -0.8, .high = 0.9},
        {"DeformConv", "f1,4,4,3 f2,2,2,2 f1,16,3,3 f2 f1,8,3,3",
         "offset_group:i=2 group:i=2 pads:is=1,0,0,1 dilations:is=2,1", .flags = RANKS, .low = -1.1,
         .high = 1.2},
        {"DeformConv", "f2,1,5,5 f1,1,2,2 f2,8,2,2 - f2,4,2,2", "strides:is=2,2",
         .flags = RANKS | SECOND, .low = -1.6, .high = 1.5},
    };
    CHECK_GRADIENTS(c);
}

/* ---- MaxRoiPool ------------------------------------------------------------------------------ */

static const double regions[][5] = {
    {0, 1, 0, 4, 3},         /* bins that overlap */
    {1, -3, -2, 2, 1},       /* over the border */
    {1, 3, 2, 9, 9},         /* over the other one */
    {0, 20, 1, 22, 3},       /* outside */
    {1, 4, 3, 2, 1},         /* its end before its start */
    {0, 0.5, 1.5, 2.5, 2.5}, /* halves, which are rounded away from 0 */
    {1, -0.5, -1.5, 3.4, 2.6},
};

/* Of operand 0 and regions in its type; to 2 x 3 bins. */
static void max_roi_pool(tfr_graph *graph, const tfr_value *in, tfr_value *out)
{
    const tfr_attr attrs[] = {TFR_SET_INTS("pooled_shape", 2, 3)};
    tfr_tensor *t = gradient_tensor(TFR_DTYPE_F64, 2, (const int64_t[]){7, 5});
    tfr_value rois;
    memcpy(tfr_tensor_data(t), regions, sizeof regions);
    rois = gradient_op(graph, "CastLike", gradient_constant(graph, t), in[0], -1);
    gradient_add(graph, "MaxRoiPool", (tfr_value[]){in[0], rois}, 2, attrs, 1, out, 1);
}

TEST(the_largest_of_regions)
{
    static const gradient_case c[] = {
        {"MaxRoiPool", "f2,1,4,5", "", .flags = LINEAR | SECOND, .build = max_roi_pool},
        {"MaxRoiPool", "f2,3,6,5", "", .flags = LINEAR, .build = max_roi_pool},
        {"MaxRoiPool", "f2,2,1,1", "", .flags = LINEAR, .build = max_roi_pool},
        {"MaxRoiPool", "f2,1,4,5", "", .flags = LINEAR | SINGLE, .build = max_roi_pool},
        {"MaxRoiPool", "f2,2,7,8 c4,5", "pooled_shape:is=3,2 spatial_scale:f=3.7",
         .flags = LINEAR | SECOND, .low = 0, .high = 2},
        {"MaxRoiPool", "f2,1,5,6 f3,5", "pooled_shape:is=2,2 spatial_scale:f=2.6", .low = 0,
         .high = 2},
        {"MaxRoiPool", "c2,1,5,6 f3,5", "pooled_shape:is=2,2", .low = 0, .high = 2},
        {"MaxRoiPool", "f3,2,4,4 c5,5", "pooled_shape:is=1,1", .flags = LINEAR, .low = 0,
         .high = 3},
    };
    CHECK_GRADIENTS(c);
}

typedef struct pool_case {
    int64_t x_dims[4], n_regions; /* in dtype; to 1 x 2 bins */
    tfr_dtype dtype;
    double x[8], rois[20], g[8], want[8];
} pool_case;

/* The gradient of the sum of y * g by x; the graph knows nothing of its inputs. */
static void check_pool(tfr_runtime *runtime, const pool_case *c)
{
    const tfr_attr to[] = {TFR_SET_INT("to", c->dtype)},
                   whole[] = {TFR_SET_INT("to", TFR_DTYPE_F64)},
                   bins[] = {TFR_SET_INTS("pooled_shape", 1, 2)},
                   flat[] = {TFR_SET_INT("keepdims", 0)};
    const int64_t roi_dims[] = {c->n_regions, 5}, y_dims[] = {c->n_regions, c->x_dims[1], 1, 2};
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_tensor *in[3], *out = NULL;
    const double *data[] = {c->x, c->rois, c->g};
    tfr_graph *graph = NULL;
    tfr_session *session = NULL;
    tfr_value v[3], narrow[2], y, gradient;
    static const char *const names[] = {"x", "rois", "g"};
    in[0] = gradient_tensor(TFR_DTYPE_F64, 4, c->x_dims);
    in[1] = gradient_tensor(TFR_DTYPE_F64, 2, roi_dims);
    in[2] = gradient_tensor(TFR_DTYPE_F64, 4, y_dims);
    REQUIRE_OK(tfr_graph_create("f", &graph, &gradient_err), &gradient_err);
    for (int i = 0; i < 3; i++) {
        if (gradient_size(in[i]))
            memcpy(tfr_tensor_data(in[i]), data[i], (size_t)gradient_size(in[i]) * sizeof(double));
        REQUIRE_OK(tfr_graph_add_input(graph, names[i], NULL, &v[i], &gradient_err), &gradient_err);
    }
    for (int i = 0; i < 2; i++)
        gradient_add(graph, "Cast", &v[i], 1, to, 1, &narrow[i], 1);
    gradient_add(graph, "MaxRoiPool", narrow, 2, bins, 1, &y, 1);
    gradient_add(graph, "Cast", &y, 1, whole, 1, &y, 1);
    y = gradient_op(graph, "Mul", y, v[2], -1);
    gradient_add(graph, "ReduceSum", &y, 1, flat, 1, &y, 1);
    REQUIRE_OK(tfr_graph_gradient(graph, y, v, 1, &gradient, &gradient_err), &gradient_err);
    REQUIRE_OK(tfr_graph_add_output(graph, gradient, NULL, &gradient_err), &gradient_err);
    options.device = "naive:0";
    REQUIRE_OK(tfr_session_create(runtime, graph, &options, &session, &gradient_err),
               &gradient_err);
    REQUIRE_OK(tfr_session_run(session, in, 3, &out, 1, &gradient_err), &gradient_err);
    CHECK(tfr_shape_equal(tfr_tensor_shape(out), tfr_tensor_shape(in[0])));
    for (int64_t i = 0; i < gradient_size(out); i++)
        CHECK_NEAR(c->want[i], ((const double *)tfr_tensor_data(out))[i], 0);
    for (int i = 0; i < 3; i++)
        tfr_tensor_release(in[i]);
    tfr_tensor_release(out);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
}

static void check_pools(const pool_case *cases, size_t n)
{
    tfr_runtime *runtime = NULL;
    REQUIRE_OK(tfr_runtime_create(NULL, &runtime, &gradient_err), &gradient_err);
    for (size_t i = 0; i < n; i++)
        check_pool(runtime, &cases[i]);
    tfr_runtime_release(runtime);
}

TEST(the_first_of_equal_elements_of_a_region_gets_all)
{
    static const pool_case c[] = {
        {{1, 1, 2, 4},
         1,
         TFR_DTYPE_F64,
         {1, 5, 2, 2, 5, 5, 2, 2},
         {0, 0, 0, 3, 1},
         {3, 7},
         {0, 3, 7}},
        {{1, 1, 2, 4},
         2,
         TFR_DTYPE_F32,
         {1, 1, 3, 1, 1, 3, 3, 3},
         {0, 0, 0, 3, 1, 0, 1, 1, 2, 1},
         {3, 7, 11, 13},
         {0, 0, 7, 0, 0, 14, 13}},
        {{1, 1, 2, 4},
         1,
         TFR_DTYPE_F16,
         {-INFINITY, -INFINITY, -1, -2, -INFINITY, -INFINITY, -1},
         {0, 0, 0, 3, 1},
         {3, 7},
         {3, 0, 0, 0, 0, 0, 0, 7}},
        {{2, 1, 2, 2},
         2,
         TFR_DTYPE_BF16,
         {0},
         {1, 0, 0, 1, 1, 1, 0, 1, 1, 1},
         {3, 7, 11, 13},
         {0, 0, 0, 0, 3, 7, 11, 13}},
    };
    check_pools(c, sizeof c / sizeof c[0]);
}

TEST(regions_without_elements_have_no_gradient)
{
    static const pool_case c[] = {
        {{1, 1, 2, 2}, 0, TFR_DTYPE_F32, .x = {1, 2, 3, 4}},
        {{0, 1, 2, 2}, 0, TFR_DTYPE_F32, .x = {0}},
        {{1, 1, 0, 2}, 1, TFR_DTYPE_F32, .rois = {0, 0, 0, 1, 1}, .g = {1, 2}},
        {{1, 0, 2, 2}, 1, TFR_DTYPE_F32, .rois = {0, 0, 0, 1, 1}},
        {{1, 1, 2, 2},
         2,
         TFR_DTYPE_F32,
         {-1, -2, -3, -4},
         {0, 2, 0, 3, 1, 0, -2, 0, -1, 1},
         {3, 7, 11, 13},
         {0}},
        {{1, 1, 2, 2}, 1, TFR_DTYPE_F32, {-1, -2, -3, -4}, {0, 1, 0, 2, 1}, {3, 7}, {0, 3}},
    };
    check_pools(c, sizeof c / sizeof c[0]);
}

/* ---- RoiAlign with mode max ------------------------------------------------------------------ */

TEST(the_largest_tap_of_regions)
{
    static const gradient_case c[] = {
        {"RoiAlign", "f2,2,5,6 c3,4 n2:3",
         "mode:s=max output_height:i=2 output_width:i=3 sampling_ratio:i=2",
         .flags = RANKS | LINEAR | SECOND, .low = 0, .high = 5},
        {"RoiAlign", "f2,3,5,6 c3,4 n2:3", "mode:s=max output_width:i=2", .flags = RANKS | LINEAR,
         .low = -3, .high = 9},
        {"RoiAlign", "f2,1,5,6 f2,4 n2:2",
         "mode:s=max output_height:i=2 output_width:i=2 sampling_ratio:i=1 spatial_scale:f=0.75",
         .flags = RANKS | SECOND, .low = 0.3, .high = 5},
        {"RoiAlign", "f1,1,6,6 f2,4 n1:2",
         "mode:s=max output_height:i=2 coordinate_transformation_mode:s=output_half_pixel",
         .flags = RANKS, .low = 0.3, .high = 6},
        {"RoiAlign", "f1,1,6,6 c4,4 n1:4", "mode:s=max output_width:i=2", .flags = RANKS | LINEAR,
         .low = 0, .high = 9},
        {"RoiAlign", "f1,1,4,4 c0,4 n1:0", "mode:s=max", .flags = RANKS | LINEAR},
    };
    CHECK_GRADIENTS(c);
}

/* By X and by the regions, whose rows are x, y, x, y. */
TEST(the_first_of_equal_taps_of_a_region_gets_all)
{
    static const gradient_exact c[] = {
        {"RoiAlign",
         "f1,1,2,2 f1,4 n1:1",
         "mode:s=max sampling_ratio:i=1",
         {{1, 1, 1, 1}, {0, 0, 2, 2}},
         {4},
         {{1, 0, 0, 0}, {-1, -1, -1, -1}}},
        {"RoiAlign",
         "f1,1,2,2 f1,4 n1:1",
         "mode:s=max sampling_ratio:i=1",
         {{0, 4, 4, 0}, {0, 0, 2, 2}},
         {4},
         {{0, 1, 0, 0}, {4, -4, 4, -4}}},
        {"RoiAlign",
         "f1,1,2,2 f1,4 n1:1",
         "mode:s=max sampling_ratio:i=1",
         {{-4, -3, -2, -1}, {0, 0, 2, 2}},
         {4},
         {{0, 0, 0, 1}, {-1, -1, -1, -1}}},
        {"RoiAlign",
         "f1,1,4,4 f1,4 n1:1",
         "mode:s=max sampling_ratio:i=2",
         {{0, 0, 0, 0, 0, 0, 8, 0, 0, 8, 0, 0, 0, 0, 0, 0}, {1, 1, 3, 3}},
         {1},
         {{0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {-2, -6, -6, -2}}},
        {"RoiAlign", /* the first region has no points */
         "f1,1,2,2 f2,4 n1:2",
         "mode:s=max",
         {{1, 1, 1, 1}, {1, 1, 1, 1, 0.5, 0.5, 1.5, 1.5}},
         {2, 4},
         {{1, 0, 0, 0}, {0, 0, 0, 0, -1, -1, -1, -1}}},
        {"RoiAlign", /* one point and four */
         "f1,1,2,2 f2,4 n1:2",
         "mode:s=max",
         {{-1, -1, -1, -1}, {0.5, 0.5, 1.5, 1.5, 0.25, 0.25, 1.75, 1.75}},
         {4, 64},
         {{1, 0, 0, 1}, {1, 1, 1, 1, -6, -6, -2, -2}}},
        {"RoiAlign", /* no region has */
         "f1,1,2,2 f1,4 n1:1",
         "mode:s=max",
         {{1, 2, 3, 4}, {1, 1, 1, 1}},
         {2},
         {{0}}},
    };
    CHECK_EXACT_GRADIENTS(c);
}

/* ---- signals --------------------------------------------------------------------------------- */

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
    CASE(interpolation),
    CASE(interpolation_that_keeps_the_aspect_ratio),
    CASE(grids_and_blocks),
    CASE(elements_between),
    CASE(the_largest_of_regions),
    CASE(the_first_of_equal_elements_of_a_region_gets_all),
    CASE(regions_without_elements_have_no_gradient),
    CASE(the_largest_tap_of_regions),
    CASE(the_first_of_equal_taps_of_a_region_gets_all),
    CASE(fourier),
    CASE(convolutions_with_state),
};
TEST_MAIN_OF_ONE_THREAD(cases)
