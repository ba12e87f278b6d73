/* SPDX-License-Identifier: Apache-2.0 */
/* fill.c: see fill.h. Also the views of make.h, which are about elements, too. */
#include "fill.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "make.h"

/* The largest finite value and the smallest normal one of a float type, roughly for small ones. */
static void float_limits(tfr_dtype dtype, double *largest, double *smallest)
{
    *largest = dtype == TFR_DTYPE_F64    ? DBL_MAX
               : dtype == TFR_DTYPE_F32  ? FLT_MAX
               : dtype == TFR_DTYPE_F16  ? 65504
               : dtype == TFR_DTYPE_BF16 ? 3.3895313892515355e38
                                         : 448;
    *smallest = dtype == TFR_DTYPE_F64   ? DBL_MIN
                : dtype == TFR_DTYPE_F16 ? 6.103515625e-05
                                         : FLT_MIN;
}

static double special_value(tfr_dtype dtype, char kind, ops_random *random)
{
    double largest, smallest;
    bool minus = ops_random_below(random, 2) != 0;
    double x = NAN;
    float_limits(dtype, &largest, &smallest);
    if (kind == 'i')
        x = INFINITY;
    else if (kind == 'h')
        x = largest;
    else if (kind == 'z')
        x = ops_random_below(random, 2) ? 0 : smallest * ops_random_unit(random);
    return minus ? -x : x;
}

static void integer_extreme(tfr_tensor *t, int64_t i, bool lowest)
{
    tfr_dtype dtype = tfr_tensor_dtype(t);
    size_t bytes = tfr_tensor_bytes(t) / (size_t)tfr_tensor_elements(t);
    unsigned char *at = (unsigned char *)tfr_tensor_data(t) + (size_t)i * bytes;
    bool has_sign = dtype == TFR_DTYPE_I8 || dtype == TFR_DTYPE_I16 || dtype == TFR_DTYPE_I32 ||
                    dtype == TFR_DTYPE_I64;
    uint64_t value = lowest ? 0 : UINT64_MAX;
    if (has_sign)
        value = (uint64_t)1 << (bytes * 8 - 1);
    if (has_sign && !lowest)
        value--;
    for (size_t b = 0; b < bytes; b++) {
        uint64_t byte = value >> (8 * b);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        at[bytes - 1 - b] = (unsigned char)byte;
#else
        at[b] = (unsigned char)byte;
#endif
    }
}

static bool is_complex(tfr_dtype dtype)
{
    return dtype == TFR_DTYPE_C64 || dtype == TFR_DTYPE_C128;
}

static void fill_strings(tfr_tensor *t, ops_random *random)
{
    static const char *const words[] = {"", "a", "A", "b c", "tensor", "Tensor", "x\xc3\xa9"};
    tfr_err err = TFR_ERR_INIT;
    for (int64_t i = 0; i < tfr_tensor_elements(t); i++) {
        const char *word = words[ops_random_below(random, sizeof words / sizeof words[0])];
        ops_must(tfr_tensor_set_string(t, i, word, strlen(word), &err), &err, "a string");
    }
}

static const char *default_draw(tfr_dtype dtype)
{
    if (dtype == TFR_DTYPE_BOOL)
        return "0|1";
    if (dtype == TFR_DTYPE_F8E8M0)
        return "0.5|1|2";
    if (dtype == TFR_DTYPE_U2 || dtype == TFR_DTYPE_I2)
        return "0|1";
    return tfr_dtype_is_integer(dtype) ? "0..7|-5..7" : "-3..3";
}

void ops_fill(ops_letters *letters, tfr_tensor *tensor, const char *values, int j,
              const char *special)
{
    const tfr_dtype dtype = tfr_tensor_dtype(tensor);
    const int64_t n = tfr_tensor_elements(tensor);
    const bool whole = tfr_dtype_is_integer(dtype);
    const int64_t parts = is_complex(dtype) ? 2 : 1;
    tfr_err err = TFR_ERR_INIT;
    if (dtype == TFR_DTYPE_STRING) {
        fill_strings(tensor, letters->random);
        return;
    }
    double *numbers = calloc((size_t)(n * parts + 1), sizeof *numbers);
    if (!numbers) {
        fprintf(stderr, "%s: out of memory for %lld numbers\n", letters->name, (long long)n);
        exit(99);
    }
    if (values && values[0] == '=') {
        double list[OPS_MAX_LIST];
        int length = ops_list(letters, values + 1, j, list);
        if (length != n) {
            fprintf(stderr, "%s: \"%s\" gives %d values for %lld elements\n", letters->name, values,
                    length, (long long)n);
            exit(99);
        }
        memcpy(numbers, list, (size_t)n * sizeof *numbers);
    } else {
        const char *draw = values ? values : default_draw(dtype);
        ops_drawing drawing = {0};
        for (int64_t i = 0; i < n * parts; i++) {
            numbers[i] =
                ops_draw_again(letters, draw, j, whole || dtype == TFR_DTYPE_BOOL, &drawing);
            if (special[0] && tfr_dtype_is_float(dtype) && !ops_random_below(letters->random, 8))
                numbers[i] = special_value(
                    dtype, special[ops_random_below(letters->random, strlen(special))],
                    letters->random);
            /* Negative numbers wrap around in unsigned types; small ones are wanted. */
            if (whole && numbers[i] < 0 && tfr_dtype_name(dtype)[0] == 'u')
                numbers[i] = -numbers[i];
        }
    }
    tfr_dtype from = is_complex(dtype) ? TFR_DTYPE_C128 : TFR_DTYPE_F64;
    ops_must(tfr_dtype_convert(dtype, tfr_tensor_data(tensor), from, numbers, n, &err), &err,
             letters->name);
    free(numbers);
    if (whole && strchr(special, 'h') && dtype < TFR_DTYPE_U4)
        for (int64_t i = 0; i < n; i++)
            if (ops_random_below(letters->random, 8) == 0)
                integer_extreme(tensor, i, ops_random_below(letters->random, 2) != 0);
}

