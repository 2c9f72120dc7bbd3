#include "tuner/import/left_out_ops.h"

#include <map>
#include <string_view>

#include <fmt/format.h>

#include "tuner/import/infer_node.h"
#include "tuner/import/operator_table.h"

namespace kindred {
namespace {

constexpr std::string_view kDataShape = "the shape of its result depends on the data";
constexpr std::string_view kRandom = "its result is random";
constexpr std::string_view kStrings = "it works on strings";
constexpr std::string_view kSequences =
    "it works on sequences or optional values, which are no tensors";
constexpr std::string_view kMaps = "it works on maps, which are no tensors";
constexpr std::string_view kTraining = "it is a step of training";
constexpr std::string_view kBits = "the workload language has no operations on bits";
constexpr std::string_view kScatters =
    "it writes at places that are known when it runs only; the workload language reads, it does "
    "not scatter";
constexpr std::string_view kControl = "control flow has no form in the workload language";

const std::map<std::string_view, std::string_view> kReasons = {
    {"NonZero", kDataShape},
    {"Unique", kDataShape},
    {"NonMaxSuppression", kDataShape},
    {"ConstantOfShape", kDataShape},
    {"Range", kDataShape},
    {"RandomNormal", kRandom},
    {"RandomNormalLike", kRandom},
    {"RandomUniform", kRandom},
    {"RandomUniformLike", kRandom},
    {"Multinomial", kRandom},
    {"Bernoulli", kRandom},
    {"RegexFullMatch", kStrings},
    {"StringConcat", kStrings},
    {"StringNormalizer", kStrings},
    {"StringSplit", kStrings},
    {"TfIdfVectorizer", "it counts n-grams, a search in tables"},
    {"ImageDecoder", "it decodes a compressed image"},
    {"ConcatFromSequence", kSequences},
    {"SequenceAt", kSequences},
    {"SequenceConstruct", kSequences},
    {"SequenceEmpty", kSequences},
    {"SequenceErase", kSequences},
    {"SequenceInsert", kSequences},
    {"SequenceLength", kSequences},
    {"SequenceMap", kSequences},
    {"SplitToSequence", kSequences},
    {"Optional", kSequences},
    {"OptionalGetElement", kSequences},
    {"OptionalHasElement", kSequences},
    {"BitwiseAnd", kBits},
    {"BitwiseOr", kBits},
    {"BitwiseXor", kBits},
    {"BitCast", kBits},
    {"Det", "a determinant is an elimination with pivots, each step of which depends on the last"},
    {"MaxUnpool", kScatters},
    {"MaxRoiPool", "the windows that it pools are known when it runs only"},
    {"If", kControl},
    {"Loop", kControl},
    {"Scan", kControl},
    {"ai.onnx.ml:CastMap", kMaps},
    {"ai.onnx.ml:CategoryMapper", kStrings},
    {"ai.onnx.ml:DictVectorizer", kMaps},
    {"ai.onnx.ml:ZipMap", "it puts scores into maps, which computes nothing"},
    {"ai.onnx.preview.training:Adagrad", kTraining},
    {"ai.onnx.preview.training:Adam", kTraining},
    {"ai.onnx.preview.training:Gradient", kTraining},
    {"ai.onnx.preview.training:Momentum", kTraining}};

bool IsOnnxOperator(const OnnxNode& node) {
  return FindNewerDefinition(node.op, node.opset) != nullptr || KnownToLibrary(node);
}

}  // namespace

std::string WhyNoForm(const OnnxNode& node) {
  const auto found = kReasons.find(node.Kind());
  if (found != kReasons.end()) return std::string(found->second);
  if (node.domain == "ai.onnx.ml")
    return fmt::format("the operator {} of ai.onnx.ml has no form in the workload language",
                       node.op);
  if (!node.domain.empty())
    return fmt::format("operators of the domain '{}' are not known", node.domain);
  if (!IsOnnxOperator(node))
    return fmt::format("ONNX has no operator {} in operator set {}", node.op, node.opset);
  return fmt::format("the operator {} has no form in the workload language", node.op);
}

}  // namespace kindred
