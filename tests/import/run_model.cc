#include "tests/import/run_model.h"

#include "schedules/text_form.h"
#include "tuner/import/onnx_model.h"

namespace kindred {
namespace {

TensorValues FromConstant(const ConstantTensor& constant) {
  TensorValues values;
  for (std::int64_t i = 0; i < constant.elements(); ++i) {
    if (IsFloat(constant.type)) {
      values.floats.push_back(constant.Number(i));
    } else {
      values.integers.push_back(constant.Integer(i));
    }
  }
  return values;
}

class Runner {
 public:
  Runner(const OnnxModel& source, const ImportedModel& model, const NamedValues& inputs,
         const RunOptions& options)
      : source_(source), model_(model), options_(options), values_(inputs) {}

  Result<NamedValues> Run() {
    std::vector<std::pair<const ImportedTask*, const SubgraphUse*>> waiting;
    for (const ImportedTask& task : model_.tasks)
      for (const SubgraphUse& use : task.uses) waiting.emplace_back(&task, &use);
    while (!waiting.empty()) {
      decltype(waiting) later;
      for (const auto& [task, use] : waiting) {
        if (!Ready(*task, *use)) {
          later.emplace_back(task, use);
          continue;
        }
        KINDRED_CHECK(RunUse(*task, *use));
      }
      if (later.size() == waiting.size()) break;
      waiting = std::move(later);
    }
    NamedValues outputs;
    for (const std::string& name : model_.outputs) {
      KINDRED_TRY(outputs[name], Weight(Storage(name)));
    }
    return outputs;
  }

 private:
  std::string Storage(const std::string& name) const {
    const auto view = model_.views.find(name);
    return view == model_.views.end() ? name : view->second;
  }

  bool Ready(const ImportedTask& task, const SubgraphUse& use) const {
    for (const Tensor& tensor : task.workload.tensors)
      if (tensor.role == Role::kInput && use.tensors.contains(tensor.name) &&
          !values_.contains(use.tensors.at(tensor.name)))
        return false;
    return true;
  }

  // A value that is there already, a tensor of the model, or one that the import folded.
  Result<TensorValues> Weight(const std::string& name) const {
    if (const auto made = values_.find(name); made != values_.end()) return made->second;
    for (const OnnxTensor& tensor : source_.initializers) {
      if (tensor.name != name) continue;
      KINDRED_TRY(const ConstantPtr data, ReadTensor(source_, tensor));
      if (!data) return NotFound("no data of '" + name + "'");
      return FromConstant(*data);
    }
    const auto folded = model_.folded.find(name);
    if (folded == model_.folded.end()) return NotFound("nothing makes '" + name + "'");
    ConstantTensor constant;
    constant.type = folded->second.type;
    constant.shape = folded->second.shape;
    constant.splat = folded->second.data.size() == 1;
    for (const double x : folded->second.data) {
      if (IsFloat(constant.type)) {
        constant.numbers.push_back(x);
      } else {
        constant.integers.push_back(static_cast<std::int64_t>(x));
      }
    }
    return FromConstant(constant);
  }

  Result<TensorValues> Prepared(const WeightPreparation& preparation) const {
    KINDRED_TRY(const Workload workload, ParseWorkload(preparation.text, preparation.produces));
    std::vector<TensorValues> tensors(workload.tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& tensor = workload.tensors[i];
      if (tensor.role != Role::kInput && tensor.role != Role::kWeight) continue;
      KINDRED_TRY(tensors[i], Weight(preparation.inputs.at(tensor.name)));
    }
    tensors = Interpret(workload, std::move(tensors));
    return tensors[static_cast<std::size_t>(ArgumentTensors(workload).back())];
  }

  Result<TensorValues> Argument(const SubgraphUse& use, const Tensor& tensor) const {
    for (const WeightPreparation& preparation : use.preparations)
      if (preparation.produces == tensor.name) return Prepared(preparation);
    if (use.tensors.contains(tensor.name)) return Weight(use.tensors.at(tensor.name));
    // What no result depends on is no argument of the canonical form.
    const auto count = static_cast<std::size_t>(Elements(tensor));
    TensorValues unused;
    if (IsFloat(tensor.type)) unused.floats.resize(count);
    if (IsInteger(tensor.type)) unused.integers.resize(count);
    return unused;
  }

  Result<void> RunUse(const ImportedTask& task, const SubgraphUse& use) {
    const Workload& workload = options_.canonical ? task.canonical.workload : task.workload;
    const std::vector<int> mine = ArgumentTensors(task.workload);
    const std::vector<int> theirs = ArgumentTensors(workload);
    std::vector<TensorValues> tensors(workload.tensors.size());
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      const int id = options_.canonical ? task.canonical.arguments[i] : mine[i];
      const Tensor& tensor = task.workload.tensors[static_cast<std::size_t>(id)];
      if (tensor.role == Role::kOutput) continue;
      KINDRED_TRY(tensors[static_cast<std::size_t>(theirs[i])], Argument(use, tensor));
    }
    tensors = Interpret(workload, std::move(tensors));
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      const int id = options_.canonical ? task.canonical.arguments[i] : mine[i];
      const Tensor& tensor = task.workload.tensors[static_cast<std::size_t>(id)];
      if (tensor.role == Role::kOutput)
        values_[use.tensors.at(tensor.name)] = tensors[static_cast<std::size_t>(theirs[i])];
    }
    return {};
  }

  const OnnxModel& source_;
  const ImportedModel& model_;
  RunOptions options_;
  NamedValues values_;
};

}  // namespace

Result<NamedValues> RunImported(const std::string& path, const ImportedModel& model,
                                const NamedValues& inputs, const RunOptions& options) {
  KINDRED_TRY(const OnnxModel source, LoadOnnx(path));
  return Runner(source, model, inputs, options).Run();
}

}  // namespace kindred
