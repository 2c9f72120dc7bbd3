#include "tuner/import/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace kindred {
namespace {

constexpr std::int64_t kMostPoints = 1 << 22;

// A scalar: `number` for floating types, `integer` for the rest.
struct Scalar {
  std::int64_t integer = 0;
  double number = 0;
};

// What an integer becomes in a tensor of `type`.
std::int64_t Stored(DataType type, std::int64_t value) {
  std::byte bytes[sizeof value];
  StoreInteger(type, value, bytes);
  return LoadInteger(type, bytes);
}

class Evaluator {
 public:
  Evaluator(const Stage& stage, const std::function<ConstantPtr(int)>& data) : data_(data) {
    place_.resize(stage.axes.size());
  }

  bool failed() const { return failed_; }
  std::vector<std::int64_t>& place() { return place_; }

  Scalar Run(const Expr& e) {
    const bool real = IsFloat(e.type);
    switch (e.op) {
      case Op::kInt: return {e.integer, static_cast<double>(e.integer)};
      case Op::kFloat: return {0, e.number};
      case Op::kVar: return {place_[static_cast<std::size_t>(e.index)], 0};
      case Op::kExtent: return Fail();
      case Op::kLoad: {
        std::int64_t element = 0;
        return Locate(e, element) ? Element(e, element) : Fail();
      }
      case Op::kPadded: {
        std::int64_t element = 0;
        return Locate(*e.args[0], element) ? Element(*e.args[0], element) : Run(*e.args[1]);
      }
      case Op::kSelect: return Run(*e.args[0]).integer != 0 ? Run(*e.args[1]) : Run(*e.args[2]);
      case Op::kCast: return Cast(e.type, e.args[0]->type, Run(*e.args[0]));
      default: break;
    }
    const Scalar a = Run(*e.args[0]);
    if (e.args.size() == 1)
      return real ? Scalar{0, Unary(e.op, a.number)} : UnaryInteger(e.op, a.integer);
    const Scalar b = Run(*e.args[1]);
    if (IsFloat(e.args[0]->type)) return Binary(e.op, a.number, b.number);
    return BinaryInteger(e.op, a.integer, b.integer);
  }

 private:
  Scalar Fail() {
    failed_ = true;
    return {};
  }

  const ConstantTensor* Tensor(int id) {
    auto& known = tensors_[id];
    if (!known) known = data_(id);
    return known.get();
  }

  bool Locate(const Expr& load, std::int64_t& element) {
    const ConstantTensor* tensor = Tensor(load.index);
    if (tensor == nullptr || tensor->shape.size() != load.args.size()) {
      failed_ = true;
      return false;
    }
    element = 0;
    for (std::size_t d = 0; d < load.args.size(); ++d) {
      const std::int64_t at = Run(*load.args[d]).integer;
      if (at < 0 || at >= tensor->shape[d]) return false;
      element = element * tensor->shape[d] + at;
    }
    return true;
  }

  Scalar Element(const Expr& load, std::int64_t element) {
    const ConstantTensor* tensor = Tensor(load.index);
    return IsFloat(load.type) ? Scalar{0, tensor->Number(element)}
                              : Scalar{tensor->Integer(element), 0};
  }

  static Scalar Cast(DataType to, DataType from, Scalar x) {
    if (IsFloat(to))
      return {0, RoundTo(to, IsFloat(from) ? x.number : static_cast<double>(x.integer))};
    if (to == DataType::kBool) return {IsFloat(from) ? x.number != 0 : x.integer != 0, 0};
    if (!IsFloat(from)) return {Stored(to, x.integer), 0};
    if (!(std::fabs(x.number) < 0x1p63)) return {0, 0};
    return {Stored(to, static_cast<std::int64_t>(x.number)), 0};
  }

  static double Unary(Op op, double a) {
    switch (op) {
      case Op::kNeg: return -a;
      case Op::kAbs: return std::fabs(a);
      case Op::kExp: return std::exp(a);
      case Op::kLog: return std::log(a);
      case Op::kSqrt: return std::sqrt(a);
      case Op::kRsqrt: return 1 / std::sqrt(a);
      case Op::kErf: return std::erf(a);
      case Op::kTanh: return std::tanh(a);
      case Op::kSin: return std::sin(a);
      case Op::kCos: return std::cos(a);
      case Op::kTan: return std::tan(a);
      case Op::kFloor: return std::floor(a);
      case Op::kCeil: return std::ceil(a);
      case Op::kRound: return std::nearbyint(a);
      default: return std::nan("");
    }
  }

  Scalar UnaryInteger(Op op, std::int64_t a) {
    switch (op) {
      case Op::kNeg: return BinaryInteger(Op::kSub, 0, a);
      case Op::kAbs: return a < 0 ? BinaryInteger(Op::kSub, 0, a) : Scalar{a, 0};
      case Op::kNot: return {a == 0, 0};
      default: return Fail();
    }
  }

  Scalar Binary(Op op, double a, double b) {
    switch (op) {
      case Op::kAdd: return {0, a + b};
      case Op::kSub: return {0, a - b};
      case Op::kMul: return {0, a * b};
      case Op::kDiv: return {0, a / b};
      case Op::kMin: return {0, std::min(a, b)};
      case Op::kMax: return {0, std::max(a, b)};
      case Op::kPow: return {0, std::pow(a, b)};
      case Op::kLess: return {a < b, 0};
      case Op::kLessEqual: return {a <= b, 0};
      case Op::kEqual: return {a == b, 0};
      case Op::kNotEqual: return {a != b, 0};
      default: return Fail();
    }
  }

