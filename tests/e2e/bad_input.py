#!/usr/bin/env python3
"""Bad input and bad surroundings: each a clear message, the right exit code (2: the input is wrong, 1: the surroundings
are), and nothing half-written. Usage: bad_input.py PATH_OF_KINDRED
"""

import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess

import harness

# (what is wrong, the workload's lines, the line it is in, what in that line the column points at)
TEXT_ERRORS = [
    ("unknown dtype", ["input X: f31[4]", "output Y[i] = X[i]"], 1, "f31"),
    ("extent that is no number", ["input X: f32[4,-]", "output Y[i,j] = X[i,j]"], 1, "-"),
    ("extent of zero", ["input X: f32[0]", "output Y[i] = X[i]"], 1, "0"),
    ("colon missing", ["input X f32[4]", "output Y[i] = X[i]"], 1, "f32"),
    ("bracket missing in a declaration", ["weight W: f32[4", "output Y[i] = W[i]"], 1, "["),
    ("second tensor of that name", ["input X: f32[4]", "weight X: f32[4]", "output Y[i] = X[i]"], 2, "X"),
    ("unknown tensor", ["input X: f32[4]", "output Y[i] = X[i] + Z[i]"], 2, "Z"),
    ("unknown axis", ["input X: f32[4]", "output Y[i] = X[i] + X[q]"], 2, "q"),
    ("wrong number of indices", ["input X: f32[4,5]", "output Y[i] = X[i]"], 2, "X[i]"),
    ("unknown function", ["input X: f32[4]", "output Y[i] = frobnicate(X[i])"], 2, "frobnicate"),
    ("wrong number of arguments", ["input X: f32[4]", "output Y[i] = exp(X[i], X[i])"], 2, "exp"),
    ("parenthesis missing", ["input X: f32[4]", "output Y[i] = exp(X[i]"], 2, "("),
    ("something after the end", ["input X: f32[4]", "output Y[i] = X[i] X[i]"], 2, "X[i]"),
    ("a character of no meaning", ["input X: f32[4]", "output Y[i] = X[i] $ 2"], 2, "$"),
    ("reduction without axes", ["input X: f32[4,5]", "T[i] = sum[](X[i,k])", "output Y[i] = T[i]"], 2, "sum[]"),
    ("reduction inside an expression's axes twice", ["input X: f32[4]", "T[i] = sum[i](X[i])", "output Y[i] = T[i]"], 2, "i"),
    ("extents that disagree", ["input X: f32[4]", "input Z: f32[5]", "output Y[i] = X[i] + Z[i]"], 3, "Z[i]"),
    ("index that leaves its tensor", ["input X: f32[4]", "output Y[i=4] = X[i+1]"], 2, "X"),
    ("extent that nothing gives", ["input X: f32[4]", "output Y[i,j] = X[i]"], 2, "j"),
    ("unknown kind of line", ["inputs X: f32[4]", "output Y[i] = X[i]"], 1, "inputs"),
    ("unknown permission", ["allow telepathy", "input X: f32[4]", "output Y[i] = X[i]"], 1, "telepathy"),
    ("symbol with an empty range", ["symbol n in 5..2", "input X: f32[n]", "output Y[i] = X[i]"], 1, "5"),
    ("unknown kind of data", ["input X: f32[4] data noise(1)", "output Y[i] = X[i]"], 1, "noise"),
    ("scatter", ["input X: f32[4]", "output Y[i] += X[i]"], 2, "+="),
    ("no output", ["input X: f32[4]", "T[i] = X[i]"], None, None),
    ("nothing at all", ["# only a comment"], None, None),
]


def no_traceback(text):
    return "terminate called" not in text and "Segmentation" not in text and "Assertion" not in text


def expect(sandbox, done, codes, words, what):
    """The exit code is one of `codes`, nothing but the message comes out, and it names each of `words`."""
    message = done.err
    good = done.code in codes and message.strip() and no_traceback(message) and len(message) < 4000
    missing = [word for word in words if word.lower() not in message.lower()]
    sandbox.check(good and not missing, f"{what}: exit code {' or '.join(map(str, codes))} and a message"
                  + (f" that names {missing}" if missing else ""), done)


