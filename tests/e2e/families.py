#!/usr/bin/env python3
"""`kindred families`: lists the families of a log that was tuned here, corrects them, and the next session follows; transfer
from a log in `kindred tune`; mistakes are named and change nothing. Usage: families.py PATH_OF_KINDRED
"""

import contextlib
import hashlib
import sqlite3

import harness

SHAPES = ((24, 32, 16), (48, 32, 16), (24, 64, 32), (32, 48, 16))


def matmul(m, k, n):
    return f"input X: f32[{m},{k}]\nweight W: f32[{k},{n}]\noutput Y[m,n] = sum[k](X[m,k] * W[k,n])\n"


def families(sandbox, log="log.db"):
    done = sandbox.run("families", "ls", log, "--json")
    listed = done.json()
    sandbox.check(done.code == 0 and listed is not None, "families ls", done)
    return listed


def ids_by_structure(listed):
    found = {}
    for family in listed["families"]:
        found.setdefault(family["structure"], []).append(family["id"])
    return sorted(found.values(), key=len, reverse=True)


def tables(log):
    with contextlib.closing(sqlite3.connect(f"file:{log}?mode=ro", uri=True)) as database:
        return hashlib.sha256("\n".join(database.iterdump()).encode()).hexdigest()


def tune(sandbox, inputs, *words):
    return sandbox.run("tune", *inputs, "--log", "log.db", "--json", *words, timeout=300)


def correct(sandbox, inputs):
    listed = families(sandbox)
    sandbox.check(sorted(len(f["members"]) for f in listed["families"]) == [1, 4] and listed["target"].startswith("cpu@"),
                  "one family of products, one of softmax")
    large = max(listed["families"], key=lambda family: len(family["members"]))
    judged = [member["quality"] for member in large["members"] if member["quality"]]
    sandbox.check(large["trials"] == 4 * 32 and large["quality"] is not None and not large["pinned"]
                  and judged and all(-1 <= quality["rank"] <= 1 for quality in judged), "trials and quality of a family")
    text = sandbox.run("families", "ls", "log.db")
    sandbox.check(text.code == 0 and large["id"] in text.out, "families ls as text", text)
    keys = [member["key"] for member in large["members"]]

    done = sandbox.run("families", "split", "log.db", large["id"], keys[0][:12], keys[1], "--json")
    apart = (done.json() or {}).get("apart", {})
    sandbox.check(done.code == 0 and sorted(apart.get("members", [])) == sorted(keys[:2]), "families split", done)
    shown = sandbox.run("families", "show", "log.db", apart.get("family", ""), "--json")
    sandbox.check(shown.code == 0 and shown.json()["pinned"] and len(shown.json()["members"]) == 2, "families show", shown)
    text = sandbox.run("families", "show", "log.db", large["id"])
    sandbox.check(text.code == 0 and keys[2] in text.out and keys[0] not in text.out, "families show as text", text)

    done = tune(sandbox, inputs, "--trials-per-task", 4, "--seed", 5)
    sandbox.check(done.code == 0, "a session after the split", done)
    grouped = sorted(sorted(member["key"] for member in family["members"]) for family in families(sandbox)["families"])
    sandbox.check(sorted(keys[:2]) in grouped and sorted(keys[2:]) in grouped, "the session follows the split")

    parts = ids_by_structure(families(sandbox))[0]
    done = sandbox.run("families", "merge", "log.db", *parts, "--json")
    sandbox.check(done.code == 0 and sorted(done.json()["members"]) == sorted(keys), "families merge", done)
    done = tune(sandbox, inputs, "--trials-per-task", 4, "--seed", 6)
    sandbox.check(done.code == 0 and [len(ids) for ids in ids_by_structure(families(sandbox))] == [1, 1],
                  "the next session follows the merge", done)

    family = ids_by_structure(families(sandbox))[0][0]
    done = sandbox.run("families", "unpin", "log.db", family)
    sandbox.check(done.code == 0 and not any(f["pinned"] for f in families(sandbox)["families"] if f["id"] == family),
                  "families unpin", done)
    done = sandbox.run("families", "pin", "log.db", family)
    sandbox.check(done.code == 0 and all(f["pinned"] for f in families(sandbox)["families"] if f["id"] == family),
                  "families pin", done)
    verified = sandbox.run("log", "verify", "log.db")
    sandbox.check(verified.code == 0, "the log is sound after corrections", verified)


def mistakes(sandbox):
    listed = families(sandbox)["families"]
    one, other = listed[0]["id"], listed[1]["id"]
    key = listed[0]["members"][0]["key"]
    whole = [member["key"] for member in listed[0]["members"]]
    before = tables(sandbox.work / "log.db")
    sandbox.write("text.db", "not a log")
    for words, named in (
            (["show", "log.db", "nonsense.7"], "nonsense.7"),
            (["merge", "log.db", one, "nonsense.7"], "nonsense.7"),
            (["merge", "log.db", one, other], "different structures"),
            (["merge", "log.db", one, one], "twice"),
            (["merge", "log.db", one], "families"),
            (["split", "log.db", one, "ffff"], "ffff"),
            (["split", "log.db", one, *whole], "whole family"),
            (["split", "log.db", other, key], key),
            (["pin", "log.db", "nonsense.7"], "nonsense.7"),
            (["ls", "log.db", "--target", "toaster"], "toaster"),
            (["ls", "none.db"], "none.db"),
            (["pin", "none.db", one], "none.db"),
            (["ls", "text.db"], "text.db"),
            (["frobnicate", "log.db"], "subcommand")):
        done = sandbox.run("families", *words)
        sandbox.check(done.code == 2 and named in done.err + done.out and "terminate" not in done.err,
                      f"families {' '.join(words)}: exit code 2 and a message that names {named}", done)
    sandbox.check(not (sandbox.work / "none.db").exists(), "no log comes about by asking")
    sandbox.check(tables(sandbox.work / "log.db") == before, "mistakes change nothing")


def transfer(sandbox):
    new = sandbox.write("new.kd", matmul(40, 32, 24))
    done = tune(sandbox, [new], "--trials", 4, "--transfer", "off")
    sandbox.check(done.code == 0 and "models begin with" not in done.err, "a session with --transfer off", done)
    done = tune(sandbox, [new], "--trials", 4)
    sandbox.check(done.code == 0 and "models begin with" in done.err, "a session that begins with what the log knows", done)
    done = tune(sandbox, [new], "--trials", 4, "--threads", 2)
    sandbox.check(done.code == 0 and "models begin with" in done.err, "... and on another target", done)
    done = tune(sandbox, [new], "--trials", 8, "--threads", 2)
    sandbox.check(done.code == 0 and "another version" not in done.err, "... which goes on where it was", done)
    done = tune(sandbox, [new], "--transfer", "perhaps")
    sandbox.check(done.code == 2 and "--transfer" in done.err, "--transfer is on or off", done)


def test(sandbox):
    inputs = [sandbox.write(f"m{i}.kd", matmul(*shape)) for i, shape in enumerate(SHAPES)]
    inputs.append(sandbox.write("softmax.kd", harness.SOFTMAX))
    done = tune(sandbox, inputs, "--trials-per-task", 32)
    if not sandbox.check(done.code == 0, "tuning", done):
        return
    correct(sandbox, inputs)
    mistakes(sandbox)
    transfer(sandbox)


harness.main(test)
