"""Ask Kindred for the best kernel of a tensor computation, and run it. No dependencies but Python itself.

    client = Client("http://127.0.0.1:8311")           # or Client(log="kindred.db") for the file itself
    package = client.query(open("ffn.kd").read())       # the text form of the workload language
    kernel = build(package)                             # compiles the package's C
    kernel(X=x, W=w, b=b, Y=y)                          # writable buffers: bytearray, array, numpy, ...

A compiler must not fail because a tuning service does: a Client that cannot be answered gives None, says so once
through `logging`, and the caller goes on with its own kernel. Pass strict=True to get exceptions instead.
"""

import ctypes
import hashlib
import json
import logging
import os
import shutil
import sqlite3
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

log = logging.getLogger("kindred")

MOST_QUERIES = 1024  # of one batch
ALIGNMENT = 64       # bytes; what kernels were measured with


class Error(Exception):
    """What went wrong, in the service's words."""


class Client:
    """Answers from a service (`url`), or from a log's file (`log`), which is opened read-only.

    `target`: "cpu", "cpu:threads=N", or a device of the log. `timeout` in seconds. The file knows measured kernels
    only, by the keys of workloads; the service always has an answer."""

    def __init__(self, url=None, log=None, target="cpu", timeout=5.0, strict=False):
        if (url is None) == (log is None):
            raise ValueError("give either the URL of a service or the path of a log")
        self.url = url.rstrip("/") if url else None
        self.path = log
        self.target = target
        self.timeout = timeout
        self.strict = strict
        self._complained = False

    # --- answers

    def query(self, workload, constraints=None, epoch=None):
        """The package for one workload (text), or None."""
        answers = self.query_many([workload], constraints, epoch)
        return answers[0] if answers else None

    def query_many(self, workloads, constraints=None, epoch=None):
        """One package or None for each workload, in order. A workload with an error gives None."""
        packages = []
        for first in range(0, len(workloads), MOST_QUERIES):
            body = {"target": self.target,
                    "queries": [{"workload": text} for text in workloads[first:first + MOST_QUERIES]]}
            if constraints:
                body["constraints"] = constraints
            if epoch is not None:
                body["epoch"] = epoch
            answer = self._open(lambda: self._post("/v1/query", json.dumps(body).encode(), "application/json"))
            if answer is None:
                packages += [None] * len(body["queries"])
                continue
            for number, package in enumerate(answer["answers"]):
                if "error" in package:
                    self._complain(f"workload {first + number}: {package['error']['message']}")
                    package = None
                packages.append(package)
        return packages

    def query_model(self, onnx, dims=None):
        """The answer for an ONNX model (bytes): {"answers": [{"name", "uses", "answer"}], "left_out", ...}, or None."""
        parameters = [("target", self.target)] + [("dim", f"{name}={value}") for name, value in (dims or {}).items()]
        path = "/v1/query?" + urllib.parse.urlencode(parameters)
        return self._open(lambda: self._post(path, onnx, "application/octet-stream"))

    def best(self, key):
        """The package for a workload's key (32 hexadecimal digits), or None where the log does not know it."""
        if self.path is not None:
            return self._open(lambda: self._from_log(key))
        target = urllib.parse.urlencode({"target": self.target})
        return self._open(lambda: self._get(f"/v1/schedules/{key}?{target}"))

    # --- tuning

    def send_model(self, onnx, dims=None):
        """Keeps an ONNX model (bytes) with the service: {"model": id, ...}, whose id is what `tune` takes."""
        parameters = [("dim", f"{name}={value}") for name, value in (dims or {}).items()]
        path = "/v1/models" + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
        return self._open(lambda: self._post(path, onnx, "application/octet-stream"))

    def tune(self, model=None, workloads=None, **budget):
        """Queues a job: trials, trials_per_task, time_s, priority, name, dims, seed. Gives the job."""
        body = dict(budget, target=self.target)
        body.update({"model": model} if model is not None else {"workloads": workloads})
        return self._open(lambda: self._post("/v1/jobs", json.dumps(body).encode(), "application/json"))

    def job(self, job_id):
        return self._open(lambda: self._get(f"/v1/jobs/{job_id}"))

    # --- inside

    def _open(self, ask):
        """Fails open: what the asking raises is said once, and None is the answer."""
        try:
            return ask()
        except (OSError, ValueError, KeyError, Error, sqlite3.Error) as problem:
            if self.strict:
                raise problem if isinstance(problem, Error) else Error(str(problem)) from problem
            self._complain(str(problem))
            return None

    def _complain(self, text):
        if self.strict:
            raise Error(text)
        (log.debug if self._complained else log.warning)("kindred: %s", text)
        self._complained = True

    def _request(self, request):
        if self.url is None:
            raise Error("a log's file is asked by key: best(key); workloads need a service")
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as response:
                return json.load(response)
        except urllib.error.HTTPError as problem:
            try:
                message = json.load(problem)["error"]["message"]
            except (ValueError, KeyError, TypeError):
                message = str(problem)
            raise Error(message) from problem

    def _get(self, path):
        return self._request(urllib.request.Request(self.url + path))

    def _post(self, path, body, content_type):
        return self._request(urllib.request.Request(self.url + path, data=body, headers={"Content-Type": content_type}))

    def _from_log(self, key):
        uri = "file:" + urllib.parse.quote(os.path.abspath(self.path)) + "?mode=ro"
        with sqlite3.connect(uri, uri=True, timeout=self.timeout) as database:
            row = database.execute(
                "SELECT best_schedule.target, schedule, median_ns, trial, compiler, flags, hash, package, code "
                "FROM best_schedule JOIN kernel ON kernel.hash = best_schedule.kernel "
                "WHERE workload = ? AND (target_name = ? OR target = ?) ORDER BY median_ns LIMIT 1",
                (key, self.target, self.target)).fetchone()
        if row is None:
            return None
        target, schedule, median_ns, trial, compiler, flags, _, package, code = row
        kernel = json.loads(package)
        return {"key": key, "target": target, "match": "exact", "validated": True, "schedule": json.loads(schedule),
                "language": kernel["language"], "source": _unzstd(code), "steps": kernel["steps"], "arguments": kernel["arguments"],
                "workspace_bytes": kernel["workspace_bytes"],
                "statistics": {"median_ns": median_ns},
                "provenance": {"compiler": kernel["compiler"], "compiler_version": compiler, "flags": flags,
                               "trial": trial}}