def leaves_nothing(sandbox, before, what):
    extra = sorted(str(path.relative_to(sandbox.work)) for path in set(sandbox.work.rglob("*")) - before)
    sandbox.check(not extra, f"{what}: leaves nothing behind ({extra})")


def models(sandbox):
    truncated = sandbox.work / "truncated.onnx"
    shutil.copyfile(harness.MODELS / "tiny" / "truncated.onnx", truncated)
    sandbox.write("text.onnx", "this is not a model\n" * 50)
    sandbox.write("empty.onnx", "")
    sandbox.write("model.pb", "x")
    sandbox.write("zoo.json", '{"models": [{"path": "nowhere.onnx"}]}')
    sandbox.write("broken.json", '{"models": [')
    sandbox.write("wrong.json", '{"models": [{"file": "x.onnx"}]}')
    before = set(sandbox.work.rglob("*"))
    for name, words in (("truncated.onnx", ["truncated.onnx"]), ("text.onnx", ["text.onnx"]), ("empty.onnx", ["empty.onnx"]),
                        ("absent.onnx", ["absent.onnx"]), ("absent.kd", ["absent.kd"]), ("model.pb", ["model.pb"])):
        expect(sandbox, sandbox.run("import", name), [2], words, f"import {name}")
        expect(sandbox, sandbox.run("tune", name, "--trials", 4, "--log", "bad.db"), [2], words, f"tune {name}")
        leaves_nothing(sandbox, before, name)
    for name, words in (("zoo.json", ["nowhere.onnx"]), ("broken.json", ["broken.json"]), ("wrong.json", ["wrong.json"])):
        expect(sandbox, sandbox.run("tune", name, "--trials", 4, "--log", "bad.db"), [2], words, f"tune {name}")
        leaves_nothing(sandbox, before, name)
    # one good input beside a bad one: nothing of either is begun
    good = sandbox.write("good.kd", harness.ADD)
    before.add(good)
    done = sandbox.run("tune", good, "truncated.onnx", "--trials", 4, "--log", "bad.db")
    expect(sandbox, done, [2], ["truncated.onnx"], "a good and a bad input")
    leaves_nothing(sandbox, before, "a good and a bad input")


def dimensions(sandbox):
    dynamic, mlp = (harness.MODELS / "tiny" / name for name in ("dynamic_dim.onnx", "mlp.onnx"))
    for words, wanted in (([dynamic, mlp, "--dim", "batch=2", "--dim", "seq=3"], ["seq", "'batch'"]), ([mlp, "--dim", "seq=3"], ["seq", "no symbolic"]),
                          ([dynamic], ["batch", "not bound"]), ([dynamic, "--dim", "batch=2,2"], ["twice"]), ([dynamic, "--dim", "batch"], ["batch"])):
        expect(sandbox, sandbox.run("tune", *words, "--trials", 4, "--log", "bad.db"), [2], wanted, f"dimensions: {words[1:]}")
    zoo = sandbox.write("dims.json", json.dumps({"models": [{"path": str(dynamic), "dims": {"batch": [2, 4], "seq": 3}}]}))
    expect(sandbox, sandbox.run("import", zoo), [2], ["models[0]", "seq", "'batch'"], "a zoo's dimension that the model does not have")
    expect(sandbox, sandbox.run("query", sandbox.write("add.kd", harness.ADD), "--dim", "batch=2"), [2], ["--dim"], "a dimension of a workload")
    good = sandbox.run("import", dynamic, mlp, "--dim", "batch=2")
    sandbox.check(good.code == 0, "a dimension that only some of the models have", good)


