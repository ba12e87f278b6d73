/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer_ml.c: domain "ai.onnx.ml": features, encoders, linear models and support vector machines.
 * Trees are in infer_trees.c. Letters: N samples, F features, C classes, T targets. The lengths of
 * all lists that a kernel indexes are checked here.
 */
#include <string.h>

#include "base/alloc.h"
#include "op/infer_kit.h"
#include "op/infer_ml.h"

uint64_t tfr__ml_length(const tfr__infer *in, const char *name)
{
    const tfr__attr *a = tfr__attr_find(in->attrs, name);
    if (!a)
        return 0;
    return a->pub.tensor ? (uint64_t)tfr_operand_elements(a->pub.tensor) : a->pub.n;
}

tfr_status tfr__ml_want_length(const tfr__infer *in, tfr_err *err, const char *name, int64_t want)
{
    uint64_t n = tfr__ml_length(in, name);
    if (n == (uint64_t)want)
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_EMODEL, "attribute %s has %llu values, want %lld", name,
                           (unsigned long long)n, (long long)want);
}

/* The same, and none at all is fine, too. */
tfr_status tfr__ml_may_length(const tfr__infer *in, tfr_err *err, const char *name, int64_t want)
{
    return tfr__ml_length(in, name) ? tfr__ml_want_length(in, err, name, want) : TFR_OK;
}

tfr_status tfr__ml_samples(tfr__infer *in, tfr_err *err, int64_t *n, int64_t *f)
{
    const tfr__type *x = tfr__in(in, 0);
    tfr__text dims;
    if (x->rank < 1 || x->rank > 2 || x->dims[x->rank - 1] == 0)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "input X has shape %s, want [N,F] or [F]",
                               tfr__type_text(x, &dims));
    *n = x->rank == 2 ? x->dims[0] : 1;
    *f = x->dims[x->rank - 1];
    return TFR_OK;
}

tfr_status tfr__ml_labels(const tfr__infer *in, tfr_err *err, const char *ints, uint64_t *n,
                          int32_t *dtype)
{
    uint64_t n_ints = tfr__ml_length(in, ints);
    uint64_t n_strings = tfr__ml_length(in, "classlabels_strings");
    if (!n_ints == !n_strings)
        return tfr__infer_fail(in, err, TFR_EMODEL, "%s of %s and classlabels_strings are given",
                               n_ints ? "both" : "none", ints);
    *n = n_ints ? n_ints : n_strings;
    *dtype = n_ints ? TFR_DTYPE_I64 : TFR_DTYPE_STRING;
    return TFR_OK;
}

/* ---- features ---- */

/* The numbers stay where they are; the classes are the keys of the last dim. */
tfr_status tfr__infer_zip_map(tfr__infer *in, tfr_err *err)
{
    int64_t n, f;
    uint64_t n_keys;
    int32_t dtype;
    TFR__TRY(tfr__ml_samples(in, err, &n, &f));
    TFR__TRY(tfr__ml_labels(in, err, "classlabels_int64s", &n_keys, &dtype));
    if (f >= 0 && (uint64_t)f != n_keys)
        return tfr__infer_fail(in, err, TFR_ESHAPE, "X has %lld columns and there are %llu classes",
                               (long long)f, (unsigned long long)n_keys);
    return tfr__infer_same(in, err);
}

/* Indices of any shape pick from the last dim; a vector gives a matrix of one row. */
tfr_status tfr__infer_array_feature_extractor(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    tfr__dims shape;
    TFR__TRY(tfr__want_rank_min(in, err, 0, 1));
    tfr__dims_of(x, &shape);
    if (shape.rank == 1)
        shape = (tfr__dims){.rank = 2, .d = {1, 0}};
    const tfr__type *y = tfr__in(in, 1);
    shape.d[shape.rank - 1] = tfr__is_symbolic(in)
                                  ? tfr__dim_of(in, tfr__dims_product(in, y->dims, y->rank))
                                  : tfr__type_elements(y);
    return tfr__out_dims(in, err, 0, x->dtype, &shape);
}

