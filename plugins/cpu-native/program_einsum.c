/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_einsum.c: Einsum of two operands as a product of matrices. Letters that both have and the
 * result keeps count matrices, those that the result lacks are summed over, the others are rows of
 * the first operand and columns of the second. So an item is up to three transpositions, views that
 * put letters of one kind together, and a product; what follows may leave out any of them. Einsum
 * of one operand is a sum over the letters that the result lacks, and a transposition. The core has
 * written "..." as letters.
 */
#include "program.h"

#include <string.h>

enum { LETTERS = 6 /* of an operand; what transpositions do */ };

/* Letters of a term, and of how many dims. */
typedef struct term {
    char letters[3 * LETTERS + 1];
    int n;
} term;

typedef struct equation {
    term in[2], out;
    term batch, rows, columns, sum;
} equation;

static int place_of(const term *t, char letter)
{
    const char *at = memchr(t->letters, letter, (size_t)t->n);
    return at ? (int)(at - t->letters) : -1;
}

static void append(term *t, char letter)
{
    t->letters[t->n++] = letter;
}

/* A term of `rank` different letters, whose end is left. */
static bool read_term(const char **text, int rank, term *t)
{
    t->n = 0;
    for (; **text && **text != ',' && **text != '-'; (*text)++) {
        if (t->n == LETTERS || place_of(t, **text) >= 0)
            return false;
        append(t, **text);
    }
    return t->n == rank;
}

static bool read_terms(const tfr_call *call, equation *e)
{
    const char *text = tfr_call_string(call, "equation", "");
    uint32_t i;

    for (i = 0; i < call->n_inputs; i++) {
        if ((i > 0 && *text++ != ',') ||
            !read_term(&text, tfr_call_input(call, i)->rank, &e->in[i]))
            return false;
    }
    if (strncmp(text, "->", 2) != 0)
        return false;
    text += 2;
    return read_term(&text, tfr_call_output(call, 0)->rank, &e->out) && !*text;
}

/* The first operand is the one that the first letter of the result which is not in both is of. */
static bool is_turned(const equation *e)
{
    int i;

    for (i = 0; i < e->out.n; i++) {
        const bool first = place_of(&e->in[0], e->out.letters[i]) >= 0;
        if (first != (place_of(&e->in[1], e->out.letters[i]) >= 0))
            return !first;
    }
    return false;
}

/* What each letter is; false if one is summed over that only one operand has. */
static bool sort_letters(equation *e)
{
    int i;

    for (i = 0; i < e->out.n; i++) {
        const char letter = e->out.letters[i];
        const bool left = place_of(&e->in[0], letter) >= 0,
                   right = place_of(&e->in[1], letter) >= 0;
        append(left && right ? &e->batch : left ? &e->rows : &e->columns, letter);
    }
    for (i = 0; i < e->in[0].n; i++) {
        if (place_of(&e->out, e->in[0].letters[i]) >= 0)
            continue;
        if (place_of(&e->in[1], e->in[0].letters[i]) < 0)
            return false;
        append(&e->sum, e->in[0].letters[i]);
    }
    return e->batch.n + e->columns.n + e->sum.n == e->in[1].n && e->batch.n + 2 <= LETTERS;
}

static bool has_elements(const tfr_operand *o)
{
    return o && o->dtype == TFR_DTYPE_F32 && o->rank <= LETTERS && tfr_operand_elements(o) > 0 &&
           tfr_operand_elements(o) < INT32_MAX / 2;
}

/* Dims of the same letter; a dim of 1 that broadcasts is none. */
static bool dims_agree(const tfr_call *call, const equation *e)
{
    const tfr_operand *y = tfr_call_output(call, 0);
    uint32_t i;
    int d;

    for (i = 0; i < call->n_inputs; i++) {
        const tfr_operand *x = tfr_call_input(call, i), *other = tfr_call_input(call, i ? 0 : 1);
        for (d = 0; d < x->rank; d++) {
            const char letter = e->in[i].letters[d];
            const int in_y = place_of(&e->out, letter);
            const int there = call->n_inputs == 2 ? place_of(&e->in[1 - i], letter) : -1;
            if ((in_y >= 0 && y->dims[in_y] != x->dims[d]) ||
                (there >= 0 && other->dims[there] != x->dims[d]))
                return false;
        }
    }
    return true;
}

/* Whether a term has all letters of another one. */
static bool covers(const term *t, const term *other)
{
    int i;

    for (i = 0; i < other->n; i++) {
        if (place_of(t, other->letters[i]) < 0)
            return false;
    }
    return true;
}

static bool read_equation(const tfr_call *call, equation *e, bool *turned)
{
    memset(e, 0, sizeof *e);
    if (!read_terms(call, e) || !dims_agree(call, e))
        return false;
    *turned = call->n_inputs == 2 && is_turned(e);
    if (*turned) {
        const term first = e->in[0];
        e->in[0] = e->in[1];
        e->in[1] = first;
    }
    return call->n_inputs == 1 ? covers(&e->in[0], &e->out) : sort_letters(e);
}

