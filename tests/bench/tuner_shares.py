#!/usr/bin/env python3
"""Where the time of a tuning run goes: tunes a model into an empty log with an empty build cache, once per seed, and
prints one JSON object with the seconds and shares of building, running, searching, training and the rest.

Usage: tests/bench/tuner_shares.py KINDRED MODEL [--trials-per-task N] [--seeds N]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile


def tune(program, model, trials, seed):
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, KINDRED_CACHE=os.path.join(folder, "cache"))
        command = [program, "tune", model, "--trials-per-task", str(trials), "--seed", str(seed), "--json",
                   "--log", os.path.join(folder, "log.db")]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--trials-per-task", type=int, default=16)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    runs = []
    for seed in range(options.seeds):
        report = tune(options.program, options.model, options.trials_per_task, seed)
        times = report["time"]
        wall = sum(times[part] for part in ("build_s", "run_s", "search_s", "train_s", "other_s"))
        trials = sum(task["trials"] for task in report["tasks"])
        runs.append({"seed": seed, "trials": trials, "wall_s": round(wall, 2),
                     **{part: round(times[part], 3) for part in times if part.endswith("_s")},
                     "outside_share": round(1 - (times["build_s"] + times["run_s"]) / wall, 4),
                     "train_share": round(times["train_s"] / wall, 4),
                     "search_ms_per_trial": round(1000 * times["search_s"] / max(trials, 1), 2)})
    median = {name: statistics.median(run[name] for run in runs)
              for name in ("wall_s", "outside_share", "train_share", "search_ms_per_trial")}
    print(json.dumps({"model": os.path.basename(options.model), "trials_per_task": options.trials_per_task,
                      "runs": runs, "median": median}, indent=1))


if __name__ == "__main__":
    sys.exit(main())
