#include "tuner/kernel_package.h"

#include <algorithm>
#include <array>
#include <utility>

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

using Parameter = KernelStep::Parameter;

constexpr std::array<std::pair<Parameter::Kind, std::string_view>, 4> kParameterKinds = {
    {{Parameter::Kind::kArgument, "argument"},
     {Parameter::Kind::kWorkspace, "workspace"},
     {Parameter::Kind::kExtent, "extent"},
     {Parameter::Kind::kConstant, "constant"}}};

// A number, {"extent": I}, or {"op", "args"}.
json SizeToJson(const Expr& e) {
  if (e.op == Op::kInt) return e.integer;
  if (e.op == Op::kExtent) return {{"extent", e.index}};
  json args = json::array();
  for (const ExprPtr& arg : e.args) args.push_back(SizeToJson(*arg));
  return {{"op", Name(e.op)}, {"args", std::move(args)}};
}

// json's exceptions leave it.
ExprPtr SizeFromJson(const json& size) {
  if (size.is_number()) return IntExpr(size.get<std::int64_t>());
  if (size.contains("extent")) return ExtentExpr(size.at("extent").get<int>());
  const std::string name = size.at("op");
  const json& args = size.at("args");
  for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMod, Op::kMin, Op::kMax})
    if (Name(op) == name) return BinaryExpr(op, SizeFromJson(args.at(0)), SizeFromJson(args.at(1)));
  return UnaryExpr(Op::kNeg, SizeFromJson(args.at(0)));
}

json LaunchToJson(const KernelStep& step) {
  json parameters = json::array();
  for (const Parameter& parameter : step.parameters)
    for (const auto& [kind, name] : kParameterKinds)
      if (kind == parameter.kind)
        parameters.push_back({{"kind", name}, {"value", parameter.value}});
  json grid = json::array();
  for (const ExprPtr& size : step.grid) grid.push_back(SizeToJson(*size));
  return {{"kind", "launch"},
          {"entry", step.entry},
          {"when", "each run"},
          {"grid", std::move(grid)},
          {"block", step.block},
          {"shared_bytes", step.shared_bytes},
          {"parameters", std::move(parameters)}};
}

KernelStep LaunchFromJson(const json& launch) {
  KernelStep step;
  step.entry = launch.at("entry");
  for (std::size_t i = 0; i < step.grid.size(); ++i)
    step.grid[i] = SizeFromJson(launch.at("grid").at(i));
  step.block = launch.at("block");
  step.shared_bytes = launch.at("shared_bytes");
  for (const json& p : launch.at("parameters"))
    for (const auto& [kind, name] : kParameterKinds)
      if (p.at("kind") == name) step.parameters.push_back({kind, p.at("value")});
  return step;
}

}  // namespace

std::string_view LanguageName(const KernelSource& kernel) {
  if (kernel.compiler == "command") return "command";
  return kernel.language == KernelSource::Language::kC ? "c" : "cuda";
}

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
  for (const KernelStep& step : kernel.steps) steps.push_back(LaunchToJson(step));
  if (kernel.language == KernelSource::Language::kCuda) return steps;
  if (!kernel.prepare_entry.empty())
    steps.push_back({{"kind", "prepare"},
                     {"entry", kernel.prepare_entry},
                     {"when", "once, when the weights are known"}});
  steps.push_back({{"kind", "launch"}, {"entry", kernel.entry}, {"when", "each run"}});
  return steps;
}

Result<void> StepsFromJson(const json& steps, KernelSource& kernel) {
  try {
    for (const json& step : steps) {
      if (kernel.language == KernelSource::Language::kCuda)
        kernel.steps.push_back(LaunchFromJson(step));
      else
        (step.at("kind") == "prepare" ? kernel.prepare_entry : kernel.entry) = step.at("entry");
    }
  } catch (const json::exception& error) {
    return BadInput(std::string("a kernel's steps are damaged: ") + error.what());
  }
  if (!kernel.steps.empty()) kernel.entry = kernel.steps.front().entry;
  return {};
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
  out["language"] = LanguageName(package.kernel);
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
