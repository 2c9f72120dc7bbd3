#!/usr/bin/env python3
"""CUDA kernels that users bring, on the emulated device: the three of tests/data/kernels tuned, resumed, asked for and
exported; templates, included files and macros; configurations that the device refuses. Usage:
user_cuda_kernels.py PATH_OF_KINDRED
"""

import json

import harness

KERNELS = harness.ROOT / "tests" / "data" / "kernels"

TEMPLATE = """\
#include "helpers/scale.h"
template <typename T, int kPer>
__global__ void scale(T *__restrict__ out, const T *__restrict__ in, int n) {
  __shared__ T tile[block_size_x * kPer];
  const int first = (blockIdx.x * block_size_x + threadIdx.x) * kPer;
#pragma unroll
  for (int k = 0; k < kPer; ++k) tile[threadIdx.x * kPer + k] = first + k < n ? in[first + k] : T(0);
  __syncthreads();
#if mode == 1
  if (threadIdx.x == 0) tile[0] = -1;
#elif mode == 2
  if (blockIdx.x == 0) out[n + threadIdx.x] = 7;
#elif mode == 3
  if (threadIdx.x < 8) __syncthreads();
#elif mode == 4
#error this configuration is not for compilers
#endif
#pragma unroll
  for (int k = 0; k < kPer; ++k)
    if (first + k < n) out[first + k] = scaled(tile[threadIdx.x * kPer + k]);
}
__global__ void plain(float *out, const float *in, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 3.0f * in[i];
}
"""
SCALE_SPEC = {
    "ConfigurationSpace": {
        "TuningParameters": [{"Name": "block_size_x", "Values": [32, 64]}, {"Name": "per", "Values": [1, 4]},
                             {"Name": "mode", "Values": [0, 1, 2, 3, 4, 5, 6]}],
        "Conditions": ["mode == 0 or (block_size_x == 32 and per == 1)"]},
    "KernelSpecification": {
        "Language": "CUDA", "KernelName": "scale<float, per>", "KernelFile": "scale.cu", "ProblemSize": [500],
        "CompilerOptions": ["-Iinclude", "-DFACTOR=3.0f"], "LocalSize": {"X": "block_size_x * (64 if mode == 6 else 1)"},
        "ReferenceKernel": {"KernelName": "plain", "LocalSize": {"X": 64}, "GridDivX": [500], "SharedMemory": 0},
        "GridDivX": ["block_size_x", "per"], "SharedMemory": "2 ** 20 if mode == 5 else 0",
        "Arguments": [{"Name": "out", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "Size": 500},
                      {"Name": "in", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "Size": 500,
                       "FillType": "Random"},
                      {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 500}]},
}


def emulated(sandbox, planted=None):
    environment = dict(sandbox.environment, KINDRED_CUDA_LIBRARIES=str(sandbox.binary.parent / "lib" / "cuda_emulated"))
    return dict(environment, KINDRED_FAKE_CUDA=planted) if planted else environment


def tuned(sandbox, spec, trials, *words):
    done = sandbox.run("tune", spec, "--trials", trials, "--log", "k.db", "--json", "--quiet", *words, timeout=300,
                       environment=emulated(sandbox))
    report = done.json()
    sandbox.check(done.code == 0 and report is not None, f"tune {spec}", done)
    return report or {}


def smaller(sandbox, kernel, sizes):
    """The description with another problem, beside a copy of its kernel: the emulation is slow."""
    spec = json.loads((KERNELS / f"{kernel}_cuda.json").read_text())
    spec["KernelSpecification"]["ProblemSize"] = sizes
    sandbox.write(f"{kernel}.cu", (KERNELS / f"{kernel}.cu").read_text())
    return sandbox.write(f"{kernel}_cuda.json", json.dumps(spec))


def the_three(sandbox):
    for kernel, sizes, trials in (("gemm", [128, 128, 32], 6), ("stencil", [66, 34], 8), ("reduction", [5000], 24)):
        spec = smaller(sandbox, kernel, sizes)
        first = tuned(sandbox, spec, 2)
        report = tuned(sandbox, spec, trials)
        sandbox.check((first.get("new_trials"), report.get("new_trials")) == (2, trials - 2),
                      f"{kernel}: the second run goes on where the first was: {report}")
        sandbox.check(report.get("failed") == 0 and (report.get("best_ns") or 0) > 0, f"{kernel}: all are right: {report}")
        sandbox.check(str(report.get("target")).startswith("cuda:0@"), f"{kernel}: on the GPU: {report.get('target')}")
        if kernel == "reduction":
            sandbox.check(report.get("configurations") == trials, f"{kernel}: the whole space: {report}")
        key = report.get("key", "")
        answer = sandbox.run("query", key, "--target", "cuda:0", "--log", "k.db", "--json", environment=emulated(sandbox))
        package = answer.json() or {}
        sandbox.check(answer.code == 0 and package.get("schedule") == report.get("best") and package.get("validated")
                      and package.get("language") == "cuda" and package["steps"][0]["entry"] == kernel,
                      f"{kernel}: the log answers with the best", answer)
        for words in (("explain", key, "--log", "k.db", "--target", "cuda:0"), ("log", "verify", "k.db")):
            done = sandbox.run(*words)
            sandbox.check(done.code == 0, f"{kernel}: {' '.join(words)}", done)
        t4 = sandbox.run("log", "t4", "k.db", key)
        sandbox.check(t4.code == 0 and len((t4.json() or {}).get("results", [])) == trials, f"{kernel}: results in T4", t4)
    rows = (harness.export(sandbox, "k.db") or {}).values()
    sandbox.check(rows and all(row["conditions"].get("timer") == "cupti" for row in rows), "rows say how they were timed")
    sandbox.check(all(row["driver"] == "580.65.06 (CUDA 13.0)" for row in rows), "rows name the driver")


