#!/usr/bin/env python3
"""`kindred replay` against the strategies of Kernel Tuner, both over the same recorded spaces in the same job.

    against_kernel_tuner.py FOLDER --kindred PATH [--seeds 20] [--json] [--strategies A,B] [--keep FOLDER]

FOLDER holds caches of Kernel Tuner as KERNEL/DEVICE.json[.gz], beside them the kernel's spec_T1.json where there is one.
Compared are medians over the seeds after 25, 50, 100 and 200 evaluations with, at each point, the best of Kernel
Tuner's strategies there. Reported: the geometric mean over spaces and points of (ratio - 1 + 0.005), Kindred's over
that of the best strategies; and the points at which Kindred is worse by more than 0.03. Kernel Tuner comes from PyPI
into build/replay-venv. Its bayes_opt takes half a minute a run; all of it takes hours on one core (--jobs).
"""

import argparse
import json
import pathlib
import subprocess
import sys
import venv

import recorded_runs as rec

ROOT = pathlib.Path(__file__).resolve().parents[3]
VENV = ROOT / "build" / "replay-venv"
PACKAGES = ["kernel_tuner==1.5.0", "numpy==2.4.6", "scipy==1.17.1", "scikit-learn==1.9.1"]
STRATEGIES = ("genetic_algorithm", "simulated_annealing", "diff_evo", "pso", "firefly_algorithm", "greedy_ils",
              "bayes_opt", "random_sample")


def environment():
    stamp = VENV / "packages.txt"
    if not stamp.exists() or stamp.read_text().split() != PACKAGES:
        print(f"installing {' '.join(PACKAGES)} into {VENV.relative_to(ROOT)}", file=sys.stderr)
        venv.create(VENV, with_pip=True)
        subprocess.run([VENV / "bin" / "python", "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        stamp.write_text("\n".join(PACKAGES) + "\n")
    return VENV / "bin" / "python"


def compare(found, points):
    """Adds to each space the best strategy at each point; the summary over all."""
    ours, best, worse = [], [], []
    for name, space in found.items():
        space["best"] = {point: min(strategy[point] for strategy in space["strategies"].values()) for point in points}
        for point in points:
            ours.append(rec.distance(space["kindred"][point]))
            best.append(rec.distance(space["best"][point]))
            if space["kindred"][point] > space["best"][point] + rec.WORSE_BY:
                worse.append({"space": name, "evaluations": point})
    mean, best_mean = rec.geometric_mean(ours), rec.geometric_mean(best)
    return {"geometric_mean": mean, "best_geometric_mean": best_mean, "factor": mean / best_mean, "worse": worse,
            "points": len(ours)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--kindred", required=True, help="the program, built for release")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--searcher", default="", help="of Kindred (its default)")
    parser.add_argument("--only", default="", help="spaces whose names have this in them")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-kernel-tuner", action="store_true")
    parser.add_argument("--keep", help="folder of Kernel Tuner's runs: those that are there are not made again")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    spaces = {name: space for name, space in rec.find_spaces(options.folder).items() if options.only in name}
    points = [point for point in rec.POINTS if point <= options.budget] or [options.budget]
    strategies = [] if options.no_kernel_tuner else options.strategies.split(",")
    python = environment() if strategies else None
    words = ["--seed", options.first_seed] + (["--searcher", options.searcher] if options.searcher else [])

    def kindred(space, spec):
        run = rec.replay(options.kindred, space, spec, options.seeds, options.budget, *words)
        return rec.medians(run["curves"], points), run["wall_s"]

    def strategy(space, spec, name):
        kept = None
        if options.keep:
            parts = [space.parent.name, space.name, name, options.first_seed, options.seeds, options.budget]
            kept = pathlib.Path(options.keep) / ("_".join(map(str, parts)) + ".json")
            if kept.exists():
                return rec.medians(json.loads(kept.read_text())["ratio"], points)
        script = pathlib.Path(__file__).with_name("kernel_tuner_runs.py")
        command = [python, script, space, name, options.first_seed, options.seeds, options.budget]
        run = rec.call(command + ([spec] if spec else []))
        if kept:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(run))
        print(f"{space} {name}: {rec.medians(run['ratio'], points)}", file=sys.stderr)
        return rec.medians(run["ratio"], points)

    tasks = [lambda s=space: kindred(*s) for space in spaces.values()]
    tasks += [lambda s=space, n=name: strategy(*s, n) for name in strategies for space in spaces.values()]
    results = rec.in_parallel(options.jobs, tasks)
    found = {}
    for name, (ratios, wall_s) in zip(spaces, results):
        found[name] = {"kindred": ratios, "kindred_wall_s": wall_s, "strategies": {}}
    for i, ratios in enumerate(results[len(spaces):]):
        list(found.values())[i % len(spaces)]["strategies"][strategies[i // len(spaces)]] = ratios

    out = {"kernel_tuner": PACKAGES[0] if strategies else None, "seeds": options.seeds, "first_seed": options.first_seed,
           "spaces": found}
    if strategies:
        out |= compare(found, points)
    if options.json:
        print(json.dumps(out, indent=1))
        return
    for name, space in found.items():
        row = [f"{space['kindred'][point]:.4f}" + (f"/{space['best'][point]:.4f}" if strategies else "")
               for point in points]
        print(f"{name:22s} {' '.join(row)}  {space['kindred_wall_s'] / options.seeds:.2f} s a run")
    if strategies:
        print(f"geometric mean {out['geometric_mean']:.4f}, of the best strategies {out['best_geometric_mean']:.4f}: "
              f"{out['factor']:.3f}x; worse by more than {rec.WORSE_BY} at {len(out['worse'])} of {out['points']} points")


main()
