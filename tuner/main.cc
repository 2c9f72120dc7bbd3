#include <string_view>

#include "measure/runner.h"
#include "tuner/command_line.h"

int main(int argc, char** argv) {
  // The program is its own worker process (measure/cpu): not a command for people.
  if (argc > 1 && std::string_view(argv[1]) == "worker") return kindred::RunCpuWorker();
  return kindred::RunCommandLine(argc, argv);
}
