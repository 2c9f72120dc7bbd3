#!/usr/bin/env python3
"""Records the schedules that ablations are replayed on: subgraphs of three models of the zoo, tuned by each searcher into one
log, then written by `kindred record`, one file per subgraph.

    scripts/make_zoo; cmake --build BUILD --target kindred
    record.py BUILD FOLDER [--trials 170] [--log FILE]

A third of the schedules of a subgraph come from each of the three searchers, so that good and bad ones are there. Ended and
started anew it goes on where it was. Wants an idle machine: 18 subgraphs of 3 x 170 trials take about an hour.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
# Families of several members: 3x3 and 1x1 convolutions, depthwise ones, products.
SUBGRAPHS = {
    "resnet50": ["conv2d 3x3 64->64 56x56 + relu", "conv2d 3x3 128->128 28x28 + relu", "conv2d 3x3 256->256 14x14 + relu",
                 "conv2d 3x3 512->512 7x7 + relu", "conv2d 3x3/2 128->128 28x28 + relu", "conv2d 1x1 64->64 56x56 + relu",
                 "conv2d 1x1 64->256 56x56 + add + relu",
                 "conv2d 1x1 128->512 28x28 + add + relu", "conv2d 1x1 256->1024 14x14 + add + relu",
                 "conv2d 1x1 512->2048 7x7 + add + relu", "conv2d 1x1 512->128 28x28 + relu",
                 "conv2d 1x1 1024->256 14x14 + relu", "conv2d 1x1 2048->512 7x7 + relu"],
    "mobilenet_v2": ["depthwise conv2d 3x3 192 28x28 + clip", "depthwise conv2d 3x3 384 14x14 + clip",
                     "depthwise conv2d 3x3 576 14x14 + clip"],
    "bert_base": ["matmul 128x3072x768 + add + gelu", "matmul 128x768x3072 + add + add"],
}
SEARCHERS = ["random", "mcts", "evolution"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder")
    parser.add_argument("folder", type=pathlib.Path, help="for the recordings")
    parser.add_argument("--trials", type=int, default=170, help="of each searcher and subgraph")
    parser.add_argument("--log", type=pathlib.Path, default=pathlib.Path("recorded.db"), help="tuning log")
    options = parser.parse_args()
    kindred = options.build.resolve() / "kindred"
    workloads = options.log.resolve().parent / (options.log.stem + "-workloads")
    workloads.mkdir(parents=True, exist_ok=True)
    files = []
    for model, names in SUBGRAPHS.items():
        path = ROOT / "tests" / "models" / f"{model}.onnx"
        if not path.exists():
            sys.exit(f"record.py: {path} is missing: run scripts/make_zoo")
        report = json.loads(subprocess.run([kindred, "import", path, "--json"], check=True, capture_output=True, text=True).stdout)
        tasks = {task["name"]: task["text"] for task in report["models"][0]["tasks"]}
        for name in names:
            file = workloads / (re.sub(r"[^A-Za-z0-9]+", "_", f"{model} {name}") + ".kd")
            file.write_text(tasks[name])
            files.append(file)
    for seed, searcher in enumerate(SEARCHERS):
        subprocess.run([kindred, "tune", *files, "--log", options.log, "--searcher", searcher, "--seed", str(seed),
                        "--trials-per-task", str(options.trials), "--quiet"], check=True)
    subprocess.run([kindred, "record", options.log, options.folder, "--least", str(options.trials)], check=True)


if __name__ == "__main__":
    main()
