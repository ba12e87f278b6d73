# SPDX-License-Identifier: Apache-2.0
"""What tests/gpu/bench.sh measures of tfrun, by PyTorch with CUDA graphs: products of square
matrices, a training step of the guides' CNN, and launches. Prints WHAT MEDIAN P10 P90 in
microseconds.

Random data, for zeros cost less power and run faster. A graph is replayed as often as fills 20 ms
between two events; what is told is of 30 such rounds.
"""

import statistics
import sys

import torch
from torch import nn

ROUNDS = 30


def capture(step, warm=3):
    """The graph of one step, which has run before on a side stream, as PyTorch wants it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(warm):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def time_of(run):
    """Microseconds of one run, over rounds of many."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def round_of(n):
        begin.record()
        for _ in range(n):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3 / n

    round_of(3)
    n = max(1, min(2000, int(20e3 / round_of(5))))
    times = sorted(round_of(n) for _ in range(ROUNDS))
    return statistics.median(times), times[ROUNDS // 10], times[-1 - ROUNDS // 10]


def tell(what, run):
    print("%-40s %10.2f %10.2f %10.2f" % (what, *time_of(run)), flush=True)


def products():
    modes = (("float32", torch.float32, False), ("tf32", torch.float32, True),
             ("bfloat16", torch.bfloat16, False))
    for name, dtype, tf32 in modes:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        for n in (500, 1024, 2048, 4096, 8192):
            a, b = (torch.randn(n, n, device="cuda", dtype=dtype) for _ in range(2))
            c = torch.empty(n, n, device="cuda", dtype=dtype)
            tell("matmul %d %s" % (n, name), capture(lambda: torch.matmul(a, b, out=c)))


def training(tf32, batch=64):
    """A step with its batch on the device already; copies of it are not part of it."""
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(576, 64),
        nn.ReLU(), nn.Linear(64, 10)).cuda().to(memory_format=torch.channels_last)
    adam = torch.optim.Adam(model.parameters(), 1e-3, eps=1e-7, fused=True, capturable=True)
    x = torch.rand(batch, 1, 28, 28, device="cuda").contiguous(memory_format=torch.channels_last)
    y = torch.randint(0, 10, (batch,), device="cuda")

    def step():
        adam.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(x), y).backward()
        adam.step()

    mode = "tf32" if tf32 else "float32"
    tell("CNN step, batch %d, %s, graph" % (batch, mode), capture(step, 11))
    tell("CNN step, batch %d, %s, eager" % (batch, mode), step)


def launches(n=100):
    x = torch.zeros(256, device="cuda")

    def step():
        for _ in range(n):
            x.add_(1)

    tell("%d small launches, graph" % n, capture(step))
    tell("%d small launches, eager" % n, step)


def main():
    print("PyTorch %s, CUDA %s, %s" % (torch.__version__, torch.version.cuda,
                                       torch.cuda.get_device_name()))
    print("%-40s %10s %10s %10s" % ("us", "median", "p10", "p90"))
    launches()
    for tf32 in (False, True):
        training(tf32)
    products()


if __name__ == "__main__":
    sys.exit(main())
