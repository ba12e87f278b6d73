#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Makes the archives of test data beside it; README tells what they are. A maintainer runs it when the
standard has moved on; neither the build nor a test does. Needs numpy and the onnx package.

usage: make.py [--known DIR]
  DIR holds the node models of an older ONNX (libonnx-testdata: data/node); cases with their names
  are left out
"""
import argparse
import contextlib
import gzip
import io
import os
import tarfile

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.reference import ReferenceEvaluator

HERE = os.path.dirname(os.path.abspath(__file__))
OLD_OPSET = 17  # that of the distribution's node models
MOST_BYTES = 12 << 10  # a case; larger ones show nothing that small ones do not
# Out: random numbers, which differ.
LEFT_OUT = {"Bernoulli"}
LEFT_OUT_NAMES = ("training_dropout",)
ML = "ai.onnx.ml"


class Archive:
    """A tar.gz that depends on its content only: sorted, without times and owners."""

    def __init__(self):
        self.files = {}

    def add(self, name, model, inputs, outputs, number=0):
        self.files[name + "/model.onnx"] = model.SerializeToString(deterministic=True)
        for kind, values, formals in (("input", inputs, model.graph.input),
                                      ("output", outputs, model.graph.output)):
            for i, (value, formal) in enumerate(zip(values, formals)):
                path = "%s/test_data_set_%d/%s_%d.pb" % (name, number, kind, i)
                self.files[path] = serialize(value, formal)

    def take(self, name):
        return {k: self.files.pop(k) for k in list(self.files) if k.startswith(name + "/")}

    def write(self, path):
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name in sorted(self.files):
                info = tarfile.TarInfo(name)
                info.size = len(self.files[name])
                tar.addfile(info, io.BytesIO(self.files[name]))
        with open(path, "wb") as out, gzip.GzipFile("", "wb", 9, out, 0) as packed:
            packed.write(raw.getvalue())
        cases = {name.split("/")[0] for name in self.files}
        print("%s: %d cases, %d bytes" % (path, len(cases), os.path.getsize(path)))


def serialize(value, formal):
    if formal.type.HasField("optional_type"):
        return numpy_helper.from_optional(value, formal.name).SerializeToString()
    if isinstance(value, onnx.TensorProto):
        value.name = formal.name
        return value.SerializeToString()
    if isinstance(value, list):
        return numpy_helper.from_list(value, formal.name).SerializeToString()
    return numpy_helper.from_array(np.asarray(value), formal.name).SerializeToString()


# ---- the cases of the onnx package ----


def is_newer(model):
    """One node, whose op has a version after OLD_OPSET."""
    if len(model.graph.node) != 1 or model.graph.node[0].op_type in LEFT_OUT:
        return False
    node = model.graph.node[0]
    versions = {o.domain: o.version for o in model.opset_import}
    schema = defs.get_schema(node.op_type, versions.get(node.domain, 1), node.domain)
    return bool(node.domain) or schema.since_version > OLD_OPSET


def add_package_cases(archive, coarse, image, known):
    with contextlib.redirect_stdout(io.StringIO()):
        cases = collect_testcases(None)
    for case in cases:
        if case.name in known or "_expanded" in case.name or not is_newer(case.model):
            continue
        if any(text in case.name for text in LEFT_OUT_NAMES):
            continue
        for number, (inputs, outputs) in enumerate(case.data_sets):
            archive.add(case.name, case.model, inputs, outputs, number)
        files = archive.take(case.name)
        if sum(map(len, files.values())) <= MOST_BYTES:
            # The reference rounds bfloat16 after every step.
            to = coarse if "bf16" in case.name else archive
            (image if "image_decoder" in case.name else to).files.update(files)


# ---- domain ai.onnx.ml, by the reference evaluator ----


class Cases:
    def __init__(self, archive):
        self.archive = archive
        self.random = np.random.default_rng(1)
        self.count = {}

    def floats(self, *shape):
        return self.random.normal(size=shape).astype(np.float32)

    def list(self, n):
        return [float(v) for v in self.floats(n)]

    def add(self, op, inputs, types, want=None, domain=ML, **attrs):
        """types: the element types of the outputs, which the evaluator does not always keep."""
        number = self.count[op] = self.count.get(op, 0) + 1
        names = ["x%d" % i for i in range(len(inputs))]
        results = ["y%d" % i for i in range(len(types))]
        node = helper.make_node(op, names, results, domain=domain, **attrs)
        infos = [info(n, v) for n, v in zip(names, inputs)]
        outs = [helper.make_tensor_value_info(n, t, None) for n, t in zip(results, types)]
        graph = helper.make_graph([node], op, infos, outs)
        opsets = [helper.make_opsetid("", 24), helper.make_opsetid(domain, 5 if domain == ML else 1)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="make.py")
        if want is None:
            want = ReferenceEvaluator(model).run(None, dict(zip(names, inputs)))
        want = [cast(v, t) for v, t in zip(want, types)]
        self.archive.add("%s_%d" % (op, number), model, inputs, want)


def info(name, value):
    kind = helper.np_dtype_to_tensor_dtype(value.dtype) if value.dtype.kind != "U" else 8
    return helper.make_tensor_value_info(name, kind, value.shape)


def cast(value, kind):
    value = np.asarray(value)
    return value if kind == STRING else value.astype(helper.tensor_dtype_to_np_dtype(kind))


FLOAT, I64, STRING, DOUBLE = 1, 7, 8, 11
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def add_features(c):
    for dtype, kind in ((np.float32, FLOAT), (np.float64, DOUBLE), (np.int64, I64)):
        x = (c.floats(3, 4) * 5).astype(dtype)
        c.add("ArrayFeatureExtractor", [x, np.array([0, 3, 1])], [kind])
        c.add("Binarizer", [x], [kind], threshold=0.5)
        c.add("FeatureVectorizer", [x, x[:, :2]], [FLOAT], inputdimensions=[3, 4])
        for norm in ("MAX", "L1", "L2"):
            c.add("Normalizer", [x.astype(np.float32)], [FLOAT], norm=norm)
    x = c.floats(3, 4)
    x[1, 2] = np.nan
    c.add("Imputer", [x], [FLOAT], imputed_value_floats=[7.0], replaced_value_float=float("nan"))
    c.add("Imputer", [np.array([[1, 2], [2, 3]])], [I64], imputed_value_int64s=[8, 9],
          replaced_value_int64=2)
    c.add("Scaler", [c.floats(3, 2)], [FLOAT], offset=[1.0, 2.0], scale=[0.5, 3.0])


def add_encoders(c):
    words = np.array(["b", "a", "?"])
    c.add("LabelEncoder", [words], [I64], keys_strings=["a", "b"], values_int64s=[5, 6])
    c.add("LabelEncoder", [words], [FLOAT], keys_strings=["a", "b"], values_floats=[1.0, 2.0],
          default_float=-3.0)
    c.add("LabelEncoder", [np.array([1, 2, 3])], [STRING], keys_int64s=[1, 3],
          values_strings=["one", "three"], default_string="none")
    c.add("OneHotEncoder", [words], [FLOAT], cats_strings=["a", "c", "b"])
    c.add("OneHotEncoder", [np.array([[1, 2], [9, 3]], np.float32)], [FLOAT], cats_int64s=[1, 3])
    # The evaluator has no CategoryMapper; the standard's sentence is the source of these.
    c.add("CategoryMapper", [words], [I64], [np.array([4, 3, -1])], cats_strings=["a", "b"],
          cats_int64s=[3, 4])
    c.add("CategoryMapper", [np.array([4, 0])], [STRING], [np.array(["b", "_Unused"])],
          cats_strings=["a", "b"], cats_int64s=[3, 4])


def add_linear_models(c):
    x = c.floats(4, 3)
    c.add("LinearRegressor", [x], [FLOAT], coefficients=c.list(6), intercepts=[0.5, -1.0],
          targets=2)
    for transform in TRANSFORMS:
        c.add("LinearClassifier", [x], [I64, FLOAT], coefficients=[v / 9 for v in c.list(9)],
              intercepts=[0.3, 0.2, 0.4], classlabels_ints=[7, 8, 9], post_transform=transform)
    c.add("LinearClassifier", [x], [STRING, FLOAT], coefficients=c.list(3), intercepts=[0.1],
          classlabels_strings=["no", "yes"], post_transform="LOGISTIC")


def add_support_vectors(c):
    x = c.floats(4, 2)
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        kind = {"kernel_type": kernel, "kernel_params": [0.3, 0.2, 2.0]}
        c.add("SVMRegressor", [x], [FLOAT], coefficients=c.list(3), support_vectors=c.list(6),
              rho=[0.3], n_supports=3, **kind)
        c.add("SVMClassifier", [x], [I64, FLOAT], coefficients=c.list(10), rho=c.list(3),
              support_vectors=c.list(10), vectors_per_class=[2, 1, 2], classlabels_ints=[3, 4, 5],
              **kind)
    # Two classes: for more the evaluator sums what libsvm keeps apart.
    for transform in TRANSFORMS:
        c.add("SVMClassifier", [x], [I64, FLOAT], coefficients=c.list(4), rho=[0.2],
              support_vectors=c.list(8), vectors_per_class=[2, 2], prob_a=[-1.5], prob_b=[0.2],
              classlabels_ints=[4, 6], kernel_type="RBF", kernel_params=[0.5, 0.0, 0.0],
              post_transform=transform)
    c.add("SVMRegressor", [x], [FLOAT], coefficients=[1.0, -2.0], rho=[0.5])


def random_trees(c, targets, n_trees=3, depth=3):
    """Attributes nodes_*, and the (tree, node, target) of every weight."""
    nodes, weights = [], []
    modes = ["BRANCH_" + m for m in ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")]

    def grow(tree, level, ids):
        number = len(ids)
        ids.append(number)
        row = [tree, number, "LEAF", 0, 0.0, 0, 0, 0]
        nodes.append(row)
        if level == 0:
            weights.extend((tree, number, t) for t in targets)
            return number
        row[2:5] = str(c.random.choice(modes)), int(c.random.integers(3)), \
            float(np.round(c.random.normal(), 1))
        row[7] = int(c.random.integers(2))
        row[5], row[6] = grow(tree, level - 1, ids), grow(tree, level - 1, ids)
        return number

    for tree in range(n_trees):
        grow(tree, depth, [])
    names = ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids",
             "missing_value_tracks_true")
    return {"nodes_" + n: [row[i] for row in nodes] for i, n in enumerate(names)}, weights


def add_trees(c):
    x = np.round(c.floats(6, 3), 1)
    x[0, 0] = x[3, 2] = np.nan
    for how in ("SUM", "AVERAGE", "MIN", "MAX"):
        attrs, weights = random_trees(c, [0, 1])
        trees, nodes, targets = zip(*weights)
        c.add("TreeEnsembleRegressor", [x], [FLOAT], aggregate_function=how, n_targets=2,
              target_treeids=trees, target_nodeids=nodes, target_ids=targets,
              target_weights=c.list(len(trees)), base_values=[0.5, -0.5], **attrs)
    for transform in TRANSFORMS:
        for targets, labels in (([0, 1, 2], {"classlabels_strings": ["a", "b", "c"]}),
                                ([0], {"classlabels_int64s": [5, 6]})):
            attrs, weights = random_trees(c, targets)
            trees, nodes, ids = zip(*weights)
            c.add("TreeEnsembleClassifier", [x],
                  [STRING if "classlabels_strings" in labels else I64, FLOAT],
                  class_treeids=trees, class_nodeids=nodes, class_ids=ids, **labels, **attrs,
                  class_weights=[abs(v) / 5 for v in c.list(len(trees))], post_transform=transform)


# ---- domain tfrun, by numpy.linalg ----


def add_linear_systems(c):
    for dtype, kind in ((np.float32, FLOAT), (np.float64, DOUBLE)):
        a = (c.floats(2, 3, 4, 4) + 4 * np.eye(4)).astype(dtype)
        b = c.floats(3, 4, 2).astype(dtype)
        wide = a.astype(np.float64)
        c.add("Inverse", [a], [kind], [np.linalg.inv(wide)], domain="tfrun")
        c.add("Solve", [a, b], [kind], [np.linalg.solve(wide, b)], domain="tfrun")
        c.add("Solve", [a, b[0, :, 0]], [kind], [np.linalg.solve(wide, b[0, :, :1])[..., 0]],
              domain="tfrun")
    turn = np.array([[0, 1], [2, 0]], np.float32)
    c.add("Inverse", [turn], [FLOAT], [np.linalg.inv(turn)], domain="tfrun")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--known")
    args = parser.parse_args()
    known = set(os.listdir(args.known)) if args.known else set()
    newer, coarse, classic, image, own = (Archive() for _ in range(5))
    add_package_cases(newer, coarse, image, known)
    cases = Cases(classic)
    for add in (add_features, add_encoders, add_linear_models, add_support_vectors, add_trees):
        add(cases)
    add_linear_systems(Cases(own))
    newer.write(os.path.join(HERE, "newer.tar.gz"))
    coarse.write(os.path.join(HERE, "coarse.tar.gz"))
    classic.write(os.path.join(HERE, "classic.tar.gz"))
    image.write(os.path.join(HERE, "image.tar.gz"))
    own.write(os.path.join(HERE, "tfrun.tar.gz"))


if __name__ == "__main__":
    main()
