#include "schedules/workload.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "schedules/internal/int128.h"

namespace kindred {
namespace {

std::int64_t Saturate(Int128 value) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  return value > kMax ? kMax : static_cast<std::int64_t>(value);
}

// Whether a complex expression is known to be real.
bool IsReal(const Expr& e) { return e.op == Op::kCast || e.op == Op::kFloat; }

// Real operations of one node.
int OperationsOf(const Expr& e) {
  const bool complex = !e.args.empty() && e.args[0]->type == DataType::kC64;
  if (!complex)
    return (e.op >= Op::kAdd && e.op <= Op::kAbs) || (e.op >= Op::kExp && e.op <= Op::kRound);
  switch (e.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kNeg: return 2;
    case Op::kMul: return IsReal(*e.args[0]) || IsReal(*e.args[1]) ? 2 : 6;
    case Op::kDiv: return IsReal(*e.args[1]) ? 2 : 11;
    case Op::kAbs: return 4;
    default: return 0;
  }
}

// Counts each distinct operation of a body once, however often its result is used.
class OperationCounter {
 public:
  std::int64_t operations() const { return operations_; }

  struct Seen {
    int id = 0;
    bool reads = false;  // depends on the elements of a tensor
  };

  Seen Count(const ExprPtr& e) {
    const auto known = by_node_.find(e.get());
    if (known != by_node_.end()) return known->second;
    std::vector<int> args;
    bool reads = e->op == Op::kLoad;
    // What stands in an index is index arithmetic.
    const std::int64_t before = operations_;
    for (const ExprPtr& arg : e->args) {
      const Seen seen = Count(arg);
      args.push_back(seen.id);
      reads |= seen.reads;
    }
    if (e->op == Op::kLoad) operations_ = before;
    const auto [place, fresh] = by_value_.emplace(
        std::tuple(e->op, e->type, e->index, e->integer, e->number, std::move(args)),
        static_cast<int>(by_value_.size()));
    if (fresh && reads) operations_ += OperationsOf(*e);
    const Seen seen{place->second, reads};
    by_node_.emplace(e.get(), seen);
    return seen;
  }

 private:
  using Value = std::tuple<Op, DataType, int, std::int64_t, double, std::vector<int>>;
  std::map<Value, int> by_value_;
  std::map<const Expr*, Seen> by_node_;
  std::int64_t operations_ = 0;
};

}  // namespace

const Stage* Workload::ProducerOf(int tensor) const {
  for (const Stage& stage : stages)
    if (stage.tensor == tensor) return &stage;
  return nullptr;
}

std::int64_t Points(const Stage& stage) {
  Int128 points = 1;
  for (const Axis& axis : stage.axes) points = Saturate(points * axis.extent.value);
  return Saturate(points);
}

std::int64_t OperationsPerPoint(const Stage& stage) {
  OperationCounter counter;
  counter.Count(stage.body);
  const int combination = stage.accumulator == DataType::kC64 ? 2 : 1;
  return counter.operations() + (stage.combiner == Combiner::kNone ? 0 : combination);
}

std::int64_t Flop(const Workload& workload) {
  Int128 total = 0;
  for (const Stage& stage : workload.stages)
    total += static_cast<Int128>(Points(stage)) * OperationsPerPoint(stage);
  return Saturate(total);
}

std::int64_t CompulsoryBytes(const Workload& workload) {
  Int128 total = 0;
  for (const Tensor& tensor : workload.tensors)
    if (tensor.role != Role::kTemporary) total += Bytes(tensor);
  return Saturate(total);
}

std::int64_t Elements(const Tensor& tensor) {
  Int128 elements = 1;
  for (const Extent& extent : tensor.shape) elements = Saturate(elements * extent.value);
  return Saturate(elements);
}

std::int64_t Bytes(const Tensor& tensor) {
  return Saturate(static_cast<Int128>(Elements(tensor)) * ByteSize(tensor.type));
}

std::vector<int> ArgumentTensors(const Workload& workload) {
  std::vector<int> arguments;
  for (std::size_t i = 0; i < workload.tensors.size(); ++i)
    if (workload.tensors[i].role == Role::kInput || workload.tensors[i].role == Role::kWeight)
      arguments.push_back(static_cast<int>(i));
  for (const Stage& stage : workload.stages)
    if (workload.tensors[static_cast<std::size_t>(stage.tensor)].role == Role::kOutput)
      arguments.push_back(stage.tensor);
  return arguments;
}

}  // namespace kindred
