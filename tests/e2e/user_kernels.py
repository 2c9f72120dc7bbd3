#!/usr/bin/env python3
"""Kernels that users bring: the three of tests/data/kernels tuned for real, resumed, asked for and exported; kernels
that do everything wrong; descriptions and recordings that are wrong. Usage: user_kernels.py PATH_OF_KINDRED
"""

import copy
import gzip
import json

import harness

KERNELS = harness.ROOT / "tests" / "data" / "kernels"
SPACES = harness.ROOT / "tests" / "data" / "recorded_spaces"

# Each value of `mode` does another thing wrong.
TROUBLE = """\
#include <stdlib.h>
void reference(float *out, const float *in, int n) {
  for (int i = 0; i < n; ++i) out[i] = 2 * in[i];
}
void trouble(float *out, const float *in, int n) {
#if mode == 5
#error this configuration is not for compilers
#endif
  for (int i = 0; i < n; ++i) out[i] = 2 * in[i];
  if (mode == 1) out[n / 2] = -1;
  if (mode == 2) out[n] = 7;
  if (mode == 3) ((float *)in)[0] = 7;
  if (mode == 4) abort();
}
"""
SPEC = {
    "ConfigurationSpace": {"TuningParameters": [{"Name": "mode", "Type": "int", "Values": "[0, 1, 2, 3, 4, 5]"}],
                           "Conditions": []},
    "KernelSpecification": {
        "Language": "C", "KernelName": "trouble", "KernelFile": "trouble.c", "ReferenceKernel": "reference",
        "ProblemSize": [999], "CompilerOptions": ["-O1"],
        "Arguments": [
            {"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "Size": "ProblemSize[0]",
             "FillType": "Constant", "FillValue": 0.0},
            {"Name": "in", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "Size": "ProblemSize[0]",
             "FillType": "Random", "FillValue": 1.0},
            {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": "ProblemSize[0]"}]},
}


def changed(change):
    spec = copy.deepcopy(SPEC)
    change(spec, spec["ConfigurationSpace"], spec["KernelSpecification"])
    return json.dumps(spec)


def tuned(sandbox, spec, trials, *words):
    done = sandbox.run("tune", spec, "--trials", trials, "--log", "k.db", "--json", "--quiet", *words, timeout=200)
    report = done.json()
    sandbox.check(done.code == 0 and report is not None, f"tune {spec}", done)
    return report or {}


def the_three(sandbox):
    for kernel in ("gemm", "stencil", "reduction"):
        spec = KERNELS / f"{kernel}_c.json"
        first = tuned(sandbox, spec, 5)
        report = tuned(sandbox, spec, 12)
        sandbox.check((first.get("new_trials"), report.get("new_trials")) == (5, 7),
                      f"{kernel}: the second run goes on where the first was: {report}")
        sandbox.check(report.get("failed") == 0 and (report.get("best_ns") or 0) > 0, f"{kernel}: all are right: {report}")
        if kernel != "stencil":
            sandbox.check(report.get("reference_ns", 0) > report.get("best_ns", 1),
                          f"{kernel}: faster than the reference: {report}")
        else:
            sandbox.check(str(report.get("reference")).startswith("configuration "), f"{kernel}: the first one is right")
        key = report.get("key", "")
        answer = sandbox.run("query", key, "--log", "k.db", "--json")
        package = answer.json() or {}
        sandbox.check(answer.code == 0 and package.get("schedule") == report.get("best") and package.get("validated"),
                      f"{kernel}: the log answers with the best", answer)
        for words in (("query", key, "--log", "k.db"), ("explain", key, "--log", "k.db"), ("analyze", "k.db"),
                      ("log", "verify", "k.db"), ("log", "show", "k.db", key)):
            done = sandbox.run(*words)
            sandbox.check(done.code == 0, f"{kernel}: {' '.join(words)}", done)
        t4 = sandbox.run("log", "t4", "k.db", key)
        results = (t4.json() or {}).get("results", [])
        sandbox.check(t4.code == 0 and len(results) == 12, f"{kernel}: 12 results in T4", t4)
        sandbox.write("t4.json", t4.out)
        replay = sandbox.run("replay", "t4.json", "--budget", 12, "--seeds", 2, "--json").json() or {}
        sandbox.check(replay.get("configurations") == 12 and replay["runs"][0]["ratio"][-1] == 1,
                      f"{kernel}: replay reads them: {replay.get('configurations')}")
    trials = harness.export(sandbox, "k.db") or {}
    schedules = [(trial["workload"], trial["schedule_key"]) for trial in trials.values()] if trials else []
    sandbox.check(len(set(schedules)) == len(schedules) == 36, f"nothing was tried twice: {len(schedules)}")


def trouble(sandbox):
    sandbox.write("trouble.c", TROUBLE)
    report = tuned(sandbox, sandbox.write("trouble.json", json.dumps(SPEC)), 50)
    sandbox.check(report.get("trials") == 6 and report.get("exhausted"), f"the whole space was tried: {report}")
    expected = {"wrong_answer": 1, "out_of_bounds": 2, "crash": 1, "build_error": 1}
    sandbox.check(report.get("failures") == expected, f"each cause by its name: {report.get('failures')}")
    sandbox.check(report.get("best") == {"mode": 0}, f"the right one is the best: {report.get('best')}")

    # Read and written: what one run leaves is not what the next one is checked with.
    sandbox.write("twice.c", "void twice(double *x, int n) { for (int i = 0; i < n; i += step)\n"
                             "  for (int j = i; j < i + step; ++j) x[j] = 0.5 * x[j] + 1; }\n")
    spec = {"ConfigurationSpace": {"TuningParameters": [{"Name": "step", "Values": [1, 2, 4]}]},
            "KernelSpecification": {"Language": "C++", "KernelName": "twice", "KernelFile": "twice.c", "ProblemSize": 64,
                                    "Arguments": [{"Name": "x", "Type": "double", "MemoryType": "Vector", "Size": 64,
                                                   "AccessType": "ReadWrite", "FillType": "Random"},
                                                  {"Name": "n", "Type": "int", "MemoryType": "Scalar", "FillValue": 64}]}}
    report = tuned(sandbox, sandbox.write("twice.json", json.dumps(spec)), 3)
    sandbox.check(report.get("failed") == 0 and report.get("trials") == 3, f"a buffer that is read and written: {report}")


def bad_descriptions(sandbox):
    sandbox.write("trouble.c", TROUBLE)

    def refused(what, text, *expected):
        done = sandbox.run("tune", sandbox.write("bad.json", text), "--log", "bad.db", "--trials", 20)
        sandbox.check(done.code == 2 and all(word in done.err for word in expected), f"{what}: exit code 2, {expected}", done)

    def condition(text):
        return changed(lambda spec, space, kernel: space["Conditions"].append({"Expression": text}))

    refused("contradictory conditions", condition("mode > 3 and mode < 2"), "the space is empty", "mode > 3 and mode < 2")
    refused("an unknown parameter", condition("block_size_x <= 4"), "block_size_x")
    refused("a division by zero", condition("4 % mode == 0"), "division by zero", "mode=0")
    refused("no kernel", changed(lambda spec, space, kernel: spec.pop("KernelSpecification")), "KernelSpecification")
    refused("no file", changed(lambda spec, space, kernel: kernel.update(KernelFile="none.c")), "none.c")
    refused("an unknown language", changed(lambda spec, space, kernel: kernel.update(Language="Ada")), "Ada")
    refused("a reference that is not there", changed(lambda spec, space, kernel: kernel.update(ReferenceKernel="none")), "none")
    refused("not JSON", json.dumps(SPEC)[:-30])
    sandbox.check(not (sandbox.work / "bad.db").exists() or harness.trials_in(sandbox.work / "bad.db") == 0,
                  "nothing was tried")

    sandbox.write("broken.c", "void trouble(float *out, const float *in, int n) { undeclared = 1; }\n")
    refused("compiles in no configuration",
            changed(lambda spec, space, kernel: (kernel.update(KernelFile="broken.c"), kernel.pop("ReferenceKernel"))),
            "compiles in none of the 6", "undeclared")
    sandbox.check(harness.trials_in(sandbox.work / "bad.db") == 6, "these trials are in the log")
    two = sandbox.run("tune", sandbox.work / "bad.json", sandbox.work / "bad.json")
    sandbox.check(two.code == 2 and "alone" in two.err, "a description beside another input", two)


def bad_recordings(sandbox):
    with gzip.open(SPACES / "pnpoly" / "RTX_3090.json.gz", "rt") as file:
        text = file.read()
    recorded = json.loads(text)
    entries = list(recorded["cache"].values())
    for entry, time in zip(entries, (float("nan"), float("inf"), -1, 0, "RuntimeFailedConfig")):
        entry["time"] = time
    sandbox.write("odd.json", json.dumps(recorded))
    done = sandbox.run("replay", "odd.json", "--budget", 40, "--seeds", 1, "--json")
    answer = done.json() or {}
    sandbox.check(done.code == 0 and answer.get("configurations") == len(entries) and "2 times are not finite" in done.err,
                  "times that are not finite are failures", done)
    cut = sandbox.write("cut.json", text[:len(text) * 2 // 3])
    done = sandbox.run("replay", cut, "--budget", 20, "--seeds", 1, "--json")
    sandbox.check(done.code == 0 and "its end is missing" in done.err, "a truncated recording loads", done)
    packed = (SPACES / "pnpoly" / "RTX_3090.json.gz").read_bytes()
    (sandbox.work / "cut.json.gz").write_bytes(packed[:len(packed) * 2 // 3])
    done = sandbox.run("replay", "cut.json.gz", "--budget", 20, "--seeds", 1, "--json")
    sandbox.check(done.code == 0 and "its end is missing" in done.err, "a truncated gzip file loads", done)
    for entry in entries:
        entry["time"] = float("nan")
        entry.pop("times", None)
    sandbox.write("failed.json", json.dumps(recorded))
    for words, expected in ((["failed.json"], "every configuration"), (["none.json"], "cannot be read"),
                            (["cut.json", "--transfer", "failed.json"], "failed.json"),
                            (["cut.json", "--transfer", "none.json"], "none.json"),
                            (["cut.json", "--spec", "none.json"], "none.json"),
                            (["cut.json", "--searcher", "dowsing"], "dowsing")):
        done = sandbox.run("replay", *words, "--budget", 5, "--seeds", 1)
        sandbox.check(done.code == 2 and expected in done.err, f"replay {words}: exit code 2, '{expected}'", done)


def test(sandbox):
    the_three(sandbox)
    trouble(sandbox)
    bad_descriptions(sandbox)
    bad_recordings(sandbox)


if __name__ == "__main__":
    harness.main(test)
