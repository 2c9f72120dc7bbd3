// Activation functions.
#include <cmath>
#include <numbers>

#include "tuner/import/ops.h"

namespace kindred {
namespace {

ExprPtr Lit(double value, const ExprPtr& like) { return Literal(value, like->type); }
ExprPtr Max(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kMax, a, b); }
ExprPtr Min(const ExprPtr& a, const ExprPtr& b) { return BinaryExpr(Op::kMin, a, b); }
ExprPtr Exp(const ExprPtr& x) { return UnaryExpr(Op::kExp, x); }
ExprPtr Neg(const ExprPtr& x) { return UnaryExpr(Op::kNeg, x); }
ExprPtr Negative(const ExprPtr& x) { return BinaryExpr(Op::kLess, x, Lit(0, x)); }

// f16 and bf16 are computed in f32, as the language's arithmetic does; literals follow that type.
ExprPtr Wide(const ExprPtr& x) { return CastExpr(DefaultAccumulator(x->type), x); }

ExprPtr SigmoidOf(const ExprPtr& x) { return Lit(1, x) / (Lit(1, x) + Exp(Neg(x))); }

// log(1 + exp(x)) without overflow.
ExprPtr SoftplusOf(const ExprPtr& x) {
  return Max(x, Lit(0, x)) + UnaryExpr(Op::kLog, Lit(1, x) + Exp(Neg(UnaryExpr(Op::kAbs, x))));
}

using Function = std::function<ExprPtr(const ExprPtr&)>;

Result<void> Apply(OpContext& op, const Function& function) {
  const DataType type = op.InValue(0).type;
  return LowerPointwise(op, {op.In(0)}, type, [&](const Exprs& x) {
    return function(IsFloat(type) ? Wide(x[0]) : x[0]);
  });
}

Result<void> Relu(OpContext& op) {
  return Apply(op, [](const ExprPtr& x) { return Max(x, Lit(0, x)); });
}

Result<void> LeakyRelu(OpContext& op) {
  const double alpha = op.Float("alpha", 0.01);
  return Apply(op, [&](const ExprPtr& x) { return SelectExpr(Negative(x), x * Lit(alpha, x), x); });
}

Result<void> PRelu(OpContext& op) {
  KINDRED_CHECK(CheckBroadcasts(op, 1, op.InShape(0)));
  return LowerPointwise(op, {op.In(0), op.In(1)}, op.InValue(0).type, [](const Exprs& x) {
    return SelectExpr(Negative(x[0]), x[0] * x[1], x[0]);
  });
}

Result<void> ThresholdedRelu(OpContext& op) {
  const double alpha = op.Float("alpha", 1);
  return Apply(op, [&](const ExprPtr& x) {
    return SelectExpr(BinaryExpr(Op::kLess, Lit(alpha, x), x), x, Lit(0, x));
  });
}

// Up to operator set 10 the bounds are attributes, then optional inputs.
Result<void> Clip(OpContext& op) {
  const bool has_low = op.node.attributes.contains("min"),
             has_high = op.node.attributes.contains("max");
  const double low = op.Float("min", 0), high = op.Float("max", 0);
  std::vector<int> ids = {op.In(0)};
  const int low_at = op.Has(1) ? static_cast<int>(ids.size()) : -1;
  if (op.Has(1)) ids.push_back(op.In(1));
  const int high_at = op.Has(2) ? static_cast<int>(ids.size()) : -1;
  if (op.Has(2)) ids.push_back(op.In(2));
  return LowerPointwise(op, ids, op.InValue(0).type, [&](const Exprs& x) {
    ExprPtr y = x[0];
    if (has_low) y = Max(y, Lit(low, y));
    if (low_at > 0) y = Max(y, x[static_cast<std::size_t>(low_at)]);
    if (has_high) y = Min(y, Lit(high, y));
    if (high_at > 0) y = Min(y, x[static_cast<std::size_t>(high_at)]);
    return y;
  });
}

Result<void> Sigmoid(OpContext& op) { return Apply(op, SigmoidOf); }
Result<void> Softplus(OpContext& op) { return Apply(op, SoftplusOf); }

Result<void> Tanh(OpContext& op) {
  return Apply(op, [](const ExprPtr& x) { return UnaryExpr(Op::kTanh, x); });
}

Result<void> Mish(OpContext& op) {
  return Apply(op, [](const ExprPtr& x) { return x * UnaryExpr(Op::kTanh, SoftplusOf(x)); });
}

Result<void> Softsign(OpContext& op) {
  return Apply(op, [](const ExprPtr& x) { return x / (Lit(1, x) + UnaryExpr(Op::kAbs, x)); });
}

ExprPtr HardSigmoidOf(const ExprPtr& x, double alpha, double beta) {
  return Max(Lit(0, x), Min(Lit(1, x), x * Lit(alpha, x) + Lit(beta, x)));
}

Result<void> HardSigmoid(OpContext& op) {
  const double alpha = op.Float("alpha", 0.2), beta = op.Float("beta", 0.5);
  return Apply(op, [&](const ExprPtr& x) { return HardSigmoidOf(x, alpha, beta); });
}

Result<void> HardSwish(OpContext& op) {
  return Apply(op, [](const ExprPtr& x) { return x * HardSigmoidOf(x, 1.0 / 6, 0.5); });
}

Result<void> Elu(OpContext& op) {
  const double alpha = op.Float("alpha", 1);
  return Apply(op, [&](const ExprPtr& x) {
    return SelectExpr(Negative(x), (Exp(x) - Lit(1, x)) * Lit(alpha, x), x);
  });
}

Result<void> Celu(OpContext& op) {
  const double alpha = op.Float("alpha", 1);
  return Apply(op, [&](const ExprPtr& x) {
    return Max(x, Lit(0, x)) + Min(Lit(0, x), (Exp(x / Lit(alpha, x)) - Lit(1, x)) * Lit(alpha, x));
  });
}

Result<void> Selu(OpContext& op) {
  const double alpha = op.Float("alpha", 1.67326319217681884765625);
  const double gamma = op.Float("gamma", 1.05070102214813232421875);
  return Apply(op, [&](const ExprPtr& x) {
    return SelectExpr(Negative(x), (Exp(x) - Lit(1, x)) * Lit(alpha, x), x) * Lit(gamma, x);
  });
}

Result<void> Gelu(OpContext& op) {
  const bool by_tanh = op.Text("approximate", "none") == "tanh";
  return Apply(op, [&](const ExprPtr& x) {
    const ExprPtr bent = by_tanh ? UnaryExpr(Op::kTanh, (x + x * x * x * Lit(0.044715, x)) *
                                                            Lit(std::sqrt(2 / std::numbers::pi), x))
                                 : UnaryExpr(Op::kErf, x * Lit(1 / std::numbers::sqrt2, x));
    return x * (bent + Lit(1, x)) * Lit(0.5, x);
  });
}

// x sigmoid(alpha x)
ExprPtr SwishOf(const ExprPtr& x, double alpha) {
  return x / (Lit(1, x) + Exp(Neg(x * Lit(alpha, x))));
}

Result<void> Swish(OpContext& op) {
  const double alpha = op.Float("alpha", 1);
  return Apply(op, [&](const ExprPtr& x) { return SwishOf(x, alpha); });
}

Result<void> SwiGlu(OpContext& op) {
  const double alpha = op.Float("alpha", 1);
  KINDRED_CHECK(CheckShape(op, 1, op.InShape(0)));
  return LowerPointwise(op, {op.In(0), op.In(1)}, op.InValue(0).type,
                        [&](const Exprs& x) { return SwishOf(Wide(x[0]), alpha) * x[1]; });
}

Result<void> Shrink(OpContext& op) {
  const double bias = op.Float("bias", 0), lambda = op.Float("lambd", 0.5);
  const DataType type = op.InValue(0).type;
  // Integers are compared as the floats that the attributes are.
  return LowerPointwise(op, {op.In(0)}, type, [&](const Exprs& inputs) {
    const ExprPtr x = IsFloat(type) ? Wide(inputs[0]) : CastExpr(DataType::kF32, inputs[0]);
    const ExprPtr y = SelectExpr(
        BinaryExpr(Op::kLess, x, Lit(-lambda, x)), x + Lit(bias, x),
        SelectExpr(BinaryExpr(Op::kLess, Lit(lambda, x), x), x - Lit(bias, x), Lit(0, x)));
    return CastExpr(type, y);
  });
}

}  // namespace

void AddActivationOps(LoweringTable& table) {
  table["Relu"] = Relu;
  table["LeakyRelu"] = LeakyRelu;
  table["PRelu"] = PRelu;
  table["ThresholdedRelu"] = ThresholdedRelu;
  table["Clip"] = Clip;
  table["Sigmoid"] = Sigmoid;
  table["Softplus"] = Softplus;
  table["Tanh"] = Tanh;
  table["Mish"] = Mish;
  table["Softsign"] = Softsign;
  table["HardSigmoid"] = HardSigmoid;
  table["HardSwish"] = HardSwish;
  table["Elu"] = Elu;
  table["Celu"] = Celu;
  table["Selu"] = Selu;
  table["Gelu"] = Gelu;
  table["Swish"] = Swish;
  table["SwiGLU"] = SwiGlu;
  table["Shrink"] = Shrink;
}

}  // namespace kindred
