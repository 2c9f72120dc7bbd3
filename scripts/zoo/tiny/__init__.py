"""Small models with random weights, one per group of operators, each with what a runtime answers for random inputs."""

import importlib

from zoo.tiny import writer

GROUPS = ["basics", "conv_transpose", "resize", "recurrent", "einsum", "quantised", "attention", "microsoft",
          "microsoft_quantised", "control_flow", "movement", "further", "rare", "classical", "left_out", "opsets"]


def write_all(models, only=None):
    """Writes to models/tiny. `only`: names of groups, which are modules of this package; None: all."""
    for group in only or GROUPS:
        for make in importlib.import_module(f"zoo.tiny.{group}").MODELS:
            writer.write(make(), models / "tiny")
    whole = models / "tiny" / "mlp.onnx"
    if whole.exists():
        data = whole.read_bytes()
        (models / "tiny" / "truncated.onnx").write_bytes(data[:len(data) * 2 // 3])
