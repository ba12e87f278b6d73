# SPDX-License-Identifier: Apache-2.0
"""The training of `tfrun bench train` by Python's frameworks: a child that waits at a pipe.

    python3 -c "$(cat train_peers.py)" WHO FILE N_TRAIN N_TEST BATCH THREADS

FILE has the images as bytes, n_train and n_test of them, their labels, the initial weights as
float32 in ONNX's layouts, and the order of the first epoch as int64. It prints "ready VERSION" or
"no REASON"; then a line "N" means N steps after one that does not count and is answered by their
nanoseconds, "loss" by the mean loss of the samples since the last question, "accuracy" by that of
the test samples. Which settings each framework has is written beside it.
"""

import os
import sys
import time

import numpy as np

SHAPES = [(32, 1, 3, 3), (32,), (64, 32, 3, 3), (64,), (64, 64, 3, 3), (64,),
          (64, 576), (64,), (10, 64), (10,)]


class Data:
    """The samples, and batches of them in the order that everybody has."""

    def __init__(self, path, n_train, n_test, batch):
        with open(path, "rb") as file:
            images = np.fromfile(file, np.uint8, (n_train + n_test) * 784)
            labels = np.fromfile(file, np.uint8, n_train + n_test)
            self.weights = [np.fromfile(file, np.float32, int(np.prod(s))).reshape(s)
                            for s in SHAPES]
            self.order = np.fromfile(file, np.int64, n_train)
        images = images.reshape(-1, 28, 28)
        self.images, self.labels = images[:n_train], labels[:n_train]
        self.test_images, self.test_labels = images[n_train:], labels[n_train:]
        self.batch, self.at = batch, 0
        self.random = np.random.default_rng(1)

    def next(self):
        """Indices of the next batch; the last one of an epoch may be smaller."""
        if self.at == len(self.order):
            self.order, self.at = self.random.permutation(len(self.order)), 0
        chosen = self.order[self.at:self.at + self.batch]
        self.at += len(chosen)
        return chosen


class Torch:
    """Eager or compiled, channels_last, fused Adam with epsilon as Keras has it."""

    def __init__(self, data, threads, compiled):
        import torch
        from torch import nn
        torch.set_num_threads(threads)
        self.torch, self.data = torch, data
        self.version = torch.__version__ + (", compiled" if compiled else ", eager")
        self.version += ", channels_last, fused Adam"
        model = nn.Sequential(
            nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(),
            nn.MaxPool2d(2), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(576, 64),
            nn.ReLU(), nn.Linear(64, 10))
        with torch.no_grad():
            for p, w in zip(model.parameters(), data.weights):
                p.copy_(torch.from_numpy(w))
        model = model.to(memory_format=torch.channels_last)
        self.model = model
        # Keras adds epsilon before the correction of sqrt(v), PyTorch after it: of no matter here.
        self.adam = torch.optim.Adam(model.parameters(), 1e-3, eps=1e-7, fused=True)
        self.images = torch.from_numpy(data.images).unsqueeze(1)
        self.labels = torch.from_numpy(data.labels).long()
        loss_of = nn.functional.cross_entropy


        def forward(x, y):
            return loss_of(model(x), y)

        self.forward = torch.compile(forward, dynamic=False) if compiled else forward
        self.sum, self.count = torch.zeros(()), 0

    def step(self):
        torch = self.torch
        chosen = torch.from_numpy(self.data.next())
        x = self.images[chosen].to(torch.float32).div_(255)
        x = x.contiguous(memory_format=torch.channels_last)
        self.adam.zero_grad(set_to_none=True)
        loss = self.forward(x, self.labels[chosen])
        loss.backward()
        self.adam.step()
        self.sum += loss.detach() * len(chosen)
        self.count += len(chosen)

    def loss(self):
        mean = self.sum.item() / self.count
        self.sum.zero_()
        self.count = 0
        return mean

    def accuracy(self):
        torch = self.torch
        right = 0
        with torch.no_grad():
            for at in range(0, len(self.data.test_labels), 250):
                x = torch.from_numpy(self.data.test_images[at:at + 250]).unsqueeze(1).float() / 255
                best = self.model(x).argmax(1).numpy()
                right += int((best == self.data.test_labels[at:at + 250]).sum())
        return right / len(self.data.test_labels)

    def wait(self):
        pass


def keras_weights(weights):
    """From ONNX's layouts to Keras': convolutions [kh, kw, c, f], dense [inputs, units], and the
    first dense layer's inputs in the order of channels_last."""
    out = [w.transpose(2, 3, 1, 0) if w.ndim == 4 else w for w in weights]
    out[6] = weights[6].reshape(64, 64, 3, 3).transpose(2, 3, 1, 0).reshape(576, 64)
    out[8] = weights[8].T
    return [np.ascontiguousarray(w) for w in out]


