#include "tests/schedules/interpreter.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

#include "schedules/inputs.h"

namespace kindred {
namespace {

struct Scalar {
  double f = 0;
  std::int64_t i = 0;
  double imaginary = 0;
};

std::int64_t Wrap(DataType type, std::int64_t value) {
  std::byte bytes[8];
  StoreInteger(type, value, bytes);
  return LoadInteger(type, bytes);
}

std::int64_t Floor(std::int64_t a, std::int64_t b, bool remainder) {
  if (b == 0) return 0;
  if (b == -1) return remainder ? 0 : static_cast<std::int64_t>(-static_cast<std::uint64_t>(a));
  std::int64_t quotient = a / b;
  if (a % b != 0 && ((a < 0) != (b < 0))) --quotient;
  return remainder ? a - quotient * b : quotient;
}

class Machine {
 public:
  Machine(const Workload& workload, std::vector<TensorValues>& tensors, bool round)
      : workload_(workload), tensors_(tensors), round_(round) {}

  void Run(const Stage& stage) {
    const Tensor& tensor = workload_.tensors[static_cast<std::size_t>(stage.tensor)];
    TensorValues& out = tensors_[static_cast<std::size_t>(stage.tensor)];
    const auto elements = static_cast<std::size_t>(Elements(tensor));
    if (IsInteger(tensor.type))
      out.integers.resize(elements);
    else
      out.floats.resize(tensor.type == DataType::kC64 ? 2 * elements : elements);
    point_.assign(stage.axes.size(), 0);
    std::size_t at = 0;
    do {
      const Scalar value = Combine(stage);
      if (tensor.type == DataType::kC64) {
        out.floats[at++] = Round(DataType::kF32, value.f);
        out.floats[at++] = Round(DataType::kF32, value.imaginary);
      } else if (IsFloat(tensor.type)) {
        out.floats[at++] = Round(tensor.type, value.f);
      } else {
        out.integers[at++] = Wrap(tensor.type, value.i);
      }
    } while (Step(stage, 0, stage.spatial));
  }

 private:
  // The next point of axes [from, to) in row-major order; false: back at the start.
  bool Step(const Stage& stage, int from, int to) {
    for (int a = to; a-- > from;) {
      const auto i = static_cast<std::size_t>(a);
      if (++point_[i] < stage.axes[i].extent.value) return true;
      point_[i] = 0;
    }
    return false;
  }

  double Round(DataType type, double value) const { return round_ ? RoundTo(type, value) : value; }

  Scalar Combine(const Stage& stage) {
    if (stage.combiner == Combiner::kNone) return Eval(*stage.body);
    const DataType type = stage.accumulator;
    const bool arg = stage.combiner == Combiner::kArgMax || stage.combiner == Combiner::kArgMin;
    Scalar total;
    std::int64_t best = 0;
    bool first = !arg;
    if (arg) {
      const bool max = stage.combiner == Combiner::kArgMax;
      const double infinity = std::numeric_limits<double>::infinity();
      total = {max ? -infinity : infinity, max ? IntegerLowest(type) : IntegerHighest(type)};
    }
    do {
      const Scalar value = Convert(Eval(*stage.body), stage.body->type, type);
      if (first) {
        total = value;
      } else if (arg) {
        const bool less = IsFloat(type) ? value.f < total.f : value.i < total.i;
        const bool more = IsFloat(type) ? value.f > total.f : value.i > total.i;
        if (stage.combiner == Combiner::kArgMax ? more : less) {
          total = value;
          best = point_[static_cast<std::size_t>(stage.spatial)];
        }
      } else {
        static constexpr Op kOps[] = {Op::kAdd, Op::kAdd, Op::kMax, Op::kMin, Op::kMul};
        total = Binary(kOps[static_cast<int>(stage.combiner)], type, total, value);
      }
      first = false;
    } while (Step(stage, stage.spatial, static_cast<int>(stage.axes.size())));
    if (arg) return {0, best};
    return total;
  }

  Scalar Convert(Scalar v, DataType from, DataType to) const {
    if (to == DataType::kC64)
      return {Round(DataType::kF32, v.f), 0, Round(DataType::kF32, v.imaginary)};
    if (to == DataType::kBool) return {0, IsFloat(from) ? v.f != 0 : v.i != 0};
    if (IsFloat(from) && IsFloat(to)) return {Round(to, v.f), 0};
    if (IsFloat(from)) {
      const double clamped = std::clamp(std::trunc(v.f), -0x1p62, 0x1p62);
      return {0, std::isnan(v.f) ? 0 : Wrap(to, static_cast<std::int64_t>(clamped))};
    }
    if (IsFloat(to)) return {Round(to, static_cast<double>(v.i)), 0};
    return {0, Wrap(to, v.i)};
  }

