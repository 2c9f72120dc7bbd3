#!/usr/bin/env python3
"""The benchmarks over recorded spaces, run small: tests/bench/replay over tests/data/recorded_spaces. Kernel Tuner takes
part where its environment was made before (build/replay-venv). Usage: replay_benchmarks.py PATH_OF_KINDRED
"""

import json
import subprocess
import sys

import harness

BENCH = harness.ROOT / "tests" / "bench" / "replay"
SPACES = harness.ROOT / "tests" / "data" / "recorded_spaces"


def bench(sandbox, script, *words):
    done = subprocess.run([sys.executable, BENCH / script, SPACES, "--kindred", sandbox.binary, "--json", *map(str, words)],
                          env=sandbox.environment, capture_output=True, text=True, timeout=300)
    sandbox.check(done.returncode == 0, f"{script} {words}: {done.stderr[-500:]}")
    return json.loads(done.stdout) if done.returncode == 0 else {}


def test(sandbox):
    with_peer = (harness.ROOT / "build" / "replay-venv" / "packages.txt").exists()
    words = ["--strategies", "genetic_algorithm,random_sample"] if with_peer else ["--no-kernel-tuner"]
    if not with_peer:
        sandbox.skip("Kernel Tuner (tests/bench/replay/against_kernel_tuner.py makes its environment)")
    found = bench(sandbox, "against_kernel_tuner.py", "--seeds", 2, "--budget", 50, *words)
    spaces = found.get("spaces", {})
    sandbox.check(set(spaces) == {"convolution/A100", "convolution/A4000", "convolution/W6600", "pnpoly/RTX_3090"},
                  f"four spaces: {list(spaces)}")
    for name, space in spaces.items():
        sandbox.check(all(1 <= space["kindred"][point] < 3 for point in ("25", "50")), f"{name}: ratios: {space}")
        if with_peer:
            sandbox.check(all(space["best"][point] >= 1 for point in ("25", "50")), f"{name}: Kernel Tuner's: {space}")
    if with_peer:
        sandbox.check(found.get("factor", 0) > 0 and found.get("points") == 8, f"and what comes of it: {found}")
    found = bench(sandbox, "transfer.py", "--seeds", 2)
    spaces = found.get("spaces", {})
    sandbox.check(len(spaces) == 3 and all(set(space) == {"cold", "transfer", "naive", "shuffled", "reversed"} for space in spaces.values()),
                  f"three devices in five ways: {spaces}")
    sandbox.check(all(ratios["100"] >= 1 for space in spaces.values() for ratios in space.values()), f"ratios: {spaces}")


if __name__ == "__main__":
    harness.main(test)
