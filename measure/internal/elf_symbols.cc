#include "measure/internal/elf_symbols.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace kindred {
namespace {

// Copies a T at `offset`, or returns false where the file is too short.
template <typename T>
bool ReadAt(const std::string& bytes, std::uint64_t offset, T& value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return true;
}

std::string CString(const std::string& bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return {};
  const std::size_t end = bytes.find('\0', offset);
  return bytes.substr(offset, end == std::string::npos ? end : end - offset);
}

}  // namespace

std::int64_t FunctionBytes(const std::string& path, const std::string& symbol) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  Elf64_Ehdr header;
  if (!ReadAt(bytes, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64)
    return 0;
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section, names;
    if (!ReadAt(bytes, header.e_shoff + std::uint64_t(i) * sizeof(section), section)) return 0;
    if (section.sh_type != SHT_DYNSYM) continue;
    if (!ReadAt(bytes, header.e_shoff + std::uint64_t(section.sh_link) * sizeof(names), names))
      return 0;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym entry;
      if (!ReadAt(bytes, section.sh_offset + at, entry)) return 0;
      if (ELF64_ST_TYPE(entry.st_info) == STT_FUNC &&
          CString(bytes, names.sh_offset + entry.st_name) == symbol)
        return static_cast<std::int64_t>(entry.st_size);
    }
  }
  return 0;
}

}  // namespace kindred
