#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Makes microsoft.tar.gz: models of one op of com.microsoft each, with what ONNX Runtime computes of
them. A maintainer runs it; neither the build nor a test does. Needs numpy, the onnx package and
onnxruntime.

usage: make_microsoft.py [--only TEXT] [--out FILE]
"""
import argparse
import os

import numpy as np
import onnxruntime
from onnx import helper

from make import HERE, Archive

DOMAIN = "com.microsoft"
F32, F16, U8, I8, I32, I64 = (np.float32, np.float16, np.uint8, np.int8, np.int32, np.int64)


class Cases:
    def __init__(self, only):
        self.archive = Archive()
        self.only = only
        self.random = np.random.default_rng(1)

    def floats(self, *shape, dtype=F32, scale=1.0):
        return (self.random.normal(size=shape) * scale).astype(dtype)

    def ints(self, low, high, *shape, dtype=U8):
        return self.random.integers(low, high, size=shape).astype(dtype)

    def add(self, name, op, inputs, outputs=1, domain=DOMAIN, opset=17, **attrs):
        """inputs: arrays, or None for one that is absent. outputs: how many, or which are there."""
        present = [True] * outputs if isinstance(outputs, int) else outputs
        title = op + "_" + name
        if self.only not in title:
            return
        names = ["" if v is None else "x%d" % i for i, v in enumerate(inputs)]
        results = ["y%d" % i if here else "" for i, here in enumerate(present)]
        node = helper.make_node(op, names, results, domain=domain, **attrs)
        given = [(n, v) for n, v in zip(names, inputs) if v is not None]
        infos = [helper.make_tensor_value_info(
            n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in given]
        outs = [helper.make_empty_tensor_value_info(n) for n in results if n]
        graph = helper.make_graph([node], op, infos, outs)
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8,
                                  producer_name="make_microsoft.py")
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        want = session.run(None, dict(given))
        for info, value in zip(model.graph.output, want):
            info.CopyFrom(helper.make_tensor_value_info(
                info.name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
        self.archive.add(title, model, [v for _, v in given], want)


# ---- weights of few bits ----


def add_few_bits(c):
    a, n, k, block = c.floats(2, 3, 40), 5, 40, 16
    blocks = -(-k // block)
    for bits in (4, 8, 2):
        b = c.ints(0, 256, n, blocks, block * bits // 8)
        scales = np.abs(c.floats(n, blocks)) / 8
        zeros = c.ints(0, 256, n, -(-blocks * bits // 8))
        c.add("bits%d" % bits, "MatMulNBits", [a, b, scales], K=k, N=n, bits=bits, block_size=block)
        c.add("bits%d_zeros" % bits, "MatMulNBits", [a, b, scales, zeros], K=k, N=n, bits=bits,
              block_size=block)
    b = c.ints(0, 256, n, blocks, block // 2)
    float_zeros = c.floats(n, blocks) + F32(8)
    bias = c.floats(n)
    c.add("float_zeros_bias", "MatMulNBits", [a, b, scales, float_zeros, None, bias], K=k, N=n,
          bits=4, block_size=block)
    c.add("flat_scales", "MatMulNBits", [a[0], b, scales.reshape(-1)], K=k, N=n, block_size=block)
    c.add("accuracy_4", "MatMulNBits", [a, b, scales], K=k, N=n, bits=4, block_size=block,
          accuracy_level=1)
    c.add("f16", "MatMulNBits", [a.astype(F16), b, scales.astype(F16)], K=k, N=n, bits=4,
          block_size=block)
    table = c.ints(0, 256, 6, 20)
    scales, zeros = np.abs(c.floats(6, 3)), c.ints(0, 256, 6, 2)
    for name, indices in (("i64", np.array([[5, 0], [-1, 3]], I64)), ("i32", np.array(2, I32))):
        c.add(name, "GatherBlockQuantized", [table, indices, scales], bits=4, block_size=16)
    indices = np.array([4, 1, 0], I64)
    c.add("zeros", "GatherBlockQuantized", [table, indices, scales, zeros], bits=4, block_size=16)
    c.add("f16", "GatherBlockQuantized", [table, indices, scales.astype(F16)], bits=4,
          block_size=16)
    c.add("bits8", "GatherBlockQuantized", [c.ints(0, 256, 6, 40), indices, scales,
                                            c.ints(0, 256, 6, 3)], bits=8, block_size=16)
    c.add("bits2", "GatherBlockQuantized", [c.ints(0, 256, 6, 10), indices, scales,
                                            c.ints(0, 256, 6, 1)], bits=2, block_size=16)
    c.add("bits8_rank3", "GatherBlockQuantized", [c.ints(0, 256, 6, 2, 20), indices,
                                                  np.abs(c.floats(6, 2, 2))], bits=8,
          block_size=16, quantize_axis=-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--out", default=os.path.join(HERE, "microsoft.tar.gz"))
    options = parser.parse_args()
    cases = Cases(options.only)
    add_few_bits(cases)
    cases.archive.write(options.out)


if __name__ == "__main__":
    main()
