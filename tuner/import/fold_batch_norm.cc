// A batch normalisation behind a convolution or a product goes into its weight and bias, which are
// computed ahead of time: W' = W s and b' = (b - mean) s + shift with s = scale / sqrt(variance +
// epsilon), per output channel.
#include <algorithm>

#include "tuner/import/graph_builder.h"
#include "tuner/import/ops.h"

namespace kindred {
namespace {

// Where the output channels of a node lie in its weight.
struct Channels {
  std::int64_t count = 0;
  // Which one, at a point of the weight.
  std::function<ExprPtr(const Exprs& at)> of;
};

std::int64_t IntOf(const OnnxNode& node, const std::string& name, std::int64_t otherwise) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : found->second.integer;
}

double BetaOf(const OnnxNode& node) {
  const auto found = node.attributes.find("beta");
  return found == node.attributes.end() ? 1 : found->second.number;
}

std::optional<Channels> ChannelsOf(const OnnxNode& node, const Shape& input, const Shape& weight) {
  if (node.op == "Conv" && weight.size() > 2)
    return Channels{weight[0], [](const Exprs& at) { return at[0]; }};
  if (node.op == "ConvTranspose" && weight.size() > 2) {
    const std::int64_t groups = IntOf(node, "group", 1);
    const std::int64_t each = weight[0] / std::max<std::int64_t>(1, groups), out = weight[1];
    return Channels{out * groups, [=](const Exprs& at) {
                      return groups == 1 ? at[1] : at[0] / IntExpr(each) * out + at[1];
                    }};
  }
  // The channels of a normalisation are dimension 1.
  if ((node.op != "Gemm" && node.op != "MatMul") || input.size() != 2 || weight.size() != 2)
    return std::nullopt;
  const std::size_t columns = IntOf(node, "transB", 0) != 0 ? 0 : 1;
  return Channels{weight[columns], [=](const Exprs& at) { return at[columns]; }};
}

Result<void> LowerWith(OpContext& op, int x, int weight, int bias) {
  if (op.node.op == "Conv") return LowerConv(op, x, weight, bias);
  if (op.node.op == "ConvTranspose") return LowerConvTranspose(op, x, weight, bias);
  return LowerGemm(op, x, weight, bias, 1);
}

}  // namespace

bool GraphBuilder::TryFoldBatchNorm(int n, const std::vector<int>& inputs,
                                    const std::vector<int>& outputs) {
  const OnnxNode& node = this->node(n);
  if (node.op != "BatchNormalization" || inputs.size() != 5) return false;
  const auto used = uses_.find(node.inputs[0]);
  if (used == uses_.end() || used->second != 1) return false;
  const int made_by = value(value(inputs[0]).storage).unit;
  if (made_by < 0) return false;
  const Unit unit = graph_.units[static_cast<std::size_t>(made_by)];
  const OnnxNode& before = this->node(unit.node);
  if (!unit.also.empty() || unit.stages.empty() || before.outputs[0] != node.inputs[0])
    return false;
  if (!before.domain.empty() || before.inputs.size() < 2) return false;
  const int x = ids_.at(before.inputs[0]), w = ids_.at(before.inputs[1]);
  const int b =
      before.inputs.size() > 2 && !before.inputs[2].empty() ? ids_.at(before.inputs[2]) : -1;
  const auto channels = ChannelsOf(before, value(x).shape, value(w).shape);
  if (!channels) return false;
  for (const int id : {w, inputs[1], inputs[2], inputs[3], inputs[4]})
    if (!KnownAhead(value(id).kind)) return false;
  const Shape per_channel = {channels->count};
  if (b >= 0 && (!KnownAhead(value(b).kind) || value(b).shape != per_channel)) return false;
  if (graph_.dequantized.contains(x) && graph_.dequantized.contains(w)) return false;
  for (std::size_t i = 1; i < 5; ++i)
    if (value(inputs[i]).shape != per_channel) return false;

  OpContext norm(model_, graph_, n, inputs, outputs);
  const double epsilon = norm.Float("epsilon", 1e-5);
  if (norm.Int("spatial", 1) == 0 || norm.Int("training_mode", 0) != 0) return false;
  for (int i = 1; i < norm.outputs(); ++i)
    if (norm.Wants(i)) return false;
  const std::size_t first_value = graph_.values.size();
  const Shape shape = value(w).shape;
  const int weight = norm.Temp("folded_weight", value(w).type, shape);
  const int bias = norm.Temp("folded_bias", value(w).type, per_channel);
  Stage scaled = MakeStage(weight, shape, before.op == "Conv" ? "ocrs" : "");
  const Exprs axes = AxesOf(scaled);
  scaled.body = norm.Load(w, axes) * BatchNormScale(norm, channels->of(axes), epsilon);
  norm.Emit(std::move(scaled));
  norm.NewUnit();
  Stage shifted = MakeStage(bias, per_channel, "o");
  const ExprPtr channel = VarExpr(0);
  ExprPtr centred = norm.Load(inputs[3], {channel});
  if (b >= 0) {
    const ExprPtr own = norm.Load(b, {channel});
    centred = own * Literal(before.op == "Gemm" ? BetaOf(before) : 1, own->type) - centred;
  } else {
    centred = UnaryExpr(Op::kNeg, centred);
  }
  shifted.body = centred * BatchNormScale(norm, channel, epsilon) + norm.Load(inputs[2], {channel});
  norm.Emit(std::move(shifted));
  Commit(n, norm, first_value, {});

  OpContext merged(model_, graph_, unit.node, {x, weight, bias}, outputs);
  if (!LowerWith(merged, x, weight, bias)) return false;
  Commit(unit.node, merged, first_value, outputs);
  graph_.units.back().also.push_back(n);
  return true;
}

}  // namespace kindred
