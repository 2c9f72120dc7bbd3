#!/usr/bin/env python3
"""kill -9 in the middle of `kindred tune`, ten times at random moments (half of them anywhere, half right after some
trial was written, which is most likely in the middle of a round): no finished trial is lost, the log stays sound,
no worker lives on, and the same command goes on and ends. Usage: kill9_resume.py PATH_OF_KINDRED
"""

import os
import random
import signal
import time

import harness

KILLS = 10
MORE_TRIALS = 300  # more than a run finishes before it is killed
SECONDS = 300  # for all kills: far more than they take, below the time limit of the test
# Spaces of thousands of schedules, so that no run ends by itself.
MATMUL = harness.MATMUL.replace("[24,32]", "[96,160]").replace("[32,16]", "[160,128]").replace("b: f32[16]", "b: f32[128]")
CONV = harness.CONV.replace("[1,6,", "[1,16,").replace("[8,6,", "[32,16,")


def workers_gone(sandbox):
    deadline = time.monotonic() + 5
    while sandbox.survivors() and time.monotonic() < deadline:
        time.sleep(0.05)
    return sandbox.survivors()


def check_nothing_lost(sandbox, before, after, kill):
    if not sandbox.check(after is not None, f"kill {kill}: the log can be exported afterwards"):
        return
    lost = [identity for identity, trial in before.items() if after.get(identity) != trial]
    sandbox.check(not lost, f"kill {kill}: finished trials are still there, unchanged; not so: {lost[:3]}")


def test(sandbox):
    seed = int(os.environ.get("KINDRED_E2E_SEED", time.time_ns() % 1_000_000))
    print(f"moments from KINDRED_E2E_SEED={seed}")
    generator = random.Random(seed)
    workloads = [sandbox.write("matmul.kd", MATMUL), sandbox.write("softmax.kd", harness.SOFTMAX),
                 sandbox.write("conv.kd", CONV)]
    log = sandbox.work / "kindred.db"
    trials, known, kills, started = MORE_TRIALS, {}, 0, time.monotonic()

    def command():
        return ["tune", *workloads, "--trials", trials, "--seed", 7, "--log", log, "--json"]

    while kills < KILLS and time.monotonic() - started < SECONDS:
        process = sandbox.start(*command())
        if kills % 2 == 0:
            time.sleep(generator.uniform(0.05, 2.5))
            if log.exists():  # what a reader sees while it runs is finished
                known = {**known, **(harness.export(sandbox, log) or {})}
            time.sleep(generator.uniform(0, 0.3))
        else:
            harness.wait_for_trials(log, generator.randint(1, 11), process, 8)
        written = harness.trials_in(log)
        if process.poll() is not None:  # it was done already: give the session more to do
            done = harness.Done(process.returncode, *process.communicate(), 0)
            sandbox.check(process.returncode == 0, "a run that was not killed ends well", done)
            trials += MORE_TRIALS
            continue
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        kills += 1
        left = workers_gone(sandbox)
        sandbox.check(not left, f"kill {kills}: no worker or compiler lives on after 5 s: {left}")
        if not log.exists():
            sandbox.check(not known, f"kill {kills}: the log is there")
            continue
        after = harness.export(sandbox, log)
        check_nothing_lost(sandbox, known, after, kills)
        sandbox.check(len(after or {}) >= written, f"kill {kills}: all {written} trials that were written are there")
        print(f"kill {kills}: {written} trials before, {len(after or {})} after")
        known = after or known
        verified = sandbox.run("log", "verify", log)
        sandbox.check(verified.code == 0, f"kill {kills}: log verify finds nothing wrong", verified)

    sandbox.check(kills == KILLS, f"{KILLS} kills in {SECONDS} s (only {kills}; the machine is too slow or the runs end at once)")
    trials = sum(not trial.get("conditions", {}).get("interleaved_passes") for trial in known.values()) + 12
    last = sandbox.run(*command())
    report = last.json()
    if sandbox.check(last.code == 0 and report is not None, "the same command goes on and ends", last):
        if report["trials"] != trials:  # only if there are no more schedules to try: then an undisturbed run ends there too
            whole = sandbox.run(*command()[:-2], sandbox.work / "undisturbed.db", "--json").json()
            sandbox.check(whole is not None and whole["trials"] == report["trials"],
                          f"{trials} trials in the end, or as many as an undisturbed run makes; it says {report['trials']}", last)
    after = harness.export(sandbox, log)
    check_nothing_lost(sandbox, known, after, "last")
    verified = sandbox.run("log", "verify", log)
    sandbox.check(verified.code == 0, "log verify at the end", verified)
    again = sandbox.run(*command())
    sandbox.check(again.code == 0 and len(harness.export(sandbox, log)) == len(after),
                  "a finished session measures nothing more", again)
    print(f"{kills} kills, {len(after or {})} trials in the log")


harness.main(test)
