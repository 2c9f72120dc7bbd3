#!/usr/bin/env python3
"""Workloads with 8-bit floats, complex numbers and argmax, tuned and asked for: every trial is valid, and the package of the
answer computes what Python computes, infinities and NaNs included. The numeric contract is part of the key. Usage: language.py
PATH_OF_KINDRED
"""

import cmath
import contextlib
import ctypes
import json
import math
import random
import re
import sqlite3
import struct
import subprocess
import urllib.request

import harness

TRIALS = 3


def small_float(bits, exponent_bits, mantissa_bits, finite):
    """The number of an 8-bit float; `finite`: without infinities, all ones is NaN (f8e4m3)."""
    mantissa, top = bits & ((1 << mantissa_bits) - 1), (1 << exponent_bits) - 1
    exponent, sign = bits >> mantissa_bits & top, -1.0 if bits >> 7 else 1.0
    if exponent == top and (not finite or mantissa == (1 << mantissa_bits) - 1):
        return math.nan if finite or mantissa else sign * math.inf
    scale = 2.0 ** (max(exponent, 1) - (1 << (exponent_bits - 1)) + 1 - mantissa_bits)
    return sign * (mantissa + (1 << mantissa_bits if exponent else 0)) * scale


F8 = {"f8e4m3": [small_float(bits, 4, 3, True) for bits in range(256)],
      "f8e5m2": [small_float(bits, 5, 2, False) for bits in range(256)]}
CODES = {"f32": "f", "i32": "i", "i64": "q"}


def encode(dtype, values):
    if dtype in F8:
        return bytes(min(range(256), key=lambda b: math.inf if math.isnan(F8[dtype][b]) else abs(F8[dtype][b] - v))
                     for v in values)
    if dtype == "c64":
        return struct.pack(f"{2 * len(values)}f", *(part for v in values for part in (v.real, v.imag)))
    return struct.pack(f"{len(values)}{CODES[dtype]}", *values)


def decode(dtype, raw):
    if dtype in F8:
        return [F8[dtype][byte] for byte in raw]
    if dtype == "c64":
        parts = struct.unpack(f"{len(raw) // 4}f", raw)
        return [complex(*pair) for pair in zip(parts[::2], parts[1::2])]
    return list(struct.unpack(f"{len(raw) // struct.calcsize(CODES[dtype])}{CODES[dtype]}", raw))


def uniform(generator, count):
    return [generator.uniform(-1, 1) for _ in range(count)]


def complex_numbers(generator, count):
    return [complex(a, b) for a, b in zip(uniform(generator, count), uniform(generator, count))]


def few(generator, count):
    """Many equal values, so that the first of the best is not the only one."""
    return [float(generator.randrange(5)) for _ in range(count)]


def special(generator, count):
    return [generator.choice((math.nan, math.inf, -math.inf, -0.0, 0.5, -2.0, 3.0)) for _ in range(count)]


def product(a, b, m, n, k):
    return [sum(a[i * k + l] * b[l * n + j] for l in range(k)) for i in range(m) for j in range(n)]


def rows(x, width):
    return [x[i:i + width] for i in range(0, len(x), width)]


def exponential(x):
    return math.inf if x == math.inf else math.exp(x)


