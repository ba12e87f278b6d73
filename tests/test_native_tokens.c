/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images as rows of channels, one for each pixel, around convolutions in programs of the native
 * backend; native_programs.sh. What turns images is a view where channels are whole vectors.
 */
#include "native_program_kit.h"

/* Items that only change how values lie, in the one program of the graph. */
static void count_reorders(const char *text, uint32_t *n)
{
    tfr_runtime *runtime = new_runtime();
    tfr_graph *graph = graph_of_text(text);
    tfr_session_options options = TFR_SESSION_OPTIONS_INIT;
    tfr_program_desc program = {.size = sizeof program};
    tfr_session *session = NULL;

    options.device = "native:0";
    if (tfr_session_create(runtime, graph, &options, &session, &err) != TFR_OK) {
        tfr_graph_release(graph);
        tfr_runtime_release(runtime);
        SKIP("there is no native backend");
    }
    tfr_tensor_release(run(session, graph, 1));
    REQUIRE(tfr_session_n_programs(session) == 1);
    CHECK_OK(tfr_session_program(session, 0, &program, &err), &err);
    tfr_session_destroy(session);
    tfr_graph_release(graph);
    tfr_runtime_release(runtime);
    *n = program.n_reorders;
}

TEST(rows_of_whole_vectors_are_not_reordered_around_a_convolution)
{
    uint32_t n = 9;

    count_reorders("in x 1 182 32; const w 32 1 3 3; const b 32;"
                   "y = Reshape(Transpose{perm=0,2,1}(Sigmoid(x)),[0,32,14,13]);"
                   "z = Reshape(Conv{group=32;pads=1,1,1,1}(y,w,b),[0,32,182]);"
                   "out Softmax(Gelu(Transpose{perm=0,2,1}(z)))",
                   &n);
    CHECK(n == 0);
    count_reorders("in x 1 182 19; const w 19 1 3 3; const b 19;"
                   "y = Reshape(Transpose{perm=0,2,1}(Sigmoid(x)),[0,19,14,13]);"
                   "z = Reshape(Conv{group=19;pads=1,1,1,1}(y,w,b),[0,19,182]);"
                   "out Softmax(Gelu(Transpose{perm=0,2,1}(z)))",
                   &n);
    CHECK(n == 2);
}

TEST(a_depthwise_convolution_reads_and_writes_rows_of_channels)
{
    check("in x ? 182 32; const w 32 1 3 3; const b 32;"
          "y = Reshape(Transpose{perm=0,2,1}(Sigmoid(x)),[0,32,14,13]);"
          "z = Reshape(Conv{group=32;pads=1,1,1,1}(y,w,b),[0,32,182]);"
          "out Relu(Transpose{perm=0,2,1}(z))");
    check("in x ? 9 8 48; const w 48 1 7 7; y = Transpose{perm=0,3,1,2}(Relu(x));"
          "out Softmax(Transpose{perm=0,2,3,1}(Conv{group=48;pads=3,3,3,3}(y,w)))");
    check("in x ? 11 19 160; const w 160 1 3 3; const b 160; y = Transpose{perm=0,3,1,2}(Relu(x));"
          "out Softmax(Transpose{perm=0,2,3,1}(Conv{group=160;pads=1,1,0,1}(y,w,b)))");
}

TEST(windows_over_rows_of_channels_have_any_form)
{
    check("in x ? 10 13 32; const w 32 1 3 3; y = Transpose{perm=0,3,1,2}(Relu(x));"
          "out Transpose{perm=0,2,3,1}(Conv{group=32;pads=1,1,1,1;strides=2,2}(y,w))");
    check("in x ? 10 13 32; const w 32 1 5 5; y = Transpose{perm=0,3,1,2}(Relu(x));"
          "out Transpose{perm=0,2,3,1}(Conv{group=32;pads=2,1,3,2}(y,w))");
    check("in x ? 15 13 32; const w 32 1 3 3; y = Transpose{perm=0,3,1,2}(Relu(x));"
          "out Transpose{perm=0,2,3,1}(Conv{group=32;dilations=2,3;pads=2,2,2,2}(y,w))");
    check("in x ? 2 3 32; const w 32 1 7 7; y = Transpose{perm=0,3,1,2}(Relu(x));"
          "out Transpose{perm=0,2,3,1}(Conv{group=32;pads=3,3,3,3}(y,w))");
}

/* Before the rows are made of an image, or behind that, where the convolution takes it over. */
TEST(an_activation_between_a_convolution_and_rows_is_kept)
{
    check("in x ? 63 32; const w 32 1 3 3; const b 32;"
          "y = Reshape(Transpose{perm=0,2,1}(Relu(x)),[0,32,7,9]);"
          "z = Gelu(Reshape(Conv{group=32;pads=1,1,1,1}(y,w,b),[0,32,63]));"
          "out Softmax(Transpose{perm=0,2,1}(z))");
    check("in x ? 32 7 9; const w 32 1 3 3; y = Relu(x);"
          "z = Sigmoid(Reshape(Conv{group=32;pads=1,1,1,1}(y,w),[0,32,63]));"
          "out Softmax(Transpose{perm=0,2,1}(z))");
    check("in x ? 63 32; const w 32 1 3 3; const v 16 32 1 1;"
          "y = Reshape(Transpose{perm=0,2,1}(Relu(x)),[0,32,7,9]);"
          "out Conv(Gelu(Conv{group=32;pads=1,1,1,1}(y,w)),v)");
}

