#include "tuner/report/table.h"

#include <algorithm>

namespace kindred {
namespace {

// Characters, not bytes, of UTF-8 text.
int Width(const std::string& text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string Cut(const std::string& text, int maximum) {
  if (Width(text) <= maximum) return text;
  std::size_t end = 0;
  for (int seen = 0; end < text.size(); ++end)
    if ((text[end] & 0xC0) != 0x80 && ++seen == maximum) break;
  return text.substr(0, end) + "\u2026";
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::Row(std::vector<std::string> cells) {
  for (std::size_t i = 0; i < columns_.size(); ++i) cells[i] = Cut(cells[i], columns_[i].maximum);
  rows_.push_back(std::move(cells));
}

std::string Table::Print() const {
  std::vector<int> widths;
  int total = -2;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    int width = Width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, Width(row[i]));
    widths.push_back(width);
    total += width + 2;
  }
  std::string out;
  const auto line = [&](const auto& cell) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& content = cell(i);
      const std::string fill(static_cast<std::size_t>(widths[i] - Width(content)), ' ');
      if (i > 0) text += "  ";
      text += columns_[i].align == Align::kLeft ? content + fill : fill + content;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  for (int i = 0; i < total; ++i) out += "\u2500";
  out += "\n";
  for (const auto& row : rows_) line([&](std::size_t i) -> const std::string& { return row[i]; });
  return out;
}

}  // namespace kindred
