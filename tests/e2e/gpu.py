#!/usr/bin/env python3
"""A GPU target as a whole program, without a GPU: the emulated driver beside the program stands in for it. Tuned,
killed and resumed; answers exact afterwards; hardware counters of the winners; whole models as graphs; a device that is
lost in the middle; no driver at all; the emulation as a target of its own; scripts/gpu_check at tiny sizes.
Usage: gpu.py PATH_OF_KINDRED
"""

import os
import signal
import time

import harness

MORE_TRIALS = 24
SOFTMAX = harness.SOFTMAX.replace("[20,40]", "[6,40]")


def emulated(sandbox, **planted):
    environment = dict(sandbox.environment, KINDRED_CUDA_LIBRARIES=str(sandbox.binary.parent / "lib" / "cuda_emulated"))
    if planted:
        environment["KINDRED_FAKE_CUDA"] = ",".join(f"{name}={value}" for name, value in planted.items())
    return environment


def no_driver(sandbox, workload):
    empty = sandbox.folder / "no_libraries"
    empty.mkdir()
    environment = dict(sandbox.environment, KINDRED_CUDA_LIBRARIES=str(empty))
    for words in (["device", "cuda:0"], ["tune", workload, "--target", "cuda:0", "--log", "none.db"],
                  ["query", workload, "--target", "cuda:0"], ["tune", workload, "--target", "cuda:all", "--log", "none.db"]):
        done = sandbox.run(*words, environment=environment)
        sandbox.check(done.code == 2 and len(done.err.strip().splitlines()) == 1 and "libcuda" in done.err,
                      f"no driver: {words[0]} on {words[-1]} gives one line and exit code 2", done)
    sandbox.check(not (sandbox.work / "none.db").exists(), "no driver: no log is begun")
    done = sandbox.run("tune", workload, "--trials", 2, "--log", "cpu.db", "--json", environment=environment)
    sandbox.check(done.code == 0 and done.json() is not None, "no driver: tuning for the CPU works", done)
    check = sandbox.run_script("scripts/gpu_check", "--tests", environment=environment)
    sandbox.check(check.code == 0 and "skipped" in check.out, "no driver: gpu_check is skipped with a notice", check)


def device(sandbox):
    done = sandbox.run("device", "cuda:0", "--json", environment=emulated(sandbox))
    report = done.json() or {}
    sandbox.check(done.code == 0 and report.get("kind") == "cuda" and report.get("memory_gbps", 0) > 0, "device cuda:0 says what it offers", done)
    done = sandbox.run("device", "cuda:7", environment=emulated(sandbox))
    sandbox.check(done.code == 2 and "cuda:7" in done.err, "a GPU that is not there is bad input, named", done)


def killed_and_resumed(sandbox, workloads, log):
    environment = emulated(sandbox)

    def command(trials):
        return ["tune", *workloads, "--target", "cuda:0", "--trials", trials, "--seed", 3, "--log", log, "--json"]

    known = {}
    for kill in range(2):
        process = sandbox.start(*command(MORE_TRIALS), environment=environment)
        harness.wait_for_trials(log, 3 + 2 * kill, process, 60)
        written = harness.trials_in(log)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        deadline = time.monotonic() + 10
        while sandbox.survivors() and time.monotonic() < deadline:
            time.sleep(0.05)
        sandbox.check(not sandbox.survivors(), f"kill {kill}: no process lives on: {sandbox.survivors()}")
        after = harness.export(sandbox, log) or {}
        lost = [identity for identity, trial in known.items() if after.get(identity) != trial]
        sandbox.check(written > 0 and len(after) >= written and not lost, f"kill {kill}: all {written} finished trials are there, unchanged")
        known = after
    done = sandbox.run(*command(MORE_TRIALS), environment=environment, timeout=300)
    report = done.json()
    if not sandbox.check(done.code == 0 and report is not None, "the same command goes on and ends", done):
        return
    sandbox.check(report["trials"] == MORE_TRIALS and "another version" not in done.err,
                  f"a resumed session replays its decisions: {report['trials']} trials", done)
    after = harness.export(sandbox, log) or {}
    sandbox.check(all(after.get(identity) == trial for identity, trial in known.items()), "what was measured stays as it was")
    ok = [trial for trial in after.values() if trial["status"] == "ok"]
    sandbox.check(ok and all(trial["cache_state"] == "cold" and trial["conditions"].get("timer") in ("cupti", "events") for trial in ok),
                  f"rows say how they were timed: {ok[:1]}")
    sandbox.check(all(trial["driver"] == "580.65.06 (CUDA 13.0)" for trial in after.values()), "rows name the driver")
    sandbox.check(all(trial["status"] in ("ok", "abandoned") for trial in after.values()),
                  f"no kernel failed: {[(t['status'], t['message']) for t in after.values() if t['status'] not in ('ok', 'abandoned')][:3]}")
    verified = sandbox.run("log", "verify", log)
    sandbox.check(verified.code == 0, "log verify finds nothing wrong", verified)
    for workload in workloads:
        done = sandbox.run("query", workload, "--target", "cuda:0", "--log", log, "--json", environment=environment)
        answer = done.json() or {}
        sandbox.check(answer.get("match") == "exact" and answer.get("validated") is True and answer.get("language") == "cuda"
                      and answer["steps"][0]["parameters"], f"query of {workload.name} is exact", done)
        explained = sandbox.run("explain", answer.get("key", ""), "--log", log, "--target", "cuda:0")
        sandbox.check(explained.code == 0 and "sketch" in explained.out, "explain knows the winner", explained)
    analysed = sandbox.run("analyze", log)
    sandbox.check(analysed.code == 0 and "cold caches" in analysed.out, "analyze says how a GPU was timed", analysed)