/* Inputs [N,C] or [C], which is one row; of each the columns that inputdimensions says. */
tfr_status tfr__infer_feature_vectorizer(tfr__infer *in, tfr_err *err)
{
    uint64_t n;
    const int64_t *widths = tfr__attr_ints(in->attrs, "inputdimensions", &n);
    int64_t rows = 0, columns = 0;
    tfr__text name, dims;
    if (n)
        TFR__TRY(tfr__ml_want_length(in, err, "inputdimensions", in->n_inputs));
    for (uint32_t i = 0; i < in->n_inputs; i++) {
        const tfr__type *x = tfr__in(in, i);
        if (x->rank < 1 || x->rank > 2)
            return tfr__infer_fail(in, err, TFR_ESHAPE, "input %s has shape %s, want [N,C] or [C]",
                                   tfr__in_name(in, i, &name), tfr__type_text(x, &dims));
        int64_t own = x->rank == 2 ? x->dims[0] : 1;
        int64_t width = n ? widths[i] : x->dims[x->rank - 1];
        if ((i && tfr__differ(in, own, rows)) || (n && width < 0))
            return tfr__infer_fail(
                in, err, TFR_ESHAPE, "input %s has %lld rows of %lld, the first has %lld",
                tfr__in_name(in, i, &name), (long long)own, (long long)width, (long long)rows);
        rows = i ? tfr__meet(rows, own) : own;
        TFR__TRY(tfr__add_dims(in, err, "columns", columns, width, &columns));
    }
    return tfr__out(in, err, 0, TFR_DTYPE_F32, 2, (int64_t[]){rows, columns});
}

/* A list for the last dim of X: one value, one a feature, or if it may be absent none. */
static tfr_status check_per_feature(tfr__infer *in, tfr_err *err, const char *name, bool required)
{
    const tfr__type *x = tfr__in(in, 0);
    int64_t f = x->rank ? x->dims[x->rank - 1] : 1;
    uint64_t n = tfr__ml_length(in, name);
    if (n == 1 || f < 0 || (!required && n == 0))
        return TFR_OK;
    return tfr__ml_want_length(in, err, name, f);
}

tfr_status tfr__infer_imputer(tfr__infer *in, tfr_err *err)
{
    int32_t dtype = tfr__in(in, 0)->dtype;
    TFR__TRY(tfr__need_dtype(in, 0));
    bool floats = dtype == TFR_DTYPE_F32 || dtype == TFR_DTYPE_F64;
    TFR__TRY(
        check_per_feature(in, err, floats ? "imputed_value_floats" : "imputed_value_int64s", true));
    return tfr__infer_same(in, err);
}

tfr_status tfr__infer_scaler(tfr__infer *in, tfr_err *err)
{
    TFR__TRY(check_per_feature(in, err, "offset", false));
    TFR__TRY(check_per_feature(in, err, "scale", false));
    return tfr__out_like(in, err, 0, TFR_DTYPE_F32, tfr__in(in, 0));
}

tfr_status tfr__infer_normalizer(tfr__infer *in, tfr_err *err)
{
    TFR__TRY(tfr__want_rank_min(in, err, 0, 1));
    return tfr__out_like(in, err, 0, TFR_DTYPE_F32, tfr__in(in, 0));
}

/* ---- encoders ---- */

tfr_status tfr__infer_category_mapper(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    int32_t y = x->dtype == TFR_DTYPE_STRING ? TFR_DTYPE_I64 : TFR_DTYPE_STRING;
    TFR__TRY(tfr__need_dtype(in, 0));
    TFR__TRY(
        tfr__ml_want_length(in, err, "cats_int64s", (int64_t)tfr__ml_length(in, "cats_strings")));
    return tfr__out_like(in, err, 0, y, x);
}

tfr_status tfr__infer_one_hot_encoder(tfr__infer *in, tfr_err *err)
{
    const tfr__type *x = tfr__in(in, 0);
    bool text = x->dtype == TFR_DTYPE_STRING;
    uint64_t n = tfr__ml_length(in, text ? "cats_strings" : "cats_int64s");
    tfr__dims shape;
    TFR__TRY(tfr__need_dtype(in, 0));
    if (!n || tfr__ml_length(in, text ? "cats_int64s" : "cats_strings"))
        return tfr__infer_fail(in, err, TFR_EMODEL, "X is %s, so %s and no others are wanted",
                               tfr__dtype_short(x->dtype), text ? "cats_strings" : "cats_int64s");
    if (x->rank == TFR_MAX_RANK)
        return tfr__infer_fail(in, err, TFR_ELIMIT, "X has rank %d, the limit is %d", TFR_MAX_RANK,
                               TFR_MAX_RANK - 1);
    tfr__dims_of(x, &shape);
    shape.d[shape.rank++] = (int64_t)n;
    return tfr__out_dims(in, err, 0, TFR_DTYPE_F32, &shape);
}

/* The one list of keys or values: its name and element type. */
static tfr_status find_list(const tfr__infer *in, tfr_err *err, const char *which,
                            const char *const names[4], const char **name, int32_t *dtype)
{
    static const int32_t types[4] = {TFR_DTYPE_F32, TFR_DTYPE_I64, TFR_DTYPE_STRING, 0};
    int found = 0;
    for (int i = 0; i < 4; i++) {
        const tfr__attr *a = tfr__attr_find(in->attrs, names[i]);
        if (!a)
            continue;
        found++;
        *name = names[i];
        *dtype = i < 3 ? types[i] : a->pub.tensor->dtype;
    }
    if (found == 1)
        return TFR_OK;
    return tfr__infer_fail(in, err, TFR_EMODEL, "%d lists %s... are given, want one", found, which);
}

