// Sizes of functions in a shared library (ELF64), without loading it.
#pragma once

#include <cstdint>
#include <string>

namespace kindred {

// Bytes of machine code of the exported function `symbol` in the library at `path`; 0 where the
// file is no ELF64 library of this machine's byte order or has no such function.
std::int64_t FunctionBytes(const std::string& path, const std::string& symbol);

}  // namespace kindred
