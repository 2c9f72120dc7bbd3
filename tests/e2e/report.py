#!/usr/bin/env python3
"""`kindred analyze` of a log that was tuned here: what it says is compared with what SQL finds in the log's tables; the page is
opened from its file in a headless browser, where there is one: no console message, no request but the file itself, and
the numbers stand in the document that it makes. Usage: report.py PATH_OF_KINDRED
"""

import collections
import contextlib
import html
import json
import math
import os
import pathlib
import re
import shutil
import sqlite3
import statistics
import subprocess

import harness

BROKEN = "<!doctype html><script>console.error('seen'); fetch('http://127.0.0.1:9/outside');</script>"


def rows(log, query, *values):
    with contextlib.closing(sqlite3.connect(f"file:{log}?mode=ro", uri=True)) as database:
        return database.execute(query, values).fetchall()


def close(a, b):
    return a is not None and b is not None and abs(a - b) <= 1e-9 * max(abs(a), abs(b))


def best_so_far(trials):
    """[[trial of the subgraph from 1, best]] from (status, validated, median) in order."""
    curve = []
    for number, (status, validated, median) in enumerate(trials, 1):
        if status == "ok" and validated and (not curve or median < curve[-1][1]):
            curve.append([number, median])
    return curve


def subgraphs(sandbox, log, analysis):
    seen = 0
    for target in analysis["targets"]:
        for subgraph in target["subgraphs"]:
            key, name = subgraph["key"], subgraph["name"]
            place = (key, target["id"])
            trials = rows(log, "SELECT status, validated, median_ns FROM trial WHERE workload = ? AND target = ? ORDER BY id",
                          *place)
            seen += len(trials)
            sandbox.check(subgraph["trials"] == len(trials), f"{name}: trials")
            sandbox.check(subgraph["failed"] == sum(t[0] not in ("ok", "abandoned") for t in trials), f"{name}: failed")
            sandbox.check(subgraph["curve"] == best_so_far(trials), f"{name}: the curve")
            [(best, trial)] = rows(log, "SELECT median_ns, trial FROM best_schedule WHERE workload = ? AND target = ?", *place)
            winner = subgraph["winner"]
            sandbox.check(subgraph["best_ns"] == best and winner["trial"] == trial, f"{name}: the winner")
            [(flop, schedule, samples, predicted)] = rows(
                log, "SELECT flop, schedule, samples, predicted_ns FROM trial JOIN workload ON key = workload WHERE id = ?", trial)
            sandbox.check(close(subgraph["gflops"], flop / best), f"{name}: GFLOP/s")
            low, _, high = statistics.quantiles(json.loads(samples), n=4, method="inclusive")
            sandbox.check(winner["schedule"] == json.loads(schedule) and winner["predicted_ns"] == (predicted or None)
                          and close(winner["spread"] + 1, (high - low) / statistics.median(json.loads(samples)) + 1),
                          f"{name}: the winner's schedule, prediction and spread")
            untuned = rows(log, "SELECT untuned_ns FROM task WHERE workload = ? AND untuned_ns > 0", key)
            sandbox.check((subgraph["untuned_ns"],) == untuned[-1], f"{name}: untuned")
    [(trials,)] = rows(log, "SELECT count(*) FROM trial")
    sandbox.check(seen == trials == analysis["counts"]["trials"], "every trial is some subgraph's")


def totals(sandbox, log, analysis):
    for name, query in (("workloads", "SELECT count(*) FROM workload"), ("families", "SELECT count(*) FROM family"),
                        ("kernels", "SELECT count(*) FROM kernel"), ("sessions", "SELECT count(*) FROM session"),
                        ("failed", "SELECT count(*) FROM trial WHERE status NOT IN ('ok', 'abandoned')")):
        sandbox.check((analysis["counts"][name],) == rows(log, query)[0], f"the count of {name}")
    causes = dict(rows(log, "SELECT status, count(*) FROM trial WHERE status != 'ok' GROUP BY status"))
    sandbox.check({f["status"]: f["trials"] for f in analysis["failures"]} == causes, "failures by cause")
    for session in analysis["sessions"]:
        expected = rows(log, "SELECT count(*), sum(status NOT IN ('ok', 'abandoned')) FROM trial WHERE session = ?", session["id"])
        sandbox.check([(session["trials"], session["failed"])] == expected, f"session {session['id']}: trials")
    timed = rows(log, "SELECT count(*) FROM trial WHERE status = 'ok'")[0][0]
    sandbox.check(sum(b["trials"] for b in analysis["noise"]["spread"]) == timed, "the noise counts each timed trial")
    for target in analysis["targets"]:
        best = {s["key"]: s for s in target["subgraphs"]}
        for model in target["models"]:
            for total in ("untuned_ns", "best_ns", "roofline_ns"):
                summed = sum(use["count"] * best[use["key"]][total] for use in model["subgraphs"])
                sandbox.check(close(model[total], summed), f"{model['name']}: {total} is the sum of its subgraphs'")


