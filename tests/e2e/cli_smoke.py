#!/usr/bin/env python3
"""Every command once: --help, --json (one object on standard output, the documented fields), exit codes, an answer that
can be compiled and gives the right numbers, a log that goes out and comes in again. Usage: cli_smoke.py PATH_OF_KINDRED
"""

import ctypes
import json
import os
import random
import signal
import subprocess
import time

import harness

TUNE_FIELDS = {"models", "sharing", "target", "wall_s", "trials", "tasks", "time", "ended"}
TASK_FIELDS = {"key", "name", "family", "count", "runs", "uses", "flop", "bytes", "untuned_ns", "best_ns", "trials", "failed",
               "left_out"}
TIME_FIELDS = {"build_s", "run_s", "search_s", "train_s", "other_s"}
IMPORT_TASK_FIELDS = {"key", "name", "count", "runs", "flop", "bytes", "text"}
SHARING_FIELDS = {"subgraphs", "tasks", "shared", "families"}
QUERY_FIELDS = {"key", "target", "match", "validated", "schedule", "language", "source", "steps", "arguments", "workspace_bytes",
                "statistics", "provenance", "epoch"}
COMMANDS = [["tune"], ["query"], ["import"], ["device"], ["log"], ["log", "ls"], ["log", "show"], ["log", "export"],
            ["log", "import"], ["log", "verify"]]


def fields(sandbox, value, wanted, what, done=None):
    missing = wanted - set(value if isinstance(value, dict) else ())
    return sandbox.check(not missing, f"{what}: has the fields {sorted(missing)}", done)


def ask_json(sandbox, words, what):
    done = sandbox.run(*words)
    value = done.json()
    sandbox.check(done.code == 0 and value is not None, f"{what}: exit code 0 and one JSON object", done)
    return value if value is not None else {}, done


def help_and_usage(sandbox):
    version = sandbox.run("--version")
    sandbox.check(version.code == 0 and "kindred" in version.out.lower(), "--version names the program", version)
    top = sandbox.run("--help")
    sandbox.check(top.code == 0 and all(command[0] in top.out for command in COMMANDS), "--help names every command", top)
    for command in COMMANDS:
        done = sandbox.run(*command, "--help")
        sandbox.check(done.code == 0 and len(done.out) > 80, f"{' '.join(command)} --help", done)
    for words in ([], ["frobnicate"], ["tune"], ["query"], ["import"], ["log"], ["log", "ls"], ["device", "--frobnicate"],
                  ["tune", "x.kd", "--trials", "many"], ["tune", "x.kd", "--searcher", "oracle"],
                  ["tune", "x.kd", "--trials", "-3"], ["tune", "x.kd", "--seed", "-1"], ["tune", "x.kd", "--seed", "1e400"],
                  ["tune", "x.kd", "--seed", "18446744073709551616"], ["tune", "x.kd", "--batch", "-1"],
                  ["tune", "x.kd", "--threads", "-1"], ["tune", "x.kd", "--merge", "-2"], ["tune", "x.kd", "--merge", "0"],
                  ["tune", "x.kd", "--trips", "-2"], ["import", "x.onnx", "--dim", "n=-1"], ["query", "x.kd", "--epoch", "-1"],
                  ["tune", "x.kd", "--target", "cpu:threads=-1"], ["tune", "x.kd", "--until", "1"], ["tune", "x.kd", "--until", "0%"],
                  ["tune", "x.kd", "--until", "-1%"], ["tune", "x.kd", "--until", "100%"], ["tune", "x.kd", "--until", "nan%"],
                  ["tune", "x.kd", "--until", "one%"], ["tune", "x.kd", "--scheduler", "fifo"]):
        done = sandbox.run(*words)
        sandbox.check(done.code == 2 and done.err.strip(), f"`kindred {' '.join(words)}` is bad usage: exit code 2 and a message", done)


