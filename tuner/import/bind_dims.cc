#include "tuner/import/bind_dims.h"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kindred {

Result<std::map<std::string, Shape>> BindDims(const OnnxModel& model,
                                              const std::map<std::string, std::int64_t>& dims,
                                              std::map<std::string, std::int64_t>& used) {
  std::set<std::string> weights;
  for (const OnnxTensor& tensor : model.initializers) weights.insert(tensor.name);
  std::map<std::string, Shape> shapes;
  std::set<std::string> known, zero;
  std::vector<std::string> unbound;
  for (const OnnxValue& input : model.inputs) {
    if (weights.contains(input.name) || !input.has_shape) continue;
    Shape shape;
    for (std::size_t d = 0; d < input.dims.size(); ++d) {
      const OnnxDim& dim = input.dims[d];
      // An extent of 0 stands for "any" in models of some exporters; --dim says where it is meant.
      if (dim.value > 0) {
        shape.push_back(dim.value);
        continue;
      }
      const std::string name =
          dim.symbol.empty() ? fmt::format("{}:{}", input.name, d) : dim.symbol;
      if (dim.value == 0) zero.insert(name);
      const auto bound = dims.find(name);
      if (known.insert(name).second && bound == dims.end()) unbound.push_back(name);
      shape.push_back(bound == dims.end() ? 1 : bound->second);
    }
    if (!PossibleShape(shape))
      return BadInput(fmt::format("{}: input '{}' has the impossible shape {}", model.path,
                                  input.name, ShapeText(shape)));
    shapes.emplace(input.name, std::move(shape));
  }
  if (!unbound.empty())
    return BadInput(fmt::format(
        "{}: dimension{} '{}' {} not bound; give {} a value, for example --dim {}=1, or "
        "\"dims\": {{\"{}\": 1}} in a zoo file",
        model.path, unbound.size() > 1 ? "s" : "", fmt::join(unbound, "', '"),
        unbound.size() > 1 ? "are" : "is", unbound.size() > 1 ? "each" : "it", unbound[0],
        unbound[0]));
  for (const auto& [name, value] : dims) {
    if (!known.contains(name)) continue;
    used[name] = value;
    if (value < (zero.contains(name) ? 0 : 1))
      return BadInput(fmt::format("{}: dimension '{}' cannot be {}; give it a value of at least 1",
                                  model.path, name, value));
  }
  return shapes;
}

}  // namespace kindred