  Scalar ComplexBinary(Op op, Scalar a, Scalar b) const {
    const std::complex<double> x(a.f, a.imaginary), y(b.f, b.imaginary);
    const std::complex<double> r = op == Op::kAdd   ? x + y
                                   : op == Op::kSub ? x - y
                                   : op == Op::kMul ? x * y
                                                    : x / y;
    return {Round(DataType::kF32, r.real()), 0, Round(DataType::kF32, r.imag())};
  }

  Scalar Binary(Op op, DataType type, Scalar a, Scalar b) const {
    if (op == Op::kComplex) return {a.f, 0, b.f};
    if (type == DataType::kC64) return ComplexBinary(op, a, b);
    if (IsFloat(type)) {
      double r = 0;
      switch (op) {
        case Op::kAdd: r = a.f + b.f; break;
        case Op::kSub: r = a.f - b.f; break;
        case Op::kMul: r = a.f * b.f; break;
        case Op::kDiv: r = a.f / b.f; break;
        case Op::kMin: r = std::fmin(a.f, b.f); break;
        case Op::kMax: r = std::fmax(a.f, b.f); break;
        default: r = std::pow(a.f, b.f); break;
      }
      return {Round(type, r), 0};
    }
    const auto x = static_cast<std::uint64_t>(a.i), y = static_cast<std::uint64_t>(b.i);
    std::int64_t r = 0;
    switch (op) {
      case Op::kAdd: r = static_cast<std::int64_t>(x + y); break;
      case Op::kSub: r = static_cast<std::int64_t>(x - y); break;
      case Op::kMul: r = static_cast<std::int64_t>(x * y); break;
      case Op::kDiv: r = Floor(a.i, b.i, false); break;
      case Op::kMod: r = Floor(a.i, b.i, true); break;
      case Op::kMin: r = std::min(a.i, b.i); break;
      default: r = std::max(a.i, b.i); break;
    }
    return {0, Wrap(type, r)};
  }

  bool Compare(Op op, DataType type, Scalar a, Scalar b) const {
    const auto compare = [op](auto x, auto y) {
      switch (op) {
        case Op::kLess: return x < y;
        case Op::kLessEqual: return x <= y;
        case Op::kEqual: return x == y;
        default: return x != y;
      }
    };
    return IsFloat(type) ? compare(a.f, b.f) : compare(a.i, b.i);
  }

  static double Math(Op op, double x) {
    switch (op) {
      case Op::kNeg: return -x;
      case Op::kAbs: return std::fabs(x);
      case Op::kExp: return std::exp(x);
      case Op::kLog: return std::log(x);
      case Op::kSqrt: return std::sqrt(x);
      case Op::kRsqrt: return 1 / std::sqrt(x);
      case Op::kErf: return std::erf(x);
      case Op::kTanh: return std::tanh(x);
      case Op::kSin: return std::sin(x);
      case Op::kCos: return std::cos(x);
      case Op::kTan: return std::tan(x);
      case Op::kFloor: return std::floor(x);
      case Op::kCeil: return std::ceil(x);
      default: return std::nearbyint(x);
    }
  }

  // The flat place that a load reads, -1: outside the tensor.
  std::int64_t Place(const Expr& load) {
    const Tensor& tensor = workload_.tensors[static_cast<std::size_t>(load.index)];
    std::int64_t place = 0;
    for (std::size_t d = 0; d < load.args.size(); ++d) {
      const std::int64_t index = Eval(*load.args[d]).i;
      if (index < 0 || index >= tensor.shape[d].value) return -1;
      place = place * tensor.shape[d].value + index;
    }
    return place;
  }

  Scalar Read(const Expr& load, std::int64_t place) const {
    const TensorValues& values = tensors_[static_cast<std::size_t>(load.index)];
    const auto i = static_cast<std::size_t>(place);
    if (load.type == DataType::kC64) return {values.floats[2 * i], 0, values.floats[2 * i + 1]};
    return IsFloat(load.type) ? Scalar{values.floats[i], 0} : Scalar{0, values.integers[i]};
  }

