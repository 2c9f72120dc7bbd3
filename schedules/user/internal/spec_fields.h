// Reads fields of a kernel's description; every message begins with the description's name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "schedules/base/result.h"
#include "schedules/user/value.h"

namespace kindred {

class SpecFields {
 public:
  using Json = nlohmann::ordered_json;

  // `names` are those of the parameters, `lists` their values.
  SpecFields(std::string_view source, std::vector<std::string> names, std::vector<Value> lists);

  // From then on expressions may name ProblemSize.
  void SetProblemSize(const std::vector<std::int64_t>& sizes);

  Error Bad(std::string_view what) const;
  Error NotSupported(std::string_view what) const;
  // Empty where it is absent and not needed.
  Result<std::string> Text(const Json& object, const char* field, bool needed) const;
  Result<std::vector<std::string>> TextList(const Json& object, const char* field) const;
  // A number, or the text of an expression over ProblemSize and the lists of the parameters'
  // values.
  Result<double> Number(const Json& value, std::string_view where) const;
  Result<std::vector<std::int64_t>> Sizes(const Json& value) const;
  // The text of an expression over the parameters, checked to be one.
  Result<std::string> Formula(const Json& value, std::string_view where) const;
  // A text in which each "{...}" is checked to be an expression over the parameters.
  Result<std::string> Template(const std::string& text, std::string_view where) const;

 private:
  std::string source_;
  std::vector<std::string> names_;
  std::vector<Value> lists_;
};

// Parts of a template in turn: text, expression, text, ... "{{" and "}}" are braces. Error
// (kBadInput): a brace without its other.
Result<std::vector<std::string>> TemplateParts(const std::string& text);

}  // namespace kindred
