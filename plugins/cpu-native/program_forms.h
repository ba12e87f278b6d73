/* SPDX-License-Identifier: Apache-2.0 */
/* program_forms.h: the forms of calls that the table of program_forms.c refers to. */
#ifndef NATIVE_PROGRAM_FORMS_H
#define NATIVE_PROGRAM_FORMS_H

#include "program.h"

static inline bool native_is_float(const tfr_operand *o)
{
    return o && o->dtype == TFR_DTYPE_F32;
}

/* Rows and their steps in memory are counted in 32 bits. */
static inline bool native_fits(const tfr_operand *o)
{
    return tfr_operand_elements(o) < INT32_MAX / 2;
}

/* ---- program_forms.c ---- */

/* All inputs and the first output, which is the only one. */
bool native_all_float(const tfr_call *call);

/* ---- program_forms_window.c ---- */

bool native_conv_form(const tfr_call *call);
bool native_qlinear_conv_form(const tfr_call *call);
bool native_conv_integer_form(const tfr_call *call);
bool native_conv_grad_input_form(const tfr_call *call);
bool native_conv_grad_filter_form(const tfr_call *call);
bool native_conv_transpose_form(const tfr_call *call);
bool native_pool_form(const tfr_call *call);
bool native_scatter_form(const tfr_call *call);

/* ---- program_forms_sums.c ---- */

bool native_gemm_form(const tfr_call *call);
bool native_matmul_form(const tfr_call *call);
bool native_mean_form(const tfr_call *call);
bool native_sum_form(const tfr_call *call);
bool native_reduce_form(const tfr_call *call);
bool native_last_axis_form(const tfr_call *call);
bool native_layer_norm_form(const tfr_call *call);
bool native_layer_norm_grad_form(const tfr_call *call);
bool native_loss_form(const tfr_call *call);
bool native_loss_grad_form(const tfr_call *call);
bool native_batch_norm_form(const tfr_call *call);
bool native_normalize_form(const tfr_call *call);

/* ---- program_forms_elementwise.c ---- */

bool native_binary_form(const tfr_call *call);
bool native_sum_of_two_form(const tfr_call *call);
bool native_clip_form(const tfr_call *call);
bool native_celu_form(const tfr_call *call);
bool native_cast_form(const tfr_call *call);
bool native_compare_form(const tfr_call *call);
bool native_range_form(const tfr_call *call); /* program_range.c */
bool native_select_form(const tfr_call *call);
bool native_transpose_form(const tfr_call *call);
bool native_concat_form(const tfr_call *call);
bool native_strided_form(const tfr_call *call);

#endif
