// The entry that libFuzzer calls. The build names the target: -DKINDRED_FUZZ_TARGET=FuzzOnnx.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kindred::fuzz::KINDRED_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
