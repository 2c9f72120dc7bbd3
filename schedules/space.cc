#include "schedules/space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "schedules/internal/program_key.h"
#include "schedules/sketch.h"

namespace kindred {
namespace {

constexpr const char* kSketch = "sketch";

std::string LabelOf(const Decision& decision, std::size_t option) {
  return option < decision.labels.size() ? decision.labels[option] : "";
}

Choice Take(const Decision& decision, std::size_t option) {
  return {decision.name, decision.options[option], LabelOf(decision, option)};
}

// How far two option values are: sizes are compared by ratio.
double Distance(std::int64_t a, std::int64_t b) {
  const auto scale = [](std::int64_t v) {
    const double x = static_cast<double>(v);
    return x < 0 ? -std::log2(1 - x) : std::log2(1 + x);
  };
  return std::fabs(scale(a) - scale(b));
}

std::size_t Nearest(const Decision& decision, const Choice& wanted) {
  if (!decision.labels.empty()) {
    for (std::size_t i = 0; i < decision.options.size(); ++i)
      if (LabelOf(decision, i) == wanted.label) return i;
    // A name that is not offered here has no neighbours. Of sketches, the most special one stands
    // last.
    return decision.name == kSketch ? decision.options.size() - 1 : 0;
  }
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < decision.options.size(); ++i) {
    const double d = Distance(decision.options[i], wanted.value);
    if (d < least) {
      least = d;
      best = i;
    }
  }
  return best;
}

std::string DescribePath(const Path& path) {
  std::string text;
  for (const Choice& c : path)
    text.append(c.decision)
        .append(": ")
        .append(c.label.empty() ? std::to_string(c.value) : c.label)
        .append("\n");
  return text;
}

class SketchSpace : public Space {
 public:
  SketchSpace(const Workload& canonical, const Target& target)
      : workload_(std::make_unique<const Workload>(canonical)),
        target_(std::make_unique<const Target>(target)) {
    using Factory = std::unique_ptr<Sketch> (*)(const Workload&, const Target&);
    const std::vector<Factory> cpu = {&MakeGenericSketch, &MakeElementwiseSketch, &MakeRowSketch,
                                      &MakeContractionSketch, &MakeWindowSketch};
    const std::vector<Factory> cuda = {&MakeCudaGenericSketch, &MakeCudaElementwiseSketch,
                                       &MakeCudaRowSketch, &MakeCudaContractionSketch,
                                       &MakeCudaWindowSketch};
    const std::vector<Factory>& factories = target_->kind == DeviceKind::kCuda ? cuda : cpu;
    first_.name = kSketch;
    for (std::size_t i = 0; i < factories.size(); ++i) {
      auto sketch = factories[i](*workload_, *target_);
      if (!sketch) continue;
      first_.options.push_back(static_cast<std::int64_t>(i));
      first_.labels.emplace_back(sketch->name());
      sketches_.push_back(std::move(sketch));
    }
  }

  std::optional<Decision> Next(const Path& path) const override {
    if (path.empty()) return first_;
    const Sketch* sketch = SketchOf(path);
    if (sketch == nullptr) return std::nullopt;
    return sketch->Next(Path(path.begin() + 1, path.end()));
  }

  Result<Candidate> Lower(const Path& path) const override {
    const Sketch* sketch = path.empty() ? nullptr : SketchOf(path);
    if (sketch == nullptr)
      return Internal("a schedule must start with one of the offered sketches");
    auto nodes = std::make_shared<NodeArena>();
    const NodeArena::Scope scope(*nodes);
    auto lowered = sketch->Lower(Path(path.begin() + 1, path.end()));
    if (!lowered) return std::move(lowered).error();
    Program program = std::move(*lowered);
    program.nodes = std::move(nodes);
    Candidate candidate;
    candidate.path = path;
    candidate.key = internal::ProgramKey(program);
    program.name = "kernel_" + candidate.key.Hex().substr(0, 16);
    program.head_comment = DescribePath(path) + program.head_comment;
    candidate.program = std::make_shared<const Program>(std::move(program));
    return candidate;
  }

 private:
  const Sketch* SketchOf(const Path& path) const {
    for (std::size_t i = 0; i < first_.options.size(); ++i)
      if (path[0].decision == kSketch && path[0].value == first_.options[i])
        return sketches_[i].get();
    return nullptr;
  }

  // Sketches may refer to these.
  std::unique_ptr<const Workload> workload_;
  std::unique_ptr<const Target> target_;
  Decision first_;
  std::vector<std::unique_ptr<Sketch>> sketches_;
};

}  // namespace

Path Space::Adapt(const Path& sibling) const {
  Path path;
  while (const auto decision = Next(path)) {
    std::size_t option = 0;
    for (const Choice& c : sibling) {
      if (c.decision != decision->name) continue;
      option = Nearest(*decision, c);
      break;
    }
    path.push_back(Take(*decision, option));
  }
  return path;
}

std::unique_ptr<Space> MakeSpace(const Workload& canonical, const Target& target) {
  return std::make_unique<SketchSpace>(canonical, target);
}

std::string PathToJson(const Path& path) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Choice& c : path) {
    if (c.label.empty())
      json[c.decision] = c.value;
    else
      json[c.decision] = c.label;
  }
  return json.dump();
}

Result<Path> PathFromJson(const Space& space, std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object())
    return BadInput(
        "a schedule must be a JSON object of decisions, such as {\"sketch\": \"generic\"}");
  Path path;
  while (const auto decision = space.Next(path)) {
    const auto found = json.find(decision->name);
    if (found == json.end())
      return BadInput("schedule: the decision '" + decision->name + "' is missing after " +
                      PathToJson(path));
    std::optional<std::size_t> option;
    for (std::size_t i = 0; i < decision->options.size() && !option; ++i) {
      const bool named =
          found->is_string() && *found == LabelOf(*decision, i) && !LabelOf(*decision, i).empty();
      const bool number = found->is_number_integer() && *found == decision->options[i];
      if (named || number) option = i;
    }
    if (!option)
      return BadInput("schedule: " + found->dump() + " is no option of '" + decision->name +
                      "' after " + PathToJson(path));
    path.push_back(Take(*decision, *option));
  }
  if (path.size() != json.size())
    for (const auto& [name, value] : json.items())
      if (std::none_of(path.begin(), path.end(),
                       [&name = name](const Choice& c) { return c.decision == name; }))
        return BadInput("schedule: there is no decision '" + name + "' in this space");
  return path;
}

}  // namespace kindred