def trouble(sandbox):
    sandbox.write("scale.cu", TEMPLATE)
    sandbox.write("include/helpers/scale.h", "template <class T> __device__ T scaled(T x) { return x * FACTOR; }\n")
    spec = sandbox.write("scale.json", json.dumps(SCALE_SPEC))
    report = tuned(sandbox, spec, 50)
    sandbox.check(report.get("trials") == report.get("configurations") == 10 and report.get("exhausted"),
                  f"the whole space was tried: {report}")
    # Two threads of different warps, and no barrier: a race in the emulation; past the end: in the guard zone.
    failures = report.get("failures") or {}
    sandbox.check(failures.get("build_error") == 1 and failures.get("out_of_bounds") == 1 and failures.get("run_error") == 2
                  and sum(failures.values()) == 6, f"each cause by its name: {failures}")
    sandbox.check((report.get("best") or {}).get("mode") == 0, f"a right one is the best: {report.get('best')}")
    rows = list((harness.export(sandbox, "k.db") or {}).values())
    sandbox.check(all(row["message"] for row in rows if row["status"] not in ("ok", "abandoned")), "failures have their cause")
    answer = sandbox.run("query", report.get("key", ""), "--target", "cuda:0", "--log", "k.db", "--json",
                         environment=emulated(sandbox)).json() or {"steps": [{}]}
    sandbox.check(answer["steps"][0].get("entry") == f"scale<float, {(report.get('best') or {}).get('per')}>",
                  f"the answer names the instance: {answer['steps']}")


def lost(sandbox):
    spec = smaller(sandbox, "reduction", [5000])
    gone = sandbox.folder / "device_is_lost"
    done = sandbox.run("tune", spec, "--trials", 4, "--log", "lost.db", timeout=120,
                       environment=emulated(sandbox, f"lost=parts[threadIdx.x] = mine[0],lost_file={gone}"))
    sandbox.check(done.code != 0 and gone.exists() and "worker" in done.err, "a lost device ends the run with a message", done)
    kept = harness.export(sandbox, "lost.db") or {}
    done = sandbox.run("tune", spec, "--trials", 4, "--log", "lost.db", "--json", timeout=120, environment=emulated(sandbox))
    after = harness.export(sandbox, "lost.db") or {}
    sandbox.check(done.code == 0 and len(after) == 4 and kept and all(after.get(key) == trial for key, trial in kept.items()),
                  "with the device back, the same command goes on", done)


def refused(sandbox):
    spec = smaller(sandbox, "reduction", [5000])
    for words, expected in ((["--target", "cpu"], "cuda:N"), (["--target", "cuda:0,1"], "cuda:0"), (["--threads", "2"], "--threads"),
                            (["--target", "cuda-emulated"], "cuda"), (["--target", "h200"], "h200")):
        done = sandbox.run("tune", spec, "--log", "bad.db", *words, environment=emulated(sandbox))
        sandbox.check(done.code == 2 and expected in done.err, f"tune {words}: exit code 2, '{expected}'", done)
    done = sandbox.run("tune", KERNELS / "gemm_c.json", "--log", "bad.db", "--target", "cuda:0", environment=emulated(sandbox))
    sandbox.check(done.code == 2 and "cpu" in done.err, "a kernel in C on a GPU", done)
    empty = sandbox.folder / "no_libraries"
    empty.mkdir()
    done = sandbox.run("tune", spec, "--log", "bad.db", environment=dict(sandbox.environment, KINDRED_CUDA_LIBRARIES=str(empty)))
    sandbox.check(done.code == 2 and "libcuda" in done.err, "no driver: one line", done)
    sandbox.check(not (sandbox.work / "bad.db").exists(), "no log was begun")
    sandbox.write("none.cu", "__global__ void reduction(float *sum, const float *values, int count) { undeclared = 1; }\n")
    broken = json.loads(spec.read_text())
    broken["KernelSpecification"]["KernelFile"] = "none.cu"
    done = sandbox.run("tune", sandbox.write("none.json", json.dumps(broken)), "--log", "none.db", environment=emulated(sandbox),
                       timeout=200)
    sandbox.check(done.code == 2 and "compiles in none of the" in done.err, "compiles in no configuration", done)
    sandbox.check(harness.trials_in(sandbox.work / "none.db") >= 16, "these trials are in the log")


def test(sandbox):
    if not (sandbox.binary.parent / "lib" / "cuda_emulated").is_dir():
        sandbox.skip("the emulated driver is not built")
        return
    the_three(sandbox)
    trouble(sandbox)
    lost(sandbox)
    refused(sandbox)


if __name__ == "__main__":
    harness.main(test)
