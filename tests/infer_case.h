/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_case.h: reads inference cases written as text and runs them. Included by
 * tests/test_infer*.c.
 *
 *   operands   "f32[1,3,8,8] - i64[2]{1,-1}"   blank-separated; "-" = absent; values in braces;
 *              "seq(f32)" and "opt(f32)"; "~" in front of an output: dims are upper bounds;
 *              "f32[?]" = a tensor of unknown shape. In strings "%" stands for a blank.
 *   attributes "axis=1 pads=0,0 value=f32[1]{2}"   types come from the op's row
 *
 * Each case is inferred again with dims, ranks, values and types forgotten here and there: whatever
 * a symbolic inference says has to hold for the concrete one.
 */
#ifndef INFER_CASE_H
#define INFER_CASE_H

#include <stdlib.h>
#include <tfrun/fail.h>

#include "op/infer_kit.h"
#include "tfr_test.h"

enum { CASE_OPERANDS = 24, CASE_VALUES = 64 };

typedef struct case_value {
    int64_t ints[CASE_VALUES]; /* also the storage of narrower types */
    tfr_string strings[CASE_VALUES];
    char text[256];
} case_value;

typedef struct infer_run {
    tfr__infer in;
    tfr__type inputs[CASE_OPERANDS], outputs[CASE_OPERANDS];
    case_value values[CASE_OPERANDS];
    tfr__attr_list attrs;
    tfr_err err;
} infer_run;

static inline int32_t case_dtype(const char *name, size_t bytes)
{
    for (int32_t d = 1; d < TFR_DTYPE_END; d++)
        if (strlen(tfr__dtype_short(d)) == bytes && !memcmp(tfr__dtype_short(d), name, bytes))
            return d;
    return -1;
}

static inline void case_store(case_value *v, int32_t dtype, uint32_t at, const char *text)
{
    float f = strtof(text, NULL);
    double d = strtod(text, NULL);
    int64_t i = strtoll(text, NULL, 10);
    int32_t small = (int32_t)i;
    uint8_t byte = (uint8_t)i;
    char *base = (char *)v->ints;
    if (dtype == TFR_DTYPE_F32)
        memcpy(base + 4 * at, &f, 4);
    else if (dtype == TFR_DTYPE_F64)
        memcpy(base + 8 * at, &d, 8);
    else if (dtype == TFR_DTYPE_I32)
        memcpy(base + 4 * at, &small, 4);
    else if (dtype == TFR_DTYPE_U8)
        memcpy(base + at, &byte, 1);
    else
        v->ints[at] = i;
}

/* "{a,b}" at p; returns behind it. */
static inline const char *case_read_values(const char *p, int32_t dtype, case_value *v)
{
    char *store = v->text;
    for (uint32_t n = 0; *p++ != '}' && n < CASE_VALUES; n++) {
        char word[64];
        size_t k = strcspn(p, ",}");
        snprintf(word, sizeof word, "%.*s", (int)k, p);
        case_store(v, dtype, n, word);
        if (dtype == TFR_DTYPE_STRING) {
            for (size_t c = 0; c < k; c++)
                store[c] = word[c] == '%' ? ' ' : word[c];
            v->strings[n] = (tfr_string){store, k};
            store[k] = '\0';
            store += k + 1;
        }
        p += k;
    }
    return p;
}

/* One operand at p, behind the blanks; returns behind it. */
static inline const char *case_read_operand(const char *p, tfr__type *t, case_value *v)
{
    memset(t, 0, sizeof *t);
    if (*p == '-')
        return p + 1;
    if (*p == '~')
        t->dynamic = true, p++;
    t->kind = !strncmp(p, "seq(", 4) ? 2 : !strncmp(p, "opt(", 4) ? 3 : 1;
    t->elem_kind = t->kind == 1 ? 0 : 1;
    p += t->kind == 1 ? 0 : 4;
    size_t n = strcspn(p, "[)");
    t->dtype = case_dtype(p, n);
    p += n + 1;
    if (t->kind != 1)
        return p;
    t->shape_known = *p != '?';
    for (p += !t->shape_known; *p != ']'; p += *p == ',') {
        char *end;
        t->dims[t->rank < TFR_MAX_RANK ? t->rank : 0] = strtoll(p, &end, 10);
        t->rank++;
        p = end;
    }
    if (*++p == '{') {
        p = case_read_values(p, t->dtype, v);
        t->data = t->dtype == TFR_DTYPE_STRING ? (const void *)v->strings : v->ints;
    }
    return p;
}

