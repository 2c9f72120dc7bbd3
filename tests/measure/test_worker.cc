#include <cstring>

#include "measure/runner.h"

int main(int argc, char** argv) {
  return argc == 2 && std::strcmp(argv[1], "worker") == 0 ? kindred::RunCpuWorker() : 2;
}
