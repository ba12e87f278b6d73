#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Makes microsoft.tar.gz: models of one op of com.microsoft each, with what ONNX Runtime computes of
them, and microsoft_refused.tar.gz: models that are wrong or not supported, with a pattern of what
tfrun says. A maintainer runs it; neither the build nor a test does. Needs numpy, the onnx package and
onnxruntime.

usage: make_microsoft.py [--only TEXT] [--out FILE]
"""
import argparse
import os

import numpy as np
import onnxruntime
from onnx import helper, numpy_helper

from make import HERE, Archive

DOMAIN = "com.microsoft"
F32, F16, U8, I8, I32, I64 = (np.float32, np.float16, np.uint8, np.int8, np.int32, np.int64)


class Cases:
    def __init__(self, only):
        self.archive = Archive()
        self.refused = Archive()
        self.only = only
        self.random = np.random.default_rng(1)

    def floats(self, *shape, dtype=F32, scale=1.0):
        return (self.random.normal(size=shape) * scale).astype(dtype)

    def ints(self, low, high, *shape, dtype=U8):
        return self.random.integers(low, high, size=shape).astype(dtype)

    def model(self, op, inputs, present, domain, attrs, constants=()):
        names = ["" if v is None else "x%d" % i for i, v in enumerate(inputs)]
        results = ["y%d" % i if here else "" for i, here in enumerate(present)]
        node = helper.make_node(op, names, results, domain=domain, **attrs)
        given = [(n, v) for n, v in zip(names, inputs) if v is not None and n not in constants]
        fixed = [numpy_helper.from_array(v, n) for n, v in zip(names, inputs) if n in constants]
        infos = [helper.make_tensor_value_info(
            n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in given]
        outs = [helper.make_empty_tensor_value_info(n) for n in results if n]
        graph = helper.make_graph([node], op, infos, outs, fixed)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain or DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8,
                                 producer_name="make_microsoft.py"), given

    def refuse(self, name, says, op, inputs, outputs=1, domain=DOMAIN, **attrs):
        model, _ = self.model(op, inputs, [True] * outputs, domain, attrs)
        self.refused.files[op + "_" + name + "/model.onnx"] = model.SerializeToString()
        self.refused.files[op + "_" + name + "/says"] = (says + "\n").encode()

    def add(self, name, op, inputs, outputs=1, domain=DOMAIN, constants=(), **attrs):
        """inputs: arrays, or None for one that is absent. outputs: how many, or which are there."""
        present = [True] * outputs if isinstance(outputs, int) else outputs
        title = op + "_" + name
        if self.only not in title:
            return
        model, given = self.model(op, inputs, present, domain, attrs, constants)
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


# ---- what is written out ----


def add_elementwise(c):
    x, bias = c.floats(2, 3, 8), c.floats(8)
    c.add("plain", "Gelu", [x])
    c.add("plain", "BiasGelu", [x, bias])
    c.add("plain", "FastGelu", [x])
    c.add("bias", "FastGelu", [x, bias])
    c.add("plain", "QuickGelu", [x])
    c.add("alpha_1", "QuickGelu", [x], alpha=1.0)
    c.add("alpha", "QuickGelu", [x], alpha=-0.5)
    c.add("plain", "GatedAdd", [x, c.floats(2, 3, 8), c.floats(2, 3, 1)])
    c.add("alpha", "ScaledSiLU", [x], alpha=1.5)
    c.add("scale", "ScaledSiLU", [x, np.array(0.7, F32)])


def add_norms(c):
    x, skip, gamma, beta, bias = (c.floats(2, 3, 8), c.floats(2, 3, 8), c.floats(8), c.floats(8),
                                  c.floats(8))
    all_but_means = [True, False, False, True]
    for op, offset in (("SkipLayerNormalization", [beta]), ("SkipSimplifiedLayerNormalization", [])):
        c.add("plain", op, [x, skip, gamma] + offset)
        c.add("bias_sum", op, [x, skip, gamma] + offset + [bias], all_but_means, epsilon=0.01)
        c.add("f16", op, [v.astype(F16) for v in [x, skip, gamma] + offset], epsilon=1e-5)
    c.add("no_beta", "SkipLayerNormalization", [x, skip, gamma])
    c.add("broadcast", "SkipLayerNormalization", [x, skip[:1], gamma, beta])
    c.add("broadcast_2d", "SkipLayerNormalization", [x, skip[0], gamma, beta])
    c.add("domain", "SimplifiedLayerNormalization", [x, gamma], domain="", epsilon=1e-3, axis=-1)
    ids, segments = c.ints(0, 7, 2, 3, dtype=I32), c.ints(0, 2, 2, 3, dtype=I32)
    words, places, kinds = c.floats(7, 8), c.floats(5, 8), c.floats(2, 8)
    mask = np.array([[1, 1, 0], [1, 1, 1]], I32)
    op = "EmbedLayerNormalization"
    c.add("mask", op, [ids, segments, words, places, kinds, gamma, beta, mask], 2)
    c.add("no_segment", op, [ids, None, words, places, None, gamma, beta], 2)
    c.add("places", op, [ids, segments, words, places, kinds, gamma, beta, None,
                         c.ints(0, 5, 2, 3, dtype=I32)], [True, False, True], epsilon=1e-3)
    q = [c.ints(0, 255, 7, 8), c.ints(0, 255, 5, 8), c.ints(0, 255, 2, 8), c.ints(0, 255, 8),
         c.ints(0, 255, 8)]
    scales = [np.array(v, F32) for v in (0.02, 0.03, 0.04, 0.05, 0.06)]
    zeros = [np.array(v, U8) for v in (120, 128, 130, 140, 100)]
    c.add("mask", "QEmbedLayerNormalization", [ids, segments] + q[:3] + q[3:] + [mask] + scales +
          zeros, 2, epsilon=1e-3)


def add_products(c):
    a, b = c.floats(2, 3, 4), c.floats(2, 4, 5)
    t = lambda v: np.ascontiguousarray(np.swapaxes(v, -1, -2))
    for op in ("FusedMatMul", "TransposeMatMul"):
        c.add("alpha", op, [a, b], alpha=0.5)
        c.add("trans", op, [t(a), t(b)], transA=1, transB=1)
    c.add("broadcast", "FusedMatMul", [a, t(b[0])], transB=1, alpha=2.0)
    c.add("f64", "FusedMatMul", [a.astype(np.float64), b.astype(np.float64)], alpha=0.1)
    # Batches behind the rows: [3 2 4] is [2 3 4].
    c.add("batch_a", "FusedMatMul", [np.ascontiguousarray(a.transpose(1, 0, 2)), b], transBatchA=1)
    c.add("batch_b", "FusedMatMul", [a, np.ascontiguousarray(b.transpose(1, 0, 2))], transBatchB=1)
    c.add("batch_and_trans", "FusedMatMul", [np.ascontiguousarray(a.transpose(2, 0, 1)),
                                             np.ascontiguousarray(b.transpose(2, 0, 1))],
          transA=1, transBatchA=1, transB=1, transBatchB=1)
    x, y, z = c.floats(3, 4), c.floats(4, 5), c.floats(5)
    for act, attrs in (("Relu", {}), ("Tanh", {}), ("Sigmoid", {}),
                       ("LeakyRelu", {"activation_alpha": 0.2}),
                       ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4})):
        c.add(act, "FusedGemm", [x, y, z], activation=act, **attrs)
    c.add("trans", "FusedGemm", [t(x), t(y)], activation="Relu", transA=1, transB=1, alpha=0.5)
    c.add("beta", "FusedGemm", [x, y, z], activation="Relu", beta=0.25)
    image, w, bias = c.floats(1, 4, 6, 6), c.floats(4, 2, 3, 3), c.floats(4)
    for act, params in (("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.1]),
                        ("Clip", [-0.5, 0.75]), ("HardSigmoid", [0.3, 0.4])):
        c.add(act, "FusedConv", [image, w, bias], activation=act, group=2, pads=[1, 1, 1, 1],
              kernel_shape=[3, 3], **({"activation_params": params} if params else {}))
    c.add("strided", "FusedConv", [image, w], activation="Relu", group=2, strides=[2, 2],
          dilations=[1, 2])
    c.add("sum", "FusedConv", [image, w, bias, c.floats(1, 4, 6, 6)], activation="Relu", group=2,
          auto_pad="SAME_UPPER")
    pads = np.array([1, 0, 1, 1], I64)
    for name, inputs in (("plain", []), ("bias", [c.floats(3)])):
        c.add(name, "ConvTransposeWithDynamicPads", [image, c.floats(4, 3, 2, 2), pads] + inputs,
              constants=("x2",), strides=[2, 2])
    c.add("plain", "Inverse", [c.floats(2, 3, 3)])
    c.add("plain", "MatMulInteger16", [c.ints(-900, 900, 2, 3, dtype=np.int16),
                                       c.ints(-900, 900, 3, 4, dtype=np.int16)])
    for metric in ("sqeuclidean", "euclidean"):
        c.add(metric, "CDist", [c.floats(4, 3), c.floats(5, 3)], metric=metric)


def add_quantized(c):
    # Scales whose quotients make no ties: there the last bit of a float decides.
    s = lambda v: np.array(v, F32)
    for dtype, name in ((U8, "u8"), (I8, "i8")):
        low, high = (0, 256) if dtype == U8 else (-128, 128)
        z = lambda v: np.array(v if dtype == U8 else v - 128, dtype)
        a, b = c.ints(low, high, 2, 3, 4, dtype=dtype), c.ints(low, high, 3, 1, dtype=dtype)
        for op, scale in (("QLinearAdd", 0.07), ("QLinearMul", 0.0517)):
            c.add(name, op, [a, s(0.03), z(120), b, s(0.05), z(131), s(scale), z(100)])
        c.add(name, "QLinearLeakyRelu", [a, s(0.03), z(120), s(0.0213), z(90)], alpha=0.2)
        c.add(name, "QLinearSigmoid", [a, s(0.03), z(120), s(1 / 256), z(0)])
        c.add(name, "QLinearSoftmax", [a, s(0.03), z(120), s(1 / 256), z(0)], axis=1, opset=13)
        c.add(name + "_old", "QLinearSoftmax", [a, s(0.03), z(120), s(1 / 256), z(0)], axis=1,
              opset=11)
        c.add(name, "QLinearConcat", [s(0.05), z(110), a, s(0.03), z(120),
                                      c.ints(low, high, 2, 3, 2, dtype=dtype), s(0.06), z(128)],
              axis=2)
        c.add(name, "QLinearWhere", [c.ints(0, 2, 2, 3, 4, dtype=np.bool_), a, s(0.03), z(120),
                                     b, s(0.05), z(131), s(0.0613), z(128)])
        image = c.ints(low, high, 1, 4, 5, 6, dtype=dtype)
        for last in (0, 1):
            c.add("%s_%d" % (name, last), "QLinearGlobalAveragePool",
                  [image, s(0.03), z(120), s(0.0173), z(100)], channels_last=last)
            c.add("%s_%d" % (name, last), "QLinearAveragePool",
                  [image, s(0.03), z(120), s(0.0173), z(100)], channels_last=last,
                  kernel_shape=[2, 3], strides=[1, 2], pads=[1, 1, 0, 1])
        c.add(name + "_count", "QLinearAveragePool", [image, s(0.03), z(120), s(0.0173), z(100)],
              kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
        c.add(name, "NhwcMaxPool", [image], kernel_shape=[2, 2], strides=[2, 2])
        w = c.ints(-60, 60, 3, 6, 2, 2, dtype=I8)  # more saturates in ONNX Runtime on AVX2
        c.add(name, "QLinearConv", [image, s(0.03), z(120), w, s(0.02), np.array(3, I8), s(0.2013),
                                    z(100), c.ints(-500, 500, 3, dtype=I32)], channels_last=1)
        k, n = c.ints(low, high, 3, 4, dtype=dtype), c.ints(-128, 128, 4, 5, dtype=I8)
        per_column = [np.abs(c.floats(5)) / 50, c.ints(-9, 9, 5, dtype=I8)]
        c.add(name, "QGemm", [k, s(0.03), z(120), n, s(0.02), np.array(2, I8),
                              c.ints(-500, 500, 5, dtype=I32), s(0.1013), z(100)])
        c.add(name + "_columns", "QGemm", [k, s(0.03), z(120), n] + per_column +
              [c.ints(-500, 500, 5, dtype=I32), s(0.1013), z(100)])
        c.add(name + "_float", "QGemm", [np.ascontiguousarray(k.T), s(0.03), z(120),
                                         np.ascontiguousarray(n.T), s(0.02), np.array(2, I8)],
              transA=1, transB=1, alpha=1.5)
        c.add(name, "MatMulIntegerToFloat", [k, n, s(0.03), s(0.02), z(120), np.array(2, I8)])
        c.add(name + "_columns", "MatMulIntegerToFloat", [k, n, s(0.03), per_column[0], z(120),
                                                          per_column[1], c.floats(5)])
        c.add(name + "_no_zeros", "MatMulIntegerToFloat", [k, n, s(0.03), s(0.02)])
        c.add(name, "DequantizeLinear", [a, s(0.03), z(120)])
        c.add(name + "_axis", "DequantizeLinear", [a, np.abs(c.floats(3)),
                                                   c.ints(low, high, 3, dtype=dtype)], axis=1)
        c.add(name, "QuantizeLinear", [c.floats(2, 3), s(0.03), z(120)])
        c.add(name + "_axis", "QuantizeLinear", [c.floats(2, 3), np.abs(c.floats(3)) + F32(0.01),
                                                 c.ints(low, high, 3, dtype=dtype)], axis=-1)
    f, n = c.floats(2, 3, 4), c.ints(0, 256, 4, 5)
    c.add("plain", "DynamicQuantizeMatMul", [f, n, s(0.02)])
    c.add("bias", "DynamicQuantizeMatMul", [f, n, s(0.02), np.array(128, U8), c.floats(5)])
    c.add("columns", "DynamicQuantizeMatMul", [f, c.ints(-128, 128, 4, 5, dtype=I8),
                                               per_column[0], per_column[1]])


def add_attentions(c):
    batch, length, heads, size = 2, 4, 2, 4
    width = heads * size
    x, w, b = c.floats(batch, length, 6), c.floats(6, 3 * width), c.floats(3 * width)
    lengths = np.array([3, 4], I32)
    ends = np.array([4, 3, 1, 0], I32)
    rows = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], I32)
    full = np.array([[[1] * (i + 1) + [0] * (3 - i) for i in range(4)]] * 2, I32)
    added = c.floats(1, heads, length, length)
    for name, inputs, attrs in (
            ("plain", [], {}), ("causal", [], {"unidirectional": 1}), ("scale", [], {"scale": 0.3}),
            ("lengths", [lengths], {}), ("ends", [ends], {}), ("rows", [rows], {}),
            ("full", [full], {}), ("rows_causal", [rows], {"unidirectional": 1}),
            ("filter", [rows], {"mask_filter_value": -3.0}),
            ("bias", [None, None, added], {}), ("rows_bias", [rows, None, added], {})):
        c.add(name, "Attention", [x, w, b] + inputs, num_heads=heads, **attrs)
    c.add("sizes", "Attention", [x, c.floats(6, 2 * width + 12), c.floats(2 * width + 12)],
          num_heads=heads, qkv_hidden_sizes=[width, width, 12])
    past = c.floats(2, batch, heads, 3, size)
    c.add("past", "Attention", [x, w, b, None, past], 2, num_heads=heads, unidirectional=1)
    c.add("past_rows", "Attention", [x, w, b, c.ints(1, 2, batch, 7, dtype=I32), past], 2,
          num_heads=heads, unidirectional=1)
    c.add("present", "Attention", [x, w, b], 2, num_heads=heads, unidirectional=1)
    s, z = lambda v: np.array(v, F32), lambda v: np.array(v, U8)
    for name, more, attrs in (("plain", [], {}), ("rows", [rows], {}),
                              ("causal", [None, z(120), z(130)], {"unidirectional": 1})):
        c.add(name, "QAttention", [c.ints(0, 256, batch, length, 6), c.ints(0, 256, 6, 3 * width), b,
                                   s(0.02), s(0.01)] + (more if len(more) > 1 else more + [None] *
                                                        (1 - len(more)) + [z(128), z(127)]),
              num_heads=heads, **attrs)

    q, k, v = c.floats(batch, length, width), c.floats(batch, 5, width), c.floats(batch, 5, width)
    op = "MultiHeadAttention"
    keys = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], I32)
    wide = c.floats(batch, heads, length, 5)
    c.add("plain", op, [q, k, v], num_heads=heads)
    c.add("bias", op, [q, k, v, b], num_heads=heads, scale=0.4)
    c.add("wide_values", op, [q, k, c.floats(batch, 5, 12), c.floats(2 * width + 12)],
          num_heads=heads)
    c.add("keys", op, [q, k, v, b, keys], num_heads=heads)
    c.add("lengths", op, [q, k, v, None, lengths], num_heads=heads)
    c.add("added", op, [q, k, v, None, keys, wide], num_heads=heads)
    c.add("causal", op, [q, q, q], num_heads=heads, unidirectional=1)
    c.add("cross", op, [q, c.floats(batch, heads, 5, size), c.floats(batch, heads, 5, size)],
          num_heads=heads)
    cache = [c.floats(batch, heads, 3, size), c.floats(batch, heads, 3, size)]
    c.add("past", op, [q, c.floats(batch, length, width), c.floats(batch, length, width), None, None,
                       None] + cache, 3, num_heads=heads)
    c.add("past_added", op, [q, c.floats(batch, length, width), c.floats(batch, length, width), b,
                             None, c.floats(1, heads, length, 7)] + cache, 3, num_heads=heads)

    cos, sin = c.floats(9, size // 2), c.floats(9, size // 2)
    ids = c.ints(0, 9, batch, length, dtype=I64)
    op = "RotaryEmbedding"
    for name, attrs in (("plain", {}), ("pairs", {"interleaved": 1})):
        c.add(name, op, [q, ids, cos, sin], **attrs)
        c.add(name + "_4d", op, [c.floats(batch, heads, length, size), ids, cos, sin], **attrs)
    c.add("offset", op, [q, np.array([3], I64), cos, sin])
    c.add("part", op, [c.floats(batch, length, heads * 6), ids, cos, sin], num_heads=heads,
          rotary_embedding_dim=size)

    op, heads, kv, size = "GroupQueryAttention", 4, 2, 16
    cos, sin = c.floats(9, size // 2), c.floats(9, size // 2)
    q, k, v = (c.floats(1, 4, heads * size), c.floats(1, 4, kv * size), c.floats(1, 4, kv * size))
    n, total = np.array([3], I32), np.array(4, I32)
    heads = {"num_heads": heads, "kv_num_heads": kv}
    c.add("prompt", op, [q, k, v, None, None, n, total], 3, **heads)
    c.add("packed", op, [np.concatenate([q, k, v], 2), None, None, None, None, n, total], 3, **heads)
    c.add("rotary", op, [q, k, v, None, None, n, total, cos, sin], 3, do_rotary=1, **heads)
    c.add("rotary_pairs", op, [q, k, v, None, None, n, total, cos, sin], 3, do_rotary=1,
          rotary_interleaved=1, **heads)
    c.add("window", op, [q, k, v, None, None, n, total], 3, local_window_size=2, **heads)
    c.add("softcap", op, [q, k, v, None, None, n, total], 3, softcap=2.0, scale=0.7, **heads)
    for name, batch, length, capacity in (("step", 1, 5, 5), ("cache", 1, 5, 8),
                                          ("batch", 2, 5, 5), ("batch_cache", 2, 5, 8)):
        past = [c.floats(batch, kv, capacity, size) for _ in range(2)]
        new = [c.floats(batch, 1, heads["num_heads"] * size), c.floats(batch, 1, kv * size),
               c.floats(batch, 1, kv * size)]
        lens = np.array([length] * batch, I32)
        if capacity > length:
            lens[-1] = 3
            for p in past:
                p[-1, :, 3:] = 0
                p[:, :, length:] = 0
        c.add(name, op, new + past + [lens, np.array(length + 1, I32), cos, sin], 3, do_rotary=1,
              **heads)


def add_lstm(c):
    hidden, width, length, batch = 3, 4, 5, 2
    for name, directions, attrs in (("forward", 1, {}),
                                    ("bidirectional", 2, {"direction": "bidirectional"})):
        w = c.ints(0, 256, directions, width, 4 * hidden)
        r = c.ints(0, 256, directions, hidden, 4 * hidden)
        scale, zero = np.full(directions, 0.005, F32), np.full(directions, 128, U8)
        c.add(name, "DynamicQuantizeLSTM",
              [c.floats(length, batch, width), w, r, c.floats(directions, 8 * hidden), None, None,
               None, None, scale, zero, scale, zero], 3, hidden_size=hidden, **attrs)
    scale, zero = np.abs(c.floats(1, 4 * hidden)) / 200, np.full((1, 4 * hidden), 0, I8)
    c.add("columns", "DynamicQuantizeLSTM",
          [c.floats(length, batch, width), c.ints(-128, 128, 1, width, 4 * hidden, dtype=I8),
           c.ints(-128, 128, 1, hidden, 4 * hidden, dtype=I8), None, np.array([3, 5], I32),
           c.floats(1, batch, hidden), c.floats(1, batch, hidden), None, scale, zero, scale, zero],
          3, hidden_size=hidden)


def add_moves(c):
    x = c.floats(2, 3, 4)
    c.add("plain", "ExpandDims", [x, np.array(1, I32)])
    c.add("plain", "GatherND", [x, np.array([[0, 1], [1, 2]], I32)])
    c.add("plain", "Pad", [x, np.array([0, 1, 0, 1, 0, 2], I64), np.array([7], F32)])
    c.add("edge", "Pad", [x, np.array([[0, 1, 0, 1, 0, 2]], I64)], mode="edge")
    c.add("plain", "Range", [np.array([1], F32), np.array([3], F32), np.array([0.5], F32)])
    c.add("no_delta", "Range", [np.array(1, I64), np.array(4, I64)])
    c.add("upper", "Trilu", [x])
    c.add("lower", "Trilu", [x, np.array(1, I64)], upper=0)
    c.add("plain", "Unique", [np.array([2, 1, 1, 3, 4, 3], F32)], 3)
    c.add("plain", "UnfoldTensor", [c.floats(2, 7, 3)], dim=1, size=3, step=2)
    image, grid = c.floats(1, 2, 4, 5), c.floats(1, 3, 3, 2, scale=0.7)
    for mode in ("bilinear", "nearest", "bicubic"):
        c.add(mode, "GridSample", [image, grid], mode=mode)
    boxes = np.array([[0, 0, 1, 1], [0.1, 0.8, 0.7, 0.2], [-0.2, 0.1, 0.9, 1.25]], F32)
    for mode in ("bilinear", "nearest"):
        c.add(mode, "CropAndResize", [c.floats(2, 2, 5, 6), boxes, np.array([0, 1, 1], I32),
                                      np.array([3, 4], I32)], mode=mode, extrapolation_value=2.5)
    c.add("one", "CropAndResize", [c.floats(2, 2, 5, 6), boxes, np.array([0, 1, 1], I32),
                                   np.array([1, 2], I32)])


# ---- what is wrong or not supported ----


def add_refused(c):
    x, w = c.floats(1, 4, 4, 4), c.floats(4, 4, 1, 1)
    c.refuse("nchwc", "layout of one processor", "Conv", [x, w], domain="com.microsoft.nchwc")
    c.refuse("text", "is refused: it splits texts", "Tokenizer", [x])
    c.refuse("loop", "it is a loop of generation", "GreedySearch", [x])
    c.refuse("unknown", "is not known", "Imagined", [x])
    a, b, s = c.floats(3, 32), c.ints(0, 256, 5, 2, 8), c.floats(5, 2)
    op = "MatMulNBits"
    c.refuse("b", "B has not the shape .5,2,8.", op, [a, b[:, :1], s], K=32, N=5, block_size=16)
    c.refuse("k", "the last dim of A is not K, 32", op, [a[:, :8], b, s], K=32, N=5, block_size=16)
    c.refuse("bits", "bits is 3, want 2, 4 or 8", op, [a, b, s], K=32, N=5, block_size=16, bits=3)
    c.refuse("block", "block_size is 24", op, [a, b, s], K=32, N=5, block_size=24)
    c.refuse("scales", "scales has not the shape", op, [a, b, s[:2]], K=32, N=5, block_size=16)
    c.refuse("packed", "weight_prepacked is 1", op, [a, b, s], K=32, N=5, block_size=16,
             weight_prepacked=1)
    c.refuse("negative", "K and N are -32 and 5", op, [a, b, s], K=-32, N=5, block_size=16)
    op, table, index = "GatherBlockQuantized", c.ints(0, 256, 6, 20), np.array([1], I64)
    c.refuse("axis", "want gather_axis 0 and the last axis", op, [table, index, c.floats(6, 3)],
             quantize_axis=0, block_size=16)
    c.refuse("scales", "dim 1 of scales is 2, want 3", op, [table, index, c.floats(6, 2)],
             block_size=16)
    c.refuse("far", "is not an axis of data of rank 2", op, [table, index, c.floats(6, 3)],
             gather_axis=7, block_size=16)
    c.refuse("shapes", "MatMul", "FusedMatMul", [c.floats(2, 3), c.floats(4, 5)])
    c.refuse("attribute", "it has no attribute .beta.", "FusedMatMul", [a, a], beta=1.0)
    c.refuse("type", "attribute .alpha. is not of its type", "FusedMatMul", [a, a], alpha=1)
    c.refuse("inputs", "it has 2 inputs and 1 outputs", "Gelu", [x, x])
    c.refuse("gamma", "LayerNormalization", "SkipLayerNormalization", [a, a, c.floats(7)])
    c.refuse("means", "with output mean is not supported", "SkipLayerNormalization",
             [a, a, c.floats(32)], 2)
    c.refuse("activation", "activation .Nope. of FusedConv is not known", "FusedConv", [x, w],
             activation="Nope")
    c.refuse("pads", "pads that are not a constant list", "ConvTransposeWithDynamicPads",
             [x, w, np.array([0, 0, 0, 0], I64)])
    c.refuse("inputs", "QLinearConcat has 4 inputs", "QLinearConcat",
             [np.array(1, F32), np.array(1, U8), table, np.array(1, F32)], axis=0)
    c.refuse("mode", "mode .*unknown", "Pad", [a, np.array([0, 0, 0, 1], I64)],
             mode='edge"](data)')
    x, w, b = c.floats(2, 3, 6), c.floats(6, 24), c.floats(24)
    c.refuse("heads", "attribute .num_heads. is missing", "Attention", [x, w, b])
    c.refuse("no_divisor", "q_num_heads is 3", "Attention", [x, w, b], num_heads=3)
    c.refuse("zero", "q_num_heads is 0", "Attention", [x, w, b], num_heads=0)
    c.refuse("mask", "mask_index of rank 4", "Attention", [x, w, b, c.ints(0, 2, 2, 1, 3, 3,
                                                                           dtype=I32)], num_heads=2)
    c.refuse("rotary", "Attention with do_rotary 1 is not supported", "Attention", [x, w, b],
             num_heads=2, do_rotary=1)
    c.refuse("value", "MultiHeadAttention with a query of rank 3 and a key of rank 3",
             "MultiHeadAttention", [x, x], num_heads=2)
    c.refuse("groups", "num_heads 3 is no multiple of kv_num_heads 2", "GroupQueryAttention",
             [x, x, x, None, None, np.array([2, 2], I32), np.array(3, I32)], num_heads=3,
             kv_num_heads=2)
    c.refuse("rank", "RotaryEmbedding of rank 2", "RotaryEmbedding",
             [a, np.array([0], I64), s, s])
    c.refuse("activation", "with activation .Relu. is not supported", "DynamicQuantizeLSTM",
             [x, c.ints(0, 9, 1, 6, 12), c.ints(0, 9, 1, 3, 12), None, None, None, None, None,
              c.floats(1), c.ints(0, 9, 1), c.floats(1), c.ints(0, 9, 1)], hidden_size=3,
             activations=["Relu", "Tanh", "Tanh"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--out", default=os.path.join(HERE, "microsoft.tar.gz"))
    options = parser.parse_args()
    cases = Cases(options.only)
    add_few_bits(cases)
    for add in (add_elementwise, add_norms, add_products, add_quantized, add_attentions, add_lstm,
                add_moves):
        add(cases)
    add_refused(cases)
    cases.archive.write(options.out)
    cases.refused.write(options.out.replace(".tar.gz", "_refused.tar.gz"))


if __name__ == "__main__":
    main()
