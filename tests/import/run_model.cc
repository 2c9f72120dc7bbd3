#include "tests/import/run_model.h"

#include <algorithm>
#include <set>

#include "schedules/lower_reference.h"
#include "schedules/text_form.h"
#include "schedules/tolerance.h"
#include "tests/schedules/compile_and_run.h"
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

// Runs workloads, each on one entry per tensor, filled for inputs and weights.
class Executor {
 public:
  Executor(const ImportedModel& model, const RunOptions& options)
      : options_(options), batch_(test::TestTarget()) {
    for (const ImportedTask& task : model.tasks) workloads_[&task] = &Form(task);
  }

  const Workload& Form(const ImportedTask& task) const {
    return options_.canonical ? task.canonical.workload : task.workload;
  }

  Result<void> Build() {
    if (!options_.reference) return {};
    for (const auto& [task, workload] : workloads_) {
      Reference& reference = references_[task];
      reference.workload = WithErrorBounds(*workload);
      KINDRED_TRY(reference.kernel,
                  batch_.Add(reference.workload.workload,
                             LowerReference(reference.workload.workload), task->name));
    }
    return batch_.Build();
  }

  Result<std::vector<TensorValues>> Run(const ImportedTask& task,
                                        std::vector<TensorValues> tensors) {
    const Workload& workload = Form(task);
    if (!options_.reference) return Interpret(workload, std::move(tensors));
    const Reference& reference = references_.at(&task);
    std::vector<test::Bytes> inputs;
    std::vector<std::size_t> outputs;  // of the original
    for (const int id : ArgumentTensors(workload)) {
      const auto i = static_cast<std::size_t>(id);
      if (workload.tensors[i].role == Role::kOutput) {
        outputs.push_back(i);
      } else {
        inputs.push_back(ToBytes(workload.tensors[i], tensors[i]));
      }
    }
    KINDRED_TRY(const auto made, batch_.Run(reference.kernel, inputs));
    std::map<int, test::Bytes> by_tensor;
    std::size_t next = 0;
    for (const int id : ArgumentTensors(reference.workload.workload))
      if (reference.workload.workload.tensors[static_cast<std::size_t>(id)].role == Role::kOutput)
        by_tensor[id] = made.at(next++);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const int value = reference.workload.outputs[i].value;
      tensors[outputs[i]] =
          FromBytes(reference.workload.workload.tensors[static_cast<std::size_t>(value)],
                    by_tensor.at(value));
    }
    return tensors;
  }

 private:
  struct Reference {
    ReferenceWorkload workload;
    int kernel = -1;
  };
  RunOptions options_;
  test::KernelBatch batch_;
  std::map<const ImportedTask*, const Workload*> workloads_;
  std::map<const ImportedTask*, Reference> references_;
};

// Something to be run in a scope: a place of a task, or an operator with bodies.
struct Step {
  const ImportedTask* task = nullptr;
  const SubgraphUse* use = nullptr;
  const ControlFlow* control = nullptr;
};

// A tensor as [outer, length, inner] around the scanned axis.
struct Slices {
  explicit Slices(const ControlFlow::Scanned& scanned) {
    for (std::size_t d = 0; d < scanned.shape.size(); ++d)
      (d < static_cast<std::size_t>(scanned.axis)    ? outer
       : d == static_cast<std::size_t>(scanned.axis) ? length
                                                     : inner) *=
          static_cast<std::size_t>(scanned.shape[d]);
  }

  template <typename T>
  std::vector<T> Slice(const std::vector<T>& whole, std::size_t at) const {
    std::vector<T> slice;
    if (whole.empty()) return slice;
    for (std::size_t o = 0; o < outer; ++o) {
      const auto begin = whole.begin() + static_cast<std::ptrdiff_t>((o * length + at) * inner);
      slice.insert(slice.end(), begin, begin + static_cast<std::ptrdiff_t>(inner));
    }
    return slice;
  }

