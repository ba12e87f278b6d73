/* SPDX-License-Identifier: Apache-2.0 */
/* The estimate of work: formulas of the op families, each against a number worked out by hand. */
#include "op/cost.h"
#include "tfr_test.h"

enum { MOST = 6 };

/* A call on float32 operands, made of rows of dims that end in -1; a row that begins so is absent.
 */
typedef struct call_case {
    tfr_call call;
    tfr_operand operands[2 * MOST];
} call_case;

static void operand_set(tfr_operand *o, int32_t dtype, const int64_t *dims)
{
    memset(o, 0, sizeof *o);
    o->size = sizeof *o;
    if (dims[0] == -1)
        return;
    o->dtype = dtype;
    o->dims = dims;
    while (dims[o->rank] >= 0)
        o->rank++;
}

static tfr__work work_of(const char *op, uint32_t n_inputs, uint32_t n_outputs,
                         const int64_t dims[][6], const tfr_attr *attrs, uint32_t n_attrs)
{
    call_case c = {.call = {.size = sizeof c.call, .domain = "", .name = op}};
    for (uint32_t i = 0; i < n_inputs + n_outputs; i++)
        operand_set(&c.operands[i], TFR_DTYPE_F32, dims[i]);
    c.call.inputs = c.operands;
    c.call.outputs = c.operands + n_inputs;
    c.call.n_inputs = n_inputs;
    c.call.n_outputs = n_outputs;
    c.call.input_stride = c.call.output_stride = sizeof c.operands[0];
    c.call.attrs = attrs;
    c.call.n_attrs = n_attrs;
    c.call.attr_stride = sizeof *attrs;
    return tfr__cost(&c.call);
}

TEST(a_product_of_matrices_takes_2_m_n_k)
{
    static const int64_t dims[][6] = {{5, 3, -1}, {3, 7, -1}, {5, 7, -1}};
    tfr__work w = work_of("MatMul", 2, 1, dims, NULL, 0);
    CHECK_UINT(2 * 5 * 7 * 3, w.flops);
    CHECK_UINT(4 * (5 * 3 + 3 * 7 + 5 * 7), w.bytes);
}

TEST(gemm_finds_k_under_its_transposition)
{
    static const int64_t dims[][6] = {{3, 5, -1}, {3, 7, -1}, {-1}, {5, 7, -1}};
    static const int64_t one = 1;
    static const tfr_attr attr = {
        .size = sizeof attr, .type = TFR_ATTR_INT, .name = "transA", .n = 1, .ints = &one};
    CHECK_UINT(2 * 5 * 7 * 3, work_of("Gemm", 3, 1, dims, &attr, 1).flops);
}

TEST(a_convolution_takes_its_window_of_one_group_for_each_output)
{
    static const int64_t whole[][6] = {{2, 4, 8, 8, -1}, {6, 4, 3, 3, -1}, {2, 6, 6, 6, -1}};
    static const int64_t grouped[][6] = {{2, 4, 8, 8, -1}, {4, 1, 3, 3, -1}, {2, 4, 6, 6, -1}};
    CHECK_UINT(2 * (2 * 6 * 6 * 6) * (4 * 9), work_of("Conv", 2, 1, whole, NULL, 0).flops);
    CHECK_UINT(2 * (2 * 4 * 6 * 6) * 9, work_of("Conv", 2, 1, grouped, NULL, 0).flops);
}

TEST(a_transposed_convolution_spreads_each_input)
{
    static const int64_t dims[][6] = {{1, 4, 5, 5, -1}, {4, 2, 3, 3, -1}, {1, 2, 7, 7, -1}};
    CHECK_UINT(2 * (4 * 25) * (2 * 9), work_of("ConvTranspose", 2, 1, dims, NULL, 0).flops);
}

TEST(attention_is_two_products_over_all_keys)
{
    static const int64_t dims[][6] = {
        {1, 2, 3, 4, -1}, {1, 2, 5, 4, -1}, {1, 2, 5, 6, -1}, {1, 2, 3, 6, -1}};
    CHECK_UINT(2 * 2 * 3 * 5 * (4 + 6), work_of("Attention", 3, 1, dims, NULL, 0).flops);
}

