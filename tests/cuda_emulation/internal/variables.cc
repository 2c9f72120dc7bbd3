#include "tests/cuda_emulation/internal/variables.h"

#include <cxxabi.h>
#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

namespace kindred::cuda_emulation {
namespace {

// Static variables of functions, and the guards of those.
constexpr std::string_view kLocal = "_ZZ", kGuard = "_ZGV", kOwn = "kd_emulation_";

// "gemm<64>(float*)::tile" of what a linker calls it: its last part.
std::string NameOf(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), std::free);
  const std::string name = readable ? readable.get() : symbol;
  const std::size_t at = name.rfind("::");
  return at == std::string::npos ? name : name.substr(at + 2);
}

template <class T>
T At(const std::string& file, std::size_t offset) {
  T value = {};
  if (offset + sizeof value <= file.size()) std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

}  // namespace

std::vector<Variable> VariablesOf(const std::string& library) {
  std::stringstream text;
  text << std::ifstream(library, std::ios::binary).rdbuf();
  const std::string file = text.str();
  const auto header = At<Elf64_Ehdr>(file, 0);
  const auto section = [&](std::size_t i) {
    return At<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  std::vector<Variable> variables;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr names = section(table.sh_link);
    for (std::size_t k = 0; k < table.sh_size / sizeof(Elf64_Sym); ++k) {
      const auto symbol = At<Elf64_Sym>(file, table.sh_offset + k * sizeof(Elf64_Sym));
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0 ||
          symbol.st_shndx >= header.e_shnum || (section(symbol.st_shndx).sh_flags & SHF_WRITE) == 0)
        continue;
      const char* name = file.c_str() + names.sh_offset + symbol.st_name;
      const std::string_view view = name;
      if (view.starts_with(kGuard) || view.starts_with(kOwn) || view.starts_with("_D") ||
          view.starts_with("__"))
        continue;
      variables.push_back(
          {NameOf(name), symbol.st_value, symbol.st_size, view.starts_with(kLocal)});
    }
  }
  return variables;
}

}  // namespace kindred::cuda_emulation
