#!/usr/bin/env python3
"""Kernels that memory bounds: softmax, layer norm, elementwise and transposes, tuned and set against the measured
bandwidth of a copy. Usage: see common.py.
"""

import common

SHAPES = [(4096, 4096), (8192, 1024), (1024, 16384), (16384, 300)]
WORKLOADS = {
    "softmax": "input X: f32[{m},{n}]\nM[i] = max[j](X[i,j])\nE[i,j] = exp(X[i,j] - M[i])\nS[i] = sum[j](E[i,j])\n"
               "output Y[i,j] = E[i,j] / S[i]\n",
    "layer_norm": "input X: f32[{m},{n}]\nweight g: f32[{n}]\nweight b: f32[{n}]\nS[i] = sum[j](X[i,j])\nU[i] = S[i] / {n}\n"
                  "Q[i] = sum[j]((X[i,j] - U[i]) * (X[i,j] - U[i]))\nV[i] = Q[i] / {n}\n"
                  "output Y[i,j] = (X[i,j] - U[i]) / sqrt(V[i] + 1e-5) * g[j] + b[j]\n",
    "elementwise": "input X: f32[{m},{n}]\ninput Z: f32[{m},{n}]\noutput Y[i,j] = max(X[i,j] + Z[i,j], 0)\n",
    "transpose": "input X: f32[{n},{m}]\noutput Y[i,j] = X[j,i]\n",
}


def main():
    bench = common.Bench("bandwidth", __doc__, lambda parser: parser.add_argument("--trials", type=int, default=32))
    shapes, trials = ([(12, 40)], 1) if bench.options.tiny else (SHAPES, bench.options.trials)
    files = {}
    for name, text in WORKLOADS.items():
        for m, n in shapes:
            files[f"{name}_{m}x{n}"] = bench.workload(f"{name}_{m}x{n}", text.format(m=m, n=n))
    log = bench.folder / "bandwidth.db"
    report = bench.tune(files.values(), log, "--trials-per-task", trials)
    copy = bench.device["memory_gbps"]
    kernels = []
    for task in report["tasks"]:
        gbps = task["bytes"] / task["best_ns"] if task["best_ns"] else None
        kernels.append({"name": task["name"], "bytes": task["bytes"], "best_ns": task["best_ns"], "gbps": gbps,
                        "of_copy": gbps / copy if gbps else None, "untuned_ns": task["untuned_ns"]})
    rows = common.trials(log)
    bench.finish({"copy_gbps": copy, "trials_per_subgraph": trials, "kernels": kernels,
                  "status": common.by_status(rows), "spread": common.spread(rows)})


common.run(main)