def quantile(values, q):
    values = sorted(values)
    place = q * (len(values) - 1)
    low = math.floor(place)
    return values[low] + (place - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def ranks(values):
    """Ties at their mean rank."""
    return [sum(other < value for other in values) + (values.count(value) - 1) / 2 for value in values]


def noise_and_models(sandbox, log, analysis):
    timed = rows(log, "SELECT workload, target, samples, median_ns, predicted_ns FROM trial WHERE status = 'ok'")
    spreads = []
    for _, _, samples, _, _ in timed:
        samples = json.loads(samples)
        few = len(samples) < 2
        spreads.append(0 if few else (quantile(samples, 0.75) - quantile(samples, 0.25)) / quantile(samples, 0.5))
    sandbox.check(close(analysis["noise"]["median"] + 1, quantile(spreads, 0.5) + 1), "the median spread")
    below = -1
    for number in analysis["noise"]["spread"]:
        bound = math.inf if number["below"] is None else number["below"]
        sandbox.check(number["trials"] == sum(below < spread <= bound for spread in spreads), f"spreads up to {bound}")
        below = bound
    predicted = [(place, p, m) for *place, _, m, p in timed if p]
    errors = [math.log2(p / m) for _, p, m in predicted]
    models = analysis["models"]
    sandbox.check(models["trials"] == len(errors) > 0, "how many trials were predicted")
    for name, q in (("p10", 0.1), ("p50", 0.5), ("p90", 0.9)):
        sandbox.check(close(models["error_log2"][name] + 100, quantile(errors, q) + 100), f"the {name} of the models' errors")
    total = weight = 0
    for place in {tuple(place) for place, _, _ in predicted}:
        pairs = [(p, m) for at, p, m in predicted if tuple(at) == place]
        if len(pairs) >= 8:
            total += len(pairs) * statistics.correlation(ranks([p for p, _ in pairs]), ranks([m for _, m in pairs]))
            weight += len(pairs)
    sandbox.check(weight > 0 and close(models["rank_correlation"] + 2, total / weight + 2), "the rank correlation")


def families(sandbox, log, analysis):
    for target in analysis["targets"]:
        best = dict(rows(log, "SELECT workload, schedule FROM best_schedule WHERE target = ?", target["id"]))
        for family in target["families"]:
            members = {key for key, in rows(log, "SELECT workload FROM family_member WHERE family = ?", family["id"])}
            sandbox.check(set(family["members"]) == members, f"family {family['id']}: members")
            trials = sum(rows(log, "SELECT count(*) FROM trial WHERE workload = ? AND target = ?", key, target["id"])[0][0]
                         for key in members)
            sandbox.check(family["trials"] == trials, f"family {family['id']}: trials")
            made = collections.Counter((name, str(value)) for key in members for name, value in json.loads(best[key]).items())
            told = {(d["name"], v["value"]): v["winners"] for d in family["decisions"] for v in d["values"]}
            sandbox.check(told == made, f"family {family['id']}: what winners decided: {told} {made}")


def browse(sandbox, browser, page):
    """(the document that scripts made of the page, console messages, addresses that the page asked for). The browser asks
    for things of its own, which have no origin, and reaches no other machine."""
    net = sandbox.work / "net.json"
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom", "--no-first-run",
         "--virtual-time-budget=2000", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
         f"--user-data-dir={sandbox.folder / 'browser'}", f"--log-net-log={net}", page.as_uri()],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, env=sandbox.environment)
    events = [event.get("params", {}) for event in json.loads(net.read_text())["events"]] if net.exists() else []
    asked = {event["url"] for event in events if event.get("initiator", "not an origin") != "not an origin"}
    return done.stdout, re.findall(r".*CONSOLE.*", done.stderr), asked


def page(sandbox, path, analysis):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sandbox.skip("the page in a browser: no chromium is installed")
        return
    broken = sandbox.write("broken.html", BROKEN)
    _, console, asked = browse(sandbox, browser, broken)
    sandbox.check(any("seen" in line for line in console) and any("outside" in url for url in asked),
                  f"the browser tells of messages and requests: {console} {asked}")
    document, console, asked = browse(sandbox, browser, path)
    sandbox.check(not console, f"no console message: {console}")
    sandbox.check(not asked, f"no request leaves the page: {asked}")
    shown = html.unescape(re.sub(r"<script.*?</script>", "", document, flags=re.DOTALL))
    sandbox.check(f"{analysis['counts']['trials']} trials" in shown, "the page says how many trials")
    for target in analysis["targets"]:
        for subgraph in target["subgraphs"]:
            cells = next((re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in re.findall(r"<tr.*?</tr>", shown, re.DOTALL)
                          if f">{subgraph['name']}<" in row and subgraph["family"] in row), [])
            value, unit = cells[2].split(" ") if len(cells) > 8 else ("0", "ns")
            scale = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
            sandbox.check(abs(float(value.replace(",", "")) * scale / subgraph["best_ns"] - 1) < 0.006
                          and cells[7:9] == [str(subgraph["trials"]), str(subgraph["failed"])],
                          f"the page's row of {subgraph['name']}: {cells}")


def test(sandbox):
    words = [sandbox.write(f"{name}.kd", text) for name, text in
             (("matmul", harness.MATMUL), ("wider", harness.MATMUL.replace("[32,16]", "[32,48]").replace("f32[16]", "f32[48]")),
              ("softmax", harness.SOFTMAX), ("conv", harness.CONV))]
    log = sandbox.work / "kindred.db"
    done = sandbox.run("tune", *words, "--trials-per-task", 8, "--quiet", timeout=300)
    sandbox.check(done.code == 0, "a log is tuned", done)
    path = sandbox.work / "report.html"
    done = sandbox.run("analyze", log, "--html", path, "--json")
    analysis = done.json()
    if not sandbox.check(done.code == 0 and analysis is not None, "kindred analyze", done):
        return
    embedded = re.search(r'<script id="analysis" type="application/json">(.*?)</script>', path.read_text(), re.DOTALL)
    sandbox.check(json.loads(embedded.group(1)) == analysis, "the page holds what --json prints")
    subgraphs(sandbox, log, analysis)
    totals(sandbox, log, analysis)
    noise_and_models(sandbox, log, analysis)
    families(sandbox, log, analysis)
    page(sandbox, pathlib.Path(path), analysis)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    harness.main(test)
