#include <algorithm>
#include <filesystem>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "schedules/text_form.h"
#include "tuner/import/assemble.h"
#include "tuner/import/bind_dims.h"
#include "tuner/import/build_graph.h"
#include "tuner/import/import.h"
#include "tuner/import/merge_instances.h"
#include "tuner/import/naming.h"
#include "tuner/import/partition.h"

namespace kindred {
namespace {

class Importer {
 public:
  Importer(const OnnxModel& model, const Graph& graph, int instances)
      : graph_(graph), instances_(instances) {
    result_.name = std::filesystem::path(model.path).stem().string();
    result_.unused = graph.unused;
    for (const OnnxValue& output : model.outputs) result_.outputs.push_back(output.name);
    for (const GraphValue& v : graph.values)
      if (v.kind == ValueKind::kInput && !v.invented && v.storage == &v - graph.values.data())
        result_.inputs.push_back(v.name);
  }

  Result<ImportedModel> Run() {
    FindPreparations();
    for (const Group& group : Partition(graph_)) KINDRED_CHECK(AddGroup(group));
    for (const ControlNode& control : graph_.controls) AddControl(control);
    CountCoverage();
    AddViews();
    return std::move(result_);
  }

 private:
  const GraphValue& value(int id) const { return graph_.values[static_cast<std::size_t>(id)]; }
  const Unit& unit(int u) const { return graph_.units[static_cast<std::size_t>(u)]; }
  const GraphNode& node(int n) const { return graph_.nodes[static_cast<std::size_t>(n)]; }
  const OnnxNode& OriginOf(int n) const { return node(node(n).origin).node; }

  Result<void> AddGroup(const Group& group) {
    auto assembled = Assemble(graph_, group.units, group.outputs);
    if (!assembled) {
      // A unit that cannot stand alone has no workload: a group of several was checked when it was
      // formed.
      for (const int u : group.units) refused_[u] = assembled.error().message;
      return {};
    }
    Workload& workload = assembled->workload;
    workload = Merged(*assembled);
    workload.name = NameOf(graph_, group);
    if (instances_ > 1) workload.name += fmt::format(" x {}", instances_);
    CanonicalWorkload canonical = Canonicalize(workload);
    std::map<int, WeightPreparation> preparations;  // by storage
    for (const int argument : canonical.arguments) {
      const int storage = assembled->values[static_cast<std::size_t>(argument)];
      if (value(storage).kind != ValueKind::kPrepared) continue;
      auto preparation = Prepare(storage);
      if (!preparation) {
        for (const int u : group.units) refused_[u] = preparation.error().message;
        return {};
      }
      preparations[storage] = std::move(*preparation);
    }
    const auto [place, fresh] = tasks_.emplace(canonical.key, result_.tasks.size());
    if (fresh) {
      ImportedTask task;
      task.name = workload.name;
      task.workload = workload;
      task.canonical = canonical;
      result_.tasks.push_back(std::move(task));
    }
    ImportedTask& task = result_.tasks[place->second];
    SubgraphUse use;
    use.times = node(unit(group.anchor).node).times;
    use.scope = unit(group.anchor).scope;
    for (const int u : group.units) {
      AddNode(use, unit(u).node);
      for (const int n : unit(u).also) AddNode(use, n);
    }
    // Arguments of equal canonical forms correspond by position.
    for (std::size_t i = 0; i < canonical.arguments.size(); ++i) {
      const auto mine = static_cast<std::size_t>(canonical.arguments[i]);
      const auto first = static_cast<std::size_t>(task.canonical.arguments[i]);
      const std::string& name = task.workload.tensors[first].name;
      const int storage = assembled->values[mine];
      use.tensors[name] = value(storage).name;
      NoteFolded(storage);
      if (const auto found = preparations.find(storage); found != preparations.end()) {
        found->second.produces = name;
        use.preparations.push_back(found->second);
      }
    }
    task.uses.push_back(std::move(use));
    for (const int u : group.units) in_task_.insert(u);
    return {};
  }

  // Tables that the model itself fixes are the same for all instances; scales and zero points
  // belong to the weights.
  Workload Merged(const Assembled& assembled) const {
    std::set<int> shared;
    for (std::size_t id = 0; id < assembled.values.size(); ++id) {
      const GraphValue& v = value(assembled.values[id]);
      if (v.kind == ValueKind::kKnown && ElementCount(v.shape) > 1 && !IsByteType(v.element_type))
        shared.insert(static_cast<int>(id));
    }
    return MergeInstances(assembled.workload, instances_, shared);
  }

  void AddNode(SubgraphUse& use, int n) const {
    const std::string& name = OriginOf(n).name;
    if (std::find(use.nodes.begin(), use.nodes.end(), name) == use.nodes.end())
      use.nodes.push_back(name);
  }

  // Constants that the import made, or changed the form of, are not among the model's tensors.
  void NoteFolded(int storage) {
    const GraphValue& v = value(storage);
    if (!v.constant || v.initializer >= 0) return;
    FoldedValue folded;
    folded.type = v.type;
    folded.shape = v.shape;
    const std::int64_t count = v.constant->splat ? 1 : v.constant->elements();
    for (std::int64_t i = 0; i < count; ++i) folded.data.push_back(v.constant->Number(i));
    result_.folded.emplace(v.name, std::move(folded));
  }