/* Version 1 had classes_strings, whose numbers are the other side of the map. */
static tfr_status rewrite_classes(tfr__infer *in, tfr_err *err)
{
    const tfr__attr *classes = tfr__attr_find(in->attrs, "classes_strings");
    bool to_int = tfr__in(in, 0)->dtype == TFR_DTYPE_STRING;
    if (!classes)
        return TFR_OK;
    uint64_t n = classes->pub.n;
    int64_t *numbers = tfr__calloc(n ? (size_t)n : 1, sizeof *numbers);
    if (!numbers)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %llu keys", (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++)
        numbers[i] = (int64_t)i;
    tfr_status s =
        tfr__attr_set_ints(in->attrs, to_int ? "values_int64s" : "keys_int64s", numbers, n, err);
    if (!s) /* the list may have moved */
        classes = tfr__attr_find(in->attrs, "classes_strings");
    if (!s)
        s = tfr__attr_set_strings(in->attrs, to_int ? "keys_strings" : "values_strings",
                                  classes->pub.strings, n, err);
    tfr__free(numbers);
    if (!s)
        tfr__attr_remove(in->attrs, "classes_strings");
    return s;
}

tfr_status tfr__infer_label_encoder(tfr__infer *in, tfr_err *err)
{
    static const char *const keys[4] = {"keys_floats", "keys_int64s", "keys_strings",
                                        "keys_tensor"};
    static const char *const values[4] = {"values_floats", "values_int64s", "values_strings",
                                          "values_tensor"};
    const tfr__type *x = tfr__in(in, 0);
    const char *from, *to;
    int32_t key, value;
    TFR__TRY(tfr__need_dtype(in, 0));
    TFR__TRY(rewrite_classes(in, err));
    TFR__TRY(find_list(in, err, "keys_", keys, &from, &key));
    TFR__TRY(find_list(in, err, "values_", values, &to, &value));
    const tfr__attr *other = tfr__attr_find(in->attrs, "default_tensor");
    if (key != x->dtype)
        return tfr__infer_fail(in, err, TFR_EDTYPE, "X is %s, the keys are %s",
                               tfr__dtype_short(x->dtype), tfr__dtype_short(key));
    TFR__TRY(tfr__ml_want_length(in, err, to, (int64_t)tfr__ml_length(in, from)));
    if (other && (other->pub.tensor->dtype != value || tfr__ml_length(in, "default_tensor") != 1))
        return tfr__infer_fail(in, err, TFR_EDTYPE,
                               "default_tensor has %llu elements of %s, want one of %s",
                               (unsigned long long)tfr__ml_length(in, "default_tensor"),
                               tfr__dtype_short(other->pub.tensor->dtype), tfr__dtype_short(value));
    return tfr__out_like(in, err, 0, value, x);
}

/* ---- linear models ---- */

tfr_status tfr__infer_linear_regressor(tfr__infer *in, tfr_err *err)
{
    int64_t n, f, targets = tfr__attr_int(in->attrs, "targets", 1), want;
    TFR__TRY(tfr__ml_samples(in, err, &n, &f));
    if (targets < 1)
        return tfr__infer_fail(in, err, TFR_EMODEL, "targets is %lld", (long long)targets);
    if (f >= 0) {
        TFR__TRY(tfr__mul(in, err, "coefficients", targets, f, &want));
        TFR__TRY(tfr__ml_want_length(in, err, "coefficients", want));
    }
    TFR__TRY(tfr__ml_may_length(in, err, "intercepts", targets));
    return tfr__out(in, err, 0, TFR_DTYPE_F32, 2, (int64_t[]){n, targets});
}

/* One row of coefficients a class; one row for two classes gives the scores -s and s. */
tfr_status tfr__infer_linear_classifier(tfr__infer *in, tfr_err *err)
{
    int64_t n, f;
    uint64_t labels, coefficients = tfr__ml_length(in, "coefficients");
    int32_t dtype;
    TFR__TRY(tfr__ml_samples(in, err, &n, &f));
    TFR__TRY(tfr__ml_labels(in, err, "classlabels_ints", &labels, &dtype));
    uint64_t rows = f < 0 ? labels : coefficients / (uint64_t)f;
    if ((f >= 0 && coefficients % (uint64_t)f) || (rows != labels && !(rows == 1 && labels == 2)))
        return tfr__infer_fail(
            in, err, TFR_EMODEL, "%llu coefficients are no row of %lld for each of %llu labels",
            (unsigned long long)coefficients, (long long)f, (unsigned long long)labels);
    if (f >= 0)
        TFR__TRY(tfr__ml_may_length(in, err, "intercepts", (int64_t)rows));
    TFR__TRY(tfr__out(in, err, 0, dtype, 1, &n));
    return tfr__out(in, err, 1, TFR_DTYPE_F32, 2, (int64_t[]){n, (int64_t)labels});
}