def too_large(sandbox):
    """A workload that this machine cannot hold is left out, with the cause; what stands beside it is tuned."""
    large = sandbox.write("large.kd", "input X: f32[1000000,1000000]\noutput Y[i,j] = X[i,j] * 2\n")
    small = sandbox.write("add.kd", harness.ADD)
    done = sandbox.run("tune", large, small, "--trials-per-task", 2, "--log", "large.db", "--json")
    report = done.json()
    if sandbox.check(done.code == 0 and report, "a workload beyond the memory beside another: exit code 0", done):
        tasks = {task["name"]: task for task in report["tasks"]}
        sandbox.check("GB of memory" in tasks["large"]["left_out"] and not tasks["add"]["left_out"] and tasks["add"]["best_ns"] > 0,
                      "it is left out with the cause, the other has a schedule", done)
    plain = sandbox.run("tune", large, small, "--trials-per-task", 2, "--log", "large.db")
    sandbox.check(plain.code == 0 and "left out: large: " in plain.out, "the report names it", plain)
    expect(sandbox, sandbox.run("tune", large, "--trials", 2, "--log", "alone.db"), [2], ["large", "memory"], "a workload beyond the memory alone")


def text_workloads(sandbox):
    for number, (what, lines, line, at) in enumerate(TEXT_ERRORS):
        path = sandbox.write(f"error{number}.kd", "# a comment\n\n" + "\n".join(lines) + "\n")
        done = sandbox.run("import", path.name)
        expect(sandbox, done, [2], [path.name], f"workload with {what}")
        found = re.search(re.escape(path.name) + r":(\d+):(\d+): ", done.err)
        if not sandbox.check(found, f"workload with {what}: FILE:LINE:COLUMN in the message", done) or line is None:
            continue
        text = lines[line - 1]
        allowed = {column for start in range(len(text)) if text.startswith(at, start)
                   for column in range(start + 1, start + len(at) + 2)}
        place = int(found[1]), int(found[2])
        sandbox.check(place[0] == line + 2 and place[1] in allowed,
                      f"workload with {what}: line {line + 2}, column {sorted(allowed)}; it says {place}", done)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def newer_log(sandbox):
    workload = sandbox.write("add.kd", harness.ADD)
    log = sandbox.work / "newer.db"
    done = sandbox.run("tune", workload, "--trials", 2, "--log", log)
    if not sandbox.check(done.code == 0, "tune two trials", done):
        return
    with sqlite3.connect(log) as database:
        database.execute("PRAGMA user_version = 999")
    database.close()
    before = digest(log)
    for words in (["tune", workload, "--trials", 4, "--log", log], ["query", workload, "--log", log], ["log", "ls", log],
                  ["log", "show", log], ["log", "export", log], ["log", "verify", log]):
        expect(sandbox, sandbox.run(*words), [1, 2], ["newer.db", "999"], f"{' '.join(map(str, words[:2]))} of a log from a newer version")
    sandbox.check(digest(log) == before, "a log from a newer version stays as it was")
    garbage = sandbox.write("garbage.db", "no database at all, but long enough to look like one\n" * 40)
    before = digest(garbage)
    for words in (["tune", workload, "--trials", 4, "--log", garbage], ["log", "ls", garbage]):
        expect(sandbox, sandbox.run(*words), [1, 2], ["garbage.db"], f"{words[0]} of a log that is no database")
    sandbox.check(digest(garbage) == before, "a file that is no log stays as it was")


def newer_status(sandbox):
    workload = sandbox.write("add.kd", harness.ADD)
    command = ["tune", workload, "--log", "status.db", "--trials"]
    done = sandbox.run(*command, 2)
    if not sandbox.check(done.code == 0, "tune two trials", done):
        return
    with sqlite3.connect(sandbox.work / "status.db") as database:
        database.execute("UPDATE trial SET status = 'melted'")
    database.close()
    expect(sandbox, sandbox.run(*command, 4), [2], ["melted", "newer"], "a status that this version does not know")


