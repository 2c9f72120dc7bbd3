#include "schedules/internal/emit_vector.h"

#include <fmt/format.h>

#include <vector>

namespace kindred::internal {
namespace {

std::string_view MaskElement(std::string_view element) {
  return element == "f64" || element == "i64" || element == "c64" ? "i64" : "i32";
}

bool IsMath(Op op) { return op >= Op::kExp && op <= Op::kRound; }

}  // namespace

ExprPtr VectorPrinter::AtLane(const ExprPtr& e, std::int64_t lane) const {
  std::vector<ExprPtr> values(static_cast<std::size_t>(lane_) + 1);
  values.back() = IntExpr(lane);
  return SubstituteVars(e, values);
}

std::optional<VectorPrinter::Walk> VectorPrinter::WalkOf(const ExprPtr& index) const {
  if (!context_.UsesVar(*index, lane_)) return Walk{index, 0};
  if (const auto affine = AsAffine(*index, static_cast<int>(context_.program.variables.size()))) {
    Affine base = *affine;
    std::int64_t& coefficient = base.coefficients[static_cast<std::size_t>(lane_)];
    const std::int64_t stride = coefficient;
    coefficient = 0;
    return Walk{FromAffine(base), stride};
  }
  switch (index->op) {
    case Op::kAdd:
    case Op::kSub: {
      const auto a = WalkOf(index->args[0]), b = WalkOf(index->args[1]);
      if (!a || !b) return std::nullopt;
      return Walk{BinaryExpr(index->op, a->base, b->base),
                  index->op == Op::kAdd ? a->stride + b->stride : a->stride - b->stride};
    }
    case Op::kMul: {
      if (index->args[1]->op != Op::kInt) return std::nullopt;
      const auto a = WalkOf(index->args[0]);
      if (!a) return std::nullopt;
      return Walk{a->base * index->args[1], a->stride * index->args[1]->integer};
    }
    default: return std::nullopt;
  }
}

std::string VectorPrinter::VectorRegister(int buffer, const Expr& base) const {
  return fmt::format("{}_{}", context_.buffer_names[static_cast<std::size_t>(buffer)],
                     base.integer / lanes_);
}

void VectorPrinter::PrintStore(const Stmt& store) {
  const Buffer& b = context_.BufferAt(store.buffer);
  const auto walk = WalkOf(store.index);
  const bool in_register = b.scope == Scope::kRegister;
  const bool whole =
      walk && walk->stride == 1 &&
      (!in_register || (walk->base->op == Op::kInt && walk->base->integer % lanes_ == 0 &&
                        context_.register_lanes[static_cast<std::size_t>(store.buffer)] == lanes_));
  if (!whole) return StoreLaneByLane(store);
  CountUses(context_, *store.value, uses_);
  const ExprPtr& value = store.value->op == Op::kCast && store.value->type == b.type
                             ? store.value->args[0]
                             : store.value;
  const std::string text = Narrow(b.type, Print(value));
  if (in_register) {
    context_.Line(fmt::format("{} = {};", VectorRegister(store.buffer, *walk->base), text));
  } else {
    const std::string type = context_.helpers.Vector(StorageElement(b.type), lanes_);
    const CText base = scalar_.PrintIndex(walk->base);
    context_.Line(fmt::format("*({}u *)({} + {}) = {};", type,
                              context_.buffer_names[static_cast<std::size_t>(store.buffer)],
                              Wrap(base, kSum), text));
  }
}

void VectorPrinter::StoreLaneByLane(const Stmt& store) {
  for (std::int64_t i = 0; i < lanes_; ++i) {
    ScalarPrinter printer(context_);
    const Buffer& b = context_.BufferAt(store.buffer);
    const ExprPtr index = AtLane(store.index, i), value = AtLane(store.value, i);
    printer.Share(*value);
    printer.Assign(store.buffer, index, printer.Stored(b.type, value));
  }
}

VectorPrinter::Value VectorPrinter::Print(const ExprPtr& e) {
  const auto known = names_.find(e.get());
  if (known != names_.end()) return known->second;
  Value v = PrintNode(e);
  if (!WorthTemporary(uses_, *e)) return v;
  const std::string name = fmt::format("t{}", context_.temporaries++);
  const std::string_view element = v.mask && v.vector ? MaskElement(v.element) : v.element;
  const std::string type =
      v.vector ? context_.helpers.Vector(element, lanes_) : std::string(CTypeOf(element));
  context_.Line(fmt::format("const {} {} = {};", type, name, v.text.text));
  v.text = {name, kPrimary};
  names_.emplace(e.get(), v);
  return v;
}

VectorPrinter::Value VectorPrinter::LaneByLane(const ExprPtr& e) {
  const bool mask = e->type == DataType::kBool, complex = e->type == DataType::kC64;
  const std::string_view element = ComputeElement(e->type);
  std::string text = complex ? context_.helpers.Complex("join", lanes_) + "("
                             : fmt::format("({}){{", context_.helpers.Vector(element, lanes_));
  for (std::int64_t i = 0; i < lanes_; ++i) {
    const CText lane = scalar_.Print(AtLane(e, i));
    text += (i ? ", " : "") + (mask ? fmt::format("-({} != 0)", Wrap(lane, kSum)) : lane.text);
  }
  return {{text + (complex ? ")" : "}"), kPrimary}, element, true, mask};
}

std::string VectorPrinter::AsVector(const Value& v) {
  if (v.vector) return v.text.text;
  return fmt::format("{}({})", context_.helpers.Splat(v.element, lanes_), v.text.text);
}

std::string VectorPrinter::AsMask(const Value& v, std::string_view element) {
  const std::string_view wanted = MaskElement(element);
  if (!v.vector) {
    return fmt::format("{}(-({} != 0))", context_.helpers.Splat(wanted, lanes_),
                       Wrap(v.text, kSum));
  }
  if (!v.mask)
    return fmt::format("({} != ({}){{0}})", Wrap(v.text, kSum),
                       context_.helpers.Vector(v.element, lanes_));
  if (MaskElement(v.element) == wanted) return Wrap(v.text, kPrimary);
  return fmt::format("__builtin_convertvector({}, {})", v.text.text,
                     context_.helpers.Vector(wanted, lanes_));
}

VectorPrinter::Value VectorPrinter::Convert(const Value& v, std::string_view element) {
  if (v.element == element && !v.mask) return v;
  if (!v.vector)
    return {{fmt::format("({}){}", CTypeOf(element), Wrap(v.text, kUnary)), kUnary},
            element,
            false,
            false};
  // A mask's -1 becomes 1.
  const std::string operand = v.mask ? "-" + Wrap(v.text, kPrimary) : v.text.text;
  if (v.mask && MaskElement(v.element) == element) return {{operand, kUnary}, element, true, false};
  return {{fmt::format("__builtin_convertvector({}, {})", operand,
                       context_.helpers.Vector(element, lanes_)),
           kPrimary},
          element,
          true,
          false};
}

VectorPrinter::Value VectorPrinter::Widen(DataType type, const std::string& text) {
  const std::string_view element = ComputeElement(type), stored = StorageElement(type);
  if (IsNarrowFloat(type)) {
    const std::string function = context_.helpers.Scalar(fmt::format("kd_{}_to_f32", Name(type)));
    return {{fmt::format("{}({})", context_.helpers.Lanewise(function, lanes_), text), kPrimary},
            element,
            true,
            false};
  }
  if (stored == element) return {{text, kUnary}, element, true, false};
  const Value wide = {{fmt::format("__builtin_convertvector({}, {})", text,
                                   context_.helpers.Vector(element, lanes_)),
                       kPrimary},
                      element,
                      true,
                      false};
  if (type != DataType::kBool) return wide;
  return {{AsMask(wide, element), kPrimary}, element, true, true};
}

std::string VectorPrinter::Narrow(DataType type, const Value& value) {
  const std::string_view stored = StorageElement(type);
  const std::string_view element = ComputeElement(type);
  Value v = value;
  if (type == DataType::kBool)
    v = v.mask || !v.vector
            ? v
            : Value{{AsMask(v, v.element), kPrimary}, MaskElement(v.element), true, true};
  const bool truth = v.mask || (type == DataType::kBool && !v.vector);
  if (truth && !v.vector) {
    v = {{fmt::format("({} != 0)", Wrap(v.text, kSum)), kPrimary}, "i32", false, false};
  }
  v = Convert(v, element);
  const std::string text = AsVector(v);
  if (IsNarrowFloat(type)) {
    const std::string function = context_.helpers.Scalar(fmt::format("kd_f32_to_{}", Name(type)));
    return fmt::format("{}({})", context_.helpers.Lanewise(function, lanes_), text);
  }
  if (stored == element) return text;
  return fmt::format("__builtin_convertvector({}, {})", text,
                     context_.helpers.Vector(stored, lanes_));
}

VectorPrinter::Value VectorPrinter::Load(const ExprPtr& e) {
  const Buffer& b = context_.BufferAt(e->index);
  const auto walk = WalkOf(e->args[0]);
  if (!walk || walk->stride != 1) return LaneByLane(e);
  if (b.scope == Scope::kRegister) {
    if (walk->base->op != Op::kInt || walk->base->integer % lanes_ != 0 ||
        context_.register_lanes[static_cast<std::size_t>(e->index)] != lanes_)
      return LaneByLane(e);
    return Widen(b.type, VectorRegister(e->index, *walk->base));
  }
  const std::string type = context_.helpers.Vector(StorageElement(b.type), lanes_);
  return Widen(b.type, fmt::format("*(const {}u *)({} + {})", type,
                                   context_.buffer_names[static_cast<std::size_t>(e->index)],
                                   Wrap(scalar_.PrintIndex(walk->base), kSum)));
}

VectorPrinter::Value VectorPrinter::Select(const ExprPtr& e) {
  const std::string_view element = ComputeElement(e->type);
  const bool truth = e->type == DataType::kBool;
  if (!context_.UsesVar(*e->args[0], lane_)) {
    const CText condition = scalar_.Print(e->args[0]);
    const Value a = Print(e->args[1]), b = Print(e->args[2]);
    // A load has the type of unaligned vectors; both sides of ?: need the very same type.
    const std::string cast = fmt::format("({})", context_.helpers.Vector(element, lanes_));
    const std::string yes =
        truth ? AsMask(a, element)
              : cast + Wrap(CText{AsVector(Convert(a, element)), kConditional}, kUnary);
    const std::string no =
        truth ? AsMask(b, element)
              : cast + Wrap(CText{AsVector(Convert(b, element)), kConditional}, kUnary);
    return {{fmt::format("{} ? {} : {}", Wrap(condition, kConditional + 1), yes, no), kConditional},
            element,
            true,
            truth};
  }
  if (!context_.Safe(*e->args[1]) || !context_.Safe(*e->args[2])) return LaneByLane(e);
  const Value condition = Print(e->args[0]);
  const Value a = Print(e->args[1]), b = Print(e->args[2]);
  if (truth) {
    return {{fmt::format("{}({}, {}, {})", context_.helpers.Select(element, lanes_),
                         AsMask(condition, element), AsMask(a, element), AsMask(b, element)),
             kPrimary},
            element,
            true,
            true};
  }
  return {{fmt::format("{}({}, {}, {})", context_.helpers.Select(element, lanes_),
                       AsMask(condition, element), AsVector(Convert(a, element)),
                       AsVector(Convert(b, element))),
           kPrimary},
          element,
          true,
          false};
}

VectorPrinter::Value VectorPrinter::Cast(const ExprPtr& e) {
  const Value v = Print(e->args[0]);
  const std::string_view element = ComputeElement(e->type);
  switch (e->type) {
    case DataType::kBool:
      if (v.mask) return v;
      return {{AsMask(v, v.element), kPrimary}, MaskElement(v.element), true, true};
    case DataType::kF16:
    case DataType::kBF16:
    case DataType::kF8E4M3:
    case DataType::kF8E5M2:
    case DataType::kI8:
    case DataType::kU8: return Widen(e->type, Narrow(e->type, v));
    default: return Convert(v, element);
  }
}

VectorPrinter::Value VectorPrinter::PrintNode(const ExprPtr& e) {
  const std::string_view element = ComputeElement(e->type);
  if (!context_.UsesVar(*e, lane_))
    return {scalar_.Print(e), element, false, e->type == DataType::kBool};
  const bool sum = e->op == Op::kAdd || e->op == Op::kSub || e->op == Op::kNeg;
  if (IsComplex(*e) || (sum && e->type == DataType::kC64)) return Complex(e);
  switch (e->op) {
    case Op::kLoad: return Load(e);
    case Op::kSelect: return Select(e);
    case Op::kCast: return Cast(e);
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv: {
      if (e->op == Op::kDiv && !IsFloat(e->type)) return LaneByLane(e);
      const Value a = Convert(Print(e->args[0]), element), b = Convert(Print(e->args[1]), element);
      const bool product = e->op == Op::kMul || e->op == Op::kDiv;
      const int level = product ? kProduct : kSum;
      const char symbol = e->op == Op::kAdd   ? '+'
                          : e->op == Op::kSub ? '-'
                          : e->op == Op::kMul ? '*'
                                              : '/';
      return {
          {fmt::format("{} {} {}", Wrap(a.text, level), symbol, Wrap(b.text, level + 1)), level},
          element,
          true,
          false};
    }
    case Op::kNeg: {
      const Value a = Convert(Print(e->args[0]), element);
      return {{"-" + Wrap(a.text, kPrimary), kUnary}, element, true, false};
    }
    case Op::kMin:
    case Op::kMax: {
      const std::string function =
          context_.helpers.Scalar(fmt::format("kd_{}_{}", Name(e->op), element));
      const Value a = Convert(Print(e->args[0]), element), b = Convert(Print(e->args[1]), element);
      return {{fmt::format("{}({}, {})", context_.helpers.Lanewise(function, lanes_), AsVector(a),
                           AsVector(b)),
               kPrimary},
              element,
              true,
              false};
    }
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kEqual:
    case Op::kNotEqual: {
      const std::string_view operands = ComputeElement(e->args[0]->type);
      const Value a = Convert(Print(e->args[0]), operands),
                  b = Convert(Print(e->args[1]), operands);
      const std::string_view symbol = e->op == Op::kLess        ? "<"
                                      : e->op == Op::kLessEqual ? "<="
                                      : e->op == Op::kEqual     ? "=="
                                                                : "!=";
      const CText x = a.vector ? a.text : CText{AsVector(a)};
      const CText y = b.vector ? b.text : CText{AsVector(b)};
      return {{fmt::format("{} {} {}", Wrap(x, kSum), symbol, Wrap(y, kSum)), kEquals},
              MaskElement(operands),
              true,
              true};
    }
    case Op::kAnd:
    case Op::kOr: {
      if (!context_.Safe(*e->args[1])) return LaneByLane(e);
      const Value a = Print(e->args[0]), b = Print(e->args[1]);
      return {{fmt::format("{} {} {}", AsMask(a, "i32"), e->op == Op::kAnd ? "&" : "|",
                           AsMask(b, "i32")),
               kLogicalOr},
              "i32",
              true,
              true};
    }
    case Op::kNot: {
      const Value a = Print(e->args[0]);
      return {{"~" + AsMask(a, "i32"), kUnary}, "i32", true, true};
    }
    case Op::kAbs: break;
    case Op::kPow:
      if (e->args[1]->op == Op::kFloat && e->args[1]->number == 2) {
        const Value a = Convert(Print(e->args[0]), element);
        if (a.text.text.size() <= 48)
          return {
              {fmt::format("{0} * {0}", Wrap(a.text, kPrimary)), kProduct}, element, true, false};
      }
      return LaneByLane(e);
    default:
      if (!IsMath(e->op)) return LaneByLane(e);
      break;
  }
  // One-argument functions.
  const bool own = element == "f32" || e->op == Op::kSqrt || e->op == Op::kRsqrt ||
                   e->op == Op::kAbs || e->op == Op::kFloor || e->op == Op::kCeil ||
                   e->op == Op::kRound;
  if (!own) return LaneByLane(e);
  const std::string function =
      context_.helpers.Scalar(fmt::format("kd_{}_{}", Name(e->op), element));
  const Value a = Convert(Print(e->args[0]), element);
  return {
      {fmt::format("{}({})", context_.helpers.Lanewise(function, lanes_), AsVector(a)), kPrimary},
      element,
      true,
      false};
}

}  // namespace kindred::internal