TEST(dense_convolutions_read_and_write_rows_of_channels)
{
    check("in x ? 72 32; const w 48 32 2 2; const b 48;"
          "y = Reshape(Transpose{perm=0,2,1}(Relu(x)),[0,32,9,8]);"
          "z = Reshape(Conv{strides=2,2;pads=1,0,0,0}(y,w,b),[0,48,20]);"
          "out Softmax(Transpose{perm=0,2,1}(z))");
    check("in x ? 9 8 32; const w 64 32 1 1; y = Transpose{perm=0,3,1,2}(Relu(x));"
          "out Softmax(Transpose{perm=0,2,3,1}(Gelu(Conv(y,w))))");
    check("in x ? 9 8 32; const w 16 32 3 3; y = Transpose{perm=0,3,1,2}(Relu(x));"
          "out Relu(Transpose{perm=0,2,3,1}(Conv{pads=1,1,1,1}(y,w)))");
    check("in x ? 9 8 32; const w 64 8 3 3; y = Transpose{perm=0,3,1,2}(Relu(x));"
          "out Softmax(Transpose{perm=0,2,3,1}(Conv{group=4;strides=2,2}(y,w)))");
    check("in x ? 3 9 8; const w 16 3 3 3; y = Reshape(Conv{strides=2,2}(x,w),[0,16,12]);"
          "out Softmax(Transpose{perm=0,2,1}(y))");
}

/* The same geometry over blocked channels has other offsets. */
TEST(convolutions_of_one_form_read_either_order)
{
    check("in x ? 9 8 32; const w 32 32 2 2; y = Transpose{perm=0,3,1,2}(Relu(x));"
          "z = Conv{strides=1,1;pads=1,0,0,1}(y,w); out Conv{pads=1,0,0,1}(Relu(z),w)");
}

TEST(parts_of_vectors_are_turned_and_blocked_at_once)
{
    check("in x ? 63 19; const w 19 1 3 3; const b 19;"
          "y = Reshape(Transpose{perm=0,2,1}(Relu(x)),[0,19,7,9]);"
          "z = Reshape(Conv{group=19;pads=1,1,1,1}(y,w,b),[0,19,63]);"
          "out Softmax(Transpose{perm=0,2,1}(z))");
    check("in x ? 7 9 20; const w 12 20 3 3; y = Transpose{perm=0,3,1,2}(Relu(x));"
          "out Softmax(Transpose{perm=0,2,3,1}(MaxPool{kernel_shape=2,2}(Conv(y,w))))");
}

TEST(images_that_others_read_too_are_kept)
{
    check("in x ? 63 32; const w 32 1 3 3;"
          "y = Reshape(Transpose{perm=0,2,1}(Relu(x)),[0,32,7,9]);"
          "z = Add(y,Conv{group=32;pads=1,1,1,1}(y,w));"
          "out Add(Transpose{perm=0,2,1}(Reshape(z,[0,32,63])),x)");
    check("in x ? 32 7 9; const w 32 1 3 3; z = Conv{group=32;pads=1,1,1,1}(Relu(x),w);"
          "t = Softmax(Transpose{perm=0,2,3,1}(z)); out Add(Transpose{perm=0,3,1,2}(t),z)");
    check("in x ? 7 9 32; const w 32 1 3 3; y = Transpose{perm=0,3,1,2}(Relu(x));"
          "out Add(Sigmoid(y),Conv{group=32;pads=1,1,1,1}(y,w))");
}

TEST(a_residual_is_added_to_what_was_read_from_rows)
{
    check("in x ? 7 9 32; const w 32 1 3 3; const v 32 32 1 1;"
          "y = Transpose{perm=0,3,1,2}(Relu(x)); r = MaxPool{kernel_shape=1,1}(Sigmoid(y));"
          "out Relu(Conv(Add(Conv{group=32;pads=1,1,1,1}(y,w),r),v))");
}

/* Dims of one element leave several orders open. */
TEST(images_of_one_row_or_column_are_turned_right)
{
    check("in x ? 9 1 32; const w 32 1 3 3; y = Transpose{perm=0,3,1,2}(Relu(x));"
          "out Softmax(Transpose{perm=0,2,3,1}(Conv{group=32;pads=1,1,1,1}(y,w)))");
    check("in x ? 1 9 32; const w 32 1 3 3; y = Transpose{perm=0,3,2,1}(Relu(x));"
          "out Softmax(Transpose{perm=0,3,2,1}(Conv{group=32;pads=1,1,1,1}(y,w)))");
    check("in x ? 9 9 32; const w 32 1 3 3; y = Transpose{perm=0,3,2,1}(Relu(x));"
          "out Softmax(Transpose{perm=0,3,2,1}(Conv{group=32;pads=1,1,1,1}(y,w)))");
}

static const test_case cases[] = {
    CASE(rows_of_whole_vectors_are_not_reordered_around_a_convolution),
    CASE(a_depthwise_convolution_reads_and_writes_rows_of_channels),
    CASE(windows_over_rows_of_channels_have_any_form),
    CASE(an_activation_between_a_convolution_and_rows_is_kept),
    CASE(dense_convolutions_read_and_write_rows_of_channels),
    CASE(convolutions_of_one_form_read_either_order),
    CASE(parts_of_vectors_are_turned_and_blocked_at_once),
    CASE(images_that_others_read_too_are_kept),
    CASE(a_residual_is_added_to_what_was_read_from_rows),
    CASE(images_of_one_row_or_column_are_turned_right),
};
TEST_MAIN(cases)