def device(sandbox):
    report, done = ask_json(sandbox, ["device", "--json"], "device --json")
    sandbox.check(len(json.dumps(report)) > 100, "device says what the target offers", done)
    plain = sandbox.run("device")
    sandbox.check(plain.code == 0 and "core" in plain.out.lower(), "device in words names cores", plain)
    kept = list((sandbox.folder / "cache" / "kindred").glob("target-*.json"))
    if not sandbox.check(len(kept) == 1, f"the measured peaks are kept: {kept}"):
        return
    kept[0].write_text(json.dumps(dict(json.loads(kept[0].read_text()), peak_f32_gflops=0.25)))
    low, _ = ask_json(sandbox, ["device", "--json"], "device --json")
    anew, _ = ask_json(sandbox, ["device", "--probe", "--json"], "device --probe --json")
    after, done = ask_json(sandbox, ["device", "--json"], "device --json after --probe")
    sandbox.check(low["peak_f32_gflops"] == 0.25 < anew["peak_f32_gflops"] == after["peak_f32_gflops"],
                  "--probe measures the peaks anew and keeps them", done)


def import_models(sandbox):
    for name in ("light_squeezenet.onnx", "tiny/mlp.onnx", "tiny/left_out.onnx", "tiny/external_data.onnx"):
        whole, done = ask_json(sandbox, ["import", harness.MODELS / name, "--json"], f"import {name} --json")
        if not fields(sandbox, whole, {"models", "sharing"}, f"import {name}", done):
            continue
        report = whole["models"][0]
        if not fields(sandbox, report, {"model", "path", "dims", "coverage", "tasks", "sharing", "import"}, f"import {name}", done):
            continue
        fields(sandbox, report["import"], {"seconds", "peak_bytes"}, f"import {name}: what it took")
        fields(sandbox, report["coverage"], {"nodes", "tunable", "left_out", "reasons"}, f"import {name}: coverage")
        sandbox.check(report["tasks"], f"import {name}: has tasks")
        for task in report["tasks"]:
            fields(sandbox, task, IMPORT_TASK_FIELDS, f"import {name}: a task")
        coverage = report["coverage"]
        sandbox.check(coverage["nodes"] == coverage["tunable"] + len(coverage["left_out"]),
                      f"import {name}: every node is tunable or named as left out: {coverage}")
        for left in coverage["left_out"]:
            fields(sandbox, left, {"node", "op", "reason"}, f"import {name}: a node left out")
        if name.endswith("left_out.onnx"):
            sandbox.check([left["op"] for left in coverage["left_out"]] == ["TopK"], "left_out.onnx: TopK is left out, by name", done)
    text = report["tasks"][0]["text"]
    again, done = ask_json(sandbox, ["import", sandbox.write("printed.kd", text), "--json"], "import of a printed workload")
    sandbox.check(again["models"][0]["tasks"][0]["key"] == report["tasks"][0]["key"], "a printed workload keeps its key", done)
    plain = sandbox.run("import", harness.MODELS / "light_squeezenet.onnx")
    sandbox.check(plain.code == 0 and "coverage" in plain.out.lower(), "import in words names the coverage", plain)