  Scalar Eval(const Expr& e) {
    switch (e.op) {
      case Op::kInt: return {0, e.integer};
      case Op::kFloat: return {e.number, 0};
      case Op::kVar: return {0, point_[static_cast<std::size_t>(e.index)]};
      case Op::kExtent: {
        const Symbol& symbol = workload_.symbols[static_cast<std::size_t>(e.index)];
        return {0, symbol.likely.empty() ? symbol.high : symbol.likely.front()};
      }
      case Op::kLoad: {
        const std::int64_t place = Place(e);
        if (place < 0) {
          std::fprintf(stderr, "interpreter: a read of %s leaves the tensor\n",
                       workload_.tensors[static_cast<std::size_t>(e.index)].name.c_str());
          std::abort();
        }
        return Read(e, place);
      }
      case Op::kPadded: {
        const std::int64_t place = Place(*e.args[0]);
        return place < 0 ? Eval(*e.args[1]) : Read(*e.args[0], place);
      }
      case Op::kSelect: return Eval(*e.args[Eval(*e.args[0]).i != 0 ? 1 : 2]);
      case Op::kCast: return Convert(Eval(*e.args[0]), e.args[0]->type, e.type);
      case Op::kNot: return {0, Eval(*e.args[0]).i == 0};
      case Op::kAnd: return {0, Eval(*e.args[0]).i != 0 && Eval(*e.args[1]).i != 0};
      case Op::kOr: return {0, Eval(*e.args[0]).i != 0 || Eval(*e.args[1]).i != 0};
      case Op::kLess:
      case Op::kLessEqual:
      case Op::kEqual:
      case Op::kNotEqual:
        return {0, Compare(e.op, e.args[0]->type, Eval(*e.args[0]), Eval(*e.args[1]))};
      default: break;
    }
    if (e.args.size() == 2) return Binary(e.op, e.type, Eval(*e.args[0]), Eval(*e.args[1]));
    const Scalar a = Eval(*e.args[0]);
    switch (e.op) {
      case Op::kReal: return {a.f};
      case Op::kImag: return {a.imaginary};
      case Op::kConj: return {a.f, 0, -a.imaginary};
      case Op::kAbs:
        if (e.args[0]->type == DataType::kC64)
          return {Round(DataType::kF32, std::hypot(a.f, a.imaginary))};
        break;
      default: break;
    }
    if (e.type == DataType::kC64) return {-a.f, 0, -a.imaginary};
    if (IsFloat(e.type)) return {Round(e.type, Math(e.op, a.f)), 0};
    const auto negative = static_cast<std::int64_t>(-static_cast<std::uint64_t>(a.i));
    return {0, Wrap(e.type, e.op == Op::kAbs && a.i >= 0 ? a.i : negative)};
  }

  const Workload& workload_;
  std::vector<TensorValues>& tensors_;
  bool round_;
  std::vector<std::int64_t> point_;
};

}  // namespace

std::vector<TensorValues> Interpret(const Workload& workload, std::vector<TensorValues> tensors,
                                    const InterpreterOptions& options) {
  Machine machine(workload, tensors, options.round);
  for (const Stage& stage : workload.stages) machine.Run(stage);
  return tensors;
}

TensorValues FromBytes(const Tensor& tensor, std::span<const std::byte> bytes) {
  TensorValues values;
  if (tensor.type == DataType::kC64) {
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4)
      values.floats.push_back(LoadFloat(DataType::kF32, bytes.data() + at));
    return values;
  }
  const auto size = static_cast<std::size_t>(ByteSize(tensor.type));
  for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
    if (IsFloat(tensor.type))
      values.floats.push_back(LoadFloat(tensor.type, bytes.data() + at));
    else
      values.integers.push_back(LoadInteger(tensor.type, bytes.data() + at));
  }
  return values;
}

std::vector<std::byte> ToBytes(const Tensor& tensor, const TensorValues& values) {
  const bool complex = tensor.type == DataType::kC64;
  const DataType part = complex ? DataType::kF32 : tensor.type;
  const auto size = static_cast<std::size_t>(ByteSize(part));
  std::vector<std::byte> bytes(static_cast<std::size_t>(Bytes(tensor)));
  for (std::size_t i = 0; i * size < bytes.size(); ++i) {
    if (IsFloat(part))
      StoreFloat(part, values.floats[i], bytes.data() + i * size);
    else
      StoreInteger(tensor.type, values.integers[i], bytes.data() + i * size);
  }
  return bytes;
}

std::vector<TensorValues> RandomInputs(const Workload& workload, std::uint64_t seed) {
  std::vector<TensorValues> tensors(workload.tensors.size());
  for (std::size_t i = 0; i < workload.tensors.size(); ++i) {
    const Tensor& tensor = workload.tensors[i];
    if (tensor.role != Role::kInput && tensor.role != Role::kWeight) continue;
    std::vector<std::byte> bytes(static_cast<std::size_t>(Bytes(tensor)));
    FillInput(workload, static_cast<int>(i), seed, bytes);
    tensors[i] = FromBytes(tensor, bytes);
  }
  return tensors;
}

}  // namespace kindred
