#!/usr/bin/env python3
"""How far `kindred predict --sweep` is from points it has not seen. For each computation a few widths are tuned; the
times of other widths are predicted from them; then those are tuned too, with as many trials, and compared.

    sweep_error.py PATH_OF_KINDRED [--trials 16] [--measure 5] [--unseen 8] [--json] [--keep FOLDER]

Reported, of the unseen widths: the error |predicted / measured - 1| (median, quartiles, largest), the bias (median of
predicted / measured), and how many measured times lie inside the predicted error bars, which promise 90%. Beside it
the error of joining the tuned widths by straight lines (log time over log width), which needs no model at all.
Wants an idle machine; some minutes.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import tempfile

CASES = {
    "conv 3x3, 64->co, 28x28": ("co", range(16, 513, 16), """\
input  X: f32[1,64,28,28]
weight W: f32[co=64,64,3,3]
weight b: f32[co]
T[n,o,y=28,x=28] = sum[c,r,s](padded(X[n,c,y+r-1,x+s-1], 0) * W[o,c,r,s])
output Y[n,o,y,x] = relu(T[n,o,y,x] + b[o])
"""),
    "linear, 128x256->n + gelu": ("n", range(64, 2049, 64), """\
input  X: f32[128,256]
weight W: f32[256,512]
weight b: f32[512]
T[m,n] = sum[k](X[m,k] * W[k,n])
output Y[m,n] = gelu(T[m,n] + b[n])
"""),
    "depthwise 3x3, c, 28x28": ("c", range(16, 513, 16), """\
input  X: f32[1,144,28,28]
weight W: f32[144,3,3]
output Y[n,c,y=28,x=28] = relu6(sum[r=3,s=3](padded(X[n,c,y+r-1,x+s-1], 0) * W[c,r,s]))
"""),
}


def spread_over(values, count):
    """`count` of the values, evenly spread, both ends included."""
    if count >= len(values):
        return list(values)
    return [values[round(i * (len(values) - 1) / (count - 1))] for i in range(count)]


def predict(kindred, file, extent, values, log, *words):
    sweep = f"{extent}={','.join(map(str, values))}"
    done = subprocess.run([kindred, "predict", str(file), "--sweep", sweep, "--log", str(log), "--json", *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"kindred predict failed with exit code {done.returncode}: {done.stderr}")
    return {point["value"]: point for point in json.loads(done.stdout)["points"]}


def straight_line(known, value):
    """Interpolated in log time over log width."""
    below, above = max(v for v in known if v <= value), min(v for v in known if v >= value)
    if below == above:
        return known[below]
    share = math.log(value / below) / math.log(above / below)
    return math.exp((1 - share) * math.log(known[below]) + share * math.log(known[above]))


def summary(pairs):
    """Of (predicted, measured)."""
    errors = sorted(abs(predicted / measured - 1) for predicted, measured in pairs)
    low, median, high = statistics.quantiles(errors, n=4, method="inclusive")
    return {"median": median, "quartiles": [low, high], "largest": errors[-1],
            "bias": statistics.median(predicted / measured for predicted, measured in pairs)}


def run_case(options, folder, name):
    extent, values, text = CASES[name]
    values = list(values)
    stem = name.split(",")[0].replace(" ", "_")
    file, log = folder / f"{stem}.kd", folder / f"{stem}.db"
    file.write_text(text)
    seen = spread_over(values, options.measure)
    unseen = spread_over([value for value in values if value not in seen], options.unseen)
    trials = ["--trials", str(options.trials)]
    known = predict(options.kindred, file, extent, seen, log, "--measure", str(len(seen)), *trials)
    predicted = predict(options.kindred, file, extent, unseen, log)
    measured = predict(options.kindred, file, extent, unseen, log, "--measure", str(len(unseen)), *trials)
    if any(point["measured"] for point in predicted.values()):
        raise SystemExit(f"{name}: a width that should be unseen was measured")
    if not all(point["measured"] for point in [*known.values(), *measured.values()]):
        raise SystemExit(f"{name}: a width could not be measured")
    times = {value: point["ns"] for value, point in known.items()}
    points = [{"value": value, "predicted_ns": predicted[value]["ns"], "low_ns": predicted[value]["low_ns"],
               "high_ns": predicted[value]["high_ns"], "match": predicted[value]["match"],
               "measured_ns": measured[value]["ns"], "line_ns": straight_line(times, value)} for value in unseen]
    return {"case": name, "seen": seen, "trials": options.trials, "points": points,
            "error": summary([(p["predicted_ns"], p["measured_ns"]) for p in points]),
            "line_error": summary([(p["line_ns"], p["measured_ns"]) for p in points]),
            "inside": sum(p["low_ns"] <= p["measured_ns"] <= p["high_ns"] for p in points),
            "bar": statistics.median(p["high_ns"] / p["predicted_ns"] for p in points)}


def show(case):
    print(f"\n{case['case']}: {len(case['seen'])} widths tuned ({', '.join(map(str, case['seen']))}), "
          f"{case['trials']} trials each")
    print(f"{'width':>8} {'predicted':>12} {'from':>12} {'to':>12} {'measured':>12} {'error':>8}")
    for p in case["points"]:
        print(f"{p['value']:>8} {p['predicted_ns'] / 1e3:>9.1f} us {p['low_ns'] / 1e3:>9.1f} us "
              f"{p['high_ns'] / 1e3:>9.1f} us {p['measured_ns'] / 1e3:>9.1f} us "
              f"{100 * (p['predicted_ns'] / p['measured_ns'] - 1):>+7.1f}%")
    for title, error in (("predicted", case["error"]), ("straight line", case["line_error"])):
        print(f"{title}: error {100 * error['median']:.1f}% (quartiles {100 * error['quartiles'][0]:.1f} to "
              f"{100 * error['quartiles'][1]:.1f}%, largest {100 * error['largest']:.1f}%), bias x{error['bias']:.3f}")
    print(f"inside the error bars: {case['inside']} of {len(case['points'])} (90% promised; "
          f"median bar x{case['bar']:.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kindred")
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--measure", type=int, default=5, help="widths tuned first (at least 2)")
    parser.add_argument("--unseen", type=int, default=8, help="other widths (at least 2)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the logs (default: thrown away)")
    options = parser.parse_args()
    if options.measure < 2 or options.unseen < 2:
        parser.error("--measure and --unseen are at least 2")
    with tempfile.TemporaryDirectory(prefix="kindred-sweep-") as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        cases = []
        for name in CASES:
            cases.append(run_case(options, folder, name))
            if not options.json:
                show(cases[-1])
    if options.json:
        print(json.dumps({"cases": cases}, indent=2))


if __name__ == "__main__":
    main()