def several_models(sandbox):
    """Two names of one model share everything, and a zoo may stand beside models."""
    stripped = sandbox.work / "stripped.onnx"
    report, done = ask_json(sandbox, ["import", harness.MODELS / "light_squeezenet.onnx", "--strip", stripped, "--json"], "import --strip")
    sandbox.check(stripped.exists() and stripped.stat().st_size == report["bytes_after"], "--strip writes the model without its weights", done)
    zoo = sandbox.write("two.json", json.dumps({"models": [{"path": str(harness.MODELS / "tiny" / "mlp.onnx")}, {"path": "stripped.onnx"}]}))
    words = ["import", harness.MODELS / "light_squeezenet.onnx", zoo]
    report, done = ask_json(sandbox, [*words, "--json"], "import of a model and a zoo")
    if not sandbox.check([model["model"] for model in report["models"]] == ["light_squeezenet", "mlp", "stripped"],
                         "the models in the order in which they are given", done):
        return
    for sharing in (report["sharing"], *(model["sharing"] for model in report["models"])):
        fields(sandbox, sharing, SHARING_FIELDS, "import: sharing")
    squeezenet, mlp, _ = (model["sharing"] for model in report["models"])
    sandbox.check(report["sharing"]["shared"] == squeezenet["shared"] == squeezenet["tasks"] == report["sharing"]["saved_tasks"] and
                  mlp["shared"] == 0, f"all of SqueezeNet is shared, nothing else: {report['sharing']}", done)
    plain = sandbox.run(*words)
    sandbox.check(plain.code == 0 and "all models" in plain.out and "in two or more models" in plain.out, "import of several in words", plain)
    merged, _ = ask_json(sandbox, ["import", harness.MODELS / "tiny" / "mlp.onnx", "--merge", 3, "--json"], "import --merge")
    alone, done = ask_json(sandbox, ["import", harness.MODELS / "tiny" / "mlp.onnx", "--json"], "import of one instance")
    sandbox.check(merged["models"][0]["model"] == "mlp x3" and
                  sum(task["flop"] for task in merged["models"][0]["tasks"]) == 3 * sum(task["flop"] for task in alone["models"][0]["tasks"]),
                  "three merged instances do three times the work", done)


def query_model(sandbox):
    model, log = harness.MODELS / "tiny" / "mlp.onnx", sandbox.work / "mlp.db"
    tuned, _ = ask_json(sandbox, ["tune", model, "--trials-per-task", 2, "--log", log, "--json"], "tune a tiny model")
    answer, done = ask_json(sandbox, ["query", model, "--log", log, "--json"], "query of a model")
    if not fields(sandbox, answer, {"models"}, "query of a model", done):
        return
    one = answer["models"][0]
    fields(sandbox, one, {"model", "path", "dims", "nodes", "tunable", "answers", "left_out"}, "query of a model", done)
    sandbox.check(len(one["answers"]) == len(tuned["tasks"]), "an answer for each subgraph", done)
    for subgraph in one["answers"]:
        fields(sandbox, subgraph, {"name", "uses", "answer"}, "query of a model: an answer")
        fields(sandbox, subgraph["answer"], QUERY_FIELDS, "query of a model: a package")
        sandbox.check(subgraph["answer"]["match"] == "exact", f"{subgraph['name']}: exact after tuning")
        names = {argument["name"] for argument in subgraph["answer"]["arguments"] if "tensor" in argument}
        sandbox.check(names == set(subgraph["uses"][0]["tensors"]), f"{subgraph['name']}: the arguments' names are those of the use: {names}")
    plain = sandbox.run("query", model, "--log", log)
    sandbox.check(plain.code == 0 and plain.out.count("exact") == len(tuned["tasks"]), "query of a model in words", plain)
    both, done = ask_json(sandbox, ["query", harness.MODELS / "tiny" / "dynamic_dim.onnx", "--dim", "batch=2,3", "--json"], "query under two bindings")
    sandbox.check([one["dims"] for one in both["models"]] == [{"batch": 2}, {"batch": 3}], "an answer for each binding", done)


def bindings(sandbox):
    """Several values of a dimension: models of their own in one session, which another set of values does not continue."""
    model = harness.MODELS / "tiny" / "dynamic_dim.onnx"
    command = ["tune", model, "--trials-per-task", 2, "--log", "bindings.db", "--json"]
    report, done = ask_json(sandbox, [*command, "--dim", "batch=3,96"], "tune under two bindings")
    sandbox.check([one["model"] for one in report["models"]] == ["dynamic_dim [batch=3]", "dynamic_dim [batch=96]"], "two models", done)
    sandbox.check(len(report["tasks"]) == 2 and len({task["family"] for task in report["tasks"]}) == 1, "two tasks in one family", done)
    again, done = ask_json(sandbox, [*command, "--dim", "batch=3,96"], "the same again")
    sandbox.check(again["session"] == report["session"] and again["new_trials"] == 0, "it is the same session", done)
    other, done = ask_json(sandbox, [*command, "--dim", "batch=3"], "one of the bindings")
    sandbox.check(other["session"] != report["session"], "other bindings are another session", done)


