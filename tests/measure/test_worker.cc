#include <string_view>

#include "measure/cuda/cuda_runner.h"
#include "measure/cuda/nvrtc_process.h"
#include "measure/runner.h"

int main(int argc, char** argv) {
  const std::string_view first = argc == 2 ? argv[1] : "";
  if (first == "worker") return kindred::RunCpuWorker();
  if (first == "nvrtc") return kindred::RunNvrtcProcess();
  if (first == "cuda-worker") return kindred::RunCudaWorker();
  return 2;
}
