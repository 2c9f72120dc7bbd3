#include "tests/schedules/same_computation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/schedules/edit_workload.h"
#include "tests/schedules/interpreter.h"

namespace kindred {
namespace {

bool Near(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || (tolerance > 0 && std::fabs(a - b) <= tolerance * (1 + std::fabs(a)));
}

bool Near(const TensorValues& a, const TensorValues& b, double tolerance) {
  return a.integers == b.integers &&
         std::equal(a.floats.begin(), a.floats.end(), b.floats.begin(), b.floats.end(),
                    [tolerance](double x, double y) { return Near(x, y, tolerance); });
}

std::vector<bool> Live(const Workload& w) {
  std::vector<bool> live(w.tensors.size());
  for (std::size_t s = w.stages.size(); s-- > 0;) {
    const auto id = Size(w.stages[s].tensor);
    if (w.tensors[id].role == Role::kOutput) live[id] = true;
    if (live[id])
      Visit(*w.stages[s].body, [&live](const Expr& e) {
        if (e.op == Op::kLoad) live[Size(e.index)] = true;
      });
  }
  return live;
}

// What makes two arguments interchangeable: all but the data in them.
std::string Declared(const Workload& w, const Tensor& tensor) {
  std::string text =
      fmt::format("{} {} {}", static_cast<int>(tensor.role), Name(tensor.type), Elements(tensor));
  for (const Extent& extent : tensor.shape) {
    if (extent.symbol < 0) continue;
    const Symbol& symbol = w.symbols[Size(extent.symbol)];
    text += fmt::format(" {}..{}", symbol.low, symbol.high);
    for (const std::int64_t value : symbol.likely) text += fmt::format(",{}", value);
  }
  const DataSpec& data = tensor.data;
  if (!data.kind.empty())
    text += fmt::format(" {} {} {} {} {}", data.kind, data.low, data.high, data.density, data.file);
  return text;
}

struct Arguments {
  std::vector<int> given, outputs;        // tensor ids
  std::vector<std::string> declarations;  // of `given`, in its order
};

Arguments ArgumentsOf(const Workload& w) {
  const std::vector<bool> live = Live(w);
  Arguments arguments;
  for (std::size_t t = 0; t < w.tensors.size(); ++t)
    if (live[t] && !IsComputed(w.tensors[t])) arguments.given.push_back(static_cast<int>(t));
  std::stable_sort(arguments.given.begin(), arguments.given.end(), [&w](int a, int b) {
    return Declared(w, w.tensors[Size(a)]) < Declared(w, w.tensors[Size(b)]);
  });
  for (const int t : arguments.given)
    arguments.declarations.push_back(Declared(w, w.tensors[Size(t)]));
  for (const Stage& stage : w.stages)
    if (w.tensors[Size(stage.tensor)].role == Role::kOutput)
      arguments.outputs.push_back(stage.tensor);
  return arguments;
}

// What two equal computations have in common: declarations, outputs, accumulators, contract.
std::string Signature(const Workload& w, const Arguments& arguments) {
  std::string text = fmt::format("{}{}{}{}\n", w.contract.tf32, w.contract.winograd,
                                 w.contract.atomics, w.contract.fast_math);
  for (const std::string& declaration : arguments.declarations) text += declaration + '\n';
  for (const int t : arguments.outputs) text += Declared(w, w.tensors[Size(t)]) + '\n';
  std::set<std::string_view> accumulators;
  const std::vector<bool> live = Live(w);
  for (const Stage& stage : w.stages) {
    std::int64_t reduced = 1;
    for (int a = stage.spatial; a < static_cast<int>(stage.axes.size()); ++a)
      reduced *= stage.axes[Size(a)].extent.value;
    if (reduced > 1 && live[Size(stage.tensor)]) accumulators.insert(Name(stage.accumulator));
  }
  for (const std::string_view accumulator : accumulators) text += fmt::format("{} ", accumulator);
  return text;
}

bool Reduces(const Workload& w) {
  return std::any_of(w.stages.begin(), w.stages.end(),
                     [](const Stage& stage) { return stage.combiner != Combiner::kNone; });
}

// Integers below this index every tensor that either workload reads at read indices; 0: none is.
std::int64_t IndexBound(const Workload& w, std::int64_t bound) {
  for (const Stage& stage : w.stages)
    Visit(*stage.body, [&](const Expr& e) {
      if (e.op != Op::kLoad) return;
      for (std::size_t i = 0; i < e.args.size(); ++i) {
        const std::int64_t extent = w.tensors[Size(e.index)].shape[i].value;
        if (HasLoad(*e.args[i])) bound = bound == 0 ? extent : std::min(bound, extent);
      }
    });
  return bound;
}

}  // namespace

bool ComputesTheSame(const Workload& original, const Disguised& d) {
  const std::vector<TensorValues> want = Interpret(original, RandomInputs(original, 5));
  std::vector<TensorValues> got = RandomInputs(d.workload, 6);
  for (std::size_t t = 0; t < want.size(); ++t)
    if (!IsComputed(original.tensors[t]) && d.tensors[t] >= 0) got[Size(d.tensors[t])] = want[t];
  got = Interpret(d.workload, std::move(got));
  for (std::size_t t = 0; t < want.size(); ++t)
    if (original.tensors[t].role == Role::kOutput && !Near(want[t], got[Size(d.tensors[t])], 1e-2))
      return false;
  return true;
}

bool CertainlyDiffer(const Workload& a, const Workload& b) {
  const Arguments of_a = ArgumentsOf(a), of_b = ArgumentsOf(b);
  if (Signature(a, of_a) != Signature(b, of_b)) return true;
  std::vector<TensorValues> data = RandomInputs(a, 3);
  if (const std::int64_t bound = IndexBound(b, IndexBound(a, 0)); bound > 0)
    for (const int t : of_a.given)
      for (std::int64_t& value : data[Size(t)].integers) value = ((value % bound) + bound) % bound;

  // Every way to hand a's arguments to b: permutations within equal declarations.
  std::vector<std::size_t> order(of_b.given.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::vector<TensorValues> filled = RandomInputs(b, 4);  // what no output needs, too
  // Without rounding, so that the order of summation makes no difference; then with it, for what
  // differs in nothing else (exactly so where nothing is summed).
  const double rounded = Reduces(a) || Reduces(b) ? 1e-5 : 0;
  for (const bool round : {false, true}) {
    const std::vector<TensorValues> want = Interpret(a, data, {.round = round});
    bool some_order_agrees = false;
    do {
      bool fits = true;
      for (std::size_t i = 0; i < order.size(); ++i)
        fits &= of_a.declarations[i] == of_a.declarations[order[i]];
      if (!fits) continue;
      std::vector<TensorValues> given = filled;
      for (std::size_t i = 0; i < order.size(); ++i)
        given[Size(of_b.given[i])] = data[Size(of_a.given[order[i]])];
      const std::vector<TensorValues> got = Interpret(b, std::move(given), {.round = round});
      bool agree = true;
      for (std::size_t i = 0; i < of_a.outputs.size(); ++i)
        agree &=
            Near(want[Size(of_a.outputs[i])], got[Size(of_b.outputs[i])], round ? rounded : 1e-9);
      some_order_agrees |= agree;
    } while (!some_order_agrees && std::next_permutation(order.begin(), order.end()));
    if (!some_order_agrees) return true;
    std::iota(order.begin(), order.end(), std::size_t{0});
  }
  return false;
}

}  // namespace kindred
