// Operators of onnxruntime's domain that its optimisers write in place of patterns: products and
// convolutions with what stands behind them, and activations.
#include <fmt/format.h>

#include "tuner/import/expand.h"

namespace kindred {
namespace {

using Attributes = Expander::Attributes;

Result<void> Require(const Expander& e, int inputs) {
  for (int i = 0; i < inputs; ++i)
    if (!e.op.Has(i)) return Unsupported(fmt::format("its input {} is not there", i + 1));
  return {};
}

// The node's attributes of these names, as they are.
Attributes Keep(Expander& e, std::initializer_list<const char*> names) {
  Attributes kept;
  for (const char* name : names) {
    e.op.Ignore(name);
    const auto found = e.op.node.attributes.find(name);
    if (found != e.op.node.attributes.end()) kept.insert(*found);
  }
  return kept;
}

struct Activation {
  std::string type;  // "" for none
  std::optional<double> alpha, beta;
};

// Output 0 as the activation of `x`.
Result<void> Activate(Expander& e, const Activation& activation, const std::string& x) {
  const std::string& type = activation.type;
  if (type.empty()) return e.AddOut(0, "Identity", {x});
  Attributes attributes;
  if (type == "Clip") {
    if (!activation.alpha || !activation.beta) return Unsupported("Clip without its bounds");
    const DataType of = e.ValueOf(x).type;
    return e.AddOut(0, "Clip", {x, e.Number(*activation.alpha, of), e.Number(*activation.beta, of)});
  }
  const bool alpha = type == "LeakyRelu" || type == "Elu" || type == "HardSigmoid";
  if (!alpha && type != "Relu" && type != "Tanh" && type != "Sigmoid" && type != "Softplus" &&
      type != "Softsign" && type != "HardSwish" && type != "Gelu")
    return Unsupported(fmt::format("the activation '{}'", type));
  if (alpha && activation.alpha) attributes["alpha"] = FloatAttribute(*activation.alpha);
  if (type == "HardSigmoid" && activation.beta)
    attributes["beta"] = FloatAttribute(*activation.beta);
  return e.AddOut(0, type, {x}, std::move(attributes));
}

// From the attributes activation, activation_alpha, activation_beta.
Activation ReadActivation(Expander& e) {
  Activation activation;
  activation.type = e.op.Text("activation", "");
  if (e.op.node.attributes.contains("activation_alpha"))
    activation.alpha = e.op.Float("activation_alpha", 0);
  if (e.op.node.attributes.contains("activation_beta"))
    activation.beta = e.op.Float("activation_beta", 0);
  e.op.Ignore("activation_gamma");
  return activation;
}

// An operand with the last two dimensions exchanged (`turned`), before that its first dimension put
// before the last (`batches_last`).
Result<std::string> Operand(Expander& e, int input, bool turned, bool batches_last) {
  const std::size_t rank = e.op.InShape(input).size();
  if (rank < 2 || (!turned && !batches_last)) return e.In(input);
  std::vector<std::int64_t> order;
  for (std::size_t d = 0; d < rank; ++d) order.push_back(static_cast<std::int64_t>(d));
  if (batches_last) {
    order.erase(order.begin());
    order.insert(order.end() - 1, 0);
  }
  if (turned) std::swap(order[rank - 2], order[rank - 1]);
  return e.Add("Transpose", {e.In(input)}, {{"perm", IntsAttribute(order)}});
}

Result<std::string> Product(Expander& e) {
  KINDRED_CHECK(Require(e, 2));
  KINDRED_TRY(const auto a, Operand(e, 0, e.op.Int("transA", 0) != 0,
                                    e.op.Int("transBatchA", 0) != 0));
  KINDRED_TRY(const auto b, Operand(e, 1, e.op.Int("transB", 0) != 0,
                                    e.op.Int("transBatchB", 0) != 0));
  const double alpha = e.op.Float("alpha", 1);
  KINDRED_TRY(auto y, e.Add("MatMul", {a, b}));
  if (alpha != 1) {
    KINDRED_TRY(y, e.Add("Mul", {y, e.Number(alpha, e.ValueOf(y).type)}));
  }
  return y;
}

Result<void> FusedMatMul(Expander& e) {
  KINDRED_TRY(const auto y, Product(e));
  return e.AddOut(0, "Identity", {y});
}

Result<void> FusedMatMulActivation(Expander& e) {
  const Activation activation = ReadActivation(e);
  e.op.Ignore("activation_axis");
  KINDRED_TRY(const auto y, Product(e));
  return Activate(e, activation, y);
}

Result<void> FusedGemm(Expander& e) {
  KINDRED_CHECK(Require(e, 2));
  const Activation activation = ReadActivation(e);
  KINDRED_TRY(const auto y, e.Add("Gemm", {e.In(0), e.In(1), e.In(2)},
                                  Keep(e, {"alpha", "beta", "transA", "transB"})));
  return Activate(e, activation, y);
}

const Attributes& TanhForm() {
  static const Attributes attributes = {{"approximate", TextAttribute("tanh")}};
  return attributes;
}

Result<void> GemmFastGelu(Expander& e) {
  KINDRED_CHECK(Require(e, 2));
  KINDRED_TRY(auto y, e.Add("MatMul", {e.In(0), e.In(1)}));
  if (e.op.Has(2)) {
    KINDRED_TRY(y, e.Add("Add", {y, e.In(2)}));
  }
  return e.AddOut(0, "Gelu", {y}, TanhForm());
}

// Channels first to channels last (`back`) or the other way round.
Result<std::string> Turned(Expander& e, const std::string& x, bool back) {
  const auto rank = static_cast<std::int64_t>(e.ShapeOf(x).size());
  if (rank < 3) return Unsupported("an operand of shape " + ShapeText(e.ShapeOf(x)));
  std::vector<std::int64_t> order = {0};
  if (!back) order.push_back(rank - 1);
  for (std::int64_t d = back ? 2 : 1; d < rank - (back ? 0 : 1); ++d) order.push_back(d);
  if (back) order.push_back(1);
  return e.Add("Transpose", {x}, {{"perm", IntsAttribute(order)}});
}

template <bool kChannelsLast>
Result<void> FusedConv(Expander& e) {
  KINDRED_CHECK(Require(e, 2));
  Activation activation;
  activation.type = e.op.Text("activation", "");
  const auto parameters = e.op.Floats("activation_params").value_or(std::vector<double>());
  if (!parameters.empty()) activation.alpha = parameters[0];
  if (parameters.size() > 1) activation.beta = parameters[1];
  std::string x = e.In(0);
  if (kChannelsLast) {
    KINDRED_TRY(x, Turned(e, x, false));
  }
  KINDRED_TRY(auto y, e.Add("Conv", {x, e.In(1), e.In(2)},
                            Keep(e, {"auto_pad", "dilations", "group", "kernel_shape", "pads",
                                     "strides"})));
  if (kChannelsLast) {
    KINDRED_TRY(y, Turned(e, y, true));
  }
  if (e.op.Has(3)) {
    KINDRED_TRY(y, e.Add("Add", {y, e.In(3)}));
  }
  return Activate(e, activation, y);
}

Result<void> NhwcMaxPool(Expander& e) {
  KINDRED_CHECK(Require(e, 1));
  KINDRED_TRY(const auto x, Turned(e, e.In(0), false));
  KINDRED_TRY(auto y, e.Add("MaxPool", {x}, Keep(e, {"auto_pad", "ceil_mode", "dilations",
                                                     "kernel_shape", "pads", "strides"})));
  KINDRED_TRY(y, Turned(e, y, true));
  return e.AddOut(0, "Identity", {y});
}

Result<void> Gelu(Expander& e) {
  KINDRED_CHECK(Require(e, 1));
  return e.AddOut(0, "Gelu", {e.In(0)});
}

Result<void> BiasGelu(Expander& e) {
  KINDRED_CHECK(Require(e, 2));
  KINDRED_TRY(const auto sum, e.Add("Add", {e.In(0), e.In(1)}));
  return e.AddOut(0, "Gelu", {sum});
}

Result<void> FastGelu(Expander& e) {
  KINDRED_CHECK(Require(e, 1));
  std::string x = e.In(0);
  if (e.op.Has(1)) {
    KINDRED_TRY(x, e.Add("Add", {x, e.In(1)}));
  }
  return e.AddOut(0, "Gelu", {x}, TanhForm());
}

// x * sigmoid(alpha x)
Result<void> QuickGelu(Expander& e) {
  KINDRED_CHECK(Require(e, 1));
  constexpr double kAlpha = 1.702;
  const double alpha = e.op.Float("alpha", kAlpha);
  std::string scaled = e.In(0);
  if (alpha != 1) {
    KINDRED_TRY(scaled, e.Add("Mul", {scaled, e.Number(alpha, e.ValueOf(scaled).type)}));
  }
  KINDRED_TRY(const auto gate, e.Add("Sigmoid", {scaled}));
  return e.AddOut(0, "Mul", {e.In(0), gate});
}

// The first half of x + bias times gelu of the second.
Result<void> BiasSplitGelu(Expander& e) {
  KINDRED_CHECK(Require(e, 2));
  const Shape shape = e.op.InShape(0);
  if (shape.empty() || shape.back() % 2 != 0)
    return Unsupported("an input of shape " + ShapeText(shape));
  KINDRED_TRY(const auto sum, e.Add("Add", {e.In(0), e.In(1)}));
  KINDRED_TRY(const auto halves, e.AddMany("Split", {sum}, 2, {{"axis", IntAttribute(-1)}}));
  KINDRED_TRY(const auto gate, e.Add("Gelu", {halves[1]}));
  return e.AddOut(0, "Mul", {halves[0], gate});
}

Result<void> BiasAdd(Expander& e) {
  KINDRED_CHECK(Require(e, 3));
  KINDRED_TRY(const auto sum, e.Add("Add", {e.In(0), e.In(1)}));
  return e.AddOut(0, "Add", {sum, e.In(2)});
}

// As it is when it is not trained: data + bias + residual.
Result<void> BiasDropout(Expander& e) {
  KINDRED_CHECK(Require(e, 2));
  e.op.Ignore("seed");
  if (e.Wants(1)) return Unsupported("its mask is used");
  if (e.op.Has(4)) {
    KINDRED_TRY(const auto training, e.op.KnownInts(4, "training_mode"));
    if (!training.empty() && training[0] != 0) return Unsupported("training mode");
  }
  if (!e.op.Has(2)) return e.AddOut(0, "Add", {e.In(0), e.In(1)});
  KINDRED_TRY(const auto sum, e.Add("Add", {e.In(0), e.In(1)}));
  return e.AddOut(0, "Add", {sum, e.In(2)});
}

// An operator that ONNX has too now.
template <const char* const& kType>
Result<void> Alias(Expander& e) {
  std::vector<std::string> inputs;
  for (int i = 0; i < e.op.inputs(); ++i) inputs.push_back(e.In(i));
  for (const auto& [name, attribute] : e.op.node.attributes) e.op.Ignore(name);
  return e.AddOut(0, kType, std::move(inputs), e.op.node.attributes);
}

constexpr const char* kGatherNd = "GatherND";
constexpr const char* kPad = "Pad";
constexpr const char* kTrilu = "Trilu";

}  // namespace

void AddMicrosoftExpansions(ExpansionTable& table) {
  table["com.microsoft:FusedMatMul"] = FusedMatMul;
  table["com.microsoft:TransposeMatMul"] = FusedMatMul;
  table["com.microsoft:FusedMatMulActivation"] = FusedMatMulActivation;
  table["com.microsoft:FusedGemm"] = FusedGemm;
  table["com.microsoft:GemmFastGelu"] = GemmFastGelu;
  table["com.microsoft:FusedConv"] = FusedConv<false>;
  table["com.microsoft:NhwcConv"] = FusedConv<true>;
  table["com.microsoft:NhwcFusedConv"] = FusedConv<true>;
  table["com.microsoft:NhwcMaxPool"] = NhwcMaxPool;
  table["com.microsoft:Gelu"] = Gelu;
  table["com.microsoft:BiasGelu"] = BiasGelu;
  table["com.microsoft:FastGelu"] = FastGelu;
  table["com.microsoft:QuickGelu"] = QuickGelu;
  table["com.microsoft:BiasSplitGelu"] = BiasSplitGelu;
  table["com.microsoft:BiasAdd"] = BiasAdd;
  table["com.microsoft:BiasDropout"] = BiasDropout;
  table["com.microsoft:GatherND"] = Alias<kGatherNd>;
  table["com.microsoft:Pad"] = Alias<kPad>;
  table["com.microsoft:Trilu"] = Alias<kTrilu>;
}

}  // namespace kindred
