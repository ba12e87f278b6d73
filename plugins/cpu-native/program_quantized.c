/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_quantized.c: QuantizeLinear and DequantizeLinear as items of a program. Scales and zero
 * points are known, one for all elements or one for each index of an axis; the others of the
 * standard stay kernels.
 *
 * What DequantizeLinear makes of a constant is a constant: it is computed once, when the program is
 * compiled, and only if an item wants it so. Items that compute in integers read the constant
 * itself (program_integer.c).
 */
#include "program_quantized.h"

#include <stdlib.h>
#include <string.h>

#include "int8.h"

/* ---- forms ---- */

static bool is_byte(const tfr_operand *o)
{
    return o && (o->dtype == TFR_DTYPE_U8 || o->dtype == TFR_DTYPE_I8);
}

/* f and q: the sides of float32 and of integers. */
static bool has_known_grid(const tfr_call *call, const tfr_operand *f, const tfr_operand *q)
{
    const tfr_operand *x = tfr_call_input(call, 0), *scale = tfr_call_input(call, 1);
    const tfr_operand *zero = tfr_call_input(call, 2);
    const int64_t n = tfr_operand_elements(scale), axis = tfr_call_int(call, "axis", 1);
    const int64_t at = axis < 0 ? axis + x->rank : axis;
    const int64_t precision = tfr_call_int(call, "precision", 0);

    if (f->dtype != TFR_DTYPE_F32 || scale->dtype != TFR_DTYPE_F32 || !scale->data ||
        (precision != 0 && precision != TFR_DTYPE_F32))
        return false;
    if (zero && (zero->dtype != q->dtype || !zero->data || tfr_operand_elements(zero) != n))
        return false;
    if (tfr_operand_elements(x) == 0 || tfr_call_int(call, "block_size", 0) != 0)
        return false;
    return n == 1 || (scale->rank == 1 && at >= 0 && at < x->rank && x->dims[at] == n);
}

bool native_quantize_form(const tfr_call *call)
{
    const tfr_operand *y = tfr_call_output(call, 0);

    return is_byte(y) && has_known_grid(call, tfr_call_input(call, 0), y);
}

bool native_dequantize_form(const tfr_call *call)
{
    const tfr_operand *x = tfr_call_input(call, 0);

    return (is_byte(x) || (x->data && x->dtype == TFR_DTYPE_I32)) &&
           has_known_grid(call, tfr_call_output(call, 0), x);
}

bool native_known_quant(const tfr_call *call, uint32_t at, const tfr_operand *o, int64_t n)
{
    const tfr_operand *scale = tfr_call_input(call, at), *zero = tfr_call_input(call, at + 1);
    const int64_t here = tfr_operand_elements(scale);

    return is_byte(o) && scale->dtype == TFR_DTYPE_F32 && scale->data && zero && zero->data &&
           zero->dtype == o->dtype && tfr_operand_elements(zero) == here &&
           (here == 1 || (here == n && scale->rank == 1));
}

void native_read_quantized(const native_ir *ir, native_item *item)
{
    const native_value *x = &ir->values[item->inputs[0]], *scale = &ir->values[item->inputs[1]];
    const int64_t axis = tfr_call_int(item->call, "axis", 1);
    native_quant *q = &item->quant;

    q->dtype = item->kind == NATIVE_ITEM_QUANTIZE ? ir->values[item->output].dtype : x->dtype;
    q->scale = scale->known;
    q->n = native_elements(scale);
    q->zero = item->n_inputs > 2 && item->inputs[2] >= 0 ? ir->values[item->inputs[2]].known : NULL;
    q->axis = q->n == 1 ? 0 : (int)(axis < 0 ? axis + x->rank : axis);
    item->n_inputs = 1;
}

float native_quant_scale(const native_quant *q, int64_t i)
{
    float scale;

    memcpy(&scale, (const char *)q->scale + (q->n == 1 ? 0 : i) * (int64_t)sizeof scale,
           sizeof scale);
    return scale;
}

int32_t native_quant_zero(const native_quant *q, int64_t i)
{
    int32_t zero;

    i = q->n == 1 ? 0 : i;
    if (!q->zero)
        return 0;
    if (q->dtype == TFR_DTYPE_U8)
        return ((const uint8_t *)q->zero)[i];
    if (q->dtype == TFR_DTYPE_I8)
        return ((const int8_t *)q->zero)[i];
    memcpy(&zero, (const char *)q->zero + i * (int64_t)sizeof zero, sizeof zero);
    return zero;
}

/* ---- constants ---- */

typedef struct unpacking {
    const native_int8_isa *isa;
    const native_quant *quant;
    const char *from;
    float *to;
    int64_t inner; /* elements beside each other that have one scale */
} unpacking;

