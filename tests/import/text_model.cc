#include "tests/import/text_model.h"

#include <atomic>
#include <fstream>

#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

namespace kindred {

std::string ModelBytes(const std::string& graph, int opset) {
  const std::string text =
      "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]> " + graph;
  onnx::ModelProto model;
  onnx::OnnxParser parser(text.c_str());
  const auto status = parser.Parse(model);
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage() << "\n" << text;
  return model.SerializeAsString();
}

std::string WriteFile(const std::string& name, const std::string& bytes) {
  static std::atomic<int> count = 0;
  const std::string path = testing::TempDir() + "kindred_" + std::to_string(++count) + "_" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

Result<ImportedModel> ImportText(const std::string& graph, int opset,
                                 const std::map<std::string, std::int64_t>& dims) {
  return ImportOnnx(WriteFile("model.onnx", ModelBytes(graph, opset)), {dims});
}

}  // namespace kindred
