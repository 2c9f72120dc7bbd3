#!/usr/bin/env python3
"""A compiler's day with `kindred serve`: every subgraph of a model asked by the Python client against an empty log; each
answer is built, run and compared; a job tunes the model while its events are read; the service is killed in the middle
and goes on; slow, oversized and broken requests get their status. Usage: service.py PATH_OF_KINDRED
"""

import array
import contextlib
import http.client
import json
import math
import os
import random
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import harness

sys.path.insert(0, str(harness.ROOT / "scripts" / "clients" / "python"))
import kindred  # noqa: E402

RELU = "input A: f32[24,32]\nweight B: f32[32,16]\noutput Y[m,n] = relu(sum[k](A[m,k] * B[k,n]))\n"
SIBLING = RELU.replace("24", "40")


class Service:
    def __init__(self, sandbox, log):
        self.sandbox, self.log = sandbox, log
        self.process = sandbox.start("serve", "--log", log, "--listen", "127.0.0.1:0")
        self.line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", self.line)
        sandbox.check(found is not None, f"the service says where it listens, not {self.line!r}")
        self.port = int(found.group(1)) if found else 0
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = kindred.Client(self.url, strict=True, timeout=30)

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=10) as response:
            return response.read().decode()

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=30)
        return harness.Done(self.process.returncode, out, err, 0)

    def raw(self, data, pause=0.0, seconds=15):
        """What comes back for bytes, sent in two parts with a pause between them."""
        with contextlib.closing(socket.create_connection(("127.0.0.1", self.port), timeout=seconds)) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(data)
                time.sleep(pause)
            got = b""
            with contextlib.suppress(OSError):
                while part := connection.recv(65536):
                    got += part
            return got.decode("latin-1")


    def post(self, path, data, kind="application/json"):
        """Status and body of a POST."""
        request = urllib.request.Request(self.url + path, data=data.encode(), headers={"Content-Type": kind})
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


class Load:
    """Threads that ask for a workload without a pause until they are stopped or the service is gone."""

    def __init__(self, service, threads=8):
        self.service, self.answered, self.wrong, self.stopping = service, [0] * threads, [], False
        self.threads = [threading.Thread(target=self.ask, args=(at,)) for at in range(threads)]
        for thread in self.threads:
            thread.start()

    def ask(self, at):
        with contextlib.suppress(OSError, http.client.HTTPException):
            while not self.stopping:
                status, body = self.service.post("/v1/query", RELU, "text/plain")
                if status != 200:
                    self.wrong.append((status, body[:200]))
                    return
                self.answered[at] += 1

    def stop(self):
        self.stopping = True
        for thread in self.threads:
            thread.join(timeout=30)


def run_relu(sandbox, package, rows, what):
    """Builds and runs an answer for RELU's computation with `rows` rows."""
    random.seed(3)
    a = array.array("f", [random.uniform(-1, 1) for _ in range(rows * 32)])
    b = array.array("f", [random.uniform(-1, 1) for _ in range(32 * 16)])
    y = array.array("f", [math.nan] * (rows * 16))
    kernel = kindred.build(package, str(sandbox.folder / "cache" / "python"))
    kernel(A=a, B=b, Y=y)
    worst = max(abs(y[m * 16 + n] - max(0.0, sum(a[m * 32 + k] * b[k * 16 + n] for k in range(32))))
                for m in range(rows) for n in range(16))
    sandbox.check(worst < 1e-4, f"{what}: the kernel is right (worst difference {worst})")


def answers(sandbox, service):
    client = service.client
    package = client.query(RELU)
    sandbox.check(package["match"] == "default" and not package["validated"], "an empty log answers by the prior")
    run_relu(sandbox, package, 24, "default")
    queried = sandbox.run("query", sandbox.write("relu.kd", RELU), "--log", service.log, "--json").json()
    sandbox.check(queried is not None and queried["source"] == package["source"], "kindred query gives the same answer")
    batch = kindred.Client(service.url).query_many([RELU, "nonsense", SIBLING])
    sandbox.check(batch[0] == package and batch[1] is None and batch[2] is not None, "a batch answers item by item")
    model = (harness.MODELS / "tiny" / "mlp.onnx").read_bytes()
    whole = client.query_model(model)
    sandbox.check(len(whole["answers"]) == 4 and whole["left_out"] == [], "a model is answered subgraph by subgraph")
    for item in whole["answers"]:
        sandbox.check(item["answer"]["match"] in ("default", "predicted"), f"{item['name']}: predicted or default")
        kindred.build(item["answer"], str(sandbox.folder / "cache" / "python"))
    off = kindred.Client("http://127.0.0.1:9", timeout=1)
    sandbox.check(off.query(RELU) is None, "a client without a service fails open")


