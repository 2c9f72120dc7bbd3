#include "tests/fuzz/workload_promises.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "schedules/canonical.h"
#include "schedules/lower_naive.h"
#include "schedules/program.h"
#include "schedules/text_form.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/schedules/interpreter.h"

namespace kindred::fuzz {
namespace {

// What is run must end quickly.
constexpr std::int64_t kMaxNodes = 20000;  // of all bodies, for everything but reading
constexpr std::int64_t kMaxPoints = 2000;  // points times nodes that the interpreter evaluates
constexpr std::int64_t kMaxConstant = 1 << 10;

template <typename T>
bool SameNumbers(const T& a, const T& b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

bool SameData(const DataSpec& a, const DataSpec& b) {
  return a.kind == b.kind && a.file == b.file && SameNumbers(a.density, b.density) &&
         (a.kind == "mask" || a.kind == "file" ||
          (SameNumbers(a.low, b.low) && SameNumbers(a.high, b.high)));
}

bool SameBody(const Workload& v, const Workload& w, const Expr& a, const Expr& b) {
  if (a.op != b.op || a.type != b.type || a.integer != b.integer ||
      a.args.size() != b.args.size() || !SameNumbers(a.number, b.number) ||
      std::signbit(a.number) != std::signbit(b.number))
    return a.op == b.op && a.op == Op::kFloat && std::isnan(a.number) && std::isnan(b.number);
  const auto name = [](const Workload& of, int id) {
    return of.tensors[static_cast<std::size_t>(id)].name;
  };
  if (a.op == Op::kLoad ? name(v, a.index) != name(w, b.index) : a.index != b.index) return false;
  for (std::size_t i = 0; i < a.args.size(); ++i)
    if (!SameBody(v, w, *a.args[i], *b.args[i])) return false;
  return true;
}

// The same names, and the same of everything that they name; tensors may be declared in another
// order.
bool SameWorkload(const Workload& v, const Workload& w) {
  if (v.name != w.name || v.symbols.size() != w.symbols.size() ||
      v.tensors.size() != w.tensors.size() || v.stages.size() != w.stages.size() ||
      v.contract != w.contract)
    return false;
  for (std::size_t i = 0; i < v.symbols.size(); ++i) {
    const Symbol &a = v.symbols[i], &b = w.symbols[i];
    if (a.name != b.name || a.low != b.low || a.high != b.high || a.likely != b.likely)
      return false;
  }
  for (const Tensor& a : v.tensors) {
    const auto b = std::find_if(w.tensors.begin(), w.tensors.end(),
                                [&a](const Tensor& other) { return other.name == a.name; });
    if (b == w.tensors.end() || a.type != b->type || a.shape != b->shape || a.role != b->role ||
        !SameData(a.data, b->data))
      return false;
  }
  for (std::size_t s = 0; s < v.stages.size(); ++s) {
    const Stage &a = v.stages[s], &b = w.stages[s];
    if (v.tensors[static_cast<std::size_t>(a.tensor)].name !=
            w.tensors[static_cast<std::size_t>(b.tensor)].name ||
        a.spatial != b.spatial || a.combiner != b.combiner || a.accumulator != b.accumulator ||
        a.axes.size() != b.axes.size())
      return false;
    for (std::size_t i = 0; i < a.axes.size(); ++i)
      if (a.axes[i].name != b.axes[i].name || a.axes[i].extent != b.axes[i].extent) return false;
    if (!SameBody(v, w, *a.body, *b.body)) return false;
  }
  return true;
}

// Nodes of all bodies; `work`: each times the points of its stage.
struct Size {
  std::int64_t nodes = 0;
  double work = 0;
};

Size SizeOf(const Workload& workload) {
  Size size;
  for (const Stage& stage : workload.stages) {
    std::int64_t nodes = 0;
    Visit(*stage.body, [&nodes](const Expr&) { ++nodes; });
    size.nodes += nodes;
    size.work += static_cast<double>(nodes) * static_cast<double>(Points(stage));
  }
  return size;
}

// Whether the interpreter gives one answer however the computation is written: small, without types
// that it does not know, without sums of floats that may be summed in another order, and without
// constants at which integers could overflow.
bool IsComparable(const Workload& workload) {
  double elements = 0;
  for (const Tensor& tensor : workload.tensors) {
    if (tensor.type == DataType::kC64) return false;
    elements += static_cast<double>(Elements(tensor));
  }
  if (elements > 20 * kMaxPoints || SizeOf(workload).work > 50 * kMaxPoints) return false;
  bool comparable = true;
  for (const Stage& stage : workload.stages) {
    const bool sums = stage.combiner == Combiner::kSum || stage.combiner == Combiner::kProd;
    comparable &= !(sums && IsFloat(stage.accumulator) && stage.reduction() > 1);
    Visit(*stage.body, [&comparable](const Expr& e) {
      comparable &= e.op != Op::kInt || std::abs(e.integer) <= kMaxConstant;
    });
  }
  return comparable;
}

// An infinity may be one of the other sign (1/x near zero, where x is a zero with a sign).
bool Agree(double a, double b) { return a == b || (!std::isfinite(a) && !std::isfinite(b)); }

bool ComputesTheSame(const Workload& workload, const CanonicalWorkload& canonical) {
  const std::vector<TensorValues> want = Interpret(workload, RandomInputs(workload, 5));
  const Workload& form = canonical.workload;
  const std::vector<int> arguments = ArgumentTensors(form);
  std::vector<TensorValues> got(form.tensors.size());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (form.tensors[static_cast<std::size_t>(arguments[i])].role != Role::kOutput)
      got[static_cast<std::size_t>(arguments[i])] =
          want[static_cast<std::size_t>(canonical.arguments[i])];
  got = Interpret(form, std::move(got));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const TensorValues& a = want[static_cast<std::size_t>(canonical.arguments[i])];
    const TensorValues& b = got[static_cast<std::size_t>(arguments[i])];
    if (a.integers != b.integers ||
        !std::equal(a.floats.begin(), a.floats.end(), b.floats.begin(), b.floats.end(), Agree))
      return false;
  }
  return true;
}

}  // namespace

void CheckPromises(const Workload& workload) {
  const std::string text = PrintWorkload(workload);
  const auto parsed = ParseWorkload(text);
  Require(parsed.has_value(),
          "the text form reads back: " + (parsed ? text : parsed.error().message + "\n" + text));
  Require(SameWorkload(workload, *parsed),
          "the text form is the workload: " + text + "\nas read: " + PrintWorkload(*parsed));
  nlohmann::json json = WorkloadToJson(workload);
  json.erase("text");
  const auto from_json = WorkloadFromJson(nlohmann::json::parse(json.dump()));
  Require(from_json.has_value(), "the JSON form reads back: " + json.dump() +
                                     (from_json ? "" : from_json.error().message));
  Require(SameWorkload(workload, *from_json), "the JSON form is the workload: " + json.dump());
  if (SizeOf(workload).nodes > kMaxNodes) return;

  const CanonicalWorkload canonical = Canonicalize(workload);
  const std::string form = PrintWorkload(canonical.workload);
  const auto checked = CheckWorkload(canonical.workload);
  Require(checked.has_value(),
          "the canonical form is valid: " + (checked ? "" : checked.error().message + "\n" + form));
  Require(Canonicalize(*parsed).key == canonical.key, "the key is that of the text form: " + text);
  Require(PrintWorkload(Canonicalize(canonical.workload).workload) == form,
          "the canonical form is a fixed point: " + form);
  if (!IsComparable(workload)) return;
  Require(ComputesTheSame(workload, canonical),
          "the canonical form computes the same: " + text + "\n" + form);
  const Program program = LowerNaive(canonical.workload);
  const auto valid = CheckProgram(program);
  Require(valid.has_value(), "the plain loop nest is a valid program: " +
                                 (valid ? "" : valid.error().message + "\n" + form));
}

}  // namespace kindred::fuzz