/* ---- views ----------------------------------------------------------------------------------- */

/* How a view lies over its base. */
typedef struct lying {
    tfr_shape base;
    int64_t strides[TFR_MAX_RANK];
    int64_t offset;
} lying;

static void draw_lying(const tfr_shape *shape, ops_random *random, bool exact, lying *out)
{
    const uint64_t style = ops_random_next(random);
    const bool turn = style & 1, flip = style & 2, gaps = style & 4, repeat = !exact && style & 8;
    int32_t order[TFR_MAX_RANK];
    int64_t step = 1;
    out->base.rank = 1;
    out->offset = 1; /* off the 64 bytes that plain tensors are aligned to */
    for (int32_t d = 0; d < shape->rank; d++) {
        int32_t other = turn ? (int32_t)ops_random_below(random, (uint64_t)d + 1) : d;
        order[d] = order[other];
        order[other] = d;
    }
    for (int32_t k = shape->rank - 1; k >= 0; k--) {
        int32_t d = order[k];
        int64_t dim = shape->dims[d];
        if (repeat && ops_random_below(random, 2) == 0) {
            out->strides[d] = 0;
            continue;
        }
        if (gaps)
            step += (int64_t)ops_random_below(random, 2) * step;
        out->strides[d] = step;
        if (flip && ops_random_below(random, 2) == 0) {
            out->offset += step * (dim - 1);
            out->strides[d] = -step;
        }
        step *= dim;
    }
    out->base.dims[0] = step + 1;
}

/* The types under 8 bits stand last in the list of types, but for f8e8m0. */
static bool is_packed(tfr_dtype dtype)
{
    return dtype >= TFR_DTYPE_U4 && dtype != TFR_DTYPE_F8E8M0;
}

static void copy_strings(tfr_tensor *from, tfr_tensor *to)
{
    tfr_err err = TFR_ERR_INIT;
    for (int64_t i = 0; i < tfr_tensor_elements(from); i++) {
        size_t length;
        const char *text = tfr_tensor_get_string(from, i, &length);
        ops_must(tfr_tensor_set_string(to, i, text, length, &err), &err, "a string");
    }
}

static void copy_elements(tfr_tensor *from, tfr_tensor *to)
{
    const tfr_shape *shape = tfr_tensor_shape(from);
    const int64_t n = tfr_tensor_elements(from), *strides = tfr_tensor_strides(to);
    const size_t bytes = tfr_tensor_bytes(from) / (size_t)n;
    const char *source = tfr_tensor_data(from);
    char *target = tfr_tensor_data(to);
    int64_t index[TFR_MAX_RANK] = {0}, at = 0;
    if (tfr_tensor_dtype(from) == TFR_DTYPE_STRING) {
        copy_strings(from, to);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy(target + at * (int64_t)bytes, source + (size_t)i * bytes, bytes);
        for (int32_t d = shape->rank - 1; d >= 0; d--) {
            at += strides[d];
            if (++index[d] < shape->dims[d])
                break;
            at -= index[d] * strides[d];
            index[d] = 0;
        }
    }
}

tfr_tensor *ops_unaligned_of(tfr_tensor *plain)
{
    const tfr_dtype dtype = tfr_tensor_dtype(plain);
    const tfr_shape *shape = tfr_tensor_shape(plain);
    const tfr_shape more = {1, {tfr_tensor_elements(plain) + 1}};
    int64_t strides[TFR_MAX_RANK], step = 1;
    tfr_tensor *base = NULL, *view = NULL;
    tfr_err err = TFR_ERR_INIT;
    if (tfr_tensor_elements(plain) == 0 || is_packed(dtype))
        return tfr_tensor_retain(plain);
    for (int32_t d = shape->rank - 1; d >= 0; d--) {
        strides[d] = step;
        step *= shape->dims[d];
    }
    ops_must(tfr_tensor_create(dtype, &more, &base, &err), &err, "a base");
    ops_must(tfr_tensor_view(base, 1, shape, strides, &view, &err), &err, "a view");
    tfr_tensor_release(base);
    copy_elements(plain, view);
    return view;
}

tfr_tensor *ops_view_of(tfr_tensor **plain, ops_random *random, bool exact)
{
    const tfr_dtype dtype = tfr_tensor_dtype(*plain);
    tfr_tensor *base = NULL, *view = NULL, *copy = NULL;
    tfr_err err = TFR_ERR_INIT;
    lying lie;
    if (tfr_tensor_elements(*plain) == 0 || is_packed(dtype))
        return tfr_tensor_retain(*plain);
    draw_lying(tfr_tensor_shape(*plain), random, exact, &lie);
    ops_must(tfr_tensor_create(dtype, &lie.base, &base, &err), &err, "a base");
    ops_must(tfr_tensor_view(base, lie.offset, tfr_tensor_shape(*plain), lie.strides, &view, &err),
             &err, "a view");
    tfr_tensor_release(base);
    /* Where a stride is 0 the last value stays, so the plain tensor is what the view says. */
    copy_elements(*plain, view);
    ops_must(tfr_tensor_copy(view, &copy, &err), &err, "a copy");
    tfr_tensor_release(*plain);
    *plain = copy;
    return view;
}
