# SPDX-License-Identifier: Apache-2.0
"""Steps of training ResNet-18 on 32 x 32 images: tfrun beside PyTorch and Keras, in turns.

    python3 bench/train_resnet.py LIBTFRUN_NN [--batch 64] [--rounds 7] [--steps 2] [--threads N]
                                  [--model FILE.onnx] [--peers torch,torch-compiled,keras,keras-jit]

LIBTFRUN_NN is libtfrun-nn.so; without --model the network is exported from PyTorch, which takes
its `onnx`. Everyone has the same images and labels, and weights that PyTorch drew (Keras: its own);
cross-entropy of scores, Adam with 0.001. Each contender is a process that waits at a pipe while
another one runs. Printed: milliseconds of a step, the best and the median of all rounds, those of
all processors together, which tell more where others work on the machine, and all in parts of ours.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time

import numpy as np


def data(batch):
    """Images of ten classes with noise; any do, for time does not depend on them."""
    random = np.random.default_rng(1)
    labels = random.integers(0, 10, batch)
    means = random.normal(size=(10, 3, 32, 32))
    return ((means[labels] + random.normal(size=(batch, 3, 32, 32))).astype(np.float32),
            labels.astype(np.int64))


def torch_model():
    """As torchvision's, with a first convolution of 3 x 3 and no pool behind it."""
    from torch import nn

    class Block(nn.Module):
        def __init__(self, ins, outs, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(ins, outs, 3, stride, 1, bias=False)
            self.norm1 = nn.BatchNorm2d(outs)
            self.conv2 = nn.Conv2d(outs, outs, 3, 1, 1, bias=False)
            self.norm2 = nn.BatchNorm2d(outs)
            self.short = nn.Sequential()
            if stride != 1 or ins != outs:
                self.short = nn.Sequential(nn.Conv2d(ins, outs, 1, stride, bias=False),
                                           nn.BatchNorm2d(outs))
            self.relu = nn.ReLU()

        def forward(self, x):
            y = self.relu(self.norm1(self.conv1(x)))
            return self.relu(self.norm2(self.conv2(y)) + self.short(x))

    layers, ins = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()], 64
    for outs, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
                         (512, 1)):
        layers.append(Block(ins, outs, stride))
        ins = outs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def export(path):
    import torch
    torch.manual_seed(0)
    torch.onnx.export(torch_model().train(), torch.randn(2, 3, 32, 32), path, dynamo=False,
                      opset_version=17, input_names=["x"], output_names=["y"],
                      dynamic_axes={"x": {0: "n"}, "y": {0: "n"}},
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)


class Ours:
    """libtfrun-nn through ctypes, all options as they are."""

    class Error(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32), ("code", ctypes.c_int32),
                    ("native", ctypes.c_int64), ("text", ctypes.c_char * 512),
                    ("launch", ctypes.c_uint64)]

    class Shape(ctypes.Structure):
        _fields_ = [("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * 16)]

    def __init__(self, library, model, images, labels):
        self.nn = ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
        self.core = ctypes.CDLL(os.path.join(os.path.dirname(library), "libtfrun.so"))
        self.err = self.Error(size=ctypes.sizeof(self.Error))
        runtime, graph, self.trainer = (ctypes.c_void_p() for _ in range(3))
        self.call(self.core.tfr_runtime_create, None, ctypes.byref(runtime))
        self.call(self.nn.tfr_onnx_load, model.encode(), ctypes.byref(graph))
        self.call(self.nn.tfr_trainer_create, runtime, graph, None, ctypes.byref(self.trainer))
        self.x, self.y = self.tensor(1, images), self.tensor(7, labels)
        self.version = "strict f32"

    def call(self, function, *args):
        if function(*args, ctypes.byref(self.err)):
            raise RuntimeError(self.err.text.decode())

    def tensor(self, dtype, array):
        shape = self.Shape(array.ndim, (ctypes.c_int64 * 16)(*array.shape))
        tensor = ctypes.c_void_p()
        self.call(self.core.tfr_tensor_create, dtype, ctypes.byref(shape), ctypes.byref(tensor))
        self.core.tfr_tensor_data.restype = ctypes.c_void_p
        ctypes.memmove(self.core.tfr_tensor_data(tensor), array.ctypes.data, array.nbytes)
        return tensor

    def step(self):
        self.call(self.nn.tfr_trainer_step, self.trainer, self.x, self.y)


class Torch:
    def __init__(self, compiled, images, labels):
        import torch
        torch.manual_seed(0)
        model = torch_model().train().to(memory_format=torch.channels_last)
        self.x = torch.from_numpy(images).contiguous(memory_format=torch.channels_last)
        self.y = torch.from_numpy(labels)
        self.adam = torch.optim.Adam(model.parameters(), 1e-3, fused=True)

        def forward(x, y):
            return torch.nn.functional.cross_entropy(model(x), y)

        self.forward = torch.compile(forward, dynamic=False) if compiled else forward
        self.version = torch.__version__ + ", channels_last, fused Adam"

    def step(self):
        self.adam.zero_grad(set_to_none=True)
        self.forward(self.x, self.y).backward()
        self.adam.step()


class Keras:
    def __init__(self, jit, images, labels):
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        os.environ["KERAS_BACKEND"] = "tensorflow"
        import tensorflow as tf
        threads = int(os.environ["OMP_NUM_THREADS"])
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.set_visible_devices([], "GPU")
        import keras
        from keras import layers

        def conv(x, outs, kernel, stride):
            x = layers.Conv2D(outs, kernel, stride, padding="same", use_bias=False)(x)
            return layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)

        inputs = layers.Input((32, 32, 3))
        x, ins = layers.ReLU()(conv(inputs, 64, 3, 1)), 64
        for outs, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
                             (512, 1)):
            y = conv(layers.ReLU()(conv(x, outs, 3, stride)), outs, 3, 1)
            short = x if stride == 1 and ins == outs else conv(x, outs, 1, stride)
            x, ins = layers.ReLU()(layers.Add()([y, short])), outs
        model = keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))
        loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        adam = keras.optimizers.Adam()
        adam.build(model.trainable_variables)

        def one_step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_of(y, model(x, training=True))
            adam.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
            return loss

        self.run = tf.function(one_step, jit_compile=jit, autograph=False)
        self.x = tf.constant(images.transpose(0, 2, 3, 1))
        self.y = tf.constant(labels)
        self.version = f"{keras.__version__} on TensorFlow {tf.__version__}"

    def step(self):
        self.run(self.x, self.y).numpy()