static void unpack_int32(const unpacking *u, int64_t row, float scale, int32_t zero)
{
    const char *from = u->from + row * u->inner * (int64_t)sizeof zero;
    float *to = u->to + row * u->inner;
    int64_t i;

    for (i = 0; i < u->inner; i++) {
        int32_t x;
        memcpy(&x, from + i * (int64_t)sizeof x, sizeof x);
        to[i] = (float)(((double)x - zero) * (double)scale);
    }
}

/* Numbers count runs of elements with one scale. */
static void unpack_rows(void *user, int64_t begin, int64_t end)
{
    const unpacking *u = user;
    const native_quant *q = u->quant;

    for (; begin < end; begin++) {
        const int64_t i = begin % q->n;
        const float scale = native_quant_scale(q, i), zero = (float)native_quant_zero(q, i);
        const native_quantized_span span = {.scale = &scale, .zero = &zero, .n = u->inner};
        const char *from = u->from + begin * u->inner;
        if (q->dtype == TFR_DTYPE_I32)
            unpack_int32(u, begin, scale, native_quant_zero(q, i));
        else if (q->dtype == TFR_DTYPE_I8)
            u->isa->dequantize_i8(&span, (const int8_t *)from, u->to + begin * u->inner);
        else
            u->isa->dequantize_u8(&span, (const uint8_t *)from, u->to + begin * u->inner);
    }
}

static int64_t inner_of(const native_quant *q, const native_value *v)
{
    int64_t inner = 1;
    int d;

    for (d = q->n == 1 ? 0 : q->axis + 1; d < v->rank; d++)
        inner *= v->dims[d];
    return inner;
}

float *native_keep_unpacked(native_ir *ir, native_unpacked *to, const native_constant_key *key,
                            int64_t n, uint64_t *constant_bytes, bool *made)
{
    const uint64_t bytes = (uint64_t)n * sizeof(float);
    struct native_constant **more =
        realloc(to->constants, ((size_t)to->n + 1) * sizeof *to->constants);

    if (!more)
        return NULL;
    to->constants = more;
    more[to->n] = native_take_constant(ir->device, key, bytes, made);
    if (!more[to->n])
        return NULL;
    if (*made)
        *constant_bytes += bytes;
    return native_constant_data(more[to->n++]);
}

static const float *unpack(native_ir *ir, const native_item *item, native_unpacked *to,
                           uint64_t *constant_bytes)
{
    const native_value *v = &ir->values[item->inputs[0]];
    const native_quant *q = &item->quant;
    const int64_t n = native_elements(v);
    const native_constant_key key = {{v->known, q->scale, q->zero}, {-2, q->dtype, n, q->axis}};
    unpacking u = {ir->device->int8, q, v->known, NULL, inner_of(q, v)};
    bool made = false;

    u.to = native_keep_unpacked(ir, to, &key, n, constant_bytes, &made);
    if (made)
        ir->device->host->parallel_for(unpack_rows, &u, n / u.inner, 1 + (1 << 14) / u.inner);
    return u.to;
}

/* An output of the program that is known is a copy. */
static void copy_out(native_ir *ir, int at, const float *known)
{
    const native_value like = ir->values[ir->items[at].output];
    const int copy = native_new_value(ir, &like);

    if (ir->failed)
        return;
    ir->values[copy].known = known;
    ir->items[at].kind = NATIVE_ITEM_COPY;
    ir->items[at].inputs[0] = copy;
}

int32_t native_unpack_known(native_ir *ir, native_unpacked *unpacked, uint64_t *constant_bytes,
                            tfr_err *err)
{
    int i;

    if (!(native_kinds(ir) & native_kind_bit(NATIVE_ITEM_DEQUANTIZE)))
        return TFR_OK;
    native_count_readers(ir);
    for (i = 0; i < ir->n_items && !ir->failed; i++) {
        native_item *item = &ir->items[i];
        native_value *y = &ir->values[item->output];
        const float *known = NULL;
        if (item->kind != NATIVE_ITEM_DEQUANTIZE || !ir->values[item->inputs[0]].known)
            continue;
        if (y->readers > 0) {
            known = unpack(ir, item, unpacked, constant_bytes);
            if (!known)
                return tfr_fail(err, TFR_ENOMEM, "no memory for %lld dequantized constants",
                                (long long)native_elements(y));
        }
        item->kind = NATIVE_ITEM_NONE;
        if (y->output)
            copy_out(ir, i, known);
        else
            y->known = known;
    }
    return TFR_OK;
}

void native_drop_unpacked(tfr_plugin_device *device, native_unpacked *unpacked)
{
    int i;

    for (i = 0; i < unpacked->n; i++)
        native_leave_constant(device, unpacked->constants[i]);
    free(unpacked->constants);
    unpacked->constants = NULL;
    unpacked->n = 0;
}
