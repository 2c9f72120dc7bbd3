#include "schedules/user/npy.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace kindred {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;  // of the data, as NumPy writes it

struct TypeCode {
  std::string_view code;  // without the byte order
  DataType type;
};
constexpr TypeCode kTypes[] = {
    {"f4", DataType::kF32},  {"f8", DataType::kF64}, {"i4", DataType::kI32},
    {"i8", DataType::kI64},  {"i1", DataType::kI8},  {"u1", DataType::kU8},
    {"b1", DataType::kBool}, {"u4", DataType::kI32}, {"u8", DataType::kI64},
};

// The text after `'key':` of a header, which is the text of a Python dictionary.
std::string_view ValueOf(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(fmt::format("'{}'", key));
  if (at == std::string_view::npos) return {};
  std::size_t colon = header.find(':', at);
  if (colon == std::string_view::npos) return {};
  while (++colon < header.size() && header[colon] == ' ') continue;
  return header.substr(colon);
}

}  // namespace

std::int64_t NpyHeader::Elements() const {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements;
}

Result<NpyHeader> ParseNpyHeader(std::string_view begin, std::string_view source) {
  const auto bad = [&](std::string_view what) {
    return BadInput(fmt::format("{}: {}", source, what));
  };
  const auto byte = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(begin[at]));
  };
  if (!begin.starts_with(kMagic) || begin.size() < 12) return bad("is no .npy file");
  const bool old = byte(6) == 1;
  const std::size_t length =
      old ? byte(8) + 256 * byte(9) : byte(8) + 256 * (byte(9) + 256 * (byte(10) + 256 * byte(11)));
  const std::size_t start = old ? 10 : 12;
  if (length > begin.size() - start) return bad("its .npy header is cut off");
  const std::string_view header = begin.substr(start, length);
  NpyHeader read;
  read.data_offset = static_cast<std::int64_t>(start + length);
  std::string_view descr = ValueOf(header, "descr");
  if (descr.size() < 5 || descr[0] != '\'') return bad("its .npy header has no simple type");
  descr = descr.substr(1, descr.find('\'', 1) - 1);
  const auto* const known =
      std::find_if(std::begin(kTypes), std::end(kTypes),
                   [&](const TypeCode& t) { return t.code == descr.substr(1); });
  if (known == std::end(kTypes) || descr[0] == '>')
    return bad(fmt::format("has elements of the type '{}', which is not known here", descr));
  read.type = known->type;
  if (!ValueOf(header, "fortran_order").starts_with("False"))
    return bad("is in Fortran order; save it in C order (numpy.ascontiguousarray)");
  std::string_view shape = ValueOf(header, "shape");
  if (!shape.starts_with('(')) return bad("its .npy header has no shape");
  shape = shape.substr(1, shape.find(')') - 1);
  while (!shape.empty()) {
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(shape.data(), shape.data() + shape.size(), extent);
    if (error != std::errc() || extent < 0) return bad("its .npy header has no shape");
    read.shape.push_back(extent);
    shape.remove_prefix(static_cast<std::size_t>(end - shape.data()));
    while (!shape.empty() && (shape[0] == ',' || shape[0] == ' ')) shape.remove_prefix(1);
  }
  return read;
}

std::string NpyHeaderText(DataType type, std::int64_t elements) {
  const auto* const known = std::find_if(std::begin(kTypes), std::end(kTypes),
                                         [&](const TypeCode& t) { return t.type == type; });
  const bool single = known != std::end(kTypes) && known->code.ends_with('1');
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({},), }}",
                  single ? '|' : '<', known != std::end(kTypes) ? known->code : "u1", elements);
  std::string text = std::string(kMagic) + '\x01' + '\0';
  while ((text.size() + 2 + header.size() + 1) % kAlignment != 0) header += ' ';
  header += '\n';
  text += static_cast<char>(header.size() % 256);
  text += static_cast<char>(header.size() / 256);
  return text + header;
}

}  // namespace kindred