static inline uint32_t case_read_operands(const char *text, tfr__type *types, case_value *values)
{
    uint32_t n = 0;
    for (const char *p = text; *p && n < CASE_OPERANDS; n++, p += *p == ' ')
        p = case_read_operand(p, &types[n], &values[n]);
    return n;
}

static inline int32_t case_attr_type(const tfr__op *op, const char *name)
{
    tfr__attr_formal f;
    for (const char *c = op->attrs; tfr__op_next_attr(&c, &f);)
        if (strlen(name) == f.name_bytes && !memcmp(name, f.name, f.name_bytes))
            return f.type;
    return TFR_ATTR_INT;
}

static inline void case_set_attr(infer_run *r, const char *name, const char *text)
{
    static case_value v, t;
    static float floats[CASE_VALUES];
    char list[300];
    tfr_attr a = {.size = sizeof a, .type = case_attr_type(r->in.op, name), .name = name};
    tfr__type type;
    tfr_operand tensor = {.size = sizeof tensor, .dims = type.dims};
    if (a.type == TFR_ATTR_TENSOR) {
        case_read_operand(text, &type, &t);
        tensor.dtype = type.dtype;
        tensor.rank = type.rank;
        tensor.data = type.data;
    }
    for (const char *p = text; *p; p++)
        a.n += *p == ',';
    a.n += *text != '\0';
    snprintf(list, sizeof list, "{%s}", text);
    case_read_values(list, TFR_DTYPE_STRING, &v);
    for (uint64_t i = 0; i < a.n && i < CASE_VALUES; i++)
        floats[i] = strtof(v.strings[i].data, NULL);
    if (a.type < TFR_ATTR_FLOATS) {
        a.n = 1;
        v.strings[0] = (tfr_string){text, strlen(text)};
    }
    a.ints = v.ints;
    a.floats = floats;
    a.strings = v.strings;
    a.tensor = &tensor;
    REQUIRE(tfr__attr_set(&r->attrs, &a, NULL, &r->err) == TFR_OK);
}

/* Sets up the node; "Op" is looked up in all domains. */
static inline void case_begin(infer_run *r, const char *op, const char *inputs, const char *attrs)
{
    memset(r, 0, sizeof *r);
    r->err.size = sizeof r->err;
    r->in.op = tfr__op_find("", op);
    for (uint32_t i = 0; !r->in.op && i < tfr__op_count(); i++)
        if (!strcmp(tfr__op_at(i)->name, op))
            r->in.op = tfr__op_at(i);
    REQUIRE(r->in.op != NULL);
    r->in.node = "n1";
    r->in.inputs = r->inputs;
    r->in.outputs = r->outputs;
    r->in.attrs = &r->attrs;
    r->in.n_inputs = case_read_operands(inputs, r->inputs, r->values);
    for (const char *p = attrs; *p; p += *p == ' ') {
        char name[64], text[256];
        size_t n = strcspn(p, "="), k = strcspn(p + n + 1, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        snprintf(text, sizeof text, "%.*s", (int)k, p + n + 1);
        case_set_attr(r, name, text);
        p += n + 1 + k;
    }
}

/* The canonical attribute as text, "none" if absent. */
static inline void case_attr_text(const infer_run *r, const char *name, char *out, size_t capacity)
{
    const tfr__attr *a = tfr__attr_find(&r->attrs, name);
    size_t at = 0;
    snprintf(out, capacity, "%s", a ? "" : "none");
    for (uint64_t i = 0; a && i < a->pub.n && at < capacity; i++) {
        if (i)
            at += (size_t)snprintf(out + at, capacity - at, ",");
        if (a->pub.ints)
            at += (size_t)snprintf(out + at, capacity - at, "%lld", (long long)a->pub.ints[i]);
        else if (a->pub.floats)
            at += (size_t)snprintf(out + at, capacity - at, "%g", (double)a->pub.floats[i]);
        else if (a->pub.strings)
            at += (size_t)snprintf(out + at, capacity - at, "%s", a->pub.strings[i].data);
    }
}

static inline void case_type_text(const tfr__type *t, char *out, size_t capacity)
{
    size_t at = 0;
    if (t->kind != 1) {
        snprintf(out, capacity,
                 t->kind == 0   ? "-"
                 : t->kind == 2 ? "seq(%s)"
                                : "opt(%s)",
                 tfr__dtype_short(t->dtype));
        return;
    }
    at += (size_t)snprintf(out, capacity, "%s%s[%s", t->dynamic ? "~" : "",
                           tfr__dtype_short(t->dtype), t->shape_known ? "" : "?");
    for (int32_t i = 0; i < t->rank && at < capacity; i++)
        at +=
            (size_t)snprintf(out + at, capacity - at, i ? ",%lld" : "%lld", (long long)t->dims[i]);
    snprintf(out + at, capacity - at, "]");
}

/* ---- the same with less known ---------------------------------------------------------------- */

enum { CASE_VARIANTS = 40, CASE_SYMBOLS = 400 };

/* What symbols stand for in this case. */
typedef struct case_symbols {
    tfr__symbols table;
    int64_t values[CASE_SYMBOLS];
    bool known[CASE_SYMBOLS];
    uint64_t random;
} case_symbols;

static inline uint32_t case_draw(case_symbols *s, uint32_t n)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(s->random >> 33) % n;
}

