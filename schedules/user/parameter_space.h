// ParameterSpace: the legal configurations of named parameters with lists of values.
//
// The product of the lists is never gone through: a condition is asked as soon as the last of its
// parameters has a value, and what it refuses is not looked into. Configurations are numbered in
// the order of their parameters' values. As a Space its decisions are the parameters, in order; a
// Candidate of it has no program, and its key is that of the configuration. Immutable; used by
// several threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedules/space.h"
#include "schedules/user/value.h"

namespace kindred {

struct TunableParameter {
  std::string name;
  std::vector<Value> values;  // distinct, at least one
};

class ParameterSpace final : public Space {
 public:
  // More legal configurations than this are refused.
  static constexpr std::size_t kMostConfigurations = 4'000'000;

  // Errors: no parameter, a parameter named twice, without values or with equal ones (kBadInput); a
  // condition that is no expression over the parameters, or fails for some values (kBadInput);
  // conditions that leave nothing (kBadInput); too many configurations (kUnsupported).
  static Result<ParameterSpace> Make(std::vector<TunableParameter> parameters,
                                     std::span<const std::string> conditions);
  // Of these configurations only: one row of indices into the parameters' values each. Equal rows
  // count once.
  static Result<ParameterSpace> Of(std::vector<TunableParameter> parameters,
                                   std::vector<std::vector<std::uint16_t>> configurations);

  const std::vector<TunableParameter>& parameters() const { return parameters_; }
  std::size_t size() const { return table_.size() / parameters_.size(); }
  // Indices into the parameters' values.
  std::span<const std::uint16_t> Configuration(std::size_t index) const {
    return {table_.data() + index * parameters_.size(), parameters_.size()};
  }
  std::optional<std::size_t> Find(std::span<const std::uint16_t> configuration) const;
  // {"block_size_x": 32, ...}
  std::string Describe(std::size_t index) const;

  Path PathOf(std::size_t index) const;
  // nullopt: not a complete path of this space.
  std::optional<std::size_t> IndexOf(const Path& path) const;

  std::optional<Decision> Next(const Path& path) const override;
  Result<Candidate> Lower(const Path& path) const override;

 private:
  struct Rows {
    std::size_t begin, end;
  };
  Choice ChoiceOf(std::size_t parameter, std::uint16_t value) const;
  std::optional<std::uint16_t> ValueOf(std::size_t parameter, const Choice& choice) const;
  // Rows that begin with the path's choices.
  std::optional<Rows> RowsOf(const Path& path) const;
  Rows Narrow(Rows rows, std::size_t parameter, std::uint16_t value) const;

  std::vector<TunableParameter> parameters_;
  std::vector<bool> whole_;  // all values are whole numbers
  std::vector<std::uint16_t> table_;
};

}  // namespace kindred
