#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times training steps of a small transformer encoder: tfrun with the ONNX file that PyTorch exports
of it, PyTorch eager and compiled, and Keras, in turns, from the same weights on the same batches.

    bench/encoder_peers.py --nn LIBRARY --folder DIR [--peers torch,keras] [--rounds 7] [--steps 20]
                           [--batch 64] [--threads N]

Rows of a digit are 28 tokens. Two blocks of width 64: attention of 4 heads, Gelu in a layer of 256,
norms before each; the mean over the rows goes to 10 classes. DIR gets the digits in MNIST's format,
unless they are there, and the ONNX file; LIBRARY is libtfrun-nn.so. Each waits in a process of its
own, and a round asks one after the other for some steps, so that what else the machine does meets
all of them. It needs numpy, onnx, torch and tensorflow of bench/requirements.txt.
"""

import argparse
import ctypes
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

WIDTH, HEADS, WIDE, BLOCKS = 64, 4, 256, 2


class Data:
    """Batches in the order that everybody has."""

    def __init__(self, folder, batch):
        def read(name, dims):
            raw = (folder / name).read_bytes()
            return np.frombuffer(raw, np.uint8, offset=4 + 4 * dims)
        self.images = read("train-images-idx3-ubyte", 3).reshape(-1, 1, 28, 28)
        self.labels = read("train-labels-idx1-ubyte", 1).astype(np.int64)
        self.random, self.batch = np.random.default_rng(1), batch
        self.order = np.zeros(0, np.int64)

    def next(self):
        if len(self.order) < self.batch:
            self.order = self.random.permutation(len(self.labels))
        chosen, self.order = self.order[:self.batch], self.order[self.batch:]
        return self.images[chosen].astype(np.float32) / 255, self.labels[chosen]


# ---- PyTorch -------------------------------------------------------------------------------------

def torch_model():
    import torch
    from torch import nn
    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, WIDE), nn.Linear(WIDE, WIDTH)
            for norm in self.norm, self.norm2:  # the exporter makes equal weights one
                nn.init.normal_(norm.weight, 1, 0.02)
                nn.init.normal_(norm.bias, 0, 0.02)

        def forward(self, x):
            depth = WIDTH // HEADS
            q, k, v = (self.qkv(self.norm(x)).reshape(-1, 28, 3, HEADS, depth)
                       .permute(2, 0, 3, 1, 4).unbind(0))
            weights = torch.softmax(q @ k.transpose(-1, -2) * depth**-0.5, -1)
            x = x + self.out((weights @ v).transpose(1, 2).reshape(-1, 28, WIDTH))
            return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows = nn.Linear(28, WIDTH)
            self.places = nn.Parameter(torch.randn(1, 28, WIDTH) * 0.02)
            self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
            self.classes = nn.Linear(WIDTH, 10)

        def forward(self, x):
            x = self.rows(x.reshape(-1, 28, 28)) + self.places
            for block in self.blocks:
                x = block(x)
            return self.classes(x.mean(1))

    return Encoder()


class Torch:
    """Fused Adam with epsilon as Keras has it."""

    def __init__(self, data, threads, compiled):
        import torch
        torch.set_num_threads(threads)
        self.torch, self.data = torch, data
        self.what = torch.__version__ + (", compiled" if compiled else ", eager") + ", fused Adam"
        model = torch_model()
        self.adam = torch.optim.Adam(model.parameters(), 1e-3, eps=1e-7, fused=True)

        def forward(x, y):
            return torch.nn.functional.cross_entropy(model(x), y)
        self.forward = torch.compile(forward, dynamic=False) if compiled else forward

    def step(self):
        x, y = map(self.torch.from_numpy, self.data.next())
        self.adam.zero_grad(set_to_none=True)
        loss = self.forward(x, y)
        loss.backward()
        self.adam.step()
        return loss.item()


# ---- Keras ---------------------------------------------------------------------------------------

class Keras:
    """The step of train_on_batch as a tf.function, with jit_compile or without."""

    def __init__(self, data, threads, jit, folder):
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        os.environ["KERAS_BACKEND"] = "tensorflow"
        import tensorflow as tf
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.set_visible_devices([], "GPU")
        import keras
        from keras import layers, ops
        self.tf, self.data = tf, data
        self.what = f"{keras.__version__} on TensorFlow {tf.__version__}"
        self.what += ", jit_compile" if jit else ", graph"

        class Places(layers.Layer):
            def build(self, shape):
                self.places = self.add_weight(shape=(1, *shape[1:]))

            def call(self, x):
                return x + self.places

        def attention(x):
            depth = WIDTH // HEADS
            x = layers.Dense(3 * WIDTH)(layers.LayerNormalization(epsilon=1e-5)(x))
            x = ops.transpose(ops.reshape(x, (-1, 28, 3, HEADS, depth)), (2, 0, 3, 1, 4))
            scores = ops.matmul(x[0], ops.transpose(x[1], (0, 1, 3, 2))) * depth**-0.5
            x = ops.matmul(ops.softmax(scores, axis=-1), x[2])
            x = ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (-1, 28, WIDTH))
            return layers.Dense(WIDTH)(x)

        def feed(x):
            x = layers.Dense(WIDE)(layers.LayerNormalization(epsilon=1e-5)(x))
            return layers.Dense(WIDTH)(ops.gelu(x, approximate=False))

        given = keras.Input((1, 28, 28))
        x = Places()(layers.Dense(WIDTH)(layers.Reshape((28, 28))(given)))
        for _ in range(BLOCKS):
            x = x + attention(x)
            x = x + feed(x)
        model = keras.Model(given, layers.Dense(10)(ops.mean(x, axis=1)))
        model.set_weights(self.weights(folder))
        loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        adam = keras.optimizers.Adam()
        adam.build(model.trainable_variables)

        def one_step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_of(y, model(x, training=True))
            adam.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
            return loss
        self.run = tf.function(one_step, jit_compile=jit, autograph=False)

    @staticmethod
    def weights(folder):
        """PyTorch's in the order of Keras' layers, matrices turned."""
        saved = np.load(folder / "weights.npz")
        names = ["rows.weight", "rows.bias", "places"]
        for i in range(BLOCKS):
            names += [f"blocks.{i}.{layer}.{part}"
                      for layer in ("norm", "qkv", "out", "norm2", "up", "down")
                      for part in ("weight", "bias")]
        names += ["classes.weight", "classes.bias"]
        return [saved[n].T if saved[n].ndim == 2 else saved[n] for n in names]

    def step(self):
        x, y = self.data.next()
        return float(self.run(self.tf.constant(x), self.tf.constant(y)).numpy())


# ---- tfrun ---------------------------------------------------------------------------------------

class Shape(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * 16)]


class Metrics(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("has_accuracy", ctypes.c_uint32),
                ("samples", ctypes.c_int64), ("loss", ctypes.c_double),
                ("accuracy", ctypes.c_double)]


class Tfrun:
    F32, I64 = 1, 7  # of ONNX

    def __init__(self, data, nn, folder):
        self.library, self.data, self.what = ctypes.CDLL(str(nn)), data, "one step, Adam"
        self.library.tfr_tensor_data.restype = ctypes.c_void_p
        runtime, graph, self.trainer = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("tfr_runtime_create", None, ctypes.byref(runtime))
        self.call("tfr_onnx_load", str(folder / "encoder.onnx").encode(), ctypes.byref(graph))
        self.call("tfr_trainer_create", runtime, graph, None, ctypes.byref(self.trainer))
        self.x = self.tensor(self.F32, (data.batch, 1, 28, 28), ctypes.c_float)
        self.y = self.tensor(self.I64, (data.batch,), ctypes.c_int64)

    def call(self, name, *args):
        if getattr(self.library, name)(*args, None):
            raise SystemExit(f"{name} fails")

    def tensor(self, dtype, dims, element):
        out, shape = ctypes.c_void_p(), Shape(len(dims), dims)
        self.call("tfr_tensor_create", dtype, ctypes.byref(shape), ctypes.byref(out))
        at = ctypes.cast(self.library.tfr_tensor_data(out), ctypes.POINTER(element))
        return out, np.ctypeslib.as_array(at, dims)

    def step(self):
        self.x[1][...], self.y[1][...] = self.data.next()
        self.call("tfr_trainer_step", self.trainer, self.x[0], self.y[0])
        metrics = Metrics(ctypes.sizeof(Metrics))
        self.call("tfr_trainer_read_metrics", self.trainer, ctypes.byref(metrics))
        return metrics.loss


# ---- the processes -------------------------------------------------------------------------------

def make(who, args):
    data = Data(args.folder, args.batch)
    if who == "tfrun":
        return Tfrun(data, args.nn, args.folder)
    if who.startswith("torch"):
        return Torch(data, args.threads, who == "torch-compiled")
    return Keras(data, args.threads, who == "keras-jit", args.folder)


def child(who, args):
    """Answers each line, a number of steps, by their nanoseconds and the mean of their losses."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what frameworks print is no answer
    peer = make(who, args)
    print(peer.what, file=out, flush=True)
    for line in sys.stdin:
        began = time.perf_counter_ns()
        losses = [peer.step() for _ in range(int(line))]
        print(time.perf_counter_ns() - began, statistics.mean(losses), file=out, flush=True)


