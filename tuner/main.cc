#include <string_view>

#include "measure/cuda/cuda_runner.h"
#include "measure/cuda/nvrtc_process.h"
#include "measure/runner.h"
#include "tuner/command_line.h"

int main(int argc, char** argv) {
  // The program is its own worker process (measure/cpu, measure/cuda) and compiler process
  // (measure/cuda): not commands for people.
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "worker") return kindred::RunCpuWorker();
  if (first == "nvrtc") return kindred::RunNvrtcProcess();
  if (first == "cuda-worker") return kindred::RunCudaWorker();
  return kindred::RunCommandLine(argc, argv);
}
