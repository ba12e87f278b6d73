#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times single ops on each CPU backend and writes the table of docs/cpu-backends.md.

    bench/compare_backends.py TFRUN [--threads N] [--rounds N] [--ops A,B] >docs/cpu-backends.md

Each row is a model of one node. `tfrun bench model MODEL --backend B` runs it in a process of its
own for each backend that has the op, in turns for some rounds; the table has the median of their
medians. A backend that would leave the node to another one is not timed.
It needs the packages of bench/requirements.txt.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

BACKENDS = ("native", "onednn")
SIZES = {T.FLOAT: np.float32, T.FLOAT16: np.float16, T.UINT8: np.uint8, T.INT8: np.int8}


class Case:
    """One node. Inputs are (type, shape); weights are constants, as they are in models."""

    def __init__(self, text, op, inputs, weights=(), out=T.FLOAT, **attributes):
        self.text, self.op, self.inputs, self.weights = text, op, inputs, weights
        self.out, self.attributes = out, attributes

    def write(self, path):
        rng = np.random.default_rng(7)
        names, values, constants = [], [], []
        for i, item in enumerate(self.inputs):
            names.append(f"x{i}")
            values.append(helper.make_tensor_value_info(f"x{i}", *item))
        for i, item in enumerate(self.weights):
            names.append(f"w{i}" if item is not None else "")
            if item is not None:
                constants.append(numpy_helper.from_array(weight(rng, item), f"w{i}"))
        node = helper.make_node(self.op, names, ["y"], name="node", **self.attributes)
        y = onnx.ValueInfoProto(name="y")
        y.type.tensor_type.elem_type = self.out
        graph = helper.make_graph([node], "g", values, [y], constants)
        opset = [helper.make_opsetid("", 21)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=10)
        onnx.save(onnx.shape_inference.infer_shapes(model, data_prop=True), path)


def weight(rng, item):
    """An array as it is, or (type, shape) of random numbers."""
    if isinstance(item, np.ndarray):
        return item
    kind, shape = item
    if kind in (T.UINT8, T.INT8):
        return rng.integers(0, 100, shape).astype(SIZES[kind])
    if kind == T.BFLOAT16:
        import ml_dtypes
        return rng.standard_normal(shape).astype(ml_dtypes.bfloat16)
    return (rng.standard_normal(shape) * 0.05).astype(SIZES[kind])


def floats(text, op, *shapes, kinds=(T.FLOAT,), weights=(), **attributes):
    names = {T.FLOAT: "float32", T.FLOAT16: "float16", T.BFLOAT16: "bfloat16"}
    return [
        Case((text, names[k]), op, [(k, s) for s in shapes],
             [(k, w) if isinstance(w, list) else w for w in weights], k, **attributes)
        for k in kinds
    ]