def faults(sandbox, workload):
    """What is planted into the driver concerns the candidates that it hits, and no other."""
    done = sandbox.run("tune", workload, "--target", "cuda:0", "--trials", 6, "--log", "events.db", "--json",
                       environment=emulated(sandbox, cupti=15), timeout=120)
    rows = (harness.export(sandbox, "events.db") or {}).values()
    sandbox.check(done.code == 0 and rows and {row["conditions"].get("timer") for row in rows if row["status"] == "ok"} == {"events"},
                  "where CUPTI is refused, events time, and rows say so", done)
    done = sandbox.run("tune", workload, "--target", "cuda:0", "--trials", 12, "--log", "sticky.db", "--json",
                       environment=emulated(sandbox, illegal_address="sketch: rows"), timeout=180)
    report = done.json() or {}
    rows = list((harness.export(sandbox, "sticky.db") or {}).values())
    hit = [row for row in rows if row["sketch"] == "rows"]
    others = [row for row in rows if row["sketch"] != "rows"]
    sandbox.check(done.code == 0 and report.get("trials") == len(rows) and hit and others, "kernels that break the context do not end a run", done)
    sandbox.check(all(row["status"] not in ("ok", "abandoned") and row["message"] for row in hit), f"they fail, with the cause: {hit[:1]}")
    sandbox.check(all(row["status"] in ("ok", "abandoned") for row in others), "no other candidate fails")


def profiled(sandbox, workloads):
    words = ["tune", *workloads, "--target", "cuda:0", "--trials-per-task", 2, "--json", "--profile"]
    done = sandbox.run(*words, "--log", "profiled.db", environment=emulated(sandbox), timeout=180)
    report = done.json() or {"tasks": []}
    sandbox.check(done.code == 0 and len(report["tasks"]) == len(workloads) and "hardware counters of 2 kernels were read" in done.err,
                  "--profile counts the winners", done)
    for task in report["tasks"]:
        explained = sandbox.run("explain", task["key"], "--log", "profiled.db", "--target", "cuda:0", "--json").json() or {"ranking": [{}]}
        counters = explained["ranking"][0].get("counters") or {}
        sandbox.check(counters.get("dram_read_bytes", 0) > 0 and "occupancy_percent" in counters, f"explain has the counters: {counters}")
        text = sandbox.run("explain", task["key"], "--log", "profiled.db", "--target", "cuda:0")
        sandbox.check("hardware counters of the best: dram_read_bytes" in text.out, "explain shows them", text)
    verified = sandbox.run("log", "verify", "profiled.db")
    sandbox.check(verified.code == 0, "log verify finds nothing wrong with profiles", verified)
    again = sandbox.run(*words, "--log", "profiled.db", environment=emulated(sandbox, profiler=35), timeout=120)
    sandbox.check(again.code == 0 and "hardware counters of 0 kernels" in again.err and "CUPTI" not in again.err,
                  "what is profiled is not profiled again", again)
    done = sandbox.run(*words, "--log", "unprofiled.db", environment=emulated(sandbox, profiler=35), timeout=180)
    said = [line for line in done.err.splitlines() if "no hardware counters" in line]
    sandbox.check(done.code == 0 and len(said) == 1 and "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" in said[0],
                  f"counters that are not permitted are one line, and the run goes on: {said}", done)
    done = sandbox.run("tune", workloads[0], "--trials", 1, "--profile", "--log", "none.db")
    sandbox.check(done.code == 2 and "cuda:0" in done.err and not (sandbox.work / "none.db").exists(), "--profile is for CUDA devices", done)