def dynamic_dimension(sandbox):
    model = harness.MODELS / "tiny" / "dynamic_dim.onnx"
    zoo = sandbox.write("zoo.json", json.dumps({"models": [{"path": os.path.relpath(model, sandbox.work), "dims": {"batch": 3},
                                                            "weight": 2, "priority": 1}]}))
    report, _ = ask_json(sandbox, ["tune", zoo, "--trials-per-task", 1, "--log", "dynamic.db", "--json"], "tune a zoo with dims")
    sandbox.check(report.get("tasks") and all(task["best_ns"] for task in report["tasks"]), "a zoo's dims bind the model's dimension")


def tune(sandbox, workload, log):
    command = ["tune", workload, sandbox.write("add.kd", harness.ADD), "--trials", 16, "--seed", 5, "--log", log]
    report, done = ask_json(sandbox, [*command, "--json"], "tune --json")
    if not fields(sandbox, report, TUNE_FIELDS, "tune", done):
        return
    fields(sandbox, report["time"], TIME_FIELDS, "tune: time")
    spent = sum(report["time"].values())
    sandbox.check(spent <= report["wall_s"] * 1.1 + 0.2, f"the parts of the time ({spent:.2f} s) do not exceed the whole ({report['wall_s']:.2f} s)")
    sandbox.check(report["trials"] == 16, f"--trials is the total over all tasks (16): {report['trials']}")
    sandbox.check(sum(task["trials"] for task in report["tasks"]) == 16, "the tasks' trials add up")
    for task in report["tasks"]:
        fields(sandbox, task, TASK_FIELDS, "tune: a task")
        sandbox.check(task["best_ns"] and task["best_ns"] > 0 and task["untuned_ns"] > 0, f"tune: {task['name']} has a best and an untuned time: {task}")
    for model in report["models"]:
        fields(sandbox, model, {"model", "total", "coverage"}, "tune: a model")
        fields(sandbox, model["total"], {"untuned_ns", "best_ns"}, "tune: a model's total")
    again, done = ask_json(sandbox, [*command, "--json"], "tune again")
    sandbox.check(again.get("trials") == 16 and again["tasks"][0]["best_ns"] == report["tasks"][0]["best_ns"],
                  "a finished run measures nothing more and says the same", done)
    rows = harness.export(sandbox, log).values()
    again_rows = [row for row in rows if row.get("conditions", {}).get("interleaved_passes", 0) > 0]
    sandbox.check(len(again_rows) == report["final_choice"]["remeasured"] and len(rows) == 16 + len(again_rows),
                  f"what the final choice measured again is told apart: {len(again_rows)} of {len(rows)} rows, {report['final_choice']}")
    plain = sandbox.run(*command)
    sandbox.check(plain.code == 0 and "GFLOP/s" in plain.out + plain.err, "tune in words ends with a table", plain)
    ask_json(sandbox, ["tune", workload, "--time", "3s", "--seed", 6, "--searcher", "random", "--families", "off", "--log", log,
                       "--json"], "tune --time --searcher random --families off")


def until(sandbox, workload):
    command = ["tune", workload, "--until", "30%", "--seed", 3, "--log", "until.db", "--json"]
    report, done = ask_json(sandbox, command, "tune --until")
    sandbox.check(report.get("ended", {}).get("by") == "until" and "30%" in report["ended"]["message"] and report["trials"] > 0,
                  "tune --until says why it ended", done)
    again, done = ask_json(sandbox, command, "tune --until again")
    sandbox.check(again.get("new_trials") == 0 and again["ended"]["by"] == "until", "tune --until again measures nothing", done)