def cases():
    low = (T.FLOAT, T.BFLOAT16, T.FLOAT16)
    image, feature = [1, 64, 56, 56], [128, 768]
    scale, zero = np.float32(0.02), np.uint8(10)
    scale_array, zero_array = np.asarray(scale), np.asarray(zero)
    u8 = (T.UINT8, [512, 512])
    out = []
    out += floats("512 x 512 by a constant", "MatMul", [512, 512], kinds=low, weights=[[512, 512]])
    out += floats("12 products of 128 x 64 by 64 x 128", "MatMul", [12, 128, 64], [12, 64, 128],
                  kinds=low)
    out += floats("row of 2048 by 2048 x 2048", "Gemm", [1, 2048], weights=[[2048, 2048]])
    out += floats("64 x 56 x 56, 3 x 3", "Conv", image, kinds=low, weights=[[64, 64, 3, 3]],
                  pads=[1, 1, 1, 1])
    out += floats("64 x 56 x 56 to 256, 1 x 1", "Conv", image, weights=[[256, 64, 1, 1]])
    out += floats("3 x 224 x 224 to 64, 7 x 7, step 2", "Conv", [1, 3, 224, 224],
                  weights=[[64, 3, 7, 7]], pads=[3, 3, 3, 3], strides=[2, 2])
    out += floats("64 x 56 x 56, depthwise 3 x 3", "Conv", image, weights=[[64, 1, 3, 3]],
                  pads=[1, 1, 1, 1], group=64)
    out += floats("64 x 28 x 28 to 32, 2 x 2, step 2", "ConvTranspose", [1, 64, 28, 28],
                  weights=[[64, 32, 2, 2]], strides=[2, 2])
    out += floats("64 x 56 x 56, 3 x 3, step 2", "MaxPool", image, kernel_shape=[3, 3],
                  strides=[2, 2])
    out += floats("64 x 56 x 56, 3 x 3, step 2", "AveragePool", image, kernel_shape=[3, 3],
                  strides=[2, 2])
    out += floats("64 x 56 x 56", "GlobalAveragePool", image)
    for op in ("Relu", "Sigmoid", "Tanh", "Exp", "Gelu"):
        out += floats("128 x 768", op, feature, kinds=low if op == "Relu" else (T.FLOAT,))
    out += floats("128 x 768 and 128 x 768", "Add", feature, feature, kinds=low)
    out += floats("128 x 768 and 768", "Mul", feature, [768])
    out += floats("12 x 128 x 128", "Softmax", [12, 128, 128], kinds=low)
    out += floats("128 x 768", "LayerNormalization", feature, weights=[[768], [768]])
    out += floats("128 x 12 x 64 to 12 x 128 x 64", "Transpose", [128, 12, 64], perm=[1, 0, 2])
    out += floats("64 x 56 x 56 twice", "Concat", image, image, axis=1)
    out += floats("128 x 768, last axis", "ReduceMean", feature,
                  weights=[np.asarray([1], np.int64)])
    out += floats("64 x 56 x 56, twice as large, linear", "Resize", image, mode="linear",
                  weights=[None, np.asarray([1, 1, 2, 2], np.float32)])
    out += floats("32 steps of 1 x 128 to 128", "LSTM", [32, 1, 128], hidden_size=128,
                  weights=[[1, 512, 128], [1, 512, 128]])
    out += [
        Case(("512 x 512 by a constant", "uint8"), "MatMulInteger", [u8], [u8], T.INT32),
        Case(("512 x 512 by a constant", "uint8"), "QLinearMatMul", [u8],
             [scale_array, zero_array, u8, scale_array, zero_array, scale_array, zero_array],
             T.UINT8),
        Case(("64 x 56 x 56, 3 x 3", "uint8"), "QLinearConv", [(T.UINT8, image)],
             [scale_array, zero_array, (T.UINT8, [64, 64, 3, 3]), scale_array, zero_array,
              scale_array, zero_array], T.UINT8, pads=[1, 1, 1, 1]),
        Case(("128 x 768", "float32"), "QuantizeLinear", [(T.FLOAT, feature)],
             [scale_array, zero_array], T.UINT8),
        Case(("128 x 768", "uint8"), "DequantizeLinear", [(T.UINT8, feature)],
             [scale_array, zero_array]),
        Case(("128 x 768 to float16", "float32"), "Cast", [(T.FLOAT, feature)], (), T.FLOAT16,
             to=T.FLOAT16),
    ]
    return out


def tfrun(args, *words):
    run = subprocess.run([args.tfrun, *words], capture_output=True, text=True, check=False)
    return json.loads(run.stdout) if run.returncode == 0 else None


def takes(args, model, backend):
    """Whether the node runs on this backend when it is the only one besides the reference."""
    said = tfrun(args, "explain", str(model), "-b", backend, "--json")
    return said is not None and f'"backend": "{backend}:0"' in json.dumps(said)


def time_of(args, model, backend):
    said = tfrun(args, "bench", "model", str(model), "-b", backend, "--peers", "none", "--json",
                 "--random-inputs", "1", "--threads", str(args.threads), "--pairs", "7")
    return (said["rows"][0]["sides"][0]["seconds"]["median"], said["cpu"]) if said else None


def text_of(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def row(args, case, model):
    """The cells of one row, and the processor."""
    case.write(model)
    times, cpu = {b: [] for b in BACKENDS if takes(args, model, b)}, ""
    for number in range(args.rounds):
        order = list(times)
        for backend in order if number % 2 == 0 else reversed(order):
            got = time_of(args, model, backend)
            if got:
                times[backend].append(got[0])
                cpu = got[1]
    best = {b: statistics.median(t) for b, t in times.items() if t}
    if not best:
        return [case.op, case.text[0], case.text[1], "-", "-", "neither here"], cpu
    cells = [text_of(best[b]) if b in best else "-" for b in BACKENDS]
    fastest = min(best, key=best.get)
    return [case.op, case.text[0], case.text[1], *cells, fastest], cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tfrun")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ops", help="only the rows of these, with commas between")
    args = parser.parse_args()
    rows, cpu = [], ""
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            if args.ops and case.op not in args.ops.split(","):
                continue
            cells, name = row(args, case, pathlib.Path(folder) / "case.onnx")
            cpu = name or cpu
            rows.append(cells)
            print(" ".join(cells), file=sys.stderr)
    print("<!-- Written by bench/compare_backends.py. -->")
    print("# What each CPU backend is good at\n")
    print(f"Time of one run of a model of one node, {args.threads} threads, {cpu}; the median of")
    print(f"{args.rounds} processes for each backend, in turns. `-` = the backend leaves the op to")
    print("others. Without options the backends are mixed: `native` (priority 110) is asked before")
    print("`onednn` (100) and `naive` (0), and prices move nodes where that pays.\n")
    print("| op | size | type | native | onednn | fastest |")
    print("|---|---|---|---|---|---|")
    for cells in rows:
        print("| " + " | ".join(cells) + " |")
    print("\nMade with\n\n    bench/compare_backends.py build/tfrun >docs/cpu-backends.md")


if __name__ == "__main__":
    main()
