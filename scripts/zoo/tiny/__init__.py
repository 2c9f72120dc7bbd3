"""Small models with random weights, one per group of operators, each with what a runtime answers for random inputs."""

import importlib

from zoo.tiny import writer

GROUPS = ["basics", "conv_transpose", "resize", "recurrent", "einsum", "quantised", "attention", "microsoft",
          "microsoft_quantised", "control_flow", "movement", "further", "rare", "left_out", "opsets"]


def write_all(models, only=None):
    """Writes to models/tiny, or to models/tiny_new, where models wait that are not in tiny/ yet.

    `only`: names of groups, which are modules of this package; None: all.
    """
    for group in only or GROUPS:
        module = importlib.import_module(f"zoo.tiny.{group}")
        for make in module.MODELS:
            g = make()
            folder = models / "tiny" / getattr(module, "FOLDER", "")
            if group != "basics" and not (folder / f"{g.name}.onnx").exists():
                folder = models / "tiny_new" / getattr(module, "FOLDER", "")
            writer.write(g, folder)
    whole = models / "tiny" / "mlp.onnx"
    if whole.exists():
        data = whole.read_bytes()
        (models / "tiny" / "truncated.onnx").write_bytes(data[:len(data) * 2 // 3])
