#include "tuner/import/operator_table.h"

#include <limits>
#include <map>

#include <fmt/format.h>

namespace kindred {
namespace {

constexpr int kAny = std::numeric_limits<int>::max();

constexpr OperatorDefinition kDefinitions[] = {
#include "tuner/import/operator_definitions.inc"
};

char KindLetter(OnnxAttribute::Kind kind) {
  switch (kind) {
    case OnnxAttribute::Kind::kInt: return 'i';
    case OnnxAttribute::Kind::kFloat: return 'f';
    case OnnxAttribute::Kind::kString: return 's';
    case OnnxAttribute::Kind::kInts: return 'I';
    case OnnxAttribute::Kind::kFloats: return 'F';
    case OnnxAttribute::Kind::kStrings: return 'S';
    case OnnxAttribute::Kind::kTensor: return 't';
    case OnnxAttribute::Kind::kGraph: return 'g';
    case OnnxAttribute::Kind::kOther: break;
  }
  return '?';
}

// How many there are up to the last that is not "".
int CountNamed(const std::vector<std::string>& names) {
  std::size_t count = names.size();
  while (count > 0 && names[count - 1].empty()) --count;
  return static_cast<int>(count);
}

std::string CountContradiction(std::string_view what, int count, int least, int most) {
  if (count >= least && count <= most) return "";
  return least == most ? fmt::format("it has {} {}, not {}", count, what, least)
                       : fmt::format("it has {} {}, not {} to {}", count, what, least, most);
}

}  // namespace

const OperatorDefinition* FindNewerDefinition(std::string_view op, int opset) {
  const OperatorDefinition* found = nullptr;
  for (const OperatorDefinition& definition : kDefinitions)
    if (definition.name == op && definition.since <= opset) found = &definition;
  return found;
}

std::string Contradiction(const OperatorDefinition& definition, const OnnxNode& node) {
  for (std::string text : {CountContradiction("inputs", CountNamed(node.inputs),
                                              definition.least_inputs, definition.most_inputs),
                           CountContradiction("outputs", CountNamed(node.outputs),
                                              definition.least_outputs, definition.most_outputs)})
    if (!text.empty()) return text;
  std::size_t known = 0;
  std::string_view left = definition.attributes;
  while (!left.empty()) {
    const std::string_view one = left.substr(0, left.find(' '));
    left.remove_prefix(std::min(left.size(), one.size() + 1));
    const std::size_t colon = one.find(':');
    const auto attribute = node.attributes.find(std::string(one.substr(0, colon)));
    if (attribute == node.attributes.end()) {
      if (one.back() == '!') return fmt::format("it lacks attribute '{}'", one.substr(0, colon));
      continue;
    }
    ++known;
    if (KindLetter(attribute->second.kind) != one[colon + 1])
      return fmt::format("attribute '{}' is of the wrong kind", attribute->first);
  }
  if (known == node.attributes.size()) return "";
  for (const auto& [name, attribute] : node.attributes)
    if (fmt::format(" {}", definition.attributes).find(fmt::format(" {}:", name)) ==
        std::string::npos)
      return fmt::format("{} has no attribute '{}' in operator set {}", definition.name, name,
                         node.opset);
  return "";
}

}  // namespace kindred
