#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models that `tfrun bench model` is run on, with random weights.

    bench/make_models.py [--small] [DIR] [NAME]...

    cnn          the small convolutional network of the TensorFlow guides, 28 x 28 x 1
    resnet50     He et al. 2015, stride in the 3 x 3 convolution; conv, BN and ReLU are separate nodes
    mobilenetv2  Sandler et al. 2018; depthwise convolutions and Clip(0, 6)
    bert_base    Devlin et al. 2018; 12 layers, hidden 768, sequence 128; LayerNormalization and GELU
                 in the primitive ops that PyTorch's exporter writes before opset 17

The first dimension of each input is symbolic ("batch"). Weights follow He et al. so that values
stay in range through all layers; the seed is fixed, so two runs write equal files. --small writes
the same node patterns with few channels and layers (NAME_small.onnx), for tests.
It needs the packages of bench/requirements.txt.
"""

import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32 = TensorProto.FLOAT
I64 = TensorProto.INT64


class Net:
    """A graph under construction: add nodes in order, each returns the name of its first output."""

    def __init__(self, name, opset, seed):
        self.name, self.opset = name, opset
        self.rng = np.random.default_rng(seed)
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []
        self.known = {}

    def input(self, name, shape, kind=F32):
        self.inputs.append(helper.make_tensor_value_info(name, kind, ["batch", *shape]))
        return name

    def output(self, name, shape):
        self.outputs.append(helper.make_tensor_value_info(name, F32, ["batch", *shape]))

    def op(self, kind, *inputs, out=None, **attributes):
        out = out or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [out], name=f"n_{out}", **attributes))
        return out

    def weight(self, name, values):
        self.initializers.append(numpy_helper.from_array(np.asarray(values, order="C"), name))
        return name

    def normal(self, name, shape, deviation):
        values = self.rng.standard_normal(shape, dtype=np.float32)
        return self.weight(name, values * np.float32(deviation))

    def constant(self, values, dtype=np.float32):
        """One initializer per value, shared by all its users."""
        array = np.array(values, dtype=dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.known:
            self.known[key] = self.weight(f"const_{len(self.known)}", array)
        return self.known[key]

    def save(self, folder, file):
        graph = helper.make_graph(
            self.nodes, self.name, self.inputs, self.outputs, initializer=self.initializers
        )
        model = helper.make_model(
            graph,
            producer_name="tfrun bench",
            ir_version=8,
            opset_imports=[helper.make_opsetid("", self.opset)],
        )
        onnx.checker.check_model(model)
        onnx.save(model, folder / file)

    # Pieces that several networks share.

    def conv(self, x, name, cin, cout, kernel, stride=1, pad=None, group=1, bias=False, gain=2.0):
        pad = kernel // 2 if pad is None else pad
        fan_in = cin // group * kernel * kernel
        inputs = [
            x,
            self.normal(f"{name}.weight", (cout, cin // group, kernel, kernel), (gain / fan_in) ** 0.5),
        ]
        if bias:
            inputs.append(self.normal(f"{name}.bias", (cout,), 0.1))
        return self.op(
            "Conv",
            *inputs,
            dilations=[1, 1],
            group=group,
            kernel_shape=[kernel, kernel],
            pads=[pad] * 4,
            strides=[stride, stride],
        )

    def batch_norm(self, x, name, channels, scale=1.0):
        spread = self.rng.uniform(0.8, 1.2, (4, channels)).astype(np.float32)
        return self.op(
            "BatchNormalization",
            x,
            self.weight(f"{name}.weight", spread[0] * np.float32(scale)),
            self.weight(f"{name}.bias", (spread[1] - 1) * np.float32(0.5)),
            self.weight(f"{name}.running_mean", (spread[2] - 1) * np.float32(0.5)),
            self.weight(f"{name}.running_var", spread[3]),
            epsilon=1e-5,
            momentum=0.9,
        )

    def gemm(self, x, name, cin, cout, gain=2.0, out=None):
        weight = self.normal(f"{name}.weight", (cout, cin), (gain / cin) ** 0.5)
        bias = self.normal(f"{name}.bias", (cout,), 0.1)
        return self.op("Gemm", x, weight, bias, out=out, alpha=1.0, beta=1.0, transB=1)


def cnn(small):
    net = Net("cnn", 17, 1)
    c1, c2 = (4, 8) if small else (32, 64)
    x = net.input("image", [1, 28, 28])
    x = net.op("Relu", net.conv(x, "conv1", 1, c1, 3, pad=0, bias=True))
    x = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.op("Relu", net.conv(x, "conv2", c1, c2, 3, pad=0, bias=True))
    x = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.op("Relu", net.conv(x, "conv3", c2, c2, 3, pad=0, bias=True))
    x = net.op("Flatten", x, axis=1)
    x = net.op("Relu", net.gemm(x, "fc1", c2 * 9, c2))
    net.gemm(x, "fc2", c2, 10, gain=1.0, out="logits")
    net.output("logits", [10])
    return net


def resnet50(small):
    net = Net("resnet50", 17, 2)
    size, width, blocks = (32, 8, [1, 1, 1, 1]) if small else (224, 64, [3, 4, 6, 3])
    classes = 10 if small else 1000
    x = net.input("image", [3, size, size])
    x = net.conv(x, "conv1", 3, width, 7, stride=2, gain=1.0)
    x = net.op("Relu", net.batch_norm(x, "bn1", width))
    x = net.op("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2], ceil_mode=0)
    cin = width
    for stage, count in enumerate(blocks):
        mid, cout = width << stage, width << stage << 2
        for block in range(count):
            name = f"layer{stage + 1}.{block}"
            stride = 2 if stage > 0 and block == 0 else 1
            y = net.conv(x, f"{name}.conv1", cin, mid, 1)
            y = net.op("Relu", net.batch_norm(y, f"{name}.bn1", mid))
            y = net.conv(y, f"{name}.conv2", mid, mid, 3, stride=stride)
            y = net.op("Relu", net.batch_norm(y, f"{name}.bn2", mid))
            y = net.conv(y, f"{name}.conv3", mid, cout, 1)
            # The branch is scaled down, or sixteen sums would double the values four times.
            y = net.batch_norm(y, f"{name}.bn3", cout, scale=0.35)
            if block == 0:
                x = net.conv(x, f"{name}.downsample.0", cin, cout, 1, stride=stride)
                x = net.batch_norm(x, f"{name}.downsample.1", cout)
            x = net.op("Relu", net.op("Add", y, x))
            cin = cout
    x = net.op("Flatten", net.op("GlobalAveragePool", x), axis=1)
    net.gemm(x, "fc", cin, classes, gain=1.0, out="logits")
    net.output("logits", [classes])
    return net


def mobilenetv2(small):
    net = Net("mobilenetv2", 17, 3)
    # expansion, channels, repeats, stride
    rows = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)]
    rows += [(6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    size, first, last, classes = 224, 32, 1280, 1000
    if small:
        rows, size, first, last, classes = [(1, 8, 1, 1), (3, 12, 2, 2)], 32, 8, 24, 10

    def conv_bn(x, name, cin, cout, kernel, stride=1, group=1, gain=2.0, clip=True):
        x = net.conv(x, f"{name}.0", cin, cout, kernel, stride, group=group, gain=gain)
        x = net.batch_norm(x, f"{name}.1", cout)
        return net.op("Clip", x, net.constant(0.0), net.constant(6.0)) if clip else x

    x = conv_bn(net.input("image", [3, size, size]), "features.0", 3, first, 3, 2, gain=1.0)
    cin, number = first, 1
    for expansion, cout, repeats, stride in rows:
        for repeat in range(repeats):
            name, y, mid = f"features.{number}.conv", x, cin * expansion
            if expansion > 1:
                # What comes in passed no activation, so it keeps its variance with a gain of 1.
                y = conv_bn(y, f"{name}.0", cin, mid, 1, gain=1.0)
            y = conv_bn(y, f"{name}.1", mid, mid, 3, stride if repeat == 0 else 1, group=mid)
            y = conv_bn(y, f"{name}.2", mid, cout, 1, clip=False)
            x = net.op("Add", x, y) if repeat > 0 else y
            cin, number = cout, number + 1
    x = conv_bn(x, f"features.{number}", cin, last, 1, gain=1.0)
    x = net.op("Flatten", net.op("GlobalAveragePool", x), axis=1)
    net.gemm(x, "classifier.1", last, classes, gain=1.0, out="logits")
    net.output("logits", [classes])
    return net


def bert_base(small):
    net = Net("bert_base", 14, 4)
    layers, hidden, heads, inner, vocabulary, length = 12, 768, 12, 3072, 30522, 128
    if small:
        layers, hidden, heads, inner, vocabulary, length = 2, 32, 4, 64, 50, 8
    width = hidden // heads

    def dense(x, name, cin, cout, gain=1.0):
        weight = net.normal(f"{name}.weight", (cin, cout), (gain / cin) ** 0.5)
        bias = net.normal(f"{name}.bias", (cout,), 0.02)
        return net.op("Add", bias, net.op("MatMul", x, weight))

    def layer_norm(x, name):
        centered = net.op("Sub", x, net.op("ReduceMean", x, axes=[-1], keepdims=1))
        square = net.op("Pow", centered, net.constant(2.0))
        variance = net.op("ReduceMean", square, axes=[-1], keepdims=1)
        root = net.op("Sqrt", net.op("Add", variance, net.constant(1e-12)))
        scale = net.rng.uniform(0.8, 1.2, hidden).astype(np.float32)
        x = net.op("Mul", net.op("Div", centered, root), net.weight(f"{name}.weight", scale))
        return net.op("Add", x, net.normal(f"{name}.bias", (hidden,), 0.05))

    def gelu(x):
        error = net.op("Erf", net.op("Div", x, net.constant(2.0**0.5)))
        x = net.op("Mul", x, net.op("Add", error, net.constant(1.0)))
        return net.op("Mul", x, net.constant(0.5))

    def size(x, axis):
        """One dimension of x as a tensor of shape [1], as the exporter writes x.size(axis)."""
        got = net.op("Gather", net.op("Shape", x), net.constant(axis, np.int64), axis=0)
        return net.op("Unsqueeze", got, net.constant([0], np.int64))

    def reshape(x, *tail):
        """[N, T, ...] to [N, T, *tail], the first two sizes read from x."""
        ends = [net.constant([n], np.int64) for n in tail]
        return net.op("Reshape", x, net.op("Concat", size(x, 0), size(x, 1), *ends, axis=0))

    def split_heads(x, permutation):
        return net.op("Transpose", reshape(x, heads, width), perm=permutation)

    ids = net.input("input_ids", [length], I64)
    attention_mask = net.input("attention_mask", [length], I64)
    types = net.input("token_type_ids", [length], I64)

    mask = net.op("Unsqueeze", attention_mask, net.constant([1], np.int64))
    mask = net.op("Unsqueeze", mask, net.constant([2], np.int64))
    mask = net.op("Sub", net.constant(1.0), net.op("Cast", mask, to=F32))
    mask = net.op("Mul", mask, net.constant(-10000.0))

    words = net.normal("embeddings.word_embeddings.weight", (vocabulary, hidden), 1.0)
    kinds = net.normal("embeddings.token_type_embeddings.weight", (2, hidden), 0.5)
    places = net.normal("embeddings.position_embeddings.weight", (length, hidden), 0.5)
    positions = net.constant([list(range(length))], np.int64)
    x = net.op("Add", net.op("Gather", words, ids), net.op("Gather", kinds, types))
    x = net.op("Add", x, net.op("Gather", places, positions))
    x = layer_norm(x, "embeddings.LayerNorm")
    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        query = split_heads(dense(x, f"{name}.attention.query", hidden, hidden), [0, 2, 1, 3])
        key = split_heads(dense(x, f"{name}.attention.key", hidden, hidden), [0, 2, 3, 1])
        value = split_heads(dense(x, f"{name}.attention.value", hidden, hidden), [0, 2, 1, 3])
        scores = net.op("Div", net.op("MatMul", query, key), net.constant(width**0.5))
        weights = net.op("Softmax", net.op("Add", scores, mask), axis=-1)
        y = net.op("Transpose", net.op("MatMul", weights, value), perm=[0, 2, 1, 3])
        y = dense(reshape(y, hidden), f"{name}.attention.output", hidden, hidden)
        x = layer_norm(net.op("Add", y, x), f"{name}.attention.output.LayerNorm")
        y = gelu(dense(x, f"{name}.intermediate", hidden, inner))
        y = dense(y, f"{name}.output", inner, hidden, gain=2.0)
        last = layer == layers - 1
        x = layer_norm(net.op("Add", y, x), f"{name}.output.LayerNorm")
        if last:
            x = net.op("Identity", x, out="last_hidden_state")
    first = net.op("Gather", x, net.constant(0, np.int64), axis=1)
    net.op("Tanh", net.gemm(first, "pooler.dense", hidden, hidden, gain=1.0), out="pooler_output")
    net.output("last_hidden_state", [length, hidden])
    net.output("pooler_output", [hidden])
    return net


NETWORKS = {f.__name__: f for f in (cnn, resnet50, mobilenetv2, bert_base)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--small", action="store_true", help="few channels and layers, for tests")
    parser.add_argument("folder", nargs="?", default=".", help="where to write (default: here)")
    parser.add_argument("names", nargs="*", help="which networks (default: all)")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.folder)
    unknown = [name for name in arguments.names if name not in NETWORKS]
    if unknown:
        parser.error(f"no network {unknown[0]!r}; there are {', '.join(NETWORKS)}")
    folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or NETWORKS:
        file = f"{name}_small.onnx" if arguments.small else f"{name}.onnx"
        NETWORKS[name](arguments.small).save(folder, file)
        print(folder / file)


if __name__ == "__main__":
    main()
