#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes DIR/model.onnx: what one token reads of a decoder whose weights have 4 bits.

The linear layers, norms and gates of 8 blocks of a Llama of 2048 columns (5632 inside, 8 of 32
heads for keys and values) and a vocabulary of 32000, 426 million weights as MatMulNBits in blocks
of 32 with scales of float32: 266 MB. There is no attention, whose time depends on how many tokens
came before. Weights are random. For `tfrun bench model DIR` and `tfrun profile DIR`.
"""
import argparse
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BLOCKS, WIDTH, INNER, KEYS, WORDS, BLOCK = 8, 2048, 5632, 512, 32000, 32


class Maker:
    def __init__(self, level):
        self.random = np.random.default_rng(0)
        self.level = level
        self.nodes = []
        self.constants = [numpy_helper.from_array(np.ones(WIDTH, np.float32), "one")]

    def add(self, op, inputs, **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def product(self, x, k, n):
        name = f"w{len(self.nodes)}"
        codes = self.random.integers(0, 256, (n, k // BLOCK, BLOCK // 2), dtype=np.uint8)
        scales = (self.random.random(n * k // BLOCK, dtype=np.float32) + 0.5) * 0.04 / k**0.5
        self.constants.append(numpy_helper.from_array(codes, name + "_codes"))
        self.constants.append(numpy_helper.from_array(scales.astype(np.float32), name + "_scales"))
        return self.add("MatMulNBits", [x, name + "_codes", name + "_scales"],
                        domain="com.microsoft", K=k, N=n, bits=4, block_size=BLOCK,
                        accuracy_level=self.level)

    def norm(self, x):
        return self.add("LayerNormalization", [x, "one"], axis=-1, epsilon=1e-5)

    def block(self, x):
        n = self.norm(x)
        q, k, v = (self.product(n, WIDTH, w) for w in (WIDTH, KEYS, KEYS))
        mixed = self.add("Mul", [q, self.add("Concat", [k, v, k, v], axis=-1)])
        x = self.add("Add", [x, self.product(mixed, WIDTH, WIDTH)])
        n = self.norm(x)
        gate, up = self.product(n, WIDTH, INNER), self.product(n, WIDTH, INNER)
        gate = self.add("Mul", [gate, self.add("Sigmoid", [gate])])
        return self.add("Add", [x, self.product(self.add("Mul", [gate, up]), INNER, WIDTH)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir")
    parser.add_argument("--accuracy-level", type=int, default=0, help="0 or 4")
    arguments = parser.parse_args()
    maker = Maker(arguments.accuracy_level)
    x = "x"
    for _ in range(BLOCKS):
        x = maker.block(x)
    y = maker.product(maker.norm(x), WIDTH, WORDS)
    graph = helper.make_graph(
        maker.nodes, "decoder", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, WIDTH])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, 1, WORDS])], maker.constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    os.makedirs(arguments.dir, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10),
              os.path.join(arguments.dir, "model.onnx"))


if __name__ == "__main__":
    main()
