#!/usr/bin/env python3
"""A compiler's day with a service whose log is empty: all subgraphs of models are asked for in batches by the Python
client. Every answer is built, run and compared with sampled elements of an independent implementation, and says
`default` or `predicted`; after a job has tuned the model a little, `exact`; and in another log, where of each structure one
subgraph alone was tuned, the others of that structure say `sibling`.

    compilers_day.py PATH_OF_KINDRED [--models NAME...] [--trials 2] [--samples 32]

NAME is a model of tests/models without its ending. Without --models one small model is asked (the form that ctest runs).
Exit code as of all end-to-end scripts (harness.py).
"""

import argparse
import array
import collections
import concurrent.futures
import contextlib
import json
import math
import sqlite3
import sys
import time

import harness
from sampled_reference import CODES, Reference, Unsupported, compare
from service import Service, wait_for

sys.path.insert(0, str(harness.ROOT / "scripts" / "clients" / "python"))
import kindred  # noqa: E402

QUICK = ["tiny/opset_13"]
WHOLE_S = 1800  # a tuning job may take so long
BUILDS = 2      # at once


class Subgraph:
    def __init__(self, task):
        self.name, self.text, self.key = task["name"], task["text"], task["key"]
        try:
            self.reference, self.unsupported = Reference(self.text), ""
        except Unsupported as reason:
            self.reference, self.unsupported = None, str(reason)


class Day:
    def __init__(self, sandbox, model, options):
        self.sandbox, self.model, self.options = sandbox, model, options
        self.path = harness.MODELS / f"{model}.onnx"
        self.cache = str(sandbox.folder / "cache" / "python")
        self.counts = collections.Counter()
        done = sandbox.run("import", self.path, "--json")
        sandbox.check(done.code == 0, f"{model} can be imported", done)
        self.subgraphs = [Subgraph(task) for task in done.json()["models"][0]["tasks"]]
        for subgraph in self.subgraphs:
            if subgraph.unsupported:
                self.counts["without reference"] += 1
                print(f"{model}: {subgraph.name}: run, but not compared: {subgraph.unsupported}")

    def ask(self, service, when):
        """One batch; a package per subgraph."""
        client = kindred.Client(service.url, timeout=300, strict=True)
        started = time.monotonic()
        packages = client.query_many([subgraph.text for subgraph in self.subgraphs])
        took = time.monotonic() - started
        self.sandbox.check(len(packages) == len(self.subgraphs) and None not in packages,
                           f"{self.model}, {when}: an answer for each subgraph")
        self.sandbox.check([p["key"] for p in packages] == [s.key for s in self.subgraphs],
                           f"{self.model}, {when}: the answers are for these subgraphs")
        matches = collections.Counter(p["match"] for p in packages)
        print(f"{self.model}, {when}: {len(packages)} answers in {1e3 * took:.0f} ms: "
              + ", ".join(f"{count} {match}" for match, count in sorted(matches.items())))
        return packages

    def run(self, packages, when):
        """Builds, runs and compares each answer."""
        with concurrent.futures.ThreadPoolExecutor(BUILDS) as pool:
            kernels = list(pool.map(lambda package: kindred.build(package, self.cache), packages))
        for subgraph, package, kernel in zip(self.subgraphs, packages, kernels):
            outputs = {argument["name"]: array.array(CODES[argument["type"]], [0]) * argument["elements"]
                       for argument in package["arguments"] if argument["access"] == "write"
                       } if subgraph.reference else {}
            if not outputs:
                continue
            for output in outputs.values():
                if output.typecode in "fd":
                    output[:] = array.array(output.typecode, [math.nan]) * len(output)
            kernel(**subgraph.reference.data, **outputs)
            problem = compare(subgraph.reference, outputs, self.options.samples)
            self.counts["right" if not problem else "wrong"] += 1
            self.sandbox.check(not problem, f"{self.model}, {when}, {package['match']}: {subgraph.name}: {problem}")

    def expect(self, packages, when, allowed):
        for subgraph, package in zip(self.subgraphs, packages):
            wanted = allowed(subgraph)
            self.sandbox.check(package["match"] in wanted and package["validated"] == (package["match"] == "exact"),
                               f"{self.model}, {when}: {subgraph.name} says {' or '.join(sorted(wanted))}, "
                               f"not {package['match']}")

    def tune(self, service, **what):
        job = service.client.tune(trials_per_task=self.options.trials, **what)
        done = wait_for(service, job, ("finished", "failed"), WHOLE_S)
        self.sandbox.check(done["state"] == "finished", f"{self.model}: the job is done: {done}")
        time.sleep(0.3)  # the service looks ten times a second whether the log has grown

    def structures(self, log):
        with contextlib.closing(sqlite3.connect(f"file:{log}?mode=ro", uri=True)) as database:
            return dict(database.execute("SELECT key, structure FROM workload"))

    def whole(self):
        log = self.sandbox.work / f"{self.model.replace('/', '_')}.db"
        service = Service(self.sandbox, log)
        packages = self.ask(service, "empty log")
        self.expect(packages, "empty log", lambda _: {"default", "predicted"})
        self.run(packages, "empty log")
        sent = service.client.send_model(self.path.read_bytes())
        self.tune(service, model=sent["model"])
        packages = self.ask(service, "tuned")
        self.expect(packages, "tuned", lambda _: {"exact"})
        self.run(packages, "tuned")
        structures = self.structures(log)
        self.finish(service)

        first = {}
        for subgraph in self.subgraphs:
            first.setdefault(structures[subgraph.key], subgraph)
        several = collections.Counter(structures[subgraph.key] for subgraph in self.subgraphs)
        chosen = {structure: subgraph for structure, subgraph in first.items() if several[structure] > 1}
        if not self.sandbox.check(chosen, f"{self.model} has subgraphs of one structure"):
            return
        service = Service(self.sandbox, log.with_suffix(".siblings.db"))
        self.tune(service, workloads=[subgraph.text for subgraph in chosen.values()])
        when = f"{len(chosen)} tuned"
        packages = self.ask(service, when)

        def allowed(subgraph):
            structure = structures[subgraph.key]
            if structure not in chosen:
                return {"default", "predicted"}
            return {"exact"} if chosen[structure] is subgraph else {"sibling"}

        self.expect(packages, when, allowed)
        self.run(packages, when)
        self.finish(service)

    def finish(self, service):
        done = service.stop()
        self.sandbox.check(done.code == 0, "SIGTERM ends the service well", done)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kindred")
    parser.add_argument("--models", nargs="+", default=QUICK)
    parser.add_argument("--trials", type=int, default=2, help="of each subgraph that is tuned")
    parser.add_argument("--samples", type=int, default=32, help="elements of each output that are compared")
    parser.add_argument("--json", action="store_true", help="print the counts as one JSON object, last")
    options = parser.parse_args()
    sandbox = harness.Sandbox(options.kindred)
    total = {}
    try:
        for model in options.models:
            started = time.monotonic()
            day = Day(sandbox, model, options)
            day.whole()
            day.counts["subgraphs"] = len(day.subgraphs)
            total[model] = dict(day.counts)
            print(f"{model}: {len(day.subgraphs)} subgraphs; {day.counts['right']} answers right, "
                  f"{day.counts['wrong']} wrong, in {time.monotonic() - started:.0f} s")
        if options.json:
            print(json.dumps(total))
    finally:
        code = sandbox.finish()
    sys.exit(code)


if __name__ == "__main__":
    main()
