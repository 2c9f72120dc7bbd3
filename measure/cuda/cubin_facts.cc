#include "measure/cuda/cubin_facts.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace kindred {
namespace {

// The number that stands right before each `unit`; `take` gets them in turn.
template <typename Take>
void ForNumbersBefore(std::string_view text, std::string_view unit, const Take& take) {
  for (std::size_t at = text.find(unit); at != std::string_view::npos;
       at = text.find(unit, at + unit.size())) {
    std::size_t begin = at;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
    std::int64_t number = 0;
    if (std::from_chars(text.data() + begin, text.data() + at, number).ec == std::errc())
      take(number);
  }
}

template <typename T>
std::optional<T> ReadAt(std::string_view bytes, std::uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Sizes of the sections ".text.<kernel>".
std::int64_t CodeBytes(std::string_view cubin) {
  const auto header = ReadAt<Elf64_Ehdr>(cubin, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64)
    return 0;
  const auto section = [&](std::uint64_t i) {
    return ReadAt<Elf64_Shdr>(cubin, header->e_shoff + i * header->e_shentsize);
  };
  const auto names = section(header->e_shstrndx);
  if (!names) return 0;
  std::int64_t sum = 0;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto s = section(i);
    if (!s || names->sh_offset + s->sh_name >= cubin.size()) return 0;
    if (cubin.substr(names->sh_offset + s->sh_name).starts_with(".text."))
      sum += static_cast<std::int64_t>(s->sh_size);
  }
  return sum;
}

}  // namespace

BuildFacts FactsOfCubin(std::string_view ptxas_log, std::string_view cubin) {
  BuildFacts facts;
  const auto largest = [](std::int64_t* of) {
    return [of](std::int64_t number) { *of = std::max(*of, number); };
  };
  const auto add = [&](std::int64_t number) { facts.spill_bytes += number; };
  ForNumbersBefore(ptxas_log, " registers", largest(&facts.registers));
  ForNumbersBefore(ptxas_log, " bytes smem", largest(&facts.shared_bytes));
  ForNumbersBefore(ptxas_log, " bytes spill stores", add);
  ForNumbersBefore(ptxas_log, " bytes spill loads", add);
  facts.code_bytes = CodeBytes(cubin);
  return facts;
}

}  // namespace kindred
