#!/usr/bin/env python3
"""What `kindred serve` carries: hits under wrk, batches and misses, on a log of 100,000 trials, alone and while a tuning
run writes that log; beside it a server that does nothing but send the same bytes by Boost.Beast (bare_server.cc).

    cmake --build BUILD --target kindred make_log bare_server
    load.py BUILD [--trials 100000] [--seconds 6] [--json FILE]

The server has one core to itself; wrk (Debian's package) has another, of which a tuning run gets what is left (SCHED_IDLE).
Prints one JSON object.
Wants an idle machine with two cores; some three minutes.

- hits: GET /v1/schedules/KEY over all keys of the log, 64 connections and one: requests/s, p50, p99 in microseconds
- batch: POST /v1/query of 256 keys, from Python: milliseconds, median and p99
- miss: POST /v1/query of a workload that nobody asked for before: milliseconds, median and largest
- bare: the same wrk on bare_server, whose body is one of the service's answers; also beside the tuning run, where wrk
  shares its core
"""

import argparse
import http.client
import itertools
import json
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
SERVER_CORE, CLIENT_CORE = 0, 1
BATCH = 256
MISSES = 40
RUNS = 5
BATCHES = 40

# Keys in turn, each request made ahead of time.
LUA = """\
local requests, i = {}, 0
function init()
  for key in io.lines("%s") do
    requests[#requests + 1] = wrk.format("GET", "/v1/schedules/" .. key)
  end
end
function request()
  i = i %% #requests + 1
  return requests[i]
end
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def on_core(core, *command, **options):
    return subprocess.Popen(["taskset", "-c", str(core), *map(str, command)], **options)


def wait_for(port, path="/healthz"):
    for _ in range(600):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", path)
            connection.getresponse().read()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit("load.py: the server does not answer")


MICROSECONDS = {"us": 1, "ms": 1e3, "s": 1e6}


def wrk(port, connections, seconds, script):
    out = subprocess.run(
        ["taskset", "-c", str(CLIENT_CORE), "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", script,
         f"http://127.0.0.1:{port}/"], check=True, capture_output=True, text=True).stdout
    found = {"requests_per_s": float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])}
    for percent in (50, 99):
        value, unit = re.search(rf"^\s+{percent}%\s+([\d.]+)(us|ms|s)", out, re.M).groups()
        found[f"p{percent}_us"] = round(float(value) * MICROSECONDS[unit], 1)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    found["not_200"] = int(bad[1]) if bad else 0
    return found


def repeated(port, connections, seconds, script):
    """The run with the median p99 of five: neighbours on the machine make single runs tell little."""
    runs = sorted((wrk(port, connections, seconds, script) for _ in range(RUNS)), key=lambda run: run["p99_us"])
    return {**runs[RUNS // 2], "p99_us_of_runs": [run["p99_us"] for run in runs], "not_200": sum(run["not_200"] for run in runs),
            "requests_per_s_of_runs": sorted(round(run["requests_per_s"]) for run in runs)}


class Client:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def post(self, body):
        """Milliseconds and the answer."""
        data = json.dumps(body)
        started = time.perf_counter()
        self.connection.request("POST", "/v1/query", data, {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        text = response.read()
        ms = (time.perf_counter() - started) * 1e3
        if response.status != 200:
            sys.exit(f"load.py: /v1/query answers {response.status}: {text[:300]!r}")
        return ms, text


def percentile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def new_workloads():
    """Workloads that are not in the log: products, convolutions and softmaxes of odd extents."""
    for n in itertools.count(1):
        yield f"input X: f32[{96 + n},{200 + n}]\nweight W: f32[{200 + n},257]\n" \
              "output Y[m,n] = sum[k](X[m,k] * W[k,n])\n"
        yield f"input X: f32[1,{16 + n},30,30]\nweight W: f32[40,{16 + n},3,3]\n" \
              "T[n,o,y=30,x=30] = sum[c,r,s](padded(X[n,c,y+r-1,x+s-1], 0) * W[o,c,r,s])\n" \
              "output Y[n,o,y,x] = max(T[n,o,y,x], 0)\n"
        yield f"input X: f32[{60 + n},333]\nM[i] = max[j](X[i,j])\nE[i,j] = exp(X[i,j] - M[i])\n" \
              "S[i] = sum[j](E[i,j])\noutput Y[i,j] = E[i,j] / S[i]\n"


def measure(port, keys, script, seconds, workloads):
    found = {"hits_64": repeated(port, 64, seconds, script), "hits_1": repeated(port, 1, seconds, script)}
    client = Client(port)
    queries = [{"key": key} for key in itertools.islice(itertools.cycle(keys), BATCH)]
    times = [client.post({"queries": queries})[0] for _ in range(BATCHES + 1)][1:]
    found["batch_256_ms"] = {"median": round(statistics.median(times), 2), "p99": round(percentile(times, 0.99), 2)}
    times, matches = [], {}
    for text in itertools.islice(workloads, MISSES):
        ms, answer = client.post({"workload": text})
        match = json.loads(answer)["match"]
        matches[match] = matches.get(match, 0) + 1
        times.append(ms)
    found["miss_ms"] = {"median": round(statistics.median(times), 1), "p99": round(percentile(times, 0.99), 1),
                        "matches": matches}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder")
    parser.add_argument("--trials", type=int, default=100000)
    parser.add_argument("--seconds", type=int, default=2, help="of each run of wrk")
    parser.add_argument("--json", type=pathlib.Path, help="write the object here too")
    options = parser.parse_args()
    for tool in ("wrk", "taskset"):
        if not shutil.which(tool):
            sys.exit(f"load.py: {tool} is not installed (Debian's packages wrk and util-linux)")
    build = options.build.resolve()
    with tempfile.TemporaryDirectory(prefix="kindred-load-") as name:
        folder = pathlib.Path(name)
        environment = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"), HOME=str(folder))
        log = folder / "kindred.db"
        subprocess.run([build / "bin" / "make_log", log, str(options.trials), ROOT / "tests" / "models" / "zoo.json"],
                       check=True, stdout=subprocess.DEVNULL)
        with sqlite3.connect(log) as database:
            keys = [row[0] for row in database.execute("SELECT DISTINCT workload FROM best_schedule ORDER BY 1")]
            target = database.execute("SELECT DISTINCT target_name FROM best_schedule").fetchall()
        (folder / "keys").write_text("\n".join(keys) + "\n")
        script = folder / "keys.lua"
        script.write_text(LUA % (folder / "keys"))
        port, bare_port = free_port(), free_port()
        service = on_core(SERVER_CORE, build / "kindred", "serve", "--log", log, "--listen", f"127.0.0.1:{port}", cwd=folder,
                          env=environment, stdout=subprocess.DEVNULL)
        running = [service]
        try:
            wait_for(port)
            workloads = new_workloads()
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            sizes = []
            for key in keys:  # fills the book
                connection.request("GET", f"/v1/schedules/{key}")
                response = connection.getresponse()
                body = response.read()
                if response.status != 200:
                    sys.exit(f"load.py: {key} answers {response.status}: {body[:300]!r}")
                sizes.append((len(body), body))
            sizes.sort()
            middle = sizes[len(sizes) // 2][1]
            (folder / "body.json").write_bytes(middle)
            bare = on_core(SERVER_CORE, build / "bin" / "bare_server", bare_port, folder / "body.json",
                           stdout=subprocess.DEVNULL)
            running.append(bare)
            wait_for(bare_port)
            found = {"trials": options.trials, "keys": len(keys), "targets": [row[0] for row in target],
                     "body_bytes": {"median": len(middle), "mean": round(statistics.mean(s for s, _ in sizes)),
                                    "largest": sizes[-1][0]}}
            found["bare"] = {"hits_64": repeated(bare_port, 64, options.seconds, script),
                             "hits_1": repeated(bare_port, 1, options.seconds, script)}
            found["alone"] = measure(port, keys, script, options.seconds, workloads)
            found["of_bare"] = round(statistics.median(found["alone"]["hits_64"]["requests_per_s_of_runs"])
                                     / statistics.median(found["bare"]["hits_64"]["requests_per_s_of_runs"]), 3)
            before = sqlite3.connect(log).execute("SELECT count(*) FROM trial").fetchone()[0]
            for i, text in enumerate(itertools.islice(workloads, 3)):
                (folder / f"{i}.kd").write_text(text)
            tuner = on_core(CLIENT_CORE, "chrt", "--idle", "0", build / "kindred", "tune", "0.kd", "1.kd", "2.kd", "--trials-per-task", 1000, "--log",
                            log, "--quiet", cwd=folder, env=environment, stdout=subprocess.DEVNULL)
            running.append(tuner)
            while sqlite3.connect(log).execute("SELECT count(*) FROM trial").fetchone()[0] < before + 8:
                if tuner.poll() is not None:
                    sys.exit("load.py: the tuning run ended early")
                time.sleep(0.2)
            found["while_tuning"] = measure(port, keys, script, options.seconds, workloads)
            found["bare_while_tuning"] = {"hits_1": repeated(bare_port, 1, options.seconds, script)}
            after = sqlite3.connect(log).execute("SELECT count(*) FROM trial").fetchone()[0]
            found["while_tuning"]["trials_written"] = after - before
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait()
    text = json.dumps(found, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