  void FindPreparations() {
    for (std::size_t u = 0; u < graph_.units.size(); ++u)
      if (graph_.units[u].prepared)
        for (const int id : graph_.units[u].values) prepares_[id] = static_cast<int>(u);
  }

  // The units, in order, that make `storage` from the model's weights.
  void Collect(int storage, std::set<int>& units) const {
    const auto found = prepares_.find(storage);
    if (found == prepares_.end() || !units.insert(found->second).second) return;
    for (const int read : unit(found->second).reads) Collect(read, units);
  }

  Result<WeightPreparation> Prepare(int storage) {
    std::set<int> units;
    Collect(storage, units);
    auto assembled = Assemble(graph_, {units.begin(), units.end()}, {storage});
    if (!assembled)
      return Unsupported("its weight '" + value(storage).name +
                         "' cannot be prepared: " + assembled.error().message);
    WeightPreparation preparation;
    preparation.text = PrintWorkload(Merged(*assembled));
    for (std::size_t i = 0; i < assembled->values.size(); ++i) {
      const Tensor& tensor = assembled->workload.tensors[i];
      if (tensor.role != Role::kInput && tensor.role != Role::kWeight) continue;
      preparation.inputs[tensor.name] = value(assembled->values[i]).name;
      NoteFolded(assembled->values[i]);
    }
    return preparation;
  }

  // Names of the memory that the values stand in.
  std::vector<std::string> NamesOf(const std::vector<int>& values) {
    std::vector<std::string> names;
    for (const int id : values) {
      names.push_back(id < 0 ? "" : graph_.StorageOf(id).name);
      if (id >= 0) NoteFolded(value(id).storage);
    }
    return names;
  }

  // The last ones of `values`.
  std::vector<ControlFlow::Scanned> ScannedOf(const std::vector<int>& values,
                                              const std::vector<ScannedAxis>& axes) const {
    std::vector<ControlFlow::Scanned> scanned;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const int id = values[values.size() - axes.size() + i];
      scanned.push_back({id < 0 ? Shape() : value(id).shape, axes[i].axis, axes[i].reverse});
    }
    return scanned;
  }

  void AddControl(const ControlNode& from) {
    ControlFlow control;
    control.node = OriginOf(from.node).name;
    control.op = node(from.node).node.op;
    control.scope = from.scope;
    control.inputs = NamesOf(from.inputs);
    control.outputs = NamesOf(from.outputs);
    for (const ControlNode::Body& body : from.bodies)
      control.bodies.push_back({body.scope, NamesOf(body.inputs), NamesOf(body.outputs)});
    control.scan_inputs = ScannedOf(from.inputs, from.scan_inputs);
    control.scan_outputs = ScannedOf(from.outputs, from.scan_outputs);
    result_.controls.push_back(std::move(control));
  }

  // A node is tunable if all its units that run with the model stand in tasks.
  void CountCoverage() {
    std::map<int, std::string> nodes;  // by node: why it is left out, or ""
    for (std::size_t u = 0; u < graph_.units.size(); ++u) {
      const Unit& one = graph_.units[u];
      if (one.prepared || one.kind == UnitKind::kControl) continue;
      const auto refused = refused_.find(static_cast<int>(u));
      const std::string reason = refused != refused_.end() ? refused->second : one.reason;
      std::vector<int> covered = one.also;
      covered.push_back(one.node);
      for (const int n : covered) {
        std::string& known = nodes[node(n).origin];
        if (known.empty()) known = reason;
      }
    }
    result_.nodes = static_cast<int>(nodes.size());
    for (const auto& [n, reason] : nodes) {
      if (reason.empty()) {
        ++result_.tunable;
      } else {
        result_.left_out.push_back({node(n).node.name, node(n).node.op, reason});
      }
    }
  }

  void AddViews() {
    for (const GraphValue& v : graph_.values) {
      const GraphValue& storage = value(v.storage);
      if (&storage != &v && !v.invented && storage.name != v.name)
        result_.views[v.name] = storage.name;
    }
    for (std::size_t id = 0; id < graph_.values.size(); ++id)
      if (graph_.values[id].model_output) NoteFolded(static_cast<int>(id));
  }

  const Graph& graph_;
  int instances_;
  ImportedModel result_;
  std::unordered_map<Hash128, std::size_t> tasks_;
  std::map<int, std::string> refused_;  // by unit
  std::map<int, int> prepares_;         // unit by storage
  std::set<int> in_task_;
};

}  // namespace

double ImportedTask::runs() const {
  return std::accumulate(uses.begin(), uses.end(), 0.0,
                         [](double sum, const SubgraphUse& use) { return sum + use.times; });
}

Result<ImportedModel> ImportOnnx(const std::string& path, const ImportOptions& options) {
  if (options.instances < 1)
    return BadInput(fmt::format("{}: {} instances cannot be merged; ask for 1 or more", path,
                                options.instances));
  KINDRED_TRY(const OnnxModel model, LoadOnnx(path));
  std::map<std::string, std::int64_t> bound;
  KINDRED_TRY(const auto shapes, BindDims(model, options.dims, bound));
  KINDRED_TRY(const Graph graph, BuildGraph(model, shapes, options.trips));
  KINDRED_TRY(ImportedModel imported, Importer(model, graph, options.instances).Run());
  imported.dims = std::move(bound);
  return imported;
}

}  // namespace kindred