/* A symbol that stands for the value: the same one again at times. */
static inline int64_t case_symbol(case_symbols *s, int64_t value)
{
    int64_t n = s->table.n;
    for (int64_t i = 0; i < n && case_draw(s, 4); i++)
        if (s->known[i] && s->values[i] == value && !tfr__symbol_at(&s->table, -1 - i))
            return -1 - i;
    int64_t symbol = tfr__symbol_new(&s->table);
    s->values[-1 - symbol] = value;
    s->known[-1 - symbol] = true;
    return symbol;
}

/* What a symbol stands for; false if a new symbol is in it. */
static inline bool case_evaluate(const case_symbols *s, int64_t symbol, int64_t *out)
{
    const tfr__expression *e = tfr__symbol_at(&s->table, symbol);
    int64_t v = e ? e->constant : s->values[-1 - symbol];
    for (uint32_t k = 0; e && k < e->n_terms; k++) {
        int64_t term;
        if (!case_evaluate(s, e->terms[k], &term))
            return false;
        v = e->kind == TFR__SUM ? v + term : e->kind == TFR__PRODUCT ? v * term : term / v;
    }
    *out = v;
    return e || s->known[-1 - symbol];
}

/* Forgets some of what is known of an operand. */
static inline void case_forget(case_symbols *s, tfr__type *t, tfr__elements *e, bool reshapes)
{
    bool list = (t->dtype == TFR_DTYPE_I64 || t->dtype == TFR_DTYPE_I32) && t->rank <= 1 && t->data;
    int64_t n = tfr__type_elements(t);
    if (t->kind != TFR_KIND_TENSOR)
        return;
    if (t->data && case_draw(s, 2)) {
        if (list && n <= TFR__MAX_ELEMENTS && case_draw(s, 4)) {
            e->n = (uint32_t)n;
            for (uint32_t i = 0; i < e->n; i++) {
                int64_t v;
                if (t->dtype == TFR_DTYPE_I64) /* the largest ones are no doubles */
                    memcpy(&v, (const char *)t->data + i * (int64_t)sizeof v, sizeof v);
                else
                    v = (int64_t)tfr__element_double(t->data, t->dtype, i);
                uint32_t what = case_draw(s, 3);
                e->v[i] = tfr__number_of(v);
                if (what == 1 && v >= reshapes)
                    e->v[i] = (tfr__number){TFR__SYMBOL, case_symbol(s, v)};
                else if (what == 2 && case_draw(s, 2))
                    e->v[i] = (tfr__number){TFR__UNKNOWN, 0};
            }
            t->elements = e;
        }
        t->data = NULL;
    }
    if (t->data)
        return;
    for (int32_t i = 0; i < t->rank && i < TFR_MAX_RANK; i++) /* hostile ranks are larger */
        if (case_draw(s, 2) && !t->elements)
            t->dims[i] = case_symbol(s, t->dims[i]);
    if (!case_draw(s, 8) && !t->elements) {
        t->shape_known = false;
        t->rank = 0;
        if (!case_draw(s, 3))
            t->kind = TFR__KIND_ANY;
    }
    if (!case_draw(s, 10))
        t->dtype = 0;
}

