"""What stands in tests/models: the written models, the copied ones, and zoo.json that lists them all."""

import json
import pathlib
import shutil

import onnx

from zoo import cnns, graph, int8, llms, lstm_model, recommender, speech, transformers, unets, vision_transformer


def resnext50(made, size=224, stem=64, stages=cnns.RESNEXT50, groups=32, classes=1000):
    cnns.resnet50(made, size, stem, stages, groups, classes)


# name: what builds it, operator set
WRITTEN = {
    "mobilenet_v2": (cnns.mobilenet_v2, 17),
    "resnet50": (cnns.resnet50, 17),
    "bert_base": (transformers.bert_base, 17),
    "gpt2": (transformers.gpt2, 17),
    "llama_block": (llms.llama_block, 17),
    "vgg16": (cnns.vgg16, 18),
    "resnext50": (resnext50, 19),
    "efficientnet_b0": (cnns.efficientnet_b0, 18),
    "unet": (unets.unet, 22),
    "diffusion_block": (unets.diffusion_block, 17),
    "vit_b16": (vision_transformer.vit_b16, 20),
    "whisper_tiny": (speech.whisper_tiny, 17),
    "dlrm": (recommender.dlrm, 18),
    "lstm_lm": (lstm_model.lstm_lm, 20),
    "llama_block_opset23": (llms.llama_block_opset23, 23),
    "moe_block": (llms.moe_block, 23),
    "resnet50_int8": (int8.resnet50_int8, 21),
}
COPIED = ["light_squeezenet", "light_shufflenet", "light_resnet50"]
LARGEST_FILE = 250_000


def light_folder():
    return pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def write_all(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (build, opset) in WRITTEN.items():
        made = graph.Graph(name, opset)
        build(made)
        model = made.model()
        graph.check(model)
        graph.write(model, folder / f"{name}.onnx")
    for name in COPIED:
        shutil.copyfile(light_folder() / f"{name}.onnx", folder / f"{name}.onnx")
    names = [*WRITTEN, *COPIED]
    models = [{"path": f"{name}.onnx", "dims": {}, "weight": 1, "priority": 1} for name in names]
    (folder / "zoo.json").write_text(json.dumps({"models": models}, indent=2) + "\n")
    for name in names:
        size = (folder / (name + ".onnx")).stat().st_size
        print(f"{name}.onnx: {size} bytes")
        if size > LARGEST_FILE:
            raise SystemExit(f"make_zoo: {name}.onnx is larger than {LARGEST_FILE} bytes")
