# SPDX-License-Identifier: Apache-2.0
"""An epoch of the guides' CNN by JAX, as tests/gpu/bench.sh measures tfrun's: all steps of an epoch
are one compiled scan, the samples are bytes on the device, gathered by their numbers. Prints WHAT
MEDIAN LEAST MOST in milliseconds, of epochs after the first two.
"""

import statistics
import sys
import time

import jax
import jax.numpy as jnp
from jax import lax

SAMPLES, BATCH, EPOCHS = 60000, 64, 8
SHAPES = [(3, 3, 1, 32), (32,), (3, 3, 32, 64), (64,), (3, 3, 64, 64), (64,),
          (576, 64), (64,), (64, 10), (10,)]


def scores(p, x):
    for i in range(3):
        x = lax.conv_general_dilated(x, p[2 * i], (1, 1), "VALID",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.relu(x + p[2 * i + 1])
        if i < 2:
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = jax.nn.relu(x.reshape(x.shape[0], -1) @ p[6] + p[7])
    return x @ p[8] + p[9]


def loss_of(p, x, labels):
    logs = jax.nn.log_softmax(scores(p, x))
    return -jnp.mean(jnp.take_along_axis(logs, labels[:, None], 1))


def step(state, chosen, images, labels):
    p, m, v, t = state
    x = images[chosen].astype(jnp.float32) / 255
    loss, g = jax.value_and_grad(loss_of)(p, x, labels[chosen])
    t = t + 1
    m = [.9 * a + .1 * b for a, b in zip(m, g)]
    v = [.999 * a + .001 * b * b for a, b in zip(v, g)]
    rate = 1e-3 * jnp.sqrt(1 - .999 ** t) / (1 - .9 ** t)
    p = [a - rate * b / (jnp.sqrt(c) + 1e-7) for a, b, c in zip(p, m, v)]
    return (p, m, v, t), loss


def epoch(state, key, images, labels):
    order = jax.random.permutation(key, SAMPLES)[:SAMPLES // BATCH * BATCH]
    return lax.scan(lambda s, c: step(s, c, images, labels), state,
                    order.reshape(-1, BATCH))


def measure(precision):
    jax.config.update("jax_default_matmul_precision", precision)
    key = jax.random.key(1)
    images = jax.random.randint(key, (SAMPLES, 28, 28, 1), 0, 256).astype(jnp.uint8)
    labels = jax.random.randint(key, (SAMPLES,), 0, 10)
    p = [jax.random.normal(jax.random.fold_in(key, i), s) * .05 for i, s in enumerate(SHAPES)]
    zeros = [jnp.zeros_like(a) for a in p]
    state = (p, zeros, [jnp.zeros_like(a) for a in p], jnp.float32(0))
    run = jax.jit(epoch, donate_argnums=0)
    times = []
    for i in range(EPOCHS):
        begin = time.perf_counter()
        state, losses = run(state, jax.random.fold_in(key, 100 + i), images, labels)
        float(losses[-1])
        times.append((time.perf_counter() - begin) * 1e3)
    times = times[2:]
    print("%-40s %10.1f %10.1f %10.1f" % ("CNN epoch, batch %d, %s, scan" % (BATCH, precision),
                                          statistics.median(times), min(times), max(times)),
          flush=True)


def main():
    print("JAX %s, %s" % (jax.__version__, jax.devices()[0].device_kind))
    print("%-40s %10s %10s %10s" % ("ms", "median", "least", "most"))
    for precision in ("float32", "tensorfloat32", "bfloat16"):
        measure(precision)


if __name__ == "__main__":
    sys.exit(main())
