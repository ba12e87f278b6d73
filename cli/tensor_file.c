/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_file.c: see tensor_file.h. */
#include "tensor_file.h"

#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>
#include <tfrun/npy.h>
#include <tfrun/onnx.h>

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), n_end = strlen(end);
    return n > n_end && strcmp(name + n - n_end, end) == 0;
}

tfr_status cli_tensor_check_name(const char *path, tfr_err *err)
{
    if (ends_in(path, ".npy") || ends_in(path, ".pb"))
        return TFR_OK;
    return tfr_fail(err, TFR_EINVAL,
                    "%s: tensors are kept in .npy and .pb files, and the name ends in neither",
                    path);
}

tfr_status cli_tensor_load(const char *path, tfr_kind kind, tfr_tensor **out, tfr_err *err)
{
    tfr_status status = cli_tensor_check_name(path, err);
    if (status)
        return status;
    return ends_in(path, ".npy") ? tfr_npy_load(path, out, err)
                                 : tfr_onnx_load_tensor(path, kind, out, err);
}

tfr_status cli_tensor_write(const char *path, const char *name, const tfr_tensor *keys,
                            const tfr_tensor *tensor, tfr_write_fn write, void *user, tfr_err *err)
{
    if (!ends_in(path, ".pb"))
        return tfr_npy_write(tensor, write, user, err);
    return keys ? tfr_onnx_write_maps(name, keys, tensor, write, user, err)
                : tfr_onnx_write_tensor(name, tensor, write, user, err);
}

/* ---- random values --------------------------------------------------------------------------- */

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static tfr_status fill_strings(tfr_tensor *tensor, uint64_t state, tfr_err *err)
{
    tfr_status status = TFR_OK;
    for (int64_t i = 0; !status && i < tfr_tensor_elements(tensor); i++)
        status = tfr_tensor_set_string(tensor, i, next_random(&state) & 1 ? "a" : "b", 1, err);
    return status;
}

/* Fills in pieces, so that no second copy of a large tensor is needed. */
static tfr_status fill_numbers(tfr_tensor *tensor, uint64_t state, int64_t least, int64_t n_values,
                               tfr_err *err)
{
    enum { PIECE = 1024 }; /* a multiple of 8 elements, so pieces of packed types start on a byte */
    tfr_dtype dtype = tfr_tensor_dtype(tensor);
    bool is_complex = dtype == TFR_DTYPE_C64 || dtype == TFR_DTYPE_C128;
    bool is_real = is_complex || tfr_dtype_is_float(dtype);
    int64_t n = tfr_tensor_elements(tensor);
    unsigned char *data = tfr_tensor_data(tensor);
    tfr_dtype part = dtype == TFR_DTYPE_C64 ? TFR_DTYPE_F32 : is_complex ? TFR_DTYPE_F64 : dtype;
    size_t piece_bytes;
    tfr_shape piece = {1, {PIECE}};
    tfr_status status = tfr_shape_bytes(&piece, part, &piece_bytes, err);
    if (is_complex)
        n *= 2;
    for (int64_t i = 0; !status && i < n; i += PIECE, data += piece_bytes) {
        float values[PIECE];
        int64_t some = n - i < PIECE ? n - i : PIECE;
        for (int64_t k = 0; k < some; k++) {
            uint64_t bits = next_random(&state);
            /* 24 bits, as many as a float has. */
            values[k] = is_real
                            ? (float)(bits >> 40) / 16777216.0f
                            : (float)(least + (int64_t)((bits >> 32) * (uint64_t)n_values >> 32));
        }
        status = tfr_dtype_convert(part, data, TFR_DTYPE_F32, values, some, err);
    }
    return status;
}

tfr_status cli_tensor_random(tfr_dtype dtype, const tfr_shape *shape, uint64_t seed, int64_t least,
                             int64_t n_values, tfr_tensor **out, tfr_err *err)
{
    tfr_tensor *tensor;
    tfr_status status = tfr_tensor_create(dtype, shape, &tensor, err);
    if (status)
        return status;
    status = dtype == TFR_DTYPE_STRING ? fill_strings(tensor, seed, err)
                                       : fill_numbers(tensor, seed, least, n_values, err);
    if (status)
        tfr_tensor_release(tensor);
    else
        *out = tensor;
    return status;
}