def final_choice(sandbox, workload):
    command = ["tune", workload, "--trials", 60, "--seed", 4, "--json"]
    chosen, done = ask_json(sandbox, [*command, "--log", "choice.db"], "tune with a final choice")
    verified = sandbox.run("log", "verify", "choice.db")
    sandbox.check(verified.code == 0, "its log is sound", verified)
    answer, done = ask_json(sandbox, ["query", workload, "--log", "choice.db", "--json"], "query of the chosen one")
    sandbox.check(answer.get("statistics", {}).get("median_ns") == chosen["tasks"][0]["best_ns"], "the log's best is the report's", done)
    without, done = ask_json(sandbox, [*command, "--log", "without.db", "--final-choice", "off", "--scheduler", "round-robin"],
                             "tune without a final choice")
    sandbox.check(without.get("final_choice", {}).get("remeasured") == 0 and without["trials"] == 60
                  and without["session"] != chosen["session"], "--final-choice off measures nothing again; a scheduler makes it another session", done)


def unmeasured_parts(sandbox):
    """A budget below the number of subgraphs: a total must not leave out what has no time yet."""
    report, done = ask_json(sandbox, ["tune", harness.MODELS / "tiny" / "attention_block.onnx", "--trials", 1, "--log", "part.db",
                                      "--json"], "tune with fewer trials than subgraphs")
    if not report:
        return
    sandbox.check(any(task["best_ns"] == 0 for task in report["tasks"]), "one trial leaves subgraphs without a time", done)
    total = report["models"][0]["total"]
    counts = {task["key"]: task["count"] for task in report["tasks"]}
    expected = sum(counts[task["key"]] * (task["best_ns"] or task["untuned_ns"]) for task in report["tasks"])
    sandbox.check(total["complete"] is False and abs(total["best_ns"] - expected) <= 1e-6 * expected,
                  f"no gain is claimed for subgraphs without a schedule ({expected}): {total}")


def query(sandbox, workload, log):
    answer, done = ask_json(sandbox, ["query", workload, "--log", log, "--json"], "query of a tuned workload")
    if not fields(sandbox, answer, QUERY_FIELDS, "query", done):
        return
    sandbox.check(answer["match"] == "exact" and answer["validated"] is True, f"a tuned workload: exact and validated, not {answer['match']}", done)
    by_key, _ = ask_json(sandbox, ["query", answer["key"], "--log", log, "--json"], "query by key")
    sandbox.check(by_key.get("schedule") == answer["schedule"], "query by key gives the same schedule")
    unknown = sandbox.run("query", "0123456789abcdef0123456789abcdef", "--log", log, "--json")
    sandbox.check(unknown.code == 2 and "workload" in unknown.err and not unknown.out.strip(), "an unknown bare key asks for the workload", unknown)
    other = sandbox.write("other.kd", harness.MATMUL.replace("24", "48").replace("16", "20"))
    for where, words in (("the log", ["--log", log]), ("no log", [])):
        miss, done = ask_json(sandbox, ["query", other, *words, "--json"], f"query of a workload that {where} does not know")
        sandbox.check(miss.get("match") in ("sibling", "predicted", "default") and miss.get("source") and miss.get("validated") is False,
                      f"a workload that {where} knows gets an answer that says what it is", done)
    absent = sandbox.run("query", other, "--log", "absent.db")
    sandbox.check(absent.code == 2 and "absent.db" in absent.err, "a log that is named but not there is bad input", absent)
    plain = sandbox.run("query", workload, "--log", log)
    sandbox.check(plain.code == 0 and "exact" in plain.out, "query in words names the match level", plain)
    run_package(sandbox, answer, "of the tuned workload", 24, 32, 16)
    if miss.get("source"):
        run_package(sandbox, miss, "of an unknown workload", 48, 32, 20)


