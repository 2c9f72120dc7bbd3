#!/usr/bin/env python3
"""The zoo tuned on a GPU at 16 trials a subgraph: what became of the trials, how much the samples of one spread, how
much faster than the plain kernels it is. Usage: see common.py; --time bounds the run, --models names some models.
"""

import common


def main():
    bench = common.Bench("zoo", __doc__, lambda parser: (
        parser.add_argument("--time", default="", help="e.g. 10m"), parser.add_argument("--trials", type=int, default=16),
        parser.add_argument("--models", nargs="*", default=[])))
    options = bench.options
    if options.tiny:
        inputs = [bench.workload("tiny", "input X: f32[20,40]\nweight W: f32[40,24]\noutput Y[m,n] = sum[k](X[m,k] * W[k,n])\n")]
        options.trials = 2
    else:
        inputs = [common.MODELS / f"{name}.onnx" for name in options.models] or [common.MODELS / "zoo.json"]
    log = bench.folder / "zoo.db"
    report = bench.tune(inputs, log, "--trials-per-task", options.trials, *(["--time", options.time] if options.time else []))
    rows = common.trials(log)
    lost = [row["message"] for row in rows if row["status"] == "crash"]
    bench.finish({
        "trials_per_subgraph": options.trials, "subgraphs": len(report["tasks"]), "trials": len(rows),
        "status": common.by_status(rows), "crashes": lost[:10], "spread": common.spread(rows),
        "device_busy_share": report["time"].get("device_busy_share"), "wall_s": report["wall_s"], "time": report["time"],
        "models": [{"model": model["model"], "untuned_ns": model["total"]["untuned_ns"], "best_ns": model["total"]["best_ns"],
                    "complete": model["total"]["complete"]} for model in report["models"]],
        "no_valid_schedule": [task["name"] for task in report["tasks"] if task["trials"] and not task["best_ns"]]})


common.run(main)
