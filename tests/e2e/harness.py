"""What the end-to-end scripts share: a sandbox with its own home, cache and temporary folder, calls of the program,
and checks that are counted and named.

A script is `script.py PATH_OF_KINDRED`; it prints one line per check that fails, and a summary. Exit code 0: all
checks hold; 1: some do not; 77: it cannot run here (CTest's skip code).
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = ROOT / "tests" / "models"

MATMUL = """\
input  X: f32[24,32]
weight W: f32[32,16]
weight b: f32[16]
T[m,n] = sum[k](X[m,k] * W[k,n])
output Y[m,n] = relu(T[m,n] + b[n])
"""
SOFTMAX = """\
input X: f32[20,40]
M[i] = max[j](X[i,j])
E[i,j] = exp(X[i,j] - M[i])
S[i] = sum[j](E[i,j])
output Y[i,j] = E[i,j] / S[i]
"""
ADD = """\
input A: f32[50,30]
input B: f32[30]
output C[i,j] = max(A[i,j] + B[j], 0)
"""
CONV = """\
input  X: f32[1,6,12,12]
weight W: f32[8,6,3,3]
output Y[n,o,y=12,x=12] = sum[c,r,s](padded(X[n, c, y+r-1, x+s-1], 0) * W[o,c,r,s])
"""


class Done:
    """A finished call: exit code (negative: the signal), standard output and error, seconds."""

    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def json(self):
        """The one JSON object on standard output; None where there is another thing, or more."""
        try:
            value = json.loads(self.out)
        except json.JSONDecodeError:
            return None
        return value if isinstance(value, dict) else None


class Sandbox:
    def __init__(self, binary):
        self.binary = pathlib.Path(binary).resolve()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kindred-e2e-"))
        self.mark = uuid.uuid4().hex
        self.environment = dict(os.environ, KINDRED_E2E_MARK=self.mark)
        for variable, name in (("HOME", "home"), ("XDG_CACHE_HOME", "cache"), ("TMPDIR", "tmp")):
            (self.folder / name).mkdir()
            self.environment[variable] = str(self.folder / name)
        self.work = self.folder / "work"
        self.work.mkdir()
        self.failed, self.passed, self.skipped = [], 0, []
        self.mounted = []

    def write(self, name, text):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def start(self, *words, environment=None):
        return subprocess.Popen([str(self.binary), *map(str, words)], cwd=self.work, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=environment or self.environment, start_new_session=True)

    def run(self, *words, environment=None, timeout=60):
        started = time.monotonic()
        process = self.start(*words, environment=environment)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            err += f"\n(killed by the test after {timeout} s)"
        return Done(process.returncode, out, err, time.monotonic() - started)

    def run_script(self, script, *words, environment=None, timeout=300):
        """A script of the checkout that takes the program from $KINDRED_PROGRAM."""
        started = time.monotonic()
        done = subprocess.run([ROOT / script, *map(str, words)], cwd=self.work, text=True, capture_output=True, timeout=timeout,
                              stdin=subprocess.DEVNULL,
                              env=dict(environment or self.environment, KINDRED_PROGRAM=str(self.binary)))
        return Done(done.returncode, done.stdout, done.stderr, time.monotonic() - started)

    def check(self, holds, what, done=None):
        """Counts a check; where it fails, says what was expected and shows the end of the call's output."""
        if holds:
            self.passed += 1
            return True
        self.failed.append(what)
        print(f"FAILED: {what}")
        if done is not None:
            print(f"  exit code {done.code} after {done.seconds:.1f} s")
            for name, text in (("standard output", done.out), ("standard error", done.err)):
                if text.strip():
                    print(f"  {name}: ...{text.strip()[-600:]}")
        return False

    def skip(self, what):
        self.skipped.append(what)
        print(f"skipped: {what}")

    def survivors(self):
        """Processes of this sandbox that still run: every one inherits the mark in its environment."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                if self.mark.encode() in (entry / "environ").read_bytes():
                    state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
                    if state != "Z":
                        found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
            except (OSError, UnicodeDecodeError):
                continue
        return found

    def mount_tmpfs(self, name, options):
        """A tmpfs of the given options below the sandbox, or None where mounting is not allowed."""
        path = self.folder / name
        path.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], capture_output=True).returncode != 0:
            return None
        self.mounted.append(path)
        return path

    def finish(self):
        for pid, _ in self.survivors():
            os.kill(pid, signal.SIGKILL)
        for path in self.mounted:
            subprocess.run(["umount", "-l", path], capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        print(f"{self.passed} checks passed, {len(self.failed)} failed, {len(self.skipped)} skipped")
        return 1 if self.failed else 0


def trials_in(log):
    """Trials that a reader of the log sees now; 0 where there is no log yet."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{log}?mode=ro", uri=True, timeout=1)) as database:
            return database.execute("SELECT count(*) FROM trial").fetchone()[0]
    except sqlite3.Error:
        return 0


def wait_for_trials(log, more, process, seconds):
    """Until the log holds `more` trials beyond those it has now, the process ends, or the time is over."""
    goal, deadline = trials_in(log) + more, time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline and trials_in(log) < goal:
        time.sleep(0.0005)


def export(sandbox, log):
    """(session, round, position) -> the trial as it was written, for all of the log; None where export fails."""
    done = sandbox.run("log", "export", log)
    if done.code != 0:
        return None
    trials = [json.loads(line)["trial"] for line in done.out.splitlines()]
    return {(trial["session"], trial["round"], trial["position"]): trial for trial in trials}


def main(test):
    if len(sys.argv) != 2 or not os.access(sys.argv[1], os.X_OK):
        print(f"usage: {sys.argv[0]} PATH_OF_KINDRED", file=sys.stderr)
        sys.exit(2)
    sandbox = Sandbox(sys.argv[1])
    try:
        test(sandbox)
    finally:
        code = sandbox.finish()
    sys.exit(code)