def described_gpu(sandbox, workload):
    """A GPU by name: predictions and kernels without it, but no measurements."""
    for words in (["h200"], ["--target", "a100"]):
        report, done = ask_json(sandbox, ["device", *words, "--json"], f"device {words}")
        sandbox.check(report.get("kind") == "cuda" and report.get("gpu", {}).get("sms", 0) > 100, f"device {words} describes a GPU", done)
    shown = sandbox.run("device", "h200")
    sandbox.check(shown.code == 0 and "sm_90a" in shown.out and "data sheet" in shown.out, "device h200 in words", shown)
    answer, done = ask_json(sandbox, ["query", workload, "--target", "h200", "--json"], "query for h200")
    if fields(sandbox, answer, QUERY_FIELDS, "query for h200", done):
        sandbox.check(answer["match"] in ("default", "predicted") and answer["language"] == "cuda" and not answer["validated"],
                      "an answer for a GPU that is not there: CUDA, not run", done)
        sandbox.check(all(f" {step['entry']}(" in answer["source"] and step["block"][0] > 0 and len(step["grid"]) == 3
                          and step["parameters"] for step in answer["steps"]), "each step says how it is launched", done)
    ranked, done = ask_json(sandbox, ["predict", workload, "--target", "a100", "-k", 5, "--json"], "predict for a100")
    times = [one["predicted_ns"] for one in ranked.get("schedules", [])]
    sandbox.check(len(times) == 5 and times == sorted(times) and times[0] > 0, "predict ranks schedules for a GPU", done)
    for words in (["tune", workload, "--trials", 2, "--log", "none.db"],
                  ["predict", workload, "--sweep", "m=8,16", "--measure", 1, "--log", "none.db"]):
        done = sandbox.run(*words, "--target", "h200")
        sandbox.check(done.code == 2 and "not a device" in done.err and not (sandbox.work / "none.db").exists(),
                      f"{words[0]} on a description is bad input and begins no log", done)
    done = sandbox.run("query", workload, "--target", "h20")
    sandbox.check(done.code == 2 and "h200" in done.err and "a100" in done.err, "an unknown target: the known ones are named", done)
    done = sandbox.run("query", workload, "--cubin", "x.cubin")
    sandbox.check(done.code == 2 and "--target" in done.err, "--cubin of a C kernel is bad input", done)


def run_package(sandbox, answer, what, m, k, n):
    """Compiles the package's source as its provenance says, calls it on random data, compares with plain loops."""
    source = sandbox.write("package/kernel.c", answer["source"])
    library = source.with_suffix(f".{answer['key'][:8]}.so")
    flags = answer["provenance"]["flags"]
    flags = flags.split() if isinstance(flags, str) else flags
    built = subprocess.run([answer["provenance"]["compiler"].split()[0], *flags, "-shared", "-fPIC", source, "-o", library, "-lm"],
                           capture_output=True, text=True)
    if not sandbox.check(built.returncode == 0, f"the package {what} compiles with its own flags: {built.stderr[-300:]}"):
        return
    generator = random.Random(1)
    sizes = {"X": m * k, "W": k * n, "b": n, "Y": m * n}
    arguments = sorted(answer["arguments"], key=lambda argument: argument["position"])
    storage, buffers = {}, []
    for argument in arguments:
        raw = ctypes.create_string_buffer(argument["elements"] * 4 + 128)
        address = (ctypes.addressof(raw) + 63) // 64 * 64
        values = (ctypes.c_float * argument["elements"]).from_address(address)
        if argument["access"] == "read":
            values[:] = [generator.uniform(-1, 1) for _ in range(sizes[argument["name"]])]
        storage[argument["name"]] = (raw, values)
        buffers.append(address)
    workspace = ctypes.create_string_buffer(answer["workspace_bytes"] + 128)
    aligned = (ctypes.addressof(workspace) + 63) // 64 * 64
    loaded = ctypes.CDLL(str(library))
    for step in answer["steps"]:
        code = getattr(loaded, step["entry"])((ctypes.c_void_p * len(buffers))(*buffers), None, ctypes.c_void_p(aligned))
        sandbox.check(code == 0, f"step {step['entry']} of the package {what} returns 0")
    x, w, b, y = (storage[name][1] for name in "XWbY")
    worst = max(abs(max(sum(x[i * k + l] * w[l * n + j] for l in range(k)) + b[j], 0.0) - y[i * n + j])
                for i in range(m) for j in range(n))
    sandbox.check(worst < 1e-4, f"the package {what} computes the workload (off by {worst:.2g})")


