/* SPDX-License-Identifier: Apache-2.0 */
/* infer_window.c: reading, checking and normalising a sliding window; infer_window.h says more. */
#include "op/infer_window.h"

#include <string.h>

/* A list of n numbers in [least, INT32_MAX], or all fill if the attribute is absent. */
static tfr_status read_list(tfr__infer *in, tfr_err *err, const char *name, uint32_t n,
                            int64_t least, int64_t fill, int64_t *out)
{
    uint32_t count;
    TFR__TRY(tfr__attr_list_ints(in, err, name, out, 2 * TFR__WINDOW_MAX, &count));
    if (!tfr__attr_find(in->attrs, name)) {
        for (uint32_t i = 0; i < n; i++)
            out[i] = fill;
        return TFR_OK;
    }
    if (count != n)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "attribute %s has %u values, want %u", name,
                               count, n);
    for (uint32_t i = 0; i < n; i++)
        if (out[i] < least || out[i] > INT32_MAX)
            return tfr__infer_fail(in, err, out[i] < least ? TFR_ESHAPE : TFR_ELIMIT,
                                   "attribute %s has %lld at %u, want %lld...%d", name,
                                   (long long)out[i], i, (long long)least, INT32_MAX);
    return TFR_OK;
}

tfr_status tfr__window_read(tfr__infer *in, tfr_err *err, uint32_t n, const int64_t *weights,
                            tfr__window *w)
{
    int64_t list[2 * TFR__WINDOW_MAX];
    w->n = n;
    w->same = false;
    TFR__TRY(read_list(in, err, "strides", n, 1, 1, list));
    memcpy(w->stride, list, n * sizeof(int64_t));
    TFR__TRY(read_list(in, err, "dilations", n, 1, 1, list));
    memcpy(w->dilation, list, n * sizeof(int64_t));
    TFR__TRY(read_list(in, err, "pads", 2 * n, 0, 0, list));
    memcpy(w->begin, list, n * sizeof(int64_t));
    memcpy(w->end, list + n, n * sizeof(int64_t));
    TFR__TRY(read_list(in, err, "kernel_shape", n, 1, 0, list));
    bool given = tfr__attr_find(in->attrs, "kernel_shape") != NULL;
    for (uint32_t i = 0; i < n; i++) {
        w->kernel[i] = given ? list[i] : weights[i];
        if (weights && tfr__differ(in, weights[i], w->kernel[i]))
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "kernel_shape has %lld on axis %u, the weights have %lld",
                                   (long long)w->kernel[i], i, (long long)weights[i]);
        if (w->kernel[i] < 0 && tfr__is_symbolic(in))
            continue;
        if (w->kernel[i] < 1 || w->kernel[i] > INT32_MAX)
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "the kernel has %lld elements on axis %u, want 1...%d",
                                   (long long)w->kernel[i], i, INT32_MAX);
    }
    return TFR_OK;
}

int64_t tfr__window_reach(const tfr__window *w, uint32_t axis)
{
    return w->dilation[axis] * (w->kernel[axis] - 1) + 1;
}

/* Is there too little known for arithmetic? */
static bool is_open(const tfr__infer *in, const int64_t *dims, const tfr__window *w, uint32_t i)
{
    return tfr__is_symbolic(in) && (dims[i] < 0 || w->kernel[i] < 0);
}

/* The positions on axis i where not all is known. */
static int64_t slide_symbolic(const tfr__infer *in, const int64_t *dims, bool ceil,
                              const tfr__window *w, uint32_t i)
{
    int64_t dim = dims[i], s = w->stride[i];
    if (w->same && dim < 0)
        return s == 1 ? dim : tfr__dim_add(in, tfr__dim_div(in, tfr__dim_add(in, dim, -1), s), 1);
    if (w->kernel[i] < 0 || (ceil && s > 1))
        return tfr__new_dim(in);
    dim = tfr__dim_add(in, dim, w->begin[i] + w->end[i] - tfr__window_reach(w, i));
    return tfr__dim_add(in, s == 1 ? dim : tfr__dim_div(in, dim, s), 1);
}

void tfr__window_auto_pad(tfr__infer *in, const int64_t *dims, tfr__window *w)
{
    const char *mode = tfr__attr_string(in->attrs, "auto_pad", "NOTSET");
    if (mode[0] == 'N')
        return;
    for (uint32_t i = 0; i < w->n; i++) {
        w->begin[i] = w->end[i] = 0;
        w->same = mode[0] == 'S';
        if (mode[0] == 'V' || dims[i] == 0 || is_open(in, dims, w, i))
            continue;
        /* SAME: ceil(dim / stride) positions. The last one starts inside of dim, no overflow. */
        int64_t last = (dims[i] - 1) / w->stride[i] * w->stride[i];
        int64_t missing = tfr__window_reach(w, i) - (dims[i] - last);
        if (missing <= 0)
            continue;
        int64_t half = missing / 2;
        bool upper = strcmp(mode, "SAME_UPPER") == 0;
        w->begin[i] = upper ? half : missing - half;
        w->end[i] = missing - w->begin[i];
    }
}

tfr_status tfr__window_slide(tfr__infer *in, tfr_err *err, const int64_t *dims, bool ceil,
                             const tfr__window *w, int64_t *out)
{
    for (uint32_t i = 0; i < w->n; i++) {
        int64_t padded, reach = tfr__window_reach(w, i), s = w->stride[i];
        if (is_open(in, dims, w, i)) {
            out[i] = slide_symbolic(in, dims, ceil, w, i);
            continue;
        }
        TFR__TRY(tfr__add(in, err, "padded dim", dims[i], w->begin[i] + w->end[i], &padded));
        if (padded < reach)
            return tfr__infer_fail(in, err, TFR_ESHAPE,
                                   "the kernel reaches over %lld elements (%lld, dilation %lld) of "
                                   "spatial axis %u, which has %lld with padding",
                                   (long long)reach, (long long)w->kernel[i],
                                   (long long)w->dilation[i], i, (long long)padded);
        int64_t room = padded - reach, n = room / s;
        if (ceil && room % s && (n + 1) * s < dims[i] + w->begin[i])
            n++;
        out[i] = n + 1;
    }
    return TFR_OK;
}

static bool has_attr(const tfr__infer *in, const char *name)
{
    tfr__attr_formal formal;
    size_t bytes = strlen(name);
    for (const char *cursor = in->op->attrs; tfr__op_next_attr(&cursor, &formal);)
        if (formal.name_bytes == bytes && memcmp(formal.name, name, bytes) == 0)
            return true;
    return false;
}

tfr_status tfr__window_write(tfr__infer *in, tfr_err *err, const tfr__window *w)
{
    int64_t pads[2 * TFR__WINDOW_MAX];
    memcpy(pads, w->begin, w->n * sizeof(int64_t));
    memcpy(pads + w->n, w->end, w->n * sizeof(int64_t));
    TFR__TRY(tfr__attr_set_ints(in->attrs, "strides", w->stride, w->n, err));
    TFR__TRY(tfr__attr_set_ints(in->attrs, "pads", pads, 2 * (uint64_t)w->n, err));
    if (has_attr(in, "dilations"))
        TFR__TRY(tfr__attr_set_ints(in->attrs, "dilations", w->dilation, w->n, err));
    if (has_attr(in, "kernel_shape"))
        TFR__TRY(tfr__attr_set_ints(in->attrs, "kernel_shape", w->kernel, w->n, err));
    if (has_attr(in, "auto_pad"))
        TFR__TRY(tfr__attr_set_string(in->attrs, "auto_pad", "NOTSET", 6, err));
    return TFR_OK;
}
