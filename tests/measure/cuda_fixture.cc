#include "tests/measure/cuda_fixture.h"

namespace kindred {

std::string TestWorker() { return KINDRED_TEST_WORKER; }
std::string EmulatedLibraries() { return KINDRED_TEST_CUDA_LIBRARIES; }

}  // namespace kindred
