/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Einsum (ONNX 28):  Y[output term] = sum over the labels that are not in the output term of
 *                                     X0[term 0] * X1[term 1] * ...
 *
 * A label is a letter; the core has written "..." as letters, too, and the output term that ONNX
 * lets one leave out. A label that an input has twice walks its diagonal, a dim of 1 broadcasts.
 * Floats multiply and add in double and round once, integers in 64 wrapping bits. NaN spreads.
 */
#include "tensor.h"

#include <string.h>

enum { EINSUM_LABELS = 52 /* A-Z, then a-z */ };

/* The labels of a term, one for each dim. */
typedef struct term {
    int32_t rank;
    int8_t label[TFR_MAX_RANK];
} term;

typedef struct einsum {
    int32_t n_used, n_out; /* labels in use: the first n_out are the output's dims */
    int8_t used[EINSUM_LABELS];
    int64_t dims[EINSUM_LABELS];
    int64_t (*strides)[EINSUM_LABELS]; /* of each input; 0 where it lacks the label */
} einsum;

static int letter(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    return -1;
}

/* Reads a term up to its end. False if it has other than rank labels. */
static bool read_term(const char **text, int32_t rank, term *out)
{
    const char *s = *text;

    for (out->rank = 0; letter(*s) >= 0 && out->rank < rank; s++)
        out->label[out->rank++] = (int8_t)letter(*s);
    *text = s;
    return out->rank == rank && letter(*s) < 0;
}

/*
 * Reads the equation of a call; the labels' dims and, if strides is not NULL, every input's
 * strides. False if the equation is wrong or does not fit the operands.
 */
static bool read_equation(const tfr_call *call, einsum *e)
{
    const char *s = tfr_call_string(call, "equation", "");
    const tfr_operand *y = tfr_call_output(call, 0);
    int32_t count[EINSUM_LABELS] = {0}, d, l;
    uint32_t i;
    term t;

    e->n_used = 0;
    for (l = 0; l < EINSUM_LABELS; l++)
        e->dims[l] = 1;
    for (i = 0; i < call->n_inputs; i++) {
        const tfr_operand *x = tfr_call_input(call, i);
        int64_t step = 1;
        if (!x || !read_term(&s, x->rank, &t))
            return false;
        for (d = t.rank - 1; d >= 0; d--) {
            l = t.label[d];
            count[l]++;
            if (x->dims[d] != 1)
                e->dims[l] = x->dims[d];
            if (e->strides && x->dims[d] != 1)
                e->strides[i][l] = naive_wrap_add(e->strides[i][l], step);
            step = naive_wrap_mul(step, x->dims[d]);
        }
        if (i + 1 < call->n_inputs && *s++ != ',')
            return false;
    }
    if (strncmp(s, "->", 2) != 0 || (s += 2, !read_term(&s, y->rank, &t)) || *s != 0)
        return false;
    for (d = 0; d < t.rank; d++) {
        e->used[e->n_used++] = t.label[d];
        if (count[t.label[d]] <= 0)
            return false; /* not in any input, or twice in the output */
        count[t.label[d]] = -1;
    }
    e->n_out = e->n_used;
    for (l = 0; l < EINSUM_LABELS; l++)
        if (count[l] > 0)
            e->used[e->n_used++] = (int8_t)l;
    return true;
}

static int32_t supports_einsum(const tfr_call *call, tfr_answer *answer)
{
    einsum e = {.strides = NULL};

    if (!read_equation(call, &e))
        return tfr_decline(answer, TFR_REASON_ATTRIBUTE,
                           "equation \"%s\" does not fit its %u inputs",
                           tfr_call_string(call, "equation", ""), call->n_inputs);
    return TFR_OK;
}

static int32_t prepare_einsum(naive_kernel *k, tfr_err *err)
{
    einsum *e = naive_keep(k, sizeof(*e));

    if (!e || !(e->strides = naive_keep(k, k->call.n_inputs * sizeof(*e->strides))))
        return tfr_fail(err, TFR_ENOMEM, "no memory for an einsum of %u inputs", k->call.n_inputs);
    k->state = e;
    if (!read_equation(&k->call, e))
        return tfr_fail(err, TFR_EINVAL, "equation \"%s\" does not fit its %u inputs",
                        tfr_call_string(&k->call, "equation", ""), k->call.n_inputs);
    return TFR_OK;
}

/* The next index of labels used[begin...end-1], the last fastest; false once it is back at 0. */
static bool next_index(const einsum *e, int32_t begin, int32_t end, int64_t *at)
{
    while (end-- > begin) {
        int32_t l = e->used[end];
        if (++at[l] < e->dims[l])
            return true;
        at[l] = 0;
    }
    return false;
}

static int64_t offset_of(const einsum *e, uint32_t input, const int64_t *at)
{
    int64_t offset = 0;
    int32_t u;

    for (u = 0; u < e->n_used; u++)
        offset += at[e->used[u]] * e->strides[input][e->used[u]];
    return offset;
}

static void write_sum(const naive_kernel *k, const tfr_launch *launch, const naive_tensor *y,
                      int64_t i, int64_t *at)
{
    const einsum *e = k->state;
    bool integer = naive_is_integer(y->dtype), empty = false;
    int64_t sum_int = 0;
    double sum = 0;
    uint32_t x;
    int32_t u;

    for (u = e->n_out; u < e->n_used; u++)
        empty = empty || e->dims[e->used[u]] == 0;
    if (!empty) {
        do {
            int64_t product_int = 1;
            double product = 1;
            for (x = 0; x < k->call.n_inputs; x++) {
                naive_tensor t = naive_input(k, launch, x);
                int64_t offset = offset_of(e, x, at);
                if (integer)
                    product_int = naive_wrap_mul(product_int, naive_read_int(&t, offset));
                else
                    product *= naive_read(&t, offset);
            }
            sum_int = naive_wrap_add(sum_int, product_int);
            sum += product;
        } while (next_index(e, e->n_out, e->n_used, at));
    }
    if (integer)
        naive_write_int(y, i, sum_int);
    else
        naive_write(y, i, sum);
}

static int32_t run_einsum(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const einsum *e = k->state;
    naive_tensor y = naive_output(k, launch, 0);
    int64_t at[EINSUM_LABELS] = {0}, i;

    (void)err;
    for (i = 0; i < y.n; i++) {
        write_sum(k, launch, &y, i, at);
        next_index(e, 0, e->n_out, at);
    }
    return TFR_OK;
}

const naive_op naive_einsum_ops[] = {
    {.domain = "",
     .name = "Einsum",
     .since_version = 28,
     .supports = supports_einsum,
     .run = run_einsum,
     .prepare = prepare_einsum},
    {.name = NULL},
};
