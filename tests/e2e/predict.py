#!/usr/bin/env python3
"""`kindred predict`: a sweep without a log, with points that it tunes first, and again from the log; ranked schedules; bad
input. Usage: predict.py PATH_OF_KINDRED
"""

import contextlib
import math
import sqlite3

import harness

BARS_UNKNOWN = 2 ** 1.645  # a standard deviation of one in log2, 90%


def sweep(sandbox, *words):
    done = sandbox.run("predict", "w.kd", "--sweep", "n=16..64:16", "--json", *words, timeout=120)
    answer = done.json()
    sandbox.check(done.code == 0 and answer is not None, f"predict {words}", done)
    points = answer["points"] if answer else []
    sandbox.check([p["value"] for p in points] == [16, 32, 48, 64], f"{words}: a point for each value")
    sandbox.check(all(0 < p["low_ns"] <= p["ns"] <= p["high_ns"] for p in points), f"{words}: error bars: {points}")
    return answer, points


def test(sandbox):
    sandbox.write("w.kd", harness.MATMUL)
    _, points = sweep(sandbox)
    sandbox.check(all(p["match"] == "default" and math.isclose(p["high_ns"] / p["ns"], BARS_UNKNOWN) for p in points),
                  f"without a log the prior answers: {points}")
    sandbox.check(not (sandbox.work / "kindred.db").exists(), "and no log comes to be")
    answer, points = sweep(sandbox, "--measure", 2, "--trials", 2)
    sandbox.check([p["measured"] for p in points] == [True, False, False, True], f"both ends were measured: {points}")
    sandbox.check(answer["new_trials"] == 4, f"with two trials each: {answer['new_trials']}")
    sandbox.check(all(p["match"] == "sibling" for p in points[1:3]), f"the others follow them: {points}")
    with contextlib.closing(sqlite3.connect(f"file:{sandbox.work / 'kindred.db'}?mode=ro", uri=True)) as database:
        best = dict(database.execute("SELECT workload, median_ns FROM best_schedule"))
    sandbox.check({p["key"]: p["ns"] for p in points if p["measured"]} == best, "measured times are the log's")
    again, repeated = sweep(sandbox, "--measure", 2, "--trials", 2)
    sandbox.check(again["new_trials"] == 0 and repeated == points, "nothing is measured twice")
    _, read = sweep(sandbox)
    sandbox.check(read == points, "the log answers the same")
    shown = sandbox.run("predict", "w.kd", "--sweep", "n=16..64:16")
    sandbox.check(shown.code == 0 and len(shown.out.splitlines()) == 6, "a table, one line a point", shown)

    ranked = sandbox.run("predict", "w.kd", "-k", 5, "--json").json()
    times = [one["predicted_ns"] for one in ranked["schedules"]]
    sandbox.check(len(times) == 5 and times == sorted(times), f"five schedules, best first: {times}")
    sandbox.check(len({str(one["schedule"]) for one in ranked["schedules"]}) == 5, "five different ones")
    for words, expected in ((["w.kd", "--sweep", "z=1,2"], "it has k, m, n"), (["w.kd", "--sweep", "n=4..1"], "not a sweep"),
                            (["none.kd", "-k", "2"], "cannot be read"), (["w.kd", "--measure", "2"], "give --sweep too"),
                            (["w.kd", "--sweep", "n=0"], "not a sweep"), ([".", "-k", "2"], "cannot be read")):
        done = sandbox.run("predict", *words)
        sandbox.check(done.code == 2 and expected in done.err, f"predict {words}: exit code 2, '{expected}'", done)


if __name__ == "__main__":
    harness.main(test)
