#include "schedules/functions.h"

#include <algorithm>
#include <array>
#include <numbers>

namespace kindred {
namespace {

using Takes = FunctionInfo::Takes;

constexpr std::array kFunctions = {
    FunctionInfo{"abs", 1, 1, Takes::kNumbers},
    FunctionInfo{"ceil"},
    FunctionInfo{"clip", 3, 3, Takes::kNumbers},
    FunctionInfo{"complex", 2, 2},
    FunctionInfo{"conj", 1, 1, Takes::kComplex},
    FunctionInfo{"cos"},
    FunctionInfo{"elu", 1, 2},
    FunctionInfo{"erf"},
    FunctionInfo{"exp"},
    FunctionInfo{"floor"},
    FunctionInfo{"gelu"},
    FunctionInfo{"gelu_tanh"},
    FunctionInfo{"hardsigmoid", 1, 3},
    FunctionInfo{"hardswish"},
    FunctionInfo{"imag", 1, 1, Takes::kComplex},
    FunctionInfo{"leaky_relu", 1, 2},
    FunctionInfo{"log"},
    FunctionInfo{"max", 2, 64, Takes::kNumbers},
    FunctionInfo{"min", 2, 64, Takes::kNumbers},
    FunctionInfo{"mish"},
    FunctionInfo{"pow", 2, 2},
    FunctionInfo{"real", 1, 1, Takes::kComplex},
    FunctionInfo{"relu", 1, 1, Takes::kNumbers},
    FunctionInfo{"relu6", 1, 1, Takes::kNumbers},
    FunctionInfo{"round"},
    FunctionInfo{"rsqrt"},
    FunctionInfo{"sigmoid"},
    FunctionInfo{"silu"},
    FunctionInfo{"sin"},
    FunctionInfo{"softplus"},
    FunctionInfo{"sqrt"},
    FunctionInfo{"tan"},
    FunctionInfo{"tanh"},
};

constexpr std::array<std::string_view, 25> kWords = {
    "allow",  "and",    "argmax", "argmin", "cumsum", "data",     "false",  "in",   "inf",
    "input",  "likely", "nan",    "not",    "or",     "output",   "padded", "prod", "scan",
    "select", "sum",    "symbol", "true",   "weight", "workload", "density"};

constexpr std::array kUnary = {Op::kExp, Op::kLog,  Op::kSqrt, Op::kRsqrt, Op::kErf,  Op::kTanh,
                               Op::kSin, Op::kCos,  Op::kTan,  Op::kFloor, Op::kCeil, Op::kRound,
                               Op::kAbs, Op::kReal, Op::kImag, Op::kConj};

ExprPtr Number(double value) { return FloatExpr(value, DataType::kF64); }
ExprPtr Max(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kMax, a, b); }
ExprPtr Min(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kMin, a, b); }
ExprPtr Exp(const ExprPtr& x) { return UnaryExpr(Op::kExp, x); }
ExprPtr Negative(const ExprPtr& x) { return BinaryExpr(Op::kLess, x, Number(0)); }

ExprPtr Softplus(const ExprPtr& x) {  // log(1 + exp(x)) without overflow
  return Max(x, Number(0)) +
         UnaryExpr(Op::kLog, Exp(UnaryExpr(Op::kNeg, UnaryExpr(Op::kAbs, x))) + Number(1));
}

}  // namespace

const FunctionInfo* FindFunction(std::string_view name) {
  for (const FunctionInfo& function : kFunctions)
    if (function.name == name) return &function;
  return nullptr;
}

std::string KnownFunctions() {
  std::string names;
  for (const FunctionInfo& function : kFunctions) {
    if (!names.empty()) names += ' ';
    names += function.name;
  }
  return names;
}

ExprPtr ApplyFunction(const FunctionInfo& function, std::span<const ExprPtr> arguments) {
  const std::string_view name = function.name;
  const ExprPtr& x = arguments[0];
  for (const Op op : kUnary)
    if (Name(op) == name) return UnaryExpr(op, x);
  const auto argument = [&](std::size_t i, double otherwise) {
    return i < arguments.size() ? arguments[i] : Number(otherwise);
  };
  if (name == "max" || name == "min") {
    ExprPtr result = x;
    for (std::size_t i = 1; i < arguments.size(); ++i)
      result = BinaryExpr(name == "max" ? Op::kMax : Op::kMin, result, arguments[i]);
    return result;
  }
  if (name == "complex") return BinaryExpr(Op::kComplex, x, arguments[1]);
  if (name == "pow") return BinaryExpr(Op::kPow, x, arguments[1]);
  if (name == "relu") return Max(x, IntExpr(0));
  if (name == "relu6") return Min(Max(x, IntExpr(0)), IntExpr(6));
  if (name == "clip") return Min(Max(x, arguments[1]), arguments[2]);
  if (name == "gelu")
    return x * Number(0.5) * (UnaryExpr(Op::kErf, x * Number(std::numbers::sqrt2 / 2)) + Number(1));
  if (name == "gelu_tanh") {
    const double scale = std::numbers::inv_sqrtpi * std::numbers::sqrt2;  // sqrt(2 / pi)
    const ExprPtr inner = (x * x * x * Number(0.044715) + x) * Number(scale);
    return x * Number(0.5) * (UnaryExpr(Op::kTanh, inner) + Number(1));
  }
  if (name == "sigmoid") return Number(1) / (Exp(UnaryExpr(Op::kNeg, x)) + Number(1));
  if (name == "silu") return x / (Exp(UnaryExpr(Op::kNeg, x)) + Number(1));
  if (name == "hardsigmoid")
    return Min(Max(x * argument(1, 0.2) + argument(2, 0.5), Number(0)), Number(1));
  if (name == "hardswish")
    return x * Min(Max(x * Number(1.0 / 6) + Number(0.5), Number(0)), Number(1));
  if (name == "leaky_relu") return SelectExpr(Negative(x), x * argument(1, 0.01), x);
  if (name == "elu") return SelectExpr(Negative(x), (Exp(x) - Number(1)) * argument(1, 1), x);
  if (name == "softplus") return Softplus(x);
  return x * UnaryExpr(Op::kTanh, Softplus(x));  // mish
}

bool IsReserved(std::string_view word) {
  return FindFunction(word) != nullptr || ParseDataType(word).has_value() ||
         std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

}  // namespace kindred