def _unzstd(data):
    """Sources are compressed with zstd, which Python learned late: the command does where the module is missing."""
    try:
        from compression import zstd
        return zstd.decompress(data).decode()
    except ImportError:
        pass
    if shutil.which("zstd") is None:
        raise Error("sources in the log are compressed with zstd: install the command zstd, or ask a service")
    return subprocess.run(["zstd", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout.decode()


# --- kernels


class Kernel:
    """A built package: call it with the buffers by the asker's names. Weights are packed at the first call, and again
    after `weights_changed()`."""

    def __init__(self, package, library):
        self.package = package
        self._library = ctypes.CDLL(library)
        self._arguments = sorted(package["arguments"], key=lambda argument: argument["position"])
        entries = {step["kind"]: step["entry"] for step in package["steps"]}
        self._entry = self._function(entries["launch"])
        self._prepare = self._function(entries["prepare"]) if "prepare" in entries else None
        self._workspace = _Memory(package["workspace_bytes"])
        self._packed = {argument["position"]: _Memory(argument["elements"] * _size(argument["type"]))
                        for argument in self._arguments if argument["access"] == "prepared"}
        self._prepared = False

    def weights_changed(self):
        self._prepared = False

    def __call__(self, **buffers):
        known = {argument["name"] for argument in self._arguments if argument["access"] != "prepared"}
        if set(buffers) != known:
            raise Error(f"the kernel takes the buffers {sorted(known)}, not {sorted(buffers)}")
        pointers = (ctypes.c_void_p * len(self._arguments))()
        keep = []
        for argument in self._arguments:
            position = argument["position"]
            if argument["access"] == "prepared":
                pointers[position] = self._packed[position].address
                continue
            address, owner = _address(buffers[argument["name"]], argument)
            keep.append(owner)
            pointers[position] = address
        if self._prepare is not None and not self._prepared:
            self._run(self._prepare, pointers)
            self._prepared = True
        self._run(self._entry, pointers)

    def _function(self, name):
        function = getattr(self._library, name)
        function.restype = ctypes.c_int
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        return function

    def _run(self, function, pointers):
        code = function(ctypes.cast(pointers, ctypes.c_void_p), None, self._workspace.address)
        if code != 0:
            raise Error(f"the kernel failed with code {code}")


class _Memory:
    def __init__(self, size):
        self._bytes = ctypes.create_string_buffer(size + ALIGNMENT)
        start = ctypes.addressof(self._bytes)
        self.address = start + (-start % ALIGNMENT)


_SIZES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "f8e4m3": 1, "f8e5m2": 1, "i64": 8, "i32": 4, "i8": 1, "u8": 1,
          "bool": 1, "c64": 8}


def _size(dtype):
    return _SIZES[dtype]


def _address(buffer, argument):
    view = memoryview(buffer)
    if not view.c_contiguous:
        raise Error(f"buffer {argument['name']} is not contiguous")
    size = argument["elements"] * _size(argument["type"])
    if view.nbytes != size:
        raise Error(f"buffer {argument['name']} has {view.nbytes} bytes; {argument['type']}{argument['shape']} needs {size}")
    if view.readonly:
        if argument["access"] == "write":
            raise Error(f"buffer {argument['name']} is written by the kernel, but is read-only")
        copy = (ctypes.c_char * size).from_buffer_copy(view.cast("B"))
        return ctypes.addressof(copy), copy
    owner = (ctypes.c_char * size).from_buffer(view.cast("B") if view.nbytes else bytearray(1))
    return ctypes.addressof(owner), owner


def build(package, cache=None):
    """Compiles a package (kept in `cache` by content, default ~/.cache/kindred/python) and loads it. Raises Error where
    the compiler is missing or refuses, and for kernels that are not C."""
    if package.get("language", "c") != "c":
        raise Error(f"the kernel is {package['language']}, and this client builds and calls C only")
    cache = cache or os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "kindred", "python")
    os.makedirs(cache, exist_ok=True)
    provenance = package["provenance"]
    command = [provenance["compiler"], *provenance["flags"].split(), "-shared", "-fPIC"]
    name = hashlib.sha256("\0".join([*command, package["source"]]).encode()).hexdigest()[:32]
    library = os.path.join(cache, name + ".so")
    if not os.path.exists(library):
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            source = os.path.join(folder, "kernel.c")
            with open(source, "w", encoding="utf-8") as file:
                file.write(package["source"])
            made = os.path.join(folder, "kernel.so")
            try:
                built = subprocess.run([*command, "-o", made, source, "-lm"], stderr=subprocess.PIPE, text=True)
            except FileNotFoundError as problem:
                raise Error(f"the compiler {command[0]} is not installed") from problem
            if built.returncode != 0:
                raise Error(f"{command[0]} refused the kernel: {built.stderr[:2000]}")
            os.replace(made, library)
    return Kernel(package, library)
