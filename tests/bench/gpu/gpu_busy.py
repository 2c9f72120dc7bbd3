#!/usr/bin/env python3
"""How busy the device is with 2, 8 and 16 compilers at a time: the share of the time in which a built candidate was
there that a kernel, a copy or a check ran. Usage: see common.py.
"""

import common

MODEL = "light_squeezenet"


def main():
    bench = common.Bench("busy", __doc__, lambda parser: parser.add_argument("--trials", type=int, default=128))
    tiny = bench.options.tiny
    inputs = ([bench.workload("tiny", "input X: f32[64]\noutput Y[i] = X[i] * 2\n")] if tiny
              else [common.MODELS / f"{MODEL}.onnx"])
    runs = []
    for builders in [2] if tiny else [2, 8, 16]:
        cache = bench.folder / f"cache{builders}"  # nothing is built already
        log = bench.folder / f"busy{builders}.db"
        report = bench.tune(inputs, log, "--trials", 2 if tiny else bench.options.trials, "--builders", builders,
                            "--batch", 2 if tiny else 32, "--cache", cache)
        rows = common.trials(log)
        runs.append({"builders": builders, "trials": len(rows), "wall_s": report["wall_s"], "time": report["time"],
                     "device_busy_share": report["time"].get("device_busy_share"),
                     "trials_per_s": len(rows) / report["wall_s"] if report["wall_s"] else None})
    bench.finish({"model": "tiny" if tiny else MODEL, "runs": runs})


common.run(main)