def wait_for(service, job, states, seconds=120):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        now = service.client.job(job["id"])
        if now["state"] in states:
            return now
        time.sleep(0.05)
    return now


def tuning(sandbox, service):
    """Returns a job that is under way when the service is killed, and the service that goes on."""
    client = service.client
    job = client.tune(workloads=[RELU], trials=8, name="relu")
    done = wait_for(service, job, ("finished", "failed"))
    sandbox.check(done["state"] == "finished" and done["progress"]["trials"] >= 8, f"a job tunes: {done}")
    events = service.get(f"/v1/jobs/{job['id']}/events")
    sandbox.check("event: end\ndata: " in events, f"the events of a finished job end: {events[:200]}")
    time.sleep(0.3)  # the book looks at the log ten times a second
    exact = client.query(RELU)
    sandbox.check(exact["match"] == "exact" and exact["validated"], "what was tuned is exact")
    run_relu(sandbox, exact, 24, "exact")
    sibling = client.query(SIBLING)
    sandbox.check(sibling["match"] == "sibling", f"a sibling's winner is carried over, not {sibling['match']}")
    run_relu(sandbox, sibling, 40, "sibling")
    sandbox.check(client.best(exact["key"])["source"] == exact["source"], "the key alone finds it")
    from_file = kindred.Client(log=str(service.log), strict=True)
    with contextlib.suppress(kindred.Error):  # no zstd here
        sandbox.check(from_file.best(exact["key"])["source"] == exact["source"], "so does the file itself")

    long = client.tune(workloads=[harness.MATMUL.replace("[24,32]", "[96,160]").replace("[32,16]", "[160,16]")],
                       trials=400)
    seen = []

    def listen():
        with contextlib.suppress(OSError), urllib.request.urlopen(
                f"{service.url}/v1/jobs/{long['id']}/events", timeout=60) as stream:
            for line in stream:
                seen.append(line.decode())

    listener = threading.Thread(target=listen)
    listener.start()
    wait_for(service, long, ("running",))
    deadline = time.monotonic() + 60
    while harness.trials_in(service.log) < 20 and time.monotonic() < deadline:
        time.sleep(0.01)
    load = Load(service)
    deadline = time.monotonic() + 20
    while min(load.answered) < 5 and not load.wrong and time.monotonic() < deadline:
        time.sleep(0.01)
    before = harness.export(sandbox, service.log)
    asked = list(load.answered)
    time.sleep(0.1)
    sandbox.check(sum(load.answered) > sum(asked), "the service is under load when it is killed")
    service.stop(signal.SIGKILL)
    load.stop()
    sandbox.check(min(load.answered) >= 5 and not load.wrong, f"a job's service answers under load: {load.wrong[:2]}")
    listener.join(timeout=30)
    sandbox.check(any(line.startswith("event: progress") for line in seen), "events come while a job runs")
    deadline = time.monotonic() + 10
    while sandbox.survivors() and time.monotonic() < deadline:
        time.sleep(0.05)
    sandbox.check(not sandbox.survivors(), f"the tuner dies with its service: {sandbox.survivors()}")
    after = harness.export(sandbox, service.log)
    sandbox.check(before is not None and all(after.get(at) == trial for at, trial in before.items()),
                  "kill -9 loses no finished trial")
    again = Service(sandbox, service.log)
    now = wait_for(again, long, ("running", "finished"))
    sandbox.check(now["state"] in ("running", "finished"), f"the job goes on after a restart: {now}")
    reached = harness.trials_in(service.log)
    deadline = time.monotonic() + 60
    while harness.trials_in(service.log) <= reached and time.monotonic() < deadline:
        time.sleep(0.05)
    sandbox.check(harness.trials_in(service.log) > reached, "and measures what is missing")
    request = urllib.request.Request(f"{again.url}/v1/jobs/{long['id']}", method="DELETE")
    urllib.request.urlopen(request, timeout=10).read()
    cancelled = wait_for(again, long, ("cancelled", "finished"))
    sandbox.check(cancelled["state"] in ("cancelled", "finished"), f"a job can be cancelled: {cancelled}")
    verified = sandbox.run("log", "verify", service.log)
    sandbox.check(verified.code == 0, "log verify is clean", verified)
    return again