bool native_einsum_form(const tfr_call *call)
{
    equation e;
    bool turned;
    uint32_t i;

    if (call->n_inputs < 1 || call->n_inputs > 2 || !has_elements(tfr_call_output(call, 0)))
        return false;
    for (i = 0; i < call->n_inputs; i++) {
        if (!has_elements(tfr_call_input(call, i)))
            return false;
    }
    return read_equation(call, &e, &turned);
}

/* ---- items ---- */

typedef struct maker {
    native_ir *ir;
    const native_item *of;
} maker;

static native_item *add_item(const maker *m, native_item_kind kind, int input)
{
    native_item *item = native_new_item(m->ir, kind);

    item->node = m->of->node;
    item->call = m->of->call;
    item->n_inputs = 1;
    item->inputs[0] = input;
    return item;
}

/* With its dims in the order of other letters; output -1 = a value of its own. */
static int turn(const maker *m, int value, const term *from, const term *to, int output)
{
    native_value v = m->ir->values[value];
    bool same = true;
    native_item *item;
    int i;

    for (i = 0; i < to->n; i++) {
        same = same && from->letters[i] == to->letters[i];
        v.dims[i] = m->ir->values[value].dims[place_of(from, to->letters[i])];
    }
    if (same && output < 0)
        return value;
    if (output < 0)
        output = native_new_value(m->ir, &v);
    item = add_item(m, same ? NATIVE_ITEM_VIEW : NATIVE_ITEM_TRANSPOSE, value);
    item->output = output;
    for (i = 0; i < to->n; i++)
        item->perm[i] = place_of(from, to->letters[i]);
    return output;
}

/* The same elements with other dims. */
static int view(const maker *m, int value, int rank, const int64_t *dims)
{
    native_value v = m->ir->values[value];
    int output;

    if (v.rank == rank && memcmp(v.dims, dims, (size_t)rank * sizeof *dims) == 0)
        return value;
    v.rank = rank;
    memcpy(v.dims, dims, (size_t)rank * sizeof *dims);
    output = native_new_value(m->ir, &v);
    add_item(m, NATIVE_ITEM_VIEW, value)->output = output;
    return output;
}

static void join(term *t, const term *a, const term *b, const term *c)
{
    const term *parts[] = {a, b, c};
    int i, k;

    t->n = 0;
    for (k = 0; k < 3; k++) {
        for (i = 0; i < parts[k]->n; i++)
            append(t, parts[k]->letters[i]);
    }
}

/* Dims of letters of the result or of an operand. */
static int64_t dim_of(const maker *m, const equation *e, const int *inputs, char letter)
{
    const int left = place_of(&e->in[0], letter), right = place_of(&e->in[1], letter);

    return left >= 0 ? m->ir->values[inputs[0]].dims[left] : m->ir->values[inputs[1]].dims[right];
}

static int64_t product_of(const maker *m, const equation *e, const int *inputs, const term *t)
{
    int64_t n = 1;
    int i;

    for (i = 0; i < t->n; i++)
        n *= dim_of(m, e, inputs, t->letters[i]);
    return n;
}

/* A known operand whose letters lie as a matrix of these sides has them, or -1. */
static int weights_of(const maker *m, int input, const term *letters, const term *first,
                      const term *second, int64_t rows, int64_t columns)
{
    static const term none;
    native_value v = m->ir->values[input];
    term order;
    int matrix;

    join(&order, first, second, &none);
    if (!v.known || memcmp(order.letters, letters->letters, (size_t)order.n) != 0)
        return -1;
    v.rank = 2;
    v.dims[0] = rows;
    v.dims[1] = columns;
    matrix = native_new_value(m->ir, &v);
    if (!m->ir->failed) {
        m->ir->values[matrix].known = v.known;
        m->ir->values[matrix].unaligned = v.unaligned;
    }
    return matrix;
}

/* The letters of the result as a product has them: nothing has to be turned behind it. */
static bool ends_as_product(const equation *e)
{
    term order;

    join(&order, &e->batch, &e->rows, &e->columns);
    return memcmp(order.letters, e->out.letters, (size_t)order.n) == 0;
}

/* The rows and, as the last dim, columns or terms; one letter of columns leaves rows apart. */
static int dims_of_rows(const maker *m, const equation *e, const int *inputs, int64_t last,
                        int64_t *dims)
{
    int i, rank = 0;

    for (i = 0; e->columns.n == 1 && i < e->rows.n; i++)
        dims[rank++] = dim_of(m, e, inputs, e->rows.letters[i]);
    if (rank == 0)
        dims[rank++] = product_of(m, e, inputs, &e->rows);
    dims[rank++] = last;
    return rank;
}