/* ---- support vector machines ---- */

static tfr_status check_kernel(tfr__infer *in, tfr_err *err, int64_t vectors, int64_t f)
{
    int64_t want;
    if (f >= 0) {
        TFR__TRY(tfr__mul(in, err, "support_vectors", vectors, f, &want));
        TFR__TRY(tfr__ml_want_length(in, err, "support_vectors", want));
    }
    return tfr__ml_may_length(in, err, "kernel_params", 3);
}

tfr_status tfr__infer_svm_regressor(tfr__infer *in, tfr_err *err)
{
    int64_t n, f, vectors = tfr__attr_int(in->attrs, "n_supports", 0);
    TFR__TRY(tfr__ml_samples(in, err, &n, &f));
    if (vectors > 0)
        TFR__TRY(check_kernel(in, err, vectors, f));
    if (vectors > 0 || f >= 0)
        TFR__TRY(tfr__ml_want_length(in, err, "coefficients", vectors > 0 ? vectors : f));
    if (!tfr__ml_length(in, "rho"))
        return tfr__infer_fail(in, err, TFR_EMODEL, "attribute rho is missing");
    return tfr__out(in, err, 0, TFR_DTYPE_F32, 2, (int64_t[]){n, 1});
}

/* The support vectors of all classes, 0 for a linear model. */
static tfr_status count_vectors(tfr__infer *in, tfr_err *err, uint64_t classes, int64_t *vectors)
{
    uint64_t n;
    const int64_t *per_class = tfr__attr_ints(in->attrs, "vectors_per_class", &n);
    *vectors = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (per_class[i] < 0)
            return tfr__infer_fail(in, err, TFR_EMODEL, "vectors_per_class has %lld at %llu",
                                   (long long)per_class[i], (unsigned long long)i);
        TFR__TRY(tfr__add(in, err, "vectors", *vectors, per_class[i], vectors));
    }
    return *vectors ? tfr__ml_want_length(in, err, "vectors_per_class", (int64_t)classes) : TFR_OK;
}

/*
 * C classes with support vectors have a score for each pair of them, or with prob_a and prob_b a
 * probability for each class; a linear model has a score for each class. One score becomes two,
 * -s and s, for two labels with one rho.
 */
tfr_status tfr__infer_svm_classifier(tfr__infer *in, tfr_err *err)
{
    const char *transform = tfr__attr_string(in->attrs, "post_transform", "NONE");
    int64_t n, f, vectors, c, pairs, want;
    uint64_t labels;
    int32_t dtype;
    TFR__TRY(tfr__ml_samples(in, err, &n, &f));
    TFR__TRY(tfr__ml_labels(in, err, "classlabels_ints", &labels, &dtype));
    TFR__TRY(count_vectors(in, err, labels, &vectors));
    c = (int64_t)labels;
    TFR__TRY(tfr__mul(in, err, "pairs of classes", c, c - 1, &pairs));
    pairs /= 2;
    int64_t scores = c;
    if (vectors) {
        TFR__TRY(check_kernel(in, err, vectors, f));
        TFR__TRY(tfr__mul(in, err, "coefficients", vectors, c - 1, &want));
        TFR__TRY(tfr__ml_want_length(in, err, "coefficients", want));
        TFR__TRY(tfr__ml_want_length(in, err, "rho", pairs));
        TFR__TRY(tfr__ml_may_length(in, err, "prob_a", pairs));
        TFR__TRY(tfr__ml_want_length(in, err, "prob_b", (int64_t)tfr__ml_length(in, "prob_a")));
        scores = tfr__ml_length(in, "prob_a") ? c : pairs;
    } else if (f >= 0) {
        TFR__TRY(tfr__mul(in, err, "coefficients", c, f, &want));
        TFR__TRY(tfr__ml_want_length(in, err, "coefficients", want));
    }
    if (!tfr__ml_length(in, "rho") || !scores)
        return tfr__infer_fail(in, err, TFR_EMODEL, "%s",
                               scores ? "attribute rho is missing" : "one class has no pairs");
    if (scores == 1 && strcmp(transform, "PROBIT") != 0 && c == 2 && tfr__ml_length(in, "rho") == 1)
        scores = 2;
    TFR__TRY(tfr__out(in, err, 0, dtype, 1, &n));
    return tfr__out(in, err, 1, TFR_DTYPE_F32, 2, (int64_t[]){n, scores});
}