/* Whatever is said of an output holds for the concrete one. */
static inline void case_agree(case_symbols *s, const tfr__type *t, const tfr__type *concrete,
                              const char *label)
{
    if (t->kind == TFR__KIND_ANY)
        return;
    test_int(concrete->kind, t->kind, label, TEST_AT, false);
    if (t->dtype)
        test_int(concrete->dtype, t->dtype, label, TEST_AT, false);
    if (t->kind != TFR_KIND_TENSOR || !t->shape_known || !concrete->shape_known)
        return;
    test_int(concrete->rank, t->rank, label, TEST_AT, false);
    for (int32_t i = 0; i < t->rank && i < concrete->rank; i++) {
        if (concrete->dynamic && t->dims[i] < 0)
            continue;
        int64_t d = t->dims[i];
        if (d >= 0 || case_evaluate(s, t->dims[i], &d)) {
            test_int(concrete->dims[i], d, label, TEST_AT, false);
        } else if (!tfr__symbol_at(&s->table, t->dims[i])) {
            s->known[-1 - t->dims[i]] = true; /* now it stands for what it is seen as */
            s->values[-1 - t->dims[i]] = concrete->dims[i];
        }
    }
}

/* Infers the case with things forgotten; concrete = what came out with everything known, NULL = an
 * error. */
static inline void check_symbolic(const char *op, const char *inputs, const char *attrs,
                                  const tfr__type *concrete, uint32_t n_outputs)
{
    static infer_run r;
    static case_symbols s;
    static tfr__elements elements[CASE_OPERANDS], made;
    for (uint64_t seed = 1; seed <= CASE_VARIANTS; seed++) {
        char label[200];
        memset(&s, 0, sizeof s);
        s.random = seed * 7919;
        case_begin(&r, op, inputs, attrs);
        for (uint32_t i = 0; i < r.in.n_inputs; i++)
            case_forget(&s, &r.inputs[i], &elements[i], strcmp(op, "Reshape") == 0);
        r.in.symbols = &s.table;
        r.in.n_outputs = n_outputs;
        for (uint32_t i = 0; i < n_outputs; i++)
            r.outputs[i].kind = concrete ? concrete[i].kind : TFR_KIND_TENSOR;
        tfr_status status = tfr__infer_node(&r.in, &r.err);
        snprintf(label, sizeof label, "%s %s %s variant %d", op, inputs, attrs, (int)seed);
        CHECK(status <= 0);
        if (concrete)
            test_status(TFR_OK, status, r.err.text, label, TEST_AT, false);
        for (uint32_t i = 0; concrete && !status && i < n_outputs; i++)
            if (concrete[i].kind)
                case_agree(&s, &r.outputs[i], &concrete[i], label);
        if (!status)
            tfr__infer_elements(&r.in, &made);
        CHECK(s.table.n < CASE_SYMBOLS);
        tfr__symbols_free(&s.table);
        tfr__attr_free(&r.attrs);
    }
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* One item of a row of TFR_NORMAL_FORM_LIST, of n bytes. */
static inline void check_normal_item(const infer_run *r, const char *item, size_t n,
                                     const char *label)
{
    static const char *const types[] = {
        [TFR_ATTR_INT] = "i",     [TFR_ATTR_FLOAT] = "f", [TFR_ATTR_STRING] = "s",
        [TFR_ATTR_TENSOR] = "t",  [TFR_ATTR_INTS] = "is", [TFR_ATTR_FLOATS] = "fs",
        [TFR_ATTR_STRINGS] = "ss"};
    const size_t name_bytes = strcspn(item, ":= ");
    char name[64], text[300], want[64];
    const tfr__attr *a;
    snprintf(name, sizeof name, "%.*s", (int)(*item == '-' ? n - 1 : name_bytes),
             item + (*item == '-'));
    a = tfr__attr_find(&r->attrs, name);
    if (*item == '~' || item[n - 1] == '?')
        return;
    if (*item == '-') {
        test_str("", a ? name : "", label, TEST_AT, false);
        return;
    }
    test_str(name, a ? name : "", label, TEST_AT, false);
    snprintf(want, sizeof want, "%.*s", (int)(n - name_bytes - 1), item + name_bytes + 1);
    if (a && item[name_bytes] == ':') {
        test_str(want, types[a->pub.type], label, TEST_AT, false);
    } else if (a) {
        case_attr_text(r, name, text, sizeof text);
        for (const char *p = text; *p; p += strcspn(p, ","), p += *p == ',')
            test_int(0, strncmp(p, want, strlen(want)), label, TEST_AT, false);
    }
}

/* The attributes are as plugin_normal.h promises them to plugins. */
static inline void check_normal(const infer_run *r, const char *label)
{
    uint32_t version;
    tfr__attr_formal f;
    for (const char *c = r->in.op->attrs; tfr__op_next_attr(&c, &f);) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)f.name_bytes, f.name);
        if (f.value)
            test_str(name, tfr__attr_find(&r->attrs, name) ? name : "", label, TEST_AT, false);
    }
    for (const char *p = tfr__op_normal_form(r->in.op, &version); *p; p += *p == ' ') {
        const size_t n = strcspn(p, " ");
        check_normal_item(r, p, n, label);
        p += n;
    }
}