/* One product with a known matrix, which may be packed beforehand; false: it is none. */
static bool multiply_by_known(const maker *m, const equation *e, const int *inputs, int output)
{
    const int64_t columns = product_of(m, e, inputs, &e->columns);
    const int64_t terms = product_of(m, e, inputs, &e->sum);
    const bool direct = e->columns.n == 1 && e->rows.n > 0 && ends_as_product(e);
    native_value y = m->ir->values[inputs[0]];
    int64_t dims[TFR_MAX_RANK];
    bool transposed = false;
    native_item *item;
    int right, left, product, rank, i;
    term order;

    if (e->batch.n > 0)
        return false;
    right = weights_of(m, inputs[1], &e->in[1], &e->sum, &e->columns, terms, columns);
    if (right < 0) {
        right = weights_of(m, inputs[1], &e->in[1], &e->columns, &e->sum, columns, terms);
        transposed = true;
    }
    if (right < 0)
        return false;
    join(&order, &e->rows, &e->sum, &e->batch);
    left = turn(m, inputs[0], &e->in[0], &order, -1);
    rank = dims_of_rows(m, e, inputs, terms, dims);
    left = view(m, left, rank, dims);
    y.rank = dims_of_rows(m, e, inputs, columns, y.dims);
    product = direct ? output : native_new_value(m->ir, &y);
    item = add_item(m, NATIVE_ITEM_PRODUCT, left);
    item->inputs[1] = right;
    item->n_inputs = 2;
    item->transposed = transposed;
    item->alpha = 1.0f;
    item->output = product;
    if (direct)
        return true;
    join(&order, &e->rows, &e->columns, &e->batch);
    for (i = 0; i < order.n; i++)
        dims[i] = dim_of(m, e, inputs, order.letters[i]);
    turn(m, view(m, product, order.n, dims), &order, &e->out, output);
    return true;
}

static void make_product(const maker *m, const equation *e, const int *inputs, int output)
{
    const int64_t rows = product_of(m, e, inputs, &e->rows);
    const int64_t columns = product_of(m, e, inputs, &e->columns);
    const int64_t terms = product_of(m, e, inputs, &e->sum);
    int64_t dims[TFR_MAX_RANK], whole[TFR_MAX_RANK];
    const bool direct = e->batch.n > 0 && e->rows.n == 1 && e->columns.n == 1 && ends_as_product(e);
    int rank = e->batch.n, i, left, right, product;
    native_value y = m->ir->values[inputs[0]];
    native_item *item;
    term order;

    for (i = 0; i < rank; i++)
        dims[i] = dim_of(m, e, inputs, e->batch.letters[i]);
    if (rank == 0)
        dims[rank++] = 1;
    join(&order, &e->batch, &e->rows, &e->sum);
    left = turn(m, inputs[0], &e->in[0], &order, -1);
    dims[rank] = rows;
    dims[rank + 1] = terms;
    left = view(m, left, rank + 2, dims);
    join(&order, &e->batch, &e->sum, &e->columns);
    right = turn(m, inputs[1], &e->in[1], &order, -1);
    dims[rank] = terms;
    dims[rank + 1] = columns;
    right = view(m, right, rank + 2, dims);
    dims[rank] = rows;
    y.rank = rank + 2;
    memcpy(y.dims, dims, sizeof dims);
    product = direct ? output : native_new_value(m->ir, &y);
    item = add_item(m, NATIVE_ITEM_BATCHED_PRODUCT, left);
    item->inputs[1] = right;
    item->n_inputs = 2;
    item->output = product;
    if (direct)
        return;
    join(&order, &e->batch, &e->rows, &e->columns);
    for (i = 0; i < order.n; i++)
        whole[i] = dim_of(m, e, inputs, order.letters[i]);
    turn(m, view(m, product, order.n, whole), &order, &e->out, output);
}

/* Of one operand: what the result lacks is summed over, what is left is turned. */
static void make_sum(const maker *m, const equation *e, int input, int output)
{
    native_value v = m->ir->values[input];
    const bool whole = e->in[0].n == e->out.n;
    native_item *item;
    term left = {.n = 0};
    uint32_t axes = 0;
    bool direct;
    int i, sum;

    for (i = 0; i < e->in[0].n; i++) {
        if (place_of(&e->out, e->in[0].letters[i]) < 0) {
            axes |= 1u << i;
        } else {
            v.dims[left.n] = m->ir->values[input].dims[i];
            append(&left, e->in[0].letters[i]);
        }
    }
    direct = memcmp(left.letters, e->out.letters, (size_t)left.n) == 0;
    if (!whole) {
        v.rank = left.n;
        sum = direct ? output : native_new_value(m->ir, &v);
        item = add_item(m, NATIVE_ITEM_FOLD, input);
        item->axes = axes;
        item->output = input = sum;
    }
    if (whole || !direct)
        turn(m, input, &left, &e->out, output);
}

void native_read_einsum(native_ir *ir, int at)
{
    const native_item of = ir->items[at];
    const maker m = {ir, &of};
    int inputs[2] = {of.inputs[0], of.n_inputs > 1 ? of.inputs[1] : -1};
    bool turned;
    equation e;

    if (!read_equation(of.call, &e, &turned))
        return;
    if (turned) {
        inputs[0] = of.inputs[1];
        inputs[1] = of.inputs[0];
    }
    ir->n_items--;
    if (of.n_inputs == 1)
        make_sum(&m, &e, inputs[0], of.output);
    else if (!multiply_by_known(&m, &e, inputs, of.output))
        make_product(&m, &e, inputs, of.output);
}
