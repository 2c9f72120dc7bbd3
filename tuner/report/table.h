// Text tables for the terminal: columns as wide as their content, numbers to the right.
#pragma once

#include <string>
#include <vector>

namespace kindred {

class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kRight;
    int maximum = 60;  // longer text is cut with an ellipsis
  };
  explicit Table(std::vector<Column> columns);
  void Row(std::vector<std::string> cells);  // as many cells as columns
  std::string Print() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace kindred