typedef struct good_case {
    const char *op, *inputs, *attrs;
    const char *outputs; /* what comes out */
    const char *canon;   /* attributes afterwards, as "name=values"; "name=none": not there */
} good_case;

static inline void check_good(const good_case *c)
{
    static infer_run r;
    static case_value unused[CASE_OPERANDS];
    char label[160], got[400] = "", want[400], text[300];
    case_begin(&r, c->op, c->inputs, c->attrs);
    r.in.n_outputs = case_read_operands(c->outputs, r.outputs, unused);
    tfr_status s = tfr__infer_node(&r.in, &r.err);
    for (uint32_t i = 0; i < r.in.n_outputs && !s; i++) {
        case_type_text(&r.outputs[i], text, sizeof text);
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i ? " " : "", text);
    }
    snprintf(label, sizeof label, "%s %s %s", c->op, c->inputs, c->attrs);
    test_status(TFR_OK, s, s > 0 ? "a value is pending" : r.err.text, label, TEST_AT, false);
    if (!s)
        test_str(c->outputs, got, label, TEST_AT, false);
    if (!s)
        check_normal(&r, label);
    for (const char *p = c->canon; !s && p && *p; p += *p == ' ') {
        char name[64];
        size_t n = strcspn(p, "="), k = strcspn(p + n + 1, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        snprintf(want, sizeof want, "%.*s", (int)k, p + n + 1);
        case_attr_text(&r, name, got, sizeof got);
        snprintf(label, sizeof label, "%s %s %s: %s", c->op, c->inputs, c->attrs, name);
        test_str(want, got, label, TEST_AT, false);
        p += n + 1 + k;
    }
    tfr__attr_free(&r.attrs);
    if (!s)
        check_symbolic(c->op, c->inputs, c->attrs, r.outputs, r.in.n_outputs);
}

typedef struct bad_case {
    const char *op, *inputs, *attrs;
    uint32_t n_outputs;
    tfr_status status;
    const char *text; /* part of the message */
} bad_case;

static inline void check_bad(const bad_case *c)
{
    static infer_run r;
    char label[160];
    case_begin(&r, c->op, c->inputs, c->attrs);
    r.in.n_outputs = c->n_outputs;
    for (uint32_t i = 0; i < c->n_outputs; i++)
        r.outputs[i].kind = TFR_KIND_TENSOR;
    tfr_status s = tfr__infer_node(&r.in, &r.err);
    snprintf(label, sizeof label, "%s %s %s", c->op, c->inputs, c->attrs);
    test_status(c->status, s, s > 0 ? "a value is pending" : r.err.text, label, TEST_AT, false);
    test_contains("node \"n1\" (", r.err.text, label, TEST_AT, false);
    test_contains(c->text, r.err.text, label, TEST_AT, false);
    tfr__attr_free(&r.attrs);
    check_symbolic(c->op, c->inputs, c->attrs, NULL, c->n_outputs);
}

#define CHECK_GOOD(cases)                                                                          \
    for (size_t i_ = 0; i_ < sizeof(cases) / sizeof((cases)[0]); i_++)                             \
    check_good(&(cases)[i_])
#define CHECK_BAD(cases)                                                                           \
    for (size_t i_ = 0; i_ < sizeof(cases) / sizeof((cases)[0]); i_++)                             \
    check_bad(&(cases)[i_])

#endif
