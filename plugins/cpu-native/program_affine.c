/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_affine.c: multiples and sums with one known number around an activation become a part of
 * it. Networks for mobile devices learn such numbers before and after each activation; on their
 * own each is a pass over memory, as long as the convolution before it.
 */
#include <float.h>
#include <string.h>

#include "program.h"

/* What operand k of an item is known to be, if that is one number. */
static bool known_number(const native_ir *ir, const native_item *item, int k, float *number)
{
    const native_value *v = &ir->values[item->inputs[k]];

    if (!v->known || v->dtype != TFR_DTYPE_F32 || native_elements(v) != 1)
        return false;
    memcpy(number, v->known, sizeof *number);
    return true;
}

bool native_is_linear(const native_ir *ir, const native_item *item, native_act *act, int *operand)
{
    const bool commutes = item->binary == NATIVE_ADD || item->binary == NATIVE_MUL;
    float number;

    if (item->kind != NATIVE_ITEM_BINARY || item->binary == NATIVE_MASK ||
        item->binary == NATIVE_PRELU)
        return false;
    if (known_number(ir, item, 1, &number))
        *operand = 0;
    else if (commutes && known_number(ir, item, 0, &number))
        *operand = 1;
    else
        return false;
    memset(act, 0, sizeof *act);
    act->kind = NATIVE_ACT_LINEAR;
    act->a = item->binary == NATIVE_MUL   ? number
             : item->binary == NATIVE_DIV ? 1.0f / number
                                          : 1.0f;
    act->b = item->binary == NATIVE_ADD ? number : item->binary == NATIVE_SUB ? -number : -0.0f;
    return isfinite(act->a) && isfinite(act->b) && fabsf(act->a) >= FLT_MIN;
}

/* (x a + b) c + d; false: the numbers get too large or too small to stand for both. */
static bool compose(float a, float b, float c, float d, float *scale, float *shift)
{
    *scale = a * c;
    *shift = b == 0.0f && signbit(b) ? d : fmaf(b, c, d);
    return isfinite(*scale) && isfinite(*shift) && fabsf(*scale) >= FLT_MIN;
}

/* As AFFINE, whatever it is; NONE and LINEAR are not. */
static native_act affine_of(const native_act *act)
{
    native_act affine = *act;

    if (act->kind == NATIVE_ACT_AFFINE)
        return affine;
    affine.kind = NATIVE_ACT_AFFINE;
    affine.inner = act->kind;
    affine.scale[0] = affine.scale[1] = 1.0f;
    affine.shift[0] = affine.shift[1] = -0.0f;
    return affine;
}

bool native_compose_acts(const native_act *first, const native_act *then, native_act *both)
{
    const bool linear = first->kind == NATIVE_ACT_LINEAR, ends = then->kind == NATIVE_ACT_LINEAR;

    if (first->kind == NATIVE_ACT_NONE) {
        *both = *then;
        return true;
    }
    if (linear && ends) {
        *both = *first;
        return compose(first->a, first->b, then->a, then->b, &both->a, &both->b);
    }
    if (linear) {
        *both = affine_of(then);
        return compose(first->a, first->b, both->scale[0], both->shift[0], &both->scale[0],
                       &both->shift[0]);
    }
    *both = affine_of(first);
    return ends && compose(both->scale[1], both->shift[1], then->a, then->b, &both->scale[1],
                           &both->shift[1]);
}
