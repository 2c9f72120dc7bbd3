// Data of tensors that lie in files beside the model.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "tuner/import/onnx_model.h"

namespace kindred {

// An entry of TensorProto::external_data: location, offset or length; others say nothing of the
// place. Error: no number of bytes. `what`: the message's beginning.
Result<void> SetExternalPlace(OnnxTensor& tensor, const std::string& key, const std::string& value,
                              const std::string& what);

// Reads the tensors of one model. The file read last stays open, as the next tensor mostly lies in
// it too. Not thread safe.
class ExternalData {
 public:
  explicit ExternalData(std::string model_path) : model_path_(std::move(model_path)) {}

  // As ReadTensor.
  Result<ConstantPtr> Read(const OnnxTensor& tensor);

 private:
  Result<void> Open(const std::string& location, const std::string& what);

  std::string model_path_;
  std::string location_;  // of the open file
  std::ifstream file_;
  std::int64_t size_ = 0;
};

}  // namespace kindred
