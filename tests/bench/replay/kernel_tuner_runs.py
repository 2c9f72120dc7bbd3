"""Kernel Tuner's strategies in its simulation mode over one recorded space. Runs inside the environment that
against_kernel_tuner.py makes.

    kernel_tuner_runs.py SPACE.json[.gz] STRATEGY FIRST_SEED SEEDS BUDGET [T1.json]

Prints one JSON object: {"seeds", "ratio": [[best so far over optimum, or null, after evaluation 1, 2, ...], ...]}. A
configuration counts once, when it is first asked for. Without a T1 file the space is what is recorded.
"""

import contextlib
import gzip
import json
import os
import random
import sys
import tempfile

import kernel_tuner
import numpy


def only_recorded(names, entries):
    """A restriction: only configurations that the recording has."""
    def recorded(configuration):
        return ",".join(str(configuration[name]) for name in names) in entries
    return recorded


def failed(time):
    return not isinstance(time, (int, float)) or not 0 < time < 1e19


def main():
    path, strategy, first, seeds, budget = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        recorded = json.load(file)
    parameters = {name: list(values) for name, values in recorded["tune_params"].items()}
    if len(sys.argv) > 6:
        with open(sys.argv[6]) as file:
            restrictions = [c["Expression"] for c in json.load(file)["ConfigurationSpace"]["Conditions"]]
    else:
        restrictions = only_recorded(list(parameters), recorded["cache"])
    size = recorded["problem_size"]
    optimum = min(entry["time"] for entry in recorded["cache"].values() if not failed(entry["time"]))
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump(recorded, file)
    curves = []
    try:
        for seed in range(first, first + seeds):
            random.seed(seed)
            numpy.random.seed(seed)
            with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
                results, _ = kernel_tuner.tune_kernel(
                    recorded["kernel_name"], "__global__ void k(){}", size if isinstance(size, int) else tuple(size),
                    [], parameters, restrictions=restrictions, strategy=strategy,
                    strategy_options={"max_fevals": budget}, simulation_mode=True, cache=file.name, iterations=32)
            seen, best, curve = set(), None, []
            for result in results:
                key = tuple(result[name] for name in parameters)
                if key in seen:
                    continue
                seen.add(key)
                if not failed(result["time"]) and (best is None or result["time"] < best):
                    best = result["time"]
                curve.append(None if best is None else best / optimum)
            curves.append(curve[:budget])
    finally:
        os.unlink(file.name)
    print(json.dumps({"seeds": seeds, "ratio": curves}))


main()