def manners(sandbox, service):
    slow = []
    thread = threading.Thread(target=lambda: slow.append(service.raw(b"GET /healthz HT", pause=11, seconds=20)))
    thread.start()
    oversized = service.raw(b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
                            b"Content-Length: 99999999\r\n\r\n" + b"x" * 1000)
    sandbox.check(oversized.startswith("HTTP/1.1 413 "), f"an oversized body: 413, not {oversized[:60]!r}")
    sandbox.check(service.raw(b"BROKEN\r\n\r\n").startswith("HTTP/1.1 400 "), "a broken request: 400")
    sandbox.check('"ok"' in service.get("/healthz"), "others are served meanwhile")
    for path, body, expected, words in (
            ("/v1/query", '{"workload": ', 400, "JSON"),
            ("/v1/query", json.dumps({"workload": RELU, "target": "tpu"}), 400, "tpu"),
            ("/v1/query", json.dumps({"workload": "output Y[i] = X[i]\n"}), 400, "workload:1:"),
            ("/v1/jobs", '{"workloads": ', 400, "JSON"),
            ("/v1/jobs", json.dumps({"model": "0" * 64}), 404, "")):
        status, answer = service.post(path, body)
        sandbox.check(status == expected and "error" in json.loads(answer) and words in answer,
                      f"{path} {body[:40]!r}: {expected} with '{words}', not {status} {answer[:200]}")
    body = b"output Y[i] = X[i]\n"
    wrong = service.raw(b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: text/plain\r\n"
                        b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    sandbox.check(wrong.startswith("HTTP/1.1 400 ") and "workload:1:" in wrong, f"a workload's error has its place: {wrong}")
    metrics = service.get("/metrics")
    sandbox.check("kindred_answers_total" in metrics, "metrics are there")
    if subprocess.run(["which", "promtool"], capture_output=True).returncode == 0:
        checked = subprocess.run(["promtool", "check", "metrics"], input=metrics, text=True, capture_output=True)
        sandbox.check(checked.returncode == 0, f"promtool accepts them: {checked.stderr}")
    else:
        sandbox.skip("promtool check metrics: promtool is not installed")
    described = json.loads(service.get("/openapi.json"))
    sandbox.check(described["openapi"].startswith("3."), "openapi.json is there")
    taken = sandbox.run("serve", "--log", "other.db", "--listen", f"127.0.0.1:{service.port}")
    sandbox.check(taken.code == 2 and "another service" in taken.err, "a port in use is said so", taken)
    thread.join()
    sandbox.check(slow[0].startswith("HTTP/1.1 408 "), f"a slow request: 408, not {slow[0][:60]!r}")


def bad_start(sandbox):
    for words, expected in ((["--listen", "0.0.0.0:1"], "loopback"), (["--listen", "x"], "ADDRESS:PORT"),
                            (["--target", "tpu"], "unknown target")):
        done = sandbox.run("serve", "--log", "new.db", *words)
        sandbox.check(done.code == 2 and expected in done.err, f"serve {words}: exit code 2, '{expected}'", done)
    sandbox.write("notes.db", "this is no log")
    done = sandbox.run("serve", "--log", "notes.db", "--listen", "0")
    sandbox.check(done.code == 2, "a file that is no log: exit code 2", done)
    made = Service(sandbox, sandbox.work / "newer.db")
    made.stop()
    with contextlib.closing(sqlite3.connect(made.log)) as database:
        database.execute("PRAGMA user_version = 999")
    done = sandbox.run("serve", "--log", made.log, "--listen", "0")
    sandbox.check(done.code == 2 and "newer.db" in done.err and "999" in done.err, "a newer log: exit code 2", done)
    disk = sandbox.mount_tmpfs("read_only", "size=4m")
    if disk:
        made = Service(sandbox, disk / "frozen.db")
        made.stop()
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        done = sandbox.run("serve", "--log", made.log, "--listen", "0")
        sandbox.check(done.code == 2 and "frozen.db" in done.err and "cannot be written" in done.err,
                      "a read-only log is said so", done)
    else:
        sandbox.skip("a read-only log (mounting is not allowed here)")
    made = Service(sandbox, sandbox.work / "locked.db")
    made.stop()
    with contextlib.closing(sqlite3.connect(made.log, isolation_level=None)) as database:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("BEGIN EXCLUSIVE")
        done = sandbox.run("serve", "--log", made.log, "--listen", "0")
        sandbox.check(done.code == 2 and "locked.db" in done.err and "locked by another" in done.err,
                      "a locked log is said so", done)


def test(sandbox):
    bad_start(sandbox)
    service = Service(sandbox, sandbox.work / "kindred.db")
    answers(sandbox, service)
    service = tuning(sandbox, service)
    manners(sandbox, service)
    done = service.stop()
    sandbox.check(done.code == 0, "SIGTERM ends the service well", done)
    counted = sandbox.run("log", "verify", service.log)
    sandbox.check(counted.code == 0, "log verify is clean at last", counted)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    harness.main(test)