def same_session_twice(sandbox):
    workload = sandbox.write("matmul.kd", harness.MATMUL.replace("[24,32]", "[96,160]").replace("[32,16]", "[160,128]").replace("f32[16]", "f32[128]"))
    command = ["tune", workload, "--log", "twice.db", "--trials", 40, "--quiet"]
    processes = [sandbox.start(*command) for _ in range(2)]
    ends = []
    for process in processes:
        out, err = process.communicate(timeout=120)
        ends.append(harness.Done(process.returncode, out, err, 0))
    # Both ran at once for a while, or one was done before the other began to measure.
    losers = [end for end in ends if end.code != 0]
    sandbox.check(len(losers) < 2, "of two runs of one session at once, one goes through", ends[0])
    print(f"of two runs of one session at once {len(losers)} gave up")
    for loser in losers:
        expect(sandbox, loser, [2], ["twice.db", "another process", "--seed"], "the other one")
    verified = sandbox.run("log", "verify", "twice.db")
    sandbox.check(verified.code == 0, "the log of two runs of one session is sound", verified)


def unwritable(sandbox):
    workload = sandbox.write("add.kd", harness.ADD)
    cases = [("below a file", workload / "x.db"), ("in a folder that is not there", sandbox.work / "no" / "such" / "x.db")]
    read_only = sandbox.mount_tmpfs("read_only", "ro,size=1m")
    if read_only:
        cases.append(("on a read-only file system", read_only / "x.db"))
    else:
        sandbox.skip("a read-only file system (mounting is not allowed here)")
    if os.geteuid() != 0:
        folder = sandbox.work / "locked"
        folder.mkdir(mode=0o555)
        cases.append(("in a folder without permission", folder / "x.db"))
    for what, log in cases:
        done = sandbox.run("tune", workload, "--trials", 4, "--log", log)
        expect(sandbox, done, [1, 2], [str(log)], f"a log {what}")
        sandbox.check(done.seconds < 20, f"a log {what}: said before anything is measured", done)


def full_disk(sandbox):
    workloads = [sandbox.write("matmul.kd", harness.MATMUL), sandbox.write("conv.kd", harness.CONV)]
    disk = sandbox.mount_tmpfs("small", "size=160k")
    if not disk:
        sandbox.skip("a full disk (mounting is not allowed here)")
        return
    log = disk / "kindred.db"
    command = ["tune", *workloads, "--trials", 64, "--log", log, "--seed", 3]
    done = sandbox.run(*command)
    expect(sandbox, done, [1], [str(log), "full"], "a full disk")
    sandbox.check(not sandbox.survivors(), f"a full disk: no process lives on: {sandbox.survivors()}")
    subprocess.run(["mount", "-o", "remount,size=32m", disk], check=True)
    if log.exists():
        verified = sandbox.run("log", "verify", log)
        sandbox.check(verified.code == 0, "a full disk: what was written is sound", verified)
    command[command.index(64)] = 8
    again = sandbox.run(*command)
    sandbox.check(again.code == 0, "a disk with room again: the same session goes on", again)


def no_compiler(sandbox):
    workload = sandbox.write("matmul.kd", harness.MATMUL)
    empty = sandbox.work / "empty"
    empty.mkdir(exist_ok=True)
    environment = dict(sandbox.environment, PATH=str(empty), XDG_CACHE_HOME=str(sandbox.folder / "fresh_cache"))
    log = sandbox.work / "uncompiled.db"
    done = sandbox.run("tune", workload, "--trials", 4, "--log", log, environment=environment)
    expect(sandbox, done, [1], ["gcc", "PATH"], "no compiler on PATH")
    if log.exists():
        sandbox.check(harness.export(sandbox, log) == {}, "no compiler on PATH: no trial is recorded")
    done = sandbox.run("tune", workload, "--trials", 4, "--log", log)
    sandbox.check(done.code == 0, "with a compiler again the same session goes on", done)


def test(sandbox):
    for part in (models, dimensions, text_workloads, too_large, newer_log, newer_status, same_session_twice, unwritable, full_disk,
                 no_compiler):
        part(sandbox)


harness.main(test)