def log_commands(sandbox, log):
    for words in (["log", "ls", log], ["log", "show", log]):
        ask_json(sandbox, [*words, "--json"], " ".join(map(str, words[:2])) + " --json")
        plain = sandbox.run(*words)
        sandbox.check(plain.code == 0 and plain.out.strip(), " ".join(map(str, words[:2])) + " in words", plain)
    exported = sandbox.run("log", "export", log)
    lines = exported.out.splitlines()
    sandbox.check(exported.code == 0 and len(lines) >= 16 and all(isinstance(json.loads(line), dict) for line in lines),
                  "log export writes one JSON object a line", exported)
    lines_file = sandbox.write("trials.jsonl", exported.out)
    for _ in range(2):
        imported = sandbox.run("log", "import", "copy.db", lines_file)
        sandbox.check(imported.code == 0, "log import", imported)
    again = sandbox.run("log", "export", "copy.db")
    sandbox.check(again.out == exported.out, "what was exported, imported (twice) and exported again is the same")
    broken = sandbox.write("broken.jsonl", exported.out[:len(exported.out) * 2 // 3])
    done = sandbox.run("log", "import", "broken.db", broken)
    sandbox.check(done.code == 2 and "broken.jsonl" in done.err, "a broken line is bad input, named", done)
    for name in (log, "copy.db"):
        report, _ = ask_json(sandbox, ["log", "verify", name, "--json"], "log verify --json")
    absent = sandbox.run("log", "ls", "absent.db")
    sandbox.check(absent.code == 2 and "absent.db" in absent.err and not (sandbox.work / "absent.db").exists(),
                  "a log that is not there is bad input and is not made", absent)


def interrupt(sandbox):
    workload = sandbox.write("conv.kd", harness.CONV)
    process = sandbox.start("tune", workload, "--trials", 500, "--log", "interrupted.db")
    harness.wait_for_trials(sandbox.work / "interrupted.db", 3, process, 60)
    os.kill(process.pid, signal.SIGINT)
    started = time.monotonic()
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    done = harness.Done(process.returncode, out, err, time.monotonic() - started)
    sandbox.check(done.code in (0, 1, 130), "Ctrl-C stops a run cleanly", done)
    sandbox.check(not sandbox.survivors(), f"Ctrl-C leaves no process: {sandbox.survivors()}")
    verified = sandbox.run("log", "verify", "interrupted.db")
    kept = harness.export(sandbox, "interrupted.db")
    sandbox.check(verified.code == 0 and kept, "Ctrl-C keeps what was measured", verified)


def test(sandbox):
    workload = sandbox.write("matmul.kd", harness.MATMUL)
    log = sandbox.work / "tuned.db"
    help_and_usage(sandbox)
    device(sandbox)
    import_models(sandbox)
    tune(sandbox, workload, log)
    until(sandbox, workload)
    final_choice(sandbox, workload)
    unmeasured_parts(sandbox)
    query(sandbox, workload, log)
    described_gpu(sandbox, workload)
    log_commands(sandbox, log)
    dynamic_dimension(sandbox)
    several_models(sandbox)
    query_model(sandbox)
    bindings(sandbox)
    interrupt(sandbox)


harness.main(test)