def make(who, options):
    images, labels = data(options.batch)
    if who == "tfrun":
        return Ours(options.library, options.model, images, labels)
    if who.startswith("torch"):
        return Torch(who == "torch-compiled", images, labels)
    return Keras(who == "keras-jit", images, labels)


def child(who, options):
    """Answers each line "N" with the nanoseconds of N steps, and those of all processors."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what frameworks print is no answer
    try:
        peer = make(who, options)
        for _ in range(2):
            peer.step()
    except Exception as e:  # pylint: disable=broad-exception-caught
        print("no", str(e).replace("\n", " ")[:300], file=out, flush=True)
        return
    print("ready", peer.version, file=out, flush=True)
    for line in sys.stdin:
        began, worked = time.perf_counter_ns(), time.process_time_ns()
        for _ in range(int(line)):
            peer.step()
        print(time.perf_counter_ns() - began, time.process_time_ns() - worked, file=out,
              flush=True)


def ask(process, line):
    if line:
        print(line, file=process.stdin, flush=True)
    return process.stdout.readline().strip()


def start(who, options):
    threads = str(options.threads)
    env = {**os.environ, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads,
           "TF_NUM_INTRAOP_THREADS": threads, "TFRUN_THREADS": threads}
    process = subprocess.Popen(
        [sys.executable, __file__, options.library, "--child", who, "--model", options.model,
         "--batch", str(options.batch)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, env=env)
    answer = ask(process, None)
    print(f"{who}: {answer}", flush=True)
    return process if answer.startswith("ready") else None


def run(options):
    names = ["tfrun"] + [p for p in options.peers.split(",") if p]
    processes = {who: start(who, options) for who in names}
    times = {who: [] for who, process in processes.items() if process}
    for turn in range(options.rounds):
        order = list(times) if turn % 2 == 0 else list(times)[::-1]
        for who in order:
            answer = ask(processes[who], options.steps).split()
            times[who].append([int(ns) / options.steps / 1e6 for ns in answer])
    ours = np.array(times["tfrun"])
    for who, rounds in times.items():
        ms = np.array(rounds)
        print(f"{who:16} ms: best {ms[:, 0].min():7.0f}, median {np.median(ms[:, 0]):7.0f}, of all "
              f"processors {ms[:, 1].min():7.0f}, {np.median(ms[:, 1]):7.0f}; of ours "
              f"{ms[:, 0].min() / ours[:, 0].min():.2f}, "
              f"{np.median(ms[:, 0]) / np.median(ours[:, 0]):.2f}, "
              f"{ms[:, 1].min() / ours[:, 1].min():.2f}, "
              f"{np.median(ms[:, 1]) / np.median(ours[:, 1]):.2f}")
    for process in processes.values():
        if process:
            process.stdin.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("library")
    parser.add_argument("--model", default="")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--peers", default="torch,torch-compiled,keras,keras-jit")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options)
        return
    with tempfile.TemporaryDirectory() as folder:
        if not options.model:
            options.model = os.path.join(folder, "resnet18.onnx")
            export(options.model)
        run(options)


main()