TEST(pooling_looks_at_its_window_for_each_output)
{
    static const int64_t dims[][6] = {{1, 1, 4, 4, -1}, {1, 1, 2, 2, -1}};
    static const int64_t kernel[] = {3, 2};
    static const tfr_attr attr = {
        .size = sizeof attr, .type = TFR_ATTR_INTS, .name = "kernel_shape", .n = 2, .ints = kernel};
    CHECK_UINT(4 * 6, work_of("MaxPool", 1, 1, dims, &attr, 1).flops);
}

TEST(einsum_takes_every_combination_of_its_letters)
{
    static const int64_t dims[][6] = {{2, 3, -1}, {3, 5, -1}, {2, 5, -1}};
    static const tfr_string equation = {"ij,jk->ik", 9};
    static const tfr_attr attr = {.size = sizeof attr,
                                  .type = TFR_ATTR_STRING,
                                  .name = "equation",
                                  .n = 1,
                                  .strings = &equation};
    CHECK_UINT(2 * 2 * 3 * 5, work_of("Einsum", 2, 1, dims, &attr, 1).flops);
}

TEST(a_sum_counts_once_for_each_element)
{
    static const int64_t dims[][6] = {{4, 5, -1}, {1, 5, -1}, {4, 5, -1}};
    tfr__work w = work_of("Add", 2, 1, dims, NULL, 0);
    CHECK_UINT(20, w.flops);
    CHECK_UINT(4 * (20 + 5 + 20), w.bytes);
}

TEST(a_reduction_counts_what_it_reads)
{
    static const int64_t dims[][6] = {{4, 5, -1}, {-1}, {4, 1, -1}};
    CHECK_UINT(20, work_of("ReduceSum", 2, 1, dims, NULL, 0).flops);
}

TEST(gather_moves_only_what_it_takes)
{
    static const int64_t dims[][6] = {{1000, 8, -1}, {3, -1}, {3, 8, -1}};
    tfr__work w = work_of("Gather", 2, 1, dims, NULL, 0);
    CHECK_UINT(0, w.flops);
    CHECK_UINT(4 * (3 + 2 * 24), w.bytes);
}

TEST(an_unknown_op_has_bytes_and_no_flops)
{
    static const int64_t dims[][6] = {{4, 5, -1}, {4, 5, -1}};
    tfr__work w = work_of("NoSuchOp", 1, 1, dims, NULL, 0);
    CHECK_UINT(0, w.flops);
    CHECK_UINT(160, w.bytes);
}

TEST(what_no_number_holds_is_the_most)
{
    static const int64_t dims[][6] = {
        {1 << 20, 1 << 20, -1}, {1 << 20, 1 << 20, -1}, {1 << 20, 1 << 20, -1}};
    static const int64_t huge[][6] = {
        {1 << 30, 1 << 30, -1}, {1 << 30, 1 << 30, -1}, {1 << 30, 1 << 30, -1}};
    CHECK_UINT(UINT64_C(1) << 61, work_of("MatMul", 2, 1, dims, NULL, 0).flops);
    CHECK_UINT(INT64_MAX, work_of("MatMul", 2, 1, huge, NULL, 0).flops);
}

static const test_case cases[] = {
    CASE(a_product_of_matrices_takes_2_m_n_k),
    CASE(gemm_finds_k_under_its_transposition),
    CASE(a_convolution_takes_its_window_of_one_group_for_each_output),
    CASE(a_transposed_convolution_spreads_each_input),
    CASE(attention_is_two_products_over_all_keys),
    CASE(pooling_looks_at_its_window_for_each_output),
    CASE(einsum_takes_every_combination_of_its_letters),
    CASE(a_sum_counts_once_for_each_element),
    CASE(a_reduction_counts_what_it_reads),
    CASE(gather_moves_only_what_it_takes),
    CASE(an_unknown_op_has_bytes_and_no_flops),
    CASE(what_no_number_holds_is_the_most),
};
TEST_MAIN(cases)
