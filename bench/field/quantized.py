# SPDX-License-Identifier: Apache-2.0
"""Quantized forms of the models of get_models.py, as ONNX Runtime's tools write them.

    python3 bench/field/quantized.py FROM TO [NAME...]

makes TO/STEM_FORM of FROM/STEM. Scales are calibrated by the test data and by two permutations of
it, so accuracy means nothing. What is there already stays. A NAME is STEM_FORM, and FORM is one of:

    u8s8, s8s8     QuantizeLinear and DequantizeLinear, uint8 or int8 by int8, a scale a tensor
    u8s8pc         the same with a scale for each channel of the weights
    qop, qops8     QLinear ops, of uint8 alone and of int8 alone
    dyn            DynamicQuantizeLinear and weights of int8, for two models of uint8
    4bit           MatMulNBits of 4 bits in blocks of 32
    f16            float16, its inputs and outputs, too
"""

import argparse
import pathlib
import shutil
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper
from onnxruntime import quantization
from onnxruntime.quantization import QuantFormat, QuantType

FORMS = {
    "u8s8pc": "bert convnext_tiny densenet121 efficientnet_b0 gpt2_prompt mobilenet_v2 "
              "mobilenet_v3_large regnet_y_400mf resnet50 shufflenet_v2 swin_t vit_b_16",
    "u8s8": "squeezenet",
    "s8s8": "gpt2_prompt mobilenet_v2",
    "qop": "mobilenet_v2 resnet50 squeezenet",
    "qops8": "mobilenet_v2 squeezenet",
    "dyn": "bert convnext_tiny efficientnet_b0 gpt2_prompt vit_b_16 whisper_tiny_encoder",
    "4bit": "llama_prompt llama_token",
    "f16": "bert gpt2_prompt gpt2_token lstm mobilenet_v2 resnet50 squeezenet vit_b_16 "
           "whisper_tiny_encoder",
}
UNSIGNED = ["convnext_tiny", "efficientnet_b0"]  # weights, quantized dynamically


def data_of(folder):
    return sorted((folder / "test_data_set_0").glob("input_*.pb"),
                  key=lambda path: int(path.stem.split("_")[1]))


class Samples(quantization.CalibrationDataReader):
    def __init__(self, folder, model):
        graph = onnx.load(model, load_external_data=False).graph
        known = {tensor.name for tensor in graph.initializer}
        names = [i.name for i in graph.input if i.name not in known]
        data = [numpy_helper.to_array(onnx.load_tensor(str(path))) for path in data_of(folder)]
        first = dict(zip(names, data))
        rng = np.random.default_rng(2)
        self.rows = iter([first] + [{name: self.permuted(rng, value)
                                     for name, value in first.items()} for _ in range(2)])

    @staticmethod
    def permuted(rng, value):
        if value.dtype != np.float32:
            return value
        return rng.permutation(value.reshape(-1)).reshape(value.shape)

    def get_next(self):
        return next(self.rows, None)


def prepared(folder, part):
    """With its shapes and without what can be folded, if that can be done."""
    source, to = folder / "model.onnx", part / "prepared.onnx"
    try:
        quantization.shape_inference.quant_pre_process(str(source), str(to),
                                                       skip_symbolic_shape=True)
        return str(to)
    except Exception:  # weights in files of their own are not found by it
        return str(source)


def static(folder, part, to, form):
    model = prepared(folder, part)
    operator = form.startswith("qop")
    signed = form in ("s8s8", "qops8")
    quantization.quantize_static(
        model, to, Samples(folder, model),
        quant_format=QuantFormat.QOperator if operator else QuantFormat.QDQ,
        per_channel=form.endswith("pc"),
        activation_type=QuantType.QInt8 if signed else QuantType.QUInt8,
        weight_type=QuantType.QUInt8 if form == "qop" else QuantType.QInt8)


def dynamic(folder, part, to, form):
    quantization.quantize_dynamic(
        prepared(folder, part), to,
        weight_type=QuantType.QUInt8 if folder.name in UNSIGNED else QuantType.QInt8)


def four_bits(folder, part, to, form):
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantizer = MatMulNBitsQuantizer(onnx.load(str(folder / "model.onnx")), block_size=32,
                                     is_symmetric=True)
    quantizer.process()
    quantizer.model.save_model_to_file(to)


def half(folder, part, to, form):
    from onnxruntime.transformers.float16 import convert_float_to_float16

    model = onnx.load(str(folder / "model.onnx"))
    onnx.save(convert_float_to_float16(model, keep_io_types=False), to)


def write_data(folder, to, form):
    to.mkdir()
    for path in data_of(folder):
        tensor = onnx.load_tensor(str(path))
        value = numpy_helper.to_array(tensor)
        if form == "f16" and value.dtype == np.float32:
            tensor = numpy_helper.from_array(value.astype(np.float16), tensor.name)
        onnx.save_tensor(tensor, str(to / path.name))


def make(source, target, name):
    stem, form = name.rsplit("_", 1)
    write = {"dyn": dynamic, "4bit": four_bits, "f16": half}.get(form, static)
    with tempfile.TemporaryDirectory(dir=target, prefix=".") as memory:
        part = pathlib.Path(memory)
        made = part / "made"
        made.mkdir()
        write(source / stem, part, str(made / "model.onnx"), form)
        write_data(source / stem, made / "test_data_set_0", form)
        shutil.move(made, target / name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", metavar="FROM", type=pathlib.Path)
    parser.add_argument("target", metavar="TO", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="models to make, instead of all")
    options = parser.parse_args()
    options.target.mkdir(parents=True, exist_ok=True)
    table = [f"{stem}_{form}" for form, stems in FORMS.items() for stem in stems.split()]
    for name in options.names or table:
        if name.rsplit("_", 1)[-1] not in FORMS:
            sys.exit(f"quantized.py: {name} has none of the forms {', '.join(FORMS)}")
        if (options.target / name).exists():
            continue
        try:
            make(options.source, options.target, name)
            print(f"{name}: made")
        except Exception as e:  # one that cannot be made must not cost the others
            print(f"{name}: not made: {type(e).__name__}: {e}".split("\n")[0], file=sys.stderr)


if __name__ == "__main__":
    main()
