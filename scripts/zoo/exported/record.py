"""Writes an exporter's model with its record: what onnxruntime answers for given inputs, as for the written models."""

import json
import pathlib
import sys

import numpy as np
import onnx

from zoo.tiny import writer

LARGEST_FILE = 100_000


def strip(message):
    """Takes out documentation and metadata, which hold paths and stack traces of the machine that exported."""
    for field, value in list(message.ListFields()):
        if field.name in ("doc_string", "metadata_props"):
            message.ClearField(field.name)
        elif field.message_type is not None:
            for item in value if field.is_repeated else [value]:
                strip(item)


def tie_distance(model, feeds):
    """How near, in steps, a value that some node quantises lies to a rounding tie; 0.5 where no node does.

    Of (value, step) by name: those of QuantizeLinear, and of DynamicQuantizeLinear with the step that it finds.
    """
    stored = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    pairs = [(node.input[0], node.input[1] if node.op_type == "QuantizeLinear" else node.output[1])
             for node in model.graph.node if node.op_type in ("QuantizeLinear", "DynamicQuantizeLinear")]
    pairs = [pair for pair in pairs if pair[0] not in stored]
    if not pairs:
        return 0.5
    wider = onnx.ModelProto()
    wider.CopyFrom(model)
    del wider.graph.output[:]
    wanted = {name for pair in pairs for name in pair} - set(stored) - set(feeds)
    wider.graph.output.extend(writer.FIXED(name) for name in sorted(wanted))
    results = {**stored, **feeds, **writer.run(wider.SerializeToString(), feeds)}
    steps = []
    for value, step in pairs:
        quotients = results[value].astype(np.float64) / float(results[step])
        steps += [quotients.reshape(-1), [min(quotients.min(), 0)]]
    steps = np.concatenate(steps)
    return float(np.abs(steps - np.floor(steps) - 0.5).min())


def save(folder, name, model, feeds, dims=None, original=None):
    """`model`: a ModelProto, bytes, or a file's path. `dims` binds symbolic dimensions; one without a name is "input:axis".

    `original`: the outputs of what was exported, from its own framework; onnxruntime's may lie 1e-4 from them.
    """
    if isinstance(model, (str, pathlib.Path)):
        model = pathlib.Path(model).read_bytes()
    if isinstance(model, bytes):
        model = onnx.load_from_string(model)
    strip(model)
    data = model.SerializeToString(deterministic=True)
    if len(data) > LARGEST_FILE:
        raise SystemExit(f"make_exported: {name}.onnx takes {len(data)} bytes, more than {LARGEST_FILE}")
    results = writer.run(data, feeds)
    for output, array in results.items():
        if not np.all(np.isfinite(array)):
            raise SystemExit(f"make_exported: {name}: output {output} is not finite")
    for value, (output, array) in zip(original or [], results.items()):
        if value.shape != array.shape or not np.allclose(value, array, rtol=1e-4, atol=1e-4):
            raise SystemExit(f"make_exported: {name}: output {output} is not that of the original")
    made = {"model": f"{name}.onnx", "dims": dims or {},
            "inputs": [writer.entry(*pair) for pair in feeds.items()],
            "outputs": [writer.entry(*pair) for pair in results.items()]}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.onnx").write_bytes(data)
    (folder / f"{name}.json").write_text(json.dumps(made, separators=(",", ":")) + "\n")
    opsets = ", ".join(f"{opset.domain or 'ai.onnx'} {opset.version}" for opset in model.opset_import)
    print(f"{name}.onnx: {len(data)} bytes, {len(model.graph.node)} nodes, {opsets}", file=sys.stderr)


def numbers(random, *shape):
    """Normal random numbers with two decimals."""
    return np.round(random.standard_normal(shape), 2).astype(np.float32)


def target():
    """The folder that the command names, and exported/ in it."""
    models = pathlib.Path(sys.argv[1])
    return models, models / "exported"