  template <typename T>
  void Put(std::vector<T>& whole, const std::vector<T>& slice, std::size_t at) const {
    if (slice.empty()) return;
    whole.resize(outer * length * inner);
    for (std::size_t o = 0; o < outer; ++o)
      std::copy_n(slice.begin() + static_cast<std::ptrdiff_t>(o * inner), inner,
                  whole.begin() + static_cast<std::ptrdiff_t>((o * length + at) * inner));
  }

  std::size_t outer = 1, length = 1, inner = 1;
};

class Runner {
 public:
  Runner(const OnnxModel& source, const ImportedModel& model, const NamedValues& inputs,
         const RunOptions& options)
      : source_(source),
        model_(model),
        options_(options),
        executor_(model, options),
        values_(inputs) {}

  Result<NamedValues> Run() {
    KINDRED_CHECK(executor_.Build());
    KINDRED_CHECK(RunScope(0));
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

  std::vector<Step> StepsOf(int scope) const {
    std::vector<Step> steps;
    for (const ImportedTask& task : model_.tasks)
      for (const SubgraphUse& use : task.uses)
        if (use.scope == scope) steps.push_back({&task, &use, nullptr});
    for (const ControlFlow& control : model_.controls)
      if (control.scope == scope) steps.push_back({nullptr, nullptr, &control});
    return steps;
  }

  static void AddTensors(const Step& step, bool outputs, std::set<std::string>& names) {
    if (step.control) {
      const auto& list = outputs ? step.control->outputs : step.control->inputs;
      names.insert(list.begin(), list.end());
      return;
    }
    for (const Tensor& tensor : step.task->workload.tensors)
      if (step.use->tensors.contains(tensor.name) && (tensor.role == Role::kOutput) == outputs)
        names.insert(step.use->tensors.at(tensor.name));
  }

  // What a step reads, the steps of its bodies included.
  std::set<std::string> Reads(const Step& step) const {
    std::set<std::string> names;
    AddTensors(step, false, names);
    if (step.control)
      for (const ControlFlow::Body& body : step.control->bodies) {
        names.insert(body.outputs.begin(), body.outputs.end());
        for (const Step& inner : StepsOf(body.scope)) names.merge(Reads(inner));
      }
    return names;
  }

  Result<void> RunScope(int scope) {
    std::vector<Step> waiting = StepsOf(scope);
    while (!waiting.empty()) {
      std::set<std::string> unmade;
      for (const Step& step : waiting) AddTensors(step, true, unmade);
      unmade.erase("");
      std::vector<Step> later;
      for (const Step& step : waiting) {
        const std::set<std::string> reads = Reads(step);
        const bool ready = std::none_of(reads.begin(), reads.end(), [&](const std::string& name) {
          return unmade.contains(name);
        });
        if (!ready) {
          later.push_back(step);
        } else if (step.control) {
          KINDRED_CHECK(RunControl(*step.control));
        } else {
          KINDRED_CHECK(RunUse(*step.task, *step.use));
        }
      }
      if (later.size() == waiting.size())
        return Internal("subgraphs wait for each other in scope " + std::to_string(scope));
      waiting = std::move(later);
    }
    return {};
  }

  // One turn of a body; its outputs.
  Result<std::vector<TensorValues>> RunBody(const ControlFlow::Body& body,
                                            const std::vector<TensorValues>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) values_[body.inputs[i]] = inputs[i];
    KINDRED_CHECK(RunScope(body.scope));
    std::vector<TensorValues> outputs(body.outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      KINDRED_TRY(outputs[i], Weight(body.outputs[i]));
    }
    return outputs;
  }

  Result<void> RunControl(const ControlFlow& control) {
    std::vector<TensorValues> inputs(control.inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!control.inputs[i].empty()) {
        KINDRED_TRY(inputs[i], Weight(control.inputs[i]));
      }
    if (control.op == "Loop") return RunLoop(control, inputs);
    if (control.op == "Scan") return RunScan(control, inputs);
    const bool taken = inputs.at(0).integers.at(0) != 0;
    KINDRED_TRY(const auto made, RunBody(control.bodies[taken ? 0 : 1], {}));
    for (std::size_t i = 0; i < control.outputs.size(); ++i) values_[control.outputs[i]] = made[i];
    return {};
  }