# name -> text, {input: (type, how its values are made)}, {output: (type, its values from the inputs)}
CASES = {
    "f8_product": (
        "input A: f8e4m3[20,48]\nweight B: f8e5m2[48,24]\nweight s: f32[24]\n"
        "output Y[m,n] = sum[k](A[m,k] * B[k,n]) * s[n]\n",
        {"A": ("f8e4m3", uniform), "B": ("f8e5m2", uniform), "s": ("f32", uniform)},
        {"Y": ("f32", lambda d: [v * d["s"][i % 24] for i, v in enumerate(product(d["A"], d["B"], 20, 24, 48))])}),
    "f8_stores": (
        "input X: f32[30,40]\noutput P: f8e4m3[i,j] = X[i,j] * 3\noutput Q: f8e5m2[i,j] = X[i,j] * 3\n",
        {"X": ("f32", uniform)},
        {"P": ("f8e4m3", lambda d: decode("f8e4m3", encode("f8e4m3", [3 * v for v in d["X"]]))),
         "Q": ("f8e5m2", lambda d: decode("f8e5m2", encode("f8e5m2", [3 * v for v in d["X"]])))}),
    "complex_product": (
        "input A: c64[18,30]\nweight B: c64[30,20]\noutput C[m,n] = sum[k](conj(A[m,k]) * B[k,n])\n",
        {"A": ("c64", complex_numbers), "B": ("c64", complex_numbers)},
        {"C": ("c64", lambda d: product([v.conjugate() for v in d["A"]], d["B"], 18, 20, 30))}),
    "first_and_last": (
        "input X: f32[12,8,7]\noutput F[i] = argmax[k=56](X[i,k/7,k%7])\noutput L[i] = 55 - argmin[k=56](X[i,(55-k)/7,(55-k)%7])\n",
        {"X": ("f32", few)},
        {"F": ("i64", lambda d: [row.index(max(row)) for row in rows(d["X"], 56)]),
         "L": ("i64", lambda d: [55 - row[::-1].index(min(row)) for row in rows(d["X"], 56)])}),
    "best_of_product": (
        "input A: f32[16,24]\nweight B: f32[24,40]\noutput I: i32[m] = argmax[n](sum[k](A[m,k] * B[k,n]))\n",
        {"A": ("f32", uniform), "B": ("f32", uniform)},
        {"I": ("i32", lambda d: [row.index(max(row)) for row in rows(product(d["A"], d["B"], 16, 40, 24), 40)])}),
    "not_numbers": (
        "input X: f32[16,50]\ninput Z: f32[50]\noutput E[i,j] = exp(X[i,j]) + Z[j] * 0\noutput S[i] = sum[j](X[i,j])\n",
        {"X": ("f32", special), "Z": ("f32", special)},
        {"E": ("f32", lambda d: [exponential(v) + d["Z"][i % 50] * 0 for i, v in enumerate(d["X"])]),
         "S": ("f32", lambda d: [sum(row) for row in rows(d["X"], 50)])}),
    "fast_quotients": (
        "allow fast_math\ninput X: f32[16,50]\noutput Y[i,j] = X[i,j] / sum[k](abs(X[i,k]))\n",
        {"X": ("f32", uniform)},
        {"Y": ("f32", lambda d: [v / sum(map(abs, row)) for row in rows(d["X"], 50) for v in row])}),
}
RELAXED = {"-freciprocal-math", "-fno-signed-zeros"}
FORBIDDEN = {"-ffast-math", "-Ofast", "-ffinite-math-only", "-funsafe-math-optimizations", "-fassociative-math"}


def same(dtype, got, wanted):
    if dtype in ("i32", "i64"):
        return got == wanted
    if dtype == "c64":
        return cmath.isclose(got, wanted, rel_tol=1e-5, abs_tol=1e-5)
    if math.isnan(wanted):
        return math.isnan(got)
    return math.isclose(got, wanted, rel_tol=0 if dtype in F8 else 1e-5, abs_tol=0 if dtype in F8 else 1e-5)


def aligned(size):
    raw = ctypes.create_string_buffer(size + 192)
    return raw, (ctypes.addressof(raw) + 63) // 64 * 64


def run_package(sandbox, name, answer):
    """Compiles the package as its provenance says and calls it; every element is compared."""
    text, inputs, outputs = CASES[name]
    source = sandbox.write(f"package/{name}.c", answer["source"])
    library, origin = source.with_suffix(".so"), answer["provenance"]
    flags = origin["flags"].split()
    sandbox.check(set(flags) & (RELAXED | FORBIDDEN) == (RELAXED if "allow fast_math" in text else set()),
                  f"{name}: the flags keep the contract: {flags}")
    built = subprocess.run([origin["compiler"].split()[0], *flags, "-shared", "-fPIC", source, "-o", library, "-lm"],
                           capture_output=True, text=True)
    if not sandbox.check(built.returncode == 0, f"{name}: the package compiles: {built.stderr[-300:]}"):
        return
    generator, data, held, addresses, places = random.Random(name), {}, [], [], {}
    for argument in sorted(answer["arguments"], key=lambda one: one["position"]):
        given = inputs.get(argument["name"])
        size = argument["elements"] * (8 if argument["type"] in ("c64", "i64", "f64") else 4)
        raw, address = aligned(size)
        if given:
            plain = encode(given[0], given[1](generator, argument["elements"]))
            data[argument["name"]] = decode(given[0], plain)
            ctypes.memmove(address, plain, len(plain))
        held.append(raw)
        addresses.append(address)
        places[argument["name"]] = (address, argument["elements"])
    raw, workspace = aligned(answer["workspace_bytes"])
    loaded = ctypes.CDLL(str(library))
    for step in answer["steps"]:
        code = getattr(loaded, step["entry"])((ctypes.c_void_p * len(addresses))(*addresses), None, ctypes.c_void_p(workspace))
        sandbox.check(code == 0, f"{name}: step {step['entry']} returns 0")
    for output, (dtype, compute) in outputs.items():
        address, elements = places[output]
        got = decode(dtype, ctypes.string_at(address, len(encode(dtype, [0] * elements))))
        wanted = compute(data)
        wrong = [(i, a, b) for i, (a, b) in enumerate(zip(got, wanted)) if not same(dtype, a, b)]
        sandbox.check(len(got) == len(wanted) and not wrong,
                      f"{name}: {output} is right; (index, got, wanted): {wrong[:3]} and {len(wrong)} in all")


