#include "tuner/import/external_data.h"

#include <charconv>
#include <system_error>
#include <utility>

namespace kindred {

Result<void> SetExternalPlace(OnnxTensor& tensor, const std::string& key, const std::string& value,
                              const std::string& what) {
  if (key == "location") tensor.external_file = value;
  if (key != "offset" && key != "length") return {};
  std::int64_t& place = key == "offset" ? tensor.external_offset : tensor.external_length;
  const char* const end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, place);
  if (read.ec != std::errc() || read.ptr != end || place < 0)
    return BadInput(what + "has external data with the " + key + " '" + value +
                    "', which is no number of bytes; save the model again");
  return {};
}

Result<void> ExternalData::Open(const std::string& location, const std::string& what) {
  if (location == location_ && file_.is_open()) return {};
  const std::filesystem::path relative(location);
  bool climbs = relative.is_absolute();
  for (const auto& part : relative) climbs = climbs || part == "..";
  if (climbs) return BadInput(what + "which is outside the model's folder; save the model again");
  const auto path = std::filesystem::path(model_path_).parent_path() / relative;
  std::error_code problem;
  file_ = std::ifstream();
  if (std::filesystem::is_regular_file(path, problem)) file_.open(path, std::ios::binary);
  if (!file_.is_open())
    return BadInput(what + "which cannot be read; put that file beside the model");
  size_ = static_cast<std::int64_t>(std::filesystem::file_size(path, problem));
  location_ = location;
  return {};
}

Result<ConstantPtr> ExternalData::Read(const OnnxTensor& tensor) {
  if (tensor.data || tensor.external_file.empty() || tensor.IsStripped()) return tensor.data;
  const auto type = FromOnnxType(tensor.element_type);
  if (!type || ElementCount(tensor.shape) > kLargestConstant) return ConstantPtr();
  const std::string what =
      model_path_ + ": the data of '" + tensor.name + "' lie in '" + tensor.external_file + "', ";
  KINDRED_CHECK(Open(tensor.external_file, what));
  const std::int64_t needed = ElementCount(tensor.shape) * ByteSize(*type);
  const std::int64_t length = tensor.external_length > 0 ? tensor.external_length : needed;
  if (length < needed || tensor.external_offset > size_ || needed > size_ - tensor.external_offset)
    return BadInput(what + "which is too short; copy it again");
  std::string bytes(static_cast<std::size_t>(needed), '\0');
  file_.clear();
  file_.seekg(tensor.external_offset);
  file_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  auto decoded =
      DecodeConstant(*type, tensor.shape, bytes.data(),
                     static_cast<std::size_t>(std::max<std::streamsize>(file_.gcount(), 0)));
  if (!decoded) return BadInput(what + "which is too short; copy it again");
  return ConstantPtr(std::make_shared<ConstantTensor>(std::move(*decoded)));
}

Result<ConstantPtr> ReadTensor(const OnnxModel& model, const OnnxTensor& tensor) {
  return ExternalData(model.path).Read(tensor);
}

}  // namespace kindred
