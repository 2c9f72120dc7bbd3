"""What stands in tests/models: the written models, the copied ones, and zoo.json that lists them all."""

import json
import pathlib
import shutil

import onnx

from zoo import cnns, graph, transformers

WRITTEN = {
    "mobilenet_v2": cnns.mobilenet_v2,
    "resnet50": cnns.resnet50,
    "bert_base": transformers.bert_base,
    "gpt2": transformers.gpt2,
    "llama_block": transformers.llama_block,
}
COPIED = ["light_squeezenet", "light_shufflenet", "light_resnet50"]


def write_all(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in WRITTEN.items():
        model = make()
        graph.check(model)
        graph.write(model, folder / f"{name}.onnx")
    light = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    for name in COPIED:
        shutil.copyfile(light / f"{name}.onnx", folder / f"{name}.onnx")
    names = [*WRITTEN, *COPIED]
    models = [{"path": f"{name}.onnx", "dims": {}, "weight": 1, "priority": 1} for name in names]
    (folder / "zoo.json").write_text(json.dumps({"models": models}, indent=2) + "\n")
    for name in names:
        print(f"{name}.onnx: {(folder / (name + '.onnx')).stat().st_size} bytes")