def contract(sandbox):
    """Every permission makes another workload; their order does not; an unknown one is bad input."""
    keys = {}
    for allowed in ("", "tf32", "winograd", "atomics", "fast_math", "tf32, fast_math", "fast_math, tf32"):
        path = sandbox.write("contract.kd", (f"allow {allowed}\n" if allowed else "") + harness.MATMUL)
        done = sandbox.run("query", path, "--json")
        sandbox.check(done.code == 0, f"a query that allows '{allowed}'", done)
        keys[allowed] = (done.json() or {}).get("key")
    sandbox.check(keys["tf32, fast_math"] == keys["fast_math, tf32"], f"the order of permissions does not matter: {keys}")
    sandbox.check(len(set(keys.values())) == 6 and None not in keys.values(), f"each contract has its key: {keys}")
    path = sandbox.write("contract.kd", "allow everything\n" + harness.MATMUL)
    done = sandbox.run("query", path)
    sandbox.check(done.code == 2 and "cannot allow 'everything'" in done.err, "an unknown permission is bad input", done)


def narrowed(sandbox):
    """An asker who allows less is answered for the stricter workload."""
    text = CASES["fast_quotients"][0]
    strict = text.replace("allow fast_math\n", "")
    path = sandbox.write("strict.kd", strict)
    strict_key = (sandbox.run("query", path, "--json").json() or {}).get("key")
    process = sandbox.start("serve", "--log", "language.db", "--listen", "127.0.0.1:0")
    try:
        url = re.search(r"http://[0-9.:]+", process.stdout.readline()).group(0)

        def ask(constraints):
            body = json.dumps({"workload": text, "constraints": constraints}).encode()
            request = urllib.request.Request(url + "/v1/query", body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=20) as response:
                answer = json.load(response)
            return answer["key"], answer["match"], RELAXED & set(answer["provenance"]["flags"].split())

        key, match, flags = ask({"allow": ["fast_math", "tf32"]})
        sandbox.check(key != strict_key and match == "exact" and flags == RELAXED, f"what is allowed stays: {key} {match} {flags}")
        key, match, flags = ask({"allow": []})
        sandbox.check(key == strict_key and match != "exact" and not flags,
                      f"without fast_math the strict workload is answered: {key}, not {strict_key}; {match} {flags}")
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test(sandbox):
    contract(sandbox)
    paths = [sandbox.write(f"{name}.kd", text) for name, (text, _, _) in CASES.items()]
    tuned = sandbox.run("tune", *paths, "--target", "cpu", "--trials-per-task", TRIALS, "--log", "language.db", "--quiet", "--json",
                        timeout=300)
    if not sandbox.check(tuned.code == 0, "all are tuned", tuned):
        return
    with contextlib.closing(sqlite3.connect(f"file:{sandbox.work / 'language.db'}?mode=ro", uri=True)) as database:
        trials = database.execute("SELECT workload, status, validated, message FROM trial").fetchall()
    bad = [trial for trial in trials if trial[1] not in ("ok", "abandoned") or not trial[2]]
    sandbox.check(len(trials) >= len(CASES) * 2 and not bad, f"of {len(trials)} trials each is valid, but for {bad[:3]}")
    for name, path in zip(CASES, paths):
        done = sandbox.run("query", path, "--log", "language.db", "--json")
        answer = done.json()
        if sandbox.check(done.code == 0 and answer and answer["match"] == "exact" and answer["validated"], f"{name}: an exact answer", done):
            run_package(sandbox, name, answer)
    narrowed(sandbox)


if __name__ == "__main__":
    harness.main(test)
