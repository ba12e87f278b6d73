# SPDX-License-Identifier: Apache-2.0
"""The tests that the onnx package has for backends, as folders that `tfrun verify` reads.

    python3 -m pip install -r bench/field/requirements.txt
    python3 bench/field/get_onnx_tests.py DIR
    tfrun verify DIR/node DIR/simple DIR/light DIR/pytorch-converted DIR/pytorch-operator

node are those of single ops, in hundreds of lines of numpy; light are nine networks of the first
opsets with their weights left out, whose outputs come with the package.
"""

import argparse
import importlib
import pathlib
import pkgutil
import shutil

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case import model as models
from onnx.backend.test.loader import load_model_tests

DATA = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"


def write_value(path, value, type_proto):
    """An array, a TensorProto, a list, or for an optional any of these or None."""
    if isinstance(value, onnx.TensorProto):
        proto = value
    elif type_proto.HasField("map_type"):
        proto = numpy_helper.from_dict(value)
    elif type_proto.HasField("sequence_type"):
        proto = numpy_helper.from_list(value)
    elif type_proto.HasField("optional_type"):
        proto = numpy_helper.from_optional(value)
    else:
        proto = numpy_helper.from_array(np.asarray(value))
    path.write_bytes(proto.SerializeToString())


def write_case(folder, case):
    """A test that was made in memory."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for i, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{i}"
        data.mkdir(exist_ok=True)
        for kind, values, infos in (
            ("input", inputs, case.model.graph.input),
            ("output", outputs, case.model.graph.output),
        ):
            for k, value in enumerate(values):
                write_value(data / f"{kind}_{k}.pb", value, infos[k].type)


def write_light(folder, path):
    """A model of data/light: its inputs are numbers from 0 to 1 in order."""
    model = onnx.load(path)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, folder / "model.onnx")
    known = {initializer.name for initializer in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in known]
    for k, info in enumerate(inputs):
        shape = [d.dim_value or 1 for d in info.type.tensor_type.shape.dim]
        value = (np.arange(np.prod(shape)).reshape(shape) / np.prod(shape)).astype(np.float32)
        write_value(data / f"input_{k}.pb", value, info.type)
    for k in range(len(model.graph.output)):
        shutil.copy(f"{path.with_suffix('')}_output_{k}.pb", data / f"output_{k}.pb")


def load_cases(package):
    """Node tests are registered when the modules that have them are imported."""
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    n = 0
    cases = load_model_tests(kind="node")
    load_cases(models)
    cases += [case for case in models.collect_testcases() if case.model]
    for case in cases:
        write_case(folder / case.kind / case.name, case)
        n += 1
    for path in sorted(DATA.glob("light/light_*.onnx")):
        write_light(folder / "light" / path.stem, path)
        n += 1
    for kind in ("pytorch-converted", "pytorch-operator"):
        shutil.copytree(DATA / kind, folder / kind, dirs_exist_ok=True)
        n += sum(1 for _ in (DATA / kind).glob("*/model.onnx"))
    print(f"{n} tests of onnx {onnx.__version__}")


if __name__ == "__main__":
    main()
