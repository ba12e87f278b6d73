/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_forms_elementwise.c: which calls items do of those that go element by element, and of
 * those that only move elements. What rows of elementwise.h do is in program_elementwise.c.
 */
#include "program_forms.h"

#include "cast.h"

#include <math.h>
#include <string.h>

/* One of the inputs, or all, spread over the output in at most 4 groups of dims. */
bool native_binary_form(const tfr_call *call)
{
    const tfr_operand *a = tfr_call_input(call, 0), *b = tfr_call_input(call, 1);
    const tfr_operand *y = tfr_call_output(call, 0);

    return a->rank <= y->rank && b->rank <= y->rank && y->rank <= 6 &&
           (tfr_operand_same_dims(a, y) || tfr_operand_same_dims(b, y));
}

/* Of more the sum is in double, as elementwise.h has it; that of two is the same in float32. */
bool native_sum_of_two_form(const tfr_call *call)
{
    return call->n_inputs == 2 && native_binary_form(call);
}

float native_known(const tfr_operand *o)
{
    float value;

    memcpy(&value, o->data, sizeof value);
    return value;
}

static bool known_number(const tfr_operand *o)
{
    return !o || (o->data && tfr_operand_elements(o) == 1 && !isnan(native_known(o)));
}

bool native_clip_form(const tfr_call *call)
{
    return known_number(tfr_call_input(call, 1)) && known_number(tfr_call_input(call, 2));
}

bool native_celu_form(const tfr_call *call)
{
    const float alpha = tfr_call_float(call, "alpha", 1.0f);

    return alpha != 0.0f && isfinite(alpha); /* others make NaN of 0/0 and of inf * 0 */
}

bool native_cast_form(const tfr_call *call)
{
    return native_find_cast(&native_portable, tfr_call_input(call, 0)->dtype,
                            tfr_call_output(call, 0)->dtype);
}

bool native_compare_form(const tfr_call *call)
{
    const tfr_operand *y = tfr_call_output(call, 0);

    return native_is_float(tfr_call_input(call, 0)) && native_is_float(tfr_call_input(call, 1)) &&
           y->rank <= 6;
}

bool native_select_form(const tfr_call *call)
{
    return native_is_float(tfr_call_input(call, 1)) && native_is_float(tfr_call_input(call, 2)) &&
           native_is_float(tfr_call_output(call, 0)) && tfr_call_output(call, 0)->rank <= 6;
}

/* ---- moves: of float32 and, between ops of integers, of bytes ---- */

static bool is_byte(const tfr_operand *o)
{
    return o->dtype == TFR_DTYPE_U8 || o->dtype == TFR_DTYPE_I8;
}

bool native_transpose_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    return x->rank <= 6 && native_fits(x) &&
           (native_all_float(call) || (is_byte(x) && tfr_operand_elements(x) > 0));
}

bool native_concat_form(const tfr_call *call)
{
    uint32_t i;

    if (native_all_float(call))
        return true;
    for (i = 0; i < call->n_inputs; i++) {
        const tfr_operand *x = tfr_call_input(call, i);
        if (!x || !is_byte(x) || tfr_operand_elements(x) == 0)
            return false;
    }
    return native_fits(tfr_call_output(call, 0));
}

/* Masks are expanded on their way to scores. */
static bool is_moved(const tfr_call *call, const tfr_operand *o)
{
    return native_is_float(o) || is_byte(o) ||
           (strcmp(call->name, "Expand") == 0 && o->dtype == TFR_DTYPE_BOOL);
}

/* What only moves, with steps and places that inference has found. */
bool native_strided_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);
    const uint64_t rank = (uint64_t)x->rank;
    uint32_t i;

    for (i = 0; i < call->n_outputs; i++) {
        const tfr_operand *y = tfr_call_output(call, i);
        if (!y || !is_moved(call, y) || y->rank > NATIVE_STRIDED_RANK ||
            tfr_operand_elements(y) == 0 || !native_fits(y))
            return false;
    }
    if (strcmp(call->name, "Slice") == 0 &&
        (!tfr_call_ints(call, "starts", rank) || !tfr_call_ints(call, "steps", rank)))
        return false;
    return is_moved(call, x) && x->rank <= NATIVE_STRIDED_RANK && tfr_operand_elements(x) > 0 &&
           native_fits(x) && call->n_outputs <= NATIVE_ITEM_OUTPUTS;
}
