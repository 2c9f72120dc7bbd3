// An ONNX model as plain structs: what the import needs of the protobuf, and none of its headers.
//
// Weights' data are not kept: a tensor carries its data only where it is small (kLargestConstant)
// and lies in the model file itself, or holds integers or a single number; small external data of
// other tensors are read when first asked for (ReadTensor).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/base/result.h"
#include "tuner/import/constant.h"

namespace kindred {

// Where the data of a stripped tensor are said to lie: no file, and a name that ONNX's checker does
// not look up.
inline constexpr std::string_view kStrippedLocation = "#stripped";

struct OnnxTensor {
  std::string name;
  int element_type = 0;  // onnx::TensorProto::DataType
  Shape shape;
  ConstantPtr data;  // null: large, external, or of an element type the workload language lacks
  bool quantized = false;  // IsQuantized
  // External data: where they lie, relative to the model's folder; `length` 0: to the end of the
  // file.
  std::string external_file;
  std::int64_t external_offset = 0, external_length = 0;

  // Left out of the file on purpose (strip.h).
  bool IsStripped() const { return external_file == kStrippedLocation; }
};

struct OnnxGraph;

struct OnnxAttribute {
  enum class Kind { kInt, kFloat, kString, kInts, kFloats, kStrings, kTensor, kGraph, kOther };
  Kind kind = Kind::kOther;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  OnnxTensor tensor;
  std::shared_ptr<const OnnxGraph> graph;  // kGraph: the body of an If, Loop or Scan
  std::string reference;  // in a function's body: the attribute of the call that stands here
};

struct OnnxNode {
  std::string name;  // the node's own, or that of its first output
  std::string op, domain, overload;
  int opset = 0;  // version of its domain's operators; 0: the model names none
  std::vector<std::string> inputs, outputs;  // "" where an optional one is left away
  std::map<std::string, OnnxAttribute> attributes;
  std::vector<std::string> captured;  // values of the outer graph that its subgraphs read

  // How tables of operators name it: "MatMul", "com.microsoft:FusedMatMul".
  std::string Kind() const { return domain.empty() ? op : domain + ":" + op; }
  std::string Label() const { return "node '" + name + "' (" + op + ")"; }
};

struct OnnxDim {
  std::int64_t value = -1;  // -1: symbolic or unknown
  std::string symbol;       // "" where the model names it neither
};

struct OnnxValue {
  std::string name;
  int element_type = 0;
  bool has_shape = false;
  std::vector<OnnxDim> dims;
};

struct OnnxGraph {
  std::vector<OnnxValue> inputs, outputs, described;  // `described`: value_info
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxNode> nodes;  // sorted: producers before uses
};

// A function that the model defines; nodes of its name and domain are calls.
struct OnnxFunction {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes;            // without a default
  std::map<std::string, OnnxAttribute> defaults;  // of the others
  std::vector<OnnxNode> nodes;                    // in the file's order
};

struct OnnxModel : OnnxGraph {
  std::string path;
  std::map<std::string, int> opsets;  // by domain; "" is ONNX's own
  int ir_version = 0;
  std::vector<OnnxFunction> functions;

  int opset() const;
};

// Errors: cannot be read, truncated, not ONNX, a value that nothing produces, a value produced
// twice, a cycle.
Result<OnnxModel> LoadOnnx(const std::string& path);

// The tensor's data if it is small, reading external data where needed; null if it is large or
// stripped. Errors: the external file is missing, too short, or lies outside the model's folder.
Result<ConstantPtr> ReadTensor(const OnnxModel& model, const OnnxTensor& tensor);

// nullopt: an element type that the workload language does not have.
std::optional<DataType> FromOnnxType(int element_type);
int ToOnnxType(DataType type);
// i8 or u8.
bool IsByteType(int element_type);
// Whether the import looks at a constant tensor's data: integers, of which shapes are made, and
// single numbers. `quantized`: its integers are a weight's.
bool LooksAt(int element_type, const Shape& shape, bool quantized);
// Which input of an operator holds integers that are a weight's however few they are; -1: none.
int QuantizedInput(std::string_view op);
// Whether constant integers are a weight's. `read_so`: an operator reads them as its
// QuantizedInput.
bool IsQuantized(int element_type, const Shape& shape, bool read_so);
std::string OnnxTypeName(int element_type);

}  // namespace kindred