def start(who):
    process = subprocess.Popen([sys.executable, *sys.argv, "--child", who], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    return process, process.stdout.readline().strip()


def ask(process, steps):
    print(steps, file=process.stdin, flush=True)
    ns, loss = process.stdout.readline().split()
    return float(ns) / steps / 1e6, float(loss)


def make_files(args):
    import torch
    import loss_curves
    args.train, args.test = 6400, 64
    loss_curves.make_files(args)
    model = torch_model()
    np.savez(args.folder / "weights.npz", **{n: p.detach().numpy()
                                             for n, p in model.named_parameters()})
    torch.onnx.export(model.eval(), torch.zeros(2, 1, 28, 28), args.folder / "encoder.onnx",
                      dynamo=False, opset_version=17, input_names=["x"], output_names=["y"],
                      dynamic_axes={"x": {0: "n"}, "y": {0: "n"}}, do_constant_folding=False)


def compare(args):
    make_files(args)
    who = ["tfrun", *args.peers.split(",")]
    peers = {w: start(w) for w in who}
    who = [w for w in who if peers[w][1]]
    times, losses = {w: [] for w in who}, {}
    for w in who:
        losses[w] = ask(peers[w][0], args.steps)[1]  # these steps do not count: programs are made
    for _ in range(args.rounds):
        for w in who:
            ms, losses[w + " later"] = ask(peers[w][0], args.steps)
            times[w].append(ms)
    print("| who | with | best | median | ratio of medians, of rounds | loss, first and last |")
    print("|---|---|---|---|---|---|")
    for w in who:
        ratios = sorted(a / b for a, b in zip(times[w], times["tfrun"], strict=True))
        print(f"| {w} | {peers[w][1]} | {min(times[w]):.1f} ms | "
              f"{statistics.median(times[w]):.1f} ms | {statistics.median(ratios):.2f}, "
              f"{ratios[0]:.2f} to {ratios[-1]:.2f} | {losses[w]:.4f}, {losses[w + ' later']:.4f} |")
    for process, _ in peers.values():
        process.stdin.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--nn", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    parser.add_argument("--peers", default="torch,torch-compiled,keras,keras-jit")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child, args)
    else:
        compare(args)


if __name__ == "__main__":
    main()
