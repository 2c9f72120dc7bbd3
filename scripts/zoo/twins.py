"""Small twins of the zoo's models: the same builders with small extents and random weights, and what onnxruntime
answers.

A twin has every operator and every connection of its model, with fewer layers of each kind. The models that are
copied from the ONNX project are made small node by node (light_twins).
"""

import zlib

import numpy as np

from zoo import catalogue, light_twins
from zoo.tiny import writer

TWINS = {
    "mobilenet_v2": {"size": 32, "stem": 8, "stages": ((1, 4, 1, 1), (6, 6, 2, 2), (6, 8, 2, 2)), "head": 20,
                     "classes": 10},
    "resnet50": {"size": 40, "stem": 4, "stages": ((4, 8, 2, 1), (4, 12, 1, 2), (6, 16, 1, 2)), "classes": 10},
    "bert_base": {"layers": 1, "width": 16, "heads": 2, "inner": 32, "sequence": 6, "vocabulary": 40, "positions": 10},
    "gpt2": {"layers": 1, "width": 16, "heads": 2, "sequence": 6, "vocabulary": 40, "positions": 10, "mask_size": 8},
    "llama_block": {"width": 16, "heads": 4, "groups": 2, "inner": 24, "sequence": 5, "base": 100.0},
    "vgg16": {"size": 32, "stages": ((4, 2), (4, 2), (6, 3), (6, 3)), "hidden": 16, "classes": 10},
    "resnext50": {"size": 40, "stem": 4, "stages": ((8, 8, 2, 1), (8, 12, 1, 2), (16, 16, 1, 2)), "groups": 4,
                  "classes": 10},
    "efficientnet_b0": {"size": 32, "stem": 8, "head": 20, "classes": 10,
                        "stages": ((1, 4, 1, 1, 3), (6, 6, 2, 2, 3), (6, 8, 1, 2, 5), (6, 8, 1, 1, 5))},
    "unet": {"size": 24, "features": 2, "levels": 3},
    "diffusion_block": {"size": 6, "channels": 16, "filters": 8, "groups": 4, "heads": 2, "tokens": 5, "text": 12,
                        "embedding": 16},
    "vit_b16": {"size": 32, "patch": 8, "layers": 1, "width": 16, "heads": 2, "inner": 32, "classes": 10},
    "whisper_tiny": {"layers": 1, "width": 16, "heads": 2, "inner": 32, "frames": 24, "bands": 6, "tokens": 5,
                     "vocabulary": 40, "positions": 12},
    "dlrm": {"batch": 4, "dense": 6, "rows": (11, 7, 3, 9, 2), "width": 4, "bottom": (8, 6, 4), "top": (8, 4, 1)},
    "lstm_lm": {"vocabulary": 30, "width": 8, "steps": 5, "batch": 2},
    "llama_block_opset23": {"width": 16, "heads": 4, "groups": 2, "inner": 24, "sequence": 5, "positions": 8,
                            "base": 100.0},
    "moe_block": {"width": 8, "inner": 12, "experts": 4, "sequence": 6},
    "resnet50_int8": {"size": 24, "stem": 4, "stages": ((4, 8, 2, 1), (6, 12, 1, 2)), "classes": 5},
}
# Largest values of integer inputs, and inputs that are not drawn: no position may be masked for all.
RANGES = {"input_ids": 40, "token_type_ids": 2, "position_ids": 8, "decoder_input_ids": 40, "sparse": 2, "input": 30}
MASK = np.array([[1, 1, 1, 1, 1, 0]])
EMBEDDING = 0.02


class TwinGraph(writer.TinyGraph):
    """Takes a builder's constants for weights as hints: what is 1 is a scale, vectors are shifts, the rest has a fan-in."""

    def __init__(self, name, opset):
        super().__init__(name, opset)
        self.random = np.random.default_rng(zlib.crc32(f"twin of {name}".encode()))
        self.decimals = 2
        self.tie_margin = 1e-4
        self.ranges = {name: (0, end) for name, end in RANGES.items()}
        self.feeds = {"attention_mask": MASK} if name == "bert_base" else {}

    def weight(self, name, shape, value=None, dtype="f32"):
        draw = self.random
        vector = int(np.prod(shape)) == shape[0]
        if dtype == "i8":
            data = draw.integers(-64, 64, shape).astype(np.int8) * np.int8(value != 0)
        elif dtype == "i32":
            data = draw.integers(-200, 200, shape).astype(np.int32) * np.int32(value != 0)
        elif name.endswith("_scale") or (vector and value == 1):
            data = draw.uniform(0.5, 1.5, shape) * value
        elif vector:
            data = draw.standard_normal(shape) * 0.2
        else:
            variance = 0.25 if value == EMBEDDING else value or 1.0 / np.prod(shape[1:])
            data = draw.standard_normal(shape) * np.sqrt(variance * (2 if len(shape) == 4 else 1))
        return self.initializer(name, data.astype(np.float32) if dtype == "f32" else data)

    def op(self, kind, inputs, *arguments, **attributes):
        if kind == "QuantizeLinear":
            self.rounds(*inputs[:2])
        return super().op(kind, inputs, *arguments, **attributes)


def write_all(folder):
    for name, (build, opset) in catalogue.WRITTEN.items():
        twin = TwinGraph(name, opset)
        build(twin, **TWINS[name])
        writer.write(twin, folder)
    for name in light_twins.NAMES:
        writer.write(light_twins.reduce(name), folder)