  Scalar BinaryInteger(Op op, std::int64_t a, std::int64_t b) {
    std::int64_t value = 0;
    switch (op) {
      case Op::kAdd: return __builtin_add_overflow(a, b, &value) ? Fail() : Scalar{value, 0};
      case Op::kSub: return __builtin_sub_overflow(a, b, &value) ? Fail() : Scalar{value, 0};
      case Op::kMul: return __builtin_mul_overflow(a, b, &value) ? Fail() : Scalar{value, 0};
      case Op::kDiv:
      case Op::kMod: {
        if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return Fail();
        const std::int64_t quotient = a / b - (a % b != 0 && ((a < 0) != (b < 0)) ? 1 : 0);
        return {op == Op::kDiv ? quotient : a - quotient * b, 0};
      }
      case Op::kMin: return {std::min(a, b), 0};
      case Op::kMax: return {std::max(a, b), 0};
      case Op::kLess: return {a < b, 0};
      case Op::kLessEqual: return {a <= b, 0};
      case Op::kEqual: return {a == b, 0};
      case Op::kNotEqual: return {a != b, 0};
      case Op::kAnd: return {a != 0 && b != 0, 0};
      case Op::kOr: return {a != 0 || b != 0, 0};
      default: return Fail();
    }
  }

  const std::function<ConstantPtr(int)>& data_;
  std::map<int, ConstantPtr> tensors_;
  std::vector<std::int64_t> place_;
  bool failed_ = false;
};

// Moves `place` to the next point of axes [first, last); false after the last one.
bool Advance(const Stage& stage, std::vector<std::int64_t>& place, std::size_t first,
             std::size_t last) {
  for (std::size_t d = last; d-- > first;) {
    if (++place[d] < stage.axes[d].extent.value) return true;
    place[d] = 0;
  }
  return false;
}

bool IsArg(Combiner combiner) {
  return combiner == Combiner::kArgMax || combiner == Combiner::kArgMin;
}

Scalar Combine(Combiner combiner, bool real, Scalar a, Scalar b) {
  const auto wrap = [](std::uint64_t bits) { return Scalar{static_cast<std::int64_t>(bits), 0}; };
  const auto x = static_cast<std::uint64_t>(a.integer), y = static_cast<std::uint64_t>(b.integer);
  switch (combiner) {
    case Combiner::kSum: return real ? Scalar{0, a.number + b.number} : wrap(x + y);
    case Combiner::kProd: return real ? Scalar{0, a.number * b.number} : wrap(x * y);
    case Combiner::kArgMax:
    case Combiner::kMax:
      return real ? Scalar{0, std::max(a.number, b.number)}
                  : Scalar{std::max(a.integer, b.integer), 0};
    case Combiner::kArgMin:
    case Combiner::kMin:
      return real ? Scalar{0, std::min(a.number, b.number)}
                  : Scalar{std::min(a.integer, b.integer), 0};
    case Combiner::kNone: return a;
  }
  return a;
}

// Of a reduction over nothing.
Scalar Identity(Combiner combiner, DataType type) {
  const bool product = combiner == Combiner::kProd, low = combiner == Combiner::kMax;
  if (low || combiner == Combiner::kMin) {
    if (!IsFloat(type)) return {low ? IntegerLowest(type) : IntegerHighest(type), 0};
    return {0, low ? -INFINITY : INFINITY};
  }
  return {product ? 1 : 0, product ? 1.0 : 0.0};
}

// The reduction at one point: `evaluator` stands at its first element, and does again after it.
Scalar Reduce(const Stage& stage, Evaluator& evaluator) {
  const bool real = IsFloat(stage.body->type);
  const auto spatial = static_cast<std::size_t>(stage.spatial);
  Scalar best = evaluator.Run(*stage.body);
  std::int64_t index = 0;
  for (std::int64_t i = 1; Advance(stage, evaluator.place(), spatial, stage.axes.size()); ++i) {
    const Scalar next = Combine(stage.combiner, real, best, evaluator.Run(*stage.body));
    if (real ? next.number != best.number : next.integer != best.integer) index = i;
    best = next;
  }
  return IsArg(stage.combiner) ? Scalar{index, 0} : best;
}

}  // namespace

ConstantPtr EvaluateStage(const Stage& stage, DataType type,
                          const std::function<ConstantPtr(int)>& data) {
  if (Points(stage) > kMostPoints) return nullptr;
  auto result = std::make_shared<ConstantTensor>();
  result->type = type;
  const auto spatial = static_cast<std::size_t>(stage.spatial);
  bool nothing = false;
  for (std::size_t d = 0; d < stage.axes.size(); ++d) {
    const std::int64_t extent = stage.axes[d].extent.value;
    if (d < spatial) result->shape.push_back(extent);
    if (d >= spatial) nothing |= extent == 0;
  }
  if (result->elements() > kLargestConstant || (nothing && IsArg(stage.combiner))) return nullptr;
  if (result->elements() == 0) return result;
  Evaluator evaluator(stage, data);
  do {
    const Scalar value =
        nothing ? Identity(stage.combiner, stage.accumulator) : Reduce(stage, evaluator);
    if (evaluator.failed()) return nullptr;
    if (IsFloat(type)) {
      const double rounded = RoundTo(type, value.number);
      result->numbers.push_back(
          type == DataType::kF32 ? ShortestDecimal(static_cast<float>(rounded)) : rounded);
    } else {
      result->integers.push_back(Stored(type, value.integer));
    }
  } while (Advance(stage, evaluator.place(), 0, spatial));
  return result;
}

}  // namespace kindred
