// The values that one configuration gives to a description's expressions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedules/base/result.h"
#include "schedules/user/parameter_space.h"

namespace kindred {

// A value as a macro or a program's word has it.
std::string PlainText(const Value& value);

class ConfigurationValues {
 public:
  // Values of the parameters, and ProblemSize.
  ConfigurationValues(const ParameterSpace& space, std::size_t configuration,
                      const std::vector<std::int64_t>& problem_size);

  // `what` names the field in errors.
  Result<Value> Evaluate(const std::string& formula, std::string_view what) const;
  // A whole number from `least` on.
  Result<std::int64_t> Whole(const std::string& formula, std::int64_t least,
                             std::string_view what) const;
  // A template with the values of its expressions.
  Result<std::string> Fill(const std::string& text, std::string_view what) const;
  // The name of a template's instance, "gemm<float, tile>", with values in the places of the
  // parameters' names.
  std::string Instantiated(const std::string& name) const;
  // Of the parameters alone, in order.
  std::vector<std::pair<std::string, std::string>> Parameters() const;

 private:
  std::vector<std::string> names_;
  std::vector<Value> values_;
};

}  // namespace kindred