  Result<void> RunLoop(const ControlFlow& control, const std::vector<TensorValues>& inputs) {
    std::vector<TensorValues> carried(inputs.begin() + 2, inputs.end());
    std::vector<TensorValues> stacked(control.outputs.size());
    bool go_on = inputs[1].integers.empty() || inputs[1].integers[0] != 0;
    for (std::int64_t turn = 0;
         go_on && (inputs[0].integers.empty() || turn < inputs[0].integers[0]); ++turn) {
      std::vector<TensorValues> given = {{{}, {turn}}, {{}, {1}}};
      given.insert(given.end(), carried.begin(), carried.end());
      KINDRED_TRY(const auto made, RunBody(control.bodies[0], given));
      go_on = made[0].integers.at(0) != 0;
      for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = made[i + 1];
      for (std::size_t i = carried.size(); i < stacked.size(); ++i) {
        const TensorValues& slice = made[i + 1];
        stacked[i].floats.insert(stacked[i].floats.end(), slice.floats.begin(), slice.floats.end());
        stacked[i].integers.insert(stacked[i].integers.end(), slice.integers.begin(),
                                   slice.integers.end());
      }
    }
    for (std::size_t i = 0; i < control.outputs.size(); ++i)
      values_[control.outputs[i]] = i < carried.size() ? carried[i] : stacked[i];
    return {};
  }

  Result<void> RunScan(const ControlFlow& control, const std::vector<TensorValues>& inputs) {
    const std::size_t states = inputs.size() - control.scan_inputs.size();
    std::vector<TensorValues> given(inputs.begin(),
                                    inputs.begin() + static_cast<std::ptrdiff_t>(states));
    std::vector<TensorValues> outputs(control.outputs.size());
    const std::size_t turns = Slices(control.scan_inputs[0]).length;
    for (std::size_t turn = 0; turn < turns; ++turn) {
      given.resize(states);
      for (std::size_t i = 0; i < control.scan_inputs.size(); ++i) {
        const Slices slices(control.scan_inputs[i]);
        const std::size_t at = control.scan_inputs[i].reverse ? turns - 1 - turn : turn;
        const TensorValues& whole = inputs[states + i];
        given.push_back({slices.Slice(whole.floats, at), slices.Slice(whole.integers, at)});
      }
      KINDRED_TRY(const auto made, RunBody(control.bodies[0], given));
      std::copy_n(made.begin(), states, given.begin());
      for (std::size_t i = states; i < outputs.size(); ++i) {
        const ControlFlow::Scanned& scanned = control.scan_outputs[i - states];
        const std::size_t at = scanned.reverse ? turns - 1 - turn : turn;
        Slices(scanned).Put(outputs[i].floats, made[i].floats, at);
        Slices(scanned).Put(outputs[i].integers, made[i].integers, at);
      }
    }
    for (std::size_t i = 0; i < control.outputs.size(); ++i)
      values_[control.outputs[i]] = i < states ? given[i] : outputs[i];
    return {};
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
    const Workload& workload = executor_.Form(task);
    const std::vector<int> mine = ArgumentTensors(task.workload);
    const std::vector<int> theirs = ArgumentTensors(workload);
    std::vector<TensorValues> tensors(workload.tensors.size());
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      const int id = options_.canonical ? task.canonical.arguments[i] : mine[i];
      const Tensor& tensor = task.workload.tensors[static_cast<std::size_t>(id)];
      if (tensor.role == Role::kOutput) continue;
      KINDRED_TRY(tensors[static_cast<std::size_t>(theirs[i])], Argument(use, tensor));
    }
    KINDRED_TRY(tensors, executor_.Run(task, std::move(tensors)));
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
  Executor executor_;
  NamedValues values_;
};

}  // namespace

Result<NamedValues> RunImported(const std::string& path, const ImportedModel& model,
                                const NamedValues& inputs, const RunOptions& options) {
  KINDRED_TRY(const OnnxModel source, LoadOnnx(path));
  return Runner(source, model, inputs, options).Run();
}

}  // namespace kindred
