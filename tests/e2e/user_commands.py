#!/usr/bin/env python3
"""What users bring beside one function: programs that measure (`objective: command`), verifiers, sequences of kernels,
constant memory, input files, included files and the key. Usage: user_commands.py PATH_OF_KINDRED
"""

import copy
import json
import struct

import harness

# Each value of `mode` does another thing; what it measures depends on `size`.
PROGRAM = """\
#!/bin/sh
[ "$1" = "--mode=$KINDRED_PARAMETER_mode" ] && [ "$TWICE" = $((2 * KINDRED_PARAMETER_size)) ] || exit 9
echo "a line of something else, of mode $KINDRED_PARAMETER_mode"
echo x >> runs
case $KINDRED_PARAMETER_mode in
  0) echo "{\\"objective\\": [$KINDRED_PARAMETER_size, $KINDRED_PARAMETER_size.5, 100], \\"unit\\": \\"J\\"}" ;;
  1) echo '{"invalid": "the result is no prime"}' ;;
  2) echo "no luck today" >&2; exit 3 ;;
  3) echo 'garbage' ;;
  4) echo '{"objective": NaN}' ;;
  5) echo '{"objective": 1e999}' ;;
  6) echo '{"objective": -1}' ;;
  7) sleep 60 ;;
  8) kill -SEGV $$ ;;
  9) echo '{"objective": 3, "unit": "W"}' ;;
  10) ;;
  11) echo '{"time": 3}' ;;
esac
"""
COMMAND_SPEC = {
    "ConfigurationSpace": {"TuningParameters": [{"Name": "mode", "Values": list(range(12))}, {"Name": "size", "Values": [1, 2, 4, 8]}],
                           "Conditions": ["mode == 0 or size == 1"]},
    "KernelSpecification": {"Objective": "command", "Command": ["./program.sh", "--mode={mode}"], "Environment": {"TWICE": "{size * 2}"},
                            "Unit": "J", "Timeout": 2},
}
SEQUENCE = """\
#include "inner/factor.h"
__constant__ float weights[3];
template <int kThreads>
__global__ void blur(float *tmp, const float *in, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) tmp[i] = weights[0] * in[i] + weights[1] * in[(i + 1) % n] + weights[2] * in[(i + 2) % n];
}
extern "C" __global__ void scale(float *out, const float *tmp, int n) {
  const int i = blockIdx.x * block + threadIdx.x;
  if (i < n) out[i] = SCALE * tmp[i];
}
extern "C" __global__ void reference(float *out, const float *in, int n) {
  for (int i = threadIdx.x; i < n; i += 32)
    out[i] = 2 * (0.25f * in[i] + 0.5f * in[(i + 1) % n] + 0.25f * in[(i + 2) % n]);
}
"""
SEQUENCE_SPEC = {
    "ConfigurationSpace": {"TuningParameters": [{"Name": "block", "Values": [32, 64, 128]}], "Conditions": []},
    "KernelSpecification": {
        "Language": "CUDA", "KernelFile": "sequence.cu", "ProblemSize": [300], "IncludePaths": ["headers"],
        "Defines": {"SCALE": "FACTOR_TEXT"},
        "Sequence": [{"KernelName": "blur<block>", "Arguments": ["tmp", "in", "n"], "LocalSize": {"X": "block"}},
                     {"KernelName": "scale", "Arguments": ["out", "tmp", "n"], "LocalSize": {"X": "block"}}],
        "ReferenceKernel": {"KernelName": "reference", "Arguments": ["out", "in", "n"], "LocalSize": {"X": 32}, "GridDivX": [300]},
        "Arguments": [
            {"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "Size": 300, "Tolerance": 1e-5},
            {"Name": "tmp", "Type": "float", "MemoryType": "Vector", "AccessType": "Scratch", "Size": 300},
            {"Name": "in", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "Size": 300, "FillType": "Random"},
            {"Name": "weights", "Type": "float", "MemoryType": "Vector", "MemType": "Constant", "AccessType": "ReadOnly", "Size": 3,
             "FillType": "BinaryRaw", "DataSource": "weights.npy"},
            {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": "ProblemSize[0]"}]},
}
VERIFIED = """\
#include "factor.h"
void half(float *out, const float *in, int n) {
  for (int i = 0; i < n; i += step)
    for (int j = i; j < i + step; ++j) out[j] = in[j] * FACTOR + (mode == 1 && j == 7);
}
"""
VERIFIER = """\
#!/usr/bin/env python3
import os, struct, sys
folder = sys.argv[1]
assert folder == os.environ["KINDRED_OUTPUTS"]
def values(name):
    with open(f"{folder}/{name}.npy", "rb") as file:
        data = file.read()
    assert data[:6] == b"\\x93NUMPY" and b"'shape': (64,)" in data[:128]
    return struct.unpack("<64f", data[-256:])
for place, (got, given) in enumerate(zip(values("out"), values("in"))):
    if abs(got - given / 2) > 1e-6:
        sys.exit(f"element {place} is {got}, not half of {given}")
"""
VERIFIED_SPEC = {
    "ConfigurationSpace": {"TuningParameters": [{"Name": "mode", "Values": [0, 1]}, {"Name": "step", "Values": [1, 4]}]},
    "KernelSpecification": {
        "Language": "C", "KernelName": "half", "KernelFile": "half.c", "ProblemSize": 64, "Verifier": ["./verify.py", "{outputs}"],
        "Arguments": [{"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "Size": 64},
                      {"Name": "in", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "Size": 64,
                       "FillType": "BinaryRaw", "DataSource": "in.raw"},
                      {"Name": "n", "Type": "int", "MemoryType": "Scalar", "FillValue": 64}]},
}


def emulated(sandbox):
    return dict(sandbox.environment, KINDRED_CUDA_LIBRARIES=str(sandbox.binary.parent / "lib" / "cuda_emulated"))


def executable(sandbox, name, text):
    sandbox.write(name, text).chmod(0o755)


def tuned(sandbox, spec, log, trials=50, **more):
    done = sandbox.run("tune", spec, "--trials", trials, "--log", log, "--json", "--quiet", timeout=200, **more)
    report = done.json()
    sandbox.check(done.code == 0 and report is not None, f"tune {spec}", done)
    return report or {}


def rows_of(sandbox, log):
    return list((harness.export(sandbox, log) or {}).values())


def npy(values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values)


def commands(sandbox):
    executable(sandbox, "program.sh", PROGRAM)
    spec = sandbox.write("command.json", json.dumps(COMMAND_SPEC))
    first = tuned(sandbox, spec, "c.db", 3)
    report = tuned(sandbox, spec, "c.db")
    sandbox.check(first.get("new_trials") == 3 and report.get("trials") == 15 and report.get("new_trials") == 12
                  and report.get("exhausted"), f"a command is resumed and ends: {report}")
    sandbox.check(len((sandbox.work / "runs").read_text().split()) == 15, "each configuration ran once")
    sandbox.check(report.get("failures") == {"wrong_answer": 1, "run_error": 8, "run_timeout": 1, "crash": 1},
                  f"each cause by its name: {report.get('failures')}")
    sandbox.check(report.get("best") == {"mode": 0, "size": 1} and report.get("objective") ==
                  {"unit": "J", "direction": "minimise", "best": 1.5}, f"the median of the samples: {report.get('objective')}")
    messages = {row["schedule"]["mode"]: row["message"] for row in rows_of(sandbox, "c.db")}
    for mode, expected in ((1, "no prime"), (2, "exit code 3; it said: no luck today"), (3, "garbage"), (4, "not finite"), (5, "not finite"),
                           (6, "above zero"), (7, "within 2 s"), (8, "SIGSEGV"), (9, '"W"'), (10, "no JSON object"), (11, "neither time_ms")):
        sandbox.check(expected in messages.get(mode, ""), f"mode {mode}: {expected}: {messages.get(mode)}")
    t4 = (sandbox.run("log", "t4", "c.db", report.get("key", "")).json() or {}).get("results", [])
    best = [result for result in t4 if result["configuration"] == {"mode": 0, "size": 4}]
    sandbox.check(best and best[0]["measurements"] == [{"name": "objective", "value": 4.5, "unit": "J"}], f"T4 has the objective: {best}")
    for words in (("query", report.get("key"), "--log", "c.db"), ("explain", report.get("key"), "--log", "c.db"), ("log", "verify", "c.db"),
                  ("analyze", "c.db")):
        done = sandbox.run(*words)
        sandbox.check(done.code == 0, f"{words[0]} of a command", done)
    answer = sandbox.run("query", report.get("key"), "--log", "c.db", "--json").json() or {}
    sandbox.check(answer.get("language") == "command" and "./program.sh" in answer.get("source", ""), f"the answer is what to run: {answer}")
    plain = sandbox.run("tune", spec, "--trials", 50, "--log", "c.db")
    sandbox.check(plain.code == 0 and "1.5 J" in plain.out, "the report for people has the unit", plain)

    most = copy.deepcopy(COMMAND_SPEC)
    most["KernelSpecification"].update(Direction="maximise")
    most["ConfigurationSpace"]["Conditions"] = ["mode == 0"]
    report = tuned(sandbox, sandbox.write("most.json", json.dumps(most)), "m.db")
    sandbox.check(report.get("best") == {"mode": 0, "size": 8} and abs(report["objective"]["best"] - 8.5) < 1e-9,
                  f"maximised: {report.get('objective')}")

    def refused(what, expected, **changes):
        spec = copy.deepcopy(COMMAND_SPEC)
        spec["KernelSpecification"].update(changes)
        done = sandbox.run("tune", sandbox.write("bad.json", json.dumps(spec)), "--log", "bad.db", "--trials", 3)
        sandbox.check(done.code == 2 and expected in done.err, f"{what}: exit code 2, {expected}", done)

    refused("an unknown parameter in a command", "sizes", Command=["./program.sh", "{sizes}"])
    refused("a brace", "closing brace", Command=["./program.sh", "{size"])
    refused("no command", "Command is missing", Command=[])
    refused("a direction", "sideways", Direction="sideways")
    refused("an objective", "energy", Objective="energy")
    refused("a file that is not there", "none.txt", Files=["none.txt"])
    refused("no such program", "none.sh", Command=["./none.sh"])
    refused("no such program on PATH", "no-such-program", Command=["no-such-program"])
    refused("division by zero in a command", "division by zero", Command=["./program.sh", "{1 // (size - size)}"])
    sandbox.check(harness.trials_in(sandbox.work / "bad.db") == 0, "nothing was tried")


def verifiers(sandbox):
    executable(sandbox, "verify.py", VERIFIER)
    sandbox.write("half.c", VERIFIED)
    sandbox.write("factor.h", '#include "deeper/value.h"\n')
    sandbox.write("deeper/value.h", "#define FACTOR 0.5f\n")
    (sandbox.work / "in.raw").write_bytes(struct.pack("<64f", *range(64)))
    spec = sandbox.write("half.json", json.dumps(VERIFIED_SPEC))
    report = tuned(sandbox, spec, "v.db")
    sandbox.check(report.get("failures") == {"wrong_answer": 2} and report.get("trials") == 4 and report["best"]["mode"] == 0
                  and report.get("reference") == "verifier ./verify.py", f"the verifier judges: {report}")
    messages = [row["message"] for row in rows_of(sandbox, "v.db") if row["status"] == "wrong_answer"]
    sandbox.check(messages and all("element 7 is 4.5, not half of 7.0" in message for message in messages), f"... and says why: {messages}")
    sandbox.check(not list((sandbox.folder / "tmp").glob("kindred-outputs-*")), "no folder of outputs is left")

    # What is included is part of the key, and of what was built.
    sandbox.write("deeper/value.h", "#define FACTOR 0.25f\n")
    other = tuned(sandbox, spec, "v.db")
    sandbox.check(other.get("key") != report.get("key") and other.get("failures") == {"wrong_answer": 4},
                  f"another header is another kernel: {other}")
    sandbox.write("deeper/value.h", "#define FACTOR 0.5f\n")
    same = tuned(sandbox, spec, "v.db")
    sandbox.check(same.get("key") == report.get("key") and same.get("new_trials") == 0, f"the old one is known again: {same}")

    def refused(what, expected, change):
        spec = copy.deepcopy(VERIFIED_SPEC)
        change(spec["KernelSpecification"])
        done = sandbox.run("tune", sandbox.write("bad.json", json.dumps(spec)), "--log", "bad.db", "--trials", 3)
        sandbox.check(done.code == 2 and expected in done.err, f"{what}: exit code 2, {expected}", done)

    refused("a verifier that is not there", "none.py", lambda kernel: kernel.update(Verifier=["./none.py"]))
    refused("a verifier and a reference", "give one of them", lambda kernel: kernel.update(ReferenceKernel="half"))
    refused("a file that is too short", "fewer than", lambda kernel: kernel["Arguments"][1].update(Size=65))
    refused("constant memory in C", "CUDA", lambda kernel: kernel["Arguments"][1].update(MemType="Constant"))
    (sandbox.work / "in.npy").write_bytes(npy([1.0] * 63))
    refused("an .npy file of another size", "63 elements", lambda kernel: kernel["Arguments"][1].update(DataSource="in.npy"))
    sandbox.write("cut.npy", "NUMPY")
    refused("no .npy file", "is no .npy file", lambda kernel: kernel["Arguments"][1].update(DataSource="cut.npy"))


def sequence_in_c(sandbox):
    sandbox.write("two.c", "void twice(float *t, const float *x, int n) { for (int i = 0; i < n; ++i) t[i] = 2 * x[i]; }\n"
                           "void add(float *y, const float *t, int n) { for (int i = 0; i < n; ++i) y[i] += t[i] + (mode == 1); }\n"
                           "void both(float *y, const float *x, int n) { for (int i = 0; i < n; ++i) y[i] += 2 * x[i]; }\n")
    vector = {"Type": "float", "MemoryType": "Vector", "Size": "ProblemSize[0]"}
    spec = {"ConfigurationSpace": {"TuningParameters": [{"Name": "mode", "Values": [0, 1]}]},
            "KernelSpecification": {
                "Language": "C", "KernelFile": "two.c", "ProblemSize": 100,
                "Sequence": [{"KernelName": "twice", "Arguments": ["t", "x", "n"]}, {"KernelName": "add", "Arguments": ["y", "t", "n"]}],
                "ReferenceKernel": {"KernelName": "both", "Arguments": ["y", "x", "n"]},
                "Arguments": [dict(vector, Name="x", AccessType="ReadOnly", FillType="Random"),
                              dict(vector, Name="t", AccessType="Scratch"),
                              dict(vector, Name="y", AccessType="ReadWrite", FillType="Constant", FillValue=1),
                              {"Name": "n", "Type": "int", "MemoryType": "Scalar", "FillValue": 100}]}}
    report = tuned(sandbox, sandbox.write("two.json", json.dumps(spec)), "two.db")
    sandbox.check(report.get("failures") == {"wrong_answer": 1} and report.get("best") == {"mode": 0}
                  and str(report.get("kernel")).startswith("twice+add 100"), f"a sequence in C: {report}")


def sequences(sandbox):
    if not (sandbox.binary.parent / "lib" / "cuda_emulated").is_dir():
        sandbox.skip("the emulated driver is not built")
        return
    sandbox.write("sequence.cu", SEQUENCE)
    sandbox.write("headers/inner/factor.h", "#define FACTOR_TEXT 2.0f\n")
    (sandbox.work / "weights.npy").write_bytes(npy([0.25, 0.5, 0.25]))
    spec = copy.deepcopy(SEQUENCE_SPEC)
    spec["KernelSpecification"]["Defines"] = {"SCALE": "'FACTOR_TEXT'"}
    report = tuned(sandbox, sandbox.write("sequence.json", json.dumps(spec)), "s.db", environment=emulated(sandbox))
    sandbox.check(report.get("trials") == 3 and report.get("failed") == 0 and (report.get("reference_ns") or 0) > 0,
                  f"two kernels, constant memory, a reference of its own: {report}")
    answer = sandbox.run("query", report.get("key", ""), "--target", "cuda:0", "--log", "s.db", "--json", environment=emulated(sandbox)).json() or {}
    block = (report.get("best") or {}).get("block")
    sandbox.check([step.get("entry") for step in answer.get("steps", [])] == [f"blur<{block}>", "scale"], f"both steps: {answer.get('steps')}")
    (sandbox.work / "weights.npy").write_bytes(npy([0.25, 0.5, 0.5]))
    report = tuned(sandbox, sandbox.work / "sequence.json", "w.db", environment=emulated(sandbox))
    sandbox.check(report.get("failures") == {"wrong_answer": 3}, f"the weights are what the file says: {report}")
    spec["KernelSpecification"]["Arguments"][3]["Name"] = "heights"
    done = sandbox.run("tune", sandbox.write("none.json", json.dumps(spec)), "--log", "n.db", "--trials", 3, "--json",
                       environment=emulated(sandbox), timeout=120)
    sandbox.check(done.code == 2 and "heights" in done.err, "a __constant__ array that the source lacks", done)
    spec["KernelSpecification"]["Sequence"][0]["Arguments"][1] = "input"
    done = sandbox.run("tune", sandbox.write("none.json", json.dumps(spec)), "--log", "n.db", environment=emulated(sandbox))
    sandbox.check(done.code == 2 and "'input'" in done.err, "an argument that is none", done)


def test(sandbox):
    commands(sandbox)
    verifiers(sandbox)
    sequence_in_c(sandbox)
    sequences(sandbox)


if __name__ == "__main__":
    harness.main(test)