def benchmarked(sandbox, workloads, log):
    """The log of `profiled` has schedules of both workloads."""
    environment = emulated(sandbox)
    done = sandbox.run("benchmark", *workloads, "--log", log, "--target", "cuda:0", "--json", environment=environment, timeout=120)
    models = (done.json() or {}).get("models", [])
    sandbox.check(done.code == 0 and len(models) == len(workloads), "benchmark replays each input", done)
    for model in models:
        sandbox.check(model["complete"] and model["subgraphs"] == 1 and model["kernels"] >= 1
                      and 0 < model["kernels_ns"] <= model["graph_ns"] and model["launched_ns"] > 0 and model["sum_ns"] > 0
                      and model["samples"], f"its times are there: {model}")
    mlp = harness.MODELS / "tiny" / "mlp.onnx"
    tuned = sandbox.run("tune", mlp, "--target", "cuda:0", "--trials-per-task", 1, "--log", "mlp.db", "--json", environment=environment, timeout=120)
    best = {task["name"]: task["best_ns"] * task["runs"] for task in (tuned.json() or {"tasks": []})["tasks"]}
    whole = (sandbox.run("benchmark", mlp, "--log", "mlp.db", "--json", environment=environment).json() or {"models": [{}]})["models"][0]
    sandbox.check(len(best) > 1 and whole.get("complete") and whole.get("subgraphs") == len(best) and abs(whole["sum_ns"] - sum(best.values())) < 1,
                  f"a model's subgraphs are replayed together: {whole}", tuned)
    text = sandbox.run("benchmark", workloads[0], "--log", log, environment=environment)
    sandbox.check(text.code == 0 and "as a graph" in text.out and "sum of the log" in text.out, "... as a table too", text)
    events = sandbox.run("benchmark", workloads[0], "--log", log, "--json", environment=emulated(sandbox, cupti=15))
    model = (events.json() or {"models": [{}]})["models"][0]
    sandbox.check(events.code == 0 and model.get("graph_ns", 0) > 0 and model.get("kernels_ns", 0) is None and "not timed alone" in events.err,
                  "without CUPTI, a graph is timed all the same", events)
    refused = sandbox.run("benchmark", workloads[0], "--log", log, environment=emulated(sandbox, graph=900))
    sandbox.check(refused.code == 1 and "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED" in refused.err, "a graph that is refused is an error", refused)
    other = sandbox.write("other.kd", harness.ADD.replace("+", "-"))
    untuned = sandbox.run("benchmark", other, "--log", log, environment=environment)
    sandbox.check(untuned.code == 2 and "tune it first" in untuned.err, "what was not tuned says so", untuned)
    on_cpu = sandbox.run("benchmark", workloads[0], "--log", log, "--target", "cpu")
    sandbox.check(on_cpu.code == 2 and "cuda:0" in on_cpu.err, "benchmark is for CUDA devices", on_cpu)


def lost(sandbox, workload):
    gone = sandbox.folder / "device_is_lost"
    environment = emulated(sandbox, lost="sketch: rows", lost_file=gone)
    done = sandbox.run("tune", workload, "--target", "cuda:0", "--trials", 12, "--log", "lost.db", environment=environment, timeout=120)
    sandbox.check(done.code == 1 and gone.exists() and "lost" in done.err, "a lost device ends the run with a message", done)
    verified = sandbox.run("log", "verify", "lost.db")
    kept = harness.export(sandbox, "lost.db")
    sandbox.check(verified.code == 0 and kept is not None, "what was measured before is in the log, which is sound", verified)
    done = sandbox.run("tune", workload, "--target", "cuda:0", "--trials", 12, "--log", "lost.db", "--json",
                       environment=emulated(sandbox), timeout=180)
    after = harness.export(sandbox, "lost.db") or {}
    sandbox.check(done.code == 0 and len(after) == 12 and all(after.get(identity) == trial for identity, trial in (kept or {}).items()),
                  "with the device back, the same command goes on", done)


def emulation(sandbox, workload):
    done = sandbox.run("tune", workload, "--target", "cuda-emulated", "--trials-per-task", 2, "--log", "emulated.db", "--json", timeout=120)
    report = done.json() or {"tasks": []}
    sandbox.check(done.code == 0 and report["tasks"] and all(task["right"] == task["checked"] > 0 for task in report["tasks"]),
                  "cuda-emulated checks schedules", done)
    sandbox.check(not (sandbox.work / "emulated.db").exists() and "_ns" not in done.out, "... without a time, without a log")


def gpu_check(sandbox):
    done = sandbox.run_script("scripts/gpu_check", "--tiny", "--only", "bandwidth,gemm,busy,zoo", environment=emulated(sandbox))
    sandbox.check(done.code == 0 and "all of it ran" in done.out, "the GPU benchmarks run", done)


def test(sandbox):
    if not (sandbox.binary.parent / "lib" / "cuda_emulated").is_dir():
        sandbox.skip("the emulated driver is not built")
        return
    softmax = sandbox.write("softmax.kd", SOFTMAX)
    add = sandbox.write("add.kd", harness.ADD)
    no_driver(sandbox, add)
    device(sandbox)
    killed_and_resumed(sandbox, [softmax, add], sandbox.work / "gpu.db")
    faults(sandbox, softmax)
    profiled(sandbox, [softmax, add])
    benchmarked(sandbox, [softmax, add], "profiled.db")
    lost(sandbox, softmax)
    emulation(sandbox, add)
    gpu_check(sandbox)


harness.main(test)