class Keras:
    """train_on_batch's own step as a tf.function, which fit calls, with jit_compile or without."""

    def __init__(self, data, threads, jit):
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        os.environ["KERAS_BACKEND"] = "tensorflow"
        import tensorflow as tf
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.set_visible_devices([], "GPU")
        import keras
        from keras import layers
        self.tf, self.data = tf, data
        self.version = f"{keras.__version__} on TensorFlow {tf.__version__}"
        self.version += ", jit_compile" if jit else ", graph"
        model = keras.Sequential([
            layers.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(), layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(), layers.Conv2D(64, 3, activation="relu"), layers.Flatten(),
            layers.Dense(64, activation="relu"), layers.Dense(10)])
        model.set_weights(keras_weights(data.weights))
        self.model = model
        loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        adam = keras.optimizers.Adam()
        adam.build(model.trainable_variables)
        images = tf.constant(data.images[..., None])
        labels = tf.constant(data.labels.astype(np.int64))

        def one_step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_of(y, model(x, training=True))
            adam.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
            return loss

        inner = tf.function(one_step, jit_compile=jit, autograph=False)
        self.sum, self.count = tf.Variable(0.0), 0

        @tf.function(autograph=False)
        def step(chosen):
            x = tf.cast(tf.gather(images, chosen), tf.float32) / 255
            loss = inner(x, tf.gather(labels, chosen))
            self.sum.assign_add(loss * tf.cast(tf.size(chosen), tf.float32))

        self.run = step

    def step(self):
        chosen = self.data.next()
        self.run(self.tf.constant(chosen))
        self.count += len(chosen)

    def loss(self):
        mean = float(self.sum.numpy()) / self.count
        self.sum.assign(0.0)
        self.count = 0
        return mean

    def accuracy(self):
        x = self.data.test_images[..., None].astype(np.float32) / 255
        best = self.model.predict(x, batch_size=250, verbose=0).argmax(1)
        return float((best == self.data.test_labels).mean())

    def wait(self):
        self.sum.numpy()


class Jax:
    """One jitted step, whose state is donated; NHWC."""

    def __init__(self, data, threads):
        os.environ["XLA_FLAGS"] = ("--xla_cpu_multi_thread_eigen=true "
                                   f"intra_op_parallelism_threads={threads}")
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        import jax.numpy as jnp
        from jax import lax
        self.jax, self.jnp, self.data = jax, jnp, data
        self.version = jax.__version__ + ", one jitted step"
        order = ("NHWC", "HWIO", "NHWC")

        def scores(p, x):
            for i in range(3):
                x = lax.conv_general_dilated(x, p[2 * i], (1, 1), "VALID",
                                             dimension_numbers=order)
                x = jax.nn.relu(x + p[2 * i + 1])
                if i < 2:
                    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1),
                                          "VALID")
            x = x.reshape(x.shape[0], -1)
            return jax.nn.relu(x @ p[6] + p[7]) @ p[8] + p[9]

        def loss_of(p, x, y):
            logs = jax.nn.log_softmax(scores(p, x))
            return -jnp.take_along_axis(logs, y[:, None], 1).mean()

        def step(state, images, labels, chosen):
            p, m, v, t, total = state
            x = images[chosen].astype(jnp.float32)[..., None] / 255
            loss, g = jax.value_and_grad(loss_of)(p, x, labels[chosen])
            t = t + 1
            rate = 1e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
            m = [a + (b - a) * 0.1 for a, b in zip(m, g)]
            v = [a + (b * b - a) * 0.001 for a, b in zip(v, g)]
            p = [a - rate * b / (jnp.sqrt(c) + 1e-7) for a, b, c in zip(p, m, v)]
            return p, m, v, t, total + loss * chosen.shape[0]

        self.run = jax.jit(step, donate_argnums=0)
        self.scores = jax.jit(scores)
        p = [jnp.asarray(w) for w in keras_weights(data.weights)]
        zeros = [jnp.zeros_like(w) for w in p]
        self.state = (p, zeros, [z + 0 for z in zeros], jnp.float32(0), jnp.float32(0))
        self.images, self.labels = jnp.asarray(data.images), jnp.asarray(data.labels, jnp.int32)
        self.count = 0

    def step(self):
        chosen = self.data.next()
        self.state = self.run(self.state, self.images, self.labels, chosen.astype(np.int32))
        self.count += len(chosen)

    def loss(self):
        mean = float(self.state[4]) / self.count
        self.state = (*self.state[:4], self.jnp.float32(0))
        self.count = 0
        return mean

    def accuracy(self):
        x = self.data.test_images[..., None].astype(np.float32) / 255
        right = 0
        for at in range(0, len(x), 250):
            best = np.asarray(self.scores(self.state[0], x[at:at + 250])).argmax(1)
            right += int((best == self.data.test_labels[at:at + 250]).sum())
        return right / len(x)

    def wait(self):
        self.state[4].block_until_ready()


def make(who, data, threads):
    if who in ("torch", "torch-compiled"):
        return Torch(data, threads, who == "torch-compiled")
    if who in ("keras", "keras-jit"):
        return Keras(data, threads, who == "keras-jit")
    return Jax(data, threads)


def answer(peer, line):
    if line == "loss":
        return peer.loss()
    if line == "accuracy":
        return peer.accuracy()
    peer.step()
    peer.wait()
    began = time.perf_counter_ns()
    for _ in range(int(line)):
        peer.step()
    peer.wait()
    return time.perf_counter_ns() - began


def main():
    who, path, n_train, n_test, batch, threads = sys.argv[1:3] + [int(a) for a in sys.argv[3:]]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what frameworks print is no answer
    try:
        peer = make(who, Data(path, n_train, n_test, batch), threads)
    except Exception as e:  # pylint: disable=broad-exception-caught
        print("no", str(e).replace("\n", " ")[:300], file=out, flush=True)
        return
    print("ready", peer.version, file=out, flush=True)
    for line in sys.stdin:
        print(answer(peer, line.strip()), file=out, flush=True)


main()
