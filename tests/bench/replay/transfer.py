#!/usr/bin/env python3
"""What recordings of other devices are worth: each device's space is searched cold, with the recordings of the
kernel's other devices (`kindred replay --transfer`), and with the same recordings whose times mislead: shuffled, or
reversed (the slowest is the fastest).

    transfer.py FOLDER --kindred PATH [--seeds 20] [--json]

FOLDER as for against_kernel_tuner.py; kernels with one device only are passed over. Naive transfer ranks configurations by
their mean time over the optimum on the other devices and measures in that order. Reported: medians over seeds after 10, 25,
50 and 100 evaluations; at 10 and 25 the geometric mean of (ratio - 1 + 0.005) of each way, and the points at which
transfer is worse by more than 0.01 than the better of cold and naive; after 100 evaluations the same mean of shuffled,
reversed and cold.
"""

import argparse
import gzip
import json
import pathlib
import random
import tempfile

import recorded_runs as rec

POINTS = (10, 25, 50, 100)
EARLY = (10, 25)
WORSE_BY = 0.01


def load(path):
    with (gzip.open if path.name.endswith(".gz") else open)(path, "rt") as file:
        return json.load(file)


def time_of(entry):
    time = entry["time"]
    return time if isinstance(time, (int, float)) and 0 < time < 1e19 else None


def naive(space, others):
    """Best so far over the optimum, in the order of the mean ratio elsewhere; what failed there comes last."""
    tables = []
    for other in others:
        times = {key: time_of(entry) for key, entry in load(other)["cache"].items()}
        best = min(time for time in times.values() if time)
        tables.append({key: time / best if time else 1e3 for key, time in times.items()})
    times = {key: time_of(entry) for key, entry in load(space)["cache"].items()}
    optimum = min(time for time in times.values() if time)
    order = sorted(times, key=lambda key: sum(table.get(key, 1e3) for table in tables))
    curve, best = [], None
    for key in order[:max(POINTS)]:
        if times[key] and (best is None or times[key] < best):
            best = times[key]
        curve.append(None if best is None else best / optimum)
    return [curve]


def shuffled(path, folder, seed):
    """A copy of a recording in which the entries' times are dealt out anew."""
    recorded = load(path)
    entries = list(recorded["cache"].values())
    results = [(entry["time"], entry.get("times")) for entry in entries]
    random.Random(seed).shuffle(results)
    for entry, (time, times) in zip(entries, results):
        entry["time"] = time
        entry.pop("times", None)
    return write(recorded, folder, "shuffled", path)


def reversed_times(path, folder):
    """A copy of a recording in which the fastest entry is the slowest; what failed has failed."""
    recorded = load(path)
    times = [time for time in map(time_of, recorded["cache"].values()) if time]
    product = min(times) * max(times)
    for entry in recorded["cache"].values():
        if time_of(entry):
            entry["time"] = product / entry["time"]
        entry.pop("times", None)
    return write(recorded, folder, "reversed", path)


def write(recorded, folder, how, path):
    copy = pathlib.Path(folder) / f"{how}_{path.parent.name}_{path.name.removesuffix('.gz')}"
    copy.write_text(json.dumps(recorded))
    return copy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--kindred", required=True, help="the program, built for release")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    kernels = {}
    for name, (path, spec) in rec.find_spaces(options.folder).items():
        kernels.setdefault(path.parent, []).append((name, path, spec))
    words = ["--seed", options.first_seed]
    tasks, labels = [], []
    with tempfile.TemporaryDirectory() as folder:
        for devices in kernels.values():
            for name, path, spec in devices if len(devices) > 1 else []:
                others = [other for _, other, _ in devices if other != path]
                wrong = [shuffled(other, folder, 1) for other in others]
                mirrored = [reversed_times(other, folder) for other in others]
                ways = {"cold": [], "transfer": others, "shuffled": wrong, "reversed": mirrored}
                for way, recordings in ways.items():
                    extra = [word for recording in recordings for word in ("--transfer", recording)]
                    tasks.append(lambda p=path, s=spec, e=extra: rec.replay(
                        options.kindred, p, s, options.seeds, max(POINTS), *words, *e)["curves"])
                    labels.append((name, way))
                tasks.append(lambda p=path, o=others: naive(p, o))
                labels.append((name, "naive"))
        if not tasks:
            raise SystemExit("no kernel was recorded on two devices")
        results = rec.in_parallel(options.jobs, tasks)
    found = {}
    for (name, way), curves in zip(labels, results):
        found.setdefault(name, {})[way] = rec.medians(curves, POINTS)

    means = {way: rec.geometric_mean([rec.distance(space[way][point]) for space in found.values() for point in EARLY])
             for way in ("transfer", "cold", "naive")}
    late = {way: rec.geometric_mean([rec.distance(space[way][100]) for space in found.values()])
            for way in ("shuffled", "reversed", "cold")}
    worse = [{"space": name, "evaluations": point} for name, space in found.items() for point in EARLY
             if space["transfer"][point] > min(space["cold"][point], space["naive"][point]) + WORSE_BY]
    out = {"seeds": options.seeds, "first_seed": options.first_seed, "spaces": found, "geometric_mean": means,
           "worse": worse, "points": len(found) * len(EARLY), "geometric_mean_after_100": late}
    if options.json:
        print(json.dumps(out, indent=1))
        return
    for name, space in found.items():
        for way, ratios in space.items():
            print(f"{name:22s} {way:9s} " + " ".join(f"{ratios[point]:.4f}" for point in POINTS))
    print("geometric means at 10 and 25: " + ", ".join(f"{way} {mean:.4f}" for way, mean in means.items()))
    print(f"transfer worse by more than {WORSE_BY} at {len(worse)} of {out['points']} points; after 100 evaluations "
          f"shuffled {late['shuffled']:.4f}, reversed {late['reversed']:.4f}, cold {late['cold']:.4f}")


main()
