"""Models that onnxruntime's own tools wrote: its graph optimisations, its transformer optimiser, its quantisation.

They start from the twins of the zoo's models and from models of PyTorch, which must be there (make_zoo --twins,
make_exported pytorch).
"""

import json
import logging
import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnxruntime import quantization
from onnxruntime.transformers import fusion_options, optimizer

from zoo.exported import record
from zoo.tiny import writer

DRAWS = 400
QUIET = 4


def read_feeds(path):
    """The inputs of a model's record."""
    types = {"f32": np.float32, "i64": np.int64, "i32": np.int32}
    entries = json.loads(path.with_suffix(".json").read_text())["inputs"]
    return {entry["name"]: np.array(entry["data"], types[entry["dtype"]]).reshape(entry["shape"]) for entry in entries}


def optimised(path, level):
    """The model as onnxruntime saves it after its own optimisations of that level."""
    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.log_severity_level = QUIET
        options.optimized_model_filepath = str(pathlib.Path(folder) / "model.onnx")
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        return pathlib.Path(options.optimized_model_filepath).read_bytes()


def fused(path, kind, heads, width):
    """The model after the optimiser of transformers, which finds patterns of a kind of model."""
    made = optimizer.optimize_model(str(path), kind, num_heads=heads, hidden_size=width, opt_level=0,
                                    optimization_options=fusion_options.FusionOptions(kind))
    with tempfile.TemporaryDirectory() as folder:
        made.save_model_to_file(str(pathlib.Path(folder) / "model.onnx"))
        return (pathlib.Path(folder) / "model.onnx").read_bytes()


class Calibration(quantization.CalibrationDataReader):
    def __init__(self, feeds, random, samples=8):
        self.samples = [{name: value if value.dtype.kind == "i" else record.numbers(random, *value.shape)
                         for name, value in feeds.items()} for _ in range(samples)]

    def get_next(self):
        return self.samples.pop() if self.samples else None


def quantised(path, feeds, form, **options):
    """Weights keep to 7 bits (reduce_range), so that no 16-bit sum of products saturates."""
    options["reduce_range"] = True
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "model.onnx"
        if form is None:
            quantization.quantize_dynamic(path, made, **options)
        else:
            samples = Calibration(feeds, np.random.default_rng(3))
            quantization.quantize_static(path, made, samples, quant_format=form, **options)
        return onnx.load(made)


def steady_feeds(model, feeds, random):
    """Inputs for which no rounding hangs on the order of a sum: with and without optimisations the results are the same."""
    data = model.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = QUIET
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    for _ in range(DRAWS):
        if record.tie_distance(model, feeds) > 1e-3:
            plain = writer.run(data, feeds)
            other = session.run(list(plain), feeds)
            if all(np.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in zip(plain.values(), other)):
                return feeds
        feeds = {name: value if value.dtype.kind == "i" else record.numbers(random, *value.shape)
                 for name, value in feeds.items()}
    raise SystemExit("make_exported: every draw has a value near a rounding tie")


def main():
    models, folder = record.target()
    logging.disable(logging.WARNING)
    random = np.random.default_rng(9)
    levels = onnxruntime.GraphOptimizationLevel
    basic, extended = levels.ORT_ENABLE_BASIC, levels.ORT_ENABLE_EXTENDED
    twins, exported = models / "twins", models / "exported"
    for name, path, level in (("ort_basic_mobilenet_v2", twins / "mobilenet_v2", basic),
                              ("ort_extended_resnet50", twins / "resnet50", extended),
                              ("ort_extended_bert", twins / "bert_base", extended),
                              ("ort_extended_gpt2", twins / "gpt2", extended),
                              ("ort_extended_llama", twins / "llama_block", extended),
                              ("ort_extended_torch_script", exported / "torch_script_encoder_layer", extended),
                              ("ort_extended_torch_dynamo", exported / "torch_dynamo_attention", extended)):
        path = path.with_suffix(".onnx")
        record.save(folder, name, optimised(path, level), read_feeds(path))
    for name, path, kind, heads, width in (("ort_transformers_bert", "bert_base", "bert", 2, 16),
                                           ("ort_transformers_gpt2", "gpt2", "gpt2", 2, 16),
                                           ("ort_transformers_vit", "vit_b16", "vit", 2, 16)):
        path = twins / f"{path}.onnx"
        record.save(folder, name, fused(path, kind, heads, width), read_feeds(path))

    qdq, operators = quantization.QuantFormat.QDQ, quantization.QuantFormat.QOperator
    u8, i8 = quantization.QuantType.QUInt8, quantization.QuantType.QInt8
    cnn, mlp = exported / "torch_dynamo_cnn.onnx", exported / "torch_script_dynamic.onnx"
    encoder = exported / "torch_script_encoder_layer.onnx"
    for name, path, form, options in (
            ("ort_qdq_cnn", cnn, qdq, {"activation_type": u8, "weight_type": i8, "per_channel": True}),
            ("ort_qdq_cnn_signed", cnn, qdq, {"activation_type": i8, "weight_type": i8}),
            ("ort_qoperator_cnn", cnn, operators, {"activation_type": u8, "weight_type": i8}),
            ("ort_qoperator_cnn_u8", cnn, operators, {"activation_type": u8, "weight_type": u8}),
            ("ort_qdq_encoder", encoder, qdq, {"activation_type": u8, "weight_type": i8}),
            ("ort_dynamic_mlp", mlp, None, {"weight_type": i8, "per_channel": True}),
            ("ort_dynamic_encoder", encoder, None, {"weight_type": u8})):
        feeds = read_feeds(path)
        dims = json.loads(path.with_suffix(".json").read_text())["dims"]
        model = quantised(path, feeds, form, **options)
        record.save(folder, name, model, steady_feeds(model, feeds, random), dims)


if __name__ == "__main__":
    main()
