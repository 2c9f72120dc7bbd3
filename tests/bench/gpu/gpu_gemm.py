#!/usr/bin/env python3
"""fp32 matrix products on CUDA cores against cuBLAS (opened at run time; full fp32, no tf32), both by the device's own
clock. Usage: see common.py.
"""

import ctypes
import os
import pathlib
import random
import site
import statistics
import sys

import common

SHAPES = [(4096, 4096, 4096), (2048, 2048, 2048), (512, 512, 512), (128, 3072, 768), (4096, 64, 4096)]
ROUNDS = 20


def libraries():
    """cuBLAS where the loader, a toolkit or PyPI's wheels have it; with the emulated driver there is none."""
    names = ["libcublas.so.13", "libcublas.so.12", "libcublas.so"]
    if os.environ.get("KINDRED_CUDA_LIBRARIES"):
        return
    yield from names
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    folders = [pathlib.Path(home) / part for home in homes if home for part in ("lib64", "lib")]
    for packages in [*site.getsitepackages(), site.getusersitepackages(), *sys.path]:
        folders += pathlib.Path(packages).glob("nvidia/*/lib")
    for folder in folders:
        yield from (str(folder / name) for name in names if (folder / name).exists())


class CuBlas:
    """Times C = A B (row-major) by events around single runs, with more data than the second-level cache moved between."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.blas = None
        for path in libraries():
            try:
                self.blas = ctypes.CDLL(path)
                break
            except OSError:
                continue
        if self.blas is None:
            raise OSError("cuBLAS is not installed (a toolkit, or the wheel nvidia-cublas)")
        generator = random.Random(1)
        self.data = (ctypes.c_float * (1 << 20))(*(generator.uniform(-1, 1) for _ in range(1 << 20)))
        self._cu("cuInit", 0)
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self._cu("cuDeviceGet", ctypes.byref(device), 0)
        self._cu("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self._cu("cuCtxSetCurrent", self.context)
        self.handle = ctypes.c_void_p()
        self._blas("cublasCreate_v2", ctypes.byref(self.handle))
        self._blas("cublasSetMathMode", self.handle, 2)  # CUBLAS_PEDANTIC_MATH: no tf32

    def _cu(self, name, *arguments):
        code = getattr(self.driver, name)(*arguments)
        if code != 0:
            raise OSError(f"{name} failed with code {code}")

    def _blas(self, name, *arguments):
        code = getattr(self.blas, name)(*arguments)
        if code != 0:
            raise OSError(f"{name} failed with status {code}")

    def _allocate(self, size):
        pointer = ctypes.c_uint64()
        self._cu("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        block = ctypes.sizeof(self.data)
        for offset in range(0, size, block):  # random: equal numbers draw less power
            self._cu("cuMemcpyHtoD_v2", ctypes.c_uint64(pointer.value + offset), self.data,
                     ctypes.c_size_t(min(block, size - offset)))
        return pointer

    def median_ns(self, m, n, k):
        a, b, c, flush = (self._allocate(size) for size in (4 * m * k, 4 * k * n, 4 * m * n, 256 << 20))
        begin, end, one, zero = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float(1), ctypes.c_float(0)
        for event in (begin, end):
            self._cu("cuEventCreate", ctypes.byref(event), 0)
        samples = []
        for index in range(ROUNDS + 3):
            self._cu("cuMemsetD32Async", flush, index, ctypes.c_size_t(64 << 20), None)
            self._cu("cuEventRecord", begin, None)
            # Column-major: C^T = B^T A^T.
            self._blas("cublasSgemm_v2", self.handle, 0, 0, n, m, k, ctypes.byref(one), b, n, a, k, ctypes.byref(zero), c, n)
            self._cu("cuEventRecord", end, None)
            self._cu("cuEventSynchronize", end)
            ms = ctypes.c_float()
            self._cu("cuEventElapsedTime", ctypes.byref(ms), begin, end)
            samples.append(ms.value * 1e6)
        for pointer in (a, b, c, flush):
            self._cu("cuMemFree_v2", pointer)
        return statistics.median(samples[3:])


def main():
    bench = common.Bench("gemm", __doc__, lambda parser: parser.add_argument("--trials", type=int, default=64))
    shapes, trials = ([(24, 20, 32)], 2) if bench.options.tiny else (SHAPES, bench.options.trials)
    try:
        blas, why_not = CuBlas(), None
    except OSError as problem:
        blas, why_not = None, str(problem)
    products = []
    log = bench.folder / "gemm.db"
    for m, n, k in shapes:
        text = f"input A: f32[{m},{k}]\ninput B: f32[{k},{n}]\noutput C[i,j] = sum[l](A[i,l] * B[l,j])\n"
        report = bench.tune([bench.workload(f"gemm_{m}x{n}x{k}", text)], log, "--trials-per-task", trials)
        best = report["tasks"][0]["best_ns"]
        cublas = blas.median_ns(m, n, k) if blas else None
        products.append({"m": m, "n": n, "k": k, "kindred_ns": best, "cublas_ns": cublas,
                         "kindred_to_cublas": cublas / best if cublas and best else None,
                         "gflops": 2 * m * n * k / best if best else None})
    rows = common.trials(log)
    bench.finish({"trials": trials, "cublas": why_not or "measured", "products": products,
                  "status": common.by_status(rows), "spread": common.spread(rows)})


common.run(main)
