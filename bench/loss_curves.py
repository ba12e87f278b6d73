#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the CNN for MNIST with `tfrun train` and with PyTorch, from the same initial weights on the
same files, and prints loss and test accuracy of each epoch beside one another.

    bench/loss_curves.py TFRUN --nn LIBRARY --folder DIR [--seeds 1,2,3] [--epochs 5]
                         [--train N] [--test N]

DIR gets the four files of the synthetic digits in MNIST's format, unless it has such files, of
MNIST for example; LIBRARY is libtfrun-nn.so, which draws them. Each seed has other initial weights
and another order of the samples, which the two shuffle for themselves: they agree within noise
and not bit by bit. It needs numpy, onnx and torch of bench/requirements.txt.
"""

import argparse
import ctypes
import json
import pathlib
import statistics
import struct
import subprocess

import numpy as np
import onnx
import torch
from onnx import numpy_helper

FILES = {"train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
         "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")}


# ---- the files -----------------------------------------------------------------------------------

def write_idx(path, array):
    head = struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(head + array.astype(np.uint8).tobytes())


def read_idx(path):
    raw = path.read_bytes()
    shape = struct.unpack(f">{raw[3]}I", raw[4:4 + 4 * raw[3]])
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def draw(library, data, images, labels):
    """Fills the arrays with all samples of a data set."""
    library.tfr_tensor_data.restype = ctypes.c_void_p
    for at in range(0, len(labels), 1000):
        n = min(1000, len(labels) - at)
        order = (ctypes.c_int64 * n)(*range(at, at + n))
        x, y = ctypes.c_void_p(), ctypes.c_void_p()
        if library.tfr_dataset_gather(data, order, n, ctypes.byref(x), ctypes.byref(y), None):
            raise SystemExit("the digits cannot be drawn")
        pixels = ctypes.cast(library.tfr_tensor_data(x), ctypes.POINTER(ctypes.c_float))
        classes = ctypes.cast(library.tfr_tensor_data(y), ctypes.POINTER(ctypes.c_int64))
        floats = np.ctypeslib.as_array(pixels, (n, 28, 28))
        images[at:at + n] = np.rint(floats * 255)
        labels[at:at + n] = np.ctypeslib.as_array(classes, (n,))
        library.tfr_tensor_release(x)
        library.tfr_tensor_release(y)


def make_files(args):
    if (args.folder / FILES["train"][0]).exists():
        return
    args.folder.mkdir(parents=True, exist_ok=True)
    library = ctypes.CDLL(str(args.nn))
    parts = ctypes.c_void_p(), ctypes.c_void_p()
    source = f"synthetic?seed=1&train={args.train}&test={args.test}".encode()
    if library.tfr_dataset_open(source, *map(ctypes.byref, parts), None):
        raise SystemExit("the synthetic digits cannot be opened")
    for part, n, names in zip(parts, (args.train, args.test), FILES.values()):
        images, labels = np.zeros((n, 28, 28), np.uint8), np.zeros(n, np.uint8)
        draw(library, part, images, labels)
        library.tfr_dataset_release(part)
        write_idx(args.folder / names[1], labels)
        write_idx(args.folder / names[0], images)


# ---- the two -------------------------------------------------------------------------------------

def tfrun(args, seed, *words):
    """The JSON lines of `tfrun train`."""
    run = subprocess.run([args.tfrun, "train", "mnist-cnn", "--data", f"idx:{args.folder}",
                          "--seed", str(seed), "--json", *words], capture_output=True, text=True,
                         check=False)
    if run.returncode:
        raise SystemExit(run.stderr)
    return [json.loads(line) for line in run.stdout.splitlines()]


def ours(args, seed):
    events = tfrun(args, seed, "--epochs", str(args.epochs))
    return [(e["train"]["loss"], e["validation"]["accuracy"])
            for e in events if e["event"] == "epoch"]


def initial_weights(args, seed):
    path = args.folder / f"initial-{seed}.onnx"
    tfrun(args, seed, "--epochs", "0", "--export", str(path))
    weights = [numpy_helper.to_array(i) for i in onnx.load(path).graph.initializer]
    path.unlink()
    return weights


def accuracy_of(model, images, labels):
    right = 0
    with torch.no_grad():
        for at in range(0, len(labels), 250):
            best = model(images[at:at + 250].float() / 255).argmax(1)
            right += int((best == labels[at:at + 250]).sum())
    return right / len(labels)


def pytorch(args, seed):
    nn = torch.nn
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(576, 64),
        nn.ReLU(), nn.Linear(64, 10))
    with torch.no_grad():
        for p, w in zip(model.parameters(), initial_weights(args, seed), strict=True):
            p.copy_(torch.from_numpy(w.copy()))
    adam = torch.optim.Adam(model.parameters(), 1e-3, eps=1e-7)
    train, test = ((torch.from_numpy(read_idx(args.folder / names[0]).copy()).unsqueeze(1),
                    torch.from_numpy(read_idx(args.folder / names[1]).astype(np.int64)))
                   for names in FILES.values())
    curve = []
    for _ in range(args.epochs):
        total, order = 0.0, torch.randperm(len(train[1]))
        for chosen in order.split(64):
            adam.zero_grad()
            loss = nn.functional.cross_entropy(model(train[0][chosen].float() / 255),
                                               train[1][chosen])
            loss.backward()
            adam.step()
            total += loss.item() * len(chosen)
        curve.append((total / len(order), accuracy_of(model, *test)))
    return curve


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("tfrun")
    parser.add_argument("--nn", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--train", type=int, default=60000)
    parser.add_argument("--test", type=int, default=10000)
    args = parser.parse_args()
    make_files(args)
    print("| seed | epoch | loss tfrun | loss PyTorch | accuracy tfrun | accuracy PyTorch |")
    print("|---|---|---|---|---|---|")
    last = []
    for seed in map(int, args.seeds.split(",")):
        curves = ours(args, seed), pytorch(args, seed)
        for epoch, (a, b) in enumerate(zip(*curves, strict=True)):
            print(f"| {seed} | {epoch + 1} | {a[0]:.4f} | {b[0]:.4f} | {a[1]:.2%} | {b[1]:.2%} |",
                  flush=True)
        last.append([curve[-1][1] for curve in curves])
    means = [statistics.mean(x) for x in zip(*last)]
    print(f"\nMean accuracy: tfrun {means[0]:.2%}, PyTorch {torch.__version__} {means[1]:.2%}")


if __name__ == "__main__":
    main()
