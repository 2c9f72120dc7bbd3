"""What the benchmarks over recorded spaces share: finding spaces, running `kindred replay`, medians and the measure
that runs are compared by."""

import concurrent.futures
import json
import math
import pathlib
import statistics
import subprocess

POINTS = (25, 50, 100, 200)
WORSE_BY = 0.03


def find_spaces(folder):
    """{name: (recording, its T1 description or None)} of all caches of Kernel Tuner below a folder."""
    spaces = {}
    for path in sorted(pathlib.Path(folder).rglob("*.json*")):
        if path.name.endswith("_T4.json.gz") or path.name.startswith("spec_T1") or not path.is_file():
            continue
        if not path.name.endswith((".json", ".json.gz")):
            continue
        spec = path.parent / "spec_T1.json"
        name = f"{path.parent.name}/{path.name.removesuffix('.gz').removesuffix('.json')}"
        spaces[name] = (path, spec if spec.exists() else None)
    if not spaces:
        raise SystemExit(f"no recorded space below {folder}")
    return spaces


def call(command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"exit code {done.returncode} of {' '.join(map(str, command))}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def replay(kindred, space, spec, seeds, budget, *words):
    """{"curves": one list of ratios per seed, "wall_s"}"""
    command = [kindred, "replay", space, "--seeds", seeds, "--budget", budget, "--json", *words]
    if spec:
        command += ["--spec", spec]
    out = call(command)
    return {"curves": [run["ratio"] for run in out["runs"]], "wall_s": out["wall_s"]}


def medians(curves, points):
    """{point: median ratio} of curves; infinite where most had found nothing. A shorter curve counts with its last."""
    found = {}
    for point in points:
        at = [curve[min(point, len(curve)) - 1] if curve else None for curve in curves]
        found[point] = statistics.median(math.inf if ratio is None else ratio for ratio in at)
    return found


def distance(ratio):
    return ratio - 1 + 0.005


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


def in_parallel(jobs, tasks):
    """Results of the callables, in order."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return [future.result() for future in [pool.submit(task) for task in tasks]]
