#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the event files that `tfrun train --log-dir DIR` wrote with TensorBoard's own reader, and
compares each point with DIR/curves.csv.

    bench/check_events.py DIR

It needs the package tensorboard of bench/requirements.txt.
"""

import csv
import pathlib
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def points_of_csv(folder):
    """{(curve, step): value}; an epoch's end may have a row for each part."""
    points = {}
    with open(folder / "curves.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            step = int(row.pop("step"))
            points.update({(name, step): float(x) for name, x in row.items() if x})
    return points


def points_of_events(folder):
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0}).Reload()
    points = {(tag, e.step): e.value for tag in events.Tags()["scalars"]
              for e in events.Scalars(tag)}
    points.update({(tag, e.step): float(e.tensor_proto.float_val[0])
                   for tag in events.Tags()["tensors"] for e in events.Tensors(tag)})
    return points


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    wanted, got = points_of_csv(folder), points_of_events(folder)
    wrong = [key for key in wanted.keys() | got.keys()
             if key not in wanted or key not in got
             or abs(wanted[key] - got[key]) > 1e-5 * max(1, abs(wanted[key]))]
    for name, step in sorted(wrong):
        print(f"{name} at step {step}: curves.csv has {wanted.get((name, step))}, the events "
              f"{got.get((name, step))}")
    print(f"{len(wanted)} points in curves.csv, {len(got)} in events, {len(wrong)} differ")
    sys.exit(bool(wrong or not wanted))


if __name__ == "__main__":
    main()
