#include <dnnl.hpp>

#include <cstring>
#include <memory>
#include <unordered_map>

#include "tests/bench/peers/contestant.h"

namespace kindred {
namespace {

using dnnl::memory;
using Dims = memory::dims;
using Tag = memory::format_tag;

constexpr auto kF32 = memory::data_type::f32;

dnnl::engine& Engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& Stream() {
  static dnnl::stream stream(Engine());
  return stream;
}

Tag PlainTag(std::size_t rank) {
  switch (rank) {
    case 1: return Tag::a;
    case 2: return Tag::ab;
    case 3: return Tag::abc;
    case 4: return Tag::abcd;
    default: return Tag::abcde;
  }
}

memory::desc Plain(const Dims& dims) { return {dims, kF32, PlainTag(dims.size())}; }
memory::desc Any(const Dims& dims) { return {dims, kF32, Tag::any}; }

// A copy of the named array, seen as `dims`, in the layout of `wanted`.
memory Load(const Arrays& arrays, std::string_view name, const Dims& dims,
            const memory::desc& wanted) {
  const Floats& values = arrays.find(name)->second;
  memory plain(Plain(dims), Engine());
  std::memcpy(plain.get_data_handle(), values.data(),
              static_cast<std::size_t>(values.size()) * sizeof(float));
  if (plain.get_desc() == wanted) return plain;
  memory laid_out(wanted, Engine());
  dnnl::reorder(plain, laid_out).execute(Stream(), plain, laid_out);
  Stream().wait();
  return laid_out;
}

struct Job {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
};

Contestant MakeContestant(std::string name, const char* detail, Job made, const Dims& output_dims) {
  const auto job = std::make_shared<Job>(std::move(made));
  Contestant contestant{std::move(name), detail, true, {}, {}};
  contestant.run = [job] {
    job->primitive.execute(Stream(), job->arguments);
    Stream().wait();
  };
  contestant.output = [job, output_dims] {
    memory plain(Plain(output_dims), Engine());
    memory& made_output = job->arguments.at(DNNL_ARG_DST);
    dnnl::reorder(made_output, plain).execute(Stream(), made_output, plain);
    Stream().wait();
    Floats values(static_cast<std::int64_t>(plain.get_desc().get_size() / sizeof(float)));
    std::memcpy(values.data(), plain.get_data_handle(), plain.get_desc().get_size());
    return values;
  };
  return contestant;
}

dnnl::primitive_attr Attributes(Epilogue epilogue) {
  dnnl::post_ops operations;
  switch (epilogue) {
    case Epilogue::kNone: break;
    case Epilogue::kBiasRelu: operations.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0); break;
    case Epilogue::kBiasGelu:
      operations.append_eltwise(dnnl::algorithm::eltwise_gelu_erf, 0, 0);
      break;
    case Epilogue::kBiasRelu6:
      operations.append_eltwise(dnnl::algorithm::eltwise_clip, 0, 6);
      break;
  }
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(operations);
  return attributes;
}

// `own`: weights in the layout that oneDNN asks for; else row-major, as where both operands are
// activations.
Contestant Matmul(const Subgraph& g, const Arrays& arrays, bool own) {
  const bool batched = g.batch > 1, biased = g.epilogue != Epilogue::kNone;
  const Dims left = batched ? Dims{g.batch, g.m, g.k} : Dims{g.m, g.k};
  const Dims right = batched ? Dims{g.batch, g.k, g.n} : Dims{g.k, g.n};
  const Dims out = batched ? Dims{g.batch, g.m, g.n} : Dims{g.m, g.n};
  const Dims bias = batched ? Dims{1, 1, g.n} : Dims{1, g.n};
  const auto right_desc = own ? Any(right) : Plain(right);
  const auto attributes = Attributes(g.epilogue);
  using Descriptor = dnnl::matmul::primitive_desc;
  const Descriptor descriptor =
      biased ? Descriptor(Engine(), Plain(left), right_desc, Plain(bias), Plain(out), attributes)
             : Descriptor(Engine(), Plain(left), right_desc, Plain(out), attributes);
  Job job{dnnl::matmul(descriptor),
          {{DNNL_ARG_SRC, Load(arrays, g.Left(), left, descriptor.src_desc())},
           {DNNL_ARG_WEIGHTS, Load(arrays, g.Right(), right, descriptor.weights_desc())},
           {DNNL_ARG_DST, memory(descriptor.dst_desc(), Engine())}}};
  if (biased) job.arguments.emplace(DNNL_ARG_BIAS, Load(arrays, "b", bias, descriptor.bias_desc()));
  return MakeContestant(own ? "onednn_any" : "onednn_plain", descriptor.impl_info_str(),
                        std::move(job), out);
}

Contestant Convolution(const Subgraph& g, const Arrays& arrays, bool own) {
  const bool biased = g.epilogue != Epilogue::kNone;
  const std::int64_t size = g.OutputSize();
  const Dims image{1, g.channels, g.size, g.size}, out{1, g.filters, size, size}, bias{g.filters};
  const Dims weights = g.groups == 1 ? Dims{g.filters, g.channels, g.kernel, g.kernel}
                                     : Dims{g.groups, g.filters / g.groups, g.channels / g.groups,
                                            g.kernel, g.kernel};
  const Dims strides{g.stride, g.stride}, pads{g.pad, g.pad};
  const auto image_desc = own ? Any(image) : Plain(image), out_desc = own ? Any(out) : Plain(out);
  const auto attributes = Attributes(g.epilogue);
  using Descriptor = dnnl::convolution_forward::primitive_desc;
  constexpr auto kUse = dnnl::prop_kind::forward_inference;
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_auto;
  const Descriptor descriptor =
      biased ? Descriptor(Engine(), kUse, kAlgorithm, image_desc, Any(weights), Plain(bias),
                          out_desc, strides, pads, pads, attributes)
             : Descriptor(Engine(), kUse, kAlgorithm, image_desc, Any(weights), out_desc, strides,
                          pads, pads, attributes);
  Job job{dnnl::convolution_forward(descriptor),
          {{DNNL_ARG_SRC, Load(arrays, "X", image, descriptor.src_desc())},
           {DNNL_ARG_WEIGHTS, Load(arrays, "W", weights, descriptor.weights_desc())},
           {DNNL_ARG_DST, memory(descriptor.dst_desc(), Engine())}}};
  if (biased) job.arguments.emplace(DNNL_ARG_BIAS, Load(arrays, "b", bias, descriptor.bias_desc()));
  return MakeContestant(own ? "onednn_any" : "onednn_plain", descriptor.impl_info_str(),
                        std::move(job), out);
}

Contestant Softmax(const Subgraph& g, const Arrays& arrays) {
  const Dims dims{g.batch, g.m, g.n};
  const dnnl::softmax_forward::primitive_desc descriptor(
      Engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate, Plain(dims),
      Plain(dims), 2);
  Job job{dnnl::softmax_forward(descriptor),
          {{DNNL_ARG_SRC, Load(arrays, "X", dims, Plain(dims))},
           {DNNL_ARG_DST, memory(Plain(dims), Engine())}}};
  return MakeContestant("onednn_plain", descriptor.impl_info_str(), std::move(job), dims);
}

Contestant LayerNorm(const Subgraph& g, const Arrays& arrays) {
  const Dims dims{g.m, g.n}, row{g.n};
  using Flags = dnnl::normalization_flags;
  const dnnl::layer_normalization_forward::primitive_desc descriptor(
      Engine(), dnnl::prop_kind::forward_inference, Plain(dims), Plain(dims), 1e-5F,
      Flags::use_scale | Flags::use_shift);
  Job job{dnnl::layer_normalization_forward(descriptor),
          {{DNNL_ARG_SRC, Load(arrays, "X", dims, Plain(dims))},
           {DNNL_ARG_SCALE, Load(arrays, "g", row, Plain(row))},
           {DNNL_ARG_SHIFT, Load(arrays, "b", row, Plain(row))},
           {DNNL_ARG_DST, memory(Plain(dims), Engine())}}};
  return MakeContestant("onednn_plain", descriptor.impl_info_str(), std::move(job), dims);
}

}  // namespace

std::string OneDnnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch) + " (" + version->hash + ")";
}

std::vector<Contestant> OneDnnContestants(const Subgraph& g, const Arrays& arrays) {
  switch (g.kind) {
    case SubgraphKind::kMatmul: return {Matmul(g, arrays, false), Matmul(g, arrays, true)};
    case SubgraphKind::kConvolution:
      return {Convolution(g, arrays, false), Convolution(g, arrays, true)};
    case SubgraphKind::kSoftmax: return {Softmax(g, arrays)};
    case SubgraphKind::kLayerNorm: return {LayerNorm(g, arrays)};
  }
  return {};
}

}  // namespace kindred
