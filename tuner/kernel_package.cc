#include "tuner/kernel_package.h"

#include <algorithm>

namespace kindred {
namespace {

using nlohmann::json;

std::string_view Name(KernelArgument::Access access) {
  switch (access) {
    case KernelArgument::Access::kRead: return "read";
    case KernelArgument::Access::kWrite: return "write";
    case KernelArgument::Access::kPrepared: return "prepared";
  }
  return "";
}

json Shape(const Workload& workload, const Tensor& tensor) {
  json shape = json::array();
  for (const Extent& extent : tensor.shape) {
    if (extent.symbol >= 0)
      shape.push_back(workload.symbols[static_cast<std::size_t>(extent.symbol)].name);
    else
      shape.push_back(extent.value);
  }
  return shape;
}

json ArgumentToJson(const KernelArgument& argument, std::size_t position, const Workload& workload,
                    int tensor) {
  json a = {{"position", position},
            {"name", argument.name},
            {"access", Name(argument.access)},
            {"type", Name(argument.type)},
            {"elements", argument.elements},
            {"layout", argument.layout}};
  if (tensor >= 0) {
    const Tensor& t = workload.tensors[static_cast<std::size_t>(tensor)];
    a["name"] = t.name;
    a["tensor"] = tensor;
    a["shape"] = Shape(workload, t);
  } else {
    a["shape"] = json::array({argument.elements});
  }
  return a;
}

}  // namespace

std::string_view Name(MatchLevel level) {
  switch (level) {
    case MatchLevel::kExact: return "exact";
    case MatchLevel::kDevice: return "device";
    case MatchLevel::kSibling: return "sibling";
    case MatchLevel::kPredicted: return "predicted";
    case MatchLevel::kDefault: return "default";
  }
  return "";
}

json StepsToJson(const KernelSource& kernel) {
  json steps = json::array();
  if (!kernel.prepare_entry.empty())
    steps.push_back({{"kind", "prepare"},
                     {"entry", kernel.prepare_entry},
                     {"when", "once, when the weights are known"}});
  steps.push_back({{"kind", "launch"}, {"entry", kernel.entry}, {"when", "each run"}});
  return steps;
}

json ArgumentsToJson(const KernelSource& kernel, const Workload& workload) {
  json arguments = json::array();
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i)
    arguments.push_back(
        ArgumentToJson(kernel.arguments[i], i, workload, kernel.arguments[i].tensor));
  return arguments;
}

Result<std::vector<KernelArgument>> ArgumentsFromJson(const json& list) {
  std::vector<KernelArgument> arguments;
  try {
    for (const json& a : list) {
      KernelArgument argument;
      argument.name = a.at("name");
      argument.tensor = a.value("tensor", -1);
      argument.elements = a.at("elements");
      argument.layout = a.at("layout");
      const std::string access = a.at("access"), type = a.at("type");
      argument.access = access == "read"    ? KernelArgument::Access::kRead
                        : access == "write" ? KernelArgument::Access::kWrite
                                            : KernelArgument::Access::kPrepared;
      const auto parsed = ParseDataType(type);
      if (!parsed) return BadInput("a kernel argument has the unknown type '" + type + "'");
      argument.type = *parsed;
      arguments.push_back(std::move(argument));
    }
  } catch (const json::exception& error) {
    return BadInput(std::string("a kernel's arguments are damaged: ") + error.what());
  }
  return arguments;
}

json AskersArguments(const KernelSource& kernel, const Workload& asker,
                     const CanonicalWorkload& canonical) {
  const std::vector<int> canonical_order = ArgumentTensors(canonical.workload);
  json arguments = json::array();
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
    const KernelArgument& argument = kernel.arguments[i];
    int tensor = -1;
    if (argument.tensor >= 0) {
      const auto place = std::find(canonical_order.begin(), canonical_order.end(), argument.tensor);
      tensor = canonical.arguments[static_cast<std::size_t>(place - canonical_order.begin())];
    }
    arguments.push_back(ArgumentToJson(argument, i, asker, tensor));
  }
  return arguments;
}

nlohmann::ordered_json ToJson(const KernelPackage& package) {
  nlohmann::ordered_json out;
  out["key"] = package.key;
  out["target"] = package.target;
  out["match"] = Name(package.match);
  out["validated"] = package.validated;
  out["schedule"] = package.schedule;
  out["source"] = package.kernel.code;
  out["steps"] = StepsToJson(package.kernel);
  out["arguments"] = package.arguments;
  out["workspace_bytes"] = package.kernel.workspace_bytes;
  out["statistics"] = package.statistics;
  out["provenance"] = package.provenance;
  out["epoch"] = package.epoch;
  return out;
}

}  // namespace kindred
