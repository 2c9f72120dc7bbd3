#include <string_view>

#include "measure/cuda/nvrtc_process.h"
#include "measure/runner.h"
#include "tuner/command_line.h"

int main(int argc, char** argv) {
  // The program is its own worker process (measure/cpu) and compiler process (measure/cuda): not
  // commands for people.
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "worker") return kindred::RunCpuWorker();
  if (first == "nvrtc") return kindred::RunNvrtcProcess();
  return kindred::RunCommandLine(argc, argv);
}
