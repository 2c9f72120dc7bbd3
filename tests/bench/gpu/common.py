"""What the GPU benchmarks share: calls of the program, the tuning log read back, results as JSON.

Each benchmark is `gpu_NAME.py PATH_OF_KINDRED [--target cuda:0] [--output FOLDER] [--tiny]`; with --output it writes
FOLDER/gpu_NAME.json, and always prints the same object. --tiny: sizes that even the emulated device can do, for tests
of these scripts; its numbers mean nothing.
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
MODELS = ROOT / "tests" / "models"


class Failed(Exception):
    pass


class Bench:
    def __init__(self, name, description, add_options=None):
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("kindred")
        parser.add_argument("--target", default="cuda:0")
        parser.add_argument("--output", type=pathlib.Path)
        parser.add_argument("--tiny", action="store_true")
        parser.add_argument("--keep", type=pathlib.Path, help="folder for logs; else a temporary one")
        if add_options:
            add_options(parser)
        self.options = parser.parse_args()
        self.name = name
        self.binary = str(pathlib.Path(self.options.kindred).resolve())
        self.temporary = tempfile.TemporaryDirectory(prefix="kindred-gpu-bench-")
        self.folder = self.options.keep or pathlib.Path(self.temporary.name)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.device = self.call("device", self.options.target)

    def call(self, *words, timeout=None):
        """The JSON object that a command prints."""
        done = subprocess.run([self.binary, *map(str, words), "--json"], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=timeout)
        if done.returncode != 0:
            raise Failed(f"kindred {' '.join(map(str, words))}: exit code {done.returncode}: {done.stderr.strip()[-500:]}")
        return json.loads(done.stdout)

    def tune(self, inputs, log, *words):
        return self.call("tune", *inputs, "--target", self.options.target, "--log", log, "--quiet", *words)

    def workload(self, name, text):
        path = self.folder / f"{name}.kd"
        path.write_text(text)
        return path

    def finish(self, result):
        out = {"benchmark": self.name,
               "date": time.strftime("%Y-%m-%d", time.gmtime()),
               "device": {key: self.device.get(key) for key in
                          ("model", "memory_gbps", "peak_f32_gflops", "peak_f64_gflops", "peak_i8_gops")},
               "architecture": self.device.get("gpu", {}).get("arch"),
               "host": {"machine": platform.machine(), "cores": os.cpu_count()},
               "tiny": self.options.tiny, **result}
        text = json.dumps(out, indent=1)
        print(text)
        if self.options.output and not self.options.tiny:
            self.options.output.mkdir(parents=True, exist_ok=True)
            (self.options.output / f"gpu_{self.name}.json").write_text(text + "\n")


def trials(log):
    """All trials of a log, as dictionaries."""
    with contextlib.closing(sqlite3.connect(f"file:{log}?mode=ro", uri=True)) as database:
        database.row_factory = sqlite3.Row
        rows = [dict(row) for row in database.execute("SELECT * FROM trial ORDER BY id")]
    for row in rows:
        row["samples"] = json.loads(row["samples"])
        row["conditions"] = json.loads(row["conditions"])
    return rows


def spread(rows):
    """Median absolute deviation of a trial's samples over their median: its distribution over the trials, by timer."""
    out = {}
    for timer in sorted({row["conditions"].get("timer", "") for row in rows if row["status"] == "ok"}):
        values = []
        for row in rows:
            if row["status"] != "ok" or row["conditions"].get("timer", "") != timer or len(row["samples"]) < 3:
                continue
            middle = statistics.median(row["samples"])
            values.append(statistics.median(abs(s - middle) for s in row["samples"]) / middle)
        if values:
            values.sort()
            out[timer] = {"trials": len(values), "median": statistics.median(values), "p95": values[int(0.95 * (len(values) - 1))],
                          "throttled": sum(1 for row in rows if row["conditions"].get("throttled"))}
    return out


def by_status(rows):
    counts = {}
    for row in rows:
        counts[row["status"]] = counts.get(row["status"], 0) + 1
    return counts


def run(main):
    try:
        main()
    except Failed as problem:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {problem}")
