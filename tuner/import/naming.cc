#include "tuner/import/naming.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kindred {
namespace {

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}

Shape ShapeOf(const Graph& graph, const Stage& stage) {
  Shape shape = graph.values[static_cast<std::size_t>(stage.tensor)].shape;
  for (int a = stage.spatial; a < static_cast<int>(stage.axes.size()); ++a)
    shape.push_back(stage.axes[static_cast<std::size_t>(a)].extent.value);
  return shape;
}

std::int64_t FirstOf(const OnnxNode& node, const std::string& name, std::int64_t otherwise) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() || found->second.integers.empty()
             ? otherwise
             : found->second.integers[0];
}

// Extents from the first stage: spatial axes [.. places], reduction axes [channels, taps].
std::string ConvName(const Stage& stage, std::int64_t stride, std::int64_t dilation) {
  const auto extent = [&](std::size_t a) { return stage.axes[a].extent.value; };
  const auto spatial = static_cast<std::size_t>(stage.spatial);
  const bool grouped = stage.axes[1].name == "g", depthwise = stage.axes[1].name == "c";
  const std::size_t head = grouped ? 3 : 2;
  Shape places, taps;
  for (std::size_t a = head; a < spatial; ++a) places.push_back(extent(a));
  for (std::size_t a = stage.axes.size() - places.size(); a < stage.axes.size(); ++a)
    taps.push_back(extent(a));
  const std::int64_t out = grouped ? extent(1) * extent(2) : extent(1);
  const std::int64_t groups = grouped ? extent(1) : 1;
  const std::int64_t in = depthwise ? out : extent(spatial) * groups;
  std::string name = fmt::format("{}conv{}d {}",
                                 depthwise ? "depthwise "
                                 : grouped ? "grouped "
                                           : "",
                                 places.size(), fmt::join(taps, "x"));
  if (stride != 1) name += fmt::format("/{}", stride);
  if (dilation != 1) name += fmt::format(" dilated {}", dilation);
  name += depthwise ? fmt::format(" {}", out) : fmt::format(" {}->{}", in, out);
  if (grouped) name += fmt::format(" in {}", groups);
  return name + fmt::format(" {}", fmt::join(places, "x")) +
         (extent(0) > 1 ? fmt::format(" batch {}", extent(0)) : "");
}

std::string MatMulName(const Stage& stage) {
  Shape extents;
  std::int64_t batch = 1;
  const std::size_t spatial = static_cast<std::size_t>(stage.spatial);
  for (std::size_t a = 0; a < stage.axes.size(); ++a) {
    const std::int64_t extent = stage.axes[a].extent.value;
    const bool row_or_column = stage.axes[a].name == "m" || stage.axes[a].name == "n";
    if (a < spatial && !row_or_column) {
      batch *= extent;
    } else {
      extents.push_back(extent);
    }
  }
  return batch > 1 ? fmt::format("batched matmul {}x{}", batch, fmt::join(extents, "x"))
                   : fmt::format("matmul {}", fmt::join(extents, "x"));
}

// Names of well-known patterns among decomposed operators.
std::string RowName(const std::vector<std::string>& ops) {
  const auto has = [&](const std::string& op) {
    return std::find(ops.begin(), ops.end(), op) != ops.end();
  };
  if (has("LayerNormalization")) return "layernorm";
  if (has("ReduceMean") && has("Sqrt")) return has("Sub") ? "layernorm" : "rmsnorm";
  return "";
}

// The operators behind the anchor, decomposed activations by their names.
std::vector<std::string> Epilogue(const std::vector<std::string>& ops) {
  const auto count = [&](const std::string& op) { return std::count(ops.begin(), ops.end(), op); };
  std::vector<std::string> names;
  const bool erf_gelu = count("Erf") > 0 && count("Mul") > 0;
  const bool tanh_gelu = count("Tanh") > 0 && count("Pow") > 0;
  const bool silu = !erf_gelu && count("Sigmoid") > 0 && count("Mul") > 0;
  bool bias = false, product = false;
  for (const auto& op : ops) {
    if (erf_gelu || tanh_gelu) {
      if (op == "Add" && !bias) names.push_back("add");
      bias = true;
      continue;
    }
    if (silu && op == "Sigmoid") {
      names.push_back("silu");
    } else if (silu && op == "Mul" && !product) {
      product = true;  // x * sigmoid(x)
    } else {
      names.push_back(Lower(op == "BatchNormalization" ? "batchnorm" : op));
    }
  }
  if (erf_gelu || tanh_gelu) names.push_back("gelu");
  return names;
}

}  // namespace

std::string NameOf(const Graph& graph, const Group& group) {
  const auto node_of = [&](int u) -> const OnnxNode& {
    const auto n = static_cast<std::size_t>(graph.units[static_cast<std::size_t>(u)].node);
    return graph.nodes[n].node;
  };
  const Unit& anchor = graph.units[static_cast<std::size_t>(group.anchor)];
  const OnnxNode& node = node_of(group.anchor);
  std::vector<std::string> before, behind, all;
  for (const int u : group.units) {
    all.push_back(node_of(u).op);
    if (u != group.anchor) (u < group.anchor ? before : behind).push_back(all.back());
  }
  if (anchor.kind == UnitKind::kContraction) {
    std::string name;
    const Stage& sum = *std::find_if(anchor.stages.begin(), anchor.stages.end(),
                                     [](const Stage& stage) { return stage.reduction() > 0; });
    if (node.op == "Conv" || node.op == "ConvInteger")
      name = ConvName(sum, FirstOf(node, "strides", 1), FirstOf(node, "dilations", 1));
    if (node.op == "ConvTranspose")  // a part of it is a convolution of stride 1
      name = ConvName(sum, 1, 1) + " of convtranspose";
    if (node.op == "MatMul" || node.op == "Gemm" || node.op == "MatMulInteger")
      name = MatMulName(sum);
    if (name.empty()) name = Lower(node.op) + " " + ShapeText(ShapeOf(graph, sum));
    bool bytes = false;
    for (const Stage& stage : anchor.stages)
      VisitLoads(stage, [&](const Expr& load) {
        bytes |= load.type == DataType::kI8 || load.type == DataType::kU8;
      });
    if (bytes) name = "int8 " + name;
    for (const auto& op : Epilogue(behind)) name += " + " + op;
    return name;
  }
  const std::string shape =
      ShapeText(graph.values[static_cast<std::size_t>(anchor.stages.back().tensor)].shape);
  if (anchor.kind == UnitKind::kWindow) {
    std::string name = Lower(node.op);
    if (const auto kernel = node.attributes.find("kernel_shape"); kernel != node.attributes.end())
      name += fmt::format(" {}", fmt::join(kernel->second.integers, "x"));
    if (const auto stride = FirstOf(node, "strides", 1); stride != 1)
      name += fmt::format("/{}", stride);
    name += " " + shape;
    for (const auto& op : Epilogue(behind)) name += " + " + op;
    return name;
  }
  if (const std::string row = anchor.kind == UnitKind::kRow ? RowName(all) : ""; !row.empty())
    return row + " " +
           ShapeText(graph.values[static_cast<std::size_t>(*group.outputs.rbegin())].shape);
  constexpr std::size_t kMostOps = 5;
  std::string name;
  for (std::size_t i = 0; i < all.size() && i < kMostOps; ++i)
    name += (i > 0 ? " + " : "") + Lower(all[i]);
  if (all.size() > kMostOps) name += fmt::format(" + {} more", all.size() - kMostOps);
  return name + " " + shape;
}

}  // namespace kindred
